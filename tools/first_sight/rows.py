#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rows.py PROGRAM TABLES.json MEASURED.jsonl[.xz]:CAPTURES... -o NEW.json [--most N] [--without OP...]

Makes rows of kernel tables from steps that measure.py recorded: the time of a call where it runs, among the calls before
and after it. PROGRAM predicts each step with --ops. Operators of the profiler and predicted calls are joined by their
shapes; a shape that belongs to several calls, or to another number of them, is left out. A row that PROGRAM already
predicts to 4 %, or that it has, is not written. With --most, only the N rows are written without which the steps are predicted worst: what
their calls are off by, as a part of each step, added up over all steps. tools/thin_tables.py makes room for them in
TABLES.json, `centimani merge` adds NEW.json to it. Elementwise rows that are far off are left out: another kernel ran, because
the operands lie otherwise in memory than the program thinks. So are rows of operators named by --without, and convolutions with several
groups of several channels, which may run beside each other.

The profiler gives a convolution's two gradients as one operator. Kernels whose names tell which gradient they compute are
counted there; the others are divided as predicted. Recurrent layers and grouped convolutions run on several streams: a
recurrent layer gets the time in which the device is busy and no other operator runs. Grouped convolutions of a step whose
kernels overlap get no rows: how much each of them overlaps cannot be told. conv_walls.py of evidence/studies.tar.xz measures them alone.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import subprocess
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))
import evidence  # noqa: E402

NEAR = 0.04      # of log(predicted / measured): such a row would add nothing
PART_NEAR = 0.15 # the same of a probe
FAR = {"": 0.14, ":": 0.4}  # the same of elementwise calls, contiguous and other ones: another kernel ran
OVERLAP = 1.02   # sum of kernels over busy time, from which kernels overlap
LEAST = 2e-3     # share of the step below which an elementwise operator is not worth a row
OF_INPUT = ("dgrad", "bwddata", "backward_input", "depthwise2d_backward", "bwd_data")
OF_WEIGHT = ("wgrad", "bwdfilter", "backward_weight", "grad_weight", "bwd_filter")
CONVOLUTIONS = ("cudnn_convolution", "_conv_depthwise2d", "conv_depthwise3d", "slow_conv_dilated2d")
FUNCTIONS = {
    "sum": "sum", "mean": "mean", "mul": "mul", "add": "add", "add_": "add", "copy_": "copy", "gelu": "gelu", "silu": "silu",
    "gelu_backward": "gelu_grad", "silu_backward": "silu_grad", "threshold_backward": "relu_grad", "clamp_min": "relu",
    "clamp_min_": "relu", "native_dropout": "dropout", "native_dropout_backward": "dropout_grad", "mish": "mish",
    "mish_backward": "mish_grad", "hardswish": "hardswish", "hardswish_backward": "hardswish_grad", "fill_": "fill",
    "sigmoid": "sigmoid", "tanh": "tanh"}


def image(dims):
    """Dimensions of one element do not distinguish one-dimensional from flat images."""
    return tuple(dims[:2]) + tuple(d for d in dims[2:] if d != 1)


def attention(name, shapes, backward):
    q, k = shapes[1:3] if backward else shapes[:2]
    if len(q) != 4:
        return None
    heads, steps = (1, 2) if "cudnn" in name else (2, 1)
    return ("attention", backward, q[0], q[steps], k[steps], q[heads], k[heads], q[3])


def of_operator(phase, name, shapes):
    """What a measured operator and the calls it makes have in common; None: not joined."""
    backward = "backward" in name
    if name in CONVOLUTIONS and len(shapes) >= 2:
        return ("conv", False, image(shapes[0]), image(shapes[1]))
    if name == "convolution_backward" and len(shapes) >= 3:
        return ("conv", True, image(shapes[1]), image(shapes[2]))
    if name in ("mm", "bmm", "addmm", "baddbmm") and len(shapes) >= 2:
        a, b = ([1] * (3 - len(s)) + s for s in shapes[-2:])
        return ("gemm", phase, a[0], a[1], b[2], a[2])
    if "batch_norm" in name and shapes:
        return ("batch_norm", backward, *shapes[0][:2], math.prod(shapes[0][2:]))
    if name.startswith("native_layer_norm") and shapes:
        return ("layer_norm", backward, math.prod(shapes[0][:-1]), shapes[0][-1])
    if name.startswith("_fused_rms_norm") and shapes:
        return ("rms_norm", backward, math.prod(shapes[0][:-1]), shapes[0][-1])
    if name.startswith("native_group_norm") and shapes:
        return ("group_norm", backward, *shapes[0][:2], math.prod(shapes[0][2:]))
    if "_pool2d" in name and "adaptive" not in name and shapes:
        image_of = shapes[1] if backward else shapes[0]
        return ("pool", backward, name[:3], *image_of) if len(image_of) == 4 else None
    if name.startswith("upsample") and shapes:  # forward has the shape before, backward the one after
        return ("resize", backward, image(shapes[0]))
    if "attention" in name and len(shapes) >= 3:
        return attention(name, shapes, backward)
    if name in FUNCTIONS and shapes:
        return ("map", phase, FUNCTIONS[name], max(map(math.prod, shapes)))
    return None


def of_call(phase, call):
    op, passed, variant, _, sizes = call.split(" ")
    z = list(map(int, sizes.split(",")))
    backward = passed != "forward"
    if op == "conv":
        return ("conv", backward, image([*z[:2], *z[3:5]]), image([z[2], z[1] // z[13], *z[5:7]]))
    if op == "conv3d":
        return ("conv", backward, image([*z[:2], *z[3:6]]), image([z[2], z[1] // z[18], *z[6:9]]))
    if op == "gemm":
        return ("gemm", phase, *z)
    if op in ("batch_norm", "layer_norm", "rms_norm"):
        return (op, backward, *z)
    if op == "group_norm":
        return (op, backward, *z[:3])
    if op == "pool":
        return (op, backward, variant[:3], *z[:4])
    if op == "resize":
        return (op, backward, image([*z[:2], *(z[4:6] if backward else z[2:4])]))
    if op == "attention":
        return (op, backward, *z[:6])
    if op in ("elementwise", "reduce"):
        function = variant.split(":")[0]
        return ("map", phase, "mul" if function == "scale" else function, math.prod(z))
    return None


def gradients(operators, calls, runs, seconds, predicted):
    """The times of a convolution's gradients, by call; {}: the calls are not one of each."""
    known = collections.Counter()
    for operator in operators:
        for time, kernel in operator[5]:
            name = kernel.lower()
            known["bwd_weight" if any(w in name for w in OF_WEIGHT) else
                  "bwd_input" if any(w in name for w in OF_INPUT) else ""] += time / 1e6
    passes = {call.split(" ")[1]: call for call in calls}
    if len(passes) != len(calls) or any(count != runs for count in calls.values()):
        return {}
    if len(passes) == 1:
        return {call: seconds / runs for call in calls}
    of_input, of_weight = passes["bwd_input"], passes["bwd_weight"]
    share = predicted[of_input] / (predicted[of_input] + predicted[of_weight])
    first = min(max(seconds * share, known["bwd_input"]), seconds - known["bwd_weight"])
    return {of_input: first / runs, of_weight: (seconds - first) / runs} if 0 < first < seconds else {}


def recurrent(step, predicted_ops):
    """Both passes of the only recurrent layer: the busy time that other operators leave."""
    measured = [o for o in step["ops"] if "_cudnn_rnn" in o[1] and o[3] == 1]
    calls = {o["call"].split(" ")[1]: o["call"] for o in predicted_ops if o["call"].startswith("rnn ")}
    if len(measured) != 2 or sum(o["call"].startswith("rnn ") for o in predicted_ops) != 2 or len(calls) != 2:
        return {}
    total = sum(o[4] for o in measured) / 1e6
    busy = step["union_s"] - sum(o[4] for o in step["ops"] if "_cudnn_rnn" not in o[1] and "Activity" not in o[1]) / 1e6
    if not 0.3 * total < busy < OVERLAP * total:
        return {}
    return {calls["backward" if "backward" in o[1] else "forward"]: busy * o[4] / 1e6 / total for o in measured}


def joined(step, predicted_ops, phase):
    """Concatenations of parts with gaps. The profiler has no shapes of lists: the time is divided as predicted."""
    measured = [o for o in step["ops"] if o[0].startswith(phase) and o[1] == "aten::cat"]
    calls = [o for o in predicted_ops if o["phase"] == phase and o["call"].startswith("elementwise forward cat")]
    gaps = [o for o in calls if o["call"].split(" ")[2] in ("cat:part", "cat:strided")]
    seconds, expected = sum(o[4] for o in measured) / 1e6, sum(o["time_s"] for o in calls)
    if not gaps or sum(o[3] for o in measured) != len(calls) or sum(o["time_s"] for o in gaps) < 0.9 * expected:
        return {}
    return {o["call"]: o["time_s"] * seconds / expected for o in gaps}


def grouped(key):
    return key is not None and key[0] == "conv" and key[2][1] != key[3][1]


def overlaps(step):
    """Whether kernels of a step run at the same time."""
    return sum(o[4] for o in step["ops"] if "Activity" not in o[1]) / 1e6 > OVERLAP * step["union_s"]


def is_news(call, error):
    """Whether a row would add something, and belongs to the call."""
    op, _, variant, _, sizes = call.split(" ")
    sizes = sizes.split(",")
    groups = {"conv": 13, "conv3d": 18}.get(op)
    if groups and sizes[groups] not in ("1", sizes[1]):
        return False
    most = FAR[":" if ":" in variant else ""] if op == "elementwise" else math.inf
    return NEAR <= abs(error) <= most


def rows_of(step, answer):
    """Seconds of each call of a step that could be joined."""
    measured, calls, predicted = collections.defaultdict(list), collections.defaultdict(collections.Counter), {}
    for operator in step["ops"]:
        key = of_operator(operator[0].split(" ")[0], operator[1].replace("aten::", ""), json.loads(operator[2] or "[]"))
        if key:
            measured[key].append(operator)
    together = overlaps(step)
    for op in answer["ops"]:
        calls[of_call(op["phase"], op["call"])][op["call"]] += 1
        predicted[op["call"]] = op["time_s"]
    found = recurrent(step, answer["ops"])
    for phase in ("forward", "backward"):
        found.update(joined(step, answer["ops"], phase))
    for key, counts in calls.items():
        runs, seconds = (sum(o[i] for o in measured.get(key, [])) for i in (3, 4))
        seconds /= 1e6
        if key is None or not runs or (grouped(key) and together):
            continue
        if key[0] == "conv" and key[1]:
            found.update(gradients(measured[key], counts, runs, seconds, predicted))
        elif len(counts) == 1 and runs in counts.values() and (key[0] != "map" or seconds > LEAST * step["union_s"]):
            found[next(iter(counts))] = seconds / runs
    known = {op["call"] for op in answer["ops"] if op["how"] == "measured"}
    return {call: time for call, time in found.items() if call not in known and is_news(call, math.log(predicted[call] / time))}


BY_PART = ("reduce", "softmax", "cross_entropy", "pool", "resize", "resize3d", "embedding", "sort", "fft", "batch_norm", "layer_norm",
           "group_norm", "rms_norm", "conv", "conv3d", "attention", "gemm")
SLICED = 1.5e-3  # s: longer kernels may have shared the GPU with those of other processes that prepare their steps


def rows_of_parts(step, answer):
    """Seconds of each call of a step of probes that is the only one of its part and pass; measure.py names the parts."""
    calls, seconds, most = collections.defaultdict(list), collections.Counter(), collections.Counter()
    for op in answer["ops"]:
        part, layer, _ = op["name"].removeprefix("parts.").partition(".layer")
        if op["name"].startswith("parts.") and layer:
            calls[part, op["phase"]].append(op)
    for passed, _, _, _, us, _, part in step["ops"]:
        key = part, passed.partition(" ")[0]
        seconds[key] += us / 1e6
        most[key] = max(most[key], us / 1e6)
    found = {}
    for key, (op, *others) in calls.items():
        kind, _, _, _, sizes = op["call"].split(" ")
        groups = int(sizes.split(",")[{"conv": 13, "conv3d": 18}[kind]]) if kind.startswith("conv") else 1
        alone = not others and kind in BY_PART and groups == 1 and most[key] > 0.9 * seconds[key]
        if alone and op["how"] != "measured" and seconds[key] < SLICED and abs(math.log(op["time_s"] / seconds[key])) >= PART_NEAR:
            found[op["call"]] = seconds[key]
    return found


def steps_of(program, path, captures):
    for line in evidence.opened(path):
        step = json.loads(line)
        capture = os.path.join(captures, step["case"].replace(":", "_").replace("/", "_") + ".cmt.json")
        if "error" in step or not os.path.exists(capture):
            continue
        asked = [w for name in ("batch", "precision", "layout", "optimizer") for w in ("--" + name, str(step[name]))]
        answer = subprocess.run([program, "predict", capture, "--device", "nvidia-h200", *asked, "--ops", "--json"],
                                capture_output=True, text=True)
        if answer.returncode == 0:
            yield step, json.loads(answer.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("tables")
    parser.add_argument("steps", nargs="+")
    parser.add_argument("-o", required=True)
    parser.add_argument("--most", type=int, metavar="N")
    parser.add_argument("--without", nargs="*", default=[], metavar="OP")
    given = parser.parse_args()
    tables = json.load(open(given.tables))["kernels"]
    dims = {t["op"]: t["dims"] for t in tables}
    found, cost, count = collections.defaultdict(list), collections.Counter(), 0
    for source in given.steps:
        for step, answer in steps_of(given.program, *source.rsplit(":", 1)):
            count += 1
            of_step = rows_of_parts if step["case"].startswith("probe:") else rows_of
            for call, seconds in of_step(step, answer).items():
                if call.split(" ")[0] in given.without:
                    continue
                found[call].append(seconds)
                cost[call] += sum(abs(o["time_s"] - seconds) for o in answer["ops"] if o["call"] == call) / step["union_s"]
    rows = collections.defaultdict(dict)
    for call, _ in cost.most_common(given.most):
        *words, sizes = call.split(" ")
        rows[tuple("" if w == "-" else w for w in words)][tuple(map(int, sizes.split(",")))] = found[call]
    new = [{"runtime": "torch-eager", "op": op, "pass": passed, "variant": variant, "dtype": dtype, "dims": dims[op],
            "kind": "measured", "source": "steps", "date": max(t["date"] for t in tables),
            "rows": [[*sizes, float(f"{sorted(times)[len(times) // 2]:.4g}"), 1] for sizes, times in sorted(table.items())]}
           for (op, passed, variant, dtype), table in sorted(rows.items())]
    with open(given.o, "w") as file:
        json.dump({"kernels": new}, file)
    print(f"{count} steps, {sum(len(t['rows']) for t in new)} rows in {len(new)} tables")


if __name__ == "__main__":
    main()
