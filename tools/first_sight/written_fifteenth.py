# SPDX-License-Identifier: Apache-2.0
"""written_fifteenth.py - the twelfth set of networks as people write them: sound, words, series. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, RMSNorm, Result, Rotary, heads_first, heads_joined, words


def prosody_speech():
    """Mel spectra from phonemes: convolutional transformer blocks, and predicted lengths, pitch and energy between."""
    class Block(nn.Module):
        def __init__(self, c, heads=2, inner=1024):
            super().__init__()
            self.a, self.n1, self.n2 = Attention(c, heads), nn.LayerNorm(c), nn.LayerNorm(c)
            self.f1, self.f2, self.drop = nn.Conv1d(c, inner, 9, padding=4), nn.Conv1d(inner, c, 1), nn.Dropout(0.2)

        def forward(self, x):
            x = self.n1(x + self.drop(self.a(x)))
            y = self.f2(F.relu(self.f1(x.transpose(1, 2)))).transpose(1, 2)
            return self.n2(x + self.drop(y))

    class Guess(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.f1, self.f2 = nn.Conv1d(c, c, 3, padding=1), nn.Conv1d(c, c, 3, padding=1)
            self.n1, self.n2, self.o = nn.LayerNorm(c), nn.LayerNorm(c), nn.Linear(c, 1)

        def forward(self, x):
            x = F.dropout(self.n1(F.relu(self.f1(x.transpose(1, 2))).transpose(1, 2)), 0.5, self.training)
            x = F.dropout(self.n2(F.relu(self.f2(x.transpose(1, 2))).transpose(1, 2)), 0.5, self.training)
            return self.o(x).squeeze(-1)

    class Net(nn.Module):
        def __init__(self, phonemes=128, c=256, mels=80, text=128, frames=800):
            super().__init__()
            self.put, self.frames = nn.Embedding(phonemes, c), frames
            self.place1, self.place2 = nn.Parameter(torch.zeros(text, c)), nn.Parameter(torch.zeros(frames, c))
            self.encoder = nn.Sequential(*(Block(c) for _ in range(4)))
            self.decoder = nn.Sequential(*(Block(c) for _ in range(6)))
            self.length, self.pitch, self.energy = Guess(c), Guess(c), Guess(c)
            self.pitch_in, self.energy_in = nn.Conv1d(1, c, 9, padding=4), nn.Conv1d(1, c, 9, padding=4)
            self.mel = nn.Linear(c, mels)
            sizes = (mels, 512, 512, 512, 512, mels)
            self.post = nn.Sequential(*(m for n, (i, o) in enumerate(zip(sizes, sizes[1:])) for m in (
                nn.Conv1d(i, o, 5, padding=2, bias=False), nn.BatchNorm1d(o), nn.Tanh() if n < 4 else nn.Identity(),
                nn.Dropout(0.5))))

        def forward(self, phonemes, aligned, lengths, pitch, energy, mel):
            x = self.encoder(self.put(phonemes) + self.place1)
            said = self.length(x), self.pitch(x), self.energy(x)
            x = x + self.pitch_in(pitch.unsqueeze(1)).transpose(1, 2)
            x = x + self.energy_in(energy.unsqueeze(1)).transpose(1, 2)
            x = x.gather(1, aligned.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
            y = self.mel(self.decoder(x + self.place2))
            z = y + self.post(y.transpose(1, 2)).transpose(1, 2)
            loss = F.l1_loss(y, mel) + F.l1_loss(z, mel)
            return Result(loss + sum(F.mse_loss(a, b) for a, b in zip(said, (lengths, pitch, energy))))

    def inputs(b):
        return words(b, 128), words(b, 800), *(torch.zeros(b, 128) for _ in range(3)), torch.zeros(b, 800, 80)
    return Net(), inputs, "own"


def keyword_spotter():
    """Commands for small devices: filters over frequency, their mean filtered in time and broadcast back."""
    class Block(nn.Module):
        def __init__(self, i, o, stride=1, gap=1, bands=5):
            super().__init__()
            self.same = i == o and stride == 1
            self.wide = nn.Identity() if i == o else nn.Sequential(nn.Conv2d(i, o, 1, bias=False), nn.BatchNorm2d(o),
                                                                   nn.ReLU())
            self.high = nn.Conv2d(o, o, (3, 1), (stride, 1), (1, 0), groups=o, bias=False)
            self.norm = nn.BatchNorm2d(o * bands)
            self.bands, self.long = bands, nn.Conv2d(o, o, (1, 3), 1, (0, gap), (1, gap), groups=o, bias=False)
            self.rest = nn.Sequential(nn.BatchNorm2d(o), nn.SiLU(), nn.Conv2d(o, o, 1, bias=False), nn.Dropout2d(0.1))

        def forward(self, x):
            y = self.high(self.wide(x))
            b, c, f, t = y.shape
            y = self.norm(y.reshape(b, c * self.bands, f // self.bands, t)).reshape(b, c, f, t)
            z = self.rest(self.long(y.mean(2, keepdim=True)))
            return F.relu(y + z + x) if self.same else F.relu(y + z)

    class Net(nn.Module):
        def __init__(self, scale=8, classes=35):
            super().__init__()
            c = [int(n * scale) for n in (16, 8, 12, 16, 20, 32)]
            self.stem = nn.Sequential(nn.Conv2d(1, c[0], 5, (2, 1), 2, bias=False), nn.BatchNorm2d(c[0]), nn.ReLU())
            plan = ((c[0], c[1], 2, 1, 1), (c[1], c[2], 2, 2, 2), (c[2], c[3], 4, 2, 4), (c[3], c[4], 4, 1, 8))
            self.body = nn.Sequential(*(Block(i if n == 0 else o, o, s if n == 0 else 1, gap)
                                        for i, o, count, s, gap in plan for n in range(count)))
            self.near = nn.Conv2d(c[4], c[4], 5, padding=(0, 2), groups=c[4], bias=False)
            self.head = nn.Sequential(nn.Conv2d(c[4], c[5], 1, bias=False), nn.BatchNorm2d(c[5]), nn.ReLU())
            self.last = nn.Linear(c[5], classes)

        def forward(self, x):
            return self.last(self.head(self.near(self.body(self.stem(x)))).mean((2, 3)))
    return Net(), lambda b: torch.zeros(b, 1, 40, 101), "cross-entropy"


def separable_speech():
    """Letters from speech by 1-D separable filters of growing length with residuals, and the CTC loss."""
    class Unit(nn.Module):
        def __init__(self, i, o, k, repeat=5):
            super().__init__()
            layers = []
            for n in range(repeat):
                layers += [nn.Conv1d(i if n == 0 else o, i if n == 0 else o, k, padding=k // 2,
                                     groups=i if n == 0 else o, bias=False),
                           nn.Conv1d(i if n == 0 else o, o, 1, bias=False), nn.BatchNorm1d(o)]
                layers += [nn.ReLU(), nn.Dropout(0.1)] if n < repeat - 1 else []
            self.f, self.skip = nn.Sequential(*layers), nn.Sequential(nn.Conv1d(i, o, 1, bias=False), nn.BatchNorm1d(o))

        def forward(self, x):
            return F.dropout(F.relu(self.f(x) + self.skip(x)), 0.1, self.training)

    class Net(nn.Module):
        def __init__(self, mels=64, letters=29, plan=((256, 33), (256, 39), (512, 51), (512, 63), (512, 75))):
            super().__init__()
            layers, i = [nn.Conv1d(mels, 256, 33, 2, 16, bias=False), nn.BatchNorm1d(256), nn.ReLU()], 256
            for o, k in plan:
                layers += [Unit(i, o, k)]
                i = o
            layers += [nn.Conv1d(512, 512, 87, padding=86, dilation=2, groups=512), nn.Conv1d(512, 512, 1, bias=False),
                       nn.BatchNorm1d(512), nn.ReLU(), nn.Conv1d(512, 1024, 1, bias=False), nn.BatchNorm1d(1024),
                       nn.ReLU(), nn.Conv1d(1024, letters, 1)]
            self.body = nn.Sequential(*layers)

        def forward(self, mel, letters):
            mel = (mel - mel.mean(2, keepdim=True)) / (mel.std(2, keepdim=True) + 1e-5)
            logs = self.body(mel).permute(2, 0, 1).float().log_softmax(-1)
            frames, said = ([n] * mel.shape[0] for n in (logs.shape[0], letters.shape[1]))
            return Result(F.ctc_loss(logs, letters.long() + 1, tuple(frames), tuple(said), zero_infinity=True))
    return Net(), lambda b: (torch.zeros(b, 64, 1200), torch.zeros(b, 150, dtype=torch.int32)), "own"


def speaker_vectors():
    """Who speaks: 1-D residual blocks of eight chained groups, pooled by attention, with an angular margin."""
    class Unit(nn.Sequential):
        def __init__(self, i, o, k=1, gap=1):
            super().__init__(nn.Conv1d(i, o, k, padding=gap * (k // 2), dilation=gap), nn.ReLU(), nn.BatchNorm1d(o))

    class Block(nn.Module):
        def __init__(self, c, gap, scale=8):
            super().__init__()
            self.scale, self.a, self.z = scale, Unit(c, c), Unit(c, c)
            self.parts = nn.ModuleList(Unit(c // scale, c // scale, 3, gap) for _ in range(scale - 1))
            self.gate = nn.Sequential(nn.Conv1d(c, 128, 1), nn.ReLU(), nn.Conv1d(128, c, 1), nn.Sigmoid())

        def forward(self, x):
            first, *rest = self.a(x).chunk(self.scale, 1)
            kept, y = [first], None
            for part, f in zip(rest, self.parts):
                y = f(part if y is None else part + y)
                kept.append(y)
            y = self.z(torch.cat(kept, 1))
            return x + y * self.gate(y.mean(2, keepdim=True))

    class Net(nn.Module):
        def __init__(self, mels=80, c=1024, people=5994, margin=0.2, scale=30.0):
            super().__init__()
            self.put, self.body = Unit(mels, c, 5), nn.ModuleList(Block(c, gap) for gap in (2, 3, 4))
            self.join = nn.Sequential(nn.Conv1d(3 * c, 1536, 1), nn.ReLU())
            self.look = nn.Sequential(nn.Conv1d(3 * 1536, 128, 1), nn.ReLU(), nn.BatchNorm1d(128), nn.Tanh(),
                                      nn.Conv1d(128, 1536, 1))
            self.norm, self.vector, self.last = nn.BatchNorm1d(3072), nn.Linear(3072, 192), nn.BatchNorm1d(192)
            self.people = nn.Parameter(torch.randn(people, 192) * 0.05)
            self.scale, self.cos, self.sin = scale, math.cos(margin), math.sin(margin)

        def forward(self, mel, person):
            x, kept = self.put(mel - mel.mean(2, keepdim=True)), []
            for block in self.body:
                x = block(x)
                kept.append(x)
            x = self.join(torch.cat(kept, 1))
            mean, spread = x.mean(2, keepdim=True).expand_as(x), x.std(2, keepdim=True).expand_as(x)
            w = self.look(torch.cat([x, mean, spread], 1)).softmax(2)
            mean = (w * x).sum(2)
            spread = ((w * x * x).sum(2) - mean * mean).clamp(min=1e-4).sqrt()
            v = self.last(self.vector(self.norm(torch.cat([mean, spread], 1))))
            near = F.linear(F.normalize(v.float()), F.normalize(self.people)).float()
            far = (1 - near * near).clamp(min=1e-6).sqrt()
            true = F.one_hot(person.long(), len(self.people))
            near = torch.where(true > 0, near * self.cos - far * self.sin, near)
            return Result(F.cross_entropy(self.scale * near, person.long()))
    return Net(), lambda b: (torch.zeros(b, 80, 300), torch.zeros(b, dtype=torch.int32)), "own"


def order_book():
    """Moves of a price from ten levels of an order book: narrow filters, three paths of filters, and an LSTM."""
    def unit(i, o, k, s=(1, 1), p=(0, 0), act=nn.LeakyReLU):
        return [nn.Conv2d(i, o, k, s, p), act(), nn.BatchNorm2d(o)]

    class Net(nn.Module):
        def __init__(self, c=32, wide=64, classes=3):
            super().__init__()
            deep = ((4, 1), (1, 1), (0, 0))
            self.body = nn.Sequential(
                *unit(1, c, (1, 2), (1, 2)), *unit(c, c, *deep), *unit(c, c, *deep),
                *unit(c, c, (1, 2), (1, 2), act=nn.Tanh), *unit(c, c, *deep, nn.Tanh), *unit(c, c, *deep, nn.Tanh),
                *unit(c, c, (1, 10)), *unit(c, c, *deep), *unit(c, c, *deep))
            self.near = nn.Sequential(*unit(c, wide, 1), *unit(wide, wide, (3, 1), p=(1, 0)))
            self.far = nn.Sequential(*unit(c, wide, 1), *unit(wide, wide, (5, 1), p=(2, 0)))
            self.most = nn.Sequential(nn.MaxPool2d((3, 1), 1, (1, 0)), *unit(c, wide, 1))
            self.time, self.head = nn.LSTM(3 * wide, 64, batch_first=True), nn.Linear(64, classes)

        def forward(self, book):
            x = self.body(book)
            x = torch.cat([self.near(x), self.far(x), self.most(x)], 1)
            return self.head(self.time(x.squeeze(3).transpose(1, 2))[0][:, -1])
    return Net(), lambda b: torch.zeros(b, 1, 100, 40), "cross-entropy"


def news_readers():
    """News for readers: attention among a title's words, then among the titles read, and one of five clicked."""
    class Pool(nn.Module):
        def __init__(self, c, inner=200):
            super().__init__()
            self.look = nn.Sequential(nn.Linear(c, inner), nn.Tanh(), nn.Linear(inner, 1, bias=False))

        def forward(self, x):
            return (self.look(x).softmax(1) * x).sum(1)

    class Net(nn.Module):
        def __init__(self, vocab=70000, c=300, heads=16, size=25):
            super().__init__()
            self.put, self.drop, wide = nn.Embedding(vocab, c, padding_idx=0), nn.Dropout(0.2), heads * size
            self.enter = nn.Linear(c, wide)
            self.title = nn.MultiheadAttention(wide, heads, dropout=0.1, batch_first=True)
            self.user = nn.MultiheadAttention(wide, heads, dropout=0.1, batch_first=True)
            self.pool1, self.pool2 = Pool(wide), Pool(wide)

        def titles(self, tokens):
            x = self.enter(self.drop(self.put(tokens.flatten(0, 1))))
            x = self.drop(self.title(x, x, x, need_weights=False)[0])
            return self.pool1(x).unflatten(0, tokens.shape[:2])

        def forward(self, read, offered):
            read, offered = self.titles(read), self.titles(offered)
            user = self.pool2(self.drop(self.user(read, read, read, need_weights=False)[0]))
            return torch.bmm(offered, user.unsqueeze(-1)).squeeze(-1)

    def inputs(b):
        return torch.zeros(b, 50, 30, dtype=torch.int64), torch.zeros(b, 5, 30, dtype=torch.int64)
    return Net(), inputs, "cross-entropy"


def mixed_series():
    """Load of 321 meters: reversible norm, dense layers along time and across meters in turn, three quantiles."""
    class Mix(nn.Module):
        def __init__(self, seq, c, inner):
            super().__init__()
            self.n1, self.n2, self.drop = nn.LayerNorm(c), nn.LayerNorm(c), nn.Dropout(0.1)
            self.time = nn.Linear(seq, seq)
            self.up, self.down = nn.Linear(c, inner), nn.Linear(inner, c)

        def forward(self, x):
            y = F.relu(self.time(self.n1(x).transpose(1, 2))).transpose(1, 2)
            x = x + self.drop(y)
            return x + self.drop(self.down(self.drop(F.relu(self.up(self.n2(x))))))

    class Net(nn.Module):
        def __init__(self, seq=512, ahead=96, meters=321, inner=1024, depth=8, quantiles=(0.1, 0.5, 0.9)):
            super().__init__()
            self.scale, self.shift = nn.Parameter(torch.ones(meters)), nn.Parameter(torch.zeros(meters))
            self.body = nn.Sequential(*(Mix(seq, meters, inner) for _ in range(depth)))
            self.head = nn.Linear(seq, ahead * len(quantiles))
            self.register_buffer("quantiles", torch.tensor(quantiles), persistent=False)

        def forward(self, past, future):
            mean, spread = past.mean(1, keepdim=True).detach(), past.std(1, keepdim=True).detach() + 1e-5
            x = self.body((past - mean) / spread * self.scale + self.shift)
            y = self.head(x.transpose(1, 2)).unflatten(2, (-1, len(self.quantiles))).transpose(1, 2)
            y = (y - self.shift[:, None]) / (self.scale[:, None] + 1e-5) * spread.unsqueeze(-1) + mean.unsqueeze(-1)
            off = future.unsqueeze(-1) - y
            return Result(torch.maximum(self.quantiles * off, (self.quantiles - 1) * off).mean())
    return Net(), lambda b: (torch.zeros(b, 512, 321), torch.zeros(b, 96, 321)), "own"


def shared_memory():
    """A language model whose upper half reads the keys and values of one layer, with a penalty on large logits."""
    class Dense(nn.Module):
        def __init__(self, c, inner):
            super().__init__()
            self.up, self.down = nn.Linear(c, 2 * inner, bias=False), nn.Linear(inner, c, bias=False)

        def forward(self, x):
            a, b = self.up(x).chunk(2, -1)
            return self.down(F.silu(a) * b)

    class Block(nn.Module):
        def __init__(self, c, heads, groups, seq, own):
            super().__init__()
            self.heads, self.groups, size = heads, groups, c // heads
            self.n1, self.n2, self.rotary = RMSNorm(c), RMSNorm(c), Rotary(size, seq)
            self.q, self.o = nn.Linear(c, c, bias=False), nn.Linear(c, c, bias=False)
            self.kv = nn.Linear(c, 2 * groups * size, bias=False) if own else None
            self.f = Dense(c, 2816)

        def memory(self, x):
            k, v = (heads_first(t, self.groups) for t in self.kv(x).chunk(2, -1))
            return self.rotary(k), v

        def forward(self, x, memory=None):
            y = self.n1(x)
            k, v = self.memory(y) if memory is None else memory
            q = self.rotary(heads_first(self.q(y), self.heads))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            x = x + self.o(heads_joined(y))
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, vocab=48000, c=1024, depth=12, seq=2048):
            super().__init__()
            self.put, self.norm, self.middle = nn.Embedding(vocab, c), RMSNorm(c), RMSNorm(c)
            self.low = nn.ModuleList(Block(c, 16, 4, seq, True) for _ in range(depth // 2))
            self.kv = nn.Linear(c, 512, bias=False)
            self.high = nn.ModuleList(Block(c, 16, 4, seq, False) for _ in range(depth // 2))

        def forward(self, tokens):
            x = self.put(tokens)
            for block in self.low:
                x = block(x)
            k, v = (heads_first(t, 4) for t in self.kv(self.middle(x)).chunk(2, -1))
            k = self.high[0].rotary(k)
            for block in self.high:
                x = block(x, (k, v))
            logits = F.linear(self.norm(x), self.put.weight)[:, :-1].flatten(0, 1).float()
            large = torch.logsumexp(logits, -1).pow(2).mean()
            return Result(F.cross_entropy(logits, tokens[:, 1:].flatten()) + 1e-4 * large)
    return Net(), lambda b: words(b, 2048), "own"


NETWORKS = {f.__name__: f for f in (prosody_speech, keyword_spotter, separable_speech, speaker_vectors, order_book,
                                    news_readers, mixed_series, shared_memory)}
STEPS = {"prosody_speech": ("fp32", 32, "nchw", "adam"), "keyword_spotter": ("tf32", 256, "nchw", "momentum"),
         "separable_speech": ("amp-fp16", 32, "nchw", "adamw"), "speaker_vectors": ("amp-bf16", 128, "nchw", "adam"),
         "order_book": ("fp32", 512, "nchw", "adam"), "news_readers": ("tf32", 64, "nchw", "adam"),
         "mixed_series": ("tf32", 64, "nchw", "adamw"), "shared_memory": ("bf16", 8, "nchw", "adamw")}
