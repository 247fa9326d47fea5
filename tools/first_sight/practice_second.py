# SPDX-License-Identifier: Apache-2.0
"""practice_second.py - networks for practice: speech, words, clicks and tables. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Encoder, Result, Rotary, heads_first, heads_joined, words


def learned_bands():
    """Who speaks, from samples: filters given by two cut-off frequencies, layer norms over whole maps, and a margin."""
    class Bands(nn.Module):
        def __init__(self, count=80, size=251, rate=16000):
            super().__init__()
            self.size, self.rate = size, rate
            edges = torch.linspace(30, rate / 2 - 100, count + 1)
            self.low, self.wide = nn.Parameter(edges[:-1, None] / rate), nn.Parameter((edges[1:] - edges[:-1])[:, None] / rate)
            n = torch.arange(-(size - 1) / 2, 0).view(1, -1)
            self.register_buffer("n", 2 * math.pi * n / rate, persistent=False)
            self.register_buffer("window", torch.hamming_window(size)[:size // 2], persistent=False)

        def forward(self, x):
            low = 30 / self.rate + self.low.abs()
            high = torch.clamp(low + 50 / self.rate + self.wide.abs(), 0, 0.5)
            band = high - low
            a, b = torch.matmul(low * self.rate, self.n), torch.matmul(high * self.rate, self.n)
            left = (torch.sin(b) - torch.sin(a)) / (self.n * self.rate / 2) * self.window
            k = torch.cat([left, 2 * band, torch.flip(left, dims=[1])], 1) / (2 * band)
            return F.conv1d(x, k.unsqueeze(1))

    class Net(nn.Module):
        def __init__(self, people=462):
            super().__init__()
            self.norm, self.bands = nn.LayerNorm(3200), Bands()
            self.n0, self.n1, self.n2 = nn.LayerNorm([80, 983]), nn.LayerNorm([60, 326]), nn.LayerNorm([60, 107])
            self.a, self.b = nn.Conv1d(80, 60, 5), nn.Conv1d(60, 60, 5)
            sizes = (60 * 107, 2048, 2048, 2048)
            self.dense = nn.Sequential(nn.LayerNorm(sizes[0]), *(m for i, o in zip(sizes, sizes[1:]) for m in (
                nn.Linear(i, o, bias=False), nn.BatchNorm1d(o, momentum=0.05), nn.LeakyReLU(0.2))))
            self.out = nn.Parameter(torch.randn(people, 2048) * 0.02)

        def forward(self, samples, labels):
            x = self.norm(samples).unsqueeze(1)
            x = F.leaky_relu(self.n0(F.max_pool1d(self.bands(x).abs(), 3)), 0.2)
            x = F.leaky_relu(self.n1(F.max_pool1d(self.a(x), 3)), 0.2)
            x = F.leaky_relu(self.n2(F.max_pool1d(self.b(x), 3)), 0.2)
            x = self.dense(x.flatten(1))
            cosine = F.linear(F.normalize(x), F.normalize(self.out))
            margin = F.one_hot(labels, len(self.out)) * 0.2
            return Result(F.cross_entropy(30 * (cosine - margin), labels))
    return Net(), lambda b: {"samples": torch.zeros(b, 3200), "labels": torch.zeros(b, dtype=torch.int64)}, "own"


def streamed_letters():
    """Letters while one speaks: a spectrum in 23 bands, two strided convolutions, projected LSTMs and a CTC loss."""
    class Net(nn.Module):
        def __init__(self, bands=23, c=768, letters=41, depth=5):
            super().__init__()
            self.register_buffer("window", torch.hann_window(400), persistent=False)
            self.register_buffer("mel", torch.rand(257, bands) / 257, persistent=False)
            self.conv = nn.Sequential(nn.Conv2d(1, 32, (11, 5), (2, 1), (5, 2), bias=False), nn.BatchNorm2d(32), nn.Hardtanh(0, 20),
                                      nn.Conv2d(32, 32, (11, 5), (2, 2), (5, 2), bias=False), nn.BatchNorm2d(32), nn.Hardtanh(0, 20))
            self.rnn = nn.ModuleList(nn.LSTM(32 * 12 if n == 0 else 320, c, batch_first=True, proj_size=320) for n in range(depth))
            self.norm = nn.ModuleList(nn.LayerNorm(320) for _ in range(depth))
            self.ahead = nn.Conv1d(320, 320, 21, groups=320, bias=False)
            self.out = nn.Linear(320, letters)

        def forward(self, samples, labels):
            with torch.no_grad():
                s = torch.stft(samples.float(), 512, 160, 400, self.window, return_complex=True).abs().pow(2)
                x = torch.log(torch.matmul(s.transpose(1, 2), self.mel) + 1e-6)
                x = (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5)
            x = self.conv(x.unsqueeze(1)).transpose(1, 2).flatten(2)
            for f, n in zip(self.rnn, self.norm):
                x = n(f(x)[0])
            x = F.hardtanh(self.ahead(F.pad(x.transpose(1, 2), (0, 20))), 0, 20).transpose(1, 2)
            log = self.out(x).float().log_softmax(-1).transpose(0, 1)
            full = torch.full((len(samples),), log.shape[0], dtype=torch.int64, device=x.device)
            count = torch.full((len(samples),), labels.shape[1], dtype=torch.int64, device=x.device)
            return Result(F.ctc_loss(log, labels + 1, full, count, zero_infinity=True))

    def inputs(b):
        return {"samples": torch.zeros(b, 16000 * 6), "labels": words(b, 60)}
    return Net(), inputs, "own"


def spelled_speech():
    """Sentences spelled from speech: a pyramid of two-way LSTMs halves time, and a cell attends for each letter."""
    class Net(nn.Module):
        def __init__(self, bands=40, c=256, letters=33):
            super().__init__()
            self.first = nn.LSTM(bands, c, batch_first=True, bidirectional=True)
            self.rest = nn.ModuleList(nn.LSTM(4 * c, c, batch_first=True, bidirectional=True) for _ in range(3))
            self.word = nn.Embedding(letters, c)
            self.one, self.two = nn.LSTMCell(3 * c, 2 * c), nn.LSTMCell(2 * c, 2 * c)
            self.q, self.k, self.v = nn.Linear(2 * c, 128), nn.Linear(2 * c, 128), nn.Linear(2 * c, 2 * c)
            self.out = nn.Sequential(nn.Linear(4 * c, 2 * c), nn.Tanh(), nn.Dropout(0.2), nn.Linear(2 * c, letters))

        def forward(self, sound, labels):
            x = self.first(sound)[0]
            for f in self.rest:
                n = x.shape[1] // 2 * 2
                x = f(F.dropout(x[:, :n].reshape(len(x), n // 2, -1), 0.2, self.training))[0]
            k, v = self.k(x), self.v(x)
            b, wide = len(x), v.shape[-1]
            h1, c1, h2, c2 = (torch.zeros(b, wide, device=x.device, dtype=x.dtype) for _ in range(4))
            seen, scores, letters = v.mean(1), [], self.word(labels)
            for t in range(labels.shape[1]):
                h1, c1 = self.one(torch.cat([letters[:, t], seen], -1), (h1, c1))
                h2, c2 = self.two(h1, (h2, c2))
                weight = torch.bmm(k, self.q(h2).unsqueeze(-1)).squeeze(-1).softmax(-1)
                seen = torch.bmm(weight.unsqueeze(1), v).squeeze(1)
                scores.append(self.out(torch.cat([h2, seen], -1)))
            y = torch.stack(scores, 1)[:, :-1].float()
            return Result(F.cross_entropy(y.transpose(1, 2), labels[:, 1:], label_smoothing=0.1))
    return Net(), lambda b: {"sound": torch.zeros(b, 441, 40), "labels": words(b, 48)}, "own"


def near_words():
    """Long letters read with rotary places: each block of 128 words attends to itself and the block before."""
    class Near(nn.Module):
        def __init__(self, c, heads, block=128, seq=4096):
            super().__init__()
            self.heads, self.block = heads, block
            self.qkv, self.o, self.turn = nn.Linear(c, 3 * c, bias=False), nn.Linear(c, c, bias=False), Rotary(c // heads, seq)
            i, j = torch.arange(block)[:, None] + block, torch.arange(2 * block)[None]
            self.register_buffer("hidden", (j > i) | (j <= i - block), persistent=False)

        def forward(self, x):
            q, k, v = (heads_first(t, self.heads) for t in self.qkv(x).chunk(3, -1))
            q, k = self.turn(q), self.turn(k)
            n = self.block
            q = q.unflatten(2, (-1, n))
            k, v = (F.pad(t, (0, 0, n, 0)).unfold(2, 2 * n, n).transpose(-1, -2) for t in (k, v))
            s = torch.einsum("bhnid,bhnjd->bhnij", q, k) * q.shape[-1] ** -0.5
            s = s.masked_fill(self.hidden, torch.finfo(s.dtype).min).softmax(-1)
            y = torch.einsum("bhnij,bhnjd->bhnid", s.to(v.dtype), v).flatten(2, 3)
            return self.o(heads_joined(y))

    class Unit(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.n1, self.n2, self.a = nn.LayerNorm(c), nn.LayerNorm(c), Near(c, heads)
            self.up, self.down = nn.Linear(c, 5 * c), nn.Linear(5 * c // 2, c)

        def forward(self, x):
            x = x + self.a(self.n1(x))
            a, b = self.up(self.n2(x)).chunk(2, -1)
            return x + self.down(a * F.gelu(b, approximate="tanh"))

    class Net(nn.Module):
        def __init__(self, many=16000, c=512, depth=6):
            super().__init__()
            self.word, self.body = nn.Embedding(many, c), nn.Sequential(*(Unit(c, 8) for _ in range(depth)))
            self.norm = nn.LayerNorm(c)

        def forward(self, ids):
            x = self.norm(self.body(self.word(ids)))
            y = F.linear(x[:, :-1], self.word.weight)
            return Result(F.cross_entropy(y.flatten(0, 1).float(), ids[:, 1:].flatten()))
    return Net(), lambda b: words(b, 4096), "own"


def bagged_tasks():
    """Clicks and sales at once: bags of ids per field, low-rank crosses, and experts shared by three tasks' gates."""
    class Net(nn.Module):
        def __init__(self, fields=12, rows=400_000, c=32, dense=13, experts=6, tasks=3):
            super().__init__()
            self.rows, self.fields = rows, fields
            self.bag = nn.ModuleList(nn.EmbeddingBag(rows // (n + 1), c, mode="mean" if n % 2 else "sum") for n in range(fields))
            self.norm = nn.BatchNorm1d(dense)
            wide = fields * c + dense
            self.u, self.v = (nn.ModuleList(nn.Linear(*s) for _ in range(3)) for s in ((64, wide), (wide, 64)))
            self.experts = nn.ModuleList(nn.Sequential(nn.Linear(wide, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU())
                                         for _ in range(experts))
            self.gates = nn.ModuleList(nn.Linear(wide, experts) for _ in range(tasks))
            self.heads = nn.ModuleList(nn.Sequential(nn.Linear(256, 64), nn.BatchNorm1d(64), nn.PReLU(), nn.Linear(64, 1)) for _ in range(tasks))

        def forward(self, ids, numbers, goals):
            ids = ids.unflatten(1, (self.fields, -1))
            parts = [f(ids[:, n] % f.num_embeddings) for n, f in enumerate(self.bag)]
            x = first = torch.cat([*parts, self.norm(torch.log1p(numbers.abs()))], 1)
            for u, v in zip(self.u, self.v):
                x = first * u(v(x)) + x
            y = torch.stack([f(x) for f in self.experts], 1)
            loss = 0
            for n, (gate, head) in enumerate(zip(self.gates, self.heads)):
                mixed = torch.bmm(gate(x).softmax(-1).unsqueeze(1), y).squeeze(1)
                loss = loss + F.binary_cross_entropy_with_logits(head(mixed).squeeze(-1).float(), (goals[:, n] > 1).float())
            return Result(loss)
    return Net(), lambda b: (words(b, 12 * 10), torch.zeros(b, 13), torch.zeros(b, 3)), "own"


def session_clicks():
    """The next article of a session: a GRU over clicks, sampled rivals, and a loss over the largest of them."""
    class Net(nn.Module):
        def __init__(self, items=200_000, c=192, rivals=2048):
            super().__init__()
            self.item, self.bias = nn.Embedding(items, c), nn.Embedding(items, 1)
            self.gru, self.rivals, self.items = nn.GRU(c, c, 2, batch_first=True, dropout=0.2), rivals, items
            self.out = nn.Sequential(nn.Linear(c, c), nn.Tanh())

        def forward(self, ids):
            x = self.out(self.gru(F.dropout(self.item(ids[:, :-1]), 0.1, self.training))[0])
            true = ids[:, 1:]
            rival = torch.randint(self.items, (self.rivals,), device=ids.device)
            good = (x * self.item(true)).sum(-1) + self.bias(true).squeeze(-1)
            bad = torch.matmul(x, self.item(rival).t()) + self.bias(rival).squeeze(-1)
            bad = bad.masked_fill(true.unsqueeze(-1) == rival, -1e4)
            weight = bad.softmax(-1)
            better = -torch.log((weight * torch.sigmoid(good.unsqueeze(-1) - bad)).sum(-1) + 1e-10)
            return Result((better + (weight * bad.pow(2)).sum(-1)).mean())
    return Net(), lambda b: words(b, 31), "own"


def ranked_lists():
    """Hotels in order: dense layers with layer norms, 100 offers attend to each other, all pairs weighted by their gain."""
    class Net(nn.Module):
        def __init__(self, seen=136, c=256, depth=3):
            super().__init__()
            self.norm = nn.BatchNorm1d(seen)
            self.first = nn.Sequential(nn.Linear(seen, 2 * c), nn.LayerNorm(2 * c), nn.ReLU(), nn.Linear(2 * c, c), nn.LayerNorm(c), nn.ReLU())
            self.body, self.out = nn.ModuleList(Encoder(c, 4, 2 * c, nn.ReLU, 0.1) for _ in range(depth)), nn.Linear(c, 1)

        def forward(self, offers, liked):
            x = self.norm(torch.sign(offers).mul(torch.log1p(offers.abs())).transpose(1, 2)).transpose(1, 2)
            x = self.first(x)
            for f in self.body:
                x = f(x)
            score = self.out(x).squeeze(-1).float()
            gain = torch.pow(2.0, liked.clamp(0, 4).round()) - 1
            with torch.no_grad():
                rank = score.argsort(1, descending=True).argsort(1) + 1
                worth = 1 / torch.log2(1 + rank.float())
                place = torch.arange(1, score.shape[1] + 1, device=score.device)
                best = (gain.sort(1, descending=True)[0] / torch.log2(1 + place.float())).sum(1).clamp(min=1e-3)
                weight = (gain.unsqueeze(2) - gain.unsqueeze(1)).abs() * (worth.unsqueeze(2) - worth.unsqueeze(1)).abs()
                weight = weight / best[:, None, None] * (gain.unsqueeze(2) > gain.unsqueeze(1))
            apart = score.unsqueeze(2) - score.unsqueeze(1)
            return Result((F.softplus(-apart) * weight).sum((1, 2)).mean())
    return Net(), lambda b: (torch.zeros(b, 100, 136), torch.zeros(b, 100)), "own"


def sparse_softmax(x):
    """Softmax with exact zeros: a projection onto the simplex, by sorting."""
    z = x.sort(-1, descending=True)[0]
    place = torch.arange(1, x.shape[-1] + 1, device=x.device, dtype=x.dtype)
    total = z.cumsum(-1) - 1
    count = (place * z > total).sum(-1, keepdim=True)
    return torch.clamp(x - total.gather(-1, count - 1) / count.to(x.dtype), min=0)


def soft_trees():
    """Credit from 93 numbers: 512 trees of depth six, soft at each choice, in four dense layers."""
    class Trees(nn.Module):
        def __init__(self, i, trees=512, depth=6, out=3):
            super().__init__()
            self.depth = depth
            self.choose = nn.Parameter(torch.rand(trees * depth, i))
            self.edge, self.heat = nn.Parameter(torch.randn(trees, depth)), nn.Parameter(torch.zeros(trees, depth))
            self.leaf = nn.Parameter(torch.randn(trees, out, 2 ** depth))
            n = torch.arange(2 ** depth)
            bits = torch.stack([(n >> d) & 1 for d in range(depth)])
            self.register_buffer("bits", torch.stack([bits, 1 - bits], 0).float(), persistent=False)

        def forward(self, x):
            value = F.linear(x, sparse_softmax(self.choose)).unflatten(1, (-1, self.depth))
            t = (value - self.edge) * torch.exp(-self.heat)
            side = torch.clamp(0.5 * torch.stack([-t, t], -1) + 0.5, 0, 1)
            match = torch.einsum("btds,sdl->btdl", side, self.bits)
            return torch.einsum("btl,tol->bto", match.prod(-2), self.leaf)

    class Net(nn.Module):
        def __init__(self, seen=93, depth=2, trees=256):
            super().__init__()
            self.norm = nn.BatchNorm1d(seen)
            self.layers = nn.ModuleList(Trees(seen + n * trees * 3, trees) for n in range(depth))

        def forward(self, x, labels):
            x, found = self.norm(x), []
            for f in self.layers:
                y = f(x)
                found.append(y)
                x = torch.cat([x, y.flatten(1)], 1)
            return Result(F.cross_entropy(torch.cat(found, 1).mean(1), labels))
    return Net(), lambda b: {"x": torch.zeros(b, 93), "labels": torch.zeros(b, dtype=torch.int64)}, "own"


def chosen_columns():
    """Claims of drivers: six steps choose columns by sparse masks, with norms over small parts of a batch."""
    class Ghost(nn.Module):
        def __init__(self, c, parts=16):
            super().__init__()
            self.f, self.parts = nn.BatchNorm1d(c, momentum=0.02), parts

        def forward(self, x):
            return torch.cat([self.f(p) for p in x.chunk(self.parts if len(x) >= 2 * self.parts else 1, 0)], 0)

    class Gated(nn.Module):
        def __init__(self, i, o, shared=None):
            super().__init__()
            self.f, self.n = shared or nn.Linear(i, 2 * o, bias=False), Ghost(2 * o)

        def forward(self, x):
            return F.glu(self.n(self.f(x)))

    class Net(nn.Module):
        def __init__(self, columns=54, c=128, steps=6):
            super().__init__()
            self.norm, self.c = nn.BatchNorm1d(columns), c
            a, b = nn.Linear(columns, 4 * c, bias=False), nn.Linear(2 * c, 4 * c, bias=False)
            self.turn = nn.ModuleList(nn.ModuleList([Gated(columns, 2 * c, a), Gated(2 * c, 2 * c, b), Gated(2 * c, 2 * c), Gated(2 * c, 2 * c)])
                                      for _ in range(steps + 1))
            self.mask = nn.ModuleList(nn.Sequential(nn.Linear(c, columns, bias=False), Ghost(columns)) for _ in range(steps))
            self.out = nn.Linear(c, 7)

        def turned(self, layers, x):
            x = layers[0](x)
            for f in layers[1:]:
                x = (x + f(x)) * math.sqrt(0.5)
            return x

        def forward(self, x, labels):
            x = self.norm(x)
            free = torch.ones_like(x)
            seen = self.turned(self.turn[0], x)[:, self.c:]
            total, spread = 0, 0
            for mask, turn in zip(self.mask, self.turn[1:]):
                m = sparse_softmax(mask(seen) * free)
                spread = spread - (m * torch.log(m + 1e-15)).sum(1).mean()
                free = free * (1.3 - m)
                y, seen = self.turned(turn, m * x).chunk(2, 1)
                total = total + F.relu(y)
            return Result(F.cross_entropy(self.out(total), labels) + 1e-3 * spread)
    return Net(), lambda b: {"x": torch.zeros(b, 54), "labels": torch.zeros(b, dtype=torch.int64)}, "own"


def chunked_scan():
    """Words by a state-space scan in chunks of 64: decays are summed, masked and exponentiated, states pass on."""
    def between(x):
        """Sums of x from j to i, and minus infinity above the diagonal."""
        n = x.shape[-1]
        total = x.cumsum(-1)
        y = total.unsqueeze(-1) - total.unsqueeze(-2)
        return y.masked_fill(~torch.ones(n, n, dtype=torch.bool, device=x.device).tril(), -torch.inf)

    class Unit(nn.Module):
        def __init__(self, c=512, heads=16, state=64, chunk=64):
            super().__init__()
            self.inner, self.heads, self.state, self.chunk = 2 * c, heads, state, chunk
            self.norm = nn.RMSNorm(c)
            self.i = nn.Linear(c, 2 * self.inner + 2 * state + heads, bias=False)
            self.conv = nn.Conv1d(self.inner + 2 * state, self.inner + 2 * state, 4, groups=self.inner + 2 * state, padding=3)
            self.a, self.d, self.dt = (nn.Parameter(torch.rand(heads)) for _ in range(3))
            self.n2, self.o = nn.RMSNorm(self.inner), nn.Linear(self.inner, c, bias=False)

        def scanned(self, x, a, b, c):
            x, b, c = (t.unflatten(1, (-1, self.chunk)) for t in (x, b, c))
            a = a.unflatten(1, (-1, self.chunk)).permute(0, 3, 1, 2)
            total = a.cumsum(-1)
            inside = torch.einsum("bcln,bcsn,bhcls,bcshp->bclhp", c, b, between(a).exp(), x)
            decay = torch.exp(total[..., -1:] - total)
            states = torch.einsum("bcln,bhcl,bclhp->bchpn", b, decay, x)
            states = torch.cat([torch.zeros_like(states[:, :1]), states], 1)
            over = between(F.pad(total[..., -1], (1, 0))).exp()
            states = torch.einsum("bhzc,bchpn->bzhpn", over, states)[:, :-1]
            return (inside + torch.einsum("bcln,bchpn,bhcl->bclhp", c, states, total.exp())).flatten(1, 2)

        def forward(self, x):
            z, y, dt = self.i(self.norm(x)).split([self.inner, self.inner + 2 * self.state, self.heads], -1)
            y = F.silu(self.conv(y.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2))
            v, b, c = y.split([self.inner, self.state, self.state], -1)
            dt = F.softplus(dt + self.dt)
            v = v.unflatten(-1, (self.heads, -1))
            y = self.scanned((v * dt.unsqueeze(-1)).float(), (-torch.exp(self.a) * dt).float(), b.float(), c.float())
            y = (y + v * self.d.unsqueeze(-1)).flatten(2)
            return x + self.o(self.n2(y * F.silu(z)))

    class Net(nn.Module):
        def __init__(self, many=8192, c=512, depth=4):
            super().__init__()
            self.word, self.body = nn.Embedding(many, c), nn.Sequential(*(Unit(c) for _ in range(depth)))
            self.norm, self.out = nn.RMSNorm(c), nn.Linear(c, many, bias=False)

        def forward(self, ids):
            return self.out(self.norm(self.body(self.word(ids))))
    return Net(), lambda b: words(b, 1024), "cross-entropy"


def looped_experts():
    """Words with eight experts in a loop: each takes its tokens by index, and the results are added back."""
    class Experts(nn.Module):
        def __init__(self, c, inner, count=8, top=2):
            super().__init__()
            self.top, self.gate = top, nn.Linear(c, count, bias=False)
            self.up = nn.ModuleList(nn.Linear(c, 2 * inner, bias=False) for _ in range(count))
            self.down = nn.ModuleList(nn.Linear(inner, c, bias=False) for _ in range(count))

        def forward(self, x):
            shape, x = x.shape, x.flatten(0, 1)
            chance = self.gate(x).float().softmax(-1)
            share = len(x) * self.top // len(self.up)
            y = torch.zeros_like(x)
            for n, (up, down) in enumerate(zip(self.up, self.down)):
                weight, rows = chance[:, n].topk(share, sorted=False)  # each expert chooses its tokens
                a, b = up(x.index_select(0, rows)).chunk(2, -1)
                made = down(F.silu(a) * b) * weight.unsqueeze(-1).to(x.dtype)
                y = y.index_add(0, rows, made.to(y.dtype))
            spread = (torch.logsumexp(chance, -1).pow(2)).mean()
            return y.view(shape), spread

    class Unit(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.n1, self.n2, self.experts = nn.LayerNorm(c), nn.LayerNorm(c), Experts(c, 2 * c)
            self.a = nn.MultiheadAttention(c, heads, batch_first=True, bias=False)

        def forward(self, x, mask):
            y = self.n1(x)
            x = x + self.a(y, y, y, attn_mask=mask, need_weights=False, is_causal=True)[0]
            y, spread = self.experts(self.n2(x))
            return x + y, spread

    class Net(nn.Module):
        def __init__(self, many=20000, c=512, depth=6, seq=512):
            super().__init__()
            self.word, self.place = nn.Embedding(many, c), nn.Embedding(seq, c)
            self.body = nn.ModuleList(Unit(c, 8) for _ in range(depth))
            self.norm, self.out = nn.LayerNorm(c), nn.Linear(c, many)
            self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(seq), persistent=False)

        def forward(self, text, labels):
            x, loss = self.word(text) + self.place(torch.arange(text.shape[1], device=text.device)), 0
            for f in self.body:
                x, more = f(x, self.mask)
                loss = loss + 1e-3 * more
            return Result(loss + F.cross_entropy(self.out(self.norm(x)).flatten(0, 1).float(), labels.flatten()))
    return Net(), lambda b: {"text": words(b, 512), "labels": words(b, 512)}, "own"


NETWORKS = {f.__name__: f for f in (learned_bands, streamed_letters, spelled_speech, near_words, bagged_tasks, session_clicks,
                                    ranked_lists, soft_trees, chosen_columns, chunked_scan, looped_experts)}
STEPS = {"learned_bands": ("fp32", 256, "nchw", "sgd"), "streamed_letters": ("tf32", 32, "nchw", "adamw"),
         "spelled_speech": ("amp-fp16", 48, "nchw", "adam"), "near_words": ("amp-bf16", 4, "nchw", "adamw"),
         "bagged_tasks": ("tf32", 8192, "nchw", "adam"), "session_clicks": ("fp32", 256, "nchw", "adam"),
         "ranked_lists": ("amp-bf16", 512, "nchw", "adamw"), "soft_trees": ("fp32", 1024, "nchw", "adam"),
         "chosen_columns": ("fp32", 16384, "nchw", "adam"), "chunked_scan": ("amp-bf16", 8, "nchw", "adamw"),
         "looped_experts": ("amp-bf16", 16, "nchw", "adamw")}
