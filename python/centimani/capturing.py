# SPDX-License-Identifier: Apache-2.0
"""capturing.py - capture(): record one training step of a PyTorch model without a device."""
from __future__ import annotations

import inspect
import os
import re
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union

import torch
from torch.utils._pytree import tree_flatten, tree_map

from . import answers, casts, hooks, optimizers, retyped
from .errors import NeedsData, user_line
from .progress import Progress
from .trace import CaptureError, Recorder
from .worlds import Swapped, converted, new_world, require_supported
from .writer import PathError, Point, Trace, combine, compare, same_path

Loss = Union[None, str, Callable[..., torch.Tensor]]
Dims = Union[None, int, Sequence[Optional[int]]]  # of all inputs, or one for each
LOSSES = ("cross-entropy", "mse", "bce")
PRECISIONS = ("fp32", "tf32", "amp-bf16", "amp-fp16", "bf16", "fp16", "fp8")


# ---- losses ------------------------------------------------------------------------------------------------------


def _tensors_in(output: Any) -> Iterator[torch.Tensor]:
    """The tensors of a model's output, which may be nested: the script holds all of them until backward has run."""
    if isinstance(output, dict):
        for value in output.values():
            yield from _tensors_in(value)
    else:
        for value in tree_flatten(output)[0]:
            if isinstance(value, torch.Tensor):
                yield value
            elif isinstance(value, dict):
                yield from _tensors_in(value)


def _first_real(output: Any) -> torch.Tensor:
    for t in _tensors_in(output):
        if t.is_floating_point():
            return t
    raise CaptureError("the model returns no real numbers, so there is no default loss: pass loss=")


def _default_loss(y: torch.Tensor) -> str:
    image = y.dim() >= 4
    classes = y.shape[1 if image else -1] if y.dim() else 1
    if y.dim() >= 2 and classes != 1:
        return "cross-entropy"
    return "bce" if image else "mse"


def _made_target(recorder: Recorder, y: torch.Tensor, classes: bool) -> torch.Tensor:
    """A target as a data loader would give it: class indices, or as many real numbers as the output has."""
    shape = [n for i, n in enumerate(y.shape) if i != 1] if classes else list(y.shape)
    with recorder.suspended():
        target = torch.zeros(shape, dtype=torch.int64 if classes else torch.float32, device=y.device)
        recorder.tensors.add(target, "input", "target", fresh=True)  # its address may have been another tensor's
    recorder.target = target  # keeps the address from being reused
    return target


def _predicts_next(recorder: Recorder) -> bool:
    """Each position of a causal model predicts the next one, so the last has no label."""
    return any(op.op == "aten::scaled_dot_product_attention" and op.attrs.get("is_causal") for op in recorder.ops)


def _cross_entropy(recorder: Recorder, y: torch.Tensor, target: Optional[torch.Tensor]) -> torch.Tensor:
    if y.dim() == 3 and target is None and y.shape[1] > 1 and _predicts_next(recorder):
        y = y[:, :-1]
    y = y.float()
    if y.dim() == 3:
        y = y.reshape(-1, y.shape[-1])
    if target is None:
        target = _made_target(recorder, y, classes=True)
    elif y.dim() == 2:
        target = target.reshape(-1)
    return torch.nn.functional.cross_entropy(y, target)


def _named_loss(recorder: Recorder, kind: str, y: torch.Tensor, target: Optional[torch.Tensor]) -> torch.Tensor:
    if kind == "cross-entropy":
        return _cross_entropy(recorder, y, target)
    if target is None:
        target = _made_target(recorder, y, classes=False)
    if kind == "mse":
        return torch.nn.functional.mse_loss(y.float(), target)
    return torch.nn.functional.binary_cross_entropy_with_logits(y.float(), target)


def _takes_target(loss: Callable[..., Any]) -> bool:
    function = loss.forward if isinstance(loss, torch.nn.Module) else loss
    try:
        required = [p for p in inspect.signature(function).parameters.values()
                    if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        return True
    return len(required) >= 2


def _own_loss(output: Any) -> Optional[torch.Tensor]:
    loss = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    if isinstance(loss, torch.Tensor):
        return loss
    return output if isinstance(output, torch.Tensor) and output.dim() == 0 else None


def _loss_of(loss: Loss, output: Any, target: Any, recorder: Recorder) -> torch.Tensor:
    if loss is None:
        own = _own_loss(output)
        if own is not None:
            return own
        y = _first_real(output)
        loss = _default_loss(y)
        recorder.warn(f"loss: {loss}, by the shape of the model's output; pass loss= for another")
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise CaptureError(f"loss '{loss}' is unknown: {', '.join(LOSSES)}, or a function of the output")
        return _named_loss(recorder, loss, _first_real(output), target)
    if target is not None:
        return loss(output, target)
    if _takes_target(loss):
        y = _first_real(output)
        return loss(y, _made_target(recorder, y, type(loss).__name__ in ("CrossEntropyLoss", "NLLLoss")))
    return loss(output)


# ---- one step ----------------------------------------------------------------------------------------------------


def _dims_of(given: Dims, tensors: List[torch.Tensor], inputs: int, rest: Optional[int], what: str) -> Dict[int, int]:
    """The dimension of each tensor that has it, by the tensor's identity. The first tensors are the inputs, the others the target."""
    if given is None or isinstance(given, int):
        dims = [given] * len(tensors)
    elif len(given) == inputs:
        dims = list(given) + [rest] * (len(tensors) - inputs)
    else:
        raise CaptureError(f"{what} has {len(given)} dimensions, and the inputs have {inputs} tensors: one for each, None for none")
    return {id(t): dim for t, dim in zip(tensors, dims) if dim is not None and t.dim() > dim}


class Plan:
    """The arguments of capture()."""

    def __init__(self, model: torch.nn.Module, inputs: Any, target: Any, loss: Loss, optimizer: Any, batch_dim: Dims,
                 seq_dim: Dims):
        self.model, self.inputs, self.target, self.loss, self.optimizer = model, inputs, target, loss, optimizer
        self.progress = Progress(f"capture of {type(model).__name__}")
        self.casts: Set[int] = set()  # casts that are recorded though they change nothing here (casts.py)
        self.answers: Optional[answers.Answers] = None  # of a real pass, where the step depends on data
        tensors = [t for t in tree_flatten((inputs, target))[0] if isinstance(t, torch.Tensor)]
        if not tensors:
            raise CaptureError("inputs hold no tensor")
        self.type = retyped.model_type(model, tensors)
        inputs = len([t for t in tree_flatten(self.inputs)[0] if isinstance(t, torch.Tensor)])
        self.batch_dims = _dims_of(batch_dim, tensors, inputs, 0, "batch_dim")
        self.seq_dims = _dims_of(seq_dim, tensors, inputs, None, "seq_dim")
        self.listed = not isinstance(batch_dim, int)
        if not self.batch_dims:
            raise CaptureError(f"no input has a dimension {batch_dim}: pass batch_dim=")
        if seq_dim is not None and (not self.seq_dims or (isinstance(seq_dim, int) and id(tensors[0]) not in self.seq_dims)):
            raise CaptureError(f"the first input has no dimension {seq_dim}: pass another seq_dim=")
        self.batch, self.seq = self._size(tensors, self.batch_dims), self._size(tensors, self.seq_dims)

    @staticmethod
    def _size(tensors: List[torch.Tensor], dims: Dict[int, int]) -> Any:
        return next((int(t.shape[dims[id(t)]]) for t in tensors if id(t) in dims), None)

    def points(self, times: int = 1) -> List[Point]:
        first = max(self.batch, 2) * times
        batches = [first, first + 1]
        check = 2 * first + 3
        if self.seq is None:
            return [(b, None) for b in batches + [check]]
        if self.seq < 8:
            raise CaptureError(f"a sequence of {self.seq} is too short to see how sizes grow with it")
        lengths = (self.seq - self.seq // 8, self.seq - self.seq // 4)  # a full slice of a table is not an operator
        return [(b, s) for s in lengths for b in batches] + [(check, lengths[0])]

    def shape_at(self, t: torch.Tensor, point: Point) -> Tuple[int, ...]:
        """With a dimension for each input, multiples of the batch grow with it: the edges of a graph with its nodes."""
        shape = list(t.shape)
        for dims, size, at in ((self.batch_dims, self.batch, point[0]), (self.seq_dims, self.seq, point[1])):
            dim = dims.get(id(t))
            if dim is not None and (shape[dim] == size or (self.listed and shape[dim] % size == 0)):
                shape[dim] = shape[dim] // size * at
        return tuple(shape)

    def contents_at(self, t: torch.Tensor, point: Point) -> Optional[torch.Tensor]:
        """Integers and truth values as they were given, repeated along the batch and the sequence."""
        if t.is_floating_point() or t.is_complex() or t.device.type == "meta" or t.layout != torch.strided:
            return None
        contents = t.detach().cpu()
        for dim, size in enumerate(self.shape_at(t, point)):
            if size != contents.shape[dim]:
                contents = contents.index_select(dim, torch.arange(size) % contents.shape[dim])
        return contents.clone()


def _call(model: torch.nn.Module, inputs: Any) -> Any:
    if isinstance(inputs, dict):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, (list, tuple)) else model(inputs)


def _register(recorder: Recorder, model: torch.nn.Module) -> None:
    for name, p in model.named_parameters():
        recorder.leaf(p, "parameter" if p.requires_grad else "frozen", name)
    for name, b in model.named_buffers():
        recorder.leaf(b, "buffer", name)


def _inputs_at(plan: Plan, world: Any, recorder: Recorder, point: Point, dtype: Any) -> Tuple[Any, Any]:
    count = [0]

    def make(t: Any) -> Any:
        if not isinstance(t, torch.Tensor):
            return t
        fake = world.empty(t, plan.shape_at(t, point), converted(t, dtype))
        recorder.leaf(fake, "input", f"input{count[0]}")
        count[0] += 1
        contents = plan.contents_at(t, point)
        if contents is not None:
            world.values.give(fake, contents)
        return fake

    names = list(plan.inputs) if isinstance(plan.inputs, dict) else []
    made = tree_map(make, plan.inputs)
    for name in names:
        if isinstance(made[name], torch.Tensor):
            recorder.tensors.rows[recorder.tensors.find(made[name])].name = name
    return made, tree_map(make, plan.target)


def _heard(plan: Plan) -> Optional[answers.Answers]:
    """What real passes answer, where a step depends on data; None: it cannot run here, or fails too."""
    def run(samples: int, recorder: Recorder) -> None:
        def make(t: Any) -> Any:
            point = (samples, plan.seq)
            return answers.real_data(t, plan.shape_at(t, point), plan.contents_at(t, point)) if isinstance(t, torch.Tensor) else t
        plan.progress.say(f"a real pass at batch {samples}, for what depends on data")
        with torch.enable_grad():
            _loss_of(plan.loss, _call(plan.model, tree_map(make, plan.inputs)), tree_map(make, plan.target), recorder)

    try:
        return answers.heard(plan.model, plan.points()[0][0], run)
    except Exception:  # noqa: BLE001 - the reason that the caller has is the user's
        return None


class Step:
    def __init__(self, recorder: Recorder):
        self.recorder, self.loss, self.outputs = recorder, -1, []  # type: ignore[var-annotated]
        self.casts = casts.Casts(recorder, set())


def _mark_gradients(recorder: Recorder, model: torch.nn.Module) -> None:
    for p in model.parameters():
        row = recorder.tensors.find(p.grad) if p.grad is not None else -1
        if row >= 0:
            recorder.tensors.rows[row].role = "parameter_gradient"


def _run(plan: Plan, world: Any, swapped: Swapped, point: Point, forward_only: bool) -> Step:
    recorder = world.recorder()
    recorder.forward_only = forward_only
    recorder.answers = answers.Replay(plan.answers, point[0]) if plan.answers else None
    plan.progress.say(f"{'forward pass' if forward_only else 'one step'} at batch {point[0]}" + (f", sequence {point[1]}" if point[1] else ""))
    step = Step(recorder)
    _register(recorder, plan.model)
    inputs, target = _inputs_at(plan, world, recorder, point, swapped.dtype)
    with world.inside(), hooks.recording(recorder, plan.model, real=False):
        with casts.Casts(recorder, plan.casts) as step.casts:
            output = _call(plan.model, inputs)
        recorder.scope.clear()
        loss = _loss_of(plan.loss, output, target, recorder)
        step.loss = recorder.tensors.find(loss)
        step.outputs = [i for i in (recorder.tensors.find(t) for t in _tensors_in(output)) if i >= 0]
        if forward_only:
            return step
        loss.backward()
        recorder.phase = "update"
        with recorder.suspended():
            _mark_gradients(recorder, plan.model)
        optimizers.record(recorder, plan.model, plan.optimizer, swapped)
    for p in plan.model.parameters():
        p.grad = None
    return step


def _find_casts(plan: Plan, world: Any) -> None:
    """Set plan.casts. A model that runs under autocast shows them itself; one that fails there is recorded without."""
    if plan.type != torch.float32 or hooks.autocast_kind() or not hasattr(torch, "compile"):
        return
    point, lists = plan.points()[0], []
    for dtype, autocast in ((None, True), (None, False), (torch.bfloat16, False)):
        try:
            with Swapped(plan.model, world, dtype) as swapped, torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                lists.append(_run(plan, world, swapped, point, forward_only=True).casts.asked)
        except Exception:  # noqa: BLE001 - the step itself is recorded without autocast
            return
        if all(wanted != torch.bfloat16 for _, wanted in lists[0]):
            return
    plan.casts = casts.only_under_autocast(lists[1], lists[2], lists[0])


LARGER = (1, 4, 16)  # batch sizes to try, in multiples of the given one


def _steps(plan: Plan, world: Any, swapped: Swapped) -> Tuple[List[Step], List[Point]]:
    """One step at each size, all on the same path.

    A first step may fill caches that later ones read: then it is repeated. A model whose path depends on the batch
    size is recorded on the path of larger batches.
    """
    failed: Optional[PathError] = None
    for times in LARGER:
        points = plan.points(times)
        steps = [_run(plan, world, swapped, p, forward_only=i == len(points) - 1) for i, p in enumerate(points)]
        if not same_path(steps[0].recorder, steps[1].recorder):
            steps[0] = _run(plan, world, swapped, points[0], forward_only=False)
        try:
            compare([s.recorder for s in steps], points)
        except PathError as error:
            failed = failed or error
            continue
        if failed:
            steps[0].recorder.warn(f"{failed}. Its path at batch {points[0][0]} and more was recorded")
        return steps, points
    raise CaptureError(f"{failed}. Its control flow depends on the size; capture the path you train") from failed


def _recorded(plan: Plan, world: Any) -> Tuple[List[Step], List[Point]]:
    with plan.progress, _gradients_kept(plan.model):
        _find_casts(plan, world)
    with plan.progress, _gradients_kept(plan.model), Swapped(plan.model, world) as swapped:
        return _steps(plan, world, swapped)


def _converted(plan: Plan, world: Any, own: Step, point: Point, dtype: torch.dtype) -> Step:
    """The forward pass of the model converted to `dtype`."""
    with Swapped(plan.model, world, dtype) as swapped:
        step = _run(plan, world, swapped, point, forward_only=True)
        if not retyped.aligned(own, step):  # the first run may have filled caches
            step = _run(plan, world, swapped, point, forward_only=True)
        return step


def _retyped(plan: Plan, world: Any, own: Step, point: Point, other: torch.dtype) -> Tuple[Step, Optional[Exception]]:
    """The pass of the converted model. If it refuses operands of several types, as under autocast, with the error."""
    try:
        return _converted(plan, world, own, point, other), None
    except RuntimeError as error:
        if other not in retyped.SIXTEEN:
            raise
        with retyped.Joined(other):
            return _converted(plan, world, own, point, other), error


def _add_types(plan: Plan, world: Any, trace: Trace, own: Step, point: Point) -> None:
    """Add the tensors' types in the model's other type; warn if they cannot be determined."""
    other = retyped.other_type(plan.type)
    if other is None or own.recorder.autocast:
        return
    name = retyped.precision_name(other)
    name = "fp32" if name == "tf32" else name
    try:
        step, refused = _retyped(plan, world, own, point, other)
        retyped.add_types(trace.content, own, step, name)
        if refused:
            trace.content["refused"] = {"precision": name, "warning": f"predictions in {name} take products of several types as autocast does: "
                                        f"the model did not run after model.to({other})  {_cause(refused)}"}
    except Exception as error:  # the unconverted model is recorded already
        trace.content["refused"] = {"precision": name, "warning": f"predictions in {name} assume the types inside the model: it did not run "
                                    f"after model.to({other})  {_cause(error)}"}


# ---- what went wrong, and where ----------------------------------------------------------------------------------


def _cause(error: BaseException) -> str:
    line, text = user_line(error), str(error).strip()
    return f"({text.splitlines()[0][:200] if text else type(error).__name__}{', at ' + line if line else ''})"


DATA_DEPENDENT = ("nonzero", "_local_scalar_dense", "unique", "masked_select", "item", "is_nonzero", "bincount",
                  "_unique2", "equal", "repeat_interleave")


def _operator_of(error: BaseException, recorder: Optional[Recorder]) -> Tuple[str, bool]:
    """The operator that failed, and whether it needs data."""
    op = recorder.failed if recorder else None
    missing = re.search(r"Could not run '(aten::\w+)'", str(error))  # the operator that a composite one calls
    op = (missing.group(1) if missing else op) or ""
    short = op.split("::")[-1].split(".")[0]
    return op, type(error).__name__.startswith(("DataDependent", "DynamicOutput")) or short in DATA_DEPENDENT


def _explain(error: BaseException, recorder: Optional[Recorder]) -> CaptureError:
    if isinstance(error, CaptureError):
        return error
    op, needs_data = _operator_of(error, recorder)
    kind = type(error).__name__
    place = f" in module '{recorder.scope[-1]}'" if recorder and recorder.scope else ""
    line = user_line(error)
    at = f"\n  at {line}" if line else ""
    reason = str(error).strip().splitlines()[0].split(". ")[0][:300] if str(error).strip() else kind
    if needs_data:
        return NeedsData(f"{op}{place}: its result or shape depends on the data, which a step without "
                            f"memory does not have{at}\n  Record a real step instead: with centimani.watch() as w: ...")
    return CaptureError(f"{op + place + ': ' if op else (place.strip() + ': ' if place else '')}{kind}: {reason}{at}")


@contextmanager
def _gradients_kept(model: torch.nn.Module) -> Iterator[None]:
    saved = [(p, p.grad) for p in model.parameters() if p.grad is not None]
    try:
        yield
    finally:
        for p, g in saved:
            p.grad = g


def _unwrap(model: torch.nn.Module, warnings: List[str]) -> torch.nn.Module:
    while True:
        if hasattr(model, "_orig_mod"):
            warnings.append("the model is compiled: the module below it was recorded, as eager PyTorch runs it")
            model = model._orig_mod
        elif type(model).__name__ in ("DistributedDataParallel", "DataParallel"):
            warnings.append(f"{type(model).__name__}: the module inside was recorded; its communication was not")
            model = model.module
        else:
            return model


def _larger(plan: Plan, batch: int) -> Any:
    """The model's inputs at another batch size."""
    point = (batch, plan.seq)

    def make(t: Any) -> Any:
        if not isinstance(t, torch.Tensor):
            return t
        contents = plan.contents_at(t, point)
        return torch.zeros(plan.shape_at(t, point), dtype=t.dtype) if contents is None else contents
    return tree_map(make, plan.inputs)


def _compiled(plan: Plan, precision: Optional[str], warnings: List[str]) -> List[Dict[str, Any]]:
    """The kernels that torch.compile would generate; none, with a warning, where this PyTorch does not say."""
    from . import generated, lowering

    def graphs(inputs: Any) -> List[Dict[str, Any]]:
        return lowering.compiled(plan.model, inputs, lambda y: _first_real(y) if _own_loss(y) is None else _own_loss(y), precision)
    try:
        return generated.with_terms(graphs(plan.inputs), graphs(_larger(plan, 2 * plan.batch)), plan.batch, warnings.append)
    except Exception as error:  # noqa: BLE001 - the step itself is captured
        warnings.append(f"torch.compile's kernels are not recorded: {type(error).__name__}: {str(error).splitlines()[0][:200]}")
        return []


def capture(model: torch.nn.Module, inputs: Any, loss: Loss = None, optimizer: Any = None,
            precision: Optional[str] = None, batch_dim: Dims = 0, *, target: Any = None, seq_dim: Dims = None,
            name: Optional[str] = None, world: Any = None, compile: bool = False) -> Trace:
    """Record one training step of `model` on fake tensors, which need no GPU and no memory.

    inputs: a tensor, a tuple of arguments or a dict of keyword arguments; only shapes and types matter.
    loss: a function of the output (and `target`), "cross-entropy", "mse", "bce"; None: the model's own, or by shape.
    optimizer: a torch optimizer of this model, a function of its parameters, or "sgd", "momentum", "adam", "adamw".
    precision: the default precision of predictions; the step itself is recorded as the model runs it.
    seq_dim: the dimension of a sequence whose length may be changed in predictions.
    batch_dim and seq_dim may be lists with one dimension (or None) for each tensor of the inputs: (0, 1) for nodes and a list of edges.
    compile: also record the kernels that torch.compile would generate, which predictions then time (docs/capture.md).
    """
    require_supported()
    if precision is not None and precision not in PRECISIONS:
        raise CaptureError(f"precision '{precision}' is unknown: {', '.join(PRECISIONS)}")
    warnings: List[str] = []
    model = _unwrap(model, warnings)
    if world is None:
        world = new_world()
    plan = Plan(model, inputs, target, loss, optimizer, batch_dim, seq_dim)
    active: List[Recorder] = []
    make = world.recorder
    world.recorder = lambda: active.append(make()) or active[-1]
    try:
        try:
            steps, points = _recorded(plan, world)
        except Exception as error:
            if not _operator_of(error, active[-1] if active else None)[1]:
                raise
            with plan.progress:
                plan.answers = _heard(plan)
            if plan.answers is None:
                raise
            steps, points = _recorded(plan, world)
        trace = combine([s.recorder for s in steps], points, name or type(model).__name__,
                        sum(p.numel() for p in model.parameters()), steps[0].loss, steps[0].outputs,
                        world.name, {"torch": torch.__version__})
        with plan.progress, _gradients_kept(model):
            _add_types(plan, world, trace, steps[0], points[0])
    except Exception as error:
        explained = _explain(error, active[-1] if active else None)
        if isinstance(error, CaptureError):
            raise
        raise explained from error
    finally:
        world.recorder = make
    trace.content["seq"] = plan.seq
    if steps[0].recorder.autocast is None:
        trace.content["precision"] = trace.content["types"] = retyped.precision_name(plan.type)
    if precision is not None:
        trace.content["wanted_precision"] = precision
    if compile:
        amp = [p for p in (precision, trace.content["precision"]) if (p or "").startswith("amp-")]
        trace.content["compiled_precision"] = amp[0] if amp else retyped.precision_name(plan.type)
        with plan.progress:
            plan.progress.say("kernels of torch.compile")
            trace.content["compiled"] = _compiled(plan, trace.content["compiled_precision"], warnings)
    trace.content["warnings"] = warnings + trace.content["warnings"]
    return trace

