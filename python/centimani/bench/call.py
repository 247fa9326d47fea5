# SPDX-License-Identifier: Apache-2.0
"""call.py - what a row of the table of calls holds, and the helpers the rows share."""
import collections

import torch

# What of a call is cold in a training step. operands: their places; saved: bytes that its tape reads besides; held:
# bytes that its tape keeps and nobody reads; most: copies that can be made in reasonable time.
Old = collections.namedtuple("Old", "operands saved held most", defaults=((), 0, 0, 1 << 30))


def nothing_old(s, case):
    return Old()


class Call:
    """build(sizes, case, tensors) returns (operands, prepare); prepare(*operands) returns the function to be timed.

    The same prepare on double precision copies on the host gives what the result should be. `work` returns
    (FLOP, elements of all operands and results together) of the sizes. `old` returns what a step finds cold: weights
    were last touched in the pass before, saved activations long ago; only what the call before wrote is in the cache.
    """

    def __init__(self, dims, phases, variants, build, work, old=nothing_old, checked=True):
        self.dims, self.phases, self.variants = tuple(dims.split()), tuple(phases.split()), tuple(variants)
        self.build, self.work, self.old, self.checked = build, work, old, checked

    def least(self, dim):
        return 0 if dim.startswith("pad") or dim == "causal" else 1


class Sizes:
    def __init__(self, names, values):
        self.__dict__.update(zip(names, values))


def straight(function):
    """prepare of a call without a tape: the function on its operands, nothing recorded."""

    def prepare(*operands):
        def run():
            with torch.no_grad():
                return function(*operands)
        return run
    return prepare


def taped(function, wanted):
    """prepare of a backward call: record function once, then time what autograd runs for operands `wanted`.

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
    """What to time of a backward call that spoils or copies its tape: `before` records it anew, untimed."""
    tape = []

    def run():
        return torch.autograd.grad(tape.pop(), targets, gradient)

    def before():
        tape[:] = [function()]
    run.before = before
    return run


def before_of(run):
    """What has to be done, untimed, before a call can be made (again)."""
    return getattr(run, "before", None) or (lambda: None)


def recorded(function, wanted):
    """prepare of a forward call as training runs it: with a tape, so that it keeps what backward needs."""

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
    """Channels last where the variant ends in nhwc."""
    if not variant.endswith("nhwc"):
        return tensor
    return tensor.contiguous(memory_format=torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d)


def sides(area):
    """The most square height and width of an area."""
    height = int(area ** 0.5)
    while area % height:
        height -= 1
    return height, area // height
