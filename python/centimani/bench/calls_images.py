# SPDX-License-Identifier: Apache-2.0
"""calls_images.py - pooling, windows as columns, resizing, padding and sampling of images."""
import torch
from torch.nn import functional as F

from .call import Call, Cold, either, in_layout
from .cases import width_of


def _image_call(function, shape):
    """A call on one image tensor; function(sizes, kind) returns the function to run, shape(sizes) the image's."""

    def build(s, case, t):
        kind = case.variant.partition(":")[0]
        run, size = function(s, kind), shape(s)
        operands = [in_layout(t.normal(*size), case.variant)]
        if kind == "sample":  # places in the image, from -1 to 1
            operands.append(t.uniform(s.n, s.out_h, s.out_w, 2) - 1)

        def gradient():
            with torch.no_grad():
                made = run(*(operand[:1] for operand in operands)).shape
            return in_layout(t.normal(s.n, *made[1:]), case.variant)
        return either(case.phase, run, tuple(range(len(operands))), operands, gradient)
    return build


def _windows(s):
    """(window, stride, padding), each of height and width. PyTorch runs a pool over one dimension as one over images of
    height 1, whose windows have height 1 too."""
    if s.h == 1:
        return (1, s.window), (1, s.stride), (0, s.pad)
    return (s.window,) * 2, (s.stride,) * 2, (s.pad,) * 2


def _pool(s, kind):
    window, stride, pad = _windows(s)
    if kind == "im2col":
        return lambda x: F.unfold(x, window, padding=pad, stride=stride)
    pool = F.max_pool2d if kind == "max" else F.avg_pool2d
    return lambda x: pool(x, window, stride, pad)


def _flat(s, kind):
    """Images of one row: PyTorch has other kernels for one dimension."""
    mode = kind[:-2]
    options = {"align_corners": False} if mode == "linear" else {}
    return lambda x: F.interpolate(x.flatten(2), s.out_h * s.out_w, mode=mode, **options)


def _padded(before, after, mode):
    """Pads by half of the difference on either side; F.pad lists the last dimension first."""
    pads = []
    for small, large in reversed(list(zip(before, after))):
        if large < small:
            raise ValueError("a padded image is not smaller")
        pads += [(large - small) // 2, large - small - (large - small) // 2]
    if before[0] == after[0] == 1 and len(before) == 2:  # PyTorch has a kernel of its own for one dimension
        return lambda x: F.pad(x.flatten(2), pads[:2], mode).unsqueeze(2)
    return lambda x: F.pad(x, pads, mode)


def _to_size(kind, before, after):
    """The function that makes images of the size `after` from images of the size `before`."""
    flat = len(after) == 2
    adaptive = {"adaptive-avg": (F.adaptive_avg_pool3d, F.adaptive_avg_pool2d),
                "adaptive-max": (F.adaptive_max_pool3d, F.adaptive_max_pool2d)}
    if kind in adaptive:
        return lambda x: adaptive[kind][flat](x, after)
    if kind in ("reflect", "replicate"):
        return _padded(before, after, kind)
    mode, _, smooth = kind.partition("-")
    options = {} if mode == "nearest" else {"align_corners": False}
    if smooth:
        options["antialias"] = True
    return lambda x: F.interpolate(x, after, mode=mode, **options)


def _resize(s, kind):
    if kind.endswith("1d"):
        return _flat(s, kind)
    if kind == "sample":
        return lambda x, grid: F.grid_sample(x, grid, align_corners=False)
    return _to_size(kind, (s.h, s.w), (s.out_h, s.out_w))


def _resize3d(s, kind):
    return _to_size(kind, (s.d, s.h, s.w), (s.out_d, s.out_h, s.out_w))


def pool_work(s, case):
    count = s.n * s.c * s.h * s.w
    (high, wide), (down, across), _ = _windows(s)
    windows = high * wide // (down * across) + 1
    return count * windows, count * (1 + windows) if case.variant.startswith("im2col") else 2 * count


def pool_cold(s, case):
    """Backward of a max pool reads the indices of the maxima, 8 bytes each; that of an average reads nothing saved."""
    if case.phase == "forward" or not case.variant.startswith("max"):
        return Cold()
    count = s.n * s.c
    for size, window, stride, pad in zip((s.h, s.w), *_windows(s)):
        count *= (size + 2 * pad - window) // stride + 1
    return Cold(saved=8 * count, unread=count * width_of(case))


def resize_work(s, case):
    count = s.n * s.c * (s.h * s.w + s.out_h * s.out_w)
    return count, count


def resize3d_work(s, case):
    count = s.n * s.c * (s.d * s.h * s.w + s.out_d * s.out_h * s.out_w)
    return count, count


def resize_cold(s, case):
    """Backward of sampling reads the image and the places again."""
    return Cold((0, 1)) if case.phase == "backward" and case.variant.startswith("sample") else Cold()


def kinds(layouts, *names):
    return [f"{name}:{layout}" for name in names for layout in layouts]


BOTH = "forward backward"
LAYOUTS = ("nchw", "nhwc")
RESIZES = kinds(LAYOUTS, "nearest", "bilinear", "bicubic", "bilinear-aa", "bicubic-aa", "adaptive-avg", "adaptive-max",
                "reflect", "replicate", "sample") + kinds(("nchw",), "nearest1d", "linear1d")
CALLS = {
    "pool": Call("n c h w window stride pad", BOTH, kinds(LAYOUTS, "max", "avg") + kinds(("nchw",), "im2col"),
                 _image_call(_pool, lambda s: (s.n, s.c, s.h, s.w)), pool_work, pool_cold),
    "resize": Call("n c h w out_h out_w", BOTH, RESIZES, _image_call(_resize, lambda s: (s.n, s.c, s.h, s.w)),
                   resize_work, resize_cold),
    "resize3d": Call("n c d h w out_d out_h out_w", BOTH,
                     kinds(("nchw",), "nearest", "trilinear", "adaptive-avg", "adaptive-max", "reflect", "replicate"),
                     _image_call(_resize3d, lambda s: (s.n, s.c, s.d, s.h, s.w)), resize3d_work),
}
