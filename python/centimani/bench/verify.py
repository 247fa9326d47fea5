# SPDX-License-Identifier: Apache-2.0
"""verify.py - compare a call's result with the same call in double precision on the host."""
import torch

from .cases import split_dtype

# Largest accepted |result - reference| / |reference| (Euclidean norms). A wrong kernel is off by about 1, TF32 instead
# of fp32 by 3e-4.
TOLERANCE = {"fp32": 1e-4, "tf32": 5e-3, "fp16": 1e-2, "bf16": 5e-2, "complex64": 1e-4,
             "fp8": 5e-2}
MOST_FLOP, MOST_ELEMENTS = 5e8, 3e6  # up to here a reference takes milliseconds
EVERY = 40


class Sampler:
    """Chooses the cases to check: the first case of each table that is small enough, and every 40th after it."""

    def __init__(self):
        self.seen, self.checked = {}, 0

    def wants(self, case, call, flop, elements):
        random = case.variant.partition(":")[0].endswith("dropout")  # by design
        if not call.checked or random or flop > MOST_FLOP or elements > MOST_ELEMENTS:
            return False
        table = case[:4]
        self.seen[table] = self.seen.get(table, 0) + 1
        wanted = self.seen[table] % EVERY == 1
        self.checked += wanted
        return wanted


def _double(operand):
    if not torch.is_tensor(operand):
        return operand
    host = operand.detach().cpu()
    if host.is_complex():
        return host.to(torch.complex128)
    return host.double() if host.is_floating_point() else host


def _flat(result):
    parts = result if isinstance(result, (tuple, list)) else [result]
    parts = [part.detach().cpu() for part in parts if torch.is_tensor(part)]
    return [torch.view_as_real(part.resolve_conj()).double() if part.is_complex() else part.double() for part in parts]


def error(result, operands, prepare):
    """Relative error of the worst of a call's results."""
    reference = _flat(prepare(*map(_double, operands))())
    worst = 0.0
    for ours, right in zip(_flat(result), reference):
        size = right.norm().item()
        distance = (ours - right).norm().item()
        relative = distance / size if size else distance
        worst = max(worst, relative if relative == relative else float("inf"))
    return worst


def accepted(case):
    operands, result = split_dtype(case.dtype)
    return max(TOLERANCE[name] for name in operands + [result])
