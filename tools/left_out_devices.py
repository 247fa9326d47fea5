#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""left_out_devices.py BUILD FOLDER

Writes FOLDER/centimani, which answers like BUILD/centimani, except that it knows no results of the device that is asked for, as
`validate --leave-device-out` does: GPUs have no corrections, operator models and surfaces, also not those of other cards with
the same chip; other machines have the parameters that were fitted without them (data/results/left-out-styles.json). A scorer of
published rows that is given this program prints the errors of rows whose device is left out. Devices of which nothing was
fitted, and the one whose kernel tables are transferred, answer as always.
"""
import argparse
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent.parent
STYLES = HERE / "data/results/left-out-styles.json"
WRAPPER = '''#!/usr/bin/python3
import os, sys
words = sys.argv[1:]
if "--device" in words[:-1]:
    at = words.index("--device") + 1
    path = os.path.join({here!r}, os.path.basename(words[at]) + ".json")
    words[at] = path if os.path.exists(path) else words[at]
os.execv({binary!r}, [{binary!r}] + words)
'''
RESULTS = ("transfer", "fits", "surfaces", "chip")  # parts of a GPU's profile that follow from results


def with_bases(profiles, name):
    """The profile's members, those of its bases included."""
    profile = profiles[name]
    return (with_bases(profiles, profile["base"]) if "base" in profile else {}) | profile


def left_out(profiles, name, styles):
    """What replaces the device; None: nothing of it was fitted, or its tables are transferred to others."""
    whole = with_bases(profiles, name)
    more = {"execution": styles[name]} if name in styles else {part: None for part in RESULTS if whole.get(part)}
    if list(HERE.glob(f"data/kernels/{name}.*")) or not more:
        return None
    source = {"calibration": {"title": "fitted without the device", "where": str(STYLES.relative_to(HERE)), "date": "2026"}}
    return {"schema": 1, "id": f"{name}-left-out", "base": name, "name": f"{name}, left out", "sources": source} | more


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("folder")
    given = parser.parse_args()
    folder = pathlib.Path(given.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    profiles = {path.stem: json.loads(path.read_text()) for path in (HERE / "data/devices").glob("*.json")}
    styles = {}
    for family in json.loads(STYLES.read_text())["families"].values():
        styles |= family.get("without_device", {})
    for name, profile in profiles.items():
        instead = None if profile.get("abstract") else left_out(profiles, name, styles)
        if instead:
            (folder / f"{name}.json").write_text(json.dumps(instead))
    program = folder / "centimani"
    program.write_text(WRAPPER.format(here=str(folder), binary=str(pathlib.Path(given.build).resolve() / "centimani")))
    program.chmod(0o755)


if __name__ == "__main__":
    main()
