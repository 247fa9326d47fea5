#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""release.py - OUT: test what `make dist` has made: each file as its user would use it."""
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import venv

OUT = pathlib.Path(sys.argv[1]).resolve()
HERE = platform.machine()
OTHER = "aarch64" if HERE == "x86_64" else "x86_64"


def only(pattern):
    found = sorted(OUT.glob(pattern))
    assert len(found) == 1, f"{pattern}: {[f.name for f in found]}"
    return found[0]


def answer(*command):
    """The ranking for ResNet-50 that one of the programs gives: devices, and throughputs to six digits."""
    done = subprocess.run([*map(str, command), "rank", "resnet50", "--json"], capture_output=True, text=True, check=True,
                          cwd=tempfile.gettempdir())
    return [(row["device"], f"{row['throughput_samples_s'] or 0:.6g}") for row in json.loads(done.stdout)["ranking"]]


def test_programs():
    ranking = answer(only(f"centimani-*-linux-{HERE}"))
    assert len(ranking) > 20 and ranking == answer(f"qemu-{OTHER}-static", only(f"centimani-*-linux-{OTHER}")), ranking


def test_wheels():
    only(f"centimani-*{OTHER}.whl")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        subprocess.run([f"{folder}/bin/pip", "install", "-q", "--no-index", "--disable-pip-version-check", only(f"centimani-*{HERE}.whl")], check=True)
        assert answer(f"{folder}/bin/centimani") == answer(only(f"centimani-*-linux-{HERE}"))


def test_package():
    listed = subprocess.run(["dpkg-deb", "-c", only("*.deb")], capture_output=True, text=True, check=True).stdout
    assert all(f in listed for f in ("./usr/bin/centimani\n", "centimani.1.gz", "centimani.h")), listed


def test_sums_and_lists():
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=OUT, check=True)
    assert len((OUT / "SHA256SUMS").read_text().splitlines()) == len(os.listdir(OUT)) - 1
    bill = json.loads(only("*.cdx.json").read_text())
    assert {"jansson", "libyaml", "zlib"} <= {c["name"] for c in bill["components"]} and all(c["version"] for c in bill["components"])
    assert (OUT / "NOTES.md").read_text().startswith("# Centimani ") and only("centimani.html").stat().st_size < 8e6


for name, test in sorted(globals().copy().items()):
    if name.startswith("test_"):
        test()
        print("ok", name, flush=True)
