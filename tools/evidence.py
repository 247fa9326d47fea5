#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""evidence.py - read, write and list the archives of evidence/ (evidence/README.md says what they hold).

    tools/evidence.py list [ARCHIVE]                  the archives, or the members of one
    tools/evidence.py show ARCHIVE/MEMBER             print a member
    tools/evidence.py extract ARCHIVE FOLDER          write all members to a folder
    tools/evidence.py pack FOLDER ARCHIVE             write a folder as evidence/ARCHIVE.tar.xz
    tools/evidence.py run ARCHIVE/PROGRAM ARGUMENT... run a Python program of an archive as if it were in tools/
    tools/evidence.py figures [README.md]             print the table of all lists, or write it to the page

ARCHIVE is a name such as eager-s, or the path of a .tar.xz file. Programs that take ARCHIVE/MEMBER also take files.
"""
import io
import lzma
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "evidence"
ENDING = ".tar.xz"


def archive_of(name):
    """The path of an archive, or None if there is no such archive."""
    path = pathlib.Path(name)
    if path.name.endswith(ENDING) and path.is_file():
        return path
    path = FOLDER / (str(name) + ENDING)
    return path if path.is_file() else None


def names(pattern="*"):
    """Names of the archives that match a pattern, sorted."""
    return sorted(path.name.removesuffix(ENDING) for path in FOLDER.glob(pattern + ENDING))


def members(archive):
    """Each member's name and bytes, in the order of the archive. Large members come last, so readers stop early."""
    with tarfile.open(archive_of(archive), "r|xz") as tar:
        for entry in tar:
            if entry.isfile():
                yield entry.name, tar.extractfile(entry).read()


def opened(path):
    """A text file for reading: a file, a file.xz, or ARCHIVE/MEMBER."""
    path = str(path)
    if os.path.exists(path):
        return lzma.open(path, "rt", encoding="utf-8") if path.endswith(".xz") else open(path, encoding="utf-8")
    for cut in (i for i, c in enumerate(path) if c == "/"):
        if archive_of(path[:cut]):
            for name, data in members(path[:cut]):
                if name == path[cut + 1:]:
                    return io.StringIO(data.decode(), newline=None)
    raise FileNotFoundError(f"{path}: no such file, and no such member of an archive in {FOLDER}")


def has(archive, member):
    return any(name == member for name, _ in members(archive))


def extract(archive, folder):
    for name, data in members(archive):
        path = pathlib.Path(folder) / name
        if ".." in path.parts or path.is_absolute() and not path.is_relative_to(pathlib.Path(folder).absolute()):
            raise ValueError(f"{archive}: member {name} lies outside of the archive")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def pack(folder, archive):
    """The same files give the same archive: sorted names, no times, no owners."""
    path = archive if str(archive).endswith(ENDING) else FOLDER / (str(archive) + ENDING)
    files = sorted(p for p in pathlib.Path(folder).rglob("*") if p.is_file())
    with lzma.open(path, "wb", preset=9 | lzma.PRESET_EXTREME) as out, tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for file in files:
            entry = tarfile.TarInfo(file.relative_to(folder).as_posix())
            entry.size, entry.mode = file.stat().st_size, 0o644
            with open(file, "rb") as data:
                tar.addfile(entry, data)


def run(program, arguments):
    """A copy of the repository's top folder, made of links, in which the program stands among those of tools/."""
    archive, _, member = program.partition("/")
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        (top / "tools").mkdir()
        for path in ROOT.iterdir():
            if path.name != "tools":
                (top / path.name).symlink_to(path)
        for path in (ROOT / "tools").iterdir():
            (top / "tools" / path.name).symlink_to(path)
        for name, data in members(archive):
            if "/" not in name and name.endswith((".py", ".c")):
                (top / "tools" / name).unlink(missing_ok=True)
                (top / "tools" / name).write_bytes(data)
        words = [sys.executable, str(top / "tools" / member), *arguments]
        return subprocess.run(words, env={**os.environ, "PYTHONPATH": path_of_modules()}, check=False).returncode


def path_of_modules():
    """Programs of archives import those of tools/, which Python finds behind their links."""
    return os.pathsep.join([str(ROOT / "tools"), str(ROOT / "tools/first_sight"), *filter(None, [os.environ.get("PYTHONPATH")])])


def show_list(archive=None):
    for name in [archive] if archive else names():
        parts = list(members(name))
        print(f"{name}: {len(parts)} members, {archive_of(name).stat().st_size} bytes")
        for member, data in parts if archive else []:
            print(f"{len(data):10d} {member}")


def show_figures(page=None):
    sys.path.insert(0, str(ROOT / "tools/first_sight"))
    import figures
    figures.main(page)


def main():
    ways = {"list": show_list, "show": lambda path: sys.stdout.write(opened(path).read()) and None, "extract": extract, "pack": pack,
            "run": lambda program, *arguments: run(program, arguments), "figures": show_figures}
    if len(sys.argv) < 2 or sys.argv[1] not in ways:
        raise SystemExit(__doc__)
    return ways[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
