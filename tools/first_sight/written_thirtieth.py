# SPDX-License-Identifier: Apache-2.0
"""written_thirtieth.py - the sixteenth set of networks: objects, masks, depth, matches, letters. See cases.py."""
import math

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from blocks import Encoder, Result, heads_first, heads_joined


def centre_points():
    """Objects as the peaks of a map: a residual network, three deconvolutions, heads for peaks, sizes and offsets."""
    class Net(nn.Module):
        def __init__(self, classes=80, c=64):
            super().__init__()
            r = torchvision.models.resnet34(weights=None)
            self.body = nn.Sequential(r.conv1, r.bn1, r.relu, r.maxpool, r.layer1, r.layer2, r.layer3, r.layer4)
            up, i = [], 512
            for o in (256, 128, 64):
                up += [nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
                       nn.ConvTranspose2d(o, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True)]
                i = o
            self.up = nn.Sequential(*up)
            self.heat, self.size, self.offset = (nn.Sequential(
                nn.Conv2d(i, c, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(c, o, 1)) for o in (classes, 2, 2))
            nn.init.constant_(self.heat[-1].bias, -2.19)

        @staticmethod
        def peaks(score, goal):
            p = score.float().sigmoid().clamp(1e-4, 1 - 1e-4)
            hit = goal.eq(1).float()
            loss = hit * p.log() * (1 - p) ** 2 + (1 - hit) * (1 - p).log() * p ** 2 * (1 - goal) ** 4
            return -loss.sum() / hit.sum().clamp(min=1)

        @staticmethod
        def at(x, place):
            x = x.permute(0, 2, 3, 1).flatten(1, 2)
            return x.gather(1, place.unsqueeze(-1).expand(-1, -1, x.shape[-1]))

        def forward(self, pictures, heat, place, known, size, offset):
            x = self.up(self.body(pictures))
            place, known = place.long(), (known > 0).float().unsqueeze(-1)
            many = known.sum() + 1e-4
            loss = self.peaks(self.heat(x), heat.clamp(0, 1))
            loss = loss + 0.1 * ((self.at(self.size(x), place) - size).abs() * known).sum() / many
            return Result(loss + ((self.at(self.offset(x), place) - offset).abs() * known).sum() / many)

    def inputs(b, n=128):
        place = (torch.arange(n) * 97 % 16384).int().repeat(b, 1)
        return (torch.zeros(b, 3, 512, 512), torch.zeros(b, 80, 128, 128), place, torch.zeros(b, n),
                torch.zeros(b, n, 2), torch.zeros(b, n, 2))
    return Net(), inputs, "own"


def prompted_masks():
    """Organs from a box: a transformer with windows and relative places reads the picture, tokens ask for masks."""
    class Look(nn.Module):
        def __init__(self, c, heads, side):
            super().__init__()
            self.heads, self.qkv, self.o = heads, nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.high, self.wide = (nn.Parameter(torch.zeros(2 * side - 1, c // heads)) for _ in range(2))
            place = torch.arange(side)
            self.register_buffer("far", place[:, None] - place[None] + side - 1, persistent=False)

        def forward(self, x):
            b, h, w, c = x.shape
            q, k, v = (heads_first(t, self.heads) for t in self.qkv(x.flatten(1, 2)).chunk(3, -1))
            grid = q.unflatten(2, (h, w))
            up = torch.einsum("bnhwc,hkc->bnhwk", grid, self.high[self.far])
            side = torch.einsum("bnhwc,wkc->bnhwk", grid, self.wide[self.far])
            bias = (up.unsqueeze(-1) + side.unsqueeze(-2)).flatten(4).flatten(2, 3)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype))
            return self.o(heads_joined(y)).view(b, h, w, c)

    class Block(nn.Module):
        def __init__(self, c, heads, window, side):
            super().__init__()
            self.window, self.n1, self.n2 = window, nn.LayerNorm(c), nn.LayerNorm(c)
            self.a = Look(c, heads, window or side)
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c))

        def windows(self, x):
            b, h, w, c = x.shape
            s = self.window
            y = F.pad(x, (0, 0, 0, -w % s, 0, -h % s))
            m, n = y.shape[1] // s, y.shape[2] // s
            y = self.a(y.view(b, m, s, n, s, c).transpose(2, 3).flatten(0, 2))
            return y.view(b, m, n, s, s, c).transpose(2, 3).reshape(b, m * s, n * s, c)[:, :h, :w]

        def forward(self, x):
            x = x + (self.windows(self.n1(x)) if self.window else self.a(self.n1(x)))
            return x + self.f(self.n2(x))

    class TwoWay(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.own, self.ask, self.back = (nn.MultiheadAttention(c, heads, batch_first=True) for _ in range(3))
            self.n1, self.n2, self.n3, self.n4 = (nn.LayerNorm(c) for _ in range(4))
            self.f = nn.Sequential(nn.Linear(c, 2048), nn.ReLU(), nn.Linear(2048, c))

        def forward(self, q, x, asked, place):
            y = q + asked
            q = self.n1(q + self.own(y, y, q, need_weights=False)[0])
            q = self.n2(q + self.ask(q + asked, x + place, x, need_weights=False)[0])
            q = self.n3(q + self.f(q))
            return q, self.n4(x + self.back(x + place, q + asked, q, need_weights=False)[0])

    class Net(nn.Module):
        def __init__(self, c=768, depth=12, heads=12, side=32, o=256, masks=3):
            super().__init__()
            self.patch, self.place = nn.Conv2d(3, c, 16, 16), nn.Parameter(torch.zeros(1, side, side, c))
            self.body = nn.Sequential(*(Block(c, heads, 0 if n % 3 == 2 else 14, side) for n in range(depth)))
            self.neck = nn.Sequential(nn.Conv2d(c, o, 1, bias=False), nn.GroupNorm(1, o),
                                      nn.Conv2d(o, o, 3, padding=1, bias=False), nn.GroupNorm(1, o))
            self.register_buffer("waves", torch.randn(2, o // 2), persistent=False)
            self.corner, self.tokens = nn.Parameter(torch.randn(2, o)), nn.Parameter(torch.randn(masks + 1, o))
            self.two, self.masks, self.side = nn.ModuleList(TwoWay(o, 8) for _ in range(2)), masks, side
            self.up = nn.Sequential(nn.ConvTranspose2d(o, o // 4, 2, 2), nn.GroupNorm(1, o // 4), nn.GELU(),
                                    nn.ConvTranspose2d(o // 4, o // 8, 2, 2), nn.GELU())
            self.each = nn.ModuleList(nn.Sequential(nn.Linear(o, o), nn.ReLU(), nn.Linear(o, o // 8))
                                      for _ in range(masks))
            self.good = nn.Sequential(nn.Linear(o, o), nn.ReLU(), nn.Linear(o, masks))

        def coded(self, xy):
            y = 2 * math.pi * ((2 * xy - 1) @ self.waves)
            return torch.cat([y.sin(), y.cos()], -1)

        def forward(self, pictures, box, goal):
            x = self.neck(self.body(self.patch(pictures).permute(0, 2, 3, 1) + self.place).permute(0, 3, 1, 2))
            grid = (torch.arange(self.side, device=x.device) + 0.5) / self.side
            place = self.coded(torch.stack(torch.meshgrid(grid, grid, indexing="xy"), -1)).flatten(0, 1)
            asked = torch.cat([self.tokens.expand(len(x), -1, -1), self.coded(box.sigmoid()) + self.corner], 1)
            q, y = asked, x.flatten(2).transpose(1, 2)
            for f in self.two:
                q, y = f(q, y, asked, place)
            up = self.up(y.transpose(1, 2).unflatten(2, (self.side, self.side)))
            each = torch.stack([f(q[:, n + 1]) for n, f in enumerate(self.each)], 1)
            score = torch.einsum("bnc,bchw->bnhw", each, up).float()
            goal = (goal > 0).float().expand_as(score)
            p = score.sigmoid()
            meet = (p * goal).sum((2, 3))
            dice = 1 - (2 * meet + 1) / (p.sum((2, 3)) + goal.sum((2, 3)) + 1)
            loss = dice + F.binary_cross_entropy_with_logits(score, goal, reduction="none").mean((2, 3))
            with torch.no_grad():
                hit = (score > 0).float()
                over = (hit * goal).sum((2, 3)) / (hit + goal).clamp(max=1).sum((2, 3)).clamp(min=1)
            return Result(loss.amin(1).mean() + F.mse_loss(self.good(q[:, 0]).float(), over))
    return Net(), lambda b: (torch.zeros(b, 3, 512, 512), torch.zeros(b, 2, 2), torch.zeros(b, 1, 128, 128)), "own"


def unit(i, o, k=3, stride=1, groups=1, act=True):
    """A filter with batch norm, and ReLU where asked."""
    layers = [nn.Conv2d(i, o, k, stride, k // 2, groups=groups, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, nn.ReLU(inplace=True)) if act else nn.Sequential(*layers)


def bilateral_streets():
    """Streets in real time: a wide path for details, a thin one for meaning, joined by gates; hard pixels count."""
    class Expand(nn.Module):
        def __init__(self, i, o, stride, e=6):
            super().__init__()
            m = e * i
            deep = [unit(i, i), unit(i, m, 3, stride, i, False)]
            deep += [unit(m, m, 3, 1, m, False)] if stride == 2 else []
            self.f = nn.Sequential(*deep, nn.ReLU(inplace=True), unit(m, o, 1, act=False))
            self.skip = nn.Identity() if stride == 1 else nn.Sequential(unit(i, i, 3, 2, i, False),
                                                                        unit(i, o, 1, act=False))

        def forward(self, x):
            return F.relu(self.f(x) + self.skip(x))

    class Join(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.keep = nn.Sequential(unit(c, c, 3, 1, c, False), nn.Conv2d(c, c, 1))
            self.down = nn.Sequential(unit(c, c, 3, 2, act=False), nn.AvgPool2d(3, 2, 1))
            self.up = unit(c, c, act=False)
            self.same = nn.Sequential(unit(c, c, 3, 1, c, False), nn.Conv2d(c, c, 1))
            self.out = unit(c, c, act=False)

        def forward(self, fine, deep):
            gate = F.interpolate(self.up(deep), scale_factor=4, mode="bilinear", align_corners=False)
            a = self.keep(fine) * gate.sigmoid()
            b = self.down(fine) * self.same(deep).sigmoid()
            return self.out(a + F.interpolate(b, scale_factor=4, mode="bilinear", align_corners=False))

    class Net(nn.Module):
        def __init__(self, classes=19, c=128):
            super().__init__()
            self.fine = nn.Sequential(unit(3, 64, 3, 2), unit(64, 64), unit(64, 64, 3, 2), unit(64, 64), unit(64, 64),
                                      unit(64, c, 3, 2), unit(c, c), unit(c, c))
            self.stem, self.pool = unit(3, 16, 3, 2), nn.MaxPool2d(3, 2, 1)
            self.side, self.both = nn.Sequential(unit(16, 8, 1), unit(8, 16, 3, 2)), unit(32, 16)
            self.deep = nn.ModuleList([nn.Sequential(Expand(16, 32, 2), Expand(32, 32, 1)),
                                       nn.Sequential(Expand(32, 64, 2), Expand(64, 64, 1)),
                                       nn.Sequential(Expand(64, c, 2), *(Expand(c, c, 1) for _ in range(3)))])
            self.bn, self.all, self.last = nn.BatchNorm2d(c), unit(c, c, 1), unit(c, c)
            self.join = Join(c)

            def head(i, m):
                return nn.Sequential(unit(i, m), nn.Dropout(0.1), nn.Conv2d(m, classes, 1))
            self.head = head(c, 1024)
            self.more = nn.ModuleList(head(i, 128) for i in (16, 32, 64, c))

        @staticmethod
        def hard(score, goal, share=16):
            score = F.interpolate(score, goal.shape[1:], mode="bilinear", align_corners=False)
            loss = F.cross_entropy(score, goal, reduction="none").flatten()
            return loss.topk(loss.numel() // share).values.mean()

        def forward(self, pictures, labels):
            fine, x = self.fine(pictures), self.stem(pictures)
            x = self.both(torch.cat([self.side(x), self.pool(x)], 1))
            maps = [x]
            for f in self.deep:
                maps.append(f(maps[-1]))
            x = maps[-1]
            x = self.last(x + self.all(self.bn(x.mean((2, 3), keepdim=True))))
            loss = self.hard(self.head(self.join(fine, x)), labels)
            return Result(loss + sum(self.hard(f(m), labels) for f, m in zip(self.more, maps)))

    def inputs(b):
        return {"pictures": torch.zeros(b, 3, 512, 1024), "labels": torch.zeros(b, 512, 1024, dtype=torch.int64)}
    return Net(), inputs, "own"


def affine_depth():
    """Depth of any picture up to scale and shift: four depths of a transformer become maps, fused upwards."""
    class Residual(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.f = nn.Sequential(nn.ReLU(), nn.Conv2d(c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1))

        def forward(self, x):
            return x + self.f(x)

    class Fuse(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b, self.out = Residual(c), Residual(c), nn.Conv2d(c, c, 1)

        def forward(self, x, skip=None):
            x = x if skip is None else x + self.a(skip)
            return self.out(F.interpolate(self.b(x), scale_factor=2, mode="bilinear", align_corners=True))

    class Net(nn.Module):
        def __init__(self, c=768, depth=12, side=24, o=256, widths=(96, 192, 384, 768)):
            super().__init__()
            self.patch, self.side = nn.Conv2d(3, c, 16, 16), side
            self.token, self.place = nn.Parameter(torch.zeros(1, 1, c)), nn.Parameter(torch.zeros(1, side ** 2 + 1, c))
            self.body = nn.ModuleList(Encoder(c, 12) for _ in range(depth))
            self.read = nn.ModuleList(nn.Sequential(nn.Linear(2 * c, c), nn.GELU()) for _ in widths)
            size = [nn.ConvTranspose2d(96, 96, 4, 4), nn.ConvTranspose2d(192, 192, 2, 2), nn.Identity(),
                    nn.Conv2d(768, 768, 3, 2, 1)]
            self.maps = nn.ModuleList(nn.Sequential(nn.Conv2d(c, w, 1), f, nn.Conv2d(w, o, 3, padding=1, bias=False))
                                      for w, f in zip(widths, size))
            self.fuse = nn.ModuleList(Fuse(o) for _ in widths)
            self.first = nn.Conv2d(o, o // 2, 3, padding=1)
            self.out = nn.Sequential(nn.Conv2d(o // 2, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 1, 1), nn.ReLU())

        @staticmethod
        def aligned(x):
            x = x.flatten(1)
            x = x - x.median(1, keepdim=True).values
            return x / x.abs().mean(1, keepdim=True).clamp(min=1e-6)

        def forward(self, pictures, goal):
            x = self.patch(pictures).flatten(2).transpose(1, 2)
            x, seen = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.place, []
            for n, f in enumerate(self.body):
                x = f(x)
                if n % 3 == 2:
                    seen.append(x)
            maps = []
            for y, read, f in zip(seen, self.read, self.maps):
                y = read(torch.cat([y[:, 1:], y[:, :1].expand_as(y[:, 1:])], -1))
                maps.append(f(y.transpose(1, 2).unflatten(2, (self.side, self.side))))
            x = None
            for f, m in zip(self.fuse, reversed(maps)):
                x = f(m) if x is None else f(x, m)
            x = self.out(F.interpolate(self.first(x), scale_factor=2, mode="bilinear", align_corners=True))
            far = (self.aligned(x) - self.aligned(goal)).view_as(goal)
            loss = far.abs().mean()
            for n in range(4):
                step = far[:, :, ::2 ** n, ::2 ** n]
                loss = loss + 0.5 * (step.diff(dim=2).abs().mean() + step.diff(dim=3).abs().mean())
            return Result(loss)
    return Net(), lambda b: (torch.zeros(b, 3, 384, 384), torch.zeros(b, 1, 384, 384)), "own"


def nodule_anchors():
    """Nodules in lungs: a 3-D residual U with three anchors a voxel, and the hardest of the empty ones in the loss."""
    class Block(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.f = nn.Sequential(nn.Conv3d(i, o, 3, padding=1), nn.BatchNorm3d(o), nn.ReLU(inplace=True),
                                   nn.Conv3d(o, o, 3, padding=1), nn.BatchNorm3d(o))
            self.skip = nn.Identity() if i == o else nn.Sequential(nn.Conv3d(i, o, 1), nn.BatchNorm3d(o))

        def forward(self, x):
            return F.relu(self.f(x) + self.skip(x))

    class Net(nn.Module):
        def __init__(self, anchors=3):
            super().__init__()
            self.anchors = anchors
            self.stem = nn.Sequential(nn.Conv3d(1, 24, 3, padding=1), nn.BatchNorm3d(24), nn.ReLU(inplace=True),
                                      nn.Conv3d(24, 24, 3, padding=1), nn.BatchNorm3d(24), nn.ReLU(inplace=True))
            self.down = nn.ModuleList(nn.Sequential(*(Block(i if n == 0 else o, o) for n in range(m)))
                                      for i, o, m in ((24, 32, 2), (32, 64, 2), (64, 64, 3), (64, 64, 3)))
            self.up = nn.ModuleList(nn.Sequential(nn.ConvTranspose3d(64, 64, 2, 2), nn.BatchNorm3d(64),
                                                  nn.ReLU(inplace=True)) for _ in range(2))
            self.back = nn.ModuleList(nn.Sequential(*(Block(i if n == 0 else o, o) for n in range(3)))
                                      for i, o in ((128, 64), (131, 128)))
            self.drop = nn.Dropout3d(0.5)
            self.out = nn.Sequential(nn.Conv3d(128, 64, 1), nn.ReLU(), nn.Conv3d(64, 5 * anchors, 1))

        def forward(self, scan, place, goal):
            x, maps = self.stem(scan), []
            for f in self.down:
                x = f(F.max_pool3d(x, 2))
                maps.append(x)
            x = self.back[0](torch.cat([self.up[0](x), maps[2]], 1))
            x = self.back[1](torch.cat([self.up[1](x), maps[1], place], 1))
            x = self.out(self.drop(x)).unflatten(1, (self.anchors, 5)).movedim(2, -1).flatten(1, 4)
            known = goal[..., 0].flatten(1)
            yes, no = (known > 2.5).float(), (known < 2).float()
            loss = F.binary_cross_entropy_with_logits(x[..., 0], yes, reduction="none")
            hard = (loss * no).topk(256, 1).values.mean()
            far = F.smooth_l1_loss(x[..., 1:], goal[..., 1:].flatten(1, 4), reduction="none").sum(-1)
            many = yes.sum().clamp(min=1)
            return Result(hard + (loss * yes).sum() / many + (far * yes).sum() / many)

    def inputs(b):
        return torch.zeros(b, 1, 96, 96, 96), torch.zeros(b, 3, 24, 24, 24), torch.zeros(b, 3, 24, 24, 24, 5)
    return Net(), inputs, "own"


def coarse_matches():
    """Matching pixels without key points: linear attention within and across two pictures, then windows around each."""
    class Layer(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.q, self.k, self.v, self.o = heads, *(nn.Linear(c, c, bias=False) for _ in range(4))
            self.f = nn.Sequential(nn.Linear(2 * c, 2 * c, bias=False), nn.ReLU(), nn.Linear(2 * c, c, bias=False))
            self.n1, self.n2 = nn.LayerNorm(c), nn.LayerNorm(c)

        def forward(self, x, y):
            q, k, v = (t.unflatten(-1, (self.heads, -1)) for t in (self.q(x), self.k(y), self.v(y)))
            q, k = F.elu(q) + 1, F.elu(k) + 1
            n = v.shape[1]
            sums = torch.einsum("nshd,nshv->nhdv", k, v / n)
            scale = 1 / (torch.einsum("nlhd,nhd->nlh", q, k.sum(1)) + 1e-6)
            said = self.n1(self.o((torch.einsum("nlhd,nhdv,nlh->nlhv", q, sums, scale) * n).flatten(2)))
            return x + self.n2(self.f(torch.cat([x, said], -1)))

    class Basic(nn.Module):
        def __init__(self, i, o, stride=1):
            super().__init__()
            self.a, self.b = unit(i, o, 3, stride), unit(o, o, act=False)
            self.skip = nn.Identity() if stride == 1 else unit(i, o, 1, 2, act=False)

        def forward(self, x):
            return F.relu(self.skip(x) + self.b(self.a(x)))

    class Net(nn.Module):
        def __init__(self, c=256, fine=128, heat=0.1):
            super().__init__()
            self.heat, self.stem = heat, unit(1, 128, 7, 2)
            self.s1 = nn.Sequential(Basic(128, 128), Basic(128, 128))
            self.s2 = nn.Sequential(Basic(128, 196, 2), Basic(196, 196))
            self.s3 = nn.Sequential(Basic(196, c, 2), Basic(c, c))
            self.o3, self.o2, self.o1 = nn.Conv2d(c, c, 1), nn.Conv2d(196, c, 1), nn.Conv2d(128, 196, 1)
            self.m2 = nn.Sequential(unit(c, c), nn.Conv2d(c, 196, 3, padding=1))
            self.m1 = nn.Sequential(unit(196, 196), nn.Conv2d(196, fine, 3, padding=1))
            self.coarse = nn.ModuleList(Layer(c, 8) for _ in range(8))
            self.fine, self.join = nn.ModuleList(Layer(fine, 8) for _ in range(2)), nn.Linear(2 * fine, fine)
            self.down = nn.Linear(c, fine)
            self.place = nn.Parameter(torch.randn(1, c, 60, 80) * 0.02)

        def maps(self, x):
            def larger(t):
                return F.interpolate(t, scale_factor=2., mode="bilinear", align_corners=True)
            a = self.s1(self.stem(x))
            b = self.s2(a)
            c = self.o3(self.s3(b))
            return c, self.m1(self.o1(a) + larger(self.m2(self.o2(b) + larger(c))))

        @staticmethod
        def pairs(layers, x, y):
            for n, f in enumerate(layers):
                x, y = (f(x, x), f(y, y)) if n % 2 == 0 else (f(x, y), f(y, x))
            return x, y

        def forward(self, one, two, i, j, off):
            (a, b), (p, q) = (t.chunk(2) for t in self.maps(torch.cat([one, two])))
            a, b = ((t + self.place).flatten(2).transpose(1, 2) for t in (a, b))
            a, b = self.pairs(self.coarse, a, b)
            score = torch.einsum("nlc,nsc->nls", a, b) / (a.shape[-1] * self.heat)
            chance = score.softmax(1) * score.softmax(2)
            n, i, j = torch.arange(len(a), device=a.device).unsqueeze(1), i.long(), j.long()
            found = chance[n, i, j].clamp(1e-6, 1 - 1e-6)
            loss = (-0.25 * (1 - found) ** 2 * found.log()).mean()
            p, q = (F.unfold(t, 5, stride=4, padding=2).unflatten(1, (-1, 25)).permute(0, 3, 2, 1) for t in (p, q))
            p, q = (torch.cat([t[n, k], self.down(s[n, k]).unsqueeze(2).expand(-1, -1, 25, -1)], -1).flatten(0, 1)
                    for t, s, k in ((p, a, i), (q, b, j)))
            p, q = self.pairs(self.fine, self.join(p), self.join(q))
            map_ = (torch.einsum("mc,mrc->mr", p[:, 12], q) / p.shape[-1] ** 0.5).softmax(1)
            line = torch.linspace(-1, 1, 5, device=map_.device)
            grid = torch.stack(torch.meshgrid(line, line, indexing="xy"), -1).view(-1, 2)
            at = map_ @ grid
            spread = (map_ @ grid ** 2 - at ** 2).clamp(min=1e-10).sqrt().sum(-1)
            weight = (1 / spread.clamp(min=1e-10)).detach()
            weight = weight / weight.mean()
            return Result(loss + (weight * (off.flatten(0, 1) - at).pow(2).sum(-1)).mean())

    def inputs(b, n=1024):
        i, j = (torch.arange(n) * 4).int().repeat(b, 1), (torch.arange(n) * 4 + 80).int().repeat(b, 1)
        return torch.zeros(b, 1, 480, 640), torch.zeros(b, 1, 480, 640), i, j, torch.zeros(b, n, 2)
    return Net(), inputs, "own"


def hard_triplets():
    """The same person by other cameras: a residual network, the hardest pairs of the batch, a norm before classes."""
    class Net(nn.Module):
        def __init__(self, people=1041, each=4, margin=0.3):
            super().__init__()
            r = torchvision.models.resnet50(weights=None, replace_stride_with_dilation=[False, False, True])
            self.body = nn.Sequential(r.conv1, r.bn1, r.relu, r.maxpool, r.layer1, r.layer2, r.layer3, r.layer4)
            self.neck, self.out = nn.BatchNorm1d(2048), nn.Linear(2048, people, bias=False)
            self.each, self.margin = each, margin

        def forward(self, pictures, labels):
            x = F.adaptive_avg_pool2d(self.body(pictures), 1).flatten(1)
            y = x.float()
            far = y.pow(2).sum(1, keepdim=True)
            far = (far + far.t() - 2 * (y @ y.t())).clamp(min=1e-12).sqrt()
            who = torch.arange(len(x), device=x.device) // self.each
            same = who.unsqueeze(0) == who.unsqueeze(1)
            near = far.masked_fill(same, 1e4).amin(1)
            loss = F.relu(far.masked_fill(~same, 0).amax(1) - near + self.margin).mean()
            return Result(loss + F.cross_entropy(self.out(self.neck(x)), labels, label_smoothing=0.1))

    def inputs(b):
        return {"pictures": torch.zeros(b, 3, 256, 128), "labels": torch.zeros(b, dtype=torch.int64)}
    return Net(), inputs, "own"


def permuted_letters():
    """Words in photographs: a transformer of patches, and a decoder that writes the letters in six drawn orders."""
    class Net(nn.Module):
        def __init__(self, letters=97, c=384, heads=6, depth=12, longest=25, orders=6):
            super().__init__()
            self.patch, self.place = nn.Conv2d(3, c, (4, 8), (4, 8)), nn.Parameter(torch.randn(1, 128, c) * 0.02)
            self.body = nn.Sequential(*(Encoder(c, heads) for _ in range(depth)), nn.LayerNorm(c))
            self.letter, self.orders, self.scale = nn.Embedding(letters, c), orders, math.sqrt(c)
            self.asked = nn.Parameter(torch.randn(1, longest + 1, c) * 0.02)
            self.own, self.cross = (nn.MultiheadAttention(c, 12, 0.1, batch_first=True) for _ in range(2))
            self.nq, self.nc, self.n1, self.n2, self.n3 = (nn.LayerNorm(c) for _ in range(5))
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * c, c))
            self.out, self.drop = nn.Linear(c, letters - 2), nn.Dropout(0.1)

        def drawn(self, n, device):
            """Orders of the letters: the usual one and two drawn ones, each also backwards; places end with the end."""
            usual = torch.arange(n, device=device)
            some = [usual] + [torch.randperm(n, device=device) for _ in range(self.orders // 2 - 1)]
            return [q for p in some for q in (p, p.flip(0))]

        def forward(self, pictures, texts, labels):
            seen = self.body(self.patch(pictures).flatten(2).transpose(1, 2) + self.place)
            b, n = texts.shape
            told = self.scale * self.letter(texts)
            told = self.drop(torch.cat([told[:, :1], told[:, 1:] + self.asked[:, :n - 1]], 1))
            asked, loss = self.drop(self.asked[:, :n].expand(b, -1, -1)), 0
            for order in self.drawn(n - 1, texts.device):
                when = torch.cat([order.new_zeros(1), order.argsort() + 1])
                hidden = when.unsqueeze(0) >= torch.cat([when[1:], when.new_full((1,), n)]).unsqueeze(1)
                q, k = self.nq(asked), self.nc(told)
                x = asked + self.drop(self.own(q, k, k, attn_mask=hidden, need_weights=False)[0])
                x = x + self.drop(self.cross(self.n1(x), seen, seen, need_weights=False)[0])
                x = self.n3(x + self.drop(self.f(self.n2(x))))
                loss = loss + F.cross_entropy(self.out(x).flatten(0, 1), labels.flatten())
            return Result(loss / self.orders)

    def inputs(b):
        return {"pictures": torch.zeros(b, 3, 32, 128), "texts": torch.zeros(b, 26, dtype=torch.int64),
                "labels": torch.zeros(b, 26, dtype=torch.int64)}
    return Net(), inputs, "own"


NETWORKS = {f.__name__: f for f in (centre_points, prompted_masks, bilateral_streets, affine_depth, nodule_anchors,
                                    coarse_matches, hard_triplets, permuted_letters)}
STEPS = {"centre_points": ("amp-bf16", 32, "nhwc", "adam"), "prompted_masks": ("amp-bf16", 8, "nchw", "adamw"),
         "bilateral_streets": ("amp-fp16", 16, "nhwc", "momentum"), "affine_depth": ("tf32", 16, "nchw", "adamw"),
         "nodule_anchors": ("tf32", 8, "nchw", "momentum"), "coarse_matches": ("fp32", 4, "nchw", "adamw"),
         "hard_triplets": ("amp-fp16", 64, "nhwc", "adam"), "permuted_letters": ("amp-bf16", 256, "nchw", "adamw")}
