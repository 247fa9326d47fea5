#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""capabilities.py - PROGRAM: every line of data/papers/capabilities.tsv that claims to work does.

A claim is a command that must run or be refused by name, or rows of a validation set, all within 25 % of the published
value, ratios that name the faster machine (`faster`), at least so many pairs of machines in the published order (`orders`), or at least so many pairs of printed values ranked as
printed (`ranks`). Prints TAP. Fails, too, if fewer lines claim to work than LEAST.
"""
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEAST, LINES, NEAR = 80, 102, 0.25
SCALES = ("cerebras-cs2", "habana-gaudi2", "sambanova-sn30")  # Figure 8: the first scales best
FIVE = "sambanova-sn30,graphcore-bow,cerebras-cs2,habana-gaudi2,nvidia-a100-40g"
BEST = {"resnet50": "habana-gaudi2", "bert-large": "graphcore-bow", "gpt2-xl": "graphcore-bow"}  # Figure 7(a)
WORKS, DONE = "●", (0, 3)


def ask(program, words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=170)


def matching(sets, text):
    name, _, pattern = text.partition(": ")
    return [row for row in sets[name] if re.search(pattern, row["where"]) or re.search(pattern, row["model"])]


def far_rows(sets, text):
    """Rows that are further off, or refused; text: there are none at all."""
    rows = [row for row in matching(sets, text) if row["refused"] or row["predicted"] is not None]
    values = [row for row in rows if row["unit"] not in ("pairs", "")]
    return [f"{row['where']}: {row['error']:+.0%}" for row in values if row["refused"] or abs(row["error"]) > NEAR] or (
        [] if values else ["no row"])


def not_faster(sets, text):
    """Ratios of machines on the other side of 1 than the printed one; text: there are none at all."""
    rows = [row for row in matching(sets, text) if row["metric"].endswith("ratio")]
    return [row["where"] for row in rows if (row["predicted"] > 1) != (row["measured"] > 1)] or ([] if rows else ["no row"])


def orders(sets, text):
    text, _, asked = text.rpartition(": ")
    least, _, every = asked.partition(" of ")
    rows = [row for row in matching(sets, text) if row["unit"] == "pairs"]
    right, pairs = (int(sum(row[key] or 0 for row in rows)) for key in ("predicted", "measured"))
    return [] if right >= int(least) and pairs == int(every) else [f"{right} of {pairs} pairs"]


def ranks(sets, text):
    """Pairs of different values of one metric: in how many is the larger prediction that of the larger value?"""
    text, _, asked = text.rpartition(": ")
    values = [(row["metric"], row["measured"], row["predicted"]) for row in matching(sets, text)
              if row["unit"] not in ("pairs", "") and row["predicted"] is not None]
    signs = [(a[1] - b[1]) * (a[2] - b[2]) > 0 for a, b in itertools.combinations(values, 2) if a[0] == b[0] and a[1] != b[1]]
    least, _, every = asked.partition(" of ")
    return [] if sum(signs) >= int(least) and len(signs) == int(every) else [f"{sum(signs)} of {len(signs)} pairs"]


def scales(program):
    found = [json.loads(ask(program, ["scale", "unet", "--device", d, "-n", "1,8", "--json"]).stdout)["points"][-1]["efficiency"] for d in SCALES]
    return [] if found[0] == max(found) else [f"efficiencies {found}"]


def unnamed(program):
    """The paper's best devices that are neither the best, nor among those that may be better, nor the fastest copy."""
    answers = {model: ask(program, ["rank", model, "--devices", FIVE]).stdout.splitlines() for model in BEST}
    said = {model: " ".join(line for line in lines if re.match("best|uncertain|per copy", line)) for model, lines in answers.items()}
    return [f"{model}: {said[model]}" for model, device in BEST.items() if device not in said[model]]


def unmeasured(program):
    """Equation (2): products that a profile of the user has benchmarked are taken from it, other operators from the device's rule."""
    wrong = []
    for device, dtype in (("sambanova-sn30", "bf16"), ("graphcore-bow", "fp16"), ("cerebras-cs2", "fp16"), ("habana-gaudi2", "bf16")):
        table = {"runtime": "native", "op": "gemm", "pass": "forward", "variant": "nt-bias", "dtype": dtype, "kind": "measured",
                 "source": "own", "date": "2026-11", "dims": ["batch", "m", "n", "k"], "rows": [[1, 64, 4096, 4096, 0.25, 1]]}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"schema": 1, "id": "own", "base": device, "kernels": [table],
                       "sources": {"own": {"title": "one's own", "where": "here", "date": "2026-11"}}}, file)
            file.flush()
            answer = ask(program, ["predict", "mlp:in=4096,hidden=4096,out=1000", "--device", file.name, "--batch", "64", "--mode",
                                   "inference", "--precision", dtype, "--ops", "--json"])
        found = {op["how"] for op in json.loads(answer.stdout)["ops"] if op["type"] == "Gemm"} if answer.returncode == 0 else answer.stderr
        wrong += [] if "measured" in found and len(found) == 2 else [f"{device}: {found}"]
    return wrong


def fault(program, sets, check):
    kind, _, text = check.partition(" ")
    if kind == "run":
        done = ask(program, text.split())
        return [] if done.returncode in DONE else [done.stderr.strip()]
    if kind == "refused":
        return [] if ask(program, text.split()).returncode not in DONE else ["not refused"]
    if kind == "prints":
        wanted, _, command = text.partition(": ")
        return [] if wanted in ask(program, command.split()).stdout else [f"no '{wanted}': {command}"]
    if kind == "python":
        wanted, _, words = text.partition(": ")
        done = subprocess.run([sys.executable, "-m", "centimani", *words.split()], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        return [] if wanted in done.stdout else [f"no '{wanted}': {words}"]
    if kind == "exits":
        status, _, command = text.partition(" ")
        return [] if ask(program, command.split()).returncode == int(status) else [f"not {status}: {command}"]
    if kind in ("names", "measured"):
        return (unnamed if kind == "names" else unmeasured)(program)
    if kind == "scale":
        return scales(program)
    return {"row": far_rows, "faster": not_faster, "orders": orders, "ranks": ranks}[kind](sets, text)


def main():
    program = sys.argv[1]
    sets = {one["set"]: one["rows"] for one in json.loads(ask(program, ["validate", "--set", "all", "--json"]).stdout)["sets"]}
    lines = [line.split("\t") for line in (ROOT / "data/papers/capabilities.tsv").read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    claims = [line for line in lines if line[2] == WORKS]
    results = [(f"{paper}: {what}", [wrong for check in checks.split(" & ") for wrong in fault(program, sets, check)])
               for paper, what, _, checks, _ in claims]
    results.append((f"{len(claims)} of {len(lines)} work", [] if len(claims) >= LEAST and len(lines) == LINES else ["too few"]))
    print(f"1..{len(results)}")
    for number, (what, wrong) in enumerate(results, 1):
        print(f"{'not ' if wrong else ''}ok {number} - {what}{': ' if wrong else ''}{'; '.join(wrong)}")
    return any(wrong for _, wrong in results)


if __name__ == "__main__":
    sys.exit(main())
