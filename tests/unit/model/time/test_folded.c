/* SPDX-License-Identifier: Apache-2.0 */
/* test_folded.c - filters that cover a dimension of an image. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "model/time/folded.h"

/* 4 images of 3 channels, 40 x 30 pixels; 8 filters over all rows and 5 columns. */
static const cm__call rows = {.op = CM__CALL_CONV, .pass = CM__PASS_FORWARD, .variant = CM__V_NCHW, .types = CM__ALL(CM_FP32),
                              .sizes = {[CM__CONV_N] = 4, [CM__CONV_C] = 3, [CM__CONV_K] = 8, [CM__CONV_H] = 40,
                                        [CM__CONV_W] = 30, [CM__CONV_R] = 40, [CM__CONV_S] = 5, [CM__CONV_STRIDE_H] = 2,
                                        [CM__CONV_STRIDE_W] = 1, [CM__CONV_GROUPS] = 1}};

/* The 40 rows become channels of one row, and the stride along them, which moves nothing, becomes 1. */
static void covered_rows(void **state)
{
    cm__call        room;
    const cm__call *c = cm__with_folded(&rows, &room);
    (void)state;
    assert_ptr_equal(c, &room);
    assert_int_equal(c->sizes[CM__CONV_C], 3 * 40);
    assert_int_equal(c->sizes[CM__CONV_H], 1);
    assert_int_equal(c->sizes[CM__CONV_R], 1);
    assert_int_equal(c->sizes[CM__CONV_STRIDE_H], 1);
    assert_int_equal(c->sizes[CM__CONV_W], 30);
    assert_int_equal(c->sizes[CM__CONV_S], 5);
    assert_ptr_equal(cm__with_folded(c, &(cm__call){0}), c); /* a folded call is not folded again */
}

static void covered_columns(void **state)
{
    cm__call c = rows, room;
    (void)state;
    c.sizes[CM__CONV_R] = 7;
    c.sizes[CM__CONV_S] = 30;
    assert_ptr_equal(cm__with_folded(&c, &room), &room);
    assert_int_equal(room.sizes[CM__CONV_C], 3 * 30);
    assert_int_equal(room.sizes[CM__CONV_W], 1);
    assert_int_equal(room.sizes[CM__CONV_H], 40);
}

/* Padding, groups, both dimensions covered, images of one column, and too many channels. */
static void others_stay(void **state)
{
    static const struct {
        int     at;
        int64_t value;
    } changes[] = {{CM__CONV_PAD_H, 1}, {CM__CONV_GROUPS, 3}, {CM__CONV_S, 30}, {CM__CONV_W, 1}, {CM__CONV_C, INT32_MAX}};
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        cm__call c = rows, before, room;
        c.sizes[changes[i].at] = changes[i].value;
        before = c;
        assert_ptr_equal(cm__with_folded(&c, &room), &c);
        assert_memory_equal(&c, &before, sizeof c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(covered_rows), cmocka_unit_test(covered_columns),
                                       cmocka_unit_test(others_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
