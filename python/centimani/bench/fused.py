# SPDX-License-Identifier: Apache-2.0
"""fused.py - python -m centimani bench --suite compiled: times of kernels that torch.compile generates.

Compiling takes much longer than measuring, so processes compile cases in parallel and queue for the device. A group of
cases is one graph with one part per case; the profiler's kernel names join the times with what the compiler says about
each kernel. The output has a line of JSON per kernel: the compiler's record, its group and its time in microseconds.
"""
import argparse
import fcntl
import json
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time

PER_GROUP, GROUP_BYTES, ROUNDS = 12, 5 << 30, 6


def _options(words):
    parser = argparse.ArgumentParser(prog="python -m centimani bench --suite compiled", description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--budget", type=float, default=300, metavar="SECONDS", help="stop after this time (default: 300)")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N", help="processes (default: one per core)")
    parser.add_argument("--products", type=int, default=2, metavar="N",
                        help="of these, processes that measure products with epilogues (default: 2)")
    parser.add_argument("--dtypes", default="fp32,bf16,fp16")
    parser.add_argument("--seed", default="1")
    parser.add_argument("-o", "--output", default="fused.jsonl", metavar="FILE")
    return parser.parse_args(words)


def _times(run, device):
    """Microseconds by kernel name: the median over rounds of each launch, launches of one name added."""
    import torch
    from .timers import Session
    if device != "cuda":
        run()
        return {}
    rounds = []
    for _ in range(2):
        run()
    for _ in range(ROUNDS):
        with Session() as session:
            run()
        found = {}
        for name, seconds in session.events:
            found.setdefault(name, []).append(seconds * 1e6)
        rounds.append(found)
    torch.cuda.synchronize()
    return {name: [round(statistics.median(parts), 3) for parts in zip(*(r.get(name, []) for r in rounds))]
            for name in rounds[0]}


class Worker:
    """One process: draws groups of cases from its own seed, compiles them, and measures them when the device is free."""

    def __init__(self, options, number, lock_path, deadline):
        self.options, self.number, self.deadline = options, number, deadline
        self.lock, self.r = open(lock_path, "w"), random.Random(f"{options.seed} {number}")
        self.products = number < options.products
        self.dtypes = options.dtypes.split(",")

    def group(self):
        from .fused_cases import bytes_of, drawn, drawn_product
        draw, cases, used = drawn_product if self.products else drawn, [], 0
        while len(cases) < (2 if self.products else PER_GROUP):
            case = draw(self.r, self.dtypes)
            if self.options.device == "cpu":
                case = {**case, "rows": max(1, case["rows"] >> 10), "columns": min(case["columns"], 256)}
            if used + bytes_of(case) < GROUP_BYTES:
                cases.append(case)
                used += bytes_of(case)
        return cases

    def compiled(self, parts):
        """All parts as one compiled function. It is called without the lock and holds it when it starts to run."""
        import torch
        from torch._inductor import list_mode_options
        from torch._inductor.compile_fx import compile_fx
        mode = "max-autotune-no-cudagraphs" if self.products else "default"

        def backend(graph, inputs):
            try:
                return compile_fx(graph, inputs, config_patches=list_mode_options(mode))
            finally:
                fcntl.flock(self.lock, fcntl.LOCK_EX)
        return torch.compile(lambda all_inputs: [part(xs) for part, xs in zip(parts, all_inputs)], backend=backend,
                             fullgraph=True)

    def measure(self, cases):
        import torch
        from .. import inductor
        from .fused_cases import function_of, inputs_of
        torch._dynamo.reset()
        with torch.no_grad(), inductor.recorded() as generated:
            fcntl.flock(self.lock, fcntl.LOCK_EX)
            inputs = [inputs_of(case, self.options.device) for case in cases]
            if self.options.device == "cuda":
                torch.cuda.synchronize()
            fcntl.flock(self.lock, fcntl.LOCK_UN)
            try:
                whole = self.compiled([function_of(case) for case in cases])
                times = _times(lambda: whole(inputs), self.options.device)
            finally:
                del inputs
                if self.options.device == "cuda":
                    torch.cuda.empty_cache()
                fcntl.flock(self.lock, fcntl.LOCK_UN)
        return generated, times

    def write(self, cases, generated, times, group):
        names = {record["kernel"] for record in generated}
        lines = [{"group": group, **record, "us": times.get(record["kernel"], [])} for record in generated]
        others = {name: us for name, us in times.items() if name not in names}
        lines.append({"group": group, "cases": cases, "others": others})
        with open(self.options.output, "a", encoding="utf-8") as out:
            fcntl.flock(out, fcntl.LOCK_EX)
            out.write("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))

    def run(self):
        import torch
        import torch._inductor.config as config
        config.compile_threads, config.fx_graph_cache = 1, False
        torch.set_num_threads(1)
        number = 0
        while time.monotonic() < self.deadline:
            cases, number = self.group(), number + 1
            try:
                self.write(cases, *self.measure(cases), f"{self.number}.{number}")
            except Exception as error:  # noqa: BLE001 - a group that fails is reported, others are measured
                sys.stderr.write(f"group {self.number}.{number}: {type(error).__name__}: {str(error)[:300]}\n")


def _process(options, number, lock_path, deadline):
    Worker(options, number, lock_path, deadline).run()
    os._exit(0)


def _preload(device):
    """Import the compiler once, before processes are forked. Counting GPUs here would forbid them to use one."""
    from unittest import mock
    import torch
    with mock.patch.object(torch.cuda, "is_available", lambda: device == "cuda"):
        for name in ("torch._inductor.compile_fx", "torch._inductor.codegen.triton", "torch._inductor.select_algorithm"):
            __import__(name)


def main(words):
    options = _options(words)
    folder = tempfile.mkdtemp()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "inductor")
    os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")
    deadline = time.monotonic() + options.budget
    _preload(options.device)
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_process, args=(options, n, os.path.join(folder, "lock"), deadline))
                 for n in range(options.workers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(max(1, deadline + 10 - time.monotonic()))
        if process.is_alive():
            process.kill()
    lines = sum(1 for _ in open(options.output, encoding="utf-8")) if os.path.exists(options.output) else 0
    sys.stderr.write(f"{options.output}: {lines} lines\n")
    return 0 if lines else 1
