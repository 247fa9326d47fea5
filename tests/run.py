#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py - GCC ASAN CLANG TSAN: run the test suites of each build folder; print what failed, and one line with all counts.

One suite runs on each core; meson alone would wait for the last test of a build before it starts the next build's.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

BUILDS = ("gcc", "asan", "clang", "tsan")
# The longest first.
SUITES = (("gcc", "ecosystem"), ("asan", "unit"), ("gcc", "python"), ("gcc", "browser"), ("gcc", "validation"), ("gcc", "laws"), ("asan", "cli"),
          ("gcc", "cli"), ("clang", "fuzz"), ("tsan", "threads"), ("clang", "style"), ("asan", "serve"), ("asan", "corpus"))
ALONE = (("gcc", "bench"), ("gcc", "plan"))  # their programs use all cores
LAST_LINES = 30  # of a failed test's output, printed again at the end


class Run:
    """The tests of one suite in one build folder."""

    def __init__(self, folder, suite):
        self.name = f"{folder} {suite}"
        log = pathlib.Path(folder, "meson-logs", f"{suite}.junit.xml")
        log.unlink(missing_ok=True)
        began = time.monotonic()
        done = subprocess.run(["meson", "test", "-C", folder, "--no-rebuild", "--num-processes", "1", "--logbase", suite, "--suite", suite,
                               "--print-errorlogs"], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(f"{self.name}, {time.monotonic() - began:.0f} s\n{done.stdout}", end="", flush=True)
        self.counts = [0, 0, 0]  # passed, failed, skipped
        for case in xml.parse(log).iter("testcase") if log.exists() else ():
            bad = case.find("failure") is not None or case.find("error") is not None
            self.counts[1 if bad else 2 if case.find("skipped") is not None else 0] += 1
        if done.returncode and not self.counts[1]:
            self.counts[1] = 1
        self.log = log.with_name(f"{suite}.json")

    def failed_tests(self):
        """(name, last lines of output) of each test that did not pass."""
        tests = [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
        for test in tests:
            if test["result"] not in ("OK", "EXPECTEDFAIL", "SKIP"):
                said = (test.get("stdout", "") + test.get("stderr", "")).splitlines()
                wrong = [line for line in said if line.startswith("not ok")]
                yield f"{self.name}: {test['name']}: {test['result']} after {test['duration']:.0f} s", wrong + said[-LAST_LINES:]


def main():
    folders = dict(zip(BUILDS, sys.argv[1:]))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as cores:
        runs = list(cores.map(lambda job: Run(folders[job[0]], job[1]), SUITES))
    runs += [Run(folders[build], suite) for build, suite in ALONE]
    for name, lines in (test for run in runs for test in run.failed_tests()):
        print("failed:", name, *("    " + line for line in lines), sep="\n", flush=True)
    totals = [sum(column) for column in zip(*(run.counts for run in runs))]
    print(f"{totals[0]} passed, {totals[1]} failed, {totals[2]} skipped", flush=True)
    return 1 if totals[1] or not totals[0] else 0


sys.exit(main())
