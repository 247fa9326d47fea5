# SPDX-License-Identifier: Apache-2.0
"""calls_norm.py - normalisation: batch_norm, layer_norm, rms_norm, group_norm, softmax, cross_entropy."""
import torch
from torch.nn import functional as F

from .call import Call, Cold, either, in_layout, sides, straight
from .cases import width_of


def batch_norm(s, case, t):
    rows = case.variant == "rows"  # [N, C], for which PyTorch has kernels of its own in all types
    shape = (s.n * s.hw, s.c) if rows else (s.n, s.c, *sides(s.hw))
    # Mixed precision keeps the parameters and statistics of batch norm in fp32.
    def vector():
        return t.uniform(s.c, dtype=torch.float32)
    image, grad = {"mixed": ("nhwc", "nchw"), "rows": ("nchw", "nchw"), "plain": ("nchw", "nchw")}.get(
        case.variant, (case.variant, case.variant))
    if case.variant == "plain":  # without scale and shift cuDNN is not called; instance norms have no statistics
        def centre(x):
            return torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, True)
        return either(case.phase, centre, (0,), [t.normal(*shape)], lambda: t.normal(*shape))
    operands = [in_layout(t.normal(*shape), image), vector(), vector(), vector(), vector()]

    def normalise(x, weight, bias, mean, variance):
        return torch.batch_norm(x, weight, bias, mean, variance, True, 0.1, 1e-5, True)
    return either(case.phase, normalise, (0, 1, 2), operands, lambda: in_layout(t.normal(*shape), grad))


def layer_norm(s, case, t):
    operands = [t.normal(s.rows, s.cols), t.uniform(s.cols), t.normal(s.cols)]
    if case.variant == "plain":  # without scale and shift, backward does not add up columns
        operands = operands[:1]

    def normalise(x, weight=None, bias=None):
        return F.layer_norm(x, (s.cols,), weight, bias)
    return either(case.phase, normalise, tuple(range(len(operands))), operands, lambda: t.normal(s.rows, s.cols))


def rms_norm(s, case, t):
    if not hasattr(F, "rms_norm"):
        raise ValueError("rms_norm needs PyTorch 2.4")
    if case.variant == "weight":  # of a weight, by row
        return either(case.phase, lambda v, g: torch._weight_norm(v, g, 0), (0, 1),
                      [t.normal(s.rows, s.cols), t.uniform(s.rows, 1)], lambda: t.normal(s.rows, s.cols))
    operands = [t.normal(s.rows, s.cols), t.uniform(s.cols)]

    def normalise(x, weight):
        return F.rms_norm(x, (s.cols,), weight, 1e-6)
    return either(case.phase, normalise, (0, 1), operands, lambda: t.normal(s.rows, s.cols))


def group_norm(s, case, t):
    if s.c % s.groups:
        raise ValueError("groups do not divide the channels")
    shape = (s.n, s.c, *sides(s.hw))
    operands = [in_layout(t.normal(*shape), case.variant), t.uniform(s.c), t.normal(s.c)]

    def normalise(x, weight, bias):
        return F.group_norm(x, s.groups, weight, bias)
    return either(case.phase, normalise, (0, 1, 2), operands, lambda: in_layout(t.normal(*shape), case.variant))


def softmax(s, case, t):
    forward = torch.log_softmax if case.variant == "log" else torch.softmax
    if case.phase == "forward":
        return [t.normal(s.rows, s.cols)], straight(lambda x: forward(x, -1))
    backward = torch.ops.aten._log_softmax_backward_data if case.variant == "log" else \
        torch.ops.aten._softmax_backward_data
    result = forward(t.normal(s.rows, s.cols), -1)
    return [t.normal(s.rows, s.cols), result], straight(lambda grad, y: backward(grad, y, -1, y.dtype))


def _planes(rows):
    """The shape of square or nearly square images, up to 16 of them, with as many pixels as rows."""
    images = next(count for count in (16, 8, 4, 2, 1) if rows % count == 0)
    return images, *sides(rows // images)


def cross_entropy(s, case, t):
    """Rows of logits, or (nchw) one plane of logits per class, as in segmentation."""
    if case.variant:
        images, *plane = _planes(s.rows)
        operands = [t.normal(images, s.cols, *plane), t.integers(s.cols, images, *plane)]
    else:
        operands = [t.normal(s.rows, s.cols), t.integers(s.cols, s.rows)]
    return either(case.phase, F.cross_entropy, (0,), operands, t.uniform)


def _work(elements, forward, backward):
    """Memory-bound work: forward and backward give how often the elements are moved."""

    def work(s, case):
        count = elements(s)
        moved = forward if case.phase == "forward" else backward
        return 5 * count, moved * count
    return work


def _matrix(s):
    return s.rows * s.cols


def _image(s):
    return s.n * s.c * s.hw


def _norm_cold(elements, parameters):
    """Backward: the saved input, the weight and, on the tape, the statistics. Forward: the parameters. Plain: none."""

    def cold(s, case):
        if case.phase == "forward":
            return Cold(() if case.variant == "plain" else parameters)
        return Cold((0,) if case.variant == "plain" else (0, 1), unread=elements(s) * width_of(case))
    return cold


def batch_norm_cold(s, case):
    """A plain one has no parameters."""
    if case.variant != "plain":
        return _norm_cold(_image, (1, 2, 3, 4))(s, case)
    return Cold() if case.phase == "forward" else Cold((0,), unread=_image(s) * width_of(case))


def softmax_cold(s, case):
    return Cold((1,)) if case.phase == "backward" else Cold()


def cross_entropy_cold(s, case):
    """The tape keeps the log-probabilities."""
    return Cold((1,), saved=_matrix(s) * width_of(case)) if case.phase == "backward" else Cold()


BOTH = "forward backward"
LAYOUTS = ("nchw", "nhwc")
CALLS = {
    "batch_norm": Call("n c hw", BOTH, (*LAYOUTS, "mixed", "rows", "plain"), batch_norm, _work(_image, 2, 3),
                       batch_norm_cold),
    "layer_norm": Call("rows cols", BOTH, ("", "plain"), layer_norm, _work(_matrix, 2, 3), _norm_cold(_matrix, (1, 2))),
    "rms_norm": Call("rows cols", BOTH, ("", "weight"), rms_norm, _work(_matrix, 2, 3), _norm_cold(_matrix, (1,))),
    "group_norm": Call("n c hw groups", BOTH, LAYOUTS, group_norm, _work(_image, 2, 3),
                       _norm_cold(_image, (1, 2))),
    "softmax": Call("rows cols", BOTH, ("", "log"), softmax, _work(_matrix, 2, 3), softmax_cold),
    "cross_entropy": Call("rows cols", BOTH, ("", "nchw"), cross_entropy, _work(_matrix, 2, 3), cross_entropy_cold),
}
