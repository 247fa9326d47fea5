#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_gloo.py - measure and predict a data-parallel training step on two processes of this machine.

usage: tools/check_gloo.py CENTIMANI [--hidden N] [--layers N] [--batch N]

Needs PyTorch with gloo (Debian: python3-torch, run by /usr/bin/python3) and Open MPI. DistributedDataParallel trains an
MLP on two processes with one thread each. The prediction uses only times of single calls on this machine
(`python -m centimani bench --device cpu`) and of collectives (`mpirun -n 2 centimani bench`). Run it on an idle machine:
other load makes both numbers meaningless.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPS, WARM_UP = 40, 10


def one_rank(rank, args, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1")
    import torch
    from torch import nn
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    layers = []
    for _ in range(args.layers):
        layers += [nn.Linear(args.hidden, args.hidden), nn.ReLU()]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers, nn.Linear(args.hidden, 16)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, y, times = torch.randn(args.batch, args.hidden), torch.randint(0, 16, (args.batch,)), []
    for _ in range(STEPS):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
    if rank == 0:
        print(statistics.median(times[WARM_UP:]))


def measured(args):
    port = 20000 + os.getpid() % 20000
    command = [sys.executable, __file__, args.centimani, "--hidden", str(args.hidden), "--layers", str(args.layers),
               "--batch", str(args.batch), "--port", str(port), "--rank"]
    ranks = [subprocess.Popen(command + [str(r)], stdout=subprocess.PIPE, text=True) for r in (0, 1)]
    return float(ranks[0].communicate()[0] if ranks[1].wait() == 0 else "nan")


def run(command, **more):
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=str(ROOT / "python"),
                       OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, **more).stdout


DIMS = {"gemm": ["batch", "m", "n", "k"], "elementwise": ["outer", "inner"], "reduce": ["outer", "reduce", "inner"],
        "cross_entropy": ["rows", "cols"], "optimizer": ["tensors", "elements"]}


def case_of(call):
    """Convert 'gemm forward nt fp32 1,8,16,32' to an entry of a case file."""
    op, way, variant, dtype, sizes = call.split()
    return {"op": op, "pass": way, "variant": "" if variant == "-" else variant, "dtype": dtype, "dims": DIMS[op],
            "rows": [[int(n) for n in sizes.split(",")]]}


def predicted(args, folder):
    profile = folder / "cpu.json"
    run([args.centimani, "bench", "--backend", "cpu", "--suite", "roofline", "--budget", "20", "--threads", "1", "-o",
         str(profile)])
    common = ["--runtime", "torch-eager", "--precision", "fp32", "--optimizer", "sgd", "--json"]
    spec = "mlp:in=%d,hidden=%s,out=16" % (args.hidden, "x".join([str(args.hidden)] * args.layers))
    plan = ["--device", str(profile), "--dp", "2", "--micro-batch", str(args.batch), "--cluster", "node=2"]
    missing = json.loads(run([args.centimani, "predict", spec, *plan, *common, "--missing"]))["missing"]
    (folder / "cases.json").write_text(json.dumps({"schema": 1, "cases": [case_of(m["call"]) for m in missing]}))
    run([sys.executable, "-m", "centimani", "bench", "--device", "cpu", "--cases", str(folder / "cases.json"), "-o",
         str(folder / "calls.json")])
    run(["mpirun", "--oversubscribe", "-n", "2", args.centimani, "bench", "--suite", "collectives", "-o",
         str(folder / "ranks.json")])
    whole = json.loads(profile.read_text())
    whole["kernels"] = json.loads((folder / "calls.json").read_text())["kernels"]
    whole["collectives"] = json.loads((folder / "ranks.json").read_text())["collectives"]
    for name in ("calls.json", "ranks.json"):
        whole["sources"].update(json.loads((folder / name).read_text())["sources"])
    profile.write_text(json.dumps(whole))
    return json.loads(run([args.centimani, "predict", spec, *plan, *common]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("centimani")
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rank", type=int)
    parser.add_argument("--port", type=int)
    args = parser.parse_args()
    if args.rank is not None:
        return one_rank(args.rank, args, args.port)
    with tempfile.TemporaryDirectory() as folder:
        answer, real = predicted(args, pathlib.Path(folder)), measured(args)
    stages = answer["stages"]
    print("predicted %.4g s (%.4g s computing, %.4g s communication, %.4g s of it hidden), measured %.4g s: %+.1f %%" % (
        answer["step_time_s"], stages["compute_s"], stages["communication_s"], stages["overlapped_s"], real,
        100 * (answer["step_time_s"] / real - 1)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
