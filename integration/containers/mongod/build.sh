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
"$here/../libraries" "$root" "$mongod" "$busybox"

docker build --quiet --tag "$name" "--file=$here/Dockerfile" "$context"
