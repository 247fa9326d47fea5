#!/bin/sh
# debian_root.sh - ROOT SUITE ARCH PACKAGE...: unpack packages of another Debian release or architecture into ROOT.
# SUITE - ARCH = source: sources of the packages. Uses a private apt folder: the machine's own lists stay as they are.
set -e
root=$1 suite=$2 arch=$3
shift 3
[ "$(cat "$root/unpacked" 2>/dev/null)" = "$*" ] && exit 0
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$root.new"
: >"$apt/status"

private_apt() {
    apt-get -qq -o Dir::State="$apt/state" -o Dir::Cache="$apt/cache" -o Dir::State::status="$apt/status" \
        -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=- -o APT::Sandbox::User= "$@"
}

# The mirror that this machine uses
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | grep '/debian/*$' | head -n 1)
mirror=${mirror:-http://deb.debian.org/debian}
if [ "$arch" = source ]; then
    echo "deb-src $mirror $suite main" >"$apt/sources.list"
    private_apt update
    (cd "$apt" && private_apt source --download-only "$@" >/dev/null)
    for name; do
        mkdir -p "$root.new/$name"
        tar -xf "$apt/${name}_"*.orig.tar.* -C "$root.new/$name" --strip-components=1
    done
else
    echo "deb [arch=$arch] $mirror $suite main" >"$apt/sources.list"
    private_apt -o APT::Architecture="$arch" -o APT::Architectures="$arch" update
    (cd "$apt" && private_apt -o APT::Architecture="$arch" -o APT::Architectures="$arch" download "$@")
    for package in "$apt"/*.deb; do dpkg-deb -x "$package" "$root.new"; done
fi
echo "$*" >"$root.new/unpacked"
rm -rf "$root"
mv "$root.new" "$root"
