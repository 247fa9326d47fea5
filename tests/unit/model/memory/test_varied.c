/* SPDX-License-Identifier: Apache-2.0 */
/* test_varied.c - lengths that vary reserve more than one length does. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "model/memory/varied.h"

#define MODEL "llama:layers=2,hidden=512,heads=8,ffn=1408,vocab=32000"

static cm_device *device;
static cm_step   *steps[CM__VARIED_LENGTHS];

static int begin(void **state)
{
    (void)state;
    assert_int_equal(cm_device_load("nvidia-a100-80g", &device, NULL), CM_OK);
    for (int i = 0; i < CM__VARIED_LENGTHS; i++) {
        cm_step_options o = {.load.seq = 2048 >> i};
        assert_int_equal(cm_step_new(MODEL, device, &o, &steps[i], NULL), CM_OK);
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (int i = 0; i < CM__VARIED_LENGTHS; i++) cm_step_free(steps[i]);
    cm_device_free(device);
    return 0;
}

static cm__varied with_mean(double mean)
{
    cm__varied v = {.lengths = cm__lengths_of(mean, 2048), .padded = true};
    for (int i = 0; i < CM__VARIED_LENGTHS; i++) {
        v.at[i] = cm_step_footprint(steps[i]);
        v.length[i] = 2048 >> i;
    }
    return v;
}

static double reserved(cm__varied v)
{
    double bytes;
    assert_true(cm__varied_applies(&v));
    assert_int_equal(cm__varied_reserved(&v, 1, &bytes, NULL), CM_OK);
    return bytes;
}

/* Nearly all samples have the longest length: as a step of that length. */
static void test_one_length(void **state)
{
    cm_memory_use use;
    (void)state;
    assert_int_equal(cm_step_memory(steps[0], 1, &use, NULL), CM_OK);
    assert_true(fabs(reserved(with_mean(2047.9)) / use.reserved_bytes - 1) < 0.02);
}

/* Blocks of shorter samples do not serve longer ones, which need their own: more than one length reserves, and less
   than the sum of all records. */
static void test_many_lengths(void **state)
{
    cm_memory_use use;
    (void)state;
    assert_int_equal(cm_step_memory(steps[0], 1, &use, NULL), CM_OK);
    double bytes = reserved(with_mean(1024));
    assert_true(bytes > 1.2 * use.reserved_bytes && bytes < 4 * use.reserved_bytes);
    assert_true(reserved(with_mean(1024)) == bytes); /* the same question, the same answer */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_length), cmocka_unit_test(test_many_lengths)};
    return cmocka_run_group_tests(tests, begin, end);
}
