# SPDX-License-Identifier: Apache-2.0
"""practice_twelfth.py - networks for practice, the twelfth set: networks that make pictures. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result, RMSNorm, heads_first, heads_joined


def kept_magnitudes():
    """Clouds from noise: a U-Net whose weights are made unit length at each call, with pixel norms, and weighted noise."""
    def unit(x):
        length = torch.linalg.vector_norm(x, dim=tuple(range(1, x.dim())), keepdim=True, dtype=torch.float32)
        return x / (length / math.sqrt(x[0].numel()) + 1e-4).to(x.dtype)

    class Conv(nn.Module):
        def __init__(self, a, b, k):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(b, a, k, k) if k else torch.randn(b, a))

        def forward(self, x, gain=1.0):
            w = unit(self.weight) * (gain / math.sqrt(self.weight[0].numel()))
            w = w.to(x.dtype)
            return F.linear(x, w) if w.dim() == 2 else F.conv2d(x, w, padding=w.shape[-1] // 2)

    def act(x):
        return F.silu(x) / 0.596

    class Block(nn.Module):
        def __init__(self, a, b, t, down=False, attend=False):
            super().__init__()
            self.down = down
            self.a, self.b, self.scale = Conv(b if self.down else a, b, 3), Conv(b, b, 3), Conv(t, b, 0)
            self.gain = nn.Parameter(torch.zeros([]))
            self.skip = Conv(a, b, 1) if a != b or self.down else None
            self.qkv, self.o = (Conv(b, 3 * b, 1), Conv(b, b, 1)) if attend else (None, None)

        def forward(self, x, t):
            if self.down:
                x = self.skip(F.avg_pool2d(x, 2))
                x = x / (x.float().square().mean(1, keepdim=True).sqrt() + 1e-4).to(x.dtype)
            y = self.a(act(x))
            y = y * (self.scale(t, self.gain) + 1).unsqueeze(-1).unsqueeze(-1).to(y.dtype)
            y = self.b(F.dropout(act(y), 0.1, self.training))
            x = self.skip(x) if self.skip is not None and not self.down else x
            x = torch.lerp(x, y, 0.3) / math.sqrt(0.7 ** 2 + 0.3 ** 2)
            if self.qkv is not None:
                b, c, h, w = x.shape
                q, k, v = F.normalize(self.qkv(x).view(b, 4, c // 4, 3, h * w), dim=2).mul(math.sqrt(c // 4)).unbind(3)
                weight = torch.einsum("bhcq,bhck->bhqk", q, k / math.sqrt(c // 4)).softmax(3)
                y = self.o(torch.einsum("bhqk,bhck->bhcq", weight, v).reshape(b, c, h, w))
                x = torch.lerp(x, y, 0.3) / math.sqrt(0.7 ** 2 + 0.3 ** 2)
            return x.clamp(-256, 256)

    class Net(nn.Module):
        def __init__(self, c=96):
            super().__init__()
            t = 4 * c
            self.register_buffer("wave", torch.randn(c) * 2 * math.pi)
            self.register_buffer("phase", torch.rand(c) * 2 * math.pi)
            self.time, self.first, self.last, self.gain = Conv(c, t, 0), Conv(4, c, 3), Conv(c, 3, 3), nn.Parameter(torch.zeros([]))
            self.down = nn.ModuleList([Block(c, c, t), Block(c, 2 * c, t, True), Block(2 * c, 2 * c, t), Block(2 * c, 3 * c, t, True), Block(3 * c, 3 * c, t, False, True)])
            self.up = nn.ModuleList([Block(6 * c, 3 * c, t, False, True), Block(6 * c, 2 * c, t), Block(4 * c, 2 * c, t), Block(4 * c, c, t), Block(2 * c, c, t)])
            self.sure = nn.Linear(c, 1)

        def forward(self, x):
            sigma = (torch.randn(x.shape[0], 1, 1, 1, device=x.device) * 1.2 - 0.8).exp()
            noisy = x + sigma * torch.randn_like(x)
            wave = (sigma.flatten().log() / 4).outer(self.wave).add(self.phase).cos() * math.sqrt(2)
            t, y = act(self.time(wave)), noisy / torch.sqrt(sigma ** 2 + 0.25)
            y, kept = self.first(torch.cat([y, torch.ones_like(y[:, :1])], 1)), []
            for f in self.down:
                y = f(y, t)
                kept.append(y)
            for f in self.up:
                z = kept.pop()
                y = F.interpolate(y, size=z.shape[-2:], mode="nearest") if y.shape[-1] != z.shape[-1] else y
                y = f(torch.cat([y, z], 1), t)
            y = noisy * (0.25 / (sigma ** 2 + 0.25)) + self.last(y, self.gain).float() * (sigma * 0.5 / torch.sqrt(sigma ** 2 + 0.25))
            sure = self.sure(wave).view(-1, 1, 1, 1).float()
            weight = (sigma ** 2 + 0.25) / (sigma * 0.5) ** 2
            return Result((weight / sure.exp() * (y - x) ** 2 + sure).mean())
    return Net(), lambda b: torch.zeros(b, 3, 64, 64), "own"


def straight_paths():
    """Coded pictures along straight paths: a transformer with turned places in two directions, scaled by time and kind."""
    class Block(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.n1, self.n2 = heads, nn.LayerNorm(c, elementwise_affine=False), nn.LayerNorm(c, elementwise_affine=False)
            self.qkv, self.o, self.nq, self.nk = nn.Linear(c, 3 * c, bias=False), nn.Linear(c, c), RMSNorm(c // heads), RMSNorm(c // heads)
            inner = 8 * c // 3 // 64 * 64
            self.up, self.down, self.scale = nn.Linear(c, 2 * inner), nn.Linear(inner, c), nn.Linear(c, 6 * c)

        def forward(self, x, t, turn):
            a1, b1, g1, a2, b2, g2 = self.scale(F.silu(t)).unsqueeze(1).chunk(6, -1)
            y = self.n1(x) * (1 + a1) + b1
            q, k, v = (heads_first(z, self.heads) for z in self.qkv(y).chunk(3, -1))
            q, k = (torch.view_as_real(torch.view_as_complex(z.float().unflatten(-1, (-1, 2)).contiguous()) * turn).flatten(-2).to(v.dtype)
                    for z in (self.nq(q), self.nk(k)))
            x = x + g1 * self.o(heads_joined(F.scaled_dot_product_attention(q, k, v)))
            u, w = self.up(self.n2(x) * (1 + a2) + b2).chunk(2, -1)
            return x + g2 * self.down(F.silu(u) * w)

    class Net(nn.Module):
        def __init__(self, c=384, heads=6, depth=8, side=16):
            super().__init__()
            self.c, self.cut = c, nn.Conv2d(4, c, 2, 2)
            self.time, self.kind = nn.Sequential(nn.Linear(256, c), nn.SiLU(), nn.Linear(c, c)), nn.Embedding(101, c)
            self.blocks = nn.ModuleList(Block(c, heads) for _ in range(depth))
            self.norm, self.out = nn.LayerNorm(c, elementwise_affine=False), nn.Linear(c, 16)
            rate = 1e4 ** (-torch.arange(c // heads // 4) / (c // heads // 4))
            y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
            angle = torch.cat([y.flatten().unsqueeze(1) * rate, x.flatten().unsqueeze(1) * rate], -1)
            self.register_buffer("angle", angle)

        def forward(self, x, kind):
            noise, t = torch.randn_like(x), torch.sigmoid(torch.randn(x.shape[0], device=x.device))
            y = torch.lerp(x, noise, t.view(-1, 1, 1, 1))
            wave = 1000 * t.unsqueeze(1) * torch.exp(torch.arange(128, device=x.device) * (-math.log(1e4) / 128))
            drop = torch.rand(x.shape[0], device=x.device) < 0.1
            c = self.time(torch.cat([wave.cos(), wave.sin()], -1)) + self.kind(torch.where(drop, torch.full_like(kind[:, 0], 100), kind[:, 0]))
            y, turn = self.cut(y).flatten(2).transpose(1, 2), torch.polar(torch.ones_like(self.angle), self.angle)
            for f in self.blocks:
                y = f(y, c, turn)
            b, h = x.shape[0], x.shape[-1] // 2
            y = F.pixel_shuffle(self.out(self.norm(y)).transpose(1, 2).unflatten(2, (h, h)), 2)
            return Result(F.mse_loss(y.float(), noise - x))
    return Net(), lambda b: (torch.zeros(b, 4, 32, 32), torch.zeros(b, 1, dtype=torch.int64)), "own"


def jet_splines():
    """Chances of jets: couplings whose halves go through monotone splines with eight knots, and linear mixes by triangles."""
    class Layer(nn.Module):
        def __init__(self, d, hidden, knots=8):
            super().__init__()
            self.knots, self.half = knots, d // 2
            self.f = nn.Sequential(nn.Linear(d // 2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.BatchNorm1d(hidden), nn.ReLU(),
                                   nn.Linear(hidden, (d - d // 2) * (3 * knots - 1)))
            self.low, self.high, self.size = nn.Parameter(torch.zeros(d, d)), nn.Parameter(torch.zeros(d, d)), nn.Parameter(torch.zeros(d))

        def spline(self, x, raw, edge=4.0):
            w, h, d = raw.split([self.knots, self.knots, self.knots - 1], -1)
            w, h = (1e-3 + (1 - 1e-3 * self.knots) * F.softmax(t, -1) for t in (w, h))
            x_at, y_at = (F.pad(2 * edge * t.cumsum(-1) - edge, (1, 0), value=-edge) for t in (w, h))
            slope = F.pad(1e-3 + F.softplus(d), (1, 1), value=1.0)
            inside = x.abs() < edge
            clamped = x.clamp(-edge + 1e-4, edge - 1e-4)
            k = (torch.searchsorted(x_at.contiguous(), clamped.unsqueeze(-1)) - 1).clamp(0, self.knots - 1)
            x0, x1, y0, y1, s0, s1 = (t.gather(-1, k + n).squeeze(-1) for t in (x_at, y_at, slope) for n in (0, 1))
            wide, s = x1 - x0, (y1 - y0) / (x1 - x0)
            z = (clamped - x0) / wide
            under = s + (s0 + s1 - 2 * s) * z * (1 - z)
            y = y0 + (y1 - y0) * (s * z ** 2 + s0 * z * (1 - z)) / under
            logs = 2 * s.log() + torch.log(s1 * z ** 2 + 2 * s * z * (1 - z) + s0 * (1 - z) ** 2) - 2 * under.log()
            return torch.where(inside, y, x), torch.where(inside, logs, torch.zeros_like(logs))

        def forward(self, x):
            eye = torch.eye(x.shape[1], device=x.device)
            x = x @ (self.low.tril(-1) + eye).t() @ (self.high.triu(1) + torch.diag(self.size.exp())).t()
            a, b = x[:, :self.half], x[:, self.half:]
            y, logs = self.spline(b, self.f(a).unflatten(1, (b.shape[1], -1)))
            return torch.cat([y, a], 1), logs.sum(1) + self.size.sum()

    class Net(nn.Module):
        def __init__(self, d=48, depth=8):
            super().__init__()
            self.layers = nn.ModuleList(Layer(d, 256) for _ in range(depth))

        def forward(self, x):
            total = 0
            for f in self.layers:
                x, logs = f(x)
                total = total + logs
            return Result((0.5 * (x ** 2 + math.log(2 * math.pi)).sum(1) - total).mean())
    return Net(), lambda b: torch.zeros(b, 48), "own"


def hinged_animals():
    """Animals of 64 pixels: spectral norms everywhere, batch norms scaled by the kind, attention, and a hinge for both."""
    norm = nn.utils.parametrizations.spectral_norm

    class Scaled(nn.Module):
        def __init__(self, c, t):
            super().__init__()
            self.norm, self.gain, self.bias = nn.BatchNorm2d(c, affine=False), norm(nn.Linear(t, c, bias=False)), norm(nn.Linear(t, c, bias=False))

        def forward(self, x, t):
            return self.norm(x) * (1 + self.gain(t))[:, :, None, None] + self.bias(t)[:, :, None, None]

    class Attend(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.q, self.k, self.v, self.o = (norm(nn.Conv2d(a, b, 1, bias=False)) for a, b in ((c, c // 8), (c, c // 8), (c, c // 2), (c // 2, c)))
            self.scale = nn.Parameter(torch.zeros([]))

        def forward(self, x):
            h, w = x.shape[-2:]
            q, k, v = self.q(x).flatten(2), F.max_pool2d(self.k(x), 2).flatten(2), F.max_pool2d(self.v(x), 2).flatten(2)
            weight = torch.bmm(q.transpose(1, 2), k).softmax(-1)
            return x + self.scale * self.o(torch.bmm(v, weight.transpose(1, 2)).unflatten(2, (h, w)))

    class Up(nn.Module):
        def __init__(self, a, b, t):
            super().__init__()
            self.n1, self.n2 = Scaled(a, t), Scaled(b, t)
            self.a, self.b, self.skip = norm(nn.Conv2d(a, b, 3, 1, 1)), norm(nn.Conv2d(b, b, 3, 1, 1)), norm(nn.Conv2d(a, b, 1))

        def forward(self, x, t):
            y = self.a(F.interpolate(F.relu(self.n1(x, t)), scale_factor=2))
            return self.b(F.relu(self.n2(y, t))) + self.skip(F.interpolate(x, scale_factor=2))

    class Down(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.a, self.b, self.skip = norm(nn.Conv2d(a, b, 3, 1, 1)), norm(nn.Conv2d(b, b, 3, 1, 1)), norm(nn.Conv2d(a, b, 1))

        def forward(self, x):
            return F.avg_pool2d(self.b(F.relu(self.a(F.relu(x)))), 2) + F.avg_pool2d(self.skip(x), 2)

    class Net(nn.Module):
        def __init__(self, c=48, kinds=80):
            super().__init__()
            t = 128 + 20
            self.kind, self.first = nn.Embedding(kinds, 128), norm(nn.Linear(20, 16 * 8 * c))
            self.up = nn.ModuleList([Up(8 * c, 8 * c, t), Up(8 * c, 4 * c, t), Up(4 * c, 2 * c, t), Up(2 * c, c, t)])
            self.look = Attend(2 * c)
            self.last = nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(), norm(nn.Conv2d(c, 3, 3, 1, 1)), nn.Tanh())
            self.critic = nn.Sequential(Down(3, c), Attend(c), Down(c, 2 * c), Down(2 * c, 4 * c), Down(4 * c, 8 * c))
            self.score, self.match = norm(nn.Linear(8 * c, 1)), norm(nn.Embedding(kinds, 8 * c))

        def judged(self, x, kind):
            y = F.relu(self.critic(x)).sum((2, 3))
            return self.score(y).squeeze(1) + (self.match(kind) * y).sum(1)

        def forward(self, x, kind):
            z = torch.randn(x.shape[0], 5, 20, device=x.device)
            kind = kind[:, 0]
            k, y = self.kind(kind), self.first(z[:, 0]).view(x.shape[0], -1, 4, 4)
            for n, f in enumerate(self.up):
                y = f(y, torch.cat([k, z[:, n + 1]], 1))
                y = self.look(y) if n == 2 else y
            y = self.last(y)
            both = self.judged(torch.cat([x, y.detach()]), torch.cat([kind, kind]))
            good, bad = both.chunk(2)
            return Result(F.relu(1 - good).mean() + F.relu(1 + bad).mean() - self.judged(y, kind).mean())
    return Net(), lambda b: (torch.zeros(b, 3, 64, 64), torch.zeros(b, 1, dtype=torch.int64)), "own"


def coded_textures():
    """Fabric as a grid of codes: group norms and SiLU, 4096 codes by cosine, a frozen judge of features, a critic of patches."""
    class Res(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.f = nn.Sequential(nn.GroupNorm(32, a, 1e-6), nn.SiLU(), nn.Conv2d(a, b, 3, 1, 1), nn.GroupNorm(32, b, 1e-6), nn.SiLU(), nn.Conv2d(b, b, 3, 1, 1))
            self.skip = nn.Identity() if a == b else nn.Conv2d(a, b, 1)

        def forward(self, x):
            return self.skip(x) + self.f(x)

    class Shrink(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.f = nn.Conv2d(c, c, 3, 2)

        def forward(self, x):
            return self.f(F.pad(x, (0, 1, 0, 1)))

    class Net(nn.Module):
        def __init__(self, c=64, codes=4096, width=16):
            super().__init__()
            self.down = nn.Sequential(nn.Conv2d(3, c, 3, 1, 1), Res(c, c), Shrink(c), Res(c, 2 * c), Shrink(2 * c), Res(2 * c, 4 * c), Shrink(4 * c), Res(4 * c, 4 * c), nn.Conv2d(4 * c, width, 1))
            def grow(n):
                return nn.Sequential(nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(n, n, 3, 1, 1))
            self.up = nn.Sequential(nn.Conv2d(width, 4 * c, 1), Res(4 * c, 4 * c), grow(4 * c), Res(4 * c, 2 * c), grow(2 * c), Res(2 * c, c), grow(c), Res(c, c), nn.GroupNorm(32, c), nn.SiLU(), nn.Conv2d(c, 3, 3, 1, 1))
            self.codes = nn.Embedding(codes, width)
            layers, a = [], 3
            for b in (64, 64, "M", 128, 128, "M", 256, 256):
                layers += [nn.MaxPool2d(2)] if b == "M" else [nn.Conv2d(a, b, 3, 1, 1), nn.ReLU()]
                a = a if b == "M" else b
            self.judge = nn.Sequential(*layers).requires_grad_(False)
            self.critic = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1, bias=False), nn.BatchNorm2d(128), nn.LeakyReLU(0.2),
                                        nn.Conv2d(128, 256, 4, 1, 1, bias=False), nn.BatchNorm2d(256), nn.LeakyReLU(0.2), nn.Conv2d(256, 1, 4, 1, 1))

        def forward(self, x):
            z = self.down(x)
            flat, table = F.normalize(z.permute(0, 2, 3, 1).flatten(0, 2).float(), dim=-1), F.normalize(self.codes.weight, dim=-1)
            near = torch.einsum("nc,kc->nk", flat, table)
            code = F.normalize(self.codes(near.argmax(-1)), dim=-1)
            loss = F.mse_loss(code, flat.detach()) + 0.25 * F.mse_loss(flat, code.detach())
            p = (near * 100).softmax(-1)
            loss = loss - 0.1 * (-(p.mean(0) * (p.mean(0) + 1e-5).log()).sum() + (p * (p + 1e-5).log()).sum(-1).mean())
            q = (flat + (code - flat).detach()).view(z.shape[0], z.shape[2], z.shape[3], -1).permute(0, 3, 1, 2)
            y = self.up(q)
            a, b = y, x
            for f in self.judge:
                a, b = f(a), f(b)
                if isinstance(f, nn.MaxPool2d):
                    loss = loss + (F.normalize(a, dim=1) - F.normalize(b, dim=1)).square().sum(1).mean()
            loss = loss + F.l1_loss(y, x) + (a - b).abs().mean() - 0.1 * self.critic(y).mean()
            return Result(loss + F.relu(1 - self.critic(x)).mean() + F.relu(1 + self.critic(y.detach())).mean())
    return Net(), lambda b: torch.zeros(b, 3, 128, 128), "own"


def seen_before():
    """Pixels from those before them: two streams of shifted, gated filters with weight norms, and mixtures of logistics."""
    norm = nn.utils.parametrizations.weight_norm

    class Shifted(nn.Module):
        def __init__(self, a, b, k, right=False):
            super().__init__()
            self.pad = (k[1] - 1, 0, k[0] - 1, 0) if right else (k[1] // 2, k[1] // 2, k[0] - 1, 0)
            self.f = norm(nn.Conv2d(a, b, k))

        def forward(self, x):
            return self.f(F.pad(x, self.pad))

    class Gate(nn.Module):
        def __init__(self, c, k, right, other):
            super().__init__()
            self.a, self.b, self.drop = Shifted(2 * c, c, k, right), Shifted(2 * c, 2 * c, k, right), nn.Dropout2d(0.5)
            self.other = norm(nn.Conv2d(2 * c, c, 1)) if other else None

        def forward(self, x, other=None):
            y = self.a(F.elu(torch.cat([x, -x], 1)))
            y = y + self.other(F.elu(torch.cat([other, -other], 1))) if other is not None else y
            y, g = self.b(self.drop(F.elu(torch.cat([y, -y], 1)))).chunk(2, 1)
            return x + y * torch.sigmoid(g)

    class Net(nn.Module):
        def __init__(self, c=80, depth=5, mixtures=10):
            super().__init__()
            self.mixtures = mixtures
            self.first, self.left = Shifted(4, c, (2, 3)), Shifted(4, c, (2, 1), True)
            self.tall = nn.ModuleList(Gate(c, (2, 3), False, False) for _ in range(depth))
            self.wide = nn.ModuleList(Gate(c, (2, 2), True, True) for _ in range(depth))
            self.out = norm(nn.Conv2d(c, 10 * mixtures, 1))

        def forward(self, x):
            real, x = torch.tanh(x), torch.cat([torch.tanh(x), torch.ones_like(x[:, :1])], 1)
            u = F.pad(self.first(x), (0, 0, 1, 0))[:, :, :-1]
            v = u + F.pad(self.left(x), (1, 0))[..., :-1]
            for f, g in zip(self.tall, self.wide):
                u = f(u)
                v = g(v, u)
            y = self.out(F.elu(v))
            b, _, h, w = y.shape
            share, rest = y[:, :self.mixtures], y[:, self.mixtures:].view(b, 3, 3, self.mixtures, h, w)
            mean, scale, link = rest[:, 0], rest[:, 1].clamp(min=-7), torch.tanh(rest[:, 2])
            real = real.unsqueeze(2)
            mean = torch.stack([mean[:, 0], mean[:, 1] + link[:, 0] * real[:, 0], mean[:, 2] + link[:, 1] * real[:, 0] + link[:, 2] * real[:, 1]], 1)
            away, sharp = real - mean, torch.exp(-scale)
            high, low = sharp * (away + 1 / 255), sharp * (away - 1 / 255)
            inside = torch.sigmoid(high) - torch.sigmoid(low)
            middle = sharp * away
            logs = torch.where(real < -0.999, high - F.softplus(high), torch.where(real > 0.999, -F.softplus(low), torch.where(
                inside > 1e-5, inside.clamp(min=1e-12).log(), middle - scale - 2 * F.softplus(middle) - math.log(127.5))))
            return Result(-torch.logsumexp(logs.sum(1) + share.log_softmax(1), 1).mean())
    return Net(), lambda b: torch.zeros(b, 3, 32, 32), "own"


def ladder_codes():
    """Galaxies with layers of codes: depthwise filters and squeezes down and up, each level draws what the picture adds."""
    class Cell(nn.Module):
        def __init__(self, c, wide):
            super().__init__()
            m = wide * c
            self.f = nn.Sequential(nn.BatchNorm2d(c), nn.Conv2d(c, m, 1, bias=False), nn.BatchNorm2d(m), nn.SiLU(), nn.Conv2d(m, m, 5, 1, 2, groups=m, bias=False),
                                   nn.BatchNorm2d(m), nn.SiLU(), nn.Conv2d(m, c, 1, bias=False), nn.BatchNorm2d(c))
            self.squeeze = nn.Sequential(nn.Linear(c, max(4, c // 16)), nn.ReLU(), nn.Linear(max(4, c // 16), c), nn.Sigmoid())

        def forward(self, x):
            y = self.f(x)
            return x + 0.1 * y * self.squeeze(y.mean((2, 3))).unsqueeze(-1).unsqueeze(-1)

    class Net(nn.Module):
        def __init__(self, c=48, codes=16):
            super().__init__()
            widths = (c, 2 * c, 4 * c)
            self.first, self.begin = nn.Conv2d(3, c, 3, 1, 1), nn.Parameter(torch.randn(1, 4 * c, 8, 8))
            self.down = nn.ModuleList(nn.ModuleList([Cell(w, 3), Cell(w, 3)]) for w in widths)
            self.shrink = nn.ModuleList(nn.Conv2d(a, b, 2, 2) for a, b in zip((c, *widths), widths))
            self.up = nn.ModuleList(nn.ModuleList([Cell(w, 6), Cell(w, 6)]) for w in widths[::-1])
            self.prior = nn.ModuleList(nn.Conv2d(w, 2 * codes, 1) for w in widths[::-1])
            self.after = nn.ModuleList(nn.Conv2d(2 * w, 2 * codes, 3, 1, 1) for w in widths[::-1])
            self.join = nn.ModuleList(nn.Conv2d(w + codes, w, 1) for w in widths[::-1])
            self.grow = nn.ModuleList(nn.ConvTranspose2d(w, max(w // 2, c), 3, 2, 1, 1) for w in widths[::-1])
            self.last = nn.Sequential(nn.ELU(), nn.Conv2d(c, 3, 3, 1, 1))

        def forward(self, x):
            y, kept, apart = self.first(x), [], 0
            for shrink, cells in zip(self.shrink, self.down):
                y = shrink(y)
                for f in cells:
                    y = f(y)
                kept.append(y)
            y = self.begin.expand(x.shape[0], -1, -1, -1)
            for cells, prior, after, join, grow in zip(self.up, self.prior, self.after, self.join, self.grow):
                m, s = prior(y).float().chunk(2, 1)
                dm, ds = after(torch.cat([y, kept.pop()], 1)).float().chunk(2, 1)
                s, ds = 5 * torch.tanh(s / 5), 5 * torch.tanh(ds / 5)
                z = m + dm + torch.randn_like(m) * torch.exp(s + ds)
                apart = apart + 0.5 * (dm ** 2 / torch.exp(2 * s) + torch.exp(2 * ds) - 2 * ds - 1).sum((1, 2, 3))
                y = join(torch.cat([y, z], 1))
                for f in cells:
                    y = f(y)
                y = grow(y)
            loss = 5 * F.mse_loss(self.last(y).float(), x)
            return Result(loss + (apart / x[0].numel()).mean())
    return Net(), lambda b: torch.zeros(b, 3, 64, 64), "own"


def drawn_films():
    """Short films from noise: filters on frames, attention over pixels of a frame and over frames of a pixel, and a text."""
    class Res(nn.Module):
        def __init__(self, a, b, t):
            super().__init__()
            self.n1, self.c1, self.n2, self.c2 = nn.GroupNorm(8, a), nn.Conv3d(a, b, (1, 3, 3), padding=(0, 1, 1)), nn.GroupNorm(8, b), nn.Conv3d(b, b, (1, 3, 3), padding=(0, 1, 1))
            self.t, self.skip, self.along = nn.Linear(t, 2 * b), nn.Conv3d(a, b, 1), nn.Conv3d(b, b, (3, 1, 1), padding=(1, 0, 0))

        def forward(self, x, t):
            gain, bias = self.t(F.silu(t))[:, :, None, None, None].chunk(2, 1)
            y = self.n2(self.c1(F.silu(self.n1(x)))) * (1 + gain) + bias
            y = self.c2(F.silu(y)) + self.skip(x)
            return y + self.along(y)

    class Look(nn.Module):
        def __init__(self, c, heads, over):
            super().__init__()
            self.over, self.heads, self.norm, self.qkv, self.o = over, heads, nn.LayerNorm(c), nn.Linear(c, 3 * c, bias=False), nn.Linear(c, c)
            self.bias = nn.Parameter(torch.zeros(heads, 8, 8)) if over == "time" else None

        def forward(self, x):
            b, c, f, h, w = x.shape
            y = x.permute(0, 3, 4, 2, 1).reshape(-1, f, c) if self.over == "time" else x.permute(0, 2, 3, 4, 1).reshape(-1, h * w, c)
            q, k, v = (heads_first(z, self.heads) for z in self.qkv(self.norm(y)).chunk(3, -1))
            bias = self.bias.to(q.dtype).unsqueeze(0) if self.bias is not None else None
            y = self.o(heads_joined(F.scaled_dot_product_attention(q, k, v, attn_mask=bias)))
            y = y.view(b, h, w, f, c).permute(0, 4, 3, 1, 2) if self.over == "time" else y.view(b, f, h, w, c).permute(0, 4, 1, 2, 3)
            return x + y

    class Net(nn.Module):
        def __init__(self, c=64, t=256):
            super().__init__()
            self.time, self.text, self.first = nn.Sequential(nn.Linear(64, t), nn.GELU(), nn.Linear(t, t)), nn.Linear(512, t), nn.Conv3d(3, c, (1, 7, 7), padding=(0, 3, 3))
            self.down = nn.ModuleList([Res(c, c, t), Res(c, 2 * c, t), Res(2 * c, 4 * c, t)])
            self.when = nn.ModuleList(Look(n, 4, "time") for n in (c, 2 * c, 4 * c))
            self.where = nn.ModuleList([Look(2 * c, 4, "space"), Look(4 * c, 8, "space")])
            self.shrink = nn.ModuleList(nn.Conv3d(n, n, (1, 4, 4), (1, 2, 2), (0, 1, 1)) for n in (c, 2 * c))
            self.grow = nn.ModuleList(nn.ConvTranspose3d(n, n // 2, (1, 4, 4), (1, 2, 2), (0, 1, 1)) for n in (4 * c, 2 * c))
            self.up = nn.ModuleList([Res(4 * c, 2 * c, t), Res(2 * c, c, t)])
            self.last = nn.Sequential(nn.GroupNorm(8, c), nn.SiLU(), nn.Conv3d(c, 3, 1))

        def forward(self, x, text):
            level, noise = torch.rand(x.shape[0], device=x.device), torch.randn_like(x)
            a = torch.cos(level * math.pi / 2).view(-1, 1, 1, 1, 1)
            wave = 1000 * level.unsqueeze(1) * torch.exp(torch.arange(32, device=x.device) * (-math.log(1e4) / 32))
            t = self.time(torch.cat([wave.sin(), wave.cos()], -1)) + self.text(text)
            y, kept = self.first(a * x + torch.sqrt(1 - a * a) * noise), []
            for n, f in enumerate(self.down):
                y = self.when[n](f(y, t))
                y = self.where[n - 1](y) if n else y
                kept.append(y)
                y = self.shrink[n](y) if n < 2 else y
            kept.pop()
            for grow, f in zip(self.grow, self.up):
                y = f(torch.cat([grow(y), kept.pop()], 1), t)
            return Result(F.mse_loss(self.last(y).float(), a * noise - torch.sqrt(1 - a * a) * x))
    return Net(), lambda b: (torch.zeros(b, 3, 8, 64, 64), torch.zeros(b, 512)), "own"


NETWORKS = {f.__name__: f for f in (kept_magnitudes, straight_paths, jet_splines, hinged_animals, coded_textures, seen_before,
                                    ladder_codes, drawn_films)}
STEPS = {"kept_magnitudes": ("amp-fp16", 16, "nhwc", "adam"), "straight_paths": ("amp-bf16", 32, "nchw", "adamw"),
         "jet_splines": ("fp32", 2048, "nchw", "adam"), "hinged_animals": ("tf32", 32, "nchw", "adam"),
         "coded_textures": ("amp-bf16", 8, "nchw", "adam"), "seen_before": ("tf32", 16, "nchw", "adam"),
         "ladder_codes": ("amp-fp16", 24, "nhwc", "adamw"), "drawn_films": ("amp-bf16", 4, "nchw", "adam")}
