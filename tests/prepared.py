#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prepared.py - ROOT: a build that takes another build's tables refuses those of other sources; the version is the same everywhere."""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])


def stamp(folder, tree, *other):
    done = subprocess.run([sys.executable, ROOT / "tools/stamp.py", folder / "stamp.c", folder / "stamp.d", tree, *other], capture_output=True, text=True)
    return done.returncode, done.stderr


def test_other_sources_are_refused():
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name)
        one, two = tree / "build/src", tree / "build-two/src"
        for folder in (tree / "data/devices", tree / "src/device", one, two):
            folder.mkdir(parents=True)
        device = tree / "data/devices/a.json"
        device.write_text("{}")
        (tree / "src/device/calls.def").write_text("CALL(a)")
        assert stamp(two, tree, one / "stamp.c")[0] == 1, "no tables at all"
        assert stamp(one, tree) == (0, "")
        assert stamp(two, tree, one / "stamp.c") == (0, "")
        assert "data/devices/a.json" in (two / "stamp.d").read_text() and "build/src/stamp.c" in (two / "stamp.d").read_text()
        device.write_text('{"id": "a"}')
        code, said = stamp(two, tree, one / "stamp.c")
        assert code == 1 and "other sources" in said and "build" in said, said
        assert stamp(one, tree) == (0, "") and stamp(two, tree, one / "stamp.c") == (0, "")
        (tree / "src/device/calls.def").write_text("CALL(b)")
        assert stamp(two, tree, one / "stamp.c")[0] == 1


def test_versions():
    header = (ROOT / "include/centimani.h").read_text()
    version = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text()).group(1)
    major, minor, patch = map(int, version.split("."))
    assert re.search(r'#define CM_VERSION "(.*)"', header).group(1) == version, "centimani.h has another version than meson.build"
    assert int(re.search(r"#define CM_VERSION_NUMBER (\d+)", header).group(1)) == 10000 * major + 100 * minor + patch, "CM_VERSION_NUMBER"


for name, test in sorted(globals().copy().items()):
    if name.startswith("test_"):
        test()
        print("ok", name)
