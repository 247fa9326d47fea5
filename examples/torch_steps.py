# SPDX-License-Identifier: Apache-2.0
"""torch_steps.py - the networks of jax_steps.py in PyTorch: python -m centimani capture examples/torch_steps.py:gpt.

Each function returns what `capture` and `bench --suite models` expect of build()."""
import torch
from torch import nn
from torch.nn import functional as F


class GPT(nn.Module):
    def __init__(self, layers, width, heads, words):
        super().__init__()
        self.heads, self.embedding = heads, nn.Embedding(words, width)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "norm1": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
            "norm2": nn.LayerNorm(width), "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width)})
            for _ in range(layers))

    def forward(self, tokens):
        x = self.embedding(tokens)
        b, s, d = x.shape
        mask = torch.ones(s, s, dtype=torch.bool, device=x.device).tril()
        for p in self.layers:
            q, k, v = (t.view(b, s, self.heads, -1).transpose(1, 2) for t in p["qkv"](p["norm1"](x)).chunk(3, -1))
            scores = (q @ k.transpose(2, 3) * (d // self.heads) ** -0.5).masked_fill(~mask, -1e9)
            x = x + p["out"]((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, s, d))
            x = x + p["down"](F.gelu(p["up"](p["norm2"](x)), approximate="tanh"))
        return x @ self.embedding.weight.t()


def gpt(layers=4, width=256, heads=4, words=1024, seq=128, batch=4):
    return dict(model=GPT(layers, width, heads, words), inputs=torch.randint(words, (batch, seq)), loss="cross-entropy",
                target=torch.randint(words, (batch, seq)), optimizer="momentum", name="gpt-torch")


class Perceptron(nn.Module):
    def __init__(self, width, layers, classes):
        super().__init__()
        self.layers = nn.Sequential(*(part for _ in range(layers) for part in (nn.Linear(width, width), nn.ReLU())))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.layers(x))


def mlp(width=512, layers=4, classes=100, batch=64):
    return dict(model=Perceptron(width, layers, classes), inputs=torch.randn(batch, width), target=torch.randint(classes, (batch,)),
                loss="cross-entropy", optimizer="adam", name="mlp-torch")


class Block(nn.Module):
    def __init__(self, before, filters, stride, norm):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(before, filters, 3, stride, 1, bias=False), norm(filters)
        self.conv2, self.norm2 = nn.Conv2d(filters, filters, 3, 1, 1, bias=False), norm(filters)
        self.short = nn.Conv2d(before, filters, 1, stride, bias=False) if stride > 1 or before != filters else nn.Identity()

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.short(x))


def resnet(width=32, image=64, classes=100, batch=4, blocks=(2, 2, 2, 2)):
    layers, before = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()], width
    for stage, count in enumerate(blocks):
        for block in range(count):
            layers.append(Block(before, width << stage, 2 if stage and not block else 1, nn.BatchNorm2d))
            before = width << stage
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))
    return dict(model=model, inputs=torch.randn(batch, 3, image, image), target=torch.randint(classes, (batch,)),
                loss="cross-entropy", optimizer="momentum", name="resnet-torch")


class UNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        def norm(filters):
            return nn.GroupNorm(8, filters)
        self.first, self.last = nn.Conv2d(3, width, 3, 1, 1), nn.Conv2d(width, 3, 3, 1, 1)
        self.down1, self.down2 = Block(width, 2 * width, 2, norm), Block(2 * width, 4 * width, 2, norm)
        self.up2, self.up1 = Block(6 * width, 2 * width, 1, norm), Block(3 * width, width, 1, norm)

    def forward(self, x):
        a = self.first(x)
        b = self.down1(a)
        c = self.down2(b)
        d = self.up2(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        return self.last(self.up1(torch.cat([F.interpolate(d, scale_factor=2), a], 1)))


def unet(width=32, image=32, batch=4):
    return dict(model=UNet(width), inputs=torch.randn(batch, 3, image, image), target=torch.randn(batch, 3, image, image),
                loss="mse", optimizer="adamw", name="unet-torch")


class Words(nn.Module):
    def __init__(self, width, words):
        super().__init__()
        self.embedding, self.cell, self.head = nn.Embedding(words, width), nn.LSTMCell(width, width), nn.Linear(width, words)

    def forward(self, tokens):
        x, states = self.embedding(tokens), []
        state = x.new_zeros(x.shape[0], x.shape[2]), x.new_zeros(x.shape[0], x.shape[2])
        for now in x.unbind(1):
            state = self.cell(now, state)
            states.append(state[0])
        return self.head(torch.stack(states, 1))


def lstm(width=128, words=500, seq=16, batch=4):
    return dict(model=Words(width, words), inputs=torch.randint(words, (batch, seq)), target=torch.randint(words, (batch, seq)),
                loss="cross-entropy", optimizer="sgd", name="lstm-torch")
