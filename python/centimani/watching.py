# SPDX-License-Identifier: Apache-2.0
"""watching.py - record one step of an existing training loop: with centimani.watch() as w: ...one step..."""
from __future__ import annotations

import copy
import os
import sys
import tempfile
from contextlib import ExitStack
from typing import Any, Dict, List, Optional, Sequence, Union

import torch
from torch.utils._pytree import tree_flatten

from . import hooks, optimizers, retyped
from .trace import CaptureError, Recorder
from .worlds import require_supported
from .writer import Trace, combine


class WatchRecorder(Recorder):
    """Finds parameters when they are first read: they are the trainable leaves.

    Operators before the first module with parameters prepare data, such as a loader that stacks samples or a copy to
    the device.
    """

    def __init__(self, batch_dim: int = 0) -> None:
        super().__init__()
        self.parameters: Dict[int, torch.Tensor] = {}
        self.batch_dim = batch_dim
        self.batch: Optional[int] = None   # of the first tensor given to a module with parameters
        self.prepared: Optional[int] = None  # number of operators before the first such module

    def entered(self, module: torch.nn.Module, inputs: Sequence[Any]) -> None:
        if self.batch is not None or self.silence or next(module.parameters(), None) is None:
            return
        if self.prepared is None:
            self.prepared = len(self.ops)
        given = [t for t in tree_flatten(list(inputs))[0] if isinstance(t, torch.Tensor) and t.dim() > self.batch_dim]
        if given:
            self.batch = int(given[0].shape[self.batch_dim])

    def _read(self, t: Any) -> int:
        if isinstance(t, torch.Tensor) and self.tensors.find(t) < 0:
            if isinstance(t, torch.nn.Parameter):
                row = self.leaf(t, "parameter" if t.requires_grad else "frozen", f"parameter{len(self.parameters)}")
                self.parameters[row] = t
                return row
            return self.tensors.add(t, "input" if self.phase == "forward" else "constant")
        return super()._read(t)


class _Steps:
    """Records optimizer steps as one entry per group. It notices them by the profiler annotation that each step
    writes."""

    def __init__(self, recorder: WatchRecorder):
        self.recorder, self.original = recorder, torch.autograd.profiler.record_function

    def __enter__(self) -> "_Steps":
        recorder = self.recorder

        class Note(self.original):  # type: ignore[name-defined]
            def __enter__(self):
                self.depth = recorder.silence
                if str(self.name).startswith("Optimizer.step#"):
                    frame = sys._getframe(1).f_locals
                    optimizer, words = frame.get("self", frame.get("obj")), frame.get("kwargs")
                    if isinstance(words, dict) and words.get("closure") is not None:
                        words["closure"] = _before_update(recorder, optimizer, words["closure"])
                    else:
                        _begin_update(recorder, optimizer)
                return super().__enter__()

            def __exit__(self, *exc):
                result = super().__exit__(*exc)
                if str(self.name).startswith("Optimizer.step#"):
                    recorder.phase, recorder.silence = "forward", self.depth
                return result

        torch.autograd.profiler.record_function = Note
        return self

    def __exit__(self, *exc: Any) -> None:
        torch.autograd.profiler.record_function = self.original


def _before_update(recorder: WatchRecorder, optimizer: Any, closure: Any) -> Any:
    """A closure that runs forward and backward inside step(), as Lightning's does: the update begins after it."""
    def run() -> Any:
        result = closure()
        _begin_update(recorder, optimizer)
        return result
    return run


def _begin_update(recorder: WatchRecorder, optimizer: Any) -> None:
    recorder.phase = "update"
    if not isinstance(optimizer, torch.optim.Optimizer):
        return
    recorder.silence += 1
    known = optimizers.record_groups(recorder, optimizer, recorder.tensors.find, lambda p: p.grad is not None)
    _mark_gradients(recorder)
    if not known:  # operator by operator
        recorder.silence -= 1
        recorder.warn(f"optimizer {type(optimizer).__name__} is not PyTorch's own: recorded operator by operator")


def _mark_gradients(recorder: WatchRecorder) -> None:
    for p in recorder.parameters.values():
        row = recorder.tensors.find(p.grad) if p.grad is not None else -1
        if row >= 0:
            recorder.tensors.rows[row].role = "parameter_gradient"


class watch:
    """Record the operators inside the `with` block: one step of your own loop, on your own device and data.

    model: gives the parameters their names (without it they are numbered).
    batch: samples in the step; None: the size of the first tensor given to the model.
    batch_dim: the batch dimension of the inputs. A real step shows one batch size only: dimensions that are
    multiples of it are assumed to grow with it.
    """

    def __init__(self, model: Optional[torch.nn.Module] = None, batch: Optional[int] = None, batch_dim: int = 0,
                 name: Optional[str] = None):
        require_supported()
        self.model, self.batch, self.batch_dim = model, batch, batch_dim
        self.name = name or (type(model).__name__ if model is not None else "watched")
        self.recorder = WatchRecorder(batch_dim)
        self.stack = ExitStack()
        self.seen_batch: Optional[int] = None  # samples of the recorded step
        self._trace: Optional[Trace] = None

    def __enter__(self) -> "watch":
        if self.model is not None:
            for name, p in self.model.named_parameters():
                row = self.recorder.leaf(p, "parameter" if p.requires_grad else "frozen", name)
                self.recorder.parameters[row] = p
            for name, b in self.model.named_buffers():
                self.recorder.leaf(b, "buffer", name)
        self.stack.enter_context(_Steps(self.recorder))
        self.stack.enter_context(hooks.recording(self.recorder, self.model, real=True))
        return self

    def __exit__(self, kind: Any, error: Any, tb: Any) -> None:
        self.stack.close()
        if kind is None:
            self._trace = _trace_of(self)

    @property
    def trace(self) -> Trace:
        if self._trace is None:
            raise CaptureError("nothing was recorded: run the step inside the `with` block, and ask for predictions "
                               "after it")
        return self._trace

    def save(self, path: Union[str, "os.PathLike[str]"]) -> str:
        return self.trace.save(path)

    # ---- loops of others: see callbacks.py -----------------------------------------------------------------------

    @staticmethod
    def huggingface(*devices: str, **options: Any) -> Any:
        """A callback for transformers.Trainer that watches one step and predicts it on other devices."""
        from .callbacks import huggingface
        return huggingface(*devices, **options)

    @staticmethod
    def lightning(*devices: str, **options: Any) -> Any:
        """A callback for Lightning's Trainer that watches one step and predicts it on other devices."""
        from .callbacks import lightning
        return lightning(*devices, **options)

    @staticmethod
    def loop(batches: Any, model: Optional[torch.nn.Module] = None, *devices: str, **options: Any) -> Any:
        """Iterate over the batches of a loader, and watch one of the steps."""
        from .callbacks import loop
        return loop(batches, model, *devices, **options)

    # ---- questions -----------------------------------------------------------------------------------------------

    def _ask(self, question: str, *args: Any, **kwargs: Any) -> Any:
        from . import questions
        with tempfile.TemporaryDirectory() as folder:
            path = self.save(os.path.join(folder, "watched.cmt.json"))
            return getattr(questions, question)(path, *args, **kwargs)

    def graph(self, **options: Any) -> Any:
        return self._ask("graph", **options)

    def predict(self, *devices: str, **options: Any) -> Any:
        """One prediction per device, as a table."""
        return self._ask("predict", *devices, **options)

    def memory(self, *devices: str, **options: Any) -> Any:
        return self._ask("memory", *devices, **options)


# ---- one batch size as a function of it --------------------------------------------------------------------------


def _batch_of(w: watch) -> int:
    if w.batch:
        return w.batch
    if w.recorder.batch is not None:
        return w.recorder.batch
    rows, fixed = w.recorder.tensors.rows, w.recorder.parameters
    for op in w.recorder.ops:  # no module: the first operator that reads a parameter reads samples too
        read = [rows[i] for i in op.inputs if i >= 0 and i not in fixed and len(rows[i].shape) > w.batch_dim]
        if op.phase == "forward" and read and any(i in fixed for i in op.inputs):
            return read[0].shape[w.batch_dim]
    if not w.recorder.ops:
        raise CaptureError("nothing ran inside the `with` block: the whole step must run inside it")
    raise CaptureError(f"the batch size is unknown: no tensor with a dimension {w.batch_dim} was given to the model "
                       "inside the `with` block. Say it: centimani.watch(model, batch=32)")


def _drop_preparation(recorder: WatchRecorder) -> None:
    """Remove operators that prepare data, which are host work: their results become the step's inputs."""
    rows, before = recorder.tensors.rows, recorder.ops[:recorder.prepared or 0]
    if any(i in recorder.parameters for op in before for i in op.inputs):
        return
    recorder.ops = recorder.ops[len(before):]
    read = {i for op in recorder.ops for i in op.inputs}
    made = {i for op in before for i in op.outputs if i >= 0}
    for i, row in enumerate(rows):
        if row.role == "input" or i in made:
            row.role = "input" if i in read else "constant"


def _growing(recorder: WatchRecorder, batch: int) -> List[bool]:
    """The rows whose first dimension grows with the batch: computed from an input, and a multiple of the batch long."""
    rows = recorder.tensors.rows
    weights = {r.shape for r in rows if r.role in ("parameter", "frozen")}
    weights |= {shape[::-1] for shape in weights}
    depends = [r.role == "input" for r in rows]
    for op in recorder.ops:
        if any(i >= 0 and depends[i] for i in op.inputs):
            for i in op.outputs:
                depends[i] = depends[i] or i >= 0
    fixed = ("parameter", "frozen", "buffer", "parameter_gradient", "state")
    return [d and r.role not in fixed and bool(r.shape) and r.shape[0] % batch == 0 and
            (r.role != "gradient" or r.shape not in weights) for d, r in zip(depends, rows)]


def _scaled(recorder: WatchRecorder, batch: int, factor: int) -> Recorder:
    """The recorded step at another batch size."""
    other = Recorder()
    other.ops, other.updates, other.warnings = recorder.ops, recorder.updates, recorder.warnings
    for row, grows in zip(recorder.tensors.rows, _growing(recorder, batch)):
        twin = copy.copy(row)
        if grows:
            twin.shape = (row.shape[0] * factor,) + row.shape[1:]
        other.tensors.rows.append(twin)
    return other


def _find_loss(recorder: Recorder) -> int:
    """Backward begins with ones of the loss's shape."""
    for op in recorder.ops:
        if op.phase == "backward" and op.op.startswith("aten::ones_like") and op.inputs:
            return op.inputs[0]
    return -1


def _trace_of(w: watch) -> Trace:
    recorder = w.recorder
    if not any(op.phase == "backward" for op in recorder.ops):
        recorder.warn("no backward ran inside the `with` block: only forward was recorded")
    if recorder.backwards > 1:
        recorder.warn(f"{recorder.backwards} backward passes were recorded: only the first is used")
    _mark_gradients(recorder)
    batch = w.seen_batch = _batch_of(w)
    _drop_preparation(recorder)
    recorder.warn(f"one batch size was seen, {batch}: first dimensions that are multiples of it are assumed to grow "
                  "with it")
    loss = _find_loss(recorder)
    last = [op for op in recorder.ops if op.phase == "forward" and op.outputs]
    outputs = [loss] if loss >= 0 else [last[-1].outputs[0]] if last else []
    parameters = sum(p.numel() for p in w.recorder.parameters.values())
    trace = combine([recorder, _scaled(recorder, batch, 2)], [(batch, None), (2 * batch, None)], w.name, parameters,
                    loss, outputs, "real", {"torch": torch.__version__})
    if recorder.autocast is None:
        own = retyped.own_type(list(recorder.parameters.values()))
        trace.content["precision"] = trace.content["types"] = retyped.precision_name(own)
    return trace
