/* SPDX-License-Identifier: Apache-2.0 */
/* test_kriging.c - interpolation between rows: exact at rows, between their values, and uncertain far from them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "model/time/features.h"
#include "model/time/four.h"
#include "model/time/kriging.h"

#define ROWS 20
#define COUNT 4 /* features are padded to a multiple of four */
#define OP CM__CALL_SOFTMAX /* the operator with the smallest noise in data/scales.json */

static void near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance)) fail_msg("%g, expected %g", got, expected);
}

/* Rows with one feature from 0 to 2 and the values of `field`. */
static void line(double (*field)(double), float features[ROWS][COUNT], float *values)
{
    memset(features, 0, ROWS * sizeof *features);
    for (int i = 0; i < ROWS; i++) {
        features[i][0] = (float)i * 2 / (ROWS - 1);
        values[i] = (float)field((double)features[i][0]);
    }
}

static void exponentials_are_exact(void **state)
{
    (void)state;
    for (float x = 0; x > -77; x -= 0.0137f) {
        cm__eight got = {x, x / 2, x / 4, x / 8, x, x / 2, x / 4, x / 8};
        cm__eight_exp(&got);
        for (int i = 0; i < 8; i++) {
            double expected = exp((double)(x / (float)(1 << i % 4)));
            near((double)got[i], expected, 4e-7 * expected);
        }
    }
    cm__eight small = {-1000, -79, -1e9f, -INFINITY};
    cm__eight_exp(&small);
    for (int i = 0; i < 4; i++) near((double)small[i], 0, 0);
}

static double linear(double x) { return 3 + 0.5 * x; }
static double constant(double x) { return 0 * x + 0.7; }
static double wavy(double x) { return sin(3 * x); }

/* Memory of one table of at most ROWS rows. */
typedef struct memory {
    float   floats[ROWS * (COUNT + 1) + 2 * COUNT * ROWS];
    uint16_t numbers[2 * ROWS + (2 + 8 * ROWS) * COUNT];
} memory;

static cm__rows arrange(memory *m, const float *features, const float *values, int32_t count)
{
    return cm__rows_arrange(features, values, COUNT, (size_t)count, m->floats, m->numbers);
}

static cm__kriged at(float features[][COUNT], const float *values, int32_t count, double x, int32_t without)
{
    float    f[COUNT] = {(float)x};
    memory   m;
    cm__rows table = arrange(&m, &features[0][0], values, count);
    return cm__krige(cm__scales_of(OP), &table, 1, 0, f, COUNT, without);
}

static void rows_are_reproduced(void **state)
{
    double (*const fields[])(double) = {linear, constant, wavy};
    float features[ROWS][COUNT], values[ROWS];
    (void)state;
    for (int k = 0; k < 3; k++) {
        line(fields[k], features, values);
        for (int i = 0; i < ROWS; i++) {
            cm__kriged r = at(features, values, ROWS, (double)features[i][0], -1);
            near(r.value, (double)values[i], 0.01);
            assert_int_equal(r.row, i);
            assert_true(r.nearest == 0);
            assert_true(r.unknown >= 0 && r.unknown < 0.01);
        }
    }
}

static void between_rows(void **state)
{
    float features[ROWS][COUNT], values[ROWS];
    (void)state;
    line(linear, features, values);
    for (double x = 0; x <= 2; x += 0.01) {
        cm__kriged r = at(features, values, ROWS, x, -1);
        assert_true(r.value >= linear(0) - 0.01 && r.value <= linear(2) + 0.01);
        near(r.value, linear(x), 0.02);
    }
    line(constant, features, values);
    for (double x = -3; x <= 5; x += 0.25)
        near(at(features, values, ROWS, x, -1).value, 0.7, 1e-6); /* at any position */
}

/* Far from all rows the prediction is their mean, with full variance. */
static void far_off(void **state)
{
    float features[ROWS][COUNT], values[ROWS];
    (void)state;
    line(wavy, features, values);
    cm__kriged r = at(features, values, ROWS, 100, -1);
    assert_true(r.unknown > 0.999);
    assert_true(isfinite(r.value) && fabs(r.value) <= 1);
    near(r.nearest, 98, 1e-3);
    assert_int_equal(r.row, ROWS - 1);
    double before = 0;
    for (double x = 2; x < 6; x += 0.5) {
        double unknown = at(features, values, ROWS, x, -1).unknown;
        assert_true(unknown >= before);
        before = unknown;
    }
}

static void one_row(void **state)
{
    (void)state;
    float      feature[1][COUNT] = {{1}}, value = 0.3f;
    cm__kriged r = at(feature, &value, 1, 1.5, -1);
    near(r.value, 0.3, 1e-6);
    near(r.nearest, 0.5, 1e-6);
}

/* A row that is left out does not influence its own prediction: an outlier is not reproduced. */
static void left_out(void **state)
{
    float features[ROWS][COUNT], values[ROWS];
    (void)state;
    line(linear, features, values);
    values[7] = 50;
    cm__kriged r = at(features, values, ROWS, (double)features[7][0], 7);
    assert_int_not_equal(r.row, 7);
    assert_true(r.nearest > 0);
    near(r.value, linear((double)features[7][0]), 0.05);
    /* if it is not left out, it is */
    assert_true(at(features, values, ROWS, (double)features[7][0], -1).value > r.value + 5);
}

/* Two rows with equal features cannot both be reproduced: the result is their mean, without numerical failure. */
static void equal_rows(void **state)
{
    (void)state;
    float features[3][COUNT] = {{1}, {1}, {1}}, values[] = {0, 1, 0.5f};
    near(at(features, values, 3, 1, -1).value, 0.5, 0.01);
}

/* ---- several tables --------------------------------------------------------------------------------------------- */

/* If a table has no near row, another table of the same operator is used; the variance grows with their distance. */
static void other_tables_are_used(void **state)
{
    float    features[ROWS][COUNT], values[ROWS], far[1][COUNT] = {{50}}, value = 0, here[COUNT] = {1};
    memory   m[2];
    (void)state;
    line(constant, features, values);
    cm__rows tables[] = {arrange(&m[0], far[0], &value, 1), arrange(&m[1], features[0], values, ROWS)};
    tables[1].variant = 1;
    cm__kriged alone = cm__krige(cm__scales_of(OP), tables, 1, 0, here, COUNT, -1),
               with = cm__krige(cm__scales_of(OP), tables, 2, 0, here, COUNT, -1);
    assert_true(with.unknown < alone.unknown);
    assert_true(fabs(with.value - 0.7) < fabs(alone.value - 0.7));
    assert_int_equal(with.row, 0); /* still reported for its own table */
    tables[1].dtype = 1;
    assert_true(cm__krige(cm__scales_of(OP), tables, 2, 0, here, COUNT, -1).unknown >= with.unknown);
}

/* The order of tables does not matter. */
static void order_of_tables(void **state)
{
    float    a[ROWS][COUNT], b[ROWS][COUNT], of_a[ROWS], of_b[ROWS], here[COUNT] = {0.77f};
    memory   m[2];
    (void)state;
    line(linear, a, of_a);
    line(wavy, b, of_b);
    cm__rows one = arrange(&m[0], a[0], of_a, ROWS), two = arrange(&m[1], b[0], of_b, ROWS);
    two.pass = 1;
    cm__rows   in_order[] = {one, two}, turned[] = {two, one};
    cm__kriged x = cm__krige(cm__scales_of(OP), in_order, 2, 0, here, COUNT, -1),
               y = cm__krige(cm__scales_of(OP), turned, 2, 1, here, COUNT, -1);
    near(x.value, y.value, 1e-4);
    near(x.unknown, y.unknown, 1e-4);
    assert_int_equal(x.row, y.row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponentials_are_exact),
        cmocka_unit_test(rows_are_reproduced), cmocka_unit_test(between_rows),      cmocka_unit_test(far_off),
        cmocka_unit_test(one_row),             cmocka_unit_test(left_out),          cmocka_unit_test(equal_rows),
        cmocka_unit_test(other_tables_are_used),   cmocka_unit_test(order_of_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
