#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rules.py - ROOT: each number of data/factors.tsv and data/kernel_laws.tsv has a program in the tree that prints it.

`program` of a row is a file of the tree, or studies/NAME.py in evidence/studies.tar.xz. Facts and assumptions have none.
tools/measure_rules.py and tools/fit_factors.py must name their rules.
"""
import pathlib
import sys
import tarfile

ROOT = pathlib.Path(sys.argv[1])
NAMED = {name: (ROOT / name).read_text() for name in ("tools/measure_rules.py", "tools/fit_factors.py")}
MOST = 110  # rows of both files


def rows(name):
    lines = (ROOT / "data" / name).read_text().splitlines()
    head = next(line[2:].split("\t") for line in lines if line.startswith("# rule\t"))
    return [dict(zip(head, line.split("\t"))) for line in lines if not line.startswith("#")]


def main():
    with tarfile.open(ROOT / "evidence/studies.tar.xz") as archive:
        studies = {f"studies/{name}" for name in archive.getnames()}
    every = rows("factors.tsv") + rows("kernel_laws.tsv")
    faults = [f"{len(every)} rows, at most {MOST}"] if len(every) > MOST else []
    faults += [f"{row['rule']}: no program" for row in every if row["program"] == "-" and row["kind"] not in ("spec", "assumed")]
    for row in every:
        program = row["program"]
        if program != "-" and program not in studies and not (ROOT / program).is_file():
            faults.append(f"{row['rule']}: there is no {program}")
        if program in NAMED and f'"{row["rule"]}"' not in NAMED[program]:
            faults.append(f"{row['rule']}: {program} does not name it")
    print("\n".join(faults) or f"{len(every)} rules")
    sys.exit(bool(faults))


main()
