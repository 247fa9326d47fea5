/* SPDX-License-Identifier: Apache-2.0 */
/* test_blocks.c - rows in blocks: each row is stored once, inside the boxes of its block and of the table. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "model/time/blocks.h"

#define MOST 400
#define COUNT 8

static float    plain[MOST * COUNT], values[MOST];
static float   *floats;
static uint16_t *numbers;

/* Memory of exactly the documented size, so that a sanitizer finds accesses beyond it. */
static cm__rows arrange(size_t rows)
{
    floats = malloc(cm__rows_floats(rows, COUNT) * sizeof *floats);
    numbers = malloc(cm__rows_numbers(rows, COUNT) * sizeof *numbers);
    for (size_t i = 0; i < rows * COUNT; i++) plain[i] = (float)(i * 7919 % 1009) / 16;
    for (size_t i = 0; i < rows; i++) values[i] = (float)i;
    return cm__rows_arrange(plain, values, COUNT, rows, floats, numbers);
}

static void release(void)
{
    free(floats);
    free(numbers);
}

static void within(float x, float least, float largest) { assert_true(least <= x && x <= largest); }

static void check_row(const cm__rows *r, int32_t row)
{
    int32_t      block = row / CM__BLOCK;
    const uint16_t *boxes = cm__boxes_at(r, block / CM__BOXES, COUNT) + block % CM__BOXES;
    float        features[COUNT];
    cm__row_features(r, row, COUNT, features, 1);
    for (int f = 0; f < COUNT; f++) {
        assert_true(features[f] == plain[r->number[row] * COUNT + f]);
        assert_true(features[f] == cm__block_at(r, block, COUNT)[f * CM__BLOCK + row % CM__BLOCK]);
        within(features[f], cm__bound(r->boxes[f]), cm__bound(r->boxes[COUNT + f]));
        within(features[f], cm__bound(boxes[2 * f * CM__BOXES]), cm__bound(boxes[(2 * f + 1) * CM__BOXES]));
    }
}

static void every_row_is_stored_once(void **state)
{
    (void)state;
    for (size_t rows = 1; rows <= MOST; rows += 7) {
        bool     seen[MOST] = {false};
        cm__rows r = arrange(rows);
        for (int32_t i = 0; i < r.count; i++) {
            assert_false(seen[r.number[i]]);
            seen[r.number[i]] = true;
            assert_int_equal(cm__row_numbered(&r, r.number[i]), i);
            assert_true(r.values[i] == (float)r.number[i]);
            check_row(&r, i);
        }
        release();
    }
}

/* A box is no larger than its rows need, rounded outwards: some row has the least value, and some row the largest one. */
static void boxes_are_tight(void **state)
{
    (void)state;
    cm__rows r = arrange(100);
    for (int f = 0; f < COUNT; f++) {
        float least = INFINITY, largest = -INFINITY;
        for (int i = 0; i < 100; i++) {
            least = fminf(least, plain[i * COUNT + f]);
            largest = fmaxf(largest, plain[i * COUNT + f]);
        }
        assert_true(r.boxes[f] == cm__bound_down(least) && r.boxes[COUNT + f] == cm__bound_up(largest));
    }
    release();
}

/* Blocks that do not exist are infinitely far away, and a table without rows has no blocks. */
static void missing_blocks_are_far_away(void **state)
{
    (void)state;
    cm__rows r = arrange(CM__BLOCK);
    for (int f = 0; f < COUNT; f++)
        for (int b = 1; b < CM__BOXES; b++) assert_true(isinf(cm__bound(cm__boxes_at(&r, 0, COUNT)[2 * f * CM__BOXES + b])));
    release();
    assert_int_equal(cm__blocks(0), 0);
    assert_int_equal(arrange(0).count, 0);
    release();
}

/* Features may be written apart from each other, as the columns of a matrix. */
static void features_as_a_column(void **state)
{
    (void)state;
    cm__rows r = arrange(20);
    float    matrix[COUNT][3] = {{0}};
    cm__row_features(&r, 17, COUNT, &matrix[0][1], 3);
    for (int f = 0; f < COUNT; f++) {
        assert_true(matrix[f][1] == plain[r.number[17] * COUNT + f]);
        assert_true(matrix[f][0] == 0 && matrix[f][2] == 0);
    }
    release();
}

/* A bound is on its side of the number, and at most one unit of the seventh bit after the first away. */
static void check_bound(float x)
{
    float low = cm__bound(cm__bound_down(x)), high = cm__bound(cm__bound_up(x));
    assert_true(low <= x && x <= high);
    assert_true(x - low <= fabsf(x) / 128 && high - x <= fabsf(x) / 128);
}

static void bounds_contain_their_number(void **state)
{
    (void)state;
    for (int i = -3000; i <= 3000; i++) check_bound((float)i / 7.f), check_bound(ldexpf((float)i, -20));
    static const float exact[] = {0, 1, -1, 0.5f, -1.5f, 384, -0.0078125f, INFINITY};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        assert_true(cm__bound(cm__bound_down(exact[i])) == exact[i]);
        assert_true(cm__bound(cm__bound_up(exact[i])) == exact[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_stored_once), cmocka_unit_test(boxes_are_tight),
        cmocka_unit_test(missing_blocks_are_far_away), cmocka_unit_test(features_as_a_column),
        cmocka_unit_test(bounds_contain_their_number)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
