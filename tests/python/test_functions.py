#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_functions.py PROGRAM - captures of custom autograd functions: the operators of their forward and backward, and
what the program makes of them. Needs PyTorch."""
import collections
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.dirname(os.path.abspath(__file__))]

try:
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint
except ImportError as missing:
    sys.exit(f"{missing} (Debian: python3-torch)")

PROGRAM = sys.argv[1]

import centimani  # noqa: E402
import networks  # noqa: E402


class Around(nn.Module):
    def __init__(self, what):
        super().__init__()
        self.first, self.what, self.last = nn.Linear(8, 8), what, nn.Linear(8, 8)

    def forward(self, x):
        return self.last(self.what(self.first(x)))


class OwnLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(8, 8)), nn.Parameter(torch.zeros(8))

    def forward(self, x):
        return networks.LinearFunction.apply(x, self.weight, self.bias)


class Hidden(torch.autograd.Function):
    """A kernel that PyTorch does not see writes the output."""

    @staticmethod
    def forward(ctx, x):
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx, gradient):
        return torch.empty_like(gradient)


class Straight(torch.autograd.Function):
    """Forward has no gradient; backward passes the gradient through, and returns nothing for the number."""

    @staticmethod
    def forward(ctx, x, number):
        return x.round() * number

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class Kept(torch.autograd.Function):
    """Recomputes a layer in backward: its parameters are no inputs of the function."""

    @staticmethod
    def forward(ctx, layer, x):
        ctx.layer = layer
        ctx.save_for_backward(x)
        with torch.no_grad():
            return layer(x)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_(True)
        with torch.enable_grad():
            y = ctx.layer(x)
        torch.autograd.backward(y, gradient)
        return None, x.grad


def graph_of(trace, *words):
    with tempfile.TemporaryDirectory() as folder:
        path = trace.save(os.path.join(folder, "t.cmt.json"))
        done = subprocess.run([PROGRAM, "graph", path, "--json", "--nodes", "--batch", "4", *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def kinds(graph, phase):
    return collections.Counter(n["type"] for n in graph["node_list"] if n["phase"] == phase)


def captured(what):
    return centimani.capture(Around(what), torch.zeros(2, 8), loss="mse", optimizer="sgd")


class Functions(unittest.TestCase):
    def test_forward_and_backward_are_its_operators(self):
        trace, plain = captured(networks.GeLUFunction.apply), captured(networks.gelu_forward)
        self.assertEqual(trace.warnings, [])
        self.assertEqual(trace.operators("forward"), [o for o in plain.operators("forward") if o != "aten::detach"])
        for precision in ("fp32", "bf16", "amp-bf16"):
            own, derived = graph_of(trace, "--precision", precision), graph_of(plain, "--precision", precision)
            self.assertEqual(own["unsupported"], [])
            self.assertEqual(kinds(own, "forward"), kinds(derived, "forward"))
            self.assertEqual(kinds(own, "backward")["Tanh"], 1)     # computed again by the function itself
            self.assertEqual(kinds(derived, "backward")["Tanh"], 0)  # derived from the saved result
            self.assertEqual(kinds(own, "backward")["Mul"], 12)      # gelu_backward: 4 in the tanh, 7 in the slope, 1 with g

    def test_only_what_it_saves_is_stored(self):
        def stored(what):
            model = nn.Sequential(nn.Linear(64, 4096), Module(what), nn.Linear(4096, 1, bias=False))
            trace = centimani.capture(model, torch.zeros(2, 64), loss="mse", optimizer="sgd")
            with tempfile.TemporaryDirectory() as folder:
                path = trace.save(os.path.join(folder, "t.cmt.json"))
                words = [PROGRAM, "memory", path, "--device", "nvidia-h200", "--batch", "65536", "--json"]
                done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
            return json.loads(done.stdout)["peak_bytes"]
        width = 65536 * 4096 * 4
        # The plain formula saves seven tensors (x, and six operands and results). The function saves x, and at most five
        # more are alive at a time while it computes the slope. If it stored what forward computes, there would be no difference.
        self.assertGreater(stored(networks.gelu_forward) - stored(networks.GeLUFunction.apply), 1.5 * width)

    def test_gradients_of_parameters(self):
        trace = captured(OwnLinear())
        g = graph_of(trace)
        self.assertEqual(trace.warnings, [])
        self.assertFalse(any("no gradient" in w for w in g["warnings"]), g["warnings"])
        self.assertFalse(any("derived" in w for w in g["warnings"]), g["warnings"])  # the same matrix FLOP
        self.assertEqual(kinds(g, "update"), kinds(graph_of(captured(nn.Linear(8, 8))), "update"))

    def test_gradients_pass_through(self):
        g = graph_of(captured(lambda y: Straight.apply(y, 2)))
        self.assertFalse(any("no gradient" in w for w in g["warnings"]), g["warnings"])
        self.assertEqual(kinds(g, "forward")["Round"], 1)

    def test_hidden_kernels_are_opaque(self):
        trace = captured(Hidden.apply)
        self.assertIn("python::Hidden", trace.operators("forward"))
        self.assertTrue(any("Hidden" in w and "opaque" in w for w in trace.warnings))
        self.assertIn("python::Hidden", graph_of(trace)["unsupported"])

    def test_layers_inside_are_trained(self):
        layer = nn.Linear(8, 8)

        class Checkpointed(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = layer

            def forward(self, x):
                return Kept.apply(self.layer, x)

        g = graph_of(captured(Checkpointed()))
        self.assertFalse(any("no gradient" in w for w in g["warnings"]), g["warnings"])

    def test_it_may_be_checkpointed(self):
        def again(y):
            try:
                return checkpoint(networks.GeLUFunction.apply, y, use_reentrant=False)
            except TypeError:
                return checkpoint(networks.GeLUFunction.apply, y)
        own, plain = graph_of(captured(again)), graph_of(captured(networks.GeLUFunction.apply))
        self.assertEqual(own["unsupported"], [])
        self.assertEqual(kinds(own, "backward"), kinds(plain, "backward"))

    def test_the_functions_are_left_as_they_were(self):
        before = dict(networks.GeLUFunction.__dict__)
        captured(networks.GeLUFunction.apply)
        self.assertEqual(dict(networks.GeLUFunction.__dict__), before)


class Module(nn.Module):
    def __init__(self, what):
        super().__init__()
        self.what = what

    def forward(self, x):
        return self.what(x)


class Variables(unittest.TestCase):
    def until(self, what):
        """The operator before which the result of the first sum is released."""
        content = captured(what).content
        ops = [o for o in content["ops"] if o.get("phase", "forward") == "forward"]
        row = next(o for o in ops if o["op"] == "aten::add.Tensor")["out"][0]
        last = content["tensors"][row].get("until")
        return next((o["op"] for o in ops if last in o["out"]), None)

    def test_a_variable_keeps_its_tensor(self):
        def held(y):
            wide = y + 1  # read by the next line only
            return ((wide + 2) * 3).neg()
        self.assertEqual(self.until(held), "aten::neg")
        self.assertEqual(self.until(lambda y: (((y + 1) + 2) * 3).neg()), "aten::add.Tensor")

    def test_autograd_holds_no_variable(self):
        """Whether it saves a tensor or a copy in another type depends on the precision."""
        released = "aten::cos" if hasattr(torch, "compile") else None  # PyTorch 1.13: not known
        self.assertEqual(self.until(lambda y: ((y + 1).cos() * 3).neg()), released)

    def test_the_program_keeps_it_too(self):
        def held(y):
            wide = y.repeat(1, 1000)
            return (wide + 2).sum(1, keepdim=True) + y

        def peak(what):
            with tempfile.TemporaryDirectory() as folder:
                path = captured(what).save(os.path.join(folder, "t.cmt.json"))
                words = [PROGRAM, "memory", path, "--device", "nvidia-h200", "--batch", "65536", "--json"]
                done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
            return json.loads(done.stdout)["peak_bytes"]

        def held_longer(y):
            wide = y.repeat(1, 1000)
            other = wide + 2
            return (other * 2).sum(1, keepdim=True) + y + 0 * wide.dim()
        width = 65536 * 8000 * 4
        self.assertAlmostEqual(peak(held_longer) - peak(held), width, delta=0.01 * width)


if __name__ == "__main__":
    failed = not unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful()
    for other in filter(None, os.environ.pop("CENTIMANI_PYTHONS", "").split(os.pathsep)):  # with other PyTorch versions
        failed |= subprocess.call([other, *sys.argv]) != 0
    sys.exit(failed)
