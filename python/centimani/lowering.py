# SPDX-License-Identifier: Apache-2.0
"""lowering.py - which kernels torch.compile would generate for a training step, found without a GPU.

The step is traced by PyTorch's own compiler on fake tensors of the CPU, partitioned into forward and backward, and then
lowered, scheduled and written as Triton code as if its tensors were on a CUDA device: the example tensors of the two
graphs are replaced by fake ones on "cuda", and the few questions that the compiler asks about the device are answered
with the numbers of an H200. Nothing is compiled by Triton and nothing runs. It needs PyTorch with CUDA support (not a
GPU) and Triton.
"""
from __future__ import annotations

import contextlib
import copy
from typing import Any, Callable, Dict, Iterator, List, Optional
from unittest import mock

import torch
from torch.utils._pytree import tree_map

from . import autocast, inductor
from .inductor import Unsupported

DEVICE = torch.device("cuda", 0)
# Properties that the compiler asks about a device: its heuristics depend on cores and generation only.
PROPERTIES = {"name": "NVIDIA H200", "major": 9, "minor": 0, "multi_processor_count": 132, "warp_size": 32,
              "max_threads_per_multi_processor": 2048, "regs_per_multiprocessor": 65536, "max_threads_per_block": 1024,
              "total_memory": 139 << 30, "L2_cache_size": 60 << 20, "shared_memory_per_multiprocessor": 233472,
              "shared_memory_per_block": 49152, "shared_memory_per_block_optin": 232448, "gcnArchName": "", "uuid": ""}


@contextlib.contextmanager
def _pretended() -> Iterator[None]:
    """The compiler finds one CUDA device."""
    import torch._dynamo.device_interface as interfaces
    import torch._inductor.scheduler as scheduler
    import torch._subclasses.fake_tensor as fake
    import torch.utils._triton as triton
    properties = type("Properties", (), PROPERTIES)()
    cuda, worker = interfaces.CudaInterface, interfaces.CudaInterface.Worker
    answers = [(torch.cuda, "is_available", lambda: True), (torch.cuda, "device_count", lambda: 1),
               (torch.cuda, "current_device", lambda: 0), (torch.cuda, "get_device_properties", lambda *_: properties),
               (torch.cuda, "get_device_capability", lambda *_: (9, 0)), (torch.cuda, "synchronize", lambda *_: None),
               (fake, "init_gpu_context", lambda *_: None), (scheduler, "has_triton", lambda: True),
               (triton, "triton_hash_with_backend", lambda: "none"),
               (worker, "get_device_properties", staticmethod(lambda *_: properties)),
               (worker, "current_device", staticmethod(lambda: 0)),
               (cuda, "get_device_properties", staticmethod(lambda *_: properties)),
               (cuda, "get_compute_capability", staticmethod(lambda *_: 90)),
               (cuda, "is_available", staticmethod(lambda: True))]
    with contextlib.ExitStack() as stack:
        for where, name, answer in answers:
            stack.enter_context(mock.patch.object(where, name, answer))
        yield


def _on_device(value: Any) -> Any:
    from torch._subclasses.fake_tensor import FakeTensor
    if not isinstance(value, FakeTensor):
        return value
    shape = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    return FakeTensor(value.fake_mode, shape, DEVICE)


def _move(graph: torch.fx.GraphModule) -> None:
    """All tensors of a graph on the device."""
    with torch.utils._python_dispatch._disable_current_modes():
        for node in graph.graph.nodes:
            if "val" in node.meta:
                node.meta["val"] = tree_map(_on_device, node.meta["val"])
            moved = lambda d: DEVICE if isinstance(d, torch.device) else d  # noqa: E731
            node.args = torch.fx.node.map_aggregate(node.args, moved)
            node.kwargs = torch.fx.node.map_aggregate(node.kwargs, moved)
    graph.recompile()


def _sizes(graph: Any, name: str) -> List[int]:
    """Sizes of a buffer; none if it is several tensors."""
    buffer = graph.try_get_buffer(name)
    try:
        return [int(graph.sizevars.size_hint(n)) for n in buffer.get_size()]
    except (AttributeError, NotImplementedError):
        return []


def _externals(graph: Any) -> List[Dict[str, Any]]:
    """Kernels of libraries that the graph calls, with the sizes of their operands."""
    found = []
    for node in graph.scheduler.nodes:
        if not node.is_extern() or type(node).__name__.startswith("Nop") or type(node.node).__name__ == "MultiOutput":
            continue
        name = getattr(node.node, "python_kernel_name", None) or str(getattr(node.node, "op_overload", type(node.node).__name__))
        found.append({"library": str(name), "operands": [_sizes(graph, d.name) for d in node.read_writes.reads]})
    return found


def _lower(graph: torch.fx.GraphModule, inputs: List[Any], backward: bool, inference: bool) -> Any:
    """Inductor's lowering, scheduling and code of one graph."""
    from torch._inductor import compile_fx
    from torch._inductor.debug import DebugContext
    from torch._inductor.fx_passes.post_grad import view_to_reshape
    from torch._inductor.graph import GraphLowering
    from torch._inductor.virtualized import V
    own = copy.deepcopy(graph)
    mode = torch._guards.detect_fake_mode(inputs)
    with _pretended():
        compile_fx.record_original_output_strides(own)
        view_to_reshape(own)
        with V.set_fake_mode(mode):
            compile_fx._recursive_post_grad_passes(own, is_inference=inference)
        _move(own)
        with torch.utils._python_dispatch._disable_current_modes():
            examples = [_on_device(value) for value in inputs]
        lowering = GraphLowering(own, example_inputs=examples, is_backward=backward, is_inference=inference)
        with DebugContext(), V.set_fake_mode(mode), V.set_graph_handler(lowering):
            lowering.run(*examples)
            lowering.init_wrapper_code()
            lowering._update_scheduler()
            lowering.scheduler.codegen()
    return lowering


def _saved(graph: torch.fx.GraphModule, results: int) -> List[List[Any]]:
    """[type, elements, name] of the tensors that forward keeps for backward: the outputs after the model's own."""
    outputs = [node for node in graph.graph.nodes if node.op == "output"][0].args[0]
    kept = [node for node in outputs[results:] if isinstance(node, torch.fx.Node) and hasattr(node.meta.get("val"), "numel")]
    return [[str(n.meta["val"].dtype).removeprefix("torch."), int(n.meta["val"].numel()), n.name] for n in kept]


def groups(step: Callable[[Callable[..., Any]], None], model: Callable[..., Any]) -> List[Dict[str, Any]]:
    """Graphs that torch.compile makes of the model, each with its generated kernels, library calls and saved tensors.

    step(f) runs one step with f as the model on fake tensors, backward included.
    """
    import torch._functorch.config as functorch
    from torch._inductor.compile_fx import compile_fx
    found: List[Dict[str, Any]] = []

    def inner(graph: torch.fx.GraphModule, inputs: List[Any], **said: Any) -> Callable[..., Any]:
        backward, inference = bool(said.get("is_backward")), bool(said.get("is_inference"))
        with inductor.recorded() as kernels:
            try:
                lowering = _lower(graph, inputs, backward, inference)
            except Exception as error:
                raise Unsupported(f"the compiler did not lower a graph without a device: {type(error).__name__}: {error}"[:400])
        found.append({"pass": "backward" if backward else "forward", "kernels": list(kernels),
                      "libraries": _externals(lowering), "saved": [] if backward else _saved(graph, 1)})

        def run(arguments: List[Any]) -> Any:
            values = list(arguments)
            arguments.clear()
            return graph(*values)
        run._boxed_call = True  # type: ignore[attr-defined]
        return run
    torch._dynamo.reset()
    with mock.patch.object(functorch, "force_non_lazy_backward_lowering", True), \
            mock.patch.object(functorch, "enable_autograd_cache", False):
        step(torch.compile(model, backend=lambda graph, inputs: compile_fx(graph, inputs, inner_compile=inner)))
    return found


@contextlib.contextmanager
def _faked(model: torch.nn.Module, mode: Any) -> Iterator[None]:
    """The model's parameters and buffers are fake inside the block."""
    kept = [(module, dict(module._parameters), dict(module._buffers)) for module in model.modules()]
    for module, parameters, buffers in kept:
        module._parameters.update({k: torch.nn.Parameter(mode.from_tensor(p.detach()), requires_grad=p.requires_grad)
                                   for k, p in parameters.items() if p is not None})
        module._buffers.update({k: mode.from_tensor(b) for k, b in buffers.items() if b is not None})
    try:
        yield
    finally:
        for module, parameters, buffers in kept:
            module._parameters.update(parameters)
            module._buffers.update(buffers)


def compiled(model: torch.nn.Module, inputs: Any, result: Callable[[Any], torch.Tensor],
             precision: Optional[str] = None) -> List[Dict[str, Any]]:
    """groups() of a model and its example inputs. result(output) is the number, or the tensor to add up, for backward.

    precision "amp-*": the model runs under autocast.
    """
    from torch._subclasses.fake_tensor import FakeTensorMode
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    given = tree_map(lambda v: mode.from_tensor(v.cpu()) if isinstance(v, torch.Tensor) else v, inputs)
    arguments = given if isinstance(given, tuple) else () if isinstance(given, dict) else (given,)
    keywords = given if isinstance(given, dict) else {}

    def step(forward: Callable[..., Any]) -> None:
        with autocast.as_on_a_gpu(precision):
            value = result(forward(*arguments, **keywords))
        (value if value.dim() == 0 else value.float().sum()).backward()
    with _faked(model, mode), mode:
        return groups(step, model)
