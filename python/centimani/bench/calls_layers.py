# SPDX-License-Identifier: Apache-2.0
"""calls_layers.py - recurrent layers and the optimizer's update."""
import torch

from .call import Call, Cold, freshly_taped
from .cases import width_of


CELLS = {"lstm": (torch.nn.LSTM, 4), "gru": (torch.nn.GRU, 3), "rnn": (torch.nn.RNN, 1)}


class Layer:
    """A recurrent layer with its weights."""

    def __init__(self, make):
        self.make, self.module = make, make()
        self.parameters = list(self.module.parameters())
        self.size_bytes = sum(weight.numel() * weight.element_size() for weight in self.parameters)

    def another(self):
        return Layer(self.make)

    def __call__(self, x):
        return self.module(x)[0]


def rnn(s, case, t):
    if s.directions > 2:
        raise ValueError("directions are 1 or 2")

    def make():  # on the device: a copy would not have contiguous weights, which cuDNN needs
        return CELLS[case.variant][0](s.input, s.hidden, s.layers, bidirectional=s.directions == 2, device=t.device,
                                      dtype=t.dtype).train()
    operands = [t.normal(s.seq, s.batch, s.input), Layer(make)]
    if case.phase == "forward":
        return operands, lambda x, layer: (lambda: layer(x))
    operands[0].requires_grad_(True)
    operands.append(t.normal(s.seq, s.batch, s.hidden * s.directions))
    return operands, lambda x, layer, gradient: freshly_taped(lambda: layer(x), [x, *layer.parameters], gradient)


def _rnn_sums(s, case):
    """(FLOP, weights, elements of activations and gates) of a forward pass."""
    gates, flop, weights, kept = CELLS[case.variant][1], 0, 0, 0
    for level in range(s.layers):
        wide = s.input if level == 0 else s.hidden * s.directions
        of_level = s.directions * gates * s.hidden * (wide + s.hidden)
        flop += 2 * of_level * s.batch * s.seq
        weights += of_level
        kept += s.batch * s.seq * (wide + (gates + 2) * s.hidden * s.directions)
    return flop, weights, kept


def rnn_work(s, case):
    flop, weights, kept = _rnn_sums(s, case)
    passes = 1 if case.phase == "forward" else 2
    return passes * flop, passes * (weights + kept)


def rnn_cold(s, case):
    saved = _rnn_sums(s, case)[2] * width_of(case) if case.phase == "backward" else 0
    return Cold((1,), saved=saved, most=16)  # it takes a millisecond to make a layer


OPTIMIZERS = {
    "sgd": (lambda p: torch.optim.SGD(p, lr=1e-3), 0),
    "momentum": (lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9), 1),
    "adam": (lambda p: torch.optim.Adam(p, lr=1e-4), 2),
    "adamw": (lambda p: torch.optim.AdamW(p, lr=1e-4), 2),
}


WHOLE = 64  # elements


def tensor_sizes(tensors, elements):
    """Sizes as in real networks: every other one is a vector (bias, norm), the rest are matrices of which every fourth is large.

    A launch updates several tensors and lasts until the largest is done, so their order counts. Sizes are multiples of a
    kernel's vector loads, except for one tensor with the remainder.
    """
    if elements < tensors:
        raise ValueError("fewer elements than tensors")
    step = WHOLE if elements >= 8 * WHOLE * tensors else 1
    small = max(1, min(1024, elements // (8 * tensors)) // step * step)
    matrices = (tensors + 1) // 2
    weights = [(1, 2, 4, 16)[index % 4] for index in range(matrices)]
    rest = elements - small * (tensors - matrices) - step * matrices
    sizes = [step + rest * weight // sum(weights) // step * step for weight in weights]
    sizes[0] += elements - small * (tensors - matrices) - sum(sizes)
    return [size for matrix in sizes for size in (matrix, small)][:tensors]


class Update:
    """An optimizer over parameters that its copies share; each copy has its own states."""

    def __init__(self, make, parameters, size_bytes):
        self.make, self.parameters, self.size_bytes = make, parameters, size_bytes
        self.step = make(parameters).step

    def another(self):
        copy = Update(self.make, self.parameters, self.size_bytes)
        copy.step()  # the first step creates the states
        return copy


def optimizer(s, case, t):
    parameters = []
    for size in tensor_sizes(s.tensors, s.elements):
        parameter = torch.nn.Parameter(t.normal(size))
        parameter.grad = t.normal(size)
        parameters.append(parameter)
    make, states = OPTIMIZERS[case.variant]
    return [Update(make, parameters, states * s.elements * width_of(case))], lambda update: update.step


STATES_TO_MAKE = 2000  # tensors, a few microseconds each


def optimizer_cold(s, case):
    return Cold((0,), most=max(2, STATES_TO_MAKE // s.tensors))


def optimizer_work(s, case):
    return 4 * s.elements, (3 + 2 * OPTIMIZERS[case.variant][1]) * s.elements


BOTH = "forward backward"


CALLS = {
    "rnn": Call("batch seq input hidden layers directions", BOTH, CELLS, rnn, rnn_work, rnn_cold,
                checked=False),
    "optimizer": Call("tensors elements", "update", OPTIMIZERS, optimizer, optimizer_work, optimizer_cold,
                      checked=False),
}
