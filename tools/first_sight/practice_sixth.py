# SPDX-License-Identifier: Apache-2.0
"""practice_sixth.py - networks for practice, the sixth set: words, sound and series. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.checkpoint import checkpoint

from blocks import Result, Rotary, heads_first, heads_joined, words


def tinkered_words():
    """A language model of a hobbyist: fewer keys than queries, norms of both, capped scores, tied words."""
    class Block(nn.Module):
        def __init__(self, c, heads, groups, inner):
            super().__init__()
            self.heads, self.groups, size = heads, groups, c // heads
            self.n1, self.n2, self.qn, self.kn = nn.RMSNorm(c), nn.RMSNorm(c), nn.RMSNorm(size), nn.RMSNorm(size)
            self.qkv, self.o = nn.Linear(c, (heads + 2 * groups) * size, bias=False), nn.Linear(c, c, bias=False)
            self.up, self.down = nn.Linear(c, inner, bias=False), nn.Linear(inner, c, bias=False)

        def forward(self, x, turn, first):
            size = x.shape[-1] // self.heads
            q, k, v = self.qkv(self.n1(x)).split([self.heads * size, self.groups * size, self.groups * size], -1)
            q, k, v = heads_first(q, self.heads), heads_first(k, self.groups), heads_first(v, self.groups)
            q, k = turn(self.qn(q)), turn(self.kn(k))
            again = self.heads // self.groups
            k, v = k.repeat_interleave(again, 1), v.repeat_interleave(again, 1)
            x = x + self.o(heads_joined(F.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, is_causal=True)))
            return x + self.down(F.relu(self.up(self.n2(x))).square()) + 0.1 * first

    class Net(nn.Module):
        def __init__(self, vocab=50304, c=768, depth=10, heads=12, groups=4, seq=1024):
            super().__init__()
            self.word, self.turn = nn.Embedding(vocab, c), Rotary(c // heads, seq)
            self.body, self.norm = nn.ModuleList(Block(c, heads, groups, 2816) for _ in range(depth)), nn.RMSNorm(c)
            self.out = nn.Linear(c, vocab, bias=False)
            self.out.weight = self.word.weight

        def forward(self, ids):
            first = x = F.rms_norm(self.word(ids), (self.word.embedding_dim,))
            for n, f in enumerate(self.body):
                x = checkpoint(f, x, self.turn, first, use_reentrant=False) if n % 2 else f(x, self.turn, first)
            score = self.out(self.norm(x))
            score = 30 * torch.tanh(score.float() / 30)
            total = score.logsumexp(-1)
            loss = F.cross_entropy(score[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
            return Result(loss + 1e-4 * total.pow(2).mean())
    return Net(), lambda b: words(b, 1024), "own"


def melody_events():
    """Melodies as events: LSTMs with projections, dropout between words, and scores by the table of words."""
    class Net(nn.Module):
        def __init__(self, vocab=413, c=384, width=1152, depth=4):
            super().__init__()
            self.word, self.drop = nn.Embedding(vocab, c, padding_idx=0), nn.Dropout(0.3)
            self.body = nn.LSTM(c, width, depth, batch_first=True, dropout=0.25, proj_size=c)
            self.bias = nn.Parameter(torch.zeros(vocab))

        def forward(self, ids):
            x = self.word(ids[:, :-1])
            x = x * F.dropout(torch.ones_like(x[:, :1]), 0.2, self.training)
            y, _ = self.body(x)
            score = F.linear(self.drop(y), self.word.weight, self.bias)
            loss = F.cross_entropy(score.transpose(1, 2), ids[:, 1:], ignore_index=0, label_smoothing=0.05)
            return Result(loss + 2e-6 * y.pow(2).sum(-1).mean() + 1e-6 * (y[:, 1:] - y[:, :-1]).pow(2).sum(-1).mean())
    return Net(), lambda b: words(b, 385), "own"


def packed_reviews():
    """Stars of reviews of different lengths: two-way GRUs over words and over sentences, with attention."""
    class Net(nn.Module):
        def __init__(self, vocab=30000, c=300, width=256):
            super().__init__()
            self.word = nn.Embedding(vocab, c, padding_idx=1)
            self.low = nn.GRU(c, width, 2, batch_first=True, bidirectional=True, dropout=0.2)
            self.look, self.query = nn.Linear(2 * width, 2 * width), nn.Linear(2 * width, 1, bias=False)
            self.out = nn.Sequential(nn.Linear(2 * width, 128), nn.SELU(), nn.AlphaDropout(0.2), nn.Linear(128, 1))

        def forward(self, ids, stars):
            b, n = ids.shape
            lengths = [n - n * (i % 8) // 10 for i in range(b)]
            packed = pack_padded_sequence(self.word(ids), lengths, batch_first=True, enforce_sorted=False)
            x, _ = pad_packed_sequence(self.low(packed)[0], batch_first=True, total_length=n)
            score = self.query(torch.tanh(self.look(x))).squeeze(-1).masked_fill(ids == 1, -1e4)
            y = torch.bmm(score.softmax(1).unsqueeze(1), x).squeeze(1)
            return Result(F.smooth_l1_loss(self.out(y), stars, beta=0.5))
    return Net(), lambda b: (words(b, 256), torch.zeros(b, 1)), "own"


def fourier_words():
    """Hidden words of sentences: Fourier transforms mix tokens and features, and dense layers follow."""
    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.n1, self.n2 = nn.LayerNorm(c), nn.LayerNorm(c)
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c), nn.Dropout(0.1))

        def forward(self, x):
            x = self.n1(x + torch.fft.fft2(x.float(), dim=(-2, -1)).real)
            return self.n2(x + self.f(x))

    class Net(nn.Module):
        def __init__(self, vocab=32000, c=768, depth=12, seq=512):
            super().__init__()
            self.word, self.place, self.kind = nn.Embedding(vocab, c, padding_idx=3), nn.Embedding(seq, c), nn.Embedding(4, c)
            self.norm, self.drop = nn.LayerNorm(c), nn.Dropout(0.1)
            self.body = nn.Sequential(*(Block(c) for _ in range(depth)))
            self.head = nn.Sequential(nn.Linear(c, c), nn.GELU(), nn.LayerNorm(c))
            self.bias = nn.Parameter(torch.zeros(vocab))

        def forward(self, ids, hidden):
            b, n = ids.shape
            x = self.word(ids) + self.place(torch.arange(n, device=ids.device)) + self.kind(torch.zeros_like(ids))
            x = self.body(self.drop(self.norm(x)))
            index = hidden.argsort(1)[:, :77]
            x = self.head(x.gather(1, index.unsqueeze(-1).expand(-1, -1, x.shape[-1])))
            score = F.linear(x, self.word.weight, self.bias)
            return Result(F.cross_entropy(score.flatten(0, 1), ids.gather(1, index).flatten()))
    return Net(), lambda b: (words(b, 512), torch.zeros(b, 512)), "own"


def module_translator():
    """Translation with the framework's own transformer: masks for the future and for padding, smoothed labels."""
    class Net(nn.Module):
        def __init__(self, vocab=16000, c=512):
            super().__init__()
            self.c, self.word = c, nn.Embedding(vocab, c, padding_idx=0)
            self.body = nn.Transformer(c, 8, 4, 4, 2048, 0.1, F.relu, batch_first=True)
            self.out = nn.Linear(c, vocab)
            rate = torch.exp(torch.arange(0, c, 2) * (-math.log(1e4) / c))
            angle = torch.arange(256)[:, None] * rate
            self.register_buffer("place", torch.stack([angle.sin(), angle.cos()], -1).flatten(1), persistent=False)

        def read(self, ids):
            return F.dropout(self.word(ids) * math.sqrt(self.c) + self.place[:ids.shape[1]], 0.1, self.training)

        def forward(self, source, target):
            given, asked = target[:, :-1], target[:, 1:]
            n = given.shape[1]
            future = torch.ones(n, n, dtype=torch.bool, device=source.device).triu(1)
            empty = source == 0
            y = self.body(self.read(source), self.read(given), tgt_mask=future, src_key_padding_mask=empty,
                          tgt_key_padding_mask=given == 0, memory_key_padding_mask=empty)
            score = self.out(y)
            return Result(F.cross_entropy(score.flatten(0, 1), asked.flatten(), ignore_index=0, label_smoothing=0.1))
    return Net(), lambda b: (words(b, 96) + 1, words(b, 101) + 1), "own"


def waveform_stems():
    """Four stems of a song from the waveform: gated filters down, a two-way LSTM, transposed filters up."""
    class Net(nn.Module):
        def __init__(self, c=48, depth=6, stems=4):
            super().__init__()
            self.down, self.up, a = nn.ModuleList(), nn.ModuleList(), 2
            for n in range(depth):
                b = c * 2 ** n
                self.down.append(nn.Sequential(nn.Conv1d(a, b, 8, 4), nn.ReLU(), nn.Conv1d(b, 2 * b, 1), nn.GLU(1)))
                last = [nn.ReLU()] if n else []
                self.up.insert(0, nn.Sequential(nn.Conv1d(b, 2 * b, 3, padding=1), nn.GLU(1),
                                                nn.ConvTranspose1d(b, a if n else 2 * stems, 8, 4), *last))
                a = b
            self.mid, self.join = nn.LSTM(a, a // 2, 2, bidirectional=True), nn.Linear(a, a)

        def forward(self, mix, stems):
            spread = mix.mean(1, keepdim=True).std(-1, keepdim=True) + 1e-5
            x, kept = mix / spread, []
            for f in self.down:
                x = f(x)
                kept.append(x)
            x = self.join(self.mid(x.permute(2, 0, 1))[0]).permute(1, 2, 0)
            for f in self.up:
                old = kept.pop()
                cut = old.shape[-1] - x.shape[-1]
                x = f(F.pad(x, (0, cut)) + old if cut >= 0 else x[..., :cut] + old)
            x = x * spread
            return Result(F.l1_loss(x, stems[..., :x.shape[-1]]))
    return Net(), lambda b: (torch.zeros(b, 2, 131072), torch.zeros(b, 8, 131072)), "own"


def whale_calls():
    """Calls of whales in recordings: spectra in the network, hidden bands, and separable filters with squeezes."""
    class Block(nn.Module):
        def __init__(self, a, b, k, stride, grow):
            super().__init__()
            c = a * grow
            self.keep = stride == 1 and a == b
            self.f = nn.Sequential(nn.Conv2d(a, c, 1, bias=False), nn.BatchNorm2d(c, 1e-3), nn.Hardswish(),
                                   nn.Conv2d(c, c, k, stride, k // 2, groups=c, bias=False), nn.BatchNorm2d(c, 1e-3), nn.Hardswish())
            self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c // 4, 1), nn.ReLU(), nn.Conv2d(c // 4, c, 1),
                                      nn.Hardsigmoid())
            self.out = nn.Sequential(nn.Conv2d(c, b, 1, bias=False), nn.BatchNorm2d(b, 1e-3))

        def forward(self, x):
            y = self.f(x)
            y = self.out(y * self.gate(y))
            return x + y if self.keep else y

    class Net(nn.Module):
        def __init__(self, kinds=31):
            super().__init__()
            plan = [(16, 3, 1, 1), (24, 3, 2, 4), (24, 3, 1, 3), (40, 5, 2, 3), (40, 5, 1, 3), (80, 3, 2, 6), (80, 3, 1, 3),
                    (112, 3, 1, 6), (160, 5, 2, 6), (160, 5, 1, 6)]
            self.register_buffer("window", torch.hann_window(1024))
            self.register_buffer("bank", torch.rand(128, 513) / 20)
            parts, a = [nn.Conv2d(1, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.Hardswish()], 16
            for b, k, stride, grow in plan:
                parts.append(Block(a, b, k, stride, grow))
                a = b
            self.body = nn.Sequential(*parts, nn.Conv2d(a, 960, 1), nn.BatchNorm2d(960), nn.Hardswish())
            self.look, self.out = nn.Conv1d(960, kinds, 1), nn.Conv1d(960, kinds, 1)

        def forward(self, wave, truth):
            with torch.no_grad():
                power = torch.stft(wave.float(), 1024, 320, window=self.window, return_complex=True).abs().square()
                mel = torch.log(self.bank @ power + 1e-5)
                hidden = torch.rand(len(mel), 128, 1, device=mel.device) < 0.1
                mel = mel.masked_fill(hidden, 0)
            x = self.body(mel.unsqueeze(1)).mean(2)
            x = F.max_pool1d(x, 3, 1, 1) + F.avg_pool1d(x, 3, 1, 1)
            clip = (torch.softmax(torch.tanh(self.look(x)), -1) * self.out(x)).sum(-1)
            return Result(F.binary_cross_entropy_with_logits(clip, (truth > 1).float()))
    return Net(), lambda b: (torch.zeros(b, 160000), torch.zeros(b, 31)), "own"


def banded_papers():
    """Long papers: tokens look at their own block and its neighbours, unfolded by hand, and a few at everything."""
    class Block(nn.Module):
        def __init__(self, c, heads, block):
            super().__init__()
            self.heads, self.block = heads, block
            self.qkv, self.o, self.n1, self.n2 = nn.Linear(c, 3 * c), nn.Linear(c, c), nn.LayerNorm(c), nn.LayerNorm(c)
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * c, c))

        def forward(self, x, outside):
            q, k, v = (heads_first(t, self.heads) for t in self.qkv(self.n1(x)).chunk(3, -1))
            n = self.block
            k, v = (F.pad(t, (0, 0, n, n)).unfold(2, 3 * n, n) for t in (k, v))
            q = q.unflatten(2, (-1, n))
            look = torch.einsum("bhnqd,bhndk->bhnqk", q, k) * q.shape[-1] ** -0.5
            look = look.masked_fill(outside[:, None, :, None], float("-inf")).softmax(-1)
            look = F.dropout(look, 0.1, self.training)
            y = torch.einsum("bhnqk,bhndk->bhnqd", look, v).flatten(2, 3)
            x = x + self.o(heads_joined(y))
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, vocab=28895, c=512, depth=6, seq=2048, block=128, topics=60):
            super().__init__()
            self.block, self.word, self.place = block, nn.Embedding(vocab, c), nn.Parameter(torch.randn(seq, c) * 0.02)
            self.body = nn.ModuleList(Block(c, 8, block) for _ in range(depth))
            self.read, self.query = nn.MultiheadAttention(c, 8, batch_first=True), nn.Parameter(torch.randn(1, 4, c))
            self.out = nn.Linear(4 * c, topics)

        def forward(self, ids, labels):
            x = self.word(ids) + self.place
            inside = torch.ones_like(ids, dtype=torch.bool)
            outside = ~F.pad(inside, (self.block, self.block)).unfold(1, 3 * self.block, self.block)
            for f in self.body:
                x = f(x, outside)
            y = self.read(self.query.expand(len(x), -1, -1), x, x)[0]
            return Result(F.cross_entropy(self.out(y.flatten(1)), labels))
    return Net(), lambda b: {"ids": words(b, 2048), "labels": torch.zeros(b, dtype=torch.int64)}, "own"


def code_and_questions():
    """Code for a question: a transformer of the framework reads both, bags of letters help, pairs are contrasted."""
    class Net(nn.Module):
        def __init__(self, vocab=40000, c=384):
            super().__init__()
            self.word, self.place = nn.Embedding(vocab, c), nn.Embedding(256, c)
            self.bag = nn.EmbeddingBag(20000, c, mode="mean")
            layer = nn.TransformerEncoderLayer(c, 6, 1536, 0.1, "gelu", batch_first=True, norm_first=True)
            self.body = nn.TransformerEncoder(layer, 6, nn.LayerNorm(c), enable_nested_tensor=False)
            self.out, self.scale = nn.Linear(2 * c, 256), nn.Parameter(torch.tensor(2.66))

        def coded(self, ids, letters):
            x = self.word(ids) + self.place.weight[:ids.shape[1]]
            empty = ids == 7
            x = self.body(x, src_key_padding_mask=empty)
            keep = (~empty).unsqueeze(-1)
            x = (x * keep).sum(1) / keep.sum(1).clamp(min=1)
            return F.normalize(self.out(torch.cat([x, self.bag(letters % 20000)], -1)), dim=-1)

        def forward(self, question, code, a, b):
            one, two = self.coded(question, a), self.coded(code, b)
            score = one @ two.t() * self.scale.exp()
            right = torch.arange(len(score), device=score.device)
            return Result((F.cross_entropy(score, right) + F.cross_entropy(score.t(), right)) / 2)
    return Net(), lambda b: (words(b, 48), words(b, 224), words(b, 64), words(b, 256)), "own"


def other_voices():
    """The same words in another voice: an autoencoder of waveforms with periodic activations and weight norms."""
    norm = parametrizations.weight_norm

    class Snake(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a = nn.Parameter(torch.ones(1, c, 1))

        def forward(self, x):
            return x + (self.a + 1e-9).reciprocal() * torch.sin(self.a * x).pow(2)

    def unit(c, gap):
        return nn.Sequential(Snake(c), norm(nn.Conv1d(c, c, 7, padding=3 * gap, dilation=gap)), Snake(c), norm(nn.Conv1d(c, c, 1)))

    class Net(nn.Module):
        def __init__(self, c=40, voices=109, rates=(2, 4, 5, 8)):
            super().__init__()
            self.enter = norm(nn.Conv1d(1, c, 7, padding=3))
            self.units, self.down, self.back, self.up = (nn.ModuleList() for _ in range(4))
            for r in rates:
                self.units.append(nn.ModuleList(unit(c, g) for g in (1, 3, 9)))
                self.down.append(nn.Sequential(Snake(c), norm(nn.Conv1d(c, 2 * c, 2 * r, r, (r + 1) // 2))))
                self.up.insert(0, nn.Sequential(Snake(2 * c), norm(nn.ConvTranspose1d(2 * c, c, 2 * r, r, (r + 1) // 2, r % 2))))
                self.back.insert(0, nn.ModuleList(unit(c, g) for g in (1, 3)))
                c *= 2
            self.code, self.open, self.voice = nn.Conv1d(c, 128, 3, padding=1), nn.Conv1d(64, c, 3, padding=1), nn.Embedding(voices, c)
            self.guess = nn.Sequential(nn.Conv1d(64, 128, 5, padding=2), nn.InstanceNorm1d(128, affine=True), nn.LeakyReLU(0.2),
                                       nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(128, voices))
            self.leave = nn.Sequential(Snake(c // 2 ** len(rates)), norm(nn.Conv1d(c // 2 ** len(rates), 1, 7, padding=3)), nn.Tanh())

        def forward(self, wave, speaker):
            x = self.enter(wave)
            for units, f in zip(self.units, self.down):
                for u in units:
                    x = x + u(x)
                x = f(x)
            mean, spread = self.code(x).chunk(2, 1)
            found = torch.distributions.Normal(mean, F.softplus(spread) + 1e-3, validate_args=False)
            z = found.rsample()
            standard = torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean), validate_args=False)
            apart = torch.distributions.kl_divergence(found, standard).mean()
            hidden = F.cross_entropy(self.guess(z + (z.detach() - z) * 2), speaker)
            y = self.open(z) + self.voice(speaker).unsqueeze(-1)
            for f, units in zip(self.up, self.back):
                y = f(y)
                for u in units:
                    y = y + u(y)
            y = self.leave(y)
            n, loss = min(y.shape[-1], wave.shape[-1]), 0
            y, wave = y[..., :n].squeeze(1).float(), wave[..., :n].squeeze(1).float()
            for size in (2048, 512, 128):
                window = torch.hann_window(size, device=y.device)
                a, b = (torch.stft(w, size, size // 4, window=window, return_complex=True).abs() for w in (y, wave))
                loss = loss + (a - b).abs().mean() + (torch.log(a + 1e-5) - torch.log(b + 1e-5)).abs().mean()
            return Result(loss + 0.01 * apart + 0.1 * hidden)
    return Net(), lambda b: (torch.zeros(b, 1, 32000), torch.zeros(b, dtype=torch.int64)), "own"


def handwritten_lines():
    """Lines of handwriting: filters that squeeze the height, five two-way LSTM layers, and a CTC loss."""
    class Net(nn.Module):
        def __init__(self, letters=96, widths=(16, 32, 48, 64, 80)):
            super().__init__()
            parts, a = [], 1
            for n, b in enumerate(widths):
                parts += [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.LeakyReLU(0.1)]
                parts += [nn.MaxPool2d(2)] if n < 2 else [nn.MaxPool2d((2, 1))] if n == 2 else []
                parts += [nn.Dropout2d(0.2)] if n > 1 else []
                a = b
            self.f = nn.Sequential(*parts)
            self.body = nn.LSTM(80 * 16, 256, 5, bidirectional=True, dropout=0.5)
            self.drop, self.out, self.near = nn.Dropout(0.5), nn.Linear(512, letters), nn.Conv1d(80 * 16, letters, 3, padding=1)

        def forward(self, line, text):
            x = self.f(line).flatten(1, 2)
            short = self.near(x).permute(2, 0, 1)
            y = self.out(self.drop(self.body(x.permute(2, 0, 1))[0]))
            b, loss, text = len(line), 0, text % 95 + 1
            long = torch.full((b,), y.shape[0], dtype=torch.int64, device=line.device)
            said = torch.full((b,), text.shape[1], dtype=torch.int64, device=line.device)
            for score, weight in ((y, 1.0), (short, 0.1)):
                loss = loss + weight * F.ctc_loss(score.float().log_softmax(-1), text, long, said, zero_infinity=True)
            return Result(loss)
    return Net(), lambda b: (torch.zeros(b, 1, 128, 1024), words(b, 60)), "own"


NETWORKS = {f.__name__: f for f in (tinkered_words, melody_events, packed_reviews, fourier_words, module_translator,
                                    waveform_stems, whale_calls, banded_papers, code_and_questions, other_voices,
                                    handwritten_lines)}
STEPS = {"tinkered_words": ("amp-bf16", 8, "nchw", "adamw"), "melody_events": ("fp32", 48, "nchw", "adam"),
         "packed_reviews": ("tf32", 64, "nchw", "adam"), "fourier_words": ("amp-bf16", 24, "nchw", "adamw"),
         "module_translator": ("amp-fp16", 64, "nchw", "adam"), "waveform_stems": ("tf32", 8, "nchw", "adam"),
         "whale_calls": ("amp-bf16", 32, "nhwc", "adamw"), "banded_papers": ("amp-bf16", 8, "nchw", "adamw"),
         "code_and_questions": ("amp-fp16", 128, "nchw", "adamw"), "other_voices": ("fp32", 8, "nchw", "adamw"),
         "handwritten_lines": ("tf32", 24, "nchw", "adam")}
