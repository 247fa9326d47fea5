#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""left_out_rows.py BUILD STEPS.csv FORWARD.csv.gz CAPTURES ITERATIONS.csv FOLDER

Writes FOLDER/centimani, which answers like BUILD/centimani, except that nothing was fitted to what is asked. Networks of timm on
an RTX 3090 are predicted with corrections that were fitted without their family, and iterations of Megatron-LM on an A100 with
host times that were fitted to the other half of the pairs of tensor parallelism and micro-batch. A scorer of published rows
that is given this program therefore prints the errors of rows left out.

STEPS, FORWARD, CAPTURES: as for fit_transfer.py steps. ITERATIONS: as for fit_megatron_host.py. Needs numpy and takes minutes.
"""
import argparse
import json
import math
import pathlib
import sys

import fit_megatron_host
import fit_transfer

SOURCE = {"fit": {"title": "fitted without the row", "where": "tools/left_out_rows.py", "date": "2026"}}
WRAPPER = '''#!/usr/bin/python3
import math, os, re, sys
words, here = sys.argv[1:], {here!r}
def value(option):
    return words[words.index(option) + 1] if option in words else ""
def instead(profile):
    path = os.path.join(here, profile + ".json")
    if os.path.exists(path):
        words[words.index("--device") + 1] = path
name = os.path.basename(words[1] if len(words) > 1 else "")
if value("--device") == "nvidia-rtx3090" and name.startswith("timm_"):
    instead("family-" + re.sub(r"\\d*$", "", name.split("_")[1].split(".")[0]))
if value("--device") == "nvidia-a100-80g" and value("--runtime") == "megatron":
    pair = [int(math.log2(int(value(o) or 1))) for o in ("--tp", "--micro-batch")]
    instead("pairs-%d" % (sum(pair) % 2))
os.execv({binary!r}, [{binary!r}] + words)
'''


def write(folder, name, base, more):
    profile = {"schema": 1, "id": name, "base": base, "name": name, "sources": SOURCE} | more
    (folder / f"{name}.json").write_text(json.dumps(profile))


def without_families(given, folder):
    device = "nvidia-rtx3090"
    steps = fit_transfer.training_steps(given.build, device, given.steps, given.captures)
    forward = fit_transfer.forward_steps_of(given.build, device, given.forward, given.captures)
    for family in sorted(set(steps.families)):
        logs = steps.fit_without(family, forward)
        factors = {kind: {"value": math.exp(log), "unit": "1", "kind": "fitted", "source": "fit"}
                   for kind, log in zip(steps.kinds, logs)}
        write(folder, f"family-{family}", device, {"transfer": factors})


def without_pairs(given, folder):
    """Pairs whose sum of logarithms is even are predicted by a fit to the odd ones, and the reverse."""
    sys.argv = sys.argv[:1]
    options = argparse.Namespace(bin=f"{given.build}/centimani", device="nvidia-a100-80g", data=fit_transfer.HERE / "data/devices",
                                 host_profile="nvidia-gpu")
    model, rows = fit_megatron_host.Model(options), fit_megatron_host.read(given.iterations)
    few = [r for r in rows if fit_megatron_host.micro_batches(r) in (2, 8) and r.dp == max(1, 4 // r.tp // r.pp)]
    for odd in (0, 1):
        other = [r for r in few if (int(math.log2(r.tp)) + int(math.log2(r.micro))) % 2 != odd]
        numbers = fit_megatron_host.descend(model, other, model.now())
        host = json.loads(pathlib.Path(model.profile(numbers)).read_text())["host"]
        write(folder, f"pairs-{odd}", "nvidia-a100-80g", {"host": host})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for word in ("build", "steps", "forward", "captures", "iterations", "folder"):
        parser.add_argument(word)
    given = parser.parse_args()
    folder = pathlib.Path(given.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    without_families(given, folder)
    without_pairs(given, folder)
    program = folder / "centimani"
    program.write_text(WRAPPER.format(here=str(folder), binary=str(pathlib.Path(given.build).resolve() / "centimani")))
    program.chmod(0o755)


if __name__ == "__main__":
    main()
