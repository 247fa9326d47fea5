#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""accuracy.py - write docs/accuracy.md from the output of `centimani validate`.

    tools/accuracy.py BUILD/centimani docs/accuracy.md
    tools/accuracy.py --budgets BUILD/centimani tests/validation/budgets.csv   record today's errors as budgets

Text about one set is in the set (`notes` in data/results/*.json); this file has the text about all sets.
"""
import collections
import csv
import json
import math
import re
import subprocess
import sys
import tempfile

import fit_styles

HEAD = """# How far to trust it

Made by `make accuracy` from `centimani validate --set all --json`; do not edit. `centimani validate --set NAME` prints every row of a set,
its notes and why some rows have no prediction; `--csv` and `--html` print the same as a table and as a page.

**A row** is one number of one source. Every row is predicted with the commands that a user has: settings that the source states are options.
Host parameters that only a run can reveal come from one row of the source, which then counts as *fitted*.

**Evidence.** No parameter was fitted to *judged* rows. They are

- *first sight*: predicted before anything followed from them ([evidence](../evidence/README.md) has more of these);
- *left out*: predicted with a profile fitted without the row's model (docs/dev/execution-models.md);
- *not fitted*: no fit used them, but their errors were known while rules were written, which is weaker evidence.

Not counted are *sibling* rows, which use a number that was solved from another row of their source, *look-up* rows, whose kernel shapes are in
the table, and *fitted* rows. **A refusal** of something that ran is an error of 100 %.

**Error** is predicted / measured - 1. **Accuracy** is 1 - |error|, at least 0, as in Xie et al. 2024. Batch sizes differ by factors; for them the
page has the median factor between predicted and measured. **In 90 %** counts measured values inside the predicted 90 % interval. *Orders* are
pairs of machines whose order a source states in words; *regret* is the throughput lost by choosing the machine that was predicted best.
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


def median_error(rows):
    errors = sorted(abs(error(x)) for x in rows if error(x) is not None and x["unit"] not in ("pairs", ""))
    return errors[len(errors) // 2] if errors else None


def evidence(rows):
    """Rows of each evidence class that have a prediction."""
    counts = collections.Counter(row["evidence"] for row in rows if row["predicted"] is not None or row["refused"])
    return ", ".join(f"{counts[name]} {name}" for name in CLASSES if counts[name])


def scoreboard(sets):
    rows = []
    for one in sets:
        s, r = own(one), one["rows"]
        rows.append([f'<a id="{one["set"]}"></a>{one["set"]}', len(r), sum(map(judged, r)) if s["headline"] else f"({s['n']})",
                     *([factor(s), "", ""] if of_counts(one) else
                       [percent(s["mape"]), percent(median_error(list(filter(judged, r)) or r)), percent(s["worst"])]),
                     f"{s['inside']}/{s['intervals']}" if s["intervals"] else "–", evidence(r)])
    return ("## All sets\n\nNumbers in brackets: the set has no rows that may count, and its figures are those of its look-ups.\n\n" +
            table(["set", "rows", "judged", "error %", "median %", "worst %", "in 90 %", "evidence"], rows))


def better_baselines(sets):
    """(set, baseline, rows that both predict) where the baseline is more accurate."""
    return [(one["set"], s["predictor"], s["shared"]) for one in filter(of_time, sets) for s in one["summaries"][1:]
            if s["shared"] and s["shared_accuracy"] > s["own_accuracy"]]


def baselines(sets):
    lost = better_baselines(sets)
    named = ", ".join(f"{name} ({baseline}, {shared} rows)" for name, baseline, shared in lost)
    means = [f"{word} {percent(mean(own_))} : {percent(mean(other))}" for word, own_, other in
             ((names[0]["predictor"], [x["own_accuracy"] for x in names], [x["shared_accuracy"] for x in names])
              for names in zip(*([s for s in one["summaries"][1:]] for one in filter(of_time, sets)))
              for names in [[x for x in names if x["shared"]]])]
    return ("## Comparison with three baselines\n\nAfter Xie et al. 2024, section 6.1: *roofline* (all FLOP at the peak, or all bytes at the bandwidth), "
            "*utilisation* (the share of its peak that an A100 reaches), *similarity* (the share of peak that the most similar other model reaches on the "
            "device). Mean accuracy over the sets in per cent, Centimani : baseline, on the rows that both predict: " + "; ".join(means) + ". "
            + (f"Better baselines: {named}.\n" if lost else "No baseline is better on any set.\n"))


def decisions(sets):
    rows = []
    for one in sets:
        s = own(one)
        if s["decisions"] or s["pairs"] or s["false_oom"] or s["missed_oom"]:
            rows.append([one["set"], s["decisions"], percent(s["top1"]), percent(s["regret"]),
                         "–" if s["tau"] is None else f"{s['tau']:.2f}", f"{s['pairs_right']}/{s['pairs']}" if s["pairs"] else "–",
                         s["false_oom"], s["missed_oom"]])
    return "## Which machine\n\n" + table(["set", "choices", "best chosen %", "regret %", "tau", "orders", "false OOM", "missed OOM"], rows)


def figure_of(row):
    """A key that is equal for rows of two sets with the same measurement, in samples/s or in tokens/s."""
    length = re.search(r"(?:\bs|seq=)(\d+)", row["setting"] + " " + row["model"])
    tokens = row["metric"] == "throughput_tokens_s" and length
    each = row["measured"] / row["devices"] / (int(length[1]) if tokens else 1)
    setting = re.sub(r" s\d+", "", row["setting"])
    return row["device"], f"{each:.5g}", setting, row["metric"].replace("tokens", "samples")


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


def six_models(sets):
    """The figure without ratios, which was the headline before the strict one."""
    pool = {}
    for row in rows_of_six(sets):
        pool.setdefault(cell_of(row), []).append(accuracy(row))
    return ("## Throughputs alone\n\nWithout ratios, the judged throughputs and utilisations of the six models and four vendors on one device: "
            f"{percent(mean(x for r in pool.values() for x in r))} % over {sum(map(len, pool.values()))} rows, {percent(mean(map(mean, pool.values())))} % over "
            f"{len(pool)} cells (`tools/papers_protocol.py`). The paper's 93.1 % is over 24 throughputs that it plots but does not print.\n")


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
    return (text + f"The others: {every} % accuracy over {len(rows)} rows (the paper: 90.4 % over speed-ups of U-Net that it plots). "
            f"The six models on machines of the four vendors: {percent(mean(map(accuracy, six)))} % over {len(six)} rows. By other definitions: "
            "docs/dev/papers.md.\n\n" +
            table(["metric", "rows", "refused", "error %", "accuracy %", "bias %"], table_rows))


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
    way, by_way, counts = ways(), {}, collections.Counter()
    for device, pairs in sorted(by_device.items()):
        name = way.get(device, "kernels of another GPU" if device.split("-")[0] in ("nvidia", "amd") else "its own benchmarks")
        by_way.setdefault(name, []).extend(pairs)
        counts[name] += 1
    heads = ["rows", "error %, left out", "median %", "bias %", "in 90 %", "interval, median", "error %, with its results"]
    return ("## Each device left out\n\n`centimani validate --leave-device-out` prints every device predicted as if it had no results of its own. GPUs have no "
            "corrections, fitted operator models and surfaces. Other machines take their parameters from the words in the first column, and their interval "
            "from the errors that the same way makes on other devices (`tools/fit_left_out.py`). 400 public rows that are in no set are in "
            "[results/transfer.md](results/transfer.md).\n\n"
            + table(["predicted from", "devices", *heads], [[name, counts[name], *first_sight(pairs)] for name, pairs in sorted(by_way.items())]))


def ways():
    """The source of a device's parameters without its own results: {device: words}."""
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


def weak(sets):
    rows = [(abs(error(row)), one["set"], row) for one in filter(of_time, sets) for row in one["rows"]
            if judged(row) and error(row) is not None and row["unit"] not in ("pairs", "")]
    rows.sort(key=lambda item: -item[0])
    return "## Worst rows\n\n" + table(
        ["set", "model", "device", "measured", "predicted", "error %"],
        [[name, short(row["model"]), row["device"], f"{figure(row['measured'])} {row['unit']}", "refused" if row["refused"] else figure(row["predicted"]),
          percent(error(row))] for _, name, row in rows[:15]])


def not_predicted(sets):
    missing = sum(row["reason"] is not None and not row["refused"] for one in sets for row in one["rows"])
    excluded = sum("excluded_after" in row for row in json.loads(fit_styles.ROWS.read_text())["rows"])
    return (f"## Not predicted\n\n{missing} rows: runs that no source describes well enough, and runs that the program does not model. `centimani validate "
            f"--set NAME` prints the reasons. {excluded} rows of `data/results/calibration-styles.json` were excluded from every fit only after somebody "
            "had seen how far off they were (`excluded_after`).\n")


def page(sets, program):
    import papers_strict  # which imports this file
    parts = [HEAD, papers_strict.section(program, sets), classes(sets), scoreboard(sets), left_out(program), baselines(sets), decisions(sets),
             six_models(sets), several(sets), weak(sets), not_predicted(sets)]
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


def section_main(usage, section):
    """The main function of a tool that prints `section(program)`."""
    if len(sys.argv) != 2:
        sys.exit(usage)
    print(section(sys.argv[1]))


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
