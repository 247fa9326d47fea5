# SPDX-License-Identifier: Apache-2.0
"""practice_first.py - networks for practice: pictures and video. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result


def warped_pyramid():
    """Optical flow from coarse to fine: features are warped by the flow so far and compared at 81 shifts."""
    def conv(i, o, stride=1, dilation=1):
        return nn.Sequential(nn.Conv2d(i, o, 3, stride, dilation, dilation), nn.LeakyReLU(0.1, inplace=True))

    class Net(nn.Module):
        def __init__(self, wide=(16, 32, 64, 96, 128), reach=4):
            super().__init__()
            self.reach = reach
            self.down = nn.ModuleList(nn.Sequential(conv(i, o, 2), conv(o, o)) for i, o in zip((3, *wide), wide))
            count = (2 * reach + 1) ** 2
            self.guess = nn.ModuleList()
            for n, c in enumerate(reversed(wide[1:])):
                more = c + (2 if n else 0)
                self.guess.append(nn.Sequential(conv(count + more, 128), conv(128, 128), conv(128, 96), conv(96, 64), conv(64, 32),
                                                nn.Conv2d(32, 2, 3, padding=1)))
            self.context = nn.Sequential(conv(2 + wide[1], 128), conv(128, 128, 1, 2), conv(128, 96, 1, 4), conv(96, 64, 1, 8),
                                         conv(64, 32), nn.Conv2d(32, 2, 3, padding=1))

        def compared(self, a, b):
            h, w, r = *a.shape[2:], self.reach
            b = F.pad(b, (r, r, r, r))
            return torch.cat([(a * b[:, :, y:y + h, x:x + w]).mean(1, keepdim=True)
                              for y in range(2 * r + 1) for x in range(2 * r + 1)], 1)

        @staticmethod
        def warped(x, flow):
            h, w = x.shape[2:]
            y, z = torch.meshgrid(torch.linspace(-1, 1, h, device=x.device), torch.linspace(-1, 1, w, device=x.device), indexing="ij")
            scale = torch.tensor([2 / (w - 1), 2 / (h - 1)], device=x.device)
            grid = torch.stack([z, y], -1) + flow.permute(0, 2, 3, 1) * scale
            out = F.grid_sample(x, grid, padding_mode="zeros", align_corners=True)
            inside = F.grid_sample(torch.ones_like(x[:, :1]), grid, align_corners=True)
            return out * (inside > 0.999).to(out.dtype)

        def forward(self, first, second, true):
            a, b, maps = first, second, []
            for f in self.down:
                a, b = f(a), f(b)
                maps.append((a, b))
            flow, loss = None, 0
            for (a, b), f, weight in zip(reversed(maps[1:]), self.guess, (0.32, 0.08, 0.02, 0.01)):
                if flow is None:
                    flow = f(torch.cat([F.leaky_relu(self.compared(a, b), 0.1), a], 1))
                else:
                    up = 2 * F.interpolate(flow, scale_factor=2, mode="bilinear", align_corners=False)
                    cost = F.leaky_relu(self.compared(a, self.warped(b, up)), 0.1)
                    flow = up + f(torch.cat([cost, a, up], 1))
                small = F.adaptive_avg_pool2d(true, flow.shape[2:])
                loss = loss + weight * (flow - small).norm(p=2, dim=1).mean()
            flow = flow + self.context(torch.cat([flow, a], 1))
            flow = F.interpolate(flow, scale_factor=4, mode="bilinear", align_corners=False)
            return Result(loss + 0.005 * ((flow - true).abs().sum(1) + 0.01).pow(0.4).mean())

    def inputs(b):
        return torch.zeros(b, 3, 384, 448), torch.zeros(b, 3, 384, 448), torch.zeros(b, 2, 384, 448)
    return Net(), inputs, "own"


def body_points():
    """Seventeen points of a person: inverted bottlenecks with squeezing, three deconvolutions, and soft coordinates."""
    class Unit(nn.Module):
        def __init__(self, i, o, stride, grow, size):
            super().__init__()
            c = i * grow
            self.a = nn.Sequential(nn.Conv2d(i, c, 1, bias=False), nn.BatchNorm2d(c), nn.SiLU(inplace=True),
                                   nn.Conv2d(c, c, size, stride, size // 2, groups=c, bias=False), nn.BatchNorm2d(c),
                                   nn.SiLU(inplace=True))
            self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, i // 4, 1), nn.SiLU(), nn.Conv2d(i // 4, c, 1),
                                         nn.Sigmoid())
            self.b = nn.Sequential(nn.Conv2d(c, o, 1, bias=False), nn.BatchNorm2d(o))
            self.same = i == o and stride == 1

        def forward(self, x):
            y = self.a(x)
            y = self.b(y * self.squeeze(y))
            return x + y if self.same else y

    class Net(nn.Module):
        def __init__(self, points=17):
            super().__init__()
            body, i = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.SiLU(inplace=True)], 32
            for o, n, stride, size in ((24, 2, 2, 3), (40, 3, 2, 5), (80, 4, 2, 3), (112, 4, 1, 5), (192, 4, 2, 5)):
                for k in range(n):
                    body.append(Unit(i, o, stride if k == 0 else 1, 4, size))
                    i = o
            for _ in range(3):
                body += [nn.ConvTranspose2d(i, 256, 4, 2, 1, bias=False), nn.BatchNorm2d(256), nn.ReLU(inplace=True)]
                i = 256
            self.body, self.out = nn.Sequential(*body), nn.Conv2d(256, points, 1)

        def forward(self, picture, place, seen):
            heat = self.out(self.body(picture)).float()
            h, w = heat.shape[2:]
            chance = heat.flatten(2).softmax(-1).view_as(heat)
            x = (chance.sum(2) * torch.linspace(-1, 1, w, device=heat.device)).sum(-1)
            y = (chance.sum(3) * torch.linspace(-1, 1, h, device=heat.device)).sum(-1)
            found = torch.stack([x, y], -1)
            px, py = torch.linspace(-1, 1, w, device=heat.device), torch.linspace(-1, 1, h, device=heat.device)
            gx = torch.exp(-(px - place[..., :1]).pow(2) / 0.01)
            gy = torch.exp(-(py - place[..., 1:]).pow(2) / 0.01)
            true = gy.unsqueeze(-1) * gx.unsqueeze(-2)
            weight = (seen > 0).float()
            spread = ((heat - true).pow(2).mean((2, 3)) * weight).mean()
            return Result(spread + 0.1 * ((found - place).abs().sum(-1) * weight).sum() / (weight.sum() + 1))
    return Net(), lambda b: (torch.zeros(b, 3, 256, 192), torch.zeros(b, 17, 2), torch.zeros(b, 17)), "own"


def mixed_kernels():
    """Plants of 100 kinds: each picture mixes its own filters out of four, and all pictures are one grouped convolution."""
    class Mixed(nn.Module):
        def __init__(self, i, o, size=3, stride=1, experts=4):
            super().__init__()
            self.stride, self.size = stride, size
            self.weight = nn.Parameter(torch.randn(experts, o, i, size, size) / math.sqrt(i * size * size))
            self.route = nn.Linear(i, experts)

        def forward(self, x):
            b, c, h, w = x.shape
            share = torch.sigmoid(self.route(x.mean((2, 3))))
            weight = torch.einsum("be,eoikl->boikl", share, self.weight.to(share.dtype))
            y = F.conv2d(x.reshape(1, b * c, h, w), weight.flatten(0, 1), stride=self.stride, padding=self.size // 2, groups=b)
            return y.view(b, -1, *y.shape[2:])

    class Unit(nn.Module):
        def __init__(self, i, o, stride):
            super().__init__()
            self.a, self.n1 = Mixed(i, o, 3, stride), nn.BatchNorm2d(o)
            self.b, self.n2 = Mixed(o, o), nn.BatchNorm2d(o)
            self.skip = nn.Sequential(nn.AvgPool2d(stride, ceil_mode=True), nn.Conv2d(i, o, 1)) if i != o else nn.Identity()

        def forward(self, x):
            y = F.hardswish(self.n1(self.a(x)))
            return F.hardswish(self.n2(self.b(y)) + self.skip(x))

    class Net(nn.Module):
        def __init__(self, wide=(48, 96, 192, 320), kinds=100):
            super().__init__()
            body = [nn.Conv2d(3, 48, 5, 2, 2), nn.BatchNorm2d(48), nn.Hardswish()]
            for n, (i, o) in enumerate(zip((48, *wide), wide)):
                body += [Unit(i, o, 2 if n else 1), Unit(o, o, 1)]
            self.body, self.out = nn.Sequential(*body), nn.Sequential(nn.Dropout(0.2), nn.Linear(wide[-1], kinds))

        def forward(self, x):
            return self.out(self.body(x).mean((2, 3)))
    return Net(), lambda b: torch.zeros(b, 3, 160, 160), "cross-entropy"


def bent_filters():
    """Streets in 19 kinds: the last stages bend their filters by learned offsets, and pooled context of four sizes joins."""
    from torchvision.ops import deform_conv2d

    class Bent(nn.Module):
        def __init__(self, i, o, dilation=1):
            super().__init__()
            self.dilation = dilation
            self.offset = nn.Conv2d(i, 27, 3, padding=dilation, dilation=dilation)
            self.weight = nn.Parameter(torch.randn(o, i, 3, 3) / math.sqrt(9 * i))
            nn.init.zeros_(self.offset.weight)

        def forward(self, x):
            y, z, mask = self.offset(x).chunk(3, 1)
            return deform_conv2d(x, torch.cat([y, z], 1), self.weight, padding=self.dilation, dilation=self.dilation,
                                 mask=torch.sigmoid(mask))

    class Unit(nn.Module):
        def __init__(self, i, o, stride=1, bent=False, dilation=1):
            super().__init__()
            m = o // 4
            middle = Bent(m, m, dilation) if bent else nn.Conv2d(m, m, 3, stride, 1, bias=False)
            self.f = nn.Sequential(nn.Conv2d(i, m, 1, bias=False), nn.BatchNorm2d(m), nn.ReLU(inplace=True), middle,
                                   nn.BatchNorm2d(m), nn.ReLU(inplace=True), nn.Conv2d(m, o, 1, bias=False), nn.BatchNorm2d(o))
            self.skip = nn.Identity() if i == o else nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

        def forward(self, x):
            return F.relu(self.f(x) + self.skip(x))

    class Net(nn.Module):
        def __init__(self, kinds=19):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
            self.low = nn.Sequential(Unit(64, 256), Unit(256, 256))
            self.mid = nn.Sequential(Unit(256, 512, 2), Unit(512, 512), Unit(512, 512, bent=True))
            self.top = nn.Sequential(Unit(512, 1024, 1, True, 2), Unit(1024, 1024, 1, True, 2), Unit(1024, 1024, 1, True, 4))
            self.pool = nn.ModuleList(nn.Sequential(nn.AdaptiveAvgPool2d(s), nn.Conv2d(1024, 128, 1), nn.ReLU()) for s in (1, 2, 3, 6))
            self.join = nn.Sequential(nn.Conv2d(1024 + 512, 256, 3, padding=1, bias=False), nn.BatchNorm2d(256), nn.ReLU())
            self.fine = nn.Conv2d(256, 48, 1)
            self.out = nn.Sequential(nn.Conv2d(304, 256, 3, padding=1), nn.ReLU(), nn.Conv2d(256, kinds, 1))

        def forward(self, x):
            low = self.low(self.stem(x))
            top = self.top(self.mid(low))
            size = top.shape[2:]
            top = self.join(torch.cat([top, *(F.interpolate(f(top), size=size, mode="bilinear") for f in self.pool)], 1))
            y = F.interpolate(top, size=low.shape[2:], mode="bilinear", align_corners=False)
            y = self.out(torch.cat([y, self.fine(low)], 1))
            return F.interpolate(y, size=x.shape[2:], mode="bilinear", align_corners=False)
    return Net(), lambda b: torch.zeros(b, 3, 320, 480), "channels"


def blurred_strides():
    """A classifier that shifts do not disturb: standardised filters, group norms, and a blur before each stride."""
    class Standard(nn.Conv2d):
        def forward(self, x):
            w = self.weight
            v, m = torch.var_mean(w, dim=(1, 2, 3), keepdim=True, unbiased=False)
            return F.conv2d(x, (w - m) / torch.sqrt(v + 1e-10), self.bias, self.stride, self.padding, self.dilation, self.groups)

    class Blur(nn.Module):
        def __init__(self, c):
            super().__init__()
            a = torch.tensor([1.0, 3.0, 3.0, 1.0])
            k = a[:, None] * a[None, :]
            self.register_buffer("k", (k / k.sum()).expand(c, 1, 4, 4).contiguous())

        def forward(self, x):
            return F.conv2d(F.pad(x, (1, 2, 1, 2), mode="reflect"), self.k, stride=2, groups=x.shape[1])

    class Unit(nn.Module):
        def __init__(self, i, o, down):
            super().__init__()
            m = o // 4
            self.n = nn.ModuleList(nn.GroupNorm(32, c) for c in (i, m, m))
            self.a, self.b, self.c = Standard(i, m, 1), Standard(m, m, 3, padding=1), Standard(m, o, 1)
            self.down = Blur(m) if down else nn.Identity()
            skip = [Blur(i)] if down else []
            self.skip = nn.Sequential(*skip, Standard(i, o, 1)) if i != o else nn.Identity()

        def forward(self, x):
            y = F.relu(self.n[0](x))
            skip = self.skip(y) if not isinstance(self.skip, nn.Identity) else x
            y = F.relu(self.n[1](self.a(y)))
            y = self.down(F.relu(self.n[2](self.b(y))))
            return skip + self.c(y)

    class Net(nn.Module):
        def __init__(self, kinds=365):
            super().__init__()
            body, i = [Standard(3, 64, 7, 2, 3), nn.MaxPool2d(3, 1, 1), Blur(64)], 64
            for o, n in ((256, 2), (512, 3), (1024, 4), (2048, 2)):
                for k in range(n):
                    body.append(Unit(i, o, k == 0 and o > 256))
                    i = o
            self.body = nn.Sequential(*body, nn.GroupNorm(32, i), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(i, kinds))

        def forward(self, x):
            return self.body(x)
    return Net(), lambda b: torch.zeros(b, 3, 224, 224), "cross-entropy"


def raw_night():
    """Night pictures from the raw sensor: gates without activations, norms over channels, a packed mosaic and shuffling."""
    class Norm(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.g, self.b = nn.Parameter(torch.ones(c)), nn.Parameter(torch.zeros(c))

        def forward(self, x):
            m = x.mean(1, keepdim=True)
            v = (x - m).pow(2).mean(1, keepdim=True)
            return (x - m) / (v + 1e-6).sqrt() * self.g.view(1, -1, 1, 1) + self.b.view(1, -1, 1, 1)

    def gate(x):
        a, b = x.chunk(2, 1)
        return a * b

    class Unit(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.n1, self.n2 = Norm(c), Norm(c)
            self.a, self.b = nn.Conv2d(c, 2 * c, 1), nn.Conv2d(2 * c, 2 * c, 3, padding=1, groups=2 * c)
            self.s, self.c = nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 1)
            self.d, self.e = nn.Conv2d(c, 2 * c, 1), nn.Conv2d(c, c, 1)
            self.beta, self.gamma = nn.Parameter(torch.zeros(1, c, 1, 1)), nn.Parameter(torch.zeros(1, c, 1, 1))

        def forward(self, x):
            y = gate(self.b(self.a(self.n1(x))))
            y = y * self.s(F.adaptive_avg_pool2d(y, 1))
            x = x + self.c(y) * self.beta
            return x + self.e(gate(self.d(self.n2(x)))) * self.gamma

    class Net(nn.Module):
        def __init__(self, c=32, depth=(2, 2, 4, 6)):
            super().__init__()
            self.first, self.last = nn.Conv2d(4, c, 3, padding=1), nn.Conv2d(c, 12, 3, padding=1)
            self.down, self.shrink, self.grow, self.up = (nn.ModuleList() for _ in range(4))
            for n in depth[:-1]:
                self.down.append(nn.Sequential(*(Unit(c) for _ in range(n))))
                self.shrink.append(nn.Conv2d(c, 2 * c, 2, 2))
                self.grow.insert(0, nn.Sequential(nn.Conv2d(2 * c, 4 * c, 1, bias=False), nn.PixelShuffle(2)))
                self.up.insert(0, nn.Sequential(*(Unit(c) for _ in range(2))))
                c *= 2
            self.mid = nn.Sequential(*(Unit(c) for _ in range(depth[-1])))

        def forward(self, raw, clean):
            x = self.first(F.pixel_unshuffle(raw, 2))
            kept = []
            for f, g in zip(self.down, self.shrink):
                x = f(x)
                kept.append(x)
                x = g(x)
            x = self.mid(x)
            for g, f in zip(self.grow, self.up):
                x = f(g(x) + kept.pop())
            made = F.pixel_shuffle(self.last(x), 2).float()
            return Result(torch.sqrt((made - clean).pow(2) + 1e-6).mean())
    return Net(), lambda b: (torch.zeros(b, 1, 384, 384), torch.zeros(b, 3, 384, 384)), "own"


def mined_anchors():
    """Signs in the street: boxes of six map sizes, a loss over the hardest negatives, three for each positive."""
    def unit(i, o, stride=1):
        return nn.Sequential(nn.Conv2d(i, i, 3, stride, 1, groups=i, bias=False), nn.BatchNorm2d(i), nn.ReLU6(inplace=True),
                             nn.Conv2d(i, o, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU6(inplace=True))

    class Net(nn.Module):
        def __init__(self, kinds=44, anchors=6):
            super().__init__()
            self.kinds = kinds
            stem = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6(inplace=True)]
            for i, o, s in ((32, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1),
                            (512, 512, 1), (512, 512, 1)):
                stem.append(unit(i, o, s))
            self.parts = nn.ModuleList([nn.Sequential(*stem), nn.Sequential(unit(512, 1024, 2), unit(1024, 1024))])
            for i, m, o in ((1024, 256, 512), (512, 128, 256), (256, 128, 256), (256, 64, 128)):
                self.parts.append(nn.Sequential(nn.Conv2d(i, m, 1), nn.ReLU6(), unit(m, o, 2)))
            outs = (512, 1024, 512, 256, 256, 128)
            self.kind = nn.ModuleList(nn.Conv2d(c, anchors * kinds, 3, padding=1) for c in outs)
            self.box = nn.ModuleList(nn.Conv2d(c, anchors * 4, 3, padding=1) for c in outs)

        def forward(self, picture, scores):
            x, kind, box = picture, [], []
            for f, k, o in zip(self.parts, self.kind, self.box):
                x = f(x)
                kind.append(k(x).permute(0, 2, 3, 1).reshape(len(x), -1, self.kinds))
                box.append(o(x).permute(0, 2, 3, 1).reshape(len(x), -1, 4))
            kind, box = torch.cat(kind, 1).float(), torch.cat(box, 1).float()
            n = kind.shape[1]
            true = scores[:, :n]
            positive = true > 2.3
            target = torch.where(positive, torch.ones_like(true), torch.zeros_like(true)).long()
            loss = F.cross_entropy(kind.transpose(1, 2), target, reduction="none")
            with torch.no_grad():
                hard = loss.masked_fill(positive, 0)
                rank = hard.argsort(1, descending=True).argsort(1)
                negative = rank < 3 * positive.sum(1, keepdim=True)
            count = positive.sum().clamp(min=1)
            side = F.smooth_l1_loss(box, torch.zeros_like(box), reduction="none").sum(-1)
            return Result(((loss * (positive | negative)).sum() + (side * positive).sum()) / count)

    def inputs(b):
        return torch.zeros(b, 3, 320, 320), torch.zeros(b, 6 * 600)
    return Net(), inputs, "own"


def crowd_mass():
    """People in crowds: a density map, moved onto dots by entropic transport in 50 rounds on the log scale."""
    class Net(nn.Module):
        def __init__(self, points=128, size=28):
            super().__init__()
            body, i = [], 3
            for o in (64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512):
                if o == "M":
                    body.append(nn.MaxPool2d(2))
                    continue
                body += [nn.Conv2d(i, o, 3, padding=1), nn.ReLU(inplace=True)]
                i = o
            self.body = nn.Sequential(*body)
            self.mid = nn.Sequential(nn.Conv2d(512, 256, 3, padding=2, dilation=2), nn.ReLU(), nn.Conv2d(256, 128, 3, padding=4, dilation=4),
                                     nn.ReLU())
            self.out, self.size = nn.Sequential(nn.Conv2d(128, 1, 1), nn.ReLU()), size
            line = (torch.arange(size).float() + 0.5) / size
            self.register_buffer("place", torch.cartesian_prod(line, line), persistent=False)

        @torch.no_grad()
        def moved(self, a, b, cost, reach=0.01, rounds=50):
            """The potential of the first masses."""
            k, u, v = -cost / reach, torch.zeros_like(a), torch.zeros_like(b)
            a, b = (a + 1e-9).log(), (b + 1e-9).log()
            for _ in range(rounds):
                v = b - torch.logsumexp(k + u.unsqueeze(2), 1)
                u = a - torch.logsumexp(k + v.unsqueeze(1), 2)
            return reach * u

        def forward(self, picture, dots):
            x = F.interpolate(self.body(picture), scale_factor=2, mode="bilinear")
            map = (self.out(self.mid(x)).flatten(1) + 1e-6).float()
            count = map.sum(1, keepdim=True)
            share = map / count
            cost = torch.cdist(self.place.expand(len(map), -1, -1), torch.sigmoid(dots)).pow(2)
            even = torch.full_like(dots[..., 0], 1 / dots.shape[1])
            potential = self.moved(share, even, cost)
            grad = potential / count - (potential * share).sum(1, keepdim=True) / count
            return Result((count - dots.shape[1]).abs().mean() + 0.1 * (grad.detach() * map).sum(1).mean())
    return Net(), lambda b: (torch.zeros(b, 3, 224, 224), torch.zeros(b, 128, 2)), "own"


def split_time_filters():
    """Surgery in clips: 3-D filters split into space and time, and channels weighted by the whole clip."""
    class Split(nn.Sequential):
        def __init__(self, i, o, stride=(1, 1)):
            m = (i * o * 27) // (i * 9 + 3 * o)
            super().__init__(nn.Conv3d(i, m, (1, 3, 3), (1, stride[1], stride[1]), (0, 1, 1), bias=False), nn.BatchNorm3d(m),
                             nn.ReLU(inplace=True), nn.Conv3d(m, o, (3, 1, 1), (stride[0], 1, 1), (1, 0, 0), bias=False),
                             nn.BatchNorm3d(o))

    class Unit(nn.Module):
        def __init__(self, i, o, stride):
            super().__init__()
            self.a, self.b = Split(i, o, stride), Split(o, o)
            self.squeeze = nn.Sequential(nn.Linear(o, o // 8), nn.LayerNorm(o // 8), nn.ReLU(), nn.Linear(o // 8, o), nn.Sigmoid())
            self.skip = nn.Identity() if i == o else nn.Sequential(
                nn.Conv3d(i, o, 1, (stride[0], stride[1], stride[1]), bias=False), nn.BatchNorm3d(o))

        def forward(self, x):
            y = self.b(F.relu(self.a(x)))
            y = y * self.squeeze(y.mean((2, 3, 4)))[..., None, None, None]
            return F.relu(y + self.skip(x))

    class Net(nn.Module):
        def __init__(self, phases=7, tools=23):
            super().__init__()
            self.body = nn.Sequential(Split(3, 64, (1, 2)), nn.ReLU(), Unit(64, 64, (1, 1)), Unit(64, 128, (2, 2)), Unit(128, 128, (1, 1)),
                                      Unit(128, 256, (2, 2)), Unit(256, 512, (2, 2)))
            self.phase, self.tool = nn.Linear(512, phases), nn.Linear(512, tools)

        def forward(self, clip, tools, labels):
            y = self.body(clip)
            frame = F.dropout(y.amax((3, 4)).transpose(1, 2), 0.5, self.training)
            loss = F.cross_entropy(self.phase(frame.mean(1)).float(), labels)
            return Result(loss + F.binary_cross_entropy_with_logits(self.tool(frame).amax(1).float(), (tools > 1).float()))

    def inputs(b):
        return {"clip": torch.zeros(b, 3, 16, 112, 112), "tools": torch.zeros(b, 23), "labels": torch.zeros(b, dtype=torch.int64)}
    return Net(), inputs, "own"


def object_slots():
    """Scenes as objects: seven slots compete for pixels in three rounds, and each slot paints its own picture and mask."""
    class Slots(nn.Module):
        def __init__(self, slots=7, c=64, rounds=3):
            super().__init__()
            self.slots, self.rounds, self.scale = slots, rounds, c ** -0.5
            self.middle, self.spread = nn.Parameter(torch.randn(1, 1, c)), nn.Parameter(torch.zeros(1, 1, c))
            self.q, self.k, self.v = (nn.Linear(c, c, bias=False) for _ in range(3))
            self.gru, self.mlp = nn.GRUCell(c, c), nn.Sequential(nn.Linear(c, 128), nn.ReLU(), nn.Linear(128, c))
            self.n, self.ns, self.nm = nn.LayerNorm(c), nn.LayerNorm(c), nn.LayerNorm(c)

        def forward(self, x):
            b, _, c = x.shape
            slots = self.middle + self.spread.exp() * torch.randn(b, self.slots, c, device=x.device)
            x = self.n(x)
            k, v = self.k(x), self.v(x)
            for _ in range(self.rounds):
                before = slots
                dots = torch.einsum("bic,bjc->bij", self.q(self.ns(slots)), k) * self.scale
                share = dots.softmax(1) + 1e-8
                share = share / share.sum(-1, keepdim=True)
                update = torch.einsum("bjc,bij->bic", v, share)
                slots = self.gru(update.reshape(-1, c), before.reshape(-1, c)).view(b, -1, c)
                slots = slots + self.mlp(self.nm(slots))
            return slots

    class Place(nn.Module):
        def __init__(self, c, size):
            super().__init__()
            line = torch.linspace(0, 1, size)
            a, b = torch.meshgrid(line, line, indexing="ij")
            self.register_buffer("grid", torch.stack([a, b, 1 - a, 1 - b], -1)[None], persistent=False)
            self.f = nn.Linear(4, c)

        def forward(self, x):
            return x + self.f(self.grid)

    class Net(nn.Module):
        def __init__(self, c=64, size=128):
            super().__init__()
            conv = [nn.Conv2d(3, c, 5, padding=2), nn.ReLU()]
            for _ in range(3):
                conv += [nn.Conv2d(c, c, 5, padding=2), nn.ReLU()]
            self.eye, self.place, self.again = nn.Sequential(*conv), Place(c, size), Place(c, 8)
            self.mlp = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, c), nn.ReLU(), nn.Linear(c, c))
            self.slots = Slots(7, c)
            up = []
            for _ in range(4):
                up += [nn.ConvTranspose2d(c, c, 5, 2, 2, output_padding=1), nn.ReLU()]
            self.up = nn.Sequential(*up, nn.ConvTranspose2d(c, c, 5, 1, 2), nn.ReLU(), nn.ConvTranspose2d(c, 4, 3, 1, 1))

        def forward(self, picture):
            x = self.place(self.eye(picture).permute(0, 2, 3, 1)).flatten(1, 2)
            slots = self.slots(self.mlp(x))
            y = slots.flatten(0, 1)[:, None, None].expand(-1, 8, 8, -1)
            y = self.up(self.again(y).permute(0, 3, 1, 2)).unflatten(0, slots.shape[:2])
            color, mask = y.split([3, 1], 2)
            return Result(F.mse_loss((color * mask.softmax(1)).sum(1), picture))
    return Net(), lambda b: torch.zeros(b, 3, 128, 128), "own"


def penalised_critic():
    """Stained tissue from unstained: a translator with instance norms and a critic whose gradient is held near one."""
    class Residual(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.f = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3), nn.InstanceNorm2d(c, affine=True), nn.ReLU(),
                                   nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3), nn.InstanceNorm2d(c, affine=True))

        def forward(self, x):
            return x + self.f(x)

    class Net(nn.Module):
        def __init__(self, c=48):
            super().__init__()
            self.made = nn.Sequential(nn.ReflectionPad2d(3), nn.Conv2d(1, c, 7), nn.InstanceNorm2d(c), nn.ReLU(),
                                      nn.Conv2d(c, 2 * c, 3, 2, 1), nn.InstanceNorm2d(2 * c), nn.ReLU(), *(Residual(2 * c) for _ in range(6)),
                                      nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(2 * c, c, 3, padding=1), nn.InstanceNorm2d(c),
                                      nn.ReLU(), nn.Conv2d(c, 3, 7, padding=3, padding_mode="reflect"), nn.Tanh())
            critic, i = [], 4
            for o in (64, 128, 256, 512):
                critic += [nn.Conv2d(i, o, 4, 2, 1), nn.LeakyReLU(0.2)]
                i = o
            self.critic = nn.Sequential(*critic, nn.Conv2d(i, 1, 4))

        def forward(self, plain, stained):
            made = self.made(plain)
            false = made.detach()
            part = torch.rand(len(plain), 1, 1, 1, device=plain.device)
            between = (part * stained + (1 - part) * false).requires_grad_(True)
            score = self.critic(torch.cat([between, plain], 1))
            grad = torch.autograd.grad(score.sum(), between, create_graph=True)[0]
            penalty = (grad.flatten(1).norm(2, dim=1) - 1).pow(2).mean()
            critic = self.critic(torch.cat([false, plain], 1)).mean() - self.critic(torch.cat([stained, plain], 1)).mean()
            fool = -self.critic(torch.cat([made, plain], 1)).mean()
            return Result(critic + 10 * penalty + 0.1 * fool + 10 * F.l1_loss(made, stained))
    return Net(), lambda b: (torch.zeros(b, 1, 192, 192), torch.zeros(b, 3, 192, 192)), "own"


NETWORKS = {f.__name__: f for f in (warped_pyramid, body_points, mixed_kernels, bent_filters, blurred_strides, raw_night,
                                    mined_anchors, crowd_mass, split_time_filters, object_slots, penalised_critic)}
STEPS = {"warped_pyramid": ("tf32", 8, "nchw", "adamw"), "body_points": ("amp-fp16", 64, "nhwc", "adam"),
         "mixed_kernels": ("fp32", 32, "nchw", "momentum"), "bent_filters": ("tf32", 8, "nchw", "momentum"),
         "blurred_strides": ("amp-bf16", 64, "nhwc", "momentum"), "raw_night": ("amp-bf16", 8, "nchw", "adamw"),
         "mined_anchors": ("amp-fp16", 32, "nhwc", "momentum"), "crowd_mass": ("tf32", 16, "nchw", "adam"),
         "split_time_filters": ("amp-fp16", 8, "nchw", "momentum"), "object_slots": ("tf32", 16, "nchw", "adam"),
         "penalised_critic": ("fp32", 6, "nchw", "adam")}
