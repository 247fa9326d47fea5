#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""adding_operator.py - PROGRAM ROOT: follow docs/dev/adding-an-operator.md and compare the answers with its numbers.

The page marks its indented blocks with comments:

    write: FILE                                 the block is the file
    refused                                     the command's message before the additions, with a status that is not 0
    add to FILE after|before the line with: X   the block is a part of FILE; X occurs in one line of it
    answered                                    commands that must succeed afterwards

PROGRAM must refuse the page's model. The additions are made in a copy of ROOT, which is built without optimisation.
The page's table of FLOP, bytes and time must equal the counts made here, and those of the built program.
"""
import csv
import io
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PAGE = "docs/dev/adding-an-operator.md"
BLOCK = re.compile(r"^<!-- (.*) -->\n\n((?:    .*\n|\n(?=\n*    ))+)", re.MULTILINE)
ADD = re.compile(r"add to (\S+) (after|before) the line with: (.*)")
ROW = re.compile(r"^\| (DFT\w*) \| (\d+) \| (\d+) \| (\d+) \| (\S+) \|$", re.MULTILINE)
POINTS, BATCH, BANDWIDTH = 4096, 1024, 1e12  # of the page's model and of tests/cli/tiny.json, bytes/s
BUILD = ["-Dbuildtype=plain", "-Doptimization=0", "-Ddebug=false"]  # warnings are errors, as in every build
count = 0


def check(good, what, detail=""):
    global count
    count += 1
    print(f"{'' if good else 'not '}ok {count} {what}", flush=True)
    if not good:
        print("".join(f"# {line}\n" for line in str(detail).splitlines()), flush=True)


def blocks(page):
    """(mark, text) of every marked block, without the indentation."""
    return [(mark, "".join(line[4:] or "\n" for line in text.splitlines(keepends=True)))
            for mark, text in BLOCK.findall(page)]


def run(program, folder, command):
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(command, shell=True, cwd=folder, env={**os.environ, "PATH": path}, check=False,
                          capture_output=True, text=True)


def add(root, name, where, anchor, text):
    path = root / name
    lines = path.read_text().splitlines(keepends=True)
    found = [i for i, line in enumerate(lines) if anchor in line]
    if len(found) != 1:
        sys.exit(f"{len(found)} lines of {name} contain '{anchor}'")
    at = found[0] + (where == "after")
    lines.insert(at, text if where == "after" else text + "\n")
    path.write_text("".join(lines))


def built(folder, names):
    """Files that a copy of the source does not need: hidden folders and build folders."""
    return [name for name in names if name.startswith(".") or (pathlib.Path(folder) / name / "build.ninja").exists()]


def copy_and_build(root, page, folder):
    """The program of a copy of the source with the page's additions."""
    copy = folder / "source"
    shutil.copytree(root, copy, ignore=built)
    made = 0
    for mark, text in blocks(page):
        where = ADD.fullmatch(mark)
        if where:
            add(copy, *where.groups(), text)
            made += 1
    for command in (["meson", "setup", "b", *BUILD], ["ninja", "--quiet", "-C", "b", "centimani"]):
        done = subprocess.run(command, cwd=copy, check=False, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}:\n{(done.stdout + done.stderr)[-4000:]}")
    check(made >= 10, f"the page's {made} additions build")
    return copy / "b/centimani"


def counted():
    """FLOP, bytes read and written, and seconds of each node, from the definition of the transform."""
    numbers = BATCH * POINTS
    flop = round(2.5 * POINTS * math.log2(POINTS) * BATCH)
    time = (4 * numbers + 8 * numbers) / BANDWIDTH
    return {"DFT": (flop, 4 * numbers, 8 * numbers, time), "DFTGrad": (flop, 8 * numbers, 4 * numbers, time)}


def main():
    program, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    page = (root / PAGE).read_text()
    marked = blocks(page)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for mark, text in marked:
            if mark.startswith("write: "):
                (folder / mark[7:]).write_text(text)
                subprocess.run([sys.executable, mark[7:]], cwd=folder, check=True)
        refused = next(text for mark, text in marked if mark == "refused").splitlines()
        before = run(program, folder, refused[0].removeprefix("$ "))
        check(before.returncode and before.stderr.splitlines() == refused[1:], "the model is refused", before.stderr)
        after = copy_and_build(root, page, folder)
        commands = next(text for mark, text in marked if mark == "answered").splitlines()
        (folder / "tests").symlink_to(root / "tests")
        answers = [run(after, folder, command + ending) for command, ending in zip(commands, (" --csv", " --json"))]
        for command, answer in zip(commands, answers):
            check(answer.returncode == 0, command, answer.stderr)
        nodes = {row["type"]: row for row in csv.DictReader(io.StringIO(answers[0].stdout))}
        calls = {row["type"]: row for row in json.loads(answers[1].stdout)["ops"]}
        stated = {row[0]: tuple(map(float, row[1:])) for row in ROW.findall(page)}
        for op, expected in counted().items():
            check(op in stated and all(math.isclose(a, b, rel_tol=1e-3) for a, b in zip(stated[op], expected)),
                  f"the page's numbers of {op}", f"{stated.get(op)}, counted {expected}")
            node = nodes.get(op, {})
            found = tuple(float(node.get(key, "nan")) for key in ("flop", "read_bytes", "write_bytes"))
            found += (calls.get(op, {}).get("time_s", math.nan),)
            check(all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(found, expected)),
                  f"the program's numbers of {op}", f"{found}, counted {expected}")
    print(f"1..{count}")


main()
