#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""accuracy.py - PROGRAM [LIMIT_S]: check that the errors of every validation set are within its budget. Prints TAP.

budgets.csv has a row per set: the largest mean error, the smallest accuracy, the smallest number of device pairs in the
order that their source states, and the largest median factor of batch sizes. If two sets contain the same measurement,
both must predict it. Predictions without any result of the device must exist for every machine, and 85 to 95 % of the
rows must be inside their intervals. A change that makes a set worse fails this test; a change that makes it better
should lower the budget (tools/accuracy.py --budgets). LIMIT_S: the most CPU seconds for all sets.
"""
import csv
import json
import pathlib
import re
import resource
import subprocess
import sys

BUDGETS = pathlib.Path(__file__).parent / "budgets.csv"
CALIBRATION = pathlib.Path(__file__).parent.parent.parent / "data" / "results" / "calibration-styles.json"


def faults(one, budget):
    own = one["summaries"][0]
    for key, field, sign, what in (("error_most", "mape", 1, "mean error"), ("accuracy_least", "accuracy", -1, "accuracy"),
                                   ("orders_least", "pairs_right", -1, "stated orders"), ("factor_most", "median_factor", 1, "median factor")):
        if budget[key] and (own[field] is None or sign * own[field] > sign * float(budget[key])):
            yield f"{what} {own[field]}, budget {budget[key]}"
    for row in one["rows"]:
        if (row["predicted"] is None) == (row["reason"] is None):
            yield f"{row['where']}: neither predicted nor a reason why not"
        if not row["where"]:
            yield "a row without its place in the source"


def solved_numbers(name):
    """Rows that use a number solved from a row of their source, but that are neither fitted nor siblings."""
    rows = json.loads((CALIBRATION.parent / f"{name}.json").read_text())["rows"]
    for row in rows:
        used = json.dumps(row)
        solved = '"feeding"' in used or "decode=" in used or "begin=" in used
        if solved and not {"fitted", "sibling", "reason", "not_modelled"} & set(row):
            yield f"{row['where']}: uses a number that was solved from another row, and is no sibling"


def per_device(row):
    """A row's throughput per device in samples/s, as a key; None: the row has no throughput."""
    length = re.search(r"\bs(\d+)$", row["setting"])
    if row["metric"] == "throughput_samples_s":
        return row["measured"] / row["devices"]
    return row["measured"] / row["devices"] / int(length[1]) if row["metric"] == "throughput_tokens_s" and length else None


def standings(sets):
    """Measurements that one set predicts and another set lists with neither a prediction nor a reference to the first."""
    figures = {}
    for one in sets:
        for row in one["rows"]:
            value = per_device(row)
            if value:
                figures.setdefault((row["device"], f"{value:.4g}"), []).append((one["set"], row))
    for (device, value), rows in figures.items():
        judges = {name for name, row in rows if not row["reason"]}
        for name, row in rows:
            if row["reason"] and judges - {name} and not any(row["reason"].endswith(other) for other in judges):
                yield f"{value} samples/s of {device} is predicted in {', '.join(sorted(judges))}, but not in {name}"


def devices_left_out(program):
    """Faults of predictions without the device's own results: machines without such a fit, and the share of rows inside the
    90 % interval, which must be 85 to 95 %."""
    done = subprocess.run([program, "validate", "--set", "all", "--leave-device-out", "--json"], capture_output=True, text=True, check=True)
    rows = [row for one in json.loads(done.stdout)["sets"] for row in one["rows"]]
    fitted = {row["device"] for one in [json.loads(CALIBRATION.read_text())] for row in one["rows"] if "left_out" not in row}
    yield from sorted({f"{row['device']} has results, but no fit without them" for row in rows
                       if row["device"] in fitted and "no parameters are fitted" in (row["reason"] or "")})
    known = [row for row in rows if row["predicted"] is not None and row["interval"][0] is not None]
    inside = sum(row["interval"][0] <= row["measured"] <= row["interval"][1] for row in known) / len(known)
    if not 0.85 <= inside <= 0.95:
        yield f"{inside:.1%} of {len(known)} rows are inside the 90 % interval"


def main():
    program, *limit = sys.argv[1:]
    done = subprocess.run([program, "validate", "--set", "all", "--json"], capture_output=True, text=True, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = used.ru_utime + used.ru_stime
    sets = {one["set"]: one for one in json.loads(done.stdout)["sets"]}
    budgets = {row["set"]: row for row in csv.DictReader(BUDGETS.open())}
    results = [(name, list(faults(one, budgets[name])) if name in budgets else
                [f"has no line in {BUDGETS.name}"] if one["summaries"][0]["n"] else []) for name, one in sets.items()]
    results += [(name, ["no such set"]) for name in budgets if name not in sets]
    results.append(("one figure, one standing", list(standings(sets.values()))))
    results.append(("solved numbers", [fault for name in sets for fault in solved_numbers(name)]))
    results.append(("devices left out", list(devices_left_out(program))))
    slow = limit and took > float(limit[0])
    results.append((f"all sets in {limit[0] if limit else 'any'} s", [f"took {took:.1f} s"] if slow else []))
    print(f"1..{len(results)}")
    for number, (name, wrong) in enumerate(results, 1):
        print(f"{'not ' if wrong else ''}ok {number} {name}{': ' if wrong else ''}{'; '.join(wrong)}")
    return any(wrong for _, wrong in results)


if __name__ == "__main__":
    sys.exit(main())
