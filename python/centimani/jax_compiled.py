# SPDX-License-Identifier: Apache-2.0
"""jax_compiled.py - what Google's compiler says of a step: memory of a chip, cycles of fusions, collectives.

The compiler is libtpu, which pip install "jax[tpu]" brings; it needs no TPU."""
from __future__ import annotations

import os
import re
from collections import Counter
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .errors import CaptureError
from .jax_shardings import Shardings, spec_of

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

CHIPS = {"v4": ("google-tpu-v4", 2), "v5e": ("google-tpu-v5e", 1), "v5p": ("google-tpu-v5p", 1), "v6e": ("google-tpu-v6e", 1)}
HERE = {"TPU_SKIP_MDS_QUERY": "1", "TPU_ACCELERATOR_TYPE": "v6e-8", "TPU_WORKER_HOSTNAMES": "localhost",
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}
COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
SIZES = {"f64": 8, "s64": 8, "u64": 8, "f32": 4, "s32": 4, "u32": 4, "bf16": 2, "f16": 2, "s16": 2, "u16": 2, "pred": 1}
LISTED = 40  # kinds of fusions, those with most cycles


# ---- the compiler's text --------------------------------------------------------------------------------------------


class Computation:
    def __init__(self) -> None:
        self.cycles: List[Tuple[str, int]] = []            # kind of operation, cycles
        self.sent: List[Tuple[str, int]] = []              # collective, bytes of its result
        self.loops: List[Tuple[str, str, Optional[int]]] = []  # condition, body, trip count
        self.constants: List[int] = []


def _bytes(shapes: str) -> int:
    total = 0
    for kind, dims in re.findall(r"\b([a-z]+\d*)\[([\d,]*)\]", shapes):
        count = 1
        for n in filter(None, dims.split(",")):
            count *= int(n)
        total += count * SIZES.get(kind, 1)
    return total


def _kind(name: str) -> str:
    return re.sub(r"[.\d]+$", "", name).replace("_", "-") or name


def computations(text: str) -> Tuple[Dict[str, Computation], str]:
    """The computations of optimised HLO text, and the name of the entry."""
    found: Dict[str, Computation] = {}
    entry, now = "", Computation()
    for line in text.splitlines():
        if line and not line[0].isspace() and line.rstrip().endswith("{"):
            words = line.split()
            name = words[1 if words[0] == "ENTRY" else 0].lstrip("%").split("(")[0]
            entry = name if words[0] == "ENTRY" else entry
            now = found.setdefault(name, Computation())
            continue
        made = re.match(r"\s+(?:ROOT )?%?([\w.\-]+) = (.*?)\s([a-z][\w\-]*)\(", line)
        if not made:
            continue
        name, shapes, operation = made.groups()
        cycles = re.search(r'"estimated_cycles":"(\d+)"', line)
        if cycles:
            now.cycles.append((_kind(name) if operation == "fusion" else operation, int(cycles[1])))
        base = operation.removesuffix("-start")
        if base in COLLECTIVES:
            now.sent.append((base, _bytes(shapes.split(",", 1)[-1] if operation.endswith("-start") else shapes)))
        constant = re.match(r".*\bs32\[\]\S* constant\((\d+)\)", line)
        if constant:
            now.constants.append(int(constant[1]))
        parts = re.search(r"\bcondition=%?([\w.\-]+), body=%?([\w.\-]+)", line)
        if operation == "while" and parts:
            trips = re.search(r'"known_trip_count":\{"n":"(\d+)"\}', line)
            now.loops.append((parts[1], parts[2], int(trips[1]) if trips else None))
    return found, entry


def described(text: str) -> Dict[str, Any]:
    """Cycles and collectives of one step, those of each iteration of a loop included."""
    found, entry = computations(text)
    cycles: Counter = Counter()
    times: Counter = Counter()
    sent: Dict[str, List[int]] = {}
    unknown = 0

    def walk(name: str, repeats: int, depth: int) -> None:
        nonlocal unknown
        c = found.get(name)
        if c is None or depth > 50:
            return
        for kind, n in c.cycles:
            cycles[kind] += n * repeats
            times[kind] += repeats
        for kind, n in c.sent:
            row = sent.setdefault(kind, [0, 0])
            row[0] += repeats
            row[1] += n * repeats
        for condition, body, trips in c.loops:
            bounds = found[condition].constants if condition in found else []
            trips = trips or (bounds[0] if len(bounds) == 1 else None)  # a loop counts up to the only constant of its test
            unknown += trips is None
            walk(body, repeats * (trips or 1), depth + 1)
    walk(entry, 1, 0)
    return {"cycles": sum(cycles.values()), "loops_of_unknown_length": unknown,
            "fusions": [{"name": k, "count": times[k], "cycles": n} for k, n in cycles.most_common(LISTED)],
            "collectives": [{"name": k, "count": n, "bytes": b} for k, (n, b) in sorted(sent.items())]}


# ---- the topology ---------------------------------------------------------------------------------------------------


def _topology(name: str) -> Tuple[str, List[Any], int]:
    """The profile's name, the devices, and how many of them are one chip."""
    chip, _, shape = name.partition(":")
    if chip not in CHIPS:
        raise CaptureError(f"compile_for='{name}': the chip must be one of {', '.join(CHIPS)}, as in 'v6e:2x4x1'")
    for key, value in HERE.items():
        os.environ.setdefault(key, value)
    if not jax.config.jax_platforms:
        jax.config.update("jax_platforms", "cpu")  # JAX would look for a TPU
    from jax.experimental import topologies
    sizes = [int(n) for n in shape.split("x") if n.isdigit()] if shape else [1, 1, 1]
    alone = {"chips_per_host_bounds": [1, 1, 1]} if all(n == 1 for n in sizes) else {}
    try:
        found = topologies.get_topology_desc(platform="tpu", topology_name=f"{chip}:{'x'.join(map(str, sizes))}", **alone)
    except Exception as error:  # noqa: BLE001 - as a missing libtpu raises it
        raise CaptureError(f"compile_for='{name}': {str(error).splitlines()[0][:300]}\n  The compiler of TPUs is libtpu: pip "
                           'install "jax[tpu]"') from None
    profile, each = CHIPS[chip]
    return profile, list(found.devices), each


PLACED = {"sharding_constraint": ("sharding",), "jit": ("in_shardings", "out_shardings"), "pjit": ("in_shardings", "out_shardings"),
          "shard_map": ("mesh",)}  # parameters that name devices


def _on(mesh: Mesh, value: Any, names: bool = False) -> Any:
    """The same program over the topology's devices. `names`: the value names devices."""
    if names and isinstance(value, NamedSharding):
        return NamedSharding(mesh, value.spec)
    if names and hasattr(value, "axis_names"):  # of shard_map: the arguments decide the devices
        return getattr(value, "abstract_mesh", value)
    if hasattr(value, "jaxpr") and hasattr(value, "consts"):
        return value.replace(jaxpr=_on(mesh, value.jaxpr))
    if hasattr(value, "eqns"):
        return value.replace(eqns=[e.replace(params={
            k: _on(mesh, v, k in PLACED.get(e.primitive.name, ())) for k, v in e.params.items()}) for e in value.eqns])
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(_on(mesh, v, names) for v in value)
    return value


def _lowered(traced: Any, leaves: Sequence[Any], batched: "set[int]", devices: List[Any]) -> Any:
    import numpy
    shardings = Shardings(leaves, traced)
    if not shardings.mesh:
        mesh = Mesh(numpy.array(devices), ("data",))
        specs = [PartitionSpec("data") if i in batched else PartitionSpec() for i in range(len(leaves))]
    else:
        sizes = tuple(shardings.mesh.values())
        if shardings.size(list(shardings.mesh)) != len(devices):
            raise CaptureError(f"the step divides its arrays over a mesh of {'x'.join(map(str, sizes))} devices, and the topology of "
                               f"compile_for has {len(devices)}")
        mesh = Mesh(numpy.array(devices).reshape(sizes), tuple(shardings.mesh))
        specs = [PartitionSpec(*(d or None for d in s)) if s else PartitionSpec() for s in shardings.leaves]
    arguments = [jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(mesh, s)) for x, s in zip(leaves, specs)]
    step = _on(mesh, traced.jaxpr)
    run = jax.jit(jax.extend.core.jaxpr_as_fun(step), donate_argnums=tuple(traced.donate_argnums))
    return run.lower(*arguments)


def _refusal(error: Exception) -> Dict[str, Any]:
    """What the compiler says of a step that is too large for a chip's memory."""
    text = str(error)
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    found = re.search(r"([\d.]+)([KMGT])\)? exceeds available HBM \(([\d.]+)([KMGT])\)", text) or \
        re.search(r"Used ([\d.]+)([KMGT]) of ([\d.]+)([KMGT]) hbm", text)
    if not found:
        raise CaptureError(f"the compiler failed: {text[:600]}") from None
    needs, unit, most, of = found.groups()
    return {"fits": False, "peak_bytes": round(float(needs) * units[unit]), "capacity_bytes": round(float(most) * units[of])}


def compiled(traced: Any, leaves: Sequence[Any], batched: "set[int]", topology: str, batch: int) -> Dict[str, Any]:
    """The compiler's answer on a step that was traced with all arrays of its arguments, `leaves`."""
    profile, devices, each = _topology(topology)
    try:
        import importlib.metadata
        version: Optional[str] = importlib.metadata.version("libtpu")
    except importlib.metadata.PackageNotFoundError:
        version = None
    answer = {"topology": topology, "device": profile, "devices": max(len(devices) // each, 1), "batch": batch, "libtpu": version}
    lowered = _lowered(traced, leaves, batched, devices)
    try:
        done = lowered.compile()
    except Exception as error:  # noqa: BLE001 - the compiler's own error
        return {**answer, **_refusal(error)}
    memory = done.memory_analysis()
    sizes = {k: int(getattr(memory, f"{k}_size_in_bytes")) for k in ("argument", "output", "alias", "temp", "generated_code")}
    peak = int(getattr(memory, "peak_memory_in_bytes", 0)) or \
        sizes["argument"] + sizes["output"] + sizes["temp"] - sizes["alias"]
    return {**answer, "fits": True, "peak_bytes": each * peak, "memory": sizes, **described(done.as_text())}
