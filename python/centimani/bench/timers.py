# SPDX-License-Identifier: Apache-2.0
"""timers.py - device time of prepared calls: kernel durations from CUPTI, or wall-clock time."""
import collections
import itertools
import random
import statistics
import time

import torch

from .call import before_of
from .rotate import Turns

Measured = collections.namedtuple("Measured", "seconds kernels")


class SessionLost(RuntimeError):
    """The profiler lost events; the calls of the session have no times."""


class WallTimer:
    """Median time of a call between two synchronisations; counts one kernel per call, since the number is unknown."""

    def __init__(self, backend):
        self.backend = backend

    def wake(self, seconds):
        pass

    def conditions(self):
        return ""

    def measure(self, items):
        """items have .run, .repeats and .dtype; returns Measured or an exception for each."""
        return [self._one(item) for item in items]

    def _one(self, item):
        try:
            return Measured(statistics.median(self._sample(item) for _ in range(item.repeats)), 1)
        except Exception as error:  # a failing call is reported, whatever it raised
            return error

    def _sample(self, item):
        wait, count = self.backend.synchronize, 1 if hasattr(item.run, "before") else self.backend.together
        before_of(item.run)()
        wait()
        begin = time.perf_counter()
        results = [item.run() for _ in range(count)]
        wait()
        elapsed = time.perf_counter() - begin
        del results
        return elapsed / count


NO_WORK = ("gpu_user_annotation", "cuda_sync", "cuda_profiler_range", "overhead")


def _of_device(event):
    """Whether a raw event is device work: a kernel, a copy, a fill (older releases list nothing else there)."""
    if "CPU" in str(event.device_type()):
        return False
    kind = event.activity_type() if hasattr(event, "activity_type") else None
    return kind not in NO_WORK


def _times(event):
    if hasattr(event, "start_ns"):
        return event.start_ns(), event.duration_ns() * 1e-9
    return event.start_us() * 1000, event.duration_us() * 1e-6


def _uncovered(found):
    """(name, seconds) of each event, without the time in which an earlier one still runs on another stream: cuDNN runs
    recurrent layers and grouped convolutions on several streams, and a step takes as long as the device is busy."""
    last = 0
    for start, seconds, name in found:
        end = start + seconds * 1e9
        yield name, max(0.0, end - max(start, last)) * 1e-9
        last = max(last, end)


class Session:
    """Raw device events of some work, in execution order: (name, seconds)."""

    def __enter__(self):
        self.profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
        self.profiler.start()
        # Event objects, tree and averages would take seconds, and nobody reads them.
        self.profiler.profiler._parse_kineto_results = lambda *_, **__: []
        return self

    def __exit__(self, *_):
        torch.cuda.synchronize()
        self.profiler.stop()
        raw = self.profiler.profiler.kineto_results.events()
        found = [(*_times(event), event.name()) for event in raw if _of_device(event)]
        found.sort(key=lambda row: row[0])
        self.events = list(_uncovered(found))
        self.profiler = None


class Crowd:
    """Runs kernels of other kinds over little data between calls. A step seldom runs the same kernel twice in a row,
    so a call usually finds its instructions evicted and its blocks distributed differently. The data caches are not
    affected."""

    def __init__(self):
        self.rows = torch.ones(256, 1024, device="cuda")
        self.halves = self.rows.to(torch.bfloat16)
        self.square = torch.ones(1024, 1024, dtype=torch.bfloat16, device="cuda")

    def __call__(self):
        torch.softmax(self.rows, -1)
        torch.nn.functional.layer_norm(self.rows, (1024,))
        torch.cumsum(self.rows, 1)
        torch.topk(self.rows, 4)
        torch.nn.functional.gelu(self.halves)
        torch.mm(self.square, self.square)


class KernelTimer:
    """Measures how long the kernels of a call keep the device busy. A marker kernel before each call separates the calls.

    A device at its power limit lowers its clock, by a fifth and more, for the following milliseconds. Tables contain
    times at the full clock (the predictor knows a step's power and applies the slowdown). So every call is visited
    several times in a session, heavy calls among light ones, and visits at a lower clock are discarded.
    """

    VISITS, NEAR, FULL = 4, 0.02, 0.9  # FULL: the quantile of the visits' clocks that counts as full clock
    CYCLES = 100_000  # of the kernel that measures the clock

    def __init__(self, backend):
        self.backend, self.labels, self.clocks = backend, [], collections.defaultdict(list)
        self.sweep, self.crowd = None, Crowd()
        self.flag = torch.ones(1, dtype=torch.int16, device="cuda")  # no call of a network fills int16
        self.marker = self._marker_name()

    def _marker_name(self):
        with Session() as session:
            for _ in range(8):
                self._mark(None)
        names = collections.Counter(name for name, _ in session.events)
        if not names or names.most_common(1)[0][1] != 8:
            raise SystemExit("centimani bench: the profiler shows no kernels (CUPTI missing, in use, or not "
                             "permitted); without their durations nothing can be timed")
        return names.most_common(1)[0][0]

    def _mark(self, label):
        self.labels.append(label)
        self.flag.fill_(1 + len(self.labels) % 7)

    def _probe(self):
        """Run a kernel for a fixed number of clock cycles."""
        getattr(torch.cuda, "_sleep", lambda _: None)(self.CYCLES)

    def _sweep(self):
        """Read enough to evict everything from the cache: small copies may all fit into it."""
        if self.sweep is None:
            self.sweep = torch.zeros(2 * self.backend.cache(), dtype=torch.int8, device="cuda").view(torch.int32)
        self.sweep.amax()

    def wake(self, seconds):
        """Keep the device busy for about this long, so that its clock rises."""
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            self._probe()
            torch.cuda.synchronize()

    def measure(self, items):
        try:
            return self._session(items)
        except SessionLost as lost:
            if len(items) == 1:
                return [lost]
            half = len(items) // 2
            return self.measure(items[:half]) + self.measure(items[half:])

    def _session(self, items):
        self.labels, errors = [], {}
        order = _mixed(items)
        with Session() as session:
            self.wake(0.005)
            for visit, index in itertools.product(range(self.VISITS), order):
                try:
                    if index not in errors:
                        self._visit(index, visit, items[index])
                except Exception as error:  # reported with the case
                    errors[index] = error
                self._mark(None)
        found = self._cut(session.events)
        full = self._full_clocks(items, found)
        return [errors.get(index) or _usual(self._counted(index, full.get(item.dtype), found))
                for index, item in enumerate(items)]

    def _visit(self, index, visit, item):
        self.backend.precision(item.dtype)
        before = before_of(item.run)
        if isinstance(item.run, Turns):
            self._sweep()
        if item.repeats > self.VISITS:  # short enough for the cache to matter; the newly made operands are in it
            before()
            item.run()
        self._mark((index, visit, "clock"))
        self._probe()
        for _ in range(-(-item.repeats // self.VISITS)):
            self._mark(None)
            before()
            self.crowd()
            self._mark((index, visit, "call"))
            item.run()
        self._mark(None)

    def _cut(self, events):
        """Durations by label and repetition: {label: [[seconds of each kernel], ...]}."""
        found, current, position = collections.defaultdict(list), None, -1
        for name, seconds in events:
            if name != self.marker:
                if current is not None:
                    current.append(seconds)
                continue
            position += 1
            label = self.labels[position] if position < len(self.labels) else None
            current = None
            if label is not None:
                current = []
                found[label].append(current)
        if position + 1 != len(self.labels):
            raise SessionLost(f"the profiler lost kernels: {position + 1} of {len(self.labels)} markers came back")
        return found

    def _clock(self, index, visit, found):
        """Clock cycles per second during a visit, None without a probe."""
        seconds = sum(sum(kernels) for kernels in found.get((index, visit, "clock"), []))
        return self.CYCLES / seconds if seconds else None

    def _full_clocks(self, items, found):
        """By type, the clock of the fastest visits of this session."""
        clocks = collections.defaultdict(list)
        for index, visit in itertools.product(range(len(items)), range(self.VISITS)):
            clock = self._clock(index, visit, found)
            if clock:
                clocks[items[index].dtype].append(clock)
        for dtype, all_of_it in clocks.items():
            self.clocks[dtype] += all_of_it
        return {dtype: sorted(all_of_it)[int(self.FULL * (len(all_of_it) - 1))] for dtype, all_of_it in clocks.items()}

    def _counted(self, index, full, found):
        """The repetitions that count: those at about the full clock, or of the two visits nearest to it."""
        visits = [(abs((self._clock(index, visit, found) or full) / full - 1) if full else 0.0, visit)
                  for visit in range(self.VISITS)]
        near = [visit for off, visit in visits if off <= self.NEAR]
        chosen = near if len(near) >= 2 else [visit for _, visit in sorted(visits)[:2]]
        return [kernels for visit in chosen for kernels in found.get((index, visit, "call"), [])]

    def conditions(self):
        """The device's clock during the measurement, as text; empty if unknown."""
        def summary(dtype, clocks):
            tenths = statistics.quantiles(clocks, n=10)
            return f"{dtype} {statistics.median(clocks) / 1e9:.2f} ({tenths[0] / 1e9:.2f} to {tenths[-1] / 1e9:.2f})"
        texts = [summary(dtype, clocks) for dtype, clocks in sorted(self.clocks.items()) if len(clocks) > 1]
        return f"clock in GHz, 10 % to 90 %: {', '.join(texts)}" if texts else ""


def _mixed(items):
    """An order of visits that spreads long calls, which draw most power, evenly among the short ones."""
    shuffled = random.Random(len(items)).sample(range(len(items)), len(items))
    usual = statistics.median(item.repeats for item in items)
    heavy = [index for index in shuffled if items[index].repeats < usual]
    light = [index for index in shuffled if items[index].repeats >= usual]
    places = [((place + 0.5) / len(part), index) for part in (heavy, light) for place, index in enumerate(part)]
    return [index for _, index in sorted(places)]


def _usual(repetitions):
    """Median over the repetitions with the usual number of kernels."""
    counts = collections.Counter(len(kernels) for kernels in repetitions)
    if not counts or not counts.most_common(1)[0][0]:
        return ValueError("launched no kernel")
    usual = counts.most_common(1)[0][0]
    return Measured(statistics.median(sum(kernels) for kernels in repetitions if len(kernels) == usual), usual)
