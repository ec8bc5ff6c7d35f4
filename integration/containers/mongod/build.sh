#!/bin/sh
# Builds an image FROM scratch of the mongod that `make mongod` fetches, for
# tests where no image can be pulled: its libraries, and busybox for a shell.
# Elsewhere, set MARQUEE_TEST_MONGODB_IMAGE to the official image instead.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mongod=${MARQUEE_TEST_MONGOD:-$here/../../../.cache/mongod/mongod}
name=${1:-marquee-test/mongod:6.0.5}

busybox=$(command -v busybox) || { echo "The image's shell is busybox: apt-get install busybox-static" >&2; exit 1; }
[ -x "$mongod" ] || { echo "There is no $mongod: run make mongod" >&2; exit 1; }

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
chmod 755 "$context"
root=$context/root
mkdir -p "$root/bin" "$root/usr/local/bin" "$root/etc" "$root/lib64" "$context/writable/data/db" "$context/writable/tmp"

cp "$busybox" "$root/bin/busybox"
for tool in sh nc printf cat; do ln -s busybox "$root/bin/$tool"; done
cp "$here/docker-entrypoint.sh" "$here/mongosh" "$root/usr/local/bin/"
chmod 755 "$root/usr/local/bin/"*
echo 'mongodb:x:999:999::/tmp:/bin/sh' >"$root/etc/passwd"

cp -L "$mongod" "$root/bin/mongod"
# Each library where the loader looks for it on the host, which it does here too.
libraries=$(ldd "$mongod"; ldd "$busybox" 2>/dev/null || true) # busybox may be static
case "$libraries" in *"not found"*) echo "$libraries" >&2; exit 1 ;; esac
# Names are looked up by a library that is only loaded then.
libc=$(printf '%s\n' "$libraries" | awk '/libc\.so/ {print $3; exit}')
for library in $(printf '%s\n' "$libraries" | awk '$2 == "=>" {print $3} $1 ~ /^\// {print $1}') \
	"$(dirname "$libc")/libnss_dns.so.2" "$(dirname "$libc")/libnss_files.so.2"; do
	[ -f "$library" ] || continue
	mkdir -p "$root$(dirname "$library")"
	cp -L "$library" "$root$library"
done

docker build --quiet --tag "$name" "--file=$here/Dockerfile" "$context"
