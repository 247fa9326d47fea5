#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""adding.py - PROGRAM ROOT: follow docs/dev/adding-an-operator.md and docs/dev/adding-a-runtime.md, and compare the
answers with their numbers.

The pages mark their indented blocks with comments:

    write: FILE                                 the block is a program, which is run
    new file: FILE                              the block is a file of the source
    refused                                     the command's message before the additions, with a status that is not 0
    add to FILE after|before the line with: X   the block is a part of FILE; X occurs in one line of it
    answered                                    commands that must succeed afterwards

PROGRAM must refuse the question. The additions of both pages are made in one copy of ROOT, which is built without
optimisation. The first page's table of FLOP, bytes and time must equal the counts made here, and those of the built
program; a product must take the time of the second page's table, and its gradients that of eager PyTorch's.
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

PAGES = ["docs/dev/adding-an-operator.md", "docs/dev/adding-a-runtime.md"]
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


def copy_and_build(root, pages, folder):
    """The program of a copy of the source with the pages' additions."""
    copy = folder / "source"
    shutil.copytree(root, copy, ignore=built)
    made = 0
    for mark, text in (block for page in pages for block in blocks(page)):
        where = ADD.fullmatch(mark)
        if mark.startswith("new file: "):
            (copy / mark[10:]).write_text(text)
        elif where:
            add(copy, *where.groups(), text)
        made += bool(where) or mark.startswith("new file: ")
    for command in (["meson", "setup", "b", *BUILD], ["ninja", "--quiet", "-C", "b", "centimani"]):
        done = subprocess.run(command, cwd=copy, check=False, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}:\n{(done.stdout + done.stderr)[-4000:]}")
    check(made >= 18, f"the pages' {made} additions build")
    return copy / "b/centimani"


def counted():
    """FLOP, bytes read and written, and seconds of each node, from the definition of the transform."""
    numbers = BATCH * POINTS
    flop = round(2.5 * POINTS * math.log2(POINTS) * BATCH)
    time = (4 * numbers + 8 * numbers) / BANDWIDTH
    return {"DFT": (flop, 4 * numbers, 8 * numbers, time), "DFTGrad": (flop, 8 * numbers, 4 * numbers, time)}


def refuses(program, folder, page):
    command, *message = next(text for mark, text in blocks(page) if mark == "refused").splitlines()
    before = run(program, folder, command.removeprefix("$ "))
    check(before.returncode and before.stderr.splitlines() == message, "the question is refused", before.stderr)


def answers(program, folder, page, endings):
    """What the program prints for the page's commands."""
    commands = next(text for mark, text in blocks(page) if mark == "answered").splitlines()
    found = [run(program, folder, command + ending) for command, ending in zip(commands, endings)]
    for command, answer in zip(commands, found):
        check(answer.returncode == 0, command, answer.stderr)
    return [answer.stdout for answer in found]


def operator_follows(page, found):
    nodes = {row["type"]: row for row in csv.DictReader(io.StringIO(found[0]))}
    calls = {row["type"]: row for row in json.loads(found[1])["ops"]}
    stated = {row[0]: tuple(map(float, row[1:])) for row in ROW.findall(page)}
    for op, expected in counted().items():
        check(op in stated and all(math.isclose(a, b, rel_tol=1e-3) for a, b in zip(stated[op], expected)),
              f"the page's numbers of {op}", f"{stated.get(op)}, counted {expected}")
        node = nodes.get(op, {})
        got = tuple(float(node.get(key, "nan")) for key in ("flop", "read_bytes", "write_bytes"))
        got += (calls.get(op, {}).get("time_s", math.nan),)
        check(all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(got, expected)),
              f"the program's numbers of {op}", f"{got}, counted {expected}")


def table_follows(page, found):
    *sizes, time_s, launches = json.loads(re.search(r'"rows": \[(\[.*?\])', page)[1])
    call = f"gemm forward nn bf16 {','.join(map(str, sizes))}"
    added, eager = ({op["call"]: op for op in json.loads(text)["ops"]} for text in found[:2])
    check(added[call]["how"] == "measured" and math.isclose(added[call]["time_s"], time_s, rel_tol=1e-3),
          "the new table's time", added[call])
    rest = [name for name in eager if name != call and "gemm" in name]
    check(len(rest) == 2 and all(math.isclose(added[name]["time_s"], eager[name]["time_s"], rel_tol=0.05) for name in rest),
          "calls of other tables take eager PyTorch's time", (added, eager))
    check("1 of ort with cuda 13.0" in found[2], "the release of the table", found[2])


def main():
    program, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    pages = [(root / name).read_text() for name in PAGES]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for mark, text in blocks(pages[0]):
            if mark.startswith("write: "):
                (folder / mark[7:]).write_text(text)
                subprocess.run([sys.executable, mark[7:]], cwd=folder, check=True)
        for page in pages:
            refuses(program, folder, page)
        after = copy_and_build(root, pages, folder)
        (folder / "tests").symlink_to(root / "tests")
        operator_follows(pages[0], answers(after, folder, pages[0], (" --csv", " --json")))
        table_follows(pages[1], answers(after, folder, pages[1], ("", "", "", "")))
    print(f"1..{count}")


main()
