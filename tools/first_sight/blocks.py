# SPDX-License-Identifier: Apache-2.0
"""blocks.py - parts that several networks of the first-sight lists share."""
from collections import namedtuple

import torch
import torch.nn.functional as F
from torch import nn

Result = namedtuple("Result", "loss")  # the output of a network that computes its own loss


def words(b, n):
    """Token ids, or other indices, for a batch."""
    return torch.zeros(b, n, dtype=torch.int64)


class RMSNorm(nn.Module):
    """A norm by the root mean square as in Llama: computed in fp32, cast back."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * y.to(x.dtype)


def heads_first(x, heads):
    """(batch, tokens, width) as (batch, heads, tokens, width of a head)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def heads_joined(x):
    return x.transpose(1, 2).flatten(2)


class Attention(nn.Module):
    """Multi-head attention of tokens on themselves or on other tokens, with an optional mask or bias."""

    def __init__(self, width, heads, other=None, bias=True):
        super().__init__()
        self.heads, self.q = heads, nn.Linear(width, width, bias=bias)
        self.kv, self.o = nn.Linear(other or width, 2 * width, bias=bias), nn.Linear(width, width, bias=bias)

    def forward(self, x, other=None, mask=None, causal=False):
        k, v = self.kv(x if other is None else other).chunk(2, -1)
        q, k, v = (heads_first(t, self.heads) for t in (self.q(x), k, v))
        mask = mask.to(q.dtype) if mask is not None and mask.is_floating_point() else mask
        return self.o(heads_joined(F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)))


class Encoder(nn.Module):
    """A pre-norm transformer block: attention, then two dense layers."""

    def __init__(self, width, heads, inner=None, act=nn.GELU, dropout=0.0):
        super().__init__()
        inner = inner or 4 * width
        self.n1, self.n2, self.a = nn.LayerNorm(width), nn.LayerNorm(width), Attention(width, heads)
        self.f = nn.Sequential(nn.Linear(width, inner), act(), nn.Linear(inner, width))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        x = x + self.drop(self.a(self.n1(x), mask=mask))
        return x + self.drop(self.f(self.n2(x)))


class Rotary(nn.Module):
    """Rotates the two halves of each head's features by the position."""

    def __init__(self, size, seq, base=10000.0):
        super().__init__()
        angles = torch.outer(torch.arange(seq).float(), base ** (-torch.arange(size // 2).float() * 2 / size))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x):
        a, b = x.chunk(2, -1)
        return torch.cat([a * self.cos - b * self.sin, b * self.cos + a * self.sin], -1).to(x.dtype)
