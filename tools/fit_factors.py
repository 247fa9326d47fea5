#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit_factors.py: factors of the transfer rule from data/throttled, the calls of an H200 on parts of its multiprocessors.

    reached_bandwidth   copy of 2 GiB on the whole device / bandwidth of the specification
    measured_error      mean relative difference of a call between two runs on the whole device
    kernel_latency_s    time per kernel that follows the clock alone: the one that minimises the median log error of
                        kernels off the matrix units at 75 to 12 % of the multiprocessors
    tiles_by_cores, sums_by_cores
                        part of the other work that the cores share: the same, of the kernels of TILES and SUMS at 75 to 25 %

data/factors.tsv has the results. The rule is that of src/model/time/transfer.c, with products that fill all cores.
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
TILES = ("conv forward", "conv bwd_input", "conv bwd_weight", "attention backward")  # convolutions: those without groups
SUMS = ("reduce forward", "cross_entropy forward", "cross_entropy backward", "optimizer update", "layer_norm backward", "rms_norm backward", "softmax backward",
        "embedding backward")
LATENCIES = [1e-6 * n for n in range(13)]
SHARES = [n / 20 for n in range(21)]
KEY = ("op", "pass", "variant", "dtype", "dims")


def device():
    """Bandwidth in bytes/s, cache in bytes, and the peaks of products in FLOP/s by type, of the H200's profile and its bases."""
    found, peaks = {}, {}
    for name in ("nvidia-hopper", "nvidia-h200"):
        profile = json.loads((HERE / f"data/devices/{name}.json").read_text())
        found.update({memory["name"]: memory for memory in profile.get("memory", [])})
        for engine in ("vector", "matrix"):
            peaks.update({dtype: peak["value"] for dtype, peak in profile.get("peak", {}).get(engine, {}).items()})
    main = next(m for m in found.values() if m.get("place") == "off-chip")
    return main["bandwidth"]["value"], found["L2"]["capacity"]["value"], peaks


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


def kind(key):
    return "grouped" if key[0] == "conv" and not key[4].endswith("x1") else f"{key[0]} {key[1]}"


def product(key, row):
    reached = STORED["reached_peak_attention" if key[0] == "attention" else "reached_peak"]
    return float(row["flop"]) / (reached * device_facts[2][key[3]]) if key[0] in MATRIX else 0


def transferred(key, row, part, latency, shared=1):
    bandwidth, cache, _ = device_facts
    size, time, kernels = float(row["bytes"]), float(row["time_s"]), int(row["kernels"])
    memory = min(time, size * (1 - 1 / (1 + (size / cache) ** 8)) / (STORED["reached_bandwidth"] * bandwidth))
    products = min(time, product(key, row))
    others = math.sqrt(max(0, time**2 - memory**2 - products**2))
    waits = min(others, kernels * latency)
    clock = float(row["clock_mhz"]) / float(part["clock_mhz"])
    sms, fewer = int(row["sms"]), int(part["sms"])
    cores = shared * cores_used(key, row, sms) / cores_used(key, row, fewer) + 1 - shared
    parts = memory * copies["100"] / copies[part["sm_share"]], products * clock * sms / fewer, (others - waits) * cores * clock + waits * clock
    return math.hypot(*parts) * time / max(math.hypot(memory, products, others), 1e-12)


def error(wanted, *given, least=0):
    """Median |log| over the calls that are wanted, on shares of the multiprocessors of at least `least` %."""
    return statistics.median(abs(math.log(transferred(key, whole[key][0], part, *given) / float(part["time_s"])))
                             for key, shares in parts.items() if wanted(key) and whole[key]
                             for share, part in shares.items() if share.isdigit() and int(share) >= least)


def latency_error(latency):
    return error(lambda key: key[0] not in MATRIX and kind(key) not in SUMS, latency)


def share_error(kinds, shared):
    return error(lambda key: kind(key) in kinds, STORED["kernel_latency_s"], shared, least=25)


def stored():
    rows = (line.split("\t") for line in (HERE / "data/factors.tsv").read_text().splitlines() if not line.startswith("#"))
    return {row[0]: float(row[1]) for row in rows}


STORED = stored()
device_facts = device()
copies, whole, parts = read()


def fit():
    """The factors by name."""
    least = {"kernel_latency_s": (LATENCIES, latency_error),
             "tiles_by_cores": (SHARES, lambda x: share_error(TILES, x)), "sums_by_cores": (SHARES, lambda x: share_error(SUMS, x))}
    return {"reached_bandwidth": copies["100"] / device_facts[0], "measured_error": repeatability(whole),
            **{name: min(values, key=of) for name, (values, of) in least.items()}}


def main():
    for latency in LATENCIES:
        print(f"latency {latency * 1e6:4.0f} us: median log error {latency_error(latency):.3f}")
    for shared in SHARES[::2]:
        print(f"shared by cores {shared:.1f}: tiles {share_error(TILES, shared):.3f}, sums {share_error(SUMS, shared):.3f}")
    for name, value in fit().items():
        print(f"{name:20} {value:.3g}")


if __name__ == "__main__":
    main()
