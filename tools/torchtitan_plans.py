#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torchtitan_plans.py - PROGRAM: compare predictions with torchtitan's published runs of Llama 3.1 on 8 to 512 H100

Figures: github.com/pytorch/torchtitan, benchmarks/llama3_h100_202412_torchtitan.md, tables 1 to 6 (BSD-3-Clause):
H100 of 500 W with 96 GB of HBM2e, 400 Gb/s per device. Memory is PyTorch's reserved memory in GiB (torchtitan's
metrics log "max_reserved"). Each plan is asked for as its table states it, with FlashAttention 2, which PyTorch of
December 2024 chose; nothing was fitted to these rows. With pipelines, torchtitan divides a local batch into as many
micro-batches as there are stages (torchtitan/parallelisms/pipelining_utils.py at its commit 9dec370,
build_pipeline_schedule()).

The last eight rows are those of benchmarks/asyncTP_llama3_h100_2025-06_torchtitan.md, of June 2025 on the same
devices: only bf16 and fp8 with one scale per tensor, as the file says that its products with a scale per row were
slow. It has no memory.
"""
import json
import subprocess
import sys

FP8, BF16 = "fp8", "amp-bf16"
TP = "--tp 8 --sequence-parallel"
STAGES = TP + " --async-tp --pp 8"
# model, devices, tokens, micro-batch, accumulation, plan, precision, compiled, recomputation, tokens/s per device, GiB
ROWS = (
    ("llama3-8b", 8, 8192, 2, 1, "", BF16, False, "selective", 5762, 82.4),
    ("llama3-8b", 8, 8192, 2, 1, "", BF16, True, "selective", 6667, 77.0),
    ("llama3-8b", 8, 8192, 2, 1, "", FP8, True, "selective", 8532, 76.8),
    ("llama3-8b", 8, 32768, 1, 1, "", FP8, True, "full", 3890, 83.9),
    ("llama3-8b", 8, 65536, 1, 1, "--cp 2", FP8, True, "full", 2540, 84.2),
    ("llama3-8b", 8, 131072, 1, 1, "--cp 4", FP8, True, "full", 1071, 84.0),
    ("llama3-8b", 8, 262144, 1, 1, "--cp 8", FP8, True, "full", 548, 84.5),
    ("llama3-8b", 128, 8192, 2, 1, "", BF16, False, "selective", 5605, 67.0),
    ("llama3-8b", 128, 8192, 2, 1, "", BF16, True, "selective", 6514, 62.0),
    ("llama3-8b", 128, 8192, 2, 1, "", FP8, True, "selective", 8380, 61.8),
    ("llama3-70b", 256, 8192, 16, 1, TP, FP8, True, "full", 829, 71.9),
    ("llama3-70b", 256, 8192, 16, 1, TP + " --async-tp", FP8, True, "full", 876, 67.6),
    ("llama3-405b", 512, 8192, 4, 8, STAGES, FP8, True, "full", 100, 82.5),
    ("llama3-405b", 512, 8192, 4, 8, STAGES + " --interleave 2", FP8, True, "full", 128, 72.7),
    ("llama3-405b", 512, 32768, 1, 8, STAGES, FP8, True, "full", 76, 75.3),
    ("llama3-405b", 512, 65536, 1, 8, STAGES + " --cp 2", FP8, True, "full", 47, 75.9),
    ("llama3-405b", 512, 131072, 1, 8, STAGES + " --cp 4", FP8, True, "full", 31, 77.1),
    ("llama3-405b", 512, 262144, 1, 8, STAGES + " --cp 8", FP8, True, "full", 16, 84.9),
    ("llama3-70b", 256, 8192, 16, 1, TP, BF16, True, "full", 597.3, None),
    ("llama3-70b", 256, 8192, 16, 1, TP + " --async-tp", BF16, True, "full", 652.4, None),
    ("llama3-70b", 256, 8192, 16, 1, TP, FP8, True, "full", 809.8, None),
    ("llama3-70b", 256, 8192, 16, 1, TP + " --async-tp", FP8, True, "full", 942.4, None),
    ("llama3-8b", 64, 8192, 12, 1, TP, BF16, True, "selective", 4378, None),
    ("llama3-8b", 64, 8192, 12, 1, TP + " --async-tp", BF16, True, "selective", 4809.4, None),
    ("llama3-8b", 64, 8192, 12, 1, TP, FP8, True, "selective", 5078.1, None),
    ("llama3-8b", 64, 8192, 12, 1, TP + " --async-tp", FP8, True, "selective", 5570.1, None),
)


def asked(program, command, row):
    model, devices, seq, micro, passes, plan, precision, compiled, recompute = row[:9]
    zero = "2" if "--pp" in plan else "3" # with pipelines torchtitan does not reshard weights after forward
    words = [model, "--device", "nvidia-h100-96g", "-n", str(devices), "--seq", str(seq), "--zero", zero, "--micro-batch",
             str(micro), "--accumulate", str(passes), "--precision", precision, "--recompute", recompute, "--runtime",
             "torch-compile" if compiled else "torch-eager", "--attention", "flash", *plan.split()]
    if command == "memory": # which has no options of links
        words = [w for w in words if w != "--async-tp"]
    else:
        words += ["--cluster", "node=8,net=3200Gb"] if devices > 8 else []
    run = subprocess.run([program, command, *words, "--json"], capture_output=True, text=True, check=False)
    return json.loads(run.stdout) if run.stdout.startswith("{") else {"error": run.stderr.strip()[-150:]}


def main():
    program = sys.argv[1]
    print(f"{'model':12} {'H100':>4} {'tokens':>7} {'type':8} {'plan':52} {'tokens/s':>8} {'ours':>7} {'off':>7} {'inside':>6} "
          f"{'GiB':>5} {'ours':>6} {'off':>7}")
    offs = {"FSDP alone": [], "FSDP and context parallelism": [], "tensor parallelism and stages": []}
    for row in ROWS:
        step, memory = asked(program, "predict", row), asked(program, "memory", row)
        if "error" in step or "error" in memory:
            print(*row[:3], row[5], step.get("error") or memory.get("error"))
            continue
        speed = step["throughput_samples_s"] * row[2] / row[1]
        low, high = (step["step_time_s"] / t for t in reversed(step["interval_s"]))
        size = memory["reserved_bytes"] / 2 ** 30
        kind = ("compiled " if row[7] else "eager ") + row[5].replace("--sequence-parallel", "sp")
        known = f"{row[10]:5} {size:6.1f} {100 * (size / row[10] - 1):+6.1f}%" if row[10] else ""
        print(f"{row[0]:12} {row[1]:4} {row[2]:7} {row[6]:8} {kind:52} {row[9]:8.0f} {speed:7.0f} "
              f"{100 * (speed / row[9] - 1):+6.1f}% {'yes' if low <= row[9] / speed <= high else 'no':>6} {known}")
        if row[10]:
            family = "tensor parallelism and stages" if "--tp" in row[5] else "FSDP and context parallelism" if row[5] else "FSDP alone"
            offs[family].append(size / row[10] - 1)
    for family, found in offs.items():
        print(f"memory, {family:30} n {len(found):3}  mean {100 * sum(map(abs, found)) / len(found):5.1f} %")


if __name__ == "__main__":
    main()
