# SPDX-License-Identifier: Apache-2.0
"""jax_steps.py - training steps of JAX programs: python -m centimani capture --jax examples/jax_steps.py:gpt.

Each function returns the arguments of centimani.capture_jax(). Shapes are sufficient, so nothing is allocated."""
import jax
import jax.numpy as jnp


def shapes(make, *args):
    """The shapes that a function returns, without running it."""
    return jax.eval_shape(make, *args)


# ---- plain JAX: a GPT whose layers are a scan, each recomputed in backward ----------------------------------------------


def gpt(layers=4, width=256, heads=4, words=1024, seq=128, batch=4, remat=True, dtype=jnp.bfloat16, scores_in=jnp.bfloat16):
    def normal(x, scale):
        return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale

    def layer(x, p):
        p = jax.tree.map(lambda w: w.astype(dtype), p)
        b, s, d = x.shape
        q, k, v = (t.reshape(b, s, heads, d // heads) for t in jnp.split(normal(x, p["norm1"]) @ p["qkv"], 3, -1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (d // heads) ** -0.5
        scores = jnp.where(jnp.tril(jnp.ones((s, s), bool)), scores, -1e9).astype(scores_in)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(dtype), v)
        x = x + mixed.reshape(b, s, d) @ p["out"]
        return x + jax.nn.gelu(normal(x, p["norm2"]) @ p["up"]) @ p["down"], None

    def loss_of(p, tokens):
        x = p["embedding"][tokens[:, :-1]].astype(dtype)
        x, _ = jax.lax.scan(jax.checkpoint(layer) if remat else layer, x, p["layers"])
        logits = (x @ p["embedding"].T.astype(dtype)).astype(jnp.float32)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1).mean()

    def train_step(p, momentum, tokens):
        loss, gradients = jax.value_and_grad(loss_of)(p, tokens)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
        return jax.tree.map(lambda w, m: w - 1e-3 * m, p, momentum), momentum, loss

    def init():
        sizes = {"qkv": (width, 3 * width), "out": (width, width), "up": (width, 4 * width), "down": (4 * width, width),
                 "norm1": (width,), "norm2": (width,)}
        return {"embedding": jnp.zeros((words, width)),
                "layers": {k: jnp.zeros((layers, *shape)) for k, shape in sizes.items()}}

    p = shapes(init)
    return dict(train_step=jax.jit(train_step, donate_argnums=(0, 1)), name="gpt-jax", batch_argnums=2,
                args=(p, p, jax.ShapeDtypeStruct((batch, seq + 1), jnp.int32)))


# ---- plain JAX: an LSTM language model, one scan over the words --------------------------------------------------------


def lstm(width=128, words=500, seq=16, batch=4):
    def cell(p, state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ p["input"] + h @ p["hidden"] + p["bias"], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    def loss_of(p, tokens):
        x = p["embedding"][tokens[:, :-1]].swapaxes(0, 1)
        start = jnp.zeros((tokens.shape[0], width))
        _, states = jax.lax.scan(lambda state, now: cell(p, state, now), (start, start), x)
        chances = jax.nn.log_softmax(states.swapaxes(0, 1) @ p["head"])
        return -jnp.take_along_axis(chances, tokens[:, 1:, None], -1).mean()

    def train_step(p, tokens):
        loss, gradients = jax.value_and_grad(loss_of)(p, tokens)
        return jax.tree.map(lambda w, g: w - 0.1 * g, p, gradients), loss

    def init():
        return {"embedding": jnp.zeros((words, width)), "input": jnp.zeros((width, 4 * width)),
                "hidden": jnp.zeros((width, 4 * width)), "bias": jnp.zeros(4 * width), "head": jnp.zeros((width, words))}

    return dict(train_step=train_step, args=(shapes(init), jax.ShapeDtypeStruct((batch, seq + 1), jnp.int32)),
                batch_argnums=1, name="lstm-jax")


# ---- Flax and Optax ------------------------------------------------------------------------------------------------------


def _flax_step(model, optimizer, loss_of, inputs, name, mutable=()):
    """A train state as Flax's examples have it, with batch statistics if the model has them."""
    variables = shapes(lambda: model.init(jax.random.key(0), jnp.zeros(inputs[0].shape, inputs[0].dtype)))
    variables = dict(variables)
    p = variables.pop("params")

    def train_step(p, rest, state, *batch):
        def loss(p):
            y = model.apply({"params": p, **rest}, batch[0], **({"mutable": list(mutable)} if mutable else {}))
            y, new = y if mutable else (y, rest)
            return loss_of(y, *batch[1:]), new
        (value, rest), gradients = jax.value_and_grad(loss, has_aux=True)(p)
        updates, state = optimizer.update(gradients, state, p)
        return jax.tree.map(lambda w, u: w + u, p, updates), rest, state, value

    return dict(train_step=jax.jit(train_step), args=(p, variables, shapes(optimizer.init, p), *inputs),
                batch_argnums=tuple(range(3, 3 + len(inputs))), name=name)


def resnet(stages=(2, 2, 2, 2), width=64, image=224, classes=1000, batch=4, bottleneck=False):
    """ResNet-18; stages=(3, 4, 6, 3), bottleneck=True: ResNet-50."""
    import flax.linen as nn
    import optax

    class Block(nn.Module):
        filters: int
        stride: int

        @nn.compact
        def __call__(self, x):
            def part(y, filters, size, stride, relu=True):
                y = nn.Conv(filters, (size, size), (stride, stride), use_bias=False)(y)
                y = nn.BatchNorm(use_running_average=False)(y)
                return nn.relu(y) if relu else y
            last = self.filters * (4 if bottleneck else 1)
            y = part(x, self.filters, 1, 1) if bottleneck else x
            y = part(y, self.filters, 3, self.stride)
            y = part(y, last, 1, 1, False) if bottleneck else part(y, last, 3, 1, False)
            if x.shape != y.shape:
                x = part(x, last, 1, self.stride, False)
            return nn.relu(x + y)

    class ResNet(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Conv(width, (7, 7), (2, 2), padding=[(3, 3), (3, 3)], use_bias=False)(x)
            x = nn.relu(nn.BatchNorm(use_running_average=False)(x))
            x = nn.max_pool(x, (3, 3), (2, 2), padding="SAME")
            for stage, blocks in enumerate(stages):
                for block in range(blocks):
                    x = Block(width * 2 ** stage, 2 if stage and not block else 1)(x)
            return nn.Dense(classes)(x.mean((1, 2)))

    def loss_of(y, labels):
        return optax.softmax_cross_entropy_with_integer_labels(y, labels).mean()

    inputs = (jax.ShapeDtypeStruct((batch, image, image, 3), jnp.float32), jax.ShapeDtypeStruct((batch,), jnp.int32))
    return _flax_step(ResNet(), optax.sgd(0.1, 0.9), loss_of, inputs, "resnet-jax", ("batch_stats",))


def unet(width=32, image=32, batch=4):
    """A diffusion model's network: residual blocks with the time, attention at the lowest resolution, AdamW."""
    import flax.linen as nn
    import optax

    class Residual(nn.Module):
        filters: int

        @nn.compact
        def __call__(self, x, time):
            y = nn.Conv(self.filters, (3, 3))(nn.silu(nn.GroupNorm(8)(x)))
            y = y + nn.Dense(self.filters)(nn.silu(time))[:, None, None]
            y = nn.Conv(self.filters, (3, 3))(nn.silu(nn.GroupNorm(8)(y)))
            return y + (x if x.shape == y.shape else nn.Conv(self.filters, (1, 1))(x))

    class UNet(nn.Module):
        @nn.compact
        def __call__(self, x):
            time = nn.silu(nn.Dense(4 * width)(jnp.sin(x[:, 0, 0, :1] * jnp.arange(1, width + 1))))
            y, kept = nn.Conv(width, (3, 3))(x), []
            for scale in (1, 2):
                y = Residual(scale * width)(y, time)
                kept.append(y)
                y = nn.Conv(2 * scale * width, (3, 3), (2, 2))(y)
            y = Residual(4 * width)(y, time)
            tokens = nn.GroupNorm(8)(y).reshape(y.shape[0], -1, 4 * width)
            y = y + nn.MultiHeadDotProductAttention(4)(tokens, tokens).reshape(y.shape)
            for scale in (2, 1):
                y = nn.ConvTranspose(scale * width, (4, 4), (2, 2))(y)
                y = Residual(scale * width)(jnp.concatenate([y, kept.pop()], -1), time)
            return nn.Conv(3, (3, 3))(nn.silu(nn.GroupNorm(8)(y)))

    inputs = (jax.ShapeDtypeStruct((batch, image, image, 3), jnp.float32),) * 2
    return _flax_step(UNet(), optax.adamw(1e-4), lambda y, noise: ((y - noise) ** 2).mean(), inputs, "unet-jax")
