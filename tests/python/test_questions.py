#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_questions.py LIBRARY - questions in Python: arguments, and answers as objects, tables, frames and charts. Needs
pandas and matplotlib."""
import copy
import io
import json
import os
import pathlib
import pickle
import sys
import tempfile
import typing
import unittest

os.environ["CENTIMANI_LIBRARY"] = str(pathlib.Path(sys.argv[1]).resolve())
os.environ["MPLBACKEND"] = "svg"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
sys.dont_write_bytecode = True

import centimani  # noqa: E402
from centimani import plots, questions  # noqa: E402
from centimani.progress import Progress  # noqa: E402

H200 = "nvidia-h200"


class Arguments(unittest.TestCase):
    def test_groups_are_the_same_as_keywords(self):
        grouped = centimani.predict("gpt2", H200, batch=8, plan=centimani.Plan(n=8, zero=1, global_batch=64),
                                    tuning=centimani.Tuning(attention="math", lora={"r": 8}))[0]
        words = centimani.predict("gpt2", H200, batch=8, n=8, zero=1, global_batch=64, attention="math", lora={"r": 8})[0]
        other = centimani.predict("gpt2", H200, batch=8, n=8, zero=1, global_batch=64)[0]
        self.assertEqual(dict(grouped), dict(words))
        self.assertNotEqual(grouped.step_time_s, other.step_time_s)
        # a keyword is more special than the group
        plan = centimani.Plan(n=8, zero=1, global_batch=64)
        self.assertEqual(centimani.predict("gpt2", H200, plan=plan, zero=2)[0]["plan"]["zero"], 2)

    def test_groups_print_what_was_given(self):
        self.assertEqual(repr(centimani.Plan(n=8, zero=0)), "Plan(n=8, zero=0)")
        self.assertEqual(repr(centimani.Tuning(lora={"r": 16})), "Tuning(lora={'r': 16})")

    def test_every_word_of_a_type_is_one_of_the_program(self):
        """The words are read from help texts; the program says which ones it knows."""
        places = {"precision": ("graph", {}), "optimizer": ("graph", {}), "mode": ("graph", {}), "loss_kernel": ("graph", {}),
                  "logits": ("graph", {}), "quantize": ("graph", {"lora": "r=8"}), "attention": ("predict", {}), "layout": ("predict", {}),
                  "objective": ("rank", {"samples": 1000}), "price_basis": ("rank", {})}
        for word, (command, more) in places.items():
            alias = typing.get_type_hints(getattr(questions, command), vars(questions) | {"Model": str, "Unpack": typing.Optional}).get(word) \
                or typing.get_type_hints(centimani.Tuning)[word]
            values = [v for part in typing.get_args(alias) for v in typing.get_args(part)]
            self.assertGreater(len(values), 1, word)
            for value in values:
                try:
                    if command == "graph":
                        centimani.graph("gpt:layers=1,hidden=64,heads=2,seq=16,vocab=64", **more, **{word: value})
                    elif command == "predict":
                        centimani.predict("gpt2", H200, batch=1, **{word: value})
                    else:
                        centimani.rank("mlp:in=8,hidden=8,layers=1,out=2", devices=H200, **more, **{word: value})
                except centimani.CentimaniError as error:
                    self.assertNotIn(f"'{value}'", str(error), word)

    def test_errors_name_what_is_meant(self):
        for call, kind, words in (
                (lambda: centimani.rank("resnet50", objectiv="price"), TypeError, "did you mean 'objective'"),
                (lambda: centimani.predict("gpt2", H200, zer=1), TypeError, "did you mean 'zero'"),
                (lambda: centimani.predict("gpt2", H200, plan={"n": 8}), TypeError, "centimani.Plan"),
                (lambda: centimani.graph("resnet5"), centimani.CentimaniError, "did you mean 'resnet50'"),
                (lambda: centimani.predict("gpt2", "nvidia-h2000"), centimani.CentimaniError, "did you mean 'nvidia-h200'"),
                (lambda: centimani.predict("gpt2"), centimani.CentimaniError, "needs a device"),
                (lambda: centimani.graph("gpt2").plot(), centimani.CentimaniError, "there is no chart of Graph")):
            with self.assertRaisesRegex(kind, words):
                call()


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.step = centimani.predict("gpt2", H200, batch=8)[0]
        cls.ranking = centimani.rank("resnet50", objective="price", devices=[H200, "nvidia-l4"])

    def test_numbers_have_units_and_intervals(self):
        step = self.step
        self.assertEqual((step.step_time_s.unit, step.step_time_s.interval), ("s", tuple(step["interval_s"])))
        self.assertEqual(step.throughput_samples_s.unit, "samples/s")
        self.assertAlmostEqual(step.throughput_samples_s.low, step.batch / step.step_time_s.high)
        self.assertEqual(step.peak_bytes.unit, "B")
        self.assertLess(self.ranking[0].samples_per_usd.low, self.ranking[0].samples_per_usd)
        memory = centimani.memory("gpt2", "nvidia-l4")[0]
        self.assertEqual(memory.peak_bytes.interval, tuple(memory["interval_bytes"]))
        text = repr(centimani.Quantity(0.0123, "s", 0.01, 0.02))
        self.assertEqual(text, "12.3 ms (90 % interval 10 to 20 ms)")

    def test_a_quantity_is_a_number(self):
        value = self.step.step_time_s
        self.assertEqual(float(str(value)), value)
        self.assertEqual(json.loads(json.dumps(value)), float(value))
        self.assertEqual(f"{value:.3f}", f"{float(value):.3f}")
        for same in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
            self.assertEqual((same, same.unit, same.interval), (value, "s", value.interval))

    def test_answers_are_dicts(self):
        self.assertEqual(dict(self.step), self.step.raw)
        self.assertEqual(self.step["step_time_s"], self.step.step_time_s)
        self.assertIn("bottleneck", self.step)
        self.assertIsNone(self.step.get("nothing"))
        self.assertEqual(json.loads(json.dumps(dict(self.step))), self.step.raw)

    def test_tables(self):
        self.assertEqual(self.ranking._repr_html_().count("<tr>"), 3)
        self.assertEqual([row.device for row in self.ranking[:1]], [self.ranking[0].device])
        lines = str(centimani.rank("resnet50", max_devices=8, samples="10M", devices="nvidia-h100")[:2]).splitlines()
        self.assertTrue(lines[0].split()[:5] == ["devices", "device", "at", "time", "USD"] and len(lines) == 3, lines)

    def test_several_networks(self):
        whole = centimani.rank({"resnet50": 3, "unet": 1}, max_devices=2, devices="nvidia-h100", samples="1M")
        self.assertAlmostEqual(whole[0].time_s, sum(n["time_s"] for n in whole[0].networks))
        self.assertEqual(str(whole).split("\n")[0].split()[-2:], ["resnet50*3", "unet"])
        both = centimani.rank({"resnet50": 3, "unet": 1}, devices=[H200, "nvidia-l4"], samples="1M")
        alone = centimani.rank("unet", objective="time", devices=H200, samples="1M")[0]
        first = both[0]
        self.assertEqual(first.device, H200)
        self.assertEqual(first.networks[1]["time_s"], 3600 * alone.hours)
        self.assertAlmostEqual(first.time_s, sum(n["time_s"] for n in first.networks), places=6)
        self.assertLess(first.time_s.low, first.time_s)
        self.assertEqual(str(both).splitlines()[0].split()[-2:], ["resnet50*3", "unet"])
        listed = centimani.rank(["resnet50*3", "unet"], devices=[H200, "nvidia-l4"], samples="1M")
        self.assertEqual([row.time_s for row in listed], [row.time_s for row in both])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "job.yaml")
            path.write_text(f"models: [resnet50*3, unet]\nsamples: 1M\ndevices: [{H200}, nvidia-l4]\n")
            self.assertEqual([row.time_s for row in centimani.rank(job=str(path))], [row.time_s for row in both])

    def test_frames(self):
        frame = self.ranking.to_pandas()
        self.assertEqual(list(frame["device"]), [row.device for row in self.ranking])
        self.assertEqual(frame["step_time_s"].dtype.kind, "f")
        self.assertEqual(frame["step_time_s_low"][0], self.ranking[0].interval_s[0])
        self.assertEqual(frame.attrs["units"]["samples_per_usd"], "samples/USD")
        self.assertEqual(list(centimani.scale("gpt2", H200, n=[1, 2], batch=4).to_pandas()["n"]), [1, 2])

    def test_charts_show_the_numbers(self):
        axes = self.ranking.plot()
        self.assertEqual([t.get_text() for t in axes.get_yticklabels()], [row.device for row in self.ranking])
        marks = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
        self.assertEqual(marks, [row["value"] for row in self.ranking])
        step = centimani.timeline("gpt2", H200, batch=8)
        self.assertEqual(step.lanes, ["host", "device"])
        right = max(bar.get_x() + bar.get_width() for bar in step.plot().patches)
        self.assertAlmostEqual(right / 1e3 / step.step_time_s, 1, places=3)
        memory = centimani.memory("gpt2", "nvidia-l4", H200, batch=8)
        used = sum(bar.get_width() for box in memory.plot().containers[:len(plots.CATEGORIES)] for bar in box[:1])
        self.assertAlmostEqual(used * 2**30 / memory[0].peak_bytes, 1, places=2)
        scale = centimani.scale("gpt2", H200, n=[1, 2, 4], batch=8)
        self.assertEqual(list(scale.plot().lines[0].get_ydata()), [p["throughput_samples_s"] for p in scale.points])
        jobs = centimani.rank("resnet50", max_devices=8, samples="10M", devices="nvidia-h100")
        self.assertEqual(jobs.plot().get_xlabel(), "USD")


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Line(unittest.TestCase):
    def test_progress_is_for_terminals(self):
        for stream, seen in ((Terminal(), True), (io.StringIO(), False)):
            with Progress("capture of Net", stream) as progress:
                progress.say("one step at batch 2")
            self.assertEqual("one step at batch 2" in stream.getvalue(), seen)
            self.assertTrue(not seen or stream.getvalue().endswith("\r\033[K"))  # nothing is left


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
