# SPDX-License-Identifier: Apache-2.0
"""rotate.py - cold operands, as in a training step: run the same call over several copies of its cold operands."""
import torch

CACHE_BYTES = 64 << 20  # at least the last-level cache of most devices; Backend.cache has the real size if it is known
MOST_COPIES = 64


def size_of(operand):
    """Bytes of a tensor, or of an object that reports its own size."""
    return operand.numel() * operand.element_size() if torch.is_tensor(operand) else operand.size_bytes


def copy_of(operand):
    """A copy with the same values and strides, gaps included; other objects copy themselves."""
    if not torch.is_tensor(operand):
        return operand.another()
    return torch.empty_strided(operand.size(), operand.stride(), dtype=operand.dtype,
                               device=operand.device).copy_(operand.detach())


def copies(cold_bytes, cache_bytes=CACHE_BYTES, most=MOST_COPIES):
    """The number of copies of cold operands that is twice the cache; one if one copy exceeds it, or nothing is cold."""
    if not 0 < cold_bytes <= cache_bytes:
        return 1
    return min(most, max(2, -(-2 * cache_bytes // cold_bytes)))


class Plan:
    """The copies that a case rotates over: their number, and the bytes of those after the first."""

    def __init__(self, cold, operands, cache_bytes):
        self.operands = cold.operands
        each = cold.saved + sum(size_of(operands[index]) for index in cold.operands)
        self.count = copies(each, cache_bytes, min(MOST_COPIES, cold.most))
        self.more_bytes = (self.count - 1) * (each + cold.unread)

    def runs(self, run, operands, prepare):
        """The existing run and one for each further copy, to be called in turn."""
        runs = [run]
        for _ in range(self.count - 1):
            changed = {index: copy_of(operands[index]) for index in self.operands}
            runs.append(prepare(*(changed.get(index, operand) for index, operand in enumerate(operands))))
        return Turns(runs) if len(runs) > 1 else run


class Turns:
    """Runs called in rotation.

    A run that needs a new tape records it right after it was called, a whole round before the next call: then the
    tape is as cold as the operands.
    """

    def __init__(self, runs):
        self.all_runs, self.turn = runs, 0
        if hasattr(runs[0], "before"):
            self.spent, self.before = list(runs), self._record

    def _record(self):
        while self.spent:
            self.spent.pop().before()

    def __call__(self):
        run = self.all_runs[self.turn]
        self.turn = (self.turn + 1) % len(self.all_runs)
        if hasattr(self, "spent"):
            self.spent.append(run)
        return run()
