# SPDX-License-Identifier: Apache-2.0
"""refit.py - run the programs that made fitted numbers again, and compare with the stored numbers.

usage: refit.py CENTIMANI FIT_SCALES
"""
import importlib.util
import json
import math
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CENTIMANI, FIT_SCALES = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
# The likelihood of a row, in which the stored and the fitted scales may differ: the maximum is flat.
LIKELIHOOD_TOLERANCE = 0.1
# The defaults, from which the fit starts, are worse by more than this: else the fit would prove nothing.
LIKELIHOOD_GAIN = 0.5
# Relative difference of host times: the fit has two digits.
HOST_TOLERANCE = 0.03


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def scales(call):
    """Likelihood, distances and scales of a call by "stored", "default" and "fitted"."""
    rows = re.findall(r"^(\w+) (\S+)\n  noise (\S+) alike (\S+) variant (\S+) dtype (\S+) pass (\S+) scales (.*)$",
                      run(FIT_SCALES, call), re.M)
    return {name: (float(likelihood), [float(x) for x in distances], [float(x) for x in values.split()])
            for name, likelihood, *distances, values in rows}


def scales_are_refitted(call):
    found, row = scales(call), json.loads((ROOT / "data/scales.json").read_text())["calls"][call]
    (stored, distances, values), (default, _, _), (fitted, refitted, _) = (found[name] for name in ("stored", "default", "fitted"))
    assert distances == [row[key] for key in ("noise", "alike", "variant", "dtype", "pass")], distances
    assert values == list(row["scales"].values()), values
    assert abs(fitted - stored) <= LIKELIHOOD_TOLERANCE, f"likelihood {stored} stored, {fitted} fitted"
    assert fitted - default >= LIKELIHOOD_GAIN, f"likelihood {default} of defaults, {fitted} fitted"
    assert 0.5 < refitted[0] / distances[0] < 2, f"noise {distances[0]} stored, {refitted[0]} fitted"


sys.path.append(str(ROOT / "tools"))  # programs import others


def program(name):
    """A program of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def host_times_are_refitted():
    host = program("fit_host")
    (named, seen), stored = host.points(CENTIMANI), host.stored()
    fitted = {**host.fit(named + seen), "gap": host.gap(CENTIMANI)[0]}
    assert len(named) >= 60 and len(seen) >= 40, f"{len(named)} and {len(seen)} host-bound steps"
    for what, value in stored.items():
        assert abs(value / max(fitted[what], host.TINY) - 1) < HOST_TOLERANCE, f"{what}: {value} s stored, {fitted[what]:.4g} s fitted"


def compiled_gaps_are_refitted():
    host = program("fit_host")
    compiled, fitted = host.stored("torch-compile"), host.compiled_gaps()
    assert set(fitted) == {"gap", "graph-gap"}
    for what, (value, steps) in fitted.items():
        assert steps >= 20, f"{what}: {steps} device-bound steps"
        assert abs(compiled[what] / value - 1) < HOST_TOLERANCE, f"{what}: {compiled[what]} s stored, {value:.4g} s fitted"


def workspaces_are_refitted():
    """With VGG-16's measured workspaces, which are in a unit test, the stored sizes are among the best."""
    fit, lines = program("fit_workspaces"), [",".join(("mode", "n", "c", "k", "h", "w", "r", "s", "stride", "pad", "groups", "pass",
                                                       "workspace_bytes"))]
    text = (ROOT / "tests/unit/model/memory/test_workspace_conv.c").read_text()
    for c, k, side, *measured in re.findall(r"\{(\d+), (\d+), (\d+), ([\d.]+), ([\d.]+), ([\d.]+)\}", text):
        lines += [f"fp32,32,{c},{k},{side},{side},3,3,1,1,1,{name},{float(mib) * 2**20}" for name, mib in zip(fit.ALGORITHMS, measured)]
    found, rules = list(fit.calls(lines)), fit.stored()
    assert len(found) == 24 and sum(taken for _, taken, _ in found) == 20, f"{len(found)} rows"
    for rule in fit.TRIED:
        least, most, count = fit.best_range(found, rules, rule)
        assert count == 0 and least <= rules[rule] <= most, f"{rule}: {count} wrong from {least} to {most}"
    assert fit.wrong(found, {**rules, "winograd_product": 5000}) == 1  # 64 x 64 channels use Winograd
    assert fit.wrong(found, {**rules, "fft_side_most": 32}) == 2      # images of 56 x 56 use FFT


def transposed_factor():
    """Two layers whose weight gradients take 1.1 and 1.2 times as long; products of another device and shape do not count."""
    fit, stored = program("fit_transposed"), dict(line.split("\t")[:2] for line in (ROOT / "data/factors.tsv").read_text().splitlines()
                                                   if not line.startswith("#"))
    lines = ["device,op,pass,d0,d1,d2,d3,latency_ms", "a,gemm,fwd,1,10,20,30,2", "a,gemm,bwd_weight,1,20,30,10,2.2",
             "a,gemm,fwd,1,11,20,30,3", "a,gemm,bwd_weight,1,20,30,11,3.6", "a,gemm,fwd,1,12,20,30,4", "b,gemm,bwd_weight,1,20,30,12,9",
             "a,gemm,bwd_input,1,20,30,12,9"]
    factor, layers = fit.factor(lines, "a")
    assert layers == 2 and abs(factor - math.sqrt(1.1 * 1.2)) < 1e-12, f"{factor} of {layers} layers"
    # of 61 layers, from SimuMax's published efficiencies (docs/results/numbers.md)
    assert abs(float(stored["transposed_product"]) - 1.0557) < 0.001, stored["transposed_product"]


def stored_factors():
    rows = (line.split("\t") for line in (ROOT / "data/factors.tsv").read_text().splitlines() if not line.startswith("#"))
    return {row[0]: float(row[1]) for row in rows}


def transfer_factors():
    """From the times of an H200 on parts of its multiprocessors, which are in the tree."""
    fit, stored = program("fit_factors"), stored_factors()
    fitted = fit.fit()
    for name, tolerance in (("reached_bandwidth", 0.01), ("measured_error", 0.005)):
        assert abs(fitted[name] - stored[name]) <= tolerance, f"{name}: {stored[name]} stored, {fitted[name]:.3g} fitted"
    best, own, none = (fit.latency_error(s) for s in (fitted["kernel_latency_s"], stored["kernel_latency_s"], 0))
    assert own - best < 0.02 < 0.1 < none - best, f"log errors {best:.3f} fitted, {own:.3f} stored, {none:.3f} without latency"
    for kinds, name in ((fit.TILES, "tiles_by_cores"), (fit.SUMS, "sums_by_cores")):
        best, own, all_of_it = (fit.share_error(kinds, s) for s in (fitted[name], stored[name], 1))
        assert own - best < 0.03 < all_of_it - best, f"{name}: log errors {best:.3f} fitted, {own:.3f} stored, {all_of_it:.3f} for 1"


def rows_of_whole_runs():
    """A row of 16 chips in 8 copies is asked as that run; one that is a device's share as the micro-batches of one copy."""
    styles = program("fit_styles")
    run = {"per_device": False, "devices": 16, "replicas": 8, "cluster": "bow-pod16", "batch": 768, "micro_batch": 48, "sync_batchnorm": 2}
    asked = styles.Bench.division(run, run["batch"])
    assert asked == "-n 16 --dp 8 --pp 2 --micro-batch 6 --accumulate 16 --cluster bow-pod16 --sync-batchnorm 2".split(), asked
    cards = {"per_device": False, "devices": 8, "batch": 64, "micro_batch": 64, "zero": 3}  # a server: no cluster is named
    asked = styles.Bench.division(cards, cards["batch"])
    assert asked == "-n 8 --dp 8 --pp 1 --micro-batch 8 --accumulate 1 --zero 3".split(), asked
    share = styles.Bench.division({"batch": 48, "micro_batch": 6}, 96)
    assert share == "--micro-batch 6 --accumulate 16".split(), share


CHECKS = [("settings of whole runs", rows_of_whole_runs), ("scales of rms_norm", lambda: scales_are_refitted("rms_norm")),
          ("scales of cross_entropy", lambda: scales_are_refitted("cross_entropy")),
          ("host times", host_times_are_refitted), ("gaps between compiled kernels", compiled_gaps_are_refitted),
          ("sizes of workspaces", workspaces_are_refitted),
          ("factor of transposed products", transposed_factor), ("factors of the transfer rule", transfer_factors)]


def main():
    failed = 0
    print(f"1..{len(CHECKS)}")
    for number, (name, check) in enumerate(CHECKS, 1):
        try:
            check()
            print(f"ok {number} {name}")
        except (AssertionError, subprocess.CalledProcessError, KeyError) as error:
            failed += 1
            print(f"not ok {number} {name}: {error}")
    sys.exit(bool(failed))


main()
