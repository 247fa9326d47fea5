#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""device_ratios.py PROGRAM [--runs FILE] [--test]

Compares ratios of devices that sources state with the predicted ratios. Each work of tests/validation/device_ratios.tsv
is one source that ran the same model on several devices; every pair of its devices is one ratio of throughputs per
device. A pair has the wrong sign if the source states a difference of more than 10 % and the program predicts the other
device to be faster. A run over several devices that has less than half of the rate per device that its source states for
the same work on one device (the work whose name is the part before the comma) is mostly start-up: its ratios are printed,
but have no sign. The last lines give the share of stated ratios inside the 90 % interval of the predicted one, with the
correlation that `rank` assumes (maker_correlation in data/factors.tsv) and without, and the correlation that the
variance of the ratios implies. Works with a listed pair and ratios of such runs are left out there. --test prints TAP: a work
fails if a pair that is not listed as known has the wrong sign, or if a listed pair has the right one.
"""
import argparse
import itertools
import json
import math
import pathlib
import statistics
import subprocess

RUNS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "validation" / "device_ratios.tsv"
FACTORS = RUNS.parent.parent.parent / "data" / "factors.tsv"
SIGMAS = 1.645  # of a 90 % interval
STEADY = 0.5  # of the rate on one device; runs of steps have 0.67 to 1.0 of it, the others 0.14 and 0.32
CLOSE = math.log(1.1)  # a stated ratio nearer to 1 than this has no sign: sources repeat a run within about 10 %


def read(path):
    """Works in the file's order: {name: {"source", "options", "known", "runs": [(device, per device, options)]}}."""
    works, work = {}, None
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if "\t" not in line:
            name, rest = line.split(": ", 1)
            options, source = rest.split(" # ", 1)
            work = works[name] = {"source": source, "options": options.split(), "known": {}, "runs": []}
        elif line.startswith("wrong\t"):
            _, faster, slower, reason = line.split("\t")
            work["known"][faster, slower] = reason
        else:
            device, devices, stated, options = line.split("\t")
            work["runs"].append((device, float(stated) / int(devices), int(devices), options.split()))
    return works


def predicted(program, work, device, options):
    """Predicted samples/s of one device, and the log error of its interval."""
    words = [program, "predict", *work["options"], *options, "--device", device, "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if not done.stdout.startswith("{"):  # a step that does not fit has an exit status, but also an answer
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
    answer = json.loads(done.stdout)
    devices = answer["plan"]["devices"] if answer.get("plan") else answer.get("devices") or 1
    low, high = answer["interval_s"]
    return answer["throughput_samples_s"] / devices, math.log(high / low) / 2 / SIGMAS


def compare(program, work):
    """Every pair of the work: (first, second, stated ratio, predicted ratio, log errors), the later run over the earlier."""
    rates = [(device, stated, *predicted(program, work, device, options)) for device, stated, _, options in work["runs"]]
    return [(b[0], a[0], b[1] / a[1], b[2] / a[2], b[3], a[3]) for a, b in itertools.combinations(rates, 2)]


def starting(works, name):
    """Devices whose run of the work over several devices is mostly start-up, by the source's own rate on one device."""
    alone = works.get(name.split(",")[0], {"runs": []})["runs"]
    rates = {device: rate for device, rate, devices, _ in alone if devices == 1}
    return {device for device, rate, devices, _ in works[name]["runs"] if devices > 1 and rate < STEADY * rates.get(device, 0)}


def has_sign(pair):
    return abs(math.log(pair[2])) > CLOSE


def wrong(pair):
    return has_sign(pair) and math.log(pair[2]) * math.log(pair[3]) < 0


def faster_first(pair):
    return (pair[0], pair[1]) if pair[2] > 1 else (pair[1], pair[0])


def table(name, work, pairs, mostly_start_up):
    """Ratios to the work's first run, and every pair with the wrong sign."""
    reference = work["runs"][0][0]
    for pair in pairs:
        if pair[1] == reference or wrong(pair):
            note = (" mostly start-up" if mostly_start_up & set(pair[:2]) else " wrong sign" if wrong(pair) else
                    "" if has_sign(pair) else " too close")
            print(f"| {pair[0]} / {pair[1]} | {name} | {pair[2]:.2f} | {pair[3]:.2f} | {pair[3] / pair[2] - 1:+.0%} |{note} |")


def summary(pairs):
    errors = [abs(math.log(p / s)) for _, _, s, p, *_ in pairs]
    told = [pair for pair in pairs if has_sign(pair)]
    print(f"\n{len(pairs)} ratios; {len(told)} differ by more than 10 %, {sum(map(wrong, told))} of them with the wrong sign; "
          f"median error {math.expm1(statistics.median(errors)):.0%}, mean {math.expm1(statistics.mean(errors)):.0%}")


def same_maker(pair):
    return pair[0].split("-")[0] == pair[1].split("-")[0]


def inside(pairs, correlation):
    """The share of stated ratios inside the 90 % interval of the predicted ones."""
    error = lambda a, b: math.sqrt(a * a + b * b - 2 * correlation * a * b)
    return sum(abs(math.log(p / s)) <= SIGMAS * error(a, b) for _, _, s, p, a, b in pairs) / len(pairs)


def intervals(pairs):
    rows = [line.split("\t") for line in FACTORS.read_text(encoding="utf-8").splitlines()]
    assumed = next(float(row[1]) for row in rows if row[0] == "maker_correlation")
    for name, chosen, correlation in (("within a maker", [p for p in pairs if same_maker(p)], assumed),
                                      ("between makers", [p for p in pairs if not same_maker(p)], 0)):
        lost = sum(a * a + b * b - math.log(p / s) ** 2 for _, _, s, p, a, b in chosen)
        implied = lost / sum(2 * a * b for *_, a, b in chosen)
        print(f"{name}: {len(chosen)} ratios, {inside(chosen, correlation):.0%} inside with a correlation of {correlation}, "
              f"{inside(chosen, 0):.0%} without; the variance implies {implied:.2f}")


def test(number, name, work, pairs):
    found = {faster_first(pair) for pair in pairs if wrong(pair)}
    faults = [f"{a} should be faster than {b}" for a, b in sorted(found - set(work["known"]))]
    faults += [f"{a} and {b} are listed as wrong, but are right" for a, b in sorted(set(work["known"]) - found)]
    print(f"{'not ' if faults else ''}ok {number} {name}{': ' if faults else ''}{'; '.join(faults)}")
    return bool(faults)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--runs", type=pathlib.Path, default=RUNS)
    parser.add_argument("--test", action="store_true")
    options = parser.parse_args()
    works, failed, everything, sound = read(options.runs), 0, [], []
    print(f"1..{len(works)}" if options.test else "| ratio | work | stated | predicted | error | |\n|---|---|---:|---:|---:|---|")
    for number, (name, work) in enumerate(works.items(), 1):
        pairs, mostly_start_up = compare(options.program, work), starting(works, name)
        steady = [pair for pair in pairs if not mostly_start_up & set(pair[:2])]
        everything += steady
        sound += [] if work["known"] else steady
        if options.test:
            failed += test(number, name, work, steady)
        else:
            table(name, work, pairs, mostly_start_up)
    if not options.test:
        summary(everything)
        intervals(sound)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
