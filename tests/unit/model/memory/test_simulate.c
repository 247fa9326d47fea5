/* SPDX-License-Identifier: Apache-2.0 */
/* test_simulate.c - the polynomials of a footprint follow the simulated allocator. */
#include "memory_case.h"

/* The simulation adds the allocator's rounding: a little more, never noticeably less. */
static void test_polynomials_follow_the_simulation(void **state)
{
    static const char *const models[] = {"resnet50", "vgg16", "unet", "uno", "gpt2", "efficientnet-b0"};
    (void)state;
    for (int i = 0; i < 6; i++) {
        cm_graph *step = step_of(models[i], CM_PRECISION_AMP_BF16, CM_OPTIMIZER_DEFAULT);
        for (int64_t batch = 1; batch <= 64; batch *= 4) {
            cm_memory_use fast = use_of(step, (cm_memory_options){0}, batch, false);
            cm_memory_use exact = use_of(step, (cm_memory_options){0}, batch, true);
            near(exact.peak_bytes / fast.peak_bytes, 1, 0.04);
        }
        cm_graph_free(step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_polynomials_follow_the_simulation),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
