/* SPDX-License-Identifier: Apache-2.0 */
/* test_features.c - the features of a call, which determine its neighbours. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "model/time/features.h"

static const cm__limits on_100_cores = {.cores = 100};

static void near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance)) fail_msg("%g, expected %g", got, expected);
}

static double feature(const cm__call *c, int at)
{
    float f[CM__FEATURES];
    cm__features(c, &on_100_cores, f);
    return (double)f[at] * (double)cm__scales_of(c->op)->scales[at];
}

static void features_of_a_product(void **state)
{
    cm__call c = {.op = CM__CALL_GEMM, .variant = CM__V_NN, .types = CM__ALL(CM_BF16), .sizes = {1, 64, 128, 256}};
    cm__call twice = c;
    (void)state;
    assert_int_equal(cm__n_features(c.op), 16); /* 4 sizes, 3 alignments, roofline, FLOP per byte, 6 for tiles, vectors */
    twice.sizes[1] *= 2;
    near(feature(&twice, 1) - feature(&c, 1), log(2), 1e-5);
    for (int at = 0; at < 4; at++)
        if (at != 1) assert_true(feature(&c, at) == feature(&twice, at));
    assert_true(feature(&c, 4) == feature(&twice, 4)); /* 64 and 128 both allow vector loads of eight */
    assert_true(feature(&c, 15) == 0);
}

/* Vector loads need rows of a multiple of eight numbers in memory. `nt`: A has rows of k, B of k, C of n. `nn`: k, n, n.
   `tn`: m, n, n. `tt`: m, k, n. A size that is no length of a row may be odd. */
static void alignment_of_rows(void **state)
{
    static const struct {
        const char *variant;
        bool        rows_of[3]; /* m, n, k */
    } cases[] = {{"nt", {0, 1, 1}}, {"nn", {0, 1, 1}}, {"nt-bias", {0, 1, 1}}, {"tn", {1, 1, 0}}, {"tt", {1, 1, 1}}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int size = 0; size < 3; size++) {
            cm__call even = {.op = CM__CALL_GEMM, .types = CM__ALL(CM_BF16), .sizes = {1, 256, 256, 256}}, odd;
            even.variant = cm__variant_find(cases[i].variant);
            odd = even;
            odd.sizes[1 + size]++;
            assert_int_equal(feature(&odd, 4 + size) < feature(&even, 4 + size), cases[i].rows_of[size]);
        }
}

/* Tiles of 128 x 128, the fourth tile size: 10 x 10 tiles fill 100 cores; one more row of tiles needs a second wave. */
static void waves_of_tiles(void **state)
{
    cm__call full = {.op = CM__CALL_GEMM, .variant = CM__V_NN, .types = CM__ALL(CM_BF16), .sizes = {1, 1280, 1280, 64}}, over = full;
    (void)state;
    over.sizes[1] = 1408;
    near(feature(&full, 9 + 3), 0, 1e-6);
    near(feature(&over, 9 + 3), log(110 / 200.), 0.06); /* linear between powers of two */
    over.sizes[1] = 1281; /* the same number of tiles, with the last row mostly empty */
    near(feature(&over, 9 + 3), log(110 / 200. * 1281 / 1408), 0.06);
}

/* Blocks of 128 queries: 25 heads of 512 queries fill 100 cores. */
static void blocks_of_attention(void **state)
{
    cm__call c = {.op = CM__CALL_ATTENTION, .types = CM__ALL(CM_BF16), .sizes = {1, 512, 512, 25, 25, 64, 1}}, shared = c;
    (void)state;
    near(feature(&c, 12 + 1), 0, 1e-6);
    shared.sizes[4] = 5;
    assert_true(feature(&shared, 12 + 5) != feature(&c, 12 + 5)); /* grouped-query attention has separate kernels */
}

/* A product with one row or column is one of a matrix and a vector. */
static void vectors_are_a_kind(void **state)
{
    cm__call c = {.op = CM__CALL_GEMM, .variant = CM__V_TN, .types = CM__ALL(CM_FP32), .sizes = {1, 2, 512, 64}};
    (void)state;
    assert_true(feature(&c, 15) == 0);
    c.sizes[CM__GEMM_M] = 1;
    assert_true(feature(&c, 15) > 0);
    c.sizes[CM__GEMM_M] = 512;
    c.sizes[CM__GEMM_N] = 1;
    assert_true(feature(&c, 15) > 0);
}

/* 96 x 784 numbers of 2 bytes are 150,528: cuDNN reads the channel once (3.5 TB/s on the H200), but not 128 x 784 (1.4). In
   backward it keeps two tensors: 128 x 256 numbers fit, 256 x 196 do not. Single numbers per channel are a third kind, unless
   the call is already one of rows. */
static void norms_that_keep_a_channel(void **state)
{
    static const struct {
        const char *variant, *dtype;
        cm__pass    pass;
        int64_t     images, pixels;
        int         kind;
    } cases[] = {{"nchw", "fp16", CM__PASS_FORWARD, 96, 784, 1},   {"nchw", "fp16", CM__PASS_FORWARD, 128, 784, 0},
                 {"nchw", "fp32", CM__PASS_FORWARD, 96, 784, 0},   {"nchw", "fp16", CM__PASS_BACKWARD, 128, 256, 1},
                 {"nchw", "fp16", CM__PASS_BACKWARD, 256, 196, 0}, {"nhwc", "fp32", CM__PASS_FORWARD, 65536, 1, 2},
                 {"rows", "fp32", CM__PASS_FORWARD, 65536, 1, 0}};
    const int at = CM__BATCH_NORM_SIZES + CM__ALIGNED + CM__WORK_FEATURES + 1;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__call c = {.op = CM__CALL_BATCH_NORM, .pass = cases[i].pass, .sizes = {cases[i].images, 512, cases[i].pixels}};
        c.variant = cm__variant_find(cases[i].variant);
        c.types = cm__types_find(cases[i].dtype);
        near(feature(&c, at), (double)cm__feature_facts.kinds_apart * cases[i].kind, 1e-5);
    }
}

/* As many groups as channels uses another kernel than one group; groups of 4 or 8 channels use a third, and several
   filters for each channel a fourth. */
static void kinds_of_groups(void **state)
{
    static const int64_t groups[] = {1, 64, 16, 8, 64}, filters[] = {64, 64, 64, 64, 128};
    double               of[5];
    (void)state;
    for (int i = 0; i < 5; i++) {
        cm__call c = {.op = CM__CALL_CONV, .variant = CM__V_NHWC, .types = CM__ALL(CM_BF16),
                      .sizes = {8, 64, filters[i], 14, 14, 3, 3, 1, 1, 1, 1, 1, 1, groups[i]}};
        of[i] = feature(&c, 13);
    }
    assert_true(of[0] != of[1] && of[1] != of[2] && of[0] != of[2] && of[2] == of[3]);
    for (int i = 0; i < 4; i++) assert_true(of[4] != of[i]);
}

/* Groups of 32 channels are alike, however many there are: their channels and filters are those of one group, and only
   the number of groups differs. */
static void wide_groups_are_described_by_one(void **state)
{
    cm__call few = {.op = CM__CALL_CONV, .variant = CM__V_NHWC, .types = CM__ALL(CM_BF16),
                    .sizes = {8, 64, 64, 14, 14, 3, 3, 1, 1, 1, 1, 1, 1, 2}};
    cm__call many = few;
    (void)state;
    many.sizes[CM__CONV_C] = many.sizes[CM__CONV_K] = 1024;
    many.sizes[CM__CONV_GROUPS] = 32;
    assert_true(feature(&few, CM__CONV_C) == feature(&many, CM__CONV_C));
    assert_true(feature(&few, CM__CONV_K) == feature(&many, CM__CONV_K));
    assert_true(feature(&few, CM__CONV_GROUPS) == feature(&many, CM__CONV_GROUPS));
    assert_true(feature(&few, CM__CONV_SIZES + 5) < feature(&many, CM__CONV_SIZES + 5));
}

/* ---- convolutions that are looked up as others -------------------------------------------------------------------- */

#define ALIGNED_3 (CM__CONV_SIZES + 2)

static cm__call convolution(const char *variant, const char *dtype, const int64_t sizes[CM__CONV_SIZES])
{
    cm__call c = {.op = CM__CALL_CONV};
    c.variant = cm__variant_find(variant);
    c.types = cm__types_find(dtype);
    memcpy(c.sizes, sizes, CM__CONV_SIZES * sizeof *sizes);
    return c;
}

/* Whether two convolutions have the same features, but for the alignment of products. */
static bool same_features(const int64_t a[CM__CONV_SIZES], const int64_t b[CM__CONV_SIZES])
{
    cm__call x = convolution("nchw", "fp32", a), y = convolution("nchw", "fp32", b);
    for (int at = 0; at < cm__n_features_unpadded(CM__CALL_CONV); at++)
        if (at != ALIGNED_3 && feature(&x, at) != feature(&y, at)) return false;
    return true;
}

/* A filter over all 22 electrodes of 40 channels (list p, motor_imagery) sums over 880 channels in each place; so does
   one over all columns. Padding, groups, or a second covered dimension make another convolution of it. */
static void covered_dimensions_are_channels(void **state)
{
    static const int64_t rows[] = {72, 40, 40, 22, 976, 22, 1, 1, 1, 0, 0, 1, 1, 1},
                         columns[] = {72, 40, 40, 976, 22, 1, 22, 1, 1, 0, 0, 1, 1, 1},
                         of_rows[] = {72, 880, 40, 1, 976, 1, 1, 1, 1, 0, 0, 1, 1, 1},
                         of_columns[] = {72, 880, 40, 976, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1};
    static const struct {
        int     at;
        int64_t value;
    } others[] = {{CM__CONV_PAD_H, 1}, {CM__CONV_GROUPS, 2}, {CM__CONV_R, 21}, {CM__CONV_S, 976}};
    (void)state;
    assert_true(same_features(rows, of_rows) && same_features(columns, of_columns));
    for (int i = 0; i < 4; i++) {
        int64_t other[CM__CONV_SIZES], folded[CM__CONV_SIZES];
        memcpy(other, rows, sizeof rows);
        memcpy(folded, of_rows, sizeof rows);
        other[others[i].at] = others[i].value;
        if (others[i].at != CM__CONV_R) folded[others[i].at] = others[i].value;
        assert_false(same_features(other, folded));
    }
}

/* cuBLAS multiplies 256 channels of 8 x 8 pixels in bf16; it does not take 33 x 33 pixels or 20 channels, nor a filter
   over a dimension. Channels last have rows of channels, and fp32 has other kernels. Of one pixel the filters count. */
static void products_of_pixels(void **state)
{
    static const struct {
        const char *variant, *dtype;
        int64_t     channels, filters, rows, columns, window;
        bool        aligned;
    } cases[] = {
        {"nchw", "bf16", 256, 64, 8, 8, 1, true},   {"nchw", "bf16", 256, 64, 28, 14, 1, true},
        {"nchw", "bf16", 256, 64, 33, 33, 1, false}, {"nchw", "bf16", 20, 64, 8, 8, 1, false},
        {"nchw", "tf32", 256, 64, 33, 33, 1, false}, {"nchw", "fp32", 256, 64, 33, 33, 1, true},
        {"nhwc", "bf16", 256, 64, 33, 33, 1, true},  {"nchw", "bf16", 256, 64, 1, 1, 1, true},
        {"nchw", "bf16", 256, 65, 1, 1, 1, false},   {"nchw", "bf16", 256, 64, 33, 33, 3, true},
        {"nchw", "fp32", 256, 64, 8, 64, 8, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t  one = cases[i].window == 3 ? 3 : 1;
        cm__call c = convolution(cases[i].variant, cases[i].dtype,
                                 (int64_t[]){32, cases[i].channels, cases[i].filters, cases[i].rows, cases[i].columns,
                                             cases[i].window, one, 1, 1, 0, 0, 1, 1, 1});
        if ((feature(&c, ALIGNED_3) == 1.5) != cases[i].aligned) fail_msg("case %zu: %g", i, feature(&c, ALIGNED_3));
    }
}

/* 232 channels are two parts of 116, which vectors of eight do not divide; a copy of 232 is read as one. */
static void halves_of_what_is_joined(void **state)
{
    cm__call whole = {.op = CM__CALL_ELEMENTWISE, .variant = CM__V(CAT, NHWC), .types = CM__ALL(CM_BF16), .sizes = {1024, 256}};
    cm__call odd = whole, copy = whole, other = whole;
    (void)state;
    odd.sizes[1] = other.sizes[1] = 232;
    copy.variant = CM__V(COPY, PART);
    other.variant = CM__V(COPY, PART);
    assert_true(feature(&whole, 2) - feature(&odd, 2) > 1);
    assert_true(feature(&copy, 2) == feature(&other, 2));
}

static void no_sizes(void **state)
{
    (void)state;
    for (int16_t op = 0; op < CM__CALLS; op++) {
        float    f[CM__FEATURES];
        cm__call c = {.op = op, .types = CM__ALL(CM_FP32)};
        cm__features(&c, &on_100_cores, f);
        for (int i = 0; i < cm__n_features(op); i++) assert_true(isfinite(f[i]));
    }
}

/* Every feature has a scale, and there is no scale without a feature. */
static void every_feature_has_a_scale(void **state)
{
    (void)state;
    for (int op = 0; op < CM__CALLS; op++)
        for (int i = 0; cm__call_scales[op].noise > 0 && i < CM__FEATURES; i++) /* others have the default */
            if ((cm__scales_of(op)->scales[i] > 0) != (i < cm__n_features_unpadded(op)))
                fail_msg("%s: feature %d", cm__call_kinds[op].name, i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_feature_has_a_scale),
        cmocka_unit_test(features_of_a_product),
        cmocka_unit_test(alignment_of_rows),
        cmocka_unit_test(waves_of_tiles),
        cmocka_unit_test(blocks_of_attention),   cmocka_unit_test(kinds_of_groups),
        cmocka_unit_test(vectors_are_a_kind),    cmocka_unit_test(norms_that_keep_a_channel),
        cmocka_unit_test(wide_groups_are_described_by_one),
        cmocka_unit_test(covered_dimensions_are_channels),
        cmocka_unit_test(products_of_pixels),
                cmocka_unit_test(halves_of_what_is_joined), cmocka_unit_test(no_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
