# SPDX-License-Identifier: Apache-2.0
"""written_tenth.py - the rest of the seventh set of networks as people write them: video, sound, volumes and fields. See cases.py."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

from blocks import Encoder, Result
from written_fourth import Residual


def masked_video():
    """A masked autoencoder of videos: the encoder reads a tenth of the tubes, a small decoder paints the others."""
    class Net(nn.Module):
        def __init__(self, width=512, small=256, kept=160):
            super().__init__()
            self.put, self.kept = nn.Conv3d(3, width, (2, 16, 16), (2, 16, 16)), kept
            self.place, self.small = nn.Parameter(torch.zeros(1, 1568, width)), nn.Linear(width, small)
            self.hidden, self.where = nn.Parameter(torch.zeros(1, 1, small)), nn.Parameter(torch.zeros(1, 1568, small))
            self.enc = nn.Sequential(*(Encoder(width, 8) for _ in range(12)), nn.LayerNorm(width))
            self.dec = nn.Sequential(*(Encoder(small, 4) for _ in range(4)), nn.LayerNorm(small))
            self.take = nn.Linear(small, 1536)

        def picked(self, x, order):
            return x.gather(1, order.unsqueeze(-1).expand(-1, -1, x.shape[-1]))

        def forward(self, video, noise):
            order = noise.argsort(1)
            x = self.put(video).flatten(2).transpose(1, 2) + self.place
            x = self.small(self.enc(self.picked(x, order[:, :self.kept])))
            x = torch.cat([x, self.hidden.expand(len(x), 1568 - self.kept, -1)], 1)
            x = self.take(self.dec(self.picked(x, order.argsort(1)) + self.where))
            tubes = video.view(len(video), 3, 8, 2, 14, 16, 14, 16).permute(0, 2, 4, 6, 3, 5, 7, 1)
            tubes = tubes.flatten(4).flatten(1, 3)
            tubes = (tubes - tubes.mean(-1, keepdim=True)) / (tubes.var(-1, keepdim=True) + 1e-6).sqrt()
            hidden = order[:, self.kept:]
            return Result(F.mse_loss(self.picked(x, hidden).float(), self.picked(tubes, hidden).float()))
    return Net(), lambda b: (torch.zeros(b, 3, 16, 224, 224), torch.zeros(b, 1568)), "own"



def video_diffusion():
    """A denoising U-Net of latent videos: filters and attention over space, then both over time."""
    class Res(nn.Module):
        def __init__(self, i, o, t):
            super().__init__()
            self.a = nn.Sequential(nn.GroupNorm(32, i), nn.SiLU(), nn.Conv3d(i, o, (1, 3, 3), padding=(0, 1, 1)))
            self.t, self.skip = nn.Linear(t, o), nn.Conv3d(i, o, 1) if i != o else nn.Identity()
            self.b = nn.Sequential(nn.GroupNorm(32, o), nn.SiLU(), nn.Conv3d(o, o, (3, 1, 1), padding=(1, 0, 0)),
                                   nn.GroupNorm(32, o), nn.SiLU(), nn.Conv3d(o, o, (1, 3, 3), padding=(0, 1, 1)))

        def forward(self, x, t):
            return self.skip(x) + self.b(self.a(x) + self.t(F.silu(t))[:, :, None, None, None])

    class Look(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.space, self.time = Encoder(c, c // 64), Encoder(c, c // 64, 2 * c)

        def forward(self, x):
            b, c, f, h, w = x.shape
            y = self.space(x.permute(0, 2, 3, 4, 1).reshape(b * f, h * w, c))
            y = self.time(y.view(b, f, h * w, c).transpose(1, 2).reshape(b * h * w, f, c))
            return y.view(b, h, w, f, c).permute(0, 4, 3, 1, 2)

    class Net(nn.Module):
        def __init__(self, w=(128, 256, 512)):
            super().__init__()
            self.time = nn.Sequential(nn.Linear(256, 512), nn.SiLU(), nn.Linear(512, 512))
            self.first = nn.Conv3d(4, w[0], (1, 3, 3), padding=(0, 1, 1))
            self.down = nn.ModuleList(Res(i, o, 512) for i, o in zip((w[0],) + w, w))
            self.shrink = nn.ModuleList(nn.Conv3d(c, c, (1, 3, 3), (1, 2, 2), (0, 1, 1)) for c in w[:2])
            self.looks, self.again = (nn.ModuleList(nn.Identity() if c == w[0] else Look(c) for c in w)
                                      for _ in range(2))
            self.up = nn.ModuleList(Res(i + o, o, 512) for i, o in zip((w[2], w[2], w[1]), w[::-1]))
            self.last = nn.Sequential(nn.GroupNorm(32, w[0]), nn.SiLU(),
                                      nn.Conv3d(w[0], 4, (1, 3, 3), padding=(0, 1, 1)))

        def forward(self, x, time):
            t, x, kept = self.time(time), self.first(x), []
            for n, block in enumerate(self.down):
                x = self.looks[n](block(x, t))
                kept.append(x)
                x = self.shrink[n](x) if n < 2 else x
            for n, block in enumerate(self.up):
                x = self.again[2 - n](block(torch.cat([x, kept.pop()], 1), t))
                x = F.interpolate(x, scale_factor=(1, 2, 2), mode="nearest") if n < 2 else x
            return self.last(x)
    return Net(), lambda b: (torch.zeros(b, 4, 16, 32, 48), torch.zeros(b, 256)), "mse"



def stereo_volume():
    """Depth from two cameras: a volume of paired features for 48 shifts, 3-D filters, and a soft minimum."""
    def unit(i, o, stride=1):
        return nn.Sequential(nn.Conv3d(i, o, 3, stride, 1, bias=False), nn.BatchNorm3d(o), nn.ReLU(inplace=True))

    class Net(nn.Module):
        def __init__(self, c=32, shifts=48):
            super().__init__()
            self.shifts = shifts
            self.look = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
                                      Residual(32, 32), Residual(32, 64, 2), *(Residual(64, 64) for _ in range(6)),
                                      nn.Conv2d(64, c, 1, bias=False))
            self.first = nn.Sequential(unit(2 * c, c), unit(c, c))
            self.down = nn.Sequential(unit(c, 2 * c, 2), unit(2 * c, 2 * c), unit(2 * c, 2 * c, 2), unit(2 * c, 2 * c))
            self.up = nn.Sequential(nn.ConvTranspose3d(2 * c, 2 * c, 4, 2, 1, bias=False), nn.BatchNorm3d(2 * c),
                                    nn.ReLU(), nn.ConvTranspose3d(2 * c, c, 4, 2, 1, bias=False), nn.BatchNorm3d(c))
            self.last = nn.Sequential(unit(c, c), nn.Conv3d(c, 1, 3, padding=1, bias=False))

        def forward(self, left, right):
            a, b = self.look(left), self.look(right)
            pairs = [torch.cat([a, b], 1)] + [torch.cat([a[..., n:], b[..., :-n]], 1) for n in range(1, self.shifts)]
            volume = torch.stack([F.pad(p, (n, 0)) for n, p in enumerate(pairs)], 2)
            y = self.first(volume)
            y = self.last(F.relu(y + self.up(self.down(y))))
            y = F.interpolate(y, scale_factor=4, mode="trilinear").squeeze(1).softmax(1)
            return torch.einsum("bdhw,d->bhw", y, torch.arange(y.shape[1], device=y.device, dtype=y.dtype))
    return Net(), lambda b: (torch.zeros(b, 3, 256, 512), torch.zeros(b, 3, 256, 512)), "mse"



def recurrent_flow():
    """Optical flow: all pairs are correlated, and a convolutional GRU looks around its last flow twelve times."""
    class Net(nn.Module):
        def __init__(self, c=128, rounds=12, radius=4, levels=3):
            super().__init__()
            self.rounds, self.radius, self.levels, near = rounds, radius, levels, levels * (2 * radius + 1) ** 2
            self.look, self.context = self.encoder(nn.InstanceNorm2d, 256), self.encoder(nn.BatchNorm2d, 2 * c)
            self.near = nn.Sequential(nn.Conv2d(near, 192, 1), nn.ReLU(), nn.Conv2d(192, 126, 3, padding=1), nn.ReLU())
            self.gates, self.new = nn.Conv2d(2 * c + 128, 2 * c, 3, padding=1), nn.Conv2d(2 * c + 128, c, 3, padding=1)
            self.step = nn.Sequential(nn.Conv2d(c, 256, 3, padding=1), nn.ReLU(), nn.Conv2d(256, 2, 3, padding=1))
            self.mix = nn.Sequential(nn.Conv2d(c, 256, 3, padding=1), nn.ReLU(), nn.Conv2d(256, 576, 1))

        def encoder(self, norm, outputs):
            layers, i = [nn.Conv2d(3, 64, 7, 2, 3), norm(64), nn.ReLU()], 64
            for o, stride in ((64, 1), (96, 2), (96, 1), (128, 2), (128, 1)):
                layers += [nn.Conv2d(i, o, 3, stride, 1), norm(o), nn.ReLU(),
                           nn.Conv2d(o, o, 3, padding=1), norm(o), nn.ReLU()]
                i = o
            return nn.Sequential(*layers, nn.Conv2d(i, outputs, 1))

        def around(self, volumes, at):
            r, out = self.radius, []
            d = torch.linspace(-r, r, 2 * r + 1, device=at.device)
            near = torch.stack(torch.meshgrid(d, d, indexing="ij"), -1)
            for n, v in enumerate(volumes):
                h, w = v.shape[2:]
                spots = at.permute(0, 2, 3, 1).reshape(-1, 1, 1, 2) / 2 ** n + near
                spots = 2 * spots / torch.tensor([w - 1, h - 1], device=at.device) - 1
                y = F.grid_sample(v.float(), spots.float(), align_corners=True)
                out.append(y.view(len(at), *at.shape[2:], -1))
            return torch.cat(out, -1).permute(0, 3, 1, 2)

        def enlarged(self, flow, mask):
            b, _, h, w = flow.shape
            mask = mask.view(b, 1, 9, 8, 8, h, w).softmax(2)
            flow = F.unfold(8 * flow, 3, padding=1).view(b, 2, 9, 1, 1, h, w)
            return (mask * flow).sum(2).permute(0, 1, 4, 2, 5, 3).reshape(b, 2, 8 * h, 8 * w)

        def forward(self, first, second, wanted):
            a, b = self.look(first), self.look(second)
            n, c, h, w = a.shape
            volume = (a.flatten(2).transpose(1, 2) @ b.flatten(2)).float().view(n * h * w, 1, h, w) / c ** 0.5
            volumes = [volume] + [F.avg_pool2d(volume, 2 ** k) for k in range(1, self.levels)]
            state, context = self.context(first).chunk(2, 1)
            state, context = state.tanh(), context.relu()
            grid = torch.meshgrid(torch.arange(h, device=a.device), torch.arange(w, device=a.device), indexing="ij")
            start = torch.stack(grid[::-1]).float().expand(n, -1, -1, -1)
            flow, total = torch.zeros_like(start), 0
            for k in range(self.rounds):
                flow = flow.detach()
                x = torch.cat([context, self.near(self.around(volumes, start + flow)), flow], 1)
                z, r = self.gates(torch.cat([state, x], 1)).sigmoid().chunk(2, 1)
                state = (1 - z) * state + z * self.new(torch.cat([r * state, x], 1)).tanh()
                flow = flow + self.step(state).float()
                off = (self.enlarged(flow, self.mix(state).float()) - wanted).abs().mean()
                total = total + 0.8 ** (self.rounds - k - 1) * off
            return Result(total)

    def inputs(b):
        return torch.zeros(b, 3, 320, 448), torch.zeros(b, 3, 320, 448), torch.zeros(b, 2, 320, 448)
    return Net(), inputs, "own"



def raw_speech():
    """Speech from raw samples: strided filters, masked frames, a transformer, and a contrast with quantised frames."""
    class Net(nn.Module):
        def __init__(self, width=768, depth=12, groups=2, entries=320):
            super().__init__()
            stem, self.groups, self.entries = [], groups, entries
            for n, (kernel, stride) in enumerate([(10, 5)] + [(3, 2)] * 4 + [(2, 2)] * 2):
                norm = [nn.GroupNorm(512, 512)] if n == 0 else []
                stem += [nn.Conv1d(512 if n else 1, 512, kernel, stride, bias=False), *norm, nn.GELU()]
            self.stem, self.norm, self.put = nn.Sequential(*stem), nn.LayerNorm(512), nn.Linear(512, width)
            self.hidden = nn.Parameter(torch.rand(width))
            self.place = weight_norm(nn.Conv1d(width, width, 128, padding=64, groups=16), dim=2)
            self.body = nn.Sequential(*(Encoder(width, 12, dropout=0.1) for _ in range(depth)), nn.LayerNorm(width))
            self.score, self.book = nn.Linear(512, groups * entries), nn.Parameter(torch.rand(groups, entries, 128))
            self.wanted, self.found = nn.Linear(groups * 128, 256), nn.Linear(width, 256)

        def quantised(self, x):
            scores = self.score(x).unflatten(-1, (self.groups, self.entries)).float()
            soft = scores.softmax(-1)
            hard = F.one_hot(scores.argmax(-1), self.entries).float() + soft - soft.detach()
            mean = soft.flatten(0, 1).mean(0)
            spread = -(mean * (mean + 1e-7).log()).sum(-1).exp().sum() / (self.groups * self.entries)
            return self.wanted(torch.einsum("btge,ged->btgd", hard.to(self.book.dtype), self.book).flatten(2)), spread

        def forward(self, sound, noise):
            x = self.norm(self.stem(sound.unsqueeze(1)).transpose(1, 2))
            wanted, spread = self.quantised(x)
            x = torch.where((noise < 0).unsqueeze(-1), self.hidden.to(x.dtype), self.put(x))
            x = x + F.gelu(self.place(x.transpose(1, 2))[..., :-1]).transpose(1, 2)
            found, wanted = F.normalize(self.found(self.body(x)).float(), dim=-1), F.normalize(wanted.float(), dim=-1)
            logits = found @ wanted.transpose(1, 2) / 0.1
            right = torch.arange(logits.shape[1], device=x.device).expand(len(x), -1)
            return Result(F.cross_entropy(logits.flatten(0, 1), right.flatten()) + 0.1 * spread)
    return Net(), lambda b: (torch.zeros(b, 80000), torch.zeros(b, 249)), "own"



def period_discriminators():
    """Discriminators of speech: five fold the samples by a period, three read them at falling rates."""
    class Period(nn.Module):
        def __init__(self, period, widths=(1, 32, 128, 512, 1024)):
            super().__init__()
            self.period = period
            self.f = nn.ModuleList(weight_norm(nn.Conv2d(i, o, (5, 1), (3, 1), (2, 0)))
                                   for i, o in zip(widths, widths[1:]))
            self.last = nn.ModuleList([weight_norm(nn.Conv2d(1024, 1024, (5, 1), padding=(2, 0))),
                                       weight_norm(nn.Conv2d(1024, 1, (3, 1), padding=(1, 0)))])

        def forward(self, x):
            x = F.pad(x, (0, -x.shape[-1] % self.period), mode="reflect").unflatten(-1, (-1, self.period))
            for f in (*self.f, self.last[0]):
                x = F.leaky_relu(f(x), 0.1)
            return self.last[1](x).flatten(1)

    class Rate(nn.Module):
        def __init__(self, norm):
            super().__init__()
            plan = ((1, 128, 15, 1, 1), (128, 128, 41, 2, 4), (128, 256, 41, 2, 16), (256, 512, 41, 4, 16),
                    (512, 1024, 41, 4, 16), (1024, 1024, 41, 1, 16), (1024, 1024, 5, 1, 1))
            self.f = nn.ModuleList(norm(nn.Conv1d(i, o, k, s, k // 2, groups=g)) for i, o, k, s, g in plan)
            self.last = norm(nn.Conv1d(1024, 1, 3, padding=1))

        def forward(self, x):
            for f in self.f:
                x = F.leaky_relu(f(x), 0.1)
            return self.last(x).flatten(1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.periods = nn.ModuleList(Period(p) for p in (2, 3, 5, 7, 11))
            self.rates = nn.ModuleList(Rate(spectral_norm if n == 0 else weight_norm) for n in range(3))

        def loss(self, f, real, fake):
            return (1 - f(real)).pow(2).mean() + f(fake).pow(2).mean()

        def forward(self, real, fake):
            total = sum(self.loss(f, real, fake) for f in self.periods)
            for n, f in enumerate(self.rates):
                if n:
                    real, fake = (F.avg_pool1d(x, 4, 2, 2) for x in (real, fake))
                total = total + self.loss(f, real, fake)
            return Result(total)
    return Net(), lambda b: (torch.zeros(b, 1, 8192), torch.zeros(b, 1, 8192)), "own"



def volume_transformer():
    """Organs in scans: a transformer of 3-D patches whose states at four depths feed a convolutional decoder."""
    def unit(i, o):
        return nn.Sequential(*(m for c in (i, o) for m in (nn.Conv3d(c, o, 3, padding=1, bias=False),
                                                           nn.InstanceNorm3d(o), nn.LeakyReLU(0.01, inplace=True))))

    def grow(i, o, times):
        layers = []
        for n in range(times):
            layers += [nn.ConvTranspose3d(i if n == 0 else o, o, 2, 2), unit(o, o)]
        return nn.Sequential(*layers)

    class Net(nn.Module):
        def __init__(self, width=768, c=16, classes=14):
            super().__init__()
            self.put, self.place = nn.Conv3d(1, width, 16, 16), nn.Parameter(torch.zeros(1, 216, width))
            self.body = nn.ModuleList(Encoder(width, 12, 3072) for _ in range(12))
            self.first = unit(1, c)
            self.side = nn.ModuleList(grow(width, c * 2 ** n, 4 - n) for n in (1, 2, 3))
            sizes = (width, 8 * c, 4 * c, 2 * c, c)
            self.up = nn.ModuleList(nn.ConvTranspose3d(i, o, 2, 2) for i, o in zip(sizes, sizes[1:]))
            self.join, self.last = nn.ModuleList(unit(2 * o, o) for o in sizes[1:]), nn.Conv3d(c, classes, 1)

        def forward(self, scan):
            x, kept = self.put(scan).flatten(2).transpose(1, 2) + self.place, []
            for n, block in enumerate(self.body):
                x = block(x)
                if n % 3 == 2:
                    kept.append(x.transpose(1, 2).unflatten(2, (6, 6, 6)))
            maps = [self.first(scan)] + [f(y) for f, y in zip(self.side, kept)]
            y = kept[-1]
            for n, (up, join) in enumerate(zip(self.up, self.join)):
                y = join(torch.cat([up(y), maps[3 - n]], 1))
            return self.last(y)
    return Net(), lambda b: torch.zeros(b, 1, 96, 96, 96), "channels"



def reaction_ode():
    """A reaction-diffusion field: known diffusion, a learned convolutional reaction, fixed Runge-Kutta steps."""
    class Net(nn.Module):
        def __init__(self, fields=2, width=64, steps=16, step=0.05):
            super().__init__()
            self.steps, self.step = steps, step
            around = {"padding": 2, "padding_mode": "circular"}
            self.f = nn.Sequential(nn.Conv2d(fields, width, 5, **around), nn.Tanh(),
                                   nn.Conv2d(width, width, 5, **around), nn.Tanh(), nn.Conv2d(width, fields, 1))
            self.speed = nn.Parameter(torch.full((fields, 1, 1, 1), 0.1))
            laplace = torch.tensor([[0.05, 0.2, 0.05], [0.2, -1.0, 0.2], [0.05, 0.2, 0.05]])
            self.register_buffer("laplace", laplace.expand(fields, 1, 3, 3).contiguous(), persistent=False)

        def change(self, u):
            flow = F.conv2d(F.pad(u, (1, 1, 1, 1), mode="circular"), self.laplace * self.speed, groups=u.shape[1])
            return flow + self.f(u)

        def forward(self, u):
            seen, h = [], self.step
            for n in range(self.steps):
                a = self.change(u)
                b = self.change(u + h / 2 * a)
                c = self.change(u + h / 2 * b)
                d = self.change(u + h * c)
                u = u + h / 6 * (a + 2 * b + 2 * c + d)
                if n % 4 == 3:
                    seen.append(u)
            return torch.stack(seen, 1)
    return Net(), lambda b: torch.zeros(b, 2, 64, 64), "mse"


NETWORKS = {f.__name__: f for f in (masked_video, video_diffusion, stereo_volume, recurrent_flow, raw_speech,
                                    period_discriminators, volume_transformer, reaction_ode)}
STEPS = {"masked_video": ("amp-fp16", 64), "video_diffusion": ("amp-fp16", 4), "stereo_volume": ("tf32", 8),
         "recurrent_flow": ("amp-bf16", 6), "raw_speech": ("amp-fp16", 32), "period_discriminators": ("fp32", 16),
         "volume_transformer": ("amp-bf16", 4), "reaction_ode": ("fp32", 16)}
