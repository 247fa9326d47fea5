# SPDX-License-Identifier: Apache-2.0
"""written_fourth.py - a fourth set of networks as people write them: images, volumes, videos and points. See cases.py."""
import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result


def unit(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class Residual(nn.Module):
    """Two convolutions with batch norm and a skip."""

    def __init__(self, i, o, stride=1):
        super().__init__()
        self.body = nn.Sequential(unit(i, o, stride), nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o))
        same = i == o and stride == 1
        self.skip = nn.Identity() if same else nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


def pyramid_detector():
    """A one-stage detector: residual backbone, feature pyramid, a shared head, focal loss and smooth L1."""
    class Net(nn.Module):
        def __init__(self, width=192, classes=80):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                                      nn.MaxPool2d(3, 2, 1))
            sizes = (64, 96, 192, 384)
            self.stages = nn.ModuleList(nn.Sequential(Residual(i, o, 2), Residual(o, o)) for i,
                                        o in zip(sizes, sizes[1:]))
            self.side = nn.ModuleList(nn.Conv2d(c, width, 1) for c in sizes[1:])
            self.smooth = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in sizes[1:])
            self.kinds, self.places = self.tower(width, classes), self.tower(width, 4)
            self.scales = nn.Parameter(torch.ones(len(sizes) - 1))

        def tower(self, width, outputs):
            layers = [m for _ in range(3) for m in (nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(32, width),
                                                    nn.ReLU())]
            return nn.Sequential(*layers, nn.Conv2d(width, outputs, 3, padding=1))

        def forward(self, images, labels, boxes):
            x, levels = self.stem(images), []
            for stage, side in zip(self.stages, self.side):
                x = stage(x)
                levels.append(side(x))
            for n in (1, 0):
                levels[n] = levels[n] + F.interpolate(levels[n + 1], size=levels[n].shape[-2:], mode="nearest")
            levels = [smooth(y) for smooth, y in zip(self.smooth, levels)]
            kinds = torch.cat([self.kinds(y).flatten(2) for y in levels], 2)
            places = torch.cat([F.relu(self.places(y) * s).flatten(2) for y, s in zip(levels, self.scales)], 2)
            p = torch.sigmoid(kinds)
            miss = p * (1 - labels) + (1 - p) * labels
            entropy = F.binary_cross_entropy_with_logits(kinds, labels, reduction="none")
            return Result((0.25 * miss ** 2 * entropy).sum() / len(images) + F.smooth_l1_loss(places, boxes))

    def inputs(b, size=384):
        cells = sum((size // s) ** 2 for s in (8, 16, 32))
        return {"images": torch.zeros(b, 3, size, size), "labels": torch.zeros(b, 80, cells),
                "boxes": torch.zeros(b, 4, cells)}
    return Net(), inputs, "own"


def volume_segmenter():
    """A residual 3-D U-Net for scans with instance norm, supervised at two depths by Dice and cross-entropy."""
    class Block(nn.Module):
        def __init__(self, i, o, stride=1):
            super().__init__()
            self.c1, self.n1 = nn.Conv3d(i, o, 3, stride, 1), nn.InstanceNorm3d(o, affine=True)
            self.c2, self.n2 = nn.Conv3d(o, o, 3, 1, 1), nn.InstanceNorm3d(o, affine=True)
            self.skip = nn.Conv3d(i, o, 1, stride)

        def forward(self, x):
            y = F.leaky_relu(self.n1(self.c1(x)), 0.01)
            return F.leaky_relu(self.n2(self.c2(y)) + self.skip(x), 0.01)

    class Net(nn.Module):
        def __init__(self, widths=(24, 48, 96, 192, 256), classes=3):
            super().__init__()
            w = list(widths)
            self.down = nn.ModuleList(Block(i, o, 1 if n == 0 else 2) for n, (i, o) in enumerate(zip([2] + w, w)))
            self.grow = nn.ModuleList(nn.ConvTranspose3d(i, o, 2, 2) for i, o in zip(w[:0:-1], w[-2::-1]))
            self.up = nn.ModuleList(Block(2 * o, o) for o in w[-2::-1])
            self.heads = nn.ModuleList(nn.Conv3d(c, classes, 1) for c in (w[1], w[0]))

        def one(self, x, labels):
            p = x.float().softmax(1)
            truth = torch.zeros_like(p).scatter_(1, labels, 1.0)
            overlap = 2 * (p * truth).sum((2, 3, 4)) / (p + truth).sum((2, 3, 4)).clamp(min=1e-5)
            return F.cross_entropy(x, labels.squeeze(1)) + 1 - overlap.mean()

        def forward(self, scan, labels):
            x, kept = scan, []
            for block in self.down:
                x = block(x)
                kept.append(x)
            kept.pop()
            deep = []
            for grow, up in zip(self.grow, self.up):
                x = up(torch.cat([grow(x), kept.pop()], 1))
                deep.append(x)
            half = labels[:, :, ::2, ::2, ::2]
            return Result(0.5 * self.one(self.heads[0](deep[-2]), half) + self.one(self.heads[1](x), labels))

    def inputs(b):
        return {"scan": torch.zeros(b, 2, 64, 64, 64), "labels": torch.zeros(b, 1, 64, 64, 64, dtype=torch.int64)}
    return Net(), inputs, "own"


def dense_upscaler():
    """Residual dense blocks inside residuals, then nearest up-sampling by four, trained with the L1 loss."""
    class Dense(nn.Module):
        def __init__(self, c, grow):
            super().__init__()
            self.steps = nn.ModuleList(nn.Conv2d(c + n * grow, grow if n < 4 else c, 3, padding=1) for n in range(5))

        def forward(self, x):
            y = x
            for n, step in enumerate(self.steps):
                z = step(y)
                y = torch.cat([y, F.leaky_relu(z, 0.2, inplace=True)], 1) if n < 4 else z
            return x + 0.2 * y

    class Group(nn.Module):
        def __init__(self, c, grow):
            super().__init__()
            self.body = nn.Sequential(*(Dense(c, grow) for _ in range(3)))

        def forward(self, x):
            return x + 0.2 * self.body(x)

    class Net(nn.Module):
        def __init__(self, c=64, grow=32):
            super().__init__()
            self.put, self.trunk = nn.Conv2d(3, c, 3, padding=1), nn.Sequential(*(Group(c, grow) for _ in range(6)))
            self.after, self.up1, self.up2, self.fine = (nn.Conv2d(c, c, 3, padding=1) for _ in range(4))
            self.last = nn.Conv2d(c, 3, 3, padding=1)

        def forward(self, small, large):
            x = self.put(small)
            x = x + self.after(self.trunk(x))
            for up in (self.up1, self.up2):
                x = F.leaky_relu(up(F.interpolate(x, scale_factor=2, mode="nearest")), 0.2)
            return Result(F.l1_loss(self.last(F.leaky_relu(self.fine(x), 0.2)), large))
    return Net(), lambda b: {"small": torch.zeros(b, 3, 40, 40), "large": torch.zeros(b, 3, 160, 160)}, "own"


def spectral_discriminator():
    """A residual discriminator with spectral norm, self-attention, a class projection and the hinge loss."""
    from torch.nn.utils.parametrizations import spectral_norm as sn

    class Block(nn.Module):
        def __init__(self, i, o, down=True):
            super().__init__()
            self.c1, self.c2 = sn(nn.Conv2d(i, o, 3, padding=1)), sn(nn.Conv2d(o, o, 3, padding=1))
            self.skip, self.down = sn(nn.Conv2d(i, o, 1)), down

        def forward(self, x):
            y, x = self.c2(F.relu(self.c1(F.relu(x)))), self.skip(x)
            return F.avg_pool2d(y, 2) + F.avg_pool2d(x, 2) if self.down else x + y

    class Attend(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.q, self.k, self.v = (sn(nn.Conv2d(c, o, 1, bias=False)) for o in (c // 8, c // 8, c // 2))
            self.o, self.gain = sn(nn.Conv2d(c // 2, c, 1, bias=False)), nn.Parameter(torch.zeros(1))

        def forward(self, x):
            k, v = F.max_pool2d(self.k(x), 2).flatten(2), F.max_pool2d(self.v(x), 2).flatten(2)
            beta = torch.bmm(self.q(x).flatten(2).transpose(1, 2), k).softmax(-1)
            y = torch.bmm(v, beta.transpose(1, 2)).unflatten(2, x.shape[2:])
            return x + self.gain * self.o(y)

    class Net(nn.Module):
        def __init__(self, c=64, classes=1000):
            super().__init__()
            sizes = (3, c, 2 * c, 4 * c, 8 * c)
            blocks = [Block(i, o) for i, o in zip(sizes, sizes[1:])]
            self.body = nn.Sequential(blocks[0], Attend(c), *blocks[1:], Block(8 * c, 8 * c, down=False))
            self.head, self.classes = sn(nn.Linear(8 * c, 1)), sn(nn.Embedding(classes, 8 * c))

        def score(self, x, kind):
            h = F.relu(self.body(x)).sum((2, 3))
            return self.head(h).squeeze(1) + (self.classes(kind) * h).sum(1)

        def forward(self, real, fake, kind):
            a, b = self.score(torch.cat([real, fake]), torch.cat([kind, kind])).chunk(2)
            return Result(F.relu(1 - a).mean() + F.relu(1 + b).mean())
    return Net(), lambda b: (torch.zeros(b, 3, 128, 128), torch.zeros(b, 3, 128, 128),
                             torch.zeros(b, dtype=torch.int64)), "own"


def image_translator():
    """A generator from pictures to pictures: reflection padding, instance norm, residual blocks, transposed filters."""
    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.body = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3), nn.InstanceNorm2d(c), nn.ReLU(True),
                                      nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3), nn.InstanceNorm2d(c))

        def forward(self, x):
            return x + self.body(x)

    def net(c=64):
        layers = [nn.ReflectionPad2d(3), nn.Conv2d(3, c, 7), nn.InstanceNorm2d(c), nn.ReLU(True)]
        for k in (1, 2):
            layers += [nn.Conv2d(c * k, 2 * c * k, 3, 2, 1), nn.InstanceNorm2d(2 * c * k), nn.ReLU(True)]
        layers += [Block(4 * c) for _ in range(9)]
        for k in (4, 2):
            layers += [nn.ConvTranspose2d(c * k, c * k // 2, 3, 2, 1, 1), nn.InstanceNorm2d(c * k // 2), nn.ReLU(True)]
        return nn.Sequential(*layers, nn.ReflectionPad2d(3), nn.Conv2d(c, 3, 7), nn.Tanh())
    return net(), lambda b: torch.zeros(b, 3, 192, 192), "mse"


def style_generator():
    """A generator whose filters are scaled by a style for each picture, run as one grouped convolution."""
    class Styled(nn.Module):
        def __init__(self, i, o, style, grow):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(o, i, 3, 3) / (3 * i ** 0.5))
            self.bias = nn.Parameter(torch.zeros(o))
            self.style, self.grow, self.noise = nn.Linear(style, i), grow, nn.Parameter(torch.zeros(1))

        def forward(self, x, w):
            if self.grow:
                x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            b, c, h, wide = x.shape
            weight = self.weight * (1 + self.style(w))[:, None, :, None, None]
            weight = weight * torch.rsqrt(weight.pow(2).sum((2, 3, 4), keepdim=True) + 1e-8)
            y = F.conv2d(x.reshape(1, b * c, h, wide), weight.flatten(0, 1), padding=1, groups=b).view(b, -1, h, wide)
            y = y + self.noise * torch.randn(b, 1, h, wide, device=x.device) + self.bias[:, None, None]
            return F.leaky_relu(y, 0.2) * 1.414

    class Net(nn.Module):
        def __init__(self, style=512, widths=(384, 384, 256, 128, 64)):
            super().__init__()
            self.map = nn.Sequential(*(m for _ in range(6) for m in (nn.Linear(style, style), nn.LeakyReLU(0.2))))
            self.start, w = nn.Parameter(torch.randn(1, widths[0], 8, 8)), widths
            self.a = nn.ModuleList(Styled(i, o, style, n > 0) for n, (i, o) in enumerate(zip((w[0],) + w, w)))
            self.b = nn.ModuleList(Styled(o, o, style, False) for o in w)
            self.colours = nn.ModuleList(nn.Conv2d(o, 3, 1) for o in w)

        def forward(self, z):
            w = self.map(F.normalize(z, dim=1))
            x, picture = self.start.expand(len(z), -1, -1, -1), None
            for a, b, colour in zip(self.a, self.b, self.colours):
                x = b(a(x, w), w)
                if picture is not None:
                    picture = F.interpolate(picture, scale_factor=2, mode="bilinear", align_corners=False)
                picture = colour(x) if picture is None else picture + colour(x)
            return picture
    return Net(), lambda b: torch.zeros(b, 512), "mse"


def ladder_autoencoder():
    """A variational autoencoder with latent maps at three scales and a divergence for each."""
    def block(c):
        return nn.Sequential(nn.GELU(), nn.Conv2d(c, c // 4, 1), nn.GELU(), nn.Conv2d(c // 4, c // 4, 3, padding=1),
                             nn.GELU(),
                             nn.Conv2d(c // 4, c // 4, 3, padding=1), nn.GELU(), nn.Conv2d(c // 4, c, 1))

    class Net(nn.Module):
        def __init__(self, c=256, z=16, scales=3, depth=3):
            super().__init__()
            self.put, self.take, self.z = nn.Conv2d(3, c, 3, 2, 1), nn.ConvTranspose2d(c, 3, 4, 2, 1), z
            self.enc = nn.ModuleList(nn.ModuleList(block(c) for _ in range(depth)) for _ in range(scales))
            self.dec = nn.ModuleList(nn.ModuleList(block(c) for _ in range(depth)) for _ in range(scales))
            self.prior = nn.ModuleList(nn.Conv2d(c, 2 * z, 1) for _ in range(scales))
            self.post = nn.ModuleList(nn.Conv2d(2 * c, 2 * z, 1) for _ in range(scales))
            self.back = nn.ModuleList(nn.Conv2d(z, c, 1) for _ in range(scales))

        def forward(self, image):
            x, kept, loss = self.put(image), [], 0
            for blocks in self.enc:
                for f in blocks:
                    x = x + f(x)
                kept.append(x)
                x = F.avg_pool2d(x, 2)
            y = torch.zeros_like(kept[-1])
            for blocks, prior, post, back in zip(self.dec, self.prior, self.post, self.back):
                side = kept.pop()
                if y.shape != side.shape:
                    y = F.interpolate(y, scale_factor=2)
                (pm, ps), (qm, qs) = prior(y).chunk(2, 1), post(torch.cat([y, side], 1)).chunk(2, 1)
                latent = qm + qs.exp() * torch.randn_like(qm)
                loss = loss + (ps - qs - 0.5 + 0.5 * (qs.exp() ** 2 + (qm - pm) ** 2) / ps.exp() ** 2).mean()
                y = y + back(latent)
                for f in blocks:
                    y = y + f(y)
            return Result(loss + F.mse_loss(torch.tanh(self.take(y)), image))
    return Net(), lambda b: torch.zeros(b, 3, 96, 96), "own"


def contrastive_views():
    """Two views of each picture, a residual network, and the normalised temperature-scaled cross-entropy."""
    class Net(nn.Module):
        def __init__(self, width=64):
            super().__init__()
            sizes = [width * k for k in (1, 1, 2, 4, 8)]
            stages = [Residual(i, o, 1 if n == 0 else 2) for n, (i, o) in enumerate(zip(sizes, sizes[1:]))]
            self.body = nn.Sequential(unit(3, width, 2), *(m for s, o in zip(stages, sizes[1:])
                                                           for m in (s, Residual(o, o))))
            self.head = nn.Sequential(nn.Linear(sizes[-1], sizes[-1]), nn.BatchNorm1d(sizes[-1]), nn.ReLU(),
                                      nn.Linear(sizes[-1], 128))

        def forward(self, first, second):
            z = F.normalize(self.head(self.body(torch.cat([first, second])).mean((2, 3))), dim=1)
            count = z.shape[0]
            likeness = (z @ z.t() / 0.5).masked_fill(torch.eye(count, dtype=torch.bool, device=z.device), -1e4)
            partner = (torch.arange(count, device=z.device) + count // 2) % count
            return Result(F.cross_entropy(likeness, partner))
    return Net(), lambda b: (torch.zeros(b, 3, 128, 128), torch.zeros(b, 3, 128, 128)), "own"


def two_speed_video():
    """Two 3-D convolutional paths, one of few frames and one of many, joined by strided filters over time."""
    class Block(nn.Module):
        def __init__(self, i, o, time, stride):
            super().__init__()
            inner = o // 4
            self.body = nn.Sequential(nn.Conv3d(i, inner, (time, 1, 1), padding=(time // 2, 0, 0), bias=False),
                                      nn.BatchNorm3d(inner), nn.ReLU(),
                                      nn.Conv3d(inner, inner, (1, 3, 3), (1, stride, stride), (0, 1, 1),
                                                bias=False), nn.BatchNorm3d(inner),
                                      nn.ReLU(), nn.Conv3d(inner, o, 1, bias=False), nn.BatchNorm3d(o))
            self.skip = nn.Sequential(nn.Conv3d(i, o, 1, (1, stride, stride), bias=False), nn.BatchNorm3d(o))

        def forward(self, x):
            return F.relu(self.body(x) + self.skip(x))

    class Net(nn.Module):
        def __init__(self, slow=(64, 256, 512, 1024), fast=(8, 32, 64, 128)):
            super().__init__()
            self.put_slow = nn.Sequential(nn.Conv3d(3, slow[0], (1, 7, 7), (1, 2, 2), (0, 3, 3)),
                                          nn.BatchNorm3d(slow[0]), nn.ReLU())
            self.put_fast = nn.Sequential(nn.Conv3d(3, fast[0], (5, 7, 7), (1, 2, 2), (2, 3, 3)),
                                          nn.BatchNorm3d(fast[0]), nn.ReLU())
            self.cross = nn.ModuleList(nn.Conv3d(c, 2 * c, (5, 1, 1), (8, 1, 1), (2, 0, 0)) for c in fast[:-1])
            self.slow = nn.ModuleList(Block(i + 2 * f, o, 1 if n < 1 else 3, 2) for n,
                                      (i, o, f) in enumerate(zip(slow, slow[1:], fast)))
            self.fast = nn.ModuleList(Block(i, o, 3, 2) for i, o in zip(fast, fast[1:]))
            self.head = nn.Sequential(nn.Dropout(0.5), nn.Linear(slow[-1] + fast[-1], 400))

        def forward(self, clip):
            a, b = self.put_slow(clip[:, :, ::8]), self.put_fast(clip)
            for cross, slow, fast in zip(self.cross, self.slow, self.fast):
                a, b = slow(torch.cat([a, cross(b)], 1)), fast(b)
            return self.head(torch.cat([a.mean((2, 3, 4)), b.mean((2, 3, 4))], 1))
    return Net(), lambda b: torch.zeros(b, 3, 32, 128, 128), "cross-entropy"


def edge_points():
    """A network on point clouds that finds the nearest neighbours again in each layer."""
    class Edge(nn.Module):
        def __init__(self, i, o, near):
            super().__init__()
            self.near = near
            self.f = nn.Sequential(nn.Conv2d(2 * i, o, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.2))

        def forward(self, x):
            b, c, n = x.shape
            square = (x ** 2).sum(1, keepdim=True)
            chosen = (2 * x.transpose(1, 2) @ x - square - square.transpose(1, 2)).topk(self.near, -1)[1]
            rows = (chosen + torch.arange(b, device=x.device).view(-1, 1, 1) * n).view(-1)
            flat = x.transpose(1, 2).reshape(b * n, c)
            near = flat[rows].view(b, n, self.near, c)
            here = flat.view(b, n, 1, c).expand(-1, -1, self.near, -1)
            return self.f(torch.cat([near - here, here], 3).permute(0, 3, 1, 2)).max(-1)[0]

    class Net(nn.Module):
        def __init__(self, near=20):
            super().__init__()
            self.edges = nn.ModuleList(Edge(i, o, near) for i, o in ((3, 64), (64, 64), (64, 128), (128, 256)))
            self.join = nn.Sequential(nn.Conv1d(512, 1024, 1, bias=False), nn.BatchNorm1d(1024), nn.LeakyReLU(0.2))
            self.head = nn.Sequential(nn.Linear(2048, 512), nn.BatchNorm1d(512), nn.LeakyReLU(0.2), nn.Dropout(0.5),
                                      nn.Linear(512, 40))

        def forward(self, x):
            kept = []
            for edge in self.edges:
                x = edge(x)
                kept.append(x)
            x = self.join(torch.cat(kept, 1))
            return self.head(torch.cat([x.max(-1)[0], x.mean(-1)], 1))
    return Net(), lambda b: torch.zeros(b, 3, 1024), "cross-entropy"


NETWORKS = {f.__name__: f for f in (
    pyramid_detector, volume_segmenter, dense_upscaler, spectral_discriminator, image_translator, style_generator,
    ladder_autoencoder, contrastive_views, two_speed_video, edge_points)}
