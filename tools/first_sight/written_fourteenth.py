# SPDX-License-Identifier: Apache-2.0
"""written_fourteenth.py - the rest of the eleventh set of networks as people write them: vision. See cases.py."""
import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result, words


def restoration():
    """Pictures without rain or blur: a U-Net of attention among channels and gated depthwise filters, trained by L1."""
    class Norm(nn.LayerNorm):
        def forward(self, x):
            return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    class Block(nn.Module):
        def __init__(self, c, heads, more=2.66):
            super().__init__()
            inner = int(c * more)
            self.heads, self.heat, self.n1, self.n2 = heads, nn.Parameter(torch.ones(heads, 1, 1)), Norm(c), Norm(c)
            self.qkv = nn.Conv2d(c, 3 * c, 1, bias=False)
            self.near = nn.Conv2d(3 * c, 3 * c, 3, padding=1, groups=3 * c, bias=False)
            self.o, self.put = nn.Conv2d(c, c, 1, bias=False), nn.Conv2d(c, 2 * inner, 1, bias=False)
            self.deep = nn.Conv2d(2 * inner, 2 * inner, 3, padding=1, groups=2 * inner, bias=False)
            self.back = nn.Conv2d(inner, c, 1, bias=False)

        def forward(self, x):
            q, k, v = (t.flatten(2).unflatten(1, (self.heads, -1)) for t in self.near(self.qkv(self.n1(x))).chunk(3, 1))
            w = (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1) * self.heat).softmax(-1)
            x = x + self.o((w @ v).flatten(1, 2).unflatten(2, x.shape[2:]))
            a, b = self.deep(self.put(self.n2(x))).chunk(2, 1)
            return x + self.back(F.gelu(a) * b)

    def blocks(c, heads, count):
        return nn.Sequential(*(Block(c, heads) for _ in range(count)))

    class Net(nn.Module):
        def __init__(self, c=48, counts=(2, 3, 3, 4)):
            super().__init__()
            self.put = nn.Conv2d(3, c, 3, padding=1, bias=False)
            self.last = nn.Conv2d(2 * c, 3, 3, padding=1, bias=False)
            self.enter = nn.ModuleList(blocks(c * 2 ** n, 2 ** n, count) for n, count in enumerate(counts))
            self.down = nn.ModuleList(nn.Sequential(nn.Conv2d(c * 2 ** n, c * 2 ** n // 2, 3, padding=1, bias=False),
                                                    nn.PixelUnshuffle(2)) for n in range(3))
            self.up = nn.ModuleList(nn.Sequential(nn.Conv2d(c * 2 ** n, c * 2 ** (n + 1), 3, padding=1, bias=False),
                                                  nn.PixelShuffle(2)) for n in (3, 2, 1))
            self.join = nn.ModuleList(nn.Conv2d(c * 2 ** n, c * 2 ** (n - 1), 1, bias=False) for n in (3, 2))
            self.leave = nn.ModuleList((blocks(4 * c, 4, 3), blocks(2 * c, 2, 3), blocks(2 * c, 1, 2)))

        def forward(self, rainy, clean):
            x, kept = self.put(rainy), []
            for block, down in zip(self.enter, self.down):
                kept.append(block(x))
                x = down(kept[-1])
            x = self.enter[3](x)
            for n, (up, leave) in enumerate(zip(self.up, self.leave)):
                x = torch.cat([up(x), kept[2 - n]], 1)
                x = leave(self.join[n](x) if n < 2 else x)
            return Result(F.l1_loss(self.last(x) + rainy, clean))
    return Net(), lambda b: (torch.zeros(b, 3, 160, 160), torch.zeros(b, 3, 160, 160)), "own"


def free_detector():
    """A detector without anchors: cross-stage blocks, pooled context, heads for classes and for sides."""
    def unit(i, o, k=1, s=1):
        return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o, eps=1e-3),
                             nn.SiLU(inplace=True))

    class Cross(nn.Module):
        def __init__(self, i, o, count, skip):
            super().__init__()
            self.skip, self.put, self.last = skip, unit(i, o), unit((2 + count) * o // 2, o)
            self.f = nn.ModuleList(nn.Sequential(unit(o // 2, o // 2, 3), unit(o // 2, o // 2, 3))
                                   for _ in range(count))

        def forward(self, x):
            parts = list(self.put(x).chunk(2, 1))
            for f in self.f:
                parts.append(parts[-1] + f(parts[-1]) if self.skip else f(parts[-1]))
            return self.last(torch.cat(parts, 1))

    class Pools(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.put, self.last, self.pool = unit(c, c // 2), unit(2 * c, c), nn.MaxPool2d(5, 1, 2)

        def forward(self, x):
            parts = [self.put(x)]
            for _ in range(3):
                parts.append(self.pool(parts[-1]))
            return self.last(torch.cat(parts, 1))

    def head(i, c, o):
        return nn.Sequential(unit(i, c, 3), unit(c, c, 3), nn.Conv2d(c, o, 1))

    class Net(nn.Module):
        def __init__(self, c=32, classes=80, bins=16):
            super().__init__()
            sizes = [c * 2 ** n for n in range(5)]
            self.stem = unit(3, c, 3, 2)
            self.down = nn.ModuleList(nn.Sequential(unit(i, o, 3, 2), Cross(i=o, o=o, count=n, skip=True))
                                      for i, o, n in zip(sizes, sizes[1:], (1, 2, 2, 1)))
            self.pools, a, b, d = Pools(sizes[4]), *sizes[2:]
            self.up1, self.up2 = Cross(b + d, b, 1, False), Cross(a + b, a, 1, False)
            self.s1, self.s2, self.down1 = unit(a, a, 3, 2), unit(b, b, 3, 2), Cross(a + b, b, 1, False)
            self.down2 = Cross(b + d, d, 1, False)
            self.boxes = nn.ModuleList(head(n, 64, 4 * bins) for n in (a, b, d))
            self.classes, self.bins = nn.ModuleList(head(n, a, classes) for n in (a, b, d)), bins
            self.register_buffer("steps", torch.arange(bins).float(), persistent=False)

        def maps(self, x):
            x, kept = self.stem(x), []
            for f in self.down:
                x = f(x)
                kept.append(x)
            _, x1, x2, x3 = *kept[:3], self.pools(x)
            y2 = self.up1(torch.cat([F.interpolate(x3, scale_factor=2.0), x2], 1))
            y1 = self.up2(torch.cat([F.interpolate(y2, scale_factor=2.0), x1], 1))
            z2 = self.down1(torch.cat([self.s1(y1), y2], 1))
            return y1, z2, self.down2(torch.cat([self.s2(z2), x3], 1))

        def forward(self, picture, scores, sides, weight):
            maps = self.maps(picture)
            boxes = torch.cat([f(x).flatten(2) for f, x in zip(self.boxes, maps)], 2).float()
            boxes = boxes.unflatten(1, (4, self.bins))
            found = torch.cat([f(x).flatten(2) for f, x in zip(self.classes, maps)], 2).float()
            mean = (boxes.softmax(2) * self.steps[:, None]).sum(2)
            goal = sides.clamp(0, self.bins - 1.01)
            inner = torch.minimum(mean, goal)
            both = (inner[:, 0] + inner[:, 2]) * (inner[:, 1] + inner[:, 3])
            area = [(s[:, 0] + s[:, 2]) * (s[:, 1] + s[:, 3]) for s in (mean, goal)]
            overlap = both / (area[0] + area[1] - both + 1e-7)
            low = goal.long()
            logs = -boxes.log_softmax(2)
            left, right = (logs.gather(2, n.unsqueeze(2)).squeeze(2) for n in (low, low + 1))
            bins = (left * (low + 1 - goal) + right * (goal - low)).mean(1)
            total = weight.sum().clamp(min=1)
            each = F.binary_cross_entropy_with_logits(found, scores, reduction="none")
            return Result(0.5 * each.sum() / total + ((7.5 * (1 - overlap) + 1.5 * bins) * weight).sum() / total)

    def inputs(b):
        return torch.zeros(b, 3, 640, 640), torch.zeros(b, 80, 8400), torch.zeros(b, 4, 8400), torch.ones(b, 8400)
    return Net(), inputs, "own"


def shifted_video():
    """Actions in videos: a residual network for pictures in which an eighth of the channels moves a frame each way."""
    from torchvision.models import resnet50

    class Shift(nn.Module):
        def __init__(self, f, frames):
            super().__init__()
            self.f, self.frames = f, frames

        def forward(self, x):
            y = x.unflatten(0, (-1, self.frames))
            n = y.shape[2] // 8
            moved = torch.zeros_like(y)
            moved[:, :-1, :n] = y[:, 1:, :n]
            moved[:, 1:, n:2 * n] = y[:, :-1, n:2 * n]
            moved[:, :, 2 * n:] = y[:, :, 2 * n:]
            return self.f(moved.flatten(0, 1))

    class Net(nn.Module):
        def __init__(self, frames=8, classes=174):
            super().__init__()
            self.body = resnet50(weights=None, num_classes=classes)
            for stage in (self.body.layer1, self.body.layer2, self.body.layer3, self.body.layer4):
                for block in stage:
                    block.conv1 = Shift(block.conv1, frames)

        def forward(self, video):
            return self.body(video.flatten(0, 1)).unflatten(0, video.shape[:2]).mean(1)
    return Net(), lambda b: torch.zeros(b, 8, 3, 224, 224), "cross-entropy"


def pillars():
    """Cars in laser scans: points are pooled in pillars, put on a map seen from above, and found by 2-D filters."""
    def unit(i, o, s=1):
        return [nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o, eps=1e-3, momentum=0.01), nn.ReLU(inplace=True)]

    def grown(i, s):
        return nn.Sequential(nn.ConvTranspose2d(i, 128, s, s, bias=False), nn.BatchNorm2d(128), nn.ReLU(inplace=True))

    class Net(nn.Module):
        def __init__(self, high=496, wide=432, anchors=6):
            super().__init__()
            self.size, self.put, self.norm = (high, wide), nn.Linear(9, 64, bias=False), nn.BatchNorm1d(64)
            plan = ((64, 64, 3), (64, 128, 5), (128, 256, 5))
            self.down = nn.ModuleList(nn.Sequential(*unit(i, o, 2), *(m for _ in range(n) for m in unit(o, o)))
                                      for i, o, n in plan)
            self.up = nn.ModuleList(grown(i, s) for i, s in ((64, 1), (128, 2), (256, 4)))
            self.classes, self.boxes, self.ways = (nn.Conv2d(384, anchors * n, 1) for n in (3, 7, 2))

        def forward(self, points, cells, scores, sides):
            b = len(points)
            x = self.norm(self.put(points).flatten(0, 2))
            x = F.relu(x).unflatten(0, points.shape[:3])
            x = x.amax(2).transpose(1, 2)
            canvas = x.new_zeros(b, 64, self.size[0] * self.size[1])
            x = canvas.scatter(2, cells.unsqueeze(1).expand(-1, 64, -1), x).unflatten(2, self.size)
            maps = []
            for down, up in zip(self.down, self.up):
                x = down(x)
                maps.append(up(x))
            x = torch.cat(maps, 1)
            found = self.classes(x)
            p = found.sigmoid()
            each = F.binary_cross_entropy_with_logits(found, scores, reduction="none")
            focal = (0.75 - 0.5 * scores) * (p - scores).abs().pow(2) * each
            near = F.smooth_l1_loss(self.boxes(x), sides, beta=1 / 9)
            return Result(focal.mean() + 2 * near + 0.2 * F.softplus(self.ways(x)).mean())

    def inputs(b):
        return torch.zeros(b, 12000, 32, 9), words(b, 12000), torch.zeros(b, 18, 248, 216), torch.zeros(b, 42, 248, 216)
    return Net(), inputs, "own"


def hash_field():
    """A scene from pictures: 16 grids with hashed corners, two small dense networks, and colours summed along rays."""
    class Net(nn.Module):
        def __init__(self, levels=16, size=2 ** 19, samples=128):
            super().__init__()
            self.tables, self.size = nn.ModuleList(nn.Embedding(size, 2) for _ in range(levels)), size
            self.samples = samples
            self.scales = [int(16 * 1.3819 ** n) for n in range(levels)]
            self.thick = nn.Sequential(nn.Linear(2 * levels, 64), nn.ReLU(), nn.Linear(64, 16))
            self.colour = nn.Sequential(nn.Linear(15 + 9, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                                        nn.Linear(64, 3))
            self.register_buffer("corners", torch.tensor([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]),
                                 persistent=False)
            self.register_buffer("primes", torch.tensor([1, 2654435761, 805459861]), persistent=False)

        def level(self, x, table, scale):
            low = (x * scale).floor()
            part = (x * scale - low).unsqueeze(1)
            hashed = (low.long().unsqueeze(1) + self.corners) * self.primes
            index = (hashed[..., 0] ^ hashed[..., 1] ^ hashed[..., 2]) & (self.size - 1)
            weight = torch.where(self.corners > 0, part, 1 - part).prod(-1, keepdim=True)
            return (table(index) * weight).sum(1)

        def forward(self, start, way, colours):
            t = torch.linspace(0.1, 4, self.samples, device=start.device).expand(len(start), -1)
            t = t + torch.rand_like(t) * 3.9 / self.samples
            way = F.normalize(way, dim=-1)
            x = (start.unsqueeze(1) + t.unsqueeze(-1) * way.unsqueeze(1)).flatten(0, 1) / 10 + 0.5
            h = self.thick(torch.cat([self.level(x, f, s) for f, s in zip(self.tables, self.scales)], -1))
            turned = torch.cat([way, way.pow(2), way * way.roll(1, -1)], -1).repeat_interleave(self.samples, 0)
            c = self.colour(torch.cat([h[:, 1:], turned], -1)).sigmoid().unflatten(0, t.shape)
            hit = 1 - torch.exp(-F.softplus(h[:, 0].unflatten(0, t.shape)) * 3.9 / self.samples)
            free = torch.cumprod(torch.cat([torch.ones_like(hit[:, :1]), 1 - hit + 1e-10], -1), -1)[:, :-1]
            return Result(F.mse_loss(((hit * free).unsqueeze(-1) * c).sum(1), colours))
    return Net(), lambda b: (torch.zeros(b, 3), torch.zeros(b, 3), torch.zeros(b, 3)), "own"


def register_volumes():
    """Two brain scans laid on each other: a 3-D U-Net gives velocities, squared seven times into a smooth warp."""
    def unit(i, o, s=1):
        return nn.Sequential(nn.Conv3d(i, o, 3, s, 1), nn.LeakyReLU(0.2))

    class Net(nn.Module):
        def __init__(self, size=(96, 112, 96), steps=7):
            super().__init__()
            self.steps, self.size = steps, size
            self.down = nn.ModuleList(unit(i, o, 2) for i, o in ((2, 16), (16, 32), (32, 32), (32, 32)))
            self.up = nn.ModuleList(unit(i, 32) for i in (32, 64, 64, 48))
            self.last = nn.Sequential(unit(34, 32), unit(32, 16), unit(16, 16), nn.Conv3d(16, 3, 3, padding=1))
            grid = torch.stack(torch.meshgrid(*(torch.linspace(-1, 1, n) for n in size), indexing="ij"))
            self.register_buffer("grid", grid.unsqueeze(0), persistent=False)
            self.register_buffer("box", torch.ones(1, 1, 9, 9, 9), persistent=False)

        def warped(self, x, move):
            grid = (self.grid + move).permute(0, 2, 3, 4, 1).flip(-1)
            return F.grid_sample(x, grid, align_corners=True)

        def mean(self, x):
            return F.conv3d(x, self.box, padding=4) / 729

        def alike(self, a, b):
            ma, mb = self.mean(a), self.mean(b)
            cross, va, vb = self.mean(a * b) - ma * mb, self.mean(a * a) - ma * ma, self.mean(b * b) - mb * mb
            return (cross * cross / (va * vb + 1e-5)).mean()

        def forward(self, moving, fixed):
            x, kept = torch.cat([moving, fixed], 1), []
            for f in self.down:
                kept.append(x)
                x = f(x)
            for f in self.up:
                x = torch.cat([F.interpolate(f(x), scale_factor=2), kept.pop()], 1)
            move = self.last(x) * 0.01
            smooth = sum(move.diff(dim=d).pow(2).mean() for d in (2, 3, 4))
            move = move / 2 ** self.steps
            for _ in range(self.steps):
                move = move + self.warped(move, move)
            return Result(smooth - self.alike(self.warped(moving, move), fixed))
    return Net(), lambda b: (torch.zeros(b, 1, 96, 112, 96), torch.zeros(b, 1, 96, 112, 96)), "own"


def unrolled_mri():
    """Pictures from few lines of a magnetic resonance scan: eight rounds of a U-Net and of the measured data."""
    def unit(i, o):
        return nn.Sequential(*(m for c in (i, o) for m in (nn.Conv2d(c, o, 3, padding=1, bias=False),
                                                           nn.InstanceNorm2d(o), nn.LeakyReLU(0.2))))

    class UNet(nn.Module):
        def __init__(self, c, depth=4):
            super().__init__()
            self.enter = nn.ModuleList(unit(2 if n == 0 else c * 2 ** (n - 1), c * 2 ** n) for n in range(depth + 1))
            self.up = nn.ModuleList(nn.ConvTranspose2d(c * 2 ** (n + 1), c * 2 ** n, 2, 2, bias=False)
                                    for n in reversed(range(depth)))
            self.join = nn.ModuleList(unit(c * 2 ** (n + 1), c * 2 ** n) for n in reversed(range(depth)))
            self.last = nn.Conv2d(c, 2, 1)

        def forward(self, x):
            mean, spread = x.mean((2, 3), keepdim=True), x.std((2, 3), keepdim=True) + 1e-6
            y, kept = (x - mean) / spread, []
            for n, f in enumerate(self.enter):
                y = f(F.avg_pool2d(y, 2) if n else y)
                kept.append(y)
            kept.pop()
            for up, join in zip(self.up, self.join):
                y = join(torch.cat([up(y), kept.pop()], 1))
            return self.last(y) * spread + mean

    def through(net, x):
        y = torch.view_as_real(x).permute(0, 3, 1, 2)
        return torch.view_as_complex(net(y).permute(0, 2, 3, 1).contiguous())

    class Net(nn.Module):
        def __init__(self, rounds=8):
            super().__init__()
            self.coils, self.body = UNet(8), nn.ModuleList(UNet(18) for _ in range(rounds))
            self.trust = nn.Parameter(torch.ones(rounds))

        def forward(self, scan, lines, goal):
            k = first = torch.view_as_complex(scan) * lines[:, None, None]
            x = torch.fft.ifft2(k, norm="ortho")
            coils = through(self.coils, x.flatten(0, 1)).unflatten(0, x.shape[:2])
            coils = coils / (coils.abs().pow(2).sum(1, keepdim=True) + 1e-6).sqrt()
            for n, net in enumerate(self.body):
                x = (torch.fft.ifft2(k, norm="ortho") * coils.conj()).sum(1)
                change = torch.fft.fft2(through(net, x).unsqueeze(1) * coils, norm="ortho")
                k = k - self.trust[n] * lines[:, None, None] * (k - first) - change
            x = (torch.fft.ifft2(k, norm="ortho").abs().pow(2).sum(1) + 1e-9).sqrt()
            return Result(F.l1_loss(x, goal))
    return Net(), lambda b: (torch.zeros(b, 12, 320, 320, 2), torch.ones(b, 320), torch.zeros(b, 320, 320)), "own"


NETWORKS = {f.__name__: f for f in (restoration, free_detector, shifted_video, pillars, hash_field,
                                    register_volumes, unrolled_mri)}
STEPS = {"restoration": ("amp-bf16", 8, "nchw", "adamw"),
         "free_detector": ("amp-fp16", 32, "nhwc", "momentum"), "shifted_video": ("amp-fp16", 16, "nhwc", "momentum"),
         "pillars": ("tf32", 4, "nchw", "adamw"), "hash_field": ("fp32", 2048, "nchw", "adam"),
         "register_volumes": ("fp32", 2, "nchw", "adam"), "unrolled_mri": ("fp32", 2, "nchw", "adam")}
