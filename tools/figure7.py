#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""figure7.py - PROGRAM: reproduce Figure 7 of Xie et al. 2024 with `centimani rank`: speed-ups over an A100, and the best device."""
import json
import subprocess
import sys

MODELS = [("resnet50", []), ("bert-large", ["--seq", "512"]), ("gpt2-xl", [])]
# Section 6.2.1: average speedup over the A100 of the three models.
AVERAGES = {"sambanova-sn30": 1.22, "graphcore-bow": 1.54, "cerebras-cs2": 1.41, "habana-gaudi2": 1.73}
FIRST = {"resnet50": "habana-gaudi2", "bert-large": "graphcore-bow", "gpt2-xl": "graphcore-bow"}


def ratios(program, model, options, objective):
    words = [program, "rank", model, *options, "--devices", ",".join(AVERAGES), "--baseline", "nvidia-a100-40g", "--provider",
             "Xie", "--price-basis", "paper", "--objective", objective, "--json"]
    ranking = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)["ranking"]
    return {entry["device"]: entry["relative"] for entry in ranking if entry["relative"]}


def main():
    program = sys.argv[1]
    for objective in ("throughput", "price"):
        rows = {model: ratios(program, model, options, objective) for model, options in MODELS}
        print(f"\n| {objective} beside an A100 | " + " | ".join(rows) + " | average | paper |\n|---|" + "---:|" * (len(rows) + 2))
        for device, paper in AVERAGES.items():
            cells = [rows[model].get(device, float("nan")) for model in rows]
            published = f"{paper:.2f}" if objective == "throughput" else ""
            print(f"| {device} | " + " | ".join(f"{cell:.2f}" for cell in cells) + f" | {sum(cells) / len(cells):.2f} | {published} |")
        for model, row in rows.items():
            first = max(row, key=row.get)
            wanted = FIRST[model] if objective == "throughput" else "graphcore-bow"
            print(f"- {model}: {first} first, in the paper {wanted}" + ("" if first == wanted else ": not met"))


main()
