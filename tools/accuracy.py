#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""accuracy.py - write docs/accuracy.md from the output of `centimani validate`.

    tools/accuracy.py BUILD/centimani docs/accuracy.md
    tools/accuracy.py --budgets BUILD/centimani tests/validation/budgets.csv   record today's errors as budgets

Text about one set is in the set (`notes` in data/results/*.json); this file has the text about all sets.
"""
import csv
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import fit_styles

HEAD = """# How far to trust it

Made by `make accuracy` from `centimani validate --set all --json`; do not edit. `centimani validate --set NAME` prints one set, `--csv`
every row, `--html` a page. Weaknesses are listed under each set and in *Weak spots*.

**A row** is one number of one source: its table and row, the model, the device, the settings of the run, and the measured value. Every row is
predicted with the commands that a user has (`predict`, `memory`, `batch`) and without special cases: settings that the source states (data set, workers, steps per
call, devices of a pipeline) are passed as options. Host parameters that only a run can reveal are derived from one row of the source, which then counts as *fitted*,
and are used for its other rows. Rows that cannot be predicted are listed with the reason.

**Judged** rows are validation rows: no parameter of any profile was fitted to them. Machines other than GPUs have few parameters, which are fitted to
published end-to-end results (docs/styles.md). If such a fit used a row's model on that family of devices, the row is predicted with a profile fitted *without
that model* (`data/results/left-out-styles.json`) and is called *left out*. Rows that no fit used are *not fitted*; their errors were known while rules were
written, so they are weaker evidence than *first sight* (README.md, docs/results/first-sight.md). Of these sets only `alcf-guides`, `alcf-runs` and
`optimum-habana` were predicted before anything followed from them. *Sibling* rows use a number
that was solved from another row of their source, *look-up* rows have their own kernel shapes in the table, *fitted* rows were fitted. These three are shown
but not counted. **A refusal** of something that ran counts as an error of 100 %.

**Error** is predicted / measured - 1 of the row's metric. **Accuracy** is 1 - |error|, at least 0, as in Xie et al. 2024 (their 93.1 % corresponds to an
average error of 6.9 %). Batch sizes differ by factors; for them the page shows the **median factor** between predicted and measured, in either direction,
and how many are within a factor of two. **In 90 %** counts measured values inside the predicted 90 % interval.
The rows of one comparison are one choice among devices: whether the best one is chosen, the throughput lost by the choice (regret), and Kendall's tau.
**Orders** are pairs of machines whose order a source states in words. False OOM: the run fitted, but the prediction says that it does not fit. Missed OOM: the
reverse.

**Baselines**, after Xie et al. 2024, section 6.1. *Roofline*: all FLOP of a step at the peak, or all its bytes at the main memory's bandwidth, whichever is
longer. *Utilisation*: the device's peak times the share of its peak that an A100 reaches on the model (measured if a set has it, predicted otherwise).
*Similarity*: the share of peak that the most similar other model reaches on the device in published results; similar in parameters, FLOP per sample
and the share of convolutions. The paper gives 28.4, 37.8 and 57.2 % for these.
"""

SIX = {"resnet50": "ResNet-50", "unet": "U-Net", "uno": "Uno", "bert-large": "BERT-large", "braggnn": "BraggNN", "gpt2-xl": "GPT-2 XL"}
FOUR = {"sambanova": "SambaNova", "graphcore": "Graphcore", "cerebras": "Cerebras", "habana": "Habana"}
TIMES = ("throughput_samples_s", "throughput_tokens_s", "step_time_s", "utilisation", "mfu")
MARGIN, LEAST = 1.10, 0.005  # margin of a budget above the current error
COLUMNS = ("set", "error_most", "accuracy_least", "orders_least", "factor_most")


def percent(part):
    if part is None or isinstance(part, float) and math.isnan(part):
        return "–"
    return f"{100 * part:.1f}" if abs(part) < 10 else f"{100 * part:.3g}"


def figure(value):
    return "–" if value is None else f"{value:.4g}"


def table(heads, rows):
    """A table with text aligned left and numbers aligned right."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "|".join("---" if i == 0 else "---:" for i in range(len(heads))) + "|"]
    return "\n".join(lines + ["| " + " | ".join(str(c).replace("|", "/") for c in row) + " |" for row in rows]) + "\n"


COUNTED = ("not fitted", "left out", "first sight")
CLASSES = (*COUNTED, "sibling", "look-up", "fitted")


def judged(row):
    return row["evidence"] in COUNTED and (row["predicted"] is not None or row["refused"])


def error(row):
    """A refusal of what ran is an error of 100 %."""
    return -1.0 if row["refused"] else row["error"]


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else None


def accuracy(row):
    return max(0.0, 1 - abs(error(row)))


def own(one):
    return one["summaries"][0]


def of_time(one):
    return one["summaries"][1]["predictor"] == "roofline"


def of_counts(one):
    """Batch sizes differ by factors, so a mean error is not useful for them."""
    return one["metric"] == "batch"


def factor(s):
    return "–" if s["median_factor"] is None else f"×{s['median_factor']:.3g}"


def short(model):
    return re.sub(r",(vocab|heads|head)=[^,]*", "", model)


def scoreboard(sets):
    rows = []
    for one in sets:
        s, r = own(one), one["rows"]
        other = sum(x["evidence"] not in COUNTED and x["predicted"] is not None for x in r)
        rows.append([f"[{one['set']}](#{one['set']})", len(r), sum(map(judged, r)) if s["headline"] else f"({s['n']})", s["refused"], other,
                     sum(x["reason"] is not None and not x["refused"] for x in r),
                     *([factor(s), f"{s['within_two']}/{s['n']} within ×2", "", "", ""] if of_counts(one) else
                       [percent(s[k]) for k in ("mape", "accuracy", "bias", "p90", "worst")]),
                     f"{s['inside']}/{s['intervals']}" if s["intervals"] else "–"])
    return "## All sets\n\nA set in whose column *judged* stands a number in brackets has no rows that may count; its figures are those of its look-ups.\n\n" + table(["set", "rows", "judged", "refused", "not counted", "not predicted", "error %", "accuracy %", "bias %", "p90 %",
                                      "worst %", "in 90 %"], rows)


def better_baselines(sets):
    """(set, baseline, rows that both predict) where the baseline is more accurate."""
    return [(one["set"], s["predictor"], s["shared"]) for one in filter(of_time, sets) for s in one["summaries"][1:]
            if s["shared"] and s["shared_accuracy"] > s["own_accuracy"]]


def beside(sets):
    rows, lost = [], better_baselines(sets)
    for one in filter(of_time, sets):
        cells = [one["set"]]
        for s in one["summaries"][1:]:
            cells.append(f"{percent(s['own_accuracy'])} : {percent(s['shared_accuracy'])}" if s["shared"] else "–")
            if (one["set"], s["predictor"], s["shared"]) in lost:
                cells[-1] = f"**{cells[-1]}**"
        rows.append(cells)
    named = ", ".join(f"{name} ({baseline}, {shared} rows)" for name, baseline, shared in lost)
    said = f"Better baselines: {named}." if lost else "No baseline is better."
    return ("## Comparison with three baselines\n\nAccuracy in per cent, Centimani : baseline, on the rows that both predict; bold where the "
            "baseline is better.\n\n" + table(["set", "roofline", "utilisation", "similarity"], rows) + "\n" + said + "\n")


def decisions(sets):
    rows = []
    for one in sets:
        s = own(one)
        if s["decisions"] or s["pairs"] or s["false_oom"] or s["missed_oom"]:
            rows.append([one["set"], s["decisions"], percent(s["top1"]), percent(s["regret"]),
                         "–" if s["tau"] is None else f"{s['tau']:.2f}", f"{s['pairs_right']}/{s['pairs']}" if s["pairs"] else "–",
                         s["false_oom"], s["missed_oom"]])
    return "## Which machine\n\n" + table(["set", "choices", "best chosen %", "regret %", "tau", "orders", "false OOM", "missed OOM"], rows)


def not_met(sets):
    """Orders stated by a source that the predictions get wrong, and the reason if it is known."""
    rows = [[one["set"], row["where"], f"{row['predicted'] or 0:.0f} of {row['measured']:.0f}", row["reason"] or row["note"] or ""]
            for one in sets for row in one["rows"] if "order" in row["metric"] and judged(row) and (row["predicted"] or 0) < row["measured"]]
    return "### Wrong orders\n\n" + table(["set", "where", "pairs right", "reason, if known"], rows)


def figure_of(row):
    """A key that is equal for rows of two sets with the same measurement, in samples/s or in tokens/s."""
    length = re.search(r"(?:\bs|seq=)(\d+)", row["setting"] + " " + row["model"])
    tokens = row["metric"] == "throughput_tokens_s" and length
    each = row["measured"] / row["devices"] / (int(length[1]) if tokens else 1)
    setting = re.sub(r" s\d+", "", row["setting"])
    return row["device"], f"{each:.5g}", setting, row["metric"].replace("tokens", "samples")


def memory(sets):
    """Rows that ran although the prediction says that they do not fit, or the reverse."""
    ran = lambda row: row["metric"] != "fits" or row["measured"] > 0
    rows = [[one["set"], row["where"], f"{row['devices']} {row['device']}", row["setting"], "it ran" if ran(row) else "out of memory",
             "does not fit" if ran(row) else "fits"]
            for one in sets for row in one["rows"] if judged(row) and row["fits"] is not None and row["fits"] != ran(row)]
    return ("### Wrong predictions of whether a run fits\n\nChecked for every judged row on one or several GPUs, for the reference of a ratio, and for rows that state it.\n\n" +
            table(["set", "where", "device", "run", "measured", "predicted"], rows))


def times(sets):
    """Judged times and throughputs; a measurement that is in two sets counts once."""
    seen = set()
    for one in filter(of_time, sets):
        for row in one["rows"]:
            key = figure_of(row)
            if judged(row) and row["metric"] in TIMES + ("device_time_s",) and key not in seen:
                seen.add(key)
                yield row


def classes(sets):
    """Rows with a figure by evidence class, over all sets of times; a measurement that is in two sets counts once."""
    groups, seen, refused = {}, set(), 0
    for one in filter(of_time, sets):
        for row in one["rows"]:
            key = figure_of(row)
            if row["unit"] in ("pairs", "") or key in seen or (row["predicted"] is None and not row["refused"]):
                continue
            seen.add(key)
            groups.setdefault(row["evidence"], []).append(row)
            refused += row["refused"]
    rows = [[name, "yes" if name in COUNTED else "no", len(r), sum(x["refused"] for x in r), percent(mean(abs(error(x)) for x in r)),
             percent(sorted(abs(error(x)) for x in r)[len(r) // 2]), percent(mean(map(accuracy, r))), *held(r)]
            for name in CLASSES if (r := groups.get(name))]
    every = [x for name in COUNTED for x in groups.get(name, [])]
    rows.append(["**counted**", "", len(every), sum(x["refused"] for x in every), percent(mean(map(abs, map(error, every)))),
                 percent(sorted(abs(error(x)) for x in every)[len(every) // 2]), percent(mean(map(accuracy, every))), *held(every)])
    return ("## By evidence class\n\nTimes, throughputs, ratios and efficiencies of all sets together, each measurement once.\n\n" +
            table(["evidence", "counted", "rows", "refused", "error %", "median %", "accuracy %", "in 90 %", "share %"], rows))


def held(rows):
    known = [row for row in rows if row["interval"][0] is not None]
    return [f"{sum(map(inside, known))}/{len(known)}" if known else "–", percent(mean(map(inside, known)))]


def by_device(sets):
    pools = {}
    for row in times(sets):
        pools.setdefault(row["device"], []).append(row)
    rows = [[device, len(r), percent(mean(abs(error(x)) for x in r)), percent(mean(map(accuracy, r))), percent(mean(error(x) for x in r)),
             sum(inside(x) for x in r if x["interval"][0] is not None), sum(x["interval"][0] is not None for x in r)]
            for device, r in sorted(pools.items())]
    return "## By device\n\nTimes and throughputs of all sets together.\n\n" + table(
        ["device", "rows", "error %", "accuracy %", "bias %", "in interval", "of"], rows)


def inside(row):
    return row["interval"][0] is not None and row["interval"][0] <= row["measured"] <= row["interval"][1]


def raw_rows(sets):
    """Map every row of the program's answer to its row in data/results."""
    raw = {}
    for one in sets:
        rows = json.loads((fit_styles.ROOT / f"data/results/{one['set']}.json").read_text())["rows"]
        raw |= {id(answer): row for answer, row in zip(one["rows"], rows, strict=True)}
    return raw


def numbers_in(execution):
    """Flatten the parameters of `execution` to one number per key, as in fit_styles.py."""
    flat = {k: n["value"] for k, n in execution["efficiency"].items()}
    return flat | {k: n["value"] for k, n in execution.items() if "value" in n}


def row_left_out(sets, program, rows, all_fitted=False):
    """Accuracy of each row if only that row, not its whole model, is left out of the fit; all_fitted: if none is."""
    left_out, raw, found = json.loads(fit_styles.LEFT_OUT.read_text()), raw_rows(sets), {}
    fitted_on = [] if all_fitted else json.loads(fit_styles.ROWS.read_text())["rows"]
    by_row = {name: p for family in left_out["by_row"].values() for name, p in family.items()}
    with tempfile.TemporaryDirectory() as folder:
        bench = fit_styles.Bench(program, folder)
        for row in rows:
            found[id(row)] = accuracy(row)
            if row["evidence"] != "left out" or row["refused"]:
                continue
            run = raw[id(row)]
            family = next(f for f in left_out["families"].values() if row["device"] in f["devices"])
            without_model = numbers_in(family["without"][run.get("group", run["model"])])
            without_row = by_row[fit_styles.row_name(run)] if run in fitted_on else None  # the profile was not fitted to other rows
            faster = bench.predicted(run, without_row) / bench.predicted(run, without_model)
            found[id(row)] = max(0.0, 1 - abs(row["predicted"] * faster / row["measured"] - 1))
    return found


def of_paper(row):
    """The model and vendor of a row, if both are of the paper."""
    family = next((n for k, n in FOUR.items() if row["device"].startswith(k)), None)
    name = SIX.get(row["model"]) or ("GPT-2 XL" if "layers=48,hidden=1600" in row["model"] else
                                     "BERT-large" if re.search("bert.*layers=24,hidden=1024,heads=16", row["model"]) else None)
    return (name, family) if family and name else None


def cell_of(row):
    return of_paper(row) if row["devices"] == 1 else None


def rows_of_six(sets):
    return [row for row in times(sets) if cell_of(row)]


def six_models(sets, program):
    """Comparison with the accuracy that the paper claims."""
    pool = {}
    for row in rows_of_six(sets):
        pool.setdefault(cell_of(row), []).append(row)
    heads = ["model", *FOUR.values()]
    every = [row for rows_ in pool.values() for row in rows_]
    known = row_left_out(sets, program, every)
    cell = lambda of, r: f"{percent(mean(map(of, r)))} ({len(r)})" if r else "–"
    body = lambda of: [[name, *(cell(of, pool.get((name, f))) for f in FOUR.values())] for name in SIX.values()]
    means = lambda of: (f"{percent(mean(map(of, every)))} % over {len(every)} rows, {percent(mean(mean(map(of, r)) for r in pool.values()))} % "
                        f"over the {len(pool)} cells")
    of_row = lambda row: known[id(row)]
    fitted = row_left_out(sets, program, every, all_fitted=True)
    of_fit = lambda row: fitted[id(row)]
    return ("## The six models and four vendors of Xie et al. 2024\n\nThe paper's 93.1 % is over 24 measured throughputs that it plots but does "
            "not print, so nobody else can reproduce it. These are the judged rows of the same models and vendors (SN10 and SN30, GC200 and Bow, CS-2, "
            "Gaudi 1 and 2) on one device in all sets: accuracy in per cent, and the number of rows.\n\n"
            "**A new model on a known family**: the device's parameters were fitted without any row of that model. This holds for all "
            "other numbers of this page.\n\n" + table(heads, body(accuracy)) + f"\n{means(accuracy)}. **{versus_paper(mean(map(accuracy, every)))}** "
            "The authors measured their parameters operator by operator on the machines themselves, for these models.\n\n"
            "**Another batch size or length of a known model**: the same rows, predicted with parameters fitted without only that row, while other "
            "rows of the model remain if there are any (`by_row` in `data/results/left-out-styles.json`). This is easier, and closer to the paper's "
            "method.\n\n" + table(heads, body(of_row)) + f"\n{means(of_row)}. **{versus_paper(mean(map(of_row, every)))}**\n\n"
            f"**Every row in the fit**: {means(of_fit)}. This is no prediction: it shows how well the execution models can describe "
            "results that they were fitted to. [papers.md](papers.md) lists where sources contradict each other.\n")


def versus_paper(share):
    return ("At" if share >= 0.931 else "Below") + " the paper's 93.1 %."


def rows_of_several(sets):
    """Judged rows of more than one device; a measurement that is in two sets counts once."""
    rows = [row for one in filter(of_time, sets) for row in one["rows"] if row["devices"] > 1 and judged(row) and error(row) is not None]
    return list({(row["devices"], *figure_of(row)): row for row in rows}.values())


def several(sets):
    """Rows with more than one device: throughputs and scaling efficiencies."""
    rows = rows_of_several(sets)
    waiting = sum(row["devices"] > 1 and row["reason"] is not None and not row["refused"] for one in filter(of_time, sets) for row in one["rows"])
    text = f"## Several devices\n\n{waiting} rows of several devices have no prediction (*Not predicted*). "
    if not rows:
        return text + "None has one yet.\n"
    groups = {}
    for row in rows:
        groups.setdefault(row["metric"], []).append(row)
    table_rows = [[metric, len(r), sum(x["refused"] for x in r), percent(mean(abs(error(x)) for x in r)), percent(mean(map(accuracy, r))),
                   percent(mean(error(x) for x in r))] for metric, r in groups.items()]
    every, six = percent(mean(map(accuracy, rows))), [row for row in rows if of_paper(row)]
    return (text + f"The others: {every} % accuracy over {len(rows)} rows (the paper: 90.4 % over nine or twelve speed-ups of U-Net that it plots: the text says four accelerators, the caption three). "
            f"The six models on machines of the four vendors, as counted above for one device: {percent(mean(map(accuracy, six)))} % over {len(six)} rows. "
            "Over the measured throughput of one device, as the paper has it, and by other definitions: docs/papers.md.\n\n" +
            table(["metric", "rows", "refused", "error %", "accuracy %", "bias %"], table_rows))


def weak(sets):
    rows = [(abs(error(row)), one["set"], row) for one in filter(of_time, sets) for row in one["rows"]
            if judged(row) and error(row) is not None and row["unit"] not in ("pairs", "")]
    rows.sort(key=lambda item: -item[0])
    return "## Weak spots\n\nThe thirty rows with the largest errors.\n\n" + table(
        ["set", "where", "model", "device", "measured", "predicted", "error %"],
        [[name, row["where"], short(row["model"]), row["device"], f"{figure(row['measured'])} {row['unit']}", "refused" if row["refused"] else figure(row["predicted"]),
          percent(error(row))] for _, name, row in rows[:30]])


def reasons(sets):
    counts = {}
    for one in sets:
        for row in one["rows"]:
            if row["reason"]:
                counts.setdefault(row["reason"], []).append(one["set"])
    rows = [[reason, len(names), ", ".join(sorted(set(names)))] for reason, names in sorted(counts.items(), key=lambda i: -len(i[1]))]
    return "## Not predicted\n\nRefusals of runs that a source describes, and runs that no source describes well enough.\n\n" + table(["reason", "rows", "sets"], rows) + excluded()


def excluded():
    """Rows that a fit excluded only after their error was known."""
    rows = [row for row in json.loads(fit_styles.ROWS.read_text())["rows"] if "excluded_after" in row]
    return ("\n### Excluded after their error was known\n\nThese rows are in no fit. They were excluded only after somebody had seen how far off they were.\n\n" +
            table(["model", "device", "reason", "what was known"], [[short(row["model"]), row["device"], row["left_out"], row["excluded_after"]] for row in rows]))


def off(row, counts):
    """Errors of each predictor in per cent, or factors for batch sizes."""
    if counts:
        return [figure(value and value / row["measured"]) for value in (row["predicted"], *row["baselines"].values())]
    says_none = row["error"] is None and row["unit"] in ("pairs", "")
    return [percent(row["error"])] + [percent(None if value is None or says_none else value / row["measured"] - 1)
                                      for value in row["baselines"].values()]


def one_set(one):
    names = [s["predictor"] for s in one["summaries"]]
    text = f"### {one['set']}\n\n{one['title']}. Source: {one['source']}.\n\n"
    counts = of_counts(one)
    if counts:
        text += table(["predictor", "rows", "equal", "within ×2", "median factor", "error %"],
                      [[s["predictor"], s["n"], s["equal"], s["within_two"], factor(s), percent(s["mape"])] for s in one["summaries"]]) + "\n"
    else:
        text += table(["predictor", "rows", "error %", "accuracy %", "bias %", "p90 %", "worst %"],
                      [[s["predictor"], s["n"], *(percent(s[k]) for k in ("mape", "accuracy", "bias", "p90", "worst"))]
                       for s in one["summaries"]]) + "\n"
    text += "".join(f"- {note}\n" for note in one["notes"]) + ("\n" if one["notes"] else "")
    rows = []
    for row in one["rows"]:
        seen = row["evidence"] + (", refused" if row["refused"] else "") + (", in" if inside(row) else ", out" if row["interval"][0] is not None else "")
        rows.append([row["where"], short(row["model"]), f"{row['devices']} {row['device']}" if row["devices"] > 1 else row["device"],
                     row["setting"], f"{figure(row['measured'])} {row['unit']}", figure(row["predicted"]), *off(row, counts), seen,
                     row["reason"] or ""])
    body = table(["where", "model", "device", "run", "measured", "predicted", *(f"{n} {'/ measured' if counts else '%'}" for n in names), "evidence", "why not"], rows)
    return text + f"<details><summary>{len(rows)} rows</summary>\n\n{body}\n</details>\n"


def left_out(program):
    """Devices predicted without any result of their own, beside the usual prediction of the same rows."""
    answers = []
    for words in (["--leave-device-out"], []):
        done = subprocess.run([program, "validate", "--set", "all", "--json", *words], capture_output=True, text=True, check=True)
        answers.append([row for one in json.loads(done.stdout)["sets"] if of_time(one) for row in one["rows"]])
    by_device = {}
    for without, usual in zip(*answers):
        if without["predicted"] is not None and usual["predicted"] is not None and without["error"] is not None:
            by_device.setdefault(without["device"], []).append((without, usual))
    way, rows, by_way = ways(), [], {}
    for device, pairs in sorted(by_device.items()):
        name = way.get(device, "kernels of another GPU" if device.split("-")[0] in ("nvidia", "amd") else "its own benchmarks")
        by_way.setdefault(name, []).extend(pairs)
        rows.append([device, name, *first_sight(pairs)])
    heads = ["rows", "error %, left out", "median %", "bias %", "in 90 %", "interval, median", "error %, with its results"]
    return ("## Each device left out\n\n`centimani validate --leave-device-out`: every device predicted as if it had no results of its own. GPUs have no "
            "corrections, fitted operator models and surfaces. Machines other than GPUs take their parameters from other devices of their maker, "
            "from other makers' devices of the same execution model, or from first guesses, and their interval from the errors that the "
            "same way makes on other devices (`tools/fit_left_out.py`). The interval column is the median factor from the prediction to either end. "
            "The last column is the error of the usual prediction on the same rows. 400 end-to-end rows of other devices and sources that are in no "
            "set are in [results/transfer.md](results/transfer.md#public-rows-with-their-device-left-out).\n\n"
            + table(["device", "predicted from", *heads], rows) + "\n"
            + table(["predicted from", *heads], [[name, *first_sight(pairs)] for name, pairs in sorted(by_way.items())]))


def ways():
    """Where a device takes its parameters from without its own results: {device: words}."""
    families = json.loads(fit_styles.LEFT_OUT.read_text())["families"].values()
    return {device: block["error"]["note"].split(";")[0].removeprefix("from ")
            for family in families for device, block in family.get("without_device", {}).items()}


def first_sight(pairs):
    """Errors and intervals of predictions without the device's results, then the usual error."""
    errors = [abs(w["error"]) for w, _ in pairs]
    known = [w for w, _ in pairs if w["interval"][0] is not None and w["interval"][0] > 0]
    held = sum(w["interval"][0] <= w["measured"] <= w["interval"][1] for w in known)
    widths = sorted(math.sqrt(w["interval"][1] / w["interval"][0]) for w in known)
    return [len(pairs), percent(mean(errors)), percent(sorted(errors)[len(errors) // 2]), percent(mean(w["error"] for w, _ in pairs)),
            f"{held}/{len(known)}" if known else "–", f"×{widths[len(widths) // 2]:.2f}" if widths else "–",
            percent(mean(abs(u["error"]) for _, u in pairs))]


def page(sets, program):
    parts = [HEAD, classes(sets), left_out(program), scoreboard(sets), beside(sets), decisions(sets), not_met(sets), memory(sets), six_models(sets, program), several(sets), by_device(sets), weak(sets), reasons(sets),
             "## Every set\n", *map(one_set, sets)]
    return "\n".join(parts)


def write_budgets(sets, path):
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        for one in sets:
            s = own(one)
            if of_counts(one):
                out.writerow([one["set"], "", "", "", f"{s['median_factor'] * MARGIN:.4g}"])
            elif s["n"] or s["pairs"]:
                most = "" if s["mape"] is None else f"{s['mape'] * MARGIN + LEAST:.4g}"
                least = "" if s["accuracy"] is None else f"{max(0, 1 - (1 - s['accuracy']) * MARGIN - LEAST):.4g}"
                out.writerow([one["set"], most, least, s["pairs_right"] if s["pairs"] else "", ""])


def sets_of(program):
    """All sets as `centimani validate` answers them."""
    done = subprocess.run([program, "validate", "--set", "all", "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["sets"]


def section_main(usage, section, begin, end):
    """The main function of a tool that prints `section(program)`, or writes it between two markers of a page."""
    if len(sys.argv) not in (2, 3):
        sys.exit(usage)
    text = section(sys.argv[1])
    if len(sys.argv) == 2:
        print(text)
        return
    path = pathlib.Path(sys.argv[2])
    before, rest = path.read_text(encoding="utf-8").split(begin)
    path.write_text(f"{before}{begin}\n\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")


def main():
    words = [w for w in sys.argv[1:] if w != "--budgets"]
    if len(words) != 2:
        sys.exit(__doc__)
    sets = sets_of(words[0])
    if "--budgets" in sys.argv:
        write_budgets(sets, words[1])
    else:
        with open(words[1], "w", encoding="utf-8") as file:
            file.write(page(sets, words[0]))


if __name__ == "__main__":
    main()
