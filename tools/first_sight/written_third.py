# SPDX-License-Identifier: Apache-2.0
"""written_third.py - a third set of networks as people write them, none of which was run before its prediction.

Each function returns a module, a function of the batch size that makes the inputs, and the name of the loss.
"""
import torch
import torch.nn.functional as F
from torch import nn


def diffusion_transformer():
    """Blocks whose norms are scaled and shifted by an embedding of the time step."""
    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.n1, self.n2 = (nn.LayerNorm(width, elementwise_affine=False) for _ in range(2))
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))
            self.change = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

        def forward(self, x, c):
            a, b, g, d, e, h = self.change(c).unsqueeze(1).chunk(6, -1)
            q, k, v = self.qkv(self.n1(x) * (1 + a) + b).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            x = x + g * self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
            return x + h * self.mlp(self.n2(x) * (1 + d) + e)

    class Net(nn.Module):
        def __init__(self, width=576, heads=9, depth=6):
            super().__init__()
            self.put, self.place = nn.Conv2d(4, width, 2, 2), nn.Parameter(torch.zeros(1, 256, width))
            self.time = nn.Sequential(nn.Linear(128, width), nn.SiLU(), nn.Linear(width, width))
            self.body = nn.ModuleList(Block(width, heads) for _ in range(depth))
            self.norm, self.take = nn.LayerNorm(width), nn.Linear(width, 16)

        def forward(self, image, time):
            x, c = self.put(image).flatten(2).transpose(1, 2) + self.place, self.time(time)
            for block in self.body:
                x = block(x, c)
            return self.take(self.norm(x))
    return Net(), lambda b: (torch.zeros(b, 4, 32, 32), torch.zeros(b, 128)), "mse"


def dense_prediction():
    """An encoder with dilated filters and a pyramid of pooled features."""
    def unit(i, o, k=3, s=1, d=1):
        return nn.Sequential(nn.Conv2d(i, o, k, s, d * (k // 2), d, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(unit(3, 48, 3, 2), unit(48, 64), unit(64, 128, 3, 2), unit(128, 128), unit(128, 256, 3, 2),
                                      unit(256, 256, d=2), unit(256, 256, d=4))
            self.pools = nn.ModuleList(nn.Sequential(nn.AdaptiveAvgPool2d(n), unit(256, 64, 1)) for n in (1, 2, 4))
            self.head = nn.Sequential(unit(256 + 192, 128), nn.Dropout2d(0.1), nn.Conv2d(128, 19, 1))

        def forward(self, x):
            y = self.body(x)
            spread = [F.interpolate(p(y), y.shape[2:], mode="bilinear", align_corners=False) for p in self.pools]
            return F.interpolate(self.head(torch.cat([y, *spread], 1)), x.shape[2:], mode="bilinear", align_corners=False)
    return Net(), lambda b: torch.zeros(b, 3, 256, 512), "cross-entropy"


def conformer():
    """Speech blocks: half a feed-forward layer, attention, a depthwise filter over time, half a feed-forward layer."""
    def dense(width):
        return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Dropout(0.1), nn.Linear(4 * width, width))

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.first, self.last, self.norm = dense(width), dense(width), nn.LayerNorm(width)
            self.n1, self.attention = nn.LayerNorm(width), nn.MultiheadAttention(width, heads, 0.1, batch_first=True)
            self.n2, self.put = nn.LayerNorm(width), nn.Conv1d(width, 2 * width, 1)
            self.along = nn.Conv1d(width, width, 31, padding=15, groups=width)
            self.after, self.take = nn.BatchNorm1d(width), nn.Conv1d(width, width, 1)

        def forward(self, x):
            x = x + 0.5 * self.first(x)
            y = self.n1(x)
            x = x + self.attention(y, y, y, need_weights=False)[0]
            y = F.glu(self.put(self.n2(x).transpose(1, 2)), 1)
            x = x + self.take(F.silu(self.after(self.along(y)))).transpose(1, 2)
            return self.norm(x + 0.5 * self.last(x))

    class Net(nn.Module):
        def __init__(self, width=320, heads=5, depth=6):
            super().__init__()
            self.put = nn.Sequential(nn.Conv2d(1, 64, 3, 2), nn.ReLU(), nn.Conv2d(64, 64, 3, 2), nn.ReLU())
            self.join, self.body = nn.Linear(64 * 19, width), nn.Sequential(*(Block(width, heads) for _ in range(depth)))
            self.head = nn.Linear(width, 1000)

        def forward(self, x):
            x = self.put(x.unsqueeze(1))
            return self.head(self.body(self.join(x.transpose(1, 2).flatten(2))))
    return Net(), lambda b: torch.zeros(b, 640, 80), "cross-entropy"


def two_tower():
    """Pictures and words, compared with each other."""
    class Net(nn.Module):
        def __init__(self, width=256):
            super().__init__()
            steps = ((3, 32), (32, 64), (64, 128), (128, width))
            self.image = nn.Sequential(*(nn.Sequential(nn.Conv2d(i, o, 4, 2, 1), nn.GroupNorm(8, o), nn.GELU()) for i, o in steps))
            self.words = nn.Embedding(20000, width)
            layer = nn.TransformerEncoderLayer(width, 4, 1024, 0.0, batch_first=True)
            self.text = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
            self.scale = nn.Parameter(torch.tensor(2.6))

        def forward(self, picture, words):
            a = F.normalize(self.image(picture).mean((2, 3)), dim=-1)
            b = F.normalize(self.text(self.words(words)).mean(1), dim=-1)
            return self.scale.exp() * a @ b.t()
    return Net(), lambda b: (torch.zeros(b, 3, 192, 192), torch.zeros(b, 48, dtype=torch.int64)), "mse"


def gated_video():
    """Filters over space and time apart, with gates by channel."""
    class Block(nn.Module):
        def __init__(self, i, o, stride):
            super().__init__()
            self.space = nn.Conv3d(i, o, (1, 3, 3), (1, stride, stride), (0, 1, 1), bias=False)
            self.time = nn.Conv3d(o, o, (3, 1, 1), padding=(1, 0, 0), bias=False)
            self.n1, self.n2, self.gate = nn.BatchNorm3d(o), nn.BatchNorm3d(o), nn.Linear(o, o)

        def forward(self, x):
            y = F.relu(self.n2(self.time(F.relu(self.n1(self.space(x))))))
            return y * torch.sigmoid(self.gate(y.mean((2, 3, 4))))[..., None, None, None]

    def net(widths=(3, 32, 64, 128, 256)):
        blocks = [Block(i, o, 2) for i, o in zip(widths, widths[1:])]
        return nn.Sequential(*blocks, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(widths[-1], 101))
    return net(), lambda b: torch.zeros(b, 3, 12, 128, 128), "cross-entropy"


def recurrent_attention():
    """A two-way GRU whose states are weighted by learned attention."""
    class Net(nn.Module):
        def __init__(self, width=384):
            super().__init__()
            self.words = nn.Embedding(30000, 256)
            self.body = nn.GRU(256, width, 2, batch_first=True, bidirectional=True, dropout=0.1)
            self.score = nn.Sequential(nn.Linear(2 * width, 128), nn.Tanh(), nn.Linear(128, 1))
            self.head = nn.Linear(2 * width, 20)

        def forward(self, words):
            x, _ = self.body(self.words(words))
            return self.head((x * self.score(x).softmax(1)).sum(1))
    return Net(), lambda b: torch.zeros(b, 160, dtype=torch.int64), "cross-entropy"


def climate():
    """Blocks of depthwise filters and dense layers over channels on a grid, with residuals in fp32."""
    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.filter, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width, padding_mode="circular"), nn.LayerNorm(width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.scale = nn.Parameter(torch.full((width,), 1e-2))

        def forward(self, x):
            y = self.norm(self.filter(x).permute(0, 2, 3, 1))
            return x + (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)

    def net(width=160):
        return nn.Sequential(nn.Conv2d(26, width, 3, padding=1), *(Block(width) for _ in range(6)), nn.Conv2d(width, 24, 1))
    return net(), lambda b: torch.zeros(b, 26, 64, 128), "mse"


def byte_language():
    """Convolutions over bytes shorten the text, attention reads it, transposed convolutions lengthen it again."""
    class Net(nn.Module):
        def __init__(self, width=448):
            super().__init__()
            self.put, self.shrink = nn.Embedding(256, width), nn.Conv1d(width, width, 4, 4)
            layer = nn.TransformerEncoderLayer(width, 7, 1792, 0.1, "gelu", batch_first=True, norm_first=True)
            self.body = nn.TransformerEncoder(layer, 5, enable_nested_tensor=False)
            self.grow, self.head = nn.ConvTranspose1d(width, width, 4, 4), nn.Linear(width, 256)

        def forward(self, bytes_):
            x = self.put(bytes_)
            y = self.body(self.shrink(x.transpose(1, 2)).transpose(1, 2))
            return self.head(x + self.grow(y.transpose(1, 2)).transpose(1, 2))
    return Net(), lambda b: torch.zeros(b, 2048, dtype=torch.int64), "cross-entropy"


NETWORKS = {f.__name__: f for f in (diffusion_transformer, dense_prediction, conformer, two_tower,
                                    gated_video, recurrent_attention, climate, byte_language)}
