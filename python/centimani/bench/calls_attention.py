# SPDX-License-Identifier: Apache-2.0
"""calls_attention.py - scaled dot product attention: as PyTorch chooses its kernel, and with each kernel it has.

A variant is [KERNEL-][SCORES-][dropout]. KERNEL: flash, efficient, cudnn or math; without it, PyTorch chooses. SCORES:
mask (boolean), bias (a trained term per head), fixed (a term without gradient for all heads, as Hugging Face passes).
"""
import contextlib
import inspect

from torch.nn import functional as F

from .call import Call, Cold, either
from .cases import width_of

KERNELS = {"flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "cudnn": "CUDNN_ATTENTION", "math": "MATH"}
SCORES = ("mask", "bias", "fixed")
KINDS = ("", "dropout") + tuple(scores + end for scores in SCORES for end in ("", "-dropout"))


def parts_of(variant):
    """(kernel or '', mask, bias, fixed or '', whether with dropout)."""
    words = variant.split("-")
    kernel = words[0] if words[0] in KERNELS else ""
    scores = next((word for word in words if word in SCORES), "")
    return kernel, scores, "dropout" in words


def only(kernel, tensor):
    """Context in which PyTorch uses this kernel, on devices where it has several; any kernel if the name is empty."""
    if not kernel or not tensor.is_cuda:
        return contextlib.nullcontext()
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:
        raise ValueError("choosing the attention kernel needs PyTorch 2.3") from None
    return sdpa_kernel(getattr(SDPBackend, KERNELS[kernel]))


def _mask(s, t):
    mask = t.flags(s.batch, 1, s.q, s.kv)
    if s.causal:
        mask &= mask.new_ones(s.q, s.kv).tril_()
    mask[..., 0] = True  # the softmax of a fully masked row is undefined
    return mask


TERMS = {"mask": _mask, "bias": lambda s, t: t.normal(s.batch, s.heads, s.q, s.kv),
         "fixed": lambda s, t: t.normal(s.batch, 1, s.q, s.kv)}


def _groups(s, scores):
    """Whether one call attends to fewer heads of keys than of queries; otherwise separate calls copy the heads."""
    documented = "enable_gqa" in (inspect.getdoc(F.scaled_dot_product_attention) or "")
    return s.kv_heads != s.heads and documented and not scores


def attention(s, case, t):
    if not hasattr(F, "scaled_dot_product_attention"):
        raise ValueError("scaled_dot_product_attention needs PyTorch 2.0")
    kernel, scores, dropout = parts_of(case.variant)

    # Projections produce [batch, tokens, heads, width]; attention reads a transposed view of it.
    def operand(tokens, heads):
        return t.normal(s.batch, tokens, heads, s.width).transpose(1, 2)
    operands = [operand(s.q, s.heads), operand(s.kv, s.kv_heads), operand(s.kv, s.kv_heads)]
    options = {"dropout_p": 0.1 if dropout else 0.0, "is_causal": bool(s.causal) and not scores}
    if scores:
        operands.append(TERMS[scores](s, t))
    if _groups(s, scores):
        options["enable_gqa"] = True
    elif s.kv_heads != s.heads:
        operands[1:3] = [tensor.repeat_interleave(s.heads // tensor.shape[1], 1) for tensor in operands[1:3]]

    def attend(*inputs):
        with only(kernel, inputs[0]):
            return F.scaled_dot_product_attention(*inputs, **options)
    wanted = (0, 1, 2, 3) if scores == "bias" else (0, 1, 2)
    return either(case.phase, attend, wanted, operands, lambda: operand(s.q, s.heads))


def attention_cold(s, case):
    """Backward reads queries, keys, values, the result and the softmax's sums, all saved in the forward pass."""
    rows = s.batch * s.heads * s.q
    return Cold((0, 1, 2), saved=rows * (s.width * width_of(case) + 4)) if case.phase == "backward" else Cold()


STORED_SCORES = {"math": 4, "mask": 1, "fixed": 1, "bias": 2}  # tensors of the scores' size, about


def attention_work(s, case):
    flop = 4 * s.batch * s.heads * s.q * s.kv * s.width / (2 if s.causal else 1)
    elements = s.batch * s.width * (2 * s.q * s.heads + 2 * s.kv * s.kv_heads)
    kernel, scores, _ = parts_of(case.variant)
    stored = s.batch * s.q * s.kv * sum(STORED_SCORES.get(word, 0) * (1 if word in ("mask", "fixed") else s.heads)
                                        for word in (kernel, scores))
    return (flop, elements + stored) if case.phase == "forward" else (2.5 * flop, 2 * elements + stored)


CALLS = {
    "attention": Call("batch q kv heads kv_heads width causal", "forward backward",
                      KINDS + tuple(f"{kernel}-{kind}".rstrip("-") for kernel in KERNELS for kind in KINDS),
                      attention, attention_work, attention_cold),
}
