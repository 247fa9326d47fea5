# SPDX-License-Identifier: Apache-2.0
"""timers.py - device time of prepared calls: the kernels' own durations (CUPTI), or the clock on the wall."""
import collections
import statistics
import time

import torch

from .call import before_of

Measured = collections.namedtuple("Measured", "seconds kernels")


class SessionLost(RuntimeError):
    """The profiler did not hand back what was launched; the calls of the session have no times."""


class WallTimer:
    """Median time of a call between two waits; one kernel each, as nothing better is known."""

    def __init__(self, backend):
        self.backend = backend

    def heat(self, seconds):
        pass

    def measure(self, items):
        """items have .run, .repeats and .dtype; returns Measured or an exception for each."""
        return [self._one(item) for item in items]

    def _one(self, item):
        try:
            return Measured(statistics.median(self._sample(item) for _ in range(item.repeats)), 1)
        except Exception as error:  # a call that fails is reported, whatever it raised
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
    """Whether a raw event is work of the device: a kernel, a copy, a fill (older releases list nothing else there)."""
    if "CPU" in str(event.device_type()):
        return False
    kind = event.activity_type() if hasattr(event, "activity_type") else None
    return kind not in NO_WORK


def _times(event):
    if hasattr(event, "start_ns"):
        return event.start_ns(), event.duration_ns() * 1e-9
    return event.start_us() * 1000, event.duration_us() * 1e-6


class Session:
    """Raw device events of a stretch of work, in the order they ran: (name, seconds)."""

    def __enter__(self):
        self.profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
        self.profiler.start()
        # Events as Python objects, tree and averages take seconds and nobody reads them.
        self.profiler.profiler._parse_kineto_results = lambda *_, **__: []
        return self

    def __exit__(self, *_):
        torch.cuda.synchronize()
        self.profiler.stop()
        raw = self.profiler.profiler.kineto_results.events()
        found = [(*_times(event), event.name()) for event in raw if _of_device(event)]
        found.sort(key=lambda row: row[0])
        self.events = [(name, seconds) for _, seconds, name in found]
        self.profiler = None


class KernelTimer:
    """The sum of the kernels' durations of a call. Calls are told apart by a marker kernel before each."""

    HEAT_FIRST_S, HEAT_EVERY_S, HEAT_FOR_S = 0.2, 0.25, 0.06  # a training step keeps the device near its power limit
    SIDE = 8192

    def __init__(self, backend):
        self.flag = torch.ones(1, dtype=torch.int16, device="cuda")  # no call of a network fills int16
        left = torch.randn(self.SIDE, self.SIDE, device="cuda").to(torch.bfloat16)
        self.hot, self.backend, self.heated = (left, left.flip(0), torch.empty_like(left)), backend, 0.0
        self.heat_s, self.labels = self._heat_once(), []
        self.marker = self._marker_name()

    def _heat_once(self):
        for count in (1, 10):
            begin = time.perf_counter()
            for _ in range(count):
                torch.mm(self.hot[0], self.hot[1], out=self.hot[2])
            torch.cuda.synchronize()
        return (time.perf_counter() - begin) / 10

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

    def heat(self, seconds):
        for _ in range(max(1, int(seconds / self.heat_s))):
            torch.mm(self.hot[0], self.hot[1], out=self.hot[2])
        self.heated = time.perf_counter()

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
        with Session() as session:
            self.heat(self.HEAT_FIRST_S)
            for index, item in enumerate(items):
                try:
                    self._repeat(index, item)
                except Exception as error:  # reported with the case
                    errors[index] = error
                self._mark(None)
        found = self._cut(session.events)
        return [errors.get(index) or _usual(found.get(index, [])) for index in range(len(items))]

    def _repeat(self, index, item):
        if time.perf_counter() - self.heated > self.HEAT_EVERY_S:
            self.heat(self.HEAT_FOR_S)
        self.backend.precision(item.dtype)
        before = before_of(item.run)
        before()
        item.run()  # brings the operands back into the cache
        for _ in range(item.repeats):
            before()
            self._mark(index)
            item.run()
            self._mark(None)

    def _cut(self, events):
        """Durations by call and repetition: {index: [[seconds of each kernel], ...]}."""
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


def _usual(repetitions):
    """Median over the repetitions that launched the usual number of kernels."""
    counts = collections.Counter(len(kernels) for kernels in repetitions)
    if not counts or not counts.most_common(1)[0][0]:
        return ValueError("launched no kernel")
    usual = counts.most_common(1)[0][0]
    return Measured(statistics.median(sum(kernels) for kernels in repetitions if len(kernels) == usual), usual)
