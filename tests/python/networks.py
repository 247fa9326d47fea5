# SPDX-License-Identifier: Apache-2.0
"""networks.py - networks as their libraries implement them, using PyTorch only: for test_one_answer.py.

The transformers follow Hugging Face transformers: norms upcast to fp32 and cast back to the type of their input,
rotary angles are computed in fp32 and cast to the type of the hidden states, attention is
scaled_dot_product_attention.
"""
import torch
from torch import nn
from torch.nn import functional as F

if not hasattr(F, "scaled_dot_product_attention"):  # before PyTorch 2.0; only the call is recorded, not its body
    def _attend(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, enable_gqa=False):
        return torch.softmax(query @ key.transpose(-1, -2), -1) @ value

    F.scaled_dot_product_attention = _attend


def heads_of(x, count):
    return x.view(x.shape[0], x.shape[1], count, -1).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


# ---- Llama, Qwen2 ------------------------------------------------------------------------------------------------


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        given = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * x.to(given)


class Rotary(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / (10000 ** (torch.arange(0, width, 2).float() / width)))

    def forward(self, x):
        positions = torch.arange(x.shape[1], device=x.device).unsqueeze(0)
        inverse = self.inv_freq[None, :, None].float()
        angles = (inverse @ positions[:, None, :].float()).transpose(1, 2)
        both = torch.cat((angles, angles), -1)
        return both.cos().to(x.dtype).unsqueeze(1), both.sin().to(x.dtype).unsqueeze(1)


def rotate_half(x):
    low, high = x[..., :x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
    return torch.cat((-high, low), -1)


def rotate(x, cos, sin):
    return x * cos + rotate_half(x) * sin


class LlamaLayer(nn.Module):
    def __init__(self, hidden, heads, kv, ffn):
        super().__init__()
        d = hidden // heads
        self.heads, self.kv = heads, kv
        self.q, self.o = nn.Linear(hidden, hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
        self.k, self.v = nn.Linear(hidden, kv * d, bias=False), nn.Linear(hidden, kv * d, bias=False)
        self.gate, self.up = nn.Linear(hidden, ffn, bias=False), nn.Linear(hidden, ffn, bias=False)
        self.down, self.first, self.second = nn.Linear(ffn, hidden, bias=False), RMSNorm(hidden), RMSNorm(hidden)

    def forward(self, x, cos, sin):
        y = self.first(x)
        q, k, v = heads_of(self.q(y), self.heads), heads_of(self.k(y), self.kv), heads_of(self.v(y), self.kv)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        x = x + self.o(joined(F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.kv < self.heads)))
        y = self.second(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers, hidden, heads, kv, ffn, vocab):
        super().__init__()
        self.embed, self.rotary = nn.Embedding(vocab, hidden), Rotary(hidden // heads)
        self.layers = nn.ModuleList(LlamaLayer(hidden, heads, kv, ffn) for _ in range(layers))
        self.norm, self.head = RMSNorm(hidden), nn.Linear(hidden, vocab, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        cos, sin = self.rotary(x)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x))


# ---- GPT-NeoX ----------------------------------------------------------------------------------------------------


class NeoXLayer(nn.Module):
    def __init__(self, hidden, heads, ffn):
        super().__init__()
        self.heads, self.turned = heads, hidden // heads // 4
        self.qkv, self.dense = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, ffn), nn.Linear(ffn, hidden)
        self.first, self.second = nn.LayerNorm(hidden), nn.LayerNorm(hidden)

    def forward(self, x, cos, sin):
        q, k, v = heads_of(self.qkv(self.first(x)), self.heads).chunk(3, -1)
        n = self.turned
        q = torch.cat((rotate(q[..., :n], cos, sin), q[..., n:]), -1)
        k = torch.cat((rotate(k[..., :n], cos, sin), k[..., n:]), -1)
        y = self.dense(joined(F.scaled_dot_product_attention(q, k, v, is_causal=True)))
        return self.down(F.gelu(self.up(self.second(x)))) + y + x


class NeoX(nn.Module):
    def __init__(self, layers, hidden, heads, ffn, vocab):
        super().__init__()
        self.embed, self.rotary = nn.Embedding(vocab, hidden), Rotary(hidden // heads // 4)
        self.layers = nn.ModuleList(NeoXLayer(hidden, heads, ffn) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(hidden), nn.Linear(hidden, vocab, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        cos, sin = self.rotary(x)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x))


# ---- GPT-2 -------------------------------------------------------------------------------------------------------


class Conv1D(nn.Module):
    def __init__(self, outputs, inputs):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(inputs, outputs)), nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.shape[-1]), self.weight).view(x.shape[:-1] + (-1,))


def gelu_new(x):
    return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))))


class GPT2Layer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.hidden = heads, hidden
        self.first, self.second = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = Conv1D(3 * hidden, hidden), Conv1D(hidden, hidden)
        self.up, self.down = Conv1D(4 * hidden, hidden), Conv1D(hidden, 4 * hidden)

    def forward(self, x):
        q, k, v = (heads_of(t, self.heads) for t in self.qkv(self.first(x)).split(self.hidden, 2))
        y = self.out(joined(F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True)))
        x = F.dropout(y, 0.1) + x
        return x + F.dropout(self.down(gelu_new(self.up(self.second(x)))), 0.1)


class GPT2(nn.Module):
    def __init__(self, layers, hidden, heads, vocab, positions):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, hidden), nn.Embedding(positions, hidden)
        self.layers = nn.ModuleList(GPT2Layer(hidden, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(hidden), nn.Linear(hidden, vocab, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = F.dropout(self.tokens(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device).unsqueeze(0)), 0.1)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


# ---- ResNet ------------------------------------------------------------------------------------------------------


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.parts = nn.ModuleList([nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width),
                                    nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width),
                                    nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)])
        self.relu, self.down = nn.ReLU(inplace=True), None
        if stride > 1 or inputs != 4 * width:
            self.down = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = self.relu(self.parts[1](self.parts[0](x)))
        y = self.relu(self.parts[3](self.parts[2](y)))
        y = self.parts[5](self.parts[4](y))
        y += self.down(x) if self.down else x
        return self.relu(y)


def resnet50():
    blocks, inputs = [], 64
    for stage, count in enumerate((3, 4, 6, 3)):
        for i in range(count):
            blocks.append(Bottleneck(inputs, 64 << stage, 2 if stage and not i else 1))
            inputs = 256 << stage
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                         nn.MaxPool2d(3, 2, 1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


# ---- networks that branch ----------------------------------------------------------------------------------------


class Initialised(nn.Module):
    """Branches by buffers of one number, as quantizers do that are initialised in their first step, and counts its steps."""

    def __init__(self, ready):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.register_buffer("ready", torch.Tensor([ready]))
        self.register_buffer("steps", torch.tensor(3))

    def forward(self, x):
        self.steps += 1
        x = self.layer(x) if self.ready else torch.tanh(self.layer(x))
        return torch.relu(x) if self.steps.item() > 3 else x


class LayerDrop(nn.Module):
    """Skips layers at random, as BART, OPT, Whisper and wav2vec2 do."""

    def __init__(self, layers, probability):
        super().__init__()
        self.layers, self.probability = nn.ModuleList(nn.Linear(8, 8) for _ in range(layers)), probability

    def forward(self, x):
        for layer in self.layers:
            chance = torch.rand([])
            if self.training and chance < self.probability:
                continue
            x = layer(x)
        return x


class ChecksMask(nn.Module):
    """Compares its mask with a causal one, as nn.Transformer does."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        n = x.shape[1]
        mask = torch.full((n, n), float("-inf"), device=x.device).triu(1)
        causal = torch.triu(torch.full((n, n), float("-inf"), device=x.device), diagonal=1)
        scores = self.fc(x) @ x.transpose(1, 2)
        return scores.relu() if bool((mask == causal).all()) else scores.tanh()


class CachesTable(nn.Module):
    """Computes a table in its first forward, as BEiT does with its relative positions."""

    def __init__(self):
        super().__init__()
        self.fc, self.tables = nn.Linear(8, 8), {}

    def forward(self, x):
        if x.shape[1] not in self.tables:
            self.tables[x.shape[1]] = torch.arange(x.shape[1], device=x.device).float().cos()
        self.last = self.fc(x) * self.tables[x.shape[1]]
        return self.last


class LabelledOnly(nn.Module):
    """Takes the loss of the samples with a label, as DeBERTa does."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x, labels):
        chosen = (labels >= 0).nonzero()
        y = self.fc(x)
        y = torch.gather(y, 0, chosen.expand(chosen.shape[0], y.shape[1]))
        return {"loss": F.cross_entropy(y, torch.gather(labels, 0, chosen.view(-1))), "logits": y}


# ---- custom autograd functions -----------------------------------------------------------------------------------


def gelu_forward(x):
    return x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))


def gelu_backward(g, x):
    tanh = torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x))
    slope = 0.5 * x * ((1 - tanh * tanh) * (0.79788456 + 0.1070322243 * x * x)) + 0.5 * (1 + tanh)
    return slope * g


class GeLUFunction(torch.autograd.Function):
    """As in Bloom: nothing of forward but its input is saved."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return gelu_forward(x)

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gelu_backward(gradient, x)


class LinearFunction(torch.autograd.Function):
    """A product with a bias, and gradients for all three."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x.mm(weight.t()) + bias

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient.mm(weight), gradient.t().mm(x), gradient.sum(0)
