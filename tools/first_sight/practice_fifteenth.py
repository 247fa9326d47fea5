# SPDX-License-Identifier: Apache-2.0
"""practice_fifteenth.py - networks for practice, the fifteenth set: language models with other attention. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from blocks import Result, RMSNorm, Rotary, heads_first, heads_joined, words


def next_word(score, ids):
    """Cross-entropy of each next token, in fp32."""
    return F.cross_entropy(score[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())


class Gated(nn.Module):
    """Two dense layers whose inner values are gated."""

    def __init__(self, c, inner, act=F.silu):
        super().__init__()
        self.a, self.b, self.act = nn.Linear(c, 2 * inner, bias=False), nn.Linear(inner, c, bias=False), act

    def forward(self, x):
        x, gate = self.a(x).chunk(2, -1)
        return self.b(self.act(gate) * x)


def sloped_novels():
    """Novels: scores fall with the distance at another slope per head, keys are shared by all heads, tied words."""
    class Block(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.size = heads, c // heads
            self.n = nn.LayerNorm(c, elementwise_affine=False)
            self.qkv, self.o = nn.Linear(c, c + 2 * self.size, bias=False), nn.Linear(c, c, bias=False)
            self.up, self.down = nn.Linear(c, 4 * c), nn.Linear(4 * c, c)

        def forward(self, x, bias):
            y = self.n(x)
            q, k, v = self.qkv(y).split([x.shape[-1], self.size, self.size], -1)
            q = heads_first(q, self.heads) / math.sqrt(self.size)
            look = torch.matmul(q, k.transpose(1, 2).unsqueeze(1)) + bias
            look = F.dropout(F.softmax(look, -1, dtype=torch.float32).to(v.dtype), 0.1, self.training)
            y = self.o(heads_joined(look @ v.unsqueeze(1))) + self.down(F.gelu(self.up(y), approximate="tanh"))
            return x + y

    class Net(nn.Module):
        def __init__(self, vocab=32128, c=640, heads=10, depth=8, seq=768):
            super().__init__()
            self.word, self.body = nn.Embedding(vocab, c), nn.ModuleList(Block(c, heads) for _ in range(depth))
            self.norm = nn.LayerNorm(c)
            slope = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
            far = torch.arange(seq)[None, :] - torch.arange(seq)[:, None]
            bias = slope[:, None, None] * far.clamp(max=0) + torch.full((seq, seq), float("-inf")).triu(1)
            self.register_buffer("bias", bias, persistent=False)

        def forward(self, ids):
            x = self.word(ids)
            for f in self.body:
                x = f(x, self.bias)
            return Result(next_word(F.linear(self.norm(x), self.word.weight), ids))
    return Net(), lambda b: words(b, 768), "own"


def windows_with_sinks():
    """A language model in windows of 128 tokens in every second layer, with a learned sink beside the scores."""
    class Block(nn.Module):
        def __init__(self, c, heads, groups, window):
            super().__init__()
            self.heads, self.groups, self.window, size = heads, groups, window, c // heads
            self.q, self.kv, self.o = nn.Linear(c, c), nn.Linear(c, 2 * groups * size), nn.Linear(c, c)
            self.sink, self.n1, self.n2, self.f = nn.Parameter(torch.zeros(heads)), RMSNorm(c), RMSNorm(c), Gated(c, 3 * c)

        def forward(self, x, turn):
            b, n, c = x.shape
            y = self.n1(x)
            k, v = self.kv(y).chunk(2, -1)
            q, k, v = turn(heads_first(self.q(y), self.heads)), turn(heads_first(k, self.groups)), heads_first(v, self.groups)
            q = q.unflatten(1, (self.groups, -1))
            look = torch.einsum("bgrqd,bgkd->bgrqk", q, k) * q.shape[-1] ** -0.5
            place = torch.arange(n, device=x.device)
            far = place[:, None] - place[None]
            hidden = (far < 0) | (far >= self.window) if self.window else far < 0
            look = look.masked_fill(hidden, torch.finfo(look.dtype).min).flatten(1, 2)
            look = torch.cat([look, self.sink.view(1, -1, 1, 1).expand(b, -1, n, 1).to(look.dtype)], -1)
            look = (look - look.amax(-1, keepdim=True)).softmax(-1)[..., :-1].unflatten(1, (self.groups, -1)).to(v.dtype)
            y = torch.einsum("bgrqk,bgkd->bqgrd", look, v).reshape(b, n, c)
            x = x + self.o(y)
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, vocab=24000, c=512, depth=8, seq=1024):
            super().__init__()
            self.word, self.turn = nn.Embedding(vocab, c), Rotary(64, seq)
            self.body = nn.ModuleList(Block(c, 8, 2, 0 if n % 2 else 128) for n in range(depth))
            self.norm, self.out = RMSNorm(c), nn.Linear(c, vocab, bias=False)

        def forward(self, ids):
            x = self.word(ids)
            for f in self.body:
                x = f(x, self.turn)
            return Result(next_word(self.out(self.norm(x)), ids))
    return Net(), lambda b: words(b, 1024), "own"


def random_features():
    """Byte models with attention by random features: sums of keys and values run along the text."""
    class Block(nn.Module):
        def __init__(self, c, heads, features):
            super().__init__()
            self.heads, self.n1, self.n2 = heads, nn.LayerNorm(c), nn.LayerNorm(c)
            self.qkv, self.o = nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.register_buffer("draw", torch.randn(features, c // heads))
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c))

        def features(self, x):
            x = x * x.shape[-1] ** -0.25
            y = x @ self.draw.t() - x.pow(2).sum(-1, keepdim=True) / 2
            return torch.exp(y - y.amax((-1, -2), keepdim=True).detach()) + 1e-4

        def forward(self, x):
            q, k, v = (heads_first(t, self.heads) for t in self.qkv(self.n1(x)).chunk(3, -1))
            q, k = self.features(q), self.features(k)
            total = torch.cumsum(torch.einsum("bhnf,bhnd->bhnfd", k, v), 2)
            y = torch.einsum("bhnf,bhnfd->bhnd", q, total) / torch.einsum("bhnf,bhnf->bhn", q, k.cumsum(2)).unsqueeze(-1)
            x = x + self.o(heads_joined(y))
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, c=256, depth=4, seq=1024):
            super().__init__()
            self.word, self.place = nn.Embedding(259, c), nn.Parameter(torch.randn(seq, c) * 0.02)
            self.body, self.out = nn.ModuleList(Block(c, 4, 48) for _ in range(depth)), nn.Linear(c, 259)

        def forward(self, ids):
            x = self.word(ids) + self.place
            for f in self.body:
                x = checkpoint(f, x, use_reentrant=False)
            return Result(next_word(self.out(x), ids))
    return Net(), lambda b: words(b, 1024), "own"


def retained_chunks():
    """A language model that retains: decays within chunks, a state from chunk to chunk, a norm for each head."""
    class Block(nn.Module):
        def __init__(self, c, heads, chunk):
            super().__init__()
            self.heads, self.n1, self.n2, self.f = heads, nn.LayerNorm(c), nn.LayerNorm(c), Gated(c, 2 * c, F.gelu)
            self.qk, self.vg, self.o = nn.Linear(c, 2 * c, bias=False), nn.Linear(c, 4 * c, bias=False), nn.Linear(2 * c, c, bias=False)
            self.norm = nn.GroupNorm(heads, 2 * c, affine=False)
            rate = torch.log(1 - 2.0 ** (-5 - torch.arange(heads))).view(-1, 1, 1)
            place = torch.arange(chunk)
            far = (place[:, None] - place[None]).float()
            self.register_buffer("inner", torch.exp(rate * far) * (far >= 0))
            self.register_buffer("enter", torch.exp(rate * (place + 1.0)[:, None]))
            self.register_buffer("leave", torch.exp(rate * (chunk - 1.0 - place)[:, None]))
            self.register_buffer("whole", torch.exp(rate * chunk))
            self.chunk = chunk

        def forward(self, x):
            y = self.n1(x)
            q, k = (heads_first(t, self.heads) for t in self.qk(y).chunk(2, -1))
            v, gate = self.vg(y).chunk(2, -1)
            v, k = heads_first(v, self.heads), k * k.shape[-1] ** -0.5
            state, parts = 0, []
            for a, b, c in zip(q.split(self.chunk, 2), k.split(self.chunk, 2), v.split(self.chunk, 2)):
                part = (a @ b.transpose(-1, -2) * self.inner) @ c
                part = part + (a * self.enter) @ state if parts else part
                state = self.whole * state + (b * self.leave).transpose(-1, -2) @ c
                parts.append(part)
            y = heads_joined(torch.cat(parts, 2))
            y = self.norm(y.flatten(0, 1)).view_as(y)
            x = x + self.o(F.silu(gate) * y)
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, vocab=16384, c=512, depth=6):
            super().__init__()
            self.word, self.body = nn.Embedding(vocab, c), nn.Sequential(*(Block(c, 8, 128) for _ in range(depth)))
            self.norm, self.out = nn.LayerNorm(c), nn.Linear(c, vocab, bias=False)

        def forward(self, ids):
            return Result(next_word(self.out(self.norm(self.body(self.word(ids)))), ids))
    return Net(), lambda b: words(b, 1024), "own"


def low_rank_keys():
    """A language model with low-rank queries, keys and values, a rotated part shared by heads, and two predictions."""
    class Block(nn.Module):
        def __init__(self, c, heads, rank, plain, turned):
            super().__init__()
            self.heads, self.plain, self.turned, self.rank = heads, plain, turned, rank
            self.n1, self.n2, self.nq, self.nk = RMSNorm(c), RMSNorm(2 * rank), RMSNorm(rank), RMSNorm(c)
            self.q1, self.q2 = nn.Linear(c, 2 * rank, bias=False), nn.Linear(2 * rank, heads * (plain + turned), bias=False)
            self.k1, self.k2 = nn.Linear(c, rank + turned, bias=False), nn.Linear(rank, heads * 2 * plain, bias=False)
            self.o, self.f = nn.Linear(heads * plain, c, bias=False), Gated(c, 1408)

        def forward(self, x, turn):
            y = self.n1(x)
            q = heads_first(self.q2(self.n2(self.q1(y))), self.heads)
            q, qt = q.split([self.plain, self.turned], -1)
            k, kt = self.k1(y).split([self.rank, self.turned], -1)
            k, v = heads_first(self.k2(self.nq(k)), self.heads).split([self.plain, self.plain], -1)
            kt = turn(kt.unsqueeze(1)).expand(-1, self.heads, -1, -1)
            q, k = torch.cat([q, turn(qt)], -1), torch.cat([k, kt], -1)
            y = F.scaled_dot_product_attention(q, k.to(q.dtype), v.to(q.dtype), is_causal=True)
            x = x + self.o(heads_joined(y))
            return x + self.f(self.nk(x))

    class Net(nn.Module):
        def __init__(self, vocab=25600, c=576, depth=6, seq=1024):
            super().__init__()
            self.word, self.turn = nn.Embedding(vocab, c), Rotary(32, seq)
            self.body = nn.ModuleList(Block(c, 12, 192, 64, 32) for _ in range(depth + 1))
            self.norm, self.join, self.out = RMSNorm(c), nn.Linear(2 * c, c, bias=False), nn.Linear(c, vocab, bias=False)

        def forward(self, ids):
            x = e = self.word(ids)
            for f in self.body[:-1]:
                x = f(x, self.turn)
            loss = next_word(self.out(self.norm(x)), ids)
            later = torch.cat([self.norm(x), self.norm(torch.roll(e, -1, 1))], -1)
            later = self.out(self.norm(self.body[-1](self.join(later), self.turn)))[:, :-2]
            return Result(loss + 0.3 * F.cross_entropy(later.flatten(0, 1).float(), ids[:, 2:].flatten()))
    return Net(), lambda b: words(b, 1024), "own"


def capped_experts():
    """A language model of 16 experts: tokens are sorted by expert, cut to a capacity, and added back by index."""
    class Experts(nn.Module):
        def __init__(self, c, inner, experts, chosen):
            super().__init__()
            self.experts, self.chosen, self.gate = experts, chosen, nn.Linear(c, experts, bias=False)
            self.w1, self.w2 = (nn.Parameter(torch.randn(experts, a, b) * 0.02) for a, b in ((c, 2 * inner), (inner, c)))

        def forward(self, x):
            n, c = x.shape
            score = self.gate(x).float()
            chance = score.softmax(-1)
            weight, expert = chance.topk(self.chosen, -1)
            weight = weight / weight.sum(-1, keepdim=True)
            order = expert.flatten().argsort(stable=True)
            sorted_expert = expert.flatten()[order]
            count = torch.zeros(self.experts, dtype=torch.int64, device=x.device)
            count = count.scatter_add(0, sorted_expert, torch.ones_like(sorted_expert))
            start = count.cumsum(0) - count
            room = n * self.chosen // self.experts * 5 // 4
            place = torch.arange(n * self.chosen, device=x.device) - start[sorted_expert]
            keep = place < room
            place = sorted_expert * room + place.clamp(max=room - 1)
            token = order // self.chosen
            box = torch.zeros(self.experts * room, c, dtype=x.dtype, device=x.device)
            box = box.index_add(0, place, x[token] * keep.unsqueeze(-1).to(x.dtype)).view(self.experts, room, c)
            a, b = torch.bmm(box, self.w1.to(box.dtype)).chunk(2, -1)
            y = torch.bmm(F.silu(a) * b, self.w2.to(a.dtype)).flatten(0, 1)[place]
            y = y * (weight.flatten()[order] * keep).unsqueeze(-1).to(y.dtype)
            share = count.float() / count.sum()
            extra = self.experts * (share * chance.mean(0)).sum() + 1e-3 * score.logsumexp(-1).square().mean()
            return torch.zeros_like(x, dtype=y.dtype).index_add(0, token, y), extra

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.n1, self.n2, self.a = RMSNorm(c), RMSNorm(c), nn.Linear(c, 3 * c, bias=False)
            self.o, self.f = nn.Linear(c, c, bias=False), Experts(c, 512, 16, 2)

        def forward(self, x):
            q, k, v = (heads_first(t, 8) for t in self.a(self.n1(x)).chunk(3, -1))
            x = x + self.o(heads_joined(F.scaled_dot_product_attention(q, k, v, is_causal=True)))
            y, extra = self.f(self.n2(x).flatten(0, 1))
            return x + y.view_as(x), extra

    class Net(nn.Module):
        def __init__(self, vocab=20000, c=512, depth=4):
            super().__init__()
            self.word, self.body = nn.Embedding(vocab, c), nn.ModuleList(Block(c) for _ in range(depth))
            self.norm, self.out = RMSNorm(c), nn.Linear(c, vocab, bias=False)

        def forward(self, ids):
            x, more = self.word(ids), 0
            for f in self.body:
                x, extra = f(x)
                more = more + extra
            return Result(next_word(self.out(self.norm(x)), ids) + 0.01 * more)
    return Net(), lambda b: words(b, 512), "own"


def hashed_neighbours():
    """Long texts: keys are hashed by random directions, sorted by bucket, and see their own chunk and the last one."""
    class Block(nn.Module):
        def __init__(self, c, heads, buckets, chunk):
            super().__init__()
            self.heads, self.chunk, self.n1, self.n2 = heads, chunk, nn.LayerNorm(c), nn.LayerNorm(c)
            self.qk, self.v, self.o = nn.Linear(c, c, bias=False), nn.Linear(c, c, bias=False), nn.Linear(c, c)
            self.register_buffer("way", torch.randn(heads, c // heads, buckets // 2))
            self.f = nn.Sequential(nn.Linear(c, 3 * c), nn.ReLU(), nn.Linear(3 * c, c))

        def forward(self, x):
            y = self.n1(x)
            q, v = heads_first(self.qk(y), self.heads), heads_first(self.v(y), self.heads)
            n, d = q.shape[2:]
            with torch.no_grad():
                side = torch.einsum("bhnd,hdr->bhnr", q, self.way.to(q.dtype))
                bucket = torch.cat([side, -side], -1).argmax(-1)
                order = (bucket * n + torch.arange(n, device=x.device)).argsort(-1)
                back = order.argsort(-1)
            index = order.unsqueeze(-1).expand(-1, -1, -1, d)
            q, v = (t.gather(2, index).unflatten(2, (-1, self.chunk)) for t in (q, v))
            place = order.unflatten(2, (-1, self.chunk))
            k = F.normalize(q.float(), dim=-1).to(q.dtype)
            k, v, other = (torch.cat([t, t.roll(1, 2)], 3) for t in (k, v, place))
            look = (q @ k.transpose(-1, -2)) * d ** -0.5
            far = place.unsqueeze(-1) - other.unsqueeze(-2)
            look = look.masked_fill(far < 0, -1e4).masked_fill(far == 0, -1e3).float()
            y = (torch.exp(look - look.logsumexp(-1, keepdim=True)).to(v.dtype) @ v).flatten(2, 3)
            y = y.gather(2, back.unsqueeze(-1).expand(-1, -1, -1, d))
            x = x + self.o(heads_joined(y))
            return x + torch.cat([self.f(t) for t in self.n2(x).chunk(4, 1)], 1)

    class Net(nn.Module):
        def __init__(self, vocab=8000, c=384, depth=6, seq=2048):
            super().__init__()
            self.word = nn.Embedding(vocab, c)
            self.rows, self.columns = nn.Parameter(torch.randn(32, 1, c // 2) * 0.02), nn.Parameter(torch.randn(1, seq // 32, c // 2) * 0.02)
            self.body = nn.ModuleList(Block(c, 6, 32, 64) for _ in range(depth))
            self.norm, self.out = nn.LayerNorm(c), nn.Linear(c, vocab)

        def forward(self, ids):
            place = torch.cat([self.rows.expand(-1, self.columns.shape[1], -1), self.columns.expand(32, -1, -1)], -1)
            x = self.word(ids) + place.flatten(0, 1)
            for f in self.body:
                x = f(x)
            return Result(next_word(self.out(self.norm(x)), ids))
    return Net(), lambda b: words(b, 2048), "own"


def shifted_tokens():
    """A language model without products of tokens: shifted mixtures, weights by running log-sums, squared gates."""
    class Mix(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.share = nn.Parameter(torch.rand(3, 1, 1, c))
            self.k, self.v, self.r, self.o = (nn.Linear(c, c, bias=False) for _ in range(4))
            self.decay, self.first = nn.Parameter(torch.rand(c)), nn.Parameter(torch.zeros(c))

        def forward(self, x):
            old = F.pad(x, (0, 0, 1, -1))
            k, v, r = (torch.lerp(old, x, s) for s in self.share)
            k, v, r = self.k(k).float(), self.v(v).float(), torch.sigmoid(self.r(r))
            n = x.shape[1]
            time = torch.arange(n, device=x.device, dtype=torch.float32).unsqueeze(-1) * F.softplus(self.decay) / n
            level = torch.logcumsumexp(k + time, 1)
            share = torch.exp(k + time - level.detach().amax(1, keepdim=True))
            y = torch.cumsum(share * v, 1) + torch.exp(k + self.first) * v
            y = y / (torch.cumsum(share, 1) + torch.exp(k + self.first))
            return self.o(r * y + 1e-3 * level)

    class Feed(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.share = nn.Parameter(torch.rand(2, 1, 1, c))
            self.k, self.v, self.r = nn.Linear(c, 4 * c, bias=False), nn.Linear(4 * c, c, bias=False), nn.Linear(c, c, bias=False)

        def forward(self, x):
            old = F.pad(x, (0, 0, 1, -1))
            k, r = (torch.lerp(old, x, s) for s in self.share)
            return torch.sigmoid(self.r(r)) * self.v(F.relu(self.k(k)).square())

    class Net(nn.Module):
        def __init__(self, vocab=30000, c=512, depth=6):
            super().__init__()
            self.word, self.enter = nn.Embedding(vocab, c), nn.LayerNorm(c)
            self.body = nn.ModuleList(f for _ in range(depth) for f in (Mix(c), Feed(c)))
            self.norms = nn.ModuleList(nn.LayerNorm(c) for _ in self.body)
            self.norm, self.out = nn.LayerNorm(c), nn.Linear(c, vocab, bias=False)

        def forward(self, ids):
            x = self.enter(self.word(ids))
            for f, norm in zip(self.body, self.norms):
                x = x + f(norm(x))
            score = self.out(self.norm(x))
            return Result(next_word(score, ids) + 1e-5 * score.amax(-1).pow(2).mean())
    return Net(), lambda b: words(b, 512), "own"


NETWORKS = {f.__name__: f for f in (sloped_novels, windows_with_sinks, random_features, retained_chunks, low_rank_keys,
                                    capped_experts, hashed_neighbours, shifted_tokens)}
STEPS = {"sloped_novels": ("amp-bf16", 4, "nchw", "adamw"), "windows_with_sinks": ("amp-bf16", 4, "nchw", "adamw"),
         "random_features": ("tf32", 4, "nchw", "adam"), "retained_chunks": ("amp-fp16", 6, "nchw", "adamw"),
         "low_rank_keys": ("amp-bf16", 6, "nchw", "adamw"), "capped_experts": ("amp-bf16", 12, "nchw", "adamw"),
         "hashed_neighbours": ("tf32", 4, "nchw", "adam"), "shifted_tokens": ("amp-bf16", 8, "nchw", "adamw")}
