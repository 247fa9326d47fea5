/* SPDX-License-Identifier: Apache-2.0 */
/* test_masters.c - a sharded step in 16 bits that a trainer with fp32 weights could not run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "centimani.h"

/* 1.61 billion parameters over two devices of 24 GiB: weights and moments of 16 bits are 4.8 GB, in fp32 9.7 GB. */
#define LAYERS "llama:layers=24,hidden=2048,heads=16,ffn=8192,vocab=1024,seq=256"

static cm_device *device;

static int begin(void **state)
{
    (void)state;
    return cm_device_load("nvidia-rtx3090", &device, NULL);
}

static int end(void **state)
{
    (void)state;
    cm_device_free(device);
    return 0;
}

static cm_step *step_of(cm_precision precision, int zero, cm_tuning tuning)
{
    cm_step_options o = {.train = {.precision = precision, .tuning = tuning, .loss_kernel = CM_LOSS_KERNEL_PLAIN,
                                   .mixed_precision = precision == CM_PRECISION_AMP_BF16 ? CM_MIXED_PRECISION_FSDP
                                                                                         : CM_MIXED_PRECISION_AUTO},
                         .plan = {.devices = 2, .dp = 2, .tp = 1, .pp = 1, .zero = zero}};
    cm_step        *step;
    assert_int_equal(cm_step_new(LAYERS, device, &o, &step, NULL), CM_OK);
    return step;
}

static cm_memory_use use_of(cm_precision precision, int zero, cm_tuning tuning, int64_t batch)
{
    cm_step      *step = step_of(precision, zero, tuning);
    cm_memory_use use;
    assert_int_equal(cm_step_memory(step, batch, &use, NULL), CM_OK);
    cm_step_free(step);
    return use;
}

/* The largest batch whose peak in 16 bits stays below 21 GiB. */
static int64_t nearly_full(void)
{
    cm_step      *step = step_of(CM_PRECISION_BF16, 3, (cm_tuning){0});
    cm_memory_use use = {0};
    int64_t       batch = 0;
    while (use.peak_bytes < 21 * 1073741824.0) assert_int_equal(cm_step_memory(step, ++batch, &use, NULL), CM_OK);
    cm_step_free(step);
    return batch - 1;
}

/* A step that nearly fills the device in 16 bits lacks memory with fp32 shards: it is not called fitting. A small one
   surely fits, and nobody asks again. */
static void test_asked_again(void **state)
{
    (void)state;
    int64_t       full = nearly_full();
    cm_memory_use small = use_of(CM_PRECISION_BF16, 3, (cm_tuning){0}, 1);
    cm_memory_use narrow = use_of(CM_PRECISION_BF16, 3, (cm_tuning){0}, full);
    cm_memory_use wide = use_of(CM_PRECISION_AMP_BF16, 3, (cm_tuning){0}, full);
    assert_true(small.fits && small.sure && small.n_alternatives == 0);
    assert_true(!wide.fits && wide.peak_bytes > narrow.peak_bytes);
    assert_true(narrow.n_alternatives == 2 && narrow.alternatives[1].peak_bytes == wide.peak_bytes);
    assert_true(!narrow.fits && !narrow.sure && narrow.shortfall_bytes == wide.shortfall_bytes);
    assert_true(cm_alternative_chance(&narrow, 1).probability == cm_memory_chance(&wide).probability);
    assert_true(cm_memory_chance(&narrow).probability == cm_alternative_chance(&narrow, 0).probability);
    assert_int_equal(cm_memory_chance(&narrow).verdict, CM_UNSURE);
}

/* Replicas that share states alone have the weights that were asked for, and adapters are another question. */
static void test_not_asked(void **state)
{
    (void)state;
    int64_t full = nearly_full();
    assert_true(use_of(CM_PRECISION_AMP_BF16, 3, (cm_tuning){0}, full).n_alternatives == 0);
    assert_true(use_of(CM_PRECISION_BF16, 3, (cm_tuning){.rank = 8}, full).n_alternatives == 0);
    assert_true(use_of(CM_PRECISION_BF16, 1, (cm_tuning){0}, full).n_alternatives == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_asked_again), cmocka_unit_test(test_not_asked)};
    return cmocka_run_group_tests(tests, begin, end);
}
