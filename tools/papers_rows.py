#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""papers_rows.py - BUILD/centimani: where the two headline figures lose their points.

Joins the errors of `centimani validate` with the causes in data/papers/rows.tsv and prints the tables. Fails if a judged row that is more than 10 % off has no cause.
data/papers/contradictions.tsv has groups of rows that no model can meet together. A model predicts p times a
factor for each of them; the sum of their errors is least with p at one of the rows, which gives the most that any model
can reach. data/papers/repeats.tsv has runs that were published more than once: what a model cannot know without
the laboratory, the framework and the release.
"""
import pathlib
import sys

import accuracy

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAUSES = ROOT / "data/papers/rows.tsv"
CONTRADICTIONS = ROOT / "data/papers/contradictions.tsv"
REPEATS = ROOT / "data/papers/repeats.tsv"
FAR = 0.10   # rows that need a cause
SHOWN = 0.05  # rows of the tables
CLASSES = ("ours", "contradicts", "not stated", "unknown")
KINDS = ("run", "source", "physics", "framework")
TARGETS = {"Single devices": 0.931, "Several devices": 0.904}


def lines_of(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def causes():
    """{(devices, device, measured): (name, class, cause)}"""
    found = {}
    for devices, device, measured, name, kind, cause in lines_of(CAUSES):
        if kind not in CLASSES or (int(devices), device, measured) in found:
            sys.exit(f"{CAUSES}: {name}: an unknown class or a second line of the same row")
        found[int(devices), device, measured] = name, kind, cause
    return found


def key_of(row):
    return row["devices"], row["device"], f"{row['measured']:.5g}"


def least_of(values, most):
    """Least errors of rows that are `factor` times one number p at `measured`, where p is at most `most`."""
    errors = lambda p: [abs(p * factor / measured - 1) for measured, factor in values]
    return min((errors(min(most, measured / factor)) for measured, factor in values), key=sum)


def least_errors(rows):
    """{id of a row: (kind, least error)} for the rows of each group of contradictions that are all among `rows`."""
    waiting, groups, found = {}, {}, {}
    for row in rows:
        waiting.setdefault(key_of(row), []).append(row)
    for kind, name, devices, device, measured, factor, _ in lines_of(CONTRADICTIONS):
        empty = {"kind": kind, "rows": [], "values": [], "most": float("inf"), "missing": False}
        group = groups.setdefault(name, empty)
        there = waiting.get((int(devices), device, measured))
        if kind not in KINDS:
            sys.exit(f"{CONTRADICTIONS}: {name}: an unknown kind")
        if int(devices) == 0:
            group["most"] = float(measured) / float(factor)
        elif there:
            group["rows"].append(there.pop(0))
            group["values"].append((float(measured), float(factor)))
        else:
            group["missing"] = True
    for group in groups.values():
        if group["rows"] and group["missing"]:
            sys.exit(f"{CONTRADICTIONS}: a row of {group['rows'][0]['where']} has no partner among the judged rows")
        if group["rows"]:
            errors = least_of(group["values"], group["most"])
            found |= {id(row): (group["kind"], error) for row, error in zip(group["rows"], errors)}
    return found


def joined(rows, known):
    """(error, row, name, class, cause) of each row, those with the most points first."""
    out = []
    for row in rows:
        error = accuracy.error(row)
        if abs(error) > FAR and key_of(row) not in known:
            sys.exit(f"{CAUSES}: no cause of {key_of(row)}, {row['model']}, {100 * error:+.1f} %")
        out.append((error, row, *known.get(key_of(row), ("", "ours", ""))))
    return sorted(out, key=lambda r: -abs(r[0]))


def lost(error):
    return min(1.0, abs(error))


def section(title, rows):
    total, far = len(rows), [r for r in rows if abs(r[0]) > SHOWN]
    least = least_errors([r[1] for r in rows])
    points = lambda errors: 100 * sum(errors) / total
    kept = lambda r: min(lost(r[0]), least[id(r[1])][1]) if id(r[1]) in least else lost(r[0])
    text = f"### {title}, {total} rows\n\n"
    text += accuracy.table(["row", "devices", "error %", "points", "class", "least %", "cause"],
                           [[name, f"{row['devices']} {row['device']}" if row["devices"] > 1 else row["device"],
                             f"{100 * error:+.1f}", f"{points([lost(error)]):.2f}", kind,
                             f"{100 * least[id(row)][1]:.1f}" if id(row) in least else "", cause]
                            for error, row, name, kind, cause in far])
    parts = ", ".join(f"{kind} {points(lost(r[0]) for r in far if r[3] == kind):.1f}" for kind in CLASSES)
    near = points(lost(r[0]) for r in rows if abs(r[0]) <= SHOWN)
    now = points(1 - lost(r[0]) for r in rows)
    best = points(1 - kept(r) for r in rows)
    told = points(1 - (0 if r[3] == "not stated" and id(r[1]) not in least else kept(r)) for r in rows)
    counts = ", ".join(f"{kind} {sum(r[3] == kind for r in far)}" for kind in CLASSES)
    ours = points(1 - (min(scatter(), lost(r[0])) if r[3] == "ours" else lost(r[0])) for r in rows)
    bound = lambda kinds: 100 - points(error for kind, error in least.values() if kind in kinds)
    return text + f"""
Points lost: {parts}, {total - len(far)} rows below 5 % {near:.1f}.
Rows by class: {counts}, below 5 % {total - len(far)}.

| | accuracy % | the paper |
|---|---:|---:|
| as predicted | {now:.1f} | {100 * TARGETS[title]:.1f} |
| every row of class *ours* at most {100 * scatter():.1f} % off, as repeated results (below) | {ours:.1f} | |
| rows that contradict each other at their least errors, all others as they are | {best:.1f} | |
| also every row exact for which the source does not state what ran | {told:.1f} | |
| **the most that any model can reach**: contradictions at their least, every other row exact | {bound(KINDS):.1f} | |
| the same for a model that knows how fast each framework is | {bound(KINDS[:3]):.1f} | |
"""


def halves():
    """(kind, least mean error) of each run that was published more than once, for a model that gives one number."""
    values = [(line[2], [(float(v), 1) for v in line[4].split()]) for line in lines_of(REPEATS)]
    return [(kind, sum(least_of(v, float("inf"))) / len(v)) for kind, v in values]


def scatter(kinds=()):
    """The mean of these errors, of all kinds or of some."""
    found = [half for kind, half in halves() if not kinds or kind in kinds]
    return sum(found) / len(found)


def repeats():
    figures = lambda values: ", ".join(f"{float(v):,.6g}" for v in values.split())
    body = [[network, machine, kind, figures(values), unit, f"{100 * half:.1f}", sources]
            for (network, machine, kind, unit, values, sources), (_, half) in zip(lines_of(REPEATS), halves())]
    kinds = dict.fromkeys(kind for kind, _ in halves())
    means = ", ".join(f"{kind} {100 * scatter((kind,)):.1f} % ({sum(k == kind for k, _ in halves())})" for kind in kinds)
    return ("### The same run, published more than once\n\n" +
            accuracy.table(["network", "machine", "what differs", "published", "unit", "least mean error %", "sources"],
                           body) +
            f"\nA model that is right but does not know what differs is {100 * scatter():.1f} % off on these {len(body)} "
            f"questions. By what differs: {means}.\n")


def page(program):
    sets, known = accuracy.sets_of(program), causes()
    return "\n".join([section("Single devices", joined(accuracy.rows_of_six(sets), known)),
                      section("Several devices", joined(accuracy.rows_of_several(sets), known)), repeats()])


if __name__ == "__main__":
    accuracy.section_main(__doc__, page)
