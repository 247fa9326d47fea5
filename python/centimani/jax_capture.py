# SPDX-License-Identifier: Apache-2.0
"""jax_capture.py - capture_jax(): record one training step of a JAX program without a device."""
from __future__ import annotations

import math
import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from .errors import CaptureError, user_line
from .jax_compiled import compiled
from .jax_rules import Lowering, dtype_name, product_flop
from .jax_shardings import Shardings
from .jaxpr import BACKWARD, FORWARD, PRODUCTS, Equation, Value, Walk, _closed
from .progress import Progress
from .writer import Solver, Trace, combine

import jax  # noqa: E402 - jaxpr.py says what to do where it is not installed
from jax.tree_util import tree_flatten_with_path, tree_map  # noqa: E402


STATES = ("sgd", "momentum", "adam")  # by the numbers that the optimizer keeps for each parameter
HALF = ("bf16", "fp16")
# The batch sizes that are traced, in given ones: no other dimension of a step is likely to be a multiple of these primes.
TIMES = (101, 103, 211)


# ---- arguments ---------------------------------------------------------------------------------------------------


def _name(path: Sequence[Any]) -> str:
    """A dotted name; Flax's "Block_3" is layer 3 of "Block", as blocks of layers are found."""
    words = [str(getattr(p, "key", getattr(p, "name", getattr(p, "idx", p)))) for p in path]
    return ".".join(re.sub(r"_(\d+)$", r".\1", w) for w in words)


class Arguments:
    """The leaves of the step's arguments, and the arguments at another batch size."""

    def __init__(self, args: Tuple[Any, ...], batch_argnums: Union[int, Sequence[int]]):
        numbers = (batch_argnums,) if isinstance(batch_argnums, int) else tuple(batch_argnums)
        if not numbers or any(not -len(args) <= n < len(args) for n in numbers):
            raise CaptureError(f"batch_argnums={batch_argnums}: the step has {len(args)} arguments")
        self.args, self.numbers = args, {n % len(args) for n in numbers}
        sizes = [x.shape[0] for n in sorted(self.numbers) for x in jax.tree_util.tree_leaves(args[n])
                 if getattr(x, "shape", ())]
        if not sizes:
            raise CaptureError(f"batch_argnums={batch_argnums}: no array with a first dimension")
        self.batch = int(sizes[0])

    def at(self, batch: int) -> Tuple[Any, ...]:
        def scaled(x: Any, batched: bool) -> Any:
            if not hasattr(x, "shape") or not hasattr(x, "dtype"):
                return x
            shape = tuple(x.shape)
            if batched and shape and shape[0] == self.batch:
                shape = (batch, *shape[1:])
            sharding = getattr(x, "sharding", None)
            named = isinstance(sharding, jax.sharding.NamedSharding)
            return jax.ShapeDtypeStruct(shape, x.dtype, **({"sharding": sharding} if named else {}))
        return tuple(tree_map(lambda x, b=n in self.numbers: scaled(x, b), a) for n, a in enumerate(self.args))


class Run:
    """The step at one batch size: all equations that its results need."""

    def __init__(self, step: Callable[..., Any], arguments: Arguments, batch: int):
        args = arguments.at(batch)
        self.jitted = hasattr(step, "trace")
        self.traced = traced = (step if self.jitted else jax.jit(step)).trace(*args)
        body, consts = _closed(traced.jaxpr)
        paths = [(path, x) for path, x in tree_flatten_with_path(args)[0]]
        if len(paths) != len(body.invars):  # static arguments are no leaves
            paths = [(p, x) for p, x in paths if hasattr(x, "shape")]
        if len(paths) != len(body.invars):
            raise CaptureError(f"the step reads {len(body.invars)} arrays, and {len(paths)} were given: pass arrays or "
                               "jax.ShapeDtypeStruct for all arguments that are not static")
        self.arrays = [x for _, x in tree_flatten_with_path(args)[0] if hasattr(x, "shape")]
        self.walk, self.leaves, self.paths = Walk(), [], []
        self.batched: "set[int]" = set()
        for at, (path, _) in enumerate(paths):
            v = body.invars[at]
            leaf = Value(v.aval.shape, v.aval.dtype)
            leaf.leaf, leaf.name = at, _name(path[1:]) or f"argument.{path[0].idx}"
            if path[0].idx in arguments.numbers:
                self.batched.add(at)
            self.leaves.append(leaf)
            self.paths.append(path)
        self.walk.splittable = lambda v: v.leaf not in self.batched and dtype_name(v.dtype)[:2] in ("fp", "bf")
        self.results = self.walk.run(body, self.walk.constants(consts), self.leaves)
        self.walk.mark_ends()
        self.result_paths = [path for path, _ in tree_flatten_with_path(traced.out_info)[0]]


def _traced(step: Callable[..., Any], arguments: Arguments, batch: int) -> Run:
    """An error that the step has at the arguments' own batch size is its own."""
    try:
        return Run(step, arguments, batch)
    except (TypeError, ValueError) as error:
        Run(step, arguments, arguments.batch)
        raise CaptureError(f"the step does not run with {batch} samples: {str(error).splitlines()[0][:200]}\n  at {user_line(error)}\n"
                           "  Its sizes must follow from the arrays that batch_argnums names, such as x.shape[0].") from None


def _needed(results: Sequence[Value]) -> "set[int]":
    """Equations that these values depend on, by id."""
    found, stack = set(), [v.maker for v in results if v.maker is not None]
    while stack:
        e = stack.pop()
        if id(e) in found:
            continue
        found.add(id(e))
        stack += [v.maker for v in e.inputs if v.maker is not None]
    return found


# ---- the loss, the parameters, the update --------------------------------------------------------------------------


def _is_real(v: Value) -> bool:
    return dtype_name(v.dtype) in ("fp32", "fp64", "fp16", "bf16")


def _weight(found: "set[int]", equations: Sequence[Equation]) -> int:
    return sum(e.name in PRODUCTS for e in equations if id(e) in found)


def _loss(run: Run) -> Value:
    """The scalar with the most products before it: among the step's results, or else among all of forward's."""
    equations = run.walk.equations
    results = [v for v in run.results if v.shape == () and _is_real(v) and not v.tainted and v.maker is not None]
    if not results:
        results = [v for e in equations if e.phase == FORWARD for v in e.outputs if v.shape == () and _is_real(v)][-50:]
    best, weight = None, -1
    for v in results:
        products = _weight(_needed([v]), equations)
        if products > weight:
            best, weight = v, products
    if best is None:
        raise CaptureError("the step computes no loss: a real number that jax.grad or jax.value_and_grad differentiates")
    if not any(e.phase == BACKWARD for e in equations):
        raise CaptureError("the step has no backward: pass the whole training step, with jax.grad and the update")
    return best


def _roles(run: Run, read: "set[int]") -> Dict[int, str]:
    """By leaf: input, parameter (read by forward and changed by backward), frozen, state, or buffer."""
    changed = {p[1:]: v for p, v in zip(run.result_paths, run.results)}
    whole = {p: v for p, v in zip(run.result_paths, run.results)}
    shapes = {(v.shape, str(v.dtype)) for v in run.results if v.tainted}
    roles = {}
    for at, (path, leaf) in enumerate(zip(run.paths, run.leaves)):
        after = [t[k] for t in (changed, whole) for k in (path, path[1:]) if k in t]
        after = [v for v in after if (v.shape, str(v.dtype)) == (leaf.shape, str(leaf.dtype))]
        trained = any(v.tainted for v in after) if after else (leaf.shape, str(leaf.dtype)) in shapes
        real = _is_real(leaf)
        if at in run.batched:
            roles[at] = "input"
        elif at in read:
            roles[at] = "parameter" if real and trained else "frozen" if real and math.prod(leaf.shape) > 1 else "buffer"
        else:
            roles[at] = "state" if real and trained and leaf.shape else "buffer"
    return roles


def _elements(run: Run, roles: Dict[int, str], role: str) -> int:
    return sum(math.prod(run.leaves[at].shape) for at, r in roles.items() if r == role)


def _update(run: Run, roles: Dict[int, str], parameters: List[int], t: Lowering) -> None:
    """The optimizer by the size of its state: none, one or two numbers for each parameter."""
    count, kept = _elements(run, roles, "parameter"), _elements(run, roles, "state")
    if not count:
        raise CaptureError("no parameter: the step must return the new parameters, as it was given the old ones")
    states = min(round(kept / count), len(STATES) - 1)
    if abs(kept / count - states) > 0.05:
        t.warnings.append(f"the optimizer keeps {kept / count:.2f} numbers for each parameter; predictions assume those of "
                          f"{STATES[states]}: pass --optimizer for another")
    t.updates.append({"optimizer": "jax", "kind": STATES[states], "implementation": "fused", "states": states,
                      "tensors": len(parameters), "elements": count, "parameters": parameters})


# ---- the capture ---------------------------------------------------------------------------------------------------


def _lowered(run: Run, loss: Value) -> Lowering:
    t, equations = Lowering(), run.walk.equations
    found = _needed([loss])
    read = {v.leaf for e in equations if id(e) in found for v in e.inputs if v.leaf >= 0}
    for e in equations:
        if id(e) in found and any(v.tainted for v in e.inputs):
            raise e.refuse("the loss depends on a gradient")
    roles = _roles(run, read)
    t.roles = lambda v: roles.get(v.leaf, "constant")
    for e in equations:
        if id(e) in found:
            t.translate(e)
    whole = _needed(run.results)
    for e in equations:
        if id(e) in whole and e.phase == BACKWARD and e.name in PRODUCTS:
            t.product(e)
    parameters = [i for i, row in enumerate(t.tensors.rows) if row.role == "parameter"]
    _update(run, roles, parameters, t)
    t.warnings += run.walk.warnings
    return t


def _flop(run: Run) -> int:
    needed = _needed(run.results)
    return sum(product_flop(e) for e in run.walk.equations if e.name in PRODUCTS and id(e) in needed)


def _precisions(run: Run, loss: Value, t: Lowering) -> Tuple[str, Optional[str]]:
    """The type of most parameters, and the 16-bit type of products of a model whose parameters are in fp32."""
    sizes: Dict[str, int] = {}
    for row in t.tensors.rows:
        if row.role == "parameter":
            sizes[row.dtype] = sizes.get(row.dtype, 0) + math.prod(row.shape)
    types = max(sizes, key=lambda k: sizes[k])
    flop: Dict[str, int] = {}
    found = _needed([loss])
    for e in run.walk.equations:
        if id(e) in found and e.name in PRODUCTS:
            kind = dtype_name(e.inputs[0].dtype)
            flop[kind] = flop.get(kind, 0) + product_flop(e)
    low = max(flop, key=lambda k: flop[k]) if flop else types
    return types if types in HALF else "fp32", low if types not in HALF and low in HALF else None


def _passes(run: Run) -> int:
    """Passes in bf16 on a TPU that most products of fp32 numbers ask for: jax.default_matmul_precision and the like."""
    flop: Dict[int, int] = {}
    for e in run.walk.equations:
        if e.name in PRODUCTS:
            asked = str(e.params.get("precision")).upper()
            passes = 6 if "HIGHEST" in asked or "_X6" in asked or "F32_F32_F32" in asked else 3 if "HIGH" in asked or "_X3" in asked else 1
            flop[passes] = flop.get(passes, 0) + product_flop(e)
    return max(flop, key=lambda k: flop[k]) if flop else 1


def _stored(run: Run) -> Tuple[int, int]:
    """Bytes that loops of forward store for backward, and how many iterations they have together."""
    stacks = [e for e in run.walk.equations if e.name == "stack" and e.phase == FORWARD]
    inner = {id(v) for e in stacks for v in e.inputs}  # of a loop within a loop
    outer = [e.outputs[0] for e in stacks if id(e.outputs[0]) not in inner]
    lengths = {id(e.eqn): len(e.inputs) for e in stacks}
    return sum(math.prod(v.shape) * v.dtype.itemsize for v in outer), sum(lengths.values())


def _keeps_arguments(run: Run, t: Lowering) -> bool:
    """The step is compiled as it was given, and most of its parameters and states are not donated."""
    given = [x for x in jax.tree_util.tree_leaves(run.traced.args_info, is_leaf=lambda x: hasattr(x, "donated"))]
    if not run.jitted or len(given) != len(run.leaves):
        return False
    kept = {True: 0, False: 0}
    for leaf, info in zip(run.leaves, given):
        if t.roles(leaf) in ("parameter", "state"):
            kept[bool(info.donated)] += math.prod(leaf.shape)
    return kept[False] > kept[True]


def _record_plan(trace: Trace, run: Run, t: Lowering) -> None:
    shardings = Shardings(run.arrays, run.traced)
    if shardings.size(list(shardings.mesh)) > 1:
        found: List[str] = []
        roles = {at: t.roles(leaf) for at, leaf in enumerate(run.leaves)}
        trace.content["plan"] = shardings.plan(roles, found)
        trace.content["warnings"] += found


def _record_compiled(trace: Trace, run: Run, topology: str, batch: int) -> None:
    """The batch of the answer is that of one replica."""
    with Progress(f"compiling for {topology}"):
        answer = compiled(run.traced, run.arrays, run.batched, topology, batch)
    replicas = trace.content["plan"]["dp"] if "plan" in trace.content else answer["devices"]
    if "plan" not in trace.content and replicas > 1:
        trace.content["plan"] = {"mesh": {"data": replicas}, "axes": {"data": "data"}, "devices": replicas, "tp": 1, "cp": 1,
                                 "dp": replicas, "zero": 0, "ep": 1}
    trace.content["xla"] = {**answer, "batch": batch // replicas}


def capture_jax(train_step: Callable[..., Any], *args: Any, batch_argnums: Union[int, Sequence[int]],
                name: Optional[str] = None, precision: Optional[str] = None, compile_for: Optional[str] = None) -> Trace:
    """Record one training step of a JAX program: `train_step(*args)` computes a loss, its gradients, and returns the
    new parameters and optimizer state. It is traced, not run: arrays may be jax.ShapeDtypeStruct.

    batch_argnums: the arguments whose arrays have the batch as first dimension.
    precision: the default precision of predictions; the step's own types otherwise.
    compile_for: TPU topology, such as "v6e" or "v6e:2x4x1". The step is compiled for it at the batch size of `args`, and the
        memory, cycles and collectives of the compiled program are recorded (needs libtpu, no TPU).
    """
    arguments = Arguments(args, batch_argnums)
    points: List[Any] = [(n * arguments.batch, None) for n in TIMES]
    runs, steps, losses = [], [], []
    with Progress(f"capture of {name or getattr(train_step, '__name__', 'a JAX step')}") as progress:
        for batch, _ in points:
            progress.say(f"batch {batch}")
            runs.append(_traced(train_step, arguments, batch))
            losses.append(_loss(runs[-1]))
            steps.append(_lowered(runs[-1], losses[-1]))
    each = runs[0].walk.divided  # of shard_map, the program of one device is recorded
    points = [(batch // each, None) for batch, _ in points]
    types, low = _precisions(runs[0], losses[0], steps[0])
    for t in steps:
        t.autocast = low
    parameters = sum(math.prod(r.shape) for r in steps[0].tensors.rows if r.role == "parameter")
    loss = steps[0].at(losses[0])
    trace = combine(steps, points, name or getattr(train_step, "__name__", "step"), parameters, loss, [loss], "fake",
                    {"jax": jax.__version__})
    trace.content["batch"] = arguments.batch // each
    trace.content["product_flop"] = Solver(points).number([_flop(run) for run in runs])
    stored = [_stored(run) for run in runs]
    if stored[0][0]:
        terms = Solver(points).terms([n for n, _ in stored]) or [0, stored[0][0]]
        trace.content["loops"] = {"iterations": stored[0][1], "stored_bytes": terms[:2]}
    if _keeps_arguments(runs[0], steps[0]):
        trace.content["keeps_arguments"] = True
    if low is None:
        trace.content["precision"] = trace.content["types"] = types
        if _passes(runs[0]) > 1:
            trace.content["product_passes"] = _passes(runs[0])
    if precision is not None:
        trace.content["wanted_precision"] = precision
    _record_plan(trace, runs[0], steps[0])
    if compile_for is not None:
        _record_compiled(trace, Run(train_step, arguments, arguments.batch), compile_for, arguments.batch)
    return trace
