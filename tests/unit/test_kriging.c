/* SPDX-License-Identifier: Apache-2.0 */
/* test_kriging.c - interpolation between rows: exact on them, between their values, honest where there are none. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "model/kriging.h"

#define ROWS 20
#define OP CM__CALL_OPTIMIZER /* the least noise of scales.def */

static void near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance)) fail_msg("%g, expected %g", got, expected);
}

/* One feature from 0 to 2, and what `field` makes of it. */
static void line(double (*field)(double), float *features, float *values)
{
    for (int i = 0; i < ROWS; i++) {
        features[i] = (float)i * 2 / (ROWS - 1);
        values[i] = (float)field((double)features[i]);
    }
}

static double linear(double x) { return 3 + 0.5 * x; }
static double constant(double x) { return 0 * x + 0.7; }
static double wavy(double x) { return sin(3 * x); }

static cm__kriged at(const float *features, const float *values, int32_t count, double x, int32_t without)
{
    float f = (float)x;
    return cm__krige(OP, features, values, count, &f, 1, without);
}

static void rows_are_reproduced(void **state)
{
    double (*const fields[])(double) = {linear, constant, wavy};
    float features[ROWS], values[ROWS];
    (void)state;
    for (int k = 0; k < 3; k++) {
        line(fields[k], features, values);
        for (int i = 0; i < ROWS; i++) {
            cm__kriged r = at(features, values, ROWS, (double)features[i], -1);
            near(r.value, (double)values[i], 0.01);
            assert_int_equal(r.row, i);
            assert_true(r.nearest == 0);
            assert_true(r.unknown >= 0 && r.unknown < 0.01);
        }
    }
}

static void between_rows(void **state)
{
    float features[ROWS], values[ROWS];
    (void)state;
    line(linear, features, values);
    for (double x = 0; x <= 2; x += 0.01) {
        cm__kriged r = at(features, values, ROWS, x, -1);
        assert_true(r.value >= linear(0) - 0.01 && r.value <= linear(2) + 0.01);
        near(r.value, linear(x), 0.02);
    }
    line(constant, features, values);
    for (double x = -3; x <= 5; x += 0.25)
        near(at(features, values, ROWS, x, -1).value, 0.7, 1e-6); /* anywhere at all */
}

/* Far from all rows: their mean, by which nothing is known. */
static void far_off(void **state)
{
    float features[ROWS], values[ROWS];
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
    float      feature = 1, value = 0.3f;
    cm__kriged r = at(&feature, &value, 1, 1.5, -1);
    near(r.value, 0.3, 1e-6);
    near(r.nearest, 0.5, 1e-6);
}

/* Without its own row a value comes from the others: an outlier's is not seen. */
static void left_out(void **state)
{
    float features[ROWS], values[ROWS];
    (void)state;
    line(linear, features, values);
    values[7] = 50;
    cm__kriged r = at(features, values, ROWS, (double)features[7], 7);
    assert_int_not_equal(r.row, 7);
    assert_true(r.nearest > 0);
    near(r.value, linear((double)features[7]), 0.05);
    assert_true(at(features, values, ROWS, (double)features[7], -1).value > r.value + 5); /* with it, it is */
}

/* Two rows of the same features cannot both be reproduced: their mean, and no breakdown. */
static void equal_rows(void **state)
{
    (void)state;
    float features[] = {1, 1, 1}, values[] = {0, 1, 0.5f};
    near(at(features, values, 3, 1, -1).value, 0.5, 0.01);
}

/* ---- features --------------------------------------------------------------------------------------------------- */

static void features_of_a_product(void **state)
{
    float    a[CM__FEATURES], b[CM__FEATURES];
    cm__call c = {.op = CM__CALL_GEMM, .variant = "nn", .dtype = "bf16", .sizes = {1, 64, 128, 256}};
    (void)state;
    assert_int_equal(cm__features(&c, 1e-5, a), 4 + 5); /* sizes, three alignments, roofline, FLOP per byte */
    c.sizes[1] *= 2;
    cm__features(&c, 1e-5, b);
    assert_true(b[1] > a[1]);
    near((double)(b[1] - a[1]), log(2) / 4.5, 1e-6); /* 4.5 is m's scale in scales.def */
    assert_true(a[0] == b[0] && a[2] == b[2] && a[3] == b[3]);
    assert_true(a[4] == b[4]); /* 64 and 128 are both read eight at a time */
    c.sizes[1] = 129;
    cm__features(&c, 1e-5, a);
    assert_true(a[4] < b[4]);
}

/* As many groups as channels is another kernel than one group; other numbers of groups are a third. */
static void kinds_of_groups(void **state)
{
    static const int64_t groups[] = {1, 64, 32, 16};
    float                of[4];
    (void)state;
    for (int i = 0; i < 4; i++) {
        float    f[CM__FEATURES];
        cm__call c = {.op = CM__CALL_CONV, .variant = "nhwc", .dtype = "bf16",
                      .sizes = {8, 64, 64, 14, 14, 3, 3, 1, 1, 1, 1, 1, 1, groups[i]}};
        cm__features(&c, 1e-5, f);
        of[i] = f[13];
    }
    assert_true(of[0] != of[1] && of[1] != of[2] && of[0] != of[2] && of[2] == of[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_reproduced), cmocka_unit_test(between_rows), cmocka_unit_test(far_off),
        cmocka_unit_test(one_row),             cmocka_unit_test(left_out),     cmocka_unit_test(equal_rows),
        cmocka_unit_test(features_of_a_product), cmocka_unit_test(kinds_of_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
