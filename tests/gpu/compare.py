# SPDX-License-Identifier: Apache-2.0
"""compare.py - compare the times in FILE.csv of tests/gpu/check with PyTorch's kernel times on the same machine.

usage: compare.py FILE.csv [SECONDS]

GEMM 8192^3 and a copy of 4 GiB, then every convolution of ResNet-50 at batch 256, bf16, channels-last, cudnn.benchmark.
"""
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

BATCH = 256


def kernel_seconds(work, repetitions):
    """Device time of one call: the sum over its kernels, by the profiler."""
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as trace:
        for _ in range(repetitions):
            work()
        torch.cuda.synchronize()
    return sum(e.self_device_time_total for e in trace.key_averages()) * 1e-6 / repetitions


def event_seconds(work, repetitions):
    """The shortest of five rounds; calls are queued back to back between two events."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    work()
    best = float("inf")
    for _ in range(5):
        start.record()
        for _ in range(repetitions):
            work()
        end.record()
        torch.cuda.synchronize()
        best = min(best, start.elapsed_time(end) * 1e-3 / repetitions)
    return best


def gemm(_):
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out = torch.empty_like(a)
    return event_seconds(lambda: torch.mm(a, b, out=out), 10)


def copy(row):
    a = torch.ones(int(row[1]), device="cuda", dtype=torch.uint8)
    b = torch.empty_like(a)
    return 2 * int(row[1]) / event_seconds(lambda: b.copy_(a), 5)


def convolution(row):
    direction, (c, k, size, window, stride) = row[1], map(int, row[2:7])
    pad = window // 2
    out = (size + 2 * pad - window) // stride + 1

    def tensor(*sizes):
        return torch.randn(*sizes, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    x, w, dy = tensor(BATCH, c, size, size), tensor(k, c, window, window), tensor(BATCH, k, out, out)
    if direction == "forward":
        return kernel_seconds(lambda: torch.nn.functional.conv2d(x, w, None, stride, pad), 5)
    mask = [direction == "bwd_input", direction == "bwd_weight", False]
    return kernel_seconds(lambda: torch.ops.aten.convolution_backward(
        dy, x, w, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], 1, mask), 5)


def main():
    torch.backends.cudnn.benchmark = True
    deadline = time.time() + float(sys.argv[2] if len(sys.argv) > 2 else 80)
    sums, complete = {}, True
    print(f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}")
    for line in open(sys.argv[1], encoding="utf-8"):
        row = line.strip().split(",")
        ours, count = float(row[-1]), int(row[-2]) if row[0] == "conv" else 1
        if time.time() > deadline:
            complete = False
            break
        try:
            theirs = {"gemm": gemm, "copy": copy, "conv": convolution}[row[0]](row)
        except RuntimeError as error:
            print(line.strip(), "PyTorch:", str(error).splitlines()[0])
            continue
        if row[0] == "conv":
            total = sums.setdefault(row[1], [0, 0])
            total[0] += ours * count
            total[1] += theirs * count
        print(f"{','.join(row[:-1]):48} {ours:.6g}, PyTorch {theirs:.6g}: ratio {ours / theirs:.3f}", flush=True)
        torch.cuda.empty_cache()
    for direction, (ours, theirs) in sums.items():
        print(f"ResNet-50 {direction}: {ours * 1e3:.3f} ms, PyTorch {theirs * 1e3:.3f} ms, ratio {ours / theirs:.3f}")
    ours, theirs = (sum(pair[i] for pair in sums.values()) for i in (0, 1))
    if theirs:
        print(f"ResNet-50 all: ours {ours * 1e3:.3f} ms, PyTorch {theirs * 1e3:.3f} ms, ratio {ours / theirs:.3f}")
    if not complete:
        print("not all were reached in the time given")


main()
