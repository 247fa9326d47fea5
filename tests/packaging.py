#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packaging.py - PROGRAM ROOT: what can be tested of packaging/ without a network: the action's gate, versions, names.

Images, conda packages and actions themselves are built elsewhere.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
FOLDER = ROOT / "packaging"


def gate(model, devices, options="", **limits):
    """Exit status, output and summary of the action's script."""
    with tempfile.TemporaryDirectory() as folder:
        summary = pathlib.Path(folder, "summary.md")
        words = {**os.environ, "PROGRAM": PROGRAM, "MODEL": model, "DEVICES": devices, "OPTIONS": options, "GITHUB_STEP_SUMMARY": str(summary), **limits}
        done = subprocess.run([str(FOLDER / "gates.sh")], env=words, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, summary.read_text()


def test_gate():
    status, said, summary = gate("gpt2", "nvidia-h200,nvidia-l4", "--batch 1 --seq 512")
    assert status == 0 and "::error" not in said, said
    assert len(summary.splitlines()) == 4, summary
    status, said, summary = gate("gpt2-xl", "nvidia-h200 nvidia-l4", "--batch 8")
    assert status == 1 and said.count("::error") == 1 and "does not fit nvidia-l4" in said, said
    assert "| nvidia-l4 | It does not fit" in summary, summary
    status, said, summary = gate("resnet18", "nvidia-h200 nvidia-l4", "--batch 64", MAX_STEP="20ms", MAX_MEMORY="20GiB")
    assert status == 1 and said.count("::error") == 1, said  # 64 images take half of this on an H200, and more on an L4
    assert "nvidia-l4: --max-step 20.0 ms missed" in said and "nvidia-h200: within the limits" in said, said
    assert len(summary.splitlines()) == 6, summary
    status, said, _ = gate("resnet18", "nvidia-h200", "--batch 64", MIN_THROUGHPUT="many")
    assert status == 1 and "'many' is not a number" in said, said
    status, said, _ = gate("llama3-8b", "nvidia-h200 nvidia-rtx4090", "--quantize nf4-dq --lora r=16 --seq 2048 --recompute full --batch 8")
    assert status == 3 and said.count("::error") == 1 and "llama3-8b may not fit nvidia-rtx4090" in said, said
    status, said, _ = gate("gpt2", "no-such-device")
    assert status == 1 and "no-such-device" in said, said


def test_action():
    """Every input that the action declares is used, and every one that it uses is declared."""
    text = (FOLDER / "action.yml").read_text()
    declared = set(re.findall(r"^  ([\w-]+):$", text.split("inputs:")[1].split("\nruns:")[0], re.M))
    assert declared == set(re.findall(r"inputs\.([\w-]+)", text)), declared
    names = set(re.findall(r"^        ([A-Z_]+):", text, re.M))
    assert names == {"MODEL", "DEVICES", "OPTIONS", "MAX_STEP", "MAX_MEMORY", "MIN_THROUGHPUT"}
    assert all(re.search(rf"\$\{{?{n}\b", (FOLDER / "gates.sh").read_text()) for n in names)


def test_versions():
    version = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text()).group(1)
    assert f'version = "{version}"' in (FOLDER / "conda/meta.yaml").read_text(), "conda/meta.yaml has another version"
    recipe = (FOLDER / "conda/meta.yaml").read_text()
    for option in re.findall(r"-D(\w+)=", recipe):
        assert option == "buildtype" or f"option('{option}'" in (ROOT / "meson_options.txt").read_text(), option


def test_container():
    """The file's targets and paths exist in the Makefile."""
    text, make = (FOLDER / "Containerfile").read_text(), (ROOT / "Makefile").read_text()
    for target in re.findall(r"^RUN make (\w+)", text, re.M):
        assert re.search(rf"^{target}:", make, re.M), target
    assert "build-static/centimani" in text and "build-static/centimani" in make


TESTS = [value for name, value in sorted(globals().items()) if name.startswith("test_")]
print(f"1..{len(TESTS)}")
failed = 0
for number, test in enumerate(TESTS, 1):
    try:
        test()
        print(f"ok {number} - {test.__name__}")
    except AssertionError as error:
        failed += 1
        print(f"not ok {number} - {test.__name__}\n# {error}")
sys.exit(1 if failed else 0)
