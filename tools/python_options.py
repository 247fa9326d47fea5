#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_options.py - ROOT [--check]: write python/centimani/questions.py from the program's option tables.

Every command becomes a function whose keyword arguments are the command's options, with types and help texts.
--check compares instead, and fails if the file is out of date.
"""
import pathlib
import re
import sys
import textwrap

# Options about the form of the output. A function answers with an object.
HIDDEN = {"--json", "--csv", "--html", "--help", "-h", "-o", "--device"}
# Kinds of values in options.def; all others are texts.
TYPES = {
    "flag": "bool", "graphs": "bool", "no_fuse": "bool",
    "whole_number": "int", "count": "int", "workers": "int", "zero": "int",
    "batch": "Union[int, str]", "amount": "Union[float, str]", "sparsity": "Union[float, str]",
    "compress": "Union[float, str]", "real": "float", "duration": "Union[float, str]",
    "counts": "Sequence[int]", "candidates": "Sequence[int]", "switch": "Union[bool, str]",
    "dimension": "Mapping[str, int]", "price": "Mapping[str, float]", "lora": "Union[str, Mapping[str, Any]]", "software": "Union[int, str]", "tokens_per_sample": "Union[float, str]",
    "offload": "Union[str, Sequence[str]]",
}
TEXT_LISTS = {"--devices", "--freeze", "--where"}
# Command, its mask in cli.h, operands, type of the answer.
COMMANDS = (
    ("graph", "FOR_GRAPH", "model: Model", "Graph"),
    ("predict", "FOR_PREDICT | FOR_GATES", "model: Model, *devices: str", "Table[Prediction]"),
    ("memory", "FOR_MEMORY", "model: Model, *devices: str", "Table[Memory]"),
    ("fits", "FOR_FITS", "model: Model, device: str", "Fit"),
    ("batch", "FOR_BATCH", "model: Model, device: str", "Batch"),
    ("rank", "FOR_RANK", "model: Model", "Table[Ranked]"),
    ("scale", "FOR_SCALE", "model: Model, device: str", "Scale"),
    ("plan", "FOR_PLAN", "model: Model, device: str", "Plan"),
    ("explain", "FOR_EXPLAIN", "model: Model, device: str", "Explanation"),
    ("lookups", "FOR_LOOKUPS", "*devices: str", "Table[LookupRate]"),
)
HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""questions.py - the program's questions as functions. Made by tools/python_options.py from cli/options.def; do not
edit."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Union

from .library import Model, one, per_device, ranking, rates
from .results import Batch, Explanation, Fit, Graph, LookupRate, Memory, Plan, Prediction, Ranked, Scale, Table
'''


def masks(header):
    """Bits of the FOR_ names of cli.h."""
    values = {}
    body = re.search(r"/\* Which commands take an option\. \*/\s*enum \{(.*?)\};", header, re.S).group(1)
    for name, value in re.findall(r"(FOR_\w+) = ([^,}]+)", body):
        values[name] = eval(value, {}, dict(values))  # an expression of numbers and earlier names
    return values


def rows(table, bits):
    """(name, kind, mask, help) of every option."""
    pattern = r'OPT\("([^"]+)",\s*(?:NULL|"[^"]*"),\s*(\w+),\s*[\w.]+,\s*([A-Z_|\s]+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+|NULL)\)'
    found = re.findall(pattern, table)
    if len(found) != table.count("\nOPT("):
        sys.exit(f"options.def: {table.count(chr(10) + 'OPT(')} options, {len(found)} understood")
    for name, kind, mask, text in found:
        yield name, kind, eval(" ".join(mask.split()), {}, dict(bits)), "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text))


def keyword(name):
    word = name.lstrip("-").replace("-", "_")
    return word + "_" if word in ("async", "for", "from") else word


def type_of(name, kind):
    return "Union[str, Sequence[str]]" if name in TEXT_LISTS else TYPES.get(kind, "str")


def summary_of(main, command):
    return re.search(r'\{"%s", "[^"]*",\s*"([^"]*)"' % command, main).group(1)


KEPT = "\u00a0"  # a space where a line must not end


def wrapped(prefix, text, indent=8):
    return textwrap.fill(text, 118, initial_indent=prefix, subsequent_indent=" " * indent,
                         break_on_hyphens=False).replace(KEPT, " ")


def function(command, operands, result, options, summary):
    words = ", ".join([operands] + ([] if "*" in operands else ["*"]) +
                      [f"{keyword(n)}: Optional[{type_of(n, k)}] = None".replace(" ", KEPT) for n, k, _, _ in options])
    given = ", ".join(f'"{n}":{KEPT}{keyword(n)}' for n, _, _, _ in options)
    call = {"Table[Ranked]": "ranking(", "Table[Prediction]": "per_device(Prediction, ",
            "Table[Memory]": "per_device(Memory, ", "Table[LookupRate]": "rates("}.get(result, f"one({result}, ")
    place = "" if "device" not in operands else "devices, " if "*" in operands else "(device,), "
    place = place or ("" if result.startswith("Table") else "(), ")
    subject = "model, " if "model" in operands else ""
    lines = [wrapped(f"def {command}(", f"{words}){KEPT}->{KEPT}{result}:", len(f"def {command}(")), f'    """{summary}.', ""]
    lines += [wrapped(f"    {keyword(n)}: ", text) for n, _, _, text in options]
    lines += ['    """', wrapped("    return " + call, f'"{command}", {subject}{place}{{{given}}})')]
    return "\n".join(lines) + "\n"


def make(root):
    bits = masks((root / "cli/cli.h").read_text())
    table = list(rows("\n" + (root / "cli/options.def").read_text(), bits))
    main = (root / "cli/main.c").read_text()
    parts = [HEAD]
    for command, mask, operands, result in COMMANDS:
        options, seen = [], set(HIDDEN)
        for row in table:
            if row[2] & eval(mask, {}, dict(bits)) and row[0] not in seen and row[3]:
                seen.add(row[0])
                options.append(row)
        parts.append(function(command, operands, result, options, summary_of(main, command)))
    return "\n\n".join(parts)


def main():
    root = pathlib.Path(sys.argv[1])
    path, text = root / "python/centimani/questions.py", make(root)
    if sys.argv[2:] == ["--check"]:
        if not path.exists() or path.read_text() != text:
            sys.exit("python/centimani/questions.py is out of date: run tools/python_options.py .")
        return
    path.write_text(text)


main()
