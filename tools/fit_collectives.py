#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit_collectives.py - fit latencies and bandwidths of collectives to measured times.

usage: tools/fit_collectives.py TIMES.csv ALIAS [--version TEXT] [--source ID] [--least N]

TIMES.csv has the columns device, n_devices, op, bytes, latency_ms. --least: groups of fewer devices are left out. Times of
the same size count once, with their median. For each operator and number of devices, the time is
modelled as the minimum of three lines latency + bytes / bandwidth, because libraries choose a protocol by size. Prints
rows for a profile's "collectives"; bandwidths are bus bandwidths as nccl-tests defines them.
"""
import argparse
import collections
import csv
import gzip
import itertools
import statistics

LINES = 3
NAMES = {"all_reduce": "all-reduce", "all_gather": "all-gather", "reduce_scatter": "reduce-scatter",
         "alltoall": "all-to-all", "all_to_all": "all-to-all"}
SIZES = ("small", "medium", "large")


def bus_factor(op, devices):
    return (2 if op == "all-reduce" else 1) * (devices - 1) / devices


def line(points):
    """Fit a line by least squares of relative errors; None: no line with valid parameters."""
    s11 = sum(1 / y**2 for _, y in points)
    s12 = sum(x / y**2 for x, y in points)
    s22 = sum(x * x / y**2 for x, y in points)
    t1 = sum(1 / y for _, y in points)
    t2 = sum(x / y for x, y in points)
    det = s11 * s22 - s12 * s12
    if det <= 1e-30 * s11 * s22:
        return None
    latency, slope = (t1 * s22 - t2 * s12) / det, (s11 * t2 - s12 * t1) / det
    if slope <= 0:
        latency, slope = t1 / s11, 1e-16
    if latency <= 0:
        latency, slope = 1e-7, t2 / s22
    return latency, slope


def mean_error(lines, points):
    return sum(abs(min(a + b * x for a, b in lines) / y - 1) for x, y in points) / len(points)


def fit(points):
    """Choose the boundaries between sizes whose lines have the smallest mean error."""
    sizes = collections.defaultdict(list)
    for size, time in points:
        sizes[size].append(time)
    points = [(size, statistics.median(times)) for size, times in sorted(sizes.items())]
    best = None
    for cuts in itertools.combinations(range(2, len(points) - 1), LINES - 1):
        ends = (0, *cuts, len(points))
        if any(b - a < 2 for a, b in zip(ends, ends[1:])):
            continue
        lines = [line(points[a:b]) for a, b in zip(ends, ends[1:])]
        if None not in lines and (best is None or mean_error(lines, points) < best[0]):
            best = (mean_error(lines, points), lines)
    return best


def row(op, devices, name, latency, bandwidth, note, source):
    number = '{"value": %.4g, "unit": "%s", "kind": "fitted", "source": "' + source + '"%s}'
    words = (op, name, devices, number % (latency, "s", ', "note": "%s"' % note), number % (bandwidth, "B/s", ""))
    return '    {"op": "%s", "algorithm": "%s", "devices": %d,\n     "latency": %s,\n     "bandwidth": %s}' % words


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times")
    parser.add_argument("alias")
    parser.add_argument("--version", default="NCCL")
    parser.add_argument("--source", default="aiconfigurator-nccl")
    parser.add_argument("--least", type=int, default=2)
    options = parser.parse_args()
    times = collections.defaultdict(list)
    with (gzip.open(options.times, "rt") if options.times.endswith(".gz") else open(options.times)) as file:
        for r in csv.DictReader(file):
            if r["device"] == options.alias and r["op"] in NAMES and r["latency_ms"] and int(r["n_devices"]) >= options.least:
                times[NAMES[r["op"]], int(r["n_devices"])].append((float(r["bytes"]), float(r["latency_ms"]) / 1e3))
    rows = []
    for op in dict.fromkeys(NAMES.values()):
        for devices in sorted(d for o, d in times if o == op and len(times[o, d]) > 2 * LINES):
            error, lines = fit(times[op, devices])
            for size, (latency, slope) in zip(SIZES, lines):
                note = "%s; least of three lines, mean error %.1f %%" % (options.version, 100 * error)
                rows.append(row(op, devices, "nccl " + size, latency, bus_factor(op, devices) / slope, note, options.source))
    print('  "collectives": [\n' + ",\n".join(rows) + "\n  ],")


if __name__ == "__main__":
    main()
