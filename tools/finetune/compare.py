#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py PREDICTED.tsv MEASURED.tsv - predicted fine-tuning steps beside measured ones

Both are files, or members of evidence/: compare.py fine-tuning/predicted-b.tsv fine-tuning/measured-b.tsv
"""
import csv
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))
import evidence  # noqa: E402


def table(path):
    with evidence.opened(path) as file:
        return {row["case"]: row for row in csv.DictReader(file, delimiter="\t")}


def error(predicted, measured):
    return predicted / measured - 1


def line(name, rows):
    def mean(key):
        return 100 * sum(abs(r[key]) for r in rows) / len(rows)
    inside = 100 * sum(r["inside"] for r in rows) / len(rows)
    print(f"{name:10} {len(rows):3} {mean('step'):6.1f}% {mean('kernel'):6.1f}% {mean('memory'):6.1f}% {inside:5.0f}%")


def main():
    predicted, measured = table(sys.argv[1]), table(sys.argv[2])
    rows = []
    for name, m in measured.items():
        if name not in predicted or m["step_s"] == "oom":
            print(f"{name}: {m['step_s']}")
            continue
        p, step = predicted[name], float(m["step_s"])
        row = {"method": "qlora" if "-qlora-" in name else "lora" if "-lora-" in name else "full",
               "step": error(float(p["step_s"]), step), "kernel": error(float(p["device_s"]), float(m["kernel_s"])),
               "memory": error(float(p["peak_bytes"]), float(m["allocated"])),
               "inside": float(p["low_s"]) <= step <= float(p["high_s"])}
        rows.append(row)
        print(f"{name:60} {step:8.4f} s {100 * row['step']:+6.1f} %  kernels {100 * row['kernel']:+6.1f} %  "
              f"memory {100 * row['memory']:+6.1f} %")
    print("method       n    step  kernel  memory  inside")
    for method in ("full", "lora", "qlora"):
        if any(r["method"] == method for r in rows):
            line(method, [r for r in rows if r["method"] == method])
    if rows:
        line("all", rows)


if __name__ == "__main__":
    main()
