#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""readme.py - [--rewrite] PROGRAM README: what the page shows under '<!-- COMMAND -->' is what COMMAND prints."""
import pathlib
import re
import shlex
import subprocess
import sys

BLOCK = re.compile(r"<!-- centimani (.*?) -->\n(.*?)<!-- end -->\n", re.DOTALL)


def shown(program, arguments):
    text = subprocess.run([program, *shlex.split(arguments)], stdout=subprocess.PIPE, check=True).stdout.decode()
    lines = "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines())
    return f"<!-- centimani {arguments} -->\n\n{lines}\n<!-- end -->\n"


def main():
    program, readme = (pathlib.Path(a).resolve() for a in sys.argv[1:] if a != "--rewrite")
    old = readme.read_text()
    new = BLOCK.sub(lambda block: shown(program, block.group(1)), old)
    if "--rewrite" in sys.argv:
        readme.write_text(new)
        return 0
    if old != new:
        print("README.md shows other output than the program prints; 'make golden' rewrites it")
    return old != new


sys.exit(main())
