# SPDX-License-Identifier: Apache-2.0
"""written_twentyninth.py - the rest of the fifteenth set of networks: control, clicks, graphs, series. See cases.py."""
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, Result, words


def quantile_player():
    """A player of old games: returns at random quantiles, layers with noisy weights, and a slow copy for the goal."""
    class Noisy(nn.Module):
        def __init__(self, i, o, spread=0.5):
            super().__init__()
            near = 1 / math.sqrt(i)
            self.i, self.o = i, o
            self.weight = nn.Parameter(torch.empty(o, i).uniform_(-near, near))
            self.bias = nn.Parameter(torch.empty(o).uniform_(-near, near))
            self.more, self.shift = (nn.Parameter(torch.full_like(t, spread * near)) for t in (self.weight, self.bias))

        def forward(self, x):
            a, b = torch.randn(self.i, device=x.device), torch.randn(self.o, device=x.device)
            a, b = (t.sign() * t.abs().sqrt() for t in (a, b))
            return F.linear(x, self.weight + self.more * torch.outer(b, a), self.bias + self.shift * b)

    class Player(nn.Module):
        def __init__(self, actions=18, c=3136, wide=512, waves=64):
            super().__init__()
            self.eye = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
                                     nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten())
            self.wave = nn.Sequential(nn.Linear(waves, c), nn.ReLU())
            self.value = nn.Sequential(Noisy(c, wide), nn.ReLU(), Noisy(wide, 1))
            self.better = nn.Sequential(Noisy(c, wide), nn.ReLU(), Noisy(wide, actions))
            self.register_buffer("rate", math.pi * torch.arange(1, waves + 1), persistent=False)

        def forward(self, frames, n):
            x = self.eye(frames)
            part = torch.rand(len(x), n, device=x.device)
            x = x.unsqueeze(1) * self.wave(torch.cos(part.unsqueeze(-1) * self.rate))
            a = self.better(x)
            return self.value(x) + a - a.mean(-1, keepdim=True), part

    class Net(nn.Module):
        def __init__(self, n=64, keep=0.99 ** 3):
            super().__init__()
            self.n, self.keep, self.now = n, keep, Player()
            self.slow = copy.deepcopy(self.now).requires_grad_(False)

        def forward(self, frames, later, reward, end, labels):
            with torch.no_grad():
                best = self.now(later, self.n)[0].mean(1).argmax(-1)
                goal = self.slow(later, self.n)[0].gather(2, best[:, None, None].expand(-1, self.n, 1)).squeeze(-1)
                goal = reward.unsqueeze(1) + self.keep * (end < 1.5).float().unsqueeze(1) * goal
            found, part = self.now(frames, self.n)
            found = found.gather(2, labels[:, None, None].expand(-1, self.n, 1)).squeeze(-1)
            far = goal.unsqueeze(1) - found.unsqueeze(2)
            size = torch.where(far.abs() <= 1, 0.5 * far.pow(2), far.abs() - 0.5)
            loss = (part.unsqueeze(2) - (far.detach() < 0).float()).abs() * size
            return Result(loss.mean(2).sum(1).mean())

    def inputs(b):
        return {"frames": torch.zeros(b, 4, 84, 84), "later": torch.zeros(b, 4, 84, 84), "reward": torch.zeros(b),
                "end": torch.zeros(b), "labels": torch.zeros(b, dtype=torch.int64)}
    return Net(), inputs, "own"


def lane_vectors():
    """Where cars drive next: polylines of lanes and tracks are pooled and attend to each other; six futures compete."""
    class Lines(nn.Module):
        def __init__(self, i, c, depth=3):
            super().__init__()
            self.f = nn.ModuleList(nn.Sequential(nn.Linear(i if n == 0 else 2 * c, c), nn.LayerNorm(c), nn.ReLU(),
                                                 nn.Linear(c, c), nn.LayerNorm(c), nn.ReLU()) for n in range(depth))
            self.out = nn.Linear(2 * c, 2 * c)

        def forward(self, x, known):
            known = known.unsqueeze(-1)
            for f in self.f:
                x = f(x)
                top = x.masked_fill(~known, -1e4).amax(2, keepdim=True)
                x = torch.cat([x, top.expand_as(x)], -1)
            return F.normalize(self.out(x).masked_fill(~known, -1e4).amax(2), dim=-1)

    class Cross(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.own = nn.MultiheadAttention(c, heads, 0.1, batch_first=True)
            self.other = nn.MultiheadAttention(c, heads, 0.1, batch_first=True)
            self.n1, self.n2, self.n3 = (nn.LayerNorm(c) for _ in range(3))
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.ReLU(), nn.Dropout(0.1), nn.Linear(4 * c, c))

        def forward(self, x, seen, hidden):
            y = self.n1(x)
            x = x + self.own(y, y, y, need_weights=False)[0]
            x = x + self.other(self.n2(x), seen, seen, key_padding_mask=hidden, need_weights=False)[0]
            return x + self.f(self.n3(x))

    class Net(nn.Module):
        def __init__(self, c=128, modes=6, steps=80):
            super().__init__()
            self.steps, self.lane, self.track = steps, Lines(9, c), Lines(12, c)
            layer = nn.TransformerEncoderLayer(2 * c, 8, 8 * c, 0.1, batch_first=True, norm_first=True)
            self.body = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
            self.modes = nn.Parameter(torch.randn(modes, 2 * c) * 0.1)
            self.cross = nn.ModuleList(Cross(2 * c, 8) for _ in range(6))
            self.way = nn.ModuleList(nn.Sequential(nn.Linear(2 * c, 512), nn.ReLU(), nn.Linear(512, 5 * steps))
                                     for _ in range(6))
            self.chance = nn.ModuleList(nn.Linear(2 * c, 1) for _ in range(6))

        def forward(self, lanes, tracks, future):
            lane_known, track_known = lanes[..., 0] > -1, tracks[..., 0] > -1
            x = torch.cat([self.track(tracks, track_known), self.lane(lanes, lane_known)], 1)
            hidden = ~torch.cat([track_known.any(2), lane_known.any(2)], 1)
            hidden = torch.cat([torch.zeros_like(hidden[:, :1]), hidden[:, 1:]], 1)
            x = self.body(x, src_key_padding_mask=hidden)
            q, loss = self.modes + x[:, :1], 0
            for f, way, chance in zip(self.cross, self.way, self.chance):
                q = f(q, x, hidden)
                found = way(q).float().unflatten(-1, (self.steps, 5))
                far = (found[..., :2] - future.unsqueeze(1)).norm(dim=-1)
                best = far.mean(-1).argmin(-1)
                mine = found[torch.arange(len(q), device=q.device), best]
                rest, log = future - mine[..., :2], mine[..., 2:4].clamp(-1.6, 5)
                turn = mine[..., 4].tanh() * 0.5
                a, b = (rest / log.exp()).unbind(-1)
                shape = (a * a + b * b - 2 * turn * a * b) / (2 * (1 - turn ** 2))
                loss = loss + (log.sum(-1) + 0.5 * torch.log(1 - turn ** 2) + shape).mean()
                loss = loss + F.cross_entropy(chance(q).float().squeeze(-1), best)
            return Result(loss / len(self.cross))
    return Net(), lambda b: (torch.zeros(b, 192, 20, 9), torch.zeros(b, 32, 11, 12), torch.zeros(b, 80, 2)), "own"


def session_graphs():
    """The next item of a visit to a shop: items are a graph of clicks, gates carry messages, the last click asks."""
    class Net(nn.Module):
        def __init__(self, items=43098, c=256, steps=2):
            super().__init__()
            self.item, self.steps = nn.Embedding(items, c, padding_idx=0), steps
            self.into, self.away = nn.Linear(c, c), nn.Linear(c, c)
            self.gate, self.own = nn.Linear(2 * c, 3 * c), nn.Linear(c, 3 * c)
            self.last, self.all = nn.Linear(c, c), nn.Linear(c, c)
            self.weight, self.join = nn.Linear(c, 1, bias=False), nn.Linear(2 * c, c)

        def links(self, order):
            """Counts of clicks from one of the visit's items to the next, and each click's own row."""
            near = F.one_hot(order, order.shape[1]).to(torch.float32)
            count = torch.einsum("bti,btj->bij", near[:, :-1], near[:, 1:])
            return (count / count.sum(1, keepdim=True).clamp(min=1), count.transpose(1, 2)
                    / count.sum(2).unsqueeze(1).clamp(min=1), near)

        def forward(self, items, order, labels):
            into, away, near = self.links(order.argsort(1).div(2, rounding_mode="floor"))
            x = self.item(items)
            for _ in range(self.steps):
                said = torch.cat([torch.bmm(into, self.into(x)), torch.bmm(away, self.away(x))], -1)
                (r, z, n), (a, b, c) = self.gate(said).chunk(3, -1), self.own(x).chunk(3, -1)
                keep = torch.sigmoid(z + b)
                new = torch.tanh(n + torch.sigmoid(r + a) * c)
                x = new + keep * (x - new)
            seen = torch.bmm(near, x)
            last = seen[:, -1]
            look = self.weight(torch.sigmoid(self.last(last).unsqueeze(1) + self.all(seen)))
            known = (items > 0).float().unsqueeze(-1)
            found = self.join(torch.cat([(look * seen * known).sum(1), last], -1))
            score = F.normalize(found, dim=-1) @ F.normalize(self.item.weight[1:], dim=-1).t()
            return Result(F.cross_entropy(12 * score, labels))

    def inputs(b):
        return {"items": words(b, 20), "order": torch.zeros(b, 20), "labels": torch.zeros(b, dtype=torch.int64)}
    return Net(), inputs, "own"


def shared_tasks():
    """Clicks, likes, shares and time watched: bags of ids, experts of one task and of all, and gates in two levels."""
    class Level(nn.Module):
        def __init__(self, i, o, tasks, own, shared, last):
            super().__init__()
            def expert():
                return nn.Sequential(nn.Linear(i, o), nn.ReLU(), nn.BatchNorm1d(o))
            self.own = nn.ModuleList(nn.ModuleList(expert() for _ in range(own)) for _ in range(tasks))
            self.shared = nn.ModuleList(expert() for _ in range(shared))
            self.gate = nn.ModuleList(nn.Linear(i, own + shared) for _ in range(tasks))
            self.all = None if last else nn.Linear(i, own * tasks + shared)

        def forward(self, parts):
            *tasks, common = parts
            shared = [f(common) for f in self.shared]
            own = [[f(x) for f in fs] for fs, x in zip(self.own, tasks)]
            found = [(torch.stack(mine + shared, 1) * gate(x).softmax(-1).unsqueeze(-1)).sum(1)
                     for mine, gate, x in zip(own, self.gate, tasks)]
            if self.all is not None:
                every = torch.stack([y for mine in own for y in mine] + shared, 1)
                found.append(torch.einsum("bec,be->bc", every, self.all(common).softmax(-1)))
            return found

    class Net(nn.Module):
        def __init__(self, rows=200_000, fields=30, bags=8, c=32, dense=64, tasks=4):
            super().__init__()
            self.one, self.bag = nn.Embedding(rows, c), nn.ModuleList(
                nn.EmbeddingBag(rows, c, mode="mean") for _ in range(bags))
            self.norm = nn.BatchNorm1d(dense)
            wide = (fields + bags) * c + dense
            self.tasks, self.levels = tasks, nn.ModuleList([Level(wide, 512, tasks, 2, 4, False),
                                                            Level(512, 256, tasks, 2, 4, True)])
            self.tower = nn.ModuleList(nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 1))
                                       for _ in range(tasks))
            self.spread = nn.Parameter(torch.zeros(tasks))

        def forward(self, ids, history, dense, goals):
            bags = [f(h) for f, h in zip(self.bag, history.unbind(1))]
            x = torch.cat([self.one(ids).flatten(1), *bags, self.norm(dense)], 1)
            parts = [x] * (self.tasks + 1)
            for f in self.levels:
                parts = f(parts)
            score = torch.cat([f(p) for f, p in zip(self.tower, parts)], 1).float()
            yes = (goals[:, :3] > 1).float()
            chance = score[:, :3].sigmoid()
            both = torch.cat([chance[:, :1], chance[:, :1] * chance[:, 1:]], 1).clamp(1e-6, 1 - 1e-6)
            loss = -(yes * both.log() + (1 - yes) * torch.log1p(-both)).mean(0)
            loss = torch.cat([loss, F.smooth_l1_loss(score[:, 3], goals[:, 3].abs().log1p()).unsqueeze(0)])
            return Result((loss * torch.exp(-self.spread) + self.spread).sum())

    def inputs(b):
        return words(b, 30), torch.zeros(b, 8, 20, dtype=torch.int64), torch.zeros(b, 64), torch.zeros(b, 4)
    return Net(), inputs, "own"


def bond_messages():
    """Toxicity of molecules: messages go along directed bonds, except back where they came from; atoms add them up."""
    def taken(x, index):
        return x.gather(1, index.unsqueeze(-1).expand(-1, -1, x.shape[-1]))

    class Net(nn.Module):
        def __init__(self, atom=133, bond=14, c=600, depth=5, tasks=12, more=200):
            super().__init__()
            self.depth, self.enter = depth, nn.Linear(atom + bond, c, bias=False)
            self.step, self.atom = nn.Linear(c, c, bias=False), nn.Linear(atom + c, c)
            self.out = nn.Sequential(nn.Dropout(0.1), nn.Linear(c + more, c), nn.ReLU(), nn.Dropout(0.1),
                                     nn.Linear(c, c), nn.ReLU(), nn.Linear(c, tasks))

        def forward(self, atoms, bonds, start, end, more, goals):
            start, end = start.long(), end.long()
            back = torch.arange(bonds.shape[1], device=bonds.device).view(-1, 2).flip(1).flatten()
            first = self.enter(torch.cat([taken(atoms, start), bonds], -1))
            x, empty = F.relu(first), atoms.new_zeros(*atoms.shape[:2], first.shape[-1])
            into = end.unsqueeze(-1).expand(-1, -1, first.shape[-1])
            for _ in range(self.depth - 1):
                total = empty.to(x.dtype).scatter_add(1, into, x)
                said = taken(total, start) - x[:, back]
                x = F.dropout(F.relu(first + self.step(said)), 0.1, self.training)
            total = empty.to(x.dtype).scatter_add(1, into, x)
            x = F.relu(self.atom(torch.cat([atoms, total], -1)))
            score = self.out(torch.cat([x.mean(1), more], -1))
            known = (goals.abs() < 1.5).float()
            loss = F.binary_cross_entropy_with_logits(score, (goals > 0).float(), reduction="none")
            return Result((loss * known).sum() / (known.sum() + 1))

    def inputs(b, atoms=32, bonds=34):
        one = torch.arange(bonds) % atoms
        two = torch.where(torch.arange(bonds) < atoms, one + 1, one + 5) % atoms
        start, end = torch.stack([one, two], 1).flatten().int(), torch.stack([two, one], 1).flatten().int()
        return (torch.zeros(b, atoms, 133), torch.zeros(b, 2 * bonds, 14), start.repeat(b, 1), end.repeat(b, 1),
                torch.zeros(b, 200), torch.zeros(b, 12))
    return Net(), inputs, "own"


def load_fusion():
    """Power a day ahead: gates choose variables, an LSTM reads them, one attention looks back, nine quantiles."""
    class Gated(nn.Module):
        def __init__(self, i, c, o=None, told=False):
            super().__init__()
            o = o or c
            self.a, self.b = nn.Linear(i, c), nn.Linear(c, c)
            self.told = nn.Linear(c, c, bias=False) if told else None
            self.gate, self.norm = nn.Linear(c, 2 * o), nn.LayerNorm(o)
            self.skip, self.drop = nn.Identity() if i == o else nn.Linear(i, o), nn.Dropout(0.1)

        def forward(self, x, told=None):
            y = self.a(x) if told is None else self.a(x) + self.told(told)
            return self.norm(self.skip(x) + F.glu(self.gate(self.drop(self.b(F.elu(y)))), -1))

    class Choose(nn.Module):
        def __init__(self, n, c, told=True):
            super().__init__()
            self.weight, self.f = Gated(n * c, c, n, told), nn.ModuleList(Gated(c, c) for _ in range(n))

        def forward(self, x, told=None):
            weight = self.weight(x.flatten(-2), told).softmax(-1)
            return (torch.stack([f(t) for f, t in zip(self.f, x.unbind(-2))], -2) * weight.unsqueeze(-1)).sum(-2)

    class Net(nn.Module):
        def __init__(self, past=10, future=5, fixed=4, rows=400, c=160, heads=4, ahead=24, long=168, parts=9):
            super().__init__()
            self.ahead, self.heads = ahead, heads
            self.fixed = nn.ModuleList(nn.Embedding(rows, c) for _ in range(fixed))
            self.past, self.future = (nn.Parameter(torch.randn(2, n, c) * 0.1) for n in (past, future))
            self.still, self.before, self.after = Choose(fixed, c, False), Choose(past, c), Choose(future, c)
            self.told = nn.ModuleList(Gated(c, c) for _ in range(4))
            self.read, self.write = nn.LSTM(c, c, batch_first=True), nn.LSTM(c, c, batch_first=True)
            self.gate1, self.n1 = nn.Linear(c, 2 * c), nn.LayerNorm(c)
            self.rich, self.q, self.k = Gated(c, c, told=True), nn.Linear(c, c), nn.Linear(c, c)
            self.v, self.o = nn.Linear(c, c // heads), nn.Linear(c // heads, c, bias=False)
            self.gate2, self.n2, self.f = nn.Linear(c, 2 * c), nn.LayerNorm(c), Gated(c, c)
            self.gate3, self.n3, self.out = nn.Linear(c, 2 * c), nn.LayerNorm(c), nn.Linear(c, parts)
            mask = torch.ones(ahead, long + ahead, dtype=torch.bool).triu(long + 1)
            self.register_buffer("mask", mask, persistent=False)
            self.register_buffer("level", torch.linspace(0.1, 0.9, parts), persistent=False)

        def forward(self, past, future, fixed, goal):
            still = torch.stack([f(t) for f, t in zip(self.fixed, fixed.unbind(1))], 1)
            still = self.still(still)
            pick, rich, h, c = (f(still) for f in self.told)
            x = self.before(past.unsqueeze(-1) * self.past[0] + self.past[1], pick.unsqueeze(1))
            y = self.after(future.unsqueeze(-1) * self.future[0] + self.future[1], pick.unsqueeze(1))
            a, state = self.read(x, (h.unsqueeze(0), c.unsqueeze(0)))
            b, _ = self.write(y, state)
            x = self.n1(torch.cat([x, y], 1) + F.glu(self.gate1(torch.cat([a, b], 1)), -1))
            rich = self.rich(x, rich.unsqueeze(1))
            q = self.q(rich[:, -self.ahead:]).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            k = self.k(rich).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            look = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(self.mask, -1e9).softmax(-1)
            y = self.o(torch.matmul(look, self.v(rich).unsqueeze(1)).mean(1))
            y = self.f(self.n2(rich[:, -self.ahead:] + F.glu(self.gate2(y), -1)))
            found = self.out(self.n3(x[:, -self.ahead:] + F.glu(self.gate3(y), -1)))
            far = goal.unsqueeze(-1) - found
            return Result(torch.max(self.level * far, (self.level - 1) * far).sum(-1).mean())

    def inputs(b):
        return torch.zeros(b, 168, 10), torch.zeros(b, 24, 5), words(b, 4), torch.zeros(b, 24)
    return Net(), inputs, "own"


def tour_pointer():
    """Short tours of fifty places: an encoder of all places, one choice after another, the length as reward."""
    class Layer(nn.Module):
        def __init__(self, c, heads, inner):
            super().__init__()
            self.a, self.n1, self.n2 = Attention(c, heads, bias=False), nn.BatchNorm1d(c), nn.BatchNorm1d(c)
            self.f = nn.Sequential(nn.Linear(c, inner), nn.ReLU(), nn.Linear(inner, c))

        def forward(self, x):
            x = x + self.a(x)
            x = self.n1(x.flatten(0, 1)).view_as(x)
            x = x + self.f(x)
            return self.n2(x.flatten(0, 1)).view_as(x)

    class Net(nn.Module):
        def __init__(self, c=128, heads=8, depth=3, clip=10):
            super().__init__()
            self.heads, self.clip, self.enter = heads, clip, nn.Linear(2, c)
            self.body = nn.Sequential(*(Layer(c, heads, 512) for _ in range(depth)))
            self.parts, self.all = nn.Linear(c, 3 * c, bias=False), nn.Linear(c, c, bias=False)
            self.now, self.out = nn.Linear(2 * c, c, bias=False), nn.Linear(c, c, bias=False)
            self.start = nn.Parameter(torch.empty(2 * c).uniform_(-1, 1))
            self.guess = nn.Sequential(nn.Linear(c, c), nn.ReLU(), nn.Linear(c, 1))

        def forward(self, places):
            x = self.body(self.enter(places))
            b, n, c = x.shape
            all_, (k, v, key) = self.all(x.mean(1)), self.parts(x).chunk(3, -1)
            k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (k, v))
            gone, told = torch.zeros(b, n, dtype=torch.bool, device=x.device), self.start.expand(b, -1)
            tour, total, first = [], 0, None
            for _ in range(n):
                q = (all_ + self.now(told)).view(b, self.heads, 1, -1)
                look = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(gone[:, None, None], -math.inf)
                y = self.out((look.softmax(-1) @ v).flatten(1))
                score = (key @ y.unsqueeze(-1)).squeeze(-1) / math.sqrt(c)
                log = (self.clip * score.tanh()).masked_fill(gone, -math.inf).log_softmax(-1)
                with torch.no_grad():
                    picked = torch.multinomial(log.exp(), 1)
                total = total + log.gather(1, picked).squeeze(1)
                gone = gone.scatter(1, picked, True)
                last = x.gather(1, picked.unsqueeze(-1).expand(-1, -1, c)).squeeze(1)
                first = last if first is None else first
                told = torch.cat([first, last], -1)
                tour.append(picked)
            order = places.gather(1, torch.cat(tour, 1).unsqueeze(-1).expand(-1, -1, 2))
            size = (order - order.roll(-1, 1)).norm(dim=-1).sum(-1)
            guess = self.guess(x.mean(1)).squeeze(-1)
            return Result(((size - guess).detach() * total).mean() + F.mse_loss(guess, size))
    return Net(), lambda b: torch.zeros(b, 50, 2), "own"


def growing_cells():
    """A picture grows from one cell: each cell sees its neighbours' slopes and changes now and then, 64 times."""
    class Net(nn.Module):
        def __init__(self, c=16, wide=128, steps=64, kinds=10):
            super().__init__()
            self.c, self.steps, self.kind = c, steps, nn.Embedding(kinds, c - 4)
            slope = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]]) / 8
            same = torch.zeros(3, 3)
            same[1, 1] = 1
            self.register_buffer("look", torch.stack([same, slope, slope.t()]).repeat(c, 1, 1).unsqueeze(1))
            self.f = nn.Sequential(nn.Conv2d(3 * c, wide, 1), nn.ReLU(), nn.Conv2d(wide, c, 1, bias=False))
            nn.init.zeros_(self.f[-1].weight)

        @staticmethod
        def alive(x):
            return F.max_pool2d(x[:, 3:4], 3, 1, 1) > 0.1

        def step(self, x):
            before = self.alive(x)
            change = self.f(F.conv2d(x, self.look, padding=1, groups=self.c))
            some = (torch.rand_like(x[:, :1]) <= 0.5).to(x.dtype)
            x = x + change * some
            return x * (before & self.alive(x)).to(x.dtype)

        def forward(self, goal, labels):
            b, _, h, w = goal.shape
            seed = torch.cat([torch.ones(b, 4, device=goal.device), self.kind(labels)], 1)
            place = torch.zeros(1, 1, h, w, device=goal.device)
            place[..., h // 2, w // 2] = 1
            x, over = seed[..., None, None] * place, 0
            for _ in range(self.steps):
                x = self.step(x)
                over = over + (x - x.clamp(-2, 2)).abs().mean()
            return Result(F.mse_loss(x[:, :4], goal.sigmoid()) + 0.1 * over / self.steps)

    def inputs(b):
        return {"goal": torch.zeros(b, 4, 72, 72), "labels": torch.zeros(b, dtype=torch.int64)}
    return Net(), inputs, "own"


NETWORKS = {f.__name__: f for f in (quantile_player, lane_vectors, session_graphs, shared_tasks, bond_messages,
                                    load_fusion, tour_pointer, growing_cells)}
STEPS = {"quantile_player": ("fp32", 64, "nchw", "adam"), "lane_vectors": ("amp-bf16", 32, "nchw", "adamw"),
         "session_graphs": ("fp32", 1024, "nchw", "adam"), "shared_tasks": ("tf32", 4096, "nchw", "adam"),
         "bond_messages": ("fp32", 512, "nchw", "adam"), "load_fusion": ("fp32", 128, "nchw", "adam"),
         "tour_pointer": ("fp32", 512, "nchw", "adam"), "growing_cells": ("tf32", 16, "nchw", "adam")}
