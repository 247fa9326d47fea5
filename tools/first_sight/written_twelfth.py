# SPDX-License-Identifier: Apache-2.0
"""written_twelfth.py - more of the eleventh set of networks as people write them: signals and control. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Encoder, RMSNorm, Result, heads_first, words


def heart_signals():
    """Diagnoses from electrocardiograms of twelve leads: a residual network of long 1-D filters with odd widths."""
    class Block(nn.Module):
        def __init__(self, i, o, shorter=4, k=17):
            super().__init__()
            self.a, self.n1 = nn.Conv1d(i, o, k, padding=k // 2, bias=False), nn.BatchNorm1d(o)
            self.b = nn.Conv1d(o, o, k, shorter, k // 2, bias=False)
            self.skip = nn.Sequential(nn.MaxPool1d(shorter, shorter), nn.Conv1d(i, o, 1, bias=False))
            self.n2, self.drop = nn.BatchNorm1d(o), nn.Dropout(0.2)

        def forward(self, x, y):
            x = self.b(self.drop(F.relu(self.n1(self.a(x))))) + self.skip(y)
            return self.drop(F.relu(self.n2(x))), x

    class Net(nn.Module):
        def __init__(self, sizes=(64, 128, 196, 256, 320)):
            super().__init__()
            self.put = nn.Sequential(nn.Conv1d(12, sizes[0], 17, padding=8, bias=False), nn.BatchNorm1d(sizes[0]),
                                     nn.ReLU())
            self.body = nn.ModuleList(Block(i, o) for i, o in zip(sizes, sizes[1:]))
            self.head = nn.Linear(16 * sizes[-1], 6)

        def forward(self, x):
            x = y = self.put(x)
            for block in self.body:
                x, y = block(x, y)
            return self.head(x.flatten(1))
    return Net(), lambda b: torch.zeros(b, 12, 4096), "bce"


def spline_layers():
    """Layers whose connections are learned curves: B-splines of order three on a grid beside a SiLU branch."""
    class Curves(nn.Module):
        def __init__(self, i, o, grid=8, order=3):
            super().__init__()
            self.order = order
            self.base = nn.Parameter(torch.randn(o, i) / math.sqrt(i))
            self.curve = nn.Parameter(torch.randn(o, i, grid + order) * 0.1 / grid)
            self.scale = nn.Parameter(torch.ones(o, i))
            knots = torch.arange(-order, grid + order + 1) * (2 / grid) - 1
            self.register_buffer("knots", knots.expand(i, -1).contiguous(), persistent=False)

        def bases(self, x):
            x, g = x.unsqueeze(-1), self.knots
            y = ((x >= g[:, :-1]) & (x < g[:, 1:])).to(x.dtype)
            for k in range(1, self.order + 1):
                y = ((x - g[:, :-(k + 1)]) / (g[:, k:-1] - g[:, :-(k + 1)]) * y[:, :, :-1]
                     + (g[:, k + 1:] - x) / (g[:, k + 1:] - g[:, 1:-k]) * y[:, :, 1:])
            return y

        def forward(self, x):
            curves = (self.curve * self.scale.unsqueeze(-1)).flatten(1)
            return F.linear(F.silu(x), self.base) + F.linear(self.bases(x).flatten(1), curves)
    net = nn.Sequential(Curves(784, 256), Curves(256, 256), Curves(256, 10))
    return net, lambda b: torch.zeros(b, 784), "cross-entropy"


def river_runoff():
    """Runoff of rivers: an LSTM reads a year of days, hands its state to one that reads two weeks of hours."""
    class Net(nn.Module):
        def __init__(self, c=256):
            super().__init__()
            self.static = nn.Sequential(nn.Linear(27, 32), nn.Tanh(), nn.Dropout(0.1))
            self.days, self.hours = nn.LSTM(15 + 32, c, batch_first=True), nn.LSTM(12 + 32, c, batch_first=True)
            self.h, self.c, self.drop = nn.Linear(c, c), nn.Linear(c, c), nn.Dropout(0.4)
            self.day, self.hour = nn.Linear(c, 1), nn.Linear(c, 1)

        def read(self, cells, x, basin, state=None):
            return cells(torch.cat([x, basin.unsqueeze(1).expand(-1, x.shape[1], -1)], -1), state)

        def forward(self, days, hours, basin, by_day, by_hour, spread):
            basin = self.static(basin)
            _, (h, c) = self.read(self.days, days[:, :-14], basin)
            y, _ = self.read(self.days, days[:, -14:], basin, (h, c))
            z, _ = self.read(self.hours, hours, basin, (self.h(h), self.c(c)))
            slow, fast = self.day(self.drop(y[:, -1])), self.hour(self.drop(z[:, -24:])).squeeze(-1)
            weight = 1 / (spread.abs() + 0.1).pow(2)
            agree = (fast.mean(1, keepdim=True) - slow).pow(2)
            return Result((weight * ((slow - by_day).pow(2) + (fast - by_hour).pow(2) + agree)).mean())

    def inputs(b):
        return (torch.zeros(b, 365, 15), torch.zeros(b, 336, 12), torch.zeros(b, 27), torch.zeros(b, 1),
                torch.zeros(b, 24), torch.zeros(b, 1))
    return Net(), inputs, "own"


def pixel_critic():
    """Control from pixels: randomly shifted frames, a small encoder, two critics with a slow copy, and an actor."""
    def layers(i, o, width=1024):
        return nn.Sequential(nn.Linear(i, width), nn.ReLU(inplace=True), nn.Linear(width, width), nn.ReLU(inplace=True),
                             nn.Linear(width, o))

    class Net(nn.Module):
        def __init__(self, actions=6, features=50):
            super().__init__()
            self.see = nn.Sequential(nn.Conv2d(9, 32, 3, 2), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(),
                                     nn.Conv2d(32, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(), nn.Flatten())
            self.small, self.less = (nn.Sequential(nn.Linear(39200, features), nn.LayerNorm(features), nn.Tanh())
                                     for _ in range(2))
            self.actor, self.critics = layers(features, actions), self.pair(features + actions)
            self.slow = self.pair(features + actions).requires_grad_(False)

        def pair(self, i):
            return nn.ModuleList(layers(i, 1) for _ in range(2))

        def shifted(self, x, pad=4):
            b, _, h, _ = x.shape
            x = F.pad(x, (pad,) * 4, mode="replicate")
            step = 2 / (h + 2 * pad)
            line = torch.linspace(-1 + step / 2, 1 - step / 2, h + 2 * pad, device=x.device, dtype=x.dtype)[:h]
            grid = torch.stack([line.expand(h, h), line.unsqueeze(1).expand(h, h)], -1).expand(b, -1, -1, -1)
            move = torch.randint(0, 2 * pad + 1, (b, 1, 1, 2), device=x.device).to(x.dtype) * step
            return F.grid_sample(x, grid + move, padding_mode="zeros", align_corners=False)

        def act(self, x):
            mean = self.actor(self.less(x)).tanh()
            return (mean + (torch.randn_like(mean) * 0.1).clamp(-0.3, 0.3)).clamp(-1, 1)

        def forward(self, now, action, reward, after):
            x = self.see(self.shifted(now) / 255 - 0.5)
            with torch.no_grad():
                y = self.see(self.shifted(after) / 255 - 0.5)
                both = torch.cat([self.small(y), self.act(y)], -1)
                goal = reward + 0.99 * torch.minimum(*(f(both) for f in self.slow))
            both = torch.cat([self.small(x), action], -1)
            loss = sum(F.mse_loss(f(both), goal) for f in self.critics)
            x = x.detach()
            both = torch.cat([self.small(x), self.act(x)], -1)
            return Result(loss - torch.minimum(*(f(both) for f in self.critics)).mean())
    return Net(), lambda b: (torch.zeros(b, 9, 84, 84), torch.zeros(b, 6), torch.zeros(b, 1),
                             torch.zeros(b, 9, 84, 84)), "own"


def world_model():
    """A model of a game for planning: frames become 32 categories of 32, a GRU cell steps through 64 moments."""
    def down(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 4, 2, 1, bias=False), nn.GroupNorm(1, o), nn.SiLU())

    def up(i, o):
        return nn.Sequential(nn.ConvTranspose2d(i, o, 4, 2, 1, bias=False), nn.GroupNorm(1, o), nn.SiLU())

    def layer(i, o):
        return nn.Sequential(nn.Linear(i, o, bias=False), nn.LayerNorm(o), nn.SiLU())

    class Net(nn.Module):
        def __init__(self, c=48, deter=1024, hidden=640, z=1024, actions=18):
            super().__init__()
            self.see = nn.Sequential(down(3, c), down(c, 2 * c), down(2 * c, 4 * c), down(4 * c, 8 * c), nn.Flatten())
            self.put, self.cell = layer(z + actions, hidden), nn.GRUCell(hidden, deter)
            self.prior = nn.Sequential(layer(deter, hidden), nn.Linear(hidden, z))
            self.post = nn.Sequential(layer(deter + 128 * c, hidden), nn.Linear(hidden, z))
            self.wide = nn.Linear(deter + z, 128 * c)
            self.paint = nn.Sequential(up(8 * c, 4 * c), up(4 * c, 2 * c), up(2 * c, c),
                                       nn.ConvTranspose2d(c, 3, 4, 2, 1))
            self.reward = nn.Sequential(layer(deter + z, hidden), layer(hidden, hidden), nn.Linear(hidden, 255))
            self.deter, self.z = deter, z

        def drawn(self, logits):
            return F.gumbel_softmax(logits.float().unflatten(-1, (32, 32)), hard=True, dim=-1).flatten(1)

        def forward(self, frames, actions, labels):
            b, t = frames.shape[:2]
            seen = self.see(frames.flatten(0, 1) - 0.5).unflatten(0, (b, t))
            h, z, states, priors, posts = frames.new_zeros(b, self.deter), frames.new_zeros(b, self.z), [], [], []
            for n in range(t):
                h = self.cell(self.put(torch.cat([z, actions[:, n]], -1)), h)
                priors.append(self.prior(h))
                posts.append(self.post(torch.cat([h, seen[:, n]], -1)))
                z = self.drawn(posts[-1])
                states.append(torch.cat([h, z], -1))
            x = torch.stack(states, 1).flatten(0, 1)
            p, q = (torch.stack(v, 1).float().unflatten(-1, (32, 32)).log_softmax(-1) for v in (priors, posts))
            painted = self.paint(self.wide(x).unflatten(-1, (-1, 4, 4)))
            loss = F.mse_loss(painted, frames.flatten(0, 1), reduction="sum") / (b * t)
            loss = loss + F.cross_entropy(self.reward(x), labels.flatten())
            apart = (q.detach().exp() * (q.detach() - p)).sum((-1, -2)), (q.exp() * (q - p.detach())).sum((-1, -2))
            return Result(loss + 0.5 * apart[0].clamp(min=1).mean() + 0.1 * apart[1].clamp(min=1).mean())

    def inputs(b):
        return {"frames": torch.zeros(b, 64, 3, 64, 64), "actions": torch.zeros(b, 64, 18), "labels": words(b, 64)}
    return Net(), inputs, "own"


def light_graph():
    """Recommendation on a graph of users and items: three rounds of averages without weights, then ranked pairs."""
    class Net(nn.Module):
        def __init__(self, users=52643, items=91599, edges=1200000, c=64, rounds=3):
            super().__init__()
            self.users, self.items, self.rounds = nn.Embedding(users, c), nn.Embedding(items, c), rounds
            n = torch.arange(edges)
            user, item = n * 15013 % users, users + n * 40009 % items
            self.register_buffer("source", torch.cat([user, item]), persistent=False)
            self.register_buffer("target", torch.cat([item, user]), persistent=False)
            count = torch.zeros(users + items).index_add(0, self.target, torch.ones(2 * edges)).clamp(min=1)
            self.register_buffer("norm", (count[self.source] * count[self.target]).rsqrt().unsqueeze(1),
                                 persistent=False)

        def forward(self, user, liked, other):
            first = x = torch.cat([self.users.weight, self.items.weight])
            total = x
            for _ in range(self.rounds):
                x = torch.zeros_like(x).index_add(0, self.target, x[self.source] * self.norm)
                total = total + x
            total, n = total / (self.rounds + 1), self.users.num_embeddings
            u, a, b = (total[i] for i in (user, n + liked, n + other))
            weight = sum(first[i].pow(2).sum() for i in (user, n + liked, n + other)) / (2 * len(user))
            return Result(F.softplus((u * b).sum(-1) - (u * a).sum(-1)).mean() + 1e-4 * weight)
    return Net(), lambda b: tuple(torch.zeros(b, dtype=torch.int64) for _ in range(3)), "own"


def galaxy_views():
    """Shapes of galaxies: eight turned and mirrored cut-outs of odd sizes share filters; dense layers take maxima."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.f = nn.Sequential(nn.Conv2d(3, 32, 6), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5), nn.ReLU(),
                                   nn.MaxPool2d(2), nn.Conv2d(64, 128, 3), nn.ReLU(), nn.Conv2d(128, 128, 3), nn.ReLU(),
                                   nn.MaxPool2d(2, ceil_mode=True), nn.Flatten())
            self.a, self.b, self.drop = nn.Linear(8 * 512, 4096), nn.Linear(2048, 4096), nn.Dropout(0.5)
            self.head = nn.Linear(2048, 37)

        def forward(self, x):
            x = F.interpolate(x, size=69, mode="bilinear", align_corners=False)
            turned = [m.rot90(n, (2, 3)) for m in (x, x.flip(-1)) for n in range(4)]
            y = torch.cat([t[:, :, :45, :45] for t in turned])
            y = self.f(y).unflatten(0, (8, -1)).transpose(0, 1).flatten(1)
            y = self.drop(self.a(y).unflatten(-1, (-1, 2)).amax(-1))
            y = self.drop(self.b(y).unflatten(-1, (-1, 2)).amax(-1))
            return F.relu(self.head(y))
    return Net(), lambda b: torch.zeros(b, 3, 207, 207), "mse"


def unmasking_text():
    """A language model that fills in masked words everywhere: a random share is hidden and weighted by its size."""
    class Net(nn.Module):
        def __init__(self, vocab=30522, c=768, depth=12, seq=512):
            super().__init__()
            self.put, self.place = nn.Embedding(vocab, c), nn.Embedding(seq, c)
            self.body, self.norm = nn.ModuleList(Encoder(c, 12, dropout=0.1) for _ in range(depth)), nn.LayerNorm(c)
            self.head = nn.Linear(c, vocab, bias=False)
            self.head.weight = self.put.weight

        def forward(self, tokens):
            b, n = tokens.shape
            share = torch.rand(b, 1, device=tokens.device) * 0.999 + 0.001
            hidden = torch.rand(b, n, device=tokens.device) < share
            x = self.put(torch.where(hidden, 103, tokens)) + self.place(torch.arange(n, device=tokens.device))
            for block in self.body:
                x = block(x)
            each = F.cross_entropy(self.head(self.norm(x)).transpose(1, 2), tokens, reduction="none")
            return Result((each * hidden / share).sum() / (b * n))
    return Net(), lambda b: words(b, 512), "own"


def delta_rule():
    """A language model of linear attention that overwrites its memory: decaying delta rules in chunks of 64 tokens."""
    class Memory(nn.Module):
        def __init__(self, c, heads, chunk=64):
            super().__init__()
            self.heads, self.chunk = heads, chunk
            self.qkv = nn.Linear(c, 3 * c, bias=False)
            self.mix = nn.Conv1d(3 * c, 3 * c, 4, groups=3 * c, padding=3, bias=False)
            self.beta, self.decay = nn.Linear(c, heads, bias=False), nn.Linear(c, heads)
            self.rate, self.gate = nn.Parameter(torch.zeros(heads)), nn.Linear(c, c, bias=False)
            self.norm, self.o = RMSNorm(c // heads), nn.Linear(c, c, bias=False)
            self.register_buffer("lower", torch.ones(chunk, chunk).tril(), persistent=False)

        def chunks(self, x):
            return x.float().unflatten(2, (-1, self.chunk))

        def forward(self, x):
            n = x.shape[1]
            qkv = F.silu(self.mix(self.qkv(x).transpose(1, 2))[..., :n]).transpose(1, 2)
            q, k, v = (self.chunks(heads_first(t, self.heads)) for t in qkv.chunk(3, -1))
            q, k = F.normalize(q, dim=-1) * q.shape[-1] ** -0.5, F.normalize(k, dim=-1)
            beta = self.chunks(self.beta(x).sigmoid().transpose(1, 2)).unsqueeze(-1)
            g = self.chunks((-self.rate.exp() * F.softplus(self.decay(x).float())).transpose(1, 2)).cumsum(-1)
            fall = (g.unsqueeze(-1) - g.unsqueeze(-2)).masked_fill(self.lower == 0, -torch.inf).exp()
            strict = (beta * k @ k.transpose(-1, -2) * fall).tril(-1)
            eye = torch.eye(self.chunk, device=x.device)
            sides = torch.cat([beta * v, beta * k * g.exp().unsqueeze(-1)], -1)
            solved = torch.linalg.solve_triangular(strict + eye, sides, upper=False)
            u, w = solved.chunk(2, -1)
            near, state, seen = q @ k.transpose(-1, -2) * fall, q.new_zeros(*q.shape[:2], q.shape[-1], v.shape[-1]), []
            for i in range(q.shape[2]):
                fresh = u[:, :, i] - w[:, :, i] @ state
                seen.append(q[:, :, i] * g[:, :, i, :, None].exp() @ state + near[:, :, i] @ fresh)
                last = g[:, :, i, -1:]
                kept = k[:, :, i] * (last - g[:, :, i]).exp().unsqueeze(-1)
                state = state * last.exp().unsqueeze(-1) + kept.transpose(-1, -2) @ fresh
            y = self.norm(torch.cat(seen, 2).to(x.dtype)).transpose(1, 2).flatten(2)
            return self.o(y * F.silu(self.gate(x)))

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.n1, self.n2, self.a = RMSNorm(c), RMSNorm(c), Memory(c, 6)
            self.f, self.o = nn.Linear(c, 4096, bias=False), nn.Linear(2048, c, bias=False)

        def forward(self, x):
            x = x + self.a(self.n1(x))
            a, b = self.f(self.n2(x)).chunk(2, -1)
            return x + self.o(F.silu(a) * b)
    c, vocab = 768, 32000
    net = nn.Sequential(nn.Embedding(vocab, c), *(Block(c) for _ in range(8)), RMSNorm(c),
                        nn.Linear(c, vocab, bias=False))
    return net, lambda b: words(b, 2048), "cross-entropy"


NETWORKS = {f.__name__: f for f in (heart_signals, spline_layers, river_runoff, pixel_critic, world_model, light_graph,
                                    galaxy_views, unmasking_text, delta_rule)}
STEPS = {"heart_signals": ("fp32", 128, "nchw", "adam"), "spline_layers": ("fp32", 2048, "nchw", "adamw"),
         "river_runoff": ("tf32", 256, "nchw", "adam"), "pixel_critic": ("tf32", 512, "nchw", "adam"),
         "world_model": ("amp-bf16", 16, "nchw", "adam"), "light_graph": ("fp32", 4096, "nchw", "adam"),
         "galaxy_views": ("fp32", 128, "nchw", "momentum"), "unmasking_text": ("amp-bf16", 32, "nchw", "adamw"),
         "delta_rule": ("amp-bf16", 4, "nchw", "adamw")}
