#!/bin/sh
# build.sh - DIR [meson options]: configure DIR if necessary, then build it, or only TARGET, and say how far it is. CC names the compiler.
dir=$1
shift
if ! [ -f "$dir/build.ninja" ]; then
    echo "$dir: configuring"
    meson setup "$dir" "$@" >"$dir.log" 2>&1 || { cat "$dir.log" >&2; exit 1; }
    mv "$dir.log" "$dir/setup.log"
fi
[ -t 1 ] && exec ninja -C "$dir" $TARGET # which keeps a count in one line of a terminal
failed=$dir/failed
rm -f "$failed"
{ NINJA_STATUS='%p ' ninja -C "$dir" $TARGET || : >"$failed"; } | awk -v dir="$dir" '
    /^ *[0-9]+% / { if (int($1 / 20) > part) { part = int($1 / 20); print dir ": " $1 " built"; fflush() } next }
    /^ninja: (Entering|no work)/ { next }
    { print; fflush() }'
[ ! -e "$failed" ]
