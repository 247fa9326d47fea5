#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""finite.py - PROGRAM: all numbers in answers about all built-in models and devices are finite, in JSON and in text.

Prints TAP: one line per command, with the number of answers."""
import concurrent.futures
import json
import os
import re
import subprocess
import sys

NOT_FINITE = re.compile(r"(?<![\w-])[-+]?(inf|nan|infinity)(?![\w-])", re.IGNORECASE)
DEVICES = ("graphcore-bow", "sambanova-sn40l")
COMMANDS = {
    "rank": [["rank", "MODEL"], ["rank", "MODEL", "--objective", "cost", "--baseline", "nvidia-a100-40g", "--port-hours", "1", "--rate", "1"]],
    "predict": [["predict", "MODEL", "--device", device] for device in DEVICES],
    "explain": [["explain", "MODEL", "--device", device] for device in ("sambanova-sn40l",)],
    "scale": [["scale", "MODEL", "--device", "nvidia-h200", "-n", "1,8"]],
}


def reject(word):
    raise ValueError(word)


def walk(value):
    if isinstance(value, dict):
        value = list(value.values())
    return all(map(walk, value)) if isinstance(value, list) else not isinstance(value, float) or abs(value) < 1e300


def faults(program, words):
    found = []
    for json_too in (False, True):
        run = subprocess.run([program, *words, *(["--json"] if json_too else [])], capture_output=True, text=True, check=False)
        if json_too and run.stdout:
            try:
                if not walk(json.loads(run.stdout, parse_constant=reject)):
                    found.append("a number beyond 1e300")
            except ValueError as problem:
                found.append(f"JSON: {problem}")
        elif NOT_FINITE.search(run.stdout):
            found.append(next(line for line in run.stdout.splitlines() if NOT_FINITE.search(line)).strip())
        if run.returncode < 0:
            found.append(f"ended by signal {-run.returncode}")
    return [(" ".join(words), fault) for fault in found]


def main():
    program = sys.argv[1]
    models = [m["id"] for m in json.loads(subprocess.run([program, "models", "--json"], capture_output=True, check=True).stdout)["models"]]
    print(f"1..{len(COMMANDS)}")
    for number, (command, questions) in enumerate(COMMANDS.items(), 1):
        cases = [[word.replace("MODEL", model) for word in words] for model in models for words in questions]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong = [fault for found in pool.map(lambda words: faults(program, words), cases) for fault in found]
        print(f"{'not ok' if wrong else 'ok'} {number} {command}: {len(cases)} questions")
        for words, fault in wrong[:5]:
            print(f"# {words}: {fault}")


main()
