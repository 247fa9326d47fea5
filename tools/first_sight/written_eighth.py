# SPDX-License-Identifier: Apache-2.0
"""written_eighth.py - more of the seventh set of networks as people write them: language, search and time series. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, Encoder, RMSNorm, Result, Rotary, heads_first, heads_joined, words


def sorted_experts():
    """A language model with grouped key-value heads; each token goes to two of eight experts with a capacity."""
    class Experts(nn.Module):
        def __init__(self, width, inner, experts, chosen=2):
            super().__init__()
            self.router, self.experts, self.chosen = nn.Linear(width, experts, bias=False), experts, chosen
            self.up = nn.Parameter(0.02 * torch.randn(experts, width, 2 * inner))
            self.down = nn.Parameter(0.02 * torch.randn(experts, inner, width))

        def forward(self, x):
            x, shape = x.flatten(0, 1), x.shape
            p = self.router(x).float().softmax(-1)
            gates, kinds = p.topk(self.chosen, -1)
            gates, kinds = (gates / gates.sum(-1, keepdim=True)).flatten(), kinds.flatten()
            room = 5 * len(kinds) // (4 * self.experts)
            order = kinds.argsort(stable=True)
            count = kinds.new_zeros(self.experts).scatter_add(0, kinds, torch.ones_like(kinds))
            sorted_kinds = kinds[order]
            place = torch.arange(len(kinds), device=x.device) - (count.cumsum(0) - count)[sorted_kinds]
            fits = place < room
            slot = torch.where(fits, sorted_kinds * room + place, self.experts * room)
            token = order // self.chosen
            sent = x.new_zeros(self.experts * room + 1, x.shape[1]).index_copy(0, slot, x[token])
            a, b = torch.bmm(sent[:-1].view(self.experts, room, -1), self.up).chunk(2, -1)
            y = torch.bmm(F.silu(a) * b, self.down).flatten(0, 1)
            y = F.pad(y, (0, 0, 0, 1))[slot] * gates[order].unsqueeze(-1).to(y.dtype)
            extra = self.experts * (count.float() / len(kinds) * p.mean(0)).sum()
            return torch.zeros_like(x).index_add(0, token, y.to(x.dtype)).view(shape), extra

    class Block(nn.Module):
        def __init__(self, width, heads, shared, inner, experts):
            super().__init__()
            self.n1, self.n2 = RMSNorm(width), RMSNorm(width)
            self.size, self.split = width // heads, (heads, shared, shared)
            self.qkv = nn.Linear(width, self.size * (heads + 2 * shared), bias=False)
            self.o, self.f = nn.Linear(width, width, bias=False), Experts(width, inner, experts)

        def forward(self, x, rotary):
            q, k, v = heads_first(self.qkv(self.n1(x)), sum(self.split)).split(self.split, 1)
            y = F.scaled_dot_product_attention(rotary(q), rotary(k), v, is_causal=True, enable_gqa=True)
            x = x + self.o(heads_joined(y))
            y, extra = self.f(self.n2(x))
            return x + y, extra

    class Net(nn.Module):
        def __init__(self, vocab=32000, width=768, heads=12, shared=4, inner=1024, experts=8, depth=8, seq=1024):
            super().__init__()
            self.embed, self.rotary = nn.Embedding(vocab, width), Rotary(width // heads, seq)
            self.body = nn.ModuleList(Block(width, heads, shared, inner, experts) for _ in range(depth))
            self.norm, self.head = RMSNorm(width), nn.Linear(width, vocab, bias=False)

        def forward(self, tokens, labels):
            x, extra = self.embed(tokens), 0
            for block in self.body:
                x, more = block(x, self.rotary)
                extra = extra + more
            loss = F.cross_entropy(self.head(self.norm(x)).flatten(0, 1).float(), labels.flatten())
            return Result(loss + 0.01 * extra)
    return Net(), lambda b: {"tokens": words(b, 1024), "labels": words(b, 1024)}, "own"



def gated_recurrence():
    """A language model of gated linear recurrences, scanned by doubling; each third layer attends in a window."""
    class Recurrence(nn.Module):
        def __init__(self, width, inner):
            super().__init__()
            self.x, self.y, self.o = nn.Linear(width, inner), nn.Linear(width, inner), nn.Linear(inner, width)
            self.conv = nn.Conv1d(inner, inner, 4, padding=3, groups=inner)
            self.gates, self.decay = nn.Linear(inner, 2 * inner), nn.Parameter(torch.rand(inner) + 1)

        def scan(self, a, b):
            """h[t] = a[t] h[t - 1] + b[t] for all t in a logarithmic number of steps."""
            shift, n = 1, a.shape[1]
            while shift < n:
                b = b + a * F.pad(b[:, :-shift], (0, 0, shift, 0))
                a = a * F.pad(a[:, :-shift], (0, 0, shift, 0))
                shift *= 2
            return b

        def forward(self, u):
            x = self.conv(self.x(u).transpose(1, 2))[..., :u.shape[1]].transpose(1, 2)
            r, i = self.gates(x).float().sigmoid().chunk(2, -1)
            log_a = -8 * F.softplus(self.decay) * r
            b = torch.sqrt(1 - torch.exp(2 * log_a) + 1e-6) * i * x.float()
            return self.o(self.scan(log_a.exp(), b).to(u.dtype) * F.gelu(self.y(u)))

    class Block(nn.Module):
        def __init__(self, width, attends):
            super().__init__()
            self.n1, self.n2, self.attends = RMSNorm(width), RMSNorm(width), attends
            self.a = Attention(width, width // 64, bias=False) if attends else Recurrence(width, width * 4 // 3)
            self.up, self.down = nn.Linear(width, 6 * width), nn.Linear(3 * width, width)

        def forward(self, x, mask):
            x = x + (self.a(self.n1(x), mask=mask) if self.attends else self.a(self.n1(x)))
            a, b = self.up(self.n2(x)).chunk(2, -1)
            return x + self.down(F.gelu(a, approximate="tanh") * b)

    class Net(nn.Module):
        def __init__(self, vocab=32000, width=768, depth=9, seq=1024, window=256):
            super().__init__()
            self.embed = nn.Embedding(vocab, width)
            self.body = nn.ModuleList(Block(width, n % 3 == 2) for n in range(depth))
            self.norm, self.head = RMSNorm(width), nn.Linear(width, vocab, bias=False)
            d = torch.arange(seq).view(-1, 1) - torch.arange(seq)
            self.register_buffer("mask", (d >= 0) & (d < window), persistent=False)

        def forward(self, tokens):
            x = self.embed(tokens) * math.sqrt(768)
            for block in self.body:
                x = block(x, self.mask)
            return 30 * torch.tanh(self.head(self.norm(x)) / 30)
    return Net(), lambda b: words(b, 1024), "cross-entropy"



def inverted_series():
    """A forecaster of road traffic: each of 862 sensors is a token that attends to the other sensors."""
    class Net(nn.Module):
        def __init__(self, past=720, future=336, width=512, depth=4):
            super().__init__()
            self.put, self.drop = nn.Linear(past, width), nn.Dropout(0.1)
            self.body = nn.ModuleList(Encoder(width, 8, 2048, dropout=0.1) for _ in range(depth))
            self.norm, self.take = nn.LayerNorm(width), nn.Linear(width, future)
            self.weight, self.bias = nn.Parameter(torch.ones(862)), nn.Parameter(torch.zeros(862))

        def forward(self, past, clock):
            mean = past.mean(1, keepdim=True).detach()
            scale = (past.var(1, keepdim=True, correction=0) + 1e-5).sqrt().detach()
            x = (past - mean) / scale * self.weight + self.bias
            x = self.drop(self.put(torch.cat([x, clock], 2).transpose(1, 2)))
            for block in self.body:
                x = block(x)
            y = self.take(self.norm(x)).transpose(1, 2)[..., :past.shape[2]]
            return (y - self.bias) / (self.weight + 1e-10) * scale + mean
    return Net(), lambda b: (torch.zeros(b, 720, 862), torch.zeros(b, 720, 4)), "mse"



def basis_series():
    """A forecaster of single series: 30 doubly residual blocks whose outputs weight trends, waves or free bases."""
    class Block(nn.Module):
        def __init__(self, past, future, width, basis):
            super().__init__()
            layers = [m for n in range(4) for m in (nn.Linear(past if n == 0 else width, width), nn.ReLU())]
            self.f, self.past = nn.Sequential(*layers), past
            self.weights = nn.Linear(width, (past + future) if basis is None else len(basis), bias=basis is None)
            self.register_buffer("basis", basis, persistent=False)

        def forward(self, x):
            w = self.weights(self.f(x))
            y = w if self.basis is None else w @ self.basis
            return y[:, :self.past], y[:, self.past:]

    class Net(nn.Module):
        def __init__(self, past=336, future=96, width=512):
            super().__init__()
            t = torch.arange(past + future).float() / (past + future)
            trend = torch.stack([t ** n for n in range(4)])
            angles = 2 * math.pi * torch.outer(torch.arange(48).float(), t)
            waves = torch.cat([angles.cos(), angles.sin()])
            self.blocks = nn.ModuleList(Block(past, future, width, basis) for basis in (trend, waves, None)
                                        for _ in range(10))

        def forward(self, past, future):
            scale = past.abs().mean(1, keepdim=True) + 1e-6
            x, total = past / scale, 0
            for block in self.blocks:
                back, ahead = block(x)
                x, total = x - back, total + ahead
            total = total * scale
            return Result((2 * (total - future).abs() / (total.abs() + future.abs() + 1e-6).detach()).mean())
    return Net(), lambda b: (torch.zeros(b, 336), torch.zeros(b, 96)), "own"



def copy_summary():
    """Summaries of long articles: attention in neighbouring windows, a decoder that writes or copies words."""
    class Near(nn.Module):
        """Tokens of a window attend to their window and the ones beside it."""

        def __init__(self, width, heads, window=128):
            super().__init__()
            self.heads, self.window = heads, window
            self.norm, self.qkv, self.o = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            q, k, v = self.qkv(self.norm(x)).unflatten(1, (-1, self.window)).chunk(3, -1)
            k, v = (F.pad(t, (0, 0, 0, 0, 1, 1)) for t in (k, v))
            k, v = (torch.cat([t[:, :-2], t[:, 1:-1], t[:, 2:]], 2).flatten(0, 1) for t in (k, v))
            q, k, v = (heads_first(t, self.heads) for t in (q.flatten(0, 1), k, v))
            return x + self.o(heads_joined(F.scaled_dot_product_attention(q, k, v)).reshape(x.shape))

    class Write(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.n1, self.n2, self.n3 = (nn.LayerNorm(width) for _ in range(3))
            self.own, self.cross = Attention(width, heads), Attention(width, heads)
            self.f = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(4 * width, width))

        def forward(self, x, seen):
            x = x + self.own(self.n1(x), causal=True)
            x = x + self.cross(self.n2(x), seen)
            return x + self.f(self.n3(x))

    class Net(nn.Module):
        def __init__(self, vocab=30000, width=512, heads=8, depth=6):
            super().__init__()
            self.embed, self.place = nn.Embedding(vocab, width), nn.Embedding(1024, width)
            self.near = nn.ModuleList(Near(width, heads) for _ in range(depth))
            self.dense = nn.ModuleList(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2048), nn.ReLU(),
                                                     nn.Linear(2048, width)) for _ in range(depth))
            self.write, self.norm = nn.ModuleList(Write(width, heads) for _ in range(depth)), nn.LayerNorm(width)
            self.q, self.k, self.copies = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1)

        def forward(self, article, summary, labels):
            place = torch.arange(article.shape[1], device=article.device)
            x, y = self.embed(article) + self.place(place), self.embed(summary) + self.place(place[:summary.shape[1]])
            for near, dense in zip(self.near, self.dense):
                x = near(x)
                x = x + dense(x)
            for write in self.write:
                y = write(y, x)
            y = self.norm(y)
            new = (y @ self.embed.weight.t()).float().softmax(-1)
            old = (self.q(y) @ self.k(x).transpose(1, 2) / math.sqrt(y.shape[-1])).float().softmax(-1)
            p = self.copies(y).float().sigmoid()
            both = ((1 - p) * new).scatter_add(2, article.unsqueeze(1).expand(-1, y.shape[1], -1), p * old)
            return Result(F.nll_loss((both + 1e-9).log().flatten(0, 1), labels.flatten()))
    return Net(), lambda b: {"article": words(b, 1024), "summary": words(b, 128), "labels": words(b, 128)}, "own"



def multi_token():
    """A language model with parallel attention and dense layers, squared ReLU, and heads for the next three tokens."""
    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.inner, self.norm = heads, 4 * width, RMSNorm(width)
            self.nq, self.nk = RMSNorm(width // heads), RMSNorm(width // heads)
            self.put = nn.Linear(width, 3 * width + self.inner, bias=False)
            self.take = nn.Linear(width + self.inner, width, bias=False)

        def forward(self, x, rotary):
            w = x.shape[-1]
            q, k, v, f = self.put(self.norm(x)).split([w, w, w, self.inner], -1)
            q, k, v = (heads_first(t, self.heads) for t in (q, k, v))
            y = F.scaled_dot_product_attention(rotary(self.nq(q)), rotary(self.nk(k)), v, is_causal=True)
            return x + self.take(torch.cat([heads_joined(y), F.relu(f).square()], -1))

    class Net(nn.Module):
        def __init__(self, vocab=32768, width=1024, heads=8, depth=12, seq=1024, ahead=3):
            super().__init__()
            self.embed, self.rotary = nn.Embedding(vocab, width), Rotary(width // heads, seq)
            self.body, self.ahead = (nn.ModuleList(Block(width, heads) for _ in range(n)) for n in (depth, ahead))
            self.norm, self.head = RMSNorm(width), nn.Linear(width, vocab, bias=False)

        def forward(self, tokens, labels):
            x, total = self.embed(tokens), 0
            for block in self.body:
                x = block(x, self.rotary)
            for n, block in enumerate(self.ahead):
                logits = self.head(self.norm(block(x, self.rotary)))[:, :tokens.shape[1] - n]
                total = total + F.cross_entropy(logits.flatten(0, 1).float(), labels[:, n:].flatten())
            return Result(total / len(self.ahead))
    return Net(), lambda b: {"tokens": words(b, 1024), "labels": words(b, 1024)}, "own"



def tagging_crf():
    """Names in sentences: filters over letters, a two-way LSTM over words, and a conditional random field."""
    class Net(nn.Module):
        def __init__(self, vocab=100000, letters=120, width=256, tags=19):
            super().__init__()
            self.word, self.letter = nn.Embedding(vocab, 200), nn.Embedding(letters, 50)
            self.conv, self.drop = nn.Conv1d(50, 100, 3, padding=1), nn.Dropout(0.5)
            self.read = nn.LSTM(300, width, 2, batch_first=True, bidirectional=True, dropout=0.5)
            self.score, self.move = nn.Linear(2 * width, tags), nn.Parameter(torch.zeros(tags, tags))
            self.first, self.last = nn.Parameter(torch.zeros(tags)), nn.Parameter(torch.zeros(tags))

        def every_path(self, scores):
            total = self.first + scores[:, 0]
            for n in range(1, scores.shape[1]):
                total = torch.logsumexp(total.unsqueeze(2) + self.move, 1) + scores[:, n]
            return torch.logsumexp(total + self.last, 1)

        def right_path(self, scores, tags):
            found = scores.gather(2, tags.unsqueeze(2)).sum((1, 2)) + self.move[tags[:, :-1], tags[:, 1:]].sum(1)
            return found + self.first[tags[:, 0]] + self.last[tags[:, -1]]

        def forward(self, tokens, letters, labels):
            c = self.letter(letters).flatten(0, 1).transpose(1, 2)
            c = self.conv(c).amax(2).unflatten(0, tokens.shape)
            x = self.read(self.drop(torch.cat([self.word(tokens), c], 2)))[0]
            scores = self.score(self.drop(x)).float()
            return Result((self.every_path(scores) - self.right_path(scores, labels)).mean())

    def inputs(b):
        return {"tokens": words(b, 60), "letters": torch.zeros(b, 60, 16, dtype=torch.int64), "labels": words(b, 60)}
    return Net(), inputs, "own"



def retrieval_towers():
    """Search: one encoder for queries and passages, negatives from the batch, and nested sizes of embeddings."""
    class Net(nn.Module):
        def __init__(self, vocab=30522, width=384, depth=12, sizes=(64, 128, 384)):
            super().__init__()
            self.embed, self.place, self.sizes = nn.Embedding(vocab, width), nn.Embedding(512, width), sizes
            self.body = nn.ModuleList(Encoder(width, 12, dropout=0.1) for _ in range(depth))
            self.norm, self.last = nn.LayerNorm(width), nn.LayerNorm(width)
            self.scale = nn.Parameter(torch.tensor(3.0))

        def encoded(self, tokens):
            seen = tokens != 0
            x = self.norm(self.embed(tokens) + self.place(torch.arange(tokens.shape[1], device=tokens.device)))
            mask = seen[:, None, None]
            for block in self.body:
                x = block(x, mask)
            x = self.last(x) * seen.unsqueeze(-1)
            return x.sum(1) / seen.sum(1, keepdim=True).clamp(min=1)

        def forward(self, queries, passages, others):
            q, p = self.encoded(queries), torch.cat([self.encoded(passages), self.encoded(others)])
            right, total = torch.arange(len(q), device=q.device), 0
            for n in self.sizes:
                a, b = (F.normalize(t[:, :n].float(), dim=1) for t in (q, p))
                scores = a @ b.t() * self.scale.exp()
                total = total + F.cross_entropy(scores, right)
            return Result(total)
    return Net(), lambda b: (words(b, 32), words(b, 256), words(b, 256)), "own"


NETWORKS = {f.__name__: f for f in (sorted_experts, gated_recurrence, inverted_series, basis_series, copy_summary,
                                    multi_token, tagging_crf, retrieval_towers)}
STEPS = {"sorted_experts": ("bf16", 8), "gated_recurrence": ("amp-bf16", 12), "inverted_series": ("tf32", 32),
         "basis_series": ("fp32", 1024), "copy_summary": ("amp-bf16", 20), "multi_token": ("bf16", 8),
         "tagging_crf": ("fp32", 64), "retrieval_towers": ("bf16", 128)}
