# SPDX-License-Identifier: Apache-2.0
"""practice_eighteenth.py - networks for practice, the eighteenth set: graphs, molecules and proteins. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from blocks import Result, words


def dense(*widths, act=nn.SiLU):
    """Dense layers with an activation between them."""
    layers = [m for a, b in zip(widths, widths[1:]) for m in (nn.Linear(a, b), act())]
    return nn.Sequential(*layers[:-1])


def joined(index, count):
    """Indices within each graph of a batch (batch, edges) as indices into all nodes of the batch."""
    return (index % count + torch.arange(len(index), device=index.device).unsqueeze(1) * count).flatten()


def citing_papers():
    """Subjects of papers: each edge has a score per head, a softmax over the edges into a node, and added messages."""
    class Layer(nn.Module):
        def __init__(self, a, c, heads):
            super().__init__()
            self.heads, self.left, self.right = heads, nn.Linear(a, heads * c), nn.Linear(a, heads * c)
            self.look, self.skip, self.norm = nn.Parameter(torch.randn(heads, c) * 0.1), nn.Linear(a, heads * c), nn.LayerNorm(heads * c)

        def forward(self, x, to, source):
            n = len(x)
            left, right = (f(x).unflatten(1, (self.heads, -1)) for f in (self.left, self.right))
            sent = left.index_select(0, source)
            score = (F.leaky_relu(sent + right.index_select(0, to), 0.2) * self.look).sum(-1)
            index = to.unsqueeze(1).expand_as(score)
            top = score.new_full((n, self.heads), -1e30).scatter_reduce(0, index, score.detach(), "amax")
            share = torch.exp(score - top.gather(0, index))
            total = torch.zeros_like(top).scatter_add(0, index, share)
            share = F.dropout(share / (total.gather(0, index) + 1e-16), 0.3, self.training)
            y = torch.zeros_like(right).index_add(0, to, sent * share.unsqueeze(-1))
            return F.elu(self.norm(y.flatten(1) + self.skip(x)))

    class Net(nn.Module):
        def __init__(self, nodes=2048, c=48, heads=4, kinds=40):
            super().__init__()
            self.nodes, self.out = nodes, nn.Linear(heads * c, kinds)
            self.body = nn.ModuleList(Layer(128 if n == 0 else heads * c, c, heads) for n in range(3))

        def forward(self, x, to, source, known):
            to, source, x = joined(to, self.nodes), joined(source, self.nodes), x.flatten(0, 1)
            for f in self.body:
                x = f(x, to, source)
            score = F.log_softmax(self.out(x), -1)
            target = torch.arange(len(x), device=x.device) % score.shape[1]
            keep = (known.flatten() > 0).float()
            return Result(-(score.gather(1, target.unsqueeze(1)).squeeze(1) * keep).sum() / keep.sum().clamp(min=1))
    return Net(), lambda b: (torch.zeros(b, 2048, 128), words(b, 16384), words(b, 16384), torch.zeros(b, 2048)), "own"


def personal_pages():
    """Users of a network of friends: dense layers, then ten sparse products that spread and return the answers."""
    class Net(nn.Module):
        def __init__(self, nodes=8192, edges=131072, features=64, c=128, kinds=16, rounds=10):
            super().__init__()
            self.rounds, self.body, self.share = rounds, dense(features, c, c, kinds, act=nn.ReLU), nn.Parameter(torch.tensor(-2.0))
            place = torch.stack([torch.randint(nodes, (edges,)).sort().values, torch.randint(nodes, (edges,))])
            self.register_buffer("place", place)
            self.register_buffer("value", torch.full((edges,), nodes / edges))
            self.nodes = nodes

        def forward(self, x, kind):
            link = torch.sparse_coo_tensor(self.place, self.value, (self.nodes, self.nodes), is_coalesced=True)
            back = torch.sigmoid(self.share)
            h = self.body(F.dropout(x, 0.5, self.training)).transpose(0, 1)
            shape = h.shape
            first = y = h.flatten(1)
            for _ in range(self.rounds):
                y = (1 - back) * torch.sparse.mm(link, F.dropout(y, 0.1, self.training)) + back * first
            score = y.view(shape).transpose(0, 1)
            return Result(F.cross_entropy(score.flatten(0, 1), (kind.flatten() > 0).long()))
    return Net(), lambda b: (torch.zeros(b, 8192, 64), torch.zeros(b, 8192)), "own"


def turned_features():
    """Forces of liquids that turn with the sample: products of spherical harmonics with coupled paths by einsum."""
    sizes = (1, 3, 5)
    paths = [(a, b, c) for a in range(3) for b in range(3) for c in range(3) if abs(a - b) <= c <= a + b]

    class Layer(nn.Module):
        def __init__(self, c, waves):
            super().__init__()
            self.c, self.mix = c, nn.ParameterList(nn.Parameter(torch.randn(c, c) / c ** 0.5) for _ in sizes)
            self.radial = dense(waves, 64, 64, len(paths) * c)
            self.gate = nn.Linear(c, 2 * c)
            for n, (i, j, k) in enumerate(paths):
                self.register_buffer(f"couple{n}", torch.randn(sizes[i], sizes[j], sizes[k]) * 0.3)

        def forward(self, x, harmonics, wave, to, source):
            weight = self.radial(wave).unflatten(-1, (len(paths), self.c))
            sent = [t.index_select(0, source) for t in x]
            total = [0, 0, 0]
            for n, (i, j, k) in enumerate(paths):
                couple = getattr(self, f"couple{n}")
                y = torch.einsum("eci,ej,ijk->eck", sent[i], harmonics[j], couple) * weight[:, n].unsqueeze(-1)
                total[k] = total[k] + y
            out = [torch.zeros_like(t).index_add(0, to, y) for t, y in zip(x, total)]
            out = [t + torch.einsum("ncm,cd->ndm", y, w) / 4 for t, y, w in zip(x, out, self.mix)]
            gate = torch.sigmoid(self.gate(out[0].squeeze(-1))).unflatten(-1, (2, -1)).unsqueeze(-1)
            return [F.silu(out[0]), out[1] * gate[:, 0], out[2] * gate[:, 1]]

    class Net(nn.Module):
        def __init__(self, atoms=64, c=32, waves=16, depth=3, near=20):
            super().__init__()
            self.atoms, self.near, self.kind = atoms, near, nn.Embedding(96, c)
            self.body = nn.ModuleList(Layer(c, waves) for _ in range(depth))
            self.energy, self.force = dense(c, c, 1), nn.Parameter(torch.randn(c) * 0.1)
            self.register_buffer("rate", torch.arange(1, waves + 1) * math.pi / 5)

        def forward(self, place, kind, energy, force):
            b, n = kind.shape
            near = torch.cdist(place, place).topk(self.near + 1, largest=False).indices[..., 1:]
            source = joined(near.flatten(1), n)
            to = torch.arange(b * n, device=place.device).repeat_interleave(self.near)
            place = place.flatten(0, 1)
            step = place[source] - place[to]
            far = torch.linalg.vector_norm(step, dim=-1, keepdim=True).clamp(min=1e-3)
            x, y, z = (step / far).unbind(-1)
            two = torch.stack([x * y, y * z, 3 * z * z - 1, x * z, x * x - y * y], -1)
            harmonics = [torch.ones_like(far), torch.stack([y, z, x], -1), two]
            wave = torch.sin(self.rate * far) / far
            start = self.kind(kind.flatten())
            f = [start.unsqueeze(-1), start.new_zeros(*start.shape, 3), start.new_zeros(*start.shape, 5)]
            for layer in self.body:
                f = layer(f, harmonics, wave, to, source)
            total = self.energy(f[0].squeeze(-1)).view(b, n).sum(1)
            push = torch.einsum("ncm,c->nm", f[1], self.force)
            return Result(F.l1_loss(total, energy) + 10 * F.mse_loss(push, force.flatten(0, 1)))
    return Net(), lambda b: (torch.zeros(b, 64, 3), words(b, 64), torch.zeros(b), torch.zeros(b, 64, 3)), "own"


def vector_messages():
    """Energies and forces of drugs: scalars and vectors of atoms exchange messages; forces are the energy's slopes."""
    class Layer(nn.Module):
        def __init__(self, c, waves):
            super().__init__()
            self.c, self.inner, self.wave = c, dense(c, c, 3 * c), nn.Linear(waves, 3 * c)
            self.uv, self.mix = nn.Linear(c, 2 * c, bias=False), dense(2 * c, c, 3 * c)

        def forward(self, s, v, wave, way, to, source):
            w = self.inner(s)[source] * self.wave(wave)
            a, b, d = w.split(self.c, -1)
            s = s + torch.zeros_like(s).index_add(0, to, a)
            push = v[source] * b.unsqueeze(1) + way.unsqueeze(-1) * d.unsqueeze(1)
            v = v + torch.zeros_like(v).index_add(0, to, push)
            u, w = self.uv(v).chunk(2, -1)
            a, b, d = self.mix(torch.cat([s, (w.pow(2).sum(1) + 1e-8).sqrt()], -1)).split(self.c, -1)
            return s + a + b * (u * w).sum(1), v + d.unsqueeze(1) * u

    class Net(nn.Module):
        def __init__(self, c=96, waves=20, depth=3, atoms=42):
            super().__init__()
            self.kind, self.body = nn.Embedding(100, c), nn.ModuleList(Layer(c, waves) for _ in range(depth))
            self.out, self.scale = dense(c, c // 2, 1), nn.Embedding(100, 1)
            self.register_buffer("rate", torch.arange(1, waves + 1) * math.pi / 5)

        def forward(self, place, kind, to, source, energy, force):
            b, n = kind.shape
            to, source = joined(to, n), joined(source, n)
            place = place.flatten(0, 1).requires_grad_(True)
            step = place[to] - place[source]
            far = (step.pow(2).sum(-1, keepdim=True) + 1e-4).sqrt()
            wave = torch.sin(self.rate * far) / far * torch.where(far < 5, 0.5 * (torch.cos(math.pi * far / 5) + 1), torch.zeros_like(far))
            s = self.kind(kind.flatten())
            v = s.new_zeros(len(s), 3, s.shape[1])
            for f in self.body:
                s, v = f(s, v, wave, step / far, to, source)
            each = self.out(s) * self.scale(kind.flatten()).exp()
            total = each.view(b, n).sum(1)
            slope, = torch.autograd.grad(total.sum(), place, create_graph=True)
            return Result(0.05 * F.mse_loss(total, energy) + 0.95 * F.mse_loss(-slope, force.flatten(0, 1)))

    def inputs(b):
        return torch.zeros(b, 42, 3), words(b, 42), words(b, 800), words(b, 800), torch.zeros(b), torch.zeros(b, 42, 3)
    return Net(), inputs, "own"


def rows_and_pairs():
    """Distances in a protein from related sequences: rows, columns, mean outer products, triangles, checkpoints."""
    class Look(nn.Module):
        def __init__(self, a, pair, heads, size=16):
            super().__init__()
            self.heads, self.norm, self.qkv = heads, nn.LayerNorm(a), nn.Linear(a, 3 * heads * size, bias=False)
            self.bias = nn.Linear(pair, heads, bias=False) if pair else None
            self.gate, self.o = nn.Linear(a, heads * size), nn.Linear(heads * size, a)

        def forward(self, x, pair=None):
            y = self.norm(x)
            q, k, v = self.qkv(y).unflatten(-1, (3, self.heads, -1)).unbind(-3)
            look = torch.einsum("brqhd,brkhd->brhqk", q * q.shape[-1] ** -0.5, k)
            if self.bias is not None:
                look = look + self.bias(y if pair is None else pair).permute(0, 3, 1, 2).unsqueeze(1)
            y = torch.einsum("brhqk,brkhd->brqhd", look.softmax(-1), v).flatten(-2)
            return self.o(torch.sigmoid(self.gate(x)) * y)

    class Triangle(nn.Module):
        def __init__(self, c, inner, rule):
            super().__init__()
            self.rule, self.n1, self.n2 = rule, nn.LayerNorm(c), nn.LayerNorm(inner)
            self.ab, self.gab, self.o, self.g = nn.Linear(c, 2 * inner), nn.Linear(c, 2 * inner), nn.Linear(inner, c), nn.Linear(c, c)

        def forward(self, z):
            y = self.n1(z)
            a, b = (torch.sigmoid(self.gab(y)) * self.ab(y)).chunk(2, -1)
            return torch.sigmoid(self.g(y)) * self.o(self.n2(torch.einsum(self.rule, a, b)))

    class Block(nn.Module):
        def __init__(self, m, z):
            super().__init__()
            self.row, self.column = Look(m, z, 4), Look(m, 0, 4)
            self.fm, self.fz = (nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.ReLU(), nn.Linear(4 * c, c)) for c in (m, z))
            self.n, self.outer, self.o = nn.LayerNorm(m), nn.Linear(m, 32), nn.Linear(256, z)
            self.out, self.into = Triangle(z, 32, "bikc,bjkc->bijc"), Triangle(z, 32, "bkic,bkjc->bijc")
            self.start, self.end = Look(z, z, 4), Look(z, z, 4)

        def forward(self, m, z):
            m = m + F.dropout(self.row(m, z), 0.15, self.training)
            m = m + self.column(m.transpose(1, 2)).transpose(1, 2)
            m = m + self.fm(m)
            a, b = self.outer(self.n(m)).chunk(2, -1)
            z = z + self.o(torch.einsum("bsic,bsjd->bijcd", a, b).flatten(-2) / m.shape[1])
            z = z + self.out(z)
            z = z + self.into(z)
            z = z + self.start(z)
            z = z + self.end(z.transpose(1, 2)).transpose(1, 2)
            return m, z + self.fz(z)

    class Net(nn.Module):
        def __init__(self, m=64, z=48, depth=2):
            super().__init__()
            self.letter, self.left, self.right, self.far = nn.Embedding(65, m), nn.Embedding(65, z), nn.Embedding(65, z), nn.Embedding(65, z)
            self.body = nn.ModuleList(Block(m, z) for _ in range(depth))
            self.bins, self.fill = nn.Linear(z, 40), nn.Linear(m, 65)

        def forward(self, ids, far):
            n = ids.shape[2]
            hidden = torch.rand(ids.shape, device=ids.device) < 0.15
            m = self.letter(ids.masked_fill(hidden, 64))
            place = torch.arange(n, device=ids.device)
            gap = (place[:, None] - place[None]).clamp(-32, 32) + 32
            z = self.left(ids[:, 0]).unsqueeze(2) + self.right(ids[:, 0]).unsqueeze(1) + self.far(gap)
            for f in self.body:
                m, z = checkpoint(f, m, z, use_reentrant=False)
            score = self.bins((z + z.transpose(1, 2)) / 2)
            target = torch.bucketize(far.abs(), torch.linspace(0.05, 3, 39, device=far.device))
            loss = F.cross_entropy(score.flatten(0, 2), target.flatten())
            fill = F.cross_entropy(self.fill(m).flatten(0, 2), ids.flatten(), reduction="none") * hidden.flatten()
            return Result(loss + 2 * fill.sum() / hidden.sum().clamp(min=1))
    return Net(), lambda b: (torch.zeros(b, 48, 96, dtype=torch.int64), torch.zeros(b, 96, 96)), "own"


def meshed_flow():
    """Flow past a cylinder: nodes and edges of a mesh pass messages ten times; rates of change are learned with noise."""
    class Part(nn.Sequential):
        def __init__(self, a, c):
            super().__init__(nn.Linear(a, c), nn.ReLU(), nn.Linear(c, c), nn.ReLU(), nn.Linear(c, c), nn.LayerNorm(c))

    class Net(nn.Module):
        def __init__(self, nodes=1876, c=96, depth=10):
            super().__init__()
            self.nodes, self.node, self.edge = nodes, Part(11, c), Part(3, c)
            self.nodewise, self.edgewise = (nn.ModuleList(Part(k * c, c) for _ in range(depth)) for k in (2, 3))
            self.out = dense(c, c, 2, act=nn.ReLU)
            self.register_buffer("mean", torch.zeros(2))
            self.register_buffer("spread", torch.ones(2))

        def forward(self, place, speed, kind, to, source, later):
            to, source = joined(to, self.nodes), joined(source, self.nodes)
            noisy = speed + 0.02 * torch.randn_like(speed)
            goal = ((later - noisy - self.mean) / self.spread).flatten(0, 1)
            kinds = F.one_hot(kind % 9, 9).to(speed.dtype)
            x = self.node(torch.cat([noisy, kinds], -1).flatten(0, 1))
            place = place.flatten(0, 1)
            step = place[source] - place[to]
            e = self.edge(torch.cat([step, step.norm(dim=-1, keepdim=True)], -1))
            for f, g in zip(self.nodewise, self.edgewise):
                e = e + g(torch.cat([e, x[source], x[to]], -1))
                total = torch.zeros_like(x, dtype=e.dtype).index_add(0, to, e)
                x = x + f(torch.cat([x, total], -1))
            error = (self.out(x) - goal).pow(2).sum(-1)
            inside = ((kind % 9 == 0) | (kind % 9 == 5)).flatten().float()
            return Result((error * inside).sum() / inside.sum().clamp(min=1))

    def inputs(b):
        return torch.zeros(b, 1876, 2), torch.zeros(b, 1876, 2), words(b, 1876), words(b, 10788), words(b, 10788), torch.zeros(b, 1876, 2)
    return Net(), inputs, "own"


def several_sums():
    """Solubility: means, spreads, largest and smallest messages at three scales, a virtual node, and a read-out LSTM."""
    class Layer(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.edge, self.pre, self.post = nn.Embedding(80, c), nn.Linear(3 * c, c), nn.Linear(13 * c, c)
            self.norm = nn.BatchNorm1d(c)

        def forward(self, x, to, source, kind, count, scale):
            y = self.pre(torch.cat([x[to], x[source], self.edge(kind)], -1))
            index, empty = to.unsqueeze(1).expand_as(y), torch.zeros_like(x)
            mean = empty.index_add(0, to, y) / count
            square = empty.index_add(0, to, y * y) / count
            spread = torch.sqrt(F.relu(square - mean * mean) + 1e-5)
            high = empty.scatter_reduce(0, index, y, "amax", include_self=False)
            low = empty.scatter_reduce(0, index, y, "amin", include_self=False)
            y = torch.cat([mean, spread, high, low], -1)
            y = self.post(torch.cat([x, y, y * scale, y / scale], -1))
            return x + F.relu(self.norm(y))

    class Net(nn.Module):
        def __init__(self, c=80, depth=4, atoms=36, rounds=3):
            super().__init__()
            self.atoms, self.rounds, self.atom = atoms, rounds, nn.Embedding(120, c)
            self.body = nn.ModuleList(Layer(c) for _ in range(depth))
            self.virtual = nn.ModuleList(nn.Sequential(nn.Linear(c, 2 * c), nn.BatchNorm1d(2 * c), nn.ReLU(), nn.Linear(2 * c, c)) for _ in range(depth))
            self.read, self.out = nn.LSTMCell(2 * c, c), dense(2 * c, c, 1)

        def forward(self, kind, bond, to, source, truth):
            b, n = kind.shape
            graph = torch.arange(b * n, device=kind.device) // n
            to, source, bond = joined(to, n), joined(source, n), bond.flatten() % 80
            x = self.atom(kind.flatten())
            count = torch.zeros(b * n, 1, device=kind.device).index_add(0, to, x.new_ones(len(to), 1)).clamp(min=1)
            scale = torch.log(count + 1) / 1.2
            node = x.new_zeros(b, x.shape[1])
            for f, g in zip(self.body, self.virtual):
                x = f(x + node[graph], to, source, bond, count, scale)
                node = node + g(torch.zeros_like(node).index_add(0, graph, x))
            h, asked = (node, torch.zeros_like(node)), torch.cat([node, node], -1)
            for _ in range(self.rounds):
                h = self.read(asked, h)
                score = (x * h[0][graph]).sum(-1)
                share = score.view(b, n).softmax(-1).view(-1, 1)
                asked = torch.cat([h[0], torch.zeros_like(node).index_add(0, graph, share * x)], -1)
            return Result(F.huber_loss(self.out(asked).squeeze(1), truth))
    return Net(), lambda b: (words(b, 36), words(b, 80), words(b, 80), words(b, 80), torch.zeros(b)), "own"


def angles_of_bonds():
    """Spectra of molecules: messages live on bonds, pairs of bonds exchange them by angle through a bilinear form."""
    class Layer(nn.Module):
        def __init__(self, c, radial, angular, forms):
            super().__init__()
            self.r, self.a = nn.Linear(radial, c, bias=False), nn.Linear(radial * angular, forms, bias=False)
            self.f1, self.f2 = nn.Linear(c, c), nn.Linear(c, c)
            self.w, self.after = nn.Parameter(torch.randn(c, forms, c) * 2 / c), dense(c, c, c, c)
            self.out_r, self.out = nn.Linear(radial, c, bias=False), dense(c, c, c, 12)

        def forward(self, m, wave, angle, low, high, to, nodes):
            y = F.silu(self.f1(m))
            z = F.silu(self.f2(m)) * self.r(wave)
            z = torch.einsum("wj,wl,ijl->wi", self.a(angle), z[low], self.w)
            m = m + self.after(y + torch.zeros_like(y).index_add(0, high, z))
            each = torch.zeros(nodes, m.shape[1], device=m.device, dtype=m.dtype).index_add(0, to, self.out_r(wave) * m)
            return m, self.out(each)

    class Net(nn.Module):
        def __init__(self, atoms=24, c=64, radial=6, angular=7, forms=8, depth=3):
            super().__init__()
            self.atoms, self.kind = atoms, nn.Embedding(95, c)
            self.enter, self.first = nn.Linear(radial, c), nn.Linear(3 * c, c)
            self.body = nn.ModuleList(Layer(c, radial, angular, forms) for _ in range(depth))
            self.rate = nn.Parameter(torch.arange(1, radial + 1) * math.pi)
            self.register_buffer("order", torch.arange(angular).float())

        def forward(self, place, kind, to, source, low, high, truth):
            b, n = kind.shape
            nodes, bonds = b * n, to.shape[1]
            to, source, low, high = joined(to, n), joined(source, n), joined(low, bonds), joined(high, bonds)
            place = place.flatten(0, 1)
            step = place[to] - place[source]
            far = (step.pow(2).sum(-1) + 1e-4).sqrt() / 5
            one, two = step[low], step[high]
            angle = torch.atan2(torch.linalg.cross(one, two).norm(dim=-1) + 1e-6, (one * two).sum(-1) + 1e-6)
            cut = 1 / far - 28 * far ** 5 + 48 * far ** 6 - 21 * far ** 7
            wave = torch.where(far < 1, cut, torch.zeros_like(cut)).unsqueeze(-1) * torch.sin(self.rate * far.unsqueeze(-1))
            turned = torch.cos(self.order * angle.unsqueeze(-1))
            turned = (wave[low].unsqueeze(-1) * turned.unsqueeze(1)).flatten(1)
            x = self.kind(kind.flatten())
            m = F.silu(self.first(torch.cat([x[to], x[source], F.silu(self.enter(wave))], -1)))
            total = 0
            for f in self.body:
                m, each = f(m, wave, turned, low, high, to, nodes)
                total = total + each
            return Result(F.l1_loss(total.view(b, n, -1).sum(1), truth))

    def inputs(b):
        return torch.zeros(b, 24, 3), words(b, 24), words(b, 200), words(b, 200), words(b, 1600), words(b, 1600), torch.zeros(b, 12)
    return Net(), inputs, "own"


NETWORKS = {f.__name__: f for f in (citing_papers, personal_pages, turned_features, vector_messages, rows_and_pairs, meshed_flow,
                                    several_sums, angles_of_bonds)}
STEPS = {"citing_papers": ("fp32", 4, "nchw", "adam"), "personal_pages": ("fp32", 4, "nchw", "adam"),
         "turned_features": ("tf32", 16, "nchw", "adamw"), "vector_messages": ("fp32", 32, "nchw", "adamw"),
         "rows_and_pairs": ("amp-bf16", 4, "nchw", "adam"), "meshed_flow": ("tf32", 6, "nchw", "adam"),
         "several_sums": ("fp32", 256, "nchw", "adam"), "angles_of_bonds": ("tf32", 32, "nchw", "momentum")}
