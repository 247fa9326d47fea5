# SPDX-License-Identifier: Apache-2.0
"""practice_seventeenth.py - networks for practice, the seventeenth set: series, state spaces and filters. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from blocks import Encoder, Result, words


def patched_channels():
    """Many series, each alone: patches of sixteen hours, hidden ones are filled in, means and spreads go back."""
    class Net(nn.Module):
        def __init__(self, channels=21, seq=512, patch=16, step=8, c=128, depth=3):
            super().__init__()
            self.patch, self.step = patch, step
            count = (seq - patch) // step + 1
            self.enter, self.place = nn.Linear(patch, c), nn.Parameter(torch.randn(count, c) * 0.02)
            self.scale, self.shift = nn.Parameter(torch.ones(channels, 1)), nn.Parameter(torch.zeros(channels, 1))
            layer = nn.TransformerEncoderLayer(c, 16, 256, 0.2, "gelu", batch_first=True)
            self.body, self.norm = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False), nn.BatchNorm1d(c)
            self.fill, self.out = nn.Linear(c, patch), nn.Linear(count * c, 96)

        def forward(self, x, later):
            mean, spread = x.mean(-1, keepdim=True).detach(), (x.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt().detach()
            x = (x - mean) / spread * self.scale + self.shift
            patches = x.unfold(-1, self.patch, self.step)
            hidden = torch.rand(patches.shape[:3], device=x.device) < 0.4
            y = self.enter(patches.masked_fill(hidden.unsqueeze(-1), 0)) + self.place
            y = self.body(y.flatten(0, 1))
            y = self.norm(y.transpose(1, 2)).transpose(1, 2).unflatten(0, x.shape[:2])
            fill = (self.fill(y) - patches).pow(2).mean(-1)
            fill = (fill * hidden).sum() / hidden.sum().clamp(min=1)
            y = (self.out(F.dropout(y.flatten(2), 0.2, self.training)) - self.shift) / (self.scale + 1e-10)
            return Result(F.mse_loss(y * spread + mean, later) + fill)
    return Net(), lambda b: (torch.zeros(b, 21, 512), torch.zeros(b, 21, 96)), "own"


def drawn_frequencies():
    """Loads of a grid: trends by averages of several widths, and attention among a few drawn frequencies."""
    class Split(nn.Module):
        def __init__(self, widths=(7, 13, 25, 49)):
            super().__init__()
            self.widths, self.share = widths, nn.Linear(1, len(widths))

        def forward(self, x):
            y = x.transpose(1, 2)
            means = [F.avg_pool1d(F.pad(y, (w // 2, w // 2), mode="replicate"), w, 1) for w in self.widths]
            trend = (torch.stack(means, -1) * self.share(y.unsqueeze(-1)).softmax(-1)).sum(-1).transpose(1, 2)
            return x - trend, trend

    class Waves(nn.Module):
        def __init__(self, c, heads, seq, modes=32):
            super().__init__()
            self.q, self.k, self.v, self.o, self.heads = *(nn.Linear(c, c) for _ in range(4)), heads
            self.register_buffer("index", torch.randperm(seq // 2)[:modes].sort().values)
            self.weight = nn.Parameter(torch.randn(heads, c // heads, c // heads, modes, 2) / c)

        def forward(self, x):
            n = x.shape[1]
            q, k, v = (torch.fft.rfft(f(x).float().unflatten(-1, (self.heads, -1)), dim=1)[:, self.index] for f in (self.q, self.k, self.v))
            look = torch.einsum("bxhe,byhe->bhxy", q, k)
            look = torch.complex(torch.tanh(look.real), torch.tanh(look.imag))
            y = torch.einsum("bhxy,byhe->bhex", look, v)
            y = torch.einsum("bhex,heox->bxho", y, torch.view_as_complex(self.weight))
            full = torch.zeros(len(x), n // 2 + 1, *y.shape[2:], dtype=y.dtype, device=y.device)
            full = full.index_copy(1, self.index, y)
            return self.o(torch.fft.irfft(full, n, dim=1).flatten(2))

    class Layer(nn.Module):
        def __init__(self, c, seq):
            super().__init__()
            self.a, self.s1, self.s2 = Waves(c, 8, seq), Split(), Split()
            self.f = nn.Sequential(nn.Conv1d(c, 4 * c, 1, bias=False), nn.GELU(), nn.Conv1d(4 * c, c, 1, bias=False))
            self.trend = nn.Conv1d(c, 321, 3, padding=1, padding_mode="circular", bias=False)

        def forward(self, x):
            x, one = self.s1(x + self.a(x))
            x, two = self.s2(x + self.f(x.transpose(1, 2)).transpose(1, 2))
            return x, self.trend((one + two).transpose(1, 2))

    class Net(nn.Module):
        def __init__(self, channels=321, c=256, seq=192, depth=3):
            super().__init__()
            self.enter = nn.Conv1d(channels, c, 3, padding=1, padding_mode="circular", bias=False)
            self.clock = nn.Linear(4, c, bias=False)
            self.body, self.out = nn.ModuleList(Layer(c, seq) for _ in range(depth)), nn.Linear(c, channels)

        def forward(self, x, clock, later):
            y, total = self.enter(x.transpose(1, 2)).transpose(1, 2) + self.clock(clock), 0
            for f in self.body:
                y, trend = f(y)
                total = total + trend
            return Result(F.mse_loss((self.out(y) + total.transpose(1, 2))[:, -96:], later))
    return Net(), lambda b: (torch.zeros(b, 192, 321), torch.zeros(b, 192, 4), torch.zeros(b, 96, 321)), "own"


def backcast_stacks():
    """Sales: blocks explain a part of the past and of the future by polynomials, waves and learned bases in turn."""
    class Block(nn.Module):
        def __init__(self, back, ahead, kind, c=512):
            super().__init__()
            self.f = nn.Sequential(*(m for n in range(4) for m in (nn.Linear(c if n else back, c), nn.ReLU())))
            past, future = torch.arange(back) / back, torch.arange(ahead) / ahead
            if kind == "trend":
                bases = [torch.stack([t ** p for p in range(4)]) for t in (past, future)]
            elif kind == "waves":
                bases = [torch.cat([f(2 * math.pi * torch.arange(1, 9)[:, None] * t) for f in (torch.cos, torch.sin)]) for t in (past, future)]
            else:
                bases = [torch.randn(32, back) * 0.05, torch.randn(32, ahead) * 0.05]
            keep = nn.Parameter if kind == "free" else nn.Buffer
            self.past, self.future = keep(bases[0]), keep(bases[1])
            self.size = len(bases[0])
            self.share = nn.Linear(c, 2 * self.size, bias=False)

        def forward(self, x):
            a, b = self.share(self.f(x)).split(self.size, -1)
            return a @ self.past, b @ self.future

    class Net(nn.Module):
        def __init__(self, back=168, ahead=24):
            super().__init__()
            self.body = nn.ModuleList(Block(back, ahead, kind) for kind in ("trend", "waves", "free") for _ in range(6))

        def forward(self, x, later):
            level = x.abs().amax(1, keepdim=True) + 1e-3
            x, future = x / level, 0
            for f in self.body:
                past, more = f(x)
                x, future = x - past, future + more
            future = future * level
            size = (future.abs() + later.abs()).detach()
            loss = 200 * torch.where(size > 0, (future - later).abs() / size.clamp(min=1e-6), torch.zeros_like(size)).mean()
            return Result(loss + 0.1 * x.pow(2).mean())
    return Net(), lambda b: (torch.zeros(b, 168), torch.zeros(b, 24)), "own"


def causal_quantiles():
    """Demand at nine quantiles: causal filters with growing gaps, gates and skips, weight norms, series' own vectors."""
    norm = parametrizations.weight_norm

    class Layer(nn.Module):
        def __init__(self, c, gap):
            super().__init__()
            self.gap, self.f, self.more = gap, norm(nn.Conv1d(c, 2 * c, 2, dilation=gap)), nn.Conv1d(c, 2 * c, 1, bias=False)
            self.keep, self.skip = norm(nn.Conv1d(c, c, 1)), norm(nn.Conv1d(c, 2 * c, 1))

        def forward(self, x, given):
            a, b = (self.f(F.pad(x, (self.gap, 0))) + self.more(given)).chunk(2, 1)
            y = F.dropout1d(torch.tanh(a) * torch.sigmoid(b), 0.1, self.training)
            return x + self.keep(y), self.skip(y)

    class Net(nn.Module):
        def __init__(self, shops=3000, c=64, depth=16):
            super().__init__()
            self.shop, self.enter, self.given = nn.Embedding(shops, 32), nn.Conv1d(1, c, 1), nn.Conv1d(40, c, 1)
            self.body = nn.ModuleList(Layer(c, 2 ** (n % 8)) for n in range(depth))
            self.out = nn.Sequential(nn.ELU(), nn.Conv1d(2 * c, 2 * c, 1), nn.ELU(), nn.Conv1d(2 * c, 9, 1))
            self.register_buffer("level", torch.linspace(0.1, 0.9, 9).view(1, -1, 1))

        def forward(self, sales, clock, who):
            x = torch.asinh(sales)
            given = torch.cat([clock, self.shop(who).unsqueeze(-1).expand(-1, -1, clock.shape[-1])], 1)
            given, y, skips = self.given(given), self.enter(x[:, :, :-1]), 0
            for f in self.body:
                y, skip = f(y, given[:, :, 1:])
                skips = skips + skip
            q = torch.cummax(self.out(skips), 1).values
            gap = x[:, :, 1:] - q
            loss = torch.maximum(self.level * gap, (self.level - 1) * gap)
            seen = (sales[:, :, 1:] > -2).float()
            return Result((loss.sum(1, keepdim=True) * seen).sum() / seen.sum().clamp(min=1))
    return Net(), lambda b: (torch.zeros(b, 1, 513), torch.zeros(b, 8, 513), torch.zeros(b, dtype=torch.int64)), "own"


def doubling_scans():
    """DNA with states that forget as the letters tell: an inclusive scan by doubling, both ways along the strand."""
    class Layer(nn.Module):
        def __init__(self, c, inner, state):
            super().__init__()
            self.norm, self.enter, self.leave = nn.RMSNorm(c), nn.Linear(c, 2 * inner, bias=False), nn.Linear(inner, c, bias=False)
            self.near = nn.Conv1d(inner, inner, 4, padding=3, groups=inner)
            self.pick, self.step = nn.Linear(inner, 16 + 2 * state, bias=False), nn.Linear(16, inner)
            self.rate = nn.Parameter(torch.log(torch.arange(1.0, state + 1)).repeat(inner, 1))
            self.past, self.state = nn.Parameter(torch.ones(inner)), state

        def scan(self, x):
            u = F.silu(self.near(x.transpose(1, 2))[..., :x.shape[1]]).transpose(1, 2)
            d, b, c = self.pick(u).split([16, self.state, self.state], -1)
            d = F.softplus(self.step(d)).float()
            a = torch.exp(d.unsqueeze(-1) * -torch.exp(self.rate))
            h = (d * u).unsqueeze(-1) * b.unsqueeze(2)
            n, hop = x.shape[1], 1
            while hop < n:
                h = h + a * F.pad(h, (0, 0, 0, 0, hop, -hop))
                a = a * F.pad(a, (0, 0, 0, 0, hop, -hop), value=1.0)
                hop *= 2
            return torch.einsum("bnds,bns->bnd", h, c.to(h.dtype)) + u * self.past

        def forward(self, x):
            y, gate = self.enter(self.norm(x)).chunk(2, -1)
            y = self.scan(y) + self.scan(y.flip(1)).flip(1)
            return x + self.leave((y * F.silu(gate)).to(x.dtype))

    class Net(nn.Module):
        def __init__(self, c=128, depth=3):
            super().__init__()
            self.letter, self.body = nn.Embedding(8, c), nn.Sequential(*(Layer(c, 192, 8) for _ in range(depth)))
            self.norm, self.out = nn.RMSNorm(c), nn.Linear(c, 8)

        def forward(self, ids):
            hidden = torch.rand(ids.shape, device=ids.device) < 0.15
            x = self.norm(self.body(self.letter(ids.masked_fill(hidden, 7))))
            loss = F.cross_entropy(self.out(x).flatten(0, 1).float(), ids.flatten(), reduction="none")
            return Result((loss * hidden.flatten()).sum() / hidden.sum().clamp(min=1))
    return Net(), lambda b: words(b, 512), "own"


def complex_poles():
    """Spoken commands from samples: diagonal complex states, their kernels by powers, and Fourier convolutions."""
    class Layer(nn.Module):
        def __init__(self, c, state=32):
            super().__init__()
            self.real, self.imag = nn.Parameter(torch.log(0.5 * torch.ones(c, state))), nn.Parameter(math.pi * torch.arange(state).repeat(c, 1).float())
            self.step, self.past = nn.Parameter(torch.rand(c) * 4.6 - 6.9), nn.Parameter(torch.randn(c))
            self.c = nn.Parameter(torch.randn(c, state, 2) * 0.5 ** 0.5)
            self.mix, self.norm = nn.Conv1d(c, 2 * c, 1), nn.BatchNorm1d(c)

        def forward(self, x):
            n = x.shape[-1]
            pole = torch.complex(-torch.exp(self.real), self.imag)
            dt = torch.exp(self.step).unsqueeze(-1)
            power = torch.exp((pole * dt).unsqueeze(-1) * torch.arange(n, device=x.device))
            c = torch.view_as_complex(self.c) * (torch.exp(pole * dt) - 1) / pole
            kernel = 2 * torch.einsum("cs,csn->cn", c, power).real
            y = torch.fft.irfft(torch.fft.rfft(x.float(), 2 * n) * torch.fft.rfft(kernel, 2 * n), 2 * n)[..., :n]
            y = F.dropout1d(F.gelu(y + x * self.past.unsqueeze(-1)), 0.1, self.training)
            return self.norm(x + F.glu(self.mix(y), 1))

    class Net(nn.Module):
        def __init__(self, c=128, depth=4, kinds=35):
            super().__init__()
            self.enter, self.body = nn.Conv1d(1, c, 1), nn.Sequential(*(Layer(c) for _ in range(depth)))
            self.out = nn.Linear(c, kinds)

        def forward(self, wave, labels):
            x = self.body(self.enter(wave)).mean(-1)
            return Result(F.cross_entropy(self.out(x), labels, label_smoothing=0.05))
    return Net(), lambda b: {"wave": torch.zeros(b, 1, 4000), "labels": torch.zeros(b, dtype=torch.int64)}, "own"


def learned_filter():
    """Paths of a ball in pictures: an encoder measures, a filter of Kalman with mixed matrices predicts and corrects."""
    class Net(nn.Module):
        def __init__(self, state=6, seen=4, mixes=3):
            super().__init__()
            self.state, self.seen = state, seen
            self.encode = nn.Sequential(nn.Conv2d(1, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 3, 2, 1), nn.ReLU(),
                                        nn.Conv2d(32, 32, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 2 * seen))
            self.decode = nn.Sequential(nn.Linear(seen, 512), nn.Unflatten(1, (32, 4, 4)), nn.Conv2d(32, 128, 3, padding=1),
                                        nn.PixelShuffle(2), nn.ReLU(), nn.Conv2d(32, 128, 3, padding=1), nn.PixelShuffle(2), nn.ReLU(),
                                        nn.Conv2d(32, 128, 3, padding=1), nn.PixelShuffle(2), nn.ReLU(), nn.Conv2d(32, 1, 1))
            self.a = nn.Parameter(torch.eye(state).repeat(mixes, 1, 1) + 0.01 * torch.randn(mixes, state, state))
            self.c = nn.Parameter(0.1 * torch.randn(mixes, seen, state))
            self.q, self.r = nn.Parameter(torch.full((state,), -3.0)), nn.Parameter(torch.full((seen,), -3.0))
            self.memory, self.share = nn.LSTMCell(seen, 50), nn.Linear(50, mixes)

        def forward(self, film):
            b, n = film.shape[:2]
            mean, spread = self.encode(film.flatten(0, 1)).chunk(2, -1)
            spread = torch.exp(0.5 * spread.clamp(-8, 4))
            code = mean + spread * torch.randn_like(mean)
            codes, eye = code.unflatten(0, (b, n)), torch.eye(self.state, device=film.device)
            m, p = film.new_zeros(b, self.state, 1), eye.expand(b, -1, -1) * 20
            h = (film.new_zeros(b, 50), film.new_zeros(b, 50))
            q, r, total = torch.diag(F.softplus(self.q)), torch.diag(F.softplus(self.r)), 0
            for t in range(n):
                share = self.share(h[0]).softmax(-1)
                a, c = torch.einsum("bm,mij->bij", share, self.a), torch.einsum("bm,mij->bij", share, self.c)
                m, p = a @ m, a @ p @ a.mT + q
                s = c @ p @ c.mT + r
                root = torch.linalg.cholesky(0.5 * (s + s.mT))
                gap = codes[:, t].unsqueeze(-1) - c @ m
                white = torch.linalg.solve_triangular(root, gap, upper=False)
                total = total + 0.5 * white.square().sum((1, 2)) + root.diagonal(dim1=1, dim2=2).log().sum(1)
                gain = torch.cholesky_solve(c @ p, root).mT
                m, keep = m + gain @ gap, eye - gain @ c
                p = keep @ p @ keep.mT + gain @ r @ gain.mT
                h = self.memory(codes[:, t], h)
            picture = F.binary_cross_entropy_with_logits(self.decode(code), (film.flatten(0, 1) > 0.5).float())
            return Result(32 * 32 * picture + total.mean() / n - torch.log(spread).sum(-1).mean())
    return Net(), lambda b: torch.zeros(b, 16, 1, 32, 32), "own"


def marked_events():
    """Visits to a shop as points in time: an LSTM over packed visits, rates between them by draws, and marks."""
    class Net(nn.Module):
        def __init__(self, marks=600, c=128, draws=16):
            super().__init__()
            self.mark, self.draws, self.marks = nn.Embedding(marks, c), draws, marks
            self.register_buffer("wave", torch.exp(-math.log(1e4) * torch.arange(0, c, 2) / c))
            self.body = nn.LSTM(2 * c, c, 2, batch_first=True, bidirectional=False, dropout=0.1)
            self.look, self.rate = Encoder(c, 4, 256, dropout=0.1), nn.Linear(c, marks)
            self.start, self.heat = nn.Linear(c, marks), nn.Parameter(torch.ones(marks))
            self.form = nn.Linear(c, 3)

        def forward(self, ids, gap):
            b, n = ids.shape
            gap = gap.abs() + 1e-2
            angle = gap.cumsum(1).unsqueeze(-1) * self.wave
            x = torch.cat([self.mark(ids), angle.sin(), angle.cos()], -1)
            lengths = [n - (i * 7) % 40 for i in range(b)]
            packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            h, _ = pad_packed_sequence(self.body(packed)[0], batch_first=True, total_length=n)
            future = torch.ones(n, n, dtype=torch.bool, device=ids.device).tril()
            h = self.look(h, mask=future)[:, :-1]
            heat, later, base, slope = self.heat.abs() + 0.1, gap[:, 1:], self.rate(h), self.start(h)

            def rates(time):
                return heat * F.softplus((base.unsqueeze(-2) + slope.unsqueeze(-2) * time.unsqueeze(-1)) / heat)
            now = rates(later.unsqueeze(-1)).squeeze(-2)
            event = torch.log(now.gather(-1, ids[:, 1:].unsqueeze(-1)) + 1e-8).squeeze(-1)
            drawn = later.unsqueeze(-1) * torch.rand(b, n - 1, self.draws, device=ids.device)
            whole = rates(drawn).sum(-1).mean(-1) * later
            place, size, free = self.form(h).float().unbind(-1)
            size, free = F.softplus(size) + 1e-3, 2 + F.softplus(free)
            z = (torch.log(later) - place) / size
            student = torch.lgamma((free + 1) / 2) - torch.lgamma(free / 2) - 0.5 * torch.log(free * math.pi) - torch.log(size)
            student = student - (free + 1) / 2 * torch.log1p(z * z / free)
            seen = (ids[:, 1:] != 0).float()
            return Result(-((event - whole + student) * seen).sum() / seen.sum().clamp(min=1))
    return Net(), lambda b: (words(b, 96), torch.zeros(b, 96)), "own"


NETWORKS = {f.__name__: f for f in (patched_channels, drawn_frequencies, backcast_stacks, causal_quantiles, doubling_scans,
                                    complex_poles, learned_filter, marked_events)}
STEPS = {"patched_channels": ("amp-bf16", 48, "nchw", "adam"), "drawn_frequencies": ("tf32", 16, "nchw", "adam"),
         "backcast_stacks": ("fp32", 1024, "nchw", "adam"), "causal_quantiles": ("tf32", 64, "nchw", "adamw"),
         "doubling_scans": ("amp-bf16", 4, "nchw", "adamw"), "complex_poles": ("fp32", 16, "nchw", "adamw"),
         "learned_filter": ("fp32", 32, "nchw", "adam"), "marked_events": ("amp-fp16", 24, "nchw", "adam")}
