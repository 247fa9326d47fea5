# SPDX-License-Identifier: Apache-2.0
"""test_bench_scaled.py - calls that only a GPU runs: PyTorch's checks of layouts and types accept their operands."""
import pathlib
import sys
import types

from bench_support import run, torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from torch._subclasses import FakeTensorMode  # noqa: E402

import fp8_blocks  # noqa: E402
from centimani.bench import calls_attention, calls_scaled  # noqa: E402
from centimani.bench.call import Sizes  # noqa: E402
from centimani.bench.calls import Tensors  # noqa: E402
from centimani.bench.cases import Case  # noqa: E402


def _result(variant, dtype, sizes, torch_dtype):
    case = Case("gemm", "forward", variant, dtype, sizes)
    operands, prepare = calls_scaled.build(Sizes(("batch", "m", "n", "k"), sizes), case, Tensors("cuda", torch_dtype))
    return prepare(*operands)()


def scaled_products_are_accepted(_):
    with FakeTensorMode():
        for variant in ("nt", *calls_scaled.EIGHT):
            result = _result(variant, "fp8", (1, 256, 384, 1024), torch.float8_e4m3fn)
            assert result.shape == (256, 384) and result.dtype == torch.bfloat16, variant


def products_of_experts_are_accepted(_):
    with FakeTensorMode(allow_non_fake_inputs=True):
        for variant in calls_scaled.GROUPED:
            shape = (4, 256, 384) if variant.startswith("tn") else (1024, 384)
            assert _result(variant, "bf16", (4, 256, 384, 1024), torch.bfloat16).shape == shape, variant


def three_products_of_a_layer_are_accepted(_):
    with FakeTensorMode(allow_non_fake_inputs=True):
        x, weight, dy = (torch.zeros(shape, device="cuda", dtype=torch.bfloat16)
                         for shape in ((512, 1024), (384, 1024), (512, 384)))
        for recipe in fp8_blocks.CASTS:
            saved = types.SimpleNamespace(saved_tensors=(x, weight), recipe=recipe, save_for_backward=lambda *_: None)
            assert fp8_blocks.Dynamic.forward(saved, x, weight, recipe).shape == (512, 384)
            dx, dw, _ = fp8_blocks.Dynamic.backward(saved, dy)
            assert dx.shape == x.shape and dw.shape == weight.shape, recipe


def eight_bit_blocks_are_nearly_right(_):
    for recipe in fp8_blocks.RECIPES[1:]:
        y, dx, dw = fp8_blocks.right(recipe=recipe)
        assert 0 < y < 0.05 and dx < 0.1 and dw < 0.2, (recipe, y, dx, dw)


def variants_of_attention_name_their_parts(_):
    assert calls_attention.parts_of("efficient-mask-dropout") == ("efficient", "mask", True)
    assert calls_attention.parts_of("fixed") == ("", "fixed", False)
    for kernel in calls_attention.KERNELS:
        assert calls_attention.parts_of(kernel) == (kernel, "", False)


NEEDED = all(hasattr(torch, name) for name in ("float8_e4m3fn", "_scaled_mm", "_grouped_mm"))
GPU_ONLY = [scaled_products_are_accepted, products_of_experts_are_accepted, three_products_of_a_layer_are_accepted,
            eight_bit_blocks_are_nearly_right]
sys.exit(run([variants_of_attention_name_their_parts, *(GPU_ONLY if NEEDED else [])]))
