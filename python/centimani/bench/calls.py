# SPDX-License-Identifier: Apache-2.0
"""calls.py - the table of calls: sizes, passes, variants, work, and the function that builds a call."""
import torch

from . import calls_attention, calls_images, calls_layers, calls_lookup, calls_matrix, calls_norm, calls_pointwise

TORCH_DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16,
                "complex64": torch.complex64}
if hasattr(torch, "float8_e4m3fn"):
    TORCH_DTYPES["fp8"] = torch.float8_e4m3fn

CALLS = {**calls_matrix.CALLS, **calls_attention.CALLS, **calls_norm.CALLS, **calls_pointwise.CALLS,
         **calls_images.CALLS, **calls_lookup.CALLS, **calls_layers.CALLS}


class Tensors:
    """Makes the operands of one case on its device and in its type; the check converts the same operands."""

    def __init__(self, device, dtype):
        self.device, self.dtype = device, dtype

    def normal(self, *shape, dtype=None):
        dtype = dtype or self.dtype
        small = dtype == TORCH_DTYPES.get("fp8")  # no generator makes 8-bit numbers
        made = torch.randn(shape, device=self.device, dtype=torch.bfloat16 if small else dtype)
        return made.to(dtype) if small else made

    def uniform(self, *shape, dtype=None):
        """From 0.5 to 1.5: valid for logarithms, roots and quotients, and never 0."""
        return torch.rand(shape, device=self.device, dtype=dtype or self.dtype).add_(0.5)

    def integers(self, high, *shape):
        return torch.randint(high, shape, device=self.device)

    def flags(self, *shape):
        return torch.rand(shape, device=self.device, dtype=torch.float32) < 0.9
