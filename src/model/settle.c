/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settle.c - fill in every option that the user left open, for all commands.
 *
 * The runtime is the device's default one. The precision is that of a captured model, or the one in which most models
 * are trained on the device. Images have the layout that PyTorch uses on the device. Eager PyTorch runs one kernel per
 * operator that the user wrote; other runtimes fuse. Megatron-LM's mixed precision uses 16-bit weights with fp32 master
 * weights, without autocast. PyTorch's FSDP (ZeRO 2 and 3) casts the shards of fp32 weights before it gathers them
 * (MixedPrecision(param_dtype)). Trainers run autocast beside it: accelerate, Lightning and Composer wrap the forward pass
 * of FSDP in it. --mixed-precision fsdp is FSDP alone, as in torchtitan.
 */
#include <math.h>
#include "base/ctx.h"
#include "device/device.h"
#include "device/number.h"
#include "graph/runtimes.h"
#include "model/question.h"

static const cm_precision without_autocast[CM_PRECISIONS] = {[CM_PRECISION_AMP_BF16] = CM_PRECISION_BF16,
                                                             [CM_PRECISION_AMP_FP16] = CM_PRECISION_FP16};

static void omit_autocast(cm_train_options *train)
{
    if (without_autocast[train->precision]) train->precision = without_autocast[train->precision];
    train->master = true;
}

static bool has_autocast(cm_precision p)
{
    return p == CM_PRECISION_AMP_BF16 || p == CM_PRECISION_AMP_FP16 || p == CM_PRECISION_FP8;
}

static void settle_sharding(cm_step_options *o)
{
    if (!cm__is_pytorch(o->runtime) || o->plan.zero < 2 || !has_autocast(o->train.precision)) return;
    o->train.master = true;
    if (o->train.mixed_precision == CM_MIXED_PRECISION_FSDP) omit_autocast(&o->train);
    else o->train.mixed_precision = CM_MIXED_PRECISION_AUTOCAST;
}

/* PEFT makes adapters of a model in 16 bits fp32 (autocast_adapter_dtype of get_peft_model(), true by default). Beside
   quantised weights TRL's trainer makes them 16-bit again (see open_script.c). */
static void settle_adapters(cm_step_options *o)
{
    cm_tuning   *t = &o->train.tuning;
    cm_precision p = o->train.precision;
    bool         recent = cm__provides(o->train.software, CM__FEATURE_WIDE_ADAPTERS);
    if (t->rank > 0 && !t->narrow && !t->quantize && recent && cm__is_pytorch(o->runtime))
        t->wide |= p == CM_PRECISION_BF16 || p == CM_PRECISION_FP16;
}

static void settle_recompute(cm_step_options *o)
{
    if (o->plan.recompute > o->train.recompute) {
        o->train.recompute = o->plan.recompute;
        o->train.recompute_layers = o->plan.recompute_layers;
    }
    o->plan.recompute = o->train.recompute;
    o->plan.recompute_layers = o->train.recompute_layers;
    o->train.settled.keep_products = cm__is_pytorch(o->runtime);
    bool old = cm__is_pytorch(o->runtime) && !cm__provides(o->train.software, CM__FEATURE_EARLY_STOP);
    o->train.whole_layers |= old || cm__is_megatron(o->runtime);
}

/* Options of PyTorch's runtimes that another runtime would ignore, and of whole graphs. */
static cm_status refuse_options(const cm_device *device, const cm_step_options *o, cm_diag *diag)
{
    bool megatron = cm__is_megatron(o->runtime), eager = cm__is_eager(o->runtime);
    if (o->train.loss_kernel && megatron)
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "Megatron-LM has its own loss: omit --loss-kernel");
    if (o->train.script.logits && megatron)
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "Megatron-LM has its own loss: omit --logits");
    if (o->train.script.logits && cm__is_vendors(o->runtime))
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "--logits is of PyTorch's scripts; compilers of whole graphs keep the "
                            "logits once");
    if (o->train.script.metrics && !eager)
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED,
                            "--train-metrics counts kernels of torch-eager; the runtime is %s",
                            cm_runtime_name(o->runtime));
    if (o->train.tuning.quantize == CM_QUANTIZE_FP8 && o->train.precision != CM_PRECISION_FP8)
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "--quantize fp8 stores weights for products in 8 bits: add "
                            "--precision fp8");
    if (o->train.megatron.narrow_gradients && !cm__is_megatron(o->runtime))
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "--grad-reduce-in-bf16 is of megatron's gradient buffer; the "
                            "runtime is %s", cm_runtime_name(o->runtime));
    if (o->train.megatron.moments && !megatron)
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "--moments is about megatron's optimizers; the runtime is %s",
                            cm_runtime_name(o->runtime));
    if (o->train.recompute_modules && !megatron)
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "--recompute of single modules is megatron's; the runtime is %s",
                            cm_runtime_name(o->runtime));
    bool jax = cm__is_vendors(o->runtime) || o->runtime == CM_RUNTIME_XLA;
    if ((o->train.recompute_kept || o->train.recompute_moved) && !jax)
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "--recompute by a policy of JAX programs needs --runtime xla, or a TPU; "
                            "the runtime is %s", cm_runtime_name(o->runtime));
    if (o->train.megatron.narrow_weights && (!megatron || o->train.precision != CM_PRECISION_FP8))
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "--fp8-param-gather is of megatron's weights in 8 bits: add "
                            "--runtime megatron --precision fp8");
    if (o->train.script.expandable_segments && !cm__is_pytorch(o->runtime) && !megatron)
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED,
                            "--expandable-segments is of PyTorch's allocator; the runtime is %s",
                            cm_runtime_name(o->runtime));
    if (o->train.script.fused_kernels && !eager)
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED,
                            "--fused-kernels replaces kernels of torch-eager; the runtime is %s",
                            cm_runtime_name(o->runtime));
    if (o->train.whole_layers && !megatron && !cm__is_pytorch(o->runtime))
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "--reentrant is PyTorch's way of recomputing; the runtime is %s",
                            cm_runtime_name(o->runtime));
    if (o->steps_per_call > 1 && device->info.style == CM_STYLE_KERNELS && !cm__is_vendors(o->runtime))
        return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "--steps-per-call is for devices that run whole graphs; %s runs "
                            "kernel by kernel", device->info.id);
    return CM_OK;
}

/* Options of a PyTorch trainer. Megatron-LM always clips gradients. */
static cm_status refuse_trainer(const cm_step_options *o, cm_diag *diag)
{
    const char *option = o->train.script.clip_gradients ? "--clip-gradients" : o->train.script.busy_thread ? "--busy-thread" : NULL;
    if (!option || cm__is_pytorch(o->runtime)) return CM_OK;
    return cm__diag_set(diag, CM_ERR_UNSUPPORTED, "%s is about training loops of PyTorch; the runtime is %s", option,
                        cm_runtime_name(o->runtime));
}

/* Habana's compiler gets the operators that a model's code writes out, such as the eight of GPT-2's GELU, and keeps what
   backward reads of each. Its libraries have a kernel for norms, and its autocast has lists of its own. */
static bool runs_as_written(const cm_device *device, cm_runtime runtime)
{
    return cm__is_vendors(runtime) && cm__value_or(device->execution.stored_scores, 0) > 0;
}

/* XLA stores fp32 numbers as they are, and multiplies them in TF32, or where that is as fast in bf16 (TPUs). */
void cm__settle_runtime(cm_runtime own, const cm_device *device, cm_step_options *o)
{
    const cm_number *peaks = device->peaks[CM_ENGINE_MATRIX];
    bool             fast = peaks[CM_RATE_FP32].known && peaks[CM_RATE_FP32].value >= cm__value_or(peaks[CM_RATE_BF16], INFINITY);
    if (!o->runtime && cm_device_supports_runtime(device, own)) o->runtime = own;
    if (own != CM_RUNTIME_XLA || o->train.precision) return;
    if (cm_device_supports(device, CM_PRECISION_TF32)) o->train.precision = CM_PRECISION_TF32;
    else if (fast && cm_device_supports(device, CM_PRECISION_FP32)) o->train.precision = CM_PRECISION_FP32;
}

/* A captured step that divides its arrays runs so on any number of devices, unless the question has counts of its own. */
static void settle_captured_plan(const char *model, cm_plan *p)
{
    bool asked = p->tp || p->pp || p->dp || p->cp || p->ep || p->zero;
    if (!model || asked || p->devices < 2) return;
    cm_plan own = cm_model_plan(model);
    int32_t each = own.tp * own.cp;
    if (!own.devices || p->devices % each || p->devices / each % own.ep) return;
    p->tp = own.tp;
    p->cp = own.cp;
    p->dp = p->devices / each;
    p->ep = own.ep;
    p->zero = p->dp > 1 ? own.zero : 0;
}

cm_status cm_step_settle(const char *model, const cm_device *device, cm_step_options *o, cm_diag *diag)
{
    if (!device || !o) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no device or no options given");
    if (!o->train.precision && model) o->train.precision = cm_model_precision(model);
    if (model) cm__settle_runtime(cm_model_runtime(model), device, o);
    settle_captured_plan(model, &o->plan);
    if (o->runtime == CM_RUNTIME_USUAL) o->runtime = cm__runtime_on(device, o->runtime);
    cm_status status = cm_device_refusal(device, o->train.precision, o->runtime, diag);
    if (status) return status;
    o->runtime = cm__runtime_on(device, o->runtime);
    status = refuse_options(device, o, diag);
    if (!status) status = refuse_trainer(o, diag);
    if (status) return status;
    if (!o->layout) o->layout = cm__is_tuned(o->runtime) ? CM_LAYOUT_NHWC : device->layout;
    if (!o->train.precision) o->train.precision = cm_device_usual_precision(device);
    /* people's fused kernels are of norms, too: one kernel that stores its input and a number per row */
    bool eager = cm__is_eager(o->runtime) && !o->train.script.fused_kernels;
    if (o->load.fuse == CM_FUSE_ALL && (eager || runs_as_written(device, o->runtime)))
        o->load.fuse = eager ? CM_FUSE_EAGER : CM_FUSE_NORMS;
    if (cm__is_megatron(o->runtime)) omit_autocast(&o->train);
    settle_adapters(o);
    settle_sharding(o);
    settle_recompute(o);
    o->train.settled.habana_lists = runs_as_written(device, o->runtime);
    o->train.settled.traced_backward = cm__compiles(o->runtime);
    o->train.settled.whole_step = o->runtime == CM_RUNTIME_XLA || (cm__is_vendors(o->runtime) && cm__joins_as_xla(device));
    return CM_OK;
}
