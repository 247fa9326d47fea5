/* SPDX-License-Identifier: Apache-2.0 */
/* test_fuse_written.c - softmax, cross-entropy and norms as JAX's libraries write them, and similar patterns that are none. */
#include "graph_builder.h"

static void fuse(int32_t y, cm_fuse what)
{
    cm__output(g, y);
    cm__finish(g, what);
    cm__check(g);
}

static int32_t hidden(const char *dims) { return as("h", op(CM_OP_TANH, IN(input(dims)))); }
static int32_t sum(int32_t x) { return OP(REDUCE_SUM, IN(x), INTS(AXES, -1)); }
static int32_t shifted(int32_t x) { return op(CM_OP_SUB, IN(x, OP(REDUCE_MAX, IN(x), INTS(AXES, -1)))); }
static int32_t mean(int32_t x) { return op(CM_OP_DIV, IN(sum(x), number(4))); }

TEST(softmax_written_out)
{
    int32_t e = op(CM_OP_EXP, IN(shifted(hidden("B,7,4"))));
    fuse(op(CM_OP_DIV, IN(e, sum(e))), CM_FUSE_ALL);
    assert_int_equal(g->n_nodes, 2);
    assert_int_equal(find_node(g, "Softmax")->inputs[0], find_tensor(g, "h"));
}

TEST(softmax_as_run_eagerly)
{
    int32_t e = op(CM_OP_EXP, IN(shifted(hidden("B,7,4"))));
    fuse(op(CM_OP_DIV, IN(e, sum(e))), CM_FUSE_EAGER);
    assert_int_equal(g->n_nodes, 6);
}

TEST(exponentials_over_another_sum)
{
    int32_t x = hidden("B,7,4"), e = op(CM_OP_EXP, IN(shifted(x)));
    fuse(op(CM_OP_DIV, IN(e, sum(x))), CM_FUSE_ALL);
    assert_int_equal(g->n_nodes, 6);
}

TEST(norm_of_mean_squares)
{
    int32_t x = hidden("B,7,4"), squares = mean(op(CM_OP_MUL, IN(x, x))), m = mean(x);
    int32_t variance = op(CM_OP_SUB, IN(squares, op(CM_OP_MUL, IN(m, m))));
    int32_t root = op(CM_OP_RECIPROCAL, IN(op(CM_OP_ADD, IN(variance, number(1e-5)))));
    int32_t scaled = op(CM_OP_MUL, IN(op(CM_OP_SUB, IN(x, m)), op(CM_OP_MUL, IN(root, weight("scale", "4")))));
    fuse(op(CM_OP_ADD, IN(scaled, weight("shift", "4"))), CM_FUSE_ALL);
    assert_int_equal(g->n_nodes, 2);
    assert_int_equal(find_node(g, "LayerNormalization")->n_inputs, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_written_out),
        cmocka_unit_test(softmax_as_run_eagerly),
        cmocka_unit_test(exponentials_over_another_sum),
        cmocka_unit_test(norm_of_mean_squares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
