#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""conv_cases.py SHAPES.json -o CASES.json [--count N] [--seed N]

Writes cases for tools/conv_sweep.py: convolutions with groups, with large or long filters, and along one dimension, of
sizes that people use. SHAPES.json maps the sizes of convolutions in captured networks ("N,256,256,14,14,3,...,32", N:
the batch size) to the sum of their shares of a step; they are drawn in proportion to its root. The others are drawn
from lists. Each shape gives three cases, one a pass. The order is random: what a time limit cuts off is a random part.
"""
import argparse
import json
import pathlib
import random

PASSES = ("forward", "bwd_input", "bwd_weight")
IMAGES = {("bf16", "nhwc"): 25, ("fp16", "nhwc"): 20, ("bf16", "nchw"): 10, ("fp16", "nchw"): 10, ("tf32", "nchw"): 12,
          ("tf32", "nhwc"): 10, ("fp32", "nchw"): 10, ("fp32", "nhwc"): 3}
SIGNALS = {("bf16", "nchw"): 30, ("fp16", "nchw"): 30, ("tf32", "nchw"): 20, ("fp32", "nchw"): 20}
KINDS = {"drawn groups": 18, "groups": 22, "per sample": 4, "dense signal": 18, "depthwise signal": 10,
         "grouped signal": 6, "drawn depthwise": 9, "depthwise": 9, "strip": 4}
PER_GROUP = (4, 6, 8, 8, 10, 12, 16, 16, 18, 20, 24, 24, 28, 32, 32, 36, 40, 48, 48, 56, 60, 64, 64, 72, 80, 88, 96, 104,
             112, 120, 128, 128, 144, 160, 168, 176, 192, 208, 224, 232, 240, 256, 264, 320, 328)
SIDES = (4, 5, 7, 7, 8, 9, 10, 12, 14, 14, 16, 18, 20, 24, 28, 28, 32, 36, 40, 48, 56, 56, 64, 72, 80, 96, 112, 128)
CHANNELS = (1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024, 1536,
            2048)
LENGTHS = (50, 75, 100, 128, 149, 150, 199, 250, 256, 300, 400, 430, 500, 512, 600, 800, 1000, 1024, 1200, 1500, 2000,
           2048, 3000, 4000, 5000, 8000, 10000, 15000, 16000)
LONG = (2, 3, 3, 4, 5, 5, 7, 7, 8, 9, 11, 13, 15, 15, 16, 17, 19, 21, 25, 31, 31, 32, 33, 39, 41, 51, 63, 64, 65, 75, 87,
        101, 127, 128)
BATCHES = (1, 2, 4, 8, 8, 16, 16, 32, 32, 64, 64, 128, 128, 256, 512)
MOST_ELEMENTS, MOST_FLOP = 3e8, 2e12


def image(r, channels, filters, groups, window, stride, side=None):
    side = side or r.choice(SIDES)
    pad = window // 2
    return [r.choice(BATCHES), channels, filters, side, side, window, window, stride, stride, pad, pad, 1, 1, groups]


def signal(r, channels, filters, groups, stride):
    window, dilation = r.choice(LONG), r.choice((1,) * 9 + (2, 4, 8, 25))
    pad = r.choice((window // 2 * dilation, window // 2 * dilation, 0))
    return [r.choice(BATCHES), channels, filters, 1, r.choice(LENGTHS), 1, window, 1, stride, 0, pad, 1, dilation,
            groups]


def groups(r):
    each, count = r.choice(PER_GROUP), r.choice((2, 2, 3, 4, 4, 6, 8, 8, 14, 16, 16, 32, 32, 64))
    more = r.choice((1,) * 8 + (2, 4, 0.5))
    return image(r, each * count, max(1, int(each * more)) * count, count, r.choice((3,) * 7 + (1, 5, 7)),
                 r.choice((1, 1, 1, 2)))


def per_sample(r):
    """Weights of their own for each sample: groups of a batch of one."""
    count, into, out = r.choice((8, 16, 32, 64, 128)), r.choice(PER_GROUP), r.choice(PER_GROUP)
    return [1, *image(r, into * count, out * count, count, r.choice((1, 1, 3)), r.choice((1, 1, 1, 2)))[1:]]


def dense_signal(r):
    return signal(r, r.choice(CHANNELS), r.choice(CHANNELS[3:]), 1, r.choice((1,) * 6 + (2, 2, 3, 4, 5, 8)))


def depthwise_signal(r):
    channels = r.choice(CHANNELS[4:])
    return signal(r, channels, channels, channels, r.choice((1,) * 9 + (2,)))


def grouped_signal(r):
    each, count = r.choice((4, 8, 16, 24, 32, 40, 48, 64, 80, 96)), r.choice((2, 4, 8, 12, 16, 32))
    return signal(r, each * count, each * count * r.choice((1, 1, 1, 2)), count, r.choice((1, 1, 1, 2, 4)))


def depthwise(r):
    channels = r.choice(CHANNELS[5:] + (18, 36, 72, 88, 120, 144, 184, 240, 288, 336, 480, 672, 728, 960, 1152))
    return image(r, channels, channels, channels, r.choice((3, 3, 5, 5, 7, 7, 9, 11, 13, 15, 21, 31)),
                 r.choice((1, 1, 1, 2)))


def strip(r):
    channels, long, side = r.choice(CHANNELS[5:]), r.choice((3, 5, 7, 9, 11, 15, 21)), r.choice(SIDES)
    flat, each = r.choice((True, False)), r.choice((True, False))
    window, pad = ((1, long), (0, long // 2)) if flat else ((long, 1), (long // 2, 0))
    return [r.choice(BATCHES), channels, channels, side, side, *window, 1, 1, *pad, 1, 1, channels if each else 1]


DRAW = {"groups": groups, "per sample": per_sample, "dense signal": dense_signal, "depthwise signal": depthwise_signal,
        "grouped signal": grouped_signal, "depthwise": depthwise, "strip": strip}


def kind_of(sizes):
    channels, height, groups = sizes[1], sizes[3], sizes[13]
    if groups in ("1", "N") or height == "1" or "N" in sizes[1:]:
        return None
    return "drawn depthwise" if groups == channels else "drawn groups"


class Captured:
    """Shapes of captured networks by kind, drawn by the root of their share."""

    def __init__(self, shares):
        self.of = {"drawn depthwise": ([], []), "drawn groups": ([], [])}
        for text, share in shares.items():
            sizes = text.split(",")
            if kind_of(sizes) and sizes[0] == "N":
                shapes, weights = self.of[kind_of(sizes)]
                shapes.append([int(size) for size in sizes[1:]])
                weights.append(share ** 0.5)

    def draw(self, r, kind):
        return [r.choice(BATCHES), *r.choices(*self.of[kind])[0]]


def fits(sizes):
    n, c, k, h, w, kh, kw, sh, sw, ph, pw, dh, dw, g = sizes
    out = ((h + 2 * ph - dh * (kh - 1) - 1) // sh + 1, (w + 2 * pw - dw * (kw - 1) - 1) // sw + 1)
    places = n * out[0] * out[1]
    return (min(out) >= 1 and g <= 2048 and c <= 8192 and k <= 20000 and n * c * h * w <= MOST_ELEMENTS and
            places * k <= MOST_ELEMENTS and places * k * c // g * kh * kw * 2 <= MOST_FLOP and
            c // g * k * kh * kw < 1e8)


def drawn(r, captured):
    kind = r.choices(list(KINDS), KINDS.values())[0]
    while True:
        sizes = captured.draw(r, kind) if kind in captured.of else DRAW[kind](r)
        if fits(sizes):
            break
    ways = SIGNALS if "signal" in kind else IMAGES
    return sizes, r.choices(list(ways), ways.values())[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("shapes")
    parser.add_argument("-o", required=True)
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=20)
    given = parser.parse_args()
    r, cases = random.Random(given.seed), []
    captured = Captured(json.loads(pathlib.Path(given.shapes).read_text()))
    for _ in range(given.count):
        sizes, (dtype, layout) = drawn(r, captured)
        cases += [{"op": "conv", "pass": one, "variant": layout, "dtype": dtype, "rows": [sizes]} for one in PASSES]
    pathlib.Path(given.o).write_text(json.dumps({"schema": 1, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
