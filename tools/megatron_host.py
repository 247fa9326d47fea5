#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""megatron_host.py - measure the host time of a Megatron-LM layer: its operators, views, autograd functions and modules
in PyTorch on the CPU, with tensors so small that their computation takes no time.

    tools/megatron_host.py [--layers N] [--repeat N]

Prints microseconds of a layer: forward, forward and backward, with recomputation, and with the hooks that add gradients
to their buffer; of a micro-batch's masks, positions and embedding; and of the call of an all-reduce. Each value is the
10th percentile of the repetitions, to exclude other load. The time of the CPU's own kernels is about the time that a
CUDA kernel launch would take.
"""
import argparse
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

HIDDEN, TOKENS, SAMPLES, HEADS, WORDS, RATE = 32, 4, 1, 4, 64, 0.1


class Region(torch.autograd.Function):
    """The boundary at which a layer's tensors change between full and sharded; the collective is timed separately."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class FusedNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        x = x.contiguous()
        y, mean, spread = torch.native_layer_norm(x, (HIDDEN,), weight.contiguous(), bias.contiguous(), 1e-5)
        ctx.save_for_backward(x, weight, bias, mean, spread)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, weight, bias, mean, spread = ctx.saved_tensors
        return torch.ops.aten.native_layer_norm_backward(gradient.contiguous(), x, (HIDDEN,), mean, spread, weight,
                                                         bias, [True] * 3)


class FusedSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        kept = torch.tensor([scale])
        y = torch.softmax(x, -1)
        ctx.save_for_backward(y, kept)
        return y

    @staticmethod
    def backward(ctx, gradient):
        y, _ = ctx.saved_tensors
        return torch._softmax_backward_data(gradient, y, -1, y.dtype), None


@torch.jit.script
def bias_gelu(bias, x):
    return F.gelu(x + bias)


@torch.jit.script
def bias_gelu_back(gradient, x):
    return gradient * x


@torch.jit.script
def bias_dropout_add(x, bias, residual, rate: float):
    return residual + F.dropout(x + bias, rate, True)


class FusedGelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias):
        ctx.save_for_backward(x, bias)
        return bias_gelu(bias, x)

    @staticmethod
    def backward(ctx, gradient):
        x, _ = ctx.saved_tensors
        of_x = bias_gelu_back(gradient, x)
        return of_x, of_x.sum((0, 1))


class OwnRandomNumbers:
    """Dropout of sharded tensors uses a separate generator state."""

    state = torch.get_rng_state()

    def __enter__(self):
        self.before = torch.get_rng_state()
        torch.set_rng_state(OwnRandomNumbers.state)

    def __exit__(self, *_):
        OwnRandomNumbers.state = torch.get_rng_state()
        torch.set_rng_state(self.before)


class Linear(nn.Module):
    def __init__(self, inputs, outputs, columns):
        super().__init__()
        self.columns = columns
        self.weight = nn.Parameter(torch.randn(outputs, inputs) * 0.1)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x, add_bias=False):
        if self.columns:
            return F.linear(Region.apply(x), self.weight, self.bias if add_bias else None), self.bias
        return Region.apply(F.linear(x, self.weight)), self.bias


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(HIDDEN)), nn.Parameter(torch.zeros(HIDDEN))

    def forward(self, x):
        return FusedNorm.apply(x, self.weight, self.bias)


class CoreAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(RATE)

    def forward(self, q, k, v):
        tokens, samples, heads, width = q.size()
        q, k = q.view(tokens, samples * heads, width), k.view(tokens, samples * heads, width)
        scores = torch.empty(samples * heads, tokens, tokens)
        scores = torch.baddbmm(scores, q.transpose(0, 1), k.transpose(0, 1).transpose(1, 2), beta=0.0, alpha=0.35)
        probabilities = FusedSoftmax.apply(scores.view(samples, heads, tokens, tokens), 1.0)
        with OwnRandomNumbers():
            probabilities = self.dropout(probabilities)
        v = v.view(tokens, samples * heads, width)
        context = torch.bmm(probabilities.view(samples * heads, tokens, tokens), v.transpose(0, 1))
        context = context.view(samples, heads, tokens, width).permute(2, 0, 1, 3).contiguous()
        return context.view(tokens, samples, HIDDEN)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.core = Linear(HIDDEN, 3 * HIDDEN, True), CoreAttention()
        self.out = Linear(HIDDEN, HIDDEN, False)

    def forward(self, x):
        mixed, _ = self.qkv(x, add_bias=True)
        mixed = mixed.view(TOKENS, SAMPLES, HEADS, 3 * HIDDEN // HEADS)
        return self.out(self.core(*torch.split(mixed, HIDDEN // HEADS, dim=-1)))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = Linear(HIDDEN, 4 * HIDDEN, True), Linear(4 * HIDDEN, HIDDEN, False)

    def forward(self, x):
        return self.down(FusedGelu.apply(*self.up(x)))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.attention, self.second, self.feed_forward = Norm(), Attention(), Norm(), FeedForward()

    def forward(self, x):
        y, bias = self.attention(self.first(x))
        y = bias_dropout_add(y, bias.expand_as(x), x, RATE)
        z, bias = self.feed_forward(self.second(y))
        return bias_dropout_add(z, bias.expand_as(y), y, RATE)


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.dropout = nn.Embedding(WORDS, HIDDEN), nn.Embedding(TOKENS, HIDDEN), nn.Dropout(RATE)

    def forward(self, text):
        tokens, labels = text[:, :-1].contiguous(), text[:, 1:].contiguous()
        mask = torch.tril(torch.ones((SAMPLES, TOKENS, TOKENS))).view(SAMPLES, 1, TOKENS, TOKENS) < 0.5
        weights = torch.ones(tokens.size())
        places = torch.arange(TOKENS).unsqueeze(0).expand_as(tokens)
        x = Region.apply(F.embedding(tokens, self.words.weight)) + self.places(places)
        x = x.transpose(0, 1).contiguous()
        with OwnRandomNumbers():
            x = self.dropout(x)
        return x, labels, mask, weights


def add_to_buffers(modules):
    """Add each gradient to its slot in a buffer as soon as it is computed."""
    for p in modules.parameters():
        p.buffer, p.node = torch.zeros_like(p), p.expand_as(p).grad_fn.next_functions[0][0]

        def hook(*_, p=p):
            if p.grad is not None:
                p.buffer.add_(p.grad.data)
                p.grad = None

        p.node.register_hook(hook)


def microseconds(call, repeat):
    times = []
    for _ in range(repeat + repeat // 10):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * sorted(times[repeat // 10:])[repeat // 10]


def all_reduce_time(repeat):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29533")
    torch.distributed.init_process_group("gloo", rank=0, world_size=1)
    x = torch.randn(16)
    return microseconds(lambda: torch.distributed.all_reduce(x, async_op=True), repeat)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--layers", type=int, default=8)
    options.add_argument("--repeat", type=int, default=300)
    o = options.parse_args()
    torch.set_num_threads(1)
    layers, start = nn.ModuleList(Layer() for _ in range(o.layers)), torch.randn(TOKENS, SAMPLES, HIDDEN)
    embedding, text = Embedding(), torch.randint(0, WORDS, (SAMPLES, TOKENS + 1))
    start.requires_grad_()

    def forward(again=False):
        x = start
        for layer in layers:
            x = checkpoint(layer, x) if again else layer(x)
        return x

    def print_time(what, call, per=o.layers):
        print(f"{what:42} {microseconds(call, o.repeat) / per:8.1f} us")

    print_time("layer, forward and backward", lambda: forward().sum().backward())
    print_time("layer, forward, recompute, backward", lambda: forward(True).sum().backward())
    add_to_buffers(layers)
    print_time("the same, gradients added to a buffer", lambda: forward(True).sum().backward())
    with torch.no_grad():
        print_time("layer, forward alone", forward)
    print_time("micro-batch: masks, positions, embedding", lambda: embedding(text), 1)
    print(f"{'call of an all-reduce':42} {all_reduce_time(o.repeat):8.1f} us")


if __name__ == "__main__":
    main()
