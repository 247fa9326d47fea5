#!/bin/sh
# wheel.sh - OUT: build wheels for x86-64 and aarch64 in OUT, and test both; one of them runs under an emulator.
# The libraries inside need glibc alone, in the version that the wheels' tags say, which is older than this machine's.
set -e
out=$1
here=$(uname -m)
floor="-include $PWD/tools/glibc_floor.h"

# Debian's name of an architecture
debian_name() { [ "$1" = x86_64 ] && echo amd64 || echo arm64; }

# library ARCH TOOLS [meson options]: the library in build-wheel-ARCH; TOOLS is the prefix of the compiler's name
library() {
    arch=$1 tools=$2
    shift 2
    CFLAGS=$floor CC=${tools}gcc AR=${tools}ar tools/libraries.sh "build-libraries-$arch"
    CFLAGS=$floor CC=${tools}gcc TARGET=python/libcentimani.so tools/build.sh "build-wheel-$arch" -Dstatic=true \
        -Dbuildtype=release -Dlibraries="$PWD/build-libraries-$arch" "$@"
    mkdir -p "$out/$arch"
    "${tools}strip" -o "$out/$arch/libcentimani.so" "build-wheel-$arch/python/libcentimani.so"
    rm -f "$out"/*_"$arch".whl
    python3 python/backend.py "$out/$arch/libcentimani.so" "$out"
}

# other ARCH: the same by a cross compiler
other() {
    tools=$1-linux-gnu-
    tools/packages.sh "gcc-$(echo "$1" | tr _ -)-linux-gnu" "libc6-dev-$(debian_name "$1")-cross" qemu-user-static
    cat >"$out/$1.ini" <<INI
[binaries]
c = '${tools}gcc'
ar = '${tools}ar'
strip = '${tools}strip'

[host_machine]
system = 'linux'
cpu_family = '$1'
cpu = '$1'
endian = 'little'
INI
    library "$1" "$tools" -Dprepared="$PWD/build-wheel-$here" --cross-file "$out/$1.ini"
}

# python_root ROOT SUITE ARCH VERSION FFI: a Python of another Debian
python_root() {
    tools/debian_root.sh "$1" "$2" "$3" libc6 "libpython$4-minimal" "libpython$4-stdlib" "python$4-minimal" "$5" zlib1g libexpat1
}

mkdir -p "$out"
library "$here" ""
python3 tests/python/test_wheel.py "$out"/*_"$here".whl

# Debian 11: Python 3.9 is the oldest that the package supports, and glibc 2.31 is older than that of the compiler.
root=$PWD/build-root-old
python_root "$root" bullseye "$(debian_name "$here")" 3.9 libffi7
cat >"$out/old-python" <<RUN
#!/bin/sh
PYTHONHOME=$root/usr exec $root/lib/*-linux-gnu/ld-2.31.so --library-path \$(echo $root/lib/*-linux-gnu):\$(echo $root/usr/lib/*-linux-gnu) $root/usr/bin/python3.9 "\$@"
RUN
chmod +x "$out/old-python"
python3 tests/python/test_wheel.py "$out"/*_"$here".whl -- "$PWD/$out/old-python"

for arch in x86_64 aarch64; do
    [ $arch = "$here" ] && continue
    other $arch
    root=$PWD/build-root-$arch
    python_root "$root" bookworm "$(debian_name $arch)" 3.11 libffi8
    python3 tests/python/test_wheel.py "$out"/*_$arch.whl -- "qemu-$arch-static" -L "$root" "$root/usr/bin/python3.11"
done
ls -l "$out"/*.whl
