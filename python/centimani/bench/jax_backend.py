# SPDX-License-Identifier: Apache-2.0
"""jax_backend.py - the devices of JAX, and calls in a loop of one program (compiled.py)."""
import os
import time

import jax
import jax.numpy as jnp

from . import compiled, jax_calls
from .names import processor
from .xla_calls import CALLS


def _memory_of_host():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _bits(x):
    """The bits of a 16-bit number: XLA changes one float of 16 bits on a CPU by copying all as fp32."""
    return jax.lax.bitcast_convert_type(x, jnp.uint16) if x.dtype in (jnp.bfloat16, jnp.float16) else x


def _from_bits(x, like):
    return jax.lax.bitcast_convert_type(x, like.dtype) if x.dtype != like.dtype else x


PAUSE = 2000  # tiny steps between two calls


def pause(x):
    """Work of one thread for some 20 us: in a step other kernels run between two calls, and the threads that share a call are asleep
    when it begins."""
    return jax.lax.fori_loop(0, PAUSE, lambda _, y: jnp.sin(y), x)


def again(function, given, like, queued):
    """The result of a call, and its operands' bits with a number that the result changes. queued: the device has no threads."""
    result = function(*jax.tree.map(_from_bits, given, like))
    made = jax.tree.leaves(result)[0]
    nothing = jax.lax.slice(made, (0,) * made.ndim, (1,) * made.ndim).astype(jnp.float32) * 0  # unknown to XLA: it may be NaN
    nothing = nothing if queued else pause(nothing)

    def change(x, like):
        return jax.lax.dynamic_update_slice(x, _bits(nothing.astype(like.dtype)).reshape((1,) * x.ndim), (0,) * x.ndim)
    return jax.tree.map(change, given, like), result


def loop(function, operands, queued):
    """A compiled program of (number of calls, operands): calls in a loop."""
    def calls(count, *given):
        empty = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(function, *operands))
        return jax.lax.fori_loop(0, count, lambda _, state: again(function, state[0], tuple(operands), queued), (given, empty))
    return jax.jit(calls, donate_argnums=tuple(range(1, 1 + len(operands)))).lower(1, *jax.tree.map(_bits, operands)).compile()


def in_line(function, operands, count, queued):
    """A compiled program of operands: so many calls one after the other. XLA rewrites convolutions on CPUs only there."""
    def calls(*given):
        for _ in range(count):
            given, result = again(function, given, tuple(operands), queued)
        return given, result
    return jax.jit(calls, donate_argnums=tuple(range(len(operands)))).lower(*jax.tree.map(_bits, operands)).compile()


class Backend:
    """A platform of JAX."""
    framework, dtypes, calls, tiny_count = "JAX", ("fp32", "bf16"), CALLS, 1000

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
        if self.name == "cpu":
            compiled.keep_memory()
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

    def loop(self, function, operands, written_out):
        """A function of the number of calls in a program: its seconds."""
        state = jax.tree.map(_bits, operands)
        looped, lines = None if written_out else loop(function, operands, self.queued), {}

        def seconds(calls):
            nonlocal state
            if written_out and calls not in lines:
                lines[calls] = in_line(function, operands, calls, self.queued)
            begin = time.perf_counter()
            state, result = lines[calls](*state) if written_out else looped(calls, *state)
            jax.block_until_ready((state, result))
            return time.perf_counter() - begin
        return seconds

    def built(self, case):
        function, operands = jax_calls.built(case)
        return function, jax.device_put(operands, self.device())

    def empty(self, operands):
        """A call that does nothing, with so many operands."""
        return lambda *x: x[0][:1], [jax.device_put(jnp.ones(1024), self.device()).copy() for _ in range(operands)]

    def harness(self, *given):
        return compiled.Harness(self, *given)


BACKENDS = {name: Backend(name) for name in sorted(("cpu", "gpu", "tpu"), key=lambda name: name != jax.default_backend())}
