# SPDX-License-Identifier: Apache-2.0
"""archives.py: the archives of evidence/ are complete, and the figures on their page are what the programs print.

Prints TAP. evidence/README.md states figures that were printed from single files before these became archives, so a lost or changed
file shows here.
"""
import ast
import io
import itertools
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools/first_sight")]
import evidence  # noqa: E402
import figures  # noqa: E402

PAGE = ROOT / "evidence/README.md"
MOST_BYTES = 16 << 20
GENERATED = ("timm:", "torchvision:", "generated:", "layers:")  # sources that need no file of the list
AGAIN = {"eager-k"}  # steps of other lists, recorded again


def plain(name):
    """Sorted members without times or owners: the same files give the same archive."""
    path = evidence.archive_of(name)
    with tarfile.open(path, "r|xz") as tar:
        entries = list(tar)
    places = [entry.name for entry in entries]
    return (path.stat().st_size < MOST_BYTES and places == sorted(places, key=lambda n: n.split("/"))
            and all(e.isfile() and e.mtime == e.uid == e.gid == 0 and not e.uname and ".." not in e.name and e.name[0] != "/" for e in entries))


def added(source):
    """Names of the networks that a file adds one by one. It imports their libraries when it builds them."""
    scope, torch = {}, mock.Mock(nn=mock.Mock(Module=object))
    with mock.patch.dict(sys.modules, torch=torch):
        exec(source, scope)
    return {"written:" + name for name in scope["NETWORKS"]}


def defined(source):
    """Names of the networks that a Python file of a list defines."""
    tree, names = ast.parse(source), set()
    for node in tree.body:
        value = getattr(node, "value", None)
        target = getattr(node.targets[0], "id", "") if isinstance(node, ast.Assign) else ""
        if target not in ("NETWORKS", "TRANSFORMERS"):
            continue
        if isinstance(value, ast.Dict) and not value.keys:
            return added(source)
        found = value.keys if isinstance(value, ast.Dict) else value.generators[0].iter.elts
        names |= {("written:" if target == "NETWORKS" else "transformers:") + (getattr(k, "value", None) or k.id) for k in found}
    return names


def small_members(name):
    """All but the recorded steps, which are the last member."""
    return dict(itertools.takewhile(lambda member: member[0] != "steps.jsonl", evidence.members(name)))


def lost_networks(lists):
    """Networks of a list whose source is neither in its archive nor in those that it names."""
    files = {name: small_members(name) for name in lists}
    has = {name: set().union(*[defined(data) for member, data in members.items() if member.startswith("networks/")])
           for name, members in files.items()}
    for name, members in files.items():
        sources = [name, *members.get("sources.txt", b"").decode().split()]
        drawn = {line for member, data in members.items() if member.startswith("names") for line in data.decode().splitlines()}
        drawn |= {line.split("\t")[0] for line in members.get("predicted.tsv", b"").decode().splitlines()[1:] if line[0] != "#"}
        for network in sorted(drawn):
            if network and network[0] != "#" and not network.startswith(GENERATED) and not any(network in has[s] for s in sources):
                yield f"{name}: {network}"


def missing(lists):
    for name in lists:
        found = set(small_members(name))
        for member in ("predicted.tsv", "measured.tsv", "commits.txt"):
            if member not in found and name not in AGAIN:
                yield f"{name}/{member}"
        if not any(member.startswith("names") for member in found) and name not in AGAIN:
            yield f"{name}/names.txt"


def packs_alike():
    """Two folders with the same files, written in another order and at another time, give the same bytes."""
    packed = []
    with tempfile.TemporaryDirectory() as home:
        for number, files in enumerate((("a/b.tsv", "c.txt"), ("c.txt", "a/b.tsv"))):
            for name in files:
                path = pathlib.Path(home, str(number), name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(name)
                os.utime(path, (number, number))
            archive = f"{home}/{number}.tar.xz"
            evidence.pack(f"{home}/{number}", archive)
            packed.append(pathlib.Path(archive).read_bytes())
    return packed[0] == packed[1]


def keeps_inside():
    """A member that names a place outside of the folder is refused."""
    with tempfile.TemporaryDirectory() as home:
        archive = f"{home}/bad.tar.xz"
        for name in ("../out.txt", "/tmp/out.txt"):
            with tarfile.open(archive, "w:xz") as tar:
                tar.addfile(tarfile.TarInfo(name))
            try:
                evidence.extract(archive, f"{home}/in")
                return False
            except ValueError:
                pass
    return True


def commands(text):
    """Each command of the page and the lines below it."""
    blocks = []
    for line in text.splitlines():
        if line.startswith("    $ "):
            blocks.append([line[6:], []])
        elif line.startswith("    ") and blocks:
            blocks[-1][1].append(line[4:])
    return blocks


def printed(command):
    return subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=False).stdout.rstrip().splitlines()


def rewrite():
    figures.main(PAGE)
    out = io.StringIO()
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("    $ "):
            print(line, *("    " + got for got in printed(line[6:])), sep="\n", file=out)
        elif not line.startswith("    "):
            print(line, file=out)
    PAGE.write_text(out.getvalue(), encoding="utf-8")


def main():
    if "--rewrite" in sys.argv:
        return rewrite()
    text = PAGE.read_text(encoding="utf-8")
    lists = evidence.names("eager-*") + evidence.names("compiled-*")
    other = [name for name in evidence.names() if not plain(name)]
    gone, lost = list(missing(lists)), list(lost_networks(lists))
    found = [(f"{len(evidence.names())} archives have sorted members without times", not other, other),
             (f"{len(lists)} lists have names, predictions, measurements and commits", not gone, gone),
             ("every network has its source", not lost, lost),
             ("the same files give the same archive", packs_alike(), []),
             ("no member is written outside of its folder", keeps_inside(), []),
             ("the table is what compare.py prints", figures.table() in text, [])]
    for command, lines in commands(text):
        found.append((command, printed(command) == lines, []))
    print(f"1..{len(found)}")
    for number, (what, good, notes) in enumerate(found, 1):
        print("ok" if good else "not ok", number, "-", what)
        for note in notes:
            print("#", note)
    return 0 if all(good for _, good, _ in found) else 1


if __name__ == "__main__":
    sys.exit(main())
