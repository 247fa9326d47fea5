#!/bin/sh
# build.sh - OUT: build tests/gpu/check and tests/gpu/libraries in OUT. Needs only a C compiler and Python.
cd "$(dirname "$0")/../.." && mkdir -p "$1" || exit 1
cuda=src/bench/backends/cuda
python3 tools/embed.py cuda "$1/sources.c" $cuda/kernels/*.cu $cuda/kernels/types.cuh || exit 1
for program in libraries check; do
    ${CC:-cc} -std=c11 -O2 -D_GNU_SOURCE -Iinclude -Isrc -Itests/gpu -o "$1/$program" tests/gpu/$program.c "$1/sources.c" \
        $cuda/*.c src/base/ctx.c src/base/status.c src/base/text.c src/base/map.c -ldl -lm -lpthread || exit 1
done
