#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py - GCC ASAN CLANG TSAN: run the test suites of each build folder; print what failed, and one line with all counts."""
import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as xml

SUITES = (["cli", "validation", "python", "bench", "browser", "laws", "plan", "ecosystem"],
          ["unit", "corpus", "cli", "serve"], ["style", "fuzz"], ["threads"])


LAST_LINES = 30  # of a failed test's output, printed again at the end


def failed_tests(folder):
    """(name, last lines of output) of each test of the newest run in folder that did not pass."""
    log = pathlib.Path(folder, "meson-logs", "testlog.json")
    tests = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    for test in tests:
        if test["result"] not in ("OK", "EXPECTEDFAIL", "SKIP"):
            said = (test.get("stdout", "") + test.get("stderr", "")).splitlines()
            wrong = [line for line in said if line.startswith("not ok")]
            yield f"{folder}: {test['name']}: {test['result']} after {test['duration']:.0f} s", wrong + said[-LAST_LINES:]


def run(folder, suites):
    """Run suites of one build; returns (passed, failed, skipped)."""
    log = pathlib.Path(folder, "meson-logs", "testlog.junit.xml")
    log.unlink(missing_ok=True)
    chosen = [word for suite in suites for word in ("--suite", suite)]
    done = subprocess.run(["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", *chosen], check=False)
    if not log.exists():
        return (0, 1, 0)
    counts = [0, 0, 0]
    for case in xml.parse(log).iter("testcase"):
        bad = case.find("failure") is not None or case.find("error") is not None
        counts[1 if bad else 2 if case.find("skipped") is not None else 0] += 1
    if done.returncode and not counts[1]:
        counts[1] = 1
    return tuple(counts)


def main():
    totals = [sum(column) for column in zip(*(run(f, s) for f, s in zip(sys.argv[1:], SUITES)))]
    for name, lines in (test for folder in sys.argv[1:] for test in failed_tests(folder)):
        print("failed:", name, *("    " + line for line in lines), sep="\n", flush=True)
    print(f"{totals[0]} passed, {totals[1]} failed, {totals[2]} skipped", flush=True)
    return 1 if totals[1] or not totals[0] else 0


sys.exit(main())
