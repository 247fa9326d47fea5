# SPDX-License-Identifier: Apache-2.0
"""written_thirteenth.py - more of the eleventh set of networks as people write them: words and sound. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from blocks import Encoder, RMSNorm, Result, Rotary, heads_first, heads_joined, words


class Gated(nn.Module):
    """Dense layers with a gate, as in Llama."""

    def __init__(self, c, inner, act=F.silu):
        super().__init__()
        self.act, self.a, self.b = act, nn.Linear(c, inner, bias=False), nn.Linear(c, inner, bias=False)
        self.o = nn.Linear(inner, c, bias=False)

    def forward(self, x):
        return self.o(self.act(self.a(x)) * self.b(x))


def shifted_loss(logits, tokens):
    """Cross-entropy of each next token, in fp32."""
    return Result(F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), tokens[:, 1:].flatten()))


def latent_experts():
    """A language model with compressed keys and values, a shared expert, and 16 experts that choose their tokens."""
    class Latent(nn.Module):
        def __init__(self, c, heads, seq, q=384, kv=256, plain=64, turned=32):
            super().__init__()
            self.heads, self.plain, self.turned, self.rotary = heads, plain, turned, Rotary(turned, seq)
            self.qa, self.qn = nn.Linear(c, q, bias=False), RMSNorm(q)
            self.qb = nn.Linear(q, heads * (plain + turned), bias=False)
            self.ka, self.kn = nn.Linear(c, kv + turned, bias=False), RMSNorm(kv)
            self.kb, self.o = nn.Linear(kv, heads * 2 * plain, bias=False), nn.Linear(heads * plain, c, bias=False)

        def forward(self, x):
            q, turn = heads_first(self.qb(self.qn(self.qa(x))), self.heads).split([self.plain, self.turned], -1)
            small, shared = self.ka(x).split([self.kn.weight.shape[0], self.turned], -1)
            k, v = heads_first(self.kb(self.kn(small)), self.heads).chunk(2, -1)
            shared = self.rotary(shared.unsqueeze(1)).expand(-1, self.heads, -1, -1)
            q, k = torch.cat([q, self.rotary(turn)], -1), torch.cat([k, shared], -1)
            return self.o(heads_joined(F.scaled_dot_product_attention(q, k, v, is_causal=True)))

    class Experts(nn.Module):
        def __init__(self, c, inner, count):
            super().__init__()
            self.route, self.shared = nn.Linear(c, count, bias=False), Gated(c, inner)
            self.up = nn.Parameter(torch.randn(count, c, 2 * inner) * 0.02)
            self.down = nn.Parameter(torch.randn(count, inner, c) * 0.02)

        def forward(self, x):
            size = 2 * x.shape[1] // len(self.up)
            scores, index = self.route(x).float().softmax(-1).transpose(1, 2).topk(size, -1)
            flat = index.flatten(1).unsqueeze(-1).expand(-1, -1, x.shape[2])
            y = x.gather(1, flat).unflatten(1, index.shape[1:])
            a, b = torch.einsum("besc,ech->besh", y, self.up).chunk(2, -1)
            y = torch.einsum("besh,ehc->besc", F.silu(a) * b, self.down) * scores.unsqueeze(-1).to(x.dtype)
            return self.shared(x) + torch.zeros_like(x).scatter_add(1, flat, y.flatten(1, 2).to(x.dtype))

    class Block(nn.Module):
        def __init__(self, c, seq, first):
            super().__init__()
            self.n1, self.n2, self.a = RMSNorm(c), RMSNorm(c), Latent(c, 12, seq)
            self.f = Gated(c, 2048) if first else Experts(c, 512, 16)

        def forward(self, x):
            x = x + self.a(self.n1(x))
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, vocab=32768, c=768, depth=8, seq=2048):
            super().__init__()
            self.put, self.body = nn.Embedding(vocab, c), nn.Sequential(*(Block(c, seq, n == 0) for n in range(depth)))
            self.norm, self.head = RMSNorm(c), nn.Linear(c, vocab, bias=False)

        def forward(self, tokens):
            return shifted_loss(self.head(self.norm(self.body(self.put(tokens)))), tokens)
    return Net(), lambda b: words(b, 2048), "own"


def local_global():
    """A language model with three layers in a window of 512 for each layer that sees all, norms on both sides."""
    class Block(nn.Module):
        def __init__(self, c, heads, groups, size, seq, base):
            super().__init__()
            self.heads, self.groups, self.size = heads, groups, size
            self.qkv = nn.Linear(c, (heads + 2 * groups) * size, bias=False)
            self.o = nn.Linear(heads * size, c, bias=False)
            self.n1, self.n2, self.n3, self.n4, self.qn, self.kn = (RMSNorm(w) for w in (c, c, c, c, size, size))
            self.rotary, self.f = Rotary(size, seq, base), Gated(c, 4 * c, lambda x: F.gelu(x, approximate="tanh"))

        def forward(self, x, mask):
            q, k, v = self.qkv(self.n1(x)).split([n * self.size for n in (self.heads, self.groups, self.groups)], -1)
            q, k, v = heads_first(q, self.heads), heads_first(k, self.groups), heads_first(v, self.groups)
            q, k = self.rotary(self.qn(q)).to(v.dtype), self.rotary(self.kn(k)).to(v.dtype)
            k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
            x = x + self.n2(self.o(heads_joined(y)))
            return x + self.n4(self.f(self.n3(x)))

    class Net(nn.Module):
        def __init__(self, vocab=50304, c=1024, depth=12, seq=2048, window=512):
            super().__init__()
            self.put, self.norm, self.scale = nn.Embedding(vocab, c), RMSNorm(c), math.sqrt(c)
            self.body = nn.ModuleList(Block(c, 8, 4, 128, seq, 1e6 if n % 4 == 3 else 1e4) for n in range(depth))
            self.head = nn.Linear(c, vocab, bias=False)
            self.head.weight = self.put.weight
            n = torch.arange(seq)
            self.register_buffer("near", (n[:, None] >= n) & (n[:, None] - n < window), persistent=False)

        def forward(self, tokens):
            x = self.put(tokens) * self.scale
            for n, block in enumerate(self.body):
                x = block(x, None if n % 4 == 3 else self.near)
            return shifted_loss(30 * torch.tanh(self.head(self.norm(x)) / 30), tokens)
    return Net(), lambda b: words(b, 2048), "own"


def picture_chat():
    """Questions about pictures: a vision transformer, four patches folded into a token, a language model."""
    class Block(nn.Module):
        def __init__(self, c, heads, groups, seq):
            super().__init__()
            self.heads, self.groups, size = heads, groups, c // heads
            self.q, self.k, self.v = (nn.Linear(c, n * size, bias=False) for n in (heads, groups, groups))
            self.o, self.n1, self.n2 = nn.Linear(c, c, bias=False), RMSNorm(c), RMSNorm(c)
            self.rotary, self.f = Rotary(size, seq), Gated(c, 2816)

        def forward(self, x):
            y = self.n1(x)
            q = self.rotary(heads_first(self.q(y), self.heads))
            k, v = self.rotary(heads_first(self.k(y), self.groups)), heads_first(self.v(y), self.groups)
            x = x + self.o(heads_joined(F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)))
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, vocab=49152, eye=768, c=1024, text=368):
            super().__init__()
            self.patch, self.place = nn.Conv2d(3, eye, 16, 16), nn.Parameter(torch.zeros(576, eye))
            self.see, self.seen = nn.Sequential(*(Encoder(eye, 12) for _ in range(12))), nn.LayerNorm(eye)
            self.link = nn.Sequential(nn.Linear(4 * eye, c), nn.GELU(), nn.Linear(c, c))
            self.put = nn.Embedding(vocab, c)
            self.body = nn.Sequential(*(Block(c, 16, 4, text + 144) for _ in range(14)))
            self.norm, self.head = RMSNorm(c), nn.Linear(c, vocab, bias=False)

        def forward(self, picture, tokens):
            x = self.seen(self.see(self.patch(picture).flatten(2).transpose(1, 2) + self.place))
            x = F.pixel_unshuffle(x.transpose(1, 2).unflatten(2, (24, 24)), 2).flatten(2).transpose(1, 2)
            x = self.body(torch.cat([self.link(x), self.put(tokens)], 1))[:, 144:]
            return shifted_loss(self.head(self.norm(x)), tokens)
    return Net(), lambda b: (torch.zeros(b, 3, 384, 384), words(b, 368)), "own"


def joint_streams():
    """Pictures from text by flow matching: two streams with their own weights attend together, scaled by the time."""
    class Stream(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.change = heads, nn.Sequential(nn.SiLU(), nn.Linear(c, 6 * c))
            self.n1, self.n2 = (nn.LayerNorm(c, elementwise_affine=False, eps=1e-6) for _ in range(2))
            self.qkv, self.o, self.qn = nn.Linear(c, 3 * c), nn.Linear(c, c), RMSNorm(c // heads)
            self.kn = RMSNorm(c // heads)
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(approximate="tanh"), nn.Linear(4 * c, c))

        def before(self, x, t):
            change = self.change(t).unsqueeze(1).chunk(6, -1)
            y = self.n1(x) * (1 + change[1]) + change[0]
            q, k, v = (heads_first(z, self.heads) for z in self.qkv(y).chunk(3, -1))
            return change, (self.qn(q), self.kn(k), v)

        def after(self, x, y, change):
            x = x + change[2] * self.o(y)
            return x + change[5] * self.f(self.n2(x) * (1 + change[4]) + change[3])

    class Block(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.words, self.picture = Stream(c, heads), Stream(c, heads)

        def forward(self, x, y, t):
            cx, a = self.words.before(x, t)
            cy, b = self.picture.before(y, t)
            z = heads_joined(F.scaled_dot_product_attention(*(torch.cat(pair, 2) for pair in zip(a, b))))
            return self.words.after(x, z[:, :x.shape[1]], cx), self.picture.after(y, z[:, x.shape[1]:], cy)

    class Net(nn.Module):
        def __init__(self, c=1024, heads=16, depth=12, latent=16):
            super().__init__()
            self.patch, self.place = nn.Conv2d(latent, c, 2, 2), nn.Parameter(torch.zeros(1024, c))
            self.text, self.pool = nn.Linear(2048, c), nn.Sequential(nn.Linear(2048, c), nn.SiLU(), nn.Linear(c, c))
            self.time = nn.Sequential(nn.Linear(256, c), nn.SiLU(), nn.Linear(c, c))
            self.body = nn.ModuleList(Block(c, heads) for _ in range(depth))
            self.norm, self.last = nn.LayerNorm(c, elementwise_affine=False), nn.Linear(c, 4 * latent)
            self.register_buffer("waves", torch.exp(-math.log(10000) * torch.arange(128) / 128), persistent=False)

        def forward(self, picture, text):
            noise = torch.randn_like(picture)
            t = torch.randn(len(picture), 1, device=picture.device).sigmoid().to(picture.dtype)
            y = self.patch(torch.lerp(picture, noise, t[..., None, None])).flatten(2).transpose(1, 2) + self.place
            angles = 1000 * t * self.waves
            time = self.time(torch.cat([angles.cos(), angles.sin()], -1)) + self.pool(text.mean(1))
            x = self.text(text)
            for block in self.body:
                x, y = block(x, y, time)
            y = F.pixel_shuffle(self.last(self.norm(y)).transpose(1, 2).unflatten(2, (32, 32)), 2)
            return Result((y.float() - (noise - picture).float()).pow(2).mean())
    return Net(), lambda b: (torch.zeros(b, 16, 64, 64), torch.zeros(b, 154, 2048)), "own"


def residual_codec():
    """A codec of sound: periodic activations, strided filters, eight codebooks in turn, spectral losses."""
    class Snake(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a = nn.Parameter(torch.ones(1, c, 1))

        def forward(self, x):
            return x + torch.sin(self.a * x).pow(2) / (self.a + 1e-9)

    class Unit(nn.Module):
        def __init__(self, c, gap):
            super().__init__()
            self.f = nn.Sequential(Snake(c), weight_norm(nn.Conv1d(c, c, 7, dilation=gap, padding=3 * gap)), Snake(c),
                                   weight_norm(nn.Conv1d(c, c, 1)))

        def forward(self, x):
            return x + self.f(x)

    def units(c):
        return [Unit(c, gap) for gap in (1, 3, 9)]

    class Book(nn.Module):
        def __init__(self, c, size=1024, small=8):
            super().__init__()
            self.put, self.back = weight_norm(nn.Conv1d(c, small, 1)), weight_norm(nn.Conv1d(small, c, 1))
            self.codes = nn.Embedding(size, small)

        def forward(self, x):
            z = self.put(x).transpose(1, 2)
            far = torch.cdist(F.normalize(z, dim=-1).flatten(0, 1), F.normalize(self.codes.weight, dim=-1))
            code = self.codes(far.argmin(-1).view(z.shape[:2]))
            loss = F.mse_loss(code, z.detach()) + 0.25 * F.mse_loss(z, code.detach())
            return self.back((z + (code - z).detach()).transpose(1, 2)), loss

    class Net(nn.Module):
        def __init__(self, c=64, steps=(2, 4, 8, 8), latent=1024, books=8):
            super().__init__()
            layers = [weight_norm(nn.Conv1d(1, c, 7, padding=3))]
            for s in steps:
                layers += [*units(c), Snake(c), weight_norm(nn.Conv1d(c, 2 * c, 2 * s, s, s // 2))]
                c *= 2
            self.encoder = nn.Sequential(*layers, Snake(c), weight_norm(nn.Conv1d(c, latent, 3, padding=1)))
            self.books, c = nn.ModuleList(Book(latent) for _ in range(books)), 1536
            layers = [weight_norm(nn.Conv1d(latent, c, 7, padding=3))]
            for s in steps[::-1]:
                layers += [Snake(c), weight_norm(nn.ConvTranspose1d(c, c // 2, 2 * s, s, s // 2)), *units(c // 2)]
                c //= 2
            self.decoder = nn.Sequential(*layers, Snake(c), weight_norm(nn.Conv1d(c, 1, 7, padding=3)), nn.Tanh())
            for n in (2048, 512, 128):
                self.register_buffer(f"window{n}", torch.hann_window(n), persistent=False)

        def spectrum(self, x, n):
            return torch.stft(x.squeeze(1), n, n // 4, window=getattr(self, f"window{n}"),
                              return_complex=True).abs().clamp(min=1e-5)

        def forward(self, sound):
            z, loss, total = self.encoder(sound), 0, 0
            for book in self.books:
                code, more = book(z)
                z, loss, total = z - code, loss + more, total + code
            y = self.decoder(total)
            for n in (2048, 512, 128):
                a, b = self.spectrum(y, n), self.spectrum(sound, n)
                loss = loss + F.l1_loss(a, b) + F.l1_loss(a.log10(), b.log10())
            return Result(loss)
    return Net(), lambda b: torch.zeros(b, 1, 16384), "own"


def fourier_vocoder():
    """Sound from mel spectra: ConvNeXt blocks over frames, then an inverse Fourier transform by folding."""
    class Block(nn.Module):
        def __init__(self, c, inner):
            super().__init__()
            self.near, self.norm = nn.Conv1d(c, c, 7, padding=3, groups=c), nn.LayerNorm(c, eps=1e-6)
            self.scale = nn.Parameter(torch.full((c,), 0.1))
            self.f = nn.Sequential(nn.Linear(c, inner), nn.GELU(), nn.Linear(inner, c))

        def forward(self, x):
            return x + (self.scale * self.f(self.norm(self.near(x).transpose(1, 2)))).transpose(1, 2)

    class Net(nn.Module):
        def __init__(self, mels=100, c=512, depth=8, n=1024, hop=256):
            super().__init__()
            self.n, self.hop, self.put = n, hop, nn.Conv1d(mels, c, 7, padding=3)
            self.n1, self.n2 = nn.LayerNorm(c), nn.LayerNorm(c)
            self.body = nn.Sequential(*(Block(c, 3 * c) for _ in range(depth)))
            self.head = nn.Linear(c, n + 2)
            self.register_buffer("window", torch.hann_window(n), persistent=False)
            self.register_buffer("bank", torch.rand(mels, n // 2 + 1), persistent=False)

        def joined(self, parts):
            size = (parts.shape[-1] - 1) * self.hop + self.n
            return F.fold(parts, (1, size), (1, self.n), stride=(1, self.hop))[:, 0, 0, self.n // 2:-self.n // 2]

        def sound(self, mel):
            x = self.n1(self.put(mel).transpose(1, 2)).transpose(1, 2)
            size, phase = self.head(self.n2(self.body(x).transpose(1, 2))).transpose(1, 2).chunk(2, 1)
            spectrum = size.exp().clamp(max=100) * torch.complex(phase.cos(), phase.sin())
            parts = torch.fft.irfft(spectrum, self.n, dim=1) * self.window[:, None]
            weights = self.joined(self.window.pow(2).view(1, -1, 1).expand(1, -1, parts.shape[-1]))
            return self.joined(parts) / weights.clamp(min=1e-8)

        def mel(self, x):
            spectrum = torch.stft(x, self.n, self.hop, window=self.window, return_complex=True).abs()
            return (self.bank @ spectrum).clamp(min=1e-5).log()

        def forward(self, mel, sound):
            return Result(F.l1_loss(self.mel(self.sound(mel)), self.mel(sound)))
    return Net(), lambda b: (torch.zeros(b, 100, 257), torch.zeros(b, 65536)), "own"


def band_separator():
    """Voices out of music: bands of the spectrum become tokens, attention along time and along bands in turn."""
    bands = (2,) * 24 + (4,) * 12 + (12,) * 8 + (24,) * 8 + (48,) * 8 + (128, 129)

    class Block(nn.Module):
        def __init__(self, c, heads, seq):
            super().__init__()
            self.heads, self.n1, self.n2, self.rotary = heads, RMSNorm(c), RMSNorm(c), Rotary(64, seq)
            self.qkv, self.gate = nn.Linear(c, 3 * 64 * heads, bias=False), nn.Linear(c, heads)
            self.o = nn.Linear(64 * heads, c, bias=False)
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * c, c),
                                   nn.Dropout(0.1))

        def forward(self, x):
            y = self.n1(x)
            q, k, v = (heads_first(t, self.heads) for t in self.qkv(y).chunk(3, -1))
            gate = self.gate(y).sigmoid().transpose(1, 2).unsqueeze(-1)
            y = F.scaled_dot_product_attention(self.rotary(q), self.rotary(k), v) * gate
            x = x + self.o(heads_joined(y))
            return x + self.f(self.n2(x))

    def mask(c, band):
        return nn.Sequential(nn.Linear(c, 4 * c), nn.Tanh(), nn.Linear(4 * c, 8 * band), nn.GLU(-1))

    class Net(nn.Module):
        def __init__(self, c=256, depth=5, frames=257):
            super().__init__()
            self.put = nn.ModuleList(nn.Sequential(RMSNorm(4 * n), nn.Linear(4 * n, c)) for n in bands)
            self.time = nn.ModuleList(Block(c, 8, frames) for _ in range(depth))
            self.band = nn.ModuleList(Block(c, 8, len(bands)) for _ in range(depth))
            self.norm, self.masks = RMSNorm(c), nn.ModuleList(mask(c, n) for n in bands)
            self.register_buffer("window", torch.hann_window(2048), persistent=False)

        def spectrum(self, x):
            y = torch.stft(x.flatten(0, 1), 2048, 512, window=self.window, return_complex=True)
            return torch.view_as_real(y).unflatten(0, x.shape[:2])

        def forward(self, song, voice):
            s = self.spectrum(song)
            x = s.permute(0, 3, 2, 1, 4).flatten(3)
            x = torch.stack([f(y.flatten(2)) for f, y in zip(self.put, x.split(bands, 2))], 2)
            b, t, n, _ = x.shape
            for time, band in zip(self.time, self.band):
                x = time(x.transpose(1, 2).flatten(0, 1)).unflatten(0, (b, n)).transpose(1, 2)
                x = band(x.flatten(0, 1)).unflatten(0, (b, t))
            x = self.norm(x)
            m = torch.cat([f(x[:, :, i]).unflatten(-1, (-1, 2, 2)) for i, f in enumerate(self.masks)], 2)
            m = torch.view_as_complex(m.permute(0, 3, 2, 1, 4).float().contiguous())
            found = torch.view_as_real(torch.view_as_complex(s.contiguous()) * m)
            return Result(F.l1_loss(found, self.spectrum(voice)))
    return Net(), lambda b: (torch.zeros(b, 2, 131072), torch.zeros(b, 2, 131072)), "own"


NETWORKS = {f.__name__: f for f in (latent_experts, local_global, picture_chat, joint_streams, residual_codec,
                                    fourier_vocoder, band_separator)}
STEPS = {"latent_experts": ("bf16", 8, "nchw", "adamw"), "local_global": ("amp-bf16", 4, "nchw", "adamw"),
         "picture_chat": ("bf16", 12, "nchw", "adamw"), "joint_streams": ("bf16", 16, "nchw", "adamw"),
         "residual_codec": ("tf32", 12, "nchw", "adamw"), "fourier_vocoder": ("fp32", 16, "nchw", "adamw"),
         "band_separator": ("amp-fp16", 3, "nchw", "adamw")}
