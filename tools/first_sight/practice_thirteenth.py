# SPDX-License-Identifier: Apache-2.0
"""practice_thirteenth.py - networks for practice, the thirteenth set: points, robots, and pictures without labels. See cases.py."""
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result, Attention


def points_and_voxels():
    """Parts of chairs: points fall into voxels and are averaged, 3-D filters mix them, and points read them again."""
    class Layer(nn.Module):
        def __init__(self, a, b, side):
            super().__init__()
            self.side = side
            self.f = nn.Sequential(nn.Conv3d(a, b, 3, 1, 1), nn.BatchNorm3d(b, eps=1e-4), nn.LeakyReLU(0.1, True),
                                   nn.Conv3d(b, b, 3, 1, 1), nn.BatchNorm3d(b, eps=1e-4), nn.LeakyReLU(0.1, True))
            self.g = nn.Sequential(nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU(True))

        def forward(self, x, places):
            b, c, n = x.shape
            s = self.side
            at = (places * (s - 1)).round().long()
            cell = (at[:, 0] * s + at[:, 1]) * s + at[:, 2]
            total = x.new_zeros(b, c, s ** 3).scatter_add(2, cell.unsqueeze(1).expand(-1, c, -1), x)
            count = x.new_zeros(b, s ** 3).scatter_add(1, cell, torch.ones_like(cell, dtype=x.dtype))
            y = self.f((total / count.clamp(min=1).unsqueeze(1)).view(b, c, s, s, s))
            grid = (2 * places - 1).transpose(1, 2).flip(-1).view(b, n, 1, 1, 3)
            y = F.grid_sample(y, grid.to(y.dtype), align_corners=True).view(b, -1, n)
            return y + self.g(x)

    class Net(nn.Module):
        def __init__(self, kinds=50):
            super().__init__()
            self.layers = nn.ModuleList([Layer(6, 64, 32), Layer(64, 64, 32), Layer(64, 128, 16), Layer(128, 256, 16)])
            self.wide = nn.Sequential(nn.Conv1d(256, 1024, 1), nn.BatchNorm1d(1024), nn.ReLU())
            self.out = nn.Sequential(nn.Conv1d(64 + 64 + 128 + 256 + 1024, 256, 1), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.2), nn.Conv1d(256, kinds, 1))

        def forward(self, x):
            places = torch.sigmoid(x[:, :3] - x[:, :3].mean(2, keepdim=True))
            y, kept = x, []
            for f in self.layers:
                y = f(y, places)
                kept.append(y)
            all_points = self.wide(y).amax(2, keepdim=True).expand(-1, -1, x.shape[2])
            y = self.out(torch.cat([*kept, all_points], 1))
            goal = (torch.sigmoid(x[:, 3]) * 49.9).long()
            return Result(F.cross_entropy(y, goal, label_smoothing=0.1))
    return Net(), lambda b: torch.zeros(b, 6, 2048), "own"


def farthest_points():
    """Objects as points: the farthest are chosen one by one, balls around them are grouped, and shared layers take maxima."""
    class Level(nn.Module):
        def __init__(self, a, widths, count, radius, near):
            super().__init__()
            self.count, self.radius, self.near, layers, c = count, radius, near, [], a + 3
            for w in widths:
                layers += [nn.Conv2d(c, w, 1, bias=False), nn.BatchNorm2d(w), nn.ReLU(inplace=True)]
                c = w
            self.f = nn.Sequential(*layers)

        def forward(self, places, x):
            b, n = places.shape[:2]
            rows = torch.arange(b, device=places.device)
            far, last, chosen = places.new_full((b, n), 1e10), torch.zeros(b, dtype=torch.int64, device=places.device), []
            with torch.no_grad():
                for _ in range(self.count):
                    chosen.append(last)
                    far = torch.minimum(far, (places - places[rows, last].unsqueeze(1)).square().sum(-1))
                    last = far.argmax(-1)
            chosen = torch.stack(chosen, 1)
            middle = places.gather(1, chosen.unsqueeze(-1).expand(-1, -1, 3))
            apart = torch.cdist(middle.float(), places.float())
            index = torch.arange(n, device=places.device).expand_as(apart).masked_fill(apart > self.radius, n).sort(-1)[0][..., :self.near]
            index = torch.where(index == n, index[..., :1], index).clamp(max=n - 1)
            flat = index.flatten(1).unsqueeze(-1)
            group = torch.cat([places.gather(1, flat.expand(-1, -1, 3)).unflatten(1, (-1, self.near)) - middle.unsqueeze(2),
                               x.gather(1, flat.expand(-1, -1, x.shape[-1])).unflatten(1, (-1, self.near))], -1)
            return middle, self.f(group.permute(0, 3, 2, 1)).amax(2).transpose(1, 2)

    class Net(nn.Module):
        def __init__(self, kinds=40):
            super().__init__()
            self.one, self.two = Level(3, (64, 64, 128), 256, 0.4, 32), Level(128, (128, 128, 256), 64, 0.8, 48)
            self.all = nn.Sequential(nn.Conv1d(259, 512, 1), nn.BatchNorm1d(512), nn.ReLU(), nn.Conv1d(512, 1024, 1))
            self.out = nn.Sequential(nn.Linear(1024, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Dropout(0.4), nn.Linear(512, kinds))

        def forward(self, places, normal):
            places, x = self.two(*self.one(places, normal))
            return self.out(self.all(torch.cat([places, x], -1).transpose(1, 2)).amax(-1))
    return Net(), lambda b: (torch.zeros(b, 1024, 3), torch.zeros(b, 1024, 3)), "classes"


def balanced_crops():
    """Leaves without labels: a slow teacher's large crops are assigned evenly in three rounds, small crops follow them."""
    class Block(nn.Module):
        def __init__(self, c, heads, drop):
            super().__init__()
            self.n1, self.n2, self.a, self.drop = nn.LayerNorm(c), nn.LayerNorm(c), Attention(c, heads), drop
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c))
            self.s1, self.s2 = nn.Parameter(torch.full((c,), 1e-5)), nn.Parameter(torch.full((c,), 1e-5))

        def kept(self, y):
            keep = 1 - self.drop
            return y * (y.new_empty(y.shape[0], 1, 1).bernoulli_(keep) / keep) if self.training and self.drop else y

        def forward(self, x):
            x = x + self.kept(self.s1 * self.a(self.n1(x)))
            return x + self.kept(self.s2 * self.f(self.n2(x)))

    class Eye(nn.Module):
        def __init__(self, c=256, depth=6, out=8192):
            super().__init__()
            self.cut = nn.Conv2d(3, c, 16, 16)
            self.begin, self.spare, self.place = (nn.Parameter(torch.zeros(1, n, c)) for n in (1, 4, 14 * 14))
            self.blocks = nn.Sequential(*(Block(c, 4, 0.1 * n / depth) for n in range(depth)))
            self.norm, self.head = nn.LayerNorm(c), nn.Sequential(nn.Linear(c, 1024), nn.GELU(), nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 256))
            self.last = nn.utils.parametrizations.weight_norm(nn.Linear(256, out, bias=False))

        def forward(self, x):
            y = self.cut(x)
            place = self.place.transpose(1, 2).unflatten(2, (14, 14))
            place = place if y.shape[-1] == 14 else F.interpolate(place, size=y.shape[-2:], mode="bicubic", antialias=True)
            b, y = x.shape[0], (y + place).flatten(2).transpose(1, 2)
            y = self.blocks(torch.cat([self.begin.expand(b, -1, -1), self.spare.expand(b, -1, -1), y], 1))
            return self.last(F.normalize(self.head(self.norm(y[:, 0])), dim=-1, eps=1e-6))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fast = Eye()
            self.slow = copy.deepcopy(self.fast).requires_grad_(False)

        def forward(self, large, small):
            with torch.no_grad():
                for old, new in zip(self.slow.parameters(), self.fast.parameters()):
                    old.mul_(0.996).add_(new.detach(), alpha=0.004)
                q = torch.exp((self.slow(large.flatten(0, 1)).float() / 0.07).clamp(max=40)).t()
                q = q / q.sum()
                for _ in range(3):
                    q = q / q.sum(1, keepdim=True) / q.shape[0]
                    q = q / q.sum(0, keepdim=True) / q.shape[1]
                q = (q * q.shape[1]).t().unflatten(0, (large.shape[0], -1))
            a, b = self.fast(large.flatten(0, 1)), self.fast(small.flatten(0, 1))
            a = (a.float() / 0.1).log_softmax(-1).unflatten(0, (large.shape[0], -1))
            b = (b.float() / 0.1).log_softmax(-1).unflatten(0, (small.shape[0], -1))
            loss = -(q[:, 0] * a[:, 1]).sum(-1).mean() - (q[:, 1] * a[:, 0]).sum(-1).mean()
            return Result(loss - sum((q[:, n].unsqueeze(1) * b).sum(-1).mean() for n in (0, 1)))
    return Net(), lambda b: (torch.zeros(b, 2, 3, 224, 224), torch.zeros(b, 4, 3, 96, 96)), "own"


def uncorrelated_views():
    """Moths in two views: depthwise filters of 7 and response norms; features must vary, agree and not correlate."""
    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.d, self.n, self.up, self.down = nn.Conv2d(c, c, 7, 1, 3, groups=c), nn.LayerNorm(c, eps=1e-6), nn.Linear(c, 4 * c), nn.Linear(4 * c, c)
            self.gain, self.bias = nn.Parameter(torch.zeros(1, 1, 1, 4 * c)), nn.Parameter(torch.zeros(1, 1, 1, 4 * c))

        def forward(self, x):
            y = F.gelu(self.up(self.n(self.d(x).permute(0, 2, 3, 1))))
            g = torch.norm(y, p=2, dim=(1, 2), keepdim=True)
            y = self.gain * (y * (g / (g.mean(-1, keepdim=True) + 1e-6))) + self.bias + y
            return x + self.down(y).permute(0, 3, 1, 2)

    class Shrink(nn.Module):
        def __init__(self, a, b, k):
            super().__init__()
            self.f, self.n = nn.Conv2d(a, b, k, k), nn.LayerNorm(b, eps=1e-6)

        def forward(self, x):
            return self.n(self.f(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    class Net(nn.Module):
        def __init__(self, widths=(48, 96, 192, 384), depths=(2, 2, 4, 2), out=4096):
            super().__init__()
            layers = []
            for n, (a, b, d) in enumerate(zip((3, *widths), widths, depths)):
                layers += [Shrink(a, b, 2 if n else 4), *(Block(b) for _ in range(d))]
            self.eye = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(widths[-1]))
            self.wide = nn.Sequential(nn.Linear(widths[-1], out), nn.BatchNorm1d(out), nn.ReLU(True), nn.Linear(out, out), nn.BatchNorm1d(out), nn.ReLU(True), nn.Linear(out, out, bias=False))

        def forward(self, one, two):
            a, b = self.wide(self.eye(one)).float(), self.wide(self.eye(two)).float()
            loss = 25 * F.mse_loss(a, b)
            for x in (a, b):
                x = x - x.mean(0)
                loss = loss + 12.5 * F.relu(1 - torch.sqrt(x.var(0) + 1e-4)).mean()
                cov = (x.t() @ x) / (x.shape[0] - 1)
                loss = loss + (cov - torch.diag(cov.diagonal())).square().sum() / x.shape[1]
            return Result(loss)
    return Net(), lambda b: (torch.zeros(b, 3, 160, 160), torch.zeros(b, 3, 160, 160)), "own"


def scanned_fields():
    """Fields from the air: pictures are read along four ways by selective scans, written out by doubling, and labelled."""
    def scan(decay, x):
        """The states h[t] = decay[t] h[t-1] + x[t] along the last axis, by steps that double."""
        step, t = 1, x.shape[-1]
        while step < t:
            x = torch.cat([x[..., :step], x[..., step:] + decay[..., step:] * x[..., :-step]], -1)
            decay = torch.cat([decay[..., :step], decay[..., step:] * decay[..., :-step]], -1)
            step *= 2
        return x

    class Ways(nn.Module):
        def __init__(self, c, states=4):
            super().__init__()
            inner = 2 * c
            self.states, self.rank = states, max(4, c // 16)
            self.norm, self.into, self.d = nn.LayerNorm(c), nn.Linear(c, 2 * inner, bias=False), nn.Conv2d(inner, inner, 3, 1, 1, groups=inner)
            self.make = nn.Parameter(torch.randn(4, self.rank + 2 * states, inner) * inner ** -0.5)
            self.step, self.bias = nn.Parameter(torch.randn(4, inner, self.rank) * 0.1), nn.Parameter(torch.full((4, inner), -4.0))
            self.rate, self.skip = nn.Parameter(torch.log(torch.arange(1, states + 1).float()).repeat(4, inner, 1)), nn.Parameter(torch.ones(4, inner))
            self.n2, self.out = nn.LayerNorm(inner), nn.Linear(inner, c, bias=False)

        def forward(self, x):
            b, h, w, c = x.shape
            y, gate = self.into(self.norm(x)).chunk(2, -1)
            y = F.silu(self.d(y.permute(0, 3, 1, 2)))
            rows, columns = y.flatten(2), y.transpose(2, 3).flatten(2)
            ways = torch.stack([rows, columns, rows.flip(-1), columns.flip(-1)], 1).float()
            made = torch.einsum("bkdl,kcd->bkcl", ways, self.make)
            step, into, outof = made.split([self.rank, self.states, self.states], 2)
            step = F.softplus(torch.einsum("bkrl,kdr->bkdl", step, self.step).float() + self.bias.unsqueeze(-1))
            decay = torch.exp(-step.unsqueeze(3) * torch.exp(self.rate).unsqueeze(-1))
            state = scan(decay, (step * ways).unsqueeze(3) * into.unsqueeze(2).float())
            z = (state * outof.unsqueeze(2).float()).sum(3) + self.skip.unsqueeze(-1) * ways
            a, bb, cc, d = z.unbind(1)
            z = a + cc.flip(-1) + (bb + d.flip(-1)).unflatten(2, (w, h)).transpose(2, 3).flatten(2)
            z = self.n2(z.transpose(1, 2)).view(b, h, w, -1)
            return x + self.out(z * F.silu(gate))

    class Net(nn.Module):
        def __init__(self, c=48, kinds=11):
            super().__init__()
            self.cut = nn.Conv2d(6, c, 4, 4)
            self.one, self.two = nn.Sequential(Ways(c), Ways(c)), nn.Sequential(Ways(2 * c), Ways(2 * c))
            self.merge = nn.Sequential(nn.LayerNorm(4 * c), nn.Linear(4 * c, 2 * c, bias=False))
            self.out = nn.Sequential(nn.Conv2d(3 * c, 64, 3, 1, 1), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, kinds, 1))

        def forward(self, x):
            y = self.one(self.cut(x).permute(0, 2, 3, 1))
            z = self.two(self.merge(torch.cat([y[:, 0::2, 0::2], y[:, 1::2, 0::2], y[:, 0::2, 1::2], y[:, 1::2, 1::2]], -1)))
            z = F.interpolate(z.permute(0, 3, 1, 2), scale_factor=2, mode="bilinear", align_corners=False)
            return F.interpolate(self.out(torch.cat([y.permute(0, 3, 1, 2), z], 1)), scale_factor=4, mode="bilinear", align_corners=False)
    return Net(), lambda b: torch.zeros(b, 6, 128, 128), "channels"


def pillar_map():
    """Cars in lidar sweeps: points of a pillar share a layer, pillars are written into a map, and three sizes are joined."""
    class Net(nn.Module):
        def __init__(self, c=64, side=248):
            super().__init__()
            self.c, self.side = c, side
            self.f, self.norm = nn.Linear(9, c, bias=False), nn.BatchNorm1d(c, eps=1e-3, momentum=0.01)
            def stage(a, b, n, stride):
                layers = [nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b, eps=1e-3), nn.ReLU()]
                for _ in range(n):
                    layers += [nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b, eps=1e-3), nn.ReLU()]
                return nn.Sequential(*layers)
            def grow(a, s):
                return nn.Sequential(nn.ConvTranspose2d(a, 128, s, s, bias=False), nn.BatchNorm2d(128, eps=1e-3), nn.ReLU())
            self.stages = nn.ModuleList([stage(c, 64, 3, 2), stage(64, 128, 4, 2), stage(128, 256, 4, 2)])
            self.grow = nn.ModuleList([grow(64, 1), grow(128, 2), grow(256, 4)])
            self.kind, self.box, self.turn = nn.Conv2d(384, 6, 1), nn.Conv2d(384, 42, 1), nn.Conv2d(384, 12, 1)

        def forward(self, points, places, goal):
            b, n, k, _ = points.shape
            real = (torch.arange(k, device=points.device) < 8 + (places[..., :1] * 8).long()).unsqueeze(-1).to(points.dtype)
            mean = (points * real).sum(2, keepdim=True) / real.sum(2, keepdim=True).clamp(min=1)
            y = torch.cat([points, points[..., :3] - mean[..., :3], points[..., :2] - places.unsqueeze(2)], -1) * real
            y = self.f(y)
            y = F.relu(self.norm(y.flatten(0, 2).unsqueeze(-1)).view(b, n, k, -1)).amax(2)
            at = (torch.sigmoid(places) * (self.side - 1)).long()
            at = (at[..., 0] * self.side + at[..., 1]).unsqueeze(1).expand(-1, self.c, -1)
            y = y.new_zeros(b, self.c, self.side ** 2).scatter(2, at, y.transpose(1, 2)).view(b, self.c, self.side, self.side)
            kept = []
            for f, g in zip(self.stages, self.grow):
                y = f(y)
                kept.append(g(y))
            y = torch.cat(kept, 1)
            kind, box, turn = self.kind(y), self.box(y), self.turn(y)
            hit = (goal > 2).float()
            p = torch.sigmoid(kind.float())
            focal = F.binary_cross_entropy_with_logits(kind, hit, reduction="none") * torch.where(hit > 0, 0.25 * (1 - p) ** 2, 0.75 * p ** 2)
            near = F.smooth_l1_loss(box.unflatten(1, (6, 7)), goal.unsqueeze(2).expand(-1, -1, 7, -1, -1), beta=1 / 9, reduction="none")
            side = F.cross_entropy(turn.unflatten(1, (6, 2)).transpose(1, 2), (goal > 0).long(), reduction="none")
            count = hit.sum().clamp(min=1)
            return Result((focal.sum() + 2 * (near * hit.unsqueeze(2)).sum() + 0.2 * (side * hit).sum()) / count)
    return Net(), lambda b: (torch.zeros(b, 6000, 24, 4), torch.zeros(b, 6000, 2), torch.zeros(b, 6, 124, 124)), "own"


def carried_crops():
    """Where a robot should put what it picked: a crop is turned in 24 ways and slid over the features of the whole table."""
    class Res(nn.Module):
        def __init__(self, a, b, stride=1):
            super().__init__()
            self.f = nn.Sequential(nn.Conv2d(a, b, 3, stride, 1), nn.ReLU(), nn.Conv2d(b, b, 3, 1, 1))
            self.skip = nn.Identity() if a == b and stride == 1 else nn.Conv2d(a, b, 1, stride)

        def forward(self, x):
            return F.relu(self.f(x) + self.skip(x))

    class Glass(nn.Module):
        def __init__(self, out):
            super().__init__()
            self.down = nn.Sequential(nn.Conv2d(6, 64, 3, 1, 1), Res(64, 64), Res(64, 64), Res(64, 128, 2), Res(128, 128), Res(128, 256, 2), Res(256, 256))
            self.up = nn.Sequential(Res(256, 128), nn.UpsamplingBilinear2d(scale_factor=2), Res(128, 64), nn.UpsamplingBilinear2d(scale_factor=2), nn.Conv2d(64, out, 3, 1, 1))

        def forward(self, x):
            return self.up(self.down(x))

    class Net(nn.Module):
        def __init__(self, turns=24, crop=32, depth=3):
            super().__init__()
            self.turns, self.crop, self.depth = turns, crop, depth
            self.pick, self.key, self.query = Glass(1), Glass(depth), Glass(depth)
            angle = torch.arange(turns) * (2 * math.pi / turns)
            self.register_buffer("angle", torch.stack([torch.stack([angle.cos(), -angle.sin()], -1), torch.stack([angle.sin(), angle.cos()], -1)], 1))

        def forward(self, x, places):
            b, _, h, w = x.shape
            at = torch.tanh(places[:, :2]) * 0.7
            pick = self.pick(x).flatten(1)
            wanted = ((at[:, 0] + 1) * 0.5 * (h * w - 1)).long()
            loss = F.cross_entropy(pick, wanted)
            turn = torch.cat([self.angle.unsqueeze(0).expand(b, -1, -1, -1) * (self.crop / w), at.view(b, 1, 2, 1).expand(-1, self.turns, -1, -1)], -1)
            grid = F.affine_grid(turn.flatten(0, 1), (b * self.turns, 1, self.crop, self.crop), align_corners=False)
            cut = F.grid_sample(self.query(x).repeat_interleave(self.turns, 0), grid.to(x.dtype), align_corners=False)
            key = self.key(x).reshape(1, b * self.depth, h, w)
            score = F.conv2d(F.pad(key, (self.crop // 2, self.crop // 2 - 1) * 2), cut, groups=b) / self.crop
            score = score.view(b, -1)
            goal = (torch.sigmoid(places[:, 2]) * (score.shape[1] - 1)).long()
            return Result(loss + F.cross_entropy(score, goal))
    return Net(), lambda b: (torch.zeros(b, 6, 128, 128), torch.zeros(b, 3)), "own"


def seen_places():
    """Places seen again: response norms over channels, soft words that collect differences, outer products, hard pairs."""
    class Net(nn.Module):
        def __init__(self, words=32, c=192):
            super().__init__()
            self.eye = nn.Sequential(nn.Conv2d(3, 64, 11, 4, 2), nn.PReLU(64), nn.LocalResponseNorm(5), nn.MaxPool2d(3, 2), nn.Conv2d(64, c, 5, 1, 2, groups=2), nn.PReLU(c),
                                     nn.LocalResponseNorm(5), nn.MaxPool2d(3, 2), nn.Conv2d(c, 256, 3, 1, 1), nn.PReLU(256), nn.Conv2d(256, c, 3, 1, 1, groups=2), nn.PReLU(c))
            self.assign, self.middle = nn.Conv2d(c, words, 1), nn.Parameter(torch.randn(words, c))
            self.small, self.out = nn.Conv2d(c, 64, 1), nn.Linear(words * c + 64 * 64, 512)

        def described(self, x):
            y = F.normalize(self.eye(x), dim=1)
            weight = self.assign(y).flatten(2).softmax(1)
            flat = y.flatten(2)
            apart = flat.unsqueeze(1) - self.middle.unsqueeze(0).unsqueeze(-1)
            vlad = F.normalize((apart * weight.unsqueeze(2)).sum(-1), dim=2).flatten(1)
            s = self.small(y).flatten(2)
            outer = torch.bmm(s, s.transpose(1, 2)).flatten(1) / s.shape[-1]
            outer = torch.sign(outer) * torch.sqrt(outer.abs() + 1e-6)
            return F.normalize(self.out(torch.cat([F.normalize(vlad, dim=1), F.normalize(outer, dim=1)], 1)), dim=1)

        def forward(self, one, two):
            a, b = self.described(one).float(), self.described(two).float()
            far = torch.cdist(a, b)
            good = far.diagonal()
            bad = (far + 10 * torch.eye(far.shape[0], device=far.device)).kthvalue(1, dim=1)[0]
            return Result(F.relu(good - bad + 0.3).mean() + F.triplet_margin_loss(a, b, b.roll(1, 0), margin=0.5, swap=True))
    return Net(), lambda b: (torch.zeros(b, 3, 224, 224), torch.zeros(b, 3, 224, 224)), "own"


NETWORKS = {f.__name__: f for f in (points_and_voxels, farthest_points, balanced_crops, uncorrelated_views, scanned_fields,
                                    pillar_map, carried_crops, seen_places)}
STEPS = {"points_and_voxels": ("tf32", 8, "nchw", "adam"), "farthest_points": ("fp32", 16, "nchw", "adam"),
         "balanced_crops": ("amp-fp16", 16, "nchw", "adamw"), "uncorrelated_views": ("amp-bf16", 64, "nhwc", "momentum"),
         "scanned_fields": ("amp-bf16", 4, "nchw", "adamw"), "pillar_map": ("amp-fp16", 2, "nhwc", "adamw"),
         "carried_crops": ("fp32", 2, "nchw", "adam"), "seen_places": ("tf32", 32, "nchw", "sgd")}
