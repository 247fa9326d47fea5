#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""throttle_h200.py CASES.json -o TIMES.csv [--settings LIST] [--budget SECONDS] [--first N]

Times kernel calls of eager PyTorch on an NVIDIA GPU that runs as a smaller one. The share of multiprocessors is limited
by CUDA MPS, for the programs started here alone; no setting of the card is changed. Needs PyTorch, nvidia-smi and
nvidia-cuda-mps-control, a GPU that no other program uses, and PYTHONPATH=python.

A setting is SHARE or SHARE:busy. SHARE is the percentage of multiprocessors, or `plain` for a run without MPS. With
`:busy` large matrix products run before each visit of a call, so that the card is at its power limit and its clock is
low when the call starts. Each setting is a separate process, in which libraries choose kernels again. The clock is
measured around every visit by a kernel that lasts a known number of cycles. A card whose clock was locked or whose power
limit was lowered beforehand is not changed: the file records clock and limit.

Rows of one file share the calls, so that times are compared with those of the setting `100` of the same run.
"""
import argparse
import csv
import datetime
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import zlib

SETTINGS = "100,50,25,12,100:busy,75,33,100,75:busy,plain"
BUSY_PRODUCTS = 12  # 8192 x 8192 x 8192 in bf16, 1.4 ms each on an H200
COLUMNS = ["run", "sm_share", "busy", "sms", "op", "pass", "variant", "dtype", "dims", "time_s", "spread", "repeats",
           "kernels", "kernel_id", "clock_mhz", "bytes", "flop"]
WATCHED = "clocks.sm,clocks.mem,power.draw,temperature.gpu"


# ---- one setting, in its own process -------------------------------------------------------------------------

def recorder_class():
    """Defined in a function, because the parent process does not need PyTorch."""
    import torch
    from centimani.bench.timers import KernelTimer

    class Recorder(KernelTimer):
        """The benchmark's timer, extended to record clock, spread and kernels of every call."""

        def __init__(self, backend):
            super().__init__(backend)
            self.details, self.items, self.names, self.busy = {}, [], {}, None

        def make_busy(self):
            self.NEAR = 1.0  # use all visits, whatever the clock
            self.busy = torch.randn(8192, 8192, device="cuda").to(torch.bfloat16)

        def _session(self, items):
            self.items, self.names = items, {}
            return super()._session(items)

        def _visit(self, index, visit, item):
            if self.busy is not None:
                for _ in range(BUSY_PRODUCTS):
                    torch.mm(self.busy, self.busy)
            super()._visit(index, visit, item)
            self._mark((index, visit, "clock"))
            self._probe()
            self._mark(None)

        def _cut(self, events):
            position = -1
            for name, _ in events:
                position += name == self.marker
                label = self.labels[position] if 0 <= position < len(self.labels) else None
                if name != self.marker and label and label[2] == "call":
                    self.names.setdefault(label[0], set()).add(name)
            return super()._cut(events)

        def _clock(self, index, visit, found):
            probes = [sum(kernels) for kernels in found.get((index, visit, "clock"), [])]
            return self.CYCLES / statistics.mean(probes) if probes else None

        def _counted(self, index, full, found):
            counted = super()._counted(index, full, found)
            clocks = [clock for visit in range(self.VISITS) if (clock := self._clock(index, visit, found))]
            sums = [sum(kernels) for kernels in counted]
            if len(sums) > 1:
                low, middle, high = statistics.quantiles(sums, n=4)
                # The timer counts visits near the full clock, so their clock is the higher half's.
                clock = statistics.median(clocks) if self.busy is not None else statistics.median_high(sorted(clocks)[1:])
                self.details[self.items[index].case] = (
                    (high - low) / middle, len(sums), clock / 1e6,
                    f"{zlib.crc32(' '.join(sorted(self.names.get(index, []))).encode()):08x}")
            return counted

    return Recorder


def references():
    """Sustained rates of a copy of 2 GiB and of a bf16 product of 8192^3, which show the effect of the setting."""
    import torch

    def seconds(run, count):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        run()
        begin.record()
        for _ in range(count):
            run()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1e-3 / count
    source, side = torch.randn(1 << 29, device="cuda"), 8192
    target, a = torch.empty_like(source), torch.randn(side, side, device="cuda").to(torch.bfloat16)
    out = torch.empty_like(a)
    found = {"copy_tb_s": 2 * 4 * source.numel() / seconds(lambda: target.copy_(source), 50) / 1e12,
             "gemm_tflop_s": 2 * side ** 3 / seconds(lambda: torch.mm(a, a, out=out), 100) / 1e12}
    del source, target, a, out
    torch.cuda.empty_cache()
    return found


class Sink:
    """Replaces a profile: collects rows in the order of measurement."""

    def __init__(self):
        self.rows = []

    def add(self, case, seconds, kernels):
        self.rows.append((case, seconds, kernels))

    def write(self):
        pass


def work(options):
    import torch
    from centimani.bench.backends import BACKENDS
    from centimani.bench.calls import CALLS
    from centimani.bench.cases import read
    from centimani.bench.harness import Harness, work_of
    from centimani.bench.order import InOrder
    cases = read(options.cases, CALLS)[0]
    random.Random(1).shuffle(cases)
    backend, sink = BACKENDS["cuda"], Sink()
    backend.timer = recorder_class()
    backend.start()
    info = references()
    harness = Harness(backend, sink, longest_s=60)
    harness._verify = lambda *_: None  # skip the benchmark's checks of results, to save time
    if options.worker.endswith(":busy"):
        harness.timer.make_busy()
    harness.run(InOrder(cases[:options.first]))
    properties = torch.cuda.get_device_properties(0)
    info.update(sms=properties.multi_processor_count, device=properties.name, torch=torch.__version__,
                cuda=torch.version.cuda, cudnn=torch.backends.cudnn.version(),
                failed=[f"{text}: {why}" for text, why in harness.failed + harness.skipped],
                spent={what: round(seconds, 1) for what, seconds in harness.spent.most_common(6)})
    rows = []
    for case, seconds, kernels in sink.rows:
        spread, repeats, clock, names = harness.timer.details[case]
        flop, elements, width = work_of(case)
        rows.append([*case[:4], "x".join(map(str, case.sizes)), f"{seconds:.5g}", f"{spread:.3f}", repeats, kernels, names,
                     f"{clock:.0f}", f"{elements * width:.5g}", f"{flop:.5g}"])
    with open(options.output, "w", encoding="utf-8") as file:
        json.dump({"info": info, "rows": rows}, file)


# ---- all settings -------------------------------------------------------------------------------------------------

def query(fields, *more):
    words = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits", *more]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


class Mps:
    """A private MPS daemon with its pipe and log in a temporary folder; it ends with this program."""

    def __init__(self, folder):
        self.environment = {**os.environ, "CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": folder}

    def __enter__(self):
        os.makedirs(self.environment["CUDA_MPS_PIPE_DIRECTORY"], exist_ok=True)
        subprocess.run(["nvidia-cuda-mps-control", "-d"], env=self.environment, check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, env=self.environment, check=False)


def watched(words, environment):
    """Run a worker while sampling clocks, power and temperature; return (exit code, samples)."""
    watch = subprocess.Popen(["nvidia-smi", f"--query-gpu={WATCHED}", "--format=csv,noheader,nounits", "-lms", "250"],
                             stdout=subprocess.PIPE, text=True)
    code = subprocess.run(words, env=environment, check=False).returncode
    watch.terminate()
    lines = [line.split(", ") for line in watch.communicate()[0].splitlines()]
    return code, [[float(field) for field in line] for line in lines if len(line) == 4 and "N/A" not in str(line)]


def run_setting(options, setting, mps, folder):
    share, _, busy = setting.partition(":")
    environment = dict(os.environ) if share == "plain" else {**mps.environment, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": share}
    result = os.path.join(folder, "result.json")
    words = [sys.executable, "-W", "ignore", __file__, options.cases, "-o", result, "--worker", setting]
    code, samples = watched(words + (["--first", str(options.first)] if options.first else []), environment)
    if code:
        sys.stderr.write(f"{setting}: the worker ended with {code}\n")
        return None
    with open(result, encoding="utf-8") as file:
        found = json.load(file)
    found["busy"] = int(bool(busy))
    active = [sample for sample in samples if sample[2] > 150] or samples
    found["watched"] = {name: statistics.median(column) for name, column in
                        zip(("sm_mhz", "memory_mhz", "power_w", "temperature_c"), zip(*active))}
    return found


def describe(number, setting, found, took):
    info, seen = found["info"], found["watched"]
    return (f"# run {number}: setting {setting}, {info['sms']} multiprocessors, copy {info['copy_tb_s']:.3f} TB/s, bf16 product "
            f"{info['gemm_tflop_s']:.1f} TFLOP/s; median SM clock {seen['sm_mhz']:.0f} MHz, memory {seen['memory_mhz']:.0f} MHz, "
            f"{seen['power_w']:.0f} W, {seen['temperature_c']:.0f} C; {len(found['rows'])} calls in {took:.0f} s")


def head(info):
    driver, limit, clock = query("driver_version,power.limit,clocks.max.sm").split(", ")
    return (f"# Kernel times of eager PyTorch on {info['device']} with a part of its multiprocessors, {datetime.date.today()}\n"
            f"# driver {driver}, PyTorch {info['torch']}, CUDA {info['cuda']}, cuDNN {info['cudnn']}; power limit {limit} W, "
            f"highest SM clock {clock} MHz\n# made by: tools/throttle_h200.py; spread: distance of quartiles over median\n")


def measure(options):
    begin, notes, body, first = time.monotonic(), [], [], None
    with tempfile.TemporaryDirectory() as folder, Mps(folder) as mps:
        for number, setting in enumerate(options.settings.split(",")):
            start = time.monotonic()
            if options.budget and start - begin > options.budget:
                sys.stderr.write(f"{setting}: no time left\n")
                continue
            found = run_setting(options, setting, mps, folder)
            if not found:
                continue
            first = first or found["info"]
            notes.append(describe(number, setting, found, time.monotonic() - start))
            print(notes[-1], found["info"]["spent"], found["info"]["failed"][:4], flush=True)
            body += [[number, setting.split(":")[0], found["busy"], found["info"]["sms"], *row] for row in found["rows"]]
            with open(options.output, "w", encoding="utf-8", newline="") as file:
                file.write(head(first) + "\n".join(notes) + "\n")
                csv.writer(file, lineterminator="\n").writerows([COLUMNS, *body])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--settings", default=SETTINGS)
    parser.add_argument("--budget", type=float, help="start no new setting after this many seconds")
    parser.add_argument("--first", type=int, help="only so many calls")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    work(options) if options.worker else measure(options)


if __name__ == "__main__":
    main()
