# SPDX-License-Identifier: Apache-2.0
"""fused_table.py - a kernel table of what torch.compile generates, from measured steps and benchmarks.

    python3 tools/fused_table.py STEPS.jsonl... --kernels KERNELS.jsonl -o data/kernels/nvidia-h200.torch-compile.json

STEPS.jsonl is written by tools/first_sight/compiled.py, KERNELS.jsonl by 'python -m centimani bench --suite compiled'.
A generated kernel moves bytes: what it reads from outside and what it writes for others. Kernels are sorted into bins of
half an octave of these bytes; a row has the mean time of a bin (a step adds them up), at 8 bytes per element as a copy in fp32 has. Kernels
of steps count alone where a bin has enough of them, because they find their operands in the cache as often as a step
does. Tables: fused (no reduction), row_sum (rows of at most 1,024 numbers, which a kernel keeps on the chip),
long_row_sum (longer ones), column_sum (many rows are added), partial_sums (its results are added up). Pools and writes
by index are omitted: they read elements several times, or wait for each other (src/model/dispatch/traffic.c).
"""
import argparse
import json
import math
import statistics

DIMS = ["outer", "inner"]
FEWEST = 3  # kernels of a bin


def of_steps(path):
    """(record, microseconds) of each kernel of the steps."""
    for line in open(path):
        row = json.loads(line)
        if "error" in row:
            continue
        times = {name: us / count for name, count, us in row["kernels"]}
        for name, record in {r["kernel"]: r for r in row["generated"]}.items():
            if name in times and "unknown" not in record:
                yield record, times[name]


def of_bench(path):
    for line in open(path):
        record = json.loads(line)
        if record.get("us") and "unknown" not in record:
            yield record, statistics.median(record["us"])


def table_of(record):
    """The table of a kernel; None: of none."""
    if any(word in record["kernel"] for word in ("max_pool", "avg_pool", "index_put")):
        return None
    if not record["reduces"]:
        return "fused"
    if record.get("hint", "").startswith("OUTER"):
        return "partial_sums" if record["persistent"] or record["hint"] == "OUTER_TINY" else "column_sum"
    return "row_sum" if record["persistent"] else "long_row_sum"


def rows_of(kernels):
    bins = {}
    for record, us, step in kernels:
        moved = sum(operand[1] for operand in record["reads"] + record["writes"])
        if moved:
            bins.setdefault(round(2 * math.log2(moved)), []).append((moved, us, step))
    rows = []
    for _, found in sorted(bins.items()):
        steps = [(moved, us) for moved, us, step in found if step]
        found = steps if len(steps) >= FEWEST else [(moved, us) for moved, us, _ in found]
        if len(found) >= FEWEST:
            moved, us = (statistics.fmean(column) for column in zip(*found))
            rows.append([1, max(1, round(moved / 8)), float(f"{us * 1e-6:.4g}"), 1])
    return list({row[1]: row for row in rows}.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="+")
    parser.add_argument("--kernels", action="append", default=[])
    parser.add_argument("-o", "--output", required=True)
    args = parser.parse_args()
    tables, count = {}, 0
    sources = [(of_steps(path), True) for path in args.steps] + [(of_bench(path), False) for path in args.kernels]
    for source, step in sources:
        for record, us in source:
            if table_of(record):
                tables.setdefault(table_of(record), []).append((record, us, step))
                count += 1
    lines = [json.dumps({"runtime": "torch-compile", "op": "elementwise", "pass": "forward", "variant": name, "dtype": "fp32",
                         "dims": DIMS, "kind": "measured", "source": "bench", "date": "2026-11", "rows": rows_of(kernels)},
                        separators=(",", ":")) for name, kernels in sorted(tables.items())]
    source = {"title": f"{count} kernels that torch.compile generated, in training steps and from drawn functions, on an NVIDIA "
              "H200; PyTorch 2.11, CUDA 13.0, Triton 3.6; means of bins of half an octave of bytes",
              "where": "tools/fused_table.py", "date": "2026-11-16"}
    with open(args.output, "w") as out:
        out.write('{"schema":1,\n"id":"nvidia-h200.torch-compile",\n"name":"NVIDIA H200, torch.compile",\n"base":"nvidia-h200",\n'
                  '"kernels":[\n' + ",\n".join(lines) + '],\n"sources":' + json.dumps({"bench": source}) + "}\n")


if __name__ == "__main__":
    main()
