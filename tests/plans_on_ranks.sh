#!/bin/sh
# plans_on_ranks.sh - PROGRAM MPIRUN: check that one, two and three ranks find the same plans.
program=$1
mpirun=$2
search() {
    "$@" "$program" plan gpt:layers=8,hidden=1024,heads=16,seq=512,vocab=4096 --device nvidia-a100-80g -n 8 \
        --global-batch 64 --runtime megatron --json | grep -vE '_time_s|"threads"|"ranks"'
}
alone=$(search env) || exit 1
for ranks in 2 3; do
    together=$(search "$mpirun" --oversubscribe -n $ranks) || exit 1
    [ "$alone" = "$together" ] || { echo "$ranks ranks found other plans"; exit 1; }
done
