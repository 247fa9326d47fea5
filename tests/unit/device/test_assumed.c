/* SPDX-License-Identifier: Apache-2.0 */
/* test_assumed.c - what a profile does not state: rules, and their constants against the built-in GPUs. */
#include "device/assumed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "device/changed.h"
#include "device/defaults.h"
#include "profile_texts.h"

#define GPU(peak, more) "{" IDENTITY("mine") ",\n" peak ",\n" MEMORY ",\n" SOURCES more "}\n"
#define VECTOR(value) "\"vector\": {\"fp32\": " NUMBER(value, "FLOP/s") "}"
#define BF16 "\"matrix\": {\"bf16\": " NUMBER("2e14", "FLOP/s") "}"
#define PEAKS "\"peak\": {" BF16 ", " VECTOR("5e13") "}"

static cm_device *device_of(const char *text)
{
    cm_device *d;
    cm_diag    diag = {0};
    if (cm__device_parse(text, strlen(text), &d, &diag)) fail_msg("%s: %s", diag.place, diag.reason);
    return d;
}

static double constant(const char *member) { return strtod(cm__default_of("gpu", member), NULL); }

static const cm_assumption *of(const cm_device *d, const char *member)
{
    for (int32_t i = 0; i < cm_device_assumptions(d); i++)
        if (strcmp(cm_device_assumption(d, i)->member, member) == 0) return cm_device_assumption(d, i);
    return NULL;
}

static void near(double a, double b)
{
    if (!(fabs(a / b - 1) < 1e-9)) fail_msg("%.12g is not %.12g", a, b);
}

static void cores_follow_from_the_peak(void **state)
{
    (void)state;
    cm_device *d = device_of(GPU(PEAKS, ""));
    double     cycle = constant("flop_per_core_cycle"), clock = constant("clock_hz");
    near(cm_device_number(d, CM_CLOCK_HZ).value, clock);
    near(cm_device_number(d, CM_CORES).value, round(5e13 / clock / cycle));
    near(cm_device_number(d, CM_LAUNCH_S).value, constant("launch"));
    assert_string_equal(cm_device_number(d, CM_CORES).kind, "assumed");
    near(cm__device_cache(d)->capacity_bytes.value, constant("cache_per_core") * cm_device_number(d, CM_CORES).value);
    near(cm__device_cache(d)->bw_bytes_s.value, 2e12 * constant("cache_speed"));
    assert_string_equal(of(d, "best_16bit")->text, "bf16");
    assert_null(of(d, "peak.vector.fp32"));
    cm_device_free(d);
    d = device_of(GPU(PEAKS, ", \"cores\": " NUMBER("100", "1")));
    near(cm_device_number(d, CM_CLOCK_HZ).value, 5e13 / 100 / cycle);
    assert_null(of(d, "cores"));
    cm_device_free(d);
    d = device_of(GPU(PEAKS, ", \"clock_hz\": " NUMBER("1e9", "Hz")));
    near(cm_device_number(d, CM_CORES).value, round(5e13 / 1e9 / cycle));
    cm_device_free(d);
}

static void peaks_follow_from_cores(void **state)
{
    (void)state;
    cm_device *d = device_of(GPU("\"peak\": {" BF16 "}", ", \"cores\": " NUMBER("100", "1") ", \"clock_hz\": "
                            NUMBER("1e9", "Hz")));
    near(cm_device_peak(d, CM_ENGINE_VECTOR, CM_RATE_FP32).value, 100 * 1e9 * constant("flop_per_core_cycle"));
    cm_device_free(d);
    d = device_of(GPU("\"peak\": {" BF16 "}", ""));
    near(cm_device_peak(d, CM_ENGINE_VECTOR, CM_RATE_FP32).value, 2e14 / constant("matrix_speed"));
    cm_device_free(d);
}

/* Profiles based on a built-in device are that device: it states its numbers, and has no other cache. */
static void bases_decide(void **state)
{
    (void)state;
    cm_device *d = device_of("{\"schema\": 1, \"id\": \"x\", \"base\": \"intel-b60\", \"sources\": {}}");
    assert_int_equal(cm_device_assumptions(d), 0);
    cm_device_free(d);
    d = device_of("{\"schema\": 1, \"id\": \"x\", \"base\": \"nvidia-h100\", \"cores\": null, \"sources\": {}}");
    assert_int_equal(cm_device_assumptions(d), 1);
    assert_non_null(of(d, "cores"));
    cm_device_free(d);
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

typedef double quantity(cm_device *device);

static double clock_hz(cm_device *d) { return cm_device_number(d, CM_CLOCK_HZ).value; }
static double launch(cm_device *d) { return cm_device_number(d, CM_LAUNCH_S).value; }
static bool   fp8(cm_device *d) { return cm_device_peak(d, CM_ENGINE_MATRIX, CM_RATE_FP8).known; }

static double cache(cm_device *d, bool with_fp8)
{
    const cm_memory *m = cm__device_cache(d);
    return m && fp8(d) == with_fp8 ? m->capacity_bytes.value / cm_device_number(d, CM_CORES).value : NAN;
}

static double cache_old(cm_device *d) { return cache(d, false); }
static double cache_new(cm_device *d) { return cache(d, true); }

static double cache_speed(cm_device *d)
{
    const cm_memory *m = cm__device_cache(d);
    return m ? m->bw_bytes_s.value / cm_device_main_memory(d)->bw_bytes_s.value : NAN;
}

static double cycle(cm_device *d)
{
    return cm_device_peak(d, CM_ENGINE_VECTOR, CM_RATE_FP32).value / clock_hz(d) / cm_device_number(d, CM_CORES).value;
}

static double matrix_speed(cm_device *d)
{
    double matrix = fmax(cm_device_peak(d, CM_ENGINE_MATRIX, CM_RATE_BF16).value,
                         cm_device_peak(d, CM_ENGINE_MATRIX, CM_RATE_FP16).value);
    return matrix / cm_device_peak(d, CM_ENGINE_VECTOR, CM_RATE_FP32).value;
}

/* The constant is near the middle of the built-in GPUs: their median, and no farther than `most` from any. */
static void is_middle(const char *member, quantity *of_device, double from_median, double most)
{
    double  all[128], c = constant(member);
    int32_t n = 0;
    for (int32_t i = 0; cm_device_id(i) && n < 128; i++) {
        cm_device *d;
        assert_int_equal(cm_device_load(cm_device_id(i), &d, NULL), CM_OK);
        double value = strcmp(cm_device_get_info(d)->device_class, "gpu") == 0 ? of_device(d) : NAN;
        if (isfinite(value)) all[n++] = value;
        cm_device_free(d);
    }
    qsort(all, (size_t)n, sizeof *all, by_value);
    double median = all[n / 2];
    if (!(c / median < from_median && median / c < from_median)) fail_msg("%s: %g, median %g", member, c, median);
    if (!(all[n - 1] / c < most && c / all[0] < most)) fail_msg("%s: %g of %g to %g", member, c, all[0], all[n - 1]);
}

static void constants_are_of_built_in_gpus(void **state)
{
    (void)state;
    is_middle("clock_hz", clock_hz, 1.1, 1.75);
    is_middle("launch", launch, 1.1, 2.1);
    is_middle("flop_per_core_cycle", cycle, 1.5, 1.55);
    is_middle("cache_speed", cache_speed, 1.2, 2.5);
    is_middle("cache_per_core", cache_old, 1.5, 40);
    is_middle("cache_per_core_fp8", cache_new, 1.5, 2.5);
    is_middle("matrix_speed", matrix_speed, 1.1, 4.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cores_follow_from_the_peak),
        cmocka_unit_test(peaks_follow_from_cores), cmocka_unit_test(bases_decide),
        cmocka_unit_test(constants_are_of_built_in_gpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
