# SPDX-License-Identifier: Apache-2.0
"""written_twentythird.py - the fourteenth set of networks, continued: natural sciences. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result


def dense(sizes, act=nn.SiLU):
    """Dense layers with an activation between them."""
    layers = [m for i, o in zip(sizes, sizes[1:]) for m in (nn.Linear(i, o), act())]
    return nn.Sequential(*layers[:-1])


def harmonics(x, y, z):
    """Real spherical harmonics of degrees 0 to 2 of unit vectors."""
    a, b = math.sqrt(3), math.sqrt(15)
    return torch.stack([torch.ones_like(x), a * y, a * z, a * x, b * x * y, b * y * z,
                        math.sqrt(5) / 2 * (3 * z * z - 1), b * x * z, b / 2 * (x * x - y * y)], -1)


def tensor_atoms():
    """Energies and forces of materials: neighbours in spherical harmonics, and products of their sums up to order 3."""
    class Layer(nn.Module):
        def __init__(self, c, kinds):
            super().__init__()
            self.up = nn.ModuleList(nn.Linear(c, c, bias=False) for _ in range(3))
            self.radial = dense((8, 64, 64, 3 * c))
            self.mix = nn.ModuleList(nn.Linear(c, c, bias=False) for _ in range(3))
            self.weight = nn.Parameter(torch.randn(kinds, 3, 3, c) * 0.3)
            self.skip = nn.Parameter(torch.randn(kinds, c, c) * c ** -0.5)

        def by_degree(self, layers, x):
            parts = x.split([1, 3, 5], 2)
            return torch.cat([f(p) for f, p in zip(layers, parts)], 2)

        def forward(self, x, kind, waves, around, gaunt, degree):
            h = self.by_degree(self.up, x)
            radial = self.radial(waves).unflatten(-1, (3, -1))
            pair = torch.einsum("bnmi,ijk->bnmjk", around, gaunt)
            m = torch.einsum("bnmjk,bmjc->bnmkc", pair, h) * radial.index_select(3, degree)
            a = self.by_degree(self.mix, m.sum(2) / 16)
            weight = torch.einsum("bnz,zodc->bnodc", kind, self.weight).index_select(3, degree)
            two = torch.einsum("bnic,bnjc,ijk->bnkc", a, a, gaunt)
            three = torch.einsum("bnic,bnjc,ijk->bnkc", two, a, gaunt)
            y = weight[:, :, 0] * a + weight[:, :, 1] * two + weight[:, :, 2] * three
            return y + torch.einsum("bnz,bnkc,zcd->bnkd", kind, x, self.skip)

    class Net(nn.Module):
        def __init__(self, c=128, kinds=10, depth=2, far=5.0):
            super().__init__()
            self.far, self.kind = far, nn.Linear(kinds, c, bias=False)
            self.body = nn.ModuleList(Layer(c, kinds) for _ in range(depth))
            self.read = nn.ModuleList([nn.Linear(c, 1), dense((c, 16, 1))])
            n = torch.arange(4000) + 0.5
            z, turn = 1 - 2 * n / 4000, n * math.pi * (1 + math.sqrt(5))
            y = harmonics((1 - z * z).sqrt() * turn.cos(), (1 - z * z).sqrt() * turn.sin(), z)
            self.register_buffer("gaunt", torch.einsum("pi,pj,pk->ijk", y, y, y) / 4000, persistent=False)
            self.register_buffer("degree", torch.tensor([0, 1, 1, 1, 2, 2, 2, 2, 2]), persistent=False)
            self.register_buffer("order", torch.arange(1, 9) * math.pi / far, persistent=False)

        def energy(self, places, kind):
            apart = places.unsqueeze(1) - places.unsqueeze(2)
            r = (apart.pow(2).sum(-1) + torch.eye(places.shape[1], device=places.device)).sqrt()
            around = harmonics(*(apart / r.unsqueeze(-1)).unbind(-1))
            u = r / self.far
            smooth = (1 - 21 * u ** 5 + 35 * u ** 6 - 15 * u ** 7) * (u < 1)
            smooth = smooth * (1 - torch.eye(places.shape[1], device=places.device))
            waves = torch.sin(self.order * r.unsqueeze(-1)) / r.unsqueeze(-1) * smooth.unsqueeze(-1)
            x = F.pad(self.kind(kind).unsqueeze(2), (0, 0, 0, 8))
            total = 0
            for f, read in zip(self.body, self.read):
                x = f(x, kind, waves, around, self.gaunt, self.degree)
                total = total + read(x[:, :, 0]).sum((1, 2))
            return total

        def forward(self, places, kinds, forces, energies):
            with torch.enable_grad():
                places = (2 * places).requires_grad_()
                energy = self.energy(places, kinds.softmax(-1))
                found = -torch.autograd.grad(energy.sum(), places, create_graph=True)[0]
            return Result(F.huber_loss(energy, energies, delta=0.01) + 10 * F.huber_loss(found, forces, delta=0.01))

    def inputs(b):
        return torch.zeros(b, 32, 3), torch.zeros(b, 32, 10), torch.zeros(b, 32, 3), torch.zeros(b)
    return Net(), inputs, "own"


def contact_maps():
    """Distances and angles in proteins: 36 residual blocks with dilated filters on pairs of residues, four outputs."""
    class Block(nn.Module):
        def __init__(self, c, gap):
            super().__init__()
            self.f = nn.Sequential(nn.Conv2d(c, c, 3, padding=gap, dilation=gap, bias=False),
                                   nn.InstanceNorm2d(c, eps=1e-6, affine=True), nn.ELU(), nn.Dropout(0.15),
                                   nn.Conv2d(c, c, 3, padding=gap, dilation=gap, bias=False),
                                   nn.InstanceNorm2d(c, eps=1e-6, affine=True))

        def forward(self, x):
            return F.elu(x + self.f(x))

    class Net(nn.Module):
        def __init__(self, single=42, pair=442, c=64, depth=36):
            super().__init__()
            self.enter = nn.Sequential(nn.Conv2d(2 * single + pair, c, 1, bias=False),
                                       nn.InstanceNorm2d(c, eps=1e-6, affine=True), nn.ELU())
            self.body = nn.Sequential(*(Block(c, (1, 2, 4, 8, 16)[n % 5]) for n in range(depth)))
            self.theta, self.phi, self.far, self.omega = (nn.Conv2d(c, n, 1) for n in (25, 13, 37, 25))

        def forward(self, profile, pairs, labels):
            n = profile.shape[-1]
            x = torch.cat([profile.unsqueeze(3).expand(-1, -1, -1, n), profile.unsqueeze(2).expand(-1, -1, n, -1),
                           pairs], 1)
            x = self.body(self.enter(x))
            same = 0.5 * (x + x.transpose(2, 3))
            found = self.theta(x), self.phi(x), self.far(same), self.omega(same)
            return Result(sum(F.cross_entropy(y.float(), labels[:, k]) for k, y in enumerate(found)))

    def inputs(b):
        return {"profile": torch.zeros(b, 42, 160), "pairs": torch.zeros(b, 442, 160, 160),
                "labels": torch.zeros(b, 4, 160, 160, dtype=torch.int64)}
    return Net(), inputs, "own"


def light_curves():
    """Kinds of variable stars: brightness at uneven times in six colours and a table of features, as tokens."""
    class Net(nn.Module):
        def __init__(self, c=192, waves=64, bands=6, columns=60, classes=22, depth=4):
            super().__init__()
            self.value, self.band = nn.Linear(2, c), nn.Parameter(torch.randn(bands, c) * 0.02)
            self.a, self.b = (nn.Parameter(torch.randn(waves, c) * waves ** -0.5) for _ in range(2))
            self.register_buffer("rate", 2 * math.pi * torch.arange(1, waves + 1) / 1500, persistent=False)
            self.cls = nn.Parameter(torch.zeros(2, 1, 1, c))
            self.column, self.place = (nn.Parameter(torch.randn(columns, c) * 0.02) for _ in range(2))
            layer = dict(nhead=6, dim_feedforward=2 * c, dropout=0.2, activation="gelu", batch_first=True)
            self.curve, self.table = (nn.TransformerEncoder(nn.TransformerEncoderLayer(c, **layer), depth,
                                                            enable_nested_tensor=False) for _ in range(2))
            self.heads = nn.ModuleList(nn.Linear(k * c, classes) for k in (1, 1, 2))

        def forward(self, curves, table, labels):
            b = len(curves)
            flux, error, time = curves.unbind(-1)
            wave = (1000 * time).unsqueeze(-1) * self.rate
            x = self.value(torch.stack([flux, error.abs().log1p()], -1))
            x = x * torch.tanh(wave.sin() @ self.a) + wave.cos() @ self.b
            x = (x + self.band[None, :, None]).flatten(1, 2)
            x = torch.cat([self.cls[0].expand(b, -1, -1), x], 1)
            unseen = F.pad((error > 1).flatten(1), (1, 0))
            x = self.curve(x, src_key_padding_mask=unseen)[:, 0]
            y = torch.cat([self.cls[1].expand(b, -1, -1), table.unsqueeze(-1) * self.column + self.place], 1)
            y = self.table(y)[:, 0]
            found = (f(z) for f, z in zip(self.heads, (x, y, torch.cat([x, y], -1))))
            return Result(sum(F.cross_entropy(z, labels, label_smoothing=0.05) for z in found))

    def inputs(b):
        return {"curves": torch.zeros(b, 6, 65, 3), "table": torch.zeros(b, 60),
                "labels": torch.zeros(b, dtype=torch.int64)}
    return Net(), inputs, "own"


def ocean_gaps():
    """Sea temperature under clouds: a U-Net whose filters see only known points, and a mask that grows with them."""
    class Partial(nn.Module):
        def __init__(self, i, o, k, stride=1, norm=True, act=F.relu):
            super().__init__()
            self.f, self.act = nn.Conv2d(i, o, k, stride, k // 2, bias=not norm), act
            self.norm = nn.BatchNorm2d(o) if norm else nn.Identity()
            self.register_buffer("ones", torch.ones(1, i, k, k), persistent=False)

        def forward(self, x, mask):
            with torch.no_grad():
                seen = F.conv2d(mask, self.ones, stride=self.f.stride, padding=self.f.padding)
                new = (seen > 0).to(x.dtype)
                ratio = self.ones.numel() / seen.clamp(min=1) * new
            y = self.norm(self.f(x * mask) * ratio)
            return (self.act(y) if self.act else y), new.expand(-1, y.shape[1], -1, -1)

    class Net(nn.Module):
        def __init__(self, days=3, wide=(64, 128, 256, 512, 512, 512)):
            super().__init__()
            sizes, kernels = (days, *wide), (7, 5, 5, 3, 3, 3)
            self.down = nn.ModuleList(Partial(i, o, k, 2, n > 0)
                                      for n, (i, o, k) in enumerate(zip(sizes, sizes[1:], kernels)))
            back = tuple(reversed(sizes))
            self.up = nn.ModuleList(Partial(i + o, o, 3, 1, n < 5, (lambda y: F.leaky_relu(y, 0.2)) if n < 5 else None)
                                    for n, (i, o) in enumerate(zip(back, back[1:])))

        def forward(self, days, cloud):
            mask = (cloud > 0.3).to(days.dtype)
            kept = [(days * mask, mask)]
            for f in self.down:
                kept.append(f(*kept[-1]))
            x, m = kept.pop()
            for f in self.up:
                skip, more = kept.pop()
                x, m = (F.interpolate(t, size=skip.shape[2:], mode="nearest") for t in (x, m))
                x, m = f(torch.cat([x, skip], 1), torch.cat([m.to(more.dtype), more], 1))
            x = x.float()
            whole = mask * days + (1 - mask) * x
            rough = (whole[..., 1:] - whole[..., :-1]).abs().mean() + (whole[:, :, 1:] - whole[:, :, :-1]).abs().mean()
            known, hidden = ((x - days).abs() * mask).mean(), ((x - days).abs() * (1 - mask)).mean()
            return Result(known + 6 * hidden + 0.1 * rough)
    return Net(), lambda b: (torch.zeros(b, 3, 256, 256), torch.zeros(b, 3, 256, 256)), "own"


def column_physics():
    """Physics of air columns for a climate model: an LSTM reads 60 levels downwards, another one back up."""
    class Net(nn.Module):
        def __init__(self, profiles=9, scalars=17, levels=60, c=256, outputs=6, surface=8):
            super().__init__()
            self.levels, self.enter = levels, nn.Linear(profiles + 1, c)
            self.start, self.ground = nn.Linear(scalars, 2 * c), nn.Linear(c + scalars, 2 * c)
            self.down, self.up = nn.LSTM(c, c, batch_first=True), nn.LSTM(2 * c, c, batch_first=True)
            self.hidden, self.out, self.last = nn.Linear(2 * c, c), nn.Linear(c, outputs), nn.Linear(c, surface)
            self.register_buffer("weight", torch.linspace(0.2, 1.8, levels).view(1, -1, 1), persistent=False)

        def state(self, x):
            return tuple(t.unsqueeze(0).contiguous() for t in torch.tanh(x).chunk(2, -1))

        def forward(self, profile, scalar, tendency, flux):
            level = torch.linspace(0, 1, self.levels, device=profile.device).view(1, -1, 1)
            x = torch.tanh(self.enter(torch.cat([profile, level.expand(len(profile), -1, -1)], -1)))
            down, (low, _) = self.down(x, self.state(self.start(scalar)))
            ground = self.ground(torch.cat([low[0], scalar], -1))
            up, (top, _) = self.up(torch.cat([x, down], -1).flip(1), self.state(ground))
            y = F.relu(self.hidden(torch.cat([down, up.flip(1)], -1)))
            loss = F.smooth_l1_loss(self.out(y) * self.weight, tendency * self.weight)
            water = (self.out(y)[..., 1:4].sum((1, 2)) - flux[:, 0]).abs().mean()
            return Result(loss + F.smooth_l1_loss(F.relu(self.last(top[0])), flux) + 1e-3 * water)

    def inputs(b):
        return torch.zeros(b, 60, 9), torch.zeros(b, 17), torch.zeros(b, 60, 6), torch.zeros(b, 8)
    return Net(), inputs, "own"


def electron_waves():
    """Wave functions of a molecule with ten electrons: streams of one and of pairs, and sixteen determinants."""
    class Net(nn.Module):
        def __init__(self, one=256, two=32, depth=4, dets=16, up=5, down=5):
            super().__init__()
            self.up, self.total, self.dets = up, up + down, dets
            atoms = torch.tensor([[0.0, 0.0, 0.0], [1.4, 1.1, 0.0], [-1.4, 1.1, 0.0]])
            self.register_buffer("atoms", atoms, persistent=False)
            ones, twos = [12] + [one] * depth, [4] + [two] * depth
            self.single = nn.ModuleList(nn.Linear(3 * i + 2 * j, o) for i, j, o in zip(ones, twos, ones[1:]))
            self.pair = nn.ModuleList(nn.Linear(i, o) for i, o in zip(twos[:-1], twos[1:-1]))
            self.orbital = nn.ModuleList(nn.Linear(one, dets * n) for n in (up, down))
            self.decay = nn.ParameterList(nn.Parameter(torch.ones(dets, n, 3)) for n in (up, down))
            self.size = nn.ParameterList(nn.Parameter(torch.ones(dets, n, 3)) for n in (up, down))

        def log_psi(self, x):
            apart = x.unsqueeze(2) - self.atoms
            far = apart.norm(dim=-1)
            other = x.unsqueeze(2) - x.unsqueeze(1)
            eye = torch.eye(self.total, device=x.device)
            length = (other.pow(2).sum(-1) + eye).sqrt() * (1 - eye)
            h, g = torch.cat([apart, far.unsqueeze(-1)], -1).flatten(2), torch.cat([other, length.unsqueeze(-1)], -1)
            for n, f in enumerate(self.single):
                a, b = h[:, :self.up].mean(1, keepdim=True), h[:, self.up:].mean(1, keepdim=True)
                means = a.expand_as(h), b.expand_as(h), g[:, :, :self.up].mean(2), g[:, :, self.up:].mean(2)
                y = torch.tanh(f(torch.cat([h, *means], -1)))
                h = y + h if y.shape == h.shape else y
                if n < len(self.pair):
                    z = torch.tanh(self.pair[n](g))
                    g = z + g if z.shape == g.shape else z
            signs, logs = [], []
            for k, part in enumerate((slice(0, self.up), slice(self.up, self.total))):
                orbital = self.orbital[k](h[:, part]).unflatten(-1, (self.dets, -1)).permute(0, 2, 1, 3)
                near = torch.exp(-far[:, None, part, None] * self.decay[k].unsqueeze(1).abs())
                sign, log = torch.linalg.slogdet(orbital * (near * self.size[k].unsqueeze(1)).sum(-1))
                signs.append(sign)
                logs.append(log)
            log, sign = logs[0] + logs[1], signs[0] * signs[1]
            most = log.amax(1, keepdim=True)
            return ((sign * torch.exp(log - most)).sum(1).abs() + 1e-12).log() + most.squeeze(1)

        def forward(self, places, energy):
            middle = energy.mean()
            wide = (energy - middle).abs().mean()
            gain = (energy - middle).clamp(-5 * wide, 5 * wide)
            return Result(2 * (gain.detach() * self.log_psi(places)).mean())
    return Net(), lambda b: (torch.zeros(b, 10, 3), torch.zeros(b)), "own"


def lattice_flow():
    """Fields on a lattice without a Markov chain: sixteen coupling layers on a chequered board, and the action."""
    class Coupling(nn.Module):
        def __init__(self, c, size, odd):
            super().__init__()
            more = dict(padding=1, padding_mode="circular")
            self.f = nn.Sequential(nn.Conv2d(1, c, 3, **more), nn.LeakyReLU(), nn.Conv2d(c, c, 3, **more),
                                   nn.LeakyReLU(), nn.Conv2d(c, 2, 3, **more), nn.Tanh())
            board = (torch.arange(size)[:, None] + torch.arange(size) + odd) % 2
            self.register_buffer("board", board.float(), persistent=False)

        def forward(self, x):
            scale, shift = self.f((x * self.board).unsqueeze(1)).unbind(1)
            free = 1 - self.board
            return self.board * x + free * (x * torch.exp(scale) + shift), (free * scale).sum((1, 2))

    class Net(nn.Module):
        def __init__(self, size=32, c=64, depth=16, mass=-4.0, force=6.975):
            super().__init__()
            self.mass, self.force = mass, force
            self.body = nn.ModuleList(Coupling(c, size, n % 2) for n in range(depth))

        def action(self, x):
            near = sum(2 * x - torch.roll(x, 1, d) - torch.roll(x, -1, d) for d in (1, 2))
            return (x * near + self.mass * x.pow(2) + self.force * x.pow(4)).sum((1, 2))

        def forward(self, x):
            log = -0.5 * (x.pow(2) + math.log(2 * math.pi)).sum((1, 2))
            for f in self.body:
                x, more = f(x)
                log = log - more
            return Result((log + self.action(x)).mean())
    return Net(), lambda b: torch.zeros(b, 32, 32), "own"


def axial_turbulence():
    """Turbulence in a box of 64 points a side: attention along each axis in turn, from averages over the others."""
    class Axis(nn.Module):
        def __init__(self, c, heads, size, axis, points):
            super().__init__()
            self.heads, self.axis = heads, axis
            self.reduce = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, c), nn.GELU(), nn.Linear(c, c))
            self.qk, self.place = nn.Linear(c, 2 * heads * size), nn.Parameter(torch.randn(points, c) * 0.02)

        def forward(self, x):
            others = tuple(d for d in (1, 2, 3) if d != self.axis)
            q, k = self.qk(self.reduce(x.mean(others)) + self.place).chunk(2, -1)
            q, k = (F.normalize(t.unflatten(-1, (self.heads, -1)), dim=-1) for t in (q, k))
            return torch.einsum("bihc,bjhc->bhij", q, k) / 8

    class Block(nn.Module):
        def __init__(self, c, points, heads=8, size=48):
            super().__init__()
            self.norm, self.value = nn.LayerNorm(c), nn.Linear(c, heads * 16, bias=False)
            self.axes = nn.ModuleList(Axis(c, heads, size, a, points) for a in (1, 2, 3))
            self.heads, self.mid = heads, nn.InstanceNorm3d(heads * 16)
            self.out = nn.Sequential(nn.Conv3d(heads * 16, c, 1, bias=False), nn.GELU(), nn.Conv3d(c, c, 1, bias=False))
            self.f = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 2 * c), nn.GELU(), nn.Linear(2 * c, c))

        def forward(self, x):
            y = self.norm(x)
            a, b, c = (f(y) for f in self.axes)
            v = self.value(y).unflatten(-1, (self.heads, -1))
            v = torch.einsum("bhij,bjklhc->biklhc", a, v)
            v = torch.einsum("bhij,bkjlhc->bkilhc", b, v)
            v = torch.einsum("bhij,bkljhc->bklihc", c, v)
            x = x + self.out(self.mid(v.flatten(4).permute(0, 4, 1, 2, 3))).permute(0, 2, 3, 4, 1)
            return x + self.f(x)

    class Net(nn.Module):
        def __init__(self, frames=5, c=96, depth=4, points=64):
            super().__init__()
            self.points = points
            self.enter = nn.Sequential(nn.Linear(3 * frames + 3, c), nn.GELU(), nn.Linear(c, c))
            self.body = nn.Sequential(*(Block(c, points) for _ in range(depth)))
            self.leave = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, c), nn.SiLU(), nn.Linear(c, 3))

        def forward(self, past, future):
            line = torch.linspace(0, 1, self.points, device=past.device)
            grid = torch.stack(torch.meshgrid(line, line, line, indexing="ij"), -1).expand(len(past), -1, -1, -1, -1)
            y = self.leave(self.body(self.enter(torch.cat([past, grid], -1)))) + past[..., -3:]
            error = (y - future).flatten(1).norm(dim=1) / (future.flatten(1).norm(dim=1) + 1e-6)
            return Result(error.mean())
    return Net(), lambda b: (torch.zeros(b, 64, 64, 64, 15), torch.zeros(b, 64, 64, 64, 3)), "own"


NETWORKS = {f.__name__: f for f in (tensor_atoms, contact_maps, light_curves, ocean_gaps, column_physics,
                                    electron_waves, lattice_flow, axial_turbulence)}
STEPS = {"tensor_atoms": ("fp32", 8, "nchw", "adam"), "contact_maps": ("amp-fp16", 4, "nchw", "adam"),
         "light_curves": ("tf32", 256, "nchw", "adam"), "ocean_gaps": ("amp-fp16", 16, "nhwc", "adam"),
         "column_physics": ("tf32", 1024, "nchw", "adam"), "electron_waves": ("fp32", 1024, "nchw", "adam"),
         "lattice_flow": ("fp32", 512, "nchw", "adam"), "axial_turbulence": ("tf32", 2, "nchw", "adamw")}
