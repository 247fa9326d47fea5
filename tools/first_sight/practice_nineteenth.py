# SPDX-License-Identifier: Apache-2.0
"""practice_nineteenth.py - networks for practice, the nineteenth set: physics, flows and uncertainty. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result, words


def dense(*widths, act=nn.Tanh):
    """Dense layers with an activation between them."""
    layers = [m for a, b in zip(widths, widths[1:]) for m in (nn.Linear(a, b), act())]
    return nn.Sequential(*layers[:-1])


def slope(y, x):
    """The derivative of the sum of y by x, for further derivatives."""
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]


def lid_and_cavity():
    """Flow in a cavity without data: waves of places, gated dense layers, second derivatives, weights that adapt."""
    class Net(nn.Module):
        def __init__(self, c=128, depth=5, viscosity=0.01):
            super().__init__()
            self.viscosity = viscosity
            self.register_buffer("wave", torch.randn(2, c // 2) * 2)
            self.u, self.v, self.out = nn.Linear(c, c), nn.Linear(c, c), nn.Linear(c, 3)
            self.body, self.mix = nn.ModuleList(nn.Linear(c, c) for _ in range(depth)), nn.Parameter(torch.zeros(depth))
            self.weight = nn.Parameter(torch.zeros(4))

        def field(self, p):
            p = 2 * math.pi * p @ self.wave
            x = torch.cat([p.sin(), p.cos()], -1)
            u, v = torch.tanh(self.u(x)), torch.tanh(self.v(x))
            for f, mix in zip(self.body, self.mix):
                y = torch.tanh(f(x))
                x = torch.lerp(y * u + (1 - y) * v, x, torch.sigmoid(mix))
            return self.out(x)

        def forward(self, inside, edge, wanted):
            place = torch.sigmoid(inside).flatten(0, 1).requires_grad_(True)
            u, v, p = self.field(place).unbind(-1)
            du, dv, dp = slope(u, place), slope(v, place), slope(p, place)
            second = [slope(d[:, i], place)[:, i] for d in (du, dv) for i in range(2)]
            first = u * du[:, 0] + v * du[:, 1] + dp[:, 0] - self.viscosity * (second[0] + second[1])
            other = u * dv[:, 0] + v * dv[:, 1] + dp[:, 1] - self.viscosity * (second[2] + second[3])
            kept = du[:, 0] + dv[:, 1]
            rim = self.field(torch.sigmoid(edge).flatten(0, 1))[:, :2] - wanted.flatten(0, 1)
            losses = torch.stack([first.square().mean(), other.square().mean(), kept.square().mean(), rim.square().mean()])
            return Result((losses * torch.exp(-self.weight)).sum() + self.weight.sum())
    return Net(), lambda b: (torch.zeros(b, 1024, 2), torch.zeros(b, 256, 2), torch.zeros(b, 256, 2)), "own"


def branches_and_trunk():
    """Heat in parts of any source: a convolutional branch, a trunk of periodic layers, and products of both."""
    class Sine(nn.Module):
        def __init__(self, a, b, rate=30.0):
            super().__init__()
            self.f, self.rate = nn.Linear(a, b), rate

        def forward(self, x):
            return torch.sin(self.rate * self.f(x))

    class Net(nn.Module):
        def __init__(self, modes=128, fields=3):
            super().__init__()
            self.fields = fields
            self.branch = nn.Sequential(nn.Conv2d(1, 32, 5, 2), nn.ReLU(), nn.Conv2d(32, 64, 5, 2), nn.ReLU(), nn.Conv2d(64, 128, 5, 2),
                                        nn.ReLU(), nn.Flatten(), nn.Linear(128 * 25, 512), nn.ReLU(), nn.Linear(512, fields * modes))
            self.trunk = nn.Sequential(Sine(3, 256), Sine(256, 256), Sine(256, 256), nn.Linear(256, fields * modes))
            self.bias = nn.Parameter(torch.zeros(fields))

        def forward(self, source, place, heat):
            b = self.branch(source).unflatten(1, (self.fields, -1))
            t = self.trunk(place).unflatten(-1, (self.fields, -1))
            y = torch.einsum("bfm,bpfm->bpf", b, t) + self.bias
            q, _ = torch.linalg.qr(t[0, :, 0, :32])
            free = (q.mT @ t[0, :, 1, :32]).square().mean()
            error = torch.linalg.vector_norm(y - heat, dim=1) / torch.linalg.vector_norm(heat, dim=1).clamp(min=1e-6)
            return Result(error.mean() + 1e-3 * free)
    return Net(), lambda b: (torch.zeros(b, 1, 64, 64), torch.zeros(b, 2048, 3), torch.zeros(b, 2048, 3)), "own"


def learned_lagrangian():
    """Robot arms: a network is the Lagrangian, its second derivatives give the mass matrix, and a solve the motion."""
    class Net(nn.Module):
        def __init__(self, joints=4, c=128):
            super().__init__()
            self.joints = joints
            self.f = dense(3 * joints, c, c, c, 1, act=nn.Softplus)
            self.lower = dense(2 * joints, c, c, joints * (joints + 1) // 2, act=nn.Softplus)
            self.drag = nn.Parameter(torch.zeros(joints))
            self.register_buffer("index", torch.tril_indices(joints, joints))

        def energy(self, q, v):
            turn = torch.cat([q.cos(), q.sin()], -1)
            low = torch.zeros(*q.shape, self.joints, device=q.device).index_put((torch.arange(len(q), device=q.device).unsqueeze(1),
                                                                                self.index[0], self.index[1]), self.lower(turn))
            speed = torch.einsum("bij,bi->bj", low, v)
            return 0.5 * speed.square().sum(-1) + 0.01 * v.square().sum(-1) + self.f(torch.cat([turn, v], -1)).squeeze(-1)

        def pull(self, q, v):
            value = self.energy(q, v)
            by_q, by_v = torch.autograd.grad(value.sum(), (q, v), create_graph=True)
            mass, cross = [], []
            for n in range(self.joints):
                a, b = torch.autograd.grad(by_v[:, n].sum(), (v, q), create_graph=True)
                mass.append(a)
                cross.append(b)
            mass, cross = torch.stack(mass, 1), torch.stack(cross, 1)
            mass = mass + 0.1 * torch.eye(self.joints, device=q.device)
            force = by_q - torch.einsum("bij,bj->bi", cross, v) - F.softplus(self.drag) * v
            return torch.linalg.solve(mass, force.unsqueeze(-1)).squeeze(-1)

        def forward(self, angle, speed, later):
            q, v = angle.flatten(0, 1).requires_grad_(True), speed.flatten(0, 1).requires_grad_(True)
            a = self.pull(q, v)
            half = self.pull(q + 0.005 * v, v + 0.005 * a)
            return Result(F.smooth_l1_loss(v + 0.01 * half, later.flatten(0, 1)))
    return Net(), lambda b: (torch.zeros(b, 256, 4), torch.zeros(b, 256, 4), torch.zeros(b, 256, 4)), "own"


def continuous_flow():
    """Density of a table by a flow in time: steps of Runge and Kutta, and the trace of the slope by random vectors."""
    class Layer(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.f, self.gate, self.bias = nn.Linear(a, b), nn.Linear(1, b), nn.Linear(1, b, bias=False)

        def forward(self, t, x):
            return self.f(x) * torch.sigmoid(self.gate(t)) + self.bias(t)

    class Net(nn.Module):
        def __init__(self, features=43, c=256, steps=6):
            super().__init__()
            self.steps, self.body = steps, nn.ModuleList([Layer(features, c), Layer(c, c), Layer(c, features)])
            self.norm = nn.BatchNorm1d(features, affine=False)

        def rate(self, t, x, noise):
            y = x
            for n, f in enumerate(self.body):
                y = f(t, F.softplus(y) if n else y)
            back, = torch.autograd.grad(y, x, noise, create_graph=True)
            return y, (back * noise).sum(-1), y.square().mean() + back.square().mean()

        def forward(self, table):
            x, noise = self.norm(table).requires_grad_(True), torch.randint_like(table, 2) * 2 - 1
            change, extra, h = 0, 0, 1 / self.steps
            for n in range(self.steps):
                at = [torch.full((1, 1), (n + s) * h, device=x.device) for s in (0.0, 0.5, 1.0)]
                k1, d1, e = self.rate(at[0], x, noise)
                k2, d2, _ = self.rate(at[1], x + 0.5 * h * k1, noise)
                k3, d3, _ = self.rate(at[1], x + 0.5 * h * k2, noise)
                k4, d4, _ = self.rate(at[2], x + h * k3, noise)
                x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
                change, extra = change + h / 6 * (d1 + 2 * d2 + 2 * d3 + d4), extra + h * e
            likely = -0.5 * x.square().sum(-1) - 0.5 * x.shape[1] * math.log(2 * math.pi) + change
            return Result(-likely.mean() + 0.01 * extra)
    return Net(), lambda b: torch.zeros(b, 43), "own"


def factored_faces():
    """Faces by a flow that runs both ways: normed channels, mixing by triangular factors, halves that scale halves."""
    class Step(nn.Module):
        def __init__(self, c, inner):
            super().__init__()
            p, low, up = torch.linalg.lu(torch.linalg.qr(torch.randn(c, c))[0])
            self.shift, self.scale = nn.Parameter(torch.zeros(1, c, 1, 1)), nn.Parameter(torch.zeros(1, c, 1, 1))
            self.register_buffer("p", p)
            self.register_buffer("sign", up.diagonal().sign())
            self.low, self.up, self.size = nn.Parameter(low), nn.Parameter(up), nn.Parameter(up.diagonal().abs().log())
            self.f = nn.Sequential(nn.Conv2d(c // 2, inner, 3, padding=1), nn.ReLU(), nn.Conv2d(inner, inner, 1), nn.ReLU(),
                                   nn.Conv2d(inner, c, 3, padding=1))

        def forward(self, x):
            n, c = x.shape[2] * x.shape[3], x.shape[1]
            x = (x + self.shift) * torch.exp(self.scale)
            low = self.low.tril(-1) + torch.eye(c, device=x.device)
            w = self.p @ low @ (self.up.triu(1) + torch.diag(self.sign * torch.exp(self.size)))
            a, b = F.conv2d(x, w.view(c, c, 1, 1)).chunk(2, 1)
            s, t = self.f(a).chunk(2, 1)
            s = F.logsigmoid(s + 2)
            x = torch.cat([a, (b + t) * torch.exp(s)], 1)
            return x, n * (self.scale.sum() + self.size.sum()) + s.float().sum((1, 2, 3))

    class Net(nn.Module):
        def __init__(self, levels=3, depth=6, inner=160):
            super().__init__()
            self.body, c = nn.ModuleList(), 3
            self.tops = nn.ModuleList()
            for n in range(levels):
                self.body.append(nn.ModuleList(Step(4 * c, inner) for _ in range(depth)))
                c = 2 * c if n < levels - 1 else 4 * c
                self.tops.append(nn.Conv2d(c, 2 * c, 3, padding=1))

        def forward(self, picture):
            x, total = picture + torch.rand_like(picture) / 32, 0
            for n, (steps, top) in enumerate(zip(self.body, self.tops)):
                x = F.pixel_unshuffle(x, 2)
                for f in steps:
                    x, more = f(x)
                    total = total + more
                if n < len(self.body) - 1:
                    x, z = x.chunk(2, 1)
                    mean, size = top(x).chunk(2, 1)
                else:
                    z = x
                    mean, size = top(torch.zeros_like(x)).chunk(2, 1)
                likely = -0.5 * (math.log(2 * math.pi) + 2 * size + (z - mean).square() * torch.exp(-2 * size))
                total = total + likely.float().sum((1, 2, 3))
            return Result(-total.mean() / (picture[0].numel() * math.log(2)))
    return Net(), lambda b: torch.zeros(b, 3, 32, 32), "own"


def turning_memory():
    """Copied letters after a long wait: a recurrent state turned by the exponential of a skew matrix, 120 times."""
    class Net(nn.Module):
        def __init__(self, letters=70, c=190):
            super().__init__()
            self.word, self.enter = nn.Embedding(letters, c), nn.Linear(c, c, bias=False)
            self.skew, self.bias = nn.Parameter(torch.randn(c, c) * 0.05), nn.Parameter(torch.full((c,), 0.01))
            self.mix = nn.Parameter(torch.randn(8, 24, 24) * 0.05)
            self.out = nn.Linear(c, letters)

        def forward(self, ids):
            a = self.skew.triu(1)
            turn = torch.matrix_exp(a - a.mT)
            x = self.enter(self.word(ids))
            h, states = torch.zeros_like(x[:, 0]), []
            for t in range(x.shape[1]):
                z = torch.addmm(x[:, t], h, turn)
                h = z.sign() * F.relu(z.abs() + self.bias)
                states.append(h)
            small = torch.linalg.matrix_exp(self.mix - self.mix.mT)
            score = self.out(torch.stack(states, 1))
            right = torch.roll(ids, 100, 1)
            extra = (small.diagonal(dim1=1, dim2=2).sum(-1) - 24).square().mean()
            return Result(F.cross_entropy(score.transpose(1, 2), right) + 1e-4 * extra)
    return Net(), lambda b: words(b, 120), "own"


def induced_processes():
    """Chemical yields with error bars: learned features, ten Gaussian processes on 256 induced points, mixed tasks."""
    class Net(nn.Module):
        def __init__(self, features=256, c=16, points=256, latent=10, tasks=24):
            super().__init__()
            self.f, self.points = dense(features, 512, 128, c, act=nn.SiLU), nn.Parameter(torch.randn(latent, points, c))
            self.width, self.size = nn.Parameter(torch.zeros(latent, 1, c)), nn.Parameter(torch.zeros(latent, 1, 1))
            self.mean, self.root = nn.Parameter(torch.zeros(latent, points, 1)), nn.Parameter(torch.eye(points).repeat(latent, 1, 1))
            self.mix, self.noise = nn.Parameter(torch.randn(latent, tasks) * 0.3), nn.Parameter(torch.full((tasks,), -2.0))

        def kernel(self, a, b):
            rate = F.softplus(self.width) + 0.1
            far = math.sqrt(5) * torch.cdist(a / rate, b / rate).clamp(min=1e-6)
            return F.softplus(self.size) * (1 + far + far.square() / 3) * torch.exp(-far)

        def forward(self, x, truth, seen):
            x, n = self.f(x).unsqueeze(0).expand(len(self.points), -1, -1), self.points.shape[1]
            kzz = self.kernel(self.points, self.points) + 1e-3 * torch.eye(n, device=x.device)
            low = torch.linalg.cholesky(kzz)
            a = torch.linalg.solve_triangular(low, self.kernel(self.points, x), upper=False)
            root = self.root.tril()
            mean = (a.mT @ self.mean).squeeze(-1)
            spread = F.softplus(self.size).squeeze(-1) - a.square().sum(1) + (root.mT @ a).square().sum(1)
            mean, spread = torch.einsum("ln,lt->nt", mean, self.mix), torch.einsum("ln,lt->nt", spread.clamp(min=1e-6), self.mix.square())
            noise = F.softplus(self.noise) + 1e-3
            fit = -0.5 * (torch.log(2 * math.pi * noise) + ((truth - mean).square() + spread) / noise)
            keep = (seen > -0.5).float()
            apart = 0.5 * (root.square().sum((1, 2)) + self.mean.square().sum((1, 2)) - n) - root.diagonal(dim1=1, dim2=2).abs().log().sum(1)
            return Result(-(fit * keep).sum() / keep.sum().clamp(min=1) + apart.sum() / 50000)
    return Net(), lambda b: (torch.zeros(b, 256), torch.zeros(b, 24), torch.zeros(b, 24)), "own"


def doubtful_weights():
    """Risks of loans by layers with distributions of weights: drawn outputs, signs per row, and a mixture as prior."""
    class Drawn(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.mean, self.spread = nn.Parameter(torch.randn(b, a) * 0.05), nn.Parameter(torch.full((b, a), -5.0))
            self.bias = nn.Parameter(torch.zeros(b))

        def forward(self, x, local):
            spread = F.softplus(self.spread)
            if local:
                mean, var = F.linear(x, self.mean, self.bias), F.linear(x.square(), spread.square())
                y, w = mean + torch.sqrt(var + 1e-8) * torch.randn_like(mean), self.mean
            else:
                noise = spread * torch.randn_like(spread)
                flip, turn = (torch.randint(2, s, device=x.device, dtype=x.dtype) * 2 - 1 for s in (x.shape, (*x.shape[:-1], len(self.bias))))
                y, w = F.linear(x, self.mean, self.bias) + F.linear(x * flip, noise) * turn, self.mean + noise
            prior = torch.logaddexp(math.log(0.25) - 0.5 * w.square(), math.log(0.75) + 6 - 0.5 * (w * math.exp(6)).square())
            own = -0.5 * ((w - self.mean) / spread).square() - torch.log(spread)
            return y, (own - prior).sum()

    class Net(nn.Module):
        def __init__(self, features=180, c=640, kinds=4):
            super().__init__()
            self.body = nn.ModuleList([Drawn(features, c), Drawn(c, c), Drawn(c, c), Drawn(c, kinds)])

        def forward(self, x, draw):
            truth, loss = F.softmax(draw, -1), 0
            for sample in range(3):
                y, apart = x, 0
                for n, f in enumerate(self.body):
                    y, more = f(F.elu(y) if n else y, (n + sample) % 2 == 0)
                    apart = apart + more
                form = F.softplus(y.float()) + 1
                all_form = form.sum(-1, keepdim=True)
                fit = (truth * (torch.digamma(all_form) - torch.digamma(form))).sum(-1)
                rest = truth + (1 - truth) * form
                even = torch.lgamma(rest.sum(-1)) - torch.lgamma(rest).sum(-1)
                even = even + ((rest - 1) * (torch.digamma(rest) - torch.digamma(rest.sum(-1, keepdim=True)))).sum(-1)
                loss = loss + fit.mean() + 0.1 * even.mean() + apart * 1e-6
            return Result(loss / 3)
    return Net(), lambda b: (torch.zeros(b, 180), torch.zeros(b, 4)), "own"


NETWORKS = {f.__name__: f for f in (lid_and_cavity, branches_and_trunk, learned_lagrangian, continuous_flow, factored_faces,
                                    turning_memory, induced_processes, doubtful_weights)}
STEPS = {"lid_and_cavity": ("fp32", 8, "nchw", "adam"), "branches_and_trunk": ("tf32", 16, "nchw", "adam"),
         "learned_lagrangian": ("fp32", 8, "nchw", "adamw"), "continuous_flow": ("fp32", 1024, "nchw", "adam"),
         "factored_faces": ("tf32", 48, "nchw", "adam"), "turning_memory": ("fp32", 128, "nchw", "adam"),
         "induced_processes": ("fp32", 512, "nchw", "adam"), "doubtful_weights": ("tf32", 2048, "nchw", "sgd")}
