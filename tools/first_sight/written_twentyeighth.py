# SPDX-License-Identifier: Apache-2.0
"""written_twentyeighth.py - the fifteenth set of networks, continued: pictures and scans. See cases.py."""
import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result


def deformed_text():
    """Where text is in photographs: filters with learned offsets in a residual network, a soft threshold per place."""
    from torchvision.models.resnet import BasicBlock, ResNet
    from torchvision.ops import DeformConv2d

    class Deformed(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.where, self.f = nn.Conv2d(c, 27, 3, padding=1), DeformConv2d(c, c, 3, padding=1, bias=False)
            nn.init.zeros_(self.where.weight)
            nn.init.zeros_(self.where.bias)

        def forward(self, x):
            y, z, mask = self.where(x).chunk(3, 1)
            return self.f(x, torch.cat([y, z], 1), mask.sigmoid())

    class Net(nn.Module):
        def __init__(self, c=256, steep=50):
            super().__init__()
            body = ResNet(BasicBlock, [2, 2, 2, 2])
            for part, size in ((body.layer2, 128), (body.layer3, 256), (body.layer4, 512)):
                for block in part:
                    block.conv2 = Deformed(size)
            self.steep, self.first = steep, nn.Sequential(body.conv1, body.bn1, body.relu, body.maxpool)
            self.parts = nn.ModuleList([body.layer1, body.layer2, body.layer3, body.layer4])
            self.side = nn.ModuleList(nn.Conv2d(n, c, 1, bias=False) for n in (64, 128, 256, 512))
            self.thin = nn.ModuleList(nn.Conv2d(c, c // 4, 3, padding=1, bias=False) for _ in range(4))
            self.chance, self.border = self.head(c), self.head(c)

        @staticmethod
        def head(c):
            return nn.Sequential(nn.Conv2d(c, c // 4, 3, padding=1, bias=False), nn.BatchNorm2d(c // 4), nn.ReLU(True),
                                 nn.ConvTranspose2d(c // 4, c // 4, 2, 2), nn.BatchNorm2d(c // 4), nn.ReLU(True),
                                 nn.ConvTranspose2d(c // 4, 1, 2, 2))

        @staticmethod
        def overlap(a, b, mask):
            return 1 - 2 * (a * b * mask).sum() / ((a * mask).sum() + (b * mask).sum() + 1e-6)

        def forward(self, picture, text, far):
            x, maps = self.first(picture), []
            for f in self.parts:
                x = f(x)
                maps.append(x)
            maps = [f(m) for f, m in zip(self.side, maps)]
            for n in (2, 1, 0):
                maps[n] = maps[n] + F.interpolate(maps[n + 1], scale_factor=2)
            thin = [f(m) for f, m in zip(self.thin, maps)]
            x = torch.cat([F.interpolate(m, scale_factor=2 ** n) for n, m in enumerate(thin)], 1)
            score, border = self.chance(x).float(), self.border(x).float().sigmoid()
            soft = torch.sigmoid(self.steep * (score.sigmoid() - border))
            goal, near = (text > 0.8).float(), (far > 0).float()
            all_ = F.binary_cross_entropy_with_logits(score, goal, reduction="none").flatten()
            yes = (all_ * goal.flatten()).sum() / (goal.sum() + 1)
            hard = (all_ * (1 - goal.flatten())).topk(all_.numel() // 4).values.mean()
            edge = ((border - far.abs().clamp(max=1)).abs() * near).sum() / (near.sum() + 1)
            return Result(5 * (yes + hard) + 10 * edge + self.overlap(soft, goal, near))

    def inputs(b):
        return torch.zeros(b, 3, 640, 640), torch.zeros(b, 1, 640, 640), torch.zeros(b, 1, 640, 640)
    return Net(), inputs, "own"


def gated_deblur():
    """Sharp pictures from shaken ones: products of halves of channels instead of activations, in a U of four levels."""
    class Norm(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.ones(c, 1, 1)), nn.Parameter(torch.zeros(c, 1, 1))

        def forward(self, x):
            mean = x.mean(1, keepdim=True)
            spread = (x - mean).pow(2).mean(1, keepdim=True)
            return self.weight * (x - mean) / (spread + 1e-6).sqrt() + self.bias

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.n1, self.n2 = Norm(c), Norm(c)
            self.a, self.b = nn.Conv2d(c, 2 * c, 1), nn.Conv2d(2 * c, 2 * c, 3, padding=1, groups=2 * c)
            self.look, self.c = nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 1)
            self.d, self.e = nn.Conv2d(c, 2 * c, 1), nn.Conv2d(c, c, 1)
            self.g1, self.g2 = (nn.Parameter(torch.zeros(1, c, 1, 1)) for _ in range(2))

        def forward(self, x):
            p, q = self.b(self.a(self.n1(x))).chunk(2, 1)
            y = p * q
            y = self.c(y * self.look(F.adaptive_avg_pool2d(y, 1)))
            x = x + y * self.g1
            p, q = self.d(self.n2(x)).chunk(2, 1)
            return x + self.e(p * q) * self.g2

    class Net(nn.Module):
        def __init__(self, c=32, down=(1, 1, 1, 12), up=(1, 1, 1, 1)):
            super().__init__()
            self.enter, self.leave = nn.Conv2d(3, c, 3, padding=1), nn.Conv2d(c, 3, 3, padding=1)
            self.down, self.less, self.grow, self.up = (nn.ModuleList() for _ in range(4))
            for n in down:
                self.down.append(nn.Sequential(*(Block(c) for _ in range(n))))
                self.less.append(nn.Conv2d(c, 2 * c, 2, 2))
                c *= 2
            self.middle = Block(c)
            for n in up:
                self.grow.append(nn.Sequential(nn.Conv2d(c, 2 * c, 1, bias=False), nn.PixelShuffle(2)))
                c //= 2
                self.up.append(nn.Sequential(*(Block(c) for _ in range(n))))

        def forward(self, x, sharp):
            y, kept = self.enter(x), []
            for f, less in zip(self.down, self.less):
                y = f(y)
                kept.append(y)
                y = less(y)
            y = self.middle(y)
            for grow, f, k in zip(self.grow, self.up, kept[::-1]):
                y = f(grow(y) + k)
            y = self.leave(y) + x
            return Result(10 / 2.303 * torch.log((y - sharp).pow(2).mean((1, 2, 3)) + 1e-8).mean())
    return Net(), lambda b: (torch.zeros(b, 3, 256, 256), torch.zeros(b, 3, 256, 256)), "own"


def planned_doses():
    """Radiation dose in a body from its scan and organs: two 3-D U-Nets in a row, the second sees what one found."""
    class One(nn.Sequential):
        def __init__(self, i, o, stride=1):
            super().__init__(nn.Conv3d(i, o, 3, stride, 1), nn.InstanceNorm3d(o, affine=True), nn.ReLU(inplace=True))

    class Unet(nn.Module):
        def __init__(self, i, sizes):
            super().__init__()
            self.first = nn.Sequential(One(i, sizes[0]), One(sizes[0], sizes[0]))
            self.down = nn.ModuleList(nn.Sequential(One(a, b, 2), One(b, b)) for a, b in zip(sizes, sizes[1:]))
            self.thin = nn.ModuleList(One(b, a) for a, b in zip(sizes, sizes[1:]))
            self.up = nn.ModuleList(nn.Sequential(One(2 * a, a), One(a, a)) for a in sizes[:-1])

        def forward(self, x):
            x = self.first(x)
            kept = [x]
            for f in self.down:
                x = f(x)
                kept.append(x)
            for n in range(len(self.up) - 1, -1, -1):
                x = F.interpolate(x, scale_factor=2, mode="trilinear", align_corners=True)
                x = self.up[n](torch.cat([self.thin[n](x), kept[n]], 1))
            return x

    class Net(nn.Module):
        def __init__(self, organs=9, sizes=(16, 32, 64, 128, 256), wide=(32, 64, 128, 256)):
            super().__init__()
            self.one, self.two = Unet(organs, sizes), Unet(organs + sizes[0], wide)
            self.out1, self.out2 = nn.Conv3d(sizes[0], 1, 1), nn.Conv3d(wide[0], 1, 1)

        def forward(self, scan, dose, may):
            x = self.one(scan)
            y = self.two(torch.cat([x, scan], 1))
            inside = (may > -1).float()
            first, last = ((f(t).float() - dose).abs() * inside for f, t in ((self.out1, x), (self.out2, y)))
            return Result((0.5 * first.sum() + last.sum()) / (inside.sum() + 1))

    def inputs(b):
        return torch.zeros(b, 9, 96, 96, 96), torch.zeros(b, 1, 96, 96, 96), torch.zeros(b, 1, 96, 96, 96)
    return Net(), inputs, "own"


def tooth_faces():
    """Teeth on a scanned jaw: dense layers for each face of the mesh, averages over near faces, turned features."""
    def dense(*sizes):
        return nn.Sequential(*(m for i, o in zip(sizes, sizes[1:]) for m in (nn.Conv1d(i, o, 1), nn.BatchNorm1d(o),
                                                                            nn.ReLU(inplace=True))))

    class Turn(nn.Module):
        def __init__(self, k):
            super().__init__()
            self.k, self.f = k, dense(k, 64, 128, 512)
            self.g = nn.Sequential(nn.Linear(512, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 128),
                                   nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, k * k))

        def forward(self, x):
            y = self.g(self.f(x).amax(2)).unflatten(-1, (self.k, self.k))
            return y + torch.eye(self.k, device=x.device)

    class Near(nn.Module):
        def __init__(self, i, o, scales):
            super().__init__()
            self.own, self.other = dense(i, o), nn.ModuleList(dense(i, o) for _ in range(scales))
            self.join = dense(o * (scales + 1), o)

        def forward(self, x, links):
            around = [f(torch.bmm(x, a)) for f, a in zip(self.other, links)]
            return self.join(torch.cat([self.own(x), *around], 1))

    class Net(nn.Module):
        def __init__(self, traits=15, classes=15):
            super().__init__()
            self.first, self.turn, self.near1 = dense(traits, 64, 64), Turn(64), Near(64, 64, 1)
            self.second, self.near2, self.last = dense(64, 64, 128, 512), Near(512, 256, 2), dense(256, 1024)
            self.out = nn.Sequential(dense(64 + 512 + 256 + 1024, 256, 256), nn.Dropout(0.5), dense(256, 128),
                                     nn.Conv1d(128, classes, 1))

        @torch.no_grad()
        def links(self, middle):
            far, found = torch.cdist(middle, middle), []
            for size in (0.1, 0.2):
                near = (far < size).to(middle.dtype) + torch.eye(far.shape[1], device=far.device)
                found.append(near / near.sum(1, keepdim=True))
            return found

        def forward(self, faces, labels):
            small, large = self.links(faces[:, 9:12].transpose(1, 2))
            x = self.first(faces)
            x = torch.bmm(self.turn(x), x)
            a = self.near1(x, [small])
            b = self.second(a)
            c = self.near2(b, [small, large])
            d = self.last(c).amax(2, keepdim=True).expand(-1, -1, x.shape[2])
            score = self.out(torch.cat([x, b, c, d], 1))
            chance, one = score.softmax(1), F.one_hot(labels, score.shape[1]).transpose(1, 2)
            both = (chance * one).sum((0, 2))
            return Result(1 - ((2 * both + 1e-5) / ((chance + one).sum((0, 2)) + 1e-5)).mean())

    def inputs(b):
        return {"faces": torch.zeros(b, 15, 4000), "labels": torch.zeros(b, 4000, dtype=torch.int64)}
    return Net(), inputs, "own"


def band_patches():
    """Crops seen from above in many bands: filters over bands and places, then over places, for each pixel's patch."""
    class Net(nn.Module):
        def __init__(self, bands=30, size=25, classes=16):
            super().__init__()
            self.deep = nn.Sequential(nn.Conv3d(1, 8, (7, 3, 3)), nn.BatchNorm3d(8), nn.ReLU(inplace=True),
                                      nn.Conv3d(8, 16, (5, 3, 3)), nn.BatchNorm3d(16), nn.ReLU(inplace=True),
                                      nn.Conv3d(16, 32, 3), nn.BatchNorm3d(32), nn.ReLU(inplace=True))
            c, n = 32 * (bands - 12), size - 8
            self.flat = nn.Sequential(nn.Conv2d(c, 64, 3), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.Flatten(),
                                      nn.Linear(64 * n * n, 256), nn.ReLU(inplace=True), nn.Dropout(0.4),
                                      nn.Linear(256, 128), nn.ReLU(inplace=True), nn.Dropout(0.4),
                                      nn.Linear(128, classes))

        def forward(self, x):
            return self.flat(self.deep(x.unsqueeze(1)).flatten(1, 2))
    return Net(), lambda b: torch.zeros(b, 30, 25, 25), "cross-entropy"


def prototype_episodes():
    """New kinds of birds from five pictures each: twelve layers with dropped regions, distances to a kind's mean."""
    class Block(nn.Module):
        def __init__(self, i, o, drop, size):
            super().__init__()
            self.drop, self.size, layers = drop, size, []
            for n in range(3):
                layers += [nn.Conv2d(i if n == 0 else o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o)]
                layers += [nn.LeakyReLU(0.1)] if n < 2 else []
            self.f = nn.Sequential(*layers)
            self.skip = nn.Sequential(nn.Conv2d(i, o, 1, bias=False), nn.BatchNorm2d(o))

        def forward(self, x):
            x = F.max_pool2d(F.leaky_relu(self.f(x) + self.skip(x), 0.1), 2)
            if self.size == 1:
                return F.dropout(x, self.drop, self.training)
            n = x.shape[-1]
            rate = self.drop / self.size ** 2 * n ** 2 / (n - self.size + 1) ** 2
            hole = (torch.rand_like(x) < rate).to(x.dtype)
            mask = 1 - F.max_pool2d(hole, self.size, 1, self.size // 2)
            return x * mask * (mask.numel() / mask.sum())

    class Net(nn.Module):
        def __init__(self, ways=5, shots=5, asked=15, sizes=(64, 160, 320, 640)):
            super().__init__()
            self.ways, self.shots, self.asked = ways, shots, asked
            self.body = nn.Sequential(*(Block(i, o, 0.1, s) for i, o, s in zip((3, *sizes), sizes, (1, 1, 5, 5))),
                                      nn.AdaptiveAvgPool2d(1), nn.Flatten())
            self.heat = nn.Parameter(torch.tensor(10.0))
            self.turn = nn.Linear(sizes[-1], 4)

        def forward(self, pictures, labels):
            b = len(pictures)
            x = self.body(pictures.flatten(0, 2)).unflatten(0, (b, self.ways, self.shots + self.asked))
            known, new = x.split((self.shots, self.asked), 2)
            middle = F.normalize(known.mean(2), dim=-1)
            score = self.heat * torch.bmm(F.normalize(new, dim=-1).flatten(1, 2), middle.transpose(1, 2))
            goal = torch.arange(self.ways, device=x.device).repeat_interleave(self.asked).repeat(b)
            loss = F.cross_entropy(score.flatten(0, 1), goal)
            return Result(loss + 0.5 * F.cross_entropy(self.turn(x).flatten(0, 2), labels.flatten()))

    def inputs(b):
        return {"pictures": torch.zeros(b, 5, 20, 3, 84, 84), "labels": torch.zeros(b, 5, 20, dtype=torch.int64)}
    return Net(), inputs, "own"


def fourier_holes():
    """Holes in pictures are filled: some channels are filtered in the Fourier plane; a critic sees the patches."""
    class Spectral(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.a = nn.Sequential(nn.Conv2d(i, o // 2, 1, bias=False), nn.BatchNorm2d(o // 2), nn.ReLU(inplace=True))
            self.f = nn.Sequential(nn.Conv2d(o, o, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))
            self.b = nn.Conv2d(o // 2, o, 1, bias=False)

        def forward(self, x):
            x = self.a(x)
            h, w = x.shape[-2:]
            y = torch.fft.rfft2(x.float(), norm="ortho")
            y = self.f(torch.stack([y.real, y.imag], 2).flatten(1, 2)).float().unflatten(1, (-1, 2))
            y = torch.fft.irfft2(torch.complex(*(t.contiguous() for t in y.unbind(2))), s=(h, w), norm="ortho")
            return self.b(x + y)

    class Fast(nn.Module):
        def __init__(self, c, far=0.75):
            super().__init__()
            g = int(c * far)
            self.sizes, near = (c - g, g), c - g
            self.ll, self.lg = (nn.Conv2d(near, o, 3, padding=1, padding_mode="reflect", bias=False) for o in (near, g))
            self.gl, self.gg = nn.Conv2d(g, near, 3, padding=1, padding_mode="reflect", bias=False), Spectral(g, g)
            self.n1, self.n2 = nn.BatchNorm2d(near), nn.BatchNorm2d(g)

        def forward(self, pair):
            x, y = pair
            return (F.relu(self.n1(self.ll(x) + self.gl(y)), inplace=True),
                    F.relu(self.n2(self.lg(x) + self.gg(y)), inplace=True))

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = Fast(c), Fast(c)

        def forward(self, pair):
            x, y = self.b(self.a(pair))
            return pair[0] + x, pair[1] + y

    def layer(i, o, size, stride, pad, kind=nn.Conv2d, **more):
        return nn.Sequential(kind(i, o, size, stride, pad, **more), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

    class Net(nn.Module):
        def __init__(self, c=64, depth=6):
            super().__init__()
            self.down = nn.Sequential(nn.ReflectionPad2d(3), layer(4, c, 7, 1, 0), layer(c, 2 * c, 3, 2, 1),
                                      layer(2 * c, 4 * c, 3, 2, 1), layer(4 * c, 8 * c, 3, 2, 1))
            self.body = nn.Sequential(*(Block(8 * c) for _ in range(depth)))
            self.up = nn.Sequential(*(layer(n * c, n * c // 2, 3, 2, 1, nn.ConvTranspose2d, output_padding=1)
                                      for n in (8, 4, 2)), nn.ReflectionPad2d(3), nn.Conv2d(c, 3, 7), nn.Sigmoid())
            sizes = (3, 64, 128, 256, 512)
            self.critic = nn.ModuleList(nn.Sequential(
                nn.Conv2d(i, o, 4, 2, 2), nn.Identity() if i == 3 else nn.BatchNorm2d(o), nn.LeakyReLU(0.2, True))
                for i, o in zip(sizes, sizes[1:]))
            self.judge = nn.Conv2d(512, 1, 4, 1, 2)

        def judged(self, x):
            maps = []
            for f in self.critic:
                x = f(x)
                maps.append(x)
            return self.judge(x), maps

        def forward(self, picture, where):
            picture, mask = picture.sigmoid(), (F.avg_pool2d(where, 15, 1, 7) > 0.03).to(picture.dtype)
            x = self.down(torch.cat([picture * (1 - mask), mask], 1))
            n = x.shape[1] // 4
            x = torch.cat(self.body((x[:, :n], x[:, n:])), 1)
            found = self.up(x)
            real, seen = self.judged(picture)
            false, other = self.judged(found)
            loss = 10 * ((found - picture).abs() * (1 - mask)).mean() + F.softplus(-false.float()).mean()
            loss = loss + F.softplus(-real.float()).mean()
            return Result(loss + 100 * sum(F.mse_loss(b, a.detach()) for a, b in zip(seen, other)) / len(seen))
    return Net(), lambda b: (torch.zeros(b, 3, 256, 256), torch.zeros(b, 1, 256, 256)), "own"


def driven_faces():
    """A photograph moves like a person in a video: key points with local slopes, a dense motion, warped features."""
    def layer(i, o, size=3):
        return nn.Sequential(nn.Conv2d(i, o, size, padding=size // 2), nn.BatchNorm2d(o), nn.ReLU())

    def grid(h, w, x):
        rows, columns = torch.linspace(-1, 1, h, device=x.device), torch.linspace(-1, 1, w, device=x.device)
        return torch.stack(torch.meshgrid(columns, rows, indexing="xy"), -1).to(x.dtype)

    class Hourglass(nn.Module):
        def __init__(self, i, c=64, depth=5, most=1024):
            super().__init__()
            sizes = [i] + [min(most, c * 2 ** n) for n in range(depth)]
            self.down = nn.ModuleList(nn.Sequential(layer(a, b), nn.AvgPool2d(2)) for a, b in zip(sizes, sizes[1:]))
            self.up = nn.ModuleList(nn.Sequential(nn.Upsample(scale_factor=2), layer(
                sizes[n + 1] * (1 if n == depth - 1 else 2), max(c // 2, sizes[n]) if n == 0 else sizes[n]))
                for n in range(depth - 1, -1, -1))
            self.wide = max(c // 2, i) + i

        def forward(self, x):
            kept = [x]
            for f in self.down:
                kept.append(f(kept[-1]))
            x = kept.pop()
            for f in self.up:
                x = torch.cat([f(x), kept.pop()], 1)
            return x

    class Points(nn.Module):
        def __init__(self, points=10):
            super().__init__()
            self.body = Hourglass(3, 32)
            self.where = nn.Conv2d(self.body.wide, points, 7, padding=3)
            self.slope = nn.Conv2d(self.body.wide, 4 * points, 7, padding=3)

        def forward(self, x):
            x = self.body(F.interpolate(x, scale_factor=0.25, mode="bilinear", antialias=True))
            heat = (self.where(x).float() / 0.1).flatten(2).softmax(-1).view(len(x), -1, *x.shape[2:])
            place = torch.einsum("bkhw,hwd->bkd", heat, grid(*x.shape[2:], heat))
            slope = self.slope(x).float().unflatten(1, (-1, 4))
            slope = (slope * heat.unsqueeze(2)).sum((-1, -2)).unflatten(-1, (2, 2))
            return place, slope + torch.eye(2, device=x.device)

    class Motion(nn.Module):
        def __init__(self, points=10):
            super().__init__()
            self.body = Hourglass((points + 1) * 4, 64)
            self.mask = nn.Conv2d(self.body.wide, points + 1, 7, padding=3)
            self.hidden = nn.Conv2d(self.body.wide, 1, 7, padding=3)

        def forward(self, picture, now, then):
            small = F.interpolate(picture, scale_factor=0.25, mode="bilinear", antialias=True)
            b, _, h, w = small.shape
            base = grid(h, w, now[0])
            heat = [torch.exp(-50 * (base - p[0][:, :, None, None]).pow(2).sum(-1)) for p in (then, now)]
            heat = F.pad(heat[0] - heat[1], (0, 0, 0, 0, 1, 0)).unsqueeze(2)
            (x, y), (a, d) = then[1].unbind(-2), now[1].unbind(-2)
            det = x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0] + 1e-3
            other = torch.stack([y[..., 1], -x[..., 1], -y[..., 0], x[..., 0]], -1).unflatten(-1, (2, 2))
            turn = torch.stack([a, d], -2) @ (other / det[..., None, None])
            rest = base - then[0][:, :, None, None]
            moved = torch.einsum("bkij,bkhwj->bkhwi", turn, rest) + now[0][:, :, None, None]
            moved = torch.cat([base.expand(b, 1, h, w, 2), moved], 1)
            k = moved.shape[1]
            many = small.unsqueeze(1).expand(-1, k, -1, -1, -1).flatten(0, 1)
            warped = F.grid_sample(many.float(), moved.flatten(0, 1), align_corners=False).unflatten(0, (b, k))
            x = self.body(torch.cat([heat, warped], 2).flatten(1, 2))
            mask = self.mask(x).float().softmax(1)
            return torch.einsum("bkhw,bkhwd->bhwd", mask, moved), self.hidden(x).sigmoid()

    class Residual(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.n1, self.n2 = nn.BatchNorm2d(c), nn.BatchNorm2d(c)
            self.a, self.b = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)

        def forward(self, x):
            return x + self.b(F.relu(self.n2(self.a(F.relu(self.n1(x))))))

    class Net(nn.Module):
        def __init__(self, c=64):
            super().__init__()
            from torchvision.models import vgg19
            self.points, self.motion = Points(), Motion()
            self.down = nn.Sequential(layer(3, c, 7), layer(c, 2 * c), nn.AvgPool2d(2), layer(2 * c, 4 * c),
                                      nn.AvgPool2d(2))
            self.body = nn.Sequential(*(Residual(4 * c) for _ in range(6)))
            self.up = nn.Sequential(nn.Upsample(scale_factor=2), layer(4 * c, 2 * c), nn.Upsample(scale_factor=2),
                                    layer(2 * c, c), nn.Conv2d(c, 3, 7, padding=3), nn.Sigmoid())
            seen = vgg19(weights=None).features.requires_grad_(False)
            self.seen = nn.ModuleList([seen[:2], seen[2:7], seen[7:12], seen[12:21]])

        def forward(self, picture, frame):
            picture, frame = picture.sigmoid(), frame.sigmoid()
            flow, hidden = self.motion(picture, self.points(picture), self.points(frame))
            x = self.down(picture)
            x = F.grid_sample(x.float(), flow, align_corners=False) * hidden
            a, b, loss = self.up(self.body(x)), frame, 0
            for f in self.seen:
                a = f(a)
                with torch.no_grad():
                    b = f(b)
                loss = loss + 10 * F.l1_loss(a, b)
            return Result(loss)
    return Net(), lambda b: (torch.zeros(b, 3, 256, 256), torch.zeros(b, 3, 256, 256)), "own"


NETWORKS = {f.__name__: f for f in (deformed_text, gated_deblur, planned_doses, tooth_faces, band_patches,
                                    prototype_episodes, fourier_holes, driven_faces)}
STEPS = {"deformed_text": ("tf32", 8, "nchw", "momentum"), "gated_deblur": ("amp-bf16", 16, "nchw", "adamw"),
         "planned_doses": ("amp-fp16", 2, "nchw", "adam"), "tooth_faces": ("fp32", 8, "nchw", "adam"),
         "band_patches": ("tf32", 256, "nchw", "adam"), "prototype_episodes": ("amp-fp16", 4, "nhwc", "momentum"),
         "fourier_holes": ("amp-bf16", 8, "nchw", "adam"), "driven_faces": ("tf32", 8, "nchw", "adam")}
