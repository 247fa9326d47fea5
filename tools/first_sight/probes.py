# SPDX-License-Identifier: Apache-2.0
"""probes.py - networks that are collections of operators, each with inputs of its own: a census of operators.

`probe:NAME-PRECISION` is one step over the operators of a set. measure.py records the time of each operator apart, by the
name of its part, and operators.py prints it beside the predicted one. Sizes do not depend on the batch size, which is that
of a first input that nobody reads. Nothing here is meant to be trained.

A set is a list of entries (words, operator, inputs...): the operator is a function or a module, an input is a shape of
random numbers with a gradient, or one of probe_kinds.py.
"""
import torch
from torch import nn

import probes_layers
import probes_places
import probes_values
from probe_kinds import Chosen, Index

BATCH = 2  # of the first input; other inputs have other leading sizes, or they would be taken for samples, too


def tensor_of(kind):
    if isinstance(kind, Index):
        return torch.randint(kind[0], kind[1:])
    if isinstance(kind, Chosen):
        return torch.randint(2, kind) > 0
    return torch.zeros(kind)


class Function(nn.Module):
    """An operator that has no parameters."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def numbers_of(y):
    """The first tensor of a result, as real numbers."""
    while isinstance(y, (tuple, list)):
        y = y[0]
    return torch.view_as_real(y) if y.is_complex() else y


class Part(nn.Module):
    """A layer, a number that makes its inputs part of the gradient's path, and which inputs have a gradient."""

    def __init__(self, layer, kinds):
        super().__init__()
        self.layer, self.scale = layer, nn.Parameter(torch.ones(1))
        self.differs = [type(kind) is tuple for kind in kinds]

    def forward(self, *inputs):
        y = numbers_of(self.layer(*(x * self.scale if differs else x for x, differs in zip(inputs, self.differs))))
        if not y.requires_grad:  # indices
            y = y * self.scale
        return (y * y.detach()).mean().float()  # one gradient: y * y would add two


class Probes(nn.Module):
    def __init__(self, entries):
        super().__init__()
        self.parts, self.failed = nn.ModuleDict(), set()
        for words, operator, *kinds in entries:
            layer = operator if isinstance(operator, nn.Module) else Function(operator)
            self.parts[labelled(words, kinds)] = Part(layer, kinds)

    def parted(self, inputs):
        """Each part's name, the part and its inputs."""
        place = 0
        for name, part in self.parts.items():
            yield name, part, inputs[place:place + len(part.differs)]
            place += len(part.differs)

    def try_parts(self, autocast, inputs):
        """Leaves out the parts that a device cannot run in its type."""
        for name, part, own in self.parted(inputs[1:]):
            try:
                with autocast():
                    result = part(*own)
                result.backward()
            except (RuntimeError, ValueError) as error:
                print("part left out:", name, str(error).partition("\n")[0], flush=True)
                self.failed.add(name)
        self.zero_grad(set_to_none=True)

    def forward(self, first, *inputs):
        return torch.stack([first.new_zeros((), dtype=torch.float32) if name in self.failed else part(*own)
                            for name, part, own in self.parted(inputs)])[None]


def labelled(words, kinds):
    """A name without dots, which module names cannot have."""
    return " ".join([words.replace(".", "_"), *("x".join(map(str, kind)) for kind in kinds)])


def network(name):
    """The module, the inputs and the loss of NAME-PRECISION."""
    entries = SETS[name.rpartition("-")[0]]()
    kinds = [kind for entry in entries for kind in entry[2:]]
    return Probes(entries), lambda b: (torch.zeros(b, 8), *map(tensor_of, kinds)), "mse"


def steps():
    """Precision, batch size, layout and optimizer of each probe."""
    full = {"amp": "amp-bf16"}
    return {f"{name}-{p}": (full.get(p, p), BATCH, "nchw", optimizer)
            for module in MODULES for name, (precisions, optimizer) in module.STEPS.items() for p in precisions.split()}


MODULES = (probes_values, probes_places, probes_layers)
SETS = {name: make for module in MODULES for name, make in module.SETS.items()}
STEPS = steps()
