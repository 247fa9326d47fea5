/* SPDX-License-Identifier: Apache-2.0 */
/* test_row_sizes.c - sizes of rows come back as they were given, whatever their range, and are found by their sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "device/row_sizes.h"

#define ROWS 40
#define SIZES CM__GEMM_SIZES

static cm__ctx *ctx;

static cm__kernel_table table_of(const int64_t *sizes, int32_t rows)
{
    cm__kernel_table t = {.op = CM__CALL_GEMM, .n_rows = rows};
    cm__rows_pack(ctx, &t, sizes);
    return t;
}

static uint64_t random_state = 1;

static int64_t random_below(int bits)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(random_state >> 1 & (((uint64_t)1 << (bits - 1) << 1) - 1));
}

static int by_sizes(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    int            i = 0;
    while (i < SIZES - 1 && x[i] == y[i]) i++;
    return (x[i] > y[i]) - (x[i] < y[i]);
}

/* Columns of all pairs of widths, up to the largest size; half of the tables are sorted. */
static void row_in_is_row_out(void **state)
{
    (void)state;
    for (int bits = 1; bits <= 63; bits++) {
        int64_t sizes[ROWS][SIZES], back[SIZES];
        for (int row = 0; row < ROWS; row++)
            for (int i = 0; i < SIZES; i++) sizes[row][i] = random_below(i % 2 ? bits : 64 - bits);
        if (bits % 4 < 2) qsort(sizes, ROWS, sizeof *sizes, by_sizes);
        cm__kernel_table t = table_of(sizes[0], ROWS);
        assert_true(t.sorted || bits % 4 >= 2);
        for (int row = 0; row < ROWS; row++) {
            cm__row_unpack(&t, row, back);
            assert_memory_equal(back, sizes[row], sizeof back);
            assert_memory_equal(sizes[cm__row_find(&t, sizes[row])], sizes[row], sizeof back);
        }
    }
}

/* A column is as wide as its largest size needs. */
static void widths_by_largest_size(void **state)
{
    (void)state;
    const int64_t    sizes[][SIZES] = {{0, 255, 65535, INT64_MAX}, {0, 256, 65536, 1}};
    cm__kernel_table t = table_of(sizes[0], 2), narrow = table_of(sizes[0], 1);
    const uint8_t    widths[] = {1, 2, 3, 8}, alone[] = {1, 1, 2, 8};
    assert_memory_equal(t.widths, widths, sizeof widths);
    assert_int_equal(t.row_bytes, 14);
    assert_memory_equal(narrow.widths, alone, sizeof alone);
    assert_int_equal(narrow.row_bytes, 12);
}

/* Sizes that exceed their column are in no row, although their low bytes are. */
static void sizes_beyond_a_column(void **state)
{
    (void)state;
    const int64_t    sizes[][SIZES] = {{1, 200, 300, 4}, {2, 100, 400, 4}, {1, 200, 300, 4}};
    cm__kernel_table t = table_of(sizes[0], 3);
    uint8_t          row[CM__ROW_BYTES];
    assert_false(t.sorted);
    assert_int_equal(cm__row_find(&t, sizes[2]), 0); /* the first of equal rows */
    cm__kernel_table sorted = table_of((const int64_t[]){1, 2, 3, 4, 1, 2, 3, 5, 1, 2, 3, 5, 1, 256, 1, 1}, 4);
    assert_true(sorted.sorted);
    assert_int_equal(cm__row_find(&sorted, (int64_t[]){1, 2, 3, 5}), 1);
    assert_int_equal(cm__row_find(&sorted, (int64_t[]){1, 256, 1, 1}), 3);
    assert_int_equal(cm__row_find(&sorted, (int64_t[]){1, 256, 1, 2}), -1);
    assert_int_equal(cm__row_find(&sorted, (int64_t[]){0, 256, 1, 2}), -1);
    assert_int_equal(cm__row_find(&t, sizes[1]), 1);
    for (int i = 0; i < SIZES; i++) {
        int64_t other[SIZES], negative[SIZES];
        memcpy(other, sizes[0], sizeof other);
        memcpy(negative, sizes[0], sizeof negative);
        other[i] += (int64_t)1 << 8 * t.widths[i];
        negative[i] -= (int64_t)1 << 8 * t.widths[i];
        assert_false(cm__row_pack(&t, other, row));
        assert_int_equal(cm__row_find(&t, other), -1);
        assert_int_equal(cm__row_find(&t, negative), -1);
    }
    assert_int_equal(cm__row_find(&t, (int64_t[]){2, 200, 300, 4}), -1);
}

static void rows_by_product(void **state)
{
    (void)state;
    const int64_t    sizes[][SIZES] = {{0, 12}, {3, 4}, {2, 6}, {1, 70000}, {1 << 30, 1ll << 40}};
    cm__kernel_table t = table_of(sizes[0], 5), none = table_of(NULL, 0);
    assert_int_equal(cm__row_with_product(&t, 12), 1); /* the first one; a size of 0 does not count */
    assert_int_equal(cm__row_with_product(&t, 70000), 3);
    assert_int_equal(cm__row_with_product(&t, 0), -1);
    assert_int_equal(cm__row_with_product(&t, 13), -1);
    assert_int_equal(cm__row_with_product(&none, 12), -1);
}

/* Rows of a table that shares shapes with others have those that their numbers say, and only these are found. */
static void rows_of_shared_shapes(void **state)
{
    (void)state;
    const int64_t    shapes[][SIZES] = {{1, 2, 3, 4}, {1, 2, 3, 70000}, {1, 6, 3, 4}, {300, 4, 5, 6}};
    const uint16_t   own[] = {0, 2, 3};
    cm__kernel_table t = table_of(shapes[0], 4);
    t.shapes = own;
    t.n_rows = 3;
    for (int32_t row = 0; row < t.n_rows; row++) {
        int64_t sizes[SIZES];
        cm__row_unpack(&t, row, sizes);
        assert_memory_equal(sizes, shapes[own[row]], sizeof sizes);
        assert_int_equal(cm__row_find(&t, shapes[own[row]]), row);
    }
    assert_int_equal(cm__row_find(&t, shapes[1]), -1);
    assert_int_equal(cm__row_with_product(&t, 1200), 2);
    assert_int_equal(cm__row_with_product(&t, 2), 0);
}

static void no_rows(void **state)
{
    (void)state;
    const int64_t    sizes[SIZES] = {0};
    cm__kernel_table t = table_of(NULL, 0);
    assert_int_equal(cm__row_find(&t, sizes), -1);
}

static int begin(void **state)
{
    (void)state;
    ctx = cm__ctx_new(NULL);
    return ctx ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    cm__ctx_free(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(row_in_is_row_out), cmocka_unit_test(widths_by_largest_size),
                                       cmocka_unit_test(sizes_beyond_a_column), cmocka_unit_test(no_rows),
                                       cmocka_unit_test(rows_by_product),
                                       cmocka_unit_test(rows_of_shared_shapes)};
    return cmocka_run_group_tests(tests, begin, end);
}
