#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""papers_rows.py - BUILD/centimani [docs/papers.md]: where the two headline figures lose their points.

Joins the errors of `centimani validate` with the causes in docs/results/papers-rows.tsv and prints the tables, or
writes them between the markers of the page. Fails if a judged row that is more than 10 % off has no cause.
"""
import json
import pathlib
import subprocess
import sys

import accuracy

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAUSES = ROOT / "docs/results/papers-rows.tsv"
BEGIN, END = "<!-- made by tools/papers_rows.py -->", "<!-- end -->"
FAR = 0.10   # rows that need a cause
SHOWN = 0.05  # rows of the tables
CLASSES = ("ours", "contradicts", "not stated", "unknown")
TARGETS = {"Single devices": 0.931, "Several devices": 0.904}


def causes():
    """{(devices, device, measured): (name, class, least error, cause)}"""
    found = {}
    for line in CAUSES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            devices, device, measured, name, kind, least, cause = line.split("\t")
            if kind not in CLASSES or (int(devices), device, measured) in found:
                sys.exit(f"{CAUSES}: {line}: an unknown class or a second line of the same row")
            found[int(devices), device, measured] = name, kind, float(least) / 100, cause
    return found


def joined(rows, known):
    """(error, name, class, least error, cause) of each row, those with the most points first."""
    out = []
    for row in rows:
        error = accuracy.error(row)
        key = row["devices"], row["device"], f"{row['measured']:.5g}"
        if abs(error) > FAR and key not in known:
            sys.exit(f"{CAUSES}: no cause of {key}, {row['model']}, {100 * error:+.1f} %")
        name, kind, least, cause = known.get(key, ("", "ours", 0.0, ""))
        out.append((error, row, name, kind, least, cause))
    return sorted(out, key=lambda r: -abs(r[0]))


def lost(error):
    return min(1.0, abs(error))


def section(title, rows):
    total, far = len(rows), [r for r in rows if abs(r[0]) > SHOWN]
    points = lambda errors: 100 * sum(errors) / total
    text = f"### {title}, {total} rows\n\n"
    text += accuracy.table(["row", "devices", "error %", "points", "class", "half-way %", "cause"],
                           [[name, f"{row['devices']} {row['device']}" if row["devices"] > 1 else row["device"],
                             f"{100 * error:+.1f}", f"{points([lost(error)]):.2f}", kind, f"{100 * least:.1f}" if least else "", cause]
                            for error, row, name, kind, least, cause in far])
    parts = ", ".join(f"{kind} {points(lost(r[0]) for r in far if r[3] == kind):.1f}" for kind in CLASSES)
    near = points(lost(r[0]) for r in rows if abs(r[0]) <= SHOWN)
    now = points(1 - lost(r[0]) for r in rows)
    half = points(1 - (min(lost(r[0]), r[4]) if r[3] == "contradicts" else lost(r[0])) for r in rows)
    told = points(1 - (min(lost(r[0]), r[4]) if r[3] in ("contradicts", "not stated") else lost(r[0])) for r in rows)
    ceiling = points(1 - r[4] for r in rows)
    target = 100 * TARGETS[title]
    return text + f"""
Points lost: {parts}, {total - len(far)} rows below 5 % {near:.1f}.

| | accuracy % | the paper |
|---|---:|---:|
| as predicted | {now:.1f} | {target:.1f} |
| rows that contradict another figure at best half-way between both, all others as they are | {half:.1f} | |
| also every row exact for which the source does not state what ran | {told:.1f} | |
| contradictions half-way, every other row exact: the most that any model can reach | {ceiling:.1f} | |
"""


def page(program):
    done = subprocess.run([program, "validate", "--set", "all", "--json"], capture_output=True, text=True, check=True)
    sets, known = json.loads(done.stdout)["sets"], causes()
    return "\n".join([section("Single devices", joined(accuracy.rows_of_six(sets), known)),
                      section("Several devices", joined(accuracy.rows_of_several(sets), known))])


def main():
    text = page(sys.argv[1])
    if len(sys.argv) < 3:
        print(text)
        return
    path = pathlib.Path(sys.argv[2])
    before, rest = path.read_text(encoding="utf-8").split(BEGIN)
    path.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main()
