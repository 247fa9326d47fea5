# SPDX-License-Identifier: Apache-2.0
"""measure.py - run the training steps of a list on this machine's GPU.

    python3 tools/first_sight/measure.py LIST.tsv -o MEASURED.jsonl [--budget SECONDS] [--only WORD] [--workers N]

LIST.tsv is written by predict.py; only its columns case, precision, layout, batch and optimizer are read. Per case:
median time of a step, kernel time (sum, and union over streams), peak of allocated and reserved memory, and the kernel
time of each operator by pass and shapes. Lines are appended, so that a run can be continued. Several processes build
and tune networks at once; only one at a time uses the GPU for its steps (gpu_turns.py).
"""
import argparse
import gc
import json
import os
import statistics
import sys
import time
import traceback

import torch

import cases
import compare
import gpu_turns

PART = "part "  # begins the names under which name_parts marks them
WARM, MOST_STEPS, MOST_SECONDS = 4, 20, 0.35
PROFILES = 2  # the one with less kernel time counts: a stopped process can still take a slice of milliseconds from a kernel


def highest_index(model, inputs):
    """Indices go into the smallest table of the model, or without a table into the first input's rows."""
    tables = [m.num_embeddings for m in model.modules() if isinstance(m, torch.nn.Embedding)]
    if tables:
        return min((n for n in tables if n > 64), default=min(tables))
    first = cases.as_arguments(inputs)[0]
    return first[0].shape[0] * first[0].shape[1] if first and first[0].dim() > 1 else 1


def moved(name, value, dtype, layout, highest, device):
    """A tensor on the device with random numbers, in the model's type. Labels may be any class, so they stay 0; without a
    limit (None) indices stay what they are."""
    value = value.to(device)
    if value.dtype == torch.int64 and name not in ("labels", "next_sentence_label") and highest is not None:
        value = torch.randint_like(value, highest)
    if value.is_floating_point():
        value = torch.randn_like(value).to(dtype)
        if layout == "nhwc" and value.dim() == 4:
            value = value.contiguous(memory_format=torch.channels_last)
    return value


def every(inputs, change):
    if isinstance(inputs, dict):
        return {k: change(k, v) for k, v in inputs.items()}
    return tuple(change("", v) for v in inputs) if isinstance(inputs, tuple) else change("", inputs)


class Case:
    """The model of a row on a device, its inputs and its target, and the functions that run one step of it."""

    def __init__(self, row, device="cuda"):
        half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(row["precision"], torch.float32)
        amp = {"amp-bf16": torch.bfloat16, "amp-fp16": torch.float16}.get(row["precision"])
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = row["precision"] == "tf32"
        self.autocast = lambda: torch.autocast(device, amp or torch.bfloat16, enabled=amp is not None)
        torch.manual_seed(0)
        with torch.device(device):
            model, make, loss = cases.built(row["case"])
        model = model.train().to(device).to(half) if half != torch.float32 else model.train().to(device)
        self.model = model.to(memory_format=torch.channels_last) if row["layout"] == "nhwc" else model
        raw = make(int(row["batch"]))
        highest = None if row["case"].startswith("probe:") else highest_index(model, raw)
        inputs = every(raw, lambda k, v: moved(k, v, half, row["layout"], highest, device))
        self.arguments, self.keywords = cases.as_arguments(inputs)
        self.optimizer = cases.OPTIMIZERS[row["optimizer"]](model.parameters())
        if row["case"].startswith("probe:"):
            self.model.try_parts(self.autocast, self.arguments)
            name_parts(self.model)
        self.target = None
        if loss != "own":
            shape = self.output_shape()
            loss = cases.default_loss(loss, shape)
            self.target = cases.target_of(loss, shape).to(device)
        self.criterion = cases.loss_function(loss)

    def output_shape(self):
        with torch.no_grad(), self.autocast():
            return tuple(cases.main_output(self.model(*self.arguments, **self.keywords)).shape)

    def step_of(self, forward):
        """One training step with this function as the model: the model itself, or a compiled one."""
        def step():
            with self.autocast():
                y = forward(*self.arguments, **self.keywords)
                value = self.criterion(y) if self.target is None else self.criterion(y, self.target)
            value.backward()
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        return step


def prepared(row):
    """A function that runs one eager step of the case."""
    case = Case(row)
    return case.step_of(case.model)


def name_parts(model):
    """Marks what the layer of each part runs, so that parts_of finds it in a profile."""
    for name, part in model.parts.items():
        part.layer.register_forward_pre_hook(lambda m, _, name=name: setattr(m, "mark", torch.profiler.record_function(PART + name).__enter__()))
        part.layer.register_forward_hook(lambda m, *_: m.mark.__exit__(None, None, None))


def parts_of(events):
    """The part of each operator's event: the one around it in forward, or around the operator whose gradient it computes.
    An operator's number is the one that the next gradient gets, so the last operator with a number is the one it is for."""
    parts, numbers = {}, {}
    for e in sorted(events, key=lambda e: e.time_range.start):
        above = parts.get(id(e.cpu_parent), "")
        name = e.name[len(PART):] if e.name.startswith(PART) else above
        if e.name.startswith("autograd::engine"):
            name = numbers.get(e.sequence_nr, "")
        elif e.sequence_nr >= 0 and not pass_of(e).startswith("backward"):
            numbers[e.sequence_nr] = name
        parts[id(e)] = name
    return parts


def timed(step, most=MOST_SECONDS):
    """Median seconds of a step, and how many were run in about `most` seconds."""
    for _ in range(WARM):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    step()
    torch.cuda.synchronize()
    once = time.perf_counter() - begin
    count = max(3, min(MOST_STEPS, int(most / max(once, 1e-3))))
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        for _ in range(count):
            step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / count)
    return statistics.median(times), count


def wait_until_idle(most=5.0):
    """Stopped processes may have launched kernels of seconds, which take turns of milliseconds with the ones of this one."""
    x, begin, quick = torch.ones(1, device="cuda"), time.perf_counter(), 0
    while quick < 100 and time.perf_counter() - begin < most:
        launched = time.perf_counter()
        x.add_(1)
        torch.cuda.synchronize()
        quick = quick + 1 if time.perf_counter() - launched < 3e-4 else 0


def host_probe():
    """Seconds of the host per tiny operator, now: other tenants of a machine change it."""
    x = torch.ones(1, device="cuda")
    for _ in range(50):
        x.add_(1)
    torch.cuda.synchronize()
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(200):
            x.add_(1)
        times.append((time.perf_counter() - begin) / 200)
        torch.cuda.synchronize()
    return statistics.median(times)


def pass_of(event):
    while event is not None:
        if event.name.startswith("autograd::engine"):
            return "backward " + event.name.rpartition(" ")[2]
        if event.name.startswith("Optimizer."):
            return "update"
        event = event.cpu_parent
    return "forward"


def profile_of(step):
    kinds = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA], record_shapes=True) as profile:
        step()
        torch.cuda.synchronize()
    return profile


def kernels_of(profile):
    """Kernel time by sum and union, number of kernels, and the kernel time of each operator."""
    events, spans, table, host = profile.events(), [], {}, {}
    parts = parts_of(events)
    for e in events:
        if e.name.startswith("aten::") and not (e.cpu_parent and e.cpu_parent.name.startswith("aten::")):
            key = pass_of(e).partition(" ")[0] + " " + e.name
            host[key] = host.get(key, 0) + 1
        if e.device_type == torch.autograd.DeviceType.CUDA and not getattr(e, "is_user_annotation", False):
            spans.append((e.time_range.start, e.time_range.end))
        elif e.kernels:
            shapes = [list(s) for s in (e.input_shapes or []) if s]
            key = (pass_of(e), e.name, json.dumps(shapes, separators=(",", ":")), parts[id(e)])
            row = table.setdefault(key, [0, 0.0, {}])
            row[0] += 1
            for k in e.kernels:
                row[1] += k.duration
                row[2][k.name[:80]] = row[2].get(k.name[:80], 0) + k.duration
    union, last = 0.0, -1.0
    for begin, end in sorted(spans):
        union += max(0.0, end - max(begin, last))
        last = max(last, end)
    ops = [[*key[:3], n, round(us, 2), sorted(((round(t, 2), k) for k, t in names.items()), reverse=True)[:8], key[3]]
           for key, (n, us, names) in table.items()]
    return {"busy_s": sum(b - a for a, b in spans) / 1e6, "union_s": union / 1e6, "kernels": len(spans), "host": host,
            "ops": sorted(ops, key=lambda o: -o[4])}


def quieter(profiles):
    return min(profiles, key=lambda p: p.get("union_s", 0))


def without_workspaces():
    """cuBLAS's workspaces of earlier steps go, so that those of the next step are its own."""
    torch._C._cuda_clearCublasWorkspaces()


def multiplied():
    """One product forward and backward: both threads have cuBLAS's workspaces afterwards."""
    left, right = (torch.ones(64, 64, device="cuda", requires_grad=True) for _ in range(2))
    (left @ right).sum().backward()


def peaks(step):
    """Peak memory of the steps that ran alone, and of one more in a process that has multiplied matrices: PyTorch keeps
    cuBLAS's workspaces (64 MiB on a Hopper), which networks without products need only there. The second is the state
    in which the shared rows were measured."""
    own = torch.cuda.max_memory_allocated()
    multiplied()
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    return {"peak_own": own, "peak_allocated": torch.cuda.max_memory_allocated(), "peak_reserved": torch.cuda.max_memory_reserved()}


def one(row, turns):
    step = prepared(row)
    without_workspaces()
    with turns.tuning():
        step()  # cuDNN chooses its kernels
        torch.cuda.synchronize()
    with turns.alone():
        wait_until_idle()
        probe = host_probe()
        seconds, steps = timed(step, 0 if row["case"].startswith("probe:") else MOST_SECONDS)  # of probes the profile counts
        result = {"case": row["case"], "precision": row["precision"], "layout": row["layout"], "batch": int(row["batch"]),
                  "optimizer": row["optimizer"], "step_s": seconds, "steps": steps, "probe_s": probe, **peaks(step)}
        profiles = [profile_of(step) for _ in range(PROFILES)]
    result.update(quieter(kernels_of(p) for p in profiles))
    return result


class Campaign:
    def __init__(self, output, budget):
        self.output, self.budget, self.begin = output, budget, time.perf_counter()

    def spent(self):
        return time.perf_counter() - self.begin

    def measure(self, row, turns):
        """One row, appended to the output. False when the budget is spent."""
        if self.spent() > self.budget:
            print("budget spent before", row["case"], flush=True)
            return False
        start = time.perf_counter()
        torch.backends.cudnn.benchmark = True
        try:
            result = one(row, turns)
        except Exception as error:  # noqa: BLE001 - one broken network must not end the campaign
            result = {"case": row["case"], "precision": row["precision"], "batch": int(row["batch"]), "error": repr(error)[:300]}
            traceback.print_exc(limit=-3, file=sys.stderr)
        gpu_turns.appended(self.output, json.dumps(result))
        print(f"{self.spent():6.0f} s {row['case']} {row['precision']} {row['batch']}: "
              f"{result.get('error') or format(result['step_s'] * 1e3, '.2f') + ' ms'} ({time.perf_counter() - start:.1f} s)", flush=True)
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        return True


def rows_left(path, output, only):
    done = set()
    if os.path.exists(output):
        done = {(r["case"], r["precision"], r["batch"]) for r in map(json.loads, open(output))}
    return [r for r in compare.table(path) if only in r["case"] and (r["case"], r["precision"], int(r["batch"])) not in done]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--budget", type=float, default=1e9)
    parser.add_argument("--only", default="")
    parser.add_argument("--workers", type=int, default=8)
    args = parser.parse_args()
    cases.load(args.list)
    campaign = Campaign(args.output, args.budget)
    gpu_turns.run(rows_left(args.list, args.output, args.only), args.workers, campaign.measure)


if __name__ == "__main__":
    main()
