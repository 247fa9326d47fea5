#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""readme.py - [--rewrite] PROGRAM PAGE ...: run the commands in the pages' indented blocks and compare their output.

A line '$ centimani ...' is followed by its output, which is compared (--rewrite: replaced). In a block without such
lines, every line 'centimani ...' must exit with status 0, or 3: unsure whether it fits. A block below '<!-- not run: REASON -->' is skipped. Commands find the folder examples/. On a
page with '<!-- commands in tables are run -->', every `centimani ...` in a table must do so, too.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

UNSURE = 3
BLOCK = re.compile(r"^    .*\n(?:    .*\n|\n(?=\n*    ))*", re.MULTILINE)
EXAMPLE = re.compile(r"^(?=    \$ )", re.MULTILINE)
NOT_RUN = re.compile(r"<!-- not run: \S.* -->\n+\Z")
TABLES_RUN = "<!-- commands in tables are run -->"
IN_TABLE = re.compile(r"`(centimani [^`]*)`")
COMPARED = "    $ centimani "
STATUS_ONLY = "    centimani "


def run(program, folder, command):
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(command, shell=True, cwd=folder, env={**os.environ, "PATH": path, "COLUMNS": "100"}, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class Page:
    """One page: its text with current output, and the commands that failed."""

    def __init__(self, program, folder, path):
        self.program, self.folder, self.path, self.failed, self.ran = program, folder, path, [], 0
        self.old = path.read_text()
        self.new = BLOCK.sub(self.block, self.old)
        for line in self.old.splitlines() if TABLES_RUN in self.old else []:
            for command in IN_TABLE.findall(line) if line.startswith("|") else []:
                self.call(command)

    def call(self, command):
        answer = run(self.program, self.folder, command)
        self.ran += 1
        if answer.returncode not in (0, UNSURE):
            self.failed.append(f"status {answer.returncode} of '{command}': {answer.stderr.decode()}")
        return answer.stdout.decode()

    def block(self, match):
        text = match.group()
        if NOT_RUN.search(self.old[:match.start()]):
            return text
        if COMPARED in text:
            return "\n".join(self.example(part) for part in EXAMPLE.split(text) if part.strip())
        for line in text.replace("\\\n", "").splitlines():
            if line.startswith(STATUS_ONLY):
                self.call(line.strip())
        return text

    def example(self, text):
        """A command and its output, as one part of a block."""
        command = text.split("\n", 1)[0]
        if not command.startswith(COMPARED):
            return text.rstrip("\n") + "\n"
        output = self.call(command.strip()[2:])
        return command + "\n" + "".join(f"    {line}".rstrip() + "\n" for line in output.splitlines())


def check(page, rewrite):
    for failure in page.failed:
        print(f"{page.path.name}: {failure}")
    if rewrite:
        page.path.write_text(page.new)
    elif page.old != page.new:
        print(f"{page.path.name} shows other output than the program prints; 'make golden' rewrites it")
    if not page.ran:
        print(f"{page.path.name} has no command to run")
    return bool(page.failed) or not page.ran or (page.old != page.new and not rewrite)


def main():
    rewrite = "--rewrite" in sys.argv
    program, *paths = (pathlib.Path(a).resolve() for a in sys.argv[1:] if a != "--rewrite")
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(pathlib.Path(__file__).resolve().parent.parent / "examples", f"{folder}/examples")
        return any([check(Page(program, folder, path), rewrite) for path in paths])


sys.exit(main())
