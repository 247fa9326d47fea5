#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_generated.py - what captures say of the kernels that torch.compile generates. Needs PyTorch; tests of lowering
need one with a compiler for CUDA."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))
BINARY = sys.argv.pop(1) if len(sys.argv) > 1 else os.path.join(ROOT, "build", "centimani")

try:
    import torch
    from torch import nn
except ImportError as missing:
    sys.exit(f"{missing} (Debian: python3-torch)")

import centimani  # noqa: E402
from centimani import autocast, generated  # noqa: E402

try:
    import triton  # noqa: F401
    LOWERS = torch.version.cuda is not None and hasattr(torch, "compile")
except ImportError:
    LOWERS = False


def kernel(name="triton_poi_fused_add_0", numels=None, reads=(), writes=(), reduces=False, persistent=False, hint="", **operations):
    return {"kernel": name, "numels": numels or {"x": 100}, "reduces": reduces, "persistent": persistent, "hint": hint,
            "reads": [list(o) for o in reads], "writes": [list(o) for o in writes], "operations": operations}


def sum_over(columns, rows, **more):
    return kernel("triton_red_fused_sum_1", {"x": columns, "r0_": rows}, [("float32", 4 * columns * rows, columns * rows)],
                  [("float32", 4 * columns, columns)], reduces=True, **{"load": 1, **more})


class Kinds(unittest.TestCase):
    def test_kinds_follow_the_direction_of_a_sum(self):
        for record, kind in ((kernel(), "fused"), (sum_over(64, 512, hint="INNER", persistent=True), "row_sum"),
                             (sum_over(64, 4096, hint="INNER"), "long_row_sum"),
                             (sum_over(64, 512, hint="DEFAULT", persistent=True), "strided_row_sum"),
                             (sum_over(4096, 128, hint="OUTER"), "plain_column_sum"),
                             (sum_over(4096, 128, hint="OUTER", load=2), "column_sum"),
                             (sum_over(768, 64, hint="OUTER", persistent=True), "partial_sums"),
                             (sum_over(16, 4, hint="OUTER_TINY"), "partial_sums")):
            self.assertEqual(generated.kind_of(record), kind, record)

    def test_pools_and_sums_by_index_have_none(self):
        self.assertIsNone(generated.kind_of(kernel("triton_poi_fused_max_pool2d_with_indices_3")))
        self.assertIsNone(generated.kind_of({**kernel("triton_poi_fused_embedding_dense_backward_3"), "adds_by_index": True}))


class Growth(unittest.TestCase):
    def graphs(self, *kernels):
        return [{"pass": "forward", "kernels": list(kernels)}]

    def moved(self, batch):
        return kernel(numels={"x": 100 * batch}, reads=[("float32", 400 * batch, 100 * batch), ("bfloat16", 200, 100)],
                      writes=[("float32", 400 * batch, 100 * batch)], exp=1)

    def test_sizes_are_functions_of_the_batch(self):
        warnings = []
        made = generated.with_terms(self.graphs(self.moved(8)), self.graphs(self.moved(16)), 8, warnings.append)[0]["kernels"][0]
        self.assertEqual(made["kind"], "fused")
        self.assertEqual(made["terms"]["moved4"], [800, 0])
        self.assertEqual(made["terms"]["moved2"], [0, 200])
        self.assertEqual(made["terms"]["function_flop"], [100 * generated.FUNCTIONS["exp"], 0])
        self.assertEqual(warnings, [])

    def test_a_kernel_of_one_batch_size_alone_grows_in_proportion(self):
        only = sum_over(4096, 64, hint="OUTER")
        second = sum_over(4096, 8, hint="OUTER", persistent=True)  # eight blocks' sums: as many at any batch size
        first = generated.with_terms(self.graphs(self.moved(8), only, second), self.graphs(self.moved(16)), 8, self.fail)
        _, grown, same = first[0]["kernels"]
        bytes_of = 4 * 4096 * 64 + 4 * 4096
        self.assertEqual(grown["terms"]["moved4"], [bytes_of / 8, 0])
        self.assertEqual(same["terms"]["moved4"], [0, 4 * 4096 * 7])

    def test_unknown_kernels_leave_a_warning(self):
        warnings = []
        first = generated.with_terms(self.graphs({"kernel": "a", "unknown": "why"}), self.graphs(), 8, warnings.append)
        self.assertNotIn("terms", first[0]["kernels"][0])
        self.assertEqual(len(warnings), 1)


@unittest.skipUnless(hasattr(torch, "compile"), "PyTorch 1.13 has no such library of operators")
class Autocast(unittest.TestCase):
    """Types that PyTorch's documentation lists for autocast on a GPU."""

    def types(self, precision):
        x, weight = torch.zeros(4, 8), torch.zeros(8, 8)
        with autocast.as_on_a_gpu(precision):
            y = nn.functional.linear(x, weight)
            return [t.dtype for t in (y, torch.relu(y), torch.softmax(y, -1), nn.functional.layer_norm(y, [8]), torch.exp(y), y.sum(0))]

    def test_norms_and_softmaxes_are_in_32_bits_as_on_a_gpu(self):
        low, wide = torch.bfloat16, torch.float32
        self.assertEqual(self.types("amp-bf16"), [low, low, wide, wide, wide, wide])
        self.assertEqual(self.types("amp-fp16")[:3], [torch.float16, torch.float16, wide])
        self.assertEqual(self.types("fp32"), [wide] * 6)

    def test_the_lists_of_the_cpu_return(self):
        def on_cpu():
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return torch.exp(torch.zeros(4, dtype=torch.bfloat16)).dtype
        before = on_cpu()
        self.types("amp-bf16")
        self.assertEqual(on_cpu(), before)


@unittest.skipUnless(LOWERS, "this PyTorch has no compiler for CUDA")
class Lowering(unittest.TestCase):
    def setUp(self):
        self.model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 8))

    def kernels(self, precision):
        trace = centimani.capture(self.model, torch.zeros(256, 64), loss="mse", precision=precision, compile=True)
        self.assertEqual([w for w in trace.content["warnings"] if "torch.compile" in w], [])
        return trace, [k for graph in trace.content["compiled"] for k in graph["kernels"]]

    def test_predictions_time_the_recorded_kernels(self):
        trace, kernels = self.kernels("fp32")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.cmt.json")
            trace.save(path)
            asked = subprocess.run([BINARY, "predict", path, "--device", "nvidia-h200", "--batch", "256", "--runtime", "torch-compile",
                                    "--ops", "--json"], capture_output=True, text=True, check=True)
        tables = [op["call"].split()[2] for op in json.loads(asked.stdout)["ops"] if op["call"].startswith("elementwise")
                  for _ in range(int(op["kernels"]))]
        for kind in ("fused", "row_sum", "column_sum", "plain_column_sum"):
            self.assertEqual(tables.count(kind), sum(k["kind"] == kind for k in kernels), kind)


if __name__ == "__main__":
    unittest.main()
