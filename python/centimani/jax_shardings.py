# SPDX-License-Identifier: Apache-2.0
"""jax_shardings.py - how a JAX step divides its arrays over devices, read as the degrees of a parallel plan."""
from __future__ import annotations

import math
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from .jaxpr import _closed

EXPERTS = ("ep", "expert", "experts")      # names of mesh axes by which experts are divided
STAGES = ("pp", "pipe", "pipeline", "stage", "stages")
Spec = Tuple[Tuple[str, ...], ...]         # of each dimension, the mesh axes that divide it


def spec_of(sharding: Any, rank: int) -> Optional[Spec]:
    """None: the sharding names no mesh axes."""
    spec = getattr(sharding, "spec", None)
    if spec is None:
        return None
    dims = [() if d is None or not isinstance(d, (str, tuple, list)) else (d,) if isinstance(d, str) else tuple(d)
            for d in tuple(spec)]
    return tuple(dims[:rank]) + ((),) * (rank - len(dims))


def mesh_of(sharding: Any) -> Any:
    mesh = getattr(sharding, "mesh", None)
    return mesh if getattr(mesh, "axis_names", ()) else None


def equations(jaxpr: Any) -> Iterator[Any]:
    """All equations, those of called functions and loops included."""
    for eqn in _closed(jaxpr)[0].eqns:
        yield eqn
        for value in eqn.params.values():
            for inner in value if isinstance(value, (tuple, list)) else (value,):
                if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                    yield from equations(inner)


class Shardings:
    """`leaves`: the spec of each array among the step's arguments. `mesh`: its axes and their sizes, {} if there is none."""

    def __init__(self, leaves: Sequence[Any], traced: Any):
        self.jaxpr = traced.jaxpr
        given = [getattr(x, "sharding", None) for x in leaves]
        own = self._of_jit(len(leaves), traced)
        self.shardings = [a if spec_of(a, 0) is not None else b for a, b in zip(own, given)]
        self.constraints = [(e.params["sharding"], e.outvars[0].aval) for e in equations(self.jaxpr)
                            if e.primitive.name == "sharding_constraint"]
        self.manual = [e for e in equations(self.jaxpr) if e.primitive.name == "shard_map"]
        meshes = [mesh_of(s) for s in (*self.shardings, *(c for c, _ in self.constraints))]
        meshes += [e.params["mesh"] for e in self.manual]
        self.whole = next((m for m in meshes if m is not None), None)
        self.mesh: Dict[str, int] = dict(self.whole.shape) if self.whole is not None else {}
        self.leaves = [spec_of(s, len(getattr(x, "shape", ()))) for s, x in zip(self.shardings, leaves)]

    @staticmethod
    def _of_jit(count: int, traced: Any) -> List[Any]:
        """in_shardings of the step itself, which its equation has where it is called."""
        found = getattr(traced, "_params", {}).get("in_shardings") or ()
        return list(found) if len(found) == count else [None] * count

    def size(self, axes: Sequence[str]) -> int:
        return math.prod(self.mesh.get(a, 1) for a in axes)

    def _batch_axes(self, batched: "set[int]") -> List[str]:
        found: Dict[str, None] = {}
        specs = [self.leaves[i] for i in sorted(batched)]
        if not any(s and s[0] for s in specs):
            specs = [spec_of(s, len(aval.shape)) for s, aval in self.constraints]
        for e in self.manual:
            specs += [spec_of_manual(s, len(v.aval.shape)) for s, v in zip(e.params.get("in_specs", ()), e.invars)
                      if any(v is w for w in self._batched_inputs(batched))]
        for s in specs:
            found.update(dict.fromkeys(s[0] if s else ()))
        return list(found)

    def _batched_inputs(self, batched: "set[int]") -> List[Any]:
        inputs = _closed(self.jaxpr)[0].invars
        return [inputs[i] for i in batched if i < len(inputs)]

    def degree(self, batched: "set[int]") -> int:
        """Replicas that divide the batch."""
        return self.size(self._batch_axes(batched))

    def plan(self, roles: Dict[int, str], warnings: List[str]) -> Dict[str, Any]:
        """Degrees of the plan. What they cannot express is said in `warnings`."""
        batched = {i for i, r in roles.items() if r == "input"}
        data = self._batch_axes(batched)
        tokens = [a for i in sorted(batched) for dim in (self.leaves[i] or ())[1:2] for a in dim if a not in data]
        weights = self._axes(roles, "parameter")
        states = self._axes(roles, "state")
        means: Dict[str, str] = {}
        for axis, size in self.mesh.items():
            shards = axis in weights
            kept = "fsdp" if shards and axis in data else "expert" if shards and axis.lower() in EXPERTS else \
                "pipeline" if axis.lower() in STAGES else "tensor" if shards else "context" if axis in tokens else \
                "optimizer" if axis in data and axis in states else "data" if axis in data else \
                "sequence" if any(axis in d for s, aval in self.constraints for d in spec_of(s, len(aval.shape)) or ()) \
                else "unused"
            means[axis] = kept if size > 1 else "unused"
        for axis, kept in means.items():
            if self.mesh[axis] > 1 and kept in ("pipeline", "unused", "sequence"):
                why = {"pipeline": "divides layers, which is not read: give --pp", "unused": "divides no argument: it was not read",
                       "sequence": "divides activations alone, which is not read"}[kept]
                warnings.append(f"mesh axis '{axis}' ({self.mesh[axis]} devices) {why}")
        of = {k: self.size([a for a, m in means.items() if m == k]) for k in ("tensor", "context", "expert")}
        dp = self.size([a for a, m in means.items() if m in ("data", "fsdp", "optimizer")])
        sharded = self.size([a for a, m in means.items() if m == "fsdp"])
        zero = 3 if sharded > 1 else 1 if "optimizer" in means.values() else 0
        if zero == 3 and sharded < dp:
            warnings.append(f"parameters are sharded by {sharded} of {dp} replicas and copied by the others; the plan shards them "
                            "by all")
        ep = of["expert"] if dp % max(of["expert"], 1) == 0 else 1
        if of["expert"] > 1 and ep == 1:
            warnings.append(f"experts are divided by {of['expert']}, which the {dp} replicas are no multiple of: give --ep")
        return {"mesh": self.mesh, "axes": means, "devices": dp * of["tensor"] * of["context"], "tp": of["tensor"],
                "cp": of["context"], "dp": dp, "zero": zero, "ep": ep}

    def _axes(self, roles: Dict[int, str], role: str) -> "set[str]":
        found = set()
        for i, r in roles.items():
            for dim in (self.leaves[i] or ()) if r == role else ():
                found.update(dim)
        for e in self.manual:
            inputs = _closed(self.jaxpr)[0].invars
            of = {id(inputs[i]) for i, r in roles.items() if r == role and i < len(inputs)}
            for s, v in zip(e.params.get("in_specs", ()), e.invars):
                for dim in (spec_of_manual(s, len(v.aval.shape)) or ()) if id(v) in of else ():
                    found.update(dim)
        return found


def spec_of_manual(spec: Any, rank: int) -> Optional[Spec]:
    """A spec of shard_map: a PartitionSpec itself."""
    return spec_of(type("", (), {"spec": spec})(), rank)
