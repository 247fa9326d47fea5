#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cpu_set.py - PROGRAM [SET.json]: predictions for this machine's processor against calls timed on it.

A profile is measured on the grid of `bench --suite sweep`, which has no model's shapes, in BUDGET seconds and on one thread. Then every
call of a training step of each model below is timed by itself (`bench --for`); their sum is what was measured. With a file's name
the two become a set as data/results/cpu-calls.json is one; without, a table is printed.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

BUDGET = 300
ON = ["--backend", "cpu", "--threads", "1"]
MODELS = [("uno", 32), ("braggnn", 128), ("autoencoder", 8), ("resnet18", 2), ("mobilenet-v3-small", 4), ("rnn_k1", 1),
          ("mlp:in=784,hidden=1024x1024x1024,out=10", 64), ("bert:layers=2,hidden=256,heads=4,seq=128,vocab=8192", 4),
          ("gpt:layers=2,hidden=384,heads=6,seq=256,vocab=8192", 2)]
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


def main():
    program = sys.argv[1]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        grid = f"{folder}/cpu-grid.json"
        run(program, "bench", "--suite", "roofline,sweep", "--budget", str(BUDGET), *ON, "-o", grid)
        for i, (model, batch) in enumerate(MODELS):
            own = f"{folder}/calls-{i}.json"
            run(program, "bench", "--for", model, "--batch", str(batch), "--precision", "fp32", *ON, "-o", own)
            measured, share = device_time(program, model, batch, own)
            predicted, _ = device_time(program, model, batch, grid)
            print(f"{model:52s} {batch:4d}  measured {1e3 * measured:9.3f} ms ({100 * share:5.1f} % of it)  "
                  f"predicted {1e3 * predicted:9.3f} ms  {100 * (predicted / measured - 1):+6.1f} %", flush=True)
            rows.append({"where": f"bench --for {model} --batch {batch}", "model": model, "device": "cpu-grid", "runtime": "native",
                         "precision": "fp32", "batch": batch, "device_time_s": float(f"{measured:.5g}"),
                         "note": f"{100 * share:.1f} % of it timed, the rest from ceilings"})
        profile = json.loads(pathlib.Path(grid).read_text())
    if len(sys.argv) > 2:
        write(pathlib.Path(sys.argv[2]), profile, rows)


def write(path, profile, rows):
    source = {"title": f"Measured by this project on {profile['name']}, one thread", "where": "tools/cpu_set.py", "date": "2026-11"}
    notes = ["Made by 'tools/cpu_set.py BUILD/centimani data/results/cpu-calls.json'; on another machine without the file's name it prints "
             "the same for that one. The profile is in the set: measured on the grid of 'bench --suite sweep', with none of the models' "
             "shapes chosen for it.",
             "A step's calls are timed one by one and added up; a framework's own time beside them is not in it."]
    head = json.dumps({"schema": 1, "id": path.stem, "title": TITLE, "source": source, "notes": notes}, indent=1)[:-2]
    lines = ",\n".join("  " + json.dumps(r) for r in rows)
    path.write_text(f'{head},\n "profiles": {{"cpu-grid": {json.dumps(profile)}}},\n "rows": [\n{lines}\n ]\n}}\n')


main()
