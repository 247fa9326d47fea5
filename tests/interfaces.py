#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""interfaces.py - ROOT: every declared function is used, and the public header has one style.

1. A function declared in a header of src/ is named in another source file than the one that defines it: otherwise it
   is dead, or it can be static. Tests and tools count as users only if the defining file calls it too.
2. The public header names nothing internal.
3. A list has two functions: cm_x_things() counts, and cm_x_thing(x, index) returns one entry. If that name is a type,
   the entry is cm_x_get_thing(x, index).
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
WORD = re.compile(r"\bcm__?\w+")
IRREGULAR = {"memories": "memory", "summaries": "summary", "device_summaries": "device_summary", "batches": "batch",
             "classes": "class", "entries": "entry", "sensitivities": "sensitivity"}
# A number, not a list: devices of a fabric; nodes before fusion; ranked entries are a prefix of all entries.
NUMBERS = {"cm_fabric_devices", "cm_fabric_node", "cm_graph_nodes_read", "cm_ranking_placed", "cm_bench_unmeasured"}


def code(path):
    """The text of a file without comments and string literals."""
    return re.sub(r"/\*.*?\*/|\"(\\.|[^\"\\\n])*\"", "", path.read_text(), flags=re.S)


def files(folders, endings):
    return [p for f in folders for p in sorted((ROOT / f).rglob("*")) if p.suffix in endings and p.is_file()]


def unused(texts):
    """(function, header) for every function that no file but its own uses."""
    tests = {w for p in files(["tests", "tools", "bench"], {".c", ".h"}) for w in WORD.findall(code(p))}
    users = {}
    for path, text in texts.items():
        for word in WORD.findall(text):
            users.setdefault(word, {}).setdefault(path, 0)
            users[word][path] += 1
    pasted = [(re.compile(re.sub(r"\s*##\s*\w+\s*(##\s*)?", r"\\w+", macro) + "$"), path)
              for path, text in texts.items() for macro in re.findall(r"\bcm__\w*(?:\s*##\s*\w+)+", text)]
    found = []
    for header in [p for p in texts if p.suffix == ".h" and "src" in p.parts]:
        text = texts[header]
        for name in sorted(set(re.findall(r"\b(cm__\w+)\s*\([^;{]*\)[^;{]*;", text))):
            if re.search(rf"typedef[^;]*\b{name}\b", text) or re.search(rf"\b{name}\b[^;]*\)\s*\n?{{", text):
                continue  # a function type, or defined inline
            if len(re.findall(rf"\b{name}\b", text)) > 1:
                continue  # used by a macro of the header
            others = {p: n for p, n in users[name].items() if p != header}
            others.update({path: 1 for pattern, path in pasted if pattern.match(name)})
            called_at_home = len(others) == 1 and list(others.values())[0] > 1
            if len(others) < 2 and not (called_at_home and name in tests):
                found.append((name, header.relative_to(ROOT)))
    return found


def lists(text):
    """Messages about lists of the public header without a function for one entry."""
    types = set(re.findall(r"typedef (?:struct|enum) (cm_\w+)", text))
    functions = set(re.findall(r"\b(cm_\w+)\(", text))
    for count in re.findall(r"^int32_t\s+(cm_\w+)\((?:const cm_\w+ \*\w+|cm_choice \w+)\);", text, flags=re.M):
        owner, _, plural = count[3:].partition("_")
        if count in NUMBERS or not (plural in IRREGULAR or plural.endswith("s")) or plural == "dies":
            continue
        one = IRREGULAR.get(plural, plural[:-1])
        entry = f"cm_{owner}_{one}"
        entry = f"cm_{owner}_get_{one}" if entry in types else entry
        if entry not in functions:
            yield f"{count}() has no {entry}()"


def main():
    texts = {p: code(p) for p in files(["src", "cli", "include"], {".c", ".h", ".def"})}
    problems = [f"{header}: {name}() is used in no other file" for name, header in unused(texts)]
    public = texts[ROOT / "include" / "centimani.h"]
    problems += [f"include/centimani.h: {word} is internal" for word in sorted(set(re.findall(r"\bcm__\w+", public)))]
    problems += [f"include/centimani.h: {message}" for message in lists(public)]
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


main()
