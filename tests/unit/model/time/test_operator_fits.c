/* SPDX-License-Identifier: Apache-2.0 */
/* test_operator_fits.c - calls timed by a profile's operator models: which model applies, and its ceilings. */
#include <math.h>
#include "time_device.h"
#include "model/time/operator_fits.h"

/* A stream at half of the memory bandwidth (1e12 B/s); caches and elements cost nothing. */
#define STREAM(op, dtype, overhead, fraction, n, mape)                                                                 \
    "{\"op\": \"" op "\", \"pass\": \"forward\", \"dtype\": \"" dtype "\", \"runtime\": \"native\", "                  \
    "\"form\": \"stream\", \"parameters\": {\"overhead_s\": " overhead ", \"memory_fraction\": " fraction ", "        \
    "\"cache_speedup\": 1, \"cache_share\": 1, \"element_s\": 1e-30, \"sharpness\": 4}, \"n\": " n ", "                \
    "\"error\": {\"mape\": " mape ", \"bias\": 0, \"p90\": 0.2}, \"kind\": \"fitted\", \"source\": \"sheet\", "        \
    "\"date\": \"2026-11\"}"
#define BACKWARD                                                                                                       \
    "{\"op\": \"conv2d_full\", \"pass\": \"backward_weight\", \"dtype\": \"fp32\", \"runtime\": \"native\", "           \
    "\"form\": \"stream\", \"parameters\": {\"overhead_s\": 1e-6, \"memory_fraction\": 0.5, \"cache_speedup\": 1, "         \
    "\"cache_share\": 1, \"element_s\": 1e-30, \"sharpness\": 4}, \"n\": 90, \"error\": {\"mape\": 0.4, \"bias\": 0, "      \
    "\"p90\": 0.6}, \"kind\": \"fitted\", \"source\": \"sheet\", \"date\": \"2026-11\"}"
#define FITTED(fits) TIME_DEVICE(",\n\"fits\": [" fits "]")

static cm_diag diag;

static double seconds(const char *profile, const char *text, bool plain, bool megatron, double *error)
{
    cm_device *d = device_of(profile);
    cm__limits limits = cm__limits_of(d);
    cm__ctx   *ctx = cm__ctx_new(&diag);
    cm__call   c = call_of(text);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    double s = cm__operator_fits_time(cm__operator_fits_new(ctx, d, &limits, plain, megatron), &c, error);
    if (!isnan(s)) s -= limits.floor_s;
    cm__ctx_free(ctx);
    cm_device_free(d);
    return s;
}

#define ADD "elementwise forward add fp32 1,1000000000" /* 12e9 bytes */

/* The device's launch overhead replaces the one in the model. The error adds the difference between sources, 0.12. */
static void test_stream(void **state)
{
    (void)state;
    double error, s = seconds(FITTED(STREAM("add", "fp32", "5e-6", "0.5", "20", "0.03")), ADD, true, false, &error);
    assert_true(fabs(s / (12e9 / 0.5e12) - 1) < 1e-3);
    assert_true(fabs(error - sqrt(0.12 * 0.12 + 0.03 * 0.03)) < 1e-12);
    double slow = seconds(FITTED(STREAM("add", "fp32", "1", "0.5", "20", "0.3")), ADD, true, false, &error);
    assert_true(fabs(slow / s - 1) < 1e-9 && fabs(error - sqrt(0.12 * 0.12 + 0.3 * 0.3)) < 1e-12);
}

/* Plain models time fp32 calls of their operator only; without `plain` or a model there is no time. */
static void test_applies(void **state)
{
    (void)state;
    const char *profile = FITTED(STREAM("add", "fp32", "5e-6", "0.5", "20", "0.03"));
    double      error;
    assert_true(isnan(seconds(profile, ADD, false, false, &error)));
    assert_true(isnan(seconds(profile, "elementwise forward add bf16 1,1000", true, false, &error)));
    assert_true(isnan(seconds(profile, "elementwise forward mul fp32 1,1000", true, false, &error)));
    assert_true(isnan(seconds(profile, "softmax forward - fp32 10,10", true, false, &error)));
    assert_true(isnan(seconds(TIME_DEVICE(""), ADD, true, false, &error)));
}

/* The model fitted to most rows is used, then the one with the smallest error. */
static void test_best(void **state)
{
    (void)state;
    double error, few, many;
    few = seconds(FITTED(STREAM("add", "fp32", "1e-6", "0.5", "20", "0.2")), ADD, true, false, &error);
    many = seconds(FITTED(STREAM("add", "fp32", "1e-6", "0.5", "20", "0.2") ","
                          STREAM("add", "fp32", "1e-6", "0.25", "30", "0.4")), ADD, true, false, &error);
    assert_true(fabs(many / few - 2) < 1e-3 && fabs(error - sqrt(0.12 * 0.12 + 0.4 * 0.4)) < 1e-12);
}

/* A model of the call's pass is used before one of the forward pass, also under the later name and if fitted to fewer
   rows; without one, the forward model has the same work. */
static void test_pass(void **state)
{
    (void)state;
    const char *forward = STREAM("conv2d", "fp32", "1e-6", "0.5", "900", "0.2");
    const char *call = "conv bwd_weight nchw fp32 64,64,64,56,56,3,3,1,1,1,1,1,1,1";
    char        one[4096], both[8192];
    double      error;
    snprintf(one, sizeof one, FITTED("%s"), forward);
    snprintf(both, sizeof both, FITTED("%s, " BACKWARD), forward);
    assert_true(seconds(one, call, true, false, &error) > 0 && fabs(error - hypot(0.12, 0.2)) < 1e-12);
    assert_true(seconds(both, call, true, false, &error) > 0 && fabs(error - hypot(0.12, 0.4)) < 1e-12);
}

/* A product in 16 bits takes a model of any type of 16 bits; others none. */
static void test_product(void **state)
{
    static const struct {
        const char *call;
        bool        timed;
    } cases[] = {{"gemm forward nt fp16 1,4096,4096,4096", true}, {"gemm forward nt bf16 1,4096,4096,4096", true},
                 {"gemm forward nt fp32 1,4096,4096,4096", false}, {"softmax forward - fp16 64,64", false}};
    (void)state;
    cm_device *d = device_of(FITTED(STREAM("gemm", "fp16in_fp32acc", "1e-6", "0.5", "160", "0.1")));
    cm__limits limits = cm__limits_of(d);
    cm__ctx   *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm__operator_fits *m = cm__operator_fits_new(ctx, d, &limits, true, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__call c = call_of(cases[i].call);
        double   error, s = cm__operator_fits_product(m, &c, &error);
        if (isnan(s) == cases[i].timed) fail_msg("%s: %g s", cases[i].call, s);
        if (cases[i].timed) assert_true(fabs((s - limits.floor_s) / (3 * 4096. * 4096 * 2 / 0.5e12) - 1) < 1e-3);
    }
    cm__ctx_free(ctx);
    cm_device_free(d);
}

/* Megatron-LM's update of all parameters is a stream in any type, timed by the model of a sum. */
static void test_fused(void **state)
{
    (void)state;
    const char *profile = FITTED(STREAM("add", "fp16", "5e-6", "0.5", "20", "0.03"));
    double      error, s = seconds(profile, "optimizer update adam fp32 1,1000000000", false, true, &error);
    assert_true(fabs(s / (7 * 4e9 / 0.5e12) - 1) < 1e-3); /* weight, gradient, two moments read; three written */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stream), cmocka_unit_test(test_applies), cmocka_unit_test(test_pass),
                                       cmocka_unit_test(test_product),
                                       cmocka_unit_test(test_best), cmocka_unit_test(test_fused)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
