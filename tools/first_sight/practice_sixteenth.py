# SPDX-License-Identifier: Apache-2.0
"""practice_sixteenth.py - networks for practice, the sixteenth set: recommenders and tables. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Encoder, Result, heads_first, heads_joined, words


def sparsemax(x):
    """The nearest point of the simplex along the last axis, by sorting."""
    z = x.sort(-1, descending=True).values
    total = z.cumsum(-1) - 1
    rank = torch.arange(1, x.shape[-1] + 1, device=x.device, dtype=x.dtype)
    size = (rank * z > total).sum(-1, keepdim=True)
    return F.relu(x - total.gather(-1, size - 1) / size)


def hashed_crosses():
    """Clicks: weighted bags of ids with two hashes each, and low-rank crosses of which four experts are mixed."""
    class Cross(nn.Module):
        def __init__(self, c, rank, experts):
            super().__init__()
            self.u, self.v = (nn.Parameter(torch.randn(experts, a, b) * 0.02) for a, b in ((rank, c), (c, rank)))
            self.m = nn.Parameter(torch.randn(experts, rank, rank) * 0.1)
            self.bias, self.gate = nn.Parameter(torch.zeros(c)), nn.Linear(c, experts)

        def forward(self, first, x):
            y = torch.tanh(torch.einsum("bc,ecr->ber", x, self.v))
            y = torch.einsum("ber,erc->bec", torch.tanh(torch.einsum("ber,ers->bes", y, self.m)), self.u)
            y = first.unsqueeze(1) * (y + self.bias)
            return x + torch.einsum("be,bec->bc", self.gate(x).softmax(-1), y)

    class Net(nn.Module):
        def __init__(self, fields=18, rows=40000, c=24, dense=13):
            super().__init__()
            self.rows, self.bags = rows, nn.ModuleList(nn.EmbeddingBag(rows, c, mode="sum") for _ in range(fields))
            self.norm, width = nn.BatchNorm1d(dense), fields * c + dense
            self.cross = nn.ModuleList(Cross(width, 64, 4) for _ in range(3))
            self.deep = nn.Sequential(nn.Linear(width, 768), nn.BatchNorm1d(768), nn.PReLU(), nn.Linear(768, 256),
                                      nn.BatchNorm1d(256), nn.PReLU())
            self.out = nn.Linear(width + 256, 1)

        def forward(self, ids, weight, number, click):
            parts = []
            for n, bag in enumerate(self.bags):
                mine = ids[:, 4 * n:4 * n + 4]
                two = torch.cat([mine % self.rows, (mine * 2654435761 + n) % self.rows], 1)
                w = torch.sigmoid(weight[:, 4 * n:4 * n + 4]).repeat(1, 2)
                parts.append(bag(two, per_sample_weights=w))
            x = first = torch.cat([*parts, self.norm(torch.log1p(number.abs()))], 1)
            for f in self.cross:
                x = f(first, x)
            y = self.out(torch.cat([x, self.deep(first)], 1)).squeeze(1)
            return Result(F.binary_cross_entropy_with_logits(y, (click > 1).float()))
    return Net(), lambda b: (words(b, 72), torch.zeros(b, 72), torch.zeros(b, 13), torch.zeros(b)), "own"


def batch_as_wrong_answers():
    """Videos for users: two towers, all other videos of the batch are wrong, and so are near popular ones."""
    class Net(nn.Module):
        def __init__(self, users=100000, items=60000, c=64):
            super().__init__()
            self.user, self.item, self.items = nn.Embedding(users, c), nn.Embedding(items, c), items
            self.past = nn.EmbeddingBag(items, c, mode="mean")
            self.a = nn.Sequential(nn.Linear(2 * c, 512), nn.LayerNorm(512), nn.SiLU(), nn.Linear(512, 128))
            self.b = nn.Sequential(nn.Linear(c, 256), nn.LayerNorm(256), nn.SiLU(), nn.Linear(256, 128))
            self.register_buffer("often", torch.full((items,), -8.0))
            self.heat = nn.Parameter(torch.tensor(0.07))

        def forward(self, who, past, what, watched):
            what, past, n = what % self.items, past % self.items, len(who)
            one = F.normalize(self.a(torch.cat([self.user(who), self.past(past)], 1)), dim=1)
            two = F.normalize(self.b(self.item(what)), dim=1)
            score = one @ two.t() / self.heat.clamp(min=0.01) - self.often[what]
            same = (what[:, None] == what[None]) & ~torch.eye(n, dtype=torch.bool, device=who.device)
            score = score.masked_fill(same, float("-inf"))
            right = torch.arange(n, device=who.device)
            loss = F.cross_entropy(score, right, reduction="none", label_smoothing=0.0) * watched.abs()
            known = F.normalize(self.b(self.item.weight[:4096]), dim=1)
            hard = (one @ known.t()).topk(32, 1).values
            gap = F.softplus(10 * (hard - (one * two).sum(1, keepdim=True) + 0.1))
            return Result(loss.mean() + 0.1 * gap.mean())
    return Net(), lambda b: (torch.zeros(b, dtype=torch.int64), words(b, 30), torch.zeros(b, dtype=torch.int64), torch.zeros(b)), "own"


def evolving_interests():
    """Purchases: interests of a history by a GRU, attention to the offered good, and a second GRU with that gate."""
    class Dice(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.norm, self.slope = nn.BatchNorm1d(c, affine=False, eps=1e-8), nn.Parameter(torch.zeros(c))

        def forward(self, x):
            p = torch.sigmoid(self.norm(x))
            return p * x + (1 - p) * self.slope * x

    class Net(nn.Module):
        def __init__(self, goods=80000, kinds=1500, c=32, seq=40):
            super().__init__()
            self.good, self.kind, self.kinds, w = nn.Embedding(goods, c), nn.Embedding(kinds, c), kinds, 2 * c
            self.first, self.again = nn.GRU(w, w, batch_first=True), nn.GRUCell(w, w)
            self.look = nn.Sequential(nn.Linear(4 * w, 80), nn.Sigmoid(), nn.Linear(80, 40), nn.Sigmoid(), nn.Linear(40, 1))
            self.next = nn.Sequential(nn.Linear(2 * w, 100), nn.Sigmoid(), nn.Linear(100, 1))
            self.out = nn.Sequential(nn.Linear(4 * w, 200), Dice(200), nn.Linear(200, 80), Dice(80), nn.Linear(80, 2))

        def both(self, ids):
            return torch.cat([self.good(ids), self.kind(ids % self.kinds)], -1)

        def forward(self, past, wrong, offered, bought):
            x, q = self.both(past), self.both(offered)
            other = self.both(wrong)
            y, _ = self.first(x)
            a = self.next(torch.cat([y[:, :-1], x[:, 1:]], -1)).squeeze(-1)
            b = self.next(torch.cat([y[:, :-1], other[:, 1:]], -1)).squeeze(-1)
            extra = F.binary_cross_entropy_with_logits(torch.cat([a, b], 1), torch.cat([torch.ones_like(a), torch.zeros_like(b)], 1))
            t = q.unsqueeze(1).expand_as(y)
            look = self.look(torch.cat([t, y, t - y, t * y], -1)).squeeze(-1)
            look = look.masked_fill(past == 0, -2.0 ** 15).softmax(1)
            h = torch.zeros_like(q)
            for n in range(y.shape[1]):
                new = self.again(y[:, n], h)
                h = torch.lerp(h, new.to(h.dtype), look[:, n:n + 1])
            s = x.sum(1)
            score = self.out(torch.cat([q, s, q * s, h], -1))
            return Result(F.cross_entropy(score, (bought > 0).long()) + extra)
    return Net(), lambda b: (words(b, 40), words(b, 40), torch.zeros(b, dtype=torch.int64), torch.zeros(b)), "own"


def timed_actions():
    """The next action of a user: pointwise SiLU attention with biases of distance and of time, sampled softmax."""
    class Block(nn.Module):
        def __init__(self, c, heads, seq, buckets):
            super().__init__()
            self.heads, self.n1, self.n2 = heads, nn.LayerNorm(c), nn.LayerNorm(c)
            self.uvqk, self.o = nn.Linear(c, 4 * c), nn.Linear(c, c)
            self.place, self.time = nn.Parameter(torch.randn(2 * seq - 1) * 0.02), nn.Parameter(torch.randn(buckets + 1) * 0.02)

        def forward(self, x, gap, far, seen):
            n = x.shape[1]
            u, v, q, k = F.silu(self.uvqk(self.n1(x))).chunk(4, -1)
            q, k, v = (heads_first(t, self.heads) for t in (q, k, v))
            look = torch.einsum("bhnd,bhmd->bhnm", q, k) + (self.place[far] + self.time[gap]).unsqueeze(1)
            look = F.silu(look) / n * seen
            y = heads_joined(torch.einsum("bhnm,bhmd->bhnd", look.to(v.dtype), v))
            return x + self.o(self.n2(y) * u)

    class Net(nn.Module):
        def __init__(self, items=50000, c=256, depth=6, seq=200, wrong=128, buckets=64):
            super().__init__()
            self.items, self.wrong, self.buckets = items, wrong, buckets
            self.item, self.place = nn.Embedding(items, c, padding_idx=0), nn.Parameter(torch.randn(seq, c) * 0.02)
            self.body = nn.ModuleList(Block(c, 4, seq, buckets) for _ in range(depth))
            index = torch.arange(seq)
            self.register_buffer("far", index[:, None] - index[None] + seq - 1)
            self.register_buffer("seen", (index[:, None] >= index[None]).float())

        def forward(self, ids, when):
            b, n = ids.shape
            when = when.abs().cumsum(1) * 3600
            gap = (when[:, :, None] - when[:, None]).abs().clamp(min=1).log().div(0.3).long().clamp(max=self.buckets)
            x = F.dropout(self.item(ids) + self.place, 0.2, self.training)
            for f in self.body:
                x = f(x, gap, self.far, self.seen)
            x = F.normalize(x[:, :-1].float(), dim=-1)
            draw = torch.randint(1, self.items, (b, n - 1, self.wrong), device=ids.device)
            right, wrong = F.normalize(self.item(ids[:, 1:]), dim=-1), F.normalize(self.item(draw), dim=-1)
            score = torch.cat([(x * right).sum(-1, keepdim=True), torch.einsum("bnd,bnkd->bnk", x, wrong)], -1) / 0.05
            score[..., 1:] = score[..., 1:].masked_fill(draw == ids[:, 1:, None], -1e4)
            keep = (ids[:, 1:] != 0).float()
            return Result(-(score.log_softmax(-1)[..., 0] * keep).sum() / keep.sum().clamp(min=1))
    return Net(), lambda b: (words(b, 200), torch.zeros(b, 200)), "own"


def oblivious_forest():
    """Tables by trees that ask one soft question per depth: sparse choices of features and of bins, dense stacking."""
    class Trees(nn.Module):
        def __init__(self, a, trees, depth, out):
            super().__init__()
            self.choice = nn.Parameter(torch.rand(trees, depth, a))
            self.cut, self.heat = nn.Parameter(torch.randn(trees, depth)), nn.Parameter(torch.zeros(trees, depth))
            self.answer = nn.Parameter(torch.randn(trees, out, 2 ** depth) * 0.1)
            bit = (torch.arange(2 ** depth).unsqueeze(0) >> torch.arange(depth).unsqueeze(1)) & 1
            self.register_buffer("code", torch.stack([bit, 1 - bit], -1).float())

        def forward(self, x):
            value = torch.einsum("bi,tdi->btd", x, sparsemax(self.choice))
            value = (value - self.cut) * torch.exp(-self.heat)
            bins = torch.clamp(0.5 * torch.stack([value, -value], -1) + 0.5, 0, 1)
            leaf = torch.einsum("btds,dcs->btdc", bins, self.code).prod(2)
            return torch.einsum("btc,toc->bto", leaf, self.answer).flatten(1)

    class Net(nn.Module):
        def __init__(self, features=54, kinds=7, trees=192, out=3):
            super().__init__()
            self.norm, self.body = nn.BatchNorm1d(features), nn.ModuleList(
                Trees(features + n * trees * out, trees, 5, out) for n in range(3))
            self.kinds, self.out = kinds, out

        def forward(self, x, labels):
            x, found = self.norm(x), []
            for f in self.body:
                y = f(torch.cat([x, *found], 1))
                found.append(y)
            y = torch.cat(found, 1).unflatten(1, (-1, self.out)).mean(-1)
            y = y.unflatten(1, (self.kinds + 1, -1)).mean(-1)[:, :self.kinds]
            return Result(F.cross_entropy(y, labels))
    return Net(), lambda b: {"x": torch.zeros(b, 54), "labels": torch.zeros(b, dtype=torch.int64)}, "own"


def nearest_rows():
    """Prices from similar rows: periodic features, 96 nearest rows of the training set, their labels and differences."""
    class Net(nn.Module):
        def __init__(self, features=32, waves=24, c=192, rows=12000, near=96):
            super().__init__()
            self.near, self.rate = near, nn.Parameter(torch.randn(features, waves) * 0.1)
            self.each = nn.Parameter(torch.randn(features, 2 * waves, 12) * 0.1)
            self.enter = nn.Linear(features * 12, c)
            self.block = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 2 * c), nn.ReLU(), nn.Dropout(0.2), nn.Linear(2 * c, c))
            self.norm, self.key, self.label = nn.LayerNorm(c), nn.Linear(c, c), nn.Linear(1, c)
            self.change = nn.Sequential(nn.Linear(c, 2 * c), nn.ReLU(), nn.Dropout(0.2), nn.Linear(2 * c, c, bias=False))
            self.out = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 2 * c), nn.ReLU(), nn.Linear(2 * c, 1))
            self.register_buffer("known", torch.randn(rows, features))
            self.register_buffer("price", torch.randn(rows, 1))

        def coded(self, x):
            x = 2 * math.pi * self.rate * x.unsqueeze(-1)
            x = F.relu(torch.einsum("bfw,fwk->bfk", torch.cat([x.cos(), x.sin()], -1), self.each))
            x = self.enter(x.flatten(1))
            x = x + self.block(x)
            return x, self.key(self.norm(x))

        def forward(self, x, price):
            x, k = self.coded(x)
            with torch.no_grad():
                keys = self.coded(self.known)[1]
                index = torch.cdist(k, keys).topk(self.near, 1, largest=False).indices
            _, other = self.coded(self.known[index].flatten(0, 1))
            other = other.unflatten(0, (-1, self.near))
            score = -k.square().sum(-1, keepdim=True) + 2 * torch.einsum("bd,bnd->bn", k, other) - other.square().sum(-1)
            share = F.dropout(score.softmax(-1), 0.2, self.training)
            value = self.label(self.price[index]) + self.change(k.unsqueeze(1) - other)
            x = x + (share.unsqueeze(1) @ value).squeeze(1)
            return Result(F.mse_loss(self.out(x).squeeze(1), price))
    return Net(), lambda b: (torch.zeros(b, 32), torch.zeros(b)), "own"


def thirty_two_submodels():
    """Tables by 32 dense networks with common weights and their own scales, over pieces of numbers and categories."""
    class Shared(nn.Module):
        def __init__(self, a, b, k):
            super().__init__()
            self.w, self.r, self.s = nn.Linear(a, b, bias=False), nn.Parameter(torch.ones(k, a)), nn.Parameter(torch.ones(k, b))
            self.bias = nn.Parameter(torch.zeros(k, b))

        def forward(self, x):
            return torch.addcmul(self.bias, self.w(x * self.r), self.s)

    class Net(nn.Module):
        def __init__(self, numbers=24, kinds=6, pieces=48, k=32, c=384):
            super().__init__()
            self.k, self.kinds = k, kinds
            self.register_buffer("edges", torch.linspace(-3, 3, pieces + 1).repeat(numbers, 1))
            self.linear = nn.Parameter(torch.randn(numbers, pieces, 16) * 0.02)
            self.table = nn.Embedding(64 * kinds, 16)
            width = (numbers + kinds) * 16
            self.body = nn.ModuleList([Shared(width, c, k), Shared(c, c, k), Shared(c, c, k)])
            self.out = nn.Parameter(torch.randn(k, c, 2) * 0.05)

        def forward(self, x, ids, price):
            low, high = self.edges[:, :-1], self.edges[:, 1:]
            bins = ((x.unsqueeze(-1) - low) / (high - low)).clamp(0, 1)
            number = F.relu(torch.einsum("bnp,npd->bnd", bins, self.linear))
            kind = self.table(ids % 64 + 64 * torch.arange(self.kinds, device=ids.device))
            y = torch.cat([number, kind], 1).flatten(1).unsqueeze(1).expand(-1, self.k, -1)
            for f in self.body:
                y = F.dropout(F.relu(f(y)), 0.1, self.training)
            mean, spread = torch.einsum("bkc,kco->bko", y, self.out).unbind(-1)
            return Result(F.gaussian_nll_loss(mean, price.unsqueeze(1).expand_as(mean), F.softplus(spread) + 1e-4))
    return Net(), lambda b: (torch.zeros(b, 24), words(b, 6), torch.zeros(b)), "own"


def attentive_steps():
    """Tables in steps: sparse masks choose features, norms over groups of 128 rows, and a transformer of a group's rows."""
    class Ghost(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.norm = nn.InstanceNorm1d(c, affine=True, momentum=0.02)

        def forward(self, x):
            return self.norm(x.transpose(1, 2)).transpose(1, 2)

    class Unit(nn.Module):
        def __init__(self, a, c, dense=None):
            super().__init__()
            self.dense, self.norm = dense or nn.Linear(a, 2 * c, bias=False), Ghost(2 * c)

        def forward(self, x):
            return F.glu(self.norm(self.dense(x)), -1)

    class Part(nn.Module):
        def __init__(self, a, c, common):
            super().__init__()
            self.f = nn.ModuleList([Unit(a, c, common[0]), Unit(c, c, common[1]), Unit(c, c), Unit(c, c)])

        def forward(self, x):
            x = self.f[0](x)
            for f in self.f[1:]:
                x = (x + f(x)) * math.sqrt(0.5)
            return x

    class Net(nn.Module):
        def __init__(self, features=96, c=64, steps=5):
            super().__init__()
            common = nn.ModuleList([nn.Linear(features, 4 * c, bias=False), nn.Linear(2 * c, 4 * c, bias=False)])
            self.norm, self.c = Ghost(features), c
            self.parts = nn.ModuleList(Part(features, 2 * c, common) for _ in range(steps + 1))
            self.look = nn.ModuleList(nn.Sequential(nn.Linear(c, features, bias=False), Ghost(features)) for _ in range(steps))
            self.rows, self.out = Encoder(c, 4, 128), nn.Linear(c, 1)

        def forward(self, x, truth):
            x, total, extra = self.norm(x), 0, 0
            prior, a = torch.ones_like(x), self.parts[0](x)[..., self.c:]
            for look, part in zip(self.look, self.parts[1:]):
                mask = sparsemax(look(a).float() * prior)
                extra = extra - (mask * torch.log(mask + 1e-10)).sum(-1).mean()
                prior = prior * (1.3 - mask)
                d, a = part(mask * x).split(self.c, -1)
                total = total + F.relu(d)
            y = self.rows(total)
            return Result(F.binary_cross_entropy_with_logits(self.out(y).squeeze(-1), (truth > 0).float()) + 1e-3 * extra)
    return Net(), lambda b: (torch.zeros(b, 128, 96), torch.zeros(b, 128)), "own"


NETWORKS = {f.__name__: f for f in (hashed_crosses, batch_as_wrong_answers, evolving_interests, timed_actions,
                                    oblivious_forest, nearest_rows, thirty_two_submodels, attentive_steps)}
STEPS = {"hashed_crosses": ("tf32", 4096, "nchw", "adam"), "batch_as_wrong_answers": ("amp-bf16", 4096, "nchw", "adam"),
         "evolving_interests": ("fp32", 512, "nchw", "adam"), "timed_actions": ("amp-bf16", 32, "nchw", "adamw"),
         "oblivious_forest": ("fp32", 1024, "nchw", "adam"), "nearest_rows": ("tf32", 256, "nchw", "adamw"),
         "thirty_two_submodels": ("amp-fp16", 1024, "nchw", "adamw"), "attentive_steps": ("fp32", 16, "nchw", "momentum")}
