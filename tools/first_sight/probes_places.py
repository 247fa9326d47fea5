# SPDX-License-Identifier: Apache-2.0
"""probes_places.py - probes of what moves numbers: look-ups, copies, padding, windows, transforms, pools: see probes.py."""
import torch
import torch.nn.functional as F
from torch import nn

from probe_kinds import chosen, given, index


def embeddings():
    def row(rows, width, *places, **options):
        return (f"embedding {rows}x{width}", lambda x, i: F.embedding(i, x, **options), (rows, width),
            index(rows, *places))
    return [row(50257, 768, 16, 512), row(30522, 1024, 8, 512), row(32000, 2048, 4, 1024), row(1000000, 32, 8192),
            row(1000000, 16, 4096, 26), row(100000, 64, 65536), row(10000, 8, 32768),
            row(512, 768, 512), row(512, 768, 32, 512), row(3, 768, 16, 512), row(4, 256, 16, 1024),
                row(1001, 32, 8, 384), row(216, 32, 8, 384), row(32, 12, 512, 512), row(256, 64, 64, 256),
                row(128, 128, 64, 2048),
            row(8192, 2, 1048576), row(1000, 1152, 64), row(65, 384, 64, 256), row(20000, 300, 64, 400),
                row(16384, 256, 16, 1024), row(30522, 768, 16, 512, padding_idx=0), row(5, 8, 262144),
                row(2048, 512, 3000)]


def bags():
    def bag(rows, width, places, mode):
        return (f"bag {mode} {rows}x{width}", lambda x, i: F.embedding_bag(i, x, mode=mode), (rows, width),
            index(rows, *places))
    return [bag(1000000, 64, (8192, 10), "sum"), bag(100000, 128, (4096, 50), "mean"),
            bag(10000, 32, (65536, 4), "sum"), bag(50000, 300, (512, 200), "mean"), bag(1000, 64, (4096, 20), "max")]


def gathered():
    take = lambda dim: lambda x, i: torch.gather(x, dim, i)
    some = lambda dim: lambda x, i: torch.index_select(x, dim, i)
    return [("gather -1", take(-1), (4096, 1000), index(1000, 4096, 1)),
            ("gather -1", take(-1), (4096, 1024), index(1024, 4096, 256)),
            ("gather 1", take(1), (64, 1024, 256), index(1024, 64, 256, 256)),
            ("gather 1 expanded", lambda x, i: torch.gather(x, 1, i[..., None].expand(-1, -1, x.shape[-1])),
            (64, 196, 768), index(196, 64, 49)), ("gather 0", take(0), (4096, 1024), index(4096, 4096, 1024)),
            ("gather 2", take(2), (16, 64, 4096), index(4096, 16, 64, 1024)),
            ("take_along_dim", lambda x, i: torch.take_along_dim(x, i, -1), (4096, 1024), index(1024, 4096, 64)),
            ("index_select 0", some(0), (65536, 256), index(65536, 32768)),
            ("index_select 1", some(1), (64, 512, 256), index(512, 128)),
            ("index_select 2", some(2), (16, 64, 4096), index(4096, 1024)),
            ("index_select 0", some(0), (10000, 64), index(10000, 200000)),
            ("index 0", lambda x, i: x[i], (65536, 256), index(65536, 65536)),
            ("index 0", lambda x, i: x[i], (20000, 128), index(20000, 320000)),
            ("index 1", lambda x, i: x[:, i], (64, 49, 768), index(49, 16)),
            ("index 0 1", lambda x, i, j: x[i, j], (64, 1024, 128), index(64, 16384), index(1024, 16384)),
            ("index neighbours", lambda x, i: x[torch.arange(8, device=x.device)[:, None, None], i], (8, 2048, 64),
            index(2048, 8, 2048, 16)),
            ("index numbers", lambda x, i: x[i], (1048576,), index(1048576, 4194304)),
            ("table of biases", lambda x, i: x[i].view(49, 49, -1).permute(2, 0, 1), (169, 12), index(169, 2401)),
            ("last token", lambda x, i: x[torch.arange(64, device=x.device), i], (64, 512, 768), index(512, 64)),
            ("index chosen columns", lambda x, i: x[:, :, i], (64, 3, 4096), index(4096, 1024)),
            ("diagonal", lambda x: torch.diagonal(x, dim1=-2, dim2=-1), (512, 128, 128)),
            ("narrow", lambda x: x[:, 10:100] * 2, (512, 128, 128)),
            ("strided slice", lambda x: x[..., ::2, ::2] * 1.5, (32, 64, 112, 112))]


def scattered():
    def added(rows):
        return lambda x, i: torch.zeros(rows, *x.shape[1:], device=x.device, dtype=x.dtype).index_add(0, i, x)

    def reduced(rows, how):
        return lambda x, i: torch.zeros(rows, x.shape[1], device=x.device, dtype=x.dtype).scatter_reduce(0,
            i[:, None].expand_as(x), x, how, include_self=how != "mean")
    spread = lambda rows: lambda x, i: torch.zeros(rows, x.shape[1], device=x.device, dtype=x.dtype).scatter_add(0,
        i[:, None].expand_as(x), x)
    return [("index_add", added(20000), (320000, 64), index(20000, 320000)),
            ("index_add", added(64), (65536, 128), index(64, 65536)),
            ("index_add", added(100000), (100000, 256), index(100000, 100000)),
            ("scatter_add", spread(20000), (320000, 64), index(20000, 320000)),
            ("scatter_add", spread(256), (65536, 64), index(256, 65536)),
            ("scatter_add 1", lambda x, i: torch.zeros_like(x).scatter_add(1, i, x), (4096, 1024),
            index(1024, 4096, 1024)),
            ("scatter_add numbers", lambda x, i: x.new_zeros(4096).scatter_add(0, i, x), (4194304,),
            index(4096, 4194304)), ("scatter_reduce amax", reduced(20000, "amax"), (160000, 64), index(20000, 160000)),
            ("scatter_reduce mean", reduced(20000, "mean"), (160000, 64), index(20000, 160000)),
            ("scatter_reduce sum", reduced(2000, "sum"), (160000, 64), index(2000, 160000)),
            ("scatter", lambda x, i: torch.zeros_like(x).scatter(1, i, x), (4096, 1024), index(1024, 4096, 1024)),
            ("scatter small", lambda x, i: torch.zeros(4096, 64, device=x.device, dtype=x.dtype).scatter(1, i, x),
            (4096, 8), index(64, 4096, 8)),
            ("index_put", lambda x, i: torch.zeros_like(x).index_put((i,), x), (65536, 128), index(65536, 65536)),
            ("index_put add", lambda x, i: torch.zeros_like(x).index_put((i,), x, accumulate=True), (65536, 128),
            index(65536, 65536)),
            ("index_copy", lambda x, i: torch.zeros(32768, 256, device=x.device, dtype=x.dtype).index_copy(0, i, x),
            (16384, 256), index(32768, 16384)), ("one_hot", lambda x, i: F.one_hot(i, 1000).to(x.dtype) @ x,
            (1000, 64), index(1000, 16384)),
            ("one_hot", lambda x, i: F.one_hot(i, 21).to(x.dtype).permute(0, 3, 1, 2) * x, (8, 21, 256, 256),
            index(21, 8, 256, 256)), ("one_hot small", lambda x, i: F.one_hot(i, 8).to(x.dtype).sum(0) * x, (8,),
            index(8, 65536)),
            ("segment mean", lambda x, i: x.new_zeros(512, 64).index_add(0, i, x) / x.new_zeros(512).index_add(0, i,
            torch.ones_like(x[:, 0])).clamp(min=1)[:, None], (65536, 64), index(512, 65536)),
            ("degree", lambda x, i: x[:, :1] * torch.zeros(20000, device=x.device, dtype=x.dtype).index_add(0, i,
            torch.ones_like(i, dtype=x.dtype))[i][:, None], (320000, 4), index(20000, 320000))]


def written():
    def rows(x):
        y = torch.zeros_like(x)
        y[:, 8:120] = x[:, 8:120] * 2
        return y

    def columns(x):
        y = x.new_zeros(x.shape[0], x.shape[1], 2 * x.shape[2])
        y[..., ::2] = x
        y[..., 1::2] = -x
        return y

    def steps(x):
        y = torch.empty_like(x)
        for t in range(16):
            y[:, t] = torch.tanh(x[:, t])
        return y

    def cached(x):
        y = x.new_zeros(64, 8, 1024, 64)
        y[:, :, :256] = x
        return y

    def halves(x):
        y = x.clone()
        y[:, ::2] += x[:, 1::2]
        return y
    return [("slice of rows", rows, (512, 128, 128)), ("interleaved columns", columns, (512, 128, 128)),
            ("step by step", steps, (256, 16, 512)), ("cache", cached, (64, 8, 256, 64)),
            ("added slice", halves, (512, 128, 128)),
            ("inplace relu", lambda x: (x * 2).relu_(), (16777216,)),
            ("inplace mul", lambda x: (x + 1).mul_(2).add_(1), (16777216,)),
            ("clone", lambda x: x.clone() * 2, (16777216,)),
            ("rotary halves", lambda x, c, s: x * c + torch.cat((-x[..., 32:], x[..., :32]), -1) * s,
            (16, 16, 1024, 64), given(1024, 64), given(1024, 64)),
            ("rotary pairs", lambda x, c,
            s: torch.stack((x[..., ::2] * c - x[..., 1::2] * s, x[..., ::2] * s + x[..., 1::2] * c), -1).flatten(-2),
            (16, 16, 1024, 64), given(1024, 32), given(1024, 32)),
            ("masked update", lambda x, m: torch.where(m, x, torch.zeros_like(x)), (16777216,), chosen(16777216)),
            ("masked by one", lambda x, m: x * m[..., None], (64, 1024, 256), chosen(64, 1024)),
            ("where token", lambda x, t, m: torch.where(m[..., None], t, x), (64, 1024, 256), (1, 1, 256),
            chosen(64, 1024)), ("masked by type", lambda x, m: x * m.to(x.dtype), (16777216,), chosen(16777216)),
            ("fill triangle", lambda x: torch.tril(x), (512, 256, 256)),
            ("triu", lambda x: torch.triu(x, 1), (16, 12, 512, 512)),
            ("mask made", lambda x: x + torch.full((1024, 1024), -1e4, device=x.device, dtype=x.dtype).triu(1),
            (16, 1024, 1024))]


def joined():
    return [("cat 0", lambda a, b: torch.cat((a, b), 0), (64, 196, 768), (64, 196, 768)),
            ("cat 1", lambda a, b: torch.cat((a, b), 1), (32, 128, 64, 64), (32, 64, 64, 64)),
            ("cat -1", lambda a, b: torch.cat((a, b), -1), (16384, 512), (16384, 256)),
            ("cat token", lambda a, b: torch.cat((b.expand(64, -1, -1), a), 1), (64, 196, 768), (1, 1, 768)),
            ("cat narrow", lambda a, b: torch.cat((a, b), -1), (1048576, 3), (1048576, 2)),
            ("cat many", lambda *a: torch.cat(a, 1), *[(32, 32, 56, 56)] * 12),
            ("cat dense", lambda *a: torch.cat(a, 1), (32, 64, 56, 56), *[(32, 32, 56, 56)] * 4),
            ("cat odd", lambda a, b: torch.cat((a, b), -1), (16384, 511), (16384, 37)),
            ("cat transposed", lambda a, b: torch.cat((a.transpose(1, 2), b), 1), (64, 512, 196), (64, 64, 512)),
            ("stack 0", lambda a, b: torch.stack((a, b), 0), (16384, 512), (16384, 512)),
            ("stack -1", lambda a, b: torch.stack((a, b), -1), (16384, 512), (16384, 512)),
            ("stack 1", lambda *a: torch.stack(a, 1), *[(256, 512)] * 32),
            ("cat lists", lambda *a: torch.cat([v.unsqueeze(1) for v in a], 1), *[(4096, 16)] * 26),
            ("split", lambda x: sum(v * i for i, v in enumerate(x.split(256, -1), 1)), (16384, 1024)),
            ("chunk 1", lambda x: (lambda a, b: a * b)(*x.chunk(2, 1)), (32, 128, 64, 64)),
            ("unbind 0", lambda x: (lambda q, k, v: q * k + v)(*x.unbind(0)), (3, 16, 12, 512, 64)),
            ("unbind 2", lambda x: (lambda q, k, v: q * k + v)(*x.unbind(2)), (16, 512, 3, 12, 64)),
            ("qkv", lambda x: (lambda q, k, v: q * k + v)(*x.reshape(64, 196, 3, 12, 64).permute(2, 0, 3, 1, 4)),
            (64, 196, 2304)),
            ("roll 1", lambda x: torch.roll(x, 3, 1), (64, 196, 768)),
            ("roll 2d", lambda x: torch.roll(x, (-3, -3), (1, 2)), (32, 56, 56, 96)),
            ("flip -1", lambda x: x.flip(-1), (32, 64, 112, 112)), ("flip 1", lambda x: x.flip(1), (64, 512, 512)),
            ("rot90", lambda x: torch.rot90(x, 1, (2, 3)), (32, 64, 112, 112)),
            ("repeat", lambda x: x.repeat(1, 8, 1), (64, 64, 512)),
            ("repeat 2d", lambda x: x.repeat(1, 1, 2, 2), (16, 64, 64, 64)),
            ("repeat_interleave 1", lambda x: x.repeat_interleave(4, 1), (16, 8, 1024, 64)),
            ("repeat_interleave 2", lambda x: x.repeat_interleave(2, 2).repeat_interleave(2, 3), (16, 32, 64, 64)),
            ("repeat heads", lambda x: x[:, :, None].expand(-1, -1, 4, -1, -1).reshape(16, 32, 1024, 64),
            (16, 8, 1024, 64)), ("expand", lambda x: x.expand(64, 512, 512).contiguous(), (1, 512, 512)),
            ("tile", lambda x: x.tile(4, 1), (4096, 1024))]


def layouts():
    hard = lambda x: x.contiguous()
    return [("transpose 1 2", lambda x: hard(x.transpose(1, 2)), (64, 512, 512)),
            ("transpose heads", lambda x: hard(x.view(64, 256, 12, 64).transpose(1, 2)), (64, 256, 768)),
            ("to channels", lambda x: hard(x.permute(0, 2, 3, 1)), (32, 96, 56, 56)),
            ("from channels", lambda x: hard(x.permute(0, 3, 1, 2)), (32, 56, 56, 96)),
            ("transpose narrow", lambda x: hard(x.transpose(1, 2)), (64, 65536, 3)),
            ("transpose wide", lambda x: hard(x.transpose(1, 2)), (64, 3, 65536)),
            ("transpose 0 1", lambda x: hard(x.transpose(0, 1)), (256, 64, 512)),
            ("matrix", lambda x: hard(x.t()), (4096, 4096)),
            ("windows", lambda x: hard(x.view(32, 8, 7, 8, 7, 96).permute(0, 1, 3, 2, 4, 5)), (32, 56, 56, 96)),
            ("patches", lambda x: hard(x.view(32, 3, 14, 16, 14, 16).permute(0, 2, 4, 1, 3, 5)), (32, 3, 224, 224)),
            ("channels_last", lambda x: x.to(memory_format=torch.channels_last) * 2, (32, 64, 112, 112)),
            ("shuffle", lambda x: hard(x.view(32, 4, 64, 28, 28).transpose(1, 2)).flatten(1, 2), (32, 256, 28, 28)),
            ("pixel_shuffle", nn.PixelShuffle(2), (16, 256, 64, 64)),
            ("pixel_shuffle 4", nn.PixelShuffle(4), (16, 48, 64, 64)),
            ("pixel_unshuffle", nn.PixelUnshuffle(2), (16, 64, 128, 128)),
            ("to half", lambda x: x.to(torch.float16).float(), (16777216,)),
            ("to bf16", lambda x: x.to(torch.bfloat16) * 2, (16777216,)),
            ("to double", lambda x: x.double().mean(-1), (4096, 1024)),
            ("to int", lambda x: x.detach().long() % 7, (8388608,)),
            ("to bool", lambda x: (x > 0).float(), (8388608,)),
            ("transposed cast", lambda x: x.transpose(1, 2).contiguous().half().float(), (64, 512, 512)),
            ("movedim", lambda x: hard(x.movedim(1, -1)), (8, 64, 16, 64, 64)),
            ("last pair", lambda x: hard(x.transpose(-1, -2)), (4096, 16, 64)),
            ("meshgrid", lambda x: torch.stack(torch.meshgrid(x, x, indexing="ij"), -1), (2048,)),
            ("arange", lambda x: x * torch.arange(x.shape[-1], device=x.device, dtype=x.dtype), (64, 65536)),
            ("linspace", lambda x: x * torch.linspace(0, 1, 65536, device=x.device), (64, 65536)),
            ("sines", lambda x, f: torch.cat((torch.sin(x[:, None] * f), torch.cos(x[:, None] * f)), -1), (8192,),
            given(128)), ("fourier",
            lambda x: torch.cat([g(x * 2.0 ** i) for i in range(10) for g in (torch.sin, torch.cos)], -1), (65536, 3))]


def padded():
    pad = lambda words, mode, *shape: (f"{mode} {words}", lambda x: F.pad(x, words, mode), shape)
    return [pad((1, 1, 1, 1), "constant", 32, 64, 112, 112), pad((3, 3), "constant", 32, 128, 4096),
            pad((1, 1, 1, 1, 1, 1), "constant", 4, 32, 32, 64, 64), pad((0, 1, 0, 1), "constant", 32, 64, 112, 112),
            pad((0, 0, 1, 0), "constant", 64, 511, 512), pad((0, 0, 0, 3, 0, 3), "constant", 32, 53, 53, 96),
            pad((-1, -1, -1, -1), "constant", 32, 64, 112, 112), pad((1, 1, 1, 1), "reflect", 32, 64, 112, 112),
                pad((3, 3, 3, 3), "reflect", 16, 64, 256, 256), pad((512, 512), "reflect", 16, 1, 131072),
                pad((3, 3), "reflect", 32, 128, 4096), pad((1, 1, 1, 1), "replicate", 32, 64, 112, 112),
                pad((4, 4), "replicate", 32, 128, 4096),
            pad((1, 1, 1, 1, 1, 1), "replicate", 4, 32, 32, 64, 64),
                pad((1, 1, 1, 1, 1, 1), "reflect", 4, 32, 32, 64, 64), pad((1, 1, 1, 1), "circular", 32, 64, 112, 112),
                pad((3, 3), "circular", 32, 128, 4096), pad((1, 1, 1, 1, 1, 1), "circular", 4, 32, 32, 64, 64),
                pad((0, 2), "constant", 65536, 30)]


def windows():
    def folded(size, step, length):
        return lambda x: F.fold(x, (1, length), (1, size), stride=(1, step))
    unfold = lambda *words, **more: lambda x: F.unfold(x, *words, **more)
    fold = lambda sides, kernel, **more: lambda x: F.fold(x, sides, kernel, **more)
    return [("frames 1024", lambda x: x.unfold(-1, 1024, 256) * 2, (16, 65536)),
            ("frames 400", lambda x: x.unfold(-1, 400, 160) * 2, (64, 64000)),
            ("frames 16", lambda x: x.unfold(-1, 16, 8) * 2, (64, 32000)),
            ("im2col 1d 1024", unfold((1, 1024), stride=(1, 256)), (16, 1, 1, 66560)),
            ("im2col 1d 256", unfold((1, 256), stride=(1, 64)), (16, 1, 1, 65536)),
            ("im2col 1d 2048", unfold((1, 2048), stride=(1, 512)), (8, 1, 1, 131072)),
            ("col2im 1d 1024", folded(1024, 256, 66560), (16, 1024, 257)),
            ("col2im 1d 256", folded(256, 64, 65536), (16, 256, 1021)),
            ("col2im 1d 512", folded(512, 128, 65536), (32, 512, 509)),
            ("col2im 1d 2048", folded(2048, 512, 131072), (8, 2048, 253)),
            ("col2im 1d 16", folded(16, 8, 32000), (16, 16, 3999)),
            ("im2col 3", unfold(3, padding=1), (16, 64, 56, 56)),
            ("im2col 7 stride 4", unfold(7, stride=4, padding=3), (16, 64, 56, 56)),
            ("im2col 16", unfold(16, stride=16), (32, 3, 224, 224)),
            ("im2col 2", unfold(2, stride=2), (32, 64, 56, 56)),
            ("im2col dilated", unfold(3, padding=2, dilation=2), (16, 32, 56, 56)),
            ("col2im 3", fold((56, 56), 3, padding=1), (16, 576, 3136)),
            ("col2im 16", fold((224, 224), 16, stride=16), (32, 768, 196)),
            ("col2im 7", fold((56, 56), 7, stride=4, padding=3), (16, 3136, 196)),
            ("col2im 2", fold((56, 56), 2, stride=2), (32, 256, 784)),
            ("patches unfold", lambda x: x.unfold(2, 8, 8).unfold(3, 8, 8).contiguous(), (32, 3, 256, 256)),
            ("overlap unfold", lambda x: x.unfold(1, 7, 1) * 2, (64, 1024, 64))]


class Spectrum(nn.Module):
    """The spectrum of sounds, or the sound of complex spectra."""

    def __init__(self, size, step, inverse=False, **more):
        super().__init__()
        self.size, self.step, self.inverse, self.more = size, step, inverse, more
        self.register_buffer("window", torch.hann_window(size))

    def forward(self, x):
        if self.inverse:
            return torch.istft(torch.view_as_complex(x.contiguous()), self.size, self.step, window=self.window)
        return torch.stft(x, self.size, self.step, window=self.window, return_complex=True, **self.more).abs()


def sounds():
    """A check of the window's values inside istft is refused by captures."""
    return [("istft 1024", Spectrum(1024, 256, inverse=True), (16, 513, 257, 2)),
            ("istft 512", Spectrum(512, 128, inverse=True), (32, 257, 251, 2)),
            ("istft 2048", Spectrum(2048, 512, inverse=True), (8, 1025, 257, 2))]


def transforms():
    def long(x, k):
        n = 2 * x.shape[-1]
        return torch.fft.irfft(torch.fft.rfft(x, n) * torch.fft.rfft(k, n), n)[..., :x.shape[-1]]
    return [("stft 1024", Spectrum(1024, 256), (16, 65536)), ("stft 512", Spectrum(512, 128), (32, 32000)),
            ("stft 2048", Spectrum(2048, 512), (8, 131072)), ("stft 400", Spectrum(400, 160), (64, 48000)),
            ("stft 256", Spectrum(256, 64, center=False), (32, 32000)),
            ("fft", torch.fft.fft, (4096, 1024)), ("fft 0", lambda x: torch.fft.fft(x, dim=0), (1024, 4096)),
            ("rfft", torch.fft.rfft, (4096, 2048)),
            ("rfft 1", lambda x: torch.fft.rfft(x, dim=1, norm="ortho"), (64, 512, 256)),
            ("fft2", torch.fft.fft2, (64, 128, 128)), ("rfft2", torch.fft.rfft2, (32, 64, 64, 64)),
            ("rfft2 1 2", lambda x: torch.fft.rfft2(x, dim=(1, 2), norm="ortho"), (64, 14, 14, 384)),
            ("rfftn", lambda x: torch.fft.rfftn(x, dim=(2, 3, 4)), (8, 16, 32, 32, 32)),
            ("irfft", lambda x: torch.fft.irfft(torch.fft.rfft(x)), (4096, 1024)),
            ("irfft2", lambda x: torch.fft.irfft2(torch.fft.rfft2(x)), (32, 64, 64, 64)),
            ("fft odd", torch.fft.fft, (4096, 1000)), ("rfft prime", torch.fft.rfft, (2048, 1021)),
            ("fft real part", lambda x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real, (32, 512, 512)),
            ("fftshift", lambda x: torch.fft.fftshift(torch.fft.fft2(x)), (64, 128, 128)),
            ("long convolution", long, (16, 256, 2048), (256, 2048)),
            ("long convolution", long, (8, 512, 1024), (512, 1024)),
            ("spectral", lambda x,
            w: torch.fft.irfft2(torch.einsum("bixy,ioxy->boxy", torch.fft.rfft2(x)[..., :16, :16],
            torch.view_as_complex(w)), s=(64, 64)), (16, 32, 64, 64), (32, 32, 16, 16, 2))]


def complexes():
    c = torch.view_as_complex
    mags = (64, 257, 256, 2)
    return [("mul", lambda a, b: c(a) * c(b), mags, mags), ("add", lambda a, b: c(a) + c(b), mags, mags),
            ("abs", lambda a: c(a).abs(), mags), ("angle", lambda a: torch.angle(c(a)), mags),
            ("polar", lambda a, b: torch.polar(a.abs(), b), (64, 257, 256), (64, 257, 256)),
            ("exp", lambda a: torch.exp(c(a)), mags), ("conj", lambda a: c(a) * c(a).conj(), mags),
            ("real", lambda a: c(a).real * 2, mags), ("complex", lambda a, b: torch.complex(a, b), (64, 257, 256),
            (64, 257, 256)), ("matmul", lambda a, b: c(a) @ c(b), (64, 128, 128, 2), (64, 128, 128, 2)),
            ("scaled", lambda a, b: c(a) * b, mags, (257, 1)),
            ("rotary", lambda a,
            f: torch.view_as_real(c(a.reshape(16, 1024, 16, 32, 2)) * torch.polar(torch.ones_like(f), f)[None, :,
            None]).flatten(3), (16, 1024, 16, 64), given(1024, 32)),
            ("sum", lambda a: c(a).sum(-1), mags), ("mean abs", lambda a: c(a).abs().mean(), mags),
            ("einsum", lambda a, b: torch.einsum("bim,iom->bom", c(a), c(b)), (32, 64, 32, 2), (64, 64, 32, 2)),
            ("div", lambda a, b: c(a) / (c(b) + 3), mags, mags),
            ("vandermonde", lambda a, l: 2 * torch.einsum("hn,hnl->hl", c(a), torch.exp(c(a)[..., None] * l)).real,
            (256, 32, 2), given(2048))]


def resized():
    to = lambda mode, factor, *shape, **more: (f"{mode} {factor}",
        lambda x: F.interpolate(x, scale_factor=factor, mode=mode, **more), shape)
    return [to("nearest", 2, 16, 128, 64, 64), to("nearest", 4, 16, 64, 32, 32), to("nearest", 2, 32, 128, 1024),
            to("nearest", 2, 4, 32, 32, 32, 32), to("nearest", 0.5, 16, 64, 128, 128), to("linear", 2, 32, 128, 1024),
            to("linear", 4, 32, 64, 1000), to("bilinear", 2, 16, 128, 64, 64), to("bilinear", 8, 16, 19, 64, 64),
            to("bilinear", 0.5, 16, 64, 128, 128),
            to("bilinear", 2, 16, 64, 96, 96, align_corners=True), to("bilinear", 1.5, 16, 64, 64, 64),
                to("bilinear", 0.25, 16, 3, 512, 512, antialias=True), to("bicubic", 2, 16, 64, 64, 64),
                to("bicubic", 4, 16, 3, 64, 64), to("bicubic", 0.5, 16, 64, 128, 128),
                to("bicubic", 0.5, 16, 3, 256, 256, antialias=True), to("trilinear", 2, 4, 32, 32, 32, 32),
                to("trilinear", 0.5, 4, 32, 32, 64, 64), to("trilinear", 2, 4, 64, 16, 16, 16, align_corners=True),
            to("area", 0.5, 16, 64, 128, 128), to("nearest-exact", 2, 16, 64, 64, 64),
                ("positions", lambda x: F.interpolate(x, (20, 20), mode="bicubic"), (1, 768, 14, 14)),
                ("one pixel", lambda x: F.interpolate(x, (32, 32), mode="bilinear"), (32, 256, 1, 1)),
                ("to size", lambda x: F.interpolate(x, (97, 129), mode="bilinear"), (16, 64, 49, 65))]


def sampled():
    grid = lambda **more: lambda x, g: F.grid_sample(x, torch.tanh(g), align_corners=False, **more)
    return [("2d", grid(), (16, 64, 64, 64), (16, 64, 64, 2)), ("2d", grid(), (16, 3, 256, 256), (16, 256, 256, 2)),
            ("2d nearest", grid(mode="nearest"), (16, 64, 64, 64), (16, 64, 64, 2)),
            ("2d border", grid(padding_mode="border"), (16, 64, 64, 64), (16, 64, 64, 2)),
            ("2d reflection", grid(padding_mode="reflection"), (16, 64, 64, 64), (16, 64, 64, 2)),
            ("2d corners", lambda x, g: F.grid_sample(x, torch.tanh(g), align_corners=True), (16, 64, 64, 64),
            (16, 64, 64, 2)),
            ("2d bicubic", grid(mode="bicubic"), (16, 16, 64, 64), (16, 64, 64, 2)),
            ("points", grid(), (128, 32, 64, 64), (128, 900, 4, 2)),
            ("3d", grid(), (4, 16, 32, 64, 64), (4, 32, 64, 64, 3)),
            ("3d", grid(), (4, 1, 96, 96, 96), (4, 96, 96, 96, 3)),
            ("affine_grid", lambda t: F.affine_grid(t, (64, 3, 128, 128), align_corners=False), (64, 2, 3)),
            ("affine_grid 3d", lambda t: F.affine_grid(t, (8, 1, 64, 64, 64), align_corners=False), (8, 3, 4)),
            ("spatial transformer", lambda x, t: F.grid_sample(x, F.affine_grid(t, x.shape, align_corners=False),
            align_corners=False), (64, 3, 128, 128), (64, 2, 3)),
            ("planes", grid(), (3, 32, 128, 128), (3, 65536, 1, 2))]


def pooled():
    image, volume, signal = (32, 64, 112, 112), (4, 32, 32, 64, 64), (32, 128, 4096)
    return [(f"pool {words}", layer, shape) for words, layer, shape in (
        ("max2", nn.MaxPool2d(2), image), ("max3 stride 2", nn.MaxPool2d(3, 2, 1), image),
        ("max3 stride 1", nn.MaxPool2d(3, 1, 1), (32, 192, 28, 28)),
        ("max5 stride 1", nn.MaxPool2d(5, 1, 2), (32, 256, 20, 20)),
        ("max13 stride 1", nn.MaxPool2d(13, 1, 6), (16, 256, 20, 20)), ("max1d 2", nn.MaxPool1d(2), signal),
        ("max1d 3", nn.MaxPool1d(3, 1, 1), signal), ("max3d 2", nn.MaxPool3d(2), volume),
        ("max3d 3", nn.MaxPool3d(3, 2, 1), volume), ("max3d 1 2 2", nn.MaxPool3d((1, 2, 2)), volume),
        ("max (1, 3)", nn.MaxPool2d((1, 3), (1, 3)), image), ("avg2", nn.AvgPool2d(2), image),
        ("avg3", nn.AvgPool2d(3, 1, 1), (32, 192, 28, 28)), ("avg3 stride 2",
        nn.AvgPool2d(3, 2, 1, count_include_pad=False), image), ("avg7", nn.AvgPool2d(7), (64, 512, 7, 7)),
        ("avg1d 4", nn.AvgPool1d(4), signal),
        ("avg1d 25", nn.AvgPool1d(25, 1, 12), (32, 32, 4096)), ("avg3d 2", nn.AvgPool3d(2), volume),
        ("lp", nn.LPPool2d(2, 3, 2), image), ("lp1d", nn.LPPool1d(2, 4), signal),
        ("adaptive 1", nn.AdaptiveAvgPool2d(1), (64, 512, 14, 14)),
        ("adaptive 7", nn.AdaptiveAvgPool2d(7), (64, 256, 28, 28)),
        ("adaptive 6 odd", nn.AdaptiveAvgPool2d(6), (64, 256, 13, 13)),
        ("adaptive max 1", nn.AdaptiveMaxPool2d(1), (64, 512, 14, 14)),
        ("adaptive max 4", nn.AdaptiveMaxPool2d(4), (64, 256, 15, 15)),
        ("adaptive 1d", nn.AdaptiveAvgPool1d(1), signal), ("adaptive 1d 100", nn.AdaptiveAvgPool1d(100),
        (32, 128, 1500)), ("adaptive max 1d", nn.AdaptiveMaxPool1d(1), signal),
        ("adaptive 3d", nn.AdaptiveAvgPool3d(1), volume), ("adaptive 3d 4", nn.AdaptiveAvgPool3d(4), volume),
        ("fractional", nn.FractionalMaxPool2d(3, output_ratio=0.5), (16, 64, 64, 64)))] + [
        ("unpool", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), image),
        ("unpool 1d", lambda x: F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2), signal),
        ("channel pool", lambda x: torch.cat((x.mean(1, keepdim=True), x.amax(1, keepdim=True)), 1),
        (32, 256, 56, 56)), ("gem", lambda x: F.avg_pool2d(x.clamp(min=1e-6).pow(3), (14, 14)).pow(1 / 3),
        (64, 512, 14, 14)),
        ("max2 channels last", lambda x: F.max_pool2d(x.to(memory_format=torch.channels_last), 2), image),
        ("avg2 channels last", lambda x: F.avg_pool2d(x.to(memory_format=torch.channels_last), 2), image),
        ("adaptive channels last", lambda x: F.adaptive_avg_pool2d(x.to(memory_format=torch.channels_last), 1),
        (64, 512, 14, 14))]


BOTH = "fp32 bf16"
STEPS = {**dict.fromkeys(("embeddings", "gathered", "scattered", "written", "joined", "layouts", "padded", "windows",
    "resized", "pooled"), (BOTH, "adamw")),
         **dict.fromkeys(("bags", "sounds", "transforms", "complexes", "sampled"), ("fp32", "adamw"))}
SETS = {name: globals()[name] for name in STEPS}
