#!/bin/sh
# emcc.sh - ARGUMENTS OF EMCC: compile with the clang that emcc would call, and link with emcc. emcc's own start takes as long
# as compiling one of our files. $EMCC_FLAGS: what `emcc --cflags` prints.
case " $* " in
*" -c "*) exec clang-14 $EMCC_FLAGS "$@" ;;
*) exec emcc "$@" ;;
esac
