# SPDX-License-Identifier: Apache-2.0
"""writer.py - combine recorded steps into one trace: sizes become functions of batch size and sequence length."""
from __future__ import annotations

import json
import os
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

from .errors import CaptureError

if TYPE_CHECKING:
    from .trace import OpRow, Recorder

SCHEMA = 1
Point = Tuple[int, Optional[int]]  # batch size, sequence length


class Solver:
    """Fits per_batch B + fixed [+ per_seq S + both B S] to a number at several batch sizes (and sequence lengths)."""

    def __init__(self, points: Sequence[Point]):
        self.points = list(points)
        self.b1, self.b2 = points[0][0], points[1][0]
        lengths = [s for _, s in points if s is not None]
        self.s1, self.s2 = (lengths[0], lengths[2]) if len(lengths) >= 4 else (None, None)

    def _line(self, first: int, second: int, x1: int, x2: int) -> Optional[Tuple[int, int]]:
        slope, rest = divmod(second - first, x2 - x1)
        return None if rest else (slope, first - slope * x1)

    def _fits(self, terms: Sequence[int], values: Sequence[int]) -> bool:
        a, b, c, d = terms
        return all(v == a * p + b + (c * s + d * p * s if s is not None else 0)
                   for (p, s), v in zip(self.points, values))

    def terms(self, values: Sequence[int]) -> Optional[List[int]]:
        """[per_batch, fixed, per_seq, both]; None: no such function. `values` may lack later points."""
        low = self._line(values[0], values[1], self.b1, self.b2)
        if low is None:
            return None
        terms = [low[0], low[1], 0, 0]
        if self.s1 is not None and len(values) >= 4:
            high = self._line(values[2], values[3], self.b1, self.b2)
            slope = self._line(low[0], high[0], self.s1, self.s2) if high else None
            fixed = self._line(low[1], high[1], self.s1, self.s2) if high else None
            if slope is None or fixed is None:
                return None
            terms = [slope[1], fixed[1], fixed[0], slope[0]]
        return terms if self._fits(terms, values) else None

    def number(self, values: Sequence[int]) -> Union[int, List[int], None]:
        if all(v == values[0] for v in values):
            return int(values[0])
        terms = self.terms(values)
        if terms is None:
            return None
        return terms if terms[2] or terms[3] else terms[:2]


def _where(op: OpRow) -> str:
    return f"{op.op}" + (f" in module '{op.module}'" if op.module else "")


class PathError(CaptureError):
    """Runs at different sizes took different paths."""


def same_path(a: Recorder, b: Recorder) -> bool:
    return _difference(a, b) is None and (len(a.ops) == len(b.ops) or getattr(b, "forward_only", False))


def _difference(first: Recorder, run: Recorder) -> Optional[Tuple[OpRow, OpRow]]:
    for a, b in zip(first.ops, run.ops):
        if a.op != b.op or a.inputs != b.inputs or a.outputs != b.outputs:
            return a, b
    return None


def compare(runs: Sequence[Recorder], points: Sequence[Point]) -> None:
    """All runs must have taken the same path."""
    first = runs[0]
    for run, point in zip(runs[1:], points[1:]):
        different = _difference(first, run)
        if different:
            raise PathError(f"the model takes another path at batch {point[0]}"
                            + (f", sequence {point[1]}" if point[1] else "")
                            + f": {_where(different[1])} where {_where(different[0])} ran at batch {points[0][0]}")
        shorter = len(run.ops) < len(first.ops) and not getattr(run, "forward_only", False)
        if shorter or len(run.ops) > len(first.ops):
            raise PathError(f"the model runs {len(run.ops)} operators at batch {point[0]} and {len(first.ops)} at "
                            f"batch {points[0][0]}")


def _maker_of(first: Recorder) -> Dict[int, OpRow]:
    makers: Dict[int, OpRow] = {}
    for op in first.ops:
        for t in op.outputs:
            makers.setdefault(t, op)
    return makers


def _dims(runs: Sequence[Recorder], solver: Solver, makers: Dict[int, OpRow]) -> List[List[Any]]:
    table = []
    for i, row in enumerate(runs[0].tensors.rows):
        shapes = [r.tensors.rows[i].shape for r in runs if i < len(r.tensors.rows)]
        place = _where(makers[i]) if i in makers else (row.name or "an input")
        if any(len(s) != len(row.shape) for s in shapes):
            raise CaptureError(f"{place}: the number of dimensions depends on the batch size")
        dims = []
        for axis, sizes in enumerate(zip(*shapes)):
            size = solver.number(sizes)
            if size is None:
                raise CaptureError(
                    f"{place}: dimension {axis} is {', '.join(map(str, sizes))} at batch "
                    f"{', '.join(str(p[0]) for p in solver.points[:len(sizes)])}: it does not grow linearly with the "
                    "batch size, and the cost at other batch sizes is unknown")
            dims.append(size)
        table.append(dims)
    return table


def _attribute(values: Sequence[Any], solver: Solver) -> Any:
    if all(v == values[0] for v in values):
        return values[0]
    if all(isinstance(v, int) for v in values):
        terms = solver.number(values)
        return {"terms": terms} if isinstance(terms, list) else values[0]
    if all(isinstance(v, list) and len(v) == len(values[0]) for v in values):
        return [_attribute(v, solver) for v in zip(*values)]
    return values[0]


def _tensor_rows(first: Recorder, dims: List[List[Any]]) -> List[Dict[str, Any]]:
    rows = []
    for row, shape in zip(first.tensors.rows, dims):
        entry: Dict[str, Any] = {"dims": shape, "dtype": row.dtype, "storage": row.storage}
        if row.role != "activation":
            entry["role"] = row.role
        if row.name:
            entry["name"] = row.name
        if row.layout != "contiguous":
            entry["layout"] = row.layout
        if row.until >= 0 and row.role == "activation":
            entry["until"] = row.until
        rows.append(entry)
    return rows


def _op_rows(runs: Sequence[Recorder], solver: Solver) -> List[Dict[str, Any]]:
    rows = []
    for i, op in enumerate(runs[0].ops):
        same = [r.ops[i] for r in runs if i < len(r.ops)]
        entry: Dict[str, Any] = {"op": op.op, "in": op.inputs, "out": op.outputs}
        if op.phase != "forward":
            entry["phase"] = op.phase
        attrs = {k: _attribute([s.attrs.get(k) for s in same], solver) for k in op.attrs}
        if attrs:
            entry["attrs"] = attrs
        if op.module:
            entry["module"] = op.module
        if op.function is not None:
            entry["function"] = op.function
        if getattr(op, "segment", -1) >= 0:
            entry["segment"] = op.segment
        if op.plain:
            entry["autocast"] = 0
        rows.append(entry)
    return rows


def _function_rows(first: Recorder) -> List[Dict[str, Any]]:
    return [{k: call[k] for k in ("name", "in", "out", "given", "gradients") if k in call} for call in first.functions]


class Trace:
    """A recorded step. `save()` writes the file for `centimani`, atomically."""

    def __init__(self, content: Dict[str, Any]):
        self.content = content

    @property
    def name(self) -> str:
        return self.content["name"]

    @property
    def parameters(self) -> int:
        return self.content["parameters"]

    @property
    def warnings(self) -> List[str]:
        refused = self.content.get("refused")  # said of predictions in that type alone
        return [*self.content["warnings"], *([refused["warning"]] if refused else [])]

    def operators(self, phase: Optional[str] = None) -> List[str]:
        return [o["op"] for o in self.content["ops"] if phase is None or o.get("phase", "forward") == phase]

    def json(self) -> str:
        return json.dumps(self.content, separators=(",", ":"), allow_nan=False)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> str:
        path = os.fspath(path)
        folder = os.path.dirname(os.path.abspath(path))
        handle, part = tempfile.mkstemp(prefix=".capture-", dir=folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(self.json())
            os.chmod(part, 0o644)
            os.replace(part, path)
        except BaseException:
            os.unlink(part)
            raise
        return path

    def __repr__(self) -> str:
        return (f"<Trace '{self.name}': {self.parameters:,} parameters, {len(self.content['ops'])} operators, "
                f"{len(self.content['tensors'])} tensors>")


def combine(runs: Sequence[Recorder], points: Sequence[Point], name: str, parameters: int, loss: int,
            outputs: Sequence[int], how: str, made_by: Dict[str, str]) -> Trace:
    """`points`: batch size (and sequence length) of each run. `made_by`: the framework that ran it, and its version."""
    first, solver = runs[0], Solver(points)
    compare(runs, points)
    dims = _dims(runs, solver, _maker_of(first))
    autocast = first.autocast
    return Trace({
        "schema": SCHEMA, "kind": "trace", "name": name, **made_by, "recorded_on": how,
        "batch": points[0][0], "seq": points[0][1], "precision": f"amp-{autocast}" if autocast else "fp32",
        "autocast": autocast, "omitted_masks": sorted(first.omitted_masks), "parameters": parameters, "loss": loss, "outputs": list(outputs),
        "warnings": list(first.warnings), "updates": first.updates, "functions": _function_rows(first),
        "tensors": _tensor_rows(first, dims), "ops": _op_rows(runs, solver),
    })
