# SPDX-License-Identifier: Apache-2.0
"""written_seventh.py - a seventh set of networks as people write them: grids, pictures and their parts. See cases.py."""
import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, Result
from written_fourth import Residual


def global_emulator():
    """A climate emulator: a U-Net of ConvNeXt-like blocks on the globe, trained over two steps ahead."""
    class Around(nn.Module):
        """A convolution with circular padding in longitude and zeros beyond the poles."""

        def __init__(self, i, o, kernel, dilation=1):
            super().__init__()
            self.pad, self.f = dilation * (kernel // 2), nn.Conv2d(i, o, kernel, dilation=dilation)

        def forward(self, x):
            p = self.pad
            return self.f(F.pad(F.pad(x, (p, p, 0, 0), mode="circular"), (0, 0, p, p)))

    class Block(nn.Module):
        def __init__(self, i, o, dilation):
            super().__init__()
            self.skip = nn.Conv2d(i, o, 1) if i != o else nn.Identity()
            self.a, self.b = Around(i, 2 * o, 3, dilation), Around(2 * o, 2 * o, 3, dilation)
            self.c = nn.Conv2d(2 * o, o, 1)

        def forward(self, x):
            y = F.gelu(self.a(x)).clamp(max=10)
            return self.skip(x) + self.c(F.gelu(self.b(y)).clamp(max=10))

    class Net(nn.Module):
        def __init__(self, fields=13, fixed=3, widths=(96, 160, 224)):
            super().__init__()
            self.fields, i = fields, (2 * fields + fixed,) + widths
            self.down = nn.ModuleList(Block(i[n], i[n + 1], 2 ** n) for n in range(3))
            self.grow = nn.ModuleList(nn.ConvTranspose2d(widths[n + 1], widths[n], 2, 2) for n in (1, 0))
            self.up = nn.ModuleList(Block(2 * widths[n], widths[n], 2 ** n) for n in (1, 0))
            self.last = nn.Conv2d(widths[0], fields, 1)
            latitudes = torch.linspace(-89.5, 89.5, 180).deg2rad().cos()
            self.register_buffer("weight", (latitudes / latitudes.mean()).view(1, 1, -1, 1), persistent=False)

        def ahead(self, x, fixed):
            y, kept = torch.cat([x, fixed], 1), []
            for n, block in enumerate(self.down):
                y = block(y if n == 0 else F.avg_pool2d(y, 2))
                kept.append(y)
            kept.pop()
            for grow, block in zip(self.grow, self.up):
                y = block(torch.cat([grow(y), kept.pop()], 1))
            return x[:, self.fields:] + self.last(y)

        def forward(self, past, fixed, future):
            first = self.ahead(past, fixed)
            second = self.ahead(torch.cat([past[:, self.fields:], first], 1), fixed)
            return Result((self.weight * (torch.stack([first, second], 1) - future).float() ** 2).mean())

    def inputs(b):
        return torch.zeros(b, 26, 180, 360), torch.zeros(b, 3, 180, 360), torch.zeros(b, 2, 13, 180, 360)
    return Net(), inputs, "own"



def window_forecast():
    """A weather transformer: attention in shifted 3-D windows with a bias for each window's latitude and level."""
    window = (2, 6, 12)

    class Block(nn.Module):
        def __init__(self, width, heads, shape, shifted):
            super().__init__()
            self.shape, self.shift = shape, tuple(w // 2 if shifted else 0 for w in window)
            self.n1, self.n2, self.a = nn.LayerNorm(width), nn.LayerNorm(width), Attention(width, heads)
            self.f = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            self.counts = [s // w for s, w in zip(shape, window)]
            self.bias = nn.Parameter(torch.zeros(self.counts[0] * self.counts[1], 1, heads, 144, 144))

        def forward(self, x):
            (z, y, u), (p, q, r), c = self.counts, window, x.shape[-1]
            t = self.n1(x).view(-1, *self.shape, c).roll([-s for s in self.shift], (1, 2, 3))
            t = t.view(-1, z, p, y, q, u, r, c).permute(0, 1, 3, 5, 2, 4, 6, 7).reshape(-1, p * q * r, c)
            bias = self.bias.expand(-1, u, -1, -1, -1).flatten(0, 1).repeat(len(x), 1, 1, 1)
            t = self.a(t, mask=bias).view(-1, z, y, u, p, q, r, c).permute(0, 1, 4, 2, 5, 3, 6, 7)
            x = x + t.reshape(-1, *self.shape, c).roll(self.shift, (1, 2, 3)).flatten(1, 3)
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, width=192, heads=6):
            super().__init__()
            self.air, self.ground = nn.Conv3d(5, width, (2, 4, 4), (2, 4, 4)), nn.Conv2d(7, width, 4, 4)
            fine, coarse = (8, 24, 48), (8, 12, 24)
            self.first = nn.Sequential(*(Block(width, heads, fine, n % 2) for n in range(2)))
            self.shrink = nn.Sequential(nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False))
            self.mid = nn.Sequential(*(Block(2 * width, 2 * heads, coarse, n % 2) for n in range(8)))
            self.grow = nn.Sequential(nn.Linear(2 * width, 4 * width, bias=False), nn.LayerNorm(4 * width))
            self.last = nn.Sequential(*(Block(width, heads, fine, n % 2) for n in range(2)))
            self.to_air = nn.ConvTranspose3d(2 * width, 5, (2, 4, 4), (2, 4, 4))
            self.to_ground = nn.ConvTranspose2d(2 * width, 4, 4, 4)

        def forward(self, air, ground, next_air, next_ground):
            x = torch.cat([self.ground(ground).unsqueeze(2), self.air(F.pad(air, (0, 0, 0, 0, 0, 1)))], 2)
            x = self.first(x.flatten(2).transpose(1, 2))
            y = x.view(len(x), 8, 12, 2, 24, 2, -1).permute(0, 1, 2, 4, 3, 5, 6).reshape(len(x), 2304, -1)
            y = self.grow(self.mid(self.shrink(y))).view(len(x), 8, 12, 24, 2, 2, -1)
            y = self.last(y.permute(0, 1, 2, 4, 3, 5, 6).reshape(x.shape))
            y = torch.cat([x, y], 2).transpose(1, 2).unflatten(2, (8, 24, 48))
            air, ground = self.to_air(y[:, :, 1:])[:, :, :13], self.to_ground(y[:, :, 0])
            ground = F.l1_loss(ground.float(), next_ground.float())
            return Result(F.l1_loss(air.float(), next_air.float()) + 0.25 * ground)

    def inputs(b):
        return (torch.zeros(b, 5, 13, 96, 192), torch.zeros(b, 7, 96, 192), torch.zeros(b, 5, 13, 96, 192),
                torch.zeros(b, 4, 96, 192))
    return Net(), inputs, "own"



def query_segmenter():
    """Segmentation by queries that attend only where their last mask was, on a convolutional pyramid."""
    class Layer(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.cross, self.own = (nn.MultiheadAttention(width, heads, batch_first=True) for _ in range(2))
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
            self.f = nn.Sequential(nn.Linear(width, 2048), nn.ReLU(), nn.Linear(2048, width))

        def forward(self, x, place, seen, mask):
            x = self.norms[0](x + self.cross(x + place, seen, seen, attn_mask=mask, need_weights=False)[0])
            x = self.norms[1](x + self.own(x + place, x + place, x, need_weights=False)[0])
            return self.norms[2](x + self.f(x))

    class Net(nn.Module):
        def __init__(self, width=256, heads=8, queries=100, classes=133):
            super().__init__()
            sizes, self.heads = (64, 64, 128, 256, 512), heads
            self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                                      nn.MaxPool2d(3, 2, 1))
            self.stages = nn.ModuleList(nn.Sequential(Residual(i, o, 1 if n == 0 else 2), Residual(o, o))
                                        for n, (i, o) in enumerate(zip(sizes, sizes[1:])))
            self.side = nn.ModuleList(nn.Conv2d(c, width, 1) for c in sizes[1:])
            self.smooth = nn.ModuleList(nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(32, width),
                                                      nn.ReLU()) for _ in sizes[1:])
            self.query, self.place = (nn.Parameter(torch.randn(1, queries, width)) for _ in range(2))
            self.layers = nn.ModuleList(Layer(width, heads) for _ in range(6))
            self.norm, self.kind, self.mask = nn.LayerNorm(width), nn.Linear(width, classes + 1), nn.Sequential(
                nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

        def loss(self, x, fine, labels, masks):
            x = self.norm(x)
            found = torch.einsum("bqc,bchw->bqhw", self.mask(x), fine)
            p = found.sigmoid()
            dice = 1 - (2 * (p * masks).sum((2, 3)) + 1) / (p.sum((2, 3)) + masks.sum((2, 3)) + 1)
            kinds = F.cross_entropy(self.kind(x).flatten(0, 1), labels.flatten())
            return found, kinds + 5 * dice.mean() + 5 * F.binary_cross_entropy_with_logits(found, masks)

        def forward(self, images, labels, masks):
            x, levels = self.stem(images), []
            for stage, side in zip(self.stages, self.side):
                x = stage(x)
                levels.append(side(x))
            for n in (2, 1, 0):
                levels[n] = levels[n] + F.interpolate(levels[n + 1], scale_factor=2, mode="bilinear")
            fine, *coarse = (f(y) for f, y in zip(self.smooth, levels))
            x, place = (t.expand(len(images), -1, -1) for t in (self.query, self.place))
            found, total = self.loss(x, fine, labels, masks)
            for n, layer in enumerate(self.layers):
                seen = coarse[2 - n % 3]
                mask = F.interpolate(found.detach(), size=seen.shape[2:], mode="bilinear").flatten(2) < 0
                mask = (mask & ~mask.all(-1, keepdim=True)).repeat_interleave(self.heads, 0)
                x = layer(x, place, seen.flatten(2).transpose(1, 2), mask)
                found, more = self.loss(x, fine, labels, masks)
                total = total + more
            return Result(total)

    def inputs(b):
        return {"images": torch.zeros(b, 3, 512, 512), "labels": torch.zeros(b, 100, dtype=torch.int64),
                "masks": torch.zeros(b, 100, 128, 128)}
    return Net(), inputs, "own"



def weighted_neck():
    """A detector with inverted bottlenecks and a two-way pyramid that weights its inputs, in separable filters."""
    def separable(width, outputs=None):
        return nn.Sequential(nn.Conv2d(width, width, 3, padding=1, groups=width, bias=False),
                             nn.Conv2d(width, outputs or width, 1))

    class Inverted(nn.Module):
        def __init__(self, i, o, kernel, stride):
            super().__init__()
            e = 6 * i
            self.up = nn.Sequential(nn.Conv2d(i, e, 1, bias=False), nn.BatchNorm2d(e), nn.SiLU(),
                                    nn.Conv2d(e, e, kernel, stride, kernel // 2, groups=e, bias=False),
                                    nn.BatchNorm2d(e), nn.SiLU())
            self.gate = nn.Sequential(nn.Conv2d(e, i // 4, 1), nn.SiLU(), nn.Conv2d(i // 4, e, 1), nn.Sigmoid())
            self.down = nn.Sequential(nn.Conv2d(e, o, 1, bias=False), nn.BatchNorm2d(o))
            self.same = i == o and stride == 1

        def forward(self, x):
            y = self.up(x)
            y = self.down(y * self.gate(F.adaptive_avg_pool2d(y, 1)))
            return x + y if self.same else y

    class Join(nn.Module):
        def __init__(self, width, count):
            super().__init__()
            self.w = nn.Parameter(torch.ones(count))
            self.f = nn.Sequential(nn.SiLU(), separable(width), nn.BatchNorm2d(width))

        def forward(self, *maps):
            w = F.relu(self.w)
            return self.f(sum(w[n] * x for n, x in enumerate(maps)) / (w.sum() + 1e-4))

    class Layer(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.down, self.last = nn.ModuleList(Join(width, 2) for _ in range(4)), Join(width, 2)
            self.up = nn.ModuleList(Join(width, 3) for _ in range(3))

        def forward(self, maps):
            top = [maps[4]]
            for n in (3, 2, 1, 0):
                top.insert(0, self.down[n](maps[n], F.interpolate(top[0], scale_factor=2, mode="nearest")))
            out = [top[0]]
            for n in (1, 2, 3):
                out.append(self.up[n - 1](maps[n], top[n], F.max_pool2d(out[-1], 3, 2, 1)))
            return out + [self.last(maps[4], F.max_pool2d(out[-1], 3, 2, 1))]

    class Net(nn.Module):
        def __init__(self, width=112, classes=90, anchors=9):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.SiLU())
            plan, i, self.stages = ((24, 3, 2, 2), (48, 5, 2, 3), (96, 3, 2, 4), (192, 5, 2, 4)), 32, nn.ModuleList()
            for o, kernel, stride, depth in plan:
                self.stages.append(nn.Sequential(*(Inverted(i if n == 0 else o, o, kernel, stride if n == 0 else 1)
                                                   for n in range(depth))))
                i = o
            self.side = nn.ModuleList(nn.Sequential(nn.Conv2d(c, width, 1), nn.BatchNorm2d(width))
                                      for c in (48, 96, 192, 192, 192))
            self.neck = nn.Sequential(*(Layer(width) for _ in range(4)))
            self.kinds, self.places = (self.head(width, anchors * n) for n in (classes, 4))

        def head(self, width, outputs):
            layers = [m for _ in range(3) for m in (separable(width), nn.BatchNorm2d(width), nn.SiLU())]
            return nn.Sequential(*layers, separable(width, outputs))

        def forward(self, images, labels, boxes):
            x, maps = self.stem(images), []
            for stage in self.stages:
                x = stage(x)
                maps.append(x)
            maps = maps[1:] + [F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 5, 4, 2)]
            maps = self.neck([f(y) for f, y in zip(self.side, maps)])
            kinds, places = (torch.cat([f(y).flatten(2) for y in maps], 2).float() for f in (self.kinds, self.places))
            p = kinds.sigmoid()
            focal = F.binary_cross_entropy_with_logits(kinds, labels, reduction="none") * (p - labels).abs() ** 1.5
            return Result(focal.sum() / len(images) + 50 * F.huber_loss(places, boxes, delta=0.1))

    def inputs(b):
        cells = sum((512 // s) ** 2 for s in (8, 16, 32, 64, 128))
        return {"images": torch.zeros(b, 3, 512, 512), "labels": torch.zeros(b, 810, cells),
                "boxes": torch.zeros(b, 36, cells)}
    return Net(), inputs, "own"



def channel_upscaler():
    """Super-resolution by four: residual groups with channel attention and two pixel shuffles, trained by L1."""
    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.f = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(c, c, 3, padding=1))
            self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c // 16, 1), nn.ReLU(inplace=True),
                                      nn.Conv2d(c // 16, c, 1), nn.Sigmoid())

        def forward(self, x):
            y = self.f(x)
            return x + y * self.gate(y)

    class Group(nn.Module):
        def __init__(self, c, depth):
            super().__init__()
            self.f = nn.Sequential(*(Block(c) for _ in range(depth)), nn.Conv2d(c, c, 3, padding=1))

        def forward(self, x):
            return x + self.f(x)

    class Net(nn.Module):
        def __init__(self, c=64, groups=6, depth=10):
            super().__init__()
            self.put = nn.Conv2d(3, c, 3, padding=1)
            self.body = nn.Sequential(*(Group(c, depth) for _ in range(groups)), nn.Conv2d(c, c, 3, padding=1))
            grow = [m for _ in range(2) for m in (nn.Conv2d(c, 4 * c, 3, padding=1), nn.PixelShuffle(2))]
            self.take = nn.Sequential(*grow, nn.Conv2d(c, 3, 3, padding=1))

        def forward(self, small, large):
            x = self.put(small)
            return Result(F.l1_loss(self.take(x + self.body(x)), large))
    return Net(), lambda b: (torch.zeros(b, 3, 48, 48), torch.zeros(b, 3, 192, 192)), "own"



def token_autoencoder():
    """An autoencoder of pictures whose latent values are rounded to few levels, with a straight-through gradient."""
    class Res(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.f = nn.Sequential(nn.GroupNorm(32, i), nn.SiLU(), nn.Conv2d(i, o, 3, padding=1),
                                   nn.GroupNorm(32, o), nn.SiLU(), nn.Conv2d(o, o, 3, padding=1))
            self.skip = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

        def forward(self, x):
            return self.skip(x) + self.f(x)

    class Look(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.n, self.a = nn.GroupNorm(32, c), Attention(c, 1)

        def forward(self, x):
            return x + self.a(self.n(x).flatten(2).transpose(1, 2)).transpose(1, 2).view_as(x)

    class Net(nn.Module):
        def __init__(self, w=(96, 96, 192, 384), levels=(8, 8, 8, 5, 5, 5)):
            super().__init__()
            enc, dec = [nn.Conv2d(3, w[0], 3, padding=1)], [nn.Conv2d(len(levels), w[-1], 3, padding=1)]
            for i, o in zip(w, w[1:]):
                enc += [Res(i, o), Res(o, o), nn.Conv2d(o, o, 3, 2, 1)]
                dec[1:1] = [Res(o, o), Res(o, i), nn.Conv2d(i, 4 * i, 3, padding=1), nn.PixelShuffle(2)]
            self.enc = nn.Sequential(*enc, Res(w[-1], w[-1]), Look(w[-1]), nn.GroupNorm(32, w[-1]), nn.SiLU(),
                                     nn.Conv2d(w[-1], len(levels), 1))
            self.dec = nn.Sequential(dec[0], Res(w[-1], w[-1]), Look(w[-1]), *dec[1:], nn.GroupNorm(32, w[0]),
                                     nn.SiLU(), nn.Conv2d(w[0], 3, 3, padding=1))
            middle = torch.tensor([(n - 1) / 2 for n in levels]).view(1, -1, 1, 1)
            self.register_buffer("middle", middle, persistent=False)

        def forward(self, images):
            z = torch.tanh(self.enc(images)) * self.middle
            z = (z + (z.round() - z).detach()) / self.middle
            found, wanted = self.dec(z).float(), images.float()
            edges = sum(F.l1_loss(found.diff(dim=d), wanted.diff(dim=d)) for d in (2, 3))
            return Result(F.l1_loss(found, wanted) + F.mse_loss(found, wanted) + edges)
    return Net(), lambda b: torch.zeros(b, 3, 256, 256), "own"


NETWORKS = {f.__name__: f for f in (global_emulator, window_forecast, query_segmenter, weighted_neck, channel_upscaler,
                                    token_autoencoder)}
STEPS = {"global_emulator": ("amp-bf16", 4), "window_forecast": ("bf16", 8), "query_segmenter": ("tf32", 8),
         "weighted_neck": ("amp-bf16", 24), "channel_upscaler": ("tf32", 16), "token_autoencoder": ("bf16", 16)}
