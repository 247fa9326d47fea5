#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_bench_xla.py - PROGRAM: calls of torch_xla's programs, on the CPU (PJRT_DEVICE=CPU), where it is installed."""
import importlib.util
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / "python")]
PROGRAM = os.path.abspath(sys.argv.pop(1))
os.environ.setdefault("PJRT_DEVICE", "CPU")
XLA = importlib.util.find_spec("torch_xla")
if XLA:
    import torch
    from centimani.bench import compiled
    from centimani.bench.backends import BACKENDS
    from centimani.bench.cases import Case
    from centimani.bench.xla_calls import CALLS


@unittest.skipUnless(XLA, "torch_xla is not installed")
class Measured(unittest.TestCase):
    def setUp(self):
        self.backend = BACKENDS["xla"]
        self.backend.start()

    def made(self, *case):
        function, operands = self.backend.built(Case(*case))
        result = function(*operands)
        return (result[0] if isinstance(result, list) else result).cpu(), [x.cpu() for x in operands]

    def test_the_runtime_is_that_of_programs(self):
        self.assertEqual((self.backend.runtime, self.backend.kind), ("xla", "cpu"))

    def test_products_are_right(self):
        for variant, text in (("nn", "mk,kn->mn"), ("nt", "mk,nk->mn"), ("tn", "km,kn->mn")):
            found, operands = self.made("gemm", "forward", variant, "fp32", (1, 3, 4, 5))
            torch.testing.assert_close(found, torch.einsum(text, *operands), rtol=1e-4, atol=1e-5)

    def test_gradients_of_convolutions_are_transposes(self):
        sizes = (2, 4, 6, 8, 8, 3, 3, 2, 2, 1, 1, 1, 1, 2)
        forward, (x, w) = self.made("conv", "forward", "nchw", "fp32", sizes)
        for phase, at in (("bwd_input", 0), ("bwd_weight", 1)):
            gradient, (*by, g) = self.made("conv", phase, "nchw", "fp32", sizes)
            taped = [by[0].requires_grad_(at == 0), by[1].requires_grad_(at == 1)]
            result = torch.nn.functional.conv2d(*taped, None, 2, 1, 1, 2)
            torch.testing.assert_close(gradient, torch.autograd.grad(result, taped[at], g)[0], rtol=1e-3, atol=1e-4)

    def test_every_call_runs(self):
        small = {"gemm": (2, 3, 4, 5), "conv": (2, 4, 6, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1), "elementwise": (32, 64), "optimizer": (2, 100)}
        for op, call in CALLS.items():
            for phase in call.phases:
                for variant in call.variants:
                    self.made(op, phase, variant, "fp32", small[op])

    def test_calls_wait_for_the_results_of_others(self):
        """A product of which XLA could skip all but one takes as often as long."""
        for written_out in (False, True):
            function, operands = self.backend.built(Case("gemm", "forward", "nn", "fp32", (1, 384, 384, 384)))
            seconds = self.backend.loop(function, operands, written_out)
            few, many = (min(seconds(calls) for _ in range(4)) for calls in (2, 24))
            self.assertGreater(many, 2 * few)

    def test_a_rate_above_the_peak_is_refused(self):
        harness = compiled.Harness(self.backend, type("P", (), {"members": {}, "add": lambda *_: None})(), 10)
        harness.rates["fp32"], harness.longest_s = 1.0, float("inf")
        harness._measure(Case("gemm", "forward", "nn", "fp32", (1, 256, 256, 256)))
        self.assertEqual(len(harness.wrong), 1, harness.failed)


if __name__ == "__main__":
    unittest.main()
