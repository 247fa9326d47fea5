# SPDX-License-Identifier: Apache-2.0
"""jax_calls.py - the calls of xla_calls.py in JAX: a function and its operands."""
import jax
import jax.numpy as jnp
import numpy

from . import xla_calls
from .cases import split_dtype
from .xla_calls import CALLS

DTYPES = {"fp32": jnp.float32, "bf16": jnp.bfloat16, "fp16": jnp.float16}


def numbers(dtype, *shape):
    made = numpy.random.default_rng(0).standard_normal(shape, dtype=numpy.float32)
    return jnp.asarray(made, dtype)


def _gemm(s, variant, _, dtype):
    text, shapes = xla_calls.einsum(s, variant)
    operands = [numbers(dtype, *shape) for shape in shapes]
    if variant.endswith("bias"):
        return lambda x, y, z: jnp.einsum(text, x, y) + z, [*operands, numbers(dtype, s["n"])]
    return lambda x, y: jnp.einsum(text, x, y), operands


def _conv(s, variant, phase, dtype):
    last = variant.startswith("nhwc")
    image = (s["n"], s["h"], s["w"], s["c"]) if last else (s["n"], s["c"], s["h"], s["w"])
    weight = (s["r"], s["s"], s["c"] // s["groups"], s["k"]) if last else (s["k"], s["c"] // s["groups"], s["r"], s["s"])
    layout = ("NHWC", "HWIO", "NHWC") if last else ("NCHW", "OIHW", "NCHW")
    height, width = xla_calls.places(s)
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


def _elementwise(s, variant, _, dtype):
    if variant in ("fused", "copy"):
        return lambda x: x + 1, [numbers(dtype, max(1, s["outer"] * s["inner"]))]
    if variant == "copy:turned":
        return lambda x: jnp.swapaxes(x, 0, 1) + 1, [numbers(dtype, s["outer"], s["inner"])]
    if variant in ("copy:part", "copy:strided"):
        step = 1 + (variant == "copy:strided")
        return lambda x: x[:, ::step][:, :s["inner"]], [numbers(dtype, s["outer"], 2 * s["inner"])]
    x = numbers(dtype, *xla_calls.reduced(s, variant))
    if variant.endswith("row_sum"):
        return lambda x: jax.nn.softmax(x, axis=1), [x]
    return lambda x: x.astype(jnp.float32).sum(0), [x]


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
    size, states = max(1, s["elements"] // s["tensors"]), xla_calls.STATES[variant]
    every = [[numbers(dtype, size) for _ in range(2 + states)] for _ in range(s["tensors"])]
    return lambda every: [_updated(variant, p, g, rest) for p, g, *rest in every], [every]


BUILD = {"gemm": _gemm, "conv": _conv, "elementwise": _elementwise, "optimizer": _optimizer}


def built(case):
    """The function of a case, and its operands."""
    return BUILD[case.op](xla_calls.sizes_of(case), case.variant, case.phase, DTYPES[split_dtype(case.dtype)[0][0]])
