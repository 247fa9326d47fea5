#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure_runtime.py --budget SECONDS -o FOLDER [--device cuda|cpu] [--parts LIST] [--base ID]

Measures what today's training code runs, and writes what it has after every group of calls:

    FOLDER/tables.json   kernel tables for `centimani merge`: attention by kernel, 8-bit products, experts
    FOLDER/found.json    the attention kernel that PyTorch picks (by the names in the profiler), casts to 8 bits,
                         transformer blocks in bf16 and 8 bits, experts with unequal numbers of tokens

Each part gets its share of the budget and what earlier parts left. A second run with the same FOLDER continues the
tables. Needs PyTorch 2.5 or later; PYTHONPATH=python.
"""
import argparse
import datetime
import gc
import json
import os
import pathlib
import sys
import time
import traceback

import torch

import fp8_blocks
import runtime_cases
from centimani.bench import calls_scaled
from centimani.bench.backends import BACKENDS
from centimani.bench.call import Sizes
from centimani.bench.calls import CALLS, TORCH_DTYPES, Tensors
from centimani.bench.cases import Case, label
from centimani.bench.harness import Harness
from centimani.bench.order import InOrder
from centimani.bench.profile import Profile


class Run:
    """The folder, the device, and the rows of found.json."""

    def __init__(self, options):
        self.folder, self.cuda = pathlib.Path(options.output), options.device == "cuda"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.backend = BACKENDS[options.device]
        self.profile = Profile(str(self.folder / "tables.json"), self.backend, "tools/measure_runtime.py", options.base)
        if (self.folder / "tables.json").exists():
            self.profile.resume()
        self.backend.start()
        self.found = {"date": datetime.date.today().isoformat(), "torch": torch.__version__,
                      "device": self.backend.title(), "versions": self.backend.versions()}

    def add(self, part, row):
        self.found.setdefault(part, []).append(row)
        self.write()

    def write(self):
        path = self.folder / "found.json"
        path.with_suffix(".new").write_text(json.dumps(self.found))
        os.replace(path.with_suffix(".new"), path)

    def try_to(self, part, row, measure):
        """Add row and what measure() returns, or its error: a failing row stops nothing."""
        try:
            row.update(measure())
        except Exception as error:
            row["error"] = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
            if os.environ.get("CENTIMANI_TRACE"):
                traceback.print_exc()
        self.add(part, row)
        gc.collect()
        self.backend.release()

    def tables(self, cases, until):
        waiting = [case for case in cases if not self.profile.holds(case)]
        harness = Harness(self.backend, self.profile, 0.6, until)
        harness.run(InOrder(waiting))
        self.profile.write()
        for kind in ("skipped", "failed", "wrong"):
            for text, reason in getattr(harness, kind):
                self.found.setdefault(kind, []).append([text, reason[:200]])
        self.write()


# ---- parts ------------------------------------------------------------------------------------------------------

def kernel_of(names):
    """The attention implementation that these kernels belong to."""
    joined = " ".join(names).lower()
    for kernel, signs in (("cudnn", ("cudnn",)), ("efficient", ("fmha_cutlass", "efficient")), ("flash", ("flash",))):
        if any(sign in joined for sign in signs):
            return kernel
    return "math"


def _names(run):
    from centimani.bench.timers import Session
    run()
    with Session() as session:
        run()
    return [name for name, _ in session.events]


def picks(run, until):
    """Which kernel PyTorch picks on its own, for every kind of attention and size of head."""
    heads = [(8, 8, width) for width in (32, 64, 80, 96, 128, 160, 192, 256, 40, 36)] + [(8, 2, 64), (8, 2, 128), (8, 8, 512)]
    kinds = ("", "dropout", "mask", "fixed", "bias", "mask-dropout")
    rows = [(kind, dtype, phase, (2, length, length, *head, causal)) for length in (1024, 77, 4096) for kind in kinds
            for dtype in ("bf16", "fp32", "fp16") for head in heads for causal in (0, 1)
            for phase in ("forward", "backward") if length == 1024 or (dtype == "bf16" and head[2] in (64, 128))]
    for kind, dtype, phase, sizes in rows:
        if time.monotonic() > until or not run.cuda:
            return
        case = Case("attention", phase, kind, dtype, sizes)

        def look(case=case):
            call = CALLS["attention"]
            tensors = Tensors("cuda", TORCH_DTYPES[case.dtype])
            operands, prepare = call.build(Sizes(call.dims, case.sizes), case, tensors)
            names = _names(prepare(*operands))
            return {"kernel": kernel_of(names), "names": [name[:120] for name in names]}
        run.found.setdefault("picks", [])
        try:
            run.found["picks"].append({"case": label(case), **look()})
        except Exception as error:
            run.found["picks"].append({"case": label(case), "error": str(error).splitlines()[0][:200]})
    run.write()


def blocks(run, until):
    """Steps of transformer blocks: most wanted rows first."""
    sizes = (4096, 2048, 8192, 1024, 6144, 3072) if run.cuda else (256,)
    tokens = (4, 2048) if run.cuda else (1, 256)
    rows = [(width, recipe, True) for width in sizes[:4] for recipe in ("bf16", "tensor", "row")]
    rows += [(width, recipe, False) for width in sizes[:4] for recipe in ("bf16", "tensor", "delayed")]
    rows += [(width, recipe, True) for width in sizes[:4] for recipe in ("delayed", "row-weights", "block")]
    rows += [(width, recipe, way) for width in sizes[4:] for way in (True, False) for recipe in ("bf16", "tensor")]
    for width, recipe, compiled in rows:
        if time.monotonic() > until:
            return
        row = {"width": width, "recipe": recipe, "compiled": compiled}
        run.try_to("blocks", row, lambda: fp8_blocks.measure(width, recipe, compiled, tokens, run.backend.device()))
        torch._dynamo.reset()


def both_ways(x, dtype):
    values, scale = fp8_blocks.by_tensor(x, dtype)
    return values, values.t().contiguous(), scale


def known_scale(x, dtype):
    return fp8_blocks.quantized(x, torch.ones((), device=x.device), dtype)


CASTS = {"amax": lambda x, dtype: x.abs().amax(), "known": known_scale, "tensor": fp8_blocks.by_tensor,
         "tensor-both": both_ways, "row": fp8_blocks.by_row, "part": fp8_blocks.by_part, "square": fp8_blocks.by_square,
         "columns": lambda x, dtype: fp8_blocks.by_row(x.t().contiguous(), dtype)}


def casts(run, until):
    """Casts to 8 bits with their scales, as PyTorch runs them and compiled: kernels of each, with their times."""
    sizes = ((8192, 4096), (8192, 14336), (4096, 4096), (16384, 8192), (2048, 2048))
    for rows, cols in sizes if run.cuda else ((256, 256),):
        for name, cast in CASTS.items():
            for compiled in (True, False):
                if time.monotonic() > until:
                    return
                row = {"cast": name, "rows": rows, "cols": cols, "compiled": compiled}
                run.try_to("casts", row, lambda: cast_times(run, cast, rows, cols, compiled))
        torch._dynamo.reset()


def cast_times(run, cast, rows, cols, compiled):
    x = torch.randn(rows, cols, device=run.backend.device(), dtype=torch.bfloat16)
    call = torch.compile(cast, dynamic=False) if compiled else cast

    def once():
        with torch.no_grad():
            call(x, torch.float8_e4m3fn)
    for _ in range(3):
        once()
    return {"kernels": fp8_blocks._kernels(once)} if run.cuda else {}


def uneven(run, until):
    """Experts with unequal numbers of tokens: shares that fall as 1 / (1 + index) ** power, in one call."""
    for (count, tokens, out, into), power in ((size, power) for size in (
            (8, 16384, 14336, 4096), (64, 16384, 1408, 2048), (128, 32768, 768, 2048), (16, 8192, 2048, 7168))
            for power in (0.0, 0.5, 1.0)):
        for form in ("nt", "nn", "tn"):
            if time.monotonic() > until or not run.cuda:
                return
            row = {"experts": count, "tokens": tokens, "out": out, "in": into, "power": power, "form": form}
            run.try_to("uneven", row, lambda: uneven_times(count, tokens, out, into, power, form))


def uneven_times(count, tokens, out, into, power, form):
    shares = torch.tensor([(1 + index) ** -power for index in range(count)])
    ends = (shares.cumsum(0) / shares.sum() * tokens).round().int().tolist()
    a = torch.randn(tokens, {"nt": into, "nn": out, "tn": out}[form], device="cuda", dtype=torch.bfloat16)
    shape = (tokens, into) if form == "tn" else (count, out, into)
    b = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
    call = calls_scaled.experts(a, ends, form, True)
    for _ in range(3):
        call(a, b)
    times = [sum(row[0] for row in fp8_blocks._kernels(lambda: call(a, b)).values()) for _ in range(5)]
    return {"seconds": sorted(times)[2], "largest": max(b - a for a, b in zip([0] + ends, ends))}


def _tables(listed):
    return lambda run, until: run.tables(listed(), until)


PARTS = {"picks": (0.08, picks), "attention": (0.30, _tables(runtime_cases.attention)),
         "fp8": (0.14, _tables(runtime_cases.eight_bit)), "blocks": (0.26, blocks),
         "experts": (0.10, _tables(runtime_cases.experts)), "casts": (0.08, casts), "uneven": (0.04, uneven)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, required=True, metavar="SECONDS")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--parts", default=",".join(PARTS), metavar="LIST", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--base", default="nvidia-h200", metavar="ID", help="the profile that the tables extend")
    options = parser.parse_args()
    begin, allowed, run = time.monotonic(), 0.0, Run(options)
    chosen = {part: PARTS[part] for part in options.parts.split(",")}
    total = sum(share for share, _ in chosen.values())
    for part, (share, measure) in chosen.items():
        allowed += share / total * options.budget
        started = time.monotonic()
        try:
            measure(run, begin + allowed)
        except Exception as error:  # the other parts are still measured
            run.add("errors", [part, str(error)[:400]])
            traceback.print_exc()
        sys.stderr.write(f"{part}: {time.monotonic() - started:.0f} s\n")
    run.profile.write()
    run.write()


if __name__ == "__main__":
    main()
