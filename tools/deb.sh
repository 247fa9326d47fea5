#!/bin/sh
# deb.sh - BUILD OUT: write a Debian package of the files that BUILD (configured with --prefix=/usr) installs to OUT.
set -e
build=$1 out=$2
version=$(sed -n 's/^#define CM_VERSION "\(.*\)"/\1/p' include/centimani.h)
arch=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
DESTDIR=$root meson install -C "$build" --quiet >/dev/null
gzip -9n "$root"/usr/share/man/man1/*.1
strip "$root/usr/bin/centimani"
install -Dm644 LICENSE "$root/usr/share/doc/centimani/copyright"
gzip -9nc CHANGELOG.md >"$root/usr/share/doc/centimani/changelog.gz"

# The packages of the shared libraries that the program is linked with.
needs=$(objdump -p "$root/usr/bin/centimani" | awk '/NEEDED/ {print $2}' | while read -r library; do
    path=$(ldconfig -p | awk -v name="$library" '$1 == name {print $NF; exit}')
    [ -n "$path" ] && { dpkg -S "$(realpath "$path")" || dpkg -S "$path"; } 2>/dev/null | head -1 | cut -d: -f1
done | sort -u | sed "s/^libc6$/libc6 (>= $(dpkg-query -W -f='${Version}' libc6 | cut -d- -f1))/" | paste -sd, | sed 's/,/, /g')
size=$(du -sk "$root" | cut -f1)
mkdir -p "$root/DEBIAN" "$out"
cat >"$root/DEBIAN/control" <<END
Package: centimani
Version: $version
Architecture: $arch
Maintainer: The Centimani authors <centimani@localhost>
Installed-Size: $size
Depends: $needs
Section: science
Priority: optional
Description: which accelerator to train a neural network on
 Predicts training speed, memory, cost and energy of neural networks on AI accelerators, from an
 ONNX file, a Hugging Face configuration, a recorded PyTorch step or a name, and ranks them.
END
chmod -R u=rwX,go=rX "$root"
dpkg-deb --root-owner-group --build "$root" "$out/centimani_${version}_$arch.deb" >/dev/null
echo "$out/centimani_${version}_$arch.deb"
