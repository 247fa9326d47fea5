#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fit_megatron_host.py - fit the host time of Megatron-LM to published iteration times.

    tools/fit_megatron_host.py ITERATIONS.csv [--bin build/centimani] [--device nvidia-a100-80g]

Columns of the file: devices, global batch, micro-batch, hidden size, heads, layers, tokens, tensor, data and pipeline
parallelism, milliseconds per iteration. Three numbers are fitted: a factor of all "forward-op" and "backward-op"
entries, the time of a collective's call, and the time of a micro-batch before its layers. Rows of one tensor-parallel
size and micro-batch are one cell. Every second cell is fitted, the others are left out: rows of one cell repeat one
layer time (the first line that is printed says how exactly), so a division by rows would leave out nothing.
"""
import argparse
import collections
import csv
import json
import math
import os
import subprocess
import tempfile

Row = collections.namedtuple("Row", "devices global_batch micro hidden heads layers tokens tp dp pp ms")
WHAT = ("factor of operators", "collective", "batch")


def read(path):
    with open(path, encoding="utf-8-sig") as file:
        return [Row(*map(int, r[:-1]), float(r[-1])) for r in csv.reader(file) if r and not r[0].startswith("#")]


def micro_batches(row):
    return row.global_batch // row.dp // row.micro


def composed(rows):
    """The largest relative distance of an iteration time from a line through two others of the same plan and layers."""
    plans, worst, checked = collections.defaultdict(dict), 0.0, 0
    for r in rows:
        plans[r._replace(global_batch=0, ms=0)][micro_batches(r)] = r.ms
    for times in plans.values():
        (a, b), rest = sorted(times)[:2] if len(times) > 1 else (0, 0), sorted(times)[2:]
        for m in rest:
            line = times[a] + (times[b] - times[a]) * (m - a) / (b - a)
            worst, checked = max(worst, abs(line / times[m] - 1)), checked + 1
    return checked, worst


class Model:
    def __init__(self, options):
        self.bin, self.device, self.folder = options.bin, options.device, tempfile.TemporaryDirectory()
        self.answers = {}
        with open(os.path.join(options.data, options.host_profile + ".json")) as file:
            self.host = [h for h in json.load(file)["host"] if h["runtime"] == "megatron"]

    def profile(self, numbers):
        path = os.path.join(self.folder.name, "-".join(f"{n:.4g}" for n in numbers) + ".json")
        host = json.loads(json.dumps(self.host))
        for h in host:
            scale = numbers[0] if "-op:" in h["what"] and not h["what"].startswith("update") else 1
            h["time"] = {"value": h["time"]["value"] * scale, "unit": "s", "kind": "fitted", "source": "fit"}
            if h["what"] in WHAT[1:]:
                h["time"]["value"] = numbers[WHAT.index(h["what"])]
        tree = {"schema": 1, "id": "fitted", "base": self.device, "name": "fitted", "host": host,
                "sources": {"fit": {"title": "fitted", "where": "tools/fit_megatron_host.py", "date": "2026-11"}}}
        with open(path, "w") as file:
            json.dump(tree, file)
        return path

    def predict(self, row, device):
        model = f"gpt:layers={row.layers},hidden={row.hidden},heads={row.heads},seq={row.tokens},vocab=51200"
        plan = f"-n {row.devices} --tp {row.tp} --pp {row.pp} --dp {row.dp} --micro-batch {row.micro} --global-batch {row.global_batch}"
        command = f"{self.bin} predict {model} --device {device} {plan} --runtime megatron --precision fp16 --recompute full --json"
        if command not in self.answers:
            done = subprocess.run(command.split(), capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(done.stderr)
            self.answers[command] = json.loads(done.stdout)
        return self.answers[command]

    def log_errors(self, rows, numbers=None):
        device = self.profile(numbers) if numbers else self.device
        return [math.log(1e3 * self.predict(r, device)["step_time_s"] / r.ms) for r in rows]

    def now(self):
        times = {h["what"]: h["time"]["value"] for h in self.host}
        return [1.0, times["collective"], times["batch"]]


def loss(model, rows, numbers):
    return sum(abs(e) for e in model.log_errors(rows, numbers)) / len(rows)


def descend(model, rows, numbers):
    """Coordinate descent: absolute errors, so that a cell whose host was disturbed does not move the fit."""
    best = loss(model, rows, numbers)
    for step in (1.5, 1.2, 1.08, 1.03):
        moved = True
        while moved:
            moved = False
            for i in range(len(numbers)):
                for scale in (step, 1 / step):
                    tried = [n * scale if j == i else n for j, n in enumerate(numbers)]
                    value = loss(model, rows, tried)
                    if value < best * 0.999:
                        numbers, best, moved = tried, value, True
    return numbers


def describe(name, rows, errors, answers):
    def line(what, chosen):
        if not chosen:
            return
        share = [math.exp(abs(e)) - 1 if e > 0 else 1 - math.exp(e) for e in chosen]
        bias = math.exp(-sum(chosen) / len(chosen)) - 1
        print(f"  {name:22} {what:13} {len(chosen):4} rows, mean error {100 * sum(share) / len(share):5.1f} %, too fast by {100 * bias:6.1f} %")

    # the host's time without the last word of the plan: one stage of the pipeline
    bound = [a["host_time_s"] > a["device_time_s"] + a["stages"]["tensor_parallel_s"] for a in answers]
    line("all", errors)
    line("host-bound", [e for e, b in zip(errors, bound) if b])
    line("device-bound", [e for e, b in zip(errors, bound) if not b])


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("iterations")
    options.add_argument("--bin", default="build/centimani")
    options.add_argument("--device", default="nvidia-a100-80g")
    options.add_argument("--data", default="data/devices")
    options.add_argument("--host-profile", default="nvidia-gpu", help="profile whose host entries are scaled")
    o = options.parse_args()
    rows, model = read(o.iterations), Model(o)
    checked, worst = composed(rows)
    print(f"{checked} of {len(rows)} times lie within {worst:.1e} of a line through two others in the micro-batches")
    cells = sorted({(r.tp, r.micro) for r in rows})
    fitted = {c for c in cells if (int(math.log2(c[0])) + int(math.log2(c[1]))) % 2 == 0}
    few = [r for r in rows if micro_batches(r) in (2, 8) and r.dp == max(1, 4 // r.tp // r.pp)]
    numbers = descend(model, [r for r in few if (r.tp, r.micro) in fitted], model.now())
    for name, n, now in zip(WHAT, numbers, model.now()):
        print(f"  {name:22} {n:.4g} (now {now:.4g})")
    for title, n in (("now", model.now()), ("fitted", numbers)):
        device = model.profile(n)
        for part, chosen in (("fitted cells", [r for r in rows if (r.tp, r.micro) in fitted]),
                             ("left-out cells", [r for r in rows if (r.tp, r.micro) not in fitted])):
            describe(f"{title}, {part}", chosen, model.log_errors(chosen, n), [model.predict(r, device) for r in chosen])


if __name__ == "__main__":
    main()
