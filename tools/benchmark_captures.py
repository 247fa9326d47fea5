#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""benchmark_captures.py fast-norm|reparam CAPTURES FOLDER [MODEL...]

Writes captures of timm's networks as timm's benchmark.py runs them with an option, for tools/forward_steps.py --as-run.
CAPTURES has files MODEL.cmt.json recorded without autocast; FOLDER/fast-norm or FOLDER/reparam gets those of the networks
(of MODEL..., if given) that the option changes. Needs PyTorch, timm and PYTHONPATH=python.

fast-norm: timm's own classes of layer norms and group norms cast their input and parameters to the type of autocast and run
without autocast, in 16 bits, where PyTorch runs them in fp32 (timm/layers/fast_norm.py). PyTorch's class, which some
networks have, does not.
reparam: parallel branches, and convolutions with their batch norms, become one convolution (timm/models/_manipulate.py).
"""
import json
import pathlib
import sys
import warnings

import timm
import torch

import centimani

NORMS = ("aten::native_group_norm", "aten::native_layer_norm")
FUSES = ("fuse", "reparameterize", "switch_to_deploy")


def network_of(model, device):
    with torch.device(device), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # older names of networks
        return timm.create_model(model)


def with_casts(capture, modules):
    """The capture's operators with the casts before fast norms; its tensors get the results of these casts."""
    for op in capture["ops"]:
        if op["op"] in NORMS and op.get("module") in modules and "phase" not in op:
            cast = []
            for number in op["in"]:
                if number >= 0:
                    of = capture["tensors"][number]
                    capture["tensors"].append({"dims": of["dims"], "dtype": of["dtype"], "storage": len(capture["tensors"])})
                    number, given = len(capture["tensors"]) - 1, number
                    yield {"op": "aten::to.autocast", "in": [given], "out": [number], "module": op["module"]}
                cast.append(number)
            op = op | {"in": cast, "autocast": 0}
        yield op


def fast_norm(model, capture, path):
    if not any(op["op"] in NORMS for op in capture["ops"]):
        return
    modules = {name for name, module in network_of(model, "meta").named_modules() if hasattr(module, "_fast_norm")}
    if modules:
        capture["ops"] = list(with_casts(capture, modules))
        path.write_text(json.dumps(capture))


def reparam(model, capture, path):
    if not any(hasattr(module, word) for module in network_of(model, "meta").modules() for word in FUSES):
        return
    size = next(t["dims"][-1] for t in capture["tensors"] if t.get("role") == "input")
    with torch.no_grad():
        network = timm.utils.reparameterize_model(network_of(model, "cpu").eval()).train()
    centimani.capture(network, (torch.zeros(2, 3, size, size),), loss=lambda y: y.sum(), optimizer="sgd").save(str(path))


WAYS = {"fast-norm": fast_norm, "reparam": reparam}


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in WAYS:
        raise SystemExit(__doc__)
    folder = pathlib.Path(sys.argv[3]) / sys.argv[1]
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(pathlib.Path(sys.argv[2]).glob("*.cmt.json")):
        model = path.name.removesuffix(".cmt.json")
        if model in sys.argv[4:] or len(sys.argv) == 4:
            WAYS[sys.argv[1]](model, json.loads(path.read_text()), folder / path.name)


if __name__ == "__main__":
    main()
