#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit_surfaces.py [--steps N] [--only NAME] TABLES: fit the surfaces of AMD's products and convolutions.

TABLES is a folder with ops_amd_conv.csv.gz, ops_amd_gemm.csv.gz, ops_xla_gemm.csv.gz, ops_ceilings.csv.gz and
gemm_eff_amd.csv.gz. Writes the fitted networks, never the tables, into profiles under data/devices. A surface is a
small neural network for log(time / roofline), docs/dev/fitting.md; src/model/time/surfaces.c computes the same features.
Errors are of rows left out in five folds. All passes and types of a product's shape are in one fold, and all images of a
convolution with the same channels, filter and groups: networks that a surface was not fitted to have other ones.
"""
import argparse
import csv
import gzip
import hashlib
import json
import math
import os
import pathlib

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the matrices are small
import numpy as np  # noqa: E402

DEVICES = pathlib.Path(__file__).parent.parent / "data" / "devices"
FOLDS, LOSS_SCALE, BATCH, HIDDEN = 5, 0.1, 1000, (24, 16)
# Of the weights, where 0.1 leaves larger errors. Two or three of the five folds with 0.1 and with 0.4 or 0.5: MI210 and MI250X 23.9
# and 19.8 %, MI100 25.7 and 23.2 %, MI300X 13.9 and 14.9 %; of volumes a few rows decide.
DECAY = {("amd-cdna1", "conv"): 0.4, ("amd-cdna2", "conv"): 0.4}
MOST_WEIGHT = 4  # of a row that stands for rarer ones
BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
LAUNCH_S = {"amd-cdna1": 2.1e-6, "amd-cdna2": 2.1e-6, "amd-cdna3": 3e-6, "amd-cdna4": 3e-6}
# cores, peaks in TFLOP/s (fp32, 16 bits, fp8), bytes/s; the profiles' values, of one die for the MI250X. The MI308X has
# the MI300X's memory and 80 of its 304 compute units.
CHIPS = {
    "MI100": ("amd-cdna1", 120, {"fp32": 46.1, "fp16": 184.6, "bf16": 92.3}, 1.2288e12),
    "MI210": ("amd-cdna2", 104, {"fp32": 45.3, "fp16": 181, "bf16": 181}, 1.6384e12),
    "MI250X-GCD": ("amd-cdna2", 110, {"fp32": 47.9, "fp16": 191.5, "bf16": 191.5}, 1.6384e12),
    "MI300X": ("amd-cdna3", 304, {"fp32": 163.4, "fp16": 1307.4, "bf16": 1307.4, "fp8": 2614.9}, 5.3e12),
    "MI325X": ("amd-cdna3", 304, {"fp32": 163.4, "fp16": 1307.4, "bf16": 1307.4, "fp8": 2614.9}, 6e12),
    "MI308X": ("amd-cdna3", 80, {"fp32": 43, "fp16": 344, "bf16": 344, "fp8": 688.1}, 5.3e12),
    "MI355X": ("amd-cdna4", 256, {"fp32": 157.3, "fp16": 2516.6, "bf16": 2516.6, "fp8": 5033.2}, 8e12),
}


def rows_of(folder, name):
    with gzip.open(pathlib.Path(folder, name), "rt", newline="") as text:
        yield from csv.DictReader(text)


# ---- features, as in src/model/time/surfaces.c ----------------------------------------------------------------------

def aligned(size, most):
    return math.log(math.gcd(int(size), most))


def filled(size, tile):
    return math.log(size / (tile * math.ceil(size / tile)))


def in_waves(tiles, cores):
    return math.log(tiles / (cores * math.ceil(tiles / cores)))


# by_block: 1 if fp8 operands are scaled by block, 0 if as a whole or by row, 0.5 if that is not told
def product_features(s, dtype, variant, cores, by_block):
    b, m, n, k = s
    tiles = [b * math.ceil(m / t) * math.ceil(n / t) for t in (64, 128, 256)]
    flop, size = 2 * b * m * n * k, b * (m * k + k * n + m * n)
    return [math.log(b), math.log(m), math.log(n), math.log(k), math.log(flop), math.log(size), math.log(flop / size),
            filled(m, 16), filled(m, 64), filled(m, 256), filled(n, 64), filled(n, 256), aligned(m, 8), aligned(n, 8),
            aligned(n, 128), aligned(k, 8), aligned(k, 256), math.log(tiles[1] / cores), in_waves(tiles[0], cores),
            in_waves(tiles[1], cores), in_waves(tiles[2], cores), b > 1, dtype == "fp32", dtype == "fp16", dtype == "fp8",
            variant == "nn", variant == "tn", math.log(cores), by_block]


def conv_features(s, dtype, by, channels_last, cores):
    n, c, k = s["n"], s["c"], s["k"]
    image, window, out = s["image"], s["window"], s["out"]
    g, places, pixels, taps = s["groups"], n * math.prod(s["out"]), n * math.prod(s["image"]), math.prod(s["window"])
    ci, ko = c / g, k / g
    flop, size = 2 * g * ci * ko * taps * places, pixels * c + places * k + k * ci * taps
    m, w, d = {"fwd": (places, ko, ci * taps), "bwd_input": (pixels, ci, ko * taps), "bwd_weight": (ci * taps, ko, places)}[by]
    tiles = g * math.ceil(m / 128) * math.ceil(w / 128)
    square = window[-1] == 3 and window[-2] == 3 and s["stride"][-1] == 1 and s["stride"][-2] == 1 and s["dilation"][-1] == 1
    return [math.log(n), math.log(places), math.log(math.prod(out)), math.log(ci), math.log(ko), math.log(taps),
            math.log(window[-2] / window[-1]), math.log(pixels / places), math.log(g), g > 1, g > 1 and g == c, taps == 1,
            g == 1 and square, math.log(s["dilation"][-1]), math.log(1 + s["pad"][-1]), math.log(flop), math.log(size),
            math.log(flop / size), math.log(m), math.log(w), math.log(d), filled(w, 64), filled(w, 128), filled(w, 256),
            math.log(tiles / cores), in_waves(tiles, cores), aligned(c, 8), aligned(k, 8), aligned(math.prod(image), 8),
            math.log(window[0]) if len(window) == 3 else 0, math.log(image[0]) if len(image) == 3 else 0,
            by == "bwd_input", by == "bwd_weight", dtype == "fp32", dtype == "bf16", channels_last]


def roofline(chip, dtype, flop, size):
    family, _, peaks, bytes_s = CHIPS[chip]
    compute, traffic = flop / (peaks[dtype] * 1e12), size * BYTES[dtype] / bytes_s
    return LAUNCH_S[family] + (compute**4 + traffic**4) ** 0.25


# ---- rows: features, log(time / roofline), key of the shape, weight, label --------------------------------------------

def product(chip, s, dtype, variant, time_s, label, weight=1.0, by_block=False):
    b, m, n, k = s
    base = roofline(chip, dtype, 2 * b * m * n * k, b * (m * k + k * n + m * n))
    return (product_features(s, dtype, variant, CHIPS[chip][1], by_block), math.log(time_s / base), s, weight, label)


def scaled_by_block(r):
    return "blockscale" in r["note"] or "mxscale" in r["note"]


def weights_not_told(rows):
    """By device: how much a product scaled by row counts where the scaling is not told, so that both ways count the same."""
    eight = [(r["device"], scaled_by_block(r)) for r in rows if r["dtype"] == "fp8" and r["op"] == "gemm"]
    count = {key: eight.count(key) for key in set(eight)}
    return {d: min(MOST_WEIGHT, max(1, count.get((d, True), 0) / count[d, False])) for d, by_block in count if not by_block}


def aiter_products(folder, chips):
    rows = [r for r in rows_of(folder, "ops_amd_gemm.csv.gz")
            if r["device"] in chips and r["dtype"] in BYTES and math.isfinite(float(r["latency_ms"]))]
    weights = weights_not_told(rows)
    for r in rows:
        s, by_block, time_s = tuple(int(r[f"d{i}"] or 1) for i in range(4)), scaled_by_block(r), float(r["latency_ms"]) / 1e3
        variant = "nt" if r["op"] == "gemm" or r["dtype"] == "fp8" else "nn"
        label = f"aiter {r['device']} {r['dtype']}{' by block' * by_block}{', older' * ('older' in r['note'])}"
        yield product(r["device"], s, r["dtype"], variant, time_s, label, by_block=by_block)
        if r["dtype"] == "fp8":
            weight = 1 if by_block else weights.get(r["device"], 1)
            yield product(r["device"], s, r["dtype"], variant, time_s, label + ", scaling not told", weight, by_block=0.5)


def xla_products(folder, chips):
    """XLA's 8-bit products read the second operand by rows, as the libraries require, and have no scales by block."""
    for r in rows_of(folder, "ops_xla_gemm.csv.gz"):
        if r["device"] in chips and r["dtype"] in BYTES:
            s, time_s = tuple(int(r[f"d{i}"] or 1) for i in range(4)), float(r["latency_ms"]) / 1e3
            label, variant = f"xla {r['device']} {r['dtype']}", "nt" if r["dtype"] == "fp8" else "nn"
            yield product(r["device"], s, r["dtype"], variant, time_s, label)
            if r["dtype"] == "fp8":
                yield product(r["device"], s, r["dtype"], variant, time_s, label + ", scaling not told", by_block=0.5)


def best_products(folder, chips):
    """The best that anyone measured counts as much as many rows: it says what large products reach."""
    for r in rows_of(folder, "ops_ceilings.csv.gz"):
        chip = r["device"].replace("AMD ", "")
        if chip in chips and r["dtype"] in BYTES:
            s = tuple(int(r[f"d{i}"]) for i in range(4))
            for variant in ("nn", "nt"):
                yield product(chip, s, r["dtype"], variant, float(r["latency_ms"]) / 1e3, f"best {chip} {r['dtype']}", 20)


# what 100 % of rocBLAS's tables are in TFLOP/s, from MIOpen's times of the same products
REFERENCE = {"MI250X-GCD": {"fp32": 42, "fp16": 180, "bf16": 165}, "MI210": {"fp32": 42, "fp16": 179, "bf16": 176},
             "MI100": {"fp32": 52, "fp16": 219, "bf16": 96}}


def rocblas_products(folder, chips):
    for r in rows_of(folder, "gemm_eff_amd.csv.gz"):
        chip = r["device"]
        if chip not in chips or r["dtype"] not in REFERENCE[chip]:
            continue
        # column-major: row-major sizes and operands are exchanged; T,N is a linear layer forward
        b, n, m, k = (int(r[x]) for x in ("batch", "M", "N", "K"))
        variant = {"TN": "nt", "NN": "nn", "NT": "tn"}.get(r["transA"] + r["transB"])
        time_s = 2 * b * m * n * k / (float(r["efficiency_pct"]) / 100 * REFERENCE[chip][r["dtype"]] * 1e12)
        if variant and time_s < 1:
            yield product(chip, (b, m, n, k), r["dtype"], variant, time_s, f"rocblas {chip} {r['dtype']} {variant}")


def conv_rows(folder, chips, dims):
    for r in rows_of(folder, "ops_amd_conv.csv.gz"):
        axes = ["d"] * (dims == 3) + ["h", "w"]
        if r["device"] not in chips or r["dtype"] not in BYTES or bool(r["D"]) != (dims == 3):
            continue
        num = lambda key, other=1: int(r[key]) if r[key] else other
        s = {"n": num("N"), "c": num("C"), "k": num("K"), "groups": num("groups"), "dilation": [num("dil")] * dims,
             "image": [num(a.upper()) for a in axes], "window": [num({"d": "T", "h": "R", "w": "S"}[a]) for a in axes],
             "stride": [num("stride_" + a) for a in axes], "pad": [num("pad_" + a, 0) for a in axes]}
        s["out"] = [(i + 2 * p - d * (w - 1) - 1) // t + 1 for i, p, d, w, t in
                    zip(s["image"], s["pad"], s["dilation"], s["window"], s["stride"])]
        f = conv_features(s, r["dtype"], r["pass"], r["layout"] in ("NHWC", "NDHWC"), CHIPS[r["device"]][1])
        base = roofline(r["device"], r["dtype"], math.exp(f[15]), math.exp(f[16]))
        label = f"{r['device']} {dims}-D {r['dtype']} {r['pass']}"
        alike = s["c"], s["k"], s["window"], s["groups"]
        yield f, math.log(float(r["latency_ms"]) / 1e3 / base), alike, 1.0, label


# ---- the network ------------------------------------------------------------------------------------------------------

def layers(net, x):
    out = [x]
    for i, (w, b) in enumerate(net):
        z = out[-1] @ w + b
        out.append(np.tanh(z) if i < len(net) - 1 else z)
    return out


def gradient(net, x, y, weight):
    out = layers(net, x)
    e = out[-1][:, 0] - y
    g = (weight * e / np.sqrt(1 + (e / LOSS_SCALE) ** 2) / weight.sum())[:, None]
    found = []
    for i in range(len(net) - 1, -1, -1):
        found.insert(0, (out[i].T @ g, g.sum(0)))
        if i:
            g = (g @ net[i][0].T) * (1 - out[i] ** 2)
    return found


def train(x, y, weight, steps, decay, rate=0.01):
    """Adam with weight decay; the rate falls as a cosine."""
    random, sizes = np.random.RandomState(1), (x.shape[1], *HIDDEN, 1)
    net = [[random.randn(a, b).astype("f4") / math.sqrt(a), np.zeros(b, "f4")] for a, b in zip(sizes, sizes[1:])]
    net[-1][1][:] = np.median(y)
    x, y, weight = x.astype("f4"), y.astype("f4"), weight.astype("f4")
    first, second = [[[np.zeros_like(a) for a in layer] for layer in net] for _ in range(2)]
    for t in range(1, steps + 1):
        some = random.randint(0, len(y), min(BATCH, len(y)))
        now = rate * (0.5 + 0.5 * math.cos(math.pi * t / steps)) + 1e-5
        for i, g in enumerate(gradient(net, x[some], y[some], weight[some])):
            for j in range(2):
                first[i][j] += 0.1 * (g[j] - first[i][j])
                second[i][j] += 0.01 * (g[j] ** 2 - second[i][j])
                step = first[i][j] / (1 - 0.9**t) / (np.sqrt(second[i][j] / (1 - 0.99**t)) + 1e-8)
                net[i][j] -= now * (step + (1 - j) * decay * net[i][j])
    return net


class Surface:
    """A network of features that are cut to the fitted range and scaled to it."""

    def __init__(self, x, y, weight, steps, decay):
        self.low, self.high = x.min(0), x.max(0)
        self.mean, self.scale = x.mean(0), np.where(x.std(0) > 1e-9, x.std(0), 1)
        self.net = train((x - self.mean) / self.scale, y, weight, steps, decay)

    def __call__(self, x):
        x = (np.clip(x, self.low, self.high) - self.mean) / self.scale
        return layers(self.net, x.astype("f4"))[-1][:, 0].astype(float)

    def plain(self):
        """Weights with the scaling of the features folded into the first layer."""
        net = [[w.astype(float), b.astype(float)] for w, b in self.net]
        net[0][1] -= (self.mean / self.scale) @ net[0][0]
        net[0][0] /= self.scale[:, None]
        return [float("%.5g" % v) for w, b in net for v in (*w.T.ravel(), *b)]


def fold_of(key):
    return int(hashlib.md5(repr(key).encode()).hexdigest(), 16) % FOLDS


def left_out(x, y, weight, folds, labels, steps, decay):
    predicted = np.zeros(len(y))
    for f in range(FOLDS):
        test = folds == f
        predicted[test] = Surface(x[~test], y[~test], weight[~test], steps, decay)(x[test])
    e, names = np.exp(predicted - y) - 1, np.array(labels)
    for label in sorted(set(labels)):
        at = np.abs(e[names == label])
        print(f"  {label:40} n {len(at):5}  mean {100 * at.mean():5.1f} %  median {100 * np.median(at):5.1f} %")
    print(f"  {'all':40} n {len(e):5}  mean {100 * np.abs(e).mean():5.1f} %  median {100 * np.median(np.abs(e)):5.1f} %", flush=True)
    figures = {"mape": np.abs(e).mean(), "p90": np.quantile(np.abs(e), 0.9), "bias": e.mean()}
    return {name: round(float(figure), 4) for name, figure in figures.items()}


def fit(rows, steps, decay):
    rows = list(rows)
    x, y, weight = (np.array([r[i] for r in rows], float) for i in (0, 1, 3))
    error = left_out(x, y, weight, np.array([fold_of(r[2]) for r in rows]), [r[4] for r in rows], steps, decay)
    s = Surface(x, y, weight, steps, decay)
    e = np.abs(np.exp(s(x) - y) - 1)
    print(f"  fitted itself: mean {100 * e.mean():.1f} %; smallest ratio {math.exp(y.min()):.2f}", flush=True)
    return {"n": len(rows), "error": error, "widths": [x.shape[1], *HIDDEN, 1],
            "low": [float("%.5g" % v) for v in s.low], "high": [float("%.5g" % v) for v in s.high], "weights": s.plain()}


# ---- profiles ---------------------------------------------------------------------------------------------------------

SOURCES = {
    "miopen-fdb": {"title": "MIOpen, times of the fastest solvers found", "date": "2025",
                   "where": "ROCm/MIOpen, src/kernels/{gfx942130,gfx90a6e,gfx90a68,gfx90878}.HIP.fdb.txt.bz2"},
    "aiter": {"title": "AITER, times of tuned matrix products", "where": "ROCm/aiter, aiter/configs/**.csv", "date": "2025"},
    "rocblas-tensile": {"title": "rocBLAS, efficiencies of tuned matrix products", "date": "2025",
                        "where": "ROCm/rocBLAS, library/src/blas3/Tensile/Logic/asm_full/{aldebaran,aldebaran_104cu,arcturus}"},
}
GEMM_NOTE = "also XLA's default_matmul_perf_table and ml-engineering's best products"


def surfaces(t):
    """Profile, operator, fitted compute units, source, note, rows."""
    newer = lambda chips: [*aiter_products(t, chips), *xla_products(t, chips), *best_products(t, chips)]
    yield ("amd-gpu", "conv", 304, "miopen-fdb", "MI300X", lambda: conv_rows(t, {"MI300X"}, 2))
    yield ("amd-gpu", "conv3d", 107, "miopen-fdb", "MI210, one die of MI250X", lambda: conv_rows(t, {"MI210", "MI250X-GCD"}, 3))
    yield ("amd-cdna1", "conv", 120, "miopen-fdb", "MI100", lambda: conv_rows(t, {"MI100"}, 2))
    yield ("amd-cdna1", "conv3d", 120, "miopen-fdb", "MI100", lambda: conv_rows(t, {"MI100"}, 3))
    yield ("amd-cdna1", "gemm", 120, "rocblas-tensile", "MI100", lambda: rocblas_products(t, {"MI100"}))
    yield ("amd-cdna2", "conv", 107, "miopen-fdb", "MI210, one die of MI250X", lambda: conv_rows(t, {"MI210", "MI250X-GCD"}, 2))
    yield ("amd-cdna2", "gemm", 107, "rocblas-tensile", "MI210, one die of MI250X",
           lambda: rocblas_products(t, {"MI210", "MI250X-GCD"}))
    yield ("amd-cdna3", "gemm", 304, "aiter", "MI300X, MI308X; MI355X for the types without rows; " + GEMM_NOTE,
           lambda: newer({"MI300X", "MI308X", "MI355X"}))
    yield ("amd-cdna4", "gemm", 256, "aiter", "MI355X; " + GEMM_NOTE, lambda: newer({"MI355X"}))


def put(path, op, surface):
    """Replace one surface in a profile's text, one per line, and keep all other lines."""
    lines = path.read_text().split("\n")
    if '  "surfaces": {' not in lines:
        at = next(i for i, line in enumerate(lines) if line.startswith('  "sources": {'))
        lines[at:at] = ['  "surfaces": {', "  },"]
    first = lines.index('  "surfaces": {') + 1
    last = next(i for i in range(first, len(lines)) if lines[i] in ("  },", "  }"))
    kept = [line.rstrip(",") for line in lines[first:last] if not line.startswith(f'    "{op}": ')]
    kept.append(f'    "{op}": ' + json.dumps(surface))
    lines[first:last] = [line + "," * (i < len(kept) - 1) for i, line in enumerate(kept)]
    path.write_text("\n".join(lines))
    json.loads(path.read_text())


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("tables")
    p.add_argument("--steps", type=int, default=4000)
    p.add_argument("--only", default="")
    a = p.parse_args()
    for profile, op, cores, source, note, rows in surfaces(a.tables):
        if a.only not in f"{profile} {op}":
            continue
        print(f"{profile} {op}", flush=True)
        s = fit(rows(), a.steps, DECAY.get((profile, op), 0.1))
        put(DEVICES / f"{profile}.json", op, {"kind": "fitted", "source": source, "date": SOURCES[source]["date"], "note": note, "cores": cores, **s})


if __name__ == "__main__":
    main()
