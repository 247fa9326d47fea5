# SPDX-License-Identifier: Apache-2.0
"""calls_matrix.py - the calls that multiply matrices: gemm, conv, conv3d, attention."""
import inspect

import torch
from torch.nn import functional as F

from .call import Call, Cold, either, in_layout, straight
from .cases import HALVES, width_of


# Each variant as autograd calls it for a linear layer: forward nt, gradient of the input nn, of the weight tn.
def _batched(a, b, *bias):
    return torch.baddbmm(bias[0], a, b) if bias else torch.bmm(a, b)


GEMMS = {  # variant: (shape of a, shape of b, one product, many products)
    "nn": (lambda s: (s.m, s.k), lambda s: (s.k, s.n), torch.mm, _batched),
    "nt": (lambda s: (s.m, s.k), lambda s: (s.n, s.k), F.linear, lambda a, b: _batched(a, b.transpose(1, 2))),
    "tn": (lambda s: (s.k, s.m), lambda s: (s.k, s.n), lambda a, b: torch.mm(a.t(), b),
           lambda a, b: _batched(a.transpose(1, 2), b)),
    "nt-bias": (lambda s: (s.m, s.k), lambda s: (s.n, s.k), F.linear,
                lambda a, b, bias: _batched(a, b.transpose(1, 2), bias)),
    "nn-bias": (lambda s: (s.m, s.k), lambda s: (s.k, s.n), lambda a, b, bias: torch.addmm(bias, a, b), _batched),
}


def gemm(s, case, t):
    shape_a, shape_b, one, many = GEMMS[case.variant]
    lead = (s.batch,) if s.batch > 1 else ()
    operands = [t.normal(*lead, *shape_a(s)), t.normal(*lead, *shape_b(s))]
    if case.variant.endswith("-bias"):
        operands.append(t.normal(*((s.batch, 1, s.n) if lead else (s.n,))))
    return operands, straight(many if lead else one)


def gemm_cold(s, case):
    """Operand 1 is cold: the weight, or for tn the saved input.

    Exceptions: the 16-bit weight of a forward pass was just cast, and both operands of attention's scores were just
    written.
    """
    forward = case.variant in ("nt", "nt-bias", "nn-bias")
    return Cold() if forward and (case.dtype in HALVES or s.batch > 1) else Cold((1,))


def gemm_work(s, case):
    return 2 * s.batch * s.m * s.n * s.k, s.batch * (s.m * s.k + s.k * s.n + s.m * s.n)


def _out(size, window, stride, pad, dilation):
    return (size + 2 * pad - dilation * (window - 1) - 1) // stride + 1


def _conv_shapes(s, spatial):
    """(input, weight, output, stride, padding, dilation) of a convolution over 2 or 3 dimensions."""
    if spatial == 2:
        size, window = (s.h, s.w), (s.r, s.s)
        stride, pad, dilation = (s.stride_h, s.stride_w), (s.pad_h, s.pad_w), (s.dil_h, s.dil_w)
    else:
        size, window = (s.d, s.h, s.w), (s.t, s.r, s.s)
        stride, pad = (s.stride_d, s.stride_h, s.stride_w), (s.pad_d, s.pad_h, s.pad_w)
        dilation = (s.dil_d, s.dil_h, s.dil_w)
    out = tuple(map(_out, size, window, stride, pad, dilation))
    if min(out) < 1 or s.c % s.groups or s.k % s.groups:
        raise ValueError("no such convolution: empty result, or channels that groups do not divide")
    return (s.n, s.c, *size), (s.k, s.c // s.groups, *window), (s.n, s.k, *out), stride, pad, dilation


def conv_of(spatial):
    masks = {"bwd_input": [True, False, False], "bwd_weight": [False, True, False]}

    def build(s, case, t):
        x_shape, w_shape, y_shape, stride, pad, dilation = _conv_shapes(s, spatial)
        x, w = in_layout(t.normal(*x_shape), case.variant), in_layout(t.normal(*w_shape), case.variant)
        if case.phase == "forward":
            conv = (torch.conv2d, torch.conv3d)[spatial - 2]
            return [x, w], straight(lambda x, w: conv(x, w, None, stride, pad, dilation, s.groups))
        mask = masks[case.phase]

        def backward(grad, x, w):
            found = torch.ops.aten.convolution_backward(grad, x, w, None, stride, pad, dilation, False,
                                                        [0] * spatial, s.groups, mask)
            return found[mask.index(True)]
        return [in_layout(t.normal(*y_shape), case.variant), x, w], straight(backward)

    def work(s, case):
        x, w, y, *_ = (torch.Size(shape) for shape in _conv_shapes(s, spatial)[:3])
        return 2 * y.numel() * w.numel() // s.k, x.numel() + w.numel() + y.numel()
    return build, work


def conv_cold(s, case):
    """Forward: the weight, unless it was just cast. Backward: those of (gradient, input, weight) that the pass
    reads."""
    if case.phase == "forward":
        return Cold() if case.dtype in HALVES else Cold((1,))
    return Cold((2,) if case.phase == "bwd_input" else (1,))


def _expanded(tensor, heads):
    return tensor.repeat_interleave(heads // tensor.shape[1], 1)


def attention(s, case, t):
    if not hasattr(F, "scaled_dot_product_attention"):
        raise ValueError("scaled_dot_product_attention needs PyTorch 2.0")
    # Projections produce [batch, tokens, heads, width]; attention reads a transposed view of it.
    def operand(tokens, heads):
        return t.normal(s.batch, tokens, heads, s.width).transpose(1, 2)
    operands = [operand(s.q, s.heads), operand(s.kv, s.kv_heads), operand(s.kv, s.kv_heads)]
    masked = case.variant.startswith(("mask", "bias"))
    options = {"dropout_p": 0.1 if case.variant.endswith("dropout") else 0.0,
               "is_causal": bool(s.causal) and not masked}
    if masked:
        operands.append(t.normal(s.batch, s.heads, s.q, s.kv) if case.variant.startswith("bias") else _mask(s, t))
    if s.kv_heads != s.heads:
        if "enable_gqa" in (inspect.getdoc(F.scaled_dot_product_attention) or "") and not masked:
            options["enable_gqa"] = True
        else:  # the copies that expand keys and values are separate calls
            operands[1:3] = [_expanded(tensor, s.heads) for tensor in operands[1:3]]

    def attend(*inputs):
        return F.scaled_dot_product_attention(*inputs, **options)
    wanted = (0, 1, 2, 3) if case.variant.startswith("bias") else (0, 1, 2)  # a trained bias of the scores
    return either(case.phase, attend, wanted, operands, lambda: operand(s.q, s.heads))


def _mask(s, t):
    mask = t.flags(s.batch, 1, s.q, s.kv)
    if s.causal:
        mask &= mask.new_ones(s.q, s.kv).tril_()
    mask[..., 0] = True  # the softmax of a fully masked row is undefined
    return mask


def attention_cold(s, case):
    """Backward reads queries, keys, values, the result and the softmax's sums, all saved in the forward pass."""
    rows = s.batch * s.heads * s.q
    return Cold((0, 1, 2), saved=rows * (s.width * width_of(case) + 4)) if case.phase == "backward" else Cold()


def attention_work(s, case):
    flop = 4 * s.batch * s.heads * s.q * s.kv * s.width / (2 if s.causal else 1)
    elements = s.batch * s.width * (2 * s.q * s.heads + 2 * s.kv * s.kv_heads)
    return (flop, elements) if case.phase == "forward" else (2.5 * flop, 2 * elements)


CONV_PASSES = "forward bwd_input bwd_weight"
LAYOUTS = ("nchw", "nhwc")
CALLS = {
    "gemm": Call("batch m n k", "forward", GEMMS, gemm, gemm_work, gemm_cold),
    "conv": Call("n c k h w r s stride_h stride_w pad_h pad_w dil_h dil_w groups", CONV_PASSES, LAYOUTS, *conv_of(2),
                 conv_cold),
    "conv3d": Call("n c k d h w t r s stride_d stride_h stride_w pad_d pad_h pad_w dil_d dil_h dil_w groups", CONV_PASSES,
                   LAYOUTS, *conv_of(3), conv_cold),
    "attention": Call("batch q kv heads kv_heads width causal", "forward backward",
                      ("", "dropout", "mask", "mask-dropout", "bias", "bias-dropout"), attention, attention_work,
                      attention_cold),
}
