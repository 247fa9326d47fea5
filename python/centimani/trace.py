# SPDX-License-Identifier: Apache-2.0
"""trace.py - the recorder: every ATen operator that PyTorch dispatches in a step, and its tensors."""
from __future__ import annotations

import weakref
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from .errors import CaptureError
from .values import LIFTED, Values

DTYPES = {
    "float32": "fp32", "float64": "fp64", "float16": "fp16", "bfloat16": "bf16", "int64": "int64", "int32": "int32",
    "int16": "int16", "int8": "int8", "uint8": "uint8", "bool": "bool", "complex64": "complex64",
    "float8_e4m3fn": "fp8", "float8_e5m2": "fp8", "float8_e4m3fnuz": "fp8", "float8_e5m2fnuz": "fp8",
    "complex128": "complex64",
}
# Not device work: queries of a tensor, its metadata, profiler annotations.
SILENT = ("aten::is_same_size", "aten::_local_scalar_dense", "aten::sym_size", "aten::sym_stride", "aten::sym_numel",
          "aten::size", "aten::stride", "aten::is_contiguous", "aten::_has_compatible_shallow_copy_type",
          "aten::set_.source_Storage", "aten::record_stream")
ALIASES = ("aten::detach", "aten::detach_", "aten::alias")
# Attributes that the outputs' shapes already contain.
SHAPED = ("view", "_unsafe_view", "reshape", "_reshape_alias", "expand", "as_strided", "new_empty_strided", "zeros",
          "ones", "empty", "full", "empty_strided", "new_zeros", "new_ones", "new_empty", "new_full", "randn", "rand",
          "slice_backward", "select_backward", "resize_")
SKIPPED_ATTRIBUTES = ("device", "layout", "pin_memory", "generator", "non_blocking")


def dtype_name(dtype: torch.dtype) -> str:
    return DTYPES.get(str(dtype).split(".")[-1], "uint8")


def storage_of(t: torch.Tensor) -> int:
    """A number that is equal for two tensors exactly if they share memory."""
    try:
        return t.untyped_storage()._cdata if hasattr(t, "untyped_storage") else t._storage()._cdata
    except (NotImplementedError, RuntimeError):
        return id(t)


def layout_name(t: torch.Tensor) -> str:
    if t.layout != torch.strided:
        return "sparse"
    if t.is_contiguous():
        return "contiguous"
    if t.dim() == 4 and t.is_contiguous(memory_format=torch.channels_last):
        return "channels_last"
    if t.dim() == 5 and t.is_contiguous(memory_format=torch.channels_last_3d):
        return "channels_last"
    return "strided"


class TensorRow:
    """One tensor at one time: writing into it makes a new row with the same storage."""

    __slots__ = ("name", "shape", "dtype", "layout", "storage", "role", "until")

    def __init__(self, t: torch.Tensor, storage: int, role: str, name: Optional[str] = None):
        self.name, self.role, self.storage = name, role, storage
        self.until = -1  # the tensor made last before the program released this one in forward; -1: not then
        self.shape: Tuple[int, ...] = tuple(int(n) for n in t.shape)
        self.dtype, self.layout = dtype_name(t.dtype), layout_name(t)


class OpRow:
    __slots__ = ("op", "phase", "inputs", "outputs", "attrs", "module", "function", "plain")

    def __init__(self, op: str, phase: str, inputs: List[int], outputs: List[int], attrs: Dict[str, Any], module: str,
                 function: Optional[int] = None, plain: bool = False):
        self.op, self.phase, self.inputs, self.outputs = op, phase, inputs, outputs
        self.attrs, self.module = attrs, module
        self.function = function  # the call of a custom autograd function that ran it
        self.plain = plain        # the model switched autocast off


class TensorTable:
    """Rows by tensor object; if autograd returns another object for the same memory, by memory and shape."""

    def __init__(self) -> None:
        self.rows: List[TensorRow] = []
        self.by_object: Dict[int, Tuple[Any, int]] = {}
        self.by_memory: Dict[int, Tuple[int, Dict[tuple, int]]] = {}  # address -> storage number, {view: row}
        self.storages = 0
        self.released: Callable[[int], None] = lambda row: None

    @staticmethod
    def _view(t: torch.Tensor) -> tuple:
        if t.layout != torch.strided:
            return (tuple(t.shape), t.dtype)
        return (tuple(t.shape), t.stride(), t.storage_offset(), t.dtype)

    def find(self, t: torch.Tensor) -> int:
        known = self.by_object.get(id(t))
        if known and known[0]() is t:
            return known[1]
        memory = self.by_memory.get(storage_of(t))
        return memory[1].get(self._view(t), -1) if memory else -1

    def add(self, t: torch.Tensor, role: str, name: Optional[str] = None, fresh: bool = False,
            object_only: bool = False) -> int:
        address = storage_of(t)
        if fresh or address not in self.by_memory:  # the memory at this address was freed and reused
            self.by_memory[address] = (self.storages, {})
            self.storages += 1
        number, views = self.by_memory[address]
        row = len(self.rows)
        self.rows.append(TensorRow(t, number, role, name))
        self.by_object[id(t)] = (weakref.ref(t, lambda _: self.released(row)), row)
        if not object_only:
            views[self._view(t)] = row
        return row


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for v in value:
            yield from _flat(v)
    else:
        yield value


def _plain(value: Any) -> Any:
    """A scalar attribute as JSON; None: it does not affect the cost."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, torch.dtype):
        return dtype_name(value)
    if isinstance(value, torch.memory_format):
        return str(value).split(".")[-1]
    if isinstance(value, str):
        return value[:200]
    if isinstance(value, (list, tuple)) and all(isinstance(v, (int, float, bool)) for v in value):
        return [_plain(v) for v in value]
    if type(value).__name__ in ("SymInt", "SymFloat", "SymBool"):
        return _plain(int(value))
    return None


def _arguments(func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Iterator[Tuple[Any, Any]]:
    for i, argument in enumerate(func._schema.arguments):
        if i < len(args):
            yield argument, args[i]
        elif argument.name in kwargs:
            yield argument, kwargs[argument.name]


class Recorder(TorchDispatchMode):
    """Records dispatched operators. It keeps no reference to a tensor, since autograd copies gradients with other
    references."""

    def __init__(self) -> None:
        super().__init__()
        self.tensors, self.ops, self.warnings = TensorTable(), [], []  # type: ignore[var-annotated]
        self.tensors.released = self.released
        self.phase, self.autocast = "forward", None  # type: ignore[var-annotated]
        self.updates: List[Dict[str, Any]] = []
        self.functions: List[Dict[str, Any]] = []  # calls of custom autograd functions
        self.function: Optional[int] = None        # the call that runs now
        self.called: Tuple[Optional[int], Dict[int, int]] = (None, {})  # the last call (functions.py)
        self.scope: List[str] = []
        self.silence = self.backwards = self.plain = 0
        self.differentiating = 0  # calls of torch.autograd.grad that run now
        self.failed: Optional[str] = None
        self.values: Optional[Values] = None  # None: the step runs on real data
        self.answers: Any = None              # of a real pass (answers.py)
        self.unfollowed: Set[int] = set()     # rows that forward made while autograd was switched off
        self.omitted_masks: List[str] = []    # kinds of attention masks that a library makes only when compiled

    # ---- state -------------------------------------------------------------------------------------------------

    @contextmanager
    def suspended(self) -> Iterator[None]:
        self.silence += 1
        try:
            yield
        finally:
            self.silence -= 1

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def current_phase(self) -> str:
        return "recompute" if self.phase == "backward" and self.scope else self.phase

    def rows_of(self, tensors: Sequence[Any]) -> List[int]:
        """Rows of tensors, -1 for anything else."""
        with self.suspended():
            return [self._read(t) for t in tensors]

    def released(self, row: int) -> None:
        """Neither the program nor autograd references a tensor any more."""
        made = [i for i in self.ops[-1].outputs if i >= 0] if self.ops else []
        if self.phase == "forward" and made:
            self.tensors.rows[row].until = made[0]

    def entered(self, module: torch.nn.Module, inputs: Sequence[Any]) -> None:
        """Called before a module runs on `inputs`, its positional arguments."""

    def leaf(self, t: torch.Tensor, role: str, name: str) -> int:
        """A tensor that exists before the step; tied tensors have the same row."""
        known = self.tensors.find(t)
        return known if known >= 0 else self.tensors.add(t, role, name)

    # ---- recording ---------------------------------------------------------------------------------------------

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.silence:
            return func(*args, **kwargs)
        if self.answers is not None and hasattr(func, "_schema"):
            self.answers.meet(self, str(func._schema.name), args)
        try:
            result = self.run(func, args, kwargs)
        except Exception:
            result = self.known(func, args, kwargs)
            if result is None:
                if self.failed is None:
                    self.failed = str(func._schema.name) if hasattr(func, "_schema") else str(func)
                raise
        if hasattr(func, "_schema"):
            with self.suspended():
                self.record_call(func, args, kwargs, result)
                if self.values is not None:
                    self.values.follow(func, args, kwargs, result)
        return result

    def run(self, func, args, kwargs):
        return func(*args, **kwargs)

    def known(self, func, args, kwargs):
        """The result of an operator that needs the contents of its operands; None: they are unknown."""
        if self.values is None or not hasattr(func, "_schema"):
            return None
        with self.suspended():
            answer = self.values.answer(func, args, kwargs)
            if answer is None and self.answers is not None:
                return self.answers.give(self, str(func._schema.name), args)
            reason = self.values.reason(args) if answer is not None else None
            if reason:
                self.warn(reason)
            device = next((t.device for t in _flat(args) if isinstance(t, torch.Tensor)), None)
            return tree_map(lambda x: torch.empty(tuple(x.shape), dtype=x.dtype, device=device)
                            if isinstance(x, torch.Tensor) else x, answer)

    def _read(self, t: Any) -> int:
        if not isinstance(t, torch.Tensor):
            return -1
        if self.values is not None and self.values.meets(t):
            return self.tensors.add(t, "constant", fresh=True)
        known = self.tensors.find(t)
        if known in self.unfollowed and torch.is_grad_enabled() and not t.requires_grad:
            return self._detached(t, known)
        return known if known >= 0 else self.tensors.add(t, "constant")

    def _detached(self, t: torch.Tensor, known: int) -> int:
        """A tensor that was made under torch.no_grad() is read outside of it: gradients end there."""
        row = self.tensors.add(t, "activation")
        self._append("aten::detach", [known], [row], {})
        return row

    def _inputs(self, func, args, kwargs) -> Tuple[List[int], Dict[str, Any], List[torch.Tensor], List[torch.Tensor]]:
        inputs, attrs, read, written = [], {}, [], []  # type: ignore[var-annotated]
        short = str(func._schema.name).split("::")[-1]
        for argument, value in _arguments(func, args, kwargs):
            kind = str(argument.type)
            if "Tensor" in kind:
                tensors = list(_flat(value)) if isinstance(value, (list, tuple)) else [value]
                inputs += [self._read(t) for t in tensors]
                found = [t for t in tensors if isinstance(t, torch.Tensor)]
                read += found
                if argument.alias_info is not None and argument.alias_info.is_write:
                    written += found
            shaped = argument.name in ("size", "stride", "input_sizes", "input_size") and short in SHAPED
            if shaped or argument.name in SKIPPED_ATTRIBUTES or isinstance(value, torch.Tensor):
                continue
            plain = _plain(value)
            if plain is not None:
                attrs[argument.name] = plain
        return inputs, attrs, read, written

    def _outputs(self, name: str, result: Any, read: List[torch.Tensor], written: List[torch.Tensor]) -> List[int]:
        role = "activation" if self.current_phase() in ("forward", "recompute") else "gradient"
        addresses = {storage_of(t) for t in read}
        outputs: List[int] = []
        done = set()
        for t in _flat(result):
            if not isinstance(t, torch.Tensor):
                outputs.append(-1)
                continue
            alias = storage_of(t) in addresses
            object_only = alias and name in ALIASES
            outputs.append(self.tensors.add(t, role, fresh=not alias, object_only=object_only))
            done.add(id(t))
        for t in written:
            if id(t) not in done:
                done.add(id(t))
                outputs.append(self.tensors.add(t, role))
        return outputs

    def record_call(self, func, args, kwargs, result) -> None:
        schema = func._schema
        name = str(schema.name)
        if name in SILENT or name.startswith(("prim::", "profiler::", "prims::device")):
            return
        if name in LIFTED:
            self.tensors.add(result, "constant", fresh=True)
            return
        inputs, attrs, read, written = self._inputs(func, args, kwargs)
        has_result = any(isinstance(t, torch.Tensor) for t in _flat(result))
        if not has_result and not written:
            return
        if name in ALIASES and (self.phase != "forward" or self.differentiating):
            # autograd wraps a saved tensor: the same tensor
            row = inputs[0]
            self.tensors.by_object[id(result)] = (weakref.ref(result), row)
            return
        full = f"{name}.{schema.overload_name}" if schema.overload_name else name
        outputs = self._outputs(name, result, read, written)
        self._append(full, inputs, outputs, attrs)
        if self.phase == "forward" and not torch.is_grad_enabled():
            self.unfollowed.update(row for row in outputs if row >= 0)

    def _append(self, name: str, inputs: List[int], outputs: List[int], attrs: Dict[str, Any]) -> None:
        self.ops.append(OpRow(name, self.current_phase(), inputs, outputs, attrs, self.scope[-1] if self.scope else "",
                              self.function, self.plain > 0))

    def record(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any], attrs: Dict[str, Any]) -> None:
        """Record one entry for work that PyTorch runs as many operators or does not dispatch."""
        with self.suspended():
            ids = [self._read(t) for t in inputs]
            role = "activation" if self.current_phase() in ("forward", "recompute") else "gradient"
            made = [self.tensors.add(t, role, fresh=True) if isinstance(t, torch.Tensor) else -1 for t in outputs]
        plain = {k: p for k, p in ((k, _plain(v)) for k, v in attrs.items()) if p is not None}
        self._append(name, ids, made, plain)
