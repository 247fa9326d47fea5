#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mirror.py - ROOT: tests/unit mirrors src/: every source file that holds logic has a test file of the same name.

Prints, per folder, the source files that hold logic and those with a test file. Fails if a source file has neither a
test file nor a line in tests/unit/untested.txt, if such a line is no longer true, or if a test file is not built.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
UNIT = ROOT / "tests" / "unit"


def listed():
    """{source file: reason} of tests/unit/untested.txt: a reason is a line ending in ':', its files follow."""
    files, reason = {}, ""
    for line in (UNIT / "untested.txt").read_text().splitlines():
        line = line.split("#")[0].strip()
        if line.endswith(":"):
            reason = line[:-1]
        elif line:
            for name in line.split():
                files[name] = reason
    return files


def matches(name, patterns):
    return next((p for p in patterns if name == p or p.endswith("/") and name.startswith(p)), None)


def main():
    patterns, problems, used = listed(), [], set()
    logic, tested = collections.Counter(), collections.Counter()
    reasons = collections.Counter()
    for source in sorted((ROOT / "src").rglob("*.c")):
        name = source.relative_to(ROOT / "src")
        has_test = (UNIT / name.parent / f"test_{name.name}").exists()
        line = matches(name.as_posix(), patterns)
        used.add(line)
        if line and has_test and not line.endswith("/"):
            problems.append(f"tests/unit/untested.txt: src/{name} has a test file")
        if line and not has_test:
            reasons[patterns[line]] += 1
            if patterns[line] != "to be written":
                continue
        logic[name.parent.as_posix()] += 1
        tested[name.parent.as_posix()] += has_test
        if not has_test and not line:
            problems.append(f"src/{name} has no test file: write tests/unit/{name.parent}/test_{name.name}")
    problems += [f"tests/unit/untested.txt: {p} does not exist" for p in patterns if p not in used]
    built = (UNIT / "meson.build").read_text()
    for test in sorted(UNIT.rglob("test_*.c")):
        folder, name = test.parent.relative_to(UNIT).as_posix(), test.stem[len("test_"):]
        names = re.search(rf"'{re.escape(folder)}': \[(.*?)\]", built, flags=re.S)
        if not (names and f"'{name}'" in names[1]) and f"{test.relative_to(UNIT).as_posix()}'" not in built:
            problems.append(f"tests/unit/meson.build does not list {folder}/{name}")
    for folder in logic:
        print(f"# {folder:24} {tested[folder]:3} of {logic[folder]:3} source files with logic have a test file")
    print(f"# {'all':24} {sum(tested.values()):3} of {sum(logic.values()):3};",
          ", ".join(f"{n} {reason}" for reason, n in reasons.items()))
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


main()
