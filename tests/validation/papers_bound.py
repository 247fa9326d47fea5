#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""papers_bound.py PROGRAM: least errors of rows that contradict each other (tools/papers_rows.py), and of rows whose
settings are not stated (tools/papers_unstated.py), against sums by hand; what counts as a second print
(tools/papers_protocol.py); no baseline is better on a set of four rows or more.

Prints TAP. A row of data/papers/contradictions.tsv that is no longer judged, or has another value, fails, too.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import papers_protocol
import papers_rows
import papers_strict
import papers_unstated

NO_LIMIT = float("inf")
# values and factors, what p cannot exceed, the least sum of errors
BY_HAND = [
    ("one run printed as 100 and 80: p at 80 is 20 % off, at 100 25 %", [(100, 1), (80, 1)], NO_LIMIT, 0.20),
    ("three rows, two of them equal: p stays with the two", [(10, 1), (10, 1), (20, 1)], NO_LIMIT, 0.50),
    ("50, and 150 with twice the clock: p at 50 is 100 of 150", [(50, 1), (150, 2)], NO_LIMIT, 1 / 3),
    ("130 where no more than 91 can be reached", [(130, 1)], 91, 0.30),
    ("rows that agree by their factors", [(50, 1), (100, 2)], NO_LIMIT, 0.0)]


# equally likely values, the least expected error of one number for all
EXPECTED = [
    ("100 or 80: 80 is 20 % off in half of the cases, 100 25 %", [100, 80], 0.10),
    ("one value", [7], 0.0),
    ("1 or 10: 1 is 90 % off, 10 counts as 100 %", [1, 10], 0.45),
    ("10, 10 or 20: 10 is 50 % off in a third of the cases", [10, 10, 20], 0.5 / 3)]


def sums():
    for what, values, expected in EXPECTED:
        found = papers_unstated.expected(values)
        yield abs(found - expected) < 1e-12, f"{what}: {found:.4f}"
    for what, values, most, expected in BY_HAND:
        found = sum(papers_rows.least_of(values, most))
        yield abs(found - expected) < 1e-12, f"{what}: {found:.4f}"


def prints():
    """A speed-up counts once if the efficiency of its run is printed, too; the scatter at which a target is missed."""
    rows = [{"where": f"Table II, {one}"} for one in ("A, scaling efficiency", "A, speedup improvement", "B, speedup improvement")]
    found = [papers_protocol.is_second_print(row, rows) for row in rows]
    yield found == [False, True, False], f"printed a second time: {found}"
    scatter = papers_unstated.out_of_reach(lambda s: 0.98 - s / 2, 0.93)
    yield abs(scatter - 0.1) < 1e-9, f"half of the rows scatter, 98 % without: 93 % is out of reach at {scatter:.4f}"
    kinds = {line[2] for line in papers_rows.lines_of(papers_rows.REPEATS)}
    yield kinds <= {"framework", "release", "run", "laboratory"}, f"kinds of repeated runs: {sorted(kinds)}"


def judged(sets):
    """All rows of the groups are found among the judged ones."""
    rows = [papers_rows.accuracy.rows_of_six(sets), papers_rows.accuracy.rows_of_several(sets)]
    met = sum(len(papers_rows.least_errors(r)) for r in rows)
    lines = sum(line[2] != "0" for line in papers_rows.lines_of(papers_rows.CONTRADICTIONS))
    yield met == lines, f"{met} of {lines} contradicting rows are judged"
    known = papers_unstated.known_of(sys.argv[1], sets)
    unstated = {papers_unstated.key_of(row) for one in sets for row in one["rows"] if papers_strict.counts(row)} & set(known)
    yield len(unstated) == len(known), f"{len(unstated)} of {len(known)} rows with a setting that is not stated are judged"


def baselines(sets):
    """On a set with four rows or more, no baseline is better."""
    better = [f"{name} ({baseline})" for name, baseline, rows in papers_rows.accuracy.better_baselines(sets)
              if rows >= 4]
    yield not better, f"better baselines on sets with four rows or more: {', '.join(better) or 'none'}"


def main():
    sets = papers_rows.accuracy.sets_of(sys.argv[1])
    results = [*sums(), *prints(), *judged(sets), *baselines(sets)]
    print(f"1..{len(results)}")
    for number, (good, what) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {what}")
    return 0 if all(good for good, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
