# SPDX-License-Identifier: Apache-2.0
"""gpu_turns.py - several processes that share one GPU, of which one at a time takes times.

A network takes a minute of one core until it runs: cuDNN builds its candidates and torch.compile its kernels on the
host. So several processes prepare networks at once. One of them at a time measures; it stops the others meanwhile.
"""
import contextlib
import fcntl
import multiprocessing
import os
import signal
import tempfile
import time

TUNING = 4       # processes that may let cuDNN choose kernels at once: more disturb each other's choice
DRAINED_S = 0.03  # until the GPU has run what stopped processes had launched


class Turns:
    """What the processes of a run share: who may tune, who measures, and the ids of all."""

    def __init__(self, workers):
        context = multiprocessing.get_context("fork")
        self.tuners, self.pids = context.Semaphore(TUNING), context.Array("i", workers, lock=False)
        self.path = os.path.join(tempfile.mkdtemp(), "lock")
        self.alone_s = 0.0  # how long this process has stopped the others

    def tuning(self):
        return self.tuners

    def tell_others(self, what):
        for process in list(self.pids):
            if process > 0 and process != os.getpid():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, what)

    @contextlib.contextmanager
    def alone(self):
        """The other processes stand still: they would take cycles of the host and of the GPU."""
        with open(self.path, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            begin = time.perf_counter()
            self.tell_others(signal.SIGSTOP)
            time.sleep(DRAINED_S)
            try:
                yield
            finally:
                self.tell_others(signal.SIGCONT)
                self.alone_s += time.perf_counter() - begin


def appended(path, line):
    """Add a line to a file that other processes also write."""
    with open(path, "a") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        out.write(line + "\n")


def run(rows, workers, work):
    """Call work(row, turns) for every row, by that many processes. work returns False to end its process."""
    context = multiprocessing.get_context("fork")
    position, turns = context.Value("i", 0), Turns(workers)

    def worker(place):
        turns.pids[place] = os.getpid()
        while True:
            with position.get_lock():
                at, position.value = position.value, position.value + 1
            if at >= len(rows) or work(rows[at], turns) is False:
                turns.pids[place] = 0
                os._exit(0)  # libraries would take minutes to clean up

    processes = [context.Process(target=worker, args=(place,)) for place in range(workers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
