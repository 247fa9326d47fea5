#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""papers_strict.py - BUILD/centimani: the accuracy on the five papers' machines as a sceptic would count it.

Counted is every published time, throughput, ratio, efficiency and latency of the five papers, on one device and on
several, once each: a speed-up beside the efficiency of its run, or a ratio beside both of its values, is no second value. A refusal is 0 %.
A row for which the source omits a setting (data/papers/unstated.tsv) counts with the published value that predicts it
worst. Rows from which a number was solved (`fitted`) do not count, those that use such a number (`sibling`) do. The
figure is the mean of the cells of model and vendor; other sets add the rows of the same models and vendors.
"""
import accuracy
import papers_protocol
import papers_unstated

PAPERS = {"centimani-": "Xie et al. 2024", "emani2022-": "Emani et al. 2022", "alcf2023": "Emani 2023",
          "nasari2022": "Nasari et al. 2022", "emani2024": "Emani et al. 2024"}
KINDS = (*accuracy.COUNTED, "sibling")
NO_VALUES = ("pairs", "")
ASKED = {"One device": 93.1, "Several devices": 90.4}


def paper_of(name):
    return next((paper for prefix, paper in PAPERS.items() if name.startswith(prefix)), None)


def is_value(row):
    return row["unit"] not in NO_VALUES and row["metric"] not in ("batch", "fits", "peak_bytes", "share")


def counts(row):
    return row["evidence"] in KINDS and is_value(row) and accuracy.error(row) is not None


def worst_readings(program, sets):
    """{row: its accuracy with the published setting that predicts it worst}"""
    known = papers_unstated.known_of(program, sets)
    return {key: min(max(0.0, 1 - abs(value / key[3] - 1)) for value in values) for key, (_, _, values, _) in known.items()}


def rows_of(program, sets):
    """(paper or None, row, accuracy) of every row that counts; a measurement that is in two sets counts once."""
    worst, seen, found = worst_readings(program, sets), set(), []
    for one in sorted(sets, key=lambda one: paper_of(one["set"]) is None):
        for row in filter(counts, one["rows"]):
            key = accuracy.figure_of(row) + (row["devices"], row["where"] if row["metric"] == "ratio" else "")
            if key not in seen and not papers_protocol.is_second_print(row, one["rows"]):
                seen.add(key)
                found.append((paper_of(one["set"]), row, worst.get(papers_unstated.key_of(row), accuracy.accuracy(row))))
    return found


def cells_of(rows):
    cells = {}
    for _, row, score in rows:
        if accuracy.of_paper(row):
            cells.setdefault(accuracy.of_paper(row), []).append(score)
    return cells


def cells_table(title, rows):
    cells = cells_of(rows)
    every = [score for scores in cells.values() for score in scores]
    cell = lambda scores: f"{accuracy.percent(accuracy.mean(scores))} ({len(scores)})" if scores else "–"
    body = [[name, *(cell(cells.get((name, vendor))) for vendor in accuracy.FOUR.values())] for name in accuracy.SIX.values()]
    mean = accuracy.percent(accuracy.mean(map(accuracy.mean, cells.values())))
    return (f"**{title}: {mean} % over {len(cells)} cells**, {accuracy.percent(accuracy.mean(every))} % over {len(every)} rows "
            f"(the paper: {ASKED[title]} %).\n\n" + accuracy.table(["model", *accuracy.FOUR.values()], body))


def papers_table(sets, rows):
    body = []
    for paper in PAPERS.values():
        own = [(row, score) for name, row, score in rows if name == paper]
        unasked = sum(is_value(row) and row["predicted"] is None and not row["refused"]
                      for one in sets if paper_of(one["set"]) == paper for row in one["rows"])
        known = [row for row, _ in own if row["interval"][0] is not None]
        body.append([paper, len(own), sum(row["refused"] for row, _ in own), accuracy.percent(accuracy.mean(s for _, s in own)),
                     *accuracy.held(known), unasked])
    return accuracy.table(["paper", "rows", "refused", "accuracy %", "in 90 %", "share %", "not asked"], body)


def section(program, sets):
    """The first section of docs/accuracy.md."""
    rows = rows_of(program, sets)
    one, several = ([x for x in rows if (x[1]["devices"] > 1) == more] for more in (False, True))
    return ("## The strict figure\n\nEvery published time, throughput, ratio, efficiency and latency of the five papers counts once, a refusal as 0 %. "
            "Where a source omits a setting, the published value that predicts the row worst counts (`tools/papers_strict.py`). Accuracy in "
            "per cent, with the number of rows:\n\n" + cells_table("One device", one) + "\n" + cells_table("Several devices", several) +
            "\nBy paper, all models; *not asked*: values of runs that the source does not describe well enough.\n\n" + papers_table(sets, rows) +
            "\nAll these values were known while rules were written. [papers.md](dev/papers.md) names the rows that decided how a source is read.\n")


if __name__ == "__main__":
    accuracy.section_main(__doc__, lambda program: section(program, accuracy.sets_of(program)))
