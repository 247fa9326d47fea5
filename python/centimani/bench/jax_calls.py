# SPDX-License-Identifier: Apache-2.0
"""jax_calls.py - the calls that programs of jax.jit consist of: products, convolutions, fused kernels, updates.

A fused kernel is what XLA makes of neighbouring elementwise operators. Its call has the bytes that it moves: 1,N reads and
writes N numbers. Kernels that reduce are one of each kind: softmax along rows, on or off the chip or across, and sums.
"""
import jax
import jax.numpy as jnp
import numpy

from . import grids
from .cases import Case, split_dtype

DTYPES = {"fp32": jnp.float32, "bf16": jnp.bfloat16, "fp16": jnp.float16}
WIDTH = 1024  # numbers of a row, or columns
LONG = 65536  # numbers of a row that a kernel does not keep
PARTS = 128   # sums that a second kernel adds up


class Call:
    """dims, passes and variants as in profiles; build(sizes, variant, phase, dtype) returns a function and its operands."""

    def __init__(self, dims, phases, variants, build, work):
        self.dims, self.phases, self.variants = tuple(dims.split()), tuple(phases.split()), tuple(variants.split(","))
        self.build, self.work = build, work

    def least(self, dim):
        return 0 if dim.startswith("pad") else 1


def numbers(dtype, *shape):
    made = numpy.random.default_rng(0).standard_normal(shape, dtype=numpy.float32)
    return jnp.asarray(made, dtype)


# ---- products ---------------------------------------------------------------------------------------------------------

PRODUCTS = {"nn": ("mk", "kn"), "nt": ("mk", "nk"), "tn": ("km", "kn")}


def _gemm(s, variant, _, dtype):
    kind, _, bias = variant.partition("-")
    a, b = PRODUCTS[kind]
    lead = "b" if s["batch"] > 1 else ""
    size = {"b": s["batch"], "m": s["m"], "n": s["n"], "k": s["k"]}
    text = f"{lead}{a},{lead}{b}->{lead}mn"
    operands = [numbers(dtype, *(size[c] for c in lead + part)) for part in (a, b)]
    if bias:
        return lambda x, y, z: jnp.einsum(text, x, y) + z, [*operands, numbers(dtype, s["n"])]
    return lambda x, y: jnp.einsum(text, x, y), operands


def _gemm_work(s, _):
    return 2 * s["batch"] * s["m"] * s["n"] * s["k"], s["batch"] * (s["m"] * s["k"] + s["k"] * s["n"] + s["m"] * s["n"])


def _places(s):
    return [(s[x] + 2 * s["pad_" + x] - s["dil_" + x] * (s[r] - 1) - 1) // s["stride_" + x] + 1 for x, r in (("h", "r"), ("w", "s"))]


def _conv(s, variant, phase, dtype):
    last = variant.startswith("nhwc")
    image = (s["n"], s["h"], s["w"], s["c"]) if last else (s["n"], s["c"], s["h"], s["w"])
    weight = (s["r"], s["s"], s["c"] // s["groups"], s["k"]) if last else (s["k"], s["c"] // s["groups"], s["r"], s["s"])
    layout = ("NHWC", "HWIO", "NHWC") if last else ("NCHW", "OIHW", "NCHW")
    height, width = _places(s)
    result = (s["n"], height, width, s["k"]) if last else (s["n"], s["k"], height, width)
    x, w, g = (numbers(dtype, *shape) for shape in (image, weight, result))

    def run(a, b):
        return jax.lax.conv_general_dilated(
            a, b, (s["stride_h"], s["stride_w"]), [(s["pad_h"],) * 2, (s["pad_w"],) * 2], rhs_dilation=(s["dil_h"], s["dil_w"]),
            dimension_numbers=layout, feature_group_count=s["groups"])
    if phase == "forward":
        return run, [x, w]
    if phase == "bwd_input":
        return lambda b, y: jax.linear_transpose(lambda a: run(a, b), x)(y)[0], [w, g]
    return lambda a, y: jax.linear_transpose(lambda b: run(a, b), w)(y)[0], [x, g]


def _conv_work(s, _):
    height, width = _places(s)
    weights = s["k"] * s["c"] // s["groups"] * s["r"] * s["s"]
    return (2 * s["n"] * height * width * weights,
            s["n"] * s["c"] * s["h"] * s["w"] + weights + s["n"] * s["k"] * height * width)


# ---- generated kernels ------------------------------------------------------------------------------------------------

def _softmax(dtype, *shape):
    """Softmax along the second dimension: reads the numbers and writes as many."""
    return lambda x: jax.nn.softmax(x, axis=1), [numbers(dtype, *shape)]


def _elementwise(s, variant, _, dtype):
    count = max(1, s["outer"] * s["inner"])
    if variant in ("fused", "copy"):
        return lambda x: x + 1, [numbers(dtype, count)]
    if variant == "copy:turned":
        return lambda x: jnp.swapaxes(x, 0, 1) + 1, [numbers(dtype, s["outer"], s["inner"])]
    if variant == "row_sum":
        return _softmax(dtype, max(1, count // WIDTH), min(WIDTH, count))
    if variant == "long_row_sum":
        return _softmax(dtype, max(1, count // LONG), min(LONG, count))
    if variant == "strided_row_sum":
        return _softmax(dtype, max(1, count // (WIDTH * 16)), min(WIDTH, count), 16)
    rows = PARTS if variant == "partial_sums" else max(1, 2 * count // WIDTH)  # a sum reads, and writes next to nothing
    return lambda x: x.astype(jnp.float32).sum(0), [numbers(dtype, rows, max(1, 2 * count // rows))]


def _elementwise_work(s, _):
    return s["outer"] * s["inner"], 2 * s["outer"] * s["inner"]


# ---- updates ----------------------------------------------------------------------------------------------------------

STATES = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}


def _updated(variant, p, g, states):
    if variant == "sgd":
        return p - 1e-3 * g, []
    if variant == "momentum":
        v = 0.9 * states[0] + g
        return p - 1e-3 * v, [v]
    m, v = 0.9 * states[0] + 0.1 * g, 0.999 * states[1] + 0.001 * g * g
    kept = p * (1 - 1e-5) if variant == "adamw" else p
    return kept - 1e-3 * m / (jnp.sqrt(v) + 1e-8), [m, v]


def _optimizer(s, variant, _, dtype):
    size, states = max(1, s["elements"] // s["tensors"]), STATES[variant]
    every = [[numbers(dtype, size) for _ in range(2 + states)] for _ in range(s["tensors"])]
    return lambda every: [_updated(variant, p, g, rest) for p, g, *rest in every], [every]


def _optimizer_work(s, variant):
    return 4 * s["elements"], (3 + 2 * STATES[variant]) * s["elements"]


CALLS = {
    "gemm": Call("batch m n k", "forward", "nn,nt,tn,nt-bias,nn-bias", _gemm, _gemm_work),
    "conv": Call("n c k h w r s stride_h stride_w pad_h pad_w dil_h dil_w groups", "forward bwd_input bwd_weight", "nchw,nhwc",
                 _conv, _conv_work),
    "elementwise": Call("outer inner", "forward", "fused,copy,copy:turned,row_sum,long_row_sum,strided_row_sum,column_sum,"
                        "plain_column_sum,partial_sums", _elementwise, _elementwise_work),
    "optimizer": Call("tensors elements", "update", "sgd,momentum,adam,adamw", _optimizer, _optimizer_work)}


def built(case):
    """The function of a case, and its operands."""
    call = CALLS[case.op]
    sizes = dict(zip(call.dims, case.sizes))
    return call.build(sizes, case.variant, case.phase, DTYPES[split_dtype(case.dtype)[0][0]])


def work_of(case):
    """(FLOP, numbers of operands and result, bytes of a number) of a case."""
    call = CALLS[case.op]
    flop, elements = call.work(dict(zip(call.dims, case.sizes)), case.variant)
    return flop, elements, 4 if split_dtype(case.dtype)[0][0] == "fp32" else 2


def cases():
    """The built-in cases: those of PyTorch where the calls are the same, and generated kernels by their bytes."""
    same = [c for c in grids.cases() if c.op in ("gemm", "conv", "optimizer") and c.phase in CALLS[c.op].phases
            and c.variant in CALLS[c.op].variants and c.dtype in DTYPES]
    sizes = [1 << power for power in range(8, 28, 2)]
    kinds = [v for v in CALLS["elementwise"].variants if v != "copy:turned"]
    made = [Case("elementwise", "forward", kind, "fp32", (1, size)) for size in sizes for kind in kinds]
    made += [Case("elementwise", "forward", "copy:turned", "fp32", (1 << p // 2, 1 << p // 2)) for p in range(8, 28, 2)]
    return made + same
