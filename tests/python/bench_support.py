# SPDX-License-Identifier: Apache-2.0
"""bench_support.py - shared by the tests of the benchmark: cases, a CPU harness, a fake device, TAP output."""
import collections
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback
import types

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
sys.path.insert(0, str(PACKAGE))
sys.dont_write_bytecode = True
try:
    import torch
except ImportError:
    sys.exit("this Python has no PyTorch (Debian: python3-torch)")

from centimani.bench import backends, harness, profile, timers  # noqa: E402

# Small enough for a second, and with distinct sizes, so that swapped rows and columns are noticed.
SMALL = {
    "gemm": [(1, 33, 17, 29), (3, 8, 9, 10)],
    "conv": [(2, 8, 12, 9, 11, 3, 3, 2, 1, 1, 1, 1, 1, 1), (2, 8, 8, 9, 9, 3, 3, 1, 1, 1, 1, 1, 1, 8),
             (2, 8, 12, 1, 16, 1, 3, 1, 2, 0, 1, 1, 1, 1)],
    "conv3d": [(1, 4, 4, 6, 7, 8, 3, 3, 3, 1, 2, 1, 1, 0, 1, 1, 1, 2, 1)],
    "attention": [(2, 16, 16, 4, 4, 8, 0), (2, 16, 16, 4, 2, 8, 1)],
    "batch_norm": [(4, 8, 49)], "layer_norm": [(33, 64)], "rms_norm": [(33, 64)], "group_norm": [(4, 8, 49, 4)],
    "softmax": [(33, 65)], "cross_entropy": [(33, 65)], "elementwise": [(33, 64)], "reduce": [(7, 8, 9), (1, 1000, 1)],
    "pool": [(2, 4, 9, 9, 3, 2, 1), (2, 4, 1, 16, 4, 2, 1)], "resize": [(2, 4, 5, 5, 10, 10)], "embedding": [(32, 100, 16)],
    "resize3d": [(2, 4, 3, 4, 5, 4, 6, 7)], "sort": [(33, 65, 7)], "fft": [(3, 12, 1, 1), (2, 8, 6, 4)],
    "rnn": [(2, 5, 8, 8, 2, 2)], "optimizer": [(7, 1000)],
}
NEEDS = {"attention": hasattr(torch.nn.functional, "scaled_dot_product_attention"),
         "rms_norm": hasattr(torch.nn.functional, "rms_norm")}


def bench(*words, **options):
    call = [sys.executable, "-m", "centimani", "bench", "--device", "cpu", *map(str, words)]
    return subprocess.run(call, cwd=PACKAGE, capture_output=True, text=True, check=False, timeout=300, **options)


def case_file(folder, tables):
    path = pathlib.Path(folder, "cases.json")
    path.write_text(json.dumps({"schema": 1, "cases": tables}))
    return path


def on_processor(cold=True, **changes):
    backend = copy.copy(backends.BACKENDS["cpu"])
    backend.__dict__.update(changes)
    made = profile.Profile(None, backend, "test", cold=cold)
    return harness.Harness(backend, made, 10, cold=cold), made


ADD = {"op": "elementwise", "pass": "forward", "variant": "add", "dtype": "fp32", "dims": ["outer", "inner"]}


class FakeDevice:
    """Replaces CUDA and its profiler: logs launched kernels with their time at the current clock."""

    def __init__(self, lose=0):
        self.log, self.lose, self.clock = [], lose, 2e9
        device = self

        class Session:
            def __enter__(self):
                device.log.clear()
                return self

            def __exit__(self, *_):
                self.events = device.log[:len(device.log) - device.lose]

        class Timer(timers.KernelTimer):
            def __init__(self):
                self.backend, self.labels, self.marker = types.SimpleNamespace(precision=lambda _: None), [], "marker"
                self.clocks = collections.defaultdict(list)
                self.crowd = lambda: device.log.append(("crowd", 1.0))

            def _sweep(self):
                device.log.append(("sweep", 1.0))

            def _mark(self, label):
                self.labels.append(label)
                device.log.append(("marker", 1e-6))

            def _probe(self):
                device.log.append(("spin", self.CYCLES / device.clock))

            def wake(self, seconds):
                device.log.append(("wake", 1.0))
        self.session, self.timer = Session, Timer()

    def launch(self, *seconds):
        self.log.extend(("kernel", one * 2e9 / self.clock) for one in seconds)

    def measure(self, *runs, repeats=8):
        kept, timers.Session = timers.Session, self.session
        try:
            return self.timer.measure([types.SimpleNamespace(run=run, repeats=repeats, dtype="bf16") for run in runs])
        finally:
            timers.Session = kept


def run(tests):
    """Run all tests with TAP output; returns the exit status."""
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    print(f"1..{len(tests)}", flush=True)
    failed = 0
    for number, test in enumerate(tests, 1):
        name = test.__name__.replace("_", " ")
        try:
            with tempfile.TemporaryDirectory() as folder:
                test(folder)
            print(f"ok {number} - {name}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} - {name}")
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
    return 1 if failed else 0
