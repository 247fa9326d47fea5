#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# campaign.sh PROGRAM NAMES.txt OUT BUDGET [SEED]: capture the networks of a list, predict their steps, then measure
# them on this machine's GPU for at most BUDGET seconds.
#
# OUT/predicted.tsv is complete before the first step is measured. OUT/measured.jsonl has the measurements,
# OUT/captures.tar.xz the captures.
set -eu
here=$(dirname "$0")
program=$1 names=$2 out=$3 budget=$4 seed=${5:-1}
cores=$(nproc)
work=$(mktemp -d)
mkdir -p "$out"
export PYTHONPATH="$here/../../python${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
part=0
while [ "$part" -lt "$cores" ]; do
    OMP_NUM_THREADS=1 CUDA_VISIBLE_DEVICES= python3 "$here/predict.py" capture "$names" "$work" --part "$part/$cores" \
        >"$work/log$part" 2>&1 &
    part=$((part + 1))
done
wait
date
python3 "$here/predict.py" list "$names" "$work" "$program" -o "$out/predicted.tsv" --seed "$seed"
grep '^#' "$out/predicted.tsv" || true
date
tar -C "$work" -cf - . | xz -T0 -3 >"$out/captures.tar.xz"
python3 "$here/measure.py" "$out/predicted.tsv" -o "$out/measured.jsonl" --budget "$budget" 2>"$out/errors.txt"
date
