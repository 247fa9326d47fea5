/* SPDX-License-Identifier: Apache-2.0 */
/* test_expression.c - an RMS norm written out: its operators in order, and the shapes between them. */
#include "graph_builder.h"
#include "graph/rules/expression.h"

/* x * 1 / root(mean(x^2) + eps) * weight over the last dimension of [B, 7, 6]: the mean has a number for each row of 6. */
TEST(an_rms_norm_written_out)
{
    static const int operators[] = {CM_OP_POW, CM_OP_REDUCE_MEAN, CM_OP_ADD, CM_OP_RECIPROCAL, CM_OP_MUL, CM_OP_MUL};
    int32_t x = input("B,7,6"), scale = weight("scale", "6");
    op(CM_OP_RMS_NORM, IN(x, scale));
    cm_node norm = g->nodes[g->n_nodes - 1];
    int32_t before = g->n_nodes, y = cm__rms_norm_written_out(g, &norm, x, scale);
    assert_int_equal(g->n_nodes - before, sizeof operators / sizeof *operators);
    for (int32_t i = 0; i < 6; i++) assert_int_equal(g->nodes[before + i].op, operators[i]);
    const cm_tensor *mean = cm__t(g, g->nodes[before + 1].outputs[0]), *result = cm__t(g, y);
    assert_int_equal(mean->rank, 3);
    assert_int_equal(mean->dims[1].fixed, 7);
    assert_int_equal(mean->dims[2].fixed, 1);
    assert_int_equal(result->dims[2].fixed, 6);
    assert_int_equal(result->producer, before + 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_rms_norm_written_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
