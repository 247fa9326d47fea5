#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""flop_counter.py - PROGRAM [--table]: compare parameters and FLOP with PyTorch's FLOP counter. Prints TAP.

flop_counter.csv is the output of tools/count_flop.py (torch 2.11.0, transformers 5.17, torchvision 0.26, one H200, bf16
autocast). Parameters must be equal, FLOP within 0.5 %. CENTIMANI_MODELS may name a folder with the .onnx files of the same models;
each file is then an additional case. not_comparable lists errors of the counter itself: it multiplies by all channels
in the weight gradient of a grouped convolution, and it does not count grouped_mm, which computes Mixtral's experts.
"""
import csv
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
TOLERANCE = 0.005


def graph(program, spec, seq):
    call = [program, "graph", str(spec), "--json", *(["--seq", seq] if seq else [])]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr.strip()}


def faults(got, row):
    if "error" in got:
        return [got["error"]]
    found = [] if got["params"] == int(row["params"]) else [f"{got['params']} parameters, PyTorch {row['params']}"]
    for pass_ in ("forward", "training"):
        error = got[pass_ + "_flop"] / float(row[pass_ + "_flop"]) - 1
        if pass_ not in row["not_comparable"] and abs(error) > TOLERANCE:
            found.append(f"{pass_} FLOP off by {error:+.2%}")
    return found


def cases(models):
    for row in csv.DictReader((HERE / "flop_counter.csv").open()):
        yield row, HERE / row["spec"] if row["spec"].endswith(".json") else row["spec"], row["seq"]
        if row["onnx"] and models:
            yield row, models / row["onnx"], ""


def table_line(spec, got, row):
    def error(pass_):
        return "-" if pass_ in row["not_comparable"] else f"{got[pass_ + '_flop'] / float(row[pass_ + '_flop']) - 1:+.4%}"
    return f"| {row['model']} | {pathlib.Path(spec).name} | {got['params']:,} | {got['params'] - int(row['params'])} " \
           f"| {got['forward_flop']:.6g} | {error('forward')} | {got['training_flop']:.6g} | {error('training')} |"


def main():
    program, *rest = sys.argv[1:]
    models = os.environ.get("CENTIMANI_MODELS") and pathlib.Path(os.environ["CENTIMANI_MODELS"])
    todo = list(cases(models))
    if "--table" not in rest:
        print(f"1..{len(todo)}")
    failed = 0
    for number, (row, spec, seq) in enumerate(todo, 1):
        got = graph(program, spec, seq)
        wrong = faults(got, row)
        failed += bool(wrong)
        if "--table" in rest:
            print(table_line(spec, got, row))
        else:
            print(f"{'not ok' if wrong else 'ok'} {number} {row['model']} from {pathlib.Path(spec).name} {'; '.join(wrong)}")
    return 1 if failed else 0


sys.exit(main())
