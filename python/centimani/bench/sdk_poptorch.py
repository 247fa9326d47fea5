# SPDX-License-Identifier: Apache-2.0
"""sdk_poptorch.py - Graphcore's IPUs: PopTorch of the Poplar SDK 3, which runs a loop on the device. Not tested on hardware.

Needs the SDK's environment (source enable.sh) and its poptorch wheel. A program compiles for seconds to minutes.
"""
import time

import torch

from .sdk import Chain, Sdk
from .torch_xla_backend import again


class Loop(Chain):
    def forward(self, *operands):
        import poptorch

        def turn(*given):
            return tuple(again(self.function, list(given))[0])
        return poptorch.for_loop(self.calls, turn, list(operands))[0].reshape(-1)[:1]


class PopTorch(Sdk):
    module, needs, base = "poptorch", "Graphcore's Poplar SDK and its poptorch package", "graphcore-gc200"

    def loop(self, function, operands, written_out):
        poptorch, made = self._found(), {}

        def seconds(calls):
            if calls not in made:
                made[calls] = poptorch.inferenceModel(Loop(function, calls), poptorch.Options())
                made[calls].compile(*operands)
            begin = time.perf_counter()
            torch.as_tensor(made[calls](*operands)).sum().item()
            return time.perf_counter() - begin
        return seconds


BACKEND = PopTorch("ipu", ("fp32", "fp16"))
