/* SPDX-License-Identifier: Apache-2.0 */
/* test_resident.c - all layers on the chip at once: samples follow each other through the layers. */
#include "chip_device.h"

#define RESIDENT(sram, interval, copies)                                                                               \
    CHIP("weight-streaming", sram, "1e9", EFFICIENCY("1") ", \"sample_interval\": " NUMBER(interval, "s")              \
         ", \"copies\": " NUMBER(copies, "1"), PLACED("SRAM"))

static const char mlp[] = "mlp:in=100,hidden=100x100x100,out=100"; /* four products with weights: depth 8 in training */

static void samples_follow_each_other(void **state)
{
    (void)state;
    answer one = ask(RESIDENT("1e9", "1e-3", "1"), mlp, 64, false);
    answer four = ask(RESIDENT("1e9", "1e-3", "4"), mlp, 64, false);
    answer forward = ask(RESIDENT("1e9", "1e-3", "1"), mlp, 64, true);
    assert_near(one.info.device_time_s, (64 + 8 - 1) * 1e-3, 1e-9);
    assert_near(four.info.device_time_s, (64 / 4 + 8 - 1) * 1e-3, 1e-9);
    assert_near(forward.info.device_time_s, (64 + 4 - 1) * 1e-3, 1e-9);
}

/* If the arithmetic of a sample takes longer than the interval, copies do not help. */
static void arithmetic_bounds_large_layers(void **state)
{
    (void)state;
    const char *wide = "mlp:in=4000,hidden=4000,out=4000";
    answer      a = ask(RESIDENT("1e12", "1e-9", "16"), wide, 256, false);
    assert_near(a.info.device_time_s, a.flop / 1e14 * (256 + 4 - 1) / 256, 1e-2);
}

static void a_model_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    answer a = ask(RESIDENT("1e4", "1e-3", "1"), mlp, 64, false);
    assert_int_equal(a.status, CM_ERR_FIT);
    assert_non_null(strstr(a.diag.reason, "as a whole"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_follow_each_other),
        cmocka_unit_test(arithmetic_bounds_large_layers),
        cmocka_unit_test(a_model_that_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
