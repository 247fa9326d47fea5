#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sliding_windows.py OUT.jsonl - kernel times of attention whose sliding window is given as a mask, and of causal attention.

transformers passes such a mask to scaled_dot_product_attention() as soon as a sequence is longer than the window. A line
is one size: kernels [name, launches of three runs, microseconds of one] of forward, and of forward and backward together.
Needs a CUDA device; takes half a minute on an H200.
"""
import json
import sys

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile

RUNS = 3
WINDOW = 1024
HEADS = ((8, 256), (32, 128), (64, 64))  # number, width
TOKENS = (2048, 4096, 8192, 16384)


def window_mask(batch, tokens):
    at = torch.arange(tokens, device="cuda")
    behind = at[:, None] - at[None, :]
    return ((behind >= 0) & (behind < WINDOW))[None, None].expand(batch, 1, tokens, tokens)


def kernels_of(run):
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        for _ in range(RUNS):
            run()
        torch.cuda.synchronize()
    found = [(e.key, e.count, e.self_device_time_total / RUNS) for e in recorded.key_averages() if e.self_device_time_total]
    return sorted(found, key=lambda kernel: -kernel[2])


def measure(heads, width, tokens, window):
    batch = max(1, TOKENS[-2] // tokens)
    q, k, v = (torch.randn(batch, heads, tokens, width, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    mask = window_mask(batch, tokens) if window else None

    def forward():
        return scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)

    def both():
        y = forward()
        y.backward(y.detach())

    for _ in range(RUNS):
        both()
    return {"heads": heads, "dim": width, "tokens": tokens, "batch": batch, "window": window, "forward": kernels_of(forward),
            "both": kernels_of(both)}


def main():
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        for heads, width in HEADS:
            for tokens in TOKENS:
                for window in (0, WINDOW):
                    out.write(json.dumps(measure(heads, width, tokens, window)) + "\n")
                    out.flush()


main()
