# SPDX-License-Identifier: Apache-2.0
"""torch_xla_backend.py - PyTorch on XLA's devices: the calls of xla_calls.py, in a loop of one program (compiled.py).

PyTorch's operators become XLA's programs, so the calls are those of programs and not those of eager PyTorch. Tested on the
CPU (PJRT_DEVICE=CPU); not tested on TPUs.
"""
import importlib
import os
import time

import torch

from . import compiled, xla_calls
from .backends import Backend, _host_free, _host_memory, _nothing, _plugin
from .calls import TORCH_DTYPES
from .cases import split_dtype
from .names import processor


def _xla():
    return importlib.import_module("torch_xla.core.xla_model")


def _wait():
    torch_xla = importlib.import_module("torch_xla")
    getattr(torch_xla, "sync", _xla().mark_step)()
    _xla().wait_device_ops()


def _kind():
    """cpu, gpu or tpu; asking starts the runtime."""
    return importlib.import_module("torch_xla.runtime").device_type().lower().replace("cuda", "gpu")


# ---- calls ------------------------------------------------------------------------------------------------------------

def _gemm(s, variant, _, make):
    text, shapes = xla_calls.einsum(s, variant)
    operands = [make(*shape) for shape in shapes]
    if variant.endswith("bias"):
        return lambda x, y, z: torch.einsum(text, x, y) + z, [*operands, make(s["n"])]
    return lambda x, y: torch.einsum(text, x, y), operands


def _conv(s, variant, phase, make):
    """XLA chooses the layout; torch_xla states every convolution with the channels first."""
    x, w = make(s["n"], s["c"], s["h"], s["w"]), make(s["k"], s["c"] // s["groups"], s["r"], s["s"])
    stride, pad, dil = ((s[f"{what}_h"], s[f"{what}_w"]) for what in ("stride", "pad", "dil"))
    if phase == "forward":
        return lambda a, b: torch.nn.functional.conv2d(a, b, None, stride, pad, dil, s["groups"]), [x, w]
    g, wanted = make(s["n"], s["k"], *xla_calls.places(s)), [phase == "bwd_input", phase == "bwd_weight", False]

    def gradient(a, b, y):
        found = torch.ops.aten.convolution_backward(y, a, b, None, stride, pad, dil, False, [0, 0], s["groups"], wanted)
        return found[0 if wanted[0] else 1]
    return gradient, [x, w, g]


def _elementwise(s, variant, _, make):
    if variant in ("fused", "copy"):
        return lambda x: x + 1, [make(max(1, s["outer"] * s["inner"]))]
    if variant == "copy:turned":
        return lambda x: x.t() + 1, [make(s["outer"], s["inner"])]
    if variant.startswith("copy:"):
        step = 1 + (variant == "copy:strided")
        return lambda x: x[:, ::step][:, :s["inner"]] + 1, [make(s["outer"], 2 * s["inner"])]
    x = make(*xla_calls.reduced(s, variant))
    if variant.endswith("row_sum"):
        return lambda x: torch.softmax(x, 1), [x]
    return lambda x: x.float().sum(0), [x]


def _updated(variant, p, g, states):
    if variant == "sgd":
        return [p - 1e-3 * g]
    if variant == "momentum":
        v = 0.9 * states[0] + g
        return [p - 1e-3 * v, v]
    m, v = 0.9 * states[0] + 0.1 * g, 0.999 * states[1] + 0.001 * g * g
    kept = p * (1 - 1e-5) if variant == "adamw" else p
    return [kept - 1e-3 * m / (v.sqrt() + 1e-8), m, v]


def _optimizer(s, variant, _, make):
    size, width = max(1, s["elements"] // s["tensors"]), 2 + xla_calls.STATES[variant]

    def update(*every):
        return [x for i in range(0, len(every), width) for x in _updated(variant, every[i], every[i + 1], every[i + 2:i + width])]
    return update, [make(size) for _ in range(s["tensors"] * width)]


BUILD = {"gemm": _gemm, "conv": _conv, "elementwise": _elementwise, "optimizer": _optimizer}


# ---- the loop ---------------------------------------------------------------------------------------------------------

def as_list(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def again(function, given):
    """The operands of a call with a number that its result changes, and the result."""
    results = as_list(function(*given))
    nothing = results[0].reshape(-1)[:1] * 0  # unknown to XLA: it may be NaN
    changed = [torch.slice_scatter(x.reshape(-1), nothing.to(x.dtype), 0, 0, 1, 1).reshape(x.shape) for x in given]
    return changed, results


class XlaBackend(Backend):
    """Whatever device torch_xla runs on."""
    calls = xla_calls.CALLS

    def __init__(self):
        super().__init__("xla", lambda: _plugin("torch_xla.core.xla_model"), _wait, device=lambda: torch.device("xla"),
                         start=lambda _: compiled.keep_memory() if _kind() == "cpu" else _nothing(), dtypes=("fp32", "bf16"),
                         free=_host_free, capacity=lambda: _host_memory("MemTotal"), cores=lambda: os.cpu_count(),
                         title=lambda: processor() if _kind() == "cpu" else f"{_kind()}, torch_xla",
                         versions=lambda: [f"torch_xla {importlib.import_module('torch_xla').__version__}"])
        self.queued = True  # operators wait in a queue on every device

    kind = property(lambda self: _kind())

    @property
    def runtime(self):
        return "native" if _kind() == "tpu" else "xla"

    @runtime.setter
    def runtime(self, _):
        """What torch_xla runs on decides."""

    def product(self, side, dtype):
        return self._alone(super().product(side, dtype))

    def copy(self, numbers):
        source = torch.ones(numbers, device=self.device())
        return self._alone(lambda: source + 1)

    @staticmethod
    def _alone(call):
        """Run a call as a program: XLA would merge equal ones."""
        _wait()

        def run():
            result = call()
            _wait()
            return result
        return run

    def launch(self):
        """Seconds of an operator that changes one number, among many in a program."""
        seconds = self.loop(torch.sin, [torch.ones(1, device=self.device())], False)
        return min(seconds(1000) for _ in range(4)) / 1000

    def built(self, case):
        dtype = TORCH_DTYPES[split_dtype(case.dtype)[0][0]]

        def make(*shape):
            return torch.randn(shape).to(dtype).to(self.device())
        return BUILD[case.op](xla_calls.sizes_of(case), case.variant, case.phase, make)

    def empty(self, operands):
        return lambda *x: x[0][:1] + 0, [torch.ones(1024, device=self.device()) for _ in range(operands)]

    def loop(self, function, operands, written_out):
        """A function of the number of calls in a program: its seconds."""
        scan = importlib.import_module("torch_xla.experimental.scan")._scan_impl_pytree
        shapes = [torch.zeros_like(x) for x in as_list(function(*operands))]
        _wait()

        def turn(carry, x):
            changed, results = again(function, carry[:len(operands)])
            return (*changed, *results), x

        def seconds(calls):
            state, results = list(operands), shapes
            if written_out:
                for _ in range(calls):
                    state, results = again(function, state)
            else:
                carry, kept = scan(turn, (*state, *results), torch.zeros(calls, device=self.device()))
                state, results = carry, kept
            begin = time.perf_counter()
            _wait()
            elapsed = time.perf_counter() - begin
            del state, results
            return elapsed
        return seconds

    def harness(self, *given):
        return compiled.Harness(self, *given)
