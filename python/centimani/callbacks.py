# SPDX-License-Identifier: Apache-2.0
"""callbacks.py - watch one step of a loop that a framework runs: Hugging Face's Trainer, Lightning, or a plain loop over a
loader.

    trainer.add_callback(centimani.watch.huggingface("nvidia-h200", "nvidia-l4"))
    lightning.Trainer(callbacks=[centimani.watch.lightning("nvidia-h200", "nvidia-l4")])
    for batch in centimani.watch.loop(loader, model, "nvidia-h200", "nvidia-l4"): ...

The second step is recorded, because the first one may allocate and initialize. Training goes on whatever happens here: a
step that cannot be recorded, or a question without an answer, becomes a warning.
"""
from __future__ import annotations

import importlib
import warnings
from typing import Any, Callable, Dict, Iterable, Iterator, Optional, Tuple, TypeVar

import torch

from .library import CentimaniError
from .trace import CaptureError
from .watching import watch

T = TypeVar("T")
SECOND = 2


class OneStep:
    """Records step number `at`, asks about the devices, and reports. `predictions` and `watched` keep the results."""

    def __init__(self, devices: Tuple[str, ...], at: int, report: Callable[[Any], None], options: Dict[str, Any]):
        self.devices, self.at, self.report, self.options = devices, at, report, options
        self.seen, self.open = 0, False
        self.watched: Optional[watch] = None
        self.predictions: Any = None

    def begin(self, model: Optional[torch.nn.Module]) -> None:
        self.seen += 1
        if self.seen == self.at:
            self.watched = watch(model)
            self.watched.__enter__()
            self.open = True

    def end(self) -> None:
        if not self.open:
            return
        self.open = False
        assert self.watched is not None
        try:
            self.watched.__exit__(None, None, None)
            if self.devices:
                self.predictions = self.watched.predict(*self.devices, **{"batch": self.watched.seen_batch, **self.options})
                self.report(self.predictions)
        except (CaptureError, CentimaniError) as error:
            warnings.warn(f"centimani: {error}", stacklevel=2)

    def give_up(self, error: BaseException) -> None:
        """The step failed: stop recording."""
        if self.open:
            self.open = False
            assert self.watched is not None
            self.watched.__exit__(type(error), error, None)


def _import(*names: str) -> Any:
    """The first of several modules that is installed."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise CentimaniError(f"this callback needs {names[0]}, which is not installed for this Python")


def huggingface(*devices: str, at: int = SECOND, report: Callable[[Any], None] = print, **options: Any) -> Any:
    """A callback for transformers.Trainer. Options are those of centimani.predict()."""
    base = _import("transformers").TrainerCallback

    class WatchCallback(OneStep, base):  # type: ignore[misc,valid-type]
        def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if state.is_world_process_zero:
                self.begin(kwargs.get("model"))

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.end()

    return WatchCallback(devices, at, report, options)


def lightning(*devices: str, at: int = SECOND, report: Callable[[Any], None] = print, **options: Any) -> Any:
    """A callback for Lightning's Trainer. Options are those of centimani.predict()."""
    base = _import("lightning.pytorch", "pytorch_lightning").Callback

    class WatchCallback(OneStep, base):  # type: ignore[misc,valid-type]
        def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, *more: Any) -> None:
            if trainer.is_global_zero:
                self.begin(pl_module)

        def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int,
                               *more: Any) -> None:
            self.end()

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            self.give_up(exception)

    return WatchCallback(devices, at, report, options)


def loop(batches: Iterable[T], model: Optional[torch.nn.Module] = None, *devices: str, at: int = SECOND,
         report: Callable[[Any], None] = print, **options: Any) -> Iterator[T]:
    """The batches of a loader; the loop's body is one step. Options are those of centimani.predict()."""
    one = OneStep(devices, at, report, options)
    for batch in batches:
        one.begin(model)
        try:
            yield batch
        except GeneratorExit as left:  # the loop was left inside the step
            one.give_up(left)
            raise
        one.end()
