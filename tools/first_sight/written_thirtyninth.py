# SPDX-License-Identifier: Apache-2.0
"""written_thirtyninth.py - ten networks of the eighteenth set: clicks, science, diffusion, control. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, Encoder, Result, words


def squeezed_fields():
    """Clicks on shop windows: fields are weighed by their means, and each pair meets through a matrix of its own."""
    class Net(nn.Module):
        def __init__(self, fields=24, rows=100_000, c=32):
            super().__init__()
            self.word = nn.Embedding(fields * rows, c)
            self.register_buffer("first", torch.arange(fields) * rows, persistent=False)
            left, right = torch.triu_indices(fields, fields, 1).unbind(0)
            self.register_buffer("left", left, persistent=False)
            self.register_buffer("right", right, persistent=False)
            self.weigh = nn.Sequential(nn.Linear(fields, fields // 3), nn.ReLU(), nn.Linear(fields // 3, fields), nn.ReLU())
            self.meet = nn.Parameter(torch.randn(2, fields, c, c) * 0.05)
            wide = [2 * len(left) * c, 512, 256, 1]
            self.deep = nn.Sequential(*(f for i, o in zip(wide, wide[1:-1]) for f in (
                nn.Linear(i, o), nn.BatchNorm1d(o), nn.ReLU(), nn.Dropout(0.2))), nn.Linear(wide[-2], 1))
            self.wide = nn.Embedding(fields * rows, 1)

        def forward(self, ids):
            ids = ids + self.first
            x = self.word(ids)
            y = x * self.weigh(x.mean(-1)).unsqueeze(-1)
            pairs = [torch.einsum("bfc,fcd->bfd", t, m)[:, self.left] * t[:, self.right] for t, m in zip((x, y), self.meet)]
            return self.deep(torch.cat([p.flatten(1) for p in pairs], 1)) + self.wide(ids).sum(1)
    return Net(), lambda b: words(b, 24), "bce"


def whole_baskets():
    """Tastes of shoppers: a variational autoencoder of all purchases, with a multinomial likelihood."""
    class Net(nn.Module):
        def __init__(self, items=20_000, inner=800, code=256):
            super().__init__()
            self.drop, self.enter, self.mean = nn.Dropout(0.5), nn.Linear(items, inner), nn.Linear(inner, 2 * code)
            self.out = nn.Sequential(nn.Linear(code, inner), nn.Tanh(), nn.Linear(inner, items))

        def forward(self, bought):
            bought = (bought > 2).float()
            mean, spread = self.mean(torch.tanh(self.enter(self.drop(F.normalize(bought, dim=1))))).float().chunk(2, -1)
            code = mean + torch.randn_like(mean) * (0.5 * spread).exp()
            right = -(self.out(code).float().log_softmax(-1) * bought).sum(-1).mean()
            return Result(right + 0.2 * 0.5 * (mean.pow(2) + spread.exp() - 1 - spread).sum(-1).mean())
    return Net(), lambda b: torch.zeros(b, 20_000), "own"


def pooled_graphs():
    """Kinds of proteins: dense graph layers, twice pooled to fewer nodes by a learned soft assignment."""
    class Layers(nn.Module):
        def __init__(self, i, c, o):
            super().__init__()
            self.own = nn.ModuleList(nn.Linear(a, b) for a, b in ((i, c), (c, c), (c, o)))
            self.other = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in ((i, c), (c, c), (c, o)))
            self.norms, self.out = nn.ModuleList(nn.BatchNorm1d(n) for n in (c, c, o)), nn.Linear(2 * c + o, o)

        def forward(self, x, near):
            mean, kept = near / near.sum(-1, keepdim=True).clamp(min=1), []
            for own, other, norm in zip(self.own, self.other, self.norms):
                x = F.relu(norm((own(x) + mean.to(x.dtype) @ other(x)).transpose(1, 2)).transpose(1, 2))
                kept.append(x)
            return self.out(torch.cat(kept, -1))

    class Net(nn.Module):
        def __init__(self, given=32, c=128, nodes=(100, 25), kinds=6):
            super().__init__()
            self.look = nn.ModuleList(Layers(i, c, c) for i in (given, c, c))
            self.put = nn.ModuleList(Layers(i, c, n) for i, n in zip((given, c), nodes))
            self.out = nn.Sequential(nn.Linear(3 * c, c), nn.ReLU(), nn.Dropout(0.2), nn.Linear(c, kinds))

        def forward(self, x, near, labels):
            near, loss, seen = (near + near.transpose(1, 2) > 2.5).float(), 0, []
            for n, look in enumerate(self.look):
                y = look(x, near)
                seen.append(y.amax(1))
                if n < len(self.put):
                    share = self.put[n](x, near).softmax(-1, dtype=torch.float32)
                    loss = loss + (near - share @ share.transpose(1, 2)).pow(2).mean()
                    loss = loss - (share * (share + 1e-9).log()).sum(-1).mean() * 0.1
                    x, near = share.transpose(1, 2).to(y.dtype) @ y, share.transpose(1, 2) @ near @ share
            return Result(loss + F.cross_entropy(self.out(torch.cat(seen, 1)).float(), labels))

    def inputs(b):
        return {"x": torch.zeros(b, 400, 32), "near": torch.zeros(b, 400, 400), "labels": torch.zeros(b, dtype=torch.int64)}
    return Net(), inputs, "own"


def both_strands():
    """Binding sites in DNA: shared filters read both strands, dilated layers and attention pooling, 919 outputs."""
    class Dilated(nn.Module):
        def __init__(self, c, dilation):
            super().__init__()
            self.f = nn.Sequential(nn.BatchNorm1d(c), nn.ReLU(),
                                   nn.Conv1d(c, c // 2, 3, padding=dilation, dilation=dilation), nn.BatchNorm1d(c // 2), nn.ReLU(),
                                   nn.Conv1d(c // 2, c, 1), nn.Dropout(0.1))

        def forward(self, x):
            return x + self.f(x)

    class Pool(nn.Module):
        def __init__(self, c, size=2):
            super().__init__()
            self.size, self.weight = size, nn.Parameter(torch.eye(c).unsqueeze(-1))

        def forward(self, x):
            share = F.conv1d(x, self.weight).unflatten(-1, (-1, self.size)).softmax(-1)
            return (x.unflatten(-1, (-1, self.size)) * share.to(x.dtype)).sum(-1)

    class Net(nn.Module):
        def __init__(self, c=256, tracks=919):
            super().__init__()
            wide, layers = [c // 2, c * 3 // 4, c, c], []
            for i, o in zip(wide, wide[1:]):
                layers += [nn.BatchNorm1d(i), nn.GELU(), nn.Conv1d(i, o, 5, padding=2), Pool(o)]
            self.body = nn.Sequential(nn.Conv1d(4, c // 2, 15, padding=7), Pool(c // 2), *layers,
                                      *(Dilated(c, 2 ** n) for n in range(7)))
            self.out = nn.Sequential(nn.Linear(2 * c, 1024), nn.GELU(), nn.Dropout(0.2), nn.Linear(1024, tracks))

        def forward(self, x):
            y, z = self.body(torch.cat([x, x.flip(1, 2)])).chunk(2)
            y = y + z.flip(2)
            return self.out(torch.cat([y.mean(-1), y.amax(-1)], 1))
    return Net(), lambda b: torch.zeros(b, 4, 4096), "bce"


def padded_globe():
    """Weather six hours ahead: a U-Net whose borders join at the date line and turn over at the poles."""
    def padded(x, n):
        half = x.shape[-1] // 2
        top, bottom = x[:, :, :n].flip(2).roll(half, 3), x[:, :, -n:].flip(2).roll(half, 3)
        return F.pad(torch.cat([top, x, bottom], 2), (n, n, 0, 0), mode="circular")

    class Block(nn.Module):
        def __init__(self, c, k=7):
            super().__init__()
            self.pad, self.deep, self.norm = k // 2, nn.Conv2d(c, c, k, groups=c), nn.GroupNorm(1, c)
            self.f = nn.Sequential(nn.Conv2d(c, 3 * c, 1), nn.GELU(), nn.Conv2d(3 * c, c, 1))
            self.scale = nn.Parameter(torch.full((c, 1, 1), 1e-2))

        def forward(self, x):
            return x + self.scale * self.f(self.norm(self.deep(padded(x, self.pad))))

    class Net(nn.Module):
        def __init__(self, given=69, widths=(128, 256, 384), depth=2, rows=120):
            super().__init__()
            self.enter, self.out = nn.Conv2d(2 * given, widths[0], 3), nn.Conv2d(widths[0], given, 1)
            self.down = nn.ModuleList(nn.Sequential(*(Block(c) for _ in range(depth))) for c in widths)
            self.less = nn.ModuleList(nn.Conv2d(i, o, 2, 2) for i, o in zip(widths, widths[1:]))
            self.more = nn.ModuleList(nn.ConvTranspose2d(o, i, 2, 2) for i, o in zip(widths, widths[1:]))
            self.join = nn.ModuleList(nn.Sequential(nn.Conv2d(2 * c, c, 1), *(Block(c) for _ in range(depth)))
                                      for c in widths[:-1])
            self.register_buffer("area", torch.cos(torch.linspace(-1.55, 1.55, rows)).view(1, 1, -1, 1), persistent=False)

        def forward(self, before, now, after):
            x, kept = self.enter(padded(torch.cat([before, now], 1), 1)), []
            for n, f in enumerate(self.down):
                x = f(x)
                if n < len(self.less):
                    kept.append(x)
                    x = self.less[n](x)
            for more, join, skip in reversed(list(zip(self.more, self.join, kept))):
                x = join(torch.cat([more(x), skip], 1))
            return Result(((now + self.out(x)).float().sub(after).pow(2) * self.area).mean() / self.area.mean())
    return Net(), lambda b: {k: torch.zeros(b, 69, 120, 240) for k in ("before", "now", "after")}, "own"


def skipped_latents():
    """Pictures from noise in latents: a transformer with long skips, the time and the kind are tokens."""
    class Net(nn.Module):
        def __init__(self, c=768, heads=12, depth=6, patch=2, side=32, kinds=1000):
            super().__init__()
            self.patch, n = patch, (side // patch) ** 2
            self.enter, self.kind = nn.Conv2d(4, c, patch, patch), nn.Embedding(kinds + 1, c)
            self.time = nn.Sequential(nn.Linear(256, c), nn.SiLU(), nn.Linear(c, c))
            self.place = nn.Parameter(torch.randn(1, n + 2, c) * 0.02)
            self.down, self.up = (nn.ModuleList(Encoder(c, heads) for _ in range(depth)) for _ in range(2))
            self.middle, self.skip = Encoder(c, heads), nn.ModuleList(nn.Linear(2 * c, c) for _ in range(depth))
            self.norm, self.out, self.last = nn.LayerNorm(c), nn.Linear(c, 4 * patch ** 2), nn.Conv2d(4, 4, 3, 1, 1)
            self.register_buffer("rates", torch.exp(-math.log(1e4) * torch.arange(128) / 128), persistent=False)

        def forward(self, latents, noise, when, labels):
            when = when.sigmoid()
            keep = torch.cos(when * math.pi / 2).view(-1, 1, 1, 1)
            x = self.enter(keep * latents + (1 - keep * keep).sqrt() * noise)
            side, angle = x.shape[-1], 1000 * when.unsqueeze(1) * self.rates
            time = self.time(torch.cat([angle.cos(), angle.sin()], 1))
            dropped = torch.rand(labels.shape, device=labels.device) < 0.1
            kind = self.kind(labels.masked_fill(dropped, self.kind.num_embeddings - 1))
            x = torch.cat([time.unsqueeze(1), kind.unsqueeze(1), x.flatten(2).transpose(1, 2)], 1) + self.place
            kept = []
            for f in self.down:
                x = f(x)
                kept.append(x)
            x = self.middle(x)
            for f, skip in zip(self.up, self.skip):
                x = f(skip(torch.cat([x, kept.pop()], -1)))
            x = self.out(self.norm(x))[:, 2:].transpose(1, 2).unflatten(2, (side, side))
            return Result(F.mse_loss(self.last(F.pixel_shuffle(x, self.patch)).float(), noise))

    def inputs(b):
        return {"latents": torch.zeros(b, 4, 32, 32), "noise": torch.zeros(b, 4, 32, 32), "when": torch.zeros(b),
                "labels": torch.zeros(b, dtype=torch.int64)}
    return Net(), inputs, "own"


def consistent_steps():
    """Small pictures in one step: a U-Net gives the same picture for two noise levels, the lower without gradient."""
    class Block(nn.Module):
        def __init__(self, i, o, wide):
            super().__init__()
            self.n1, self.n2 = nn.GroupNorm(32, i, eps=1e-6), nn.GroupNorm(32, o, eps=1e-6, affine=False)
            self.f1, self.f2, self.level = nn.Conv2d(i, o, 3, 1, 1), nn.Conv2d(o, o, 3, 1, 1), nn.Linear(wide, 2 * o)
            self.skip, self.drop = nn.Conv2d(i, o, 1) if i != o else nn.Identity(), nn.Dropout(0.1)

        def forward(self, x, level):
            scale, shift = self.level(level)[:, :, None, None].chunk(2, 1)
            y = self.n2(self.f1(F.silu(self.n1(x)))) * (1 + scale) + shift
            return (self.skip(x) + self.f2(self.drop(F.silu(y)))) / math.sqrt(2)

    class Look(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.norm, self.a = nn.GroupNorm(32, c), Attention(c, c // 64)

        def forward(self, x):
            return x + self.a(self.norm(x).flatten(2).transpose(1, 2)).transpose(1, 2).view_as(x)

    class Net(nn.Module):
        def __init__(self, c=128, wide=512, known=0.5, low=0.002):
            super().__init__()
            self.known, self.low, w = known, low, [c, 2 * c, 2 * c]
            self.register_buffer("waves", torch.randn(c // 2) * 16)
            self.level = nn.Sequential(nn.Linear(c, wide), nn.SiLU(), nn.Linear(wide, wide), nn.SiLU())
            self.enter, self.look, self.middle = nn.Conv2d(3, c, 3, 1, 1), Look(2 * c), Block(2 * c, 2 * c, wide)
            self.down = nn.ModuleList(nn.ModuleList(Block(i if k == 0 else o, o, wide) for k in range(2))
                                      for i, o in zip([c, *w], w))
            self.up = nn.ModuleList(nn.ModuleList((Block(i + o, o, wide), Block(o, o, wide)))
                                    for i, o in zip([w[-1], *w[:0:-1]], w[::-1]))
            self.out = nn.Sequential(nn.GroupNorm(32, c), nn.SiLU(), nn.Conv2d(c, 3, 3, 1, 1))

        def body(self, x, level):
            angle = level[:, None].log() / 4 * self.waves
            level, x, kept = self.level(torch.cat([angle.cos(), angle.sin()], 1)), self.enter(x), []
            for n, (f, g) in enumerate(self.down):
                x = g(f(F.avg_pool2d(x, 2) if n else x, level), level)
                x = self.look(x) if n == 1 else x
                kept.append(x)
            x = self.middle(x, level)
            for n, (f, g) in enumerate(self.up):
                x = F.interpolate(x, scale_factor=2.0) if n else x
                x = g(f(torch.cat([x, kept.pop()], 1), level), level)
            return self.out(x)

        def picture(self, x, level):
            s, known = level[:, None, None, None], self.known
            skip = known ** 2 / ((s - self.low) ** 2 + known ** 2)
            out = (s - self.low) * known / (s ** 2 + known ** 2).sqrt()
            return skip * x + out * self.body(x / (s ** 2 + known ** 2).sqrt(), level).float()

        def forward(self, pixels, noise, when):
            high = (1.2 * when - 1.1).exp().clamp(self.low * 1.5, 80.0)
            low = (high * 0.9).clamp(min=self.low)
            one = self.picture(pixels + high[:, None, None, None] * noise, high)
            with torch.no_grad():
                two = self.picture(pixels + low[:, None, None, None] * noise, low)
            apart = ((one - two).pow(2).sum((1, 2, 3)) + 3e-4).sqrt() - 0.017
            return Result((apart / (high - low)).mean())

    def inputs(b):
        return {"pixels": torch.zeros(b, 3, 32, 32), "noise": torch.zeros(b, 3, 32, 32), "when": torch.zeros(b)}
    return Net(), inputs, "own"


def soft_critics():
    """A walking robot: a random policy and ten critics in one product, with norms, entropy and slow copies."""
    class Many(nn.Module):
        def __init__(self, many, i, o):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(many, i, o) / math.sqrt(i))
            self.bias = nn.Parameter(torch.zeros(many, 1, o))

        def forward(self, x):
            return torch.baddbmm(self.bias.to(x.dtype), x, self.weight.to(x.dtype))

    class Critics(nn.Module):
        def __init__(self, many, i, c):
            super().__init__()
            self.many, self.body = many, nn.Sequential(Many(many, i, c), nn.LayerNorm(c), nn.ReLU(), Many(many, c, c),
                                                       nn.LayerNorm(c), nn.ReLU(), Many(many, c, 1))

        def forward(self, state, act):
            x = torch.cat([state, act], -1).expand(self.many, -1, -1)
            return self.body(x).squeeze(-1).float()

    class Net(nn.Module):
        def __init__(self, state=376, acts=17, c=512, many=10):
            super().__init__()
            self.policy = nn.Sequential(nn.Linear(state, c), nn.ReLU(), nn.Linear(c, c), nn.ReLU(), nn.Linear(c, 2 * acts))
            self.now, self.slow = Critics(many, state + acts, c), Critics(many, state + acts, c).requires_grad_(False)
            self.heat, self.aim = nn.Parameter(torch.zeros(1)), -float(acts)

        def act(self, state):
            mean, spread = self.policy(state).float().chunk(2, -1)
            spread = spread.clamp(-10, 2)
            noise = torch.randn_like(mean)
            x = mean + spread.exp() * noise
            chance = -0.5 * noise ** 2 - spread - 0.5 * math.log(2 * math.pi) - 2 * (math.log(2) - x - F.softplus(-2 * x))
            return x.tanh(), chance.sum(-1)

        def forward(self, state, act, gain, after):
            heat = self.heat.exp()
            with torch.no_grad():
                then, chance = self.act(after)
                goal = gain + 0.99 * (self.slow(after, then)[:2].amin(0) - heat * chance)
            loss = (self.now(state, act.tanh()) - goal).pow(2).mean(1).sum()
            new, chance = self.act(state)
            loss = loss + (heat.detach() * chance - self.now(state, new).mean(0)).mean()
            return Result(loss - (self.heat * (chance + self.aim).detach()).mean())

    def inputs(b):
        return {"state": torch.zeros(b, 376), "act": torch.zeros(b, 17), "gain": torch.zeros(b),
                "after": torch.zeros(b, 376)}
    return Net(), inputs, "own"


def bridged_pictures():
    """Captions: 32 questions read the patches of a frozen encoder and stand before the words of a decoder."""
    class Reader(nn.Module):
        def __init__(self, c, heads, seen, crossed):
            super().__init__()
            self.own, self.n1, self.n3 = Attention(c, heads), nn.LayerNorm(c), nn.LayerNorm(c)
            self.other, self.n2 = (Attention(c, heads, seen), nn.LayerNorm(c)) if crossed else (None, None)
            self.f = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c), nn.Dropout(0.1))

        def forward(self, x, seen):
            x = self.n1(x + self.own(x))
            if self.other is not None:
                x = self.n2(x + self.other(x, seen))
            return self.n3(x + self.f(x))

    class Causal(Encoder):
        def forward(self, x, mask=None):
            x = x + self.a(self.n1(x), causal=True)
            return x + self.f(self.n2(x))

    class Net(nn.Module):
        def __init__(self, seen=1024, c=768, vocab=32000, asked=32, seq=64):
            super().__init__()
            self.patch, self.place = nn.Conv2d(3, seen, 14, 14), nn.Parameter(torch.randn(1, 256, seen) * 0.02)
            self.eye, self.norm = nn.Sequential(*(Encoder(seen, 16) for _ in range(12))), nn.LayerNorm(seen)
            for part in (self.patch, self.eye):
                part.requires_grad_(False)
            self.place.requires_grad = False
            self.ask = nn.Parameter(torch.randn(1, asked, c) * 0.02)
            self.read = nn.ModuleList(Reader(c, 12, seen, n % 2 == 0) for n in range(6))
            self.bridge, self.word = nn.Linear(c, c), nn.Embedding(vocab, c)
            self.order = nn.Parameter(torch.randn(1, asked + seq, c) * 0.02)
            self.body, self.last = nn.Sequential(*(Causal(c, 12) for _ in range(6))), nn.LayerNorm(c)

        def forward(self, pixels, ids):
            with torch.no_grad():
                seen = self.eye(self.patch(pixels).flatten(2).transpose(1, 2) + self.place)
            seen, x = self.norm(seen), self.ask.expand(len(pixels), -1, -1)
            for f in self.read:
                x = f(x, seen)
            asked = x.shape[1]
            x = self.last(self.body(torch.cat([self.bridge(x), self.word(ids)], 1) + self.order))
            score = F.linear(x[:, asked:-1], self.word.weight).flatten(0, 1).float()
            return Result(F.cross_entropy(score, ids[:, 1:].flatten(), label_smoothing=0.1))
    return Net(), lambda b: {"pixels": torch.zeros(b, 3, 224, 224), "ids": words(b, 64)}, "own"


def seen_and_heard():
    """Events in films: patches of frames and of spectra meet through four shared tokens in the upper layers."""
    class Net(nn.Module):
        def __init__(self, c=512, heads=8, low=4, high=4, shared=4, kinds=309):
            super().__init__()
            self.see, self.hear = nn.Conv3d(3, c, (2, 16, 16), (2, 16, 16)), nn.Conv2d(1, c, 16, 16)
            self.places = nn.ParameterList(nn.Parameter(torch.randn(1, n, c) * 0.02) for n in (1 + 4 * 196, 1 + 8 * 32))
            self.first = nn.ParameterList(nn.Parameter(torch.randn(1, 1, c) * 0.02) for _ in range(2))
            self.low = nn.ModuleList(nn.Sequential(*(Encoder(c, heads) for _ in range(low))) for _ in range(2))
            self.high = nn.ModuleList(nn.ModuleList(Encoder(c, heads) for _ in range(high)) for _ in range(2))
            self.shared = nn.Parameter(torch.randn(1, shared, c) * 0.02)
            self.norms, self.out = nn.ModuleList(nn.LayerNorm(c) for _ in range(2)), nn.ModuleList(
                nn.Linear(c, kinds) for _ in range(2))

        def forward(self, frames, sound):
            given = self.see(frames).flatten(2).transpose(1, 2), self.hear(sound).flatten(2).transpose(1, 2)
            b = len(frames)
            xs = [f(torch.cat([first.expand(b, -1, -1), x], 1) + place)
                  for f, first, x, place in zip(self.low, self.first, given, self.places)]
            both = self.shared.expand(b, -1, -1)
            for pair in zip(*self.high):
                ys = [f(torch.cat([x, both], 1)) for f, x in zip(pair, xs)]
                n = both.shape[1]
                xs, both = [y[:, :-n] for y in ys], (ys[0][:, -n:] + ys[1][:, -n:]) / 2
            return sum(f(norm(x[:, 0])) for f, norm, x in zip(self.out, self.norms, xs)) / 2
    return Net(), lambda b: (torch.zeros(b, 3, 8, 224, 224), torch.zeros(b, 1, 128, 512)), "cross-entropy"


NETWORKS = {f.__name__: f for f in (squeezed_fields, whole_baskets, pooled_graphs, both_strands, padded_globe,
                                    skipped_latents, consistent_steps, soft_critics, bridged_pictures, seen_and_heard)}
STEPS = {"squeezed_fields": ("tf32", 4096, "nchw", "adam"), "whole_baskets": ("tf32", 1024, "nchw", "adam"),
         "pooled_graphs": ("fp32", 32, "nchw", "adam"), "both_strands": ("amp-bf16", 64, "nchw", "adamw"),
         "padded_globe": ("amp-bf16", 4, "nhwc", "adamw"), "skipped_latents": ("amp-bf16", 32, "nchw", "adamw"),
         "consistent_steps": ("amp-bf16", 128, "nhwc", "adam"), "soft_critics": ("fp32", 512, "nchw", "adam"),
         "bridged_pictures": ("amp-bf16", 32, "nchw", "adamw"), "seen_and_heard": ("amp-bf16", 8, "nchw", "adamw")}
