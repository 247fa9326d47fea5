# SPDX-License-Identifier: Apache-2.0
"""written_twentyfirst.py - the rest of the thirteenth set of networks: shapes, pictures, control. See cases.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from blocks import Attention, Encoder, Result, words


def atoms_from_noise():
    """Molecules from noise: a network that turns with its input denoises places and kinds of 29 atoms."""
    class Layer(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.edge = nn.Sequential(nn.Linear(2 * c + 2, c), nn.SiLU(), nn.Linear(c, c), nn.SiLU())
            self.look = nn.Sequential(nn.Linear(c, 1), nn.Sigmoid())
            self.node = nn.Sequential(nn.Linear(2 * c, c), nn.SiLU(), nn.Linear(c, c))
            self.move = nn.Sequential(nn.Linear(2 * c + 2, c), nn.SiLU(), nn.Linear(c, c), nn.SiLU(),
                                      nn.Linear(c, 1, bias=False))

        def pairs(self, h, far, first):
            n = h.shape[1]
            own, other = h.unsqueeze(2).expand(-1, -1, n, -1), h.unsqueeze(1).expand(-1, n, -1, -1)
            return torch.cat([own, other, far, first], -1)

        def forward(self, h, x, first, other):
            apart = x.unsqueeze(2) - x.unsqueeze(1)
            far = apart.pow(2).sum(-1, keepdim=True)
            m = self.edge(self.pairs(h, far, first))
            total = (m * self.look(m) * other).sum(2) / 100
            h = h + self.node(torch.cat([h, total], -1))
            step = apart / ((far + 1e-8).sqrt() + 1) * torch.tanh(self.move(self.pairs(h, far, first))) * 15
            return h, x + (step * other).sum(2) / 100

    class Net(nn.Module):
        def __init__(self, kinds=6, c=256, depth=9, steps=1000):
            super().__init__()
            self.enter, self.leave = nn.Linear(kinds + 1, c), nn.Linear(c, kinds)
            self.body, self.steps = nn.ModuleList(Layer(c) for _ in range(depth)), steps
            kept = (1 - (torch.arange(steps + 1) / steps).pow(2)).pow(2)
            self.register_buffer("kept", kept * (1 - 2e-5) + 1e-5, persistent=False)

        def forward(self, places, kinds):
            b, n, _ = places.shape
            time = torch.randint(0, self.steps + 1, (b,), device=places.device)
            kept = self.kept[time].view(b, 1, 1)
            places = places - places.mean(1, keepdim=True)
            noise = torch.randn_like(places)
            noise, noise2 = noise - noise.mean(1, keepdim=True), torch.randn_like(kinds)
            x = kept.sqrt() * places + (1 - kept).sqrt() * noise
            h = kept.sqrt() * kinds + (1 - kept).sqrt() * noise2
            start = x
            h = self.enter(torch.cat([h, (time / self.steps).view(b, 1, 1).expand(-1, n, -1)], -1))
            first = (x.unsqueeze(2) - x.unsqueeze(1)).pow(2).sum(-1, keepdim=True)
            other = 1 - torch.eye(n, device=x.device).view(1, n, n, 1)
            for f in self.body:
                h, x = f(h, x, first, other)
            moved = x - start
            moved = moved - moved.mean(1, keepdim=True)
            return Result(F.mse_loss(moved, noise) + F.mse_loss(self.leave(h), noise2))
    return Net(), lambda b: (torch.zeros(b, 29, 3), torch.zeros(b, 29, 6)), "own"


def backbone_frames():
    """Protein backbones: attention by points in the frames of residues, pairs, and frames that are turned and moved."""
    class Points(nn.Module):
        def __init__(self, c, pair, heads=8, size=16, q=8, v=12):
            super().__init__()
            self.heads, self.size, self.q, self.v = heads, size, q, v
            self.scalar, self.bias = nn.Linear(c, 3 * heads * size), nn.Linear(pair, heads)
            self.put_q, self.put_kv = nn.Linear(c, heads * q * 3), nn.Linear(c, heads * (q + v) * 3)
            self.sharp, self.down = nn.Parameter(torch.zeros(heads)), nn.Linear(pair, pair // 4)
            self.out = nn.Linear(heads * (size + 4 * v + pair // 4), c)

        def placed(self, points, turn, move):
            points = points.unflatten(-1, (self.heads, -1, 3))
            return torch.einsum("bnij,bnhpj->bnhpi", turn, points) + move[:, :, None, None]

        def forward(self, x, z, turn, move):
            q, k, v = (t.unflatten(-1, (self.heads, self.size)) for t in self.scalar(x).chunk(3, -1))
            qp = self.placed(self.put_q(x), turn, move)
            kp, vp = self.placed(self.put_kv(x), turn, move).split([self.q, self.v], 3)
            look = torch.einsum("bihc,bjhc->bhij", q, k) * (3 * self.size) ** -0.5
            look = look + self.bias(z).permute(0, 3, 1, 2) * 3 ** -0.5
            far = (qp.unsqueeze(2) - kp.unsqueeze(1)).pow(2).sum((-1, -2))
            weight = F.softplus(self.sharp) * (1 / (3 * self.q * 4.5)) ** 0.5
            look = (look - 0.5 * (weight * far).permute(0, 3, 1, 2)).softmax(-1)
            o = torch.einsum("bhij,bjhc->bihc", look, v).flatten(2)
            op = torch.einsum("bhij,bjhpc->bihpc", look, vp.to(look.dtype)) - move[:, :, None, None]
            op = torch.einsum("bnji,bnhpj->bnhpi", turn, op)
            oz = torch.einsum("bhij,bijc->bihc", look, self.down(z)).flatten(2)
            length = (op.pow(2).sum(-1) + 1e-8).sqrt().flatten(2)
            return self.out(torch.cat([o, op.flatten(2), length, oz], -1))

    class Net(nn.Module):
        def __init__(self, c=256, pair=128, depth=4):
            super().__init__()
            self.node, self.relative = nn.Linear(64, c), nn.Embedding(129, pair)
            self.left, self.right = nn.Linear(c, pair), nn.Linear(c, pair)
            self.points = nn.ModuleList(Points(c, pair) for _ in range(depth))
            self.norm = nn.ModuleList(nn.LayerNorm(c) for _ in range(depth))
            layer = dict(d_model=c, nhead=4, dim_feedforward=c, dropout=0.0, batch_first=True)
            self.body = nn.ModuleList(nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer), 2,
                                                            enable_nested_tensor=False) for _ in range(depth))
            self.mix = nn.ModuleList(nn.Sequential(nn.Linear(c, c), nn.ReLU(), nn.Linear(c, c), nn.LayerNorm(c))
                                     for _ in range(depth))
            self.step = nn.ModuleList(nn.Linear(c, 6) for _ in range(depth))
            self.narrow = nn.ModuleList(nn.Linear(c, pair) for _ in range(depth - 1))
            self.edge = nn.ModuleList(nn.Sequential(nn.Linear(3 * pair, pair), nn.ReLU(), nn.Linear(pair, pair),
                                                    nn.LayerNorm(pair)) for _ in range(depth - 1))

        def moved(self, step, turn, move):
            """A quaternion and a shift in the residue's frame."""
            q = F.normalize(F.pad(step[..., :3], (1, 0), value=1.0), dim=-1)
            w, x, y, z = q.unbind(-1)
            more = torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                                2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                                2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1)
            return turn @ more.unflatten(-1, (3, 3)), move + (turn @ step[..., 3:].unsqueeze(-1)).squeeze(-1)

        def forward(self, features, turn, move, true):
            n = features.shape[1]
            place = torch.arange(n, device=features.device)
            x = self.node(features)
            z = self.relative((place[:, None] - place).clamp(-64, 64) + 64)
            z = z + self.left(x).unsqueeze(2) + self.right(x).unsqueeze(1)
            for d, (points, norm, body, mix) in enumerate(zip(self.points, self.norm, self.body, self.mix)):
                x = norm(x + points(x, z, turn, move))
                x = mix(x + body(x))
                turn, move = self.moved(self.step[d](x).float(), turn, move)
                if d < len(self.edge):
                    y = self.narrow[d](x)
                    pairs = torch.cat([z, y.unsqueeze(2).expand_as(z), y.unsqueeze(1).expand_as(z)], -1)
                    z = self.edge[d](pairs)
            far, right = torch.cdist(move, move), torch.cdist(true, true)
            return Result(F.mse_loss(move, true) + 0.25 * F.l1_loss(far, right) + 0.1 * turn.diagonal(0, 2, 3).mean())

    def inputs(b):
        return torch.zeros(b, 192, 64), torch.zeros(b, 192, 3, 3), torch.zeros(b, 192, 3), torch.zeros(b, 192, 3)
    return Net(), inputs, "own"


def shape_codes():
    """Shapes as distance fields: each shape has a code, dense layers with weight norm give the distance of points."""
    from torch.nn.utils.parametrizations import weight_norm

    class Net(nn.Module):
        def __init__(self, shapes=1200, code=256, c=512):
            super().__init__()
            self.code = nn.Embedding(shapes, code)
            nn.init.normal_(self.code.weight, std=1 / math.sqrt(code))
            sizes = [(code + 3, c), (c, c), (c, c), (c, c - code - 3), (c, c), (c, c), (c, c), (c, c)]
            self.layers = nn.ModuleList(weight_norm(nn.Linear(i, o)) for i, o in sizes)
            self.last = nn.Linear(c, 1)

        def forward(self, shape, points, distance):
            code = self.code(shape)
            start = torch.cat([code.unsqueeze(1).expand(-1, points.shape[1], -1), points], -1).flatten(0, 1)
            x = start
            for n, f in enumerate(self.layers):
                x = F.dropout(F.relu(f(torch.cat([x, start], 1) if n == 4 else x)), 0.2, self.training)
            found = torch.tanh(self.last(x)).view_as(distance).clamp(-0.1, 0.1)
            return Result(F.l1_loss(found, distance.clamp(-0.1, 0.1)) + 1e-4 * code.norm(dim=-1).mean())

    def inputs(b):
        return torch.zeros(b, dtype=torch.int64), torch.zeros(b, 4096, 3), torch.zeros(b, 4096)
    return Net(), inputs, "own"


def view_to_scene():
    """A scene from one picture: patches are read by tokens of three planes, which are sampled along rays."""
    class Block(nn.Module):
        def __init__(self, c, seen, heads):
            super().__init__()
            self.n1, self.cross, self.rest = nn.LayerNorm(c), Attention(c, heads, seen), Encoder(c, heads)

        def forward(self, x, seen):
            return self.rest(x + self.cross(self.n1(x), seen))

    class Net(nn.Module):
        def __init__(self, c=512, seen=384, side=32, planes=40, samples=64):
            super().__init__()
            self.patch, self.place = nn.Conv2d(3, seen, 16, 16), nn.Parameter(torch.zeros(1, 256, seen))
            self.eye = nn.Sequential(*(Encoder(seen, 6) for _ in range(8)), nn.LayerNorm(seen))
            self.tokens = nn.Parameter(torch.randn(1, 3 * side * side, c) * 0.02)
            self.body, self.norm = nn.ModuleList(Block(c, seen, 8) for _ in range(6)), nn.LayerNorm(c)
            self.grow, self.side, self.samples = nn.ConvTranspose2d(c, planes, 2, 2), side, samples
            self.field = nn.Sequential(nn.Linear(3 * planes, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                                       nn.Linear(64, 4))

        def planes(self, picture):
            seen = self.eye(self.patch(picture).flatten(2).transpose(1, 2) + self.place)
            x = self.tokens.expand(len(picture), -1, -1)
            for f in self.body:
                x = f(x, seen)
            x = self.norm(x).unflatten(1, (3, self.side, self.side)).permute(0, 1, 4, 2, 3)
            return self.grow(x.flatten(0, 1))

        def forward(self, picture, rays, colours):
            planes = self.planes(picture).float()
            start, way = rays.float().split(3, -1)
            depth = torch.linspace(0.5, 2.5, self.samples, device=rays.device)
            points = start.unsqueeze(2) + F.normalize(way, dim=-1).unsqueeze(2) * depth.view(-1, 1)
            places = torch.stack([points[..., [0, 1]], points[..., [0, 2]], points[..., [1, 2]]], 1).flatten(0, 1)
            found = F.grid_sample(planes, places, align_corners=False)
            x = found.unflatten(0, (-1, 3)).permute(0, 3, 4, 1, 2).flatten(3)
            value = self.field(x).float()
            light = 1 - torch.exp(-F.softplus(value[..., 3] - 1) * (2.0 / self.samples))
            clear = torch.cumprod(torch.cat([torch.ones_like(light[..., :1]), 1 - light[..., :-1] + 1e-10], -1), -1)
            colour = ((light * clear).unsqueeze(-1) * torch.sigmoid(value[..., :3])).sum(2)
            return Result(F.mse_loss(colour, colours))
    return Net(), lambda b: (torch.zeros(b, 3, 256, 256), torch.zeros(b, 1024, 6), torch.zeros(b, 1024, 3)), "own"


def deformed_queries():
    """Objects in pictures: queries read a few learned places of four feature maps; boxes are refined by each layer."""
    class Sampled(nn.Module):
        def __init__(self, c, heads=8, levels=4, points=4):
            super().__init__()
            self.shape = (heads, levels, points)
            self.value, self.o = nn.Linear(c, c), nn.Linear(c, c)
            self.off, self.weight = nn.Linear(c, heads * levels * points * 2), nn.Linear(c, heads * levels * points)

        def forward(self, q, places, maps, sizes):
            heads, levels, points = self.shape
            b, n, c = q.shape
            v = self.value(maps).unflatten(-1, (heads, -1))
            off = self.off(q).view(b, n, heads, levels, points, 2)
            weight = self.weight(q).view(b, n, heads, -1).softmax(-1).view(b, n, heads, levels, points)
            scale = q.new_tensor([[w, h] for h, w in sizes])
            places = 2 * (places[:, :, None, None, None, :2] + off / scale[:, None]) - 1
            found = []
            for level, (one, (h, w)) in enumerate(zip(v.split([h * w for h, w in sizes], 1), sizes)):
                one = one.permute(0, 2, 3, 1).reshape(b * heads, -1, h, w)
                at = places[:, :, :, level].transpose(1, 2).flatten(0, 1)
                found.append(F.grid_sample(one, at.to(one.dtype), padding_mode="zeros", align_corners=False))
            weight = weight.permute(0, 2, 1, 3, 4).reshape(b * heads, 1, n, levels * points)
            y = (torch.stack(found, -2).flatten(-2) * weight).sum(-1)
            return self.o(y.view(b, c, n).transpose(1, 2))

    class Layer(nn.Module):
        def __init__(self, c, inner, own):
            super().__init__()
            self.own = nn.MultiheadAttention(c, 8, batch_first=True) if own else None
            self.n0 = nn.LayerNorm(c) if own else None
            self.look, self.n1, self.n2 = Sampled(c), nn.LayerNorm(c), nn.LayerNorm(c)
            self.f = nn.Sequential(nn.Linear(c, inner), nn.ReLU(), nn.Linear(inner, c))

        def forward(self, x, place, at, maps, sizes):
            if self.own is not None:
                q = x + place
                x = self.n0(x + self.own(q, q, x, need_weights=False)[0])
            x = self.n1(x + self.look(x + place, at, maps, sizes))
            return self.n2(x + self.f(x))

    class Net(nn.Module):
        def __init__(self, c=256, inner=1024, queries=300, classes=91, depth=6):
            super().__init__()
            from torchvision.models import resnet50
            body = resnet50(weights=None)
            self.stem = nn.Sequential(*list(body.children())[:5])
            self.stages = nn.ModuleList((body.layer2, body.layer3, body.layer4))
            self.narrow = nn.ModuleList(nn.Sequential(nn.Conv2d(i, c, 1), nn.GroupNorm(32, c))
                                        for i in (512, 1024, 2048))
            self.small = nn.Sequential(nn.Conv2d(2048, c, 3, 2, 1), nn.GroupNorm(32, c))
            self.level = nn.Parameter(torch.randn(4, c))
            self.enter = nn.ModuleList(Layer(c, inner, False) for _ in range(depth))
            self.leave = nn.ModuleList(Layer(c, inner, True) for _ in range(depth))
            self.query, self.at = nn.Embedding(queries, 2 * c), nn.Linear(c, 2)
            self.kind = nn.ModuleList(nn.Linear(c, classes) for _ in range(depth))
            self.box = nn.ModuleList(nn.Sequential(nn.Linear(c, c), nn.ReLU(), nn.Linear(c, c), nn.ReLU(),
                                                   nn.Linear(c, 4)) for _ in range(depth))

        def maps(self, x):
            x, maps = self.stem(x), []
            for f, narrow in zip(self.stages, self.narrow):
                x = f(x)
                maps.append(narrow(x))
            return [*maps, self.small(x)]

        def centres(self, h, w, device):
            y, x = ((torch.arange(n, device=device) + 0.5) / n for n in (h, w))
            return torch.stack(torch.meshgrid(y, x, indexing="ij")[::-1], -1).flatten(0, 1)

        def forward(self, picture, kinds, boxes, chosen):
            maps = self.maps(picture)
            b, sizes = len(picture), [tuple(m.shape[2:]) for m in maps]
            x = torch.cat([m.flatten(2).transpose(1, 2) for m in maps], 1)
            place = torch.cat([l.expand(h * w, -1) for l, (h, w) in zip(self.level, sizes)])
            at = torch.cat([self.centres(h, w, x.device) for h, w in sizes]).expand(b, -1, -1)
            for f in self.enter:
                x = f(x, place, at, x, sizes)
            place, y = (t.expand(b, -1, -1) for t in self.query.weight.chunk(2, -1))
            at, loss = self.at(place).sigmoid(), 0
            chosen = chosen % y.shape[1]
            for f, kind, box in zip(self.leave, self.kind, self.box):
                y = f(y, place, at, x, sizes)
                step = box(y).float()
                centre = step[..., :2] + torch.logit(at[..., :2].float(), 1e-5)
                found = torch.cat([centre, step[..., 2:]], -1).sigmoid()
                picked = found.gather(1, chosen.unsqueeze(-1).expand(-1, -1, 4))
                chance = kind(y).float()
                focal = F.binary_cross_entropy_with_logits(chance, kinds, reduction="none")
                focal = (focal * (chance.sigmoid() - kinds).abs().pow(2)).sum((1, 2)).mean()
                loss = loss + 2 * focal / 20 + 5 * F.l1_loss(picked, boxes)
                at = found.detach()
            return Result(loss)

    def inputs(b):
        return torch.zeros(b, 3, 512, 640), torch.zeros(b, 300, 91), torch.zeros(b, 20, 4), words(b, 20)
    return Net(), inputs, "own"


def taught_crops():
    """Pictures without labels: a student sees two large and six small crops, a slow teacher the two large ones."""
    class Vit(nn.Module):
        def __init__(self, c=384, depth=12, out=16384):
            super().__init__()
            self.patch, self.first = nn.Conv2d(3, c, 16, 16), nn.Parameter(torch.zeros(1, 1, c))
            self.place = nn.Parameter(torch.zeros(1, c, 14, 14))
            self.body, self.norm = nn.Sequential(*(Encoder(c, 6) for _ in range(depth))), nn.LayerNorm(c)
            self.head = nn.Sequential(nn.Linear(c, 2048), nn.GELU(), nn.Linear(2048, 2048), nn.GELU(),
                                      nn.Linear(2048, 256))
            self.last = nn.utils.parametrizations.weight_norm(nn.Linear(256, out, bias=False))

        def forward(self, x):
            x = self.patch(x)
            place = self.place
            if x.shape[2:] != place.shape[2:]:
                place = F.interpolate(place, size=x.shape[2:], mode="bicubic")
            x = (x + place).flatten(2).transpose(1, 2)
            x = self.norm(self.body(torch.cat([self.first.expand(len(x), -1, -1), x], 1)))[:, 0]
            return self.last(F.normalize(self.head(x), dim=-1))

    class Net(nn.Module):
        def __init__(self, out=16384):
            super().__init__()
            self.student, self.teacher = Vit(out=out), Vit(out=out).requires_grad_(False)
            self.register_buffer("centre", torch.zeros(1, out))

        def forward(self, large, small):
            with torch.no_grad():
                goal = self.teacher(large.transpose(0, 1).flatten(0, 1))
                true = ((goal - self.centre) / 0.04).float().softmax(-1).chunk(2)
                self.centre.mul_(0.9).add_(goal.mean(0, keepdim=True) * 0.1)
            seen = [*self.student(large.transpose(0, 1).flatten(0, 1)).chunk(2),
                    *self.student(small.transpose(0, 1).flatten(0, 1)).chunk(small.shape[1])]
            seen = [(s / 0.1).float().log_softmax(-1) for s in seen]
            parts = [-(t * s).sum(-1).mean() for i, t in enumerate(true) for j, s in enumerate(seen) if i != j]
            return Result(sum(parts) / len(parts))
    return Net(), lambda b: (torch.zeros(b, 2, 3, 224, 224), torch.zeros(b, 6, 3, 96, 96)), "own"


def next_scales():
    """Pictures scale by scale: a transformer, scaled by the class, predicts all codes of the next scale."""
    class Block(nn.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.qkv, self.o = heads, nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.sharp = nn.Parameter(torch.full((1, heads, 1, 1), math.log(4.0)))
            self.n, self.f = nn.LayerNorm(c, elementwise_affine=False), nn.Sequential(
                nn.Linear(c, 4 * c), nn.GELU(approximate="tanh"), nn.Linear(4 * c, c))
            self.style = nn.Sequential(nn.SiLU(), nn.Linear(c, 6 * c))

        def forward(self, x, kind, mask):
            g1, g2, s1, s2, b1, b2 = self.style(kind).unsqueeze(1).chunk(6, -1)
            y = self.qkv(self.n(x) * (1 + s1) + b1).unflatten(-1, (3, self.heads, -1))
            q, k, v = y.permute(2, 0, 3, 1, 4)
            q = F.normalize(q, dim=-1) * self.sharp.clamp(max=math.log(100)).exp()
            k = F.normalize(k, dim=-1)
            y = F.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, attn_mask=mask, scale=1.0)
            x = x + g1 * self.o(y.transpose(1, 2).flatten(2))
            return x + g2 * self.f(self.n(x) * (1 + s2) + b2)

    class Net(nn.Module):
        def __init__(self, c=768, depth=12, codes=4096, code=32, classes=1000):
            super().__init__()
            scales = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16)
            count = sum(n * n for n in scales)
            level = torch.cat([torch.full((n * n,), i) for i, n in enumerate(scales)])
            self.register_buffer("level", level, persistent=False)
            self.register_buffer("mask", level[:, None] >= level, persistent=False)
            self.kind, self.put = nn.Embedding(classes + 1, c), nn.Linear(code, c)
            self.start, self.place = nn.Parameter(torch.zeros(1, 1, c)), nn.Parameter(torch.zeros(1, count, c))
            self.scale = nn.Embedding(len(scales), c)
            self.body = nn.ModuleList(Block(c, 12) for _ in range(depth))
            self.norm, self.style = nn.LayerNorm(c, elementwise_affine=False), nn.Linear(c, 2 * c)
            self.head = nn.Linear(c, codes)

        def forward(self, kind, grown, codes):
            kind = self.kind(kind)
            x = torch.cat([kind.unsqueeze(1) + self.start, self.put(grown)], 1)
            x = x + self.place + self.scale(self.level)
            for f in self.body:
                x = f(x, kind, self.mask)
            scale, shift = self.style(F.silu(kind)).unsqueeze(1).chunk(2, -1)
            y = self.head(self.norm(x) * (1 + scale) + shift)
            return Result(F.cross_entropy(y.float().flatten(0, 1), codes.flatten()))

    def inputs(b):
        return torch.zeros(b, dtype=torch.int64), torch.zeros(b, 679, 32), words(b, 680)
    return Net(), inputs, "own"


def lifted_views():
    """A map from six cameras of a car: pixels are spread over likely depths and summed in cells seen from above."""
    from torchvision.models import efficientnet_b0, resnet18

    class Up(nn.Module):
        def __init__(self, i, o, scale=2):
            super().__init__()
            self.up = nn.Upsample(scale_factor=scale, mode="bilinear", align_corners=True)
            self.f = nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
                                   nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

        def forward(self, x, more):
            return self.f(torch.cat([more, self.up(x)], 1))

    class Net(nn.Module):
        def __init__(self, depths=41, c=64, cells=200):
            super().__init__()
            self.depths, self.c, self.cells = depths, c, cells
            self.eye, self.up = efficientnet_b0(weights=None).features[:8], Up(320 + 112, 512)
            self.head = nn.Conv2d(512, depths + c, 1)
            body = resnet18(weights=None, zero_init_residual=True)
            self.first = nn.Sequential(nn.Conv2d(c, 64, 7, 2, 3, bias=False), body.bn1, body.relu)
            self.one, self.two, self.three = body.layer1, body.layer2, body.layer3
            self.up1, self.up2 = Up(64 + 256, 256, 4), nn.Sequential(
                nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
                nn.Conv2d(256, 128, 3, padding=1, bias=False), nn.BatchNorm2d(128), nn.ReLU(inplace=True),
                nn.Conv2d(128, 1, 1))
            self.register_buffer("where", self.cells_of(), persistent=False)

        def cells_of(self, columns=22, rows=8):
            """The cell of half a metre of each camera's depths, rows and columns; views are 70 degrees wide."""
            turn = torch.arange(6).view(6, 1, 1, 1) * math.pi / 3
            way = turn + torch.linspace(-35, 35, columns).deg2rad()
            far = (4.0 + torch.arange(self.depths).view(-1, 1, 1)).expand(6, -1, rows, -1)
            x, y = ((far * f(way) * 2 + self.cells / 2).long().clamp(0, self.cells - 1) for f in (torch.cos, torch.sin))
            return (x * self.cells + y).flatten()

        def seen(self, x):
            maps = []
            for n, f in enumerate(self.eye):
                x = f(x)
                if n == 5:
                    maps.append(x)
            y = self.head(self.up(x, maps[0]))
            return y[:, :self.depths].softmax(1).unsqueeze(1) * y[:, self.depths:].unsqueeze(2)

        def forward(self, pictures):
            b = len(pictures)
            x = self.seen(pictures.flatten(0, 1)).permute(0, 2, 3, 4, 1).reshape(b, -1, self.c)
            base = torch.arange(b, device=x.device)[:, None] * self.cells ** 2
            where = (self.where + base).flatten()
            above = torch.zeros(b * self.cells ** 2, self.c, device=x.device, dtype=x.dtype)
            above = above.index_add(0, where, x.flatten(0, 1)).view(b, self.cells, self.cells, self.c)
            y = self.first(above.permute(0, 3, 1, 2))
            low = self.one(y)
            y = self.three(self.two(low))
            return self.up2(self.up1(y, low))
    return Net(), lambda b: torch.zeros(b, 6, 3, 128, 352), "bce"


def planned_latents():
    """Control by planning: states with softmax in groups, dynamics, five critics at once, and rewards in 101 bins."""
    def groups(x, size=8):
        return x.unflatten(-1, (-1, size)).softmax(-1).flatten(-2)

    def dense(i, c, o):
        return nn.Sequential(nn.Linear(i, c), nn.LayerNorm(c), nn.Mish(), nn.Linear(c, c), nn.LayerNorm(c), nn.Mish(),
                             nn.Linear(c, o))

    class Critics(nn.Module):
        def __init__(self, i, c, bins, count=5):
            super().__init__()
            sizes = (i, c, c, bins)
            self.w = nn.ParameterList(nn.Parameter(torch.randn(count, a, b) * a ** -0.5)
                                      for a, b in zip(sizes, sizes[1:]))
            self.b = nn.ParameterList(nn.Parameter(torch.zeros(count, 1, b)) for b in sizes[1:])
            self.norm = nn.ModuleList(nn.LayerNorm(c) for _ in range(2))

        def forward(self, x):
            x = F.dropout(x, 0.01, self.training).expand(len(self.w[0]), -1, -1)
            for n, (w, b) in enumerate(zip(self.w, self.b)):
                x = torch.baddbmm(b, x, w)
                if n < 2:
                    x = F.mish(self.norm[n](x))
            return x

    class Net(nn.Module):
        def __init__(self, seen=67, actions=21, z=512, c=512, bins=101):
            super().__init__()
            self.see = nn.Sequential(nn.Linear(seen, 256), nn.LayerNorm(256), nn.Mish(), nn.Linear(256, z),
                                     nn.LayerNorm(z))
            self.next, self.norm = dense(z + actions, c, z), nn.LayerNorm(z)
            self.reward, self.policy = dense(z + actions, c, bins), dense(z, c, 2 * actions)
            self.q, self.slow = Critics(z + actions, c, bins), Critics(z + actions, c, bins).requires_grad_(False)
            self.register_buffer("bins", torch.linspace(-10, 10, bins), persistent=False)

        def value(self, logits):
            x = (logits.softmax(-1) * self.bins).sum(-1)
            return x.sign() * (x.abs().exp() - 1)

        def soft(self, logits, goal):
            x = (goal.sign() * torch.log1p(goal.abs())).clamp(-10, 10)
            place = (x + 10) / 0.2
            low = place.floor().clamp(0, len(self.bins) - 2)
            share, low = (place - low).unsqueeze(-1), low.long().unsqueeze(-1)
            true = torch.zeros_like(logits).scatter(-1, low, 1 - share).scatter(-1, low + 1, share)
            return -(true * logits.log_softmax(-1)).sum(-1).mean()

        def acted(self, z):
            mean, spread = self.policy(z).chunk(2, -1)
            spread = -10 + 6 * (torch.tanh(spread) + 1)
            return torch.tanh(mean + spread.exp() * torch.randn_like(mean)), spread.sum(-1)

        def forward(self, seen, actions, rewards):
            with torch.no_grad():
                later = groups(self.see(seen[:, 1:])).transpose(0, 1)
                flat = later.flatten(0, 1)
                best = self.value(self.slow(torch.cat([flat, self.acted(flat)[0]], -1))[:2]).amin(0)
                goal = rewards.transpose(0, 1) + 0.99 * best.view(later.shape[:2])
            z, states, loss = groups(self.see(seen[:, 0])), [], 0
            for t in range(actions.shape[1]):
                states.append(z)
                x = torch.cat([z, actions[:, t]], -1)
                z = groups(self.norm(self.next(x)))
                rate = 0.5 ** t
                loss = loss + rate * (20 * F.mse_loss(z, later[t]) + 0.1 * self.soft(self.reward(x), rewards[:, t]))
                loss = loss + rate * 0.1 * self.soft(self.q(x), goal[t].expand(5, -1))
            z = torch.stack(states).detach().flatten(0, 1)
            act, spread = self.acted(z)
            for p in self.q.parameters():
                p.requires_grad_(False)
            gain = self.value(self.q(torch.cat([z, act], -1))[:2]).mean(0)
            for p in self.q.parameters():
                p.requires_grad_(True)
            return Result(loss - (gain + 1e-4 * spread).mean())

    def inputs(b):
        return torch.zeros(b, 4, 67), torch.zeros(b, 3, 21), torch.zeros(b, 3)
    return Net(), inputs, "own"


def hedged_options():
    """Hedges of options: a network trades at a cost on each of 60 days of drawn paths with changing spread."""
    class Net(nn.Module):
        def __init__(self, c=128, days=60, cost=1e-3, worst=0.05):
            super().__init__()
            self.days, self.cost, self.worst = days, cost, worst
            self.trade = nn.Sequential(nn.Linear(5, c), nn.SiLU(), nn.Linear(c, c), nn.SiLU(), nn.Linear(c, c),
                                       nn.SiLU(), nn.Linear(c, 2))
            self.limit = nn.Parameter(torch.zeros(()))

        def paths(self, start):
            step, price, wild = 1 / 252, start.exp(), torch.full_like(start, 0.04)
            prices, wilds = [price], [wild]
            for _ in range(self.days):
                a, b = torch.randn_like(start), torch.randn_like(start)
                b = -0.7 * a + math.sqrt(1 - 0.49) * b
                root = (wild.clamp(min=0) * step).sqrt()
                price = price * torch.exp(-0.5 * wild * step + root * a)
                wild = (wild + 1.5 * (0.04 - wild) * step + 0.5 * root * b).clamp(min=1e-6)
                prices.append(price)
                wilds.append(wild)
            return torch.stack(prices, 1), torch.stack(wilds, 1)

        def forward(self, start):
            start = 0.01 * start
            with torch.no_grad():
                price, wild = self.paths(start.flatten())
                change, change2 = price.diff(dim=1), wild.diff(dim=1)
            held, gain = torch.zeros(len(price), 2, device=price.device), torch.zeros(len(price), device=price.device)
            for t in range(self.days):
                left = torch.full_like(gain, (self.days - t) / self.days)
                seen = torch.stack([price[:, t].log(), wild[:, t].sqrt(), left, held[:, 0], held[:, 1]], 1)
                new = self.trade(seen).float()
                gain = gain + new[:, 0] * change[:, t] + new[:, 1] * change2[:, t]
                gain = gain - self.cost * ((new - held).abs() * torch.stack([price[:, t], wild[:, t]], 1)).sum(1)
                held = new
            short = (price[:, -1] - 1).clamp(min=0) - gain
            return Result(self.limit + F.relu(short - self.limit).mean() / self.worst)
    return Net(), lambda b: torch.zeros(b, 128), "own"


NETWORKS = {f.__name__: f for f in (atoms_from_noise, backbone_frames, shape_codes, view_to_scene, deformed_queries,
                                    taught_crops, next_scales, lifted_views, planned_latents, hedged_options)}
STEPS = {"atoms_from_noise": ("fp32", 64, "nchw", "adamw"), "backbone_frames": ("tf32", 16, "nchw", "adam"),
         "shape_codes": ("fp32", 16, "nchw", "adam"), "view_to_scene": ("amp-bf16", 8, "nchw", "adamw"),
         "deformed_queries": ("amp-fp16", 4, "nchw", "adamw"), "taught_crops": ("amp-fp16", 32, "nchw", "adamw"),
         "next_scales": ("amp-bf16", 16, "nchw", "adamw"), "lifted_views": ("tf32", 4, "nhwc", "adam"),
         "planned_latents": ("fp32", 256, "nchw", "adam"), "hedged_options": ("fp32", 64, "nchw", "adam")}
