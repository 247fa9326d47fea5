/* SPDX-License-Identifier: Apache-2.0 */
/* test_norms.c - group norms of rows without positions: kernels in steps on an H200. */
#include <math.h>
#include "time_device.h"
#include "model/time/norms.h"
#include "model/time/untabled.h"

static const cm__limits h200 = {.memory_bytes_s = 4.8e12, .cache_bytes = 5e7, .cores = 132, .clock_hz = 1.83e9,
                                .floor_s = 1.3e-6, .tile = 128};

/* Retentive networks: kernels of the sums and of the numbers. */
static void groups_of_rows(void **state)
{
    static const struct { const char *call; double seconds; } measured[] = {
        {"group_norm forward nchw fp32 6144,1024,1,8", 50.3e-6},
        {"group_norm backward nchw fp32 6144,1024,1,8", 61.4e-6},
        {"group_norm forward nchw bf16 8192,2048,1,4", 235.2e-6},
        {"group_norm backward nchw bf16 8192,2048,1,4", 176.8e-6},
    };
    (void)state;
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        cm__call c = call_of(measured[i].call);
        double   got = cm__line_time(&h200, &c);
        if (!(fabs(got / measured[i].seconds - 1) < 0.1)) fail_msg("%s takes %g s", measured[i].call, got);
    }
}

static void groups_of_images_have_other_kernels(void **state)
{
    cm__call c = call_of("group_norm forward nchw fp32 6144,1024,4,8");
    (void)state;
    assert_true(cm__line_time(&h200, &c) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(groups_of_rows),
                                       cmocka_unit_test(groups_of_images_have_other_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
