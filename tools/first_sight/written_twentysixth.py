# SPDX-License-Identifier: Apache-2.0
"""written_twentysixth.py - the fifteenth set of networks: sound and words. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, Encoder, Result, RMSNorm, Rotary, heads_first, heads_joined, words


def echo_canceller():
    """Calls without echo: complex filters over the far and the near signal's spectra, and a mask of the near one."""
    class Complex(nn.Module):
        def __init__(self, kind, i, o, *more, **options):
            super().__init__()
            self.real, self.other = kind(i, o, *more, **options), kind(i, o, *more, **options)

        def forward(self, x):
            a, b = x.chunk(2, 1)
            return torch.cat([self.real(a) - self.other(b), self.real(b) + self.other(a)], 1)

    class Net(nn.Module):
        def __init__(self, n=512, hop=128, sizes=(2, 16, 32, 64, 128, 128), c=256):
            super().__init__()
            self.n, self.hop = n, hop
            self.register_buffer("window", torch.hann_window(n), persistent=False)
            pairs = list(zip(sizes, sizes[1:]))
            self.down = nn.ModuleList(nn.Sequential(
                Complex(nn.Conv2d, i, o, (5, 3), (2, 1), (2, 1)), nn.BatchNorm2d(2 * o), nn.PReLU()) for i, o in pairs)
            self.enter, self.memory = nn.Linear(2 * 128 * 8, c), nn.LSTM(c, c, 2, batch_first=True)
            self.leave = nn.Linear(c, 2 * 128 * 8)
            self.up = nn.ModuleList(nn.Sequential(
                Complex(nn.ConvTranspose2d, 2 * o, max(i, 4), (5, 3), (2, 1), (2, 1), output_padding=(1, 0)),
                nn.BatchNorm2d(2 * max(i, 4)), nn.PReLU()) for i, o in reversed(pairs))
            self.mask = nn.Conv2d(8, 2, 1)

        def spectrum(self, x):
            return torch.stft(x.float(), self.n, self.hop, window=self.window, return_complex=True)[:, 1:]

        def forward(self, near, far, clean):
            a, b = self.spectrum(near), self.spectrum(far)
            x, kept = torch.stack([a.real, b.real, a.imag, b.imag], 1), []
            for f in self.down:
                x = f(x)
                kept.append(x)
            y = self.enter(x.permute(0, 3, 1, 2).flatten(2))
            y = self.leave(self.memory(y)[0]).unflatten(-1, (-1, 8)).permute(0, 2, 3, 1)
            for f, k in zip(self.up, reversed(kept)):
                (p, q), (r, s) = y.chunk(2, 1), k.chunk(2, 1)
                y = f(torch.cat([p, r, q, s], 1))
            m = self.mask(y).float()
            size, turn = torch.tanh(m.pow(2).sum(1).add(1e-8).sqrt()), torch.atan2(m[:, 1], m[:, 0] + 1e-8)
            found = torch.polar(a.abs() * size, a.angle() + turn)
            found = torch.istft(F.pad(found, (0, 0, 1, 0)), self.n, self.hop, window=self.window,
                                length=clean.shape[1])
            part = (found * clean).sum(-1, keepdim=True) / (clean.pow(2).sum(-1, keepdim=True) + 1e-8) * clean
            ratio = part.pow(2).sum(-1) / ((found - part).pow(2).sum(-1) + 1e-8)
            return Result(-10 * torch.log10(ratio + 1e-8).mean())
    return Net(), lambda b: (torch.zeros(b, 48000), torch.zeros(b, 48000), torch.zeros(b, 48000)), "own"


def guessed_codes():
    """Speech without texts: masked frames are guessed as entries of four fixed random codebooks."""
    class Block(nn.Module):
        def __init__(self, c, heads, size=15):
            super().__init__()
            self.one = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.SiLU(), nn.Linear(4 * c, c))
            self.two = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.SiLU(), nn.Linear(4 * c, c))
            self.n1, self.n2, self.n3 = nn.LayerNorm(c), nn.LayerNorm(c), nn.LayerNorm(c)
            self.a, self.enter = Attention(c, heads), nn.Conv1d(c, 2 * c, 1)
            self.deep = nn.Conv1d(c, c, size, padding=size // 2, groups=c)
            self.norm, self.leave = nn.BatchNorm1d(c), nn.Conv1d(c, c, 1)

        def forward(self, x):
            x = x + 0.5 * self.one(x)
            x = x + self.a(self.n1(x))
            y = F.glu(self.enter(self.n2(x).transpose(1, 2)), 1)
            x = x + self.leave(F.silu(self.norm(self.deep(y)))).transpose(1, 2)
            return self.n3(x + 0.5 * self.two(x))

    class Net(nn.Module):
        def __init__(self, bands=80, c=512, depth=10, books=4, codes=2048, size=16, span=10):
            super().__init__()
            self.span, self.books = span, books
            self.cut = nn.Sequential(nn.Conv2d(1, 128, 3, 2, 1), nn.ReLU(), nn.Conv2d(128, 32, 3, 2, 1), nn.ReLU())
            self.enter, self.body = nn.Linear(32 * bands // 4, c), nn.ModuleList(Block(c, 8) for _ in range(depth))
            self.out = nn.Linear(c, books * codes)
            self.register_buffer("turn", torch.randn(books, 4 * bands, size) * 0.1)
            self.register_buffer("code", F.normalize(torch.randn(books, codes, size), dim=-1))

        def forward(self, x, chance):
            b, t, f = x.shape
            with torch.no_grad():
                four = F.normalize(torch.einsum("btf,nfd->nbtd", x.reshape(b, t // 4, 4 * f), self.turn), dim=-1)
                goal = torch.einsum("nbtd,ncd->nbtc", four, self.code).argmax(-1)
                hidden = F.max_pool1d((chance > 1.9).float().unsqueeze(1), self.span, 1, self.span // 2)
                hidden = hidden.squeeze(1)[:, :t // 4]
            noise = 0.1 * torch.randn_like(x)
            wide = hidden.repeat_interleave(4, 1).unsqueeze(-1)
            y = self.cut((x * (1 - wide) + noise * wide).unsqueeze(1))
            y = self.enter(y.permute(0, 2, 1, 3).flatten(2))
            for layer in self.body:
                y = layer(y)
            score = self.out(y).unflatten(-1, (self.books, -1)).permute(2, 0, 1, 3).float()
            loss = F.cross_entropy(score.flatten(0, 2), goal.flatten(), reduction="none").view_as(goal)
            return Result((loss * hidden).sum() / (hidden.sum() * self.books + 1))
    return Net(), lambda b: (torch.zeros(b, 1024, 80), torch.zeros(b, 256)), "own"


def swapped_voices():
    """One speaker's words in another's voice: a bank of filters, instance norms, and scales from the other."""
    def padded(x, f, size):
        return f(F.pad(x, (size // 2, size // 2 - 1 + size % 2), mode="reflect"))

    class Bank(nn.Module):
        def __init__(self, i, c, sizes):
            super().__init__()
            self.sizes, self.f = sizes, nn.ModuleList(nn.Conv1d(i, c, n) for n in sizes)

        def forward(self, x):
            return torch.cat([F.relu(padded(x, f, n)) for f, n in zip(self.f, self.sizes)] + [x], 1)

    class Pair(nn.Module):
        def __init__(self, c, stride, normed):
            super().__init__()
            self.stride, self.normed = stride, normed
            self.a, self.b = nn.Conv1d(c, c, 5), nn.Conv1d(c, c, 5, stride)
            self.drop = nn.Dropout(0.1)

        def forward(self, x):
            y = padded(x, self.a, 5)
            y = self.drop(F.relu(F.instance_norm(y) if self.normed else y))
            y = padded(y, self.b, 5)
            y = self.drop(F.relu(F.instance_norm(y) if self.normed else y))
            return y + (F.avg_pool1d(x, self.stride, ceil_mode=True) if self.stride > 1 else x)

    class Grow(nn.Module):
        def __init__(self, c, up):
            super().__init__()
            self.up, self.a, self.b = up, nn.Conv1d(c, c, 5), nn.Conv1d(c, c * up, 5)
            self.s, self.t = nn.Linear(c, 2 * c), nn.Linear(c, 2 * c)

        def scaled(self, x, said):
            mean, scale = said.unsqueeze(-1).chunk(2, 1)
            return F.relu(F.instance_norm(x) * scale + mean)

        def forward(self, x, voice):
            y = padded(self.scaled(padded(x, self.a, 5), self.s(voice)), self.b, 5)
            if self.up > 1:
                y = y.unflatten(1, (-1, self.up)).transpose(2, 3).flatten(2)
                x = F.interpolate(x, scale_factor=self.up, mode="nearest")
            return x + self.scaled(y, self.t(voice))

    class Net(nn.Module):
        def __init__(self, bands=512, c=256, strides=(1, 2, 1, 2, 1, 2)):
            super().__init__()
            def first():
                return nn.Sequential(Bank(bands, 128, (1, 2, 3, 4, 5, 6, 7, 8)), nn.Conv1d(128 * 8 + bands, c, 1),
                                     nn.ReLU())
            self.words = nn.Sequential(first(), *(Pair(c, s, True) for s in strides))
            self.mean, self.spread = nn.Conv1d(c, c, 1), nn.Conv1d(c, c, 1)
            self.voice = nn.Sequential(first(), *(Pair(c, s, False) for s in strides), nn.AdaptiveAvgPool1d(1),
                                       nn.Flatten(), nn.Linear(c, c), nn.ReLU(), nn.Linear(c, c))
            self.grow = nn.ModuleList(Grow(c, s) for s in reversed(strides))
            self.out = nn.Conv1d(c, bands, 1)

        def forward(self, x):
            h = self.words(x)
            mean, spread = self.mean(h), self.spread(h)
            y, voice = mean + torch.exp(spread / 2) * torch.randn_like(mean), self.voice(x)
            for f in self.grow:
                y = f(y, voice)
            far = 0.5 * (spread.exp() + mean.pow(2) - 1 - spread).mean()
            return Result(10 * F.l1_loss(self.out(y), x) + far)
    return Net(), lambda b: torch.zeros(b, 512, 128), "own"


def biaffine_arcs():
    """Which word each word depends on: letters and words in recurrent layers, a bilinear score for each pair."""
    class Net(nn.Module):
        def __init__(self, rows=60000, letters=128, c=100, wide=400, arc=500, label=100, kinds=48, tags=80):
            super().__init__()
            self.word, self.letter = nn.Embedding(rows, c), nn.Embedding(letters, 50)
            self.tag, self.spell = nn.Embedding(tags, c), nn.LSTM(50, 50, batch_first=True, bidirectional=True)
            self.memory = nn.LSTM(3 * c, wide, 3, batch_first=True, bidirectional=True, dropout=0.33)
            self.parts = nn.ModuleList(nn.Sequential(nn.Linear(2 * wide, n), nn.LeakyReLU(0.1), nn.Dropout(0.33))
                                       for n in (arc, arc, label, label))
            self.pair = nn.Parameter(torch.randn(arc + 1, arc) * 0.01)
            self.name = nn.Parameter(torch.randn(kinds, label + 1, label + 1) * 0.01)

        def forward(self, word, letter, tag, labels):
            b, n, m = letter.shape
            _, (h, _) = self.spell(self.letter(letter).flatten(0, 1))
            x = torch.cat([self.word(word), h.transpose(0, 1).reshape(b, n, -1), self.tag(tag)], -1)
            x = F.dropout(self.memory(F.dropout(x, 0.33, self.training))[0], 0.33, self.training)
            a, h, c, d = (f(x) for f in self.parts)
            score = F.pad(a, (0, 1), value=1.0) @ self.pair @ h.transpose(1, 2)
            kind = torch.einsum("bxi,oij,byj->boxy", F.pad(c, (0, 1), value=1.0), self.name,
                                F.pad(d, (0, 1), value=1.0)).permute(0, 2, 3, 1)
            head = labels.clamp(max=n - 1)
            loss = F.cross_entropy(score.float().flatten(0, 1), head.flatten())
            mine = kind.gather(2, head[..., None, None].expand(-1, -1, -1, kind.shape[-1])).squeeze(2)
            return Result(loss + F.cross_entropy(mine.float().flatten(0, 1), labels.flatten()))

    def inputs(b):
        return {"word": words(b, 40), "letter": torch.zeros(b, 40, 16, dtype=torch.int64), "tag": words(b, 40),
                "labels": words(b, 40)}
    return Net(), inputs, "own"


def span_entities():
    """Names in abstracts: every span of up to ten words is one vector, and pairs of the best spans are related."""
    class Net(nn.Module):
        def __init__(self, rows=31090, c=768, heads=12, depth=8, seq=192, longest=10, kept=48, kinds=7, links=8):
            super().__init__()
            self.kept, self.word, self.place = kept, nn.Embedding(rows, c), nn.Embedding(seq, c)
            self.norm = nn.LayerNorm(c)
            layer = nn.TransformerEncoderLayer(c, heads, 4 * c, 0.1, "gelu", batch_first=True)
            self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
            self.long = nn.Embedding(longest, 64)
            first = torch.arange(seq).repeat_interleave(longest)
            size = torch.arange(longest).repeat(seq)
            fits = first + size < seq
            self.register_buffer("first", first[fits], persistent=False)
            self.register_buffer("size", size[fits], persistent=False)
            self.kind = nn.Sequential(nn.Linear(3 * c + 64, 512), nn.GELU(), nn.Dropout(0.2), nn.Linear(512, kinds))
            self.look, self.down = nn.Linear(c, 1), nn.Linear(3 * c + 64, 256)
            self.link = nn.Sequential(nn.Linear(3 * 256, 256), nn.GELU(), nn.Linear(256, links))

        def forward(self, ids, spans, labels):
            x = self.norm(self.word(ids) + self.place.weight[:ids.shape[1]])
            x = self.body(x)
            weight = self.look(x).float().squeeze(-1).exp()
            total = F.pad((weight.unsqueeze(-1) * x).cumsum(1), (0, 0, 1, 0))
            count = F.pad(weight.cumsum(1), (1, 0))
            last = self.first + self.size
            mean = total[:, last + 1] - total[:, self.first]
            mean = mean / (count[:, last + 1] - count[:, self.first]).unsqueeze(-1)
            long = self.long(self.size).expand(len(x), -1, -1)
            h = torch.cat([x[:, self.first], x[:, last], mean.to(x.dtype), long], -1)
            score = self.kind(h).float()
            goal = (spans > 2.5).long()
            loss = F.cross_entropy(score.transpose(1, 2), goal)
            best = (score[..., 1:].amax(-1) - score[..., 0]).topk(self.kept, -1).indices
            h = self.down(h.gather(1, best.unsqueeze(-1).expand(-1, -1, h.shape[-1])))
            a, b = h.unsqueeze(2).expand(-1, -1, self.kept, -1), h.unsqueeze(1).expand(-1, self.kept, -1, -1)
            link = self.link(torch.cat([a, b, a * b], -1)).float()
            return Result(loss + F.cross_entropy(link.flatten(0, 2), labels.flatten()))

    def inputs(b):
        return {"ids": words(b, 192), "spans": torch.zeros(b, 192 * 10 - 45),
                "labels": torch.zeros(b, 48, 48, dtype=torch.int64)}
    return Net(), inputs, "own"


def distilled_words():
    """A small model of a language learns from a large one: its word scores, its hidden states and its attention."""
    class Layer(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.qkv, self.o = heads, nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.n1, self.n2 = nn.LayerNorm(c), nn.LayerNorm(c)
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c))

        def forward(self, x):
            q, k, v = (heads_first(t, self.heads) for t in self.qkv(x).chunk(3, -1))
            x = self.n1(x + self.o(heads_joined(F.scaled_dot_product_attention(q, k, v))))
            return self.n2(x + self.f(x)), v

    class Model(nn.Module):
        def __init__(self, rows, c, heads, depth, seq):
            super().__init__()
            self.word, self.place = nn.Embedding(rows, c), nn.Parameter(torch.randn(seq, c) * 0.02)
            self.norm, self.body = nn.LayerNorm(c), nn.ModuleList(Layer(c, heads) for _ in range(depth))
            self.turn = nn.Sequential(nn.Linear(c, c), nn.GELU(), nn.LayerNorm(c))
            self.bias = nn.Parameter(torch.zeros(rows))

        def forward(self, ids):
            x, v = self.norm(self.word(ids) + self.place), None
            for f in self.body:
                x, v = f(x)
            return F.linear(self.turn(x), self.word.weight, self.bias), x, v

    class Net(nn.Module):
        def __init__(self, rows=30522, seq=256, heat=2.0):
            super().__init__()
            self.heat, self.old = heat, Model(rows, 1024, 16, 12, seq).requires_grad_(False)
            self.new, self.up = Model(rows, 384, 12, 6, seq), nn.Linear(384, 1024)

        @staticmethod
        def relations(v, heads=12):
            v = heads_first(heads_joined(v)[..., :v.shape[1] * v.shape[3] // heads * heads], heads)
            return (v @ v.transpose(-1, -2) / math.sqrt(v.shape[-1])).float().log_softmax(-1)

        def forward(self, ids, labels):
            with torch.no_grad():
                goal, state, values = self.old(ids)
                goal, seen = (goal.float() / self.heat).softmax(-1), self.relations(values)
            score, x, v = self.new(ids)
            loss = F.kl_div((score.float() / self.heat).log_softmax(-1), goal, reduction="batchmean")
            loss = loss * self.heat ** 2 / ids.shape[1] + F.cross_entropy(score.flatten(0, 1), labels.flatten())
            loss = loss + F.kl_div(self.relations(v), seen, reduction="batchmean", log_target=True) / ids.shape[1]
            near = F.cosine_embedding_loss(self.up(x).flatten(0, 1).float(), state.flatten(0, 1).float(),
                                           torch.ones(ids.numel(), device=ids.device))
            return Result(loss + near)
    return Net(), lambda b: {"ids": words(b, 256), "labels": words(b, 256)}, "own"


def segment_memory():
    """Long books: states of the last segment are kept for the next one, and attention knows distances, not places."""
    class Layer(nn.Module):
        def __init__(self, c, heads, inner):
            super().__init__()
            self.heads, self.qkv, self.far = heads, nn.Linear(c, 3 * c, bias=False), nn.Linear(c, c, bias=False)
            self.u, self.w = (nn.Parameter(torch.randn(heads, c // heads) * 0.02) for _ in range(2))
            self.o, self.n1, self.n2 = nn.Linear(c, c, bias=False), nn.LayerNorm(c), nn.LayerNorm(c)
            self.f = nn.Sequential(nn.Linear(c, inner), nn.ReLU(inplace=True), nn.Dropout(0.1), nn.Linear(inner, c),
                                   nn.Dropout(0.1))

        @staticmethod
        def shifted(x):
            """Row i moves left, so that column j is at distance i - j."""
            b, h, n, m = x.shape
            return F.pad(x, (1, 0)).view(b, h, m + 1, n)[:, :, 1:].reshape(b, h, n, m)

        def forward(self, x, old, far, mask):
            n = x.shape[1]
            q, k, v = self.qkv(torch.cat([old, x], 1)).chunk(3, -1)
            q = q[:, -n:].unflatten(-1, (self.heads, -1))
            k, v = (t.unflatten(-1, (self.heads, -1)) for t in (k, v))
            r = self.far(far).unflatten(-1, (self.heads, -1))
            score = torch.einsum("bihd,bjhd->bhij", q + self.u, k)
            score = score + self.shifted(torch.einsum("bihd,jhd->bhij", q + self.w, r))
            look = (score.float() / math.sqrt(q.shape[-1])).masked_fill(mask, -1e30).softmax(-1)
            y = torch.einsum("bhij,bjhd->bihd", F.dropout(look.to(v.dtype), 0.1, self.training), v)
            x = self.n1(x + F.dropout(self.o(y.flatten(2)), 0.1, self.training))
            return self.n2(x + self.f(x))

    class Net(nn.Module):
        def __init__(self, rows=32000, c=512, heads=8, inner=2048, depth=8, seq=256, parts=3):
            super().__init__()
            self.word, self.out, self.seq, self.parts = nn.Embedding(rows, c), nn.Linear(c, rows), seq, parts
            self.body = nn.ModuleList(Layer(c, heads, inner) for _ in range(depth))
            away = torch.arange(2 * seq - 1, -1, -1.0)[:, None] * 10000 ** (-torch.arange(0, c, 2.0) / c)
            self.register_buffer("far", torch.cat([away.sin(), away.cos()], -1), persistent=False)
            self.register_buffer("mask", torch.ones(seq, 2 * seq, dtype=torch.bool).triu(seq + 1), persistent=False)

        def forward(self, ids, labels):
            old, loss = [None] * len(self.body), 0
            for part, goal in zip(ids.split(self.seq, 1), labels.split(self.seq, 1)):
                x, new = self.word(part) * math.sqrt(self.word.embedding_dim), []
                for f, kept in zip(self.body, old):
                    new.append(x.detach())
                    kept = torch.zeros_like(x) if kept is None else kept
                    x = f(x, kept, self.far.to(x.dtype), self.mask)
                old, loss = new, loss + F.cross_entropy(self.out(x).flatten(0, 1), goal.flatten())
            return Result(loss / self.parts)
    return Net(), lambda b: {"ids": words(b, 768), "labels": words(b, 768)}, "own"


def retrieved_chunks():
    """A model of texts that looks up neighbours: each chunk of 64 words attends to two found passages."""
    class Cross(nn.Module):
        def __init__(self, c, heads, size):
            super().__init__()
            self.size, self.norm, self.a = size, RMSNorm(c), Attention(c, heads, bias=False)

        def forward(self, x, found):
            b, n, c = x.shape
            late = F.pad(x[:, self.size - 1:], (0, 0, 0, self.size - 1))
            y = self.norm(late).reshape(b * n // self.size, self.size, c)
            y = self.a(y, found.flatten(0, 1)).reshape(b, n, c)
            return x + F.pad(y, (0, 0, self.size - 1, 0))[:, :n]

    class Layer(nn.Module):
        def __init__(self, c, heads, inner, seq):
            super().__init__()
            self.heads, self.n1, self.n2 = heads, RMSNorm(c), RMSNorm(c)
            self.qkv, self.o = nn.Linear(c, 3 * c, bias=False), nn.Linear(c, c, bias=False)
            self.turn, self.up = Rotary(c // heads, seq), nn.Linear(c, 2 * inner, bias=False)
            self.down = nn.Linear(inner, c, bias=False)

        def forward(self, x):
            q, k, v = (heads_first(t, self.heads) for t in self.qkv(self.n1(x)).chunk(3, -1))
            y = F.scaled_dot_product_attention(self.turn(q), self.turn(k), v, is_causal=True)
            x = x + self.o(heads_joined(y))
            a, b = self.up(self.n2(x)).chunk(2, -1)
            return x + self.down(F.silu(a) * b)

    class Net(nn.Module):
        def __init__(self, rows=32000, c=768, heads=12, depth=9, seq=1024, size=64, near=2, long=128):
            super().__init__()
            self.word, self.place = nn.Embedding(rows, c), nn.Parameter(torch.randn(long, c) * 0.02)
            self.reader = nn.ModuleList(Encoder(c, heads, 2048) for _ in range(2))
            self.body = nn.ModuleList(Layer(c, heads, 2048, seq) for _ in range(depth))
            self.cross = nn.ModuleDict({str(n): Cross(c, heads, size) for n in (2, 5, 8)})
            self.norm, self.out = RMSNorm(c), nn.Linear(c, rows, bias=False)

        def forward(self, ids, found, labels):
            b, chunks, near, long = found.shape
            y = (self.word(found) + self.place).flatten(0, 2)
            for f in self.reader:
                y = f(y)
            y, x = y.view(b, chunks, near * long, -1), self.word(ids)
            for n, f in enumerate(self.body):
                x = f(x)
                if str(n) in self.cross:
                    x = self.cross[str(n)](x, y)
            return Result(F.cross_entropy(self.out(self.norm(x)).float().flatten(0, 1), labels.flatten()))

    def inputs(b):
        return {"ids": words(b, 1024), "found": torch.zeros(b, 16, 2, 128, dtype=torch.int64), "labels": words(b, 1024)}
    return Net(), inputs, "own"


NETWORKS = {f.__name__: f for f in (echo_canceller, guessed_codes, swapped_voices, biaffine_arcs, span_entities,
                                    distilled_words, segment_memory, retrieved_chunks)}
STEPS = {"echo_canceller": ("fp32", 8, "nchw", "adam"), "guessed_codes": ("amp-bf16", 16, "nchw", "adamw"),
         "swapped_voices": ("tf32", 128, "nchw", "adam"), "biaffine_arcs": ("fp32", 64, "nchw", "adam"),
         "span_entities": ("amp-fp16", 16, "nchw", "adamw"), "distilled_words": ("amp-bf16", 32, "nchw", "adamw"),
         "segment_memory": ("tf32", 16, "nchw", "adam"), "retrieved_chunks": ("amp-bf16", 8, "nchw", "adamw")}
