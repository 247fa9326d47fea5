# SPDX-License-Identifier: Apache-2.0
"""layers.py - networks that are collections of layers of random sizes, each with an input of its own.

One measured step gives the times of all their calls where they run, after and before other kernels; rows.py turns them
into rows of the kernel tables. Nothing here is meant to be trained. `layers:listed-N` is the Nth list of convolutions in
the file that the environment variable LAYERS names.
"""
import json
import os
import random

import torch
import torch.nn.functional as F
from torch import nn

CHANNELS = [4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 72, 80, 96, 112, 120, 128, 144, 160, 176, 192, 224, 240, 256, 288, 320,
            336, 384, 448, 480, 512, 576, 640, 672, 768, 896, 960, 1024, 1152, 1280, 1536, 2048]
SIDES = {1: [64, 100, 128, 256, 500, 512, 1000, 1024, 2048, 4096, 8192, 16000], 2: [4, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48,
         56, 64, 80, 96, 112, 128, 160, 192, 224, 256], 3: [4, 6, 7, 8, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64, 96]}
KERNELS = {1: [1, 1, 3, 3, 3, 5, 7, 9, 15], 2: [1, 1, 1, 1, 3, 3, 3, 3, 5, 7, 2, 4], 3: [1, 1, 3, 3, 3, 3, 5, 7, 2]}
MOST_ELEMENTS, LEAST_ELEMENTS, MOST_FLOP = 3e6, 2e4, 4e9  # of one sample
LAYERS = 14


class Part(nn.Module):
    """A layer and a number that makes its input part of the gradient's path."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.scale = layer, nn.Parameter(torch.ones(1))

    def forward(self, x):
        y = self.layer(x * self.scale)
        return (y * y).mean()


class Parts(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.parts = nn.ModuleList(map(Part, layers))

    def forward(self, *inputs):
        return torch.stack([part(x) for part, x in zip(self.parts, inputs)])[None]


class Attend(nn.Module):
    """Attention of [queries, keys, values] with the mask that `kind` names."""

    def __init__(self, kind, heads, tokens, dropout):
        super().__init__()
        self.kind, self.dropout = kind, dropout
        if kind == "bias":
            self.bias = nn.Parameter(torch.zeros(1, heads, tokens, tokens))
        if kind == "mask":
            self.register_buffer("mask", torch.ones(tokens, tokens, dtype=torch.bool), persistent=False)

    def forward(self, x):
        q, k, v = x.unbind(1)
        if torch.is_autocast_enabled():
            half = torch.get_autocast_gpu_dtype()
            q, k, v = q.to(half), k.to(half), v.to(half)
        mask = self.bias if self.kind == "bias" else self.mask if self.kind == "mask" else None
        return F.scaled_dot_product_attention(q, k, v, mask, self.dropout, self.kind == "causal")


class First(nn.Module):
    """The output of a recurrent layer without its states."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return self.body(x)[0]


def kernel_of(r, dims):
    size = r.choice(KERNELS[dims])
    if dims > 1 and size > 1 and r.random() < 0.2:
        return r.choice([(1,) + (size,) * (dims - 1), (size,) + (1,) * (dims - 1)])
    return (size,) * dims


def widths_of(r):
    i = r.choice(CHANNELS)
    o = r.choice([i, i, 2 * i, 4 * i, max(4, i // 2), max(4, i // 4), r.choice(CHANNELS)])
    kind = r.choice(["dense"] * 12 + ["depthwise"] * 5 + ["grouped"] * 3)
    if kind == "depthwise":
        return i, i, i
    groups = r.choice([n for n in (2, 4, 8, 16, 32) if i % n == 0 and o % n == 0] or [1]) if kind == "grouped" else 1
    return (r.choice([1, 2, 3, 3, 4]), o, 1) if groups == 1 and r.random() < 0.06 else (i, o, groups)


def convolution(r, dims):
    """A convolution whose work is one that a layer of a network has; its input's shape."""
    while True:
        i, o, groups = widths_of(r)
        kernel, side = kernel_of(r, dims), r.choice(SIDES[dims])
        stride, dilation = r.choice([1, 1, 1, 1, 2, 2, kernel[-1]]), r.choice([1] * 15 + [2, 4])
        padding = tuple(dilation * (k // 2) for k in kernel) if stride != kernel[-1] or kernel[-1] == 1 else (0,) * dims
        places = (side // stride) ** dims
        elements, flop = max(i * side ** dims, o * places), 2 * o * (i // groups) * places
        for k in kernel:
            flop *= k
        if LEAST_ELEMENTS < elements < MOST_ELEMENTS and flop < MOST_FLOP and dilation * (max(kernel) - 1) < side and stride <= side:
            make = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[dims - 1]
            return make(i, o, kernel, stride, padding, dilation, groups, bias=r.random() < 0.4), (i,) + (side,) * dims


def grown(r):
    """A transposed convolution."""
    dims = r.choice([1, 2, 2, 2, 3])
    while True:
        i, side, (kernel, stride, padding) = r.choice(CHANNELS), r.choice(SIDES[dims]), r.choice([(2, 2, 0), (4, 2, 1), (3, 2, 1)])
        o = r.choice([i, i // 2, r.choice(CHANNELS)])
        elements = max(i * side ** dims, o * (side * stride) ** dims)
        if LEAST_ELEMENTS < elements < MOST_ELEMENTS and 2 * i * o * (side * kernel) ** dims < MOST_FLOP:
            make = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)[dims - 1]
            return make(i, o, kernel, stride, padding), (i,) + (side,) * dims


def attended(r):
    while True:
        heads, tokens, size = r.choice([1, 2, 3, 4, 6, 8, 12, 16, 20]), r.choice([16, 49, 64, 101, 128, 196, 197, 256, 384, 512, 577, 1024, 2048]), r.choice([16, 24, 32, 40, 64, 64, 80, 96, 128])
        if LEAST_ELEMENTS < 3 * heads * tokens * size < MOST_ELEMENTS and heads * tokens * tokens < 2e7:
            kind = r.choice(["plain", "causal", "bias", "bias", "mask"])
            return Attend(kind, heads, tokens, r.choice([0.0, 0.0, 0.1])), (3, heads, tokens, size)


def normed(r):
    dims = r.choice([1, 2, 2, 2, 3])
    while True:
        c, side = r.choice(CHANNELS), r.choice(SIDES[dims])
        if LEAST_ELEMENTS < c * side ** dims < MOST_ELEMENTS:
            break
    kind = r.choice(["batch", "batch", "group", "instance"] if dims == 2 else ["batch", "group"])
    batch, instance = ((nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[dims - 1], nn.InstanceNorm2d)
    layer = {"batch": lambda: batch(c), "instance": lambda: instance(c, affine=True),
             "group": lambda: nn.GroupNorm(r.choice([g for g in (1, 4, 8, 16, 32) if c % g == 0]), c)}[kind]()
    return layer, (c,) + (side,) * dims


def rows_normed(r):
    c, tokens = r.choice(CHANNELS[4:]), r.choice([16, 49, 64, 196, 197, 256, 512, 1024, 3136, 4096])
    return nn.LayerNorm(c), (max(2, min(tokens, int(MOST_ELEMENTS / c))), c)


def repeated(r):
    width, steps = r.choice([64, 100, 128, 200, 256, 300, 384, 512, 650, 768, 1024]), r.choice([16, 32, 64, 100, 128, 256])
    make, inputs = r.choice([nn.LSTM, nn.LSTM, nn.GRU]), r.choice([width, width, 64, 128, 256])
    return First(make(inputs, width, r.choice([1, 1, 2, 3]), batch_first=True, bidirectional=r.random() < 0.4)), (steps, inputs)


def dense(r):
    i = r.choice(CHANNELS[3:])
    o = r.choice([i, 2 * i, 3 * i, 4 * i, max(4, i // 2), r.choice(CHANNELS), 10, 100, 1000])
    tokens = r.choice([1, 16, 49, 64, 128, 196, 197, 256, 512, 1024])
    while tokens > 1 and tokens * max(i, o) > MOST_ELEMENTS:
        tokens //= 4
    return nn.Linear(i, o, bias=r.random() < 0.7), (tokens, i)


KINDS = {"conv": lambda r: convolution(r, 2), "conv1d": lambda r: convolution(r, 1), "conv3d": lambda r: convolution(r, 3),
         "grown": grown, "attention": attended, "norm": lambda r: r.choice([normed, normed, rows_normed])(r), "rnn": repeated,
         "dense": dense}
COUNT = {"rnn": 1, "attention": 24, "norm": 24, "dense": 24}


def listed(number):
    """Each convolution is [channels, filters, sides, kernel, strides, padding, dilation, groups]."""
    with open(os.environ["LAYERS"]) as file:
        for i, o, sides, kernel, stride, padding, dilation, groups in json.load(file)[number]:
            make = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[len(sides) - 1]
            yield make(i, o, kernel, stride, padding, dilation, groups, bias=False), (i, *sides)


def network(kind, seed):
    """The module, the inputs for a batch size, the loss."""
    r = random.Random(f"{kind} {seed}")
    pairs = list(listed(int(seed))) if kind == "listed" else [KINDS[kind](r) for _ in range(COUNT.get(kind, LAYERS))]
    shapes = [shape for _, shape in pairs]
    return Parts([layer for layer, _ in pairs]), lambda b: tuple(torch.zeros(b, *shape) for shape in shapes), "mse"
