#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit_host.py - fit the host times of eager PyTorch in data/devices/nvidia-h200.json to host-bound training steps.

    tools/fit_host.py BUILD/centimani          print the fit and its errors
    tools/fit_host.py --write BUILD/centimani  also write the host times of the profile

The benchmark of PyTorch times chains of tiny operators on an idle device; data/kernels/nvidia-h200.torch-eager.json has
these times. In training steps the host takes longer, and not by the same factor for all kinds of operators. The fit
takes two sets of host-bound steps: rows of data/results/h200-steps.json, and networks at first sight, whose numbers of
operators are in kernels/host-bound.tsv of evidence/. Each kind of operator has a factor of its benchmark times, the
same in forward and backward, because training steps have as many of one as of the other. The factors are the least
squares of relative errors of

    step = fixed + sum of factor(kind) time(kind) number(kind) + launch extra,      all factors >= 0

where `extra` are kernels beyond the third of each call. A weak pull towards a common factor decides where the steps do not. Steps
that are more than 25 % off count less. `gap` is the median over the steps of tests/validation/steps.csv that the device
bounds: (time of the step - time of its kernels) / number of kernels. The same over compiled steps at first sight gives
the `gap` of torch.compile, and over those with CUDA graphs `graph-gap`.
"""
import argparse
import csv
import json
import math
import pathlib
import re
import statistics
import subprocess
import tempfile

import evidence

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = ROOT / "data/results/h200-steps.json"
TIMES = ROOT / "data/kernels/nvidia-h200.torch-eager.json"
SEEN = "kernels/host-bound.tsv"  # of evidence/
PARTS = ROOT / "tests/validation/steps.csv"
COMPILED = "compiled-*"  # archives
GAPS = {"default": "gap", "reduce-overhead": "graph-gap"}  # by mode of torch.compile
AHEAD = 0.7         # part of a step in which the host of a device-bound step has queued its kernels
PROFILE = ROOT / "data/devices/nvidia-h200.json"
BOUND = "bound by the host"
TINY = 1e-9         # s; a profile cannot say 0
COMMON = 2.8        # factor of the benchmark's times in steps, to which the fit is pulled
PULL = 0.6          # weight of that pull, against 1 of a step: of 0.1 to 1, plausible times for all kinds and 16.7 % of error left out
FAR = 0.25          # relative error from which a step counts less
ROUNDS, SWEEPS = 6, 2000


# ---- steps and the numbers of their operators --------------------------------------------------------------------


def benchmark_times():
    """Benchmark time of each kind; `step` and `launch` have none of their own."""
    with TIMES.open(encoding="utf-8") as file:
        host = json.load(file)["host"]
    times = {cost["what"]: cost["time"]["value"] for cost in host if ":" in cost["what"]}
    times = {what: value for what, value in times.items() if not what.endswith(":binary") and not what.startswith("step:")}
    return {**times, "launch": next(c["time"]["value"] for c in host if c["what"] == "launch"), "step": 2e-4}


def predicted(program, profile, row):
    options = {"--device": profile, "--batch": row["batch"], "--precision": row["precision"], "--optimizer": row["optimizer"],
               "--seq": row.get("seq")}
    command = [program, "predict", row["model"], "--json"]
    for option, value in options.items():
        command += [option, str(value)] if value is not None else []
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def unit_profile(folder, what, times):
    """A profile in which only one kind of operator takes time, 1 ms."""
    host = [{"runtime": "torch-eager", "what": kind, "time": {"value": 1e-3 if kind == what else TINY * 1e-3, "unit": "s",
                                                              "kind": "measured", "source": "bench"}} for kind in times]
    path = pathlib.Path(folder) / f"{what.replace(':', '-')}.json"
    with TIMES.open(encoding="utf-8") as file:
        sources = json.load(file)["sources"]
    path.write_text(json.dumps({"schema": 1, "id": "host-unit", "base": "nvidia-h200", "host": host, "sources": sources}),
                    encoding="utf-8")
    return path


def named_steps(program, times):
    """(model, step time, number of each kind) of the host-bound rows of named models."""
    with ROWS.open(encoding="utf-8") as file:
        rows = [row for row in json.load(file)["rows"] if BOUND in row.get("fitted", "")]
    steps = [(row["model"], row["step_time_s"], {}) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        for what in times:
            path = unit_profile(folder, what, times)
            for row, (_, _, counts) in zip(rows, steps):
                if not what.startswith("update-op") or what.endswith(":" + row["optimizer"]):
                    counts[what] = round(predicted(program, path, row)["host_time_s"] * 1e3)
    return steps


def seen_steps():
    """The same of networks at first sight."""
    with evidence.opened(SEEN) as file:
        rows = list(csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t"))
    return [(row["case"], float(row["step_s"]),
             {**{k: int(v) for k, v in row.items() if "-op:" in k}, f"update-op:{row['optimizer']}": int(row["tensors"]),
              "launch": int(row["extra"]), "step": 1}) for row in rows]


def points(program):
    times = benchmark_times()
    return named_steps(program, times), seen_steps()


# ---- the fit -----------------------------------------------------------------------------------------------------


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def not_negative(rows, weights):
    """The x >= 0 with the least weighted squares of (row x - 1) and PULL (x - 1), one unknown after the other."""
    count = len(rows[0])
    square = [[sum(w * r[i] * r[k] for r, w in zip(rows, weights)) + PULL ** 2 * (i == k) for k in range(count)]
              for i in range(count)]
    product = [sum(w * r[i] for r, w in zip(rows, weights)) + PULL ** 2 for i in range(count)]
    x = [1.0] * count
    for _ in range(SWEEPS):
        for i in range(count):
            x[i] = max(0.0, x[i] + (product[i] - dot(square[i], x)) / square[i][i])
    return x


def factor_of(what):
    """The name of the factor of an entry: forward and backward of a kind have one."""
    return what.partition(":")[2] if what.startswith(("forward-op", "backward-op")) else what


def fit(steps):
    """Time of each kind."""
    times = {what: COMMON * value for what, value in benchmark_times().items()}
    names = sorted({factor_of(what) for what in times})
    taken = [[0.0] * len(names) for _ in steps]
    for row, (_, step, counts) in zip(taken, steps):
        for what, count in counts.items():
            row[names.index(factor_of(what))] += count * times[what] / step
    weights = [1.0] * len(steps)
    for _ in range(ROUNDS):
        x = not_negative(taken, weights)
        weights = [1 / max(1, abs(dot(row, x) - 1) / FAR) for row in taken]
    return {what: value * x[names.index(factor_of(what))] for what, value in times.items()}


def errors(steps, times):
    """log(predicted / measured)."""
    return [math.log(sum(times[k] * n for k, n in counts.items()) / step) for _, step, counts in steps]


def left_out_errors(steps, groups=10):
    """The same, each group of networks left out of the fit in turn."""
    names = sorted({name for name, _, _ in steps})
    found = []
    for group in range(groups):
        out = set(names[group::groups])
        times = fit([s for s in steps if s[0] not in out])
        found += errors([s for s in steps if s[0] in out], times)
    return found


def gap(program):
    """Time between kernels, and the number of steps that it is the median of."""
    found = []
    with PARTS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            answer = predicted(program, "nvidia-h200", row)
            if answer["host_time_s"] < answer["device_time_s"]:
                found.append((float(row["step_ms"]) - float(row["device_ms"])) * 1e-3 / answer["kernels"])
    return statistics.median(found), len(found)


def compiled_gaps():
    """The same for compiled steps: by name, (time, number of steps)."""
    found = {what: [] for what in GAPS.values()}
    for name in evidence.names(COMPILED):
        with evidence.opened(name + "/measured.tsv") as lines:
            for row in csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t"):
                step, kernels, queued = (float(row[name]) for name in ("step_s", "union_s", "queued_s"))
                if row["mode"] in GAPS and queued < AHEAD * step:
                    found[GAPS[row["mode"]]].append((step - kernels) / int(row["launches"]))
    return {what: (statistics.median(times), len(times)) for what, times in found.items()}


def stored(runtime="torch-eager"):
    with PROFILE.open(encoding="utf-8") as file:
        return {cost["what"]: cost["time"]["value"] for cost in json.load(file)["host"] if cost["runtime"] == runtime}


def write(new):
    text = PROFILE.read_text(encoding="utf-8")
    for what in stored():
        text = re.sub(rf'("torch-eager", "what": "{what}", "time": {{"value": )[^,]+', rf"\g<1>{max(new[what], TINY):.4g}", text)
    PROFILE.write_text(text, encoding="utf-8")


def described(name, found):
    mean, median = statistics.mean(abs(math.expm1(e)) for e in found), math.expm1(statistics.median(found))
    return f"{name}: {len(found)} steps, mean error {mean:.3f}, median {median:+.3f}, " \
           f"deviation of the logarithm {math.sqrt(statistics.mean(e * e for e in found)):.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("program")
    given = parser.parse_args()
    named, seen = points(given.program)
    times = fit(named + seen)
    print(described("named models", errors(named, times)))
    print(described("networks at first sight", errors(seen, times)))
    print(described("all, each tenth of the networks left out", left_out_errors(named + seen)))
    between, steps = gap(given.program)
    print(f"{steps} steps: gap {between:.3g} s")
    for what, (value, steps) in compiled_gaps().items():
        print(f"{steps} compiled steps: {what} {value:.3g} s")
    for what, value in times.items():
        print(f"{what:24s} {value * 1e6:8.2f} us")
    if given.write:
        write({**times, "gap": between})


if __name__ == "__main__":
    main()
