# SPDX-License-Identifier: Apache-2.0
"""probes_layers.py - probes of convolutions, products, attention, recurrence, linear algebra and updates: see probes.py."""
import torch
import torch.nn.functional as F
from torch import nn

from probe_kinds import chosen, given


def conv1d():
    c = nn.Conv1d
    return [(f"conv1d {words}", layer, shape) for words, layer, shape in (
        ("3", c(128, 128, 3, padding=1), (32, 128, 2048)), ("7", c(64, 64, 7, padding=3), (32, 64, 4096)),
        ("1", c(256, 512, 1), (32, 256, 1024)), ("15", c(1, 32, 15, padding=7), (32, 1, 16000)),
        ("10 stride 5", c(1, 512, 10, 5), (8, 1, 48000)), ("3 stride 2", c(512, 512, 3, 2), (8, 512, 9600)),
        ("depthwise 31", c(256, 256, 31, padding=15, groups=256), (32, 256, 1024)),
        ("depthwise 4", c(512, 512, 4, padding=3, groups=512), (16, 512, 1024)),
        ("depthwise 3", c(256, 256, 3, padding=1, groups=256), (32, 256, 2048)),
        ("groups 16 width 128", c(768, 768, 128, padding=64, groups=16), (4, 768, 249)),
        ("dilated 64", c(64, 64, 3, padding=64, dilation=64), (16, 64, 8192)),
        ("dilated 512", c(64, 128, 2, dilation=512), (8, 64, 16000)), ("filter 251", c(1, 80, 251), (32, 1, 16000)),
        ("filter 1024 stride 256", c(1, 514, 1024, 256), (16, 1, 65536)),
        ("filter 400 stride 160", c(1, 402, 400, 160), (32, 1, 48000)),
        ("filter 16 stride 8", c(1, 256, 16, 8), (16, 1, 64000)),
        ("groups 4", c(256, 256, 41, 4, 20, groups=4), (16, 256, 4096)), ("1 of 3", c(3, 64, 1), (32, 3, 4096)),
        ("depthwise 64", c(128, 128, 64, padding=32, groups=128), (32, 128, 2048)),
        ("odd", c(100, 60, 5, padding=2), (32, 100, 1500)))]


def conv2d():
    c = nn.Conv2d
    return [(f"conv2d {words}", layer, shape) for words, layer, shape in (
        ("3", c(64, 64, 3, padding=1), (32, 64, 56, 56)), ("1", c(256, 64, 1), (32, 256, 56, 56)),
        ("7 stride 2", c(3, 64, 7, 2, 3), (32, 3, 224, 224)), ("16 stride 16", c(3, 768, 16, 16), (32, 3, 224, 224)),
        ("4 stride 4", c(3, 96, 4, 4), (32, 3, 224, 224)), ("depthwise 3", c(144, 144, 3, padding=1, groups=144),
        (32, 144, 56, 56)), ("depthwise 7", c(96, 96, 7, padding=3, groups=96), (32, 96, 56, 56)),
        ("depthwise 31", c(128, 128, 31, padding=15, groups=128), (8, 128, 56, 56)),
        ("1x7", c(192, 192, (1, 7), padding=(0, 3)), (32, 192, 17, 17)),
        ("7x1", c(192, 192, (7, 1), padding=(3, 0)), (32, 192, 17, 17)),
        ("5", c(32, 64, 5, padding=2), (64, 32, 28, 28)), ("11 stride 4", c(3, 64, 11, 4, 2), (64, 3, 224, 224)),
        ("dilated 6", c(256, 256, 3, padding=6, dilation=6), (8, 256, 32, 32)),
        ("dilated 18", c(256, 64, 3, padding=18, dilation=18), (8, 256, 64, 64)),
        ("groups 32", c(128, 128, 3, padding=1, groups=32), (32, 128, 56, 56)),
        ("to 1", c(64, 1, 1), (16, 64, 128, 128)), ("to 21", c(256, 21, 1), (16, 256, 64, 64)),
        ("9 to 3", c(64, 3, 9, padding=4), (8, 64, 128, 128)), ("3 odd", c(37, 51, 3, padding=1), (16, 37, 60, 60)),
        ("2 stride 2", c(96, 192, 2, 2), (32, 96, 56, 56)), ("1 of one pixel", c(512, 128, 1), (64, 512, 1, 1)),
        ("valid 3", c(1, 32, 3), (128, 1, 28, 28)))]


def conv3d():
    c, t = nn.Conv3d, nn.ConvTranspose3d
    return [(f"conv3d {words}", layer, shape) for words, layer, shape in (
        ("3", c(32, 32, 3, padding=1), (4, 32, 32, 64, 64)), ("3 of 1", c(1, 16, 3, padding=1), (4, 1, 96, 96, 96)),
        ("1", c(64, 32, 1), (4, 64, 32, 64, 64)), ("1x3x3", c(64, 64, (1, 3, 3), padding=(0, 1, 1)),
        (8, 64, 8, 56, 56)), ("3x1x1", c(64, 64, (3, 1, 1), padding=(1, 0, 0)), (8, 64, 8, 56, 56)),
        ("depthwise 3", c(32, 32, 3, padding=1, groups=32), (4, 32, 16, 56, 56)),
        ("2x16x16", c(3, 384, (2, 16, 16), (2, 16, 16)), (8, 3, 16, 224, 224)),
        ("3 stride 2", c(32, 64, 3, 2, 1), (4, 32, 32, 64, 64)), ("to 4", c(32, 4, 1), (4, 32, 64, 64, 64)),
        ("grown 2", t(64, 32, 2, 2), (4, 64, 16, 32, 32)), ("7 stride 1 2 2",
        c(3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3)), (8, 3, 8, 112, 112)))]


def grown():
    one, two = nn.ConvTranspose1d, nn.ConvTranspose2d
    return [(f"grown {words}", layer, shape) for words, layer, shape in (
        ("2d 2", two(128, 64, 2, 2), (16, 128, 64, 64)), ("2d 4", two(128, 64, 4, 2, 1), (16, 128, 64, 64)),
        ("2d 3", two(64, 32, 3, 2, 1, 1), (16, 64, 64, 64)),
        ("2d 16 stride 8", two(21, 21, 16, 8, 4), (8, 21, 32, 32)), ("2d latent", two(100, 512, 4), (64, 100, 1, 1)),
        ("2d to 3", two(64, 3, 4, 2, 1), (32, 64, 32, 32)), ("2d groups", two(64, 64, 4, 2, 1, groups=64),
        (16, 64, 64, 64)), ("1d 16 stride 8", one(256, 128, 16, 8, 4), (8, 256, 1024)),
        ("1d 4 stride 2", one(64, 32, 4, 2, 1), (16, 64, 4096)), ("1d 16 to 1", one(256, 1, 16, 8), (16, 256, 4000)),
        ("1d 1024 stride 256", one(514, 1, 1024, 256), (16, 514, 257)),
        ("1d 8 stride 4", one(48, 24, 8, 4, 2), (8, 48, 16384)))]


def products():
    e = lambda words: lambda *x: torch.einsum(words, *x)
    mm = torch.matmul
    return [("mm", mm, (4096, 1024), (1024, 4096)), ("mm tall", mm, (262144, 64), (64, 64)),
            ("mm thin", mm, (65536, 256), (256, 1)), ("mm vector", mm, (8192, 4096), (4096,)),
            ("mm odd", mm, (4097, 1023), (1023, 511)), ("mm outer", mm, (4096, 1), (1, 4096)),
            ("mm transposed", lambda a, b: a @ b.t(), (8192, 512), (8192, 512)),
            ("mm long", lambda a, b: a.t() @ b, (262144, 64), (262144, 64)), ("mm tiny", mm, (64, 10), (10, 10)),
            ("bmm small", torch.bmm, (32768, 3, 3), (32768, 3, 3)), ("bmm 4", torch.bmm, (65536, 4, 4), (65536, 4, 1)),
            ("bmm 16", torch.bmm, (8192, 16, 16), (8192, 16, 16)),
            ("bmm 49", torch.bmm, (4096, 49, 32), (4096, 32, 49)),
            ("bmm thin", torch.bmm, (4096, 1, 256), (4096, 256, 64)),
            ("bmm square", torch.bmm, (64, 512, 512), (64, 512, 64)),
            ("bmm transposed", lambda a, b: a.transpose(1, 2) @ b, (64, 1024, 128), (64, 1024, 128)),
            ("baddbmm", lambda a, b, c: torch.baddbmm(a, b, c), (192, 256, 256), (192, 256, 64), (192, 64, 256)),
            ("matmul broadcast", mm, (64, 12, 196, 64), (64, 196)),
            ("matmul left broadcast", mm, (196, 196), (64, 196, 768)),
            ("matmul expanded", lambda a, b: a @ b[None], (32, 256, 512), (512, 256)),
            ("einsum bhid,bhjd", e("bhid,bhjd->bhij"), (32, 12, 256, 64), (32, 12, 256, 64)),
            ("einsum bnd,ndk", e("bnd,ndk->bnk"), (256, 64, 128), (64, 128, 128)),
            ("einsum bihd,bjhd", e("bihd,bjhd->bhij"), (16, 512, 8, 64), (16, 512, 8, 64)),
            ("einsum bic,bjc", e("bic,bjc->bij"), (64, 256, 64), (64, 256, 64)),
            ("einsum bchw,cd", e("bchw,cd->bdhw"), (32, 64, 56, 56), (64, 128)),
            ("einsum nctv,vw", e("nctv,vw->nctw"), (32, 64, 150, 25), (25, 25)),
            ("einsum bikc,bjkc", e("bikc,bjkc->bijc"), (4, 64, 64, 32), (4, 64, 64, 32)),
            ("einsum bld,ld", e("bld,ld->bl"), (64, 512, 256), (512, 256)),
            ("einsum bi,bj", e("bi,bj->bij"), (512, 128), (512, 128)),
            ("einsum bi,bj,ijk", e("bi,bj,ijk->bk"), (256, 64), (256, 64), (64, 64, 64)),
            ("einsum edb", e("ecd,edh->ech"), (8, 2048, 512), (8, 512, 2048)),
            ("bilinear", nn.Bilinear(64, 64, 32), (512, 64), (512, 64)),
            ("kron", lambda a, b: torch.kron(a, b), (64, 64), (32, 32)),
            ("tensordot", lambda a, b: torch.tensordot(a, b, ([1], [0])), (32, 64, 56, 56), (64, 64)),
            ("dot", lambda a, b: (a * b).sum(-1), (65536, 128), (65536, 128)),
            ("gram", lambda x: x.flatten(2) @ x.flatten(2).transpose(1, 2), (16, 128, 64, 64)),
            ("interactions", lambda x: (x @ x.transpose(1, 2))[:, torch.tril_indices(27, 27, -1)[0],
            torch.tril_indices(27, 27, -1)[1]], (4096, 27, 64))]


def distances():
    return [("cdist", torch.cdist, (8, 1024, 64), (8, 1024, 64)),
            ("cdist points", torch.cdist, (16, 2048, 3), (16, 512, 3)),
            ("cdist 1", lambda a, b: torch.cdist(a, b, p=1), (8, 512, 32), (8, 512, 32)),
            ("cdist codes", torch.cdist, (16384, 64), (512, 64)),
            ("cosine_similarity", lambda a, b: F.cosine_similarity(a, b), (65536, 256), (65536, 256)),
            ("cosine pairs", lambda a, b: F.cosine_similarity(a[:, None], b[None], dim=-1), (256, 128), (256, 128)),
            ("pairwise_distance", F.pairwise_distance, (65536, 256), (65536, 256)), ("pdist", F.pdist, (512, 64)),
            ("chamfer", lambda a, b: torch.cdist(a, b).min(1)[0], (16, 1024, 3), (16, 1024, 3)),
            ("quantizer", lambda x,
            c: F.embedding(((x * x).sum(1, keepdim=True) - 2 * x @ c.t() + (c * c).sum(1)).argmin(1), c) - x,
            (16384, 64), (512, 64)), ("neighbours", lambda a, b: torch.cdist(a, a).topk(16, largest=False)[0] + b,
            (16, 1024, 3), (1,))]


def linears():
    n = nn.Linear
    return [("linear", n(768, 3072), (16384, 768)), ("linear", n(3072, 768), (16384, 3072)),
            ("linear 3", n(3, 64), (65536, 3)), ("linear to 1", n(256, 1), (65536, 256)),
            ("linear head", n(512, 1000), (256, 512)), ("linear odd", n(123, 457), (8192, 123)),
            ("linear 3d", n(384, 1152), (64, 197, 384)), ("linear no bias", n(1024, 1024, bias=False), (8192, 1024)),
            ("linear tiny", n(16, 16), (64, 16)), ("linear wide", n(25088, 4096), (64, 25088)),
            ("linear transposed", lambda x, w: F.linear(x.transpose(1, 2), w), (64, 196, 768), (384, 196)),
            ("linear rows of images", n(64, 64), (32, 56, 56, 64)),
            ("weight norm", nn.utils.parametrizations.weight_norm(n(512, 512)), (4096, 512)),
            ("weight norm conv", nn.utils.parametrizations.weight_norm(nn.Conv1d(128, 128, 7, padding=3)),
            (16, 128, 4096)), ("spectral norm", nn.utils.parametrizations.spectral_norm(n(512, 512)), (4096, 512)),
            ("spectral norm conv", nn.utils.parametrizations.spectral_norm(nn.Conv2d(128, 128, 3, padding=1)),
            (16, 128, 32, 32)), ("tied", lambda x, w: F.linear(x, w), (4096, 512), (32000, 512)),
            ("low rank", lambda x, a, b: (x @ a) @ b, (16384, 1024), (1024, 16), (16, 1024)),
            ("experts", lambda x, w: torch.stack([x[i] @ w[i] for i in range(8)]), (8, 1024, 512), (8, 512, 1024)),
            ("mixture gates", lambda x: x.softmax(-1).topk(2, -1)[0], (16384, 8))]


def attention():
    a = F.scaled_dot_product_attention
    same = lambda *shape: [shape] * 3
    by_hand = lambda q, k, v: (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1) @ v
    heads = lambda q, k, v: a(*(x.view(16, 512, 12, 64).transpose(1, 2) for x in (q, k, v))).transpose(1,
        2).reshape(16, 512, 768)
    return [("attention", a, *same(16, 12, 512, 64)), ("attention causal", lambda q, k, v: a(q, k, v, is_causal=True),
            *same(8, 16, 1024, 64)), ("attention mask", lambda q, k, v, m: a(q, k, v, m), *same(16, 12, 512, 64),
            chosen(16, 1, 1, 512)), ("attention bias", lambda q, k, v, b: a(q, k, v, b), *same(16, 12, 256, 64),
            (1, 12, 256, 256)), ("attention 80", a, *same(16, 8, 256, 80)), ("attention 40", a, *same(8, 8, 1024, 40)),
            ("attention 24", a, *same(32, 8, 196, 24)), ("attention 256", a, *same(8, 4, 512, 256)),
            ("attention 20", a, *same(32, 4, 128, 20)), ("attention cross", a, (16, 8, 1024, 64), (16, 8, 77, 64),
            (16, 8, 77, 64)), ("attention few queries", a, (32, 8, 100, 32), (32, 8, 1024, 32), (32, 8, 1024, 32)),
            ("attention windows", a, *same(1024, 3, 49, 32)),
            ("attention windows bias", lambda q, k, v, b: a(q, k, v, b), *same(1024, 3, 49, 32), (1, 3, 49, 49)),
            ("attention dropout", lambda q, k, v: a(q, k, v, dropout_p=0.1), *same(16, 12, 512, 64)),
            ("attention short", a, *same(512, 8, 16, 32)), ("attention grouped", lambda q, k,
            v: a(q, k, v, is_causal=True, enable_gqa=True), (8, 16, 1024, 64), (8, 4, 1024, 64), (8, 4, 1024, 64)),
            ("attention by hand", by_hand, *same(16, 12, 512, 64)),
            ("attention by hand small", by_hand, *same(1024, 3, 49, 32)),
            ("attention of heads", heads, *same(16, 512, 768)), ("attention one head", a, *same(16, 1, 1024, 128)),
            ("attention float mask", lambda q, k, v, m: a(q, k, v, m), *same(16, 8, 256, 64), given(16, 1, 256, 256)),
            ("linear attention", lambda q, k, v: (q.softmax(-1) @ (k.softmax(-2).transpose(-2, -1) @ v)),
            *same(16, 8, 1024, 64)),
            ("multihead", Own(nn.MultiheadAttention(512, 8, batch_first=True)), (16, 256, 512)),
            ("multihead steps first", Own(nn.MultiheadAttention(512, 8)), (256, 16, 512))]


class Own(nn.Module):
    """Attention of a sequence to itself."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x, x, x, need_weights=False)


def recurrent():
    return [("lstm", nn.LSTM(256, 256, batch_first=True), (64, 100, 256)),
            ("lstm two ways", nn.LSTM(128, 256, 2, batch_first=True, bidirectional=True), (32, 100, 128)),
            ("lstm projected", nn.LSTM(256, 512, proj_size=128, batch_first=True), (32, 64, 256)),
            ("gru", nn.GRU(128, 256, 2, batch_first=True), (64, 64, 128)),
            ("rnn tanh", nn.RNN(128, 256, batch_first=True), (64, 64, 128)),
            ("rnn relu", nn.RNN(64, 128, nonlinearity="relu"), (50, 64, 64)),
            ("gru two ways", nn.GRU(80, 256, bidirectional=True, batch_first=True), (32, 200, 80)),
            ("lstm small", nn.LSTM(1, 32, batch_first=True), (128, 48, 1)),
            ("lstm dropout", nn.LSTM(256, 256, 2, dropout=0.2), (64, 32, 256))]


class Steps(nn.Module):
    """A recurrent cell, called step by step."""

    def __init__(self, cell, count):
        super().__init__()
        self.cell, self.count = cell, count

    def forward(self, x):
        state, outputs = None, []
        for t in range(self.count):
            state = self.cell(x[:, t], state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(outputs, 1)


def cells():
    return [("lstm cell", Steps(nn.LSTMCell(256, 512), 16), (64, 16, 256)),
            ("gru cell", Steps(nn.GRUCell(256, 512), 16), (64, 16, 256)),
            ("rnn cell", Steps(nn.RNNCell(64, 128), 16), (256, 16, 64)),
            ("lstm cell wide", Steps(nn.LSTMCell(512, 1024), 4), (1024, 4, 512)),
            ("gru cell wide", Steps(nn.GRUCell(128, 128), 4), (16384, 4, 128))]


def algebra():
    def solid(x):
        return x @ x.transpose(-2, -1) + 8 * torch.eye(x.shape[-1], device=x.device)
    l = torch.linalg
    return [("solve", lambda x, y: l.solve(solid(x), y), (256, 32, 32), (256, 32, 8)),
            ("solve large", lambda x, y: l.solve(solid(x), y), (512, 512), (512, 64)),
            ("cholesky", lambda x: l.cholesky(solid(x)), (256, 32, 32)),
            ("cholesky large", lambda x: l.cholesky(solid(x)), (1024, 1024)),
            ("inv", lambda x: l.inv(solid(x)), (4096, 4, 4)), ("inv 32", lambda x: l.inv(solid(x)), (256, 32, 32)),
            ("inv large", lambda x: l.inv(solid(x)), (512, 512)), ("det", lambda x: l.det(solid(x) / 8), (4096, 3, 3)),
            ("slogdet", lambda x: l.slogdet(solid(x))[1], (256, 32, 32)),
            ("svd", lambda x: l.svd(x, full_matrices=False)[1], (64, 32, 32)),
            ("svd 3", lambda x: l.svd(x)[1], (1024, 3, 3)), ("qr", lambda x: l.qr(x)[0], (64, 64, 32)),
            ("qr large", lambda x: l.qr(x)[0], (512, 512)), ("eigh", lambda x: l.eigh(solid(x))[0], (64, 32, 32)),
            ("eigh large", lambda x: l.eigh(solid(x))[0], (256, 256)),
            ("matrix_exp", lambda x: torch.matrix_exp(x / 8), (256, 16, 16)),
            ("matrix_exp large", lambda x: torch.matrix_exp(x / 256), (512, 512)),
            ("triangular", lambda x, y: l.solve_triangular(solid(x).tril(), y, upper=False), (256, 32, 32),
            (256, 32, 8)), ("matrix_power", lambda x: l.matrix_power(x / 64, 5), (64, 64, 64)),
            ("cross", lambda a, b: l.cross(a, b), (262144, 3), (262144, 3)),
            ("trace", lambda x: x.diagonal(dim1=-2, dim2=-1).sum(-1), (4096, 32, 32)),
            ("norm of a matrix", lambda x: l.matrix_norm(x), (256, 64, 64))]


def small(count, *shape):
    """Many small parameters: what an optimizer's step takes."""
    class Many(nn.Module):
        def __init__(self):
            super().__init__()
            self.own = nn.ParameterList(nn.Parameter(torch.zeros(shape)) for _ in range(count))

        def forward(self, x):
            return x + torch.stack([p.sum() for p in self.own]).sum()
    return Many()


def updates():
    return [("small", small(300, 64), (64,)), ("blocks", small(100, 256, 256), (64,)),
            ("large", small(2, 4096, 4096), (64,))]


def updates_of_numbers():
    return [("numbers", small(800, 1), (64,)), ("rows", small(200, 1000), (64,))]


FAST = "tf32 amp"
STEPS = {**dict.fromkeys(("conv1d", "conv2d", "products", "linears"), ("fp32 tf32 amp", "adamw")),
    **dict.fromkeys(("conv3d", "grown", "distances", "recurrent"), (FAST, "adamw")),
         "attention": ("fp32 amp bf16", "adamw"), "cells": (FAST, "adamw"), "algebra": ("fp32", "adamw"),
         "updates": ("fp32 bf16", "adamw"), "updates_of_numbers": ("fp32", "adam")}
SETS = {name: globals()[name] for name in STEPS}
