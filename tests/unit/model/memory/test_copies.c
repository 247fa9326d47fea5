/* SPDX-License-Identifier: Apache-2.0 */
/* test_copies.c - a linear layer of a transposed input stores a copy, and not the input. */
#include "memory_case.h"
#include "import/import.h"
#include "graph/rule.h"
#include "model/memory/footprint.h"

/* -x, transposed or not, by a linear layer: B x 8 x 6 -> B x 8 x 5. */
static cm_graph *layer(bool turned)
{
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (!ctx || setjmp(ctx->trap)) fail_msg("no graph");
    cm_graph *g = cm__graph_new(ctx, "test", "test"), *step;
    cm_dim    dims[] = {{1, 0}, {0, turned ? 6 : 8}, {0, turned ? 8 : 6}};
    cm__attr  perm = CM__INTS(CM_ATTR_PERM, 0, 2, 1), trans = CM__INTS(CM_ATTR_TRANS_B, 1);
    int32_t   x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 3, dims), w = cm__parameter(g, "w", 2, (int64_t[]){5, 6});
    int32_t   y = cm__emit(g, CM_OP_NEG, "neg", &x, 1, NULL, 0);
    if (turned) y = cm__emit(g, CM_OP_TRANSPOSE, "turn", &y, 1, &perm, 1);
    cm__output(g, cm__emit(g, CM_OP_GEMM, "layer", (int32_t[]){y, w}, 2, &trans, 1));
    cm__finish(g, CM_FUSE_EAGER);
    cm_train_options o = {.precision = CM_PRECISION_FP32, .loss = CM_LOSS_MSE};
    assert_int_equal(cm_graph_train(g, &o, &step, NULL), CM_OK);
    cm__ctx_free(ctx);
    return step;
}

static int32_t node(const cm_graph *g, int op)
{
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == op) return i;
    fail_msg("no node of operator %d", op);
    return -1;
}

static void test_turned(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        cm_graph     *step = layer(turned);
        cm_footprint *f;
        assert_int_equal(cm_footprint_new(step, h200, NULL, &f, NULL), CM_OK);
        int32_t neg = node(step, CM_OP_NEG), gemm = node(step, CM_OP_GEMM), back = node(step, CM_OP_GEMM_GRAD_WEIGHT);
        int32_t copies = 0;
        for (int32_t p = 0; p < f->n_pieces; p++) {
            const cm__piece *x = &f->pieces[p];
            if (x->tensor == step->nodes[neg].outputs[0]) assert_int_equal(x->dies, turned ? gemm : back);
            if (x->tensor != step->nodes[gemm].inputs[0] || x->born != gemm) continue;
            copies++;
            assert_int_equal(x->dies, back);
            near(cm_poly_at(&x->bytes, 2), 4.0 * 2 * 8 * 6, 0);
        }
        assert_int_equal(copies, turned);
        cm_footprint_free(f);
        cm_graph_free(step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_turned)};
    return cmocka_run_group_tests(tests, begin, end);
}
