/* SPDX-License-Identifier: Apache-2.0 */
/* test_fuse_activation.c - written-out GELU and SiLU, and similar patterns that are neither. */
#include "graph_builder.h"

static void fuse(int32_t y, cm_fuse what)
{
    cm__output(g, y);
    cm__finish(g, what);
    cm__check(g);
}

static int32_t mul(int32_t a, int32_t b) { return op(CM_OP_MUL, IN(a, b)); }
static int32_t add(int32_t a, int32_t b) { return op(CM_OP_ADD, IN(a, b)); }
static int32_t hidden(void) { return as("h", op(CM_OP_TANH, IN(input("B,4")))); }

static void is_one(const char *type)
{
    assert_int_equal(g->n_nodes, 2); /* h and the fused node */
    const cm_node *n = find_node(g, type);
    assert_int_equal(n->inputs[0], find_tensor(g, "h"));
    assert_int_equal(n->n_inputs, 1);
}

/* ---- GELU ------------------------------------------------------------------------------------------------------- */

/* 1 + erf(x / sqrt 2) */
static int32_t one_plus_erf(int32_t x)
{
    return add(op(CM_OP_ERF, IN(op(CM_OP_DIV, IN(x, number(1.4142135623730951))))), number(1));
}

/* 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)), the cube given */
static int32_t one_plus_tanh(int32_t x, int32_t cube)
{
    int32_t inner = mul(add(x, mul(cube, number(0.044715))), number(0.7978845608028654));
    return add(op(CM_OP_TANH, IN(inner)), number(1));
}

TEST(gelu_by_erf_in_any_order)
{
    int32_t x = hidden();
    fuse(mul(mul(x, one_plus_erf(x)), number(0.5)), CM_FUSE_ALL);
    is_one("Gelu");
    start_over();
    x = hidden();
    fuse(mul(mul(x, number(0.5)), one_plus_erf(x)), CM_FUSE_ALL);
    is_one("Gelu");
    start_over();
    x = hidden();
    fuse(mul(x, mul(one_plus_erf(x), number(0.5))), CM_FUSE_ALL);
    is_one("Gelu");
    start_over();
    x = hidden();
    fuse(mul(number(0.5), mul(one_plus_erf(x), x)), CM_FUSE_EAGER);
    is_one("Gelu");
}

TEST(gelu_by_tanh)
{
    int32_t x = hidden();
    fuse(mul(mul(x, number(0.5)), one_plus_tanh(x, op(CM_OP_POW, IN(x, number(3))))), CM_FUSE_ALL);
    is_one("Gelu");
    start_over();
    x = hidden();
    fuse(mul(mul(x, number(0.5)), one_plus_tanh(x, mul(mul(x, x), x))), CM_FUSE_ALL);
    is_one("Gelu");
}

/* PyTorch exports the cube of its own GELU as products; Pow is a user's. */
TEST(eager_leaves_gelu_written_by_hand)
{
    int32_t x = hidden();
    fuse(mul(mul(x, number(0.5)), one_plus_tanh(x, op(CM_OP_POW, IN(x, number(3))))), CM_FUSE_EAGER);
    assert_int_equal(count_type(g, "Gelu"), 0);
    start_over();
    x = hidden();
    fuse(mul(mul(x, number(0.5)), one_plus_tanh(x, mul(mul(x, x), x))), CM_FUSE_EAGER);
    assert_int_equal(count_type(g, "Gelu"), 1);
}

static int32_t gelus(int32_t y)
{
    fuse(y, CM_FUSE_ALL);
    return count_type(g, "Gelu");
}

TEST(what_only_looks_like_gelu_stays)
{
    int32_t x = hidden();
    assert_int_equal(gelus(mul(mul(x, add(op(CM_OP_ERF, IN(x)), number(2))), number(0.5))), 0); /* 2 + erf */
    start_over();
    x = hidden();
    assert_int_equal(gelus(mul(mul(input("B,4"), one_plus_erf(x)), number(0.5))), 0); /* another x outside */
    start_over();
    x = hidden();
    assert_int_equal(gelus(mul(x, one_plus_erf(x))), 0); /* not halved */
    start_over();
    x = hidden();
    assert_int_equal(gelus(add(add(x, one_plus_erf(x)), number(0.5))), 0); /* sums, not products */
}

TEST(a_part_of_gelu_that_is_read_elsewhere_stays)
{
    int32_t x = hidden(), part = one_plus_erf(x);
    assert_int_equal(gelus(add(mul(mul(x, part), number(0.5)), part)), 0);
    start_over();
    x = hidden(), part = one_plus_erf(x);
    cm__output(g, part);
    assert_int_equal(gelus(mul(mul(x, part), number(0.5))), 0);
}

/* ---- SiLU ------------------------------------------------------------------------------------------------------- */

TEST(silu_in_either_order)
{
    int32_t x = hidden();
    fuse(mul(x, op(CM_OP_SIGMOID, IN(x))), CM_FUSE_ALL);
    is_one("Silu");
    start_over();
    x = hidden();
    fuse(mul(op(CM_OP_SIGMOID, IN(x)), x), CM_FUSE_EAGER);
    is_one("Silu");
}

TEST(silu_of_a_multiple)
{
    int32_t x = hidden();
    fuse(mul(x, op(CM_OP_SIGMOID, IN(mul(x, number(1.702))))), CM_FUSE_ALL);
    is_one("Silu");
}

static int32_t silus(int32_t y)
{
    fuse(y, CM_FUSE_ALL);
    return count_type(g, "Silu");
}

TEST(what_only_looks_like_silu_stays)
{
    assert_int_equal(silus(mul(hidden(), op(CM_OP_SIGMOID, IN(input("B,4"))))), 0); /* a gate */
    start_over();
    int32_t x = hidden(), s = op(CM_OP_SIGMOID, IN(x));
    assert_int_equal(silus(add(mul(x, s), s)), 0); /* read twice */
    start_over();
    x = hidden(), s = op(CM_OP_SIGMOID, IN(x));
    cm__output(g, s); /* returned */
    assert_int_equal(silus(mul(x, s)), 0);
    start_over();
    x = hidden();
    assert_int_equal(silus(add(x, op(CM_OP_SIGMOID, IN(x)))), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gelu_by_erf_in_any_order),
        cmocka_unit_test(gelu_by_tanh),
        cmocka_unit_test(eager_leaves_gelu_written_by_hand),
        cmocka_unit_test(what_only_looks_like_gelu_stays),
        cmocka_unit_test(a_part_of_gelu_that_is_read_elsewhere_stays),
        cmocka_unit_test(silu_in_either_order),
        cmocka_unit_test(silu_of_a_multiple),
        cmocka_unit_test(what_only_looks_like_silu_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
