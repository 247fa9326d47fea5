#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""throttle_choose.py TABLES.json -o CASES.json [--seed N]

Draws the sample of kernel calls that tools/throttle_h200.py measures from the kernel tables of a profile
(data/kernels/nvidia-h200.torch-eager.json). Needs PyTorch (any device) and PYTHONPATH=python.

Each operator has a fixed number of calls (QUOTA). The draw is stratified: passes, variants, types, thirds of the table
by bytes moved, and shape classes (batched or narrow products, depthwise or dilated convolutions, causal attention) are
filled evenly, the least used first; a seeded generator breaks ties and picks the row. Calls that take longer than
LONGEST_S are left out: on a tenth of the multiprocessors they would take the time of many others.
"""
import argparse
import collections
import json
import random

from centimani.bench.cases import Case
from centimani.bench.harness import work_of

QUOTA = {"gemm": 56, "conv": 78, "conv3d": 12, "attention": 30, "batch_norm": 18, "layer_norm": 12, "group_norm": 10,
         "rms_norm": 8, "softmax": 12, "cross_entropy": 10, "elementwise": 54, "reduce": 16, "pool": 16, "embedding": 10,
         "resize": 10, "optimizer": 16, "rnn": 16}
LONGEST_S = 8e-3
THIRDS = 3
# Calls that are not in the tables or must be in every sample.
FIXED = [("gemm", "forward", "nn", "bf16", (1, 8192, 8192, 8192)), ("gemm", "forward", "nn", "tf32", (1, 4096, 4096, 4096)),
         ("gemm", "forward", "nn", "fp32", (1, 4096, 4096, 4096)), ("gemm", "forward", "nt", "bf16", (1, 128, 128, 128)),
         ("attention", "forward", "mask", "bf16", (4, 1024, 1024, 16, 16, 64, 0)),
         ("attention", "backward", "mask", "bf16", (4, 1024, 1024, 16, 16, 64, 0)),
         ("elementwise", "forward", "add", "bf16", (1, 1 << 28)), ("elementwise", "forward", "add", "bf16", (1, 1 << 22)),
         ("elementwise", "forward", "add", "bf16", (1, 1 << 16)),
         ("elementwise", "forward", "gelu", "bf16", (1, 1 << 28)), ("elementwise", "forward", "gelu", "bf16", (1, 1 << 22))]


def conv_class(sizes):
    n, c, k, h, w, r, s, *_, dil_h, _, groups = sizes
    if groups > 1:
        return "depthwise" if groups == c else "grouped"
    if dil_h > 1:
        return "dilated"
    return {(1, 1): "1x1", (3, 3): "3x3"}.get((r, s), "other window")


def gemm_class(sizes):
    batch, m, n, k = sizes
    if batch > 1:
        return "batched"
    return "narrow" if min(m, n, k) <= 64 else "vector-like" if min(m, n) * 16 < max(m, n) else "square"


def attention_class(sizes):
    return ("causal" if sizes[6] else "full") + (" grouped" if sizes[3] != sizes[4] else "")


SHAPES = {"conv": conv_class, "gemm": gemm_class, "attention": attention_class}


def cells_of(tables, op):
    """Rows by the levels (pass, variant, dtype, third, shape class) of the draw."""
    cells = collections.defaultdict(list)
    for table in tables:
        if table["op"] != op:
            continue
        key, width = (op, table["pass"], table["variant"], table["dtype"]), len(table["dims"])
        cases = [Case(*key, tuple(row[:width])) for row in table["rows"] if row[width] <= LONGEST_S]
        cases.sort(key=lambda case: (work_of(case)[1], case.sizes))
        for place, case in enumerate(cases):
            shape = SHAPES[op](case.sizes) if op in SHAPES else ""
            cells[(*key[1:], place * THIRDS // len(cases), shape)].append(case)
    return cells


def draw(tables, op, count, generator):
    """Draw `count` calls of an operator, each from the cell whose levels were used least so far."""
    cells, used, chosen = cells_of(tables, op), collections.Counter(), []
    taken = collections.Counter()
    while len(chosen) < count:
        open_cells = [key for key in sorted(cells) if cells[key]]
        if not open_cells:
            break
        key = min(open_cells, key=lambda cell: (taken[cell], sum(used[level] for level in enumerate(cell)),
                                                generator.random()))
        taken[key] += 1
        used.update(enumerate(key))
        chosen.append(cells[key].pop(generator.randrange(len(cells[key]))))
    return chosen


def tables_of(cases):
    grouped = collections.defaultdict(list)
    for case in cases:
        grouped[case[:4]].append(list(case.sizes))
    return [dict(zip(("op", "pass", "variant", "dtype"), key), rows=sorted(rows)) for key, rows in sorted(grouped.items())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with open(options.tables, encoding="utf-8") as file:
        tables = json.load(file)["kernels"]
    generator = random.Random(options.seed)
    cases = [case for op, count in QUOTA.items() for case in draw(tables, op, count, generator)]
    cases = list(dict.fromkeys([*(Case(*fixed) for fixed in FIXED), *cases]))
    lines = ",\n".join(json.dumps(table) for table in tables_of(cases))
    with open(options.output, "w", encoding="utf-8") as file:
        file.write('{"schema": 1, "cases": [\n' + lines + "\n]}\n")
    print(f"{len(cases)} calls of {len(QUOTA)} operators")


if __name__ == "__main__":
    main()
