/* SPDX-License-Identifier: Apache-2.0 */
/* unused.c - tables of options, of what each needs, and of the reason if it is not there. */
#include "model/unused.h"

#include "base/ctx.h"
#include "device/device.h"
#include "device/number.h"
#include "graph/runtimes.h"
#include "model/execution/execution.h"

typedef struct question {
    const cm_graph        *forward;
    const cm_device       *device;
    cm_runtime             runtime;
    const cm_step_options *o; /* as the user gave them */
    const cm_graph        *usual; /* forward as the runtime fuses it; NULL: that is not another graph than `forward` */
} question;

/* ---- what the model has ------------------------------------------------------------------------------------------ */

static bool attends(const question *q) { return cm__facts_of(q->forward).most_keys > 0; }

static bool has_images(const question *q) { return cm__facts_of(q->forward).images; }
static bool fuses_otherwise(const question *q)
{
    const cm_graph *a = q->forward, *b = q->usual;
    bool            same = !b || a->n_nodes == b->n_nodes;
    for (int32_t i = 0; b && same && i < a->n_nodes; i++) same = a->nodes[i].op == b->nodes[i].op;
    return !same;
}

/* ---- what the device has ----------------------------------------------------------------------------------------- */

static bool by_kernels(const question *q) { return cm_device_get_info(q->device)->style == CM_STYLE_KERNELS; }
static bool by_supersteps(const question *q) { return cm_device_get_info(q->device)->style == CM_STYLE_BSP; }
static bool by_pytorch(const question *q) { return cm__is_pytorch(q->runtime); }
static bool not_native(const question *q) { return !cm__is_vendors(q->runtime); }
static bool calls_kernels(const question *q) { return !cm__execution_applies(q->device, q->runtime); }
static bool launches_or_loads(const question *q)
{
    return not_native(q) || q->o->loading.on || q->o->loading.dataset;
}
static bool has_host_time(const question *q) { return not_native(q) || q->device->execution.step_s.known; }
static bool has_releases(const question *q)
{
    const cm__execution *e = &q->device->execution;
    return not_native(q) || (cm__value_or(e->older_software, 1) != 1 && !e->interval_s.known);
}
static bool release_counts(const question *q) { return not_native(q) || cm__is_causal(q->forward); }
/* Releases differ in attention, in what recomputation repeats, in how they join gradients of cut tensors, and in the
   kernel times of a profile that has some. */
static bool year_counts(const question *q)
{
    bool cuts = false;
    for (int32_t i = 0; i < q->forward->n_nodes; i++) cuts |= q->forward->nodes[i].op == CM_OP_UNPACK;
    return !by_pytorch(q) || attends(q) || cuts || q->o->train.recompute || q->o->plan.recompute || q->device->kernels.count;
}

static bool casts_shards(const question *q)
{
    cm_precision p = q->o->train.precision ? q->o->train.precision : cm_device_usual_precision(q->device);
    return by_pytorch(q) && (p == CM_PRECISION_AMP_BF16 || p == CM_PRECISION_AMP_FP16 || p == CM_PRECISION_FP8);
}

static bool recomputes_something(const question *q) { return by_pytorch(q) || attends(q); }

/* ---- options ----------------------------------------------------------------------------------------------------- */

static bool layout(const question *q) { return q->o->layout != CM_LAYOUT_AUTO; }
static bool fuse(const question *q) { return q->usual != NULL; }
static bool attention(const question *q) { return q->o->train.attention != CM_ATTENTION_AUTO; }
static bool efficient(const question *q) { return q->o->train.attention == CM_ATTENTION_EFFICIENT; }
static bool cudnn(const question *q) { return q->o->train.attention == CM_ATTENTION_CUDNN; }
static bool software(const question *q) { return q->o->train.software.given; }
static bool quantize(const question *q) { return q->o->train.tuning.quantize != CM_QUANTIZE_NONE; }
static bool host(const question *q) { return q->o->loading.host != NULL; }
static bool several_steps(const question *q) { return q->o->steps_per_call > 1; }
static bool fsdp(const question *q) { return q->o->train.mixed_precision == CM_MIXED_PRECISION_FSDP; }
static bool stable_norms(const question *q) { return q->o->train.ipu.stable_norms; }
static bool tensorflow(const question *q) { return q->o->train.ipu.tensorflow; }
static bool selective(const question *q) { return q->o->train.recompute == CM_RECOMPUTE_SELECTIVE; }

typedef struct rule {
    bool (*given)(const question *q);
    bool (*used)(const question *q);
    const char *reason;
} rule;

static const rule of_models[] = {
    {attention, attends, "the model has no attention: omit --attention"},
};

static const rule of_devices[] = {
    {efficient, by_pytorch, "--attention efficient is a kernel of PyTorch, which does not run: choose flash or math"},
    {cudnn, not_native, "--attention cudnn is a kernel of NVIDIA's library, which does not run: choose flash or math"},
    {software, has_releases, "--software names releases of PyTorch or Megatron-LM, and its runtime is native: omit it"},
    {software, release_counts, "known releases of its software differ for models with causal attention, which this one "
                               "has not: omit --software"},
    {software, year_counts, "releases of PyTorch differ in attention and recomputation, and the step has neither: omit "
                            "--software"},
    {quantize, by_kernels, "--quantize stores weights in formats of GPU libraries, for which it has no kernels"},
    {host, launches_or_loads,
     "under its native runtime the host only loads data: add --dataset or --host-io on, or omit --host"},
    {fsdp, casts_shards, "--mixed-precision fsdp is about PyTorch's steps in amp-bf16, amp-fp16 and fp8: omit it"},
    {several_steps, has_host_time, "no host time per call of it is known, which --steps-per-call divides: omit it"},
    {stable_norms, by_supersteps, "--stable-norms is about how IPUs compute norms: omit it"},
    {tensorflow, by_supersteps, "--tensorflow is about programs of IPUs: omit it"},
    {selective, recomputes_something,
     "selective recomputation repeats attention here, and the model has none: choose --recompute full"},
};

/* Options that a question about several models or devices may state for those that have the choice. */
static const rule accepted[] = {
    {layout, has_images, "--layout has no effect: the model has no images"},
    {fuse, fuses_otherwise, "--fuse has no effect: under this runtime the model has the same operators without it"},
    {layout, calls_kernels, "--layout has no effect: the compiler of this device's runtime lays out images"},
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const char *broken(const question *q, const rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rules[i].given(q) && !rules[i].used(q)) return rules[i].reason;
    return NULL;
}

cm_status cm__refuse_for_model(const cm_graph *forward, const cm_step_options *asked, cm_diag *diag)
{
    const question q = {.forward = forward, .o = asked};
    const char    *reason = broken(&q, of_models, COUNT(of_models));
    return reason ? cm__diag_set(diag, CM_ERR_UNSUPPORTED, "%s", reason) : CM_OK;
}

const char *cm__without_effect(const cm_graph *forward, const cm_graph *usual, const cm_device *device,
                               cm_runtime runtime, const cm_step_options *asked)
{
    const question q = {forward, device, runtime, asked, usual};
    return broken(&q, accepted, COUNT(accepted));
}

cm_status cm__refuse_for_device(const cm_graph *forward, const cm_device *device, cm_runtime runtime,
                                const cm_step_options *asked, cm_diag *diag)
{
    const question q = {.forward = forward, .device = device, .runtime = runtime, .o = asked};
    const char    *reason = broken(&q, of_devices, COUNT(of_devices));
    return reason ? cm__diag_set(diag, CM_ERR_UNSUPPORTED, "%s: %s", cm_device_get_info(device)->id, reason) : CM_OK;
}
