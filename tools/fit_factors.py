#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit_factors.py: factors of the transfer rule from data/throttled, the calls of an H200 on parts of its multiprocessors.

    reached_bandwidth   copy of 2 GiB on the whole device / bandwidth of the specification
    measured_error      mean relative difference of a call between two runs on the whole device
    kernel_latency_s    time per kernel that follows the clock alone: the one that minimises the median log error of
                        kernels off the matrix units at 75 to 12 % of the multiprocessors

data/factors.tsv has the results. The rule is that of src/model/time/transfer.c for kernels without products.
"""
import collections
import csv
import json
import math
import pathlib
import re
import statistics

HERE = pathlib.Path(__file__).resolve().parent.parent
TIMES = HERE / "data/throttled/nvidia-h200.csv"
MATRIX = ("gemm", "conv", "conv3d", "attention", "rnn")
LATENCIES = [1e-6 * n for n in range(13)]
KEY = ("op", "pass", "variant", "dtype", "dims")


def device():
    """Bandwidth in bytes/s, cache in bytes, and cores of the H200's profile and its bases."""
    found = {}
    for name in ("nvidia-hopper", "nvidia-h200"):
        profile = json.loads((HERE / f"data/devices/{name}.json").read_text())
        for memory in profile.get("memory", []):
            found[memory["name"]] = memory
        found["cores"] = profile.get("cores", found.get("cores"))
    main = next(m for m in found.values() if m.get("place") == "off-chip")
    return main["bandwidth"]["value"], found["L2"]["capacity"]["value"], found["cores"]["value"]


def read():
    """By call: rows of the whole device, and rows by share of multiprocessors; copies in bytes/s by share."""
    lines = TIMES.read_text().splitlines()
    copies, whole, parts = {}, collections.defaultdict(list), collections.defaultdict(dict)
    for line in lines:
        if found := re.match(r"# run \d+: setting (\w+), .* copy ([\d.]+) TB/s", line):
            copies.setdefault(found[1], 1e12 * float(found[2]))
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        key = tuple(row[name] for name in KEY)
        if row["busy"] == "1":
            continue
        if row["sm_share"] == "100":
            whole[key].append(row)
        else:
            parts[key].setdefault(row["sm_share"], row)
    return copies, whole, parts


def repeatability(whole):
    pairs = [[float(row["time_s"]) for row in rows[:2]] for rows in whole.values() if len(rows) > 1]
    return statistics.mean(abs(a / b - 1) for a, b in pairs)


def cores_used(key, row, cores):
    """As cores_used() in transfer.c: channels-first batch norms give a channel to each core."""
    by_channel = key[0] == "batch_norm" and key[2] == "nchw"
    return min(cores, int(row["dims"].split("x")[1])) if by_channel else cores


def transferred(key, row, part, latency, reached):
    bandwidth, cache, _ = device_facts
    size, time, kernels = float(row["bytes"]), float(row["time_s"]), int(row["kernels"])
    memory = min(time, size * (1 - 1 / (1 + (size / cache) ** 2)) / (reached * bandwidth))
    others = math.sqrt(max(0, time**2 - memory**2))
    waits = min(others, kernels * latency)
    clock = float(row["clock_mhz"]) / float(part["clock_mhz"])
    cores = cores_used(key, row, int(row["sms"])) / cores_used(key, row, int(part["sms"]))
    here = memory * copies["100"] / copies[part["sm_share"]]
    return math.hypot(here, (others - waits) * cores * clock + waits * clock)


def latency_error(latency, reached):
    """Median |log| over calls and shares."""
    return statistics.median(abs(math.log(transferred(key, whole[key][0], part, latency, reached) / float(part["time_s"])))
                             for key, shares in parts.items() if key[0] not in MATRIX and whole[key] for part in shares.values())


device_facts = device()
copies, whole, parts = read()


def fit():
    """The factors by name."""
    reached = copies["100"] / device_facts[0]
    best = min(LATENCIES, key=lambda latency: latency_error(latency, reached))
    return {"reached_bandwidth": reached, "measured_error": repeatability(whole), "kernel_latency_s": best}


def main():
    reached = copies["100"] / device_facts[0]
    for latency in LATENCIES:
        print(f"latency {latency * 1e6:4.0f} us: median log error {latency_error(latency, reached):.3f}")
    for name, value in fit().items():
        print(f"{name:20} {value:.3g}")


if __name__ == "__main__":
    main()
