#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fp8_blocks.py - transformer blocks whose linear layers multiply 8-bit operands, and their step times and memory.

Recipes: bf16; tensor (a scale for each tensor, from its own largest value); delayed (from the largest value of the
previous step; the 8-bit copies are kept for backward); row (a scale per row of each operand); row-weights (row, and the
gradient of the weights in bf16); block (a scale per 128 elements of a row, and per 128 x 128 weights).

    fp8_blocks.py FOUND.json WIDTH:RECIPE ...   measure these compiled blocks; `lasting` in a row is the time of a step
                                                when steps follow each other for two seconds
"""
import collections
import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

BLOCK = 128
RECIPES = ("bf16", "tensor", "row", "delayed", "row-weights", "block")
FORWARD = getattr(torch, "float8_e4m3fn", None)
BACKWARD = getattr(torch, "float8_e5m2", None)


# ---- casts ------------------------------------------------------------------------------------------------------

def quantized(x, scale, dtype):
    most = torch.finfo(dtype).max
    return (x.float() * scale).clamp(-most, most).to(dtype)


def scale_for(largest, dtype):
    """The factor that brings the largest value to the largest number of the type."""
    return torch.finfo(dtype).max / largest.float().clamp(min=1e-12)


def by_tensor(x, dtype):
    scale = scale_for(x.abs().amax(), dtype)
    return quantized(x, scale, dtype), 1 / scale


def by_row(x, dtype):
    scale = scale_for(x.abs().amax(1, keepdim=True), dtype)
    return quantized(x, scale, dtype), 1 / scale


def by_part(x, dtype):
    """A scale per 128 elements of a row; the scales of one block of columns are contiguous."""
    rows, cols = x.shape
    scale = scale_for(x.view(rows, cols // BLOCK, BLOCK).abs().amax(2), dtype)
    eight = quantized(x.view(rows, -1, BLOCK), scale[..., None], dtype).view(rows, cols)
    return eight, (1 / scale).t().contiguous().t()


def by_square(x, dtype):
    """A scale per 128 x 128 elements, in rows of a multiple of four scales."""
    rows, cols = x.shape
    parts = x.view(rows // BLOCK, BLOCK, cols // BLOCK, BLOCK)
    scale = scale_for(parts.abs().amax((1, 3)), dtype)
    eight = quantized(parts, scale[:, None, :, None], dtype).view(rows, cols)
    extra = -scale.shape[1] % 4
    return eight, F.pad(1 / scale, (0, extra))[:, :scale.shape[1]]


def multiplied(a, b, fast):
    """(values, scales) of [m, k] times those of [n, k] transposed, in bf16."""
    if not a[0].is_cuda:  # the host has no scaled product; it checks the arithmetic
        return (_wide(*a) @ _wide(*b).t()).to(torch.bfloat16)
    return torch._scaled_mm(a[0], b[0].t(), a[1], b[1].t(), out_dtype=torch.bfloat16, use_fast_accum=fast)


def _wide(values, scale):
    wide = values.float()
    if scale.dim() == 2 and scale.shape[1] > 1:
        repeats = wide.shape[0] // scale.shape[0]
        scale = scale.repeat_interleave(repeats, 0).repeat_interleave(BLOCK, 1)
    return wide * scale


# ---- linear layers ----------------------------------------------------------------------------------------------

class Dynamic(torch.autograd.Function):
    """Keeps both operands in bf16 and casts them for each of the three products."""

    @staticmethod
    def forward(ctx, x, weight, recipe):
        ctx.save_for_backward(x, weight)
        ctx.recipe = recipe
        cast, cast_weight = CASTS[recipe]
        return multiplied(cast(x, FORWARD), cast_weight(weight, FORWARD), recipe != "block")

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        cast, cast_weight = CASTS[ctx.recipe]
        kind = BACKWARD if ctx.recipe == "tensor" else FORWARD
        dx = multiplied(cast(dy, kind), cast_weight(weight.t().contiguous(), FORWARD), False)
        if ctx.recipe == "row-weights":
            return dx, dy.t() @ x, None
        dw = multiplied(cast(dy.t().contiguous(), kind), cast(x.t().contiguous(), FORWARD), False)
        return dx, dw, None


CASTS = {"tensor": (by_tensor, by_tensor), "row": (by_row, by_row), "row-weights": (by_row, by_row),
         "block": (by_part, by_square)}


class Delayed(torch.autograd.Function):
    """Scales come from the previous step. The 8-bit operands are kept for backward, and their transposed copies are
    made there."""

    @staticmethod
    def forward(ctx, x, weight, largest):
        scales = [scale_for(largest[index], FORWARD) for index in (0, 1)]
        x8, w8 = quantized(x, scales[0], FORWARD), quantized(weight, scales[1], FORWARD)
        ctx.save_for_backward(x8, w8, largest)
        return multiplied((x8, 1 / scales[0]), (w8, 1 / scales[1]), True)

    @staticmethod
    def backward(ctx, dy):
        x8, w8, largest = ctx.saved_tensors
        back = [1 / scale_for(largest[index], FORWARD) for index in (0, 1)]
        scale = scale_for(largest[2], BACKWARD)
        d8 = quantized(dy, scale, BACKWARD)
        dx = multiplied((d8, 1 / scale), (w8.t().contiguous(), back[1]), False)
        dw = multiplied((d8.t().contiguous(), 1 / scale), (x8.t().contiguous(), back[0]), False)
        return dx, dw, None


class Linear(nn.Linear):
    def __init__(self, into, out, recipe):
        super().__init__(into, out, bias=False)
        self.recipe = recipe
        self.register_buffer("largest", torch.full((3,), 8.0))

    def forward(self, x):
        if self.recipe == "bf16":
            return super().forward(x)
        flat = x.reshape(-1, x.shape[-1])
        if self.recipe == "delayed":
            with torch.no_grad():  # recorded for the next step
                self.largest[0] = flat.abs().amax().float().clamp(min=1e-3)
            y = Delayed.apply(flat, self.weight, self.largest.clone())
        else:
            y = Dynamic.apply(flat, self.weight, self.recipe)
        return y.view(*x.shape[:-1], -1)


class Block(nn.Module):
    """Attention and a gated feed-forward layer, with root mean square norms."""

    def __init__(self, width, recipe, head=128):
        super().__init__()
        inner = 256 * round(width * 8 / 3 / 256)
        self.heads, self.head = width // head, head
        self.before, self.after = nn.RMSNorm(width), nn.RMSNorm(width)
        self.joined, self.out = Linear(width, 3 * width, recipe), Linear(width, width, recipe)
        self.up, self.gate, self.down = (Linear(width, inner, recipe), Linear(width, inner, recipe),
                                         Linear(inner, width, recipe))

    def forward(self, x):
        shape = (*x.shape[:2], self.heads, self.head)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.joined(self.before(x)).chunk(3, -1))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + self.out(attended)
        hidden = self.after(x)
        return x + self.down(F.silu(self.gate(hidden)) * self.up(hidden))


# ---- measuring --------------------------------------------------------------------------------------------------

def stack(width, recipe, device, layers=2):
    torch.manual_seed(1)
    return nn.Sequential(*(Block(width, recipe) for _ in range(layers))).to(device=device, dtype=torch.bfloat16)


def _events(count, step):
    """Seconds of steps between events of the device, or by the clock of the host."""
    seconds = []
    for _ in range(count):
        if torch.cuda.is_available():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            step()
            end.record()
            torch.cuda.synchronize()
            seconds.append(begin.elapsed_time(end) * 1e-3)
        else:
            started = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - started)
    return seconds


def _lasting(step, seconds=2):
    """Seconds of a step after the clock has settled: the second half of steps without pauses."""
    first = statistics.median(_events(3, step))
    count = max(4, int(seconds / 2 / first))
    for _ in range(2):
        torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(count):
            step()
        torch.cuda.synchronize()
        took = time.perf_counter() - started
    return took / count


def _kernels(step):
    """{name: [seconds, launches]} of one step's kernels, longest first."""
    from centimani.bench.timers import Session
    with Session() as session:
        step()
    found = collections.defaultdict(lambda: [0.0, 0])
    for name, seconds in session.events:
        found[name][0] += seconds
        found[name][1] += 1
    return dict(sorted(((name, [float(f"{s:.4g}"), n]) for name, (s, n) in found.items()), key=lambda row: -row[1][0]))


def _memory(model, x, gradient):
    """Bytes that stay allocated after the forward pass, and the peak of a step, beyond weights and inputs."""
    if not torch.cuda.is_available():
        return {}
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    y = model(x)
    kept = torch.cuda.memory_allocated() - before
    y.backward(gradient)
    return {"kept_bytes": kept, "peak_bytes": torch.cuda.max_memory_allocated() - before}


def measure(width, recipe, compiled, tokens=(4, 2048), device="cuda", repeats=12):
    """One row of the table of blocks."""
    model = stack(width, recipe, device)
    run = torch.compile(model, dynamic=False) if compiled else model
    x = torch.randn(*tokens, width, device=device, dtype=torch.bfloat16, requires_grad=True)
    gradient = torch.randn_like(x)

    def step():
        model.zero_grad(set_to_none=True)
        x.grad = None
        run(x).backward(gradient)
    started = time.perf_counter()
    for _ in range(3):
        step()
    ready = time.perf_counter() - started
    model.zero_grad(set_to_none=True)
    x.grad = None
    memory = _memory(run, x, gradient)
    seconds = _events(repeats, step)
    kernels = _kernels(step) if torch.cuda.is_available() else {}
    lasting = {"lasting": _lasting(step)} if torch.cuda.is_available() else {}
    return {"width": width, "recipe": recipe, "compiled": compiled, "tokens": list(tokens), "layers": len(model),
            "seconds": statistics.median(seconds), "spread": [min(seconds), max(seconds)], "first_steps_s": ready,
            "device_seconds": sum(row[0] for row in kernels.values()), **lasting, **memory,
            "kernels": dict(list(kernels.items())[:40])}


def right(width=256, recipe="tensor", device="cpu"):
    """Relative difference of a block's output and input gradient from those in bf16."""
    results = []
    for kind in ("bf16", recipe):
        model = stack(width, kind, device, 1)
        torch.manual_seed(2)
        x = torch.randn(1, 256, width, device=device, dtype=torch.bfloat16, requires_grad=True)
        y = model(x)
        y.float().pow(2).mean().backward()
        results.append((y.detach().float(), x.grad.float(), model[0].down.weight.grad.float()))
    return [((a - b).norm() / a.norm()).item() for a, b in zip(*results)]


def main(path, *wanted):
    found = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "blocks": []}
    for name in wanted:
        width, recipe = name.split(":")
        found["blocks"].append(measure(int(width), recipe, True))
        with open(path, "w", encoding="utf-8") as out:  # after each block, so that an interrupted run leaves the others
            json.dump(found, out)
        print(name, found["blocks"][-1]["device_seconds"], found["blocks"][-1]["lasting"], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
