/* SPDX-License-Identifier: Apache-2.0 */
/* test_recompute.c - the largest batch on a chip, whole and with layers recomputed; memory of a pipeline. */
#include "chip_device.h"
#include "model/execution/execution.h"

#define BERT "bert:layers=8,hidden=512,heads=8,seq=32,vocab=1000"
#define SMALL(sram) CHIP("bsp-pipeline", sram, "1e18", EFFICIENCY("1"), PLACED("SRAM") LINKS)

typedef struct fixture {
    cm__ctx   *ctx;
    cm_device *device;
    cm_graph  *forward, *step;
    cm__job    job;
} fixture;

static cm_diag diag;

static fixture made(const char *profile, bool inference, double batch)
{
    fixture          x = {.ctx = cm__ctx_new(&diag)};
    cm_train_options o = {.precision = CM_PRECISION_BF16, .optimizer = CM_OPTIMIZER_SGD, .inference = inference};
    write_file("chip.json", profile);
    if (cm_device_load(file_named("chip.json"), &x.device, &diag)) fail_msg("%s", diag.reason);
    assert_int_equal(cm_graph_load(BERT, NULL, &x.forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(x.forward, &o, &x.step, NULL), CM_OK);
    x.job = (cm__job){.ctx = x.ctx, .g = x.step, .device = x.device, .batch = batch,
                      .near_bytes = x.device->memories[0].capacity_bytes.value};
    return x;
}

static void release(fixture *x)
{
    cm__ctx_free(x->ctx);
    cm_graph_free(x->step);
    cm_graph_free(x->forward);
    cm_device_free(x->device);
}

/* The answer of the bisection fits and the next batch does not; it never exceeds the requested batch. */
static void test_largest(void **state)
{
    (void)state;
    fixture x = made(SMALL("3e8"), false, 1000);
    if (setjmp(x.ctx->trap)) fail_msg("%s", diag.reason);
    assert_true(cm__job_trains(&x.job));
    int64_t most = cm__job_largest(&x.job);
    assert_in_range(most, 1, 999);
    assert_true(cm__job_use(&x.job, most).fits);
    assert_false(cm__job_use(&x.job, most + 1).fits);
    x.job.batch = 2;
    assert_int_equal(cm__job_largest(&x.job), 2);
    release(&x);
    x = made(SMALL("1e4"), false, 1000);
    if (setjmp(x.ctx->trap)) fail_msg("%s", diag.reason);
    assert_int_equal(cm__job_largest(&x.job), 0);
    release(&x);
}

/* Recomputing layers allows larger batches, and so do more chips. Streamed weights leave all memory to activations. */
static void test_recomputed(void **state)
{
    (void)state;
    fixture x = made(SMALL("1.5e8"), false, 100000);
    if (setjmp(x.ctx->trap)) fail_msg("%s", diag.reason);
    int64_t whole = cm__job_largest(&x.job), one = cm__job_largest_recomputed(&x.job, 1),
            four = cm__job_largest_recomputed(&x.job, 4), streamed = cm__job_largest_recomputed(&x.job, 0);
    assert_true(one > whole && four > one && streamed > four);
    release(&x);
}

/* Weights and gradients of bf16, two bytes each, over four chips; activations are those of one layer and the layers'
   inputs, and grow with the batch. */
static void test_use(void **state)
{
    (void)state;
    fixture x = made(SMALL("1e9"), false, 64);
    if (setjmp(x.ctx->trap)) fail_msg("%s", diag.reason);
    cm_footprint     *f;
    cm_memory_options o = {.runtime = CM_RUNTIME_NATIVE};
    cm_totals         totals;
    cm_memory_use     one, four, twice;
    assert_int_equal(cm_footprint_new(x.step, x.device, &o, &f, &diag), CM_OK);
    const cm__recomputed *r = cm__recomputed_new(x.ctx, x.step);
    cm__recomputed_use(r, f, 1, 8, &one);
    cm__recomputed_use(r, f, 4, 8, &four);
    cm__recomputed_use(r, f, 4, 16, &twice);
    cm_graph_totals(x.step, 1, &totals);
    assert_near(one.categories[CM_CATEGORY_GRADIENTS], 2.0 * (double)totals.parameters, 1e-9);
    assert_near(four.categories[CM_CATEGORY_GRADIENTS], 2.0 * (double)totals.parameters / 4, 1e-9);
    assert_true(one.categories[CM_CATEGORY_INPUT_OUTPUT] == four.categories[CM_CATEGORY_INPUT_OUTPUT]);
    assert_near(twice.categories[CM_CATEGORY_INPUT_OUTPUT], 2 * four.categories[CM_CATEGORY_INPUT_OUTPUT], 0.01);
    double sum = 0;
    for (cm_category c = 0; c < CM_CATEGORIES; c++) sum += four.categories[c];
    assert_near(four.peak_bytes, sum, 1e-12);
    assert_true(four.fits && four.shortfall_bytes == 0);
    cm_footprint_free(f);
    release(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_largest), cmocka_unit_test(test_recomputed),
                                       cmocka_unit_test(test_use)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
