# SPDX-License-Identifier: Apache-2.0
"""written_eleventh.py - an eleventh set of networks as people write them: science and tables. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Encoder, Result, heads_first, heads_joined, words


def dense(*sizes, act=nn.SiLU, norm=False):
    """Dense layers with an activation between them, and a norm at the end where asked."""
    layers = [m for i, o in zip(sizes, sizes[1:]) for m in (nn.Linear(i, o), act())][:-1]
    return nn.Sequential(*layers, *([nn.LayerNorm(sizes[-1])] if norm else []))


def mesh_weather():
    """Weather on a globe: a grid of latitudes sends to a coarser mesh, the mesh to itself, and back to the grid."""
    class Send(nn.Module):
        def __init__(self, c, edges, senders, receivers):
            super().__init__()
            n = torch.arange(edges)
            self.register_buffer("source", n * 7919 % senders, persistent=False)
            self.register_buffer("target", n * receivers // edges, persistent=False)
            self.shape, self.edges = nn.Parameter(torch.zeros(edges, 4)), dense(4, c, c, norm=True)
            self.message, self.update = dense(3 * c, c, c, norm=True), dense(2 * c, c, c, norm=True)

        def forward(self, x, y):
            edges = self.edges(self.shape).expand(len(x), -1, -1)
            sent = self.message(torch.cat([edges, x[:, self.source], y[:, self.target]], -1))
            total = sent.new_zeros(len(y), y.shape[1], sent.shape[2]).index_add(1, self.target, sent)
            return y + self.update(torch.cat([y, total.to(y.dtype)], -1))

    class Net(nn.Module):
        def __init__(self, fields=69, c=256, grid=64 * 128, mesh=2562, depth=10):
            super().__init__()
            self.put, self.place = dense(2 * fields, c, c, norm=True), nn.Parameter(torch.zeros(mesh, c))
            self.into, self.back = Send(c, 3 * grid, grid, mesh), Send(c, 3 * grid, mesh, grid)
            self.body = nn.ModuleList(Send(c, 20460, mesh, mesh) for _ in range(depth))
            self.head = dense(c, c, fields)

        def forward(self, now, before):
            x = self.put(torch.cat([now, before], -1))
            y = self.into(x, self.place.expand(len(x), -1, -1))
            for step in self.body:
                y = step(y, y)
            return now + self.head(self.back(y, x))
    return Net(), lambda b: (torch.zeros(b, 8192, 69), torch.zeros(b, 8192, 69)), "mse"


def sphere_operator():
    """An operator on the sphere: Fourier along circles of latitude, a table of cosines from pole to pole."""
    class Filter(nn.Module):
        def __init__(self, c, high, wide, modes):
            super().__init__()
            self.wide, self.modes = wide, modes
            self.weight = nn.Parameter(torch.randn(c, c, modes, dtype=torch.cfloat) / c)
            angles = torch.arange(modes)[:, None] * (torch.arange(high) + 0.5) * math.pi / high
            self.register_buffer("table", angles.cos(), persistent=False)

        def forward(self, x):
            y = torch.view_as_real(torch.fft.rfft(x, norm="ortho")[..., :self.modes])
            y = torch.view_as_complex(torch.einsum("bchkr,lh->bclkr", y, self.table).contiguous())
            y = torch.view_as_real(torch.einsum("bilk,iol->bolk", y, self.weight))
            y = torch.view_as_complex(torch.einsum("bclkr,lh->bchkr", y, self.table).contiguous())
            return torch.fft.irfft(y, n=self.wide, norm="ortho")

    class Block(nn.Module):
        def __init__(self, c, high, wide, modes):
            super().__init__()
            self.n1, self.n2 = nn.InstanceNorm2d(c, affine=True), nn.InstanceNorm2d(c, affine=True)
            self.filter = Filter(c, high, wide, modes)
            self.skip = nn.Conv2d(c, c, 1)
            self.f = nn.Sequential(nn.Conv2d(c, 2 * c, 1), nn.GELU(), nn.Conv2d(2 * c, c, 1))

        def forward(self, x):
            y = F.gelu(self.filter(self.n1(x)) + self.skip(x))
            return x + self.f(self.n2(y))

    class Net(nn.Module):
        def __init__(self, fields=26, c=128, depth=6):
            super().__init__()
            self.put, self.place = nn.Conv2d(fields, c, 1), nn.Parameter(torch.zeros(1, c, 128, 256))
            self.body = nn.Sequential(*(Block(c, 128, 256, 64) for _ in range(depth)))
            self.head = nn.Conv2d(c + fields, fields, 1)

        def forward(self, x):
            return self.head(torch.cat([self.body(self.put(x) + self.place), x], 1))
    return Net(), lambda b: torch.zeros(b, 26, 128, 256), "mse"


def inverse_folding():
    """Sequences for protein backbones: messages among 32 neighbours with their distances, decoded in a random order."""
    class Layer(nn.Module):
        def __init__(self, c, into, edges):
            super().__init__()
            self.w, self.f = dense(c + into, c, c, c, act=nn.GELU), dense(c, 4 * c, c, act=nn.GELU)
            self.n1, self.n2, self.drop = nn.LayerNorm(c), nn.LayerNorm(c), nn.Dropout(0.1)
            self.e, self.n3 = (dense(c + into, c, c, c, act=nn.GELU), nn.LayerNorm(c)) if edges else (None, None)

        def forward(self, h, around):
            own = h.unsqueeze(2).expand(-1, -1, around.shape[2], -1)
            h = self.n1(h + self.drop(self.w(torch.cat([own, around], -1)).sum(2) / 30))
            return self.n2(h + self.drop(self.f(h)))

    def near(x, neighbours):
        index = neighbours.flatten(1).unsqueeze(-1).expand(-1, -1, x.shape[-1])
        return x.gather(1, index).unflatten(1, neighbours.shape[1:])

    class Net(nn.Module):
        def __init__(self, c=128, waves=16, depth=3):
            super().__init__()
            self.edge, self.norm, self.kinds = nn.Linear(25 * waves, c), nn.LayerNorm(c), nn.Embedding(21, c)
            self.encoder = nn.ModuleList(Layer(c, 2 * c, True) for _ in range(depth))
            self.decoder, self.head = nn.ModuleList(Layer(c, 3 * c, False) for _ in range(depth)), nn.Linear(c, 21)
            self.register_buffer("centres", torch.linspace(2.0, 22.0, waves), persistent=False)

        def forward(self, atoms, neighbours, residues, order, labels):
            b, n, k = neighbours.shape
            others = near(atoms.flatten(2), neighbours).unflatten(-1, (5, 3))
            far = ((atoms[:, :, None, :, None] - others[:, :, :, None]).pow(2).sum(-1) + 1e-6).sqrt()
            waves = torch.exp(-((far.unsqueeze(-1) - self.centres) / 1.25).pow(2))
            e, h = self.norm(self.edge(waves.flatten(3))), atoms.new_zeros(b, n, self.kinds.embedding_dim)
            for layer in self.encoder:
                h = layer(h, torch.cat([e, near(h, neighbours)], -1))
                both = torch.cat([h.unsqueeze(2).expand(-1, -1, k, -1), e, near(h, neighbours)], -1)
                e = layer.n3(e + layer.drop(layer.e(both)))
            known = (near(order.unsqueeze(-1), neighbours) < order[:, :, None, None]).to(h.dtype)
            kinds, fixed = near(self.kinds(residues), neighbours) * known, near(h, neighbours)
            for layer in self.decoder:
                states = known * near(h, neighbours) + (1 - known) * fixed
                h = layer(h, torch.cat([e, kinds, states], -1))
            return Result(F.cross_entropy(self.head(h).flatten(0, 1), labels.flatten(), label_smoothing=0.1))

    def inputs(b):
        return {"atoms": torch.zeros(b, 256, 5, 3), "neighbours": torch.zeros(b, 256, 32, dtype=torch.int64),
                "residues": words(b, 256), "order": torch.zeros(b, 256), "labels": words(b, 256)}
    return Net(), inputs, "own"


def genome_tracks():
    """Activity along DNA: convolutions with pooling by attention, a transformer, counts with a Poisson loss."""
    def unit(i, o, k):
        return nn.Sequential(nn.BatchNorm1d(i), nn.GELU(), nn.Conv1d(i, o, k, padding=k // 2))

    class Pool(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.w = nn.Conv2d(c, c, 1, bias=False)

        def forward(self, x):
            x = x.unflatten(2, (-1, 2))
            return (x * self.w(x).softmax(-1)).sum(-1)

    class Tower(nn.Module):
        def __init__(self, i, o, k):
            super().__init__()
            self.first, self.more = nn.Conv1d(4, o, k, padding=k // 2) if i == 4 else unit(i, o, k), unit(o, o, 1)
            self.pool = Pool(o)

        def forward(self, x):
            x = self.first(x)
            return self.pool(x + self.more(x))

    class Net(nn.Module):
        def __init__(self, width=640, tracks=1643):
            super().__init__()
            sizes = (4, 320, 320, 384, 448, 512, 576, 640)
            self.tower = nn.Sequential(*(Tower(i, o, 15 if i == 4 else 5) for i, o in zip(sizes, sizes[1:])))
            self.place = nn.Parameter(torch.zeros(512, width))
            self.body = nn.Sequential(*(Encoder(width, 8, 2 * width, nn.ReLU, 0.3) for _ in range(8)))
            self.head = nn.Sequential(nn.Linear(width, 2 * width), nn.Dropout(0.05), nn.GELU(),
                                      nn.Linear(2 * width, tracks))

        def forward(self, dna, counts):
            x = self.body(self.tower(dna).transpose(1, 2) + self.place)
            return Result(F.poisson_nll_loss(F.softplus(self.head(x[:, 32:-32]).float()), counts, log_input=False))
    return Net(), lambda b: (torch.zeros(b, 4, 65536), torch.zeros(b, 448, 1643)), "own"


def gene_tokens():
    """Cells as sets of genes: a token is a gene and its count; masked counts are found, also from the cell alone."""
    class Net(nn.Module):
        def __init__(self, genes=30000, c=512, depth=8):
            super().__init__()
            self.gene, self.n1 = nn.Embedding(genes, c), nn.LayerNorm(c)
            self.value = nn.Sequential(nn.Linear(1, c), nn.ReLU(), nn.Linear(c, c), nn.LayerNorm(c), nn.Dropout(0.2))
            layer = nn.TransformerEncoderLayer(c, 8, c, 0.2, batch_first=True)
            self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
            self.head = dense(c, c, c, 1, act=nn.LeakyReLU)
            self.query = nn.Sequential(nn.Linear(c, 64), nn.Sigmoid())
            self.w = nn.Linear(64, c, bias=False)

        def forward(self, genes, values, hidden):
            seen = torch.where(hidden > 0, torch.full_like(values, -1), values)
            names = self.n1(self.gene(genes))
            x = self.body(names + self.value(seen.unsqueeze(-1)))
            by_cell = torch.bmm(self.w(self.query(names)), x[:, 0].unsqueeze(2)).squeeze(2)
            mask = (hidden > 0).float()
            errors = (self.head(x).squeeze(-1) - values).pow(2) + (by_cell - values).pow(2)
            return Result((errors.float() * mask).sum() / (mask.sum() + 1))
    return Net(), lambda b: (words(b, 1201), torch.zeros(b, 1201), torch.ones(b, 1201)), "own"


def crystal_angles():
    """Energies of crystals: gated messages along bonds, and between bonds along the angles that they form."""
    class Gate(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b, self.e, self.x, self.y = (nn.Linear(c, c) for _ in range(5))
            self.n1, self.n2 = nn.BatchNorm1d(c), nn.BatchNorm1d(c)

        def forward(self, x, e, source, target):
            m = self.a(x)[source] + self.b(x)[target] + self.e(e)
            s = m.sigmoid()
            total = torch.zeros_like(x).index_add(0, target, s * self.y(x)[source])
            x = x + F.silu(self.n1(self.x(x) + total / (torch.zeros_like(x).index_add(0, target, s) + 1e-6)))
            return x, e + F.silu(self.n2(m))

    def put(i, c):
        return nn.Sequential(nn.Linear(i, c), nn.BatchNorm1d(c), nn.SiLU())

    class Net(nn.Module):
        def __init__(self, c=256):
            super().__init__()
            self.atom = put(92, c)
            self.bond, self.angle = (nn.Sequential(put(i, 64), put(64, c)) for i in (80, 40))
            self.bonds, self.angles, self.last = (nn.ModuleList(Gate(c) for _ in range(4)) for _ in range(3))
            self.head = nn.Linear(c, 1)

        def forward(self, atoms, bonds, angles, source, target, left, right):
            b, n = atoms.shape[:2]
            x, e, z = (f(v.flatten(0, 1)) for f, v in zip((self.atom, self.bond, self.angle), (atoms, bonds, angles)))
            source, target, left, right = (i.flatten() for i in (source, target, left, right))
            for bond, angle in zip(self.bonds, self.angles):
                x, e = bond(x, e, source, target)
                e, z = angle(e, z, left, right)
            for bond in self.last:
                x, e = bond(x, e, source, target)
            return self.head(x.view(b, n, -1).mean(1))

    def inputs(b):
        return (torch.zeros(b, 24, 92), torch.zeros(b, 288, 80), torch.zeros(b, 3456, 40), words(b, 288), words(b, 288),
                words(b, 3456), words(b, 3456))
    return Net(), inputs, "mse"


def feature_tokens():
    """A table whose 96 numbers and 12 categories become tokens of a transformer with gated dense layers."""
    class Block(nn.Module):
        def __init__(self, c, inner):
            super().__init__()
            self.n1, self.n2 = nn.LayerNorm(c), nn.LayerNorm(c)
            self.a = nn.MultiheadAttention(c, 8, 0.2, batch_first=True)
            self.f, self.o, self.drop = nn.Linear(c, 2 * inner), nn.Linear(inner, c), nn.Dropout(0.1)

        def forward(self, x):
            y = self.n1(x)
            x = x + self.a(y, y, y, need_weights=False)[0]
            a, b = self.f(self.n2(x)).chunk(2, -1)
            return x + self.o(self.drop(a * F.relu(b)))

    class Net(nn.Module):
        def __init__(self, numbers=96, kinds=12, c=192, depth=3, classes=10):
            super().__init__()
            self.w, self.bias = nn.Parameter(torch.randn(numbers, c)), nn.Parameter(torch.zeros(numbers, c))
            self.kinds = nn.ModuleList(nn.Embedding(200, c) for _ in range(kinds))
            self.first = nn.Parameter(torch.zeros(1, 1, c))
            self.body = nn.Sequential(*(Block(c, c * 4 // 3) for _ in range(depth)))
            self.head = nn.Sequential(nn.LayerNorm(c), nn.ReLU(), nn.Linear(c, classes))

        def forward(self, numbers, kinds):
            x = numbers.unsqueeze(-1) * self.w + self.bias
            y = torch.stack([f(kinds[:, n]) for n, f in enumerate(self.kinds)], 1)
            return self.head(self.body(torch.cat([self.first.expand(len(x), -1, -1), x, y], 1))[:, 0])
    return Net(), lambda b: (torch.zeros(b, 96), words(b, 12)), "cross-entropy"


def ensemble_tables():
    """A table through 32 dense networks at once that share their matrices and scale inputs and outputs on their own."""
    class Shared(nn.Module):
        def __init__(self, i, o, k):
            super().__init__()
            self.f, self.bias = nn.Linear(i, o, bias=False), nn.Parameter(torch.zeros(k, o))
            self.r, self.s = nn.Parameter(torch.ones(k, i)), nn.Parameter(torch.ones(k, o))

        def forward(self, x):
            return F.dropout(F.relu(self.f(x * self.r) * self.s + self.bias), 0.1, self.training)

    class Net(nn.Module):
        def __init__(self, features=64, bins=48, c=16, width=512, k=32, classes=7):
            super().__init__()
            self.register_buffer("edges", torch.linspace(-3, 3, bins + 1), persistent=False)
            self.put = nn.Parameter(torch.randn(features, bins, c) / 7)
            self.body = nn.Sequential(Shared(features * c, width, k), Shared(width, width, k), Shared(width, width, k))
            self.k, self.head = k, nn.Parameter(torch.randn(k, width, classes) / 22)

        def forward(self, x, labels):
            parts = ((x.unsqueeze(-1) - self.edges[:-1]) / (self.edges[1:] - self.edges[:-1])).clamp(0, 1)
            y = F.relu(torch.einsum("bfn,fnc->bfc", parts, self.put)).flatten(1)
            y = torch.einsum("bkw,kwo->bko", self.body(y.unsqueeze(1).expand(-1, self.k, -1)), self.head)
            return Result(F.cross_entropy(y.flatten(0, 1), labels.repeat_interleave(self.k)))
    return Net(), lambda b: {"x": torch.zeros(b, 64), "labels": torch.zeros(b, dtype=torch.int64)}, "own"


def slice_operator():
    """Pressure on car bodies: points join 64 soft slices, the slices attend to each other, and are spread back."""
    class Slices(nn.Module):
        def __init__(self, c, heads, slices):
            super().__init__()
            self.heads, self.x, self.f = heads, nn.Linear(c, c), nn.Linear(c, c)
            self.slice, self.heat = nn.Linear(c // heads, slices), nn.Parameter(torch.full((1, heads, 1, 1), 0.5))
            self.qkv, self.o = nn.Linear(c // heads, 3 * c // heads, bias=False), nn.Linear(c, c)

        def forward(self, x):
            w = (self.slice(heads_first(self.x(x), self.heads)) / self.heat).softmax(-1)
            tokens = torch.einsum("bhnc,bhng->bhgc", heads_first(self.f(x), self.heads), w.to(x.dtype))
            q, k, v = self.qkv(tokens / (w.sum(2).unsqueeze(-1) + 1e-5)).chunk(3, -1)
            y = (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1).to(v.dtype) @ v
            return self.o(heads_joined(torch.einsum("bhgc,bhng->bhnc", y, w.to(y.dtype))))

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.n1, self.n2, self.a = nn.LayerNorm(c), nn.LayerNorm(c), Slices(c, 8, 64)
            self.f = dense(c, 2 * c, c, act=nn.GELU)

        def forward(self, x):
            x = x + self.a(self.n1(x))
            return x + self.f(self.n2(x))

    c = 256
    net = nn.Sequential(dense(7, 2 * c, c, act=nn.GELU), *(Block(c) for _ in range(8)), nn.LayerNorm(c),
                        nn.Linear(c, 4))
    return net, lambda b: torch.zeros(b, 32186, 7), "mse"


NETWORKS = {f.__name__: f for f in (mesh_weather, sphere_operator, inverse_folding, genome_tracks, gene_tokens,
                                    crystal_angles, feature_tokens, ensemble_tables, slice_operator)}
STEPS = {"mesh_weather": ("amp-bf16", 4, "nchw", "adamw"), "sphere_operator": ("fp32", 8, "nchw", "adam"),
         "inverse_folding": ("amp-fp16", 24, "nchw", "adam"), "genome_tracks": ("amp-bf16", 8, "nchw", "adamw"),
         "gene_tokens": ("amp-fp16", 32, "nchw", "adam"), "crystal_angles": ("tf32", 64, "nchw", "adamw"),
         "feature_tokens": ("tf32", 1024, "nchw", "adamw"), "ensemble_tables": ("fp32", 1024, "nchw", "adamw"),
         "slice_operator": ("amp-bf16", 2, "nchw", "adamw")}
