# SPDX-License-Identifier: Apache-2.0
"""calls_matrix.py - the calls that multiply matrices: gemm, conv, conv3d."""
import torch
from torch.nn import functional as F

from . import calls_scaled
from .call import Call, Cold, in_layout, straight
from .cases import HALVES


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
    if case.dtype == "fp8" or case.variant in calls_scaled.VARIANTS:
        return calls_scaled.build(s, case, t)
    shape_a, shape_b, one, many = GEMMS[case.variant]
    lead = (s.batch,) if s.batch > 1 else ()
    operands = [t.normal(*lead, *shape_a(s)), t.normal(*lead, *shape_b(s))]
    if case.variant.endswith("-bias"):
        operands.append(t.normal(*((s.batch, 1, s.n) if lead else (s.n,))))
    return operands, straight(many if lead else one)


def gemm_cold(s, case):
    """Operand 1 is cold: the weight, or for tn the saved input.

    Exceptions: 8-bit operands and the 16-bit weight of a forward pass were just cast, and both operands of attention's
    scores were just written.
    """
    forward = case.variant in ("nt", "nt-bias", "nn-bias", "nt-grouped", "nt-loop")
    return Cold() if case.dtype == "fp8" or forward and (case.dtype in HALVES or s.batch > 1) else Cold((1,))


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


CONV_PASSES = "forward bwd_input bwd_weight"
LAYOUTS = ("nchw", "nhwc")
CALLS = {
    "gemm": Call("batch m n k", "forward", [*GEMMS, *calls_scaled.VARIANTS], gemm, gemm_work, gemm_cold),
    "conv": Call("n c k h w r s stride_h stride_w pad_h pad_w dil_h dil_w groups", CONV_PASSES, LAYOUTS, *conv_of(2),
                 conv_cold),
    "conv3d": Call("n c k d h w t r s stride_d stride_h stride_w pad_d pad_h pad_w dil_d dil_h dil_w groups", CONV_PASSES,
                   LAYOUTS, *conv_of(3), conv_cold),
}
