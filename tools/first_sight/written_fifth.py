# SPDX-License-Identifier: Apache-2.0
"""written_fifth.py - the rest of the fourth set of networks as people write them: sound, sequences, science, tables. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import RMSNorm, Result, words


def sound_tagger():
    """Tags of sounds: a mel spectrogram computed by the model, a convolutional network, pooling by attention."""
    def unit(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())

    class Net(nn.Module):
        def __init__(self, widths=(1, 64, 128, 256, 512, 1024), mels=64, tags=527):
            super().__init__()
            self.register_buffer("window", torch.hann_window(1024), persistent=False)
            self.register_buffer("mel", torch.rand(mels, 513), persistent=False)
            self.norm = nn.BatchNorm2d(mels)
            self.body = nn.ModuleList(nn.Sequential(unit(i, o), unit(o, o)) for i, o in zip(widths, widths[1:]))
            self.dense, self.weigh, self.tag = nn.Linear(1024, 1024), nn.Linear(1024, tags), nn.Linear(1024, tags)

        def forward(self, sound):
            power = torch.stft(sound.float(), 1024, 320, window=self.window, return_complex=True).abs() ** 2
            x = torch.log10((self.mel @ power).clamp(min=1e-10)).unsqueeze(1)
            x = self.norm(x.transpose(1, 2)).transpose(1, 2).transpose(2, 3)
            for block in self.body:
                x = F.dropout(F.avg_pool2d(block(x), 2), 0.2, self.training)
            x = x.mean(3)
            x = F.max_pool1d(x, 3, 1, 1) + F.avg_pool1d(x, 3, 1, 1)
            x = F.relu(self.dense(F.dropout(x, 0.5, self.training).transpose(1, 2)))
            return (torch.tanh(self.weigh(x)).softmax(1) * self.tag(x)).sum(1)
    return Net(), lambda b: torch.zeros(b, 160000), "bce"


def sound_separator():
    """Two voices by masks on a learned transform: dilated depthwise filters, signal-to-noise loss."""
    class Block(nn.Module):
        def __init__(self, c, inner, dilation, last):
            super().__init__()
            self.f = nn.Sequential(nn.Conv1d(c, inner, 1), nn.PReLU(), nn.GroupNorm(1, inner, eps=1e-8),
                                   nn.Conv1d(inner, inner, 3, padding=dilation, dilation=dilation,
                                             groups=inner), nn.PReLU(),
                                   nn.GroupNorm(1, inner, eps=1e-8))
            self.res, self.skip = None if last else nn.Conv1d(inner, c, 1), nn.Conv1d(inner, c, 1)

        def forward(self, x):
            y = self.f(x)
            return x + self.res(y) if self.res else None, self.skip(y)

    class Net(nn.Module):
        def __init__(self, basis=512, c=128, inner=512, voices=2):
            super().__init__()
            self.put = nn.Conv1d(1, basis, 16, 8, bias=False)
            self.take = nn.ConvTranspose1d(basis, 1, 16, 8, bias=False)
            self.before = nn.Sequential(nn.GroupNorm(1, basis, eps=1e-8), nn.Conv1d(basis, c, 1))
            self.body = nn.ModuleList(Block(c, inner, 2 ** k, (n, k) == (1, 7)) for n in range(2) for k in range(8))
            self.mask, self.voices = nn.Sequential(nn.PReLU(), nn.Conv1d(c, voices * basis, 1), nn.ReLU()), voices

        def forward(self, mixed, clean):
            w = F.relu(self.put(mixed.unsqueeze(1)))
            x, total = self.before(w), 0
            for block in self.body:
                x, skip = block(x)
                total = total + skip
            masked = self.mask(total).unflatten(1, (self.voices, -1)) * w.unsqueeze(1)
            found = self.take(masked.flatten(0, 1)).view_as(clean).float()
            part = (found * clean).sum(-1, keepdim=True) / (clean.pow(2).sum(-1, keepdim=True) + 1e-8) * clean
            ratio = part.pow(2).sum(-1) / ((found - part).pow(2).sum(-1) + 1e-8)
            return Result(-10 * torch.log10(ratio + 1e-8).mean())
    return Net(), lambda b: (torch.zeros(b, 16000), torch.zeros(b, 2, 16000)), "own"


def attentive_translator():
    """A two-way LSTM reads a sentence; a decoder of LSTM cells attends to it anew for each word."""
    class Net(nn.Module):
        def __init__(self, vocab=16000, width=512):
            super().__init__()
            self.source, self.target = nn.Embedding(vocab, width), nn.Embedding(vocab, width)
            self.read = nn.LSTM(width, width // 2, 2, batch_first=True, bidirectional=True, dropout=0.2)
            self.cell, self.q = nn.LSTMCell(2 * width, width), nn.Linear(width, width, bias=False)
            self.k, self.v = nn.Linear(width, width), nn.Linear(width, 1, bias=False)
            self.drop, self.head = nn.Dropout(0.2), nn.Linear(2 * width, vocab)

        def forward(self, source, target):
            seen = self.read(self.drop(self.source(source)))[0]
            keys, given, out = self.k(seen), self.drop(self.target(target)), []
            h = c = seen.new_zeros(len(seen), seen.shape[-1])
            for n in range(target.shape[1]):
                weights = self.v(torch.tanh(keys + self.q(h).unsqueeze(1))).softmax(1)
                context = (weights * seen).sum(1)
                h, c = self.cell(torch.cat([given[:, n], context], 1), (h, c))
                out.append(torch.cat([h, context], 1))
            return self.head(torch.stack(out, 1))
    return Net(), lambda b: (words(b, 48), words(b, 32)), "cross-entropy"


def state_space():
    """A language model of selective state spaces, computed in chunks by matrix products."""
    def sums(a):
        total = a.cumsum(-1)
        mask = torch.ones(a.shape[-1], a.shape[-1], dtype=torch.bool, device=a.device).tril()
        return (total[..., :, None] - total[..., None, :]).masked_fill(~mask, float("-inf"))

    class Layer(nn.Module):
        def __init__(self, width, heads, state=64, chunk=64):
            super().__init__()
            self.inner, self.heads, self.state, self.chunk = 2 * width, heads, state, chunk
            self.norm, self.put = RMSNorm(width), nn.Linear(width, 2 * self.inner + 2 * state + heads, bias=False)
            mixed = self.inner + 2 * state
            self.conv, self.after = nn.Conv1d(mixed, mixed, 4, padding=3, groups=mixed), RMSNorm(self.inner)
            self.log_a, self.bias, self.d = (nn.Parameter(torch.zeros(heads)) for _ in range(3))
            self.take = nn.Linear(self.inner, width, bias=False)

        def scan(self, x, a, b, c):
            x, a, b, c = (t.unflatten(1, (-1, self.chunk)) for t in (x, a, b, c))
            a = a.permute(0, 3, 1, 2)
            total = a.cumsum(-1)
            inside = torch.einsum("bcln,bcsn,bhcls,bcshp->bclhp", c, b, sums(a).exp(), x)
            states = torch.einsum("bcln,bhcl,bclhp->bchpn", b, (total[..., -1:] - total).exp(), x)
            states = torch.cat([torch.zeros_like(states[:, :1]), states], 1)
            decay = sums(F.pad(total[..., -1], (1, 0))).exp()
            states = torch.einsum("bhzc,bchpn->bzhpn", decay, states)[:, :-1]
            return (inside + torch.einsum("bcln,bchpn,bhcl->bclhp", c, states, total.exp())).flatten(1, 2)

        def forward(self, u):
            z, mixed, dt = self.put(self.norm(u)).split([self.inner, self.inner + 2 * self.state, self.heads], -1)
            mixed = F.silu(self.conv(mixed.transpose(1, 2))[..., :u.shape[1]].transpose(1, 2))
            x, b, c = mixed.split([self.inner, self.state, self.state], -1)
            dt = F.softplus(dt.float() + self.bias)
            x = x.unflatten(-1, (self.heads, -1))
            y = self.scan(x.float() * dt.unsqueeze(-1), -self.log_a.exp() * dt, b.float(), c.float()) + x * self.d[:,
                                                                                                                   None]
            return u + self.take(self.after(y.flatten(2).to(u.dtype) * F.silu(z)))

    class Net(nn.Module):
        def __init__(self, width=512, depth=8, vocab=24000):
            super().__init__()
            self.embed, self.norm = nn.Embedding(vocab, width), RMSNorm(width)
            self.body = nn.Sequential(*(Layer(width, 16) for _ in range(depth)))
            self.head = nn.Linear(width, vocab, bias=False)

        def forward(self, x):
            return self.head(self.norm(self.body(self.embed(x))))
    return Net(), lambda b: words(b, 512), "cross-entropy"


def switch_experts():
    """A language model with one expert per token, of limited capacity, sent there and back by masks."""
    class Experts(nn.Module):
        def __init__(self, width, inner, experts):
            super().__init__()
            self.router, self.experts = nn.Linear(width, experts, bias=False), experts
            self.up, self.down = (nn.Parameter(torch.randn(experts, i, o) * 0.02) for i,
                                  o in ((width, inner), (inner, width)))

        def forward(self, x):
            p = self.router(x.float()).softmax(-1)
            best, chosen = p.max(-1)
            mask = F.one_hot(chosen, self.experts).to(p.dtype)
            balance = self.experts * (mask.mean(1) * p.mean(1)).sum(-1).mean()
            place = (mask.cumsum(1) * mask - 1).max(-1)[0].long()
            capacity = x.shape[1] * 5 // (4 * self.experts)
            slots = F.one_hot(place.clamp(0, capacity - 1), capacity).to(p.dtype) * (place < capacity).unsqueeze(-1)
            sent = torch.einsum("bne,bnc->bnec", mask, slots).to(x.dtype)
            inner = F.relu(torch.einsum("becw,ewi->beci", torch.einsum("bnec,bnw->becw", sent, x), self.up))
            y = torch.einsum("beci,eiw->becw", inner, self.down)
            return torch.einsum("bnec,becw->bnw", sent * best[..., None, None].to(x.dtype), y), balance

    class Net(nn.Module):
        def __init__(self, width=512, depth=6, vocab=20000, experts=8):
            super().__init__()
            self.embed, self.place = nn.Embedding(vocab, width), nn.Parameter(torch.zeros(512, width))
            self.attend = nn.ModuleList(nn.MultiheadAttention(width, 8, batch_first=True) for _ in range(depth))
            self.n1, self.n2 = (nn.ModuleList(nn.LayerNorm(width) for _ in range(depth)) for _ in range(2))
            self.dense = nn.ModuleList(Experts(width, 4 * width, experts) if n % 2 else self.plain(width)
                                       for n in range(depth))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)

        def plain(self, width):
            return nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))

        def forward(self, tokens, labels):
            x, extra = self.embed(tokens) + self.place, 0
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
            for attend, n1, n2, dense in zip(self.attend, self.n1, self.n2, self.dense):
                y = n1(x)
                x = x + attend(y, y, y, attn_mask=mask, need_weights=False)[0]
                y = dense(n2(x))
                if isinstance(y, tuple):
                    y, extra = y[0], extra + y[1]
                x = x + y
            return Result(F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten()) + 0.01 * extra)
    return Net(), lambda b: {"tokens": words(b, 512), "labels": words(b, 512)}, "own"


def small_gpt():
    """A decoder with rotary positions, grouped key-value heads, norms of query and key, and SwiGLU."""
    class Block(nn.Module):
        def __init__(self, width, heads, shared, inner):
            super().__init__()
            self.size, self.n1, self.n2 = width // heads, RMSNorm(width), RMSNorm(width)
            self.q, self.kv = nn.Linear(width, width, bias=False), nn.Linear(width, 2 * shared * self.size, bias=False)
            self.nq, self.nk, self.o = RMSNorm(self.size), RMSNorm(self.size), nn.Linear(width, width, bias=False)
            self.gate, self.up, self.down = (nn.Linear(i, o, bias=False) for i,
                                             o in ((width, inner), (width, inner), (inner, width)))

        def turned(self, x, cos, sin):
            a, b = x.chunk(2, -1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)

        def forward(self, x, cos, sin):
            y = self.n1(x)
            q = self.q(y).unflatten(-1, (-1, self.size)).transpose(1, 2)
            k, v = (t.unflatten(-1, (-1, self.size)).transpose(1, 2) for t in self.kv(y).chunk(2, -1))
            q, k = self.turned(self.nq(q), cos, sin), self.turned(self.nk(k), cos, sin)
            k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
            y = F.scaled_dot_product_attention(q, k, v.to(q.dtype), is_causal=True)
            x = x + self.o(y.transpose(1, 2).flatten(2))
            y = self.n2(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    class Net(nn.Module):
        def __init__(self, vocab=32000, width=640, heads=10, shared=2, inner=1728, depth=10, seq=768):
            super().__init__()
            self.embed, self.norm = nn.Embedding(vocab, width), RMSNorm(width)
            self.head = nn.Linear(width, vocab, bias=False)
            self.head.weight = self.embed.weight
            nn.init.normal_(self.embed.weight, std=0.02)
            self.body = nn.ModuleList(Block(width, heads, shared, inner) for _ in range(depth))
            half = width // heads // 2
            angles = torch.outer(torch.arange(seq).float(), 10000.0 ** (-torch.arange(half).float() / half))
            self.register_buffer("cos", angles.cos(), persistent=False)
            self.register_buffer("sin", angles.sin(), persistent=False)

        def forward(self, x):
            x = self.embed(x)
            for block in self.body:
                x = block(x, self.cos, self.sin)
            return self.head(self.norm(x))
    return Net(), lambda b: words(b, 768), "cross-entropy"


def relative_bias():
    """An encoder and a decoder whose attention adds a learned bias for the bucket of each distance."""
    class Attend(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
            self.norm, self.heads, self.drop = RMSNorm(width), heads, nn.Dropout(0.1)

        def forward(self, x, other, bias):
            y = self.norm(x)
            z = y if other is None else other
            q, k, v = (f(t).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f,
                       t in ((self.q, y), (self.k, z), (self.v, z)))
            scores = q @ k.transpose(2, 3)
            weights = (scores if bias is None else scores + bias).float().softmax(-1).type_as(v)
            return x + self.drop(self.o((self.drop(weights) @ v).transpose(1, 2).flatten(2)))

    class Dense(nn.Module):
        def __init__(self, width, inner):
            super().__init__()
            self.norm, self.a = RMSNorm(width), nn.Linear(width, 2 * inner, bias=False)
            self.b = nn.Linear(inner, width, bias=False)

        def forward(self, x):
            gate, y = self.a(self.norm(x)).chunk(2, -1)
            return x + F.dropout(self.b(F.gelu(gate, approximate="tanh") * y), 0.1, self.training)

    class Net(nn.Module):
        def __init__(self, vocab=24000, width=512, heads=8, depth=5):
            super().__init__()
            self.embed, self.norms = nn.Embedding(vocab, width), nn.ModuleList(RMSNorm(width) for _ in range(2))
            self.near, self.far = nn.Parameter(torch.zeros(32, heads)), nn.Parameter(torch.zeros(32, heads))
            self.enc, self.dec, self.cross = (nn.ModuleList(Attend(width, heads) for _ in range(depth))
                                              for _ in range(3))
            self.f, self.g = (nn.ModuleList(Dense(width, 1280) for _ in range(depth)) for _ in range(2))
            self.head = nn.Linear(width, vocab, bias=False)

        def bias(self, table, n, causal):
            place = torch.arange(n, device=table.device)
            d = place[None, :] - place[:, None]
            buckets, shift = (32, 0) if causal else (16, (d > 0).long() * 16)
            d = (-d).clamp(min=0) if causal else d.abs()
            large = 8 + (torch.log(d.float().clamp(min=1) / 8) / math.log(16) * (buckets - 8)).long()
            bias = table[torch.where(d < 8, d, large.clamp(max=buckets - 1)) + shift].permute(2, 0, 1).unsqueeze(0)
            return bias.masked_fill(torch.ones(n, n, dtype=torch.bool, device=table.device).triu(1),
                                    -1e9) if causal else bias

        def forward(self, source, target):
            x, y = self.embed(source), self.embed(target)
            near, far = self.bias(self.near, source.shape[1], False), self.bias(self.far, target.shape[1], True)
            for attend, dense in zip(self.enc, self.f):
                x = dense(attend(x, None, near))
            x = self.norms[0](x)
            for attend, cross, dense in zip(self.dec, self.cross, self.g):
                y = dense(cross(attend(y, None, far), x, None))
            return self.head(self.norms[1](y))
    return Net(), lambda b: (words(b, 256), words(b, 128)), "cross-entropy"


NETWORKS = {f.__name__: f for f in (sound_tagger, sound_separator, attentive_translator, state_space, switch_experts,
                                    small_gpt,
                                    relative_bias)}
