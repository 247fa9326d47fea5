/* SPDX-License-Identifier: Apache-2.0 */
/* test_megatron.c - Megatron-LM's kernel calls: unfused attention and the loss that devices share. */
#include "graph/releases.h"
#include "plan_case.h"

/* Unfused attention of Megatron-LM: two products forward, four backward, and forward again if recomputed. */
static void unfused(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph     *step = step_of(GPT, CM_RECOMPUTE_FULL);
    cm__dispatch *d = cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_MEGATRON);
    int32_t       products = 0, softmaxes[CM__PASSES] = {0};
    for (int32_t i = 0; i < d->n_of; i++) {
        const cm_node        *n = &step->nodes[d->node[i]];
        const cm__sized_call *c = &d->calls[d->of[i]];
        products += cm_node_class(n) == CM_CLASS_ATTENTION && c->op == CM__CALL_GEMM;
        if (c->op == CM__CALL_SOFTMAX) softmaxes[c->pass]++;
        assert_int_not_equal(c->op, CM__CALL_ATTENTION);
    }
    assert_int_equal(products, 4 * (2 + 2 + 4));
    assert_int_equal(softmaxes[CM__PASS_FORWARD], 4 * 2);
    assert_int_equal(softmaxes[CM__PASS_BACKWARD], 4);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

static int32_t calls_of(const cm__dispatch *d, int op, int class, double *second)
{
    int32_t count = 0;
    for (int32_t i = 0; i < d->n_of; i++) {
        if (d->g->nodes[d->node[i]].op != op || d->calls[d->of[i]].op != class) continue;
        *second = cm_poly_at(&d->calls[d->of[i]].sizes[1], 2);
        count++;
    }
    return count;
}

/* Megatron-LM's loss: maximum, exponentials, sum, probabilities; backward is one pass. Tensor parallelism divides
   the classes. */
static void written_loss(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of(GPT, CM_RECOMPUTE_NONE);
    for (int tp = 1; tp <= 4; tp *= 4) {
        cm_plan       plan = {.tp = tp, .ep = 1};
        cm__dispatch *d = cm__dispatch_shard(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_MEGATRON, &plan, true);
        double        elements, classes;
        assert_int_equal(calls_of(d, CM_OP_CROSS_ENTROPY, CM__CALL_ELEMENTWISE, &elements), 3);
        is(elements, 2 * 127 * 1024.0 / tp); /* the last token of a sample has no label */
        assert_int_equal(calls_of(d, CM_OP_CROSS_ENTROPY, CM__CALL_REDUCE, &classes), 2);
        is(classes, 1024.0 / tp);
        assert_int_equal(calls_of(d, CM_OP_LOSS_GRAD, CM__CALL_ELEMENTWISE, &elements), 1);
        assert_int_equal(calls_of(d, CM_OP_CROSS_ENTROPY, CM__CALL_CROSS_ENTROPY, &elements), 0);
    }
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

#define LLAMA "llama:layers=2,hidden=256,heads=4,ffn=512,seq=64,vocab=512"

/* Kernels of forward in the first layer whose first operator is of a class. */
static int32_t kernels_under(cm__ctx *ctx, cm_graph *step, cm_runtime runtime, cm_class class)
{
    cm__dispatch *d = cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, runtime);
    int32_t       count = 0;
    for (int32_t i = 0; i < d->n_of; i++) {
        const cm_node *n = &step->nodes[d->node[i]];
        count += n->block == 0 && n->phase == CM_FORWARD && cm_node_class(n) == class;
    }
    return count;
}

static int32_t kernels_of(cm__ctx *ctx, cm_graph *step, int32_t software, cm_class class)
{
    step->asked.software = cm__software_of_year(software);
    return kernels_under(ctx, step, CM_RUNTIME_MEGATRON, class);
}

/* Eager PyTorch with fused kernels: four operators of rotary positions become one, for queries and for keys; SiLU and its
   product with the other half stay two. */
static void fused_kernels(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of(LLAMA, CM_RECOMPUTE_NONE);
    assert_int_equal(kernels_under(ctx, step, CM_RUNTIME_TORCH_EAGER, CM_CLASS_ELEMENTWISE), 2 * 4 + 2 + 2);
    step->asked.script.fused_kernels = true;
    assert_int_equal(kernels_under(ctx, step, CM_RUNTIME_TORCH_EAGER, CM_CLASS_ELEMENTWISE), 2 * 1 + 2 + 2);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Calls of the nodes that unpack weights, in forward. */
static int32_t unpacking(cm__ctx *ctx, cm_quantize quantize, int32_t year, bool fused)
{
    cm_graph        *forward, *step;
    cm_load_options  load = {.fuse = CM_FUSE_EAGER};
    cm_train_options o = {.precision = CM_PRECISION_BF16, .software = cm__software_of_year(year),
                          .tuning = {.rank = 2, .quantize = quantize}};
    int32_t          count = 0;
    assert_int_equal(cm_graph_load(LLAMA, &load, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &o, &step, NULL), CM_OK);
    step->asked.script.fused_kernels = fused;
    cm__dispatch *d = cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER);
    for (int32_t i = 0; i < d->n_of; i++)
        count += step->nodes[d->node[i]].op == CM_OP_UNPACK && step->nodes[d->node[i]].phase == CM_FORWARD;
    cm_graph_free(step);
    cm_graph_free(forward);
    return count;
}

/* A weight is unpacked by one kernel, also where norms and rotary positions are fused; by the operators of AutoGPTQ of
   2023 with four times the traffic of a 16-bit copy. */
static void unpacked_weights(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    int32_t weights = unpacking(ctx, CM_QUANTIZE_NF4, 0, false);
    assert_true(weights > 0);
    assert_int_equal(unpacking(ctx, CM_QUANTIZE_NF4, 0, true), weights);
    assert_int_equal(unpacking(ctx, CM_QUANTIZE_GPTQ4, 0, true), weights);
    assert_int_equal(unpacking(ctx, CM_QUANTIZE_GPTQ4, 2023, true), 4 * weights);
    cm__ctx_free(ctx);
}

/* Megatron Core: rotary positions take one of these kernels for each of queries and keys instead of four, the activation
   one instead of two. Products and norms stay. */
static void core(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *step = step_of(LLAMA, CM_RECOMPUTE_NONE);
    int32_t   before = kernels_of(ctx, step, 2023, CM_CLASS_ELEMENTWISE), after = kernels_of(ctx, step, 0, CM_CLASS_ELEMENTWISE);
    assert_int_equal(before, 2 * 4 + 2 + 2); /* four kernels each for rotary queries and keys, two of the activation, two residual sums */
    assert_int_equal(after, 2 * 1 + 1 + 2);
    assert_int_equal(kernels_of(ctx, step, 0, CM_CLASS_GEMM), kernels_of(ctx, step, 2023, CM_CLASS_GEMM));
    assert_int_equal(kernels_of(ctx, step, 0, CM_CLASS_NORM), kernels_of(ctx, step, 2023, CM_CLASS_NORM));
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(core),
        cmocka_unit_test(fused_kernels),
        cmocka_unit_test(unpacked_weights),
        cmocka_unit_test(unfused),
        cmocka_unit_test(written_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
