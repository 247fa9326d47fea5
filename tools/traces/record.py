#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record.py FOLDER [NETWORK...] - profile training steps on this machine's GPU with torch.profiler.

For each network of nets.py: FOLDER/NETWORK.trace.json.gz (three steps under autocast in bf16, with shapes and memory),
FOLDER/NETWORK.snapshot.pickle.gz (the allocator's history over one step, and its segments after it) and a line of
FOLDER/steps.jsonl with the median time of a step without the profiler, the time of an empty launch on the host, and the
peak of allocated memory. Images are channels last. --bf16 also profiles vit, gpt2 and bert with weights in bf16. --cpu
runs one small step on a machine without a GPU, to test the script. --pack PREFIX also writes everything as PREFIX-N.tar,
each of at most 15 MB.
"""
import argparse
import concurrent.futures
import glob
import gzip
import json
import os
import shutil
import statistics
import sys
import tarfile
import time

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import nets  # noqa: E402

WARM, TIMED, PROFILED = 8, 10, 3
PACKED_BYTES = 15e6


def prepared(name, device, pure, batch):
    """The step of a network as a function, its batch size, and the kind of its loss."""
    torch.manual_seed(0)
    model, make, usual, kind = nets.NETWORKS[name]()
    batch = batch or usual
    model, x = model.to(device).train(), make(batch).to(device)
    if x.dim() == 4:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    if pure:
        model = model.to(torch.bfloat16)
        x = x.to(torch.bfloat16) if x.is_floating_point() else x
    target, loss = nets.target_of(kind, x).to(device), nets.loss_of(kind)
    optimizer = nets.optimizer_of(kind, model.parameters())

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=not pure):
            value = loss(model(x), target)
        value.backward()
        optimizer.step()
    return step, batch, kind


def timed(step):
    for _ in range(WARM):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        for _ in range(TIMED):
            step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / TIMED)
    return statistics.median(times), torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()


def profiled(step, path, cuda):
    kinds = torch.profiler.ProfilerActivity
    schedule = torch.profiler.schedule(wait=0, warmup=2, active=PROFILED, repeat=1)
    with torch.profiler.profile(activities=[kinds.CPU] + [kinds.CUDA] * cuda, schedule=schedule, record_shapes=True,
                                profile_memory=True) as profiler:
        for _ in range(2 + PROFILED):
            step()
            profiler.step()
        if cuda:
            torch.cuda.synchronize()
    profiler.export_chrome_trace(path)


def empty_launch_s():
    """The time that the host takes to launch the smallest operator."""
    x = torch.zeros(1, device="cuda")
    times = []
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(500):
            x.add_(1)
        times.append((time.perf_counter() - begin) / 500)
    torch.cuda.synchronize()
    return statistics.median(times)


def snapshot(step, path):
    torch.cuda.synchronize()
    torch.cuda.memory._record_memory_history(enabled="all", context=None)
    step()
    torch.cuda.synchronize()
    torch.cuda.memory._dump_snapshot(path)
    torch.cuda.memory._record_memory_history(enabled=None)


def compressed(path):
    with open(path, "rb") as plain, gzip.open(path + ".gz", "wb", 6) as packed:
        shutil.copyfileobj(plain, packed)
    os.remove(path)


def pack(folder, prefix):
    """Files in the order of their names, in archives that none of them makes larger than PACKED_BYTES."""
    archive, size, count = None, 0, 0
    for path in sorted(glob.glob(os.path.join(folder, "*"))):
        if archive is None or size + os.path.getsize(path) > PACKED_BYTES:
            if archive:
                archive.close()
            count, size = count + 1, 0
            archive = tarfile.open(f"{prefix}-{count}.tar", "w")
        archive.add(path, os.path.basename(path))
        size += os.path.getsize(path)
    archive.close()


def record(folder, name, pure, args):
    device = "cpu" if args.cpu else "cuda"
    step, batch, kind = prepared(name, device, pure, args.batch)
    place = os.path.join(folder, name + ("-bf16" if pure else ""))
    row = {"network": name, "batch": batch, "precision": "bf16" if pure else "amp-bf16",
           "optimizer": "adamw" if kind == "words" else "momentum", "torch": torch.__version__}
    if args.cpu:
        step()
    else:
        row["device"] = torch.cuda.get_device_name()
        row["step_s"], row["peak_allocated"], row["peak_reserved"] = timed(step)
        row["launch_s"] = empty_launch_s()
        snapshot(step, place + ".snapshot.pickle")
    profiled(step, place + ".trace.json", not args.cpu)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("networks", nargs="*", help="default: all")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--pack")
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    torch.backends.cudnn.benchmark = False
    cases = [(name, False) for name in args.networks or nets.NETWORKS]
    cases += [(name, True) for name in ("vit", "gpt2", "bert") if args.bf16]
    with open(os.path.join(args.folder, "steps.jsonl"), "a") as lines:
        for name, pure in cases:
            try:
                row = record(args.folder, name, pure, args)
            except Exception as error:  # one network that fails must not lose the others
                row = {"network": name, "error": repr(error)[:400]}
            print(json.dumps(row), file=lines, flush=True)
            print(json.dumps(row), flush=True)
            if not args.cpu:
                torch.cuda.empty_cache()
    plain = [path for end in ("*.json", "*.pickle") for path in glob.glob(os.path.join(args.folder, end))]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(compressed, plain))
    if args.pack:
        pack(args.folder, args.pack)


if __name__ == "__main__":
    main()
