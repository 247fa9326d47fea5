#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_capture.py - PROGRAM LIBRARY: captures of small models, refusals and their messages, a watched step, and
predictions from these files. Needs PyTorch and jsonschema."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))

try:
    import jsonschema
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as missing:
    sys.exit(f"{missing} (Debian: python3-torch, python3-jsonschema)")

PROGRAM, LIBRARY = sys.argv[1:3]
os.environ["CENTIMANI_LIBRARY"] = LIBRARY

import centimani  # noqa: E402
from centimani import hooks  # noqa: E402


class Small(nn.Module):
    """Convolution, normalisation in place, a pool and a linear layer: 4*27 + 4+4 + 64*5+5 parameters."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.relu, self.pool, self.fc = nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Linear(64, 5)

    def forward(self, x):
        return self.fc(self.pool(self.relu(self.norm(self.conv(x)))).flatten(1))


SMALL_PARAMETERS = 4 * 27 + 8 + 64 * 5 + 5


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(50, 16), nn.Linear(16, 50, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.embed(ids))


class Around(nn.Module):
    """A linear layer and a function of its result."""

    def __init__(self, what):
        super().__init__()
        self.fc, self.what = nn.Linear(8, 8), what

    def forward(self, x):
        return self.what(self.fc(x))


def images(batch=2):
    return torch.zeros(batch, 3, 8, 8)


def graph_of(trace, *words):
    with tempfile.TemporaryDirectory() as folder:
        path = trace.save(os.path.join(folder, "t.cmt.json"))
        done = subprocess.run([PROGRAM, "graph", path, "--json", *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def calls_of(trace, *words):
    """Kernel calls of the forward pass on an H200 under autocast, by operator."""
    with tempfile.TemporaryDirectory() as folder:
        path = trace.save(os.path.join(folder, "t.cmt.json"))
        done = subprocess.run([PROGRAM, "predict", path, "--device", "nvidia-h200", "--precision", "amp-bf16", "--ops",
                               "--json", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    return [(op["type"], op["call"]) for op in json.loads(done.stdout)["ops"] if op["phase"] == "forward"]


def flop(trace, batch):
    return graph_of(trace, "--batch", str(batch))["forward_flop"]


@torch.jit.script
def span_of(x: torch.Tensor, most: int):
    return torch.tensor(min(x.size(-2), most))


class Captures(unittest.TestCase):
    def test_a_step_has_all_its_phases(self):
        t = centimani.capture(Small(), images(), optimizer="momentum", loss="cross-entropy")
        self.assertEqual(t.parameters, SMALL_PARAMETERS)
        self.assertIn("aten::convolution", t.operators("forward"))
        self.assertIn("aten::convolution_backward", t.operators("backward"))
        update = t.content["updates"][0]
        self.assertEqual((update["kind"], update["tensors"], update["elements"], update["states"]),
                         ("momentum", 5, SMALL_PARAMETERS, 1))

    def test_the_program_counts_what_pytorch_computes(self):
        t = centimani.capture(Small(), images())
        g = graph_of(t)
        self.assertEqual(g["params"], SMALL_PARAMETERS)
        self.assertEqual(g["unsupported"], [])
        for batch in (1, 7, 64):  # two sizes were recorded; the third is extrapolated
            self.assertEqual(flop(t, batch), batch * (2 * 4 * 64 * 27 + 2 * 64 * 5))

    def test_a_trace_is_as_its_schema_says(self):
        with open(os.path.join(ROOT, "data", "schema", "trace.schema.json")) as file:
            schema = json.load(file)
        for model, inputs, seq in ((Small(), images(), None), (Tied(), torch.zeros(2, 8, dtype=torch.int64), 1)):
            trace = centimani.capture(model, inputs, optimizer="adam", precision="tf32", seq_dim=seq)
            jsonschema.validate(json.loads(trace.json()), schema)

    def test_the_precision_asked_for_is_the_default(self):
        self.assertEqual(graph_of(centimani.capture(Small(), images()))["precision"], "fp32")  # the model's own types
        self.assertEqual(graph_of(centimani.capture(Small(), images(), precision="tf32"))["precision"], "tf32")

    def test_dims_are_functions_of_the_batch(self):
        t = centimani.capture(Small(), images(6))
        dims = [r["dims"] for r in t.content["tensors"]]
        self.assertIn([[1, 0], 4, 8, 8], dims)
        self.assertNotIn([6, 4, 8, 8], dims)

    def test_channels_last_images_stay_so(self):
        model = Small().to(memory_format=torch.channels_last)
        t = centimani.capture(model, torch.zeros(2, 3, 8, 8).to(memory_format=torch.channels_last))
        first = t.content["ops"][0]
        self.assertEqual(first["op"], "aten::convolution")
        self.assertEqual(t.content["tensors"][first["in"][0]].get("layout"), "channels_last")

    def test_tied_weights_are_one(self):
        t = centimani.capture(Tied(), torch.zeros(2, 8, dtype=torch.int64), seq_dim=1)
        self.assertEqual(t.parameters, 50 * 16)
        self.assertEqual(graph_of(t)["params"], 50 * 16)
        long = graph_of(t, "--seq", "100")["forward_flop"]
        self.assertEqual(long, 2 * 100 * 16 * 50)

    def test_the_model_is_left_as_it_was(self):
        model = Small()
        before = {n: p for n, p in model.named_parameters()}
        weight = model.fc.weight.detach().clone()
        centimani.capture(model, images())
        self.assertTrue(all(p is before[n] for n, p in model.named_parameters()))
        self.assertTrue(torch.equal(model.fc.weight, weight))
        self.assertTrue(all(p.grad is None for p in model.parameters()))
        self.assertEqual(model(torch.randn(2, 3, 8, 8)).shape, (2, 5))

    def test_recurrent_layers_are_one_operator(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm = nn.LSTM(8, 16, 2, batch_first=True)
                self.gru = nn.GRU(16, 4, bidirectional=True, batch_first=True)

            def forward(self, x):
                return self.gru(self.lstm(x)[0])[0]

        t = centimani.capture(Net(), torch.zeros(2, 10, 8), loss="mse")
        self.assertEqual(t.operators("forward").count("aten::lstm"), 1)
        self.assertEqual(t.operators("backward").count("aten::gru_backward"), 1)
        g = graph_of(t)
        self.assertEqual(g["warnings"], [])  # every parameter has a gradient
        self.assertEqual(g["params"], sum(p.numel() for p in Net().parameters()))
        work = 64 * (8 + 16) + 64 * (16 + 16) + 2 * 12 * (16 + 4)
        self.assertEqual(g["forward_flop"], 2 * 10 * work)

    def test_recurrent_cells_are_one_operator(self):
        """Five steps of an LSTM's cell, which a GRU's cell without biases follows."""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.LSTMCell(8, 16), nn.GRUCell(16, 4, bias=False)

            def forward(self, x):
                h, y = None, None
                for n in range(5):
                    h = self.first(x[:, n], h)
                    y = self.second(h[0], y)
                return y

        t = centimani.capture(Net(), torch.zeros(2, 5, 8), loss="mse")
        for name in ("aten::lstm_cell", "aten::gru_cell"):
            self.assertEqual(t.operators("forward").count(name), 5)
            self.assertEqual(t.operators("backward").count(name + "_backward"), 5)
        g = graph_of(t)
        self.assertEqual(g["warnings"], [])  # every parameter has a gradient
        self.assertEqual(g["params"], sum(p.numel() for p in Net().parameters()))
        products = 64 * (8 + 16) + 12 * (16 + 4)
        self.assertEqual(g["forward_flop"], 5 * 2 * products)

    def test_a_layer_after_recurrent_ones_reads_step_by_step(self):
        """cuDNN writes [S, B, H]; with the batch first that is a view, whose linear layer adds its bias apart."""
        for first, expected in ((True, 1), (False, 0)):
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.lstm = nn.LSTM(8, 16, batch_first=first)
                    self.head = nn.Linear(16, 4)

                def forward(self, x):
                    return self.head(self.lstm(x)[0])

            t = centimani.capture(Net(), torch.zeros(2, 10, 8), loss="mse")
            self.assertEqual(t.operators("forward").count("aten::linear"), expected)

    def test_a_tensor_made_like_another_has_its_type_under_autocast(self):
        """Drop path multiplies by a random tensor that new_empty made."""
        t = centimani.capture(Around(lambda y: y * y.new_empty((y.shape[0], 1)).bernoulli_(0.5)), torch.zeros(4, 8),
                              loss="mse")
        (call,) = [c for kind, c in calls_of(t, "--batch", "4") if kind == "Mul"]
        self.assertEqual(call.split(" ")[3], "bf16")

    def test_regions_without_autocast_stay_in_fp32(self):
        def product(y):
            return y.float() @ y.float().t()

        def outside(y):
            with torch.autocast("cpu", enabled=False):
                return product(y)

        for what, expected in ((product, "bf16"), (outside, "fp32")):
            t = centimani.capture(Around(what), torch.zeros(4, 8), loss="mse")
            (call,) = [c for kind, c in calls_of(t, "--batch", "4") if kind == "MatMul"]
            self.assertEqual(call.split(" ")[3], expected)

    def test_a_cast_back_to_a_parameters_type_is_to_fp32_under_autocast(self):
        """As rotary embeddings with trained frequencies do: the cast to fp32 is behind a product's second operand."""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.frequencies = nn.Linear(8, 8), nn.Parameter(torch.ones(8))

            def forward(self, x):
                kind, wide = self.frequencies.dtype, self.frequencies.float()
                return self.fc(x) * torch.sin(torch.ones(1, 1) @ wide[None]).to(kind)

        t = centimani.capture(Net(), torch.zeros(4, 8), loss="mse")
        (call,) = [c for kind, c in calls_of(t, "--batch", "4") if kind == "Mul"]
        self.assertEqual(call.split(" ")[3], "bf16+fp32>fp32")

    def test_final_states_are_trained_through(self):
        class Net(nn.Module):
            def __init__(self, layers, both):
                super().__init__()
                self.lstm = nn.LSTM(8, 16, layers, batch_first=True, bidirectional=both)
                self.head = nn.Linear(16, 3)

            def forward(self, x):
                return self.head(self.lstm(x)[1][0][-1])

        for layers, both in ((1, False), (2, False), (2, True)):
            model = Net(layers, both)
            g = graph_of(centimani.capture(model, torch.zeros(2, 10, 8), loss="cross-entropy"))
            self.assertEqual((g["warnings"], g["unsupported"]), ([], []))  # every parameter has a gradient
            self.assertEqual(g["params"], sum(p.numel() for p in model.parameters()))

    def test_dropout_is_one_operator_wherever_it_is_called(self):
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
        t = centimani.capture(layer, torch.zeros(2, 8, 32), loss="mse")
        self.assertEqual(t.operators("forward").count("aten::native_dropout") +
                         t.operators("forward").count("aten::scaled_dot_product_attention"), 4)
        self.assertNotIn("aten::bernoulli_.float", t.operators())

    def test_an_rms_norm_is_what_pytorch_runs_on_a_gpu(self):
        """One kernel since PyTorch 2.9, whose result is contiguous; a scale of another type prevents it."""
        x, scale = torch.zeros(2, 3, 8).transpose(0, 1), torch.ones(8)
        fused = hooks._rms_norm((x, (8,), scale), {"eps": 1e-6})
        self.assertEqual(fused is not None, hasattr(torch.ops.aten, "_fused_rms_norm_backward"))
        self.assertIsNone(hooks._rms_norm((x, (8,)), {"weight": scale.to(torch.bfloat16)}))
        if fused:
            self.assertEqual((fused.name, fused.attrs), ("aten::_fused_rms_norm", {"normalized_shape": [8]}))
            self.assertTrue(fused.make()[0].is_contiguous())

    def test_a_linear_layer_of_a_turned_input_is_one_operator(self):
        class Turned(nn.Module):
            def __init__(self):
                super().__init__()
                self.mix, self.head = nn.Linear(6, 5), nn.Linear(8, 3)

            def forward(self, x):
                return self.head(self.mix(x.transpose(1, 2)).transpose(1, 2))

        t = centimani.capture(Turned(), torch.zeros(2, 6, 8), loss="mse")
        self.assertEqual(t.operators("forward").count("aten::linear"), 2)
        self.assertEqual(t.operators("backward").count("aten::linear_backward"), 2)
        self.assertEqual(graph_of(t, "--precision", "fp32", "--batch", "2")["warnings"], [])  # as many FLOP in backward

    def test_checkpointed_layers_are_computed_again(self):
        from torch.utils.checkpoint import checkpoint

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner, self.head = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Dropout(0.1)), nn.Linear(8, 3)

            def forward(self, x):
                return self.head(checkpoint(self.inner, x, use_reentrant=False))

        t = centimani.capture(Net(), torch.zeros(2, 8))
        self.assertIn("aten::gelu", t.operators("recompute"))
        nodes = graph_of(t, "--precision", "fp32", "--fuse", "eager")["training_nodes"]
        self.assertEqual(nodes["recompute"], 3)  # linear layer, GELU, dropout: its mask and the linear layer's input

    @unittest.skipUnless(hasattr(torch, "compile"), "PyTorch 1.13 has no such casts on its meta device")
    def test_casts_inside_checkpointed_layers(self):
        from torch.utils.checkpoint import checkpoint

        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 8)
                self.register_buffer("scale", torch.ones(8))

            def forward(self, x):
                y = self.fc(x)
                return (y * self.scale).to(y.dtype)  # the product is in fp32 under autocast, the layer's result is not

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner, self.head = Scaled(), nn.Linear(8, 3)

            def forward(self, x):
                return self.head(checkpoint(self.inner, x, use_reentrant=False))

        t = centimani.capture(Net(), torch.zeros(2, 8))  # a cast saves nothing for backward, so neither may its record
        self.assertIn("aten::to.autocast", t.operators("forward"))
        self.assertIn("aten::addmm", t.operators("recompute"))

    @unittest.skipUnless(hasattr(torch, "_grouped_mm"), "PyTorch before 2.8 has no such product")
    def test_experts_are_multiplied_in_fp32(self):
        class Experts(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(4, 16, 32))

            def forward(self, x):
                ends = torch.arange(1, 5, dtype=torch.int32) * (x.shape[0] // 4)
                return torch._grouped_mm(x, self.weight, offs=ends)

        t = centimani.capture(Experts(), torch.zeros(8, 16))
        self.assertIn("aten::_grouped_mm", t.operators("forward"))
        self.assertEqual(t.operators("backward").count("aten::_grouped_mm"), 1)  # the rows are inputs, without a gradient

    def test_scripted_functions_compute_lengths(self):
        class Near(nn.Module):  # as DeBERTa's attention: each layer computes its span anew
            def __init__(self):
                super().__init__()
                self.place, self.layers = nn.Parameter(torch.zeros(32, 8)), nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

            def forward(self, x):
                for layer in self.layers:
                    span = span_of(x, 16)
                    x = layer(x) @ self.place[16 - span:16 + span].t() @ self.place[16 - span:16 + span]
                return x

        t = centimani.capture(Near(), torch.zeros(2, 5, 8), loss="mse")
        self.assertIn([10, 8], [row["dims"] for row in t.content["tensors"]])  # twice the 5 places

    def test_packed_sequences_are_as_long_as_the_longest(self):
        class Reader(nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.inner, self.head = kind(8, 16, batch_first=True, bidirectional=True), nn.Linear(32, 3)

            def forward(self, x):
                lengths = sorted((9 - i % 3 for i in range(x.shape[0])), reverse=True)
                in_order = not hasattr(torch, "compile")  # PyTorch 1.13 reads the order of its meta device back
                packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=in_order)
                y, _ = nn.utils.rnn.pad_packed_sequence(self.inner(packed)[0], batch_first=True, total_length=12)
                return self.head(y).mean()

        for kind, name in ((nn.GRU, "gru"), (nn.LSTM, "lstm"), (nn.RNN, "rnn_tanh")):
            t = centimani.capture(Reader(kind), torch.zeros(4, 12, 8))
            layer = next(o for o in t.content["ops"] if o["op"] == "aten::" + name)
            dims = [t.content["tensors"][n]["dims"] for n in (layer["in"][0], layer["out"][0])]
            steps = 9 if hasattr(torch, "compile") else 12  # PyTorch 1.13 puts the lengths on its meta device
            self.assertEqual(dims, [[steps, [1, 0], 8], [steps, [1, 0], 32]])
            self.assertIn(f"aten::{name}_backward", t.operators("backward"))
            head = [o for o in t.content["ops"] if o["op"] in ("aten::addmm", "aten::linear")][0]
            self.assertIn(12, [n for i in head["in"] for d in t.content["tensors"][i]["dims"]
                               for n in (d if isinstance(d, list) else [d])])

    def test_derivatives_that_the_model_takes_are_differentiated(self):
        class Field(nn.Module):
            def __init__(self):
                super().__init__()
                self.f = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))

            def forward(self, x):
                x = x.detach().requires_grad_()
                y = self.f(x)
                slope = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
                return (slope ** 2).mean() + (y ** 2).mean()

        t = centimani.capture(Field(), torch.zeros(2, 2))
        nodes = graph_of(t, "--precision", "fp32", "--nodes")["node_list"]
        products = sum(n["class"] == "gemm" and n["phase"] == "backward" for n in nodes)
        self.assertEqual(products, t.operators("backward").count("aten::mm") - 1)  # less the gradient of x
        self.assertNotIn("Opaque", {n["type"] for n in nodes})

    @unittest.skipUnless(hasattr(torch, "compile"), "PyTorch 1.13 has no such function")
    def test_attention_of_three_dimensions_is_one_operator(self):
        class Flat(nn.Module):
            def __init__(self):
                super().__init__()
                self.q = nn.Linear(8, 8)

            def forward(self, x):
                return nn.functional.scaled_dot_product_attention(self.q(x), x, x)

        t = centimani.capture(Flat(), torch.zeros(2, 6, 8), loss="mse")
        self.assertEqual(t.operators("forward").count("aten::scaled_dot_product_attention"), 1)
        self.assertEqual(product_types(t, "--precision", "amp-bf16"), ["bf16", "fp32"])  # the linear layer; attention

    def test_all_tensors_of_a_nested_output_are_held(self):
        class Parts(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 3)

            def forward(self, x):
                hidden = self.a(x)
                return {"logits": self.b(hidden.relu()), "inside": {"states": (hidden, [hidden + 1])}}

        t = centimani.capture(Parts(), torch.zeros(2, 8))
        self.assertEqual(len(t.content["outputs"]), 3)

    def test_an_unknown_optimizer_is_recorded_by_its_operators(self):
        class Sign(torch.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {})

            def step(self, closure=None):
                with torch.no_grad():
                    for group in self.param_groups:
                        for p in group["params"]:
                            p.add_(p.grad.sign(), alpha=-0.1)

        t = centimani.capture(Small(), images(), optimizer=Sign)
        self.assertEqual(t.operators("update").count("aten::sign"), 5)
        self.assertTrue(any("Sign" in w for w in t.warnings))

    def test_a_model_too_large_for_memory(self):
        class Huge(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(1 << 16, 1 << 16, bias=False, device="meta") for _ in range(4))

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x

        t = centimani.capture(Huge(), torch.zeros(2, 1 << 16, device="meta"), loss="mse")
        self.assertEqual(t.parameters, 4 << 32)
        self.assertEqual(graph_of(t)["params"], 4 << 32)


class UpAndBack(nn.Module):
    """A linear layer and a norm that upcasts and casts back, as transformers' RMS norms do; angles in fp32."""

    def __init__(self):
        super().__init__()
        self.fc, self.weight, self.head = nn.Linear(8, 8), nn.Parameter(torch.ones(8)), nn.Linear(8, 8)
        self.register_buffer("angles", torch.arange(8).float())

    def forward(self, x):
        y = self.fc(x)
        wide = y.to(torch.float32)
        y = self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(y.dtype)
        return self.head(y * self.angles.float().cos().type_as(x))


def product_types(trace, *words):
    """The types of the outputs of matrix products in a step, forward and backward."""
    g = graph_of(trace, "--nodes", "--tensors", *words)
    types = {t["index"]: t["dtype"] for t in g["tensor_list"]}
    return sorted({types[n["outputs"][0]] for n in g["node_list"] if n["class"] == "gemm"})


class Types(unittest.TestCase):
    def casts(self, trace):
        rows = trace.content["tensors"]
        return [tuple(rows[o[side][0]].get("other_dtype", rows[o[side][0]]["dtype"]) for side in ("in", "out"))
                for o in trace.content["ops"] if o["op"] == "aten::to.dtype"]

    def test_casts_that_change_nothing_are_recorded(self):
        t = centimani.capture(UpAndBack(), torch.zeros(2, 8), loss="mse")
        self.assertEqual(t.warnings, [])
        up, back = ("bf16", "fp32"), ("fp32", "bf16")
        self.assertEqual(self.casts(t), [up, back, up, back, up])  # norm, angles, loss
        self.assertEqual((t.content["types"], t.content["other_types"]), ("fp32", "bf16"))

    def test_fp32_does_not_spread_in_16_bits(self):
        for dtype in (torch.float32, torch.bfloat16):
            t = centimani.capture(UpAndBack().to(dtype), torch.zeros(2, 8, dtype=dtype), loss="mse")
            for precision, types in (("fp32", ["fp32"]), ("bf16", ["bf16"]), ("fp16", ["fp16"]), ("amp-bf16", ["bf16"])):
                self.assertEqual(product_types(t, "--precision", precision), types, f"{dtype} {precision}")

    def test_the_models_types_are_the_default(self):
        for dtype, name in ((torch.float32, "fp32"), (torch.bfloat16, "bf16"), (torch.float16, "fp16")):
            t = centimani.capture(UpAndBack().to(dtype), torch.zeros(2, 8, dtype=dtype), loss="mse")
            self.assertEqual(graph_of(t)["precision"], name)

    def test_models_written_for_autocast(self):
        class ForAutocast(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.head = nn.Linear(8, 8), nn.Linear(8, 8)

            def forward(self, x):
                return self.head(self.fc(x).float().exp())  # without autocast, the head refuses fp32

        t = centimani.capture(ForAutocast(), torch.zeros(2, 8), loss="mse")
        self.assertEqual(self.casts(t), [("bf16", "fp32"), ("fp32", "bf16"), ("bf16", "fp32")])  # float(), head, loss
        self.assertEqual(len(t.warnings), 1)
        self.assertIn("as autocast does", t.warnings[0])
        self.assertEqual(product_types(t, "--precision", "amp-bf16"), ["bf16"])

    def test_some_parameters_may_stay_fp32(self):
        class Router(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.router = nn.Linear(64, 64).to(torch.bfloat16), nn.Linear(64, 4)

            def forward(self, x):
                return self.router(self.fc(x).float())

        t = centimani.capture(Router(), torch.zeros(2, 64, dtype=torch.bfloat16), loss="mse")
        self.assertEqual(graph_of(t)["precision"], "bf16")
        self.assertEqual(product_types(t), ["bf16", "fp32"])
        self.assertEqual(product_types(t, "--precision", "fp32"), ["fp32"])

    def test_a_model_for_one_type_only_is_captured_with_a_warning(self):
        class Only(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 8)

            def forward(self, x):
                if x.dtype != torch.float32:
                    raise TypeError("fp32 alone")
                return self.fc(x)

        t = centimani.capture(Only(), torch.zeros(2, 8), loss="mse")
        self.assertTrue(any("bf16" in w and "fp32 alone" in w and "assume" in w for w in t.warnings))
        said = {p: "fp32 alone" in str(graph_of(t, "--precision", p)["warnings"]) for p in ("fp32", "amp-bf16", "bf16")}
        self.assertEqual(said, {"fp32": False, "amp-bf16": False, "bf16": True})
        self.assertEqual(product_types(t, "--precision", "bf16"), ["bf16"])

    def test_another_path_in_another_type_is_said(self):
        t = centimani.capture(Around(lambda y: y.relu() if y.dtype == torch.float32 else y.tanh()), torch.zeros(2, 8),
                              loss="mse")
        self.assertTrue(any("aten::tanh" in w and "aten::relu" in w for w in t.warnings))

    def test_a_copy_that_the_cast_makes_needless(self):
        """A cast of a slice makes it contiguous: the reshape after it copies in fp32 only."""
        t = centimani.capture(Around(lambda y: y[:, :4].float().reshape(-1)), torch.zeros(2, 8), loss="mse")
        self.assertEqual(t.warnings, [])

        def copies(precision):
            nodes = graph_of(t, "--nodes", "--precision", precision)["node_list"]
            return [n["type"] for n in nodes if n["phase"] == "forward" and n["type"] in ("Copy", "Cast")]
        self.assertEqual((copies("fp32"), copies("bf16")), (["Copy"], ["Cast"]))


class DataDependent(unittest.TestCase):
    """A real pass over random numbers says what fake tensors do not know, and leaves the model as it was."""

    def setUp(self):
        torch.manual_seed(0)  # of the weights, on which shares depend

    def captured(self, what, inputs=None, **options):
        return centimani.capture(Around(what), torch.zeros(64, 8) if inputs is None else inputs, loss=lambda y: y.sum(), **options)

    def dims(self, trace, operator):
        op = next(o for o in trace.content["ops"] if o["op"].startswith(operator))
        return trace.content["tensors"][op["out"][0]]["dims"]

    def test_chosen_rows_grow_with_the_batch(self):
        trace = self.captured(lambda y: y.repeat(1, 8).view(-1, 8)[y.repeat(1, 8).view(-1, 8)[:, 0] > 0])
        rows = self.dims(trace, "aten::index.")[0]
        self.assertEqual(rows[1], 0)
        self.assertTrue(0 < rows[0] < 8, rows)
        self.assertTrue(any("real pass" in w for w in trace.warnings))

    def test_a_number_that_does_not_grow(self):
        trace = self.captured(lambda y: y.narrow(1, 0, int((y.detach().relu() > -1).sum(1).max()) - 1))
        self.assertEqual(self.dims(trace, "aten::slice")[1], 7)

    @unittest.skipUnless(hasattr(torch, "compile"), "PyTorch 1.13 makes no list of a tensor without data")
    def test_shares_of_experts_add_up(self):
        def experts(y):
            shares = torch.bincount(y.detach().abs().argmax(1), minlength=8).tolist()
            return torch.cat([part * 2 for part in y.split(shares)])
        self.assertEqual(self.dims(self.captured(experts), "aten::cat"), [[1, 0], 8])

    def test_a_branch_takes_the_path_of_the_real_pass(self):
        trace = self.captured(lambda y: y.relu() if y.square().sum() > 0 else y.tanh())
        self.assertIn("aten::relu", trace.operators())

    def test_the_model_and_random_numbers_are_left_alone(self):
        model = nn.Sequential(nn.BatchNorm1d(8), Around(lambda y: y[y[:, 0] > 0]))
        torch.manual_seed(1)
        before, state = model[0].running_mean.clone(), torch.get_rng_state()
        centimani.capture(model, torch.zeros(64, 8), loss=lambda y: y.sum())
        self.assertTrue(torch.equal(before, model[0].running_mean))
        self.assertTrue(torch.equal(state, torch.get_rng_state()))


class Lengths(unittest.TestCase):
    @unittest.skipUnless(hasattr(torch, "compile"), "PyTorch 1.13 makes no list of a tensor without data")
    def test_a_list_of_given_lengths_is_no_operator_for_each(self):
        class Masked(Around):
            def forward(self, x, lengths):
                return self.fc(x) * max(lengths.tolist()) * int(lengths.numpy().max())

        trace = centimani.capture(Masked(None), (torch.zeros(4, 8), torch.full((4,), 5)), loss=lambda y: y.sum())
        self.assertEqual([o for o in trace.operators("forward") if "unbind" in o or "select" in o], [])


class Moved(unittest.TestCase):
    def test_parts_that_forward_moves_and_converts(self):
        class Moving(Around):
            def forward(self, x):
                return self.fc.to(x.device, x.dtype)(x)

        trace = centimani.capture(Moving(None), torch.zeros(4, 8), loss="mse")
        self.assertEqual([w for w in trace.warnings if "bf16" in w], [])
        self.assertIn("aten::addmm", trace.operators("forward"))


class Kept(unittest.TestCase):
    def test_pads_that_repeat_pixels_keep_what_they_read(self):
        """Autograd saves it for its shape; a pad with zeros keeps its result alone."""
        def peak(pad):
            model = nn.Sequential(nn.Conv1d(1, 16, 1), nn.Tanh(), nn.Conv1d(16, 16, 1), pad(1, *([0.0] if pad is nn.ConstantPad1d else [])),
                                  nn.Conv1d(16, 1, 3))
            trace = centimani.capture(model, torch.zeros(2, 1, 4096), loss="mse")
            return centimani.predict(trace, "nvidia-h200", batch=64)[0].peak_bytes
        self.assertEqual(peak(nn.ReflectionPad1d) - peak(nn.ConstantPad1d), 64 * 16 * 4096 * 4)


class Graphs(unittest.TestCase):
    def test_edges_have_the_batch_in_their_second_dimension(self):
        class Sums(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 4)

            def forward(self, nodes, edges):
                h = self.fc(nodes)
                return torch.zeros_like(h).index_add(0, edges[1], h[edges[0]])

        edges = torch.zeros(2, 96, dtype=torch.int64)
        trace = centimani.capture(Sums(), (torch.zeros(32, 8), edges), loss=lambda y: y.sum(), batch_dim=(0, 1))
        row = next(t for t in trace.content["tensors"] if t.get("name") == "input1")
        self.assertEqual(row["dims"], [2, [3, 0]])
        trace = centimani.capture(Sums(), (torch.zeros(32, 8), edges), loss=lambda y: y.sum(), batch_dim=(0, None), seq_dim=(None, 1))
        row = next(t for t in trace.content["tensors"] if t.get("name") == "input1")
        self.assertEqual((row["dims"], trace.content["seq"]), ([2, [0, 0, 1, 0]], 96))
        with self.assertRaisesRegex(centimani.CaptureError, "batch_dim has 3 dimensions"):
            centimani.capture(Sums(), (torch.zeros(32, 8), edges), batch_dim=(0, 1, 0))


class Refusals(unittest.TestCase):
    def refused(self, what, *words, inputs=None):
        with self.assertRaises(centimani.CaptureError) as caught:
            centimani.capture(Around(what), inputs if inputs is not None else torch.zeros(4, 8), loss="mse")
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_shapes_that_depend_on_data_of_a_model_without_data(self):
        with self.assertRaises(centimani.CaptureError) as caught:
            centimani.capture(Around(lambda y: y[y[:, 0] > 0]).to("meta"), torch.zeros(4, 8), loss="mse")
        for word in ("depends on the data", "test_capture.py", "watch()"):
            self.assertIn(word, str(caught.exception))

    def test_a_crash_inside_forward_names_the_line(self):
        def crash(y):
            return y.reshape(3, 7)
        self.refused(crash, "[3, 7]", "test_capture.py", "y.reshape(3, 7)")

    def test_sizes_that_are_not_linear(self):
        self.refused(lambda y: (y @ y.t()).reshape(-1), "does not grow linearly", "aten::", "16, 25, 121")

    def test_unknown_words(self):
        for arguments in ({"loss": "hinge"}, {"optimizer": "lion"}, {"precision": "fp3"}):
            with self.assertRaises(centimani.CaptureError) as caught:
                centimani.capture(Small(), images(), **arguments)
            self.assertIn(list(arguments.values())[0], str(caught.exception))

    def test_the_model_survives(self):
        model = Around(lambda y: y.reshape(3, 7))
        weight = model.fc.weight
        with self.assertRaises(centimani.CaptureError):
            centimani.capture(model, torch.zeros(4, 8))
        self.assertIs(model.fc.weight, weight)
        self.assertEqual(torch.nn.functional.dropout.__module__, "torch.nn.functional")


FILE = """
import torch
from torch import nn

def build():
    return nn.Sequential(nn.Linear(1 << 15, 1 << 15), nn.ReLU(), nn.Linear(1 << 15, 10)), torch.zeros(4, 1 << 15)

def broken():
    return nn.Linear(3, 4), torch.zeros(2, 7)
"""


class Command(unittest.TestCase):
    def run_command(self, folder, *words):
        environment = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python"))
        return subprocess.run([sys.executable, "-m", "centimani", "capture", *words], cwd=folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)

    def test_a_file_is_captured_or_nothing_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "model.py"), "w") as out:
                out.write(FILE)
            done = self.run_command(folder, "model.py:build", "-o", "m.cmt.json", "--optimizer", "adamw")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, "m.cmt.json\n")
            with open(os.path.join(folder, "m.cmt.json")) as written:
                content = json.load(written)
            self.assertEqual(content["parameters"], (1 << 30) + (1 << 15) + (10 << 15) + 10)
            self.assertEqual(content["updates"][0]["kind"], "adamw")
            for spec, words in (("model.py:broken", "aten::addmm"), ("model.py:nobody", "no function 'nobody'"),
                                ("none.py:build", "no such file"), ("model.py", "FILE.py:FUNCTION")):
                done = self.run_command(folder, spec, "-o", "bad.cmt.json")
                self.assertEqual(done.returncode, 1, spec)
                self.assertIn(words, done.stderr)
                self.assertNotIn("Traceback", done.stderr)
            self.assertEqual(sorted(f for f in os.listdir(folder) if "cmt" in f or f.startswith(".")), ["m.cmt.json"])


class Watched(unittest.TestCase):
    def step(self, model, optimizer, batch):
        x, y = torch.randn(batch, 3, 8, 8), torch.zeros(batch, dtype=torch.int64)
        with centimani.watch(model) as w:
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
        return w

    def test_a_step_of_a_loop(self):
        model = Small()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        torch.optim.lr_scheduler.StepLR(optimizer, 1)  # wraps step()
        before = model.fc.weight.detach().clone()
        w = self.step(model, optimizer, 6)
        self.assertFalse(torch.equal(before, model.fc.weight))  # the step really trained
        self.assertEqual([u["kind"] for u in w.trace.content["updates"]], ["momentum"])
        if not LIBRARY:
            return
        g = w.graph(batch=10)
        self.assertEqual((g.params, g.unsupported), (SMALL_PARAMETERS, []))
        self.assertEqual(g.forward_flop, 10 * (2 * 4 * 64 * 27 + 2 * 64 * 5))

    def test_it_predicts_like_the_capture(self):
        model = Small()
        watched = self.step(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), 6)
        captured = centimani.capture(Small(), images(), optimizer="momentum")
        first = watched.predict("nvidia-h200", "amd-mi300x", batch=512)
        second = centimani.predict(captured, "nvidia-h200", "amd-mi300x", batch=512)
        self.assertEqual([p.step_time_s for p in first], [p.step_time_s for p in second])
        self.assertIn("nvidia-h200", str(first))
        self.assertIn("<table>", first._repr_html_())

    def test_clipped_and_accumulated(self):
        model = Small()
        optimizer = torch.optim.AdamW(model.parameters())
        x, y = torch.randn(6, 3, 8, 8), torch.zeros(6, dtype=torch.int64)
        with centimani.watch(model) as w:
            for _ in range(2):
                torch.autograd.backward(F.cross_entropy(model(x), y))
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        self.assertTrue(any("2 backward passes" in text for text in w.trace.warnings))
        self.assertIn("aten::convolution_backward", w.trace.operators("backward"))
        g = graph_of(w.trace, "--batch", "10")
        self.assertEqual((g["unsupported"], g["optimizer"]), ([], "adamw"))
        self.assertEqual(g["forward_flop"], 10 * (2 * 4 * 64 * 27 + 2 * 64 * 5))

    def test_data_fetched_inside_the_block(self):
        from torch.utils.data import DataLoader, TensorDataset
        data = TensorDataset(torch.randn(20, 3, 8, 8), torch.zeros(20, dtype=torch.int64))
        model = Small()
        for given in (model, None):
            with centimani.watch(given) as w:
                for x, y in DataLoader(data, batch_size=6):
                    F.cross_entropy(model(x), y).backward()
                    break
            self.assertEqual(w.trace.content["batch"], 6)
            self.assertEqual(w.trace.operators()[0], "aten::convolution")  # stacking samples is host work
            self.assertEqual(graph_of(w.trace, "--batch", "10")["forward_flop"], 10 * (2 * 4 * 64 * 27 + 2 * 64 * 5))

    def test_a_batch_size_that_cannot_be_seen_is_asked_for(self):
        weight = nn.Parameter(torch.ones(8, 3))
        with self.assertRaises(centimani.CaptureError) as caught:
            with centimani.watch():
                (weight * 2).sum().backward()
        self.assertIn("watch(model, batch=32)", str(caught.exception))
        with centimani.watch() as w:  # without modules: the operand of the first product with a parameter
            x = torch.stack([torch.randn(8) for _ in range(10)])
            (x @ weight).sum().backward()
        self.assertEqual(w.trace.content["batch"], 10)

    def test_a_step_that_fails_is_the_users(self):
        with self.assertRaises(ZeroDivisionError):
            with centimani.watch() as w:
                1 / 0
        with self.assertRaises(centimani.CaptureError):
            w.trace


class Library(unittest.TestCase):
    def test_answers_are_dataclasses(self):
        g = centimani.graph("resnet50", batch=8)
        self.assertEqual((g.params, g.batch), (25557032, 8))
        self.assertEqual(centimani.version(), centimani.__version__)
        self.assertIn("resnet50", [m["id"] for m in centimani.models()])

    def test_errors_are_the_programs(self):
        with self.assertRaises(centimani.CentimaniError) as caught:
            centimani.graph("resnet5")
        self.assertIn("did you mean 'resnet50'", str(caught.exception))
        with self.assertRaises(centimani.CentimaniError):
            centimani.graph("resnet50", batch="many")


if __name__ == "__main__":
    failed = not unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful()
    for other in filter(None, os.environ.pop("CENTIMANI_PYTHONS", "").split(os.pathsep)):  # with other PyTorch versions
        failed |= subprocess.call([other, *sys.argv]) != 0
    sys.exit(failed)
