#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py - [--rewrite] PROGRAM FOLDER: run every FOLDER/*.case and compare (or rewrite) what it prints.

A case is a text file. '#' lines describe it. '$ ' lines form a script that sh runs in an empty folder with `centimani`
on the PATH. '--- exit N', '--- stdout' and '--- stderr' follow; the last two are omitted if nothing is printed.
$CASES is the folder of the cases; text is 100 columns wide.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

LIMIT_S = 180  # a command that hangs; with the sanitizers, on a slow machine, some take 15 s


def parse(text):
    """Return the parts of a case: its comment, its script, and its expected results by name."""
    head, parts, name = [], {"exit": "", "stdout": "", "stderr": ""}, None
    for line in text.splitlines(keepends=True):
        if line.startswith("--- "):
            name, _, value = line[4:].strip().partition(" ")
            parts[name] = value
        elif name:
            parts[name] += line
        else:
            head.append(line)
    script = "".join(line[2:] for line in head if line.startswith("$ "))
    return "".join(head), script, parts


def run(program, folder, script):
    with tempfile.TemporaryDirectory() as empty:
        bin_folder = pathlib.Path(empty, "bin")
        work = pathlib.Path(empty, "work")
        bin_folder.mkdir()
        work.mkdir()
        (bin_folder / "centimani").symlink_to(program)
        environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}", CASES=str(folder), COLUMNS="100")
        done = subprocess.run(["sh", "-c", script], cwd=work, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT_S, check=False)
    return {"exit": str(done.returncode), "stdout": done.stdout.decode(), "stderr": done.stderr.decode()}


def write(path, head, got):
    text = head + f"--- exit {got['exit']}\n"
    for name in ("stdout", "stderr"):
        if got[name]:
            text += f"--- {name}\n{got[name]}"
    path.write_text(text)


def differences(expected, got):
    for name in ("exit", "stdout", "stderr"):
        if expected[name] != got[name]:
            yield f"{name}: expected"
            yield from expected[name].splitlines()
            yield f"{name}: got"
            yield from got[name].splitlines()


def check(program, path, number):
    _, script, expected = parse(path.read_text())
    try:
        wrong = list(differences(expected, run(program, path.parent, script)))
    except subprocess.TimeoutExpired:
        wrong = [f"took longer than {LIMIT_S} s"]
    print("not ok" if wrong else "ok", number, path.stem)
    for line in wrong:
        print("#", line)
    return not wrong


def main():
    rewrite = "--rewrite" in sys.argv
    program, folder = (pathlib.Path(a).resolve() for a in sys.argv[1:] if a != "--rewrite")
    cases = sorted(folder.glob("*.case"))
    if rewrite:
        for path in cases:
            head, script, _ = parse(path.read_text())
            write(path, head, run(program, folder, script))
        return 0
    print(f"1..{len(cases)}")
    return 0 if all([check(program, path, i) for i, path in enumerate(cases, 1)]) else 1


sys.exit(main())
