#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# campaign.sh PROGRAM LIST OUT BUDGET [SEED]: capture the networks of a list, predict their steps, then measure them on
# this machine's GPU for at most BUDGET seconds.
#
# LIST is a folder with names.txt and, for networks written by hand, networks/*.py, or an archive of evidence/. OUT gets
# all of it. OUT/predicted.tsv is complete before the first step is measured. OUT/measured.jsonl has the measurements.
# evidence.py packs OUT.
set -eu
here=$(dirname "$0")
program=$1 list=$2 out=$3 budget=$4 seed=${5:-1}
cores=$(nproc)
work=$out/captures
mkdir -p "$work"
if [ -d "$list" ]; then cp -r "$list/." "$out"; else python3 "$here/../evidence.py" extract "$list" "$out"; fi
export PYTHONPATH="$here/../../python${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
part=0
while [ "$part" -lt "$cores" ]; do
    OMP_NUM_THREADS=1 CUDA_VISIBLE_DEVICES= python3 "$here/predict.py" capture "$out/names.txt" "$work" --part "$part/$cores" \
        >"$work/log$part" 2>&1 &
    part=$((part + 1))
done
wait
date
python3 "$here/predict.py" list "$out/names.txt" "$work" "$program" -o "$out/predicted.tsv" --seed "$seed"
grep '^#' "$out/predicted.tsv" || true
date
python3 "$here/measure.py" "$out/predicted.tsv" -o "$out/measured.jsonl" --budget "$budget" 2>"$out/errors.txt"
date
