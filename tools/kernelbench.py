#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kernelbench.py capture PROBLEMS CAPTURES [--commit ID]... [--level N]
   kernelbench.py score BINARY KERNELBENCH.csv.gz PROBLEMS CAPTURES [--rows] [--level N] [--mode MODE]

Compares predictions with KernelBench's times of single operators (level 1), chains (2) and networks (3), in eager PyTorch or
in a mode of torch.compile.

capture: records each problem of PROBLEMS/COMMIT/levelN/*.py (KernelBench's sources as they were timed) with the inputs as
parameters, so that no size depends on a batch size, into CAPTURES/HASH.cmt.json. Needs PyTorch and PYTHONPATH=python. A
problem that takes more than a minute is left out.

score: the forward pass in training mode, fp32; convolutions in TF32 where the GPU has it, as PyTorch's defaults are. The
measured time is between two CUDA events around one call: the device's time, or the host's for the operators if that is
longer, and what the events take. The host's time per step is not in it. Hosts of one kind of GPU differ by a factor of five
between runs. Each error is therefore given twice: with the host that the program assumes, and with the speed of the run's
host and what the events take there (7 to 48 us of the H200's host), both solved from the run's other problems. The second
has also what PyTorch's convolutions take over MIOpen's fastest solvers, which the program predicts and PyTorch does not
search for: the median of the run's other convolutions of images, or of volumes and groups.
"""
import argparse
import collections
import concurrent.futures
import csv
import functools
import glob
import gzip
import hashlib
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent
EVENTS = 6e-6  # s: two events; median over 12 devices of measured times less their operators' host time (-26 to 26)
GAP = 1.3e-6  # s between two entries of a queue, kernels or events; the H200's profile
LEAST_SPEED_ROWS = 5  # problems bound by the host from which a run's host is solved
# (time of a run's host over that of the program's, s that two events take in the run)
FAR = 0.5  # logarithm of an error beyond which a problem does not tell its host
HOSTS = [(i / 20, 3e-6 * j) for i in range(31) for j in range(16)]
DEVICES = {"A10": "nvidia-a10", "A100-40GB": "nvidia-a100-40g", "A100-80GB": "nvidia-a100-80g", "A10G": "nvidia-a10g",
           "B200": "nvidia-b200", "H100-PCIe": "nvidia-h100-pcie", "H100-SXM": "nvidia-h100", "H200": "nvidia-h200",
           "L4": "nvidia-l4", "L40S": "nvidia-l40s", "MI250-GCD": "amd-mi210", "RTX-3090-Ti": "nvidia-rtx3090ti",
           "RTX-A6000": "nvidia-a6000", "T4": "nvidia-t4"}
GRAPH_CALL = 2e-4  # s that the host takes to replay a graph; each run's own speed is solved
GAPS = ("gap", "graph-gap")  # host times of a profile that are the device's
MODES = {"eager": "torch-eager", "cudagraphs": "torch-eager:cuda-graphs", "inductor-default": "torch-compile",
         "inductor-reduce-overhead": "torch-compile:reduce-overhead", "inductor-max-autotune": "torch-compile:max-autotune"}
EAGER = ("eager", "cudagraphs")
COPYING = ("inductor-reduce-overhead", "inductor-max-autotune")  # modes that replay graphs whose inputs are copied
NO_TF32 = ("T4", "MI250-GCD")
UNSEARCHED = ("MI250-GCD",)  # the program's convolutions are MIOpen's fastest
NOISY = ("RTX-3090-Ti",)  # the shortest of its repeats is used


def digest(path):
    return hashlib.sha1(path.read_bytes()).hexdigest()[:12]


# ---- captures --------------------------------------------------------------------------------------------------------

def record(path, out):
    """Capture one problem; its inputs are parameters of a module around it."""
    import torch
    import centimani

    class Held(torch.nn.Module):
        def __init__(self, model, inputs):
            super().__init__()
            self.model, self.given = model, inputs
            self.anchor = torch.nn.Parameter(torch.zeros(1))  # so that every problem has a gradient
            for i, x in enumerate(inputs):
                if isinstance(x, torch.Tensor) and x.is_floating_point():
                    self.register_parameter(f"in{i}", torch.nn.Parameter(x))
                elif isinstance(x, torch.Tensor):
                    self.register_buffer(f"in{i}", x)

        def forward(self, _):
            return self.model(*[getattr(self, f"in{i}", x) for i, x in enumerate(self.given)])

    torch.rand_mix = lambda *sizes, **_: torch.rand(*sizes)  # some versions of the harness draw their inputs so
    problem = {"__name__": "problem", "__file__": str(path)}
    with torch.device("meta"):
        exec(compile(path.read_text(), str(path), "exec"), problem)
        held = Held(problem["Model"](*problem["get_init_inputs"]()), problem["get_inputs"]())
    trace = centimani.capture(held, (torch.zeros(2, 1),), loss=lambda y: y.float().sum() + held.anchor.sum())
    trace.save(out)


def capture(given):
    os.makedirs(given.captures, exist_ok=True)
    for path in sorted(p for c in given.commit or ["*"] for p in glob.glob(f"{given.problems}/{c}/level{given.level}/*.py")):
        out = f"{given.captures}/{digest(pathlib.Path(path))}.cmt.json"
        if os.path.exists(out):
            continue
        try:
            done = subprocess.run([sys.executable, __file__, "record", path, out], timeout=60, capture_output=True, text=True)
            if done.returncode:
                print(f"{path}: {done.stderr.strip().splitlines()[-1][:120]}")
        except subprocess.TimeoutExpired:
            print(f"{path}: more than a minute")


# ---- scores ----------------------------------------------------------------------------------------------------------

def measured(given):
    """Seconds by device, run (a host), capture and problem; the median of repeats."""
    times = collections.defaultdict(list)
    with gzip.open(given.table, "rt") as file:
        for r in csv.DictReader(file):
            source = pathlib.Path(given.problems) / r["src_commit"] / f"level{given.level}" / f"{r['problem']}.py"
            if r["level"] != given.level or r["mode"] != given.mode or r["device"] not in DEVICES or not source.exists():
                continue
            found = f"{given.captures}/{digest(source)}.cmt.json"
            if os.path.exists(found):
                column = "min_ms" if r["device"] in NOISY else "mean_ms"
                run = f"{r['run']} {r['l2']} {r['date'][:10]}"
                times[r["device"], run, found, r["problem"]].append(float(r[column]) / 1e3)
    return {key: statistics.median(runs) for key, runs in times.items()}


def predict(given, model, device, precision, *options):
    done = subprocess.run([given.binary, "predict", model, "--device", device, "--precision", precision, "--batch", "2", "--json",
                           "--runtime", MODES[given.mode], *(options or ("--mode", "inference"))], capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        raise SystemExit(f"{model} on {device}: {done.stderr}")
    return json.loads(done.stdout)


@functools.cache
def has_batch_norms(model):
    return any("batch_norm" in op["op"] for op in json.loads(pathlib.Path(model).read_text())["ops"])


def forward_time(given, model, device, precision):
    """The device's time of the forward pass. Inference reads a batch norm's stored statistics; the problems compute them, as
    training does: its forward pass (eager), or the sums that it has more than inference (torch.compile)."""
    time = 0 if has_batch_norms(model) and given.mode in EAGER else predict(given, model, device, precision)["device_time_s"]
    for op in predict(given, model, device, precision, "--ops")["ops"] if has_batch_norms(model) else ():
        if op["phase"] == "forward" and op["name"].startswith("model."):  # not the loss
            sums = op["type"] == "BatchNormalization" and "sum" in op["call"]
            time += op["time_s"] if given.mode in EAGER or sums else 0
    return time


def without_host(device, folder):
    """A profile of the device whose host takes no time. A problem is repeated without pauses, so that the clock under the
    power limit is that of a busy device; a step alone has the host's time per step."""
    times = [h for h in json.loads((HERE / "data/devices/nvidia-h200.json").read_text())["host"] if h["what"] not in GAPS]
    host = [{"runtime": h["runtime"], "what": h["what"], "time": {"value": 1e-12, "unit": "s", "kind": "assumed", "source": "busy", "note": "none"}}
            for h in times]
    path = pathlib.Path(folder) / f"{device}.json"
    path.write_text(json.dumps({"schema": 1, "id": f"{device}-busy", "base": device, "name": device, "host": host,
                                "sources": {"busy": {"title": "none", "where": "tools/kernelbench.py", "date": "2026"}}}))
    return str(path)


def copied_inputs(given, model, device):
    """Time of copying the problem's inputs, which torch.compile does before it replays a graph."""
    if given.mode not in COPYING:
        return 0
    tensors = json.loads(pathlib.Path(model).read_text())["tensors"]
    numbers = sum(math.prod(t["dims"]) for t in tensors if re.fullmatch(r"in\d+", t.get("name") or ""))
    return predict(given, f"elementwise:op=relu,n={max(numbers, 1)}", device, "fp32")["device_time_s"]


def host_of_step(given, device):
    """The host's time per step on a device: its part of the host time of a single product."""
    profile = json.loads((HERE / "data/devices/nvidia-h200.json").read_text())
    times = {(h["runtime"], h["what"]): h["time"]["value"] for h in profile["host"]}
    factors = dict(line.split("\t")[:2] for line in (HERE / "data/factors.tsv").read_text().splitlines() if "\t" in line)
    base = MODES[given.mode]
    product = times["torch-eager", "forward-op:linear"]
    if base == "torch-compile":
        product = product * float(factors["compiled_host"]) + times[base, "launch"]
    else:
        product *= float(factors["inference_host"])
    step = times[base, "step"]
    whole = predict(given, "gemm:m=8,n=8,k=8", device, "fp32")["host_time_s"]
    return whole * step / (step + product)


# way: how most of the device's time was estimated; interval: of a step bound by the device, over its prediction, or None;
# solver: time of the run's convolutions over the predicted one
Row = collections.namedtuple("Row", "problem run device_s host_s measured_s host way interval solver")


def bound(row):
    return "host" if row.host_s > row.device_s else "device"


def with_default(row):
    return max(row.device_s, row.host_s) + EVENTS


def with_run(row):
    speed, events_s = row.host
    return max(row.solver * row.device_s, speed * row.host_s) + events_s


def error_by_host(row):
    return [min(FAR, abs(math.log(max(with_run(row._replace(host=host)), 1e-9) / row.measured_s))) for host in HOSTS]


def host_of(errors):
    """The host with the least mean error. Speed 0: launches were queued before the first event, so that no host is in the
    times."""
    return min(zip(map(sum, zip(*errors)), HOSTS))[1]


def with_hosts(rows):
    """Each row with the host of its run, solved from the run's other problems that the host bounds."""
    errors = {(r.run, r.problem): error_by_host(r) for r in rows if bound(r) == "host"}
    answers = {}
    for row in rows:
        without = row.problem if (row.run, row.problem) in errors else None
        if (row.run, without) not in answers:
            others = [e for (run, problem), e in errors.items() if run == row.run and problem != without]
            answers[row.run, without] = host_of(others) if len(others) >= LEAST_SPEED_ROWS else (1, EVENTS)
        yield row._replace(host=answers[row.run, without])


def kind_of_conv(problem):
    if "conv" not in problem:
        return None
    return "other" if any(word in problem for word in ("3D", "depthwise", "grouped")) else "image"


def with_solvers(rows):
    """Each convolution with what its run's other convolutions of the kind take over their prediction."""
    for row in rows:
        kind = kind_of_conv(row.problem)
        others = [r.measured_s / r.device_s for r in rows if kind and kind_of_conv(r.problem) == kind and r.run == row.run and
                  r.problem != row.problem and bound(r) == "device"]
        yield row._replace(solver=statistics.median(others)) if len(others) >= LEAST_SPEED_ROWS else row


def coverage(name, rows):
    """Prints how many measured times are inside the 90 % interval, and the median factor to its ends, if the device is the bound."""
    inside = [r.interval[0] <= r.measured_s / with_run(r._replace(solver=1)) <= r.interval[1] for r in rows if r.interval]
    widths = [math.sqrt(r.interval[1] / r.interval[0]) for r in rows if r.interval]
    if inside:
        print(f"{name:12} {sum(inside):4} of {len(inside):4} inside ({sum(inside) / len(inside):4.0%}), x{statistics.median(widths):.2f}")


def report(device, rows):
    def figures(made, part):
        errors = [made(r) / r.measured_s - 1 for r in rows if part in ("all", bound(r))]
        if not errors:
            return "   -      -  "
        return f"{statistics.median(map(abs, errors)):6.1%} {statistics.median(errors):+6.1%}"

    columns = [figures(made, part) for made, part in ((with_default, "all"), (with_run, "all"), (with_run, "device"),
                                                      (with_run, "host"))]
    print(f"{device:12} {len(rows):3} | " + " | ".join(columns) + f" | {statistics.median(r.host[0] for r in rows):.2f}"
          f" {1e6 * statistics.median(r.host[1] for r in rows):4.0f} us")


@functools.lru_cache(maxsize=None)
def has_convolution(model):
    return "convolution" in pathlib.Path(model).read_text()


def scored(given, step_s, busy, item):
    (device, run, model, problem), seconds = item
    precision = "tf32" if has_convolution(model) and device not in NO_TF32 else "fp32"
    answer = predict(given, model, DEVICES[device], precision)
    graphs = ":" in MODES[given.mode]
    host_s = GRAPH_CALL if graphs else answer["host_time_s"] - step_s[device]
    device_s = forward_time(given, model, busy[device], precision) + (answer["kernels"] + 1) * GAP
    device_s += copied_inputs(given, model, busy[device])
    alone = answer["device_time_s"] > answer["host_time_s"]
    interval = [bound_s / answer["step_time_s"] for bound_s in answer["interval_s"]] if alone else None
    way = max(answer["share"], key=answer["share"].get)
    return device, Row(problem, run, device_s, host_s, seconds, (1, EVENTS), way, interval, 1)


def score(given):
    times, errors = sorted(measured(given).items()), collections.defaultdict(list)
    graphs = ":" in MODES[given.mode]
    step_s = {device: 0 if graphs else host_of_step(given, DEVICES[device]) for device in sorted({key[0] for key, _ in times})}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        busy = {device: without_host(DEVICES[device], folder) for device in step_s}
        for device, row in pool.map(lambda item: scored(given, step_s, busy, item), times):
            errors[device].append(row)
    print("median error and bias: with the program's host | with the run's host | of these bound by the device | by the host "
          "| time of the run's host over the program's, and of its events")
    solved = {device: list(with_hosts(list(with_solvers(rows)) if device in UNSEARCHED else rows)) for device, rows in errors.items()}
    for device, rows in solved.items():
        report(device, rows)
        for row in sorted(rows, key=lambda r: with_run(r) / r.measured_s) if given.rows else ():
            print(f"    {with_run(row) / row.measured_s - 1:+7.0%} {bound(row):6} predicted {with_run(row) * 1e3:9.3f} ms, measured "
                  f"{row.measured_s * 1e3:9.3f}  {row.problem} ({row.run})")
    for device, rows in solved.items():
        coverage(device, rows)
    everything = [row for rows in solved.values() for row in rows]
    for way in sorted({row.way for row in everything}):
        coverage(way, [row for row in everything if row.way == way])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    ways = parser.add_subparsers(dest="way", required=True)
    words = {"capture": ("problems", "captures"), "record": ("path", "out"),
             "score": ("binary", "table", "problems", "captures")}
    made = {way: ways.add_parser(way) for way in words}
    for way, names in words.items():
        for name in names:
            made[way].add_argument(name)
    made["capture"].add_argument("--commit", action="append")
    made["score"].add_argument("--rows", action="store_true")
    made["score"].add_argument("--mode", default="eager", choices=MODES)
    for way in ("capture", "score"):
        made[way].add_argument("--level", default="1")
    given = parser.parse_args()
    if given.way == "record":
        record(pathlib.Path(given.path), given.out)
    else:
        {"capture": capture, "score": score}[given.way](given)


if __name__ == "__main__":
    main()
