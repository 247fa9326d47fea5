# SPDX-License-Identifier: Apache-2.0
"""calls_lookup.py - look-ups by index and their gradients, sorting, and Fourier transforms."""
import math

import torch
from torch.nn import functional as F

from .call import Call, Cold, straight

aten = torch.ops.aten


def _accumulated(place):
    """A gradient of the whole table: zeros, to which the gradient of each look-up is added."""

    def build(s):
        def run(grad, ids):
            return place(grad.new_zeros(s.vocab, s.width), ids, grad)
        return run
    return build


LOOKUPS = {  # variant: (forward, backward)
    "": (lambda ids, table: F.embedding(ids, table),
         lambda s: lambda grad, ids: aten.embedding_dense_backward(grad, ids, s.vocab, -1, False)),
    "index": (lambda ids, table: table[ids],
              _accumulated(lambda zeros, ids, grad: zeros.index_put_((ids,), grad, accumulate=True))),
    "index:col": (lambda ids, table: table[:, ids],
                  lambda s: lambda grad, ids: aten.index_put_(grad.new_zeros(s.width, s.vocab), [None, ids], grad,
                                                              True)),
    "select": (lambda ids, table: torch.index_select(table, 0, ids),
               _accumulated(lambda zeros, ids, grad: zeros.index_add_(0, ids, grad))),
    "gather": (lambda ids, table: torch.gather(table, 0, ids),
               _accumulated(lambda zeros, ids, grad: zeros.scatter_add_(0, ids, grad))),
}


def embedding(s, case, t):
    forward, backward = LOOKUPS[case.variant]
    one_each = case.variant == "gather"  # an index for each element, not for each row
    ids = t.integers(s.vocab, s.tokens, s.width) if one_each else t.integers(s.vocab, s.tokens)
    columns = case.variant == "index:col"  # the table is [width, vocab]

    def rows(count):
        return t.normal(s.width, count) if columns else t.normal(count, s.width)
    if case.phase == "forward":
        return [ids, rows(s.vocab)], straight(forward)
    return [rows(s.tokens), ids], straight(backward(s))


def embedding_cold(s, case):
    return Cold((1,))  # the table, or the indices


def embedding_work(s, case):
    table = s.vocab * s.width if case.phase == "backward" else 0
    return s.tokens * s.width, 2 * s.tokens * s.width + table + s.tokens


def sort(s, case, t):
    if s.k > s.cols:
        raise ValueError("more are chosen than there are")
    # indices of equal numbers have no fixed order: only the values are compared
    function = (lambda x: torch.sort(x, -1)[0]) if case.variant == "sort" else (lambda x: torch.topk(x, s.k, -1)[0])
    return [t.normal(s.rows, s.cols)], straight(function)


def sort_work(s, case):
    count = s.rows * s.cols
    return count * max(1, math.ceil(math.log2(s.cols))), count + 3 * s.rows * s.k


def fft(s, case, t):
    """Normalisation is a separate call. A transform to real numbers first copies its operand, which cuFFT overwrites.
    """
    if t.dtype != torch.float32:
        raise ValueError("transforms are in fp32")
    sizes = [size for size in (s.n3, s.n2) if size > 1] + [s.n1]
    axes = list(range(1, len(sizes) + 1))
    x = t.normal(s.batch, *sizes, dtype=torch.complex64 if case.variant == "c2c" else None)
    functions = {"r2c": lambda x: aten._fft_r2c(x, axes, 0, True), "c2c": lambda x: aten._fft_c2c(x, axes, 0, True),
                 "c2r": lambda x: aten._fft_c2r(x, axes, 0, s.n1)}
    operand = aten._fft_r2c(x, axes, 0, True) if case.variant == "c2r" else x
    return [operand], straight(functions[case.variant])


def fft_work(s, case):
    points = s.batch * s.n1 * s.n2 * s.n3
    numbers = 4 if case.variant == "c2c" else 2
    return 2.5 * (numbers / 2) * points * math.log2(max(2, s.n1 * s.n2 * s.n3)), numbers * points


CALLS = {
    "embedding": Call("tokens vocab width", "forward backward", LOOKUPS, embedding, embedding_work, embedding_cold),
    "sort": Call("rows cols k", "forward", ("sort", "topk"), sort, sort_work),
    "fft": Call("batch n1 n2 n3", "forward", ("r2c", "c2r", "c2c"), fft, fft_work),
}
