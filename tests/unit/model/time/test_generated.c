/* SPDX-License-Identifier: Apache-2.0 */
/* test_generated.c - a generated kernel is looked up by the bytes it counts, and limited by the bytes it moves. */
#include <math.h>
#include "time_device.h"
#include "model/time/factors.h"
#include "model/time/generated.h"
#include "model/time/transfer.h"

/* For 1,000 numbers of 2 bytes that are read and written, each counts an access beside its bytes: (2 + access) / (4 +
   access) numbers of 4 bytes. */
static void counted_as_fp32(void **state)
{
    static const char *const narrow[] = {"fused fp16", "fused bf16", "row_sum fp16", "long_row_sum bf16", "column_sum fp16",
                                         "strided_row_sum fp16"};
    double access = cm__time_factors.access_bytes;
    (void)state;
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        char text[128];
        snprintf(text, sizeof text, "elementwise forward %s 1,1000", narrow[i]);
        cm__call c = call_of(text), tabled = cm__generated_as_tabled(&c);
        assert_int_equal(tabled.types, CM__ALL(CM_FP32));
        assert_int_equal(tabled.variant, c.variant);
        assert_int_equal(tabled.sizes[CM__ELEMENTWISE_INNER], (int64_t)round(1000 * (2 + access) / (4 + access)));
        assert_true(fabs(cm__generated_counted(&c, 4000) - 8 * 1000 * (2 + access) / (4 + access)) < 1e-6);
    }
}

/* Kernels of PyTorch and of fp32 numbers are looked up unchanged. */
static void others_are_unchanged(void **state)
{
    static const char *const others[] = {"elementwise forward fused fp32 1,1000", "elementwise forward relu fp16 1,1000",
                                         "elementwise forward copy fp16 1,1000", "elementwise forward partial_sums fp32 1,1000",
                                         "gemm forward nn fp16 1,64,64,64"};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        cm__call c = call_of(others[i]), tabled = cm__generated_as_tabled(&c);
        assert_memory_equal(&tabled, &c, sizeof c);
        assert_true(cm__generated_counted(&c, 8000) == 8000);
    }
}

/* A kernel of the same counted bytes is shorter in 16 bits on a device with less bandwidth for as many cores: memory
   moves the real bytes there, and the cores have time for the rest. On the table's own device both take the table's time. */
static void memory_moves_real_bytes(void **state)
{
    cm__limits from = {.memory_bytes_s = 4e12, .cache_bytes_s = 8e12, .cache_bytes = 1e7, .cores = 100, .clock_hz = 1e9};
    cm__limits to = from;
    cm__call   narrow = call_of("elementwise forward fused fp16 1,250000000"), wide = cm__generated_as_tabled(&narrow);
    double     weight = cm__generated_counted(&narrow, 1), time_s = 1e9 * weight / (0.9 * 4e12);
    (void)state;
    to.memory_bytes_s /= 8;
    double there = cm__transferred(&from, &from, &narrow, time_s, 1), here = cm__transferred(&to, &from, &narrow, time_s, 1);
    assert_true(fabs(there / time_s - 1) < 1e-6);
    assert_true(fabs(cm__transferred(&to, &from, &wide, time_s, 1) / (8 * time_s) - 1) < 0.01);
    assert_true(here < 8 * time_s / weight * 1.01 && here > 8 * time_s / weight * 0.99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted_as_fp32),
        cmocka_unit_test(others_are_unchanged),
        cmocka_unit_test(memory_moves_real_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
