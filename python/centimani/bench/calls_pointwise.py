# SPDX-License-Identifier: Apache-2.0
"""calls_pointwise.py - elementwise functions and reductions."""
import torch
from torch.nn import functional as F

from .call import Call, Cold, sides, straight
from .cases import split_dtype, width_of

aten = torch.ops.aten


# function: (operands, function to run). Operand 1 is [outer, inner]; the variant's second word gives operand 2's shape.
FUNCTIONS = {
    "copy": (1, None), "fill": (1, lambda x: x.fill_(0.5)),
    "add": (2, torch.add), "sub": (2, torch.sub), "mul": (2, torch.mul), "div": (2, torch.div),
    "pow": (1, lambda x: torch.pow(x, 3.0)), "where": (2, None),
    "relu": (1, torch.relu), "gelu": (1, F.gelu), "gelu_tanh": (1, lambda x: F.gelu(x, approximate="tanh")),
    "silu": (1, F.silu), "sigmoid": (1, torch.sigmoid), "tanh": (1, torch.tanh), "exp": (1, torch.exp),
    "log": (1, torch.log), "sqrt": (1, torch.sqrt), "rsqrt": (1, torch.rsqrt), "erf": (1, torch.erf),
    "neg": (1, torch.neg), "scale": (1, lambda x: x * 0.125), "clip": (1, lambda x: torch.clamp(x, 0.6, 1.4)),
    "hardswish": (1, F.hardswish), "mish": (1, F.mish), "dropout": (1, None), "cat": (1, None),
    "roll": (1, lambda x: torch.roll(x, x.shape[-1] // 2, -1)), "flip": (1, lambda x: torch.flip(x, (-1,))),
    "addcmul": (3, None), "glu": (2, None), "glu_grad": (3, None),
    "relu_grad": (2, lambda g, x: aten.threshold_backward(g, x, 0)),
    "gelu_grad": (2, lambda g, x: aten.gelu_backward(g, x)),
    "gelu_tanh_grad": (2, lambda g, x: aten.gelu_backward(g, x, approximate="tanh")),
    "silu_grad": (2, aten.silu_backward), "sigmoid_grad": (2, aten.sigmoid_backward),
    "tanh_grad": (2, aten.tanh_backward), "hardswish_grad": (2, aten.hardswish_backward),
    "mish_grad": (2, aten.mish_backward), "dropout_grad": (2, None),
}
SHAPES = ("", ":row", ":col", ":strided", ":turned", ":part", ":plane")
OF_IMAGES = ["cat:nhwc"]  # rows are pixels, columns channels


NOT_TURNED = ("glu", "glu_grad", "addcmul", "cat", "roll", "flip")


def _variants():
    return OF_IMAGES + [
        name + shape for name, (operands, _) in FUNCTIONS.items() for shape in SHAPES
        if not (shape == ":turned" and name in NOT_TURNED) and (
            shape in ("", ":strided", ":turned", ":part") or name == "pow"
            or (operands == 2 and not name.endswith(("_grad", "glu"))))]


def _dtypes(case):
    from .calls import TORCH_DTYPES
    operands, result = split_dtype(case.dtype)
    first = TORCH_DTYPES[operands[0]]
    return first, TORCH_DTYPES[operands[-1]], TORCH_DTYPES[result] if ">" in case.dtype else None


def _images(s):
    """The number of images, up to 64, that divides the rows."""
    return next(count for count in (64, 32, 16, 8, 4, 2, 1) if s.outer % count == 0)


def _is_channel(name, shape):
    """The bias of a convolution: a column that all images share."""
    return (name, shape) == ("add", ":col")


def _heads(s, t, dtype):
    """Rows in another order than in memory, as of attention heads: PyTorch's index has a divisor for each dimension."""
    steps, heads = sides(s.outer // _images(s))
    return t.uniform(_images(s), heads, steps, 2 * s.inner, dtype=dtype)[..., :s.inner].transpose(1, 2)


def _second(s, shape, t, dtype):
    if shape == ":plane":
        return t.uniform(_images(s), 1, s.inner, dtype=dtype)
    if shape == ":turned":
        return t.uniform(_blocks(s), s.outer, s.inner // _blocks(s), dtype=dtype)
    extents = {":row": (s.inner,), ":col": (s.outer, 1)}.get(shape, (s.outer, s.inner))
    return t.uniform(*extents, dtype=dtype)


LONGEST_COLUMN = 512


def _blocks(s):
    """How many blocks of [outer, at most LONGEST_COLUMN] the elements make."""
    return next(count for count in range(-(-s.inner // LONGEST_COLUMN), s.inner + 1) if s.inner % count == 0)


def _turned(s, t, dtype):
    """Blocks of [outer, columns], each transposed in memory."""
    blocks = _blocks(s)
    return t.uniform(blocks, s.inner // blocks, s.outer, dtype=dtype).transpose(1, 2)


def _with_result(function, result):
    """The function with an output tensor of the given type, if type promotion would give another."""
    if result is None:
        return function

    def run(*operands):
        natural = operands[0].dtype
        for operand in operands[1:]:
            natural = torch.promote_types(natural, operand.dtype)
        if natural in (result, torch.float64):
            return function(*operands)
        into = torch.empty(operands[0].shape, dtype=result, device=operands[0].device)
        return function(*operands, out=into)
    return run


def elementwise(s, case, t):
    name, _, shape = case.variant.partition(":")
    shape = ":" + shape if shape else ""
    first, second, result = _dtypes(case)
    strided = shape == ":strided"
    x = t.uniform(s.inner, s.outer, dtype=first).t() if strided else t.uniform(s.outer, s.inner, dtype=first)
    if shape == ":turned":
        x = _turned(s, t, first)
    if shape == ":part":
        x = _heads(s, t, first) if name == "copy" else t.uniform(s.outer, 2 * s.inner, dtype=first)[:, :s.inner]
    if shape == ":plane" or _is_channel(name, shape):
        x = x.view(_images(s), s.outer // _images(s), s.inner)
    special = SPECIAL.get(name)
    if special:
        return special(s, shape, x, second, result, t)
    count, function = FUNCTIONS[name]
    if name == "pow" and shape in (":row", ":col"):
        count, function = 2, torch.pow
    operands = [x] + ([_second(s, shape, t, second)] if count == 2 else [])
    if _is_channel(name, shape):
        operands[1] = operands[1][:s.outer // _images(s)]
    if shape == ":turned" and name.endswith("_grad"):
        operands.reverse()  # the saved tensor; PyTorch 1.13 computes wrong numbers on a CPU if the gradient is transposed
    return operands, straight(_with_result(function, result))


def _copy(s, shape, x, second, result, t):
    target = result or x.dtype

    def copy(x):
        if x.dtype == torch.float64:
            return x.clone()
        return x.to(target) if target != x.dtype else x.clone(memory_format=torch.contiguous_format)
    return [x], straight(copy)


def _where(s, shape, x, second, result, t):
    return [t.flags(*x.shape), x, _second(s, shape, t, second)], straight(torch.where)


def _dropout(s, shape, x, second, result, t):
    x.requires_grad_(True)  # with a tape, as in training, the mask is saved
    return [x], lambda x: (lambda: F.dropout(x, 0.1, True))


def _dropout_grad(s, shape, x, second, result, t):
    return [x, t.flags(*x.shape)], straight(lambda g, mask: aten.native_dropout_backward(g, mask, 1 / 0.9))


def _cat_call(s, shape, x, second, result, t):
    """The result is [outer, inner]; the call concatenates two halves of it. Parts that are not dense have four
    dimensions, as in networks: their kernel divides an index once for each dimension."""
    widths = [max(s.inner // 2, 1), max(s.inner - s.inner // 2, 1)]
    images = (_images(s), *sides(s.outer // _images(s)))
    turned = (images[0], images[2], images[1])
    parts = {":strided": lambda width: t.uniform(*turned, width, dtype=x.dtype).transpose(1, 2),
             ":part": lambda width: t.uniform(*images, 2 * width, dtype=x.dtype)[..., :width],
             ":nhwc": lambda width: t.uniform(*images, width, dtype=x.dtype).permute(0, 3, 1, 2)}
    part = parts.get(shape, lambda width: t.uniform(s.outer, width, dtype=x.dtype))
    axis = 1 if shape == ":nhwc" else -1
    return [part(width) for width in widths], straight(lambda *parts: torch.cat(parts, axis))


def _addcmul(s, shape, x, second, result, t):
    return [x, *(t.uniform(s.outer, s.inner, dtype=x.dtype) for _ in range(2))], straight(torch.addcmul)


def _glu(s, shape, x, second, result, t):
    """The result is [outer, inner]; the operand has twice as many columns."""
    return [torch.cat((x, x), -1) if not shape else torch.cat((x.t(), x.t())).t()], straight(lambda x: F.glu(x, -1))


def _glu_grad(s, shape, x, second, result, t):
    return [x, t.uniform(s.outer, 2 * s.inner, dtype=x.dtype)], straight(lambda g, x: aten.glu_backward(g, x, -1))


SPECIAL = {"copy": _copy, "where": _where, "dropout": _dropout, "dropout_grad": _dropout_grad, "cat": _cat_call,
           "addcmul": _addcmul, "glu": _glu, "glu_grad": _glu_grad}


LARGEST_WEIGHT = 1 << 22  # elements; larger tensors that are cast to a shorter type are activations, not weights


def elementwise_cold(s, case):
    """Backward: the second operand, saved by the forward pass. A sum: the addend, one of many gradients made
    together. A cast to a shorter type: the weight, if it is one."""
    name, _, shape = case.variant.partition(":")
    weight = case.dtype in ("fp32>bf16", "fp32>fp16") and s.outer * s.inner <= LARGEST_WEIGHT
    if (name, shape) == ("add", "part") or (case.variant == "copy" and weight):
        return Cold((0,))
    return Cold((1,)) if name.endswith("_grad") else Cold()


def elementwise_work(s, case):
    name, _, shape = case.variant.partition(":")
    count = s.outer * s.inner
    moved = {"fill": 1, "cat": 2, "where": 4, "dropout_grad": 3, "glu_grad": 5}.get(name, 1 + FUNCTIONS[name][0])
    return count, count * moved - (count if shape in ("row", "col", "plane") else 0)


REDUCTIONS = {
    "sum": lambda x, **to: torch.sum(x, 1, **to), "mean": lambda x, **to: torch.mean(x, 1, **to),
    "max": lambda x, **to: torch.amax(x, 1), "sum:nchw": lambda x, **to: torch.sum(x, (0, 2), **to),
    "argmax": lambda x, **to: torch.argmax(x, 1), "var": lambda x, **to: torch.var(x, 1),
    "norm": lambda x, **to: torch.linalg.vector_norm(x, dim=1, **to), "prod": lambda x, **to: torch.prod(x, 1, **to),
    "cumsum": lambda x, **to: torch.cumsum(x, 1, **to), "cumprod": lambda x, **to: torch.cumprod(x, 1, **to),
}


def reduce(s, case, t):
    first, _, result = _dtypes(case)
    function = REDUCTIONS[case.variant]
    scans_rows = case.variant.startswith("cum") and s.inner == 1  # the last dimension has another kernel

    def run(x):
        return function(x, **({"dtype": result} if result and x.dtype != torch.float64 else {}))
    extents = (s.outer, s.reduce) if scans_rows else (s.outer, s.reduce, s.inner)
    return [t.uniform(*extents, dtype=first)], straight(run)


SUMMED_LATER = 4 << 20  # bytes; a few times as much is written in between, and caches have tens of megabytes


def reduce_cold(s, case):
    """Sums are gradients of broadcast tensors: matrix products run between producing the operand and summing it."""
    large = s.outer * s.reduce * s.inner * width_of(case) >= SUMMED_LATER
    return Cold((0,)) if case.variant.startswith("sum") and large else Cold()


def reduce_work(s, case):
    count = s.outer * s.reduce * s.inner
    return count, 2 * count if case.variant.startswith("cum") else count


CALLS = {
    "elementwise": Call("outer inner", "forward", _variants(), elementwise, elementwise_work,
                        elementwise_cold),
    "reduce": Call("outer reduce inner", "forward", REDUCTIONS, reduce, reduce_work, reduce_cold),
}
