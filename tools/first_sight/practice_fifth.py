# SPDX-License-Identifier: Apache-2.0
"""practice_fifth.py - networks for practice, the fifth set: pictures, scans and frames. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations

from blocks import Result


def chest_findings():
    """Fourteen findings in X-rays of the chest: dense blocks, pooling by a power mean, and a focal loss."""
    class Layer(nn.Module):
        def __init__(self, c, growth):
            super().__init__()
            self.f = nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(inplace=True), nn.Conv2d(c, 4 * growth, 1, bias=False),
                                   nn.BatchNorm2d(4 * growth), nn.ReLU(inplace=True),
                                   nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False), nn.Dropout2d(0.05))

        def forward(self, x):
            return torch.cat([x, self.f(x)], 1)

    class Net(nn.Module):
        def __init__(self, growth=24, depths=(4, 8, 14, 10), findings=14):
            super().__init__()
            c, parts = 48, [nn.Conv2d(1, 48, 7, 2, 3, bias=False), nn.BatchNorm2d(48), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
            for n, depth in enumerate(depths):
                for _ in range(depth):
                    parts.append(Layer(c, growth))
                    c += growth
                if n < 3:
                    parts += [nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, c // 2, 1, bias=False), nn.AvgPool2d(2)]
                    c //= 2
            self.body, self.norm = nn.Sequential(*parts), nn.BatchNorm2d(c)
            self.power, self.out = nn.Parameter(torch.full((1,), 3.0)), nn.Linear(c + 2, findings)
            self.register_buffer("often", torch.linspace(0.5, 4, findings))

        def forward(self, scan, person, truth):
            x = F.relu(self.norm(self.body(scan)))
            x = x.float().clamp(min=1e-6).pow(self.power).mean((2, 3)).pow(1 / self.power)
            score, truth = self.out(torch.cat([x, person], 1)).float(), (truth > 1).float()
            each = F.binary_cross_entropy_with_logits(score, truth, pos_weight=self.often, reduction="none")
            return Result(((1 - torch.exp(-each)) ** 2 * each).mean())
    return Net(), lambda b: (torch.zeros(b, 1, 320, 320), torch.zeros(b, 2), torch.zeros(b, 14)), "own"


def hyperspectral_crops():
    """Crops in patches with 200 bands: filters over bands and space, then over space, and dense layers."""
    class Net(nn.Module):
        def __init__(self, bands=200, kinds=17):
            super().__init__()
            self.cube = nn.Sequential(nn.Conv3d(1, 8, (11, 3, 3), (3, 1, 1)), nn.ReLU(), nn.LocalResponseNorm(5),
                                      nn.Conv3d(8, 16, (7, 3, 3), (2, 1, 1)), nn.ReLU(),
                                      nn.Conv3d(16, 32, (5, 3, 3), (2, 1, 1)), nn.ReLU())
            self.flat = nn.Sequential(nn.Conv2d(32 * 13, 96, 3), nn.BatchNorm2d(96), nn.Hardswish(), nn.AdaptiveMaxPool2d(5))
            self.out = nn.Sequential(nn.Flatten(), nn.Linear(96 * 25, 256), nn.ReLU(), nn.Dropout(0.4),
                                     nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.4), nn.Linear(128, kinds))

        def forward(self, patch, labels):
            x = self.cube(patch.unsqueeze(1))
            return Result(F.cross_entropy(self.out(self.flat(x.flatten(1, 2))), labels, label_smoothing=0.1))
    return Net(), lambda b: {"patch": torch.zeros(b, 200, 25, 25), "labels": torch.zeros(b, dtype=torch.int64)}, "own"


def street_unpooling():
    """Streets in twelve classes: pooling keeps the places of the maxima, which a mirrored decoder uses."""
    def run(*widths):
        parts = []
        for a, b in zip(widths, widths[1:]):
            parts += [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b, momentum=0.05), nn.ReLU(inplace=True)]
        return nn.Sequential(*parts)

    class Net(nn.Module):
        def __init__(self, kinds=12):
            super().__init__()
            self.down = nn.ModuleList([run(3, 64, 64), run(64, 128, 128), run(128, 256, 256, 256), run(256, 512, 512, 512)])
            self.up = nn.ModuleList([run(512, 512, 512, 256), run(256, 256, 256, 128), run(128, 128, 64), run(64, 64)])
            self.out = nn.Conv2d(64, kinds, 3, padding=1)
            self.register_buffer("weight", torch.linspace(0.3, 5, kinds))

        def forward(self, x, labels):
            kept = []
            for f in self.down:
                x = f(x)
                size = x.shape
                x, index = F.max_pool2d(x, 2, 2, return_indices=True)
                kept.append((index, size))
            for f in self.up:
                index, size = kept.pop()
                x = f(F.max_unpool2d(x, index, 2, 2, output_size=size[2:]))
            return Result(F.nll_loss(F.log_softmax(self.out(x), 1), labels, self.weight))
    return Net(), lambda b: {"x": torch.zeros(b, 3, 360, 480), "labels": torch.zeros(b, 360, 480, dtype=torch.int64)}, "own"


def styled_portraits():
    """Portraits of 128 pixels: a generator with modulated filters, and a critic with a penalty of its gradient."""
    class Even(nn.Module):
        def __init__(self, a, b, bias=0.0):
            super().__init__()
            self.w, self.b = nn.Parameter(torch.randn(b, a)), nn.Parameter(torch.full((b,), bias))

        def forward(self, x):
            return F.linear(x, self.w * self.w.shape[1] ** -0.5, self.b)

    class Styled(nn.Module):
        def __init__(self, a, b, k=3, style=512, demodulate=True, up=False):
            super().__init__()
            self.w, self.style = nn.Parameter(torch.randn(b, a, k, k)), Even(style, a, 1.0)
            self.k, self.demodulate, self.up = k, demodulate, up
            self.bias, self.strength = nn.Parameter(torch.zeros(b)), nn.Parameter(torch.zeros(1))

        def forward(self, x, s):
            b, c, h, w = x.shape
            weight = self.w * (c * self.k ** 2) ** -0.5 * self.style(s).view(b, 1, c, 1, 1)
            if self.demodulate:
                weight = weight * torch.rsqrt(weight.pow(2).sum((2, 3, 4), keepdim=True) + 1e-8)
            if self.up:
                x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            x = F.conv2d(x.reshape(1, -1, *x.shape[2:]), weight.flatten(0, 1), padding=self.k // 2, groups=b)
            x = x.view(b, -1, *x.shape[2:])
            if not self.demodulate:
                return x + self.bias.view(-1, 1, 1)
            x = x + self.strength * torch.randn(b, 1, *x.shape[2:], device=x.device)
            return F.leaky_relu(x + self.bias.view(-1, 1, 1), 0.2) * math.sqrt(2)

    class Net(nn.Module):
        def __init__(self, widths=(384, 384, 256, 192, 96, 48)):
            super().__init__()
            self.map = nn.ModuleList(Even(512, 512) for _ in range(6))
            self.start = nn.Parameter(torch.randn(1, widths[0], 4, 4))
            self.a = nn.ModuleList(Styled(i, o, up=True) for i, o in zip(widths, widths[1:]))
            self.b = nn.ModuleList(Styled(o, o) for o in widths[1:])
            self.rgb = nn.ModuleList(Styled(o, 3, 1, demodulate=False) for o in widths[1:])
            back = widths[::-1]
            self.enter = nn.Conv2d(3, back[0], 1)
            self.d1 = nn.ModuleList(nn.Conv2d(i, i, 3, padding=1) for i in back[:-1])
            self.d2 = nn.ModuleList(nn.Conv2d(i, o, 3, padding=1) for i, o in zip(back, back[1:]))
            self.skip = nn.ModuleList(nn.Conv2d(i, o, 1, bias=False) for i, o in zip(back, back[1:]))
            self.last = nn.Conv2d(back[-1] + 1, 384, 3, padding=1)
            self.out = nn.Sequential(nn.Linear(384 * 16, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1))

        def made(self, z):
            s = z * torch.rsqrt(z.pow(2).mean(1, keepdim=True) + 1e-8)
            for f in self.map:
                s = F.leaky_relu(f(s), 0.2)
            x, picture = self.start.expand(len(z), -1, -1, -1), None
            for f, g, rgb in zip(self.a, self.b, self.rgb):
                x = g(f(x, s), s)
                new = rgb(x, s)
                picture = new if picture is None else new + F.interpolate(picture, scale_factor=2, mode="bilinear",
                                                                          align_corners=False)
            return picture

        def judged(self, x):
            x = F.leaky_relu(self.enter(x), 0.2)
            for f, g, skip in zip(self.d1, self.d2, self.skip):
                y = F.avg_pool2d(F.leaky_relu(g(F.leaky_relu(f(x), 0.2)), 0.2), 2)
                x = (y + skip(F.avg_pool2d(x, 2))) / math.sqrt(2)
            spread = (x.var(0, unbiased=False) + 1e-8).sqrt().mean().expand(len(x), 1, 4, 4)
            return self.out(F.leaky_relu(self.last(torch.cat([x, spread], 1)), 0.2).flatten(1))

        def forward(self, real, z):
            fake = self.made(z)
            real = real.requires_grad_(True)
            good = self.judged(real)
            slope, = torch.autograd.grad(good.sum(), real, create_graph=True)
            critic = F.softplus(-good).mean() + F.softplus(self.judged(fake.detach())).mean()
            penalty = 5 * slope.pow(2).sum((1, 2, 3)).mean()
            return Result(critic + penalty + F.softplus(-self.judged(fake)).mean())
    return Net(), lambda b: (torch.zeros(b, 3, 128, 128), torch.zeros(b, 512)), "own"


def lensless_camera():
    """Pictures without a lens: rounds of a split optimisation in Fourier space, and a small network at the end."""
    def conv(a, b, stride=1):
        return nn.Sequential(nn.Conv2d(a, b, 3, stride, 1), nn.GroupNorm(8, b), nn.PReLU(b))

    class Net(nn.Module):
        def __init__(self, h=270, w=480, rounds=6):
            super().__init__()
            self.h, self.w, self.rounds = h, w, rounds
            self.spread = nn.Parameter(torch.rand(1, 3, h, w) / (h * w))
            self.rate = nn.Parameter(torch.full((rounds, 4), 0.1))
            self.a, self.b, self.c = conv(3, 24), conv(24, 48, 2), conv(48, 96, 2)
            self.up1, self.up2 = nn.ConvTranspose2d(96, 48, 3, 2, 1, output_padding=(0, 1)), nn.ConvTranspose2d(48, 24, 2, 2)
            self.d1, self.d2, self.out = conv(96, 48), conv(48, 24), nn.Conv2d(24, 3, 1)

        def forward(self, seen, truth):
            h, w = self.h, self.w
            seen = F.pad(seen, (w // 2, w // 2, h // 2, h // 2)).float()
            lens = torch.fft.rfft2(F.pad(self.spread, (w // 2, w // 2, h // 2, h // 2)))
            power = lens.real ** 2 + lens.imag ** 2
            x, dual, sparse = torch.zeros_like(seen), torch.zeros_like(seen), torch.zeros_like(seen)
            for n in range(self.rounds):
                mu, tau, step, low = F.softplus(self.rate[n]).unbind()
                right = torch.fft.rfft2(seen + mu * sparse - dual)
                x = torch.fft.irfft2(torch.conj(lens) * right / (power + mu + 1e-3), s=seen.shape[-2:])
                sparse = F.softshrink(x + dual / (mu + 1e-3), 0.01) * tau + (1 - tau) * torch.relu(x)
                dual = dual + step * (x - sparse) - low * dual
            x = torch.fft.fftshift(x, dim=(-2, -1))[..., h // 2:h // 2 + h, w // 2:w // 2 + w]
            a = self.a(x)
            b = self.b(a)
            y = self.d1(torch.cat([self.up1(self.c(b)), b], 1))
            y = self.out(self.d2(torch.cat([self.up2(y), a], 1))) + x
            edge = (y.diff(dim=-1) - truth.diff(dim=-1)).abs().mean() + (y.diff(dim=-2) - truth.diff(dim=-2)).abs().mean()
            return Result(F.huber_loss(y, truth) + 0.1 * edge)
    return Net(), lambda b: (torch.zeros(b, 3, 270, 480), torch.zeros(b, 3, 270, 480)), "own"


def landmark_signs():
    """Signs from landmarks of hands and face: links that are learned, filters over time, and triplets of clips."""
    class Layer(nn.Module):
        def __init__(self, a, b, points, stride=1):
            super().__init__()
            self.links = nn.Parameter(torch.randn(3, points, points) * 0.02)
            self.mix, self.n1 = nn.Conv2d(a, 3 * b, 1), nn.BatchNorm2d(b)
            self.time, self.n2 = nn.Conv2d(b, b, (9, 1), (stride, 1), (4, 0), groups=4), nn.BatchNorm2d(b)
            self.skip = nn.Conv2d(a, b, 1, (stride, 1))
            self.drop = nn.Dropout(0.1)

        def forward(self, x):
            y = self.mix(x).unflatten(1, (3, -1))
            y = F.elu(self.n1(torch.einsum("bkctv,kvw->bctw", y, self.links)))
            return F.elu(self.drop(self.n2(self.time(y))) + self.skip(x))

    class Net(nn.Module):
        def __init__(self, points=75, signs=250):
            super().__init__()
            widths = [64, 64, 64, 128, 128, 256, 256]
            self.norm, self.points = nn.BatchNorm1d(3 * points), points
            self.body = nn.Sequential(*(Layer(a, b, points, 2 if b > a and a > 3 else 1)
                                        for a, b in zip([3, *widths], widths)))
            self.out, self.sign = nn.Linear(256, 128), nn.Linear(128, signs)

        def coded(self, x):
            b, t = x.shape[:2]
            x = self.norm(x.flatten(2).transpose(1, 2)).view(b, self.points, 3, t).permute(0, 2, 3, 1)
            return F.normalize(self.out(self.body(x).mean((2, 3))), dim=1)

        def forward(self, clip, same, other, labels):
            a, b, c = self.coded(clip), self.coded(same), self.coded(other)
            return Result(F.triplet_margin_loss(a, b, c, 0.3, swap=True) + F.cross_entropy(self.sign(a) * 16, labels))

    def inputs(b):
        clips = {k: torch.zeros(b, 96, 75, 3) for k in ("clip", "same", "other")}
        return {**clips, "labels": torch.zeros(b, dtype=torch.int64)}
    return Net(), inputs, "own"


def player_paths():
    """Where 23 players and a ball go: a transformer over agents and over time, and mixtures of paths."""
    class Net(nn.Module):
        def __init__(self, c=192, modes=6, later=40):
            super().__init__()
            self.modes, self.later = modes, later
            self.enter, self.role = nn.Linear(6, c), nn.Parameter(torch.randn(23, c) * 0.02)
            self.time = nn.Parameter(torch.randn(50, c) * 0.02)
            self.along = nn.ModuleList(nn.TransformerEncoderLayer(c, 6, 4 * c, 0.1, batch_first=True) for _ in range(4))
            self.across = nn.ModuleList(nn.TransformerEncoderLayer(c, 6, 4 * c, 0.1, batch_first=True, norm_first=True)
                                        for _ in range(4))
            self.mode = nn.Parameter(torch.randn(modes, c))
            self.read = nn.MultiheadAttention(c, 6, batch_first=True)
            self.path = nn.Sequential(nn.Linear(c, 256), nn.ReLU(), nn.Linear(256, later * 4))
            self.chance = nn.Linear(c, 1)

        def forward(self, past, future):
            b, n, t = past.shape[:3]
            away = past[..., 5] > 2.2
            x = self.enter(past) + self.role.view(1, n, 1, -1) + self.time
            for f, g in zip(self.along, self.across):
                x = f(x.flatten(0, 1), src_key_padding_mask=away.flatten(0, 1)).view_as(x).transpose(1, 2)
                x = g(x.flatten(0, 1)).view_as(x).transpose(1, 2)
            queries = self.mode.expand(b * n, -1, -1)
            y = self.read(queries, x.flatten(0, 1), x.flatten(0, 1), need_weights=False)[0] + queries
            place, spread = self.path(y).view(b * n, self.modes, self.later, 4).chunk(2, -1)
            paths = torch.distributions.Laplace(place.cumsum(2), F.softplus(spread) + 1e-2, validate_args=False)
            fit = paths.log_prob(future.flatten(0, 1).unsqueeze(1)).sum((2, 3))
            return Result(-torch.logsumexp(fit + self.chance(y).squeeze(-1).log_softmax(1), 1).mean() / self.later)
    return Net(), lambda b: (torch.zeros(b, 23, 50, 6), torch.zeros(b, 23, 40, 2)), "own"


def twelve_leads():
    """Heart disease from twelve leads: a residual network with squeezes, and attention of ages of features."""
    class Layer(nn.Module):
        def __init__(self, a, b, stride):
            super().__init__()
            self.f = nn.Sequential(nn.Conv1d(a, b, 15, stride, 7, bias=False), nn.BatchNorm1d(b), nn.Mish(), nn.Dropout(0.2),
                                   nn.Conv1d(b, b, 15, 1, 7, bias=False), nn.BatchNorm1d(b))
            self.gate = nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Conv1d(b, b // 8, 1), nn.Mish(), nn.Conv1d(b // 8, b, 1),
                                      nn.Hardsigmoid())
            self.skip = nn.Sequential(nn.AvgPool1d(stride, ceil_mode=True) if stride > 1 else nn.Identity(),
                                      nn.Conv1d(a, b, 1, bias=False), nn.BatchNorm1d(b))

        def forward(self, x):
            y = self.f(x)
            return F.mish(y * self.gate(y) + self.skip(x))

    class Net(nn.Module):
        def __init__(self, widths=(64, 64, 128, 128, 196, 196, 256, 256, 320), kinds=27):
            super().__init__()
            self.enter = nn.Sequential(nn.Conv1d(12, 64, 17, 2, 8), nn.BatchNorm1d(64), nn.Mish(), nn.MaxPool1d(3, 2, 1))
            self.body = nn.Sequential(*(Layer(a, b, 2 if n % 2 else 1) for n, (a, b) in enumerate(zip(widths, widths[1:]))))
            self.look = nn.MultiheadAttention(widths[-1], 8, dropout=0.1, batch_first=True)
            self.out = nn.Linear(2 * widths[-1], kinds)

        def forward(self, x, truth):
            x = self.body(self.enter(x)).transpose(1, 2)
            x = x + self.look(x, x, x)[0]
            score = torch.sigmoid(self.out(torch.cat([x.mean(1), x.amax(1)], 1)).float())
            truth = (truth > 1).float()
            wrong = (score - 0.05).clamp(min=0)
            loss = truth * torch.log(score.clamp(min=1e-8)) + (1 - truth) * wrong ** 4 * torch.log((1 - wrong).clamp(min=1e-8))
            return Result(-loss.sum(1).mean())
    return Net(), lambda b: (torch.zeros(b, 12, 5000), torch.zeros(b, 27)), "own"


def field_seasons():
    """Fields in a year of satellite pictures: a U-Net for each date, whose levels share the attention over dates."""
    def conv(a, b):
        return nn.Sequential(nn.Conv2d(a, b, 3, padding=1, padding_mode="reflect"), nn.GroupNorm(4, b), nn.ReLU(),
                             nn.Conv2d(b, b, 3, padding=1, padding_mode="reflect"), nn.GroupNorm(4, b), nn.ReLU())

    class Net(nn.Module):
        def __init__(self, bands=10, kinds=20, heads=16, keys=4):
            super().__init__()
            self.heads, self.keys = heads, keys
            self.c = nn.ModuleList([conv(bands, 64), conv(64, 64), conv(64, 64), conv(64, 128)])
            self.down = nn.ModuleList(nn.Conv2d(64, 64, 4, 2, 1) for _ in range(3))
            self.query, self.key = nn.Parameter(torch.randn(heads, keys)), nn.Linear(128, heads * keys)
            self.mix = nn.Sequential(nn.Linear(128, 128), nn.BatchNorm1d(128), nn.ReLU())
            self.up = nn.ModuleList([nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.ConvTranspose2d(64, 64, 4, 2, 1),
                                     nn.ConvTranspose2d(64, 32, 4, 2, 1)])
            self.d = nn.ModuleList([conv(128, 64), conv(128, 64), conv(96, 32)])
            self.out = nn.Conv2d(32, kinds, 3, padding=1)

        def forward(self, year, day, labels):
            b, t = year.shape[:2]
            x, kept = self.c[0](year.flatten(0, 1)), []
            for n, f in enumerate(self.down):
                kept.append(x)
                x = self.c[n + 1](f(x))
            x = x.unflatten(0, (b, t)).permute(0, 3, 4, 1, 2)
            h, w = x.shape[1:3]
            x = x + torch.sin(day[:, None, None, :, None] * torch.arange(1, 129, device=x.device) / 30)
            key = self.key(x).unflatten(-1, (self.heads, self.keys))
            look = torch.einsum("bhwtnk,nk->bnthw", key, self.query).mul(self.keys ** -0.5).softmax(2)
            y = torch.einsum("bnthw,bhwtnc->bhwnc", look, x.unflatten(-1, (self.heads, -1))).flatten(3)
            y = self.mix(y.reshape(-1, 128)).view(b, h, w, 128).permute(0, 3, 1, 2)
            for f, g, old in zip(self.up, self.d, kept[::-1]):
                weights = F.interpolate(look.flatten(0, 1), size=old.shape[2:], mode="bilinear", align_corners=False)
                weights = F.dropout(weights, 0.1, self.training).view(b, self.heads, t, 1, *old.shape[2:])
                old = old.view(b, t, self.heads, -1, *old.shape[2:]).transpose(1, 2)
                y = g(torch.cat([f(y), (weights * old).sum(2).flatten(1, 2)], 1))
            score = self.out(y)
            chance = score.softmax(1)
            once = F.one_hot(labels, score.shape[1]).permute(0, 3, 1, 2)
            dice = 1 - (2 * (chance * once).sum((2, 3)) + 1) / (chance.sum((2, 3)) + once.sum((2, 3)) + 1)
            return Result(F.cross_entropy(score, labels) + dice.mean())

    def inputs(b):
        return {"year": torch.zeros(b, 12, 10, 128, 128), "day": torch.zeros(b, 12),
                "labels": torch.zeros(b, 128, 128, dtype=torch.int64)}
    return Net(), inputs, "own"


def game_frames():
    """Game frames at twice the size: the last result is warped by motion, and cut where colours do not agree."""
    class Net(nn.Module):
        def __init__(self, c=32):
            super().__init__()
            self.enter = nn.Sequential(nn.Conv2d(7, c, 3, padding=1), nn.PReLU(c), nn.Conv2d(c, c, 3, padding=1), nn.PReLU(c))
            self.mid = nn.Sequential(nn.Conv2d(c + 12, 2 * c, 3, 2, 1), nn.PReLU(2 * c),
                                     *(nn.Sequential(nn.Conv2d(2 * c, 2 * c, 3, padding=1), nn.PReLU(2 * c)) for _ in range(4)),
                                     nn.ConvTranspose2d(2 * c, c, 4, 2, 1), nn.PReLU(c))
            self.out = nn.Sequential(nn.Conv2d(2 * c, c, 3, padding=1), nn.PReLU(c), nn.Conv2d(c, 16, 3, padding=1),
                                     nn.PixelShuffle(2))

        def forward(self, colour, depth, motion, truth):
            b, t, _, h, w = colour.shape
            rows = torch.linspace(-1, 1, 2 * h, device=colour.device)
            columns = torch.linspace(-1, 1, 2 * w, device=colour.device)
            grid = torch.stack(torch.meshgrid(columns, rows, indexing="xy"), -1)
            last, loss = F.interpolate(colour[:, 0], scale_factor=2, mode="bicubic", align_corners=False), 0
            for n in range(t):
                move = F.interpolate(motion[:, n], scale_factor=2, mode="bilinear", align_corners=False)
                old = F.grid_sample(last, (grid + 0.02 * move.permute(0, 2, 3, 1)).to(last.dtype), mode="bilinear",
                                    padding_mode="border", align_corners=True)
                x = self.enter(torch.cat([colour[:, n], depth[:, n], colour[:, n] * depth[:, n]], 1))
                y = self.mid(torch.cat([x, F.pixel_unshuffle(old, 2)], 1))
                new, keep = self.out(torch.cat([x, y], 1)).split([3, 1], 1)
                keep = torch.sigmoid(keep)
                last = keep * old + (1 - keep) * (new + F.interpolate(colour[:, n], scale_factor=2, mode="nearest"))
                loss = loss + F.l1_loss(last, truth[:, n])
            return Result(loss / t)

    def inputs(b):
        return (torch.zeros(b, 4, 3, 180, 320), torch.zeros(b, 4, 1, 180, 320), torch.zeros(b, 4, 2, 180, 320),
                torch.zeros(b, 4, 3, 360, 640))
    return Net(), inputs, "own"


def lidar_ranges():
    """Points of a lidar as a picture around the car: filters that wrap around, and a loss of sorted errors."""
    class Block(nn.Module):
        def __init__(self, a, b, gap=1):
            super().__init__()
            self.skip, self.gap = nn.Conv2d(a, b, 1), gap
            self.f = nn.ModuleList([nn.Conv2d(a, b, 3, padding=1), nn.Conv2d(b, b, 3, padding=2, dilation=2),
                                    nn.Conv2d(b, b, 2, padding=1, dilation=2)])
            self.n = nn.ModuleList(nn.BatchNorm2d(b) for _ in range(4))
            self.join = nn.Conv2d(3 * b, b, 1)

        def forward(self, x):
            short, kept = F.leaky_relu(self.skip(x)), []
            for f, n in zip(self.f, self.n):
                x = n(F.leaky_relu(f(x)))
                kept.append(x)
            return self.n[3](F.leaky_relu(self.join(torch.cat(kept, 1)))) + short

    class Net(nn.Module):
        def __init__(self, kinds=20, c=32):
            super().__init__()
            self.enter = parametrizations.weight_norm(nn.Conv2d(5, c, 5))
            self.down = nn.ModuleList([Block(c, 2 * c), Block(2 * c, 4 * c), Block(4 * c, 8 * c)])
            self.up = nn.ModuleList([Block(2 * c + 4 * c, 4 * c), Block(c + 2 * c, 2 * c), Block(c // 2 + c, c)])
            self.drop, self.out = nn.Dropout2d(0.2), nn.Conv2d(c, kinds, 1)

        def forward(self, scan, labels):
            x, kept = self.enter(F.pad(F.pad(scan, (2, 2, 0, 0), mode="circular"), (0, 0, 2, 2))), []
            for f in self.down:
                kept.append(x)
                x = F.avg_pool2d(self.drop(f(x)), 3, 2, 1)
            for f, old in zip(self.up, kept[::-1]):
                x = F.pixel_shuffle(x, 2)
                x = f(self.drop(torch.cat([x, old], 1)))
            score = self.out(x).float()
            chance = score.softmax(1).transpose(0, 1).flatten(1)
            loss = F.cross_entropy(score, labels)
            for n in range(1, 8):
                right = (labels.flatten() == n).float()
                error, order = (right - chance[n]).abs().sort(descending=True)
                right = right[order]
                inside, around = right.sum() - right.cumsum(0), right.sum() + (1 - right).cumsum(0)
                slope = 1 - inside / around.clamp(min=1)
                slope = torch.cat([slope[:1], slope[1:] - slope[:-1]])
                loss = loss + torch.dot(error, slope.detach()) / 7
            return Result(loss)
    return Net(), lambda b: {"scan": torch.zeros(b, 5, 64, 1024), "labels": torch.zeros(b, 64, 1024, dtype=torch.int64)}, "own"


NETWORKS = {f.__name__: f for f in (chest_findings, hyperspectral_crops, street_unpooling, styled_portraits,
                                    lensless_camera, landmark_signs, player_paths, twelve_leads, field_seasons,
                                    game_frames, lidar_ranges)}
STEPS = {"chest_findings": ("amp-fp16", 32, "nhwc", "adam"), "hyperspectral_crops": ("tf32", 256, "nchw", "momentum"),
         "street_unpooling": ("amp-bf16", 8, "nhwc", "momentum"), "styled_portraits": ("tf32", 16, "nchw", "adam"),
         "lensless_camera": ("fp32", 6, "nchw", "adam"), "landmark_signs": ("tf32", 32, "nchw", "adamw"),
         "player_paths": ("amp-bf16", 24, "nchw", "adamw"), "twelve_leads": ("fp32", 48, "nchw", "adam"),
         "field_seasons": ("tf32", 4, "nchw", "adam"), "game_frames": ("amp-fp16", 6, "nhwc", "adam"),
         "lidar_ranges": ("amp-bf16", 8, "nchw", "momentum")}
