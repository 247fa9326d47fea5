#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit_interval.py LIST... - fit `common_error` of eager steps on the H200 to predictions that were made before measuring.

LIST is an archive of evidence/ such as eager-s; newest lists last: the last three count twice. The error of a device-bound step is e^2 = common_error^2 + calls^2, of which `calls` comes from its calls' errors (docs/dev/time.md, The interval).
The tables have e in the interval, with the factors of their time, WAS. The program looks for the common error with the least
mean of width + 20 times the distance of steps outside, in logarithms: the interval score, whose least value is at the true 5 % and
95 % quantiles (Gneiting and Raftery 2007). It prints the score also where the errors of calls are multiplied by FACTORS. Each list
is also judged by the error that the others give. Host-bound steps: how many lie inside by their day, for several host errors.
"""
import math
import statistics
import sys

import compare

WAS = {"common": 0.04, "host": 0.25}  # data/factors.tsv when lists j to r were predicted
SIGMAS = 1.645
COMMON, FACTORS = [0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.045], [0.7, 0.8, 0.9, 1, 1.1, 1.2]
HOST = [0.21, 0.22, 0.23, 0.24, 0.25, 0.26]


def step_of(p, m, weight):
    host, low, high = float(p["host_s"]), float(p["low_s"]), float(p["high_s"])
    device = float(p["step_s"]) if host < 0.9999 * float(p["step_s"]) else float(p["device_s"])
    wide = math.exp(SIGMAS * WAS["host"])
    error = WAS["common"]  # where the host decides both bounds, the device's error does not matter
    if high > 1.001 * host * wide:
        error = math.log(high / device) / SIGMAS
    elif low > 1.001 * host / wide:
        error = -math.log(low / device) / SIGMAS
    return {"measured": m["step_s"], "host_bound": m["union_s"] < 0.8 * m["step_s"], "device": device, "host": host, "weight": weight,
            "calls": math.sqrt(max(0, error ** 2 - WAS["common"] ** 2))}


def steps_of(name, weight):
    return [step_of(p, m, weight) for p, m in compare.joined([name])]


def bounds(step, common, factor, host_error):
    error = math.hypot(common, factor * step["calls"])
    return [max(step["device"] * math.exp(z * error), step["host"] * math.exp(z * host_error)) for z in (-SIGMAS, SIGMAS)]


def inside(steps, common, host_error=WAS["host"], factor=1):
    return statistics.mean(low <= s["measured"] <= high for s in steps for low, high in [bounds(s, common, factor, host_error)])


def score(steps, common, factor=1):
    total = 0
    for s in steps:
        low, high = bounds(s, common, factor, WAS["host"])
        total += s["weight"] * (math.log(high / low) + 20 * max(0, math.log(low / s["measured"]), math.log(s["measured"] / high)))
    return total / sum(s["weight"] for s in steps)


def best(steps):
    return min(COMMON, key=lambda common: score(steps, common))


def joined(lists, without=None):
    return [s for name, steps in lists.items() if name != without for s in steps]


def of_kind(lists, host_bound):
    return {name: [s for s in steps if s["host_bound"] == host_bound] for name, steps in lists.items()}


def main():
    names = sys.argv[1:]
    lists = {name.removeprefix("eager-"): steps_of(name, 2 if name in names[-3:] else 1) for name in names}
    names = list(lists)
    device, host = of_kind(lists, False), of_kind(lists, True)
    every, common = joined(device), best(joined(device))
    print(f"device-bound steps: common_error {common}; inside\nlist      steps    was    now  by the others, whose common_error")
    hits = 0
    for name, steps in device.items():
        others = best(joined(device, name))
        hits += inside(steps, others) * len(steps)
        print(f"{name:8s} {len(steps):6d}  {inside(steps, WAS['common']):.3f}  {inside(steps, common):.3f}  {inside(steps, others):.3f}  {others}")
    print(f"{'all':8s} {len(every):6d}  {inside(every, WAS['common']):.3f}  {inside(every, common):.3f}  {hits / len(every):.3f}")
    print("\nscore by common_error and factor of calls\n      " + " ".join(f"{c:5.3f}" for c in COMMON))
    for factor in FACTORS:
        print(f"{factor:5.2f} " + " ".join(f"{score(every, c, factor):5.3f}" for c in COMMON))
    print("\nhost-bound steps inside, by host_error\n      " + " ".join(f"{name[:5]:>5s}" for name in names) + "   all")
    for error in HOST:
        print(f"{error:5.2f} " + " ".join(f"{inside(steps, common, error):5.3f}" for steps in [*host.values(), joined(host)]))


if __name__ == "__main__":
    main()
