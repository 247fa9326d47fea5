#!/bin/sh
# build.sh - OUT: tests/gpu/check built there with a C compiler, Python and nothing else.
cd "$(dirname "$0")/../.." && mkdir -p "$1" || exit 1
cuda=src/bench/cuda
python3 tools/embed.py cuda "$1/sources.c" $cuda/kernels/*.cu $cuda/kernels/types.cuh &&
${CC:-cc} -std=c11 -O2 -D_GNU_SOURCE -Iinclude -Isrc -Itests/gpu -o "$1/check" tests/gpu/check.c "$1/sources.c" \
    $cuda/*.c src/base/ctx.c src/base/status.c src/base/text.c src/base/map.c -ldl -lm -lpthread
