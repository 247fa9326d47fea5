# SPDX-License-Identifier: Apache-2.0
"""fused.py - operators that a step of fake tensors records as one, forward and backward."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence

import torch

from .trace import Recorder


class Fused:
    """An operator recorded as a whole: its inputs, its relevant attributes, and the shapes of its outputs."""

    def __init__(self, name: str, tensors: Sequence[Optional[torch.Tensor]], attrs: Dict[str, Any],
                 make: Callable[[], List[torch.Tensor]], extra: int = 0, saves: bool = True):
        self.name, self.tensors, self.attrs, self.make = name, list(tensors), attrs, make
        self.extra = extra  # trailing outputs without a gradient
        self.saves = saves  # backward reads its inputs


class _Recorded(torch.autograd.Function):
    """Replaces a fused operator in a step of fake tensors: one entry in forward, one in backward."""

    @staticmethod
    def forward(ctx, recorder, fused, *tensors):
        ctx.set_materialize_grads(False)
        with recorder.suspended():
            outputs = fused.make()
            ctx.recorder, ctx.fused, ctx.outputs = recorder, fused, len(outputs)
            ctx.save_for_backward(*(tensors if fused.saves else ()))  # so that checkpointing knows what to recompute
            ctx.shapes = [None if t is None else (t.shape, t.stride(), t.dtype) for t in tensors]
        recorder.record(fused.name, tensors, outputs, fused.attrs)
        ctx.extra = outputs[len(outputs) - fused.extra:] if fused.extra else []
        if ctx.extra:
            ctx.mark_non_differentiable(*ctx.extra)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *gradients):
        recorder, made, kept = ctx.recorder, [], ctx.saved_tensors
        given = gradients[:ctx.outputs - len(ctx.extra)]
        with recorder.suspended():
            for n, (shape, wanted) in enumerate(zip(ctx.shapes, ctx.needs_input_grad[2:])):
                like = kept[n] if kept else given[0].new_empty_strided(shape[0], shape[1], dtype=shape[2])
                made.append(torch.empty_like(like) if wanted else None)
        recorder.record(ctx.fused.name + "_backward", (*given, *kept, *ctx.extra), made, ctx.fused.attrs)
        return (None, None, *made)


def recorded(recorder: Recorder, fused: Fused) -> Any:
    """The outputs of an operator that is recorded as a whole, in a step of fake tensors."""
    outputs = _Recorded.apply(recorder, fused, *fused.tensors)
    kept = outputs[:len(outputs) - fused.extra]
    return kept[0] if len(kept) == 1 else tuple(kept)


def autocast_kind() -> Optional[str]:
    """The type that autocast currently casts to; None: it is off."""
    if hasattr(torch, "get_autocast_dtype"):  # PyTorch 2.4
        kinds = [torch.get_autocast_dtype(d) for d in ("cuda", "cpu") if torch.is_autocast_enabled(d)]
    else:
        kinds = [torch.get_autocast_gpu_dtype()] if torch.is_autocast_enabled() else []
        kinds += [torch.get_autocast_cpu_dtype()] if torch.is_autocast_cpu_enabled() else []
    return {torch.bfloat16: "bf16", torch.float16: "fp16"}.get(kinds[0]) if kinds else None
