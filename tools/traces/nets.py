# SPDX-License-Identifier: Apache-2.0
"""nets.py - networks in plain PyTorch whose training steps record.py profiles and capture.py captures.

Each function returns a module, a function of the batch size that makes the inputs, the batch size, and the loss.
"""
import torch
import torch.nn.functional as F
from torch import nn


def conv_bn(i, o, size, stride=1, relu=True):
    layers = [nn.Conv2d(i, o, size, stride, size // 2, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, nn.ReLU(inplace=True)) if relu else nn.Sequential(*layers)


class Bottleneck(nn.Module):
    def __init__(self, i, width, stride):
        super().__init__()
        o = 4 * width
        self.body = nn.Sequential(conv_bn(i, width, 1), conv_bn(width, width, 3, stride), conv_bn(width, o, 1, relu=False))
        self.skip = conv_bn(i, o, 1, stride, relu=False) if stride > 1 or i != o else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x), inplace=True)


def images(size):
    return lambda batch: torch.randn(batch, 3, size, size)


def resnet50():
    layers, i = [conv_bn(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for width, count in zip((64, 128, 256, 512), (3, 4, 6, 3)):
        for n in range(count):
            layers.append(Bottleneck(i, width, 2 if n == 0 and width > 64 else 1))
            i = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)), images(224), 128, "classes"


class Block(nn.Module):
    """A transformer layer; pre-norm, or post-norm as in BERT."""
    def __init__(self, width, heads, causal=False, after=False):
        super().__init__()
        self.heads, self.causal, self.after = heads, causal, after
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        b, s, w = x.shape
        q, k, v = (t.view(b, s, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(w, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(b, s, w))

    def feed(self, x):
        return self.down(F.gelu(self.up(x), approximate="tanh" if self.causal else "none"))

    def forward(self, x):
        if self.after:
            x = self.n1(x + self.attend(x))
            return self.n2(x + self.feed(x))
        x = x + self.attend(self.n1(x))
        return x + self.feed(self.n2(x))


class Vit(nn.Module):
    def __init__(self, layers=12, width=768, heads=12, patch=16, size=224):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.place = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, width))
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.place
        return self.head(self.norm(self.blocks(x))[:, 0])


def vit():
    return Vit(), images(224), 128, "classes"


class Language(nn.Module):
    def __init__(self, layers, width, heads, seq, vocab, causal):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, width), nn.Embedding(seq, width)
        self.blocks = nn.Sequential(*(Block(width, heads, causal, not causal) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(x)))


def words(vocab, seq):
    return lambda batch: torch.randint(0, vocab, (batch, seq))


def gpt2():
    return Language(12, 768, 12, 1024, 50257, True), words(50257, 1024), 16, "words"


def bert():
    return Language(12, 1024, 16, 512, 30522, False), words(30522, 512), 32, "words"


class Unet(nn.Module):
    def __init__(self, widths=(64, 128, 256, 512)):
        super().__init__()
        def double(i, o):
            return nn.Sequential(conv_bn(i, o, 3), conv_bn(o, o, 3))
        self.down = nn.ModuleList(double(i, o) for i, o in zip((3, *widths), widths))
        self.middle = double(widths[-1], 2 * widths[-1])
        self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in reversed(widths))
        self.up = nn.ModuleList(double(2 * w, w) for w in reversed(widths))
        self.last = nn.Conv2d(widths[0], 4, 1)

    def forward(self, x):
        kept = []
        for block in self.down:
            x = block(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = self.middle(x)
        for grow, block in zip(self.grow, self.up):
            x = block(torch.cat([kept.pop(), grow(x)], 1))
        return self.last(x)


def unet():
    return Unet(), images(256), 16, "pixels"


class Next(nn.Module):
    """A ConvNeXt block: linear layers on channels-last pixels."""
    def __init__(self, width):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 1e-6))

    def forward(self, x):
        y = self.norm(self.conv(x).permute(0, 2, 3, 1))
        return x + (self.down(F.gelu(self.up(y))) * self.scale).permute(0, 3, 1, 2)


class ChannelNorm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def convnext():
    widths, counts = (96, 192, 384, 768), (3, 3, 9, 3)
    layers = [nn.Conv2d(3, 96, 4, 4), ChannelNorm(96)]
    for n, (width, count) in enumerate(zip(widths, counts)):
        if n:
            layers += [ChannelNorm(widths[n - 1]), nn.Conv2d(widths[n - 1], width, 2, 2)]
        layers += [Next(width) for _ in range(count)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(768), nn.Linear(768, 1000)), images(224), 128, "classes"


class Recurrent(nn.Module):
    def __init__(self, width, layers, vocab):
        super().__init__()
        self.words, self.lstm = nn.Embedding(vocab, width), nn.LSTM(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, vocab)

    def forward(self, tokens):
        return self.head(self.lstm(self.words(tokens))[0])


def lstm():
    return Recurrent(1024, 2, 10000), words(10000, 128), 128, "words"


def lstm_small():
    return Recurrent(512, 2, 20000), words(20000, 96), 256, "words"


def plain():
    """A plain convolutional network of the VGG kind, whose layers the learned networks do not have."""
    layers, i = [], 3
    for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            layers.append(conv_bn(i, width, 3))
            i = width
        layers.append(nn.MaxPool2d(2))
    head = [nn.Flatten(), nn.Linear(25088, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 1000)]
    return nn.Sequential(*layers, *head), images(224), 64, "classes"


class RotaryBlock(nn.Module):
    """A layer as in Llama: RMSNorm, rotary positions, fewer heads of keys than of queries, gated linear units."""
    def __init__(self, width, heads, key_heads, hidden):
        super().__init__()
        self.size = width // heads
        self.n1, self.n2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, key_heads * self.size, bias=False) for _ in range(2))
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def turned(self, x, cos, sin):
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat([-second, first], -1) * sin

    def attend(self, x, cos, sin):
        b, s, w = x.shape
        q, k, v = (f(x).view(b, s, -1, self.size).transpose(1, 2) for f in (self.q, self.k, self.v))
        q, k = self.turned(q, cos, sin), self.turned(k, cos, sin)
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
        y = F.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, s, w))

    def forward(self, x, cos, sin):
        x = x + self.attend(self.n1(x), cos, sin)
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers, width, heads, key_heads, hidden, seq, vocab):
        super().__init__()
        self.words = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(RotaryBlock(width, heads, key_heads, hidden) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, vocab, bias=False)
        size = width // heads
        angles = torch.outer(torch.arange(seq), 1e4 ** (-torch.arange(0, size, 2) / size)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return self.head(self.norm(x))


def llama():
    return Llama(8, 2048, 32, 8, 5632, 2048, 32000), words(32000, 2048), 4, "words"


def of_torchvision(name, batch):
    """A network of torchvision."""
    import torchvision
    return getattr(torchvision.models, name)(), images(224), batch, "classes"


def mobilenet_v2():
    return of_torchvision("mobilenet_v2", 256)


def densenet121():
    return of_torchvision("densenet121", 128)


def swin_t():
    return of_torchvision("swin_t", 128)


NETWORKS = {f.__name__: f for f in (resnet50, vit, gpt2, unet, convnext, lstm, bert, lstm_small, plain, llama,
                                    mobilenet_v2, densenet121, swin_t)}


def target_of(kind, inputs, classes=1000):
    if kind == "words":
        return inputs
    if kind == "pixels":
        return torch.randint(0, 4, (inputs.shape[0], *inputs.shape[2:]))
    return torch.randint(0, classes, (inputs.shape[0],))


def loss_of(kind):
    if kind == "words":
        return lambda out, target: F.cross_entropy(out.flatten(0, 1), target.flatten())
    return F.cross_entropy


def optimizer_of(kind, parameters):
    if kind == "words":
        return torch.optim.AdamW(parameters, lr=1e-4)
    return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9)
