#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""transfer_steps.py PROGRAM E2E.csv.gz [--rows]

Compares published training steps on one V100, A100 or H100 with the program's predictions. No parameter of these devices
was fitted to a training step: kernel times are transferred or come from models of single operators. Rows with the same
device, model, batch size and precision count once, with their median. Two groups are excluded: CNNs of lambdalabs on
H100, which wait for data, and BERT with 512 tokens, which would exceed the fp32 peak of a V100. Networks that apex ran
in 16 bits had channels-first images.
"""
import argparse
import collections
import csv
import gzip
import json
import re
import statistics
import subprocess

DEVICES = {"V100-SXM2-16GB": "nvidia-v100-16g", "V100-SXM-32GB": "nvidia-v100-32g",
           "A100-PCIE-40GB": "nvidia-a100-40g-pcie", "A100-PCIE-80GB": "nvidia-a100-80g-pcie",
           "A100-SXM4-80GB": "nvidia-a100-80g", "A100-SXM4-40GB": "nvidia-a100-40g",
           "H100-SXM-80GB": "nvidia-h100", "H100-PCIE-80GB": "nvidia-h100-pcie"}
PRECISIONS = {"amp-fp16": "amp-fp16", "mixed(fp16)": "amp-fp16", "fp32": "fp32"}
# with the head of question answering, which has two outputs for each token
BASE, LARGE = "bert:layers=12,hidden=768,heads=12,head=classifier", "bert:layers=24,hidden=1024,heads=16,head=classifier"
# (source, model): (our model, sequence length, batch size if the row has none, layout in 16 bits)
MODELS = [
    ("lambdalabs", "bert_base_squad", BASE, 384, {}, "auto"),
    ("lambdalabs", "bert_large_squad", LARGE, 384, {}, "auto"),
    ("lambdalabs", "resnet50", "resnet50", None, {}, "nchw"),
    ("NVIDIA/DeepLearningExamples", "PyTorch/Classification/ConvNets/resnet50v1.5", "resnet50", None,
     {"amp-fp16": 256, "fp32": 128}, "auto"),
    ("NVIDIA/DeepLearningExamples", "PyTorch/LanguageModeling/BERT", LARGE, 384, {}, "auto"),
    ("DLPerf", "PyTorch/BERT", "bert-base", 128, {}, "auto"),
    ("DLPerf", "PyTorch/resnet50v1.5", "resnet50", None, {}, "nchw"),
    ("FlagPerf", "resnet50", "resnet50", None, {}, "auto"),
]
METRICS = ("throughput", "throughput_total", "flagperf_p_train")


def row_of(row):
    """The program's arguments for a row, or None."""
    known = [m for m in MODELS if (row["source"], row["model"]) == m[:2]]
    if not known or row["device"] not in DEVICES or row["precision"] not in PRECISIONS or row["metric"] not in METRICS:
        return None
    if row["n_devices"] not in ("1", "1.0") or "tensorflow" in row["framework"].lower():
        return None
    _, _, model, seq, batches, layout = known[0]
    precision, device = PRECISIONS[row["precision"]], DEVICES[row["device"]]
    if row["source"].startswith("lambdalabs") and model == "resnet50" and "h100" in device:
        return None
    if precision == "fp32" and "v100" not in device:
        precision = "tf32"  # PyTorch before 1.12 used tf32 for fp32 on these GPUs
    if precision == "amp-fp16" and seq:
        precision = "fp16"  # DeepLearningExamples' BERT: apex in mode O2 converts the weights, nothing is cast
    batch = int(float(row["batch_per_device"])) if row["batch_per_device"] else batches.get(precision)
    length = int(float(row["seq_len"])) if row["seq_len"] else seq
    if length == 512 or not batch:
        return None
    return device, model, length, precision, batch, layout if precision == "amp-fp16" else "auto"


def words_of(asked):
    return " ".join(str(word) for word in asked if word not in (None, "auto"))


def predicted(program, asked):
    device, model, seq, precision, batch, layout = asked
    words = [program, "predict", model, "--device", device, "--precision", precision, "--batch", str(batch), "--json"]
    words += ["--seq", str(seq), "--attention", "math"] if seq else ["--layout", layout]  # BERT: separate products
    done = subprocess.run(words, capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("table")
    parser.add_argument("--rows", action="store_true")
    options = parser.parse_args()
    found = collections.defaultdict(list)
    with gzip.open(options.table, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            asked = row_of(row)
            if asked:
                found[asked].append(float(row["value"]))
    errors = collections.defaultdict(list)
    for asked, values in sorted(found.items(), key=str):
        answer, measured = predicted(options.program, asked), statistics.median(values)
        error = answer["throughput_samples_s"] / measured - 1
        inside = answer["interval_s"][0] <= asked[4] / measured <= answer["interval_s"][1]
        errors[re.match(r"nvidia-[a-z]+[0-9]+", asked[0])[0]].append((error, inside, asked))
        if options.rows:
            print(f"{words_of(asked):56} measured {measured:8.1f} predicted "
                  f"{answer['throughput_samples_s']:8.1f} samples/s {error:+7.1%}{'' if inside else ' outside'}")
    for chip, rows in errors.items():
        worst = max(rows, key=lambda row: abs(row[0]))
        print(f"{chip:12} {len(rows):3} rows, mean error {statistics.mean(abs(e) for e, _, _ in rows):6.1%}, bias "
              f"{statistics.mean(e for e, _, _ in rows):+7.1%}, {sum(i for _, i, _ in rows)} within the interval, "
              f"worst "
              f"{worst[0]:+.0%} ({words_of(worst[2][1:])})")


main()
