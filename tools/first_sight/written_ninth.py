# SPDX-License-Identifier: Apache-2.0
"""written_ninth.py - more of the seventh set of networks as people write them: science, points, graphs and clicks. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, Result, heads_first, heads_joined, words


def fold_trunk():
    """Protein structure: related sequences and residue pairs update each other; pairs attend along triangles."""
    class Gated(nn.Module):
        """Attention with a bias and a sigmoid gate over the last but one axis of a map."""

        def __init__(self, width, heads, pair):
            super().__init__()
            self.heads, self.norm, self.qkv = heads, nn.LayerNorm(width), nn.Linear(width, 3 * width, bias=False)
            self.bias = nn.Linear(pair, heads, bias=False) if pair else None
            self.gate, self.o = nn.Linear(width, width), nn.Linear(width, width)

        def forward(self, x, pairs=None):
            y = self.norm(x)
            q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(2, 3) for t in self.qkv(y).chunk(3, -1))
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
            if self.bias is not None:
                scores = scores + self.bias(pairs).permute(0, 3, 1, 2).unsqueeze(1)
            y = (scores.softmax(-1) @ v).transpose(2, 3).flatten(3) * self.gate(y).sigmoid()
            return self.o(y)

    class Multiply(nn.Module):
        def __init__(self, c, form):
            super().__init__()
            self.form, self.norm, self.after = form, nn.LayerNorm(c), nn.LayerNorm(c)
            self.put, self.open = nn.Linear(c, 2 * c), nn.Linear(c, 2 * c)
            self.gate, self.o = nn.Linear(c, c), nn.Linear(c, c)

        def forward(self, z):
            y = self.norm(z)
            a, b = (self.put(y) * self.open(y).sigmoid()).chunk(2, -1)
            return self.gate(y).sigmoid() * self.o(self.after(torch.einsum(self.form, a, b)))

    class Block(nn.Module):
        def __init__(self, m, z):
            super().__init__()
            self.row, self.column = Gated(m, 8, z), Gated(m, 8, 0)
            self.begin, self.end = Gated(z, 4, z), Gated(z, 4, z)
            self.out, self.into = Multiply(z, "bikc,bjkc->bijc"), Multiply(z, "bkic,bkjc->bijc")
            self.fm, self.fz = (nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.ReLU(), nn.Linear(4 * c, c))
                                for c in (m, z))
            self.norm, self.outer = nn.LayerNorm(m), nn.Linear(256, z)
            self.left, self.right = nn.Linear(m, 16), nn.Linear(m, 16)

        def forward(self, m, z):
            m = m + self.row(m, z)
            m = m + self.column(m.transpose(1, 2)).transpose(1, 2)
            m = m + self.fm(m)
            y = self.norm(m)
            z = z + self.outer(torch.einsum("bsic,bsjd->bijcd", self.left(y), self.right(y)).flatten(3) / m.shape[1])
            z = z + self.out(z)
            z = z + self.into(z)
            z = z + self.begin(z, z)
            t = z.transpose(1, 2)
            z = z + self.end(t, t).transpose(1, 2)
            return m, z + self.fz(z)

    class Net(nn.Module):
        def __init__(self, m=128, z=64, depth=4, bins=64):
            super().__init__()
            self.msa, self.left, self.right = nn.Linear(49, m), nn.Linear(22, z), nn.Linear(22, z)
            self.far, self.body = nn.Embedding(65, z), nn.ModuleList(Block(m, z) for _ in range(depth))
            self.head = nn.Linear(z, bins)

        def forward(self, msa, residues, labels):
            n = torch.arange(residues.shape[1], device=residues.device)
            z = self.left(residues)[:, :, None] + self.right(residues)[:, None]
            z = z + self.far((n[:, None] - n).clamp(-32, 32) + 32)
            m = self.msa(msa)
            for block in self.body:
                m, z = block(m, z)
            return Result(F.cross_entropy(self.head(z + z.transpose(1, 2)).flatten(0, 2).float(), labels.flatten()))

    def inputs(b):
        return {"msa": torch.zeros(b, 64, 192, 49), "residues": torch.zeros(b, 192, 22),
                "labels": torch.zeros(b, 192, 192, dtype=torch.int64)}
    return Net(), inputs, "own"



def equivariant_molecules():
    """Energies and forces of molecules: messages of scalars and vectors that turn with the molecule."""
    class Message(nn.Module):
        def __init__(self, c, waves):
            super().__init__()
            self.f, self.w = nn.Sequential(nn.Linear(c, c), nn.SiLU(), nn.Linear(c, 3 * c)), nn.Linear(waves, 3 * c)

        def forward(self, s, v, source, target, waves, way):
            a, b, d = (self.f(s)[source] * self.w(waves)).chunk(3, -1)
            dv = b.unsqueeze(1) * v[source] + d.unsqueeze(1) * way.unsqueeze(-1)
            return s + torch.zeros_like(s).index_add(0, target, a), v + torch.zeros_like(v).index_add(0, target, dv)

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
        def __init__(self, c=128, waves=20, depth=5, cutoff=5.0):
            super().__init__()
            self.put, self.cutoff = nn.Linear(16, c), cutoff
            self.messages = nn.ModuleList(Message(c, waves) for _ in range(depth))
            self.updates = nn.ModuleList(Update(c) for _ in range(depth))
            self.head = nn.Sequential(nn.Linear(c, c // 2), nn.SiLU(), nn.Linear(c // 2, 1))
            self.register_buffer("n", torch.arange(1, waves + 1) * math.pi / cutoff, persistent=False)

        def energy(self, kinds, places, source, target):
            way = places[source] - places[target]
            far = (way.pow(2).sum(-1, keepdim=True) + 1e-6).sqrt()
            soft = 0.5 * (torch.cos(math.pi * far / self.cutoff) + 1) * (far < self.cutoff)
            waves, way = torch.sin(self.n * far) / far * soft, way / far
            s = self.put(kinds)
            v = s.new_zeros(len(s), 3, s.shape[1])
            for message, update in zip(self.messages, self.updates):
                s, v = update(*message(s, v, source, target, waves, way))
            return self.head(s)

        def forward(self, kinds, places, source, target, energy, forces):
            b, n, _ = kinds.shape
            places = places.flatten(0, 1).detach().requires_grad_()
            found = self.energy(kinds.flatten(0, 1), places, source.flatten(), target.flatten())
            pull = -torch.autograd.grad(found.sum(), places, create_graph=True)[0]
            return Result(F.mse_loss(found.view(b, n).sum(1), energy) + 100 * F.mse_loss(pull.view(b, n, 3), forces))

    def inputs(b):
        return (torch.zeros(b, 21, 16), torch.zeros(b, 21, 3), words(b, 320), words(b, 320), torch.zeros(b),
                torch.zeros(b, 21, 3))
    return Net(), inputs, "own"



def graph_transformer():
    """Properties of graphs: in each layer messages along edges beside attention among all nodes, with batch norms."""
    class Layer(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.near = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
            self.epsilon, self.all = nn.Parameter(torch.zeros(1)), Attention(width, heads)
            self.n1, self.n2, self.n3 = (nn.BatchNorm1d(width) for _ in range(3))
            self.f = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(2 * width, width))

        def forward(self, x, edges, source, target, shape):
            sent = F.relu(x[source] + edges)
            total = torch.zeros_like(x).index_add(0, target, sent.to(x.dtype))
            near = self.n1(x + self.near((1 + self.epsilon) * x + total))
            y = self.n2(x + self.all(x.view(*shape, -1)).flatten(0, 1)) + near
            return self.n3(y + self.f(y))

    class Net(nn.Module):
        def __init__(self, width=304, heads=4, depth=10):
            super().__init__()
            self.node, self.place, self.edge = nn.Linear(32, width - 16), nn.Linear(20, 16), nn.Linear(8, width)
            self.norm, self.body = nn.BatchNorm1d(20), nn.ModuleList(Layer(width, heads) for _ in range(depth))
            self.head = nn.Sequential(nn.Linear(width, width // 2), nn.ReLU(), nn.Linear(width // 2, 11))

        def forward(self, nodes, places, edges, source, target):
            shape, source, target = nodes.shape[:2], source.flatten(), target.flatten()
            places = self.place(self.norm(places.flatten(0, 1)))
            x, e = torch.cat([self.node(nodes.flatten(0, 1)), places], 1), self.edge(edges.flatten(0, 1))
            for layer in self.body:
                x = layer(x, e, source, target, shape)
            return self.head(x.view(*shape, -1).mean(1))

    def inputs(b):
        return torch.zeros(b, 150, 32), torch.zeros(b, 150, 20), torch.zeros(b, 310, 8), words(b, 310), words(b, 310)
    return Net(), inputs, "bce"



def point_transformer():
    """Parts of point clouds: vector attention among 16 nearest neighbours, on fewer points in deeper levels."""
    def taken(x, at):
        """Rows of each cloud: (b, n, c) and (b, m, k) give (b, m, k, c)."""
        start = torch.arange(len(x), device=x.device).view(-1, 1, 1) * x.shape[1]
        return x.flatten(0, 1)[at + start]

    class Layer(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.n1, self.n2, self.qkv, self.o = nn.LayerNorm(c), nn.LayerNorm(c), nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.place = nn.Sequential(nn.Linear(3, c), nn.ReLU(), nn.Linear(c, c))
            self.weigh = nn.Sequential(nn.Linear(c, c // 8), nn.ReLU(), nn.Linear(c // 8, c // 8))
            self.f = nn.Sequential(nn.Linear(c, 2 * c), nn.GELU(), nn.Linear(2 * c, c))

        def forward(self, x, way, near):
            q, k, v = self.qkv(self.n1(x)).chunk(3, -1)
            place = self.place(way)
            w = self.weigh(taken(k, near) - q.unsqueeze(2) + place).softmax(2)
            y = (taken(v, near) + place).unflatten(-1, (8, -1)) * w.unsqueeze(3)
            x = x + self.o(y.sum(2).flatten(2))
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, widths=(64, 128, 256, 512), depths=(2, 2, 4, 2), classes=13, near=16):
            super().__init__()
            self.near, self.put = near, nn.Linear(6, widths[0])
            self.levels = nn.ModuleList(nn.ModuleList(Layer(c) for _ in range(n)) for c, n in zip(widths, depths))
            self.down = nn.ModuleList(nn.Sequential(nn.Linear(i + 3, o), nn.ReLU()) for i, o in zip(widths, widths[1:]))
            self.up = nn.ModuleList(nn.Linear(i + o, o) for i, o in zip(widths[:0:-1], widths[-2::-1]))
            self.back = nn.ModuleList(Layer(c) for c in widths[-2::-1])
            self.head = nn.Sequential(nn.LayerNorm(widths[0]), nn.Linear(widths[0], classes))

        def forward(self, points):
            places, x, kept = points[..., :3].float(), self.put(points), []
            for n, level in enumerate(self.levels):
                if n:
                    fewer = places[:, ::4].contiguous()
                    at = torch.cdist(fewer, places).topk(self.near, largest=False)[1]
                    way = taken(places, at) - fewer.unsqueeze(2)
                    x, places = self.down[n - 1](torch.cat([taken(x, at), way.to(x.dtype)], -1)).amax(2), fewer
                at = torch.cdist(places, places).topk(self.near, largest=False)[1]
                way = (taken(places, at) - places.unsqueeze(2)).to(x.dtype)
                for layer in level:
                    x = layer(x, way, at)
                kept.append((x, places, way, at))
            kept.pop()
            for up, layer in zip(self.up, self.back):
                fine, wider, way, at = kept.pop()
                far, three = torch.cdist(wider, places).topk(3, largest=False)
                w = 1 / (far + 1e-8)
                x = (taken(x, three) * (w / w.sum(-1, keepdim=True)).unsqueeze(-1).to(x.dtype)).sum(2)
                x, places = layer(up(torch.cat([x, fine], -1)), way, at), wider
            return self.head(x)
    return Net(), lambda b: torch.zeros(b, 4096, 6), "cross-entropy"



def jet_tagger():
    """Jets of particles: attention with a bias from the kinematics of each pair, then a class token reads them."""
    class Pairs(nn.Module):
        def __init__(self, heads, width=64):
            super().__init__()
            layers = [nn.BatchNorm1d(4)]
            for i, o in ((4, width), (width, width), (width, width), (width, heads)):
                layers += [nn.Conv1d(i, o, 1), nn.BatchNorm1d(o), nn.GELU()]
            self.f = nn.Sequential(*layers)

        def forward(self, p):
            n = p.shape[-1]
            e, x, y, z = p.float().abs().unbind(1)
            pt = (x ** 2 + y ** 2 + 1e-8).sqrt()
            eta, phi = torch.asinh(z / pt), torch.atan2(y, x)
            (a, b), (ea, eb), (fa, fb) = ((t.unsqueeze(2), t.unsqueeze(1)) for t in (pt, eta, phi))
            far = ((ea - eb) ** 2 + (fa - fb) ** 2 + 1e-8).sqrt()
            low = torch.minimum(a, b)
            mass = ((e.unsqueeze(2) + e.unsqueeze(1)) ** 2 - (z.unsqueeze(2) + z.unsqueeze(1)) ** 2).clamp(min=1e-8)
            u = torch.stack([low * far, low / (a + b), far, mass], 1).clamp(min=1e-8).log()
            return self.f(u.flatten(2)).unflatten(2, (n, n))

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(w) for w in (width, width, width, 4 * width))
            self.a = Attention(width, heads)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x, other=None, bias=None):
            x = x + self.norms[1](self.a(self.norms[0](x), other, bias))
            return x + self.down(self.norms[3](F.gelu(self.up(self.norms[2](x)))))

    class Net(nn.Module):
        def __init__(self, width=128, heads=8, depth=8, classes=10):
            super().__init__()
            self.put = nn.Sequential(nn.BatchNorm1d(17), nn.Conv1d(17, 128, 1), nn.GELU(), nn.Conv1d(128, 512, 1),
                                     nn.GELU(), nn.Conv1d(512, width, 1), nn.GELU())
            self.pairs, self.first = Pairs(heads), nn.Parameter(torch.zeros(1, 1, width))
            self.body, self.reads = (nn.ModuleList(Block(width, heads) for _ in range(n)) for n in (depth, 2))
            self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, classes))

        def forward(self, features, momenta):
            bias, x = self.pairs(momenta), self.put(features).transpose(1, 2)
            for block in self.body:
                x = block(x, bias=bias)
            c = self.first.expand(len(x), -1, -1)
            for block in self.reads:
                c = block(c, torch.cat([c, x], 1))
            return self.head(c.squeeze(1))
    return Net(), lambda b: (torch.zeros(b, 17, 128), torch.zeros(b, 4, 128)), "cross-entropy"



def dot_interactions():
    """Advertising: 26 hashed bags of ids, a dense tower, products of all pairs of vectors, and a second tower."""
    def tower(sizes, last):
        layers = [m for i, o in zip(sizes, sizes[1:]) for m in (nn.Linear(i, o), nn.ReLU())]
        return nn.Sequential(*(layers if last else layers[:-1]))

    class Net(nn.Module):
        def __init__(self, width=64, tables=26):
            super().__init__()
            self.rows = [20000 * (1 + 5 * (n % 4)) for n in range(tables)]
            self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for rows in self.rows)
            self.low = tower((13, 512, 256, width), True)
            self.high = tower((tables * (tables + 1) // 2 + width, 1024, 1024, 512, 256, 1), False)
            self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1), persistent=False)

        def forward(self, numbers, ids):
            x = self.low(numbers)
            bags = [bag(ids[:, n] % rows) for n, (bag, rows) in enumerate(zip(self.bags, self.rows))]
            every = torch.stack([x, *bags], 1)
            products = torch.bmm(every, every.transpose(1, 2))
            return self.high(torch.cat([x, products[:, self.pairs[0], self.pairs[1]]], 1))
    return Net(), lambda b: (torch.zeros(b, 13), torch.zeros(b, 26, 4, dtype=torch.int64)), "bce"



def pointwise_recommender():
    """The next item of a user: gated attention without softmax, a bias by age and place, and sampled negatives."""
    class Layer(nn.Module):
        def __init__(self, width, heads, seq):
            super().__init__()
            self.heads, self.n1, self.n2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
            self.put, self.take, self.drop = nn.Linear(width, 4 * width), nn.Linear(width, width), nn.Dropout(0.2)
            self.place, self.age = nn.Parameter(torch.zeros(2 * seq - 1)), nn.Embedding(128, 1)

        def forward(self, x, far, ages, mask):
            u, v, q, k = F.silu(self.put(self.n1(x))).chunk(4, -1)
            q, k, v = (heads_first(t, self.heads) for t in (q, k, v))
            bias = (self.place[far] + self.age(ages).squeeze(-1)).unsqueeze(1)
            w = F.silu(q @ k.transpose(2, 3) + bias) / x.shape[1] * mask
            return x + self.take(self.drop(u * self.n2(heads_joined(w.to(v.dtype) @ v))))

    class Net(nn.Module):
        def __init__(self, items=100000, width=256, heads=4, depth=8, seq=256):
            super().__init__()
            self.item, self.place = nn.Embedding(items, width), nn.Parameter(torch.zeros(seq, width))
            self.body, self.drop = nn.ModuleList(Layer(width, heads, seq) for _ in range(depth)), nn.Dropout(0.2)
            n = torch.arange(seq)
            self.register_buffer("far", n[:, None] - n + seq - 1, persistent=False)
            self.register_buffer("mask", torch.ones(seq, seq).tril(), persistent=False)

        def forward(self, items, following, others, times):
            gaps = (times[:, :, None] - times[:, None]).abs().float() * 100
            ages = (torch.log(gaps.clamp(min=1)) / 0.301).long().clamp(0, 127)
            x = self.drop(self.item(items) * 16 + self.place)
            for layer in self.body:
                x = layer(x, self.far, ages, self.mask)
            x, right, wrong = (F.normalize(t.float(), dim=-1) for t in (x, self.item(following), self.item(others)))
            scores = torch.cat([(x * right).sum(-1, keepdim=True), torch.einsum("bnw,bkw->bnk", x, wrong)], -1) / 0.05
            return Result(-scores.log_softmax(-1)[..., 0].mean())
    return Net(), lambda b: (words(b, 256), words(b, 256), words(b, 128), torch.zeros(b, 256)), "own"



def cell_counts():
    """Gene counts of cells: a variational autoencoder whose decoder gives zero-inflated negative binomials."""
    class Net(nn.Module):
        def __init__(self, genes=20000, width=512, latent=32, batches=12):
            super().__init__()
            self.enc, self.dec = self.dense(genes + batches, width), self.dense(latent + batches, width)
            self.mean, self.spread = nn.Linear(width, latent), nn.Linear(width, latent)
            self.share, self.zero = nn.Linear(width, genes), nn.Linear(width, genes)
            self.theta = nn.Parameter(torch.zeros(genes))

        def dense(self, i, width):
            return nn.Sequential(nn.Linear(i, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.1),
                                 nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.1))

        def likelihood(self, x, mu, theta, pi):
            soft = F.softplus(-pi)
            log_theta = torch.log(theta + mu + 1e-8)
            some = theta * (torch.log(theta + 1e-8) - log_theta) - pi
            none = F.softplus(some) - soft
            more = some - soft + x * (torch.log(mu + 1e-8) - log_theta) + torch.lgamma(x + theta) \
                - torch.lgamma(theta) - torch.lgamma(x + 1)
            return torch.where(x < 1e-8, none, more)

        def forward(self, counts, batch, noise):
            counts = counts.abs().float().round()
            h = self.enc(torch.cat([torch.log1p(counts), batch.float()], 1))
            mean, spread = self.mean(h).float(), F.softplus(self.spread(h).float()) + 1e-4
            h = self.dec(torch.cat([mean + spread * noise.float(), batch.float()], 1))
            mu = self.share(h).float().softmax(-1) * counts.sum(1, keepdim=True)
            found = self.likelihood(counts, mu, self.theta.float().exp(), self.zero(h).float()).sum(1)
            divergence = 0.5 * (mean ** 2 + spread ** 2 - 1 - 2 * spread.log()).sum(1)
            return Result((divergence - found).mean())
    return Net(), lambda b: (torch.zeros(b, 20000), torch.zeros(b, 12), torch.zeros(b, 32)), "own"


NETWORKS = {f.__name__: f for f in (fold_trunk, equivariant_molecules, graph_transformer, point_transformer, jet_tagger,
                                    dot_interactions, pointwise_recommender, cell_counts)}
STEPS = {"fold_trunk": ("amp-bf16", 4), "equivariant_molecules": ("fp32", 128), "graph_transformer": ("amp-fp16", 64),
         "point_transformer": ("tf32", 12), "jet_tagger": ("amp-fp16", 256), "dot_interactions": ("tf32", 8192),
         "pointwise_recommender": ("amp-bf16", 64), "cell_counts": ("fp32", 1024)}
