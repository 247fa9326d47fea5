#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""throttle_check.py BUILD [TIMES.csv]

Summarizes what tools/throttle_h200.py measured: how the time of each operator follows multiprocessors and clock, and how
far the transfer rule (cm__transferred() in src/model/time/transfer.c) is from the measured times. BUILD is a build folder; the
program that applies the rule is compiled into it (needs a C compiler and pkg-config). The rule is applied twice: with
the memory bandwidth of the whole device, and with the bandwidth that the copy of 2 GiB reached at the setting.
"""
import collections
import csv
import math
import pathlib
import re
import statistics
import subprocess
import sys

import internal

HERE = pathlib.Path(__file__).resolve().parent.parent
DEVICE, L2_BYTES = "nvidia-h200", 50 * 2**20
FULL, SHARES = ("100", "0"), ("75", "50", "33", "25", "12")
RANGES = ("cache", "middle", "DRAM")  # below a quarter of the L2 cache, between, above four times the cache
MATRIX = ("gemm", "conv", "conv3d", "attention")
LATENCIES = (0.0, 2e-6, 4e-6, 6e-6, 8e-6, 12e-6)
KEY = ("op", "pass", "variant", "dtype", "dims")

Row = collections.namedtuple("Row", "time_s spread clock sms kernel_id kernels")


def size_range(size_bytes):
    return RANGES[(size_bytes > L2_BYTES / 4) + (size_bytes > L2_BYTES * 4)]


class Campaign:
    """Rows by call and setting; repeated runs of a setting are in `again`."""

    def __init__(self, path):
        self.rows, self.again, self.copy = collections.defaultdict(dict), collections.defaultdict(dict), {}
        self.bytes = {}
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        for line in lines:
            if found := re.match(r"# run \d+: setting (\w+)(:busy)?, .* copy ([\d.]+) TB/s", line):
                self.copy.setdefault((found[1], "1" if found[2] else "0"), float(found[3]))
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            self._add(row)

    def _add(self, row):
        key, setting = tuple(row[name] for name in KEY), (row["sm_share"], row["busy"])
        new = Row(float(row["time_s"]), float(row["spread"]), float(row["clock_mhz"]), int(row["sms"]), row["kernel_id"],
                  int(row["kernels"]))
        self.bytes[key] = float(row["bytes"])
        (self.again if setting in self.rows[key] else self.rows)[key].setdefault(setting, new)

    def ratio(self, key, setting):
        return self.rows[key][setting].time_s / self.rows[key][FULL].time_s

    def groups(self):
        """Calls by (operator, size range) and by (operator, 'all')."""
        found = collections.defaultdict(list)
        for key in self.rows:
            found[key[0], size_range(self.bytes[key])].append(key)
            found[key[0], "all"].append(key)
        return found


def call_text(key):
    return " ".join([key[0], key[1], key[2] or "-", key[3], key[4].replace("x", ",")])


def short(key):
    return " ".join(word for word in key if word)


def transferred(build, campaign, settings, of_memory):
    """By (call, setting): roofline there, roofline of the whole device, and the time that the transfer rule predicts.

    of_memory gives a setting's factor of memory bandwidth.
    """
    program = internal.built(build, "transfer_calls")
    asked, lines = [], []
    for key, rows in campaign.rows.items():
        for setting in settings:
            full, row = rows[FULL], rows[setting]
            cores, clock = row.sms / full.sms, row.clock / full.clock
            asked.append((key, setting))
            lines.append(f"{call_text(key)}\t{full.time_s} {full.kernels} {cores} {clock} {of_memory(setting)} {cores * clock}\n")
    done = subprocess.run([program, DEVICE], input="".join(lines), capture_output=True, text=True, check=True)
    return {name: tuple(map(float, line.split())) for name, line in zip(asked, done.stdout.splitlines(), strict=True)}


def elasticity(campaign, key, setting):
    """-d ln t / d ln (multiprocessors x clock) between a setting and the whole device."""
    full, row = campaign.rows[key][FULL], campaign.rows[key][setting]
    return math.log(row.time_s / full.time_s) / math.log(full.sms * full.clock / (row.sms * row.clock))


def name_of(setting):
    return setting[0] + (" busy" if setting[1] == "1" else "")


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "|".join(["---"] * 2 + ["---:"] * (len(head) - 2)) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def median_error(off):
    return f"{statistics.median(map(abs, off)):.0%} ({statistics.median(off):+.0%})".replace("%", " %")


def ratios(campaign, groups, settings):
    rows = []
    for (op, size), keys in sorted(groups.items(), key=lambda item: (item[0][0], [*RANGES, "all"].index(item[0][1]))):
        cells = [f"{statistics.median(campaign.ratio(key, setting) for key in keys):.2f}" for setting in settings]
        cores = statistics.median(elasticity(campaign, key, ("25", "0")) for key in keys)
        clock = statistics.median(elasticity(campaign, key, ("100", "1")) for key in keys)
        rows.append([op, size, str(len(keys)), *cells, f"{cores:.2f}", f"{clock:.2f}"])
    table(["operator", "range", "calls", *map(name_of, settings), "SM exponent", "clock exponent"], rows)


def errors(campaign, groups, settings, predicted):
    rows = []
    for op in sorted({op for op, _ in groups}):
        cells = []
        for setting in settings:
            off = [predicted[key, setting] / campaign.rows[key][setting].time_s - 1 for key in groups[op, "all"]]
            cells.append(median_error(off))
        rows.append([op, str(len(groups[op, "all"])), *cells])
    every = [statistics.median(abs(predicted[key, setting] / rows_[setting].time_s - 1) for key, rows_ in campaign.rows.items())
             for setting in settings]
    table(["operator", "calls", *map(name_of, settings)],
          rows + [["all", str(len(campaign.rows)), *(f"{value:.0%}".replace("%", " %") for value in every)]])


def by_range(campaign, settings, predicted):
    """Error of the rule by size range and kind of engine, which the rule treats differently."""
    cells = collections.defaultdict(list)
    for key, setting in predicted:
        kind = "matrix" if key[0] in MATRIX else "rnn" if key[0] == "rnn" else "other"
        cells[kind, size_range(campaign.bytes[key]), setting].append(predicted[key, setting] /
                                                                     campaign.rows[key][setting].time_s - 1)
    rows = [[kind, size, str(len(cells[kind, size, settings[0]])),
             *(median_error(cells[kind, size, s]) for s in settings)]
            for kind in ("matrix", "other", "rnn") for size in RANGES if cells[kind, size, settings[0]]]
    table(["kernels", "range", "calls", *map(name_of, settings)], rows)


def worst(campaign, setting, predicted, count=12):
    off = sorted(((math.log(predicted[key, setting] / rows[setting].time_s), key) for key, rows in campaign.rows.items()))
    rows = []
    for log, key in off[:count] + off[-count:]:
        full, row = campaign.rows[key][FULL], campaign.rows[key][setting]
        rows.append([short(key), f"{full.time_s * 1e6:.1f} us", f"{row.time_s / full.time_s:.2f}",
                     f"{predicted[key, setting] / full.time_s:.2f}", "yes" if row.kernel_id != full.kernel_id else ""])
    table(["call", "whole device", "measured ratio", "predicted ratio", "other kernel"], rows)


def with_latency(campaign, rooflines, name, latency_s):
    """The rule for kernels without matrix units, where the first latency_s of each kernel's excess scales with the clock only."""
    (key, setting), (here, there, predicted) = name, rooflines[name]
    full, row = campaign.rows[key][FULL], campaign.rows[key][setting]
    excess, clocks = full.time_s - there, full.clock / row.clock
    latency = min(excess, latency_s * full.kernels)
    return here + (latency + (excess - latency) * full.sms / row.sms) * clocks if excess > 0 else predicted


def latencies(campaign, settings, rooflines):
    """Error with such a latency, separately for even and odd calls."""
    rows, keys = [], [key for key in campaign.rows if key[0] not in (*MATRIX, "rnn")]
    for latency in LATENCIES:
        for half in (0, 1):
            cells = []
            for setting in settings:
                off = [with_latency(campaign, rooflines, (key, setting), latency) / campaign.rows[key][setting].time_s - 1
                       for key in keys[half::2]]
                cells.append(median_error(off))
            rows.append([f"{latency * 1e6:g} us", f"{'even' if half else 'odd'} calls", *cells])
    table(["latency of a kernel", "judged on", *map(name_of, settings)], rows)


def repeats(campaign):
    both = [(math.log(rows[FULL].time_s / campaign.rows[key][FULL].time_s), key)
            for key, rows in campaign.again.items() if FULL in rows]
    off = sorted(abs(log) for log, _ in both)
    other = sum(rows[FULL].kernel_id != campaign.rows[key][FULL].kernel_id for key, rows in campaign.again.items())
    print(f"{len(off)} calls twice at 100 %: median difference {off[len(off) // 2]:.1%}, 90 % below "
          f"{off[len(off) * 9 // 10]:.1%}, largest factor {math.exp(off[-1]):.2f}; {other} calls ran other kernels")
    plain = [campaign.ratio(key, ("plain", "0")) for key, rows in campaign.rows.items() if ("plain", "0") in rows]
    if plain:
        print(f"{len(plain)} calls without MPS: median time {statistics.median(plain):.3f} of that with MPS\n")


def changed(campaign, groups, settings):
    rows = []
    for op in sorted({op for op, _ in groups}):
        keys = groups[op, "all"]
        cells = [f"{sum(campaign.rows[k][s].kernel_id != campaign.rows[k][FULL].kernel_id for k in keys) / len(keys):.0%}"
                 .replace("%", " %") for s in settings]
        again = [k for k in keys if FULL in campaign.again.get(k, {})]
        same = sum(campaign.again[k][FULL].kernel_id != campaign.rows[k][FULL].kernel_id for k in again)
        rows.append([op, str(len(keys)), f"{same / max(1, len(again)):.0%}".replace("%", " %"), *cells])
    table(["operator", "calls", "100 again", *map(name_of, settings)], rows)


def clocks(campaign, settings):
    for setting in [FULL, *settings]:
        found = sorted(rows[setting].clock for rows in campaign.rows.values())
        print(f"clock at {name_of(setting)}: median {found[len(found) // 2]:.0f} MHz, 5 % to 95 %: "
              f"{found[len(found) // 20]:.0f} to {found[-len(found) // 20]:.0f}")
    print()


def main(build, path=HERE / "data/throttled/nvidia-h200.csv"):
    campaign = Campaign(path)
    shares = [(share, "0") for share in SHARES]
    settings = shares + [("100", "1"), ("75", "1")]
    groups = campaign.groups()
    repeats(campaign)
    clocks(campaign, settings)
    print("## Time over time on the whole device\n")
    ratios(campaign, groups, settings)
    whole = campaign.copy[FULL]
    for title, factor in (("memory bandwidth of the whole device", lambda setting: 1.0),
                          ("measured memory bandwidth", lambda setting: campaign.copy[setting] / whole)):
        rooflines = transferred(build, campaign, settings, factor)
        predicted = {name: times[2] for name, times in rooflines.items()}
        print(f"## Error of the transfer rule: {title}\n")
        errors(campaign, groups, settings, predicted)
        by_range(campaign, settings, predicted)
    print("## A part of the excess that follows the clock alone\n")
    latencies(campaign, settings, rooflines)
    for setting in (("25", "0"), ("100", "1")):
        print(f"## Largest deviations of the transfer rule at {name_of(setting)}\n")
        worst(campaign, setting, predicted)
    print("## Calls for which a library chose other kernels\n")
    changed(campaign, groups, settings)


if __name__ == "__main__":
    main(*sys.argv[1:])
