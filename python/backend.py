# SPDX-License-Identifier: Apache-2.0
"""backend.py - a build backend in pure Python: `pip install ./python` needs no network.

The wheel contains libcentimani.so from $CENTIMANI_LIBRARY or ../build/python, or builds it there if meson is
installed. A wheel without the library can capture models; predictions then need CENTIMANI_LIBRARY.

`python3 backend.py LIBRARY FOLDER` writes the wheel of a self-contained library (`make wheel`), tagged by the library's
architecture and the oldest glibc that it loads with.
"""
import base64
import hashlib
import os
import re
import struct
import subprocess
import sys
import sysconfig
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
NAME = "centimani"


def _version():
    scope = {}
    with open(os.path.join(HERE, NAME, "__init__.py"), encoding="utf-8") as source:
        for line in source:
            if line.startswith("__version__"):
                exec(line, scope)
    return scope["__version__"]


def _built_library():
    given = os.environ.get("CENTIMANI_LIBRARY")
    if given:
        if not os.path.isfile(given):
            raise SystemExit(f"CENTIMANI_LIBRARY: {given} is not a file")
        return given
    built = os.path.join(ROOT, "build", "python", "libcentimani.so")
    if os.path.isfile(built):
        return built
    script = os.path.join(ROOT, "tools", "build.sh")
    if os.path.isfile(script):
        subprocess.run([script, "build"], cwd=ROOT, stdout=sys.stderr, check=False)
    return built if os.path.isfile(built) else None


def _metadata():
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {_version()}\n"
            "Summary: Which accelerator to train a neural network on, how fast, at what cost, how sure\n"
            "License: Apache-2.0\nRequires-Python: >=3.9\n")


def _wheel(tag, pure):
    return (f"Wheel-Version: 1.0\nGenerator: centimani\nRoot-Is-Purelib: {'true' if pure else 'false'}\nTag: {tag}\n")


class _Archive:
    def __init__(self, path):
        self.zip, self.record = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED), []

    def add(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        info.external_attr, info.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, info):
        lines = self.record + [f"{info}/RECORD,,"]
        self.zip.writestr(zipfile.ZipInfo(f"{info}/RECORD", (2020, 1, 1, 0, 0, 0)), "\n".join(lines) + "\n")
        self.zip.close()


def _sources():
    for folder, folders, files in os.walk(os.path.join(HERE, NAME)):
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        for file in sorted(files):
            if file.endswith((".py", ".json", ".typed")):
                path = os.path.join(folder, file)
                yield os.path.relpath(path, HERE).replace(os.sep, "/"), path


def _read(path):
    with open(path, "rb") as file:
        return file.read()


MACHINES = {62: "x86_64", 183: "aarch64"}  # e_machine of ELF
OLDEST_GLIBC = 17                           # manylinux_2_17 is the oldest tag of this form


def portable_tag(library):
    """The wheel tag of a library that needs glibc alone: architecture and the newest version of glibc it refers to."""
    machine = MACHINES[struct.unpack_from("<H", library, 18)[0]]
    versions = [int(minor) for minor in re.findall(rb"\x00GLIBC_2\.(\d+)(?=[.\x00])", library)]
    return f"py3-none-manylinux_2_{max(versions + [OLDEST_GLIBC])}_{machine}"


def _write_wheel(folder, tag, library):
    info = f"{NAME}-{_version()}.dist-info"
    wheel = f"{NAME}-{_version()}-{tag}.whl"
    archive = _Archive(os.path.join(folder, wheel))
    for name, path in _sources():
        archive.add(name, _read(path))
    if library:
        archive.add(f"{NAME}/libcentimani.so", library, 0o755)
    archive.add(f"{info}/METADATA", _metadata().encode())
    archive.add(f"{info}/WHEEL", _wheel(tag, library is None).encode())
    archive.add(f"{info}/entry_points.txt", b"[console_scripts]\ncentimani = centimani.console:main\n")
    archive.close(info)
    return wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = _built_library()
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return _write_wheel(wheel_directory, f"py3-none-{platform}" if library else "py3-none-any",
                        _read(library) if library else None)


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("centimani is distributed as a wheel: build it from the repository with pip wheel ./python")


def get_requires_for_build_wheel(config_settings=None):
    return []


if __name__ == "__main__":
    LIBRARY = _read(sys.argv[1])
    print(os.path.join(sys.argv[2], _write_wheel(sys.argv[2], portable_tag(LIBRARY), LIBRARY)))
