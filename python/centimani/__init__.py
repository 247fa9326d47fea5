# SPDX-License-Identifier: Apache-2.0
"""Centimani: predicts on which accelerator to train a neural network, how fast, at what cost, and with what
certainty."""
from __future__ import annotations

import importlib
from typing import Any

# PyTorch and JAX are imported only by the functions that need them.
_WHERE = {
    "capture": "centimani.capturing", "Trace": "centimani.writer", "CaptureError": "centimani.errors",
    "capture_jax": "centimani.jax_capture",
    "watch": "centimani.watching",
    **dict.fromkeys(("graph", "predict", "memory", "fits", "batch", "rank", "scale", "plan", "explain", "timeline",
                      "lookups", "Plan", "Tuning"), "centimani.questions"),
    **dict.fromkeys(("models", "devices", "version", "answer"), "centimani.library"),
    "CentimaniError": "centimani.errors", "Quantity": "centimani.quantities",
}
__all__ = list(_WHERE)
__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'centimani' has no attribute '{name}'")
    try:
        value = getattr(importlib.import_module(_WHERE[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from .errors import CaptureError
        raise CaptureError(f"{name}() needs PyTorch, which is not installed for this Python: pip install torch") from None
    globals()[name] = value
    return value
