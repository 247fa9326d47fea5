#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""update_fits.py - PROGRAM TIMINGS.csv.gz KEY TITLE WHERE DATE: fit every device of a timing table and update its profile.

Runs `PROGRAM fit` on the rows of each device that is an alias in a profile under data/devices, and writes the fitted
models, their errors and their source into that profile. Models of the same source are replaced. The table itself is not
stored.
"""
import csv
import gzip
import io
import json
import pathlib
import subprocess
import sys
import tempfile

WORST = 0.5  # models with larger mean errors are rejected
DEVICES = pathlib.Path(__file__).parent.parent / "data" / "devices"


def aliases():
    for path in sorted(DEVICES.glob("*.json")):
        for alias in json.loads(path.read_text()).get("aliases", []):
            yield alias, path


def rows_by_device(table):
    groups = {}
    with gzip.open(table, "rt", newline="") as text:
        for row in csv.DictReader(text):
            groups.setdefault(row["device"], []).append(row)
    return groups


def fit(program, rows, device):
    with tempfile.TemporaryDirectory() as folder:
        timings, profile = pathlib.Path(folder, "t.csv"), pathlib.Path(folder, "p.json")
        out = io.StringIO()
        writer = csv.DictWriter(out, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
        timings.write_text(out.getvalue())
        subprocess.run([program, "fit", str(timings), "--device", device, "-o", str(profile)], check=False)
        if not profile.exists():  # the program has printed the reason
            return []
        return [f for f in json.loads(profile.read_text())["fits"] if f["error"]["mape"] < WORST]


def put(path, fits, key, source):
    """Rewrite the fits of one source in a profile's text, one per line, and keep all other lines."""
    old = json.loads(path.read_text())
    fits = [f for f in old.get("fits", []) if f["source"] != key] + [{**f, "source": key, "date": source["date"]} for f in fits]
    lines, inside = [], False
    for line in path.read_text().split("\n"):
        inside = inside or line.startswith('  "fits": [')
        if not inside:
            lines.append(line)
        inside = inside and not line.startswith("  ]")
    if not any(line.startswith('  "sources": {') for line in lines):  # all sources were those of the base
        end = max(i for i, line in enumerate(lines) if line == "}")
        lines[end - 1] += ","
        lines[end:end] = ['  "sources": {', "  }"]
    at = next(i for i, line in enumerate(lines) if line.startswith('  "sources": {'))
    if key not in old.get("sources", {}):
        more = "," if old.get("sources") else ""
        lines.insert(at + 1, f"    {json.dumps(key)}: {json.dumps(source)}{more}")
    lines[at:at] = ['  "fits": ['] + ["    " + json.dumps(f) + ("," if f is not fits[-1] else "") for f in fits] + ["  ],"]
    path.write_text("\n".join(lines))


def main():
    program, table, key, title, where, date = sys.argv[1:]
    groups = rows_by_device(table)
    for alias, path in aliases():
        fits = fit(program, groups[alias], path.stem) if alias in groups else []
        if fits:
            put(path, fits, key, {"title": title, "where": where, "date": date})


main()
