# SPDX-License-Identifier: Apache-2.0
"""practice_seventh.py - networks for practice, the seventh set: physics, chemistry, biology and signals. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result, words


def velocity_under_ground():
    """Speeds of waves under the ground from five shots: tall filters squeeze time, transposed ones draw the map."""
    def conv(a, b, k, s, p):
        return nn.Sequential(nn.Conv2d(a, b, k, s, p), nn.BatchNorm2d(b), nn.LeakyReLU(0.2, inplace=True))

    def up(a, b, k, s, p):
        return nn.Sequential(nn.ConvTranspose2d(a, b, k, s, p), nn.BatchNorm2d(b), nn.LeakyReLU(0.2, inplace=True),
                             nn.Conv2d(b, b, 3, 1, 1), nn.BatchNorm2d(b), nn.LeakyReLU(0.2, inplace=True))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Sequential(
                conv(5, 32, (7, 1), (2, 1), (3, 0)), conv(32, 64, (3, 1), (2, 1), (1, 0)), conv(64, 64, (3, 1), 1, (1, 0)),
                conv(64, 64, (3, 1), (2, 1), (1, 0)), conv(64, 128, (3, 1), (2, 1), (1, 0)), conv(128, 128, 3, 2, 1),
                conv(128, 128, 3, 1, 1), conv(128, 256, 3, 2, 1), conv(256, 256, 3, 1, 1), conv(256, 256, 3, 2, 1),
                conv(256, 512, (8, 9), 1, 0))
            self.up = nn.Sequential(up(512, 512, 5, 1, 0), up(512, 256, 4, 2, 1), up(256, 128, 4, 2, 1), up(128, 64, 4, 2, 1),
                                    up(64, 32, 4, 2, 1), nn.ZeroPad2d(-5), nn.Conv2d(32, 1, 3, padding=1), nn.Tanh())

        def forward(self, shots, speed):
            y = self.up(self.down(shots))
            return Result(F.l1_loss(y, speed) + F.mse_loss(y, speed))
    return Net(), lambda b: (torch.zeros(b, 5, 1000, 70), torch.zeros(b, 1, 70, 70)), "own"


def forces_from_energy():
    """Energies and forces of molecules: filters of distances, sums over neighbours, and gradients by places."""
    class Soft(nn.Module):
        def forward(self, x):
            return F.softplus(x) - math.log(2.0)

    class Layer(nn.Module):
        def __init__(self, c, waves):
            super().__init__()
            self.filter = nn.Sequential(nn.Linear(waves, c), Soft(), nn.Linear(c, c))
            self.a, self.f = nn.Linear(c, c, bias=False), nn.Sequential(nn.Linear(c, c), Soft(), nn.Linear(c, c))

        def forward(self, x, to, source, wave, near):
            w = self.filter(wave) * near
            y = self.a(x).index_select(0, source) * w
            return x + self.f(torch.zeros_like(x).index_add(0, to, y))

    class Net(nn.Module):
        def __init__(self, c=128, waves=50, depth=6, atoms=64, kinds=100, neighbours=24):
            super().__init__()
            self.kind, self.atoms, self.neighbours = nn.Embedding(kinds, c), atoms, neighbours
            self.register_buffer("centres", torch.linspace(0, 5, waves))
            self.body = nn.ModuleList(Layer(c, waves) for _ in range(depth))
            self.out = nn.Sequential(nn.Linear(c, c // 2), Soft(), nn.Linear(c // 2, 1))

        def forward(self, place, kind, energy, force):
            b, n, _ = place.shape
            with torch.no_grad():
                near = torch.cdist(place.float(), place.float()).topk(self.neighbours + 1, largest=False).indices[..., 1:]
                source = (near + torch.arange(b, device=place.device).view(b, 1, 1) * n).flatten()
                to = torch.arange(b * n, device=place.device).repeat_interleave(self.neighbours)
            place = place.flatten(0, 1).requires_grad_(True)
            far = (place[to] - place[source]).pow(2).sum(-1, keepdim=True).add(1e-6).sqrt()
            wave = torch.exp(-10 * (far - self.centres).pow(2))
            near = 0.5 * (torch.cos(far * math.pi / 5) + 1) * (far < 5)
            x = self.kind(kind.flatten())
            for f in self.body:
                x = f(x, to, source, wave, near)
            total = self.out(x).view(b, n).sum(1)
            slope, = torch.autograd.grad(total.sum(), place, create_graph=True)
            return Result(F.mse_loss(total, energy) * 0.01 + F.mse_loss(-slope, force.flatten(0, 1)))

    def inputs(b):
        return torch.zeros(b, 64, 3), words(b, 64), torch.zeros(b), torch.zeros(b, 64, 3)
    return Net(), inputs, "own"


def antibody_chains():
    """Antibodies: hidden residues of both chains, contacts from outer products, and how strongly it binds."""
    class Net(nn.Module):
        def __init__(self, c=480, heads=12, depth=10):
            super().__init__()
            self.residue, self.chain, self.place = nn.Embedding(33, c, padding_idx=1), nn.Embedding(2, c), nn.Embedding(320, c)
            self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(c, heads, 4 * c, 0.1, F.gelu, batch_first=True,
                                                                         norm_first=True), depth, enable_nested_tensor=False)
            self.norm, self.out = nn.LayerNorm(c), nn.Linear(c, 33)
            self.left, self.right = nn.Linear(c, 32), nn.Linear(c, 32)
            self.pair = nn.Sequential(nn.Conv2d(64, 48, 3, padding=1), nn.InstanceNorm2d(48, affine=True), nn.ELU(),
                                      nn.Conv2d(48, 48, 3, padding=2, dilation=2), nn.InstanceNorm2d(48, affine=True), nn.ELU(),
                                      nn.Conv2d(48, 1, 1))
            self.bind = nn.Sequential(nn.Linear(c, 128), nn.Softplus(), nn.Linear(128, 1))

        def forward(self, ids, far, strength):
            b, n = ids.shape
            place = torch.arange(n, device=ids.device)
            ids, hidden = ids % 32, torch.rand(b, n, device=ids.device) < 0.15
            x = self.residue(torch.where(hidden, torch.full_like(ids, 32), ids)) + self.place(place)
            x = self.norm(self.body(x + self.chain((place > n // 2).long())))
            loss = F.cross_entropy(self.out(x).flatten(0, 1), ids.flatten(), reduction="none")
            loss = (loss * hidden.flatten()).sum() / hidden.sum().clamp(min=1)
            a, c = self.left(x), self.right(x)
            pair = torch.cat([a[:, :, None] * c[:, None], a[:, :, None] - c[:, None]], -1).permute(0, 3, 1, 2)
            pair = self.pair(pair)
            pair = (pair + pair.transpose(2, 3)) / 2
            contact = F.binary_cross_entropy_with_logits(pair.squeeze(1), (far > 1).float())
            return Result(loss + contact + F.huber_loss(self.bind(x.mean(1)), strength))
    return Net(), lambda b: (words(b, 256), torch.zeros(b, 256, 256), torch.zeros(b, 1)), "own"


def shower_neighbours():
    """Particles in a calorimeter: hits find neighbours in a learned space, and are drawn to points of condensation."""
    class Layer(nn.Module):
        def __init__(self, a, c=96, space=4, passed=32, near=24):
            super().__init__()
            self.near, self.norm = near, nn.BatchNorm1d(c)
            self.enter = nn.Sequential(nn.Linear(3 * a, c), nn.ELU(), nn.Linear(c, c), nn.ELU())
            self.space, self.passed, self.out = nn.Linear(c, space), nn.Linear(c, passed), nn.Linear(c + 2 * passed, c)

        def forward(self, x):
            x = self.enter(torch.cat([x, x.mean(1, keepdim=True).expand_as(x), x.amax(1, keepdim=True).expand_as(x)], -1))
            s, v = self.space(x).float(), self.passed(x)
            far = torch.cdist(s, s, compute_mode="donot_use_mm_for_euclid_dist").pow(2)
            far, index = far.topk(self.near, dim=-1, largest=False)
            b, n, k = index.shape
            v = v.gather(1, index.flatten(1).unsqueeze(-1).expand(-1, -1, v.shape[-1])).view(b, n, k, -1)
            v = v * torch.exp(-10 * far).unsqueeze(-1)
            y = F.elu(self.out(torch.cat([x, v.mean(2), v.amax(2)], -1)))
            return self.norm(y.flatten(0, 1)).view_as(y)

    class Net(nn.Module):
        def __init__(self, depth=4):
            super().__init__()
            self.body = nn.ModuleList(Layer(9 if n == 0 else 96) for n in range(depth))
            self.beta, self.place, self.energy = nn.Linear(96 * depth, 1), nn.Linear(96 * depth, 3), nn.Linear(96 * depth, 1)

        def forward(self, hits, owner):
            x, kept = hits, []
            for f in self.body:
                x = f(x)
                kept.append(x)
            x = torch.cat(kept, -1)
            owner = owner % 10
            beta, place = torch.sigmoid(self.beta(x)).squeeze(-1).clamp(1e-4, 1 - 1e-4), self.place(x)
            charge = torch.atanh(beta) ** 2 + 0.5
            belongs = F.one_hot(owner, 10).float()
            strongest, index = (charge.unsqueeze(-1) * belongs).max(1)
            middle = place.gather(1, index.unsqueeze(-1).expand(-1, -1, 3))
            far = torch.cdist(place, middle)
            drawn = belongs * far.pow(2) + (1 - belongs) * F.relu(1 - far)
            loss = (charge.unsqueeze(-1) * strongest.unsqueeze(1) * drawn).mean()
            energy = torch.zeros(len(x), 10, device=x.device).scatter_add(1, owner, F.softplus(self.energy(x)).squeeze(-1).float())
            return Result(loss + (1 - (beta.unsqueeze(-1) * belongs).amax(1)).mean() + torch.log1p(energy).var(1).mean())
    return Net(), lambda b: (torch.zeros(b, 1000, 9), words(b, 1000)), "own"


def kernel_of_alloys():
    """Hardness of alloys with uncertainty: dense layers with spectral norms, and a Gaussian process on top."""
    class Net(nn.Module):
        def __init__(self, features=132, c=512, tasks=8):
            super().__init__()
            norm = nn.utils.parametrizations.spectral_norm
            self.body = nn.Sequential(norm(nn.Linear(features, c)), nn.Mish(), norm(nn.Linear(c, c)), nn.Mish(),
                                      norm(nn.Linear(c, c)), nn.Mish(), nn.Linear(c, 32))
            self.length, self.size, self.noise = (nn.Parameter(torch.zeros(tasks)) for _ in range(3))
            self.mean = nn.Parameter(torch.zeros(tasks))

        def forward(self, alloys, value):
            z = self.body(alloys)
            far = torch.cdist(z, z).pow(2).unsqueeze(1)
            kernel = F.softplus(self.size).view(-1, 1, 1) * torch.exp(-0.5 * far / (F.softplus(self.length).view(-1, 1, 1) + 0.1))
            eye = torch.eye(z.shape[1], device=z.device)
            kernel = kernel + (F.softplus(self.noise).view(-1, 1, 1) + 0.05) * eye
            left = torch.linalg.cholesky_ex(kernel)[0]
            rest = (value - self.mean).transpose(1, 2).unsqueeze(-1)
            solved = torch.linalg.solve_triangular(left, rest, upper=False)
            logs = left.diagonal(dim1=-2, dim2=-1).abs().clamp(min=1e-6).log().sum(-1)
            return Result((0.5 * solved.pow(2).sum((-2, -1)) + logs).mean() / z.shape[1])
    return Net(), lambda b: (torch.zeros(b, 256, 132), torch.zeros(b, 256, 8)), "own"


def glucose_ode():
    """Glucose of patients: a GRU reads measurements backwards, and an equation is solved in steps of a fixed size."""
    class Net(nn.Module):
        def __init__(self, seen=14, c=128, steps=48):
            super().__init__()
            self.steps, self.read = steps, nn.GRUCell(2 * seen + 1, c)
            self.start = nn.Linear(c, 2 * 32)
            self.f = nn.Sequential(nn.Linear(32 + 6, c), nn.Tanh(), nn.Linear(c, c), nn.Tanh(), nn.Linear(c, 32))
            self.out = nn.Sequential(nn.Linear(32, 64), nn.ELU(), nn.Linear(64, 2))

        def forward(self, seen, mask, meals, later):
            mask = (mask > 0).float()
            hidden = torch.zeros(len(seen), 128, device=seen.device)
            for t in reversed(range(seen.shape[1])):
                gap = torch.full((len(seen), 1), 1.0, device=seen.device)
                hidden = self.read(torch.cat([seen[:, t] * mask[:, t], mask[:, t], gap], -1), hidden)
            mean, spread = self.start(hidden).chunk(2, -1)
            z, h, path = mean + torch.randn_like(mean) * torch.exp(0.5 * spread), 1 / self.steps, []
            for t in range(self.steps):
                food = meals[:, t]
                k1 = self.f(torch.cat([z, food], -1))
                k2 = self.f(torch.cat([z + h / 2 * k1, food], -1))
                k3 = self.f(torch.cat([z + h / 2 * k2, food], -1))
                k4 = self.f(torch.cat([z + h * k3, food], -1))
                z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
                path.append(z)
            mean_y, spread_y = self.out(torch.stack(path, 1)).unbind(-1)
            loss = F.gaussian_nll_loss(mean_y, later, F.softplus(spread_y) + 1e-3)
            return Result(loss - 0.005 * (1 + spread - mean.pow(2) - spread.exp()).mean())

    def inputs(b):
        return torch.zeros(b, 40, 14), torch.zeros(b, 40, 14), torch.zeros(b, 48, 6), torch.zeros(b, 48)
    return Net(), inputs, "own"


def invertible_leaves():
    """Chances of pictures of leaves: steps that can be inverted, with square mixing matrices and halves that scale."""
    class Step(nn.Module):
        def __init__(self, c, inner):
            super().__init__()
            self.scale, self.shift = nn.Parameter(torch.zeros(1, c, 1, 1)), nn.Parameter(torch.zeros(1, c, 1, 1))
            self.mix = nn.Parameter(torch.eye(c) + 0.01 * torch.randn(c, c))
            self.f = nn.Sequential(nn.Conv2d(c // 2, inner, 3, padding=1), nn.ReLU(), nn.Conv2d(inner, inner, 1), nn.ReLU(),
                                   nn.Conv2d(inner, c, 3, padding=1))

        def forward(self, x, logs):
            points = x.shape[2] * x.shape[3]
            x = (x + self.shift) * torch.exp(self.scale)
            x = F.conv2d(x, self.mix[:, :, None, None])
            a, b = x.chunk(2, 1)
            scale, shift = self.f(a).chunk(2, 1)
            scale = torch.sigmoid(scale + 2)
            logs = logs + points * (self.scale.sum() + torch.linalg.slogdet(self.mix)[1]) + scale.log().flatten(1).sum(1)
            return torch.cat([a, (b + shift) * scale], 1), logs

    class Net(nn.Module):
        def __init__(self, levels=3, depth=8, inner=256):
            super().__init__()
            c, self.levels, self.split = 3, nn.ModuleList(), nn.ModuleList()
            for n in range(levels):
                c *= 4
                self.levels.append(nn.ModuleList(Step(c, inner) for _ in range(depth)))
                if n < levels - 1:
                    c //= 2
                    self.split.append(nn.Conv2d(c, 2 * c, 3, padding=1))

        def forward(self, x):
            x = x * 0.2 + torch.rand_like(x) / 256
            logs, size = torch.zeros(len(x), device=x.device), x[0].numel()
            for n, steps in enumerate(self.levels):
                x = F.pixel_unshuffle(x, 2)
                for f in steps:
                    x, logs = f(x, logs)
                if n < len(self.split):
                    x, z = x.chunk(2, 1)
                    mean, spread = self.split[n](x).chunk(2, 1)
                    logs = logs - 0.5 * (math.log(2 * math.pi) + 2 * spread + (z - mean) ** 2 * torch.exp(-2 * spread)).sum((1, 2, 3))
            logs = logs - 0.5 * (math.log(2 * math.pi) + x ** 2).sum((1, 2, 3))
            return Result(-(logs / size).mean() / math.log(2))
    return Net(), lambda b: torch.zeros(b, 3, 64, 64), "own"


def plasma_cubes():
    """Plasma in a box: a residual 3-D U-Net with transposed filters, half-size steps, and no flow out of points."""
    class Block(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.f = nn.Sequential(nn.Conv3d(a, b, 3, padding=1), nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU(0.01),
                                   nn.Conv3d(b, b, 3, padding=1), nn.InstanceNorm3d(b, affine=True))
            self.skip = nn.Conv3d(a, b, 1)

        def forward(self, x):
            return F.leaky_relu(self.f(x) + self.skip(x), 0.01)

    class Net(nn.Module):
        def __init__(self, widths=(24, 48, 96, 160)):
            super().__init__()
            self.down = nn.ModuleList(Block(a, b) for a, b in zip((7, *widths), widths))
            self.pool = nn.ModuleList(nn.Conv3d(c, c, 2, 2) for c in widths[:-1])
            back = widths[::-1]
            self.up = nn.ModuleList(nn.ConvTranspose3d(a, b, 2, 2) for a, b in zip(back, back[1:]))
            self.join = nn.ModuleList(Block(2 * b, b) for b in back[1:])
            self.side = nn.ModuleList(nn.Conv3d(b, 7, 1) for b in back[1:])

        def forward(self, now, later):
            x, kept = now, []
            for n, f in enumerate(self.down):
                x = f(x)
                if n < len(self.pool):
                    kept.append(x)
                    x = self.pool[n](x)
            loss = 0
            for f, g, side, old in zip(self.up, self.join, self.side, kept[::-1]):
                x = g(torch.cat([f(x), old], 1))
                y = side(x)
                truth = F.interpolate(later, size=y.shape[2:], mode="trilinear", align_corners=False) if y.shape != later.shape else later
                loss = loss + F.smooth_l1_loss(y, truth)
            field = y[:, :3]
            flow = sum((torch.roll(field[:, n], -1, n + 1) - torch.roll(field[:, n], 1, n + 1)) / 2 for n in range(3))
            return Result(loss + 0.1 * flow.pow(2).mean())
    return Net(), lambda b: (torch.zeros(b, 7, 64, 64, 64), torch.zeros(b, 7, 64, 64, 64)), "own"


def cell_beams():
    """Beams of a mobile network: filters on channels, and rounds of solved equations; the sum of rates is the loss."""
    class Net(nn.Module):
        def __init__(self, antennas=64, users=16, rounds=5, c=96):
            super().__init__()
            self.users, self.rounds = users, rounds
            self.f = nn.Sequential(nn.Conv2d(2, c, 3, padding=1), nn.BatchNorm2d(c), nn.PReLU(),
                                   *(nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c), nn.PReLU()) for _ in range(5)))
            self.power = nn.Sequential(nn.Linear(c, 64), nn.ReLU(), nn.Linear(64, 2), nn.Softplus())
            self.step = nn.Parameter(torch.full((rounds,), 0.5))

        def forward(self, real, imaginary):
            h = torch.complex(real, imaginary)
            y = self.f(torch.stack([real, imaginary], 1)).mean(-1).transpose(1, 2)
            weight, load = self.power(y).unbind(-1)
            weight, load = weight / weight.sum(-1, keepdim=True), load / load.sum(-1, keepdim=True)
            eye = torch.eye(h.shape[-1], device=h.device, dtype=h.dtype)
            for n in range(self.rounds):
                around = eye + torch.einsum("bk,bkm,bkn->bmn", load.to(h.dtype), h, h.conj())
                beams = torch.linalg.solve(around, h.transpose(1, 2))
                beams = beams / (beams.abs().pow(2).sum(1, keepdim=True) + 1e-9).sqrt()
                gain = torch.einsum("bkm,bmj->bkj", h.conj(), beams).abs().pow(2) * weight.unsqueeze(1)
                own = gain.diagonal(dim1=1, dim2=2)
                rate = torch.log2(1 + own / (gain.sum(-1) - own + 0.1))
                load = load + self.step[n] * (rate.softmax(-1) - load)
            return Result(-rate.sum(-1).mean())
    return Net(), lambda b: (torch.zeros(b, 16, 64), torch.zeros(b, 16, 64)), "own"


def counted_genes():
    """Counts of genes in cells: an autoencoder with a negative binomial, batches of a laboratory, and groups of cells."""
    class Net(nn.Module):
        def __init__(self, genes=4000, c=256, latent=24, labs=96, groups=12):
            super().__init__()
            self.lab = nn.Embedding(labs, 16)
            self.enter = nn.Sequential(nn.Linear(genes + 16, c), nn.BatchNorm1d(c, 1e-3, 0.01), nn.ReLU(), nn.Dropout(0.1),
                                       nn.Linear(c, c), nn.BatchNorm1d(c, 1e-3, 0.01), nn.ReLU(), nn.Dropout(0.1))
            self.mean, self.spread = nn.Linear(c, latent), nn.Linear(c, latent)
            self.back = nn.Sequential(nn.Linear(latent + 16, c), nn.BatchNorm1d(c, 1e-3, 0.01), nn.ReLU(), nn.Dropout(0.1))
            self.share, self.empty = nn.Linear(c, genes), nn.Linear(c, genes)
            self.theta = nn.Parameter(torch.randn(genes))
            self.middle, self.wide = nn.Parameter(torch.randn(groups, latent)), nn.Parameter(torch.zeros(groups, latent))

        def forward(self, counts, lab):
            counts = counts.abs().mul(3).floor()
            lab, total = self.lab(lab), counts.sum(1, keepdim=True) + 1
            y = self.enter(torch.cat([torch.log1p(counts), lab], 1))
            found = torch.distributions.Normal(self.mean(y), self.spread(y).clamp(-6, 6).exp().sqrt() + 1e-4, validate_args=False)
            z = found.rsample()
            x = self.back(torch.cat([z, lab], 1))
            mu, theta, empty = self.share(x).softmax(-1) * total, self.theta.clamp(-6, 6).exp(), self.empty(x)
            logs = torch.log(theta + mu + 1e-8)
            case = (theta * (torch.log(theta + 1e-8) - logs) + counts * (torch.log(mu + 1e-8) - logs)
                    + torch.lgamma(counts + theta) - torch.lgamma(theta) - torch.lgamma(counts + 1))
            zero = F.softplus(-empty + theta * (torch.log(theta + 1e-8) - logs)) - F.softplus(-empty)
            likely = torch.where(counts < 0.5, zero, -F.softplus(-empty) - empty + case)
            groups = torch.distributions.Normal(self.middle, F.softplus(self.wide) + 1e-3, validate_args=False)
            prior = torch.logsumexp(groups.log_prob(z.unsqueeze(1)).sum(-1), 1)
            return Result((found.log_prob(z).sum(-1) - prior - likely.sum(-1)).mean())
    return Net(), lambda b: (torch.zeros(b, 4000), torch.zeros(b, dtype=torch.int64)), "own"


def conserved_motion():
    """Planets that keep their energy: a network gives the energy, and its gradients move places and momenta."""
    class Net(nn.Module):
        def __init__(self, bodies=8, c=192, steps=10):
            super().__init__()
            self.steps = steps
            self.mass = nn.Parameter(torch.zeros(bodies))
            self.pair = nn.Sequential(nn.Linear(7, c), nn.Softplus(), nn.Linear(c, c), nn.Softplus(), nn.Linear(c, 1))
            self.one = nn.Sequential(nn.Linear(6, c), nn.Tanh(), nn.Linear(c, c), nn.Tanh(), nn.Linear(c, 1))

        def energy(self, q, p):
            apart = q.unsqueeze(2) - q.unsqueeze(1)
            far = apart.pow(2).sum(-1, keepdim=True).add(0.01).rsqrt()
            pair = torch.cat([apart, far, p.unsqueeze(2) * p.unsqueeze(1)], -1)
            heavy = F.softplus(self.mass)
            return (self.pair(pair).squeeze(-1) * heavy * heavy[:, None]).sum((1, 2)) + self.one(torch.cat([q, p], -1)).sum((1, 2))

        def forward(self, q, p, path):
            loss = 0
            q, p = q.requires_grad_(True), p.requires_grad_(True)
            for t in range(self.steps):
                by_q, = torch.autograd.grad(self.energy(q, p).sum(), q, create_graph=True)
                p = p - 0.01 * by_q
                by_p, = torch.autograd.grad(self.energy(q, p).sum(), p, create_graph=True)
                q = q + 0.01 * by_p
                loss = loss + F.mse_loss(torch.cat([q, p], -1), path[:, t])
            return Result(loss / self.steps)
    return Net(), lambda b: (torch.zeros(b, 8, 3), torch.zeros(b, 8, 3), torch.zeros(b, 10, 8, 6)), "own"


NETWORKS = {f.__name__: f for f in (velocity_under_ground, forces_from_energy, antibody_chains, shower_neighbours,
                                    kernel_of_alloys, glucose_ode, invertible_leaves, plasma_cubes, cell_beams,
                                    counted_genes, conserved_motion)}
STEPS = {"velocity_under_ground": ("amp-fp16", 48, "nhwc", "adamw"), "forces_from_energy": ("fp32", 32, "nchw", "adam"),
         "antibody_chains": ("amp-bf16", 24, "nchw", "adamw"), "shower_neighbours": ("tf32", 24, "nchw", "adam"),
         "kernel_of_alloys": ("fp32", 16, "nchw", "adam"), "glucose_ode": ("fp32", 512, "nchw", "adam"),
         "invertible_leaves": ("tf32", 48, "nchw", "adam"), "plasma_cubes": ("amp-bf16", 4, "nchw", "adamw"),
         "cell_beams": ("fp32", 256, "nchw", "adam"), "counted_genes": ("tf32", 2048, "nchw", "adam"),
         "conserved_motion": ("fp32", 512, "nchw", "adam")}
