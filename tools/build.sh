#!/bin/sh
# build.sh - DIR [meson options]: configure DIR if necessary, then build it, or only TARGET. CC names the compiler.
dir=$1
shift
if ! [ -f "$dir/build.ninja" ]; then
    meson setup "$dir" "$@" >"$dir.log" 2>&1 || { cat "$dir.log" >&2; exit 1; }
    mv "$dir.log" "$dir/setup.log"
fi
exec ninja --quiet -C "$dir" $TARGET
