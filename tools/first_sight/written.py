# SPDX-License-Identifier: Apache-2.0
"""written.py - networks as people write them for a project: generative models, signals, points, control, science.

Each function returns a module, a function of the batch size that makes the inputs, and the name of the loss.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn


def diffusion_unet():
    """A denoising U-Net with time embedding, group norm, SiLU and attention at the lowest level."""
    class Res(nn.Module):
        def __init__(self, i, o, t):
            super().__init__()
            self.n1, self.c1, self.t = nn.GroupNorm(32, i), nn.Conv2d(i, o, 3, padding=1), nn.Linear(t, o)
            self.n2, self.c2 = nn.GroupNorm(32, o), nn.Conv2d(o, o, 3, padding=1)
            self.skip = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

        def forward(self, x, t):
            y = self.c1(F.silu(self.n1(x))) + self.t(F.silu(t))[:, :, None, None]
            return self.c2(F.silu(self.n2(y))) + self.skip(x)

    class Attend(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.n, self.qkv, self.o = nn.GroupNorm(32, c), nn.Conv2d(c, 3 * c, 1), nn.Conv2d(c, c, 1)

        def forward(self, x):
            b, c, h, w = x.shape
            q, k, v = self.qkv(self.n(x)).reshape(b, 3, 4, c // 4, h * w).transpose(-1, -2).unbind(1)
            return x + self.o(F.scaled_dot_product_attention(q, k, v).transpose(-1, -2).reshape(b, c, h, w))

    class Net(nn.Module):
        def __init__(self, base=96, widths=(1, 2, 3)):
            super().__init__()
            t, w = 4 * base, [base * m for m in widths]
            self.base, self.time = base, nn.Sequential(nn.Linear(base, t), nn.SiLU(), nn.Linear(t, t))
            self.first, self.last = nn.Conv2d(3, base, 3, padding=1), nn.Conv2d(base, 3, 3, padding=1)
            self.down = nn.ModuleList(Res(i, o, t) for i, o in zip([base] + w, w))
            self.shrink = nn.ModuleList(nn.Conv2d(o, o, 3, 2, 1) for o in w[:-1])
            self.mid = nn.ModuleList([Res(w[-1], w[-1], t), Res(w[-1], w[-1], t)])
            self.attend = Attend(w[-1])
            self.up = nn.ModuleList(Res(i + o, o, t) for i, o in zip([w[-1]] + w[:0:-1], w[::-1]))

        def forward(self, x, step):
            angles = step[:, None] * torch.exp(-math.log(1e4) * torch.arange(self.base // 2, device=x.device) / (self.base // 2))
            t = self.time(torch.cat([angles.sin(), angles.cos()], 1).to(x.dtype))
            x, kept = self.first(x), []
            for n, block in enumerate(self.down):
                x = block(x, t)
                kept.append(x)
                if n < len(self.shrink):
                    x = self.shrink[n](x)
            x = self.mid[1](self.attend(self.mid[0](x, t)), t)
            for n, block in enumerate(self.up):
                x = block(torch.cat([x, kept.pop()], 1), t)
                if n + 1 < len(self.up):
                    x = F.interpolate(x, scale_factor=2)
            return self.last(x)
    return Net(), lambda b: (torch.zeros(b, 3, 64, 64), torch.zeros(b)), "mse"


def autoencoder():
    """A variational autoencoder of images."""
    class Net(nn.Module):
        def __init__(self, z=128):
            super().__init__()
            w = (3, 32, 64, 128, 256)
            self.enc = nn.Sequential(*(nn.Sequential(nn.Conv2d(i, o, 3, 2, 1), nn.BatchNorm2d(o), nn.LeakyReLU())
                                       for i, o in zip(w, w[1:])))
            self.mu, self.var, self.start = nn.Linear(4096, z), nn.Linear(4096, z), nn.Linear(z, 4096)
            self.dec = nn.Sequential(*(nn.Sequential(nn.ConvTranspose2d(i, o, 3, 2, 1, 1), nn.BatchNorm2d(o), nn.LeakyReLU())
                                       for i, o in zip(w[:0:-1], (128, 64, 32, 32))), nn.Conv2d(32, 3, 3, padding=1), nn.Tanh())

        def forward(self, x):
            y = self.enc(x).flatten(1)
            mu, var = self.mu(y), self.var(y)
            z = mu + torch.randn_like(mu) * (0.5 * var).exp()
            return self.dec(self.start(z).view(-1, 256, 4, 4))
    return Net(), lambda b: torch.zeros(b, 3, 64, 64), "mse"


def discriminator():
    w = (3, 64, 128, 256, 512)
    body = [nn.Sequential(nn.Conv2d(i, o, 4, 2, 1, bias=False), nn.InstanceNorm2d(o, affine=True), nn.LeakyReLU(0.2))
            for i, o in zip(w, w[1:])]
    return nn.Sequential(*body, nn.Conv2d(512, 1, 4, padding=1)), lambda b: torch.zeros(b, 3, 256, 256), "bce"


def super_resolution():
    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.ReLU(True), nn.Conv2d(c, c, 3, padding=1))

        def forward(self, x):
            return x + 0.1 * self.body(x)
    c = 64
    net = nn.Sequential(nn.Conv2d(3, c, 3, padding=1), *(Block(c) for _ in range(16)), nn.Conv2d(c, 4 * c, 3, padding=1),
                        nn.PixelShuffle(2), nn.Conv2d(c, 3, 3, padding=1))
    return net, lambda b: torch.zeros(b, 3, 96, 96), "mse"


def wavenet():
    class Net(nn.Module):
        def __init__(self, c=64, skip=128):
            super().__init__()
            self.first = nn.Conv1d(1, c, 1)
            dilations = [2 ** n for n in range(8)] * 2
            self.gates = nn.ModuleList(nn.Conv1d(c, 2 * c, 2, dilation=d) for d in dilations)
            self.res = nn.ModuleList(nn.Conv1d(c, c, 1) for _ in dilations)
            self.skip = nn.ModuleList(nn.Conv1d(c, skip, 1) for _ in dilations)
            self.out = nn.Sequential(nn.ReLU(), nn.Conv1d(skip, skip, 1), nn.ReLU(), nn.Conv1d(skip, 256, 1))
            self.dilations = dilations

        def forward(self, x):
            x, total = self.first(x), 0
            for gate, res, skip, d in zip(self.gates, self.res, self.skip, self.dilations):
                a, b = gate(F.pad(x, (d, 0))).chunk(2, 1)
                y = torch.tanh(a) * torch.sigmoid(b)
                total = total + skip(y)
                x = x + res(y)
            return self.out(total)
    return Net(), lambda b: torch.zeros(b, 1, 8192), "cross-entropy"


def temporal_convolutions():
    class Block(nn.Module):
        def __init__(self, i, o, d):
            super().__init__()
            self.pad = 2 * d
            self.c1 = nn.utils.parametrizations.weight_norm(nn.Conv1d(i, o, 3, padding=self.pad, dilation=d))
            self.c2 = nn.utils.parametrizations.weight_norm(nn.Conv1d(o, o, 3, padding=self.pad, dilation=d))
            self.skip, self.drop = nn.Conv1d(i, o, 1) if i != o else nn.Identity(), nn.Dropout(0.1)

        def forward(self, x):
            y = self.drop(F.relu(self.c1(x)[:, :, :-self.pad]))
            y = self.drop(F.relu(self.c2(y)[:, :, :-self.pad]))
            return F.relu(y + self.skip(x))
    net = nn.Sequential(*(Block(88 if n == 0 else 150, 150, 2 ** n) for n in range(5)), nn.Conv1d(150, 88, 1))
    return net, lambda b: torch.zeros(b, 88, 300), "mse"


def point_net():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            w = (3, 64, 128, 256, 1024)
            self.points = nn.Sequential(*(nn.Sequential(nn.Conv1d(i, o, 1), nn.BatchNorm1d(o), nn.ReLU()) for i, o in zip(w, w[1:])))
            self.head = nn.Sequential(nn.Linear(1024, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Dropout(0.3), nn.Linear(512, 40))

        def forward(self, x):
            return self.head(self.points(x).max(2)[0])
    return Net(), lambda b: torch.zeros(b, 3, 2048), "cross-entropy"


def radiance_field():
    class Net(nn.Module):
        def __init__(self, width=256):
            super().__init__()
            self.a = nn.ModuleList(nn.Linear(63 if n == 0 else width + 63 if n == 5 else width, width) for n in range(8))
            self.sigma, self.feature = nn.Linear(width, 1), nn.Linear(width, width)
            self.colour = nn.Sequential(nn.Linear(width + 27, 128), nn.ReLU(), nn.Linear(128, 3))

        def code(self, x, n):
            waves = [f(x * 2.0 ** k) for k in range(n) for f in (torch.sin, torch.cos)]
            return torch.cat([x] + waves, -1)

        def forward(self, x, d):
            p = self.code(x, 10)
            y = p
            for n, layer in enumerate(self.a):
                y = F.relu(layer(torch.cat([y, p], -1) if n == 5 else y))
            colour = torch.sigmoid(self.colour(torch.cat([self.feature(y), self.code(d, 4)], -1)))
            alpha = 1 - torch.exp(-F.relu(self.sigma(y)) * 0.02)
            seen = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
            return (alpha * seen * colour).sum(1)
    return Net(), lambda b: (torch.zeros(b, 64, 3), torch.zeros(b, 64, 3)), "mse"


def translator():
    class Net(nn.Module):
        def __init__(self, vocab=16000, width=512):
            super().__init__()
            self.source, self.target = nn.Embedding(vocab, width), nn.Embedding(vocab, width)
            self.body, self.head = nn.Transformer(width, 8, 4, 4, 2048, batch_first=True), nn.Linear(width, vocab)

        def forward(self, s, t):
            mask = nn.Transformer.generate_square_subsequent_mask(t.shape[1], device=t.device)
            return self.head(self.body(self.source(s), self.target(t), tgt_mask=mask))
    return Net(), lambda b: (torch.zeros(b, 96, dtype=torch.int64), torch.zeros(b, 80, dtype=torch.int64)), "cross-entropy"


def recommender():
    class Net(nn.Module):
        def __init__(self, tables=26, rows=20000, width=64):
            super().__init__()
            self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
            self.bottom = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, width))
            n = tables + 1
            self.register_buffer("pairs", torch.tril_indices(n, n, -1), persistent=False)
            self.top = nn.Sequential(nn.Linear(width + n * (n - 1) // 2, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1))

        def forward(self, x, ids):
            x = self.bottom(x)
            all_ = torch.stack([x] + [t(ids[:, n]) for n, t in enumerate(self.tables)], 1)
            dots = torch.bmm(all_, all_.transpose(1, 2))
            return self.top(torch.cat([x, dots[:, self.pairs[0], self.pairs[1]]], 1))
    return Net(), lambda b: (torch.zeros(b, 13), torch.zeros(b, 26, dtype=torch.int64)), "bce"


def speech():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.front = nn.Sequential(nn.Conv2d(1, 32, (41, 11), (2, 2), (20, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20),
                                       nn.Conv2d(32, 32, (21, 11), (2, 1), (10, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20))
            self.body, self.head = nn.GRU(32 * 41, 512, 3, batch_first=True, bidirectional=True), nn.Linear(1024, 29)

        def forward(self, x):
            x = self.front(x)
            b, c, f, t = x.shape
            return self.head(self.body(x.reshape(b, c * f, t).transpose(1, 2))[0])
    return Net(), lambda b: torch.zeros(b, 1, 161, 300), "cross-entropy"


def recogniser():
    """A convolutional network, then a recurrent one over the columns."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            w = (1, 64, 128, 256, 512)
            self.conv = nn.Sequential(*(nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2 if n < 2 else (2, 1)))
                                        for n, (i, o) in enumerate(zip(w, w[1:]))))
            self.body, self.head = nn.LSTM(1024, 256, 2, batch_first=True, bidirectional=True), nn.Linear(512, 37)

        def forward(self, x):
            x = self.conv(x)
            return self.head(self.body(x.flatten(1, 2).transpose(1, 2))[0])
    return Net(), lambda b: torch.zeros(b, 1, 32, 128), "cross-entropy"


def language_lstm():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.body, self.head = nn.Embedding(10000, 650), nn.LSTM(650, 650, 2, dropout=0.5, batch_first=True), nn.Linear(650, 10000)
            self.drop = nn.Dropout(0.5)

        def forward(self, x):
            return self.head(self.drop(self.body(self.drop(self.embed(x)))[0]))
    return Net(), lambda b: torch.zeros(b, 70, dtype=torch.int64), "cross-entropy"


def weather():
    """A convolutional LSTM written out, as in precipitation forecasts."""
    class Net(nn.Module):
        def __init__(self, c=64):
            super().__init__()
            self.c, self.gates, self.out = c, nn.Conv2d(1 + c, 4 * c, 3, padding=1), nn.Conv2d(c, 1, 1)

        def forward(self, x):
            b, t, _, h, w = x.shape
            state = cell = x.new_zeros(b, self.c, h, w)
            for n in range(t):
                i, f, o, g = self.gates(torch.cat([x[:, n], state], 1)).chunk(4, 1)
                cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
                state = torch.sigmoid(o) * torch.tanh(cell)
            return self.out(state)
    return Net(), lambda b: torch.zeros(b, 10, 1, 64, 64), "mse"


def long_convolution():
    """A sequence model with convolutions as long as the sequence, by Fourier transforms."""
    class Layer(nn.Module):
        def __init__(self, width, seq):
            super().__init__()
            self.kernel, self.norm = nn.Parameter(torch.randn(width, seq) / seq), nn.LayerNorm(width)
            self.gate, self.out, self.seq = nn.Linear(width, 2 * width), nn.Linear(width, width), seq

        def forward(self, x):
            u, g = self.gate(self.norm(x)).chunk(2, -1)
            f = torch.fft.rfft(u.transpose(1, 2).float(), n=2 * self.seq) * torch.fft.rfft(self.kernel.float(), n=2 * self.seq)
            y = torch.fft.irfft(f, n=2 * self.seq)[..., :self.seq].transpose(1, 2).to(x.dtype)
            return x + self.out(y * F.silu(g))

    class Net(nn.Module):
        def __init__(self, width=256, seq=2048, vocab=256):
            super().__init__()
            self.embed, self.head = nn.Embedding(vocab, width), nn.Linear(width, vocab)
            self.body = nn.Sequential(*(Layer(width, seq) for _ in range(6)))

        def forward(self, x):
            return self.head(self.body(self.embed(x)))
    return Net(), lambda b: torch.zeros(b, 2048, dtype=torch.int64), "cross-entropy"


def small_experts():
    """A mixture of experts, written densely: every expert computes every token."""
    class Layer(nn.Module):
        def __init__(self, width=256, experts=8):
            super().__init__()
            self.norm, self.router = nn.LayerNorm(width), nn.Linear(width, experts)
            self.up, self.down = nn.Parameter(torch.randn(experts, width, 4 * width) / 16), nn.Parameter(torch.randn(experts, 4 * width, width) / 32)

        def forward(self, x):
            y = self.norm(x)
            weights, chosen = self.router(y).softmax(-1).topk(2, -1)
            gate = torch.zeros(*y.shape[:-1], 8, device=x.device, dtype=weights.dtype).scatter(-1, chosen, weights)
            h = F.gelu(torch.einsum("bnw,ewh->benh", y, self.up))
            return x + torch.einsum("benh,ehw,bne->bnw", h, self.down, gate.to(h.dtype))
    return nn.Sequential(nn.Embedding(8000, 256), *(Layer() for _ in range(4)), nn.Linear(256, 8000)), \
        lambda b: torch.zeros(b, 256, dtype=torch.int64), "cross-entropy"


def board_game():
    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = (nn.Sequential(nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c)) for _ in range(2))

        def forward(self, x):
            return F.relu(x + self.b(F.relu(self.a(x))))

    class Net(nn.Module):
        def __init__(self, c=256):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(17, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU(), *(Block(c) for _ in range(10)))
            self.policy = nn.Sequential(nn.Conv2d(c, 2, 1), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(722, 362))

        def forward(self, x):
            return self.policy(self.body(x))
    return Net(), lambda b: torch.zeros(b, 17, 19, 19), "cross-entropy"


def segmenter():
    """Dilated convolutions, pyramid pooling, bilinear up-sampling."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            def unit(i, o, k=3, s=1, d=1):
                return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2 * d, d, bias=False), nn.BatchNorm2d(o), nn.ReLU())
            self.body = nn.Sequential(unit(3, 64, s=2), unit(64, 128, s=2), unit(128, 256, s=2), unit(256, 256, d=2), unit(256, 512, d=4))
            self.pools = nn.ModuleList(unit(512, 128, 1) for _ in range(4))
            self.head = nn.Sequential(unit(1024, 256), nn.Dropout2d(0.1), nn.Conv2d(256, 21, 1))

        def forward(self, x):
            y = self.body(x)
            pooled = [F.interpolate(p(F.adaptive_avg_pool2d(y, n)), y.shape[2:], mode="bilinear") for p, n in zip(self.pools, (1, 2, 3, 6))]
            return F.interpolate(self.head(torch.cat([y] + pooled, 1)), x.shape[2:], mode="bilinear")
    return Net(), lambda b: torch.zeros(b, 3, 256, 256), "cross-entropy"


def tabular():
    class Net(nn.Module):
        def __init__(self, columns=40, width=192):
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.randn(columns, width)), nn.Parameter(torch.randn(columns, width))
            layer = nn.TransformerEncoderLayer(width, 8, 256, 0.1, "gelu", batch_first=True, norm_first=True)
            self.body, self.head = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False), nn.Linear(width, 2)

        def forward(self, x):
            return self.head(self.body(x[:, :, None] * self.weight + self.bias).mean(1))
    return Net(), lambda b: torch.zeros(b, 40), "cross-entropy"


def ordinary_equation():
    """A dense field integrated by ten steps of Runge and Kutta."""
    class Net(nn.Module):
        def __init__(self, width=512):
            super().__init__()
            self.f = nn.Sequential(nn.Linear(64, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 64))

        def forward(self, x):
            h = 0.1
            for _ in range(10):
                a = self.f(x)
                b = self.f(x + h / 2 * a)
                c = self.f(x + h / 2 * b)
                x = x + h / 6 * (a + 2 * b + 2 * c + self.f(x + h * c))
            return x
    return Net(), lambda b: torch.zeros(b, 64), "mse"


def molecules():
    """Continuous-filter convolutions over distances, as for potential energies."""
    class Net(nn.Module):
        def __init__(self, width=128, depth=4):
            super().__init__()
            self.embed, self.depth = nn.Embedding(100, width), depth
            self.register_buffer("centres", torch.linspace(0, 5, 50), persistent=False)
            self.filters = nn.ModuleList(nn.Sequential(nn.Linear(50, width), nn.Softplus(), nn.Linear(width, width)) for _ in range(depth))
            self.dense = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.Softplus(), nn.Linear(width, width)) for _ in range(depth))
            self.head = nn.Sequential(nn.Linear(width, 64), nn.Softplus(), nn.Linear(64, 1))

        def forward(self, kinds, places):
            x = self.embed(kinds)
            d = (places[:, :, None] - places[:, None]).pow(2).sum(-1).add(1e-6).sqrt()
            smooth = torch.exp(-10 * (d[..., None] - self.centres) ** 2)
            for w, f in zip(self.filters, self.dense):
                x = x + f((w(smooth) * x[:, None]).sum(2))
            return self.head(x).sum(1)
    return Net(), lambda b: (torch.zeros(b, 24, dtype=torch.int64), torch.zeros(b, 24, 3)), "mse"


NETWORKS = {f.__name__: f for f in (
    diffusion_unet, autoencoder, discriminator, super_resolution, wavenet, temporal_convolutions, point_net, radiance_field,
    translator, recommender, speech, recogniser, language_lstm, weather, long_convolution, small_experts, board_game,
    segmenter, tabular, ordinary_equation, molecules)}
