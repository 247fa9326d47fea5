#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_options.py - ROOT [--check]: write python/centimani/questions.py from the program's option tables.

Every command becomes a function, with types and help texts. Options of a parallel plan and of how a step runs are the
fields of two dataclasses, Plan and Tuning; functions also take them as keywords. --check compares instead.
"""
import pathlib
import re
import sys
import textwrap

# Options about the form of the output. A function answers with an object.
HIDDEN = {"--json", "--csv", "--html", "--help", "-h", "-o", "--device", "--full", "--check"}
# Kinds of values in options.def; all others are texts.
TYPES = {
    "flag": "bool", "graphs": "bool", "no_fuse": "bool", "spot": "bool",
    "whole_number": "int", "count": "int", "workers": "int", "zero": "Literal[0, 1, 2, 3]",
    "batch": "Union[int, str]", "amount": "Union[float, str]", "sparsity": "Union[float, str]",
    "compress": "Union[float, str]", "real": "float", "usd": "Union[float, str]", "duration": "Union[float, str]",
    "counts": "Sequence[int]", "candidates": "Sequence[int]", "switch": "Union[bool, str]",
    "dimension": "Mapping[str, int]", "price": "Mapping[str, float]", "lora": "Union[str, Mapping[str, Any]]", "software": "Union[int, str]", "tokens_per_sample": "Union[float, str]",
    "offload": "Union[str, Sequence[str]]",
}
TEXT_LISTS = {"--devices", "--freeze", "--where", "--largest", "--clusters"}
# Kinds whose values are the words that the help text lists; those of OPEN have others, too.
WORDS = {"precision", "optimizer", "mode", "loss", "attention", "loss_kernel", "logits", "moments", "fuse", "layout", "quantize", "basis",
         "objective_plan", "objective_batch", "objective_device", "schedule", "mixed_precision", "launcher", "scheduler", "lookup_grid"}
OPEN = {"recompute", "recompute_or_auto", "runtime"}
# The dataclasses: name, purpose, the groups of options.def of which the options of predict are its fields, and those that are not.
CLASSES = (
    ("Plan", "How a step is divided over several devices.", ("several devices",), ()),
    ("Tuning", "How a step runs: its software, its memory, adapters and data loading.",
     ("model and step", "device and software", "adapters and quantized weights", "data loading"),
     ("--batch", "--seq", "--precision", "--optimizer", "--mode", "--recompute", "--runtime")),
)
# Command, the program's command and its mask in cli.h, operands, type of the answer.
COMMANDS = (
    ("graph", "graph", "FOR_GRAPH", "model: Model", "Graph"),
    ("predict", "predict", "FOR_PREDICT | FOR_GATES", "model: Model, *devices: str", "Table[Prediction]"),
    ("memory", "memory", "FOR_MEMORY", "model: Model, *devices: str", "Table[Memory]"),
    ("fits", "fits", "FOR_FITS", "model: Model, device: str", "Fit"),
    ("batch", "batch", "FOR_BATCH", "model: Model, device: str", "Batch"),
    ("rank", "rank", "FOR_RANK | FOR_GATES", "model: Union[Model, Sequence[Model], Mapping[Any, float]] = ()", "Table[Ranked]"),
    ("scale", "scale", "FOR_SCALE", "model: Model, device: str", "Scale"),
    ("plan", "plan", "FOR_PLAN", "model: Model, device: str", "Plans"),
    ("explain", "explain", "FOR_EXPLAIN", "model: Model, device: str", "Explanation"),
    ("timeline", "explain", "FOR_EXPLAIN", "model: Model, device: str", "Timeline"),
    ("lookups", "lookups", "FOR_LOOKUPS", "*devices: str", "Table[LookupRate]"),
)
HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""questions.py - the program's questions as functions. Made by tools/python_options.py from cli/options.def; do not
edit."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Mapping, Optional, Sequence, TypedDict, Union

from .library import Given, Model, one, per_device, ranking, rates
from .results import Batch, Explanation, Fit, Graph, LookupRate, Memory, Plans, Prediction, Ranked, Scale, Table, Timeline

if TYPE_CHECKING:
    from typing_extensions import Unpack
'''


def masks(header):
    """Bits of the FOR_ names of cli.h."""
    values = {}
    body = re.search(r"/\* Which commands take an option\. \*/\s*enum \{(.*?)\};", header, re.S).group(1)
    for name, value in re.findall(r"(FOR_\w+) = ([^,}]+)", body):
        values[name] = eval(value, {}, dict(values))  # an expression of numbers and earlier names
    return values


def rows(table, bits):
    """(name, kind, mask, help, group) of every option."""
    pattern = r'OPT\("([^"]+)",\s*(?:NULL|"[^"]*"),\s*(\w+),\s*[\w.]+,\s*([A-Z_|\s]+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+|NULL)\)'
    found = 0
    for part in re.split(r'\nGROUP\("', table)[1:]:
        for name, kind, mask, text in re.findall(pattern, part):
            found += 1
            yield name, kind, eval(" ".join(mask.split()), {}, dict(bits)), "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)), part.split('"')[0]
    if found != table.count("\nOPT("):
        sys.exit(f"options.def: {table.count(chr(10) + 'OPT(')} options, {found} understood")


def in_python(row, known):
    """The row with keywords instead of options in its help text."""
    text = re.sub(r"(?<![\w-])--?[a-z][a-z-]*", lambda m: keyword(m[0]) if m[0] in known else m[0], row[3])
    return (*row[:3], text, row[4])


def keyword(name):
    word = name.lstrip("-").replace("-", "_")
    return word + "_" if word in ("as", "async", "for", "from") else word


def words_in(text):
    """The list of words in a help text: "a, b (default) or c"."""
    note = r" \((?:[^()]|\([^()]*\))*\)|\[[^]]*\]"
    item = rf"[a-z0-9][a-z0-9-]*(?:{note})*"
    runs = re.findall(rf"{item}(?:(?:, or |, | or ){item})+", text)
    best = max((re.split(r", or |, | or ", re.sub(note, "", run)) for run in runs), key=lambda words: (words[-1] != "whose", len(words)))
    return "Literal[" + ", ".join(f'"{word}"' for word in dict.fromkeys(best)) + "]"


def alias(kind):
    return kind.title().replace("_", "")


def type_of(name, kind):
    if kind in WORDS or kind in OPEN:
        return alias(kind)
    return "Union[str, Sequence[str]]" if name in TEXT_LISTS else TYPES.get(kind, "str")


def aliases(table):
    """Types of the options whose values are words."""
    texts = {kind: text for _, kind, _, text, _ in reversed(table)}
    return "\n".join(wrapped(f"{alias(kind)} = ", f"Union[{words_in(texts[kind])}, str]" if kind in OPEN else words_in(texts[kind]), 4)
                     for kind in sorted(WORDS | OPEN)) + "\n"


KEPT = "\u00a0"  # a space where a line must not end


def wrapped(prefix, text, indent=8):
    return textwrap.fill(text, 118, initial_indent=prefix, subsequent_indent=" " * indent,
                         break_on_hyphens=False, break_long_words=False).replace(KEPT, " ")


def field(row):
    return f"{keyword(row[0])}: Optional[{type_of(row[0], row[1])}] = None"


def dataclass(name, purpose, options):
    lines = ["@dataclass(frozen=True, repr=False)", f"class {name}(Given):", f'    """{purpose} What is not given is the program\'s default.', ""]
    lines += [wrapped(f"    {keyword(row[0])}: ", row[3]) for row in options] + ['    """']
    return "\n".join(lines + [wrapped("    ", field(row)) for row in options]) + "\n"


def keywords_class(name, base, options):
    """Fields of a dataclass as keywords, for type checkers."""
    fields = [wrapped("    ", f"{keyword(row[0])}: Optional[{type_of(row[0], row[1])}]") for row in options]
    return "\n".join([f"class {name}({base}, total=False):"] + fields) + "\n"


def function(name, command, operands, result, options, taken, summary):
    """`taken`: names of the dataclasses whose fields the command takes."""
    words = [operands] + ([] if "*" in operands else ["*"]) + [field(row).replace(" ", KEPT) for row in options]
    words += [f"{taker.lower()}: Optional[{taker}] = None".replace(" ", KEPT) for taker in taken]
    words += [f"**more: Unpack[{'Both' if len(taken) > 1 else 'Tuned'}]".replace(" ", KEPT)] if taken else []
    call = {"Table[Ranked]": "ranking(", "Table[Prediction]": "per_device(Prediction, ",
            "Table[Memory]": "per_device(Memory, ", "Table[LookupRate]": "rates("}.get(result, f"one({result}, ")
    lines = [wrapped(f"def {name}(", f"{', '.join(words)}){KEPT}->{KEPT}{result}:", len(f"def {name}(")), f'    """{summary}.', ""]
    lines += [wrapped(f"    {keyword(row[0])}: ", row[3]) for row in options]
    lines += [f"    {taker.lower()}: a centimani.{taker}; its fields may also be given as keywords" for taker in taken]
    if len(taken) > 1 and any(row[1] == "counts" for row in options):
        lines[0] = lines[0].replace("\n", "  # type: ignore[misc]  # n: several numbers\n", 1)
    return "\n".join(lines + ['    """', f'    return {call}"{command}", locals())']) + "\n"


def make(root):
    bits = masks((root / "cli/cli.h").read_text())
    table = list(rows("\n" + (root / "cli/options.def").read_text(), bits))
    table = [in_python(row, {row[0] for row in table}) for row in table]
    main = (root / "cli/main.c").read_text()
    per_command, kinds = {}, {}  # kinds: of the fields of the dataclasses
    for name, _, mask, *_ in COMMANDS:
        mask, seen = eval(mask, {}, dict(bits)), set(HIDDEN)
        per_command[name] = [row for row in table if row[2] & mask and row[3] and not (row[0] in seen or seen.add(row[0]))]
    planned = [n for n in per_command if any(row[0] == "--tp" for row in per_command[n])]
    classes = {}
    for title, _, groups, known in CLASSES:
        classes[title] = {row[0]: row for row in per_command["predict"] if row[4] in groups and row[0] not in known}
    parts = [HEAD + "\n" + aliases(table)] + [dataclass(title, purpose, classes[title].values()) for title, purpose, *_ in CLASSES]
    parts += [keywords_class("Tuned", "TypedDict", classes["Tuning"].values()), keywords_class("Both", "Tuned", classes["Plan"].values())]
    for name, command, _, operands, result in COMMANDS:
        taken = {title: fields for title, fields in classes.items() if title == "Tuning" and "model" in operands or name in planned}
        options = [row for row in per_command[name] if not any(row[0] in f and f[row[0]][1] == row[1] for f in taken.values())]
        summary = re.search(r'\{"%s", "[^"]*",\s*"([^"]*)"' % command, main).group(1)
        summary += "; the whole step as lanes, operators, memory and rooflines" if name == "timeline" else ""
        parts.append(function(name, command, operands, result, options, list(taken), summary))
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
