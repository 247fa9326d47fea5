# SPDX-License-Identifier: Apache-2.0
"""runtime_cases.py - the cases that tools/measure_runtime.py measures: attention by kernel, 8-bit products, experts."""
import hashlib
import itertools

from centimani.bench.cases import Case

PASSES = ("forward", "backward")
HEADS = ((16, 16, 64), (32, 8, 128), (32, 32, 128), (32, 32, 32), (12, 12, 64), (32, 32, 80), (16, 16, 96),
         (16, 16, 192), (16, 16, 256), (16, 4, 64), (8, 1, 256), (64, 8, 128))
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
LONG = ((65536, 8, 8, 128), (131072, 8, 8, 128), (131072, 8, 2, 128), (65536, 8, 8, 64))
KERNELS = ("", "flash", "efficient", "cudnn")


def _shuffled(cases):
    """Without duplicates, in an order that does not depend on the sizes and is the same everywhere."""
    return sorted(dict.fromkeys(cases), key=lambda case: hashlib.sha256(repr(tuple(case)).encode()).digest())


def _rows(tokens, lengths, heads=HEADS):
    return [(max(1, count // length), length, length, *head, causal) for count in tokens for length in lengths
            for head in heads for causal in (0, 1)]


def _attention(kinds, dtype, rows, kernels=KERNELS):
    return [Case("attention", phase, f"{kernel}-{kind}".strip("-"), dtype, row)
            for kind in kinds for row in rows for kernel in kernels for phase in PASSES]


def _same_heads(rows):
    """Attention with a mask: as many heads of keys as of queries, and the mask says what is causal."""
    return [row[:4] + (row[3],) + row[5:6] + (0,) for row in rows]


def attention():
    """Most valuable first: plain attention in bf16, then long sequences, masks, dropout, other types."""
    plain = _rows((8192, 32768), LENGTHS)
    long_rows = [(1, length, length, heads, kv, width, 1) for length, heads, kv, width in LONG]
    short = [row for row in plain if row[1] <= 2048]
    masked = _same_heads(row for row in short if row[5] in (32, 64, 128) and row[3] == row[4])
    listed = _shuffled(_attention(("",), "bf16", plain))[:560] + _attention(("",), "bf16", long_rows)
    listed += _shuffled(_attention(("",), "bf16", [row for row in short if row[0] * row[1] <= 8192], ("math",)))[:50]
    listed += _shuffled(_attention(("mask", "fixed", "bias"), "bf16", masked, ("", "efficient", "cudnn", "math")))[:260]
    listed += _shuffled(_attention(("dropout",), "bf16", short, ("", "flash", "efficient", "cudnn")))[:120]
    listed += _shuffled(_attention(("",), "fp16", plain))[:80]
    listed += _shuffled(_attention(("", "mask"), "fp32", short, ("", "efficient", "math")))[:100]
    return list(dict.fromkeys(listed))


WIDTHS = (1024, 2048, 3072, 4096, 5120, 6144, 8192)
SCALINGS = ("nt", "nt-row", "nt-exact", "nt-block-exact", "nt-row-exact", "nt-block")


def _layers():
    """[out, in] of the linear layers of transformer blocks."""
    for width in WIDTHS:
        yield from ((3 * width, width), (width, width), (4 * width, width), (width, 4 * width), (3 * width // 2, width))
    yield from ((14336, 4096), (4096, 14336), (28672, 8192), (8192, 28672), (11008, 4096), (4096, 11008))
    yield 128256, 4096


def eight_bit():
    """The three products of linear layers with each scaling, each next to the same product in bf16."""
    rows = [row for tokens in (2048, 8192, 16384) for out, into in _layers()
            for row in ((tokens, out, into), (tokens, into, out), (out, into, tokens))]
    sizes = _shuffled(Case("gemm", "forward", "nt", "fp8", (1, *row)) for row in rows)
    listed = []
    for case in sizes[:130]:
        listed += [case._replace(variant=variant) for variant in SCALINGS] + [case._replace(dtype="bf16")]
    return listed


EXPERTS = ((14336, 4096), (4096, 14336), (1408, 2048), (2048, 1408), (768, 2048), (2048, 768), (2048, 7168),
           (7168, 2048))


def experts():
    """Products of 4 to 128 experts with equal numbers of tokens, in one call and as one call each."""
    listed = []
    for count, tokens, (out, into) in itertools.product((4, 8, 16, 64, 128), (16, 64, 256, 1024, 4096), EXPERTS):
        if count * tokens <= 131072 and count * out * into <= 3 << 30:
            for form, sizes in (("nt", (tokens, out, into)), ("nn", (tokens, into, out)), ("tn", (out, into, tokens))):
                listed += [Case("gemm", "forward", f"{form}-{end}", "bf16", (count, *sizes))
                           for end in ("grouped", "loop")]
    return _shuffled(listed)[:300]
