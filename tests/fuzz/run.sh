#!/bin/sh
# run.sh - SECONDS PROGRAM: run one fuzz target on its seeds. Crashing inputs are left beside the program as crash-*.
seconds=$1
program=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
kind=$(basename "$program" | sed 's/^fuzz_//')
corpus=$(mktemp -d) || exit 1
trap 'rm -rf "$corpus"' EXIT

case $kind in
onnx) more="/usr/share/libonnx-testdata/data/node /usr/share/libonnx-testdata/data/simple" ;;
net) more=$here/../../data/models ;;
results) more=$here/../../data/results ;;
profile) more="$here/../../data/devices $here/../../data/clusters" ;;
*) more= ;;
esac
seeds=
for folder in "$here/corpus/$kind" $more; do [ -d "$folder" ] && seeds="$seeds $folder"; done
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1
cd "$(dirname "$program")" &&
    "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
        -artifact_prefix=./ -verbosity=0 "$corpus" $seeds
