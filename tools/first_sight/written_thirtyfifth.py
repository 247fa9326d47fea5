# SPDX-License-Identifier: Apache-2.0
"""written_thirtyfifth.py - more of the seventeenth set of networks: words, sound and series. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, Encoder, Result, RMSNorm, Rotary, heads_first, heads_joined, words


class Gated(nn.Module):
    """The gated dense layers of present-day language models."""

    def __init__(self, c, inner):
        super().__init__()
        self.gate, self.up = nn.Linear(c, inner, bias=False), nn.Linear(c, inner, bias=False)
        self.down = nn.Linear(inner, c, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def next_token_loss(x, ids):
    return Result(F.cross_entropy(x[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten()))


def grouped_stories():
    """Short stories: queries share keys in groups of four, both are normed, places turn them, layers are gated."""
    class Layer(nn.Module):
        def __init__(self, c, heads, groups, size, inner, turn):
            super().__init__()
            self.heads, self.groups, self.turn = heads, groups, turn
            self.q, self.kv = nn.Linear(c, heads * size, bias=False), nn.Linear(c, 2 * groups * size, bias=False)
            self.o, self.f = nn.Linear(heads * size, c, bias=False), Gated(c, inner)
            self.n1, self.n2, self.qn, self.kn = RMSNorm(c), RMSNorm(c), RMSNorm(size), RMSNorm(size)

        def forward(self, x):
            y = self.n1(x)
            k, v = (heads_first(t, self.groups) for t in self.kv(y).chunk(2, -1))
            q, k = self.turn(self.qn(heads_first(self.q(y), self.heads))), self.turn(self.kn(k))
            y = F.scaled_dot_product_attention(q, k, v.to(q.dtype), is_causal=True, enable_gqa=True)
            x = x + self.o(heads_joined(y))
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, vocab=32768, c=768, heads=12, groups=3, depth=10, seq=1024):
            super().__init__()
            turn = Rotary(64, seq, 500000.0)
            self.word, self.norm = nn.Embedding(vocab, c), RMSNorm(c)
            self.body = nn.Sequential(*(Layer(c, heads, groups, 64, 2048, turn) for _ in range(depth)))

        def forward(self, ids):
            return next_token_loss(F.linear(self.norm(self.body(self.word(ids))), self.word.weight), ids)
    return Net(), lambda b: words(b, 1024), "own"


def near_and_whole():
    """Long letters: three layers look 256 words back, the fourth at all; scores are capped, norms on both sides."""
    class Layer(nn.Module):
        def __init__(self, c, heads, inner, cap):
            super().__init__()
            self.heads, self.cap = heads, cap
            self.qkv, self.o = nn.Linear(c, 3 * c, bias=False), nn.Linear(c, c, bias=False)
            self.f, self.norms = Gated(c, inner), nn.ModuleList(RMSNorm(c) for _ in range(4))

        def forward(self, x, turn, mask):
            a, b, c, d = self.norms
            q, k, v = (heads_first(t, self.heads) for t in self.qkv(a(x)).chunk(3, -1))
            score = turn(q) @ turn(k).transpose(-1, -2) / math.sqrt(q.shape[-1])
            score = (self.cap * torch.tanh(score / self.cap)).masked_fill(~mask, float("-inf"))
            y = score.softmax(-1, dtype=torch.float32).to(v.dtype) @ v
            x = x + b(self.o(heads_joined(y)))
            return x + d(self.f(c(x)))

    class Net(nn.Module):
        def __init__(self, vocab=48000, c=640, heads=10, depth=8, seq=1536, back=256):
            super().__init__()
            self.word, self.norm, self.turn = nn.Embedding(vocab, c), RMSNorm(c), Rotary(c // heads, seq)
            self.body = nn.ModuleList(Layer(c, heads, 1792, 50.0) for _ in range(depth))
            n = torch.arange(seq)
            whole = n[:, None] >= n[None, :]
            self.register_buffer("whole", whole, persistent=False)
            self.register_buffer("near", whole & (n[:, None] - n[None, :] < back), persistent=False)

        def forward(self, ids):
            x = self.word(ids) * math.sqrt(self.word.embedding_dim)
            for n, f in enumerate(self.body):
                x = f(x, self.turn, self.whole if n % 4 == 3 else self.near)
            x = F.linear(self.norm(x), self.word.weight)
            return next_token_loss(30 * torch.tanh(x / 30), ids)
    return Net(), lambda b: words(b, 1536), "own"


def placed_experts():
    """Words to two of eight experts: places of a fixed number are given in order, what comes too late passes by."""
    class Experts(nn.Module):
        def __init__(self, c, inner, many, room):
            super().__init__()
            self.room, self.route = room, nn.Linear(c, many, bias=False)
            self.up, self.down = (nn.Parameter(torch.randn(many, *s) * 0.02) for s in ((c, inner), (inner, c)))

        def forward(self, x):
            b, n, c = x.shape
            share = self.route(x).float().softmax(-1)
            weight, which = share.topk(2, -1)
            weight = weight / weight.sum(-1, keepdim=True)
            many, room = share.shape[-1], int(self.room * 2 * n / share.shape[-1])
            hot = F.one_hot(which.transpose(1, 2).reshape(b, 2 * n), many)
            at = ((hot.cumsum(1) - 1) * hot).sum(-1)
            slot = F.one_hot(at.clamp(max=room), room + 1)[..., :room].to(x.dtype)
            send = (hot.to(x.dtype).unsqueeze(-1) * slot.unsqueeze(2)).unflatten(1, (2, n))
            y = torch.einsum("bknes,bnc->besc", send, x)
            y = F.gelu(torch.einsum("besc,eci->besi", y, self.up.to(y.dtype)))
            y = torch.einsum("besi,eic->besc", y, self.down.to(y.dtype))
            back = send * weight.transpose(1, 2)[..., None, None].to(x.dtype)
            even = many * (share.mean((0, 1)) * hot.float().mean((0, 1))).sum()
            return torch.einsum("bknes,besc->bnc", back, y), even

    class Net(nn.Module):
        def __init__(self, vocab=32000, c=512, heads=8, depth=6, seq=512):
            super().__init__()
            self.word, self.place = nn.Embedding(vocab, c), nn.Parameter(torch.randn(1, seq, c) * 0.02)
            self.look = nn.ModuleList(Attention(c, heads, bias=False) for _ in range(depth))
            self.n1, self.n2 = (nn.ModuleList(nn.LayerNorm(c) for _ in range(depth)) for _ in range(2))
            self.f = nn.ModuleList(Experts(c, 4 * c, 8, 1.25) for _ in range(depth))
            self.norm, self.out = nn.LayerNorm(c), nn.Linear(c, vocab, bias=False)

        def forward(self, ids):
            x, aside = self.word(ids) + self.place, 0
            for look, n1, n2, f in zip(self.look, self.n1, self.n2, self.f):
                x = x + look(n1(x), causal=True)
                y, even = f(n2(x))
                x, aside = x + y, aside + even
            return Result(next_token_loss(self.out(self.norm(x)), ids).loss + 0.01 * aside)
    return Net(), lambda b: words(b, 512), "own"


def chunked_states():
    """A language model of states: decay is chosen by the input, chunks of 128 are products, states join the chunks."""
    class Layer(nn.Module):
        def __init__(self, c, size=64, state=64, chunk=128):
            super().__init__()
            self.inner, self.heads, self.state, self.chunk = 2 * c, 2 * c // size, state, chunk
            wide = self.inner + 2 * state
            self.norm, self.enter = RMSNorm(c), nn.Linear(c, self.inner + wide + self.heads, bias=False)
            self.short = nn.Conv1d(wide, wide, 4, padding=3, groups=wide)
            self.out = nn.Linear(self.inner, c, bias=False)
            self.a, self.dt = nn.Parameter(torch.zeros(self.heads)), nn.Parameter(torch.zeros(self.heads))
            self.d, self.last = nn.Parameter(torch.ones(self.heads, 1)), RMSNorm(self.inner)

        def forward(self, x):
            n = x.shape[1]
            z, y, dt = self.enter(self.norm(x)).split([self.inner, self.inner + 2 * self.state, self.heads], -1)
            y = F.silu(self.short(y.transpose(1, 2))[..., :n].transpose(1, 2))
            v, k, q = y.split([self.inner, self.state, self.state], -1)
            v, dt = v.unflatten(-1, (self.heads, -1)), F.softplus(dt.float() + self.dt)
            y = self.mixed((v * dt.unsqueeze(-1)).float(), -self.a.exp() * dt, k.float(), q.float())
            y = (y + self.d * v).flatten(2).to(x.dtype)
            return x + self.out(self.last(y * F.silu(z)))

        def mixed(self, v, fall, k, q):
            v, fall, k, q = (t.unflatten(1, (-1, self.chunk)) for t in (v, fall, k, q))
            total = fall.cumsum(2).permute(0, 1, 3, 2)
            inside = (total.unsqueeze(-1) - total.unsqueeze(-2)).tril().exp().tril()
            y = torch.einsum("bgln,bgsn,bghls,bgshp->bglhp", q, k, inside, v)
            left = (total[..., -1:] - total).exp()
            states = torch.einsum("bgsn,bghs,bgshp->bghpn", k, left, v)
            ends = F.pad(total[..., -1].cumsum(1), (0, 0, 1, 0)).transpose(1, 2)
            over = (ends.unsqueeze(-1) - ends.unsqueeze(-2)).tril().exp().tril()
            before = torch.einsum("bhzg,bghpn->bzhpn", over[:, :, :-1, 1:].tril(-1), states)
            y = y + torch.einsum("bgln,bghpn,bghl->bglhp", q, before, total.exp())
            return y.flatten(1, 2)

    class Net(nn.Module):
        def __init__(self, vocab=32000, c=512, depth=8):
            super().__init__()
            self.word, self.norm = nn.Embedding(vocab, c), RMSNorm(c)
            self.body = nn.Sequential(*(Layer(c) for _ in range(depth)))

        def forward(self, ids):
            return next_token_loss(F.linear(self.norm(self.body(self.word(ids))), self.word.weight), ids)
    return Net(), lambda b: words(b, 1024), "own"


def kernel_words():
    """Genes letter by letter: sums of keys and values grow along the text, every fourth layer has full attention."""
    class Linear(nn.Module):
        def __init__(self, c, heads, chunk=64):
            super().__init__()
            self.heads, self.chunk, self.qkv = heads, chunk, nn.Linear(c, 3 * c, bias=False)
            self.gate, self.o, self.norm = nn.Linear(c, c), nn.Linear(c, c), nn.GroupNorm(heads, c)

        def forward(self, x):
            q, k, v = (heads_first(t, self.heads).unflatten(2, (-1, self.chunk)) for t in self.qkv(x).chunk(3, -1))
            q, k = F.elu(q) + 1, F.elu(k) + 1
            inside = (q @ k.transpose(-1, -2)).tril() @ v
            sums = (k.transpose(-1, -2) @ v).float().cumsum(2)
            before = torch.cat([torch.zeros_like(sums[:, :, :1]), sums[:, :, :-1]], 2).to(q.dtype)
            y = heads_joined((inside + q @ before).flatten(2, 3))
            y = self.norm(y.flatten(0, 1)).view_as(x)
            return self.o(y * torch.sigmoid(self.gate(x)))

    class Layer(nn.Module):
        def __init__(self, c, heads, full):
            super().__init__()
            self.full, self.n1, self.n2, self.f = full, nn.LayerNorm(c), nn.LayerNorm(c), Gated(c, 3 * c)
            self.mix = Attention(c, heads) if full else Linear(c, heads)

        def forward(self, x):
            y = self.n1(x)
            x = x + (self.mix(y, causal=True) if self.full else self.mix(y))
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, letters=128, c=384, heads=6, depth=8):
            super().__init__()
            self.word, self.norm, self.out = nn.Embedding(letters, c), nn.LayerNorm(c), nn.Linear(c, letters)
            self.body = nn.Sequential(*(Layer(c, heads, n % 4 == 3) for n in range(depth)))

        def forward(self, ids):
            return next_token_loss(self.out(self.norm(self.body(self.word(ids)))), ids)
    return Net(), lambda b: words(b, 4096), "own"


def sentence_pairs():
    """Questions and answers as vectors: means of a two-way encoder, the other answers of the batch are wrong."""
    class Net(nn.Module):
        def __init__(self, vocab=30522, c=384, heads=12, depth=6, seq=128):
            super().__init__()
            self.word, self.place = nn.Embedding(vocab, c, padding_idx=0), nn.Parameter(torch.randn(1, seq, c) * 0.02)
            self.first, self.body = nn.LayerNorm(c), nn.ModuleList(Encoder(c, heads, dropout=0.1) for _ in range(depth))

        def coded(self, ids):
            x, known = self.first(self.word(ids) + self.place), ids != 0
            for f in self.body:
                x = f(x, known[:, None, None, :])
            known = known.unsqueeze(-1).to(x.dtype)
            return F.normalize(((x * known).sum(1) / known.sum(1).clamp(min=1)).float(), dim=-1)

        def forward(self, questions, answers):
            score = self.coded(questions) @ self.coded(answers).t() * 20
            right = torch.arange(len(score), device=score.device)
            return Result((F.cross_entropy(score, right) + F.cross_entropy(score.t(), right)) / 2)
    return Net(), lambda b: (words(b, 128), words(b, 128)), "own"


def street_noises():
    """Noises of a street in 50 kinds: bands and frames of a spectrum are hidden, twelve convolutions pool by twos."""
    def pair(i, o):
        return [nn.Conv2d(i, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(True),
                nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(True), nn.AvgPool2d(2)]

    class Net(nn.Module):
        def __init__(self, bands=64, kinds=50):
            super().__init__()
            self.norm, w = nn.BatchNorm1d(bands), [1, 64, 128, 256, 512, 1024]
            self.body = nn.Sequential(*(f for i, o in zip(w, w[1:]) for f in (*pair(i, o), nn.Dropout(0.2))))
            self.mid, self.out = nn.Linear(1024, 1024), nn.Linear(1024, kinds)

        def hidden(self, x, axis, most):
            n, b = x.shape[axis], len(x)
            first = torch.rand(b, 1, device=x.device) * (n - most)
            at = torch.arange(n, device=x.device)
            gone = (at >= first) & (at < first + torch.rand(b, 1, device=x.device) * most)
            return x.masked_fill(gone.unsqueeze(2 if axis == 1 else 1), 0.0)

        def forward(self, x):
            x = self.hidden(self.hidden(self.norm(x), 1, 8), 2, 64)
            x = self.body(x.unsqueeze(1)).mean(2)
            x = x.amax(-1) + x.mean(-1)
            return self.out(F.dropout(F.relu(self.mid(x)), 0.5, self.training))
    return Net(), lambda b: torch.zeros(b, 64, 500), "bce"


def dictated_frames():
    """Dictation: a spectrum at a quarter of its rate, convolution and attention in turn, a letter for each frame."""
    class Layer(nn.Module):
        def __init__(self, c, heads, k=31):
            super().__init__()
            def dense():
                return nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.SiLU(), nn.Dropout(0.1),
                                     nn.Linear(4 * c, c), nn.Dropout(0.1))
            self.f1, self.f2, self.n1, self.look = dense(), dense(), nn.LayerNorm(c), Attention(c, heads)
            self.n2, self.a, self.b = nn.LayerNorm(c), nn.Conv1d(c, 2 * c, 1), nn.Conv1d(c, c, 1)
            self.deep, self.n3, self.last = nn.Conv1d(c, c, k, 1, k // 2, groups=c), nn.BatchNorm1d(c), nn.LayerNorm(c)

        def forward(self, x):
            x = x + self.f1(x) / 2
            x = x + self.look(self.n1(x))
            y = F.glu(self.a(self.n2(x).transpose(1, 2)), 1)
            x = x + self.b(F.silu(self.n3(self.deep(y)))).transpose(1, 2)
            return self.last(x + self.f2(x) / 2)

    class Net(nn.Module):
        def __init__(self, bands=80, c=256, heads=4, depth=8, letters=128):
            super().__init__()
            self.less = nn.Sequential(nn.Conv2d(1, c, 3, 2, 1), nn.ReLU(), nn.Conv2d(c, c, 3, 2, 1), nn.ReLU())
            self.enter, self.drop = nn.Linear(c * bands // 4, c), nn.Dropout(0.1)
            self.body, self.out = nn.Sequential(*(Layer(c, heads) for _ in range(depth))), nn.Linear(c, letters)

        def forward(self, x):
            x = self.less(x.unsqueeze(1)).transpose(1, 2).flatten(2)
            return self.out(self.body(self.drop(self.enter(x))))
    return Net(), lambda b: torch.zeros(b, 1000, 80), "cross-entropy"


def mixed_sensors():
    """Machines with 32 sensors: dense layers along time and along sensors in turn predict 96 points from 512."""
    class Layer(nn.Module):
        def __init__(self, seq, sensors, inner):
            super().__init__()
            self.n1, self.n2 = nn.LayerNorm([seq, sensors]), nn.LayerNorm([seq, sensors])
            self.time = nn.Sequential(nn.Linear(seq, seq), nn.ReLU(), nn.Dropout(0.1))
            self.f = nn.Sequential(nn.Linear(sensors, inner), nn.ReLU(), nn.Dropout(0.1), nn.Linear(inner, sensors))

        def forward(self, x):
            x = x + self.time(self.n1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, seq=512, ahead=96, sensors=32, depth=6):
            super().__init__()
            self.body = nn.Sequential(*(Layer(seq, sensors, 256) for _ in range(depth)))
            self.out = nn.Linear(seq, ahead)
            self.scale, self.shift = nn.Parameter(torch.ones(sensors)), nn.Parameter(torch.zeros(sensors))

        def forward(self, x):
            mean = x.mean(1, keepdim=True).detach()
            spread = torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5).detach()
            x = self.body((x - mean) / spread * self.scale + self.shift)
            x = self.out(x.transpose(1, 2)).transpose(1, 2)
            return (x - self.shift) / (self.scale + 1e-8) * spread + mean
    return Net(), lambda b: torch.zeros(b, 512, 32), "mse"


def metered_power():
    """Power of a house for a day: a recurrent net reads a week of hours, a second one predicts quantiles."""
    class Net(nn.Module):
        def __init__(self, known=12, c=256, ahead=24, parts=9):
            super().__init__()
            self.enter, self.read = nn.Linear(known, c), nn.GRU(c, c, 2, batch_first=True, dropout=0.1)
            self.ask, self.tell = nn.Linear(known - 1, c), nn.GRU(c, c, batch_first=True)
            self.look, self.norm, self.out = Attention(c, 8), nn.LayerNorm(c), nn.Linear(c, parts)
            self.register_buffer("level", torch.arange(1, parts + 1) / (parts + 1), persistent=False)

        def forward(self, past, plans, power):
            states, last = self.read(torch.relu(self.enter(past)))
            x = self.tell(torch.relu(self.ask(plans)), last[-1:])[0]
            x = self.out(self.norm(x + self.look(x, states)))
            far = power.unsqueeze(-1) - x
            return Result(torch.maximum(self.level * far, (self.level - 1) * far).mean())
    return Net(), lambda b: (torch.zeros(b, 168, 12), torch.zeros(b, 24, 11), torch.zeros(b, 24)), "own"


NETWORKS = {f.__name__: f for f in (grouped_stories, near_and_whole, placed_experts, chunked_states, kernel_words,
                                    sentence_pairs, street_noises, dictated_frames, mixed_sensors, metered_power)}
STEPS = {"grouped_stories": ("amp-bf16", 8, "nchw", "adamw"), "near_and_whole": ("amp-bf16", 4, "nchw", "adamw"),
         "placed_experts": ("amp-bf16", 8, "nchw", "adamw"), "chunked_states": ("amp-bf16", 8, "nchw", "adamw"),
         "kernel_words": ("amp-bf16", 8, "nchw", "adamw"), "sentence_pairs": ("amp-fp16", 128, "nchw", "adamw"),
         "street_noises": ("amp-fp16", 32, "nhwc", "adam"), "dictated_frames": ("amp-bf16", 16, "nchw", "adamw"),
         "mixed_sensors": ("fp32", 128, "nchw", "adam"), "metered_power": ("tf32", 256, "nchw", "adam")}
