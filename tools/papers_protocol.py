#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""papers_protocol.py - BUILD/centimani: accuracy under the protocol of Xie et al. 2024 and of others.

The paper benchmarks operators on a machine and predicts whole steps on it; several devices are over the throughput of one.
"""
import math

import accuracy

SPEEDS = ("throughput_samples_s", "throughput_tokens_s")
SETTINGS = ("model", "device", "seq", "precision", "recompute", "attention")


def score(errors):
    return accuracy.percent(accuracy.mean(max(0.0, 1 - abs(e)) for e in errors))


def machine_known(sets):
    """Steps of the paper's networks on the H200, whose operators were benchmarked: {network: [(look-up, error)]}"""
    rows = next(one["rows"] for one in sets if one["set"] == "h200-steps")
    found = {name: [] for name in accuracy.SIX.values()}
    for row in rows:
        if row["model"] in accuracy.SIX:
            found[accuracy.SIX[row["model"]]].append((row["evidence"] == "look-up", accuracy.error(row)))
    return found


def h200_table(sets):
    found = machine_known(sets)
    every = [x for rows in found.values() for x in rows]
    line = lambda name, rows: [name, len(rows), score(e for _, e in rows), sum(look for look, _ in rows), score(e for look, e in rows if look)]
    cells = [accuracy.mean(1 - abs(e) for _, e in rows) for rows in found.values()]
    return (accuracy.table(["network", "steps", "accuracy %", "device-bound", "accuracy %"],
                           [line(n, r) for n, r in found.items()] + [line("**all**", every)]) +
            f"\nMean of the six networks: {accuracy.percent(accuracy.mean(cells))} %. The paper: 93.1 %.\n")


def other_runs_known(rows):
    """Errors if the other rows of a network on the same machine give a factor; rows without others do not change."""
    cells, errors = {}, []
    for row in rows:
        cells.setdefault((row["device"], accuracy.cell_of(row)), []).append(row)
    for cell in cells.values():
        for row in cell:
            logs = [math.log(o["measured"] / o["predicted"]) for o in cell if o is not row]
            factor = math.exp(sum(logs) / len(logs)) if logs else 1
            errors.append(row["predicted"] * factor / row["measured"] - 1)
    return errors


def over_one(sets):
    """(row, error, error of linear scaling) of several devices as in Figure 8: over the measured throughput of one
    device with the same settings."""
    raw, one_device, found = accuracy.raw_rows(sets), {}, []
    key = lambda row: (row["metric"], raw[id(row)].get("batch", 0) / row["devices"], *map(raw[id(row)].get, SETTINGS))
    for one in filter(accuracy.of_time, sets):
        for row in one["rows"]:
            if row["devices"] == 1 and row["metric"] in SPEEDS and row["predicted"] and not row["refused"]:
                one_device.setdefault(key(row), row)
    for row in accuracy.rows_of_several(sets):
        alone = one_device.get(key(row)) if row["metric"] in SPEEDS else None
        if row["metric"] == "efficiency":
            found.append((row, accuracy.error(row), 1 / row["measured"] - 1))
        elif alone:
            measured = row["measured"] / alone["measured"]
            found.append((row, row["predicted"] / alone["predicted"] / measured - 1, row["devices"] / measured - 1))
    return found


def several_table(sets):
    groups = {}
    for row, *errors in over_one(sets):
        groups.setdefault((row["device"], accuracy.short(row["model"])), []).append((row["devices"], *errors))
    both = lambda found: [score(e for _, e, _ in found), score(e for _, _, e in found)]
    body = [[device, model, ", ".join(str(n) for n, *_ in found), *both(found)]
            for (device, model), found in sorted(groups.items())]
    every = [x for found in groups.values() for x in found]
    four = [x for (device, _), found in groups.items() if device.startswith(tuple(accuracy.FOUR)) for x in found]
    body += [[f"**all {len(every)} results**", "", "", *both(every)],
             [f"**the {len(four)} of the paper's four vendors**", "", "", *both(four)]]
    return (accuracy.table(["device", "network", "devices", "accuracy %", "n devices are n times as fast, %"], body) +
            "\nThe paper: 90.4 %.\n")


def single_table(sets, program):
    rows = accuracy.rows_of_six(sets)
    by_row, in_fit = (accuracy.row_left_out(sets, program, rows, all_fitted=a) for a in (False, True))
    mean = lambda found: accuracy.percent(accuracy.mean(found[id(r)] for r in rows))
    return accuracy.table(["what is known of the machine and the network", "rows", "accuracy %"], [
        ["other networks on the machine (the headline figure)", len(rows), score(map(accuracy.error, rows))],
        ["the same, and one factor from the network's other runs on it", len(rows), score(other_runs_known(rows))],
        ["every other row, with those of the network (`by_row`)", len(rows), mean(by_row)],
        ["every row: no prediction", len(rows), mean(in_fit)]])


def is_quotient(row, rows):
    """A ratio of two values that the same section prints for the same model, to the digits that it has."""
    ratio, place = row["measured"], lambda o: (o["where"].split(",")[0], o["model"])
    known = {o["device"]: o["measured"] for o in rows if place(o) == place(row) and o["metric"] in (*SPEEDS, "lookups_s") and o["predicted"]}
    digits, own = len(f"{ratio:g}".partition(".")[2]), known.pop(row["device"], 0)
    return any(round(own / other, digits) == ratio for other in known.values())


def is_second_print(row, rows):
    """A speed-up that is printed beside the efficiency of the same run, or a ratio beside both of its values."""
    same = row["where"].replace("speedup improvement", "scaling efficiency")
    return row.get("metric") == "ratio" and is_quotient(row, rows) or same != row["where"] and any(o["where"] == same for o in rows)


def rows_by_definition(rows):
    """(what is counted, rows) for one device or for several; the six models and four vendors are those of the paper."""
    unseen = lambda some: [row for row in some if row["evidence"] in ("left out", "first sight")]
    once = lambda some: [row for row in some if not is_second_print(row, rows)]
    six = [row for row in rows if accuracy.of_paper(row)]
    return [("every counted row (the headline figure)", rows), ("of these left out or first sight", unseen(rows)),
            ("of these every run once", once(rows)), ("six models on machines of four vendors", six),
            ("of these left out or first sight", unseen(six)), ("of these every run once", once(six)),
            ("of these without RoBERTa-large, which counts as BERT-large",
             [row for row in six if not row["model"].startswith("roberta")])]


def cells_of(rows):
    cells = {}
    for row in rows:
        if accuracy.of_paper(row):
            cells.setdefault(accuracy.of_paper(row), []).append(accuracy.accuracy(row))
    return [accuracy.mean(cell) for cell in cells.values()]


def definitions_table(sets):
    one, several = accuracy.rows_of_six(sets), accuracy.rows_of_several(sets)
    figures = lambda rows: [len(rows), score(map(accuracy.error, rows))]
    body = [[what, *figures(single), *figures(more)]
            for (what, single), (_, more) in zip(rows_by_definition(one), rows_by_definition(several))]
    cells = [figure for rows in (one, several)
             for figure in (len(cells_of(rows)), accuracy.percent(accuracy.mean(cells_of(rows))))]
    over_six = [error for row, error, _ in over_one(sets) if accuracy.of_paper(row)]
    body += [["mean of the cells of model and vendor, as the paper averages", *cells],
             ["six models and four vendors over the measured throughput of one device", "", "", len(over_six),
              score(over_six)]]
    return (accuracy.table(["what is counted", "one device: rows", "accuracy %", "several: rows", "accuracy %"], body) +
            "\nThe paper states 93.1 % for one device and 90.4 % for several.\n")


def page(program):
    sets = accuracy.sets_of(program)
    return "\n".join(["### What is counted\n", definitions_table(sets), "### Operators benchmarked on the machine: H200\n", h200_table(sets),
                      "### Whole steps alone are published: the papers' machines\n", single_table(sets, program),
                      "### Several devices over the measured one\n", several_table(sets)])


if __name__ == "__main__":
    accuracy.section_main(__doc__, page)
