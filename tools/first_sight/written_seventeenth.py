# SPDX-License-Identifier: Apache-2.0
"""written_seventeenth.py - more of the twelfth set of networks as people write them: natural sciences. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, Result, words


def rain_nowcast():
    """Rain of the next hour from twelve radar pictures: a U-Net of separable filters with attention on its skips."""
    class Separable(nn.Module):
        def __init__(self, i, o, per=2):
            super().__init__()
            self.deep = nn.Conv2d(i, i * per, 3, padding=1, groups=i)
            self.point, self.norm = nn.Conv2d(i * per, o, 1), nn.BatchNorm2d(o)

        def forward(self, x):
            return F.relu(self.norm(self.point(self.deep(x))), inplace=True)

    class Look(nn.Module):
        """Weights of channels, then of places."""

        def __init__(self, c, ratio=16):
            super().__init__()
            self.f = nn.Sequential(nn.Linear(c, c // ratio), nn.ReLU(), nn.Linear(c // ratio, c))
            self.place = nn.Sequential(nn.Conv2d(2, 1, 7, padding=3, bias=False), nn.BatchNorm2d(1))

        def forward(self, x):
            w = self.f(F.adaptive_avg_pool2d(x, 1).flatten(1)) + self.f(F.adaptive_max_pool2d(x, 1).flatten(1))
            x = x * w.sigmoid()[..., None, None]
            both = torch.cat([x.mean(1, keepdim=True), x.max(1, keepdim=True)[0]], 1)
            return x * self.place(both).sigmoid()

    def pair(i, o):
        return nn.Sequential(Separable(i, o), Separable(o, o))

    class Net(nn.Module):
        def __init__(self, frames=12, ahead=6, c=64):
            super().__init__()
            sizes = (c, 2 * c, 4 * c, 8 * c, 8 * c)
            self.enter = nn.ModuleList(pair(i, o) for i, o in zip((frames, *sizes), sizes))
            self.look = nn.ModuleList(Look(n) for n in sizes)
            self.leave = nn.ModuleList(pair(i, o) for i, o in ((16 * c, 4 * c), (8 * c, 2 * c), (4 * c, c), (2 * c, c)))
            self.last = nn.Conv2d(c, ahead, 1)

        def forward(self, radar, rain):
            x, kept = radar, []
            for n, (f, look) in enumerate(zip(self.enter, self.look)):
                x = f(F.max_pool2d(x, 2) if n else x)
                kept.append(look(x))
            x = kept.pop()
            for f in self.leave:
                x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
                x = f(torch.cat([kept.pop(), x], 1))
            weight = 1 + rain.clamp(0, 10)
            return Result((weight * (self.last(x) - rain).pow(2)).mean())
    return Net(), lambda b: (torch.zeros(b, 12, 288, 288), torch.zeros(b, 6, 288, 288)), "own"


def wind_downscaling():
    """Winds at two kilometres from a coarse forecast: a denoising U-Net with scaled inputs and outputs."""
    class Block(nn.Module):
        def __init__(self, i, o, time, attend=False):
            super().__init__()
            self.n1, self.f1 = nn.GroupNorm(min(32, i // 4), i, eps=1e-6), nn.Conv2d(i, o, 3, padding=1)
            self.n2, self.f2 = nn.GroupNorm(min(32, o // 4), o, eps=1e-6), nn.Conv2d(o, o, 3, padding=1)
            self.time, self.skip = nn.Linear(time, 2 * o), nn.Conv2d(i, o, 1) if i != o else nn.Identity()
            self.n3, self.look = (nn.GroupNorm(32, o), Attention(o, o // 64)) if attend else (None, None)

        def forward(self, x, t):
            scale, shift = self.time(t)[..., None, None].chunk(2, 1)
            y = self.f1(F.silu(self.n1(x)))
            y = F.dropout(F.silu(torch.addcmul(shift, self.n2(y), scale + 1)), 0.1, self.training)
            x = (self.f2(y) + self.skip(x)) * math.sqrt(0.5)
            if self.look is None:
                return x
            y = self.look(self.n3(x).flatten(2).transpose(1, 2)).transpose(1, 2).unflatten(2, x.shape[2:])
            return (x + y) * math.sqrt(0.5)

    class Net(nn.Module):
        def __init__(self, fields=4, coarse=12, c=96, more=(1, 2, 2, 3), depth=2, time=384):
            super().__init__()
            self.t1, self.t2 = nn.Linear(c, time), nn.Linear(time, time)
            self.first = nn.Conv2d(fields + coarse, c, 3, padding=1)
            self.register_buffer("waves", 10000 ** (-torch.arange(c // 2).float() / (c // 2)), persistent=False)
            enter, leave, widths, i = [], [], [c], c
            for n, m in enumerate(more):
                for _ in range(depth):
                    enter.append(Block(i, m * c, time, n == 3))
                    i = m * c
                    widths.append(i)
                enter.append(nn.Conv2d(i, i, 3, 2, 1) if n < 3 else nn.Identity())
            self.middle = nn.ModuleList((Block(i, i, time, True), Block(i, i, time)))
            for n, m in reversed(list(enumerate(more))):
                for _ in range(depth):
                    leave.append(Block(i + widths.pop(), m * c, time, n == 3))
                    i = m * c
                leave.append(nn.Conv2d(i, i, 3, padding=1) if n else nn.Identity())
            self.enter, self.leave = nn.ModuleList(enter), nn.ModuleList(leave)
            self.norm, self.last = nn.GroupNorm(24, c), nn.Conv2d(c, fields, 3, padding=1)

        def body(self, x, noise):
            t = noise.flatten()[:, None] * self.waves
            t = F.silu(self.t2(F.silu(self.t1(torch.cat([t.cos(), t.sin()], 1)))))
            x, kept = self.first(x), []
            for f in self.enter:
                if isinstance(f, Block):
                    x = f(x, t)
                    kept.append(x)
                else:
                    x = f(x)
            for f in self.middle:
                x = f(x, t)
            for f in self.leave:
                if isinstance(f, Block):
                    x = f(torch.cat([x, kept.pop()], 1), t)
                elif isinstance(f, nn.Conv2d):
                    x = f(F.interpolate(x, scale_factor=2, mode="nearest"))
            return self.last(F.silu(self.norm(x)))

        def forward(self, fine, coarse):
            s = (torch.randn(len(fine), 1, 1, 1, device=fine.device) * 1.2 - 1.2).exp()
            weight, total = (s * s + 0.25) / (s * 0.5).pow(2), (s * s + 0.25).sqrt()
            x = fine + torch.randn_like(fine) * s
            coarse = F.interpolate(coarse, fine.shape[2:], mode="bicubic", align_corners=False)
            y = self.body(torch.cat([x / total, coarse], 1), s.log() / 4)
            y = 0.25 / (total * total) * x + s * 0.5 / total * y.float()
            return Result((weight * (y - fine).pow(2)).mean())
    return Net(), lambda b: (torch.zeros(b, 4, 192, 192), torch.zeros(b, 12, 24, 24)), "own"


def deep_operator():
    """Stress in a plate under any load: filters read the load, dense layers read places, and they are multiplied."""
    class Net(nn.Module):
        def __init__(self, c=512, basis=256, outputs=3, waves=128):
            super().__init__()
            sizes = (1, 32, 64, 128, 256)
            self.load = nn.Sequential(*(m for i, o in zip(sizes, sizes[1:]) for m in (
                nn.Conv2d(i, o, 5, 2, 2), nn.GroupNorm(8, o), nn.GELU())), nn.Flatten(),
                nn.Linear(256 * 8 * 8, 1024), nn.GELU(), nn.Linear(1024, basis * outputs))
            layers = [nn.Linear(2 * waves, c), nn.Tanh()]
            for _ in range(5):
                layers += [nn.Linear(c, c), nn.Tanh()]
            self.place, self.outputs = nn.Sequential(*layers, nn.Linear(c, basis * outputs)), outputs
            self.register_buffer("waves", torch.randn(2, waves) * 4, persistent=False)
            self.shift = nn.Parameter(torch.zeros(outputs))

        def forward(self, load, places, stress):
            angle = 2 * math.pi * places @ self.waves
            place = self.place(torch.cat([angle.sin(), angle.cos()], -1)).unflatten(-1, (self.outputs, -1))
            found = torch.einsum("bok,bpok->bpo", self.load(load).unflatten(-1, (self.outputs, -1)), place) + self.shift
            off = (found - stress).flatten(1).norm(dim=1) / (stress.flatten(1).norm(dim=1) + 1e-6)
            return Result(off.mean())
    return Net(), lambda b: (torch.zeros(b, 1, 128, 128), torch.zeros(b, 2048, 2), torch.zeros(b, 2048, 3)), "own"


def periodic_flow():
    """Turbulence in a periodic box: a 2-D U-Net with circular filters steps a fluid forward four times."""
    def ring(i, o, k=3, s=1, g=1):
        return nn.Conv2d(i, o, k, s, k // 2, groups=g, padding_mode="circular")

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.deep, self.norm, self.up = ring(c, c, 7, 1, c), nn.GroupNorm(1, c), nn.Conv2d(c, 4 * c, 1)
            self.down, self.scale = nn.Conv2d(4 * c, c, 1), nn.Parameter(torch.full((c, 1, 1), 1e-2))

        def forward(self, x):
            return x + self.scale * self.down(F.gelu(self.up(self.norm(self.deep(x)))))

    class Net(nn.Module):
        def __init__(self, fields=3, c=64, steps=4):
            super().__init__()
            w, self.steps = (c, 2 * c, 4 * c), steps
            self.first, self.last = ring(fields, c, 5), ring(c, fields, 5)
            self.enter = nn.ModuleList(nn.Sequential(Block(n), Block(n)) for n in w)
            self.down = nn.ModuleList(ring(i, o, 3, 2) for i, o in zip(w, w[1:]))
            self.up = nn.ModuleList(nn.Sequential(nn.Conv2d(o, 4 * i, 1), nn.PixelShuffle(2))
                                    for i, o in ((w[1], w[2]), (w[0], w[1])))
            self.leave = nn.ModuleList(nn.Sequential(nn.Conv2d(2 * n, n, 1), Block(n), Block(n)) for n in (w[1], w[0]))

        def change(self, x):
            x, kept = self.first(x), []
            for n, f in enumerate(self.enter):
                x = f(self.down[n - 1](x) if n else x)
                kept.append(x)
            kept.pop()
            for up, f in zip(self.up, self.leave):
                x = f(torch.cat([up(x), kept.pop()], 1))
            return self.last(x)

        def forward(self, flow):
            x, loss = flow[:, 0], 0
            for n in range(self.steps):
                x = x + self.change(x)
                slope = x[:, 0] - x[:, 0].roll(1, -1) + x[:, 1] - x[:, 1].roll(1, -2)
                loss = loss + F.mse_loss(x, flow[:, n + 1]) + 0.1 * slope.pow(2).mean()
            return Result(loss / self.steps)
    return Net(), lambda b: torch.zeros(b, 5, 3, 128, 128), "own"


def reaction_words():
    """Reactants for a product: letters of molecules translated by PyTorch's transformer, with smoothed labels."""
    class Net(nn.Module):
        def __init__(self, vocab=320, c=384, heads=8, depth=6, seq=256):
            super().__init__()
            self.put, self.scale, self.drop = nn.Embedding(vocab, c), math.sqrt(c), nn.Dropout(0.1)
            self.body = nn.Transformer(c, heads, depth, depth, 2048, 0.1, batch_first=True)
            self.head = nn.Linear(c, vocab)
            place, wave = torch.arange(seq)[:, None], torch.exp(-math.log(10000) * torch.arange(0, c, 2) / c)
            self.register_buffer("place", torch.stack([(place * wave).sin(), (place * wave).cos()], -1).flatten(1),
                                 persistent=False)
            self.register_buffer("later", torch.ones(seq, seq, dtype=torch.bool).triu(1), persistent=False)

        def tokens(self, x):
            return self.drop(self.put(x) * self.scale + self.place[:x.shape[1]])

        def forward(self, product, reactants):
            n = reactants.shape[1] - 1
            empty = product == 0
            x = self.body(self.tokens(product), self.tokens(reactants[:, :-1]), tgt_mask=self.later[:n, :n],
                          src_key_padding_mask=empty, memory_key_padding_mask=empty, tgt_is_causal=True)
            logits = self.head(x).flatten(0, 1).float()
            return Result(F.cross_entropy(logits, reactants[:, 1:].flatten(), label_smoothing=0.1))

    return Net(), lambda b: (words(b, 160) + 1, words(b, 201) + 1), "own"


def symmetry_forces():
    """Energies and forces of molecules: radial and angular functions of neighbours, one dense network per element."""
    class Net(nn.Module):
        def __init__(self, elements=4, radial=32, angles=8, shells=8, near=5.2, close=3.5):
            super().__init__()
            self.near, self.close, self.elements = near, close, elements
            self.register_buffer("radii", torch.linspace(0.9, near, radial), persistent=False)
            self.register_buffer("shells", torch.linspace(0.9, close, shells), persistent=False)
            self.register_buffer("turns", torch.linspace(0.2, 2.9, angles), persistent=False)
            sizes = (elements * radial + elements * shells * angles, 256, 192, 160, 1)
            self.nets = nn.ModuleList(nn.Sequential(*(m for i, o in zip(sizes, sizes[1:]) for m in (
                nn.Linear(i, o), nn.CELU(0.1) if o > 1 else nn.Identity()))) for _ in range(elements))

        def functions(self, places, kinds):
            b, n, _ = places.shape
            away = places.unsqueeze(1) - places.unsqueeze(2)
            self_ = torch.eye(n, device=places.device, dtype=torch.bool)
            far = (away.pow(2).sum(-1) + self_ + 1e-9).sqrt()
            fade = torch.where(self_, 0, (0.5 * (math.pi * far.clamp(max=self.near) / self.near).cos() + 0.5))
            ring = torch.exp(-16 * (far.unsqueeze(-1) - self.radii).pow(2)) * fade.unsqueeze(-1)
            first = torch.einsum("bijr,bje->bier", ring, kinds).flatten(2)
            fade = torch.where(self_, 0, (0.5 * (math.pi * far.clamp(max=self.close) / self.close).cos() + 0.5))
            way = away / far.unsqueeze(-1)
            angle = torch.acos(0.95 * torch.einsum("bijx,bikx->bijk", way, way).clamp(-1, 1))
            turn = ((1 + (angle.unsqueeze(-1) - self.turns).cos()) / 2).pow(32)
            mean = (far.unsqueeze(3) + far.unsqueeze(2)) / 2
            shell = torch.exp(-8 * (mean.unsqueeze(-1) - self.shells).pow(2)) * (
                fade.unsqueeze(3) * fade.unsqueeze(2)).unsqueeze(-1)
            second = torch.einsum("bijks,bijka,bje->bisae", shell, turn, kinds)
            return torch.cat([first, second.flatten(2)], -1)

        def forward(self, places, kinds, energy, forces):
            places, kinds = places.detach().requires_grad_(), kinds.softmax(-1)
            x = self.functions(places, kinds)
            found = (torch.cat([f(x) for f in self.nets], -1) * kinds).sum((1, 2))
            pull = -torch.autograd.grad(found.sum(), places, create_graph=True)[0]
            return Result(F.mse_loss(found, energy) + 0.1 * F.mse_loss(pull, forces))

    def inputs(b):
        return torch.zeros(b, 24, 3), torch.zeros(b, 24, 4), torch.zeros(b), torch.zeros(b, 24, 3)
    return Net(), inputs, "own"


def splice_sites():
    """Where genes are cut: residual blocks of dilated filters over 15000 letters of DNA, three classes per letter."""
    class Block(nn.Module):
        def __init__(self, c, k, gap):
            super().__init__()
            self.f = nn.Sequential(*(m for _ in range(2) for m in (
                nn.BatchNorm1d(c), nn.ReLU(), nn.Conv1d(c, c, k, dilation=gap, padding=gap * (k - 1) // 2))))

        def forward(self, x):
            return x + self.f(x)

    class Net(nn.Module):
        def __init__(self, c=32, around=5000):
            super().__init__()
            self.first, self.skip, self.around = nn.Conv1d(4, c, 1), nn.Conv1d(c, c, 1), around
            plan = ((11, 1), (11, 4), (21, 10), (41, 25))
            self.body = nn.ModuleList(nn.Sequential(*(Block(c, k, gap) for _ in range(4))) for k, gap in plan)
            self.kept, self.last = nn.ModuleList(nn.Conv1d(c, c, 1) for _ in plan), nn.Conv1d(c, 3, 1)

        def forward(self, letters, sites):
            x = self.first(letters)
            total = self.skip(x)
            for f, kept in zip(self.body, self.kept):
                x = f(x)
                total = total + kept(x)
            logits = self.last(total[..., self.around:-self.around]).float()
            return Result(-(sites.softmax(1) * logits.log_softmax(1)).sum(1).mean())
    return Net(), lambda b: (torch.zeros(b, 4, 15000), torch.zeros(b, 3, 5000)), "own"


def shower_critic():
    """A critic of simulated showers in a calorimeter: 3-D filters, an energy for each shower, a gradient penalty."""
    class Net(nn.Module):
        def __init__(self, c=32):
            super().__init__()
            sizes = (2, c, 2 * c, 4 * c, 8 * c)
            self.body = nn.ModuleList(nn.Sequential(nn.Conv3d(i, o, k, 2, 1), nn.GroupNorm(8, o), nn.LeakyReLU(0.2))
                                      for i, o, k in zip(sizes, sizes[1:], (4, 4, 4, 3)))
            self.energy = nn.Sequential(nn.Linear(1, 128), nn.LeakyReLU(0.2), nn.Linear(128, 30 * 30 * 30))
            self.head = nn.Sequential(nn.Linear(8 * c * 8 + 30, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1))

        def score(self, shower, energy):
            x = torch.cat([torch.log1p(shower.abs()), self.energy(energy).view(-1, 1, 30, 30, 30)], 1)
            for f in self.body:
                x = f(x)
            x = F.adaptive_avg_pool3d(x, 2)
            return self.head(torch.cat([x.flatten(1), shower.sum((1, 3, 4))], 1))

        def forward(self, real, fake, energy):
            part = torch.rand(len(real), 1, 1, 1, 1, device=real.device)
            mixed = (part * real + (1 - part) * fake).requires_grad_()
            slope = torch.autograd.grad(self.score(mixed, energy).sum(), mixed, create_graph=True)[0]
            penalty = (slope.flatten(1).norm(dim=1) - 1).pow(2).mean()
            real, fake = self.score(torch.cat([real, fake]), energy.repeat(2, 1)).chunk(2)
            return Result(fake.mean() - real.mean() + 10 * penalty)
    return Net(), lambda b: (torch.zeros(b, 1, 30, 30, 30), torch.zeros(b, 1, 30, 30, 30), torch.zeros(b, 1)), "own"


NETWORKS = {f.__name__: f for f in (rain_nowcast, wind_downscaling, deep_operator, periodic_flow, reaction_words,
                                    symmetry_forces, splice_sites, shower_critic)}
STEPS = {"rain_nowcast": ("tf32", 8, "nchw", "adam"), "wind_downscaling": ("amp-bf16", 8, "nchw", "adamw"),
         "deep_operator": ("fp32", 32, "nchw", "adam"), "periodic_flow": ("tf32", 8, "nchw", "adamw"),
         "reaction_words": ("amp-fp16", 64, "nchw", "adam"), "symmetry_forces": ("fp32", 64, "nchw", "adamw"),
         "splice_sites": ("amp-bf16", 32, "nchw", "adamw"), "shower_critic": ("fp32", 32, "nchw", "adam")}
