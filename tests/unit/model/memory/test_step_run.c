/* SPDX-License-Identifier: Apache-2.0 */
/* test_step_run.c - steps in the simulated allocator return what they take. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "model/memory/step_run.h"

#define LARGE ((int64_t)1 << 30)

/* Memory allocated after a step outlives it: the same after the next one. */
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

/* Takes and frees a block that no tensor of a small network splits. Returns by how much the allocator had to grow: not at
   all if it still has the block's segment. */
static int64_t growth(cm__step_run *s)
{
    int64_t before = cm__allocator_ever_reserved(s->allocator);
    cm__allocator_free(s->allocator, cm__allocator_take(s->allocator, LARGE, CM__STREAM_COMPUTE));
    return cm__allocator_ever_reserved(s->allocator) - before;
}

/* The first step times the algorithms of each convolution and then returns cached segments; later steps have their
   algorithms. A network without convolutions never does so. */
static void test_search_returns_segments(void **state)
{
    static const struct {
        const char *model;
        int64_t     after_first;
    } cases[] = {{"braggnn", LARGE}, {"mlp:in=8,out=8", 0}};
    cm_device *device;
    (void)state;
    assert_int_equal(cm_device_load("nvidia-a100-80g", &device, NULL), CM_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_step      *step;
        cm_memory_use use = {0};
        cm__ctx      *ctx = cm__ctx_new(NULL);
        assert_int_equal(cm_step_new(cases[i].model, device, NULL, &step, NULL), CM_OK);
        cm__step_run s = {.f = cm_step_footprint(step), .ctx = ctx, .batch = 1,
                          .allocator = cm__allocator_new(ctx, INFINITY)};
        cm__step_run_begin(&s);
        assert_int_equal(growth(&s), LARGE);
        cm__step_run_once(&s);
        assert_int_equal(growth(&s), cases[i].after_first);
        cm__step_run_once(&s); /* every size has occurred */
        assert_int_equal(growth(&s), 0);
        s.use = &use;
        cm__step_run_once(&s);
        assert_int_equal(growth(&s), 0);
        cm__ctx_free(ctx);
        cm_step_free(step);
    }
    cm_device_free(device);
}

static int64_t reserved_by(const cm_footprint *f)
{
    cm__ctx     *ctx = cm__ctx_new(NULL);
    cm__step_run s = {.f = f, .ctx = ctx, .batch = 2, .allocator = cm__allocator_new(ctx, INFINITY)};
    cm__step_run_begin(&s);
    for (int i = 0; i < 3; i++) cm__step_run_once(&s);
    int64_t most = cm__allocator_most_reserved(s.allocator);
    cm__ctx_free(ctx);
    return most;
}

/* Sharded gradients are in the pool of another stream: activations do not use their memory again. The same allocations in
   one pool reserve less, by no more than the gradients and the gathered weights. */
static void test_sharded_gradients_are_apart(void **state)
{
    cm_step   *step;
    cm_device *device;
    cm_fabric *fabric;
    (void)state;
    assert_int_equal(cm_device_load("nvidia-a100-80g", &device, NULL), CM_OK);
    assert_int_equal(cm_fabric_new(device, NULL, &fabric, NULL), CM_OK);
    cm_step_options o = {.plan = {.devices = 2, .dp = 2, .zero = 3, .micro_batch = 2}, .fabric = fabric,
                         .runtime = CM_RUNTIME_TORCH_EAGER};
    assert_int_equal(cm_step_new("gpt2", device, &o, &step, NULL), CM_OK);
    const cm_footprint *f = cm_step_footprint(step);
    cm_footprint        joined = *f;
    double              apart = 0;
    joined.options.plan.zero = 1;
    for (int32_t p = 0; p < f->n_pieces; p++)
        if (f->pieces[p].category == CM_CATEGORY_GRADIENTS || f->pieces[p].category == CM_CATEGORY_EPHEMERAL)
            apart += cm_poly_at(&f->pieces[p].bytes, 2);
    int64_t more = reserved_by(f) - reserved_by(&joined);
    assert_true(more > 0.5 * apart && more < 1.1 * apart);
    cm_step_free(step);
    cm_fabric_free(fabric);
    cm_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps_repeat), cmocka_unit_test(test_search_returns_segments),
                                       cmocka_unit_test(test_sharded_gradients_are_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
