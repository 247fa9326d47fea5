# SPDX-License-Identifier: Apache-2.0
"""cases.py - one case: a network of a source, built for a batch size, and its training step.

`load` reads the networks of a list: the Python files in its folder `networks`, beside names.txt and predicted.tsv in a folder or
in an archive of evidence/, and those of the archives that its sources.txt names. NETWORKS maps a name to a function that returns a
module, a function of the batch size that makes the inputs, and the name of the loss. STEPS, where a file has it, maps a name to
the precision, the batch size, the layout and the optimizer that the network's author chose. TRANSFORMERS adds to zoo.py. No
network was predicted or run on a GPU before it was put on a list.
"""
import importlib
import pathlib
import sys
import tempfile

import torch
import torch.nn.functional as F

import generated
import layers
import zoo

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))
import evidence  # noqa: E402

WRITTEN, STEPS, LOADED = {}, {}, set()


def load(path):
    """Networks of the list in whose folder or archive the file `path` lies."""
    home = str(path).rpartition("/")[0] or "."
    if home in LOADED:
        return
    LOADED.add(home)
    folder = pathlib.Path(home)
    if evidence.archive_of(home):
        folder = pathlib.Path(tempfile.mkdtemp())
        evidence.extract(home, folder)
    sources = folder / "sources.txt"
    for name in sources.read_text().split() if sources.exists() else []:
        load(name + "/names.txt")
    sys.path.append(str(folder / "networks"))
    for file in sorted((folder / "networks").glob("*.py")):
        add(importlib.import_module(file.stem))


def add(module):
    for name, make in getattr(module, "NETWORKS", {}).items():
        if WRITTEN.setdefault(name, make) is not make:
            raise ValueError(f"two networks are named {name}: {WRITTEN[name].__module__}.py and {module.__name__}.py")
    source = "probe:" if hasattr(module, "Probes") else "written:"
    for name, step in getattr(module, "STEPS", {}).items():
        if isinstance(step[1], int):  # precision and batch size; the oldest sets have no more choices
            STEPS[source + name] = (*step, "nchw", "adam") if len(step) == 2 else step
    zoo.TRANSFORMERS.update(getattr(module, "TRANSFORMERS", {}))


OPTIMIZERS = {"momentum": lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9), "adam": lambda p: torch.optim.Adam(p, lr=1e-4),
              "adamw": lambda p: torch.optim.AdamW(p, lr=1e-4), "sgd": lambda p: torch.optim.SGD(p, lr=1e-3)}


def built(name):
    """The module, the function that makes its inputs, and the loss of "source:network"."""
    source, _, network = name.partition(":")
    if source in ("generated", "layers"):
        family, _, seed = network.rpartition("-")
        return {"generated": generated, "layers": layers}[source].network(family, seed)
    if source == "probe":
        return importlib.import_module("probes").network(network)
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
