# SPDX-License-Identifier: Apache-2.0
"""csv_same.py - check for each command that --csv has the same numbers as --json."""
import csv
import io
import json
import subprocess

ON = ["--device", "nvidia-h200"]
CASES = (  # the command line, and the JSON list that its CSV lines represent
    (["devices"], "devices"), (["devices", "list", "--clusters"], "clusters"), (["models"], "models"),
    (["batch", "resnet18", *ON], "candidates"), (["scale", "gpt2", *ON, "-n", "1,2,8", "--batch", "4"], "points"),
    (["explain", "resnet18", *ON, "--versus", "nvidia-t4", "--batch", "8"], "ops"),
    (["predict", "resnet18", *ON, "--ops"], "ops"), (["predict", "resnet18", *ON], None),
    (["memory", "resnet18", *ON], None))


def run(words):
    return subprocess.run(["centimani", *words], capture_output=True, text=True, check=True).stdout


def same(cell, value):
    if value is None or isinstance(value, (bool, str)):
        return cell == ("" if value is None else str(value).lower() if isinstance(value, bool) else value)
    return float(cell) == value


for words, member in CASES:
    rows = list(csv.DictReader(io.StringIO(run(words + ["--csv"]))))
    answer = json.loads(run(words + ["--json"]))
    entries = answer[member] if member else [answer]
    plain = [{k: v for k, v in e.items() if not isinstance(v, (dict, list))} for e in entries]
    print(words[0], len(rows) == len(entries), all(same(r[k], v) for r, e in zip(rows, plain) for k, v in e.items()))
