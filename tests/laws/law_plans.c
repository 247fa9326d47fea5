/* SPDX-License-Identifier: Apache-2.0 */
/* law_plans.c - parallel plans: the work of all devices adds up to the model's, whatever the plan. */
#include <stdlib.h>
#include <string.h>
#include "ask.h"

static const struct shape {
    const char *model;
    int32_t     heads, kv_heads, layers, experts;
} shapes[] = {
    {"gpt:layers=4,hidden=512,heads=8,vocab=1024", 8, 8, 4, 1},
    {"llama:layers=8,hidden=1024,heads=16,kv_heads=4,ffn=2816,vocab=32000", 16, 4, 8, 1},
    {"bert:layers=6,hidden=768,heads=12,vocab=30528", 12, 12, 6, 1},
    {"mixtral:layers=4,hidden=512,heads=8,kv_heads=8,ffn=1024,vocab=32000", 8, 8, 4, 8},
};

static const char *const devices[] = {"nvidia-h200", "nvidia-h100", "nvidia-a100-80g", "nvidia-b200", "amd-mi300x",
                                      "amd-mi250", "nvidia-v100-32g"};
static const cm_runtime   runtimes[] = {CM_RUNTIME_TORCH_EAGER, CM_RUNTIME_TORCH_COMPILE, CM_RUNTIME_MEGATRON};
static const int64_t      lengths[] = {128, 512, 2048, 8192, 131072};

static int32_t divisor(law_run *run, int32_t of, int32_t most)
{
    int32_t list[32] = {1}, n = 0;
    for (int32_t i = 1; i <= of && i <= most && n < 32; i++)
        if (of % i == 0) list[n++] = i;
    return list[law_random(run, (uint32_t)n)];
}

/* A random plan that divides the model evenly. */
static law_question random_question(law_run *run, const struct shape **shape)
{
    const struct shape *s = *shape = &LAW_PICK(run, shapes);
    bool                fp16 = law_random(run, 3) == 0;
    law_question        q = {.model = s->model, .device = LAW_PICK(run, devices), .seq = LAW_PICK(run, lengths),
                             .runtime = LAW_PICK(run, runtimes),
                             .precision = fp16 ? CM_PRECISION_FP16 : CM_PRECISION_BF16,
                             .recompute = (cm_recompute)law_random(run, CM_RECOMPUTES)};
    cm_plan            *p = &q.plan;
    p->tp = divisor(run, s->heads, 8);
    p->cp = q.seq >= 8192 ? divisor(run, 8, 8) : divisor(run, 4, 4);
    p->pp = divisor(run, s->layers, 4);
    p->dp = divisor(run, 4, 4);
    p->ep = s->experts > 1 ? divisor(run, p->dp * p->tp, s->experts) : 1;
    p->zero = p->dp > 1 ? (int32_t)law_random(run, 4) : 0;
    p->sequence_parallel = p->tp > 1 && law_random(run, 2);
    p->micro_batch = q.batch = 1 + law_random(run, 2);
    p->accumulate = 1 + (int32_t)law_random(run, 4);
    p->recompute = q.recompute;
    return q;
}

static double graph_flop(const cm_graph *g, int64_t batch, bool recompute)
{
    cm_totals t;
    cm_graph_totals(g, batch, &t);
    return cm_totals_matrix_flop(&t, CM_FORWARD) + cm_totals_matrix_flop(&t, CM_BACKWARD) +
           (recompute ? cm_totals_matrix_flop(&t, CM_RECOMPUTE) : 0);
}

/* a. Utilisation is at most 1, and every call has work. */
void law_utilisation(law_run *run)
{
    for (int i = 0; i < 250; i++) {
        const struct shape *s;
        law_question        q = random_question(run, &s);
        cm_prediction      *p = law_predict(&q);
        if (!p) {
            law_case(run, false, "%s: %s", law_text(&q), law_reason());
            continue;
        }
        const cm_prediction_info *info = cm_prediction_get_info(p);
        const char               *empty = NULL;
        for (int32_t k = 0; k < cm_prediction_ops(p); k++) {
            const cm_op_time *op = cm_prediction_op(p, k);
            if (!(op->bytes > 0) || !(op->time_s > 0) || (law_is_matrix(op->call) && !(op->flop > 0))) empty = op->call;
        }
        law_case(run, !(info->mfu > 1), "%s: MFU %.0f %%", law_text(&q), 100 * info->mfu);
        law_case(run, !empty, "%s: a call without work: %s", law_text(&q), empty ? empty : "");
        cm_prediction_free(p);
    }
}

/* Allows for matrix FLOP that every tensor-parallel device repeats: each runs the whole router of an expert layer. */
static bool divided_evenly(double sum, double whole, const char *model)
{
    return fabs(sum / whole - 1) <= (strncmp(model, "mixtral", 7) == 0 ? 0.03 : 0.003);
}

/* b. The FLOP of all devices add up to the model's. The listed calls are those of one device per stage. Unfused
   attention has 4 backward products, fused attention 5. */
void law_flop_add_up(law_run *run)
{
    for (int i = 0; i < 250; i++) {
        const struct shape *s;
        law_question        q = random_question(run, &s);
        cm_prediction      *p = law_predict(&q);
        if (!p) {
            law_case(run, false, "%s: %s", law_text(&q), law_reason());
            continue;
        }
        const cm_graph *g = law_step(&q);
        double          sum = 0, unfused = 0;
        for (int32_t k = 0; k < cm_prediction_ops(p); k++) {
            const cm_op_time *op = cm_prediction_op(p, k);
            const cm_node    *n = cm_graph_node(g, op->node);
            if (!law_is_matrix(op->call)) continue;
            sum += law_whole_flop(op);
            if (cm_node_class(n) == CM_CLASS_ATTENTION && n->phase == CM_BACKWARD && strncmp(op->call, "gemm", 4) == 0)
                unfused += op->flop / 4;
        }
        double devices_sharing = (double)q.plan.tp * q.plan.cp;
        double whole = graph_flop(g, q.batch, true);
        law_case(run, divided_evenly((sum + unfused) * devices_sharing, whole, q.model),
                 "%s: devices do %.4g FLOP, the model has %.4g (%.2f times)", law_text(&q), sum * devices_sharing, whole,
                 sum * devices_sharing / whole);
        cm_prediction_free(p);
    }
}

static double step_s(const law_question *q)
{
    cm_prediction *p = law_predict(q);
    double         time = p ? cm_prediction_get_info(p)->step_time_s : NAN;
    cm_prediction_free(p);
    return time;
}

/* A step takes no less time the fuller the fullest device is, and a device stores no more the more replicas share the
   experts. Beyond as many as there are replicas, tensor-parallel devices share whole experts instead of parts of all. */
void law_experts(law_run *run)
{
    for (int i = 0; i < 60; i++) {
        const struct shape *s;
        law_question        q = random_question(run, &s);
        double              last = INFINITY;
        q.model = shapes[3].model, q.seq = lengths[law_random(run, 4)];
        q.plan.cp = q.plan.pp = q.plan.ep = 1, q.plan.tp = 1 << law_random(run, 3), q.plan.dp = 2 << law_random(run, 2);
        q.plan.sequence_parallel = q.plan.tp > 1;
        for (q.plan.ep = 1; q.plan.ep <= shapes[3].experts && q.plan.ep <= q.plan.dp * q.plan.tp; q.plan.ep *= 2) {
            cm_memory_use use;
            bool          ok = law_memory(&q, &use);
            if (q.plan.ep == 2 * q.plan.dp) last = INFINITY;
            law_case(run, ok && use.peak_bytes <= last, "%s: %.4g bytes, %.4g with fewer", law_text(&q),
                     ok ? use.peak_bytes : NAN, last);
            if (ok) last = use.peak_bytes;
        }
        q.plan.ep /= 2;
        double even = step_s(&q);
        q.plan.expert_imbalance = 1.3;
        double uneven = step_s(&q);
        /* steps that the host bounds differ by rounding: the time at which each gradient is complete is a fraction */
        law_case(run, uneven >= even * (1 - 1e-6), "%s: %.6g s, %.6g s with an even load", law_text(&q), uneven, even);
    }
}

/* c. A device's memory and time fall with the number of devices that share them, by at most that number. */
void law_plans_divide(law_run *run)
{
    for (int i = 0; i < 120; i++) {
        const struct shape *s;
        law_question        whole = random_question(run, &s), part;
        if (whole.seq > 8192) whole.seq = 8192;
        whole.runtime = CM_RUNTIME_TORCH_EAGER;
        whole.plan = (cm_plan){.dp = 2, .micro_batch = whole.batch, .accumulate = 1, .recompute = whole.recompute};
        part = whole;
        int which = (int)law_random(run, 3);
        int32_t by = which == 0 ? divisor(run, s->heads, 8) : which == 1 ? divisor(run, 8, 8) : divisor(run, s->layers, 4);
        *(which == 0 ? &part.plan.tp : which == 1 ? &part.plan.cp : &part.plan.pp) = by;
        cm_memory_use a, b;
        if (!law_memory(&whole, &a) || !law_memory(&part, &b)) {
            law_case(run, false, "%s: %s", law_text(&part), law_reason());
            continue;
        }
        law_case(run, b.peak_bytes <= a.peak_bytes * 1.001, "%s: %.3g bytes of a device, %.3g without", law_text(&part),
                 b.peak_bytes, a.peak_bytes);
        if (a.peak_node != b.peak_node || which == 2) continue; /* stages have different nodes */
        law_case(run, b.categories[CM_CATEGORY_INPUT_OUTPUT] * by >= a.categories[CM_CATEGORY_INPUT_OUTPUT] * 0.5,
                 "%s: activations %.3g on each of %d, %.3g without", law_text(&part),
                 b.categories[CM_CATEGORY_INPUT_OUTPUT], by, a.categories[CM_CATEGORY_INPUT_OUTPUT]);
        double t = step_s(&whole), u = step_s(&part);
        law_case(run, u * by >= t * 0.9 || which == 2, "%s: %.4g s, %.4g s without: more than %d times faster", law_text(&part),
                 u, t, by);
    }
}

/* Bytes of the inputs of a stage's blocks, which recomputation keeps: in a stage of one block it frees little else. All
   heads have a width of 64. */
static double block_inputs(const law_question *q, const struct shape *s)
{
    double tokens = (double)q->batch * (double)q->seq / fmax(1, q->plan.cp);
    return 4 * tokens * 64 * s->heads * s->layers / fmax(1, q->plan.pp);
}

/* e. Recomputation computes more and stores less. */
void law_recompute(law_run *run)
{
    for (int i = 0; i < 120; i++) {
        const struct shape *s;
        law_question        q = random_question(run, &s);
        double              flop[CM_RECOMPUTES], peak[CM_RECOMPUTES];
        bool                ok = true;
        for (int r = 0; r < CM_RECOMPUTES && ok; r++) {
            cm_memory_use use;
            q.recompute = q.plan.recompute = (cm_recompute)r;
            ok = law_memory(&q, &use);
            if (!ok) continue;
            flop[r] = graph_flop(law_step(&q), q.batch, true);
            peak[r] = use.peak_bytes;
        }
        law_case(run, ok, "%s: %s", law_text(&q), law_reason());
        for (int r = 1; r < CM_RECOMPUTES && ok; r++) {
            law_case(run, flop[r] >= flop[r - 1], "%s: %.4g FLOP, %.4g with %s", law_text(&q), flop[r], flop[r - 1],
                     cm_recompute_name((cm_recompute)(r - 1)));
            law_case(run, peak[r] <= peak[r - 1] + fmax(peak[r - 1] * 0.001, block_inputs(&q, s)), "%s: %s needs %.4g bytes, %s %.4g", law_text(&q),
                     cm_recompute_name((cm_recompute)r), peak[r], cm_recompute_name((cm_recompute)(r - 1)), peak[r - 1]);
        }
    }
}
