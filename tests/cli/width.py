#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""width.py - PROGRAM: text of every command at several widths, over several models.

No line is longer than $COLUMNS, no cell is cut, and every word of the text without a limit is there at 80 columns.
Without $COLUMNS a pipe gets whole lines. The --help of a command has at most 70 lines.
"""
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
WIDTHS = (60, 80, 100, 120)
HELP_LINES = 70
QUESTIONS = """
predict resnet50 --device nvidia-a100-40g --batch 32
predict gpt2 --device nvidia-h100
predict gpt2 --device nvidia-h100 -n 8 --tp 2 --pp 2 --global-batch 64 --micro-batch 2
predict bert-large --device graphcore-bow --batch 8
predict gemm:m=64,n=1760,k=1760 --device nvidia-h200 --ops
predict llama2-7b --device nvidia-h200 --batch 1 --prompt 128 --generate 16
rank resnet50
rank gpt2-xl --tokens 300B --baseline nvidia-a100-40g
rank gpt2-xl --tokens 300B --baseline nvidia-a100-40g --port-hours 100 --rate 100 --objective cost
rank llama2-7b --max-devices 8 --tokens 1B
plan gpt2-xl --device nvidia-h200 -n 8 --global-batch 512
plan llama2-70b --device nvidia-h100 -n 64 --global-batch 512 --tokens 1T
scale gpt2 --device nvidia-h100 -n 1,2,4,8
scale all-reduce:bytes=67108864 --device nvidia-h100 -n 2,4,8
memory gpt2-xl --device nvidia-a100-40g --batch 32
memory resnet50 --device nvidia-v100-16g --batch 8
fits gpt2-xl --device nvidia-a100-40g --batch 32
batch gpt2 --device nvidia-a100-40g
batch resnet50 --device cerebras-cs2
explain resnet50 --device nvidia-h200 --batch 256
explain gpt2 --device nvidia-h200 --versus nvidia-a100-40g --batch 8
graph bert-large
graph resnet50 --nodes
graph gemm:m=64,n=1760,k=1760 --tensors
models
models show resnet50
devices
devices --clusters
devices show nvidia-a100-40g
lookups
lookups --device nvidia-a100-40g
validate
validate --set dabench-table5
fit --check --device nvidia-a100-40g
version
help
""".strip().splitlines()


def text(question, width):
    env = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    if width:
        env["COLUMNS"] = str(width)
    done = subprocess.run([PROGRAM, *question.split()], capture_output=True, text=True, env=env, check=False)
    return done.stdout, done.returncode


def words(answer):
    """Words that a reader must find: without drawings, and with long lists and paths apart."""
    kept = (re.sub(r"\|[^|]*\|", " ", line) for line in answer.splitlines())
    joined = re.sub(r"evaluated[\s#]+in[\s#]+\S+[\s#]+\w?s\b", "evaluated in", " ".join(kept))  # a time that no two runs share
    found = set(re.split(r"[\s/,|]+", joined))
    return {w for w in found if re.search(r"\w", w) and not re.fullmatch(r"[#=.>-]+", w)}


def problems(question):
    whole, code = text(question, None)
    if code not in (0, 1, 3):
        return [f"exit {code}"]
    bad = []
    for width in WIDTHS:
        answer, _ = text(question, width)
        bad += [f"{width} columns: {line!r}" for line in answer.splitlines() if len(line) > width][:2]
        bad += [f"{width} columns: a cut cell: {line!r}" for line in answer.splitlines() if "\u2026" in line][:1]
        lost = sorted(words(whole) - words(answer))
        if width >= 80 and lost:
            bad.append(f"{width} columns: lost {lost[:8]}")
    return bad


def help_problems(command):
    answer, _ = text(f"{command} --help", 80)
    lines = answer.splitlines()
    bad = [f"--help has {len(lines)} lines"] if len(lines) > HELP_LINES else []
    every, _ = text(f"{command} --help all", 80)
    bad += [f"'{line}' is not in --help all" for line in lines if line.startswith("  -") and line not in every]
    return bad + [f"--help: {line!r}" for line in (answer + every).splitlines() if len(line) > 80][:2]


def main():
    commands = [line.split()[0] for line in text("help", None)[0].splitlines() if re.match(r"  [a-z]", line)]
    cases = [(q, problems) for q in QUESTIONS] + [(c, help_problems) for c in commands]
    failed = 0
    print(f"1..{len(cases)}")
    for number, (case, check) in enumerate(cases, 1):
        bad = check(case)
        failed += bool(bad)
        print("not ok" if bad else "ok", number, case + (" --help" if check is help_problems else ""))
        for line in bad:
            print("#", line)
    return 1 if failed else 0


sys.exit(main())
