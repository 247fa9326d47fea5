#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""throttle_parts.py [TIMES.csv]

Splits the time of each call that tools/throttle_h200.py measured into four parts, none below zero, by least squares of
the relative error over the settings:

    t = throughput / (SMs x clock) + latency / clock + memory / copy bandwidth + fixed

with SMs, clock and bandwidth relative to the whole device, so that the parts add up to the time there. Prints means of
the parts by operator and size range, and of the error that the split has on the settings it was fitted to.
"""
import itertools
import statistics
import sys

from throttle_check import FULL, HERE, RANGES, Campaign, table

PARTS = ("throughput", "latency", "memory", "fixed")
SETTINGS = [("100", "0"), ("75", "0"), ("50", "0"), ("33", "0"), ("25", "0"), ("12", "0"), ("100", "1"), ("75", "1")]


def solve(matrix, right):
    """Gaussian elimination with pivoting; None if the columns are linearly dependent."""
    rows, n = [line + [value] for line, value in zip(matrix, right)], len(right)
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(rows[k][i]))
        if abs(rows[pivot][i]) < 1e-12:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(n):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def least_squares(lines):
    """Non-negative least squares: coefficients with which each of `lines` gives 1, the best over all subsets of columns."""
    best, found = float("inf"), None
    for count in range(1, len(PARTS) + 1):
        for chosen in itertools.combinations(range(len(PARTS)), count):
            normal = [[sum(line[i] * line[j] for line in lines) for j in chosen] for i in chosen]
            answer = solve(normal, [sum(line[i] for line in lines) for i in chosen])
            if answer is None or min(answer) < 0:
                continue
            full = [dict(zip(chosen, answer)).get(i, 0.0) for i in range(len(PARTS))]
            off = sum((1 - sum(a * b for a, b in zip(line, full))) ** 2 for line in lines)
            if off < best - 1e-12:
                best, found = off, full
    return found


def split(campaign, key):
    """Shares of the parts, and the median relative error."""
    full, lines = campaign.rows[key][FULL], []
    for setting in SETTINGS:
        row = campaign.rows[key][setting]
        cores, clock, copy = row.sms / full.sms, row.clock / full.clock, campaign.copy[setting] / campaign.copy[FULL]
        ratio = row.time_s / full.time_s
        lines.append([value / ratio for value in (1 / (cores * clock), 1 / clock, 1 / copy, 1.0)])
    parts = least_squares(lines)
    off = [abs(1 - sum(a * b for a, b in zip(line, parts))) for line in lines]
    return [part / sum(parts) for part in parts], statistics.median(off)


def main(path=HERE / "data/throttled/nvidia-h200.csv"):
    campaign, rows = Campaign(path), []
    found = {key: split(campaign, key) for key in campaign.rows}
    order = [*RANGES, "all"]
    for (op, size), keys in sorted(campaign.groups().items(), key=lambda item: (item[0][0], order.index(item[0][1]))):
        means = [statistics.mean(found[key][0][i] for key in keys) for i in range(len(PARTS))]
        error = statistics.median(found[key][1] for key in keys)
        rows.append([op, size, str(len(keys)), *(f"{value:.2f}" for value in means), f"{error:.1%}".replace("%", " %")])
    table(["operator", "range", "calls", *PARTS, "error"], rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
