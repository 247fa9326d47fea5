# SPDX-License-Identifier: Apache-2.0
"""written_twentyfifth.py - the rest of the fourteenth set of networks: control, clicks, series. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Encoder, Result, words


def chosen(x, index):
    """Rows of x (batch, points, features) at index (batch, ...)."""
    flat = index.flatten(1).unsqueeze(-1).expand(-1, -1, x.shape[-1])
    return x.gather(1, flat).unflatten(1, index.shape[1:])


def grasp_points():
    """Where a gripper holds: far points are drawn one by one, neighbours in a ball are pooled, and spread back."""
    class Gather(nn.Module):
        def __init__(self, points, radius, near, sizes):
            super().__init__()
            self.points, self.radius, self.near = points, radius, near
            layers = [(nn.Conv2d(i, o, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU()) for i, o in zip(sizes, sizes[1:])]
            self.f = nn.Sequential(*(m for three in layers for m in three))

        @torch.no_grad()
        def far(self, x):
            far = torch.full(x.shape[:2], 1e10, device=x.device)
            last, found = torch.zeros(len(x), 1, dtype=torch.int64, device=x.device), []
            for _ in range(self.points):
                found.append(last)
                far = torch.minimum(far, (x - chosen(x, last)).pow(2).sum(-1))
                last = far.argmax(1, keepdim=True)
            return torch.cat(found, 1)

        def forward(self, x, f):
            middle = chosen(x, self.far(x))
            with torch.no_grad():
                value, index = torch.cdist(middle, x).topk(self.near, dim=-1, largest=False)
                index = torch.where(value < self.radius, index, index[..., :1])
            around = chosen(x, index) - middle.unsqueeze(2)
            near = around if f is None else torch.cat([around, chosen(f, index)], -1)
            return middle, self.f(near.permute(0, 3, 2, 1)).amax(2).transpose(1, 2)

    class Spread(nn.Module):
        def __init__(self, sizes):
            super().__init__()
            layers = [(nn.Conv1d(i, o, 1, bias=False), nn.BatchNorm1d(o), nn.ReLU()) for i, o in zip(sizes, sizes[1:])]
            self.f = nn.Sequential(*(m for three in layers for m in three))

        def forward(self, x, f, low, g):
            far, index = torch.cdist(x, low).topk(3, dim=-1, largest=False)
            weight = 1 / (far + 1e-8)
            y = (chosen(g, index) * (weight / weight.sum(-1, keepdim=True)).unsqueeze(-1)).sum(2)
            y = y if f is None else torch.cat([f, y], -1)
            return self.f(y.transpose(1, 2)).transpose(1, 2)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = Gather(256, 0.4, 32, (3, 64, 64, 128)), Gather(64, 0.8, 32, (131, 128, 128, 256))
            self.all = nn.Sequential(nn.Linear(259, 256), nn.ReLU(), nn.Linear(256, 512), nn.ReLU())
            self.up2, self.up1 = Spread((256 + 512, 256, 256)), Spread((128 + 256, 256, 128))
            self.up0 = Spread((128, 128, 128, 128))
            self.good, self.way, self.wide = nn.Linear(128, 1), nn.Linear(128, 6), nn.Linear(128, 10)

        def forward(self, points, good, way, labels):
            x1, f1 = self.one(points, None)
            x2, f2 = self.two(x1, f1)
            top = self.all(torch.cat([x2, f2], -1)).amax(1, keepdim=True)
            f2 = self.up2.f(torch.cat([f2, top.expand(-1, f2.shape[1], -1)], -1).transpose(1, 2)).transpose(1, 2)
            f1 = self.up1(x1, f1, x2, f2)
            f = self.up0(points, None, x1, f1)
            a, b = self.way(f).split(3, -1)
            a = F.normalize(a, dim=-1)
            b = F.normalize(b - (a * b).sum(-1, keepdim=True) * a, dim=-1)
            held = (good > 0).float()
            loss = F.binary_cross_entropy_with_logits(self.good(f).squeeze(-1), held)
            turned = 1 - F.cosine_similarity(a, way[..., :3], dim=-1)
            turned = turned + 1 - (b * F.normalize(way[..., 3:], dim=-1)).sum(-1)
            loss = loss + (turned * held).sum() / (held.sum() + 1)
            return Result(loss + F.cross_entropy(self.wide(f).transpose(1, 2), labels))

    def inputs(b):
        return {"points": torch.zeros(b, 1024, 3), "good": torch.zeros(b, 1024), "way": torch.zeros(b, 1024, 6),
                "labels": torch.zeros(b, 1024, dtype=torch.int64)}
    return Net(), inputs, "own"


def robot_tokens():
    """Arm motions from six pictures and a sentence: scaled filters, eight tokens a picture, and 256 bins an action."""
    from torchvision.models import efficientnet_b3

    class Scale(nn.Module):
        def __init__(self, c, text):
            super().__init__()
            self.f = nn.Linear(text, 2 * c)
            nn.init.zeros_(self.f.weight)
            nn.init.zeros_(self.f.bias)

        def forward(self, x, text):
            scale, shift = self.f(text)[..., None, None].chunk(2, 1)
            return x * (1 + scale) + shift

    class Net(nn.Module):
        def __init__(self, text=512, c=512, tokens=8, frames=6, parts=11, bins=256, depth=8):
            super().__init__()
            self.frames, self.tokens, self.parts = frames, tokens, parts
            self.eye = efficientnet_b3(weights=None).features
            self.scale = nn.ModuleList(Scale(n, text) for n in (40, 24, 32, 48, 96, 136, 232, 384, 1536))
            self.down = nn.Conv2d(1536, c, 1, bias=False)
            self.learn = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 64), nn.GELU(), nn.Dropout(0.1),
                                       nn.Linear(64, tokens))
            self.place = nn.Parameter(torch.randn(1, frames * tokens, c) * 0.02)
            self.body = nn.ModuleList(Encoder(c, 8, dropout=0.1) for _ in range(depth))
            self.norm, self.out = nn.LayerNorm(c), nn.Linear(c, parts * bins)
            frame = torch.arange(frames * tokens) // tokens
            self.register_buffer("mask", frame[:, None] >= frame, persistent=False)

        def forward(self, pictures, text, labels):
            b = len(pictures)
            x, said = pictures.flatten(0, 1), text.repeat_interleave(self.frames, 0)
            for f, scale in zip(self.eye, self.scale):
                x = scale(f(x), said)
            x = self.down(x).flatten(2).transpose(1, 2)
            look = self.learn(x).transpose(1, 2).softmax(-1)
            x = torch.bmm(look, x).view(b, self.frames * self.tokens, -1) + self.place
            for f in self.body:
                x = f(x, mask=self.mask)
            x = self.norm(x).unflatten(1, (self.frames, self.tokens)).mean(2)
            score = self.out(x).unflatten(-1, (self.parts, -1)).float()
            return Result(F.cross_entropy(score.flatten(0, 2), labels.flatten()))

    def inputs(b):
        return {"pictures": torch.zeros(b, 6, 3, 300, 300), "text": torch.zeros(b, 512),
                "labels": torch.zeros(b, 6, 11, dtype=torch.int64)}
    return Net(), inputs, "own"


def walking_policy():
    """A robot dog learns to walk: a GRU and dense layers choose joint angles, a critic also sees the ground."""
    from torch.distributions import Normal

    def dense(i, o, sizes=(512, 256, 128)):
        wide = (i, *sizes)
        return nn.Sequential(*(m for a, b in zip(wide, wide[1:]) for m in (nn.Linear(a, b), nn.ELU())),
                             nn.Linear(sizes[-1], o))

    class Net(nn.Module):
        def __init__(self, seen=48, more=187, actions=12, c=256):
            super().__init__()
            self.memory, self.memory2 = nn.GRU(seen, c, batch_first=True), nn.GRU(seen + more, c, batch_first=True)
            self.actor, self.critic = dense(c, actions), dense(c, 1)
            self.spread = nn.Parameter(torch.ones(actions))

        def forward(self, seen, more, actions, before, gain, value, goal):
            chance = Normal(self.actor(self.memory(seen)[0]), self.spread.exp())
            new = chance.log_prob(actions).sum(-1)
            ratio = torch.exp((new - new.detach()) + 0.01 * before)
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            better = torch.max(-gain * ratio, -gain * ratio.clamp(0.8, 1.2)).mean()
            found = self.critic(self.memory2(torch.cat([seen, more], -1))[0]).squeeze(-1)
            near = value + (found - value).clamp(-0.2, 0.2)
            worse = torch.max((found - goal).pow(2), (near - goal).pow(2)).mean()
            return Result(better + worse - 0.005 * chance.entropy().sum(-1).mean())

    def inputs(b):
        return (torch.zeros(b, 24, 48), torch.zeros(b, 24, 187), torch.zeros(b, 24, 12),
                *(torch.zeros(b, 24) for _ in range(4)))
    return Net(), inputs, "own"


def vtrace_player():
    """A player of many games: three residual sections and an LSTM see 20 frames; old actions are weighted by chance."""
    class Residual(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)

        def forward(self, x):
            return x + self.b(F.relu(self.a(F.relu(x))))

    class Net(nn.Module):
        def __init__(self, actions=15, c=256):
            super().__init__()
            body, i = [], 3
            for o in (16, 32, 32):
                body += [nn.Conv2d(i, o, 3, padding=1), nn.MaxPool2d(3, 2, 1), Residual(o), Residual(o)]
                i = o
            self.eye = nn.Sequential(*body, nn.ReLU(), nn.Flatten(), nn.Linear(32 * 9 * 12, c), nn.ReLU())
            self.actions, self.memory = actions, nn.LSTM(c + actions + 1, c)
            self.policy, self.value = nn.Linear(c, actions), nn.Linear(c, 1)

        @torch.no_grad()
        def goals(self, ratio, rewards, keep, value, last):
            short, later = ratio.clamp(max=1), torch.cat([value[1:], last.unsqueeze(0)])
            delta = short * (rewards + keep * later - value)
            total, found = torch.zeros_like(last), []
            for t in range(len(rewards) - 1, -1, -1):
                total = delta[t] + keep[t] * short[t] * total
                found.append(total)
            goal = torch.stack(found[::-1]) + value
            later = torch.cat([goal[1:], last.unsqueeze(0)])
            return goal, short * (rewards + keep * later - value)

        def forward(self, frames, old, rewards, action):
            n, action = frames.shape[1], action.long().transpose(0, 1)
            x = self.eye(frames.transpose(0, 1).flatten(0, 1)).unflatten(0, (n, -1))
            rewards = rewards.clamp(-1, 1).transpose(0, 1)
            x = torch.cat([x, F.one_hot(action, self.actions).to(x.dtype), rewards.unsqueeze(-1)], -1)
            x = self.memory(x)[0]
            score, value = self.policy(x), self.value(x).squeeze(-1)
            log = score.log_softmax(-1)
            mine = log.gather(-1, action.unsqueeze(-1)).squeeze(-1)
            theirs = old.transpose(0, 1).log_softmax(-1).gather(-1, action.unsqueeze(-1)).squeeze(-1)
            keep = torch.full_like(rewards, 0.99)
            goal, gain = self.goals((mine - theirs).exp()[:-1], rewards[1:], keep[1:], value[:-1], value[-1])
            entropy = -(log.exp() * log).sum(-1).mean()
            return Result(-(mine[:-1] * gain).mean() + 0.25 * (goal - value[:-1]).pow(2).mean() - 0.01 * entropy)

    def inputs(b):
        return (torch.zeros(b, 20, 3, 72, 96), torch.zeros(b, 20, 15), torch.zeros(b, 20),
                torch.zeros(b, 20, dtype=torch.int32))
    return Net(), inputs, "own"


def crossed_fields():
    """Clicks on advertisements: products of 39 fields' vectors, compressed in three layers, beside a dense network."""
    class Net(nn.Module):
        def __init__(self, rows=1_000_000, fields=39, c=16, cross=(128, 128, 128), wide=(400, 400)):
            super().__init__()
            self.linear, self.vector = nn.Embedding(rows, 1), nn.Embedding(rows, c)
            nn.init.xavier_uniform_(self.vector.weight)
            layers, last, kept = [], fields, 0
            for n, o in enumerate(cross):
                layers.append(nn.Conv1d(fields * last, o, 1))
                last, kept = o // 2, kept + (o // 2 if n < len(cross) - 1 else o)
            self.cross, self.join = nn.ModuleList(layers), nn.Linear(kept, 1)
            sizes = (fields * c, *wide)
            self.deep = nn.Sequential(*(m for i, o in zip(sizes, sizes[1:]) for m in (
                nn.Linear(i, o), nn.BatchNorm1d(o), nn.ReLU(), nn.Dropout(0.2))), nn.Linear(wide[-1], 1))

        def forward(self, ids, click):
            x = self.vector(ids)
            h, pooled = x, []
            for n, f in enumerate(self.cross):
                h = F.relu(f(torch.einsum("bmd,bhd->bmhd", x, h).flatten(1, 2)))
                if n < len(self.cross) - 1:
                    keep, h = h.chunk(2, 1)
                else:
                    keep = h
                pooled.append(keep.sum(-1))
            score = self.linear(ids).sum((1, 2)) + self.join(torch.cat(pooled, 1)).squeeze(1)
            score = score + self.deep(x.flatten(1)).squeeze(1)
            return Result(F.binary_cross_entropy_with_logits(score, (click > 0.7).float()))
    return Net(), lambda b: (words(b, 39), torch.zeros(b)), "own"


def lagged_series():
    """Weather at a station: series are split in trends and seasons, and attend to their likeliest lags."""
    class Trend(nn.Module):
        def __init__(self, size=25):
            super().__init__()
            self.pad, self.f = (size - 1) // 2, nn.AvgPool1d(size, 1)

        def forward(self, x):
            y = torch.cat([x[:, :1].repeat(1, self.pad, 1), x, x[:, -1:].repeat(1, self.pad, 1)], 1)
            y = self.f(y.transpose(1, 2)).transpose(1, 2)
            return x - y, y

    class Lags(nn.Module):
        def __init__(self, c, heads=8, factor=3):
            super().__init__()
            self.heads, self.factor = heads, factor
            self.q, self.k, self.v, self.o = (nn.Linear(c, c) for _ in range(4))

        def forward(self, x, other):
            q, k, v = (f(t).unflatten(-1, (self.heads, -1)).permute(0, 2, 3, 1)
                       for f, t in ((self.q, x), (self.k, other), (self.v, other)))
            n, m = q.shape[-1], k.shape[-1]
            k, v = (F.pad(t, (0, n - m)) if n > m else t[..., :n] for t in (k, v))
            same = torch.fft.irfft(torch.fft.rfft(q) * torch.conj(torch.fft.rfft(k)), n=n)
            weight, lag = torch.topk(same, int(self.factor * math.log(n)), dim=-1)
            weight, twice = weight.softmax(-1), v.repeat(1, 1, 1, 2)
            place, total = torch.arange(n, device=x.device), 0
            for i in range(lag.shape[-1]):
                total = total + twice.gather(-1, place + lag[..., i:i + 1]) * weight[..., i:i + 1]
            return self.o(total.permute(0, 3, 1, 2).flatten(2))

    class SeasonNorm(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.f = nn.LayerNorm(c)

        def forward(self, x):
            x = self.f(x)
            return x - x.mean(1, keepdim=True)

    class Layer(nn.Module):
        def __init__(self, c, inner, outputs=0):
            super().__init__()
            self.own, self.cross = Lags(c), Lags(c) if outputs else None
            self.up, self.down = nn.Conv1d(c, inner, 1, bias=False), nn.Conv1d(inner, c, 1, bias=False)
            self.trend, self.drop = Trend(), nn.Dropout(0.05)
            self.out = nn.Conv1d(c, outputs, 3, padding=1, padding_mode="circular", bias=False) if outputs else None

        def forward(self, x, other=None):
            x, first = self.trend(x + self.drop(self.own(x, x)))
            second = 0
            if self.cross is not None:
                x, second = self.trend(x + self.drop(self.cross(x, other)))
            y = self.drop(self.down(self.drop(F.gelu(self.up(x.transpose(1, 2)))))).transpose(1, 2)
            x, third = self.trend(x + y)
            if self.out is None:
                return x
            return x, self.out((first + second + third).transpose(1, 2)).transpose(1, 2)

    class Net(nn.Module):
        def __init__(self, series=21, marks=4, c=512, inner=2048, past=96, ahead=192):
            super().__init__()
            more = dict(padding=1, padding_mode="circular", bias=False)
            self.enter, self.enter2 = nn.Conv1d(series, c, 3, **more), nn.Conv1d(series, c, 3, **more)
            self.mark, self.mark2 = nn.Linear(marks, c, bias=False), nn.Linear(marks, c, bias=False)
            self.trend, self.past, self.ahead, self.drop = Trend(), past, ahead, nn.Dropout(0.05)
            self.encode = nn.ModuleList(Layer(c, inner) for _ in range(2))
            self.norm, self.norm2 = SeasonNorm(c), SeasonNorm(c)
            self.decode, self.out = Layer(c, inner, series), nn.Linear(c, series)

        def forward(self, past, marks, marks2, future):
            half = self.past // 2
            season, trend = self.trend(past)
            trend = torch.cat([trend[:, -half:], past.mean(1, keepdim=True).expand(-1, self.ahead, -1)], 1)
            season = F.pad(season[:, -half:], (0, 0, 0, self.ahead))
            x = self.drop(self.enter(past.transpose(1, 2)).transpose(1, 2) + self.mark(marks))
            for f in self.encode:
                x = f(x)
            y = self.drop(self.enter2(season.transpose(1, 2)).transpose(1, 2) + self.mark2(marks2))
            y, more = self.decode(y, self.norm(x))
            found = trend + more + self.out(self.norm2(y))
            return Result(F.mse_loss(found[:, -self.ahead:], future))

    def inputs(b):
        return torch.zeros(b, 96, 21), torch.zeros(b, 96, 4), torch.zeros(b, 240, 4), torch.zeros(b, 192, 21)
    return Net(), inputs, "own"


def traffic_graphs():
    """Speeds on 207 roads: gated filters with gaps over time, and diffusion along given and learned links."""
    class Net(nn.Module):
        def __init__(self, roads=207, c=32, skip=256, last=512, layers=8, ahead=12):
            super().__init__()
            self.enter = nn.Conv2d(2, c, 1)
            self.left, self.right = nn.Parameter(torch.randn(roads, 10)), nn.Parameter(torch.randn(10, roads))
            links = torch.rand(2, roads, roads).pow(8)
            self.register_buffer("links", links / links.sum(-1, keepdim=True), persistent=False)
            gaps = [1, 2] * (layers // 2)
            self.value, self.gate = (nn.ModuleList(nn.Conv2d(c, c, (1, 2), dilation=(1, g)) for g in gaps)
                                     for _ in range(2))
            self.skip = nn.ModuleList(nn.Conv2d(c, skip, 1) for _ in gaps)
            self.mix = nn.ModuleList(nn.Conv2d(7 * c, c, 1) for _ in gaps)
            self.norm = nn.ModuleList(nn.BatchNorm2d(c) for _ in gaps)
            self.out = nn.Sequential(nn.ReLU(), nn.Conv2d(skip, last, 1), nn.ReLU(), nn.Conv2d(last, ahead, 1))

        def diffused(self, x, links, mix):
            parts = [x]
            for a in links:
                y = x
                for _ in range(2):
                    y = torch.einsum("bcvt,vw->bcwt", y, a).contiguous()
                    parts.append(y)
            return F.dropout(mix(torch.cat(parts, 1)), 0.3, self.training)

        def forward(self, past, future):
            learned = F.softmax(F.relu(self.left @ self.right), dim=1)
            links = [*self.links.unbind(0), learned]
            x, total = self.enter(F.pad(past, (1, 0))), None
            for n, norm in enumerate(self.norm):
                y = torch.tanh(self.value[n](x)) * torch.sigmoid(self.gate[n](x))
                s = self.skip[n](y)
                total = s if total is None else s + total[..., -s.shape[-1]:]
                x = norm(self.diffused(y, links, self.mix[n]) + x[..., -y.shape[-1]:])
            found = self.out(total).squeeze(-1)
            known = (future > -2).float()
            return Result(((found - future).abs() * known / known.mean()).mean())
    return Net(), lambda b: (torch.zeros(b, 2, 207, 12), torch.zeros(b, 12, 207)), "own"


def skeleton_actions():
    """Actions of two people from 25 joints: links between joints are refined per channel, filters over time follow."""
    class Joints(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            few = 8 if i <= 16 else i // 8
            self.a, self.b, self.v = nn.Conv2d(i, few, 1), nn.Conv2d(i, few, 1), nn.Conv2d(i, o, 1)
            self.up = nn.Conv2d(few, o, 1)

        def forward(self, x, links, share):
            a, b = self.a(x).mean(-2), self.b(x).mean(-2)
            look = self.up(torch.tanh(a.unsqueeze(-1) - b.unsqueeze(-2))) * share + links
            return torch.einsum("ncuv,nctv->nctu", look, self.v(x).to(look.dtype))

    class Times(nn.Module):
        def __init__(self, c, stride):
            super().__init__()
            q = c // 4
            self.paths = nn.ModuleList(nn.Sequential(
                nn.Conv2d(c, q, 1), nn.BatchNorm2d(q), nn.ReLU(inplace=True),
                nn.Conv2d(q, q, (5, 1), (stride, 1), (2 * g, 0), (g, 1)), nn.BatchNorm2d(q)) for g in (1, 2))
            self.paths.append(nn.Sequential(nn.Conv2d(c, q, 1), nn.BatchNorm2d(q), nn.ReLU(inplace=True),
                                            nn.MaxPool2d((3, 1), (stride, 1), (1, 0)), nn.BatchNorm2d(q)))
            self.paths.append(nn.Sequential(nn.Conv2d(c, q, 1, (stride, 1)), nn.BatchNorm2d(q)))

        def forward(self, x):
            return torch.cat([f(x) for f in self.paths], 1)

    class Block(nn.Module):
        def __init__(self, i, o, stride, links):
            super().__init__()
            self.links, self.share = nn.Parameter(links.clone()), nn.Parameter(torch.zeros(1))
            self.parts, self.norm = nn.ModuleList(Joints(i, o) for _ in range(3)), nn.BatchNorm2d(o)
            self.times = Times(o, stride)
            self.down = nn.Identity() if i == o else nn.Sequential(nn.Conv2d(i, o, 1), nn.BatchNorm2d(o))
            self.skip = nn.Identity() if i == o and stride == 1 else nn.Sequential(
                nn.Conv2d(i, o, 1, (stride, 1)), nn.BatchNorm2d(o))

        def forward(self, x):
            y = sum(f(x, self.links[n], self.share) for n, f in enumerate(self.parts))
            y = F.relu(self.norm(y) + self.down(x))
            return F.relu(self.times(y) + self.skip(x))

    class Net(nn.Module):
        def __init__(self, joints=25, people=2, c=64, classes=60):
            super().__init__()
            links = torch.rand(3, joints, joints).softmax(-1)
            self.norm = nn.BatchNorm1d(people * 3 * joints)
            sizes = [(3, c, 1), (c, c, 1), (c, c, 1), (c, c, 1), (c, 2 * c, 2), (2 * c, 2 * c, 1), (2 * c, 2 * c, 1),
                     (2 * c, 4 * c, 2), (4 * c, 4 * c, 1), (4 * c, 4 * c, 1)]
            self.body, self.out = nn.Sequential(*(Block(*s, links) for s in sizes)), nn.Linear(4 * c, classes)

        def forward(self, x):
            b, c, t, v, m = x.shape
            x = self.norm(x.permute(0, 4, 3, 1, 2).reshape(b, m * v * c, t))
            x = x.view(b, m, v, c, t).permute(0, 1, 3, 4, 2).reshape(b * m, c, t, v)
            x = self.body(x).unflatten(0, (b, m)).flatten(3).mean((1, 3))
            return self.out(x)
    return Net(), lambda b: torch.zeros(b, 3, 64, 25, 2), "cross-entropy"


NETWORKS = {f.__name__: f for f in (grasp_points, robot_tokens, walking_policy, vtrace_player, crossed_fields,
                                    lagged_series, traffic_graphs, skeleton_actions)}
STEPS = {"grasp_points": ("fp32", 32, "nchw", "adam"), "robot_tokens": ("amp-bf16", 8, "nchw", "adam"),
         "walking_policy": ("fp32", 1024, "nchw", "adam"), "vtrace_player": ("tf32", 32, "nchw", "adamw"),
         "crossed_fields": ("fp32", 2048, "nchw", "adam"), "lagged_series": ("fp32", 32, "nchw", "adam"),
         "traffic_graphs": ("tf32", 64, "nchw", "adamw"), "skeleton_actions": ("amp-fp16", 64, "nchw", "momentum")}
