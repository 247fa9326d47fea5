#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""transfer_check.py PROGRAM FOLDER [--shortest MS] [--most N] [--crossed]

Checks how well kernel times transfer from the device with kernel tables to other devices of its family. Compares
published operator times (tables in FOLDER; docs/fitting.md lists the columns) with the program's predictions. Times
below --shortest (default 0.1 ms) are skipped, because many sources include the host's launch time in them. At most N
rows (default 400) of each source, operator, pass and type are used, evenly spaced. No row is in a kernel table. Some
fp32 operator models were fitted to these rows: --crossed compares rows of one V100 with the profile of the other V100,
whose models were fitted to another source.
"""
import argparse
import collections
import csv
import gzip
import json
import pathlib
import re
import subprocess
import tempfile

DEVICES = {"V100-PCIE-32GB": "nvidia-v100-32g", "V100": "nvidia-v100-16g", "A100-PCIE-40GB": "nvidia-a100-40g-pcie",
           "A100-PCIE-80GB": "nvidia-a100-80g-pcie", "A100-SXM4-80GB": "nvidia-a100-80g",
           "A100-80GB": "nvidia-a100-80g",
           "H100-SXM-80GB": "nvidia-h100", "H200-SXM-141GB": "nvidia-h200", "T4": "nvidia-t4", "L4": "nvidia-l4",
           "P100-PCIE-16GB": "nvidia-p100", "P4": "nvidia-p4", "B200-SXM-180GB": "nvidia-b200", "GB200": "nvidia-gb200",
           "B300-SXM": "nvidia-b300", "GB300": "nvidia-gb300", "MI100": "amd-mi100", "MI210": "amd-mi210"}
TYPES = {"fp16in_fp32acc": "fp16", "fp32": "fp32", "fp16": "fp16", "bf16": "bf16"}
PASSES = {"fwd": "forward", "bwd_input": "bwd_input", "bwd_weight": "bwd_weight"}


def gemm(row, d, dtype):
    note, variant = row["note"], "nt"
    if "ta=" in note:  # column-major libraries: convert to the row-major product
        a, b = re.search(r"ta=(\w) tb=(\w)", note).groups()
        variant = {"NN": "nn", "NT": "tn", "TN": "nt", "TT": "tt"}[a + b]
        d = [d[0], d[2], d[1], d[3]]
    variant = {"bwd_input": "nn", "bwd_weight": "tn"}.get(row["pass"], variant)
    return "gemm", "forward", variant, dtype, d[:4]


def conv(row, d, dtype):
    n, c, k, r, h, stride, pad = d
    return "conv", "forward", "nchw", dtype, [n, c, k, h, h, r, r, stride, stride, pad, pad, 1, 1, 1]


def conv_full(row, d, dtype):
    note = dict(re.findall(r"(\w+)=(\d+)", row["note"]))
    n, c, k, h, w, r, s = d
    layout = "nhwc" if dtype == "fp16" else "nchw"  # the layout that tensor cores need
    return "conv", PASSES[row["pass"]], layout, dtype, [
        n, c, k, h, w, r, s, note["stride_v"], note["stride_h"], note["pad_h"], note["pad_w"], 1, 1, 1]


def rows_of(op):
    return lambda row, d, dtype: (op, "forward", "-", dtype, d[:2])


def function(name):
    return lambda row, d, dtype: ("elementwise", "forward", name, dtype, d[:2])


def windowed(batch, seq, heads, kv_heads, width, window, dtype):
    """The call of look_back() in src/model/dispatch/matrix.c."""
    rows, most = -(-seq // 128), -(-window // 128) + 1
    if rows <= most:
        return "attention", "forward", "-", dtype, [batch, seq, seq, heads, kv_heads, width, 1]
    keys = 128 * (most * (most + 1) // 2 + (rows - most) * most) // rows
    samples = seq // keys
    return "attention", "forward", "-", dtype, [batch * samples, -(-seq // samples), keys, heads, kv_heads, width, 0]


def attention(causal):
    def make(row, d, dtype):
        batch, seq, heads, kv_heads, width, window = d[:6]
        if window:
            return windowed(batch, seq, heads, kv_heads or heads, width, window, dtype)
        return "attention", "forward", "-", dtype, [batch, seq, seq, heads, kv_heads or heads, width, causal]
    return make


OPS = {"gemm": gemm, "linear": lambda row, d, t: ("gemm", "forward", "nt-bias", t, d[:4]),
       "bmm": lambda row, d, t: ("gemm", "forward", "nn", t, d[:4]), "conv2d": conv, "conv2d_full": conv_full,
       "softmax": rows_of("softmax"), "layernorm": rows_of("layer_norm"),
       **{name: function(name) for name in ("add", "mul", "div", "relu", "gelu", "tanh")},
       "attention_causal": attention(1), "attention_full": attention(0)}


def call_of(row):
    if row["op"] not in OPS or row["dtype"] not in TYPES or row["pass"] not in PASSES or row["device"] not in DEVICES:
        return None
    sizes = [int(row[f"d{i}"] or 0) for i in range(7)]
    op, phase, variant, dtype, sizes = OPS[row["op"]](row, sizes, TYPES[row["dtype"]])
    return f"{op} {phase} {variant} {dtype} " + ",".join(map(str, sizes))


def read(folder, shortest):
    """Read calls and times by device and source."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in sorted(pathlib.Path(folder).glob("ops_*.csv.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if "d0" not in row:  # a table of another form
                    break
                call = call_of(row)
                if call and float(row["latency_ms"]) >= shortest:
                    in_window = row["op"].startswith("attention") and row["d5"] not in ("", "0")
                    key = (row["source"], row["op"] + "_window" * in_window, row["pass"], row["dtype"])
                    found[DEVICES[row["device"]]][key].append((call, float(row["latency_ms"])))
    return found


def check(program, device, rows):
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as table:
        table.write("call,latency_ms\n" + "".join(f'"{call}",{ms}\n' for call, ms in rows))
        table.flush()
        words = [program, "fit", "--check", "--calls", table.name, "--device", device, "--json"]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout)["classes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--shortest", type=float, default=0.1)
    parser.add_argument("--most", type=int, default=400)
    parser.add_argument("--crossed", action="store_true")
    options = parser.parse_args()
    if options.crossed:
        DEVICES.update({"V100-PCIE-32GB": DEVICES["V100"], "V100": DEVICES["V100-PCIE-32GB"]})
    print(f"{'device':22} {'source':15} {'operator':23} {'pass':11} {'type':5} {'rows':>5} {'error':>7} {'bias':>7} "
          f"{'p90':>7}")
    for device, groups in sorted(read(options.folder, options.shortest).items()):
        errors, n = 0, 0
        for (source, op, phase, _), rows in sorted(groups.items()):
            kept = rows[::max(1, -(-len(rows) // options.most))]
            for c in check(options.program, device, kept):
                print(f"{device:22} {source:15} {op:23} {phase:11} {c['dtype']:5} {c['n']:5} {c['mape']:7.1%} "
                      f"{c['bias']:+7.1%} {c['p90']:7.1%}")
                errors, n = errors + c["mape"], n + 1
        print(f"{device:22} mean over {n} operators: {errors / n:.1%}\n")


main()
