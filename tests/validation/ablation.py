#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ablation.py - ABLATED CALLS ROOT: leave out each rule of the time model and see what changes. Prints TAP.

ABLATED and CALLS are the program and tools/time_calls.c with src/base/ablation.h switched on. A kernel law must bring the
measured times of its kernels nearer (tests/validation/rules.tsv). Any other rule of the source must change the kernel time of a
step in QUESTIONS; how much each is worth on measured networks is what tools/ablate.py prints.
"""
import concurrent.futures
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

# Compiled steps on an H200 that have all rules. places.cmt.json: an attention with a table of relative positions.
QUESTIONS = ["gpt2 --batch 8", "vgg16 --batch 32", "sd-unet --batch 2", "efficientnet-b0 --batch 32", "transformer-block --batch 8",
             f"{pathlib.Path(__file__).parent}/places.cmt.json --batch 256 --precision bf16"]
LEAST = 5e-4  # relative change of a step's kernel time that is visible


def run(command, without="", text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True,
                          env={**os.environ, "CENTIMANI_WITHOUT": without})


def used(answer):
    return {line[len("rule: "):] for line in answer.stderr.splitlines() if line.startswith("rule: ")}


def step(program, question, without=""):
    answer = run([program, "predict", *question.split(), "--device", "nvidia-h200", "--runtime", "torch-compile", "--json"], without)
    return json.loads(answer.stdout)["device_time_s"], used(answer)


def laws(program, rows):
    """By law, the mean log error of its kernels with it and without it."""
    text = "".join(row[3] + "\n" for row in rows)
    predicted = {rule: [float(line.split("\t")[1]) for line in run(program, rule, text).stdout.splitlines()]
                 for rule in ("", *{row[0] for row in rows})}
    errors = {}
    for at, (rule, _, _, _, seconds) in enumerate(rows):
        errors.setdefault(rule, []).append([abs(math.log(predicted[name][at] / float(seconds))) for name in ("", rule)])
    return {rule: [statistics.mean(column) for column in zip(*found)] for rule, found in errors.items()}


def other_rules(program):
    """By rule, the largest relative change of a step's kernel time without it."""
    changes = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for question, (with_all, rules) in zip(QUESTIONS, pool.map(lambda q: step(program, q), QUESTIONS)):
            for rule, (without, _) in zip(rules, pool.map(lambda r, q=question: step(program, q, r), rules)):
                changes[rule] = max(changes.get(rule, 0), abs(without / with_all - 1))
    return changes


def named(root):
    """The rules that the source asks for by name, and those of data/kernel_laws.tsv."""
    text = "".join(path.read_text() for path in (root / "src/model").rglob("*.c"))
    asked = {name for call in re.findall(r'cm__rule_off\(([^;{]*)', text) for name in re.findall(r'"(\w+)"', call)}
    lines = (root / "data/kernel_laws.tsv").read_text().splitlines()
    return asked, {line.split("\t")[0] for line in lines if not line.startswith("#")}


def main():
    program, calls, root = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    lines = (root / "tests/validation/rules.tsv").read_text().splitlines()
    known, moved = laws(calls, [line.split("\t") for line in lines if not line.startswith("#")]), other_rules(program)
    asked, of_table = named(root)
    print(f"1..{len(asked | of_table)}")
    failed = 0
    for number, rule in enumerate(sorted(asked | of_table), 1):
        if rule in of_table:
            with_it, without = known.get(rule, (0, 0))
            good, text = with_it < without, f"error of its kernels {with_it:.0%}, without it {without:.0%}"
        else:
            good, text = moved.get(rule, 0) >= LEAST, f"changes a step by {moved.get(rule, 0):.2%}"
        failed += not good
        print(f"{'' if good else 'not '}ok {number} {rule}: {text}")
    sys.exit(bool(failed))


main()
