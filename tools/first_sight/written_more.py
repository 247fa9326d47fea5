# SPDX-License-Identifier: Apache-2.0
"""written_more.py - a second set of networks as people write them, none of which was run before its prediction.

Each function returns a module, a function of the batch size that makes the inputs, and the name of the loss.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn


def perceiver():
    """Few latent vectors read a long input by cross-attention."""
    class Net(nn.Module):
        def __init__(self, width=384, latents=128, heads=6):
            super().__init__()
            self.put, self.latent = nn.Linear(35, width), nn.Parameter(torch.randn(latents, width) * 0.02)
            self.cross = nn.MultiheadAttention(width, heads, batch_first=True)
            layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            self.body, self.head = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), nn.Linear(width, 100)

        def forward(self, x):
            x = self.put(x)
            z = self.latent.expand(len(x), -1, -1)
            z = z + self.cross(z, x, x, need_weights=False)[0]
            return self.head(self.body(z).mean(1))
    return Net(), lambda b: torch.zeros(b, 2304, 35), "cross-entropy"


def mixer():
    """Dense layers over patches and over channels in turn."""
    class Mix(nn.Module):
        def __init__(self, patches, width):
            super().__init__()
            self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.across = nn.Sequential(nn.Linear(patches, 320), nn.GELU(), nn.Linear(320, patches))
            self.along = nn.Sequential(nn.Linear(width, 3 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(3 * width, width))

        def forward(self, x):
            x = x + self.across(self.n1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.along(self.n2(x))

    class Net(nn.Module):
        def __init__(self, width=416):
            super().__init__()
            self.patch = nn.Conv2d(3, width, 12, 12)
            self.body = nn.Sequential(*(Mix(256, width) for _ in range(7)))
            self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 200))

        def forward(self, x):
            return self.head(self.body(self.patch(x).flatten(2).transpose(1, 2)).mean(1))
    return Net(), lambda b: torch.zeros(b, 3, 192, 192), "cross-entropy"


def frames():
    """Convolutional gated recurrence over radar frames."""
    class Cell(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.gates, self.new, self.o = nn.Conv2d(i + o, 2 * o, 5, padding=2), nn.Conv2d(i + o, o, 5, padding=2), o

        def forward(self, x, h):
            r, z = torch.sigmoid(self.gates(torch.cat([x, h], 1))).chunk(2, 1)
            return (1 - z) * h + z * torch.tanh(self.new(torch.cat([x, r * h], 1)))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.put, self.cell, self.get = nn.Conv2d(1, 24, 3, 2, 1), Cell(24, 56), nn.ConvTranspose2d(56, 1, 4, 2, 1)

        def forward(self, x):
            h, out = x.new_zeros(x.shape[0], 56, x.shape[3] // 2, x.shape[4] // 2), []
            for n in range(x.shape[1]):
                h = self.cell(F.leaky_relu(self.put(x[:, n]), 0.2), h)
                out.append(self.get(h))
            return torch.stack(out, 1)
    return Net(), lambda b: torch.zeros(b, 8, 1, 96, 96), "mse"


def flow():
    """Affine coupling layers of a normalising flow on images."""
    class Couple(nn.Module):
        def __init__(self, c, width=144):
            super().__init__()
            self.f = nn.Sequential(nn.Conv2d(c // 2, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 1), nn.ReLU(),
                                   nn.Conv2d(width, c, 3, padding=1))
            self.turn = nn.Parameter(torch.eye(c))

        def forward(self, x):
            x = F.conv2d(x, self.turn[:, :, None, None])
            a, b = x.chunk(2, 1)
            s, t = self.f(a).chunk(2, 1)
            s = torch.sigmoid(s + 2)
            return torch.cat([a, b * s + t], 1), torch.log(s).sum((1, 2, 3))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = nn.ModuleList(Couple(12) for _ in range(10))

        def forward(self, x):
            x, total = F.pixel_unshuffle(x, 2), 0
            for step in self.steps:
                x, d = step(x)
                total = total + d
            return (0.5 * x.pow(2).sum((1, 2, 3)) - total) / x[0].numel()
    return Net(), lambda b: torch.zeros(b, 3, 40, 40), "mse"


def codebook():
    """An autoencoder whose middle is the nearest entry of a codebook."""
    class Res(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.f = nn.Sequential(nn.ReLU(), nn.Conv2d(c, c // 2, 3, padding=1), nn.ReLU(), nn.Conv2d(c // 2, c, 1))

        def forward(self, x):
            return x + self.f(x)

    class Net(nn.Module):
        def __init__(self, c=160, entries=768, width=64):
            super().__init__()
            self.put = nn.Sequential(nn.Conv2d(3, c // 2, 4, 2, 1), nn.ReLU(), nn.Conv2d(c // 2, c, 4, 2, 1), Res(c), Res(c), nn.Conv2d(c, width, 1))
            self.book = nn.Embedding(entries, width)
            self.get = nn.Sequential(nn.Conv2d(width, c, 3, padding=1), Res(c), Res(c), nn.ReLU(), nn.ConvTranspose2d(c, c // 2, 4, 2, 1),
                                     nn.ReLU(), nn.ConvTranspose2d(c // 2, 3, 4, 2, 1))

        def forward(self, x):
            z = self.put(x).permute(0, 2, 3, 1)
            flat = z.reshape(-1, z.shape[-1])
            d = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.book.weight.t() + self.book.weight.pow(2).sum(1)
            q = self.book(d.argmin(1)).view_as(z)
            q = z + (q - z).detach()
            return self.get(q.permute(0, 3, 1, 2))
    return Net(), lambda b: torch.zeros(b, 3, 112, 112), "mse"


def hourglass():
    """Stacked hourglasses for key points."""
    def unit(i, o):
        return nn.Sequential(nn.BatchNorm2d(i), nn.ReLU(), nn.Conv2d(i, o // 2, 1, bias=False), nn.BatchNorm2d(o // 2), nn.ReLU(),
                             nn.Conv2d(o // 2, o // 2, 3, padding=1, bias=False), nn.BatchNorm2d(o // 2), nn.ReLU(), nn.Conv2d(o // 2, o, 1, bias=False))

    class Glass(nn.Module):
        def __init__(self, c, depth):
            super().__init__()
            self.side, self.down, self.up = unit(c, c), unit(c, c), unit(c, c)
            self.inner = Glass(c, depth - 1) if depth > 1 else unit(c, c)

        def forward(self, x):
            y = F.max_pool2d(x, 2)
            y = y + self.down(y)
            y = self.inner(y)
            y = y + self.up(y)
            return x + self.side(x) + F.interpolate(y, scale_factor=2)

    class Net(nn.Module):
        def __init__(self, c=176):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 48, 7, 2, 3), nn.BatchNorm2d(48), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(48, c, 1))
            self.glasses, self.heads = nn.ModuleList(Glass(c, 3) for _ in range(2)), nn.ModuleList(nn.Conv2d(c, 17, 1) for _ in range(2))

        def forward(self, x):
            x, out = self.stem(x), []
            for glass, head in zip(self.glasses, self.heads):
                x = glass(x)
                out.append(head(x))
            return torch.stack(out, 1)
    return Net(), lambda b: torch.zeros(b, 3, 224, 224), "mse"


def attention_gates():
    """A U-Net for slices of volumes whose skips are weighted by a gate."""
    def pair(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.InstanceNorm2d(o, affine=True), nn.LeakyReLU(0.01),
                             nn.Conv2d(o, o, 3, padding=1), nn.InstanceNorm2d(o, affine=True), nn.LeakyReLU(0.01))

    class Net(nn.Module):
        def __init__(self, widths=(20, 40, 80, 160)):
            super().__init__()
            w = list(widths)
            self.down = nn.ModuleList(pair(i, o) for i, o in zip([4] + w, w))
            self.up = nn.ModuleList(nn.ConvTranspose2d(i, o, 2, 2) for i, o in zip(w[:0:-1], w[-2::-1]))
            self.join = nn.ModuleList(pair(2 * o, o) for o in w[-2::-1])
            self.gate = nn.ModuleList(nn.Sequential(nn.Conv2d(2 * o, o // 2, 1), nn.ReLU(), nn.Conv2d(o // 2, 1, 1), nn.Sigmoid()) for o in w[-2::-1])
            self.head = nn.Conv2d(w[0], 4, 1)

        def forward(self, x):
            kept = []
            for n, f in enumerate(self.down):
                x = f(F.max_pool2d(x, 2) if n else x)
                kept.append(x)
            kept.pop()
            for up, join, gate in zip(self.up, self.join, self.gate):
                x, k = up(x), kept.pop()
                x = join(torch.cat([x, k * gate(torch.cat([x, k], 1))], 1))
            return self.head(x)
    return Net(), lambda b: torch.zeros(b, 4, 160, 160), "cross-entropy"


def graph_attention():
    """Attention over the edges of a graph, normalised by node."""
    class Layer(nn.Module):
        def __init__(self, i, o, heads):
            super().__init__()
            self.f, self.heads = nn.Linear(i, heads * o), heads
            self.a, self.b = nn.Parameter(torch.randn(heads, o)), nn.Parameter(torch.randn(heads, o))

        def forward(self, x, source, target):
            h = self.f(x).view(len(x), self.heads, -1)
            e = F.leaky_relu((h * self.a).sum(-1)[source] + (h * self.b).sum(-1)[target], 0.2).exp()
            total = torch.zeros(len(x), self.heads, dtype=e.dtype, device=e.device).index_add_(0, target, e)
            m = h[source] * (e / (total[target] + 1e-9))[..., None]
            return torch.zeros(h.shape, dtype=m.dtype, device=m.device).index_add_(0, target, m).flatten(1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.head = nn.ModuleList([Layer(64, 32, 8), Layer(256, 32, 8), Layer(256, 32, 8)]), nn.Linear(256, 40)

        def forward(self, x, source, target):
            x = x.flatten(0, 1)
            source, target = source.flatten(), target.flatten()
            for layer in self.layers:
                x = F.elu(layer(x, source, target))
            return self.head(x)

    def inputs(b):
        return torch.zeros(b, 256, 64), torch.zeros(b, 2048, dtype=torch.int64), torch.zeros(b, 2048, dtype=torch.int64)
    return Net(), inputs, "cross-entropy"


def physics():
    """A dense field whose residual needs the derivative by its inputs, taken here by finite differences."""
    class Net(nn.Module):
        def __init__(self, width=320):
            super().__init__()
            sizes = [3] + [width] * 5
            self.f = nn.Sequential(*(m for i, o in zip(sizes, sizes[1:]) for m in (nn.Linear(i, o), nn.Tanh())), nn.Linear(width, 2))

        def forward(self, x):
            h = 1e-2
            u = self.f(x)
            sides = [self.f(x + h * torch.eye(3, device=x.device, dtype=x.dtype)[k]) for k in range(3)]
            return torch.cat([u] + [(s - u) / h for s in sides], 1)
    return Net(), lambda b: torch.zeros(b, 3), "mse"


def twin():
    """Two images through one network, compared by their embeddings."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            def unit(i, o, s):
                return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.PReLU(o))
            self.body = nn.Sequential(unit(3, 48, 2), unit(48, 72, 2), unit(72, 72, 1), unit(72, 144, 2), unit(144, 144, 1), unit(144, 288, 2))
            self.head = nn.Linear(288, 128)

        def embed(self, x):
            return F.normalize(self.head(self.body(x).mean((2, 3))), dim=-1)

        def forward(self, a, b):
            return self.embed(a) @ self.embed(b).t() / 0.07
    return Net(), lambda b: (torch.zeros(b, 3, 128, 128), torch.zeros(b, 3, 128, 128)), "cross-entropy"


def forecast():
    """Gated residual networks, an LSTM and attention over past and future of several series."""
    class Gated(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.a, self.b, self.n = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.LayerNorm(width)

        def forward(self, x):
            return self.n(x + F.glu(self.b(F.elu(self.a(x)))))

    class Net(nn.Module):
        def __init__(self, width=160, series=24):
            super().__init__()
            self.put, self.select = nn.Linear(series, width), nn.Linear(series, series)
            self.rnn, self.g1, self.g2, self.g3 = nn.LSTM(width, width, 1, batch_first=True), Gated(width), Gated(width), Gated(width)
            self.attend, self.head = nn.MultiheadAttention(width, 4, dropout=0.1, batch_first=True), nn.Linear(width, 3)

        def forward(self, x):
            h = self.g1(self.put(x * self.select(x).softmax(-1)))
            h = self.g2(self.rnn(h)[0])
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
            h = self.g3(h + self.attend(h, h, h, attn_mask=mask, need_weights=False)[0])
            return self.head(h[:, -24:])
    return Net(), lambda b: torch.zeros(b, 192, 24), "mse"


def linear_attention():
    """A language model whose attention is a product of feature maps, summed along the sequence in chunks."""
    class Attend(nn.Module):
        def __init__(self, width, heads, chunk=64):
            super().__init__()
            self.qkv, self.o, self.heads, self.chunk = nn.Linear(width, 3 * width), nn.Linear(width, width), heads, chunk

        def forward(self, x):
            b, n, w = x.shape
            q, k, v = self.qkv(x).view(b, n // self.chunk, self.chunk, 3, self.heads, -1).permute(3, 0, 4, 1, 2, 5).unbind(0)
            q, k = F.elu(q) + 1, F.elu(k) + 1
            state = (k.transpose(-1, -2) @ v).cumsum(2)
            before = torch.cat([torch.zeros_like(state[:, :, :1]), state[:, :, :-1]], 2)
            inside = (q @ k.transpose(-1, -2)).tril() @ v
            return self.o((q @ before + inside).permute(0, 2, 3, 1, 4).reshape(b, n, w))

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.n1, self.n2, self.a = nn.LayerNorm(width), nn.LayerNorm(width), Attend(width, heads)
            self.f = nn.Sequential(nn.Linear(width, 3 * width), nn.SiLU(), nn.Linear(3 * width, width))

        def forward(self, x):
            x = x + self.a(self.n1(x))
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, width=448, heads=7, vocab=16000):
            super().__init__()
            self.embed, self.blocks = nn.Embedding(vocab, width), nn.Sequential(*(Block(width, heads) for _ in range(5)))
            self.head = nn.Linear(width, vocab, bias=False)

        def forward(self, x):
            return self.head(self.blocks(self.embed(x)))
    return Net(), lambda b: torch.zeros(b, 512, dtype=torch.int64), "cross-entropy"


def sparse_mlp():
    """A wide ranking model: hashed embeddings, low-rank crosses, a tower per task."""
    class Net(nn.Module):
        def __init__(self, fields=32, rows=40000, width=24):
            super().__init__()
            self.table, total = nn.Embedding(fields * rows, width), fields * width
            self.register_buffer("shift", torch.arange(fields) * rows, persistent=False)
            self.low, self.high = nn.ModuleList(nn.Linear(total, 128, bias=False) for _ in range(3)), nn.ModuleList(nn.Linear(128, total) for _ in range(3))
            self.towers = nn.ModuleList(nn.Sequential(nn.Linear(total, 384), nn.ReLU(), nn.Dropout(0.2), nn.Linear(384, 96), nn.ReLU(), nn.Linear(96, 1)) for _ in range(3))

        def forward(self, x):
            first = self.table(x % 40000 + self.shift).flatten(1)
            y = first
            for low, high in zip(self.low, self.high):
                y = y + first * high(low(y))
            return torch.cat([tower(y) for tower in self.towers], 1)
    return Net(), lambda b: torch.zeros(b, 32, dtype=torch.int64), "mse"


def spectrum():
    """Separation of sound in the time-frequency plane: short-time transform, bidirectional layers, masks."""
    class Net(nn.Module):
        def __init__(self, n=512, width=300):
            super().__init__()
            self.n, bins = n, n // 2 + 1
            self.register_buffer("window", torch.hann_window(n), persistent=False)
            self.norm, self.rnn = nn.LayerNorm(bins), nn.GRU(bins, width, 2, batch_first=True, bidirectional=True)
            self.mask = nn.Linear(2 * width, 2 * bins)

        def forward(self, x):
            frames = x.unfold(1, self.n, self.n // 2) * self.window
            loud = torch.fft.rfft(frames.float()).abs()
            h = self.rnn(self.norm(torch.log1p(loud)))[0]
            masks = torch.sigmoid(self.mask(h)).chunk(2, -1)
            return torch.stack([m * loud for m in masks], 1)
    return Net(), lambda b: torch.zeros(b, 32768), "mse"


def agent():
    """A player of video games: three convolutions, a dense layer, value and policy."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(),
                                      nn.Flatten(), nn.Linear(3136, 512), nn.ReLU())
            self.policy, self.value = nn.Linear(512, 18), nn.Linear(512, 1)

        def forward(self, x):
            h = self.body(x / 255.0)
            return F.log_softmax(self.policy(h), -1) + self.value(h)
    return Net(), lambda b: torch.zeros(b, 4, 84, 84), "mse"


def sinusoidal_codec():
    """A causal sound codec: strided 1-D convolutions with weight norm and ELU, residual quantisers left out."""
    from torch.nn.utils.parametrizations import weight_norm

    class Res(nn.Module):
        def __init__(self, c, d):
            super().__init__()
            self.pad, self.a, self.b = 2 * d, weight_norm(nn.Conv1d(c, c // 2, 3, dilation=d)), weight_norm(nn.Conv1d(c // 2, c, 1))

        def forward(self, x):
            return x + self.b(F.elu(self.a(F.pad(F.elu(x), (self.pad, 0)))))

    class Net(nn.Module):
        def __init__(self, c=28):
            super().__init__()
            down, up = [weight_norm(nn.Conv1d(1, c, 7, padding=3))], []
            for s in (2, 4, 5):
                down += [Res(c, 1), Res(c, 3), nn.ELU(), weight_norm(nn.Conv1d(c, 2 * c, 2 * s, s, math.ceil(s / 2)))]
                c *= 2
            for s in (5, 4, 2):
                up += [nn.ELU(), weight_norm(nn.ConvTranspose1d(c, c // 2, 2 * s, s, math.ceil(s / 2), s % 2)), Res(c // 2, 1), Res(c // 2, 3)]
                c //= 2
            self.down, self.up = nn.Sequential(*down), nn.Sequential(*up, weight_norm(nn.Conv1d(c, 1, 7, padding=3)))

        def forward(self, x):
            return self.up(self.down(x))
    return Net(), lambda b: torch.zeros(b, 1, 16000), "mse"


NETWORKS = {f.__name__: f for f in (
    perceiver, mixer, frames, flow, codebook, hourglass, attention_gates, graph_attention, physics, twin, forecast,
    linear_attention, sparse_mlp, spectrum, agent, sinusoidal_codec)}
