# SPDX-License-Identifier: Apache-2.0
"""practice_eighth.py - networks for practice, the eighth set: shops, robots, games and experiments. See cases.py."""
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result, words


def shop_ranking():
    """Results of a shop's search: crossed features, experts for clicks and sales, and a loss by pairs of ranks."""
    class Net(nn.Module):
        def __init__(self, fields=22, each=20, dense=37, experts=6):
            super().__init__()
            self.tables = nn.ModuleList(nn.Embedding(2000 * (1 + n % 5 * 20), each) for n in range(fields))
            c = fields * each + dense
            self.norm = nn.BatchNorm1d(dense)
            self.cross = nn.ModuleList(nn.Sequential(nn.Linear(c, 96, bias=False), nn.Linear(96, c)) for _ in range(3))
            self.experts = nn.ModuleList(nn.Sequential(nn.Linear(c, 320), nn.ReLU(), nn.Dropout(0.1), nn.Linear(320, 160), nn.ReLU())
                                         for _ in range(experts))
            self.gates = nn.ModuleList(nn.Linear(c, experts) for _ in range(2))
            self.heads = nn.ModuleList(nn.Sequential(nn.Linear(160, 64), nn.ReLU(), nn.Linear(64, 1)) for _ in range(2))

        def forward(self, ids, dense, clicks, sales):
            b, n = ids.shape[:2]
            parts = [f(ids[..., k]) for k, f in enumerate(self.tables)]
            first = x = torch.cat([*parts, self.norm(dense.flatten(0, 1)).view_as(dense)], -1)
            for f in self.cross:
                x = first * f(x) + x
            y = torch.stack([f(x) for f in self.experts], -2)
            score = [h((g(x).softmax(-1).unsqueeze(-1) * y).sum(-2)).squeeze(-1) for g, h in zip(self.gates, self.heads)]
            s, gain = score[1].float(), (sales > 1.5).float() * 3 + (clicks > 1).float()
            rank = s.detach().argsort(1, descending=True).argsort(1).float()
            ideal = (gain.sort(1, descending=True)[0] / torch.log2(torch.arange(n, device=s.device) + 2.0)).sum(1).clamp(min=1e-3)
            change = (gain.unsqueeze(2) - gain.unsqueeze(1)).abs() * (1 / torch.log2(rank + 2).unsqueeze(2)
                                                                       - 1 / torch.log2(rank + 2).unsqueeze(1)).abs()
            above = (gain.unsqueeze(2) > gain.unsqueeze(1)).float()
            pairs = (F.softplus(-(s.unsqueeze(2) - s.unsqueeze(1))) * change * above).sum((1, 2)) / ideal
            return Result(pairs.mean() + F.binary_cross_entropy_with_logits(score[0], (clicks > 1).float()))

    def inputs(b):
        return words(b, 50 * 22).view(b, 50, 22), torch.zeros(b, 50, 37), torch.zeros(b, 50), torch.zeros(b, 50)
    return Net(), inputs, "own"


def next_purchases():
    """The next purchase of a session: GRU layers, and scores against drawn items that count by their softmax."""
    class Net(nn.Module):
        def __init__(self, items=60000, c=256, drawn=2048):
            super().__init__()
            self.item, self.drawn = nn.Embedding(items, c), drawn
            self.body = nn.GRU(c, c, 3, batch_first=True, dropout=0.2)
            self.drop, self.bias, self.norm = nn.Dropout(0.25), nn.Embedding(items, 1), nn.LayerNorm(c)

        def forward(self, ids):
            y = self.norm(self.body(self.drop(self.item(ids[:, :-1])))[0]).flatten(0, 1)
            asked = ids[:, 1:].flatten()
            others = torch.randint(self.item.num_embeddings, (self.drawn,), device=ids.device)
            good = (y * self.item(asked)).sum(-1, keepdim=True) + self.bias(asked)
            bad = y @ self.item(others).t() + self.bias(others).t()
            bad = bad.masked_fill(asked.unsqueeze(1) == others, -1e4)
            weight = bad.softmax(-1)
            loss = -torch.log((weight * torch.sigmoid(good - bad)).sum(-1) + 1e-8)
            return Result((loss + 0.1 * (weight * bad.clamp(min=-20) ** 2).sum(-1)).mean())
    return Net(), lambda b: words(b, 40), "own"


def turning_hand():
    """A robot's hand turns a cube: two critics from pictures, drawn actions with known chances, and slow copies."""
    class Eye(nn.Module):
        def __init__(self):
            super().__init__()
            self.f = nn.Sequential(nn.Conv2d(9, 32, 3, 2), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3),
                                   nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(), nn.Flatten(),
                                   nn.Linear(32 * 35 * 35, 50), nn.LayerNorm(50), nn.Tanh())

        def forward(self, x):
            b, n, h = x.shape[0], 4, x.shape[2]
            x = F.pad(x, (n, n, n, n), mode="replicate")
            line = torch.linspace(-1 + 1 / (h + 2 * n), 1 - 1 / (h + 2 * n), h + 2 * n, device=x.device)[:h]
            grid = torch.stack(torch.meshgrid(line, line, indexing="xy"), -1).expand(b, -1, -1, -1)
            move = torch.randint(0, 2 * n + 1, (b, 1, 1, 2), device=x.device) * (2.0 / (h + 2 * n))
            return self.f(F.grid_sample(x, grid + move, mode="nearest", padding_mode="zeros", align_corners=False))

    def dense(a, b, c=1024):
        return nn.Sequential(nn.Linear(a, c), nn.ReLU(), nn.Linear(c, c), nn.ReLU(), nn.Linear(c, b))

    class Net(nn.Module):
        def __init__(self, joints=48, actions=20):
            super().__init__()
            self.eye, self.actor = Eye(), dense(50 + joints, 2 * actions)
            self.critics = nn.ModuleList(dense(50 + joints + actions, 1) for _ in range(2))
            self.slow_eye, self.slow = copy.deepcopy(self.eye), copy.deepcopy(self.critics)
            self.heat = nn.Parameter(torch.zeros(1))
            for p in (*self.slow_eye.parameters(), *self.slow.parameters()):
                p.requires_grad_(False)

        def acted(self, x):
            mean, spread = self.actor(x).chunk(2, -1)
            spread = -5 + 3.5 * (torch.tanh(spread) + 1)
            chance = torch.distributions.Normal(mean, spread.exp(), validate_args=False)
            raw = chance.rsample()
            logs = (chance.log_prob(raw) - 2 * (math.log(2) - raw - F.softplus(-2 * raw))).sum(-1, keepdim=True)
            return torch.tanh(raw), logs

        def forward(self, seen, joints, action, reward, later, later_joints):
            with torch.no_grad():
                for old, new in zip((*self.slow_eye.parameters(), *self.slow.parameters()),
                                    (*self.eye.parameters(), *self.critics.parameters())):
                    old.lerp_(new, 0.01)
                act, logs = self.acted(torch.cat([self.eye(later), later_joints], -1))
                state = torch.cat([self.slow_eye(later), later_joints, act], -1)
                goal = reward + 0.99 * (torch.min(self.slow[0](state), self.slow[1](state)) - self.heat.exp() * logs)
            state = torch.cat([self.eye(seen), joints], -1)
            loss = sum(F.mse_loss(f(torch.cat([state, torch.tanh(action)], -1)), goal) for f in self.critics)
            act, logs = self.acted(state.detach())
            state = torch.cat([state.detach(), act], -1)
            loss = loss + (self.heat.exp().detach() * logs - torch.min(self.critics[0](state), self.critics[1](state))).mean()
            return Result(loss - (self.heat.exp() * (logs.detach() - 20)).mean())

    def inputs(b):
        return (torch.zeros(b, 9, 84, 84), torch.zeros(b, 48), torch.zeros(b, 20), torch.zeros(b, 1),
                torch.zeros(b, 9, 84, 84), torch.zeros(b, 48))
    return Net(), inputs, "own"


def wanted_returns():
    """Drives of a robot as a sequence of wanted return, state and action, read by a causal transformer."""
    class Net(nn.Module):
        def __init__(self, state=111, action=8, c=256, depth=6, steps=64):
            super().__init__()
            self.back, self.state, self.act = nn.Linear(1, c), nn.Linear(state, c), nn.Linear(action, c)
            self.time, self.norm = nn.Embedding(1000, c), nn.LayerNorm(c)
            layer = nn.TransformerEncoderLayer(c, 4, 4 * c, 0.1, "relu", batch_first=True)
            self.body = nn.TransformerEncoder(layer, depth)
            self.to_act, self.to_state = nn.Sequential(nn.Linear(c, action), nn.Tanh()), nn.Linear(c, state)

        def forward(self, back, state, act, time):
            b, n = time.shape
            when = self.time(time)
            x = torch.stack([self.back(back) + when, self.state(state) + when, self.act(act) + when], 2).flatten(1, 2)
            mask = nn.Transformer.generate_square_subsequent_mask(3 * n, device=x.device)
            x = self.body(self.norm(x), mask=mask, is_causal=True).view(b, n, 3, -1)
            loss = F.mse_loss(self.to_act(x[:, :, 1]), act.clamp(-1, 1))
            return Result(loss + 0.1 * F.mse_loss(self.to_state(x[:, :-1, 2]), state[:, 1:]))

    def inputs(b):
        return torch.zeros(b, 64, 1), torch.zeros(b, 64, 111), torch.zeros(b, 64, 8), words(b, 64)
    return Net(), inputs, "own"


def plankton_twins():
    """Plankton without labels: a residual network predicts what its slow copy says of another view."""
    class Block(nn.Module):
        def __init__(self, a, b, stride):
            super().__init__()
            self.f = nn.Sequential(nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
                                   nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b))
            self.skip = nn.Identity() if a == b else nn.Sequential(nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))

        def forward(self, x):
            return F.relu(self.f(x) + self.skip(x))

    def dense(a, b):
        return nn.Sequential(nn.Linear(a, 2048), nn.BatchNorm1d(2048), nn.ReLU(inplace=True), nn.Linear(2048, b))

    class Net(nn.Module):
        def __init__(self, widths=(48, 48, 96, 96, 192, 192, 384, 384)):
            super().__init__()
            body = [Block(a, b, 1 if a == b else 2) for a, b in zip((48, *widths), widths)]
            self.fast = nn.Sequential(nn.Conv2d(1, 48, 5, 2, 2, bias=False), nn.BatchNorm2d(48), nn.ReLU(), *body,
                                      nn.AdaptiveAvgPool2d(1), nn.Flatten(), dense(384, 256))
            self.slow, self.guess = copy.deepcopy(self.fast), dense(256, 256)
            for p in self.slow.parameters():
                p.requires_grad_(False)

        def forward(self, one, two):
            with torch.no_grad():
                for old, new in zip(self.slow.parameters(), self.fast.parameters()):
                    old.mul_(0.99).add_(new, alpha=0.01)
                a, b = self.slow(one), self.slow(two)
            p, q = self.guess(self.fast(one)), self.guess(self.fast(two))
            return Result(2 - F.cosine_similarity(p, b).mean() - F.cosine_similarity(q, a).mean())
    return Net(), lambda b: (torch.zeros(b, 1, 128, 128), torch.zeros(b, 1, 128, 128)), "own"


def texture_critic():
    """Textures from noise: a generator with transposed filters, and a critic whose gradient has length one."""
    class Net(nn.Module):
        def __init__(self, c=48):
            super().__init__()
            g, a = [nn.ConvTranspose2d(128, 8 * c, 4, 1, 0, bias=False), nn.BatchNorm2d(8 * c), nn.ReLU()], 8 * c
            for b in (4 * c, 2 * c, c):
                g += [nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
                a = b
            self.g = nn.Sequential(*g, nn.ConvTranspose2d(c, 3, 4, 2, 1), nn.Tanh())
            d, a = [], 3
            for b in (c, 2 * c, 4 * c, 8 * c):
                d += [nn.Conv2d(a, b, 4, 2, 1), nn.InstanceNorm2d(b, affine=True), nn.LeakyReLU(0.2)]
                a = b
            self.d = nn.Sequential(*d, nn.Conv2d(8 * c, 1, 4))

        def forward(self, real, z):
            fake = self.g(z[:, :, None, None])
            part = torch.rand(len(real), 1, 1, 1, device=real.device)
            mixed = (part * real + (1 - part) * fake.detach()).requires_grad_(True)
            slope = torch.autograd.grad(self.d(mixed).sum(), mixed, create_graph=True)[0]
            penalty = (slope.flatten(1).norm(2, dim=1) - 1).pow(2).mean()
            critic = self.d(fake.detach()).mean() - self.d(real).mean() + 10 * penalty
            return Result(critic - self.d(fake).mean())
    return Net(), lambda b: (torch.zeros(b, 3, 64, 64), torch.zeros(b, 128)), "own"


def noisy_cards():
    """A player of cards: dense layers with noise in their weights, and values as distributions over 51 returns."""
    class Noisy(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.w, self.b = nn.Parameter(torch.randn(b, a) * a ** -0.5), nn.Parameter(torch.zeros(b))
            self.sw, self.sb = nn.Parameter(torch.full((b, a), 0.5 * a ** -0.5)), nn.Parameter(torch.full((b,), 0.5 * a ** -0.5))

        def forward(self, x):
            i, o = (torch.randn(n, device=x.device) for n in (self.w.shape[1], self.w.shape[0]))
            i, o = (t.sign() * t.abs().sqrt() for t in (i, o))
            return F.linear(x, self.w + self.sw * torch.outer(o, i), self.b + self.sb * o)

    class Value(nn.Module):
        def __init__(self, seen, c, actions, bins):
            super().__init__()
            self.actions, self.bins = actions, bins
            self.enter = nn.Sequential(nn.Linear(seen, c), nn.LayerNorm(c), nn.ReLU(), nn.Linear(c, c), nn.LayerNorm(c), nn.ReLU())
            self.v1, self.v2, self.a1, self.a2 = Noisy(c, c), Noisy(c, bins), Noisy(c, c), Noisy(c, actions * bins)

        def forward(self, x):
            x = self.enter(x)
            v, a = self.v2(F.relu(self.v1(x))).unsqueeze(1), self.a2(F.relu(self.a1(x))).unflatten(1, (self.actions, self.bins))
            return v + a - a.mean(1, keepdim=True)

    class Net(nn.Module):
        def __init__(self, seen=658, c=1536, actions=38, bins=51):
            super().__init__()
            self.fast = Value(seen, c, actions, bins)
            self.slow = copy.deepcopy(self.fast).requires_grad_(False)
            self.register_buffer("returns", torch.linspace(-25, 25, bins))

        def forward(self, seen, later, reward, act, weight):
            n, act = len(self.returns), act % self.fast.actions
            with torch.no_grad():
                best = (self.fast(later).softmax(-1) * self.returns).sum(-1).argmax(1)
                chance = self.slow(later).softmax(-1)
                chance = chance.gather(1, best.view(-1, 1, 1).expand(-1, 1, n)).squeeze(1)
                place = ((reward + 0.97 * self.returns).clamp(-25, 25) + 25) / (50 / (n - 1))
                low, high = place.floor().long(), place.ceil().long()
                row = torch.arange(len(seen), device=seen.device).unsqueeze(1) * n
                goal = torch.zeros(len(seen) * n, device=seen.device)
                goal.index_add_(0, (low + row).flatten(), (chance * (high - place + (low == high))).flatten())
                goal.index_add_(0, (high + row).flatten(), (chance * (place - low)).flatten())
            logs = self.fast(seen).log_softmax(-1).gather(1, act.view(-1, 1, 1).expand(-1, 1, n)).squeeze(1)
            return Result((F.kl_div(logs, goal.view(-1, n), reduction="none").sum(-1) * weight.abs()).mean())

    def inputs(b):
        return (torch.zeros(b, 658), torch.zeros(b, 658), torch.zeros(b, 1), torch.zeros(b, dtype=torch.int64), torch.zeros(b))
    return Net(), inputs, "own"


def linked_accounts():
    """Fraud among linked accounts: payments pass messages, normalised by degrees, with a loss for rare cases."""
    class Layer(nn.Module):
        def __init__(self, c, edge):
            super().__init__()
            self.message, self.own = nn.Linear(c + edge, c), nn.Linear(c, c)
            self.gate, self.norm = nn.Linear(2 * c + edge, 1), nn.BatchNorm1d(c)

        def forward(self, x, source, to, edge):
            a = torch.cat([x[source], edge], -1)
            weight = torch.sigmoid(self.gate(torch.cat([a, x[to]], -1)))
            y = (F.relu(self.message(a)) * weight).to(x.dtype)
            total = torch.zeros_like(x).index_add(0, to, y)
            count = torch.zeros(len(x), 1, device=x.device, dtype=x.dtype).index_add(0, to, torch.ones_like(weight, dtype=x.dtype))
            return x + F.gelu(self.norm(self.own(x) + total / count.clamp(min=1)))

    class Net(nn.Module):
        def __init__(self, nodes=4000, c=128, depth=4):
            super().__init__()
            self.country, self.enter = nn.Embedding(240, 16), nn.Sequential(nn.Linear(48, c), nn.ReLU())
            self.pay = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
            self.body = nn.ModuleList(Layer(c, 32) for _ in range(depth))
            self.out = nn.Sequential(nn.Linear(c, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 1))

        def forward(self, accounts, country, source, to, payments, truth):
            b, n = accounts.shape[:2]
            shift = torch.arange(b, device=accounts.device).unsqueeze(1) * n
            e = source.shape[1]
            spread = torch.arange(e, device=accounts.device) * 37
            source, to = ((source + spread) % n + shift).flatten(), ((to + spread // 11) % n + shift).flatten()
            x = self.enter(torch.cat([accounts, self.country(country)], -1).flatten(0, 1))
            edge = self.pay(payments.flatten(0, 1))
            for f in self.body:
                x = f(x, source, to, edge)
            score, truth = self.out(x).view(b, n), (truth > 2).float()
            p = torch.sigmoid(score)
            each = F.binary_cross_entropy_with_logits(score, truth, reduction="none")
            right = p * truth + (1 - p) * (1 - truth)
            hinge = F.relu(1 - (truth * 2 - 1) * score).mean()
            return Result(((0.75 * truth + 0.25 * (1 - truth)) * (1 - right) ** 2 * each).mean() + 0.1 * hinge)

    def inputs(b):
        return (torch.zeros(b, 4000, 32), words(b, 4000), words(b, 24000), words(b, 24000), torch.zeros(b, 24000, 12),
                torch.zeros(b, 4000))
    return Net(), inputs, "own"


def routed_capsules():
    """Toys in stereo pictures: capsules that agree by three rounds of routing, margins, and a drawn reconstruction."""
    class Net(nn.Module):
        def __init__(self, kinds=10, low=32, size=8, high=16):
            super().__init__()
            self.enter, self.first = nn.Conv2d(2, 256, 9), nn.Conv2d(256, low * size, 9, 2)
            self.size, self.count = size, low * 8 * 8
            self.w = nn.Parameter(torch.randn(1, self.count, kinds, high, size) * 0.05)
            self.draw = nn.Sequential(nn.Linear(kinds * high, 512), nn.ReLU(), nn.Linear(512, 1024), nn.ReLU(),
                                      nn.Linear(1024, 2 * 32 * 32), nn.Sigmoid())

        @staticmethod
        def squashed(x):
            long = x.pow(2).sum(-1, keepdim=True)
            return long / (1 + long) * x / (long + 1e-7).sqrt()

        def forward(self, x, labels):
            b = len(x)
            u = self.squashed(self.first(F.relu(self.enter(x))).view(b, -1, self.size))
            u = (self.w @ u[:, :, None, :, None]).squeeze(-1)
            agree, still = torch.zeros(b, self.count, u.shape[2], 1, device=x.device), u.detach()
            for n in range(3):
                weight = agree.softmax(2)
                if n == 2:
                    v = self.squashed((weight * u).sum(1))
                else:
                    v = self.squashed((weight * still).sum(1))
                    agree = agree + (still * v.unsqueeze(1)).sum(-1, keepdim=True)
            long, once = v.norm(dim=-1), F.one_hot(labels, v.shape[1]).float()
            margin = once * F.relu(0.9 - long).pow(2) + 0.5 * (1 - once) * F.relu(long - 0.1).pow(2)
            drawn = self.draw((v * once.unsqueeze(-1)).flatten(1))
            return Result(margin.sum(1).mean() + 5e-4 * F.mse_loss(drawn, x.flatten(1), reduction="sum") / b)
    return Net(), lambda b: {"x": torch.zeros(b, 2, 32, 32), "labels": torch.zeros(b, dtype=torch.int64)}, "own"


def outlooked_birds():
    """Kinds of birds: weights for windows come from their centres, windows are unfolded, mixed and folded back."""
    class Look(nn.Module):
        def __init__(self, c, heads, k=3):
            super().__init__()
            self.heads, self.k, self.n1, self.n2 = heads, k, nn.LayerNorm(c), nn.LayerNorm(c)
            self.v, self.a, self.o = nn.Linear(c, c, bias=False), nn.Linear(c, heads * k ** 4), nn.Linear(c, c)
            self.f = nn.Sequential(nn.Linear(c, 3 * c), nn.GELU(), nn.Linear(3 * c, c))

        def forward(self, x):
            b, h, w, c = x.shape
            y, k2 = self.n1(x), self.k ** 2
            v = F.unfold(self.v(y).permute(0, 3, 1, 2), self.k, padding=1, stride=2)
            v = v.view(b, self.heads, c // self.heads, k2, -1).permute(0, 1, 4, 3, 2)
            at = F.avg_pool2d(y.permute(0, 3, 1, 2), 2, ceil_mode=True).permute(0, 2, 3, 1)
            at = self.a(at).view(b, -1, self.heads, k2, k2).transpose(1, 2) * (c // self.heads) ** -0.5
            y = (at.softmax(-1) @ v).permute(0, 1, 4, 3, 2).reshape(b, c * k2, -1)
            y = F.fold(y, (h, w), self.k, padding=1, stride=2).permute(0, 2, 3, 1)
            x = x + self.o(y)
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, kinds=200, c=192):
            super().__init__()
            self.enter = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                                       nn.Conv2d(64, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, c, 4, 4))
            self.near = nn.Sequential(*(Look(c, 6) for _ in range(4)))
            self.join = nn.Conv2d(c, 2 * c, 2, 2)
            layer = nn.TransformerEncoderLayer(2 * c, 12, 6 * c, 0.0, "gelu", batch_first=True, norm_first=True)
            self.far = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
            self.place, self.out = nn.Parameter(torch.zeros(1, 196, 2 * c)), nn.Linear(2 * c, kinds)

        def forward(self, x, labels):
            x = self.near(self.enter(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
            x = self.far(self.join(x).flatten(2).transpose(1, 2) + self.place)
            part = torch.rand(1, device=x.device)
            score = self.out(F.lp_pool1d(x.float().transpose(1, 2), 2, 196).squeeze(-1) / 14)
            return Result(part.squeeze() * F.cross_entropy(score, labels, label_smoothing=0.1)
                          + (1 - part.squeeze()) * F.cross_entropy(score, labels.flip(0), label_smoothing=0.1))
    return Net(), lambda b: {"x": torch.zeros(b, 3, 224, 224), "labels": torch.zeros(b, dtype=torch.int64)}, "own"


def drawn_handwriting():
    """Handwriting from text: LSTM cells step by step with a window that slides over letters, and mixtures of strokes."""
    class Net(nn.Module):
        def __init__(self, letters=80, c=400, windows=10, mixtures=20):
            super().__init__()
            self.c, self.letter = c, nn.Embedding(letters, 64)
            self.one = nn.LSTMCell(3 + 64, c)
            self.two, self.three = nn.LSTMCell(3 + 64 + c, c), nn.LSTMCell(3 + 64 + c, c)
            self.window, self.out = nn.Linear(c, 3 * windows), nn.Linear(3 * c, 1 + 6 * mixtures)

        def forward(self, strokes, text):
            b, t, _ = strokes.shape
            read = self.letter(text)
            place = torch.arange(text.shape[1], device=text.device).float()
            zero = strokes.new_zeros(b, self.c)
            one = two = three = (zero, zero)
            seen, at, kept = read[:, 0], strokes.new_zeros(b, self.window.out_features // 3), []
            for n in range(t - 1):
                x = strokes[:, n]
                one = self.one(torch.cat([x, seen], -1), one)
                high, sharp, move = self.window(one[0]).chunk(3, -1)
                at = at + torch.exp(move.clamp(max=3)) * 0.05
                weight = (high.clamp(max=8).exp().unsqueeze(-1) * torch.exp(-sharp.clamp(max=8).exp().unsqueeze(-1)
                                                                             * (at.unsqueeze(-1) - place) ** 2)).sum(1)
                seen = torch.bmm(weight.unsqueeze(1), read).squeeze(1)
                two = self.two(torch.cat([x, seen, one[0]], -1), two)
                three = self.three(torch.cat([x, seen, two[0]], -1), three)
                kept.append(torch.cat([one[0], two[0], three[0]], -1))
            y = self.out(torch.stack(kept, 1))
            lift, rest = y[..., 0], y[..., 1:].unflatten(-1, (6, -1))
            share, mx, my, sx, sy, r = rest.unbind(-2)
            r, sx, sy = torch.tanh(r) * 0.95, sx.clamp(-5, 5), sy.clamp(-5, 5)
            dx, dy = (strokes[:, 1:, :1] - mx) * torch.exp(-sx), (strokes[:, 1:, 1:2] - my) * torch.exp(-sy)
            logs = -(dx ** 2 + dy ** 2 - 2 * r * dx * dy) / (2 * (1 - r ** 2)) - sx - sy - 0.5 * torch.log1p(-r ** 2) - math.log(2 * math.pi)
            fit = torch.logsumexp(logs + share.log_softmax(-1), -1)
            return Result(-fit.mean() + F.binary_cross_entropy_with_logits(lift, (strokes[:, 1:, 2] > 1.5).float()))
    return Net(), lambda b: (torch.zeros(b, 121, 3), words(b, 32)), "own"


NETWORKS = {f.__name__: f for f in (shop_ranking, next_purchases, turning_hand, wanted_returns, plankton_twins,
                                    texture_critic, noisy_cards, linked_accounts, routed_capsules, outlooked_birds,
                                    drawn_handwriting)}
STEPS = {"shop_ranking": ("tf32", 192, "nchw", "adam"), "next_purchases": ("amp-fp16", 192, "nchw", "adam"),
         "turning_hand": ("fp32", 256, "nchw", "adam"), "wanted_returns": ("tf32", 64, "nchw", "adamw"),
         "plankton_twins": ("amp-fp16", 128, "nhwc", "momentum"), "texture_critic": ("fp32", 64, "nchw", "adam"),
         "noisy_cards": ("fp32", 2048, "nchw", "adam"), "linked_accounts": ("amp-bf16", 6, "nchw", "adamw"),
         "routed_capsules": ("tf32", 96, "nchw", "adam"), "outlooked_birds": ("amp-bf16", 48, "nchw", "adamw"),
         "drawn_handwriting": ("fp32", 64, "nchw", "adam")}
