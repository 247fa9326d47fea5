# SPDX-License-Identifier: Apache-2.0
"""written_twentysecond.py - the fourteenth set of networks: sound and words. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, Result, RMSNorm, Rotary, heads_first, heads_joined, words


def transducer_speech():
    """Word pieces from speech: LSTMs read sound and text, a joint layer scores pairs, and all alignments are summed."""
    class Net(nn.Module):
        def __init__(self, vocab=1024, c=640, joint=512):
            super().__init__()
            self.front = nn.Sequential(nn.Conv2d(1, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 3, 2, 1), nn.ReLU())
            self.low, self.high = nn.LSTM(32 * 20, c, 2, batch_first=True), nn.LSTM(2 * c, c, 3, batch_first=True)
            self.norm, self.drop = nn.LayerNorm(c), nn.Dropout(0.1)
            self.word, self.text = nn.Embedding(vocab, c), nn.LSTM(c, c, batch_first=True)
            self.left, self.right = nn.Linear(c, joint), nn.Linear(c, joint)
            self.out = nn.Linear(joint, vocab)

        def heard(self, mel):
            x = self.front(mel.unsqueeze(1)).transpose(1, 2).flatten(2)
            x = self.drop(self.norm(self.low(x)[0]))
            return self.high(x.unflatten(1, (-1, 2)).flatten(2))[0]

        def aligned(self, blank, label):
            """Log of the sum over alignments, frame by frame; a cumulative sum covers the labels of a frame."""
            passed = F.pad(label.cumsum(-1), (1, 0))
            alpha = passed[:, 0]
            for t in range(1, blank.shape[1]):
                alpha = torch.logcumsumexp(alpha + blank[:, t - 1] - passed[:, t], -1) + passed[:, t]
            return alpha[:, -1] + blank[:, -1, -1]

        def forward(self, mel, said):
            sound = self.left(self.heard(mel))
            text = self.right(self.text(self.word(F.pad(said, (1, 0))))[0])
            score = self.out(torch.tanh(sound.unsqueeze(2) + text.unsqueeze(1))).float().log_softmax(-1)
            index = said[:, None, :, None].expand(-1, score.shape[1], -1, -1)
            label = score[:, :, :-1].gather(-1, index).squeeze(-1)
            return Result(-self.aligned(score[..., 0], label).mean())
    return Net(), lambda b: (torch.zeros(b, 1200, 80), words(b, 40)), "own"


def piano_rolls():
    """Notes of piano music: filters and two-way LSTMs find where notes begin, end and sound, and how loud they are."""
    class Stack(nn.Module):
        def __init__(self, bins, c):
            super().__init__()
            self.f = nn.Sequential(nn.Conv2d(1, c // 16, 3, padding=1), nn.BatchNorm2d(c // 16), nn.ReLU(),
                                   nn.Conv2d(c // 16, c // 16, 3, padding=1), nn.BatchNorm2d(c // 16), nn.ReLU(),
                                   nn.MaxPool2d((1, 2)), nn.Dropout(0.25),
                                   nn.Conv2d(c // 16, c // 8, 3, padding=1), nn.BatchNorm2d(c // 8), nn.ReLU(),
                                   nn.MaxPool2d((1, 2)), nn.Dropout(0.25))
            self.out = nn.Sequential(nn.Linear(c // 8 * (bins // 4), c), nn.Dropout(0.5))

        def forward(self, mel):
            return self.out(self.f(mel.unsqueeze(1)).transpose(1, 2).flatten(2))

    class Net(nn.Module):
        def __init__(self, bins=229, c=768, keys=88):
            super().__init__()
            self.stacks = nn.ModuleList(Stack(bins, c) for _ in range(4))
            self.onset, self.offset = (nn.LSTM(c, c // 2, batch_first=True, bidirectional=True) for _ in range(2))
            self.both = nn.LSTM(3 * keys, c // 2, batch_first=True, bidirectional=True)
            self.heads = nn.ModuleList(nn.Linear(c, keys) for _ in range(5))

        def forward(self, mel, loud, begins, ends):
            one, two, three, four = (f(mel) for f in self.stacks)
            onset = torch.sigmoid(self.heads[0](self.onset(one)[0]))
            offset = torch.sigmoid(self.heads[1](self.offset(two)[0]))
            active = torch.sigmoid(self.heads[2](three))
            joint = torch.cat([onset.detach(), offset.detach(), active], -1)
            frame, force = torch.sigmoid(self.heads[3](self.both(joint)[0])), self.heads[4](four)
            begun, ended, sounds = (begins > 1.5).float(), (ends > 1.5).float(), (loud > 1).float()
            loss = F.binary_cross_entropy(onset, begun) + F.binary_cross_entropy(offset, ended)
            loss = loss + F.binary_cross_entropy(frame, sounds)
            return Result(loss + (begun * (force - loud).pow(2)).sum() / (begun.sum() + 1))

    def inputs(b):
        return torch.zeros(b, 640, 229), *(torch.zeros(b, 640, 88) for _ in range(3))
    return Net(), inputs, "own"


def delayed_codebooks():
    """Music from a description: four streams of codes, each a frame later than the one before, in one transformer."""
    class Block(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.n1, self.n2, self.n3 = (nn.LayerNorm(c) for _ in range(3))
            self.own, self.cross = Attention(c, heads, bias=False), Attention(c, heads, bias=False)
            self.f = nn.Sequential(nn.Linear(c, 4 * c, bias=False), nn.GELU(), nn.Linear(4 * c, c, bias=False))

        def forward(self, x, text):
            x = x + self.own(self.n1(x), causal=True)
            x = x + self.cross(self.n2(x), text)
            return x + self.f(self.n3(x))

    class Net(nn.Module):
        def __init__(self, codes=2048, books=4, c=1024, depth=12, frames=500):
            super().__init__()
            self.books, self.special = books, codes
            self.code = nn.ModuleList(nn.Embedding(codes + 1, c) for _ in range(books))
            self.text, self.body = nn.Linear(768, c), nn.ModuleList(Block(c, 16) for _ in range(depth))
            self.norm = nn.LayerNorm(c)
            self.heads = nn.ModuleList(nn.Linear(c, codes + 1, bias=False) for _ in range(books))
            rate = torch.exp(torch.arange(c // 2) * (-math.log(1e4) / (c // 2)))
            angle = torch.arange(frames + books)[:, None] * rate
            self.register_buffer("place", torch.cat([angle.cos(), angle.sin()], 1), persistent=False)

        def forward(self, codes, text):
            shifted = torch.stack([F.pad(codes[:, k], (k + 1, self.books - k - 1), value=self.special)
                                   for k in range(self.books)], 1)
            x = sum(f(shifted[:, k]) for k, f in enumerate(self.code)) + self.place
            text = self.text(text)
            for f in self.body:
                x = f(x, text)
            x = self.norm(x)
            n, loss = codes.shape[-1], 0
            for k, f in enumerate(self.heads):
                score = f(x[:, k:k + n]).float()
                loss = loss + F.cross_entropy(score.flatten(0, 1), codes[:, k].flatten())
            return Result(loss / self.books)
    return Net(), lambda b: (torch.zeros(b, 4, 500, dtype=torch.int64), torch.zeros(b, 64, 768)), "own"


def beat_frames():
    """Beats of music: small filters over a spectrum, eleven dilated layers over time; beats, downbeats and tempo."""
    class Layer(nn.Module):
        def __init__(self, c, gap):
            super().__init__()
            self.near = nn.Conv1d(c, c, 5, padding=2 * gap, dilation=gap)
            self.far = nn.Conv1d(c, c, 5, padding=4 * gap, dilation=2 * gap)
            self.drop, self.out, self.skip = nn.Dropout1d(0.1), nn.Conv1d(2 * c, c, 1), nn.Conv1d(c, c, 1)

        def forward(self, x):
            y = self.out(self.drop(F.elu(torch.cat([self.near(x), self.far(x)], 1))))
            return self.skip(x) + y, y

    class Net(nn.Module):
        def __init__(self, c=20, depth=11, tempi=300):
            super().__init__()
            self.front = nn.Sequential(
                nn.Conv2d(1, c, 3, padding=(1, 0)), nn.ELU(), nn.MaxPool2d((1, 3)), nn.Dropout(0.1),
                nn.Conv2d(c, c, (1, 12)), nn.ELU(), nn.MaxPool2d((1, 3)), nn.Dropout(0.1),
                nn.Conv2d(c, c, 3, padding=(1, 0)), nn.ELU(), nn.MaxPool2d((1, 3)), nn.Dropout(0.1))
            self.body = nn.ModuleList(Layer(c, 2 ** n) for n in range(depth))
            self.beats = nn.Sequential(nn.Dropout(0.1), nn.Conv1d(c, 2, 1))
            self.tempo = nn.Sequential(nn.Dropout(0.5), nn.Linear(c, tempi))

        def forward(self, spectrum, beats, labels):
            x, total = self.front(spectrum.unsqueeze(1)).squeeze(-1), 0
            for f in self.body:
                x, skip = f(x)
                total = total + skip
            found = self.beats(F.elu(x))
            near = F.max_pool1d((beats > 2.5).float(), 3, 1, 1)
            loss = F.binary_cross_entropy_with_logits(found, near)
            return Result(loss + F.cross_entropy(self.tempo(total.mean(-1)), labels))

    def inputs(b):
        return {"spectrum": torch.zeros(b, 3000, 81), "beats": torch.zeros(b, 2, 3000),
                "labels": torch.zeros(b, dtype=torch.int64)}
    return Net(), inputs, "own"


def flow_speech():
    """Speech from text and a sample of a voice: a transformer scaled by time fills in hidden spectra."""
    class Letters(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.f, self.norm = nn.Conv1d(c, c, 7, padding=3, groups=c), nn.LayerNorm(c, eps=1e-6)
            self.up, self.down = nn.Linear(c, 2 * c), nn.Linear(2 * c, c)
            self.scale, self.shift = nn.Parameter(torch.zeros(1, 1, 2 * c)), nn.Parameter(torch.zeros(1, 1, 2 * c))

        def forward(self, x):
            y = F.gelu(self.up(self.norm(self.f(x.transpose(1, 2)).transpose(1, 2))))
            size = torch.norm(y, dim=1, keepdim=True)
            y = self.scale * (y * (size / (size.mean(-1, keepdim=True) + 1e-6))) + self.shift + y
            return x + self.down(y)

    class Block(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.style = heads, nn.Linear(c, 6 * c)
            self.n1, self.n2 = (nn.LayerNorm(c, elementwise_affine=False, eps=1e-6) for _ in range(2))
            self.q, self.k, self.v, self.o = (nn.Linear(c, c) for _ in range(4))
            self.f = nn.Sequential(nn.Linear(c, 2 * c), nn.GELU(approximate="tanh"), nn.Dropout(0.1),
                                   nn.Linear(2 * c, c))

        def forward(self, x, time, turn):
            a, b, c, d, e, f = self.style(F.silu(time)).unsqueeze(1).chunk(6, -1)
            y = self.n1(x) * (1 + b) + a
            q, k, v = (heads_first(g(y), self.heads) for g in (self.q, self.k, self.v))
            y = F.scaled_dot_product_attention(turn(q).to(v.dtype), turn(k).to(v.dtype), v)
            x = x + c * self.o(heads_joined(y))
            return x + f * self.f(self.n2(x) * (1 + e) + d)

    class Net(nn.Module):
        def __init__(self, mels=100, letters=2546, c=768, text=512, depth=18, frames=800):
            super().__init__()
            self.c, self.letter = c, nn.Embedding(letters, text)
            self.read = nn.Sequential(*(Letters(text) for _ in range(4)))
            self.enter, self.turn = nn.Linear(2 * mels + text, c), Rotary(64, frames)
            self.near = nn.Sequential(nn.Conv1d(c, c, 31, padding=15, groups=16), nn.Mish(),
                                      nn.Conv1d(c, c, 31, padding=15, groups=16), nn.Mish())
            self.time = nn.Sequential(nn.Linear(256, c), nn.SiLU(), nn.Linear(c, c))
            self.body = nn.ModuleList(Block(c, 12) for _ in range(depth))
            self.norm, self.style = nn.LayerNorm(c, elementwise_affine=False, eps=1e-6), nn.Linear(c, 2 * c)
            self.out = nn.Linear(c, mels)

        def forward(self, mel, text):
            b, n, _ = mel.shape
            time, noise = torch.rand(b, device=mel.device), torch.randn_like(mel)
            start, size = torch.rand(b, 1, device=mel.device) * 0.3, torch.rand(b, 1, device=mel.device) * 0.3 + 0.7
            place = torch.arange(n, device=mel.device) / n
            hidden = ((place >= start) & (place < start + size)).unsqueeze(-1)
            mixed = (1 - time.view(b, 1, 1)) * noise + time.view(b, 1, 1) * mel
            letters = F.pad(self.read(self.letter(text)), (0, 0, 0, n - text.shape[1]))
            x = self.enter(torch.cat([mixed, torch.where(hidden, torch.zeros_like(mel), mel), letters.float()], -1))
            x = x + self.near(x.transpose(1, 2)).transpose(1, 2)
            waves = torch.exp(torch.arange(128, device=mel.device) * (-math.log(1e4) / 127)) * time[:, None] * 1000
            time = self.time(torch.cat([waves.sin(), waves.cos()], -1))
            for f in self.body:
                x = f(x, time, self.turn)
            scale, shift = self.style(F.silu(time)).unsqueeze(1).chunk(2, -1)
            found = self.out(self.norm(x) * (1 + scale) + shift).float()
            loss = (found - (mel - noise)).pow(2) * hidden
            return Result(loss.sum() / (hidden.sum() * mel.shape[-1] + 1))
    return Net(), lambda b: (torch.zeros(b, 800, 100), words(b, 180)), "own"


def sparse_features():
    """Features of a language model: an autoencoder keeps the 64 largest of 24,576 values; unused ones help."""
    class Net(nn.Module):
        def __init__(self, c=2304, features=24576, kept=64, spare=512):
            super().__init__()
            self.kept, self.spare = kept, spare
            self.enter = nn.Parameter(torch.randn(features, c) * c ** -0.5)
            self.leave = nn.Parameter(torch.randn(c, features) * c ** -0.5)
            self.low, self.middle = nn.Parameter(torch.zeros(features)), nn.Parameter(torch.zeros(c))
            self.register_buffer("unused", torch.zeros(features), persistent=False)

        def decoded(self, score, kept):
            value, index = score.topk(kept, dim=-1)
            full = torch.zeros_like(score).scatter(-1, index, F.relu(value))
            return F.linear(full, self.leave), full

        def forward(self, x):
            x = x - x.mean(-1, keepdim=True)
            x = x / (x.norm(dim=-1, keepdim=True) + 1e-5)
            score = F.linear(x - self.middle, self.enter, self.low)
            found, full = self.decoded(score, self.kept)
            with torch.no_grad():
                used = (full > 1e-3).any(0)
                self.unused.copy_(torch.where(used, torch.zeros_like(self.unused), self.unused + 1))
            left = x - (found + self.middle)
            dead = torch.where(self.unused > 200, score, torch.full_like(score, -1e4))
            rest = left.detach() - self.decoded(dead, self.spare)[0]
            scale = (x - x.mean(0)).pow(2).mean()
            return Result((left.pow(2).mean() + rest.pow(2).mean() / 32) / scale)
    return Net(), lambda b: torch.zeros(b, 2304), "own"


def grouped_policy():
    """Answers that are rewarded: eight for a question are compared with each other, with clipped ratios."""
    class Block(nn.Module):
        def __init__(self, c, heads, groups, inner):
            super().__init__()
            self.heads, self.groups, size = heads, groups, c // heads
            self.n1, self.n2 = RMSNorm(c), RMSNorm(c)
            self.q, self.kv = nn.Linear(c, c), nn.Linear(c, 2 * groups * size)
            self.o, self.gate = nn.Linear(c, c, bias=False), nn.Linear(c, 2 * inner, bias=False)
            self.down = nn.Linear(inner, c, bias=False)

        def forward(self, x, turn):
            y = self.n1(x)
            k, v = (heads_first(t, self.groups) for t in self.kv(y).chunk(2, -1))
            q, k = turn(heads_first(self.q(y), self.heads)), turn(k)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            x = x + self.o(heads_joined(y))
            a, b = self.gate(self.n2(x)).chunk(2, -1)
            return x + self.down(F.silu(a) * b)

    class Net(nn.Module):
        def __init__(self, vocab=32000, c=896, depth=12, heads=14, groups=2, inner=2432, seq=512, asked=192):
            super().__init__()
            self.word, self.asked, self.turn = nn.Embedding(vocab, c), asked, Rotary(c // heads, seq)
            self.body, self.norm = nn.ModuleList(Block(c, heads, groups, inner) for _ in range(depth)), RMSNorm(c)

        def forward(self, ids, rewards, before, reference):
            x = self.word(ids.flatten(0, 1))
            for f in self.body:
                x = f(x, self.turn)
            score = F.linear(self.norm(x)[:, self.asked - 1:-1], self.word.weight).float()
            answer = ids.flatten(0, 1)[:, self.asked:]
            chance = score.gather(-1, answer.unsqueeze(-1)).squeeze(-1) - score.logsumexp(-1)
            gain = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)
            gain = gain.flatten().unsqueeze(-1)
            before, reference = before.flatten(0, 1), reference.flatten(0, 1)
            ratio = torch.exp((chance - chance.detach()) + 0.01 * before)
            better = torch.minimum(ratio * gain, ratio.clamp(0.8, 1.28) * gain)
            apart = (chance.detach() + 0.01 * reference) - chance
            return Result((0.04 * (apart.exp() - apart - 1) - better).mean())

    def inputs(b):
        return (torch.zeros(b, 8, 512, dtype=torch.int64), torch.zeros(b, 8), torch.zeros(b, 8, 320),
                torch.zeros(b, 8, 320))
    return Net(), inputs, "own"


def retained_words():
    """A language model without softmax: products of queries and keys decay with distance, at another rate per head."""
    class Retention(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.norm = heads, nn.GroupNorm(heads, 2 * c, affine=False)
            self.q, self.k, self.v, self.g = (nn.Linear(c, s * c, bias=False) for s in (1, 1, 2, 2))
            self.o = nn.Linear(2 * c, c, bias=False)

        def forward(self, x, turn, decay):
            q, k, v = (heads_first(f(x), self.heads) for f in (self.q, self.k, self.v))
            look = turn(q) @ turn(k).transpose(-1, -2) * (q.shape[-1] ** -0.5) * decay
            look = look / look.detach().abs().sum(-1, keepdim=True).clamp(1, 5e4)
            y = heads_joined(look @ v)
            y = self.norm(y.flatten(0, 1)).view_as(y)
            return self.o(F.silu(self.g(x)) * y)

    class Block(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.n1, self.n2, self.r = nn.RMSNorm(c), nn.RMSNorm(c), Retention(c, heads)
            self.gate, self.up, self.down = (nn.Linear(c, 2 * c, bias=False), nn.Linear(c, 2 * c, bias=False),
                                             nn.Linear(2 * c, c, bias=False))

        def forward(self, x, turn, decay):
            x = x + self.r(self.n1(x), turn, decay)
            y = self.n2(x)
            return x + self.down(F.gelu(self.gate(y)) * self.up(y))

    class Net(nn.Module):
        def __init__(self, vocab=32768, c=1024, depth=12, heads=4, seq=1024):
            super().__init__()
            self.word, self.turn = nn.Embedding(vocab, c), Rotary(c // heads, seq)
            self.body, self.norm = nn.ModuleList(Block(c, heads) for _ in range(depth)), nn.RMSNorm(c)
            self.out = nn.Linear(c, vocab, bias=False)
            rate = torch.log(1 - 2 ** (-5 - torch.arange(heads).float()))
            far = (torch.arange(seq)[:, None] - torch.arange(seq)).float()
            decay = torch.exp(rate.view(-1, 1, 1) * far.clamp(min=0)) * (far >= 0)
            self.register_buffer("decay", decay / decay.sum(-1, keepdim=True).sqrt(), persistent=False)

        def forward(self, ids):
            x = self.word(ids)
            for f in self.body:
                x = f(x, self.turn, self.decay)
            score = self.out(self.norm(x))[:, :-1].float()
            return Result(F.cross_entropy(score.flatten(0, 1), ids[:, 1:].flatten()))
    return Net(), lambda b: words(b, 1024), "own"


NETWORKS = {f.__name__: f for f in (transducer_speech, piano_rolls, delayed_codebooks, beat_frames, flow_speech,
                                    sparse_features, grouped_policy, retained_words)}
STEPS = {"transducer_speech": ("amp-fp16", 16, "nchw", "adam"), "piano_rolls": ("tf32", 8, "nchw", "adam"),
         "delayed_codebooks": ("amp-bf16", 8, "nchw", "adamw"), "beat_frames": ("fp32", 16, "nchw", "adam"),
         "flow_speech": ("amp-bf16", 16, "nchw", "adamw"), "sparse_features": ("bf16", 4096, "nchw", "adam"),
         "grouped_policy": ("amp-bf16", 2, "nchw", "adamw"), "retained_words": ("bf16", 8, "nchw", "adamw")}
