# SPDX-License-Identifier: Apache-2.0
"""autocast.py - autocast on tensors of the CPU that keeps the operators in 32 bits which a GPU keeps there.

The lists of the two devices differ (PyTorch's documentation, "Autocast Op Reference"): norms, softmaxes, losses and
functions such as exp and pow run in fp32 on a GPU, and in 16 bits on a CPU.
"""
from __future__ import annotations

import contextlib
import warnings
from typing import Any, Callable, Iterator, Optional

import torch

TYPES = {"amp-bf16": torch.bfloat16, "amp-fp16": torch.float16}
# Operators that autocast runs in fp32 on a GPU, whatever the types of their operands.
WIDE = ("acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus layer_norm native_layer_norm "
        "group_norm frobenius_norm nuclear_norm cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d "
        "hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss "
        "soft_margin_loss triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp "
        "prod softmax log_softmax cumprod cumsum linalg_vector_norm linalg_matrix_norm sum").split()


def _widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.float() if value.dtype in TYPES.values() else value
    return [_widened(v) for v in value] if isinstance(value, (list, tuple)) else value


def _in_fp32(operator: Any) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)):
            return operator(*_widened(args), **{k: _widened(v) for k, v in kwargs.items()})
    return run


def _widen(library: Any) -> None:
    packets = [getattr(torch.ops.aten, name, None) for name in WIDE]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says that some of these replace the CPU's own rule, as they should
        for operator in (getattr(packet, name) for packet in packets if packet for name in packet.overloads()):
            if "out" not in operator._overloadname and "Dimname" not in str(operator._schema):
                library.impl(operator, _in_fp32(operator))


@contextlib.contextmanager
def as_on_a_gpu(precision: Optional[str]) -> Iterator[None]:
    """Autocast to the 16-bit type of precision "amp-*", with the operators that a GPU keeps in fp32; else nothing."""
    if precision not in TYPES:
        yield
        return
    with torch.library._scoped_library("aten", "IMPL", "AutocastCPU") as library:
        _widen(library)
        with torch.autocast("cpu", dtype=TYPES[precision]):
            yield
