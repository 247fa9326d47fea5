# SPDX-License-Identifier: Apache-2.0
"""rotate.py - operands as cold as a training step finds them: the same call over copies of what is old."""
import torch

CACHE_BYTES = 64 << 20  # no less than the last cache of most devices; Backend.cache knows better where it can
MOST_COPIES = 64


def size_of(operand):
    """Bytes of a tensor, or of an object that says itself how many it holds."""
    return operand.numel() * operand.element_size() if torch.is_tensor(operand) else operand.size_bytes


def copy_of(operand):
    """Another with the same values and strides, gaps included; objects know how to make one."""
    if not torch.is_tensor(operand):
        return operand.another()
    return torch.empty_strided(operand.size(), operand.stride(), dtype=operand.dtype,
                               device=operand.device).copy_(operand.detach())


def copies(old_bytes, cache_bytes=CACHE_BYTES, most=MOST_COPIES):
    """How many copies of old operands make twice the cache; one where a single one exceeds it, or nothing is old."""
    if not 0 < old_bytes <= cache_bytes:
        return 1
    return min(most, max(2, -(-2 * cache_bytes // old_bytes)))


class Plan:
    """What a case rotates: how many copies, and the bytes of those after the first."""

    def __init__(self, old, operands, cache_bytes):
        self.operands = old.operands
        each = old.saved + sum(size_of(operands[index]) for index in old.operands)
        self.count = copies(each, cache_bytes, min(MOST_COPIES, old.most))
        self.more_bytes = (self.count - 1) * (each + old.held)

    def runs(self, run, operands, prepare):
        """The run that there is and one for each further copy, to be called in turn."""
        runs = [run]
        for _ in range(self.count - 1):
            changed = {index: copy_of(operands[index]) for index in self.operands}
            runs.append(prepare(*(changed.get(index, operand) for index, operand in enumerate(operands))))
        return Turns(runs) if len(runs) > 1 else run


class Turns:
    """Runs called one after the other, round and round.

    A run whose tape has to be recorded anew is recorded right after it was called, a whole round before it is called
    again: its tape is as old then as its operands.
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
