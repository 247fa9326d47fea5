#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_bench_jax.py - PROGRAM: tables of calls that jax.jit compiled. What predictions make of them is tested everywhere;
with JAX installed, calls and steps are also measured, on the CPU."""
import csv
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parent.parent / "python"
sys.path[:0] = [str(PACKAGE), str(HERE.parent.parent / "examples")]
PROGRAM = os.path.abspath(sys.argv.pop(1))
if importlib.util.find_spec("jax"):
    import jax
    import numpy
    from centimani.bench import compiled, jax_backend, jax_calls, xla_calls
    from centimani.bench.cases import Case
else:
    jax = None
STEP = ["predict", str(HERE / "captures/lstm.cmt.json"), "--batch", "4", "--precision", "fp32", "--json"]


def number(value, unit):
    return {"value": value, "unit": unit, "kind": "measured", "source": "bench"}


def profile(seconds):
    """A processor whose small products take so long under XLA."""
    rows = [[1, 4, n, k, seconds, 1] for n in (32, 128) for k in (32, 128)]
    tables = [{"runtime": "xla", "op": "gemm", "pass": "forward", "variant": variant, "dtype": "fp32", "dims": ["batch", "m", "n", "k"],
               "kind": "measured", "source": "bench", "date": "2026-11", "rows": rows} for variant in ("nn", "nt")]
    return {"schema": 1, "id": "processor-jax", "name": "processor, JAX", "vendor": "unknown", "class": "cpu", "style": "kernel-by-kernel",
            "modes": ["training", "inference"], "runtimes": ["xla"], "precisions": ["fp32"],
            "peak": {"matrix": {}, "vector": {"fp32": number(1e11, "FLOP/s")}},
            "memory": [{"name": "memory", "place": "off-chip", "managed": "explicit", "scope": "device", "capacity": number(16e9, "B"),
                        "bandwidth": number(1e10, "B/s")}],
            "launch": number(1e-7, "s"), "kernels": tables,
            "sources": {"bench": {"title": "made up", "where": "a test", "date": "2026-11-19", "device": "processor",
                                  "software": {"jax": "0.10"}, "conditions": "none"}}}


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)


def bench(folder, *words):
    call = [sys.executable, "-m", "centimani", "bench", "--backend", "jax", "--device", "cpu", *map(str, words)]
    return subprocess.run(call, cwd=folder, env={**os.environ, "PYTHONPATH": str(PACKAGE), "JAX_PLATFORMS": "cpu"}, capture_output=True,
                          text=True, check=False, timeout=250)


class Tables(unittest.TestCase):
    def step(self, folder, seconds):
        path = pathlib.Path(folder, "device.json")
        path.write_text(json.dumps(profile(seconds)))
        checked = run("devices", "check", path)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn("2 of xla with jax 0.10", checked.stdout)
        return json.loads(run(*STEP, "--device", path).stdout)

    def test_they_drive_steps_of_their_runtime(self):
        with tempfile.TemporaryDirectory() as folder:
            fast, slow = self.step(folder, 1e-5), self.step(folder, 1e-3)
        self.assertEqual(fast["runtime"], "xla")
        products = 8 + 7  # one for each of 8 words; the first word's state has no gradient. Three others are about as long
        self.assertAlmostEqual((slow["device_time_s"] - fast["device_time_s"]) / (1e-3 - 1e-5), products + 3, delta=2.5)


@unittest.skipUnless(jax, "JAX is not installed")
class Measured(unittest.TestCase):
    def made(self, *case):
        function, operands = jax_calls.built(Case(*case))
        return numpy.asarray(function(*operands)), [numpy.asarray(x) for x in operands]

    def test_products_are_right(self):
        for variant, text in (("nn", "mk,kn->mn"), ("nt", "mk,nk->mn"), ("tn", "km,kn->mn")):
            found, operands = self.made("gemm", "forward", variant, "fp32", (1, 3, 4, 5))
            numpy.testing.assert_allclose(found, numpy.einsum(text, *operands), rtol=1e-4, atol=1e-5)

    def test_gradients_of_convolutions_are_transposes(self):
        sizes = (2, 4, 6, 8, 8, 3, 3, 2, 2, 1, 1, 1, 1, 2)
        for variant in ("nchw", "nhwc"):
            forward, (x, w) = self.made("conv", "forward", variant, "fp32", sizes)
            for phase, by in (("bwd_input", x), ("bwd_weight", w)):
                gradient, (_, g) = self.made("conv", phase, variant, "fp32", sizes)
                self.assertEqual(gradient.shape, by.shape)
                self.assertEqual(g.shape, forward.shape)
                self.assertAlmostEqual(float((gradient * by).sum()), float((forward * g).sum()), delta=1e-2)

    def test_every_call_runs(self):
        for op, call in xla_calls.CALLS.items():
            for phase in call.phases:
                for variant in call.variants:
                    small = {"gemm": (2, 3, 4, 5), "conv": (2, 4, 6, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1), "elementwise": (32, 64),
                             "optimizer": (2, 100)}[op]
                    function, operands = jax_calls.built(Case(op, phase, variant, "fp32", small))
                    jax.block_until_ready(jax.jit(function)(*operands))

    def test_calls_wait_for_the_results_of_others(self):
        """A product of which XLA could skip all but one takes as often as long."""
        for written_out in (False, True):
            for dtype in ("fp32", "bf16"):
                backend = jax_backend.BACKENDS["cpu"]
                seconds = backend.loop(*backend.built(Case("gemm", "forward", "nn", dtype, (1, 256, 256, 256))), written_out)
                few, many = (min(seconds(calls) for _ in range(4)) for calls in (2, 8))
                self.assertGreater(many, 2 * few)

    def test_a_rate_above_the_peak_is_refused(self):
        harness = compiled.Harness(jax_backend.BACKENDS["cpu"], type("P", (), {"members": {}, "add": lambda *_: None})(), 10)
        harness.rates["fp32"] = 1.0
        harness.longest_s = float("inf")
        harness._measure(Case("gemm", "forward", "nn", "fp32", (1, 256, 256, 256)))
        self.assertEqual(len(harness.wrong), 1)

    def test_a_profile_is_complete_and_used(self):
        with tempfile.TemporaryDirectory() as folder:
            done = bench(folder, "--for", f"{STEP[1]} --batch 4 --precision fp32", "--budget", "20", "-o", "device.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            checked = run("devices", "check", f"{folder}/device.json")
            self.assertEqual(checked.returncode, 0, checked.stderr)
            answer = json.loads(run(*STEP, "--device", f"{folder}/device.json").stdout)
            self.assertGreater(answer["step_time_s"], 0)

    def test_steps_are_timed(self):
        with tempfile.TemporaryDirectory() as folder:
            done = bench(folder, "--suite", "models", f"{HERE.parent.parent}/examples/jax_steps.py:lstm", "--steps", "2", "-o", "steps")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(f"{folder}/steps/log.csv", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual([(r["runtime"], r["precision"], r["batch"]) for r in rows], [("xla", "fp32", "4")])
            self.assertTrue(os.path.exists(f"{folder}/{rows[0]['model']}"))


if __name__ == "__main__":
    unittest.main()
