# SPDX-License-Identifier: Apache-2.0
"""practice_twentieth.py - networks for practice, the twentieth set: rewards, contrasts, memories and recurrences. See cases.py."""
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from blocks import Result, words


def dense(*widths, act=nn.ReLU):
    """Dense layers with an activation between them."""
    layers = [m for a, b in zip(widths, widths[1:]) for m in (nn.Linear(a, b), act())]
    return nn.Sequential(*layers[:-1])


def frozen(module):
    """A copy that is not trained."""
    return copy.deepcopy(module).requires_grad_(False)


def many_critics():
    """A walking machine: an actor with squashed noise, ten critics in one product, two drawn for the goal, a heat."""
    class Critics(nn.Module):
        def __init__(self, a, c, count):
            super().__init__()
            sizes = [(a, c), (c, c), (c, c), (c, 1)]
            self.w = nn.ParameterList(nn.Parameter(torch.randn(count, i, o) / i ** 0.5) for i, o in sizes)
            self.b = nn.ParameterList(nn.Parameter(torch.zeros(count, 1, o)) for _, o in sizes)
            self.norm = nn.LayerNorm(c)

        def forward(self, state, act):
            x = torch.cat([state, act], -1).expand(len(self.w[0]), -1, -1)
            for n, (w, b) in enumerate(zip(self.w, self.b)):
                x = torch.baddbmm(b, F.relu(self.norm(x)) if n else x, w)
            return x.squeeze(-1)

    class Net(nn.Module):
        def __init__(self, state=111, act=8, c=256, count=10):
            super().__init__()
            self.actor, self.critics, self.count = dense(state, c, c, 2 * act), Critics(state + act, c, count), count
            self.slow, self.heat = frozen(self.critics), nn.Parameter(torch.zeros(()))

        def drawn(self, state):
            mean, size = self.actor(state).chunk(2, -1)
            size = torch.clamp(size, -20, 2).exp()
            way = torch.distributions.Normal(mean, size, validate_args=False)
            raw = way.rsample()
            log = way.log_prob(raw) - 2 * (math.log(2) - raw - F.softplus(-2 * raw))
            return torch.tanh(raw), log.sum(-1)

        def forward(self, state, act, reward, later):
            heat = self.heat.exp()
            with torch.no_grad():
                for new, old in zip(self.critics.parameters(), self.slow.parameters()):
                    old.lerp_(new, 0.005)
                next_act, log = self.drawn(later)
                pick = torch.randperm(self.count, device=state.device)[:2]
                goal = reward + 0.99 * (self.slow(later, next_act)[pick].amin(0) - heat * log)
            critic = (self.critics(state, torch.tanh(act)) - goal).square().mean(1).sum()
            own, log = self.drawn(state)
            value = self.critics(state, own).mean(0)
            actor = (heat.detach() * log - value).mean()
            return Result(critic + actor - (self.heat * (log.detach() - 8)).mean())
    return Net(), lambda b: (torch.zeros(b, 111), torch.zeros(b, 8), torch.zeros(b), torch.zeros(b, 111)), "own"


def returns_in_bins():
    """A player of old games: 51 bins of returns are shifted, split between neighbours and compared, in two streams."""
    class Net(nn.Module):
        def __init__(self, acts=18, bins=51):
            super().__init__()
            self.acts, self.bins = acts, bins
            self.eyes = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten())
            self.value, self.gain = dense(3136, 512, bins), dense(3136, 512, acts * bins)
            self.slow = frozen(nn.ModuleList([self.eyes, self.value, self.gain]))
            self.register_buffer("centre", torch.linspace(-10, 10, bins))

        def score(self, parts, frames):
            x = parts[0](frames / 255)
            gain = parts[2](x).unflatten(1, (self.acts, self.bins))
            return parts[1](x).unsqueeze(1) + gain - gain.mean(1, keepdim=True)

        def forward(self, frames, later, act, reward):
            live = (self.eyes, self.value, self.gain)
            with torch.no_grad():
                best = (self.score(live, later).softmax(-1) * self.centre).sum(-1).argmax(1)
                chance = self.score(self.slow, later).softmax(-1)
                chance = chance.gather(1, best.view(-1, 1, 1).expand(-1, 1, self.bins)).squeeze(1).float()
                place = (reward.unsqueeze(1) + 0.97 * self.centre).clamp(-10, 10)
                place = (place + 10) / (20 / (self.bins - 1))
                low, high = place.floor().long(), place.ceil().long()
                same = (low == high).float()
                start = torch.arange(len(act), device=act.device).unsqueeze(1) * self.bins
                goal = torch.zeros(len(act) * self.bins, device=act.device)
                goal.index_add_(0, (low + start).flatten(), (chance * (high - place + same)).flatten())
                goal.index_add_(0, (high + start).flatten(), (chance * (place - low)).flatten())
            log = self.score(live, frames).log_softmax(-1)
            log = log.gather(1, (act % self.acts).view(-1, 1, 1).expand(-1, 1, self.bins)).squeeze(1)
            return Result(-(goal.view_as(log) * log).sum(-1).mean())
    return Net(), lambda b: (torch.zeros(b, 4, 84, 84), torch.zeros(b, 4, 84, 84), torch.zeros(b, dtype=torch.int64), torch.zeros(b)), "own"


def clipped_players():
    """A maze from small views: an LSTM cell that forgets at the end of a game, advantages backwards, clipped ratios."""
    class Net(nn.Module):
        def __init__(self, acts=15, c=256):
            super().__init__()
            self.eyes = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(), nn.Conv2d(64, 64, 3, 2, 1),
                                      nn.ReLU(), nn.Flatten(), nn.Linear(64 * 25, c), nn.ReLU())
            self.memory, self.policy, self.value, self.acts = nn.LSTMCell(c, c), nn.Linear(c, acts), nn.Linear(c, 1), acts

        def forward(self, views, act, old, reward, over, before):
            b, n = views.shape[:2]
            act = act % self.acts
            x, kept = self.eyes(views.flatten(0, 1)).unflatten(0, (b, n)), (over < 1.5).float()
            h, c, states = torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0]), []
            for t in range(n):
                alive = kept[:, t:t + 1]
                h, c = self.memory(x[:, t], (h * alive, c * alive))
                states.append(h)
            y = torch.stack(states, 1)
            chance, value = torch.distributions.Categorical(logits=self.policy(y), validate_args=False), self.value(y).squeeze(-1)
            with torch.no_grad():
                gain, last = torch.zeros_like(reward), 0
                for t in reversed(range(n - 1)):
                    gap = reward[:, t] + 0.99 * before[:, t + 1] * kept[:, t + 1] - before[:, t]
                    last = gap + 0.99 * 0.95 * kept[:, t + 1] * last
                    gain[:, t] = last
                goal = gain + before
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            ratio = torch.exp((chance.log_prob(act) + old.abs()).clamp(-5, 5))
            policy = torch.max(-gain * ratio, -gain * ratio.clamp(0.8, 1.2)).mean()
            near = before + (value - before).clamp(-0.2, 0.2)
            fit = 0.5 * torch.max((value - goal).square(), (near - goal).square()).mean()
            return Result(policy + 0.5 * fit - 0.01 * chance.entropy().mean())

    def inputs(b):
        return torch.zeros(b, 24, 3, 40, 40), words(b, 24), *(torch.zeros(b, 24) for _ in range(4))
    return Net(), inputs, "own"


def learned_starts():
    """New letters from few: two inner steps of the weights are taken for each task, and their course is learned."""
    class Four(nn.Module):
        def __init__(self, c=32, ways=5):
            super().__init__()
            parts = [m for n in range(4) for m in (nn.Conv2d(c if n else 3, c, 3, padding=1), nn.GroupNorm(8, c), nn.ReLU(), nn.MaxPool2d(2))]
            self.f = nn.Sequential(*parts, nn.Flatten(), nn.Linear(4 * c, ways))

        def forward(self, x):
            return self.f(x)

    class Net(nn.Module):
        def __init__(self, ways=5, steps=2, tasks=4):
            super().__init__()
            self.body, self.steps, self.tasks, self.ways = Four(), steps, tasks, ways
            names = [n for n, _ in self.body.named_parameters()]
            self.rate = nn.ParameterList(nn.Parameter(torch.full((steps,), 0.05)) for _ in names)

        def forward(self, few, asked):
            loss, body = 0, self.body
            for t in range(self.tasks):
                given, query = few[:, t], asked[:, t]
                near = torch.arange(self.ways, device=few.device).expand(len(few), -1).flatten()
                now = dict(body.named_parameters())
                for s in range(self.steps):
                    inner = F.cross_entropy(functional_call(body, now, (given.flatten(0, 1),)), near)
                    slopes = torch.autograd.grad(inner, tuple(now.values()), create_graph=True)
                    now = {k: v - r[s] * g for (k, v), r, g in zip(now.items(), self.rate, slopes)}
                loss = loss + F.cross_entropy(functional_call(body, now, (query.flatten(0, 1),)), near)
            return Result(loss / self.tasks)
    return Net(), lambda b: (torch.zeros(b, 4, 5, 3, 32, 32), torch.zeros(b, 4, 5, 3, 32, 32)), "own"


def straight_critic():
    """Made galaxies: a critic whose slope between real and made pictures must have length one, and its generator."""
    class Up(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.f = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU())
            self.g, self.skip = nn.Conv2d(b, b, 3, padding=1), nn.Conv2d(a, b, 1)

        def forward(self, x):
            return self.g(self.f(x)) + F.interpolate(self.skip(x), scale_factor=2)

    class Down(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.n, self.f, self.g, self.skip = nn.LayerNorm(a), nn.Conv2d(a, a, 3, padding=1), nn.Conv2d(a, b, 3, padding=1), nn.Conv2d(a, b, 1)

        def forward(self, x):
            y = self.n(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
            y = self.g(F.leaky_relu(self.f(F.leaky_relu(y, 0.2)), 0.2))
            return F.avg_pool2d(y, 2) + self.skip(F.avg_pool2d(x, 2))

    class Net(nn.Module):
        def __init__(self, c=64, code=128):
            super().__init__()
            self.code, self.enter = code, nn.Linear(code, 4 * c * 16)
            self.make = nn.Sequential(nn.Unflatten(1, (4 * c, 4, 4)), Up(4 * c, 4 * c), Up(4 * c, 2 * c), Up(2 * c, c), nn.ReLU(),
                                      nn.Conv2d(c, 3, 3, padding=1), nn.Tanh())
            self.judge = nn.Sequential(nn.Conv2d(3, c, 3, padding=1), Down(c, 2 * c), Down(2 * c, 4 * c), Down(4 * c, 4 * c), nn.LeakyReLU(0.2),
                                       nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * c, 1))

        def forward(self, real):
            made = self.make(self.enter(torch.randn(len(real), self.code, device=real.device)))
            share = torch.rand(len(real), 1, 1, 1, device=real.device)
            mid = torch.lerp(made.detach(), real, share).requires_grad_(True)
            tilt, = torch.autograd.grad(self.judge(mid).sum(), mid, create_graph=True)
            bend = (tilt.flatten(1).norm(dim=1) - 1).square().mean()
            a, b = self.judge(real), self.judge(made.detach())
            return Result(b.mean() - a.mean() + 10 * bend - 0.1 * self.judge(made).mean() + 1e-3 * a.square().mean())
    return Net(), lambda b: torch.zeros(b, 3, 32, 32), "own"


def addressed_memory():
    """Sorting by a machine with memory: contents and shifts address 96 rows, which are erased, written and read."""
    class Net(nn.Module):
        def __init__(self, bits=12, c=128, rows=96, width=24):
            super().__init__()
            self.width, self.cell = width, nn.LSTMCell(bits + 2 * width, c)
            self.heads, self.out = nn.Linear(c, 3 * (width + 6) + 2 * width), nn.Linear(c + 2 * width, bits)
            self.register_buffer("start", torch.full((rows, width), 1e-2))

        def address(self, memory, raw, old):
            key, heat, gate, shift, sharp = raw.split([self.width, 1, 1, 3, 1], -1)
            near = F.cosine_similarity(memory, torch.tanh(key).unsqueeze(1), dim=-1)
            w = torch.softmax(F.softplus(heat) * near, -1)
            w = torch.lerp(old, w, torch.sigmoid(gate))
            shift = shift.softmax(-1)
            w = sum(shift[:, n:n + 1] * torch.roll(w, n - 1, 1) for n in range(3))
            w = (w + 1e-8) ** (1 + F.softplus(sharp))
            return w / w.sum(-1, keepdim=True)

        def forward(self, given, wanted):
            b, n = given.shape[:2]
            memory, old = self.start.expand(b, -1, -1), [F.one_hot(torch.zeros(b, dtype=torch.int64, device=given.device), 96).float()] * 3
            h, read = (given.new_zeros(b, 128), given.new_zeros(b, 128)), given.new_zeros(b, 2 * self.width)
            found = []
            for t in range(2 * n):
                x = given[:, t] if t < n else torch.zeros_like(given[:, 0])
                h = self.cell(torch.cat([x, read], -1), h)
                raw = self.heads(h[0])
                *raws, erase, add = raw.split([self.width + 6] * 3 + [self.width] * 2, -1)
                old = [self.address(memory, r, w) for r, w in zip(raws, old)]
                erase, add = torch.sigmoid(erase), torch.tanh(add)
                memory = memory * (1 - old[0].unsqueeze(-1) * erase.unsqueeze(1)) + old[0].unsqueeze(-1) * add.unsqueeze(1)
                read = torch.cat([torch.bmm(w.unsqueeze(1), memory).squeeze(1) for w in old[1:]], -1)
                if t >= n:
                    found.append(self.out(torch.cat([h[0], read], -1)))
            return Result(F.binary_cross_entropy_with_logits(torch.stack(found, 1), (wanted > 0).float()))
    return Net(), lambda b: (torch.zeros(b, 10, 12), torch.zeros(b, 10, 12)), "own"


def listened_letters():
    """Letters of speech: packed two-way LSTMs that halve time, a decoder that looks around its last place, and CTC."""
    class Net(nn.Module):
        def __init__(self, bands=80, c=256, letters=80):
            super().__init__()
            self.layers = nn.ModuleList(nn.LSTM(bands if n == 0 else 4 * c, c, batch_first=True, bidirectional=True) for n in range(3))
            self.letter, self.cell, self.letters = nn.Embedding(letters, c), nn.LSTMCell(3 * c, 2 * c), letters
            self.query, self.key, self.near = nn.Linear(2 * c, c), nn.Linear(2 * c, c), nn.Conv1d(1, 10, 31, padding=15, bias=False)
            self.place, self.score, self.out, self.ctc = nn.Linear(10, c, bias=False), nn.Linear(c, 1), nn.Linear(4 * c, letters), nn.Linear(2 * c, letters)

        def forward(self, sound, text):
            b, n = sound.shape[:2]
            lengths, x = torch.tensor([n - 4 * (i % 20) for i in range(b)], device="cpu"), sound
            for k, f in enumerate(self.layers):
                packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
                x, _ = pad_packed_sequence(f(packed)[0], batch_first=True, total_length=x.shape[1])
                if k < 2:
                    x, lengths = x.unflatten(1, (-1, 2)).flatten(2), lengths // 2
            text = text % (self.letters - 1) + 1
            key, ids = self.key(x), F.pad(text, (1, 0))
            share = x.new_full((b, x.shape[1]), 1 / x.shape[1])
            h, seen, scores = (x.new_zeros(b, x.shape[2]), x.new_zeros(b, x.shape[2])), x.mean(1), []
            for e in self.letter(ids).unbind(1):
                h = self.cell(torch.cat([e, seen], -1), h)
                around = self.place(self.near(share.unsqueeze(1)).transpose(1, 2))
                share = self.score(torch.tanh(self.query(h[0]).unsqueeze(1) + key + around)).squeeze(-1).softmax(-1)
                seen = torch.bmm(share.unsqueeze(1), x).squeeze(1)
                scores.append(self.out(torch.cat([h[0], seen], -1)))
            own = F.cross_entropy(torch.stack(scores, 1)[:, :-1].flatten(0, 1).float(), text.flatten(), label_smoothing=0.1)
            log = self.ctc(x).float().log_softmax(-1).transpose(0, 1)
            size = torch.full((b,), text.shape[1], dtype=torch.int64, device=x.device)
            full = torch.full((b,), len(log), dtype=torch.int64, device=x.device)
            return Result(0.7 * own + 0.3 * F.ctc_loss(log, text, full, size, zero_infinity=True))
    return Net(), lambda b: (torch.zeros(b, 320, 80), words(b, 30)), "own"


def queued_contrasts():
    """Pictures without labels: filters made from each picture, a slow copy, a queue of 32,768 wrong answers, sorted ranks."""
    class Own(nn.Module):
        def __init__(self, c, groups=8):
            super().__init__()
            self.groups, self.make = groups, nn.Sequential(nn.Linear(c, 64), nn.ReLU(), nn.Linear(64, c * 9))
            self.norm, self.mix = nn.GroupNorm(groups, c), nn.Conv2d(c, c, 1)

        def forward(self, x):
            b, c, h, w = x.shape
            weight = self.make(x.mean((2, 3))).view(b * c, 1, 3, 3).to(x.dtype)
            y = F.conv2d(x.reshape(1, b * c, h, w), weight, padding=1, groups=b * c).view(b, c, h, w)
            return x + self.mix(F.relu(self.norm(y)))

    class Coder(nn.Sequential):
        def __init__(self, c=64, out=128):
            parts, a = [], 3
            for n in range(4):
                parts += [nn.Conv2d(a, c * 2 ** min(n, 2), 3, 2, 1), nn.BatchNorm2d(c * 2 ** min(n, 2)), nn.ReLU(), Own(c * 2 ** min(n, 2))]
                a = c * 2 ** min(n, 2)
            super().__init__(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(a, 512), nn.ReLU(), nn.Linear(512, out))

    class Net(nn.Module):
        def __init__(self, rows=32768, out=128, heat=0.1):
            super().__init__()
            self.fast, self.heat = Coder(out=out), heat
            self.slow = frozen(self.fast)
            self.register_buffer("queue", F.normalize(torch.randn(rows, out), dim=1))

        def forward(self, one, two):
            q = F.normalize(self.fast(one).float(), dim=1)
            with torch.no_grad():
                for new, old in zip(self.fast.parameters(), self.slow.parameters()):
                    old.mul_(0.999).add_(new, alpha=0.001)
                k = F.normalize(self.slow(two).float(), dim=1)
            right, wrong = (q * k).sum(1, keepdim=True), q @ self.queue.t()
            loss = F.cross_entropy(torch.cat([right, wrong], 1) / self.heat, torch.zeros(len(q), dtype=torch.int64, device=q.device))
            hard = wrong.sort(1, descending=True).values[:, :1024]
            rank = torch.sigmoid((hard - right) / 0.05).cumsum(1) / torch.arange(1, 1025, device=q.device)
            with torch.no_grad():
                self.queue.copy_(torch.cat([k, self.queue[:-len(k)]]))
            return Result(loss + 0.1 * rank.mean())
    return Net(), lambda b: (torch.zeros(b, 3, 64, 64), torch.zeros(b, 3, 64, 64)), "own"


NETWORKS = {f.__name__: f for f in (many_critics, returns_in_bins, clipped_players, learned_starts, straight_critic, addressed_memory,
                                    listened_letters, queued_contrasts)}
STEPS = {"many_critics": ("fp32", 256, "nchw", "adam"), "returns_in_bins": ("tf32", 128, "nchw", "adam"),
         "clipped_players": ("amp-fp16", 64, "nchw", "adam"), "learned_starts": ("tf32", 4, "nchw", "adam"),
         "straight_critic": ("tf32", 32, "nchw", "adam"), "addressed_memory": ("fp32", 64, "nchw", "adam"),
         "listened_letters": ("amp-bf16", 32, "nchw", "adamw"), "queued_contrasts": ("amp-fp16", 128, "nchw", "momentum")}
