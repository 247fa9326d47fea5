#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""snapshot_shape.py - PROGRAM MODEL TIMM_MODEL [BATCH]: a predicted memory snapshot beside the allocations of a real step.

The real step is one of timm's model in fp32 with SGD and momentum on the processor, the second after the start;
torch.profiler records its allocations. The predicted one is of the same model in fp32 on an H200. Processors have other
workspaces than GPUs, but autograd keeps and releases the same tensors. Printed are megabytes above the level at which the
forward pass begins: the highest, and those that stay; and the level by bytes allocated so far, in parts of the highest.
"""
import json
import pathlib
import pickle
import subprocess
import sys
import tempfile

POINTS = 10


def real_changes(name, batch, folder):
    import timm
    import torch
    model, x, y = timm.create_model(name), torch.randn(batch, 3, 224, 224), torch.zeros(batch, dtype=torch.long)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        step()
    profile.export_chrome_trace(str(folder / "real.json"))
    events = [e for e in json.loads((folder / "real.json").read_text())["traceEvents"] if e.get("name") == "[memory]"]
    return [e["args"]["Bytes"] for e in sorted(events, key=lambda e: e["ts"])]


def predicted_changes(program, name, batch, folder):
    file = folder / "predicted.pickle"
    subprocess.run([program, "predict", name, "--device", "nvidia-h200", "--precision", "fp32", "--batch", str(batch),
                    "--snapshot", str(file)], check=True, capture_output=True)
    events = pickle.loads(file.read_bytes())["device_traces"][0]
    signs = {"alloc": 1, "free_completed": -1}
    return [signs[e["action"]] * e["size"] for e in events if e["action"] in signs and e["time_us"] > 0]


def print_curve(label, changes):
    levels, allocated, now, so_far = [], [], 0, 0
    for change in changes:
        now, so_far = now + change, so_far + max(0, change)
        levels.append(now)
        allocated.append(so_far)
    begin = min(0, min(levels))  # the real step first releases the gradients of the one before
    highest = max(levels) - begin
    at = [next(i for i, a in enumerate(allocated) if a >= part * so_far / POINTS) for part in range(POINTS + 1)]
    print(f"{label:9} {highest / 1e6:7.1f} {(levels[-1] - begin) / 1e6:7.1f}  ",
          " ".join(f"{(levels[i] - begin) / highest:4.2f}" for i in at))


def main():
    program, name, timm_name = sys.argv[1:4]
    batch = int(sys.argv[4]) if len(sys.argv) > 4 else 4
    with tempfile.TemporaryDirectory() as folder:
        print("          highest   stays")
        print_curve("real", real_changes(timm_name, batch, pathlib.Path(folder)))
        print_curve("predicted", predicted_changes(program, name, batch, pathlib.Path(folder)))


main()
