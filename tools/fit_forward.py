#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit_forward.py BUILD TIMM_INFER.csv.gz CAPTURES [--as-run FOLDER] [--anew] [--write] [--families]

Fits the factors by which times transferred from the reference device are corrected (`transfer` in a profile) to timm's
forward steps, which the source ran both eagerly and compiled with the same batch size (tools/forward_steps.py --gain). One
factor per kind of call (src/device/corrections.def) multiplies the profile's present one. It minimises the squared log
error of the steps, as tools/fit_transfer.py steps does. Prints the error of the steps and of the speed-up by torch.compile:
now, fitted, and with each family of networks left out of the fit. Families that are variants of one architecture are left
out together. --as-run: as for forward_steps.py. --anew starts from profiles without the factors that this tool fitted
before: without it, those contain the family that is left out. --write puts the factors into the profiles. Needs numpy.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import tempfile

import numpy

import fit_transfer
import forward_steps
import internal

NOT_FITTED = ("none", "other", "pool", "elementwise:strided")  # they take so little time that they would only absorb the errors of others
LEAST_SHARE = 0.005  # of the time of the steps: kinds below it are not fitted
# Kinds that are fitted with the others, which would absorb their errors, but keep the profile's factor: training steps of the
# card contradict the fit.
KEPT = {"nvidia-rtx4090": ("gemm", "elementwise")}
SOURCE_ID = "timm-forward"
SOURCE = {"title": "Eager and compiled forward steps of networks of timm in AMP, PyTorch 2.4 and 2.9",
          "where": "huggingface/pytorch-image-models, results; fitted by tools/fit_forward.py", "date": "2025"}
# Names of one architecture
ALIKE = {"vit": ("vit", "deit", "beit", "beitv"),
         "resnet": ("resnet", "resnetv", "seresnet", "seresnext", "resnext", "ecaresnet", "resnetrs", "resnetblur", "resnetaa",
                    "legacy", "wide", "gluon", "tv"),
         "efficientnet": ("efficientnet", "tf", "efficientnetv", "tinynet"), "swin": ("swin", "swinv")}
FAMILIES = {name: family for family, names in ALIKE.items() for name in names}


def family_of(model):
    name = re.split(r"[\d_.]", model)[0]
    return FAMILIES.get(name, name)


def pairs_of(given):
    """Steps of networks that ran both ways, by device: lists of an eager and a compiled row."""
    pairs, devices = collections.defaultdict(dict), collections.defaultdict(list)
    for r in forward_steps.rows_of(given):
        pairs[forward_steps.key_of(r) + (r["batch"], r["precision"])][r["compiled"]] = r
    for key, pair in sorted(pairs.items()):
        if len(pair) == 2:
            devices[forward_steps.GAIN_DEVICES[key[0]]] += [pair["0"], pair["1"]]
    return devices


def profile_of(device, anew):
    """The device's profile; anew: without the factors that were fitted to these steps."""
    profile = json.loads((fit_transfer.HERE / f"data/devices/{device}.json").read_text())
    factors = profile.get("transfer", {})
    profile["transfer"] = {kind: number for kind, number in factors.items() if not anew or number["source"] != SOURCE_ID}
    return profile


def predict(binary, device, r):
    runtime = "torch-compile" if r["compiled"] == "1" else "torch-eager"
    done = subprocess.run([binary, "predict", r["capture"], "--device", device, "--batch", str(int(float(r["batch"]))),
                           "--precision", r["precision"], "--layout", r["layout"], "--mode", "inference", "--runtime", runtime,
                           "--ops", "--json"], capture_output=True, text=True)  # 3: it is predicted not to fit
    if not done.stdout.startswith("{"):
        raise SystemExit(f"{r['model']}: {done.stderr}")
    answer = json.loads(done.stdout)
    times = collections.Counter()
    for op in answer["ops"]:
        times[op["call"]] += op["time_s"]
    return answer["step_time_s"], times


class Pairs(fit_transfer.Steps):
    """Steps in pairs, and the time of each kind of call in them."""

    def __init__(self, build, profile, rows):
        binary = pathlib.Path(build) / "centimani"
        with concurrent.futures.ThreadPoolExecutor(2) as pool, tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "profile.json"
            path.write_text(json.dumps(profile))
            answers = list(pool.map(lambda r: predict(binary, path, r), rows))
        calls = sorted({call for _, times in answers for call in times})
        done = subprocess.run([internal.built(build, "call_kinds")], input="\n".join(calls) + "\n", capture_output=True,
                              text=True, check=True)
        kind_of = dict(zip(calls, done.stdout.splitlines(), strict=True))
        self.now = numpy.array([step for step, _ in answers])
        self.measured = numpy.array([float(r["step_ms"]) / 1e3 for r in rows])
        self.families = numpy.array([family_of(r["model"]) for r in rows])
        self.compiled = numpy.array([r["compiled"] == "1" for r in rows])
        by_kind = [collections.Counter() for _ in rows]
        for (_, times), kinds in zip(answers, by_kind):
            for call, seconds in times.items():
                kinds[kind_of[call]] += seconds
        share = collections.Counter()
        for kinds, step in zip(by_kind, self.now):
            for kind, seconds in kinds.items():
                share[kind] += seconds / step / len(rows)
        self.kinds = sorted(k for k, part in share.items() if part >= LEAST_SHARE and k not in NOT_FITTED)
        self.kept = numpy.array([kind in KEPT.get(profile["id"], ()) for kind in self.kinds])
        self.matrix = numpy.array([[kinds[kind] for kind in self.kinds] for kinds in by_kind])
        self.rest = self.now - self.matrix.sum(1)

    def _prior(self, forward):
        return numpy.zeros(len(self.kinds)), numpy.array([fit_transfer.STREAMS.get(kind, fit_transfer.PRIOR)
                                                          for kind in self.kinds])

    def predicted(self, logs):
        return super().predicted(numpy.where(self.kept, 0, logs))

    def without(self, family):
        return self.families != family

    def gain_errors(self, predicted):
        gain = predicted[~self.compiled] / predicted[self.compiled]
        return gain / (self.measured[~self.compiled] / self.measured[self.compiled]) - 1


def describe(steps, name, predicted):
    error, gain = abs(predicted / steps.measured - 1), steps.gain_errors(predicted)
    print(f"{name:16} eager {error[~steps.compiled].mean():.1%}, compiled {error[steps.compiled].mean():.1%}, speed-up "
          f"{abs(gain).mean():.1%} mean, {numpy.median(abs(gain)):.1%} median, bias {numpy.median(gain):+.1%}")
    return gain


def fit(given, device, rows, errors):
    profile = profile_of(device, given.anew)
    steps = Pairs(given.build, profile, rows)
    logs, left_out = steps.fit(numpy.ones(len(rows), bool)), steps.left_out()
    print(f"{device}: {len(rows) // 2} pairs")
    for name, predicted in (("now", steps.now), ("fitted", steps.predicted(logs)), ("family left out", left_out)):
        errors[name] += list(describe(steps, name, predicted))
    base = json.loads((fit_transfer.HERE / f"data/devices/{profile['base']}.json").read_text())
    present = base.get("transfer", {}) | profile["transfer"]
    factors = {kind: numpy.exp(log) * present.get(kind, {"value": 1})["value"] for kind, log in zip(steps.kinds, logs)}
    for kind, log, kept in zip(steps.kinds, logs, steps.kept):
        print(f"  {kind:20} {numpy.exp(log):.3g} of the present factor: {factors[kind]:.3g}{', not taken' if kept else ''}")
    if given.families:
        gain = abs(steps.gain_errors(left_out))
        families = steps.families[~steps.compiled]
        for family in sorted(set(families)):
            print(f"  {family:16} {sum(families == family):3} pairs, speed-up {gain[families == family].mean():.1%} off")
    if given.write:
        taken = {kind: factors[kind] for kind, kept in zip(steps.kinds, steps.kept) if not kept}
        fit_transfer.write(device, taken, (SOURCE_ID, SOURCE))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for word in ("build", "table", "captures"):
        parser.add_argument(word)
    parser.add_argument("--as-run", help="folder of captures by benchmark_captures.py")
    parser.add_argument("--anew", action="store_true", help="start without the factors that were fitted to these steps")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--families", action="store_true", help="also the error of each family that is left out")
    given = parser.parse_args()
    given.gain, errors = True, collections.defaultdict(list)
    for device, rows in sorted(pairs_of(given).items()):
        fit(given, device, rows, errors)
    for name, all_errors in errors.items():
        print(f"all devices, {name}: speed-up {abs(numpy.array(all_errors)).mean():.1%} mean, "
              f"{numpy.median(abs(numpy.array(all_errors))):.1%} median")


if __name__ == "__main__":
    main()
