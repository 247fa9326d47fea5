# SPDX-License-Identifier: Apache-2.0
"""command.py - python -m centimani capture [--jax] FILE.py:build [-o model.cmt.json]."""
from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from .errors import CaptureError, NeedsData

HELP = """build() takes no argument and returns the model and its inputs, (model, inputs), or a dict of capture()'s
arguments: model, inputs, loss, optimizer, target, batch_dim, seq_dim, name. It runs on fake tensors, so a model of
any size can be built. Only the inputs' shapes and types matter. With --jax it returns a dict of capture_jax()'s
arguments: train_step, args, batch_argnums, name, precision."""


def _load(spec: str) -> Tuple[Any, str]:
    path, _, function = spec.rpartition(":")
    if not path or not function.isidentifier():
        raise ValueError(f"'{spec}': write FILE.py:FUNCTION")
    if not os.path.isfile(path):
        raise ValueError(f"{path}: no such file")
    module_spec = importlib.util.spec_from_file_location("captured_model", path)
    module = importlib.util.module_from_spec(module_spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    module_spec.loader.exec_module(module)
    if not callable(getattr(module, function, None)):
        raise ValueError(f"{path}: has no function '{function}'")
    return getattr(module, function), function


def _arguments(built: Any) -> Dict[str, Any]:
    if isinstance(built, dict):
        return built
    if isinstance(built, (list, tuple)) and 2 <= len(built) <= 4:
        return dict(zip(("model", "inputs", "loss", "optimizer"), built))
    raise ValueError("build() must return (model, inputs) or a dict with 'model' and 'inputs'")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m centimani capture", epilog=HELP,
                                     description="Record one training step of a PyTorch or JAX program, without a device.")
    parser.add_argument("spec", metavar="FILE.py:build", help="a Python file and its function that builds the model")
    parser.add_argument("-o", "--output", metavar="PATH", help="the output file (default: NAME.cmt.json)")
    parser.add_argument("--jax", action="store_true", help="build() returns a JAX training step and its arguments")
    parser.add_argument("--optimizer", help="sgd, momentum, adam or adamw")
    parser.add_argument("--loss", help="cross-entropy, mse or bce")
    parser.add_argument("--seq-dim", type=int, metavar="N", help="dimension whose length may be changed with --seq")
    parser.add_argument("--name", help="the name of the model")
    return parser


def build_without_memory(build: Callable[[], Any], world: Any) -> Any:
    """Call build() on fake tensors; if it needs tensor contents, call it on real ones."""
    try:
        with world.inside():
            return build()
    except Exception as error:
        kind, text = type(error).__name__, str(error).lower()
        if not kind.startswith(("DataDependent", "DynamicOutput")) and "meta tensor" not in text:
            raise
    return build()


def capture_file(spec: str, **given: Any) -> Any:
    """Capture the model that FILE.py:build returns. `given`: arguments of capture() that override those of build()."""
    from .capturing import capture
    from .worlds import new_world, require_supported
    require_supported()
    build, function = _load(spec)
    world = new_world()
    name = function if function != "build" else os.path.basename(spec).split(".")[0]

    def captured(built: Any, world: Any) -> Any:
        return capture(**{"name": name, **_arguments(built), **{k: v for k, v in given.items() if v is not None}}, world=world)
    try:
        return captured(build_without_memory(build, world), world)
    except NeedsData:  # a real model can answer
        return captured(build(), new_world())


def capture_jax_file(spec: str, name: Optional[str] = None) -> Any:
    """Capture the JAX step that FILE.py:build returns."""
    from .jax_capture import capture_jax
    build, function = _load(spec)
    built = build()
    if not isinstance(built, dict) or not {"train_step", "args", "batch_argnums"} <= set(built):
        raise ValueError(f"{function}() must return a dict with 'train_step', 'args' and 'batch_argnums'")
    rest = {k: v for k, v in built.items() if k not in ("train_step", "args")}
    return capture_jax(built["train_step"], *built["args"], **{**rest, "name": name or rest.get("name", function)})


def _captured(options: argparse.Namespace) -> Any:
    if not options.jax:
        return capture_file(options.spec, optimizer=options.optimizer, loss=options.loss, seq_dim=options.seq_dim,
                            name=options.name)
    given = [o for o in ("optimizer", "loss", "seq_dim") if getattr(options, o) is not None]
    if given:
        raise ValueError(f"--{given[0].replace('_', '-')} has no meaning with --jax: the step itself has it")
    return capture_jax_file(options.spec, options.name)


def main(words: List[str]) -> int:
    options = _parser().parse_args(words)
    started = time.monotonic()
    if not options.jax and importlib.util.find_spec("torch") is None:
        sys.stderr.write("centimani: capture needs PyTorch 1.13 or later, which is not installed for this Python\n")
        return 1
    try:
        trace = _captured(options)
        path = trace.save(options.output or f"{trace.name}.cmt.json")
    except (CaptureError, ValueError, OSError) as error:
        sys.stderr.write(f"centimani: {error}\n")
        return 1
    except Exception as error:  # the user's own build() failed
        from .errors import user_line
        sys.stderr.write(f"centimani: {type(error).__name__}: {error}\n  at {user_line(error)}\n")
        return 1
    for warning in trace.warnings:
        sys.stderr.write(f"warning: {warning}\n")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
    sys.stderr.write(f"{trace.parameters:,} parameters, {len(trace.content['ops'])} operators, "
                     f"{time.monotonic() - started:.1f} s, {peak:.2f} GiB of host memory at most\n")
    print(path)
    return 0
