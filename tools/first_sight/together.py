# SPDX-License-Identifier: Apache-2.0
"""together.py - several processes that share one GPU, of which one at a time takes times.

cuDNN builds its candidates on the host: that is nine tenths of the time a network takes. So networks are built and tuned
by several processes at once ("shared"), and only one takes the time of its steps while no other uses the GPU ("alone").
"""
import contextlib
import fcntl
import multiprocessing
import os
import tempfile


class Turns:
    """A lock that many hold to prepare and one holds to measure."""

    def __init__(self, path):
        self.file = open(path, "w")

    @contextlib.contextmanager
    def _held(self, kind):
        fcntl.flock(self.file, kind)
        try:
            yield
        finally:
            fcntl.flock(self.file, fcntl.LOCK_UN)

    def shared(self):
        return self._held(fcntl.LOCK_SH)

    def alone(self):
        return self._held(fcntl.LOCK_EX)


def appended(path, line):
    """Add a line to a file that other processes also write."""
    with open(path, "a") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        out.write(line + "\n")


def run(rows, workers, work):
    """Call work(row, turns) for every row, by that many processes. work returns False to end its process."""
    context = multiprocessing.get_context("fork")
    position = context.Value("i", 0)
    path = os.path.join(tempfile.mkdtemp(), "lock")

    def worker():
        turns = Turns(path)
        while True:
            with position.get_lock():
                at, position.value = position.value, position.value + 1
            if at >= len(rows) or work(rows[at], turns) is False:
                os._exit(0)  # without the minutes that libraries take to clean up

    processes = [context.Process(target=worker) for _ in range(workers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
