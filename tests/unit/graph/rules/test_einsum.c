/* SPDX-License-Identifier: Apache-2.0 */
/* test_einsum.c - Einstein sums: shapes of results, and the equivalent matrix products. */
#include "graph/rules/einsum.h"
#include "graph_builder.h"

static int32_t einsum(const char *equation, const int32_t *inputs, int32_t count)
{
    int64_t text[64];
    int32_t length = (int32_t)strlen(equation);
    for (int32_t i = 0; i < length; i++) text[i] = equation[i];
    return cm__emit(g, CM_OP_EINSUM, NULL, inputs, count,
                    &(cm__attr){.key = CM_ATTR_EQUATION, .count = length, .ints = text}, 1);
}

TEST(einsum_names_its_result)
{
    SHAPE_IS(einsum("bij,bjk->bik", IN(input("B,2,3"), input("B,3,5"))), "[B, 2, 5]");
    SHAPE_IS(einsum("bhqd, bhkd -> bhqk", IN(input("B,8,7,4"), input("B,8,9,4"))), "[B, 8, 7, 9]");
    SHAPE_IS(einsum("ij->ji", IN(input("B,3"))), "[3, B]");
    SHAPE_IS(einsum("ij->", IN(input("B,3"))), "[]");
    SHAPE_IS(einsum("ii->i", IN(input("3,3"))), "[3]");
    SHAPE_IS(einsum("i,j,k->kji", IN(input("2"), input("3"), input("B"))), "[B, 3, 2]");
}

TEST(einsum_without_an_arrow_keeps_letters_used_once)
{
    SHAPE_IS(einsum("ij,jk", IN(input("B,3"), input("3,5"))), "[B, 5]");
    SHAPE_IS(einsum("ba", IN(input("2,3"))), "[3, 2]"); /* in alphabetical order */
    SHAPE_IS(einsum("aZ", IN(input("2,3"))), "[3, 2]"); /* capitals first */
    SHAPE_IS(einsum("ii", IN(input("3,3"))), "[]");
}

TEST(einsum_with_dots)
{
    SHAPE_IS(einsum("...ij,...jk->...ik", IN(input("B,8,2,3"), input("B,8,3,5"))), "[B, 8, 2, 5]");
    SHAPE_IS(einsum("...ij,jk->...ik", IN(input("B,8,2,3"), input("3,5"))), "[B, 8, 2, 5]");
    SHAPE_IS(einsum("...ij,...jk", IN(input("B,2,3"), input("B,3,5"))), "[B, 2, 5]");
    SHAPE_IS(einsum("...i,...i->...", IN(input("B,1,4"), input("B,6,4"))), "[B, 6]"); /* dots broadcast */
    SHAPE_IS(einsum("b...->...b", IN(input("B,3,4"))), "[3, 4, B]");
    SHAPE_IS(einsum("...", IN(input("B,3"))), "[B, 3]");
    /* Dots of several ranks are aligned at their end; dimensions missing in the result are summed, as in PyTorch. */
    SHAPE_IS(einsum("...ij,...jk->...ik", IN(input("B,8,2,3"), input("8,3,5"))), "[B, 8, 2, 5]");
    SHAPE_IS(einsum("ij,jk->...ik", IN(input("B,3"), input("3,5"))), "[B, 5]"); /* dots without dimensions */
    SHAPE_IS(einsum("...ij->ij", IN(input("B,2,3"))), "[2, 3]");
}

TEST(einsum_of_scalars_and_of_nothing)
{
    SHAPE_IS(einsum("", IN(input(""))), "[]");
    SHAPE_IS(einsum(",", IN(input(""), input(""))), "[]");
    SHAPE_IS(einsum("ij,->ij", IN(input("B,3"), input(""))), "[B, 3]");
    SHAPE_IS(einsum("ij,jk->ik", IN(input("B,0"), input("0,5"))), "[B, 5]");
    poly_is(cm__last(g)->flop, 0, 0, 0);
}

TEST(einsum_with_a_letter_twice_in_a_term)
{
    SHAPE_IS(einsum("ii,ij->j", IN(input("3,3"), input("3,5"))), "[5]");
    poly_is(cm__last(g)->flop, 2 * 3 * 5, 0, 0);
}

TEST(einsum_counts_every_combination)
{
    einsum("bij,bjk->bik", IN(input("B,2,3"), input("B,3,5")));
    poly_is(cm__last(g)->flop, 0, 2 * 2 * 3 * 5, 0);
    einsum("ij,jk,kl->il", IN(input("B,3"), input("3,5"), input("5,7")));
    poly_is(cm__last(g)->flop, 0, 2 * 2 * 3 * 5 * 7, 0);
    einsum("...ij,jk->...ik", IN(input("B,8,2,3"), input("3,5")));
    poly_is(cm__last(g)->flop, 0, 2 * 8 * 2 * 3 * 5, 0);
    einsum("ij->i", IN(input("B,3")));
    poly_is(cm__last(g)->flop, 0, 3, 0);
}

TEST(einsum_refuses)
{
    int32_t x = input("B,3");
    REFUSES(FORMAT, "no equation", op(CM_OP_EINSUM, IN(x)));
    REFUSES(FORMAT, "the equation does not fit [B, 3]", einsum("i->i", IN(x)));
    REFUSES(FORMAT, "the equation does not fit [B, 3]", einsum("ijk->i", IN(x)));
    REFUSES(FORMAT, "the equation does not fit [B, 3]", einsum("", IN(x)));
    REFUSES(FORMAT, "fewer terms than inputs", einsum("ij->ij", IN(x, x)));
    REFUSES(FORMAT, "fewer terms than inputs", einsum("ij", IN(x, input(""))));
    REFUSES(FORMAT, "more terms than inputs", einsum("ij,", IN(x)));
    REFUSES(FORMAT, "input 1 is missing", einsum("ij,jk,kl", IN(x, -1, x)));
    REFUSES(FORMAT, "a letter of the equation has two sizes, one in [7, 5]",
            einsum("ij,jk", IN(input("B,0"), input("7,5"))));
    REFUSES(FORMAT, "has two sizes", einsum("...ij,...jk", IN(input("8,2,3"), input("7,3,5"))));
    REFUSES(FORMAT, "has two sizes", einsum("ii->i", IN(input("3,4"))));
    REFUSES(FORMAT, "has a letter twice", einsum("ij->ii", IN(x)));
    REFUSES(FORMAT, "three in a row", einsum(".", IN(x)));
    REFUSES(FORMAT, "three in a row", einsum("ij..", IN(x)));
    REFUSES(FORMAT, "once in a term", einsum("......", IN(x)));
    REFUSES(FORMAT, "'->' and one result", einsum("ij-", IN(x)));
    REFUSES(FORMAT, "'->' and one result", einsum("ij->i->j", IN(x)));
    REFUSES(FORMAT, "'->' and one result", einsum("ij->i,j", IN(x)));
    REFUSES(FORMAT, "more than 52 letters", einsum("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", IN(x)));
    REFUSES(LIMIT, "19 dimensions, at most 16",
            einsum("abcdefghijklmnop,qrs", IN(input("2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2"), input("2,2,2"))));
    REFUSES(FORMAT, "a letter its inputs lack", einsum("ij->k", IN(x)));
    REFUSES(FORMAT, "bad character", einsum("i1->i", IN(x)));
    REFUSES(UNSUPPORTED, "4 batch dimensions", einsum("a,b,c,d->", IN(input("B"), input("B"), input("B"), input("B"))));
}

/* ---- as products ------------------------------------------------------------------------------------------------ */

/* Sizes, at batch 2, of the product for the result (2) or for an input's gradient (0, 1). */
static void product_is(const char *equation, const char *a, const char *b, int of, double stack, double m, double n,
                       double k)
{
    cm__einsum_product p;
    einsum(equation, IN(input(a), input(b)));
    assert_true(cm__einsum_as_product(g, cm__last(g), of, &p));
    const cm_poly *sizes[] = {&p.stack, &p.m, &p.n, &p.k};
    const double   expected[] = {stack, m, n, k};
    for (int i = 0; i < 4; i++) assert_float_equal(cm_poly_at(sizes[i], 2), expected[i], 0);
}

TEST(einsum_is_a_stack_of_products)
{
    product_is("bij,bjk->bik", "B,3,5", "B,5,7", 2, 2, 3, 7, 5);
    product_is("bij,bjk->bik", "B,3,5", "B,5,7", 0, 2, 3, 5, 7); /* gradients: dy by b, a by dy */
    product_is("bij,bjk->bik", "B,3,5", "B,5,7", 1, 2, 5, 7, 3);
    product_is("bghid,bghjd->bghij", "B,4,8,49,32", "B,4,8,49,32", 2, 2 * 4 * 8, 49, 49, 32);
    product_is("ij,jk->ki", "B,3", "3,5", 2, 1, 2, 5, 3);
    product_is("i,j->ij", "B", "3", 2, 1, 2, 3, 1);
    product_is("bij,bij->b", "B,3,5", "B,3,5", 2, 2, 1, 1, 15);
    product_is("...ij,...jk->...ik", "B,8,2,3", "B,8,3,5", 2, 2 * 8, 2, 5, 3);
    product_is("...ij,...jk->...ik", "B,8,2,3", "8,3,5", 2, 8, 2 * 2, 5, 3); /* batch: first operand only */
    product_is("ii,ij->j", "3,3", "3,5", 2, 1, 1, 5, 3);
    product_is("ii,ij->j", "3,3", "3,5", 0, 1, 1, 3, 5); /* of the diagonal: dy by b */
}

TEST(einsum_tells_sides_of_operands)
{
    cm__einsum_product p;
    einsum("bqhd,bkhd->bhqk", IN(input("B,5,8,4"), input("B,7,8,4")));
    assert_true(cm__einsum_as_product(g, cm__last(g), 2, &p));
    const cm__einsum_side expected[] = {CM__EINSUM_STACK, CM__EINSUM_OWN, CM__EINSUM_STACK, CM__EINSUM_SUMMED};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++) assert_int_equal(p.sides[i][k], expected[k]);
}

TEST(einsum_that_is_no_product)
{
    cm__einsum_product p;
    einsum("ij->i", IN(input("B,3")));
    assert_false(cm__einsum_as_product(g, cm__last(g), 2, &p));
    einsum("ij,jk,kl->il", IN(input("B,3"), input("3,5"), input("5,7")));
    assert_false(cm__einsum_as_product(g, cm__last(g), 2, &p));
    einsum("ij,jk->k", IN(input("B,3"), input("3,5"))); /* i is summed first */
    assert_false(cm__einsum_as_product(g, cm__last(g), 2, &p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(einsum_names_its_result),
        cmocka_unit_test(einsum_without_an_arrow_keeps_letters_used_once),
        cmocka_unit_test(einsum_with_dots),
        cmocka_unit_test(einsum_of_scalars_and_of_nothing),
        cmocka_unit_test(einsum_with_a_letter_twice_in_a_term),
        cmocka_unit_test(einsum_counts_every_combination),
        cmocka_unit_test(einsum_refuses),
        cmocka_unit_test(einsum_is_a_stack_of_products),
        cmocka_unit_test(einsum_tells_sides_of_operands),
        cmocka_unit_test(einsum_that_is_no_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
