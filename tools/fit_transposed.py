#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit_transposed.py - how much longer a layer's weight-gradient product takes than its forward product.

usage: tools/fit_transposed.py TIMES.csv[.gz] DEVICE

TIMES.csv has the columns of `centimani fit` (docs/dev/fitting.md): device, op, pass, d0 to d3 (batch, M, N, K), latency_ms. A
layer's forward product M x N x K has the weight gradient N x K x M: the same work, with a transposed left operand. The
factor is the geometric mean of the ratios of their times. data/factors.tsv has it as transposed_product, from SimuMax's
efficiencies on A100-PCIE-80GB.
"""
import csv
import gzip
import math
import sys


def times(lines, device):
    """Mean logarithm of the time by pass and sizes."""
    found = {"fwd": {}, "bwd_weight": {}}
    for row in csv.DictReader(lines):
        if row["device"] == device and row["op"] == "gemm" and row["pass"] in found:
            sizes = tuple(int(row[key]) for key in ("d0", "d1", "d2", "d3"))
            found[row["pass"]].setdefault(sizes, []).append(math.log(float(row["latency_ms"])))
    return {name: {sizes: sum(logs) / len(logs) for sizes, logs in rows.items()} for name, rows in found.items()}


def factor(lines, device):
    """The factor and the number of layers."""
    found = times(lines, device)
    ratios = [found["bwd_weight"][batch, n, k, m] - log for (batch, m, n, k), log in found["fwd"].items()
              if (batch, n, k, m) in found["bwd_weight"]]
    return (math.exp(sum(ratios) / len(ratios)), len(ratios)) if ratios else (math.nan, 0)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    path, device = sys.argv[1:]
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as lines:
        print("factor %.4f, %d layers" % factor(lines, device))


if __name__ == "__main__":
    main()
