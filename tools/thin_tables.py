#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""thin_tables.py BUILD TABLES.json N [--calls LIST]

Removes the N rows of the H200's kernel tables that the other rows predict best.

Tables in the program have a limited size, so that new rows need room. A row can go if the interpolation without it gives nearly
its time (tools/left_out_calls.c; BUILD contains TABLES.json). Of rows that are alike, which may be what predicts each other,
only one goes, and none whose nearest row has another number of kernels. Tables of fewer than 300 rows, and operators other
than those of LIST (conv,conv3d,gemm), keep all of theirs.
"""
import argparse
import json
import math
import subprocess

import internal

OPERATORS = "conv,conv3d,gemm"
LEAST_ROWS = 300
ALIKE = 1.0  # the largest difference of the logarithms of two rows' sizes


def left_out(build):
    """How far each call is from the prediction without it: |log|, by the call's text."""
    answer = subprocess.run([internal.built(build, "left_out_calls")], capture_output=True, text=True, check=True)
    fields = (line.split("\t") for line in answer.stdout.splitlines())
    return {call: abs(math.log(float(predicted) / float(measured))) for call, measured, predicted in fields}


def alike(a, b, dims):
    return all(x == y or (x > 0 and y > 0 and abs(math.log(x / y)) < ALIKE) for x, y in zip(a[:dims], b[:dims]))


def candidates(tables, errors, calls):
    """(error, table, row) of the rows that may go, the best predicted first."""
    for name, table in tables.items():
        dims = len(table["dims"])
        if len(table["rows"]) < LEAST_ROWS or table["op"] not in calls:
            continue
        for i, row in enumerate(table["rows"]):
            call = f"{table['op']} {table['pass']} {table['variant'] or '-'} {table['dtype']} {','.join(map(str, row[:dims]))}"
            if call in errors:
                yield errors[call], name, i


def apart(a, b, dims):
    return sum(math.log((x + 1) / (y + 1)) ** 2 for x, y in zip(a[:dims], b[:dims]))


def keeps_kernels(rows, i, dims):
    """Whether the nearest row has as many kernels: a call without a row of its own gets those of the nearest one."""
    near = min((j for j in range(len(rows)) if j != i), key=lambda j: apart(rows[i], rows[j], dims))
    return rows[near][dims + 1:] == rows[i][dims + 1:]


def chosen(tables, errors, count, calls):
    """The rows to remove, by table, and the largest error among them."""
    gone, total, worst = {name: [] for name in tables}, 0, 0.0
    for error, name, i in sorted(candidates(tables, errors, calls)):
        rows, dims = tables[name]["rows"], len(tables[name]["dims"])
        if total == count:
            break
        if not any(alike(rows[i], rows[j], dims) for j in gone[name]) and keeps_kernels(rows, i, dims):
            gone[name].append(i)
            total, worst = total + 1, error
    return gone, total, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("tables")
    parser.add_argument("count", type=int)
    parser.add_argument("--calls", default=OPERATORS)
    given = parser.parse_args()
    lines = open(given.tables).read().split("\n")
    tables = {n: json.loads(line[:line.rindex("}") + 1]) for n, line in enumerate(lines) if line.startswith('{"runtime"')}
    gone, total, worst = chosen(tables, left_out(given.build), given.count, given.calls.split(","))
    for n, rows in gone.items():
        if rows:
            kept = [row for i, row in enumerate(tables[n]["rows"]) if i not in set(rows)]
            lines[n] = json.dumps(tables[n] | {"rows": kept}, separators=(",", ":")) + lines[n][lines[n].rindex("}") + 1:]
    with open(given.tables, "w") as out:
        out.write("\n".join(lines))
    print(f"{total} rows removed, which the others predict to {100 * worst:.2f} %")


if __name__ == "__main__":
    main()
