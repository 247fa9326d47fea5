/* SPDX-License-Identifier: Apache-2.0 */
/* test_expert_bias.c - biases and clamps of experts under Megatron Core. */
#include "graph/releases.h"
#include "plan_case.h"
#include "model/dispatch/expert_bias.h"

#define TOKENS 64.0
#define TOP_K  2
#define HIDDEN 256
#define INNER  512

/* Elements that the kernels of a variant cover, among those of biases and clamps; "": of all kernels. */
static double covered(const cm_graph *step, const cm__dispatch *d, const char *variant, const char *dtype)
{
    double sum = 0;
    for (int32_t k = 0; k < d->n_of; k++) {
        const cm__sized_call *call = &d->calls[d->of[k]];
        bool                  named = !*variant || (call->variant == cm__variant_find(variant) && call->types == cm__types_find(dtype));
        if (!named || !cm__expert_plain(d, &step->nodes[d->node[k]])) continue;
        int    sizes = call->op == CM__CALL_REDUCE ? 3 : 2;
        double elements = 1;
        for (int i = 0; i < sizes; i++) elements *= cm__poly_at(&call->sizes[i], 1);
        sum += elements;
    }
    return sum;
}

/* t + b * p of the second product and a concatenation; in backward g * p, g * b, the sum of each, and a concatenation.
   Probabilities in fp32 (DeepEP, HybridEP) make fp32 products, and three casts. Two halves of the inner width are
   clamped and concatenated; their gradients compare them with one and with two limits. */
static void biases_are_plain_operators(void **state)
{
    (void)state;
    static const struct {
        int32_t      software;
        cm_precision precision;
        bool         wide;
    } cases[] = {{0, CM_PRECISION_FP16, true}, {2025, CM_PRECISION_FP16, false}, {2025, CM_PRECISION_FP8, false}};
    const double outer = TOKENS * TOP_K * HIDDEN, inner = TOKENS * TOP_K * INNER;
    cm__ctx     *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of("gpt-oss:layers=1,hidden=256,heads=4,kv_heads=4,head_dim=64,ffn=512,seq=64,vocab=512,"
                             "experts=8,top_k=2", CM_RECOMPUTE_NONE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool wide = cases[i].wide;
        step->asked.software = cm__software_of_year(cases[i].software);
        step->precision = cases[i].precision;
        cm__dispatch *d = cm__dispatch_shard(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_MEGATRON,
                                             &(cm_plan){.tp = 1, .ep = 4, .cp = 1}, false);
        is(covered(step, d, "clip:part", "bf16"), (2 + 3) * inner);
        is(covered(step, d, "where", "fp32"), 2 * inner);
        is(covered(step, d, "cat", "bf16"), (2 + 2) * inner + (wide ? 1 : 2) * outer);
        is(covered(step, d, "cat", "fp32"), wide ? outer : 0);
        is(covered(step, d, "add", wide ? "bf16+fp32>fp32" : "bf16"), outer);
        is(covered(step, d, "mul:col", "bf16"), wide ? 0 : 2 * outer);
        is(covered(step, d, "mul:col", "bf16+fp32>fp32"), wide ? outer : 0);
        is(covered(step, d, "mul:row", wide ? "bf16+fp32>fp32" : "bf16"), outer);
        is(covered(step, d, "sum", wide ? "fp32" : "bf16"), 2 * outer);
        is(covered(step, d, "copy", "fp32>bf16"), wide ? 2 * outer : 0);
        is(covered(step, d, "copy", "bf16>fp32"), wide ? outer : 0);
    }
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Transformer Engine's op fuser has one kernel for a grouped product in 8 bits, its biases and the activation. */
static void eight_bits_join_them(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of("gpt-oss:layers=1,hidden=256,heads=4,kv_heads=4,head_dim=64,ffn=512,seq=64,vocab=512,"
                             "experts=8,top_k=2", CM_RECOMPUTE_NONE);
    step->precision = CM_PRECISION_FP8;
    cm__dispatch *d = cm__dispatch_shard(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_MEGATRON,
                                         &(cm_plan){.tp = 1, .ep = 4, .cp = 1}, false);
    is(covered(step, d, "", ""), 0);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(biases_are_plain_operators),
                                       cmocka_unit_test(eight_bits_join_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
