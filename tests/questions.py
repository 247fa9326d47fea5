#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""questions.py - PROGRAM: twenty-five questions that people bring, each answered by at most two commands. Prints TAP.

A row has the question, the commands, the exit status of the last one, and what its answer must contain.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
QUESTIONS = [
    ("Which accelerator should I train it on?", ["rank resnet50"], 0, r"best +\S+"),
    ("When is the job done, and for how much?", ["rank resnet50 --samples 1281167 --epochs 90 --max-devices 8 --within 24h"], 0, r"Best by cost: .* USD\."),
    ("Does it fit?", ["fits llama3-8b --device nvidia-rtx4090 --quantize nf4 --lora r=16 --seq 2048"], 0, r"It fits|fits"),
    ("What does not fit, and what would help?", ["fits llama3-8b --device nvidia-rtx4090 --seq 2048"], 1, r"would fit with"),
    ("Which batch size?", ["batch resnet50 --device nvidia-a100-40g"], 0, r"batch"),
    ("How fast is a step, and how sure is that?", ["predict gpt2 --device nvidia-h100 --batch 8"], 0, r"90 %"),
    ("Why does it take so long?", ["explain resnet50 --device nvidia-l4 --batch 64"], 0, r"memory"),
    ("Why is it slower than there?", ["explain resnet50 --device nvidia-l4 --versus nvidia-h100 --batch 64"], 0, r"nvidia-h100"),
    ("Where does the memory go?", ["memory bert-large --device nvidia-a100-40g --batch 16"], 0, r"activations"),
    ("How does it scale?", ["scale gpt2-xl --device nvidia-h100 -n 1,2,4,8 --batch 8"], 0, r"efficiency"),
    ("What is the best parallel plan?", ["plan llama2-7b --device nvidia-h100 -n 8 --global-batch 64"], 0, r"tp +cp +pp|dp"),
    ("How long does one all-reduce take?", ["collective all-reduce --bytes 240M --device nvidia-h100 -n 8"], 0, r"GB/s|B/s"),
    ("What do all our networks need together?", ["rank resnet50*3 bert-large unet --max-devices 8 --samples 1M"], 0, r"resnet50\*3"),
    ("Which is the largest model that we can afford?", ["rank gpt2 --largest gpt2-medium,gpt2-large,gpt2-xl --max-devices 8 --tokens 1B --budget 60 --within 24h"], 0, r"where to train gpt2"),
    ("Where should we move from this machine, and does porting pay?", ["rank resnet50 --baseline nvidia-v100-16g --objective cost --port-hours 40 --rate 100 --samples 1G"], 0, r"break-even"),
    ("What does the batch system need?", ["rank gpt2-xl --tokens 1B --max-devices 16 --clusters polaris --job-script -"], 0, r"#PBS"),
    ("What if the memory were twice as fast?", ["predict gpt2 --device nvidia-l4 --what-if bandwidth=2x --batch 4"], 0, r"samples/s|step"),
    ("How fast is a device that nobody has yet?", ["predict resnet50 --device gpu:bf16=200T,fp32=50T,bw=1.2T,mem=48G,sms=128 --batch 64"], 0, r"assumed"),
    ("How long does an answer of a language model take?", ["predict llama3-8b --device nvidia-h100 --mode inference --prompt 512 --generate 128 --batch 1"], 0, r"token"),
    ("Is the change slower than we allow?", ["predict resnet50 --device nvidia-l4 --batch 64 --max-step 1ms"], 1, r"missed"),
    ("What does this machine reach?", ["bench --backend null --suite roofline -o mine.json", "predict resnet18 --device mine.json --batch 8"], 0, r"step|samples"),
    ("What does a step look like in time, and is it what ran?", ["predict resnet18 --device nvidia-h200 --batch 64 --trace step.json",
                                                                  "compare step.json resnet18 --device nvidia-h200 --batch 64"], 0, r"100(\.0)? %"),
    ("What changed since the last answer?", ["predict gpt2 --device nvidia-h100 --batch 8 --json > a.json", "diff a.json a.json"], 0, r"no field changed"),
    ("What is in this model?", ["graph llama3-8b --json"], 0, r'"params": 8030261248'),
    ("How far can I trust this?", ["validate --set h200-steps"], 0, r"(?i)mean|error"),
]


def run(command, folder):
    words, _, output = command.partition(" > ")
    done = subprocess.run([PROGRAM, *words.split()], capture_output=True, text=True, cwd=folder, env={**os.environ, "COLUMNS": "200"})
    if output:
        pathlib.Path(folder, output).write_text(done.stdout)
    return done


def main():
    wrong = 0
    print(f"1..{len(QUESTIONS)}")
    for number, (question, commands, status, wanted) in enumerate(QUESTIONS, 1):
        assert len(commands) <= 2, question
        with tempfile.TemporaryDirectory() as folder:
            for command in commands:
                done = run(command, folder)
        good = done.returncode == status and re.search(wanted, done.stdout)
        wrong += not good
        print(f"{'ok' if good else 'not ok'} {number} - {question}", flush=True)
        if not good:
            print("# " + f"centimani {commands[-1]}: exit {done.returncode}, {json.dumps(done.stdout[-600:])} {done.stderr[-300:]}")
    return wrong > 0


sys.exit(main())
