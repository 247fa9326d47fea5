# SPDX-License-Identifier: Apache-2.0
"""questions.py - the program's questions as functions. Made by tools/python_options.py from cli/options.def; do not
edit."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Mapping, Optional, Sequence, TypedDict, Union

from .library import Given, Model, one, per_device, ranking, rates
from .results import Batch, Explanation, Fit, Graph, LookupRate, Memory, Plans, Prediction, Ranked, Scale, Table, Timeline

if TYPE_CHECKING:
    from typing_extensions import Unpack

Attention = Literal["auto", "flash", "efficient", "cudnn", "math"]
Basis = Literal["on-demand", "spot", "marketplace", "subscription", "paper", "any"]
Fuse = Literal["all", "eager", "norms", "none"]
Launcher = Literal["torchrun", "deepspeed", "megatron"]
Layout = Literal["auto", "nchw", "nhwc"]
Logits = Literal["auto", "own", "fp32", "both"]
LookupGrid = Literal["unionized", "nuclide"]
Loss = Literal["auto", "cross-entropy", "mse", "bce", "none"]
LossKernel = Literal["auto", "plain", "fused", "chunked"]
MixedPrecision = Literal["autocast", "fsdp"]
Mode = Literal["training", "inference"]
Moments = Literal["fp32", "bf16", "weights"]
ObjectiveBatch = Literal["throughput", "memory", "knee"]
ObjectiveDevice = Literal["throughput", "price", "energy", "time", "cost"]
ObjectivePlan = Literal["throughput", "cost", "energy", "devices"]
Optimizer = Literal["sgd", "momentum", "adam", "adamw", "adamw-8bit", "paged-adamw", "paged-adamw-8bit"]
Precision = Literal["fp32", "tf32", "amp-bf16", "amp-fp16", "bf16", "fp16", "fp8"]
Quantize = Literal["nf4", "nf4-dq", "int8", "gptq4", "fp8"]
Recompute = Union[Literal["none", "selective", "full"], str]
RecomputeOrAuto = Union[Literal["none", "selective", "full"], str]
Runtime = Union[Literal["torch-eager", "torch-compile", "megatron", "native", "tuned", "xla", "usual"], str]
Schedule = Literal["1f1b", "gpipe"]
Scheduler = Literal["pbs", "slurm"]


@dataclass(frozen=True, repr=False)
class Plan(Given):
    """How a step is divided over several devices. What is not given is the program's default.

    n: number of devices; data parallel unless tp, pp or cp is given
    tp: tensor-parallel size
    pp: pipeline stages
    dp: data-parallel replicas
    cp: context-parallel size: devices that divide a sequence's tokens
    ep: expert-parallel size: replicas that divide the experts
    zero: ZeRO stage: shard nothing, optimizer states, also gradients, also weights over the replicas
    mixed_precision: with zero 2 or 3, whose shards of fp32 weights are cast before they are gathered: autocast
        (default), or fsdp: MixedPrecision(param_dtype) of FSDP alone, all operators in 16 bits
    micro_batch: samples on a device at a time
    global_batch: samples per update over all devices
    accumulate: micro-batches per update
    cluster: interconnect: an id, the file of a profile, or node=8,net=800Gb (devices and network bit/s per node;
        link=25GB: bytes/s of a device inside it)
    offload: store in host memory: optimizer, activations, weights (comma-separated); activations:N: of N layers
    sequence_parallel: tensor-parallel devices also divide norms and dropouts by tokens
    interleave: virtual stages (model chunks) per pipeline stage
    schedule: pipeline schedule: 1f1b (default) or gpipe
    overlap: overlap the gradient all-reduce with backward even if the runtime does not; in Megatron Core also the
        gather of new weights with forward
    async_tp: tensor-parallel devices exchange pieces behind their products: PyTorch's async TP, Megatron-LM's
        --tp-comm-overlap
    async_ep: expert-parallel devices exchange tokens behind the computing of another micro-batch: Megatron-LM's
        --overlap-moe-expert-parallel-comm
    async_: replicas send gradients to a parameter server and do not wait for each other
    no_sync: with accumulate and zero 2 or 3: gradients are divided in the last micro-batch alone, as in FSDP's
        no_sync(), which accelerate uses
    compress: compress gradients: bits of each one (8), or the fraction of them that is sent (0.01)
    expert_imbalance: tokens of the expert-parallel device with the most, over the mean (default 1)
    sync_batchnorm: replicas that share the statistics of their batch norms, as PyTorch's SyncBatchNorm (default 1)
    """
    n: Optional[int] = None
    tp: Optional[int] = None
    pp: Optional[int] = None
    dp: Optional[int] = None
    cp: Optional[int] = None
    ep: Optional[int] = None
    zero: Optional[Literal[0, 1, 2, 3]] = None
    mixed_precision: Optional[MixedPrecision] = None
    micro_batch: Optional[int] = None
    global_batch: Optional[int] = None
    accumulate: Optional[int] = None
    cluster: Optional[str] = None
    offload: Optional[Union[str, Sequence[str]]] = None
    sequence_parallel: Optional[bool] = None
    interleave: Optional[int] = None
    schedule: Optional[Schedule] = None
    overlap: Optional[bool] = None
    async_tp: Optional[bool] = None
    async_ep: Optional[bool] = None
    async_: Optional[bool] = None
    no_sync: Optional[bool] = None
    compress: Optional[Union[float, str]] = None
    expert_imbalance: Optional[float] = None
    sync_batchnorm: Optional[int] = None


@dataclass(frozen=True, repr=False)
class Tuning(Given):
    """How a step runs: its software, its memory, adapters and data loading. What is not given is the program's default.

    loss: auto (default: from the output's shape), cross-entropy, mse, bce or none
    attention: auto (default: from runtime and device), flash (one kernel), efficient, cudnn or math (stored scores)
    dim: size of a free dimension of a model file; may be repeated
    tokens_per_sample: mean tokens of samples of which the longest has seq: padded (default; to the longest of a
        micro-batch), unpadded or packed (rows of seq tokens, attention inside the samples)
    reentrant: with recompute full: repeat whole layers, as torch.utils.checkpoint(use_reentrant=True) and Hugging
        Face's trainer do
    loss_kernel: cross-entropy of a language model: auto (default: PyTorch's plain one), plain, fused or chunked
    logits: copies of a language model's logits that the script makes: auto (default), own, fp32 or both
    train_metrics: cross-entropies of a language model's logits that the trainer computes beside the loss in each
        micro-batch: 2 for llm-foundry (default 0)
    fused_kernels: eager PyTorch with fused kernels for norms and rotary positions, as Liger and Unsloth have them
    clip_gradients: eager PyTorch scales gradients by their norm before each update, as Hugging Face's trainer does by
        default (max_grad_norm)
    busy_thread: a Python thread that never sleeps runs beside the training loop, as in Hugging Face's trainer with
        skip_memory_metrics=False: the host takes longer
    use_cache: the model returns the keys and values of its layers while it trains, which stay until the loss is known
    expandable_segments: memory of PyTorch with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: less is lost to
        fragmentation
    grad_reduce_in_bf16: with runtime megatron: its gradient buffer in bf16 instead of fp32
    moments: with runtime megatron: type of the optimizer's moments: fp32 (default), bf16, or weights: that of the
        weights, which have no fp32 copy
    fp8_param_gather: with runtime megatron precision fp8: weights of 8-bit products are stored in 8 bits alone
    stable_norms: on IPUs, norms compute the mean first and the variance in a second pass: enableStableNorm of
        PopTorch, use_stable_statistics of TensorFlow
    tensorflow: on IPUs, TensorFlow, whose compiler joins elementwise operators with others (default: PopART, which
        PyTorch uses, too)
    fuse: fuse operators of a file into one: all (default where the runtime fuses), eager (as eager PyTorch does),
        norms (as eager, and norms that the model writes out) or none
    cuda_graphs: replay the step's kernels from CUDA graphs, without the host's launches (torch-eager and
        torch-compile)
    software: releases: a year, or torch=2.5,peft=0.12,megatron=0.5 (default: the newest)
    what_if: a device with changed numbers: bandwidth=2x, or compute, matrix, vector, memory, cache, links, power,
        launch
    host: host that launches the kernels and loads the data (default: the device's usual one), or a FILE of 'bench
        suite host', which plan and scale need; see docs/commands.md
    layout: memory layout of images: auto (default: nhwc for colour images in 16-bit types), nchw or nhwc
    sparsity: pruned fraction of dense layers' weights, unstructured (0.8) or two of every four (2:4)
    steps_per_call: steps per host call, on devices that run whole graphs (default 1; 8 in training on IPUs)
    lora: train adapters:
        r=16,alpha=32,targets=qkv|attention|all-linear|NAME+NAME,dropout=0.05,dtype=fp32,rest=fp32,fsdp=layer|exempt,save=NAME+NAME
    quantize: store frozen weights of the layers as nf4, nf4-dq (double quantisation), int8, gptq4, or fp8 for 8-bit
        products
    freeze: do not train parameters whose names match: parts of names, or patterns with * and ?, comma-separated
    dataset: dataset to load samples from: imagenet, openwebtext, files:FOLDER or bytes=N,decode=S,samples=N
    workers: loader processes (default: the host's cores per device; 0: the step waits for its samples)
    host_io: data loading (default: off unless a dataset is named; on: the bytes of the model's inputs)
    """
    loss: Optional[Loss] = None
    attention: Optional[Attention] = None
    dim: Optional[Mapping[str, int]] = None
    tokens_per_sample: Optional[Union[float, str]] = None
    reentrant: Optional[bool] = None
    loss_kernel: Optional[LossKernel] = None
    logits: Optional[Logits] = None
    train_metrics: Optional[int] = None
    fused_kernels: Optional[bool] = None
    clip_gradients: Optional[bool] = None
    busy_thread: Optional[bool] = None
    use_cache: Optional[bool] = None
    expandable_segments: Optional[bool] = None
    grad_reduce_in_bf16: Optional[bool] = None
    moments: Optional[Moments] = None
    fp8_param_gather: Optional[bool] = None
    stable_norms: Optional[bool] = None
    tensorflow: Optional[bool] = None
    fuse: Optional[Fuse] = None
    cuda_graphs: Optional[bool] = None
    software: Optional[Union[int, str]] = None
    what_if: Optional[str] = None
    host: Optional[str] = None
    layout: Optional[Layout] = None
    sparsity: Optional[Union[float, str]] = None
    steps_per_call: Optional[int] = None
    lora: Optional[Union[str, Mapping[str, Any]]] = None
    quantize: Optional[Quantize] = None
    freeze: Optional[Union[str, Sequence[str]]] = None
    dataset: Optional[str] = None
    workers: Optional[int] = None
    host_io: Optional[Union[bool, str]] = None


class Tuned(TypedDict, total=False):
    loss: Optional[Loss]
    attention: Optional[Attention]
    dim: Optional[Mapping[str, int]]
    tokens_per_sample: Optional[Union[float, str]]
    reentrant: Optional[bool]
    loss_kernel: Optional[LossKernel]
    logits: Optional[Logits]
    train_metrics: Optional[int]
    fused_kernels: Optional[bool]
    clip_gradients: Optional[bool]
    busy_thread: Optional[bool]
    use_cache: Optional[bool]
    expandable_segments: Optional[bool]
    grad_reduce_in_bf16: Optional[bool]
    moments: Optional[Moments]
    fp8_param_gather: Optional[bool]
    stable_norms: Optional[bool]
    tensorflow: Optional[bool]
    fuse: Optional[Fuse]
    cuda_graphs: Optional[bool]
    software: Optional[Union[int, str]]
    what_if: Optional[str]
    host: Optional[str]
    layout: Optional[Layout]
    sparsity: Optional[Union[float, str]]
    steps_per_call: Optional[int]
    lora: Optional[Union[str, Mapping[str, Any]]]
    quantize: Optional[Quantize]
    freeze: Optional[Union[str, Sequence[str]]]
    dataset: Optional[str]
    workers: Optional[int]
    host_io: Optional[Union[bool, str]]


class Both(Tuned, total=False):
    n: Optional[int]
    tp: Optional[int]
    pp: Optional[int]
    dp: Optional[int]
    cp: Optional[int]
    ep: Optional[int]
    zero: Optional[Literal[0, 1, 2, 3]]
    mixed_precision: Optional[MixedPrecision]
    micro_batch: Optional[int]
    global_batch: Optional[int]
    accumulate: Optional[int]
    cluster: Optional[str]
    offload: Optional[Union[str, Sequence[str]]]
    sequence_parallel: Optional[bool]
    interleave: Optional[int]
    schedule: Optional[Schedule]
    overlap: Optional[bool]
    async_tp: Optional[bool]
    async_ep: Optional[bool]
    async_: Optional[bool]
    no_sync: Optional[bool]
    compress: Optional[Union[float, str]]
    expert_imbalance: Optional[float]
    sync_batchnorm: Optional[int]


def graph(model: Model, *, batch: Optional[int] = None, seq: Optional[int] = None,
          precision: Optional[Precision] = None, optimizer: Optional[Optimizer] = None, mode: Optional[Mode] = None,
          recompute: Optional[Recompute] = None, no_fuse: Optional[bool] = None, nodes: Optional[bool] = None,
          tensors: Optional[bool] = None, tuning: Optional[Tuning] = None, **more: Unpack[Tuned]) -> Graph:
    """Show one training step of a model: operators, FLOP, bytes, lifetimes of tensors.

    batch: samples per step (default 1: costs per sample)
    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass alone
    recompute: activations to recompute in backward: none (default), selective, full, or full:N: of N layers, evenly
        spread; with runtime megatron also modules: core_attn, layernorm, moe_act, mla_up_proj, joined by +; of JAX
        programs MaxText's policies, such as minimal
    no_fuse: the same as fuse none
    nodes: list every node of the step with its cost
    tensors: list every tensor of the step with its lifetime
    tuning: a centimani.Tuning; its fields may also be given as keywords
    """
    return one(Graph, "graph", locals())


def predict(model: Model, *devices: str, batch: Optional[Union[int, str]] = None, seq: Optional[int] = None,
            precision: Optional[Precision] = None, optimizer: Optional[Optimizer] = None, mode: Optional[Mode] = None,
            recompute: Optional[Recompute] = None, runtime: Optional[Runtime] = None, generate: Optional[int] = None,
            prompt: Optional[int] = None, loop: Optional[str] = None, max_step: Optional[str] = None,
            max_memory: Optional[str] = None, min_throughput: Optional[Union[float, str]] = None,
            ops: Optional[bool] = None, missing: Optional[bool] = None, trace: Optional[str] = None,
            snapshot: Optional[str] = None, plan: Optional[Plan] = None, tuning: Optional[Tuning] = None,
            **more: Unpack[Both]) -> Table[Prediction]:
    """Predict the time of one training step on a device, and where the time goes.

    batch: samples per step (default auto: the smallest within 2 % of the highest throughput, as 'batch' chooses)
    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass alone
    recompute: activations to recompute in backward: none (default), selective, full, or full:N: of N layers, evenly
        spread; with runtime megatron also modules: core_attn, layernorm, moe_act, mla_up_proj, joined by +; of JAX
        programs MaxText's policies, such as minimal
    runtime: torch-eager, torch-compile[:default|reduce-overhead|max-autotune], megatron, native, tuned, xla or usual
        (default: torch-eager on GPUs)
    generate: inference that answers a prompt with N tokens: one pass over the prompt, then a step per token with
        stored keys and values
    prompt: with generate or loop: tokens of the prompt
    loop: post-training with rewards: generate answers, score them, train; grpo or ppo, with
        group=8,epochs=1,reference=off,copy=off,reward=MODEL
    max_step: exit with status 1 if a step is longer: 130ms, 1.5s, 2min
    max_memory: exit with status 1 if the peak is above: 70GiB, 80GB
    min_throughput: exit with status 1 below so many samples a second: 2k
    ops: list every kernel call with its time
    missing: list kernel calls that are not in the device's tables; with o as a file for 'bench cases'
    trace: also write the step as a timeline for Perfetto (ui.perfetto.dev) or chrome://tracing
    snapshot: also write the step's allocations as a memory snapshot for PyTorch's memory_viz
    plan: a centimani.Plan; its fields may also be given as keywords
    tuning: a centimani.Tuning; its fields may also be given as keywords
    """
    return per_device(Prediction, "predict", locals())


def memory(model: Model, *devices: str, batch: Optional[int] = None, seq: Optional[int] = None,
           precision: Optional[Precision] = None, optimizer: Optional[Optimizer] = None, mode: Optional[Mode] = None,
           recompute: Optional[Recompute] = None, runtime: Optional[Runtime] = None, generate: Optional[int] = None,
           prompt: Optional[int] = None, loop: Optional[str] = None, plan: Optional[Plan] = None,
           tuning: Optional[Tuning] = None, **more: Unpack[Both]) -> Table[Memory]:
    """Predict the memory of a training step by category and level, and what makes it fit.

    batch: samples per step (default 1: costs per sample)
    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass alone
    recompute: activations to recompute in backward: none (default), selective, full, or full:N: of N layers, evenly
        spread; with runtime megatron also modules: core_attn, layernorm, moe_act, mla_up_proj, joined by +; of JAX
        programs MaxText's policies, such as minimal
    runtime: torch-eager (default on GPUs), torch-compile, megatron, native, tuned, xla or usual
    generate: with loop: tokens of each answer
    prompt: with generate or loop: tokens of the prompt
    loop: post-training with rewards: generate answers, score them, train; grpo or ppo, with
        group=8,epochs=1,reference=off,copy=off,reward=MODEL
    plan: a centimani.Plan; its fields may also be given as keywords
    tuning: a centimani.Tuning; its fields may also be given as keywords
    """
    return per_device(Memory, "memory", locals())


def fits(model: Model, device: str, *, batch: Optional[int] = None, seq: Optional[int] = None,
         precision: Optional[Precision] = None, optimizer: Optional[Optimizer] = None, mode: Optional[Mode] = None,
         recompute: Optional[Recompute] = None, runtime: Optional[Runtime] = None, generate: Optional[int] = None,
         prompt: Optional[int] = None, loop: Optional[str] = None, plan: Optional[Plan] = None,
         tuning: Optional[Tuning] = None, **more: Unpack[Both]) -> Fit:
    """Say whether a training step fits into a device's memory, how likely, and what would make it fit.

    batch: samples per step (default 1: costs per sample)
    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass alone
    recompute: activations to recompute in backward: none (default), selective, full, or full:N: of N layers, evenly
        spread; with runtime megatron also modules: core_attn, layernorm, moe_act, mla_up_proj, joined by +; of JAX
        programs MaxText's policies, such as minimal
    runtime: torch-eager (default on GPUs), torch-compile, megatron, native, tuned, xla or usual
    generate: with loop: tokens of each answer
    prompt: with generate or loop: tokens of the prompt
    loop: post-training with rewards: generate answers, score them, train; grpo or ppo, with
        group=8,epochs=1,reference=off,copy=off,reward=MODEL
    plan: a centimani.Plan; its fields may also be given as keywords
    tuning: a centimani.Tuning; its fields may also be given as keywords
    """
    return one(Fit, "fits", locals())


def batch(model: Model, device: str, *, seq: Optional[int] = None, precision: Optional[Precision] = None,
          optimizer: Optional[Optimizer] = None, mode: Optional[Mode] = None, recompute: Optional[Recompute] = None,
          candidates: Optional[Sequence[int]] = None, any: Optional[bool] = None, runtime: Optional[Runtime] = None,
          objective: Optional[ObjectiveBatch] = None, plan: Optional[Plan] = None, tuning: Optional[Tuning] = None,
          **more: Unpack[Both]) -> Batch:
    """Choose the batch size to train with on a device.

    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass alone
    recompute: activations to recompute in backward: none (default), selective, full, or full:N: of N layers, evenly
        spread; with runtime megatron also modules: core_attn, layernorm, moe_act, mla_up_proj, joined by +; of JAX
        programs MaxText's policies, such as minimal
    candidates: batch sizes to choose from (default: those that the device allows, or powers of two)
    any: consider every whole number
    runtime: torch-eager (default on GPUs), torch-compile, megatron, native, tuned, xla or usual
    objective: throughput (default: the smallest batch size within 2 % of the highest), memory (equation (5)) or knee
        (the smallest with half of the highest throughput)
    plan: a centimani.Plan; its fields may also be given as keywords
    tuning: a centimani.Tuning; its fields may also be given as keywords
    """
    return one(Batch, "batch", locals())


def rank(model: Union[Model, Sequence[Model], Mapping[Any, float]] = (), *, batch: Optional[Union[int, str]] = None,
         seq: Optional[int] = None, precision: Optional[Precision] = None, optimizer: Optional[Optimizer] = None,
         mode: Optional[Mode] = None, recompute: Optional[RecomputeOrAuto] = None,
         devices: Optional[Union[str, Sequence[str]]] = None, runtime: Optional[Runtime] = None,
         vendor: Optional[str] = None, where: Optional[Union[str, Sequence[str]]] = None,
         global_batch: Optional[int] = None, objective: Optional[ObjectiveDevice] = None,
         samples: Optional[Union[float, str]] = None, tokens: Optional[Union[float, str]] = None,
         epochs: Optional[float] = None, tokens_per_parameter: Optional[float] = None,
         max_devices: Optional[int] = None, job: Optional[str] = None, within: Optional[Union[float, str]] = None,
         budget: Optional[Union[float, str]] = None, max_hours: Optional[float] = None,
         max_usd: Optional[float] = None, provider: Optional[str] = None, price_basis: Optional[Basis] = None,
         as_: Optional[str] = None, advise: Optional[bool] = None, price: Optional[Mapping[str, float]] = None,
         spot: Optional[bool] = None, clusters: Optional[Union[str, Sequence[str]]] = None,
         queue: Optional[str] = None, carbon: Optional[str] = None, baseline: Optional[str] = None,
         port_hours: Optional[float] = None, rate: Optional[float] = None,
         largest: Optional[Union[str, Sequence[str]]] = None, fewest_devices: Optional[bool] = None,
         job_script: Optional[str] = None, entry: Optional[int] = None, launcher: Optional[Launcher] = None,
         scheduler: Optional[Scheduler] = None, max_step: Optional[str] = None, max_memory: Optional[str] = None,
         min_throughput: Optional[Union[float, str]] = None, tuning: Optional[Tuning] = None,
         **more: Unpack[Tuned]) -> Table[Ranked]:
    """Rank all accelerators for a model: speed, hours and cost of the job, with 90 % intervals.

    batch: samples per step (default auto: for each device the smallest within 2 % of its highest throughput)
    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16, amp-fp16, bf16, fp16 or fp8 (default: the usual one on each device)
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass alone
    recompute: activations to recompute: none (default), selective, full, full:N (of N layers), or auto: full where it
        is faster
    devices: only these: ids or files of profiles (default: all)
    runtime: torch-eager, torch-compile[:default|reduce-overhead|max-autotune], megatron, native, tuned, xla or usual
        (default: torch-eager on GPUs)
    vendor: only devices of this vendor
    where: only devices with price<3, memory>80GB, class=gpu, ...
    global_batch: with max_devices: samples per update (default: that of published recipes of such models)
    objective: throughput (default), price, energy, time or cost
    samples: size of the job: samples per epoch
    tokens: size of the job in tokens, such as 300B
    epochs: epochs of the job (default 1)
    tokens_per_parameter: with max_devices: the job has N tokens for each parameter of the model (20: as Chinchilla)
        instead of tokens
    max_devices: plan the whole job on up to N devices: the best number, parallel plan and place (docs/plans.md)
    job: the question as a YAML file, which 'centimani job init' writes; other options replace those in it
    within: with max_devices: longest time of the job: 24h, 30d
    budget: with max_devices: highest cost of the job: 500USD, 20k
    max_hours: only devices that finish the job in this time
    max_usd: only devices that finish the job for this cost
    provider: only devices that this provider offers, at its prices
    price_basis: prices to use: on-demand (default), spot, marketplace, subscription, paper or any (the lowest)
    as_: devices, batch sizes, precisions and prices of a study: xie2024 (Figure 7; data/presets.tsv)
    advise: name the cheapest measurement that would tell the best
    price: price of a device per hour, instead of the known prices; may be repeated
    spot: with max_devices: prices of interruptible instances, with checkpoints and restarts (price_basis spot)
    clusters: with max_devices: clusters, files of profiles, or node=8,net=800Gb; cloud (default): instances as they
        are sold
    queue: with clusters: queue of the facility (default: the one that needs the fewest jobs in a row)
    carbon: with max_devices: region whose electricity is used, for its carbon intensity (default: world), or grams of
        CO2 per kWh
    baseline: device to compare the others with
    port_hours: engineering hours to port the model from the baseline
    rate: cost of one engineering hour
    largest: with within or budget: of MODEL and these (NAME*: all named models that begin so), the largest whose job
        meets the limits
    fewest_devices: with max_devices: rank by the number of devices, then by cost
    job_script: with max_devices: also write a batch script for the best entry (-: to standard output, instead of the
        ranking)
    entry: with job_script: the entry of this rank instead of the best one
    launcher: with job_script: torchrun (default), deepspeed or megatron
    scheduler: with job_script: pbs or slurm (default: the facility's, otherwise slurm)
    max_step: exit with status 1 if a step is longer: 130ms, 1.5s, 2min
    max_memory: exit with status 1 if the peak is above: 70GiB, 80GB
    min_throughput: exit with status 1 below so many samples a second: 2k
    tuning: a centimani.Tuning; its fields may also be given as keywords
    """
    return ranking("rank", locals())


def scale(model: Model, device: str, *, batch: Optional[int] = None, seq: Optional[int] = None,  # type: ignore[misc]  # n: several numbers
          precision: Optional[Precision] = None, optimizer: Optional[Optimizer] = None, mode: Optional[Mode] = None,
          recompute: Optional[Recompute] = None, runtime: Optional[Runtime] = None, n: Optional[Sequence[int]] = None,
          plan: Optional[Plan] = None, tuning: Optional[Tuning] = None, **more: Unpack[Both]) -> Scale:
    """Predict how training scales over several devices, and where efficiency is lost.

    batch: samples per replica (default 1); see also global_batch
    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass alone
    recompute: activations to recompute in backward: none (default), selective, full, or full:N: of N layers, evenly
        spread; with runtime megatron also modules: core_attn, layernorm, moe_act, mla_up_proj, joined by +; of JAX
        programs MaxText's policies, such as minimal
    runtime: torch-eager (default on GPUs), torch-compile, megatron, native, tuned, xla or usual
    n: numbers of devices; efficiency is relative to the first one
    plan: a centimani.Plan; its fields may also be given as keywords
    tuning: a centimani.Tuning; its fields may also be given as keywords
    """
    return one(Scale, "scale", locals())


def plan(model: Model, device: str, *, seq: Optional[int] = None, precision: Optional[Precision] = None,
         optimizer: Optional[Optimizer] = None, mode: Optional[Mode] = None, runtime: Optional[Runtime] = None,
         n: Optional[int] = None, mixed_precision: Optional[MixedPrecision] = None,
         global_batch: Optional[int] = None, cluster: Optional[str] = None, async_tp: Optional[bool] = None,
         objective: Optional[ObjectivePlan] = None, tokens: Optional[Union[float, str]] = None,
         within: Optional[Union[float, str]] = None, price_basis: Optional[Basis] = None,
         pareto: Optional[bool] = None, distinct: Optional[bool] = None, threads: Optional[int] = None,
         tuning: Optional[Tuning] = None, **more: Unpack[Tuned]) -> Plans:
    """Find the best parallel plan for a number of devices and a global batch.

    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass alone
    runtime: torch-eager (default on GPUs), torch-compile, megatron, native, tuned, xla or usual
    n: number of devices; data parallel unless tp, pp or cp is given
    mixed_precision: with zero 2 or 3, whose shards of fp32 weights are cast before they are gathered: autocast
        (default), or fsdp: MixedPrecision(param_dtype) of FSDP alone, all operators in 16 bits
    global_batch: samples per update over all devices
    cluster: interconnect: an id, the file of a profile, or node=8,net=800Gb (devices and network bit/s per node;
        link=25GB: bytes/s of a device inside it)
    async_tp: tensor-parallel devices exchange pieces behind their products: PyTorch's async TP, Megatron-LM's
        --tp-comm-overlap
    objective: throughput (default), cost, energy or devices
    tokens: tokens of the whole training, such as 300B
    within: longest time of the whole training: 24h, 30d
    price_basis: price to use: on-demand (default), spot, marketplace, subscription, paper or any (the lowest)
    pareto: only plans that no other plan beats in both time and memory
    distinct: only the best of all plans with the same tp, cp, pp, ep and micro-batch
    threads: threads of the search (default: one per core)
    tuning: a centimani.Tuning; its fields may also be given as keywords
    """
    return one(Plans, "plan", locals())


def explain(model: Model, device: str, *, batch: Optional[Union[int, str]] = None, seq: Optional[int] = None,
            precision: Optional[Precision] = None, optimizer: Optional[Optimizer] = None, mode: Optional[Mode] = None,
            recompute: Optional[Recompute] = None, versus: Optional[str] = None, runtime: Optional[Runtime] = None,
            plan: Optional[Plan] = None, tuning: Optional[Tuning] = None, **more: Unpack[Both]) -> Explanation:
    """Explain where the time of a step goes: operators on the roofline, or beside another device.

    batch: samples per step (default auto: the smallest within 2 % of the highest throughput, as 'batch' chooses)
    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass alone
    recompute: activations to recompute in backward: none (default), selective, full, or full:N: of N layers, evenly
        spread; with runtime megatron also modules: core_attn, layernorm, moe_act, mla_up_proj, joined by +; of JAX
        programs MaxText's policies, such as minimal
    versus: compare with another device
    runtime: torch-eager, torch-compile[:default|reduce-overhead|max-autotune], megatron, native, tuned, xla or usual
        (default: torch-eager on GPUs)
    plan: a centimani.Plan; its fields may also be given as keywords
    tuning: a centimani.Tuning; its fields may also be given as keywords
    """
    return one(Explanation, "explain", locals())


def timeline(model: Model, device: str, *, batch: Optional[Union[int, str]] = None, seq: Optional[int] = None,
             precision: Optional[Precision] = None, optimizer: Optional[Optimizer] = None,
             mode: Optional[Mode] = None, recompute: Optional[Recompute] = None, versus: Optional[str] = None,
             runtime: Optional[Runtime] = None, plan: Optional[Plan] = None, tuning: Optional[Tuning] = None,
             **more: Unpack[Both]) -> Timeline:
    """Explain where the time of a step goes: operators on the roofline, or beside another device; the whole step as lanes, operators, memory and rooflines.

    batch: samples per step (default auto: the smallest within 2 % of the highest throughput, as 'batch' chooses)
    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass alone
    recompute: activations to recompute in backward: none (default), selective, full, or full:N: of N layers, evenly
        spread; with runtime megatron also modules: core_attn, layernorm, moe_act, mla_up_proj, joined by +; of JAX
        programs MaxText's policies, such as minimal
    versus: compare with another device
    runtime: torch-eager, torch-compile[:default|reduce-overhead|max-autotune], megatron, native, tuned, xla or usual
        (default: torch-eager on GPUs)
    plan: a centimani.Plan; its fields may also be given as keywords
    tuning: a centimani.Tuning; its fields may also be given as keywords
    """
    return one(Timeline, "explain", locals())


def lookups(*devices: str, visited: Optional[float] = None, nuclides: Optional[int] = None,
            points: Optional[int] = None, bits: Optional[int] = None, grid: Optional[LookupGrid] = None,
            longest: Optional[float] = None, sorted: Optional[bool] = None, sums: Optional[str] = None,
            drawn: Optional[bool] = None) -> Table[LookupRate]:
    """Predict random look-ups per second in tables of cross sections (XSBench), on one device or all.

    visited: nuclides that a look-up visits on average (default 55.7: the materials of XSBench's large reactor)
    nuclides: nuclides in the tables (default 355)
    points: points of a nuclide's grid (default 11303)
    bits: bits of a number: 32 or 64 (default)
    grid: unionized (default: one search per look-up, and an index for each nuclide) or nuclide (one search per
        nuclide)
    longest: nuclides of the longest look-up, for which threads that run together wait (default: as many as visited,
        321 without it)
    sorted: look-ups are sorted by energy, so that threads that run together read the same places; sorting is not
        counted
    sums: where a look-up's sums are kept: registers (default) or memory
    drawn: draw one of two neighbouring points by random numbers of the hardware (wafers), instead of interpolating
    """
    return rates("lookups", locals())
