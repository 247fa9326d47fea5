#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""capture_zoo.py - capture torchvision, Hugging Face and scientific models, each in its own process, without a GPU.

    PYTHONPATH=python python3 tools/capture_zoo.py OUT [--budget S] [--jobs N] [--only NAME,...]

Writes OUT/NAME.cmt.json for each model, OUT/summary.json and a table: seconds, peak host memory, parameters counted
by PyTorch and in the trace. Models whose library is missing are skipped with a message; a failure does not stop the rest.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

# ---- models ------------------------------------------------------------------------------------------------------


def image(name, size=224, **kwargs):
    def build():
        import torch
        import torchvision
        return dict(model=getattr(torchvision.models, name)(**kwargs), inputs=torch.zeros(2, 3, size, size),
                    loss="cross-entropy", optimizer="momentum")
    return build


def tokens(vocab, seq):
    import torch
    return torch.zeros(2, seq, dtype=torch.int64)


def language(config, model, seq, **kwargs):
    def build():
        import transformers
        made = getattr(transformers, config)(**kwargs)
        made.use_cache = False
        return dict(model=getattr(transformers, model)(made).train(), inputs={"input_ids": tokens(0, seq)},
                    loss="cross-entropy", optimizer="adamw", seq_dim=1)
    return build


def unet():
    import torch
    from torch import nn

    def pair(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
                             nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

    class UNet(nn.Module):
        def __init__(self, features=32):
            super().__init__()
            widths = [features << i for i in range(5)]
            self.enc = nn.ModuleList(pair(i, o) for i, o in zip([3] + widths[:-1], widths))
            self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in widths[:-1])
            self.dec = nn.ModuleList(pair(2 * w, w) for w in widths[:-1])
            self.pool, self.out = nn.MaxPool2d(2), nn.Conv2d(features, 1, 1)

        def forward(self, x):
            kept = []
            for level, enc in enumerate(self.enc):
                x = enc(x if level == 0 else self.pool(x))
                kept.append(x)
            for level in (3, 2, 1, 0):
                x = self.dec[level](torch.cat([self.up[level](x), kept[level]], 1))
            return self.out(x)

    return dict(model=UNet(), inputs=torch.zeros(2, 3, 256, 256), loss="bce", optimizer="adam")


def uno():
    import torch
    from torch import nn

    def dense(i, last=False):
        layers = []
        for n in (i, 1000, 1000):
            layers += [nn.Linear(n, 1000), nn.ReLU(), nn.Dropout(0.1)]
        return nn.Sequential(*layers, *([nn.Linear(1000, 1)] if last else []))

    class Uno(nn.Module):
        def __init__(self):
            super().__init__()
            self.t = nn.ModuleList(dense(n) for n in (942, 5270, 2048))
            self.top = dense(3001, last=True)

        def forward(self, dose, rna, desc, fps):
            parts = [tower(x) for tower, x in zip(self.t, (rna, desc, fps))]
            return self.top(torch.cat([dose] + parts, 1))

    return dict(model=Uno(), inputs=tuple(torch.zeros(2, n) for n in (1, 942, 5270, 2048)), loss="mse",
                optimizer="adam")


def braggnn():
    import torch
    from torch import nn

    class NonLocal(nn.Module):
        def __init__(self, c, m):
            super().__init__()
            self.th, self.ph, self.g, self.o = nn.Conv2d(c, m, 1), nn.Conv2d(c, m, 1), nn.Conv2d(c, m, 1), \
                nn.Conv2d(m, c, 1)

        def forward(self, x):
            b, _, h, w = x.shape
            theta, phi, g = self.th(x).flatten(2), self.ph(x).flatten(2), self.g(x).flatten(2)
            a = torch.softmax(theta.transpose(1, 2) @ phi, -1)
            return x + self.o((a @ g.transpose(1, 2)).transpose(1, 2).reshape(b, -1, h, w))

    class BraggNN(nn.Module):
        def __init__(self):
            super().__init__()
            self.c1, self.n, self.c2, self.c3 = nn.Conv2d(1, 64, 3), NonLocal(64, 32), nn.Conv2d(64, 32, 3), \
                nn.Conv2d(32, 8, 3)
            sizes, layers = (200, 64, 32, 16, 8, 2), []
            for i, o in zip(sizes, sizes[1:]):
                layers += [nn.Linear(i, o), nn.LeakyReLU(0.01)]
            self.fc = nn.Sequential(*layers[:-1])

        def forward(self, x):
            act = torch.nn.functional.leaky_relu
            x = act(self.n(self.c1(x)), 0.01)
            return self.fc(act(self.c3(act(self.c2(x), 0.01)), 0.01).flatten(1))

    return dict(model=BraggNN(), inputs=torch.zeros(2, 1, 11, 11), loss="mse", optimizer="adam")


def lstm():
    import torch
    from torch import nn

    class WordModel(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.drop = nn.Embedding(10000, 650), nn.Dropout(0.5)
            self.lstm, self.head = nn.LSTM(650, 650, 2, dropout=0.5, batch_first=True), nn.Linear(650, 10000)

        def forward(self, x):
            return self.head(self.drop(self.lstm(self.drop(self.embed(x)))[0]))

    return dict(model=WordModel(), inputs=tokens(0, 35), loss="cross-entropy", optimizer="sgd", seq_dim=1)


def checkpointed():
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True) for _ in range(4))
            self.head = nn.Linear(256, 100)

        def forward(self, x):
            for layer in self.layers:
                x = checkpoint(layer, x, use_reentrant=False)
            return self.head(x)

    return dict(model=Layers(), inputs=torch.zeros(2, 64, 256), loss="cross-entropy", optimizer="adamw")


BERT = dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
XL = dict(n_embd=1600, n_layer=48, n_head=25)
LLAMA13B = dict(hidden_size=5120, num_hidden_layers=40, num_attention_heads=40, num_key_value_heads=40,
                intermediate_size=13824, vocab_size=32000, max_position_embeddings=4096)

CASES = {
    "resnet18": image("resnet18"), "resnet50": image("resnet50"), "vgg16_bn": image("vgg16_bn"),
    "unet": unet, "uno": uno, "braggnn": braggnn,
    "bert_large_128": language("BertConfig", "BertForMaskedLM", 128, **BERT),
    "bert_large_512": language("BertConfig", "BertForMaskedLM", 512, **BERT),
    "gpt2_small": language("GPT2Config", "GPT2LMHeadModel", 1024),
    "gpt2_xl": language("GPT2Config", "GPT2LMHeadModel", 1024, **XL),
    "llama_13b": language("LlamaConfig", "LlamaForCausalLM", 4096, **LLAMA13B),
    "densenet121": image("densenet121"), "mobilenet_v3_large": image("mobilenet_v3_large"),
    "efficientnet_b0": image("efficientnet_b0"), "convnext_tiny": image("convnext_tiny"),
    "vit_b_16": image("vit_b_16"), "swin_t": image("swin_t"), "regnet_y_400mf": image("regnet_y_400mf"),
    "inception_v3": image("inception_v3", 299, aux_logits=False, init_weights=False),
    "distilbert": language("DistilBertConfig", "DistilBertForMaskedLM", 512),
    "roberta_base": language("RobertaConfig", "RobertaForMaskedLM", 512),
    "opt_125m": language("OPTConfig", "OPTForCausalLM", 1024),
    "qwen2_05b": language("Qwen2Config", "Qwen2ForCausalLM", 1024, hidden_size=896, num_hidden_layers=24,
                          num_attention_heads=14, num_key_value_heads=2, intermediate_size=4864,
                          tie_word_embeddings=True),
    "lstm": lstm, "checkpointed": checkpointed,
}

# ---- one model, in this process ----------------------------------------------------------------------------------


def run_case(name, folder):
    from centimani.capturing import capture
    from centimani.command import build_without_memory
    from centimani.worlds import new_world
    started = time.monotonic()
    world = new_world()
    arguments = build_without_memory(CASES[name], world)
    counted = sum(p.numel() for p in arguments["model"].parameters())
    built = time.monotonic()
    trace = capture(**arguments, name=name, world=world)
    path = trace.save(os.path.join(folder, name + ".cmt.json"))
    ops = trace.content["ops"]
    rows = [t for t in trace.content["tensors"] if t.get("role") in ("parameter", "frozen")]
    total = 0
    for t in rows:
        n = 1
        for d in t["dims"]:
            n *= d
        total += n
    phases = {}
    for o in ops:
        phase = o.get("phase", "forward")
        phases[phase] = phases.get(phase, 0) + 1
    import torch
    return {"name": name, "ok": True, "build_s": round(built - started, 2),
            "capture_s": round(time.monotonic() - built, 2), "bytes": os.path.getsize(path), "parameters": counted,
            "parameters_in_trace": total, "operators": phases, "warnings": trace.warnings, "torch": torch.__version__,
            "cuda_used": bool(torch.cuda.is_initialized())}


def child(name, folder):
    try:
        row = run_case(name, folder)
    except ImportError as error:
        row = {"name": name, "ok": False, "skipped": str(error)}
    except Exception as error:
        row = {"name": name, "ok": False, "error": f"{type(error).__name__}: {error}"[:2000],
               "traceback": traceback.format_exc()[-6000:]}
    row["peak_host_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print("ROW " + json.dumps(row))


# ---- all models -------------------------------------------------------------------------------------------------


def run_child(name, folder, limit):
    environment = dict(os.environ, CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="4")
    try:
        done = subprocess.run([sys.executable, os.path.abspath(__file__), folder, "--case", name], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit, env=environment)
    except subprocess.TimeoutExpired:
        return {"name": name, "ok": False, "error": f"took more than {limit:.0f} s"}
    rows = [line[4:] for line in done.stdout.splitlines() if line.startswith("ROW ")]
    if rows:
        return json.loads(rows[-1])
    return {"name": name, "ok": False, "error": f"exit {done.returncode}: {done.stderr[-1500:]}"}


def report(row):
    if row["ok"]:
        exact = "exact" if row["parameters"] == row["parameters_in_trace"] else "DIFFERS"
        print(f"{row['name']:20} {row['capture_s']:7.1f} s  {row['peak_host_bytes'] / 2**30:5.2f} GiB  "
              f"{row['parameters']:>14,} parameters ({exact})  {sum(row['operators'].values()):6} operators  "
              f"{row['bytes'] / 1e6:5.2f} MB", flush=True)
    else:
        reason = "skipped: " + row["skipped"] if "skipped" in row else "FAILED: " + row["error"]
        print(f"{row['name']:20} {reason}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--budget", type=float, default=500, help="seconds for everything")
    parser.add_argument("--jobs", type=int, default=1, help="models at once")
    parser.add_argument("--only", help="names, with commas between")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        return child(options.case, options.folder)
    os.makedirs(options.folder, exist_ok=True)
    began, rows = time.monotonic(), []
    names = options.only.split(",") if options.only else list(CASES)
    with ThreadPoolExecutor(options.jobs) as pool:
        def one(name):
            left = options.budget - (time.monotonic() - began)
            if left < 5:
                return {"name": name, "ok": False, "error": "no time left"}
            return run_child(name, options.folder, min(180, left))

        for row in pool.map(one, names):
            rows.append(row)
            report(row)
            with open(os.path.join(options.folder, "summary.json"), "w") as out:
                json.dump(rows, out, indent=1)
    good = sum(r["ok"] for r in rows)
    print(f"{good} of {len(rows)} captured in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
