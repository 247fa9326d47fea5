#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""papers_batches.py - BUILD/centimani: a verdict for each of the 24 batch sizes of Table 5 of Xie et al. 2024.

Prints for each cell the size that the paper selected by trial, ours by equation (5) and by the knee of the throughput,
and the share of the memory that the paper's size takes here. The verdict is the first that applies: equal; within a
factor of 2 (by either objective); "Table 2 has N", another size for the same cell of the same paper; "memory idle", the
paper's size takes less than a tenth of the memory, which therefore cannot be what decided; "does not fit" here; ours.
"""
import json
import subprocess

import accuracy
import fit_styles

IDLE = 0.1
OBJECTIVES = ("memory", "knee")


def ask(program, *words):
    done = subprocess.run([program, *map(str, words), "--json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.stdout else {}


def rows_of(name):
    return json.loads((fit_styles.ROOT / f"data/results/{name}.json").read_text())["rows"]


def options(row):
    return [x for key in ("seq", "precision") if key in row for x in (f"--{key}", row[key])]


def memory_share(program, row):
    """Share of the fullest level that the paper's batch size takes; None: no step was built."""
    answer = ask(program, "memory", row["model"], "--device", row["device"], "--batch", row["measured"], *options(row))
    return max((one["used_bytes"] / one["capacity_bytes"] for one in answer.get("levels", ()) if one["capacity_bytes"]), default=None)


def verdict(row, ours, other, share):
    near = [size for size in ours if size and 0.5 <= size / row["measured"] <= 2]
    if row["measured"] in ours:
        return "equal"
    if near:
        return "within a factor of 2"
    if other and other != row["measured"]:
        return f"Table 2 has {other}"
    if share is None or share > 1:
        return "does not fit"
    return "memory idle" if share < IDLE else "ours"


def cells(program):
    """(row, our sizes, share of the memory, verdict)"""
    table2 = {(row["model"], row["device"]): row["measured"] for row in rows_of("centimani-table2")}
    for row in rows_of("centimani-table5"):
        ours = [ask(program, "batch", row["model"], "--device", row["device"], "--objective", o, *options(row)).get("batch") for o in OBJECTIVES]
        share = memory_share(program, row)
        yield row, ours, share, verdict(row, ours, table2.get((row["model"], row["device"])), share)


def page(program):
    found = list(cells(program))
    counts = {}
    for *_, word in found:
        word = "Table 2 has another" if word.startswith("Table 2") else word
        counts[word] = counts.get(word, 0) + 1
    body = [[row["model"], row["device"], row["measured"], *(size or "–" for size in ours), accuracy.percent(share), word] for row, ours, share, word in found]
    return (accuracy.table(["network", "device", "paper", "equation (5)", "knee", "memory used %", "verdict"], body) +
            "\n" + ", ".join(f"{word} {count}" for word, count in counts.items()) + "\n")


if __name__ == "__main__":
    accuracy.section_main(__doc__, page)
