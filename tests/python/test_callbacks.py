#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_callbacks.py - LIBRARY [--real]: watch one step of Hugging Face's Trainer, of Lightning's, and of a plain loop.

--real: with the frameworks themselves, which must be installed (`make callbacks` installs them). Otherwise small classes
that call a callback as the frameworks do, so that the test needs PyTorch alone.
"""
import os
import pathlib
import sys
import tempfile
import types
import unittest

os.environ["CENTIMANI_LIBRARY"] = os.path.abspath(sys.argv[1])
REAL = "--real" in sys.argv
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import torch

import centimani

if REAL and torch.__version__.startswith("1.13") and sys.version_info >= (3, 11):
    # Python 3.11 refuses dataclasses of torch.distributed 1.13, which Lightning imports: unhashable defaults.
    import dataclasses
    original = dataclasses._process_class

    def hashable(cls, *rest):
        made = original(cls, *rest)
        if made.__hash__ is None and made.__module__.startswith("torch.distributed"):
            made.__hash__ = object.__hash__
        return made
    dataclasses._process_class = hashable

BATCH, WIDTH, STEPS = 6, 32, 4


class Net(torch.nn.Module):
    """Returns a loss, as models of transformers do."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, 2)

    def forward(self, x, labels=None):
        logits = self.second(torch.relu(self.first(x)))
        loss = torch.nn.functional.cross_entropy(logits, labels) if labels is not None else None
        return {"loss": loss, "logits": logits}


PARAMETERS = WIDTH * 4 * WIDTH + 4 * WIDTH + 4 * WIDTH * 2 + 2


def samples():
    return [{"x": torch.randn(WIDTH), "labels": torch.tensor(i % 2)} for i in range(BATCH * STEPS)]


def batches():
    return torch.utils.data.DataLoader(samples(), batch_size=BATCH)


# ---- the protocols of the frameworks -------------------------------------------------------------------------------


class FakeHuggingFace:
    """trainer._inner_training_loop(): step begin, forward, backward, update, zero_grad, step end."""

    class TrainerCallback:
        pass

    def __init__(self, model, callback):
        self.model, self.callback = model, callback

    def train(self):
        state = types.SimpleNamespace(is_world_process_zero=True)
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        for batch in batches():
            self.callback.on_step_begin(None, state, None, model=self.model, optimizer=optimizer)
            self.model(**batch)["loss"].backward()
            optimizer.step()
            self.model.zero_grad()
            self.callback.on_step_end(None, state, None, model=self.model, optimizer=optimizer)


class FakeLightning:
    """Automatic optimization: forward and backward run in a closure inside optimizer.step()."""

    class Callback:
        pass

    is_global_zero = True

    def __init__(self, model, callback):
        self.model, self.callback = model, callback

    def fit(self):
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        for i, batch in enumerate(batches()):
            def closure():
                optimizer.zero_grad()
                loss = self.model(**batch)["loss"]
                loss.backward()
                return loss
            self.callback.on_train_batch_start(self, self.model, batch, i)
            optimizer.step(closure=closure)
            self.callback.on_train_batch_end(self, self.model, None, batch, i)


def run_huggingface(model, callback):
    if not REAL:
        return FakeHuggingFace(model, callback).train()
    import transformers
    with tempfile.TemporaryDirectory() as folder:
        words = dict(output_dir=folder, per_device_train_batch_size=BATCH, max_steps=STEPS, report_to=[], disable_tqdm=True,
                     save_strategy="no", remove_unused_columns=False, no_cuda=True)
        transformers.Trainer(model, transformers.TrainingArguments(**words), train_dataset=samples(), callbacks=[callback]).train()


def run_lightning(model, callback):
    if not REAL:
        return FakeLightning(model, callback).fit()
    try:
        import lightning.pytorch as pl
    except ImportError:
        import pytorch_lightning as pl

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = model

        def training_step(self, batch, _):
            return self.net(**batch)["loss"]

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    with tempfile.TemporaryDirectory() as folder:
        pl.Trainer(max_steps=STEPS, logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                   accelerator="cpu", devices=1, default_root_dir=folder, callbacks=[callback]).fit(Module(), batches())


class Callbacks(unittest.TestCase):
    def setUp(self):
        if not REAL:
            sys.modules["transformers"] = types.SimpleNamespace(TrainerCallback=FakeHuggingFace.TrainerCallback)
            sys.modules["lightning"] = types.SimpleNamespace()
            sys.modules["lightning.pytorch"] = types.SimpleNamespace(Callback=FakeLightning.Callback)

    def recorded(self, watched, predictions):
        """The whole step: the forward products, two backward products of each but the first, and one update by AdamW."""
        ops = watched.trace.content["ops"]
        self.assertEqual(watched.seen_batch, BATCH)
        self.assertEqual(watched.trace.parameters, PARAMETERS)
        graph = watched.graph()
        self.assertEqual(graph.params, PARAMETERS)
        self.assertEqual(graph.optimizer, "adamw")
        phases = {op.get("phase", "forward") for op in ops}
        self.assertTrue({"forward", "backward"} <= phases, phases)
        self.assertEqual(graph.ops.get("Gemm", 0) + graph.ops.get("MatMul", 0), 2, graph.ops)
        self.assertEqual([p.device for p in predictions], ["nvidia-h200", "nvidia-l4"])
        self.assertTrue(all(p.batch == BATCH and p.step_time_s > 0 for p in predictions))

    def test_huggingface(self):
        said = []
        callback = centimani.watch.huggingface("nvidia-h200", "nvidia-l4", report=said.append)
        run_huggingface(Net(), callback)
        self.assertEqual(len(said), 1)
        self.recorded(callback.watched, said[0])

    def test_lightning(self):
        said = []
        callback = centimani.watch.lightning("nvidia-h200", "nvidia-l4", report=said.append)
        run_lightning(Net(), callback)
        self.assertEqual(len(said), 1)
        self.recorded(callback.watched, said[0])

    def test_plain_loop(self):
        said, model = [], Net()
        optimizer, steps = torch.optim.AdamW(model.parameters()), 0
        for batch in centimani.watch.loop(batches(), model, "nvidia-h200", "nvidia-l4", report=said.append):
            optimizer.zero_grad()
            model(**batch)["loss"].backward()
            optimizer.step()
            steps += 1
        self.assertEqual((steps, len(said)), (STEPS, 1))

    def test_training_goes_on_if_the_question_fails(self):
        model, steps = Net(), 0
        optimizer = torch.optim.AdamW(model.parameters())
        with self.assertWarns(UserWarning) as caught:
            for batch in centimani.watch.loop(batches(), model, "no-such-device"):
                model(**batch)["loss"].backward()
                optimizer.step()
                steps += 1
        self.assertEqual(steps, STEPS)
        self.assertIn("no-such-device", str(caught.warning))


unittest.main(argv=sys.argv[:1])
