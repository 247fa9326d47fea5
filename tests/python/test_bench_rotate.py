#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_bench_rotate.py - rotation over copies of cold operands: their number, which operands, no other change; TAP."""
import collections
import json
import pathlib
import sys

from bench_support import ADD, NEEDS, SMALL, FakeDevice, bench, case_file, on_processor, run, torch

from centimani.bench import cases, order, rotate, verify
from centimani.bench.call import Cold, Sizes, before_of
from centimani.bench.calls import CALLS


def copies_make_twice_the_cache(_):
    mega = 1 << 20
    expected = {0: 1, 64 * mega + 1: 1, 64 * mega: 2, 60 * mega: 3, 4 * mega: 32, 2 * mega: 64, 1024: 64}
    assert {size: rotate.copies(size) for size in expected} == expected
    assert rotate.copies(100 * mega, 128 * mega) == 3 and rotate.copies(1024, most=5) == 5


COLD = {  # by when a training step last wrote them: (op, pass, variant, dtype, sizes): operands
    ("gemm", "forward", "nt", "fp32", (1, 8, 8, 8)): (1,), ("gemm", "forward", "nt-bias", "tf32", (1, 8, 8, 8)): (1,),
    ("gemm", "forward", "nt-bias", "bf16", (1, 8, 8, 8)): (), ("gemm", "forward", "nn-bias", "fp16", (1, 8, 8, 8)): (),
    ("gemm", "forward", "nn", "bf16", (1, 8, 8, 8)): (1,), ("gemm", "forward", "tn", "bf16", (1, 8, 8, 8)): (1,),
    ("conv", "forward", "nchw", "tf32", SMALL["conv"][0]): (1,),
    ("conv", "forward", "nhwc", "bf16", SMALL["conv"][0]): (),
    ("conv", "bwd_input", "nhwc", "bf16", SMALL["conv"][0]): (2,),
    ("conv", "bwd_weight", "nhwc", "bf16", SMALL["conv"][0]): (1,),
    ("batch_norm", "forward", "nchw", "bf16", (4, 8, 49)): (1, 2, 3, 4),
    ("layer_norm", "backward", "", "bf16", (33, 64)): (0, 1), ("softmax", "backward", "", "bf16", (33, 65)): (1,),
    ("attention", "backward", "", "bf16", SMALL["attention"][0]): (0, 1, 2),
    ("attention", "forward", "", "bf16", SMALL["attention"][0]): (),
    ("elementwise", "forward", "relu_grad", "bf16", (33, 64)): (1,),
    ("elementwise", "forward", "fill", "bf16", (33, 64)): (),
    ("elementwise", "forward", "dropout_grad:part", "bf16", (33, 64)): (1,),
    ("embedding", "forward", "", "fp32", (32, 100, 16)): (1,),
    ("embedding", "backward", "", "fp32", (32, 100, 16)): (1,),
    ("reduce", "forward", "sum", "fp32", (7, 8, 9)): (), ("reduce", "forward", "sum", "fp32", (1, 4096, 256)): (0,),
    ("reduce", "forward", "mean", "fp32", (1, 4096, 256)): (),
    ("elementwise", "forward", "add:part", "bf16", (33, 64)): (0,),
}


def what_is_cold(_):
    for words, operands in COLD.items():
        call = CALLS[words[0]]
        assert call.cold(Sizes(call.dims, words[4]), cases.Case(*words)).operands == operands, words
    pool = CALLS["pool"]
    sizes = Sizes(pool.dims, (2, 4, 9, 9, 3, 2, 1))  # 5 x 5 results, each with an index of 8 bytes
    assert pool.cold(sizes, cases.Case("pool", "backward", "max:nchw", "fp32", ())).saved == 2 * 4 * 25 * 8
    assert pool.cold(sizes, cases.Case("pool", "backward", "avg:nchw", "fp32", ())) == Cold()
    sizes = Sizes(pool.dims, (2, 4, 1, 16, 4, 2, 1))  # one dimension: 8 results
    assert pool.cold(sizes, cases.Case("pool", "backward", "max:nchw", "fp32", ())).saved == 2 * 4 * 8 * 8


def prepared(case, **options):
    runner, _ = on_processor(**options)
    return runner._prepare(case, 1e12)


def cold_operands_take_turns(_):
    """Each run has its own weight and the same input; runs are called in rotation; only the first is verified."""
    case, seen, checked = cases.Case("gemm", "forward", "nt", "fp32", (1, 8, 1000, 1000)), [], []
    build, error = CALLS["gemm"].build, verify.error

    def spied(s, case, t):
        operands, prepare = build(s, case, t)

        def prepared_too(*given):
            run = prepare(*given)
            return lambda: seen.append(given) or run()
        return operands, prepared_too
    CALLS["gemm"].build = spied
    verify.error = lambda result, operands, prepare: checked.append(operands) or 0.0
    try:
        ready = prepared(case)
        first = seen[0]
        seen.clear()
        count = -(-(128 << 20) // 4000000)  # twice 64 MB in weights of 4 MB
        results = [ready.run() for _ in range(2 * count)]
    finally:
        CALLS["gemm"].build, verify.error = build, error
    addresses = [given[1].data_ptr() for given in seen]
    assert len(set(addresses)) == count and addresses[:count] == addresses[count:], len(set(addresses))
    assert {given[0].data_ptr() for given in seen} == {first[0].data_ptr()}
    assert first[1].data_ptr() in addresses and all(torch.equal(results[0], result) for result in results)
    assert len(checked) == 1 and checked[0][1] is first[1]
    assert ready.copied_bytes == (count - 1) * 4000000


def every_copy_gives_the_same(_):
    """For all calls with a reference; calls that write in place have no copies."""
    rotated = set()
    for op, call in CALLS.items():
        for phase, variant in ((p, v) for p in call.phases for v in call.variants):
            name = variant.partition(":")[0]
            random = name.endswith("dropout")
            if not NEEDS.get(op, True) or not call.checked or random or variant == "gelu_grad:strided":
                continue
            ready = prepared(cases.Case(op, phase, variant, "fp32", SMALL[op][0]))
            if not isinstance(ready.run, rotate.Turns):
                continue
            rotated.add((op, phase))
            assert name != "fill"
            first, *others = [verify._flat(ready.run()) for _ in range(len(ready.run.all_runs))]
            assert len(others) == 63, (op, phase, len(others))
            assert all(torch.allclose(a, b) for other in others for a, b in zip(first, other)), (op, phase, variant)
    assert rotated >= {("gemm", "forward"), ("conv", "bwd_input"), ("batch_norm", "backward"), ("pool", "backward"),
                       ("cross_entropy", "backward"), ("embedding", "forward"), ("softmax", "backward")}, rotated


def plain_attention(q, k, v, mask=None, dropout_p=0.0, is_causal=False):
    return torch.softmax(q @ k.transpose(-1, -2), -1) @ v


def attention_records_a_tape_a_copy(_):
    """Also in PyTorch versions without fused attention; gradients of queries, keys and values equal those of the
    first copy."""
    kept = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
    torch.nn.functional.scaled_dot_product_attention = plain_attention
    try:
        ready = prepared(cases.Case("attention", "backward", "", "fp32", SMALL["attention"][0]))
    finally:
        if kept:
            torch.nn.functional.scaled_dot_product_attention = kept
        else:
            del torch.nn.functional.scaled_dot_product_attention
    results = [ready.run() for _ in range(len(ready.run.all_runs))]
    assert len(results) == 64 and all(len(result) == 3 for result in results)
    assert all(torch.allclose(a, b) for result in results for a, b in zip(results[0], result))


def tapes_and_states_take_turns(_):
    """Layers and optimizers are made again; copies have done their first step, which creates the states."""
    layer = prepared(cases.Case("rnn", "backward", "lstm", "fp32", SMALL["rnn"][0]))
    assert len(layer.run.all_runs) == 16
    for _ in range(20):
        before_of(layer.run)()
        assert len(layer.run()) == 1 + 4 * 2 * 2  # of the input, and of four tensors per layer and direction
    adam = prepared(cases.Case("optimizer", "update", "adam", "fp32", (7, 1000)))
    owners = {id(run.__self__): run.__self__ for run in adam.run.all_runs}
    assert len(owners) == 64 and all(len(owner.state) == 7 for owner in owners.values())
    assert len({id(owner.param_groups[0]["params"][0]) for owner in owners.values()}) == 1
    assert not isinstance(prepared(cases.Case("optimizer", "update", "sgd", "fp32", (7, 1000))).run, rotate.Turns)


def tapes_are_a_round_cold(_):
    """A tape is never recorded right before its own run: it would still be in the cache."""
    log, runs = [], []
    for number in range(3):
        def run(number=number):
            log.append(("run", number))
        run.before = lambda number=number: log.append(("record", number))
        runs.append(run)
    turns = rotate.Turns(runs)
    for _ in range(4):
        turns.before()
        turns.before()  # a second call has no effect
        turns()
    assert sorted(log[:3]) == [("record", 0), ("record", 1), ("record", 2)], log
    assert log[3:] == [("run", 0), ("record", 0), ("run", 1), ("record", 1), ("run", 2), ("record", 2), ("run", 0)], log


def copies_count_as_memory(_):
    """126 MB of copies of a 4 MB weight are more than 60 % of 200 MB; without the copies the case fits."""
    case = cases.Case("gemm", "forward", "nt", "fp32", (1, 8, 1000, 1000))
    for cold, rows in ((True, 0), (False, 1)):
        runner, made = on_processor(cold, free=lambda: 200e6)
        runner.run(order.InOrder([case]))
        assert made.rows() == rows and len(runner.skipped) == 1 - rows and not runner.failed, (cold, runner.skipped)
    runner, _ = on_processor(free=lambda: 500e6)  # one case takes a quarter of it
    group, taken = runner._prepare_group(order.InOrder([case, case._replace(sizes=(1, 9, 1000, 1000))]))
    assert len(group) == taken == 1


def warm_operands_stay(folder):
    case = cases.Case("gemm", "forward", "nt", "fp32", (1, 8, 100, 100))
    assert isinstance(prepared(case).run, rotate.Turns) and not isinstance(prepared(case, cold=False).run, rotate.Turns)
    path = case_file(folder, [{**ADD, "rows": [[16, 16]]}])
    for name, words, state in (("cold", (), "operands as cold as a training step finds them"), ("warm", ("--warm",), "operands warm")):
        out = pathlib.Path(folder, f"{name}.json")
        done = bench("--cases", path, "-o", out, *words)
        assert done.returncode == 0 and state in json.loads(out.read_text())["sources"]["bench"]["conditions"], done
    kept = out.read_text()
    refused = bench("--cases", path, "-o", out, "--resume")
    assert refused.returncode == 2 and "with --warm" in refused.stderr and out.read_text() == kept, refused
    assert bench("--cases", path, "-o", out, "--resume", "--warm").returncode == 0
    assert bench("--warm", "--case", "gemm forward nt fp32 1,64,64,64").returncode == 0


def the_timer_takes_turns(_):
    """Four visits, each after a sweep of the cache, of a warm-up and two calls over three copies: four calls per
    copy."""
    device, called = FakeDevice(), collections.Counter()

    def numbered(number):
        return lambda: called.update([number]) or device.launch(5e-6)
    turns = rotate.Turns([numbered(number) for number in range(3)])
    found = device.measure(turns, lambda: device.launch(1e-6))
    assert called == {0: 4, 1: 4, 2: 4}, called
    assert abs(found[0].seconds - 5e-6) < 1e-12 and found[0].kernels == 1, found
    assert sum(name == "sweep" for name, _ in device.log) == 4


TESTS = [copies_make_twice_the_cache, what_is_cold, cold_operands_take_turns, every_copy_gives_the_same,
         attention_records_a_tape_a_copy, tapes_and_states_take_turns, tapes_are_a_round_cold, copies_count_as_memory,
         warm_operands_stay, the_timer_takes_turns]

sys.exit(run(TESTS))
