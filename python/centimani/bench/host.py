# SPDX-License-Identifier: Apache-2.0
"""host.py - what the thread that feeds the device spends: per operator forward, backward and in the update, per launch."""
import statistics
import time

import torch

LENGTH = 100  # operators in a chain: their launches stay well below what the queue holds
ROUNDS = 15


def _linear(device):
    layer = torch.nn.Linear(16, 16).to(device)
    return torch.randn(4, 16, device=device), layer


def _conv(device):
    layer = torch.nn.Conv2d(8, 8, 3, padding=1, bias=False).to(device)
    return torch.randn(1, 8, 4, 4, device=device), layer


def _norm(device):
    layer = torch.nn.LayerNorm(16).to(device)
    return torch.randn(4, 16, device=device), layer


def _batch_norm(device):
    layer = torch.nn.BatchNorm2d(8).to(device)
    return torch.randn(2, 8, 4, 4, device=device), layer


def _elementwise(device):
    return torch.randn(64, device=device), torch.relu


def _binary(device):
    other = torch.randn(64, device=device)
    return torch.randn(64, device=device), lambda x: x + other


def _view(device):
    return torch.randn(4, 16, device=device), lambda x: x.view(4, 16)


KINDS = {"linear": _linear, "conv": _conv, "norm": _norm, "batch_norm": _batch_norm, "elementwise": _elementwise,
         "binary": _binary, "view": _view}
COMPUTING = [kind for kind in KINDS if kind != "view"]


def _chain(step, x, length):
    for _ in range(length):
        x = step(x)
    return x


def _rounds(backend, one):
    """Median of what `one` returns over rounds, the device idle before each."""
    found = []
    for _ in range(ROUNDS + 3):
        backend.synchronize()
        found.append(one())
    return statistics.median(found[3:])


def _forward(backend, kind):
    x, step = KINDS[kind](backend.device())
    x.requires_grad_(True)

    def one():
        begin = time.perf_counter()
        _chain(step, x, LENGTH)
        return (time.perf_counter() - begin) / LENGTH
    return _rounds(backend, one)


def _backward(backend, kind):
    x, step = KINDS[kind](backend.device())
    x.requires_grad_(True)

    def one():
        result = _chain(step, x, LENGTH)
        seed = torch.ones_like(result)
        backend.synchronize()
        begin = time.perf_counter()
        result.backward(seed)
        return (time.perf_counter() - begin) / LENGTH
    return _rounds(backend, one)


def _update(backend, tensors):
    device = backend.device()
    parameters = [torch.nn.Parameter(torch.randn(16, device=device)) for _ in range(tensors)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    optimizer = torch.optim.AdamW(parameters)

    def one():
        begin = time.perf_counter()
        optimizer.step()
        return time.perf_counter() - begin
    return _rounds(backend, one)


def _launch(backend):
    """Median duration of the driver's launch call, where a profiler shows it."""
    from .timers import KernelTimer, Session
    if backend.timer is not KernelTimer:
        return {}
    x = torch.randn(64, device=backend.device())
    with Session(host=True) as session:
        _chain(torch.relu, x, 4 * LENGTH)
    calls = [seconds for name, seconds in session.events if "LaunchKernel" in name]
    return {"launch": statistics.median(calls)} if calls else {}


def measure(backend):
    """{what: seconds}: the medians, then the same by kind of operator."""
    forward = {kind: _forward(backend, kind) for kind in KINDS}
    backward = {kind: _backward(backend, kind) for kind in KINDS}
    few, many = 20, 220
    short, long = _update(backend, few), _update(backend, many)
    per_tensor = max((long - short) / (many - few), 0.0)
    times = {"forward-op": statistics.median(forward[kind] for kind in COMPUTING),
             "backward-op": statistics.median(backward[kind] for kind in COMPUTING),
             "update-op": per_tensor, "step": max(short - few * per_tensor, 0.0), **_launch(backend)}
    times.update({f"forward-op:{kind}": seconds for kind, seconds in forward.items()})
    times.update({f"backward-op:{kind}": seconds for kind, seconds in backward.items()})
    return {what: seconds for what, seconds in times.items() if seconds > 0}
