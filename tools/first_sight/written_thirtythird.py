# SPDX-License-Identifier: Apache-2.0
"""written_thirtythird.py - the rest of the sixteenth set of networks: clicks, series, control, views. See cases.py."""
import copy
import math

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from blocks import Attention, Encoder, Result, RMSNorm, heads_first, heads_joined, words


def evolving_interests():
    """Clicks on goods: a GRU reads what was bought, and a second one whose gates the candidate's attention scales."""
    class Gated(nn.Module):
        def __init__(self, i, c):
            super().__init__()
            self.c, self.x, self.h = c, nn.Linear(i, 3 * c), nn.Linear(c, 3 * c)

        def forward(self, x, look):
            x, look = self.x(x), look.unsqueeze(-1)
            h = x.new_zeros(len(x), self.c)
            for t in range(x.shape[1]):
                r, u, n = x[:, t].chunk(3, -1)
                a, b, c = self.h(h).chunk(3, -1)
                u = torch.sigmoid(u + b) * look[:, t]
                h = (1 - u) * h + u * torch.tanh(n + torch.sigmoid(r + a) * c)
            return h

    class Net(nn.Module):
        def __init__(self, goods=367_983, kinds=1601, users=543_060, c=32):
            super().__init__()
            self.good, self.kind, self.user = nn.Embedding(goods, c), nn.Embedding(kinds, c), nn.Embedding(users, c)
            w = 2 * c
            self.read, self.look, self.evolve = nn.GRU(w, w, batch_first=True), nn.Linear(w, w, bias=False), Gated(w, w)
            self.next = nn.Sequential(nn.Linear(2 * w, 100), nn.Sigmoid(), nn.Linear(100, 50), nn.Sigmoid(),
                                      nn.Linear(50, 1))
            self.out = nn.Sequential(nn.BatchNorm1d(c + 4 * w), nn.Linear(c + 4 * w, 200), nn.PReLU(),
                                     nn.Linear(200, 80), nn.PReLU(), nn.Linear(80, 2))

        def items(self, good, kind):
            return torch.cat([self.good(good), self.kind(kind)], -1)

        def forward(self, user, good, kind, goods, kinds, others, other_kinds, labels):
            item, past, wrong = self.items(good, kind), self.items(goods, kinds), self.items(others, other_kinds)
            known = goods > 0
            states = self.read(past)[0]
            yes, no = (self.next(torch.cat([states[:, :-1], t[:, 1:]], -1)).squeeze(-1) for t in (past, wrong))
            aside = -(F.logsigmoid(yes) + F.logsigmoid(-no)) * known[:, 1:].float()
            score = (self.look(states) @ item.unsqueeze(-1)).squeeze(-1)
            look = score.masked_fill(~known, -1e9).softmax(-1)
            last, total = self.evolve(states, look), (past * known.unsqueeze(-1)).sum(1)
            x = self.out(torch.cat([self.user(user), item, total, item * total, last], -1))
            return Result(F.cross_entropy(x, labels) + aside.mean())

    def inputs(b, n=50):
        one = {k: torch.zeros(b, dtype=torch.int64) for k in ("user", "good", "kind", "labels")}
        return {**one, **{k: words(b, n) for k in ("goods", "kinds", "others", "other_kinds")}}
    return Net(), inputs, "own"


def cloze_items():
    """What a viewer saw in between: a fifth of 200 films is hidden, a two-way transformer scores all films there."""
    class Net(nn.Module):
        def __init__(self, items=26_744, c=256, heads=4, depth=4, long=200, share=0.2):
            super().__init__()
            self.item, self.place = nn.Embedding(items + 2, c, padding_idx=0), nn.Embedding(long, c)
            self.norm, self.drop, self.share, self.hidden = nn.LayerNorm(c), nn.Dropout(0.2), share, items + 1
            layer = nn.TransformerEncoderLayer(c, heads, 4 * c, 0.2, "gelu", batch_first=True)
            self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
            self.last = nn.Sequential(nn.Linear(c, c), nn.GELU(), nn.LayerNorm(c))
            self.bias = nn.Parameter(torch.zeros(items + 2))

        def forward(self, items):
            away = torch.rand(items.shape, device=items.device) < self.share
            seen = items.masked_fill(away, self.hidden)
            place = torch.arange(items.shape[1], device=items.device)
            x = self.drop(self.norm(self.item(seen) + self.place(place)))
            x = self.body(x, src_key_padding_mask=items == 0)
            score = F.linear(self.last(x), self.item.weight, self.bias)
            goal = items.masked_fill(~away | (items == 0), -100)
            return Result(F.cross_entropy(score.flatten(0, 1), goal.flatten()))
    return Net(), lambda b: words(b, 200), "own"


def patch_forecaster():
    """Any series continued: patches of 32 points are tokens of a causal transformer; each tells 128 points ahead."""
    class Residual(nn.Module):
        def __init__(self, i, m, o):
            super().__init__()
            self.a, self.b, self.skip = nn.Linear(i, m), nn.Linear(m, o), nn.Linear(i, o)

        def forward(self, x):
            return self.b(F.silu(self.a(x))) + self.skip(x)

    class Layer(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.qkv, self.o = heads, nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.scale = nn.Parameter(torch.zeros(c // heads))
            self.n1, self.n2 = RMSNorm(c), nn.LayerNorm(c)
            self.f = nn.Sequential(nn.Linear(c, c), nn.ReLU(), nn.Linear(c, c))

        def forward(self, x, mask):
            q, k, v = (heads_first(t, self.heads) for t in self.qkv(self.n1(x)).chunk(3, -1))
            q = q * (1.442695041 / math.sqrt(q.shape[-1]) * F.softplus(self.scale))
            look = (q @ k.transpose(-1, -2) + mask).float().softmax(-1).to(v.dtype)
            x = x + self.o(heads_joined(look @ v))
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, c=1280, heads=16, depth=12, patch=32, ahead=128, parts=9):
            super().__init__()
            self.patch, self.ahead, self.parts = patch, ahead, parts
            self.enter, self.out = Residual(2 * patch, c, c), Residual(c, c, ahead * (parts + 1))
            self.often, self.body = nn.Embedding(3, c), nn.ModuleList(Layer(c, heads) for _ in range(depth))
            self.register_buffer("level", torch.arange(1, parts + 1) / (parts + 1), persistent=False)

        def forward(self, series, missing, often):
            known = (missing < 2).float()
            x, known = (t.unfold(1, self.patch, self.patch) for t in (series, known))
            now, then = x[:, :-4], series[:, self.patch:].unfold(1, self.ahead, self.patch)
            mask = known[:, :-4]
            count = mask[:, 0].sum(-1).clamp(min=1)
            mean = (now[:, 0] * mask[:, 0]).sum(-1) / count
            spread = ((now[:, 0] - mean.unsqueeze(1)) ** 2 * mask[:, 0]).sum(-1).div(count).sqrt().clamp(min=1e-3)
            mean, spread = mean.view(-1, 1, 1), spread.view(-1, 1, 1)
            y = self.enter(torch.cat([(now - mean) / spread * mask, 1 - mask], -1)) + self.often(often)
            n = y.shape[1]
            causal = torch.full((n, n), -1e9, device=y.device).triu(1)
            for f in self.body:
                y = f(y, causal)
            y = self.out(y).unflatten(-1, (self.ahead, self.parts + 1)) * spread.unsqueeze(-1) + mean.unsqueeze(-1)
            far = then[:, :n].unsqueeze(-1) - y
            quantile = torch.maximum(self.level * far[..., 1:], (self.level - 1) * far[..., 1:])
            return Result((far[..., 0] ** 2).mean() + quantile.mean())

    def inputs(b):
        return torch.zeros(b, 2048 + 128), torch.zeros(b, 2048 + 128), (torch.arange(b) % 3).int().unsqueeze(1)
    return Net(), inputs, "own"


def imputed_series():
    """Missing air quality: noise is removed from hidden values by layers along time and along 36 stations in turn."""
    class Block(nn.Module):
        def __init__(self, c, side, time, heads):
            super().__init__()
            def layers():
                layer = nn.TransformerEncoderLayer(c, heads, 64, activation="gelu", batch_first=True)
                return nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
            self.step, self.side = nn.Linear(time, c), nn.Conv1d(side, 2 * c, 1)
            self.mid, self.out = nn.Conv1d(c, 2 * c, 1), nn.Conv1d(c, 2 * c, 1)
            self.time, self.place = layers(), layers()

        def forward(self, x, side, step):
            b, c, k, n = x.shape
            y = x + self.step(step).view(b, c, 1, 1)
            y = self.time(y.permute(0, 2, 3, 1).reshape(b * k, n, c)).view(b, k, n, c)
            y = self.place(y.transpose(1, 2).reshape(b * n, k, c)).view(b, n, k, c)
            y = self.mid(y.permute(0, 3, 2, 1).reshape(b, c, k * n)) + self.side(side.flatten(2))
            gate, value = y.chunk(2, 1)
            rest, skip = self.out(gate.sigmoid() * value.tanh()).view(b, 2 * c, k, n).chunk(2, 1)
            return (x + rest) / math.sqrt(2), skip

    class Net(nn.Module):
        def __init__(self, stations=36, c=64, depth=4, heads=8, steps=50):
            super().__init__()
            self.steps, self.enter = steps, nn.Conv1d(2, c, 1)
            angle = torch.arange(steps).unsqueeze(1) * 10 ** (torch.arange(64) / 63 * 4)
            self.register_buffer("table", torch.cat([angle.sin(), angle.cos()], 1), persistent=False)
            beta = torch.linspace(1e-4 ** 0.5, 0.5 ** 0.5, steps) ** 2
            self.register_buffer("keep", (1 - beta).cumprod(0), persistent=False)
            self.embed = nn.Sequential(nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU())
            self.station = nn.Embedding(stations, 16)
            self.body = nn.ModuleList(Block(c, 145, 128, heads) for _ in range(depth))
            self.out = nn.Sequential(nn.Conv1d(c, c, 1), nn.ReLU(), nn.Conv1d(c, 1, 1))

        def aside(self, times, given):
            b, k, n = given.shape
            rate = 1 / 1e4 ** (torch.arange(0, 128, 2, device=given.device) / 128)
            angle = times.unsqueeze(-1) * rate
            time = torch.stack([angle.sin(), angle.cos()], -1).flatten(2).transpose(1, 2)
            place = self.station.weight.t().view(1, 16, k, 1).expand(b, -1, -1, n)
            return torch.cat([time.unsqueeze(2).expand(-1, -1, k, -1), place, given.unsqueeze(1)], 1)

        def forward(self, values, known, times):
            known = (known > -1).float()
            given = known * (torch.rand_like(known) > torch.rand(len(known), 1, 1, device=known.device)).float()
            t = torch.randint(0, self.steps, (len(values),), device=values.device)
            keep, noise = self.keep[t].view(-1, 1, 1), torch.randn_like(values)
            x = keep.sqrt() * values + (1 - keep).sqrt() * noise
            x = torch.stack([given * values, (1 - given) * x], 1)
            b, _, k, n = x.shape
            x = F.relu(self.enter(x.flatten(2))).view(b, -1, k, n)
            side, step, skips = self.aside(times, given), self.embed(self.table[t]), []
            for f in self.body:
                x, skip = f(x, side, step)
                skips.append(skip)
            x = torch.stack(skips).sum(0) / math.sqrt(len(skips))
            found, wanted = self.out(x.flatten(2)).view(b, k, n), known - given
            return Result((((noise - found) * wanted) ** 2).sum() / wanted.sum().clamp(min=1))
    return Net(), lambda b: (torch.zeros(b, 36, 36), torch.zeros(b, 36, 36), torch.zeros(b, 36)), "own"


def implicit_q():
    """A robot learns from a record alone: values at the upper expectile, two critics, and weighted known actions."""
    def dense(i, o, c=256, drop=0.0):
        return nn.Sequential(nn.Linear(i, c), nn.ReLU(), nn.Dropout(drop), nn.Linear(c, c), nn.ReLU(), nn.Dropout(drop),
                             nn.Linear(c, o))

    class Net(nn.Module):
        def __init__(self, state=39, action=28, upper=0.7, sharp=3.0, later=0.99):
            super().__init__()
            self.upper, self.sharp, self.later = upper, sharp, later
            self.value, self.policy = dense(state, 1), dense(state, action, drop=0.1)
            self.q = nn.ModuleList(dense(state + action, 1) for _ in range(2))
            self.slow = copy.deepcopy(self.q).requires_grad_(False)
            self.log = nn.Parameter(torch.zeros(action))

        def forward(self, state, action, reward, end, after):
            both = torch.cat([state, action.tanh()], -1)
            with torch.no_grad():
                goal = torch.min(*(f(both) for f in self.slow)).squeeze(-1)
                next_ = self.value(after).squeeze(-1)
            value = self.value(state).squeeze(-1)
            more = goal - value
            loss = (torch.abs(self.upper - (more < 0).float()) * more ** 2).mean()
            aim = reward + (end < 2).float() * self.later * next_
            loss = loss + sum(F.mse_loss(f(both).squeeze(-1), aim) for f in self.q) / 2
            weight = torch.exp(self.sharp * more.detach()).clamp(max=100)
            policy = torch.distributions.Normal(self.policy(state).tanh(), self.log.clamp(-5, 2).exp())
            return Result(loss - (weight * policy.log_prob(action.tanh()).sum(-1)).mean())

    def inputs(b):
        return torch.zeros(b, 39), torch.zeros(b, 28), torch.zeros(b), torch.zeros(b), torch.zeros(b, 39)
    return Net(), inputs, "own"


def action_expert():
    """A robot obeys: pictures and a sentence go through a language model, actions through a thin twin."""
    class Side(nn.Module):
        def __init__(self, c, heads, size, inner):
            super().__init__()
            self.heads, self.n1, self.n2 = heads, RMSNorm(c), RMSNorm(c)
            self.q, self.k, self.v = (nn.Linear(c, n * size, bias=False) for n in (heads, 1, 1))
            self.o, self.down = nn.Linear(heads * size, c, bias=False), nn.Linear(inner, c, bias=False)
            self.gate, self.up = (nn.Linear(c, inner, bias=False) for _ in range(2))

        def asked(self, x):
            x = self.n1(x)
            return heads_first(self.q(x), self.heads), self.k(x).unsqueeze(1), self.v(x).unsqueeze(1)

        def told(self, x, y):
            x = x + self.o(heads_joined(y))
            y = self.n2(x)
            return x + self.down(F.gelu(self.gate(y), approximate="tanh") * self.up(y))

    class Net(nn.Module):
        def __init__(self, vocab=32000, c=1024, a=512, v=768, heads=8, size=128, depth=10, ahead=50, joints=32, seq=48):
            super().__init__()
            self.patch, self.place = nn.Conv2d(3, v, 16, 16), nn.Parameter(torch.randn(1, 196, v) * 0.02)
            self.eye, self.lift = nn.Sequential(*(Encoder(v, 12) for _ in range(8)), nn.LayerNorm(v)), nn.Linear(v, c)
            self.word, self.heads, self.size = nn.Embedding(vocab, c), heads, size
            self.large = nn.ModuleList(Side(c, heads, size, 4 * c) for _ in range(depth))
            self.thin = nn.ModuleList(Side(a, heads, size, 4 * a) for _ in range(depth))
            self.state, self.move, self.out = nn.Linear(joints, a), nn.Linear(joints, a), nn.Linear(a, joints)
            self.when, self.norm = nn.Sequential(nn.Linear(2 * a, a), nn.SiLU(), nn.Linear(a, a)), RMSNorm(a)
            first, n = 2 * 196 + seq, 2 * 196 + seq + 1 + ahead
            part = torch.cat([torch.zeros(first), torch.ones(1), torch.full((ahead,), 2.0)])
            self.register_buffer("mask", part[None, :] <= part[:, None], persistent=False)
            angle = torch.outer(torch.arange(n).float(), 1e4 ** (-torch.arange(size // 2) * 2 / size))
            self.register_buffer("cos", angle.cos(), persistent=False)
            self.register_buffer("sin", angle.sin(), persistent=False)
            rate = 2 * math.pi / (4e-3 * 1e3 ** torch.linspace(0, 1, a // 2))
            self.register_buffer("rate", rate, persistent=False)

        def turned(self, x):
            a, b = x.float().chunk(2, -1)
            return torch.cat([a * self.cos - b * self.sin, b * self.cos + a * self.sin], -1).to(x.dtype)

        def forward(self, cameras, ids, state, actions):
            b = len(ids)
            seen = self.eye(self.patch(cameras.flatten(0, 1)).flatten(2).transpose(1, 2) + self.place)
            x = torch.cat([self.lift(seen).view(b, -1, self.word.embedding_dim), self.word(ids) * 32], 1)
            t = torch.rand(b, 1, device=ids.device) ** (1 / 1.5) * 0.999 + 0.001
            noise = torch.randn_like(actions)
            y = self.move(t.unsqueeze(-1) * noise + (1 - t.unsqueeze(-1)) * actions)
            angle = t * self.rate
            time = torch.cat([angle.sin(), angle.cos()], -1).unsqueeze(1).expand(-1, y.shape[1], -1)
            y = self.when(torch.cat([y, time], -1))
            y, n = torch.cat([self.state(state).unsqueeze(1), y], 1), x.shape[1]
            for f, g in zip(self.large, self.thin):
                q, k, v = (torch.cat(p, 2) for p in zip(f.asked(x), g.asked(y)))
                k, v = (s.expand(-1, self.heads, -1, -1) for s in (self.turned(k), v))
                z = F.scaled_dot_product_attention(self.turned(q), k, v, attn_mask=self.mask)
                x, y = f.told(x, z[:, :, :n]), g.told(y, z[:, :, n:])
            found = self.out(self.norm(y[:, 1:]))
            return Result(F.mse_loss(found.float(), noise - actions))

    def inputs(b):
        return torch.zeros(b, 2, 3, 224, 224), words(b, 48), torch.zeros(b, 32), torch.zeros(b, 50, 32)
    return Net(), inputs, "own"


def chess_squares():
    """Chess: 64 squares are tokens, scores get a bias made from the whole board, moves are pairs of squares."""
    class Layer(nn.Module):
        def __init__(self, c, heads, inner, shared, scale):
            super().__init__()
            self.heads, self.scale, self.qkv, self.o = heads, scale, nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.few, self.n1, self.n2 = nn.Linear(c, 32, bias=False), nn.LayerNorm(c), nn.LayerNorm(c)
            self.board = nn.Sequential(nn.Flatten(), nn.Linear(64 * 32, 256), nn.SiLU(), nn.LayerNorm(256),
                                       nn.Linear(256, heads * 256), nn.SiLU())
            self.norm, self.shared = nn.LayerNorm(256), shared
            self.f = nn.Sequential(nn.Linear(c, inner), nn.Mish(), nn.Linear(inner, c))

        def forward(self, x):
            q, k, v = (heads_first(t, self.heads) for t in self.qkv(x).chunk(3, -1))
            bias = self.norm(self.board(self.few(x)).unflatten(-1, (self.heads, 256)))
            bias = self.shared(bias).unflatten(-1, (64, 64))
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
            x = self.n1(self.scale * x + self.o(heads_joined(y)))
            return self.n2(self.scale * x + self.f(x))

    class Net(nn.Module):
        def __init__(self, planes=112, c=512, heads=16, depth=10, inner=736, moves=1858):
            super().__init__()
            self.first, self.enter = nn.Linear(64 * 12, 64 * 64), nn.Linear(planes + 64, c)
            self.times, self.plus = nn.Parameter(torch.ones(64, c)), nn.Parameter(torch.zeros(64, c))
            shared, scale = nn.Linear(256, 64 * 64, bias=False), (2 * depth) ** 0.25
            self.body = nn.Sequential(*(Layer(c, heads, inner, shared, scale) for _ in range(depth)))
            self.p, self.q, self.k, self.rise = nn.Linear(c, c), nn.Linear(c, c), nn.Linear(c, c), nn.Linear(c, 4)
            self.v, self.m = (nn.Sequential(nn.Linear(c, n), nn.Mish(), nn.Flatten(), nn.Linear(64 * n, 128), nn.Mish(),
                                            nn.Linear(128, o)) for n, o in ((32, 3), (8, 1)))
            self.register_buffer("legal", torch.arange(moves) * 2 % (64 * 67), persistent=False)

        def forward(self, board, moves, result, left):
            x = board.flatten(2).transpose(1, 2)
            known = self.first(x[..., :12].flatten(1)).unflatten(-1, (64, 64))
            x = F.mish(self.enter(torch.cat([x, known], -1))) * self.times + self.plus
            x = self.body(x)
            y = F.mish(self.p(x))
            q, k = self.q(y), self.k(y)
            score = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
            rise = self.rise(k[:, -8:]).transpose(1, 2)
            rise = (rise[:, :3] + rise[:, 3:]).repeat_interleave(8, 1).flatten(1)
            score = torch.cat([score.flatten(1), rise], 1)
            score = score[:, self.legal].float()
            allowed = moves > -1
            goal = moves.masked_fill(~allowed, -1e4).softmax(-1)
            loss = -(goal * score.masked_fill(~allowed, -1e4).log_softmax(-1)).sum(-1).mean()
            loss = loss + F.cross_entropy(self.v(x).float(), result.softmax(-1))
            return Result(loss + F.huber_loss(self.m(x).squeeze(-1).float(), left, delta=0.5))

    def inputs(b):
        return torch.zeros(b, 112, 8, 8), torch.zeros(b, 1858), torch.zeros(b, 3), torch.zeros(b)
    return Net(), inputs, "own"


def decorrelated_views():
    """Photographs without labels: two views agree, each feature varies in the batch, no two tell the same."""
    class Net(nn.Module):
        def __init__(self, c=8192):
            super().__init__()
            self.body = torchvision.models.resnet50(weights=None, zero_init_residual=True)
            self.body.fc, self.c = nn.Identity(), c
            self.wide = nn.Sequential(nn.Linear(2048, c), nn.BatchNorm1d(c), nn.ReLU(True), nn.Linear(c, c),
                                      nn.BatchNorm1d(c), nn.ReLU(True), nn.Linear(c, c, bias=False))

        def spread(self, x):
            x = x - x.mean(0)
            same = (x.t() @ x) / (len(x) - 1)
            apart = same.flatten()[:-1].view(self.c - 1, self.c + 1)[:, 1:]
            return F.relu(1 - torch.sqrt(x.var(0) + 1e-4)).mean() / 2, apart.pow(2).sum() / self.c

        def forward(self, one, two):
            a, b = self.wide(self.body(one)).float(), self.wide(self.body(two)).float()
            (v, p), (w, q) = self.spread(a), self.spread(b)
            return Result(25 * F.mse_loss(a, b) + 25 * (v + w) + p + q)
    return Net(), lambda b: (torch.zeros(b, 3, 224, 224), torch.zeros(b, 3, 224, 224)), "own"


NETWORKS = {f.__name__: f for f in (evolving_interests, cloze_items, patch_forecaster, imputed_series, implicit_q,
                                    action_expert, chess_squares, decorrelated_views)}
STEPS = {"evolving_interests": ("fp32", 512, "nchw", "adam"), "cloze_items": ("amp-fp16", 128, "nchw", "adamw"),
         "patch_forecaster": ("tf32", 128, "nchw", "adamw"), "imputed_series": ("fp32", 32, "nchw", "adam"),
         "implicit_q": ("fp32", 256, "nchw", "adam"), "action_expert": ("amp-bf16", 16, "nchw", "adamw"),
         "chess_squares": ("amp-fp16", 512, "nchw", "momentum"),
         "decorrelated_views": ("amp-bf16", 64, "nhwc", "momentum")}
