#!/bin/sh
# profiles_built_in.sh - ROOT: check that every profile under data/ is listed in data/meson.build and thus built in.
cd "$1/data" || exit 1
status=0
for file in devices/*.json clusters/*.json schema/*.json; do
    grep -q "'$file'" meson.build || { echo "data/$file is not in data/meson.build"; status=1; }
done
exit $status
