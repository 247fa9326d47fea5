# SPDX-License-Identifier: Apache-2.0
"""predict.py - capture networks without a GPU, choose their batch sizes, and write predictions before measuring.

    PYTHONPATH=python python3 tools/first_sight/predict.py capture NAMES.txt FOLDER [--part N/M]
    python3 tools/first_sight/predict.py list NAMES.txt FOLDER PROGRAM -o LIST.tsv [--device ID] [--seed N]

NAMES.txt has one "source:network" per line; networks written by hand are in the folder `networks` beside it. It can be a member of
an archive, such as eager-s/names.txt. `capture` writes FOLDER/NAME.cmt.json, or NAME.failed with the reason.
`list` draws a precision, a layout and an aimed kernel time for each network from the seed, takes the power of two as
batch size whose predicted kernel time comes nearest, and writes the case with everything predicted for it. Networks in
cases.STEPS have their own precision, batch size, layout and optimizer instead.

    python3 tools/first_sight/predict.py compiled NAMES.txt FOLDER PROGRAM -o LIST.tsv [--seed N]
    python3 tools/first_sight/predict.py again LIST.tsv FOLDER PROGRAM -o NEW.tsv

`compiled` writes a list for compiled.py: each network under torch.compile in mode `default`, some with CUDA
graphs instead, with the prediction of the eager step beside it. `again` predicts the rows of such a list anew.
"""
import argparse
import csv
import json
import os
import pathlib
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))
import evidence  # noqa: E402

ASKED = ["case", "mode", "precision", "layout", "batch", "optimizer"]
COMPILED = [*ASKED, "device_s", "step_s", "low_s", "high_s", "peak_bytes", "host_s", "eager_device_s", "eager_step_s", "eager_peak_bytes"]
COMPILED_AIMS = [0.003, 0.01, 0.03]  # small, so that processes share the GPU's memory and timing is quick
COLUMNS = ["case", "precision", "layout", "batch", "optimizer", "device_s", "step_s", "low_s", "high_s", "peak_bytes", "host_s"]
AIMS = [0.004, 0.02, 0.06, 0.15]  # seconds of kernels: host-bound steps and device-bound ones
IMAGES = ("timm:", "torchvision:", "generated:cnn-", "generated:unet-", "layers:conv-", "layers:norm-")  # networks that people run with channels last
OF_LIST = ("written:", "probe:", "transformers:")  # sources whose networks are files of the list
PRECISIONS = ["fp32", "tf32", "amp-bf16", "amp-bf16", "amp-bf16", "amp-fp16"]


def file_of(folder, name, ending=".cmt.json"):
    return os.path.join(folder, name.replace(":", "_").replace("/", "_") + ending)


def names_in(path):
    return [line.strip() for line in evidence.opened(path) if line.strip() and not line.startswith("#")]


def capture_one(name, path):
    import centimani
    import cases
    model, make, loss = cases.built(name)
    inputs = make(2)
    target = None
    if loss != "own":
        shape = cases.shape_of(model.train(), inputs)
        loss = cases.default_loss(loss, shape)
        target = cases.target_of(loss, shape)
    trace = centimani.capture(model.train(), inputs, loss=cases.loss_function(loss), target=target,
                              optimizer=optimizer_of(name))
    trace.save(path)


def step_of(name):
    """Precision, batch size, layout and optimizer that the author of a written network gave; None without them."""
    if not name.startswith(("written:", "probe:")):
        return None
    import cases
    return cases.STEPS.get(name)


def optimizer_of(name):
    step = step_of(name)
    if step:
        return step[3]
    if name.startswith(("timm", "torchvision", "generated:cnn")):
        return "momentum"
    return "adam" if name.startswith(("generated:unet", "generated:fno", "generated:graph", "written")) else "adamw"


def capture(args):
    part, parts = map(int, args.part.split("/"))
    for name in names_in(args.names)[part::parts]:
        path, failed = file_of(args.folder, name), file_of(args.folder, name, ".failed")
        if os.path.exists(path) or os.path.exists(failed):
            continue
        try:
            capture_one(name, path)
            print("captured", name, flush=True)
        except Exception as error:  # noqa: BLE001 - a network that cannot be captured is a result
            with open(failed, "w") as out:
                out.write(f"{type(error).__name__}: {error}\n")
            print("failed", name, repr(error)[:300], flush=True)


def asked(program, path, device, batch, precision, layout, optimizer, runtime="torch-eager"):
    words = [program, "predict", path, "--device", device, "--batch", str(batch), "--precision", precision, "--layout", layout,
             "--optimizer", optimizer, "--runtime", runtime, "--json"]
    answer = subprocess.run(words, capture_output=True, text=True, check=False)
    return json.loads(answer.stdout) if answer.returncode == 0 else None


def chosen(args, name, seed, aims, most_bytes):
    """Precision, layout, batch size and prediction of a network's eager step; None without one."""
    r = random.Random(f"{seed} {name}")
    precision, aim = r.choice(PRECISIONS), r.choice(aims)
    image = name.startswith(IMAGES) and ":video." not in name
    layout = "nhwc" if image and precision.startswith("amp") and r.random() < 0.7 else "nchw"
    best, path, optimizer = None, file_of(args.folder, name), optimizer_of(name)
    for power in range(1, 13):
        p = asked(args.program, path, args.device, 2 ** power, precision, layout, optimizer)
        if p is None or p["peak_bytes"] > most_bytes:
            break
        if best is None or abs(p["device_time_s"] - aim) < abs(best[1]["device_time_s"] - aim):
            best = (2 ** power, p)
        if p["device_time_s"] > aim:
            break
    return (precision, layout, optimizer, *best) if best else None


def given(args, name):
    """The same for the step that the author of a written network gave; None without it."""
    step = step_of(name)
    if step is None:
        return None
    precision, batch, layout, optimizer = step
    p = asked(args.program, file_of(args.folder, name), args.device, batch, precision, layout, optimizer)
    return (precision, layout, optimizer, batch, p) if p else None


def row_of(args, name, seed):
    found = given(args, name) or chosen(args, name, seed, AIMS, 100e9)
    if found is None:
        return None
    precision, layout, optimizer, batch, p = found
    low, high = p["interval_s"]
    return [name, precision, layout, batch, optimizer, *(f"{v:.6g}" for v in (p["device_time_s"], p["step_time_s"], low, high)),
            int(p["peak_bytes"]), f"{p['host_time_s']:.6g}"]


def write_list(args):
    names = names_in(args.names)
    ready = [n for n in names if os.path.exists(file_of(args.folder, n))]
    random.Random(args.seed).shuffle(ready)  # a campaign that ends early has measured some of every kind
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda n: row_of(args, n, args.seed), ready))
    with open(args.output, "w") as out:
        print("\t".join(COLUMNS), file=out)
        for name, row in zip(ready, rows):
            print("\t".join(map(str, row)) if row else f"# {name}: no prediction", file=out)
        for name in sorted(set(names) - set(ready)):
            reason = file_of(args.folder, name, ".failed")
            print(f"# {name}: not captured: {open(reason).readline().strip() if os.path.exists(reason) else '?'}", file=out)


def compiled_row(args, row):
    """The columns of COMPILED for the columns of ASKED."""
    path, batch = file_of(args.folder, row["case"]), int(row["batch"])
    question = (args.program, path, args.device, batch, row["precision"], row["layout"], row["optimizer"])
    mode = "" if row["mode"] == "default" else ":" + row["mode"]
    p, e = asked(*question, "torch-compile" + mode), asked(*question)
    if p is None or e is None:
        return None
    times = (p["device_time_s"], p["step_time_s"], *p["interval_s"])
    return [*(str(row[k]) for k in ASKED), *(f"{v:.6g}" for v in times), str(int(p["peak_bytes"])), f"{p['host_time_s']:.6g}",
            f"{e['device_time_s']:.6g}", f"{e['step_time_s']:.6g}", str(int(e["peak_bytes"]))]


def mode_of(number):
    """One in four with CUDA graphs, the others in the default mode: compiling a network takes 30 to 140 s of a core."""
    return "reduce-overhead" if number % 4 == 1 else "default"


def compiled_cases(args):
    names = [n for n in names_in(args.names) if os.path.exists(file_of(args.folder, n))]
    random.Random(args.seed).shuffle(names)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda n: chosen(args, n, args.seed, COMPILED_AIMS, 40e9), names))
    return [dict(zip(ASKED, (name, mode_of(number), f[0], f[1], f[3], f[2]))) for number, (name, f) in enumerate(zip(names, found)) if f]


def listed_cases(args):
    with evidence.opened(args.names) as lines:
        return list(csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t"))


def write_compiled(args):
    rows = listed_cases(args) if args.what == "again" else compiled_cases(args)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda r: compiled_row(args, r), rows))
    with open(args.output, "w") as out:
        print("\t".join(COMPILED), file=out)
        for row, values in zip(rows, found):
            print("\t".join(values) if values else f"# {row['case']} {row['mode']}: no prediction", file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = parser.add_subparsers(dest="what", required=True)
    one = sub.add_parser("capture")
    one.add_argument("names")
    one.add_argument("folder")
    one.add_argument("--part", default="0/1")
    for what in ("list", "compiled", "again"):
        two = sub.add_parser(what)
        for word in ("names", "folder", "program"):
            two.add_argument(word)
        two.add_argument("-o", "--output", required=True)
        two.add_argument("--device", default="nvidia-h200")
        two.add_argument("--seed", default="1")
    args = parser.parse_args()
    if args.what != "again" and any(name.startswith(OF_LIST) for name in names_in(args.names)):
        import cases
        cases.load(args.names)
    return {"capture": capture, "list": write_list}.get(args.what, write_compiled)(args)


if __name__ == "__main__":
    sys.exit(main())
