/* SPDX-License-Identifier: Apache-2.0 */
/* test_step_run.c - steps in the simulated allocator return what they take. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "model/memory/step_run.h"

/* What is allocated after a step outlives it: the same after the next one. */
static void test_steps_repeat(void **state)
{
    cm_step   *step;
    cm_device *device;
    (void)state;
    assert_int_equal(cm_device_load("nvidia-a100-80g", &device, NULL), CM_OK);
    assert_int_equal(cm_step_new("gpt2", device, NULL, &step, NULL), CM_OK);
    cm__ctx *ctx = cm__ctx_new(NULL);
    assert_non_null(ctx);
    const cm_footprint *f = cm_step_footprint(step);
    cm__step_run        s = {.f = f, .ctx = ctx, .batch = 2, .allocator = cm__allocator_new(ctx, INFINITY)};
    cm__step_run_begin(&s);
    int64_t before = cm__allocator_allocated(s.allocator);
    cm__step_run_once(&s);
    int64_t first = cm__allocator_allocated(s.allocator);
    cm__step_run_once(&s);
    assert_true(before > 0 && first >= before && s.lacking == 0);
    assert_int_equal(cm__allocator_allocated(s.allocator), first);
    for (int32_t p = 0; p < f->n_pieces; p++)
        assert_int_equal(s.sizes.pieces[p], llround(cm_poly_at(&f->pieces[p].bytes, 2)));
    cm__ctx_free(ctx);
    cm_step_free(step);
    cm_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps_repeat)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
