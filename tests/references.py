#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""references.py - ROOT: links and anchors of pages, programs of tools/ and members of evidence/ that any file names exist, and
pages that messages and the headers name; a program with a `#!` line can be run by its path, as pages do."""
import os
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\]\(([^)\s]+)\)")
PROGRAM = re.compile(r"(?<![\w/.-])tools/[a-zA-Z0-9_/]+\.(?:py|c|h|sh)\b")
MEMBER = re.compile(r"evidence/([a-z0-9-]+)\.tar\.xz(?:: ([\w-]+\.\w+))?")
PAGE = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md\b")
HISTORY = ("CHANGELOG.md",)
PLACEHOLDERS = ("tools/NAME.c",)


def anchors(text):
    """Anchors as GitHub makes them of headings, and those that are written out."""
    found = set(re.findall(r'id="([^"]+)"', text))
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        found.add(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return found


def broken_links(root, name, text):
    for target in LINK.findall(text):
        path, _, anchor = target.partition("#")
        page = (root / name).parent / path if path else root / name
        if target.startswith(("http", "mailto:")):
            continue
        if not page.exists():
            yield f"link {target}"
        elif anchor and page.suffix == ".md" and anchor not in anchors(page.read_text(encoding="utf-8")):
            yield f"anchor {target}"


def missing(root, name, text):
    if name in HISTORY:
        return
    if name.endswith(".md"):
        yield from broken_links(root, name, text)
    if name.startswith(("cli/", "include/", "python/", "man/")):
        yield from (page for page in sorted(set(PAGE.findall(text))) if not (root / page).exists())
    for program in sorted(set(PROGRAM.findall(text))):
        if not (root / program).exists() and program not in PLACEHOLDERS:
            yield program
    for archive, member in sorted(set(MEMBER.findall(text))):
        if not evidence.archive_of(archive) or member and not evidence.has(archive, member):
            yield f"evidence/{archive}.tar.xz: {member}"


def main():
    files = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=False).stdout.split()
    faults = []
    for name in files:
        try:
            text = (root / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):  # not text, or moved since the last commit
            continue
        faults += [f"{name}: no {what}" for what in missing(root, name, text)]
        if text.startswith("#!") and not name.startswith("data/jobs/") and not os.access(root / name, os.X_OK):
            faults.append(f"{name}: not executable")
    print(*faults, sep="\n", end="\n" if faults else "")
    return bool(faults)


root = pathlib.Path(sys.argv[1]).resolve()
sys.path.append(str(root / "tools"))
import evidence  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
