# SPDX-License-Identifier: Apache-2.0
"""compiled.py - time calls as a compiler's programs run them.

A step is one program, so a call is timed inside one: a loop makes the call again and again, and each result changes the
operands of the next call, so that the compiler can neither merge two calls nor move one out of the loop. A rate above the
peak of large products is refused nevertheless. The time of a loop that only changes operands is subtracted.
"""
import collections
import ctypes
import sys
import time

from . import xla_calls
from .cases import label, split_dtype

ROUNDS, FOR_S, MOST_CALLS, IN_LINE, FEW = 5, 0.01, 2000, 8, 2
M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -4, -8  # of glibc's mallopt()
ABOVE_PEAK = 2        # a product this many times as fast as the largest ones is refused: the compiler left out work
SHARE_OF_FREE = 0.3
LEAST = 0.05          # of a call's time is its own


def keep_memory():
    """Let the C library keep freed memory. Programs on CPUs allocate all their memory anew, and touching fresh pages can take
    a fifth of a step; allocators that keep memory, such as tcmalloc, are usual for training."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    for option, value in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, 2 ** 31 - 1), (M_ARENA_MAX, 1)) if mallopt else ():
        mallopt(option, value)


def operands_of(nested):
    """The number of arrays in lists of lists."""
    return sum(map(operands_of, nested)) if isinstance(nested, (list, tuple)) else 1


class Timer:
    def conditions(self):
        return ""


class Harness:
    """Measures cases into a profile until the deadline."""
    work_of = staticmethod(xla_calls.work_of)

    def __init__(self, backend, profile, longest_s, deadline=None, cold=True):
        self.backend, self.profile, self.longest_s, self.deadline = backend, profile, longest_s, deadline
        self.timer, self.sampler, self.spent = Timer(), collections.namedtuple("Sampler", "checked")(0), collections.Counter()
        self.failed, self.wrong, self.skipped, self.done, self.total, self.rates, self.loops = [], [], [], 0, 0, {}, {}

    def run(self, waiting):
        self.total, said, written = len(waiting), time.monotonic(), time.monotonic()
        while waiting and (self.deadline is None or time.monotonic() < self.deadline):
            case, begin = waiting.peek(), time.monotonic()
            self._measure(case)
            self.spent[case.op] += time.monotonic() - begin
            waiting.pop(time.monotonic() - begin)
            self.done += 1
            if time.monotonic() - written > 5 or not waiting:
                self.profile.write()
                waiting.written()
                written = time.monotonic()
            self.total = self.done + len(waiting)
            if time.monotonic() - said > 2:
                said = time.monotonic()
                sys.stderr.write(f"{self.done}/{self.total} cases, {len(self.skipped)} skipped, {len(self.failed)} failed\n")
        return self.done

    def _peak(self, dtype):
        if dtype not in self.rates:
            side = 2048 if self.backend.queued else 512
            product = self.backend.product(side, dtype)
            self.rates[dtype] = 2 * side ** 3 / min(self._seconds(product) for _ in range(ROUNDS + 1))
        return self.rates[dtype]

    def _loop(self, operands):
        """Seconds of a turn of the loop without the call."""
        if operands not in self.loops:
            self.loops[operands] = self._turn(*self.backend.empty(operands))
        return self.loops[operands]

    def _turn(self, function, operands, written_out=False):
        """Seconds of a turn of a call's loop: what more turns take beyond a few."""
        seconds = self.backend.loop(function, operands, written_out)
        most, many = IN_LINE if written_out else MOST_CALLS, FEW
        found = {FEW: self._least(seconds, FEW)}
        while many < most and found[many] < found[FEW] + FOR_S:
            many = min(most, 4 * many)
            found[many] = self._least(seconds, many)
        if found[many] <= found[FEW]:
            raise RuntimeError(f"{many} calls took no longer than {FEW}: the machine is busy with other work")
        return (found[many] - found[FEW]) / (many - FEW)

    @staticmethod
    def _least(seconds, calls):
        seconds(calls)  # compiles
        return min(seconds(calls) for _ in range(ROUNDS))

    def _seconds(self, run):
        self.backend.synchronize()
        begin = time.perf_counter()
        run()
        self.backend.synchronize()
        return time.perf_counter() - begin

    def _measure(self, case):
        try:
            flop, elements, width = xla_calls.work_of(case)
            peak = self._peak(split_dtype(case.dtype)[0][0])
            if 2 * elements * width > SHARE_OF_FREE * self.backend.free():
                return self.skipped.append((label(case), "needs more than 30 % of the free memory"))
            if flop / peak > self.longest_s:
                return self.skipped.append((label(case), f"would take longer than {self.longest_s:g} s a call (--longest)"))
            function, operands = self.backend.built(case)
            whole = self._turn(function, operands, case.op == "conv")
            seconds = max(whole - self._loop(operands_of(operands)), LEAST * whole)
            if case.op in ("gemm", "conv") and flop / seconds > ABOVE_PEAK * max(peak, self.profile_peak(case)):
                return self.wrong.append((label(case), f"{flop / seconds:.3g} FLOP/s is above the peak"))
            self.profile.add(case, seconds, 1)
        except Exception as error:  # a failing call is reported, whatever it raised
            self.failed.append((label(case), (str(error).strip() or type(error).__name__).splitlines()[0]))

    def profile_peak(self, case):
        peaks = self.profile.members.get("peak", {})
        found = [peaks.get(kind, {}).get(split_dtype(case.dtype)[0][0], {}).get("value", 0) for kind in ("matrix", "vector")]
        return max(found)
