#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""evaluate.py PROGRAM RECORDED CAPTURES - how well tables learned from traces predict other networks, and compare a step.

RECORDED is the folder of record.py, CAPTURES that of capture.py. Kernel tables are learned from the traces of LEARNED and
joined. Each network is then predicted in three ways: from the built-in profile, from a profile that extends it by the
learned tables (as `fit --trace --device` writes it), and from the learned tables alone, without any other table. Printed
are measured milliseconds of a step without the profiler and the errors; and of `compare`: milliseconds of the step in the
trace, which part of it the rows of its table add up to, the time in which the device is busy, and the error of its
prediction.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

LEARNED = ("resnet50", "gpt2", "convnext")
DEVICE = "nvidia-h200"
HERE = pathlib.Path(__file__).resolve().parents[2]


def answer(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def learned(program, recorded, folder):
    """The profile that extends the device, and the one without other tables."""
    parts = []
    for name in LEARNED:
        parts.append(folder / f"{name}.json")
        answer(program, "fit", "--trace", recorded / f"{name}.trace.json.gz", "--device", DEVICE, "-o", parts[-1])
    extended, alone = folder / "extended.json", folder / "alone.json"
    answer(program, "merge", *parts, "-o", extended)
    tables = json.loads(extended.read_text())
    profile = json.loads((HERE / "data/devices" / f"{DEVICE}.json").read_text())
    profile.update(id="learned-alone", reference="none", kernels=tables["kernels"],
                   sources={**profile.get("sources", {}), **tables["sources"]})
    for key in ("aliases", "transfer"):
        profile.pop(key, None)
    alone.write_text(json.dumps(profile))
    return extended, alone


def asked(row, capture):
    return [capture, "--batch", row["batch"], "--precision", row["precision"], "--optimizer", row["optimizer"], "--json"]


def predicted(program, row, capture, device):
    return json.loads(answer(program, "predict", *asked(row, capture), "--device", device))


def main():
    program, recorded, captures = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    rows = [json.loads(line) for line in (recorded / "steps.jsonl").read_text().splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        extended, alone = learned(program, recorded, pathlib.Path(folder))
        print(f"{'network':14} {'measured':>8} {'built-in':>9} {'extended':>9} {'alone':>9} {'memory':>8}"
              f" | {'traced':>8} {'explained':>9} {'busy':>8} {'error':>7}")
        for row in rows:
            capture = captures / f"{row['network']}.cmt.json"
            ways = [predicted(program, row, capture, device) for device in (DEVICE, extended, alone)]
            errors = [100 * (way["step_time_s"] / row["step_s"] - 1) for way in ways]
            memory = 100 * (ways[0]["peak_bytes"] / row["peak_allocated"] - 1)
            seen = json.loads(answer(program, "compare", recorded / f"{row['network']}.trace.json.gz",
                                     *asked(row, capture), "--device", DEVICE))
            explained = sum(r["measured_s"] for r in seen["differences"])
            mark = "*" if row["network"] in LEARNED else ""
            print(f"{row['network'] + mark:14} {1e3 * row['step_s']:8.2f}", *(f"{e:+8.1f}%" for e in errors),
                  f"{memory:+7.1f}% | {1e3 * seen['measured_step_s']:8.2f} {100 * explained / seen['measured_step_s']:8.1f}%"
                  f" {1e3 * seen['measured_device_s']:8.2f}"
                  f" {100 * (seen['predicted_device_s'] / seen['measured_device_s'] - 1):+6.1f}%")
    print("* learned from")


main()
