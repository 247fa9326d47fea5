/* SPDX-License-Identifier: Apache-2.0 */
/* test_dims.c - arithmetic on dimensions a B + b and on polynomials of B. */
#include "graph_builder.h"

static void dim_is(cm_dim d, int64_t per_batch, int64_t fixed)
{
    assert_true(d.per_batch == per_batch);
    assert_true(d.fixed == fixed);
}

TEST(sums_and_products)
{
    cm_dim a = {2, 3}, b = {-1, 7}, five = cm__fixed(5);
    dim_is(cm__dim_add(g, a, b), 2 - 1, 3 + 7);
    dim_is(cm__dim_sub(g, a, b), 2 + 1, 3 - 7);
    dim_is(cm__dim_mul(g, a, five), 2 * 5, 3 * 5);
    dim_is(cm__dim_mul(g, five, a), 2 * 5, 3 * 5);
    dim_is(cm__dim_mul(g, (cm_dim){1, 0}, cm__fixed(0)), 0, 0);
}

TEST(the_square_of_the_batch_size_is_refused)
{
    cm_dim a = {2, 3}, b = {1, 0};
    REFUSES(UNSUPPORTED, "square of the batch size", cm__dim_mul(g, a, b));
}

TEST(overflow_is_refused)
{
    cm_dim large = cm__fixed(INT64_MAX), small = cm__fixed(INT64_MIN), steep = {INT64_MAX, 0};
    cm_dim falling = {INT64_MIN, 0}, once = {1, 0};
    REFUSES(LIMIT, "overflows", cm__dim_add(g, large, cm__fixed(1)));
    REFUSES(LIMIT, "overflows", cm__dim_add(g, steep, once));
    REFUSES(LIMIT, "overflows", cm__dim_sub(g, small, cm__fixed(1)));
    REFUSES(LIMIT, "overflows", cm__dim_sub(g, falling, once));
    REFUSES(LIMIT, "overflows", cm__dim_mul(g, large, cm__fixed(2)));
    REFUSES(LIMIT, "overflows", cm__dim_mul(g, steep, cm__fixed(2)));
    REFUSES(LIMIT, "overflows", cm__dim_mul(g, cm__fixed(2), steep));
}

TEST(division_is_exact_for_every_batch_size)
{
    static const struct {
        cm_dim a, b, quotient;
    } exact[] = {
        {{6, 4}, {0, 2}, {3, 2}},  {{6, 4}, {3, 2}, {0, 2}},   {{4, 0}, {1, 0}, {0, 4}}, {{0, 12}, {0, 4}, {0, 3}},
        {{0, 0}, {1, 0}, {0, 0}},  {{-6, 4}, {0, -2}, {3, -2}}, {{5, 5}, {1, 1}, {0, 5}}, {{7, -3}, {0, 1}, {7, -3}},
    };
    for (size_t i = 0; i < COUNT(exact); i++) {
        cm_dim q;
        assert_true(cm__dim_div(exact[i].a, exact[i].b, &q));
        dim_is(q, exact[i].quotient.per_batch, exact[i].quotient.fixed);
    }
}

TEST(division_that_is_not_exact_fails)
{
    static const struct {
        cm_dim a, b;
    } inexact[] = {
        {{6, 4}, {0, 4}}, {{6, 4}, {3, 1}},         {{6, 4}, {0, 0}},   {{0, 4}, {1, 0}}, {{7, 0}, {0, 2}},
        {{7, 0}, {2, 0}}, {{0, INT64_MIN}, {0, -1}}, {{INT64_MIN, 0}, {-1, 0}}, {{4, INT64_MAX}, {2, INT64_MAX}},
    };
    for (size_t i = 0; i < COUNT(inexact); i++) {
        cm_dim q = {42, 42};
        assert_false(cm__dim_div(inexact[i].a, inexact[i].b, &q));
        dim_is(q, 42, 42);
    }
}

TEST(polynomials)
{
    cm_poly a = cm__poly_dim((cm_dim){1, 2}), b = cm__poly_dim((cm_dim){3, 1});
    poly_is(cm__poly_add(a, b), 2 + 1, 1 + 3, 0);
    poly_is(cm__poly_mul(a, b), 2 * 1, 1 * 1 + 2 * 3, 1 * 3); /* (B + 2)(3B + 1) */
    poly_is(cm__poly_scale(a, 4), 8, 4, 0);
    poly_is(cm__poly_const(7), 7, 0, 0);
    cm_poly p = {{2, 3, 5, 7}};
    assert_true(cm_poly_at(&p, 10) == 2 + 3 * 10 + 5 * 100 + 7 * 1000);
    assert_true(cm_poly_at(&p, 0) == 2);
}

TEST(polynomials_end_at_the_cube)
{
    cm_poly square = {{0, 0, 1}}, cube = cm__poly_mul(square, (cm_poly){{1, 1}});
    assert_true(cube.c[2] == 1 && cube.c[3] == 1);
    poly_is(cm__poly_mul(square, square), 0, 0, 0); /* B^4 is dropped: such tensors are refused when they are made */
}

TEST(elements_and_bytes)
{
    const cm_tensor *t = cm__t(g, typed(CM_BF16, "B,3,2B+1"));
    poly_is(cm_tensor_elements(t), 0, 3 * 1, 3 * 2);
    poly_is(cm_tensor_bytes(t), 0, 2 * 3, 2 * 6);
    poly_is(cm_tensor_bytes(cm__t(g, typed(CM_INT64, ""))), 8, 0, 0);
    poly_is(cm_tensor_bytes(cm__t(g, typed(CM_BOOL, "5"))), 5, 0, 0);
    poly_is(cm__poly_product((cm_dim[]){{0, 3}, {0, 4}}, 2), 12, 0, 0);
    poly_is(cm__poly_product(NULL, 0), 1, 0, 0);
}

TEST(dimensions_as_text)
{
    SHAPE_IS(input("B,3,224,224"), "[B, 3, 224, 224]");
    SHAPE_IS(input("2B+1,B-3,0"), "[2B+1, B-3, 0]");
    SHAPE_IS(input(""), "[]");
    cm_dim longest[CM__RANK_MAX];
    for (int i = 0; i < CM__RANK_MAX; i++) longest[i] = (cm_dim){INT64_MIN, INT64_MIN};
    cm_tensor   t = {.rank = CM__RANK_MAX, .dims = longest};
    const char *text = cm__dims_text(g, &t);
    assert_int_equal(text[strlen(text) - 1], ']');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_products),
        cmocka_unit_test(the_square_of_the_batch_size_is_refused),
        cmocka_unit_test(overflow_is_refused),
        cmocka_unit_test(division_is_exact_for_every_batch_size),
        cmocka_unit_test(division_that_is_not_exact_fails),
        cmocka_unit_test(polynomials),
        cmocka_unit_test(polynomials_end_at_the_cube),
        cmocka_unit_test(elements_and_bytes),
        cmocka_unit_test(dimensions_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
