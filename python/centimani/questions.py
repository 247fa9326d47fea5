# SPDX-License-Identifier: Apache-2.0
"""questions.py - the program's questions as functions. Made by tools/python_options.py from cli/options.def; do not
edit."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Union

from .library import Model, one, per_device, ranking, rates
from .results import Batch, Explanation, Fit, Graph, LookupRate, Memory, Plan, Prediction, Ranked, Scale, Table


def graph(model: Model, *, batch: Optional[int] = None, seq: Optional[int] = None, precision: Optional[str] = None,
          optimizer: Optional[str] = None, mode: Optional[str] = None, loss: Optional[str] = None,
          recompute: Optional[str] = None, dim: Optional[Mapping[str, int]] = None, reentrant: Optional[bool] = None,
          loss_kernel: Optional[str] = None, logits: Optional[str] = None, fuse: Optional[str] = None,
          no_fuse: Optional[bool] = None, lora: Optional[Union[str, Mapping[str, Any]]] = None,
          quantize: Optional[str] = None, freeze: Optional[Union[str, Sequence[str]]] = None,
          nodes: Optional[bool] = None, tensors: Optional[bool] = None) -> Graph:
    """Show one training step of a model: operators, FLOP, bytes, lifetimes of tensors.

    batch: samples per step (default 1: costs per sample)
    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass only, no loss
    loss: auto (default: from the output's shape), cross-entropy, mse, bce or none
    recompute: activations to recompute in backward: none (default), selective, full, or full:N: of N layers, evenly
        spread; with --runtime megatron also modules: core_attn, layernorm, moe_act, mla_up_proj, joined by +
    dim: size of a free dimension of a model file; may be repeated
    reentrant: with --recompute full: repeat whole layers, as torch.utils.checkpoint(use_reentrant=True) and Hugging
        Face's trainer do
    loss_kernel: cross-entropy of a language model: auto (default: PyTorch's plain one), plain, fused or chunked
    logits: copies of a language model's logits that the script makes: auto (default), own, fp32 or both
    fuse: fuse operators of a file into one: all (default where the runtime fuses), eager (as eager PyTorch does),
        norms (as eager, and norms that the model writes out) or none
    no_fuse: the same as --fuse none
    lora: train adapters: r=16,alpha=32,targets=qkv|attention|all-linear|NAME+NAME,dropout=0.05,dtype=fp32,rest=fp32,f
        sdp=layer|exempt,save=NAME+NAME
    quantize: store frozen weights of the layers as nf4, nf4-dq (double quantisation), int8, gptq4, or fp8 for 8-bit
        products
    freeze: do not train parameters whose names match: parts of names, or patterns with * and ?, comma-separated
    nodes: list every node of the step with its cost
    tensors: list every tensor of the step with its lifetime
    """
    return one(Graph, "graph", model, (), {"--batch": batch, "--seq": seq, "--precision": precision,
        "--optimizer": optimizer, "--mode": mode, "--loss": loss, "--recompute": recompute, "--dim": dim,
        "--reentrant": reentrant, "--loss-kernel": loss_kernel, "--logits": logits, "--fuse": fuse,
        "--no-fuse": no_fuse, "--lora": lora, "--quantize": quantize, "--freeze": freeze, "--nodes": nodes,
        "--tensors": tensors})


def predict(model: Model, *devices: str, batch: Optional[Union[int, str]] = None, seq: Optional[int] = None,
            precision: Optional[str] = None, optimizer: Optional[str] = None, mode: Optional[str] = None,
            loss: Optional[str] = None, recompute: Optional[str] = None, attention: Optional[str] = None,
            dim: Optional[Mapping[str, int]] = None, tokens_per_sample: Optional[Union[float, str]] = None,
            reentrant: Optional[bool] = None, loss_kernel: Optional[str] = None, logits: Optional[str] = None,
            train_metrics: Optional[int] = None, fused_kernels: Optional[bool] = None,
            clip_gradients: Optional[bool] = None, busy_thread: Optional[bool] = None,
            use_cache: Optional[bool] = None, expandable_segments: Optional[bool] = None,
            grad_reduce_in_bf16: Optional[bool] = None, moments: Optional[str] = None,
            fp8_param_gather: Optional[bool] = None, stable_norms: Optional[bool] = None,
            tensorflow: Optional[bool] = None, fuse: Optional[str] = None, runtime: Optional[str] = None,
            cuda_graphs: Optional[bool] = None, software: Optional[Union[int, str]] = None,
            what_if: Optional[str] = None, host: Optional[str] = None, layout: Optional[str] = None,
            sparsity: Optional[Union[float, str]] = None, steps_per_call: Optional[int] = None,
            lora: Optional[Union[str, Mapping[str, Any]]] = None, quantize: Optional[str] = None,
            freeze: Optional[Union[str, Sequence[str]]] = None, n: Optional[int] = None, tp: Optional[int] = None,
            pp: Optional[int] = None, dp: Optional[int] = None, cp: Optional[int] = None, ep: Optional[int] = None,
            zero: Optional[int] = None, mixed_precision: Optional[str] = None, micro_batch: Optional[int] = None,
            global_batch: Optional[int] = None, accumulate: Optional[int] = None, cluster: Optional[str] = None,
            offload: Optional[Union[str, Sequence[str]]] = None, sequence_parallel: Optional[bool] = None,
            interleave: Optional[int] = None, schedule: Optional[str] = None, overlap: Optional[bool] = None,
            async_tp: Optional[bool] = None, async_ep: Optional[bool] = None, async_: Optional[bool] = None,
            no_sync: Optional[bool] = None, compress: Optional[Union[float, str]] = None,
            expert_imbalance: Optional[float] = None, sync_batchnorm: Optional[int] = None,
            generate: Optional[int] = None, prompt: Optional[int] = None, loop: Optional[str] = None,
            dataset: Optional[str] = None, workers: Optional[int] = None, host_io: Optional[Union[bool, str]] = None,
            max_step: Optional[str] = None, max_memory: Optional[str] = None,
            min_throughput: Optional[Union[float, str]] = None, ops: Optional[bool] = None,
            missing: Optional[bool] = None, trace: Optional[str] = None,
            snapshot: Optional[str] = None) -> Table[Prediction]:
    """Predict the time of one training step on a device, and where the time goes.

    batch: samples per step (default auto: the smallest within 2 % of the highest throughput, as 'batch' chooses)
    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass only, no loss
    loss: auto (default: from the output's shape), cross-entropy, mse, bce or none
    recompute: activations to recompute in backward: none (default), selective, full, or full:N: of N layers, evenly
        spread; with --runtime megatron also modules: core_attn, layernorm, moe_act, mla_up_proj, joined by +
    attention: auto (default: from runtime and device), flash (one kernel), efficient, cudnn or math (stored scores)
    dim: size of a free dimension of a model file; may be repeated
    tokens_per_sample: mean tokens of samples of which the longest has --seq: padded (default; to the longest of a
        micro-batch), unpadded or packed (rows of --seq tokens, attention inside the samples)
    reentrant: with --recompute full: repeat whole layers, as torch.utils.checkpoint(use_reentrant=True) and Hugging
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
    grad_reduce_in_bf16: with --runtime megatron: its gradient buffer in bf16 instead of fp32
    moments: with --runtime megatron: type of the optimizer's moments: fp32 (default), bf16, or weights: that of the
        weights, which have no fp32 copy
    fp8_param_gather: with --runtime megatron --precision fp8: weights of 8-bit products are stored in 8 bits alone
    stable_norms: on IPUs, norms compute the mean first and the variance in a second pass: enableStableNorm of
        PopTorch, use_stable_statistics of TensorFlow
    tensorflow: on IPUs, TensorFlow, whose compiler joins elementwise operators with others (default: PopART, which
        PyTorch uses, too)
    fuse: fuse operators of a file into one: all (default where the runtime fuses), eager (as eager PyTorch does),
        norms (as eager, and norms that the model writes out) or none
    runtime: torch-eager, torch-compile[:default|reduce-overhead|max-autotune], megatron, native, tuned or usual
        (default: torch-eager on GPUs)
    cuda_graphs: replay the step's kernels from CUDA graphs, without the host's launches (torch-eager and
        torch-compile)
    software: releases: a year, or torch=2.5,peft=0.12,megatron=0.5 (default: the newest)
    what_if: a device with changed numbers: bandwidth=2x, or compute, matrix, vector, memory, cache, links, power,
        launch
    host: host that launches the kernels and loads the data (default: the device's usual one), or a FILE of 'bench
        --suite host', which plan and scale need; see docs/commands.md
    layout: memory layout of images: auto (default: nhwc for colour images in 16-bit types), nchw or nhwc
    sparsity: pruned fraction of dense layers' weights, unstructured (0.8) or two of every four (2:4)
    steps_per_call: steps per host call, on devices that run whole graphs (default 1; 8 in training on IPUs)
    lora: train adapters: r=16,alpha=32,targets=qkv|attention|all-linear|NAME+NAME,dropout=0.05,dtype=fp32,rest=fp32,f
        sdp=layer|exempt,save=NAME+NAME
    quantize: store frozen weights of the layers as nf4, nf4-dq (double quantisation), int8, gptq4, or fp8 for 8-bit
        products
    freeze: do not train parameters whose names match: parts of names, or patterns with * and ?, comma-separated
    n: number of devices; data parallel unless --tp, --pp or --cp is given
    tp: tensor-parallel size
    pp: pipeline stages
    dp: data-parallel replicas
    cp: context-parallel size: devices that divide a sequence's tokens
    ep: expert-parallel size: replicas that divide the experts
    zero: ZeRO stage: shard nothing, optimizer states, also gradients, also weights over the replicas
    mixed_precision: with --zero 2 or 3, whose shards of fp32 weights are cast before they are gathered: autocast
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
    no_sync: with --accumulate and --zero 2 or 3: gradients are divided in the last micro-batch alone, as in FSDP's
        no_sync(), which accelerate uses
    compress: compress gradients: bits of each one (8), or the fraction of them that is sent (0.01)
    expert_imbalance: tokens of the expert-parallel device with the most, over the mean (default 1)
    sync_batchnorm: replicas that share the statistics of their batch norms, as PyTorch's SyncBatchNorm (default 1)
    generate: inference that answers a prompt with N tokens: one pass over the prompt, then a step per token with
        stored keys and values
    prompt: with --generate or --loop: tokens of the prompt
    loop: post-training with rewards: generate answers, score them, train; grpo or ppo, with
        group=8,epochs=1,reference=off,copy=off,reward=MODEL
    dataset: dataset to load samples from: imagenet, openwebtext, files:FOLDER or bytes=N,decode=S,samples=N
    workers: loader processes (default: the host's cores per device; 0: the step waits for its samples)
    host_io: data loading (default: off unless a dataset is named; on: the bytes of the model's inputs)
    max_step: exit with status 1 if the step is longer than this: 130ms, 1.5s, 2min (us, ms, s, min or h)
    max_memory: exit with status 1 if the peak of memory is above this: 70GiB, 80GB (B, or k, M, G, T with B or iB)
    min_throughput: exit with status 1 if there are fewer samples per second than this: 500, 2k
    ops: list every kernel call with its time
    missing: list kernel calls that are not in the device's tables; with -o as a file for 'bench --cases'
    trace: also write the step as a timeline for Perfetto (ui.perfetto.dev) or chrome://tracing
    snapshot: also write the step's allocations as a memory snapshot for PyTorch's memory_viz
    """
    return per_device(Prediction, "predict", model, devices, {"--batch": batch, "--seq": seq,
        "--precision": precision, "--optimizer": optimizer, "--mode": mode, "--loss": loss, "--recompute": recompute,
        "--attention": attention, "--dim": dim, "--tokens-per-sample": tokens_per_sample, "--reentrant": reentrant,
        "--loss-kernel": loss_kernel, "--logits": logits, "--train-metrics": train_metrics,
        "--fused-kernels": fused_kernels, "--clip-gradients": clip_gradients, "--busy-thread": busy_thread,
        "--use-cache": use_cache, "--expandable-segments": expandable_segments,
        "--grad-reduce-in-bf16": grad_reduce_in_bf16, "--moments": moments, "--fp8-param-gather": fp8_param_gather,
        "--stable-norms": stable_norms, "--tensorflow": tensorflow, "--fuse": fuse, "--runtime": runtime,
        "--cuda-graphs": cuda_graphs, "--software": software, "--what-if": what_if, "--host": host,
        "--layout": layout, "--sparsity": sparsity, "--steps-per-call": steps_per_call, "--lora": lora,
        "--quantize": quantize, "--freeze": freeze, "-n": n, "--tp": tp, "--pp": pp, "--dp": dp, "--cp": cp,
        "--ep": ep, "--zero": zero, "--mixed-precision": mixed_precision, "--micro-batch": micro_batch,
        "--global-batch": global_batch, "--accumulate": accumulate, "--cluster": cluster, "--offload": offload,
        "--sequence-parallel": sequence_parallel, "--interleave": interleave, "--schedule": schedule,
        "--overlap": overlap, "--async-tp": async_tp, "--async-ep": async_ep, "--async": async_, "--no-sync": no_sync,
        "--compress": compress, "--expert-imbalance": expert_imbalance, "--sync-batchnorm": sync_batchnorm,
        "--generate": generate, "--prompt": prompt, "--loop": loop, "--dataset": dataset, "--workers": workers,
        "--host-io": host_io, "--max-step": max_step, "--max-memory": max_memory, "--min-throughput": min_throughput,
        "--ops": ops, "--missing": missing, "--trace": trace, "--snapshot": snapshot})


def memory(model: Model, *devices: str, batch: Optional[int] = None, seq: Optional[int] = None,
           precision: Optional[str] = None, optimizer: Optional[str] = None, mode: Optional[str] = None,
           loss: Optional[str] = None, recompute: Optional[str] = None, attention: Optional[str] = None,
           dim: Optional[Mapping[str, int]] = None, tokens_per_sample: Optional[Union[float, str]] = None,
           reentrant: Optional[bool] = None, loss_kernel: Optional[str] = None, logits: Optional[str] = None,
           train_metrics: Optional[int] = None, fused_kernels: Optional[bool] = None,
           clip_gradients: Optional[bool] = None, busy_thread: Optional[bool] = None,
           use_cache: Optional[bool] = None, expandable_segments: Optional[bool] = None,
           grad_reduce_in_bf16: Optional[bool] = None, moments: Optional[str] = None,
           fp8_param_gather: Optional[bool] = None, stable_norms: Optional[bool] = None,
           tensorflow: Optional[bool] = None, check: Optional[bool] = None, runtime: Optional[str] = None,
           software: Optional[Union[int, str]] = None, what_if: Optional[str] = None, layout: Optional[str] = None,
           lora: Optional[Union[str, Mapping[str, Any]]] = None, quantize: Optional[str] = None,
           freeze: Optional[Union[str, Sequence[str]]] = None, n: Optional[int] = None, tp: Optional[int] = None,
           pp: Optional[int] = None, dp: Optional[int] = None, cp: Optional[int] = None, ep: Optional[int] = None,
           zero: Optional[int] = None, mixed_precision: Optional[str] = None, micro_batch: Optional[int] = None,
           global_batch: Optional[int] = None, accumulate: Optional[int] = None,
           offload: Optional[Union[str, Sequence[str]]] = None, sequence_parallel: Optional[bool] = None,
           interleave: Optional[int] = None, schedule: Optional[str] = None, no_sync: Optional[bool] = None,
           generate: Optional[int] = None, prompt: Optional[int] = None, loop: Optional[str] = None) -> Table[Memory]:
    """Predict the memory of a training step by category and level, and what makes it fit.

    batch: samples per step (default 1: costs per sample)
    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass only, no loss
    loss: auto (default: from the output's shape), cross-entropy, mse, bce or none
    recompute: activations to recompute in backward: none (default), selective, full, or full:N: of N layers, evenly
        spread; with --runtime megatron also modules: core_attn, layernorm, moe_act, mla_up_proj, joined by +
    attention: auto (default: from runtime and device), flash (one kernel), efficient, cudnn or math (stored scores)
    dim: size of a free dimension of a model file; may be repeated
    tokens_per_sample: mean tokens of samples of which the longest has --seq: padded (default; to the longest of a
        micro-batch), unpadded or packed (rows of --seq tokens, attention inside the samples)
    reentrant: with --recompute full: repeat whole layers, as torch.utils.checkpoint(use_reentrant=True) and Hugging
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
    grad_reduce_in_bf16: with --runtime megatron: its gradient buffer in bf16 instead of fp32
    moments: with --runtime megatron: type of the optimizer's moments: fp32 (default), bf16, or weights: that of the
        weights, which have no fp32 copy
    fp8_param_gather: with --runtime megatron --precision fp8: weights of 8-bit products are stored in 8 bits alone
    stable_norms: on IPUs, norms compute the mean first and the variance in a second pass: enableStableNorm of
        PopTorch, use_stable_statistics of TensorFlow
    tensorflow: on IPUs, TensorFlow, whose compiler joins elementwise operators with others (default: PopART, which
        PyTorch uses, too)
    check: a gate, as `fits`: exit with 0 if it fits, 1 if it does not, 3 if unsure
    runtime: torch-eager (default on GPUs), torch-compile, megatron, native, tuned or usual
    software: releases: a year, or torch=2.5,peft=0.12,megatron=0.5 (default: the newest)
    what_if: a device with changed numbers: bandwidth=2x, or compute, matrix, vector, memory, cache, links, power,
        launch
    layout: memory layout of images: auto (default: nhwc for colour images in 16-bit types), nchw or nhwc
    lora: train adapters: r=16,alpha=32,targets=qkv|attention|all-linear|NAME+NAME,dropout=0.05,dtype=fp32,rest=fp32,f
        sdp=layer|exempt,save=NAME+NAME
    quantize: store frozen weights of the layers as nf4, nf4-dq (double quantisation), int8, gptq4, or fp8 for 8-bit
        products
    freeze: do not train parameters whose names match: parts of names, or patterns with * and ?, comma-separated
    n: number of devices; data parallel unless --tp, --pp or --cp is given
    tp: tensor-parallel size
    pp: pipeline stages
    dp: data-parallel replicas
    cp: context-parallel size: devices that divide a sequence's tokens
    ep: expert-parallel size: replicas that divide the experts
    zero: ZeRO stage: shard nothing, optimizer states, also gradients, also weights over the replicas
    mixed_precision: with --zero 2 or 3, whose shards of fp32 weights are cast before they are gathered: autocast
        (default), or fsdp: MixedPrecision(param_dtype) of FSDP alone, all operators in 16 bits
    micro_batch: samples on a device at a time
    global_batch: samples per update over all devices
    accumulate: micro-batches per update
    offload: store in host memory: optimizer, activations, weights (comma-separated); activations:N: of N layers
    sequence_parallel: tensor-parallel devices also divide norms and dropouts by tokens
    interleave: virtual stages (model chunks) per pipeline stage
    schedule: pipeline schedule: 1f1b (default) or gpipe
    no_sync: with --accumulate and --zero 2 or 3: gradients are divided in the last micro-batch alone, as in FSDP's
        no_sync(), which accelerate uses
    generate: with --loop: tokens of each answer
    prompt: with --generate or --loop: tokens of the prompt
    loop: post-training with rewards: generate answers, score them, train; grpo or ppo, with
        group=8,epochs=1,reference=off,copy=off,reward=MODEL
    """
    return per_device(Memory, "memory", model, devices, {"--batch": batch, "--seq": seq, "--precision": precision,
        "--optimizer": optimizer, "--mode": mode, "--loss": loss, "--recompute": recompute, "--attention": attention,
        "--dim": dim, "--tokens-per-sample": tokens_per_sample, "--reentrant": reentrant,
        "--loss-kernel": loss_kernel, "--logits": logits, "--train-metrics": train_metrics,
        "--fused-kernels": fused_kernels, "--clip-gradients": clip_gradients, "--busy-thread": busy_thread,
        "--use-cache": use_cache, "--expandable-segments": expandable_segments,
        "--grad-reduce-in-bf16": grad_reduce_in_bf16, "--moments": moments, "--fp8-param-gather": fp8_param_gather,
        "--stable-norms": stable_norms, "--tensorflow": tensorflow, "--check": check, "--runtime": runtime,
        "--software": software, "--what-if": what_if, "--layout": layout, "--lora": lora, "--quantize": quantize,
        "--freeze": freeze, "-n": n, "--tp": tp, "--pp": pp, "--dp": dp, "--cp": cp, "--ep": ep, "--zero": zero,
        "--mixed-precision": mixed_precision, "--micro-batch": micro_batch, "--global-batch": global_batch,
        "--accumulate": accumulate, "--offload": offload, "--sequence-parallel": sequence_parallel,
        "--interleave": interleave, "--schedule": schedule, "--no-sync": no_sync, "--generate": generate,
        "--prompt": prompt, "--loop": loop})


def fits(model: Model, device: str, *, batch: Optional[int] = None, seq: Optional[int] = None,
         precision: Optional[str] = None, optimizer: Optional[str] = None, mode: Optional[str] = None,
         loss: Optional[str] = None, recompute: Optional[str] = None, attention: Optional[str] = None,
         dim: Optional[Mapping[str, int]] = None, tokens_per_sample: Optional[Union[float, str]] = None,
         reentrant: Optional[bool] = None, loss_kernel: Optional[str] = None, logits: Optional[str] = None,
         train_metrics: Optional[int] = None, fused_kernels: Optional[bool] = None,
         clip_gradients: Optional[bool] = None, busy_thread: Optional[bool] = None, use_cache: Optional[bool] = None,
         expandable_segments: Optional[bool] = None, grad_reduce_in_bf16: Optional[bool] = None,
         moments: Optional[str] = None, fp8_param_gather: Optional[bool] = None, stable_norms: Optional[bool] = None,
         tensorflow: Optional[bool] = None, runtime: Optional[str] = None, software: Optional[Union[int, str]] = None,
         what_if: Optional[str] = None, layout: Optional[str] = None,
         lora: Optional[Union[str, Mapping[str, Any]]] = None, quantize: Optional[str] = None,
         freeze: Optional[Union[str, Sequence[str]]] = None, n: Optional[int] = None, tp: Optional[int] = None,
         pp: Optional[int] = None, dp: Optional[int] = None, cp: Optional[int] = None, ep: Optional[int] = None,
         zero: Optional[int] = None, mixed_precision: Optional[str] = None, micro_batch: Optional[int] = None,
         global_batch: Optional[int] = None, accumulate: Optional[int] = None,
         offload: Optional[Union[str, Sequence[str]]] = None, sequence_parallel: Optional[bool] = None,
         interleave: Optional[int] = None, schedule: Optional[str] = None, no_sync: Optional[bool] = None,
         generate: Optional[int] = None, prompt: Optional[int] = None, loop: Optional[str] = None) -> Fit:
    """Say whether a training step fits into a device's memory, how likely, and what would make it fit.

    batch: samples per step (default 1: costs per sample)
    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass only, no loss
    loss: auto (default: from the output's shape), cross-entropy, mse, bce or none
    recompute: activations to recompute in backward: none (default), selective, full, or full:N: of N layers, evenly
        spread; with --runtime megatron also modules: core_attn, layernorm, moe_act, mla_up_proj, joined by +
    attention: auto (default: from runtime and device), flash (one kernel), efficient, cudnn or math (stored scores)
    dim: size of a free dimension of a model file; may be repeated
    tokens_per_sample: mean tokens of samples of which the longest has --seq: padded (default; to the longest of a
        micro-batch), unpadded or packed (rows of --seq tokens, attention inside the samples)
    reentrant: with --recompute full: repeat whole layers, as torch.utils.checkpoint(use_reentrant=True) and Hugging
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
    grad_reduce_in_bf16: with --runtime megatron: its gradient buffer in bf16 instead of fp32
    moments: with --runtime megatron: type of the optimizer's moments: fp32 (default), bf16, or weights: that of the
        weights, which have no fp32 copy
    fp8_param_gather: with --runtime megatron --precision fp8: weights of 8-bit products are stored in 8 bits alone
    stable_norms: on IPUs, norms compute the mean first and the variance in a second pass: enableStableNorm of
        PopTorch, use_stable_statistics of TensorFlow
    tensorflow: on IPUs, TensorFlow, whose compiler joins elementwise operators with others (default: PopART, which
        PyTorch uses, too)
    runtime: torch-eager (default on GPUs), torch-compile, megatron, native, tuned or usual
    software: releases: a year, or torch=2.5,peft=0.12,megatron=0.5 (default: the newest)
    what_if: a device with changed numbers: bandwidth=2x, or compute, matrix, vector, memory, cache, links, power,
        launch
    layout: memory layout of images: auto (default: nhwc for colour images in 16-bit types), nchw or nhwc
    lora: train adapters: r=16,alpha=32,targets=qkv|attention|all-linear|NAME+NAME,dropout=0.05,dtype=fp32,rest=fp32,f
        sdp=layer|exempt,save=NAME+NAME
    quantize: store frozen weights of the layers as nf4, nf4-dq (double quantisation), int8, gptq4, or fp8 for 8-bit
        products
    freeze: do not train parameters whose names match: parts of names, or patterns with * and ?, comma-separated
    n: number of devices; data parallel unless --tp, --pp or --cp is given
    tp: tensor-parallel size
    pp: pipeline stages
    dp: data-parallel replicas
    cp: context-parallel size: devices that divide a sequence's tokens
    ep: expert-parallel size: replicas that divide the experts
    zero: ZeRO stage: shard nothing, optimizer states, also gradients, also weights over the replicas
    mixed_precision: with --zero 2 or 3, whose shards of fp32 weights are cast before they are gathered: autocast
        (default), or fsdp: MixedPrecision(param_dtype) of FSDP alone, all operators in 16 bits
    micro_batch: samples on a device at a time
    global_batch: samples per update over all devices
    accumulate: micro-batches per update
    offload: store in host memory: optimizer, activations, weights (comma-separated); activations:N: of N layers
    sequence_parallel: tensor-parallel devices also divide norms and dropouts by tokens
    interleave: virtual stages (model chunks) per pipeline stage
    schedule: pipeline schedule: 1f1b (default) or gpipe
    no_sync: with --accumulate and --zero 2 or 3: gradients are divided in the last micro-batch alone, as in FSDP's
        no_sync(), which accelerate uses
    generate: with --loop: tokens of each answer
    prompt: with --generate or --loop: tokens of the prompt
    loop: post-training with rewards: generate answers, score them, train; grpo or ppo, with
        group=8,epochs=1,reference=off,copy=off,reward=MODEL
    """
    return one(Fit, "fits", model, (device,), {"--batch": batch, "--seq": seq, "--precision": precision,
        "--optimizer": optimizer, "--mode": mode, "--loss": loss, "--recompute": recompute, "--attention": attention,
        "--dim": dim, "--tokens-per-sample": tokens_per_sample, "--reentrant": reentrant,
        "--loss-kernel": loss_kernel, "--logits": logits, "--train-metrics": train_metrics,
        "--fused-kernels": fused_kernels, "--clip-gradients": clip_gradients, "--busy-thread": busy_thread,
        "--use-cache": use_cache, "--expandable-segments": expandable_segments,
        "--grad-reduce-in-bf16": grad_reduce_in_bf16, "--moments": moments, "--fp8-param-gather": fp8_param_gather,
        "--stable-norms": stable_norms, "--tensorflow": tensorflow, "--runtime": runtime, "--software": software,
        "--what-if": what_if, "--layout": layout, "--lora": lora, "--quantize": quantize, "--freeze": freeze, "-n": n,
        "--tp": tp, "--pp": pp, "--dp": dp, "--cp": cp, "--ep": ep, "--zero": zero,
        "--mixed-precision": mixed_precision, "--micro-batch": micro_batch, "--global-batch": global_batch,
        "--accumulate": accumulate, "--offload": offload, "--sequence-parallel": sequence_parallel,
        "--interleave": interleave, "--schedule": schedule, "--no-sync": no_sync, "--generate": generate,
        "--prompt": prompt, "--loop": loop})


def batch(model: Model, device: str, *, seq: Optional[int] = None, precision: Optional[str] = None,
          optimizer: Optional[str] = None, mode: Optional[str] = None, loss: Optional[str] = None,
          recompute: Optional[str] = None, attention: Optional[str] = None, dim: Optional[Mapping[str, int]] = None,
          tokens_per_sample: Optional[Union[float, str]] = None, reentrant: Optional[bool] = None,
          loss_kernel: Optional[str] = None, logits: Optional[str] = None, train_metrics: Optional[int] = None,
          fused_kernels: Optional[bool] = None, clip_gradients: Optional[bool] = None,
          busy_thread: Optional[bool] = None, use_cache: Optional[bool] = None,
          expandable_segments: Optional[bool] = None, grad_reduce_in_bf16: Optional[bool] = None,
          moments: Optional[str] = None, fp8_param_gather: Optional[bool] = None, stable_norms: Optional[bool] = None,
          tensorflow: Optional[bool] = None, candidates: Optional[Sequence[int]] = None, any: Optional[bool] = None,
          runtime: Optional[str] = None, software: Optional[Union[int, str]] = None, what_if: Optional[str] = None,
          layout: Optional[str] = None, lora: Optional[Union[str, Mapping[str, Any]]] = None,
          quantize: Optional[str] = None, freeze: Optional[Union[str, Sequence[str]]] = None, n: Optional[int] = None,
          tp: Optional[int] = None, pp: Optional[int] = None, dp: Optional[int] = None, cp: Optional[int] = None,
          ep: Optional[int] = None, zero: Optional[int] = None, mixed_precision: Optional[str] = None,
          micro_batch: Optional[int] = None, global_batch: Optional[int] = None, accumulate: Optional[int] = None,
          offload: Optional[Union[str, Sequence[str]]] = None, sequence_parallel: Optional[bool] = None,
          interleave: Optional[int] = None, schedule: Optional[str] = None, no_sync: Optional[bool] = None,
          objective: Optional[str] = None) -> Batch:
    """Choose the batch size to train with on a device.

    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass only, no loss
    loss: auto (default: from the output's shape), cross-entropy, mse, bce or none
    recompute: activations to recompute in backward: none (default), selective, full, or full:N: of N layers, evenly
        spread; with --runtime megatron also modules: core_attn, layernorm, moe_act, mla_up_proj, joined by +
    attention: auto (default: from runtime and device), flash (one kernel), efficient, cudnn or math (stored scores)
    dim: size of a free dimension of a model file; may be repeated
    tokens_per_sample: mean tokens of samples of which the longest has --seq: padded (default; to the longest of a
        micro-batch), unpadded or packed (rows of --seq tokens, attention inside the samples)
    reentrant: with --recompute full: repeat whole layers, as torch.utils.checkpoint(use_reentrant=True) and Hugging
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
    grad_reduce_in_bf16: with --runtime megatron: its gradient buffer in bf16 instead of fp32
    moments: with --runtime megatron: type of the optimizer's moments: fp32 (default), bf16, or weights: that of the
        weights, which have no fp32 copy
    fp8_param_gather: with --runtime megatron --precision fp8: weights of 8-bit products are stored in 8 bits alone
    stable_norms: on IPUs, norms compute the mean first and the variance in a second pass: enableStableNorm of
        PopTorch, use_stable_statistics of TensorFlow
    tensorflow: on IPUs, TensorFlow, whose compiler joins elementwise operators with others (default: PopART, which
        PyTorch uses, too)
    candidates: batch sizes to choose from (default: those that the device allows, or powers of two)
    any: consider every whole number
    runtime: torch-eager (default on GPUs), torch-compile, megatron, native, tuned or usual
    software: releases: a year, or torch=2.5,peft=0.12,megatron=0.5 (default: the newest)
    what_if: a device with changed numbers: bandwidth=2x, or compute, matrix, vector, memory, cache, links, power,
        launch
    layout: memory layout of images: auto (default: nhwc for colour images in 16-bit types), nchw or nhwc
    lora: train adapters: r=16,alpha=32,targets=qkv|attention|all-linear|NAME+NAME,dropout=0.05,dtype=fp32,rest=fp32,f
        sdp=layer|exempt,save=NAME+NAME
    quantize: store frozen weights of the layers as nf4, nf4-dq (double quantisation), int8, gptq4, or fp8 for 8-bit
        products
    freeze: do not train parameters whose names match: parts of names, or patterns with * and ?, comma-separated
    n: number of devices; data parallel unless --tp, --pp or --cp is given
    tp: tensor-parallel size
    pp: pipeline stages
    dp: data-parallel replicas
    cp: context-parallel size: devices that divide a sequence's tokens
    ep: expert-parallel size: replicas that divide the experts
    zero: ZeRO stage: shard nothing, optimizer states, also gradients, also weights over the replicas
    mixed_precision: with --zero 2 or 3, whose shards of fp32 weights are cast before they are gathered: autocast
        (default), or fsdp: MixedPrecision(param_dtype) of FSDP alone, all operators in 16 bits
    micro_batch: samples on a device at a time
    global_batch: samples per update over all devices
    accumulate: micro-batches per update
    offload: store in host memory: optimizer, activations, weights (comma-separated); activations:N: of N layers
    sequence_parallel: tensor-parallel devices also divide norms and dropouts by tokens
    interleave: virtual stages (model chunks) per pipeline stage
    schedule: pipeline schedule: 1f1b (default) or gpipe
    no_sync: with --accumulate and --zero 2 or 3: gradients are divided in the last micro-batch alone, as in FSDP's
        no_sync(), which accelerate uses
    objective: throughput (default: the smallest batch size within 2 % of the highest), memory (equation (5)) or knee
        (the smallest with half of the highest throughput)
    """
    return one(Batch, "batch", model, (device,), {"--seq": seq, "--precision": precision, "--optimizer": optimizer,
        "--mode": mode, "--loss": loss, "--recompute": recompute, "--attention": attention, "--dim": dim,
        "--tokens-per-sample": tokens_per_sample, "--reentrant": reentrant, "--loss-kernel": loss_kernel,
        "--logits": logits, "--train-metrics": train_metrics, "--fused-kernels": fused_kernels,
        "--clip-gradients": clip_gradients, "--busy-thread": busy_thread, "--use-cache": use_cache,
        "--expandable-segments": expandable_segments, "--grad-reduce-in-bf16": grad_reduce_in_bf16,
        "--moments": moments, "--fp8-param-gather": fp8_param_gather, "--stable-norms": stable_norms,
        "--tensorflow": tensorflow, "--candidates": candidates, "--any": any, "--runtime": runtime,
        "--software": software, "--what-if": what_if, "--layout": layout, "--lora": lora, "--quantize": quantize,
        "--freeze": freeze, "-n": n, "--tp": tp, "--pp": pp, "--dp": dp, "--cp": cp, "--ep": ep, "--zero": zero,
        "--mixed-precision": mixed_precision, "--micro-batch": micro_batch, "--global-batch": global_batch,
        "--accumulate": accumulate, "--offload": offload, "--sequence-parallel": sequence_parallel,
        "--interleave": interleave, "--schedule": schedule, "--no-sync": no_sync, "--objective": objective})


def rank(model: Model, *, batch: Optional[Union[int, str]] = None, seq: Optional[int] = None,
         precision: Optional[str] = None, optimizer: Optional[str] = None, mode: Optional[str] = None,
         loss: Optional[str] = None, recompute: Optional[str] = None, attention: Optional[str] = None,
         dim: Optional[Mapping[str, int]] = None, tokens_per_sample: Optional[Union[float, str]] = None,
         reentrant: Optional[bool] = None, loss_kernel: Optional[str] = None, logits: Optional[str] = None,
         train_metrics: Optional[int] = None, fused_kernels: Optional[bool] = None,
         clip_gradients: Optional[bool] = None, busy_thread: Optional[bool] = None, use_cache: Optional[bool] = None,
         expandable_segments: Optional[bool] = None, grad_reduce_in_bf16: Optional[bool] = None,
         moments: Optional[str] = None, fp8_param_gather: Optional[bool] = None, stable_norms: Optional[bool] = None,
         tensorflow: Optional[bool] = None, devices: Optional[Union[str, Sequence[str]]] = None,
         runtime: Optional[str] = None, cuda_graphs: Optional[bool] = None,
         software: Optional[Union[int, str]] = None, what_if: Optional[str] = None, vendor: Optional[str] = None,
         where: Optional[Union[str, Sequence[str]]] = None, host: Optional[str] = None, layout: Optional[str] = None,
         lora: Optional[Union[str, Mapping[str, Any]]] = None, quantize: Optional[str] = None,
         freeze: Optional[Union[str, Sequence[str]]] = None, global_batch: Optional[int] = None,
         objective: Optional[str] = None, samples: Optional[Union[float, str]] = None,
         tokens: Optional[Union[float, str]] = None, epochs: Optional[float] = None,
         tokens_per_parameter: Optional[float] = None, max_devices: Optional[int] = None,
         within: Optional[Union[float, str]] = None, budget: Optional[str] = None, max_hours: Optional[float] = None,
         max_usd: Optional[float] = None, provider: Optional[str] = None, price_basis: Optional[str] = None,
         price: Optional[Mapping[str, float]] = None, spot: Optional[str] = None, clusters: Optional[str] = None,
         queue: Optional[str] = None, carbon: Optional[str] = None, baseline: Optional[str] = None,
         port_hours: Optional[float] = None, rate: Optional[float] = None, largest: Optional[str] = None,
         fewest_devices: Optional[bool] = None, job_script: Optional[str] = None, entry: Optional[int] = None,
         launcher: Optional[str] = None, scheduler: Optional[str] = None, dataset: Optional[str] = None,
         workers: Optional[int] = None, host_io: Optional[Union[bool, str]] = None) -> Table[Ranked]:
    """Rank all accelerators for a model: speed, hours and cost of the job, with 90 % intervals.

    batch: samples per step (default auto: for each device the smallest within 2 % of its highest throughput)
    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16, amp-fp16, bf16, fp16 or fp8 (default: the usual one on each device)
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass only, no loss
    loss: auto (default: from the output's shape), cross-entropy, mse, bce or none
    recompute: activations to recompute in backward: none (default), selective, full, full:N (of N layers), or auto:
        full where memory limits the batch and it is faster
    attention: auto (default: from runtime and device), flash (one kernel), efficient, cudnn or math (stored scores)
    dim: size of a free dimension of a model file; may be repeated
    tokens_per_sample: mean tokens of samples of which the longest has --seq: padded (default; to the longest of a
        micro-batch), unpadded or packed (rows of --seq tokens, attention inside the samples)
    reentrant: with --recompute full: repeat whole layers, as torch.utils.checkpoint(use_reentrant=True) and Hugging
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
    grad_reduce_in_bf16: with --runtime megatron: its gradient buffer in bf16 instead of fp32
    moments: with --runtime megatron: type of the optimizer's moments: fp32 (default), bf16, or weights: that of the
        weights, which have no fp32 copy
    fp8_param_gather: with --runtime megatron --precision fp8: weights of 8-bit products are stored in 8 bits alone
    stable_norms: on IPUs, norms compute the mean first and the variance in a second pass: enableStableNorm of
        PopTorch, use_stable_statistics of TensorFlow
    tensorflow: on IPUs, TensorFlow, whose compiler joins elementwise operators with others (default: PopART, which
        PyTorch uses, too)
    devices: only these devices: ids or files of profiles (default: all)
    runtime: torch-eager, torch-compile[:default|reduce-overhead|max-autotune], megatron, native, tuned or usual
        (default: torch-eager on GPUs)
    cuda_graphs: replay the step's kernels from CUDA graphs, without the host's launches (torch-eager and
        torch-compile)
    software: releases: a year, or torch=2.5,peft=0.12,megatron=0.5 (default: the newest)
    what_if: a device with changed numbers: bandwidth=2x, or compute, matrix, vector, memory, cache, links, power,
        launch
    vendor: only devices of this vendor
    where: only devices that meet all conditions: price<3, memory>80GB, class=gpu, mfu>30%, hours<24 ...
    host: host that launches the kernels and loads the data (default: the device's usual one), or a FILE of 'bench
        --suite host', which plan and scale need; see docs/commands.md
    layout: memory layout of images: auto (default), nchw or nhwc
    lora: train adapters: r=16,alpha=32,targets=qkv|attention|all-linear|NAME+NAME,dropout=0.05,dtype=fp32,rest=fp32,f
        sdp=layer|exempt,save=NAME+NAME
    quantize: store frozen weights of the layers as nf4, nf4-dq (double quantisation), int8, gptq4, or fp8 for 8-bit
        products
    freeze: do not train parameters whose names match: parts of names, or patterns with * and ?, comma-separated
    global_batch: with --max-devices: samples per update (default: that of published recipes of such models)
    objective: throughput (default), price, energy, time or cost
    samples: size of the job: samples per epoch
    tokens: size of the job in tokens, such as 300B
    epochs: epochs of the job (default 1)
    tokens_per_parameter: with --max-devices: the job has N tokens for each parameter of the model (20: as Chinchilla)
        instead of --tokens
    max_devices: plan the whole job on up to N devices: the best number, parallel plan and place (docs/plans.md)
    within: with --max-devices: longest time of the job: 24h, 30d
    budget: with --max-devices: highest cost of the job: 500USD, 20k
    max_hours: only devices that finish the job in this time
    max_usd: only devices that finish the job for this cost
    provider: only devices that this provider offers, at its prices
    price_basis: prices to use: on-demand (default), spot, marketplace, subscription, paper or any (the lowest)
    price: price of a device per hour, instead of the known prices; may be repeated
    spot: with --max-devices: prices of interruptible instances, with checkpoints and restarts (--price-basis spot)
    clusters: with --max-devices: clusters, files of profiles, or node=8,net=800Gb; cloud (default): instances as they
        are sold
    queue: with --clusters: queue of the facility (default: the one that needs the fewest jobs in a row)
    carbon: with --max-devices: region whose electricity is used, for its carbon intensity (default: world), or grams
        of CO2 per kWh
    baseline: device to compare the others with
    port_hours: engineering hours to port the model from the baseline
    rate: cost of one engineering hour
    largest: with --within or --budget: of MODEL and these (NAME*: all named models that begin so), the largest whose
        job meets the limits
    fewest_devices: with --max-devices: rank by the number of devices, then by cost
    job_script: with --max-devices: also write a batch script for the best entry (-: to standard output, instead of
        the ranking)
    entry: with --job-script: the entry of this rank instead of the best one
    launcher: with --job-script: torchrun (default), deepspeed or megatron
    scheduler: with --job-script: pbs or slurm (default: the facility's, otherwise slurm)
    dataset: dataset to load samples from: imagenet, openwebtext, files:FOLDER or bytes=N,decode=S,samples=N
    workers: loader processes (default: the host's cores per device; 0: the step waits for its samples)
    host_io: data loading (default: off unless a dataset is named; on: the bytes of the model's inputs)
    """
    return ranking("rank", model, {"--batch": batch, "--seq": seq, "--precision": precision, "--optimizer": optimizer,
        "--mode": mode, "--loss": loss, "--recompute": recompute, "--attention": attention, "--dim": dim,
        "--tokens-per-sample": tokens_per_sample, "--reentrant": reentrant, "--loss-kernel": loss_kernel,
        "--logits": logits, "--train-metrics": train_metrics, "--fused-kernels": fused_kernels,
        "--clip-gradients": clip_gradients, "--busy-thread": busy_thread, "--use-cache": use_cache,
        "--expandable-segments": expandable_segments, "--grad-reduce-in-bf16": grad_reduce_in_bf16,
        "--moments": moments, "--fp8-param-gather": fp8_param_gather, "--stable-norms": stable_norms,
        "--tensorflow": tensorflow, "--devices": devices, "--runtime": runtime, "--cuda-graphs": cuda_graphs,
        "--software": software, "--what-if": what_if, "--vendor": vendor, "--where": where, "--host": host,
        "--layout": layout, "--lora": lora, "--quantize": quantize, "--freeze": freeze,
        "--global-batch": global_batch, "--objective": objective, "--samples": samples, "--tokens": tokens,
        "--epochs": epochs, "--tokens-per-parameter": tokens_per_parameter, "--max-devices": max_devices,
        "--within": within, "--budget": budget, "--max-hours": max_hours, "--max-usd": max_usd,
        "--provider": provider, "--price-basis": price_basis, "--price": price, "--spot": spot,
        "--clusters": clusters, "--queue": queue, "--carbon": carbon, "--baseline": baseline,
        "--port-hours": port_hours, "--rate": rate, "--largest": largest, "--fewest-devices": fewest_devices,
        "--job-script": job_script, "--entry": entry, "--launcher": launcher, "--scheduler": scheduler,
        "--dataset": dataset, "--workers": workers, "--host-io": host_io})


def scale(model: Model, device: str, *, batch: Optional[int] = None, seq: Optional[int] = None,
          precision: Optional[str] = None, optimizer: Optional[str] = None, mode: Optional[str] = None,
          loss: Optional[str] = None, recompute: Optional[str] = None, attention: Optional[str] = None,
          dim: Optional[Mapping[str, int]] = None, tokens_per_sample: Optional[Union[float, str]] = None,
          reentrant: Optional[bool] = None, loss_kernel: Optional[str] = None, logits: Optional[str] = None,
          train_metrics: Optional[int] = None, fused_kernels: Optional[bool] = None,
          clip_gradients: Optional[bool] = None, busy_thread: Optional[bool] = None, use_cache: Optional[bool] = None,
          expandable_segments: Optional[bool] = None, grad_reduce_in_bf16: Optional[bool] = None,
          moments: Optional[str] = None, fp8_param_gather: Optional[bool] = None, stable_norms: Optional[bool] = None,
          tensorflow: Optional[bool] = None, runtime: Optional[str] = None,
          software: Optional[Union[int, str]] = None, what_if: Optional[str] = None, host: Optional[str] = None,
          lora: Optional[Union[str, Mapping[str, Any]]] = None, quantize: Optional[str] = None,
          freeze: Optional[Union[str, Sequence[str]]] = None, n: Optional[Sequence[int]] = None,
          tp: Optional[int] = None, pp: Optional[int] = None, dp: Optional[int] = None, cp: Optional[int] = None,
          ep: Optional[int] = None, zero: Optional[int] = None, mixed_precision: Optional[str] = None,
          micro_batch: Optional[int] = None, global_batch: Optional[int] = None, accumulate: Optional[int] = None,
          cluster: Optional[str] = None, offload: Optional[Union[str, Sequence[str]]] = None,
          sequence_parallel: Optional[bool] = None, interleave: Optional[int] = None, schedule: Optional[str] = None,
          overlap: Optional[bool] = None, async_tp: Optional[bool] = None, async_ep: Optional[bool] = None,
          async_: Optional[bool] = None, no_sync: Optional[bool] = None, compress: Optional[Union[float, str]] = None,
          expert_imbalance: Optional[float] = None, sync_batchnorm: Optional[int] = None) -> Scale:
    """Predict how training scales over several devices, and where efficiency is lost.

    batch: samples per replica (default 1); see also --global-batch
    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass only, no loss
    loss: auto (default: from the output's shape), cross-entropy, mse, bce or none
    recompute: activations to recompute in backward: none (default), selective, full, or full:N: of N layers, evenly
        spread; with --runtime megatron also modules: core_attn, layernorm, moe_act, mla_up_proj, joined by +
    attention: auto (default: from runtime and device), flash (one kernel), efficient, cudnn or math (stored scores)
    dim: size of a free dimension of a model file; may be repeated
    tokens_per_sample: mean tokens of samples of which the longest has --seq: padded (default; to the longest of a
        micro-batch), unpadded or packed (rows of --seq tokens, attention inside the samples)
    reentrant: with --recompute full: repeat whole layers, as torch.utils.checkpoint(use_reentrant=True) and Hugging
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
    grad_reduce_in_bf16: with --runtime megatron: its gradient buffer in bf16 instead of fp32
    moments: with --runtime megatron: type of the optimizer's moments: fp32 (default), bf16, or weights: that of the
        weights, which have no fp32 copy
    fp8_param_gather: with --runtime megatron --precision fp8: weights of 8-bit products are stored in 8 bits alone
    stable_norms: on IPUs, norms compute the mean first and the variance in a second pass: enableStableNorm of
        PopTorch, use_stable_statistics of TensorFlow
    tensorflow: on IPUs, TensorFlow, whose compiler joins elementwise operators with others (default: PopART, which
        PyTorch uses, too)
    runtime: torch-eager (default on GPUs), torch-compile, megatron, native, tuned or usual
    software: releases: a year, or torch=2.5,peft=0.12,megatron=0.5 (default: the newest)
    what_if: a device with changed numbers: bandwidth=2x, or compute, matrix, vector, memory, cache, links, power,
        launch
    host: host that launches the kernels and loads the data (default: the device's usual one), or a FILE of 'bench
        --suite host', which plan and scale need; see docs/commands.md
    lora: train adapters: r=16,alpha=32,targets=qkv|attention|all-linear|NAME+NAME,dropout=0.05,dtype=fp32,rest=fp32,f
        sdp=layer|exempt,save=NAME+NAME
    quantize: store frozen weights of the layers as nf4, nf4-dq (double quantisation), int8, gptq4, or fp8 for 8-bit
        products
    freeze: do not train parameters whose names match: parts of names, or patterns with * and ?, comma-separated
    n: numbers of devices; efficiency is relative to the first one
    tp: tensor-parallel size
    pp: pipeline stages
    dp: data-parallel replicas
    cp: context-parallel size: devices that divide a sequence's tokens
    ep: expert-parallel size: replicas that divide the experts
    zero: ZeRO stage: shard nothing, optimizer states, also gradients, also weights over the replicas
    mixed_precision: with --zero 2 or 3, whose shards of fp32 weights are cast before they are gathered: autocast
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
    no_sync: with --accumulate and --zero 2 or 3: gradients are divided in the last micro-batch alone, as in FSDP's
        no_sync(), which accelerate uses
    compress: compress gradients: bits of each one (8), or the fraction of them that is sent (0.01)
    expert_imbalance: tokens of the expert-parallel device with the most, over the mean (default 1)
    sync_batchnorm: replicas that share the statistics of their batch norms, as PyTorch's SyncBatchNorm (default 1)
    """
    return one(Scale, "scale", model, (device,), {"--batch": batch, "--seq": seq, "--precision": precision,
        "--optimizer": optimizer, "--mode": mode, "--loss": loss, "--recompute": recompute, "--attention": attention,
        "--dim": dim, "--tokens-per-sample": tokens_per_sample, "--reentrant": reentrant,
        "--loss-kernel": loss_kernel, "--logits": logits, "--train-metrics": train_metrics,
        "--fused-kernels": fused_kernels, "--clip-gradients": clip_gradients, "--busy-thread": busy_thread,
        "--use-cache": use_cache, "--expandable-segments": expandable_segments,
        "--grad-reduce-in-bf16": grad_reduce_in_bf16, "--moments": moments, "--fp8-param-gather": fp8_param_gather,
        "--stable-norms": stable_norms, "--tensorflow": tensorflow, "--runtime": runtime, "--software": software,
        "--what-if": what_if, "--host": host, "--lora": lora, "--quantize": quantize, "--freeze": freeze, "-n": n,
        "--tp": tp, "--pp": pp, "--dp": dp, "--cp": cp, "--ep": ep, "--zero": zero,
        "--mixed-precision": mixed_precision, "--micro-batch": micro_batch, "--global-batch": global_batch,
        "--accumulate": accumulate, "--cluster": cluster, "--offload": offload,
        "--sequence-parallel": sequence_parallel, "--interleave": interleave, "--schedule": schedule,
        "--overlap": overlap, "--async-tp": async_tp, "--async-ep": async_ep, "--async": async_, "--no-sync": no_sync,
        "--compress": compress, "--expert-imbalance": expert_imbalance, "--sync-batchnorm": sync_batchnorm})


def plan(model: Model, device: str, *, seq: Optional[int] = None, precision: Optional[str] = None,
         optimizer: Optional[str] = None, mode: Optional[str] = None, loss: Optional[str] = None,
         attention: Optional[str] = None, dim: Optional[Mapping[str, int]] = None,
         tokens_per_sample: Optional[Union[float, str]] = None, loss_kernel: Optional[str] = None,
         logits: Optional[str] = None, train_metrics: Optional[int] = None, fused_kernels: Optional[bool] = None,
         clip_gradients: Optional[bool] = None, busy_thread: Optional[bool] = None, use_cache: Optional[bool] = None,
         expandable_segments: Optional[bool] = None, grad_reduce_in_bf16: Optional[bool] = None,
         moments: Optional[str] = None, fp8_param_gather: Optional[bool] = None, stable_norms: Optional[bool] = None,
         tensorflow: Optional[bool] = None, runtime: Optional[str] = None, software: Optional[Union[int, str]] = None,
         what_if: Optional[str] = None, host: Optional[str] = None,
         lora: Optional[Union[str, Mapping[str, Any]]] = None, quantize: Optional[str] = None,
         freeze: Optional[Union[str, Sequence[str]]] = None, n: Optional[int] = None,
         mixed_precision: Optional[str] = None, global_batch: Optional[int] = None, cluster: Optional[str] = None,
         async_tp: Optional[bool] = None, objective: Optional[str] = None, tokens: Optional[Union[float, str]] = None,
         within: Optional[Union[float, str]] = None, price_basis: Optional[str] = None, pareto: Optional[bool] = None,
         distinct: Optional[bool] = None, threads: Optional[int] = None) -> Plan:
    """Find the best parallel plan for a number of devices and a global batch.

    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass only, no loss
    loss: auto (default: from the output's shape), cross-entropy, mse, bce or none
    attention: auto (default: from runtime and device), flash (one kernel), efficient, cudnn or math (stored scores)
    dim: size of a free dimension of a model file; may be repeated
    tokens_per_sample: mean tokens of samples of which the longest has --seq: padded (default; to the longest of a
        micro-batch), unpadded or packed (rows of --seq tokens, attention inside the samples)
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
    grad_reduce_in_bf16: with --runtime megatron: its gradient buffer in bf16 instead of fp32
    moments: with --runtime megatron: type of the optimizer's moments: fp32 (default), bf16, or weights: that of the
        weights, which have no fp32 copy
    fp8_param_gather: with --runtime megatron --precision fp8: weights of 8-bit products are stored in 8 bits alone
    stable_norms: on IPUs, norms compute the mean first and the variance in a second pass: enableStableNorm of
        PopTorch, use_stable_statistics of TensorFlow
    tensorflow: on IPUs, TensorFlow, whose compiler joins elementwise operators with others (default: PopART, which
        PyTorch uses, too)
    runtime: torch-eager (default on GPUs), torch-compile, megatron, native, tuned or usual
    software: releases: a year, or torch=2.5,peft=0.12,megatron=0.5 (default: the newest)
    what_if: a device with changed numbers: bandwidth=2x, or compute, matrix, vector, memory, cache, links, power,
        launch
    host: host that launches the kernels and loads the data (default: the device's usual one), or a FILE of 'bench
        --suite host', which plan and scale need; see docs/commands.md
    lora: train adapters: r=16,alpha=32,targets=qkv|attention|all-linear|NAME+NAME,dropout=0.05,dtype=fp32,rest=fp32,f
        sdp=layer|exempt,save=NAME+NAME
    quantize: store frozen weights of the layers as nf4, nf4-dq (double quantisation), int8, gptq4, or fp8 for 8-bit
        products
    freeze: do not train parameters whose names match: parts of names, or patterns with * and ?, comma-separated
    n: number of devices; data parallel unless --tp, --pp or --cp is given
    mixed_precision: with --zero 2 or 3, whose shards of fp32 weights are cast before they are gathered: autocast
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
    """
    return one(Plan, "plan", model, (device,), {"--seq": seq, "--precision": precision, "--optimizer": optimizer,
        "--mode": mode, "--loss": loss, "--attention": attention, "--dim": dim,
        "--tokens-per-sample": tokens_per_sample, "--loss-kernel": loss_kernel, "--logits": logits,
        "--train-metrics": train_metrics, "--fused-kernels": fused_kernels, "--clip-gradients": clip_gradients,
        "--busy-thread": busy_thread, "--use-cache": use_cache, "--expandable-segments": expandable_segments,
        "--grad-reduce-in-bf16": grad_reduce_in_bf16, "--moments": moments, "--fp8-param-gather": fp8_param_gather,
        "--stable-norms": stable_norms, "--tensorflow": tensorflow, "--runtime": runtime, "--software": software,
        "--what-if": what_if, "--host": host, "--lora": lora, "--quantize": quantize, "--freeze": freeze, "-n": n,
        "--mixed-precision": mixed_precision, "--global-batch": global_batch, "--cluster": cluster,
        "--async-tp": async_tp, "--objective": objective, "--tokens": tokens, "--within": within,
        "--price-basis": price_basis, "--pareto": pareto, "--distinct": distinct, "--threads": threads})


def explain(model: Model, device: str, *, batch: Optional[Union[int, str]] = None, seq: Optional[int] = None,
            precision: Optional[str] = None, optimizer: Optional[str] = None, mode: Optional[str] = None,
            loss: Optional[str] = None, recompute: Optional[str] = None, attention: Optional[str] = None,
            dim: Optional[Mapping[str, int]] = None, reentrant: Optional[bool] = None,
            loss_kernel: Optional[str] = None, logits: Optional[str] = None, train_metrics: Optional[int] = None,
            fused_kernels: Optional[bool] = None, clip_gradients: Optional[bool] = None,
            busy_thread: Optional[bool] = None, use_cache: Optional[bool] = None,
            expandable_segments: Optional[bool] = None, grad_reduce_in_bf16: Optional[bool] = None,
            moments: Optional[str] = None, fp8_param_gather: Optional[bool] = None,
            stable_norms: Optional[bool] = None, tensorflow: Optional[bool] = None, fuse: Optional[str] = None,
            versus: Optional[str] = None, runtime: Optional[str] = None, cuda_graphs: Optional[bool] = None,
            software: Optional[Union[int, str]] = None, what_if: Optional[str] = None, host: Optional[str] = None,
            layout: Optional[str] = None, lora: Optional[Union[str, Mapping[str, Any]]] = None,
            quantize: Optional[str] = None, freeze: Optional[Union[str, Sequence[str]]] = None,
            n: Optional[int] = None, tp: Optional[int] = None, pp: Optional[int] = None, dp: Optional[int] = None,
            cp: Optional[int] = None, ep: Optional[int] = None, zero: Optional[int] = None,
            mixed_precision: Optional[str] = None, micro_batch: Optional[int] = None,
            global_batch: Optional[int] = None, accumulate: Optional[int] = None, cluster: Optional[str] = None,
            offload: Optional[Union[str, Sequence[str]]] = None, sequence_parallel: Optional[bool] = None,
            interleave: Optional[int] = None, schedule: Optional[str] = None, no_sync: Optional[bool] = None,
            dataset: Optional[str] = None, workers: Optional[int] = None, host_io: Optional[Union[bool, str]] = None,
            full: Optional[bool] = None) -> Explanation:
    """Explain where the time of a step goes: operators on the roofline, or beside another device.

    batch: samples per step (default auto: the smallest within 2 % of the highest throughput, as 'batch' chooses)
    seq: sequence length (default: that of the model)
    precision: fp32, tf32, amp-bf16 (default), amp-fp16, bf16, fp16 or fp8
    optimizer: sgd, momentum, adam, adamw, adamw-8bit, paged-adamw or paged-adamw-8bit (default: the usual one for the
        model)
    mode: training (default) or inference: forward pass only, no loss
    loss: auto (default: from the output's shape), cross-entropy, mse, bce or none
    recompute: activations to recompute in backward: none (default), selective, full, or full:N: of N layers, evenly
        spread; with --runtime megatron also modules: core_attn, layernorm, moe_act, mla_up_proj, joined by +
    attention: auto (default: from runtime and device), flash (one kernel), efficient, cudnn or math (stored scores)
    dim: size of a free dimension of a model file; may be repeated
    reentrant: with --recompute full: repeat whole layers, as torch.utils.checkpoint(use_reentrant=True) and Hugging
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
    grad_reduce_in_bf16: with --runtime megatron: its gradient buffer in bf16 instead of fp32
    moments: with --runtime megatron: type of the optimizer's moments: fp32 (default), bf16, or weights: that of the
        weights, which have no fp32 copy
    fp8_param_gather: with --runtime megatron --precision fp8: weights of 8-bit products are stored in 8 bits alone
    stable_norms: on IPUs, norms compute the mean first and the variance in a second pass: enableStableNorm of
        PopTorch, use_stable_statistics of TensorFlow
    tensorflow: on IPUs, TensorFlow, whose compiler joins elementwise operators with others (default: PopART, which
        PyTorch uses, too)
    fuse: fuse operators of a file into one: all (default where the runtime fuses), eager (as eager PyTorch does),
        norms (as eager, and norms that the model writes out) or none
    versus: compare with another device
    runtime: torch-eager, torch-compile[:default|reduce-overhead|max-autotune], megatron, native, tuned or usual
        (default: torch-eager on GPUs)
    cuda_graphs: replay the step's kernels from CUDA graphs, without the host's launches (torch-eager and
        torch-compile)
    software: releases: a year, or torch=2.5,peft=0.12,megatron=0.5 (default: the newest)
    what_if: a device with changed numbers: bandwidth=2x, or compute, matrix, vector, memory, cache, links, power,
        launch
    host: host that launches the kernels and loads the data (default: the device's usual one), or a FILE of 'bench
        --suite host', which plan and scale need; see docs/commands.md
    layout: memory layout of images: auto (default: nhwc for colour images in 16-bit types), nchw or nhwc
    lora: train adapters: r=16,alpha=32,targets=qkv|attention|all-linear|NAME+NAME,dropout=0.05,dtype=fp32,rest=fp32,f
        sdp=layer|exempt,save=NAME+NAME
    quantize: store frozen weights of the layers as nf4, nf4-dq (double quantisation), int8, gptq4, or fp8 for 8-bit
        products
    freeze: do not train parameters whose names match: parts of names, or patterns with * and ?, comma-separated
    n: number of devices; data parallel unless --tp, --pp or --cp is given
    tp: tensor-parallel size
    pp: pipeline stages
    dp: data-parallel replicas
    cp: context-parallel size: devices that divide a sequence's tokens
    ep: expert-parallel size: replicas that divide the experts
    zero: ZeRO stage: shard nothing, optimizer states, also gradients, also weights over the replicas
    mixed_precision: with --zero 2 or 3, whose shards of fp32 weights are cast before they are gathered: autocast
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
    no_sync: with --accumulate and --zero 2 or 3: gradients are divided in the last micro-batch alone, as in FSDP's
        no_sync(), which accelerate uses
    dataset: dataset to load samples from: imagenet, openwebtext, files:FOLDER or bytes=N,decode=S,samples=N
    workers: loader processes (default: the host's cores per device; 0: the step waits for its samples)
    host_io: data loading (default: off unless a dataset is named; on: the bytes of the model's inputs)
    full: add memory, plan, timeline, batch sizes and sources, as the HTML pages show them; needs --json
    """
    return one(Explanation, "explain", model, (device,), {"--batch": batch, "--seq": seq, "--precision": precision,
        "--optimizer": optimizer, "--mode": mode, "--loss": loss, "--recompute": recompute, "--attention": attention,
        "--dim": dim, "--reentrant": reentrant, "--loss-kernel": loss_kernel, "--logits": logits,
        "--train-metrics": train_metrics, "--fused-kernels": fused_kernels, "--clip-gradients": clip_gradients,
        "--busy-thread": busy_thread, "--use-cache": use_cache, "--expandable-segments": expandable_segments,
        "--grad-reduce-in-bf16": grad_reduce_in_bf16, "--moments": moments, "--fp8-param-gather": fp8_param_gather,
        "--stable-norms": stable_norms, "--tensorflow": tensorflow, "--fuse": fuse, "--versus": versus,
        "--runtime": runtime, "--cuda-graphs": cuda_graphs, "--software": software, "--what-if": what_if,
        "--host": host, "--layout": layout, "--lora": lora, "--quantize": quantize, "--freeze": freeze, "-n": n,
        "--tp": tp, "--pp": pp, "--dp": dp, "--cp": cp, "--ep": ep, "--zero": zero,
        "--mixed-precision": mixed_precision, "--micro-batch": micro_batch, "--global-batch": global_batch,
        "--accumulate": accumulate, "--cluster": cluster, "--offload": offload,
        "--sequence-parallel": sequence_parallel, "--interleave": interleave, "--schedule": schedule,
        "--no-sync": no_sync, "--dataset": dataset, "--workers": workers, "--host-io": host_io, "--full": full})


def lookups(*devices: str, visited: Optional[float] = None, nuclides: Optional[int] = None,
            points: Optional[int] = None, bits: Optional[int] = None, grid: Optional[str] = None,
            longest: Optional[float] = None, sorted: Optional[bool] = None,
            sums: Optional[str] = None) -> Table[LookupRate]:
    """Predict random look-ups per second in tables of cross sections (XSBench), on one device or all.

    visited: nuclides that a look-up visits on average (default 55.7: the materials of XSBench's large reactor)
    nuclides: nuclides in the tables (default 355)
    points: points of a nuclide's grid (default 11303)
    bits: bits of a number: 32 or 64 (default)
    grid: unionized (default: one search per look-up, and an index for each nuclide) or nuclide (one search per
        nuclide)
    longest: nuclides of the longest look-up, for which threads that run together wait (default: as many as --visited,
        321 without it)
    sorted: look-ups are sorted by energy, so that threads that run together read the same places; sorting is not
        counted
    sums: where a look-up's sums are kept: registers (default) or memory
    """
    return rates("lookups", devices, {"--visited": visited, "--nuclides": nuclides, "--points": points,
        "--bits": bits, "--grid": grid, "--longest": longest, "--sorted": sorted, "--sums": sums})
