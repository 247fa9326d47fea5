#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ablate.py CAPTURES [--list NAME]... [--together RULE,RULE...]... [--only RULE,...] [--jobs N] [--program PROGRAM]

What each rule of the time model is worth: the error of kernel times with it and without it, on lists of networks that
were measured after their prediction (evidence/). One command does all of it:

    python3 tools/ablate.py ../captures

It builds the program with -Dablation=true in build-ablate, captures the networks that CAPTURES lacks (without a GPU; needs
PyTorch, timm and transformers), and predicts every measured step that has a capture; these weigh as much as all of the same
source (timm, written ...). Such a program says on stderr which rules changed a prediction (src/base/ablation.h): only those
predictions are made again without a rule. --together also leaves out several rules at once. A rule stays if a list's mean error
grows by a visible amount, 0.05 points or more; the table is sorted by the largest growth.
"""
import argparse
import functools
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import evidence

sys.path.insert(1, str(evidence.ROOT / "tools/first_sight"))
import compare  # noqa: E402
import predict  # noqa: E402

LISTS = ["eager-q", "eager-r", "eager-s", "compiled-p", "compiled-q", "compiled-r"]


rows_of = functools.cache(compare.table)


def capture(args, names):
    """Capture what the folder lacks, in several processes; a network that cannot be captured leaves a file that says why."""
    if not importlib.util.find_spec("torch"):
        return print("no PyTorch: only networks that are captured already", file=sys.stderr)
    pathlib.Path(args.captures).mkdir(parents=True, exist_ok=True)
    words = [sys.executable, evidence.ROOT / "tools/first_sight/predict.py", "capture"]
    for name in names:
        parts = [subprocess.Popen([*words, f"{name}/names.txt", args.captures, "--part", f"{part}/{args.jobs}"], stdout=sys.stderr,
                                  env={**os.environ, "PYTHONPATH": str(evidence.ROOT / "python"), "OMP_NUM_THREADS": "1"})
                 for part in range(args.jobs)]
        for part in parts:
            part.wait()


def steps_of(args, name):
    """Measured steps of a list that have a capture, as (list, question, measured kernel time, source)."""
    measured = {compare.key(r): float(r["union_s"]) for r in rows_of(f"{name}/measured.tsv")}
    steps = []
    for row in rows_of(f"{name}/predicted.tsv"):
        network = predict.file_of(args.captures, row["case"])
        if compare.key(row) in measured and os.path.exists(network):
            runtime = "torch-compile:" + row["mode"] if row.get("mode") else "torch-eager"
            words = [args.program, "predict", network, "--device", "nvidia-h200", "--batch", row["batch"], "--precision", row["precision"],
                     "--layout", row["layout"], "--optimizer", row["optimizer"], "--runtime", runtime, "--json"]
            steps.append((name, words, measured[compare.key(row)], row["case"].split(":")[0]))
    return steps


def predicted(step, without=()):
    """Relative error of the kernel time, and the rules that changed it; None without a prediction."""
    answer = subprocess.run(step[1], capture_output=True, text=True, check=False,
                            env={**os.environ, "CENTIMANI_WITHOUT": ",".join(without)})
    if answer.returncode:
        return None
    rules = {line[len("rule: "):] for line in answer.stderr.splitlines() if line.startswith("rule: ")}
    return json.loads(answer.stdout)["device_time_s"] / step[2] - 1, rules


def means(steps, errors):
    """By list, the mean absolute error; each source weighs as much as it has measured steps."""
    found = {}
    for name in dict.fromkeys(s[0] for s in steps):
        sources = [r["case"].split(":")[0] for r in rows_of(f"{name}/measured.tsv")]
        each = {x: [abs(e) for s, e in zip(steps, errors) if s[0] == name and s[3] == x] for x in set(sources)}
        weights = {x: sources.count(x) for x, of in each.items() if of}
        found[name] = sum(w * statistics.mean(each[x]) for x, w in weights.items()) / sum(weights.values())
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures")
    parser.add_argument("--program", help="a program with -Dablation=true, instead of build-ablate/centimani")
    parser.add_argument("--list", action="append", choices=LISTS, help="only this list")
    parser.add_argument("--together", action="append", default=[], help="rules to leave out at once")
    parser.add_argument("--only", help="rules to leave out, instead of all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    if not args.program:
        subprocess.run(["tools/build.sh", "build-ablate", "-Dablation=true"], cwd=evidence.ROOT, stdout=sys.stderr, check=True)
        args.program = str(evidence.ROOT / "build-ablate/centimani")
    capture(args, args.list or LISTS)
    steps = [step for name in args.list or LISTS for step in steps_of(args, name)]
    with ThreadPoolExecutor(args.jobs) as pool:
        found = list(pool.map(predicted, steps))
        steps, found = [s for s, f in zip(steps, found) if f], [f for f in found if f]
        if not steps:
            sys.exit("no step has a capture, or no prediction")
        base = means(steps, [e for e, _ in found])
        sets = [tuple(t.split(",")) for t in args.together]
        sets += [(r,) for r in (args.only.split(",") if args.only else sorted(set().union(*(rules for _, rules in found))))]
        table = []
        for rules in sets:
            touched = [i for i, (_, used) in enumerate(found) if used & set(rules)]
            errors = [e for e, _ in found]
            for i, other in zip(touched, pool.map(lambda i, rules=rules: predicted(steps[i], rules), touched)):
                errors[i] = other[0] if other else 1.0
            now = means(steps, errors)
            table.append(("+".join(rules), len(touched), {name: now[name] - base[name] for name in base}))
            print(".", end="", file=sys.stderr, flush=True)
    print(f"\n{'':24s} {'steps':>5s} " + " ".join(f"{name:>10s}" for name in base))
    print(f"{'steps':24s} {len(steps):5d} " + " ".join(f"{sum(s[0] == name for s in steps):10d}" for name in base))
    print(f"{'error with all rules':24s} {'':5s} " + " ".join(f"{100 * e:9.2f}%" for e in base.values()))
    for name, count, changes in sorted(table, key=lambda row: -max(row[2].values())):
        print(f"{name:24s} {count:5d} " + " ".join(f"{100 * changes[k]:+10.2f}" for k in base))


if __name__ == "__main__":
    sys.exit(main())
