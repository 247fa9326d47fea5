# SPDX-License-Identifier: Apache-2.0
"""models.py - bench --suite models: train networks for some steps, and write what `calibrate` and `predict` need.

Each network is captured to FOLDER/NAME.cmt.json, trained on the device, and gets a row of FOLDER/log.csv.
"""
import argparse
import contextlib
import csv
import os
import statistics
import sys
import time

from ..command import _arguments, _load, capture_file, capture_jax_file
from .cases import BadCase

COLUMNS = ("model", "batch", "precision", "step_time_s", "runtime")
WARM_UP = 2


def _options(words):
    parser = argparse.ArgumentParser(
        prog="python -m centimani bench --suite models", description="Train networks for some steps and write their step times.",
        epilog="FILE.py:build returns what `python -m centimani capture` expects: PyTorch, or a JAX step with --backend jax.")
    parser.add_argument("models", nargs="*", metavar="FILE.py:build", help="networks (default: braggnn, uno, unet, resnet50 and "
                        "bert_large, those of the papers' suite)")
    parser.add_argument("--backend", choices=("torch", "jax"), default="torch")
    parser.add_argument("--device", help="cuda, cpu ...; with --backend jax cpu, gpu or tpu (default: the first that is there)")
    parser.add_argument("--steps", type=int, default=10, metavar="N", help="timed steps of each network (default: 10)")
    parser.add_argument("-o", "--output", default="steps", metavar="FOLDER", help="where to write (default: steps)")
    options = parser.parse_args(words)
    if options.steps < 1:
        raise BadCase(f"--steps {options.steps} is not at least 1")
    if options.backend == "jax" and not options.models:
        raise BadCase("--backend jax needs networks, such as examples/jax_steps.py:lstm: the built-in ones are of PyTorch")
    return options


# ---- PyTorch ----------------------------------------------------------------------------------------------------------

class _Unrecorded:
    """What the named losses ask of a recorder; nothing is recorded."""
    ops, target = (), None
    suspended = staticmethod(contextlib.nullcontext)

    def __init__(self):
        self.tensors = self

    def add(self, *_, **__):
        pass

    warn = add


def _torch_step(built, backend):
    """A function that runs one training step."""
    import torch
    from ..capturing import _call, _loss_of
    from ..optimizers import NAMED, _make
    device = backend.device()
    model = built["model"].to(device).train()
    inputs = torch.utils._pytree.tree_map(lambda x: x.to(device) if torch.is_tensor(x) else x, built["inputs"])
    target = built.get("target")
    target = target.to(device) if torch.is_tensor(target) else target
    given = built.get("optimizer") or "sgd"
    optimizer = _make(given, [p for p in model.parameters() if p.requires_grad]) if given in NAMED or callable(given) else given

    def step():
        optimizer.zero_grad(set_to_none=True)
        _loss_of(built.get("loss"), _call(model, inputs), target, _Unrecorded()).backward()
        optimizer.step()
    return step, backend.synchronize


def _built_in():
    from ..suite import five_networks
    return [f"{five_networks.__file__}:{build.__name__}" for build in five_networks.ALL]


def _torch(spec, options, backend):
    trace = capture_file(spec)
    backend.start()
    step, wait = _torch_step(_arguments(_load(spec)[0]()), backend)
    return trace, _times(step, wait, options.steps)


# ---- JAX --------------------------------------------------------------------------------------------------------------

def _jax(spec, options, backend):
    import jax
    import jax.numpy as jnp
    trace = capture_jax_file(spec)
    built = _load(spec)[0]()
    backend.start()

    def filled(shape):
        return jnp.full(shape.shape, 0.01 if jnp.issubdtype(shape.dtype, jnp.floating) else 0, shape.dtype)
    args = jax.tree.map(filled, built["args"])
    step = built["train_step"] if hasattr(built["train_step"], "lower") else jax.jit(built["train_step"])
    copies = []  # a step may take its arguments' memory

    def prepare():
        copies[:] = [jax.block_until_ready(jax.tree.map(lambda x: x.copy(), args))]
    return trace, _times(lambda: jax.block_until_ready(step(*copies[0])), lambda: None, options.steps, prepare)


# ---- all --------------------------------------------------------------------------------------------------------------

def _times(step, wait, steps, prepare=lambda: None):
    found = []
    for _ in range(WARM_UP + steps):
        prepare()
        wait()
        begin = time.perf_counter()
        step()
        wait()
        found.append(time.perf_counter() - begin)
    return found[WARM_UP:]


def _row(trace, path, seconds, runtime):
    content = trace.content
    precision = content.get("precision") or "fp32"
    return dict(zip(COLUMNS, (path, content["batch"], precision, f"{seconds:.6g}", runtime)))


def measure(options, backend):
    os.makedirs(options.output, exist_ok=True)
    run, log = (_jax if options.backend == "jax" else _torch), os.path.join(options.output, "log.csv")
    with open(log, "w", newline="", encoding="utf-8") as file:
        rows = csv.DictWriter(file, COLUMNS)
        rows.writeheader()
        for spec in options.models or _built_in():
            trace, times = run(spec, options, backend)
            path = trace.save(os.path.join(options.output, f"{trace.name}.cmt.json"))
            seconds = statistics.median(times)
            rows.writerow(_row(trace, path, seconds, backend.runtime))
            file.flush()
            sys.stderr.write(f"{trace.name}: {seconds * 1e3:.4g} ms a step ({min(times) * 1e3:.4g} to {max(times) * 1e3:.4g}), "
                             f"batch {trace.content['batch']}\n")
    print(log)
    return 0


def main(words):
    from .cli import backend_of
    options = _options(words)
    backend = backend_of(options)
    if not backend.available():
        raise BadCase(f"this {backend.framework} sees no device '{backend.name}'")
    return measure(options, backend)
