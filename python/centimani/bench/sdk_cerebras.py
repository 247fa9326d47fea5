# SPDX-License-Identifier: Apache-2.0
"""sdk_cerebras.py - Cerebras' wafers: cerebras.pytorch, which programs the wafer once for a process. Not tested on hardware.

Needs a user node of a Wafer-Scale Cluster with cerebras_pytorch. One process measures one case (--case): a step makes one
call, and more steps take longer by the call. No peak is measured, so a rate above it is not refused.
"""
import collections
import time

from .sdk import Chain, Sdk


class Cerebras(Sdk):
    module, needs, base = "cerebras.pytorch", "cerebras_pytorch on a user node of a Wafer-Scale Cluster", "cerebras-cs3"

    def loop(self, function, operands, written_out):
        cstorch, made = self._found(), []
        compiled_model = cstorch.compile(Chain(function, 1), backend=cstorch.backend("CSX"))
        loader = cstorch.utils.data.DataLoader(lambda: iter(lambda: tuple(operands), None))

        @cstorch.trace
        def step(given):
            return compiled_model(*given)

        @cstorch.step_closure
        def read(result):
            made.append(result.sum().item())

        def seconds(calls):
            begin = time.perf_counter()
            for given in cstorch.utils.data.DataExecutor(loader, num_steps=calls):
                read(step(given))
            return time.perf_counter() - begin
        return seconds

    def harness(self, profile, *given):
        made = super().harness(profile, *given)
        made.rates, made.loops = collections.defaultdict(lambda: float("inf")), collections.defaultdict(float)
        return made


BACKEND = Cerebras("wse", ("fp32", "bf16", "fp16"))
