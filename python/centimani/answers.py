# SPDX-License-Identifier: Apache-2.0
"""answers.py - what real passes over made-up data say to a step without data: numbers that a model reads, and sizes that depend on data.

A model may read a number of a tensor (`item`) or keep the rows that a mask selects. Fake tensors do not know them. So the forward pass and
the loss run twice with the model's own weights, at one and two times the batch size; real numbers are random where the given ones are all
equal. The n-th such operator of a module answers with what the n-th one of the real pass said. What nearly doubles grows with the batch,
by a whole number for each sample.
"""
from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch
from torch.utils._pytree import tree_flatten, tree_map

from . import hooks
from .trace import Recorder

NUMBERS = ("aten::_local_scalar_dense", "aten::item", "aten::is_nonzero", "aten::equal", "aten::allclose")
CHOSEN = ("aten::nonzero", "aten::masked_select", "aten::_unique", "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive",
          "aten::repeat_interleave", "aten::bincount", "torchvision::nms")
KEPT_TYPE = ("aten::index", "aten::masked_select")  # a result of the first operand's type
GROWS = 1.5  # halfway between what stays and what doubles

Key = Tuple[str, str]  # module, operator


def depends(name: str, args: Any) -> bool:
    """The result of an operator, or its shape, is a matter of contents."""
    if name == "aten::index":
        return any(isinstance(t, torch.Tensor) and t.dtype in (torch.bool, torch.uint8) for t in args[1])
    return name in NUMBERS or name in CHOSEN


def key_of(recorder: Recorder, name: str) -> Key:
    return recorder.scope[-1] if recorder.scope else "", name


class Listening(Recorder):
    """Notes what operators of a real pass answer."""

    def __init__(self) -> None:
        super().__init__()
        self.said: Dict[Key, List[Any]] = {}

    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        name = str(func._schema.name) if hasattr(func, "_schema") else ""
        if depends(name, args):
            plain = tree_map(lambda x: (tuple(x.shape), x.dtype) if isinstance(x, torch.Tensor) else x, result)
            self.said.setdefault(key_of(self, name), []).append(plain)
        return result


def _listed(t: torch.Tensor) -> Any:
    """Tensor.tolist(), number by number as fake tensors do it."""
    return [_listed(part) for part in t] if t.dim() else t.item()


def _sizes(answer: Any) -> List[int]:
    """The numbers in an answer that may grow with the batch."""
    return [n for n in tree_flatten(answer)[0] if type(n) is int]


def _each(totals: List[int], batch: int) -> List[int]:
    """Parts of totals for one sample, whose sum is that of the totals for one sample, as nearly as integers can be."""
    parts = [n // batch for n in totals]
    missing = round(sum(totals) / batch) - sum(parts)
    for i in sorted(range(len(totals)), key=lambda i: parts[i] * batch - totals[i])[:missing]:
        parts[i] += 1
    return parts


class Answers:
    """Answers of two passes: at `batch` and at twice as many samples."""

    def __init__(self, batch: int, once: Dict[Key, List[Any]], twice: Dict[Key, List[Any]]):
        self.batch, self.once, self.slopes = batch, once, {}  # type: ignore[var-annotated]
        for key, said in once.items():
            first = [_sizes(a) for a in said]
            second = [_sizes(a) for a in twice.get(key, [])]
            self.slopes[key] = [[0] * len(sizes) for sizes in first]
            if [len(s) for s in first] == [len(s) for s in second]:
                self._find(self.slopes[key], first, second)

    def _find(self, slopes: List[List[int]], first: List[List[int]], second: List[List[int]]) -> None:
        """Growth of the same number of all answers of a module, judged by their sum: experts share the tokens of a batch."""
        for place in range(max(map(len, first), default=0)):
            held = [i for i, sizes in enumerate(first) if place < len(sizes)]
            totals = [first[i][place] for i in held]
            if sum(second[i][place] for i in held) > GROWS * sum(totals):
                for i, part in zip(held, _each(totals, self.batch)):
                    slopes[i][place] = part

    def at(self, key: Key, n: int, batch: int) -> Any:
        """The n-th answer of a module's operator at a batch size; None: it did not run."""
        said = self.once.get(key, [])
        if n >= len(said):
            return None
        slopes = iter(self.slopes[key][n])

        def grown(x: Any) -> Any:
            if type(x) is not int:
                return x
            slope = next(slopes)
            return slope * batch if slope and len(said) == 1 else x + slope * (batch - self.batch)
        return tree_map(grown, said[n])


class Replay:
    """The answers for one recorded step."""

    def __init__(self, answers: Answers, batch: int):
        self.answers, self.batch, self.counts, self.now = answers, batch, {}, None  # type: ignore[var-annotated]

    def meet(self, recorder: Recorder, name: str, args: Any) -> None:
        """Called before every operator."""
        self.now = None
        if depends(name, args):
            key = key_of(recorder, name)
            self.counts[key] = self.counts.get(key, -1) + 1
            self.now = self.answers.at(key, self.counts[key], self.batch)

    def give(self, recorder: Recorder, name: str, args: Any) -> Any:
        """The result of the operator that was met last; None: unknown."""
        if self.now is None:
            return None
        recorder.warn("numbers or sizes depend on the data: they are those of a real pass over random numbers, in proportion to the batch")

        def made(shape: Tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
            device = next(t.device for t in tree_flatten(args)[0] if isinstance(t, torch.Tensor))
            return torch.empty(shape, dtype=args[0].dtype if name in KEPT_TYPE else dtype, device=device)
        return _with_tensors(self.now, made)


def _with_tensors(answer: Any, made: Callable[..., torch.Tensor]) -> Any:
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], torch.dtype):
        return made(*answer)
    return type(answer)(_with_tensors(a, made) for a in answer) if isinstance(answer, (list, tuple)) else answer


# ---- real passes -------------------------------------------------------------------------------------------------


@contextmanager
def _unchanged(model: torch.nn.Module) -> Iterator[None]:
    """Undo what a pass changes: statistics, caches, and the state of random numbers."""
    from .worlds import Attributes
    attributes = Attributes(model)
    buffers = [(b, b.detach().clone()) for b in model.buffers()]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        try:
            yield
        finally:
            attributes.restore()
            with torch.no_grad():
                for b, saved in buffers:
                    b.copy_(saved)


def real_data(t: torch.Tensor, shape: Tuple[int, ...], contents: Optional[torch.Tensor]) -> torch.Tensor:
    """An input of a real pass: given integers and truth values; real numbers at random, or the given ones."""
    if contents is not None:
        return contents.to(t.device)
    if tuple(t.shape) == shape and bool((t != t.flatten()[:1]).any()):
        return t.detach().clone()
    return torch.randn(shape, device=t.device).to(t.dtype)


def heard(model: torch.nn.Module, batch: int, run: Callable[[int, Recorder], Any]) -> Optional[Answers]:
    """The answers of run(samples, recorder), which runs forward and loss; None: the model has no data to run with."""
    tensors = [*model.parameters(), *model.buffers()]
    if any(t.is_meta or type(t) not in (torch.Tensor, torch.nn.Parameter) for t in tensors):
        return None
    said = []
    for samples in (batch, 2 * batch):
        recorder = Listening()
        with _unchanged(model), ExitStack() as stack:
            stack.enter_context(hooks.usual_data())
            stack.enter_context(hooks.unchecked_distributions())
            stack.enter_context(hooks.replaced(torch.Tensor, {"tolist": _listed}))
            stack.enter_context(hooks.recording(recorder, model, real=True))
            run(samples, recorder)
        said.append(recorder.said)
    return Answers(batch, *said)
