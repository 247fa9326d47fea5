# SPDX-License-Identifier: Apache-2.0
"""five_networks.py - the networks of the benchmark suite, in PyTorch: U-Net, BERT-Large, ResNet-50, Uno and BraggNN.

They are those of the first of the papers (docs/dev/papers.md), with the sizes of data/models. Each function returns what
`capture` expects of a build() function.
"""
import torch
from torch import nn
from torch.nn import functional as F


def _conv_bn(channels, out, kernel, stride=1):
    return nn.Conv2d(channels, out, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(out)


class _Levels(nn.Module):
    """U-Net: pairs of convolutions on five levels, joined across."""

    def __init__(self, width=32, levels=4):
        super().__init__()
        widths = [width << i for i in range(levels + 1)]
        self.down = nn.ModuleList(self._pair(a, b) for a, b in zip([3, *widths], widths))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in reversed(widths[:-1]))
        self.up = nn.ModuleList(self._pair(2 * w, w) for w in reversed(widths[:-1]))
        self.out = nn.Conv2d(width, 1, 1)

    @staticmethod
    def _pair(channels, out):
        return nn.Sequential(*_conv_bn(channels, out, 3), nn.ReLU(True), *_conv_bn(out, out, 3), nn.ReLU(True))

    def forward(self, x):
        kept = []
        for level in self.down:
            x = level(F.max_pool2d(x, 2) if kept else x)
            kept.append(x)
        for grow, pair, left in zip(self.grow, self.up, reversed(kept[:-1])):
            x = pair(torch.cat([grow(x), left], 1))
        return self.out(x)


class _Bottleneck(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.main = nn.Sequential(*_conv_bn(channels, width, 1), nn.ReLU(True), *_conv_bn(width, width, 3, stride), nn.ReLU(True),
                                  *_conv_bn(width, 4 * width, 1))
        same = stride == 1 and channels == 4 * width
        self.side = nn.Identity() if same else nn.Sequential(*_conv_bn(channels, 4 * width, 1, stride))

    def forward(self, x):
        return F.relu(self.main(x) + self.side(x), True)


class _Peaks(nn.Module):
    """BraggNN: convolutions, attention among all pixels, and a pyramid of linear layers."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 64, 3)
        self.queries, self.keys, self.values, self.back = (nn.Conv2d(a, b, 1) for a, b in ((64, 32), (64, 32), (64, 32), (32, 64)))
        self.rest = nn.Sequential(nn.LeakyReLU(0.01), nn.Conv2d(64, 32, 3), nn.LeakyReLU(0.01), nn.Conv2d(32, 8, 3), nn.LeakyReLU(0.01),
                                  nn.Flatten(), nn.Linear(8 * 25, 64), nn.LeakyReLU(0.01), nn.Linear(64, 32), nn.LeakyReLU(0.01),
                                  nn.Linear(32, 16), nn.LeakyReLU(0.01), nn.Linear(16, 8), nn.LeakyReLU(0.01), nn.Linear(8, 2))

    def forward(self, x):
        x = self.first(x)
        a, b, v = (part(x).flatten(2) for part in (self.queries, self.keys, self.values))
        mixed = torch.softmax(a.transpose(1, 2) @ b, -1) @ v.transpose(1, 2)
        return self.rest(x + self.back(mixed.transpose(1, 2).reshape(x.shape[0], 32, *x.shape[2:])))


class _Words(nn.Module):
    """BERT-Large with the head that predicts words."""

    def __init__(self, layers=24, width=1024, heads=16, words=30522, longest=512):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(longest, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.1, "gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        return self.head(self.layers(self.words(tokens) + self.places.weight[:tokens.shape[1]]))


def unet(batch=2):
    return {"model": _Levels(), "inputs": (torch.rand(batch, 3, 256, 256),), "loss": "bce", "optimizer": "adam"}


def resnet50(batch=8):
    blocks = [_Bottleneck(64 if not (i or k) else 4 * (64 << (i - (k == 0))), 64 << i, 2 if i and k == 0 else 1)
              for i, count in enumerate((3, 4, 6, 3)) for k in range(count)]
    model = nn.Sequential(*_conv_bn(3, 64, 7, 2), nn.ReLU(True), nn.MaxPool2d(3, 2, 1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(2048, 1000))
    return {"model": model, "inputs": (torch.rand(batch, 3, 224, 224),), "loss": "cross-entropy", "optimizer": "momentum"}


def bert_large(batch=2, length=128):
    return {"model": _Words(), "inputs": (torch.randint(30522, (batch, length)),), "loss": "cross-entropy", "optimizer": "adamw"}


def uno(batch=32):
    """The layers that take drug response, gene expression and two sets of descriptors, joined."""
    class Uno(nn.Module):
        def __init__(self):
            super().__init__()
            sizes = (942, 5270, 2048)
            self.towers = nn.ModuleList(nn.Sequential(nn.Linear(n, 1000), nn.ReLU(), nn.Linear(1000, 1000), nn.ReLU(),
                                                      nn.Linear(1000, 1000), nn.ReLU()) for n in sizes)
            self.joined = nn.Sequential(nn.Linear(3001, 1000), nn.ReLU(), *(m for _ in range(4) for m in (nn.Linear(1000, 1000), nn.ReLU())),
                                        nn.Linear(1000, 1))

        def forward(self, dose, *parts):
            return self.joined(torch.cat([dose, *(tower(x) for tower, x in zip(self.towers, parts))], 1))
    inputs = (torch.rand(batch, 1), torch.rand(batch, 942), torch.rand(batch, 5270), torch.rand(batch, 2048))
    return {"model": Uno(), "inputs": inputs, "loss": "mse", "optimizer": "sgd"}


def braggnn(batch=512):
    return {"model": _Peaks(), "inputs": (torch.rand(batch, 1, 11, 11),), "loss": "mse", "optimizer": "adam"}


ALL = (braggnn, uno, unet, resnet50, bert_large)
