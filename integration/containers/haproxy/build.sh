#!/bin/sh
# Builds an image FROM scratch of the installed HAProxy, for tests where no image can be
# pulled. Elsewhere, set MARQUEE_TEST_PROXY_IMAGE to the official image instead.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
name=${1:-marquee-test/haproxy}
haproxy=$(command -v haproxy) || { echo "There is no haproxy (Debian: apt-get install haproxy)" >&2; exit 1; }

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
chmod 755 "$context"
root=$context/root
mkdir -p "$root/bin"
cp "$haproxy" "$root/bin/haproxy"
"$here/../libraries" "$root" "$haproxy"

docker build --quiet --tag "$name" "--file=$here/Dockerfile" "$context"
