# SPDX-License-Identifier: Apache-2.0
"""jax_backend.py - the devices of JAX, and the loop that times compiled calls on them.

Each call is compiled alone and run by itself, so that XLA cannot merge two of them; a rate above the peak of large products
is refused nevertheless. Times are wall-clock times of several runs in a row, the last result waited for, less the time
that an empty program takes: a step is one program.
"""
import collections
import os
import statistics
import sys
import time

import jax
import jax.numpy as jnp

from . import jax_calls
from .cases import label, split_dtype
from .names import processor

ROUNDS, FOR_S, MOST_RUNS = 5, 0.01, 200
ABOVE_PEAK = 2        # a product this many times as fast as the largest ones is refused: the compiler left out work
SHARE_OF_FREE = 0.3
LEAST = 0.05          # of a call's time is its own


def _memory_of_host():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class Timer:
    def conditions(self):
        return ""


class Harness:
    """Measures cases into a profile until the deadline."""
    work_of = staticmethod(jax_calls.work_of)

    def __init__(self, backend, profile, longest_s, deadline=None, cold=True):
        self.backend, self.profile, self.longest_s, self.deadline = backend, profile, longest_s, deadline
        self.timer, self.sampler, self.spent = Timer(), collections.namedtuple("Sampler", "checked")(0), collections.Counter()
        self.failed, self.wrong, self.skipped, self.done, self.total, self.rates = [], [], [], 0, 0, {}

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
            self.rates[dtype] = 2 * side ** 3 / min(self._seconds(product, 1) for _ in range(ROUNDS + 1))
        return self.rates[dtype]

    def _start(self):
        """Seconds of starting a program that does nothing, which a call inside a step does not take."""
        if None not in self.rates:
            nothing = self.backend.copy(1)
            self.rates[None] = min(self._seconds(nothing, MOST_RUNS) for _ in range(ROUNDS))
        return self.rates[None]

    def _seconds(self, run, times):
        begin = time.perf_counter()
        results = [run() for _ in range(times)]
        jax.block_until_ready(results[-1])
        return (time.perf_counter() - begin) / times

    def _measure(self, case):
        try:
            flop, elements, width = jax_calls.work_of(case)
            peak = self._peak(split_dtype(case.dtype)[0][0])
            if 2 * elements * width > SHARE_OF_FREE * self.backend.free():
                return self.skipped.append((label(case), "needs more than 30 % of the free memory"))
            if flop / peak > self.longest_s:
                return self.skipped.append((label(case), f"would take longer than {self.longest_s:g} s a call (--longest)"))
            function, operands = jax_calls.built(case)
            operands = jax.device_put(operands, self.backend.device())
            compiled = jax.jit(function).lower(*operands).compile()

            def run():
                return compiled(*operands)
            jax.block_until_ready(run())
            times = max(1, min(MOST_RUNS, int(FOR_S / max(self._seconds(run, 1), 1e-7))))
            whole = statistics.median(self._seconds(run, times) for _ in range(ROUNDS))
            seconds = max(whole - self._start(), LEAST * whole)
            if case.op in ("gemm", "conv") and flop / seconds > ABOVE_PEAK * max(peak, self.profile_peak(case)):
                return self.wrong.append((label(case), f"{flop / seconds:.3g} FLOP/s is above the peak"))
            self.profile.add(case, seconds, 1)
        except Exception as error:  # a failing call is reported, whatever it raised
            self.failed.append((label(case), (str(error).strip() or type(error).__name__).splitlines()[0]))

    def profile_peak(self, case):
        peaks = self.profile.members.get("peak", {})
        found = [peaks.get(kind, {}).get(split_dtype(case.dtype)[0][0], {}).get("value", 0) for kind in ("matrix", "vector")]
        return max(found)


class Backend:
    """A platform of JAX."""
    framework, dtypes, calls, tiny_count = "JAX", ("fp32", "bf16"), jax_calls.CALLS, 1000

    def __init__(self, name):
        self.name, self.queued, self.tries = name, name != "cpu", 0
        self.runtime = "native" if name == "tpu" else "xla"

    def _devices(self):
        try:
            return jax.local_devices(backend=self.name)
        except RuntimeError:
            return []

    def available(self):
        return bool(self._devices())

    def device(self):
        return self._devices()[0]

    def start(self):
        jax.config.update("jax_default_device", self.device())

    def synchronize(self):
        jax.effects_barrier()

    def title(self):
        return self.device().device_kind if self.name != "cpu" else processor()

    def versions(self):
        return [f"JAX {jax.__version__}"]

    def software(self):
        return {"jax": ".".join(jax.__version__.split(".")[:2])}

    def precision(self, dtype):
        pass

    def _stats(self, what):
        stats = self.device().memory_stats() if self.name != "cpu" else None
        return (stats or {}).get(what)

    def capacity(self):
        return self._stats("bytes_limit") or _memory_of_host()

    def free(self):
        return self.capacity() - (self._stats("bytes_in_use") or 0)

    def cores(self):
        return os.cpu_count() if self.name == "cpu" else getattr(self.device(), "core_count", None)

    def vendor(self):
        return {"tpu": "Google", "gpu": "NVIDIA"}.get(self.name, "unknown")

    def product(self, side, dtype):
        a = jax.device_put(jnp.ones((side, side), jax_calls.DTYPES[dtype]), self.device())
        compiled = jax.jit(lambda x: x @ x).lower(a).compile()
        return lambda: compiled(a).block_until_ready()

    def copy(self, count):
        a = jax.device_put(jnp.ones(count, jnp.float32), self.device())
        compiled = jax.jit(lambda x: x + 1).lower(a).compile()
        return lambda: compiled(a).block_until_ready()

    def tiny(self):
        """Changes one number as often as tiny_count says, in one program, as a compiled step calls its kernels."""
        a = jax.device_put(jnp.ones(1, jnp.float32), self.device())
        compiled = jax.jit(lambda x: jax.lax.fori_loop(0, self.tiny_count, lambda _, y: jnp.sin(y), x)).lower(a).compile()
        return lambda: compiled(a).block_until_ready()

    def harness(self, *given):
        return Harness(self, *given)


BACKENDS = {name: Backend(name) for name in sorted(("cpu", "gpu", "tpu"), key=lambda name: name != jax.default_backend())}
