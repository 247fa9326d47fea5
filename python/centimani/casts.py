# SPDX-License-Identifier: Apache-2.0
"""casts.py - casts to the type of another tensor, which do something under autocast only.

`self.scale.to(x.dtype)` casts nothing where parameters and activations have one type: neither in a recorded fp32 step
nor after `model.to(torch.bfloat16)`. Under autocast the parameter stays fp32, while `x` may be in 16 bits. So the
forward pass runs once under autocast before the step is recorded, and the casts that change a type there, but in no
other run, are recorded as aten::to.autocast. So are casts of whole numbers and truth values, `(x > 0).to(x.dtype)`, whose
result is in 16 bits there.
"""
from __future__ import annotations

from typing import Any, List, Optional, Set, Tuple

import torch
from torch.overrides import TorchFunctionMode

from .fused import Fused, recorded
from .trace import Recorder

NAME = "aten::to.autocast"
Asked = Tuple[torch.dtype, torch.dtype]  # the type of a tensor, and the one that the program asks for


def _wanted(func: Any, args: Any, kwargs: Any) -> Optional[torch.dtype]:
    """The floating-point type that a call casts a tensor to; None: it is no such call."""
    name = getattr(func, "__name__", "")
    if name not in ("to", "type_as") or not args or not isinstance(args[0], torch.Tensor):
        return None
    given = [*args[1:], *kwargs.values()]
    types = [v if isinstance(v, torch.dtype) else v.dtype for v in given if isinstance(v, (torch.dtype, torch.Tensor))]
    return types[0] if len(types) == 1 and types[0].is_floating_point else None


class Casts(TorchFunctionMode):
    """Lists the casts that a forward pass asks for, in their order; those whose index is in `kept` are recorded."""

    def __init__(self, recorder: Recorder, kept: Set[int]):
        super().__init__()
        self.recorder, self.kept = recorder, kept
        self.asked: List[Asked] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        wanted = None if self.recorder.silence or self.recorder.phase != "forward" else _wanted(func, args, kwargs)
        if wanted is None:
            return func(*args, **kwargs)
        x = args[0]
        self.asked.append((x.dtype, wanted))
        if len(self.asked) - 1 not in self.kept or (x.is_floating_point() and x.dtype != wanted):
            return func(*args, **kwargs)
        return recorded(self.recorder, Fused(NAME, [x], {}, lambda: [torch.empty_like(x, dtype=wanted)], saves=False))


def only_under_autocast(own: List[Asked], converted: List[Asked], autocast: List[Asked]) -> Set[int]:
    """The casts to 16 bits that autocast alone makes necessary; none if the three runs took different paths."""
    if not len(own) == len(converted) == len(autocast):
        return set()
    return {i for i, (a, b, c) in enumerate(zip(own, converted, autocast))
            if (a[0] == a[1] and b[0] == b[1] and c == (torch.float32, torch.bfloat16))
            or (not a[0].is_floating_point and a[1] == torch.float32 and b == c == (a[0], torch.bfloat16))}
