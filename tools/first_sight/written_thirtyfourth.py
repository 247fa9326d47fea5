# SPDX-License-Identifier: Apache-2.0
"""written_thirtyfourth.py - the seventeenth set of networks, for torch.compile: pictures. See cases.py."""
import math

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from blocks import Attention, Encoder, Result, heads_first, heads_joined, words


def wide_thumbnails():
    """Thumbnails of 32 pixels in 100 classes: a wide residual network with norms before the convolutions."""
    class Block(nn.Module):
        def __init__(self, i, o, stride):
            super().__init__()
            self.n1, self.c1 = nn.BatchNorm2d(i), nn.Conv2d(i, o, 3, stride, 1, bias=False)
            self.n2, self.c2 = nn.BatchNorm2d(o), nn.Conv2d(o, o, 3, 1, 1, bias=False)
            self.drop, self.skip = nn.Dropout(0.3), nn.Conv2d(i, o, 1, stride, bias=False) if i != o else None

        def forward(self, x):
            y = F.relu(self.n1(x))
            skip = self.skip(y) if self.skip is not None else x
            return skip + self.c2(self.drop(F.relu(self.n2(self.c1(y)))))

    def stage(i, o, stride, depth=4):
        return [Block(i, o, stride), *(Block(o, o, 1) for _ in range(depth - 1))]
    body = [*stage(16, 160, 1), *stage(160, 320, 2), *stage(320, 640, 2), nn.BatchNorm2d(640), nn.ReLU()]
    net = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), *body, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                        nn.Linear(640, 100))
    return net, lambda b: torch.zeros(b, 3, 32, 32), "cross-entropy"


def land_cover():
    """Land cover from the air: a residual network reads four bands, a decoder with skips draws eight classes."""
    class Up(nn.Module):
        def __init__(self, i, skip, o):
            super().__init__()
            self.a = nn.Sequential(nn.Conv2d(i + skip, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(True))
            self.b = nn.Sequential(nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(True))

        def forward(self, x, skip=None):
            x = F.interpolate(x, scale_factor=2.0, mode="nearest")
            return self.b(self.a(x if skip is None else torch.cat([x, skip], 1)))

    class Net(nn.Module):
        def __init__(self, bands=4, classes=8):
            super().__init__()
            r = torchvision.models.resnet34(weights=None)
            r.conv1 = nn.Conv2d(bands, 64, 7, 2, 3, bias=False)
            self.stem, self.pool = nn.Sequential(r.conv1, r.bn1, r.relu), r.maxpool
            self.body = nn.ModuleList([r.layer1, r.layer2, r.layer3, r.layer4])
            sizes = [(512, 256, 256), (256, 128, 128), (128, 64, 64), (64, 64, 32), (32, 0, 16)]
            self.up, self.out = nn.ModuleList(Up(*s) for s in sizes), nn.Conv2d(16, classes, 3, padding=1)

        def forward(self, pixels, labels):
            skips = [self.stem(pixels)]
            x = self.pool(skips[0])
            for f in self.body:
                x = f(x)
                skips.append(x)
            for up, skip in zip(self.up, [*skips[-2::-1], None]):
                x = up(x, skip)
            x = self.out(x).float()
            share, goal = x.softmax(1), F.one_hot(labels, x.shape[1]).movedim(-1, 1).float()
            both, total = (share * goal).sum((0, 2, 3)), (share + goal).sum((0, 2, 3))
            return Result(F.cross_entropy(x, labels) + 1 - ((2 * both + 1) / (total + 1)).mean())

    def inputs(b):
        return {"pixels": torch.zeros(b, 4, 256, 256), "labels": torch.zeros(b, 256, 256, dtype=torch.int64)}
    return Net(), inputs, "own"


def turned_patches():
    """A present-day vision transformer: rotations by row and column, normed queries and keys, registers."""
    class Layer(nn.Module):
        def __init__(self, c, heads, inner):
            super().__init__()
            self.heads, self.n1, self.n2 = heads, nn.RMSNorm(c), nn.RMSNorm(c)
            self.qkv, self.o = nn.Linear(c, 3 * c, bias=False), nn.Linear(c, c)
            self.qn, self.kn = nn.RMSNorm(c // heads), nn.RMSNorm(c // heads)
            self.wide, self.back = nn.Linear(c, 2 * inner), nn.Linear(inner, c)
            self.s1, self.s2 = nn.Parameter(torch.full((c,), 1e-4)), nn.Parameter(torch.full((c,), 1e-4))

        def forward(self, x, cos, sin, extra):
            q, k, v = (heads_first(t, self.heads) for t in self.qkv(self.n1(x)).chunk(3, -1))
            q, k = (self.turned(f(t), cos, sin, extra) for f, t in ((self.qn, q), (self.kn, k)))
            x = x + self.s1 * self.o(heads_joined(F.scaled_dot_product_attention(q, k, v.to(q.dtype))))
            a, b = self.wide(self.n2(x)).chunk(2, -1)
            return x + self.s2 * self.back(F.silu(a) * b)

        @staticmethod
        def turned(x, cos, sin, extra):
            free, x = x[:, :, :extra], x[:, :, extra:]
            a, b = x.chunk(2, -1)
            return torch.cat([free, torch.cat([a * cos - b * sin, a * sin + b * cos], -1).to(x.dtype)], 2)

    class Net(nn.Module):
        def __init__(self, c=384, heads=6, depth=12, side=16, extra=5, classes=1000):
            super().__init__()
            self.patch, self.extra = nn.Conv2d(3, c, 14, 14), extra
            self.tokens = nn.Parameter(torch.randn(1, extra, c) * 0.02)
            self.body = nn.ModuleList(Layer(c, heads, 1024) for _ in range(depth))
            self.norm, self.head = nn.RMSNorm(c), nn.Linear(c, classes)
            rate = 100 ** (-torch.arange(c // heads // 4) / (c // heads // 4))
            y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
            angle = torch.cat([y.reshape(-1, 1) * rate, x.reshape(-1, 1) * rate], 1)
            self.register_buffer("cos", angle.cos(), persistent=False)
            self.register_buffer("sin", angle.sin(), persistent=False)

        def forward(self, x):
            x = self.patch(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.tokens.expand(len(x), -1, -1), x], 1)
            for f in self.body:
                x = f(x, self.cos, self.sin, self.extra)
            return self.head(self.norm(x[:, 0]))
    return Net(), lambda b: torch.zeros(b, 3, 224, 224), "cross-entropy"


def filters_then_looks():
    """Birds in 200 kinds: two stages of separable filters, then two stages of attention over fewer places."""
    class Filters(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.norm, self.wide, self.back = nn.BatchNorm2d(c), nn.Conv2d(c, 2 * c, 1), nn.Conv2d(2 * c, c, 1)
            self.deep, self.n2 = nn.Conv2d(2 * c, 2 * c, 7, 1, 3, groups=2 * c, bias=False), nn.GroupNorm(1, c)
            self.f = nn.Sequential(nn.Conv2d(c, 4 * c, 1), nn.GELU(), nn.Conv2d(4 * c, c, 1))

        def forward(self, x):
            x = x + self.back(self.deep(F.relu(self.wide(self.norm(x))).square()))
            return x + self.f(self.n2(x))

    class Looks(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.layer = Encoder(c, heads)

        def forward(self, x):
            return self.layer(x.flatten(2).transpose(1, 2)).transpose(1, 2).unflatten(2, x.shape[2:])

    def down(i, o):
        return nn.Sequential(nn.GroupNorm(1, i), nn.Conv2d(i, o, 3, 2, 1))
    net = nn.Sequential(nn.Conv2d(3, 64, 7, 4, 2), *(Filters(64) for _ in range(3)), down(64, 128),
                        *(Filters(128) for _ in range(3)), down(128, 320), *(Looks(320, 10) for _ in range(9)),
                        down(320, 512), *(Looks(512, 16) for _ in range(3)), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                        nn.LayerNorm(512), nn.Linear(512, 200))
    return net, lambda b: torch.zeros(b, 3, 256, 256), "cross-entropy"


class Modulated(nn.Module):
    """A transformer layer whose norms a condition shifts and scales, with attention to other tokens on request."""

    def __init__(self, c, heads, other=None):
        super().__init__()
        self.n1, self.n2 = (nn.LayerNorm(c, elementwise_affine=False, eps=1e-6) for _ in range(2))
        self.look, self.across = Attention(c, heads), Attention(c, heads, other) if other else None
        self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(approximate="tanh"), nn.Linear(4 * c, c))
        self.change = nn.Sequential(nn.SiLU(), nn.Linear(c, 6 * c))

    def forward(self, x, by, other=None, mask=None):
        a, b, c, d, e, f = self.change(by).unsqueeze(1).chunk(6, -1)
        x = x + c * self.look(self.n1(x) * (1 + b) + a)
        if self.across is not None:
            x = x + self.across(x, other, mask)
        return x + f * self.f(self.n2(x) * (1 + e) + d)


def waves_of(t, width):
    rate = torch.exp(-math.log(10000) * torch.arange(width // 2, device=t.device) / (width // 2))
    angle = t.unsqueeze(1) * rate * 1000
    return torch.cat([angle.cos(), angle.sin()], 1)


def straight_latents():
    """Pictures of a class from noise: a transformer on latents of 32 by 32 predicts the speed of a straight path."""
    class Net(nn.Module):
        def __init__(self, c=768, heads=12, depth=12, channels=4, side=32, patch=2, classes=1000):
            super().__init__()
            self.enter, self.classes = nn.Conv2d(channels, c, patch, patch), nn.Embedding(classes + 1, c)
            self.place = nn.Parameter(torch.randn(1, (side // patch) ** 2, c) * 0.02)
            self.when = nn.Sequential(nn.Linear(256, c), nn.SiLU(), nn.Linear(c, c))
            self.body = nn.ModuleList(Modulated(c, heads) for _ in range(depth))
            self.norm, self.last = nn.LayerNorm(c, elementwise_affine=False), nn.Linear(c, 2 * c)
            self.out, self.fold = nn.Linear(c, patch * patch * channels), nn.PixelShuffle(patch)

        def forward(self, latents, kind):
            b, side = len(latents), latents.shape[-1] // 2
            t, noise = torch.sigmoid(torch.randn(b, device=latents.device)), torch.randn_like(latents)
            s = t.view(-1, 1, 1, 1)
            x = self.enter((1 - s) * latents + s * noise).flatten(2).transpose(1, 2) + self.place
            hidden = torch.rand(b, device=kind.device) < 0.1
            by = self.when(waves_of(t, 256)) + self.classes(torch.where(hidden, self.classes.num_embeddings - 1, kind))
            for f in self.body:
                x = f(x, by)
            shift, scale = self.last(F.silu(by)).unsqueeze(1).chunk(2, -1)
            x = self.out(self.norm(x) * (1 + scale) + shift).transpose(1, 2).unflatten(2, (side, side))
            return Result(F.mse_loss(self.fold(x).float(), noise - latents))
    return Net(), lambda b: (torch.zeros(b, 4, 32, 32), torch.zeros(b, dtype=torch.int64)), "own"


def told_latents():
    """Pictures of a sentence: blocks on 1,024 tokens look at themselves and then at the words of a frozen encoder."""
    class Net(nn.Module):
        def __init__(self, c=640, heads=10, depth=10, channels=4, side=64, told=1024, said=120):
            super().__init__()
            self.enter, self.side = nn.Conv2d(channels, c, 2, 2), side // 2
            self.place = nn.Parameter(torch.randn(1, self.side ** 2, c) * 0.02)
            self.words = nn.Sequential(nn.Linear(told, c), nn.GELU(), nn.Linear(c, c))
            self.when = nn.Sequential(nn.Linear(256, c), nn.SiLU(), nn.Linear(c, c))
            self.body = nn.ModuleList(Modulated(c, heads, c) for _ in range(depth))
            self.norm, self.out = nn.LayerNorm(c, elementwise_affine=False), nn.Linear(c, 4 * channels)
            beta = torch.linspace(1e-4, 0.02, 1000)
            self.register_buffer("keep", (1 - beta).cumprod(0), persistent=False)

        def forward(self, latents, told, long):
            t, noise = torch.randint(0, 1000, (len(latents),), device=latents.device), torch.randn_like(latents)
            keep = self.keep[t].view(-1, 1, 1, 1)
            x = self.enter(keep.sqrt() * latents + (1 - keep).sqrt() * noise).flatten(2).transpose(1, 2) + self.place
            words, by = self.words(told), self.when(waves_of(t / 1000, 256))
            mask = (torch.arange(told.shape[1], device=told.device) < long.unsqueeze(1)).view(len(t), 1, 1, -1)
            for f in self.body:
                x = f(x, by, words, mask)
            x = self.out(self.norm(x)).transpose(1, 2).unflatten(2, (self.side, self.side))
            return Result(F.mse_loss(F.pixel_shuffle(x, 2).float(), noise))

    def inputs(b):
        return torch.zeros(b, 4, 64, 64), torch.zeros(b, 120, 1024), torch.full((b,), 90, dtype=torch.int32)
    return Net(), inputs, "own"


def denoised_flowers():
    """Flowers of 64 pixels from noise: a U-Net of residual blocks with attention at 16 and 8 pixels."""
    class Block(nn.Module):
        def __init__(self, i, o, time, look):
            super().__init__()
            self.n1, self.c1, self.time = nn.GroupNorm(32, i), nn.Conv2d(i, o, 3, padding=1), nn.Linear(time, 2 * o)
            self.n2, self.c2 = nn.GroupNorm(32, o), nn.Conv2d(o, o, 3, padding=1)
            self.skip = nn.Conv2d(i, o, 1) if i != o else nn.Identity()
            self.n3, self.look = (nn.GroupNorm(32, o), Attention(o, o // 64)) if look else (None, None)

        def forward(self, x, t):
            scale, shift = self.time(F.silu(t))[..., None, None].chunk(2, 1)
            y = self.n2(self.c1(F.silu(self.n1(x)))) * (1 + scale) + shift
            x = self.skip(x) + self.c2(F.dropout(F.silu(y), 0.1, self.training))
            if self.look is not None:
                y = self.look(self.n3(x).flatten(2).transpose(1, 2))
                x = x + y.transpose(1, 2).unflatten(2, x.shape[2:])
            return x

    class Net(nn.Module):
        def __init__(self, c=128, many=(1, 2, 2, 4), deep=2):
            super().__init__()
            time, widths = 4 * c, [c * m for m in many]
            self.when = nn.Sequential(nn.Linear(c, time), nn.SiLU(), nn.Linear(time, time))
            self.c, self.enter = c, nn.Conv2d(3, c, 3, padding=1)
            self.down, self.less, self.up, self.more = (nn.ModuleList() for _ in range(4))
            kept, w = [c], c
            for n, o in enumerate(widths):
                for _ in range(deep):
                    self.down.append(Block(w, o, time, n >= 2))
                    w = o
                    kept.append(w)
                if n + 1 < len(widths):
                    self.less.append(nn.Conv2d(w, w, 3, 2, 1))
                    kept.append(w)
            self.mid = nn.ModuleList([Block(w, w, time, True), Block(w, w, time, False)])
            for n, o in reversed(list(enumerate(widths))):
                for _ in range(deep + 1):
                    self.up.append(Block(w + kept.pop(), o, time, n >= 2))
                    w = o
                if n:
                    self.more.append(nn.Conv2d(w, w, 3, padding=1))
            self.deep, self.out = deep, nn.Sequential(nn.GroupNorm(32, w), nn.SiLU(), nn.Conv2d(w, 3, 3, padding=1))

        def forward(self, pixels):
            level = (torch.randn(len(pixels), device=pixels.device) * 1.2 - 1.2).exp()
            s, noise = level.view(-1, 1, 1, 1), torch.randn_like(pixels)
            noisy, t = pixels + s * noise, self.when(waves_of(level.log() / 4, self.c))
            x = self.enter(noisy / (s ** 2 + 0.25).sqrt())
            kept = [x]
            for n, f in enumerate(self.down):
                x = f(x, t)
                kept.append(x)
                if n % self.deep == self.deep - 1 and n // self.deep < len(self.less):
                    x = self.less[n // self.deep](x)
                    kept.append(x)
            for f in self.mid:
                x = f(x, t)
            for n, f in enumerate(self.up):
                x = f(torch.cat([x, kept.pop()], 1), t)
                if n % (self.deep + 1) == self.deep and n // (self.deep + 1) < len(self.more):
                    x = self.more[n // (self.deep + 1)](F.interpolate(x, scale_factor=2.0, mode="nearest"))
            found = 0.25 / (s ** 2 + 0.25) * noisy + s * 0.5 / (s ** 2 + 0.25).sqrt() * self.out(x)
            weight = (s ** 2 + 0.25) / (s * 0.5) ** 2
            return Result((weight * (found - pixels) ** 2).mean())
    return Net(), lambda b: torch.zeros(b, 3, 64, 64), "own"


def shelf_boxes():
    """Goods on shelves: split stages, two pyramids and free heads; each place says a class and four distances."""
    def unit(i, o, k=3, stride=1):
        return nn.Sequential(nn.Conv2d(i, o, k, stride, k // 2, bias=False), nn.BatchNorm2d(o), nn.SiLU(True))

    class Split(nn.Module):
        def __init__(self, i, o, depth, add):
            super().__init__()
            self.a, self.add = unit(i, o, 1), add
            self.body = nn.ModuleList(nn.Sequential(unit(o // 2, o // 2), unit(o // 2, o // 2)) for _ in range(depth))
            self.b = unit((2 + depth) * o // 2, o, 1)

        def forward(self, x):
            parts = list(self.a(x).chunk(2, 1))
            for f in self.body:
                y = f(parts[-1])
                parts.append(parts[-1] + y if self.add else y)
            return self.b(torch.cat(parts, 1))

    class Pools(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b, self.pool = unit(c, c // 2, 1), unit(2 * c, c, 1), nn.MaxPool2d(5, 1, 2)

        def forward(self, x):
            x = self.a(x)
            y = self.pool(x)
            z = self.pool(y)
            return self.b(torch.cat([x, y, z, self.pool(z)], 1))

    class Net(nn.Module):
        def __init__(self, c=32, classes=80, bins=16):
            super().__init__()
            self.bins = bins
            self.s1 = nn.Sequential(unit(3, c, 3, 2), unit(c, 2 * c, 3, 2), Split(2 * c, 2 * c, 1, True))
            self.s2 = nn.Sequential(unit(2 * c, 4 * c, 3, 2), Split(4 * c, 4 * c, 2, True))
            self.s3 = nn.Sequential(unit(4 * c, 8 * c, 3, 2), Split(8 * c, 8 * c, 2, True))
            self.s4 = nn.Sequential(unit(8 * c, 16 * c, 3, 2), Split(16 * c, 16 * c, 1, True), Pools(16 * c))
            self.t3, self.t2 = Split(24 * c, 8 * c, 1, False), Split(12 * c, 4 * c, 1, False)
            self.d2, self.d3 = unit(4 * c, 4 * c, 3, 2), unit(8 * c, 8 * c, 3, 2)
            self.b3, self.b4 = Split(12 * c, 8 * c, 1, False), Split(24 * c, 16 * c, 1, False)
            w = (4 * c, 8 * c, 16 * c)
            self.box = nn.ModuleList(nn.Sequential(unit(i, 64), unit(64, 64), nn.Conv2d(64, 4 * bins, 1)) for i in w)
            self.kind = nn.ModuleList(nn.Sequential(unit(i, 96), unit(96, 96), nn.Conv2d(96, classes, 1)) for i in w)
            self.register_buffer("bin", torch.arange(bins).float(), persistent=False)

        def forward(self, pixels, sides, scores):
            p2 = self.s2(self.s1(pixels))
            p3 = self.s3(p2)
            p4 = self.s4(p3)
            t3 = self.t3(torch.cat([F.interpolate(p4, scale_factor=2.0), p3], 1))
            t2 = self.t2(torch.cat([F.interpolate(t3, scale_factor=2.0), p2], 1))
            b3 = self.b3(torch.cat([self.d2(t2), t3], 1))
            b4 = self.b4(torch.cat([self.d3(b3), p4], 1))
            box = torch.cat([f(x).flatten(2) for f, x in zip(self.box, (t2, b3, b4))], 2)
            kind = torch.cat([f(x).flatten(2) for f, x in zip(self.kind, (t2, b3, b4))], 2).float()
            share = box.unflatten(1, (4, self.bins)).float().softmax(2)
            found, goal = torch.einsum("bdkn,k->bdn", share, self.bin), sides.sigmoid() * (self.bins - 1)
            low = torch.minimum(found, goal)
            both = (low[:, 0] + low[:, 2]) * (low[:, 1] + low[:, 3])
            area = [(x[:, 0] + x[:, 2]) * (x[:, 1] + x[:, 3]) for x in (found, goal)]
            weight = scores.sigmoid().amax(1)
            apart = (1 - both / (area[0] + area[1] - both + 1e-7)) * weight
            return Result(F.binary_cross_entropy_with_logits(kind, scores.sigmoid()) + apart.sum() / weight.sum())

    def inputs(b, places=80 * 80 + 40 * 40 + 20 * 20):
        return torch.zeros(b, 3, 640, 640), torch.zeros(b, 4, places), torch.zeros(b, 80, places)
    return Net(), inputs, "own"


def hidden_patches():
    """Pictures without labels: three quarters of the patches are hidden at random, a thin decoder paints them."""
    class Net(nn.Module):
        def __init__(self, c=512, heads=8, depth=10, thin=256, n=196, patch=16, keep=49):
            super().__init__()
            self.keep, self.size, self.enter = keep, patch, nn.Linear(3 * patch * patch, c)
            self.place, self.later = (nn.Parameter(torch.randn(1, n, w) * 0.02) for w in (c, thin))
            self.body = nn.Sequential(*(Encoder(c, heads) for _ in range(depth)), nn.LayerNorm(c))
            self.narrow, self.blank = nn.Linear(c, thin), nn.Parameter(torch.zeros(1, 1, thin))
            self.paint = nn.Sequential(*(Encoder(thin, 8) for _ in range(4)), nn.LayerNorm(thin))
            self.out = nn.Linear(thin, 3 * patch * patch)

        def forward(self, pixels):
            goal = F.unfold(pixels, self.size, stride=self.size).transpose(1, 2)
            b, n, _ = goal.shape
            order = torch.rand(b, n, device=pixels.device).argsort(1)
            back, kept = order.argsort(1), order[:, :self.keep]
            x = self.enter(goal) + self.place
            x = self.narrow(self.body(torch.gather(x, 1, kept.unsqueeze(-1).expand(-1, -1, x.shape[-1]))))
            x = torch.cat([x, self.blank.to(x.dtype).expand(b, n - self.keep, -1)], 1)
            x = torch.gather(x, 1, back.unsqueeze(-1).expand(-1, -1, x.shape[-1])) + self.later
            x = self.out(self.paint(x)).float()
            goal = (goal - goal.mean(-1, keepdim=True)) / (goal.var(-1, keepdim=True) + 1e-6).sqrt()
            hidden = (back >= self.keep).float()
            return Result((((x - goal) ** 2).mean(-1) * hidden).sum() / hidden.sum())
    return Net(), lambda b: torch.zeros(b, 3, 224, 224), "own"


def sigmoid_captions():
    """Photographs and captions: each pair of a batch is judged alone as true or false."""
    class Net(nn.Module):
        def __init__(self, c=512, heads=8, depth=8, vocab=32000, seq=64):
            super().__init__()
            self.patch, self.spot = nn.Conv2d(3, c, 16, 16), nn.Parameter(torch.randn(1, 196, c) * 0.02)
            self.eye = nn.Sequential(*(Encoder(c, heads) for _ in range(depth)), nn.LayerNorm(c))
            self.ask, self.pool = nn.Parameter(torch.randn(1, 1, c) * 0.02), Attention(c, heads)
            self.word, self.place = nn.Embedding(vocab, c), nn.Parameter(torch.randn(1, seq, c) * 0.02)
            self.text = nn.Sequential(*(Encoder(c, heads) for _ in range(6)), nn.LayerNorm(c))
            self.head = nn.Linear(c, c)
            self.scale, self.bias = nn.Parameter(torch.tensor(2.3)), nn.Parameter(torch.tensor(-10.0))

        def forward(self, pixels, ids):
            x = self.eye(self.patch(pixels).flatten(2).transpose(1, 2) + self.spot)
            x = self.pool(self.ask.expand(len(x), -1, -1), x).squeeze(1)
            y = self.head(self.text(self.word(ids) + self.place)[:, -1])
            x, y = F.normalize(x.float(), dim=-1), F.normalize(y.float(), dim=-1)
            score = x @ y.t() * self.scale.exp() + self.bias
            sign = 2 * torch.eye(len(x), device=x.device) - 1
            return Result(-F.logsigmoid(sign * score).sum(-1).mean())
    return Net(), lambda b: (torch.zeros(b, 3, 224, 224), words(b, 64)), "own"


def near_and_far_views():
    """Two views of each photograph lie together, those of others apart: a small residual network and a softmax."""
    class Net(nn.Module):
        def __init__(self, c=128, heat=0.1):
            super().__init__()
            self.body = torchvision.models.resnet18(weights=None)
            self.body.fc, self.heat = nn.Identity(), heat
            self.head = nn.Sequential(nn.Linear(512, 512), nn.BatchNorm1d(512), nn.ReLU(True), nn.Linear(512, c))

        def forward(self, one, two):
            z = F.normalize(self.head(self.body(torch.cat([one, two]))).float(), dim=1)
            n = len(one)
            same = torch.eye(2 * n, dtype=torch.bool, device=z.device)
            score = (z @ z.t() / self.heat).masked_fill(same, float("-inf"))
            return Result(F.cross_entropy(score, torch.arange(2 * n, device=z.device).roll(n)))
    return Net(), lambda b: (torch.zeros(b, 3, 128, 128), torch.zeros(b, 3, 128, 128)), "own"


def simple_denoiser():
    """Photographs taken in the dark: gates without activation and weighed channels in a U-Net of sums."""
    class Norm(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.norm = nn.LayerNorm(c, eps=1e-6)

        def forward(self, x):
            return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.n1, self.a, self.deep = Norm(c), nn.Conv2d(c, 2 * c, 1), nn.Conv2d(2 * c, 2 * c, 3, 1, 1, groups=2 * c)
            self.weigh, self.b = nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 1)
            self.n2, self.c, self.d = Norm(c), nn.Conv2d(c, 2 * c, 1), nn.Conv2d(c, c, 1)
            self.s1, self.s2 = (nn.Parameter(torch.zeros(1, c, 1, 1)) for _ in range(2))

        def forward(self, x):
            a, b = self.deep(self.a(self.n1(x))).chunk(2, 1)
            y = a * b
            x = x + self.s1 * self.b(y * self.weigh(y.mean((2, 3), keepdim=True)))
            a, b = self.c(self.n2(x)).chunk(2, 1)
            return x + self.s2 * self.d(a * b)

    class Net(nn.Module):
        def __init__(self, c=32, down=(2, 2, 4, 8), mid=4):
            super().__init__()
            self.enter, self.out = nn.Conv2d(3, c, 3, 1, 1), nn.Conv2d(c, 3, 3, 1, 1)
            w = [c * 2 ** n for n in range(len(down) + 1)]
            self.enc = nn.ModuleList(nn.Sequential(*(Block(i) for _ in range(n))) for i, n in zip(w, down))
            self.less = nn.ModuleList(nn.Conv2d(i, 2 * i, 2, 2) for i in w[:-1])
            self.mid = nn.Sequential(*(Block(w[-1]) for _ in range(mid)))
            self.more = nn.ModuleList(nn.Sequential(nn.Conv2d(i, 2 * i, 1, bias=False), nn.PixelShuffle(2))
                                      for i in w[:0:-1])
            self.dec = nn.ModuleList(nn.Sequential(*(Block(i) for _ in range(2))) for i in w[-2::-1])

        def forward(self, noisy, clean):
            x, kept = self.enter(noisy), []
            for f, g in zip(self.enc, self.less):
                x = f(x)
                kept.append(x)
                x = g(x)
            x = self.mid(x)
            for f, g in zip(self.more, self.dec):
                x = g(f(x) + kept.pop())
            apart = (self.out(x) + noisy - clean).float().square().mean((1, 2, 3))
            return Result(10 * torch.log10(apart + 1e-8).mean())
    return Net(), lambda b: (torch.zeros(b, 3, 256, 256), torch.zeros(b, 3, 256, 256)), "own"


NETWORKS = {f.__name__: f for f in (wide_thumbnails, land_cover, turned_patches, filters_then_looks, straight_latents,
                                    told_latents, denoised_flowers, shelf_boxes, hidden_patches, sigmoid_captions,
                                    near_and_far_views, simple_denoiser)}
STEPS = {"wide_thumbnails": ("amp-fp16", 128, "nhwc", "momentum"), "land_cover": ("amp-bf16", 16, "nhwc", "adamw"),
         "turned_patches": ("amp-bf16", 64, "nchw", "adamw"), "filters_then_looks": ("tf32", 32, "nchw", "adamw"),
         "straight_latents": ("amp-bf16", 32, "nchw", "adamw"), "told_latents": ("amp-bf16", 8, "nchw", "adamw"),
         "denoised_flowers": ("amp-fp16", 32, "nchw", "adam"), "shelf_boxes": ("amp-fp16", 16, "nhwc", "momentum"),
         "hidden_patches": ("amp-bf16", 128, "nchw", "adamw"), "sigmoid_captions": ("amp-bf16", 128, "nchw", "adamw"),
         "near_and_far_views": ("tf32", 128, "nchw", "momentum"), "simple_denoiser": ("fp32", 8, "nchw", "adamw")}
