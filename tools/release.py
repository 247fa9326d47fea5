#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""release.py - VERSION OUT: write notes of a release (from CHANGELOG.md) and its list of components (CycloneDX) to OUT."""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Debian's package with the copy that was linked in, name, license, and what has it inside.
COMPONENTS = (("libjansson-dev", "jansson", "MIT", "program, library and page"),
              ("libyaml-dev", "libyaml", "MIT", "program, library and page"),
              ("libnanopb-dev", "nanopb", "Zlib", "program, library and page"),
              ("zlib1g-dev", "zlib", "Zlib", "program, library and page"),
              ("libmicrohttpd-dev", "libmicrohttpd", "LGPL-2.1-or-later", "program"),
              ("libc6-dev", "glibc", "LGPL-2.1-or-later", "static programs"),
              ("libjs-chart.js", "chart.js", "MIT", "program and page"))


def notes(version):
    """The section of CHANGELOG.md about version."""
    found = re.search(rf"^## {re.escape(version)}\b.*?\n(.*?)(?=^## |\Z)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M | re.S)
    if not found:
        sys.exit(f"release.py: CHANGELOG.md has no section '## {version}'")
    return f"# Centimani {version}\n\n{found.group(1).strip()}\n"


def component(package, name, license_id, where):
    debian = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=True).stdout
    return {"type": "library", "name": name, "version": debian, "purl": f"pkg:deb/debian/{package}@{debian}",
            "licenses": [{"license": {"id": license_id}}], "properties": [{"name": "centimani:in", "value": where}]}


def main():
    version, out = sys.argv[1], pathlib.Path(sys.argv[2])
    (out / "NOTES.md").write_text(notes(version), encoding="utf-8")
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": {"type": "application", "name": "centimani", "version": version,
                                       "licenses": [{"license": {"id": "Apache-2.0"}}]}},
            "components": [component(*row) for row in COMPONENTS]}
    (out / f"centimani-{version}.cdx.json").write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")


main()
