# SPDX-License-Identifier: Apache-2.0
"""ceilings.py - the members of a device's profile that its own measurements give: peaks, memory, cache, launch.

Peaks are the rates of the largest square products that a moment allows. A copy of a growing working set gives the
bandwidths: the largest one passes through the memory; a smaller one that is much faster stays in the cache, whose size
is where the rate falls halfway (geometric mean). The launch time is that of a tiny operator among many.
"""
import math
import statistics
import time

SIDES = (256, 512, 1024, 2048, 4096, 8192)  # of square products
LONG_S, ROUNDS = 0.05, 3                    # a product or a copy that takes this long is the last one
SMALLEST, LARGEST = 1 << 16, 1 << 30        # bytes of a working set: an operand and its copy
CACHED = 1.5                                # times the memory's rate: a faster copy comes from a cache
TINY = 200                                  # operators in a row
CLASSES = {"cuda": "gpu", "cpu": "cpu", "hpu": "hpu", "xpu": "gpu", "mps": "gpu", "gpu": "gpu", "tpu": "tpu"}
RUNTIMES = {"gpu": ["torch-eager", "torch-compile"]}


class Probe:
    """Wall-clock times of one backend: products of a matrix with itself, copies and tiny operators that it makes."""

    def __init__(self, backend):
        self.backend = backend

    def seconds(self, run, times=1):
        """The least time of a run of several; the first one, which loads libraries, does not count."""
        found = []
        for _ in range(ROUNDS + 1):
            self.backend.synchronize()
            begin = time.perf_counter()
            results = [run() for _ in range(times)]
            self.backend.synchronize()
            found.append((time.perf_counter() - begin) / times)
            del results
        return max(min(found[1:]), 1e-9)

    def product_rate(self, dtype):
        """FLOP/s of products; None: the device has none in this type."""
        best = 0.0
        self.backend.precision(dtype)
        for side in SIDES:
            try:
                seconds = self.seconds(self.backend.product(side, dtype))
            except Exception:
                break
            best = max(best, 2 * side ** 3 / seconds)
            if seconds > LONG_S:
                break
        return best or None

    def copy_rates(self, free):
        """Bytes of a working set: bytes per second of reading it and writing it."""
        rates, size = {}, SMALLEST
        while size <= min(LARGEST, free / 4):
            times = max(1, min(TINY, (1 << 26) // size))
            seconds = self.seconds(self.backend.copy(size // 8), times)
            rates[size] = size / seconds
            if seconds > LONG_S:
                break
            size *= 2
        return rates

    def launch(self):
        tiny = self.backend.tiny()
        return statistics.median(self.seconds(tiny, TINY) for _ in range(ROUNDS)) / self.backend.tiny_count


def levels(rates):
    """(memory's rate, cache's bytes, cache's rate) of copy_rates(); the last two None: no cache shows."""
    memory = rates[max(rates)]
    size = max(rates, key=rates.get)
    if rates[size] < CACHED * memory:
        return memory, None, None
    middle = math.sqrt(rates[size] * memory)
    return memory, max(s for s in rates if rates[s] >= middle), rates[size]


def _memory(name, place, capacity, rate, number):
    return {"name": name, "place": place, "managed": "explicit" if place == "off-chip" else "cache", "scope": "device",
            "capacity": number(capacity, "B"), "bandwidth": number(rate, "B/s")}


def _precisions(peaks):
    """Those whose types were measured, with autocast to the 16-bit ones."""
    return [name for name in ("fp32", "tf32", "amp-bf16", "amp-fp16", "bf16", "fp16") if name.split("-")[-1] in peaks]


def measure(backend, runtime, number):
    """Members of a complete profile. number(value, unit) makes a number with its kind and source."""
    probe = Probe(backend)
    found = {dtype: probe.product_rate(dtype) for dtype in backend.dtypes if dtype != "fp8"}
    peaks = {dtype: rate for dtype, rate in found.items() if rate}
    units = {dtype: number(rate, "FLOP/s") for dtype, rate in peaks.items()}
    narrow = [dtype for dtype in ("bf16", "fp16") if dtype in peaks]
    best = max(narrow, key=peaks.get) if narrow else None
    with_units = bool(best and peaks[best] > CACHED * peaks.get("fp32", math.inf)) or "tf32" in peaks
    vector = {dtype: units[dtype] for dtype in units if dtype == "fp32" or not with_units}
    rate, cache_bytes, cache_rate = levels(probe.copy_rates(backend.free()))
    memory = [_memory("memory", "off-chip", backend.capacity(), rate, number)]
    if cache_bytes:
        memory.insert(0, _memory("cache", "on-chip", cache_bytes, cache_rate, number))
    cores, kind = backend.cores(), CLASSES[getattr(backend, "kind", backend.name)]
    return {"vendor": backend.vendor(), "class": kind, "style": "kernel-by-kernel",
            "modes": ["training", "inference"], "runtimes": [runtime] if runtime == "xla" else RUNTIMES.get(kind, [runtime]),
            "precisions": _precisions(peaks),
            **({"best_16bit": best} if best else {}), **({"cores": number(cores, "1")} if cores else {}),
            "peak": {"matrix": {dtype: units[dtype] for dtype in units if dtype not in vector}, "vector": vector},
            "memory": memory, "launch": number(getattr(backend, "launch", probe.launch)(), "s")}
