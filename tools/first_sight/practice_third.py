# SPDX-License-Identifier: Apache-2.0
"""practice_third.py - networks for practice: equations, molecules, tracks, genomes. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result, words


def heated_blocks():
    """Heat in solid blocks: low waves in three dimensions are mixed by complex weights, beside pointwise layers."""
    class Waves(nn.Module):
        def __init__(self, c, modes=(8, 8, 6)):
            super().__init__()
            self.modes = modes
            self.weight = nn.Parameter(torch.randn(4, c, c, *modes, dtype=torch.cfloat) / c ** 2)

        def forward(self, x):
            a, b, c = self.modes
            y = torch.fft.rfftn(x, dim=(2, 3, 4), norm="ortho")
            z = torch.zeros_like(y)
            for n, (s, t) in enumerate(((slice(0, a), slice(0, b)), (slice(-a, None), slice(0, b)), (slice(0, a), slice(-b, None)),
                                        (slice(-a, None), slice(-b, None)))):
                z[:, :, s, t, :c] = torch.einsum("bixyz,ioxyz->boxyz", y[:, :, s, t, :c], self.weight[n])
            return torch.fft.irfftn(z, s=x.shape[2:], dim=(2, 3, 4), norm="ortho")

    class Unit(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.w, self.a, self.norm = Waves(c), nn.Conv3d(c, c, 1), nn.InstanceNorm3d(c, affine=True)
            self.f = nn.Sequential(nn.Conv3d(c, 2 * c, 1), nn.GELU(), nn.Conv3d(2 * c, c, 1))

        def forward(self, x):
            return x + self.f(F.gelu(self.norm(self.w(x)) + self.a(x)))

    class Net(nn.Module):
        def __init__(self, c=24, depth=4):
            super().__init__()
            self.first = nn.Conv3d(5, c, 1)
            self.body = nn.Sequential(*(Unit(c) for _ in range(depth)))
            self.out = nn.Sequential(nn.Conv3d(c, 96, 1), nn.GELU(), nn.Conv3d(96, 1, 1))

        def forward(self, x, true):
            y = self.out(self.body(self.first(x)))
            return Result(((y - true).flatten(1).norm(dim=1) / (true.flatten(1).norm(dim=1) + 1e-6)).mean())
    return Net(), lambda b: (torch.zeros(b, 5, 48, 48, 40), torch.zeros(b, 1, 48, 48, 40)), "own"


def diffused_traces():
    """Seismic traces from noise: a 1-D U-Net whose group norms are scaled by the time of the noise."""
    class Unit(nn.Module):
        def __init__(self, i, o, time=256):
            super().__init__()
            self.n1, self.a = nn.GroupNorm(8, i), nn.Conv1d(i, o, 5, padding=2)
            self.n2, self.b = nn.GroupNorm(8, o, affine=False), nn.Conv1d(o, o, 5, padding=2)
            self.t = nn.Sequential(nn.SiLU(), nn.Linear(time, 2 * o))
            self.skip = nn.Conv1d(i, o, 1) if i != o else nn.Identity()

        def forward(self, x, t):
            y = self.a(F.silu(self.n1(x)))
            scale, shift = self.t(t).unsqueeze(-1).chunk(2, 1)
            y = self.n2(y) * (1 + scale) + shift
            return self.skip(x) + self.b(F.dropout(F.silu(y), 0.1, self.training))

    class Look(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.n, self.qkv, self.o = nn.GroupNorm(1, c), nn.Conv1d(c, 3 * c, 1, bias=False), nn.Conv1d(c, c, 1)

        def forward(self, x):
            q, k, v = self.qkv(self.n(x)).unflatten(1, (3, 4, -1)).unbind(1)
            context = torch.einsum("bhdn,bhen->bhde", k.softmax(-1), v)
            y = torch.einsum("bhde,bhdn->bhen", context, q.softmax(-2) * q.shape[2] ** -0.5)
            return x + self.o(y.flatten(1, 2))

    class Net(nn.Module):
        def __init__(self, wide=(64, 128, 256, 256), time=256):
            super().__init__()
            self.time = nn.Sequential(nn.Linear(64, time), nn.SiLU(), nn.Linear(time, time))
            self.register_buffer("speeds", torch.exp(-math.log(10000) * torch.arange(32) / 31), persistent=False)
            self.first, self.last = nn.Conv1d(3, wide[0], 7, padding=3), nn.Conv1d(wide[0], 3, 1)
            self.down, self.look, self.small = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
            self.up, self.big = nn.ModuleList(), nn.ModuleList()
            for i, o in zip((wide[0], *wide), wide):
                self.down.append(Unit(i, o))
                self.look.append(Look(o))
                self.small.append(nn.Conv1d(o, o, 4, 4, 0))
                self.up.insert(0, Unit(2 * o, i))
                self.big.insert(0, nn.ConvTranspose1d(o, o, 8, 4, 2))
            self.mid = nn.ModuleList([Unit(wide[-1], wide[-1]), Unit(wide[-1], wide[-1])])

        def forward(self, trace, noise, when):
            when = torch.sigmoid(when)
            angle = 1000 * when.unsqueeze(1) * self.speeds
            t = self.time(torch.cat([angle.sin(), angle.cos()], -1))
            keep = torch.cos(when * math.pi / 2)[:, None, None]
            x = self.first(keep * trace + (1 - keep ** 2).sqrt() * noise)
            kept = []
            for f, g, h in zip(self.down, self.look, self.small):
                x = g(f(x, t))
                kept.append(x)
                x = h(x)
            for f in self.mid:
                x = f(x, t)
            for f, g in zip(self.up, self.big):
                x = f(torch.cat([g(x), kept.pop()], 1), t)
            return Result(F.smooth_l1_loss(self.last(x).float(), noise))
    return Net(), lambda b: (torch.zeros(b, 3, 6144), torch.zeros(b, 3, 6144), torch.zeros(b)), "own"


def bent_plate():
    """A plate under load, learned from its equation: second derivatives by gradients of gradients, gated dense layers."""
    class Net(nn.Module):
        def __init__(self, c=256, depth=5):
            super().__init__()
            self.register_buffer("waves", torch.randn(3, c // 2) * 2, persistent=False)
            self.u, self.v, self.first = nn.Linear(c, c), nn.Linear(c, c), nn.Linear(c, c)
            self.body, self.out = nn.ModuleList(nn.Linear(c, c) for _ in range(depth)), nn.Linear(c, 2)
            self.share = nn.Parameter(torch.zeros(depth))

        def field(self, x):
            y = 2 * math.pi * x @ self.waves
            y = torch.cat([y.sin(), y.cos()], -1)
            u, v, h = torch.tanh(self.u(y)), torch.tanh(self.v(y)), torch.tanh(self.first(y))
            for n, f in enumerate(self.body):
                gate = torch.tanh(f(h))
                h = (1 - self.share[n]) * h + self.share[n] * ((1 - gate) * u + gate * v)
            return self.out(h)

        def forward(self, inside, edge, load):
            x = inside.detach().requires_grad_(True)
            w, m = self.field(x).unbind(-1)

            def laplace(f):
                g = torch.autograd.grad(f.sum(), x, create_graph=True)[0]
                twice = [torch.autograd.grad(g[..., k].sum(), x, create_graph=True)[0][..., k] for k in range(2)]
                return g[..., 2], twice[0] + twice[1]
            speed, bend = laplace(w)
            _, turn = laplace(m)
            left = (bend - m).pow(2).mean() + (turn + 0.1 * speed - load).pow(2).mean()
            return Result(left + 100 * self.field(edge).pow(2).mean())

    def inputs(b):
        return torch.zeros(b, 512, 3), torch.zeros(b, 64, 3), torch.zeros(b, 512)
    return Net(), inputs, "own"


def energy_paths():
    """Eight bodies by an energy that a network gives: its gradients move them by ten leapfrog steps."""
    class Net(nn.Module):
        def __init__(self, bodies=8, c=128, steps=10):
            super().__init__()
            self.steps = steps
            self.pair = nn.Sequential(nn.Linear(4, c), nn.Softplus(), nn.Linear(c, c), nn.Softplus(), nn.Linear(c, 1))
            self.mass = nn.Parameter(torch.zeros(bodies))
            i, j = torch.triu_indices(bodies, bodies, 1)
            self.register_buffer("i", i, persistent=False)
            self.register_buffer("j", j, persistent=False)

        def force(self, q):
            apart = q.index_select(1, self.i) - q.index_select(1, self.j)
            far = (apart.pow(2).sum(-1, keepdim=True) + 0.01).sqrt()
            energy = self.pair(torch.cat([apart, far], -1)).sum()
            return -torch.autograd.grad(energy, q, create_graph=True)[0]

        def forward(self, place, speed, later):
            mass = self.mass.exp().unsqueeze(-1)
            q, p, step = place.detach().requires_grad_(True), speed * mass, 0.05
            loss, force = 0, self.force(q)
            for t in range(self.steps):
                p = p + 0.5 * step * force
                q = q + step * p / mass
                force = self.force(q)
                p = p + 0.5 * step * force
                loss = loss + (q - later[:, t]).pow(2).mean()
            return Result(loss / self.steps)
    return Net(), lambda b: (torch.zeros(b, 8, 3), torch.zeros(b, 8, 3), torch.zeros(b, 10, 8, 3)), "own"


def vector_atoms():
    """Dipoles of molecules: numbers and vectors on atoms exchange messages along edges, added by index."""
    class Message(nn.Module):
        def __init__(self, c, waves):
            super().__init__()
            self.c = c
            self.phi = nn.Sequential(nn.Linear(c, c), nn.SiLU(), nn.Linear(c, 3 * c))
            self.w = nn.Linear(waves, 3 * c)

        def forward(self, s, v, i, j, wave, way, cut):
            x = self.phi(s)[j] * self.w(wave) * cut
            a, b, d = x.split(self.c, -1)
            s = s + torch.zeros_like(s).index_add_(0, i, a)
            more = v[j] * b.unsqueeze(1) + d.unsqueeze(1) * way.unsqueeze(-1)
            return s, v + torch.zeros_like(v).index_add_(0, i, more)

    class Update(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.u, self.v = nn.Linear(c, c, bias=False), nn.Linear(c, c, bias=False)
            self.f = nn.Sequential(nn.Linear(2 * c, c), nn.SiLU(), nn.Linear(c, 3 * c))

        def forward(self, s, v):
            a, b = self.u(v), self.v(v)
            x, y, z = self.f(torch.cat([s, (b.pow(2).sum(1) + 1e-8).sqrt()], -1)).chunk(3, -1)
            return s + x + y * (a * b).sum(1), v + z.unsqueeze(1) * a

    class Net(nn.Module):
        def __init__(self, c=128, waves=20, depth=4, reach=5.0):
            super().__init__()
            self.kind, self.reach = nn.Embedding(100, c), reach
            self.message, self.update = (nn.ModuleList(m) for m in zip(*((Message(c, waves), Update(c)) for _ in range(depth))))
            self.out, self.charge = nn.Linear(c, 1, bias=False), nn.Sequential(nn.Linear(c, c // 2), nn.SiLU(), nn.Linear(c // 2, 1))
            self.register_buffer("n", torch.arange(1, waves + 1) * math.pi / reach, persistent=False)

        def forward(self, place, kind, first, second, dipole):
            b, n, _ = place.shape
            flat = place.flatten(0, 1)
            shift = n * torch.arange(b, device=place.device).unsqueeze(1)
            i, j = ((e % n + shift).flatten() for e in (first, second))
            apart = flat[i] - flat[j]
            far = (apart.pow(2).sum(-1, keepdim=True) + 1e-6).sqrt()
            wave, way = torch.sin(far * self.n) / far, apart / far
            cut = 0.5 * (torch.cos(math.pi * far / self.reach) + 1) * (far < self.reach)
            s = self.kind(kind).flatten(0, 1)
            v = torch.zeros(len(s), 3, s.shape[-1], device=s.device, dtype=s.dtype)
            for f, g in zip(self.message, self.update):
                s, v = g(*f(s, v, i, j, wave, way, cut))
            found = self.charge(s) * flat + self.out(v).squeeze(-1)
            return Result(F.l1_loss(found.view(b, n, 3).sum(1).norm(dim=-1), dipole))

    def inputs(b):
        return torch.zeros(b, 21, 3), words(b, 21), words(b, 300), words(b, 300), torch.zeros(b)
    return Net(), inputs, "own"


def bought_together():
    """Fraud among accounts: edges are weighted by a softmax per account, with maxima and sums by scatter."""
    class Layer(nn.Module):
        def __init__(self, i, c, edge, heads=4):
            super().__init__()
            self.heads = heads
            self.l, self.r, self.e = nn.Linear(i, c), nn.Linear(i, c), nn.Linear(edge, c, bias=False)
            self.a, self.norm = nn.Parameter(torch.randn(heads, c // heads) * 0.1), nn.BatchNorm1d(c)
            self.skip = nn.Linear(i, c)

        def forward(self, x, i, j, edge):
            l, r, e = (t.unflatten(-1, (self.heads, -1)) for t in (self.l(x), self.r(x), self.e(edge)))
            from_, to = l[j], r[i]
            score = (F.leaky_relu(from_ + to + e, 0.2) * self.a).sum(-1)
            spread = i.unsqueeze(-1).expand_as(score)
            top = torch.full((len(x), self.heads), -1e30, device=x.device, dtype=score.dtype).scatter_reduce(0, spread, score.detach(), "amax")
            weight = (score - top.gather(0, spread)).exp()
            total = torch.zeros_like(top).scatter_add(0, spread, weight)
            weight = F.dropout(weight / (total.gather(0, spread) + 1e-16), 0.1, self.training)
            made = (from_ * weight.unsqueeze(-1)).flatten(1)
            y = torch.zeros(len(x), made.shape[1], device=x.device, dtype=made.dtype).scatter_add(0, i.unsqueeze(-1).expand_as(made), made)
            return F.elu(self.norm(y + self.skip(x)))

    class Net(nn.Module):
        def __init__(self, seen=165, c=192, edge=11):
            super().__init__()
            self.layers = nn.ModuleList(Layer(i, c, edge) for i in (seen, c, c))
            self.out = nn.Sequential(nn.Linear(c + seen, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 1))

        def forward(self, nodes, first, second, edge, fraud):
            x, i, j, edge = nodes.flatten(0, 1), first.flatten(), second.flatten(), edge.flatten(0, 1)
            y = x
            for f in self.layers:
                y = f(y, i, j, edge)
            score = self.out(torch.cat([x, y], 1)).squeeze(-1).float()
            weight = torch.tensor([9.0], device=x.device)
            return Result(F.binary_cross_entropy_with_logits(score, (fraud.flatten() > 1.3).float(), pos_weight=weight))

    def inputs(b):
        return torch.zeros(b, 1000, 165), words(b, 6000), words(b, 6000), torch.zeros(b, 6000, 11), torch.zeros(b, 1000)
    return Net(), inputs, "own"


def filtered_tracks():
    """Ships from radar: a network gives the noise at each time, and a Kalman filter of six states runs through 60 times."""
    class Net(nn.Module):
        def __init__(self, states=6, seen=3, c=128):
            super().__init__()
            self.states, self.seen = states, seen
            self.read = nn.GRU(seen, c, batch_first=True)
            self.q, self.r = nn.Linear(c, states), nn.Linear(c, seen * (seen + 1) // 2)
            self.f = nn.Parameter(torch.eye(states) + 0.1 * torch.eye(states).roll(3, 1))
            self.h = nn.Parameter(torch.eye(seen, states))
            self.register_buffer("rows", torch.tril_indices(seen, seen), persistent=False)

        def forward(self, radar):
            b, n, k = radar.shape
            hidden = self.read(radar)[0]
            q = torch.diag_embed(F.softplus(self.q(hidden)) + 1e-3)
            low = torch.zeros(b, n, k, k, device=radar.device)
            low[..., self.rows[0], self.rows[1]] = 0.1 * self.r(hidden)
            r = low @ low.transpose(-1, -2) + 0.1 * torch.eye(k, device=radar.device)
            x = torch.zeros(b, self.states, 1, device=radar.device)
            p = torch.eye(self.states, device=radar.device).expand(b, -1, -1)
            one, loss = torch.eye(self.states, device=radar.device), 0
            for t in range(n):
                x, p = self.f @ x, self.f @ p @ self.f.t() + q[:, t]
                s = self.h @ p @ self.h.t() + r[:, t]
                root = torch.linalg.cholesky(s)
                gain = torch.cholesky_solve(self.h @ p, root).transpose(1, 2)
                off = radar[:, t].unsqueeze(-1) - self.h @ x
                white = torch.linalg.solve_triangular(root, off, upper=False)
                loss = loss + 0.5 * white.pow(2).sum((1, 2)).mean() + root.diagonal(dim1=1, dim2=2).log().sum(1).mean()
                x = x + gain @ off
                left = one - gain @ self.h
                p = left @ p @ left.transpose(1, 2) + gain @ r[:, t] @ gain.transpose(1, 2)
            return Result(loss / n)
    return Net(), lambda b: torch.zeros(b, 60, 3), "own"


def open_chromatin():
    """Reads along 65536 letters of a genome: pooled convolutions, filters spread ever wider, and a Poisson loss."""
    class Near(nn.Sequential):
        def __init__(self, i, o, size, pool):
            super().__init__(nn.GELU(), nn.Conv1d(i, o, size, padding=size // 2, bias=False), nn.BatchNorm1d(o, momentum=0.1),
                             nn.MaxPool1d(pool) if pool > 1 else nn.Identity())

    class Wide(nn.Module):
        def __init__(self, c, m, dilation):
            super().__init__()
            self.f = nn.Sequential(nn.GELU(), nn.Conv1d(c, m, 3, padding=dilation, dilation=dilation, bias=False), nn.BatchNorm1d(m), nn.GELU(),
                                   nn.Conv1d(m, c, 1, bias=False), nn.BatchNorm1d(c), nn.Dropout(0.3))

        def forward(self, x):
            return x + self.f(x)

    class Net(nn.Module):
        def __init__(self, c=384, tracks=164):
            super().__init__()
            self.first = nn.Sequential(nn.Conv1d(4, 192, 15, padding=7, bias=False), nn.BatchNorm1d(192), nn.MaxPool1d(2))
            sizes = (192, 192, 224, 256, 320, 352, c)
            self.near = nn.Sequential(*(Near(i, o, 5, 2) for i, o in zip(sizes, sizes[1:])))
            self.wide = nn.Sequential(*(Wide(c, c // 2, round(1.5 ** n)) for n in range(11)))
            self.out = nn.Sequential(nn.GELU(), nn.Conv1d(c, 768, 1), nn.Dropout(0.05), nn.GELU(), nn.Conv1d(768, tracks, 1), nn.Softplus())

        def forward(self, letters, reads):
            y = self.out(self.wide(self.near(self.first(letters)))).float()[..., 32:-32]
            return Result(F.poisson_nll_loss(y, reads.abs(), log_input=False))
    return Net(), lambda b: (torch.zeros(b, 4, 65536), torch.zeros(b, 164, 448)), "own"


def matrix_chain():
    """Digits by a chain of matrices: pixels choose a matrix at each of 196 places, and products are halved pairwise."""
    class Net(nn.Module):
        def __init__(self, places=196, bond=24, kinds=10, seen=2):
            super().__init__()
            self.core = nn.Parameter(torch.eye(bond)[None, :, None].repeat(places, 1, seen, 1) / seen
                                     + 1e-2 * torch.randn(places, bond, seen, bond))
            self.label = nn.Parameter(torch.randn(bond, kinds, bond) / bond)
            self.left, self.right = nn.Parameter(torch.randn(bond)), nn.Parameter(torch.randn(bond))

        def product(self, x):
            while x.shape[1] > 1:
                odd = x[:, -1:] if x.shape[1] % 2 else None
                n = x.shape[1] // 2 * 2
                x = torch.einsum("bnij,bnjk->bnik", x[:, 0:n:2], x[:, 1:n:2])
                x = x / (x.abs().amax((2, 3), keepdim=True).detach() + 1e-6)
                x = x if odd is None else torch.cat([x, odd], 1)
            return x[:, 0]

        def forward(self, picture):
            p = F.avg_pool2d(picture, 2).flatten(1)
            x = torch.stack([torch.cos(math.pi / 2 * p), torch.sin(math.pi / 2 * p)], -1)
            m = torch.einsum("bns,nisj->bnij", x, self.core)
            n = m.shape[1] // 2
            a = torch.einsum("i,bij->bj", self.left, self.product(m[:, :n]))
            c = torch.einsum("bij,j->bi", self.product(m[:, n:]), self.right)
            return torch.einsum("bi,iok,bk->bo", a, self.label, c)
    return Net(), lambda b: torch.zeros(b, 1, 28, 28), "cross-entropy"


def complex_echoes():
    """Radar echoes as complex numbers: complex convolutions, a Fourier transform between them, magnitudes at the end."""
    class Conv(nn.Module):
        def __init__(self, i, o, size, stride=1):
            super().__init__()
            self.a, self.b = (nn.Conv2d(i, o, size, stride, size // 2, bias=False) for _ in range(2))

        def forward(self, x):
            return torch.complex(self.a(x.real) - self.b(x.imag), self.a(x.imag) + self.b(x.real))

    class Norm(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = nn.BatchNorm2d(c), nn.BatchNorm2d(c)

        def forward(self, x):
            return torch.complex(F.relu(self.a(x.real)), F.relu(self.b(x.imag)))

    class Mix(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.w = nn.Parameter(torch.randn(n, n, dtype=torch.cfloat) / n)

        def forward(self, x):
            return x + torch.fft.ifft(torch.matmul(torch.fft.fft(x, dim=-1), self.w), dim=-1)

    class Net(nn.Module):
        def __init__(self, antennas=8, kinds=11):
            super().__init__()
            self.body = nn.Sequential(Conv(antennas, 32, 5), Norm(32), Mix(96), Conv(32, 48, 3, 2), Norm(48), Mix(48), Conv(48, 96, 3), Norm(96),
                                      Conv(96, 96, 3, 2), Norm(96), Mix(24))
            self.out = nn.Sequential(nn.Linear(96 * 2, 128), nn.BatchNorm1d(128), nn.Mish(), nn.Linear(128, kinds))
            self.taper = nn.Parameter(torch.ones(96))

        def forward(self, echo):
            x = torch.complex(echo[:, 0], echo[:, 1]) * self.taper
            x = torch.fft.fftshift(torch.fft.fft2(x, norm="ortho"), dim=(-2, -1))
            x = self.body(x)
            size = x.abs()
            return self.out(torch.cat([size.mean((2, 3)), torch.log1p(size.amax((2, 3)))], 1))
    return Net(), lambda b: torch.zeros(b, 2, 8, 96, 96), "cross-entropy"


def deep_kernel():
    """Ozone at stations by a process with a learned kernel: features, distances, a root of the matrix, and its likelihood."""
    class Net(nn.Module):
        def __init__(self, seen=31, c=256, out=8):
            super().__init__()
            sizes = (seen, c, c, 64)
            self.f = nn.Sequential(*(m for i, o in zip(sizes, sizes[1:]) for m in (nn.Linear(i, o), nn.BatchNorm1d(o), nn.Tanh())),
                                   nn.Linear(64, out))
            self.reach, self.height, self.noise = nn.Parameter(torch.zeros(out)), nn.Parameter(torch.zeros(3)), nn.Parameter(torch.tensor(0.0))

        def kernel(self, a, b):
            far = torch.cdist(a * self.reach.exp(), b * self.reach.exp(), compute_mode="use_mm_for_euclid_dist")
            smooth = math.sqrt(5) * far
            h = F.softplus(self.height)
            return (h[0] * (1 + smooth + smooth.pow(2) / 3) * torch.exp(-smooth) + h[1] * torch.exp(-0.5 * far.pow(2))
                    + h[2] / (1 + far.pow(2)))

        def forward(self, days, ozone):
            b, n, _ = days.shape
            x = self.f(days.flatten(0, 1)).view(b, n, -1)
            k = self.kernel(x, x) + (F.softplus(self.noise) + 0.1) * torch.eye(n, device=x.device)
            root = torch.linalg.cholesky(k)
            y = (ozone - ozone.mean(1, keepdim=True)).unsqueeze(-1)
            half = torch.linalg.solve_triangular(root, y, upper=False)
            fit = 0.5 * half.pow(2).sum((1, 2)) + root.diagonal(dim1=1, dim2=2).log().sum(1)
            return Result(fit.mean() / n)
    return Net(), lambda b: (torch.zeros(b, 365, 31), torch.zeros(b, 365)), "own"


NETWORKS = {f.__name__: f for f in (heated_blocks, diffused_traces, bent_plate, energy_paths, vector_atoms, bought_together,
                                    filtered_tracks, open_chromatin, matrix_chain, complex_echoes, deep_kernel)}
STEPS = {"heated_blocks": ("fp32", 4, "nchw", "adam"), "diffused_traces": ("amp-bf16", 32, "nchw", "adamw"),
         "bent_plate": ("fp32", 32, "nchw", "adam"), "energy_paths": ("fp32", 1024, "nchw", "adam"),
         "vector_atoms": ("tf32", 100, "nchw", "adamw"), "bought_together": ("fp32", 32, "nchw", "adam"),
         "filtered_tracks": ("fp32", 512, "nchw", "adam"), "open_chromatin": ("amp-fp16", 4, "nchw", "momentum"),
         "matrix_chain": ("tf32", 256, "nchw", "adam"), "complex_echoes": ("fp32", 32, "nchw", "adam"),
         "deep_kernel": ("fp32", 32, "nchw", "adam")}
