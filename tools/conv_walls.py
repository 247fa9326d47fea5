#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""conv_walls.py measure OUT.jsonl [--budget SECONDS] [--seed N] | rows NEW.json MEASURED.jsonl[.xz]...

Times random convolutions on a CUDA device as long as they keep it busy, whichever streams their kernels run on, and turns
the times into rows of kernel tables (tools/merge_tables.py adds NEW.json to them).

cuDNN runs the groups of a convolution on several streams. The times of their kernels in a profile add up to several
times what a step waits for them. `measure` therefore queues calls behind a pause of the device and divides the time from
the first to the last by their number; it also records which kernels ran. A convolution whose kernels do not overlap gets the
sum of their times, without the gaps between them.

Families: positional filters of speech models; groups; volumes; filters that cover all rows of an image.
"""
import argparse
import json
import lzma
import math
import random
import time

PASSES = {"forward": "forward", "backward_data": "bwd_input", "backward_weight": "bwd_weight"}
PAUSE = int(2e7)  # cycles
DIMS = {2: "n c k h w r s stride_h stride_w pad_h pad_w dil_h dil_w groups".split(),
        3: "n c k d h w t r s stride_d stride_h stride_w pad_d pad_h pad_w dil_d dil_h dil_w groups".split()}


def positional(rng):
    channels = 16 * rng.choice((32, 48, 48, 64))
    return dict(family="positional", n=rng.choice((1, 2, 4, 8, 16, 32)), c=channels, k=channels, size=[1, rng.randint(49, 500)],
                filter=[1, rng.choice((128, 128, 128, 31, 19, 95))], pad="half", groups=16,
                dtype=rng.choice(("tf32", "tf32", "tf32", "fp32")))


def covered(rng):
    rows, c = rng.choice((3, 4, 8, 16, 22, 32, 62, 64, 80, 128)), rng.choice((1, 8, 16, 32, 40, 64, 96))
    return dict(family="covered", n=rng.choice((8, 16, 32, 64, 128)), c=c,
                k=rng.choice((c, 2 * c, 32, 64)) if c > 1 else rng.choice((16, 32, 64)), size=[rows, rng.randint(50, 1000)],
                filter=[rows, rng.choice((1, 1, 1, 3))], pad=0, groups=1, dtype=rng.choice(("fp32", "fp32", "tf32", "bf16")))


def volume(rng):
    side, c = rng.choice((8, 12, 16, 24, 32, 48)), rng.choice((16, 24, 32, 48, 64, 96, 128))
    return dict(family="volume", n=max(1, min(512, int(rng.choice((2e5, 8e5, 3e6)) // side ** 3))), c=c, k=rng.choice((c, c, 2 * c)),
                size=[side] * 3, filter=[rng.choice((3, 3, 3, 5))] * 3, pad="half", groups=1,
                dtype=rng.choice(("bf16", "fp16", "tf32")))


def grouped(rng):
    groups = rng.choice((4, 6, 7, 8, 12, 16, 32))
    c = groups * rng.choice((8, 16, 24, 32, 40, 48, 64, 72, 112, 128))
    return dict(family="grouped", n=rng.choice((2, 8, 16, 32, 64)), c=c, k=c, size=[rng.choice((7, 8, 12, 14, 16, 20, 28))] * 2,
                filter=[3, 3], pad="half", groups=groups, dtype=rng.choice(("fp32", "fp32", "tf32", "fp16", "bf16")),
                stride=rng.choice((1, 1, 1, 2)))


def flop(case):
    return 2 * case["n"] * case["c"] * case["k"] / case["groups"] * math.prod(case["size"] + case["filter"])


def cases(seed):
    rng, families = random.Random(seed), (positional, grouped, volume, covered)
    while True:
        for family in families:
            case = family(rng)
            if 1e8 < flop(case) < 3e12:
                yield case


# ---- measuring -----------------------------------------------------------------------------------------------------------

def calls_of(torch, case):
    """The three passes of a convolution, as functions."""
    line = len(case["size"]) == 2 and case["size"][0] == 1
    size, window = case["size"][line:], case["filter"][line:]
    pad = [w // 2 if case["pad"] == "half" else 0 for w in window]
    rest = ([case.get("stride", 1)] * len(window), pad, [1] * len(window), False, [0] * len(window), case["groups"])
    torch.backends.cudnn.allow_tf32 = case["dtype"] == "tf32"
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(case["dtype"], torch.float32)
    x = torch.randn([case["n"], case["c"], *size], device="cuda", dtype=dtype)
    w = torch.randn([case["k"], case["c"] // case["groups"], *window], device="cuda", dtype=dtype)

    def forward():
        return torch.ops.aten.convolution(x, w, None, *rest)
    dy = torch.randn_like(forward())

    def backward(*which):
        return lambda: torch.ops.aten.convolution_backward(dy, x, w, None, *rest, [*which, False])
    return {"forward": forward, "backward_data": backward(True, False), "backward_weight": backward(False, True)}


def wall(torch, run, repetitions):
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(repetitions):
        run()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) * 1e-3 / repetitions


def kernels(torch, calls):
    """{pass: {name: [number, microseconds]}}; a short pause before each pass marks where it begins."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for run in calls.values():
            torch.cuda._sleep(1000)
            run()
        torch.cuda.synchronize()
    found, names = {name: {} for name in calls}, [None, *calls]
    for event in sorted(profile.events(), key=lambda e: e.time_range.start):
        if "spin" in event.name.lower():
            names.pop(0)
        elif names[0] and not event.name.startswith(("cuda", "Memset")):
            of = found[names[0]].setdefault(event.name[:70], [0, 0.0])
            of[0], of[1] = of[0] + 1, of[1] + event.time_range.elapsed_us()
    return found


def measured(torch, case):
    calls, row = calls_of(torch, case), dict(case)
    for name, run in calls.items():
        for _ in range(3):
            run()
        torch.cuda.synchronize()
        repetitions = max(3, min(20, int(0.02 / max(wall(torch, run, 2), 1e-5))))
        torch.cuda._sleep(PAUSE)
        row[name + "_s"] = wall(torch, run, repetitions)
    row["kernels"] = kernels(torch, calls)
    return row


def measure(given):
    import torch
    torch.backends.cudnn.benchmark = True
    end = time.time() + given.budget
    with open(given.out, "w", encoding="utf-8") as out:
        for case in cases(given.seed):
            if time.time() > end:
                break
            try:
                row = measured(torch, case)
            except RuntimeError as error:
                row = dict(case, error=str(error)[:100])
            out.write(json.dumps(row) + "\n")
            out.flush()
            torch.cuda.empty_cache()


# ---- rows ----------------------------------------------------------------------------------------------------------------

def sizes_of(case):
    dims = len(case["size"])
    stride, pad = [case.get("stride", 1)] * dims, [w // 2 if case["pad"] == "half" else 0 for w in case["filter"]]
    if dims == 2 and case["size"][0] == 1:
        stride[0], pad[0] = 1, 0
    return [case["n"], case["c"], case["k"], *case["size"], *case["filter"], *stride, *pad, *[1] * dims, case["groups"]]


def busy(case, name):
    """(seconds, kernels) of a pass."""
    ran = [of for kernel, of in case["kernels"].get(name, {}).items() if not kernel.startswith("cuda")]
    total = sum(of[1] for of in ran) * 1e-6
    return min(case[name + "_s"], total or math.inf), sum(of[0] for of in ran) or 1


def wanted(case):
    """Groups in 16 bits run short kernels, whose gaps count as much; few images are bound by the host in a step. Times of
    volumes did not help to predict those of other volumes."""
    if "error" in case or case["family"] == "volume":
        return False
    return case["family"] not in ("grouped", "row") or (case["n"] >= 8 and case["dtype"] in ("fp32", "tf32"))


def rows(given):
    tables = {}
    for path in given.measured:
        for case in map(json.loads, lzma.open(path, "rt") if path.endswith(".xz") else open(path, encoding="utf-8")):
            dims = len(case["size"])
            for name, of in PASSES.items() if wanted(case) else ():
                op = "conv" if dims == 2 else "conv3d"
                table = tables.setdefault((op, of, case["dtype"]), {
                    "runtime": "torch-eager", "op": op, "pass": of, "variant": "nchw", "dtype": case["dtype"], "dims": DIMS[dims],
                    "kind": "measured", "source": "bench", "date": given.date, "rows": []})
                seconds, count = busy(case, name)
                table["rows"].append([*sizes_of(case), float(f"{seconds:.4g}"), count])
    with open(given.out, "w", encoding="utf-8") as out:
        json.dump({"kernels": list(tables.values())}, out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ways = parser.add_subparsers(required=True)
    way = ways.add_parser("measure")
    way.add_argument("out")
    way.add_argument("--budget", type=float, default=66)
    way.add_argument("--seed", type=int, default=2017)
    way.set_defaults(run=measure)
    way = ways.add_parser("rows")
    way.add_argument("out")
    way.add_argument("measured", nargs="+")
    way.add_argument("--date", default=time.strftime("%Y-%m-%d"))
    way.set_defaults(run=rows)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
