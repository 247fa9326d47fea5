#!/bin/sh
# dist.sh - OUT: collect what a release has in OUT. `make dist` has built the wheels, the program, the Debian package and the page.
set -e
out=$1
here=$(uname -m)
[ "$here" = x86_64 ] && other=aarch64 debian=arm64 || other=x86_64 debian=amd64
version=$(sed -n "s/^project.* version: '\([^']*\)'.*/\1/p" meson.build)

# The program for the other architecture, by a cross compiler, with that architecture's libmicrohttpd.
root=$PWD/build-root-http-$other
. /etc/os-release
tools/debian_root.sh "$root" "$VERSION_CODENAME" $debian libmicrohttpd-dev
sed "/^\[host_machine/i [built-in options]\nc_args = '-I$root/usr/include'\nc_link_args = '-L$root/usr/lib/$other-linux-gnu'\n" \
    build-wheel/$other.ini >build-wheel/static-$other.ini
CC=$other-linux-gnu-gcc TARGET=centimani tools/build.sh build-static-$other -Dstatic=true -Dbuildtype=release \
    -Dlibraries="$PWD/build-libraries-$other" -Dprepared="$PWD/build-static" --cross-file build-wheel/static-$other.ini

rm -rf "$out"
mkdir -p "$out"
cp build-wheel/*.whl build-deb/*.deb build-site/centimani.html "$out"
strip -o "$out/centimani-$version-linux-$here" build-static/centimani
$other-linux-gnu-strip -o "$out/centimani-$version-linux-$other" build-static-$other/centimani
git archive --format=tar.gz --prefix="centimani-$version/" -o "$out/centimani-$version.tar.gz" HEAD
python3 tools/release.py "$version" "$out"
(cd "$out" && sha256sum -- * >SHA256SUMS && ls -l)
python3 tests/release.py "$out"
