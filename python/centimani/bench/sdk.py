# SPDX-License-Identifier: Apache-2.0
"""sdk.py - what the vendors' own PyTorch packages have in common: products and convolutions as programs, added to a base.

None of them is tested on hardware: they were written from public interfaces. A device has compute sets, sections or a
stream of weights, which no benchmark of calls measures, so --base names its profile.
"""
import importlib

import torch

from . import compiled, xla_calls
from .backends import Backend, _host_free, _nothing
from .calls import TORCH_DTYPES
from .cases import BadCase, split_dtype
from .torch_xla_backend import BUILD, again, as_list


class Chain(torch.nn.Module):
    """A call so often, each with operands that the last result changes; returns a number of the last result."""

    def __init__(self, function, calls):
        super().__init__()
        self.function, self.calls = function, calls

    def forward(self, *operands):
        given = list(operands)
        for _ in range(self.calls):
            given, results = again(self.function, given)
        return results[0].reshape(-1)[:1]


class Sdk(Backend):
    """module: the package to import; needs: how to get it; base: the profiles that it can extend."""
    calls = {op: xla_calls.CALLS[op] for op in ("gemm", "conv")}
    module = needs = base = ""

    def __init__(self, name, dtypes):
        super().__init__(name, self._found, _nothing, dtypes=dtypes, free=_host_free, device=lambda: torch.device("cpu"),
                         runtime="native", vendor=lambda: self.base.partition("-")[0])

    def _found(self):
        try:
            return importlib.import_module(self.module)
        except ImportError as error:
            raise BadCase(f"--device {self.name} needs {self.needs} ({error})") from None

    def built(self, case):
        dtype = TORCH_DTYPES[split_dtype(case.dtype)[0][0]]
        return BUILD[case.op](xla_calls.sizes_of(case), case.variant, case.phase, lambda *shape: torch.randn(shape).to(dtype))

    def empty(self, operands):
        return lambda *x: as_list(x[0][:1] + 0), [torch.ones(1024) for _ in range(operands)]

    def product(self, side, dtype):
        """A program that multiplies a square matrix with itself once."""
        seconds = self.loop(torch.mm, [torch.ones(side, side, dtype=TORCH_DTYPES[dtype])] * 2, True)
        return lambda: seconds(1)

    def loop(self, function, operands, written_out):
        """A function of the number of calls in a program: its seconds."""
        raise NotImplementedError

    def harness(self, profile, *given):
        if profile.path is not None and "base" not in profile.head:
            raise BadCase(f"--device {self.name} needs --base, such as {self.base}: calls do not describe the device")
        return compiled.Harness(self, profile, *given)
