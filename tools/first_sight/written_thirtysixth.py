# SPDX-License-Identifier: Apache-2.0
"""written_thirtysixth.py - the rest of the seventeenth set of networks: clicks, graphs, films, games. See cases.py."""
import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, Encoder, Result, heads_first, heads_joined, words


def crossed_adverts():
    """Clicks on adverts: 26 tables and 13 numbers, three crossing layers beside a deep net."""
    class Net(nn.Module):
        def __init__(self, fields=26, rows=200_000, c=16, numbers=13, depth=3):
            super().__init__()
            self.tables, w = nn.ModuleList(nn.Embedding(rows, c) for _ in range(fields)), fields * c + numbers
            self.norm, self.cross = nn.BatchNorm1d(numbers), nn.ModuleList(nn.Linear(w, w) for _ in range(depth))
            self.deep = nn.Sequential(nn.Linear(w, 768), nn.BatchNorm1d(768), nn.ReLU(), nn.Dropout(0.1),
                                      nn.Linear(768, 768), nn.BatchNorm1d(768), nn.ReLU(), nn.Dropout(0.1))
            self.out = nn.Linear(w + 768, 1)

        def forward(self, numbers, ids):
            first = torch.cat([self.norm(numbers), *(f(ids[:, n]) for n, f in enumerate(self.tables))], 1)
            x = first
            for f in self.cross:
                x = first * f(x) + x
            return self.out(torch.cat([x, self.deep(first)], 1))
    return Net(), lambda b: (torch.zeros(b, 13), words(b, 26)), "bce"


def next_song():
    """The next song: a causal encoder over 100 songs, a right and a wrong one are scored at each place."""
    class Net(nn.Module):
        def __init__(self, songs=500_000, c=128, heads=4, depth=3, seq=100):
            super().__init__()
            self.song, self.place = nn.Embedding(songs, c, padding_idx=0), nn.Parameter(torch.randn(1, seq, c) * 0.02)
            self.drop, self.norm = nn.Dropout(0.2), nn.LayerNorm(c)
            self.body = nn.ModuleList(Encoder(c, heads, c, nn.ReLU, 0.2) for _ in range(depth))
            self.register_buffer("causal", torch.ones(seq, seq, dtype=torch.bool).tril(), persistent=False)

        def forward(self, heard, right, wrong):
            known = (heard > 0).unsqueeze(-1)
            x = self.drop(self.song(heard) * self.song.embedding_dim ** 0.5 + self.place) * known
            for f in self.body:
                x = f(x, self.causal) * known
            x = self.norm(x)
            yes, no = ((x * self.song(t)).sum(-1).float() for t in (right, wrong))
            loss = F.softplus(-yes) + F.softplus(no)
            counted = (right > 0).float()
            return Result((loss * counted).sum() / counted.sum().clamp(min=1))
    return Net(), lambda b: (words(b, 100), words(b, 100), words(b, 100)), "own"


def between(b, nodes, edges, steps=(1, 2, 5)):
    """Both ends of the edges of b graphs, of 32 bits so that they stay valid places."""
    at = torch.arange(edges)
    step = torch.tensor(steps)[at // nodes % len(steps)]
    return (at % nodes).int().repeat(b, 1), ((at + step) % nodes).int().repeat(b, 1)


def joined(ends, nodes):
    """Places in the nodes of all graphs of a batch."""
    return (ends.long() + torch.arange(len(ends), device=ends.device).unsqueeze(1) * nodes).flatten()


def bonded_atoms():
    """Properties of molecules: atoms add what comes over their bonds, and one node talks to all of them."""
    class Layer(nn.Module):
        def __init__(self, c, bonds):
            super().__init__()
            def dense():
                return nn.Sequential(nn.Linear(c, 2 * c), nn.BatchNorm1d(2 * c), nn.ReLU(), nn.Linear(2 * c, c))
            self.bond, self.f, self.share = nn.Linear(bonds, c), dense(), dense()
            self.more, self.norm = nn.Parameter(torch.zeros(1)), nn.BatchNorm1d(c)

        def forward(self, x, whole, source, target, bonds, b):
            x = x + whole.repeat_interleave(x.shape[0] // b, 0)
            message = F.relu(x[source] + self.bond(bonds))
            total = torch.zeros_like(x).index_add(0, target, message.to(x.dtype))
            y = F.dropout(F.relu(self.norm(self.f((1 + self.more) * x + total))), 0.2, self.training)
            return x + y, whole + self.share(x.unflatten(0, (b, -1)).sum(1) + whole)

    class Net(nn.Module):
        def __init__(self, c=300, kinds=119, depth=5, tasks=128):
            super().__init__()
            self.atom, self.more, self.whole = nn.Embedding(kinds, c), nn.Linear(8, c), nn.Parameter(torch.zeros(1, c))
            self.body, self.out = nn.ModuleList(Layer(c, 7) for _ in range(depth)), nn.Linear(c, tasks)

        def forward(self, atoms, more, source, target, bonds):
            b, n = atoms.shape
            x, whole = (self.atom(atoms) + self.more(more)).flatten(0, 1), self.whole.expand(b, -1)
            source, target = joined(source, n), joined(target, n)
            for f in self.body:
                x, whole = f(x, whole, source, target, bonds.flatten(0, 1), b)
            return self.out(x.unflatten(0, (b, n)).mean(1) + whole)

    def inputs(b, atoms=32, bonds=64):
        return words(b, atoms), torch.zeros(b, atoms, 8), *between(b, atoms, bonds), torch.zeros(b, bonds, 7)
    return Net(), inputs, "bce"


def weighed_roads():
    """Speeds on a network of roads: each crossing weighs its neighbours by a softmax over the roads that end there."""
    class Layer(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.a, self.b, self.road = heads, nn.Linear(c, c), nn.Linear(c, c), nn.Linear(4, c)
            self.score, self.norm = nn.Parameter(torch.randn(heads, c // heads) * 0.1), nn.LayerNorm(c)

        def forward(self, x, source, target, roads):
            left = self.a(x)[source].unflatten(-1, (self.heads, -1))
            y = left + (self.b(x)[target] + self.road(roads)).unflatten(-1, (self.heads, -1))
            score = (F.leaky_relu(y, 0.2) * self.score).sum(-1).float()
            at = target.unsqueeze(-1).expand_as(score)
            most = score.new_full((x.shape[0], self.heads), -1e9).scatter_reduce(0, at, score.detach(), "amax")
            weight = (score - most[target]).exp()
            total = torch.zeros_like(most).scatter_add(0, at, weight)
            weight = (weight / (total[target] + 1e-9)).unsqueeze(-1).to(left.dtype)
            out = torch.zeros_like(x).index_add(0, target, (left * weight).flatten(1).to(x.dtype))
            return x + F.elu(self.norm(out))

    class Net(nn.Module):
        def __init__(self, past=12, ahead=12, c=128, heads=8, depth=4):
            super().__init__()
            self.enter, self.out = nn.Linear(2 * past, c), nn.Linear(c, ahead)
            self.body = nn.ModuleList(Layer(c, heads) for _ in range(depth))

        def forward(self, speeds, roads, source, target):
            b, n, _ = speeds.shape
            x, source, target = self.enter(speeds).flatten(0, 1), joined(source, n), joined(target, n)
            for f in self.body:
                x = f(x, source, target, roads.flatten(0, 1))
            return self.out(x).unflatten(0, (b, n))

    def inputs(b, n=325, m=1950):
        return torch.zeros(b, n, 24), torch.zeros(b, m, 4), *between(b, n, m, (1, 2, 5, 7, 11, 13))
    return Net(), inputs, "mse"


def filtered_distances():
    """Energies of small crystals: filters made from distances weigh the neighbours of each atom."""
    class Layer(nn.Module):
        def __init__(self, c, waves):
            super().__init__()
            self.filter = nn.Sequential(nn.Linear(waves, c), nn.Softplus(), nn.Linear(c, c))
            self.enter = nn.Linear(c, c, bias=False)
            self.f = nn.Sequential(nn.Linear(c, c), nn.Softplus(), nn.Linear(c, c))

        def forward(self, x, waves, edge, source, target):
            message = self.enter(x)[source] * (self.filter(waves) * edge)
            return x + self.f(torch.zeros_like(x).index_add(0, target, message.to(x.dtype)))

    class Net(nn.Module):
        def __init__(self, c=128, kinds=100, depth=6, waves=50, far=6.0):
            super().__init__()
            self.atom, self.far = nn.Embedding(kinds, c), far
            self.register_buffer("middle", torch.linspace(0, far, waves), persistent=False)
            self.body = nn.ModuleList(Layer(c, waves) for _ in range(depth))
            self.out = nn.Sequential(nn.Linear(c, c // 2), nn.Softplus(), nn.Linear(c // 2, 1))

        def forward(self, atoms, places, source, target):
            b, n = atoms.shape
            x, places = self.atom(atoms).flatten(0, 1), places.flatten(0, 1)
            source, target = joined(source, n), joined(target, n)
            apart = (places[source] - places[target]).square().sum(-1, keepdim=True).add(1e-8).sqrt()
            waves = torch.exp(-10 * (apart - self.middle) ** 2)
            edge = 0.5 * (torch.cos(apart * torch.pi / self.far) + 1) * (apart < self.far)
            for f in self.body:
                x = f(x, waves, edge, source, target)
            return self.out(x).unflatten(0, (b, n)).sum(1)
    return Net(), lambda b: (words(b, 24), torch.zeros(b, 24, 3), *between(b, 24, 288, tuple(range(1, 13)))), "mse"


def rounded_codes():
    """Textures as few integers: a convolutional autoencoder whose six channels are rounded to eight levels."""
    class Block(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.f = nn.Sequential(nn.GroupNorm(16, i), nn.SiLU(), nn.Conv2d(i, o, 3, 1, 1), nn.GroupNorm(16, o),
                                   nn.SiLU(), nn.Conv2d(o, o, 3, 1, 1))
            self.skip = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

        def forward(self, x):
            return self.skip(x) + self.f(x)

    class Net(nn.Module):
        def __init__(self, c=64, codes=6, levels=8):
            super().__init__()
            w, self.half = [c, 2 * c, 4 * c, 4 * c], (levels - 1) / 2
            down = [f for i, o in zip(w, w[1:]) for f in (Block(i, o), nn.Conv2d(o, o, 3, 2, 1))]
            up = [f for i, o in zip(w[::-1], w[-2::-1])
                  for f in (nn.Upsample(scale_factor=2.0), nn.Conv2d(i, i, 3, 1, 1), Block(i, o))]
            self.enc = nn.Sequential(nn.Conv2d(3, c, 3, 1, 1), *down, Block(4 * c, 4 * c), nn.Conv2d(4 * c, codes, 1))
            self.dec = nn.Sequential(nn.Conv2d(codes, 4 * c, 1), Block(4 * c, 4 * c), *up, nn.GroupNorm(16, c),
                                     nn.SiLU(), nn.Conv2d(c, 3, 3, 1, 1))

        def forward(self, x):
            z = torch.tanh(self.enc(x)) * self.half
            z = z + (torch.round(z - 0.5) + 0.5 - z).detach()
            y = self.dec(z / self.half)
            slope = sum(F.l1_loss(y.diff(dim=d), x.diff(dim=d)) for d in (2, 3))
            return Result(F.l1_loss(y, x) + F.mse_loss(y, x) + 0.5 * slope)
    return Net(), lambda b: torch.zeros(b, 3, 128, 128), "own"


def factored_clips():
    """Short films in 400 kinds: tubes of two frames, attention within a frame and then along time in each layer."""
    class Layer(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.space, self.time = Attention(c, heads), Attention(c, heads)
            self.n1, self.n2, self.n3 = nn.LayerNorm(c), nn.LayerNorm(c), nn.LayerNorm(c)
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c))

        def forward(self, x):
            b, t, n, c = x.shape
            x = x + self.space(self.n1(x).flatten(0, 1)).view(b, t, n, c)
            y = self.time(self.n2(x).transpose(1, 2).reshape(b * n, t, c))
            x = x + y.view(b, n, t, c).transpose(1, 2)
            return x + self.f(self.n3(x))

    class Net(nn.Module):
        def __init__(self, c=384, heads=6, depth=8, t=8, n=196, kinds=400):
            super().__init__()
            self.tube = nn.Conv3d(3, c, (2, 16, 16), (2, 16, 16))
            self.when, self.where = (nn.Parameter(torch.randn(1, *s, c) * 0.02) for s in ((t, 1), (1, n)))
            self.body = nn.Sequential(*(Layer(c, heads) for _ in range(depth)))
            self.norm, self.out = nn.LayerNorm(c), nn.Linear(c, kinds)

        def forward(self, x):
            x = self.tube(x).flatten(3).permute(0, 2, 3, 1) + self.when + self.where
            return self.out(self.norm(self.body(x)).mean((1, 2)))
    return Net(), lambda b: torch.zeros(b, 3, 16, 224, 224), "cross-entropy"


def queried_boxes():
    """Boxes in aerial pictures: 100 questions look at the features of a convolutional net, each with its answer."""
    class Layer(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.own, self.other, self.heads = Attention(c, heads), nn.Linear(c, 2 * c), heads
            self.q, self.o = nn.Linear(c, c), nn.Linear(c, c)
            self.norms = nn.ModuleList(nn.LayerNorm(c) for _ in range(3))
            self.f = nn.Sequential(nn.Linear(c, 1024), nn.ReLU(), nn.Linear(1024, c))

        def forward(self, x, ask, seen, place):
            x = self.norms[0](x + self.own(x + ask))
            k, v = self.other(seen).chunk(2, -1)
            q, k, v = (heads_first(t, self.heads) for t in (self.q(x + ask), k + place, v))
            x = self.norms[1](x + self.o(heads_joined(F.scaled_dot_product_attention(q, k, v))))
            return self.norms[2](x + self.f(x))

    class Net(nn.Module):
        def __init__(self, c=256, heads=8, asked=100, kinds=16):
            super().__init__()
            w = [3, 48, 96, 192, 384, c]
            self.body = nn.Sequential(*(f for i, o in zip(w, w[1:]) for f in (
                nn.Conv2d(i, o, 3, 2, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(True),
                nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(True))))
            self.place = nn.Parameter(torch.randn(1, 256, c) * 0.02)
            self.enc = nn.Sequential(*(Encoder(c, heads, 1024, nn.ReLU, 0.1) for _ in range(4)))
            self.dec = nn.ModuleList(Layer(c, heads) for _ in range(4))
            self.ask, self.kind = nn.Parameter(torch.randn(1, asked, c)), nn.Linear(c, kinds + 1)
            self.box = nn.Sequential(nn.Linear(c, c), nn.ReLU(), nn.Linear(c, c), nn.ReLU(), nn.Linear(c, 4))

        def forward(self, pixels, boxes, labels):
            seen = self.enc(self.body(pixels).flatten(2).transpose(1, 2) + self.place)
            x, goal, loss = torch.zeros_like(self.ask).expand(len(pixels), -1, -1), boxes.sigmoid(), 0
            for f in self.dec:
                x = f(x, self.ask, seen, self.place)
                box = self.box(x).float().sigmoid()
                loss = loss + F.cross_entropy(self.kind(x).flatten(0, 1).float(), labels.flatten())
                loss = loss + 5 * F.l1_loss(box, goal) + 2 * self.apart(box, goal).mean()
            return Result(loss)

        @staticmethod
        def apart(one, two):
            (a, b), (c, d) = ((x[..., :2] - x[..., 2:] / 2, x[..., :2] + x[..., 2:] / 2) for x in (one, two))
            both = (torch.minimum(b, d) - torch.maximum(a, c)).clamp(min=0).prod(-1)
            either = one[..., 2:].prod(-1) + two[..., 2:].prod(-1) - both
            hull = (torch.maximum(b, d) - torch.minimum(a, c)).prod(-1)
            return 1 - both / (either + 1e-7) + (hull - either) / (hull + 1e-7)

    def inputs(b):
        return {"pixels": torch.zeros(b, 3, 512, 512), "boxes": torch.zeros(b, 100, 4), "labels": words(b, 100)}
    return Net(), inputs, "own"


def clipped_pixels():
    """A player of arcade games: convolutions over four frames give moves and a value, ratios of chances are clipped."""
    class Net(nn.Module):
        def __init__(self, moves=18, clip=0.1):
            super().__init__()
            self.clip = clip
            self.body = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
                                      nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU())
            self.move, self.value = nn.Linear(512, moves), nn.Linear(512, 1)

        def forward(self, frames, labels, before, gain, told):
            x = self.body(frames)
            chance, value = self.move(x).float().log_softmax(-1), self.value(x).squeeze(-1).float()
            aim, gain = gain + told, (gain - gain.mean()) / (gain.std() + 1e-8)
            ratio = (chance.gather(1, labels.unsqueeze(1)).squeeze(1) - before).exp()
            act = torch.max(-gain * ratio, -gain * ratio.clamp(1 - self.clip, 1 + self.clip)).mean()
            near = told + (value - told).clamp(-self.clip, self.clip)
            worth = torch.max((value - aim) ** 2, (near - aim) ** 2).mean() / 2
            return Result(act + worth / 2 + 0.01 * (chance.exp() * chance).sum(-1).mean())

    def inputs(b):
        return {"frames": torch.zeros(b, 4, 84, 84), "labels": torch.zeros(b, dtype=torch.int64),
                **{k: torch.zeros(b) for k in ("before", "gain", "told")}}
    return Net(), inputs, "own"


NETWORKS = {f.__name__: f for f in (crossed_adverts, next_song, bonded_atoms, weighed_roads, filtered_distances,
                                    rounded_codes, factored_clips, queried_boxes, clipped_pixels)}
STEPS = {"crossed_adverts": ("tf32", 4096, "nchw", "adam"), "next_song": ("amp-bf16", 256, "nchw", "adam"),
         "bonded_atoms": ("fp32", 256, "nchw", "adam"), "weighed_roads": ("tf32", 32, "nchw", "adam"),
         "filtered_distances": ("fp32", 128, "nchw", "adam"), "rounded_codes": ("amp-bf16", 32, "nhwc", "adamw"),
         "factored_clips": ("amp-bf16", 8, "nchw", "adamw"), "queried_boxes": ("amp-fp16", 16, "nhwc", "adamw"),
         "clipped_pixels": ("fp32", 1024, "nchw", "adam")}
