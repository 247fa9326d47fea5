#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_ways.py - check that predictions agree for the same network imported in several ways, in every precision.

    PYTHONPATH=python python3 tools/compare_ways.py PROGRAM [--device D] [--size small|real] [--onnx] [--own-loss] [NAME ...]

Needs PyTorch and transformers (and torchvision for images; onnx and onnxscript for --onnx). Each network is captured as
an fp32 and as a bf16 model on the meta device. The reference is Hugging Face's config.json or the built-in model. One
line per precision has the reference's device time and memory, and the ratio of each other import to them. If a ratio
differs by more than 2 % (time) or 1 % (memory), it is marked and the exit status is 1. --own-loss: use the library's
loss instead of ours.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

PRECISIONS = ("fp32", "tf32", "amp-bf16", "amp-fp16", "bf16", "fp16")
TIME, MEMORY = 0.02, 0.01
LANGUAGE = {  # name: configuration, model, small, real
    "llama": ("LlamaConfig", "LlamaForCausalLM",
              dict(hidden_size=1024, intermediate_size=2816, num_hidden_layers=2, num_attention_heads=16,
                   num_key_value_heads=4, vocab_size=32000),
              dict(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
                   num_key_value_heads=8, vocab_size=128256)),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM",
              dict(hidden_size=896, intermediate_size=4864, num_hidden_layers=2, num_attention_heads=14,
                   num_key_value_heads=2, vocab_size=32000),
              dict(hidden_size=1536, intermediate_size=8960, num_hidden_layers=28, num_attention_heads=12,
                   num_key_value_heads=2, vocab_size=151936)),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM",
                 dict(hidden_size=1024, intermediate_size=4096, num_hidden_layers=2, num_attention_heads=16,
                      vocab_size=50304),
                 dict(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=8,
                      vocab_size=50304)),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", dict(n_layer=2), dict()),
    "bert": ("BertConfig", "BertForMaskedLM", dict(num_hidden_layers=2), dict()),
}
IMAGES = {"resnet18": "resnet18", "resnet50": "resnet50", "vgg16": "vgg16_bn", "densenet121": "densenet121"}
SEQ = 512


class Failed(Exception):
    pass


def ask(options, model, precision, *words):
    done = subprocess.run([options.program, "predict", model, "--device", options.device, "--precision", precision,
                           "--json", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise Failed(done.stderr.strip()[-300:])
    answer = json.loads(done.stdout)
    return answer["device_time_s"], answer["peak_bytes"]


def logits_alone(model):
    import torch

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, input_ids):
            return self.inner(input_ids=input_ids).logits

    return Logits()


def export(model, path):
    import torch
    torch.onnx.export(logits_alone(model), (torch.zeros(2, SEQ, dtype=torch.int64),), path, dynamo=True, optimize=False,
                      dynamic_shapes={"input_ids": {0: torch.export.Dim("batch")}}, external_data=False,
                      training=torch.onnx.TrainingMode.TRAINING, verbose=False)
    return path


def language(options, name, folder):
    """Return the reference, the other imports, and options for the program."""
    import torch
    import transformers
    import centimani
    kind, architecture, small, real = LANGUAGE[name]
    config = getattr(transformers, kind)(**(small if options.size == "small" else real))
    config.use_cache, config.architectures, ways = False, [architecture], {}
    with open(os.path.join(folder, "config.json"), "w") as out:
        json.dump(config.to_dict(), out, default=str)
    for dtype in (torch.float32, torch.bfloat16):
        with torch.device("meta"):
            model = getattr(transformers, architecture)(config).to(dtype).train()
        ids = torch.zeros(2, SEQ, dtype=torch.int64, device="meta")
        inputs = {"input_ids": ids, "labels": ids} if options.own_loss else {"input_ids": ids}
        trace = centimani.capture(model, inputs, loss=None if options.own_loss else "cross-entropy", optimizer="adamw")
        way = f"capture {str(dtype).split('.')[-1]}"
        ways[way] = trace.save(os.path.join(folder, way.replace(" ", "-") + ".cmt.json"))
        for warning in trace.warnings:
            print(f"{name}, {way}: {warning}", file=sys.stderr)
    if options.onnx:
        model = getattr(transformers, architecture)(config).train()
        ways["onnx"] = export(model, os.path.join(folder, "model.onnx"))
    reference = [os.path.join(folder, "config.json"), "--seq", str(SEQ)]
    return reference, ways, ["--batch", "8", "--optimizer", "adamw"]


def image(options, name, folder):
    import torch
    import torchvision
    import centimani
    ways = {}
    for dtype in (torch.float32, torch.bfloat16):
        with torch.device("meta"):
            model = getattr(torchvision.models, IMAGES[name])().to(dtype)
        trace = centimani.capture(model, torch.zeros(2, 3, 224, 224, dtype=dtype), loss="cross-entropy",
                                  optimizer="momentum")
        way = f"capture {str(dtype).split('.')[-1]}"
        ways[way] = trace.save(os.path.join(folder, way.replace(" ", "-") + ".cmt.json"))
    return [name], ways, ["--batch", "64", "--optimizer", "momentum"]


def compare(options, name):
    """Print one comparison; return the number of ratios beyond the limits."""
    beyond = 0
    with tempfile.TemporaryDirectory() as folder:
        reference, ways, words = (language if name in LANGUAGE else image)(options, name, folder)
        for precision in PRECISIONS:
            time, memory = ask(options, reference[0], precision, *reference[1:], *words)
            line = f"{name:12} {precision:9} {1e3 * time:10.3f} ms {memory / 1e9:8.3f} GB"
            for way, path in ways.items():
                other = ask(options, path, precision, *words)
                ratios = other[0] / time, other[1] / memory
                wrong = abs(ratios[0] - 1) > TIME or abs(ratios[1] - 1) > MEMORY
                beyond += wrong
                line += f" | {way} {ratios[0]:.3f} {ratios[1]:.3f}{' !' if wrong else ''}"
            print(line, flush=True)
    return beyond


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join([*LANGUAGE, *IMAGES]))
    parser.add_argument("--device", default="nvidia-h200")
    parser.add_argument("--size", choices=("small", "real"), default="small")
    parser.add_argument("--onnx", action="store_true", help="export each language model too (takes memory)")
    parser.add_argument("--own-loss", action="store_true", help="language models with labels: the library's own loss")
    options = parser.parse_intermixed_args()
    unknown = [n for n in options.names if n not in LANGUAGE and n not in IMAGES]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    return 1 if sum([compare(options, n) for n in options.names or [*LANGUAGE, *IMAGES]]) else 0


if __name__ == "__main__":
    sys.exit(main())
