# SPDX-License-Identifier: Apache-2.0
"""losses.py - losses of PyTorch that look at values, which a step of fake tensors does not have."""
from __future__ import annotations

from typing import Any, Callable, List

import torch

from .fused import Fused, autocast_kind, recorded
from .trace import Recorder

SIXTEEN_BITS = (torch.bfloat16, torch.float16)
CTC_ARGUMENTS = ("log_probs", "targets", "input_lengths", "target_lengths", "blank", "reduction", "zero_infinity")
REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}  # as torch.ctc_loss numbers them


def _longest(recorder: Recorder, targets: torch.Tensor, lengths: Any, samples: int) -> int:
    """Labels of the longest target. Padded targets count as their width; concatenated ones by the lengths if these are
    known, otherwise as equally long."""
    if targets.dim() > 1:
        return int(targets.shape[-1])
    if not isinstance(lengths, torch.Tensor):
        return max(int(n) for n in lengths)
    known = recorder.values.largest(lengths) if recorder.values is not None else None
    return known if known is not None else -(-int(targets.shape[0]) // samples)


def _ctc_loss(recorder: Recorder, func: Callable[..., Any], args: Any, kwargs: Any) -> torch.Tensor:
    """The loss as ctc_loss in ATen/native/LossCTC.cpp composes it from aten::_ctc_loss. All frames count."""
    given = {**dict(zip(CTC_ARGUMENTS, args)), **kwargs}
    x, targets, lengths = given["log_probs"], given["targets"], given["target_lengths"]
    reduction = given.get("reduction", "mean")
    batched = x.dim() == 3
    if autocast_kind() and x.dtype in SIXTEEN_BITS:
        x = x.float()
    if not batched:
        x = x.unsqueeze(1)
    frames, samples = x.shape[:2]
    with recorder.suspended():
        labels = _longest(recorder, targets, lengths, samples) if batched else int(targets.shape[-1])

    def make() -> List[torch.Tensor]:
        return [x.new_empty((samples,)), x.new_empty((samples, frames, 2 * labels + 1))]

    result = recorded(recorder, Fused("aten::_ctc_loss", [x, targets], {}, make, extra=1))
    if not batched:
        result = result.squeeze(0)
    if given.get("zero_infinity", False):
        result = torch.where(result == float("inf"), torch.zeros_like(result), result)
    reduction = REDUCTIONS.get(reduction, reduction)
    if reduction == "mean":
        if not isinstance(lengths, torch.Tensor):  # a list; its own length is that of the given batch
            lengths = torch.full_like(result, labels)
        return (result / lengths.to(result.device, result.dtype).clamp_min(1)).mean()
    return result.sum() if reduction == "sum" else result


def _checked(recorder: Recorder, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A function that looks at values only to find an error: there is none."""
    if recorder.values is None:
        return func(*args, **kwargs)
    with recorder.values.without_errors():
        return func(*args, **kwargs)


REPLACED = {"ctc_loss": _ctc_loss, "gaussian_nll_loss": _checked}
