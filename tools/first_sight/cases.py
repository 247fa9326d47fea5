# SPDX-License-Identifier: Apache-2.0
"""cases.py - one case: a network of a source, built for a batch size, and its training step.

The modules written*.py and practice*.py have networks as people write them; all of them are read. NETWORKS maps a name
to a function that returns a module, a function of the batch size that makes the inputs, and the name of the loss.
STEPS, where a module has it, maps a name to the precision and the batch size that the network's author chose, and in
newer modules to the layout and the optimizer. No network was predicted or run on a GPU before it was put on a list.
"""
import importlib
import pathlib

import torch
import torch.nn.functional as F

import generated
import layers
import probes
import zoo

SETS = [importlib.import_module(path.stem) for pattern in ("written*.py", "practice*.py")
        for path in sorted(pathlib.Path(__file__).parent.glob(pattern))]
WRITTEN = {}
for module in SETS:
    for name, make in module.NETWORKS.items():
        if name in WRITTEN:
            raise ValueError(f"two networks are named {name}: {WRITTEN[name].__module__}.py and {module.__name__}.py")
        WRITTEN[name] = make
STEPS = {"written:" + name: (*step, "nchw", "adam") if len(step) == 2 else step  # the older sets have no more choices
         for module in SETS for name, step in getattr(module, "STEPS", {}).items()}
STEPS.update({"probe:" + name: step for name, step in probes.STEPS.items()})
OPTIMIZERS = {"momentum": lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9), "adam": lambda p: torch.optim.Adam(p, lr=1e-4),
              "adamw": lambda p: torch.optim.AdamW(p, lr=1e-4), "sgd": lambda p: torch.optim.SGD(p, lr=1e-3)}


def built(name):
    """The module, the function that makes its inputs, and the loss of "source:network"."""
    source, _, network = name.partition(":")
    if source in ("generated", "layers"):
        family, _, seed = network.rpartition("-")
        return {"generated": generated, "layers": layers}[source].network(family, seed)
    if source == "probe":
        return probes.network(network)
    if source == "written":
        return WRITTEN[network]()
    return getattr(zoo, source)(network)


def target_of(loss, output):
    """A target as a data loader gives it, or None for a model with its own loss."""
    if loss == "own":
        return None
    if loss in ("mse", "bce"):
        return torch.zeros(output, dtype=torch.float32)
    classes = 1 if len(output) in (2, 4, 5) or loss == "channels" else -1
    shape = [n for i, n in enumerate(output) if i != classes % len(output)]
    return torch.zeros(shape, dtype=torch.int64)


def loss_function(loss):
    """The loss as people write it, a function of output and target."""
    if loss == "own":
        return lambda output: output.loss
    if loss == "mse":
        return F.mse_loss
    if loss == "bce":
        return F.binary_cross_entropy_with_logits
    return classified


def main_output(output):
    """The tensor of the loss: the first of a tuple with auxiliary classifiers, or the one named "out"."""
    if isinstance(output, dict) and "out" in output:
        return output["out"]
    return output[0] if isinstance(output, tuple) else output


def classified(output, target):
    output = main_output(output)
    if output.dim() == 3 and target.shape == output.shape[:2]:
        return F.cross_entropy(output.flatten(0, 1), target.flatten())
    return F.cross_entropy(output, target)


def as_arguments(inputs):
    """Positional and keyword arguments."""
    if isinstance(inputs, dict):
        return (), inputs
    return (inputs if isinstance(inputs, tuple) else (inputs,)), {}


def shape_of(model, inputs):
    """Shape of the output: without computing it, unless the model looks at values."""
    arguments, keywords = as_arguments(inputs)
    from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
            output = model(*arguments, **keywords)
    except DataDependentOutputException:
        with torch.no_grad():
            output = model(*arguments, **keywords)
    output = main_output(output)
    return tuple(output.shape) if isinstance(output, torch.Tensor) else None


def default_loss(loss, shape):
    """U-Nets have one output for a mask and several for classes."""
    return loss or ("bce" if shape[1] == 1 else "channels")
