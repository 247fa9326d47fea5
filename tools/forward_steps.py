#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""forward_steps.py BINARY TIMM_INFER.csv.gz CAPTURES [--as-run FOLDER] [--every N] [--rows] [--gain]

Compares predictions with timm's published forward steps under eager PyTorch 2.4 and 2.9 (AMP in fp16): RTX 3090, 4090 and
5090, networks with and without batch norms apart. CAPTURES is a folder of files MODEL.cmt.json; rows of another image size
than the capture's are left out. --as-run FOLDER has captures by benchmark_captures.py, for runs with options that changed
networks. --every N takes each Nth row. With --gain it compares the speed-up by torch.compile, for networks that the source
ran both ways with the same batch size, on the RTX PRO 6000 (Max-Q) too.
"""
import argparse
import collections
import csv
import gzip
import json
import pathlib
import statistics
import subprocess

DEVICES = {"RTX3090-24GB": "nvidia-rtx3090", "RTX4090": "nvidia-rtx4090", "RTX5090": "nvidia-rtx5090"}
GAIN_DEVICES = DEVICES | {"RTXPRO6000-MaxQ": "nvidia-rtx-pro-6000-max-q"}
VERSIONS = ("2.4", "2.9")
# Options of timm's benchmark.py that runs had. Fast norms, by their times: networks with group norms take 0.7 (RTX 4090, both
# versions), 0.9 (RTX 3090) and 0.5 (Max-Q) of the RTX 5090's eager time, where those with batch norms take 1.45, 2.0 and 1.04;
# compiled, both take the same. Reparameterised networks, by the source's number of parameters (RepVGG-B1 51.8, not 57.4 million).
OPTIONS = {("RTX4090", "2.4"): ("fast-norm",), ("RTX3090-24GB", "2.4"): ("fast-norm",), ("RTX5090", "2.9"): ("reparam",),
           ("RTX4090", "2.9"): ("fast-norm", "reparam"), ("RTXPRO6000-MaxQ", "2.9"): ("fast-norm", "reparam")}


def capture_of(folder, model, known):
    """Image size of a capture and whether it has batch norms; None: there is no capture."""
    path = pathlib.Path(folder) / f"{model.split('.')[0]}.cmt.json"
    if path not in known:
        known[path] = None
        if path.exists():
            capture = json.loads(path.read_text())
            sizes = [t["dims"][-1] for t in capture["tensors"] if t.get("role") == "input"]
            norms = any("batch_norm" in op["op"] for op in capture["ops"])
            known[path] = (sizes[0], norms) if sizes else None
    return path, known[path]


def as_run(given, r, path):
    """The capture with the options of the run, if they change the network."""
    folders = [pathlib.Path(given.as_run) / option for option in OPTIONS.get((r["device"], r["torch"]), ())] if given.as_run else []
    return next((folder / path.name for folder in folders if (folder / path.name).exists()), path)


def rows_of(given):
    known, devices = {}, GAIN_DEVICES if given.gain else DEVICES
    with gzip.open(given.table, "rt", newline="") as file:
        for r in csv.DictReader(file):
            if r["device"] in devices and r["torch"] in VERSIONS and (r["paired"] == "1" or not given.gain):
                path, found = capture_of(given.captures, r["model"], known)
                if found and found[0] == int(r["img_size"]):
                    yield r | {"capture": as_run(given, r, path), "norms": "batch norms" if found[1] else "others"}


def predict(binary, r, runtime="torch-eager"):
    done = subprocess.run([binary, "predict", r["capture"], "--device", GAIN_DEVICES[r["device"]], "--batch",
                           str(int(float(r["batch"]))), "--precision", r["precision"], "--layout", r["layout"], "--mode",
                           "inference", "--runtime", runtime, "--json"], capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        raise SystemExit(f"{r['model']}: {done.stderr}")
    return json.loads(done.stdout)


def key_of(r):
    return r["device"], r["torch"], r["layout"], r["model"]


def gains(given):
    """Errors of the speed-up by torch.compile, by device, version and layout."""
    pairs = collections.defaultdict(dict)
    for r in rows_of(given):
        pairs[key_of(r) + (r["batch"], r["precision"])][r["compiled"]] = r
    groups = collections.defaultdict(list)
    for key in sorted(k for k, pair in pairs.items() if len(pair) == 2)[::given.every]:
        eager, compiled = pairs[key]["0"], pairs[key]["1"]
        measured = float(eager["step_ms"]) / float(compiled["step_ms"])
        ours = predict(given.binary, eager)["step_time_s"] / predict(given.binary, compiled, "torch-compile")["step_time_s"]
        if given.rows:
            print(f"{' '.join(key)}: {ours:.2f} predicted, {measured:.2f} measured, {ours / measured - 1:+.0%}")
        for name in ("all", eager["norms"]):
            groups[key[:3] + (name,)].append(ours / measured - 1)
    for key, errors in groups.items():
        print(f"{' '.join(key):36} {len(errors):4} speed-ups, mean error {statistics.mean(map(abs, errors)):5.1%}, median "
              f"{statistics.median(map(abs, errors)):5.1%}, bias {statistics.median(errors):+6.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for word in ("binary", "table", "captures"):
        parser.add_argument(word)
    parser.add_argument("--as-run", help="folder of captures by benchmark_captures.py")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--rows", action="store_true", help="also print each row")
    parser.add_argument("--gain", action="store_true", help="compare the speed-up by torch.compile")
    given = parser.parse_args()
    if given.gain:
        return gains(given)
    groups = collections.defaultdict(list)
    eager = [r for r in rows_of(given) if r["compiled"] == "0"]
    for r in sorted(eager, key=key_of)[::given.every]:
        answer, measured = predict(given.binary, r), float(r["step_ms"]) / 1e3
        low, high = answer["interval_s"]
        error = answer["step_time_s"] / measured - 1
        if given.rows:
            print(f"{r['device']} {r['torch']} {r['layout']} {r['model']} {r['batch']}: {error:+.0%}")
        for name in ("all", r["norms"]):
            groups[r["device"], r["torch"], r["layout"], name].append((error, low <= measured <= high))
    for key, found in groups.items():
        errors = [e for e, _ in found]
        print(f"{' '.join(key):36} {len(found):4} steps, mean error {statistics.mean(map(abs, errors)):5.1%}, median "
              f"{statistics.median(map(abs, errors)):5.1%}, bias {statistics.median(errors):+6.1%}, inside "
              f"{sum(i for _, i in found) / len(found):4.0%}")
    return None


if __name__ == "__main__":
    main()
