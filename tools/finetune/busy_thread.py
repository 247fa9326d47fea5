#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""busy_thread.py - host time of training steps beside a Python thread that never sleeps: busy_thread.py [-o OUT.json]

transformers' TrainerMemoryTracker reads the memory of the process in such a thread while it trains (skip_memory_metrics=False).
Each operator of PyTorch gives up the interpreter's lock and takes it again, so the two compete. Prints, for small layers
without checkpoints and with both kinds of them, the medians of a step's forward and backward pass with the thread and without
it ('busy_thread_host' in data/factors.tsv). Runs on a GPU if there is one; half a minute.
"""
import argparse
import json
import os
import statistics
import threading
import time

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WIDTH, HEADS, TOKENS = 128, 4, 64


def resident_bytes():
    with open(f"/proc/{os.getpid()}/statm", "rb", buffering=1024) as file:
        return int(file.readline().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Busy:
    """A thread that polls the memory of the process without a pause."""
    def __init__(self):
        self.on, self.peak = True, -1
        self.thread = threading.Thread(target=self.poll, daemon=True)

    def poll(self):
        while self.on:
            self.peak = max(resident_bytes(), self.peak)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.on = False
        self.thread.join()


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype)


class Layer(nn.Module):
    """A layer of a Llama with its operators written out."""
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([Norm(), Norm()])
        self.products = nn.ModuleList([nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4)])
        self.gate, self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=False), nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        y = self.norms[0](x)
        q, k, v = (f(y).view(1, TOKENS, HEADS, -1).transpose(1, 2) for f in self.products[:3])
        q, k = (t * cos + torch.cat((-t[..., t.shape[-1] // 2:], t[..., : t.shape[-1] // 2]), -1) * sin for t in (q, k))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.products[3](y.transpose(1, 2).reshape(1, TOKENS, WIDTH))
        y = self.norms[1](x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def passes(kind, layers, seconds):
    """Medians of the seconds of the forward and of the backward pass."""
    dtype = torch.bfloat16 if DEVICE == "cuda" else torch.float32
    model = nn.ModuleList([Layer() for _ in range(layers)]).to(DEVICE, dtype)
    x = torch.randn(1, TOKENS, WIDTH, device=DEVICE, dtype=dtype, requires_grad=True)
    cos, sin = torch.randn(2, 1, 1, TOKENS, WIDTH // HEADS, device=DEVICE, dtype=dtype)
    times, end = [], time.time() + seconds
    while time.time() < end or len(times) < 6:
        y, start = x, time.perf_counter()
        for layer in model:
            y = layer(y, cos, sin) if kind == "none" else checkpoint(layer, y, cos, sin, use_reentrant=kind == "reentrant")
        loss = y.float().pow(2).mean()
        wait()
        middle = time.perf_counter()
        loss.backward()
        wait()
        times.append((middle - start, time.perf_counter() - middle))
        model.zero_grad()
    return [statistics.median(t[i] for t in times[1:]) for i in range(2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out")
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each case")
    a = parser.parse_args()
    rows = []
    for kind in ("none", "reentrant", "not reentrant"):
        alone = passes(kind, a.layers, a.seconds)
        with Busy():
            beside = passes(kind, a.layers, a.seconds)
        for i, name in enumerate(("forward", "backward")):
            rows.append({"checkpoints": kind, "pass": name, "alone_s": alone[i], "beside_s": beside[i]})
            print(f"{kind:14} {name:9} {1e3 * alone[i]:8.2f} ms, beside the thread {1e3 * beside[i]:8.2f} ms: {beside[i] / alone[i]:.2f}")
    print(f"median of the ratios: {statistics.median(r['beside_s'] / r['alone_s'] for r in rows):.2f}")
    if a.out:
        with open(a.out, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "device": DEVICE, "rows": rows}, file)


if __name__ == "__main__":
    main()
