# SPDX-License-Identifier: Apache-2.0
"""written_sixth.py - the last part of the fourth set of networks as people write them: science, tables, diffusion. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result, words


def mesh_simulator():
    """A simulator on meshes: encoded nodes and edges, steps that update both with residuals, decoded accelerations."""
    def dense(i, width, o, norm=True):
        layers = [nn.Linear(i, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, o)]
        return nn.Sequential(*layers, *([nn.LayerNorm(o)] if norm else []))

    class Net(nn.Module):
        def __init__(self, width=128, steps=10):
            super().__init__()
            self.put_node, self.put_edge = dense(11, width, width), dense(4, width, width)
            self.take = dense(width, width, 3, False)
            self.edges = nn.ModuleList(dense(3 * width, width, width) for _ in range(steps))
            self.nodes = nn.ModuleList(dense(2 * width, width, width) for _ in range(steps))

        def forward(self, nodes, places, source, target):
            b, n, _ = nodes.shape
            places, source, target = places.flatten(0, 1), source.flatten(), target.flatten()
            way = places[source] - places[target]
            x, e = self.put_node(nodes.flatten(0, 1)), self.put_edge(torch.cat([way, way.norm(dim=1, keepdim=True)], 1))
            for edge, node in zip(self.edges, self.nodes):
                e = e + edge(torch.cat([e, x[source], x[target]], 1))
                total = torch.zeros(b * n, e.shape[1], dtype=e.dtype, device=e.device)
                total = total.scatter_add(0, target.unsqueeze(1).expand_as(e), e)
                x = x + node(torch.cat([x, total.to(x.dtype)], 1))
            return self.take(x).view(b, n, 3)

    def inputs(b):
        return torch.zeros(b, 1200, 11), torch.zeros(b, 1200, 3), words(b, 6800), words(b, 6800)
    return Net(), inputs, "mse"


def fourier_forecast():
    """A weather model that mixes patches by dense layers on blocks of their Fourier coefficients."""
    class Mix(nn.Module):
        def __init__(self, width, blocks):
            super().__init__()
            size = width // blocks
            self.blocks, self.w1, self.w2 = blocks, *(nn.Parameter(0.02 * torch.randn(2, blocks, size, size))
                                                      for _ in range(2))
            self.b1, self.b2 = (nn.Parameter(torch.zeros(2, blocks, size)) for _ in range(2))

        def times(self, a, b, w, bias):
            f = "byxkd,kde->byxke"
            return (torch.einsum(f, a, w[0]) - torch.einsum(f, b, w[1]) + bias[0],
                    torch.einsum(f, b, w[0]) + torch.einsum(f, a, w[1]) + bias[1])

        def forward(self, x):
            dtype, shape = x.dtype, x.shape
            y = torch.fft.rfft2(x.float(), dim=(1, 2), norm="ortho").unflatten(-1, (self.blocks, -1))
            a, b = self.times(y.real, y.imag, self.w1, self.b1)
            a, b = self.times(F.relu(a), F.relu(b), self.w2, self.b2)
            y = torch.view_as_complex(F.softshrink(torch.stack([a, b], -1).float(), 0.01)).flatten(-2)
            return torch.fft.irfft2(y, s=shape[1:3], dim=(1, 2), norm="ortho").to(dtype) + x

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.n1, self.n2, self.mix = nn.LayerNorm(width), nn.LayerNorm(width), Mix(width, 8)
            self.f = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            x = x + self.mix(self.n1(x))
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, width=512, fields=20, patch=4):
            super().__init__()
            self.put, self.place = nn.Conv2d(fields, width, patch, patch), nn.Parameter(torch.zeros(1, 32, 64, width))
            self.body = nn.Sequential(*(Block(width) for _ in range(6)))
            self.take = nn.Linear(width, fields * patch ** 2, bias=False)

        def forward(self, x):
            y = self.take(self.body(self.put(x).permute(0, 2, 3, 1) + self.place))
            return F.pixel_shuffle(y.permute(0, 3, 1, 2), 4)
    return Net(), lambda b: torch.zeros(b, 20, 128, 256), "mse"


def wave_equation():
    """A field of sines whose second derivatives, taken by autograd, must obey the wave equation."""
    class Sine(nn.Module):
        def __init__(self, i, o, first=False):
            super().__init__()
            self.f = nn.Linear(i, o)
            nn.init.uniform_(self.f.weight, *((-1 / i, 1 / i)
                                              if first else (-math.sqrt(6 / i) / 30, math.sqrt(6 / i) / 30)))

        def forward(self, x):
            return torch.sin(30 * self.f(x))

    class Net(nn.Module):
        def __init__(self, width=256, depth=5):
            super().__init__()
            self.f = nn.Sequential(Sine(3, width, True), *(Sine(width, width) for _ in range(depth - 1)),
                                   nn.Linear(width, 1))

        def forward(self, points, start):
            x = points.flatten(0, 1).detach().requires_grad_()
            u = self.f(x)
            first = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
            second = [torch.autograd.grad(first[:, n].sum(), x, create_graph=True)[0][:, n] for n in range(3)]
            wave = second[2] - second[0] - second[1]
            return Result(wave.pow(2).mean() + 100 * F.mse_loss(u.view_as(start), start))
    return Net(), lambda b: (torch.zeros(b, 1024, 3), torch.zeros(b, 1024)), "own"


def molecule_pairs():
    """A transformer of atoms whose attention reads pairs, and pairs that are updated along triangles."""
    class Triangle(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.norm, self.put, self.gate = nn.LayerNorm(c), nn.Linear(c, 2 * c), nn.Linear(c, 3 * c)
            self.after, self.take = nn.LayerNorm(c), nn.Linear(c, c)

        def forward(self, z):
            y = self.norm(z)
            g = torch.sigmoid(self.gate(y))
            a, b = (self.put(y) * g[..., :2 * y.shape[-1]]).chunk(2, -1)
            y = self.take(self.after(torch.einsum("bikc,bjkc->bijc", a, b)))
            return z + g[..., -y.shape[-1]:] * y

    class Block(nn.Module):
        def __init__(self, width, heads, c):
            super().__init__()
            self.heads, self.n1, self.n2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
            self.bias = nn.Linear(c, heads, bias=False)
            self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.f = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            self.left, self.right, self.triangle = nn.Linear(width, c), nn.Linear(width, c), Triangle(c)
            self.pairs = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 2 * c), nn.ReLU(), nn.Linear(2 * c, c))

        def forward(self, x, z):
            q, k, v = self.qkv(self.n1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias(z).permute(0, 3, 1, 2))
            x = x + self.o(y.transpose(1, 2).flatten(2))
            x = x + self.f(self.n2(x))
            z = self.triangle(z + self.left(x)[:, :, None] * self.right(x)[:, None])
            return x, z + self.pairs(z)

    class Net(nn.Module):
        def __init__(self, width=384, heads=12, c=64, depth=6):
            super().__init__()
            self.kind, self.pair = nn.Embedding(128, width), nn.Linear(64, c)
            self.body = nn.ModuleList(Block(width, heads, c) for _ in range(depth))
            self.register_buffer("centres", torch.linspace(0, 12, 64), persistent=False)
            self.energy = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))
            self.bonds = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 1))

        def forward(self, kinds, places):
            far = torch.cdist(places.float(), places.float()).unsqueeze(-1)
            x, z = self.kind(kinds), self.pair(torch.exp(-4 * (far - self.centres) ** 2))
            for block in self.body:
                x, z = block(x, z)
            return self.energy(x).sum(1) + self.bonds(z).mean((1, 2))
    return Net(), lambda b: (words(b, 96), torch.zeros(b, 96, 3)), "mse"


def interest_network():
    """Click prediction: bags of tags, attention of a candidate on the clicks before it, crosses beside a deep tower."""
    class Net(nn.Module):
        def __init__(self, items=200000, tags=50000, width=48, bags=6):
            super().__init__()
            self.item, self.user = nn.Embedding(items, width), nn.Embedding(items // 2, width)
            self.bags = nn.ModuleList(nn.EmbeddingBag(2 * tags, width, mode="mean") for _ in range(bags))
            self.score = nn.Sequential(nn.Linear(4 * width, 80), nn.PReLU(), nn.Linear(80, 40), nn.PReLU(),
                                       nn.Linear(40, 1))
            total = (3 + bags) * width + 13
            self.cross = nn.ModuleList(nn.Linear(total, total) for _ in range(3))
            self.deep = nn.Sequential(nn.Linear(total, 512), nn.BatchNorm1d(512), nn.PReLU(), nn.Linear(512, 256),
                                      nn.BatchNorm1d(256),
                                      nn.PReLU(), nn.Dropout(0.1))
            self.head = nn.Linear(total + 256, 1)

        def forward(self, numbers, user, item, clicks, tags):
            wanted, past = self.item(item), self.item(clicks)
            w = wanted.unsqueeze(1).expand_as(past)
            weight = self.score(torch.cat([w, past, w - past, w * past], -1)).masked_fill((clicks == 0).unsqueeze(-1),
                                                                                          -1e4).softmax(1)
            bags = [bag(tags[:, n]) for n, bag in enumerate(self.bags)]
            first = torch.cat([numbers, self.user(user), wanted, (weight * past).sum(1), *bags], 1)
            x = first
            for cross in self.cross:
                x = first * cross(x) + x
            return self.head(torch.cat([x, self.deep(first)], 1))

    def inputs(b):
        one = torch.zeros(b, dtype=torch.int64)
        return torch.zeros(b, 13), one, one.clone(), words(b, 100), torch.zeros(b, 6, 12, dtype=torch.int64)
    return Net(), inputs, "bce"


def table_rows():
    """A transformer of tables with attention over the columns and then over the rows of the batch."""
    class Attend(nn.Module):
        def __init__(self, width, heads, inner):
            super().__init__()
            self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.a = nn.MultiheadAttention(width, heads, 0.1, batch_first=True)
            self.up, self.down, self.drop = nn.Linear(width, 2 * inner), nn.Linear(inner, width), nn.Dropout(0.1)

        def forward(self, x):
            y = self.n1(x)
            x = x + self.a(y, y, y, need_weights=False)[0]
            a, b = self.up(self.n2(x)).chunk(2, -1)
            return x + self.down(self.drop(a * F.gelu(b)))

    class Net(nn.Module):
        def __init__(self, kinds=20, numbers=30, rows=500, width=32, depth=4):
            super().__init__()
            columns = kinds + numbers + 1
            self.table, self.first = nn.Embedding(kinds * rows, width), nn.Parameter(torch.zeros(1, 1, width))
            self.w1 = nn.Parameter(torch.randn(numbers, 96))
            self.w2 = nn.Parameter(0.1 * torch.randn(numbers, 96, width))
            self.columns = nn.ModuleList(Attend(width, 8, 4 * width) for _ in range(depth))
            self.rows = nn.ModuleList(Attend(width * columns, 12, width * 4) for _ in range(depth))
            self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 512), nn.ReLU(), nn.Linear(512, 5))

        def forward(self, kinds, numbers):
            put = torch.einsum("bnh,nhw->bnw", F.relu(numbers.unsqueeze(-1) * self.w1), self.w2)
            x = torch.cat([self.first.expand(len(kinds), -1, -1), self.table(kinds), put], 1)
            for columns, rows in zip(self.columns, self.rows):
                x = columns(x)
                x = rows(x.flatten(1).unsqueeze(0)).squeeze(0).view_as(x)
            return self.head(x[:, 0])
    return Net(), lambda b: (words(b, 20), torch.zeros(b, 30)), "cross-entropy"


def spline_flow():
    """A normalising flow of vectors by monotonic rational-quadratic splines with masked features in turn."""
    class Couple(nn.Module):
        def __init__(self, size, width, bins, odd):
            super().__init__()
            order = torch.arange(size).view(-1, 2)
            self.register_buffer("kept", order[:, odd].contiguous(), persistent=False)
            self.register_buffer("moved", order[:, 1 - odd].contiguous(), persistent=False)
            self.bins, half = bins, size // 2
            self.f = nn.Sequential(nn.Linear(half, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width),
                                   nn.BatchNorm1d(width),
                                   nn.ReLU(), nn.Dropout(0.05), nn.Linear(width, half * (3 * bins - 1)))

        def knots(self, raw):
            sizes = 1e-3 + (1 - 1e-3 * self.bins) * raw.softmax(-1)
            return 6 * F.pad(sizes.cumsum(-1), (1, 0)) - 3

        def forward(self, x):
            a, b = x[:, self.kept], x[:, self.moved].clamp(-2.99, 2.99)
            w, h, d = self.f(a).float().unflatten(1, (b.shape[1], -1)).split([self.bins, self.bins, self.bins - 1], -1)
            w, h, d = self.knots(w), self.knots(h), F.pad(1e-3 + F.softplus(d), (1, 1), value=1.0)
            at = torch.searchsorted(w.detach().contiguous(), b.detach().float().unsqueeze(-1)).clamp(1, self.bins) - 1
            x0, x1, y0, y1, d0, d1 = (t.gather(-1, at + n).squeeze(-1) for t in (w, h, d) for n in (0, 1))
            s, u = (y1 - y0) / (x1 - x0), (b - x0) / (x1 - x0)
            below = s + (d1 + d0 - 2 * s) * u * (1 - u)
            out = y0 + (y1 - y0) * (s * u ** 2 + d0 * u * (1 - u)) / below
            slope = s ** 2 * (d1 * u ** 2 + 2 * s * u * (1 - u) + d0 * (1 - u) ** 2) / below ** 2
            x = torch.zeros(x.shape, dtype=out.dtype, device=x.device).index_copy(1, self.kept, a.to(out.dtype))
            return x.index_copy(1, self.moved, out), torch.log(slope).sum(1)

    class Net(nn.Module):
        def __init__(self, size=64, width=512, bins=8, depth=10):
            super().__init__()
            self.steps = nn.ModuleList(Couple(size, width, bins, n % 2) for n in range(depth))

        def forward(self, x):
            total = 0
            for step in self.steps:
                x, d = step(x)
                total = total + d
            return Result((0.5 * x.pow(2).sum(1) + 0.5 * x.shape[1] * math.log(2 * math.pi) - total).mean())
    return Net(), lambda b: torch.zeros(b, 64), "own"


def text_diffusion():
    """A latent denoising U-Net that reads a text by cross-attention at its lower levels."""
    class Res(nn.Module):
        def __init__(self, i, o, t):
            super().__init__()
            self.a = nn.Sequential(nn.GroupNorm(32, i), nn.SiLU(), nn.Conv2d(i, o, 3, padding=1))
            self.t = nn.Linear(t, 2 * o)
            self.n, self.b = nn.GroupNorm(32, o), nn.Conv2d(o, o, 3, padding=1)
            self.skip = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

        def forward(self, x, t):
            scale, shift = self.t(F.silu(t))[:, :, None, None].chunk(2, 1)
            return self.b(F.silu(self.n(self.a(x)) * (1 + scale) + shift)) + self.skip(x)

    class Cross(nn.Module):
        def __init__(self, width, other, heads=8):
            super().__init__()
            self.heads, self.q, self.o = heads, nn.Linear(width, width, bias=False), nn.Linear(width, width)
            self.k = nn.Linear(other, width, bias=False)
            self.v, self.n = nn.Linear(other, width, bias=False), nn.LayerNorm(width)

        def forward(self, x, other=None):
            y = self.n(x)
            z = y if other is None else other
            q, k, v = (f(t).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f,
                       t in ((self.q, y), (self.k, z), (self.v, z)))
            return x + self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))

    class Read(nn.Module):
        def __init__(self, c, text):
            super().__init__()
            self.n, self.put, self.take = nn.GroupNorm(32, c), nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 1)
            self.own, self.text, self.norm = Cross(c, c), Cross(c, text), nn.LayerNorm(c)
            self.up, self.down = nn.Linear(c, 8 * c), nn.Linear(4 * c, c)

        def forward(self, x, text):
            y = self.text(self.own(self.put(self.n(x)).flatten(2).transpose(1, 2)), text)
            a, g = self.up(self.norm(y)).chunk(2, -1)
            y = y + self.down(a * F.gelu(g))
            return x + self.take(y.transpose(1, 2).unflatten(2, x.shape[2:]))

    class Net(nn.Module):
        def __init__(self, base=128, text=512):
            super().__init__()
            w, t = (base, 2 * base, 4 * base), 4 * base
            self.first = nn.Conv2d(4, base, 3, padding=1)
            self.time = nn.Sequential(nn.Linear(base, t), nn.SiLU(), nn.Linear(t, t))
            self.down = nn.ModuleList(Res(i, o, t) for i, o in zip((base,) + w, w))
            self.reads, self.again = (nn.ModuleList(Read(c, text) for c in w[1:]) for _ in range(2))
            self.shrink = nn.ModuleList(nn.Conv2d(c, c, 3, 2, 1) for c in w[:-1])
            self.mid = Res(w[-1], w[-1], t)
            self.up = nn.ModuleList(Res(i + o, o, t) for i, o in zip((w[2], w[2], w[1]), w[::-1]))
            self.last = nn.Sequential(nn.GroupNorm(32, base), nn.SiLU(), nn.Conv2d(base, 4, 3, padding=1))

        def forward(self, x, time, text):
            t, x, kept = self.time(time), self.first(x), []
            for n, block in enumerate(self.down):
                x = block(x, t)
                x = self.reads[n - 1](x, text) if n else x
                kept.append(x)
                x = self.shrink[n](x) if n < 2 else x
            x = self.mid(x, t)
            for n, block in enumerate(self.up):
                x = block(torch.cat([x, kept.pop()], 1), t)
                x = self.again[1 - n](x, text) if n < 2 else x
                x = F.interpolate(x, scale_factor=2, mode="nearest") if n < 2 else x
            return self.last(x)
    return Net(), lambda b: (torch.zeros(b, 4, 48, 48), torch.zeros(b, 128), torch.zeros(b, 77, 512)), "mse"


NETWORKS = {f.__name__: f for f in (mesh_simulator, fourier_forecast, wave_equation, molecule_pairs, interest_network,
                                    table_rows,
                                    spline_flow, text_diffusion)}
