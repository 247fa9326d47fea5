# SPDX-License-Identifier: Apache-2.0
"""jax_rules.py - each primitive of a jaxpr as the operators of a capture (src/import/trace/aten.def)."""
from __future__ import annotations

import math
import operator
from typing import Any, Callable, Dict, List, Optional, Sequence

from .jaxpr import FORWARD, Equation, Value

DTYPES = {"float32": "fp32", "float64": "fp64", "float16": "fp16", "bfloat16": "bf16", "int64": "int64",
          "uint64": "int64", "int32": "int32", "uint32": "int32", "int16": "int16", "uint16": "int16", "int8": "int8",
          "uint8": "uint8", "int4": "int8", "uint4": "uint8", "bool": "bool", "float0": "bool",
          "complex64": "complex64", "complex128": "complex64"}


def dtype_name(dtype: Any) -> str:
    name = str(dtype)
    return "fp8" if name.startswith("float8") else DTYPES.get(name, "int32")  # keys of random numbers are integers


class Row:
    """A tensor of the capture."""

    __slots__ = ("name", "shape", "dtype", "layout", "storage", "role", "until")

    def __init__(self, shape: Sequence[int], dtype: str, storage: int, role: str, name: Optional[str] = None):
        self.shape, self.dtype, self.storage, self.role, self.name = tuple(shape), dtype, storage, role, name
        self.layout, self.until = "contiguous", -1


class Op:
    __slots__ = ("op", "phase", "inputs", "outputs", "attrs", "module", "function", "plain", "segment")

    def __init__(self, op: str, phase: str, inputs: List[int], outputs: List[int], attrs: Dict[str, Any], module: str,
                 segment: int = -1):
        self.op, self.phase, self.inputs, self.outputs, self.attrs = op, phase, inputs, outputs, attrs
        self.module, self.function, self.plain, self.segment = module, None, False, segment


class Rows:
    def __init__(self) -> None:
        self.rows: List[Row] = []


# ---- FLOP as XLA counts them -------------------------------------------------------------------------------------


def _positions(size: int, window: int, stride: int, low: int, dilation: int, base: int, made: int) -> int:
    """Pairs of an output and an element of the window that meet a number of the image, not a pad."""
    total, reach = 0, (size - 1) * base + 1
    for at in range(made):
        for w in range(window):
            place = at * stride - low + w * dilation
            total += 0 <= place < reach and place % base == 0
    return total


def product_flop(e: Equation) -> int:
    x, w, y = e.inputs[0].shape, e.inputs[1].shape, e.outputs[0].shape
    if e.name == "dot_general":
        return 2 * math.prod(y) * math.prod(x[i] for i in e.params["dimension_numbers"][0][0])
    p, numbers = e.params, e.params["dimension_numbers"]
    met = 1
    for i, (low, _) in enumerate(p["padding"]):
        met *= _positions(x[numbers.lhs_spec[2 + i]], w[numbers.rhs_spec[2 + i]], p["window_strides"][i], low,
                          p["rhs_dilation"][i], p["lhs_dilation"][i], y[numbers.out_spec[2 + i]])
    return 2 * y[numbers.out_spec[0]] * y[numbers.out_spec[1]] * w[numbers.rhs_spec[1]] * met


# ---- what a step becomes -----------------------------------------------------------------------------------------


class Lowering:
    """Operators and tensors of one step, as writer.combine() reads them."""

    autocast: Optional[str] = None

    def __init__(self) -> None:
        self.tensors, self.ops = Rows(), []  # type: ignore[var-annotated]
        self.warnings: List[str] = []
        self.updates: List[Dict[str, Any]] = []
        self.functions: List[Dict[str, Any]] = []
        self.omitted_masks: List[str] = []
        self.places: Dict[int, int] = {}  # by value: its row
        self.kept: List[Value] = []       # so that no other value gets its id
        self.roles: Callable[[Value], str] = lambda value: "constant"
        self.now: Optional[Equation] = None

    def row(self, shape: Sequence[int], dtype: str, role: str = "activation", name: Optional[str] = None,
            storage: Optional[int] = None) -> int:
        rows = self.tensors.rows
        rows.append(Row(shape, dtype, len(rows) if storage is None else storage, role, name))
        return len(rows) - 1

    def leaf(self, value: Value) -> int:
        made = self.row(value.shape, dtype_name(value.dtype), self.roles(value), value.name or None)
        return self.bind(value, made)

    def bind(self, value: Value, row: int) -> int:
        self.places[id(value)] = row
        self.kept.append(value)
        return row

    def at(self, value: Value) -> int:
        """The row of a tensor that an operator reads."""
        if id(value) in self.places:
            return self.places[id(value)]
        if value.leaf >= 0 and value.parts is not None:
            parts = [self.at(v) for v in value.parts]
            return self.bind(value, self.emit("stack", parts, value.shape, dtype_name(value.dtype), dim=0))
        if value.number is not None and value.shape:
            return self.bind(value, self.emit("full", [], value.shape, dtype_name(value.dtype)))
        return self.leaf(value)

    def emit(self, name: str, inputs: List[int], shape: Sequence[int], dtype: str, /, view: bool = False,
             further: int = 0, **attrs: Any) -> int:
        storage = self.tensors.rows[inputs[0]].storage if view and inputs and inputs[0] >= 0 else None
        made = self.row(shape, dtype, storage=storage)
        e = self.now
        lists = {k: [operator.index(i) if hasattr(i, "__index__") and not isinstance(i, bool) else i for i in v] if isinstance(v, (list, tuple)) else v
                 for k, v in attrs.items()}  # vmap leaves axes as NumPy's numbers
        self.ops.append(Op(f"aten::{name}", FORWARD, inputs, [made] + [-1] * further, lists, e.scope if e else "",
                           e.segment if e else -1))
        return made

    def shape(self, row: int) -> Sequence[int]:
        return self.tensors.rows[row].shape

    def dtype(self, row: int) -> str:
        return self.tensors.rows[row].dtype

    def view(self, row: int, shape: Sequence[int]) -> int:
        same = tuple(shape) == tuple(self.shape(row))
        return row if same else self.emit("view", [row], shape, self.dtype(row), view=True)

    def permute(self, row: int, order: Sequence[int]) -> int:
        if list(order) == list(range(len(order))):
            return row
        shape = self.shape(row)
        return self.emit("permute", [row], [shape[i] for i in order], self.dtype(row), view=True, dims=list(order))

    def slice(self, row: int, dim: int, start: int, end: int, step: int = 1) -> int:
        shape = list(self.shape(row))
        if (start, end, step) == (0, shape[dim], 1):
            return row
        shape[dim] = -(-(end - start) // step)
        return self.emit("slice", [row], shape, self.dtype(row), view=True, dim=dim, start=start, end=end, step=step)

    def translate(self, e: Equation) -> None:
        self.now = e
        if e.name not in RULES:
            raise e.refuse("this primitive is not known to the capture")
        part = next((v for v in e.inputs if v.whole is not None), None)
        if part is not None and e.name not in ("all_gather", "convert_element_type"):
            raise e.refuse(f"shard_map gives each device a part of '{part.name}', which is used without the other parts: the plan "
                           "of the captured step divides products, so let jax.jit divide them by shardings instead")
        made = RULES[e.name](self, e)
        for value, row in zip(e.outputs, made if isinstance(made, list) else [made]):
            self.bind(value, row)
        self.now = None

    def product(self, e: Equation) -> None:
        """Of backward the products alone are recorded: their FLOP check the derived backward."""
        x, w, y = e.inputs[0].shape, e.inputs[1].shape, e.outputs[0]
        if e.name == "dot_general":
            inner = math.prod(x[i] for i in e.params["dimension_numbers"][0][0])
        else:  # zeros between the numbers of a dilated image are no work
            spec = e.params["dimension_numbers"].rhs_spec
            inner = math.prod(w[i] for i in spec[1:]) // math.prod(e.params["lhs_dilation"])
        dtype = dtype_name(y.dtype)
        rows = [self.row(shape, dtype, "gradient") for shape in ((1, inner), (inner, 1), y.shape)]
        self.ops.append(Op("aten::mm", e.phase, rows[:2], rows[2:], {}, e.scope))


# ---- rules -------------------------------------------------------------------------------------------------------

Rule = Callable[[Lowering, Equation], Any]


def _out(e: Equation) -> Any:
    return e.outputs[0].shape, dtype_name(e.outputs[0].dtype)


def _unary(name: str, **attrs: Any) -> Rule:
    return lambda t, e: t.emit(name, [t.at(e.inputs[0])], *_out(e), **attrs)


def _scalar(v: Value) -> bool:
    return v.number is not None


def _binary(name: str) -> Rule:
    def rule(t: Lowering, e: Equation) -> int:
        a, b = e.inputs
        whole = e.outputs[0].shape  # an operand of numbers that are all equal may spread the other one
        if _scalar(b) and not _scalar(a) and a.shape == whole:
            return t.emit(name, [t.at(a)], *_out(e), other=_number(b))
        if _scalar(a) and not _scalar(b) and b.shape == whole:
            return t.emit(name, [-1, t.at(b)], *_out(e), self=_number(a))
        return t.emit(name, [t.at(a), t.at(b)], *_out(e))
    return rule


def _number(v: Value) -> Any:
    finite = isinstance(v.number, (bool, int)) or math.isfinite(v.number)
    return int(v.number) if isinstance(v.number, bool) else v.number if finite else str(v.number)


def _power(t: Lowering, e: Equation) -> int:
    exponent = e.params.get("y", 2)
    if len(e.inputs) > 1:
        return _binary("pow")(t, e) if not _scalar(e.inputs[1]) else \
            t.emit("pow", [t.at(e.inputs[0])], *_out(e), exponent=_number(e.inputs[1]))
    return t.emit("pow", [t.at(e.inputs[0])], *_out(e), exponent=exponent)


def _reduce(name: str) -> Rule:
    def rule(t: Lowering, e: Equation) -> int:
        x = t.at(e.inputs[0])
        return t.emit(name, [x], *_out(e), dim=[int(axis) for axis in e.params["axes"]], keepdim=0) if e.params["axes"] else x
    return rule


def _where(t: Lowering, e: Equation) -> int:
    made = None
    which, cases = e.inputs[0], e.inputs[1:]
    for case in cases[1:]:
        first = cases[0] if made is None else None
        inputs = [t.at(which), -1 if _scalar(case) else t.at(case),
                  made if first is None else -1 if _scalar(first) else t.at(first)]
        attrs = {"self": _number(case)} if _scalar(case) else {}
        if first is not None and _scalar(first):
            attrs["other"] = _number(first)
        if inputs[1:] == [-1, -1]:
            inputs[1] = t.emit("full", [], *_out(e))
        made = t.emit("where", inputs, *_out(e), **attrs)
    return t.at(cases[0]) if made is None else made


def _clamp(t: Lowering, e: Equation) -> int:
    low, x, high = e.inputs
    bounds = {k: _number(v) for k, v in (("min", low), ("max", high)) if _scalar(v)}
    tensors = [] if len(bounds) == 2 else [t.at(low), t.at(high)]
    return t.emit("clamp", [t.at(x), *tensors], *_out(e), **({} if tensors else bounds))


def _broadcast(t: Lowering, e: Equation) -> int:
    x, shape = t.at(e.inputs[0]), list(e.outputs[0].shape)
    ones = [1] * len(shape)
    for at, dim in enumerate(e.params["broadcast_dimensions"]):
        ones[dim] = e.inputs[0].shape[at]
    x = t.view(x, ones)
    return x if ones == shape else t.emit("expand", [x], shape, t.dtype(x), view=True)


def _view(t: Lowering, e: Equation) -> int:
    return t.view(t.at(e.inputs[0]), e.outputs[0].shape)


def _alias(t: Lowering, e: Equation) -> List[int]:
    return [t.at(v) for v in e.inputs]


def _cast(t: Lowering, e: Equation) -> int:
    x, (shape, dtype) = t.at(e.inputs[0]), _out(e)
    return x if t.dtype(x) == dtype else t.emit("_to_copy", [x], shape, dtype)


def _transpose(t: Lowering, e: Equation) -> int:
    return t.permute(t.at(e.inputs[0]), e.params["permutation"])


def _slice(t: Lowering, e: Equation) -> int:
    x, p = t.at(e.inputs[0]), e.params
    for dim, (start, end) in enumerate(zip(p["start_indices"], p["limit_indices"])):
        x = t.slice(x, dim, start, end, p["strides"][dim] if p["strides"] else 1)
    return x


def _dynamic_slice(t: Lowering, e: Equation) -> int:
    x = t.at(e.inputs[0])
    for dim, size in enumerate(e.params["slice_sizes"]):
        x = t.slice(x, dim, 0, size)
    return x


def _split(t: Lowering, e: Equation) -> List[int]:
    x, rows = t.at(e.inputs[0]), []
    for v in e.outputs:
        rows.append(t.row(v.shape, dtype_name(v.dtype), storage=t.tensors.rows[x].storage))
    t.ops.append(Op("aten::split_with_sizes", FORWARD, [x], rows, {"dim": e.params["axis"]}, e.scope, e.segment))
    return rows


def _pad(t: Lowering, e: Equation) -> int:
    x, pads, config = t.at(e.inputs[0]), [], e.params["padding_config"]
    if any(inner for _, _, inner in config):
        return t.emit("_pad_between", [x], *_out(e))
    for dim, (low, high, _) in enumerate(config):
        size = t.shape(x)[dim]
        x = t.slice(x, dim, max(-low, 0), size - max(-high, 0))
    for low, high, _ in reversed(config):
        pads += [max(low, 0), max(high, 0)]
    return t.emit("constant_pad_nd", [x], *_out(e), pad=pads) if any(pads) else x


def _gather(t: Lowering, e: Equation) -> int:
    x, indices, n = t.at(e.inputs[0]), t.at(e.inputs[1]), e.params["dimension_numbers"]
    sizes, shape, places = e.params["slice_sizes"], e.inputs[0].shape, e.inputs[1].shape[:-1]
    batched = tuple(getattr(n, "operand_batching_dims", ()))
    one = len(n.start_index_map) == 1 and tuple(n.collapsed_slice_dims) == tuple(n.start_index_map)
    dim = n.start_index_map[0] if one else 0
    rows = one and not batched and dim == 0 and tuple(sizes[1:]) == tuple(shape[1:])
    if rows and tuple(n.offset_dims) == tuple(range(len(places), len(places) + len(shape) - 1)):
        return t.emit("embedding", [x, t.view(indices, places)], *_out(e))
    if one and set(batched) | {dim} == set(range(len(shape))) and len(places) == len(shape):
        return t.emit("gather", [x, t.view(indices, places)], *_out(e), dim=dim)
    return t.emit("index", [x, indices], *_out(e))


def _scatter(adds: bool) -> Rule:
    def rule(t: Lowering, e: Equation) -> int:
        return t.emit("index_put", [t.at(v) for v in e.inputs], *_out(e), accumulate=int(adds))
    return rule


def _made(name: str) -> Rule:
    return lambda t, e: t.emit(name, [], *_out(e))


def _sort(t: Lowering, e: Equation) -> List[int]:
    rows = [t.row(v.shape, dtype_name(v.dtype)) for v in e.outputs]
    t.ops.append(Op("aten::sort", FORWARD, [t.at(e.inputs[0])], (rows + [-1])[:2],
                    {"dim": e.params["dimension"]}, e.scope, e.segment))
    for at in range(2, len(rows)):
        rows[at] = t.at(e.inputs[at])
    return rows


def _top_k(t: Lowering, e: Equation) -> List[int]:
    rows = [t.row(v.shape, dtype_name(v.dtype)) for v in e.outputs]
    t.ops.append(Op("aten::topk", FORWARD, [t.at(e.inputs[0])], rows,
                    {"k": e.params["k"], "dim": len(e.inputs[0].shape) - 1}, e.scope, e.segment))
    return rows


def _along(name: str, key: str) -> Rule:
    def rule(t: Lowering, e: Equation) -> int:
        axis = e.params[key]
        return t.emit(name, [t.at(e.inputs[0])], *_out(e), dim=axis[0] if isinstance(axis, tuple) else axis)
    return rule


def _dot(t: Lowering, e: Equation) -> int:
    """Products of [..., M, K] and [..., K, N]: batch dimensions first, dimensions of a kind joined."""
    (left, right), (in_left, in_right) = e.params["dimension_numbers"]
    a, b = e.inputs[0].shape, e.inputs[1].shape
    free_a = [i for i in range(len(a)) if i not in (*left, *in_left)]
    free_b = [i for i in range(len(b)) if i not in (*right, *in_right)]
    batch, inner = [a[i] for i in in_left], math.prod(a[i] for i in left)
    rows = [a[i] for i in free_a] if not batch else [math.prod(a[i] for i in free_a)]
    columns = math.prod(b[i] for i in free_b)
    x = t.view(t.permute(t.at(e.inputs[0]), [*in_left, *free_a, *left]), [*batch, *(rows or [1]), inner])
    w = t.at(e.inputs[1])
    if not batch and len(b) == 2 and list(right) == [1]:
        w = t.permute(w, [1, 0])
    else:
        w = t.view(t.permute(w, [*in_right, *right, *free_b]), [*batch, inner, columns])
    y = t.emit("matmul", [x, w], [*batch, *(rows or [1]), columns], dtype_name(e.outputs[0].dtype))
    return t.view(y, e.outputs[0].shape)


def _half_pads(t: Lowering, e: Equation, x: int, sizes: Sequence[int], made: Sequence[int], windows: Sequence[int],
               strides: Sequence[int], pads: Sequence[Sequence[int]], dilation: Sequence[int]) -> Any:
    """The image and the same pad on both sides; an image that is padded before if that gives another shape."""
    half = [-(-(low + high) // 2) for low, high in pads]
    fits = all((n + 2 * p - d * (w - 1) - 1) // s + 1 == y
               for n, p, d, w, s, y in zip(sizes, half, dilation, windows, strides, made))
    if fits and all(p >= 0 for pair in pads for p in pair):
        return x, half
    shape = list(t.shape(x))
    for i, (low, high) in enumerate(pads):
        shape[2 + i] += low + high
    both = [max(p, 0) for pair in reversed(pads) for p in pair]
    if any(p < 0 for pair in pads for p in pair):
        raise e.refuse("pads that cut the image")
    return t.emit("constant_pad_nd", [x], shape, t.dtype(x), pad=both), [0] * len(pads)


def _back_order(spec: Sequence[int]) -> List[int]:
    order = [0] * len(spec)
    for at, dim in enumerate(spec):
        order[dim] = at
    return order


def _conv(t: Lowering, e: Equation) -> int:
    p, n = e.params, e.params["dimension_numbers"]
    if p["batch_group_count"] != 1:
        raise e.refuse("groups of samples")
    x, w = t.permute(t.at(e.inputs[0]), n.lhs_spec), t.permute(t.at(e.inputs[1]), n.rhs_spec)
    last = n.lhs_spec[1] == len(n.lhs_spec) - 1
    made = [e.outputs[0].shape[i] for i in n.out_spec]
    strides, windows, attrs = list(p["window_strides"]), t.shape(w)[2:], {}
    if any(d > 1 for d in p["lhs_dilation"]):
        if any(s > 1 for s in strides):
            raise e.refuse("a transposed convolution with a stride")
        pads = [d * (k - 1) - low for (low, _), k, d in zip(p["padding"], windows, p["rhs_dilation"])]
        beyond = [high - low for low, high in p["padding"]]
        order = [1, 0, *range(2, len(made))]
        w, strides = t.permute(w, order), list(p["lhs_dilation"])
        attrs = {"transposed": 1, "output_padding": [max(b, 0) for b in beyond]}
    else:
        x, pads = _half_pads(t, e, x, t.shape(x)[2:], made[2:], windows, strides, p["padding"], p["rhs_dilation"])
    if last:
        t.tensors.rows[x].layout = "channels_last"
    y = t.emit("convolution", [x, w, -1], made, dtype_name(e.outputs[0].dtype), stride=strides, padding=pads,
               dilation=list(p["rhs_dilation"]), groups=p["feature_group_count"], **attrs)
    if last:
        t.tensors.rows[y].layout = "channels_last"
    return t.permute(y, _back_order(n.out_spec))


def _pool(name: str) -> Rule:
    def rule(t: Lowering, e: Equation) -> int:
        p, x = e.params, t.at(e.inputs[0])
        windows = p["window_dimensions"]
        spatial = [i for i, w in enumerate(windows) if w > 1 or p["window_strides"][i] > 1]
        if len(windows) != 4 or not spatial or any(d > 1 for d in p["base_dilation"]):
            return t.emit("_window", [x], *_out(e))
        spec = (0, 3, 1, 2) if spatial[0] in (1, 2) and 3 not in spatial else (0, 1, 2, 3)
        if 1 in spatial and spec == (0, 1, 2, 3):
            return t.emit("_window", [x], *_out(e))
        x, made = t.permute(x, spec), [e.outputs[0].shape[i] for i in spec]
        inner = [spec[2], spec[3]]
        kernel, strides = [windows[i] for i in inner], [p["window_strides"][i] for i in inner]
        x, pads = _half_pads(t, e, x, t.shape(x)[2:], made[2:], kernel, strides, [p["padding"][i] for i in inner], (1, 1))
        y = t.emit(name, [x], made, dtype_name(e.outputs[0].dtype), further=int(name.startswith("max")),
                   kernel_size=kernel, stride=strides, padding=pads)
        return t.permute(y, _back_order(spec))
    return rule


def _complex(t: Lowering, e: Equation) -> int:
    kind = str(e.params["fft_type"]).rsplit(".", maxsplit=1)[-1]
    name = {"RFFT": "_fft_r2c", "IRFFT": "_fft_c2r"}.get(kind, "_fft_c2c")
    rank, n = len(e.inputs[0].shape), len(e.params["fft_lengths"])
    return t.emit(name, [t.at(e.inputs[0])], *_out(e), dim=list(range(rank - n, rank)))


RULES: Dict[str, Rule] = {
    **{name: _unary(name) for name in ("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh",
                                       "erf", "exp", "exp2", "expm1", "floor", "log", "log1p", "neg", "round", "rsqrt",
                                       "sign", "sin", "sinh", "sqrt", "tan", "tanh")},
    "logistic": _unary("sigmoid"), "not": _unary("bitwise_not"), "is_finite": _unary("isinf"), "cbrt": _unary("sqrt"),
    "erfc": _unary("erf"), "erf_inv": _unary("erf"), "stop_gradient": _unary("detach"), "rev": _unary("flip"),
    "lgamma": _unary("log"), "digamma": _unary("log"), "population_count": _unary("bitwise_not"),
    "real": _unary("clone"), "imag": _unary("clone"), "conj": _unary("clone"), "clz": _unary("bitwise_not"),
    **{name: _binary(aten) for name, aten in {
        "add": "add", "add_any": "add", "sub": "sub", "mul": "mul", "div": "div", "max": "maximum", "min": "minimum",
        "rem": "remainder", "atan2": "atan2", "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
        "eq_to": "eq", "lt_to": "lt", "le_to": "le",
        "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "shift_left": "bitwise_and",
        "shift_right_logical": "bitwise_and", "shift_right_arithmetic": "bitwise_and", "nextafter": "add"}.items()},
    "pow": _power, "integer_pow": _power, "square": _power,
    **{name: _reduce(aten) for name, aten in {
        "reduce_sum": "sum", "reduce_max": "amax", "reduce_min": "amin", "reduce_prod": "prod", "reduce_and": "all",
        "reduce_or": "any", "reduce_xor": "any"}.items()},
    "argmax": _along("argmax", "axes"), "argmin": _along("argmin", "axes"), "cumsum": _along("cumsum", "axis"),
    "cumprod": _along("cumprod", "axis"), "cumlogsumexp": _along("logcumsumexp", "axis"),
    "cummax": _along("cumsum", "axis"), "cummin": _along("cumsum", "axis"), "sort": _sort, "top_k": _top_k,
    "select_n": _where, "clamp": _clamp, "broadcast_in_dim": _broadcast, "reshape": _view, "squeeze": _view,
    "expand_dims": _view, "bitcast_convert_type": _view, "convert_element_type": _cast, "transpose": _transpose,
    "reduce_precision": _alias, "copy": _alias, "copy_p": _alias, "optimization_barrier": _alias, "pvary": _alias,
    "sharding_constraint": _alias, "mesh_cast": _alias, "reshard": _alias,
    "slice": _slice, "dynamic_slice": _dynamic_slice, "split": _split, "pad": _pad, "gather": _gather,
    "concatenate": lambda t, e: t.emit("cat", [t.at(v) for v in e.inputs], *_out(e), dim=e.params["dimension"]),
    "dynamic_update_slice": lambda t, e: t.emit("index_put", [t.at(v) for v in (e.inputs[0], e.inputs[1], e.inputs[1])],
                                                *_out(e)),
    "scatter": _scatter(False), "scatter-add": _scatter(True), "scatter_add": _scatter(True),
    "scatter-mul": _scatter(True), "scatter-max": _scatter(False), "scatter-min": _scatter(False),
    **{name: _alias for name in ("psum", "psum2", "psum_invariant", "pmax", "pmin", "ppermute", "pbroadcast")},
    "all_gather": lambda t, e: t.emit("cat", [t.at(e.inputs[0])] * (e.outputs[0].shape[e.params["all_gather_dimension"]] // max(
        e.inputs[0].shape[e.params["all_gather_dimension"]], 1)), *_out(e), dim=e.params["all_gather_dimension"]),
    "axis_index": _made("arange"),
    "iota": _made("arange"), "random_bits": _made("rand"), "empty": _made("empty"), "empty2": _made("empty"),
    **{name: lambda t, e: [t.row(v.shape, dtype_name(v.dtype), "constant") for v in e.outputs]
       for name in ("random_wrap", "random_unwrap", "random_split", "random_fold_in", "random_seed", "random_clone",
                    "threefry2x32")},
    "dot_general": _dot, "conv_general_dilated": _conv, "reduce_window_max": _pool("max_pool2d_with_indices"),
    "reduce_window_min": _pool("max_pool2d_with_indices"), "reduce_window_sum": _pool("avg_pool2d"), "fft": _complex,
    "select": lambda t, e: t.emit("select", [t.at(e.inputs[0])], *_out(e), view=True, dim=0, index=e.params["index"]),
    "stack": lambda t, e: t.emit("stack", [t.at(v) for v in e.inputs], *_out(e), dim=0),
}
