/* SPDX-License-Identifier: Apache-2.0 */
/* test_changed.c - a copy of a device can be modified without changing the device. */
#include "time_device.h"
#include "device/changed.h"

static void test_copy(void **state)
{
    (void)state;
    cm_device *d = device_of(TIME_DEVICE(""));
    cm__ctx   *ctx = cm__ctx_new(NULL);
    if (setjmp(ctx->trap)) fail();
    cm_device *copy = cm__device_copy(ctx, d);
    cm__number_scale(&cm__device_main(copy)->bw_bytes_s, 2);
    assert_true(cm_device_main_memory(copy)->bw_bytes_s.value == 2e12);
    assert_true(cm_device_main_memory(d)->bw_bytes_s.value == 1e12);
    cm__number_scale(&cm__device_cache(copy)->capacity_bytes, 0.5);
    assert_string_equal(cm__device_cache(copy)->name, "L2");
    assert_true(cm__device_cache(copy)->capacity_bytes.value == 5e6);
    assert_true(cm__device_cache(d)->capacity_bytes.value == 1e7);
    assert_ptr_equal(copy->kernels_of, d); /* tables remain those of the measured device */
    assert_ptr_equal(cm__device_copy(ctx, copy)->kernels_of, d);
    cm__ctx_free(ctx);
    cm_device_free(d);
}

static void test_unknown(void **state)
{
    (void)state;
    cm_number n = {.value = 3, .known = false};
    cm__number_scale(&n, 2);
    assert_true(!n.known && n.value == 3);
    cm_device *d = device_of(DEVICE("one-level", ""));
    assert_string_equal(cm__device_cache(d)->capacity_bytes.kind, "assumed"); /* the profile has none */
    assert_non_null(cm__device_main(d));
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copy), cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
