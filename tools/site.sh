#!/bin/sh
# site.sh - OUT: compile the library to WebAssembly and write the page without a server to OUT. `build` must be built.
set -e
out=$1
export NODE_PATH=/usr/share/nodejs # emscripten's node packages, if another vendor's node is installed
EMCC_FLAGS="$(emcc --cflags) -msimd128" # all browsers since 2023 have vector instructions
export EMCC_FLAGS
cat >build/wasm.ini <<INI
[binaries]
c = '$PWD/tools/emcc.sh'
ar = 'emar'

[host_machine]
system = 'emscripten'
cpu_family = 'wasm32'
cpu = 'wasm32'
endian = 'little'
INI
CC=tools/emcc.sh AR=emar tools/libraries.sh build-libraries-wasm
TARGET=site/centimani.js tools/build.sh build-site-wasm -Dstatic=true -Ddebug=false -Doptimization=s -Dwerror=false -Dwarning_level=0 \
    -Dlibraries="$PWD/build-libraries-wasm" -Dprepared="$PWD/build" --cross-file build/wasm.ini
python3 tools/site.py build-site-wasm build/centimani "$out"
