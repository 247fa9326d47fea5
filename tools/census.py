#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""census.py BUILD STEPS.tsv -o CASES.json [--most N] [--longest SECONDS] [--drawn N [--seed TEXT]]
   census.py BUILD ROWS.json --check

Finds the kernel calls whose measurement would reduce the expected error of predictions most. STEPS.tsv has one step
per line: model, device, batch size, precision, layout, optimizer, mode, software (see tools/step_calls.c). The expected
contribution of a call to the error of a step is its share of the time, times its relative error. The program sums this
over all steps, joins calls with nearly the same sizes, and writes the largest as a file for
`python -m centimani bench --cases`. It also prints the expected error by kind of call and of the mean step.

With --drawn, N calls of each step are drawn at random instead, each with the probability of its share of the step's time:
their errors, which --check prints of the measured rows by operator, are those that steps have, whatever the program
expects.
"""
import argparse
import collections
import json
import math
import pathlib
import random
import statistics
import subprocess

import internal

HERE = pathlib.Path(__file__).resolve().parent.parent
KNOWN = 0.03  # relative error of a call that was measured
GRID = 2      # sizes are alike if they differ by less than a factor of 2 ** (1 / GRID)


def listed(program, steps):
    """Yield the name of each step and its calls: (call, runs, seconds, error, how it was estimated)."""
    answer = subprocess.run([program], input=steps, capture_output=True, text=True)
    name, calls = None, []
    for line in answer.stdout.splitlines():
        fields = line.split("\t")
        if fields[0] in ("step", "failed"):
            if name:
                yield name, calls
            name, calls = (fields[1] if fields[0] == "step" else None), []
            if fields[0] == "failed":
                print("#", line)
        else:
            calls.append((fields[7], int(fields[0]), float(fields[1]), float(fields[2]), fields[3]))
    if name:
        yield name, calls


def key_of(call):
    """The table of a call, and its sizes."""
    op, passed, variant, dtype, sizes = call.split(" ")
    return (op, passed, "" if variant == "-" else variant, dtype), tuple(map(int, sizes.split(",")))


def alike(table, sizes):
    return table, tuple(round(GRID * math.log2(size)) if size > 8 else -size for size in sizes)


class Census:
    """Expected contributions to the error, by group of calls that are alike."""

    def __init__(self):
        self.gain = collections.Counter()
        self.best = {}
        self.kinds = collections.Counter()
        self.steps = 0

    def add(self, calls):
        total = sum(runs * seconds for _, runs, seconds, _, _ in calls)
        self.steps += 1
        for call, runs, seconds, error, _ in calls:
            table, sizes = key_of(call)
            part = runs * seconds / total * max(0, error - KNOWN)
            group = alike(table, sizes)
            self.gain[group] += part
            self.kinds[table] += part
            if part > self.best.get(group, (0,))[0]:
                self.best[group] = part, sizes, seconds

    def cases(self, most, longest):
        chosen = [(group[0], self.best[group][1]) for group, _ in self.gain.most_common()
                  if group in self.best and self.best[group][2] <= longest]
        return chosen[:most]


def drawn(steps, each, seed, longest):
    """Calls of the steps that no row has, `each` of a step at most, in random order."""
    picks, found = random.Random(seed), {}
    for _, calls in steps:
        left = [c for c in calls if c[2] <= longest]
        for _ in range(min(each, len(left))):
            call = picks.choices(left, [runs * seconds for _, runs, seconds, _, _ in left])[0]
            left.remove(call)
            if call[4] != "measured":
                found[call[0]] = key_of(call[0])
    chosen = list(found.values())
    picks.shuffle(chosen)
    return chosen


def check(build, path):
    """Print the errors of the program's times of measured rows, by operator."""
    rows = [(t["op"], " ".join((t["op"], t["pass"], t["variant"] or "-", t["dtype"], ",".join(map(str, r[:len(t["dims"])])))),
             r[len(t["dims"])]) for t in json.loads(pathlib.Path(path).read_text())["kernels"] for r in t["rows"]]
    answer = subprocess.run([internal.built(build, "time_calls")], input="".join(call + "\n" for _, call, _ in rows),
                            capture_output=True, text=True, check=True)
    errors = collections.defaultdict(list)
    for (op, _, measured), line in zip(rows, answer.stdout.splitlines()):
        error = abs(float(line.split("\t")[1]) / measured - 1)
        errors[op].append(error)
        errors["all"].append(error)
    for op, of_op in sorted(errors.items(), key=lambda item: len(item[1])):
        print(f"{op:14s} {len(of_op):5d} calls  mean {statistics.mean(of_op):6.1%}  median {statistics.median(of_op):6.1%}")


def written(chosen, names):
    """The cases in their order; within each thousand, those of a table together."""
    cases = []
    for first in range(0, len(chosen), 1000):
        tables = collections.defaultdict(list)
        for table, sizes in chosen[first:first + 1000]:
            tables[table].append(list(sizes))
        cases += [{"op": op, "pass": passed, "variant": variant, "dtype": dtype, "dims": names[op], "rows": rows}
                  for (op, passed, variant, dtype), rows in tables.items()]
    return {"schema": 1, "cases": cases}


def size_names():
    """Names of the sizes of each call, from a kernel table that has it."""
    tables = json.loads((HERE / "data/kernels/nvidia-h200.torch-eager.json").read_text())["kernels"]
    return {t["op"]: t["dims"] for t in tables}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("steps")
    parser.add_argument("-o")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--drawn", type=int)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--most", type=int, default=4000)
    parser.add_argument("--longest", type=float, default=0.05)
    given = parser.parse_args()
    if given.check:
        return check(given.build, given.steps)
    if not given.o:
        parser.error("-o CASES.json is missing")
    steps = listed(internal.built(given.build, "step_calls"), pathlib.Path(given.steps).read_text())
    if given.drawn:
        chosen = drawn(steps, given.drawn, given.seed, given.longest)
        pathlib.Path(given.o).write_text(json.dumps(written(chosen, size_names())) + "\n")
        return print(f"{len(chosen)} cases")
    census = Census()
    for _, calls in steps:
        census.add(calls)
    chosen = census.cases(given.most, given.longest)
    pathlib.Path(given.o).write_text(json.dumps(written(chosen, size_names())) + "\n")
    whole = sum(census.kinds.values())
    for table, part in census.kinds.most_common(25):
        print(f"{100 * part / census.steps:6.2f} %  {' '.join(word or '-' for word in table)}")
    print(f"{census.steps} steps, expected error {100 * whole / census.steps:.1f} % before, "
          f"{len(chosen)} cases of {len(census.gain)}, which hold "
          f"{100 * sum(v for _, v in census.gain.most_common(len(chosen))) / whole:.0f} % of it")
    return None


if __name__ == "__main__":
    main()
