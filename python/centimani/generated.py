# SPDX-License-Identifier: Apache-2.0
"""generated.py - what the predictor needs of kernels that torch.compile generates: their kind, and how their sizes grow.

A record (inductor.py) has the sizes of one batch size. Two records of the same step, at two batch sizes, give each
size as [per sample, fixed].
"""
from __future__ import annotations

import difflib
import math
from typing import Any, Callable, Dict, List, Optional, Tuple

ON_CHIP = 1024  # numbers of a reduction that a kernel keeps on the chip
# FLOP of a function of one number, by the time that it takes: slopes over one to eight uses of it on an H200.
FUNCTIONS = {"exp": 4, "sigmoid": 6, "tanh": 6, "log1p": 8.25, "sin": 9, "log": 10, "erf": 10.5, "cos": 11.25, "pow": 27.5}
SIZES = {"bool": 1, "uint8": 1, "int8": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "bfloat16": 2, "float16": 2, "int16": 2,
         "int64": 8, "float64": 8, "complex64": 8}  # others have 4 bytes
ROWS = ("row_sum", "long_row_sum", "strided_row_sum")  # kinds that reduce rows
Record = Dict[str, Any]


def outputs_of(record: Record) -> Tuple[int, int]:
    """Sums of a reduction, and the numbers that each adds up."""
    sizes = record["numels"].items()
    return math.prod(n for name, n in sizes if not name.startswith("r")), math.prod(n for name, n in sizes if name.startswith("r"))


def only_adds(record: Record) -> bool:
    """Whether a kernel loads one number for each that it adds up."""
    return len(record["reads"]) == 1 and record["operations"].get("load", 0) == 1


def kind_of(record: Record) -> Optional[str]:
    """The kernel table of a kernel. None: pools and writes by index, which read elements several times or wait."""
    if record.get("adds_by_index") or any(word in record["kernel"] for word in ("max_pool", "avg_pool", "index_put")):
        return None
    if not record["reduces"]:
        return "fused"
    hint = record.get("hint", "")
    if hint.startswith("OUTER"):
        columns, rows = outputs_of(record)
        if record["persistent"] or hint == "OUTER_TINY" or (columns < 1024 and rows > ON_CHIP):
            return "partial_sums"  # adds up the sums of a first kernel's blocks
        return "plain_column_sum" if only_adds(record) else "column_sum"
    if hint == "DEFAULT":  # Inductor's word for a reduction along neither rows nor columns of all operands
        return "strided_row_sum"
    return "row_sum" if record["persistent"] else "long_row_sum"


def functions_of(record: Record) -> float:
    """FLOP of a kernel's functions."""
    points = math.prod(record["numels"].values())
    return points * sum(FUNCTIONS.get(name, 0) * count for name, count in record["operations"].items())


def sizes_of(record: Record) -> Dict[str, float]:
    """Sizes that decide the time of a kernel at one batch size: bytes moved by size of a number, and arithmetic."""
    moved = {"moved1": 0, "moved2": 0, "moved4": 0, "moved8": 0}
    sums, blocks = outputs_of(record)
    if kind_of(record) == "partial_sums":  # its table has the bytes of all blocks but the first
        return {**moved, "moved4": 4 * sums * (blocks - 1), "function_flop": 0, "random": 0, "sums": sums}
    for dtype, touched, _ in record["reads"] + record["writes"]:
        moved[f"moved{SIZES.get(dtype, 4)}"] += touched
    random = math.prod(record["numels"].values()) * record["operations"].get("rand", 0)
    return {**moved, "function_flop": functions_of(record), "random": random, "sums": sums}


def _terms(first: float, second: float, batches: Tuple[int, int]) -> List[float]:
    slope = (second - first) / (batches[1] - batches[0])
    return [slope, first - slope * batches[0]]


def _grown(first: Record, second: Record, batches: Tuple[int, int]) -> Record:
    at = sizes_of(first), sizes_of(second)
    return {name: _terms(at[0][name], at[1][name], batches) for name in at[0] if at[0][name] or at[1][name]}


def _in_proportion(record: Record) -> Record:
    """The same kernel at twice the batch size, if it were generated there: sums of blocks stay, others grow."""
    if kind_of(record) == "partial_sums":
        return record
    twice = {key: [[dtype, 2 * touched, 2 * n] for dtype, touched, n in record[key]] for key in ("reads", "writes")}
    sizes = dict(record["numels"])
    longest = max(sizes, key=lambda name: sizes[name], default=None)
    return {**record, **twice, "numels": {name: n * (2 if name == longest else 1) for name, n in sizes.items()}}


def _pairs(first: List[Record], second: List[Record]) -> List[Record]:
    """For each of the first kernels the one of the same make among the second ones, in order."""
    def make(record: Record) -> Tuple[Any, ...]:
        return (kind_of(record), record["kernel"].rpartition("_")[0], len(record["reads"]), len(record["writes"]))
    matcher = difflib.SequenceMatcher(None, [make(k) for k in first], [make(k) for k in second], autojunk=False)
    found = [_in_proportion(k) for k in first]
    for i, j, count in matcher.get_matching_blocks():
        found[i:i + count] = second[j:j + count]
    return found


def with_terms(first: List[Record], second: List[Record], batch: int, warn: Callable[[str], None]) -> List[Record]:
    """The record of a step at a batch size, each kernel with its `kind` and its sizes as `terms`.

    second: the record at twice the batch size. The compiler may divide sums otherwise there: a kernel that it does not
    generate there is taken to grow in proportion. At the batch size itself all sizes are as recorded.
    """
    kernels = [[k for graph in graphs for k in graph["kernels"]] for graphs in (first, second)]
    unknown = sum("unknown" in k for k in kernels[0] + kernels[1])
    if unknown:
        warn(f"{unknown} kernels of torch.compile could not be described: predictions fuse by rules")
        return first
    for one, two in zip(kernels[0], _pairs(*kernels)):
        one.update(kind=kind_of(one), terms=_grown(one, two, (batch, 2 * batch)))
    return first
