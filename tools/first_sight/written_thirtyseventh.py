# SPDX-License-Identifier: Apache-2.0
"""written_thirtyseventh.py - the first ten networks of the eighteenth set: pictures and shapes. See cases.py."""
import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result


def convolved(i, o, k=3, stride=1, dilation=1, groups=1, act=nn.ReLU):
    """A convolution with batch norm and an activation."""
    return nn.Sequential(nn.Conv2d(i, o, k, stride, dilation * (k // 2), dilation, groups, bias=False),
                         nn.BatchNorm2d(o), act())


def branched_leaves():
    """Diseases of leaves: each layer adds a 3x3, a 1x1 and an identity branch, which are fused after training."""
    class Block(nn.Module):
        def __init__(self, i, o, stride):
            super().__init__()
            self.three = nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o))
            self.one = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))
            self.same = nn.BatchNorm2d(i) if i == o and stride == 1 else None

        def forward(self, x):
            y = self.three(x) + self.one(x)
            return F.relu(y if self.same is None else y + self.same(x))

    class Net(nn.Module):
        def __init__(self, kinds=38, widths=(64, 96, 192, 384, 1280), depths=(1, 2, 4, 10, 1)):
            super().__init__()
            layers, last = [], 3
            for o, n in zip(widths, depths):
                layers += [Block(last if k == 0 else o, o, 2 if k == 0 else 1) for k in range(n)]
                last = o
            self.body, self.out = nn.Sequential(*layers), nn.Linear(last, kinds)

        def forward(self, x):
            return self.out(self.body(x).mean((2, 3)))
    return Net(), lambda b: torch.zeros(b, 3, 224, 224), "cross-entropy"


def split_cars():
    """Models of cars: residual blocks in which a softmax weighs two groups of channels (split attention)."""
    class Split(nn.Module):
        def __init__(self, c, parts=2):
            super().__init__()
            self.parts = parts
            self.f = convolved(c, c * parts, 3, groups=parts)
            self.down = nn.Sequential(nn.Conv2d(c, c // 4, 1), nn.BatchNorm2d(c // 4), nn.ReLU())
            self.up = nn.Conv2d(c // 4, c * parts, 1)

        def forward(self, x):
            y = self.f(x).unflatten(1, (self.parts, -1))
            weight = self.up(self.down(y.sum(1).mean((2, 3), keepdim=True))).unflatten(1, (self.parts, -1)).softmax(1)
            return (y * weight).sum(1)

    class Block(nn.Module):
        def __init__(self, i, c, stride):
            super().__init__()
            self.a, self.split = convolved(i, c, 1), Split(c)
            self.pool = nn.AvgPool2d(3, 2, 1) if stride == 2 else nn.Identity()
            self.b = nn.Sequential(nn.Conv2d(c, 4 * c, 1, bias=False), nn.BatchNorm2d(4 * c))
            self.skip = nn.Identity() if i == 4 * c else nn.Sequential(
                nn.AvgPool2d(stride, stride) if stride > 1 else nn.Identity(),
                nn.Conv2d(i, 4 * c, 1, bias=False), nn.BatchNorm2d(4 * c))

        def forward(self, x):
            return F.relu(self.b(self.pool(self.split(self.a(x)))) + self.skip(x))

    class Net(nn.Module):
        def __init__(self, kinds=196, depths=(3, 4, 6, 3)):
            super().__init__()
            layers, last = [convolved(3, 32, 3, 2), convolved(32, 32), convolved(32, 64), nn.MaxPool2d(3, 2, 1)], 64
            for level, n in enumerate(depths):
                c = 64 << level
                for k in range(n):
                    layers.append(Block(last, c, 2 if k == 0 and level else 1))
                    last = 4 * c
            self.body, self.drop, self.out = nn.Sequential(*layers), nn.Dropout(0.2), nn.Linear(last, kinds)

        def forward(self, x):
            return self.out(self.drop(self.body(x).mean((2, 3))))
    return Net(), lambda b: torch.zeros(b, 3, 224, 224), "cross-entropy"


def nested_polyps():
    """Polyps in endoscopy: a U-Net with nested skips, a mask at each of four depths, cross-entropy with Dice."""
    class Net(nn.Module):
        def __init__(self, widths=(32, 64, 128, 256, 512)):
            super().__init__()
            n, self.blocks = len(widths), nn.ModuleDict()
            for j in range(n):
                for i in range(n - j):
                    last = (widths[i - 1] if i else 3) if j == 0 else j * widths[i] + widths[i + 1]
                    self.blocks[f"{i}-{j}"] = nn.Sequential(convolved(last, widths[i]), convolved(widths[i], widths[i]))
            self.many, self.masks = n, nn.ModuleList(nn.Conv2d(widths[0], 1, 1) for _ in range(n - 1))

        def forward(self, pixels, mask):
            made = {}
            for j in range(self.many):
                for i in range(self.many - j):
                    if j == 0:
                        x = F.max_pool2d(made[i - 1, 0], 2) if i else pixels
                    else:
                        up = F.interpolate(made[i + 1, j - 1], scale_factor=2.0, mode="bilinear", align_corners=True)
                        x = torch.cat([*(made[i, k] for k in range(j)), up], 1)
                    made[i, j] = self.blocks[f"{i}-{j}"](x)
            goal = mask.sigmoid()
            return Result(sum(self.apart(f(made[0, j + 1]), goal) for j, f in enumerate(self.masks)) / len(self.masks))

        @staticmethod
        def apart(x, goal):
            share, x = x.sigmoid().float(), F.binary_cross_entropy_with_logits(x.float(), goal.float())
            both, all_ = (share * goal).sum((1, 2, 3)), share.sum((1, 2, 3)) + goal.sum((1, 2, 3))
            return 0.5 * x + (1 - (2 * both + 1) / (all_ + 1)).mean()
    return Net(), lambda b: {"pixels": torch.zeros(b, 3, 256, 256), "mask": torch.zeros(b, 1, 256, 256)}, "own"


def pooled_scenes():
    """Scenes in 150 kinds of regions: dilated residual blocks, pooling to four grids, and an auxiliary output."""
    class Block(nn.Module):
        def __init__(self, i, c, stride, dilation):
            super().__init__()
            self.f = nn.Sequential(convolved(i, c, 3, stride, dilation),
                                   nn.Conv2d(c, c, 3, 1, dilation, dilation, bias=False), nn.BatchNorm2d(c))
            self.skip = nn.Identity() if i == c and stride == 1 else nn.Sequential(
                nn.Conv2d(i, c, 1, stride, bias=False), nn.BatchNorm2d(c))

        def forward(self, x):
            return F.relu(self.f(x) + self.skip(x))

    class Net(nn.Module):
        def __init__(self, kinds=150, sizes=(1, 2, 3, 6)):
            super().__init__()
            self.low = nn.Sequential(convolved(3, 64, 3, 2), convolved(64, 64), nn.MaxPool2d(3, 2, 1),
                                     Block(64, 64, 1, 1), Block(64, 64, 1, 1), Block(64, 128, 2, 1), Block(128, 128, 1, 1),
                                     Block(128, 256, 1, 2), *(Block(256, 256, 1, 2) for _ in range(3)))
            self.high = nn.Sequential(Block(256, 512, 1, 4), Block(512, 512, 1, 4))
            self.pools = nn.ModuleList(nn.Sequential(nn.AdaptiveAvgPool2d(s), convolved(512, 128, 1)) for s in sizes)
            self.out = nn.Sequential(convolved(512 + 128 * len(sizes), 256), nn.Dropout2d(0.1), nn.Conv2d(256, kinds, 1))
            self.aux = nn.Sequential(convolved(256, 128), nn.Dropout2d(0.1), nn.Conv2d(128, kinds, 1))

        def forward(self, pixels, labels):
            low = self.low(pixels)
            x = self.high(low)
            grids = [F.interpolate(f(x), x.shape[2:], mode="bilinear", align_corners=False) for f in self.pools]
            scores = self.out(torch.cat([x, *grids], 1)), self.aux(low)
            a, b = (F.cross_entropy(F.interpolate(s.float(), labels.shape[1:], mode="bilinear", align_corners=False),
                                    labels, ignore_index=255) for s in scores)
            return Result(a + 0.4 * b)
    return Net(), lambda b: {"pixels": torch.zeros(b, 3, 320, 320),
                             "labels": torch.zeros(b, 320, 320, dtype=torch.int64)}, "own"


def ordered_ages():
    """Ages of faces: large depthwise filters and response norms, one output for each threshold of age."""
    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.deep, self.norm = nn.Conv2d(c, c, 7, 1, 3, groups=c), nn.LayerNorm(c)
            self.up, self.down = nn.Linear(c, 4 * c), nn.Linear(4 * c, c)
            self.scale, self.shift = nn.Parameter(torch.zeros(4 * c)), nn.Parameter(torch.zeros(4 * c))

        def forward(self, x):
            y = F.gelu(self.up(self.norm(self.deep(x).permute(0, 2, 3, 1))))
            size = y.float().pow(2).sum((1, 2), keepdim=True).add(1e-6).sqrt()
            y = y + self.scale * y * (size / (size.mean(-1, keepdim=True) + 1e-6)).to(y.dtype) + self.shift
            return x + self.down(y).permute(0, 3, 1, 2)

    class Net(nn.Module):
        def __init__(self, ages=80, widths=(64, 128, 256, 512), depths=(2, 2, 6, 2)):
            super().__init__()
            layers, last = [], 3
            for level, (c, n) in enumerate(zip(widths, depths)):
                k = 2 if level else 4
                layers += [nn.GroupNorm(1, last) if level else nn.Identity(), nn.Conv2d(last, c, k, k),
                           *(Block(c) for _ in range(n))]
                last = c
            self.body, self.norm = nn.Sequential(*layers), nn.LayerNorm(last)
            self.out, self.steps = nn.Linear(last, 1, bias=False), nn.Parameter(torch.linspace(2, -2, ages - 1))

        def forward(self, pixels, labels):
            score = self.out(self.norm(self.body(pixels).mean((2, 3)))).float() + self.steps
            older = (labels.unsqueeze(1) > torch.arange(len(self.steps), device=labels.device)).float()
            return Result(F.binary_cross_entropy_with_logits(score, older))
    return Net(), lambda b: {"pixels": torch.zeros(b, 3, 192, 192), "labels": torch.zeros(b, dtype=torch.int64)}, "own"


def coloured_photos():
    """Colours for grey photographs: dilated convolutions score 313 colours at each place, rare ones weigh more."""
    class Net(nn.Module):
        def __init__(self, colours=313):
            super().__init__()
            plan = [(1, 64, 2, 2, 1), (64, 128, 2, 2, 1), (128, 256, 3, 2, 1), (256, 512, 3, 1, 1), (512, 512, 3, 1, 2),
                    (512, 512, 3, 1, 2), (512, 512, 3, 1, 1)]
            layers = []
            for i, o, n, stride, dilation in plan:
                for k in range(n):
                    step = stride if k == n - 1 else 1
                    layers += [nn.Conv2d(i if k == 0 else o, o, 3, step, dilation, dilation), nn.ReLU(True)]
                layers.append(nn.BatchNorm2d(o))
            layers += [nn.ConvTranspose2d(512, 256, 4, 2, 1), nn.ReLU(True), nn.Conv2d(256, 256, 3, 1, 1), nn.ReLU(True)]
            self.body, self.out = nn.Sequential(*layers), nn.Conv2d(256, colours, 1)
            self.register_buffer("weight", torch.linspace(0.5, 2, colours))

        def forward(self, grey, labels):
            return Result(F.cross_entropy(self.out(self.body(grey)).float(), labels, self.weight))
    return Net(), lambda b: {"grey": torch.zeros(b, 1, 224, 224),
                             "labels": torch.zeros(b, 56, 56, dtype=torch.int64)}, "own"


def lit_nights():
    """Dark photographs made brighter: a small net gives eight curves per pixel, losses need no bright picture."""
    class Net(nn.Module):
        def __init__(self, c=32, rounds=8):
            super().__init__()
            self.rounds = rounds
            self.f = nn.ModuleList(nn.Conv2d(i, c, 3, 1, 1) for i in (3, c, c, c, 2 * c, 2 * c))
            self.last = nn.Conv2d(2 * c, 3 * rounds, 3, 1, 1)

        def forward(self, pixels):
            dark = pixels.sigmoid() * 0.3
            a = F.relu(self.f[0](dark))
            b = F.relu(self.f[1](a))
            c = F.relu(self.f[2](b))
            d = F.relu(self.f[3](c))
            e = F.relu(self.f[4](torch.cat([c, d], 1)))
            g = F.relu(self.f[5](torch.cat([b, e], 1)))
            curves, x = torch.tanh(self.last(torch.cat([a, g], 1))), dark
            for curve in curves.chunk(self.rounds, 1):
                x = x + curve * (x * x - x)
            level = (F.avg_pool2d(x.mean(1, keepdim=True), 16) - 0.6).pow(2).mean()
            red, green, blue = x.mean((2, 3)).unbind(1)
            tint = ((red - green) ** 2 + (red - blue) ** 2 + (green - blue) ** 2).add(1e-8).sqrt().mean()
            old, new = (F.avg_pool2d(t.mean(1, keepdim=True), 4) for t in (dark, x))
            edges = sum((new.diff(dim=k).abs() - old.diff(dim=k).abs()).pow(2).mean() for k in (2, 3))
            smooth = sum(curves.diff(dim=k).pow(2).mean() for k in (2, 3))
            return Result(10 * level + 5 * tint + edges + 200 * smooth)
    return Net(), lambda b: torch.zeros(b, 3, 256, 256), "own"


def parallel_scales():
    """Joints of athletes: three resolutions run side by side and exchange features, heat maps of 17 joints."""
    class Unit(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.f = nn.Sequential(convolved(c, c), nn.Conv2d(c, c, 3, 1, 1, bias=False), nn.BatchNorm2d(c))

        def forward(self, x):
            return F.relu(x + self.f(x))

    class Exchange(nn.Module):
        def __init__(self, widths, outputs):
            super().__init__()
            self.own = nn.ModuleList(nn.Sequential(Unit(c), Unit(c)) for c in widths)
            self.other = nn.ModuleList(nn.ModuleList(self.path(widths, i, o) for i in range(len(widths)))
                                       for o in range(outputs))

        @staticmethod
        def path(widths, i, o):
            if i == o:
                return nn.Identity()
            if i > o:
                return nn.Sequential(nn.Conv2d(widths[i], widths[o], 1, bias=False), nn.BatchNorm2d(widths[o]),
                                     nn.Upsample(scale_factor=2.0 ** (i - o), mode="nearest"))
            last = nn.Sequential(nn.Conv2d(widths[i], widths[o], 3, 2, 1, bias=False), nn.BatchNorm2d(widths[o]))
            return nn.Sequential(*(convolved(widths[i], widths[i], 3, 2) for _ in range(o - i - 1)), last)

        def forward(self, xs):
            xs = [f(x) for f, x in zip(self.own, xs)]
            return [F.relu(sum(f(x) for f, x in zip(row, xs))) for row in self.other]

    class Net(nn.Module):
        def __init__(self, widths=(32, 64, 128), rounds=4, joints=17):
            super().__init__()
            self.enter = nn.Sequential(convolved(3, 64, 3, 2), convolved(64, 64, 3, 2), Unit(64), Unit(64))
            steps = [64, *widths]
            self.start = nn.ModuleList(convolved(i, o, 3, 2 if k else 1) for k, (i, o) in enumerate(zip(steps, widths)))
            self.rounds = nn.ModuleList(Exchange(widths, len(widths) if n < rounds - 1 else 1) for n in range(rounds))
            self.out = nn.Conv2d(widths[0], joints, 1)

        def forward(self, x):
            xs, x = [], self.enter(x)
            for f in self.start:
                x = f(x)
                xs.append(x)
            for f in self.rounds:
                xs = f(xs)
            return self.out(xs[0])
    return Net(), lambda b: torch.zeros(b, 3, 256, 192), "mse"


def occupied_shapes():
    """Shapes from points: residual layers on 1024 points give a code, which scales the norms of 2048 questions."""
    class Conditional(nn.Module):
        def __init__(self, code, c):
            super().__init__()
            self.norm, self.scale, self.shift = nn.BatchNorm1d(c, affine=False), nn.Linear(code, c), nn.Linear(code, c)

        def forward(self, x, code):
            return self.norm(x) * (1 + self.scale(code)).unsqueeze(-1) + self.shift(code).unsqueeze(-1)

    class Block(nn.Module):
        def __init__(self, code, c):
            super().__init__()
            self.n1, self.n2 = Conditional(code, c), Conditional(code, c)
            self.f1, self.f2 = nn.Conv1d(c, c, 1), nn.Conv1d(c, c, 1)

        def forward(self, x, code):
            y = self.f1(F.relu(self.n1(x, code)))
            return x + self.f2(F.relu(self.n2(y, code)))

    class Net(nn.Module):
        def __init__(self, c=256, code=256, depth=5):
            super().__init__()
            self.enter = nn.Linear(3, 2 * c)
            self.points = nn.ModuleList(nn.Sequential(nn.ReLU(), nn.Linear(2 * c, c), nn.ReLU(), nn.Linear(c, c))
                                        for _ in range(4))
            self.code, self.ask = nn.Linear(c, code), nn.Conv1d(3, c, 1)
            self.body = nn.ModuleList(Block(code, c) for _ in range(depth))
            self.last, self.out = Conditional(code, c), nn.Conv1d(c, 1, 1)

        def forward(self, points, places, inside):
            x = self.enter(points)
            for n, f in enumerate(self.points):
                x = f(x)
                most = x.amax(1, keepdim=True)
                x = torch.cat([x, most.expand_as(x)], -1) if n < len(self.points) - 1 else most.squeeze(1)
            code, y = self.code(F.relu(x)), self.ask(places.transpose(1, 2))
            for f in self.body:
                y = f(y, code)
            score = self.out(F.relu(self.last(y, code))).squeeze(1).float()
            return Result(F.binary_cross_entropy_with_logits(score, (inside > 0).float()))

    def inputs(b):
        return {"points": torch.zeros(b, 1024, 3), "places": torch.zeros(b, 2048, 3), "inside": torch.zeros(b, 2048)}
    return Net(), inputs, "own"


def modulated_sines():
    """Pictures as functions: layers of sines over places, whose frequencies and phases come from a code."""
    class Net(nn.Module):
        def __init__(self, code=256, c=256, depth=6, side=64):
            super().__init__()
            self.depth = depth
            self.map = nn.Sequential(nn.Linear(code, 512), nn.LeakyReLU(0.2), nn.Linear(512, 512), nn.LeakyReLU(0.2),
                                     nn.Linear(512, 2 * depth * c))
            self.body = nn.ModuleList(nn.Linear(c if n else 2, c) for n in range(depth))
            self.out, line = nn.Linear(c, 3), torch.linspace(-1, 1, side)
            self.register_buffer("places", torch.stack(torch.meshgrid(line, line, indexing="ij"), -1).flatten(0, 1))

        def forward(self, code, pixels):
            x = self.places.expand(len(code), -1, -1)
            turns = self.map(code).unflatten(1, (self.depth, 2, -1)).unsqueeze(3)
            for n, f in enumerate(self.body):
                x = torch.sin((15 * turns[:, n, 0] + 30) * f(x) + turns[:, n, 1])
            return Result(F.mse_loss(self.out(x).float(), pixels.flatten(2).transpose(1, 2))
                          + 1e-4 * code.pow(2).mean())
    return Net(), lambda b: {"code": torch.zeros(b, 256), "pixels": torch.zeros(b, 3, 64, 64)}, "own"


NETWORKS = {f.__name__: f for f in (branched_leaves, split_cars, nested_polyps, pooled_scenes, ordered_ages,
                                    coloured_photos, lit_nights, parallel_scales, occupied_shapes, modulated_sines)}
STEPS = {"branched_leaves": ("amp-fp16", 128, "nhwc", "momentum"), "split_cars": ("amp-bf16", 64, "nhwc", "momentum"),
         "nested_polyps": ("amp-bf16", 16, "nchw", "adam"), "pooled_scenes": ("amp-fp16", 16, "nhwc", "momentum"),
         "ordered_ages": ("amp-bf16", 64, "nhwc", "adamw"), "coloured_photos": ("tf32", 32, "nchw", "adam"),
         "lit_nights": ("fp32", 8, "nchw", "adam"), "parallel_scales": ("amp-bf16", 64, "nhwc", "adam"),
         "occupied_shapes": ("tf32", 64, "nchw", "adam"), "modulated_sines": ("fp32", 32, "nchw", "adam")}
