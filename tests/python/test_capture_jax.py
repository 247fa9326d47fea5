#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_capture_jax.py - PROGRAM: steps of JAX programs (examples/jax_steps.py, jax_networks.py). Stored captures are predicted
everywhere; with JAX, Flax and Optax installed, the same steps are captured and compared with XLA's count of FLOP.

test_capture_jax.py --store captures the stored steps again."""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CAPTURES = os.path.join(ROOT, "tests", "python", "captures")
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.join(ROOT, "examples"), os.path.join(ROOT, "tests", "python")]

try:
    import jax
    import flax  # noqa: F401
    import optax  # noqa: F401
    import jax.numpy as jnp
except ImportError:
    jax = None
if jax:
    import centimani
    import jax_networks
    import jax_steps
    from centimani import jax_capture, jax_rules

PROGRAM = sys.argv[1]
SIZES = {"gpt": dict(layers=2, width=64, words=96, seq=32), "lstm": dict(width=32, words=48, seq=4),
         "resnet": dict(stages=(1, 1), width=16, image=32, classes=10), "unet": dict(width=16, image=16)}
SIZES.update({name: {} for name in ("vit", "bert", "mixer", "convnext", "experts", "autoencoder")})
# Parameters, and FLOP of products and convolutions of forward for one sample, pads included.
GPT = (96 * 64 + 2 * (12 * 64 * 64 + 2 * 64), 2 * 32 * (2 * 12 * 64 * 64 + 2 * 2 * 32 * 64 + 64 * 96))
LSTM = (2 * 48 * 32 + 8 * 32 * 32 + 4 * 32, 2 * 4 * (8 * 32 * 32 + 32 * 48))
STEM, BLOCK = 16 * 16 * 16 * 3 * 49, 2 * 8 * 8 * 16 * 16 * 9
SECOND = 4 * 4 * 32 * (16 * 9 + 32 * 9 + 16)
RESNET = (3 * 16 * 49 + 2 * 16 * 16 * 9 + 16 * 32 * 9 + 32 * 32 * 9 + 16 * 32 + 2 * (3 * 16 + 3 * 32) + 330,
          2 * (STEM + BLOCK + SECOND + 320))
KNOWN = {"gpt": GPT, "lstm": LSTM, "resnet": RESNET}
# The same for sixteen tokens of 32 numbers and two layers: norms, attention, feed-forward, and what is around them.
LAYER, FORWARD = 12 * 32 * 32 + 13 * 32, 2 * (12 * 32 * 32 + 2 * 16 * 32)
KNOWN["vit"] = (2 * LAYER + 49 * 32 + 16 * 32 + 2 * 32 + 330, 16 * (2 * FORWARD + 2 * 48 * 32) + 2 * 320)
KNOWN["bert"] = (2 * LAYER + 64 * 32 + 16 * 32 + 2 * 32, 16 * (2 * FORWARD + 2 * 32 * 64))
MIXED = 2 * (2 * 16 * 64 + 64 + 16) + 2 * (2 * 32 * 128 + 128 + 32) + 4 * 64
KNOWN["mixer"] = (MIXED + 49 * 32 + 2 * 32 + 330, 2 * (2 * 2 * 32 * 16 * 64 + 2 * 2 * 16 * 32 * 128 + 16 * 48 * 32 + 320))
EXPERTS = 4 * 3 * 32 * 48  # einsum of three operands multiplies hidden numbers and weights by a product as well
KNOWN["experts"] = (2 * (32 * 4 + EXPERTS) + 2 * 32 * 64, 8 * 2 * (2 * (32 * 4 + EXPERTS + 4 * 48) + 32 * 64))
KNOWN["autoencoder"] = (9 * 3 * 8 + 9 * 8 * 16 + 4 * 16 * 8 + 4 * 8 * 3,
                        2 * (256 * 27 * 8 + 16 * 72 * 16 + 16 * 4 * 16 * 8 + 64 * 4 * 8 * 3))
DEVICES = ("nvidia-h200", "google-tpu-v5e")


def ask(command, name, *options):
    path = name if os.sep in name else os.path.join(CAPTURES, name if name.endswith((".mlir", ".hlo")) else f"{name}.cmt.json")
    done = subprocess.run([PROGRAM, command, path, "--json", *options], capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr  # 3: it does not fit
    assert "warning" not in done.stderr, done.stderr
    return json.loads(done.stdout)


def builder(name):
    return getattr(jax_steps, name, None) or getattr(jax_networks, name)


def captured(name, **sizes):
    built = builder(name)(**sizes)
    return centimani.capture_jax(built["train_step"], *built["args"], batch_argnums=built["batch_argnums"],
                                 name=built["name"])


def mesh_of(sizes, names):
    """A mesh without devices. Its axes divide as XLA chooses: since JAX 0.11 an axis divides as the program says, unless asked."""
    from jax.sharding import AbstractMesh
    kinds = getattr(jax.sharding, "AxisType", None)
    return AbstractMesh(sizes, names, **({"axis_types": (kinds.Auto,) * len(sizes)} if kinds else {}))


def sharded(compile_for=None):
    """The GPT by FSDP on two devices and tensor parallelism on two."""
    from jax.sharding import NamedSharding, PartitionSpec
    mesh, built = mesh_of((2, 2), ("data", "model")), builder("gpt")(layers=2, width=64, words=96, seq=32, batch=16)
    specs = {1: (), 2: ("data",), 3: (None, "data", "model")}

    def placed(x, *spec):
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(mesh, PartitionSpec(*spec)))
    weights, momentum, tokens = built["args"]
    weights, momentum = (jax.tree.map(lambda x: placed(x, *specs[x.ndim]), t) for t in (weights, momentum))
    return centimani.capture_jax(built["train_step"], weights, momentum, placed(tokens, "data"), batch_argnums=2,
                                 name="gpt-sharded", compile_for=compile_for)


def matrix_flop(graph, phase):
    return sum(graph["flop"][phase].get(k, 0) for k in ("gemm", "conv"))


class Stored(unittest.TestCase):
    def test_counts(self):
        for name, (parameters, flop) in KNOWN.items():
            graph = ask("graph", name, "--batch", "8")
            self.assertEqual(graph["params"], parameters, name)
            self.assertEqual(matrix_flop(graph, "forward"), 8 * flop, name)

    def test_backward_is_twice_forward(self):
        """But the gradient of the first layer's input, which nothing needs."""
        gpt, lstm, resnet = (ask("graph", n, "--batch", "8") for n in ("gpt", "lstm", "resnet"))
        first_state = 8 * 2 * 4 * 32 * 32 * 2  # the initial state is no parameter: its product has one gradient less
        self.assertEqual(matrix_flop(gpt, "backward"), 2 * 8 * GPT[1])
        self.assertEqual(matrix_flop(lstm, "backward"), 2 * 8 * LSTM[1] - first_state // 2)
        self.assertEqual(matrix_flop(resnet, "backward"), 8 * (2 * RESNET[1] - 2 * STEM))

    def test_recomputed_layers(self):
        """Checkpointed layers are recomputed but for their last product. The last layer may keep its first sum."""
        half = 2 * 32 * 64 * 64
        layer = 2 * 32 * (8 * 64 * 64 + 2 * 32 * 64)
        least, most = 8 * (2 * layer - half), 8 * 2 * layer
        again = matrix_flop(ask("graph", "gpt", "--batch", "8"), "recompute")
        self.assertTrue(least <= again <= most, (least, again, most))

    def test_types(self):
        self.assertEqual(ask("graph", "gpt")["precision"], "amp-bf16")
        self.assertEqual(ask("graph", "resnet", "--precision", "fp32")["precision"], "fp32")

    def test_runtime(self):
        """XLA on a GPU, in every command; fp32 numbers are multiplied in TF32 there and in bf16 on a TPU."""
        h200, tpu = (ask("predict", "resnet", "--device", d, "--batch", "8") for d in DEVICES)
        self.assertEqual((h200["runtime"], h200["precision"]), ("xla", "tf32"))
        self.assertEqual((tpu["runtime"], tpu["precision"]), ("native", "fp32"))
        ranked = ask("rank", "resnet", "--devices", ",".join(DEVICES), "--batch", "8")["ranking"]
        rows = {d["device"]: d for d in ranked}
        self.assertEqual([rows[d]["runtime"] for d in DEVICES], ["xla", "native"])

    def test_advice_of_the_host(self):
        """XLA replays a step as a whole already."""
        said = subprocess.run([PROGRAM, "predict", os.path.join(CAPTURES, "resnet.cmt.json"), "--device", "nvidia-h200", "--batch", "1"],
                              capture_output=True, text=True, check=True).stdout
        self.assertIn("a larger batch size would help", said)

    def test_predictions(self):
        for name in SIZES:
            for device in DEVICES:
                small, large = (ask("predict", name, "--device", device, "--batch", b) for b in ("8", "4096"))
                self.assertGreater(large["device_time_s"], small["device_time_s"], (name, device))
                self.assertGreater(large["peak_bytes"], small["peak_bytes"], (name, device))


class BesidePyTorch(unittest.TestCase):
    """The same step from JAX and from PyTorch: a perceptron of three layers with SGD (784, 1024, 1024, 10), four bottlenecks of
    ResNet-50, and a GPT of two layers whose scores are in fp32, as autocast has them (jax_steps.gpt(scores_in=jnp.float32))."""

    def beside(self, name, precisions, kinds):
        for device, precision in zip((*DEVICES, "google-tpu-v6e"), (*precisions, precisions[1])):
            options = ("--device", device, "--precision", precision, *(("--runtime", "xla") if device == "nvidia-h200" else ()))
            for batch in ("64", "256"):
                jaxs, torchs = (ask("predict", n, *options, "--batch", batch) for n in (name, f"{name}-torch"))
                off = {k: jaxs[k] / torchs[k] - 1 for k in kinds if k != "peak_bytes" or device != "nvidia-h200" or name == "mlp"}
                print(f"# {name}, {device}, batch {batch}: JAX beside PyTorch, " + ", ".join(f"{k} {100 * v:+.1f} %" for k, v in off.items()))
                for key, value in off.items():
                    self.assertLess(abs(value), 0.05, (name, device, batch, key))

    def test_perceptron(self):
        self.beside("mlp", ("tf32", "amp-bf16"), ("step_time_s", "peak_bytes"))

    def test_resnet(self):
        for precisions in (("tf32", "fp32"), ("amp-bf16", "amp-bf16")):
            self.beside("resnet-deep", precisions, ("step_time_s", "peak_bytes"))

    def test_gpt(self):
        self.beside("gpt-wide", ("amp-bf16", "amp-bf16"), ("step_time_s", "device_time_s", "peak_bytes"))


class Text(unittest.TestCase):
    """Steps as StableHLO text are those that capture_jax() records. Of one recomputed layer the text does not show the end."""

    def beside(self, name, text, timed=True):
        """`timed`: also their times and memory."""
        options = ("--batch", "8")
        here, there = ask("graph", text, *options), ask("graph", name, *options)
        self.assertEqual(here["params"], there["params"], name)
        self.assertEqual((here["optimizer"], here["precision"]), (there["optimizer"], there["precision"]), name)
        for phase in ("forward", "backward"):
            self.assertEqual(matrix_flop(here, phase), matrix_flop(there, phase), (name, phase))
        again, before = matrix_flop(here, "recompute"), matrix_flop(there, "recompute")
        self.assertLessEqual(abs(again - before), 0.06 * before, name)
        for device in DEVICES if timed else ():
            here, there = (ask("predict", x, "--device", device, "--batch", "64") for x in (text, name))
            self.assertAlmostEqual(here["device_time_s"] / there["device_time_s"], 1, delta=0.05, msg=(name, device))
            if (name, device) == ("gpt", "google-tpu-v5e"):
                for peak in (here["peak_bytes"], there["peak_bytes"]):  # Google's compiler says 16.32 MB for 64 samples
                    self.assertAlmostEqual(peak / 16.32e6, 1, delta=0.25)
                continue
            self.assertAlmostEqual(here["peak_bytes"] / there["peak_bytes"], 1, delta=0.14 if name == "gpt" else 0.05,
                                   msg=(name, device))
            self.assertEqual(here["runtime"], there["runtime"])

    def test_stored(self):
        for name in ("autoencoder", "lstm", "gpt"):
            self.beside(name, f"{name}.mlir")
        for name, text in (("autoencoder", "image.hlo"), ("lstm", "loop.hlo")):
            self.beside(name, os.path.join(ROOT, "tests", "fuzz", "corpus", "hlo", text))

    def test_refusals(self):
        with open(os.path.join(CAPTURES, "autoencoder.mlir"), encoding="utf-8") as stored:
            text = stored.read()
        with open(os.path.join(ROOT, "tests", "fuzz", "corpus", "hlo", "image.hlo"), encoding="utf-8") as stored:
            module = stored.read()
        for text, old, new, why in ((text, "stablehlo.maximum", "stablehlo.fold", r"line \d+: operation 'fold' is not known"),
                                    (text, "tensor<4x16x16x3xf32>", "tensor<?x16x16x3xf32>", "lower the step with arrays of known shapes"),
                                    (module, " maximum(", " fold(", r"line \d+: operation 'fold' is not known"),
                                    (module, "f32[4,16,16,3]", "f32[<=4,16,16,3]", "lower the step with arrays of known shapes"),
                                    (module, " tanh(", " tanh(nothing.1, ", r"line \d+: a value that nothing has made at 'nothing.1")):
            handle, path = tempfile.mkstemp(suffix=".hlo" if text is module else ".mlir")
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(text.replace(old, new))
            done = subprocess.run([PROGRAM, "graph", path], capture_output=True, text=True)
            os.unlink(path)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, why)


class Compiled(unittest.TestCase):
    """gpt-sharded was compiled for four chips of TPU v5e, 8 samples for each of two replicas."""

    def test_plan_of_shardings(self):
        plan = ask("predict", "gpt-sharded", "--device", "google-tpu-v5e", "-n", "4", "--batch", "8")["plan"]
        self.assertEqual([plan[k] for k in ("tp", "pp", "dp", "zero")], [2, 1, 2, 3])
        own = ask("predict", "gpt-sharded", "--device", "google-tpu-v5e", "-n", "4", "--dp", "4", "--batch", "8")["plan"]
        self.assertEqual([own[k] for k in ("tp", "dp", "zero")], [1, 4, 0])
        gpus = ask("memory", "gpt-sharded", "--device", "nvidia-h200", "-n", "8", "--batch", "8")["plan"]
        self.assertEqual([gpus[k] for k in ("tp", "dp", "zero")], [2, 4, 3])

    def recorded(self):
        with open(os.path.join(CAPTURES, "gpt-sharded.cmt.json"), encoding="utf-8") as stored:
            return json.load(stored)

    def test_memory_is_the_compilers(self):
        said = self.recorded()["xla"]
        options = ("--device", "google-tpu-v5e", "-n", "4", "--batch")
        same, twice = (ask("memory", "gpt-sharded", *options, b) for b in ("8", "16"))
        self.assertEqual((same["peak_bytes"], same["verdict"], same["probability"]), (said["peak_bytes"], "fits", 1))
        self.assertEqual((same["compiler"]["memory"], same["compiler"]["cycles"]), ("of this step", said["cycles"]))
        self.assertEqual(same["interval_bytes"], [said["peak_bytes"]] * 2)
        self.assertEqual(twice["compiler"]["memory"], "scaled")
        plain = self.without("xla")
        before, after = (ask("memory", plain, *options, b)["peak_bytes"] for b in ("8", "16"))
        self.assertAlmostEqual(twice["peak_bytes"] / same["peak_bytes"], after / before, places=9)
        for other in (("--device", "google-tpu-v6e", "-n", "4"), ("--device", "google-tpu-v5e", "-n", "8"),
                      ("--device", "google-tpu-v5e", "-n", "4", "--recompute", "full"),
                      ("--device", "google-tpu-v5e", "-n", "4", "--optimizer", "adamw")):
            self.assertNotIn("compiler", ask("memory", "gpt-sharded", *other, "--batch", "8"), other)

    def without(self, *keys, **changed):
        content = self.recorded()
        for key in keys:
            del content[key]
        content.update(changed)
        handle, path = tempfile.mkstemp(suffix=".cmt.json")
        self.addCleanup(os.unlink, path)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump(content, out)
        return path

    def test_refused_steps(self):
        """CompileTimeHbmOom: the compiler's word counts at this batch size, and the model's at others."""
        said = {**self.recorded()["xla"], "fits": False, "peak_bytes": 73 << 30, "capacity_bytes": 31 << 30}
        options = ("--device", "google-tpu-v5e", "-n", "4", "--batch")
        path = self.without(xla=said)
        refused, other = (ask("memory", path, *options, b) for b in ("8", "4"))
        self.assertEqual((refused["verdict"], refused["shortfall_bytes"]), ("does not fit", 42 << 30))
        self.assertEqual(other["verdict"], "fits")
        self.assertNotIn("compiler", other)

    def test_text_names_the_compiler(self):
        path = os.path.join(CAPTURES, "gpt-sharded.cmt.json")
        for command in ("predict", "memory", "fits"):
            done = subprocess.run([PROGRAM, command, path, "--device", "google-tpu-v5e", "-n", "4", "--batch", "8"],
                                  capture_output=True, text=True)
            self.assertIn("answer of the chip's compiler to this very step", done.stdout, command)


@unittest.skipUnless(jax, "JAX, Flax and Optax are not installed")
class Live(unittest.TestCase):
    def test_stored_captures_are_of_this_code(self):
        for name, sizes in SIZES.items():
            with open(os.path.join(CAPTURES, f"{name}.cmt.json"), encoding="utf-8") as stored:
                was, now = json.load(stored), captured(name, **sizes).content
            self.assertEqual((was["parameters"], was["product_flop"]), (now["parameters"], now["product_flop"]), name)

    def test_fused_attention_can_be_saved(self):
        """jax.nn.dot_product_attention gives reductions axes of NumPy's type, which JSON does not know."""
        def step(w, x):
            value, g = jax.value_and_grad(lambda w: (jax.nn.dot_product_attention(x @ w, x, x) ** 2).mean())(w)
            return w - 0.1 * g, value
        trace = centimani.capture_jax(step, jax.ShapeDtypeStruct((16, 16), jnp.float32),
                                      jax.ShapeDtypeStruct((2, 8, 4, 16), jnp.float32), batch_argnums=1)
        self.assertIn("aten::amax", trace.json())

    def products(self, run):
        needed = jax_capture._needed(run.results)
        return [e for e in run.walk.equations if id(e) in needed and e.name in jax_capture.PRODUCTS]

    def test_flop_are_xlas(self):
        """All products of the step, those of every iteration, compiled side by side."""
        for name in SIZES:
            wide = dict(dtype=jnp.float32) if name == "gpt" else {}  # a CPU casts 16-bit operands, and XLA counts it
            built = builder(name)(**SIZES[name], **wide)
            arguments = jax_capture.Arguments(built["args"], built["batch_argnums"])
            run = jax_capture.Run(built["train_step"], arguments, arguments.batch)
            rows = self.products(run)

            def all_products(*operands):
                pairs = zip(rows, operands[::2], operands[1::2])
                return [e.eqn.primitive.bind(a, b, **e.params) for e, a, b in pairs]
            shapes = [jax.ShapeDtypeStruct(v.shape, v.dtype) for e in rows for v in e.inputs[:2]]
            # Before it is compiled for a CPU, which computes a depthwise convolution's weight gradient for all pairs of channels.
            counted = jax.jit(all_products).lower(*shapes).cost_analysis()
            ours = sum(map(jax_rules.product_flop, rows))
            self.assertAlmostEqual(ours / counted["flops"], 1, delta=1e-3, msg=name)

    def test_whole_step(self):
        """A step without loops, whose products are nearly all of its work."""
        def step(w, x):
            def loss(w):
                for m in w:
                    x_ = x @ m if m is w[0] else jnp.tanh(y) @ m
                    y = x_
                return (y * y).mean()
            value, g = jax.value_and_grad(loss)(w)
            return [a - 0.1 * b for a, b in zip(w, g)], value
        w = [jax.ShapeDtypeStruct((4096, 4096), jnp.float32)] * 3
        x = jax.ShapeDtypeStruct((8192, 4096), jnp.float32)
        trace = centimani.capture_jax(step, w, x, batch_argnums=1)
        counted = jax.jit(step).lower(w, x).compile().cost_analysis()
        counted = counted[0] if isinstance(counted, list) else counted
        per_sample, fixed = trace.content["product_flop"]
        self.assertAlmostEqual((per_sample * 8192 + fixed) / counted["flops"], 1, delta=1e-3)

    def refused(self, step, *args):
        with self.assertRaises(centimani.CaptureError) as caught:
            centimani.capture_jax(step, *args, batch_argnums=1)
        return str(caught.exception)

    def test_refusals(self):
        w, x = jnp.ones((4, 4)), jnp.ones((8, 4))

        def training(f):
            def step(w, x):
                value, g = jax.value_and_grad(lambda w: f(x @ w).sum())(w)
                return w - g, value
            return step
        text = self.refused(training(lambda y: jnp.linalg.eigh(y.T @ y)[0]), w, x)
        self.assertRegex(text, "eigh.*\n  at .*test_capture_jax.py")
        self.assertIn("no backward", self.refused(lambda w, x: (x @ w).sum(), w, x))

        def until(w, x):
            y = jax.lax.while_loop(lambda y: y.sum() < 5, lambda y: y + 1, x)
            return training(lambda y_: y_)(w, y)
        self.assertRegex(self.refused(until, w, x), "while.*depends on the data\n  at .*test_capture_jax.py")

    def test_loops_of_known_length(self):
        def step(w, x):
            def loss(w):
                return jax.lax.fori_loop(0, 3, lambda i, y: jnp.tanh(y @ w), x).sum()
            value, g = jax.value_and_grad(loss)(w)
            return w - g, value
        trace = centimani.capture_jax(step, jnp.ones((4, 4)), jnp.ones((8, 4)), batch_argnums=1)
        self.assertEqual(trace.operators("forward").count("aten::matmul"), 3)

    def test_command(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "lstm.cmt.json")
            done = subprocess.run([sys.executable, "-m", "centimani", "capture", "--jax", "-o", path,
                                   os.path.join(ROOT, "examples", "jax_steps.py") + ":lstm"], capture_output=True,
                                  text=True, env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")})
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as made:
                content = json.load(made)
        self.assertEqual(content["jax"], jax.__version__)
        self.assertEqual(content["updates"][0]["kind"], "sgd")

    def test_shardings(self):
        plan = sharded().content["plan"]
        self.assertEqual(plan["axes"], {"data": "fsdp", "model": "tensor"})
        self.assertEqual([plan[k] for k in ("devices", "tp", "cp", "dp", "zero", "ep")], [4, 2, 1, 2, 3, 1])

    def by_hand(self, gathers):
        """A step whose data parallelism, or FSDP, is written with shard_map."""
        from jax.sharding import PartitionSpec as P
        mesh, whole = mesh_of((4,), ("d",)), P("d") if gathers else P()

        def step(w, x):
            def loss(w):
                w = jax.lax.all_gather(w, "d", axis=0, tiled=True) if gathers == "whole" else w
                return jnp.mean(jnp.tanh(x @ w if gathers != "part" else x[:, :w.shape[0]] @ w) ** 2)
            value, g = jax.value_and_grad(loss)(w)
            return w - 0.1 * (g if gathers else jax.lax.pmean(g, "d")), jax.lax.pmean(value, "d")
        mapped = jax.shard_map(step, mesh=mesh, in_specs=(whole, P("d")), out_specs=(whole, P()), check_vma=False)
        return jax.jit(mapped), jax.ShapeDtypeStruct((64, 64), jnp.float32), jax.ShapeDtypeStruct((32, 64), jnp.float32)

    def test_shard_map(self):
        for gathers, zero in ((None, 0), ("whole", 3)):
            step, *args = self.by_hand(gathers)
            content = centimani.capture_jax(step, *args, batch_argnums=1).content
            self.assertEqual([content["plan"][k] for k in ("dp", "tp", "zero")], [4, 1, zero])
            self.assertEqual((content["batch"], content["parameters"]), (8, 64 * 64))
            self.assertEqual(content["product_flop"], [2 * 2 * 64 * 64, 0])  # of a sample of one device; x has no gradient
        step, *args = self.by_hand("part")
        self.assertRegex(self.refused(step, *args), "shard_map gives each device a part of '0?.*\n  at .*test_capture_jax.py")

    @unittest.skipUnless(jax and importlib.util.find_spec("libtpu"), "libtpu, the compiler of TPUs, is not installed")
    def test_compiled_for_a_chip(self):
        with open(os.path.join(CAPTURES, "gpt-sharded.cmt.json"), encoding="utf-8") as stored:
            was, now = json.load(stored)["xla"], sharded("v5e:2x2x1").content["xla"]
        self.assertEqual([now[k] for k in ("device", "devices", "batch", "fits")], ["google-tpu-v5e", 4, 8, True])
        self.assertEqual(now["loops_of_unknown_length"], 0)
        if now["libtpu"] == was["libtpu"]:
            self.assertEqual(now["peak_bytes"], was["peak_bytes"])
        with self.assertRaisesRegex(centimani.CaptureError, "a mesh of 2x2 devices, and the topology of compile_for has 1"):
            sharded("v6e")

    def test_lowered_text(self):
        """All ten networks, as jax.jit(step).lower(...).as_text() prints them, and as the text of XLA's HLO."""
        with tempfile.TemporaryDirectory() as folder:
            for name, sizes in SIZES.items():
                built, path = builder(name)(**sizes), os.path.join(folder, f"{name}.mlir")
                step = built["train_step"] if hasattr(built["train_step"], "lower") else jax.jit(built["train_step"])
                for end, dialect in ((".mlir", "stablehlo"), (".hlo", "hlo")):
                    with open(path.replace(".mlir", end), "w", encoding="utf-8") as out:
                        out.write(step.lower(*built["args"]).as_text(dialect=dialect))
                    Text.beside(self, name, path.replace(".mlir", end), timed=end == ".mlir")

    def test_batch_of_the_code(self):
        """vmap leaves axes as NumPy's numbers; a batch size that the code states is refused with its line."""
        def step_of(forward):
            def step(w, x):
                loss, gradient = jax.value_and_grad(lambda w: forward(w, x))(w)
                return w - gradient, loss
            return centimani.capture_jax(step, jnp.zeros((8, 8)), jnp.zeros((4, 8)), batch_argnums=1)
        step_of(lambda w, x: jax.vmap(lambda row: jnp.tanh(row @ w).sum())(x).mean()).json()
        with self.assertRaisesRegex(centimani.CaptureError, r"does not run with \d+ samples: (.|\n)*test_capture_jax.py:\d+"):
            step_of(lambda w, x: (x @ w).reshape(4, 2, 4).sum())

    def test_spreading_constant(self):
        """Equal numbers of a larger shape spread the other operand, which is more than a number."""
        def step(w, x):
            loss, gradient = jax.value_and_grad(lambda w: ((x @ (w[:, :1, None] * jnp.ones((1, 1, 6)))[:, 0]) ** 2).mean())(w)
            return w - gradient, loss
        trace = centimani.capture_jax(step, jnp.zeros((8, 8)), jnp.zeros((4, 8)), batch_argnums=1)
        for op in trace.content["ops"]:
            shapes = [trace.content["tensors"][i]["dims"] for i in op["in"] + op["out"] if i >= 0]
            self.assertFalse("other" in op.get("attrs", {}) and shapes[0] != shapes[-1], op)

    def test_optimizers(self):
        self.assertEqual(captured("gpt", **SIZES["gpt"]).content["updates"][0]["kind"], "momentum")
        self.assertEqual(captured("unet", **SIZES["unet"]).content["updates"][0]["kind"], "adam")

    def test_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("jsonschema is not installed")
        with open(os.path.join(ROOT, "data", "schema", "trace.schema.json"), encoding="utf-8") as schema:
            jsonschema.validate(captured("unet", **SIZES["unet"]).content, json.load(schema))


if __name__ == "__main__":
    if "--store" in sys.argv:
        for key, given in SIZES.items():
            captured(key, **given).save(os.path.join(CAPTURES, f"{key}.cmt.json"))
        wide = dict(layers=2, width=256, heads=4, words=4096, seq=256, remat=False, scores_in=jnp.float32)
        captured("gpt", **wide).save(os.path.join(CAPTURES, "gpt-wide.cmt.json"))
        captured("resnet", stages=(2, 2), bottleneck=True).save(os.path.join(CAPTURES, "resnet-deep.cmt.json"))
        sharded("v5e:2x2x1").save(os.path.join(CAPTURES, "gpt-sharded.cmt.json"))
    else:
        unittest.main(argv=sys.argv[:1])
