# SPDX-License-Identifier: Apache-2.0
"""compiled.py - run training steps of a list under torch.compile on this machine's GPU, and eagerly for comparison.

    PYTHONPATH=python python3 tools/first_sight/compiled.py LIST.tsv -o MEASURED.jsonl [--budget SECONDS] [--workers N]

LIST.tsv is written by `predict.py list --runtime torch-compile`; its columns case, mode, precision, layout, batch and
optimizer are read. Compiling takes longer than measuring, so every row is a process of its own, and several compile at
the same time; while one takes the time of steps, it stops the others (gpu_turns.py). Rows are also run eagerly. Per row: time of a step, kernel time, peak memory, time of each kernel by
name, and what the compiler says about the kernels that it generated (sizes, operands). Lines are appended, so that a
run can be continued. compiled.sh runs this and the benchmark of generated kernels.
"""
import argparse
import contextlib
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

import compare
import gpu_turns
import measure

WARM, MOST_STEPS, MOST_SECONDS, ROUNDS = 4, 20, 0.1, 3
AUTOTUNE_THREADS = 5  # that compile candidates of one network in mode max-autotune
KEPT_KERNELS = 600    # names per row


class Device:
    """The device that all processes of a run share."""

    def __init__(self, name, turns, eager=True):
        self.name, self.turns, self.eager = name, turns, eager

    def synchronize(self):
        if self.name == "cuda":
            torch.cuda.synchronize()

    def tidy(self):
        gc.collect()
        if self.name == "cuda":
            measure.without_workspaces()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()


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
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(count):
            step()
        hosts.append((time.perf_counter() - begin) / count)
        device.synchronize()
        times.append((time.perf_counter() - begin) / count)
    return {"step_s": statistics.median(times), "queued_s": statistics.median(hosts), "steps": count}


def profile_of(device, step):
    if device.name != "cuda":
        return None
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    return profile


def kernels(profile):
    """Kernel time by sum and union, and [name, launches, microseconds] of the kernels of one step."""
    if profile is None:
        return {}
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
    """Times and memory. Kernels are profiled later: a profiler that was once used slows all launches."""
    with device.turns.alone():
        if device.name != "cuda":
            return timed(device, step)
        return {"probe_s": measure.host_probe()} | timed(device, step) | measure.peaks(step)


def profiled(device, step):
    with device.turns.alone():
        profiles = [profile_of(device, step) for _ in range(measure.PROFILES)]
    return measure.quieter(kernels(p) for p in profiles)


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
    step = case.step_of(case.model)
    with device.turns.tuning():
        step()
        device.synchronize()
    result["eager"] = measured(device, step)
    device.tidy()
    return step


def compiled_part(device, case, mode, result):
    from centimani import inductor
    begin = time.perf_counter()
    with inductor.recorded() as generated:
        step = case.step_of(torch.compile(case.model, mode=mode))
        step()
        device.synchronize()
    result["compile_s"] = time.perf_counter() - begin
    result.update(measured(device, step))
    result["generated"] = generated
    return step


def one(device, row, result):
    settings(row["mode"])
    case = measure.Case(row, device.name)
    eager = eager_part(device, case, result) if device.eager else None
    compiled = compiled_part(device, case, row["mode"], result)
    result.update(profiled(device, compiled))
    if eager:
        result["eager"].update(profiled(device, eager))
    result["alone_s"] = device.turns.alone_s


def child(device, row, output):
    result = {k: row[k] for k in ("case", "mode", "precision", "layout", "optimizer")} | {"batch": int(row["batch"])}
    begin = time.perf_counter()
    try:
        one(device, row, result)
    except Exception as error:  # noqa: BLE001 - one broken network must not end the campaign
        result["error"] = repr(error)[:300]
        traceback.print_exc(limit=-4, file=sys.stderr)
    result["all_s"] = time.perf_counter() - begin
    gpu_turns.appended(output, json.dumps(result))
    os._exit(0)  # libraries would take minutes to clean up


# ---- all rows ------------------------------------------------------------------------------------------------------


def rows_of(path, output, only):
    done = set()
    if os.path.exists(output):
        done = {(r["case"], r["mode"]) for r in map(json.loads, open(output))}
    return [r for r in compare.table(path) if only in r["case"] and (r["case"], r["mode"]) not in done]


class Run:
    """Processes, at most `workers` at a time, until the rows or the budget are spent."""

    def __init__(self, args, rows):
        self.args, self.rows, self.begin = args, rows, time.perf_counter()
        self.context = multiprocessing.get_context("fork")
        self.turns = gpu_turns.Turns(args.workers)
        self.folder = tempfile.mkdtemp()
        self.live = [None] * args.workers  # (process, row)
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(self.folder, "inductor")
        os.environ["TRITON_CACHE_DIR"] = os.path.join(self.folder, "triton")

    def spent(self):
        return time.perf_counter() - self.begin

    def start(self, place, row):
        process = self.context.Process(target=child, args=(Device(self.args.device, self.turns, not self.args.no_eager), row, self.args.output))
        process.start()
        self.turns.pids[place] = process.pid
        self.live[place] = (process, row, self.spent())

    def collect(self):
        for place, entry in enumerate(self.live):
            if entry and not entry[0].is_alive():
                entry[0].join()
                self.turns.pids[place], self.live[place] = 0, None
                if entry[0].exitcode:  # it died, perhaps while the others stood still
                    self.turns.tell_others(signal.SIGCONT)
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
    parser.add_argument("--no-eager", action="store_true", help="leave out the eager steps, and with them the speed-up")
    args = parser.parse_args()
    rows = rows_of(args.list, args.output, args.only)
    measure.cases.load(args.list)
    run = Run(args, rows)
    preload(args.device)
    print(f"{run.spent():6.0f} s {len(rows)} rows, {args.workers} processes", flush=True)
    run.all()


if __name__ == "__main__":
    main()
