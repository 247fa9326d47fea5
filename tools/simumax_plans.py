#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""simumax_plans.py - PROGRAM: compare predictions with SimuMax's measured Megatron-LM iterations on eight B200

Figures: github.com/MooreThreads/SimuMax, docs/b200/b200_release_v1.2_summary.md ("real ms", "real alloc GiB"), measured
with Megatron-LM 23e00ed, Transformer Engine 2.11 and PyTorch 2.10. Settings are those of its scripts (run_pretrain_llama3.sh,
run_pretrain_deepseekv2.sh): distributed optimizer, sequence parallelism, nothing recomputed or overlapped, fused loss;
tokens exchanged by all-to-all (--software 2025), experts with a capacity of 1, padded, which is the balanced load that the program
assumes. Context parallelism exchanges
heads (a2a), the program's a ring. Models are cut to a few layers.

Only the rows of Llama 3 70B with 4 micro-batches were known when the Megatron runtime was made (docs/plans.md); all
others are first sight.
"""
import json
import statistics
import subprocess
import sys

DEEPSEEK = "deepseek:layers=4,heads=128,q_rank=1536,kv_rank=512,nope_dim=128,rope_dim=64,v_dim=128,dense_layers=1,seq={seq},"
MODELS = {
    "llama3_70b": "llama:layers=12,hidden=8192,heads=64,kv_heads=8,ffn=28672,seq={seq},vocab=128256",
    "llama3_405b": "llama:layers=4,hidden=16384,heads=128,kv_heads=8,ffn=53248,seq={seq},vocab=128256",
    "deepseekv2": DEEPSEEK + "hidden=5120,ffn=12288,experts=160,top_k=6,expert_ffn=1536,shared_ffn=3072,vocab=102400",
    "deepseekv3": DEEPSEEK + "hidden=7168,ffn=18432,experts=256,top_k=8,expert_ffn=2048,shared_ffn=2048,vocab=129280",
}
# model, tp, cp, pp, ep, tokens, GiB, iteration in ms by number of micro-batches
ROWS = (
    ("llama3_70b", 1, 1, 2, 1, 4096, 66.55, {4: 843.0, 8: 1476.8, 32: 5436.5}),
    ("llama3_70b", 2, 1, 1, 1, 4096, 60.68, {4: 725.5, 8: 1387.0, 32: 5376.5}),
    ("llama3_70b", 4, 1, 1, 1, 4096, 39.07, {4: 409.8, 8: 765.6, 32: 2964.6}),
    ("llama3_70b", 8, 1, 1, 1, 4096, 28.29, {4: 280.9, 8: 556.7, 32: 2073.7}),
    ("llama3_405b", 1, 1, 2, 1, 4096, 87.08, {4: 1074.6, 8: 1935.4, 32: 7046.4}),
    ("llama3_405b", 2, 1, 1, 1, 4096, 81.59, {4: 907.3, 8: 1716.8, 32: 6604.1}),
    ("llama3_405b", 4, 1, 1, 1, 4096, 52.89, {4: 476.0, 8: 899.6, 32: 3455.4}),
    ("llama3_405b", 8, 1, 1, 1, 4096, 38.57, {4: 258.8, 8: 488.1, 32: 1901.8}),
    ("deepseekv2", 1, 1, 1, 8, 4096, 45.63, {4: 366.6, 8: 676.2, 32: 2721.3}),
    ("deepseekv2", 1, 1, 2, 4, 4096, 44.70, {4: 282.1, 8: 492.6, 32: 1727.7}),
    ("deepseekv3", 1, 1, 1, 8, 4096, 104.30, {4: 603.2, 8: 1101.7, 32: 4141.2}),
    ("deepseekv3", 1, 1, 2, 4, 4096, 114.00, {4: 452.2, 8: 771.6, 32: 2718.6}),
    ("llama3_70b", 2, 4, 1, 1, 32768, 68.43, {4: 1758.0}),
    ("llama3_70b", 1, 8, 1, 1, 32768, 104.51, {4: 1768.1}),
    ("llama3_405b", 2, 4, 1, 1, 32768, 87.03, {4: 1984.7}),
    ("llama3_405b", 1, 8, 1, 1, 32768, 139.22, {4: 2003.6}),
    ("llama3_70b", 2, 4, 1, 1, 131072, 112.67, {4: 11315.7}),
    ("llama3_70b", 1, 8, 1, 1, 131072, 147.99, {4: 11301.9}),
    ("llama3_405b", 2, 4, 1, 1, 131072, 118.13, {4: 10577.6}),
)
DEVICES = 8


def asked(program, command, row, count):
    model, tp, cp, pp, ep, seq = row[:6]
    words = [MODELS[model].format(seq=seq), "--device", "nvidia-b200", "-n", str(DEVICES), "--runtime", "megatron",
             "--precision", "bf16", "--zero", "1", "--software", "2025", "--micro-batch", "1", "--accumulate", str(count)]
    for name, size in (("--tp", tp), ("--cp", cp), ("--pp", pp), ("--ep", ep)):
        words += [name, str(size)] if size > 1 else []
    words += ["--sequence-parallel"] if tp > 1 else []
    run = subprocess.run([program, command, *words, "--json"], capture_output=True, text=True, check=False)
    return json.loads(run.stdout) if run.stdout.startswith("{") else {"error": run.stderr.strip()[-200:]}


def summary(name, errors):
    sizes = [abs(e) for e in errors]
    if sizes:
        print(f"{name:34} n {len(sizes):3}  mean {100 * statistics.mean(sizes):5.1f} %  median {100 * statistics.median(sizes):5.1f} %"
              f"  bias {100 * statistics.mean(errors):+6.1f} %")


def main():
    program, times, peaks, inside, large, unseen = sys.argv[1], {}, {}, [], 0, {"time": [], "memory": []}
    print(f"{'model':12} {'plan':16} {'tokens':>7} {'micro':>5} {'ms':>8} {'ours':>8} {'off':>7} {'GiB':>6} {'ours':>6} {'off':>7}")
    for row in ROWS:
        memory = asked(program, "memory", row, 4)
        kind = "experts" if row[4] > 1 else "context" if row[2] > 1 else row[0]
        plan = " ".join(f"{n}{s}" for n, s in zip(("tp", "cp", "pp", "ep"), row[1:5]) if s > 1)
        gib = memory.get("peak_bytes", float("nan")) / 2 ** 30
        peaks.setdefault(kind, []).append(gib / row[6] - 1)
        unseen["memory"] += [gib / row[6] - 1] if row[0] != "llama3_70b" else []
        large += not memory.get("fits", False)
        for count, measured in row[7].items():
            step = asked(program, "predict", row, count)
            if "error" in step:
                print(row[0], plan, step["error"])
                continue
            ours, (low, high) = 1e3 * step["step_time_s"], step["interval_s"]
            inside.append(1e3 * low <= measured <= 1e3 * high)
            times.setdefault(kind, []).append(ours / measured - 1)
            unseen["time"] += [ours / measured - 1] if row[0] != "llama3_70b" or count > 4 else []
            print(f"{row[0]:12} {plan:16} {row[5]:7} {count:5} {measured:8.1f} {ours:8.1f} {100 * (ours / measured - 1):+6.1f}% "
                  f"{row[6]:6.2f} {gib:6.2f} {100 * (gib / row[6] - 1):+6.1f}%")
    for what, groups in (("time", times), ("memory", peaks)):
        for kind, errors in groups.items():
            summary(f"{what}, {kind}", errors)
        summary(f"{what}, first sight", unseen[what])
        summary(f"{what}, all", [e for errors in groups.values() for e in errors])
    print(f"inside the 90 % interval of time: {100 * statistics.mean(inside):.0f} %; called too large: {large} of {len(ROWS)}")


if __name__ == "__main__":
    main()
