#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure_rules.py [-o FILE.tsv] [--only WORD] - measure the numbers of kernel laws and of generated kernels on this GPU.

Prints the value of each rule of data/kernel_laws.tsv, and of those of data/factors.tsv that count kernels, beside the stored
one: clock cycles per unit of work for laws, at the clock of the H200's profile, and bytes of a copy for generated kernels.
A law is measured by kernels of two sizes, each divided by the law's own count of work; these lines end in the kernel call and
its seconds (tests/validation/rules.tsv). Needs PyTorch with CUDA, for deformed convolutions torchvision.
"""
import argparse
import json
import math
import pathlib
import re
import statistics
import sys

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLOCK = json.loads((ROOT / "data/devices/nvidia-h200.json").read_text())["clock_hz"]["value"]
CALLS_DEF = (ROOT / "src/device/calls.def").read_text()
RESIDENT = 2048  # threads of a multiprocessor: laws.c
WORDS = {"ceil": math.ceil, "fmin": min, "fmax": max, "fmod": math.fmod, "log2": math.log2, "cache": 50 * 2**20}


def rows_of(name):
    lines = (ROOT / "data" / name).read_text().splitlines()
    head = next(line[2:].split("\t") for line in lines if line.startswith("# rule\t"))
    return {line.split("\t")[0]: dict(zip(head, line.split("\t"))) for line in lines if not line.startswith("#")}


def value(text, sizes):
    """A C expression of the table, with at most one choice at each level of parentheses."""
    inner = re.search(r"\(([^()]*\?[^()]*)\)", text)
    if inner:
        return value(text.replace(inner[0], str(value(inner[1], sizes)), 1), sizes)
    if "?" in text:
        condition, rest = text.split("?", 1)
        first, second = rest.rsplit(":", 1)
        return value(first if value(condition, sizes) else second, sizes)
    return eval(text.replace("&&", " and "), {"__builtins__": {}}, {**WORDS, **sizes})  # the project's own table


def kernel_time(run, kernels=""):
    """Median time of a run's kernels whose names match, in seconds."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        for _ in range(7):
            run()
        torch.cuda.synchronize()
    events = [e for e in found.events() if e.device_type == torch.autograd.DeviceType.CUDA and re.search(kernels, e.name)]
    times = [e.time_range.elapsed_us() * 1e-6 for e in events]
    each = len(times) // 7
    return statistics.median(sum(times[i * each:(i + 1) * each]) for i in range(7)) if each else math.nan


def measured(law, call, run, sizes, kernels=""):
    """The value of a law by one kernel, the call and its seconds."""
    op, *rest = call.split()
    names = re.findall(r'SIZE\(\w+, \w+, "(\w+)"\)', re.search(rf'"{op}".*?END', CALLS_DEF, re.S)[0])
    text = f"{op} {' '.join(rest)} fp32 {','.join(str(sizes.get(name, 1)) for name in names)}"
    sizes = {"element": 4, **sizes}
    work, steps = (1 if law[column] == "-" else value(law[column], sizes) for column in ("work", "steps"))
    cores = torch.cuda.get_device_properties(0).multi_processor_count
    units = {"blocks": work * steps / cores, "serial": work * steps, "loops": max(1, work / (cores * RESIDENT)) * steps}[law["form"]]
    seconds = kernel_time(run, kernels)
    return seconds * CLOCK / units, text, seconds


def rand(*sizes, grad=False):
    return torch.randn(*sizes, device="cuda", requires_grad=grad)


def gradient(output, source):
    """The backward pass alone."""
    seed = torch.ones_like(output)
    return lambda: torch.autograd.grad(output, source, seed, retain_graph=True)


def rows(vocab, tokens, width):
    return rand(vocab, width), torch.randint(0, vocab, (tokens,), device="cuda")


def pool(channels, side):
    x = rand(2, channels, side, side, side)
    planes, rows = 2 * channels * ((side - 3) // 2 + 1), (side - 3) // 2 + 1  # blocks of 8 rows of 32 threads (dispatch/images.c)
    return lambda: F.max_pool3d(x, 3, 2), {"threads": planes * math.ceil(rows / 8) * 8 * math.ceil(rows / 32) * 32, "window": 27}


def columns(count, classes, backward):
    x = rand(1, classes, count, grad=backward)
    run = gradient(torch.softmax(x, 1), x) if backward else lambda: torch.softmax(x, 1)
    return run, {"rows": count, "cols": classes}, "oft"


def places(channels, side):
    x = rand(8, channels, side, side, grad=True)
    grid = F.affine_grid(torch.eye(2, 3, device="cuda").expand(8, 2, 3), x.shape, align_corners=False)
    return gradient(F.grid_sample(x, grid, align_corners=False), x), \
        {"n": 8, "c": channels, "h": side, "w": side, "out_h": side, "out_w": side}, "grid_sampler"


def solved(batch, n, right):
    a, b = torch.tril(rand(batch, n, n)) + n * torch.eye(n, device="cuda"), rand(batch, n, right)
    return lambda: torch.linalg.solve_triangular(a, b, upper=False), {"matrices": batch, "rows": n, "columns": right}, "trsm|trsv"


def copied(tokens, width):
    table, index = rows(30000, tokens, width)
    return lambda: table[index], {"tokens": tokens, "vocab": 30000, "width": width}, "gather|index"


def deformed(channels, side, part):
    from torchvision.ops import deform_conv2d
    x, offset = rand(4, channels, side, side, grad=True), torch.zeros(4, 18, side, side, device="cuda", requires_grad=True)
    weight = rand(64, channels, 3, 3)
    out = deform_conv2d(x, offset, weight, padding=1)
    pixels = 4 * side * side
    return {"columns": (lambda: deform_conv2d(x, offset, weight, padding=1), {"threads": pixels * channels, "numbers": 9}, "im2col"),
            "places": (gradient(out, offset), {"threads": pixels * 18, "numbers": channels}, "coord"),
            "image": (gradient(out, x), {"threads": pixels * channels, "numbers": 9}, "col2im_kernel|gradient_kernel|input")}[part]


LAWS = {"volume_pools": ["pool3d forward max", lambda: pool(32, 48), lambda: pool(64, 64)],
        "softmax_columns": ["softmax forward planes", lambda: columns(512, 1024, False), lambda: columns(1024, 2048, False)],
        "softmax_columns_backward": ["softmax backward planes", lambda: columns(512, 1024, True), lambda: columns(1024, 2048, True)],
        "sampled_places_backward": ["resize backward sample:nchw", lambda: places(64, 64), lambda: places(128, 96)],
        "triangular_rows": ["factor forward substitute", lambda: solved(64, 256, 256), lambda: solved(32, 365, 365)],
        "copied_rows": ["embedding forward select", lambda: copied(3000000, 32), lambda: copied(5000000, 16)],
        "deformed_columns": ["deform forward columns", lambda: deformed(64, 64, "columns"), lambda: deformed(128, 96, "columns")],
        "deformed_places": ["deform forward places", lambda: deformed(128, 64, "places"), lambda: deformed(256, 32, "places")],
        "deformed_image": ["deform forward image", lambda: deformed(64, 64, "image"), lambda: deformed(128, 96, "image")]}


def slope(make, few, many):
    """Seconds per unit between two amounts of work: what starts a kernel cancels."""
    (less, units_less), (more, units_more) = make(few), make(many)
    return (kernel_time(more) - kernel_time(less)) / (units_more - units_less)


def repeated(function, count=1 << 25):
    """A generated kernel that applies a function so many times to each number."""
    def make(times):
        def body(x):
            for _ in range(times):
                x = function(x)
            return x
        compiled, x = torch.compile(body, dynamic=False), rand(count)
        return (lambda: compiled(x)), count * times
    return make


def copies(count):
    compiled, x = torch.compile(lambda x: x + 1, dynamic=False), rand(count)
    return (lambda: compiled(x)), 8 * count


def grown(layout, scale):
    """Gradient of bilinear growth: four additions for each result."""
    def make(channels):
        x = rand(8, channels, 64, 64).to(memory_format=layout).requires_grad_()
        out = torch.compile(lambda x: F.interpolate(x, scale_factor=scale, mode="bilinear"), dynamic=False)(x)
        return gradient(out, x), 4 * out.numel()
    return make


def generated():
    """Rules of generated kernels, by name."""
    byte = slope(copies, 1 << 25, 1 << 26)
    yield "function_flop", slope(repeated(torch.exp), 16, 64) / byte / 4
    yield "random_number", slope(repeated(lambda x: F.dropout(x, 0.1, True)), 1, 5) / byte
    twice, eight = (slope(grown(torch.contiguous_format, scale), 64, 128) / byte for scale in (2, 8))
    yield "atomic_add", twice
    yield "atomic_add_lanes", 8 / (eight / twice)
    yield "atomic_add_nhwc", slope(grown(torch.channels_last, 2), 64, 128) / byte


def laws(only):
    for name, law in rows_of("kernel_laws.tsv").items():
        call, *cases = LAWS[name]
        for case in cases if only in name else ():
            try:
                yield name, *measured(law, call, *case())
            except (ImportError, RuntimeError) as error:
                print(f"{name}: {error}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=argparse.FileType("w"), default=sys.stdout)
    parser.add_argument("--only", default="", help="laws whose name contains this; generated kernels: 'generated'")
    args = parser.parse_args()
    stored = {**rows_of("kernel_laws.tsv"), **rows_of("factors.tsv")}
    print("rule\tmeasured\tstored\tcall\tseconds", file=args.output)
    for name, found, *call in (*laws(args.only), *(generated() if args.only in "generated" else ())):
        text = f"\t{call[0]}\t{call[1]:.4g}" if call else ""
        print(f"{name}\t{found:.4g}\t{stored[name]['value']}{text}", file=args.output, flush=True)


if __name__ == "__main__":
    main()
