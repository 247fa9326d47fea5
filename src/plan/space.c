/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space.c - enumerate the places of a plan search in a fixed order.
 *
 * Tensor parallelism divides a layer's heads, context parallelism a sequence's tokens. Stages have equal numbers of
 * layers; micro-batches divide a replica's samples.
 */
#include "model/dispatch/tensor_parallel.h"
#include "plan/search.h"

/* ---- plans in common use ----------------------------------------------------------------------------------------- */

#define USUAL_TOKENS 16384 /* of a micro-batch: larger ones gain little (docs/dev/plans.md) */
#define USUAL_SAMPLES 1024 /* the same of samples that are not sequences */
#define USUAL_STAGES 16
#define LONG_SEQUENCE 32768 /* tokens per device from which context parallelism is in use */

static bool power_of_two(int64_t n) { return (n & (n - 1)) == 0; }

/* Chips of a TPU slice are nodes of one device in tables of offers, joined by their own links; a host has four of them. */
#define SLICE_HOST 4

static int32_t most_tensor(const cm__model *m)
{
    int32_t node = cm_fabric_node(m->fabric);
    return m->native && node == 1 ? SLICE_HOST : node;
}

/* Tensor parallelism stays within a node, and sizes are powers of two. */
static bool usual_sizes(const cm__model *m, int32_t tp, int32_t cp, int32_t pp)
{
    if (!m->usual) return true;
    bool long_enough = cp == 1 || m->tokens / (cp / 2) >= LONG_SEQUENCE;
    return power_of_two(tp) && power_of_two(cp) && tp <= most_tensor(m) &&
           pp <= (m->native ? 1 : USUAL_STAGES) &&
           long_enough;
}

/* A micro-batch of one sample is always possible. */
static bool usual_batch(const cm__model *m, int64_t samples)
{
    bool small = m->tokens > 1 ? samples * m->tokens <= USUAL_TOKENS : samples <= USUAL_SAMPLES;
    return !m->usual || samples == 1 || (power_of_two(samples) && small);
}

/* ---- all plans --------------------------------------------------------------------------------------------------- */

#define PARTS 4 /* full recomputation repeats so many parts of a stage's layers: 1, 2, ... all */

static void with_recompute(const cm__model *m, cm_plan plan, cm__visit *visit, void *user)
{
    for (int r = 0; r < CM_RECOMPUTE_FULL; r++) {
        plan.recompute = (cm_recompute)r;
        visit(user, &plan);
    }
    plan.recompute = CM_RECOMPUTE_FULL;
    for (int32_t each = m->layers / plan.pp, last = 0, k = 1; k < PARTS; k++) {
        int32_t repeated = (each * k + PARTS - 1) / PARTS;
        if (repeated == last || repeated >= each) continue;
        plan.recompute_layers = (last = repeated) * plan.pp;
        visit(user, &plan);
    }
    plan.recompute_layers = 0;
    visit(user, &plan);
}

static void with_micro_batch(const cm__model *m, cm_plan plan, int64_t samples, cm__visit *visit, void *user)
{
    for (int64_t b = 1; b <= samples; b++) {
        if (samples % b || !usual_batch(m, b)) continue;
        plan.micro_batch = b;
        plan.accumulate = (int32_t)(samples / b);
        plan.async_tensor = m->async_tensor && plan.tp > 1;
        for (int s = 0; s < (plan.tp > 1 ? 2 : 1); s++) {
            plan.sequence_parallel = s;
            if (m->usual && s != (plan.tp > 1)) continue;
            with_recompute(m, plan, visit, user);
        }
    }
}

/* Expert-parallel groups of replicas. */
static void with_experts(const cm__model *m, cm_plan plan, cm__visit *visit, void *user)
{
    for (plan.ep = 1; plan.ep == 1 || plan.ep <= m->experts; plan.ep++)
        if (plan.dp % plan.ep == 0 && (plan.ep == 1 || m->experts % plan.ep == 0))
            with_micro_batch(m, plan, plan.global_batch / plan.dp, visit, user);
}

static bool stages_fit(const cm__model *m, int32_t pp) { return pp == 1 || (m->layers > 0 && m->layers % pp == 0); }

/* Copies of the whole model on `pp` devices each. A pipeline has at least as many micro-batches as stages. */
static void copies(int32_t dp, int32_t pp, int64_t global_batch, cm__visit *visit, void *user)
{
    for (int64_t b = 1; b <= global_batch / dp; b++)
        if (global_batch / dp % b == 0 && (pp == 1 || global_batch / dp / b >= pp))
            visit(user, &(cm_plan){.devices = dp * pp, .tp = 1, .cp = 1, .ep = 1, .pp = pp, .dp = dp, .interleave = 1,
                                   .micro_batch = b, .accumulate = (int32_t)(global_batch / dp / b),
                                   .global_batch = global_batch});
}

/* Copies of the whole model, each on as many devices as it needs, or laid out over more of them (--pp). */
static void replicas(const cm__model *m, int32_t devices, int64_t global_batch, cm__visit *visit, void *user)
{
    for (int32_t dp = 1; dp <= devices; dp++) {
        if (devices % dp || global_batch % dp) continue;
        copies(dp, 1, global_batch, visit, user);
        for (int32_t pp = 2; m->pipelines && pp <= devices / dp && pp <= m->layers; pp++)
            if (devices / dp % pp == 0) copies(dp, pp, global_batch, visit, user);
    }
}

void cm__space(const cm__model *m, int32_t devices, int64_t global_batch, cm__visit *visit, void *user)
{
    if (m->whole) {
        replicas(m, devices, global_batch, visit, user);
        return;
    }
    for (int32_t tp = 1; tp <= devices; tp++) {
        if (devices % tp || m->heads % tp) continue;
        for (int32_t cp = 1; cp <= devices / tp; cp++) {
            if (devices / tp % cp || m->tokens % cp || (cp > 1 && m->tokens / cp < 2)) continue;
            if (!usual_sizes(m, tp, cp, 1)) continue;
            if (!cm__plan_divides(m->step, &(cm_plan){.tp = tp, .cp = cp})) continue;
            for (int32_t pp = 1; pp <= devices / tp / cp; pp++) {
                int32_t dp = devices / tp / cp / pp;
                if (tp * cp * pp * dp != devices || !stages_fit(m, pp) || global_batch % dp) continue;
                if (!usual_sizes(m, tp, cp, pp)) continue;
                with_experts(m, (cm_plan){.devices = devices, .tp = tp, .cp = cp, .pp = pp, .dp = dp, .interleave = 1,
                                          .global_batch = global_batch},
                             visit, user);
            }
        }
    }
}
