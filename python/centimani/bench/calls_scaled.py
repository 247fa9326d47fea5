# SPDX-License-Identifier: Apache-2.0
"""calls_scaled.py - products of 8-bit operands with scales, and products of several experts in one call.

8-bit products read both operands with the reduced size innermost, so all three products of a linear layer are `nt` of
copies that the casts transposed. Variants: nt (one scale per tensor), nt-row (one per row), nt-block (one per 128
elements of a row, one per 128 x 128 weights); -exact: sums are not kept in the short registers of Hopper's units.
Grouped: batch experts with m tokens each, all in one call; -loop: one call per expert.
"""
import torch

from .call import straight

BLOCK = 128
EIGHT = ("nt-row", "nt-block", "nt-exact", "nt-row-exact", "nt-block-exact")
GROUPED = tuple(form + end for form in ("nt", "nn", "tn") for end in ("-grouped", "-loop"))
VARIANTS = EIGHT + GROUPED


def _blocks(size):
    return -(-size // BLOCK)


def _scale(rows, cols, device, pad=1):
    """Scales of [rows, cols] with the columns `pad` elements apart at least, filled with 1."""
    stride = -(-cols // pad) * pad
    return torch.ones(rows, stride, device=device)[:, :cols]


def scales_of(variant, m, n, k, device):
    """The scales of both operands, in the layouts that torch._scaled_mm takes."""
    if "block" in variant:
        rows = torch.ones(_blocks(k), m, device=device).t()  # one scale per row and block, rows innermost
        return rows, _scale(_blocks(n), _blocks(k), device, 4).t()
    if "row" in variant:
        return torch.ones(m, 1, device=device), torch.ones(1, n, device=device)
    return torch.ones((), device=device), torch.ones((), device=device)


def product(a, b, scale_a, scale_b, fast):
    """a [m, k] times b [n, k] transposed, into bf16; other types than 8 bits are multiplied without scales."""
    if a.element_size() > 1:
        return a @ b.transpose(-1, -2)
    return torch._scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=fast)


def scaled(s, case, t):
    lead = (s.batch,) if s.batch > 1 else ()
    if lead and case.dtype == "fp8":
        raise ValueError("8-bit products have no batch")
    a, b = t.normal(*lead, s.m, s.k), t.normal(*lead, s.n, s.k)
    scale_a, scale_b = scales_of(case.variant, s.m, s.n, s.k, t.device)
    fast = "exact" not in case.variant
    return [a, b], straight(lambda a, b: product(a, b, scale_a, scale_b, fast))


def _split(a, b, ends, form):
    """The products of the experts, one call each."""
    parts, begin = [], 0
    for index, end in enumerate(ends):
        rows = slice(begin, end)
        parts.append(a[rows].t() @ b[rows] if form == "tn" else a[rows] @ (b[index].t() if form == "nt" else b[index]))
        begin = end
    return torch.stack(parts) if form == "tn" else torch.cat(parts)


def _together(a, b, offsets, form):
    if form == "tn":
        return torch._grouped_mm(a.t(), b, offs=offsets)
    return torch._grouped_mm(a, b.transpose(1, 2) if form == "nt" else b, offs=offsets)


def experts(a, ends, form, one_call):
    """The products of experts as a function of both operands; rows up to ends[0] belong to the first, and so on."""
    if not (one_call and a.is_cuda and hasattr(torch, "_grouped_mm")):
        return lambda a, b: _split(a, b, ends, form)
    offsets = torch.tensor(ends, dtype=torch.int32, device=a.device)
    return lambda a, b: _together(a, b, offsets, form)


def grouped(s, case, t):
    form, _, kind = case.variant.partition("-")
    ends = [s.m * (index + 1) for index in range(s.batch)]
    shapes = {"nt": (s.batch, s.n, s.k), "nn": (s.batch, s.k, s.n)}
    if form == "tn":  # the gradient of the weights: m by n for each expert, k tokens each
        ends = [s.k * (index + 1) for index in range(s.batch)]
        a, b = t.normal(s.batch * s.k, s.m), t.normal(s.batch * s.k, s.n)
    else:
        a, b = t.normal(s.batch * s.m, s.k), t.normal(*shapes[form])
    return [a, b], lambda a, b: straight(experts(a, ends, form, kind == "grouped"))(a, b)


def build(s, case, t):
    return (grouped if case.variant in GROUPED else scaled)(s, case, t)
