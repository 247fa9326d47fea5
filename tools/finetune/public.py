#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""public.py - score predictions on public fine-tuning runs: public.py build/centimani finetune.csv.gz [-o ROWS.csv]

Prints, per source and per model family, the mean error of the step time and of the memory, and how often the answer
"fits" is right: a run out of memory that is called so counts for recall, a run that finished and is called too large
against precision. No time or memory of the program was fitted to these rows, but some options of the mapping below were
chosen after looking at their readings (docs/results/fine-tuning.md), so only the first figures there are first sight.

Used are rows whose length in tokens is known. Not used: adapters other than LoRA, networks that are no transformer of
tokens (FLUX), hybrids with state-space layers, and lengths that vary without their mean (times of ms-swift, litgpt, peft).
"""
import argparse
import csv
import gzip
import json
import math
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor

# Sizes from the models' public config.json files.
MISTRAL = "mistral:layers=32,hidden=4096,heads=32,kv_heads=8,ffn=14336,vocab=32000"
MIXTRAL = "mixtral:layers=32,hidden=4096,heads=32,kv_heads=8,ffn=14336,vocab=32000,experts=8,top_k=2"
QWEN = "qwen:layers={layers},hidden={hidden},heads={heads},ffn={ffn},vocab={vocab}" # the first Qwen: one product for q, k and v
MODELS = {
    "mistralai/Mistral-7B-v0.1": MISTRAL, "TheBloke/Mistral-7B-v0.1-GPTQ": MISTRAL,
    "mistralai/Mixtral-8x7B-Instruct-v0.1": MIXTRAL, "TheBloke/Mixtral-8x7B-Instruct-v0.1-GPTQ": MIXTRAL,
    "ibm/PowerLM-3b": "llama:layers=40,hidden=2304,heads=36,ffn=9216,vocab=49152,tied=1",
    "bigcode/gpt_bigcode-santacoder": "gpt:layers=24,hidden=2048,heads=16,kv_heads=1,ffn=8192,vocab=49280,positions=2048",
    "ibm-granite/granite-3.0-3b-a800m-instruct":
        "mixtral:layers=32,hidden=1536,heads=24,kv_heads=8,ffn=512,vocab=49155,tied=1,experts=40,top_k=8",
    "Llama-2-7b-hf": "llama:layers=32,hidden=4096,heads=32,ffn=11008,vocab=32000",
    "meta-llama/Llama-3.2-3B": "llama:layers=28,hidden=3072,heads=24,kv_heads=8,ffn=8192,vocab=128256,tied=1",
    "phi-1_5": "neox:layers=24,hidden=2048,heads=32,ffn=8192,vocab=51200,rotary=0.5",
    "chatglm3-6b": "qwen2:layers=28,hidden=4096,heads=32,kv_heads=2,ffn=13696,vocab=65024",
    "yi-34b-chat": "llama:layers=60,hidden=7168,heads=56,kv_heads=8,ffn=20480,vocab=64000",
    "qwen-1_8b-chat": QWEN.format(layers=24, hidden=2048, heads=16, ffn=5504, vocab=151936),
    "qwen-7b-chat": QWEN.format(layers=32, hidden=4096, heads=32, ffn=11008, vocab=151936),
    "qwen-14b-chat": QWEN.format(layers=40, hidden=5120, heads=40, ffn=13696, vocab=152064),
    "Qwen-14B": QWEN.format(layers=40, hidden=5120, heads=40, ffn=13696, vocab=152064),
    "qwen-72b-chat": QWEN.format(layers=80, hidden=8192, heads=64, ffn=24576, vocab=152064),
}
DEVICES = {"A100-80GB": "nvidia-a100-80g", "A100-SXM4-80GB": "nvidia-a100-80g", "A100-SXM4-40GB": "nvidia-a100-40g",
           "L40S": "nvidia-l40s"}
# fms-acceleration loads with bnb_4bit_use_double_quant=True (framework_plugin_bnb.py)
QUANTIZED = {"none": None, "nf4": "nf4", "nf4-dq": "nf4-dq", "gptq-int4": "gptq4", "bnb-int4": "nf4", "gptq-int8": "int8"}
METHODS = ("full", "lora", "qlora", "gptq_lora")


def targets_of(row):
    words = row["target_modules"].split()
    if not words or set(words) <= {"q_proj", "k_proj", "v_proj", "c_attn", "query_key_value", "q", "v"}:
        return "q_proj+v_proj+q+v" if set(words) == {"q_proj", "v_proj"} else "qkv"
    return "attention" if set(words) <= {"q_proj", "k_proj", "v_proj", "o_proj", "c_attn"} else "all-linear"


def precision_of(row):
    """Under FSDP with autocast, accelerate stores trained weights in fp32 (its readings are twice those without).
    Qwen's script runs 4-bit fine-tuning under DeepSpeed (finetune_qlora_single_gpu.sh), which does not use autocast."""
    kind, sharded, tuned = row["precision"], int(row["n_devices"]) > 1, row["method"] != "full"
    if row["source"].endswith("/Qwen") and row["method"] == "qlora":
        return "fp16"
    low = "fp16" if "fp16" in kind else "bf16"
    trainer = tuned and row["source"].endswith(("Qwen", "ms-swift")) # bf16=True: autocast around 16-bit weights
    return f"amp-{low}" if "4-bit" in kind or "int4" in kind or trainer or ((sharded or tuned) and "autocast" in kind) else low


def adapter_of(row):
    """PEFT makes adapters fp32 unless told otherwise (autocast_adapter_dtype) and casts their inputs to fp32, under autocast
    too; fused adapters have no such casts. prepare_model_for_kbit_training(), which trl's trainer calls for the plain script on one device, makes what is not
    quantised fp32 (fms-acceleration's own preparation and trl's sharded one do not)."""
    fused = "fused lora" in row["kernels"]
    # PEFT before 0.12 makes adapters in the type of the weights; DeepSpeed trains fp32 copies of them (Qwen, 4 bits)
    old = row["source"].endswith(("litgpt", "/Qwen", "ms-swift")) and precision_of(row) != "fp16"
    amp = precision_of(row).startswith("amp")
    wide = ",dtype=fp32" if not old and not (fused and amp) else "" if amp else ",dtype=weights"
    prepared = "baseline-peft-bnb" in row["notes"] and int(row["n_devices"]) == 1
    # fused adapters are exempt from FSDP's wrapping policy, which makes each trained module a unit (peft.utils.other)
    joined = ",fsdp=exempt" if fused else ""
    saved = ",save=wte+lm_head" if "wte" in row["target_modules"] else "" # finetune.py: modules_to_save
    return wide + (",rest=fp32" if prepared else "") + joined + saved


# Spread of the samples' lengths over their mean in the data of fms-acceleration. Its padded batches of 2, 4 and 8 have
# 1.27, 1.55 and 1.84 times the tokens of its unpadded ones, which are the expected maxima of as many lengths.
SPREAD = 0.53
MAXIMUM = {1: 0, 2: 0.56, 4: 1.03, 8: 1.42} # of as many standard normal numbers


# Tokens of the samples of ms-swift's data set (cls-fudan-news-zh in its list of data sets): mean and deviation.
SWIFT = (3234.4, 2547.5)


def mean_below(limit, mean, deviation, parts=1000):
    """Mean of a gamma distribution that is cut off at the limit: longer samples are deleted (truncation_strategy)."""
    shape = (mean / deviation) ** 2
    points = [(i + 0.5) * limit / parts for i in range(parts)]
    weights = [x ** (shape - 1) * math.exp(-x * shape / mean) for x in points]
    return sum(x * w for x, w in zip(points, weights)) / sum(weights)


def varied_of(row):
    """The samples of ms-swift have every length up to the limit."""
    if not row["source"].endswith("ms-swift"):
        return []
    return ["--tokens-per-sample", f"{mean_below(int(row['seq_len']), *SWIFT):.0f}"]


def length_of(row):
    """Tokens of a sample as the network sees it; None: unknown. Devices wait for the one with the most tokens, unless
    samples were dealt out by length (multipack)."""
    if row["packing"] in ("padded", "padding_free", "padding_free+multipack") and row["mean_tokens_per_sample"]:
        uneven = MAXIMUM[int(row["n_devices"])] * SPREAD / int(row["batch_per_device"]) ** 0.5
        return round(float(row["mean_tokens_per_sample"]) * (1 + (uneven if row["packing"] == "padding_free" else 0)))
    return int(row["seq_len"]) if row["seq_len"] else None


# Releases of transformers by file of results (its requirements*.txt). Up to 4.45 a model replaces its logits by an fp32
# copy; since 4.46 the loss makes that copy beside them (loss/loss_utils.py).
LOGITS = {"a100_80gb.csv": "both", "a100_80gb_moe.csv": "both"}


def logits_of(row):
    """GPT-BigCode's and Qwen's own code compute the loss from the logits as they are."""
    if "bigcode" in row["model"] or (row["source"].endswith("/Qwen") and row["method"] == "qlora"):
        return ["--logits", "own"]
    if not row["source"].endswith("fms-acceleration"):
        return []
    return ["--logits", LOGITS.get(row["url_or_repo_path"].split("/")[-1], "fp32")]


def cache_of(row):
    """GPT-BigCode's code returns keys and values while it trains, also with checkpoints (presents in
    models/gpt_bigcode/modeling_gpt_bigcode.py); that of the other models turns use_cache off then."""
    return ["--use-cache"] if "bigcode" in row["model"] else []


def loss_of(row):
    """The Triton loss is one kernel that reads the copy of the logits; Liger's has no logits."""
    if "liger" in row["kernels"]:
        return ["--loss-kernel", "chunked"]
    return (["--loss-kernel", "fused"] if "triton loss" in row["kernels"] else []) + logits_of(row)


def software_of(row):
    """bitsandbytes 0.41 (litgpt's tables of 2023, ms-swift's benchmark) saves the inputs of 4-bit products. Qwen's script and
    ms-swift train GPTQ weights without fused kernels (disable_exllama), so AutoGPTQ unpacks by operators of PyTorch."""
    old = row["source"].endswith(("litgpt", "ms-swift")) and row["method"] == "qlora"
    operators = row["source"].endswith(("/Qwen", "ms-swift")) and row["base_quant"] == "gptq-int4"
    return ["--software", "2023"] if old or operators else []


def reentrant_of(row):
    """Hugging Face's trainer, which all sources but litgpt use, checkpoints with use_reentrant=True unless told otherwise."""
    return ["--reentrant"] if row["grad_ckpt"] == "1" and not row["source"].endswith("litgpt") else []


def trainer_of(row):
    """Hugging Face's trainer clips gradients unless told otherwise (max_grad_norm); litgpt's script does not. fms-acceleration's
    benchmark.py sets skip_memory_metrics=False for the rows that have a peak of allocated memory: transformers then reads the
    process' memory in a thread that never sleeps (trainer_utils.py, peak_monitor_func())."""
    tracked = row["source"].endswith("fms-acceleration") and row["mem_peak_alloc_GiB"]
    return ([] if row["source"].endswith("litgpt") else ["--clip-gradients"]) + (["--busy-thread"] if tracked else [])


def attention_of(row):
    """ChatGLM3's own code passes a mask to PyTorch's attention and knows no FlashAttention, whatever the option says."""
    return ["--attention", "math"] if row["attention"] == "eager" or "chatglm3" in row["model"] else []


def loading_of(row, memory):
    """litgpt's peaks over two devices are those of loading: load_checkpoint() gathers the whole model beside the shards
    (litgpt/utils.py, Fabric's load_raw()), so the reading is the same for 1 and 2 samples."""
    sharded = row["source"].endswith("litgpt") and int(row["n_devices"]) > 1
    return (int(row["n_devices"]) + 1) * memory["categories"]["weights_biases"] if sharded else 0


def accumulated_of(row):
    """Micro-batches of an update (gradient_accumulation_steps)."""
    return int(row["grad_accum"] or 1)


def words_of(row):
    """The options of a row; None: it is not used."""
    seq, devices = length_of(row), int(row["n_devices"])
    known = row["model"] in MODELS and row["device"] in DEVICES and row["method"] in METHODS and seq
    if not known or "device_map" in row["parallel"]:
        return None
    words = ["--device", DEVICES[row["device"]], "--seq", str(seq), "--precision", precision_of(row), "--optimizer", "adamw"]
    if row["method"] != "full":
        dropout = f",dropout={row['lora_dropout']}" if row["lora_dropout"] not in ("", "0.0") else ""
        words += ["--lora", f"r={row['lora_r'] or 8},targets={targets_of(row)}{dropout}{adapter_of(row)}"]
    quantized = "nf4-dq" if "bnb" in row["notes"] and row["method"] == "qlora" else QUANTIZED[row["base_quant"]]
    words += ["--quantize", quantized] if quantized else []
    words += ["--recompute", "full"] if row["grad_ckpt"] == "1" else []
    words += trainer_of(row) + reentrant_of(row) + loss_of(row) + cache_of(row) + software_of(row) + attention_of(row) + varied_of(row)
    # Qwen's own code can call flash-attn's kernels, but its README leaves that of the norms (csrc/layer_norm) out as optional
    words += ["--fused-kernels"] if "rope" in row["kernels"] else []
    batch, accumulated = row["batch_per_device"], accumulated_of(row)
    repeated = ["--accumulate", str(accumulated)] if accumulated > 1 else []
    # transformers' trainer runs all micro-batches but the last in accelerate's no_sync(), which is FSDP's
    if repeated and devices > 1 and not row["source"].endswith("litgpt"):
        repeated.append("--no-sync")
    if devices == 1:
        return words + (["--micro-batch", batch, *repeated] if repeated else ["--batch", batch])
    ep = row["parallel"].split("ep=")[1] if "ep=" in row["parallel"] else ""
    return words + ["-n", str(devices), "--dp", str(devices), "--zero", "3", "--micro-batch", batch, *repeated] + \
        (["--ep", ep] if ep and ep != "1" else [])


def of_time(row, words):
    """DeepSpeed computes with 16-bit copies of the adapters (module.half()); what it stores is as much as fp32 adapters are: 2 bytes
    each of copy and gradient, 4 of the trained one and 8 of states."""
    return [w.replace(",dtype=fp32", ",dtype=weights") for w in words] if precision_of(row) == "fp16" else words


def model_of(row):
    """GraniteMoeParallelExperts, up to transformers 4, calls one product for each expert; ScatterMoE's kernels take its place."""
    looped = "granite" in row["model"] and "scattermoe" not in row["kernels"]
    return MODELS[row["model"]] + (",expert_loop=1" if looped else "")


def asked(program, command, row, words):
    run = subprocess.run([program, command, model_of(row), *words, "--json"], capture_output=True, text=True,
                         check=False)
    return json.loads(run.stdout) if run.stdout.startswith("{") else {"error": run.stderr.strip()[-200:]}


def timed(row):
    """Seconds of an update, with all its micro-batches; None if lengths vary without their mean. (iter_time_s is a micro-batch's.)"""
    varied = row["source"].endswith(("ms-swift", "litgpt", "peft"))
    return float(row["iter_time_s"]) * accumulated_of(row) if row["iter_time_s"] and not varied else None


def memory_of(row):
    """Measured bytes, and which of ours they are. The peak of samples of unequal lengths belongs to the longest, which is
    not told."""
    if row["packing"] not in ("packed", "fixed") and row["source"].endswith("fms-acceleration"):
        return None, None
    if row["mem_peak_alloc_GiB"] and not row["source"].endswith("peft"):
        return float(row["mem_peak_alloc_GiB"]) * 2 ** 30, "peak_bytes"
    if row["mem_reserved_GiB"] and row["source"].endswith(("Qwen", "ms-swift")):
        return float(row["mem_reserved_GiB"]) * 2 ** 30, "reserved_bytes"
    return None, None


def scored(program, row):
    words = words_of(row)
    if words is None:
        return None
    memory = asked(program, "memory", row, words)
    out = {"source": row["source"].split("/")[1], "model": row["model"].split("/")[-1], "method": row["method"],
           "n": row["n_devices"], "batch": row["batch_per_device"], "kernels": row["kernels"], "status": row["status"],
           "accumulated": accumulated_of(row), "seq": length_of(row), "packing": row["packing"], "error": memory.get("error", "")}
    if "error" in memory:
        return out
    out["fits"] = memory["fits"]
    measured, which = memory_of(row)
    if row["status"] == "ok" and measured:
        smi = which == "reserved_bytes" and row["source"].endswith("/Qwen") # an unnamed tool; ms-swift: max_memory_reserved()
        ours = max(memory[which], loading_of(row, memory)) + (memory["context_bytes"] if smi else 0)
        out.update(precision=precision_of(row), memory=ours / 2 ** 30, memory_measured=measured / 2 ** 30, memory_error=ours / measured - 1)
    if row["status"] == "ok" and timed(row):
        step = asked(program, "predict", row, of_time(row, words))
        if "step_time_s" in step:
            measured, (low, high) = timed(row), step["interval_s"]
            out.update(time=step["step_time_s"], time_measured=measured, time_error=step["step_time_s"] / measured - 1,
                       inside=low <= measured <= high)
    return out


# Options that a question leaves out which names the model, the method, the precision and the plan alone, and their words.
FACTS = {"--reentrant": 1, "--loss-kernel": 2, "--logits": 2, "--use-cache": 1, "--software": 2, "--attention": 2,
         "--tokens-per-sample": 2, "--fused-kernels": 1, "--clip-gradients": 1, "--busy-thread": 1}


def bare_of(row, words):
    kept, skip = [], 0
    for word in words:
        skip = FACTS.get(word, skip)
        kept += [] if skip else [word]
        skip = max(0, skip - 1)
    kept[kept.index("--precision") + 1] = "fp16" if "fp16" in row["precision"] else "bf16"
    return [",".join(p for p in w.split(",") if p.startswith(("r=", "targets="))) if w.startswith("r=") else w for w in kept]


def answered(program, row):
    """Whether the run ran out of memory, and what the command fits says of it without the row's own facts."""
    words = words_of(row)
    said = asked(program, "fits", row, bare_of(row, words)) if words and row["status"] in ("ok", "oom") else {}
    return (row["status"] == "oom", said["fits"], said["answer"]) if "answer" in said else None


def print_answers(answers):
    count = len(answers)
    for name, test in (("memory's yes or no", lambda a: not a[1]), ("the answer no of fits", lambda a: a[2] == "no")):
        some = [a for a in answers if name.startswith("memory") or a[2] != "unsure"]
        called, out = [a for a in some if test(a)], [a for a in some if a[0]]
        right = sum(a[0] for a in called)
        print(f"{name}: {len(some)} of {count} runs decided, {len(out)} of them out of memory; called out {len(called)}, rightly {right}: "
              f"precision {right / max(1, len(called)):.3f}, recall {right / max(1, len(out)):.3f}")


def mean(values):
    return f"{100 * sum(map(abs, values)) / len(values):6.1f}% {100 * statistics.median(map(abs, values)):6.1f}% " \
           f"{100 * sum(values) / len(values):+6.1f}%" if values else "      -       -       -"


def table(rows, key):
    print(f"{key:38} {'n':>4}   time: mean, median, bias    n  memory: mean, median, bias")
    for name in sorted({r[key] for r in rows}) + ["all"]:
        some = [r for r in rows if name in ("all", r[key])]
        times = [r["time_error"] for r in some if "time_error" in r]
        sizes = [r["memory_error"] for r in some if "memory_error" in r]
        print(f"{name:38} {len(times):4}  {mean(times)}  {len(sizes):4}  {mean(sizes)}")


def families(rows):
    """The same without each family of models: what the figures owe to one of them. Mistral 7B is the family whose readings were
    looked at most, and the only one that gave a number (fsdp_unit_host)."""
    known = ("Mistral", "Mixtral", "Qwen")
    family = {r["model"]: next((k for k in known if k.lower() in r["model"].lower()), r["model"]) for r in rows}
    print(f"{'without':38} {'n':>4}   time: mean, median, bias    n  memory: mean, median, bias")
    for name in sorted(set(family.values())):
        some = [r for r in rows if family[r["model"]] != name]
        times = [r["time_error"] for r in some if "time_error" in r]
        sizes = [r["memory_error"] for r in some if "memory_error" in r]
        print(f"{name:38} {len(times):4}  {mean(times)}  {len(sizes):4}  {mean(sizes)}")


def decisions(rows):
    known = [r for r in rows if "fits" in r]
    out = [r for r in known if r["status"] == "oom"]
    called = [r for r in known if not r["fits"]]
    right = [r for r in out if not r["fits"]]
    precision, recall = len(right) / max(1, len(called)), len(right) / max(1, len(out))
    print(f"out of memory: {len(known)} runs, {len(out)} of them out; called out {len(called)}, rightly {len(right)}: "
          f"precision {precision:.3f}, recall {recall:.3f}")
    for name in sorted({r["model"] for r in known}):
        some = [r for r in known if r["model"] != name]
        gone = [r for r in some if r["status"] == "oom"]
        hits = sum(1 for r in gone if not r["fits"])
        said = sum(1 for r in some if not r["fits"])
        if len(gone) != len(out):
            print(f"  without {name}: precision {hits / max(1, said):.3f}, recall {hits / max(1, len(gone)):.3f}")
    inside = [r["inside"] for r in rows if "inside" in r]
    print(f"inside the 90 % interval of time: {100 * sum(inside) / max(1, len(inside)):.0f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("rows")
    parser.add_argument("-o", "--out")
    parser.add_argument("--bare", action="store_true", help="ask whether runs fit by model, method, precision and plan alone")
    parser.add_argument("--every", type=int, default=1, help="use every Nth row")
    a = parser.parse_args()
    with gzip.open(a.rows, "rt", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))[:: a.every]
    if a.bare:
        with ThreadPoolExecutor(2) as pool:
            print_answers([x for x in pool.map(lambda row: answered(a.program, row), rows) if x])
        return
    with ThreadPoolExecutor(2) as pool:
        done = [r for r in pool.map(lambda row: scored(a.program, row), rows) if r]
    for key in ("source", "model", "method", "kernels"):
        table(done, key)
    families(done)
    decisions(done)
    failed = {r["error"] for r in done if r["error"]}
    print(f"{len(done)} of {len(rows)} rows used; refused: {sorted(failed) or 'none'}")
    if a.out:
        with open(a.out, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, sorted({k for r in done for k in r}))
            writer.writeheader()
            writer.writerows(done)


if __name__ == "__main__":
    main()
