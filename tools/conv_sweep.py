#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""conv_sweep.py CASES.json -o FOLDER [--budget SECONDS] [--workers N]

Times convolutions on a CUDA device as `python -m centimani bench --cases` does, and records the names of the kernels
that ran. A line of FOLDER/conv.WORKER.jsonl is one case:

    {"case": "conv forward nhwc bf16 64,...", "seconds": 1e-4, "kernels": [["NAME", COUNT, SECONDS], ...]}

Most of the time goes into building all of cuDNN's plans for a convolution on the host, on one core. So several
processes build, and one at a time measures while the others wait. After building, the ten likeliest plans are tried
once each, which takes a few milliseconds; the tries of two processes seldom meet.
"""
import argparse
import collections
import contextlib
import fcntl
import json
import multiprocessing
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE / "python"))
NAME_LENGTH = 100  # characters of a kernel's name that are kept


class Turn:
    """Many build, or one measures. Whoever wants to measure holds the gate, so that no new build starts."""

    def __init__(self, folder):
        self.gate, self.room = open(folder / "gate", "w"), open(folder / "room", "w")

    @contextlib.contextmanager
    def held(self, alone):
        fcntl.flock(self.gate, fcntl.LOCK_EX)
        try:
            fcntl.flock(self.room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        finally:
            fcntl.flock(self.gate, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self.room, fcntl.LOCK_UN)


class Lines:
    """Takes results as a profile does, and appends them to a file."""

    def __init__(self, path, names):
        self.file, self.names = open(path, "w", encoding="utf-8"), names

    def add(self, case, seconds, kernels):
        from centimani.bench.cases import label
        found = {"case": label(case), "seconds": float(f"{seconds:.4g}"), "count": kernels,
                 "kernels": self.names.get(case, [])}
        self.file.write(json.dumps(found) + "\n")

    def write(self):
        self.file.flush()


class Kernel(float):
    """Seconds of a kernel, with its name."""
    name = ""


def named_timer(timer):
    """A kernel timer that also keeps the names of each case's kernels, in self.names."""

    class Named(timer):
        def __init__(self, backend):
            self.names, self.of_session = {}, {}
            super().__init__(backend)

        def _cut(self, events):
            marked = []
            for name, seconds in events:
                kernel = Kernel(seconds)
                kernel.name = name
                marked.append((name, kernel))
            return super()._cut(marked)

        def _counted(self, index, full, found):
            repetitions = super()._counted(index, full, found)
            if repetitions:
                self.of_session[index] = by_name(repetitions)
            return repetitions

        def _session(self, items):
            self.of_session = {}
            found = super()._session(items)
            self.names.update({item.case: self.of_session.get(index, []) for index, item in enumerate(items)})
            return found
    return Named


def by_name(repetitions):
    """[name, number, seconds] of the kernels of a repetition with the usual number of them, longest first."""
    usual = collections.Counter(map(len, repetitions)).most_common(1)[0][0]
    chosen = next(kernels for kernels in repetitions if len(kernels) == usual)
    counts, seconds = collections.Counter(), collections.Counter()
    for kernel in chosen:
        counts[kernel.name[:NAME_LENGTH]] += 1
        seconds[kernel.name[:NAME_LENGTH]] += kernel
    return [[name, counts[name], float(f"{total:.4g}")] for name, total in seconds.most_common()]


def work(number, options, deadline):
    """One process: every options.workers-th case of the file."""
    from centimani.bench import harness as measuring
    from centimani.bench.backends import BACKENDS
    from centimani.bench.calls import CALLS
    from centimani.bench.cases import read
    from centimani.bench.order import InOrder
    folder = pathlib.Path(options.o)
    backend, turn = BACKENDS[options.device], Turn(folder)
    if options.device == "cuda":
        backend.timer = named_timer(backend.timer)
    backend.start()
    measuring.GROUP_CASES, measuring.GROUP_BUILD_S = options.together, float("inf")
    measuring.GROUP_SHARE, measuring.SHARE_OF_FREE = 0.6 / options.workers, 0.5

    class Taking(measuring.Harness):
        def _prepare(self, *what):
            with turn.held(alone=False):
                return super()._prepare(*what)

        def _measure(self, group):
            with turn.held(alone=True):
                super()._measure(group)

        def _progress(self, *what):
            if number == 0:
                super()._progress(*what)

    harness = Taking(backend, None, options.longest, deadline)
    harness.profile = Lines(folder / f"conv.{number}.jsonl", getattr(harness.timer, "names", {}))
    harness.run(InOrder(read(options.cases, CALLS)[0][number::options.workers]))
    report = collections.Counter(reason[:90] for _, reason in harness.skipped + harness.failed + harness.wrong)
    print(f"worker {number}: {harness.done} reached, {dict(harness.spent)}, {dict(report)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases")
    parser.add_argument("-o", required=True)
    parser.add_argument("--budget", type=float, default=260)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--together", type=int, default=80, help="cases measured in one turn")
    parser.add_argument("--longest", type=float, default=0.008)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    deadline = time.monotonic() + options.budget
    pathlib.Path(options.o).mkdir(parents=True, exist_ok=True)
    for name in ("gate", "room"):
        (pathlib.Path(options.o) / name).touch()
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=work, args=(number, options, deadline)) for number in range(options.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(max(1.0, deadline + 20 - time.monotonic()))
        if worker.is_alive():
            worker.kill()


if __name__ == "__main__":
    main()
