#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_wheel.py - WHEEL... [-- PYTHON-COMMAND...]: use wheels as their users do.

A wheel of this machine's architecture is installed by pip, without index and compiler, into a new virtual environment.
With a command of another Python, such as one of another architecture under an emulator, pip installs the wheel for
that platform into a folder, which that Python imports from.
"""
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

ANSWERS = """
import centimani, importlib.util, inspect
ranking = centimani.rank("resnet50", objective="price", devices=["nvidia-h200", "nvidia-l4"], batch=32)
assert len(ranking) == 2 and ranking[0].samples_per_usd >= ranking[1].samples_per_usd, ranking
assert ranking._repr_html_().count("<tr>") == 3
assert all(row.device_time_s > 0 for row in centimani.rank("resnet50", devices=["nvidia-h200", "nvidia-h100"]))
assert centimani.fits("gpt2", "nvidia-h200", batch=1)
for name in () if importlib.util.find_spec("torch") else ("capture", "watch"):
    try:
        getattr(centimani, name)
    except centimani.CaptureError as error:
        assert "pip install torch" in str(error), error
    else:
        raise SystemExit(f"{name} without PyTorch")
try:
    assert centimani.fits("gpt2-xl", "nvidia-l4", batch=64)
except AssertionError:
    pass
else:
    raise SystemExit("gpt2-xl with a batch of 64 fits into 24 GB")
assert "gpt2-xl, batch 64" in repr(centimani.fits("gpt2-xl", "nvidia-l4", batch=64))
for shown in (centimani.fits("gpt2", "nvidia-h200"), centimani.graph("resnet50"), centimani.batch("resnet50", "nvidia-l4"),
              centimani.scale("gpt2", "nvidia-h200", n=[1, 2]), centimani.explain("resnet50", "nvidia-l4", batch=8),
              centimani.plan("gpt2", "nvidia-h200", n=8, global_batch=64), centimani.memory("gpt2", "nvidia-l4")):
    assert shown._repr_html_().startswith("<table>"), shown
alone, two = centimani.predict("gpt2", "nvidia-h200", batch=8)[0], centimani.predict("gpt2", "nvidia-h200", batch=8, n=2)[0]
assert two.step_time_s > alone.step_time_s, "the gradients' sum costs time"
rates = centimani.lookups("nvidia-h200", "sambanova-sn30", visited=20)
assert rates[0].lookups_s > centimani.lookups("nvidia-h200", visited=40)[0].lookups_s, "more nuclides take longer"
assert rates[1].lookups_s is None and "class rdu" in rates[1].reason and "nvidia-h200" in str(rates), rates
try:
    centimani.rank("resnet50", objectiv="price")
except TypeError as error:
    assert "objectiv" in str(error)
else:
    raise SystemExit("a misspelt option was accepted")
for name in ("graph", "predict", "memory", "fits", "batch", "rank", "scale", "plan", "explain", "lookups"):
    function = getattr(centimani, name)
    for word, parameter in inspect.signature(function).parameters.items():
        assert parameter.annotation is not inspect.Parameter.empty, (name, word)
print("answered", centimani.version())
"""


def environment(**more):
    """No variables that lead Python to the sources or pip to an index, and no compiler in PATH."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON", "CENTIMANI_", "CC"))}
    return {**kept, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_CONFIG_FILE": os.devnull, **more}


def run(words, status=0, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env=environment(**more), cwd="/")
    if done.returncode != status:
        sys.exit(f"{' '.join(map(str, words))}: status {done.returncode}, expected {status}\n{done.stdout}{done.stderr}")
    return done.stdout


def program(words, **more):
    """The console script: a ranking, and the exit statuses of usage errors and of models that do not fit."""
    assert "nvidia-h200" in run([*words, "rank", "resnet50"], **more)
    run([*words, "rank", "resnet5"], status=1, **more)
    run([*words, "fits", "gpt2-xl", "--device", "nvidia-l4", "--batch", "64"], status=1, **more)
    run([*words, "rank", "--no-such-option"], status=2, **more)


def test_here(wheel, folder):
    run([sys.executable, "-m", "venv", folder / "venv"])
    path = {"PATH": str(folder / "venv" / "bin")}
    run([folder / "venv/bin/python", "-m", "pip", "install", wheel], **path)
    program([folder / "venv/bin/centimani"], **path)
    return run([folder / "venv/bin/python", "-c", ANSWERS], **path)


def test_elsewhere(wheel, folder, python):
    tag = wheel.name[:-len(".whl")].split("-")[-1]
    run([sys.executable, "-m", "venv", folder / "venv"])
    run([folder / "venv/bin/python", "-m", "pip", "install", "--target", folder / "site", "--platform", tag, "--only-binary=:all:", wheel])
    program([*python, "-m", "centimani.console"], PYTHONPATH=str(folder / "site"))
    return run([*python, "-c", ANSWERS], PYTHONPATH=str(folder / "site"))


def main():
    words = sys.argv[1:]
    python = words[words.index("--") + 1:] if "--" in words else []
    wheels = [pathlib.Path(w).resolve() for w in (words[:words.index("--")] if python else words)]
    for wheel in wheels:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            said = test_elsewhere(wheel, folder, python) if python else test_here(wheel, folder)
        print(f"{wheel.name}: {said.strip()}" + (f" with {' '.join(python[:1])}" if python else f" on {platform.machine()}"))


main()
