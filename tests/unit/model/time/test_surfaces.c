/* SPDX-License-Identifier: Apache-2.0 */
/* test_surfaces.c - networks over the sizes of products: evaluation, range, refusals; and what AMD's profiles give. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "time_device.h"
#include "model/time/surfaces.h"
#include "model/time/timer.h"

#define FEATURES 28 /* of a product */
#define LOG_K 3
#define OPERATORS "{\"cores\": 100, \"n\": 9, \"error\": {\"mape\": 0.2}, "

static cm_diag diag;

/* Appends count numbers: `value` at `at`, `rest` elsewhere. */
static void list(char *text, size_t size, int count, int at, double value, double rest)
{
    for (int i = 0; i < count; i++)
        snprintf(text + strlen(text), size - strlen(text), "%s%g", i ? ", " : "", i == at ? value : rest);
}

/* A surface with one unit in each layer: ratio = exp(0.5 + 3 tanh(tanh(0.1 log k))), for k up to 4096. */
static const char *surface(double times)
{
    static char text[8192];
    snprintf(text, sizeof text,
             ",\n\"surfaces\": {\"gemm\": " OPERATORS "\"times\": %g, \"widths\": [%d, 1, 1, 1], \"low\": [", times,
             FEATURES);
    list(text, sizeof text, FEATURES, -1, 0, -100);
    strcat(text, "], \"high\": [");
    list(text, sizeof text, FEATURES, LOG_K, log(4096), 100);
    strcat(text, "], \"weights\": [");
    list(text, sizeof text, FEATURES, LOG_K, 0.1, 0);
    strcat(text, ", 0, 1, 0, 3, 0.5]}}");
    return text;
}

static cm_device *device_with(const char *more)
{
    static char text[16384];
    snprintf(text, sizeof text, "%s", TIME_DEVICE("@"));
    char *at = strchr(text, '@'), rest[16];
    snprintf(rest, sizeof rest, "%s", at + 1);
    snprintf(at, sizeof text - (size_t)(at - text), "%s%s", more, rest);
    return device_of(text);
}

static double time_of(const cm_device *d, const char *text, double *error)
{
    cm__limits l = cm__limits_of(d);
    cm__call   c = call_of(text);
    return cm__surface_time(d, &l, &c, true, error);
}

static void near(double got, double expected, double fraction)
{
    if (!(fabs(got / expected - 1) <= fraction)) fail_msg("%g, expected %g", got, expected);
}

/* 1 us, and the 4-norm of arithmetic at 1e14 FLOP/s and of traffic at 1e12 B/s */
static double least(double m, double n, double k)
{
    double compute = 2 * m * n * k / 1e14, traffic = 2 * (m * k + k * n + m * n) / 1e12;
    return 1e-6 + pow(pow(compute, 4) + pow(traffic, 4), 0.25);
}

static double ratio(double k) { return exp(0.5 + 3 * tanh(tanh(0.1 * log(k)))); }

static void a_network_times_the_roofline(void **state)
{
    (void)state;
    cm_device *d = device_with(surface(1));
    double     error, outside;
    near(time_of(d, "gemm forward nn bf16 1,512,256,1024", &error), least(512, 256, 1024) * ratio(1024), 1e-5);
    near(error, hypot(0.2, 0.12), 1e-9); /* of its own rows, and of other sources (fit_source_error) */
    /* beyond the range the ratio stays, and the error grows */
    near(time_of(d, "gemm forward nn bf16 1,512,256,16384", &outside), least(512, 256, 16384) * ratio(4096), 1e-5);
    assert_true(outside > error);
    assert_true(isnan(time_of(d, "gemm forward nn fp64 1,512,256,1024", &error)));
    assert_true(isnan(time_of(d, "softmax forward - fp32 512,256", &error)));
    cm_device_free(d);
}

/* A table of the device itself takes precedence. */
static void after_tables(void **state)
{
    (void)state;
    char more[12000];
    snprintf(more, sizeof more, "%s%s", surface(1),
             KERNELS(TABLE("gemm", "forward", "nn", "bf16", GEMM_DIMS, "[[1, 512, 256, 1024, 5e-5, 1]]")));
    cm_device *d = device_with(more);
    cm__ctx   *ctx = cm__ctx_new(&diag);
    cm__timer *t = cm__timer_new(ctx, d, NULL, CM_RUNTIME_TORCH_EAGER, NULL);
    cm__call   table = call_of("gemm forward nn bf16 1,512,256,1024");
    cm__call   none = call_of("gemm forward nt bf16 1,512,256,1024");
    assert_true(cm__timer_time(t, &table).time_s == (double)5e-5f);
    near(cm__timer_time(t, &none).time_s, least(512, 256, 1024) * ratio(1024), 1e-5);
    cm__ctx_free(ctx);
    cm_device_free(d);
}

static void refused(void **state)
{
    (void)state;
    static char  text[16384];
    const char  *wrong[] = {", \"surfaces\": {\"gemm\": " OPERATORS "\"widths\": [1, 1, 1, 1], \"low\": [0], "
                            "\"high\": [1], \"weights\": [1, 2, 3, 4, 5]}}",
                            ", \"surfaces\": {\"gemm\": " OPERATORS "\"widths\": [1, 1, 1], \"low\": [0], "
                            "\"high\": [1], \"weights\": [1, 2, 3, 4]}}",
                            ", \"surfaces\": {\"softmax\": {}}"};
    static const char *const reasons[] = {"'weights'", "'widths'", "unknown member 'softmax'"};
    for (size_t i = 0; i < 3; i++) {
        cm_device *d;
        snprintf(text, sizeof text, "%s", TIME_DEVICE("@"));
        char *at = strchr(text, '@'), rest[16];
        snprintf(rest, sizeof rest, "%s", at + 1);
        snprintf(at, sizeof text - (size_t)(at - text), "%s%s", wrong[i], rest);
        write_file("timed.json", text);
        assert_true(cm_device_load(file_named("timed.json"), &d, &diag) != CM_OK);
        if (!strstr(diag.reason, reasons[i])) fail_msg("%s", diag.reason);
    }
}

/* A convolution is less sure than a product, one of groups or a volume still less: PyTorch does not search for the fastest
   solver, of which these surfaces are. */
static void unsearched_convolutions(void **state)
{
    (void)state;
    cm_device *d;
    double     product, image, grouped, volume;
    if (cm_device_load("amd-mi210", &d, &diag)) fail_msg("%s", diag.reason);
    time_of(d, "gemm forward nn fp32 1,512,256,1024", &product);
    time_of(d, "conv forward nchw fp32 16,64,64,56,56,3,3,1,1,1,1,1,1,1", &image);
    time_of(d, "conv forward nchw fp32 16,64,64,56,56,3,3,1,1,1,1,1,1,64", &grouped);
    time_of(d, "conv3d forward nchw fp32 16,64,64,8,28,28,3,3,3,1,1,1,1,1,1,1,1,1,1", &volume);
    assert_true(product < image && image >= 0.35 && image < grouped && image < volume);
    cm_device_free(d);
}

/* The best products found: 668.4 TFLOP/s on an MI300X, 1,565 on an MI355X (stas00/ml-engineering). Others reach less,
   or little more. */
static void amd_products(void **state)
{
    (void)state;
    static const struct {
        const char *id, *call;
        double      flop, best;
    } rows[] = {{"amd-mi300x", "gemm forward nn bf16 1,10240,15360,8192", 2.0 * 10240 * 15360 * 8192, 668.4e12},
                {"amd-mi300x", "gemm forward nt bf16 1,8192,8192,8192", 2.0 * 8192 * 8192 * 8192, 668.4e12},
                {"amd-mi300x", "gemm forward nt bf16 1,4096,14336,4096", 2.0 * 4096 * 14336 * 4096, 668.4e12},
                {"amd-mi355x", "gemm forward nn bf16 1,12288,8192,8192", 2.0 * 12288 * 8192 * 8192, 1565e12}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm_device *d;
        double     error;
        if (cm_device_load(rows[i].id, &d, &diag)) fail_msg("%s", diag.reason);
        double rate = rows[i].flop / time_of(d, rows[i].call, &error);
        if (!(rate < 1.15 * rows[i].best && rate > 0.6 * rows[i].best)) fail_msg("%s: %g FLOP/s", rows[i].call, rate);
        cm_device_free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_network_times_the_roofline), cmocka_unit_test(after_tables),
                                       cmocka_unit_test(refused), cmocka_unit_test(unsearched_convolutions),
                                       cmocka_unit_test(amd_products)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
