# SPDX-License-Identifier: Apache-2.0
"""practice_eleventh.py - networks for practice, the eleventh set: sounds and speech. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result, RMSNorm, heads_first, heads_joined


def folded_talkers():
    """Two talkers apart: a signal is cut into overlapping pieces, LSTMs run within and across them, pieces are added up."""
    class Path(nn.Module):
        def __init__(self, c, hidden):
            super().__init__()
            self.rnn, self.out = nn.LSTM(c, hidden, batch_first=True, bidirectional=True), nn.Linear(2 * hidden, c)
            self.norm = nn.GroupNorm(1, c)

        def forward(self, x, across):
            b, c, k, s = x.shape
            y = x.permute(0, 2, 3, 1) if across else x.permute(0, 3, 2, 1)
            y = self.out(self.rnn(y.reshape(-1, y.shape[2], c))[0]).view(y.shape)
            y = y.permute(0, 3, 1, 2) if across else y.permute(0, 3, 2, 1)
            return x + self.norm(y.contiguous())

    class Net(nn.Module):
        def __init__(self, c=64, taps=16, piece=100, depth=3):
            super().__init__()
            self.piece, self.taps = piece, taps
            self.code, self.back = nn.Conv1d(1, c, taps, taps // 2, bias=False), nn.ConvTranspose1d(c, 1, taps, taps // 2, bias=False)
            self.norm, self.first = nn.GroupNorm(1, c), nn.Conv1d(c, c, 1)
            self.paths = nn.ModuleList(nn.ModuleList([Path(c, 128), Path(c, 128)]) for _ in range(depth))
            self.split, self.gate, self.tone = nn.Sequential(nn.PReLU(), nn.Conv2d(c, 2 * c, 1)), nn.Conv1d(c, c, 1), nn.Conv1d(c, c, 1)

        def forward(self, one, two):
            mixed = F.relu(self.code((one + two).unsqueeze(1)))
            x = self.first(self.norm(mixed))
            b, c, t = x.shape
            gap = (-t) % (self.piece // 2)
            x = F.pad(x, (self.piece // 2, self.piece // 2 + gap)).unsqueeze(-1)
            total = x.shape[2]
            x = F.unfold(x, (self.piece, 1), stride=(self.piece // 2, 1)).view(b, c, self.piece, -1)
            for inner, outer in self.paths:
                x = outer(inner(x, False), True)
            x = self.split(x).view(b * 2, c * self.piece, -1)
            x = F.fold(x, (total, 1), (self.piece, 1), stride=(self.piece // 2, 1)).squeeze(-1)[:, :, self.piece // 2:self.piece // 2 + t]
            mask = F.relu(torch.tanh(self.tone(x)) * torch.sigmoid(self.gate(x))).view(b, 2, c, t)
            y = self.back((mask * mixed.unsqueeze(1)).flatten(0, 1)).view(b, 2, -1).float()
            goal = torch.stack([one, two], 1)[..., :y.shape[-1]]
            y, goal = y - y.mean(-1, keepdim=True), goal - goal.mean(-1, keepdim=True)
            a, g = y.unsqueeze(2), goal.unsqueeze(1)
            part = (a * g).sum(-1, keepdim=True) * g / (g.square().sum(-1, keepdim=True) + 1e-8)
            ratio = 10 * torch.log10(part.square().sum(-1) / ((a - part).square().sum(-1) + 1e-8) + 1e-8)
            pairs = torch.stack([ratio[:, 0, 0] + ratio[:, 1, 1], ratio[:, 0, 1] + ratio[:, 1, 0]], 1)
            return Result(-pairs.max(1)[0].mean() / 2)
    return Net(), lambda b: (torch.zeros(b, 16000), torch.zeros(b, 16000)), "own"


def split_bands():
    """Voices out of music: bands of a spectrum get their own layers, LSTMs go along time and along bands, complex masks."""
    class Net(nn.Module):
        def __init__(self, c=96, depth=4, bins=1025):
            super().__init__()
            self.widths = [8] * 16 + [16] * 12 + [64] * 8 + [bins - 16 * 8 - 12 * 16 - 8 * 64]
            self.norms = nn.ModuleList(RMSNorm(2 * n) for n in self.widths)
            self.into = nn.ModuleList(nn.Linear(2 * n, c) for n in self.widths)
            self.time = nn.ModuleList(nn.LSTM(c, c, batch_first=True, bidirectional=True) for _ in range(depth))
            self.band = nn.ModuleList(nn.LSTM(c, c, batch_first=True, bidirectional=True) for _ in range(depth))
            self.mix = nn.ModuleList(nn.Linear(2 * c, c) for _ in range(2 * depth))
            self.n = nn.ModuleList(nn.LayerNorm(c) for _ in range(2 * depth))
            self.out = nn.ModuleList(nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 2 * c), nn.Tanh(), nn.Linear(2 * c, 4 * n), nn.GLU(-1)) for n in self.widths)
            self.register_buffer("window", torch.hann_window(2048))

        def spectrum(self, x):
            return torch.stft(x.float(), 2048, 512, window=self.window, return_complex=True)

        def forward(self, x, goal):
            s = self.spectrum(x)
            parts = torch.view_as_real(s).split(self.widths, 1)
            y = torch.stack([f(n(p.transpose(1, 2).flatten(2))) for p, n, f in zip(parts, self.norms, self.into)], 1)
            b, k, t, c = y.shape
            for n, (along, across) in enumerate(zip(self.time, self.band)):
                z = along(self.n[2 * n](y).flatten(0, 1))[0]
                y = y + self.mix[2 * n](z).view(b, k, t, c)
                z = across(self.n[2 * n + 1](y).transpose(1, 2).flatten(0, 1))[0]
                y = y + self.mix[2 * n + 1](z).view(b, t, k, c).transpose(1, 2)
            masks = [f(y[:, n]).float().view(b, t, -1, 2).transpose(1, 2) for n, f in enumerate(self.out)]
            made = s * torch.view_as_complex(torch.cat(masks, 1).contiguous())
            wave = torch.istft(made, 2048, 512, window=self.window, length=x.shape[-1])
            real = self.spectrum(goal)
            return Result(F.l1_loss(wave, goal) + F.l1_loss(torch.view_as_real(made), torch.view_as_real(real)))
    return Net(), lambda b: (torch.zeros(b, 44100), torch.zeros(b, 44100)), "own"


def judged_vocoder():
    """Speech from its spectrum: transposed filters and dilated blocks make it, critics look at periods and at scales."""
    norm = nn.utils.parametrizations.weight_norm

    class Block(nn.Module):
        def __init__(self, c, k):
            super().__init__()
            self.one = nn.ModuleList(norm(nn.Conv1d(c, c, k, 1, d * (k - 1) // 2, d)) for d in (1, 3, 5))
            self.two = nn.ModuleList(norm(nn.Conv1d(c, c, k, 1, (k - 1) // 2)) for _ in range(3))

        def forward(self, x):
            for f, g in zip(self.one, self.two):
                x = x + g(F.leaky_relu(f(F.leaky_relu(x, 0.1)), 0.1))
            return x

    class Maker(nn.Module):
        def __init__(self, c=256):
            super().__init__()
            self.first, self.up, self.blocks = norm(nn.Conv1d(80, c, 7, 1, 3)), nn.ModuleList(), nn.ModuleList()
            for s in (8, 8, 4):
                self.up.append(norm(nn.ConvTranspose1d(c, c // 2, 2 * s, s, s // 2)))
                c //= 2
                self.blocks.append(nn.ModuleList(Block(c, k) for k in (3, 7, 11)))
            self.last = norm(nn.Conv1d(c, 1, 7, 1, 3))

        def forward(self, x):
            x = self.first(x)
            for f, blocks in zip(self.up, self.blocks):
                x = f(F.leaky_relu(x, 0.1))
                x = sum(g(x) for g in blocks) / len(blocks)
            return torch.tanh(self.last(F.leaky_relu(x)))

    class Period(nn.Module):
        def __init__(self, period):
            super().__init__()
            self.period = period
            self.f = nn.ModuleList(norm(nn.Conv2d(a, b, (5, 1), (s, 1), (2, 0))) for a, b, s in ((1, 32, 3), (32, 96, 3), (96, 256, 3), (256, 256, 1)))
            self.out = norm(nn.Conv2d(256, 1, (3, 1), 1, (1, 0)))

        def forward(self, x):
            x = F.pad(x, (0, (-x.shape[-1]) % self.period), "reflect")
            x, kept = x.view(x.shape[0], 1, -1, self.period), []
            for f in self.f:
                x = F.leaky_relu(f(x), 0.1)
                kept.append(x)
            return self.out(x), kept

    class Scale(nn.Module):
        def __init__(self, pool):
            super().__init__()
            self.pool = pool
            shapes = ((1, 64, 15, 1, 1), (64, 64, 41, 2, 4), (64, 128, 41, 2, 16), (128, 256, 41, 4, 16), (256, 256, 5, 1, 1))
            self.f = nn.ModuleList(norm(nn.Conv1d(a, b, k, s, k // 2, groups=g)) for a, b, k, s, g in shapes)
            self.out = norm(nn.Conv1d(256, 1, 3, 1, 1))

        def forward(self, x):
            x, kept = F.avg_pool1d(x, 2 * self.pool, self.pool, self.pool) if self.pool > 1 else x, []
            for f in self.f:
                x = F.leaky_relu(f(x), 0.1)
                kept.append(x)
            return self.out(x), kept

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.maker = Maker()
            self.critics = nn.ModuleList([*(Period(p) for p in (2, 3, 5, 7)), Scale(1), Scale(2)])

        def forward(self, spectrum, wave):
            made, loss = self.maker(spectrum), 0
            for f in self.critics:
                (good, a), (bad, b) = f(wave), f(made.detach())
                loss = loss + (1 - good).square().mean() + bad.square().mean()
                score, kept = f(made)
                loss = loss + (1 - score).square().mean() + 2 * sum(F.l1_loss(p, q.detach()) for p, q in zip(kept, a))
            return Result(loss + F.l1_loss(made, wave))
    return Net(), lambda b: (torch.zeros(b, 80, 32), torch.zeros(b, 1, 8192)), "own"


def sandwiched_speech():
    """Syllables from speech: two half dense layers around attention that knows distances, and long gated filters; CTC."""
    class Far(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.qkv, self.place, self.o = heads, nn.Linear(c, 3 * c), nn.Linear(c, c, bias=False), nn.Linear(c, c)
            self.u, self.v = (nn.Parameter(torch.zeros(heads, 1, c // heads)) for _ in range(2))

        def forward(self, x, place):
            b, t, c = x.shape
            q, k, v = (heads_first(y, self.heads) for y in self.qkv(x).chunk(3, -1))
            p = heads_first(self.place(place), self.heads)
            apart = (q + self.v) @ p.transpose(-2, -1)
            apart = F.pad(apart, (1, 0)).view(b, self.heads, -1, t)[:, :, 1:].reshape(b, self.heads, t, -1)[..., :t]
            weight = (((q + self.u) @ k.transpose(-2, -1) + apart) / math.sqrt(c // self.heads)).softmax(-1)
            return self.o(heads_joined(F.dropout(weight, 0.1, self.training).to(v.dtype) @ v))

    class Block(nn.Module):
        def __init__(self, c, heads, taps):
            super().__init__()
            def dense():
                return nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.SiLU(), nn.Dropout(0.1), nn.Linear(4 * c, c), nn.Dropout(0.1))
            self.a, self.b, self.n1, self.n2, self.n3 = dense(), dense(), nn.LayerNorm(c), nn.LayerNorm(c), nn.LayerNorm(c)
            self.far, self.drop = Far(c, heads), nn.Dropout(0.1)
            self.f = nn.Sequential(nn.Conv1d(c, 2 * c, 1), nn.GLU(1), nn.Conv1d(c, c, taps, 1, taps // 2, groups=c), nn.BatchNorm1d(c), nn.SiLU(), nn.Conv1d(c, c, 1))

        def forward(self, x, place):
            x = x + 0.5 * self.a(x)
            x = x + self.drop(self.far(self.n1(x), place))
            x = x + self.drop(self.f(self.n2(x).transpose(1, 2)).transpose(1, 2))
            return self.n3(x + 0.5 * self.b(x))

    class Net(nn.Module):
        def __init__(self, c=176, depth=6, kinds=400):
            super().__init__()
            self.cut = nn.Sequential(nn.Conv2d(1, c, 3, 2), nn.ReLU(), nn.Conv2d(c, c, 3, 2, groups=c), nn.Conv2d(c, c, 1), nn.ReLU())
            self.first, self.c = nn.Linear(c * 19, c), c
            self.blocks, self.out = nn.ModuleList(Block(c, 4, 31) for _ in range(depth)), nn.Linear(c, kinds)

        def forward(self, x, text):
            y = self.cut(x.unsqueeze(1)).permute(0, 2, 1, 3).flatten(2)
            y, t = self.first(y), y.shape[1]
            at = torch.arange(t - 1, -t, -1, device=x.device).float().unsqueeze(1)
            angle = at * torch.exp(torch.arange(0, self.c, 2, device=x.device) * (-math.log(1e4) / self.c))
            place = torch.stack([angle.sin(), angle.cos()], -1).flatten(1).unsqueeze(0)
            for f in self.blocks:
                y = f(y, place)
            logs = self.out(y).float().log_softmax(-1).transpose(0, 1)
            b, n = text.shape
            wanted = (torch.sigmoid(text) * 390).long() + 1
            lengths = torch.full((b,), t, dtype=torch.int64), torch.full((b,), n, dtype=torch.int64)
            return Result(F.ctc_loss(logs, wanted, *lengths, zero_infinity=True))
    return Net(), lambda b: (torch.zeros(b, 800, 80), torch.zeros(b, 40)), "own"


def diagonal_states():
    """Digits spoken, from 16000 samples: diagonal state spaces make filters as long as the sound, applied by Fourier."""
    class Space(nn.Module):
        def __init__(self, c, n=32):
            super().__init__()
            self.step, self.rate = nn.Parameter(torch.rand(c) - 5), nn.Parameter(torch.zeros(c, n))
            self.turn = nn.Parameter(math.pi * torch.arange(n).float().repeat(c, 1))
            self.out, self.skip = nn.Parameter(torch.randn(c, n, 2)), nn.Parameter(torch.ones(c))
            self.mix = nn.Sequential(nn.Conv1d(c, 2 * c, 1), nn.GLU(1))

        def forward(self, x):
            t = x.shape[-1]
            a = torch.complex(-torch.exp(self.rate), self.turn)
            d = a * torch.exp(self.step).unsqueeze(-1)
            c = torch.view_as_complex(self.out) * (torch.exp(d) - 1) / a
            power = torch.exp(d.unsqueeze(-1) * torch.arange(t, device=x.device))
            k = 2 * torch.einsum("cn,cnt->ct", c, power).real
            y = torch.fft.irfft(torch.fft.rfft(x.float(), n=2 * t) * torch.fft.rfft(k, n=2 * t), n=2 * t)[..., :t]
            return self.mix(F.gelu(y + x * self.skip.unsqueeze(-1)))

    class Net(nn.Module):
        def __init__(self, c=64, depth=4, kinds=35):
            super().__init__()
            self.first, self.last = nn.Conv1d(1, c, 1), nn.Linear(c, kinds)
            self.layers = nn.ModuleList(Space(c) for _ in range(depth))
            self.norms, self.drop = nn.ModuleList(nn.LayerNorm(c) for _ in range(depth)), nn.Dropout1d(0.1)

        def forward(self, x):
            x = self.first(x)
            for f, n in zip(self.layers, self.norms):
                x = n((x + self.drop(f(x))).transpose(1, 2)).transpose(1, 2)
            return self.last(x.mean(-1))
    return Net(), lambda b: torch.zeros(b, 1, 8000), "classes"


def broadcast_words():
    """Words that wake a device: filters over bands, norms per group of bands, averages over bands sent back to all."""
    class Bands(nn.Module):
        def __init__(self, c, groups=5):
            super().__init__()
            self.groups, self.norm = groups, nn.BatchNorm2d(c * groups)

        def forward(self, x):
            b, c, f, t = x.shape
            return self.norm(x.reshape(b, c * self.groups, f // self.groups, t)).reshape(b, c, f, t)

    class Block(nn.Module):
        def __init__(self, a, b, stride, dilation):
            super().__init__()
            self.change = nn.Sequential(nn.Conv2d(a, b, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()) if a != b else None
            self.bands = nn.Sequential(nn.Conv2d(b, b, (3, 1), (stride, 1), (1, 0), groups=b, bias=False), Bands(b))
            self.time = nn.Sequential(nn.Conv2d(b, b, (1, 3), 1, (0, dilation), (1, dilation), groups=b, bias=False), nn.BatchNorm2d(b), nn.SiLU(),
                                      nn.Conv2d(b, b, 1, bias=False), nn.Dropout2d(0.1))

        def forward(self, x):
            y = self.bands(self.change(x) if self.change else x)
            z = self.time(y.mean(2, keepdim=True))
            return F.relu(y + z if self.change else x + y + z)

    class Net(nn.Module):
        def __init__(self, kinds=12):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(1, 128, 5, (2, 1), 2, bias=False), nn.BatchNorm2d(128), nn.ReLU())
            plan = ((128, 64, 1, 1), (64, 64, 1, 1), (64, 96, 2, 2), (96, 96, 1, 2), (96, 128, 2, 4), (128, 128, 1, 4), (128, 128, 1, 4), (128, 160, 1, 8), (160, 160, 1, 8))
            self.body = nn.Sequential(*(Block(*p) for p in plan))
            self.tail = nn.Sequential(nn.Conv2d(160, 160, 5, 1, (0, 2), groups=160), nn.Conv2d(160, 256, 1, bias=False), nn.BatchNorm2d(256), nn.ReLU())
            self.out = nn.Conv2d(256, kinds, 1)

        def forward(self, x):
            return self.out(self.tail(self.body(self.stem(x))).mean((2, 3), keepdim=True)).flatten(1)
    return Net(), lambda b: torch.zeros(b, 1, 80, 101), "classes"


def tuned_ears():
    """Birds at night: Gabor filters with learned centres, Gaussian windows for pooling, and gains that follow loudness."""
    class Net(nn.Module):
        def __init__(self, bands=64, taps=401, kinds=120):
            super().__init__()
            self.bands, self.taps = bands, taps
            self.centre, self.wide = nn.Parameter(torch.linspace(0.05, 3.0, bands)), nn.Parameter(torch.full((bands,), 40.0))
            self.pool = nn.Parameter(torch.full((bands,), 0.4))
            self.smooth, self.gain, self.root = (nn.Parameter(torch.full((bands,), v)) for v in (0.04, 0.96, 2.0))
            def block(a, b, stride):
                return nn.Sequential(nn.Conv2d(a, 4 * a, 1, bias=False), nn.BatchNorm2d(4 * a), nn.Hardswish(),
                                     nn.Conv2d(4 * a, 4 * a, 5, stride, 2, groups=4 * a, bias=False), nn.BatchNorm2d(4 * a), nn.Hardswish(),
                                     nn.Conv2d(4 * a, b, 1, bias=False), nn.BatchNorm2d(b))
            self.body = nn.Sequential(nn.Conv2d(1, 24, 3, 2, 1), block(24, 32, 1), block(32, 64, 2), block(64, 96, 2), nn.Conv2d(96, 384, 1), nn.Hardswish())
            self.out = nn.Linear(2 * 384, kinds)

        def forward(self, x, goal):
            t = torch.arange(self.taps, device=x.device) - self.taps // 2
            wide = self.wide.clamp(4, 160).unsqueeze(1)
            bell = torch.exp(-t ** 2 / (2 * wide ** 2)) / (math.sqrt(2 * math.pi) * wide)
            wave = torch.stack([bell * torch.cos(self.centre.unsqueeze(1) * t), bell * torch.sin(self.centre.unsqueeze(1) * t)], 1)
            y = F.conv1d(x, wave.view(2 * self.bands, 1, self.taps), padding=self.taps // 2)
            y = y.unflatten(1, (self.bands, 2)).square().sum(2)
            window = torch.exp(-0.5 * (t / (self.pool.clamp(0.05, 0.5).unsqueeze(1) * 0.5 * (self.taps - 1))) ** 2)
            y = F.conv1d(y, window.unsqueeze(1), stride=160, padding=self.taps // 2, groups=self.bands).clamp(min=1e-5)
            s, kept = self.smooth.clamp(0, 1), []
            level = y[..., 0]
            for n in range(y.shape[-1]):
                level = s * y[..., n] + (1 - s) * level
                kept.append(level)
            level = torch.stack(kept, -1)
            root = 1 / self.root.clamp(min=1).view(1, -1, 1)
            y = (y / (1e-6 + level) ** self.gain.clamp(max=1).view(1, -1, 1) + 2) ** root - 2 ** root
            y = self.body(y.unsqueeze(1))
            z = self.out(torch.cat([y.mean((2, 3)), y.amax((2, 3))], 1))
            return Result(F.multilabel_soft_margin_loss(z, (goal > 1.5).float()))
    return Net(), lambda b: (torch.zeros(b, 1, 16000), torch.zeros(b, 120)), "own"


def stacked_codes():
    """Sound as eight codes for a frame: causal filters, codebooks that code what others left, and spectra at five sizes."""
    class Causal(nn.Module):
        def __init__(self, a, b, k, stride=1, dilation=1):
            super().__init__()
            self.gap, self.f = (k - 1) * dilation - (stride - 1), nn.utils.parametrizations.weight_norm(nn.Conv1d(a, b, k, stride, 0, dilation))

        def forward(self, x):
            return self.f(F.pad(x, (self.gap, 0), mode="reflect"))

    class Unit(nn.Module):
        def __init__(self, c, d):
            super().__init__()
            self.f = nn.Sequential(nn.ELU(), Causal(c, c // 2, 3, 1, d), nn.ELU(), Causal(c // 2, c, 1))

        def forward(self, x):
            return x + self.f(x)

    class Net(nn.Module):
        def __init__(self, c=32, strides=(2, 4, 5, 8), books=8, codes=1024):
            super().__init__()
            down, up = [Causal(1, c, 7)], []
            for s in strides:
                down += [Unit(c, 1), Unit(c, 3), nn.ELU(), Causal(c, 2 * c, 2 * s, s)]
                up = [nn.ELU(), nn.ConvTranspose1d(2 * c, c, 2 * s, s, (s + 1) // 2, s % 2), Unit(c, 1), Unit(c, 3)] + up
                c *= 2
            self.down, self.up, self.last = nn.Sequential(*down), nn.Sequential(*up), Causal(32, 1, 7)
            self.rnn, self.into, self.outof = nn.LSTM(c, c, 2, batch_first=True), nn.Linear(c, 128), nn.Linear(128, c)
            self.books = nn.ModuleList(nn.Embedding(codes, 128) for _ in range(books))
            for n in range(5):
                self.register_buffer(f"window{n}", torch.hann_window(2 ** (7 + n)))

        def forward(self, x):
            y = self.down(x).transpose(1, 2)
            y = self.into(y + self.rnn(y)[0])
            left, made, loss = y.flatten(0, 1).float(), 0, 0
            for book in self.books:
                far = left.detach().square().sum(1, keepdim=True) - 2 * left.detach() @ book.weight.t() + book.weight.square().sum(1)
                code = book(far.argmin(1))
                loss = loss + F.mse_loss(code, left.detach()) + 0.25 * F.mse_loss(left, code.detach())
                made, left = made + code, left - code.detach()
            y = y + (made.view_as(y) - y).detach()
            y = self.last(self.up(self.outof(y).transpose(1, 2))).float()
            n = min(y.shape[-1], x.shape[-1])
            a, b = y[:, 0, :n], x[:, 0, :n]
            loss = loss + F.l1_loss(a, b)
            for k in range(5):
                w, size = getattr(self, f"window{k}"), 2 ** (7 + k)
                p, q = (torch.stft(t, size, size // 4, window=w, return_complex=True).abs() + 1e-5 for t in (a, b))
                loss = loss + F.l1_loss(p, q) + F.mse_loss(p.log(), q.log())
            return Result(loss)
    return Net(), lambda b: torch.zeros(b, 1, 16000), "own"


NETWORKS = {f.__name__: f for f in (folded_talkers, split_bands, judged_vocoder, sandwiched_speech, diagonal_states, broadcast_words,
                                    tuned_ears, stacked_codes)}
STEPS = {"folded_talkers": ("amp-fp16", 8, "nchw", "adam"), "split_bands": ("amp-bf16", 4, "nchw", "adam"),
         "judged_vocoder": ("tf32", 8, "nchw", "adamw"), "sandwiched_speech": ("amp-bf16", 16, "nchw", "adamw"),
         "diagonal_states": ("fp32", 8, "nchw", "adamw"), "broadcast_words": ("amp-fp16", 128, "nhwc", "momentum"),
         "tuned_ears": ("fp32", 24, "nchw", "adam"), "stacked_codes": ("tf32", 12, "nchw", "adam")}
