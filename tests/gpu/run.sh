#!/bin/sh
# run.sh - OUT [PART...]: build tests/gpu, then run `libraries` (exported functions, compilation of kernels) and `check`
# (calls). COMPARE=1 also compares the times with PyTorch's.
out=$1
shift
here=$(dirname "$0")
"$here/build.sh" "$out" || exit 1
# PyTorch's packages contain NVIDIA's libraries; both sides must use the same ones.
folders=$(python3 "$here/folders.py")
export CENTIMANI_CUDA_PATH="${CENTIMANI_CUDA_PATH:-$folders}"
export LD_LIBRARY_PATH="$folders${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
status=0
"$out/libraries" || status=1
"$out/check" --budget "${BUDGET:-80}" -o "$out/check.csv" "$@" || status=1
[ -n "$COMPARE" ] && python3 "$here/compare.py" "$out/check.csv" "${BUDGET:-80}"
exit $status
