#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_paths.py - captures of models that branch: on constants, on random numbers, on integers among their inputs, on
caches and on the batch size. Needs PyTorch."""
import os
import subprocess
import sys
import types
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.dirname(os.path.abspath(__file__))]

try:
    import torch
    from torch import nn
except ImportError as missing:
    sys.exit(f"{missing} (Debian: python3-torch)")

import centimani  # noqa: E402
import networks  # noqa: E402


class Around(nn.Module):
    """A linear layer and a function of its result."""

    def __init__(self, what):
        super().__init__()
        self.fc, self.what = nn.Linear(8, 8), what

    def forward(self, x):
        return self.what(self.fc(x))


def captured(what, batch=4):
    model = what if isinstance(what, nn.Module) else Around(what)
    return centimani.capture(model, torch.zeros(batch, 8), loss="mse")


def masking_utils(open_mask):
    """As transformers' module: decides whether a mask can be omitted, never while a compiler traces the model."""
    module = types.ModuleType("transformers.masking_utils")
    module.is_tracing = lambda mask: True  # a recorded tensor has no data, as a traced one
    module._ignore_causal_mask_sdpa = lambda mask: not module.is_tracing(mask)
    module._ignore_bidirectional_mask_sdpa = lambda mask: open_mask and not module.is_tracing(mask)
    return module


class Distributions(unittest.TestCase):
    def test_parameters_are_not_checked(self):
        before = torch.distributions.Distribution._validate_args
        trace = captured(lambda x: torch.distributions.Normal(x, x.exp()).rsample())
        self.assertIn("aten::exp", trace.operators())
        self.assertEqual(torch.distributions.Distribution._validate_args, before)


class OmittedMasks(unittest.TestCase):
    def kinds(self, open_mask):
        module = masking_utils(open_mask)
        sys.modules["transformers.masking_utils"] = module
        self.addCleanup(sys.modules.pop, "transformers.masking_utils")

        def attend(x):
            for function in (module._ignore_causal_mask_sdpa, module._ignore_bidirectional_mask_sdpa):
                x = x * 2 if function(None) else x
            return x
        trace = captured(attend)
        self.assertTrue(module.is_tracing(None), "the module's own function was not put back")
        return trace.content["omitted_masks"]

    def test_a_compiler_makes_masks_that_a_step_omits(self):
        self.assertEqual(self.kinds(open_mask=True), ["causal", "open"])

    def test_a_mask_that_is_made_anyway(self):
        self.assertEqual(self.kinds(open_mask=False), ["causal"])

    def test_a_model_of_its_own(self):
        self.assertEqual(captured(torch.relu).content["omitted_masks"], [])


class Buffers(unittest.TestCase):
    def test_branches_by_buffers_of_one_number(self):
        for ready, expected in ((True, ["aten::addmm", "aten::relu"]),
                                (False, ["aten::addmm", "aten::tanh", "aten::relu"])):
            model = networks.Initialised(ready)
            made = captured(model.train()).operators("forward")
            self.assertEqual([op for op in made if op in ("aten::addmm", "aten::relu", "aten::tanh")], expected)
            self.assertEqual((int(model.steps), bool(model.ready)), (3, ready))


class RandomBranches(unittest.TestCase):
    def products(self, probability):
        trace = captured(nn.Sequential(nn.Linear(8, 8, bias=False), networks.LayerDrop(5, probability)).train())
        return trace.operators("forward").count("aten::addmm"), trace.warnings

    def test_layers_are_rarely_dropped(self):
        count, warnings = self.products(0.1)
        self.assertEqual(count, 5)
        self.assertEqual(len(warnings), 1)
        self.assertIn("random number", warnings[0])
        self.assertIn("90 %", warnings[0])

    def test_layers_that_are_never_dropped_need_no_warning(self):
        self.assertEqual(self.products(0.0), (5, []))

    def test_the_likelier_path_may_drop_them(self):
        count, warnings = self.products(0.75)
        self.assertEqual(count, 0)
        self.assertIn("75 %", warnings[0])

    def test_a_random_number_itself_has_no_known_probability(self):
        trace = captured(lambda y: y.relu() if torch.rand(1).item() < 0.9 else y.tanh())
        self.assertIn("aten::relu", trace.operators("forward"))
        self.assertTrue(any("random number" in w and "%" not in w for w in trace.warnings))

    def test_many_random_numbers_are_those_of_a_real_pass(self):
        trace = captured(lambda y: y.relu() if (torch.rand(100) < 0.1).any() else y)
        self.assertIn("aten::relu", trace.operators("forward"))
        self.assertTrue(any("depend on the data" in w for w in trace.warnings))


class Constants(unittest.TestCase):
    def test_a_mask_is_compared(self):
        trace = centimani.capture(networks.ChecksMask(), torch.zeros(2, 6, 8), loss="mse")
        self.assertIn("aten::relu", trace.operators("forward"))
        self.assertEqual(trace.warnings, [])

    def test_what_is_written_in_place(self):
        def branch(y):
            counts = torch.zeros(4, device=y.device)
            counts[1:3].add_(2)  # through a view
            return y.relu() if counts.sum() == 4 else y.tanh()
        self.assertIn("aten::relu", captured(branch).operators("forward"))

    def test_a_check_inside_an_operator_finds_no_error(self):
        def sound(y):  # of eight frequencies; the operator checks that no window leaves a gap
            spectrum, window = torch.complex(y, y)[..., None].expand(-1, 8, 3), torch.hann_window(14, device=y.device)
            return torch.istft(spectrum, 14, 7, window=window * (1 + y.detach().mean()))
        self.assertIn("aten::_fft_c2r", captured(sound).operators("forward"))

    def test_a_check_of_values_before_a_loss_finds_no_error(self):
        def likelihood(y):
            return nn.GaussianNLLLoss()(y[:, :4], torch.zeros(y.shape[0], 4, device=y.device), y[:, 4:].exp())
        trace = centimani.capture(Around(likelihood), torch.zeros(4, 8))
        self.assertEqual([o for o in trace.operators("forward") if o in ("aten::any", "aten::log", "aten::mean")],
                         ["aten::any", "aten::log", "aten::mean"])
        self.assertEqual(trace.warnings, [])

    def test_data_written_into_a_constant_is_unknown(self):
        def branch(y):
            sums = torch.zeros(2, device=y.device)
            sums[:1].copy_(y.detach().sum().reshape(1))
            return y.relu() if sums.sum() > 0 else y
        self.assertTrue(any("depend on the data" in w for w in captured(branch).warnings))


class Alignments(unittest.TestCase):
    """nn.CTCLoss of 6 frames of 8 classes, whose lengths are among the data: the longest possible ones are recorded."""

    def loss(self, targets, lengths, **options):
        def of(y):
            frames = y.log_softmax(-1).expand(6, *y.shape)
            return nn.CTCLoss(**options)(frames, targets(y), torch.full((y.shape[0],), 6), lengths(y))
        trace = centimani.capture(Around(of), torch.zeros(4, 8), loss=lambda y: y.sum())
        tensors, ops = trace.content["tensors"], trace.content["ops"]
        forward, = [o for o in ops if o["op"] == "aten::_ctc_loss"]
        back, = [o for o in ops if o["op"] == "aten::_ctc_loss_backward"]
        self.assertIn("aten::_ctc_loss", trace.operators("forward"))
        self.assertNotIn("aten::max", trace.operators("forward"))  # the longest target was found outside of the step
        self.assertIn("aten::_ctc_loss_backward", trace.operators("backward"))
        self.assertEqual(trace.warnings, [])
        self.assertEqual(tensors[back["out"][0]]["dims"], [6, [1, 0], 8])
        return [tensors[i]["dims"] for i in forward["in"]], [tensors[i]["dims"] for i in forward["out"]], trace

    def test_padded_targets(self):
        for reduction, last in (("mean", "aten::mean"), ("sum", "aten::sum"), ("none", "aten::sum")):
            read, made, trace = self.loss(lambda y: torch.ones(y.shape[0], 3, dtype=torch.long, device=y.device),
                                          lambda y: y.detach().sum(1).long(), reduction=reduction)
            self.assertEqual(read, [[6, [1, 0], 8], [[1, 0], 3]])
            self.assertEqual(made, [[[1, 0]], [[1, 0], 6, 2 * 3 + 1]])
            self.assertIn(last, trace.operators("forward"))

    def test_concatenated_targets(self):
        """By their lengths: 3 labels at most. By unknown lengths: 2 B labels of B samples, two each."""
        def labels(y):
            return torch.ones(2 * y.shape[0], dtype=torch.long, device=y.device)
        read, made, _ = self.loss(labels, lambda y: 2 + (torch.arange(y.shape[0]) == 0).long(), zero_infinity=True)
        self.assertEqual((read[1], made[1]), ([[2, 0]], [[1, 0], 6, 2 * 3 + 1]))
        read, made, _ = self.loss(labels, lambda y: y.detach().sum(1).long())
        self.assertEqual((read[1], made[1]), ([[2, 0]], [[1, 0], 6, 2 * 2 + 1]))


class WithoutGradient(unittest.TestCase):
    def detached(self, branch):
        return captured(branch).operators("forward").count("aten::detach")

    def test_gradients_end_where_autograd_was_switched_off(self):
        def teacher(y):
            with torch.no_grad():
                target = (y * 2).sin()
            return y - target
        followed = self.detached(lambda y: y - (y * 2).sin())
        self.assertEqual(self.detached(teacher), followed + 1)  # at the result that is read outside, not inside


class Inputs(unittest.TestCase):
    def loss_rows(self, labels):
        inputs = {"x": torch.zeros(4, 8), "labels": torch.tensor(labels)}
        trace = centimani.capture(networks.LabelledOnly(), inputs, loss=lambda output: output["loss"])
        op = next(o for o in trace.content["ops"] if o["op"] == "aten::nll_loss_forward")
        return trace.content["tensors"][op["in"][0]]["dims"], trace.warnings

    def test_integers_are_repeated_along_the_batch(self):
        dims, warnings = self.loss_rows([0, 0, 0, 0])
        self.assertEqual(dims, [[1, 0], 4])
        self.assertTrue(any("values of the inputs" in w for w in warnings))

    def test_a_shape_that_is_not_linear_in_the_batch_is_refused(self):
        with self.assertRaises(centimani.CaptureError) as caught:
            self.loss_rows([0, -1, 0, -1])
        self.assertIn("does not grow linearly", str(caught.exception))


class Sizes(unittest.TestCase):
    def test_caches_are_filled_first(self):
        model = networks.CachesTable()
        trace = captured(model)
        self.assertNotIn("aten::cos", trace.operators("forward"))
        self.assertEqual(trace.warnings, [])

    def test_caches_are_left_as_they_were(self):
        model = networks.CachesTable()
        captured(model)
        self.assertEqual(model.tables, {})
        self.assertFalse(hasattr(model, "last"))
        self.assertEqual(float(model(torch.zeros(2, 8)).detach().sum()), float(model.last.detach().sum()))

    def test_the_path_of_larger_batches(self):
        trace = captured(lambda y: y.relu() if y.shape[0] == 4 else y.tanh())
        self.assertIn("aten::tanh", trace.operators("forward"))
        self.assertNotIn("aten::relu", trace.operators("forward"))
        self.assertTrue(any("another path at batch 5" in w and "batch 16 and more" in w for w in trace.warnings))

    def test_a_path_that_alternates_is_refused(self):
        with self.assertRaises(centimani.CaptureError) as caught:
            captured(lambda y: y.relu() if y.shape[0] % 2 else y)
        self.assertIn("another path", str(caught.exception))


if __name__ == "__main__":
    failed = not unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful()
    for other in filter(None, os.environ.pop("CENTIMANI_PYTHONS", "").split(os.pathsep)):  # with other PyTorch versions
        failed |= subprocess.call([other, *sys.argv]) != 0
    sys.exit(failed)
