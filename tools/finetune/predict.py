#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""predict.py - predictions of the fine-tuning steps of cases.py: predict.py build/centimani [DEVICE [LIST]] > predicted.tsv"""
import json
import subprocess
import sys

from cases import LISTS


def answer(program, command, case, device):
    words = [program, command, case.description(), "--device", device, "--json", *case.options()]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    if not run.stdout:
        raise SystemExit(f"{case.name}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def main():
    program, device = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "nvidia-h200"
    cases = LISTS[sys.argv[3] if len(sys.argv) > 3 else "a"]
    print("case\tstep_s\tlow_s\thigh_s\tdevice_s\thost_s\tpeak_bytes")
    for case in cases:
        t, m = answer(program, "predict", case, device), answer(program, "memory", case, device)
        low, high = t["interval_s"]
        print(f"{case.name}\t{t['step_time_s']:.6f}\t{low:.6f}\t{high:.6f}\t{t['device_time_s']:.6f}\t"
              f"{t['host_time_s']:.6f}\t{m['peak_bytes']:.0f}", flush=True)


if __name__ == "__main__":
    main()
