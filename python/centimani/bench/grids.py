# SPDX-License-Identifier: Apache-2.0
"""grids.py - the built-in cases: dense at the sizes of real networks, most valuable first, all calls interleaved."""
import hashlib
import itertools

from . import networks, networks_grouped
from .cases import Case

MATRIX_DTYPES = ("bf16", "fp16", "tf32", "fp32")
VECTOR_DTYPES = ("bf16", "fp32", "fp16")


def _order(case):
    """A position in the queue that does not depend on the size and is the same on every machine."""
    return hashlib.sha256(repr(tuple(case)).encode()).digest()


def _thin(cases, keep):
    """At most `keep` of the cases, evenly spread, without duplicates."""
    return sorted(dict.fromkeys(cases), key=_order)[:keep]


def _dims(table, variants, op, dtype, phase="forward"):
    return [Case(op, phase, variant, dtype, tuple(row)) for row in table for variant in variants]


def _linear(tokens, shapes, dtype):
    """The three products of linear layers [out, in] over tokens."""
    for count, (out, into) in itertools.product(tokens, shapes):
        yield Case("gemm", "forward", "nt", dtype, (1, count, out, into))
        yield Case("gemm", "forward", "nt-bias", dtype, (1, count, out, into))
        yield Case("gemm", "forward", "nn", dtype, (1, count, into, out))
        yield Case("gemm", "forward", "tn", dtype, (1, out, into, count))


def _gemms(dtype):
    blocks = networks.transformer_layers()
    heads = list(itertools.product(networks.VOCABULARIES, networks.WIDTHS[:7]))
    classes = list(itertools.product((10, 100, 1000, 21841), (512, 768, 1024, 1280, 2048, 4096)))
    fully = [(4096, 25088), (4096, 9216), (4096, 4096), (1024, 784), (512, 512), (256, 64), (64, 64), (10, 128)]
    odd = [(a, b) for a in networks.ODD for b in networks.ODD]
    yield 0, _linear((512, 2048, 4096, 8192, 16384), blocks, dtype), 700
    yield 1, _linear((128, 256, 1024, 32768, 65536), blocks, dtype), 400
    yield 0, _linear((512, 2048, 8192), heads, dtype), 90
    stored = [(1, count, out, into) for count in (512, 1024, 4096, 8192) for out, into in blocks[:24]]
    yield 1, _dims(stored, ("nn-bias",), "gemm", dtype), 40  # GPT-2 stores its weights as [in, out]
    yield 0, _linear((1, 16, 32, 64, 128, 256, 512), classes + fully, dtype), 150
    yield 1, _linear((1, 8, 77, 197, 1000, 3152, 12608, 50432), odd + blocks[:8], dtype), 140
    products = [Case("gemm", "forward", variant, dtype, sizes) for variant in ("nn", "nt", "tn")
                for batch, tokens, width in itertools.product(networks.HEAD_BATCHES, networks.LENGTHS, (32, 64, 128))
                for sizes in ((batch, tokens, tokens, width), (batch, tokens, width, tokens))]
    yield 1, products, 160


def _conv_rows(layers, batches):
    for batch, (c, k, h, r, s, stride, groups) in itertools.product(batches, layers):
        pad_h, pad_w = (0, 0) if stride == r else (r // 2, s // 2)
        yield batch, c, k, h, h, r, s, stride, stride, pad_h, pad_w, 1, 1, groups


CONV_PASSES = ("forward", "bwd_input", "bwd_weight")


def _convs(dtype):
    for tier, batches, keep in ((0, (32, 64, 128, 256), 0.65), (1, (1, 2, 8, 16, 512), 0.35)):
        for layout, share in (("nchw", 0.6), ("nhwc", 0.4)):
            rows = list(_conv_rows(networks.CONVOLUTIONS, batches))
            for phase in CONV_PASSES:
                yield tier, _dims(rows, (layout,), "conv", dtype, phase), int(250 * keep * share)
    layout = {"bf16": "nhwc", "tf32": "nchw"}.get(dtype)  # the layout that training uses
    for phase in CONV_PASSES if layout else ():
        rows = _conv_rows(networks_grouped.GROUPED, (32, 64, 128, 256))
        yield 0, _dims(rows, (layout,), "conv", dtype, phase), 180
    rows = [(n, c, k, d, h, h, t, r, r, *(stride,) * 3, t // 2, r // 2, r // 2, 1, 1, 1, 1) for n in (1, 2, 8, 16)
            for c, k, d, h, t, r, stride in networks.CONVOLUTIONS_3D]
    for phase in CONV_PASSES:
        yield 1, _dims(rows, ("nchw",), "conv3d", dtype, phase), 14


def _attention(dtype):
    rows = [(max(1, tokens // length), length, length, heads, kv_heads, width, causal)
            for tokens in (512, 2048, 8192, 16384, 65536) for length in networks.LENGTHS
            for heads, kv_heads, width in networks.HEADS for causal in (0, 1)]
    for phase in ("forward", "backward"):
        yield 0, _dims(rows, ("",), "attention", dtype, phase), 110
        yield 1, _dims([row for row in rows if row[1] <= 1024], ("dropout",), "attention", dtype, phase), 15
        masked = [row[:4] + (row[3],) + row[5:] for row in rows if row[1] <= 2048 and not row[6]]
        yield 1, _dims(masked, ("mask", "mask-dropout"), "attention", dtype, phase), 25


def _matrices(most=2 ** 31):
    rows = (1, 16, 64, 128, 512, 2048, 4096, 8192, 16384, 32768, 65536, 262144)
    return [(r, c) for r in rows for c in networks.WIDTHS + networks.ODD if r * c <= most]


def _tokens_of_images():
    """Linear layers of Swin and ConvNeXt: many rows of few columns."""
    return [(int(r), c) for r in (1e4, 2.5e4, 5e4, 1e5, 2e5, 4e5, 1e6) for c in (96, 128, 192, 256, 384, 512, 768)]


def _norms(dtype):
    images = [(n, k, max(1, h // stride) ** 2) for n in (1, 8, 32, 64, 128, 256)
              for _, k, h, _, _, stride, _ in networks.CONVOLUTIONS if n * k * h * h <= 2 ** 31]
    scores = [(n * heads * length, length) for n in (1, 4, 16) for heads in (8, 12, 16, 32)
              for length in networks.LENGTHS if n * heads * length * length <= 2 ** 31]
    classes = [(rows, cols) for rows in (16, 64, 128, 256, 512, 2048, 4096, 8192, 16384)
               for cols in (10, 100, 1000) + networks.VOCABULARIES if rows * cols <= 2 ** 31]
    for phase in ("forward", "backward"):
        yield 0, _dims(images, ("nchw",), "batch_norm", dtype, phase), 60
        yield 0, _dims(images, ("nhwc",), "batch_norm", dtype, phase), 40
        yield 0, _dims(_matrices(), ("",), "layer_norm", dtype, phase), 70
        yield 0, _dims(_tokens_of_images(), ("",), "layer_norm", dtype, phase), 36
        yield 1, _dims(_matrices(), ("",), "rms_norm", dtype, phase), 35
        groups = [(*row, 32) for row in images if row[1] % 32 == 0]
        yield 1, _dims(groups, ("nchw", "nhwc"), "group_norm", dtype, phase), 30
        yield 0, _dims(scores + _matrices()[::5], ("",), "softmax", dtype, phase), 50
        yield 1, _dims(classes, ("log",), "softmax", dtype, phase), 20
        yield 0, _dims(classes, ("",), "cross_entropy", dtype, phase), 30


def _pairs(most):
    """[outer, inner] of 1e3 to 1e9 elements, and odd sizes that no vector width divides."""
    pairs = [(2 ** (power // 2 + power % 2), 2 ** (power // 2)) for power in range(10, 31)]
    pairs += [(r, c) for r in (128, 512, 2048, 8192, 32768) for c in (768, 3072, 4096, 11008, 50257)]
    pairs += [(77, 197), (1000, 1001), (3, 333), (12608, 197)]
    return [pair for pair in pairs if pair[0] * pair[1] <= most]


COMMON = ("copy", "add", "mul", "relu", "gelu", "silu", "dropout", "scale", "relu_grad", "gelu_grad", "fill", "cat")
RARER = ("sub", "div", "pow", "where", "gelu_tanh", "sigmoid", "tanh", "exp", "log", "sqrt", "rsqrt", "erf", "neg",
         "clip", "hardswish", "gelu_tanh_grad", "silu_grad", "sigmoid_grad", "tanh_grad", "dropout_grad",
         "hardswish_grad")
SHAPED = tuple(name + shape for name in ("add", "mul", "sub", "div", "where") for shape in (":row", ":col", ":strided"))
CASTS = ("fp32>bf16", "bf16>fp32", "fp32>fp16", "fp16>fp32")
MIXED = ("bf16+fp32>fp32", "fp32+bf16>fp32", "fp16+fp32>fp32", "bf16+fp32>bf16")


# Halves of rows (chunks, gates, rotary embeddings), and gates per channel that are broadcast over all pixels.
PARTS = [(outer, inner) for outer in (1000, 4096, 16384, 65536, 262144, 1000000)
         for inner in (16, 32, 64, 128, 256, 512, 1024)]
PLANES = [(images * pixels, inner) for images in (32, 128) for pixels in (49, 196, 784, 3136)
          for inner in (16, 32, 72, 96, 144, 240, 480, 672, 1152)]
JOINED = [(outer, inner) for outer in (100, 1000, 8192, 50000, 200000, 1000000)
          for inner in (32, 64, 128, 256, 512, 1024, 2048)]


def _pointwise(dtype):
    yield 0, _dims(PARTS, ("add:part", "copy:part", "mul:part"), "elementwise", dtype), 50
    yield 0, _dims(PLANES, ("mul:plane",), "elementwise", dtype), 30
    yield 0, _dims(JOINED, ("cat",), "elementwise", dtype), 30
    yield 0, _dims(_pairs(2 ** 30), COMMON, "elementwise", dtype), 260
    yield 1, _dims(_pairs(2 ** 28), RARER, "elementwise", dtype), 160
    yield 0, _dims(_pairs(2 ** 28), SHAPED + ("copy:strided",), "elementwise", dtype), 110
    rows = [(o, r, i) for o in (1, 64, 1024, 16384) for r in (16, 197, 1024, 16384, 1048576) for i in (1, 49, 1024)
            if 1000 <= o * r * i <= 2 ** 29]
    yield 0, _dims(rows, ("sum", "mean", "sum:nchw"), "reduce", dtype), 70
    yield 1, _dims(rows, ("max",), "reduce", dtype), 15
    yield 1, _dims(rows, ("cumsum", "norm", "var"), "reduce", dtype), 12
    sorted_rows = [(rows, cols, k) for rows in (1, 64, 4096) for cols in (64, 1000, 16384) for k in (1, 8, 64)]
    yield 1, _dims(sorted_rows, ("topk",), "sort", dtype), 8


def _casts():
    for dtype in CASTS:
        yield 0, _dims(_pairs(2 ** 30), ("copy",), "elementwise", dtype), 30
        yield 1, _dims(_pairs(2 ** 26), ("copy:strided",), "elementwise", dtype), 8
    for dtype in MIXED:
        yield 1, _dims(_pairs(2 ** 28), ("add", "mul", "mul:row"), "elementwise", dtype), 15


def _layers(dtype):
    pools = [(n, c, h, h, window, stride, pad) for n in (1, 8, 32, 128, 256)
             for c, h, window, stride, pad in networks.POOLS]
    resizes = [(n, c, h, h, 2 * h, 2 * h) for n in (1, 8, 32) for c in (64, 256, 512) for h in (7, 16, 32, 64, 128)
               if n * c * h * h <= 2 ** 26]
    tables = [(tokens, vocab, width) for tokens in (512, 2048, 8192, 32768)
              for vocab in (2, 512) + networks.VOCABULARIES for width in (768, 1024, 2048, 4096)]
    cells = [(n, seq, hidden, hidden, layers, directions) for n in (16, 64, 256) for seq in (32, 128, 512)
             for hidden in (128, 512, 1024) for layers in (1, 2) for directions in (1, 2)]
    long_cells = [(n, seq, hidden, hidden, layers, 1) for n in (16, 32, 64, 128, 256) for seq in (32, 64, 128, 256)
                  for hidden in (128, 256, 512, 1024) for layers in (1, 2)]
    pooling, resizing = ([f"{kind}:{layout}" for kind in kinds for layout in ("nchw", "nhwc")]
                         for kinds in (("max", "avg"), ("nearest", "bilinear")))
    for phase in ("forward", "backward"):
        yield 0, _dims(pools, pooling, "pool", dtype, phase), 28
        yield 1, _dims(resizes, resizing, "resize", dtype, phase), 16
        yield 0, _dims(tables, ("",), "embedding", dtype, phase), 22
        yield 1, _dims(cells, ("lstm", "gru", "rnn"), "rnn", dtype, phase), 12
        yield 1, _dims(long_cells, ("lstm",), "rnn", dtype, phase), 24
    yield 0, _dims(pools, ("avg:nhwc",), "pool", dtype, "backward"), 12
    yield from _rarer_layers(dtype)


def _rarer_layers(dtype):
    lines = [(n, c, 1, w, 1, 2 * w) for n in (8, 64) for c in (32, 192) for w in (64, 256, 1024)]
    volumes = [(n, c, d, d, d, 2 * d, 2 * d, 2 * d) for n in (1, 4) for c in (32, 128) for d in (8, 16, 32)]
    windows = [(n, c, h, h, 3, 1, 1) for n in (8, 64) for c in (64, 192) for h in (14, 28, 56)]
    looked_up = [(tokens, vocab, width) for tokens in (2401, 38416) for vocab in (169, 729) for width in (4, 12, 32)]
    for phase in ("forward", "backward"):
        yield 1, _dims(lines, ("linear1d:nchw", "nearest1d:nchw"), "resize", dtype, phase), 8
        yield 1, _dims(volumes, ("nearest:nchw", "trilinear:nchw"), "resize3d", dtype, phase), 8
        yield 1, _dims(windows, ("im2col:nchw",), "pool", dtype, phase), 6
        yield 1, _dims(looked_up, ("index", "select", "gather"), "embedding", dtype, phase), 9


def _transforms(dtype):
    rows = [(batch, n1, n2, 1) for batch in (16, 256, 4096) for n1 in (64, 128, 256, 1024) for n2 in (1, 64, 128, 256)
            if batch * n1 * n2 <= 2 ** 27]
    yield 1, _dims(rows, ("r2c", "c2r", "c2c"), "fft", dtype), 45


def _updates(dtype):
    rows = [(tensors, elements) for tensors in (1, 8, 16, 62, 161, 200, 300, 500, 1000)
            for elements in (10 ** 4, 10 ** 6, 5 * 10 ** 6, 25 * 10 ** 6, 10 ** 8, 35 * 10 ** 7, 10 ** 9)]
    yield 0, _dims(rows, ("sgd", "momentum", "adam", "adamw"), "optimizer", dtype, "update"), 90


# The lists that a type takes part in, and the fraction of each list's cases that it gets.
SHARES = (
    (_gemms, {"bf16": 0.65, "fp16": 0.2, "tf32": 0.3, "fp32": 0.2}),
    (_convs, {"bf16": 0.7, "fp16": 0.4, "tf32": 0.7, "fp32": 0.25}),
    (_attention, {"bf16": 1.0, "fp16": 0.3, "fp32": 0.25, "tf32": 0.25}),
    (_norms, {"bf16": 0.6, "fp32": 0.6, "fp16": 0.25}),
    (_pointwise, {"bf16": 0.65, "fp32": 0.65, "fp16": 0.25}),
    (_layers, {"bf16": 1.0, "fp32": 1.0, "fp16": 0.3}),
    (_updates, {"fp32": 1.0, "bf16": 0.3}),
    (_transforms, {"fp32": 1.0}),
)


# Fractions of the time, by op, while all ops have cases left. Tuning a convolution takes as long as ten products.
TIME = {"gemm": 25, "conv": 32, "attention": 12, "elementwise": 6, "batch_norm": 4, "layer_norm": 3, "softmax": 3,
        "optimizer": 3, "reduce": 2, "pool": 2, "embedding": 2, "cross_entropy": 2, "conv3d": 2, "rms_norm": 1,
        "group_norm": 1, "resize": 1, "rnn": 1, "resize3d": 1, "sort": 1, "fft": 1}


def _lists():
    for make, shares in SHARES:
        for dtype, share in shares.items():
            for tier, cases, keep in make(dtype):
                yield tier, _thin(cases, max(1, int(keep * share)))
    for tier, cases, keep in _casts():
        yield tier, _thin(cases, keep)


def cases():
    """All built-in cases. Stopping early leaves the same fraction of every list, for lists of equal value."""
    placed = {}
    for tier, listed in _lists():
        for index, case in enumerate(listed):
            placed.setdefault(case, (tier, (index + 0.5) / len(listed)))
    return sorted(placed, key=lambda case: (placed[case], _order(case)))
