#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""site.py - WASM-BUILD OUT: write the page without a server, a folder of static files for any web host.

The files of web/ are taken as they are, with relative addresses. Files whose names end in .gz are for hosts that send
compressed copies; the sum of their sizes is the load.
"""
import gzip
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHART = pathlib.Path("/usr/share/javascript/chart.js/chart.min.js")
NOT_SERVED = {"report.js"}  # part of reports only
MOST_BYTES = 3_000_000      # compressed load


def page(text):
    """Relative addresses, and the module instead of the server before the page's own scripts."""
    text = re.sub(r'((?:href|src)=")/', r"\1./", text)
    return text.replace("<script ", '<script src="./offline.js"></script>\n<script ', 1)


def main():
    built, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for source in sorted((ROOT / "web").iterdir()):
        if source.name not in NOT_SERVED and source.is_file():
            shutil.copy(source, out)
    shutil.copy(CHART, out / "chart.js")
    for name in ("offline.js", "worker.js"):
        shutil.copy(ROOT / "site" / name, out)
    for name in ("centimani.js", "centimani.wasm"):
        shutil.copy(built / "site" / name, out)
    (out / "centimani.wasm").chmod(0o644)
    (out / "index.html").write_text(page((out / "index.html").read_text(encoding="utf-8")), encoding="utf-8")
    load = 0
    for file in sorted(out.iterdir()):
        packed = gzip.compress(file.read_bytes(), 9, mtime=0)
        file.with_name(file.name + ".gz").write_bytes(packed)
        load += len(packed) if file.name != "openapi.json" else 0
    print(f"{out}: {load / 1e6:.2f} MB compressed")
    return 1 if load > MOST_BYTES else 0


sys.exit(main())
