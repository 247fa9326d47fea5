# SPDX-License-Identifier: Apache-2.0
"""host.py - how long the host takes to launch a tiny operator: what host times of steps follow from machine to machine.

Chains of one kind of operator are no measure of a step: they run from the processor's caches, in half of the time.
"""
import statistics
import time

import torch

PROBED, ROUNDS = 200, 15


def probe(backend):
    """{"probe": seconds per tiny operator}: the median of several rounds, the device idle before each."""
    x = torch.ones(1, device=backend.device())
    found = []
    for _ in range(ROUNDS + 3):
        backend.synchronize()
        begin = time.perf_counter()
        for _ in range(PROBED):
            x.add_(1)
        found.append((time.perf_counter() - begin) / PROBED)
    return {"probe": statistics.median(found[3:])}
