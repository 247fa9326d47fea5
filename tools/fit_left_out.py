#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit_left_out.py - predict every machine other than a GPU as if it had no results of its own.

    tools/fit_left_out.py BUILD/centimani           print the errors
    tools/fit_left_out.py --write BUILD/centimani   also write `without_device` of data/results/left-out-styles.json

A device takes its parameters from the nearest machines that have results, in one of three ways:

    family  the other devices of its maker and execution model
    maker   all other makers' devices of its execution model, if the maker has no other device
    guess   the priors of fit_styles.py, if no other device has its execution model

Devices that are fed from memory transfer the time lost per byte, not the share of peak (fit_styles.moved_to). The error of
a device is the root mean square of the errors that the same way makes on the other devices when a row's model is left
out of the fit as well, times the quantile of Student's t for that number of devices over that of the normal
distribution: a device is off as a whole, so its rows count as one. `centimani validate --leave-device-out` predicts with these parameters.
"""
import argparse
import json
import math
import pathlib
import sys
import tempfile

import fit_styles
from fit_styles import FAMILIES, GUESS, REFERENCE_INTENSITY

FED = ("gemm", "conv", "attention", "memory")
MAKERS = {"Habana": ("habana-gaudi1", "habana-gaudi2", "habana-gaudi3"), "Google": ("google-tpu-v4", "google-tpu-v5e", "google-tpu-v5p", "google-tpu-v6e"),
          "AWS": ("aws-trainium1",), "Huawei": ("huawei-ascend-910b",)}
# Devices of one chip are left out together: an SN30 of four tiles is half an SN30.
CHIPS = {"habana-gaudi1": ("habana-gaudi1",), "habana-gaudi2": ("habana-gaudi2",), "habana-gaudi3": ("habana-gaudi3",),
         "google-tpu-v4": ("google-tpu-v4",), "google-tpu-v5e": ("google-tpu-v5e",), "google-tpu-v5p": ("google-tpu-v5p",),
         "google-tpu-v6e": ("google-tpu-v6e",),
         "graphcore-gc200": ("graphcore-gc200",), "graphcore-bow": ("graphcore-bow",),
         "sambanova-sn10": ("sambanova-sn10",), "sambanova-sn30": ("sambanova-sn30", "sambanova-sn30-4t", "sambanova-sn30-4t-compiled")}
KINDS = ((MAKERS["Habana"], fit_styles.HPU, True), (MAKERS["Google"], fit_styles.TPU, True), (*FAMILIES["graphcore-ipu"], False),
         (*FAMILIES["sambanova-rdu"], False))
# Quantiles of Student's t for 95 % by degrees of freedom (Abramowitz and Stegun, Table 26.10); 1.645 is the normal one.
STUDENT = {1: 6.314, 2: 2.920, 3: 2.353, 4: 2.132, 5: 2.015, 6: 1.943, 7: 1.895, 8: 1.860, 9: 1.833, 10: 1.812, 11: 1.796}


def guessed(family):
    """First guesses for what the family's profile has from benchmarks of its own devices."""
    return {name: GUESS[name][0] for name in fit_styles.fixed_by_hand(family)}


def guessed_for(devices):
    return next((guessed(family) for family, (mine, _) in FAMILIES.items() if mine == devices), {})


def by_family():
    """{chip: (its devices, devices that are fitted, parameters, given)}: the other chips of the kind."""
    return {chip: (mine, [d for d in devices if d not in mine], names, {"intensity": REFERENCE_INTENSITY} if fed else guessed_for(devices))
            for devices, names, fed in KINDS for chip, mine in CHIPS.items() if set(mine) <= set(devices)}


def by_maker():
    """The same for a maker: the devices of all other makers."""
    kernels = [d for devices in MAKERS.values() for d in devices]
    return {maker: (mine, [d for d in kernels if d not in mine], FED, {"intensity": REFERENCE_INTENSITY})
            for maker, mine in MAKERS.items()}


def by_guess():
    """The same for a family: no device."""
    return {family: (devices, [], names, guessed(family)) for family, (devices, names) in FAMILIES.items()}


def fitted(bench, rows, names, given):
    return fit_styles.fit(bench, rows, names, given)[0] if rows else fit_styles.parameters_of({n: GUESS[n][0] for n in names}) | given


def new_models(bench, rows, rest, names, given):
    """Residuals of a device's rows with its models left out of the other devices' rows, too: a new model on a new device."""
    out = {}
    for group in sorted({r["group"] for r in rows}):
        mine = [r for r in rows if r["group"] == group]
        parameters = fitted(bench, [r for r in rest if r["group"] != group], names, given)
        out.update(zip(map(id, mine), bench.residuals(mine, parameters)))
    return [out[id(r)] for r in rows]


WAYS = {"family": by_family, "maker": by_maker, "guess": by_guess}
# Which way a device takes, if it is not by family.
OTHER_WAYS = {"aws-trainium1": "maker", "huawei-ascend-910b": "maker", "cerebras-cs2-wafer": "guess"}


def size(rows, logs):
    """Root mean square over a chip's models; every model counts once."""
    groups = {}
    for row, log in zip(rows, logs):
        groups.setdefault(row["group"], []).append(log * log)
    return math.sqrt(sum(sum(g) / len(g) for g in groups.values()) / len(groups))


def error_of(sizes, name):
    others = [e for other, e in sizes.items() if other != name]
    return math.sqrt(sum(e * e for e in others) / len(others)) * STUDENT[min(len(others), 11)] / 1.645


def operators(device, others):
    """Single-operator shares of other devices; the family's own benchmarks may be among the device's results."""
    shares = fit_styles.operators_of(others)
    if not shares:
        found = [fit_styles.profile_of(d).get("execution", {}).get("operator", {}).get("gemm") for d in others]
        shares = {"gemm": math.exp(sum(math.log(n["value"]) for n in found if n) / len([n for n in found if n]))} if any(found) else {}
    return shares if "operator" in fit_styles.profile_of(device).get("execution", {}) else {}


RUNS_OF = "habana-gaudi2"  # whose published runs fit_styles.RUN_ERROR rests on: they are left out with it


def block_of(device, parameters, error, way, others):
    """The member `execution` of the device without its results."""
    parameters = dict(parameters)
    reference = parameters.pop("intensity", None)
    if reference:
        parameters = fit_styles.moved_to(parameters, fit_styles.intensity_of(device) / reference)
    note = {"family": "from the other devices of its family", "maker": "from devices of other makers", "guess": "first guesses"}[way]
    note += "; error of the same way on other devices"
    if fit_styles.RUN_ERROR.get(device) and device != RUNS_OF:
        error, note = math.hypot(error, fit_styles.RUN_ERROR[device]), f"{note}, and of published runs on another HPU"
    errors = {key: fit_styles.number(error, "1", note=note) for key in ("error", "conv_error")}
    shares = operators(device, others)
    return fit_styles.execution(parameters | ({"operator": shares} if shares else {}), errors)


def left_out(bench, every):
    """{device: execution} of every device with rows; prints the errors."""
    out = {}
    print(f"{'way':7s} {'left out':20s} {'rows':>4s} {'mean':>7s} {'rms':>6s} {'new models':>10s} {'error':>6s}   inside")
    for way, fits in WAYS.items():
        asked, sizes, seen = fits(), {}, {}
        for name, (mine, others, names, given) in asked.items():
            rows, rest = [r for r in every if r["device"] in mine], [r for r in every if r["device"] in others]
            parameters = fitted(bench, rest, names, given)
            seen[name] = parameters, rows, bench.residuals(rows, parameters)
            sizes[name] = size(rows, new_models(bench, rows, rest, names, given))
        for name, (parameters, rows, residual) in seen.items():
            error = error_of(sizes, name)
            inside = sum(abs(e) <= 1.645 * error for e in residual)
            print(f"{way:7s} {name:20s} {len(rows):4d} {sum(residual) / len(rows):+7.2f} {size(rows, residual):6.2f} {sizes[name]:10.2f} "
                  f"{error:6.2f}   {inside}/{len(rows)}")
            for device in asked[name][0]:
                if OTHER_WAYS.get(device, "family") == way:
                    out[device] = block_of(device, parameters, error, way, asked[name][1])
    return out


def worker(blocks):
    """A CS-2 worker takes the wafer's parameters."""
    family, factors, *_ = fit_styles.TRANSFERRED["cerebras-cs2"]
    names = FAMILIES[family][1]
    scaled = fit_styles.scaled_by(fit_styles.parameters_of({n: GUESS[n][0] for n in names}), factors)
    wafer = blocks["cerebras-cs2-wafer"]
    return fit_styles.execution(scaled, {k: wafer[k] for k in ("error", "conv_error")})


def write(blocks):
    tree = json.loads(fit_styles.LEFT_OUT.read_text())
    for family in tree["families"].values():
        mine = {d: blocks[d] for d in family["devices"] if d in blocks}
        if mine:
            family["without_device"] = mine
    fit_styles.write_tree(tree)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write `without_device` of left-out-styles.json")
    parser.add_argument("program", type=pathlib.Path)
    options = parser.parse_args()
    every = [r for r in json.loads(fit_styles.ROWS.read_text())["rows"] if "left_out" not in r]
    with tempfile.TemporaryDirectory() as folder:
        blocks = left_out(fit_styles.Bench(str(options.program), folder), every)
    blocks["cerebras-cs2"] = worker(blocks)
    if options.write:
        write(blocks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
