#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cpu_set.py - PROGRAM [SET.json NAME]: compare predictions for this machine's CPU with calls timed on it.

The measured value is the sum of the times of all calls of a training step, each timed by itself on one thread
(`bench --for`). The predictions use the calls of KNOWN models and BUDGET seconds of the grid of `bench --suite sweep`;
the OTHER models are compared. With a file name and a name for the CPU, the result is written as a set for data/results;
otherwise a table is printed. Takes half an hour on a machine without other load.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
from datetime import date

BUDGET = 100
REPEATS = 3
ON = ["--backend", "cpu", "--threads", "1"]
KNOWN = [("resnet18", 2), ("mobilenet-v3-small", 4), ("mlp:in=784,hidden=1024x1024x1024,out=10", 64), ("rnn_k2", 1),
         ("bert:layers=2,hidden=256,heads=4,seq=128,vocab=8192", 4)]
OTHERS = [("uno", 32), ("braggnn", 128), ("autoencoder", 8), ("resnet50", 1), ("efficientnet-b0", 1), ("rnn_k1", 1),
          ("gpt:layers=2,hidden=384,heads=6,seq=256,vocab=8192", 2), ("mlp:in=2048,hidden=4096x512,out=1000", 32)]
TITLE = "Calls of training steps on a processor, each timed by itself and added up"


def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def device_time(program, model, batch, profile):
    answer = json.loads(run(program, "predict", model, "--batch", str(batch), "--device", profile, "--runtime", "native",
                            "--precision", "fp32", "--json"))
    return answer["device_time_s"], answer["share"]["measured"]


def merged(profile, more):
    """Merge two profiles of the same machine; of calls in both, keep the shorter time, because other load only slows."""
    name = lambda k: tuple(k.get(x) for x in ("op", "pass", "variant", "dtype", "runtime"))
    tables = {name(k): k for k in profile["kernels"]}
    for k in more["kernels"]:
        there, sizes = tables.setdefault(name(k), {**k, "rows": []}), len(k["dims"])
        rows = {tuple(r[:sizes]): r for r in there["rows"]}
        for r in k["rows"]:
            at = tuple(r[:sizes])
            rows[at] = min(rows.get(at, r), r, key=lambda row: row[sizes])
        there["rows"] = list(rows.values())
    return profile | {"kernels": list(tables.values())}


def calls_of(program, folder, model, batch):
    """Measure a profile of the model's calls; each time is the shortest of REPEATS medians."""
    path, whole = pathlib.Path(folder) / "calls.json", None
    for _ in range(REPEATS):
        path.unlink(missing_ok=True)
        run(program, "bench", "--for", model, "--batch", str(batch), "--precision", "fp32", *ON, "-o", str(path))
        again = json.loads(path.read_text())
        whole = merged(whole, again) if whole else again
    path.write_text(json.dumps(whole))
    return str(path)


def main():
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__)
    program, rows = sys.argv[1], []
    with tempfile.TemporaryDirectory() as folder:
        grid = f"{folder}/grid.json"
        run(program, "bench", "--suite", "roofline,sweep", "--budget", str(BUDGET), *ON, "-o", grid)
        profile = json.loads(pathlib.Path(grid).read_text())
        for model, batch in KNOWN:
            profile = merged(profile, json.loads(pathlib.Path(calls_of(program, folder, model, batch)).read_text()))
        pathlib.Path(grid).write_text(json.dumps(profile))
        for model, batch in OTHERS:
            measured, share = device_time(program, model, batch, calls_of(program, folder, model, batch))
            predicted, seen = device_time(program, model, batch, grid)
            print(f"{model:52s} {batch:4d}  measured {1e3 * measured:9.3f} ms ({100 * share:5.1f} % of it)  predicted {1e3 * predicted:9.3f} ms "
                  f"({100 * seen:4.1f} % by the same calls)  {100 * (predicted / measured - 1):+6.1f} %", flush=True)
            rows.append({"where": f"bench --for {model} --batch {batch}", "model": model, "device": "cpu", "runtime": "native",
                         "precision": "fp32", "batch": batch, "device_time_s": float(f"{measured:.5g}"),
                         "note": f"{100 * share:.1f} % of it timed, the rest as predicted"})
    if len(sys.argv) == 4:
        write(pathlib.Path(sys.argv[2]), sys.argv[3], profile, rows)


def lines_of(profile):
    """JSON with one member per line and one table of calls per line."""
    kernels = ",\n".join("   " + json.dumps(k) for k in profile["kernels"])
    others = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in profile.items() if k != "kernels")
    return f'{{\n{others},\n  "kernels": [\n{kernels}\n  ]\n }}'


def write(path, name, profile, rows):
    source = {"title": f"Measured by this project on {name}, one thread", "where": "tools/cpu_set.py", "date": date.today().strftime("%Y-%m")}
    known = ", ".join(f"{m} at {b}" for m, b in KNOWN)
    notes = [f"Made by 'tools/cpu_set.py BUILD/centimani data/results/{path.name} {name}'; without a file's name it prints the same for any other machine.",
             f"The profile is in the set: calls of other models ({known}) and {BUDGET} seconds of the grid of 'bench --suite sweep'.",
             "A step's calls are timed one by one and added up; a framework's own time beside them is not in it."]
    head = json.dumps({"schema": 1, "id": path.stem, "title": TITLE, "source": source, "notes": notes}, indent=1)[:-2]
    lines = ",\n".join("  " + json.dumps(r | {"device": name}) for r in rows)
    profile = profile | {"id": name, "name": f"{name}, one thread"}
    path.write_text(f'{head},\n "profiles": {{"{name}": {lines_of(profile)}}},\n "rows": [\n{lines}\n ]\n}}\n')


main()
