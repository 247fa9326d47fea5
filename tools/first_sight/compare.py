#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py PREDICTED.tsv MEASURED... [--rows] [--again PROGRAM FOLDER]

Predictions beside measurements of the same steps: kernel time, step time, peak memory, and how many steps lie in the
interval, apart for steps that the host and that the device bounds. MEASURED are files of measure.py, or tables that
`--table` wrote from them. `--again` asks PROGRAM anew, with the captures in FOLDER, in place of the predicted column.
"""
import argparse
import csv
import json
import statistics
import sys

import predict

KEYS = ["case", "precision", "layout", "batch", "optimizer"]
MEASURED = ["busy_s", "union_s", "step_s", "peak_allocated", "peak_reserved", "kernels"]


def table(path):
    with open(path) as lines:
        return list(csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t"))


def measured_in(path):
    if path.endswith(".tsv"):
        return [{**r, **{k: float(r[k]) for k in MEASURED}} for r in table(path)]
    return [r for r in map(json.loads, open(path)) if "error" not in r]


def key(row):
    return row["case"], row["precision"], row["layout"], int(row["batch"])


def joined(args):
    measured = {key(r): r for path in args.measured for r in measured_in(path)}
    for p in table(args.predicted):
        m = measured.get(key(p))
        if not m:
            continue
        if args.again:
            program, folder = args.again
            answer = predict.asked(program, predict.file_of(folder, p["case"]), "nvidia-h200", p["batch"], p["precision"],
                                   p["layout"], p["optimizer"])
            if answer is None:
                print("no prediction:", p["case"])
                continue
            p.update(device_s=answer["device_time_s"], step_s=answer["step_time_s"], low_s=answer["interval_s"][0],
                     high_s=answer["interval_s"][1], peak_bytes=answer["peak_bytes"], host_s=answer["host_time_s"])
        yield p, m


def judged(p, m):
    """Errors and where the step lies; the host bounds a step whose kernels take less than 0.8 of it."""
    step = m["step_s"]
    return {"case": p["case"], "what": f"{p['precision']} {p['layout']} {p['batch']}", "device": float(p["device_s"]) / m["union_s"] - 1,
            "step": float(p["step_s"]) / step - 1, "memory": float(p["peak_bytes"]) / m["peak_allocated"] - 1,
            "host": m["union_s"] < 0.8 * step, "inside": float(p["low_s"]) <= step <= float(p["high_s"]),
            "width": float(p["high_s"]) / float(p["low_s"]), "union": m["union_s"], "measured": step}


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def line(name, rows):
    device, memory = [abs(r["device"]) for r in rows], [abs(r["memory"]) for r in rows]
    text = f"{name:24s} {len(rows):4d}  {statistics.mean(device):6.1%} {statistics.median(device):6.1%} {percentile(device, .9):6.1%}  " \
           f"{statistics.mean(memory):6.1%} {statistics.median(memory):6.1%}  "
    for host in (False, True):
        of = [r for r in rows if r["host"] == host]
        text += f"{len(of):4d} {statistics.mean(abs(r['step']) for r in of):6.1%} {sum(r['inside'] for r in of) / len(of):5.0%} " \
                f"{statistics.median(r['width'] for r in of):5.2f}  " if of else f"{0:4d} {'-':>6} {'-':>5} {'-':>5}  "
    return text.rstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("predicted")
    parser.add_argument("measured", nargs="+")
    parser.add_argument("--rows", action="store_true", help="also every step, worst first")
    parser.add_argument("--again", nargs=2, metavar=("PROGRAM", "FOLDER"))
    parser.add_argument("--table", help="write the measurements without their operators to this file")
    args = parser.parse_args()
    pairs = list(joined(args))
    rows = [judged(p, m) for p, m in pairs]
    print(f"{'':24s} {'':4s}  {'kernel time':20s}  {'memory':13s}  {'device-bound steps':23s}  host-bound steps")
    print(f"{'source':24s} {'n':>4s}  {'mean':>6s} {'median':>6s} {'p90':>6s}  {'mean':>6s} {'median':>6s}  "
          + f"{'n':>4s} {'mean':>6s} {'in':>5s} {'width':>5s}  " * 2)
    for source in sorted({r["case"].split(":")[0] for r in rows}):
        print(line(source, [r for r in rows if r["case"].startswith(source + ":")]))
    print(line("all", rows))
    for r in sorted(rows, key=lambda r: -abs(r["device"])) if args.rows else []:
        print(f"  {r['case']:44s} {r['what']:22s} kernels {r['union'] * 1e3:8.2f} ms {r['device']:+7.1%}  step {r['measured'] * 1e3:8.2f} ms "
              f"{r['step']:+7.1%} {'in ' if r['inside'] else 'out'} {'host' if r['host'] else '    '} memory {r['memory']:+7.1%}")
    if args.table:
        with open(args.table, "w") as out:
            print("\t".join(KEYS + MEASURED), file=out)
            for p, m in pairs:
                print("\t".join([str(p[k]) for k in KEYS] + [f"{m[k]:.6g}" if k.endswith("_s") else str(int(m[k])) for k in MEASURED]), file=out)


if __name__ == "__main__":
    sys.exit(main())
