# SPDX-License-Identifier: Apache-2.0
"""practice_fourteenth.py - networks for practice, the fourteenth set: pictures repaired and made finer. See cases.py."""
import math

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from blocks import Result


def crossed_channels():
    """Rain taken out of photographs: attention among channels instead of pixels, gates of depthwise filters, norms by variance."""
    class Norm(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(c))

        def forward(self, x):
            y = x.flatten(2).transpose(1, 2)
            y = y / torch.sqrt(y.var(-1, keepdim=True, unbiased=False) + 1e-5) * self.weight
            return y.transpose(1, 2).unflatten(2, x.shape[2:])

    class Block(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, inner = heads, int(c * 2.66)
            self.n1, self.n2, self.heat = Norm(c), Norm(c), nn.Parameter(torch.ones(heads, 1, 1))
            self.qkv, self.d, self.o = nn.Conv2d(c, 3 * c, 1, bias=False), nn.Conv2d(3 * c, 3 * c, 3, 1, 1, groups=3 * c, bias=False), nn.Conv2d(c, c, 1, bias=False)
            self.up, self.g, self.down = nn.Conv2d(c, 2 * inner, 1, bias=False), nn.Conv2d(2 * inner, 2 * inner, 3, 1, 1, groups=2 * inner, bias=False), nn.Conv2d(inner, c, 1, bias=False)

        def forward(self, x):
            b, c, h, w = x.shape
            q, k, v = (t.reshape(b, self.heads, -1, h * w) for t in self.d(self.qkv(self.n1(x))).chunk(3, 1))
            weight = ((F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)) * self.heat).softmax(-1)
            x = x + self.o((weight.to(v.dtype) @ v).reshape(b, c, h, w))
            a, g = self.g(self.up(self.n2(x))).chunk(2, 1)
            return x + self.down(F.gelu(a) * g)

    class Net(nn.Module):
        def __init__(self, c=32):
            super().__init__()
            def blocks(n, w, heads):
                return nn.Sequential(*(Block(w, heads) for _ in range(n)))
            self.first = nn.Conv2d(3, c, 3, 1, 1, bias=False)
            self.a, self.b, self.c = blocks(2, c, 1), blocks(2, 2 * c, 2), blocks(3, 4 * c, 4)
            self.da, self.db = (nn.Sequential(nn.Conv2d(w, w // 2, 3, 1, 1, bias=False), nn.PixelUnshuffle(2)) for w in (c, 2 * c))
            self.ub, self.ua = (nn.Sequential(nn.Conv2d(w, 2 * w, 3, 1, 1, bias=False), nn.PixelShuffle(2)) for w in (4 * c, 2 * c))
            self.join, self.d, self.e = nn.Conv2d(4 * c, 2 * c, 1, bias=False), blocks(2, 2 * c, 2), blocks(2, 2 * c, 1)
            self.last = nn.Conv2d(2 * c, 3, 3, 1, 1, bias=False)

        def forward(self, x, goal):
            a = self.a(self.first(x))
            b = self.b(self.da(a))
            y = self.ub(self.c(self.db(b)))
            y = self.d(self.join(torch.cat([y, b], 1)))
            y = self.last(self.e(torch.cat([self.ua(y), a], 1))) + x
            p, q = torch.fft.rfft2(y.float()), torch.fft.rfft2(goal)
            return Result(F.l1_loss(y, goal) + 0.05 * (p - q).abs().mean())
    return Net(), lambda b: (torch.zeros(b, 3, 128, 128), torch.zeros(b, 3, 128, 128)), "own"


def overlapping_windows():
    """Four times finer pictures: windows look at larger windows around them, with tables of distances; channels are squeezed."""
    def distances(inner, outer):
        at = [torch.stack(torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")).flatten(1) for n in (inner, outer)]
        apart = at[1].unsqueeze(1) - at[0].unsqueeze(2) + inner - 1
        return apart[0] * (inner + outer - 1) + apart[1]

    class Windows(nn.Module):
        def __init__(self, c, heads, size, around):
            super().__init__()
            self.heads, self.size, self.outer = heads, size, size + 2 * around
            self.around, self.n1, self.n2 = around, nn.LayerNorm(c), nn.LayerNorm(c)
            self.q, self.kv, self.o = nn.Linear(c, c), nn.Linear(c, 2 * c), nn.Linear(c, c)
            self.table = nn.Parameter(torch.zeros((size + self.outer - 1) ** 2, heads))
            self.register_buffer("index", distances(size, self.outer))
            self.f = nn.Sequential(nn.Linear(c, 2 * c), nn.GELU(), nn.Linear(2 * c, c))
            self.local = nn.Sequential(nn.Conv2d(c, c // 3, 3, 1, 1), nn.GELU(), nn.Conv2d(c // 3, c, 3, 1, 1))
            self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c // 16, 1), nn.ReLU(), nn.Conv2d(c // 16, c, 1), nn.Sigmoid())

        def forward(self, x):
            b, h, w, c = x.shape
            s, o, y = self.size, self.outer, self.n1(x)
            z = self.local(y.permute(0, 3, 1, 2))
            z = (z * self.squeeze(z)).permute(0, 2, 3, 1)
            q = self.q(y).view(b, h // s, s, w // s, s, c).transpose(2, 3).reshape(-1, s * s, self.heads, c // self.heads).transpose(1, 2)
            kv = F.unfold(self.kv(y).permute(0, 3, 1, 2), o, stride=s, padding=self.around)
            kv = kv.view(b, 2, self.heads, c // self.heads, o * o, -1).permute(1, 0, 5, 2, 4, 3).flatten(1, 2)
            bias = self.table[self.index.flatten()].view(s * s, o * o, -1).permute(2, 0, 1).contiguous()
            y = F.scaled_dot_product_attention(q, kv[0], kv[1], attn_mask=bias.to(q.dtype).unsqueeze(0))
            y = y.transpose(1, 2).reshape(b, h // s, w // s, s, s, c).transpose(2, 3).reshape(b, h, w, c)
            x = x + self.o(y) + 0.01 * z
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, c=96, depth=6):
            super().__init__()
            self.first, self.after = nn.Conv2d(3, c, 3, 1, 1), nn.Conv2d(c, c, 3, 1, 1)
            self.blocks = nn.ModuleList(Windows(c, 6, 8, 4 * (n % 2)) for n in range(depth))
            self.norm = nn.LayerNorm(c)
            self.up = nn.Sequential(nn.Conv2d(c, 64, 3, 1, 1), nn.LeakyReLU(), nn.Conv2d(64, 256, 3, 1, 1), nn.PixelShuffle(2), nn.Conv2d(64, 256, 3, 1, 1), nn.PixelShuffle(2), nn.Conv2d(64, 3, 3, 1, 1))

        def forward(self, x):
            x = self.first(x)
            y = x.permute(0, 2, 3, 1)
            for f in self.blocks:
                y = f(y)
            return self.up(self.after(self.norm(y).permute(0, 3, 1, 2)) + x)
    return Net(), lambda b: torch.zeros(b, 3, 64, 64), "mse"


def aligned_bursts():
    """Sharp photographs from bursts of seven: offsets in three sizes bend frames onto the middle one, frames are weighed."""
    class Res(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = nn.Conv2d(c, c, 3, 1, 1), nn.Conv2d(c, c, 3, 1, 1)

        def forward(self, x):
            return x + self.b(F.relu(self.a(x)))

    class Bend(nn.Module):
        def __init__(self, c, groups=8):
            super().__init__()
            self.make, self.cut = nn.Conv2d(c, 27 * groups, 3, 1, 1), 18 * groups
            self.f = torchvision.ops.DeformConv2d(c, c, 3, 1, 1)

        def forward(self, x, offset):
            y = self.make(offset)
            return self.f(x, y[:, :self.cut], torch.sigmoid(y[:, self.cut:]))

    class Net(nn.Module):
        def __init__(self, c=64, frames=7):
            super().__init__()
            self.frames = frames
            self.first = nn.Sequential(nn.Conv2d(4, c, 3, 1, 1), nn.LeakyReLU(0.1), Res(c), Res(c))
            self.shrink = nn.ModuleList(nn.Sequential(nn.Conv2d(c, c, 3, 2, 1), nn.LeakyReLU(0.1), nn.Conv2d(c, c, 3, 1, 1), nn.LeakyReLU(0.1)) for _ in range(2))
            self.offset = nn.ModuleList(nn.Conv2d(2 * c, c, 3, 1, 1) for _ in range(3))
            self.join = nn.ModuleList(nn.Conv2d(2 * c, c, 3, 1, 1) for _ in range(2))
            self.bend, self.mix = nn.ModuleList(Bend(c) for _ in range(3)), nn.ModuleList(nn.Conv2d(2 * c, c, 3, 1, 1) for _ in range(2))
            self.ask, self.key, self.fuse = nn.Conv2d(c, c, 3, 1, 1), nn.Conv2d(c, c, 3, 1, 1), nn.Conv2d(frames * c, c, 1)
            self.body, self.up = nn.Sequential(*(Res(c) for _ in range(4))), nn.Sequential(nn.Conv2d(c, 4 * c, 3, 1, 1), nn.PixelShuffle(2), nn.LeakyReLU(0.1), nn.Conv2d(c, 3, 3, 1, 1))

        def forward(self, x, goal):
            b, n = x.shape[:2]
            levels = [self.first(x.flatten(0, 1))]
            for f in self.shrink:
                levels.append(f(levels[-1]))
            offset = made = None
            for k in (2, 1, 0):
                y = levels[k]
                middle = y.view(b, n, *y.shape[1:])[:, n // 2:n // 2 + 1].expand(-1, n, -1, -1, -1).flatten(0, 1)
                now = F.leaky_relu(self.offset[k](torch.cat([y, middle], 1)), 0.1)
                if offset is not None:
                    offset = F.interpolate(offset, scale_factor=2, mode="bilinear", align_corners=False) * 2
                    now = F.leaky_relu(self.join[k](torch.cat([now, offset], 1)), 0.1)
                bent = self.bend[k](y, now)
                if made is not None:
                    made = F.interpolate(made, scale_factor=2, mode="bilinear", align_corners=False)
                    bent = self.mix[k](torch.cat([bent, made], 1))
                offset, made = now, F.leaky_relu(bent, 0.1)
            made = made.view(b, n, *made.shape[1:])
            ask, key = self.ask(made[:, n // 2]), self.key(made.flatten(0, 1)).view_as(made)
            weight = torch.sigmoid((key * ask.unsqueeze(1)).sum(2, keepdim=True))
            y = self.body(F.leaky_relu(self.fuse((made * weight).flatten(1, 2)), 0.1))
            return Result(torch.sqrt((self.up(y) - goal) ** 2 + 1e-6).mean())
    return Net(), lambda b: (torch.zeros(b, 7, 4, 64, 64), torch.zeros(b, 3, 128, 128)), "own"


def wavelet_levels():
    """Noise out of microscope pictures: Haar wavelets take the place of pooling, and are inverted on the way back."""
    def split(x):
        a, b, c, d = x[:, :, 0::2, 0::2] / 2, x[:, :, 1::2, 0::2] / 2, x[:, :, 0::2, 1::2] / 2, x[:, :, 1::2, 1::2] / 2
        return torch.cat([a + b + c + d, c + d - a - b, b + d - a - c, a + d - b - c], 1)

    def joined(x):
        a, b, c, d = (t / 2 for t in x.chunk(4, 1))
        y = x.new_zeros(x.shape[0], x.shape[1] // 4, 2 * x.shape[2], 2 * x.shape[3])
        y[:, :, 0::2, 0::2], y[:, :, 1::2, 0::2] = a - b - c + d, a - b + c - d
        y[:, :, 0::2, 1::2], y[:, :, 1::2, 1::2] = a + b - c - d, a + b + c + d
        return y

    class Net(nn.Module):
        def __init__(self, c=48):
            super().__init__()
            def convs(a, b, n, *dilations):
                layers = []
                for d in dilations:
                    layers += [nn.Conv2d(a, b, 3, 1, d, d, bias=False), nn.BatchNorm2d(b, momentum=0.95), nn.PReLU(b)]
                    a = b
                return nn.Sequential(*layers, nn.Conv2d(b, n, 3, 1, 1), nn.PReLU(n))
            self.a, self.b, self.c = convs(4, c, c, 1, 2), convs(4 * c, 2 * c, 2 * c, 2, 1), convs(8 * c, 4 * c, 8 * c, 2, 3, 3, 2)
            self.d, self.e, self.f = convs(2 * c, 2 * c, 4 * c, 1, 2), convs(c, c, c, 2, 1), nn.Conv2d(c, 4, 3, 1, 1)

        def forward(self, x):
            a = self.a(split(x))
            b = self.b(split(a))
            y = joined(self.c(split(b))) + b
            y = joined(self.d(y)) + a
            return joined(self.f(self.e(y))) + x
    return Net(), lambda b: torch.zeros(b, 1, 192, 192), "mse"


def weighed_neighbours():
    """Noise out of path-traced frames: a network writes 49 weights for each pixel, at three sizes, used on two frames."""
    def filtered(x, raw, k=7):
        b, c, h, w = x.shape
        near = F.unfold(F.pad(x, (k // 2,) * 4, mode="replicate"), k).view(b, c, k * k, h, w)
        return (near * raw.softmax(1).unsqueeze(1)).sum(2)

    class Net(nn.Module):
        def __init__(self, c=48, k=7):
            super().__init__()
            def pair(a, b):
                return nn.Sequential(nn.Conv2d(a, b, 3, 1, 1, padding_mode="replicate"), nn.ReLU(), nn.Conv2d(b, b, 3, 1, 1), nn.ReLU())
            self.a, self.b, self.c = pair(16, c), pair(c, 2 * c), pair(2 * c, 3 * c)
            self.d, self.e = pair(5 * c, 2 * c), pair(3 * c, c)
            self.out = nn.ModuleList(nn.Conv2d(n, 2 * k * k, 1) for n in (3 * c, 2 * c, c))
            self.blend = nn.ModuleList(nn.Conv2d(n, 1, 1) for n in (2 * c, c))
            self.old = nn.Conv2d(c, 1, 1)

        def forward(self, colour, guide, before, motion, goal):
            h, w = colour.shape[-2:]
            line = [torch.linspace(-1, 1, n, device=colour.device) for n in (w, h)]
            grid = torch.stack(torch.meshgrid(*line, indexing="xy"), -1) + 0.02 * motion.permute(0, 2, 3, 1)
            before = F.grid_sample(before, grid, mode="bicubic", padding_mode="border", align_corners=True)
            colour, before = torch.log1p(colour.abs()), torch.log1p(before.abs())
            a = self.a(torch.cat([colour, before, guide], 1))
            b = self.b(F.max_pool2d(a, 2))
            y, made = self.c(F.avg_pool2d(b, 2)), None
            for n, scale in enumerate((4, 2, 1)):
                one, two = (F.avg_pool2d(t, scale) if scale > 1 else t for t in (colour, before))
                raw = self.out[n](y)
                now = filtered(one, raw[:, :49]) + filtered(two, raw[:, 49:])
                if made is not None:
                    keep = torch.sigmoid(self.blend[n - 1](y))
                    fine = F.interpolate(F.avg_pool2d(now, 2), scale_factor=2, mode="nearest")
                    now = now - keep * fine + keep * F.interpolate(made, scale_factor=2, mode="nearest")
                made = now
                if n < 2:
                    y = (self.d, self.e)[n](torch.cat([F.interpolate(y, scale_factor=2, mode="bilinear"), (b, a)[n]], 1))
            made = torch.lerp(made, before, torch.sigmoid(self.old(y)))
            wanted = torch.log1p(goal.abs())
            error = (made - wanted).abs() / (made.detach().abs() + wanted.abs() + 0.01)
            slope = F.l1_loss(made.diff(dim=-1), wanted.diff(dim=-1)) + F.l1_loss(made.diff(dim=-2), wanted.diff(dim=-2))
            return Result(error.mean() + slope)

    def inputs(b):
        return torch.zeros(b, 3, 128, 128), torch.zeros(b, 10, 128, 128), torch.zeros(b, 3, 128, 128), torch.zeros(b, 2, 128, 128), torch.zeros(b, 3, 128, 128)
    return Net(), inputs, "own"


def sliced_grids():
    """Photographs as an expert would tune them: a small picture gives a grid of colour matrices, sliced by place and brightness."""
    class Net(nn.Module):
        def __init__(self, c=8, depth=8):
            super().__init__()
            self.depth = depth
            def conv(a, b, stride=2, norm=True):
                return nn.Sequential(nn.Conv2d(a, b, 3, stride, 1, bias=not norm), nn.BatchNorm2d(b) if norm else nn.Identity(), nn.ReLU())
            self.splat = nn.Sequential(conv(3, c, norm=False), conv(c, 2 * c), conv(2 * c, 4 * c), conv(4 * c, 8 * c))
            self.wide = nn.Sequential(conv(8 * c, 8 * c), conv(8 * c, 8 * c), nn.Flatten(), nn.Linear(16 * 8 * c, 32 * c), nn.BatchNorm1d(32 * c), nn.ReLU(), nn.Linear(32 * c, 8 * c))
            self.local = nn.Sequential(conv(8 * c, 8 * c, 1), nn.Conv2d(8 * c, 8 * c, 3, 1, 1, bias=False))
            self.out = nn.Conv2d(8 * c, 12 * depth, 1)
            self.colour, self.shift, self.slope = nn.Conv2d(3, 3, 1), nn.Parameter(torch.linspace(0, 1, 16).repeat(3, 1)), nn.Parameter(torch.ones(3, 16) / 16)
            self.guide = nn.Conv2d(3, 1, 1)

        def forward(self, x, goal):
            b, _, h, w = x.shape
            y = self.splat(F.interpolate(x, size=(256, 256), mode="area"))
            y = F.relu(self.local(y) + self.wide(y).view(b, -1, 1, 1))
            grid = self.out(y).unflatten(1, (12, self.depth))
            bent = self.colour(x).unsqueeze(2) - self.shift.view(1, 3, 16, 1, 1)
            guide = torch.tanh(self.guide((self.slope.view(1, 3, 16, 1, 1) * F.relu(bent)).sum(2)))
            line = [torch.linspace(-1, 1, n, device=x.device) for n in (h, w)]
            v, u = torch.meshgrid(*line, indexing="ij")
            at = torch.stack([u.expand(b, -1, -1), v.expand(b, -1, -1), guide.squeeze(1)], -1).unsqueeze(1)
            matrix = F.grid_sample(grid, at, mode="bilinear", padding_mode="border", align_corners=True).squeeze(2).unflatten(1, (3, 4))
            y = (matrix[:, :, :3] * x.unsqueeze(1)).sum(2) + matrix[:, :, 3]
            angle = 1 - F.cosine_similarity(y, goal, dim=1).mean()
            return Result(F.mse_loss(y, goal) + 0.1 * angle)
    return Net(), lambda b: (torch.zeros(b, 3, 512, 512), torch.zeros(b, 3, 512, 512)), "own"


def large_filters():
    """Rocks under the microscope: depthwise filters of 31, 29, 27 and 13 with small ones beside them, and dense layers."""
    class Mix(nn.Module):
        def __init__(self, c, k):
            super().__init__()
            self.into = nn.Sequential(nn.BatchNorm2d(c), nn.Conv2d(c, c, 1, bias=False), nn.BatchNorm2d(c), nn.ReLU())
            self.large = nn.Sequential(nn.Conv2d(c, c, k, 1, k // 2, groups=c, bias=False), nn.BatchNorm2d(c))
            self.small = nn.Sequential(nn.Conv2d(c, c, 5, 1, 2, groups=c, bias=False), nn.BatchNorm2d(c))
            self.out = nn.Sequential(nn.ReLU(), nn.Conv2d(c, c, 1, bias=False), nn.BatchNorm2d(c))
            self.f = nn.Sequential(nn.BatchNorm2d(c), nn.Conv2d(c, 4 * c, 1, bias=False), nn.BatchNorm2d(4 * c), nn.GELU(), nn.Conv2d(4 * c, c, 1, bias=False), nn.BatchNorm2d(c))

        def forward(self, x):
            y = self.into(x)
            x = x + self.out(self.large(y) + self.small(y))
            return x + self.f(x)

    class Net(nn.Module):
        def __init__(self, widths=(64, 128, 192, 256), sizes=(31, 29, 27, 13), kinds=56):
            super().__init__()
            def shrink(a, b):
                return nn.Sequential(nn.Conv2d(a, b, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(), nn.Conv2d(b, b, 3, 2, 1, groups=b, bias=False), nn.BatchNorm2d(b), nn.ReLU())
            layers = [nn.Conv2d(3, 64, 3, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 64, 3, 1, 1, groups=64, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
            for a, b, k in zip((64, *widths), widths, sizes):
                layers += [shrink(a, b), Mix(b, k), Mix(b, k)]
            self.f = nn.Sequential(*layers, nn.BatchNorm2d(widths[-1]), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], kinds))

        def forward(self, x):
            return self.f(x)
    return Net(), lambda b: torch.zeros(b, 3, 192, 192), "classes"


def filled_walls():
    """Holes in pictures of walls: half of the channels are filtered in Fourier space, with reflected borders and masks."""
    class Waves(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.first = nn.Sequential(nn.Conv2d(a, b // 2, 1, bias=False), nn.BatchNorm2d(b // 2), nn.ReLU(True))
            self.mix = nn.Sequential(nn.Conv2d(b, b, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True))
            self.last = nn.Conv2d(b // 2, b, 1, bias=False)

        def forward(self, x):
            x = self.first(x)
            y = torch.fft.rfftn(x.float(), dim=(-2, -1), norm="ortho")
            y = self.mix(torch.view_as_real(y).permute(0, 1, 4, 2, 3).flatten(1, 2))
            y = torch.view_as_complex(y.float().unflatten(1, (-1, 2)).permute(0, 1, 3, 4, 2).contiguous())
            return self.last(x + torch.fft.irfftn(y, s=x.shape[-2:], dim=(-2, -1), norm="ortho"))

    class Half(nn.Module):
        def __init__(self, near, far):
            super().__init__()
            def conv(a, b):
                return nn.Conv2d(a, b, 3, 1, 1, bias=False, padding_mode="reflect")
            self.nn, self.nf, self.fn, self.ff = conv(near, near), conv(near, far), conv(far, near), Waves(far, far)
            self.n1, self.n2 = nn.BatchNorm2d(near), nn.BatchNorm2d(far)

        def forward(self, x, y):
            return F.relu(self.n1(self.nn(x) + self.fn(y))), F.relu(self.n2(self.nf(x) + self.ff(y)))

    class Net(nn.Module):
        def __init__(self, c=48, depth=4):
            super().__init__()
            def conv(a, b, k, stride):
                return nn.Sequential(nn.Conv2d(a, b, k, stride, k // 2, bias=False, padding_mode="reflect"), nn.BatchNorm2d(b), nn.ReLU(True))
            self.down = nn.Sequential(conv(4, c, 7, 1), conv(c, 2 * c, 3, 2), conv(2 * c, 4 * c, 3, 2))
            self.far = 3 * c
            self.blocks = nn.ModuleList(nn.ModuleList([Half(c, 3 * c), Half(c, 3 * c)]) for _ in range(depth))
            def grow(a, b):
                return nn.Sequential(nn.ConvTranspose2d(a, b, 3, 2, 1, 1), nn.BatchNorm2d(b), nn.ReLU(True))
            self.up = nn.Sequential(grow(4 * c, 2 * c), grow(2 * c, c), nn.ReflectionPad2d(3), nn.Conv2d(c, 3, 7), nn.Sigmoid())

        def forward(self, x, drawn):
            hole = (F.avg_pool2d(drawn, 15, 1, 7) > 0.05).float()
            y = self.down(torch.cat([x * (1 - hole), hole], 1))
            near, far = y[:, :-self.far], y[:, -self.far:]
            for one, two in self.blocks:
                a, b = two(*one(near, far))
                near, far = near + a, far + b
            y = self.up(torch.cat([near, far], 1))
            y = hole * y + (1 - hole) * x
            wide = sum((F.max_pool2d(y, k) - F.max_pool2d(x, k)).abs().mean() for k in (2, 4, 8))
            return Result((hole * (y - x).abs()).mean() * 10 + (y - x).abs().mean() + wide / math.sqrt(3))
    return Net(), lambda b: (torch.zeros(b, 3, 128, 128), torch.zeros(b, 1, 128, 128)), "own"


NETWORKS = {f.__name__: f for f in (crossed_channels, overlapping_windows, aligned_bursts, wavelet_levels, weighed_neighbours,
                                    sliced_grids, large_filters, filled_walls)}
STEPS = {"crossed_channels": ("amp-bf16", 4, "nchw", "adamw"), "overlapping_windows": ("tf32", 4, "nchw", "adam"),
         "aligned_bursts": ("fp32", 2, "nchw", "adam"), "wavelet_levels": ("amp-fp16", 16, "nhwc", "adam"),
         "weighed_neighbours": ("tf32", 4, "nhwc", "adamw"), "sliced_grids": ("fp32", 6, "nchw", "adam"),
         "large_filters": ("amp-fp16", 8, "nchw", "adamw"), "filled_walls": ("amp-bf16", 8, "nhwc", "adam")}
