#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py LIST... | PREDICTED.tsv MEASURED... [--rows] [--again PROGRAM FOLDER] [--table MEASURED.tsv]

Predictions beside measurements of the same steps: kernel time, step time, peak memory, and how many steps lie in the
interval, apart for steps that the host and that the device bounds. LIST is an archive of evidence/; the steps of several are
taken together. MEASURED are files of measure.py, or tables that `--table` wrote from them. `--again` asks PROGRAM anew, with the
captures in FOLDER, in place of the predicted column.

Compiled steps (lists with a column `mode`) are also judged by their speed-up over eager. With CUDA graphs their memory
is not judged: PyTorch's counters do not see what lives in the pool of a graph.

Memory is judged by the peak in a process that has multiplied matrices before (measure.py, peaks); a line below the table
says the error against the peak of a process that runs only this step.
"""
import argparse
import csv
import json
import pathlib
import statistics
import sys

import predict

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))
import evidence  # noqa: E402

KEYS = ["case", "precision", "layout", "batch", "optimizer"]
COMPILED = ["union_s", "step_s", "queued_s", "peak_allocated", "launches", "generated", "eager_union_s", "eager_step_s",
            "eager_peak_allocated", "peak_reserved", "peak_own"]
MEASURED = ["busy_s", "union_s", "step_s", "peak_allocated", "peak_reserved", "kernels", "peak_own"]


def table(path):
    with evidence.opened(path) as lines:
        return list(csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t"))


def measured_in(path):
    if path.endswith(".tsv"):
        return [{k: v if k in KEYS or k == "mode" else float(v) for k, v in r.items() if v} for r in table(path)]
    return [r for r in map(json.loads, evidence.opened(path)) if "error" not in r]


def key(row):
    return row["case"], row.get("mode"), row["precision"], row["layout"], int(row["batch"])


def ask_again(program, folder, p):
    """Put what the program says now in place of what was predicted. False without an answer."""
    mode = p.get("mode")
    question = (program, predict.file_of(folder, p["case"]), "nvidia-h200", p["batch"], p["precision"], p["layout"], p["optimizer"])
    eager = predict.asked(*question)
    answer = predict.asked(*question, "torch-compile:" + mode) if mode else eager
    if answer is None or eager is None:
        return False
    p.update(device_s=answer["device_time_s"], step_s=answer["step_time_s"], low_s=answer["interval_s"][0],
             high_s=answer["interval_s"][1], peak_bytes=answer["peak_bytes"], eager_device_s=eager["device_time_s"])
    return True


def paths_of(words):
    """Files with predictions and with measurements: of archives, or the first file and the others."""
    if all(map(evidence.archive_of, words)):
        return [word + "/predicted.tsv" for word in words], [word + "/measured.tsv" for word in words]
    return words[:1], words[1:]


def joined(words, again=None):
    """Each predicted step that was measured, and its measurement."""
    predicted, measured = paths_of(words)
    measured = {key(r): r for path in measured for r in measured_in(path)}
    for p in [row for path in predicted for row in table(path)]:
        m = measured.get(key(p))
        if not m:
            continue
        if again and not ask_again(*again, p):
            print("no prediction:", p["case"])
            continue
        yield p, m


def speed_up(p, m):
    """Error of the predicted speed-up of kernel time over eager; None where there is nothing to compare with."""
    if "mode" not in p or "eager_union_s" not in m:
        return None
    return float(p["eager_device_s"]) / float(p["device_s"]) / (m["eager_union_s"] / m["union_s"]) - 1


def judged(p, m):
    """Errors and where the step lies; the host bounds a step whose kernels take less than 0.8 of it."""
    step, graphs = m["step_s"], p.get("mode") == "reduce-overhead"
    return {"case": p["case"], "what": f"{p['precision']} {p['layout']} {p['batch']}{' graphs' if graphs else ''}", "device": float(p["device_s"]) / m["union_s"] - 1,
            "step": float(p["step_s"]) / step - 1, "memory": None if graphs else float(p["peak_bytes"]) / m["peak_allocated"] - 1,
            "own memory": None if graphs or "peak_own" not in m else float(p["peak_bytes"]) / m["peak_own"] - 1,
            "speed-up": speed_up(p, m),
            "host": m["union_s"] < 0.8 * step, "inside": float(p["low_s"]) <= step <= float(p["high_s"]),
            "width": float(p["high_s"]) / float(p["low_s"]), "union": m["union_s"], "measured": step}


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def line(name, rows):
    device, memory = [abs(r["device"]) for r in rows], [abs(r["memory"]) for r in rows if r["memory"] is not None]
    text = f"{name:24s} {len(rows):4d}  {statistics.mean(device):6.1%} {statistics.median(device):6.1%} {percentile(device, .9):6.1%}  " \
           + (f"{statistics.mean(memory):6.1%} {statistics.median(memory):6.1%}  " if memory else f"{'-':>6} {'-':>6}  ")
    for host in (False, True):
        of = [r for r in rows if r["host"] == host]
        text += f"{len(of):4d} {statistics.mean(abs(r['step']) for r in of):6.1%} {sum(r['inside'] for r in of) / len(of):5.0%} " \
                f"{statistics.median(r['width'] for r in of):5.2f}  " if of else f"{0:4d} {'-':>6} {'-':>5} {'-':>5}  "
    return text.rstrip()


def number(measured, name):
    eager = name.startswith("eager_")
    value = measured.get("eager", {}).get(name.removeprefix("eager_")) if eager else measured[name]
    if value is None:  # no eager step was run
        return ""
    if isinstance(value, list):  # generated kernels
        return str(len(value))
    return f"{value:.6g}" if name.endswith("_s") else str(int(value))


def write_table(path, pairs):
    compiled = "mode" in pairs[0][0]
    keys, names = (predict.ASKED, COMPILED) if compiled else (KEYS, MEASURED)
    with open(path, "w") as out:
        print("\t".join(keys + names), file=out)
        for p, m in pairs:
            print("\t".join([str(p[k]) for k in keys] + [number(m, k) for k in names if k in m or k != "peak_own"]), file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", nargs="+", metavar="LIST")
    parser.add_argument("--rows", action="store_true", help="also every step, worst first")
    parser.add_argument("--again", nargs=2, metavar=("PROGRAM", "FOLDER"))
    parser.add_argument("--table", help="write the measurements without their operators to this file")
    args = parser.parse_args()
    pairs = list(joined(args.lists, args.again))
    rows = [judged(p, m) for p, m in pairs]
    print(f"{'':24s} {'':4s}  {'kernel time':20s}  {'memory':13s}  {'device-bound steps':23s}  host-bound steps")
    print(f"{'source':24s} {'n':>4s}  {'mean':>6s} {'median':>6s} {'p90':>6s}  {'mean':>6s} {'median':>6s}  "
          + f"{'n':>4s} {'mean':>6s} {'in':>5s} {'width':>5s}  " * 2)
    for source in sorted({r["case"].split(":")[0] for r in rows}):
        print(line(source, [r for r in rows if r["case"].startswith(source + ":")]))
    print(line("all", rows))
    own = [abs(r["own memory"]) for r in rows if r["own memory"] is not None]
    if own:
        print(f"memory in a process that runs only the step: {statistics.mean(own):.1%} mean, {statistics.median(own):.1%} median")
    ups = [abs(r["speed-up"]) for r in rows if r["speed-up"] is not None]
    if ups:
        print(f"speed-up over eager: {statistics.mean(ups):.1%} mean, {statistics.median(ups):.1%} median")
    for r in sorted(rows, key=lambda r: -abs(r["device"])) if args.rows else []:
        print(f"  {r['case']:44s} {r['what']:22s} kernels {r['union'] * 1e3:8.2f} ms {r['device']:+7.1%}  step {r['measured'] * 1e3:8.2f} ms "
              f"{r['step']:+7.1%} {'in ' if r['inside'] else 'out'} {'host' if r['host'] else '    '}"
              + (f" memory {r['memory']:+7.1%}" if r["memory"] is not None else ""))
    if args.table:
        write_table(args.table, pairs)


if __name__ == "__main__":
    sys.exit(main())
