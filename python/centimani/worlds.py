# SPDX-License-Identifier: Apache-2.0
"""worlds.py - environments to run a step without device or memory: fake tensors, or PyTorch 1.13's meta device."""
from __future__ import annotations

import copy
import logging
from collections import OrderedDict
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
from torch.overrides import TorchFunctionMode

from .trace import CaptureError, Recorder, storage_of
from .values import Values

OLDEST = (1, 13)
FACTORIES = ("empty", "zeros", "ones", "full", "rand", "randn", "randint", "arange", "linspace", "tensor", "eye",
             "randperm", "as_tensor", "empty_strided")


def version() -> Tuple[int, int]:
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int("".join(c for c in minor if c.isdigit()) or 0)


def require_supported() -> None:
    if version() < OLDEST:
        raise CaptureError(f"PyTorch {torch.__version__} is too old to record a step: 1.13 or later is needed")


# ---- shapes that the meta device of 1.13 does not know -----------------------------------------------------------


def _convolution_backward(dy, x, w, bias_sizes, *rest, **_):
    mask = rest[-1]
    bias = torch.empty(bias_sizes, dtype=w.dtype, device=w.device) if mask[2] else None
    return (torch.empty_like(x) if mask[0] else None, torch.empty_like(w) if mask[1] else None, bias)


def _like_second(dy, x, *rest, **_):
    return torch.empty_like(x)


def _embedding_dense_backward(dy, index, rows, *rest, **_):
    return torch.empty((rows, dy.shape[-1]), dtype=dy.dtype, device=dy.device)


def _native_group_norm(x, w, b, n, c, hw, groups, eps):
    stats = torch.empty((n, groups), dtype=x.dtype, device=x.device)
    return torch.empty_like(x), stats, torch.empty_like(stats)


def _native_group_norm_backward(dy, x, mean, rstd, w, n, c, hw, groups, mask):
    return (torch.empty_like(x), torch.empty_like(w) if mask[1] else None, torch.empty_like(w) if mask[2] else None)


def _nll_loss2d_forward(x, target, weight, reduction, ignored):
    shape = target.shape if reduction == 0 else ()
    return (torch.empty(shape, dtype=x.dtype, device=x.device), torch.empty((), dtype=x.dtype, device=x.device))


def _max_pool3d(x, kernel, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
    def each(values):
        return list(values) * 3 if len(values) == 1 else list(values)
    k, s, p, d = each(kernel), each(stride or kernel), each(padding), each(dilation)
    room = [n + 2 * p[i] - d[i] * (k[i] - 1) - 1 + (s[i] - 1 if ceil_mode else 0) for i, n in enumerate(x.shape[-3:])]
    shape = tuple(x.shape[:-3]) + tuple(r // s[i] + 1 for i, r in enumerate(room))
    return (torch.empty(shape, dtype=x.dtype, device=x.device), torch.empty(shape, dtype=torch.int64, device=x.device))


SHAPES = {
    "aten::nll_loss2d_forward": _nll_loss2d_forward, "aten::nll_loss2d_backward": _like_second,
    "aten::max_pool3d_with_indices": _max_pool3d, "aten::max_pool3d_with_indices_backward": _like_second,
    "aten::convolution_backward": _convolution_backward, "aten::embedding_dense_backward": _embedding_dense_backward,
    "aten::max_pool2d_with_indices_backward": _like_second, "aten::_adaptive_avg_pool2d_backward": _like_second,
    "aten::avg_pool2d_backward": _like_second, "aten::gelu_backward": _like_second,
    "aten::native_group_norm": _native_group_norm, "aten::native_group_norm_backward": _native_group_norm_backward,
}


class MetaRecorder(Recorder):
    def run(self, func, args, kwargs):
        if args and str(func._schema.name) == "aten::detach" and not isinstance(args[0], torch.Tensor):
            return torch.scalar_tensor(args[0], device="meta")  # checkpointing in 1.13 detaches a saved number
        try:
            return func(*args, **kwargs)
        except NotImplementedError:
            rule = SHAPES.get(str(func._schema.name))
            if rule is None:
                raise
            with self.suspended():
                return rule(*args, **kwargs)


class _OnMeta(TorchFunctionMode):
    """Create all tensors on the meta device."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if getattr(func, "__name__", "") in FACTORIES and getattr(func, "__module__", None) in (None, "torch"):
            if not kwargs.get("device"):
                kwargs["device"] = "meta"
        return func(*args, **kwargs)


class MetaWorld:
    name, device = "meta", "meta"

    def __init__(self) -> None:
        self.values = Values()

    def recorder(self) -> Recorder:
        recorder = MetaRecorder()
        recorder.values = self.values
        return recorder

    @contextmanager
    def inside(self) -> Iterator[None]:
        with _OnMeta():
            yield

    def empty(self, t: torch.Tensor, shape: Tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        return _empty(t, shape, dtype, "meta")


PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::convolution")


class FakeRecorder(Recorder):
    def run(self, func, args, kwargs):
        """Fake tensors multiply operands of several types, which devices refuse. And PyTorch multiplies groups of rows in
        all types, but knows the shape of the result in bf16 only."""
        name = str(func._schema.name) if hasattr(func, "_schema") else ""
        if name in PRODUCTS and len({a.dtype for a in args if isinstance(a, torch.Tensor)}) > 1:
            raise RuntimeError(f"{name} of operands of several types")
        if name != "aten::_grouped_mm" or args[0].dtype == torch.bfloat16:
            return super().run(func, args, kwargs)
        with self.suspended():
            y = func(*(a.to(torch.bfloat16) for a in args[:2]), *args[2:], **kwargs)
            return torch.empty_strided(y.shape, y.stride(), dtype=args[0].dtype, device=y.device)


@contextmanager
def _converting_fakes() -> Iterator[None]:
    """Module.to() on fake tensors: PyTorch would swap them in place, which their weak references forbid. Parameters that change are
    replaced, the same ones by the same."""
    kind, made = torch.nn.Module, {}  # type: ignore[var-annotated]
    original = kind._apply

    def parameter(p: torch.Tensor, function: Any) -> torch.Tensor:
        with torch.no_grad():
            new = function(p)
        key = (id(p), new.dtype, new.device)
        if new is not p and key not in made:
            made[key] = (torch.nn.Parameter(new, p.requires_grad), p)  # p: its identity is not reused
        return p if new is p else made[key][0]

    def apply(module: torch.nn.Module, function: Any, *rest: Any, **named: Any) -> torch.nn.Module:
        for child in module.children():
            child._apply(function)
        for table, change in ((module._parameters, parameter), (module._buffers, lambda b, function: function(b))):
            table.update({name: change(t, function) for name, t in table.items() if t is not None})
        return module

    kind._apply = apply  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        kind._apply = original  # type: ignore[method-assign]


class FakeWorld:
    name, device = "fake", "cpu"

    def __init__(self) -> None:
        from torch._subclasses.fake_tensor import FakeTensorMode
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.log = logging.getLogger("torch._subclasses.fake_tensor")
        self.values = Values()

    def recorder(self) -> Recorder:
        recorder = FakeRecorder()
        recorder.values = self.values
        return recorder

    @contextmanager
    def inside(self) -> Iterator[None]:
        quiet, self.log.disabled = self.log.disabled, True  # capture() reports the error
        try:
            with self.mode, _converting_fakes():
                yield
        finally:
            self.log.disabled = quiet

    def empty(self, t: torch.Tensor, shape: Tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        with self.mode:
            return _empty(t, shape, dtype, "cpu")


def _empty(t: torch.Tensor, shape: Tuple[int, ...], dtype: torch.dtype, device: str) -> torch.Tensor:
    if t.dim() == 4 and not t.is_contiguous() and t.is_contiguous(memory_format=torch.channels_last):
        return torch.empty(shape, dtype=dtype, device=device).to(memory_format=torch.channels_last)
    if tuple(shape) == tuple(t.shape) and t.layout == torch.strided:
        return torch.empty_strided(tuple(t.shape), t.stride(), dtype=dtype, device=device)
    return torch.empty(shape, dtype=dtype, device=device)


def new_world() -> Any:
    return FakeWorld() if version() >= (2, 0) else MetaWorld()


# ---- a model moved there and back --------------------------------------------------------------------------------


def converted(t: torch.Tensor, dtype: Optional[torch.dtype]) -> torch.dtype:
    """The type of `t` after t.to(dtype), as modules do it: only floating-point tensors change."""
    return dtype if dtype is not None and t.is_floating_point() else t.dtype


class Attributes:
    """The attributes of a model's modules, to undo what forward stores there: caches would keep fake tensors."""

    def __init__(self, model: torch.nn.Module):
        self.attributes = [(m.__dict__, dict(m.__dict__)) for m in model.modules()]
        self.containers = [(c, copy.copy(c)) for table, _ in self.attributes for c in table.values()
                           if type(c) in (dict, list, set, OrderedDict)]

    def restore(self) -> None:
        for table, saved in self.attributes:
            table.clear()
            table.update(saved)
        for container, saved in self.containers:
            container.clear()
            (container.extend if isinstance(container, list) else container.update)(saved)


class Swapped:
    """Replaces a model's parameters and buffers by fakes that share memory like the real ones.

    dtype: the fakes have the types after model.to(dtype); None: their present types.
    """

    def __init__(self, model: torch.nn.Module, world: Any, dtype: Optional[torch.dtype] = None):
        self.model, self.world, self.dtype = model, world, dtype
        self.saved: List[Tuple[Dict[str, Any], str, Any]] = []
        self.fakes: Dict[Any, torch.Tensor] = {}

    def fake(self, t: torch.Tensor) -> torch.Tensor:
        return self.fakes.get(self._key(t), t)

    @staticmethod
    def _key(t: torch.Tensor) -> Any:
        return (storage_of(t), t.storage_offset(), tuple(t.shape), t.stride(), t.dtype)

    def _replace(self, table: Dict[str, Any], name: str, t: torch.Tensor, parameter: bool) -> None:
        key = self._key(t)
        if key not in self.fakes:
            made = self.world.empty(t, tuple(t.shape), converted(t, self.dtype))
            with self.world.inside():
                self.fakes[key] = torch.nn.Parameter(made, requires_grad=t.requires_grad) if parameter else made
            if not parameter and t.numel() == 1 and not t.is_meta:  # such as a flag that a quantizer is initialised
                self.world.values.hold(made, t.detach().cpu().to(made.dtype, copy=True))
        self.saved.append((table, name, t))
        table[name] = self.fakes[key]

    def __enter__(self) -> "Swapped":
        self.keep, self.attributes = [], Attributes(self.model)
        for module in self.model.modules():
            for name, t in list(module._parameters.items()):
                if t is not None:
                    self.keep.append(t)
                    self._replace(module._parameters, name, t, True)
            for name, t in list(module._buffers.items()):
                if t is not None:
                    self.keep.append(t)
                    self._replace(module._buffers, name, t, False)
        for module in self.model.modules():
            self._replace_lists(module.__dict__)
        return self

    def _replace_lists(self, attributes: Dict[str, Any]) -> None:
        """Recurrent layers keep references to their weights in a list."""
        for name, value in list(attributes.items()):
            if isinstance(value, list) and any(isinstance(t, torch.nn.Parameter) for t in value):
                self.saved.append((attributes, name, value))
                attributes[name] = [self.fake(t) if isinstance(t, torch.Tensor) else t for t in value]

    def __exit__(self, *exc: Any) -> None:
        for table, name, t in reversed(self.saved):
            table[name] = t
        self.attributes.restore()
