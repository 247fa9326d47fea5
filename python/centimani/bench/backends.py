# SPDX-License-Identifier: Apache-2.0
"""backends.py - the devices that PyTorch supports: whether one is present, how to synchronise with it, how to time
on it."""
import importlib
import os
import warnings

import torch

from .names import processor
from .rotate import CACHE_BYTES
from .timers import KernelTimer, WallTimer


def _module(name):
    """torch.NAME if this PyTorch has it and sees a device."""
    module = getattr(torch, name, None)
    return module if module is not None and getattr(module, "is_available", lambda: False)() else None


def _plugin(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _cuda_precision(dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer releases warn about another spelling of the same setting
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
        torch.backends.cudnn.allow_tf32 = dtype == "tf32"


def _cuda_free():
    free = torch.cuda.mem_get_info()[0]
    return free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()


def _cuda_start(tries):
    os.environ.setdefault("TEARDOWN_CUPTI", "0")  # setting CUPTI up again takes longer than a session
    torch.backends.cudnn.benchmark = tries > 0
    if hasattr(torch.backends.cudnn, "benchmark_limit"):
        torch.backends.cudnn.benchmark_limit = tries
    # After each algorithm choice PyTorch frees all cached memory, and the next operands are allocated again.
    getattr(torch._C, "_cudnn_set_conv_benchmark_empty_cache", _nothing)(False)
    torch.cuda.init()


def _cuda_tidy():
    """cuDNN skips algorithms whose workspace does not fit into free memory: make enough free."""
    free, total = torch.cuda.mem_get_info()
    if free < total / 2:
        torch.cuda.empty_cache()


def _cuda_cache():
    return max(CACHE_BYTES, getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0))


def _cuda_name():
    return torch.cuda.get_device_name()


def _cuda_versions():
    parts = [f"CUDA {torch.version.cuda}" if torch.version.cuda else f"ROCm {getattr(torch.version, 'hip', None)}"]
    if torch.backends.cudnn.is_available():
        parts.append(f"cuDNN {torch.backends.cudnn.version()}")
    return parts


def _host_memory(what):
    try:
        with open("/proc/meminfo", encoding="utf-8") as file:
            return 1024 * int(next(line for line in file if line.startswith(what)).split()[1])
    except (OSError, StopIteration):
        names = getattr(os, "sysconf_names", {})
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if "SC_PHYS_PAGES" in names else 4 << 30


def _host_free():
    return _host_memory("MemAvailable")


def _hpu_wait():
    importlib.import_module("habana_frameworks.torch.core").mark_step()
    torch.hpu.synchronize()


def _nothing(*_):
    return None


def _software():
    """Releases that kernel times depend on: a profile has tables of one release."""
    cudnn = torch.backends.cudnn.version() if torch.cuda.is_available() else None
    found = {"torch": torch.__version__, "cuda": torch.version.cuda if cudnn else None,
             "cudnn": cudnn and (f"{cudnn // 10000}.{cudnn // 100 % 100}" if cudnn >= 90000 else f"{cudnn // 1000}.{cudnn // 100 % 10}")}
    return {name: ".".join(text.split(".")[:2]) for name, text in found.items() if text}


class Backend:
    """One row of the table. `framework`: whose calls they are; `calls`: their table. `together`: calls between two synchronisations on devices that queue calls; `runtime`: what
    runs the calls, as questions about the device name it."""

    framework, software, tiny_count = "PyTorch", staticmethod(_software), 1

    @property
    def calls(self):
        from .calls import CALLS
        return CALLS

    def product(self, side, dtype):
        """Multiplies a square matrix with itself."""
        from .calls import TORCH_DTYPES
        a = torch.ones(side, side, device=self.device(), dtype=TORCH_DTYPES[dtype])
        return lambda: torch.mm(a, a)

    def copy(self, numbers):
        """Copies so many numbers of 4 bytes."""
        source = torch.ones(numbers, device=self.device())
        target = torch.empty_like(source)
        return lambda: target.copy_(source)

    def tiny(self):
        """Changes one number."""
        x = torch.ones(1, device=self.device())
        return lambda: x.add_(1)

    def harness(self, *given):
        from .harness import Harness
        return Harness(self, *given)

    def __init__(self, name, available, synchronize, timer=WallTimer, dtypes=("fp32", "bf16", "fp16"), together=10,
                 start=_nothing, precision=_nothing, free=lambda: 8 << 30, title=None, versions=lambda: [],
                 device=lambda: None, queued=True, release=_nothing, tidy=_nothing,
                 cache=lambda: CACHE_BYTES, capacity=None, cores=_nothing, vendor=lambda: "unknown",
                 runtime="torch-eager"):
        self.name, self.available, self.synchronize, self.timer = name, available, synchronize, timer
        self.dtypes, self.together, self.precision, self.tries = dtypes, together, precision, 10
        self.start = lambda: start(self.tries)
        self.free, self.title, self.queued = free, title or (lambda: name), queued
        self.versions = lambda: [f"PyTorch {torch.__version__}", *versions()]
        self.device, self.release = lambda: device() or torch.device(name), release
        self.tidy, self.cache = tidy, cache
        self.capacity, self.cores, self.vendor, self.runtime = capacity or self.free, cores, vendor, runtime


BACKENDS = {row.name: row for row in (
    Backend("cuda", lambda: _module("cuda"), lambda: torch.cuda.synchronize(), timer=KernelTimer,
            dtypes=("bf16", "fp16", "tf32", "fp32", "fp8"), start=_cuda_start, precision=_cuda_precision, free=_cuda_free,
            title=_cuda_name, versions=_cuda_versions, release=lambda: torch.cuda.empty_cache(),
            tidy=_cuda_tidy, cache=_cuda_cache, capacity=lambda: torch.cuda.mem_get_info()[1],
            cores=lambda: torch.cuda.get_device_properties(0).multi_processor_count,
            vendor=lambda: "AMD" if getattr(torch.version, "hip", None) else "NVIDIA"),
    Backend("cpu", lambda: True, _nothing, dtypes=("fp32", "bf16"), together=1, free=_host_free, title=processor,
            queued=False, capacity=lambda: _host_memory("MemTotal"), cores=lambda: os.cpu_count()),
    Backend("hpu", lambda: _plugin("habana_frameworks.torch.core"), _hpu_wait, vendor=lambda: "Intel", runtime="native"),
    Backend("xpu", lambda: _module("xpu"), lambda: torch.xpu.synchronize(), vendor=lambda: "Intel",
            title=lambda: torch.xpu.get_device_name(),
            capacity=lambda: torch.xpu.get_device_properties(0).total_memory),
    Backend("mps", lambda: getattr(torch.backends, "mps", None) and torch.backends.mps.is_available(),
            lambda: torch.mps.synchronize(), dtypes=("fp32", "fp16"), vendor=lambda: "Apple",
            capacity=lambda: _host_memory("MemTotal")),
)}


def _with_programs():
    """Devices whose calls are programs; their modules need this one."""
    from . import sdk_cerebras, sdk_poptorch, sdk_sambaflow, torch_xla_backend
    for backend in (torch_xla_backend.XlaBackend(), sdk_poptorch.BACKEND, sdk_sambaflow.BACKEND, sdk_cerebras.BACKEND):
        BACKENDS[backend.name] = backend


_with_programs()
