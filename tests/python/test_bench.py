#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_bench.py - PROGRAM: tests of the benchmark of PyTorch calls, on the CPU, with TAP output."""
import json
import pathlib
import signal
import subprocess
import sys
import time
import types

from bench_support import ADD, NEEDS, PACKAGE, SMALL, FakeDevice, bench, case_file, on_processor, run, torch

from centimani.bench import cases, ceilings, grids, order, timers, verify, wanted
from centimani.bench.calls import CALLS
from centimani.bench.calls_layers import tensor_sizes

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else None


def grids_are_well_formed(_):
    listed = grids.cases()
    assert 5000 <= len(listed) <= 9000, len(listed)
    assert len(set(listed)) == len(listed)
    for case in listed:
        cases.check(case, CALLS)
    assert {case.op for case in listed} == set(CALLS)
    assert listed == grids.cases()
    assert {"add:part", "copy:part", "mul:part", "mul:plane", "cat"} <= {case.variant for case in listed}
    grouped = {(case.phase, case.dtype, case.variant) for case in listed if case.op == "conv" and case.sizes[-1] > 1}
    assert grouped >= {(phase, *how) for phase in CALLS["conv"].phases for how in (("bf16", "nhwc"), ("tf32", "nchw"))}
    assert all(case.sizes[1] % case.sizes[-1] == 0 for case in listed if case.op == "conv")


def a_cut_leaves_every_call(_):
    later = {"conv3d", "resize", "resize3d", "rms_norm", "group_norm", "rnn", "sort", "fft"}  # lower priority
    assert {case.op for case in grids.cases()[:1500]} >= set(CALLS) - later


def time_is_shared(_):
    """Two ops with equal shares of the time, one ten times as slow: 10 cases of the fast one for 1 of the slow one."""
    listed = [cases.Case(op, "forward", "", "fp32", (n,)) for n in range(200) for op in ("slow", "fast")]
    line, done = order.ByShare(listed, {"slow": 1, "fast": 1}), []
    for _ in range(110):
        done.append(line.peek())
        line.pop(1.0 if done[-1].op == "slow" else 0.1)
    assert abs(sum(case.op == "slow" for case in done) - 10) <= 1, done
    assert [case.sizes[0] for case in done if case.op == "fast"] == sorted(c.sizes[0] for c in done if c.op == "fast")
    assert len(line) == 290
    assert set(grids.TIME) == set(CALLS)


def wanted_calls_come_by_value(_):
    """The value of a call is its share of a network's time times its error, over the time to measure such a call."""
    def ask(words, path):
        assert path == "p.json" and words[0] in ("a", "b c"), words
        calls = {"gemm forward nn fp32 1,8,8,8": 0.5, "softmax forward fp32 8,8": 0.25, "wish forward - fp32 1": 0.25}
        return {"device_time_s": 1.0, "interval_s": [1.0, 2.0],
                "missing": [{"call": call, "time_s": seconds, "error": 0.1} for call, seconds in calls.items()]}
    queue = wanted.Wanted(["a", "'b c'"], types.SimpleNamespace(path="p.json"), CALLS, ["fp32"], ask)
    assert [case.op for case in queue.cases] == ["gemm", "softmax"] and list(queue.refused) == ["wish forward - fp32 1"]
    queue.pop(30.0)
    queue.renew()
    assert len(queue) == 1, "a call that was tried is not asked for again"
    queue.taken.clear()
    queue.renew()
    assert [case.op for case in queue.cases] == ["softmax", "gemm"], "products took 30 s each"
    assert abs(wanted.expected_error({"interval_s": [1.0, 1.0]})) < 1e-9


def every_call_runs_and_is_right(_):
    """Each pass and variant in fp32 runs, and agrees with the reference if it has one."""
    runner, made = on_processor()
    listed = [cases.Case(op, phase, variant, "fp32", sizes) for op, call in CALLS.items() if NEEDS.get(op, True)
              for phase in call.phases for variant in call.variants for sizes in SMALL[op]
              if variant != "gelu_grad:strided"]  # PyTorch 1.13 on aarch64 returns uninitialised memory
    runner.run(order.InOrder(listed))
    assert not runner.failed and not runner.skipped and not runner.wrong, runner.failed + runner.skipped + runner.wrong
    assert made.rows() == len(listed)
    assert runner.sampler.checked > 100, runner.sampler.checked


def types_of_operands_and_result(_):
    runner, made = on_processor()
    runner._rate = lambda dtype: 1e9
    listed = [cases.Case("elementwise", "forward", variant, dtype, (33, 64)) for variant, dtype in (
        ("copy", "fp32>bf16"), ("copy:strided", "bf16>fp32"), ("add", "bf16+fp32>fp32"), ("mul:row", "bf16+fp32>bf16"),
        ("sub:col", "fp32+bf16>fp32"))]
    runner.run(order.InOrder(listed))
    assert made.rows() == len(listed) and not runner.wrong, runner.failed + runner.wrong


def a_wrong_result_has_no_time(_):
    runner, made = on_processor()
    build = CALLS["gemm"].build

    def broken(s, case, t):
        operands, prepare = build(s, case, t)

        def prepared(*given):
            run = prepare(*given)
            return run if given[0].dtype == torch.float64 else lambda: run() * 1.5
        return operands, prepared
    CALLS["gemm"].build = broken
    try:
        runner.run(order.InOrder([cases.Case("gemm", "forward", "nn", "fp32", (1, 8, 8, 8))]))
    finally:
        CALLS["gemm"].build = build
    assert len(runner.wrong) == 1 and made.rows() == 0


def not_a_number_is_wrong(_):
    assert verify.error(torch.full((3,), float("nan")), [torch.ones(3)], lambda x: lambda: x) == float("inf")


def optimizer_sizes_add_up(_):
    for tensors, elements in ((1, 1), (7, 1000), (161, 25557032), (1000, 10 ** 9), (9, 10), (300, 301)):
        sizes = tensor_sizes(tensors, elements)
        assert len(sizes) == tensors and sum(sizes) == elements and min(sizes) > 0, (tensors, elements)


def other_kernels_run_before_each_repetition(_):
    device = FakeDevice()
    found = device.measure(lambda: device.launch(3e-6))
    names = [name for name, _ in device.log]
    timed = [place for place, name in enumerate(names) if name == "kernel" and names[place - 2] == "crowd"]
    assert len(timed) == names.count("crowd") == 8, names
    assert all(names[place - 1] == "marker" for place in timed) and abs(found[0].seconds - 3e-6) < 1e-12, found


def kernels_are_cut_by_markers(_):
    device, turn = FakeDevice(), []

    def uneven():  # launches a third kernel once in five
        turn.append(0)
        device.launch(*[4e-6] * (3 if len(turn) % 5 == 0 else 2))

    def fails():
        raise ValueError("no such kernel")

    def taped():
        device.launch(7e-6)
    taped.before = lambda: device.launch(9.0)
    found = device.measure(lambda: device.launch(2e-6, 3e-6), fails, uneven, taped, lambda: 0)
    assert abs(found[0].seconds - 5e-6) < 1e-12 and found[0].kernels == 2, found
    assert isinstance(found[1], ValueError) and isinstance(found[4], ValueError), found
    assert abs(found[2].seconds - 8e-6) < 1e-12 and found[2].kernels == 2, found
    assert abs(found[3].seconds - 7e-6) < 1e-12 and found[3].kernels == 1, found


def long_calls_are_spread(_):
    items = [types.SimpleNamespace(repeats=3 if index < 10 else 20) for index in range(40)]
    found = timers._mixed(items)
    assert sorted(found) == list(range(40)) and found != sorted(found)
    assert all(1 <= sum(index < 10 for index in found[start:start + 8]) <= 3 for start in range(0, 40, 8)), found


def kernels_that_overlap_count_once(_):
    """Starts in nanoseconds: b begins while a runs and ends 4 ns after it, c within b, d later."""
    events = [(0, 10e-9, "a"), (4, 10e-9, "b"), (5, 3e-9, "c"), (20, 5e-9, "d")]
    counted = dict(timers._uncovered(events))
    for name, seconds in (("a", 10e-9), ("b", 4e-9), ("c", 0), ("d", 5e-9)):
        assert abs(counted[name] - seconds) < 1e-15, counted


def a_lower_clock_does_not_count(_):
    """Three calls are visited four times each; the first two visits of the first call run at half the clock."""
    device, turn = FakeDevice(), []

    def first():
        turn.append(0)
        device.launch(5e-6)

    def probe():
        device.clock = 1e9 if len(turn) in (1, 4) else 2e9  # a visit is a warm-up and two calls
        device.log.append(("spin", device.timer.CYCLES / device.clock))
    device.timer._probe = probe
    found = device.measure(first, lambda: device.launch(1e-6), lambda: device.launch(1e-6), repeats=5)
    assert all(abs(one.seconds - right) < 1e-12 for one, right in zip(found, (5e-6, 1e-6, 1e-6))), found
    assert "bf16 2.00" in device.timer.conditions(), device.timer.conditions()


def lost_kernels_give_no_times(_):
    device = FakeDevice(lose=1)
    found = device.measure(*[lambda: device.launch(1e-6)] * 3)
    assert all(isinstance(one, timers.SessionLost) for one in found), found


def a_profile_is_valid(folder):
    """`centimani devices check` accepts the written profile, alone and with a base."""
    path = case_file(folder, [{**ADD, "rows": [[16, 16], [64, 64]]},
                              {"op": "cross_entropy", "pass": "forward", "dtype": "fp32", "rows": [[8, 16]]}])
    for name, more in (("alone", ()), ("based", ("--base", "nvidia-h200"))):
        out = pathlib.Path(folder, f"{name}.json")
        done = bench("--cases", path, "-o", out, *more)
        assert done.returncode == 0 and done.stdout == "#wrong 0 of 2 checked\n", done
        document = json.loads(out.read_text())
        rows = {table["op"]: table["rows"] for table in document["kernels"]}
        assert [row[:2] for row in rows["elementwise"]] == [[16, 16], [64, 64]] and rows["cross_entropy"][0][3] == 1
        assert 0 < rows["elementwise"][0][2] < 0.1
        if PROGRAM:
            call = [PROGRAM, "devices", "check", str(out)]
            checked = subprocess.run(call, capture_output=True, text=True, check=False)
            assert checked.returncode == 0, checked.stderr


def caches_show_in_the_rates_of_copies(_):
    sizes = [1 << power for power in range(16, 31)]
    flat = {size: 1e11 for size in sizes}
    assert ceilings.levels(flat) == (1e11, None, None)
    assert ceilings.levels({size: 8e11 if size <= 1 << 22 else 1e11 for size in sizes}) == (1e11, 1 << 22, 8e11)


def a_machine_without_a_base_is_complete(folder):
    """Its own measurements describe it, and a prediction takes the written file."""
    path = case_file(folder, [{**ADD, "rows": [[16, 16], [1024, 1024]]}])
    out = pathlib.Path(folder, "mine.json")
    assert bench("--cases", path, "-o", out).returncode == 0
    device = json.loads(out.read_text())
    units, memory = device["peak"]["vector"], device["memory"][-1]
    numbers = [units["fp32"], memory["capacity"], memory["bandwidth"], device["launch"], device["cores"]]
    assert all(n["kind"] == "measured" and n["source"] in device["sources"] for n in numbers), numbers
    assert 1e8 < units["fp32"]["value"] < 1e14 and 1e8 < memory["bandwidth"]["value"] < 1e12, (units, memory)
    before = {key: device[key] for key in ("peak", "memory", "launch")}
    assert bench("--cases", path, "-o", out, "--resume").returncode == 0
    again = json.loads(out.read_text())
    assert {key: again[key] for key in before} == before
    if PROGRAM:
        call = [PROGRAM, "predict", "mlp:in=1024,hidden=1024,out=10", "--batch", "16", "--device", str(out), "--json"]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["runtime"] == "torch-eager" and answer["step_time_s"] > 0, answer


def resume_after_a_kill_loses_nothing(folder):
    rows = [[16, size] for size in range(100, 1300)]
    path, out = case_file(folder, [{**ADD, "rows": rows}]), pathlib.Path(folder, "out.json")
    call = [sys.executable, "-m", "centimani", "bench", "--device", "cpu", "--cases", str(path), "-o", str(out)]
    running = subprocess.Popen(call, cwd=PACKAGE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while time.monotonic() < until and not (out.exists() and json.loads(out.read_text())["kernels"]):
        time.sleep(0.005)
    running.send_signal(signal.SIGKILL)
    running.wait()
    kept = json.loads(out.read_text())["kernels"][0]["rows"]
    assert 0 < len(kept) < len(rows), "killed too early or too late to show anything"
    refused = bench("--cases", path, "-o", out)
    assert refused.returncode == 2 and "--resume" in refused.stderr, refused
    done = bench("--cases", path, "-o", out, "--resume")
    found = json.loads(out.read_text())["kernels"][0]["rows"]
    assert done.returncode == 0 and [row[:2] for row in found] == rows, done
    assert all(row in found for row in kept), "measured rows changed"
    assert f"{len(rows) - len(kept)} of {len(rows) - len(kept)} cases reached" in done.stderr, done.stderr


def a_terminated_run_keeps_what_it_has(folder):
    rows = [[16, size] for size in range(100, 40100)]
    path, out = case_file(folder, [{**ADD, "rows": rows}]), pathlib.Path(folder, "out.json")
    call = [sys.executable, "-m", "centimani", "bench", "--device", "cpu", "--cases", str(path), "-o", str(out)]
    running = subprocess.Popen(call, cwd=PACKAGE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while time.monotonic() < until and not (out.exists() and json.loads(out.read_text())["kernels"]):
        time.sleep(0.005)
    running.send_signal(signal.SIGTERM)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130 and "interrupted" in said, (running.returncode, said)
    assert json.loads(out.read_text())["kernels"][0]["rows"]


def a_failing_case_stops_nothing(folder):
    conv = {"op": "conv", "pass": "forward", "variant": "nchw", "dtype": "fp32",
            "rows": [[1, 3, 4, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 2]]}  # 2 groups do not divide 3 channels
    unknown = {**ADD, "variant": "dream", "rows": [[8, 8]]}
    path, out = case_file(folder, [conv, unknown, {**ADD, "rows": [[8, 8]]}]), pathlib.Path(folder, "out.json")
    done = bench("--cases", path, "-o", out)
    assert done.returncode == 0 and "failed: 1 x no such convolution" in done.stderr, done
    assert "failed: 1 x elementwise has no variant 'dream'" in done.stderr and "cases[1], row 0" in done.stderr, done
    assert json.loads(out.read_text())["kernels"][0]["op"] == "elementwise"


def too_large_is_skipped(folder):
    path = case_file(folder, [{**ADD, "rows": [[2 ** 30, 2 ** 10], [8, 8]]}])
    done = bench("--cases", path, "-o", pathlib.Path(folder, "out.json"))
    assert done.returncode == 0 and "skipped: 1 x needs more than 60 % of the free memory" in done.stderr, done


def a_budget_ends_the_run(folder):
    out, begin = pathlib.Path(folder, "out.json"), time.monotonic()
    done = bench("--budget", 2, "--dtypes", "fp32", "--longest", 0.005, "-o", out)
    assert done.returncode == 0 and time.monotonic() - begin < 60, done
    assert "cases reached" in done.stderr and json.loads(out.read_text())["schema"] == 1


def of_add(**other):
    return json.dumps({"schema": 1, "cases": [{**ADD, "rows": [[1, 2]], **other}]})


BAD_FILES = {
    "not JSON": ("{", "is no JSON"),
    "another schema": ('{"schema": 2, "cases": []}', "expected"),
    "deep": ("[" * 100000, "is no JSON"),
    "unknown op": (of_add(op="dream"), "unknown op 'dream'"),
    "no list": ('{"schema":1,"cases":[{"op":"gemm"}]}', "'rows'"),
    "other dims": (of_add(dims=["inner", "outer"]), "dims of"),
    "dims of no kind": (of_add(dims=7), "dims of"),
    "too few sizes": (of_add(rows=[[1]]), "has 2 sizes"),
    "negative": (of_add(rows=[[1, -2]]), "inner is -2"),
    "fraction": (of_add(rows=[[1, 2.5]]), "inner is 2.5"),
    "dtype": (of_add(dtype="fp7"), "unknown dtype"),
    "op of no kind": (of_add(op=["gemm"]), "are texts"),
}


def bad_case_files_give_one_line(folder):
    path = pathlib.Path(folder, "bad.json")
    for what, (text, expected) in BAD_FILES.items():
        path.write_text(text)
        try:
            cases.read(path, CALLS)
        except cases.BadCase as bad:
            assert expected in str(bad) and "\n" not in str(bad), (what, str(bad))
        else:
            raise AssertionError(what)
    done = bench("--cases", path, "-o", pathlib.Path(folder, "out.json"))
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "bad.json" in done.stderr, done
    gone = bench("--cases", pathlib.Path(folder, "none.json"))
    assert gone.returncode == 2 and "No such file" in gone.stderr and gone.stderr.count("\n") == 1, gone


def a_profile_of_another_device_is_not_continued(folder):
    out = pathlib.Path(folder, "out.json")
    out.write_text('{"schema":1,"id":"other"}')
    done = bench("--resume", "-o", out, "--budget", 1)
    assert done.returncode == 2 and "other" in done.stderr and out.read_text() == '{"schema":1,"id":"other"}', done


def one_case_and_the_list(_):
    done = bench("--case", "gemm forward nt fp32 1,64,64,64")
    assert done.returncode == 0 and done.stdout.startswith("gemm forward nt fp32 1,64,64,64: "), done
    assert "result checked" in done.stdout
    counted = bench("--list").stdout.splitlines()
    numbers = [int(line.split()[1]) for line in counted]
    assert counted[-1].split()[0] == "all" and numbers[-1] == sum(numbers[:-1])
    assert bench("--case", "gemm forward nt fp32 1,64").returncode == 2
    assert bench("--ops", "dream", "--list").returncode == 2


def networks_are_trained(folder):
    path = pathlib.Path(folder, "mine.py")
    path.write_text("import torch\n\n\ndef small():\n    return torch.nn.Linear(8, 4), (torch.rand(16, 8),)\n")
    done = bench("--suite", "models", f"{path}:small", "--steps", "2", "-o", folder)
    assert done.returncode == 0, done
    log = pathlib.Path(folder, "log.csv").read_text().splitlines()
    assert log[0] == "model,batch,precision,step_time_s,runtime" and log[1].split(",")[:3] == [f"{folder}/small.cmt.json", "16", "fp32"], log
    assert float(log[1].split(",")[3]) > 0
    assert bench("--suite", "models", f"{path}:large", "-o", folder).stderr.count("\n") == 1


def unknown_words_give_one_line(_):
    for words in ((), ("dream",), ("bench", "--device", "dream")):
        call = [sys.executable, "-m", "centimani", *words]
        done = subprocess.run(call, cwd=PACKAGE, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "Traceback" not in done.stderr, done


TESTS = [grids_are_well_formed, a_cut_leaves_every_call, time_is_shared, wanted_calls_come_by_value, every_call_runs_and_is_right,
         types_of_operands_and_result, a_wrong_result_has_no_time, not_a_number_is_wrong, optimizer_sizes_add_up,
         long_calls_are_spread,
         other_kernels_run_before_each_repetition, kernels_are_cut_by_markers, kernels_that_overlap_count_once, a_lower_clock_does_not_count,
         lost_kernels_give_no_times, a_profile_is_valid, caches_show_in_the_rates_of_copies,
         a_machine_without_a_base_is_complete,
         resume_after_a_kill_loses_nothing, a_terminated_run_keeps_what_it_has, a_failing_case_stops_nothing,
         too_large_is_skipped, a_budget_ends_the_run, bad_case_files_give_one_line,
         a_profile_of_another_device_is_not_continued, one_case_and_the_list, networks_are_trained, unknown_words_give_one_line]

sys.exit(run(TESTS))
