# SPDX-License-Identifier: Apache-2.0
"""optimizers.py - record an optimizer's step as one entry per group, or operator by operator if it is unknown."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

import torch

from .trace import Recorder

# Number of states per parameter, each as large as the parameter, for PyTorch's optimizers by their group's settings.
STATES: Dict[str, Callable[[Dict[str, Any]], int]] = {
    "SGD": lambda g: 1 if g.get("momentum") else 0,
    "Adam": lambda g: 3 if g.get("amsgrad") else 2,
    "AdamW": lambda g: 3 if g.get("amsgrad") else 2,
    "NAdam": lambda g: 2, "RAdam": lambda g: 2, "Adamax": lambda g: 2, "Adadelta": lambda g: 2,
    "Adagrad": lambda g: 1, "Rprop": lambda g: 2, "ASGD": lambda g: 1,
    "RMSprop": lambda g: 1 + bool(g.get("momentum")) + bool(g.get("centered")),
}
NAMED: Dict[str, Callable[[List[torch.nn.Parameter]], Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=1e-3), "momentum": lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p), "adamw": lambda p: torch.optim.AdamW(p),
}


def kind_of(name: str, group: Dict[str, Any]) -> Optional[str]:
    """The predictor's name of the optimizer; None: it has none."""
    if name == "SGD":
        return "momentum" if group.get("momentum") else "sgd"
    return {"Adam": "adam", "AdamW": "adamw"}.get(name)


def implementation(group: Dict[str, Any]) -> str:
    if group.get("fused"):
        return "fused"
    return "single" if group.get("foreach") is False else "foreach"


def record_groups(recorder: Recorder, optimizer: Any, row_of: Callable[[torch.Tensor], int],
                  trained: Callable[[torch.Tensor], bool]) -> bool:
    """Record one entry per group; False: the optimizer is not PyTorch's own."""
    name = type(optimizer).__name__
    if name not in STATES or not type(optimizer).__module__.startswith("torch.optim"):
        return False
    for group in optimizer.param_groups:
        params = [p for p in group["params"] if trained(p)]
        recorder.updates.append({
            "optimizer": name, "kind": kind_of(name, group), "implementation": implementation(group),
            "states": STATES[name](group), "tensors": len(params), "elements": sum(p.numel() for p in params),
            "parameters": [row_of(p) for p in params],
        })
        if kind_of(name, group) is None:
            recorder.warn(f"optimizer {name}: recorded with {STATES[name](group)} states a parameter; say --optimizer "
                          "for what to predict with")
    return True


def _make(optimizer: Any, params: List[torch.nn.Parameter]) -> Any:
    if isinstance(optimizer, str):
        if optimizer not in NAMED:
            from .trace import CaptureError
            raise CaptureError(f"optimizer '{optimizer}' is unknown: {', '.join(NAMED)}, or one of torch.optim")
        return NAMED[optimizer](params)
    return optimizer(params) if callable(optimizer) and not hasattr(optimizer, "param_groups") else optimizer


def _step_on_fakes(recorder: Recorder, optimizer: Any, swapped: Any) -> None:
    """Run an unknown optimizer's step on the fake parameters."""
    saved = [(g, g["params"]) for g in optimizer.param_groups]
    state = optimizer.state
    try:
        for group, params in saved:
            group["params"] = [swapped.fake(p) for p in params]
        optimizer.state = type(state)(dict) if hasattr(state, "default_factory") else {}
        optimizer.step()
    except Exception as error:  # the rest of the step is still useful
        recorder.warn(f"optimizer {type(optimizer).__name__}: its step could not be recorded ({error})"[:300])
    finally:
        for group, params in saved:
            group["params"] = params
        optimizer.state = state


def record(recorder: Recorder, model: torch.nn.Module, optimizer: Any, swapped: Any) -> None:
    if optimizer is None:
        return
    with recorder.suspended():
        made = _make(optimizer, [p for p in model.parameters() if p.requires_grad])
    known = record_groups(recorder, made, lambda p: recorder.tensors.find(swapped.fake(p)),
                          lambda p: swapped.fake(p).grad is not None)
    if not known:
        recorder.warn(f"optimizer {type(made).__name__} is not PyTorch's own: recorded operator by operator")
        _step_on_fakes(recorder, made, swapped)
