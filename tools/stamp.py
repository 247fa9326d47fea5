# SPDX-License-Identifier: Apache-2.0
"""stamp.py - OUT.c DEPFILE ROOT [STAMP.c]: write the sum of all sources that the tables computed by a build follow from.

With STAMP.c, the file that another build wrote, fails if the sums differ: the tables of that build are of other sources.
"""
import glob
import hashlib
import os
import re
import sys

SOURCES = ["data/*.tsv", "data/*.json", "data/devices/*.json", "data/kernels/*.json", "src/base/*.[ch]", "src/device/*.[ch]", "src/device/*.def",
           "src/device/fits/*.[ch]", "src/graph/*.def", "src/model/time/*.[ch]", "src/model/time/*.def", "tools/embed.py", "tools/precompute*"]


def files_of(root):
    return sorted({name for pattern in SOURCES for name in glob.glob(os.path.join(root, pattern))})


def sum_of(root, names):
    total = hashlib.sha256()
    for name in names:
        with open(name, "rb") as file:
            content = file.read()
        total.update(f"{os.path.relpath(name, root)} {len(content)}\n".encode() + content)
    return total.hexdigest()


def main(out, depfile, root, *other):
    names = files_of(root)
    total = sum_of(root, names)
    for path in other:
        found = re.search(r'"([0-9a-f]{64})"', open(path).read()) if os.path.exists(path) else None
        if not found or found.group(1) != total:
            folder = os.path.dirname(os.path.dirname(path))
            sys.exit(f"the tables in {folder} were computed from other sources: build {folder} again (tools/build.sh {os.path.basename(folder)})")
    with open(depfile, "w") as file:
        file.write(f"{out}: " + " ".join(name.replace(" ", "\\ ") for name in [*names, *other]) + "\n")
    with open(out, "w") as file:
        file.write(f'/* Written by tools/stamp.py. */\nextern const char cm__sources_stamp[];\nconst char cm__sources_stamp[] = "{total}";\n')


main(*sys.argv[1:])
