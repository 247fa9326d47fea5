# SPDX-License-Identifier: Apache-2.0
"""written_thirtyfirst.py - more of the sixteenth set of networks: speech, words, pictures from noise. See cases.py."""
import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from blocks import Attention, Encoder, Result, RMSNorm, Rotary, heads_first, heads_joined, words


def waves(n, c):
    """Sines and cosines of n places."""
    place = torch.arange(n).unsqueeze(1) * torch.exp(torch.arange(0, c, 2) * (-math.log(1e4) / c))
    return torch.stack([place.sin(), place.cos()], -1).flatten(1)


def branch_speech():
    """Words from speech: attention beside dense layers gated by long filters, merged; CTC and a decoder train."""
    class Gated(nn.Module):
        def __init__(self, c, inner, k):
            super().__init__()
            self.a, self.b, self.norm = nn.Linear(c, inner), nn.Linear(inner // 2, c), nn.LayerNorm(inner // 2)
            self.filter = nn.Conv1d(inner // 2, inner // 2, k, padding=k // 2, groups=inner // 2)

        def forward(self, x):
            x, gate = F.gelu(self.a(x)).chunk(2, -1)
            gate = self.filter(self.norm(gate).transpose(1, 2)).transpose(1, 2)
            return self.b(F.dropout(x * gate, 0.1, self.training))

    class Block(nn.Module):
        def __init__(self, c, heads, k=31):
            super().__init__()
            def dense():
                return nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.SiLU(), nn.Dropout(0.1),
                                     nn.Linear(4 * c, c), nn.Dropout(0.1))
            self.f1, self.f2, self.look, self.gated = dense(), dense(), Attention(c, heads), Gated(c, 6 * c, k)
            self.n1, self.n2, self.n3 = (nn.LayerNorm(c) for _ in range(3))
            self.near, self.merge = nn.Conv1d(2 * c, 2 * c, k, padding=k // 2, groups=2 * c), nn.Linear(2 * c, c)
            self.drop = nn.Dropout(0.1)

        def forward(self, x):
            x = x + 0.5 * self.f1(x)
            both = torch.cat([self.drop(self.look(self.n1(x))), self.drop(self.gated(self.n2(x)))], -1)
            near = self.near(both.transpose(1, 2)).transpose(1, 2)
            x = x + self.drop(self.merge(both + near))
            return self.n3(x + 0.5 * self.f2(x))

    class Net(nn.Module):
        def __init__(self, c=256, heads=4, depth=12, bands=80, vocab=5000, long=299):
            super().__init__()
            self.down = nn.Sequential(nn.Conv2d(1, c, 3, 2), nn.ReLU(), nn.Conv2d(c, c, 3, 2), nn.ReLU())
            self.enter = nn.Linear(c * ((bands // 2 - 1) // 2), c)
            self.register_buffer("place", waves(long, c), persistent=False)
            self.body = nn.Sequential(*(Block(c, heads) for _ in range(depth)), nn.LayerNorm(c))
            self.ctc, self.word = nn.Linear(c, vocab), nn.Embedding(vocab, c)
            layer = nn.TransformerDecoderLayer(c, heads, 2048, 0.1, batch_first=True, norm_first=True)
            self.decoder, self.out = nn.TransformerDecoder(layer, 6, nn.LayerNorm(c)), nn.Linear(c, vocab)

        def forward(self, sound, texts, labels):
            x = self.down(sound.unsqueeze(1)).transpose(1, 2).flatten(2)
            x = self.body(self.enter(x) * math.sqrt(self.word.embedding_dim) + self.place)
            b, n = labels.shape
            log = self.ctc(x).float().log_softmax(-1).transpose(0, 1)
            size = torch.full((b,), x.shape[1], device=x.device), torch.full((b,), n, device=x.device)
            loss = F.ctc_loss(log, labels + 1, *size, zero_infinity=True)
            mask = nn.Transformer.generate_square_subsequent_mask(n, device=x.device)
            y = self.decoder(self.word(texts) + self.place[:n], x, mask, tgt_is_causal=True)
            told = F.cross_entropy(self.out(y).flatten(0, 1), labels.flatten(), label_smoothing=0.1)
            return Result(0.3 * loss + 0.7 * told)

    def inputs(b):
        return {"sound": torch.zeros(b, 1200, 80), "texts": words(b, 48), "labels": words(b, 48)}
    return Net(), inputs, "own"


def posterior_speech():
    """Speech from text at once: a posterior of spectra, a flow towards the text's prior, samples of short pieces."""
    class Waves(nn.Module):
        def __init__(self, c, k, depth):
            super().__init__()
            self.into = nn.ModuleList(weight_norm(nn.Conv1d(c, 2 * c, k, padding=k // 2)) for _ in range(depth))
            self.skip = nn.ModuleList(weight_norm(nn.Conv1d(c, 2 * c if n < depth - 1 else c, 1)) for n in range(depth))

        def forward(self, x):
            total = 0
            for f, g in zip(self.into, self.skip):
                a, b = f(x).chunk(2, 1)
                y = g(a.tanh() * b.sigmoid())
                if y.shape[1] > x.shape[1]:
                    more, y = y.chunk(2, 1)
                    x = x + more
                total = total + y
            return total

    class Couple(nn.Module):
        def __init__(self, c, h):
            super().__init__()
            self.a, self.f, self.b = nn.Conv1d(c // 2, h, 1), Waves(h, 5, 4), nn.Conv1d(h, c // 2, 1)
            nn.init.zeros_(self.b.weight)

        def forward(self, x):
            a, b = x.chunk(2, 1)
            return torch.cat([a, b + self.b(self.f(self.a(a)))], 1).flip(1)

    class Residual(nn.Module):
        def __init__(self, c, k, gaps=(1, 3, 5)):
            super().__init__()
            self.a = nn.ModuleList(weight_norm(nn.Conv1d(c, c, k, 1, k // 2 * d, d)) for d in gaps)
            self.b = nn.ModuleList(weight_norm(nn.Conv1d(c, c, k, 1, k // 2)) for _ in gaps)

        def forward(self, x):
            for f, g in zip(self.a, self.b):
                x = x + g(F.leaky_relu(f(F.leaky_relu(x, 0.1)), 0.1))
            return x

    class Voice(nn.Module):
        def __init__(self, i, c=512, rates=(8, 8, 2, 2)):
            super().__init__()
            self.enter, self.up, self.res = nn.Conv1d(i, c, 7, padding=3), nn.ModuleList(), nn.ModuleList()
            for r in rates:
                self.up.append(weight_norm(nn.ConvTranspose1d(c, c // 2, 2 * r, r, r // 2)))
                c //= 2
                self.res.append(nn.ModuleList(Residual(c, k) for k in (3, 7, 11)))
            self.out = nn.Conv1d(c, 1, 7, padding=3, bias=False)

        def forward(self, x):
            x = self.enter(x)
            for up, res in zip(self.up, self.res):
                x = up(F.leaky_relu(x, 0.1))
                x = sum(f(x) for f in res) / len(res)
            return self.out(F.leaky_relu(x)).tanh().squeeze(1)

    class Net(nn.Module):
        def __init__(self, letters=178, c=192, bins=513, piece=32, hop=256, mels=80):
            super().__init__()
            self.letter, self.piece, self.hop = nn.Embedding(letters, c), piece, hop
            self.text = nn.Sequential(*(Encoder(c, 2, 768, nn.ReLU, 0.1) for _ in range(6)), nn.Linear(c, 2 * c))
            self.enter, self.post, self.code = nn.Conv1d(bins, c, 1), Waves(c, 5, 16), nn.Conv1d(c, 2 * c, 1)
            self.flow, self.voice = nn.Sequential(*(Couple(c, c) for _ in range(4))), Voice(c)
            self.length = nn.Sequential(nn.Conv1d(c, 256, 3, padding=1), nn.ReLU(), nn.Dropout(0.5),
                                        nn.Conv1d(256, 256, 3, padding=1), nn.ReLU(), nn.Conv1d(256, 1, 1))
            self.register_buffer("window", torch.hann_window(1024), persistent=False)
            centre, width = torch.linspace(1, 40, mels) ** 1.69, torch.linspace(2, 14, mels)
            bank = (1 - (torch.arange(bins) - centre[:, None]).abs() / width[:, None]).clamp(min=0)
            self.register_buffer("bank", bank, persistent=False)

        def mel(self, x):
            x = torch.stft(x, 1024, self.hop, window=self.window, return_complex=True).abs()
            return (self.bank @ x).clamp(min=1e-5).log()

        def forward(self, texts, spectrum, sound, heard):
            x = self.text(self.letter(texts))
            heard = heard.long()
            held = F.one_hot(heard, x.shape[1]).to(x.dtype).sum(1)
            length = self.length(x.detach()[..., :x.shape[-1] // 2].transpose(1, 2)).squeeze(1)
            mean, log = (t.gather(1, heard.unsqueeze(-1).expand(-1, -1, t.shape[-1])).transpose(1, 2)
                         for t in x.chunk(2, -1))
            m, s = self.code(self.post(self.enter(spectrum.abs()))).chunk(2, 1)
            z = m + torch.randn_like(m) * s.exp()
            p = self.flow(z)
            gap = (log - s - 0.5 + 0.5 * (p - mean) ** 2 * torch.exp(-2 * log)).mean()
            start = (torch.rand(len(z), 1, device=z.device) * (z.shape[2] - self.piece)).long()
            at = start + torch.arange(self.piece, device=z.device)
            said = self.voice(z.gather(2, at.unsqueeze(1).expand(-1, z.shape[1], -1)))
            at = start * self.hop + torch.arange(self.piece * self.hop, device=z.device)
            loss = 45 * F.l1_loss(self.mel(said), self.mel(sound.gather(1, at)))
            return Result(loss + gap + F.mse_loss(length, torch.log(held + 1)))

    def inputs(b, n=400, letters=100):
        heard = (torch.arange(n) * letters // n).int().repeat(b, 1)
        return words(b, letters), torch.zeros(b, 513, n), torch.zeros(b, n * 256), heard
    return Net(), inputs, "own"


def diarised_speakers():
    """Who speaks when: a transformer over frames, LSTMs find an attractor for each voice, the best of 24 orders."""
    class Net(nn.Module):
        def __init__(self, i=345, c=256, depth=4, voices=4):
            super().__init__()
            self.enter, self.voices = nn.Sequential(nn.Linear(i, c), nn.LayerNorm(c)), voices
            layer = nn.TransformerEncoderLayer(c, 4, 2048, 0.1, batch_first=True)
            self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
            self.read, self.write = nn.LSTM(c, c, batch_first=True), nn.LSTM(c, c, batch_first=True)
            self.there = nn.Linear(c, 1)
            orders = torch.tensor(list(itertools.permutations(range(voices))))
            self.register_buffer("orders", orders, persistent=False)

        def forward(self, sound, who):
            x = self.body(self.enter(sound))
            mixed = x[:, torch.randperm(x.shape[1], device=x.device)]
            state = self.read(mixed)[1]
            found = self.write(x.new_zeros(len(x), self.voices + 1, x.shape[-1]), state)[0]
            score = x @ found[:, :-1].transpose(1, 2)
            who = (who > 0.5).float()
            each = [F.binary_cross_entropy_with_logits(score, who[..., order], reduction="none").mean((1, 2))
                    for order in self.orders.unbind()]
            loss = torch.stack(each, 1).amin(1).mean()
            real = torch.ones_like(found[..., 0])
            real[:, -1] = 0
            return Result(loss + F.binary_cross_entropy_with_logits(self.there(found.detach()).squeeze(-1), real))
    return Net(), lambda b: (torch.zeros(b, 500, 345), torch.zeros(b, 500, 4)), "own"


def looped_words():
    """A language model that thinks in depth: four middle blocks run eight times on their own result and the input."""
    class Block(nn.Module):
        def __init__(self, c, heads, seq):
            super().__init__()
            self.heads, self.qkv, self.o = heads, nn.Linear(c, 3 * c, bias=False), nn.Linear(c, c, bias=False)
            self.n1, self.n2, self.n3, self.n4 = (RMSNorm(c) for _ in range(4))
            self.turn, inner = Rotary(c // heads, seq), 8 * c // 3 // 64 * 64
            self.into, self.out = nn.Linear(c, 2 * inner, bias=False), nn.Linear(inner, c, bias=False)

        def forward(self, x):
            q, k, v = (heads_first(t, self.heads) for t in self.qkv(self.n1(x)).chunk(3, -1))
            y = F.scaled_dot_product_attention(self.turn(q), self.turn(k), v, is_causal=True)
            x = self.n2(x + self.o(heads_joined(y)))
            a, b = self.into(self.n3(x)).chunk(2, -1)
            return self.n4(x + self.out(F.silu(a) * b))

    class Net(nn.Module):
        def __init__(self, vocab=32768, c=1024, heads=16, seq=1024, loops=8):
            super().__init__()
            self.word, self.loops = nn.Embedding(vocab, c), loops
            self.first, self.core, self.last = (nn.Sequential(*(Block(c, heads, seq) for _ in range(n)))
                                                for n in (2, 4, 2))
            self.join, self.norm = nn.Linear(2 * c, c, bias=False), RMSNorm(c)

        def forward(self, ids, labels):
            x = self.first(self.word(ids) * math.sqrt(self.word.embedding_dim))
            state = torch.randn_like(x) * 0.4
            for _ in range(self.loops):
                state = self.core(self.join(torch.cat([state, x], -1)))
            score = F.linear(self.norm(self.last(state)), self.word.weight)
            return Result(F.cross_entropy(score.flatten(0, 1).float(), labels.flatten()))
    return Net(), lambda b: {"ids": words(b, 1024), "labels": words(b, 1024)}, "own"


def captioned_pairs():
    """Pictures and captions: one text model is compared with pictures, a second one reads them and writes the words."""
    class Layer(nn.Module):
        def __init__(self, c, heads, cross):
            super().__init__()
            self.a, self.n1, self.n2 = Attention(c, heads), nn.LayerNorm(c), nn.LayerNorm(c)
            self.cross, self.n3 = (Attention(c, heads), nn.LayerNorm(c)) if cross else (None, None)
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c))

        def forward(self, x, mask=None, seen=None):
            x = x + self.a(self.n1(x), mask=mask, causal=mask is None)
            x = x if self.cross is None else x + self.cross(self.n3(x), seen)
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, vocab=49408, c=512, v=768, depth=6, long=76, asked=256):
            super().__init__()
            self.patch, self.place = nn.Conv2d(3, v, 16, 16), nn.Parameter(torch.randn(1, 196, v) * 0.02)
            self.eye = nn.Sequential(*(Encoder(v, 12) for _ in range(12)), nn.LayerNorm(v))
            self.ask = nn.Parameter(torch.randn(asked + 1, c) * c ** -0.5)
            self.pool, self.nv = Attention(c, 8, v), nn.LayerNorm(c)
            self.word, self.when = nn.Embedding(vocab, c), nn.Parameter(torch.randn(1, long + 1, c) * 0.01)
            self.end = nn.Parameter(torch.randn(1, 1, c) * 0.02)
            self.one = nn.ModuleList(Layer(c, 8, False) for _ in range(depth))
            self.two = nn.ModuleList(Layer(c, 8, True) for _ in range(depth))
            self.nt, self.no, self.out = nn.LayerNorm(c), nn.LayerNorm(c), nn.Linear(c, vocab, bias=False)
            self.heat = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

        def forward(self, pictures, ids, labels):
            x = self.eye(self.patch(pictures).flatten(2).transpose(1, 2) + self.place)
            seen = self.nv(self.pool(self.ask.expand(len(x), -1, -1), x))
            y = torch.cat([self.word(ids), self.end.expand(len(ids), -1, -1)], 1) + self.when
            for f in self.one:
                y = f(y)
            a, b = F.normalize(seen[:, 0], dim=-1), F.normalize(self.nt(y[:, -1]), dim=-1)
            score = self.heat.exp() * (a @ b.t()).float()
            own = torch.arange(len(a), device=a.device)
            loss = (F.cross_entropy(score, own) + F.cross_entropy(score.t(), own)) / 2
            y = y[:, :-1]
            for f in self.two:
                y = f(y, seen=seen[:, 1:])
            return Result(loss + 2 * F.cross_entropy(self.out(self.no(y)).transpose(1, 2), labels, ignore_index=-1))

    def inputs(b):
        return {"pictures": torch.zeros(b, 3, 224, 224), "ids": words(b, 76), "labels": words(b, 76)}
    return Net(), inputs, "own"


def video_flow():
    """Videos from text by flow matching: tokens of latent frames turn by three places, read words, and are scaled."""
    class Turn(nn.Module):
        def __init__(self, size, grid):
            super().__init__()
            parts = [size - 4 * (size // 6), 2 * (size // 6), 2 * (size // 6)]
            place = torch.stack(torch.meshgrid(*(torch.arange(n).float() for n in grid), indexing="ij"), -1).view(-1, 3)
            angle = torch.cat([place[:, n:n + 1] * 1e4 ** (-torch.arange(0, m, 2).float() / m)
                               for n, m in enumerate(parts)], -1)
            self.register_buffer("by", torch.polar(torch.ones_like(angle), angle), persistent=False)

        def forward(self, x):
            y = torch.view_as_complex(x.float().unflatten(-1, (-1, 2))) * self.by
            return torch.view_as_real(y).flatten(-2).to(x.dtype)

    class Block(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.q, self.k, self.v, self.o = heads, *(nn.Linear(c, c) for _ in range(4))
            self.nq, self.nk, self.n2 = RMSNorm(c), RMSNorm(c), nn.LayerNorm(c)
            self.n1, self.n3 = (nn.LayerNorm(c, elementwise_affine=False) for _ in range(2))
            self.cross, self.scales = Attention(c, heads), nn.Parameter(torch.randn(1, 6, c) / c ** 0.5)
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(approximate="tanh"), nn.Linear(4 * c, c))

        def forward(self, x, time, text, turn):
            a, b, c, d, e, f = (self.scales + time).unbind(1)
            y = self.n1(x) * (1 + b.unsqueeze(1)) + a.unsqueeze(1)
            q, k, v = (heads_first(t, self.heads) for t in (self.nq(self.q(y)), self.nk(self.k(y)), self.v(y)))
            y = F.scaled_dot_product_attention(turn(q), turn(k), v)
            x = x + self.o(heads_joined(y)) * c.unsqueeze(1)
            x = x + self.cross(self.n2(x), text)
            return x + self.f(self.n3(x) * (1 + e.unsqueeze(1)) + d.unsqueeze(1)) * f.unsqueeze(1)

    class Net(nn.Module):
        def __init__(self, i=16, c=1024, heads=8, depth=8, grid=(9, 16, 16), words_=4096):
            super().__init__()
            self.patch, self.turn = nn.Conv3d(i, c, (1, 2, 2), (1, 2, 2)), Turn(c // heads, grid)
            self.text = nn.Sequential(nn.Linear(words_, c), nn.GELU(approximate="tanh"), nn.Linear(c, c))
            self.time = nn.Sequential(nn.Linear(256, c), nn.SiLU(), nn.Linear(c, c))
            self.six, self.body = nn.Sequential(nn.SiLU(), nn.Linear(c, 6 * c)), nn.ModuleList(
                Block(c, heads) for _ in range(depth))
            self.norm, self.out = nn.LayerNorm(c, elementwise_affine=False), nn.Linear(c, 4 * i)
            self.last, self.grid = nn.Parameter(torch.randn(1, 2, c) / c ** 0.5), grid
            self.register_buffer("rate", torch.exp(-math.log(1e4) * torch.arange(128) / 128), persistent=False)

        def forward(self, clip, text):
            t = torch.randn(len(clip), device=clip.device).sigmoid()
            noise = torch.randn_like(clip)
            at = t.view(-1, 1, 1, 1, 1)
            x = self.patch((1 - at) * clip + at * noise).flatten(2).transpose(1, 2)
            angle = 1000 * t.unsqueeze(1) * self.rate
            time = self.time(torch.cat([angle.cos(), angle.sin()], -1))
            six, text = self.six(time).unflatten(1, (6, -1)), self.text(text)
            for f in self.body:
                x = f(x, six, text, self.turn)
            a, b = (self.last + time.unsqueeze(1)).chunk(2, 1)
            x = self.out(self.norm(x) * (1 + b) + a)
            n, h, w = self.grid
            x = x.view(-1, n, h, w, 2, 2, clip.shape[1]).permute(0, 6, 1, 2, 4, 3, 5).reshape(clip.shape)
            return Result(F.mse_loss(x.float(), noise - clip))
    return Net(), lambda b: (torch.zeros(b, 16, 9, 32, 32), torch.zeros(b, 226, 4096)), "own"


def masked_codes():
    """Pictures as codes of which a drawn share is hidden: a two-way transformer guesses them, told the class."""
    class Net(nn.Module):
        def __init__(self, codes=1024, classes=1000, c=768, depth=16, heads=12, n=256):
            super().__init__()
            self.codes, self.word = codes, nn.Embedding(codes + classes + 2, c)
            self.place = nn.Parameter(torch.randn(1, n + 1, c) * 0.02)
            self.norm, self.drop = nn.LayerNorm(c), nn.Dropout(0.1)
            layer = nn.TransformerEncoderLayer(c, heads, 4 * c, 0.1, "gelu", batch_first=True)
            self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
            self.head = nn.Sequential(nn.Linear(c, c), nn.GELU(), nn.LayerNorm(c))
            self.bias = nn.Parameter(torch.zeros(codes))

        def forward(self, seen, labels):
            seen = seen % self.codes
            share = torch.cos(torch.rand(len(seen), 1, device=seen.device) * math.pi / 2)
            rank = torch.rand(seen.shape, device=seen.device).argsort(1).argsort(1)
            hidden = rank < (share * seen.shape[1]).ceil().clamp(min=1)
            none = torch.rand(len(labels), device=labels.device) < 0.1
            kind = torch.where(none, self.word.num_embeddings - 1, labels + self.codes + 1).unsqueeze(1)
            x = self.word(torch.cat([kind, seen.masked_fill(hidden, self.codes)], 1)) + self.place
            x = self.head(self.body(self.drop(self.norm(x))))[:, 1:]
            score = x @ self.word.weight[:self.codes].t() + self.bias
            loss = F.cross_entropy(score.flatten(0, 1), seen.flatten(), reduction="none", label_smoothing=0.1)
            hidden = hidden.flatten().float()
            return Result((loss * hidden).sum() / hidden.sum())
    return Net(), lambda b: {"seen": words(b, 256), "labels": torch.zeros(b, dtype=torch.int64)}, "own"


def sampled_energies():
    """Small pictures by an energy: twenty noisy steps down its slope make rivals for the real ones in each batch."""
    class Block(nn.Module):
        def __init__(self, i, o, down):
            super().__init__()
            self.a, self.b = nn.Conv2d(i, o, 3, padding=1), nn.Conv2d(o, o, 3, padding=1)
            self.skip, self.down = nn.Conv2d(i, o, 1) if i != o else nn.Identity(), down

        def forward(self, x):
            y = self.skip(x) + self.b(F.silu(self.a(F.silu(x))))
            return F.avg_pool2d(y, 2) if self.down else y

    class Net(nn.Module):
        def __init__(self, c=64, steps=20, size=10.0, noise=0.005):
            super().__init__()
            self.energy = nn.Sequential(nn.Conv2d(3, c, 3, padding=1), Block(c, c, True), Block(c, c, False),
                                        Block(c, 2 * c, True), Block(2 * c, 2 * c, False), Block(2 * c, 4 * c, True),
                                        Block(4 * c, 4 * c, False), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                                        nn.Linear(4 * c, 1))
            self.steps, self.size, self.noise = steps, size, noise

        def sampled(self, x):
            x = x.detach()
            for _ in range(self.steps):
                x = (x + self.noise * torch.randn_like(x)).clamp(-1, 1).requires_grad_()
                slope, = torch.autograd.grad(self.energy(x).sum(), x)
                x = (x - self.size * slope.clamp(-0.03, 0.03)).clamp(-1, 1).detach()
            return x

        def forward(self, real, kept):
            real, fake = real + self.noise * torch.randn_like(real), self.sampled(kept)
            a, b = self.energy(torch.cat([real, fake])).chunk(2)
            return Result((a - b).mean() + 0.1 * (a ** 2 + b ** 2).mean())
    return Net(), lambda b: (torch.zeros(b, 3, 32, 32), torch.zeros(b, 3, 32, 32)), "own"


NETWORKS = {f.__name__: f for f in (branch_speech, posterior_speech, diarised_speakers, looped_words, captioned_pairs,
                                    video_flow, masked_codes, sampled_energies)}
STEPS = {"branch_speech": ("amp-bf16", 32, "nchw", "adam"), "posterior_speech": ("fp32", 16, "nchw", "adamw"),
         "diarised_speakers": ("fp32", 64, "nchw", "adam"), "looped_words": ("amp-bf16", 8, "nchw", "adamw"),
         "captioned_pairs": ("amp-bf16", 64, "nchw", "adamw"), "video_flow": ("amp-bf16", 4, "nchw", "adamw"),
         "masked_codes": ("tf32", 64, "nchw", "adamw"), "sampled_energies": ("fp32", 64, "nchw", "adam")}
