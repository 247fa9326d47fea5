/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_nest.c - loops of elementwise kernels: order, joined dimensions, forms and transposed blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "device/loop_nest.h"

/* An image [2, 3, 4, 5] with channels last: channels, columns, rows, images. A dimension of one element has no loop. */
static void smallest_strides_come_first(void **state)
{
    const int64_t sizes[] = {2, 3, 4, 5}, last[] = {60, 1, 15, 3}, one[] = {2, 3, 1, 5};
    const int32_t expected[] = {1, 3, 2, 0}, without[] = {1, 3, 0};
    int32_t       order[4];
    (void)state;
    assert_int_equal(cm__loop_order(4, sizes, last, order), 4);
    assert_memory_equal(order, expected, sizeof expected);
    assert_int_equal(cm__loop_order(4, one, last, order), 3);
    assert_memory_equal(order, without, sizeof without);
}

typedef struct dimension {
    int64_t size, result, read[CM__LOOP_READS];
} dimension;

static cm__loop_nest nest_of(int32_t operands, const dimension *dims, size_t count)
{
    cm__loop_nest w = {.operands = operands, .bytes = {2, 2, 2}};
    for (size_t i = 0; i < count; i++) cm__loop_nest_add(&w, dims[i].size, dims[i].result, dims[i].read);
    return w;
}

/* Rows without gaps are one run; an operand with gaps between its rows keeps two dimensions. */
static void equal_strides_are_joined(void **state)
{
    const dimension dense[] = {{8, 1, {1}}, {4, 8, {8}}}, gaps[] = {{8, 1, {1}}, {4, 8, {16}}};
    cm__loop_nest   w = nest_of(1, dense, 2);
    (void)state;
    assert_int_equal(w.dims, 1);
    assert_int_equal(w.size[0], 32);
    assert_int_equal(nest_of(1, gaps, 2).dims, 2);
}

static void forms(void **state)
{
    static const struct {
        cm__variant_form form;
        int32_t          operands;
        size_t           count;
        dimension        dims[3];
    } cases[] = {
        {CM__FORM_NONE, 2, 2, {{8, 1, {1, 1}}, {4, 8, {8, 8}}}},
        {CM__FORM_ROW, 2, 2, {{8, 1, {1, 1}}, {4, 8, {8, 0}}}},  /* a bias of 8 numbers */
        {CM__FORM_COL, 2, 2, {{8, 1, {1, 0}}, {4, 8, {8, 1}}}},  /* a number for each row */
        {CM__FORM_PLANE, 2, 3, {{8, 1, {1, 1}}, {4, 8, {8, 0}}, {2, 32, {32, 8}}}},
        {CM__FORM_PART, 1, 2, {{8, 1, {1}}, {4, 8, {16}}}},
        {CM__FORM_STRIDED, 1, 2, {{8, 1, {2}}, {4, 8, {16}}}},   /* every second number */
        {CM__FORM_STRIDED, 1, 1, {{8, 1, {0}}}},                 /* one number, copied */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__loop_nest w = nest_of(cases[i].operands, cases[i].dims, cases[i].count);
        if (cm__loop_nest_form(&w, NULL) != cases[i].form) fail_msg("case %zu: %d", i, (int)cm__loop_nest_form(&w, NULL));
    }
}

/* Four matrices of 5 x 8 that are read by columns: neighbours in a row are 8 numbers apart. */
static void matrices_are_transposed_blocks(void **state)
{
    const dimension dims[] = {{5, 1, {8}}, {8, 5, {1}}, {4, 40, {40}}};
    cm__loop_nest   w = nest_of(1, dims, 3);
    cm__transposed  t;
    (void)state;
    assert_true(cm__loop_nest_transposed(&w, true, &t));
    assert_int_equal(t.distance, 8);
    assert_int_equal(t.row, 5);
    assert_int_equal(t.blocks, 4);
    assert_true(t.copies && !t.alone);
    assert_true(cm__loop_nest_between(&w, &t, 1) && !cm__loop_nest_between(&w, &t, 2));
    w.result[0] = 2; /* the result has gaps itself */
    assert_false(cm__loop_nest_transposed(&w, true, &t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smallest_strides_come_first),
        cmocka_unit_test(equal_strides_are_joined),
        cmocka_unit_test(forms),
        cmocka_unit_test(matrices_are_transposed_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
