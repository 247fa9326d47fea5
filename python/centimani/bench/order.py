# SPDX-License-Identifier: Apache-2.0
"""order.py - the order of cases: as given, or such that every kind of call gets its share of the time."""
import collections


class Queue:
    refused = {}  # what cannot be measured: the reason

    def written(self):
        """The measurements so far were written."""


class InOrder(Queue):
    """The cases in the given order."""

    def __init__(self, cases):
        self.cases = collections.deque(cases)

    def __len__(self):
        return len(self.cases)

    def peek(self):
        return self.cases[0]

    def pop(self, seconds):
        """Remove the case that peek returned; it took this long."""
        self.cases.popleft()


class ByShare(Queue):
    """Each op's cases in order; next is the op with the least time relative to its share, so that none is starved."""

    def __init__(self, cases, shares):
        self.queues, self.shares, self.spent = {}, shares, collections.Counter()
        for case in cases:
            self.queues.setdefault(case.op, collections.deque()).append(case)

    def __len__(self):
        return sum(map(len, self.queues.values()))

    def _next(self):
        return min(self.queues, key=lambda op: self.spent[op] / self.shares[op])

    def peek(self):
        return self.queues[self._next()][0]

    def pop(self, seconds):
        op = self._next()
        self.spent[op] += seconds
        self.queues[op].popleft()
        if not self.queues[op]:
            del self.queues[op]
