#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_one_answer.py - PROGRAM: predictions of a network do not depend on how it was imported, in any precision.

Each network of networks.py is captured as an fp32 and as a bf16 model. Its device time must be within 2 % and its
memory within 1 % of the same network from a Hugging Face config.json or by name. Needs PyTorch.
"""
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
except ImportError:
    print("skipped: PyTorch is not installed for this Python")
    sys.exit(77)

PROGRAM = sys.argv[1]
PRECISIONS = ("fp32", "tf32", "amp-bf16", "amp-fp16", "bf16", "fp16")
TIME, MEMORY = 0.02, 0.01
SEQ = 256

import centimani  # noqa: E402
import networks  # noqa: E402

LLAMA = dict(hidden_size=1024, intermediate_size=2816, num_hidden_layers=2, num_attention_heads=16,
             num_key_value_heads=4, vocab_size=32000, max_position_embeddings=2048, hidden_act="silu")
NEOX = dict(hidden_size=1024, intermediate_size=4096, num_hidden_layers=2, num_attention_heads=16, vocab_size=50304,
            max_position_embeddings=2048, rotary_pct=0.25, hidden_act="gelu", hidden_dropout=0.0,
            attention_dropout=0.0)
GPT2 = dict(n_embd=768, n_layer=2, n_head=12, vocab_size=50257, n_positions=1024, activation_function="gelu_new")
CONFIGS = {
    "llama": (dict(LLAMA, model_type="llama", architectures=["LlamaForCausalLM"]),
              lambda: networks.Llama(2, 1024, 16, 4, 2816, 32000)),
    "gpt_neox": (dict(NEOX, model_type="gpt_neox", architectures=["GPTNeoXForCausalLM"]),
                 lambda: networks.NeoX(2, 1024, 16, 4096, 50304)),
    "gpt2": (dict(GPT2, model_type="gpt2", architectures=["GPT2LMHeadModel"]),
             lambda: networks.GPT2(2, 768, 12, 50257, 1024)),
}


def ask(model, *words):
    done = subprocess.run([PROGRAM, "predict", model, "--device", "nvidia-h200", "--json", *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise AssertionError(f"{model}: {done.stderr}")
    return json.loads(done.stdout)


class OneAnswer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def agree(self, reference, captures, *words):
        for precision in PRECISIONS:
            first = ask(*reference, "--precision", precision, *words)
            for name in captures:
                other = ask(name, "--precision", precision, *words)
                for key, limit in (("device_time_s", TIME), ("peak_bytes", MEMORY)):
                    self.assertAlmostEqual(other[key] / first[key], 1, delta=limit,
                                           msg=f"{os.path.basename(name)}, {precision}, {key}")

    def captured(self, name, build, inputs):
        """The network as an fp32 and as a bf16 model; by default both are predicted in their own types."""
        paths = []
        for dtype, precision in ((torch.float32, "fp32"), (torch.bfloat16, "bf16")):
            given = inputs.to(dtype) if inputs.is_floating_point() else inputs
            trace = centimani.capture(build().to(dtype), given, loss="cross-entropy", optimizer="adamw")
            self.assertEqual(trace.warnings, [])
            paths.append(trace.save(self.path(f"{name}-{precision}.cmt.json")))
            self.assertEqual(ask(paths[-1], "--batch", "4")["precision"], precision)
        return paths

    def config(self, name):
        values, build = CONFIGS[name]
        with open(self.path("config.json"), "w") as out:
            json.dump(values, out)
        paths = self.captured(name, build, torch.zeros(2, SEQ, dtype=torch.int64))
        self.agree((self.path("config.json"), "--seq", str(SEQ)), paths, "--batch", "8", "--optimizer", "adamw")

    def test_llama(self):
        self.config("llama")

    def test_gpt_neox(self):
        self.config("gpt_neox")

    def test_gpt2(self):
        self.config("gpt2")

    def test_resnet50(self):
        paths = self.captured("resnet50", networks.resnet50, torch.zeros(2, 3, 224, 224))
        self.agree(("resnet50",), paths, "--batch", "32", "--optimizer", "momentum")

    def test_a_capture_without_types_is_guessed(self):
        """Files of earlier versions do not record casts that were no-ops."""
        paths = self.captured("llama", CONFIGS["llama"][1], torch.zeros(2, SEQ, dtype=torch.int64))
        with open(paths[0]) as file:
            content = json.load(file)
        for row in content["tensors"]:
            row.pop("other_dtype", None)
        same = {o["out"][0]: o["in"][0] for o in content["ops"] if o["op"] == "aten::to.dtype"}
        content["ops"] = [o for o in content["ops"] if o["op"] != "aten::to.dtype"]
        for op in content["ops"]:
            op["in"] = [same.get(i, i) for i in op["in"]]
            op["op"] = op["op"].replace("aten::contiguous", "aten::clone")
        for key in ("types", "other_types"):
            del content[key]
        with open(self.path("old.cmt.json"), "w") as out:
            json.dump(content, out)
        for precision, limit in (("fp32", 0), ("amp-bf16", 0.03), ("bf16", 0.03)):
            new, old = (ask(p, "--batch", "8", "--precision", precision) for p in (paths[0], self.path("old.cmt.json")))
            for key in ("device_time_s", "peak_bytes"):
                self.assertAlmostEqual(old[key] / new[key], 1, delta=limit, msg=f"{precision}, {key}")
        self.assertEqual(ask(self.path("old.cmt.json"), "--batch", "8")["precision"], "amp-bf16")


if __name__ == "__main__":
    failed = not unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful()
    for other in filter(None, os.environ.pop("CENTIMANI_PYTHONS", "").split(os.pathsep)):  # with other PyTorch versions
        failed |= subprocess.call([other, *sys.argv]) != 0
    sys.exit(failed)
