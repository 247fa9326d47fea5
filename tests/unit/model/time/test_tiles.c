/* SPDX-License-Identifier: Apache-2.0 */
/* test_tiles.c - useful parts of the tiles of products and of convolutions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "model/time/features.h"
#include "model/time/tiles.h"
#include "model/time/trend.h"

enum { PLACES, FILTERS = CM__CONV_SIDES, WAVES = 2 * CM__CONV_SIDES, INNER = WAVES + CM__CONV_TILES, PIXELS, COUNT };

#define CORES 132

static cm__call convolution(cm__pass pass, int64_t channels, int64_t filters, int64_t pixels)
{
    return (cm__call){.op = CM__CALL_CONV, .pass = pass, .variant = CM__V_NCHW, .types = CM__ALL(CM_FP32),
                      .sizes = {16, channels, filters, pixels, pixels, 3, 3, 1, 1, 1, 1, 1, 1, 1}};
}

static void near(float got, double part)
{
    double expected = log(part);
    assert_true(fabs((double)got - expected) < 1e-5);
}

/* 96 of 128 and 96 of 256, whole tiles of 32; a wave of 132 tiles is full, one more tile starts another. */
static void test_parts(void **state)
{
    (void)state;
    assert_true(fabs(cm__filled(96, 128) - 0.75) < 1e-12);
    assert_true(fabs(cm__filled(96, 32) - 1) < 1e-12);
    assert_true(fabs(cm__waves(132, CORES) - 1) < 1e-12);
    assert_true(fabs(cm__waves(133, CORES) - 133 / 264.0) < 1e-12);
}

/* The place of a tile's side among those that are compared. */
static int side(double size)
{
    for (int i = 0; i < CM__CONV_SIDES; i++)
        if (cm__feature_facts.conv_sides[i] == size) return i;
    fail_msg("no such side");
    return 0;
}

/* Filters fill a side in forward, channels in the gradient of the input, and in the gradient of the filters their numbers
   (96 channels of 3 x 3) take the side of the places, which are summed. */
static void test_sides(void **state)
{
    cm__call forward = convolution(CM__PASS_FORWARD, 96, 48, 128), input = convolution(CM__PASS_BWD_INPUT, 96, 48, 128),
             weight = convolution(CM__PASS_BWD_WEIGHT, 96, 48, 128);
    float    out[COUNT];
    (void)state;
    assert_int_equal(cm__tiles_of_conv(&forward, CORES, out), COUNT);
    near(out[FILTERS + side(64)], 48 / 64.0);
    near(out[PLACES + side(128)], 1);
    near(out[INNER], 1); /* 864 */
    cm__tiles_of_conv(&input, CORES, out);
    near(out[FILTERS + side(128)], 96 / 128.0);
    near(out[INNER], 432 / 448.0);
    cm__tiles_of_conv(&weight, CORES, out);
    near(out[FILTERS + side(64)], 48 / 64.0);
    near(out[PLACES + side(256)], 864 / 1024.0);
}

/* Each group has its own tiles; 7 x 7 pixels are no whole vectors. */
static void test_waves_and_pixels(void **state)
{
    cm__call c = convolution(CM__PASS_FORWARD, 256, 256, 7), grouped = c;
    float    out[COUNT];
    (void)state;
    grouped.sizes[CM__CONV_GROUPS] = 2;
    for (int i = 0; i < CM__CONV_TILES; i++) {
        const double *tile = cm__feature_facts.conv_tiles[i];
        double        high = ceil(16 * 49 / tile[0]);
        cm__tiles_of_conv(&c, CORES, out);
        near(out[WAVES + i], cm__waves(high * ceil(256 / tile[1]), CORES));
        cm__tiles_of_conv(&grouped, CORES, out);
        near(out[WAVES + i], cm__waves(2 * high * ceil(128 / tile[1]), CORES));
    }
    near(out[PIXELS], 49 / 56.0);
}

/* 2 volumes of 4 x 6 x 5, 96 filters of 24 channels and 3 x 1 x 1 numbers. */
static void test_volumes(void **state)
{
    cm__call c = {.op = CM__CALL_CONV3D, .pass = CM__PASS_FORWARD, .variant = CM__V_NCHW, .types = CM__ALL(CM_FP32),
                  .sizes = {2, 24, 96, 4, 6, 5, 3, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1}};
    float    out[COUNT];
    (void)state;
    assert_int_equal(cm__tiles_of_conv(&c, CORES, out), COUNT);
    near(out[FILTERS + side(128)], 96 / 128.0);
    near(out[PLACES + side(256)], 240 / 256.0);
    near(out[INNER], 72 / 96.0);
    near(out[PIXELS], 1);
}

/* A trend has them as inputs: filters of 96 and of 128 differ in more than their number. */
static void test_inputs_of_trends(void **state)
{
    cm__call   c = convolution(CM__PASS_FORWARD, 64, 96, 56), product = {.op = CM__CALL_GEMM};
    cm__limits limits = {.cores = CORES};
    float      inputs[CM__TREND_INPUTS], tiles[COUNT];
    (void)state;
    int count = cm__trend_inputs(&c, &limits, NULL, inputs);
    cm__tiles_of_conv(&c, CORES, tiles);
    for (int i = 0; i < COUNT; i++) assert_true(inputs[count - COUNT + i] == tiles[i]);
    assert_int_equal(cm__tiles_of_conv(&product, CORES, tiles), 0);
}

/* Sizes that nothing was checked about. */
static void test_no_sizes(void **state)
{
    cm__call c = {.op = CM__CALL_CONV, .pass = CM__PASS_FORWARD};
    float    out[COUNT];
    (void)state;
    for (int i = cm__tiles_of_conv(&c, CORES, out); i-- > 0;) assert_true(isfinite(out[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts), cmocka_unit_test(test_sides), cmocka_unit_test(test_waves_and_pixels),
        cmocka_unit_test(test_volumes),
        cmocka_unit_test(test_inputs_of_trends), cmocka_unit_test(test_no_sizes),
    };
    return cmocka_run_group_tests_name("tiles", tests, NULL, NULL);
}
