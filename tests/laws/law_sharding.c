/* SPDX-License-Identifier: Apache-2.0 */
/* law_sharding.c - sharded training and losses: what stores less in name stores less in fact. */
#include <string.h>
#include "ask.h"
#include "model/memory/footprint.h"

static const char *const models[] = {
    "gpt:layers=6,hidden=1024,heads=16,vocab=50304",
    "llama:layers=8,hidden=1024,heads=16,kv_heads=4,ffn=2816,vocab=32000",
    "llama:layers=24,hidden=2048,heads=16,ffn=5632,vocab=128256",
    "bert:layers=12,hidden=768,heads=12,vocab=30528",
};
static const char *const  devices[] = {"nvidia-h200", "nvidia-h100", "nvidia-a100-80g", "nvidia-b200", "amd-mi300x"};
static const cm_runtime   runtimes[] = {CM_RUNTIME_TORCH_EAGER, CM_RUNTIME_TORCH_COMPILE};
static const cm_precision precisions[] = {CM_PRECISION_AMP_BF16, CM_PRECISION_BF16, CM_PRECISION_FP32};
static const int64_t      lengths[] = {128, 1024, 4096, 32768};

static law_question random_question(law_run *run)
{
    return (law_question){.model = LAW_PICK(run, models), .device = LAW_PICK(run, devices),
                          .seq = LAW_PICK(run, lengths), .runtime = LAW_PICK(run, runtimes), .precision = LAW_PICK(run, precisions),
                          .recompute = (cm_recompute)law_random(run, CM_RECOMPUTES), .batch = 1 + law_random(run, 4)};
}

/* Bytes that a stage stores in addition to its shards: two units of weights, two copies of a unit's gradients. */
static double buffers(const law_question *q, int stage)
{
    cm__ctx  *ctx = cm__ctx_new(NULL);
    cm__units units = cm__units_of(ctx, law_step(q));
    cm__ctx_free(ctx);
    return stage == 2 ? 2 * units.gradient_bytes : stage == 3 ? units.gathered_bytes : 0;
}

/* A higher stage of ZeRO stores less, except for its buffers: a table of many words may be most of a model. */
void law_zero_stores_less(law_run *run)
{
    for (int i = 0; i < 120; i++) {
        law_question q = random_question(run);
        double       peak[4];
        bool         ok = true;
        q.plan = (cm_plan){.dp = 2 << law_random(run, 5), .micro_batch = q.batch,
                           .accumulate = 1 + (int32_t)law_random(run, 2), .recompute = q.recompute};
        for (q.plan.zero = 0; q.plan.zero <= 3 && ok; q.plan.zero++) {
            cm_memory_use use;
            ok = law_memory(&q, &use);
            if (ok) peak[q.plan.zero] = use.peak_bytes;
        }
        q.plan.zero = 0;
        law_case(run, ok, "%s: %s", law_text(&q), law_reason());
        for (int z = 1; z <= 3 && ok; z++)
            law_case(run, peak[z] <= peak[z - 1] * 1.001 + buffers(&q, z), "%s: ZeRO %d needs %.4g bytes, ZeRO %d %.4g",
                     law_text(&q), z, peak[z], z - 1, peak[z - 1]);
    }
}

/* Operators of forward and backward; products and attention count for each type of their first input. */
static void count_operators(const cm_graph *step, int32_t counts[CM_OPS][CM_DTYPES])
{
    for (int32_t i = 0; i < step->n_nodes; i++) {
        const cm_node *n = &step->nodes[i];
        bool           product = cm__class(n) == CM_CLASS_GEMM || cm__class(n) == CM_CLASS_ATTENTION;
        if (n->op == CM_OP_CAST || n->phase == CM_UPDATE) continue;
        counts[n->op][product ? cm__t(step, n->inputs[0])->dtype : 0]++;
    }
}

/* ZeRO changes communication and memory. It does not change what is computed, or in which precision. */
void law_zero_keeps_precision(law_run *run)
{
    for (int i = 0; i < 60; i++) {
        law_question    q = random_question(run);
        int32_t         counts[4][CM_OPS][CM_DTYPES] = {0};
        bool            ok = true;
        static const cm_precision mixed[] = {CM_PRECISION_AMP_BF16, CM_PRECISION_AMP_FP16, CM_PRECISION_FP8};
        if (law_random(run, 2)) q.precision = LAW_PICK(run, mixed);
        for (q.plan = (cm_plan){.dp = 8}; q.plan.zero <= 3 && ok; q.plan.zero++) {
            const cm_graph *step = law_step(&q);
            ok = step != NULL;
            if (ok) count_operators(step, counts[q.plan.zero]);
            law_case(run, ok && memcmp(counts[q.plan.zero], counts[0], sizeof counts[0]) == 0,
                     "%s: other operators or types of products than without ZeRO", law_text(&q));
        }
    }
}

/* More replicas share more, and none of them needs more memory. */
void law_replicas_share(law_run *run)
{
    for (int i = 0; i < 80; i++) {
        law_question q = random_question(run);
        double       last = INFINITY;
        q.plan = (cm_plan){.zero = 1 + (int32_t)law_random(run, 3), .micro_batch = q.batch, .accumulate = 1,
                           .recompute = q.recompute};
        for (q.plan.dp = 2; q.plan.dp <= 512; q.plan.dp *= 4) {
            cm_memory_use use;
            bool          ok = law_memory(&q, &use);
            law_case(run, ok && use.peak_bytes <= last, "%s: %.4g bytes, %.4g on fewer", law_text(&q), use.peak_bytes,
                     last);
            if (ok) last = use.peak_bytes;
        }
    }
}

/* A fused loss stores less than the plain one and takes no longer; a chunked one stores less still. */
void law_loss_kernels(law_run *run)
{
    static const cm_loss_kernel kernels[] = {CM_LOSS_KERNEL_PLAIN, CM_LOSS_KERNEL_FUSED, CM_LOSS_KERNEL_CHUNKED};
    for (int i = 0; i < 60; i++) {
        law_question q = random_question(run);
        double       peak = INFINITY, time = INFINITY;
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
            cm_memory_use use;
            q.loss_kernel = kernels[k];
            cm_prediction *p = law_memory(&q, &use) ? law_predict(&q) : NULL;
            law_case(run, p != NULL, "%s: %s", law_text(&q), law_reason());
            if (!p) break;
            double now = cm_prediction_get_info(p)->step_time_s;
            law_case(run, use.peak_bytes <= peak * 1.001, "%s, %s loss: %.4g bytes, more than %.4g", law_text(&q),
                     cm_loss_kernel_name(kernels[k]), use.peak_bytes, peak);
            law_case(run, now <= time * 1.001, "%s, %s loss: %.4g s, longer than %.4g", law_text(&q),
                     cm_loss_kernel_name(kernels[k]), now, time);
            peak = use.peak_bytes;
            time = now;
            cm_prediction_free(p);
        }
    }
}
