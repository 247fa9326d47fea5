#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""census.py BUILD STEPS.tsv -o CASES.json [--most N] [--longest SECONDS]

Finds the kernel calls whose measurement would reduce the expected error of predictions most. STEPS.tsv has one step
per line: model, device, batch size, precision, layout, optimizer, mode, attention (see tools/step_calls.c). The expected
contribution of a call to the error of a step is its share of the time, times its relative error. The program sums this
over all steps, joins calls with nearly the same sizes, and writes the largest as a file for
`python -m centimani bench --cases`. It also prints the expected error by kind of call and of the mean step.
"""
import argparse
import collections
import json
import math
import pathlib
import subprocess

import internal

HERE = pathlib.Path(__file__).resolve().parent.parent
KNOWN = 0.03  # relative error of a call that was measured
GRID = 2      # sizes are alike if they differ by less than a factor of 2 ** (1 / GRID)


def listed(program, steps):
    """Yield the name of each step and its calls: (call, runs, seconds, error)."""
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
            calls.append((fields[7], int(fields[0]), float(fields[1]), float(fields[2])))
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
        total = sum(runs * seconds for _, runs, seconds, _ in calls)
        self.steps += 1
        for call, runs, seconds, error in calls:
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
    parser.add_argument("-o", required=True)
    parser.add_argument("--most", type=int, default=4000)
    parser.add_argument("--longest", type=float, default=0.05)
    given = parser.parse_args()
    census = Census()
    for _, calls in listed(internal.built(given.build, "step_calls"), pathlib.Path(given.steps).read_text()):
        census.add(calls)
    chosen = census.cases(given.most, given.longest)
    pathlib.Path(given.o).write_text(json.dumps(written(chosen, size_names())) + "\n")
    whole = sum(census.kinds.values())
    for table, part in census.kinds.most_common(25):
        print(f"{100 * part / census.steps:6.2f} %  {' '.join(word or '-' for word in table)}")
    print(f"{census.steps} steps, expected error {100 * whole / census.steps:.1f} % before, "
          f"{len(chosen)} cases of {len(census.gain)}, which hold "
          f"{100 * sum(v for _, v in census.gain.most_common(len(chosen))) / whole:.0f} % of it")


if __name__ == "__main__":
    main()
