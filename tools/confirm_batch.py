#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""confirm_batch.py - measure what PyTorch allocates on this machine's GPU, to check the memory model.

    confirm_batch.py --confirm resnet50:2900 gpt2:96 [--precision amp_bf16]
        run three training steps at each batch size and at 10 % more, each in its own process: fits, or out of memory
    confirm_batch.py --sweep --out DIR [--budget 300] [--models a,b] [--precisions amp_bf16,tf32]
        write peak_alloc and peak_reserved of models at several batch sizes to DIR/sweep.csv, the live allocations at
        each peak to DIR/peaks.jsonl, and every allocation of one step to DIR/events/*.gz
    confirm_batch.py --workspaces --out DIR [--budget 200]
        write the workspace bytes of single convolutions and matrix products to DIR/workspaces.csv

Eager PyTorch, synthetic data, cudnn.benchmark, zero_grad(set_to_none), multi-tensor optimizers. A case that fails is
reported and skipped; --budget (seconds) stops before the next case.
"""
import argparse
import collections
import csv
import gc
import gzip
import json
import os
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

DEVICE = "cuda"
MARK = 777_777  # bytes of a marker allocation; the first marks the start of backward, the second that of the update


# ---- models ----------------------------------------------------------------------------------------------------------

class UNet(nn.Module):
    """Five levels, 32 base features, batch norm."""

    def __init__(self, base=32):
        super().__init__()
        def block(c, k):
            return nn.Sequential(nn.Conv2d(c, k, 3, padding=1, bias=False), nn.BatchNorm2d(k), nn.ReLU(True),
                                 nn.Conv2d(k, k, 3, padding=1, bias=False), nn.BatchNorm2d(k), nn.ReLU(True))
        widths = [base << i for i in range(5)]
        self.down = nn.ModuleList(block(c, k) for c, k in zip([3] + widths, widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * k, k, 2, 2) for k in reversed(widths[:-1]))
        self.merge = nn.ModuleList(block(2 * k, k) for k in reversed(widths[:-1]))
        self.head = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(x)
            if i < 4:
                kept.append(x)
                x = F.max_pool2d(x, 2)
        for up, merge, skip in zip(self.up, self.merge, reversed(kept)):
            x = merge(torch.cat([up(x), skip], 1))
        return self.head(x)


class BraggNN(nn.Module):
    """11x11 patches: convolution, a non-local block, two convolutions, five dense layers."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 64, 3)
        self.theta, self.phi, self.g = (nn.Conv2d(64, 32, 1) for _ in range(3))
        self.out = nn.Conv2d(32, 64, 1)
        self.rest = nn.Sequential(nn.LeakyReLU(0.01), nn.Conv2d(64, 32, 3), nn.LeakyReLU(0.01), nn.Conv2d(32, 8, 3), nn.LeakyReLU(0.01))
        sizes = (200, 64, 32, 16, 8, 2)
        self.dense = nn.Sequential(*(layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.LeakyReLU(0.01))))

    def forward(self, x):
        x = self.first(x)
        theta, phi, g = (f(x).flatten(2) for f in (self.theta, self.phi, self.g))
        y = torch.matmul(F.softmax(torch.matmul(theta.transpose(1, 2), phi), -1), g.transpose(1, 2))
        x = x + self.out(y.transpose(1, 2).contiguous().view(x.shape[0], 32, *x.shape[2:]))
        return self.dense(self.rest(x).flatten(1))


class Lstm(nn.Module):
    def __init__(self, vocab=10000, width=650):
        super().__init__()
        self.embed, self.lstm = nn.Embedding(vocab, width), nn.LSTM(width, width, 2, batch_first=True)
        self.head = nn.Linear(width, vocab)

    def forward(self, x):
        return self.head(self.lstm(self.embed(x))[0])


def hugging_face(kind):
    import transformers as t
    if kind == "gpt2":
        return t.GPT2LMHeadModel(t.GPT2Config(use_cache=False)), 1024, 50257
    if kind == "bert_large":
        return t.BertForMaskedLM(t.BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                                              intermediate_size=4096)), 512, 30522
    if kind == "llama":
        return t.LlamaForCausalLM(t.LlamaConfig(hidden_size=768, intermediate_size=2048, num_hidden_layers=12,
                                                num_attention_heads=12, num_key_value_heads=4, vocab_size=32000,
                                                use_cache=False)), 1024, 32000
    return t.T5ForConditionalGeneration(t.T5Config(vocab_size=32128, d_model=512, d_ff=2048, num_layers=6, num_heads=8,
                                                   use_cache=False)), 512, 32128


def image_case(model, classes):
    def make(batch):
        x = torch.randn(batch, 3, 224, 224, device=DEVICE)
        y = torch.randint(classes, (batch,), device=DEVICE)
        return (x,), lambda out: F.cross_entropy(out.float(), y)
    return model, make, lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9), True


def language_case(model, seq, vocab, decoder=False):
    def make(batch):
        x = torch.randint(vocab, (batch, seq), device=DEVICE)
        y = torch.randint(vocab, (batch, seq), device=DEVICE)
        def loss(out):
            logits = out.logits if hasattr(out, "logits") else out
            return F.cross_entropy(logits.float().view(-1, vocab), y.view(-1))
        return (dict(input_ids=x, decoder_input_ids=y) if decoder else (x,)), loss
    return model, make, lambda p: torch.optim.AdamW(p, lr=1e-4), False


def case(name):
    """model, make(batch) -> inputs and loss, optimizer, whether channels-last pays"""
    if name == "unet":
        def make(batch):
            x = torch.randn(batch, 3, 256, 256, device=DEVICE)
            y = torch.rand(batch, 1, 256, 256, device=DEVICE)
            return (x,), lambda out: F.binary_cross_entropy_with_logits(out.float(), y)
        return UNet(), make, lambda p: torch.optim.Adam(p, lr=1e-4), True
    if name == "braggnn":
        def make(batch):
            x, y = torch.randn(batch, 1, 11, 11, device=DEVICE), torch.rand(batch, 2, device=DEVICE)
            return (x,), lambda out: F.mse_loss(out.float(), y)
        return BraggNN(), make, lambda p: torch.optim.Adam(p, lr=1e-4), False
    if name == "lstm":
        return language_case(Lstm(), 128, 10000)
    if name in ("gpt2", "bert_large", "llama", "t5_small"):
        model, seq, vocab = hugging_face(name)
        return language_case(model, seq, vocab, name == "t5_small")
    import torchvision
    return image_case(getattr(torchvision.models, name)(weights=None), 1000)


# ---- one step --------------------------------------------------------------------------------------------------------

def set_precision(precision):
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "fp32"
    return {"amp_bf16": torch.bfloat16, "amp_fp16": torch.float16}.get(precision)


def mark():
    torch.empty(MARK, dtype=torch.uint8, device=DEVICE)


def stepper(name, precision, batch):
    low = set_precision(precision)
    model, make, optimizer, images = case(name)
    model = model.to(DEVICE).train()
    if images and low:
        model = model.to(memory_format=torch.channels_last)
    inputs, loss_of = make(batch)
    if images and low:
        inputs = tuple(x.to(memory_format=torch.channels_last) for x in inputs)
    update = optimizer(model.parameters())
    def step():
        with torch.autocast("cuda", dtype=low, enabled=low is not None):
            # no variable, so that the result is freed during the backward pass
            loss = loss_of(model(**inputs) if isinstance(inputs, dict) else model(*inputs))
        mark()
        loss.backward()
        mark()
        update.step()
        update.zero_grad(set_to_none=True)
    return step, sum(p.numel() for p in model.parameters())


def measured(name, precision, batch, steps=3, trace=None):
    step, params = stepper(name, precision, batch)
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    row = dict(model=name, precision=precision, batch=batch, params=params, between=before,
               peak_alloc=torch.cuda.max_memory_allocated(), peak_reserved=torch.cuda.max_memory_reserved())
    try:
        if trace:
            record(step, lambda events: trace(row, before, events))
    except Exception as error:  # the peaks are valid without it
        print(name, precision, batch, "no trace:", str(error).splitlines()[0][:150], flush=True)
    return row


def record(step, trace):
    torch.cuda.memory._record_memory_history(enabled="all", context=None, stacks="python", max_entries=2_000_000)
    step()
    torch.cuda.synchronize()
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(enabled=None)
    trace([(e["action"], e["size"], e["addr"]) for e in events])


def at_peak(before, events):
    """Return the phase of the peak and the allocations of the step that are live at it: {bytes: count}, largest first."""
    held, best, phase, at = before, before, 0, ("before", {})
    alive, phases = {}, ("forward", "backward", "update")
    for index, (action, size, addr) in enumerate(events):
        if action == "alloc":
            alive[addr] = (size, index)
            held += size
            if MARK <= size < MARK + 512:
                phase = min(phase + 1, 2)
            if held > best:
                best, at = held, (phases[phase], index, dict(alive))
        elif action == "free_requested" and addr in alive:
            held -= alive.pop(addr)[0]
        elif action == "free_requested":
            held -= size
    if len(at) < 3:
        return dict(peak=best, phase=at[0])
    sizes = collections.Counter(size for size, _ in at[2].values())
    last = sorted(at[2].values(), key=lambda value: -value[1])[:8]
    return dict(peak=best, phase=at[1 - 1], event=at[1], events=len(events),
                alive=sorted(sizes.items(), key=lambda item: -item[0] * item[1])[:24], newest=[s for s, _ in last])


def fresh():
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()


# ---- modes -----------------------------------------------------------------------------------------------------------

SWEEP = {
    "unet": (2, 16), "resnet18": (32,), "mobilenet_v3_large": (32, 128), "efficientnet_b0": (32, 128), "vit_b_16": (16, 64),
    "convnext_tiny": (16, 64), "densenet121": (32, 64), "regnet_y_3_2gf": (32, 128), "swin_t": (16, 64), "t5_small": (4, 16),
    "llama": (2, 8), "lstm": (32, 256), "gpt2": (2,), "vgg16_bn": (32,), "braggnn": (1024,),
}


FULL_PRECISION = {"vgg16_bn": (32,), "resnet18": (32, 256), "braggnn": (1024,), "densenet121": (32,), "mobilenet_v3_large": (32,)}


def sweep_cases(args):
    names = args.models.split(",") if args.models else list(SWEEP)
    for precision in args.precisions.split(","):
        for name in names:
            for batch in SWEEP.get(name, (8, 32)):
                yield name, precision, batch
        for name in names:
            for batch in FULL_PRECISION.get(name, ()):
                yield name, "fp32", batch


def sweep(args):
    os.makedirs(os.path.join(args.out, "events"), exist_ok=True)
    start = time.time()
    peaks = open(os.path.join(args.out, "peaks.jsonl"), "w")
    table = open(os.path.join(args.out, "sweep.csv"), "w", newline="")
    writer = None
    def trace(row, before, events):
        peaks.write(json.dumps({**row, **at_peak(before, events)}) + "\n")
        peaks.flush()
        path = os.path.join(args.out, "events", f"{row['model']}.{row['precision']}.{row['batch']}.gz")
        with gzip.open(path, "wt") as out:
            out.writelines(f"{action} {size} {addr:x}\n" for action, size, addr in events)
    for name, precision, batch in dict.fromkeys(sweep_cases(args)):
        if time.time() - start > args.budget:
            print("budget spent", flush=True)
            return
        fresh()
        left = torch.cuda.memory_allocated()
        try:
            row = measured(name, precision, batch, trace=trace)
        except Exception as error:  # one failing case must not stop the rest
            print(name, precision, batch, "failed:", str(error).splitlines()[0][:150], flush=True)
            continue
        row["left_before"] = left
        if writer is None:
            writer = csv.DictWriter(table, row.keys())
            writer.writeheader()
        writer.writerow(row)
        table.flush()
        print(f"{time.time() - start:5.0f} s  {name} {precision} {batch}: alloc {row['peak_alloc'] / 2**20:.1f} MiB, "
              f"reserved {row['peak_reserved'] / 2**20:.1f} MiB, between steps {row['between'] / 2**20:.1f}", flush=True)


def conv_shapes():
    """Distinct convolutions of some networks: (c, k, h, w, r, s, stride, pad, groups), most frequent first."""
    import torchvision
    found = collections.Counter()
    def note(module, inputs, _):
        x = inputs[0].shape
        found[(module.in_channels, module.out_channels, x[2], x[3], *module.kernel_size, module.stride[0],
               module.padding[0], module.groups)] += 1
    for name in ("resnet18", "vgg16_bn", "resnet50", "densenet121", "mobilenet_v3_large", "efficientnet_b0", "convnext_tiny"):
        with torch.device("meta"):
            model = getattr(torchvision.models, name)(weights=None)
            for module in model.modules():
                if isinstance(module, nn.Conv2d):
                    module.register_forward_hook(note)
            model(torch.empty(1, 3, 224, 224))
    with torch.device("meta"):
        model = UNet()
        for module in model.modules():
            if isinstance(module, nn.Conv2d):
                module.register_forward_hook(note)
        model(torch.empty(1, 3, 256, 256))
    found.update({(64, 32, 9, 9, 3, 3, 1, 0, 1): 1, (64, 32, 9, 9, 1, 1, 1, 0, 1): 1, (32, 8, 7, 7, 3, 3, 1, 0, 1): 1})
    return [shape for shape, _ in sorted(found.items(), key=lambda item: (item[0][4] < 3 or item[0][8] > 1, -item[1]))]


def workspace(call):
    """Bytes that the second call allocates in addition to its result. The first call chooses the algorithm."""
    call()
    torch.cuda.synchronize()
    base = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    result = call()
    torch.cuda.synchronize()
    kept = torch.cuda.memory_allocated() - base
    del result
    return torch.cuda.max_memory_allocated() - base - kept


def conv_calls(shape, batch, dtype, layout):
    c, k, h, w, r, s, stride, pad, groups = shape
    make = lambda *size: torch.randn(size, device=DEVICE, dtype=dtype).to(memory_format=layout)
    x, weight = make(batch, c, h, w), make(k, c // groups, r, s)
    y = F.conv2d(x, weight, None, stride, pad, 1, groups)
    def back(mask):
        return lambda: torch.ops.aten.convolution_backward(y, x, weight, None, [stride] * 2, [pad] * 2, [1, 1], False,
                                                           [0, 0], groups, mask)
    return (("forward", lambda: F.conv2d(x, weight, None, stride, pad, 1, groups)),
            ("bwd_input", back([True, False, False])), ("bwd_weight", back([False, True, False])))


def workspaces(args):
    os.makedirs(args.out, exist_ok=True)
    start, shapes = time.time(), conv_shapes()
    modes = (("fp32", torch.float32, torch.contiguous_format), ("amp_bf16", torch.bfloat16, torch.channels_last),
             ("tf32", torch.float32, torch.contiguous_format), ("bf16-nchw", torch.bfloat16, torch.contiguous_format))
    with open(os.path.join(args.out, "workspaces.csv"), "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["mode", "n", "c", "k", "h", "w", "r", "s", "stride", "pad", "groups", "pass", "workspace_bytes"])
        for batch in (32, 128, 8):
            for shape in shapes:
                for mode, dtype, layout in modes:
                    if time.time() - start > args.budget:
                        print("budget spent", flush=True)
                        return
                    set_precision("fp32" if mode == "fp32" else "tf32")
                    try:
                        for name, call in conv_calls(shape, batch, dtype, layout):
                            out.writerow([mode, batch, *shape, name, workspace(call)])
                    except Exception as error:  # one failing case must not stop the rest
                        print(mode, batch, shape, "failed:", str(error).splitlines()[0][:150], flush=True)
                    gc.collect()
            file.flush()
            torch.cuda.empty_cache()
            print(f"{time.time() - start:5.0f} s  batch {batch}: {len(shapes)} shapes", flush=True)


def one(name, precision, batch):
    try:
        row = measured(name, precision, batch, steps=2)
        print("RESULT " + json.dumps(dict(row, fits=True)))
    except torch.cuda.OutOfMemoryError:
        print("RESULT " + json.dumps(dict(model=name, precision=precision, batch=batch, fits=False,
                                          peak_alloc=torch.cuda.max_memory_allocated(),
                                          peak_reserved=torch.cuda.max_memory_reserved())))


def confirm(args):
    start = time.time()
    for pair in args.confirm:
        name, batch = pair.rsplit(":", 1)
        for n in (int(batch), -(-int(batch) * 11 // 10)):
            if time.time() - start > args.budget:
                print("budget spent", flush=True)
                return
            run = subprocess.run([sys.executable, __file__, "--one", name, "--batch", str(n), "--precisions", args.precisions],
                                 capture_output=True, text=True)
            lines = [line for line in run.stdout.splitlines() if line.startswith("RESULT ")]
            if not lines:
                print(name, n, "failed:", run.stderr.strip().splitlines()[-1:], flush=True)
                continue
            row = json.loads(lines[-1][7:])
            print(f"{time.time() - start:5.0f} s  {name} {row['precision']} batch {n}: "
                  f"{'fits' if row['fits'] else 'OUT OF MEMORY'}; allocated {row['peak_alloc']} reserved {row['peak_reserved']}",
                  flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--confirm", nargs="+", metavar="MODEL:BATCH")
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--workspaces", action="store_true")
    parser.add_argument("--one", metavar="MODEL", help="one case, for --confirm")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--models", help="of --sweep, comma-separated")
    parser.add_argument("--precisions", default="amp_bf16")
    parser.add_argument("--budget", type=float, default=300, help="seconds")
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    args = parser.parse_args()
    if args.one:
        one(args.one, args.precisions, args.batch)
    if args.sweep:
        sweep(args)
    if args.workspaces:
        workspaces(args)
    if args.confirm:
        confirm(args)
    if torch.cuda.is_available():
        free, total = torch.cuda.mem_get_info()
        print(f"device memory {total} bytes, of it {total - free - torch.cuda.memory_reserved()} held by the context and others")


main()
