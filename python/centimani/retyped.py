# SPDX-License-Identifier: Apache-2.0
"""retyped.py - the types that all tensors would have if the model were converted to another floating-point type.

`model.to(torch.bfloat16)` changes parameters, buffers and everything computed from them, but not what the model
casts to a fixed type. An fp32 step does not show the difference: PyTorch runs nothing for `x.float()` there. So the
forward pass runs once more with the converted model, and its operators are aligned with the recorded ones. Casts
that only the converted model runs are added to the trace, and each tensor gets its type in the converted model. A
cast also makes a slice contiguous, so that a reshape after it needs no copy: the copy becomes aten::contiguous.
"""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map

from .trace import CaptureError, OpRow, Recorder

CAST = "aten::_to_copy"
ADDED = "aten::to.dtype"  # a cast that is a no-op in the recorded types
COPY = "aten::clone"
CONTIGUOUS = "aten::contiguous"  # a copy that is omitted if the cast before it runs
RESHAPES = ("aten::view", "aten::_unsafe_view", "aten::_reshape_alias")
SIXTEEN = (torch.bfloat16, torch.float16)
PRODUCTS = {"__matmul__", "__rmatmul__", "addmm", "baddbmm", "bmm", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
            "conv_transpose2d", "conv_transpose3d", "einsum", "linear", "matmul", "mm"}


def own_type(tensors: Sequence[torch.Tensor]) -> torch.dtype:
    """The floating-point type of most elements; fp32 if there are none."""
    elements: Dict[torch.dtype, int] = {}
    for t in tensors:
        if t.is_floating_point():
            elements[t.dtype] = elements.get(t.dtype, 0) + t.numel()
    return max(elements, key=lambda d: elements[d]) if elements else torch.float32


def model_type(model: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> torch.dtype:
    return own_type(list(model.parameters()) or list(inputs))


def other_type(own: torch.dtype) -> Optional[torch.dtype]:
    """The type to convert a model to; None: its own type is neither fp32 nor a 16-bit type."""
    return torch.bfloat16 if own == torch.float32 else torch.float32 if own in SIXTEEN else None


def precision_name(own: torch.dtype) -> str:
    """The `--precision` value for training in this type with PyTorch's current settings."""
    tf32 = own == torch.float32 and torch.backends.cuda.matmul.allow_tf32
    return "tf32" if tf32 else {torch.bfloat16: "bf16", torch.float16: "fp16"}.get(own, "fp32")


class Joined(TorchFunctionMode):
    """Products of operands of several types run in `dtype`, as under autocast: so does a model that is written for
    autocast and casts parts of itself, which products without it refuse."""

    def __init__(self, dtype: torch.dtype):
        super().__init__()
        self.dtype = dtype

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = (args, kwargs or {})
        if getattr(func, "__name__", "") in PRODUCTS:
            kinds = {t.dtype for t in tree_flatten(given)[0] if isinstance(t, torch.Tensor) and t.is_floating_point()}
            if len(kinds) > 1:
                given = tree_map(self._converted, given)
        return func(*given[0], **given[1])

    def _converted(self, value: Any) -> Any:
        return value.to(self.dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _forward(run: Recorder) -> List[OpRow]:
    return [op for op in run.ops if op.phase == "forward"]


class Alignment:
    """Two recordings of one forward pass, operator by operator. Rows are tensor indices in each recording."""

    def __init__(self, own: Recorder, other: Recorder):
        self.own, self.other = own, other
        self.mine: Dict[int, int] = {}    # row of `other` -> row of `own`, or of an added cast
        self.theirs: Dict[int, int] = {}  # row of `own` -> row of `other`
        self.base: Dict[int, int] = {}    # added row -> row of `own` that it casts
        self.root: Dict[int, int] = {}    # result of a cast -> the tensor before all casts
        self.added: List[Any] = []        # (index of the operator it precedes, name, source row, row, module)
        self.skipped = -1                 # the output of the last cast that only the recorded model runs
        self.copies: List[int] = []       # operators that are copies in the recorded model only
        self.inputs: Dict[int, List[int]] = {}  # operator -> its inputs, if an added cast precedes it
        self.types: Dict[int, str] = {}

    def _bind(self, mine: int, theirs: int) -> None:
        if mine >= 0 and theirs >= 0:
            self.mine[theirs], self.theirs[mine] = mine, theirs
            self.types[mine] = self.other.tensors.rows[theirs].dtype

    def _root(self, row: int) -> int:
        while row in self.root:
            row = self.root[row]
        return row

    def _same(self, mine: int, theirs: int) -> bool:
        if mine < 0 or theirs < 0:
            return mine == theirs
        if theirs in self.mine:
            return self._root(self.mine[theirs]) == self._root(mine)
        return mine not in self.theirs and self.own.tensors.rows[mine].shape == self.other.tensors.rows[theirs].shape

    def _matches(self, a: OpRow, b: OpRow) -> bool:
        same = a.op == b.op or (a.op in RESHAPES and b.op in RESHAPES)
        return (same and a.module == b.module and len(a.inputs) == len(b.inputs) and
                len(a.outputs) == len(b.outputs) and all(map(self._same, a.inputs, b.inputs)))

    def _input(self, mine: int, theirs: int) -> int:
        """The row that an operator reads: the added cast of the recorded row, if the converted model has one."""
        known = self.mine.get(theirs, -1)
        if known < 0:
            self._bind(mine, theirs)
            return mine
        source = known
        while source in self.base:
            source = self.base[source]
        return known if source == mine else mine

    def _match(self, index: int, a: OpRow, b: OpRow) -> None:
        inputs = [self._input(m, t) if m >= 0 else m for m, t in zip(a.inputs, b.inputs)]
        if inputs != a.inputs:
            self.inputs[index] = inputs
        for mine, theirs in zip(a.outputs, b.outputs):
            self._bind(mine, theirs)
        if a.op == CAST:
            self.root[a.outputs[0]] = a.inputs[0]

    def _add(self, index: int, name: str, source: int, b: OpRow) -> None:
        row = len(self.own.tensors.rows) + len(self.added)
        self.base[row] = self.root[row] = source
        self.added.append((index, name, source, row, b.module))
        self._bind(row, b.outputs[0])

    def _add_copy(self, index: int, b: OpRow) -> bool:
        """A copy that only the converted model runs, because it has no cast before it."""
        if self.skipped < 0 or self._root(self.skipped) != self._root(self.mine.get(b.inputs[0], -1)):
            return False
        self._add(index, CONTIGUOUS, self.skipped, b)
        return True

    def _keep_copy(self, index: int, a: OpRow) -> bool:
        """A copy that only the recorded model runs, because the converted model has a cast before it."""
        cast = self.added[-1][3] if self.added else -1
        if cast < 0 or self.base[cast] != a.inputs[0]:
            return False
        self.root[a.outputs[0]] = cast
        self.inputs[index] = [cast]
        self.copies.append(index)
        self._bind(a.outputs[0], self.theirs[cast])
        return True

    def _skip(self, a: OpRow) -> None:
        """A cast that the converted model does not run: its output is its input."""
        source = a.inputs[0]
        self.root[a.outputs[0]] = source
        self.skipped = a.outputs[0]
        if source in self.types:
            self.types[a.outputs[0]] = self.types[source]

    def run(self) -> bool:
        """False: the converted model takes another path, from `failed` on."""
        mine, theirs = _forward(self.own), _forward(self.other)
        for row, (a, b) in enumerate(zip(self.own.tensors.rows, self.other.tensors.rows)):
            if a.name and a.name == b.name and a.role != "activation":
                self._bind(row, row)
        i = j = 0
        while i < len(mine) or j < len(theirs):
            a, b = mine[i] if i < len(mine) else None, theirs[j] if j < len(theirs) else None
            if a and b and self._matches(a, b):
                self._match(i, a, b)
                i, j = i + 1, j + 1
            elif b and b.op == CAST and b.inputs[0] in self.mine:
                self._add(i, ADDED, self.mine[b.inputs[0]], b)
                j += 1
            elif a and a.op == CAST:
                self._skip(a)
                i += 1
            elif a and a.op == COPY and self._keep_copy(i, a):
                i += 1
            elif b and b.op == COPY and self._add_copy(i, b):
                j += 1
            else:
                self.failed = (a, b)
                return False
        return True

    def row_of(self, mine: int, theirs: int) -> int:
        return self._input(mine, theirs) if mine >= 0 and theirs in self.mine else mine


def _name(op: Optional[OpRow]) -> str:
    return "nothing" if op is None else op.op + (f" in module '{op.module}'" if op.module else "")


def _write_types(content: Dict[str, Any], alignment: Alignment) -> None:
    for row, dtype in alignment.types.items():
        if row < len(content["tensors"]) and content["tensors"][row]["dtype"] != dtype:
            content["tensors"][row]["other_dtype"] = dtype


def _write_casts(content: Dict[str, Any], alignment: Alignment) -> None:
    tensors, forward = content["tensors"], [o for o in content["ops"] if o.get("phase", "forward") == "forward"]
    rest = [o for o in content["ops"] if o.get("phase", "forward") != "forward"]
    for index, inputs in alignment.inputs.items():
        forward[index]["in"] = inputs
    for index in alignment.copies:
        forward[index]["op"] = CONTIGUOUS
    for _, _, source, _, _ in alignment.added:
        row = tensors[source]
        tensors.append({k: row[k] for k in ("dims", "dtype", "storage", "layout") if k in row})
    for index, name, source, row, module in reversed(alignment.added):
        cast = {"op": name, "in": [source], "out": [row], **({"module": module} if module else {})}
        functions = [o.get("function") for o in forward[max(index - 1, 0):index + 1]]
        if len(functions) == 2 and functions[0] is not None and functions[0] == functions[1]:
            cast["function"] = functions[0]
        forward.insert(index, cast)
    content["ops"] = forward + rest


def aligned(own: Any, other: Any) -> bool:
    """Whether both steps ran the same operators, apart from casts."""
    return Alignment(own.recorder, other.recorder).run()


def add_types(content: Dict[str, Any], own: Any, other: Any, name: str) -> None:
    """Add the types in `other`, the step of the converted model, to a trace. Both steps: recorder, loss, outputs."""
    alignment = Alignment(own.recorder, other.recorder)
    if not alignment.run():
        a, b = alignment.failed
        raise CaptureError(f"converted to {name} it runs {_name(b)} where {_name(a)} was recorded")
    _write_casts(content, alignment)
    _write_types(content, alignment)
    content["loss"] = alignment.row_of(own.loss, other.loss)
    if len(own.outputs) == len(other.outputs):
        content["outputs"] = [alignment.row_of(m, t) for m, t in zip(own.outputs, other.outputs)]
    content["other_types"] = name
