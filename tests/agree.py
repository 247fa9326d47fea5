#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""agree.py - LIBRARY [--all] [--shard I/N]: all commands give the same answer to the same question.

The test compares the row of each device in a ranking, in one precision and runtime, with the answers of predict, memory,
batch and explain; single questions in all commands, in jobs and in Python; plans, scaling and jobs with predict; and the
prices of all commands with the table of offers. Numbers must be equal to the last digit. In every answer, verdict and
"fits" follow from the probability. By default the test uses a seeded random sample of models; --all
covers every built-in model, device, precision and runtime, and prints the number of disagreements. It asks explain and
batch in the usual precision and runtime only, to end within half an hour. --shard 1/2 and --shard 2/2 ask one half of
the rankings each, so that two processes share the work. Progress goes to standard error, once a minute.
"""
import ctypes
import json
import os
import random
import sys
import tempfile
import time

SAMPLE_RANKINGS, SAMPLE_DEVICES, SEED = 60, 5, 17
PRECISIONS = ["fp32", "tf32", "amp-bf16", "amp-fp16", "bf16", "fp16", "fp8"]
RUNTIMES = ["torch-eager", "torch-compile", "megatron", "native"]
# Fields that the rows of `rank` and the answers of `predict` have in common.
SAME = ("batch", "micro_batch", "devices", "recomputes", "runtime", "precision", "fits", "verdict", "probability", "peak_bytes",
        "step_time_s", "device_time_s", "host_time_s", "throughput_samples_s", "interval_s", "mfu", "seq", "tokens_s")


class Count:
    """Counts of compared numbers and of differences."""

    def __init__(self):
        self.compared = self.differ = 0

    def check(self, same, what, first, second):
        self.compared += 1
        if same:
            return
        self.differ += 1
        if self.differ <= 20:
            print(f"# {what}: {first} and {second}")


class Program:
    """The program's commands, called in this process."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.cm_answer.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p),
                                           ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_void_p)]
        self.library.cm_answer_free.argtypes = [ctypes.c_void_p]
        self.count = Count()

    def ask(self, *words):
        """Return the exit status, and the JSON answer or the message on standard error."""
        words = [*words, "--json"]
        array = (ctypes.c_char_p * len(words))(*[w.encode() for w in words])
        result, notes = ctypes.c_void_p(), ctypes.c_void_p()
        status = self.library.cm_answer(len(words), array, ctypes.byref(result), ctypes.byref(notes))
        text, message = (ctypes.string_at(p.value).decode() if p.value else "" for p in (result, notes))
        self.library.cm_answer_free(result)
        self.library.cm_answer_free(notes)
        answer = json.loads(text) if text.strip() else message
        self.check_verdicts(answer, " ".join(words))
        return status, answer

    def check_verdicts(self, answer, where):
        """One rule: 0.9 and more fits, 0.1 and less does not, and alternatives that differ are unsure."""
        if isinstance(answer, dict) and "fits" in answer and "verdict" in answer:
            chance, verdict = answer["probability"], answer["verdict"]
            rule = "fits" if chance >= 0.9 else "unsure" if chance > 0.1 else "does not fit"
            others = {a["verdict"] for a in answer.get("alternatives", [])} - {rule}
            same = verdict == ("unsure" if others else rule)
            # rows of lists name no alternatives, which make them unsure
            same |= "alternatives" not in answer and verdict == "unsure"
            self.count.check(same, f"{where}: verdict", verdict, (chance, others))
            # scripts for graph compilers recompute where memory is short
            likely = chance >= 0.5 or any(a["fits"] for a in answer.get("alternatives", []) if "recomputed" in a["name"])
            same = answer["fits"] == likely or ("alternatives" not in answer and answer["fits"] and verdict == "unsure")
            self.count.check(same, f"{where}: fits", answer["fits"], verdict)
        for part in answer.values() if isinstance(answer, dict) else answer if isinstance(answer, list) else []:
            self.check_verdicts(part, where)


def questions(program):
    """Options of every ranking: the usual precision and runtime, every other precision, every other runtime."""
    models = [m["id"] for m in program.ask("models")[1]["models"]]
    ways = [()] + [("--precision", p) for p in PRECISIONS] + [("--runtime", r) for r in RUNTIMES]
    ways += [("--batch", "24"), ("--mode", "inference"), ("--recompute", "full")]
    return [(model, way) for model in models for way in ways]


def option(way, name):
    """The value of an option in a list of arguments."""
    return way[way.index(name) + 1] if name in way else None


def compare_device(program, count, model, way, row, brief):
    """Compare one row of a ranking with the other commands."""
    device = row["device"]
    where = f"{model} {' '.join(way)} on {device}"
    own = [w for i, w in enumerate(way) if "--batch" not in (w, way[i - 1] if i else "")]
    batch = ["--batch", str(row["batch"])] if row["batch"] else []
    status, predict = program.ask("predict", model, "--device", device, *way)
    fits = isinstance(predict, dict) and predict["fits"]
    count.check(row["fits"] == fits, f"{where}: rank and predict on fits", row.get("reason"), predict if status else fits)
    if row["step_time_s"] is None or not isinstance(predict, dict):
        return
    for field in SAME:
        count.check(row[field] == predict[field], f"{where}: rank's and predict's {field}", row[field], predict[field])
    memory = program.ask("memory", model, "--device", device, *own, *batch)[1]
    for field in ("peak_bytes", "fits", "micro_batch", "recomputes"):
        count.check(memory[field] == row[field], f"{where}: memory's and rank's {field}", memory[field], row[field])
    if "--recompute" not in way and not (brief and way):
        explain = program.ask("explain", model, "--device", device, *own, *batch)[1]
        count.check(explain["step_time_s"] == row["step_time_s"], f"{where}: explain's and rank's step",
                    explain["step_time_s"], row["step_time_s"])
    if not option(way, "--batch") and not (brief and way):
        compare_batch(program, count, where, (model, device, own), row)


def compare_batch(program, count, where, question, row):
    """Compare the batch size that `batch` chooses, and its throughput, with the ranking."""
    model, device, own = question
    choice = program.ask("batch", model, "--device", device, *own)[1]
    count.check(choice["batch"] == row["batch"], f"{where}: batch's and rank's choice", choice["batch"], row["batch"])
    for one in choice["candidates"]:
        if one["batch"] == row["batch"]:
            for field in ("throughput_samples_s", "peak_bytes", "fits", "probability"):
                count.check(one[field] == row[field], f"{where}: batch's and rank's {field}", one[field], row[field])


# Model, device, batch and options of questions that every command answers.
EVERYWHERE = [("resnet50", "nvidia-rtx4090", 64, {}), ("resnet50", "nvidia-a100-80g", 256, {"layout": "nchw"}),
              ("gpt2", "nvidia-h100", 8, {"precision": "bf16", "seq": 512}), ("gpt2-xl", "nvidia-a100-40g", 8, {}),
              ("llama2-7b", "nvidia-h200", 2, {"recompute": "full"}), ("bert-large", "amd-mi300x", 16, {"runtime": "torch-compile"}),
              ("llama2-7b", "nvidia-a100-80g", 4, {"lora": "r=16", "quantize": "nf4"}), ("lstm", "nvidia-t4", 32, {"precision": "fp32"}),
              ("gpt2", "nvidia-b200", 4, {"runtime": "megatron", "precision": "fp8"}), ("gpt2", "google-tpu-v4", 8, {}),
              ("bert-base", "graphcore-bow", 16, {}), ("gpt2-xl", "habana-gaudi2", 8, {}), ("resnet18", "cerebras-cs2", 64, {}),
              ("resnet50", "nvidia-l4", 32, {"mode": "inference"}), ("bert-large", "nvidia-l4", 30, {"optimizer": "sgd"})]
# Fields of whole answers to compare, and the members of an answer that have them where it is a list.
WHOLE = ("precision", "storage", "runtime", *SAME)
LISTS = {"rank": "ranking", "scale": "points", "plan": "best", "batch": "candidates"}
VOLATILE = ("setup_time_s", "search_time_s")


def everywhere(device, batch, options):
    """Commands and arguments that ask one question: a step of one batch on one device."""
    own, few = {**options, "device": device}, {k: v for k, v in options.items() if k != "recompute"}
    listed = {**options, "devices": device}
    asked = [(command, {**own, "batch": batch}) for command in ("predict", "explain", "memory", "fits")]
    asked += [("batch", {**own, "candidates": [batch]}), ("rank", {**listed, "batch": batch}),
              ("rank", {**listed, "batch": batch, "samples": "1M"}), ("scale", {**own, "batch": batch, "n": [1]})]
    if "mode" in options:
        return asked  # jobs and plans train
    asked += [("rank", {**listed, "max_devices": 1, "global_batch": batch, "samples": "1M"})]
    return asked + [("plan", {**few, "device": device, "n": 1, "global_batch": batch})]


def words_of(model, given):
    """The words of a command line."""
    words = [model]
    for name, value in given.items():
        words += ["-n" if name == "n" else "--" + name.replace("_", "-"),
                  ",".join(map(str, value)) if isinstance(value, list) else str(value)]
    return words


def step_of(command, answer, batch, recompute):
    """The part of an answer that describes the whole batch at once. A plan search may have chosen another step: None."""
    for row in answer.get(LISTS.get(command), [answer]):
        plan = row.get("plan") or row
        other = plan.get("accumulate", 1) > 1 or plan.get("recompute_layers") or plan.get("offload") or plan.get("recompute", recompute) != recompute
        if not other and row.get("micro_batch", batch) == batch:
            return row
    return None


def compare_everywhere(program, count):
    """Compare all commands, and the Python package, on one question."""
    import centimani
    for model, device, batch, options in EVERYWHERE:
        recompute, first, steps = options.get("recompute", "none"), None, {}
        for command, given in everywhere(device, batch, options):
            where = f"{command} {' '.join(words_of(model, given))}"
            answer = program.ask(command, *words_of(model, given))[1]
            if not isinstance(answer, dict):
                count.check(False, where, answer, "an answer")
                continue
            compare_python(centimani, count, where, (command, model, given), answer)
            step = step_of(command, answer, batch, recompute)
            if not step:
                continue
            first = first or step
            steps["jobs" if "samples" in given else command, "max_devices" in given] = step
            for field in WHOLE:
                mine = step.get(field, answer.get(field) if field in ("precision", "storage", "runtime") else None)
                if field in first and mine is not None:
                    count.check(mine == first[field], f"{where}: {field} beside predict", mine, first[field])
        compare_hours(count, f"{model} on {device}", steps)


def compare_hours(count, where, steps):
    """A job on one device takes as long whether it was asked with --max-devices or without."""
    alone, within = steps.get(("jobs", False)), steps.get(("jobs", True))
    if alone and within:
        count.check(abs(within["job"]["time_s"] / 3600 / alone["hours"] - 1) < 1e-12, f"{where}: time of a job",
                    within["job"]["time_s"] / 3600, alone["hours"])


def compare_python(centimani, count, where, asked, answer):
    """The Python package has the program's answer, and the numbers of its own fields are those."""
    command, model, given = asked
    given = {**given}
    devices = [given.pop("device")] if "device" in given else []
    result = getattr(centimani, command)(model, *devices, **given)
    if command in ("predict", "memory"):
        result = result[0]
    raw = result.raw if hasattr(result, "raw") else None
    for key, value in answer.items():
        if raw is not None and key not in VOLATILE:
            count.check(raw.get(key) == value, f"{where}: Python's {key}", raw.get(key), value)
    rows = list(zip(result, answer["ranking"])) if command == "rank" else [(result, answer)]
    for row, expected in rows:
        for field in WHOLE:
            if hasattr(row, field) and field in expected and not isinstance(expected[field], list):
                count.check(getattr(row, field) == expected[field], f"{where}: {field} in Python", getattr(row, field),
                            expected[field])


# Model, device and options. The operators of `explain` must add up to the kernel calls of `predict`, and `compare` must
# recognise all kernels of a trace that `predict` wrote.
KERNELS = [("resnet50", "nvidia-h200", []), ("resnet50", "amd-mi300x", ["--layout", "nchw"]),
           ("mobilenet-v3-small", "nvidia-t4", ["--runtime", "torch-compile"]), ("lstm", "nvidia-a100-80g", []),
           ("bert-base", "nvidia-h100", ["--runtime", "torch-compile:reduce-overhead"]), ("gpt2", "nvidia-h200", ["--mode", "inference"]),
           ("gpt2", "nvidia-b200", ["--runtime", "megatron"]), ("vit-b-16", "nvidia-l4", ["--precision", "fp32"]),
           ("unet", "google-tpu-v4", []), ("gpt2", "cerebras-cs2", []), ("resnet18", "sambanova-sn40l", []),
           ("resnet18", "graphcore-bow", []), ("bert-base", "habana-gaudi2", []), ("gpt2", "huawei-ascend-910b", [])]


def by_type(answer):
    """Time by operator type and phase."""
    sums = {}
    for op in answer["ops"]:
        key = op["type"], op["phase"]
        sums[key] = sums.get(key, 0) + op["time_s"]
    return sums


def compare_kernels(program, count):
    """Compare the kernel calls of `predict` with the operators of `explain`, and with its own trace read again."""
    with tempfile.TemporaryDirectory() as folder:
        for model, device, way in KERNELS:
            trace, way = f"{folder}/trace.json", ["--device", device, "--batch", "8", *way]
            where = f"{model} {' '.join(way)}"
            predict = program.ask("predict", model, *way, "--ops", "--trace", trace)[1]
            explain = program.ask("explain", model, *way)[1]
            calls, operators = by_type(predict), by_type(explain)
            count.check(calls.keys() == operators.keys(), f"{where}: operators", sorted(calls), sorted(operators))
            for key in calls.keys() & operators.keys():
                same = abs(calls[key] - operators[key]) <= 1e-9 * calls[key]
                count.check(same, f"{where}: explain's and predict's {key}", operators[key], calls[key])
            read = program.ask("compare", trace, model, *way)[1]
            everything = read["measured_device_s"] + read["measured_overlapped_s"]
            count.check(abs(read["matched_s"] / everything - 1) < 1e-9, f"{where}: compare's matched time of its own trace",
                        read["matched_s"], everything)
            for row in read["calls"]:  # the trace rounds times to nanoseconds
                same = abs(row["measured_s"] - row["predicted_s"]) <= 1e-9 * row["measured_runs"]
                same = same and row["measured_runs"] == row["predicted_runs"]
                count.check(same, f"{where}: compare's {row['call']}", row["measured_s"], row["predicted_s"])


# Model, device, number of devices, global batch, runtime. `predict` and `memory` must agree with the plans of `plan`.
PLANS = [("gpt2-xl", "nvidia-h100", 8, 64, "torch-eager"), ("gpt3-13b", "nvidia-a100-80g", 16, 128, "megatron"),
         ("bert-large", "amd-mi250", 4, 32, "torch-eager"), ("gpt2", "graphcore-bow", 8, 64, "native"),
         ("llama2-7b", "nvidia-b200", 8, 64, "megatron")]


def options_of(plan):
    """Options that select a plan listed by `plan`."""
    layers = plan.get("recompute_layers")
    words = ["--recompute", plan["recompute"] + (f":{layers}" if layers else ""), "--schedule", plan["schedule"]]
    words += ["--sequence-parallel"] * bool(plan["sequence_parallel"])
    words += ["--offload", ",".join(plan["offload"])] * bool(plan["offload"])
    counts = ("tp", "pp", "cp", "ep", "zero", "interleave", "micro_batch", "accumulate")
    for name in counts:
        if plan[name]:
            words += ["--" + name.replace("_", "-"), str(plan[name])]
    return words + ["--dp", str(plan["dp"])]


def compare_plans(program, count):
    """Compare the plans that `plan` finds with `predict` and `memory` for the same plans."""
    for model, device, n, samples, runtime in PLANS:
        where, way = f"plan {model} on {n} {device}", ["--device", device, "--runtime", runtime]
        found = program.ask("plan", model, *way, "-n", str(n), "--global-batch", str(samples))[1]
        for one in found["best"][:3]:
            overlap = ["--overlap"] * bool(one["overlap"])
            predict = program.ask("predict", model, *way, *options_of(one), *overlap)[1]
            memory = program.ask("memory", model, *way, *options_of(one))[1]
            for field in ("step_time_s", "interval_s", "peak_bytes", "throughput_samples_s", "storage"):
                count.check(one[field] == predict[field], f"{where}: plan's and predict's {field}", one[field],
                            predict[field])
            count.check(one["peak_bytes"] == memory["peak_bytes"], f"{where}: plan's and memory's peak",
                        one["peak_bytes"], memory["peak_bytes"])


def compare_scales(program, count):
    """Compare `scale` with `predict` and `memory` at each number of devices and stage of ZeRO, and with the best plan."""
    for model, device, n, samples, runtime in PLANS:
        for zero in range(4):
            where = f"scale {model} on {n} {device}, ZeRO {zero}"
            way = ["--device", device, "--runtime", runtime, "--global-batch", str(samples)]
            stage = ["--zero", str(zero)] if zero else []
            scale = program.ask("scale", model, *way, *stage, "-n", f"2,{n}")[1]
            for point in scale["points"] if isinstance(scale, dict) else []:
                words = [*way, *stage, "-n", str(point["n"])]
                predict = program.ask("predict", model, *words)[1]
                # `memory` describes the step as asked; the others recompute what Megatron-LM's jobs need
                done = predict["plan"] if predict["plan"].get("recompute") == "full" else {}
                layers = f"full:{done['recompute_layers']}" if done.get("recompute_layers") else "full"
                memory = program.ask("memory", model, *words, *(["--recompute", layers] if done else []))[1]
                for field in ("step_time_s", "interval_s", "throughput_samples_s", "peak_bytes", "fits"):
                    count.check(point[field] == predict[field], f"{where}: scale's and predict's {field}", point[field],
                                predict[field])
                count.check(memory["peak_bytes"] == point["peak_bytes"], f"{where}: memory's and scale's peak",
                            memory["peak_bytes"], point["peak_bytes"])
                for field in ("precision", "storage"):
                    count.check(scale[field] == predict[field] == memory[field], f"{where}: {field}", scale[field],
                                predict[field])
            point = scale["points"][-1] if isinstance(scale, dict) else None
            # a copy of a model may take several IPUs, of which scale then counts the copies
            alone = point and point["fits"] and predict["plan"]["devices"] == n
            best = program.ask("plan", model, *way, "-n", str(n))[1]["best"] if alone else []
            count.check(not best or best[0]["step_time_s"] <= point["step_time_s"] * 1.000001, f"{where}: slower best plan",
                        best[:1], point)


# Model and options of whole jobs. `predict` must agree with the entries of `rank --max-devices`.
JOBS = [("llama2-7b", ["--max-devices", "64", "--tokens", "1B"]),
        ("resnet50", ["--max-devices", "16", "--samples", "1281167", "--epochs", "90", "--price-basis", "spot"]),
        ("gpt3-13b", ["--max-devices", "512", "--tokens", "300B", "--clusters", "polaris,dgx-h100", "--runtime", "megatron"])]
SAMPLE_ENTRIES = 12


def compare_jobs(program, count, chance):
    """Compare entries of whole jobs with `predict` for the same plan; the job's numbers follow from the step's."""
    for model, way in JOBS:
        job = program.ask("rank", model, *way)[1]
        rows = [r for r in job["ranking"] if r["fits"]]
        for row in chance.sample(rows, min(SAMPLE_ENTRIES, len(rows))):
            where = f"job {model} on {row['n']} {row['device']}"
            words = options_of(row["plan"]) + ["--overlap"] * bool(row["plan"]["overlap"])
            words += ["--cluster", row["cluster"]] * bool(row["cluster"]) + ["--runtime", row["runtime"]]
            predict = program.ask("predict", model, "--device", row["device"], *words)[1]
            for field in SAME:
                count.check(row[field] == predict[field], f"{where}: job's and predict's {field}", row[field],
                            predict[field])
            count.check(row["plan"] == predict["plan"], f"{where}: plan", row["plan"], predict["plan"])
            steps, one = job["job"]["samples"] / job["global_batch"], row["job"]
            cost = one["time_s"] / 3600 * row["price_hour"] if row["price_hour"] else None
            for name, value, expected in (("cost", one["cost_usd"], cost),
                                          ("time", one["time_s"], (1 + row["interruption_overhead"]) * (steps * row["step_time_s"] + (predict["compile_s"] or 0)))):
                close = value == expected or (expected and abs(value / expected - 1) < 1e-12)
                count.check(close, f"{where}: the job's {name}", value, expected)


BASES = ["on-demand", "spot", "marketplace", "subscription", "paper", "any"]
# A table and a profile of a user: they must change the prices of all commands alike.
TABLE = "".join(f"P\tI{n}\tnvidia-h100\t{n}\tnode={n}\ton-demand\t{usd}\t-\t2026\tmine\n" for n, usd in ((1, 1.5), (8, 1.25)))
PROFILE = {"schema": 1, "id": "mine", "base": "nvidia-h100", "name": "Mine",
           "prices": [{"provider": "ours", "usd_hour": 0.5, "basis": "on-demand", "date": "2026", "source": "s"}],
           "sources": {"s": {"title": "t", "where": "w", "date": "2026"}}}


def expect_price(count, where, offers, row):
    """A row's price is one of the known ones of its device, provider, instance and basis. Returns it."""
    price = row["price"]
    if not price:
        return None
    known = [o["usd_hour"] for o in offers if (o["provider"], o["basis"]) == (price["provider"], price["basis"])
             and o["instance"] == (row["instance"] if "instance" in row else price["instance"])]
    usd = price["usd_hour_per_device"]
    count.check(any(abs(usd - one) <= 1e-12 * one for one in known), f"{where}: price of {price['provider']}", usd, known)
    return usd


def lowest_price(offers, n, basis):
    """The lowest price of a basis for n devices. Larger instances count only if there are no others; of any basis, a
    paper's price counts only if there is no offer."""
    sold = [o for o in offers if o["basis"] == basis or (basis == "any" and o["basis"] != "paper")]
    if basis == "any" and not sold:
        return lowest_price(offers, n, "paper")
    return min((o["usd_hour"] for o in [o for o in sold if o["devices"] <= n] or sold), default=None)


def compare_device_prices(program, count, device, name, offers):
    """The price of one device in `rank` with and without --max-devices, `devices show` and `plan`, for every basis."""
    shown = program.ask("devices", "show", device)[1]["devices"][0]["prices"]
    pairs = [sorted((o["provider"], str(o["instance"]), o["basis"], o["usd_hour"]) for o in some) for some in (shown, offers)]
    count.check(pairs[0] == pairs[1], f"devices show {device}: prices", *pairs)
    for basis in BASES:
        where, way = f"{name} {basis}", ["--price-basis", basis]
        lowest = lowest_price(offers, 1, basis)
        rows = program.ask("rank", "resnet50", "--batch", "8", "--devices", device, *way)[1]["ranking"]
        count.check(expect_price(count, f"rank {where}", offers, rows[0]) == lowest, f"rank {where}: lowest price",
                    rows[0]["price"], lowest)
        plan = program.ask("plan", "gpt2", "--device", device, "-n", "1", "--global-batch", "8", "--objective", "cost",
                           "--tokens", "1M", *way)[1]
        usd = plan["price_hour"] if isinstance(plan, dict) else None
        count.check(usd == lowest, f"plan {where}: price", usd, lowest)
        job = program.ask("rank", "gpt2", "--devices", device, "--max-devices", "16", "--tokens", "1M", *way)[1]
        seen = [expect_price(count, f"job {where}", offers, r) for r in (job["ranking"] if isinstance(job, dict) else [])]
        usd, lowest = min((s for s in seen if s), default=None), lowest_price(offers, 16, basis)
        count.check(usd is lowest or (usd and lowest and abs(usd - lowest) <= 1e-12 * lowest), f"job {where}: lowest price",
                    usd, lowest)


def compare_prices(program, count):
    """Every command has the prices of the one table: the built-in one, a user's table, and a user's profile."""
    offers = program.ask("prices")[1]["offers"]
    listed = {d["id"]: d["price_usd_hour"] for d in program.ask("devices")[1]["devices"]}
    for device in sorted({o["device"] for o in offers}):
        own = [o for o in offers if o["device"] == device]
        lowest = lowest_price(own, 1, "on-demand") or lowest_price(own, 1, "any")
        count.check(listed[device] == lowest, f"devices: price of {device}", listed[device], lowest)
        compare_device_prices(program, count, device, device, own)
    with tempfile.TemporaryDirectory() as folder:
        table, profile = folder + "/offers.tsv", folder + "/mine.json"
        for path, text in ((table, TABLE), (profile, json.dumps(PROFILE))):
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        ours = [{"provider": "ours", "instance": None, "devices": 1, "basis": "on-demand", "usd_hour": 0.5}]
        compare_device_prices(program, count, profile, "a user's profile", ours)
        os.environ["CENTIMANI_OFFERS"] = table
        compare_device_prices(program, count, "nvidia-h100", "a user's table", program.ask("prices")[1]["offers"])
        compare_device_prices(program, count, profile, "a user's profile and table", ours)
        del os.environ["CENTIMANI_OFFERS"]


def shard():
    """The index and the number of shards: (0, 1) without --shard."""
    if "--shard" not in sys.argv:
        return 0, 1
    index, number = sys.argv[sys.argv.index("--shard") + 1].split("/")
    if not 1 <= int(index) <= int(number):
        sys.exit("agree.py: --shard needs I/N with 1 <= I <= N")
    return int(index) - 1, int(number)


class Progress:
    """Prints how far the comparison is, once a minute."""

    def __init__(self, count, rankings):
        self.count, self.rankings, self.start = count, rankings, time.monotonic()
        self.next = self.start + 60

    def after(self, done):
        """`done` rankings are compared."""
        now = time.monotonic()
        if now < self.next:
            return
        self.next = now + 60
        left = (now - self.start) / done * (self.rankings - done)
        print(f"# {done} of {self.rankings} rankings, {self.count.compared} numbers compared, {self.count.differ} differ,"
              f" {left / 60:.0f} min left", file=sys.stderr, flush=True)


def main():
    os.environ["CENTIMANI_LIBRARY"] = sys.argv[1]
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
    program, everything = Program(sys.argv[1]), "--all" in sys.argv
    chance, count, rankings = random.Random(SEED), program.count, 0
    asked, (index, number) = questions(program), shard()
    if not everything:
        asked = chance.sample(asked, SAMPLE_RANKINGS)
    asked = asked[index::number]
    progress = Progress(count, len(asked))
    for done, (model, way) in enumerate(asked, 1):
        status, ranking = program.ask("rank", model, *way)
        if not isinstance(ranking, dict):
            count.check(False, f"rank {model} {' '.join(way)}", status, ranking)
            continue
        rankings += 1
        rows = ranking["ranking"]
        for row in rows if everything else chance.sample(rows, min(SAMPLE_DEVICES, len(rows))):
            compare_device(program, count, model, way, row, brief=everything)
        progress.after(done)
    if index == 0:
        compare_everywhere(program, count)
        compare_kernels(program, count)
        compare_plans(program, count)
        compare_scales(program, count)
        compare_jobs(program, count, chance)
        compare_prices(program, count)
    print(f"# {rankings} rankings, {count.compared} numbers compared, {count.differ} differ")
    return 1 if count.differ or not count.compared else 0


sys.exit(main())
