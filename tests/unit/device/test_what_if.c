/* SPDX-License-Identifier: Apache-2.0 */
/* test_what_if.c - hypothetical devices: numbers are multiplied, everything else stays, mistakes are refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "centimani.h"

static cm_device *loaded(const char *name)
{
    cm_device *d;
    assert_int_equal(cm_device_load(name, &d, NULL), CM_OK);
    return d;
}

static void same(double got, double expected) { assert_true(fabs(got / expected - 1) < 1e-12); }

static void test_factors(void **state)
{
    (void)state;
    cm_device *plain = loaded("nvidia-h200"), *d = loaded("nvidia-h200?bandwidth=2x&memory=1.5&power=0.5x,matrix=3x");
    same(cm_device_main_memory(d)->bw_bytes_s.value, 2 * cm_device_main_memory(plain)->bw_bytes_s.value);
    same(cm_device_main_memory(d)->capacity_bytes.value, 1.5 * cm_device_main_memory(plain)->capacity_bytes.value);
    same(cm_device_number(d, CM_TDP_W).value, 0.5 * cm_device_number(plain, CM_TDP_W).value);
    same(cm_device_peak(d, CM_ENGINE_MATRIX, CM_RATE_BF16).value, 3 * cm_device_peak(plain, CM_ENGINE_MATRIX, CM_RATE_BF16).value);
    same(cm_device_number(d, CM_CLOCK_HZ).value, cm_device_number(plain, CM_CLOCK_HZ).value);
    assert_string_equal(cm_device_get_info(d)->id, "nvidia-h200?bandwidth=2x&memory=1.5&power=0.5x,matrix=3x");
    cm_device_free(d);
    cm_device_free(plain);
}

static void test_links(void **state)
{
    (void)state;
    cm_device *plain = loaded("nvidia-h200"), *d = loaded("nvidia-h200?links=0.5x");
    assert_true(cm_device_links(d) > 0);
    for (int32_t i = 0; i < cm_device_links(d); i++)
        same(cm_device_link(d, i)->bw_bytes_s.value, 0.5 * cm_device_link(plain, i)->bw_bytes_s.value);
    cm_device_free(d);
    cm_device_free(plain);
}

/* A step on a device with everything twice as fast takes between half of the time and all of it. */
static double step_s(const char *name)
{
    cm_device         *d = loaded(name);
    cm_step           *step;
    cm_prediction_info info;
    cm_step_options    o = {0};
    assert_int_equal(cm_step_new("resnet50", d, &o, &step, NULL), CM_OK);
    assert_int_equal(cm_step_time(step, 256, &info, NULL), CM_OK);
    cm_step_free(step);
    cm_device_free(d);
    return info.device_time_s;
}

static void test_times(void **state)
{
    (void)state;
    double plain = step_s("nvidia-h200"), twice = step_s("nvidia-h200?bandwidth=2x&compute=2x"), once = step_s("nvidia-h200?bandwidth=1x");
    same(once, plain);
    assert_true(twice < 0.75 * plain && twice >= 0.45 * plain);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *name, *reason;
    } bad[] = {{"nvidia-h200?bandwith=2x", "did you mean 'bandwidth'?"}, {"nvidia-h200?memory", "has no factor"},
               {"nvidia-h200?memory=", "is no factor"},           {"nvidia-h200?memory=-1x", "is no factor"},
               {"nvidia-h200?memory=nanx", "is no factor"},       {"nvidia-h200?memory=1e300x", "is no factor"},
               {"nvidia-h2000?memory=2x", "nvidia-h2000"},        {"nvidia-h200?zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz=2x", "there are"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cm_device *d;
        cm_diag    diag = {0};
        assert_int_not_equal(cm_device_load(bad[i].name, &d, &diag), CM_OK);
        if (!strstr(diag.reason, bad[i].reason)) fail_msg("%s: %s", bad[i].name, diag.reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_factors), cmocka_unit_test(test_links),
                                       cmocka_unit_test(test_times), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
