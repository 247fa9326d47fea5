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
static int32_t *numbers;

/* Memory of exactly the documented size, so that a sanitizer finds accesses beyond it. */
static cm__rows arrange(size_t rows)
{
    floats = malloc(cm__rows_floats(rows, COUNT) * sizeof *floats);
    numbers = malloc(2 * rows * sizeof *numbers);
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
    const float *boxes = cm__boxes_at(r, block / CM__BOXES, COUNT) + block % CM__BOXES;
    float        features[COUNT];
    cm__row_features(r, row, COUNT, features, 1);
    for (int f = 0; f < COUNT; f++) {
        assert_true(features[f] == plain[r->number[row] * COUNT + f]);
        assert_true(features[f] == cm__block_at(r, block, COUNT)[f * CM__BLOCK + row % CM__BLOCK]);
        within(features[f], r->boxes[f], r->boxes[COUNT + f]);
        within(features[f], boxes[2 * f * CM__BOXES], boxes[(2 * f + 1) * CM__BOXES]);
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
            assert_int_equal(r.place[r.number[i]], i);
            assert_true(r.values[i] == (float)r.number[i]);
            check_row(&r, i);
        }
        release();
    }
}

/* A box is no larger than its rows need: some row has the least value, and some row the largest one. */
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
        assert_true(r.boxes[f] == least && r.boxes[COUNT + f] == largest);
    }
    release();
}

/* Blocks that do not exist are infinitely far away, and a table without rows has no blocks. */
static void missing_blocks_are_far_away(void **state)
{
    (void)state;
    cm__rows r = arrange(CM__BLOCK);
    for (int f = 0; f < COUNT; f++)
        for (int b = 1; b < CM__BOXES; b++) assert_true(isinf(cm__boxes_at(&r, 0, COUNT)[2 * f * CM__BOXES + b]));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_stored_once), cmocka_unit_test(boxes_are_tight),
        cmocka_unit_test(missing_blocks_are_far_away), cmocka_unit_test(features_as_a_column)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
