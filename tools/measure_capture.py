#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure_capture.py - FOLDER: capture language models in pure bf16 and run them on this machine's GPU.

    PYTHONPATH=python python3 tools/measure_capture.py FOLDER        capture; with an NVIDIA GPU also measure
    python3 tools/measure_capture.py FOLDER PROGRAM [DEVICE]         anywhere: compare predictions with the measurements

The first form writes a capture of each network, and measured.json: the median time of a step, the time of its kernels
(by torch.profiler) and the peak of allocated memory. The networks are those of tests/python/networks.py, in the style of
Hugging Face: norms that compute in fp32 and cast back, rotary embeddings, an fp32 loss.
"""
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Name, constructor of networks.py, its arguments, batch, sequence length.
RUNS = [("llama-1b-2k", "Llama", (16, 2048, 32, 8, 8192, 128256), 2, 2048),
        ("llama-1b-8k", "Llama", (16, 2048, 32, 8, 8192, 128256), 1, 8192),
        ("llama-300m-1k", "Llama", (12, 1024, 16, 4, 2816, 32000), 16, 1024),
        ("neox-1b-2k", "NeoX", (16, 2048, 8, 8192, 50304), 4, 2048),
        ("neox-160m-1k", "NeoX", (12, 768, 12, 3072, 50304), 8, 1024),
        ("gpt2-1k", "GPT2", (12, 768, 12, 50257, 1024), 8, 1024)]
WARM, STEPS = 5, 15


def loss_of(output, tokens):
    """The next-token loss in fp32, as in Hugging Face."""
    import torch
    logits = (output[0] if isinstance(output, tuple) else output).float()
    return torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1))


def step_of(model, optimizer, tokens):
    """One training step."""
    def run():
        loss_of(model(tokens), tokens).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return run


def measure(torch, run):
    """Median time of a step, time of its kernels, peak memory."""
    for _ in range(WARM):
        run()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(STEPS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    peak = torch.cuda.max_memory_allocated()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(3):
            run()
        torch.cuda.synchronize()
    busy = sum(e.device_time_total for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA) / 3e6
    return {"step_s": statistics.median(times), "device_s": busy, "peak_bytes": peak}


def run_all(folder):
    import torch
    sys.path[:0] = [os.path.join(ROOT, "python"), os.path.join(ROOT, "tests", "python")]
    import centimani
    import networks
    results = []
    for name, kind, arguments, batch, seq in RUNS:
        build = getattr(networks, kind)
        tokens = torch.randint(0, arguments[-2] if kind == "GPT2" else arguments[-1], (batch, seq))
        trace = centimani.capture(build(*arguments).to(torch.bfloat16), tokens, loss=loss_of, target=tokens,
                                  optimizer="adamw")
        trace.save(os.path.join(folder, f"{name}.cmt.json"))
        if not torch.cuda.is_available():
            continue
        model = build(*arguments).to(device="cuda", dtype=torch.bfloat16)
        run = step_of(model, torch.optim.AdamW(model.parameters()), tokens.cuda())
        results.append({"name": name, "batch": batch, "seq": seq, **measure(torch, run)})
        print(results[-1], flush=True)
        del model, run
        torch.cuda.empty_cache()
    if not results:
        return
    with open(os.path.join(folder, "measured.json"), "w") as out:
        json.dump({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "results": results}, out, indent=1)


def compare(folder, program, device):
    print(f"{'network':16} {'device s':>9} {'predicted':>9} {'error':>7} {'step s':>9} {'error':>7} {'memory GB':>9} {'error':>7}")
    for r in json.load(open(os.path.join(folder, "measured.json")))["results"]:
        p = json.loads(subprocess.run([program, "predict", os.path.join(folder, r["name"] + ".cmt.json"), "--device", device,
                                       "--batch", str(r["batch"]), "--json"], stdout=subprocess.PIPE, check=False).stdout)
        error = [100 * (p[k] / r[m] - 1) for k, m in (("device_time_s", "device_s"), ("step_time_s", "step_s"),
                                                      ("peak_bytes", "peak_bytes"))]
        print(f"{r['name']:16} {r['device_s']:9.4f} {p['device_time_s']:9.4f} {error[0]:+6.1f}% {r['step_s']:9.4f} "
              f"{error[1]:+6.1f}% {r['peak_bytes'] / 1e9:9.2f} {error[2]:+6.1f}%")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        compare(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "nvidia-h200")
    else:
        run_all(sys.argv[1])
