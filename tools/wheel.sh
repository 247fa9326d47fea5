#!/bin/sh
# wheel.sh - fetch | quick OUT | OUT: build wheels for x86-64 and aarch64 in OUT, and test both; one runs under an emulator.
# "fetch" only downloads what both others need. "quick" compiles without optimization, and for the other architecture alone.
# The libraries inside need glibc alone, in the version that the wheels' tags say, which is older than this machine's.
set -e
here=$(uname -m)
[ "$here" = x86_64 ] && other=aarch64 || other=x86_64
floor="-include $PWD/tools/glibc_floor.h"
optimization=3

# Debian's name of an architecture
debian_name() { [ "$1" = x86_64 ] && echo amd64 || echo arm64; }

# python_root ROOT SUITE ARCH VERSION FFI: a Python of another Debian
python_root() {
    tools/debian_root.sh "$1" "$2" "$3" libc6 "libpython$4-minimal" "libpython$4-stdlib" "python$4-minimal" "$5" zlib1g libexpat1
}

fetch() {
    tools/packages.sh "gcc-$(echo $other | tr _ -)-linux-gnu" "libc6-dev-$(debian_name $other)-cross" qemu-user-static
    . /etc/os-release
    tools/debian_root.sh build-sources "$VERSION_CODENAME" source jansson libyaml nanopb zlib
    python_root "$PWD/build-root-$other" bookworm "$(debian_name $other)" 3.11 libffi8
}

# library ARCH TOOLS [meson options]: the library in build-wheel-ARCH; TOOLS is the prefix of the compiler's name
library() {
    arch=$1 tools=$2
    shift 2
    CFLAGS=$floor CC=${tools}gcc AR=${tools}ar tools/libraries.sh "build-libraries-$arch"
    CFLAGS=$floor CC=${tools}gcc TARGET=python/libcentimani.so tools/build.sh "build-wheel-$optimization-$arch" -Dstatic=true \
        -Ddebug=false -Doptimization=$optimization -Dlibraries="$PWD/build-libraries-$arch" "$@"
    mkdir -p "$out/$arch"
    "${tools}strip" -o "$out/$arch/libcentimani.so" "build-wheel-$optimization-$arch/python/libcentimani.so"
    rm -f "$out"/*_"$arch".whl
    python3 python/backend.py "$out/$arch/libcentimani.so" "$out"
}

# cross ARCH PREPARED: the same by a cross compiler; PREPARED is a build folder of this machine
cross() {
    tools=$1-linux-gnu-
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
    library "$1" "$tools" -Dprepared="$2" --cross-file "$out/$1.ini"
}

# old_python: Debian 11. Python 3.9 is the oldest that the package supports, and glibc 2.31 is older than that of the compiler.
old_python() {
    root=$PWD/build-root-old
    python_root "$root" bullseye "$(debian_name "$here")" 3.9 libffi7
    cat >"$out/old-python" <<RUN
#!/bin/sh
PYTHONHOME=$root/usr exec $root/lib/*-linux-gnu/ld-2.31.so --library-path \$(echo $root/lib/*-linux-gnu):\$(echo $root/usr/lib/*-linux-gnu) $root/usr/bin/python3.9 "\$@"
RUN
    chmod +x "$out/old-python"
    python3 tests/python/test_wheel.py "$out"/*_"$here".whl -- "$PWD/$out/old-python"
}

fetch
[ "$1" = fetch ] && exit 0
if [ "$1" = quick ]; then
    optimization=0 prepared=$PWD/build # which `make test` has built
    shift
fi
out=$1
mkdir -p "$out"
if [ $optimization != 0 ]; then
    library "$here" ""
    python3 tests/python/test_wheel.py "$out"/*_"$here".whl
    old_python
fi
cross $other "${prepared:-$PWD/build-wheel-$optimization-$here}"
root=$PWD/build-root-$other
python3 tests/python/test_wheel.py "$out"/*_$other.whl -- "qemu-$other-static" -L "$root" "$root/usr/bin/python3.11"
ls -l "$out"/*.whl
