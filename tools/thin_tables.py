#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""thin_tables.py TABLES.json N: removes the N rows of a file of kernel tables that the rows beside them replace best.

Tables in the program have a limited size, so that new rows need room. A row can go if another row of its table has nearly
its sizes and, per element, nearly its time. Distance: the largest difference of the logarithms of two sizes, plus that of
the times per element. Of two rows that replace each other, the smaller one goes.
"""
import argparse
import json
import math

FARTHEST = 0.25  # of two rows that may replace each other


def distance(a, b, dims):
    sizes = [math.log(x / y) if x > 0 and y > 0 else (x != y) * 9.0 for x, y in zip(a[:dims], b[:dims])]
    return max(map(abs, sizes), default=0) + abs(math.log(a[dims] / b[dims]) - max(sizes, key=abs, default=0))


def nearest(rows, dims):
    """(distance, row) of every row that another one, which stays, can replace."""
    order = sorted(range(len(rows)), key=lambda i: rows[i])
    for place, i in enumerate(order[:-1]):
        near = min((distance(rows[i], rows[j], dims) for j in order[place + 1:place + 40]), default=9.0)
        if near < FARTHEST:
            yield near, i


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tables")
    parser.add_argument("count", type=int)
    given = parser.parse_args()
    lines = open(given.tables).read().split("\n")
    parsed = {n: json.loads(line[:line.rindex("}") + 1]) for n, line in enumerate(lines) if line.startswith('{"runtime"')}
    found = sorted((near, n, i) for n, table in parsed.items() for near, i in nearest(table["rows"], len(table["dims"])))
    gone = {(n, i) for _, n, i in found[:given.count]}
    for n, table in parsed.items():
        kept = [row for i, row in enumerate(table["rows"]) if (n, i) not in gone]
        if len(kept) < len(table["rows"]):
            end = lines[n][lines[n].rindex("}") + 1:]
            lines[n] = json.dumps(table | {"rows": kept}, separators=(",", ":")) + end
    with open(given.tables, "w") as out:
        out.write("\n".join(lines))
    print(f"{len(gone)} rows removed, up to a distance of {found[min(given.count, len(found)) - 1][0]:.3f}")


if __name__ == "__main__":
    main()
