# SPDX-License-Identifier: Apache-2.0
"""written_nineteenth.py - the thirteenth set of networks as people write them: natural sciences. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Encoder, Result, words


def quake_picker():
    """Arrivals of earthquake waves: filters and LSTMs read 60 s of motion, three decoders give P, S and event."""
    class Residual(nn.Module):
        def __init__(self, c, k):
            super().__init__()
            self.n1, self.n2 = nn.BatchNorm1d(c), nn.BatchNorm1d(c)
            self.f1, self.f2 = nn.Conv1d(c, c, k, padding=k // 2), nn.Conv1d(c, c, k, padding=k // 2)
            self.drop = nn.Dropout(0.2)

        def forward(self, x):
            y = self.f1(self.drop(F.relu(self.n1(x))))
            return x + self.f2(self.drop(F.relu(self.n2(y))))

    class Decoder(nn.Module):
        def __init__(self, attends):
            super().__init__()
            self.attends = nn.MultiheadAttention(16, 1, batch_first=True) if attends else None
            self.lstm = nn.LSTM(16, 16, batch_first=True) if attends else None
            sizes = (16, 96, 96, 32, 32, 16, 16, 8)
            kernels = (3, 5, 5, 7, 7, 9, 11)
            self.f = nn.ModuleList(nn.Conv1d(i, o, k, padding=k // 2) for i, o, k in zip(sizes, sizes[1:], kernels))
            self.out = nn.Conv1d(8, 1, 11, padding=5)

        def forward(self, x, length):
            if self.attends is not None:
                x = self.lstm(x.transpose(1, 2))[0]
                x = self.attends(x, x, x, need_weights=False)[0].transpose(1, 2)
            for f in self.f:
                x = F.relu(f(F.interpolate(x, scale_factor=2)))
            return self.out(x[..., :length])

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            sizes, kernels = (3, 8, 16, 16, 32, 32, 64, 64), (11, 9, 7, 7, 5, 5, 3)
            self.enter = nn.ModuleList(nn.Conv1d(i, o, k, padding=k // 2) for i, o, k in zip(sizes, sizes[1:], kernels))
            self.blocks = nn.Sequential(*(Residual(64, 3) for _ in range(5)))
            self.lstm = nn.ModuleList(nn.LSTM(i, 16, batch_first=True, bidirectional=True) for i in (64, 16, 16))
            self.narrow = nn.ModuleList(nn.Sequential(nn.Conv1d(32, 16, 1), nn.BatchNorm1d(16)) for _ in range(3))
            self.last = nn.LSTM(16, 16, batch_first=True)
            self.encoders = nn.ModuleList(Encoder(16, 1, 128) for _ in range(2))
            self.decoders = nn.ModuleList(Decoder(n > 0) for n in range(3))

        def forward(self, x):
            length = x.shape[-1]
            for f in self.enter:
                x = F.max_pool1d(F.relu(f(x)), 2, ceil_mode=True)
            x = self.blocks(x)
            for lstm, narrow in zip(self.lstm, self.narrow):
                x = narrow(lstm(x.transpose(1, 2))[0].transpose(1, 2))
            x = self.last(x.transpose(1, 2))[0]
            for f in self.encoders:
                x = f(x)
            return torch.cat([f(x.transpose(1, 2), length) for f in self.decoders], 1)
    return Net(), lambda b: torch.zeros(b, 3, 6000), "bce"


def fourier_particles():
    """Volumes from electron microscope pictures: an encoder of pictures, and a decoder of places in Fourier space."""
    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.f = nn.Linear(c, c)

        def forward(self, x):
            return F.relu(self.f(x) + x)

    def dense(i, o, c, depth):
        return nn.Sequential(nn.Linear(i, c), nn.ReLU(), *(Block(c) for _ in range(depth)), nn.Linear(c, o))

    class Net(nn.Module):
        def __init__(self, side=65, latent=8, c=1024):
            super().__init__()
            self.waves, self.side = side // 2, side
            self.encode = dense(side * side, 2 * latent, c, 3)
            self.decode = dense(3 * 2 * self.waves + latent, 2, c, 3)
            line = torch.linspace(-0.5, 0.5, side)
            place = torch.stack(torch.meshgrid(line, line, indexing="ij"), -1).flatten(0, 1)
            self.register_buffer("place", F.pad(place, (0, 1)), persistent=False)
            self.register_buffer("waves_of", 2 * math.pi * 0.5 * side ** (torch.arange(self.waves) / (self.waves - 1)),
                                 persistent=False)
            self.register_buffer("disc", (place.norm(dim=1) < 0.5).float(), persistent=False)

        def forward(self, picture, turn, transfer):
            mean, spread = self.encode(picture.flatten(1)).chunk(2, -1)
            z = mean + torch.exp(0.5 * spread) * torch.randn_like(spread)
            place = self.place @ turn
            angle = (place.unsqueeze(-1) * self.waves_of).flatten(-2)
            x = torch.cat([angle.sin(), angle.cos(), z.unsqueeze(1).expand(-1, place.shape[1], -1)], -1)
            value = self.decode(x)
            found = (value[..., 0] - value[..., 1]) * transfer.flatten(1)
            off = ((found - picture.flatten(1)).pow(2) * self.disc).sum(1).mean() / self.disc.sum()
            apart = -0.5 * (1 + spread - mean.pow(2) - spread.exp()).sum(1).mean()
            return Result(off + apart / self.side ** 2)

    def inputs(b):
        return torch.zeros(b, 65, 65), torch.zeros(b, 3, 3), torch.zeros(b, 65, 65)
    return Net(), inputs, "own"


def peptide_reader():
    """Peptides from mass spectra: peaks are encoded by waves of their mass, a transformer writes amino acids."""
    class Waves(nn.Module):
        def __init__(self, c, least=0.001, most=10000.0):
            super().__init__()
            self.register_buffer("rate", 2 * math.pi / (least * (most / least) ** torch.linspace(0, 1, c // 2)),
                                 persistent=False)

        def forward(self, mass):
            angle = mass.unsqueeze(-1) * self.rate
            return torch.cat([angle.sin(), angle.cos()], -1)

    class Net(nn.Module):
        def __init__(self, c=512, acids=29, depth=9, most=60):
            super().__init__()
            self.mass, self.height = Waves(c), nn.Linear(1, c, bias=False)
            self.whole = nn.Parameter(torch.randn(1, 1, c))
            layer = dict(d_model=c, nhead=8, dim_feedforward=1024, dropout=0.1, batch_first=True)
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer), depth, enable_nested_tensor=False)
            self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**layer), depth)
            self.acid, self.charge = nn.Embedding(acids, c), nn.Embedding(10, c)
            self.place = nn.Parameter(torch.randn(most, c) * 0.02)
            self.head = nn.Linear(c, acids)

        def forward(self, peaks, mass, charge, acids):
            b = len(peaks)
            x = self.mass(peaks[..., 0]) + self.height(peaks[..., 1:])
            memory = self.encoder(torch.cat([self.whole.expand(b, -1, -1), x], 1))
            precursor = self.mass(mass) + self.charge(charge)
            y = torch.cat([precursor, self.acid(acids[:, :-1])], 1)
            y = y + self.place[:y.shape[1]]
            mask = nn.Transformer.generate_square_subsequent_mask(y.shape[1], device=y.device)
            y = self.head(self.decoder(y, memory, tgt_mask=mask))
            return Result(F.cross_entropy(y.flatten(0, 1), acids.flatten(), label_smoothing=0.01))

    def inputs(b):
        return torch.zeros(b, 150, 2), torch.zeros(b, 1), words(b, 1), words(b, 48)
    return Net(), inputs, "own"


def tissue_spots():
    """Genes of tissue spots: graph attention encodes 3,000 genes and decodes them with the same matrices turned."""
    class Layer(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.w = nn.Parameter(torch.empty(i, o))
            self.a, self.z = nn.Parameter(torch.empty(o)), nn.Parameter(torch.empty(o))
            nn.init.xavier_normal_(self.w, 1.414)
            nn.init.normal_(self.a, std=0.1)
            nn.init.normal_(self.z, std=0.1)

        def weights(self, x, near):
            own, other = (x * self.a).sum(-1), (x * self.z).sum(-1)
            return torch.sigmoid(own.unsqueeze(-1) + other[near]).softmax(-1)

    class Net(nn.Module):
        def __init__(self, genes=3000, c=512, latent=30):
            super().__init__()
            self.one, self.two = Layer(genes, c), Layer(c, latent)

        def forward(self, genes, near):
            near = near % len(genes)
            x = genes @ self.one.w
            weight = self.one.weights(x, near)
            x = F.elu((weight.unsqueeze(-1) * x[near]).sum(1))
            z = x @ self.two.w
            y = F.elu(z @ self.two.w.t())
            y = F.elu((weight.unsqueeze(-1) * y[near]).sum(1))
            return Result(F.mse_loss(y @ self.one.w.t(), genes))
    return Net(), lambda b: (torch.zeros(b, 3000), words(b, 7)), "own"


def perturbed_cells():
    """Cells after a drug: sets of cells attend to each other, and the energy distance to treated sets is the loss."""
    class Net(nn.Module):
        def __init__(self, genes=2000, drugs=1138, c=696, depth=8):
            super().__init__()
            def dense(i):
                return nn.Sequential(nn.Linear(i, c), nn.LayerNorm(c), nn.GELU(), nn.Dropout(0.1), nn.Linear(c, c))
            self.cell, self.drug, self.dose = dense(genes), nn.Embedding(drugs, c), dense(1)
            self.batch = nn.Embedding(128, c)
            self.body = nn.Sequential(*(Encoder(c, 12, dropout=0.1) for _ in range(depth)))
            self.norm = nn.LayerNorm(c)
            self.head = nn.Sequential(nn.Linear(c, c), nn.GELU(), nn.Linear(c, genes))

        def forward(self, control, treated, drug, dose, batch):
            x = self.cell(control) + (self.drug(drug) + self.dose(dose) + self.batch(batch)).unsqueeze(1)
            y = F.relu(control + self.head(self.norm(self.body(x)))).float()
            other = treated.float()
            apart = torch.cdist(y, other).mean((1, 2))
            own, theirs = torch.cdist(y, y).mean((1, 2)), torch.cdist(other, other).mean((1, 2))
            return Result((2 * apart - own - theirs).mean())

    def inputs(b):
        cells = torch.zeros(b, 128, 2000)
        drug, batch = (torch.zeros(b, dtype=torch.int64) for _ in range(2))
        return cells, cells.clone(), drug, torch.zeros(b, 1), batch
    return Net(), inputs, "own"


def strain_detector():
    """Merging black holes in noise of two detectors: whitened strain, 1-D residual filters, pooled by power."""
    class Block(nn.Module):
        def __init__(self, i, o, k, stride):
            super().__init__()
            self.f = nn.Sequential(nn.Conv1d(i, o, k, stride, k // 2, bias=False), nn.BatchNorm1d(o), nn.SiLU(),
                                   nn.Conv1d(o, o, k, padding=k // 2, bias=False), nn.BatchNorm1d(o))
            self.skip = nn.Identity() if i == o and stride == 1 else nn.Sequential(
                nn.Conv1d(i, o, 1, stride, bias=False), nn.BatchNorm1d(o))

        def forward(self, x):
            return F.silu(self.f(x) + self.skip(x))

    class Net(nn.Module):
        def __init__(self, c=(32, 64, 128, 256), k=(31, 15, 7, 7)):
            super().__init__()
            self.register_buffer("window", torch.hann_window(4096), persistent=False)
            self.register_buffer("density", torch.ones(2049), persistent=False)
            self.each = nn.Sequential(nn.Conv1d(1, c[0], 65, 2, 32, bias=False), nn.BatchNorm1d(c[0]), nn.SiLU(),
                                      Block(c[0], c[0], k[0], 1), nn.MaxPool1d(4))
            sizes = zip((2 * c[0], *c[1:]), c[1:], k[1:])
            self.body = nn.Sequential(*(f for i, o, n in sizes for f in (Block(i, o, n, 2), Block(o, o, n, 1))))
            self.power = nn.Parameter(torch.tensor(3.0))
            self.head = nn.Sequential(nn.Linear(c[-1], 128), nn.SiLU(), nn.Dropout(0.3), nn.Linear(128, 1))

        def forward(self, x):
            waves = torch.fft.rfft(x.float() * self.window) / self.density
            x = torch.fft.irfft(waves, n=x.shape[-1]).flatten(0, 1).unsqueeze(1)
            x = self.each(x).unflatten(0, (-1, 2)).flatten(1, 2)
            x = self.body(x).float().clamp(min=1e-6)
            return self.head(x.pow(self.power).mean(-1).pow(1 / self.power))
    return Net(), lambda b: torch.zeros(b, 2, 4096), "bce"


def lens_posterior():
    """Parameters of gravitational lenses: a residual network reads a picture, an autoregressive flow their chances."""
    class Masked(nn.Linear):
        def __init__(self, i, o, mask):
            super().__init__(i, o)
            self.register_buffer("mask", mask, persistent=False)

        def forward(self, x):
            return F.linear(x, self.weight * self.mask, self.bias)

    class Made(nn.Module):
        def __init__(self, n, seen, c):
            super().__init__()
            first, inner = torch.arange(n), torch.arange(c) % (n - 1)
            self.enter = Masked(n, c, (inner[:, None] >= first).float())
            self.seen, self.middle = nn.Linear(seen, c), Masked(c, c, (inner[:, None] >= inner).float())
            self.out = Masked(c, 2 * n, (first.repeat(2)[:, None] > inner).float())

        def forward(self, x, seen):
            y = F.relu(self.enter(x) + self.seen(seen))
            shift, scale = self.out(F.relu(self.middle(y))).float().chunk(2, -1)
            scale = torch.tanh(scale / 2) * 2
            return (x - shift) * torch.exp(-scale), -scale.sum(-1)

    class Net(nn.Module):
        def __init__(self, n=12, layers=8, seen=256):
            super().__init__()
            from torchvision.models import resnet34
            self.eye = resnet34(weights=None, num_classes=seen)
            self.eye.conv1 = nn.Conv2d(1, 64, 7, 2, 3, bias=False)
            self.flow = nn.ModuleList(Made(n, seen, 256) for _ in range(layers))

        def forward(self, picture, truth):
            seen = F.relu(self.eye(torch.asinh(picture)))
            x, volume = truth.float(), 0
            for f in self.flow:
                x, more = f(x, seen)
                x, volume = x.flip(-1), volume + more
            return Result((0.5 * x.pow(2).sum(-1) - volume).mean())
    return Net(), lambda b: (torch.zeros(b, 1, 128, 128), torch.zeros(b, 12)), "own"


def tracked_hits():
    """Tracks of particles: links between detector hits are classified after eight steps of messages."""
    def dense(i, c, o, last=True):
        layers = [nn.Linear(i, c), nn.LayerNorm(c), nn.SiLU(), nn.Linear(c, c), nn.LayerNorm(c), nn.SiLU()]
        return nn.Sequential(*layers, nn.Linear(c, o), *([nn.LayerNorm(o), nn.SiLU()] if last else []))

    class Net(nn.Module):
        def __init__(self, c=128, steps=8):
            super().__init__()
            self.hit, self.link = dense(3, c, c), dense(2 * c, c, c)
            self.hits = nn.ModuleList(dense(3 * c, c, c) for _ in range(steps))
            self.links = nn.ModuleList(dense(3 * c, c, c) for _ in range(steps))
            self.head = dense(3 * c, c, 1, last=False)

        def forward(self, hits, start, end, truth):
            b, n, _ = hits.shape
            base = torch.arange(b, device=hits.device)[:, None] * n
            start, end = (start % n + base).flatten(), (end % n + base).flatten()
            x = self.hit(hits.flatten(0, 1))
            e = self.link(torch.cat([x[start], x[end]], 1))
            for hit, link in zip(self.hits, self.links):
                into = torch.zeros_like(x).index_add_(0, end, e.to(x.dtype))
                out = torch.zeros_like(x).index_add_(0, start, e.to(x.dtype))
                x = x + hit(torch.cat([x, into, out], 1))
                e = e + link(torch.cat([x[start], x[end], e], 1))
            y = self.head(torch.cat([x[start], x[end], e], 1)).squeeze(1)
            return Result(F.binary_cross_entropy_with_logits(y, truth.flatten(), pos_weight=y.new_tensor(5.0)))

    def inputs(b):
        return torch.zeros(b, 4000, 3), words(b, 16000), words(b, 16000), torch.zeros(b, 16000)
    return Net(), inputs, "own"


def fluid_mixtures():
    """Free energies of solution: two molecules pass messages along bonds, then read each other, and a set is pooled."""
    class Bonds(nn.Module):
        def __init__(self, atom, bond, c, depth):
            super().__init__()
            self.first, self.step = nn.Linear(atom + bond, c, bias=False), nn.Linear(c, c, bias=False)
            self.out, self.depth = nn.Linear(atom + c, c), depth

        def forward(self, atoms, bonds, start, end, back):
            b, n, _ = atoms.shape
            def near(x, index):
                return x.gather(1, index.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
            first = self.first(torch.cat([near(atoms, start), bonds], -1))
            m = F.relu(first)
            for _ in range(self.depth - 1):
                total = torch.zeros(b, n, m.shape[-1], dtype=m.dtype, device=m.device)
                total = total.scatter_add(1, end.unsqueeze(-1).expand_as(m), m)
                m = F.dropout(F.relu(first + self.step(near(total, start) - near(m, back))), 0.1, self.training)
            total = torch.zeros(b, n, m.shape[-1], dtype=m.dtype, device=m.device)
            total = total.scatter_add(1, end.unsqueeze(-1).expand_as(m), m)
            return F.relu(self.out(torch.cat([atoms, total], -1)))

    class Net(nn.Module):
        def __init__(self, atom=133, bond=14, c=300, n=32, m=64):
            super().__init__()
            self.n, self.m = n, m
            self.solute, self.solvent = Bonds(atom, bond, c, 4), Bonds(atom, bond, c, 4)
            self.head = nn.Sequential(nn.Linear(4 * c + 1, 400), nn.ReLU(), nn.Dropout(0.1), nn.Linear(400, 400),
                                      nn.ReLU(), nn.Dropout(0.1), nn.Linear(400, 1))

        def read(self, encoder, atoms, bonds, links):
            return encoder(atoms, bonds, links[:, 0] % self.n, links[:, 1] % self.n, links[:, 2] % self.m)

        def forward(self, atoms1, bonds1, links1, atoms2, bonds2, links2, heat):
            x, y = self.read(self.solute, atoms1, bonds1, links1), self.read(self.solvent, atoms2, bonds2, links2)
            look = torch.tanh(x @ y.transpose(1, 2))
            x2, y2 = look @ y, look.transpose(1, 2) @ x
            return self.head(torch.cat([x.sum(1), x2.sum(1), y.sum(1), y2.sum(1), heat], -1))

    def inputs(b):
        one = (torch.zeros(b, 32, 133), torch.zeros(b, 64, 14), torch.zeros(b, 3, 64, dtype=torch.int64))
        return (*one, *(t.clone() for t in one), torch.zeros(b, 1))
    return Net(), inputs, "mse"


def field_crops():
    """Crops of fields from a year of satellite pictures: attention in time per pixel reads a U-Net's coarse maps."""
    def unit(i, o, k=3, s=1, p=1):
        return nn.Sequential(nn.Conv2d(i, o, k, s, p, padding_mode="reflect"), nn.GroupNorm(4, o), nn.ReLU())

    class Temporal(nn.Module):
        def __init__(self, i, c=256, heads=16, key=4):
            super().__init__()
            self.heads, self.key = heads, key
            self.enter, self.norm = nn.Conv1d(i, c, 1), nn.GroupNorm(heads, i)
            self.query, self.k = nn.Parameter(torch.randn(heads, key) * math.sqrt(2 / key)), nn.Linear(c, heads * key)
            self.out = nn.Sequential(nn.Linear(c, i), nn.BatchNorm1d(i), nn.ReLU())
            self.last = nn.GroupNorm(heads, i)

        def forward(self, x, place):
            b, t, c, h, w = x.shape
            y = x.permute(0, 3, 4, 2, 1).reshape(b * h * w, c, t)
            y = self.enter(self.norm(y)).transpose(1, 2) + place.repeat_interleave(h * w, 0)
            k = self.k(y).unflatten(-1, (self.heads, self.key))
            look = torch.einsum("hk,nthk->hnt", self.query, k) / self.key ** 0.5
            look = F.dropout(look.softmax(-1), 0.1, self.training)
            v = torch.stack(y.chunk(self.heads, -1))
            y = torch.einsum("hnt,hntd->nhd", look, v).flatten(1)
            y = self.last(self.out(y)).view(b, h, w, c).permute(0, 3, 1, 2)
            return y, look.view(self.heads, b, h, w, t)

    class Net(nn.Module):
        def __init__(self, bands=10, c=(64, 64, 64, 128), classes=20):
            super().__init__()
            self.first = nn.Sequential(unit(bands, c[0]), unit(c[0], c[0]))
            self.down = nn.ModuleList(nn.Sequential(unit(i, i, 4, 2, 1), unit(i, o), unit(o, o))
                                      for i, o in zip(c, c[1:]))
            self.time = Temporal(c[-1])
            self.skip = nn.ModuleList(nn.Sequential(nn.Conv2d(n, n, 1), nn.BatchNorm2d(n), nn.ReLU())
                                      for n in c[-2::-1])
            self.up = nn.ModuleList(nn.ConvTranspose2d(i, o, 4, 2, 1) for i, o in zip(c[::-1], c[-2::-1]))
            self.mix = nn.ModuleList(nn.Sequential(unit(2 * n, n), unit(n, n)) for n in c[-2::-1])
            self.head = nn.Sequential(unit(c[0], 32), nn.Conv2d(32, classes, 3, padding=1))
            self.register_buffer("rate", 1000.0 ** (-2 * (torch.arange(16) // 2) / 16), persistent=False)

        def forward(self, x, days):
            b, t = x.shape[:2]
            angle = days.unsqueeze(-1) * self.rate
            place = torch.where(torch.arange(16, device=x.device) % 2 == 0, angle.sin(), angle.cos()).repeat(1, 1, 16)
            maps = [self.first(x.flatten(0, 1))]
            for f in self.down:
                maps.append(f(maps[-1]))
            y, look = self.time(maps.pop().unflatten(0, (b, t)), place)
            for skip, up, mix in zip(self.skip, self.up, self.mix):
                old = maps.pop().unflatten(0, (b, t))
                n, size = look.shape[0], old.shape[-2:]
                weight = F.interpolate(look.permute(0, 1, 4, 2, 3).flatten(0, 1), size=size, mode="bilinear")
                weight = weight.unflatten(0, (n, b)).unsqueeze(3)
                parts = torch.stack(old.chunk(n, 2))
                old = (weight * parts).sum(2).transpose(0, 1).flatten(1, 2)
                y = mix(torch.cat([up(y), skip(old)], 1))
            return self.head(y)
    return Net(), lambda b: (torch.zeros(b, 24, 10, 64, 64), torch.zeros(b, 24)), "channels"


NETWORKS = {f.__name__: f for f in (quake_picker, fourier_particles, peptide_reader, tissue_spots, perturbed_cells,
                                    strain_detector, lens_posterior, tracked_hits, fluid_mixtures, field_crops)}
STEPS = {"quake_picker": ("fp32", 128, "nchw", "adam"), "fourier_particles": ("amp-fp16", 16, "nchw", "adam"),
         "peptide_reader": ("tf32", 32, "nchw", "adam"), "tissue_spots": ("fp32", 4096, "nchw", "adam"),
         "perturbed_cells": ("amp-bf16", 16, "nchw", "adamw"), "strain_detector": ("amp-fp16", 128, "nchw", "adamw"),
         "lens_posterior": ("tf32", 64, "nchw", "adam"), "tracked_hits": ("fp32", 2, "nchw", "adamw"),
         "fluid_mixtures": ("fp32", 128, "nchw", "adam"), "field_crops": ("amp-bf16", 4, "nchw", "adam")}
