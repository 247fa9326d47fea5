# SPDX-License-Identifier: Apache-2.0
"""written_thirtyeighth.py - ten more networks of the eighteenth set: language, sound and series. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, Encoder, Result, RMSNorm, Rotary, heads_first, heads_joined, words


def parallel_chapters():
    """Novels: attention with one shared key head beside gated dense layers, from one product of matrices."""
    class Layer(nn.Module):
        def __init__(self, c, heads, size, inner):
            super().__init__()
            self.heads, self.parts = heads, [heads * size, size, size, inner, inner]
            self.norm, self.all = nn.LayerNorm(c, bias=False), nn.Linear(c, sum(self.parts), bias=False)
            self.o, self.down = nn.Linear(heads * size, c, bias=False), nn.Linear(inner, c, bias=False)

        def forward(self, x, turn):
            q, k, v, up, gate = self.all(self.norm(x)).split(self.parts, -1)
            q, k = turn(heads_first(q, self.heads)), turn(k.unsqueeze(1)).expand(-1, self.heads, -1, -1)
            v = v.unsqueeze(1).expand(-1, self.heads, -1, -1)
            y = F.scaled_dot_product_attention(q, k.to(v.dtype), v, is_causal=True)
            return x + self.o(heads_joined(y)) + self.down(F.silu(gate) * up)

    class Net(nn.Module):
        def __init__(self, vocab=32000, c=1024, heads=16, depth=12, seq=1024):
            super().__init__()
            self.word, self.norm, self.turn = nn.Embedding(vocab, c), nn.LayerNorm(c, bias=False), Rotary(64, seq)
            self.body = nn.ModuleList(Layer(c, heads, 64, 2816) for _ in range(depth))

        def forward(self, ids):
            x = self.word(ids)
            for f in self.body:
                x = f(x, self.turn)
            score = F.linear(self.norm(x), self.word.weight)[:, :-1].flatten(0, 1).float()
            return Result(F.cross_entropy(score, ids[:, 1:].flatten()) + 1e-4 * score.logsumexp(-1).pow(2).mean())
    return Net(), lambda b: words(b, 1024), "own"


def adapted_answers():
    """Answers to customers: a frozen language model, and low-rank adapters of queries, values and dense layers."""
    class Adapted(nn.Module):
        def __init__(self, i, o, rank=16, scale=2.0):
            super().__init__()
            self.base, self.scale, self.drop = nn.Linear(i, o, bias=False), scale, nn.Dropout(0.05)
            self.a, self.b = nn.Linear(i, rank, bias=False), nn.Linear(rank, o, bias=False)
            nn.init.zeros_(self.b.weight)

        def forward(self, x):
            return self.base(x) + self.b(self.a(self.drop(x))) * self.scale

    class Layer(nn.Module):
        def __init__(self, c, heads, inner):
            super().__init__()
            self.heads, self.n1, self.n2 = heads, RMSNorm(c), RMSNorm(c)
            self.q, self.v = Adapted(c, c), Adapted(c, c)
            self.k, self.o = nn.Linear(c, c, bias=False), nn.Linear(c, c, bias=False)
            self.gate, self.up, self.down = Adapted(c, inner), Adapted(c, inner), Adapted(inner, c)

        def forward(self, x, turn):
            y = self.n1(x)
            q, k, v = (heads_first(f(y), self.heads) for f in (self.q, self.k, self.v))
            y = F.scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True)
            x = x + self.o(heads_joined(y))
            y = self.n2(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    class Net(nn.Module):
        def __init__(self, vocab=32000, c=1280, heads=20, depth=10, seq=768):
            super().__init__()
            self.word, self.norm, self.turn = nn.Embedding(vocab, c), RMSNorm(c), Rotary(c // heads, seq)
            self.body = nn.ModuleList(Layer(c, heads, 3456) for _ in range(depth))
            self.out = nn.Linear(c, vocab, bias=False)
            for name, p in self.named_parameters():
                p.requires_grad = name.endswith((".a.weight", ".b.weight"))

        def forward(self, ids, labels):
            x = self.word(ids)
            for f in self.body:
                x = f(x, self.turn)
            score = self.out(self.norm(x))[:, :-1].flatten(0, 1).float()
            return Result(F.cross_entropy(score, labels[:, 1:].flatten(), ignore_index=-100))
    return Net(), lambda b: {"ids": words(b, 768), "labels": words(b, 768)}, "own"


def asked_tables():
    """Questions to database queries: the encoder and decoder of torch.nn with padding masks, smoothed labels."""
    class Net(nn.Module):
        def __init__(self, vocab=16000, c=512, heads=8, depth=6, seq=320, said=128):
            super().__init__()
            self.word = nn.Embedding(vocab, c, padding_idx=0)
            self.place = nn.Embedding(seq, c)
            self.kind = nn.Embedding(3, c)
            self.drop = nn.Dropout(0.1)
            self.net = nn.Transformer(c, heads, depth, depth, 2048, 0.1, "gelu", batch_first=True, norm_first=True)
            self.out = nn.Linear(c, vocab)
            self.register_buffer("later", torch.ones(said, said, dtype=torch.bool).triu(1), persistent=False)

        def forward(self, question, kinds, query, labels):
            here = torch.arange(question.shape[1], device=question.device)
            x = self.drop(self.word(question) + self.place(here) + self.kind(kinds.long()))
            y = self.drop(self.word(query) + self.place(here[:query.shape[1]]))
            empty = question == 0
            y = self.net(x, y, tgt_mask=self.later, tgt_is_causal=True, src_key_padding_mask=empty,
                         memory_key_padding_mask=empty)
            return Result(F.cross_entropy(self.out(y).flatten(0, 1).float(), labels.flatten(), label_smoothing=0.1))

    def inputs(b):
        return {"question": torch.ones(b, 320, dtype=torch.int64), "kinds": words(b, 320).int(),
                "query": words(b, 128), "labels": words(b, 128)}
    return Net(), inputs, "own"


def smallest_gates():
    """Letters of a language: gates depend on the input alone, so a sum in logarithms runs along time at once."""
    class Recurrence(nn.Module):
        def __init__(self, c, inner):
            super().__init__()
            self.enter, self.o = nn.Linear(c, 2 * inner, bias=False), nn.Linear(inner, c, bias=False)

        def forward(self, x):
            gate, y = self.enter(x).float().chunk(2, -1)
            keep, take = -F.softplus(gate), -F.softplus(-gate)
            y = torch.where(y >= 0, (F.relu(y) + 0.5).log(), -F.softplus(-y))
            run = keep.cumsum(1)
            y = (run + (take + y - run).logcumsumexp(1)).exp()
            return self.o(y.to(x.dtype))

    class Layer(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.near = nn.Conv1d(c, c, 3, groups=c)
            self.norms = nn.ModuleList(RMSNorm(c) for _ in range(3))
            self.time = Recurrence(c, int(1.5 * c))
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c))

        def forward(self, x):
            a, b, c = self.norms
            x = x + self.near(F.pad(a(x).transpose(1, 2), (2, 0))).transpose(1, 2)
            x = x + self.time(b(x))
            return x + self.f(c(x))

    class Net(nn.Module):
        def __init__(self, letters=256, c=512, depth=6):
            super().__init__()
            self.word, self.norm, self.out = nn.Embedding(letters, c), RMSNorm(c), nn.Linear(c, letters, bias=False)
            self.body = nn.Sequential(*(Layer(c) for _ in range(depth)))

        def forward(self, ids):
            score = self.out(self.norm(self.body(self.word(ids))))
            return Result(F.cross_entropy(score[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten()))
    return Net(), lambda b: words(b, 1024), "own"


def replaced_words():
    """Words that a small model replaced: its draws by noise are found by a larger one, both learn together."""
    class Body(nn.Module):
        def __init__(self, wide, c, heads, depth):
            super().__init__()
            self.enter = nn.Linear(wide, c)
            self.body = nn.ModuleList(Encoder(c, heads, 4 * c, dropout=0.1) for _ in range(depth))
            self.norm = nn.LayerNorm(c)

        def forward(self, x):
            x = self.enter(x)
            for f in self.body:
                x = f(x)
            return self.norm(x)

    class Net(nn.Module):
        def __init__(self, vocab=30522, wide=256, seq=256, share=0.15):
            super().__init__()
            self.share, self.word, self.place = share, nn.Embedding(vocab, wide), nn.Embedding(seq, wide)
            self.small, self.large = Body(wide, 192, 3, 6), Body(wide, 512, 8, 8)
            self.guess = nn.Sequential(nn.Linear(192, wide), nn.GELU(), nn.LayerNorm(wide))
            self.bias = nn.Parameter(torch.zeros(vocab))
            self.found = nn.Sequential(nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 1))

        def forward(self, ids):
            here = self.place(torch.arange(ids.shape[1], device=ids.device))
            hidden = torch.rand_like(ids, dtype=torch.float32) < self.share
            x = self.small(self.word(ids.masked_fill(hidden, 3)) + here)
            score = F.linear(self.guess(x), self.word.weight, self.bias).float()
            loss = F.cross_entropy(score.flatten(0, 1), ids.flatten(), reduction="none").view_as(ids)
            loss = (loss * hidden).sum() / hidden.sum().clamp(min=1)
            with torch.no_grad():
                noise = torch.rand_like(score).clamp(min=1e-9)
                drawn = torch.where(hidden, (score - (-noise.log()).clamp(min=1e-9).log()).argmax(-1), ids)
            found = self.found(self.large(self.word(drawn) + here)).squeeze(-1).float()
            return Result(loss + 50 * F.binary_cross_entropy_with_logits(found, (drawn != ids).float()))
    return Net(), lambda b: words(b, 256), "own"


def softly_mixed():
    """Pictures in 1000 kinds: weighted means of patches go to the slots of 16 experts in every second layer."""
    class Experts(nn.Module):
        def __init__(self, c, inner, many, slots):
            super().__init__()
            self.many, self.norm = many, nn.LayerNorm(c)
            self.place, self.scale = nn.Parameter(torch.randn(c, many * slots) * 0.02), nn.Parameter(torch.ones(1))
            self.up, self.down = (nn.Parameter(torch.randn(many, *s) * 0.02) for s in ((c, inner), (inner, c)))
            self.b1, self.b2 = nn.Parameter(torch.zeros(many, 1, inner)), nn.Parameter(torch.zeros(many, 1, c))

        def forward(self, x):
            y = self.norm(x)
            score = F.normalize(y, dim=-1) @ (F.normalize(self.place, dim=0) * self.scale)
            send, back = score.softmax(1), score.softmax(2)
            z = (send.transpose(1, 2) @ y).unflatten(1, (self.many, -1))
            z = torch.einsum("besc,eci->besi", z, self.up) + self.b1
            z = torch.einsum("besi,eic->besc", F.gelu(z), self.down) + self.b2
            return x + back @ z.flatten(1, 2)

    class Layer(nn.Module):
        def __init__(self, c, heads, mixed):
            super().__init__()
            self.norm, self.a = nn.LayerNorm(c), Attention(c, heads)
            self.f = Experts(c, 4 * c, 16, 12) if mixed else None
            self.dense = None if mixed else nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.GELU(),
                                                          nn.Linear(4 * c, c))

        def forward(self, x):
            x = x + self.a(self.norm(x))
            return self.f(x) if self.f is not None else x + self.dense(x)

    class Net(nn.Module):
        def __init__(self, c=384, heads=6, depth=12, kinds=1000):
            super().__init__()
            self.patch, self.place = nn.Conv2d(3, c, 16, 16), nn.Parameter(torch.randn(1, 196, c) * 0.02)
            self.body = nn.Sequential(*(Layer(c, heads, n % 2 == 1) for n in range(depth)))
            self.norm, self.out = nn.LayerNorm(c), nn.Linear(c, kinds)

        def forward(self, x):
            x = self.patch(x).flatten(2).transpose(1, 2) + self.place
            return self.out(self.norm(self.body(x)).mean(1))
    return Net(), lambda b: torch.zeros(b, 3, 224, 224), "cross-entropy"


def clustered_speech():
    """Speech without text: hidden frames are matched with 500 clusters by cosine, after seven convolutions of waves."""
    class Net(nn.Module):
        def __init__(self, c=512, heads=8, depth=8, clusters=500):
            super().__init__()
            plan = [(1, 10, 5), (512, 3, 2), (512, 3, 2), (512, 3, 2), (512, 3, 2), (512, 2, 2), (512, 2, 2)]
            self.waves = nn.Sequential(*(f for n, (i, k, s) in enumerate(plan) for f in (
                nn.Conv1d(i, 512, k, s, bias=False), nn.GroupNorm(512, 512) if n == 0 else nn.Identity(), nn.GELU())))
            self.norm, self.enter, self.drop = nn.LayerNorm(512), nn.Linear(512, c), nn.Dropout(0.1)
            self.place = nn.utils.parametrizations.weight_norm(nn.Conv1d(c, c, 128, padding=64, groups=16), dim=2)
            self.mask = nn.Parameter(torch.rand(c))
            self.body = nn.ModuleList(Encoder(c, heads, 2048, dropout=0.1) for _ in range(depth))
            self.last, self.out = nn.LayerNorm(c), nn.Linear(c, 256)
            self.clusters = nn.Embedding(clusters, 256)

        def forward(self, sound, start, labels):
            x = self.enter(self.norm(self.waves(sound.unsqueeze(1)).transpose(1, 2)))
            at = torch.arange(x.shape[1], device=x.device)
            start = (start.sigmoid() * (x.shape[1] - 10)).unsqueeze(-1)
            hidden = ((at >= start) & (at < start + 10)).any(1)
            x = torch.where(hidden.unsqueeze(-1), self.mask.to(x.dtype), self.drop(x))
            x = x + F.gelu(self.place(x.transpose(1, 2))[..., :-1]).transpose(1, 2)
            for f in self.body:
                x = f(x)
            x = F.normalize(self.out(self.last(x)).float(), dim=-1) @ F.normalize(self.clusters.weight, dim=-1).t()
            loss = F.cross_entropy(x.flatten(0, 1) / 0.1, labels.flatten(), reduction="none").view_as(hidden)
            return Result((loss * hidden).sum() / hidden.sum().clamp(min=1))

    def inputs(b):
        return {"sound": torch.zeros(b, 64000), "start": torch.zeros(b, 8), "labels": words(b, 199)}
    return Net(), inputs, "own"


def stepped_waves():
    """Waves from spectra: 30 dilated layers with gates predict the noise of a step, given 80 bands."""
    class Layer(nn.Module):
        def __init__(self, c, dilation):
            super().__init__()
            self.near, self.step = nn.Conv1d(c, 2 * c, 3, padding=dilation, dilation=dilation), nn.Linear(512, c)
            self.bands, self.out = nn.Conv1d(80, 2 * c, 1), nn.Conv1d(c, 2 * c, 1)

        def forward(self, x, step, bands):
            gate, y = (self.near(x + self.step(step).unsqueeze(-1)) + self.bands(bands)).chunk(2, 1)
            y, skip = self.out(gate.sigmoid() * y.tanh()).chunk(2, 1)
            return (x + y) / math.sqrt(2), skip

    class Net(nn.Module):
        def __init__(self, c=64, depth=30, cycle=10):
            super().__init__()
            self.enter = nn.Conv1d(1, c, 1)
            self.step = nn.Sequential(nn.Linear(128, 512), nn.SiLU(), nn.Linear(512, 512), nn.SiLU())
            self.up = nn.ModuleList(nn.ConvTranspose2d(1, 1, (3, 32), stride=(1, 16), padding=(1, 8)) for _ in range(2))
            self.body = nn.ModuleList(Layer(c, 2 ** (n % cycle)) for n in range(depth))
            self.skip, self.out = nn.Conv1d(c, c, 1), nn.Conv1d(c, 1, 1)
            self.register_buffer("rates", 10.0 ** (torch.arange(64) * 4.0 / 63), persistent=False)

        def forward(self, wave, bands, noise, when):
            when = when.sigmoid()
            keep = torch.cos(when * math.pi / 2).unsqueeze(-1)
            x = keep * wave + (1 - keep * keep).sqrt() * noise
            angle = when.unsqueeze(-1) * self.rates
            step = self.step(torch.cat([angle.sin(), angle.cos()], -1))
            bands = bands.unsqueeze(1)
            for f in self.up:
                bands = F.leaky_relu(f(bands), 0.4)
            x, bands, total = F.relu(self.enter(x.unsqueeze(1))), bands.squeeze(1), 0
            for f in self.body:
                x, skip = f(x, step, bands)
                total = total + skip
            y = self.out(F.relu(self.skip(total / math.sqrt(len(self.body))))).squeeze(1)
            return Result(F.l1_loss(y.float(), noise))

    def inputs(b):
        return {"wave": torch.zeros(b, 15872), "bands": torch.zeros(b, 80, 62), "noise": torch.zeros(b, 15872),
                "when": torch.zeros(b)}
    return Net(), inputs, "own"


def pooled_horizons():
    """Power prices for a week: three stacks read means of 16, 8 and 1 hours, and interpolate what they predict."""
    class Block(nn.Module):
        def __init__(self, past, ahead, pool, points, inner):
            super().__init__()
            self.pool, self.past, self.ahead, self.points = pool, past, ahead, points
            self.f = nn.Sequential(nn.Linear(2 * past // pool, inner), nn.ReLU(), nn.Dropout(0.1), nn.Linear(inner, inner),
                                   nn.ReLU(), nn.Dropout(0.1), nn.Linear(inner, past + points))

        def forward(self, x):
            y = torch.cat([F.max_pool1d(x, self.pool), F.avg_pool1d(x, self.pool)], -1)
            back, points = self.f(y).split([self.past, self.points], -1)
            return back, F.interpolate(points, self.ahead, mode="linear")

    class Net(nn.Module):
        def __init__(self, past=672, ahead=168, inner=1024, each=3):
            super().__init__()
            self.body = nn.ModuleList(Block(past, ahead, pool, ahead // share, inner)
                                      for pool, share in ((16, 24), (8, 12), (1, 1)) for _ in range(each))

        def forward(self, past, future):
            level = past[..., -1:]
            x, total = past - level, level
            for f in self.body:
                back, part = f(x)
                x, total = x - back, total + part
            apart = (total.float() - future).abs()
            return Result((apart / ((total.float().abs() + future.abs()) / 2 + 0.1)).mean() + apart.mean())
    return Net(), lambda b: {"past": torch.zeros(b, 24, 672), "future": torch.zeros(b, 24, 168)}, "own"


def mixed_demand():
    """Demand in 321 places: dense layers along time and along places in turn, norms over a window are undone."""
    class Layer(nn.Module):
        def __init__(self, seq, many, inner, drop=0.3):
            super().__init__()
            self.n1, self.n2, self.time = nn.BatchNorm1d(seq * many), nn.BatchNorm1d(seq * many), nn.Linear(seq, seq)
            self.f = nn.Sequential(nn.Linear(many, inner), nn.ReLU(), nn.Dropout(drop), nn.Linear(inner, many),
                                   nn.Dropout(drop))
            self.drop = nn.Dropout(drop)

        def forward(self, x):
            y = self.n1(x.flatten(1)).view_as(x).transpose(1, 2)
            x = x + self.drop(F.relu(self.time(y))).transpose(1, 2)
            return x + self.f(self.n2(x.flatten(1)).view_as(x))

    class Net(nn.Module):
        def __init__(self, seq=512, ahead=96, many=321, depth=4):
            super().__init__()
            self.scale, self.shift = nn.Parameter(torch.ones(many)), nn.Parameter(torch.zeros(many))
            self.body = nn.Sequential(*(Layer(seq, many, 512) for _ in range(depth)))
            self.out = nn.Linear(seq, ahead)

        def forward(self, x):
            mean, spread = x.mean(1, keepdim=True), (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
            y = self.body((x - mean) / spread * self.scale + self.shift)
            y = self.out(y.transpose(1, 2)).transpose(1, 2)
            return (y - self.shift) / (self.scale + 1e-5) * spread + mean
    return Net(), lambda b: torch.zeros(b, 512, 321), "mse"


NETWORKS = {f.__name__: f for f in (parallel_chapters, adapted_answers, asked_tables, smallest_gates, replaced_words,
                                    softly_mixed, clustered_speech, stepped_waves, pooled_horizons, mixed_demand)}
STEPS = {"parallel_chapters": ("amp-bf16", 8, "nchw", "adamw"), "adapted_answers": ("amp-bf16", 8, "nchw", "adamw"),
         "asked_tables": ("amp-fp16", 32, "nchw", "adamw"), "smallest_gates": ("amp-bf16", 16, "nchw", "adamw"),
         "replaced_words": ("amp-bf16", 32, "nchw", "adamw"), "softly_mixed": ("amp-bf16", 64, "nchw", "adamw"),
         "clustered_speech": ("amp-bf16", 16, "nchw", "adamw"), "stepped_waves": ("tf32", 16, "nchw", "adam"),
         "pooled_horizons": ("fp32", 512, "nchw", "adam"), "mixed_demand": ("tf32", 32, "nchw", "adam")}
