# SPDX-License-Identifier: Apache-2.0
"""inductor.py - record the kernels that torch.compile generates: their sizes, what they read and what they write.

PyTorch's compiler (Inductor) decides which operators become one kernel. This module listens while it writes the
kernels; it needs no device. The internal names that it uses are those of PyTorch 2.11; where they are missing,
recorded() raises Unsupported.
"""
import contextlib


class Unsupported(RuntimeError):
    """This PyTorch has no Inductor, or one whose parts have other names."""


def _parts():
    try:
        from torch._inductor.codegen.triton import TritonScheduling
        from torch._inductor.virtualized import V
        return TritonScheduling, V
    except ImportError as error:
        raise Unsupported(f"this PyTorch's compiler cannot be listened to: {error}") from None


def _number(graph, value):
    """A size as a number: sizes are expressions if shapes are symbolic."""
    hint = getattr(graph.sizevars, "optimization_hint", None) or graph.sizevars.size_hint
    return int(hint(value))


def _place(access):
    """An access's index as text; an indirect access has none."""
    try:
        return str(access.index)
    except (AttributeError, NotImplementedError):
        return str(access)


def _operand(graph, name, accesses, points):
    """[type, bytes that the kernel touches, elements of the buffer] of one buffer."""
    elements = _number(graph, graph.get_numel(name))
    dtype = graph.get_dtype(name)
    touched = elements
    if elements > points:  # a part of the buffer: each access with an index of its own touches `points` numbers
        touched = min(elements, points * max(1, len({_place(d) for d in accesses.get(name, [])})))
    return [str(dtype).removeprefix("torch."), touched * dtype.itemsize, elements]


def _names(buffers):
    """The buffers of one kind that are really operands: Inductor marks those that it removed."""
    return [name for name, inner in buffers.items() if type(inner).__name__ != "RemovedArg"]


def _inplace(args):
    found = {}
    for value in args.inplace_buffers.values():
        if hasattr(value, "other_names"):
            found[value.inner_name] = value.other_names
    return list(found.values())


def described(graph, name, kernel):
    """One generated kernel as a record: sizes, operands, kinds of operations."""
    numels = {axis: _number(graph, n) for axis, n in kernel.numels.items()}
    points = 1
    for n in numels.values():
        points *= n
    accesses = kernel.features.buf_accesses()

    def operands(names):
        return [_operand(graph, n, accesses, points) for n in names]
    over = _inplace(kernel.args)
    added = any(getattr(access, "mode", None) for found in accesses.values() for access in found)
    return {"kernel": name, **({"adds_by_index": True} if added else {}), "numels": numels, "reduces": bool(kernel.inside_reduction),
            "persistent": bool(getattr(kernel, "persistent_reduction", False)),
            "reads": operands(_names(kernel.args.input_buffers)) + operands([names[0] for names in over]),
            "writes": operands(_names(kernel.args.output_buffers)) + operands([names[-1] for names in over]),
            "operations": dict(kernel.features.op_counts()),
            "hint": str(kernel.features.get_reduction_hint()).rpartition(".")[2] if kernel.inside_reduction else ""}


@contextlib.contextmanager
def recorded():
    """A list that receives a record for every kernel that Inductor generates inside the block.

    A kernel that is used again for equal operands is recorded again, with the same name.
    """
    scheduling, virtual = _parts()
    original, found = scheduling.define_kernel, []

    def define(self, source, schedule, kernel):
        name = original(self, source, schedule, kernel)
        try:
            found.append(described(virtual.graph, name, kernel))
        except Exception as error:  # noqa: BLE001 - a kernel that cannot be described is still compiled
            found.append({"kernel": name, "unknown": f"{type(error).__name__}: {error}"[:200]})
        return name
    scheduling.define_kernel = define
    try:
        yield found
    finally:
        scheduling.define_kernel = original
