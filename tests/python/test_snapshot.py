#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_snapshot.py - PROGRAM: the functions of PyTorch's own viewer script accept a predicted memory snapshot.

torch.cuda._memory_viz of PyTorch 1.13 draws segments; that of 2.0 and later also replays the trace. The sums are compared
with the snapshot's own fields, with a replay made here, and with the memory that the program predicts.
"""
import contextlib
import io
import json
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile

import torch
from torch.cuda import _memory_viz as viewer

count = failed = 0


def check(good, what, detail=""):
    global count, failed
    count, failed = count + 1, failed + (not good)
    print(f"{'' if good else 'not '}ok {count} - {what}" + (f"\n# {detail}" if not good else ""), flush=True)


def lines_of(draw, *snapshots):
    """The lines "stack of frames; separated SIZE" that the viewer gives to its flame graph."""
    with contextlib.redirect_stdout(io.StringIO()):
        text = draw(*snapshots, format_flamegraph=lambda lines: lines)
    return [(line.rsplit(" ", 1)[0], int(line.rsplit(" ", 1)[1])) for line in text.splitlines()]


def replay(entries):
    """(peak, left) bytes: every free must be of a block that is allocated with that size, and no two blocks may overlap."""
    live, now, peak = {}, 0, 0
    for entry in entries:
        if entry["action"] == "alloc":
            begin, end = entry["addr"], entry["addr"] + entry["size"]
            assert all(end <= a or a + s <= begin for a, s in live.items()), f"overlaps: {entry}"
            live[entry["addr"]] = entry["size"]
            now += entry["size"]
        elif entry["action"] == "free_completed":
            assert live.pop(entry["addr"], None) == entry["size"], f"not allocated: {entry}"
            now -= entry["size"]
        peak = max(peak, now)
    return peak, now


def test_segments(name, snapshot):
    old = "snapshot[\"segments\"]" not in viewer_source()
    given = snapshot["segments"] if old else snapshot
    total = sum(s["total_size"] for s in snapshot["segments"])
    active = sum(s["active_size"] for s in snapshot["segments"])
    for draw in (viewer.segments, viewer.memory):
        lines = lines_of(draw, given)
        sizes = (sum(size for _, size in lines), sum(size for stack, size in lines if "active_allocated" in stack.split(";")))
        check(sizes == (total, active), f"{name}: {draw.__name__}() draws all bytes and all active ones", f"{sizes}, expected {(total, active)}")
    check(not lines_of(viewer.compare, snapshot["segments"], snapshot["segments"]), f"{name}: compare() finds no difference from itself")
    lines = lines_of(viewer.compare, [], snapshot["segments"])
    check(sum(size for _, size in lines) == total, f"{name}: compare() with nothing finds everything")


def viewer_source():
    return pathlib.Path(viewer.__file__).read_text(encoding="utf-8")


def test_newer(name, snapshot):
    """Functions that PyTorch 1.13 does not have."""
    text = viewer.trace(snapshot)
    events = snapshot["device_traces"][0]
    check(len(re.findall(r"^\S+ = ", text, re.M)) == sum(e["action"] in ("alloc", "segment_alloc") for e in events),
          f"{name}: trace() names every allocation")
    check("MEM[" not in text, f"{name}: trace() finds every allocation in a segment")
    for draw in (viewer.trace_plot, viewer.segment_plot):
        check("add_local_files" in draw(snapshot), f"{name}: {draw.__name__}() writes the page")


def test(program, folder, name, options):
    file = folder / "memory.pickle"
    done = subprocess.run([program, "predict", name, "--device", "nvidia-h200", *options, "--snapshot", str(file), "--json"],
                          check=True, capture_output=True, text=True)
    snapshot = pickle.loads(file.read_bytes())
    test_segments(name, snapshot)
    if hasattr(viewer, "trace"):
        test_newer(name, snapshot)
    peak, left = replay(snapshot["device_traces"][0])
    blocks = [b for s in snapshot["segments"] for b in s["blocks"] if b["state"] == "active_allocated"]
    check(left == sum(b["size"] for b in blocks), f"{name}: the trace ends with the blocks of the segments", left)
    sizes = [sum(b["requested_size"] for b in blocks if b["frames"][0]["filename"] == role) for role in ("parameter", "parameter_gradient")]
    check(sizes[0] == sizes[1] > 0, f"{name}: weights keep their gradients until the next step", sizes)
    predicted = json.loads(done.stdout)["peak_bytes"]
    check(abs(peak - predicted) <= 512, f"{name}: the peak of the trace is the predicted one", f"{peak}, expected {predicted}")


def main():
    print(f"# PyTorch {torch.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        for name, options in (("resnet18", ["--batch", "8"]), ("gpt2", ["--batch", "4", "--seq", "256"]),
                              ("resnet50", ["--batch", "64", "--precision", "fp32"]),
                              ("resnet50", ["--batch", "64", "--runtime", "torch-compile"]),
                              ("llama2-7b", ["--batch", "2", "--precision", "bf16", "--recompute", "full"])):
            test(sys.argv[1], pathlib.Path(folder), name, options)
    print(f"1..{count}")
    return 1 if failed or not count else 0


sys.exit(main())
