# SPDX-License-Identifier: Apache-2.0
"""harness.py - run cases in groups: build and warm up, time, check a sample, store. A failing case does not stop
others."""
import collections
import contextlib
import sys
import time

import torch

from . import rotate, verify
from .calls import CALLS, TORCH_DTYPES, Tensors
from .call import Cold, Sizes, before_of
from .cases import HALVES, label, split_dtype

Ready = collections.namedtuple("Ready", "case run repeats dtype copied_bytes")

REPEAT_FOR_S, FEWEST, MOST = 0.012, 3, 20
GROUP_CASES, GROUP_BUILD_S = 300, 10.0
SHARE_OF_FREE = 0.6   # a case that needs more of the free memory is skipped
ABOUT_TIMING_S = 0.02  # timing a case in a session, after it was built
TOO_LARGE = f"needs more than {SHARE_OF_FREE:.0%} of the free memory".replace("%", " %")
GROUP_SHARE = 0.25    # of the free memory, for the operands of one group


class Wrong(ValueError):
    """The result is wrong."""


class Skipped(ValueError):
    """Too large or too slow for this device; not an error."""


class DeviceLost(RuntimeError):
    """The device does not respond any more; earlier measurements are kept."""


def work_of(case):
    """(FLOP, elements, average bytes per element of operands and result) of a case."""
    call = CALLS[case.op]
    flop, elements = call.work(Sizes(call.dims, case.sizes), case)
    operands, result = split_dtype(case.dtype)
    widths = [{"fp8": 1}.get(name, 2 if name in HALVES else 4) for name in operands + [result]]
    return flop, elements, sum(widths) / len(widths)


class Harness:
    """Measures cases into a profile until the deadline; cold: cold operands are not in the cache."""
    work_of = staticmethod(work_of)

    def __init__(self, backend, profile, longest_s, deadline=None, cold=True):
        self.cold = cold
        self.backend, self.profile, self.longest_s, self.deadline = backend, profile, longest_s, deadline
        self.device, self.timer, self.sampler = backend.device(), backend.timer(backend), verify.Sampler()
        self.spent = collections.Counter()  # seconds by activity
        self.failed, self.wrong, self.skipped, self.done, self.total, self.rates, self.said = [], [], [], 0, 0, {}, 0.0

    @contextlib.contextmanager
    def _clock(self, what):
        begin = time.monotonic()
        try:
            yield
        finally:
            self.spent[what] += time.monotonic() - begin

    def out_of_time(self):
        return self.deadline is not None and time.monotonic() > self.deadline

    def run(self, waiting):
        """Measure the cases of a queue until the deadline; returns how many were reached."""
        self.timer.wake(0.05)
        self.total, begin = len(waiting), time.monotonic()
        while waiting and not self.out_of_time():
            group, taken = self._prepare_group(waiting)
            with self._clock("timing"):
                self._measure(group)
            self.done += taken
            del group
            with self._clock("writing"):
                self.profile.write()
                waiting.written()
            self.total = self.done + len(waiting)
            self._progress(begin)
        return self.done

    def _prepare_group(self, waiting):
        """Build cases until a session is full, by their number, their memory or the time to build them."""
        self.backend.tidy()
        group, taken, used, free = [], 0, 0, self.backend.free()
        until = time.monotonic() + GROUP_BUILD_S
        while waiting and len(group) < GROUP_CASES and time.monotonic() < until and not self.out_of_time():
            case, begin = waiting.peek(), time.monotonic()
            try:
                need = self._check_size(case, free)
                if group and used + need > GROUP_SHARE * free:
                    break
                used += need
                with self._clock(f"building {case.op}"):
                    group.append(self._prepare(case, SHARE_OF_FREE * free - need))
                used += group[-1].copied_bytes
            except Exception as error:
                if group and "out of memory" in str(error):
                    self.backend.release()
                    break  # it may fit after this group is freed
                self._fail(case, error)
            waiting.pop(time.monotonic() - begin + ABOUT_TIMING_S)
            taken += 1
        return group, taken

    def _check_size(self, case, free):
        flop, elements, width = work_of(case)
        need = 2 * elements * width
        if need > SHARE_OF_FREE * free:
            raise Skipped(TOO_LARGE)
        expected = max(flop / self._rate(split_dtype(case.dtype)[0][0]), elements * width / self._bandwidth())
        if expected > self.longest_s:
            raise Skipped(f"would take longer than {self.longest_s:g} s a call (--longest)")
        return need

    def _rate(self, dtype):
        """FLOP/s of a medium matrix product in a type, to estimate which calls take too long."""
        dtype = "bf16" if dtype == "fp8" else dtype
        if dtype not in self.rates:
            side = 4096 if self.backend.queued else 384
            self.backend.precision(dtype)
            product = self.backend.product(side, dtype)
            self.rates[dtype] = 2 * side ** 3 / min(self._seconds(product) for _ in range(3))
        return self.rates[dtype]

    def _bandwidth(self):
        if None not in self.rates:
            source = torch.ones(1 << 24, device=self.device)
            self.rates[None] = 2 * 4 * source.numel() / min(self._seconds(source.clone) for _ in range(3))
        return self.rates[None]

    def _seconds(self, run):
        self.backend.synchronize()
        begin = time.perf_counter()
        result = run()
        self.backend.synchronize()
        del result
        return max(time.perf_counter() - begin, 1e-7)

    def _prepare(self, case, spare_bytes):
        """Prepare a case for timing; copies of its cold operands may take this many bytes."""
        call, first = CALLS[case.op], split_dtype(case.dtype)[0][0]
        if first not in self.backend.dtypes:
            raise ValueError(f"{first} is not measured on {self.backend.name}")
        self.backend.precision(first)
        tensors = Tensors(self.device, TORCH_DTYPES[first])
        sizes = Sizes(call.dims, case.sizes)
        operands, prepare = call.build(sizes, case, tensors)
        plan = rotate.Plan(call.cold(sizes, case) if self.cold else Cold(), operands, self.backend.cache())
        if plan.more_bytes > spare_bytes:
            raise Skipped(TOO_LARGE)
        run = prepare(*operands)
        before_of(run)()
        result = run()  # libraries choose and load their kernels now
        self.backend.synchronize()
        self._verify(case, call, result, operands, prepare)
        del result
        run = plan.runs(run, operands, prepare)
        before_of(run)()
        repeats = max(FEWEST, min(MOST, int(REPEAT_FOR_S / self._seconds(run))))
        return Ready(case, run, repeats, first, plan.more_bytes)

    def _verify(self, case, call, result, operands, prepare):
        flop, elements, _ = work_of(case)
        if not self.sampler.wants(case, call, flop, elements):
            return
        with self._clock("checking"):
            error = verify.error(result, operands, prepare)
        if not error <= verify.accepted(case):
            raise Wrong(f"relative error {error:.2g}, accepted {verify.accepted(case):g}")

    def _measure(self, group):
        if not group:
            return
        try:
            found = self.timer.measure(group)
        except RuntimeError as lost:
            raise DeviceLost(f"the device is lost between {label(group[0].case)} and {label(group[-1].case)}: "
                             f"{str(lost).splitlines()[0]}") from None
        for ready, measured in zip(group, found):
            if isinstance(measured, Exception):
                self._fail(ready.case, measured)
            else:
                self.profile.add(ready.case, measured.seconds, measured.kernels)

    def _fail(self, case, error):
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
        kept = {Wrong: self.wrong, Skipped: self.skipped}.get(type(error), self.failed)
        kept.append((label(case), first_line))
        try:
            self.backend.synchronize()
        except Exception as lost:
            raise DeviceLost(f"the device is lost after {label(case)}: {str(lost).splitlines()[0]}") from None

    def _progress(self, begin):
        now = time.monotonic()
        if now - self.said < 2 and self.done < self.total:
            return
        self.said = now
        rate = self.done / max(now - begin, 1e-9)
        left = "" if self.deadline is None else f", {max(0, self.deadline - now):.0f} s of budget left"
        sys.stderr.write(f"{self.done}/{self.total} cases, {rate:.1f} a second, about {(self.total - self.done) / rate:.0f} s "
                         f"to go{left}, {len(self.skipped)} skipped, {len(self.failed)} failed, "
                         f"{len(self.wrong)} wrong\n")
        sys.stderr.flush()
