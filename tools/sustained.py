#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sustained.py OUT.jsonl - times of products and transformer blocks under a lasting load, with the clock and the power

Runs each load for some seconds on this machine's GPU. A row has the milliseconds of a step in the first group of steps,
the median of the last three seconds, and the clock (MHz) and power (W) that nvidia-smi shows. Needs PyTorch with CUDA and
PYTHONPATH=python:tools. docs/results/time.md (Clock and power) uses the rows.
"""
import json
import statistics
import subprocess
import sys
import time

import torch

import fp8_blocks

GROUP, WAIT, LOOK = 4, 3, 9  # steps between two events; groups between synchronisations and between looks at the clock
LAST = 3.0                   # s at the end that count as steady
SIZE, PRODUCTS, TOKENS = 8192, 10, (4, 2048)


def clock_and_power():
    command = ["nvidia-smi", "--query-gpu=clocks.sm,power.draw", "--format=csv,noheader,nounits"]
    return [float(x) for x in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split(",")]


def lasting(name, step, seconds):
    for _ in range(WAIT):
        step()
    torch.cuda.synchronize()
    time.sleep(1)
    groups, clocks, begin = [], [], time.perf_counter()
    while (now := time.perf_counter() - begin) < seconds:
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        events[0].record()
        for _ in range(GROUP):
            step()
        events[1].record()
        groups.append((now, events))
        if len(groups) % WAIT == 0:
            torch.cuda.synchronize()
        if len(groups) % LOOK == 0:
            clocks.append(clock_and_power())
    torch.cuda.synchronize()
    times = [(now, first.elapsed_time(last) / GROUP) for now, (first, last) in groups]
    return {"name": name, "first": times[0][1], "last": statistics.median(ms for now, ms in times if now > seconds - LAST),
            "clocks": clocks}


def products():
    x, w = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    y = torch.empty_like(x)

    def step():
        for _ in range(PRODUCTS):
            torch.mm(x, w, out=y)
    return step


def block(width, recipe):
    model = fp8_blocks.stack(width, recipe, "cuda")
    run = torch.compile(model, dynamic=False)
    x = torch.randn(*TOKENS, width, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    gradient = torch.randn_like(x)

    def step():
        model.zero_grad(set_to_none=True)
        x.grad = None
        run(x).backward(gradient)
    return step


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        print(json.dumps(lasting(f"gemm{SIZE} x{PRODUCTS}", products(), 5)), file=out, flush=True)
        for width in (4096, 2048):
            for recipe in ("bf16", "tensor"):
                print(json.dumps(lasting(f"{width} {recipe} compiled", block(width, recipe), 6)), file=out, flush=True)


if __name__ == "__main__":
    main()
