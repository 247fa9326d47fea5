#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure.py - time the fine-tuning steps of cases.py on one GPU, and their memory: measure.py --budget 600 -o OUT.tsv

Writes a row as soon as a case has run: name, median seconds of a step, kernel seconds, peak of allocated and of reserved
bytes, or "oom". Rows that OUT has already are not measured again. Needs PyTorch only.
"""
import argparse
import gc
import os
import statistics
import time

import torch

from cases import LISTS, MODELS
from network import Network

WARM, TIMED = 3, 8


def step_of(case, device):
    torch.manual_seed(0)
    network = Network(case, MODELS[case.model], device)
    optimizer = torch.optim.AdamW([p for p in network.parameters() if p.requires_grad], lr=1e-5)
    vocab = MODELS[case.model][7]
    ids = torch.randint(0, vocab, (case.batch, case.seq), device=device)
    amp = case.precision == "amp-bf16"

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=amp):
            output = network(ids, ids)
        output[0].backward()
        optimizer.step()

    return step


def kernel_time(step):
    """Seconds in which the device is busy during one step."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    spans = sorted((e.time_range.start, e.time_range.end) for e in profile.events()
                   if e.device_type == torch.autograd.DeviceType.CUDA)
    busy, end = 0, 0
    for start, stop in spans:
        busy += max(0, stop - max(start, end))
        end = max(end, stop)
    return busy * 1e-6


def measured(case):
    step = step_of(case, "cuda")
    for _ in range(WARM):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(TIMED):
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    peaks = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
    return f"{statistics.median(times):.6f}\t{kernel_time(step):.6f}\t{peaks[0]}\t{peaks[1]}"


def row_of(case):
    try:
        return measured(case)
    except torch.OutOfMemoryError:
        return "oom\toom\toom\toom"


def done(path):
    if not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as file:
        return {line.split("\t")[0] for line in file}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=600, help="seconds after which no further case is begun")
    parser.add_argument("-o", "--out", default="measured.tsv")
    parser.add_argument("--list", default="a", choices=LISTS, help="list of cases.py")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    asked, begin, seen = parser.parse_args(), time.time(), set()
    seen = done(asked.out)
    with open(asked.out, "a", encoding="utf-8") as out:
        if not seen:
            out.write("case\tstep_s\tkernel_s\tallocated\treserved\n")
        for case in LISTS[asked.list]:
            if case.name in seen or asked.only not in case.name or time.time() - begin > asked.budget:
                continue
            row = row_of(case)
            gc.collect()
            torch.cuda.empty_cache()
            out.write(f"{case.name}\t{row}\n")
            out.flush()
            print(f"{time.time() - begin:6.0f} s  {case.name}  {row}", flush=True)


if __name__ == "__main__":
    main()
