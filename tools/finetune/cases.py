# SPDX-License-Identifier: Apache-2.0
"""cases.py - the fine-tuning runs: sizes of published models, and how each is trained.

A case is one line: name, model, method, precision, options of --lora, quantisation, recomputation, batch, tokens. The
sizes are those of the models' public config.json files. Weights are random; the time of a step does not depend on them.
"""
from dataclasses import dataclass

MODELS = {  # family, layers, hidden, heads, key/value heads, width of a head, inner width, vocabulary, tied
    "qwen2.5-0.5b": ("qwen2", 24, 896, 14, 2, 64, 4864, 151936, 1),
    "llama-3.2-1b": ("llama", 16, 2048, 32, 8, 64, 8192, 128256, 1),
    "qwen2.5-1.5b": ("qwen2", 28, 1536, 12, 2, 128, 8960, 151936, 1),
    "llama-3.2-3b": ("llama", 28, 3072, 24, 8, 128, 8192, 128256, 1),
    "qwen2.5-7b": ("qwen2", 28, 3584, 28, 4, 128, 18944, 152064, 0),
    "mistral-7b": ("llama", 32, 4096, 32, 8, 128, 14336, 32000, 0),
    "llama-3.1-8b": ("llama", 32, 4096, 32, 8, 128, 14336, 128256, 0),
    "tinyllama-1.1b": ("llama", 22, 2048, 32, 4, 64, 5632, 32000, 0),
    "smollm2-1.7b": ("llama", 24, 2048, 32, 32, 64, 8192, 49152, 1),
    "qwen2.5-3b": ("qwen2", 36, 2048, 16, 2, 128, 11008, 151936, 1),
    "yi-6b": ("llama", 32, 4096, 32, 4, 128, 11008, 64000, 0),
    "llama-2-7b": ("llama", 32, 4096, 32, 32, 128, 11008, 32000, 0),
}


@dataclass(frozen=True)
class Case:
    model: str
    method: str      # full, lora, qlora
    precision: str   # bf16, amp-bf16
    targets: str     # of the adapters
    rank: int
    dropout: float
    wide: bool       # adapters in fp32 without autocast
    recompute: bool
    batch: int
    seq: int

    @property
    def name(self):
        adapters = f"-{self.targets}-r{self.rank}" if self.method != "full" else ""
        extra = ("-drop" if self.dropout else "") + ("-fp32" if self.wide else "") + ("-ckpt" if self.recompute else "")
        return f"{self.model}-{self.method}{adapters}-{self.precision}{extra}-{self.batch}x{self.seq}"

    def description(self):
        family, layers, hidden, heads, kv, width, ffn, vocab, tied = MODELS[self.model]
        return (f"{family}:layers={layers},hidden={hidden},heads={heads},kv_heads={kv},head_dim={width},ffn={ffn},"
                f"vocab={vocab},tied={tied}")

    def options(self):
        words = ["--batch", str(self.batch), "--seq", str(self.seq), "--precision", self.precision, "--optimizer", "adamw"]
        if self.method != "full":
            lora = f"r={self.rank},targets={self.targets}" + (f",dropout={self.dropout}" if self.dropout else "")
            words += ["--lora", lora + (",dtype=fp32" if self.wide else ",dtype=weights" if self.precision == "bf16" else "")]
        if self.method == "qlora":
            words += ["--quantize", "nf4"]
        return words + (["--recompute", "full"] if self.recompute else [])


def full(model, batch, seq, precision="bf16", recompute=False):
    return Case(model, "full", precision, "", 0, 0.0, False, recompute, batch, seq)


def lora(model, batch, seq, targets="qkv", rank=16, precision="bf16", dropout=0.0, wide=False, recompute=False):
    return Case(model, "lora", precision, targets, rank, dropout, wide, recompute, batch, seq)


def qlora(model, batch, seq, targets="all-linear", rank=16, precision="amp-bf16", dropout=0.0, recompute=True):
    return Case(model, "qlora", precision, targets, rank, dropout, False, recompute, batch, seq)


# In the order in which they run: every method early, so that a short budget covers all of them.
CASES = [
    lora("llama-3.2-1b", 4, 1024), full("llama-3.2-1b", 4, 1024), qlora("llama-3.2-1b", 4, 1024),
    lora("llama-3.1-8b", 2, 2048), qlora("llama-3.1-8b", 2, 2048), lora("llama-3.1-8b", 4, 2048, recompute=True),
    full("qwen2.5-0.5b", 8, 512, "amp-bf16"), lora("qwen2.5-0.5b", 8, 512, "all-linear"),
    lora("mistral-7b", 1, 4096, "all-linear", 64, recompute=True), full("qwen2.5-1.5b", 2, 2048, recompute=True),
    qlora("qwen2.5-7b", 1, 4096, "qkv"), lora("qwen2.5-7b", 2, 1024, wide=True),
    lora("llama-3.2-3b", 2, 2048, "all-linear", dropout=0.05), full("llama-3.2-3b", 2, 2048),
    qlora("llama-3.2-3b", 4, 1024, recompute=False), lora("llama-3.2-3b", 4, 1024, precision="amp-bf16"),
    full("llama-3.2-1b", 1, 8192, recompute=True), lora("llama-3.2-1b", 1, 8192, "all-linear", recompute=True),
    full("mistral-7b", 1, 2048, recompute=True), qlora("mistral-7b", 8, 512, "attention", 64),
    lora("qwen2.5-1.5b", 8, 512, "attention", 8), lora("qwen2.5-1.5b", 2, 2048, "all-linear", 128, "amp-bf16"),
    qlora("qwen2.5-1.5b", 2, 2048, precision="bf16", recompute=False), full("llama-3.2-3b", 4, 1024, "amp-bf16", True),
    lora("mistral-7b", 4, 1024, "attention", precision="amp-bf16", dropout=0.1), qlora("qwen2.5-0.5b", 16, 512),
    full("llama-3.1-8b", 1, 1024, recompute=True), lora("llama-3.1-8b", 1, 8192, recompute=True),
    full("qwen2.5-0.5b", 4, 2048), lora("qwen2.5-7b", 1, 4096, "all-linear", 32, recompute=True),
    full("llama-3.2-1b", 2, 2048, "amp-bf16"), qlora("llama-3.1-8b", 1, 8192, "all-linear", 64),
]

# A second list, of models and settings that the first does not have.
MORE = [
    lora("tinyllama-1.1b", 8, 2048), full("smollm2-1.7b", 4, 2048), qlora("qwen2.5-3b", 4, 2048),
    lora("yi-6b", 2, 2048, "all-linear", 32), full("tinyllama-1.1b", 8, 1024, "amp-bf16"),
    qlora("llama-2-7b", 4, 1024, "qkv", 8), lora("qwen2.5-3b", 4, 1024, "attention", precision="amp-bf16", dropout=0.05),
    full("qwen2.5-3b", 4, 1024, recompute=True), lora("llama-2-7b", 4, 2048, recompute=True),
    qlora("tinyllama-1.1b", 8, 2048, precision="bf16", recompute=False), lora("smollm2-1.7b", 2, 8192, recompute=True),
    full("smollm2-1.7b", 8, 1024, "amp-bf16", True), lora("yi-6b", 8, 512, wide=True),
    qlora("yi-6b", 1, 8192, "all-linear", 16), full("tinyllama-1.1b", 2, 8192, recompute=True),
    lora("qwen2.5-3b", 1, 8192, "all-linear", 64, recompute=True), qlora("smollm2-1.7b", 8, 1024, "attention", 32),
    lora("llama-2-7b", 2, 1024, "all-linear", 16, "amp-bf16"), full("qwen2.5-3b", 2, 2048),
    lora("tinyllama-1.1b", 4, 512, "all-linear", dropout=0.1), qlora("qwen2.5-3b", 2, 1024, recompute=False),
    full("yi-6b", 1, 2048, recompute=True), lora("smollm2-1.7b", 16, 512, "attention", 8),
    full("smollm2-1.7b", 2, 4096), qlora("llama-2-7b", 2, 4096), lora("yi-6b", 1, 4096, precision="amp-bf16", recompute=True),
]
LISTS = {"a": CASES, "b": MORE}
