# SPDX-License-Identifier: Apache-2.0
"""written_twentyfourth.py - the fourteenth set of networks, continued: pictures and scans. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result, words


def second_stage():
    """Objects and their masks: a residual network with a pyramid; regions are cut from three levels and classified."""
    from torchvision.models import resnet50
    from torchvision.ops import FeaturePyramidNetwork, roi_align

    class Net(nn.Module):
        def __init__(self, c=256, classes=81, masked=32):
            super().__init__()
            body = resnet50(weights=None)
            self.first = nn.Sequential(body.conv1, body.bn1, body.relu, body.maxpool, body.layer1)
            self.rest = nn.ModuleList([body.layer2, body.layer3, body.layer4])
            self.pyramid, self.masked = FeaturePyramidNetwork([256, 512, 1024, 2048], c), masked
            self.near, self.object, self.sides = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, 3, 1), nn.Conv2d(c, 12, 1)
            self.dense = nn.Sequential(nn.Flatten(), nn.Linear(c * 49, 1024), nn.ReLU(), nn.Linear(1024, 1024),
                                       nn.ReLU())
            self.kind, self.box = nn.Linear(1024, classes), nn.Linear(1024, 4 * classes)
            self.mask = nn.Sequential(*(m for _ in range(4) for m in (nn.Conv2d(c, c, 3, padding=1), nn.ReLU())),
                                      nn.ConvTranspose2d(c, c, 2, 2), nn.ReLU(), nn.Conv2d(c, classes, 1))

        def cut(self, maps, boxes, size):
            """Boxes are sorted by size: a third of each picture's boxes belongs to each level."""
            found = []
            for level, (one, part) in enumerate(zip(maps, boxes.chunk(3, 1))):
                found.append(roi_align(one, list(part.unbind(0)), size, 1 / (4 * 2 ** level), 2, aligned=True))
            return torch.cat([f.unflatten(0, (len(boxes), -1)) for f in found], 1).flatten(0, 1)

        def forward(self, picture, boxes, sides, masks, labels):
            h, w = picture.shape[2:]
            middle, half = boxes.sigmoid().chunk(2, -1)
            scale = torch.tensor([w, h, w, h], device=picture.device)
            boxes = torch.cat([middle - half / 4, middle + half / 4], -1).clamp(0, 1) * scale
            x = self.first(picture)
            maps = {"0": x}
            for n, f in enumerate(self.rest):
                x = f(x)
                maps[str(n + 1)] = x
            maps = list(self.pyramid(maps).values())
            loss = 0
            for one in maps:
                y = F.relu(self.near(one))
                loss = loss + F.softplus(self.object(y).float()).mean() + 0.01 * self.sides(y).float().abs().mean()
            y = self.dense(self.cut(maps, boxes, 7))
            loss = loss + F.cross_entropy(self.kind(y).float(), labels.flatten())
            own = self.box(y).float().unflatten(-1, (-1, 4))[torch.arange(len(y), device=y.device), labels.flatten()]
            loss = loss + F.smooth_l1_loss(own, sides.flatten(0, 1), beta=1 / 9)
            few = 3 * self.masked
            y = self.mask(self.cut(maps, boxes[:, :few], 14)).float()
            own = y[torch.arange(len(y), device=y.device), labels[:, :few].flatten()]
            return Result(loss + F.binary_cross_entropy_with_logits(own, (masks.flatten(0, 1) > 0).float()))

    def inputs(b):
        return {"picture": torch.zeros(b, 3, 640, 800), "boxes": torch.zeros(b, 384, 4),
                "sides": torch.zeros(b, 384, 4), "masks": torch.zeros(b, 96, 28, 28), "labels": words(b, 384)}
    return Net(), inputs, "own"


def vessel_skeletons():
    """Vessels in scans: a 3-D U-Net whose loss compares thinned vessels, made by repeated minima and maxima."""
    class Unit(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.f = nn.Sequential(nn.Conv3d(i, o, 3, padding=1), nn.GroupNorm(8, o), nn.LeakyReLU(0.01, inplace=True),
                                   nn.Conv3d(o, o, 3, padding=1), nn.GroupNorm(8, o))
            self.skip = nn.Conv3d(i, o, 1) if i != o else nn.Identity()

        def forward(self, x):
            return F.leaky_relu(self.f(x) + self.skip(x), 0.01)

    def eroded(x):
        a, b, c = (-F.max_pool3d(-x, k, 1, tuple(n // 2 for n in k)) for k in ((3, 1, 1), (1, 3, 1), (1, 1, 3)))
        return torch.min(torch.min(a, b), c)

    def opened(x):
        return F.max_pool3d(eroded(x), 3, 1, 1)

    def thinned(x, rounds):
        y = F.relu(x - opened(x))
        for _ in range(rounds):
            x = eroded(x)
            more = F.relu(x - opened(x))
            y = y + F.relu(more - y * more)
        return y

    class Net(nn.Module):
        def __init__(self, wide=(32, 64, 128, 256), rounds=5):
            super().__init__()
            self.rounds = rounds
            self.down = nn.ModuleList(Unit(i, o) for i, o in zip((1, *wide), wide))
            self.grow = nn.ModuleList(nn.ConvTranspose3d(o, i, 2, 2) for i, o in zip(wide, wide[1:]))
            self.up, self.out = nn.ModuleList(Unit(2 * i, i) for i in wide[:-1]), nn.Conv3d(wide[0], 1, 1)

        def forward(self, scan, vessel):
            x, kept = scan, []
            for n, f in enumerate(self.down):
                x = f(F.max_pool3d(x, 2) if n else x)
                kept.append(x)
            for grow, f, skip in zip(reversed(self.grow), reversed(self.up), reversed(kept[:-1])):
                x = f(torch.cat([skip, grow(x)], 1))
            score, true = self.out(x).float(), (vessel > 1).float()
            found = torch.sigmoid(score)
            both = (found * true).sum()
            dice = 1 - (2 * both + 1) / (found.sum() + true.sum() + 1)
            thin, right = thinned(found, self.rounds), thinned(true, self.rounds)
            sure = ((thin * true).sum() + 1) / (thin.sum() + 1)
            whole = ((right * found).sum() + 1) / (right.sum() + 1)
            return Result(dice + 0.5 * (1 - 2 * sure * whole / (sure + whole))
                          + F.binary_cross_entropy_with_logits(score, true))
    return Net(), lambda b: (torch.zeros(b, 1, 96, 96, 96), torch.zeros(b, 1, 96, 96, 96)), "own"


def tomography_rounds():
    """Slices from few X-ray views: eight rounds of small networks on views and on the slice."""
    def small(i, o, c=32):
        return nn.Sequential(nn.Conv2d(i, c, 3, padding=1), nn.PReLU(c), nn.Conv2d(c, c, 3, padding=1), nn.PReLU(c),
                             nn.Conv2d(c, o, 3, padding=1))

    class Net(nn.Module):
        def __init__(self, size=192, views=60, kept=5, rounds=8):
            super().__init__()
            self.views, self.kept = views, kept
            self.dual = nn.ModuleList(small(kept + 2, kept) for _ in range(rounds))
            self.primal = nn.ModuleList(small(kept + 1, kept) for _ in range(rounds))
            angle = torch.arange(views) * math.pi / views
            zero = torch.zeros(views)
            there = torch.stack([angle.cos(), -angle.sin(), zero, angle.sin(), angle.cos(), zero], 1).view(-1, 2, 3)
            back = torch.stack([angle.cos(), angle.sin(), zero, -angle.sin(), angle.cos(), zero], 1).view(-1, 2, 3)
            for name, turn in (("there", there), ("back", back)):
                grid = F.affine_grid(turn, (views, 1, size, size), align_corners=False)
                self.register_buffer(name, grid, persistent=False)

        def projected(self, x):
            """Slices (batch, 1, size, size) as views (batch, 1, views, size)."""
            turned = F.grid_sample(x.transpose(0, 1).expand(self.views, -1, -1, -1), self.there, align_corners=False)
            return turned.mean(2).transpose(0, 1).unsqueeze(1)

        def spread(self, y):
            smeared = y.squeeze(1).transpose(0, 1).unsqueeze(2).expand(-1, -1, y.shape[-1], -1)
            return F.grid_sample(smeared, self.back, align_corners=False).mean(0).unsqueeze(1)

        def forward(self, slices):
            with torch.no_grad():
                views = self.projected(slices)
                views = views + 0.01 * torch.randn_like(views)
            x = slices.new_zeros(len(slices), self.kept, *slices.shape[2:])
            y = views.new_zeros(len(slices), self.kept, *views.shape[2:])
            for f, g in zip(self.dual, self.primal):
                y = y + f(torch.cat([y, self.projected(x[:, 1:2]), views], 1))
                x = x + g(torch.cat([x, self.spread(y[:, :1])], 1))
            return Result(F.mse_loss(x[:, :1], slices))
    return Net(), lambda b: torch.zeros(b, 1, 192, 192), "own"


def known_faces():
    """Faces of 93,431 people: a residual network with norms before filters, and a margin added to the right angle."""
    class Block(nn.Module):
        def __init__(self, i, o, stride):
            super().__init__()
            self.f = nn.Sequential(nn.BatchNorm2d(i), nn.Conv2d(i, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o),
                                   nn.PReLU(o), nn.Conv2d(o, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o))
            self.skip = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False),
                                      nn.BatchNorm2d(o)) if stride > 1 else nn.Identity()

        def forward(self, x):
            return self.f(x) + self.skip(x)

    class Net(nn.Module):
        def __init__(self, depths=(3, 4, 14, 3), people=93431, code=512, margin=0.5, scale=64.0):
            super().__init__()
            self.margin, self.scale = margin, scale
            body, i = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.PReLU(64)], 64
            for depth, o in zip(depths, (64, 128, 256, 512)):
                body += [Block(i if n == 0 else o, o, 2 if n == 0 else 1) for n in range(depth)]
                i = o
            self.body = nn.Sequential(*body, nn.BatchNorm2d(512), nn.Flatten(), nn.Linear(512 * 49, code),
                                      nn.BatchNorm1d(code))
            self.centres = nn.Parameter(torch.randn(people, code) * 0.01)

        def forward(self, face, labels):
            x = F.normalize(self.body(face).float(), dim=-1)
            close = F.linear(x, F.normalize(self.centres, dim=-1)).float().clamp(-1 + 1e-5, 1 - 1e-5)
            right = close.gather(1, labels.unsqueeze(1))
            moved = torch.cos(torch.acos(right) + self.margin)
            moved = torch.where(right > -math.cos(self.margin), moved, right - self.margin * math.sin(self.margin))
            score = close.scatter(1, labels.unsqueeze(1), moved) * self.scale
            return Result(F.cross_entropy(score, labels))

    def inputs(b):
        return {"face": torch.zeros(b, 3, 112, 112), "labels": torch.zeros(b, dtype=torch.int64)}
    return Net(), inputs, "own"


def matched_points():
    """The same points in two pictures: descriptors attend within and across pictures; fifty rounds of transport."""
    def dense(*sizes):
        layers = []
        for i, o in zip(sizes, sizes[1:]):
            layers += [nn.Conv1d(i, o, 1), nn.BatchNorm1d(o), nn.ReLU()]
        return nn.Sequential(*layers[:-2])

    class Layer(nn.Module):
        def __init__(self, c, heads=4):
            super().__init__()
            self.heads, self.f = heads, dense(2 * c, 2 * c, c)
            self.q, self.k, self.v, self.o = (nn.Conv1d(c, c, 1) for _ in range(4))

        def forward(self, x, other):
            q, k, v = (f(t).unflatten(1, (-1, self.heads)) for f, t in ((self.q, x), (self.k, other), (self.v, other)))
            look = (torch.einsum("bdhn,bdhm->bhnm", q, k) * q.shape[1] ** -0.5).softmax(-1)
            y = self.o(torch.einsum("bhnm,bdhm->bdhn", look, v).flatten(1, 2))
            return self.f(torch.cat([x, y], 1))

    class Net(nn.Module):
        def __init__(self, c=256, depth=9, rounds=50):
            super().__init__()
            self.place, self.rounds = dense(3, 32, 64, 128, 256, c), rounds
            self.own, self.cross = (nn.ModuleList(Layer(c) for _ in range(depth)) for _ in range(2))
            self.last, self.bin = nn.Conv1d(c, c, 1), nn.Parameter(torch.tensor(1.0))

        def transport(self, score):
            b, m, n = score.shape
            score = F.pad(score, (0, 1, 0, 1)) + F.pad(torch.zeros_like(score), (0, 1, 0, 1), value=1.0) * self.bin
            norm = -math.log(m + n)
            rows = torch.cat([score.new_full((m,), norm), score.new_tensor([math.log(n) + norm])]).expand(b, -1)
            columns = torch.cat([score.new_full((n,), norm), score.new_tensor([math.log(m) + norm])]).expand(b, -1)
            u, v = torch.zeros_like(rows), torch.zeros_like(columns)
            for _ in range(self.rounds):
                u = rows - torch.logsumexp(score + v.unsqueeze(1), 2)
                v = columns - torch.logsumexp(score + u.unsqueeze(2), 1)
            return score + u.unsqueeze(2) + v.unsqueeze(1) - norm

        def forward(self, places, codes, others, more, match):
            x, y = (F.normalize(c, dim=1) + self.place(p) for p, c in ((places, codes), (others, more)))
            for own, cross in zip(self.own, self.cross):
                x, y = x + own(x, x), y + own(y, y)
                x, y = x + cross(x, y), y + cross(y, x)
            x, y = self.last(x), self.last(y)
            score = self.transport(torch.einsum("bdn,bdm->bnm", x, y) / x.shape[1] ** 0.5)
            right = score[:, :-1].gather(2, match.long().unsqueeze(-1)).squeeze(-1)
            return Result(-right.mean() - 0.1 * score[:, -1, :-1].mean())

    def inputs(b):
        pair = torch.zeros(b, 3, 1024), torch.zeros(b, 256, 1024)
        return *pair, *pair, torch.arange(1024, dtype=torch.int32).repeat(b, 1)
    return Net(), inputs, "own"


def self_taught_depth():
    """Depth without labels: depth and motion networks warp neighbouring frames; structure and colours must agree."""
    from torchvision.models import resnet18

    class Eye(nn.Module):
        def __init__(self, frames=1):
            super().__init__()
            body = resnet18(weights=None)
            if frames > 1:
                body.conv1 = nn.Conv2d(3 * frames, 64, 7, 2, 3, bias=False)
            self.first = nn.Sequential(body.conv1, body.bn1, body.relu)
            self.rest = nn.ModuleList([nn.Sequential(body.maxpool, body.layer1), body.layer2, body.layer3, body.layer4])

        def forward(self, x):
            maps = [self.first((x - 0.45) / 0.225)]
            for f in self.rest:
                maps.append(f(maps[-1]))
            return maps

    def unit(i, o, act=True):
        return nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(i, o, 3), *([nn.ELU(inplace=True)] if act else []))

    class Net(nn.Module):
        def __init__(self, h=192, w=640):
            super().__init__()
            self.eye, self.both, self.h, self.w = Eye(), Eye(2), h, w
            wide, skips = (16, 32, 64, 128, 256), (0, 64, 64, 128, 256)
            self.low = nn.ModuleList(unit(wide[n + 1] if n < 4 else 512, wide[n]) for n in range(5))
            self.high = nn.ModuleList(unit(wide[n] + skips[n], wide[n]) for n in range(5))
            self.flat = nn.ModuleList(unit(wide[n], 1, False) for n in range(4))
            self.motion = nn.Sequential(nn.Conv2d(512, 256, 1), nn.ReLU(), nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(),
                                        nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.Conv2d(256, 6, 1))
            camera = torch.tensor([[0.58 * w, 0, 0.5 * w], [0, 1.92 * h, 0.5 * h], [0, 0, 1]])
            pixels = torch.meshgrid(torch.arange(w).float(), torch.arange(h).float(), indexing="xy")
            pixels = torch.stack([*pixels, torch.ones(h, w)]).flatten(1)
            self.register_buffer("camera", camera, persistent=False)
            self.register_buffer("rays", camera.inverse() @ pixels, persistent=False)

        def depths(self, picture):
            maps, found = self.eye(picture), []
            x = maps[-1]
            for n in range(4, -1, -1):
                x = F.interpolate(self.low[n](x), scale_factor=2, mode="nearest")
                x = self.high[n](torch.cat([x, maps[n - 1]], 1) if n else x)
                if n < 4:
                    found.append(torch.sigmoid(self.flat[n](x)))
            return found[::-1]

        def moved(self, pair):
            motion = 0.01 * self.motion(self.both(pair)[-1]).mean((2, 3))
            turn, shift = motion.float().split(3, 1)
            angle = turn.norm(dim=1, keepdim=True) + 1e-7
            x, y, z = (turn / angle).unbind(1)
            zero, angle = torch.zeros_like(x), angle.unsqueeze(-1)
            cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], 1).view(-1, 3, 3)
            eye = torch.eye(3, device=x.device)
            return eye + angle.sin() * cross + (1 - angle.cos()) * (cross @ cross), shift.unsqueeze(-1)

        def unlike(self, x, y):
            x0, y0 = F.pad(x, (1, 1, 1, 1), mode="reflect"), F.pad(y, (1, 1, 1, 1), mode="reflect")
            mx, my = F.avg_pool2d(x0, 3, 1), F.avg_pool2d(y0, 3, 1)
            sx, sy = F.avg_pool2d(x0 ** 2, 3, 1) - mx ** 2, F.avg_pool2d(y0 ** 2, 3, 1) - my ** 2
            sxy = F.avg_pool2d(x0 * y0, 3, 1) - mx * my
            top, low = (2 * mx * my + 1e-4) * (2 * sxy + 9e-4), (mx ** 2 + my ** 2 + 1e-4) * (sx + sy + 9e-4)
            shape = torch.clamp((1 - top / low) / 2, 0, 1).mean(1, keepdim=True)
            return 0.85 * shape + 0.15 * (x - y).abs().mean(1, keepdim=True)

        def warped(self, frame, depth, turn, shift):
            points = turn @ (self.rays * depth.flatten(1).unsqueeze(1)) + shift
            seen = self.camera @ points
            place = seen[:, :2] / (seen[:, 2:] + 1e-7)
            scale = torch.tensor([self.w - 1, self.h - 1], device=frame.device).view(1, 2, 1)
            grid = ((place / scale - 0.5) * 2).view(-1, 2, self.h, self.w).permute(0, 2, 3, 1)
            return F.grid_sample(frame, grid, padding_mode="border", align_corners=True)

        def forward(self, frames):
            before, now, after = torch.sigmoid(frames).unbind(1)
            motions = [self.moved(torch.cat([before, now], 1)), self.moved(torch.cat([now, after], 1))]
            still = torch.cat([self.unlike(f, now) for f in (before, after)], 1)
            still, loss = still + 1e-5 * torch.randn_like(still), 0
            for scale, near in enumerate(self.depths(now)):
                small = F.interpolate(now, size=near.shape[2:], mode="area")
                even = near / (near.mean((2, 3), True) + 1e-7)
                for d in (2, 3):
                    edge = torch.exp(-small.diff(dim=d).abs().mean(1, keepdim=True))
                    loss = loss + 1e-3 / 2 ** scale * (even.diff(dim=d).abs() * edge).mean()
                near = F.interpolate(near, (self.h, self.w), mode="bilinear", align_corners=False)
                depth = 1 / (0.01 + 9.99 * near)
                made = [self.unlike(self.warped(f, depth, *m), now) for f, m in zip((before, after), motions)]
                loss = loss + torch.cat([*made, still], 1).min(1)[0].mean()
            return Result(loss / 4)
    return Net(), lambda b: torch.zeros(b, 3, 3, 192, 640), "own"


def perceptual_codes():
    """Pictures as 256 codes: a residual autoencoder with a codebook, compared by colours and by a frozen network."""
    from torchvision.models import vgg16

    def norm(c):
        return nn.GroupNorm(32, c, eps=1e-6)

    class Unit(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.f = nn.Sequential(norm(i), nn.SiLU(), nn.Conv2d(i, o, 3, padding=1), norm(o), nn.SiLU(),
                                   nn.Dropout(0.0), nn.Conv2d(o, o, 3, padding=1))
            self.skip = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

        def forward(self, x):
            return self.skip(x) + self.f(x)

    class Look(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.norm, self.qkv, self.o = norm(c), nn.Conv2d(c, 3 * c, 1), nn.Conv2d(c, c, 1)

        def forward(self, x):
            q, k, v = self.qkv(self.norm(x)).flatten(2).chunk(3, 1)
            look = torch.bmm(q.transpose(1, 2), k).mul(q.shape[1] ** -0.5).softmax(-1)
            return x + self.o(torch.bmm(v, look.transpose(1, 2)).view_as(x))

    class Net(nn.Module):
        def __init__(self, c=96, times=(1, 1, 2, 2, 4), codes=1024, code=256):
            super().__init__()
            wide = [c * t for t in times]
            down, i = [nn.Conv2d(3, c, 3, padding=1)], c
            for n, o in enumerate(wide):
                down += [Unit(i, o), Unit(o, o)] + ([Look(o)] if n == 4 else [])
                down += [nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(o, o, 3, 2)] if n < 4 else []
                i = o
            self.down = nn.Sequential(*down, Unit(i, i), Look(i), norm(i), nn.SiLU(), nn.Conv2d(i, code, 3, padding=1))
            up = [nn.Conv2d(code, i, 3, padding=1), Unit(i, i), Look(i)]
            for n, o in enumerate(reversed(wide)):
                up += [Unit(i, o), Unit(o, o), Unit(o, o)]
                up += [nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(o, o, 3, padding=1)] if n < 4 else []
                i = o
            self.up = nn.Sequential(*up, norm(i), nn.SiLU(), nn.Conv2d(i, 3, 3, padding=1))
            self.book, self.eye = nn.Embedding(codes, code), vgg16(weights=None).features[:30].requires_grad_(False)
            self.weigh = nn.ModuleList(nn.Conv2d(n, 1, 1, bias=False) for n in (64, 128, 256, 512, 512))
            self.weigh.requires_grad_(False)

        def coded(self, z):
            flat = z.float().permute(0, 2, 3, 1).flatten(0, 2)
            far = flat.pow(2).sum(1, keepdim=True) + self.book.weight.pow(2).sum(1) - 2 * flat @ self.book.weight.t()
            q = self.book(far.argmin(1)).view(len(z), *z.shape[2:], -1).permute(0, 3, 1, 2)
            loss = (q.detach() - z).pow(2).mean() * 0.25 + (q - z.detach()).pow(2).mean()
            return z + (q - z).detach(), loss

        def apart(self, x, y):
            both, total, place = torch.cat([x, y]), 0, 0
            for n, f in enumerate(self.eye):
                both = f(both)
                if n in (3, 8, 15, 22, 29):
                    unit = both / (both.pow(2).sum(1, keepdim=True).sqrt() + 1e-10)
                    a, b = unit.chunk(2)
                    total, place = total + self.weigh[place]((a - b).pow(2)).mean(), place + 1
            return total

        def forward(self, picture):
            q, loss = self.coded(self.down(picture))
            made = self.up(q)
            return Result(loss + (picture - made).abs().mean() + self.apart(picture, made.float()))
    return Net(), lambda b: torch.zeros(b, 3, 256, 256), "own"


def brain_age():
    """Age from brain scans: six layers of 3-D filters with pooling, and a distribution over forty bins of a year."""
    class Net(nn.Module):
        def __init__(self, wide=(32, 64, 128, 256, 256), bins=40):
            super().__init__()
            body = []
            for i, o in zip((1, *wide), wide):
                body += [nn.Conv3d(i, o, 3, padding=1), nn.BatchNorm3d(o), nn.MaxPool3d(2), nn.ReLU()]
            self.body = nn.Sequential(*body, nn.Conv3d(wide[-1], 64, 1), nn.BatchNorm3d(64), nn.ReLU())
            self.head = nn.Sequential(nn.AdaptiveAvgPool3d(1), nn.Dropout(0.5), nn.Conv3d(64, bins, 1))
            self.register_buffer("middles", 42.5 + torch.arange(bins).float(), persistent=False)

        def forward(self, scan, age):
            found = self.head(self.body(scan)).flatten(1).float().log_softmax(1)
            true = torch.softmax(-0.5 * (self.middles - (60 + 8 * age).unsqueeze(1)).pow(2), 1)
            years = (found.exp() * self.middles).sum(1)
            return Result(F.kl_div(found, true, reduction="batchmean") + 0.01 * F.l1_loss(years, 60 + 8 * age))
    return Net(), lambda b: (torch.zeros(b, 1, 160, 192, 160), torch.zeros(b)), "own"


NETWORKS = {f.__name__: f for f in (second_stage, vessel_skeletons, tomography_rounds, known_faces, matched_points,
                                    self_taught_depth, perceptual_codes, brain_age)}
STEPS = {"second_stage": ("amp-fp16", 4, "nchw", "momentum"), "vessel_skeletons": ("amp-fp16", 2, "nchw", "adamw"),
         "tomography_rounds": ("fp32", 4, "nchw", "adam"), "known_faces": ("amp-fp16", 256, "nhwc", "momentum"),
         "matched_points": ("tf32", 8, "nchw", "adam"), "self_taught_depth": ("fp32", 12, "nchw", "adam"),
         "perceptual_codes": ("amp-bf16", 4, "nchw", "adam"), "brain_age": ("amp-bf16", 8, "nchw", "momentum")}
