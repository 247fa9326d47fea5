#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""checkpoints.py [-o ROWS.tsv] - host time of PyTorch's two kinds of checkpoints, and attention of long sequences

Part 1: layers of a small network (32 layers, width 256, 64 tokens: the host decides the time) run forward and backward
without checkpoints, with use_reentrant=True (Hugging Face's trainer) and with use_reentrant=False, with all weights
trained and with frozen weights beside adapters, with 1 to 8 such parts in each layer. The difference to no checkpoints, less the
time of the repeated forward pass, is the host cost of a checkpoint; what grows with the parts belongs to the operators.
'recompute_host' in data/factors.tsv was fitted to steps with use_reentrant=False only. Without a GPU part 1 runs on the CPU, with
tensors of a few numbers, and counts processor time.

Part 2: FlashAttention 2 (SDPBackend.FLASH_ATTENTION) forward and backward, causal, bf16, 32 heads of 128, of 8,192 to
131,072 tokens, with 8 and with 32 heads of keys; the blocks that a ring of context-parallel devices computes (queries of one
device, keys of half of it, not causal); and the merge of two partial results in fp32, as
torch.distributed.tensor.experimental._attention does it. torchtitan's rows of 32,768 tokens and more depend on these.
"""
import argparse
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint


GPU = torch.cuda.is_available()
clock = time.perf_counter if GPU else time.process_time


class Part(torch.nn.Module):
    """Norm, gated network and residual: seven operators, and four more for the adapter of each product."""

    def __init__(self, width, adapted):
        super().__init__()
        sizes = ((width, 4 * width), (width, 4 * width), (4 * width, width))
        self.norm = torch.nn.RMSNorm(width)
        self.products = torch.nn.ModuleList(torch.nn.Linear(i, o, bias=False) for i, o in sizes)
        for p in self.parameters():
            p.requires_grad_(not adapted)
        self.a = torch.nn.ModuleList(torch.nn.Linear(i, 8, bias=False) for i, o in sizes if adapted)
        self.b = torch.nn.ModuleList(torch.nn.Linear(8, o, bias=False) for i, o in sizes if adapted)

    def product(self, k, y):
        return self.products[k](y) + 2 * self.b[k](self.a[k](y)) if self.a else self.products[k](y)

    def forward(self, x):
        y = self.norm(x)
        return x + self.product(2, torch.nn.functional.silu(self.product(1, y)) * self.product(0, y))


def forward(layers, x, how):
    for layer in layers:
        x = layer(x) if how == "none" else checkpoint(layer, x, use_reentrant=how == "reentrant")
    return x


def wait():
    if GPU:
        torch.cuda.synchronize()


def seconds(run, repeats):
    for _ in range(3):
        run()
    wait()
    best = float("inf")
    for _ in range(5 if GPU else 15):
        start = clock()
        for _ in range(repeats):
            run()
        wait()
        best = min(best, (clock() - start) / repeats)
    return best


def checkpoints(add):
    width, tokens, dtype, place = (256, 64, torch.bfloat16, "cuda") if GPU else (8, 2, torch.float32, "cpu")
    for adapted, parts in ((a, p) for a in (False, True) for p in (1, 2, 4, 8)):
        count, repeats = max(4, (32 if GPU else 8) // parts), 10 if GPU else 2
        layers = torch.nn.ModuleList(torch.nn.Sequential(*(Part(width, adapted) for _ in range(parts))) for _ in range(count))
        layers = layers.to(place, dtype)
        x = torch.randn(1, tokens, width, device=place, dtype=dtype, requires_grad=True)
        weights = f"{'adapters' if adapted else 'all'} {parts}"
        with torch.no_grad():
            add("host", f"forward-alone {weights}", seconds(lambda: forward(layers, x, "none"), repeats) / count)
        add("host", f"forward {weights}", seconds(lambda: forward(layers, x, "none"), repeats) / count)
        for how in ("none", "reentrant", "hooks"):
            def step():
                forward(layers, x, how).sum().backward()
                layers.zero_grad(set_to_none=True)
            add("host", f"step-{how} {weights}", seconds(step, repeats) / count)


def attention(add):
    def tensor(tokens, heads):
        return torch.randn(1, heads, tokens, 128, device="cuda", dtype=torch.bfloat16, requires_grad=True)

    def case(name, queries, keys, kv_heads, causal):
        q, k, v = tensor(queries, 32), tensor(keys, kv_heads), tensor(keys, kv_heads)

        def run():
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=kv_heads != 32)
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            add("attention", f"forward {name}", seconds(run, 3))
            y = run()
            g = torch.randn_like(y)
            add("attention", f"backward {name}", seconds(lambda: torch.autograd.grad(y, (q, k, v), g, retain_graph=True), 3))
    for tokens in (8192, 16384, 32768, 65536, 131072):
        for kv_heads in (8, 32):
            case(f"{tokens},{tokens},{kv_heads},causal", tokens, tokens, kv_heads, True)
    case("ring 32768,16384,32", 32768, 16384, 32, False)
    case("ring 16384,32768,32", 16384, 32768, 32, False)
    out, more = (torch.randn(1, 32, 32768, 128, device="cuda") for _ in range(2))
    lse, later = (torch.randn(1, 32, 32768, 1, device="cuda") for _ in range(2))

    def merge(): # _SDPAMerger._merge_one()
        return out - torch.sigmoid(later - lse) * (out - more), lse - torch.nn.functional.logsigmoid(lse - later)
    add("merge", "32768 tokens", seconds(merge, 5))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", default="/dev/stdout")
    a = parser.parse_args()
    with open(a.out, "w", encoding="utf-8") as file:
        def add(kind, name, time_s):
            file.write(f"{kind}\t{name}\t{time_s:.6e}\n")
            file.flush()
        checkpoints(add)
        if GPU:
            attention(add)


if __name__ == "__main__":
    main()
