# SPDX-License-Identifier: Apache-2.0
"""written_sixteenth.py - more of the twelfth set of networks as people write them: pictures. See cases.py."""
import torch
import torch.nn.functional as F
from torch import nn

from blocks import Encoder, Result


def dice(found, mask):
    """One minus the overlap of probabilities with masks, over all pixels of each picture."""
    p = found.sigmoid().flatten(1)
    mask = mask.flatten(1)
    return (1 - (2 * (p * mask).sum(1) + 1) / (p.sum(1) + mask.sum(1) + 1)).mean()


def cell_flows():
    """Cells in microscope pictures: a residual U-Net with a style vector gives flows to the centres and a mask."""
    def unit(i, o):
        return nn.Sequential(nn.BatchNorm2d(i), nn.ReLU(inplace=True), nn.Conv2d(i, o, 3, padding=1))

    class Down(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.skip = nn.Sequential(nn.BatchNorm2d(i), nn.Conv2d(i, o, 1))
            self.f = nn.ModuleList((unit(i, o), unit(o, o), unit(o, o), unit(o, o)))

        def forward(self, x):
            x = self.skip(x) + self.f[1](self.f[0](x))
            return x + self.f[3](self.f[2](x))

    class Up(nn.Module):
        def __init__(self, i, o, style):
            super().__init__()
            self.skip = nn.Sequential(nn.BatchNorm2d(i), nn.Conv2d(i, o, 1))
            self.enter, self.f = unit(i, o), nn.ModuleList(unit(o, o) for _ in range(3))
            self.style = nn.ModuleList(nn.Linear(style, o) for _ in range(3))

        def styled(self, n, x, style):
            return self.f[n](x + self.style[n](style)[..., None, None])

        def forward(self, x, kept, style):
            x = self.skip(x) + self.styled(0, self.enter(x) + kept, style)
            return x + self.styled(2, self.styled(1, x, style), style)

    class Net(nn.Module):
        def __init__(self, c=(2, 32, 64, 128, 256)):
            super().__init__()
            self.down = nn.ModuleList(Down(i, o) for i, o in zip(c, c[1:]))
            self.up = nn.ModuleList(Up(i, o, c[-1]) for i, o in zip((c[4], c[4], c[3], c[2]), (c[4], c[3], c[2], c[1])))
            self.last = nn.Sequential(nn.BatchNorm2d(c[1]), nn.ReLU(inplace=True), nn.Conv2d(c[1], 3, 1))

        def forward(self, picture, flows, mask):
            x, kept = picture, []
            for n, f in enumerate(self.down):
                x = f(F.max_pool2d(x, 2) if n else x)
                kept.append(x)
            style = F.normalize(x.mean((2, 3)))
            for n, f in enumerate(self.up):
                x = f(F.interpolate(x, scale_factor=2, mode="nearest") if n else x, kept.pop(), style)
            y = self.last(x)
            loss = 0.5 * F.mse_loss(y[:, :2], 5 * flows)
            return Result(loss + F.binary_cross_entropy_with_logits(y[:, 2:], mask))

    def inputs(b):
        return torch.zeros(b, 2, 256, 256), torch.zeros(b, 2, 256, 256), torch.zeros(b, 1, 256, 256)
    return Net(), inputs, "own"


def slide_bags():
    """Tumours on slides: features of 4096 tiles, a small transformer with few landmarks, gated attention per class."""
    class Landmarks(nn.Module):
        """Tiles attend to means of neighbouring tiles, which attend to all tiles."""

        def __init__(self, c, heads, count):
            super().__init__()
            self.heads, self.count, self.norm = heads, count, nn.LayerNorm(c)
            self.qkv, self.o = nn.Linear(c, 3 * c), nn.Linear(c, c)

        def forward(self, x):
            b, n, c = x.shape
            q, k, v = self.qkv(self.norm(x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            few = q.unflatten(2, (self.count, -1)).mean(3)
            y = F.scaled_dot_product_attention(few, k, v)
            y = F.scaled_dot_product_attention(q, few, y)
            return x + self.o(y.transpose(1, 2).reshape(b, n, c))

    class Net(nn.Module):
        def __init__(self, i=1024, c=512, classes=4, inner=256):
            super().__init__()
            self.put = nn.Sequential(nn.Linear(i, c), nn.ReLU(), nn.Dropout(0.25))
            self.body = nn.Sequential(Landmarks(c, 8, 256), Landmarks(c, 8, 256))
            self.a, self.b = nn.Linear(c, inner), nn.Linear(c, inner)
            self.look, self.norm = nn.Linear(inner, classes), nn.LayerNorm(c)
            self.weight, self.bias = nn.Parameter(torch.randn(classes, c) * 0.02), nn.Parameter(torch.zeros(classes))

        def forward(self, tiles):
            x = self.norm(self.body(self.put(tiles)))
            gate = torch.tanh(self.a(x)) * torch.sigmoid(self.b(x))
            w = F.dropout(self.look(gate), 0.25, self.training).transpose(1, 2).softmax(-1)
            return (torch.bmm(w, x) * self.weight).sum(-1) + self.bias
    return Net(), lambda b: torch.zeros(b, 4096, 1024), "cross-entropy"


def changed_land():
    """New buildings between two satellite pictures: one encoder for both, differences at four scales, Dice."""
    from torchvision.models import resnet18

    def unit(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

    class Net(nn.Module):
        def __init__(self, c=(64, 128, 256, 512), wide=96):
            super().__init__()
            body = resnet18(weights=None)
            self.stem = nn.Sequential(body.conv1, body.bn1, body.relu, body.maxpool)
            self.stages = nn.ModuleList((body.layer1, body.layer2, body.layer3, body.layer4))
            self.differ = nn.ModuleList(nn.Sequential(unit(2 * n, n), unit(n, wide)) for n in c)
            self.gate = nn.ModuleList(nn.Sequential(nn.Conv2d(wide, 1, 7, padding=3), nn.Sigmoid()) for _ in c)
            self.join = nn.Sequential(nn.Conv2d(4 * wide, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU())
            self.up = nn.ModuleList(nn.Sequential(nn.ConvTranspose2d(wide, wide, 4, 2, 1), unit(wide, wide))
                                    for _ in range(2))
            self.last = nn.Conv2d(wide, 1, 3, padding=1)

        def forward(self, before, after, mask):
            x, maps = self.stem(torch.cat([before, after])), []
            for stage, differ, gate in zip(self.stages, self.differ, self.gate):
                x = stage(x)
                a, b = x.chunk(2)
                d = differ(torch.cat([(a - b).abs(), a + b], 1))
                maps.append(d * gate(d))
            size = maps[0].shape[2:]
            x = self.join(torch.cat([F.interpolate(m, size, mode="bilinear", align_corners=False) for m in maps], 1))
            for f in self.up:
                x = f(x)
            x = self.last(x)
            return Result(F.binary_cross_entropy_with_logits(x, mask) + dice(x.float(), mask.float()))

    def inputs(b):
        return torch.zeros(b, 3, 256, 256), torch.zeros(b, 3, 256, 256), torch.zeros(b, 1, 256, 256)
    return Net(), inputs, "own"


def graded_retina():
    """Grades of a disease on photographs of the retina: inverted bottlenecks, pooling by a power, ordered grades."""
    def unit(i, o, k=1, s=1, g=1):
        return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, groups=g, bias=False), nn.BatchNorm2d(o), nn.SiLU())

    class Block(nn.Module):
        def __init__(self, i, o, k, s, more, keep):
            super().__init__()
            inner, few = i * more, max(4, i // 4)
            self.up = unit(i, inner) if more > 1 else nn.Identity()
            self.deep, self.same, self.keep = unit(inner, inner, k, s, inner), i == o and s == 1, keep
            self.gate = nn.Sequential(nn.Conv2d(inner, few, 1), nn.SiLU(), nn.Conv2d(few, inner, 1), nn.Sigmoid())
            self.down = nn.Sequential(nn.Conv2d(inner, o, 1, bias=False), nn.BatchNorm2d(o))

        def forward(self, x):
            y = self.deep(self.up(x))
            y = self.down(y * self.gate(y.mean((2, 3), keepdim=True)))
            if not self.same:
                return y
            keep = torch.empty(len(y), 1, 1, 1, device=y.device, dtype=y.dtype).bernoulli_(self.keep) / self.keep
            return x + y * keep

    class Net(nn.Module):
        def __init__(self, grades=5):
            super().__init__()
            plan = ((32, 24, 1, 3, 1, 1), (24, 32, 3, 3, 2, 6), (32, 48, 3, 5, 2, 6), (48, 96, 4, 3, 2, 6),
                    (96, 128, 4, 5, 1, 6), (128, 208, 5, 5, 2, 6), (208, 352, 2, 3, 1, 6))
            total, layers = sum(p[2] for p in plan), []
            for i, o, count, k, s, more in plan:
                for n in range(count):
                    keep = 1 - 0.2 * len(layers) / total
                    layers.append(Block(i if n == 0 else o, o, k, s if n == 0 else 1, more, keep))
            self.body = nn.Sequential(unit(3, 32, 3, 2), *layers, unit(352, 1408))
            self.power, self.drop = nn.Parameter(torch.tensor(3.0)), nn.Dropout(0.3)
            self.head, self.steps = nn.Linear(1408, 1, bias=False), nn.Parameter(torch.zeros(grades - 1))

        def forward(self, picture, above):
            x = self.body(picture).float().clamp(min=1e-6).pow(self.power)
            x = F.avg_pool2d(x, x.shape[2:]).pow(1 / self.power).flatten(1)
            logits = self.head(self.drop(x)) + self.steps
            logs = F.logsigmoid(logits)
            return Result(-(logs * above + (logs - logits) * (1 - above)).sum(1).mean())
    return Net(), lambda b: (torch.zeros(b, 3, 380, 380), torch.zeros(b, 4)), "own"


def radar_speckle():
    """Radar pictures without speckle: a U-Net of gated blocks without activations, and the likelihood of speckle."""
    class Norm(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.ones(c, 1, 1)), nn.Parameter(torch.zeros(c, 1, 1))

        def forward(self, x):
            mean = x.mean(1, keepdim=True)
            spread = (x - mean).pow(2).mean(1, keepdim=True)
            return (x - mean) / (spread + 1e-6).sqrt() * self.weight + self.bias

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.n1, self.n2, self.up, self.back = Norm(c), Norm(c), nn.Conv2d(c, 2 * c, 1), nn.Conv2d(c, c, 1)
            self.deep = nn.Conv2d(2 * c, 2 * c, 3, padding=1, groups=2 * c)
            self.scale, self.up2, self.back2 = nn.Conv2d(c, c, 1), nn.Conv2d(c, 2 * c, 1), nn.Conv2d(c, c, 1)
            self.a, self.b = nn.Parameter(torch.zeros(1, c, 1, 1)), nn.Parameter(torch.zeros(1, c, 1, 1))

        def forward(self, x):
            y, z = self.deep(self.up(self.n1(x))).chunk(2, 1)
            y = y * z
            x = x + self.a * self.back(y * self.scale(F.adaptive_avg_pool2d(y, 1)))
            y, z = self.up2(self.n2(x)).chunk(2, 1)
            return x + self.b * self.back2(y * z)

    class Net(nn.Module):
        def __init__(self, c=32, enter=(2, 2, 4, 8), leave=(2, 2, 2, 2)):
            super().__init__()
            self.first, self.last = nn.Conv2d(2, c, 3, padding=1), nn.Conv2d(c, 2, 3, padding=1)
            self.enter = nn.ModuleList(nn.Sequential(*(Block(c * 2 ** n) for _ in range(k)))
                                       for n, k in enumerate(enter))
            self.down = nn.ModuleList(nn.Conv2d(c * 2 ** n, c * 2 ** (n + 1), 2, 2) for n in range(4))
            self.middle = nn.Sequential(*(Block(16 * c) for _ in range(4)))
            self.up = nn.ModuleList(nn.Sequential(nn.Conv2d(c * 2 ** (n + 1), c * 2 ** (n + 2), 1, bias=False),
                                                  nn.PixelShuffle(2)) for n in (3, 2, 1, 0))
            self.leave = nn.ModuleList(nn.Sequential(*(Block(c * 2 ** n) for _ in range(k)))
                                       for n, k in zip((3, 2, 1, 0), leave))

        def forward(self, one, other):
            x, kept = self.first(one), []
            for block, down in zip(self.enter, self.down):
                kept.append(block(x))
                x = down(kept[-1])
            x = self.middle(x)
            for up, block in zip(self.up, self.leave):
                x = block(up(x) + kept.pop())
            clean = one + self.last(x)
            return Result((clean + (other - clean).clamp(max=10).exp()).mean())
    return Net(), lambda b: (torch.zeros(b, 2, 256, 256), torch.zeros(b, 2, 256, 256)), "own"


def wide_volumes():
    """Organs in scans: a 3-D U-Net of depthwise filters, group norm and wide 1x1 layers, two depths supervised."""
    class Block(nn.Module):
        def __init__(self, i, o, more, kind="same", k=5):
            super().__init__()
            make = nn.ConvTranspose3d if kind == "up" else nn.Conv3d
            self.deep = make(i, i, k, 1 if kind == "same" else 2, k // 2, groups=i)
            self.norm, self.up, self.down = nn.GroupNorm(i, i), nn.Conv3d(i, more * i, 1), nn.Conv3d(more * i, o, 1)
            self.skip = {"same": nn.Identity, "down": lambda: nn.Conv3d(i, o, 1, 2),
                         "up": lambda: nn.ConvTranspose3d(i, o, 1, 2)}[kind]()
            self.kind = kind

        def forward(self, x):
            y = self.skip(x) + self.down(F.gelu(self.up(self.norm(self.deep(x)))))
            return F.pad(y, (1, 0, 1, 0, 1, 0)) if self.kind == "up" else y

    def blocks(c, more, count=2):
        return nn.Sequential(*(Block(c, c, more) for _ in range(count)))

    class Net(nn.Module):
        def __init__(self, c=32, classes=14, more=(2, 3, 4, 4)):
            super().__init__()
            w = [c * 2 ** n for n in range(4)]
            self.stem, self.enter = nn.Conv3d(1, c, 1), nn.ModuleList(blocks(n, m) for n, m in zip(w, more))
            self.down = nn.ModuleList(Block(i, o, m, "down") for i, o, m in zip(w, w[1:], more))
            self.up = nn.ModuleList(Block(o, i, m, "up") for i, o, m in reversed(list(zip(w, w[1:], more))))
            self.leave = nn.ModuleList(blocks(n, m) for n, m in reversed(list(zip(w[:3], more))))
            self.last, self.second = nn.Conv3d(w[0], classes, 1), nn.Conv3d(w[1], classes, 1)

        def loss(self, found, classes):
            p, true = found.float().softmax(1), F.one_hot(classes, found.shape[1]).movedim(-1, 1).float()
            both, all_ = (p * true).sum((2, 3, 4)), (p + true).sum((2, 3, 4))
            return F.cross_entropy(found.float(), classes) - ((2 * both + 1e-5) / (all_ + 1e-5)).mean()

        def forward(self, scan, organs):
            x, kept = self.stem(scan), []
            organs = organs.squeeze(1).long()
            for n, block in enumerate(self.enter):
                x = block(self.down[n - 1](x) if n else x)
                kept.append(x)
            x, maps = kept.pop(), []
            for up, block in zip(self.up, self.leave):
                x = block(up(x) + kept.pop())
                maps.append(x)
            loss = self.loss(self.last(maps[2]), organs)
            return Result(loss + 0.5 * self.loss(self.second(maps[1]), organs[:, ::2, ::2, ::2]))
    return Net(), lambda b: (torch.zeros(b, 1, 96, 96, 96), torch.zeros(b, 1, 96, 96, 96, dtype=torch.int32)), "own"


def signed_sentences():
    """Sentences of a sign language: a network on each frame, filters over time, a two-way LSTM, and the CTC loss."""
    from torchvision.models import mobilenet_v3_large

    class Net(nn.Module):
        def __init__(self, c=1024, glosses=1296):
            super().__init__()
            self.frames = mobilenet_v3_large(weights=None).features
            self.time = nn.Sequential(nn.Conv1d(960, c, 5, padding=2), nn.BatchNorm1d(c), nn.ReLU(), nn.MaxPool1d(2),
                                      nn.Conv1d(c, c, 5, padding=2), nn.BatchNorm1d(c), nn.ReLU(), nn.MaxPool1d(2))
            self.memory = nn.LSTM(c, c // 2, 2, batch_first=True, dropout=0.3, bidirectional=True)
            self.near, self.last = nn.Linear(c, glosses), nn.Linear(c, glosses)

        def forward(self, video, said):
            x = self.frames(video.flatten(0, 1)).mean((2, 3)).unflatten(0, video.shape[:2])
            x = self.time(x.transpose(1, 2)).transpose(1, 2)
            near, last = self.near(x).float(), self.last(self.memory(x)[0]).float()
            frames, count = (x.shape[1],) * x.shape[0], (said.shape[1],) * x.shape[0]
            loss = sum(F.ctc_loss(y.log_softmax(-1).transpose(0, 1), said.long() + 1, frames, count, zero_infinity=True)
                       for y in (near, last))
            return Result(loss + 25 * F.kl_div((near / 8).log_softmax(-1), (last.detach() / 8).softmax(-1),
                                               reduction="batchmean") / x.shape[1])
    return Net(), lambda b: (torch.zeros(b, 96, 3, 160, 160), torch.zeros(b, 12, dtype=torch.int32)), "own"


def lane_rows():
    """Lanes of a road: for each row of the picture one of 100 cells per lane, with a small decoder while training."""
    from torchvision.models import resnet34

    def unit(i, o, gap=1):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=gap, dilation=gap, bias=False), nn.BatchNorm2d(o), nn.ReLU())

    class Net(nn.Module):
        def __init__(self, cells=100, rows=56, lanes=4):
            super().__init__()
            body = resnet34(weights=None)
            self.stem = nn.Sequential(body.conv1, body.bn1, body.relu, body.maxpool, body.layer1)
            self.stages = nn.ModuleList((body.layer2, body.layer3, body.layer4))
            self.size, self.few = (cells + 1, rows, lanes), nn.Conv2d(512, 8, 1)
            self.head = nn.Sequential(nn.Linear(8 * 9 * 25, 2048), nn.ReLU(),
                                      nn.Linear(2048, (cells + 1) * rows * lanes))
            self.wide = nn.ModuleList(nn.Sequential(unit(i, 128), unit(128, 128)) for i in (128, 256, 512))
            self.draw = nn.Sequential(unit(384, 256, 2), unit(256, 128, 4), nn.Conv2d(128, lanes + 1, 1))
            self.look = Encoder(512, 8, 1024)

        def forward(self, picture, cells, drawn):
            x, maps = self.stem(picture), []
            for stage, wide in zip(self.stages, self.wide):
                x = stage(x)
                y = wide(x)
                maps.append(F.interpolate(y, maps[0].shape[2:], mode="bilinear") if maps else y)
            x = x + self.look(x.flatten(2).transpose(1, 2)).transpose(1, 2).unflatten(2, x.shape[2:])
            y = self.head(self.few(x).flatten(1)).view(-1, *self.size).float()
            p = y.log_softmax(1)
            near = -((1 - p.exp()).pow(2) * p).gather(1, cells.long().unsqueeze(1)).mean()
            place = (y[:, :-1].softmax(1) * torch.arange(self.size[0] - 1, device=y.device).view(1, -1, 1, 1)).sum(1)
            shape = place.diff(n=2, dim=1).abs().mean()
            return Result(near + 0.1 * shape + F.cross_entropy(self.draw(torch.cat(maps, 1)).float(), drawn.long()))

    def inputs(b):
        whole = torch.int32
        return torch.zeros(b, 3, 288, 800), torch.zeros(b, 56, 4, dtype=whole), torch.zeros(b, 36, 100, dtype=whole)
    return Net(), inputs, "own"


NETWORKS = {f.__name__: f for f in (cell_flows, slide_bags, changed_land, graded_retina, radar_speckle, wide_volumes,
                                    signed_sentences, lane_rows)}
STEPS = {"cell_flows": ("fp32", 16, "nchw", "momentum"), "slide_bags": ("amp-fp16", 16, "nchw", "adam"),
         "changed_land": ("amp-bf16", 32, "nhwc", "adamw"), "graded_retina": ("amp-fp16", 32, "nhwc", "adamw"),
         "radar_speckle": ("amp-bf16", 16, "nchw", "adamw"), "wide_volumes": ("amp-bf16", 2, "nchw", "adamw"),
         "signed_sentences": ("amp-fp16", 4, "nchw", "adam"), "lane_rows": ("tf32", 32, "nchw", "momentum")}
