#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit_probe.py LIST... - how host-bound steps follow the time of a tiny operator on the same host.

LIST is an archive of evidence/ such as eager-s. Each of its recorded steps has the seconds per tiny operator that its process measured just before (measure.py, host_probe). The medians of lists give the time at which the
prediction is right and the power with which steps grow; each list left out in turn gives the error that is left.
"""
import json
import math
import statistics
import sys

import compare


def points(name):
    """(probe, measured over predicted) of the host-bound steps of a list, as logarithms."""
    rows = {r["case"]: r for r in map(compare.judged, *zip(*compare.joined([name]))) if r["host"]}
    with compare.evidence.opened(name + "/steps.jsonl") as lines:
        probes = {r["case"]: r.get("probe_s") for r in map(json.loads, lines)}
    return [(math.log(probes[c]), -math.log(1 + r["step"])) for c, r in rows.items() if probes.get(c)]


def fitted(lists):
    """The line through the lists' medians: (log of the probe at which the prediction is right, power)."""
    medians = [[statistics.median(p[k] for p in points) for k in (0, 1)] for points in lists]
    x, y = (statistics.mean(m[k] for m in medians) for k in (0, 1))
    power = sum((a - x) * (b - y) for a, b in medians) / sum((a - x) ** 2 for a, _ in medians)
    return x - y / power, power


def main():
    lists = {name: points(name) for name in sys.argv[1:]}
    lists = {name: p for name, p in lists.items() if p}
    right, power = fitted(list(lists.values()))
    print(f"right at {math.exp(right) * 1e6:.1f} us, power {power:.2f}")
    left = []
    for name, own in lists.items():
        others_right, others_power = fitted([p for other, p in lists.items() if other != name])
        rest = [y - others_power * (x - others_right) for x, y in own]
        left += rest
        print(f"{name}: {len(own)} steps, median {statistics.median(y for _, y in own):+.2f}, with the probe {statistics.median(rest):+.2f}")
    before = [y for p in lists.values() for _, y in p]
    for what, values in (("without", before), ("with", left)):
        values = sorted(map(abs, values))
        print(f"{what} the probe: mean {statistics.mean(values):.3f}, 0.9 of the steps within {values[int(0.9 * len(values))]:.3f}")


if __name__ == "__main__":
    main()
