#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit_workspaces.py - fit the sizes of data/workspaces.tsv to measured workspaces of convolutions.

usage: tools/fit_workspaces.py WORKSPACES.csv

tools/confirm_batch.py --workspaces measures the file. Of its rows, those in fp32 with 3 x 3 filters, stride 1 and one group
decide. A row uses an algorithm if it allocated what the algorithm needs, within 5 %. For each size of the table, the others
being as stored, the program prints the range of values with which the rules make fewest rows wrong. Any value in the range
fits as well. `fft_outputs` needs rows of several batch sizes, the others one large one.
"""
import csv
import math
import pathlib
import sys

TABLE = pathlib.Path(__file__).resolve().parent.parent / "data/workspaces.tsv"
LIKE = 0.05  # relative difference of a workspace from what the algorithm needs
# Values that each rule is tried with.
TRIED = {"winograd_channels": range(4, 513, 4), "winograd_product": [2**(i / 4) for i in range(16, 81)],
         "fft_channels": range(4, 513, 4), "fft_product": [2**(i / 4) for i in range(16, 81)],
         "fft_side_most": [8, 16, 32, 64, 128, 256], "fft_filled": [i / 100 for i in range(50, 101)],
         "fft_tiles_channels": range(4, 513, 4), "fft_tiles_side": range(4, 257),
         "fft_outputs": [2**(i / 2) for i in range(16, 45)]}


def stored(path=TABLE):
    with open(path, encoding="utf-8") as lines:
        rows = [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]
    return {row[2]: float(row[3]) for row in rows if row[1] == rows[0][1]}


def spectrum(side):
    return side * (side / 2 + 1) * 8


def padded_side(call):
    return 2 ** math.ceil(math.log2(call["h"] + 2))


def winograd(c):
    tiles = math.ceil((c["h"] + 2 * c["pad"] - 2) / 4) * math.ceil((c["w"] + 2 * c["pad"] - 2) / 4)
    return 36 * 4 * (c["n"] * tiles * (c["c"] + c["k"]) + c["c"] * c["k"])


def fft(c):
    return 2 * spectrum(padded_side(c)) * c["c"] * (c["n"] + c["k"]) + 4 * 9 * c["c"] * c["k"]


def fft_tiles(c):
    tiles = 1 if max(c["h"], c["w"]) <= 30 else 2
    return spectrum(32) * (c["n"] * tiles * (c["c"] + c["k"]) + c["c"] * c["k"])


def pays(c, rules, side):
    return c["n"] >= rules["fft_outputs"] * spectrum(side) / spectrum(32) / (c["h"] * c["w"])


def takes_winograd(c, r):
    return c["c"] * c["k"] >= r["winograd_product"] and min(c["c"], c["k"]) >= r["winograd_channels"]


def takes_fft(c, r):
    side = padded_side(c)
    return (c["c"] >= r["fft_channels"] and c["c"] * c["k"] >= r["fft_product"] and side <= r["fft_side_most"]
            and c["h"] >= r["fft_filled"] * side and c["h"] == c["w"] and pays(c, r, side))


def takes_fft_tiles(c, r):
    fewer, more = sorted((c["c"], c["k"]))
    return c["h"] >= r["fft_tiles_side"] and fewer >= r["fft_tiles_channels"] < more and pays(c, r, 32)


ALGORITHMS = {"forward": (takes_fft, fft, "fft_"), "bwd_input": (takes_fft_tiles, fft_tiles, "fft_"),
              "bwd_weight": (takes_winograd, winograd, "winograd_")}


def calls(lines):
    """(rule, whether the algorithm was taken, call) of each row that decides."""
    for row in csv.DictReader(lines):
        c = {key: int(row[key]) for key in ("n", "c", "k", "h", "w", "r", "s", "stride", "pad", "groups")}
        if row["mode"] == "fp32" and (c["r"], c["s"], c["stride"], c["groups"]) == (3, 3, 1, 1):
            takes, needs, _ = ALGORITHMS[row["pass"]]
            yield takes, abs(float(row["workspace_bytes"]) / needs(c) - 1) < LIKE, c


def wrong(found, rules):
    return sum(takes(c, rules) != taken for takes, taken, c in found)


def best_range(found, rules, rule):
    """Least and largest of the tried values, and the stored one, with fewest wrong rows; how many are wrong."""
    tried = sorted({*TRIED[rule], rules[rule]})
    counts = [wrong(found, {**rules, rule: value}) for value in tried]
    best = [value for value, count in zip(tried, counts) if count == min(counts)]
    return best[0], best[-1], min(counts)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as lines:
        found = list(calls(lines))
    rules = stored()
    print(f"{len(found)} rows, {wrong(found, rules)} wrong with the stored values")
    for rule in TRIED:
        least, most, count = best_range(found, rules, rule)
        print(f"{rule} {rules[rule]:g}: {count} wrong from {least:g} to {most:g}")


if __name__ == "__main__":
    main()
