#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compiled_memory.py - predicted memory beside what Google's compiler says of the same steps.

    tools/compiled_memory.py BUILD/centimani           print the comparison
    tools/compiled_memory.py --check BUILD/centimani   also fail if it is worse than recorded

The steps are those of data/results/compiled-memory.tsv. A step compiled with low effort counts with the casts of its
weights, which the default effort stores as well: of one step compiled both ways the peak is then 1 %
off. The program that wrote the steps is not part of this tree: each is a command's model in JAX (scan over layers, jax.checkpoint, Adam).
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys

STEPS = pathlib.Path(__file__).resolve().parent.parent / "data/results/compiled-memory.tsv"
MOST_MEAN = 0.06   # of steps of language models that recompute their layers
RECORDED = "--recompute full"


def answer_of(program, row):
    done = subprocess.run([program, *row["command"].split(), "--json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"{row['command']}\n{done.stderr}")
    return json.loads(done.stdout)


def asked_fits(answer):
    """Whether the step as it was asked fits; an alternative may fit where it does not."""
    levels = answer["levels"]
    return all(level["used_bytes"] <= level["capacity_bytes"] for level in levels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="fail if the mean error is above the recorded one")
    parser.add_argument("program")
    options = parser.parse_args()
    with open(STEPS, encoding="utf-8") as file:
        rows = list(csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t"))
    errors, first, right = [], [], 0
    print(f"{'step':5s} {'effort':8s} {'compiled':>9s} {'predicted':>9s} {'error':>7s} {'at first':>8s} fits, predicted  command")
    for row in rows:
        answer = answer_of(options.program, row)
        fits, asked = row["compiled"] != "-", asked_fits(answer)
        right += fits == asked
        compiled = int(row["compiled"]) + int(row["casts"]) if fits else None
        error = answer["peak_bytes"] / compiled - 1 if fits else None
        before = int(row["first"]) / compiled - 1 if fits and row["first"] != "-" else None
        if fits and RECORDED in row["command"]:
            errors.append(abs(error))
            first += [abs(before)] if before is not None else []
        cells = [f"{100 * e:+7.1f}%" if e is not None else "       -" for e in (error, before)]
        print(f"{row['name']:5s} {row['effort']:8s} {compiled / 1e9 if fits else float('nan'):9.2f} {answer['peak_bytes'] / 1e9:9.2f} "
              f"{cells[0]} {cells[1]} {'yes' if fits else 'no':>4s} {'yes' if asked else 'no':>4s}  {row['command'][7:]}")
    mean = sum(errors) / len(errors)
    print(f"recomputed language models: mean error {100 * mean:.1f} % of {len(errors)} steps, {100 * sum(first) / len(first):.1f} % of {len(first)} "
          f"predicted before they were compiled; fits or not: {right} of {len(rows)} right")
    return options.check and mean > MOST_MEAN


if __name__ == "__main__":
    sys.exit(main())
