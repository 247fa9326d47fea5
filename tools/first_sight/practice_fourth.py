# SPDX-License-Identifier: Apache-2.0
"""practice_fourth.py - networks for practice: flows, agents, codes, pairs and teachers. See cases.py."""
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, Encoder, Result


def invertible_faces():
    """Faces as a flow: channels are scaled, mixed by an invertible matrix and coupled, at three sizes."""
    class Scale(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.shift, self.log = nn.Parameter(torch.zeros(1, c, 1, 1)), nn.Parameter(torch.zeros(1, c, 1, 1))

        def forward(self, x):
            return (x + self.shift) * self.log.exp(), self.log.sum() * x.shape[2] * x.shape[3]

    class Mix(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.w = nn.Parameter(torch.eye(c) + 0.01 * torch.randn(c, c))

        def forward(self, x):
            size = torch.linalg.slogdet(self.w.float())[1]
            return F.conv2d(x, self.w[:, :, None, None]), size * x.shape[2] * x.shape[3]

    class Couple(nn.Module):
        def __init__(self, c, wide):
            super().__init__()
            self.f = nn.Sequential(nn.Conv2d(c // 2, wide, 3, padding=1), nn.ReLU(), nn.Conv2d(wide, wide, 1), nn.ReLU(),
                                   nn.Conv2d(wide, c, 3, padding=1))
            nn.init.zeros_(self.f[-1].weight)
            nn.init.zeros_(self.f[-1].bias)
            self.scale = nn.Parameter(torch.zeros(1, c, 1, 1))

        def forward(self, x):
            a, b = x.chunk(2, 1)
            shift, s = (self.f(a) * torch.exp(3 * self.scale)).chunk(2, 1)
            s = torch.sigmoid(s + 2)
            return torch.cat([a, (b + shift) * s], 1), s.log().flatten(1).sum(1)

    class Net(nn.Module):
        def __init__(self, depth=8, wide=256):
            super().__init__()
            self.levels, self.prior, c = nn.ModuleList(), nn.ModuleList(), 3
            for n in range(3):
                c *= 4
                self.levels.append(nn.ModuleList(m for _ in range(depth) for m in (Scale(c), Mix(c), Couple(c, wide))))
                c = c // 2 if n < 2 else c
                self.prior.append(nn.Conv2d(c, 2 * c, 3, padding=1) if n < 2 else nn.Identity())

        def forward(self, picture):
            x, total = torch.sigmoid(picture) + torch.rand_like(picture) / 256, 0
            for n, (level, prior) in enumerate(zip(self.levels, self.prior)):
                x = F.pixel_unshuffle(x, 2)
                for f in level:
                    x, more = f(x)
                    total = total + more
                if n < 2:
                    x, z = x.chunk(2, 1)
                    m, s = prior(x).chunk(2, 1)
                    total = total - 0.5 * (2 * s + (z - m).pow(2) * torch.exp(-2 * s)).flatten(1).sum(1)
            total = total - 0.5 * x.pow(2).flatten(1).sum(1)
            return Result(-total.mean() / picture[0].numel())
    return Net(), lambda b: torch.zeros(b, 3, 64, 64), "own"


def masked_densities():
    """Densities of 63 numbers: masked dense layers, mixed by lower and upper triangles, with batch norm as a flow."""
    class Masked(nn.Linear):
        def __init__(self, i, o, mask):
            super().__init__(i, o)
            self.register_buffer("mask", mask.float(), persistent=False)

        def forward(self, x):
            return F.linear(x, self.weight * self.mask, self.bias)

    class Auto(nn.Module):
        def __init__(self, d, c):
            super().__init__()
            first, mid = torch.arange(1, d + 1), torch.arange(c) % (d - 1) + 1
            self.f = nn.Sequential(Masked(d, c, mid[:, None] >= first), nn.ReLU(), Masked(c, c, mid[:, None] >= mid), nn.ReLU(),
                                   Masked(c, 2 * d, first.repeat(2)[:, None] > mid))

        def forward(self, x):
            m, s = self.f(x).chunk(2, 1)
            s = torch.tanh(s)
            return (x - m) * torch.exp(-s), -s.sum(1)

    class Triangles(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.low, self.high, self.log = nn.Parameter(0.01 * torch.randn(d, d)), nn.Parameter(0.01 * torch.randn(d, d)), nn.Parameter(torch.zeros(d))

        def forward(self, x):
            one = torch.eye(len(self.log), device=x.device)
            low, high = self.low.tril(-1) + one, self.high.triu(1) + torch.diag(self.log.exp())
            y = torch.linalg.solve_triangular(low, x.t(), upper=False, unitriangular=True)
            return torch.linalg.solve_triangular(high, y, upper=True).t(), -self.log.sum()

    class Norm(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.g, self.b = nn.Parameter(torch.zeros(d)), nn.Parameter(torch.zeros(d))

        def forward(self, x):
            v, m = torch.var_mean(x, 0)
            return (x - m) / torch.sqrt(v + 1e-5) * self.g.exp() + self.b, (self.g - 0.5 * torch.log(v + 1e-5)).sum()

    class Net(nn.Module):
        def __init__(self, d=63, c=512, depth=10):
            super().__init__()
            self.f = nn.ModuleList(m for _ in range(depth) for m in (Auto(d, c), Norm(d), Triangles(d)))

        def forward(self, x):
            total = 0
            for f in self.f:
                x, more = f(x)
                total = total + more
            return Result((0.5 * x.pow(2).sum(1) - total).mean())
    return Net(), lambda b: torch.zeros(b, 63), "own"


def made_weights():
    """Shapes in a picture set: a network reads each picture and writes the weights of its own small sine network."""
    class Net(nn.Module):
        def __init__(self, c=64, points=1024, rank=10):
            super().__init__()
            self.c, self.points, self.rank = c, points, rank
            body, i = [], 3
            for o in (32, 64, 128, 256):
                body += [nn.Conv2d(i, o, 4, 2, 1), nn.GroupNorm(8, o), nn.GELU()]
                i = o
            self.eye = nn.Sequential(*body, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(1024, 512), nn.LayerNorm(512), nn.GELU())
            self.first, self.last = nn.Linear(512, 3 * c), nn.Linear(512, 3 * (c + 1))
            self.mid = nn.ModuleList(nn.Linear(512, 2 * c * rank + c) for _ in range(3))
            self.base = nn.ParameterList(nn.Parameter(torch.randn(c, c) / math.sqrt(c)) for _ in range(3))

        def forward(self, picture, place):
            code, c = self.eye(picture), self.c
            place = torch.tanh(place)
            w = self.first(code).view(-1, 3, c)
            y = torch.sin(30 * (torch.bmm(place, w[:, :2]) + w[:, 2:]))
            for f, base in zip(self.mid, self.base):
                u, v, bias = f(code).split([c * self.rank, c * self.rank, c], 1)
                w = base * torch.sigmoid(torch.bmm(u.view(-1, c, self.rank), v.view(-1, self.rank, c)))
                y = torch.sin(torch.baddbmm(bias.unsqueeze(1), y, w))
            w = self.last(code).view(-1, c + 1, 3)
            made = torch.bmm(y, w[:, :-1]) + w[:, -1:]
            true = F.grid_sample(picture, place.unsqueeze(1), mode="bicubic", align_corners=False).squeeze(2).transpose(1, 2)
            return Result(F.mse_loss(made, true))
    return Net(), lambda b: (torch.zeros(b, 3, 96, 96), torch.zeros(b, 1024, 2)), "own"


def small_student():
    """A small picture network learns from a large one: soft answers, and maps brought to the same width."""
    from torchvision.models import mobilenet_v3_small, resnet34

    class Net(nn.Module):
        def __init__(self, kinds=100):
            super().__init__()
            self.teacher, self.student = resnet34(num_classes=kinds), mobilenet_v3_small(num_classes=kinds)
            self.teacher.requires_grad_(False)
            self.wide = nn.Sequential(nn.Conv2d(576, 512, 1, bias=False), nn.BatchNorm2d(512))

        @torch.no_grad()
        def taught(self, x):
            t = self.teacher.eval()
            x = t.maxpool(t.relu(t.bn1(t.conv1(x))))
            map = t.layer4(t.layer3(t.layer2(t.layer1(x))))
            return map, t.fc(t.avgpool(map).flatten(1)).float()

        def forward(self, picture, labels):
            map, soft = self.taught(picture)
            mine = self.student.features(picture)
            score = self.student.classifier(self.student.avgpool(mine).flatten(1)).float()
            close = F.kl_div(F.log_softmax(score / 4, 1), F.softmax(soft / 4, 1), reduction="batchmean") * 16
            same = F.mse_loss(F.normalize(self.wide(mine).float(), dim=1), F.normalize(map.float(), dim=1))
            return Result(0.1 * F.cross_entropy(score, labels) + 0.9 * close + 50 * same)
    return Net(), lambda b: {"picture": torch.zeros(b, 3, 224, 224), "labels": torch.zeros(b, dtype=torch.int64)}, "own"


def queued_pairs():
    """Cells in two channels: a slow copy gives keys, and 32768 older keys are rivals in one large matrix."""
    from torchvision.models import resnet18

    class Net(nn.Module):
        def __init__(self, c=128, queue=32768):
            super().__init__()
            self.fast = resnet18(num_classes=512)
            self.fast.conv1 = nn.Conv2d(5, 64, 3, 1, 1, bias=False)
            self.fast.maxpool = nn.Identity()
            self.head = nn.Sequential(nn.BatchNorm1d(512), nn.ReLU(), nn.Linear(512, c))
            self.slow, self.slow_head = copy.deepcopy(self.fast), copy.deepcopy(self.head)
            self.slow.requires_grad_(False)
            self.slow_head.requires_grad_(False)
            self.register_buffer("queue", F.normalize(torch.randn(c, queue), dim=0))

        @torch.no_grad()
        def keys(self, x):
            for a, b in ((self.fast, self.slow), (self.head, self.slow_head)):
                for p, q in zip(a.parameters(), b.parameters()):
                    q.mul_(0.999).add_(p, alpha=0.001)
            mixed = torch.randperm(len(x), device=x.device)
            k = F.normalize(self.slow_head(self.slow(x[mixed])), dim=1)
            return k[mixed.argsort()]

        def forward(self, one, two):
            q, k = F.normalize(self.head(self.fast(one)), dim=1), self.keys(two)
            good, bad = (q * k).sum(1, keepdim=True), q @ self.queue
            score = torch.cat([good, bad], 1).float() / 0.07
            return Result(F.cross_entropy(score, torch.zeros(len(q), dtype=torch.int64, device=q.device)))
    return Net(), lambda b: (torch.zeros(b, 5, 64, 64), torch.zeros(b, 5, 64, 64)), "own"


def quantile_critics():
    """A robot hand: a squashed normal policy and five critics of 25 quantiles, the largest of which are dropped."""
    from torch.distributions import Normal

    class Many(nn.Module):
        def __init__(self, i, c, o, count=5):
            super().__init__()
            sizes = (i, c, c, c, o)
            self.w = nn.ParameterList(nn.Parameter(torch.randn(count, a, b) / math.sqrt(a)) for a, b in zip(sizes, sizes[1:]))
            self.b = nn.ParameterList(nn.Parameter(torch.zeros(count, 1, b)) for b in sizes[1:])

        def forward(self, x):
            x = x.expand(len(self.w[0]), -1, -1)
            for n, (w, b) in enumerate(zip(self.w, self.b)):
                x = torch.baddbmm(b, F.relu(x) if n else x, w)
            return x.transpose(0, 1)

    class Net(nn.Module):
        def __init__(self, seen=61, actions=20, c=512, quantiles=25):
            super().__init__()
            self.actor = nn.Sequential(nn.Linear(seen, c), nn.LayerNorm(c), nn.ReLU(), nn.Linear(c, c), nn.LayerNorm(c), nn.ReLU(),
                                       nn.Linear(c, 2 * actions))
            self.critics = Many(seen + actions, c, quantiles)
            self.target = copy.deepcopy(self.critics).requires_grad_(False)
            self.heat = nn.Parameter(torch.zeros(()))
            self.register_buffer("tau", torch.arange(quantiles) / quantiles + 0.5 / quantiles, persistent=False)

        def act(self, seen):
            m, s = self.actor(seen).chunk(2, -1)
            chance = Normal(m, s.clamp(-20, 2).exp())
            raw = chance.rsample()
            log = chance.log_prob(raw) - 2 * (math.log(2) - raw - F.softplus(-2 * raw))
            return torch.tanh(raw), log.sum(-1, keepdim=True)

        def forward(self, seen, action, reward, after):
            heat = self.heat.exp().detach()
            with torch.no_grad():
                next_, log = self.act(after)
                values = self.target(torch.cat([after, next_], -1)).flatten(1).sort(1)[0][:, :-10]
                goal = reward.unsqueeze(1) + 0.99 * (values - heat * log)
            now = self.critics(torch.cat([seen, torch.tanh(action)], -1))
            off = goal[:, None, None] - now.unsqueeze(-1)
            size = off.abs()
            huber = torch.where(size > 1, size - 0.5, 0.5 * off.pow(2))
            critic = ((self.tau[:, None] - (off < 0).float()).abs() * huber).mean()
            mine, log = self.act(seen)
            actor = (heat * log - self.critics(torch.cat([seen, mine], -1)).mean((1, 2)).unsqueeze(1)).mean()
            return Result(critic + actor - self.heat * (log + 20).detach().mean())

    def inputs(b):
        return torch.zeros(b, 61), torch.zeros(b, 20), torch.zeros(b), torch.zeros(b, 61)
    return Net(), inputs, "own"


def imagined_games():
    """A game imagined: a GRU cell with layer norm and 32 codes of 32 kinds see 32 frames, then 15 steps are dreamed."""
    class Cell(nn.Module):
        def __init__(self, i, c):
            super().__init__()
            self.f, self.n = nn.Linear(i + c, 3 * c, bias=False), nn.LayerNorm(3 * c)

        def forward(self, x, h):
            r, new, u = self.n(self.f(torch.cat([x, h], -1))).chunk(3, -1)
            new, u = torch.tanh(torch.sigmoid(r) * new), torch.sigmoid(u - 1)
            return u * new + (1 - u) * h

    def dense(i, o, c=512):
        return nn.Sequential(nn.Linear(i, c, bias=False), nn.LayerNorm(c), nn.SiLU(), nn.Linear(c, o))

    class Net(nn.Module):
        def __init__(self, c=512, groups=32, kinds=32, actions=6):
            super().__init__()
            self.c, self.groups, self.kinds, self.actions = c, groups, kinds, actions
            eye, i = [], 3
            for o in (32, 64, 128, 256):
                eye += [nn.Conv2d(i, o, 4, 2, 1, bias=False), nn.GroupNorm(1, o), nn.SiLU()]
                i = o
            self.eye = nn.Sequential(*eye, nn.Flatten())
            state = groups * kinds
            self.mix, self.cell = nn.Sequential(nn.Linear(state + actions, c, bias=False), nn.LayerNorm(c), nn.SiLU()), Cell(c, c)
            self.before, self.after = dense(c, state), dense(c + 4096, state)
            self.grow = nn.Linear(c + state, 4096)
            up = []
            for i, o in ((256, 128), (128, 64), (64, 32)):
                up += [nn.ConvTranspose2d(i, o, 4, 2, 1, bias=False), nn.GroupNorm(1, o), nn.SiLU()]
            self.up = nn.Sequential(*up, nn.ConvTranspose2d(32, 3, 4, 2, 1))
            self.actor, self.value, self.reward = dense(c + state, actions), dense(c + state, 1), dense(c + state, 1)

        def drawn(self, score):
            p = score.unflatten(-1, (self.groups, self.kinds)).float().softmax(-1)
            p = 0.99 * p + 0.01 / self.kinds
            with torch.no_grad():
                index = torch.multinomial(p.flatten(0, -2), 1).view(p.shape[:-1])
                hot = F.one_hot(index, self.kinds).to(p.dtype)
            return (hot + p - p.detach()).flatten(-2), p

        def forward(self, frames, moves, rewards):
            b, n = frames.shape[:2]
            seen = self.eye(frames.flatten(0, 1)).view(b, n, -1)
            moves = moves.softmax(-1)
            h = torch.zeros(b, self.c, device=frames.device)
            z = torch.zeros(b, self.groups * self.kinds, device=frames.device)
            hs, zs, apart = [], [], 0
            for t in range(n):
                h = self.cell(self.mix(torch.cat([z, moves[:, t]], -1)), h)
                _, prior = self.drawn(self.before(h))
                z, post = self.drawn(self.after(torch.cat([h, seen[:, t]], -1)))
                a = (post.detach() * (post.detach().log() - prior.log())).sum((1, 2)).mean()
                c = (post * (post.log() - prior.detach().log())).sum((1, 2)).mean()
                apart = apart + 0.5 * a.clamp(min=1) + 0.1 * c.clamp(min=1)
                hs.append(h)
                zs.append(z)
            h, z = torch.stack(hs, 1).flatten(0, 1), torch.stack(zs, 1).flatten(0, 1)
            x = torch.cat([h, z], -1)
            made = self.up(self.grow(x).unflatten(-1, (256, 4, 4))).float()
            loss = apart / n + (made - frames.flatten(0, 1)).pow(2).sum((1, 2, 3)).mean() / 100
            loss = loss + (self.reward(x).float().view(b, n) - rewards).pow(2).mean()
            h, z, total, chance = h.detach(), z.detach(), 0, []
            for _ in range(15):
                x = torch.cat([h, z], -1)
                log = self.actor(x.detach()).float().log_softmax(-1)
                move = torch.multinomial(log.detach().exp(), 1)
                chance.append(log.gather(1, move).squeeze(1))
                with torch.no_grad():
                    h = self.cell(self.mix(torch.cat([z, F.one_hot(move.squeeze(1), self.actions).to(z.dtype)], -1)), h)
                    z, _ = self.drawn(self.before(h))
                    gain = self.reward(torch.cat([h, z], -1)).float().squeeze(-1)
                total = total + 0.99 * gain
            value = self.value(torch.cat([h, z], -1)).float().squeeze(-1)
            better = -(torch.stack(chance).sum(0) * (total - total.mean()) / (total.std() + 1e-3)).mean()
            return Result(loss + better + (value - total).pow(2).mean())
    return Net(), lambda b: (torch.zeros(b, 32, 3, 64, 64), torch.zeros(b, 32, 6), torch.zeros(b, 32)), "own"


def coded_motion():
    """Dances as codes: strided 1-D convolutions, 1024 codes in four parts chosen by distance, and words guess the rest."""
    class Residual(nn.Module):
        def __init__(self, c, dilation):
            super().__init__()
            self.f = nn.Sequential(nn.ReLU(), nn.Conv1d(c, c, 3, padding=dilation, dilation=dilation), nn.ReLU(), nn.Conv1d(c, c, 1))

        def forward(self, x):
            return x + self.f(x)

    class Net(nn.Module):
        def __init__(self, joints=263, c=512, codes=1024, parts=4):
            super().__init__()
            self.parts = parts
            down, up = [nn.Conv1d(joints, c, 3, padding=1), nn.ReLU()], [nn.Conv1d(c, c, 3, padding=1), nn.ReLU()]
            for _ in range(2):
                down += [nn.Conv1d(c, c, 4, 2, 1), *(Residual(c, d) for d in (9, 3, 1))]
                up += [*(Residual(c, d) for d in (9, 3, 1)), nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv1d(c, c, 3, padding=1)]
            self.down = nn.Sequential(*down, nn.Conv1d(c, c, 3, padding=1))
            self.up = nn.Sequential(*up, nn.Conv1d(c, c, 3, padding=1), nn.ReLU(), nn.Conv1d(c, joints, 3, padding=1))
            self.code = nn.Parameter(torch.randn(parts, codes, c // parts))
            self.hide = nn.Parameter(torch.zeros(c))
            self.guess, self.out = nn.ModuleList(Encoder(c, 8) for _ in range(3)), nn.Linear(c, codes * parts)

        def forward(self, motion):
            x = self.down(motion.transpose(1, 2)).transpose(1, 2).float()
            b, n, c = x.shape
            flat = x.reshape(b * n, self.parts, -1).transpose(0, 1)
            far = flat.pow(2).sum(-1, keepdim=True) - 2 * torch.bmm(flat, self.code.transpose(1, 2)) + self.code.pow(2).sum(-1).unsqueeze(1)
            index = far.argmin(-1)
            q = self.code.gather(1, index.unsqueeze(-1).expand(-1, -1, flat.shape[-1]))
            loss = F.mse_loss(q, flat.detach()) + 0.25 * F.mse_loss(flat, q.detach())
            q = (flat + (q - flat).detach()).transpose(0, 1).reshape(b, n, c)
            made = self.up(q.transpose(1, 2)).transpose(1, 2).float()
            loss = loss + F.smooth_l1_loss(made, motion) + 0.5 * F.smooth_l1_loss(made.diff(dim=1), motion.diff(dim=1))
            y = torch.where(torch.rand(b, n, 1, device=x.device) < 0.5, self.hide, q.detach())
            for f in self.guess:
                y = f(y)
            score = self.out(y).float().view(b * n, self.parts, -1).transpose(1, 2)
            return Result(loss + F.cross_entropy(score, index.t()))
    return Net(), lambda b: torch.zeros(b, 196, 263), "own"


def read_anything():
    """Scans read by 256 latents: Fourier features of pixels, cross attention twice, shared deep blocks, queries for pixels."""
    class Net(nn.Module):
        def __init__(self, c=512, latents=256, bands=32, size=112):
            super().__init__()
            line = torch.linspace(-1, 1, size)
            place = torch.stack(torch.meshgrid(line, line, indexing="ij"), -1)
            wave = place.unsqueeze(-1) * torch.linspace(1, size / 2, bands) * math.pi
            fourier = torch.cat([wave.sin().flatten(2), wave.cos().flatten(2), place], -1).flatten(0, 1)
            self.register_buffer("fourier", fourier, persistent=False)
            seen = 3 + fourier.shape[-1]
            self.latent = nn.Parameter(0.02 * torch.randn(latents, c))
            self.norm, self.cross = nn.ModuleList(nn.LayerNorm(seen) for _ in range(2)), nn.ModuleList(Attention(c, 1, seen) for _ in range(2))
            self.nq = nn.ModuleList(nn.LayerNorm(c) for _ in range(2))
            self.body = nn.ModuleList(Encoder(c, 8, c) for _ in range(6))
            self.ask = nn.Linear(fourier.shape[-1], 256)
            self.answer, self.out = Attention(256, 4, c), nn.Sequential(nn.LayerNorm(256), nn.Linear(256, 9))
            self.kind = nn.Linear(c, 23)

        def forward(self, picture, labels, parts):
            b = len(picture)
            x = torch.cat([picture.flatten(2).transpose(1, 2), self.fourier.expand(b, -1, -1)], -1)
            z = self.latent.expand(b, -1, -1)
            for n, q, f in zip(self.norm, self.nq, self.cross):
                z = z + f(q(z), n(x))
                for g in self.body:
                    z = g(z)
            y = self.out(self.answer(self.ask(self.fourier).expand(b, -1, -1), z))
            map = y.transpose(1, 2).unflatten(-1, picture.shape[2:]).float()
            mask = F.softmax(map, 1)[:, 0]
            loss = F.cross_entropy(self.kind(z.mean(1)).float(), labels) + F.mse_loss(mask, torch.sigmoid(parts))
            return Result(loss - 0.01 * map.log_softmax(1).mean())

    def inputs(b):
        return {"picture": torch.zeros(b, 3, 112, 112), "labels": torch.zeros(b, dtype=torch.int64), "parts": torch.zeros(b, 112, 112)}
    return Net(), inputs, "own"


def moved_cells():
    """Cells before and after a drug: variational codes of 2000 genes, matched by transport in 30 differentiable rounds."""
    class Net(nn.Module):
        def __init__(self, genes=2003, c=512, z=32, drugs=188):
            super().__init__()
            def layers(i, o):
                return nn.Sequential(nn.Linear(i, c), nn.BatchNorm1d(c, eps=1e-3, momentum=0.01), nn.ReLU(), nn.Dropout(0.1), nn.Linear(c, c),
                                     nn.BatchNorm1d(c, eps=1e-3, momentum=0.01), nn.ReLU(), nn.Linear(c, o))
            self.code, self.move, self.made = layers(genes, 2 * z), layers(2 * z, z), layers(z, genes)
            self.drug, self.spread = nn.Embedding(drugs, z), nn.Parameter(torch.zeros(genes))

        def drawn(self, x):
            m, s = self.code(torch.log1p(x)).chunk(2, -1)
            s = F.softplus(s) + 1e-4
            return m + s * torch.randn_like(s), (0.5 * (m.pow(2) + s.pow(2)) - s.log() - 0.5).sum(-1)

        def likely(self, x, z):
            m = F.softmax(self.made(z), -1) * x.sum(-1, keepdim=True)
            r = self.spread.exp()
            log = torch.log(r + m + 1e-8)
            return (r * (torch.log(r + 1e-8) - log) + x * (torch.log(m + 1e-8) - log) + torch.lgamma(x + r) - torch.lgamma(r)
                    - torch.lgamma(x + 1)).sum(-1)

        def transport(self, a, b, reach=0.1, rounds=30):
            cost = torch.cdist(a, b).pow(2)
            k, f, g = -cost / (reach * cost.detach().mean()), 0, torch.zeros(len(b), device=a.device)
            even = -math.log(len(a))
            for _ in range(rounds):
                f = even - torch.logsumexp(k + g, 1, keepdim=True)
                g = even - torch.logsumexp(k + f, 0)
            return (torch.exp(k + f + g) * cost).sum()

        def forward(self, before, after, drug):
            x, y = before.abs(), after.abs()
            a, ka = self.drawn(x)
            b, kb = self.drawn(y)
            moved = a + self.move(torch.cat([a, self.drug(drug)], -1))
            loss = (ka + kb - self.likely(x, a) - self.likely(y, b)).mean()
            return Result(loss + 10 * self.transport(moved, b))
    return Net(), lambda b: (torch.zeros(b, 2003), torch.zeros(b, 2003), torch.zeros(b, dtype=torch.int64)), "own"


def summed_sets():
    """Functions from few points: sets attend through induced points, an unrolled equation carries the state to each time."""
    class Look(nn.Module):
        def __init__(self, c, heads=4):
            super().__init__()
            self.a, self.n1, self.n2 = nn.MultiheadAttention(c, heads, batch_first=True), nn.LayerNorm(c), nn.LayerNorm(c)
            self.f = nn.Sequential(nn.Linear(c, c), nn.ReLU(), nn.Linear(c, c))

        def forward(self, x, y):
            x = self.n1(x + self.a(x, y, y, need_weights=False)[0])
            return self.n2(x + self.f(x))

    class Induced(nn.Module):
        def __init__(self, c, points=33):
            super().__init__()
            self.points, self.a, self.b = nn.Parameter(torch.randn(1, points, c)), Look(c), Look(c)

        def forward(self, x):
            return self.b(x, self.a(self.points.expand(len(x), -1, -1), x))

    class Net(nn.Module):
        def __init__(self, c=192, steps=24):
            super().__init__()
            self.first, self.body, self.pool = nn.Linear(5, c), nn.Sequential(Induced(c), Induced(c), Induced(c)), nn.Parameter(torch.randn(1, 1, c))
            self.join, self.state = Look(c), nn.Linear(c, 2 * c)
            self.rate = nn.Sequential(nn.Linear(c + 1, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, c))
            self.out, self.steps = nn.Sequential(nn.Linear(c, 128), nn.Softplus(), nn.Linear(128, 8)), steps

        def change(self, t, z):
            return self.rate(torch.cat([z, torch.full_like(z[:, :1], t)], -1))

        def forward(self, known, later):
            x = self.body(self.first(known))
            m, s = self.state(self.join(self.pool.expand(len(x), -1, -1), x).squeeze(1)).float().chunk(2, -1)
            s = 0.1 + 0.9 * torch.sigmoid(s)
            z, h, path = m + s * torch.randn_like(m), 1 / self.steps, []
            for n in range(self.steps):
                t = n * h
                k1 = self.change(t, z)
                k2 = self.change(t + h / 2, z + h / 2 * k1)
                k3 = self.change(t + h / 2, z + h / 2 * k2)
                k4 = self.change(t + h, z + h * k3)
                z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
                path.append(z)
            mean, spread = self.out(torch.stack(path, 1)).float().chunk(2, -1)
            chance = torch.distributions.Normal(mean, 0.05 + F.softplus(spread))
            kl = torch.distributions.kl_divergence(torch.distributions.Normal(m, s), torch.distributions.Normal(torch.zeros_like(m), torch.ones_like(s)))
            return Result(-chance.log_prob(later).sum((1, 2)).mean() + kl.sum(-1).mean())
    return Net(), lambda b: (torch.zeros(b, 500, 5), torch.zeros(b, 24, 4)), "own"


NETWORKS = {f.__name__: f for f in (invertible_faces, masked_densities, made_weights, small_student, queued_pairs, quantile_critics,
                                    imagined_games, coded_motion, read_anything, moved_cells, summed_sets)}
STEPS = {"invertible_faces": ("tf32", 16, "nchw", "adam"), "masked_densities": ("fp32", 8192, "nchw", "adam"),
         "made_weights": ("tf32", 256, "nchw", "adamw"), "small_student": ("amp-fp16", 128, "nhwc", "momentum"),
         "queued_pairs": ("amp-bf16", 128, "nhwc", "momentum"), "quantile_critics": ("fp32", 4096, "nchw", "adam"),
         "imagined_games": ("amp-bf16", 16, "nchw", "adam"), "coded_motion": ("amp-bf16", 64, "nchw", "adamw"),
         "read_anything": ("amp-bf16", 16, "nchw", "adamw"), "moved_cells": ("fp32", 1024, "nchw", "adam"),
         "summed_sets": ("tf32", 64, "nchw", "adamw")}
