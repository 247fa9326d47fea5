# SPDX-License-Identifier: Apache-2.0
"""practice_ninth.py - networks for practice, the ninth set: things found and cut out in pictures. See cases.py."""
import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from blocks import Result


def normed(a, b, k=3, stride=1, act=nn.ReLU, groups=1, dilation=1):
    """A convolution without bias, a batch norm and an activation."""
    return nn.Sequential(nn.Conv2d(a, b, k, stride, dilation * (k // 2), dilation, groups, bias=False), nn.BatchNorm2d(b), act())


def offset_towers():
    """Ships from space: deformable filters with masks in the last stages, points that refine boxes, a focal loss."""
    class Bent(nn.Module):
        def __init__(self, a, b, stride, groups):
            super().__init__()
            self.where = nn.Conv2d(a, 27 * groups, 3, stride, 1)
            self.filters = torchvision.ops.DeformConv2d(a, b, 3, stride, 1, bias=False)
            self.norm, self.cut = nn.GroupNorm(16, b), 18 * groups

        def forward(self, x):
            y = self.where(x)
            return F.relu(self.norm(self.filters(x, y[:, :self.cut], torch.sigmoid(y[:, self.cut:]))))

    class Net(nn.Module):
        def __init__(self, c=128, kinds=15):
            super().__init__()
            self.stem = nn.Sequential(normed(3, 32, 3, 2), normed(32, 64, 3, 2), normed(64, 64), normed(64, 128, 3, 2))
            self.bent = nn.Sequential(Bent(128, 128, 1, 1), Bent(128, 192, 2, 2), Bent(192, 192, 1, 4))
            self.side, self.down = nn.Conv2d(128, c, 1), nn.Conv2d(192, c, 1)
            self.tower = nn.Sequential(*(nn.Sequential(nn.Conv2d(c, c, 3, 1, 1, bias=False), nn.GroupNorm(32, c), nn.ReLU()) for _ in range(3)))
            self.points, self.shift = nn.Conv2d(c, 18, 1), nn.Conv2d(c, 18, 1)
            self.refine, self.kinds = torchvision.ops.DeformConv2d(c, c, 3, 1, 1), nn.Conv2d(c, kinds, 1)

        def seen(self, x):
            y = self.tower(x)
            points = self.points(y)
            part = 0.1 * points + 0.9 * points.detach()
            y = F.relu(self.refine(y, part))
            return self.kinds(y), points, points.detach() + self.shift(y)

        def forward(self, x, goal):
            x = self.stem(x)
            y = self.bent(x)
            low = self.down(y)
            loss = 0
            for z in (self.side(x) + F.interpolate(low, scale_factor=2, mode="nearest"), low):
                score, first, last = self.seen(z)
                wanted = (F.interpolate(goal, size=score.shape[-2:]) > 2).float().expand_as(score)
                loss = loss + torchvision.ops.sigmoid_focal_loss(score, wanted, reduction="mean")
                box = torch.stack([first[:, 0::2].amin(1), first[:, 1::2].amin(1), first[:, 0::2].amax(1), first[:, 1::2].amax(1)], 1)
                loss = loss + 0.1 * F.smooth_l1_loss(last, torch.zeros_like(last)) + 0.05 * (box - 1).abs().mean()
            return Result(loss)
    return Net(), lambda b: (torch.zeros(b, 3, 384, 384), torch.zeros(b, 1, 96, 96)), "own"


def cut_regions():
    """Leaves one by one: a pyramid of features, regions cut out of the level of their size, boxes, kinds and masks."""
    class Net(nn.Module):
        def __init__(self, c=192, kinds=21):
            super().__init__()
            def stage(a, b):
                return nn.Sequential(normed(a, b, 3, 2), normed(b, b), normed(b, b))
            self.stem = nn.Sequential(normed(3, 48, 7, 2), nn.MaxPool2d(3, 2, 1))
            self.stages = nn.ModuleList([stage(48, 96), stage(96, 192), stage(192, 320)])
            self.side = nn.ModuleList(nn.Conv2d(n, c, 1) for n in (96, 192, 320))
            self.smooth = nn.ModuleList(nn.Conv2d(c, c, 3, 1, 1) for _ in range(3))
            self.box = nn.Sequential(nn.Flatten(), nn.Linear(c * 49, 768), nn.ReLU(), nn.Linear(768, 768), nn.ReLU())
            self.kind, self.move = nn.Linear(768, kinds), nn.Linear(768, 4 * kinds)
            self.mask = nn.Sequential(*(nn.Sequential(nn.Conv2d(c, 128, 3, 1, 1), nn.ReLU()) if n == 0 else
                                        nn.Sequential(nn.Conv2d(128, 128, 3, 1, 1), nn.ReLU()) for n in range(3)),
                                      nn.ConvTranspose2d(128, 128, 2, 2), nn.ReLU(), nn.Conv2d(128, kinds, 1))

        def forward(self, x, places, drawn):
            b, n = places.shape[:2]
            size, maps = x.shape[-1], []
            x = self.stem(x)
            for f in self.stages:
                x = f(x)
                maps.append(x)
            top, levels = None, []
            for f, y in zip(reversed(self.side), reversed(maps)):
                top = f(y) if top is None else f(y) + F.interpolate(top, scale_factor=2, mode="nearest")
                levels.insert(0, top)
            levels = [f(y) for f, y in zip(self.smooth, levels)]
            middle, half = torch.sigmoid(places[..., :2]) * size, (torch.sigmoid(places[..., 2:]) * 0.3 + 0.05) * size
            boxes = torch.cat([(middle - half).clamp(min=0), (middle + half).clamp(max=size)], -1)
            numbers = torch.arange(b, device=x.device, dtype=boxes.dtype).view(b, 1, 1).expand(b, n, 1)
            boxes = torch.cat([numbers, boxes], -1)
            loss = 0
            for k, y in enumerate(levels):
                part = boxes[:, k::3].flatten(0, 1)
                cut = torchvision.ops.roi_align(y, part, 7, 1 / 8 / 2 ** k, 2, aligned=True)
                z = self.box(cut)
                score, move = self.kind(z), self.move(z)
                goal = (part[:, 1] / size * 20).long().clamp(0, 20)
                loss = loss + F.cross_entropy(score, goal)
                chosen = move.unflatten(1, (-1, 4)).gather(1, goal.view(-1, 1, 1).expand(-1, 1, 4)).squeeze(1)
                loss = loss + F.smooth_l1_loss(chosen, torch.zeros_like(chosen), beta=1 / 9)
                cut = torchvision.ops.roi_align(y, part[::4], 14, 1 / 8 / 2 ** k, 2, aligned=True)
                mask = self.mask(cut)
                mask = mask.gather(1, goal[::4].view(-1, 1, 1, 1).expand(-1, 1, 28, 28)).squeeze(1)
                real = torchvision.ops.roi_align(drawn, part[::4], 28, 1.0, 1, aligned=True).squeeze(1)
                loss = loss + F.binary_cross_entropy_with_logits(mask, (real > 0).float())
            return Result(loss)
    return Net(), lambda b: (torch.zeros(b, 3, 512, 512), torch.zeros(b, 192, 4), torch.zeros(b, 1, 512, 512)), "own"


def road_above():
    """The road from above: six cameras, features asked at points that rays and heights give, and a mean over who sees."""
    class Layer(nn.Module):
        def __init__(self, c, heads=8, points=8):
            super().__init__()
            self.heads, self.points = heads, points
            self.n1, self.n2, self.n3 = nn.LayerNorm(c), nn.LayerNorm(c), nn.LayerNorm(c)
            self.shift, self.weight = nn.Linear(c, heads * points * 2), nn.Linear(c, heads * points)
            self.value, self.out = nn.Conv2d(c, c, 1), nn.Linear(c, c)
            self.mix = nn.Conv2d(c, c, 7, 1, 3, groups=c)
            self.f = nn.Sequential(nn.Linear(c, 2 * c), nn.ReLU(), nn.Dropout(0.1), nn.Linear(2 * c, c))

        def forward(self, q, maps, seen, side):
            b, n, c = q.shape
            cameras = maps.shape[1]
            y = self.n1(q)
            shift = self.shift(y).view(b, 1, n, self.heads, self.points, 2) * 0.05
            weight = self.weight(y).view(b, n, self.heads, self.points).softmax(-1)
            grid = (seen.view(b, cameras, n, 1, 1, 2) + shift).permute(0, 1, 3, 2, 4, 5).flatten(0, 2)
            value = self.value(maps.flatten(0, 1)).unflatten(1, (self.heads, -1)).flatten(0, 1)
            got = F.grid_sample(value, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
            got = got.view(b, cameras, self.heads, c // self.heads, n, self.points)
            got = (got * weight.permute(0, 2, 1, 3).view(b, 1, self.heads, 1, n, self.points)).sum(-1)
            hit = (seen.abs().amax(-1) < 1).float().view(b, cameras, 1, 1, n)
            got = (got * hit).sum(1) / hit.sum(1).clamp(min=1)
            q = q + self.out(got.flatten(1, 2).transpose(1, 2))
            y = self.mix(self.n2(q).transpose(1, 2).unflatten(2, (side, side)))
            q = q + y.flatten(2).transpose(1, 2)
            return q + self.f(self.n3(q))

    class Net(nn.Module):
        def __init__(self, c=128, side=50, depth=3):
            super().__init__()
            self.side = side
            self.eye = nn.Sequential(normed(3, 32, 3, 2), normed(32, 64, 3, 2), normed(64, 64), normed(64, c, 3, 2), normed(c, c))
            self.ask = nn.Parameter(torch.zeros(1, side * side, c))
            self.layers = nn.ModuleList(Layer(c) for _ in range(depth))
            self.head = nn.Sequential(nn.ConvTranspose2d(c, 64, 4, 2, 1), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 5, 1))

        def forward(self, x, seen, goal):
            b = x.shape[0]
            maps = self.eye(x.flatten(0, 1)).unflatten(0, (b, -1))
            q = self.ask.expand(b, -1, -1)
            for f in self.layers:
                q = f(q, maps, seen, self.side)
            y = self.head(q.transpose(1, 2).unflatten(2, (self.side, self.side)))
            return Result(F.binary_cross_entropy_with_logits(y, (goal > 1).float(), pos_weight=torch.full((1, 1, 1), 2.0, device=y.device)))
    return Net(), lambda b: (torch.zeros(b, 6, 3, 128, 352), torch.zeros(b, 6, 2500, 2), torch.zeros(b, 5, 100, 100)), "own"


def lifted_cameras():
    """Cars from five cameras: depth as a distribution lifts features into space, sums fall into cells of the ground."""
    class Net(nn.Module):
        def __init__(self, c=64, depths=41, side=128):
            super().__init__()
            self.c, self.depths, self.side = c, depths, side
            act = nn.SiLU
            self.eye = nn.Sequential(normed(3, 32, 3, 2, act), normed(32, 48, 3, 2, act), normed(48, 96, 3, 2, act),
                                     normed(96, 96, 5, 1, act, groups=96), normed(96, 160, 3, 2, act), normed(160, 160, 3, 1, act))
            self.lift = nn.Conv2d(160, depths + c, 1)
            self.ground = nn.Sequential(normed(c, 96, 7, 2), normed(96, 96), normed(96, 192, 3, 2), normed(192, 192))
            self.up = nn.Sequential(normed(192 + 96, 128), normed(128, 128))
            self.first = nn.Sequential(normed(c, 96, 3, 2))
            self.out = nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), normed(128, 64), nn.Conv2d(64, 1, 1))

        def forward(self, x, places, goal):
            b, n = x.shape[:2]
            y = self.lift(self.eye(x.flatten(0, 1)))
            depth, feature = y[:, :self.depths].softmax(1), y[:, self.depths:]
            volume = (depth.unsqueeze(1) * feature.unsqueeze(2)).unflatten(0, (b, n)).permute(0, 1, 3, 4, 5, 2).flatten(1, 4)
            at = ((torch.tanh(places) + 1) * 0.5 * (self.side - 1)).long()
            cell = at[..., 0] * self.side + at[..., 1] + torch.arange(b, device=x.device).view(b, 1) * self.side ** 2
            order = cell.flatten().argsort()
            flat = volume.new_zeros(b * self.side ** 2, self.c)
            flat = flat.index_add(0, cell.flatten()[order], volume.flatten(0, 1)[order])
            z = flat.view(b, self.side, self.side, self.c).permute(0, 3, 1, 2)
            deep = F.interpolate(self.ground(z), scale_factor=2, mode="bilinear", align_corners=True)
            score = self.out(self.up(torch.cat([deep, self.first(z)], 1)))
            return Result(F.binary_cross_entropy_with_logits(score, (goal > 1).float()))

    def inputs(b):
        return torch.zeros(b, 5, 3, 128, 352), torch.zeros(b, 5 * 41 * 8 * 22, 2), torch.zeros(b, 1, 128, 128)
    return Net(), inputs, "own"


def crossed_rows():
    """Roads in a drone's picture: each pixel attends to its row and column twice, gates by strips, and two losses."""
    class Cross(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.q, self.k, self.v = nn.Conv2d(c, c // 8, 1), nn.Conv2d(c, c // 8, 1), nn.Conv2d(c, c, 1)
            self.scale = nn.Parameter(torch.zeros(1))

        def forward(self, x):
            h, w = x.shape[-2:]
            q, k, v = self.q(x), self.k(x), self.v(x)
            tall = torch.einsum("bchw,bcgw->bhwg", q, k)
            tall = tall.masked_fill(torch.eye(h, dtype=torch.bool, device=x.device).view(1, h, 1, h), float("-inf"))
            weight = torch.cat([tall, torch.einsum("bchw,bchv->bhwv", q, k)], -1).softmax(-1)
            y = torch.einsum("bhwg,bcgw->bchw", weight[..., :h], v) + torch.einsum("bhwv,bchv->bchw", weight[..., h:], v)
            return self.scale * y + x

    class Strips(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.rows, self.columns = nn.Conv2d(c, c, (3, 1), padding=(1, 0), bias=False), nn.Conv2d(c, c, (1, 3), padding=(0, 1), bias=False)
            self.n1, self.n2, self.f = nn.BatchNorm2d(c), nn.BatchNorm2d(c), nn.Conv2d(c, c, 1)

        def forward(self, x):
            a = self.n1(self.rows(F.adaptive_avg_pool2d(x, (None, 1))))
            b = self.n2(self.columns(F.adaptive_avg_pool2d(x, (1, None))))
            return x * torch.sigmoid(self.f(F.relu(a + b)))

    class Net(nn.Module):
        def __init__(self, kinds=8):
            super().__init__()
            self.stem = nn.Sequential(normed(3, 32, 3, 2), normed(32, 64, 3, 2), normed(64, 64), Strips(64))
            self.deep = nn.Sequential(normed(64, 128, 3, 2), normed(128, 128), Strips(128), normed(128, 256, dilation=2),
                                      normed(256, 256, dilation=4), Strips(256))
            self.cross, self.side = Cross(256), nn.Sequential(normed(128, 64), nn.Conv2d(64, kinds, 1))
            self.out = nn.Sequential(normed(512, 128), nn.Dropout2d(0.1), nn.Conv2d(128, kinds, 1))

        def forward(self, x, goal):
            x = self.stem(x)
            for n, f in enumerate(self.deep):
                x = f(x)
                if n == 2:
                    side = self.side(x)
            y = self.out(torch.cat([x, self.cross(self.cross(x))], 1))
            goal = (torch.sigmoid(goal) * 7.99).long().squeeze(1)
            y, side = (F.interpolate(t, size=goal.shape[-2:], mode="bilinear", align_corners=True) for t in (y, side))
            return Result(F.cross_entropy(y, goal) + 0.4 * F.cross_entropy(side, goal))
    return Net(), lambda b: (torch.zeros(b, 3, 448, 448), torch.zeros(b, 1, 448, 448)), "own"


def voted_parts():
    """Tools on a bench: maps that know their part of a region, averaged over bins of the region, vote for the kind."""
    class Block(nn.Module):
        def __init__(self, a, b, stride=1, dilation=1):
            super().__init__()
            self.f = nn.Sequential(normed(a, b // 4, 1), normed(b // 4, b // 4, 3, stride, dilation=dilation),
                                   nn.Conv2d(b // 4, b, 1, bias=False), nn.BatchNorm2d(b))
            self.skip = nn.Identity() if a == b and stride == 1 else nn.Sequential(nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))

        def forward(self, x):
            return F.relu(self.f(x) + self.skip(x))

    class Net(nn.Module):
        def __init__(self, kinds=13, k=7):
            super().__init__()
            self.k = k
            self.body = nn.Sequential(normed(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1), Block(64, 256), Block(256, 256), Block(256, 512, 2),
                                      Block(512, 512), Block(512, 768, 2), Block(768, 768, 1, 2))
            self.shared = nn.Sequential(nn.Conv2d(768, 512, 1), nn.ReLU())
            self.kinds, self.boxes = nn.Conv2d(512, kinds * k * k, 1), nn.Conv2d(512, 4 * k * k, 1)

        def forward(self, x, places):
            b, n = places.shape[:2]
            size = x.shape[-1]
            y = self.shared(self.body(x))
            middle, half = torch.sigmoid(places[..., :2]) * size, (torch.sigmoid(places[..., 2:]) * 0.3 + 0.05) * size
            numbers = torch.arange(b, device=x.device, dtype=places.dtype).view(b, 1, 1).expand(b, n, 1)
            boxes = torch.cat([numbers, middle - half, middle + half], -1).flatten(0, 1)
            score = torchvision.ops.ps_roi_align(self.kinds(y), boxes, self.k, 1 / 16, 2).mean((2, 3))
            move = torchvision.ops.ps_roi_pool(self.boxes(y), boxes, self.k, 1 / 16).mean((2, 3))
            goal = (boxes[:, 1] / size * 13).long().clamp(0, 12)
            each = F.cross_entropy(score, goal, reduction="none").view(b, n) + F.smooth_l1_loss(move, places.flatten(0, 1), reduction="none").sum(1).view(b, n)
            return Result(each.topk(n // 2, 1)[0].mean())
    return Net(), lambda b: (torch.zeros(b, 3, 480, 480), torch.zeros(b, 128, 4)), "own"


def corner_maxima():
    """Boxes as two corners: running maxima from all four sides, a small hourglass, and embeddings that pull and push."""
    class Res(nn.Module):
        def __init__(self, a, b, stride=1):
            super().__init__()
            self.f = nn.Sequential(normed(a, b, 3, stride), nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b))
            self.skip = nn.Identity() if a == b and stride == 1 else nn.Sequential(nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))

        def forward(self, x):
            return F.relu(self.f(x) + self.skip(x))

    class Glass(nn.Module):
        def __init__(self, widths):
            super().__init__()
            a, b = widths[:2]
            self.up, self.low = Res(a, a), Res(a, b, 2)
            self.inner = Glass(widths[1:]) if len(widths) > 2 else Res(b, b)
            self.back = Res(b, a)

        def forward(self, x):
            return self.up(x) + F.interpolate(self.back(self.inner(self.low(x))), scale_factor=2, mode="nearest-exact")

    class Corner(nn.Module):
        def __init__(self, c, last, kinds):
            super().__init__()
            self.last = last
            self.a, self.b = normed(c, 96), normed(c, 96)
            self.join, self.skip = nn.Sequential(nn.Conv2d(96, c, 3, 1, 1, bias=False), nn.BatchNorm2d(c)), nn.Conv2d(c, c, 1)
            self.heads = nn.ModuleList(nn.Sequential(nn.Conv2d(c, 96, 3, 1, 1), nn.ReLU(), nn.Conv2d(96, n, 1)) for n in (kinds, 1, 2))

        def swept(self, x, dim):
            return x.cummax(dim)[0] if self.last else x.flip(dim).cummax(dim)[0].flip(dim)

        def forward(self, x):
            y = F.relu(self.join(self.swept(self.a(x), 2) + self.swept(self.b(x), 3)) + self.skip(x))
            return [f(y) for f in self.heads]

    class Net(nn.Module):
        def __init__(self, c=128, kinds=10):
            super().__init__()
            self.stem, self.glass = nn.Sequential(normed(3, 64, 7, 2), Res(64, c, 2)), Glass((c, 160, 192, 256))
            self.corners = nn.ModuleList([Corner(c, False, kinds), Corner(c, True, kinds)])

        def forward(self, x, goal, places):
            y = self.glass(self.stem(x))
            side, loss, tags = y.shape[-1], 0, []
            at = (torch.sigmoid(places) * (side * side - 1)).long()
            for n, f in enumerate(self.corners):
                heat, tag, shift = f(y)
                p, near = torch.sigmoid(heat.float()).clamp(1e-4, 1 - 1e-4), torch.sigmoid(goal)
                hit = (goal > 2.5).float()
                loss = loss - (torch.log(p) * (1 - p) ** 2 * hit + torch.log(1 - p) * p ** 2 * (1 - near) ** 4 * (1 - hit)).sum() / hit.sum().clamp(min=1)
                tags.append(tag.flatten(1).gather(1, at[..., n]))
                loss = loss + F.smooth_l1_loss(shift.flatten(2).gather(2, at[:, None, :, n].expand(-1, 2, -1)), torch.sigmoid(places.transpose(1, 2)))
            mean = (tags[0] + tags[1]) / 2
            pull = ((tags[0] - mean) ** 2 + (tags[1] - mean) ** 2).mean()
            push = F.relu(1 - (mean.unsqueeze(1) - mean.unsqueeze(2)).abs()).mean()
            return Result(loss + 0.1 * (pull + push))
    return Net(), lambda b: (torch.zeros(b, 3, 384, 384), torch.zeros(b, 10, 96, 96), torch.zeros(b, 64, 2)), "own"


def gathered_upsampling():
    """Cut-outs of people: inverted blocks, filters made per pixel that gather neighbours for each finer pixel, and a trimap."""
    class Gather(nn.Module):
        def __init__(self, c, k=5, s=2):
            super().__init__()
            self.k, self.s = k, s
            self.squeeze, self.make = nn.Conv2d(c, 48, 1), nn.Conv2d(48, s * s * k * k, 3, 1, 1)

        def forward(self, x):
            b, c, h, w = x.shape
            weight = F.pixel_shuffle(self.make(self.squeeze(x)), self.s).softmax(1)
            near = F.unfold(x, self.k, padding=self.k // 2).view(b, c * self.k ** 2, h, w)
            near = F.interpolate(near, scale_factor=self.s, mode="nearest").view(b, c, self.k ** 2, h * self.s, w * self.s)
            return torch.einsum("bkhw,bckhw->bchw", weight, near)

    class Block(nn.Module):
        def __init__(self, a, b, k, stride):
            super().__init__()
            m = 4 * a
            self.f = nn.Sequential(normed(a, m, 1, act=nn.ReLU6), normed(m, m, k, stride, nn.ReLU6, m), nn.Conv2d(m, b, 1, bias=False), nn.BatchNorm2d(b))
            self.same = a == b and stride == 1

        def forward(self, x):
            return x + self.f(x) if self.same else self.f(x)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = normed(4, 24, 3, 2, nn.ReLU6)
            self.stages = nn.ModuleList([nn.Sequential(Block(24, 32, 3, 2), Block(32, 32, 3, 1)), nn.Sequential(Block(32, 64, 5, 2), Block(64, 64, 5, 1)),
                                         nn.Sequential(Block(64, 96, 5, 2), Block(96, 96, 5, 1))])
            self.ups = nn.ModuleList([Gather(96), Gather(64), Gather(32)])
            self.join = nn.ModuleList([normed(96 + 64, 64), normed(64 + 32, 32), normed(32 + 24, 24)])
            self.out = nn.Conv2d(24, 1, 3, 1, 1)

        def forward(self, x, goal):
            kept = [self.stem(x)]
            for f in self.stages:
                kept.append(f(kept[-1]))
            y = kept.pop()
            for up, join in zip(self.ups, self.join):
                y = join(torch.cat([up(y), kept.pop()], 1))
            y = F.hardsigmoid(F.interpolate(self.out(y), scale_factor=2, mode="bicubic", align_corners=False)).float()
            wanted = torch.sigmoid(goal)
            loss = torch.sqrt((y - wanted) ** 2 + 1e-6).mean()
            for _ in range(4):
                a, b = F.avg_pool2d(y, 2), F.avg_pool2d(wanted, 2)
                loss = loss + F.l1_loss(y - F.interpolate(a, scale_factor=2, mode="bilinear"), wanted - F.interpolate(b, scale_factor=2, mode="bilinear"))
                y, wanted = a, b
            return Result(loss)
    return Net(), lambda b: (torch.zeros(b, 4, 256, 256), torch.zeros(b, 1, 256, 256)), "own"


NETWORKS = {f.__name__: f for f in (offset_towers, cut_regions, road_above, lifted_cameras, crossed_rows, voted_parts,
                                    corner_maxima, gathered_upsampling)}
STEPS = {"offset_towers": ("fp32", 8, "nchw", "momentum"), "cut_regions": ("amp-fp16", 4, "nhwc", "momentum"),
         "road_above": ("amp-bf16", 4, "nchw", "adamw"), "lifted_cameras": ("tf32", 4, "nchw", "adam"),
         "crossed_rows": ("amp-bf16", 12, "nhwc", "momentum"), "voted_parts": ("tf32", 8, "nhwc", "sgd"),
         "corner_maxima": ("amp-fp16", 12, "nchw", "adam"), "gathered_upsampling": ("fp32", 8, "nhwc", "adamw")}
