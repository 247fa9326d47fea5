# SPDX-License-Identifier: Apache-2.0
"""written_eighteenth.py - the rest of the twelfth set of networks: robots, games, graphs. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Result, words


def grouped(body):
    """A residual network of torchvision with group norms in place of batch norms."""
    for name, child in body.named_children():
        if isinstance(child, nn.BatchNorm2d):
            setattr(body, name, nn.GroupNorm(child.num_features // 16, child.num_features))
        else:
            grouped(child)
    return body


def denoised_motion():
    """Motions of a robot arm: what two cameras see scales a 1-D U-Net that removes noise from actions."""
    from torchvision.models import resnet18

    def unit(i, o):
        return nn.Sequential(nn.Conv1d(i, o, 5, padding=2), nn.GroupNorm(8, o), nn.Mish())

    class Block(nn.Module):
        def __init__(self, i, o, seen):
            super().__init__()
            self.a, self.b, self.skip = unit(i, o), unit(o, o), nn.Conv1d(i, o, 1) if i != o else nn.Identity()
            self.scale = nn.Sequential(nn.Mish(), nn.Linear(seen, 2 * o))

        def forward(self, x, seen):
            scale, shift = self.scale(seen).unsqueeze(-1).chunk(2, 1)
            return self.b(scale * self.a(x) + shift) + self.skip(x)

    class Net(nn.Module):
        def __init__(self, actions=10, c=(256, 512, 1024), time=128):
            super().__init__()
            eyes = [grouped(resnet18(weights=None, num_classes=64)) for _ in range(2)]
            self.eyes, seen = nn.ModuleList(eyes), time + 2 * (2 * 64 + 9)
            self.time = nn.Sequential(nn.Linear(time, 4 * time), nn.Mish(), nn.Linear(4 * time, time))
            sizes = (actions, *c)
            self.enter = nn.ModuleList(nn.ModuleList((Block(i, o, seen), Block(o, o, seen)))
                                       for i, o in zip(sizes, sizes[1:]))
            self.down = nn.ModuleList(nn.Conv1d(n, n, 3, 2, 1) for n in c[:-1])
            self.middle = nn.ModuleList(Block(c[-1], c[-1], seen) for _ in range(2))
            self.leave = nn.ModuleList(nn.ModuleList((Block(2 * o, i, seen), Block(i, i, seen)))
                                       for i, o in ((c[1], c[2]), (c[0], c[1])))
            self.up = nn.ModuleList(nn.ConvTranspose1d(n, n, 4, 2, 1) for n in (c[1], c[0]))
            self.last = nn.Sequential(unit(c[0], c[0]), nn.Conv1d(c[0], actions, 1))
            self.register_buffer("waves", torch.exp(-math.log(10000) * torch.arange(time // 2) / (time // 2 - 1)),
                                 persistent=False)
            self.register_buffer("kept", torch.cos(torch.linspace(0, math.pi / 2, 101))[:100].pow(2), persistent=False)

        def seen(self, one, two, body, step):
            views = [eye(x.flatten(0, 1)).unflatten(0, x.shape[:2]) for eye, x in zip(self.eyes, (one, two))]
            angles = step[:, None] * self.waves
            time = self.time(torch.cat([angles.sin(), angles.cos()], 1))
            return torch.cat([time, torch.cat([*views, body], -1).flatten(1)], 1)

        def forward(self, one, two, body, actions):
            step = torch.randint(100, (len(actions),), device=actions.device)
            noise, kept = torch.randn_like(actions), self.kept[step][:, None, None]
            x = (kept.sqrt() * actions + (1 - kept).sqrt() * noise).transpose(1, 2)
            seen, maps = self.seen(one, two, body, step), []
            for n, (a, b) in enumerate(self.enter):
                x = b(a(self.down[n - 1](x) if n else x, seen), seen)
                maps.append(x)
            for f in self.middle:
                x = f(x, seen)
            for (a, b), up in zip(self.leave, self.up):
                x = up(b(a(torch.cat([x, maps.pop()], 1), seen), seen))
            return Result(F.mse_loss(self.last(x).transpose(1, 2), noise))

    def inputs(b):
        return (*(torch.zeros(b, 2, 3, 96, 96) for _ in range(2)), torch.zeros(b, 2, 9), torch.zeros(b, 16, 10))
    return Net(), inputs, "own"


def chunked_arms():
    """Two robot arms: a style is encoded from shown actions; a transformer reads three cameras, writes 100 actions."""
    from torchvision.models import resnet18

    class Net(nn.Module):
        def __init__(self, c=512, joints=14, ahead=100, style=32, cells=80):
            super().__init__()
            body = resnet18(weights=None, norm_layer=lambda n: nn.GroupNorm(1, n))
            self.eye, self.narrow = nn.Sequential(*list(body.children())[:-2]), nn.Conv2d(512, c, 1)
            make = (c, 8, 3200, 0.1)
            self.shown = nn.TransformerEncoder(nn.TransformerEncoderLayer(*make, batch_first=True), 4)
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(*make, batch_first=True), 4)
            self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(*make, batch_first=True), 7)
            self.first, self.style_place = nn.Parameter(torch.zeros(1, 1, c)), nn.Parameter(torch.zeros(ahead + 2, c))
            self.put_action, self.put_joints, self.put_joints2 = (nn.Linear(joints, c) for _ in range(3))
            self.style, self.back = nn.Linear(c, 2 * style), nn.Linear(style, c)
            self.place = nn.Parameter(torch.zeros(3 * cells + 2, c))
            self.queries, self.head = nn.Parameter(torch.randn(ahead, c)), nn.Linear(c, joints)

        def forward(self, pictures, joints, actions):
            b = len(joints)
            first = self.first.expand(b, -1, -1)
            x = torch.cat([first, self.put_joints(joints).unsqueeze(1), self.put_action(actions)], 1)
            mean, spread = self.style(self.shown(x + self.style_place)[:, 0]).float().chunk(2, -1)
            z = self.back(mean + (spread / 2).exp() * torch.randn_like(mean)).unsqueeze(1)
            seen = self.narrow(self.eye(pictures.flatten(0, 1))).unflatten(0, (b, -1))
            seen = seen.permute(0, 1, 3, 4, 2).flatten(1, 3)
            x = torch.cat([z, self.put_joints2(joints).unsqueeze(1), seen], 1)
            memory = self.encoder(x + self.place)
            y = self.head(self.decoder(self.queries.expand(b, -1, -1), memory))
            apart = -0.5 * (1 + spread - mean.pow(2) - spread.exp()).sum(1).mean()
            return Result(F.l1_loss(y, actions) + 10 * apart)

    def inputs(b):
        return torch.zeros(b, 3, 3, 256, 320), torch.zeros(b, 14), torch.zeros(b, 100, 14)
    return Net(), inputs, "own"


def pooled_go():
    """The game of Go: residual blocks with pooled means and maxima; a move, the winner, the owner of each point."""
    def pooled(x):
        return torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1)

    class Block(nn.Module):
        def __init__(self, c, few=0):
            super().__init__()
            self.n1, self.n2 = nn.BatchNorm2d(c), nn.BatchNorm2d(c - few)
            self.f1 = nn.Conv2d(c, c - few, 3, padding=1, bias=False)
            self.f2 = nn.Conv2d(c - few, c, 3, padding=1, bias=False)
            self.g = nn.Conv2d(c, few, 3, padding=1, bias=False) if few else None
            self.n3, self.o = (nn.BatchNorm2d(few), nn.Linear(2 * few, c - few)) if few else (None, None)

        def forward(self, x):
            y = F.mish(self.n1(x))
            z = self.f1(y)
            if self.g is not None:
                z = z + self.o(pooled(F.mish(self.n3(self.g(y)))))[..., None, None]
            return x + self.f2(F.mish(self.n2(z)))

    class Net(nn.Module):
        def __init__(self, c=256, depth=20, planes=22, facts=19):
            super().__init__()
            self.first, self.facts = nn.Conv2d(planes, c, 5, padding=2, bias=False), nn.Linear(facts, c, bias=False)
            self.body = nn.Sequential(*(Block(c, 64 if n % 3 == 2 else 0) for n in range(depth)))
            self.norm, self.p, self.g, self.v = nn.BatchNorm2d(c), *(nn.Conv2d(c, 48, 1, bias=False) for _ in range(3))
            self.shift, self.pn, self.move = nn.Linear(96, 48), nn.BatchNorm2d(48), nn.Conv2d(48, 2, 1, bias=False)
            self.skip, self.win, self.own = nn.Linear(96, 2), nn.Linear(96, 3), nn.Conv2d(48, 1, 1)

        def forward(self, board, facts, moves, winner, owner):
            x = F.mish(self.norm(self.body(self.first(board) + self.facts(facts)[..., None, None])))
            g, v = pooled(F.mish(self.g(x))), F.mish(self.v(x))
            p = self.move(F.mish(self.pn(self.p(x) + self.shift(g)[..., None, None]))).flatten(2)
            logits = torch.cat([p, self.skip(g).unsqueeze(-1)], -1).float()
            found = -(moves.softmax(-1) * logits.log_softmax(-1)).sum(-1).mean()
            won = -(winner.softmax(-1) * self.win(pooled(v)).float().log_softmax(-1)).sum(-1).mean()
            return Result(found + won + 1.5 * F.mse_loss(torch.tanh(self.own(v).float()), owner.float()))

    def inputs(b):
        return (torch.zeros(b, 22, 19, 19), torch.zeros(b, 19), torch.zeros(b, 2, 362), torch.zeros(b, 3),
                torch.zeros(b, 1, 19, 19))
    return Net(), inputs, "own"


def mixed_team():
    """A team in a battle: each of eight agents remembers 40 moments, and the state makes the weights of their sum."""
    class Agent(nn.Module):
        def __init__(self, seen, actions, c):
            super().__init__()
            self.put, self.memory, self.head = nn.Linear(seen, c), nn.GRUCell(c, c), nn.Linear(c, actions)

        def forward(self, seen):
            h, values = seen.new_zeros(seen.shape[0], self.memory.hidden_size), []
            for x in F.relu(self.put(seen)).unbind(1):
                h = self.memory(x, h)
                values.append(self.head(h))
            return torch.stack(values, 1)

    class Mixer(nn.Module):
        def __init__(self, state, agents, c):
            super().__init__()
            self.agents, self.c = agents, c
            self.w1 = nn.Sequential(nn.Linear(state, 128), nn.ReLU(), nn.Linear(128, agents * c))
            self.w2 = nn.Sequential(nn.Linear(state, 128), nn.ReLU(), nn.Linear(128, c))
            self.b1, self.b2 = nn.Linear(state, c), nn.Sequential(nn.Linear(state, c), nn.ReLU(), nn.Linear(c, 1))

        def forward(self, values, state):
            w1 = self.w1(state).abs().unflatten(-1, (self.agents, self.c))
            x = F.elu(values.unsqueeze(-2) @ w1 + self.b1(state).unsqueeze(-2))
            return (x @ self.w2(state).abs().unsqueeze(-1) + self.b2(state).unsqueeze(-2)).flatten(-2).squeeze(-1)

    class Net(nn.Module):
        def __init__(self, agents=8, seen=128, state=256, actions=16, c=128):
            super().__init__()
            self.agents, self.agent = agents, Agent(seen, actions, c)
            self.slow = Agent(seen, actions, c).requires_grad_(False)
            self.mixer, self.slow_mixer = Mixer(state, agents, 64), Mixer(state, agents, 64).requires_grad_(False)

        def values(self, agent, seen):
            y = agent(seen.transpose(1, 2).flatten(0, 1))
            return y.unflatten(0, (-1, self.agents)).transpose(1, 2)

        def forward(self, seen, state, taken, reward):
            now = self.values(self.agent, seen)
            with torch.no_grad():
                best = now[:, 1:].argmax(-1, keepdim=True)
                later = self.values(self.slow, seen)[:, 1:].gather(-1, best).squeeze(-1)
                goal = reward + 0.99 * self.slow_mixer(later, state[:, 1:])
            taken = now[:, :-1].gather(-1, taken.argmax(-1, keepdim=True)).squeeze(-1)
            return Result(F.mse_loss(self.mixer(taken, state[:, :-1]), goal))

    def inputs(b):
        return torch.zeros(b, 41, 8, 128), torch.zeros(b, 41, 256), torch.zeros(b, 40, 8, 16), torch.zeros(b, 40)
    return Net(), inputs, "own"


def sampled_papers():
    """Topics of papers: fifteen neighbours and ten of each of theirs are drawn, and averaged by two layers."""
    class Mean(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.own, self.near, self.norm = nn.Linear(i, o), nn.Linear(i, o, bias=False), nn.BatchNorm1d(o)

        def forward(self, x, near):
            y = self.own(x) + self.near(near.mean(-2))
            return F.dropout(F.relu(self.norm(y.flatten(0, -2)).view_as(y)), 0.5, self.training)

    class Net(nn.Module):
        def __init__(self, features=128, c=512, topics=172, venues=4096):
            super().__init__()
            self.venue, self.enter = nn.Embedding(venues, features), nn.Linear(2 * features, c)
            self.first, self.second = Mean(c, c), Mean(c, c)
            self.head = nn.Sequential(nn.Linear(2 * c, c), nn.ReLU(), nn.Dropout(0.5), nn.Linear(c, topics))

        def forward(self, own, near, far, v0, v1, v2):
            x0, x1, x2 = (F.relu(self.enter(torch.cat([x, self.venue(v)], -1)))
                          for x, v in ((own, v0), (near, v1), (far, v2)))
            y0, y1 = self.first(x0, x1), self.first(x1, x2)
            return self.head(torch.cat([y0, self.second(y0, y1)], -1))

    def inputs(b):
        sizes = ((b,), (b, 15), (b, 15, 10))
        return (*(torch.zeros(*n, 128) for n in sizes), *(torch.zeros(n, dtype=torch.int64) for n in sizes))
    return Net(), inputs, "cross-entropy"


def turned_relations():
    """Facts of a knowledge graph: relations turn complex entities; 256 wrong ends, weighted by how well they fit."""
    class Net(nn.Module):
        def __init__(self, entities=40943, relations=474, c=500, margin=9.0, heat=0.5):
            super().__init__()
            self.entity, self.relation = nn.Embedding(entities, 2 * c), nn.Embedding(relations, c)
            self.margin, self.heat, self.range = margin, heat, (margin + 2) / c
            nn.init.uniform_(self.entity.weight, -self.range, self.range)
            nn.init.uniform_(self.relation.weight, -self.range, self.range)

        def score(self, head, relation, tail):
            a, b = head.chunk(2, -1)
            c, d = tail.chunk(2, -1)
            turn = relation * (math.pi / self.range)
            cos, sin = turn.cos(), turn.sin()
            off = torch.stack([a * cos - b * sin - c, a * sin + b * cos - d])
            return self.margin - (off.pow(2).sum(0) + 1e-9).sqrt().sum(-1)

        def forward(self, facts, wrong):
            head, tail = self.entity(facts[:, :1]), self.entity(facts[:, 2:])
            relation = self.relation(facts[:, 1:2])
            true = F.logsigmoid(self.score(head, relation, tail)).mean()
            fit = self.score(head, relation, self.entity(wrong))
            weight = (fit * self.heat).softmax(-1).detach()
            false = (weight * F.logsigmoid(-fit)).sum(-1).mean()
            return Result(-(true + false) / 2 + 1e-6 * self.entity.weight.norm(p=3).pow(3))
    return Net(), lambda b: (words(b, 3), words(b, 256)), "own"


def layered_experts():
    """Clicks and purchases in a shop: shared and own experts in two layers with gates, and a chance of both."""
    def expert(i, o):
        return nn.Sequential(nn.Linear(i, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Dropout(0.1), nn.Linear(512, o),
                             nn.ReLU())

    class Layer(nn.Module):
        def __init__(self, i, o, tasks, shared, own, last):
            super().__init__()
            self.own = nn.ModuleList(nn.ModuleList(expert(i, o) for _ in range(own)) for _ in range(tasks))
            self.shared = nn.ModuleList(expert(i, o) for _ in range(shared))
            self.gates = nn.ModuleList(nn.Linear(i, own + shared) for _ in range(tasks))
            self.all = None if last else nn.Linear(i, own * tasks + shared)

        def forward(self, tasks, common):
            shared = [f(common) for f in self.shared]
            own = [[f(x) for f in group] for group, x in zip(self.own, tasks)]
            mixed = [(torch.stack(o + shared, 1) * g(x).softmax(-1).unsqueeze(-1)).sum(1)
                     for o, g, x in zip(own, self.gates, tasks)]
            if self.all is None:
                return mixed, None
            each = torch.stack([y for o in own for y in o] + shared, 1)
            return mixed, (each * self.all(common).softmax(-1).unsqueeze(-1)).sum(1)

    class Net(nn.Module):
        def __init__(self, fields=24, size=20000, c=32, numbers=16, tasks=3):
            super().__init__()
            self.put, self.norm = nn.Embedding(fields * size, c), nn.BatchNorm1d(numbers)
            self.register_buffer("start", torch.arange(fields) * size, persistent=False)
            self.first = Layer(fields * c + numbers, 256, tasks, 4, 4, False)
            self.second = Layer(256, 128, tasks, 4, 4, True)
            self.towers = nn.ModuleList(nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))
                                        for _ in range(tasks))

        def forward(self, ids, numbers, done):
            x = self.put(ids % 20000 + self.start).flatten(1)
            x = torch.cat([x, self.norm(numbers)], 1)
            tasks, common = self.first([x] * len(self.towers), x)
            tasks, _ = self.second(tasks, common)
            y = torch.cat([f(t) for f, t in zip(self.towers, tasks)], 1).float()
            both = F.logsigmoid(y[:, 0]) + F.logsigmoid(y[:, 1])
            done = done.clamp(0, 1).float()
            bought = -(done[:, 1] * both + (1 - done[:, 1]) * torch.log1p(-both.exp().clamp(max=1 - 1e-6))).mean()
            return Result(F.binary_cross_entropy_with_logits(y[:, ::2], done[:, ::2]) + bought)
    return Net(), lambda b: (words(b, 24), torch.zeros(b, 16), torch.zeros(b, 3)), "own"


def drawn_points():
    """Classes of laser points: neighbours' places are encoded and weighted, each level has a quarter of the points."""
    def unit(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.2))

    def gathered(x, index):
        """Features (batch, channels, points) of the neighbours in (batch, places, k)."""
        flat = index.flatten(1).unsqueeze(1).expand(-1, x.shape[1], -1)
        return x.gather(2, flat).unflatten(2, index.shape[1:])

    class Pool(nn.Module):
        def __init__(self, c, o):
            super().__init__()
            self.look, self.out = nn.Conv2d(c, c, 1, bias=False), unit(c, o)

        def forward(self, x):
            return self.out((self.look(x).softmax(3) * x).sum(3, keepdim=True))

    class Block(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.enter, self.place1, self.place2 = unit(i, o // 2), unit(10, o // 2), unit(o // 2, o // 2)
            self.pool1, self.pool2, self.out = Pool(o, o // 2), Pool(o, o), unit(o, 2 * o)
            self.skip = nn.Sequential(nn.Conv2d(i, 2 * o, 1, bias=False), nn.BatchNorm2d(2 * o))

        def forward(self, x, places, index):
            near = gathered(places, index)
            own = places.unsqueeze(3).expand_as(near)
            far = (own - near).pow(2).sum(1, keepdim=True)
            p = self.place1(torch.cat([(far + 1e-9).sqrt(), own - near, own, near], 1))
            y = self.pool1(torch.cat([gathered(self.enter(x).squeeze(3), index), p], 1))
            y = self.pool2(torch.cat([gathered(y.squeeze(3), index), self.place2(p)], 1))
            return F.leaky_relu(self.out(y) + self.skip(x), 0.2)

    class Net(nn.Module):
        def __init__(self, classes=19, c=(16, 64, 128, 256), near=16):
            super().__init__()
            self.near, self.first = near, nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.LeakyReLU(0.2))
            self.enter = nn.ModuleList(Block(i, o) for i, o in zip((8, *(2 * n for n in c)), c))
            self.middle = unit(2 * c[3], 2 * c[3])
            self.leave = nn.ModuleList(unit(i, o) for i, o in (
                (4 * c[3], 2 * c[2]), (4 * c[2], 2 * c[1]), (4 * c[1], 2 * c[0]), (4 * c[0], 2 * c[0])))
            self.last = nn.Sequential(unit(2 * c[0], 64), nn.Dropout(0.5), nn.Conv2d(64, classes, 1))

        def forward(self, points):
            x = self.first(points).transpose(1, 2).unsqueeze(3)
            places, kept = points[..., :3], []
            for block in self.enter:
                with torch.no_grad():
                    index = torch.cdist(places, places).topk(self.near, -1, largest=False).indices
                x = block(x, places.transpose(1, 2), index)
                kept.append((x, places))
                few = places.shape[1] // 4
                x, places = gathered(x.squeeze(3), index[:, :few]).amax(3, keepdim=True), places[:, :few]
            x = self.middle(x)
            for f in self.leave:
                more, wide = kept.pop()
                with torch.no_grad():
                    index = torch.cdist(wide, places).argmin(-1, keepdim=True)
                x, places = f(torch.cat([gathered(x.squeeze(3), index), more], 1)), wide
            return self.last(x).squeeze(3)
    return Net(), lambda b: torch.zeros(b, 8192, 6), "channels"


NETWORKS = {f.__name__: f for f in (denoised_motion, chunked_arms, pooled_go, mixed_team, sampled_papers,
                                    turned_relations, layered_experts, drawn_points)}
STEPS = {"denoised_motion": ("tf32", 64, "nchw", "adamw"), "chunked_arms": ("amp-bf16", 8, "nchw", "adamw"),
         "pooled_go": ("amp-fp16", 256, "nhwc", "momentum"), "mixed_team": ("fp32", 64, "nchw", "adam"),
         "sampled_papers": ("tf32", 1024, "nchw", "adam"), "turned_relations": ("fp32", 512, "nchw", "adam"),
         "layered_experts": ("fp32", 4096, "nchw", "adam"), "drawn_points": ("fp32", 4, "nchw", "adam")}
