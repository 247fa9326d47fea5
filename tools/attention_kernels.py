#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""attention_kernels.py BINARY CAPTURES STEPS.jsonl[.xz]... [--rows]

Which attention kernel PyTorch picked in recorded training steps, by the operators and kernels in the profiler's trace, beside
the one that is predicted, and the time of both. STEPS are of tools/first_sight (docs/results/first-sight/eager-X.jsonl.xz);
CAPTURES has NAME.cmt.json of their networks, with _ for : and /. Steps without a capture are left out.

A predicted call of attention in 16 bits is cuDNN's kernel on an H200; in 32 bits, or with a bias that has a gradient, it is
the memory-efficient one; without a call of attention, products and a softmax run (math).
"""
import argparse
import collections
import json
import lzma
import pathlib
import re
import statistics
import subprocess

RECORDED = re.compile(r"aten::_(cudnn|flash|efficient)_attention_(forward|backward)")
WIDE = ("fp32", "tf32")


def steps_of(path):
    with (lzma.open if path.endswith(".xz") else open)(path, "rt") as lines:
        yield from map(json.loads, lines)


def predicted(binary, capture, r):
    """Calls and seconds of the predicted step by kernel and direction."""
    done = subprocess.run([binary, "predict", capture, "--device", "nvidia-h200", "--batch", str(r["batch"]), "--precision", r["precision"],
                           "--layout", r["layout"], "--optimizer", r["optimizer"], "--ops", "--json"], capture_output=True, text=True)
    found = collections.defaultdict(lambda: [0, 0.0])
    for op in json.loads(done.stdout)["ops"] if done.stdout.startswith("{") else ():
        words = op["call"].split()
        if words[0] == "attention":
            kernel = "efficient" if words[3] in WIDE or words[2].startswith("bias") else "cudnn"
            found[kernel, words[1]][0] += 1
            found[kernel, words[1]][1] += op["time_s"]
    return found


def recorded(r):
    found = collections.defaultdict(lambda: [0, 0.0])
    for _, name, _, calls, microseconds, *_ in r["ops"]:
        match = RECORDED.fullmatch(name)
        if match:
            found[match.groups()][0] += calls
            found[match.groups()][1] += microseconds / 1e6
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("binary")
    parser.add_argument("captures")
    parser.add_argument("steps", nargs="+")
    parser.add_argument("--rows", action="store_true", help="also print the steps whose kernels or numbers of calls differ")
    given = parser.parse_args()
    table, networks = collections.defaultdict(lambda: [0, 0, []]), 0
    for r in (r for path in given.steps for r in steps_of(path)):
        capture = pathlib.Path(given.captures) / (re.sub("[:/]", "_", r["case"]) + ".cmt.json")
        if "ops" not in r or not capture.exists():
            continue  # a step that failed, or whose network was not captured
        ours, found = predicted(given.binary, capture, r), recorded(r)
        networks += bool(ours or found)
        if given.rows and {k: v[0] for k, v in ours.items()} != {k: v[0] for k, v in found.items()}:
            print(f"{r['case']} {r['precision']}: recorded {dict(found)}, predicted {dict(ours)}")
        for key, (calls, seconds) in found.items():
            row = table[key + ("32 bits" if r["precision"] in WIDE else "16 bits",)]
            row[0] += calls
            row[1] += min(calls, ours[key][0]) if key in ours else 0
            if key in ours and ours[key][0] == calls:
                row[2].append(ours[key][1] / seconds - 1)
    print(f"{networks} networks with attention as one kernel")
    for key, (calls, same, errors) in sorted(table.items()):
        time = f"time of {len(errors)} networks: {statistics.mean(map(abs, errors)):.1%} mean, " \
               f"{statistics.median(map(abs, errors)):.1%} median, bias {statistics.median(errors):+.1%}" if errors else ""
        print(f"{' '.join(key):26} {calls:5} calls, {same:5} predicted ({same / calls:.1%}), {time}")


if __name__ == "__main__":
    main()
