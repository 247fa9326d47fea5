#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_called.py - PROGRAM: captures of operators whose kernels depend on how the model calls them: casts to the type
of another tensor, attention with one head of keys, recurrent layers that start from given states. Needs PyTorch."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))

try:
    import torch
    from torch import nn
except ImportError as missing:
    sys.exit(f"{missing} (Debian: python3-torch)")

PROGRAM = sys.argv[1]

import centimani  # noqa: E402
from centimani import casts, hooks  # noqa: E402
from centimani.worlds import new_world  # noqa: E402

LOW, WIDE = torch.bfloat16, torch.float32


def operators(trace, name):
    return [o for o in trace.content["ops"] if o["op"] == name]


class Scaled(nn.Module):
    """A product, and a scale that is cast to its type (as EvoNorm does) or not."""

    def __init__(self, cast):
        super().__init__()
        self.fc, self.scale, self.cast = nn.Linear(8, 8), nn.Parameter(torch.ones(8)), cast

    def forward(self, x):
        y = self.fc(x)
        return y * (self.scale.to(y.dtype) if self.cast else self.scale.float())


class Casts(unittest.TestCase):
    def test_what_autocast_alone_casts(self):
        same, low = (WIDE, WIDE), (LOW, LOW)
        down, fixed = (WIDE, LOW), (LOW, WIDE)
        self.assertEqual(casts.only_under_autocast([same, same], [low, fixed], [down, same]), {0})
        self.assertEqual(casts.only_under_autocast([same], [low], [same]), set())
        self.assertEqual(casts.only_under_autocast([same], [low], [down, down]), set())  # another path

    def test_truth_values_that_get_the_type_of_another_tensor(self):
        wide, low = (torch.bool, WIDE), (torch.bool, LOW)
        self.assertEqual(casts.only_under_autocast([wide], [low], [low]), {0})  # (x > 0).to(y.dtype), y a product
        self.assertEqual(casts.only_under_autocast([wide], [low], [wide]), set())  # y a norm, fp32 under autocast
        self.assertEqual(casts.only_under_autocast([wide], [wide], [wide]), set())  # (x > 0).float()

    @unittest.skipUnless(hasattr(torch, "compile"), "PyTorch 1.13 has no autocast for tensors without data")
    def test_a_scale_is_cast_to_the_type_of_a_product(self):
        for cast in (True, False):
            t = centimani.capture(Scaled(cast), torch.zeros(4, 8), loss="mse")
            self.assertEqual(len(operators(t, casts.NAME)), int(cast))

    def test_recorded_casts_are_where_they_are_asked_for(self):
        recorder = new_world().recorder()
        x = torch.ones(3)
        with casts.Casts(recorder, set()) as seen:
            x.to(LOW)
            x.to(torch.int64)
            x.type_as(x)
            x.to("cpu")
        self.assertEqual(seen.asked, [(WIDE, LOW), (WIDE, WIDE)])


class Attention(unittest.TestCase):
    def test_heads_of_keys(self):
        """Whether keys are shared or broadcast is recorded where their heads are fewer."""
        q, rule = torch.zeros(2, 4, 6, 8), hooks.FUSED["scaled_dot_product_attention"]
        for heads, words, expected in ((4, {}, None), (1, {}, False), (1, {"enable_gqa": True}, True),
                                       (2, {"enable_gqa": True}, True)):
            k = q[:, :heads]
            self.assertIs(rule((q, k, k), words).attrs.get("enable_gqa"), expected)


class States(unittest.TestCase):
    def test_an_encoder_is_trained_through_its_states(self):
        class Net(nn.Module):
            def __init__(self, layers, both):
                super().__init__()
                self.read, self.write = (nn.GRU(8, 16, layers, bidirectional=both) for _ in range(2))

            def forward(self, x):
                return self.write(x, self.read(x)[1])[0]

        for layers, both in ((1, False), (2, True)):
            model = Net(layers, both)
            with tempfile.TemporaryDirectory() as folder:
                path = centimani.capture(model, torch.zeros(10, 2, 8), loss="mse",
                                         batch_dim=1).save(os.path.join(folder, "t.cmt.json"))
                done = subprocess.run([PROGRAM, "graph", path, "--json"], stdout=subprocess.PIPE, text=True, check=True)
            g = json.loads(done.stdout)
            self.assertEqual((g["warnings"], g["unsupported"]), ([], []))  # every parameter has a gradient
            self.assertEqual(g["params"], sum(p.numel() for p in model.parameters()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
