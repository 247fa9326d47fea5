/* SPDX-License-Identifier: Apache-2.0 */
/* test_by_length.c - the time of samples of several lengths follows their mean, the memory the longest. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "centimani.h"

static cm_device *device;

static int begin(void **state)
{
    (void)state;
    return cm_device_load("nvidia-h200", &device, NULL);
}

static int end(void **state)
{
    (void)state;
    cm_device_free(device);
    return 0;
}

static cm_step *step_of(int64_t seq, double tokens, cm_samples samples)
{
    cm_step_options o = {.load = {.seq = seq, .tokens = tokens, .samples = samples}};
    cm_step        *step;
    assert_int_equal(cm_step_new("gpt2-medium", device, &o, &step, NULL), CM_OK);
    return step;
}

static double time_of(cm_step *step, int64_t batch, double *samples_s)
{
    cm_prediction_info info;
    assert_int_equal(cm_step_time(step, batch, &info, NULL), CM_OK);
    assert_int_equal(info.batch, batch);
    if (samples_s) *samples_s = info.throughput_samples_s;
    return info.step_time_s;
}

/* Rows of 1,024 tokens with four samples each do the work of four times as many samples of 256. */
static void test_packed(void **state)
{
    cm_step *packed = step_of(1024, 256, CM_SAMPLES_PACKED), *shorter = step_of(256, 0, CM_SAMPLES_PADDED);
    double   rows_s, samples_s;
    (void)state;
    assert_true(time_of(packed, 8, &rows_s) == time_of(shorter, 32, &samples_s));
    assert_true(fabs(4 * rows_s / samples_s - 1) < 1e-12);
    cm_step_free(packed);
    cm_step_free(shorter);
}

/* One unpadded sample has the mean length; of two uniform lengths the longer has 2/3 of the longest. */
static void test_rows(void **state)
{
    cm_step *padded = step_of(1024, 512, CM_SAMPLES_PADDED), *unpadded = step_of(1024, 512, CM_SAMPLES_UNPADDED);
    cm_step *mean = step_of(512, 0, CM_SAMPLES_PADDED), *longest = step_of(1024, 0, CM_SAMPLES_PADDED);
    (void)state;
    assert_in_range(cm_step_row_tokens(unpadded, 8), 512, 513);
    assert_in_range(cm_step_row_tokens(padded, 2), 683, 684);
    assert_true(fabs(time_of(unpadded, 8, NULL) / time_of(mean, 8, NULL) - 1) < 0.03);
    assert_true(time_of(padded, 8, NULL) > time_of(unpadded, 8, NULL));
    cm_memory_use use, most;
    assert_int_equal(cm_step_memory(padded, 8, &use, NULL), CM_OK);
    assert_int_equal(cm_step_memory(longest, 8, &most, NULL), CM_OK);
    assert_true(use.peak_bytes == most.peak_bytes);
    assert_int_equal(cm_step_reserved(padded, 8, &use, NULL), CM_OK);
    assert_true(use.reserved_bytes > most.reserved_bytes);
    cm_step *all[] = {padded, unpadded, mean, longest};
    for (int i = 0; i < 4; i++) cm_step_free(all[i]);
}

/* Context parallelism divides a row into two parts for each device, whatever the mean; before, a row of 911 tokens was
   refused. */
static void test_divided(void **state)
{
    static const cm_samples ways[] = {CM_SAMPLES_PADDED, CM_SAMPLES_UNPADDED, CM_SAMPLES_PACKED};
    cm_fabric              *fabric;
    (void)state;
    assert_int_equal(cm_fabric_new(device, NULL, &fabric, NULL), CM_OK);
    for (int i = 0; i < 3; i++) {
        cm_step_options o = {.load = {.seq = 1024, .tokens = 301, .samples = ways[i]}, .fabric = fabric,
                             .plan = {.devices = 8, .cp = 4, .dp = 2, .micro_batch = 2}};
        cm_step        *step;
        assert_int_equal(cm_step_new("gpt2-medium", device, &o, &step, NULL), CM_OK);
        assert_int_equal(cm_step_row_tokens(step, 2) % 8, 0);
        assert_true(time_of(step, 4, NULL) > 0);
        cm_step_free(step);
    }
    cm_fabric_free(fabric);
}

static void test_refused(void **state)
{
    cm_step_options o = {.load = {.seq = 512, .tokens = 600}};
    cm_step        *step;
    (void)state;
    assert_int_equal(cm_step_new("gpt2", device, &o, &step, NULL), CM_ERR_ARGUMENT);
    o = (cm_step_options){.load.tokens = 10};
    assert_int_equal(cm_step_new("resnet50", device, &o, &step, NULL), CM_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_packed), cmocka_unit_test(test_rows), cmocka_unit_test(test_divided),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, begin, end);
}
