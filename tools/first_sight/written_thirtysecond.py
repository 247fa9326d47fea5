# SPDX-License-Identifier: Apache-2.0
"""written_thirtysecond.py - more of the sixteenth set of networks: physics, molecules, tissue, skies. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, Result, heads_first, heads_joined, words


def galerkin_flow():
    """Flow through porous ground: attention without softmax multiplies keys and values first; Fourier layers end."""
    class Layer(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.q, self.k, self.v = heads, *(nn.Linear(c, c) for _ in range(3))
            self.nk, self.nv, self.o = nn.LayerNorm(c // heads), nn.LayerNorm(c // heads), nn.Linear(c + 2 * heads, c)
            self.f = nn.Sequential(nn.Linear(c, 2 * c), nn.SiLU(), nn.Dropout(0.05), nn.Linear(2 * c, c))

        def forward(self, x, place):
            q, k, v = (heads_first(t, self.heads) for t in (self.q(x), self.k(x), self.v(x)))
            place = place.expand(len(x), self.heads, -1, -1)
            q, k, v = (torch.cat([place, t], -1) for t in (q, self.nk(k), self.nv(v)))
            x = x + self.o(heads_joined(q @ (k.transpose(-1, -2) @ v / k.shape[2])))
            return x + self.f(x)

    class Waves(nn.Module):
        def __init__(self, i, o, modes):
            super().__init__()
            self.modes, self.line = modes, nn.Linear(i, o)
            self.weight = nn.Parameter(torch.randn(2, i, o, modes, modes, 2) / i)

        def forward(self, x):
            m, seen = self.modes, torch.fft.rfft2(x.permute(0, 3, 1, 2))
            low, high = torch.view_as_complex(self.weight).unbind()
            out = seen.new_zeros(len(x), low.shape[1], *seen.shape[2:])
            out[:, :, :m, :m] = torch.einsum("bihw,iohw->bohw", seen[:, :, :m, :m], low)
            out[:, :, -m:, :m] = torch.einsum("bihw,iohw->bohw", seen[:, :, -m:, :m], high)
            back = torch.fft.irfft2(out, s=x.shape[1:3]).permute(0, 2, 3, 1)
            return F.silu(back + self.line(x))

    class Net(nn.Module):
        def __init__(self, c=128, heads=4, depth=6, fine=141, coarse=43):
            super().__init__()
            self.fine, self.coarse = fine, coarse
            self.down = nn.ModuleList([nn.Conv2d(1, c // 3, 3, padding=1), nn.Conv2d(c // 3, c // 3, 3, padding=1),
                                       nn.Conv2d(c // 3, c - 2 * (c // 3), 3, padding=1)])
            self.join, self.body = nn.Linear(c + 2, c), nn.ModuleList(Layer(c, heads) for _ in range(depth))
            self.up = nn.ModuleList([nn.Conv2d(c, c // 2, 3, padding=1), nn.Conv2d(c // 2, 32, 3, padding=1)])
            self.waves = nn.Sequential(Waves(34, 32, 12), Waves(32, 32, 12))
            self.out = nn.Sequential(nn.Linear(32, 128), nn.SiLU(), nn.Linear(128, 1))

        @staticmethod
        def grid(n, device):
            line = torch.linspace(0, 1, n, device=device)
            return torch.stack(torch.meshgrid(line, line, indexing="ij"), -1)

        def forward(self, ground, goal):
            x, parts = F.interpolate(ground, size=(84, 84), mode="bilinear", align_corners=True), []
            for f in self.down:
                x = F.silu(f(x))
                parts.append(x)
            x = F.interpolate(torch.cat(parts, 1), size=(self.coarse, self.coarse), mode="bilinear", align_corners=True)
            place = self.grid(self.coarse, x.device).flatten(0, 1)
            x = x.flatten(2).transpose(1, 2)
            x = self.join(torch.cat([x, place.expand(len(x), -1, -1)], -1))
            for f in self.body:
                x = f(x, place)
            x = x.transpose(1, 2).unflatten(2, (self.coarse, self.coarse))
            for f, n in zip(self.up, (84, self.fine)):
                x = F.silu(f(F.interpolate(x, size=(n, n), mode="bilinear", align_corners=True)))
            place = self.grid(self.fine, x.device).expand(len(x), -1, -1, -1)
            x = self.out(self.waves(torch.cat([x.permute(0, 2, 3, 1), place], -1))).squeeze(-1)
            far = (x - goal).flatten(1).norm(dim=1) / goal.flatten(1).norm(dim=1)
            steps = [((x - goal).diff(dim=d).flatten(1).norm(dim=1) / goal.diff(dim=d).flatten(1).norm(dim=1)).mean()
                     for d in (1, 2)]
            return Result(far.mean() + 0.05 * sum(steps))
    return Net(), lambda b: (torch.zeros(b, 1, 141, 141), torch.zeros(b, 141, 141)), "own"


def path_biases():
    """Gaps of molecules: a transformer of atoms whose scores know degrees, distances and the bonds along each path."""
    class Layer(nn.Module):
        def __init__(self, c, heads, inner):
            super().__init__()
            self.heads, self.q, self.k, self.v, self.o = heads, *(nn.Linear(c, c) for _ in range(4))
            self.n1, self.n2, self.scale = nn.LayerNorm(c), nn.LayerNorm(c), (c // heads) ** -0.5
            self.f = nn.Sequential(nn.Linear(c, inner), nn.GELU(), nn.Dropout(0.1), nn.Linear(inner, c))
            self.drop = nn.Dropout(0.1)

        def forward(self, x, bias):
            y = self.n1(x)
            q, k, v = (heads_first(t, self.heads) for t in (self.q(y) * self.scale, self.k(y), self.v(y)))
            look = self.drop(torch.softmax(q @ k.transpose(-1, -2) + bias, -1))
            x = x + self.drop(self.o(heads_joined(look @ v)))
            return x + self.drop(self.f(self.n2(x)))

    class Net(nn.Module):
        def __init__(self, c=768, heads=32, depth=12, atoms=4608, bonds=1536, far=5):
            super().__init__()
            self.heads, self.far = heads, far
            self.atom = nn.Embedding(atoms, c, 0)
            self.into, self.away = nn.Embedding(512, c, 0), nn.Embedding(512, c, 0)
            self.graph, self.path = nn.Embedding(1, c), nn.Embedding(512, heads, 0)
            self.bond, self.along = nn.Embedding(bonds, heads, 0), nn.Parameter(torch.randn(far, heads, heads) * 0.02)
            self.own = nn.Embedding(1, heads)
            self.body = nn.ModuleList(Layer(c, heads, c) for _ in range(depth))
            self.norm, self.last = nn.LayerNorm(c), nn.Sequential(nn.Linear(c, c), nn.GELU(), nn.LayerNorm(c))
            self.out = nn.Linear(c, 1)

        def biases(self, path, bonds):
            """Of every head for each pair: from its distance and from the bonds on the shortest way."""
            b, n = path.shape[:2]
            steps = (path - 1).clamp(1, self.far).unsqueeze(-1)
            bond = self.bond(bonds).mean(-2).permute(3, 0, 1, 2, 4).reshape(self.far, -1, self.heads)
            bond = torch.bmm(bond, self.along).view(self.far, b, n, n, self.heads).permute(1, 2, 3, 0, 4)
            pairs = self.path(path) + bond.sum(-2) / steps
            bias = F.pad(pairs.permute(0, 3, 1, 2), (1, 0, 1, 0))
            own = self.own.weight.view(1, self.heads, 1)
            bias[:, :, 1:, 0] += own
            bias[:, :, 0, :] += own
            return bias

        def forward(self, atoms, degree, path, bonds, goal):
            x = self.atom(atoms).sum(-2) + self.into(degree) + self.away(degree)
            x = torch.cat([self.graph.weight.expand(len(x), 1, -1), x], 1)
            bias = self.biases(path, bonds)
            for f in self.body:
                x = f(x, bias)
            return Result(F.l1_loss(self.out(self.last(self.norm(x)[:, 0])).squeeze(-1).float(), goal))

    def inputs(b, n=32):
        return {"atoms": torch.zeros(b, n, 9, dtype=torch.int64), "degree": words(b, n),
                "path": torch.zeros(b, n, n, dtype=torch.int64),
                "bonds": torch.zeros(b, n, n, 5, 3, dtype=torch.int64), "goal": torch.zeros(b)}
    return Net(), inputs, "own"


def drug_targets():
    """Drugs and the proteins they bind: filters over letters of both, and a bilinear attention of all their pairs."""
    class Read(nn.Module):
        def __init__(self, letters, c, ks, o=128):
            super().__init__()
            self.letter, widths = nn.Embedding(letters, c, padding_idx=0), (c, o, o, o)
            self.f = nn.Sequential(*(m for i, j, k in zip(widths, widths[1:], ks) for m in (
                nn.Conv1d(i, j, k), nn.ReLU(), nn.BatchNorm1d(j))))

        def forward(self, x):
            return self.f(self.letter(x).transpose(1, 2)).transpose(1, 2)

    class Net(nn.Module):
        def __init__(self, c=128, h=256, wide=3, looks=2):
            super().__init__()
            self.drug, self.protein = Read(65, c, (4, 6, 8)), Read(26, c, (3, 6, 9))
            def dense(i, o):
                return nn.Sequential(nn.Dropout(0.2), nn.Linear(i, o), nn.ReLU())
            self.a, self.b = dense(128, wide * h), dense(128, wide * h)
            self.look = nn.Parameter(torch.randn(1, looks, 1, wide * h))
            self.bias = nn.Parameter(torch.randn(1, looks, 1, 1))
            self.wide, self.norm = wide, nn.BatchNorm1d(h)
            self.out = nn.Sequential(nn.Linear(h, 512), nn.ReLU(), nn.BatchNorm1d(512), nn.Linear(512, 512), nn.ReLU(),
                                     nn.BatchNorm1d(512), nn.Linear(512, 128), nn.ReLU(), nn.BatchNorm1d(128),
                                     nn.Linear(128, 1))

        def forward(self, drug, protein):
            x, y = self.a(self.drug(drug)), self.b(self.protein(protein))
            look = torch.einsum("xhyk,bvk,bqk->bhvq", self.look, x, y) + self.bias
            found = 0
            for n in range(look.shape[1]):
                each = torch.einsum("bvk,bvq,bqk->bk", x, look[:, n], y).unsqueeze(1)
                found = found + F.avg_pool1d(each, self.wide, self.wide).squeeze(1) * self.wide
            return self.out(self.norm(found))

    return Net(), lambda b: (words(b, 150), (torch.arange(1200) % 26).int().repeat(b, 1)), "bce"


def nuclei_branches():
    """Nuclei in stained tissue: a residual encoder, three dense decoders for masks, distances to centres and kinds."""
    class Bottle(nn.Module):
        def __init__(self, i, m, stride):
            super().__init__()
            self.f = nn.Sequential(nn.Conv2d(i, m, 1, bias=False), nn.BatchNorm2d(m), nn.ReLU(inplace=True),
                                   nn.Conv2d(m, m, 3, stride, 1, bias=False), nn.BatchNorm2d(m), nn.ReLU(inplace=True),
                                   nn.Conv2d(m, 4 * m, 1, bias=False), nn.BatchNorm2d(4 * m))
            self.skip = nn.Conv2d(i, 4 * m, 1, stride, bias=False) if i != 4 * m else nn.Identity()

        def forward(self, x):
            return F.relu(self.skip(x) + self.f(x))

    class Dense(nn.Module):
        def __init__(self, i, n, k=5):
            super().__init__()
            self.f = nn.ModuleList(nn.Sequential(
                nn.BatchNorm2d(i + 32 * m), nn.ReLU(), nn.Conv2d(i + 32 * m, 128, 1, bias=False), nn.BatchNorm2d(128),
                nn.ReLU(), nn.Conv2d(128, 32, k, padding=k // 2, groups=4, bias=False)) for m in range(n))
            self.last = nn.Sequential(nn.BatchNorm2d(i + 32 * n), nn.ReLU())

        def forward(self, x):
            for f in self.f:
                x = torch.cat([x, f(x)], 1)
            return self.last(x)

    class Decoder(nn.Module):
        def __init__(self, out, k=5):
            super().__init__()
            a, b, self.u1 = (nn.Conv2d(4 * o, o, k, padding=k // 2, bias=False) for o in (256, 128, 64))
            self.u3 = nn.Sequential(a, Dense(256, 8), nn.Conv2d(512, 512, 1))
            self.u2 = nn.Sequential(b, Dense(128, 4), nn.Conv2d(256, 256, 1))
            self.out = nn.Sequential(nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, out, 1))

        def forward(self, maps):
            x = maps[3]
            for f, skip in zip((self.u3, self.u2, self.u1), maps[2::-1]):
                x = f(F.interpolate(x, scale_factor=2) + skip)
            return self.out(x)

    class Net(nn.Module):
        def __init__(self, kinds=5):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True))
            i, self.down = 64, nn.ModuleList()
            for m, n, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
                self.down.append(nn.Sequential(*(Bottle(i if k == 0 else 4 * m, m, stride if k == 0 else 1)
                                                 for k in range(n))))
                i = 4 * m
            self.thin, self.kinds = nn.Conv2d(2048, 1024, 1, bias=False), kinds
            self.mask, self.far, self.kind = Decoder(2), Decoder(2), Decoder(kinds)
            line = torch.arange(-2, 3).float()
            h, v = torch.meshgrid(line, line, indexing="ij")
            slope = torch.stack([v, h]) / (h * h + v * v + 1e-15)
            self.register_buffer("slope", slope.unsqueeze(1), persistent=False)

        @staticmethod
        def overlap(score, goal, kinds):
            p, g = score.float().softmax(1), F.one_hot(goal, kinds).movedim(-1, 1).float()
            meet = (p * g).sum((0, 2, 3))
            dice = (1 - (2 * meet + 1e-3) / (p.sum((0, 2, 3)) + g.sum((0, 2, 3)) + 1e-3)).sum()
            return dice + F.cross_entropy(score, goal)

        def forward(self, pictures, far, labels):
            x, maps = self.stem(pictures), []
            for f in self.down:
                x = f(x)
                maps.append(x)
            maps[3] = self.thin(x)
            inside = (labels > 0).long()
            found = self.far(maps).float()
            loss = self.overlap(self.mask(maps), inside, 2) + self.overlap(self.kind(maps), labels, self.kinds)
            focus = inside.unsqueeze(1).float()
            steps = (F.conv2d(found, self.slope, padding=2, groups=2) - F.conv2d(far, self.slope, padding=2, groups=2))
            loss = loss + F.mse_loss(found, far) + (steps.float() ** 2 * focus).sum() / (focus.sum() + 1e-8)
            return Result(loss)

    def inputs(b):
        return {"pictures": torch.zeros(b, 3, 256, 256), "far": torch.zeros(b, 2, 256, 256),
                "labels": torch.zeros(b, 256, 256, dtype=torch.int64)}
    return Net(), inputs, "own"


def sky_translator():
    """Ten radar pictures from ten: frames are encoded apart, wide gated filters mix them all, frames are decoded."""
    def layer(i, o, stride=1, up=False):
        filters = [nn.Conv2d(i, 4 * o, 3, padding=1), nn.PixelShuffle(2)] if up else [nn.Conv2d(i, o, 3, stride, 1)]
        return nn.Sequential(*filters, nn.GroupNorm(2, o), nn.SiLU())

    class Mix(nn.Module):
        def __init__(self, c, ratio=8):
            super().__init__()
            self.n1, self.n2 = nn.BatchNorm2d(c), nn.BatchNorm2d(c)
            self.enter, self.leave = nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 1)
            self.near, self.gate = nn.Conv2d(c, c, 5, padding=2, groups=c), nn.Conv2d(c, 2 * c, 1)
            self.wide = nn.Conv2d(c, c, 7, padding=9, groups=c, dilation=3)
            self.f = nn.Sequential(nn.Conv2d(c, ratio * c, 1), nn.Conv2d(ratio * c, ratio * c, 3, padding=1,
                                   groups=ratio * c), nn.GELU(), nn.Dropout(0.1), nn.Conv2d(ratio * c, c, 1))
            self.s1, self.s2 = (nn.Parameter(1e-2 * torch.ones(c, 1, 1)) for _ in range(2))

        def forward(self, x):
            y = F.gelu(self.enter(self.n1(x)))
            a, g = self.gate(self.wide(self.near(y))).chunk(2, 1)
            x = x + self.s1 * (self.leave(a * g.sigmoid()) + y)
            return x + self.s2 * self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, frames=10, c=64, h=256, depth=8):
            super().__init__()
            self.first = layer(1, c)
            self.down = nn.Sequential(layer(c, c, 2), layer(c, c), layer(c, c, 2))
            self.body = nn.Sequential(nn.Conv2d(frames * c, h, 1), *(Mix(h) for _ in range(depth)),
                                      nn.Conv2d(h, frames * c, 1))
            self.up = nn.Sequential(layer(c, c, up=True), layer(c, c), layer(c, c, up=True))
            self.last, self.out = layer(2 * c, c), nn.Conv2d(c, 1, 1)

        def forward(self, seen, goal):
            b, t = seen.shape[:2]
            first = self.first(seen.flatten(0, 1))
            x = self.down(first).unflatten(0, (b, t))
            x = self.body(x.flatten(1, 2)).unflatten(1, (t, -1)).flatten(0, 1)
            x = self.out(self.last(torch.cat([self.up(x), first], 1))).unflatten(0, (b, t))
            move = (x.diff(dim=1).flatten(2) / 0.1).float().log_softmax(-1)
            real = (goal.diff(dim=1).flatten(2) / 0.1).float().softmax(-1)
            return Result(F.mse_loss(x, goal) + 0.1 * F.kl_div(move, real, reduction="batchmean"))
    return Net(), lambda b: (torch.zeros(b, 10, 1, 128, 128), torch.zeros(b, 10, 1, 128, 128)), "own"


def minkowski_jets():
    """Jets of particles by products that no boost changes: messages on all pairs move the momenta and the numbers."""
    def product(a, b):
        return 2 * a[..., :1] * b[..., :1] - (a * b).sum(-1, keepdim=True)

    def squeezed(x):
        return x.sign() * (x.abs() + 1).log()

    class Block(nn.Module):
        def __init__(self, c, last, few=2):
            super().__init__()
            self.e1, self.e2 = nn.Linear(2 * c + 2, c, bias=False), nn.Linear(c, c)
            self.norm, self.weight = nn.BatchNorm1d(c), nn.Sequential(nn.Linear(c, 1), nn.Sigmoid())
            self.h1, self.n, self.h2 = nn.Linear(2 * c + few, c), nn.BatchNorm1d(c), nn.Linear(c, c)
            self.move = None if last else nn.Sequential(nn.Linear(c, c), nn.ReLU(), nn.Linear(c, 1, bias=False))

        def forward(self, h, x, i, j, many, scalars):
            far = x[i] - x[j]
            told = torch.cat([h[i], h[j], squeezed(product(far, far)), squeezed(product(x[i], x[j]))], -1)
            m = F.relu(self.e2(F.relu(self.norm(self.e1(told)))))
            m = m * self.weight(m)
            total = torch.zeros_like(h).index_add(0, i, m)
            h = h + self.h2(F.relu(self.n(self.h1(torch.cat([h, total, scalars], -1)))))
            if self.move is not None:
                step = torch.clamp(far * self.move(m), -100, 100)
                x = x + 5e-3 * torch.zeros_like(x).index_add(0, i, step) / many
            return h, x

    class Net(nn.Module):
        def __init__(self, n=60, c=72, depth=6):
            super().__init__()
            self.enter, self.n = nn.Linear(2, c), n
            self.body = nn.ModuleList(Block(c, k == depth - 1) for k in range(depth))
            self.out = nn.Sequential(nn.Dropout(0.2), nn.Linear(c, c), nn.ReLU(), nn.Dropout(0.2), nn.Linear(c, 2))
            i, j = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
            apart = i != j
            self.register_buffer("pairs", torch.stack([i[apart], j[apart]]), persistent=False)

        def forward(self, momenta, scalars, labels):
            b = len(momenta)
            start = torch.arange(b, device=momenta.device).view(1, -1, 1) * self.n
            i, j = (self.pairs.unsqueeze(1) + start).flatten(1)
            x, scalars = momenta.flatten(0, 1), squeezed(scalars.flatten(0, 1))
            h = self.enter(scalars)
            for f in self.body:
                h, x = f(h, x, i, j, self.n - 1, scalars)
            return Result(F.cross_entropy(self.out(h.unflatten(0, (b, self.n)).mean(1)), labels))

    def inputs(b):
        return {"momenta": torch.zeros(b, 60, 4), "scalars": torch.zeros(b, 60, 2),
                "labels": torch.zeros(b, dtype=torch.int64)}
    return Net(), inputs, "own"


def syndrome_rounds():
    """Errors of a quantum memory: a transformer with filters on the chip's grid goes through rounds of measurements."""
    class Layer(nn.Module):
        def __init__(self, c, heads, grid):
            super().__init__()
            self.a, self.n1, self.n2, self.grid = Attention(c, heads), nn.LayerNorm(c), nn.LayerNorm(c), grid
            self.into, self.out = nn.Linear(c, 5 * c), nn.Linear(5 * c // 2, c)
            self.filters = nn.ModuleList(nn.Conv2d(c, o, 3, padding=d, dilation=d)
                                         for o, d in ((c // 2, 1), (c // 2, 2), (c, 4)))
            self.back = nn.ModuleList(nn.Conv2d(c // 2, c, 1) for _ in range(2))

        def forward(self, x, bias):
            x = x + self.a(self.n1(x), mask=bias)
            a, b = self.into(self.n2(x)).chunk(2, -1)
            x = x + self.out(F.gelu(a) * b)
            y = x.transpose(1, 2).unflatten(2, self.grid)
            for f, g in zip(self.filters, self.back):
                y = y + g(F.gelu(f(y)))
            y = y + self.filters[2](F.gelu(y))
            return y.flatten(2).transpose(1, 2)

    class Net(nn.Module):
        def __init__(self, c=256, heads=4, side=8, rounds=13, depth=3):
            super().__init__()
            n = side * side
            self.value, self.event = nn.Linear(1, c), nn.Linear(1, c)
            self.place, self.final = nn.Parameter(torch.randn(n, c) * 0.02), nn.Parameter(torch.randn(1, c) * 0.02)
            self.first = nn.ModuleList(nn.Sequential(nn.Linear(c, c), nn.ReLU(), nn.Linear(c, c)) for _ in range(2))
            self.pair, self.heads = nn.Embedding(n * n, 48), heads
            self.bias = nn.Sequential(nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, heads))
            self.body = nn.ModuleList(Layer(c, heads, (side, side)) for _ in range(depth))
            self.norm, self.shrink = nn.LayerNorm(c), nn.Conv2d(c, 48, 2, 2)
            self.out = nn.Sequential(nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
            self.next, self.side = nn.Linear(c, 1), side

        def forward(self, values, events, flips):
            n = self.side ** 2
            bias = self.bias(self.pair.weight).t().reshape(1, self.heads, n, n)
            state, guess = torch.zeros(len(values), n, self.place.shape[1], device=values.device), 0
            for t in range(values.shape[1]):
                x = self.value(values[:, t].unsqueeze(-1)) + self.event(events[:, t].unsqueeze(-1)) + self.place
                x = x + self.final if t == values.shape[1] - 1 else x
                for f in self.first:
                    x = x + f(F.relu(x))
                state = (state + x) * math.sqrt(0.5)
                for f in self.body:
                    state = f(state, bias)
                if t + 1 < values.shape[1]:
                    soon = (events[:, t + 1] > 0).float()
                    guess = guess + F.binary_cross_entropy_with_logits(self.next(state).squeeze(-1).float(), soon)
            y = self.shrink(self.norm(state).transpose(1, 2).unflatten(2, (self.side, self.side))).mean(2)
            score = self.out(y.transpose(1, 2)).squeeze(-1).float()
            real = (flips > 0).float().unsqueeze(1).expand_as(score)
            return Result(F.binary_cross_entropy_with_logits(score, real) + 0.02 * guess)
    return Net(), lambda b: (torch.zeros(b, 13, 64), torch.zeros(b, 13, 64), torch.zeros(b)), "own"


def graph_noise():
    """New molecules from drawn kinds of atoms and bonds: attention scaled by bonds guesses what noise has changed."""
    class Layer(nn.Module):
        def __init__(self, x, e, y, heads):
            super().__init__()
            self.heads, self.q, self.k, self.v = heads, *(nn.Linear(x, x) for _ in range(3))
            self.times, self.plus, self.eo = nn.Linear(e, x), nn.Linear(e, x), nn.Linear(x, e)
            self.ye, self.yx, self.xo = nn.Linear(y, 2 * x), nn.Linear(y, 2 * x), nn.Linear(x, x)
            self.yy, self.xy, self.ey = nn.Linear(y, y), nn.Linear(4 * x, y), nn.Linear(4 * e, y)
            self.yo = nn.Sequential(nn.Linear(y, y), nn.ReLU(), nn.Linear(y, y))
            self.dense = nn.ModuleList(nn.Sequential(nn.Linear(c, m), nn.ReLU(), nn.Dropout(0.1), nn.Linear(m, c),
                                                     nn.Dropout(0.1)) for c, m in ((x, 256), (e, 128), (y, 128)))
            self.n1, self.n2 = (nn.ModuleList(nn.LayerNorm(c) for c in (x, e, y)) for _ in range(2))

        @staticmethod
        def pooled(x, dims):
            return torch.cat([x.mean(dims), x.amin(dims), x.amax(dims), x.std(dims)], -1)

        def look(self, x, e, y):
            q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.q, self.k, self.v))
            score = q.unsqueeze(2) * k.unsqueeze(1) / math.sqrt(q.shape[-1])
            score = score * (self.times(e) + 1).unflatten(-1, (self.heads, -1))
            score = score + self.plus(e).unflatten(-1, (self.heads, -1))
            plus, times = self.ye(y)[:, None, None].chunk(2, -1)
            new_e = self.eo(plus + (times + 1) * score.flatten(3))
            found = (score.softmax(2) * v.unsqueeze(1)).sum(2).flatten(2)
            plus, times = self.yx(y).unsqueeze(1).chunk(2, -1)
            new_y = self.yy(y) + self.xy(self.pooled(x, 1)) + self.ey(self.pooled(e.flatten(1, 2), 1))
            return self.xo(plus + (times + 1) * found), new_e, self.yo(new_y)

        def forward(self, all_):
            all_ = [n(a + F.dropout(b, 0.1, self.training)) for n, a, b in zip(self.n1, all_, self.look(*all_))]
            return [n(a + f(a)) for n, f, a in zip(self.n2, self.dense, all_)]

    class Net(nn.Module):
        def __init__(self, atoms=9, bonds=5, x=256, e=64, y=64, depth=6, heads=8, steps=500):
            super().__init__()
            def dense(i, m, o):
                return nn.Sequential(nn.Linear(i, m), nn.ReLU(), nn.Linear(m, o))
            self.atoms, self.bonds, self.steps = atoms, bonds, steps
            self.into = nn.ModuleList([dense(atoms, 256, x), dense(bonds, 128, e), dense(1, 128, y)])
            self.body = nn.Sequential(*(Layer(x, e, y, heads) for _ in range(depth)))
            self.atom, self.bond = dense(x, 256, atoms), dense(e, 128, bonds)

        @staticmethod
        def drawn(kind, kinds, keep):
            """Kinds after noise: kept with a chance, else any."""
            known = F.one_hot(kind, kinds).float()
            keep = keep.view(-1, *[1] * kind.dim())
            chance = keep * known + (1 - keep) / kinds
            return torch.multinomial(chance.flatten(0, -2), 1).view(kind.shape)

        def forward(self, atoms, bonds):
            atoms, bonds = atoms.long(), bonds.long()
            t = torch.randint(1, self.steps + 1, (len(atoms), 1), device=atoms.device) / self.steps
            keep = torch.cos(0.5 * math.pi * (t + 0.008) / 1.008) ** 2
            seen = F.one_hot(self.drawn(atoms, self.atoms, keep), self.atoms).float()
            upper = self.drawn(bonds, self.bonds, keep).triu(1)
            links = F.one_hot(upper + upper.transpose(1, 2), self.bonds).float()
            x, e, _ = self.body([f(a) for f, a in zip(self.into, (seen, links, t))])
            e = self.bond(e)
            e = (e + e.transpose(1, 2)) / 2
            loss = F.cross_entropy(self.atom(x).flatten(0, 1), atoms.flatten())
            return Result(loss + 5 * F.cross_entropy(e.flatten(0, 2), bonds.flatten()))

    def inputs(b, n=32):
        bonds = (torch.arange(n)[:, None] + torch.arange(n)) % 7
        return (torch.arange(n) % 9).int().repeat(b, 1), torch.where(bonds < 5, bonds, 0).int().repeat(b, 1, 1)
    return Net(), inputs, "own"


NETWORKS = {f.__name__: f for f in (galerkin_flow, path_biases, drug_targets, nuclei_branches, sky_translator,
                                    minkowski_jets, syndrome_rounds, graph_noise)}
STEPS = {"galerkin_flow": ("fp32", 8, "nchw", "adam"), "path_biases": ("amp-fp16", 128, "nchw", "adamw"),
         "drug_targets": ("fp32", 64, "nchw", "adam"), "nuclei_branches": ("amp-fp16", 8, "nhwc", "adam"),
         "sky_translator": ("amp-bf16", 16, "nchw", "adam"), "minkowski_jets": ("fp32", 32, "nchw", "adamw"),
         "syndrome_rounds": ("amp-bf16", 128, "nchw", "adamw"), "graph_noise": ("fp32", 64, "nchw", "adamw")}
