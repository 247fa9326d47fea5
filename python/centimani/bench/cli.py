# SPDX-License-Identifier: Apache-2.0
"""cli.py - python -m centimani bench: options, the sequence of steps, and the final report."""
import argparse
import collections
import os
import shlex
import signal
import sys
import time

from ..errors import CaptureError
from . import grids
from .cases import BadCase, label, parse, read
from .order import ByShare, InOrder


def _options(words):
    parser = argparse.ArgumentParser(
        prog="python -m centimani bench", description="Time the kernels of eager PyTorch or of JAX, call by call, and write "
        "the kernel tables and host times of a device profile.")
    parser.add_argument("--backend", choices=("torch", "jax"), default="torch", help="jax: programs that jax.jit compiles")
    parser.add_argument("--device", help="cuda, cpu, hpu, xla, xpu, mps, ipu, rdu or wse (default: cuda); with --backend jax cpu, gpu or tpu "
                        "(default: the first that JAX has)")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="stop measuring after this time")
    parser.add_argument("--cases", metavar="FILE", help="measure the cases of this file, in its order")
    parser.add_argument("--for", dest="networks", metavar="MODEL", nargs="+", help="measure only the calls of these networks "
                        "that the tables lack, most valuable first; a MODEL may have options of predict: 'resnet50 --batch 64'")
    parser.add_argument("--dtypes", metavar="LIST", help="only these types, such as bf16,fp32")
    parser.add_argument("--ops", metavar="LIST", help="only these ops, such as gemm,conv; 'host': host times")
    parser.add_argument("-o", "--output", metavar="FILE", default="profile.json",
                        help="the profile (default: profile.json)")
    parser.add_argument("--base", metavar="ID", help="the profile that the tables extend, such as nvidia-h200; by "
                        "default peaks, bandwidths, cache and launch time are measured, too")
    parser.add_argument("--resume", action="store_true", help="continue FILE: skip the calls that it contains")
    parser.add_argument("--longest", type=float, default=0.2, metavar="SECONDS",
                        help="skip calls expected to last longer (default: 0.2)")
    parser.add_argument("--tries", type=int, default=10, metavar="N", help="kernels that cuDNN tries for a convolution "
                        "before it chooses (default: 10, as torch.backends.cudnn.benchmark does; 0: it does not try)")
    parser.add_argument("--warm", action="store_true", help="keep every operand in the cache if it fits; by default "
                        "weights and saved activations are out of the cache, as in a training step")
    parser.add_argument("--list", action="store_true", help="count the cases by op and exit")
    parser.add_argument("--case", metavar="TEXT",
                        help="time one call, such as 'gemm forward nt bf16 1,4096,4096,1024', and print it")
    parser.add_argument("--suite", choices=("calls", "compiled", "host", "models"), default="calls", help="compiled: kernels that "
                        "torch.compile generates, with options of their own ('--suite compiled --help'); host: how fast this "
                        "machine launches, in seconds, for 'centimani predict --host FILE'; models: training steps of networks, for "
                        "'centimani calibrate' ('--suite models --help')")
    return parser.parse_args(words)


def _among(text, known, what):
    chosen = text.split(",") if text else list(known)
    for word in chosen:
        if word not in known:
            raise BadCase(f"unknown {what} '{word}'; known: {', '.join(known)}")
    return chosen


def _program_cases():
    from .xla_calls import cases
    return cases()


def _cases(options, calls, dtypes):
    """The cases to measure, the selected ops, and the invalid cases of the file."""
    ops = _among(options.ops, [*calls, "host"], "op")
    wanted = _among(options.dtypes, dtypes, "dtype of this device")
    grid = [] if options.networks else grids.cases() if "softmax" in calls else [c for c in _program_cases() if c.op in calls]
    listed, refused = read(options.cases, calls) if options.cases else (grid, [])
    chosen = [case for case in listed if case.op in ops]
    chosen = [case for case in chosen if set(case.dtype.replace(">", "+").split("+")) <= set(wanted)]
    if options.cases and len(chosen) < len(listed):
        sys.stderr.write(f"{len(listed) - len(chosen)} of {len(listed)} cases are of other ops or dtypes\n")
    return chosen, ops, refused


def _list(cases):
    counts = collections.Counter(case.op for case in cases)
    for op, count in counts.most_common():
        print(f"{op:14} {count:6}")
    print(f"{'all':14} {len(cases):6}")
    return 0


def _one(options, backend, calls):
    """--case: one call, its time and its rates."""
    from .profile import Profile
    case = parse(options.case, calls)
    profile = Profile(None, backend, "")
    backend.start()
    harness = backend.harness(profile, float("inf"), None, not options.warm)
    harness.run(InOrder([case]))
    for text, reason in harness.skipped + harness.failed + harness.wrong:
        raise BadCase(f"{text}: {reason}")
    seconds, kernels = profile.tables[case[:4]][case.sizes]
    flop, elements, width = harness.work_of(case)
    print(f"{label(case)}: {seconds * 1e6:.1f} us, {kernels} kernel{'s' * (kernels != 1)}, "
          f"{flop / seconds / 1e12:.4g} TFLOP/s, {elements * width / seconds / 1e9:.4g} GB/s, "
          f"{'result checked' if harness.sampler.checked else 'result not checked'}")
    return 0


def _report(harness, profile, host_failed):
    """Report what was measured and what was not; reasons are grouped, with the first case of each."""
    for what, found in (("skipped", harness.skipped), ("failed", harness.failed)):
        reasons = collections.defaultdict(list)
        for text, reason in found:
            reasons[reason].append(text)
        for reason, texts in sorted(reasons.items(), key=lambda item: -len(item[1])):
            sys.stderr.write(f"{what}: {len(texts)} x {reason} (first: {texts[0]})\n")
    for text, reason in harness.wrong:
        sys.stderr.write(f"wrong: {text}: {reason}\n")
    spent = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in harness.spent.most_common())
    sys.stderr.write(f"spent: {spent} (checking is part of building)\n")
    if harness.timer.conditions():
        sys.stderr.write(f"{harness.timer.conditions()}\n")
    if host_failed:
        sys.stderr.write(f"failed: host times: {host_failed}\n")
    sys.stderr.write(f"{profile.path}: {profile.rows()} rows in {len(profile.tables)} tables, {len(profile.host)} host "
                     f"times; {harness.done} of {harness.total} cases reached, {len(harness.skipped)} skipped, "
                     f"{len(harness.failed)} failed\n")
    print(f"#wrong {len(harness.wrong)} of {harness.sampler.checked} checked")


def _host(backend, profile):
    """The host's time: a second's work, and more valuable than any row. Returns the reason if there is none."""
    from . import host
    try:
        profile.set_host(host.probe(backend))
        profile.write()
        return None
    except Exception as error:  # the tables are still measured
        return str(error).splitlines()[0] if str(error) else type(error).__name__


def _interrupt(*_):
    raise KeyboardInterrupt


def _queue(options, profile, waiting, backend):
    """The order in which the cases are measured."""
    if options.networks:
        from .wanted import Wanted
        return Wanted(options.networks, profile, backend.calls, backend.dtypes)
    return InOrder(waiting) if options.cases else ByShare(waiting, collections.defaultdict(lambda: 1, grids.TIME))


def _run(options, backend, command, cases, ops, refused):
    from .profile import Profile
    profile = Profile(options.output, backend, command, options.base, not options.warm)
    if os.path.exists(options.output) and not options.resume:
        raise BadCase(f"{options.output} exists; --resume continues it, -o names another")
    if options.resume:
        profile.resume()
    waiting = [case for case in cases if not profile.holds(case)]
    deadline = time.monotonic() + options.budget if options.budget else None
    profile.write()  # fails early if the folder is not writable
    signal.signal(signal.SIGTERM, _interrupt)
    backend.start()
    host_failed = _host(backend, profile) if "host" in ops and backend.queued else None  # before a profiler slows the host
    if ops != ["host"]:
        profile.describe(backend)
        profile.write()
    harness, status = backend.harness(profile, options.longest, deadline, not options.warm), 0
    harness.failed += refused
    queue = _queue(options, profile, waiting, backend)
    try:
        harness.run(queue)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; the measurements so far are kept\n")
        status = 130
    except RuntimeError as error:
        sys.stderr.write(f"centimani bench: {str(error).splitlines()[0]}; --resume continues\n")
        status = 1
    profile.note(harness.timer.conditions())
    profile.write()
    harness.failed += queue.refused.items()
    _report(harness, profile, host_failed)
    return status or (1 if harness.wrong else 0)


def backend_of(options):
    try:
        if options.backend == "jax":
            from .jax_backend import BACKENDS
        else:
            from .backends import BACKENDS
    except ImportError as error:
        raise BadCase(f"{error}; the benchmark needs {'JAX' if options.backend == 'jax' else 'PyTorch'}") from None
    device = options.device or ("cuda" if options.backend == "torch" else next(iter(BACKENDS)))
    return BACKENDS[_among(device, BACKENDS, "device")[0]]


def _without_suite(words):
    """The suite that --suite names, and the other words."""
    if "--suite" not in words[:-1]:
        return "calls", words
    at = words.index("--suite")
    return words[at + 1], words[:at] + words[at + 2:]


def main(words):
    suite, words = _without_suite(words)
    if suite == "compiled":
        from . import fused
        return fused.main(words)
    if suite == "models":
        from . import models
        return _said(models.main, words)
    if suite == "host":
        words = [*words, "--ops", "host"]
    elif suite != "calls":
        sys.stderr.write(f"centimani bench: unknown suite '{suite}'; known: calls, compiled, host, models\n")
        return 2
    return _said(_calls, words)


def _said(run, words):
    """Run a suite; what the user can mend is one line."""
    try:
        return run(words)
    except (BadCase, CaptureError, ValueError, OSError) as error:
        sys.stderr.write(f"centimani bench: {error}\n")
        return 2


def _calls(words):
    options = _options(words)
    backend = backend_of(options)
    if options.list:
        return _list(_cases(options, backend.calls, backend.dtypes)[0])
    if not backend.available():
        raise BadCase(f"this {backend.framework} sees no device '{backend.name}'")
    if options.ops == "host" and not backend.queued:
        raise BadCase(f"--suite host times launches on a GPU; '{backend.name}' has none")
    backend.tries = options.tries
    if options.case:
        return _one(options, backend, backend.calls)
    command = "python -m centimani bench " + shlex.join(words)
    return _run(options, backend, command, *_cases(options, backend.calls, backend.dtypes))
