#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""operators.py PROGRAM MEASURED.jsonl[.xz] CAPTURES [--only WORD] [--least US] [--kernels] [--sets]

Prints the measured time of each operator of probes.py beside the predicted one, forward and backward apart. The first
are those that are off most, by the measured or the predicted time times the logarithm of what they are off by: 1 us
for 2 counts as 2 us for 4. --kernels adds the kernels that ran and the calls that were predicted, --sets a line for each
set of operators.
"""
import argparse
import collections
import math

import rows


def measured_parts(step):
    """Microseconds and kernels by part and pass."""
    times, kernels = collections.Counter(), collections.defaultdict(list)
    for passed, name, shapes, count, us, found, part in step["ops"]:
        if part:
            key = part, passed.partition(" ")[0]
            times[key] += us
            kernels[key].append(f"{us:9.1f} {count:3d} {name} {shapes} {'; '.join(k[-60:] for _, k in found[:2])}")
    return times, kernels


def predicted_parts(answer):
    times, calls = collections.Counter(), collections.defaultdict(list)
    for op in answer["ops"]:
        part, layer, _ = op["name"].removeprefix("parts.").partition(".layer")
        if op["name"].startswith("parts.") and layer:
            key = part, op["phase"]
            times[key] += op["time_s"] * 1e6
            calls[key].append(f"{op['time_s'] * 1e6:9.1f}     {op['call']} {op['how']}")
    return times, calls


def compared(program, path, captures):
    """Lines of [error in us, set, part, pass, measured, predicted, kernels, calls]."""
    for step, answer in rows.steps_of(program, path, captures):
        if not step["case"].startswith("probe:"):
            continue
        measured, kernels = measured_parts(step)
        predicted, calls = predicted_parts(answer)
        for key in measured.keys() | predicted.keys():
            m, p = measured.get(key, 0), predicted.get(key, 0)
            off = max(m, p) * min(3, abs(math.log(max(p, 0.5) / max(m, 0.5))))
            yield [off, step["case"].partition(":")[2], *key, m, p, kernels[key], calls[key]]


def by_set(found):
    table = collections.defaultdict(list)
    for line in found:
        table[line[1]].append(line)
    print(f"{'set':28s} {'n':>4s} {'measured':>10s} {'predicted':>10s} {'mean':>7s} {'median':>7s}")
    for name, lines in sorted(table.items()):
        off = sorted(abs(p / m - 1) for _, _, _, _, m, p, _, _ in lines if m > 0)
        print(f"{name:28s} {len(lines):4d} {sum(l[4] for l in lines):10.0f} {sum(l[5] for l in lines):10.0f} "
              f"{sum(off) / len(off):7.1%} {off[len(off) // 2]:7.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for word in ("program", "measured", "captures"):
        parser.add_argument(word)
    parser.add_argument("--only", default="")
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--sets", action="store_true")
    given = parser.parse_args()
    found = [line for line in compared(given.program, given.measured, given.captures)
             if given.only in line[1] + " " + line[2] and max(line[4:6]) >= given.least]
    if given.sets:
        return by_set(found)
    for _, name, part, passed, m, p, kernels, calls in sorted(found, key=lambda line: -line[0]):
        print(f"{m:9.1f} {p:9.1f} {p / m - 1 if m else math.inf:+8.0%} {passed[:8]:8s} {name} | {part}")
        for line in kernels + calls if given.kernels else []:
            print("   ", line)
    return None


if __name__ == "__main__":
    main()
