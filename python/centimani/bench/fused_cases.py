# SPDX-License-Identifier: Apache-2.0
"""fused_cases.py - small functions, drawn from a seed, that a compiler turns into one kernel or two each.

A case is a dictionary of plain values. function_of(case) returns the function, inputs_of(case, device) its inputs.
Sizes, numbers of operands, types and ways of access are drawn so that they cover what training steps contain.
"""
import math

import torch
import torch.nn.functional as F

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
KINDS = ("pointwise", "pointwise", "pointwise", "broadcast", "transposed", "inner", "norm", "norm", "outer", "outer", "softmax", "image")
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu, "tanh": torch.tanh, "add": lambda x: x + 1.5,
               "sigmoid": torch.sigmoid, "exp": torch.exp}
LARGEST = 1 << 27  # elements of one operand


def _log_uniform(r, low, high):
    return int(round(math.exp(r.uniform(math.log(low), math.log(high)))))


def _rounded(r, n):
    """Sizes of networks are mostly multiples of 8 or more."""
    step = r.choice([1, 8, 16, 32, 64, 64])
    return max(1, n // step * step) if n > step else n


def _shape(r, kind):
    """Two sizes: rows and columns; an image has its channels in columns."""
    if kind in ("inner", "norm", "softmax"):
        columns = _rounded(r, _log_uniform(r, 16, 65536))
    elif kind in ("outer", "image"):
        columns = _rounded(r, _log_uniform(r, 3, 4096))
    else:
        columns = _rounded(r, _log_uniform(r, 8, 8192))
    total = _log_uniform(r, 1 << 13, LARGEST)
    return max(1, total // columns), columns


def drawn(r, dtypes):
    """One case."""
    kind = r.choice(KINDS)
    rows, columns = _shape(r, kind)
    return {"kind": kind, "rows": rows, "columns": columns, "dtype": r.choice(dtypes), "inputs": r.choice([1, 1, 2, 2, 3, 4, 5]),
            "outputs": r.choice([1, 1, 1, 2, 3]), "act": r.choice(list(ACTIVATIONS)), "wide": r.random() < 0.4}


def drawn_product(r, dtypes):
    """A product with an epilogue, for the compiler that tries kernels."""
    sizes = [64 * r.choice([1, 2, 4, 8, 12, 16, 24, 32, 48, 64]) for _ in range(3)]
    return {"kind": "product", "rows": sizes[0] * r.choice([1, 2, 4]), "columns": sizes[1], "inner": sizes[2],
            "dtype": r.choice([t for t in dtypes if t != "fp32"] or dtypes), "act": r.choice(["gelu", "relu", "silu"]),
            "inputs": r.choice([0, 1]), "outputs": 1, "wide": False}


# ---- functions -----------------------------------------------------------------------------------------------------


def _chain(case, xs):
    """All inputs combined by a few operations, in fp32 where the case says so, as autocast's code does."""
    total = xs[0].float() if case["wide"] else xs[0]
    total = ACTIVATIONS[case["act"]](total)
    for x in xs[1:]:
        total = total * 0.5 + (x.float() if case["wide"] else x)
    return total


def _outputs(case, value):
    dtype = DTYPES[case["dtype"]]
    return [(value * (k + 1) + k).to(dtype) if k else value.to(dtype) for k in range(case["outputs"])]


def _pointwise(case, xs):
    return _outputs(case, _chain(case, xs))


def _broadcast(case, xs):
    *whole, row = xs
    return _outputs(case, _chain(case, whole) * row + row if whole else row.expand(case["rows"], -1) + 1)


def _transposed(case, xs):
    return [(_chain(case, xs)).t().contiguous()]


def _inner(case, xs):
    return [_chain(case, xs).sum(-1)]


def _outer(case, xs):
    return [_chain(case, xs).sum(0)]


def _norm(case, xs):
    *whole, weight = xs
    x = _chain(case, whole or [weight.expand(case["rows"], -1)])
    y = F.layer_norm(x.float(), (case["columns"],), weight.float())
    return _outputs(case, y)


def _softmax(case, xs):
    return [torch.softmax(_chain(case, xs).float(), -1).to(DTYPES[case["dtype"]])]


def _image(case, xs):
    """Sums by channel and a normalisation with them: what a batch norm computes."""
    x = _chain(case, xs).float()
    mean, var = x.mean(0), x.var(0, correction=0)
    return [((x - mean) * torch.rsqrt(var + 1e-5)).to(DTYPES[case["dtype"]])]


def _product(case, xs):
    y = ACTIVATIONS[case["act"]](xs[0] @ xs[1] + xs[2])
    return [y + xs[3] if len(xs) > 3 else y]


FUNCTIONS = {"pointwise": _pointwise, "broadcast": _broadcast, "transposed": _transposed, "inner": _inner, "outer": _outer,
             "norm": _norm, "softmax": _softmax, "image": _image, "product": _product}


def function_of(case):
    return lambda xs: FUNCTIONS[case["kind"]](case, xs)


def shapes_of(case):
    rows, columns, many = case["rows"], case["columns"], case["inputs"]
    if case["kind"] == "product":
        return [(rows, case["inner"]), (case["inner"], columns), (columns,)] + [(rows, columns)] * many
    narrow = [(columns,)] if case["kind"] in ("broadcast", "norm") else []
    return [(rows, columns)] * max(many, 1) + narrow


def bytes_of(case):
    each = torch.empty((), dtype=DTYPES[case["dtype"]]).itemsize
    return each * sum(math.prod(s) for s in shapes_of(case)) * 2


def inputs_of(case, device):
    return [torch.randn(s, device=device, dtype=DTYPES[case["dtype"]]) for s in shapes_of(case)]
