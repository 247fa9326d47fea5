# SPDX-License-Identifier: Apache-2.0
"""network.py - a Llama or Qwen 2 network in plain PyTorch, with the operators of Hugging Face's code, LoRA adapters as
the PEFT library runs them, and 4-bit weights as bitsandbytes stores them."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

BLOCK = 64
LEVELS = [-1.0, -0.6961928, -0.5250731, -0.3949175, -0.2844414, -0.1847734, -0.0910500, 0.0, 0.0795803, 0.1609302,
          0.2461123, 0.3379152, 0.4407098, 0.5626170, 0.7229568, 1.0]  # NF4, arXiv:2305.14314, appendix E

try:
    import triton
    import triton.language as tl

    @triton.jit
    def unpack_kernel(packed, scale, levels, out, n, SIZE: tl.constexpr):
        at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
        inside = at < n
        byte = tl.load(packed + at // 2, mask=inside, other=0)
        code = tl.where(at % 2 == 0, byte >> 4, byte & 15)
        value = tl.load(levels + code.to(tl.int32)) * tl.load(scale + at // 64, mask=inside, other=0.0)
        tl.store(out + at, value.to(tl.bfloat16), mask=inside)
except ImportError:
    triton = None


def unpack(packed, scale, levels, shape):
    """The weight in bf16: one kernel with Triton, a chain of PyTorch's operators without."""
    if triton is None or not packed.is_cuda:
        codes = torch.stack([packed >> 4, packed & 15], 1).flatten().int()
        return (levels[codes].view(-1, BLOCK) * scale[:, None]).to(torch.bfloat16).view(shape)
    out = torch.empty(shape, dtype=torch.bfloat16, device=packed.device)
    unpack_kernel[(triton.cdiv(out.numel(), 2048),)](packed, scale, levels, out, out.numel(), SIZE=2048)
    return out


class Unpacked(torch.autograd.Function):
    """A product with an unpacked weight, which is not kept: backward unpacks it again."""

    @staticmethod
    def forward(ctx, x, layer):
        ctx.layer = layer
        return F.linear(x, layer.weight(), layer.bias)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.matmul(ctx.layer.weight()), None


class Packed(nn.Module):
    def __init__(self, inner, outer, bias, device):
        super().__init__()
        self.shape = (outer, inner)
        count = outer * inner
        self.register_buffer("packed", torch.randint(0, 256, (count // 2,), dtype=torch.uint8, device=device))
        self.register_buffer("scale", torch.full((count // BLOCK,), 0.02, device=device))
        self.register_buffer("levels", torch.tensor(LEVELS, device=device))
        self.bias = nn.Parameter(torch.zeros(outer, dtype=torch.bfloat16, device=device), False) if bias else None

    def weight(self):
        return unpack(self.packed, self.scale, self.levels, self.shape)

    def forward(self, x):
        return Unpacked.apply(x.to(torch.bfloat16), self)


class Adapted(nn.Module):
    """y + scaling * B(A(dropout(x))), as peft.tuners.lora.Linear."""

    def __init__(self, base, inner, outer, case, dtype, device):
        super().__init__()
        self.base, self.scaling = base, 2.0
        self.a = nn.Linear(inner, case.rank, bias=False, dtype=dtype, device=device)
        self.b = nn.Linear(case.rank, outer, bias=False, dtype=dtype, device=device)
        self.dropout = nn.Dropout(case.dropout) if case.dropout else nn.Identity()

    def forward(self, x):
        y = self.base(x)
        if not torch.is_autocast_enabled():
            x = x.to(self.a.weight.dtype)
        return (y + self.b(self.a(self.dropout(x))) * self.scaling).to(y.dtype)


class Norm(nn.Module):
    def __init__(self, width, **where):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, **where))

    def forward(self, x):
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


def turned(x):
    low, high = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
    return torch.cat((-high, low), dim=-1)


PARTS = {"qkv": ("q", "k", "v"), "attention": ("q", "k", "v", "o"),
         "all-linear": ("q", "k", "v", "o", "gate", "up", "down")}


class Layer(nn.Module):
    def __init__(self, case, sizes, where, adapter):
        super().__init__()
        family, _, hidden, heads, kv, width, ffn, _, _ = sizes
        self.heads, self.kv, self.width, self.recompute = heads, kv, width, case.recompute
        self.norm1, self.norm2 = Norm(hidden, **where), Norm(hidden, **where)
        bias = family == "qwen2"

        def linear(part, inner, outer, bias=False):
            packed = case.method == "qlora"
            base = Packed(inner, outer, bias, where["device"]) if packed else nn.Linear(inner, outer, bias=bias, **where)
            adapted = case.method != "full" and part in PARTS[case.targets]
            return Adapted(base, inner, outer, case, adapter, where["device"]) if adapted else base

        self.q, self.o = linear("q", hidden, heads * width, bias), linear("o", heads * width, hidden)
        self.k, self.v = linear("k", hidden, kv * width, bias), linear("v", hidden, kv * width, bias)
        self.gate, self.up = linear("gate", hidden, ffn), linear("up", hidden, ffn)
        self.down = linear("down", ffn, hidden)

    def attention(self, x, cos, sin):
        batch, seq, _ = x.shape
        q = self.q(x).view(batch, seq, self.heads, self.width).transpose(1, 2)
        k = self.k(x).view(batch, seq, self.kv, self.width).transpose(1, 2)
        v = self.v(x).view(batch, seq, self.kv, self.width).transpose(1, 2)
        q, k = q * cos + turned(q) * sin, k * cos + turned(k) * sin
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.heads != self.kv)
        return self.o(y.transpose(1, 2).reshape(batch, seq, -1))

    def forward(self, x, cos, sin):
        x = x + self.attention(self.norm1(x), cos, sin)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Network(nn.Module):
    def __init__(self, case, sizes, device):
        super().__init__()
        _, layers, hidden, _, _, width, _, vocab, tied = sizes
        amp = case.precision.startswith("amp")
        where = {"device": device, "dtype": torch.float32 if amp and case.method == "full" else torch.bfloat16}
        adapter = torch.float32 if amp or case.wide else torch.bfloat16
        self.recompute, self.width, self.vocab = case.recompute, width, vocab
        self.embed = nn.Embedding(vocab, hidden, **where)
        self.layers = nn.ModuleList(Layer(case, sizes, where, adapter) for _ in range(layers))
        self.norm = Norm(hidden, **where)
        self.head = nn.Linear(hidden, vocab, bias=False, **where)
        if tied:
            self.head.weight = self.embed.weight
        if case.method != "full":
            for name, parameter in self.named_parameters():
                parameter.requires_grad_(".a.weight" in name or ".b.weight" in name)

    def angles(self, seq, x):
        speeds = 1.0 / 10000 ** (torch.arange(0, self.width, 2, device=x.device).float() / self.width)
        angles = torch.outer(torch.arange(seq, device=x.device).float(), speeds)
        angles = torch.cat((angles, angles), -1)[None, None]
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)

    def forward(self, ids, labels):
        x = self.embed(ids)
        cos, sin = self.angles(ids.shape[1], x)
        if self.recompute and not x.requires_grad:
            x.requires_grad_(True)  # as enable_input_require_grads() does
        for layer in self.layers:
            x = checkpoint(layer, x, cos, sin, use_reentrant=False) if self.recompute else layer(x, cos, sin)
        logits = self.head(self.norm(x))
        loss = F.cross_entropy(logits.float().view(-1, self.vocab), labels.view(-1))
        return loss, logits  # the script references both, as with Hugging Face's outputs
