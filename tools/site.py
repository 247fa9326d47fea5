#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""site.py - WASM-BUILD PROGRAM OUT: write the page without a server, a folder of static files for any web host.

The page is the document that PROGRAM's server sends, with the answer to the first question inside. Files whose names end
in .gz are for hosts that send compressed copies; the sum of their sizes is the load. OUT/centimani.html is the same page
as one file, which needs no host: a browser opens it from the file system.
"""
import base64
import gzip
import pathlib
import shutil
import subprocess
import sys
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHART = pathlib.Path("/usr/share/javascript/chart.js/chart.min.js")
MOST_BYTES = 3_000_000      # compressed load
# Binaryen's passes that make the code smaller. Its -O2 to -Oz would also cut the tables (site/meson.build).
PASSES = ("dae-optimizing", "duplicate-function-elimination", "optimize-instructions", "precompute-propagate", "pick-load-signs", "local-cse",
          "simplify-locals", "vacuum", "coalesce-locals", "simplify-locals", "vacuum", "reorder-locals", "rse", "vacuum")


def served_page(program):
    """The page of the program's server: one document with its style, scripts, and the answer to the first question."""
    server = subprocess.Popen([program, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        with urllib.request.urlopen(server.stdout.readline().strip()) as reply:
            return reply.read().decode()
    finally:
        server.terminate()
        server.wait()


def replaced(text, old, new):
    if text.count(old) != 1:
        sys.exit(f"site.py: the page has {text.count(old)} times {old!r}, expected once")
    return text.replace(old, new)


def page(text, offline):
    """The module instead of the server. The page has one answer, whatever the question of its address is."""
    text = replaced(text, "</head>", f"<script>{offline}</script>\n</head>")
    for name in ("", "openapi.json"):
        text = replaced(text, f'href="/{name}"', f'href="./{name}"')
    return replaced(text, '<html lang="en" data-answered>', '<html lang="en" data-answered="usual">')


def small(script):
    """The script without comments, spaces, and functions that nothing calls. emcc would do so from -O2 on, which site/meson.build avoids."""
    root = subprocess.run(["em-config", "EMSCRIPTEN_ROOT"], capture_output=True, text=True, check=True).stdout.strip()
    return subprocess.run(["node", f"{root}/tools/acorn-optimizer.js", script, "JSDCE", "minifyWhitespace"], capture_output=True, check=True).stdout


def smaller(module, out):
    """The module with less code."""
    subprocess.run(["wasm-opt", "--all-features", *("--" + name for name in PASSES), module, "-o", out], check=True)


def one_file(text, out):
    """The page with the chart library, the worker and the module inside."""
    module = base64.b64encode(gzip.compress((out / "centimani.wasm").read_bytes(), 9, mtime=0)).decode()
    worker = replaced((out / "worker.js").read_text(encoding="utf-8"), "packed = ''", f"packed = '{module}'")
    worker = replaced(worker, "importScripts('centimani.js');", (out / "centimani.js").read_text(encoding="utf-8"))
    chart = CHART.read_text(encoding="utf-8")
    if "</script" in worker + chart:
        sys.exit("site.py: a script has the end of a script inside")
    text = replaced(text, 'href="./openapi.json"', 'href="data:application/json;base64,'
                    + base64.b64encode((out / "openapi.json").read_bytes()).decode() + '"')
    text = replaced(text, 'href="./"', 'href="#"')
    return text.replace("</head>", f'<script type="text/plain" id="worker">{worker}</script>\n<script>{chart}</script>\n</head>', 1)


def main():
    built, program, out = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    offline = (ROOT / "site" / "offline.js").read_text(encoding="utf-8")
    text = page(served_page(program), offline)
    (out / "index.html").write_text(text, encoding="utf-8")
    shutil.copy(CHART, out / "chart.js")
    for source in (ROOT / "web" / "openapi.json", ROOT / "site" / "worker.js"):
        shutil.copy(source, out)
    smaller(built / "site" / "centimani.wasm", out / "centimani.wasm")
    (out / "centimani.js").write_bytes(small(built / "site" / "centimani.js"))
    (out / "centimani.wasm").chmod(0o644)
    load = 0
    for file in sorted(out.iterdir()):
        packed = gzip.compress(file.read_bytes(), 9, mtime=0)
        file.with_name(file.name + ".gz").write_bytes(packed)
        load += len(packed) if file.name != "openapi.json" else 0
    (out / "centimani.html").write_text(one_file(text, out), encoding="utf-8")
    print(f"{out}: {load / 1e6:.2f} MB compressed")
    return 1 if load > MOST_BYTES else 0


sys.exit(main())
