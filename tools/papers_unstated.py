#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""papers_unstated.py - BUILD/centimani: what a right model can expect where sources omit settings.

data/papers/unstated.tsv has the judged rows of the papers' machines whose source does not state a setting,
and the values that are published for it. Every row is predicted with every value. A model that is right for each of
them but does not know which one ran must give one number; if all values are equally likely, its expected error is
least with that number at one of the predictions. Rows that contradict each other have the least errors of
papers_rows.py, and all others the scatter of runs that were published more than once, except ratios of a machine to
itself, in which it cancels. Last, the bound for other scatters, and the scatter at which the figure that is asked for
would be out of reach.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import accuracy
import papers_rows

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNSTATED = ROOT / "data/papers/unstated.tsv"
PARTS = {"Single devices": accuracy.rows_of_six, "Several devices": accuracy.rows_of_several}


def unstated():
    """{set: [((where, device), setting, values, source)]}"""
    found = {}
    for name, device, where, setting, values, source in papers_rows.lines_of(UNSTATED):
        found.setdefault(name, []).append(((where, device), setting, json.loads(values), source))
    return found


def counted(row):
    return "sibling" not in row and "fitted" not in row and "reason" not in row


def answers(program, name, items):
    """(setting, source, the answers of `centimani validate` for all values) of each row of a set."""
    whole = json.loads((ROOT / f"data/results/{name}.json").read_text(encoding="utf-8"))
    chosen = [(item, row) for item in items for row in whole["rows"]
              if (row["where"], row["device"]) == item[0] and counted(row)]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{name}.json"
        rows = [{k: v for k, v in (row | value).items() if v is not None} for item, row in chosen for value in item[2]]
        path.write_text(json.dumps(whole | {"rows": rows}))
        words = [program, "validate", "--set", str(path), "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    rows = iter(json.loads(done.stdout)["rows"])
    return [(setting, source, [next(rows) for _ in values]) for (_, setting, values, source), _ in chosen]


def expected(values):
    """The least expected error of one number for equally likely values."""
    return min(sum(min(1, abs(p / value - 1)) for value in values) / len(values) for p in values)


def key_of(row):
    return row["where"], row["device"], row["devices"], row["measured"]


def known_of(program, sets):
    """{row: (setting, source, predictions, least expected error)}; fails if a first value is not that of the set."""
    judged = {(one["set"], key_of(row)): row["predicted"] for one in sets for row in one["rows"]}
    known = {}
    for name, items in unstated().items():
        for setting, source, rows in answers(program, name, items):
            values = [row["predicted"] for row in rows]
            today = judged.get((name, key_of(rows[0])))
            if None in values or not today or abs(values[0] / today - 1) > 1e-6:
                sys.exit(f"{UNSTATED}: {rows[0]['where']}: a value has no prediction, or the first is not as judged")
            known[key_of(rows[0])] = setting, source, values, expected(values)
    return known


def to_others():
    """Rows that are ratios to another machine, by place and device."""
    sets = [json.loads(path.read_text(encoding="utf-8")) for path in (ROOT / "data/results").glob("*.json")]
    rows = [row for one in sets for row in one.get("rows", ()) if "device" in row.get("versus", {})]
    return {(row["where"], row["device"]) for row in rows if row["versus"]["device"] != row["device"]}


def is_of_itself(row, others):
    """A ratio of a machine to itself: efficiencies, and ratios to other batches, lengths or numbers of devices."""
    return row["metric"] in ("efficiency", "ratio") and (row["where"], row["device"]) not in others


def right_error(row, known, least, others, scatter):
    """(what limits a right model, its error)"""
    if id(row) in least and least[id(row)][0] != "framework":
        return "contradicts", least[id(row)][1]
    scatter = 0 if is_of_itself(row, others) else scatter
    if key_of(row) in known:
        return "not stated", max(known[key_of(row)][3], scatter)
    return "published more than once" if scatter else "the same machine twice", scatter


def out_of_reach(accuracy_at, target):
    """The scatter at which a right model would expect `target`; its accuracy falls with the scatter."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if accuracy_at(middle) > target else (low, middle)
    return low


def other_scatters(rows, known, least, others, target):
    share = lambda scatter: 1 - accuracy.mean(right_error(row, known, least, others, scatter)[1] for row in rows)
    few = papers_rows.scatter(("run", "laboratory"))
    most = out_of_reach(share, target)
    cases = [("none: settings and contradictions alone", 0.0), ("all repeated runs", papers_rows.scatter()),
             ("those of another run or laboratory alone", few), ("at which the target is out of reach", most)]
    body = [[what, f"{100 * scatter:.1f}", f"{100 * share(scatter):.1f}"] for what, scatter in cases]
    return accuracy.table(["scatter of a right model", "%", "it can expect, %"], body)


def bound(title, rows, known):
    least, others = papers_rows.least_errors(rows), to_others()
    kinds = {}
    for row in rows:
        kind, error = right_error(row, known, least, others, papers_rows.scatter())
        kinds.setdefault(kind, []).append((error, papers_rows.lost(accuracy.error(row))))
    percent = lambda values: f"{100 * sum(values) / len(rows):.1f}"
    every = [pair for pairs in kinds.values() for pair in pairs]
    body = [[kind, len(pairs), percent(e for e, _ in pairs), percent(now for _, now in pairs)]
            for kind, pairs in [*kinds.items(), ("**all**", every)]]
    right = 100 - 100 * sum(e for e, _ in every) / len(rows)
    heads = ["what limits a right model", "rows", "points it must lose", "points lost today"]
    return (f"#### {title}\n\n{accuracy.table(heads, body)}\n"
            f"A right model can expect {right:.1f} %; {100 * papers_rows.TARGETS[title]:.1f} % are asked.\n\n" +
            other_scatters(rows, known, least, others, papers_rows.TARGETS[title]))


def figure(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def table_of(known):
    body = []
    for (where, device, devices, measured), (setting, source, values, error) in known.items():
        near = min(values) * 0.95 <= measured <= max(values) * 1.05
        body.append([where, f"{devices} {device}", setting, figure(measured), ", ".join(map(figure, values)),
                     f"{100 * error:.1f}", "yes" if near else "**no**", source])
    heads = ["row", "devices", "not stated", "measured", "predicted with each value", "least expected error %",
             "explains it", "values"]
    return accuracy.table(heads, body)


def page(program):
    sets = accuracy.sets_of(program)
    known = known_of(program, sets)
    parts = [bound(title, choose(sets), known) for title, choose in PARTS.items()]
    explains = "*explains it*: the measured value is within 5 % of the range that the values span."
    return "\n".join([table_of(known), explains + "\n", *parts])


if __name__ == "__main__":
    accuracy.section_main(__doc__, page)
