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
HUNG_S = 150     # of a core, for one network: cuDNN has kernels that run for minutes, and the process waits busily
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
            signal.setitimer(signal.ITIMER_PROF, HUNG_S)  # nothing handles its signal, which ends the process
            if at >= len(rows) or work(rows[at], turns) is False:
                turns.pids[place] = 0
                os._exit(0)  # libraries would take minutes to clean up

    def started(place):
        process = context.Process(target=worker, args=(place,))
        process.start()
        return process

    processes = {place: started(place) for place in range(workers)}
    while processes:
        time.sleep(0.2)
        for place in [place for place, process in processes.items() if process.exitcode is not None]:
            ended = processes.pop(place)
            if ended.exitcode == -signal.SIGPROF:  # perhaps while the others stood still
                turns.tell_others(signal.SIGCONT)
                processes[place] = started(place)
