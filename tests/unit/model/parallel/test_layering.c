/* SPDX-License-Identifier: Apache-2.0 */
/* test_layering.c - parameters, boundaries and sums of the parts of a transformer. */
#include "plan_case.h"
#include "model/parallel/layering.h"

#define LAYERS 3
#define HIDDEN 64
#define SEQ 32
#define MODEL "gpt:layers=3,hidden=64,heads=4,seq=32,vocab=128"

static cm__layering *layering(cm__ctx *ctx, const cm_graph *step, int32_t tp)
{
    cm_plan       plan = {.tp = tp, .ep = 1, .cp = 1};
    cm__dispatch *calls = cm__dispatch_shard(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER, &plan, false);
    return cm__layering_new(ctx, step, calls, NULL);
}

/* A layer has 12 h^2 + 13 h parameters, of which tensor parallelism divides the matrices and the biases of columns. */
static void parameters(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph     *step = step_of(MODEL, CM_RECOMPUTE_NONE);
    cm__layering *whole = layering(ctx, step, 1), *half = layering(ctx, step, 2);
    double        h = HIDDEN, sum = 0;
    assert_int_equal(whole->count, LAYERS + 2);
    is(whole->parameters[1].trained, 12 * h * h + 13 * h);
    assert_true(half->parameters[1].trained >= 6 * h * h + 6.5 * h);
    assert_true(half->parameters[1].trained < 6 * h * h + 13 * h);
    for (int32_t i = 0; i < whole->count; i++) sum += whole->parameters[i].trained;
    is(whole->all_parameters, sum);
    sum = 0;
    for (int32_t i = 0; i < whole->n_gradients; i++) sum += whole->gradients[i].elements;
    is(sum, whole->all_parameters);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* One tensor of hidden states crosses each boundary between layers. Two devices sum it twice per layer in forward. */
static void boundaries_and_sums(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph     *step = step_of(MODEL, CM_RECOMPUTE_NONE);
    cm__layering *whole = layering(ctx, step, 1), *half = layering(ctx, step, 2);
    double        bytes = 0, sums = 0;
    for (int32_t i = 0; i < whole->n_boundaries; i++)
        if (whole->boundaries[i].part == 1) bytes += cm_poly_at(&whole->boundaries[i].bytes, 1);
    for (int32_t i = 0; i < half->n_sums; i++) sums += half->sums[i].part == 1 && half->sums[i].forward;
    assert_true(bytes == 4.0 * SEQ * HIDDEN || bytes == 2.0 * SEQ * HIDDEN);
    is(sums, 2);
    assert_int_equal(whole->n_sums, 0);
    for (int32_t i = 0; i < half->n_kept; i++) assert_int_equal(half->kept[i].part, half->count / 2);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Latent attention's middle layer of experts: Megatron-LM stores neither the activation of a gated network, of which
   there are two, nor the results of two experts per token, and of 4 x (128 + 128) keys and values per token the values
   alone. */
static void experts(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of("deepseek:layers=2,hidden=64,heads=4,ffn=96,vocab=100,seq=16,experts=4,top_k=2,expert_ffn=32,"
                             "shared_ffn=48,dense_layers=0,q_rank=32", CM_RECOMPUTE_NONE);
    cm__layering *l = layering(ctx, step, 1);
    double        less = 0;
    for (int32_t i = 0; i < l->n_kept; i++)
        less += cm_poly_at(&l->kept[i].bytes, 1) - cm_poly_at(&l->kept[i].fused_bytes, 1);
    is(less, 2.0 * 16 * (2 * 64 + 2 * 32 + 48 + 4 * 128));
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* The middle layer of a Llama stores one activation of a gated product, which has the width of the feed-forward layer;
   that of a GPT stores none. */
static void gates(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph     *gated = step_of("llama:layers=2,hidden=64,heads=4,ffn=192,vocab=100,seq=16", CM_RECOMPUTE_NONE),
             *plain = step_of(MODEL, CM_RECOMPUTE_NONE);
    cm__layering *with = layering(ctx, gated, 1), *without = layering(ctx, plain, 1);
    int32_t       found = 0;
    for (int32_t i = 0; i < with->n_kept; i++) {
        bool fused = cm_poly_at(&with->kept[i].fused_bytes, 1) == 0;
        found += fused;
        if (fused) is(cm_poly_at(&with->kept[i].bytes, 1), 2.0 * 16 * 192);
    }
    assert_int_equal(found, 1);
    for (int32_t i = 0; i < without->n_kept; i++) assert_true(cm_poly_at(&without->kept[i].fused_bytes, 1) > 0);
    cm_graph_free(gated);
    cm_graph_free(plain);
    cm__ctx_free(ctx);
}

/* Another plan with the same division of tensors has the same sums and boundaries, whether they are found again or taken
   over; parameters follow the number of devices. */
static void taken_over(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph        *step = step_of(MODEL, CM_RECOMPUTE_FULL);
    const cm__twins *twins = cm__twins_of(ctx, step);
    cm__layering    *last = NULL;
    cm__dispatch    *calls = NULL;
    for (int i = 0; i < 4; i++) {
        cm_plan plan = {.tp = i < 2 ? 2 : 4, .ep = 1, .cp = 1 + i % 2, .sequence_parallel = i % 2};
        calls = cm__dispatch_twins(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER, &plan, false, twins, calls);
        cm__layering *own = cm__layering_new(ctx, step, calls, NULL);
        last = cm__layering_new(ctx, step, calls, last);
        assert_int_equal(last->n_sums, own->n_sums);
        for (int32_t k = 0; k < own->n_sums; k++) {
            assert_int_equal(last->sums[k].node, own->sums[k].node);
            is(cm_poly_at(&last->sums[k].bytes, 3), cm_poly_at(&own->sums[k].bytes, 3));
        }
        assert_memory_equal(last->gathered_for, own->gathered_for, (size_t)step->n_nodes * sizeof *own->gathered_for);
        assert_memory_equal(last->weight_input, own->weight_input, (size_t)step->n_nodes * sizeof *own->weight_input);
        for (int32_t k = 0; k < own->count; k++) is(last->parameters[k].trained, own->parameters[k].trained);
        is(last->all_parameters, own->all_parameters);
        assert_int_equal(last->n_boundaries, own->n_boundaries);
        assert_int_equal(last->n_attentions, own->n_attentions);
    }
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parameters), cmocka_unit_test(boundaries_and_sums),
                                       cmocka_unit_test(taken_over),
                                       cmocka_unit_test(gates), cmocka_unit_test(experts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
