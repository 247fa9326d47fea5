#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""snapshots.py PROGRAM RECORDED CAPTURES [NETWORK...] - predicted memory snapshots beside those of a GPU.

RECORDED is the folder of record.py, CAPTURES that of capture.py. A snapshot has the allocations and releases of one step,
without the tensors that exist before it. Printed are megabytes above the level at which the forward pass begins: the
highest, and those that stay; the parts of the step's allocated bytes at which the highest level is reached; and the mean
difference of the two curves of levels by allocated bytes, in parts of the highest real level. record.py holds no variable
with the network's output, as the prediction assumes of a training loop: the last column is the error of the highest level
without the bytes that stay in the prediction alone.
"""
import gzip
import json
import pathlib
import pickle
import subprocess
import sys
import tempfile

POINTS = 200
SIGNS = {"alloc": 1, "free_completed": -1}


def changes_of(snapshot, after_us=-1):
    """Changes of allocated bytes; of the predicted snapshot those after the tensors that exist before the step."""
    events = next(t for t in snapshot["device_traces"] if t)
    return [SIGNS[e["action"]] * e["size"] for e in events if e["action"] in SIGNS and e.get("time_us", 0) > after_us]


def predicted(program, row, capture, folder):
    file = pathlib.Path(folder) / "predicted.pickle"
    subprocess.run([program, "predict", capture, "--device", "nvidia-h200", "--batch", str(row["batch"]), "--precision",
                    row["precision"], "--optimizer", row["optimizer"], "--snapshot", file], check=True, capture_output=True)
    return changes_of(pickle.loads(file.read_bytes()), 0)


def curve(changes):
    """Levels at POINTS equal parts of the allocated bytes, the highest, its place, and the last."""
    now, so_far, levels, allocated = 0, 0, [0], [0]
    for change in changes:
        now, so_far = now + change, so_far + max(0, change)
        levels.append(now)
        allocated.append(so_far)
    begin = min(levels[:len(levels) // 4])  # the real step first releases the gradients of the one before
    levels = [level - begin for level in levels]
    at, points = 0, []
    for part in range(POINTS + 1):
        while allocated[at] < part * so_far / POINTS:
            at += 1
        points.append(levels[at])
    highest = max(levels)
    return points, highest, allocated[levels.index(highest)] / so_far, levels[-1]


def main():
    program, recorded, captures, names = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4:]
    print(f"{'network':14} {'highest':>9} {'predicted':>9} {'error':>7} {'stays':>8} {'predicted':>9} {'at':>5} {'pred.':>5}"
          f" {'curve':>6} {'without':>8}")
    for line in (recorded / "steps.jsonl").read_text().splitlines():
        row = json.loads(line)
        if names and row["network"] not in names:
            continue
        with gzip.open(recorded / f"{row['network']}.snapshot.pickle.gz") as file, tempfile.TemporaryDirectory() as folder:
            real = curve(changes_of(pickle.load(file)))
            told = curve(predicted(program, row, captures / f"{row['network']}.cmt.json", folder))
        alone = (told[1] - told[3] + real[3]) / real[1] - 1
        apart = sum(abs(a - b) for a, b in zip(real[0], told[0])) / len(real[0]) / real[1]
        print(f"{row['network']:14} {real[1] / 1e6:9.1f} {told[1] / 1e6:9.1f} {100 * (told[1] / real[1] - 1):+6.1f}%"
              f" {real[3] / 1e6:8.1f} {told[3] / 1e6:9.1f} {real[2]:5.2f} {told[2]:5.2f} {100 * apart:5.1f}% {100 * alone:+7.2f}%")


main()
