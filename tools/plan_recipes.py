#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plan_recipes.py - PROGRAM MLPERF.csv.gz OUT.md: is the plan of published training recipes among our best?

For each recipe, `plan` searches all plans for the same model, devices, cluster and global batch, and `predict` predicts
the published plan. The page lists whether the published sizes (tp, cp, pp, micro-batch) are among the ten best sizes, at
which place, and how much longer the published plan is predicted to take than our best one. Recipes: Korthikanti et al.
2022 (data/results/megatron.json) and MLPerf Training v4.0 to v5.1 submissions (a table with the columns benchmark,
device, n_devices, global_batch, micro_batch, tp, pp, cp, vpp and sp).
"""
import csv
import gzip
import itertools
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEVICES = {"H100-SXM-80GB": "nvidia-h100", "H200-SXM-141GB": "nvidia-h200", "B200-SXM-180GB": "nvidia-b200", "L40S": "nvidia-l40s"}
# Settings of all submissions of a benchmark, from mlcommons/training_results_v4.0, NVIDIA/benchmarks: gpt3/implementations/nemo/conf/
# optim/distributed_fused_adam.yaml (grad_sync_dtype: bf16) and llama2_70b_lora/implementations/nemo/conf/
# megatron_gpt_peft_tuning_config.yaml (fp8_params is on where fp8 is).
MODELS = {"gpt3": ("GPT-3 175B", ["gpt3-175b", "--grad-reduce-in-bf16"]),
          "llama2_70b_lora": ("Llama 2 70B, LoRA", ["llama2-70b", "--seq", "8192", "--lora", "r=16,alpha=32,targets=attention"])}
OVERLAP = ["--async-tp"]  # TP_COMM_OVERLAP of the same sources: on, except in the configurations of L40S
# mlcommons/training_results_v4.0, NVIDIA/systems/l40s_n16_ngc24.04_nemo.json: host_networking "2xBF3 400Gbps for EW",
# accelerator_interconnect "PCIe Gen4", of which x16 has 31.5 GB/s.
L40S_NODE = "800Gb,link=31.5GB"
L40S_NODE_TEXT = f"node=4,net={L40S_NODE}"
FP8 = {"gpt3": ["--precision", "fp8"], "llama2_70b_lora": ["--precision", "fp8", "--quantize", "fp8"]}
LAYERS = {"gpt3": 96, "llama2_70b_lora": 80}
MOST_DEVICES = 4096  # larger searches take minutes
NEAR = 0.11  # as far as the plans of one list are apart


def megatron():
    """Recipes of data/results/megatron.json that state a plan."""
    for row in json.loads((ROOT / "data/results/megatron.json").read_text())["rows"]:
        if row.get("pp") and row.get("recompute") == "selective":
            replicas = row["devices"] // (row["tp"] * row["pp"])  # the row has the micro-batches of all of them
            yield {"source": "Korthikanti et al. 2022", "name": "GPT " + row["where"].split(",")[1].strip(), "model": [row["model"]],
                   "device": row["device"], "cluster": row["cluster"], "n": row["devices"], "batch": row["batch"], "tp": row["tp"],
                   "pp": row["pp"], "cp": 1, "micro": row["micro_batch"] // replicas, "vpp": row.get("interleave", 1), "sp": True,
                   "recompute": "selective", "overlap": [], "zero": "01", "how": ["--software", "2022"]}


def mlperf(path):
    """One recipe per benchmark, device, count and plan."""
    seen = set()
    with gzip.open(path, "rt", encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            if not row["tp"] or row["benchmark"] not in MODELS or row["device"] not in DEVICES:
                continue
            numbers = {k: int(row[k] or 1) for k in ("n_devices", "global_batch", "micro_batch", "tp", "pp", "cp", "vpp")}
            key = (row["benchmark"], row["device"], *numbers.values())
            if key in seen or numbers["n_devices"] > MOST_DEVICES or not row["global_batch"]:
                continue
            seen.add(key)
            name, model = MODELS[row["benchmark"]]
            net = L40S_NODE if row["device"] == "L40S" else "3200Gb"
            overlap = [] if row["device"] == "L40S" else OVERLAP
            yield {"source": row["source"].replace("mlperf-training-", "MLPerf "), "name": name, "model": model,
                   "device": DEVICES[row["device"]], "cluster": f"node={row['devices_per_node'] or 8},net={net}", "n": numbers["n_devices"],
                   "batch": numbers["global_batch"], "tp": numbers["tp"], "pp": numbers["pp"], "cp": numbers["cp"],
                   "micro": numbers["micro_batch"], "vpp": numbers["vpp"], "sp": numbers["tp"] > 1, "recompute": "none",
                   "some": [f"full:{LAYERS[row['benchmark']] * k // 4}" for k in (1, 2, 3)],
                   "overlap": overlap, "zero": "1" if row["dist_optimizer"] == "True" else "01",
                   "how": ["--software", "2024", *(FP8[row["benchmark"]] if row["precision"] == "fp8" else [])]}


def ask(program, *words):
    done = subprocess.run([program, *words, "--json"], capture_output=True, check=False, timeout=300)
    return json.loads(done.stdout) if done.stdout.strip() else {"error": done.stderr.decode().strip()}


def published(program, recipe, way):
    """The fastest predictions of the published plan over what the source leaves open (ZeRO, recomputation, overlap): the one that
    fits, and the one without recomputation, whether or not it fits."""
    best = plain = None
    dp = recipe["n"] // (recipe["tp"] * recipe["pp"] * recipe["cp"])
    for zero, overlap in itertools.product(recipe["zero"], ([], ["--overlap"])):
        for recompute in dict.fromkeys([recipe["recompute"], "selective", "full", *recipe.get("some", [])]):
            words = ["--tp", recipe["tp"], "--pp", recipe["pp"], "--cp", recipe["cp"], "--dp", dp, "--micro-batch", recipe["micro"],
                     "--global-batch", recipe["batch"], "--interleave", recipe["vpp"], "--zero", zero, "--recompute", recompute]
            one = ask(program, "predict", *way, *map(str, words), *overlap, *["--sequence-parallel"] * recipe["sp"],
                      *recipe["overlap"] * (recipe["tp"] > 1))
            if one.get("fits") and (best is None or one["step_time_s"] < best):
                best = one["step_time_s"]
            if recompute == recipe["recompute"] and "step_time_s" in one and (plain is None or one["step_time_s"] < plain["step_time_s"]):
                plain = one
    return best, plain


def line(program, recipe):
    way = [*recipe["model"], "--device", recipe["device"], "--cluster", recipe["cluster"], "--runtime", "megatron", *recipe["how"]]
    plan = ask(program, "plan", *way, "-n", str(recipe["n"]), "--global-batch", str(recipe["batch"]), "--distinct",
               *recipe["overlap"])
    theirs, plain = published(program, recipe, way)
    shapes = []
    for one in plan.get("best", []):
        shape = (one["tp"], one["cp"], one["pp"], one["micro_batch"])
        if shape not in shapes:
            shapes.append(shape)
    own = (recipe["tp"], recipe["cp"], recipe["pp"], recipe["micro"])
    place = shapes.index(own) + 1 if own in shapes else None
    ours = plan["best"][0]["step_time_s"] if plan.get("best") else None
    gap = f"{100 * (theirs / ours - 1):.0f} %" if ours and theirs else "-"
    best = "tp {} cp {} pp {} mb {}".format(*shapes[0]) if shapes else plan.get("reason") or plan.get("error", "-")[:60]
    cells = [recipe["source"], recipe["name"], f"{recipe['n']} x {recipe['device']}", recipe["batch"], "tp {} cp {} pp {} mb {}".format(*own),
             best, place or "no", gap if theirs else "published plan does not fit", f"{plain['peak_bytes'] / 2**30:.0f}" if plain else "-",
             f"{100 * (plain['step_time_s'] / ours - 1):.0f} %" if plain and ours else "-"]
    return place, theirs / ours - 1 if ours and theirs else None, plain["step_time_s"] / ours - 1 if ours and plain else None, "| " + " | ".join(map(str, cells)) + " |"


def main():
    program, table, out = sys.argv[1:]
    recipes = [*megatron(), *mlperf(table)]
    lines = []
    for number, recipe in enumerate(recipes, 1):
        print(f"{number} of {len(recipes)}: {recipe['name']} on {recipe['n']} {recipe['device']}", file=sys.stderr)
        lines.append(line(program, recipe))
    gaps = sorted(g for _, g, _, _ in lines if g is not None)
    found = sum(place is not None and place <= 5 for place, *_ in lines)
    near = sum(gap is not None and gap <= NEAR for *_, gap, _ in lines)
    pathlib.Path(out).write_text(f"""# Published training recipes against our plans

Written by `python3 tools/plan_recipes.py build/centimani mlperf.csv.gz docs/results/plans.md`. {len(lines)} recipes;
the published sizes are among our five best in {found} of them. Where both are predicted, the published plan takes {100 * gaps[len(gaps) // 2]:.0f} % longer than our best one in the median (from
{100 * gaps[0]:.0f} to {100 * gaps[-1]:.0f} %). Both are predictions in the published precision with Megatron-LM of that year. The sources do
not state every setting: ZeRO 0 or 1, the recomputation and the overlap of gradients are then chosen in favour of the published
plan. A place counts different sizes (tp, cp, pp, micro-batch) among the ten that `plan --distinct` lists.

Why published plans are not among the best:

- **Settings that the sources state** decide more than the model of time: frozen weights in fp8 (`--quantize fp8`), a gradient buffer in
  bf16 (`--grad-reduce-in-bf16`) and tensor-parallel exchanges behind products (`--async-tp`). Without them the published plans were
  among our five best in 8 of 26 recipes, with the first two in 11, with all three in 15, and in 20 since `--async-tp` hides nothing
  between nodes. All four were found by looking at these recipes, so that the count is not evidence at first sight. It is 19 since the
  search also finds plans that recompute some layers and plans with a SwiGLU that Megatron-LM does not store: published plans that
  are 2 % slower than the best are then at place 6. It is 18 since `--async-tp` hides no more than the products last. One published plan was predicted to be 1 % faster than our best one, which the
  search had missed; it is our best plan now.
- **Memory.** The last two columns are the published plan with the recomputation that the source states, whether or not we predict it
  to fit. It is then at most {100 * NEAR:.0f} % slower than our best plan in {near} of {len(lines)} recipes.
- **Recomputation of some layers** (`--recompute full:N`) is searched in quarters of a stage's layers. Submissions may recompute other
  numbers of layers; their tables do not state it.
- **L40S.** With the NCCL times of the profile, 5 GB/s among four cards that reach each other through the host, the published plan was
  predicted to be 349 % slower than our best one. The submission's servers have 4 cards, PCIe 4.0 and two networks of 400 Gb/s
  (its system description); with `--cluster {L40S_NODE_TEXT}` the gap is that of the table. What is left: the recipe has the sizes of
  the recipes for H100 with NVLink, tp 4, and our best plan has no tensor parallelism, which PCIe makes expensive.
- **Tensor parallelism over two nodes.** Korthikanti et al. run 1T parameters with tp 8, our best plan has tp 16 over two nodes: 8 % is inside both intervals.
- **Stages of LoRA.** Our best plans divide layers among two stages; the submissions have none. Both take the same time within the interval.

| source | model | devices | global batch | published plan | our best plan | place of the published plan | published plan is slower by | its memory without further recomputation, GiB | it would then be slower by |
|---|---|---|---:|---|---|---:|---:|---:|---:|
""" + "\n".join(text for *_, text in lines) + "\n")


main()
