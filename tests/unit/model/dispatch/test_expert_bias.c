/* SPDX-License-Identifier: Apache-2.0 */
/* test_expert_bias.c - biases and clamps of experts under Megatron Core. */
#include "plan_case.h"
#include "model/dispatch/expert_bias.h"

#define TOKENS 64.0
#define TOP_K  2
#define HIDDEN 256
#define INNER  512

typedef struct counted {
    double copied;     /* bytes of copies */
    int    clipped;    /* kernels that clamp */
    int    kernels;    /* of biases and clamps in all */
} counted;

static counted count(const cm_graph *step, const cm__dispatch *d)
{
    counted c = {0};
    for (int32_t k = 0; k < d->n_of; k++) {
        const cm__sized_call *call = &d->calls[d->of[k]];
        if (!cm__expert_plain(d, &step->nodes[d->node[k]])) continue;
        c.kernels++;
        c.clipped += strcmp(call->variant, "clip") == 0;
        if (strcmp(call->variant, "copy") == 0) c.copied += 8 * cm__poly_at(&call->sizes[CM__ELEMENTWISE_INNER], 1);
    }
    return c;
}

/* Bytes per row and number of the hidden width for the bias of the second product. Probabilities of fp32 make fp32
   products: b * p (4), its sum with t (2 + 4 + 4), the concatenation (4 + 4), a cast (4 + 2); in backward two casts
   (2 + 4, 4 + 2), two products with their sums (4 + 4 + 4 each) and a concatenation (2 + 2). With probabilities in 16
   bits: 2, 2 + 2 + 2 and 2 + 2; in backward 2 + 2 + 2 twice, and 2 + 2. Two clamped halves of the inner width are
   concatenated, and their gradients too: 2 + 2 each. */
static void biases_are_plain_operators(void **state)
{
    (void)state;
    static const struct {
        int32_t      software;
        cm_precision precision;
        double       bias;
    } cases[] = {{0, CM_PRECISION_FP16, 28 + 40}, {2025, CM_PRECISION_FP16, 12 + 16},
                 {2025, CM_PRECISION_FP8, 12 + 16}};
    const double rows = TOKENS * TOP_K;
    cm__ctx     *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of("gpt-oss:layers=1,hidden=256,heads=4,kv_heads=4,head_dim=64,ffn=512,seq=64,vocab=512,"
                             "experts=8,top_k=2", CM_RECOMPUTE_NONE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        step->software = cases[i].software;
        step->precision = cases[i].precision;
        cm__dispatch *d = cm__dispatch_shard(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_MEGATRON,
                                             &(cm_plan){.tp = 1, .ep = 4, .cp = 1}, false);
        counted c = count(step, d);
        is(c.copied, rows * HIDDEN * cases[i].bias + 2 * 2 * rows * INNER * (2 + 2));
        assert_int_equal(c.clipped, 2);
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
    assert_int_equal(count(step, d).kernels, 0);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(biases_are_plain_operators),
                                       cmocka_unit_test(eight_bits_join_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
