#!/bin/sh
# libraries.sh - PREFIX: compile jansson, libyaml, nanopb and zlib from Debian's sources as static libraries with $CC and $AR.
# Wheels and the WebAssembly page use them: Debian's own archives are not position-independent, and for one
# architecture only. Sources come from $SOURCES (default: build-sources), which is filled first.
set -e
prefix=$1
sources=${SOURCES:-build-sources}
flags="-O2 -fPIC -fvisibility=hidden -w $CFLAGS"

# compile NAME FLAGS FILE...
compile() {
    name=$1 own=$2
    shift 2
    mkdir -p "$prefix/objects/$name"
    for file; do
        $CC $flags $own -c "$file" -o "$prefix/objects/$name/$(basename "$file" .c).o"
    done
    ${AR:-ar} rcs "$prefix/lib/lib$name.a" "$prefix/objects/$name"/*.o
}

libraries='jansson libyaml nanopb zlib'
[ "$(cat "$prefix/done" 2>/dev/null)" = "$libraries" ] && exit 0
. /etc/os-release
"$(dirname "$0")/debian_root.sh" "$sources" "$VERSION_CODENAME" source $libraries
mkdir -p "$prefix/include" "$prefix/lib"
prefix=$(cd "$prefix" && pwd)
cp /usr/include/jansson_config.h "$sources/jansson/src/jansson.h" "$sources"/nanopb/pb*.h "$sources/zlib/zlib.h" \
    "$sources/zlib/zconf.h" "$sources/libyaml/include/yaml.h" "$prefix/include"
: >"$prefix/include/jansson_private_config.h" # the flags below say the same
compile jansson "-I$prefix/include -DHAVE_STDINT_H -DHAVE_STRTOLL -DHAVE_LOCALE_H -DHAVE_LOCALECONV -DHAVE_UNISTD_H -DHAVE_FCNTL_H \
    -DHAVE_SYS_TYPES_H -DHAVE_SYS_STAT_H -DHAVE_SYS_TIME_H -DHAVE_OPEN -DHAVE_CLOSE -DHAVE_READ -DHAVE_GETPID -DHAVE_GETTIMEOFDAY \
    -DHAVE_SYNC_BUILTINS -DHAVE_ATOMIC_BUILTINS -DUSE_URANDOM" "$sources"/jansson/src/*.c
compile protobuf-nanopb "" "$sources"/nanopb/pb_common.c "$sources"/nanopb/pb_decode.c
compile yaml "-I$prefix/include -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 -DYAML_VERSION_STRING=\"0.2.5\"" \
    "$sources"/libyaml/src/*.c
compile z "-DHAVE_UNISTD_H -D_LARGEFILE64_SOURCE=1" "$sources"/zlib/*.c
echo "$libraries" >"$prefix/done"
