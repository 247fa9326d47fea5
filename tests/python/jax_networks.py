# SPDX-License-Identifier: Apache-2.0
"""jax_networks.py - further networks for test_capture_jax.py, as JAX programs write them. Each returns the arguments of
centimani.capture_jax()."""
import jax
import jax.numpy as jnp
import jax_steps
from jax_steps import shapes

IMAGES = jax.ShapeDtypeStruct((4, 16, 16, 3), jnp.float32)
LABELS = jax.ShapeDtypeStruct((4,), jnp.int32)


def _labels(y, labels):
    import optax
    return optax.softmax_cross_entropy_with_integer_labels(y, labels).mean()


def _flax(model, inputs, name, optimizer=None, loss=_labels):
    import optax
    return jax_steps._flax_step(model, optimizer or optax.adamw(1e-3), loss, inputs, name)


def vit(width=32, heads=4, layers=2, patch=4):
    import flax.linen as nn

    class Layer(nn.Module):
        @nn.compact
        def __call__(self, x):
            y = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(heads)(y, y)
            return x + nn.Dense(width)(nn.gelu(nn.Dense(4 * width)(nn.LayerNorm()(x))))

    class ViT(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Conv(width, (patch, patch), (patch, patch))(x)
            x = x.reshape(x.shape[0], -1, width)
            x = x + self.param("positions", nn.initializers.zeros, (1, x.shape[1], width))
            for _ in range(layers):
                x = Layer()(x)
            return nn.Dense(10)(nn.LayerNorm()(x).mean(1))

    return _flax(ViT(), (IMAGES, LABELS), "vit-jax")


def bert(width=32, heads=4, layers=2, words=64, seq=16, batch=4):
    """Masked words, norms after each branch, the word table shared with the head."""
    import flax.linen as nn

    class Bert(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            table = nn.Embed(words, width)
            x = nn.LayerNorm()(table(tokens) + self.param("positions", nn.initializers.zeros, (seq, width)))
            for _ in range(layers):
                x = nn.LayerNorm()(x + nn.MultiHeadDotProductAttention(heads)(x, x))
                x = nn.LayerNorm()(x + nn.Dense(width)(nn.gelu(nn.Dense(4 * width)(x), approximate=False)))
            return table.attend(x)

    tokens = jax.ShapeDtypeStruct((batch, seq), jnp.int32)
    return _flax(Bert(), (tokens, tokens), "bert-jax")


def mixer(width=32, layers=2, patch=4):
    import flax.linen as nn

    class Mixer(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Conv(width, (patch, patch), (patch, patch))(x).reshape(x.shape[0], -1, width)
            for _ in range(layers):
                y = nn.LayerNorm()(x).swapaxes(1, 2)
                x = x + nn.Dense(x.shape[1])(nn.gelu(nn.Dense(2 * width)(y))).swapaxes(1, 2)
                x = x + nn.Dense(width)(nn.gelu(nn.Dense(4 * width)(nn.LayerNorm()(x))))
            return nn.Dense(10)(nn.LayerNorm()(x).mean(1))

    return _flax(Mixer(), (IMAGES, LABELS), "mixer-jax")


def convnext(width=16, layers=2):
    """Depthwise convolutions of 7 x 7, layer norms and products of one pixel."""
    import flax.linen as nn

    class ConvNeXt(nn.Module):
        @nn.compact
        def __call__(self, x):
            for stage in range(2):
                c = width * 2 ** stage
                x = nn.LayerNorm()(nn.Conv(c, (2, 2), (2, 2))(x))
                for _ in range(layers):
                    y = nn.LayerNorm()(nn.Conv(c, (7, 7), feature_group_count=c)(x))
                    y = nn.Dense(c)(nn.gelu(nn.Dense(4 * c)(y)))
                    x = x + self.param(f"scale{stage}{_}", nn.initializers.ones, (c,)) * y
            return nn.Dense(10)(x.mean((1, 2)))

    return _flax(ConvNeXt(), (IMAGES, LABELS), "convnext-jax")


def _plain(init, loss_of, inputs, name):
    def train_step(p, *batch):
        loss, gradients = jax.value_and_grad(loss_of)(p, *batch)
        return jax.tree.map(lambda w, g: w - 0.1 * g, p, gradients), loss

    return dict(train_step=jax.jit(train_step), args=(shapes(init), *inputs),
                batch_argnums=tuple(range(1, 1 + len(inputs))), name=name)


def experts(width=32, inner=48, count=4, layers=2, words=64, seq=8, batch=4):
    """A scan over layers; every token goes through two of four experts, which all compute it, weighted by the router."""
    def layer(x, p):
        chances = jax.nn.softmax(x @ p["router"])
        best, chosen = jax.lax.top_k(chances, 2)
        weights = (jax.nn.one_hot(chosen, count) * best[..., None]).sum(-2)
        hidden = jax.nn.silu(jnp.einsum("bsd,edf->bsef", x, p["gate"])) * jnp.einsum("bsd,edf->bsef", x, p["up"])
        return x + jnp.einsum("bsef,efd,bse->bsd", hidden, p["down"], weights), None

    def loss_of(p, tokens):
        x, _ = jax.lax.scan(layer, p["embedding"][tokens[:, :-1]], p["layers"])
        return _labels((x @ p["head"]).reshape(-1, words), tokens[:, 1:].reshape(-1))

    def init():
        return {"embedding": jnp.zeros((words, width)), "head": jnp.zeros((width, words)),
                "layers": {"router": jnp.zeros((layers, width, count)), "gate": jnp.zeros((layers, count, width, inner)),
                           "up": jnp.zeros((layers, count, width, inner)), "down": jnp.zeros((layers, count, inner, width))}}

    return _plain(init, loss_of, (jax.ShapeDtypeStruct((batch, seq + 1), jnp.int32),), "experts-jax")


def autoencoder(width=8):
    """Plain convolutions of lax, pooled, and transposed ones back."""
    def conv(x, w, stride=1):
        return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss_of(p, x):
        y = jax.nn.relu(conv(x, p["a"]))
        y = jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        y = jax.nn.leaky_relu(conv(y, p["b"], 2))
        y = jnp.tanh(jax.lax.conv_transpose(y, p["c"], (2, 2), "SAME"))
        y = jax.lax.conv_transpose(y, p["d"], (2, 2), "SAME")
        return ((y - x) ** 2).mean()

    def init():
        return {"a": jnp.zeros((3, 3, 3, width)), "b": jnp.zeros((3, 3, width, 2 * width)),
                "c": jnp.zeros((2, 2, 2 * width, width)), "d": jnp.zeros((2, 2, width, 3))}

    return _plain(init, loss_of, (IMAGES,), "autoencoder-jax")
