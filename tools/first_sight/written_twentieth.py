# SPDX-License-Identifier: Apache-2.0
"""written_twentieth.py - more of the thirteenth set of networks: signals and words. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, Encoder, Result, RMSNorm, Rotary, heads_first, heads_joined, words


def shifted_loss(logits, tokens):
    """Cross-entropy of each next token, in fp32."""
    return F.cross_entropy(logits[:, :-1].float().flatten(0, 1), tokens[:, 1:].flatten())


class SwiGLU(nn.Module):
    def __init__(self, c, inner):
        super().__init__()
        self.gate, self.up, self.down = (nn.Linear(c, inner, bias=False), nn.Linear(c, inner, bias=False),
                                         nn.Linear(inner, c, bias=False))

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def motor_imagery():
    """Imagined movements from brain waves: filters over time and over electrodes, pooling, a small transformer."""
    class Block(nn.Module):
        def __init__(self, c, heads, drop=0.5):
            super().__init__()
            self.n1, self.n2 = nn.LayerNorm(c), nn.LayerNorm(c)
            self.a = nn.MultiheadAttention(c, heads, drop, batch_first=True)
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Dropout(drop), nn.Linear(4 * c, c))
            self.drop = nn.Dropout(drop)

        def forward(self, x):
            y = self.n1(x)
            x = x + self.drop(self.a(y, y, y, need_weights=False)[0])
            return x + self.drop(self.f(self.n2(x)))

    class Net(nn.Module):
        def __init__(self, leads=22, c=40, classes=4, depth=6):
            super().__init__()
            self.enter = nn.Sequential(nn.Conv2d(1, c, (1, 25)), nn.Conv2d(c, c, (leads, 1)), nn.BatchNorm2d(c),
                                       nn.ELU(), nn.AvgPool2d((1, 75), (1, 15)), nn.Dropout(0.5), nn.Conv2d(c, c, 1))
            self.body = nn.Sequential(*(Block(c, 10) for _ in range(depth)))
            self.head = nn.Sequential(nn.Linear(61 * c, 256), nn.ELU(), nn.Dropout(0.5), nn.Linear(256, 32), nn.ELU(),
                                      nn.Dropout(0.3), nn.Linear(32, classes))

        def forward(self, x):
            x = self.enter(x.unsqueeze(1)).flatten(2).transpose(1, 2)
            return self.head(self.body(x).flatten(1))
    return Net(), lambda b: torch.zeros(b, 22, 1000), "cross-entropy"


def sleep_nights():
    """Stages of sleep: two filter banks read 30 s of signals, an LSTM reads twenty such epochs in a row."""
    def bank(i, first, stride, later, pool):
        def unit(i, o, k, s):
            return nn.Conv1d(i, o, k, s, k // 2, bias=False), nn.BatchNorm1d(o), nn.ReLU()
        return nn.Sequential(*unit(i, 64, first, stride), nn.MaxPool1d(8, 8), nn.Dropout(0.5),
                             *(f for n in (64, 128, 128) for f in unit(n, 128, later, 1)), nn.MaxPool1d(pool, pool),
                             nn.Flatten())

    class Net(nn.Module):
        def __init__(self, signals=3, stages=5):
            super().__init__()
            self.fine, self.coarse = bank(signals, 50, 6, 8, 4), bank(signals, 400, 50, 6, 2)
            self.narrow = nn.Linear(128 * 21, 1024)
            self.lstm = nn.LSTM(1024, 512, 2, batch_first=True, bidirectional=True, dropout=0.5)
            self.head = nn.Linear(1024, stages)

        def forward(self, x):
            y = x.flatten(0, 1)
            y = torch.cat([self.fine(y), self.coarse(y)], 1)
            y = F.relu(self.narrow(F.dropout(y, 0.5, self.training))).unflatten(0, x.shape[:2])
            return self.head(y + self.lstm(y)[0])
    return Net(), lambda b: torch.zeros(b, 20, 3, 3000), "cross-entropy"


def patient_codes():
    """Histories of patients: codes with ages and visits, learned waves of time, masked codes and risks of illness."""
    class Waves(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.w, self.b = nn.Parameter(torch.randn(1, c)), nn.Parameter(torch.randn(c))

        def forward(self, time):
            y = time.unsqueeze(-1) * self.w + self.b
            return torch.cat([y[..., :1], y[..., 1:].sin()], -1)

    class Net(nn.Module):
        def __init__(self, codes=18000, c=288, depth=6, risks=301):
            super().__init__()
            self.code, self.visit, self.kind = nn.Embedding(codes, c), nn.Embedding(512, c), nn.Embedding(128, c)
            self.age, self.day, self.mix = Waves(c // 4), Waves(c // 4), nn.Linear(c + c // 2, c)
            self.norm, self.drop = nn.LayerNorm(c), nn.Dropout(0.1)
            self.body = nn.ModuleList(Encoder(c, 12, 512, dropout=0.1) for _ in range(depth))
            self.pool, self.risk = nn.Sequential(nn.Linear(c, c), nn.Tanh()), nn.Linear(c, risks)
            self.move = nn.Sequential(nn.Linear(c, c), nn.GELU(), nn.LayerNorm(c))
            self.bias = nn.Parameter(torch.zeros(codes))

        def forward(self, codes, visits, kinds, age, day, masked, ill):
            x = self.code(codes) + self.visit(visits) + self.kind(kinds)
            x = self.drop(self.norm(torch.tanh(self.mix(torch.cat([x, self.age(age), self.day(day)], -1)))))
            for f in self.body:
                x = f(x)
            y = self.move(x.gather(1, masked.unsqueeze(-1).expand(-1, -1, x.shape[-1]) % x.shape[1]))
            y = F.linear(y, self.code.weight, self.bias)
            true = codes.gather(1, masked % codes.shape[1])
            found = F.cross_entropy(y.flatten(0, 1), true.flatten())
            return Result(found + F.binary_cross_entropy_with_logits(self.risk(self.pool(x[:, 0])), ill))

    def inputs(b):
        times = (torch.zeros(b, 512) for _ in range(2))
        return *(words(b, 512) for _ in range(3)), *times, words(b, 76), torch.zeros(b, 301)
    return Net(), inputs, "own"


def spike_latents():
    """Spikes of a motor cortex: two-way GRUs give a start and a course for a controller and a generator of rates."""
    class Net(nn.Module):
        def __init__(self, neurons=182, c=100, control=4, factors=40):
            super().__init__()
            self.start, self.course = (nn.GRU(neurons, c, batch_first=True, bidirectional=True) for _ in range(2))
            self.first, self.drop = nn.Linear(2 * c, 2 * c), nn.Dropout(0.3)
            self.begin, self.controller = nn.Linear(c, c), nn.GRUCell(2 * c + factors, c)
            self.inputs, self.generator = nn.Linear(c, 2 * control), nn.GRUCell(control, c)
            self.factor, self.rate = nn.Linear(c, factors, bias=False), nn.Linear(factors, neurons)
            self.still = nn.Parameter(torch.zeros(1, c))

        def forward(self, spikes):
            x = self.drop(spikes)
            ends = self.start(x)[1].transpose(0, 1).flatten(1)
            mean, spread = self.first(self.drop(ends)).chunk(2, -1)
            g = self.begin(mean + (spread / 2).exp() * torch.randn_like(spread))
            apart = 0.5 * (spread.exp() + mean.pow(2) - 1 - spread).sum(-1).mean()
            course, h, found = self.drop(self.course(x)[0]), self.still.expand(len(x), -1), []
            f = self.factor(g)
            for now in course.unbind(1):
                h = self.controller(torch.cat([now, f], -1), h)
                mean, spread = self.inputs(h).chunk(2, -1)
                u = mean + (spread / 2).exp() * torch.randn_like(spread)
                apart = apart + 0.5 * (spread.exp() + mean.pow(2) - 1 - spread).sum(-1).mean()
                g = self.generator(u, g).clamp(-5, 5)
                f = self.factor(self.drop(g))
                found.append(f)
            rate = self.rate(torch.stack(found, 1))
            return Result(F.poisson_nll_loss(rate, spikes) + 1e-3 * apart)
    return Net(), lambda b: torch.zeros(b, 140, 182), "own"


class Spike(torch.autograd.Function):
    """A step in forward; the slope of an arctangent in backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x >= 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad / (1 + (math.pi * x).pow(2))


def spiking_gestures():
    """Gestures before an event camera: five layers of leaky spiking neurons run through 16 frames of events."""
    class Leaky(nn.Module):
        def forward(self, xs):
            v, out = 0.0, []
            for x in xs.unbind(0):
                v = v + (x - v) / 2
                s = Spike.apply(v - 1.0)
                v = v * (1 - s.detach())
                out.append(s)
            return torch.stack(out)

    class Layer(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.f, self.n, self.s = nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), Leaky()

        def forward(self, xs):
            y = self.s(self.n(self.f(xs.flatten(0, 1))).unflatten(0, xs.shape[:2]))
            return F.max_pool2d(y.flatten(0, 1), 2).unflatten(0, xs.shape[:2])

    class Net(nn.Module):
        def __init__(self, c=128, classes=11):
            super().__init__()
            self.body = nn.Sequential(Layer(2, c), *(Layer(c, c) for _ in range(4)))
            self.one, self.two = nn.Linear(c * 16, 512), nn.Linear(512, 10 * classes)
            self.s1, self.s2 = Leaky(), Leaky()

        def forward(self, events):
            x = self.body(events.transpose(0, 1)).flatten(2)
            x = self.s1(self.one(F.dropout(x, 0.5, self.training)))
            x = self.s2(self.two(F.dropout(x, 0.5, self.training)))
            return F.avg_pool1d(x.mean(0).unsqueeze(1), 10, 10).squeeze(1)
    return Net(), lambda b: torch.zeros(b, 16, 2, 128, 128), "cross-entropy"


def clean_calls():
    """Speech without noise: a spectrum through complex strided filters, an LSTM, filters back, and a complex mask."""
    class Complex(nn.Module):
        """A filter for real and imaginary parts, which are the halves of the channels."""

        def __init__(self, kind, i, o, **more):
            super().__init__()
            self.a, self.b = (kind(i // 2, o // 2, (5, 2), (2, 1), **more) for _ in range(2))

        def forward(self, x):
            r, i = x.chunk(2, 1)
            return torch.cat([self.a(r) - self.b(i), self.a(i) + self.b(r)], 1)

    class Net(nn.Module):
        def __init__(self, window=400, hop=100, size=512, c=(2, 32, 64, 128, 256, 256, 256)):
            super().__init__()
            self.size, self.hop, self.length = size, hop, window
            self.register_buffer("window", torch.hann_window(window), persistent=False)
            self.enter = nn.ModuleList(nn.ModuleList((Complex(nn.Conv2d, i, o, padding=(2, 1)), nn.BatchNorm2d(o),
                                                      nn.PReLU())) for i, o in zip(c, c[1:]))
            self.lstm, self.back = nn.LSTM(256 * 4, 256, 2, batch_first=True), nn.Linear(256, 256 * 4)
            self.leave = nn.ModuleList(nn.ModuleList((
                Complex(nn.ConvTranspose2d, 2 * i, o, padding=(2, 0), output_padding=(1, 0)),
                nn.BatchNorm2d(o) if o > 2 else nn.Identity(), nn.PReLU() if o > 2 else nn.Identity()))
                for i, o in zip(c[::-1], c[-2::-1]))

        def forward(self, noisy, clean):
            wave = torch.stft(noisy.float(), self.size, self.hop, self.length, self.window, return_complex=True)
            x, kept = torch.stack([wave.real[:, 1:], wave.imag[:, 1:]], 1), []
            frames = x.shape[-1]
            for f, n, a in self.enter:
                x = a(n(f(x)))[..., :frames]
                kept.append(x)
            y = self.back(self.lstm(x.flatten(1, 2).transpose(1, 2))[0])
            x = y.transpose(1, 2).unflatten(1, (256, 4))
            for f, n, a in self.leave:
                x = a(n(f(torch.cat([x, kept.pop()], 1))))[..., :frames]
            mask = F.pad(torch.tanh(x.float()), (0, 0, 1, 0))
            real = wave.real * mask[:, 0] - wave.imag * mask[:, 1]
            imag = wave.real * mask[:, 1] + wave.imag * mask[:, 0]
            y = torch.istft(torch.complex(real, imag), self.size, self.hop, self.length, self.window,
                            length=noisy.shape[-1])
            clean = clean.float() - clean.float().mean(-1, keepdim=True)
            y = y - y.mean(-1, keepdim=True)
            part = (y * clean).sum(-1, keepdim=True) / (clean.pow(2).sum(-1, keepdim=True) + 1e-8) * clean
            ratio = part.pow(2).sum(-1) / ((y - part).pow(2).sum(-1) + 1e-8)
            return Result(-10 * torch.log10(ratio + 1e-8).mean())
    return Net(), lambda b: (torch.zeros(b, 48000), torch.zeros(b, 48000)), "own"


def radio_receiver():
    """Bits of a radio frame: separable dilated filters over 14 symbols and 128 carriers of two antennas."""
    class Block(nn.Module):
        def __init__(self, i, o, dilation):
            super().__init__()
            def part(i, o):
                reach = tuple(d * (k // 2) for d, k in zip(dilation, (7, 5)))
                return nn.Sequential(nn.Conv2d(i, i, (7, 5), padding=reach, dilation=dilation, groups=i),
                                     nn.Conv2d(i, o, 1))
            self.n1, self.n2, self.f1, self.f2 = nn.BatchNorm2d(i), nn.BatchNorm2d(o), part(i, o), part(o, o)
            self.skip = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

        def forward(self, x):
            return self.f2(F.relu(self.n2(self.f1(F.relu(self.n1(x)))))) + self.skip(x)

    class Net(nn.Module):
        def __init__(self, bits=6):
            super().__init__()
            sizes = ((64, 64, (1, 1)), (64, 64, (1, 1)), (64, 128, (3, 2)), (128, 128, (3, 2)), (128, 256, (3, 2)),
                     (256, 256, (6, 3)), (256, 256, (6, 3)), (256, 128, (3, 2)), (128, 128, (3, 2)), (128, 64, (1, 1)),
                     (64, 64, (1, 1)))
            self.enter, self.out = nn.Conv2d(2 * 2 * 2 + 1, 64, 3, padding=1), nn.Conv2d(64, bits, 1)
            self.body = nn.Sequential(*(Block(*s) for s in sizes))

        def forward(self, received, pilots, noise):
            guess = received * pilots
            level = torch.log10(noise.exp()).view(-1, 1, 1, 1).expand(-1, 1, *received.shape[2:])
            return self.out(self.body(self.enter(torch.cat([received, guess, level], 1))))

    def inputs(b):
        return torch.zeros(b, 4, 128, 14), torch.zeros(b, 4, 128, 14), torch.zeros(b)
    return Net(), inputs, "bce"


def preferred_answers():
    """Preferred answers: low-rank changes of a frozen language model, compared with it on pairs of answers."""
    class LoRA(nn.Module):
        def __init__(self, i, o, rank=16, scale=2.0):
            super().__init__()
            self.base = nn.Linear(i, o, bias=False).requires_grad_(False)
            self.a, self.b, self.scale = nn.Linear(i, rank, bias=False), nn.Linear(rank, o, bias=False), scale
            self.drop, self.on = nn.Dropout(0.05), True
            nn.init.zeros_(self.b.weight)

        def forward(self, x):
            y = self.base(x)
            return y + self.b(self.a(self.drop(x))) * self.scale if self.on else y

    class Block(nn.Module):
        def __init__(self, c, heads, seq):
            super().__init__()
            self.heads, self.n1, self.n2 = heads, RMSNorm(c), RMSNorm(c)
            self.q, self.k, self.v, self.o = (LoRA(c, c) for _ in range(4))
            self.gate, self.up, self.down = LoRA(c, 2816), LoRA(c, 2816), LoRA(2816, c)
            self.turn = Rotary(c // heads, seq)

        def forward(self, x):
            y = self.n1(x)
            q, k, v = (heads_first(f(y), self.heads) for f in (self.q, self.k, self.v))
            y = F.scaled_dot_product_attention(self.turn(q), self.turn(k), v, is_causal=True)
            x = x + self.o(heads_joined(y))
            y = self.n2(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    class Net(nn.Module):
        def __init__(self, vocab=32000, c=1024, depth=8, seq=512, beta=0.1):
            super().__init__()
            self.put = nn.Embedding(vocab, c)
            self.body = nn.Sequential(*(Block(c, 16, seq) for _ in range(depth)))
            self.norm, self.head, self.beta = RMSNorm(c), nn.Linear(c, vocab, bias=False), beta
            for f in (self.put, self.norm, self.head):
                f.requires_grad_(False)
            for m in self.modules():
                if isinstance(m, RMSNorm):
                    m.requires_grad_(False)

        def chances(self, tokens, on, asked=128):
            for m in self.modules():
                if isinstance(m, LoRA):
                    m.on = on
            logits = self.head(self.norm(self.body(self.put(tokens))))[:, asked - 1:-1]
            return logits.float().log_softmax(-1).gather(-1, tokens[:, asked:, None]).squeeze(-1).sum(-1)

        def forward(self, chosen, rejected):
            tokens = torch.cat([chosen, rejected])
            with torch.no_grad():
                old = self.chances(tokens, False)
            gain = self.chances(tokens, True) - old
            better, worse = gain.chunk(2)
            return Result(-F.logsigmoid(self.beta * (better - worse)).mean())
    return Net(), lambda b: (words(b, 512), words(b, 512)), "own"


def late_interaction():
    """Search by words: each word of a question finds its nearest word of a passage; passages of the batch are wrong."""
    class Net(nn.Module):
        def __init__(self, vocab=30522, c=768, depth=6, out=128):
            super().__init__()
            self.put, self.place, self.norm = nn.Embedding(vocab, c), nn.Embedding(512, c), nn.LayerNorm(c)
            layer = nn.TransformerEncoderLayer(c, 12, 3072, 0.1, "gelu", batch_first=True)
            self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
            self.out = nn.Linear(c, out, bias=False)

        def read(self, tokens):
            x = self.norm(self.put(tokens) + self.place.weight[:tokens.shape[1]])
            return F.normalize(self.out(self.body(x)), dim=-1)

        def forward(self, questions, passages):
            q, p = self.read(questions), self.read(passages.flatten(0, 1))
            each = torch.einsum("qid,pjd->qpij", q, p).amax(-1).sum(-1)
            right = torch.arange(len(q), device=q.device) * passages.shape[1]
            return Result(F.cross_entropy(each.float(), right))
    return Net(), lambda b: (words(b, 32), words(b, 2 * 180).view(b, 2, 180)), "own"


def differenced_heads():
    """A language model whose heads subtract one map of attention from another, with a norm for each head."""
    class Heads(nn.Module):
        def __init__(self, c, heads, seq, depth):
            super().__init__()
            self.heads, size = heads, c // heads // 2
            self.q, self.k, self.v, self.o = (nn.Linear(c, c, bias=False) for _ in range(4))
            self.turn, self.norm = Rotary(size, seq), RMSNorm(2 * size)
            self.first = 0.8 - 0.6 * math.exp(-0.3 * depth)
            self.l = nn.ParameterList(nn.Parameter(torch.randn(size) * 0.1) for _ in range(4))

        def forward(self, x):
            q, k = (self.turn(heads_first(f(x), 2 * self.heads)) for f in (self.q, self.k))
            v = heads_first(self.v(x), self.heads)
            a, b, c, d = self.l
            share = torch.exp((a * b).sum().float()) - torch.exp((c * d).sum().float()) + self.first
            y1, y2 = (F.scaled_dot_product_attention(q[:, n::2], k[:, n::2], v, is_causal=True) for n in range(2))
            return self.o(heads_joined(self.norm(y1 - share.to(y1.dtype) * y2) * (1 - self.first)))

    class Block(nn.Module):
        def __init__(self, c, heads, seq, depth):
            super().__init__()
            self.n1, self.n2, self.a = RMSNorm(c), RMSNorm(c), Heads(c, heads, seq, depth)
            self.f = SwiGLU(c, 8 * c // 3 // 64 * 64)

        def forward(self, x):
            x = x + self.a(self.n1(x))
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, vocab=50304, c=768, depth=12, seq=1024):
            super().__init__()
            self.put = nn.Embedding(vocab, c)
            self.body = nn.Sequential(*(Block(c, 6, seq, n) for n in range(depth)))
            self.norm, self.head = RMSNorm(c), nn.Linear(c, vocab, bias=False)

        def forward(self, tokens):
            return Result(shifted_loss(self.head(self.norm(self.body(self.put(tokens)))), tokens))
    return Net(), lambda b: words(b, 1024), "own"


def skipped_tokens():
    """A language model in which every second block computes only the eighth of tokens that its router chooses."""
    class Block(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.n1, self.n2, self.a = RMSNorm(c), RMSNorm(c), Attention(c, heads, bias=False)
            self.f = nn.Sequential(nn.Linear(c, 4 * c, bias=False), nn.GELU(), nn.Linear(4 * c, c, bias=False))

        def forward(self, x):
            y = self.a(self.n1(x), causal=True)
            return y + self.f(self.n2(x + y))

    class Chosen(nn.Module):
        def __init__(self, c, heads, share=8):
            super().__init__()
            self.block, self.router, self.share = Block(c, heads), nn.Linear(c, 1), share

        def forward(self, x):
            weight = self.router(x).squeeze(-1)
            index = weight.topk(x.shape[1] // self.share, sorted=False).indices.sort().values
            place = index.unsqueeze(-1).expand(-1, -1, x.shape[-1])
            y = self.block(x.gather(1, place)) * weight.gather(1, index).unsqueeze(-1)
            chosen = torch.zeros_like(weight).scatter(1, index, 1.0)
            return x.scatter_add(1, place, y.to(x.dtype)), F.binary_cross_entropy_with_logits(weight, chosen)

    class Net(nn.Module):
        def __init__(self, vocab=32000, c=1024, depth=12, seq=2048):
            super().__init__()
            self.put, self.place = nn.Embedding(vocab, c), nn.Parameter(torch.zeros(seq, c))
            self.body = nn.ModuleList(Chosen(c, 16) if n % 2 else Block(c, 16) for n in range(depth))
            self.norm, self.head = RMSNorm(c), nn.Linear(c, vocab, bias=False)

        def forward(self, tokens):
            x, routed = self.put(tokens) + self.place, 0
            for f in self.body:
                if isinstance(f, Chosen):
                    x, more = f(x)
                    routed = routed + more
                else:
                    x = x + f(x)
            return Result(shifted_loss(self.head(self.norm(x)), tokens) + 0.01 * routed)
    return Net(), lambda b: words(b, 2048), "own"


def unit_sphere_words():
    """A language model on the unit sphere: states, queries and keys have length one, and steps are learned."""
    def unit(x):
        return x / x.float().norm(dim=-1, keepdim=True).to(x.dtype)

    class Block(nn.Module):
        def __init__(self, c, heads, seq, inner):
            super().__init__()
            self.heads, self.size = heads, c // heads
            self.qkv, self.o = nn.Linear(c, 3 * c, bias=False), nn.Linear(c, c, bias=False)
            self.up, self.down = nn.Linear(c, 2 * inner, bias=False), nn.Linear(inner, c, bias=False)
            self.turn, self.sharp = Rotary(self.size, seq), nn.Parameter(torch.ones(heads, 1, self.size))
            self.step1, self.step2 = (nn.Parameter(torch.full((c,), 0.05)) for _ in range(2))
            self.wide = nn.Parameter(torch.ones(2 * inner))
            self.root = c ** 0.5

        def forward(self, x):
            q, k, v = (heads_first(t, self.heads) for t in self.qkv(x).chunk(3, -1))
            q, k = (self.sharp * unit(self.turn(t)) for t in (q, k))
            y = F.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, is_causal=True, scale=self.size ** 0.5)
            x = unit(x + self.step1.abs() * (unit(self.o(heads_joined(y))) - x))
            a, b = (self.wide * self.root * self.up(x)).chunk(2, -1)
            return unit(x + self.step2.abs() * (unit(self.down(a * F.silu(b))) - x))

    class Net(nn.Module):
        def __init__(self, vocab=50304, c=1024, depth=8, seq=1024):
            super().__init__()
            self.put = nn.Embedding(vocab, c)
            self.body = nn.Sequential(*(Block(c, 16, seq, 4 * c) for _ in range(depth)))
            self.head, self.scale = nn.Linear(c, vocab, bias=False), nn.Parameter(torch.ones(vocab))

        def forward(self, tokens):
            return Result(shifted_loss(self.scale * self.head(self.body(unit(self.put(tokens)))), tokens))
    return Net(), lambda b: words(b, 1024), "own"


NETWORKS = {f.__name__: f for f in (motor_imagery, sleep_nights, patient_codes, spike_latents, spiking_gestures,
                                    clean_calls, radio_receiver, preferred_answers, late_interaction,
                                    differenced_heads, skipped_tokens, unit_sphere_words)}
STEPS = {"motor_imagery": ("fp32", 72, "nchw", "adam"), "sleep_nights": ("tf32", 32, "nchw", "adam"),
         "patient_codes": ("amp-bf16", 64, "nchw", "adamw"), "spike_latents": ("fp32", 256, "nchw", "adam"),
         "spiking_gestures": ("amp-fp16", 16, "nchw", "adam"), "clean_calls": ("fp32", 16, "nchw", "adam"),
         "radio_receiver": ("tf32", 64, "nchw", "adam"), "preferred_answers": ("amp-bf16", 8, "nchw", "adamw"),
         "late_interaction": ("amp-fp16", 32, "nchw", "adamw"), "differenced_heads": ("amp-bf16", 8, "nchw", "adamw"),
         "skipped_tokens": ("amp-bf16", 8, "nchw", "adamw"), "unit_sphere_words": ("amp-bf16", 8, "nchw", "adam")}
