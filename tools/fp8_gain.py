#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fp8_gain.py - what 8-bit products gain in a transformer block: predictions beside measured steps of fp8_blocks.py.

    fp8_gain.py capture FOLDER                 record the blocks in bf16; needs PyTorch and PYTHONPATH=python
    fp8_gain.py predict PROGRAM FOLDER         device seconds of forward and backward in bf16 and fp8, eager and compiled
    fp8_gain.py compare PREDICTED.tsv FOUND.json

Both are files or members of evidence/ (fp8-blocks/predicted-b.tsv, fp8-blocks/measured-b.json). FOUND.json is written by `measure_runtime.py --parts blocks`. The program has one recipe for fp8: a scale per tensor, which
Transformer Engine calls current scaling and torchao tensorwise. Gains of other recipes are listed beside its prediction.
"""
import csv
import json
import pathlib
import subprocess
import sys

import evidence

WIDTHS, TOKENS = (1024, 2048, 4096, 8192), (4, 2048)
APPENDED = ("2.", "sum")  # operators of the last product and of the loss, which measured blocks do not have
COLUMNS = ("width", "compiled", "bf16_s", "fp8_s")


def capture(folder):
    import torch
    import centimani
    import fp8_blocks
    pathlib.Path(folder).mkdir(exist_ok=True)
    for width in WIDTHS:
        model = fp8_blocks.stack(width, "bf16", "meta")
        model.append(torch.nn.Linear(width, 8, bias=False, device="meta", dtype=torch.bfloat16))  # the last product stays in 16 bits
        x = torch.zeros(*TOKENS, width, dtype=torch.bfloat16, device="meta", requires_grad=True)
        centimani.capture(model, (x,), loss=lambda y: y.sum(), optimizer="sgd").save(f"{folder}/block-{width}.cmt.json")


def device_time(program, path, precision, runtime):
    command = [program, "predict", path, "--device", "nvidia-h200", "--batch", str(TOKENS[0]), "--precision", precision,
               "--runtime", runtime, "--json", "--ops"]
    ops = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["ops"]
    return sum(op["time_s"] for op in ops if op["phase"] in ("forward", "backward") and not op["name"].startswith(APPENDED))


def predict(program, folder):
    print(*COLUMNS, sep="\t")
    for width in WIDTHS:
        for compiled in (0, 1):
            times = [device_time(program, f"{folder}/block-{width}.cmt.json", precision, "torch-compile" if compiled else "torch-eager")
                     for precision in ("bf16", "fp8")]
            print(width, compiled, *(f"{s:.6g}" for s in times), sep="\t")


def compare(predicted, found):
    measured = {(row["width"], int(row["compiled"]), row["recipe"]): row for row in json.loads(evidence.opened(found).read())["blocks"]
                if "error" not in row}
    with evidence.opened(predicted) as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    for row in rows:
        size = int(row["width"]), int(row["compiled"])
        plain, gain = measured.get((*size, "bf16")), float(row["bf16_s"]) / float(row["fp8_s"])
        if not plain:
            continue
        line = f"{size[0]:5} {'compiled' if size[1] else 'eager':8} bf16 {float(row['bf16_s']) / plain['device_seconds'] - 1:+6.1%}"
        for recipe in sorted({key[2] for key in measured if key[:2] == size} - {"bf16"}):
            own = plain["device_seconds"] / measured[(*size, recipe)]["device_seconds"]
            line += f"  {recipe} gain {own:.2f}, predicted {gain:.2f} ({gain / own - 1:+.1%})"
        print(line)


if __name__ == "__main__":
    ways = {"capture": capture, "predict": predict, "compare": compare}
    if len(sys.argv) < 3 or sys.argv[1] not in ways:
        raise SystemExit(__doc__)
    ways[sys.argv[1]](*sys.argv[2:])
