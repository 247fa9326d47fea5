# SPDX-License-Identifier: Apache-2.0
"""functions.py - custom autograd functions: the operators that their forward and their backward run.

A call of such a function is one entry of the trace's `functions`: its inputs and outputs, the gradients that its
backward was given and those that it returned. Operators inside name the call. A function whose kernels PyTorch does
not dispatch (Triton, an extension) is recorded as one opaque operator.
"""
from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch

from .trace import OpRow, Recorder

CALL = "_centimani_call"  # the attribute of a function's context that holds the number of the call
UNWRITTEN = ("aten::empty", "aten::new_empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty_strided")


def _classes(root: type = torch.autograd.Function) -> List[type]:
    return [c for sub in root.__subclasses__() for c in [sub] + _classes(sub)]


def _listed(result: Any) -> List[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _is_hidden(recorder: Recorder, first: int, rows: int, outputs: List[Any]) -> bool:
    """Whether a kernel that was not dispatched wrote an output: its memory is new, and no operator wrote it."""
    made = {i: op.op for op in recorder.ops[first:] for i in op.outputs}
    for t in outputs:
        if not isinstance(t, torch.Tensor):
            continue
        row = recorder.tensors.find(t)
        if row < 0 or (row >= rows and made.get(row, "").split(".")[0] in UNWRITTEN):
            return True
    return False


def _trains_inside(recorder: Recorder, first: int, given: List[int]) -> bool:
    """Whether forward reads parameters that are not its inputs, as functions that recompute layers do: their gradients
    are not among the function's results, so backward is derived from the operators."""
    rows = recorder.tensors.rows
    return any(i >= 0 and i not in given and rows[i].role == "parameter" for op in recorder.ops[first:]
               for i in op.inputs)


def _repeated(recorder: Recorder, call: Dict[str, Any], ops: List[OpRow]) -> Tuple[Optional[int], Dict[int, int]]:
    """The call of forward that checkpointing repeats in backward, and the rows of its tensors by those of the copy."""
    for number, known in enumerate(recorder.functions):
        if known["name"] != call["name"] or known.get("repeated") or known["module"] != call["module"]:
            continue
        first = [op for op in recorder.ops if op.function == number and op.phase == "forward"]
        if [op.op for op in first] == [op.op for op in ops]:
            known["repeated"] = True
            pairs = [(call, known)] + [({"in": b.inputs, "out": b.outputs}, {"in": a.inputs, "out": a.outputs})
                                       for a, b in zip(first, ops)]
            return number, {y: x for copy, own in pairs for key in ("in", "out") for y, x in zip(copy[key], own[key])}
    return None, {}


def _called(recorder: Recorder, call: Dict[str, Any], first: int) -> Tuple[Optional[int], Dict[int, int]]:
    """The number of a call that ended, and the rows of its tensors in forward if it repeated one."""
    ops = recorder.ops[first:]
    again, inside = recorder.phase != "forward", _trains_inside(recorder, first, call["in"])
    for op in ops:
        op.function = None if again or inside else len(recorder.functions)
    if again:
        return _repeated(recorder, call, ops)
    if inside:
        return None, {}
    recorder.functions.append(call)
    return len(recorder.functions) - 1, {}


def _forward(recorder: Recorder, cls: type, forward: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args, **kwargs):
        if recorder.silence or recorder.function is not None:  # part of another function
            return forward(*args, **kwargs)
        first, rows = len(recorder.ops), len(recorder.tensors.rows)
        given = [a for a in args if isinstance(a, torch.Tensor)]
        call: Dict[str, Any] = {"name": cls.__name__, "in": recorder.rows_of(given),
                                "module": recorder.scope[-1] if recorder.scope else ""}
        recorder.function = -1
        try:
            result = forward(*args, **kwargs)
        finally:
            recorder.function = None
        if _is_hidden(recorder, first, rows, _listed(result)):
            del recorder.ops[first:]
            recorder.record("python::" + cls.__name__, given, _listed(result), {})
            recorder.warn(f"custom autograd function '{cls.__name__}' is opaque: only the bytes that it reads and "
                          "writes are counted")
            recorder.called = (None, {})
            return result
        call["out"] = recorder.rows_of(_listed(result))
        recorder.called = _called(recorder, call, first)
        if args and hasattr(args[0], "save_for_backward"):
            setattr(args[0], CALL, (*recorder.called, [isinstance(a, torch.Tensor) for a in args[1:]]))
        return result

    return run


def _setup(recorder: Recorder, setup: Callable[..., Any]) -> Callable[..., Any]:
    """Functions with a separate setup_context() have no context in forward."""
    def run(ctx, inputs, output):
        if not recorder.silence and recorder.function is None:
            setattr(ctx, CALL, (*recorder.called, [isinstance(a, torch.Tensor) for a in inputs]))
        return setup(ctx, inputs, output)

    return run


def _backward(recorder: Recorder, backward: Callable[..., Any]) -> Callable[..., Any]:
    def run(ctx, *gradients):
        number, forward, tensors = getattr(ctx, CALL, (None, {}, []))
        if recorder.silence or recorder.function is not None or number is None:
            return backward(ctx, *gradients)
        call, first = recorder.functions[number], len(recorder.ops)
        call["given"] = recorder.rows_of(gradients)
        recorder.function = number
        try:
            result = backward(ctx, *gradients)
        finally:
            recorder.function = None
        for op in recorder.ops[first:]:
            op.inputs = [forward.get(i, i) for i in op.inputs]
        call["gradients"] = recorder.rows_of([g for g, is_tensor in zip(_listed(result), tensors) if is_tensor])
        return result

    return run


@contextmanager
def custom_functions(recorder: Recorder) -> Iterator[None]:
    wrappers = {"forward": lambda c, f: _forward(recorder, c, f), "setup_context": lambda c, f: _setup(recorder, f),
                "backward": lambda c, f: _backward(recorder, f)}
    saved = []
    for cls in _classes():
        if cls.__module__.startswith(("torch.", "centimani.")):
            continue
        for name, wrap in wrappers.items():
            method = cls.__dict__.get(name)
            if isinstance(method, staticmethod):
                saved.append((cls, name, method))
                setattr(cls, name, staticmethod(wrap(cls, method.__func__)))
    try:
        yield
    finally:
        for cls, name, method in saved:
            setattr(cls, name, method)
