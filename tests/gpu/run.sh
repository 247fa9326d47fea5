#!/bin/sh
# run.sh - OUT [PART...]: build tests/gpu/check, run it, and hold it against PyTorch where there is one (COMPARE=1).
out=$1
shift
here=$(dirname "$0")
"$here/build.sh" "$out" || exit 1
# PyTorch brings libraries of its own; both sides must use the same.
folders=$(python3 "$here/folders.py")
export CENTIMANI_CUDA_PATH="${CENTIMANI_CUDA_PATH:-$folders}"
export LD_LIBRARY_PATH="$folders${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
"$out/check" --budget "${BUDGET:-80}" -o "$out/check.csv" "$@"
status=$?
[ -n "$COMPARE" ] && python3 "$here/compare.py" "$out/check.csv" "${BUDGET:-80}"
exit $status
