#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit_power.py PROGRAM POWER.csv.gz MODELS

Fits the numbers of `power` in a GPU's profile (docs/dev/time.md, The clock) to average powers and epoch times of training
under several power limits, as Zeus publishes them: columns device, model, dataset, batch_per_device, power_limit_W,
avg_power_W_per_device, time_per_epoch_s, samples_per_s. MODELS is a folder with shufflenetv2.onnx, the network for
images of CIFAR-100.

Seven numbers per device: idle power, power while a kernel runs, energy per FLOP of products and per byte at the full
clock, the exponent of the energy per FLOP in the clock, the clock below which the voltage does not fall, and the share
of the limit that the average of a throttled step holds. FLOP, bytes and times of the calls are those that the program predicts; where the
table has samples per second, the times are scaled to the measured step. The fit minimises the absolute log errors of
power and of time relative to the highest limit. Each network is also predicted by a fit without it. Needs numpy.
"""
import collections
import csv
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

REACHED = 0.9   # as in src/model/step/clock.c
LOWEST = 0.15
BYTES_SHARE = 0.5
NUMBERS = ("idle_w", "flop_pj", "byte_pj", "exponent", "floor", "held", "active_w")
BOUNDS = ((15, 110), (5, 40), (30, 150), (0, 3), (0.2, 0.95), (0.85, 1), (0, 150))
BEGIN = (50, 8, 60, 1.5, 0.7, 0.95, 30)
LEFT_OUT = {("A40", "deepspeech2")}  # no table has recurrent layers in TF32: power 23 %, time 35 % off beside BERT's
A40 = {"clock_hz": 1.74e9, "cores": 84, "vector": 3.74e13, "matrix": 7.48e13, "bandwidth": 6.96e11}


def number(value, unit):
    return {"value": value, "unit": unit, "kind": "spec", "source": "sheet"}


def device_of(name):
    """The profile of a device of the table, and the members in which the card differs from it."""
    if name != "A40":
        return {"V100": "nvidia-v100-32g", "P100-PCIE-16GB": "nvidia-p100", "Quadro RTX 6000": "nvidia-rtx6000"}[name], {}
    base = json.loads((pathlib.Path(__file__).parent.parent / "data/devices/nvidia-rtx3090.json").read_text())
    memory = base["memory"]
    memory[-1]["bandwidth"] = number(A40["bandwidth"], "B/s")
    memory[-1]["capacity"] = number(48 * 2 ** 30, "B")
    return "nvidia-rtx3090", {"cores": number(A40["cores"], "1"), "clock_hz": number(A40["clock_hz"], "Hz"),
                              "peak": {"vector": {"fp32": number(A40["vector"], "FLOP/s")},
                                       "matrix": {"tf32": number(A40["matrix"], "FLOP/s")}}, "memory": memory}


def arguments(model, dataset, models):
    bert = "bert:layers=12,hidden=768,heads=12,head=classifier"
    return {"resnet50": ["resnet50", "--layout", "nchw", "--optimizer", "adam"],
            "bert_base_uncased": [bert, "--seq", "384" if dataset == "squad" else "128", "--optimizer", "adamw"],
            "deepspeech2": ["lstm:input=1312,hidden=1024,layers=5,seq=600,bidirectional=1", "--optimizer", "adamw",
                            "--loss", "mse"],
            "shufflenetv2": [f"{models}/shufflenetv2.onnx", "--layout", "nchw", "--optimizer", "adam"]}.get(model)


# ---- the load of a step ----------------------------------------------------------------------------------------------

class Load:
    """FLOP and bytes of a step, and the parts of its time at the full clock."""

    def __init__(self, answer, memory_bytes_s, cache_bytes):
        product = ("gemm", "conv", "attention", "rnn", "lstm", "gru")
        parts = []
        self.flop = self.bytes = 0
        for op in answer["ops"]:
            beside = op["call"].split()[0].startswith(product)
            filling = op["bytes"] / cache_bytes
            memory_s = min(op["bytes"] * (1 - 1 / (1 + filling ** 2)) / (REACHED * memory_bytes_s), op["time_s"])
            clocked = (op["time_s"] ** 4 - memory_s ** 4) ** 0.25 if beside else op["time_s"] - memory_s
            parts.append((memory_s, clocked, beside))
            self.flop += op["flop"] * beside
            self.bytes += op["bytes"]
        self.memory, self.clocked = (numpy.array([p[k] for p in parts]) for k in (0, 1))
        self.beside = numpy.array([p[2] for p in parts])
        self.host = answer["host_time_s"]

    def scale(self, factor):
        self.memory, self.clocked, self.host = self.memory * factor, self.clocked * factor, self.host * factor

    def settle(self):
        """The step's time at each clock, for interpolation."""
        self.clocks = numpy.linspace(LOWEST, 1, 60)
        self.busy = numpy.array([self.time(c) for c in self.clocks])
        self.times = numpy.maximum(self.busy, self.host)

    def time(self, clock):
        together = ((self.clocked / clock) ** 4 + self.memory ** 4) ** 0.25
        return float(numpy.where(self.beside, together, self.clocked / clock + self.memory).sum())


def load_of(program, args, device, folder):
    answer = subprocess.run([program, "predict", *args, "--device", device, "--ops", "--json"], cwd=folder,
                            capture_output=True, text=True)
    return json.loads(answer.stdout) if answer.returncode == 0 else None


def read(path):
    """{(device, model, dataset, batch): {limit: (watts, seconds of an epoch, samples/s or None)}}"""
    table = collections.OrderedDict()
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            if not row["power_limit_W"] or row["model"] == "ncf" or (row["device"], row["model"]) in LEFT_OUT:
                continue
            key = row["device"], row["model"], row["dataset"], int(row["batch_per_device"])
            rate = float(row["samples_per_s"]) if row["samples_per_s"] else None
            table.setdefault(key, {})[float(row["power_limit_W"])] = (float(row["avg_power_W_per_device"]),
                                                                      float(row["time_per_epoch_s"]), rate)
    return table


def loads(program, table, models):
    """[(key, load, rows)] of all steps that the program predicts."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for key, rows in table.items():
            args = arguments(key[1], key[2], models)
            base, members = device_of(key[0])
            profile = pathlib.Path(folder) / f"{base}-free.json"
            profile.write_text(json.dumps({"schema": 1, "id": f"{base}-free", "base": base, **members,
                                           "power": {"tdp": number(1e5, "W")},
                                           "sources": {"sheet": {"title": "no limit", "where": "-", "date": "2026"}}}))
            precision = "tf32" if key[0] == "A40" else "fp32"
            answer = args and load_of(program, [*args, "--batch", str(key[3]), "--precision", precision], str(profile),
                                      folder)
            if not answer:
                print("not predicted:", *key)
                continue
            shown = json.loads(subprocess.run([program, "devices", "show", str(profile), "--json"], capture_output=True,
                                              text=True, check=True).stdout)
            memory = shown["devices"][0]["memory"]
            cache = next(m for m in memory if m["name"] == "L2")
            load = Load(answer, memory[-1]["bandwidth"]["value"], cache["capacity"]["value"])
            rate = rows[max(rows)][2]
            if rate:
                load.scale(key[3] / rate / answer["step_time_s"])
            load.settle()
            found.append((key, load, rows))
    return found


# ---- the fit ---------------------------------------------------------------------------------------------------------

def at_limit(numbers, load, limit):
    """Average power and time of the step under a limit."""
    idle, flop_pj, byte_pj, exponent, floor, held, active = numbers
    above = numpy.maximum(load.clocks, floor) ** exponent
    energy = 1e-12 * (flop_pj * load.flop * above + byte_pj * load.bytes * above ** BYTES_SHARE)
    energy += active * load.busy * load.clocks * above
    power = idle + energy / load.times
    if power[-1] <= held * limit:
        return power[-1], load.times[-1]
    clock = numpy.interp(held * limit, power, load.clocks)
    return numpy.interp(clock, load.clocks, power), numpy.interp(clock, load.clocks, load.times)


def errors(numbers, samples):
    """Log errors of power, and of time over that at the highest limit."""
    watts, slower = [], []
    for _, load, rows in samples:
        highest = max(rows)
        first = at_limit(numbers, load, highest)
        for limit, (measured, seconds, _) in rows.items():
            here = at_limit(numbers, load, limit)
            watts.append(numpy.log(here[0] / measured))
            if limit != highest:
                slower.append(numpy.log(here[1] / first[1] / (seconds / rows[highest][1])))
    return numpy.array(watts), numpy.array(slower)


def cost(numbers, samples):
    outside = sum(max(0, low - n) + max(0, n - high) for n, (low, high) in zip(numbers, BOUNDS))
    inside = [min(max(n, low), high) for n, (low, high) in zip(numbers, BOUNDS)]
    watts, slower = errors(inside, samples)
    return numpy.abs(watts).mean() + numpy.abs(slower).mean() + outside


def simplex(begin, samples, rounds=450):
    """Nelder and Mead's method."""
    points = [numpy.array(begin, float)]
    for k in range(len(begin)):
        points.append(points[0].copy())
        points[-1][k] *= 0.9 if NUMBERS[k] in ("floor", "held") else 1.25
    scores = [cost(p, samples) for p in points]
    for _ in range(rounds):
        order = numpy.argsort(scores)
        points, scores = [points[i] for i in order], [scores[i] for i in order]
        centre = sum(points[:-1]) / (len(points) - 1)
        tried = [(cost(p, samples), k, p) for k, p in enumerate((2 * centre - points[-1],))]
        if tried[0][0] < scores[0]:
            p = 3 * centre - 2 * points[-1]
            tried.append((cost(p, samples), 1, p))
        elif tried[0][0] >= scores[-2]:
            p = (centre + points[-1]) / 2
            tried.append((cost(p, samples), 1, p))
        best = min(tried, key=lambda t: t[0])
        if best[0] < scores[-1]:
            scores[-1], points[-1] = best[0], best[2]
        else:
            points = [points[0]] + [(p + points[0]) / 2 for p in points[1:]]
            scores = [scores[0]] + [cost(p, samples) for p in points[1:]]
    best = points[int(numpy.argmin(scores))]
    return [min(max(n, low), high) for n, (low, high) in zip(best, BOUNDS)]


def fit(samples):
    first = simplex(BEGIN, samples)
    return simplex(first, samples)


def percent(logs):
    return 100 * float(numpy.abs(numpy.expm1(logs)).mean()) if len(logs) else float("nan")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, table, models = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
    all_loads = loads(program, read(table), models)
    for device in dict.fromkeys(key[0] for key, _, _ in all_loads):
        samples = [s for s in all_loads if s[0][0] == device]
        numbers = fit(samples)
        watts, slower = errors(numbers, samples)
        print(f"{device}: " + ", ".join(f"{n} {v:.3g}" for n, v in zip(NUMBERS, numbers)) +
              f"; power {percent(watts):.1f} %, time {percent(slower):.1f} %, {len(watts)} rows")
        for model in dict.fromkeys(key[1] for key, _, _ in samples):
            rest = [s for s in samples if s[0][1] != model]
            own = [s for s in samples if s[0][1] == model]
            watts, slower = errors(numbers, own)
            line = f"  {model}: power {percent(watts):.1f} %, time {percent(slower):.1f} %"
            if rest:
                watts, slower = errors(fit(rest), own)
                line += f"; by the others: power {percent(watts):.1f} %, time {percent(slower):.1f} %"
            print(line, flush=True)


if __name__ == "__main__":
    main()
