# SPDX-License-Identifier: Apache-2.0
"""xla_calls.py - the calls that XLA's programs consist of: products, convolutions, fused kernels, updates.

A fused kernel is what XLA makes of neighbouring elementwise operators. Its call has the bytes that it moves: 1,N reads and
writes N numbers. Kernels that reduce are one of each kind: softmax along rows, on or off the chip or across, and sums.
A frontend (jax_calls.py, torch_xla_calls.py) makes them with its own operators.
"""
from . import grids
from .cases import Case, split_dtype

DTYPES = ("fp32", "bf16", "fp16")
WIDTH = 1024  # numbers of a row, or columns
LONG = 65536  # numbers of a row that a kernel does not keep
PARTS = 128   # sums that a second kernel adds up
PRODUCTS = {"nn": ("mk", "kn"), "nt": ("mk", "nk"), "tn": ("km", "kn")}
STATES = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}


class Call:
    """dims, passes and variants as in profiles; work(sizes, variant) returns FLOP and numbers."""

    def __init__(self, dims, phases, variants, work):
        self.dims, self.phases, self.variants, self.work = tuple(dims.split()), tuple(phases.split()), tuple(variants.split(",")), work

    def least(self, dim):
        return 0 if dim.startswith("pad") else 1


def _gemm_work(s, _):
    return 2 * s["batch"] * s["m"] * s["n"] * s["k"], s["batch"] * (s["m"] * s["k"] + s["k"] * s["n"] + s["m"] * s["n"])


def einsum(s, variant):
    """The text of a product and the shapes of its operands."""
    a, b = PRODUCTS[variant.partition("-")[0]]
    lead = "b" if s["batch"] > 1 else ""
    size = {"b": s["batch"], "m": s["m"], "n": s["n"], "k": s["k"]}
    return f"{lead}{a},{lead}{b}->{lead}mn", [tuple(size[c] for c in lead + part) for part in (a, b)]


def places(s):
    """Height and width of a convolution's result."""
    return [(s[x] + 2 * s["pad_" + x] - s["dil_" + x] * (s[r] - 1) - 1) // s["stride_" + x] + 1 for x, r in (("h", "r"), ("w", "s"))]


def _conv_work(s, _):
    height, width = places(s)
    weights = s["k"] * s["c"] // s["groups"] * s["r"] * s["s"]
    return (2 * s["n"] * height * width * weights,
            s["n"] * s["c"] * s["h"] * s["w"] + weights + s["n"] * s["k"] * height * width)


def reduced(s, variant):
    """The shape that a kernel which reduces reads: along the second dimension, or the first for sums of columns."""
    count = max(1, s["outer"] * s["inner"])
    if variant == "row_sum":
        return max(1, count // WIDTH), min(WIDTH, count)
    if variant == "long_row_sum":
        return max(1, count // LONG), min(LONG, count)
    if variant == "strided_row_sum":
        return max(1, count // (WIDTH * 16)), min(WIDTH, count), 16
    rows = PARTS if variant == "partial_sums" else max(1, 2 * count // WIDTH)  # a sum reads, and writes next to nothing
    return rows, max(1, 2 * count // rows)


def _elementwise_work(s, _):
    return s["outer"] * s["inner"], 2 * s["outer"] * s["inner"]


def _optimizer_work(s, variant):
    return 4 * s["elements"], (3 + 2 * STATES[variant]) * s["elements"]


CALLS = {
    "gemm": Call("batch m n k", "forward", "nn,nt,tn,nt-bias,nn-bias", _gemm_work),
    "conv": Call("n c k h w r s stride_h stride_w pad_h pad_w dil_h dil_w groups", "forward bwd_input bwd_weight", "nchw,nhwc", _conv_work),
    "elementwise": Call("outer inner", "forward", "fused,copy,copy:turned,copy:part,copy:strided,row_sum,long_row_sum,strided_row_sum,column_sum,"
                        "plain_column_sum,partial_sums", _elementwise_work),
    "optimizer": Call("tensors elements", "update", "sgd,momentum,adam,adamw", _optimizer_work)}


def sizes_of(case):
    return dict(zip(CALLS[case.op].dims, case.sizes))


def work_of(case):
    """(FLOP, numbers of operands and result, bytes of a number) of a case."""
    flop, elements = CALLS[case.op].work(sizes_of(case), case.variant)
    return flop, elements, 4 if split_dtype(case.dtype)[0][0] == "fp32" else 2


def cases():
    """The built-in cases: those of PyTorch where the calls are the same, and generated kernels by their bytes."""
    same = [c for c in grids.cases() if c.op in ("gemm", "conv", "optimizer") and c.phase in CALLS[c.op].phases
            and c.variant in CALLS[c.op].variants and c.dtype in DTYPES]
    sizes = [1 << power for power in range(8, 28, 2)]
    kinds = [v for v in CALLS["elementwise"].variants if not v.startswith("copy:")]
    made = [Case("elementwise", "forward", kind, "fp32", (1, size)) for size in sizes for kind in kinds]
    made += [Case("elementwise", "forward", "copy:turned", "fp32", (1 << p // 2, 1 << p // 2)) for p in range(8, 28, 2)]
    return made + same
