#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""steps.py - PROGRAM [--table]: compare predicted training steps with measured ones. Prints TAP.

steps.csv contains training steps measured on an H200 (PyTorch 2.11, CUDA 13.0, cuDNN 9.19): the time of a step and that
of its kernels. The device's tables were measured for the models of `seen` rows; some sizes of other models were added
later. The mean error of kernel times must be at most 10 % on seen rows, and every row must be plausible.
docs/results/time.md has the errors.
"""
import csv
import json
import pathlib
import subprocess
import sys

ROWS = pathlib.Path(__file__).parent / "steps.csv"
MEAN = 0.10   # largest mean error of device time over `seen` rows
WORST = {"device_time_s": 0.30, "step_time_s": 0.40}
FIELDS = {"device_time_s": "device_ms", "step_time_s": "step_ms"}


def predict(program, row):
    call = [program, "predict", row["model"], "--device", "nvidia-h200", "--batch", row["batch"], "--precision", row["precision"],
            "--optimizer", row["optimizer"], "--json"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr.strip()}


def errors(got, row):
    return {field: got[field] / (float(row[measured]) / 1e3) - 1 for field, measured in FIELDS.items()}


def main():
    program, *rest = sys.argv[1:]
    rows = list(csv.DictReader(ROWS.open()))
    seen, failed = [], 0
    if "--table" not in rest:
        print(f"1..{len(rows) + 1}")
    for number, row in enumerate(rows, 1):
        got = predict(program, row)
        error = {} if "error" in got else errors(got, row)
        faults = [got["error"]] if "error" in got else [f"{k} off by {v:+.1%}" for k, v in error.items() if abs(v) > WORST[k]]
        failed += bool(faults)
        if row["seen"] == "yes" and error:
            seen.append(abs(error["device_time_s"]))
        name = f"{row['model']} {row['precision']} batch {row['batch']}"
        if "--table" in rest:
            print(f"| {name} | {row['step_ms']} | {error['step_time_s']:+.1%} | {row['device_ms']} | {error['device_time_s']:+.1%} |")
        else:
            print(f"{'not ' if faults else ''}ok {number} {name}{': ' if faults else ''}{'; '.join(faults)}")
    mean = sum(seen) / len(seen) if seen else 1
    failed += mean > MEAN
    if "--table" not in rest:
        print(f"{'not ' if mean > MEAN else ''}ok {len(rows) + 1} device time off by {mean:.1%} on average over the rows seen")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
