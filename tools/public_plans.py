#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""public_plans.py - score predictions on public runs of language models over many devices

    tools/public_plans.py build/centimani e2e_training.csv.gz [e2e_training_2.csv.gz] [-o ROWS.csv] [--mfu] [--source NAME]

Prints the error of the throughput per source, model and device. Each run is asked for with what its source tells about it:
its plan, its device, and the year of its software where attention has changed since. What a source does not tell is the same
for all of its rows: no recomputation unless a recipe of the source names it, and the optimizer states of Megatron-LM divided among replicas. All of these runs ran, so
the last lines, how many are called too large and what the command fits answers, count errors. --mfu prints the fractions of the
peak for Llama 3 8B and 70B on H100 instead.
"""
import argparse
import csv
import gzip
import json
import re
import statistics
import subprocess

MPT = {"125m": (12, 768, 12), "350m": (24, 1024, 16), "760m": (24, 1536, 12), "1b": (24, 2048, 16), "3b": (32, 2560, 20),
       "7b": (32, 4096, 32), "13b": (40, 5120, 40), "30b": (48, 7168, 56), "70b": (64, 8192, 64)}
# products have biases: no_bias = False in llmfoundry/models/mpt/configuration_mpt.py, and the benchmark's files do not change it
MPT_REST = "activation=gelu,dropout=0,embed_dropout=0,attention_dropout=0"
# conf/training/nemotron in NeMo-Framework-Launcher 24.07: share_embeddings_and_output_weights = false, bias = false
NEMOTRON = "gpt:layers=%d,hidden=%d,heads=%d,kv_heads=%d,ffn=%d,vocab=256000,activation=relu,dropout=0,embed_dropout=0," \
           "attention_dropout=0,qkv_bias=0,out_bias=0,mlp_bias=0,tied=0"
MODELS = {
    "LLAMA2-7B": "llama2-7b", "LLAMA2-13B": "llama2-13b", "LLAMA2-70B": "llama2-70b", "LLAMA3-8B": "llama3-8b",
    "LLAMA3_8B": "llama3-8b", "LLAMA3-70B": "llama3-70b", "LLAMA3_70B": "llama3-70b", "LLAMA3.1_405B": "llama3-405b",
    "Llama 3.1 8B": "llama3-8b", "GPT3-175B": "gpt3-175b",
    "GPT3-5B": "gpt:layers=24,hidden=4096,heads=32,vocab=51200", "GPT3-20B": "gpt:layers=44,hidden=6144,heads=48,vocab=51200",
    "Nemotron-8B": NEMOTRON % (32, 4096, 32, 32, 16384), "Nemotron-22B": NEMOTRON % (40, 6144, 48, 48, 24576),
    "Nemotron-340B": NEMOTRON % (96, 18432, 96, 8, 73728),
    "Qwen3_30B_a3B": "qwen3-30b-a3b", "Qwen3_235B_a22B": "qwen3-235b-a22b", "GPT OSS 120B": "gpt-oss-120b",
    "DeepSeekV3": "deepseek-v3", "Mixtral-8x7B": "mixtral-8x7b",
}
DEVICES = {"A100-SXM4-80GB": "nvidia-a100-80g", "A100-SXM4-40GB": "nvidia-a100-40g", "H100-SXM-80GB": "nvidia-h100",
           "H100-SXM-96GB-HBM2e-500W": "nvidia-h100-96g", "B200-SXM-180GB": "nvidia-b200", "B300-SXM": "nvidia-b300",
           "GB200": "nvidia-gb200", "GB300": "nvidia-gb300"}
# What Megatron-Bridge's recipes set and its tables do not print: scripts/performance/configs at the tag of each release (v0.2.0
# is 25.11, v0.3.0 and .1 26.02, v0.4.0 and .1 26.04, v0.5.0 and .1 26.06). The last release whose recipe names no
# moe_flex_dispatcher_backend, so that Megatron Core's all-to-all exchanges tokens, which is the program's `--software 2025`:
ALL_TO_ALL = {("GPT OSS 120B", "H100"): "26.04.01", ("GPT OSS 120B", "B200"): "26.02.01", ("GPT OSS 120B", "B300"): "26.02.01",
              ("GPT OSS 120B", "GB200"): "26.02.01", ("GPT OSS 120B", "GB300"): "26.04.01", ("Qwen3_30B_a3B", "B200"): "26.02",
              ("Qwen3_30B_a3B", "H100"): "25.11", ("Qwen3_235B_a22B", "H100"): "26.04.01", ("Qwen3_235B_a22B", "B200"): "26.04.01",
              ("Qwen3_235B_a22B", "B300"): "26.04.01"}
# First and last release with moe_a2a_overlap (recipes of 26.08 are written otherwise and taken to be those of 26.06):
BEHIND = {("DeepSeekV3", "GB200"): ("26.06", ""), ("DeepSeekV3", "GB300"): ("26.06", ""), ("GPT OSS 120B", "GB200"): ("26.04", ""),
          ("GPT OSS 120B", "GB300"): ("26.06", ""), ("Qwen3_30B_a3B", "GB200"): ("26.06", ""), ("Qwen3_30B_a3B", "GB300"): ("26.06", ""),
          ("Qwen3_30B_a3B", "B300"): ("26.06", ""), ("Qwen3_30B_a3B", "H100"): ("25.11", "26.02"),
          ("Qwen3_235B_a22B", "GB200"): ("26.06", ""), ("Qwen3_235B_a22B", "GB300"): ("26.06", ""),
          ("Qwen3_235B_a22B", "H100"): ("25.11", "26.04.01"), ("Qwen3_235B_a22B", "B300"): ("26.02", "26.02"),
          ("Qwen3_235B_a22B", "B200"): ("25.11", "25.11")}
# recompute_modules of the recipes: first and last release, modules. The module mlp, which is that of dense layers, is left out.
LATENT, NARROW = "mla_up_proj", "layernorm+moe_act"
RECOMPUTED = {("DeepSeekV3", "B200"): ("", "99", LATENT), ("DeepSeekV3", "B300"): ("", "99", LATENT),
              ("DeepSeekV3", "GB200"): ("", "26.02.01", LATENT), ("DeepSeekV3", "GB300"): ("", "26.04.01", LATENT),
              ("DeepSeekV3", "GB200", "later"): ("26.06", "99", LATENT), ("GPT OSS 120B", "B200"): ("", "99", NARROW),
              ("GPT OSS 120B", "H100"): ("", "99", NARROW), ("GPT OSS 120B", "GB200"): ("", "26.04.01", NARROW)}
# cpu_offloading_num_layers of the recipes with FSDP, the same in all releases (llama3_workload_base_configs.py):
OFFLOADED = {("LLAMA3_70B", "GB200"): 40, ("LLAMA3_70B", "GB300"): 20}
# First release with expandable_segments in the environment of fp8 runs (perf_plugins.py); since 26.06 all runs have it but those
# with nccl_ub, which is FSDP of Llama 3 70B (utils/executors.py):
EXPANDABLE = {("LLAMA3.1_405B", "GB200"): "", ("LLAMA3.1_405B", "GB300"): "26.04", ("DeepSeekV3", "H100"): "26.02",
              ("DeepSeekV3", "GB200"): "26.04"}
# A row whose printed plan is not that of its release's recipe: the table of 26.02.01 prints micro-batches of 2 and no interleaving for
# Llama 3 70B in MXFP8 on GB300, as it does for FP8 and NVFP4 there. The recipe (LLAMA3_70B_PRETRAIN_CONFIG_GB300_FP8_MX_V2 in
# llama3_workload_base_configs.py) has 1 and 5 at v0.3.0, v0.3.1 and v0.4.0, as the tables of 26.02 and 26.04 print.
# GPT OSS 120B on H100 in 25.11 is printed with 4 stages, micro-batches of 4 and 2 accumulations, as many as without stages: these
# are the numbers of the row on B200. The recipe (GPT_OSS_120B_H100_BF16_BASE_CONFIG in gpt_oss/workload_base_configs.py at v0.2.0) has 1.
MISPRINTED = {("LLAMA3_70B", "GB300", "MXFP8", "26.02.01"): {"MBS": "1", "VP": "5"},
              ("GPT OSS 120B", "H100-SXM-80GB", "BF16", "25.11"): {"MBS": "1"}}
# NeMo-Framework-Launcher 24.07 trains GPT-3 and Llama in fp8 with examples/training/{gpt,llama}/h100/*_fp8*.sh, which have the nodes and
# global batches of the guide's table and all set grad_sync_dtype=bf16. Those of Nemotron 8B and 22B do not, nemotron_340b.yaml does.
WIDE_GRADIENTS = {"Nemotron-8B", "Nemotron-22B"}
TIMING = {"--overlap": 1, "--async-tp": 1, "--async-ep": 1, "--cluster": 2} # options of time alone, and their words
NETWORK = {"nvidia-a100-40g": "node=8,net=1600Gb", "nvidia-a100-80g": "node=8,net=1600Gb"}


def release_of(row):
    found = re.search(r"(?:^|; )container=(\S*)", row["notes"])
    return found.group(1) if found else ""


def noted(row, key, default=None):
    recipe = MISPRINTED.get((row["model"], row["device"], row["precision"], release_of(row)), {})
    if key in recipe:
        return recipe[key]
    found = re.search(r"(?:^|; )" + key + r"=([^;]*)", row["notes"])
    value = found.group(1).strip() if found else None
    return default if value in (None, "n/a", "") else value


def counted(row, key, default=1):
    return int(noted(row, key, default))


def foundry(row):
    """Composer's FSDP. Attention is Triton's of 2023, and the loss is one fused kernel (llm-foundry, mpt configuration)."""
    layers, hidden, heads = MPT[row["model"][4:]]
    full = noted(row, "act_ckpt") == "True"
    return [f"gpt:layers={layers},hidden={hidden},heads={heads},vocab=50368,{MPT_REST}", "--zero", "3", "--software", "2023",
            "--micro-batch", noted(row, "microbatch"), "--global-batch", noted(row, "global_batch"), "--loss-kernel", "fused",
            "--train-metrics", "2",
            "--recompute", "full" if full else "none", "--precision", "amp-bf16", "--runtime", "torch-eager"]


def titan(row):
    each, compiled = int(row["batch_per_device"]), "compile" in row["notes"]
    return [MODELS[row["model"]], "--zero", "3", "--micro-batch", str(each), "--global-batch", str(each * int(row["n_devices"])),
            "--recompute", "selective", "--precision", "fp8" if "fp8" in row["precision"] else "amp-bf16", "--runtime",
            "torch-compile" if compiled else "torch-eager"]


def megatron(row):
    """Plans as the tables print them. An FSDP column above 1 is Megatron's FSDP (ZeRO 3)."""
    tp, cp, pp, ep = (counted(row, k) for k in ("TP", "CP", "PP", "EP"))
    words = [MODELS[row["model"]], "--tp", str(tp), "--cp", str(cp), "--pp", str(pp), "--micro-batch", noted(row, "MBS"),
             "--global-batch", noted(row, "GBS"), "--zero", "3" if counted(row, "FSDP") > 1 else "1", "--overlap",
             "--precision", "bf16" if row["precision"] == "BF16" else "fp8", "--runtime", "megatron"]
    words += ["--sequence-parallel", "--async-tp"] if tp > 1 else [] # assumed of both sources: tensor-parallel exchanges overlap
    words += ["--interleave", noted(row, "VP")] if pp > 1 and counted(row, "VP") > 1 else []
    words += ["--ep", str(ep)] if ep > 1 else []
    if row["source"] == "Megatron-Bridge":
        return words + bridge(row)
    # nemotron_340b.yaml: distributed_fused_adam with dtype: bf16, for which NeMo's megatron_base_model.py stores no master weights
    words += ["--moments", "weights"] if row["model"] == "Nemotron-340B" else []
    return words + ([] if row["model"] in WIDE_GRADIENTS else ["--grad-reduce-in-bf16"])


def bridge(row):
    """What only its recipes tell. The rows of Llama 3 70B in release 26.06 stand under "SFT Performance" (32 devices) and "LoRA
    Performance" (8; adapters of linear_qkv alone: llama3_llm_finetune.py), not under pre-training."""
    release, key = noted(row, "container").split()[0], (row["model"], row["device"].split("-")[0])
    words = ["--grad-reduce-in-bf16"] # src/megatron/bridge/perf_recipes/_common.py: grad_reduce_in_fp32 = False
    words += ["--moments", "bf16"] if row["model"] == "DeepSeekV3" else [] # use_precision_aware_optimizer of its recipe
    words += ["--software", "2025"] if release <= ALL_TO_ALL.get(key, "") else []
    for begins, ends, modules in (RECOMPUTED[k] for k in (key, (*key, "later")) if k in RECOMPUTED):
        words += ["--recompute", modules] if begins <= release <= ends else []
    first, last = BEHIND.get(key, ("none", ""))
    words += ["--async-ep"] if first <= release and (not last or release <= last) else []
    adapters = row["model"] == "LLAMA3_70B" and release == "26.06" and row["n_devices"] == "8"
    return words + (["--lora", "r=16,alpha=32,targets=qkv"] if adapters else [])


def stored(row):
    """What a source's recipes tell of memory alone. All fp8 recipes of Megatron-Bridge have fp8_param_gather
    (training/mixed_precision.py); adapters leave the weights as they are. Times are asked for without offloading: the
    program's share of the link to the host is that of copies from pageable memory, and these copies are pinned."""
    if row["source"] != "Megatron-Bridge":
        return []
    key, sharded, eight = (row["model"], row["device"].split("-")[0]), counted(row, "FSDP") > 1, row["precision"] != "BF16"
    layers = OFFLOADED.get(key) if sharded else None
    first = EXPANDABLE.get(key, "26.06") if eight or key[0] == "DeepSeekV3" else "26.06"
    words = ["--fp8-param-gather"] if eight and "--lora" not in bridge(row) else []
    words += ["--expandable-segments"] if noted(row, "container").split()[0] >= first and not sharded else []
    return words + (["--offload", f"activations:{layers}"] if layers else [])


def asked_of_memory(words):
    kept, skip = [], 0
    for word in words:
        skip = TIMING.get(word, skip)
        kept += [] if skip else [word]
        skip = max(0, skip - 1)
    return kept


def fitting(program, row, words):
    """The answer to whether the run fits, and its probability."""
    run = subprocess.run([program, "fits", *asked_of_memory(words), *stored(row), "--json"], capture_output=True, text=True,
                         check=False)
    said = json.loads(run.stdout) if run.stdout.startswith("{") else {}
    return {"fits": said.get("fits", False), "answer": said.get("answer", "refused"), "chance": said.get("probability", 0),
            "need_gib": said.get("reserved_bytes", 0) / 2 ** 30}


SOURCES = {"mosaicml/llm-foundry": foundry, "pytorch/torchtitan": titan, "NeMo-docs": megatron, "Megatron-Bridge": megatron}


def words_of(row):
    """The command's options for a row; None: it is not used."""
    if row["source"] not in SOURCES or row["metric"] != "tokens_per_s_per_device" or row["device"] not in DEVICES:
        return None
    by_plan = SOURCES[row["source"]] is megatron
    if by_plan and (row["model"] not in MODELS or row["precision"] not in ("FP8", "FP8-CS", "MXFP8", "FP8-MX", "BF16") or
                   not noted(row, "GBS") or "finetune" in row["notes"]):
        return None
    device, devices = DEVICES[row["device"]], int(row["n_devices"])
    words = SOURCES[row["source"]](row) + ["--seq", row["seq_len"], "--device", device, "-n", str(devices)]
    inside = 72 if device in ("nvidia-gb200", "nvidia-gb300") else 8
    return words + (["--cluster", NETWORK.get(device, f"node={inside},net={400 * inside}Gb")] if devices > inside else [])


def scored(program, row):
    words = words_of(row)
    if words is None:
        return None
    run = subprocess.run([program, "predict", *words, "--json"], capture_output=True, text=True, check=False)
    out = {k: row[k] for k in ("source", "device", "model", "n_devices", "seq_len", "precision")}
    out.update(plan=row["notes"][:110], command=" ".join(words))
    if not run.stdout.startswith("{"):
        return dict(out, failed=run.stderr.strip()[-160:])
    said, measured = json.loads(run.stdout), float(row["value"])
    speed = said["throughput_samples_s"] * int(row["seq_len"]) / int(row["n_devices"])
    low, high = (said["step_time_s"] / t for t in reversed(said["interval_s"]))
    return dict(out, measured=measured, predicted=speed, error=speed / measured - 1, mfu=said.get("mfu"),
                inside=low <= measured / speed <= high, **fitting(program, row, words))


def line(name, rows):
    errors = [r["error"] for r in rows]
    inside = 100 * sum(r["inside"] for r in rows) / len(rows)
    print(f"{name:52} {len(rows):4} {100 * statistics.mean(map(abs, errors)):7.1f} {100 * statistics.median(map(abs, errors)):7.1f} "
          f"{100 * statistics.mean(errors):+7.1f} {inside:6.0f}")


def tables(rows):
    print(f"{'speed, predicted / measured - 1, in per cent':52} {'rows':>4} {'mean':>7} {'median':>7} {'bias':>7} {'inside':>6}")
    for keys in (("source",), ("source", "model"), ("source", "device")):
        for name in sorted({tuple(r[k] for k in keys) for r in rows}):
            line(" ".join(name), [r for r in rows if tuple(r[k] for k in keys) == name])
        print()
    line("all", rows)
    print()
    for source in sorted({r["source"] for r in rows}):
        here = [r for r in rows if r["source"] == source]
        answers = ", ".join(f"{sum(r['answer'] == a for r in here)} {a}" for a in ("yes", "unsure", "no"))
        print(f"{source + ': runs called too large':52} {sum(not r['fits'] for r in here):4} of {len(here)}; fits? {answers}")


def mfu_table(rows):
    """Fractions of the peak that source and prediction give, both from the same tokens per second."""
    print("| source | model | H100 | tokens | type | plan | measured MFU | predicted MFU | off by |\n|---|---|---:|---:|---|---|---:|---:|---:|")
    for r in rows:
        if "8B" in r["model"].upper() or "70B" in r["model"].upper():
            if r["device"].startswith("H100") and "3" in r["model"] and r["mfu"]:
                print(f"| {r['source']} | {r['model']} | {r['n_devices']} | {r['seq_len']} | {r['precision']} | {r['plan'][:70]} | "
                      f"{100 * r['mfu'] * r['measured'] / r['predicted']:.1f} % | {100 * r['mfu']:.1f} % | {100 * r['error']:+.1f} % |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("files", nargs="+")
    parser.add_argument("-o", dest="out")
    parser.add_argument("--mfu", action="store_true")
    parser.add_argument("--source", default="")
    args = parser.parse_args()
    rows = [r for name in args.files for r in csv.DictReader(gzip.open(name, "rt")) if args.source in r["source"]]
    found = [r for r in (scored(args.program, row) for row in rows) if r]
    failed = [r for r in found if "failed" in r]
    found = [r for r in found if "failed" not in r]
    mfu_table(found) if args.mfu else tables(found)
    for r in failed:
        print("refused:", r["source"], r["model"], r["plan"], r["failed"])
    if args.out and found:
        with open(args.out, "w", newline="") as file:
            writer = csv.DictWriter(file, list(found[0]))
            writer.writeheader()
            writer.writerows(found)


if __name__ == "__main__":
    main()
