# SPDX-License-Identifier: Apache-2.0
"""wanted.py - the calls of given networks that a profile's tables lack, most valuable first.

The library lists them for each network with a time and its error. The value of a call is its share of the network's time
times that error, per second of measuring: a library tries kernels for a convolution as long as ten products take. A
measured call also makes its neighbours more certain, so the list is asked for again every minute.
"""
import collections
import json
import math
import shlex
import sys
import time

from ..errors import CentimaniError
from ..library import answer
from .cases import BadCase, parse
from .order import Queue

AGAIN_S, SOON_S = 60.0, 15.0  # SOON_S: the first time, when costs are known
FIRST_S = 0.05  # of measuring a call, until calls of its op were measured
SIGMAS = 1.645  # on each side of a 90 % interval


def predicted(words, path):
    """The answer of `centimani predict` for a network and its options, on the device of a profile."""
    try:
        return json.loads(answer("predict", *words, "--device", path, "--missing", "--json")[0])
    except CentimaniError as error:
        raise BadCase(f"--for '{shlex.join(words)}': {error}") from None


def expected_error(found):
    """The mean |error| of a step's time, from its interval."""
    low, high = found["interval_s"]
    return math.sqrt(2 / math.pi) * math.log(high / low) / (2 * SIGMAS)


class Wanted(Queue):
    """A queue of cases (order.py); networks: a model and options of `predict` in a text each."""

    def __init__(self, networks, profile, calls, dtypes, ask=predicted):
        self.networks, self.profile, self.ask = [shlex.split(text) for text in networks], profile, ask
        self.calls, self.dtypes, self.taken, self.refused = calls, set(dtypes), set(), {}
        self.spent, self.counts = collections.Counter(), collections.Counter()
        self.renew()

    def renew(self):
        """Ask for the missing calls again, and say how large the error is expected to be now."""
        values, errors, missing = collections.Counter(), [], 0.0
        for words in self.networks:
            found = self.ask(words, self.profile.path)
            errors.append(expected_error(found))
            for call in found["missing"]:
                share = call["time_s"] / max(found["device_time_s"], 1e-12)
                values[call["call"]] += share * call["error"]
                missing += share / len(self.networks)
        ordered = sorted(values, key=lambda text: -values[text] / self._seconds(text.split()[0]))
        self.cases = collections.deque(case for text in ordered for case in self._case(text))
        self.asked_at = time.monotonic()
        self.wait_s = AGAIN_S if self.counts else SOON_S
        sys.stderr.write(f"expected error {sum(errors) / len(errors):.1%}, {max(errors):.1%} at most; "
                         f"{missing:.0%} of the time is not measured: {len(self.cases)} calls\n")

    def _seconds(self, op):
        """The mean time that a call of this op takes to measure."""
        return (FIRST_S + self.spent[op]) / (1 + self.counts[op])

    def _case(self, text):
        """The case of a call, unless it was tried before or this benchmark cannot make it."""
        try:
            case = parse(text, self.calls)
        except BadCase as bad:
            self.refused.setdefault(text, str(bad))
            return
        if case not in self.taken and set(case.dtype.replace(">", "+").split("+")) <= self.dtypes:
            yield case

    def written(self):
        """The profile was written."""
        if not self.cases or time.monotonic() - self.asked_at >= self.wait_s:
            self.renew()

    def __len__(self):
        return len(self.cases)

    def peek(self):
        return self.cases[0]

    def pop(self, seconds):
        case = self.cases.popleft()
        self.taken.add(case)
        self.spent[case.op] += seconds
        self.counts[case.op] += 1
