# SPDX-License-Identifier: Apache-2.0
"""packed.py - packed sequences in a step of fake tensors: every sample has the length of the longest one.

The rows of a packed sequence are the sum of the lengths, which a program knows for the given batch only. A recurrent
layer of cuDNN takes as many steps as the longest sample has, whatever the lengths of the others are.
"""
from __future__ import annotations

from typing import Any, Callable, Optional, Tuple

import torch

from .trace import Recorder
from .values import Memory, Value

PACK_ARGUMENTS = ("input", "lengths", "batch_first")
PAD_ARGUMENTS = ("data", "batch_sizes", "batch_first", "padding_value", "total_length")


def _known(recorder: Recorder, count: int, number: int) -> torch.Tensor:
    """`count` equal integers whose contents are known."""
    with recorder.suspended():
        t = torch.full((count,), number, dtype=torch.int64, device="cpu")  # as PackedSequence demands
        if recorder.values is not None:
            recorder.values.add(t, Value(recorder.values.filled(count, number), Memory()))
    return t


def pack(recorder: Recorder, func: Callable[..., Any], args: Any, kwargs: Any) -> Tuple[torch.Tensor, torch.Tensor]:
    """aten::_pack_padded_sequence: rows step by step, and the number of samples of each step."""
    given = {**dict(zip(PACK_ARGUMENTS, args)), **kwargs}
    x = given["input"].transpose(0, 1) if given["batch_first"] else given["input"]
    longest: Optional[int] = recorder.values.largest(given["lengths"]) if recorder.values is not None else None
    steps = min(longest or int(x.shape[0]), int(x.shape[0]))
    return x[:steps].clone(memory_format=torch.contiguous_format).flatten(0, 1), _known(recorder, steps, int(x.shape[1]))


def pad(recorder: Recorder, func: Callable[..., Any], args: Any, kwargs: Any) -> Tuple[torch.Tensor, torch.Tensor]:
    """aten::_pad_packed_sequence: samples of one length, and the lengths."""
    given = {**dict(zip(PAD_ARGUMENTS, args)), **kwargs}
    steps = int(given["batch_sizes"].shape[0])
    x = by_step(given["data"], steps)
    total = max(int(given.get("total_length", -1)), steps)
    padded = torch.nn.functional.pad(x, (0, 0, 0, 0, 0, total - steps), value=given.get("padding_value", 0.0))
    lengths = _known(recorder, int(x.shape[1]), steps)
    return padded.transpose(0, 1) if given["batch_first"] else padded, lengths


def by_step(data: torch.Tensor, steps: int) -> torch.Tensor:
    """The rows of a packed sequence by step and sample."""
    return data.reshape((steps, -1) + tuple(data.shape[1:]))


def recurrent(recorder: Recorder, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A recurrent layer of a packed sequence, as one of all steps of all samples."""
    data, batch_sizes, hidden, weights, *rest = args
    steps = int(batch_sizes.shape[0])
    result, *states = func(by_step(data, steps), hidden, weights, *rest, False, **kwargs)
    return (result.flatten(0, 1), *states)


def is_packed(args: Any) -> bool:
    """A call of torch.lstm, gru, rnn_tanh or rnn_relu with the number of samples of each step."""
    return len(args) == 9 and isinstance(args[1], torch.Tensor) and args[1].dim() == 1 and \
        isinstance(args[3], (list, tuple))
