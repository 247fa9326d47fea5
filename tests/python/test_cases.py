#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_cases.py PROGRAM - both benchmarks (C and Python) accept the output of `predict --missing`."""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.dont_write_bytecode = True
from centimani.bench import cases  # noqa: E402
from centimani.bench.calls import CALLS  # noqa: E402


def run(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def main():
    program = sys.argv[1]
    asked = ["predict", "resnet18", "--device", "nvidia-v100-16g", "--batch", "8", "--precision", "fp32", "--missing"]
    with tempfile.TemporaryDirectory() as folder:
        path, listed = pathlib.Path(folder, "cases.json"), pathlib.Path(folder, "missing.json")
        answer = run(program, *asked, "--json", "-o", str(path))
        listed.write_text(answer)
        missing = {entry["call"] for entry in json.loads(answer)["missing"]}
        for file in (path, listed):
            found, refused = cases.read(str(file), CALLS)
            # PyTorch's benchmark times every call but the batch counter, whose type it lacks.
            assert all("int64" in reason for _, reason in refused), refused
            assert {cases.label(case) for case in found} == {
                call.replace(" - ", " ") for call in missing if "int64" not in call}
            names = run(program, "bench", "--backend", "null", "--cases", str(file), "--list")
            assert set(names.splitlines()) == missing, names
    assert len(missing) > 20
    print("1..1\nok 1 - predict --missing, bench --cases, python -m centimani bench --cases")


main()
