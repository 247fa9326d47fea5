#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py - compare the inferred shape and type of every tensor with those of the file and of the onnx package.

    compare.py CENTIMANI FILE|DIRECTORY...

CENTIMANI_MODELS may name one more directory. Prints a line per difference and `N tensors agree, M differ`; exits with 1 if some differ. Needs python3-onnx.
Refused files are counted; if SHOW_REFUSED is set, the reasons are printed.
"""
import json
import os
import re
import subprocess
import sys

try:
    import onnx
    from onnx import TensorProto, shape_inference
except ImportError:
    sys.exit("this Python has no onnx package (Debian: python3-onnx)")

SMALL = 64 << 20  # larger files are not checked with onnx's shape inference
# Types that centimani lacks map to the type of the same width or kind; --precision fp32 turns 16-bit floats into fp32.
DTYPES = {TensorProto.FLOAT: "fp32", TensorProto.DOUBLE: "fp64", TensorProto.FLOAT16: "fp32", TensorProto.BFLOAT16: "fp32",
          TensorProto.INT64: "int64", TensorProto.UINT64: "int64", TensorProto.INT32: "int32", TensorProto.UINT32: "int32",
          TensorProto.INT16: "int16", TensorProto.UINT16: "int16", TensorProto.INT8: "int8", TensorProto.UINT8: "uint8",
          TensorProto.BOOL: "bool", TensorProto.COMPLEX64: "complex64", TensorProto.COMPLEX128: "complex64",
          TensorProto.STRING: "string"}
OPTIONS = ["--fuse", "none", "--precision", "fp32", "--mode", "inference", "--tensors", "--json"]


def files(paths):
    for path in paths:
        if os.path.isdir(path):
            for folder, _, names in sorted(os.walk(path)):
                yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".onnx"))
        else:
            yield path


def declared(model):
    """name -> (dtype, dims): dims a list of int, str (dim_param) or None (unknown), or None where the rank is unknown."""
    found = {}
    for info in list(model.graph.input) + list(model.graph.value_info) + list(model.graph.output):
        if not info.type.HasField("tensor_type"):
            continue
        kind = info.type.tensor_type
        dims = None
        if kind.HasField("shape"):
            dims = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in kind.shape.dim]
        found.setdefault(info.name, (kind.elem_type, dims))
    return found


def inferred_by_onnx(path, model):
    if os.path.getsize(path) > SMALL:
        return {}
    try:
        return declared(shape_inference.infer_shapes(model, strict_mode=False, data_prop=True))
    except Exception:  # noqa: BLE001 - onnx raises many kinds of errors; then there is no reference
        return {}


def inferred_here(program, path):
    """Return (tensors by name, None), or (None, the reason for refusal)."""
    run = subprocess.run([program, "graph", path] + OPTIONS, capture_output=True, text=True, timeout=120)
    if run.returncode != 0:
        return None, run.stderr.strip().splitlines()[-1] if run.stderr.strip() else "exit %d" % run.returncode
    tensors, twice = {}, set()
    for tensor in json.loads(run.stdout)["tensor_list"]:
        twice.update({tensor["name"]} & tensors.keys())
        tensors[tensor["name"]] = tensor
    return {name: tensor for name, tensor in tensors.items() if name not in twice}, None


def fixed_batch(model):
    """The value of B for a file with a fixed batch size: axis 0 of its inputs."""
    weights = {tensor.name for tensor in model.graph.initializer}
    first = {tuple(i.type.tensor_type.shape.dim)[0].dim_value for i in model.graph.input
             if i.name not in weights and len(i.type.tensor_type.shape.dim)}
    return first.pop() if len(first) == 1 else 0


def symbols(text):
    """'Bx3x2B+1' -> [(1, 0), (0, 3), (2, 1)]: pairs of a factor of B and a constant."""
    dims = []
    for part in text.split("x") if text != "scalar" else []:
        found = re.fullmatch(r"(?:(-?\d*)B)?([+-]?\d+)?", part)
        if not found:
            raise ValueError("shape %r" % text)
        slope, fixed = found.groups()
        dims.append((0 if slope is None else int(slope + "1" if slope in ("", "-") else slope), int(fixed or 0)))
    return dims


def dims_differ(want, have, batch, symbol_of):
    if want is None:
        return False
    if len(want) != len(have):
        return True
    for w, (slope, fixed) in zip(want, have):
        if isinstance(w, int) and w != slope * batch + fixed:
            return True
        if isinstance(w, str) and w and symbol_of.setdefault(w, (slope, fixed)) != (slope, fixed):
            return True
    return False


def compare(path, model, wanted, have, report):
    symbol_of, agree, differ, unseen = {}, 0, 0, 0
    batch = fixed_batch(model)
    for name, (dtype, dims) in wanted.items():
        tensor = have.get(name)
        if tensor is None:
            unseen += 1
            continue
        bad_type = dtype in DTYPES and DTYPES[dtype] != tensor["dtype"]
        bad_dims = dims_differ(dims, symbols(tensor["shape"]), batch, symbol_of)
        agree += not (bad_type or bad_dims)
        differ += bad_type or bad_dims
        if bad_type or bad_dims:
            report("%s: '%s' is %s %s, declared %s %s" % (path, name, tensor["dtype"], tensor["shape"],
                                                         DTYPES.get(dtype, dtype), dims))
    return agree, differ, unseen


def main(program, paths):
    agree = differ = read = refused = unseen = 0
    for path in files(paths):
        have, why = inferred_here(program, path)
        if have is None:
            refused += 1
            if os.environ.get("SHOW_REFUSED"):
                print("refused: %s" % why)
            continue
        read += 1
        model = onnx.load(path, load_external_data=False)
        wanted = inferred_by_onnx(path, model)
        wanted.update(declared(model))
        counts = compare(path, model, wanted, have, print)
        agree, differ, unseen = agree + counts[0], differ + counts[1], unseen + counts[2]
    print("%d files read, %d refused, %d declared tensors not in the graph" % (read, refused, unseen))
    print("%d tensors agree, %d differ" % (agree, differ))
    return 1 if differ else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:] + [d for d in [os.environ.get("CENTIMANI_MODELS")] if d]))
