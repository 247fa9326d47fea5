/* SPDX-License-Identifier: Apache-2.0 */
/* test_split.c - which products tensor-parallel devices divide: columns, then rows, as in Megatron-LM. */
#include "graph/plan/split.h"
#include "graph_builder.h"

static bool split[256];

static void find(void)
{
    memset(split, 0, sizeof split);
    assert_in_range(g->n_tensors, 0, 255);
    cm__find_split(g, split);
}

static cm__division division(int32_t tensor)
{
    return cm__division_of(g, &g->nodes[cm__t(g, tensor)->producer], split);
}

/* An MLP: the first product divides its columns, the activation keeps that, the second divides rows and is whole. */
TEST(columns_then_rows)
{
    int32_t x = input("B,4"), up = op(CM_OP_MATMUL, IN(x, weight("up", "4,16"))), act = op(CM_OP_GELU, IN(up));
    int32_t down = op(CM_OP_MATMUL, IN(act, weight("down", "16,4"))), sum = op(CM_OP_ADD, IN(down, x));
    find();
    assert_int_equal(division(up), CM__COLUMNS);
    assert_int_equal(division(down), CM__ROWS);
    assert_true(split[up] && split[act]);
    assert_false(split[x] || split[down] || split[sum]);
}

/* Adapters of low rank: beside columns, the narrow product is whole and the wide one divides columns; beside rows, the
   narrow one divides rows and the wide one is whole, so that its sum with the whole result is. */
TEST(adapters)
{
    g->tuned = true;
    int32_t x = input("B,4"), up = op(CM_OP_MATMUL, IN(x, weight("up", "4,16")));
    int32_t a = op(CM_OP_MATMUL, IN(x, weight("up.A", "4,2"))), b = op(CM_OP_MATMUL, IN(a, weight("up.B", "2,16")));
    int32_t wide = op(CM_OP_ADD, IN(up, b)), act = op(CM_OP_GELU, IN(wide));
    int32_t down = op(CM_OP_MATMUL, IN(act, weight("down", "16,4")));
    int32_t c = op(CM_OP_MATMUL, IN(act, weight("down.A", "16,2"))), d = op(CM_OP_MATMUL, IN(c, weight("down.B", "2,4")));
    int32_t sum = op(CM_OP_ADD, IN(down, d));
    find();
    assert_int_equal(division(a), CM__WHOLE);
    assert_int_equal(division(b), CM__COLUMNS);
    assert_int_equal(division(c), CM__ROWS);
    assert_int_equal(division(d), CM__WHOLE);
    assert_true(split[up] && split[b] && split[wide] && split[act]);
    assert_false(split[a] || split[c] || split[d] || split[down] || split[sum]);
}

/* Products of two activations are not divided by this rule, nor is a router: all devices choose the same experts. */
TEST(whole_products)
{
    int32_t x = input("B,4,4"), scores = op(CM_OP_MATMUL, IN(x, x));
    find();
    assert_int_equal(division(scores), CM__WHOLE);
    start_over();
    int32_t logits = op(CM_OP_MATMUL, IN(input("B,4"), weight("router", "4,8"))), p = op(CM_OP_SOFTMAX, IN(logits));
    OUTPUTS(2, TOP_K, IN(p, KNOWN(2)), INTS(AXIS, -1));
    find();
    assert_int_equal(division(logits), CM__WHOLE);
    assert_false(split[logits]);
}

/* Latent attention: the narrow product before a norm is whole, the wide one after it is divided. A product that ends a
   branch stays divided by rows when a norm follows (Gemma 2). */
TEST(products_before_norms)
{
    int32_t x = input("B,4"), down = op(CM_OP_MATMUL, IN(x, weight("a", "4,8")));
    int32_t normed = op(CM_OP_LAYER_NORM, IN(down, weight("g", "8")));
    int32_t up = op(CM_OP_MATMUL, IN(normed, weight("b", "8,16")));
    int32_t out = op(CM_OP_MATMUL, IN(up, weight("c", "16,4")));
    op(CM_OP_LAYER_NORM, IN(out, weight("h", "4")));
    find();
    assert_int_equal(division(down), CM__WHOLE);
    assert_int_equal(division(up), CM__COLUMNS);
    assert_int_equal(division(out), CM__ROWS);
    assert_false(split[down] || split[normed] || split[out]);
    assert_true(split[up]);
}

/* One matrix per expert; and the parameter behind a product. */
TEST(experts_and_parameters)
{
    int32_t x = input("8,B,4"), w = weight("experts", "8,4,16"), y = op(CM_OP_MATMUL, IN(x, w));
    const cm_node *n = &g->nodes[cm__t(g, y)->producer];
    assert_true(cm__is_expert(g, n));
    assert_int_equal(cm__parameter_read(g, n, 1), w);
    assert_int_equal(cm__parameter_read(g, n, 0), -1);
    int32_t        z = op(CM_OP_MATMUL, IN(y, weight("shared", "16,4")));
    assert_false(cm__is_expert(g, &g->nodes[cm__t(g, z)->producer]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_then_rows), cmocka_unit_test(whole_products),
                                       cmocka_unit_test(adapters),
                                       cmocka_unit_test(products_before_norms),
                                       cmocka_unit_test(experts_and_parameters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
