# SPDX-License-Identifier: Apache-2.0
"""compiled.py - run training steps of a list under torch.compile on this machine's GPU, and eagerly for comparison.

    PYTHONPATH=python python3 tools/first_sight/compiled.py LIST.tsv -o MEASURED.jsonl [--budget SECONDS] [--workers N]

LIST.tsv is written by `predict.py list --runtime torch-compile`; its columns case, mode, precision, layout, batch and
optimizer are read. Compiling takes longer than measuring, so every row is a process of its own, and several compile at
the same time. Only the process that holds the lock uses the GPU; while it takes the time of steps, it stops the others.
Rows in mode `default` are also run eagerly. Per row: time of a step, kernel time, peak memory, time of each kernel by
name, and what the compiler says about the kernels that it generated (sizes, operands). Lines are appended, so that a
run can be continued. compiled.sh runs this and the benchmark of generated kernels.
"""
import argparse
import contextlib
import csv
import fcntl
import gc
import json
import multiprocessing
import os
import signal
import statistics
import sys
import tempfile
import time
import traceback

import torch

import measure

WARM, MOST_STEPS, MOST_SECONDS, ROUNDS = 4, 20, 0.2, 3
AUTOTUNE_THREADS = 5  # that compile candidates of one network in mode max-autotune
KEPT_KERNELS = 600    # names per row


class Device:
    """The device for which all processes queue. `siblings` are the ids of the processes of this run."""

    def __init__(self, name, lock_path, siblings):
        self.name, self.siblings = name, siblings
        self.lock, self.held = open(lock_path, "w"), False

    def take(self):
        if not self.held:
            fcntl.flock(self.lock, fcntl.LOCK_EX)
            self.held = True

    def give(self):
        if self.held:
            self.synchronize()
            self.held = False
            fcntl.flock(self.lock, fcntl.LOCK_UN)

    def synchronize(self):
        if self.name == "cuda":
            torch.cuda.synchronize()

    def tidy(self):
        gc.collect()
        if self.name == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

    def _tell_others(self, what):
        for process in list(self.siblings):
            if process > 0 and process != os.getpid():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, what)

    @contextlib.contextmanager
    def quiet(self):
        """The other processes of this run stand still: they would take cycles and bandwidth of the host."""
        self._tell_others(signal.SIGSTOP)
        try:
            yield
        finally:
            self._tell_others(signal.SIGCONT)


# ---- one row -------------------------------------------------------------------------------------------------------


def timed(device, step):
    """Median seconds of a step, host seconds until its last launch, and how many were run."""
    for _ in range(WARM):
        step()
    device.synchronize()
    if device.name == "cuda":
        torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    step()
    device.synchronize()
    count = max(3, min(MOST_STEPS, int(MOST_SECONDS / max(time.perf_counter() - begin, 1e-3))))
    times, hosts = [], []
    with device.quiet():
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            for _ in range(count):
                step()
            hosts.append((time.perf_counter() - begin) / count)
            device.synchronize()
            times.append((time.perf_counter() - begin) / count)
    return {"step_s": statistics.median(times), "queued_s": statistics.median(hosts), "steps": count}


def memory(device):
    if device.name != "cuda":
        return {}
    return {"peak_allocated": torch.cuda.max_memory_allocated(), "peak_reserved": torch.cuda.max_memory_reserved()}


def kernels(device, step):
    """Kernel time by sum and union, and [name, launches, microseconds] of the kernels of one step."""
    if device.name != "cuda":
        return {}
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    spans, table = [], {}
    for e in profile.events():
        if e.device_type != torch.autograd.DeviceType.CUDA or getattr(e, "is_user_annotation", False):
            continue
        spans.append((e.time_range.start, e.time_range.end))
        row = table.setdefault(e.name[:160], [0, 0.0])
        row[0] += 1
        row[1] += e.time_range.end - e.time_range.start
    union, last = 0.0, -1.0
    for begin, end in sorted(spans):
        union += max(0.0, end - max(begin, last))
        last = max(last, end)
    rows = sorted(([name, n, round(us, 3)] for name, (n, us) in table.items()), key=lambda r: -r[2])[:KEPT_KERNELS]
    return {"busy_s": sum(b - a for a, b in spans) / 1e6, "union_s": union / 1e6, "launches": len(spans), "kernels": rows}


def measured(device, step):
    found = timed(device, step)
    found.update(memory(device))
    found.update(kernels(device, step))
    return found


def compiled_model(device, model, mode):
    """The model under torch.compile. Compiling happens without the device, running with it."""
    from torch._inductor import list_mode_options
    from torch._inductor.compile_fx import compile_fx

    def backend(graph, inputs):
        device.give()
        try:
            return compile_fx(graph, inputs, config_patches=list_mode_options(mode))
        finally:
            device.take()
    return torch.compile(model, backend=backend)


def locked_benchmarks(device):
    """Inductor tries kernels while it compiles (max-autotune): each try waits for the device."""
    from torch._inductor.runtime import benchmarking

    def locked(original):
        def run(*args, **keywords):
            had = device.held
            device.take()
            try:
                return original(*args, **keywords)
            finally:
                if not had:
                    device.give()
        return run
    for kind in (benchmarking.TritonBenchmarker, benchmarking.InductorBenchmarker):
        if "benchmark_gpu" in kind.__dict__:
            kind.benchmark_gpu = locked(kind.benchmark_gpu)


def settings(mode):
    import torch._functorch.config as functorch
    import torch._inductor.config as inductor
    functorch.force_non_lazy_backward_lowering = True  # backward is compiled with forward, without the device
    inductor.fx_graph_cache = functorch.enable_autograd_cache = False  # or nothing would be recorded
    inductor.compile_threads = AUTOTUNE_THREADS if mode.startswith("max") else 1
    os.environ.update(DISABLE_CUPTI_LAZY_REINIT="1", TEARDOWN_CUPTI="0")  # torch.compile sets them for CUDA graphs
    torch.backends.cudnn.benchmark = True
    torch.set_num_threads(1)


def eager_part(device, case, result):
    result["eager"] = measured(device, case.step_of(case.model))
    device.tidy()


def compiled_part(device, case, mode, result):
    from centimani import inductor
    locked_benchmarks(device)
    device.give()
    begin = time.perf_counter()
    with inductor.recorded() as generated:
        step = case.step_of(compiled_model(device, case.model, mode))
        step()
    device.take()
    device.synchronize()
    result["compile_s"] = time.perf_counter() - begin
    result["probe_s"] = measure.host_probe() if device.name == "cuda" else 0
    result.update(measured(device, step))
    result["generated"] = generated


def one(device, row, result):
    settings(row["mode"])
    if device.name == "cuda":
        torch.zeros(1, device="cuda")  # a context takes a second and no time of kernels
    device.take()
    case = measure.Case(row, device.name)
    if row["mode"] == "default":
        eager_part(device, case, result)
    compiled_part(device, case, row["mode"], result)


def child(device, row, output):
    result = {k: row[k] for k in ("case", "mode", "precision", "layout", "optimizer")} | {"batch": int(row["batch"])}
    begin = time.perf_counter()
    try:
        one(device, row, result)
    except Exception as error:  # noqa: BLE001 - one broken network must not end the campaign
        result["error"] = repr(error)[:300]
        traceback.print_exc(limit=-4, file=sys.stderr)
    result["all_s"] = time.perf_counter() - begin
    with open(output, "a") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        out.write(json.dumps(result) + "\n")
    os._exit(0)  # without the minutes that libraries take to clean up


# ---- all rows ------------------------------------------------------------------------------------------------------


def rows_of(path, output, only):
    done = set()
    if os.path.exists(output):
        done = {(r["case"], r["mode"]) for r in map(json.loads, open(output))}
    with open(path) as lines:
        rows = csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t")
        return [r for r in rows if only in r["case"] and (r["case"], r["mode"]) not in done]


class Run:
    """Processes, at most `workers` at a time, until the rows or the budget are spent."""

    def __init__(self, args, rows):
        self.args, self.rows, self.begin = args, rows, time.perf_counter()
        self.context = multiprocessing.get_context("fork")
        self.siblings = self.context.Array("i", args.workers, lock=False)
        self.folder = tempfile.mkdtemp()
        self.live = [None] * args.workers  # (process, row)
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(self.folder, "inductor")
        os.environ["TRITON_CACHE_DIR"] = os.path.join(self.folder, "triton")

    def spent(self):
        return time.perf_counter() - self.begin

    def start(self, place, row):
        device = Device(self.args.device, os.path.join(self.folder, "lock"), self.siblings)
        process = self.context.Process(target=child, args=(device, row, self.args.output))
        process.start()
        device.lock.close()
        self.siblings[place] = process.pid
        self.live[place] = (process, row, self.spent())

    def wake(self):
        for entry in self.live:
            if entry and entry[0].is_alive():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(entry[0].pid, signal.SIGCONT)

    def collect(self):
        for place, entry in enumerate(self.live):
            if entry and not entry[0].is_alive():
                entry[0].join()
                self.siblings[place], self.live[place] = 0, None
                self.wake()  # in case it died while the others stood still
                print(f"{self.spent():6.0f} s {entry[1]['case']} {entry[1]['mode']} exit {entry[0].exitcode} "
                      f"after {self.spent() - entry[2]:.0f} s, {len(self.rows)} wait", flush=True)

    def stop(self):
        for entry in self.live:
            if entry:
                print("not finished:", entry[1]["case"], entry[1]["mode"], flush=True)
                entry[0].kill()
                entry[0].join()

    def all(self):
        while self.rows or any(self.live):
            if self.spent() > self.args.budget:
                return self.stop()
            for place in range(self.args.workers):
                if self.rows and not self.live[place] and self.spent() < self.args.budget - self.args.last:
                    self.start(place, self.rows.pop(0))
            if self.spent() > self.args.budget - self.args.last and not any(self.live):
                return None
            time.sleep(0.05)
            self.collect()
        return None


def preload(device):
    """Import what the processes need before they are forked. Counting GPUs here would forbid them to use one."""
    from unittest import mock
    with mock.patch.object(torch.cuda, "is_available", lambda: device == "cuda"):
        for name in ("torchvision", "timm", "transformers", "torch._inductor.compile_fx", "torch._inductor.codegen.triton",
                     "torch._inductor.select_algorithm"):
            with contextlib.suppress(ImportError):
                __import__(name)
    if torch.cuda.is_initialized():
        raise SystemExit("an import initialised CUDA: the processes could not use it")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--budget", type=float, default=1e9)
    parser.add_argument("--last", type=float, default=40, metavar="SECONDS", help="start no row this long before the end")
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    rows = rows_of(args.list, args.output, args.only)
    run = Run(args, rows)
    preload(args.device)
    print(f"{run.spent():6.0f} s {len(rows)} rows, {args.workers} processes", flush=True)
    run.all()


if __name__ == "__main__":
    main()
