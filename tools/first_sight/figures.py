# SPDX-License-Identifier: Apache-2.0
"""figures.py - the table of evidence/README.md: what compare.py prints for every list that was predicted and measured."""
import pathlib
import statistics

import compare
from compare import evidence

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
HEADS = ("list", "predicted", "steps", "kernel time, mean", "median", "p90", "memory, mean", "device-bound steps", "inside",
         "host-bound steps", "inside", "speed-up, mean")


def percent(value):
    return "–" if value is None else f"{value:.1%}"


def mean(values):
    values = [abs(v) for v in values if v is not None]
    return statistics.mean(values) if values else None


def inside(rows):
    return [len(rows), f"{statistics.mean(r['inside'] for r in rows):.0%}" if rows else "–"]


def row(name):
    """Cells of a list: its name, the day of its predictions, and its errors."""
    rows = [compare.judged(p, m) for p, m in compare.joined([name])]
    device = [abs(r["device"]) for r in rows]
    return [name, predicted_on(name), len(rows), percent(statistics.mean(device)), percent(statistics.median(device)),
            percent(compare.percentile(device, .9)), percent(mean(r["memory"] for r in rows)),
            *inside([r for r in rows if not r["host"]]), *inside([r for r in rows if r["host"]]), percent(mean(r["speed-up"] for r in rows))]


def predicted_on(name):
    """The day of the last commit before the one that recorded the measurements."""
    lines = evidence.opened(name + "/commits.txt").read().splitlines()[1:]
    return lines[max(0, len(lines) - 2)].split("\t")[1][:10]


def lists():
    """Archives with predictions and measurements of training steps."""
    names = evidence.names("eager-*") + evidence.names("compiled-*")
    return [name for name in names if evidence.has(name, "measured.tsv")]


def table():
    lines = ["| " + " | ".join(HEADS) + " |", "|---|---|" + "---:|" * (len(HEADS) - 2)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row(name))) + " |" for name in lists()])


def main(page=None):
    if page is None:
        print(table())
        return
    path = pathlib.Path(page)
    before, rest = path.read_text(encoding="utf-8").split(BEGIN)
    path.write_text(f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}", encoding="utf-8")
