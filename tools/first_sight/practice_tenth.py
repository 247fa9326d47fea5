# SPDX-License-Identifier: Apache-2.0
"""practice_tenth.py - networks for practice, the tenth set: volumes, films and medicine. See cases.py."""
import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result, heads_first, heads_joined


def abdomen_organs():
    """Organs of the abdomen: a 3-D U-Net with channels last, instance norms, three outputs, overlap and cross entropy."""
    def pair(a, b, stride=1):
        return nn.Sequential(nn.Conv3d(a, b, 3, stride, 1), nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU(0.01, inplace=True),
                             nn.Conv3d(b, b, 3, 1, 1), nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU(0.01, inplace=True))

    class Net(nn.Module):
        def __init__(self, kinds=9, widths=(32, 64, 128, 256)):
            super().__init__()
            self.down = nn.ModuleList(pair(a, b, 1 if a == 1 else 2) for a, b in zip((1, *widths), widths))
            self.up = nn.ModuleList(nn.ConvTranspose3d(a, b, 2, 2, bias=False) for a, b in zip(widths[:0:-1], widths[-2::-1]))
            self.join = nn.ModuleList(pair(2 * b, b) for b in widths[-2::-1])
            self.out = nn.ModuleList(nn.Conv3d(b, kinds, 1) for b in widths[-2::-1])
            self.to(memory_format=torch.channels_last_3d)

        def forward(self, x, goal):
            x, kept, loss = x.contiguous(memory_format=torch.channels_last_3d), [], 0
            for f in self.down:
                x = f(x)
                kept.append(x)
            kept.pop()
            for n, (up, join, out) in enumerate(zip(self.up, self.join, self.out)):
                x = join(torch.cat([up(x), kept.pop()], 1))
                y = out(x)
                wanted = (torch.sigmoid(F.interpolate(goal, size=y.shape[2:], mode="nearest")) * 8.99).long()
                p = y.softmax(1)
                hot = torch.zeros_like(p).scatter_(1, wanted, 1)
                overlap = (2 * (p * hot).sum((2, 3, 4)) + 1e-5) / (p.sum((2, 3, 4)) + hot.sum((2, 3, 4)) + 1e-5)
                loss = loss + 0.5 ** (2 - n) * (F.cross_entropy(y, wanted.squeeze(1)) - overlap[:, 1:].mean())
            return Result(loss)
    return Net(), lambda b: (torch.zeros(b, 1, 64, 96, 96), torch.zeros(b, 1, 64, 96, 96)), "own"


def expanded_films():
    """What someone does in a film: depthwise 3-D filters between pointwise ones, squeezes, and swish activations."""
    class Block(nn.Module):
        def __init__(self, a, b, stride, squeezed):
            super().__init__()
            m = int(2.25 * b)
            self.one = nn.Sequential(nn.Conv3d(a, m, 1, bias=False), nn.BatchNorm3d(m), nn.ReLU(inplace=True))
            self.two = nn.Sequential(nn.Conv3d(m, m, 3, (1, stride, stride), 1, groups=m, bias=False), nn.BatchNorm3d(m))
            self.squeeze = nn.Sequential(nn.AdaptiveAvgPool3d(1), nn.Conv3d(m, 16, 1), nn.ReLU(), nn.Conv3d(16, m, 1), nn.Sigmoid()) if squeezed else None
            self.three = nn.Sequential(nn.Conv3d(m, b, 1, bias=False), nn.BatchNorm3d(b))
            self.skip = None if a == b and stride == 1 else nn.Sequential(nn.Conv3d(a, b, 1, (1, stride, stride), bias=False), nn.BatchNorm3d(b))

        def forward(self, x):
            y = self.two(self.one(x))
            y = y * self.squeeze(y) if self.squeeze else y
            return F.relu(self.three(F.silu(y)) + (self.skip(x) if self.skip else x))

    class Net(nn.Module):
        def __init__(self, kinds=101):
            super().__init__()
            layers, a = [], 24
            for b, depth in ((24, 2), (48, 3), (96, 4)):
                for n in range(depth):
                    layers.append(Block(a, b, 2 if n == 0 else 1, n % 2 == 0))
                    a = b
            self.stem = nn.Sequential(nn.Conv3d(3, 24, (1, 3, 3), (1, 2, 2), (0, 1, 1), bias=False),
                                      nn.Conv3d(24, 24, (5, 1, 1), 1, (2, 0, 0), groups=24, bias=False), nn.BatchNorm3d(24), nn.ReLU())
            self.body = nn.Sequential(*layers, nn.Conv3d(96, 216, 1, bias=False), nn.BatchNorm3d(216), nn.ReLU())
            self.head = nn.Sequential(nn.AvgPool3d((16, 10, 10)), nn.Conv3d(216, 512, 1, bias=False), nn.ReLU(), nn.Flatten(), nn.Dropout(0.5), nn.Linear(512, kinds))

        def forward(self, x):
            return self.head(self.body(self.stem(x)))
    return Net(), lambda b: torch.zeros(b, 3, 16, 160, 160), "classes"


def registered_brains():
    """One brain bent onto another: a 3-D U-Net gives velocities, squared seven times, and windows must correlate."""
    def conv(a, b, stride=1):
        return nn.Sequential(nn.Conv3d(a, b, 3, stride, 1), nn.LeakyReLU(0.2))

    class Net(nn.Module):
        def __init__(self, shape=(64, 80, 64)):
            super().__init__()
            self.down = nn.ModuleList([conv(2, 16), conv(16, 32, 2), conv(32, 32, 2), conv(32, 32, 2)])
            self.up = nn.ModuleList([conv(32, 32), conv(64, 32), conv(64, 32)])
            self.last = nn.Sequential(conv(48, 32), conv(32, 16), nn.Conv3d(16, 3, 3, 1, 1))
            lines = [torch.linspace(-1, 1, n) for n in shape]
            self.register_buffer("grid", torch.stack(torch.meshgrid(*lines, indexing="ij")[::-1], -1)[None])

        def moved(self, x, flow):
            return F.grid_sample(x, self.grid + flow.permute(0, 2, 3, 4, 1), mode="bilinear", padding_mode="border", align_corners=True)

        def forward(self, one, two):
            x, kept = torch.cat([one, two], 1), []
            for f in self.down:
                x = f(x)
                kept.append(x)
            kept.pop()
            for f in self.up:
                x = torch.cat([F.interpolate(f(x), scale_factor=2, mode="nearest"), kept.pop()], 1)
            flow = self.last(x)
            step = flow / 2 ** 7
            for _ in range(7):
                step = step + self.moved(step, step)
            y = self.moved(one, step)
            box, n = torch.ones(1, 1, 9, 9, 9, device=y.device), 9 ** 3
            a, b, aa, bb, ab = (F.conv3d(t, box, padding=4) for t in (y, two, y * y, two * two, y * two))
            cross = ab - a * b / n
            like = cross * cross / ((aa - a * a / n) * (bb - b * b / n) + 1e-5)
            bend = sum((flow.diff(dim=d) ** 2).mean() for d in (2, 3, 4))
            return Result(bend - like.mean())
    return Net(), lambda b: (torch.zeros(b, 1, 64, 80, 64), torch.zeros(b, 1, 64, 80, 64)), "own"


def coil_rounds():
    """Knees from few lines of k-space: coils are weighed, transformed both ways, and small U-Nets correct in rounds."""
    def pair(a, b):
        return nn.Sequential(nn.Conv2d(a, b, 3, 1, 1, bias=False), nn.InstanceNorm2d(b), nn.LeakyReLU(0.2), nn.Dropout2d(0.05),
                             nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.InstanceNorm2d(b), nn.LeakyReLU(0.2))

    class Small(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b, self.c = pair(2, c), pair(c, 2 * c), pair(2 * c, 4 * c)
            self.u, self.v = nn.ConvTranspose2d(4 * c, 2 * c, 2, 2, bias=False), nn.ConvTranspose2d(2 * c, c, 2, 2, bias=False)
            self.d, self.e, self.out = pair(4 * c, 2 * c), pair(2 * c, c), nn.Conv2d(c, 2, 1)

        def forward(self, x):
            mean, std = x.mean((1, 2, 3), keepdim=True), x.std((1, 2, 3), keepdim=True) + 1e-6
            a = self.a((x - mean) / std)
            b = self.b(F.avg_pool2d(a, 2))
            y = self.d(torch.cat([self.u(self.c(F.avg_pool2d(b, 2))), b], 1))
            return self.out(self.e(torch.cat([self.v(y), a], 1))) * std + mean

    def pictures(k):
        return torch.fft.fftshift(torch.fft.ifft2(torch.fft.ifftshift(k, dim=(-2, -1)), norm="ortho"), dim=(-2, -1))

    def lines(x):
        return torch.fft.fftshift(torch.fft.fft2(torch.fft.ifftshift(x, dim=(-2, -1)), norm="ortho"), dim=(-2, -1))

    class Net(nn.Module):
        def __init__(self, rounds=4, c=18):
            super().__init__()
            self.coils, self.rounds = Small(8), nn.ModuleList(Small(c) for _ in range(rounds))
            self.weight = nn.Parameter(torch.ones(rounds))

        @staticmethod
        def planes(f, x):
            return torch.view_as_complex(f(torch.view_as_real(x).permute(0, 3, 1, 2)).permute(0, 2, 3, 1).contiguous())

        def forward(self, real, imaginary, drawn, goal):
            b, n = real.shape[:2]
            k = torch.complex(real, imaginary)
            mask = (drawn > 0.5).float()
            k = k * mask
            coils = self.planes(self.coils, pictures(k).flatten(0, 1)).unflatten(0, (b, n))
            coils = coils / (coils.abs().square().sum(1, keepdim=True).sqrt() + 1e-6)
            now = k
            for f, w in zip(self.rounds, self.weight):
                x = (pictures(now) * coils.conj()).sum(1)
                change = lines(coils * self.planes(f, x).unsqueeze(1))
                now = now - w * (now - k) * mask - change
            y = pictures(now).abs().square().sum(1, keepdim=True).add(1e-9).sqrt()
            box = torch.full((1, 1, 7, 7), 1 / 49, device=y.device)
            a, c, aa, cc, ac = (F.conv2d(t, box) for t in (y, goal, y * y, goal * goal, y * goal))
            like = (2 * a * c + 0.01) * (2 * (ac - a * c) + 0.03) / ((a * a + c * c + 0.01) * (aa - a * a + cc - c * c + 0.03))
            return Result(1 - like.mean())

    def inputs(b):
        return torch.zeros(b, 8, 192, 192), torch.zeros(b, 8, 192, 192), torch.zeros(b, 1, 1, 192), torch.zeros(b, 1, 192, 192)
    return Net(), inputs, "own"


def few_views():
    """Slices of a body from sixty views: learned ramps in Fourier space, smeared back by turning, and repaired."""
    class Net(nn.Module):
        def __init__(self, views=60, size=192, c=48):
            super().__init__()
            self.size, self.ramp = size, nn.Parameter(torch.linspace(0, 1, size + 1).repeat(views, 1))
            angle = torch.arange(views) * (3.14159265 / views)
            turn = torch.stack([torch.stack([angle.cos(), -angle.sin(), 0 * angle], -1), torch.stack([angle.sin(), angle.cos(), 0 * angle], -1)], 1)
            self.register_buffer("turn", turn)
            def conv(a, b):
                return nn.Sequential(nn.Conv2d(a, b, 3, 1, 1, padding_mode="reflect"), nn.GroupNorm(8, b), nn.SiLU())
            self.fix = nn.Sequential(conv(1, c), *(conv(c, c) for _ in range(4)), nn.Conv2d(c, 1, 3, 1, 1))

        def turned(self, x, turn):
            b, v = x.shape[0], turn.shape[0]
            grid = F.affine_grid(turn, (v, 1, self.size, self.size), align_corners=False)
            grid = grid.unsqueeze(0).expand(b, -1, -1, -1, -1).flatten(0, 1)
            return F.grid_sample(x.flatten(0, 1).unsqueeze(1), grid, align_corners=False).view(b, v, self.size, self.size)

        def forward(self, x):
            seen = self.turned(x.expand(-1, self.turn.shape[0], -1, -1), self.turn).sum(2) / self.size
            seen = torch.poisson(torch.exp(-seen.detach()) * 1e4).clamp(min=1).log().neg() + 9.2
            spectrum = torch.fft.rfft(seen, n=2 * self.size) * self.ramp
            lines = torch.fft.irfft(spectrum, n=2 * self.size)[..., :self.size]
            smeared = lines.unsqueeze(2).expand(-1, -1, self.size, -1)
            undo = torch.cat([self.turn[:, :, :2].transpose(1, 2), self.turn[:, :, 2:]], 2)
            back = self.turned(smeared, undo)
            y = back.mean(1, keepdim=True)
            return Result(F.huber_loss(y + self.fix(y), x) + 0.1 * F.mse_loss(y, x))
    return Net(), lambda b: torch.zeros(b, 1, 192, 192), "own"


def two_speeds():
    """Hands in films: a slow path with many channels and a quick one with few, joined by filters that stride in time."""
    def conv(a, b, k, stride=(1, 1, 1)):
        return nn.Sequential(nn.Conv3d(a, b, k, stride, tuple(n // 2 for n in k), bias=False), nn.BatchNorm3d(b), nn.ReLU(inplace=True))

    class Block(nn.Module):
        def __init__(self, a, m, b, time, stride):
            super().__init__()
            self.f = nn.Sequential(conv(a, m, (time, 1, 1)), conv(m, m, (1, 3, 3), (1, stride, stride)), nn.Conv3d(m, b, 1, bias=False), nn.BatchNorm3d(b))
            self.skip = nn.Identity() if a == b and stride == 1 else nn.Sequential(nn.Conv3d(a, b, 1, (1, stride, stride), bias=False), nn.BatchNorm3d(b))

        def forward(self, x):
            return F.relu(self.f(x) + self.skip(x))

    class Net(nn.Module):
        def __init__(self, kinds=27, stride=8):
            super().__init__()
            self.stride = stride
            self.slow0 = nn.Sequential(conv(3, 64, (1, 7, 7), (1, 2, 2)), nn.MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1)))
            self.fast0 = nn.Sequential(conv(3, 8, (5, 7, 7), (1, 2, 2)), nn.MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1)))
            self.slow, self.fast, self.side = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
            a, c = 64, 8
            for n, b in enumerate((256, 512, 768)):
                self.side.append(nn.Conv3d(c, 2 * c, (5, 1, 1), (stride, 1, 1), (2, 0, 0), bias=False))
                s, t = (1 if n == 0 else 2), (1 if n < 1 else 3)
                self.slow.append(nn.Sequential(Block(a + 2 * c, b // 4, b, t, s), Block(b, b // 4, b, t, 1)))
                self.fast.append(nn.Sequential(Block(c, b // 32, b // 8, 3, s), Block(b // 8, b // 32, b // 8, 3, 1)))
                a, c = b, b // 8
            self.head = nn.Sequential(nn.Dropout(0.5), nn.Linear(a + c, kinds))

        def forward(self, x):
            slow, fast = self.slow0(x[:, :, ::self.stride]), self.fast0(x)
            for s, f, g in zip(self.slow, self.fast, self.side):
                slow, fast = s(torch.cat([slow, g(fast)], 1)), f(fast)
            return self.head(torch.cat([F.adaptive_avg_pool3d(slow, 1).flatten(1), F.adaptive_avg_pool3d(fast, 1).flatten(1)], 1))
    return Net(), lambda b: torch.zeros(b, 3, 32, 112, 112), "classes"


def windowed_volumes():
    """Tumours in four contrasts: windows of 3-D tokens attend with a table of distances, shifted by half every other time."""
    class Block(nn.Module):
        def __init__(self, c, heads, window, shift):
            super().__init__()
            self.heads, self.window, self.shift = heads, window, shift
            self.n1, self.n2, self.qkv, self.o = nn.LayerNorm(c), nn.LayerNorm(c), nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c))
            self.table = nn.Parameter(torch.zeros((2 * window - 1) ** 3, heads))
            at = torch.stack(torch.meshgrid(*[torch.arange(window)] * 3, indexing="ij")).flatten(1)
            apart = (at[:, :, None] - at[:, None, :]) + window - 1
            self.register_buffer("index", (apart[0] * (2 * window - 1) + apart[1]) * (2 * window - 1) + apart[2])

        def forward(self, x):
            b, d, h, w, c = x.shape
            n, y = self.window, self.n1(x)
            if self.shift:
                y = torch.roll(y, (-n // 2,) * 3, (1, 2, 3))
            y = y.view(b, d // n, n, h // n, n, w // n, n, c).permute(0, 1, 3, 5, 2, 4, 6, 7).reshape(-1, n ** 3, c)
            q, k, v = (heads_first(t, self.heads) for t in self.qkv(y).chunk(3, -1))
            bias = self.table[self.index.flatten()].view(n ** 3, n ** 3, -1).permute(2, 0, 1).unsqueeze(0)
            weight = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1) + bias
            y = self.o(heads_joined(weight.softmax(-1).to(v.dtype) @ v))
            y = y.view(b, d // n, h // n, w // n, n, n, n, c).permute(0, 1, 4, 2, 5, 3, 6, 7).reshape(b, d, h, w, c)
            if self.shift:
                y = torch.roll(y, (n // 2,) * 3, (1, 2, 3))
            x = x + y
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, c=48, kinds=4):
            super().__init__()
            self.cut = nn.Conv3d(4, c, 2, 2)
            self.one = nn.Sequential(Block(c, 3, 4, False), Block(c, 3, 4, True))
            self.merge = nn.Sequential(nn.LayerNorm(8 * c), nn.Linear(8 * c, 2 * c, bias=False))
            self.two = nn.Sequential(Block(2 * c, 6, 4, False), Block(2 * c, 6, 4, True))
            self.up = nn.ConvTranspose3d(2 * c, c, 2, 2)
            self.mix = nn.Sequential(nn.Conv3d(2 * c, c, 3, 1, 1, bias=False), nn.InstanceNorm3d(c), nn.LeakyReLU(0.01))
            self.last = nn.Sequential(nn.ConvTranspose3d(c, 24, 2, 2), nn.Conv3d(24, kinds, 1))

        def forward(self, x, goal):
            x = self.one(self.cut(x).permute(0, 2, 3, 4, 1))
            y = torch.cat([x[:, i::2, j::2, k::2] for i in (0, 1) for j in (0, 1) for k in (0, 1)], -1)
            y = self.two(self.merge(y)).permute(0, 4, 1, 2, 3)
            y = self.last(self.mix(torch.cat([self.up(y), x.permute(0, 4, 1, 2, 3)], 1)))
            p, wanted = torch.sigmoid(y.float()), (goal > 1).float()
            overlap = 1 - (2 * (p * wanted).sum((2, 3, 4)) + 1) / (p.square().sum((2, 3, 4)) + wanted.sum((2, 3, 4)) + 1)
            return Result(overlap.mean() + F.binary_cross_entropy_with_logits(y, wanted))
    return Net(), lambda b: (torch.zeros(b, 4, 64, 64, 64), torch.zeros(b, 4, 64, 64, 64)), "own"


def star_nuclei():
    """Nuclei in a stack: unpadded 3-D filters on flat voxels, averages for pooling, trilinear steps up, and 64 rays."""
    class Pair(nn.Module):
        def __init__(self, a, b, flat=False):
            super().__init__()
            k = (1, 3, 3) if flat else 3
            self.f = nn.Sequential(nn.Conv3d(a, b, k), nn.GroupNorm(8, b), nn.ELU(), nn.Conv3d(b, b, k), nn.GroupNorm(8, b), nn.ELU())
            self.skip, self.cut = nn.Conv3d(a, b, 1), (0 if flat else 2)

        def forward(self, x):
            n = self.cut
            y = x[:, :, n:x.shape[2] - n, 2:-2, 2:-2]
            return self.f(x) + self.skip(y)

    def middle(x, like):
        cut = [(a - b) // 2 for a, b in zip(x.shape[2:], like.shape[2:])]
        return x[:, :, cut[0]:cut[0] + like.shape[2], cut[1]:cut[1] + like.shape[3], cut[2]:cut[2] + like.shape[4]]

    class Net(nn.Module):
        def __init__(self, rays=64, c=32):
            super().__init__()
            self.a, self.b, self.c = Pair(1, c, True), Pair(c, 2 * c), Pair(2 * c, 4 * c)
            self.d, self.e = Pair(6 * c, 2 * c), Pair(3 * c, c)
            self.feature = nn.Conv3d(c, 2 * c, 1)
            self.chance, self.rays = nn.Conv3d(2 * c, 1, 1), nn.Conv3d(2 * c, rays, 1)

        def forward(self, x, chance, rays):
            a = self.a(x)
            b = self.b(F.avg_pool3d(a, (1, 2, 2)))
            y = self.c(F.avg_pool3d(b, 2))
            y = F.interpolate(y, scale_factor=2, mode="trilinear", align_corners=False)
            y = self.d(torch.cat([y, middle(b, y)], 1))
            y = F.interpolate(y, scale_factor=(1, 2, 2), mode="trilinear", align_corners=False)
            y = F.relu(self.feature(self.e(torch.cat([y, middle(a, y)], 1))))
            p = torch.sigmoid(middle(chance, y))
            far = F.softplus(self.rays(y))
            away = (middle(rays, y).abs() - far).abs().mean(1, keepdim=True)
            return Result(F.binary_cross_entropy_with_logits(self.chance(y), p) + (p * away).mean() + 1e-4 * far.mean())
    return Net(), lambda b: (torch.zeros(b, 1, 24, 108, 108), torch.zeros(b, 1, 24, 108, 108), torch.zeros(b, 64, 24, 108, 108)), "own"


NETWORKS = {f.__name__: f for f in (abdomen_organs, expanded_films, registered_brains, coil_rounds, few_views, two_speeds,
                                    windowed_volumes, star_nuclei)}
STEPS = {"abdomen_organs": ("amp-fp16", 2, "nchw", "momentum"), "expanded_films": ("amp-bf16", 8, "nchw", "momentum"),
         "registered_brains": ("tf32", 2, "nchw", "adam"), "coil_rounds": ("fp32", 2, "nchw", "adam"),
         "few_views": ("tf32", 4, "nchw", "adam"), "two_speeds": ("tf32", 6, "nchw", "momentum"),
         "windowed_volumes": ("amp-fp16", 2, "nchw", "adamw"), "star_nuclei": ("fp32", 2, "nchw", "adam")}
