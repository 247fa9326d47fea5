# SPDX-License-Identifier: Apache-2.0
"""generated.py - networks drawn at random from a seed: the same seed gives the same network everywhere.

Each family is a function of a random.Random that returns a module and a function of the batch size that makes the
inputs. Widths, depths, kernels, norms and activations are drawn from what people use.
"""
import random

import torch
import torch.nn.functional as F
from torch import nn

from blocks import RMSNorm

# ---- parts -------------------------------------------------------------------------------------------------------

ACTIVATIONS = [nn.ReLU, nn.SiLU, nn.GELU, nn.LeakyReLU, nn.Hardswish, nn.Mish, nn.ELU, nn.Tanh]
CONVOLUTIONS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
TRANSPOSED = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}
BATCH_NORMS = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
INSTANCE_NORMS = {1: nn.InstanceNorm1d, 2: nn.InstanceNorm2d, 3: nn.InstanceNorm3d}
INTERPOLATIONS = {1: "linear", 2: "bilinear", 3: "trilinear"}


class ChannelNorm(nn.Module):
    """Layer norm over the channels of an image."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x.movedim(1, -1)).movedim(-1, 1)


def group_norm(width):
    return nn.GroupNorm(next(g for g in (32, 16, 8, 4, 2, 1) if width % g == 0), width)


class Style:
    """The choices that are the same in all blocks of a network."""

    def __init__(self, r, dims=2):
        self.dims = dims
        self.act = r.choice(ACTIVATIONS[:6])
        self.norm = r.choice([BATCH_NORMS[dims]] * 4 + [group_norm] * 2 + [ChannelNorm, INSTANCE_NORMS[dims]])
        self.kernel = r.choice([3, 3, 3, 5, 7])
        self.bias = r.random() < 0.3

    def conv(self, i, o, kernel=None, stride=1, groups=1):
        k = kernel or self.kernel
        return CONVOLUTIONS[self.dims](i, o, k, stride, k // 2, groups=groups, bias=self.bias)

    def unit(self, i, o, kernel=None, stride=1, groups=1):
        return nn.Sequential(self.conv(i, o, kernel, stride, groups), self.norm(o), self.act())


# ---- convolutional networks --------------------------------------------------------------------------------------


class Plain(nn.Module):
    def __init__(self, s, i, o, stride):
        super().__init__()
        self.body = s.unit(i, o, 3, stride)

    def forward(self, x):
        return self.body(x)


class Residual(nn.Module):
    """A basic, bottleneck, grouped or inverted block with a shortcut."""

    def __init__(self, s, i, o, stride, kind, ratio):
        super().__init__()
        inner = max(8, int(o * ratio) // 8 * 8)
        groups = {"grouped": max(1, inner // 16), "depthwise": inner}.get(kind, 1)
        while inner % groups:
            groups -= 1
        first = [s.unit(i, inner, 3, stride)] if kind == "basic" else \
            [s.unit(i, inner, 1), s.unit(inner, inner, None, stride, groups)]
        self.body = nn.Sequential(*first)
        self.gate = Gate(s, inner) if kind in ("grouped", "depthwise") else nn.Identity()
        self.last = nn.Sequential(s.conv(inner, o, 3 if kind == "basic" else 1), s.norm(o))
        self.skip = nn.Identity() if i == o and stride == 1 else nn.Sequential(s.conv(i, o, 1, stride), s.norm(o))
        self.act = s.act()

    def forward(self, x):
        return self.act(self.last(self.gate(self.body(x))) + self.skip(x))


class Gate(nn.Module):
    """Squeeze and excitation."""

    def __init__(self, s, width):
        super().__init__()
        self.down, self.up, self.act = s.conv(width, max(8, width // 8), 1), s.conv(max(8, width // 8), width, 1), s.act()

    def forward(self, x):
        pooled = x.mean(tuple(range(2, x.dim())), keepdim=True)
        return x * torch.sigmoid(self.up(self.act(self.down(pooled))))


class Next(nn.Module):
    """Depthwise convolution, layer norm, two dense layers, layer scale."""

    def __init__(self, s, width, kernel):
        super().__init__()
        self.depth = s.conv(width, width, kernel, groups=width)
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.act, self.scale = s.act(), nn.Parameter(torch.full((width,), 1e-6))

    def forward(self, x):
        y = self.norm(self.depth(x).movedim(1, -1))
        return x + (self.scale * self.down(self.act(self.up(y)))).movedim(-1, 1)


class Classifier(nn.Module):
    def __init__(self, stem, stages, width, classes):
        super().__init__()
        self.stem, self.stages, self.head = stem, nn.Sequential(*stages), nn.Linear(width, classes)

    def forward(self, x):
        x = self.stages(self.stem(x))
        return self.head(x.flatten(2).mean(2))


def stage(r, s, kind, i, o, depth, first):
    if kind == "next":
        return [s.norm(i), s.conv(i, o, 3, 1 if first else 2)] + [Next(s, o, s.kernel)
                                                                                         for _ in range(depth)]
    make = (lambda a, b, st: Plain(s, a, b, st)) if kind == "plain" else \
        (lambda a, b, st: Residual(s, a, b, st, kind, {"bottleneck": 0.25, "depthwise": 4}.get(kind, 1)))
    return [make(i if n == 0 else o, o, 2 if n == 0 and not first else 1) for n in range(depth)]


def cnn(r, dims=2):
    s = Style(r, dims)
    kind = r.choice(["plain", "basic", "bottleneck", "grouped", "depthwise", "next"])
    size = {1: r.choice([1024, 4096, 8000]), 2: r.choice([64, 128, 160, 192, 224, 256]), 3: r.choice([32, 48, 64])}[dims]
    base = r.choice([24, 32, 40, 48, 64, 80, 96]) // (2 if kind == "depthwise" else 1) * (4 if kind == "bottleneck" else 1)
    channels = r.choice([1, 3, 3, 3, 4])
    patch = r.choice([2, 4])
    stem = nn.Sequential(s.conv(channels, base, 7 if patch == 4 else 3, 2), s.norm(base), s.act(),
                         *([{1: nn.MaxPool1d, 2: nn.MaxPool2d, 3: nn.MaxPool3d}[dims](3, 2, 1)] if patch == 4 else []))
    widths = [base] + [base * m for m in r.choice([(1, 2, 4, 8), (1, 2, 4), (2, 4, 6, 8)])]
    stages = []
    for n, (i, o) in enumerate(zip(widths, widths[1:])):
        stages += stage(r, s, kind, i, o, r.randint(1, 4), n == 0)
    shape = (channels,) + (size,) * dims
    return Classifier(stem, stages, widths[-1], r.choice([10, 100, 1000])), lambda b: torch.zeros(b, *shape), "cross-entropy"


class UNet(nn.Module):
    def __init__(self, r, s, channels, base, levels, outputs):
        super().__init__()
        widths = [base * min(2 ** n, 8) for n in range(levels)]
        self.enc = nn.ModuleList(nn.Sequential(s.unit(i, o, 3), s.unit(o, o, 3)) for i, o in zip([channels] + widths, widths))
        self.how = r.choice(["transposed", "interpolated", "nearest"])
        self.mode = {"interpolated": INTERPOLATIONS[s.dims], "nearest": "nearest"}.get(self.how)
        steps = list(zip(widths[:0:-1], widths[-2::-1]))
        self.up = nn.ModuleList(TRANSPOSED[s.dims](i, o, 2, 2) if self.mode is None else s.conv(i, o, 3) for i, o in steps)
        self.dec = nn.ModuleList(nn.Sequential(s.unit(2 * o, o, 3), s.unit(o, o, 3)) for _, o in steps)
        self.pool = {1: nn.MaxPool1d, 2: nn.MaxPool2d, 3: nn.MaxPool3d}[s.dims](2)
        self.out = s.conv(base, outputs, 1)

    def forward(self, x):
        kept = []
        for n, block in enumerate(self.enc):
            x = block(x if n == 0 else self.pool(x))
            kept.append(x)
        kept.pop()
        for up, block in zip(self.up, self.dec):
            if self.mode:
                x = F.interpolate(x, scale_factor=2, mode=self.mode)
            x = block(torch.cat([up(x), kept.pop()], 1))
        return self.out(x)


def unet(r, dims=2):
    s = Style(r, dims)
    size = {1: r.choice([2048, 8192]), 2: r.choice([128, 192, 256]), 3: r.choice([48, 64, 96])}[dims]
    channels = r.choice([1, 2, 3, 4])
    model = UNet(r, s, channels, r.choice([16, 24, 32, 48, 64]) // (2 if dims == 3 else 1), r.randint(3, 5), r.choice([1, 1, 2, 4]))
    size = size // 16 * 16
    return model, lambda b: torch.zeros(b, channels, *(size,) * dims), None


# ---- transformers ------------------------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, r, width, heads, seq, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.groups = heads if r.random() < 0.7 else max(1, heads // 4)
        size = width // heads
        self.qkv = nn.Linear(width, width + 2 * self.groups * size, bias=r.random() < 0.5)
        self.out = nn.Linear(width, width)
        self.how = r.choice(["sdpa", "sdpa", "math", "bias"])
        if self.how == "bias":
            self.bias = nn.Parameter(torch.zeros(1, heads, seq, seq))

    def forward(self, x):
        b, n, w = x.shape
        size = w // self.heads
        q, k, v = self.qkv(x).split([w, self.groups * size, self.groups * size], -1)
        q, k, v = (t.view(b, n, -1, size).transpose(1, 2) for t in (q, k, v))
        if self.groups != self.heads:
            k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))
        if self.how == "math":
            scores = q @ k.transpose(-2, -1) * size ** -0.5
            if self.causal:
                scores = scores.masked_fill(torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1), float("-inf"))
            y = scores.softmax(-1) @ v
        elif self.how == "bias":
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias.to(q.dtype))
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(b, n, w))


class FeedForward(nn.Module):
    def __init__(self, r, width):
        super().__init__()
        inner = r.choice([2, 4, 4, 8 / 3])
        inner = int(width * inner) // 64 * 64
        self.gated, self.act = r.random() < 0.4, r.choice(ACTIVATIONS[:3])()
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.gate = nn.Linear(width, inner) if self.gated else None

    def forward(self, x):
        y = self.act(self.gate(x)) * self.up(x) if self.gated else self.act(self.up(x))
        return self.down(y)


class Block(nn.Module):
    def __init__(self, r, width, heads, seq, causal, norm, dropout):
        super().__init__()
        self.norms = nn.ModuleList(norm(width) for _ in range(2))
        self.attention, self.mlp = Attention(r, width, heads, seq, causal), FeedForward(r, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norms[0](x)))
        return x + self.dropout(self.mlp(self.norms[1](x)))


class Sequence(nn.Module):
    """Blocks over tokens: a language model, or a classifier of patches."""

    def __init__(self, blocks, width, norm, vocab=0, patches=None, seq=0, classes=0):
        super().__init__()
        self.embed = nn.Embedding(vocab, width) if vocab else patches
        self.position = nn.Parameter(torch.zeros(1, seq, width))
        self.blocks, self.norm = nn.Sequential(*blocks), norm(width)
        self.head, self.pooled = nn.Linear(width, vocab or classes, bias=False), not vocab

    def forward(self, x):
        x = self.embed(x)
        if self.pooled:
            x = x.flatten(2).transpose(1, 2)
        x = self.norm(self.blocks(x + self.position))
        return self.head(x.mean(1) if self.pooled else x)


def same_blocks(r, make, depth):
    """All blocks of a network are alike: each is drawn from the same state."""
    state = r.getstate()
    blocks = []
    for _ in range(depth):
        r.setstate(state)
        blocks.append(make())
    return blocks


def transformer(r):
    width, size = r.choice([256, 384, 512, 768, 1024]), r.choice([32, 64, 64, 128])
    heads, norm, dropout = width // size, r.choice([nn.LayerNorm, nn.LayerNorm, RMSNorm]), r.choice([0.0, 0.0, 0.1])
    seq, causal, vocab = r.choice([128, 256, 512, 1024, 2048]), r.random() < 0.6, r.choice([8192, 30522, 32000, 50257])
    blocks = same_blocks(r, lambda: Block(r, width, heads, seq, causal, norm, dropout), r.randint(2, 12))
    return Sequence(blocks, width, norm, vocab=vocab, seq=seq), lambda b: torch.zeros(b, seq, dtype=torch.int64), "cross-entropy"


def patch_transformer(r):
    width, size, patch = r.choice([192, 256, 384, 512, 768]), r.choice([32, 64]), r.choice([8, 14, 16, 32])
    image = {8: 96, 14: 224, 16: r.choice([224, 256]), 32: 384}[patch]
    seq, norm = (image // patch) ** 2, r.choice([nn.LayerNorm, nn.LayerNorm, RMSNorm])
    blocks = same_blocks(r, lambda: Block(r, width, width // size, seq, False, norm, 0.0), r.randint(2, 12))
    model = Sequence(blocks, width, norm, patches=nn.Conv2d(3, width, patch, patch), seq=seq, classes=1000)
    return model, lambda b: torch.zeros(b, 3, image, image), "cross-entropy"


# ---- recurrence, graphs, spectra, dense --------------------------------------------------------------------------


class Recurrent(nn.Module):
    def __init__(self, r):
        super().__init__()
        kind, width, both = r.choice([nn.LSTM, nn.GRU]), r.choice([128, 256, 512, 650, 1024]), r.random() < 0.4
        self.vocab = r.choice([0, 5000, 33278])
        self.features = r.choice([40, 80, 161])
        self.embed = nn.Embedding(self.vocab, width) if self.vocab else nn.Linear(self.features, width)
        self.body = kind(width, width, r.randint(1, 4), batch_first=True, dropout=r.choice([0.0, 0.2]), bidirectional=both)
        self.head = nn.Linear(width * (2 if both else 1), self.vocab or r.choice([29, 64, 500]))

    def forward(self, x):
        return self.head(self.body(self.embed(x))[0])


def recurrent(r):
    model, seq = Recurrent(r), r.choice([35, 64, 128, 200, 400])
    make = (lambda b: torch.zeros(b, seq, dtype=torch.int64)) if model.vocab else (lambda b: torch.zeros(b, seq, model.features))
    return model, make, "cross-entropy"


def dense(r, i, inner, o, act):
    return nn.Sequential(nn.Linear(i, inner), act(), nn.Linear(inner, o))


class Messages(nn.Module):
    """Message passing on graphs of the same number of nodes and edges."""

    def __init__(self, r):
        super().__init__()
        width, act = r.choice([64, 128, 256]), r.choice(ACTIVATIONS[:3])
        self.embed = nn.Linear(r.choice([9, 16, 32]), width)
        depth = r.randint(2, 6)
        self.edges = nn.ModuleList(dense(r, 2 * width, width, width, act) for _ in range(depth))
        self.nodes = nn.ModuleList(dense(r, 2 * width, width, width, act) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.head = nn.Linear(width, 1)

    def forward(self, x, source, target):
        b, n, _ = x.shape
        x = self.embed(x).reshape(b * n, -1)
        source, target = source.reshape(-1), target.reshape(-1)
        for edge, node, norm in zip(self.edges, self.nodes, self.norms):
            message = edge(torch.cat([x[source], x[target]], 1))
            total = torch.zeros_like(x).index_add_(0, target, message.to(x.dtype))
            x = norm(x + node(torch.cat([x, total], 1)))
        return self.head(x.view(b, n, -1).mean(1))


def messages(r):
    model = Messages(r)
    nodes, edges, features = r.choice([20, 30, 64, 200]), r.choice([64, 128, 400, 1200]), model.embed.in_features

    def make(b):
        return (torch.zeros(b, nodes, features), torch.zeros(b, edges, dtype=torch.int64),
                torch.zeros(b, edges, dtype=torch.int64))
    return model, make, "mse"


class Spectral(nn.Module):
    def __init__(self, width, modes, dims):
        super().__init__()
        self.modes, self.dims = modes, dims
        self.weight = nn.Parameter(torch.randn(width, width, *(modes,) * dims, dtype=torch.cfloat) / width)

    def forward(self, x):
        axes, m = tuple(range(2, 2 + self.dims)), self.modes
        y = torch.fft.rfftn(x.float(), dim=axes)
        out = torch.zeros_like(y)
        low = (slice(None), slice(None)) + (slice(0, m),) * self.dims
        out[low] = torch.einsum("bixy,ioxy->boxy" if self.dims == 2 else "bix,iox->box", y[low], self.weight)
        return torch.fft.irfftn(out, s=x.shape[2:], dim=axes)


class Operator(nn.Module):
    """Fourier neural operator."""

    def __init__(self, r, dims):
        super().__init__()
        width, modes, depth = r.choice([32, 48, 64]), r.choice([8, 12, 16]), r.randint(3, 5)
        conv = CONVOLUTIONS[dims]
        self.lift, self.act = conv(3, width, 1), r.choice([nn.GELU, nn.ReLU])()
        self.spectral = nn.ModuleList(Spectral(width, modes, dims) for _ in range(depth))
        self.local = nn.ModuleList(conv(width, width, 1) for _ in range(depth))
        self.project = nn.Sequential(conv(width, 128, 1), nn.GELU(), conv(128, 1, 1))

    def forward(self, x):
        x = self.lift(x)
        for a, b in zip(self.spectral, self.local):
            x = self.act(a(x) + b(x))
        return self.project(x)


def operator(r):
    dims = r.choice([1, 2, 2])
    size = {1: r.choice([1024, 8192]), 2: r.choice([64, 85, 128])}[dims]
    return Operator(r, dims), lambda b: torch.zeros(b, 3, *(size,) * dims), "mse"


def mlp(r):
    act, width = r.choice(ACTIVATIONS), r.choice([128, 256, 512, 1000, 2048, 4096])
    inputs, outputs = r.choice([3, 60, 784, 2048]), r.choice([1, 10, 1000])
    layers, last = [], inputs
    norm, dropout = r.choice([None, nn.BatchNorm1d, nn.LayerNorm]), r.choice([0, 0.1])
    for _ in range(r.randint(2, 10)):
        layers += [nn.Linear(last, width), act()] + ([norm(width)] if norm else []) + ([nn.Dropout(dropout)] if dropout else [])
        last = width
    return nn.Sequential(*layers, nn.Linear(last, outputs)), lambda b: torch.zeros(b, inputs), \
        "mse" if outputs == 1 else "cross-entropy"


FAMILIES = {"cnn": cnn, "cnn1d": lambda r: cnn(r, 1), "cnn3d": lambda r: cnn(r, 3), "unet": unet,
            "unet1d": lambda r: unet(r, 1), "unet3d": lambda r: unet(r, 3), "lm": transformer, "vit": patch_transformer,
            "rnn": recurrent, "graph": messages, "fno": operator, "mlp": mlp}


def network(family, seed):
    """The module, the inputs for a batch size, the loss."""
    model, inputs, loss = FAMILIES[family](random.Random(f"{family} {seed}"))
    return model, inputs, loss
