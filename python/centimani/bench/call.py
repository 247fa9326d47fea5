# SPDX-License-Identifier: Apache-2.0
"""call.py - one row of the table of calls, and helpers that the rows share."""
import collections

import torch

# The operands of a call that are not in the cache in a training step. operands: their indices; saved: further bytes
# that its tape reads; unread: bytes that its tape keeps and the call does not read; most: limit on copies.
Cold = collections.namedtuple("Cold", "operands saved unread most", defaults=((), 0, 0, 1 << 30))


def nothing_cold(s, case):
    return Cold()


class Call:
    """build(sizes, case, tensors) returns (operands, prepare); prepare(*operands) returns the function to time.

    The same prepare on double precision copies on the host gives the reference result. `work` returns (FLOP,
    elements of all operands and results together) for the sizes. `cold` returns the operands that a step finds cold:
    weights were last used in the previous pass and saved activations long ago; only the output of the previous call
    is in the cache.
    """

    def __init__(self, dims, phases, variants, build, work, cold=nothing_cold, checked=True):
        self.dims, self.phases, self.variants = tuple(dims.split()), tuple(phases.split()), tuple(variants)
        self.build, self.work, self.cold, self.checked = build, work, cold, checked

    def least(self, dim):
        return 0 if dim.startswith("pad") or dim == "causal" else 1


class Sizes:
    def __init__(self, names, values):
        self.__dict__.update(zip(names, values))


def straight(function):
    """prepare of a call without a tape: run the function on its operands, without autograd."""

    def prepare(*operands):
        def run():
            with torch.no_grad():
                return function(*operands)
        return run
    return prepare


def taped(function, wanted):
    """prepare of a backward call: run the function once with a tape, then time autograd for the operands `wanted`.

    The last operand is the gradient of the result.
    """

    def prepare(*operands):
        *inputs, gradient = operands
        for index in wanted:
            inputs[index] = inputs[index].detach().requires_grad_(True)
        with torch.enable_grad():
            result = function(*inputs)
        targets = [inputs[index] for index in wanted]
        return lambda: torch.autograd.grad(result, targets, gradient, retain_graph=True)
    return prepare


def freshly_taped(function, targets, gradient):
    """The function to time for a backward call that changes or copies its tape: `before` records it again, untimed."""
    tape = []

    def run():
        return torch.autograd.grad(tape.pop(), targets, gradient)

    def before():
        tape[:] = [function()]
    run.before = before
    return run


def before_of(run):
    """The untimed preparation that a call needs before each run."""
    return getattr(run, "before", None) or (lambda: None)


def recorded(function, wanted):
    """prepare of a forward call in training: with a tape, so that it saves the tensors that backward needs."""

    def prepare(*operands):
        inputs = list(operands)
        for index in wanted:
            inputs[index] = inputs[index].detach().requires_grad_(True)

        def run():
            with torch.enable_grad():
                return function(*inputs)
        return run
    return prepare


def either(phase, function, wanted, operands, gradient):
    """Forward or backward of one function: (operands, prepare)."""
    if phase == "forward":
        return operands, recorded(function, wanted)
    return operands + [gradient()], taped(function, wanted)


def in_layout(tensor, variant):
    """In channels-last format if the variant ends in nhwc."""
    if not variant.endswith("nhwc"):
        return tensor
    return tensor.contiguous(memory_format=torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d)


def sides(area):
    """Height and width of an area, as square as possible."""
    height = int(area ** 0.5)
    while area % height:
        height -= 1
    return height, area // height
