/* SPDX-License-Identifier: Apache-2.0 */
/* test_state_space.c - state-space layers: FLOP counted by hand, what backward keeps, and shapes that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "graph/rule.h"
#include "graph/rules/state_space.h"

static cm_diag diag;

/* 4 heads of 2 numbers, a group, states of 3, chunks of 8 tokens, a convolution over 4: [B, 16, gate 8, channels 14,
   time steps 4]. */
static const int64_t mamba2[CM__SCAN_SIZES] = {CM__SCAN_MAMBA2, 4, 2, 1, 3, 8, 4};

static cm_graph *built(cm__ctx *ctx, const int64_t *sizes, int64_t wide)
{
    cm_graph *g = cm__graph_new(ctx, "test", "test");
    cm_dim    dims[] = {{1, 0}, {0, 16}, {0, wide}};
    cm__attr  scan = {.key = CM_ATTR_SCAN, .count = CM__SCAN_SIZES, .ints = sizes};
    cm__scan  s = {sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], sizes[6]};
    int32_t   inputs[CM__SCAN_INPUTS];
    for (int i = 0; i < CM__SCAN_INPUTS; i++) inputs[i] = -1;
    inputs[CM__SCAN_PROJECTED] = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 3, dims);
    inputs[CM__SCAN_CONV] = cm__parameter(g, "conv", 3, (int64_t[]){cm__scan_channels(&s), 1, s.kernel});
    inputs[CM__SCAN_DECAY] = cm__parameter(g, "decay", 1, (int64_t[]){s.heads});
    cm__output(g, cm__emit(g, CM_OP_STATE_SPACE, "scan", inputs, CM__SCAN_INPUTS, &scan, 1));
    return g;
}

/* Per token: 2 x 8 x 3 (C B^T), 2 x 4 x 2 x 3 (states), 2 x 4 x 2 x (4 + 3) (results), 2 x 4 x 14 (convolution). */
static void flop_are_those_of_chunks(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph *g = built(ctx, mamba2, 26), *step;
    cm__finish(g, CM_FUSE_ALL);
    double forward = 2 * 8 * 3 + 2 * 4 * 2 * 3 + 2 * 4 * 2 * (4 + 3) + 2 * 4 * 14;
    double backward = 2 * 8 * 3 + 2 * (2 * 4 * 2 * 3) + 2 * 4 * 2 * (4 + 3) /* again, and the gradient of x */
                      + 2 * (2 * 4 * 3 * 2) + 2 * 4 * 4 * 2 + 2 * (2 * 3 * 8) + 3 * (2 * 4 * 14);
    assert_true(cm__poly_at(&g->nodes[0].flop, 5) == 5 * 16 * forward);
    assert_int_equal(cm_graph_train(g, &(cm_train_options){.precision = CM_PRECISION_FP32}, &step, &diag), CM_OK);
    int32_t found = 0;
    for (int32_t i = 0; i < step->n_nodes; i++) {
        const cm_node *n = &step->nodes[i];
        if (n->op != CM_OP_STATE_SPACE_GRAD) continue;
        found++;
        assert_true(cm__poly_at(&n->flop, 5) == 5 * 16 * backward);
        assert_int_equal(n->n_inputs, 5);  /* the gradient, x, two weights, the result before the gate */
        assert_int_equal(n->n_outputs, 2); /* an input of the model needs no gradient */
    }
    assert_int_equal(found, 1);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Mamba: 11 FLOP for each number of the state, and its convolution has no B and C. */
static void a_recurrence_has_no_products(void **state)
{
    const cm__scan   s = {CM__SCAN_MAMBA, 8, 1, 1, 16, 1, 4};
    cm__scan_product p[CM__SCAN_PRODUCTS];
    (void)state;
    assert_int_equal(cm__scan_products(&s, p), 0);
    assert_int_equal(cm__scan_channels(&s), 8);
    assert_true(cm__scan_functions(&s) == 11 * 8 * 16 + 2 * 4 * 8);
}

static void narrow_inputs_are_refused(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) {
        assert_int_equal(ctx->status, CM_ERR_FORMAT);
        cm__ctx_abandon(ctx);
        return;
    }
    built(ctx, mamba2, 21); /* 8 + 14 are needed */
    fail_msg("accepted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(flop_are_those_of_chunks),
                                       cmocka_unit_test(a_recurrence_has_no_products),
                                       cmocka_unit_test(narrow_inputs_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
