#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""transposed_copies.py OUT.jsonl - times of elementwise kernels that read an operand across its rows.

A line is one call: a copy, sum or product of [blocks, rows, cols] read as [blocks, cols, rows] (`turned`), or a copy of one
part of [batch, tokens, parts, heads, width] with permuted dimensions (`gapped`). Operands rotate, so that the cache does not
hold them. Needs a CUDA device; takes 25 s on an H200.
"""
import json
import sys

import torch

TYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
COLS = (3, 4, 8, 16, 32, 48, 64, 96, 192, 512, 2048)
ROWS = (64, 577, 4096, 17424, 65536, 262144, 1048576)
SMALL, LARGE = 1 << 24, 1 << 26  # elements
OF_NETWORKS = ((16, 331776), (32, 4096), (64, 4096), (240, 17424), (144, 16384), (256, 3136), (96, 65536), (24, 262144))
HEADS = ((4, 576, 16, 48), (64, 197, 12, 64), (16, 1024, 8, 64), (8, 4096, 4, 32), (256, 49, 12, 32))
ORDERS = ((0, 2, 3, 1), (0, 2, 1, 3))
FUNCTIONS = {"copy": lambda x: x.contiguous(), "add": lambda x, y: y.add_(x), "mul": lambda x, y: torch.mul(y, x)}


def timed(function, make, size_bytes):
    """The median of three times in microseconds, each of one call after the other."""
    sets = [make() for _ in range(max(2, min(8, int(3e8 // size_bytes) + 1)))]
    runs, times = max(len(sets), 6), []
    for attempt in range(4):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(400000)  # the host launches all calls before the first one starts
        begin.record()
        for i in range(runs):
            function(*sets[i % len(sets)])
        end.record()
        torch.cuda.synchronize()
        if attempt:
            times.append(begin.elapsed_time(end) * 1e3 / runs)
    return sorted(times)[1]


def turned(kind, dtype, elements, rows, cols):
    blocks, t = max(1, elements // (rows * cols)), TYPES[dtype]

    def make():
        x = torch.randn(blocks, rows, cols, device="cuda", dtype=t).transpose(1, 2)
        return (x,) if kind == "copy" else (x, torch.randn(blocks, cols, rows, device="cuda", dtype=t))
    us = timed(FUNCTIONS[kind], make, blocks * rows * cols * t.itemsize)
    return {"what": "turned", "kind": kind, "dtype": dtype, "blocks": blocks, "rows": rows, "cols": cols, "us": us}


def gapped(dtype, sizes, order):
    batch, tokens, heads, width = sizes
    shape, t = (batch, tokens, 3, heads, width), TYPES[dtype]

    def make():
        return (torch.randn(shape, device="cuda", dtype=t)[:, :, 0].permute(*order),)
    us = timed(FUNCTIONS["copy"], make, 3 * batch * tokens * heads * width * t.itemsize)
    return {"what": "gapped", "dtype": dtype, "batch": batch, "tokens": tokens, "parts": 3, "heads": heads, "width": width,
            "order": order, "us": us}


def cases():
    for dtype in TYPES:
        for cols, rows in OF_NETWORKS:
            for kind in ("add", "mul"):
                yield turned(kind, dtype, 1 << 25, rows, cols)
        for sizes in HEADS:
            for order in ORDERS:
                yield gapped(dtype, sizes, order)
        for cols in COLS:
            for rows in ROWS:
                if rows * cols <= 2 * SMALL:
                    yield turned("copy", dtype, SMALL, rows, cols)
                if cols not in (3, 48, 96) and rows > 577 and rows * cols <= 2 * LARGE:
                    yield turned("copy", dtype, LARGE, rows, cols)


def main():
    with open(sys.argv[1], "w") as out:
        for row in cases():
            print(json.dumps(row), file=out, flush=True)


if __name__ == "__main__":
    main()
