#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compiled.sh LIST.tsv OUT STEPS_BUDGET KERNELS_BUDGET: compiled steps of a list, then kernels that torch.compile
# generates, on this machine's GPU.
#
# LIST.tsv holds the predictions, which therefore exist before the first step is measured. OUT/compiled.jsonl.xz has the
# steps, OUT/fused.jsonl.xz the kernels. A budget of 0 omits a part.
set -eu
here=$(dirname "$0")
list=$1 out=$2 steps=$3 kernels=$4
mkdir -p "$out"
export PYTHONPATH="$here/../../python${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1
date
if [ "$steps" -gt 0 ]; then
    python3 "$here/compiled.py" "$list" -o "$out/compiled.jsonl" --budget "$steps" --workers 14 2>"$out/compiled.err" || true
    xz -3 -T0 -f "$out/compiled.jsonl" || true
    date
fi
if [ "$kernels" -gt 0 ]; then
    python3 -m centimani bench --suite compiled --budget "$kernels" -o "$out/fused.jsonl" 2>"$out/fused.err" || true
    xz -3 -T0 -f "$out/fused.jsonl" || true
    date
fi
tail -n 3 "$out"/*.err
