# SPDX-License-Identifier: Apache-2.0
"""jaxpr.py - a jaxpr as one list of equations: functions inlined, loops unrolled, each equation with its phase."""
from __future__ import annotations

import operator
import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .errors import CaptureError

try:
    import jax
    import jax.extend.core
    from jax._src import source_info_util
except ImportError:
    raise CaptureError("capture_jax() needs JAX, which is not installed for this Python: pip install jax") from None
Literal = jax.extend.core.Literal

ITERATIONS_MAX = 100_000
FORWARD, RECOMPUTE, BACKWARD, UPDATE = "forward", "recompute", "backward", "update"
PRODUCTS = ("dot_general", "conv_general_dilated")
CALLED = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr",
          "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr",
          "custom_lin": "call_jaxpr", "remat2": "jaxpr", "remat": "jaxpr", "checkpoint": "jaxpr"}
REMAT = ("remat2", "remat", "checkpoint")


def _number(x: Any) -> Any:
    """A scalar as Python's number; None: it is an array, or no number."""
    if getattr(x, "shape", ()):
        return None
    try:
        kind = getattr(getattr(x, "dtype", None), "kind", "")
        return bool(x) if kind == "b" or isinstance(x, bool) else int(x) if kind in ("i", "u") else \
            int(x) if isinstance(x, int) else float(x)
    except TypeError:
        return None


def _convert(x: Any, params: Dict[str, Any]) -> Any:
    kind = getattr(params["new_dtype"], "kind", "f")
    return bool(x) if kind == "b" else int(x) if kind in "iu" else float(x)


def _select(params: Dict[str, Any], which: Any, *cases: Any) -> Any:
    return cases[int(which)]


# What is computed of numbers that are known, so that loops with a known length end.
FOLDED: Dict[str, Callable[..., Any]] = {
    **{name: (lambda p, *x, f=f: f(*x)) for name, f in {
        "add": operator.add, "sub": operator.sub, "mul": operator.mul, "max": max, "min": min, "lt": operator.lt,
        "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
        "neg": operator.neg, "stop_gradient": lambda x: x, "copy": lambda x: x}.items()},
    "and": lambda p, a, b: a & b, "or": lambda p, a, b: a | b, "select_n": _select,
    "convert_element_type": lambda p, x: _convert(x, p),
    "div": lambda p, a, b: None if not b else a / b if isinstance(a, float) else a // b,
}
SPREAD = ("broadcast_in_dim", "reshape", "squeeze", "expand_dims")  # each element stays the same number


class Value:
    """A tensor of the step. `number`: every element is this known number. `parts`: what a loop stacked into it."""

    __slots__ = ("shape", "dtype", "number", "maker", "parts", "name", "leaf", "same", "tainted", "whole")

    def __init__(self, shape: Sequence[int], dtype: Any, number: Any = None, maker: Optional["Equation"] = None):
        self.shape, self.dtype, self.number, self.maker = tuple(shape), dtype, number, maker
        self.parts: Optional[List[Value]] = None
        self.name, self.leaf = "", -1  # of an array among the step's arguments: its path in them, and its number
        self.same: Value = self        # the value of forward that recomputation computes again
        self.tainted = False           # it depends on backward
        self.whole: Optional[Value] = None  # the array of which shard_map gives each device this part


class Equation:
    __slots__ = ("name", "params", "inputs", "outputs", "phase", "place", "eqn", "segment")

    def __init__(self, name: str, params: Dict[str, Any], inputs: List[Value], phase: str, place: "Place", eqn: Any):
        self.name, self.params, self.inputs, self.phase, self.place, self.eqn = name, params, inputs, phase, place, eqn
        self.outputs: List[Value] = []
        self.segment = -1  # the layer of forward that is recomputed, in which the equation lies

    @property
    def scope(self) -> str:
        return self.place.scope

    def refuse(self, why: str) -> CaptureError:
        return refuse(self.eqn, self.place, why)


class Place(NamedTuple):
    """Where the walk is: the names around it, whether backward runs, the recomputed layer (-1: none), the calls."""

    scope: str = ""
    backward: bool = False
    again: bool = False
    segment: int = -1
    calls: Tuple[Any, ...] = ()  # the innermost one first


def line_of(eqn: Any, place: Place) -> str:
    """The user's line: functions of JAX itself have none, their callers do."""
    lines = (source_info_util.summarize(e.source_info) for e in (eqn, *place.calls))
    return next((line for line in lines if line), "an unknown line")


def refuse(eqn: Any, place: Place, why: str) -> CaptureError:
    return CaptureError(f"{eqn.primitive.name}: {why}\n  at {line_of(eqn, place)}")


def _closed(jaxpr: Any) -> Tuple[Any, Sequence[Any]]:
    return (jaxpr.jaxpr, jaxpr.consts) if hasattr(jaxpr, "jaxpr") else (jaxpr, ())


def _products(jaxpr: Any) -> int:
    """How many products a branch has, as a measure of its cost."""
    total = 0
    for eqn in _closed(jaxpr)[0].eqns:
        total += eqn.primitive.name in PRODUCTS
        for value in eqn.params.values():
            for inner in value if isinstance(value, (tuple, list)) else (value,):
                if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                    total += _products(inner)
    return total


class Walk:
    """Runs over a jaxpr and appends each equation that computes something to `equations`."""

    def __init__(self) -> None:
        self.equations: List[Equation] = []
        self.warnings: List[str] = []
        self.splittable: Callable[[Value], bool] = lambda value: False
        self._stacks: Dict[int, Tuple[str, bool, bool]] = {}  # by equation: scope, backward, recomputed
        self._keys: Dict[int, str] = {}
        self._seen: Dict[Tuple[Any, ...], Equation] = {}      # what forward computed
        self._segments = 0
        self.divided = 1  # devices among which shard_map divides the batch
        self.stored: List[List[Value]] = []  # what each recomputed layer reads in backward

    def run(self, jaxpr: Any, consts: Sequence[Value], args: Sequence[Value], place: Place = Place()) -> List[Value]:
        known: Dict[Any, Value] = dict(zip(jaxpr.constvars, consts))
        known.update(zip(jaxpr.invars, args))

        def read(v: Any) -> Value:
            if not isinstance(v, Literal):
                return known[v]
            return Value(v.aval.shape, v.aval.dtype, _number(v.val))

        for eqn in jaxpr.eqns:
            inputs = [read(v) for v in eqn.invars]
            known.update(zip(eqn.outvars, self._equation(eqn, inputs, self._inside(eqn, place))))
        return [read(v) for v in jaxpr.outvars]

    def constants(self, values: Sequence[Any]) -> List[Value]:
        return [Value(getattr(x, "shape", ()), getattr(x, "dtype", None), _number(x)) for x in values]

    # ---- phases --------------------------------------------------------------------------------------------------

    def _inside(self, eqn: Any, place: Place) -> Place:
        """Names of transforms say what differentiation made: jvp(...) is forward, transpose(...) backward."""
        if id(eqn) not in self._stacks:
            text = str(eqn.source_info.name_stack)
            names = re.sub(r"\b(jvp|transpose|vmap|rematted_computation|checkpoint|remat2?)\b|[()]", "", text)
            self._stacks[id(eqn)] = (names.strip("/"), "transpose(" in text, "rematted_computation" in text)
        scope, backward, again = self._stacks[id(eqn)]
        joined = f"{place.scope}/{scope}" if place.scope and scope else place.scope or scope
        return Place(joined, place.backward or backward, place.again or again, place.segment, place.calls)

    def _phase(self, inputs: Sequence[Value], place: Place) -> str:
        if place.again:
            return RECOMPUTE
        if place.backward:
            return BACKWARD
        return UPDATE if any(v.tainted for v in inputs) else FORWARD

    # ---- equations -----------------------------------------------------------------------------------------------

    def _equation(self, eqn: Any, inputs: List[Value], place: Place) -> List[Value]:
        name = eqn.primitive.name
        called = place._replace(calls=(eqn, *place.calls))
        if name in CALLED:
            inner = next((eqn.params[k] for k in (CALLED[name], "call_jaxpr", "jaxpr") if k in eqn.params), None)
            if name in REMAT and place.backward:
                self._segments += 1
                self.stored.append(inputs)
                called = called._replace(segment=self._segments)
            body, consts = _closed(inner)
            return self.run(body, self.constants(consts), inputs, called)
        if name in ("scan", "while", "cond", "shard_map"):
            return getattr(self, "_" + name)(eqn, inputs, called)
        return self._plain(eqn, inputs, place)

    def _folded(self, eqn: Any, inputs: List[Value]) -> Any:
        name, numbers = eqn.primitive.name, [v.number for v in inputs]
        if any(n is None for n in numbers) or not numbers or len(eqn.outvars) != 1:
            return None
        if name in SPREAD:
            return numbers[0]
        try:
            return FOLDED[name](eqn.params, *numbers) if name in FOLDED else None
        except (ArithmeticError, TypeError, ValueError, IndexError):
            return None

    def _plain(self, eqn: Any, inputs: List[Value], place: Place) -> List[Value]:
        """Forward computes the same function of the same values once, as XLA does."""
        if eqn.primitive.name == "all_gather" and inputs[0].whole is not None \
                and inputs[0].whole.shape == tuple(eqn.outvars[0].aval.shape):
            return [inputs[0].whole]
        phase, key = self._phase(inputs, place), self._key(eqn, inputs)
        if phase == FORWARD and key in self._seen:
            return self._seen[key].outputs
        made = self.add(eqn.primitive.name, eqn.params, inputs, [(v.aval.shape, v.aval.dtype) for v in eqn.outvars],
                        phase, place, eqn)
        if eqn.outvars:
            made.outputs[0].number = self._folded(eqn, inputs)
        if phase == FORWARD:
            self._seen[key] = made
        elif phase == RECOMPUTE and key in self._seen:
            first = self._seen[key]
            first.segment = place.segment
            for mine, theirs in zip(made.outputs, first.outputs):
                mine.same = theirs
        return made.outputs

    def _key(self, eqn: Any, inputs: List[Value]) -> Tuple[Any, ...]:
        if id(eqn) not in self._keys:
            self._keys[id(eqn)] = repr(sorted((k, str(v)) for k, v in eqn.params.items()))
        operands = tuple((repr(v.number), v.shape, str(v.dtype)) if v.number is not None else id(v.same) for v in inputs)
        return eqn.primitive.name, self._keys[id(eqn)], operands

    def add(self, name: str, params: Dict[str, Any], inputs: List[Value], made: Sequence[Tuple[Any, Any]], phase: str,
            place: Place, eqn: Any) -> Equation:
        row = Equation(name, params, inputs, phase, place, eqn)
        row.outputs = [Value(shape, dtype, maker=row) for shape, dtype in made]
        tainted = phase != FORWARD or any(v.tainted for v in inputs)
        for v in row.outputs:
            v.tainted = tainted
        self.equations.append(row)
        return row

    # ---- loops and branches --------------------------------------------------------------------------------------

    def part(self, value: Value, index: int, length: int, eqn: Any, place: Place) -> Value:
        """One iteration's slice. Weights that a loop stacks are one tensor for each iteration; so are their casts."""
        if value.parts is None and value.leaf >= 0 and self.splittable(value):
            value.parts = [self._slice_of_leaf(value, i) for i in range(length)]
        maker = value.maker
        if value.parts is None and maker is not None and maker.name == "convert_element_type":
            whole = maker.inputs[0]
            if whole.leaf >= 0 and self.splittable(whole):
                value.parts = [self.add(maker.name, maker.params, [self.part(whole, i, length, eqn, place)],
                                        [(value.shape[1:], value.dtype)], maker.phase, maker.place, maker.eqn).outputs[0]
                               for i in range(length)]
        if value.parts is None:
            phase = self._phase([value], place)
            value.parts = [self.add("select", {"index": i}, [value], [(value.shape[1:], value.dtype)], phase,
                                    place, eqn).outputs[0] for i in range(length)]
            for p in value.parts:
                p.number = value.number
        return value.parts[index]

    @staticmethod
    def _slice_of_leaf(value: Value, index: int) -> Value:
        part = Value(value.shape[1:], value.dtype)
        first, dot, rest = value.name.partition(".")
        part.name, part.leaf = f"{first}.{index}{dot}{rest}", value.leaf
        return part

    def _scan(self, eqn: Any, inputs: List[Value], place: Place) -> List[Value]:
        p = eqn.params
        length, body, consts = p["length"], *_closed(p["jaxpr"])
        # JAX 0.11 replaced the two counts by a tree of the inputs.
        counts = [len(list(part)) for part in p["ft_in"].unpack()[:2]] if "ft_in" in p else [p["num_consts"], p["num_carry"]]
        first, second = counts[0], sum(counts)
        fixed, carry, stacked = inputs[:first], inputs[first:second], inputs[second:]
        results: List[List[Value]] = []
        for i in reversed(range(length)) if p["reverse"] else range(length):
            now = [self.part(v, i, length, eqn, place) for v in stacked]
            made = self.run(body, self.constants(consts), [*fixed, *carry, *now], place)
            carry = made[:counts[1]]
            results.append(made[counts[1]:])
        if p["reverse"]:
            results.reverse()
        whole = []
        for at, v in enumerate(eqn.outvars[counts[1]:]):
            parts = [made[at] for made in results]
            joined = self.add("stack", {}, parts, [(v.aval.shape, v.aval.dtype)], self._phase(parts, place),
                              place, eqn).outputs[0]
            joined.parts = parts
            whole.append(joined)
        return [*carry, *whole]

    def _while(self, eqn: Any, inputs: List[Value], place: Place) -> List[Value]:
        p = eqn.params
        test, body = _closed(p["cond_jaxpr"]), _closed(p["body_jaxpr"])
        of_test, rest = inputs[:p["cond_nconsts"]], inputs[p["cond_nconsts"]:]
        of_body, carry = rest[:p["body_nconsts"]], rest[p["body_nconsts"]:]
        for _ in range(ITERATIONS_MAX):
            more = self.run(test[0], self.constants(test[1]), [*of_test, *carry], place)[0].number
            if more is None:
                raise refuse(eqn, place, "the number of iterations depends on the data")
            if not more:
                return carry
            carry = self.run(body[0], self.constants(body[1]), [*of_body, *carry], place)
        raise refuse(eqn, place, f"more than {ITERATIONS_MAX:,} iterations")

    def _cond(self, eqn: Any, inputs: List[Value], place: Place) -> List[Value]:
        branches, which = eqn.params["branches"], inputs[0].number
        if which is None:
            costs = [_products(b) for b in branches]
            which = costs.index(max(costs))
            text = f"cond at {line_of(eqn, place)}: the branch with most products was recorded"
            if text not in self.warnings:
                self.warnings.append(text)
        body, consts = _closed(branches[min(max(int(which), 0), len(branches) - 1)])
        return self.run(body, self.constants(consts), inputs[1:], place)

    def _shard_map(self, eqn: Any, inputs: List[Value], place: Place) -> List[Value]:
        """The program of one device, whose parts of the step's arguments are arguments of their own."""
        body, consts = _closed(eqn.params["jaxpr"])
        local = []
        for value, inner in zip(inputs, body.invars):
            shape = tuple(inner.aval.shape)
            if shape == value.shape:
                local.append(value)
                continue
            if value.leaf < 0:
                raise refuse(eqn, place, "it divides a tensor that is no argument of the step; only shard_map around the whole "
                                         "step is read")
            part = Value(shape, value.dtype)
            part.leaf, part.name = value.leaf, value.name
            if self.splittable(value):
                part.whole = value
            else:
                self.divided = max(self.divided, value.shape[0] // max(shape[0], 1))
            local.append(part)
        made = self.run(body, self.constants(consts), local, place)
        for at, (value, outer) in enumerate(zip(made, eqn.outvars)):
            if value.shape != tuple(outer.aval.shape):
                made[at] = self.add("unshard", {}, [value], [(outer.aval.shape, outer.aval.dtype)], self._phase([value], place),
                                    place, eqn).outputs[0]
        return made

    def mark_ends(self) -> None:
        """The end of a recomputed layer, whose results are not needed in backward, belongs to the layer: what lies
        between the recomputed equations of one layer and the value from which another is recomputed."""
        for inputs in self.stored:
            for value in inputs:
                end: Dict[int, Equation] = {}
                layers, stack = set(), [value.same.maker]
                while stack and len(layers) < 2:
                    e = stack.pop()
                    if e is None or e.phase != FORWARD or id(e) in end:
                        continue
                    if e.segment >= 0:
                        layers.add(e.segment)
                        continue
                    end[id(e)] = e
                    stack += [v.maker for v in e.inputs]
                for e in end.values() if len(layers) == 1 else ():
                    e.segment = min(layers)
