#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit_host.py - fit the host times of eager PyTorch in data/devices/nvidia-h200.json to host-bound training steps.

    tools/fit_host.py BUILD/centimani          print the fit and its errors
    tools/fit_host.py --write BUILD/centimani  also write the host times of the profile

The benchmark of PyTorch times chains of tiny operators on an idle device; data/kernels/nvidia-h200.torch-eager.json has
these times. In training steps the host takes longer. The rows of data/results/h200-steps.json that the host bounds give
two numbers:

    step = factor * (benchmark times of the step's operators, autograd nodes and tensors) + fixed

by least squares of relative errors. The fixed time becomes `step`. `gap` is the median over the steps of
tests/validation/steps.csv that the device bounds: (time of the step - time of its kernels) / number of kernels.
"""
import argparse
import csv
import json
import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = ROOT / "data/results/h200-steps.json"
TIMES = ROOT / "data/kernels/nvidia-h200.torch-eager.json"
PARTS = ROOT / "tests/validation/steps.csv"
PROFILE = ROOT / "data/devices/nvidia-h200.json"
BOUND = "bound by the host"
TINY = 1e-9  # s; a profile cannot say 0


def benchmark_profile():
    """A profile of the H200 with the host times of the benchmark, and no fixed time of a step."""
    with TIMES.open(encoding="utf-8") as file:
        tree = json.load(file)
    host = [cost for cost in tree["host"] if ":" in cost["what"]]
    host.append({"runtime": "torch-eager", "what": "step", "time": {**host[0]["time"], "value": TINY}})
    return {"schema": 1, "id": "host-benchmark", "base": "nvidia-h200", "host": host, "sources": tree["sources"]}, host


def predicted(program, profile, row):
    options = {"--device": profile, "--batch": row["batch"], "--precision": row["precision"], "--optimizer": row["optimizer"],
               "--seq": row.get("seq")}
    command = [program, "predict", row["model"], "--json"]
    for option, value in options.items():
        command += [option, str(value)] if value is not None else []
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def points(program):
    """(model, benchmark time, measured time) of each host-bound row."""
    with ROWS.open(encoding="utf-8") as file:
        rows = [row for row in json.load(file)["rows"] if BOUND in row.get("fitted", "")]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "host-benchmark.json"
        path.write_text(json.dumps(benchmark_profile()[0]), encoding="utf-8")
        return [(row["model"], predicted(program, path, row)["host_time_s"], row["step_time_s"]) for row in rows]


def fit(rows):
    """Factor and fixed time by least squares of (factor x + fixed) / y - 1."""
    s = [sum(x**i / y**j for _, x, y in rows) for i, j in ((2, 2), (1, 2), (0, 2), (1, 1), (0, 1))]
    determinant = s[0] * s[2] - s[1] * s[1]
    return (s[3] * s[2] - s[4] * s[1]) / determinant, (s[0] * s[4] - s[1] * s[3]) / determinant


def error(rows, parameters):
    return sum(abs((parameters[0] * x + parameters[1]) / y - 1) for _, x, y in rows) / len(rows)


def left_out_error(rows):
    """Mean error with each model left out of the fit in turn."""
    total = 0
    for model in {row[0] for row in rows}:
        out = [row for row in rows if row[0] == model]
        total += error(out, fit([row for row in rows if row[0] != model])) * len(out)
    return total / len(rows)


def gap(program):
    """Time between kernels, and the number of steps that it is the median of."""
    found = []
    with PARTS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            answer = predicted(program, "nvidia-h200", row)
            if answer["host_time_s"] < answer["device_time_s"]:
                found.append((float(row["step_ms"]) - float(row["device_ms"])) * 1e-3 / answer["kernels"])
    return statistics.median(found), len(found)


def stored():
    with PROFILE.open(encoding="utf-8") as file:
        return {cost["what"]: cost["time"]["value"] for cost in json.load(file)["host"] if cost["runtime"] == "torch-eager"}


def write(factor, fixed, between):
    text = PROFILE.read_text(encoding="utf-8")
    new = {cost["what"]: cost["time"]["value"] * factor for cost in benchmark_profile()[1]}
    new.update({"step": fixed, "gap": between})
    for what in stored():
        if what in new:
            text = re.sub(rf'("torch-eager", "what": "{what}", "time": {{"value": )[^,]+', rf"\g<1>{new[what]:.4g}", text)
    PROFILE.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("program")
    given = parser.parse_args()
    rows = points(given.program)
    factor, fixed = fit(rows)
    print(f"{len(rows)} rows: factor {factor:.4f}, fixed {fixed:.4g} s, mean error {error(rows, (factor, fixed)):.4f}, "
          f"with each model left out {left_out_error(rows):.4f}")
    between, steps = gap(given.program)
    print(f"{steps} steps: gap {between:.3g} s")
    if given.write:
        write(factor, fixed, between)


if __name__ == "__main__":
    main()
