#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_install.py - LIBRARY: install python/ into a new virtual environment with pip, as in docs/capture.md, and use
it.

Nothing is downloaded: the environment sees Debian's PyTorch, and pip runs without an index.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = """
import torch

def build():
    return torch.nn.Linear(8, 4), torch.zeros(2, 8)
"""


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done.stdout


def environment(**more):
    """An environment without variables that lead Python to the sources or pip to an index."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON", "CENTIMANI_"))}
    return {**kept, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_CONFIG_FILE": os.devnull, **more}


def main():
    library = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # A copy, since pip leaves a folder named build in the sources.
        shutil.copytree(ROOT / "python", folder / "python", ignore=shutil.ignore_patterns("__pycache__"))
        run(sys.executable, "-m", "venv", "--system-site-packages", folder / "venv")
        python = folder / "venv" / "bin" / "python"
        run(python, "-m", "pip", "install", folder / "python", env=environment(CENTIMANI_LIBRARY=str(library)))
        (folder / "model.py").write_text(MODEL)
        run(python, "-m", "centimani", "capture", "model.py:build", "-o", "model.cmt.json", cwd=folder, env=environment())
        recorded = json.loads((folder / "model.cmt.json").read_text())
        assert recorded["kind"] == "trace", recorded["kind"]
        answer = run(python, "-c", "import centimani; print(centimani.__file__, centimani.graph('model.cmt.json').params)",
                     cwd=folder, env=environment())
        path, parameters = answer.split()
        assert str(folder / "venv") in path, path
        assert int(parameters) == 8 * 4 + 4, parameters


main()
