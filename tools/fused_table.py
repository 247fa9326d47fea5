# SPDX-License-Identifier: Apache-2.0
"""fused_table.py - a kernel table of what torch.compile generates, from measured steps and benchmarks.

    python3 tools/fused_table.py STEPS... --kernels KERNELS.jsonl [--only TABLE,...] -o data/kernels/nvidia-h200.torch-compile.json

STEPS.jsonl is written by tools/first_sight/compiled.py, KERNELS.jsonl by 'python -m centimani bench --suite compiled'.
A generated kernel moves bytes: what it reads from outside and what it writes for others. Kernels are sorted into bins of
half an octave of these bytes; a row has the mean time of a bin's launches (a step adds them up), at 8 bytes per element as a copy in fp32 has. Kernels
of steps count alone where a bin has enough of them, because they find their operands in the cache as often as a step
does. Tables: fused (no reduction), row_sum (rows of at most 1,024 numbers, which a kernel keeps on the chip),
long_row_sum (longer ones), strided_row_sum (neighbours in a row of an operand lie apart in memory), column_sum (many rows are added), plain_column_sum (and nothing is computed before),
partial_sums and many_sums (the sums of its blocks are added
up; many: of few columns). With --only the other tables of the output file stay as they are. Pools and writes
by index are omitted: they read elements several times, or wait for each other (src/model/inductor/traffic.c).
"""
import argparse
import json
import math
import pathlib
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).parent.parent / "python" / "centimani"))
import evidence  # noqa: E402
import generated  # noqa: E402 - the package itself needs PyTorch

DIMS = ["outer", "inner"]
FEWEST = 3  # kernels of a bin
FACTORS = {line.split("\t")[0]: line.split("\t")[1] for line in
           (pathlib.Path(__file__).parent.parent / "data" / "factors.tsv").read_text().splitlines() if "\t" in line}
# For the second kernel of a sum over columns (src/model/inductor/compiled.c): rows that a block adds up, columns below
# which there may be more sums than fit on the chip.
ROWS_OF_BLOCK, FEW_COLUMNS = 128, 66
# Numbers from which on there are no more blocks: 32 for each of the 2,048 threads of a multiprocessor, of which there are
# half as many as sums that are not divided any more (264 on an H200).
DIVIDED = 32 * 2048 * 264 // 2
ACCESS = float(FACTORS["access_bytes"])  # bytes of a copy that take the time of reading or writing one number
FUNCTION_FLOP = float(FACTORS["function_flop"])  # the same of a function's FLOP
RANDOM_NUMBER = float(FACTORS["random_number"])  # bytes of a copy that take the time of one
LARGEST, STREAMING = 16e9, 4.2e12  # bytes, and bytes per second that generated kernels of a gigabyte reach
FLAT = 8e6  # bytes: the time of a second kernel stays the same up to here


def lines_of(path):
    with evidence.opened(path) as file:
        yield from file


def of_steps(path):
    """(record, microseconds, launches) of each kernel of the steps."""
    for line in lines_of(path):
        row = json.loads(line)
        if "error" in row:
            continue
        times = {name: (us / count, count) for name, count, us in row["kernels"]}
        for name, records in by_name(row["generated"]).items():
            if name in times and len(records) == 1 and "unknown" not in records[0]:
                yield records[0], *times[name]


def by_name(records):
    """Kernels that differ, by name: forward and backward may have one of the same name."""
    found = {}
    for record in records:
        if record not in found.setdefault(record["kernel"], []):
            found[record["kernel"]].append(record)
    return found


def of_bench(path):
    for line in lines_of(path):
        record = json.loads(line)
        if record.get("us") and "unknown" not in record:
            yield record, statistics.median(record["us"]), 1


def table_of(record):
    """The table of a kernel; None: of none."""
    kind = generated.kind_of(record)
    if kind == "partial_sums" and generated.outputs_of(record)[0] < FEW_COLUMNS:
        return "many_sums"
    whole = any(operand[2] == math.prod(record["numels"].values()) for operand in record["reads"] + record["writes"])
    return kind if whole or kind not in generated.ROWS else None  # rows that were divided unevenly: parts of them are masked


def counted(operand):
    """Bytes of an operand, and the accesses to its numbers as bytes; those of fp32 numbers count fully."""
    dtype, moved, _ = operand
    return moved * (1 + ACCESS / generated.SIZES.get(dtype, 4)) / (1 + ACCESS / 4)


def moved_by(record, table):
    """Bytes of a kernel; 0: it is not used. Second kernels of sums: those of blocks that add up the same number of rows."""
    if table in ("partial_sums", "many_sums"):
        columns, blocks = generated.outputs_of(record)
        return 4 * columns * (blocks - 1)
    moved = sum(map(counted, record["reads"] + record["writes"]))
    random = RANDOM_NUMBER * math.prod(record["numels"].values()) * record["operations"].get("rand", 0)
    if table == "fused" and FUNCTION_FLOP * generated.functions_of(record) + random > moved / 2:
        return 0  # its time is that of the arithmetic
    return moved + (random if table == "row_sum" else 0)


def rows_of(table, kernels):
    bins = {}
    for record, us, launches, step in kernels:
        moved = moved_by(record, table)
        if moved:
            bins.setdefault(round(2 * math.log2(moved)), []).append((moved, us, launches, step))
    rows = []
    for _, found in sorted(bins.items()):
        steps = [kernel for kernel in found if kernel[3]]
        found = steps if len(steps) >= FEWEST else found
        if len(found) >= FEWEST:
            moved, us, launches, _ = zip(*found)
            moved, us = (statistics.fmean(column, launches) for column in (moved, us))
            rows.append([1, max(1, round(moved / 8)), float(f"{us * 1e-6:.4g}"), 1])
    if table in ("partial_sums", "many_sums"):
        rows = with_end(rows, kernels)
    if table in ("fused", "row_sum", "long_row_sum"):
        rows.append([1, round(LARGEST / 8), float(f"{LARGEST / STREAMING:.4g}"), 1])
    return rising(list({row[1]: row for row in rows}.values()))


def rising(rows):
    """The nearest times that do not fall with more bytes: neighbours that do are replaced by their mean."""
    runs = []
    for row in rows:
        runs.append([row])
        while len(runs) > 1 and level(runs[-2]) > level(runs[-1]):
            runs[-2:] = [runs[-2] + runs[-1]]
    return [[*row[:2], float(f"{level(run):.4g}"), row[3]] for run in runs for row in run]


def level(run):
    return statistics.geometric_mean(row[2] for row in run)


def with_end(rows, kernels):
    """Beyond DIVIDED numbers there are no more partial sums: the time stays that of the kernels with about the most."""
    most = DIVIDED * 4 / ROWS_OF_BLOCK
    end = statistics.fmean(us for record, us, _, _ in kernels if 700 <= generated.outputs_of(record)[1] <= generated.ON_CHIP) * 1e-6
    return [row for row in rows if row[1] * 8 < most] + [[1, round(n / 8), float(f"{end:.4g}"), 1] for n in (1.1 * most, FLAT)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="+")
    parser.add_argument("--kernels", action="append", default=[])
    parser.add_argument("--only", type=lambda names: names.split(","), default=[])
    parser.add_argument("-o", "--output", required=True)
    args = parser.parse_args()
    tables, count = {}, 0
    sources = [(of_steps(path), True) for path in args.steps] + [(of_bench(path), False) for path in args.kernels]
    for source, step in sources:
        for record, us, launches in source:
            if table_of(record) and (not args.only or table_of(record) in args.only):
                tables.setdefault(table_of(record), []).append((record, us, launches, step))
                count += 1
    before = json.load(open(args.output)) if args.only else {"kernels": [], "sources": {}}
    origin = "steps" if args.only else "bench"
    made = [{"runtime": "torch-compile", "op": "elementwise", "pass": "forward", "variant": name, "dtype": "fp32", "dims": DIMS,
             "kind": "measured", "source": origin, "date": "2026-11", "rows": rows_of(name, kernels)} for name, kernels in tables.items()]
    made += [table for table in before["kernels"] if table["variant"] not in args.only]
    lines = [json.dumps(table, separators=(",", ":")) for table in sorted(made, key=lambda table: table["variant"])]
    source = {"title": f"{count} kernels that torch.compile generated, in training steps{' and from drawn functions' if args.kernels else ''}, on an NVIDIA "
              "H200; PyTorch 2.11, CUDA 13.0, Triton 3.6; means of bins of half an octave of bytes",
              "where": "tools/fused_table.py", "date": "2026-11-16"}
    with open(args.output, "w") as out:
        out.write('{"schema":1,\n"id":"nvidia-h200.torch-compile",\n"name":"NVIDIA H200, torch.compile",\n"base":"nvidia-h200",\n'
                  '"kernels":[\n' + ",\n".join(lines) + '],\n"sources":' + json.dumps(before["sources"] | {origin: source}) + "}\n")


if __name__ == "__main__":
    main()
