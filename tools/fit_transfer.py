#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit_transfer.py steps BUILD DEVICE STEPS.csv CAPTURES [--forward TIMM_INFER.csv.gz] [--write] [--families]
   fit_transfer.py calls BUILD OPERATORS.csv.gz [--write]

Fits the factors by which times transferred from the reference device are corrected (`transfer` in a profile).

steps: from training steps of captured networks, in a table with columns model, layout, batch and step_ms, as timm
publishes them. CAPTURES is a folder of files MODEL.cmt.json. One factor per kind of call (src/device/corrections.def)
minimises the squared log error of the steps, with weights that fall for outliers and a prior of 1 on every factor. Each
family of networks is also predicted by a fit without it. Steps are those of PyTorch 1.12, which timm's were measured with:
models wrote attention as separate products and a softmax.

--forward: forward steps of the same card under PyTorch 1.13, which has no fused attention either. Gradients of a product
are products, by the same kernels. So the factor of products that these steps give is the prior of the fit, with their
error and 10 %. A family that is left out is left out of both, with families of the same networks (SAME). Convolutions have
other kernels in backward, and keep the prior of 1.

calls: from times of the same products and attentions on several GPUs, among them the reference device, by the same
program (AIConfigurator's tables: columns device, op, dtype, d0 to d4, latency_ms). A factor is the median of measured
over transferred ratios to the reference device. Each half of the calls is also predicted by the other half. Attention with a
sliding window is left out. The ratios of attention are printed by head width too, of more devices than are fitted.

--write puts the factors into the profiles in data/devices. Needs numpy.
"""
import argparse
import collections
import csv
import gzip
import json
import math
import pathlib
import re
import statistics
import subprocess
import tempfile

import numpy

import forward_steps
import internal

HERE = pathlib.Path(__file__).resolve().parent.parent
REFERENCE = "nvidia-h200"
PRIOR, NOISE, OUTLIER = 0.3, 0.08, 0.15  # standard deviations of log factors and log steps; where weights decrease
# Kinds that only stream: their time is the bandwidth's, which the transfer rule knows.
STREAMS = {"elementwise": 0.05, "batch_norm:nchw": 0.1, "batch_norm:nhwc": 0.1}
LONG = 200e-6                           # s; calls whose times by head width are printed
SHORTEST = 20e-6                        # s; shorter calls measure launch latencies
LEAST_SHARE = 0.001                     # of the time of all steps: kinds below it are not fitted
DEVICES = {"A100-SXM4-80GB": "nvidia-a100", "L40S": "nvidia-l40s", "RTXPRO6000-Server": "nvidia-rtx-pro-6000",
           "B200-SXM-180GB": "nvidia-b200", "H100-SXM-80GB": "nvidia-h100", "H200-SXM-141GB": REFERENCE}
NOT_FITTED = {"GB200": "nvidia-gb200", "B300-SXM": "nvidia-b300", "GB300": "nvidia-gb300"}  # only their errors are printed
KINDS = {"gemm": "gemm", "attention_causal": "attention"}
NOT_FROM_STEPS = ("attention", "none")
FORWARD = {"nvidia-rtx3090": ("RTX3090-24GB", "1.13")}  # forward steps in timm's table: card, version of PyTorch
FROM_FORWARD, FORWARD_DEVIATION = ("gemm",), 0.1
SAME = {"vit": ("vit", "deit", "beit")}  # names of one architecture: left out together
ALIKE = {"nvidia-a100": "nvidia-a100-80g"}  # a device that stands for an abstract profile


# ---- profiles --------------------------------------------------------------------------------------------------------

def write(profile, factors, source):
    """Replace the profile's factors of this source, and add the source."""
    path = HERE / f"data/devices/{profile}.json"
    text = path.read_text()
    made = {kind: {"value": float(f"{value:.3g}"), "unit": "1", "kind": "fitted", "source": source[0]}
            for kind, value in factors.items()}
    others = {kind: number for kind, number in json.loads(text).get("transfer", {}).items()
              if number["source"] != source[0] and kind not in made}
    lines = ",\n".join(f'    "{kind}": {json.dumps(number)}' for kind, number in (made | others).items())
    text = re.sub(r'  "transfer": \{\n.*?\n  \},\n', "", text, flags=re.S)
    if f'"{source[0]}": {{' not in text:
        entry = json.dumps(source[1], indent=2).replace("\n", "\n    ")
        text = text.replace('  "sources": {\n', f'  "sources": {{\n    "{source[0]}": {entry},\n', 1)
    text = text.replace('  "sources": {\n', f'  "transfer": {{\n{lines}\n  }},\n  "sources": {{\n', 1)
    json.loads(text)
    path.write_text(text)
    print(f"{path.name}: {len(factors)} factors")


# ---- steps -----------------------------------------------------------------------------------------------------------

def uncorrected(device, folder):
    """A profile of the device whose factors are all 1."""
    kinds = re.findall(r'^CORRECTION\(\w+, "([^"]+)"\)', (HERE / "src/device/corrections.def").read_text(), flags=re.M)
    one = {"value": 1, "unit": "1", "kind": "assumed", "source": "fit", "note": "no correction"}
    path = pathlib.Path(folder) / "uncorrected.json"
    path.write_text(json.dumps({"schema": 1, "id": "uncorrected", "base": device, "transfer": {kind: one for kind in kinds},
                                "sources": {"fit": {"title": "fit", "where": "tools/fit_transfer.py", "date": "2026"}}}))
    return path


class Steps:
    """Measured steps, and the time of each kind of call in them without correction."""

    def __init__(self, build, device, rows, captures, mode="training"):
        with tempfile.TemporaryDirectory() as folder:
            profile = uncorrected(device, folder)
            lines = "".join(f"{captures}/{r['model']}.cmt.json\t{profile}\t{r['batch']}\tamp-fp16\t{r['layout']}\tauto\t"
                            f"{mode}\ttorch=1.12\n" for r in rows)
            answer = subprocess.run([internal.built(build, "step_calls")], input=lines, capture_output=True, text=True)
        self.kinds, self.times, self.rest = [], [], []
        for line in answer.stdout.splitlines():
            self._add(line.split("\t"))
        self.measured = numpy.array([float(r["step_ms"]) / 1e3 for r in rows])
        self.families = numpy.array([re.sub(r"\d*$", "", r["model"].split("_")[0]) for r in rows])
        self.layouts = numpy.array([r["layout"] for r in rows])
        self.kinds = sorted({kind for times in self.times for kind in times})
        self.matrix = numpy.array([[times.get(kind, 0) for kind in self.kinds] for times in self.times])
        share = (self.matrix / self.matrix.sum(1, keepdims=True)).mean(0)
        self.kinds = [kind for kind, part in zip(self.kinds, share) if part >= LEAST_SHARE and kind not in NOT_FROM_STEPS]
        self.rest = numpy.array(self.rest) + [sum(t for k, t in times.items() if k not in self.kinds) for times in self.times]
        self.matrix = numpy.array([[times.get(kind, 0) for kind in self.kinds] for times in self.times])

    def _add(self, fields):
        if fields[0] == "step":
            self.gap = float(fields[5])
            self.times.append(collections.Counter())
            self.rest.append(0)
        elif fields[0] == "failed":
            raise SystemExit("\t".join(fields))
        else:
            runs, seconds, kernels = int(fields[0]), float(fields[1]), float(fields[4])
            self.times[-1][fields[8]] += runs * seconds
            self.rest[-1] += runs * kernels * self.gap

    def predicted(self, logs):
        return self.matrix @ numpy.exp(logs) + self.rest

    def fit(self, chosen, forward=None):
        """Log factors; forward: other steps, and which of them are chosen, whose factors are the prior of products."""
        return self._posterior(chosen, *self._prior(forward))[0]

    def _prior(self, forward):
        """Means and deviations of the log factors before the steps are seen."""
        mean, prior = numpy.zeros(len(self.kinds)), numpy.array([STREAMS.get(kind, PRIOR) for kind in self.kinds])
        if forward:
            steps, chosen = forward
            logs, covariance = steps._posterior(chosen, *steps._prior(None))
            for kind in set(FROM_FORWARD) & set(self.kinds) & set(steps.kinds):
                here, there = self.kinds.index(kind), steps.kinds.index(kind)
                mean[here], prior[here] = logs[there], math.hypot(FORWARD_DEVIATION, math.sqrt(covariance[there, there]))
        return mean, prior

    def _posterior(self, chosen, mean, prior):
        logs = mean.copy()
        for _ in range(80):
            parts = self.matrix * numpy.exp(logs)
            whole = parts.sum(1) + self.rest
            slope, off = (parts / whole[:, None])[chosen], numpy.log(self.measured / whole)[chosen]
            weight = 1 / numpy.maximum(1, abs(off) / OUTLIER)**2
            left = slope.T @ (slope * weight[:, None]) / NOISE**2 + numpy.diag(1 / prior**2)
            logs += 0.7 * numpy.linalg.solve(left, slope.T @ (off * weight) / NOISE**2 - (logs - mean) / prior**2)
        return logs, numpy.linalg.inv(left)

    def without(self, family):
        return ~numpy.isin(self.families, SAME.get(family, (family,)))

    def fit_without(self, family, forward=None):
        return self.fit(self.without(family), forward and (forward, forward.without(family)))

    def left_out(self, forward=None):
        predicted = numpy.zeros(len(self.measured))
        for family in sorted(set(self.families)):
            own = self.families == family
            predicted[own] = self.predicted(self.fit_without(family, forward))[own]
        return predicted

    def report(self, name, predicted):
        error = predicted / self.measured - 1
        for layout in sorted(set(self.layouts)):
            own = error[self.layouts == layout]
            print(f"{name:18} {layout}: {len(own)} steps, mean error {abs(own).mean():.1%}, median "
                  f"{numpy.median(abs(own)):.1%}, bias {own.mean():+.1%}, log deviation "
                  f"{numpy.log(1 + own).std():.2f}")


    def report_families(self, predicted):
        error = predicted / self.measured - 1
        for layout in sorted(set(self.layouts)):
            for family in sorted(set(self.families[self.layouts == layout])):
                own = error[(self.layouts == layout) & (self.families == family)]
                print(f"  {layout} {family:14} {len(own):3} steps, mean error {abs(own).mean():.1%}, bias {own.mean():+.1%}")


def training_steps(build, device, table, captures):
    captures = pathlib.Path(captures)
    with open(table, encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if (captures / f"{r['model']}.cmt.json").exists()]
    return Steps(build, device, rows, captures)


def forward_steps_of(build, device, table, captures):
    """Eager forward steps of networks whose capture has the published image size."""
    card, version, known, rows = *FORWARD[device], {}, []
    with gzip.open(table, "rt", newline="") as file:
        for r in csv.DictReader(file):
            if (r["compiled"], r["device"], r["torch"]) == ("0", card, version):
                path, found = forward_steps.capture_of(captures, r["model"], known)
                if found and found[0] == int(r["img_size"]):
                    rows.append(r | {"model": path.name.split(".")[0], "batch": int(float(r["batch"]))})
    return Steps(build, device, rows, captures, "inference")


def fit_steps(given):
    steps = training_steps(given.build, given.device, given.steps, given.captures)
    forward = given.forward and forward_steps_of(given.build, given.device, given.forward, given.captures)
    rows = steps.measured
    logs = steps.fit(numpy.ones(len(rows), bool), forward and (forward, numpy.ones(len(forward.measured), bool)))
    steps.report("transferred", steps.predicted(numpy.zeros(len(logs))))
    steps.report("fitted", steps.predicted(logs))
    left_out = steps.left_out(forward)
    steps.report("family left out", left_out)
    if given.families:
        steps.report_families(left_out)
    factors = {kind: math.exp(value) for kind, value in zip(steps.kinds, logs)}
    for kind, value in factors.items():
        print(f"{kind:20} {value:.3g}")
    if given.write:
        write(given.device, factors, ("timm-steps", {
            "title": f"Training steps of {len(rows)} networks of timm in AMP, PyTorch 1.12, both layouts" + (
                f"; products with the prior of {len(forward.measured)} forward steps, PyTorch 1.13" if forward else ""),
            "where": "huggingface/pytorch-image-models, results; fitted by tools/fit_transfer.py steps" + (
                " --forward" if forward else ""), "date": "2022"}))


# ---- calls -----------------------------------------------------------------------------------------------------------

def call_text(row):
    d = [row[f"d{i}"] for i in range(5)]
    if row["op"] == "gemm":
        return f"gemm forward nt bf16 {','.join(d[:4])}"
    batch, tokens, heads, kv_heads, width = d
    return f"attention forward - bf16 {batch},{tokens},{tokens},{heads},{kv_heads},{width},1"


def read_calls(path):
    """By kind and call: seconds on each device."""
    times = collections.defaultdict(dict)
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            windowed = KINDS.get(row["op"]) == "attention" and row["d5"]
            device = DEVICES.get(row["device"]) or NOT_FITTED.get(row["device"])
            if row["dtype"] == "bf16" and device and row["op"] in KINDS and not windowed:
                times[KINDS[row["op"]], call_text(row)][device] = float(row["latency_ms"]) / 1e3
    return times


def transferred(build, device, calls):
    program = internal.built(build, "transfer_calls")
    lines = "".join(f"{text}\t{seconds} 1 1 1 1 1\n" for text, seconds in calls)
    done = subprocess.run([program, REFERENCE, ALIKE.get(device, device)], input=lines, capture_output=True, text=True,
                          check=True)
    return [float(line.split()[2]) for line in done.stdout.splitlines()]


def print_widths(build, times):
    """Measured over transferred time of attention by head width, of calls long enough to show the kernel alone."""
    for device in sorted({*DEVICES.values(), *NOT_FITTED.values()} - {REFERENCE}):
        for width in ("64", "128", "256"):
            calls = [(text, t[REFERENCE], t[device]) for (kind, text), t in sorted(times.items())
                     if kind == "attention" and text.split(",")[5] == width and REFERENCE in t and device in t
                     and t[REFERENCE] >= LONG]
            if calls:
                made = transferred(build, device, [c[:2] for c in calls])
                ratios = [measured / predicted for (_, _, measured), predicted in zip(calls, made, strict=True)]
                print(f"{device:20} heads of {width:3} {len(calls):4} calls, measured over transferred "
                      f"{statistics.median(ratios):.2f}, median error {statistics.median(abs(1 / r - 1) for r in ratios):.1%}")


def fit_calls(given):
    times = read_calls(given.operators)
    print_widths(given.build, times)
    for device in sorted(set(DEVICES.values()) - {REFERENCE}):
        factors = {}
        for kind in ("gemm", "attention"):
            calls = [(text, t[REFERENCE], t[device]) for (k, text), t in sorted(times.items())
                     if k == kind and REFERENCE in t and device in t and t[REFERENCE] >= SHORTEST]
            made = transferred(given.build, device, [c[:2] for c in calls])
            ratios = [math.log(measured / predicted) for (_, _, measured), predicted in zip(calls, made, strict=True)]
            halves = [statistics.median(ratios[i::2]) for i in (0, 1)]
            left = [abs(math.expm1(halves[1 - i % 2] - r)) for i, r in enumerate(ratios)]
            factors[kind] = math.exp(statistics.median(ratios))
            print(f"{device:20} {kind:10} {len(calls):5} calls, factor {factors[kind]:.3f}; median error transferred "
                  f"{statistics.median(abs(math.expm1(-r)) for r in ratios):.1%}, other half fitted {statistics.median(left):.1%}")
        if given.write:
            write(device, factors, ("aiconfigurator-ops", {
                "title": "Products and attention in bf16 on several GPUs, relative to an H200",
                "where": "ai-dynamo/aiconfigurator, systems/data; fitted by tools/fit_transfer.py calls", "date": "2026"}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ways = parser.add_subparsers(dest="way", required=True)
    steps, calls = ways.add_parser("steps"), ways.add_parser("calls")
    for way, words in ((steps, ("build", "device", "steps", "captures")), (calls, ("build", "operators"))):
        for word in words:
            way.add_argument(word)
        way.add_argument("--write", action="store_true")
    steps.add_argument("--forward", help="table of timm's forward steps, for the prior of products")
    steps.add_argument("--families", action="store_true", help="also the error of each family")
    given = parser.parse_args()
    (fit_steps if given.way == "steps" else fit_calls)(given)


if __name__ == "__main__":
    main()
