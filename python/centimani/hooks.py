# SPDX-License-Identifier: Apache-2.0
"""hooks.py - recording above the dispatcher: module names, and operators that PyTorch would decompose."""
from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional

import torch
from torch.overrides import TorchFunctionMode

from .functions import custom_functions
from .fused import Fused, autocast_kind, recorded
from .losses import REPLACED as LOSSES
from .packed import is_packed, pack, pad, recurrent
from .trace import Recorder

# ---- operators that are recorded as one --------------------------------------------------------------------------


def _dropout(args, kwargs) -> Optional[Fused]:
    x = args[0] if args else kwargs["input"]
    p = args[1] if len(args) > 1 else kwargs.get("p", 0.5)
    train = args[2] if len(args) > 2 else kwargs.get("training", kwargs.get("train", True))
    if not train or not 0 < p < 1:
        return None
    return Fused("aten::native_dropout", [x], {"p": p},
                 lambda: [torch.empty_like(x), torch.empty_like(x, dtype=torch.bool)], extra=1)


def _attention(args, kwargs) -> Optional[Fused]:
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    given = {**dict(zip(names, args)), **kwargs}
    q, k, v, mask = given["query"], given["key"], given["value"], given.get("attn_mask")
    if q.dim() not in (3, 4):
        return None

    def make() -> List[torch.Tensor]:  # fused kernels write [B, S, heads, d]; none takes three dimensions
        if q.dim() == 3:
            return [q.new_empty(tuple(q.shape[:-1]) + (v.shape[-1],))]
        b, h, s, _ = q.shape
        return [torch.empty((b, s, h, v.shape[-1]), dtype=q.dtype, device=q.device).transpose(1, 2)]

    attrs = {"dropout_p": given.get("dropout_p", 0.0), "is_causal": given.get("is_causal", False)}
    if mask is not None and mask.dim() and mask.stride(-1) != 1:  # no fused kernel takes it
        attrs["mask_stride"] = mask.stride(-1)
    if q.dim() == 4 and q.shape[1] != k.shape[1]:  # without it keys are broadcast, which no fused kernel does
        attrs["enable_gqa"] = bool(given.get("enable_gqa", False))
    return Fused("aten::scaled_dot_product_attention", [q, k, v, mask], attrs, make)


def _linear(args, kwargs) -> Optional[Fused]:
    """A linear layer of an input that is not contiguous: whether it is copied before or after its cast depends on the
    precision of the prediction, so the layer is recorded as a whole."""
    given = {**dict(zip(("input", "weight", "bias"), args)), **kwargs}
    x, weight = given["input"], given["weight"]
    if x.dim() < 3 or x.is_contiguous() or weight.dim() != 2:
        return None
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(autocast_kind() or "", x.dtype)
    return Fused("aten::linear", [x, weight, given.get("bias")], {},
                 lambda: [x.new_empty(tuple(x.shape[:-1]) + (weight.shape[0],), dtype=dtype)])


def _rms_norm(args, kwargs) -> Optional[Fused]:
    """One kernel on GPUs since PyTorch 2.9 if input and scale have one type; several operators on a CPU."""
    given = {**dict(zip(("input", "normalized_shape", "weight", "eps"), args)), **kwargs}
    x, weight = given["input"], given.get("weight")
    if not hasattr(torch.ops.aten, "_fused_rms_norm_backward") or (weight is not None and weight.dtype != x.dtype):
        return None
    return Fused("aten::_fused_rms_norm", [x, weight], {"normalized_shape": list(given["normalized_shape"])},
                 lambda: [torch.empty_like(x, memory_format=torch.contiguous_format)])


def _recurrent(name: str, states: int) -> Callable[..., Optional[Fused]]:
    def fused(args, kwargs) -> Optional[Fused]:
        if kwargs or len(args) != 9 or not isinstance(args[2], (list, tuple)):
            return None
        x, hidden, weights, has_biases, layers, dropout, train, bidirectional, batch_first = args
        hidden = list(hidden) if isinstance(hidden, (list, tuple)) else [hidden]
        if x.dim() != 3:
            return None
        directions = 2 if bidirectional else 1
        width = hidden[0].shape[-1]

        def make() -> List[torch.Tensor]:  # cuDNN writes step by step, so a result with the batch first is not contiguous
            steps = x.transpose(0, 1) if batch_first else x
            result = x.new_empty(tuple(steps.shape[:2]) + (directions * width,))
            return [result.transpose(0, 1) if batch_first else result] + [torch.empty_like(h) for h in hidden]

        attrs = {"has_biases": has_biases, "num_layers": layers, "dropout": dropout if train else 0.0,
                 "bidirectional": bidirectional, "batch_first": batch_first, "states": states}
        return Fused("aten::" + name, [x, *hidden, *weights], attrs, make)

    return fused


def _cell(name: str, states: int) -> Callable[..., Optional[Fused]]:
    """One step of a recurrent layer: two products and one kernel on a GPU, about ten operators more on a CPU."""
    def fused(args, kwargs) -> Optional[Fused]:
        given = {**dict(zip(("input", "hx", "w_ih", "w_hh", "b_ih", "b_hh"), args)), **kwargs}
        x, hidden = given["input"], given["hx"]
        hidden = list(hidden) if isinstance(hidden, (list, tuple)) else [hidden]
        if x.dim() != 2 or len(hidden) != states or any(h.dim() != 2 for h in hidden):
            return None
        dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(autocast_kind() or "", x.dtype)
        weights = [given["w_ih"], given["w_hh"], given.get("b_ih"), given.get("b_hh")]
        return Fused("aten::" + name, [x, *hidden, *weights], {},
                     lambda: [x.new_empty(tuple(h.shape), dtype=dtype) for h in hidden])

    return fused


FUSED = {
    "dropout": _dropout, "dropout_": _dropout, "linear": _linear, "scaled_dot_product_attention": _attention,
    "rms_norm": _rms_norm, "lstm": _recurrent("lstm", 2), "gru": _recurrent("gru", 1),
    "rnn_tanh": _recurrent("rnn_tanh", 1), "rnn_relu": _recurrent("rnn_relu", 1),
    "lstm_cell": _cell("lstm_cell", 2), "gru_cell": _cell("gru_cell", 1),
}
RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")
REPLACED = {**LOSSES, "_pack_padded_sequence": pack, "_pad_packed_sequence": pad}


class FusedOperators(TorchFunctionMode):
    """Intercept calls by name before PyTorch decomposes them. `real`: run them unchanged, without recording their
    inside."""

    def __init__(self, recorder: Recorder, real: bool):
        super().__init__()
        self.recorder, self.real = recorder, real

    def backward(self, tensor, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Tensor.backward with this mode active, so that recomputation inside it is recorded too."""
        with FusedOperators(self.recorder, self.real):
            torch.autograd.backward(tensor, gradient, retain_graph, create_graph, inputs=inputs)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch.Tensor.backward:
            return self.backward(*args, **kwargs)
        return _intercepted(self.recorder, self.real, getattr(func, "__name__", ""), func, args, kwargs)


def _intercepted(recorder: Recorder, real: bool, name: str, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function, which may be recorded as one operator or be replaced."""
    if recorder.silence:
        return func(*args, **kwargs)
    if name in REPLACED and not real:
        return REPLACED[name](recorder, func, args, kwargs)
    if name in RECURRENT and is_packed(args) and not real:
        with FusedOperators(recorder, real):
            return recurrent(recorder, func, args, kwargs)
    fused = FUSED[name](args, kwargs) if name in FUSED else None
    return func(*args, **kwargs) if fused is None else _one(recorder, real, fused, func, args, kwargs)


def _one(recorder: Recorder, real: bool, fused: Fused, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Record a fused operator: run it without recording its inside, or replace it by one with the same shapes."""
    if real:
        with recorder.suspended():
            result = func(*args, **kwargs)
        recorder.record(fused.name, fused.tensors, result if isinstance(result, (list, tuple)) else [result],
                        fused.attrs)
        return result
    return recorded(recorder, fused)


@contextmanager
def functions_within(recorder: Recorder, real: bool) -> Iterator[None]:
    """Intercept calls between PyTorch's own functions too: modes are off there."""
    names = [*FUSED, *REPLACED]
    saved = {n: getattr(torch.nn.functional, n) for n in names if hasattr(torch.nn.functional, n)}

    def wrapped(name: str, func: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args, **kwargs):
            return _intercepted(recorder, real, name, func, args, kwargs)
        return call

    for name, func in saved.items():
        setattr(torch.nn.functional, name, wrapped(name, func))
    try:
        yield
    finally:
        for name, func in saved.items():
            setattr(torch.nn.functional, name, func)


@contextmanager
def backward_phase(recorder: Recorder) -> Iterator[None]:
    """Operators inside torch.autograd.backward, which Tensor.backward calls, belong to backward."""
    original = torch.autograd.backward

    def run(*args, **kwargs):
        recorder.backwards += recorder.phase != "backward"  # newer versions call it recursively
        phase, recorder.phase = recorder.phase, "backward"
        scope, recorder.scope = recorder.scope, []
        try:
            return original(*args, **kwargs)
        finally:
            recorder.phase, recorder.scope = phase, scope

    torch.autograd.backward = run
    try:
        yield
    finally:
        torch.autograd.backward = original


@contextmanager
def derivatives(recorder: Recorder) -> Iterator[None]:
    """A model may call torch.autograd.grad and use the result. The operators inside belong to forward, and backward
    differentiates them again."""
    original = torch.autograd.grad

    def run(*args, **kwargs):
        recorder.differentiating += 1
        try:
            return original(*args, **kwargs)
        finally:
            recorder.differentiating -= 1

    torch.autograd.grad = run
    try:
        yield
    finally:
        torch.autograd.grad = original


@contextmanager
def apart_from_autograd(recorder: Recorder) -> Iterator[None]:
    """Let autograd save other tensor objects of the same memory, so that a tensor is released when the program releases
    it: with autocast, autograd saves a copy in another type. PyTorch 1.13 cannot unpack saved numbers this way."""
    if not hasattr(torch, "compile"):
        yield
        return

    def kept(t: torch.Tensor) -> torch.Tensor:
        with recorder.suspended():
            return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(kept, lambda t: t):
        yield


# ---- where in the model ------------------------------------------------------------------------------------------


@contextmanager
def module_names(recorder: Recorder, model: Optional[torch.nn.Module]) -> Iterator[None]:
    names = {id(m): n for n, m in model.named_modules()} if model is not None else {}
    hooks = torch.nn.modules.module
    stack: List[int] = []

    def enter(module, inputs):
        stack.append(id(module))
        recorder.scope.append(names.get(id(module)) or type(module).__name__)
        recorder.entered(module, inputs)
        kind = autocast_kind()
        if kind:
            recorder.autocast = kind

    def leave(module, inputs, output):
        while stack and id(module) in stack:
            recorder.scope.pop()
            if stack.pop() == id(module):
                break

    first = hooks.register_module_forward_pre_hook(enter)
    try:
        second = hooks.register_module_forward_hook(leave, always_call=True)
    except TypeError:  # before PyTorch 2.1
        second = hooks.register_module_forward_hook(leave)
    try:
        yield
    finally:
        first.remove()
        second.remove()


@contextmanager
def plain_regions(recorder: Recorder) -> Iterator[None]:
    """Count the regions where the model switches autocast off, such as `with torch.autocast("cuda", enabled=False)`: they
    stay in fp32 when the step is predicted under autocast."""
    kind = torch.autocast
    enter, leave = kind.__enter__, kind.__exit__

    def entered(self):
        recorder.plain += not self._enabled
        return enter(self)

    def left(self, *error):
        recorder.plain -= not self._enabled
        return leave(self, *error)

    kind.__enter__, kind.__exit__ = entered, left  # type: ignore[method-assign]
    try:
        yield
    finally:
        kind.__enter__, kind.__exit__ = enter, leave  # type: ignore[method-assign]


@contextmanager
def eager() -> Iterator[None]:
    """Run compiled modules uncompiled."""
    with ExitStack() as stack:
        compiler = getattr(torch, "compiler", None)
        if hasattr(compiler, "set_stance"):
            stack.enter_context(compiler.set_stance("force_eager"))
        yield


@contextmanager
def replaced(module: Any, changes: Dict[str, Any]) -> Iterator[None]:
    """Replace functions of a module, as far as it has them."""
    originals = {name: getattr(module, name) for name in changes if hasattr(module, name)}
    for name in originals:
        setattr(module, name, changes[name])
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(module, name, original)


@contextmanager
def unchecked_distributions() -> Iterator[None]:
    """Distributions check their parameters by default, which needs the data. A step that passes the checks runs as without them."""
    kind = torch.distributions.Distribution
    before = kind._validate_args
    kind.set_default_validate_args(False)
    try:
        yield
    finally:
        kind.set_default_validate_args(before)


@contextmanager
def known_numbers(recorder: Recorder) -> Iterator[None]:
    """Known numbers, such as given lengths, are read at once. One by one they would be as many operators as samples."""
    kind: Any = torch.Tensor
    if hasattr(torch, "compile"):  # since PyTorch 2.0
        from torch._subclasses.fake_tensor import FakeTensor as kind

    def reading(name: str) -> Callable[..., Any]:
        original = getattr(kind, name)

        def read(t: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            known = recorder.values.read(t, name) if recorder.values is not None and not recorder.silence else None
            return original(t, *args, **kwargs) if known is None else known
        return read
    with replaced(kind, {name: reading(name) for name in ("tolist", "numpy")}):
        yield


@contextmanager
def usual_data() -> Iterator[None]:
    """Make libraries that inspect the data take the path of usual training data: sequences that are not packed, and
    masks whose contents follow from the program."""
    masks = sys.modules.get("transformers.masking_utils")
    with replaced(masks, {"find_packed_sequence_indices": lambda *args, **kwargs: None,
                          "is_tracing": lambda *args, **kwargs: False}):
        yield


OMITTED_MASKS = {"_ignore_causal_mask_sdpa": "causal", "_ignore_bidirectional_mask_sdpa": "open"}


@contextmanager
def omitted_masks(recorder: Recorder) -> Iterator[None]:
    """Note the kinds of masks that transformers omits, because nothing is masked. torch.compile traces the model, and
    then transformers makes these masks."""
    masks = sys.modules.get("transformers.masking_utils")

    def noting(original: Any, kind: str) -> Any:
        def decided(*args: Any, **kwargs: Any) -> bool:
            omitted = bool(original(*args, **kwargs))
            if omitted and kind not in recorder.omitted_masks:
                recorder.omitted_masks.append(kind)
            return omitted
        return decided
    with replaced(masks, {name: noting(getattr(masks, name, None), kind) for name, kind in OMITTED_MASKS.items()}):
        yield


@contextmanager
def recording(recorder: Recorder, model: Optional[torch.nn.Module], real: bool) -> Iterator[None]:
    """Everything that must be active around a recorded step."""
    with ExitStack() as stack:
        stack.enter_context(eager())
        stack.enter_context(omitted_masks(recorder))
        if not real:
            stack.enter_context(usual_data())
            stack.enter_context(known_numbers(recorder))
            stack.enter_context(unchecked_distributions())
            stack.enter_context(apart_from_autograd(recorder))
        stack.enter_context(module_names(recorder, model))
        stack.enter_context(plain_regions(recorder))
        stack.enter_context(custom_functions(recorder))
        stack.enter_context(backward_phase(recorder))
        stack.enter_context(derivatives(recorder))
        stack.enter_context(functions_within(recorder, real))
        stack.enter_context(FusedOperators(recorder, real))
        stack.enter_context(recorder)
        yield
