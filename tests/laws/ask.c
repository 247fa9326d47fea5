/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c - load, predict and read calls for laws, with a cache of the last steps and devices. */
#include "ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_KEPT 64
#define STEPS_KEPT 32

static cm_diag diag;

static struct kept_device {
    char       id[64];
    cm_device *device;
    cm_fabric *fabric;
} devices[DEVICES_KEPT];

static struct kept_step {
    char      key[512];
    cm_graph *forward, *step;
} steps[STEPS_KEPT];
static int oldest;

const char *law_reason(void) { return diag.reason; }

static struct kept_device *device_of(const char *id)
{
    for (int i = 0; i < DEVICES_KEPT; i++) {
        struct kept_device *d = &devices[i];
        if (d->device && strcmp(d->id, id) == 0) return d;
        if (d->device) continue;
        snprintf(d->id, sizeof d->id, "%s", id);
        if (cm_device_load(id, &d->device, &diag)) return NULL;
        if (cm_fabric_new(d->device, "node=8,net=3200Gb", &d->fabric, &diag)) d->fabric = NULL;
        return d;
    }
    return NULL;
}

const cm_device *law_device(const char *id)
{
    struct kept_device *d = device_of(id);
    return d ? d->device : NULL;
}

static bool is_pytorch(cm_runtime runtime)
{
    return runtime == CM_RUNTIME_TORCH_EAGER || runtime == CM_RUNTIME_TORCH_COMPILE;
}

/* Master weights: Megatron-LM's, and FSDP's beside autocast. */
static bool has_master(const law_question *q)
{
    bool mixed = q->precision == CM_PRECISION_AMP_BF16 || q->precision == CM_PRECISION_AMP_FP16 ||
                 q->precision == CM_PRECISION_FP8;
    return q->runtime == CM_RUNTIME_MEGATRON || (is_pytorch(q->runtime) && q->plan.zero >= 2 && mixed);
}

static bool make_step(const law_question *q, struct kept_step *s)
{
    bool             native = q->runtime == CM_RUNTIME_NATIVE || q->runtime == CM_RUNTIME_MEGATRON;
    cm_load_options  load = {.seq = q->seq, .fuse = native ? CM_FUSE_ALL : CM_FUSE_EAGER};
    cm_train_options train = {.precision = q->precision, .recompute = q->recompute, .inference = q->inference,
                              .settled.keep_products = is_pytorch(q->runtime), .loss_kernel = q->loss_kernel,
                              .attention = q->attention,
                              .master = has_master(q), .tuning = q->tuning,
                              .mixed_precision = is_pytorch(q->runtime) ? CM_MIXED_PRECISION_AUTOCAST
                                                                        : CM_MIXED_PRECISION_AUTO};
    if (cm_graph_load(q->model, &load, &s->forward, &diag)) return false;
    if (cm_graph_train(s->forward, &train, &s->step, &diag) == CM_OK) return true;
    cm_graph_free(s->forward);
    s->forward = NULL;
    return false;
}

const cm_graph *law_step(const law_question *q)
{
    char key[512];
    snprintf(key, sizeof key, "%s|%lld|%d|%d|%d|%d|%d|%d|%d|%d|%s|%g|%d|%d|%d|%s", q->model, (long long)q->seq,
             q->precision, q->recompute, q->runtime, q->inference, has_master(q), q->loss_kernel, q->attention,
             q->tuning.rank, q->tuning.targets, q->tuning.dropout,
             q->tuning.wide, q->tuning.wide_rest, q->tuning.quantize, q->tuning.freeze ? q->tuning.freeze : "");
    for (int i = 0; i < STEPS_KEPT; i++)
        if (steps[i].step && strcmp(steps[i].key, key) == 0) return steps[i].step;
    struct kept_step *s = &steps[oldest];
    oldest = (oldest + 1) % STEPS_KEPT;
    cm_graph_free(s->step);
    cm_graph_free(s->forward);
    s->step = s->forward = NULL;
    if (!make_step(q, s)) return NULL;
    snprintf(s->key, sizeof s->key, "%s", key);
    return s->step;
}

cm_prediction *law_predict(const law_question *q)
{
    struct kept_device *d = device_of(q->device);
    const cm_graph     *step = d ? law_step(q) : NULL;
    cm_predict_options  options = {.batch = q->batch, .runtime = q->runtime, .plan = q->plan,
                                   .fabric = d ? d->fabric : NULL};
    cm_prediction      *prediction;
    if (!step || cm_predict(step, d->device, &options, &prediction, &diag)) return NULL;
    return prediction;
}

bool law_memory(const law_question *q, cm_memory_use *use)
{
    const cm_device  *device = law_device(q->device);
    const cm_graph   *step = device ? law_step(q) : NULL;
    cm_memory_options options = {.runtime = q->runtime, .plan = q->plan};
    cm_footprint     *footprint;
    if (!step || cm_footprint_new(step, device, &options, &footprint, &diag)) return false;
    cm_footprint_at(footprint, q->batch ? q->batch : 1, use);
    cm_footprint_free(footprint);
    return true;
}

const char *law_text(const law_question *q)
{
    static char text[512];
    const cm_plan *p = &q->plan;
    int n = snprintf(text, sizeof text, "%s --device %s --batch %lld --precision %s --recompute %s --runtime %s",
                     q->model, q->device, (long long)(q->batch ? q->batch : 1), cm_precision_name(q->precision),
                     cm_recompute_name(q->recompute), q->runtime ? cm_runtime_name(q->runtime) : "default");
    if (q->seq) n += snprintf(text + n, sizeof text - (size_t)n, " --seq %lld", (long long)q->seq);
    const struct {
        const char *name;
        int64_t     value;
    } counts[] = {{"tp", p->tp}, {"cp", p->cp}, {"pp", p->pp}, {"dp", p->dp}, {"ep", p->ep}, {"zero", p->zero},
                  {"accumulate", p->accumulate}, {"micro-batch", p->micro_batch}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts && (size_t)n < sizeof text; i++)
        if (counts[i].value > 1)
            n += snprintf(text + n, sizeof text - (size_t)n, " --%s %lld", counts[i].name, (long long)counts[i].value);
    return text;
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

bool law_is_matrix(const char *call)
{
    return begins(call, "gemm ") || begins(call, "conv ") || begins(call, "conv3d ") || begins(call, "attention ") ||
           begins(call, "rnn ");
}

int law_sizes(const char *call, int64_t *sizes, int most)
{
    const char *at = strrchr(call, ' ');
    int         count = 0;
    while (at && count < most) {
        sizes[count++] = strtoll(at + 1, NULL, 10);
        at = strchr(at + 1, ',');
    }
    return count;
}

double law_whole_flop(const cm_op_time *op)
{
    int64_t sizes[32];
    int     n = law_sizes(op->call, sizes, 32);
    bool    causal = begins(op->call, "attention ") && n == 7 && sizes[6];
    return op->flop * (causal ? 2 : 1);
}
