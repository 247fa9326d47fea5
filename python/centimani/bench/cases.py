# SPDX-License-Identifier: Apache-2.0
"""cases.py - a case is one call with its sizes; read cases from a file or a line and refuse invalid ones."""
import collections
import json

Case = collections.namedtuple("Case", "op phase variant dtype sizes")  # phase: the profile's `pass`, a Python keyword

DTYPES = ("fp32", "tf32", "bf16", "fp16", "complex64", "fp8")
HALVES = ("bf16", "fp16")
LARGEST_SIZE = 2**40


class BadCase(ValueError):
    """The user's input does not describe a valid call; the text is a one-line message."""


def split_dtype(text):
    """'bf16+fp32>fp32' -> (['bf16', 'fp32'], 'fp32'); a single name is operand and result."""
    operands, _, result = text.partition(">")
    names = operands.split("+")
    return names, result or names[0]


def width_of(case):
    """Bytes of an element of the first operand."""
    first = split_dtype(case.dtype)[0][0]
    return {"complex64": 8, "fp8": 1}.get(first, 2 if first in HALVES else 4)


def label(case):
    words = [case.op, case.phase, case.variant, case.dtype, ",".join(map(str, case.sizes))]
    return " ".join(word for word in words if word)


def check(case, calls):
    """Refuse a case that matches no row of the table of calls."""
    call = calls.get(case.op)
    if call is None:
        raise BadCase(f"unknown op '{case.op}'; known ops are: {', '.join(calls)}")
    if case.phase not in call.phases:
        raise BadCase(f"{case.op} has no pass '{case.phase}'; it has: {', '.join(call.phases)}")
    if case.variant not in call.variants:
        known = ", ".join(variant or "(none)" for variant in call.variants)
        raise BadCase(f"{case.op} has no variant '{case.variant}'; it has: {known}")
    operands, result = split_dtype(case.dtype)
    for name in operands + [result]:
        if name not in DTYPES:
            raise BadCase(f"unknown dtype '{case.dtype}'; names are {', '.join(DTYPES)}")
    if len(case.sizes) != len(call.dims):
        raise BadCase(f"{case.op} has {len(call.dims)} sizes ({' '.join(call.dims)}), not {len(case.sizes)}")
    for name, size in zip(call.dims, case.sizes):
        if not isinstance(size, int) or isinstance(size, bool) or not call.least(name) <= size <= LARGEST_SIZE:
            raise BadCase(f"{case.op}: {name} is {size!r}, not a whole number from {call.least(name)} on")
    return case


def _of_table(table, where, calls, refused):
    """The cases of one table; invalid ones go to `refused`, with the reason."""
    if not isinstance(table, dict) or not isinstance(table.get("rows"), list):
        raise BadCase(f"{where} is no object with 'op', 'pass', 'dtype', 'dims' and 'rows'")
    key = (table.get("op"), table.get("pass"), table.get("variant", ""), table.get("dtype"))
    if not all(isinstance(word, str) for word in key):
        raise BadCase(f"{where}: op, pass, variant and dtype are texts")
    call = calls.get(key[0])
    if call and table.get("dims", list(call.dims)) != list(call.dims):
        raise BadCase(f"{where}: dims of {key[0]} are {list(call.dims)}, not {table['dims']}")
    for number, row in enumerate(table["rows"]):
        if not isinstance(row, list):
            raise BadCase(f"{where}, row {number} is no array")
        try:
            yield check(Case(*key, tuple(row)), calls)
        except BadCase as bad:
            refused.append((f"{where}, row {number}", str(bad)))


def _of_missing(entry, where, calls, refused):
    """One call that `predict --missing --json` lists."""
    if not isinstance(entry, dict) or not isinstance(entry.get("call"), str):
        raise BadCase(f"{where} is no object with a 'call'")
    try:
        yield parse(entry["call"], calls)
    except BadCase as bad:
        refused.append((where, str(bad)))


def read(path, calls):
    """The cases of a file, in order and without duplicates, and the invalid ones as (place, reason).

    A file is {"schema": 1, "cases": [...]}, or the output of `centimani predict --missing --json`.
    """
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except OSError as error:
        raise BadCase(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise BadCase(f"{path} is no JSON: {error}") from None
    lists = {key: document.get(key) for key in ("cases", "missing")} if isinstance(document, dict) else {}
    if not lists or document.get("schema") != 1 or not any(isinstance(items, list) for items in lists.values()):
        raise BadCase(f'{path}: expected {{"schema": 1, "cases": [...]}}')
    found, refused = {}, []
    for number, table in enumerate(lists["cases"] or []):
        found.update(dict.fromkeys(_of_table(table, f"{path}: cases[{number}]", calls, refused)))
    for number, entry in enumerate(lists["missing"] or []):
        found.update(dict.fromkeys(_of_missing(entry, f"{path}: missing[{number}]", calls, refused)))
    if refused and not found:
        raise BadCase(": ".join(refused[0]))
    return list(found), refused


def parse(text, calls):
    """'gemm forward nt bf16 1,4096,4096,1024' -> Case; the variant is omitted, or '-', if there is none."""
    words = text.split()
    if len(words) == 4:
        words.insert(2, "")
    if len(words) != 5:
        raise BadCase(f"'{text}': expected OP PASS [VARIANT] DTYPE SIZE,SIZE,...")
    try:
        sizes = tuple(int(size) for size in words[4].split(","))
    except ValueError:
        raise BadCase(f"'{words[4]}' is no list of whole numbers") from None
    variant = "" if words[2] == "-" else words[2]
    return check(Case(words[0], words[1], variant, words[3], sizes), calls)
