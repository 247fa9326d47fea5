#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_bench_sdk.py - PROGRAM: benchmarks through PopTorch, SambaFlow and Cerebras' package: what they say without the
package, their cases, and their calls' sequence with a package that only counts."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
sys.path[:0] = [str(PACKAGE)]
PROGRAM = os.path.abspath(sys.argv.pop(1))
from centimani.bench import compiled  # noqa: E402
from centimani.bench.backends import BACKENDS  # noqa: E402
from centimani.bench.cases import Case  # noqa: E402

NEEDS = {"ipu": "Poplar SDK", "rdu": "SambaFlow", "wse": "cerebras_pytorch"}


def bench(*words):
    return subprocess.run([sys.executable, "-m", "centimani", "bench", *words], env={**os.environ, "PYTHONPATH": str(PACKAGE)},
                          capture_output=True, text=True, check=False, timeout=100)


class Poptorch(types.ModuleType):
    """Compiles nothing: runs the module here, with loops in Python."""
    Options = dict

    def __init__(self):
        super().__init__("poptorch")
        self.turns = 0

    def inferenceModel(self, model, _):
        model.compile = lambda *_: None
        return model

    def for_loop(self, count, body, given):
        for _ in range(count):
            given, self.turns = list(body(*given)), self.turns + 1
            time.sleep(1e-3)
        return given


class Sdks(unittest.TestCase):
    def test_a_missing_package_is_named(self):
        for device, text in NEEDS.items():
            done = bench("--device", device, "--case", "gemm forward nn fp32 1,8,8,8")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_cases_are_products_and_convolutions(self):
        for device in NEEDS:
            done = bench("--device", device, "--list")
            words = [line.split() for line in done.stdout.splitlines()]
            self.assertEqual({name for name, _ in words}, {"gemm", "conv", "all"}, done.stderr)
            self.assertGreater(int(dict(words)["gemm"]), 500)

    def test_calls_run_in_a_loop_of_the_package(self):
        fake = Poptorch()
        with mock.patch.dict(sys.modules, {"poptorch": fake}):
            profile = types.SimpleNamespace(members={}, head={"base": "graphcore-gc200"}, path="p.json", rows=[])
            profile.add = lambda case, seconds, kernels: profile.rows.append(seconds)
            harness = BACKENDS["ipu"].harness(profile, 10)
            harness.rates["fp32"], harness.loops[2] = 1e15, 0.0
            harness._measure(Case("gemm", "forward", "nn", "fp32", (1, 8, 8, 8)))
        self.assertEqual((harness.failed, harness.wrong), ([], []))
        self.assertGreater(profile.rows[0], 5e-4)
        self.assertGreater(fake.turns, 2 * compiled.FEW)

    def test_a_base_is_needed(self):
        fake = {"poptorch": Poptorch()}
        with mock.patch.dict(sys.modules, fake), tempfile.TemporaryDirectory() as folder:
            profile = types.SimpleNamespace(members={}, head={}, path=f"{folder}/p.json")
            with self.assertRaisesRegex(ValueError, "needs --base, such as graphcore-gc200"):
                BACKENDS["ipu"].harness(profile, 10)


if __name__ == "__main__":
    unittest.main()
