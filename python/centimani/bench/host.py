# SPDX-License-Identifier: Apache-2.0
"""host.py - host time of the thread that launches kernels: per operator of each pass, per launch, per step."""
import statistics
import time

import torch

from .calls_layers import OPTIMIZERS

LENGTH = 80  # operators in a chain: their launches fit easily into the queue
ROUNDS = 15
PROBED = 200
IMAGE, ROWS = (2, 8, 4, 4), (4, 16)


def _times(x):
    """A product with its own tensor, like gates and masks."""
    other = torch.randn(x.shape, device=x.device)
    return lambda y: y * other


# kind: (shape, function that makes one operator). Every operator of a chain has its own parameters, as in a network.
KINDS = {
    "linear": (ROWS, lambda x: torch.nn.Linear(16, 16).to(x.device)),
    "conv": (IMAGE, lambda x: torch.nn.Conv2d(8, 8, 3, padding=1, bias=False).to(x.device)),
    "norm": (ROWS, lambda x: torch.nn.LayerNorm(16).to(x.device)),
    "batch_norm": (IMAGE, lambda x: torch.nn.BatchNorm2d(8).to(x.device)),
    "elementwise": (ROWS, lambda x: torch.relu),
    "binary": (ROWS, _times),
    "view": (ROWS, lambda x: lambda y: y.view(4, 16)),
}
COMPUTING = [kind for kind in KINDS if kind != "view"]


def _rounds(backend, one):
    """Medians of the results of `one` over several rounds; the device is idle before each."""
    found = []
    for _ in range(ROUNDS + 3):
        backend.synchronize()
        found.append(one())
    return [statistics.median(column) for column in zip(*found[3:])]


def _chain(backend, kind):
    """Seconds per operator of a chain: forward with a tape, and backward into new gradients."""
    shape, make = KINDS[kind]
    x = torch.randn(shape, device=backend.device(), requires_grad=True)
    steps = [make(x) for _ in range(LENGTH)]
    parameters = [p for step in steps if isinstance(step, torch.nn.Module) for p in step.parameters()]

    def one():
        for parameter in parameters:
            parameter.grad = None
        begin, y = time.perf_counter(), x
        for step in steps:
            y = step(y)
        forward = time.perf_counter() - begin
        seed = torch.ones_like(y)
        backend.synchronize()
        begin = time.perf_counter()
        y.backward(seed)
        return forward / LENGTH, (time.perf_counter() - begin) / LENGTH
    return _rounds(backend, one)


def _update(backend, name, tensors):
    parameters = [torch.nn.Parameter(torch.randn(16, device=backend.device())) for _ in range(tensors)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    optimizer = OPTIMIZERS[name][0](parameters)

    def one():
        begin = time.perf_counter()
        optimizer.step()
        return (time.perf_counter() - begin,)
    return _rounds(backend, one)[0]


def _updates(backend, few=20, many=220):
    """By optimizer: (seconds per tensor, seconds per step)."""
    found = {}
    for name in OPTIMIZERS:
        short, long = _update(backend, name, few), _update(backend, name, many)
        each = max((long - short) / (many - few), 0.0)
        found[name] = each, max(short - few * each, 0.0)
    return found


def _launch(backend):
    """Time to launch an empty kernel without a dispatcher, if PyTorch has such a function."""
    sleep = getattr(torch.cuda, "_sleep", None) if backend.name == "cuda" else None
    if sleep is None:
        return {}

    def one():
        begin = time.perf_counter()
        for _ in range(LENGTH):
            sleep(1)
        return ((time.perf_counter() - begin) / LENGTH,)
    return {"launch": _rounds(backend, one)[0]}


def probe(backend):
    """{"probe": seconds per tiny operator}: host times of steps follow it from machine to machine and from day to day."""
    x = torch.ones(1, device=backend.device())

    def one():
        begin = time.perf_counter()
        for _ in range(PROBED):
            x.add_(1)
        return ((time.perf_counter() - begin) / PROBED,)
    return {"probe": _rounds(backend, one)[0]}


def measure(backend):
    """{what: seconds}: the medians, then the same by kind of operator and by optimizer."""
    chains, updates = {kind: _chain(backend, kind) for kind in KINDS}, _updates(backend)
    times = {"forward-op": statistics.median(chains[kind][0] for kind in COMPUTING),
             "backward-op": statistics.median(chains[kind][1] for kind in COMPUTING),
             "update-op": updates["adamw"][0], "step": updates["adamw"][1], **_launch(backend)}
    for index, what in enumerate(("forward-op", "backward-op")):
        times.update({f"{what}:{kind}": both[index] for kind, both in chains.items()})
    for index, what in enumerate(("update-op", "step")):
        times.update({f"{what}:{name}": both[index] for name, both in updates.items()})
    return {what: seconds for what, seconds in times.items() if seconds > 0}
