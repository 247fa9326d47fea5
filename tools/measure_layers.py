#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure_layers.py -o FILE.jsonl [--budget SECONDS] [--only WORD]: what single layers allocate on this machine's GPU.

Runs recurrent layers, spectral layers and convolutions forward and backward, and writes one line for each: its kind,
its sizes, and the bytes of every allocation of both passes in their order, with the order in which they are freed.
From these follow the sizes of cuDNN's workspaces and reserves and of cuFFT's work areas. Each layer runs twice before,
so that cuDNN has chosen its kernels (torch.backends.cudnn.benchmark).
"""
import argparse
import itertools
import json
import time

import torch
import torch.nn.functional as F

HALF = {"fp16": torch.float16, "bf16": torch.bfloat16}
CELLS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}


def recurrent_cases():
    """Sizes: batch, steps, inputs, hidden. Every cell and count of layers once, the other choices around one size."""
    sizes = [(64, 35, 256, 256), (1024, 64, 256, 256), (32, 128, 512, 512), (2, 200, 1024, 1024), (256, 100, 650, 650),
             (512, 35, 128, 128), (64, 50, 80, 512), (2048, 35, 650, 650), (8, 400, 300, 384)]
    for cell, dtype, size in itertools.product(CELLS, ("fp32", "tf32", "fp16"), sizes):
        yield ("recurrent", cell, dtype, *size, 1, 1, 0.0)
    choices = itertools.product(("lstm", "gru"), ("fp32", "fp16"), (1, 2, 3), (1, 2), (0.0, 0.2))
    for cell, dtype, layers, ways, dropout in choices:
        yield ("recurrent", cell, dtype, 256, 64, 256, 256, layers, ways, dropout)


def recurrent(cell, dtype, batch, steps, inputs, hidden, layers, ways, dropout):
    kind = HALF.get(dtype, torch.float32)
    layer = CELLS[cell](inputs, hidden, layers, batch_first=True, bidirectional=ways == 2, dropout=dropout,
                        device="cuda", dtype=kind)
    x = torch.randn(batch, steps, inputs, device="cuda", dtype=kind, requires_grad=True)
    return lambda: layer(x)[0], [x, *layer.parameters()]


def spectral_cases():
    sizes = (1024,), (8192,), (64, 64), (85, 85), (128, 128)
    for size, (batch, width), modes in itertools.product(sizes, ((4, 32), (64, 48)), (8, 16)):
        yield ("spectral", "fp32", batch, width, modes, *size)


def spectral(dtype, batch, width, modes, *size):
    axes = tuple(range(2, 2 + len(size)))
    low = (slice(None), slice(None)) + (slice(0, modes),) * len(size)
    letters = "xyz"[:len(size)]
    weight = torch.randn(width, width, *(modes,) * len(size), dtype=torch.cfloat, device="cuda", requires_grad=True)
    x = torch.randn(batch, width, *size, device="cuda", requires_grad=True)

    def run():
        y = torch.fft.rfftn(x, dim=axes)
        out = torch.zeros_like(y)
        out[low] = torch.einsum(f"bi{letters},io{letters}->bo{letters}", y[low], weight)
        return torch.fft.irfftn(out, s=size, dim=axes)
    return run, [x, weight]


def transform_cases():
    sizes = (1024,), (8192,), (64, 64), (85, 85), (128, 128), (32, 32, 32)
    for kind, size, batch in itertools.product(("rfftn", "irfftn", "fftn"), sizes, (128, 4096)):
        yield ("transform", kind, batch, *size)


def transform(kind, batch, *size):
    axes = tuple(range(1, 1 + len(size)))
    if kind == "rfftn":
        x = torch.randn(batch, *size, device="cuda", requires_grad=True)
        return lambda: torch.fft.rfftn(x, dim=axes), [x]
    half = (*size[:-1], size[-1] // 2 + 1) if kind == "irfftn" else size
    x = torch.randn(batch, *half, dtype=torch.cfloat, device="cuda", requires_grad=True)
    if kind == "irfftn":
        return lambda: torch.fft.irfftn(x, s=size, dim=axes), [x]
    return lambda: torch.fft.fftn(x, dim=axes), [x]


def convolution_cases():
    """Sizes: images, channels in and out, sides, filter, stride, groups."""
    volumes = [(2, 16, 16, 48, 3, 1, 1), (2, 32, 64, 48, 3, 1, 1), (4, 64, 64, 24, 3, 1, 1), (8, 128, 128, 12, 3, 1, 1),
               (2, 12, 12, 64, 3, 1, 1), (16, 64, 64, 16, 3, 1, 1), (2, 3, 32, 64, 7, 2, 1), (8, 96, 96, 8, 3, 1, 32),
               (4, 64, 128, 24, 1, 1, 1), (4, 256, 256, 8, 3, 2, 1)]
    images = [(4, 64, 64, 112, 3, 1, 1), (4, 256, 256, 28, 3, 1, 1), (4, 512, 512, 14, 3, 1, 1),
              (2, 64, 64, 128, 3, 1, 1), (2, 128, 64, 128, 3, 1, 1), (4, 40, 40, 128, 3, 1, 1),
              (4, 96, 96, 64, 3, 1, 1), (64, 64, 64, 56, 3, 1, 1),
              (4, 48, 96, 96, 3, 2, 1), (4, 160, 160, 40, 5, 1, 1), (2, 1024, 512, 16, 3, 1, 1),
              (4, 80, 320, 32, 3, 1, 1)]
    for dtype in ("fp32", "tf32", "bf16", "fp16"):
        for sizes in volumes:
            yield ("convolution", dtype, 3, *sizes)
        for sizes in images:
            yield ("convolution", dtype, 2, *sizes)


def convolution(dtype, dims, images, channels, outputs, side, filter_side, stride, groups):
    kind = HALF.get(dtype, torch.float32)
    x = torch.randn(images, channels, *(side,) * dims, device="cuda", dtype=kind, requires_grad=True)
    w = torch.randn(outputs, channels // groups, *(filter_side,) * dims, device="cuda", dtype=kind, requires_grad=True)
    apply = F.conv3d if dims == 3 else F.conv2d
    return lambda: apply(x, w, None, stride, filter_side // 2, 1, groups), [x, w]


MAKERS = {"recurrent": recurrent, "spectral": spectral, "transform": transform, "convolution": convolution}


def events_of(run):
    """[1, bytes, number] for an allocation and [-1, bytes, number] for its release, while `run` runs."""
    torch.cuda.synchronize()
    torch.cuda.memory._record_memory_history(context=None, max_entries=200000)
    before = len(torch.cuda.memory._snapshot()["device_traces"][0])
    result = run()
    torch.cuda.synchronize()
    trace = torch.cuda.memory._snapshot()["device_traces"][0][before:]
    torch.cuda.memory._record_memory_history(enabled=None)
    found, live = [], {}
    for entry in trace:
        if entry["action"] == "alloc":
            live[entry["addr"]] = len(found)
            found.append([1, entry["size"], len(found)])
        elif entry["action"] == "free_requested" and entry["addr"] in live:
            found.append([-1, entry["size"], live.pop(entry["addr"])])
    return result, found


def measured(case):
    kind, *sizes = case
    tf32 = "tf32" in case
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    forward, wanted = MAKERS[kind](*sizes)
    for _ in range(2):
        y = forward()
        torch.autograd.grad(y, wanted, torch.ones_like(y))
    del y
    torch.cuda.empty_cache()
    y, first = events_of(forward)
    gradient = torch.ones_like(y)
    _, second = events_of(lambda: torch.autograd.grad(y, wanted, gradient))
    return {"case": list(case), "forward": first, "backward": second}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", required=True)
    parser.add_argument("--budget", type=float, default=60)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    until = time.monotonic() + given.budget
    makers = recurrent_cases, spectral_cases, transform_cases, convolution_cases
    cases = [case for make in makers for case in make() if given.only in case[0]]
    done = 0
    with open(given.o, "w") as out:
        for case in cases:
            if time.monotonic() > until:
                break
            try:
                line = measured(case)
            except Exception as error:  # noqa: BLE001 - the other layers are still measured
                line = {"case": list(case), "error": str(error).splitlines()[0][:200]}
            out.write(json.dumps(line) + "\n")
            done += 1
    print(f"{done} of {len(cases)} layers")


if __name__ == "__main__":
    main()
