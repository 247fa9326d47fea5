/* SPDX-License-Identifier: Apache-2.0 */
/* test_candidate.c - one device of a ranking: as a user would ask for it alone, or why there is no answer. */
#include "rank_case.h"

#define MODEL "gpt:layers=2,hidden=64,heads=2,seq=32,vocab=100"
#define LARGE "gpt:layers=48,hidden=8192,heads=64,seq=2048,vocab=50257"

static cm__rank_device *evaluated(const char *model, const char *device)
{
    make_steps(model, device);
    cm__rank_evaluate(r, &r->devices[0]);
    assert_int_equal(r->devices[0].status, CM_OK);
    return &r->devices[0];
}

/* The step of one device, as cm_step_new() makes it. */
static cm_step *alone(const cm_device *device)
{
    cm_step        *step;
    cm_step_options o = {0};
    if (cm_step_new(MODEL, device, &o, &step, &diag)) fail_msg("%s", diag.reason);
    return step;
}

TEST(the_usual_batch)
{
    cm__rank_device   *d = evaluated(MODEL, "nvidia-h200");
    cm_step           *step = alone(d->device);
    cm_prediction_info info;
    cm_memory_use      use;
    int64_t            batch;
    assert_int_equal(cm_step_usual_batch(step, &batch, NULL), CM_OK);
    assert_int_equal(cm_step_time(step, batch, &info, NULL), CM_OK);
    assert_int_equal(cm_step_memory(step, batch, &use, NULL), CM_OK);
    assert_true(d->entry.fits);
    assert_int_equal(d->entry.prediction.batch, batch);
    assert_true(d->entry.prediction.step_time_s == info.step_time_s);
    assert_true(d->entry.peak_bytes == use.peak_bytes);
    assert_int_equal(d->entry.state, CM_RANK_PLACED);
    assert_true(!d->reason[0] && !d->entry.prediction.loading.dataset);
    cm_step_free(step);
}

TEST(the_requested_batch)
{
    r->options.batch = 24;
    assert_int_equal(evaluated(MODEL, "nvidia-h200")->entry.prediction.batch, 24);
}

/* More than 48 * 12 * 8192^2 parameters do not fit 16 GB in any form: not even one sample does. */
TEST(what_lacks_is_noted)
{
    cm__rank_device *d = evaluated(LARGE, "nvidia-t4");
    double           parameters = 48 * 12 * 8192. * 8192;
    assert_false(d->entry.fits);
    assert_int_equal(d->entry.state, CM_RANK_NO_FIT);
    assert_true(d->states_bytes > 4 * parameters); /* fp32 weights at least */
    assert_true(d->capacity_bytes > 0 && d->capacity_bytes < cm_device_main_memory(d->device)->capacity_bytes.value);
    assert_true(d->working_bytes >= 0);
    assert_true(fabs(d->states_bytes + d->working_bytes - d->entry.peak_bytes) <= 1e-9 * d->entry.peak_bytes);
    assert_true(d->entry.prediction.step_time_s == 0); /* none was asked for */
}

/* A requested batch that does not fit still has a time. */
TEST(a_time_without_the_memory)
{
    r->options.batch = 1;
    cm__rank_device *d = evaluated(LARGE, "nvidia-t4");
    assert_false(d->entry.fits);
    assert_true(d->entry.prediction.step_time_s > 0);
}

/* An execution model's refusal is a result with a reason, not a failure. */
TEST(a_refusal_is_a_result)
{
    cm__rank_device *d = evaluated(LARGE, "graphcore-gc2");
    assert_int_equal(d->entry.state, CM_RANK_NO_FIT);
    assert_true(d->reason[0]);
    assert_false(d->entry.fits);
}

TEST(a_device_without_a_step)
{
    r->options.train.precision = CM_PRECISION_FP8;
    cm__rank_device *d = evaluated(MODEL, "nvidia-v100-16g");
    assert_int_equal(d->entry.state, CM_RANK_CANNOT);
    assert_non_null(strstr(d->reason, "fp8"));
    assert_false(d->entry.fits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_usual_batch),           cmocka_unit_test(the_requested_batch),
        cmocka_unit_test(what_lacks_is_noted),       cmocka_unit_test(a_time_without_the_memory),
        cmocka_unit_test(a_refusal_is_a_result),     cmocka_unit_test(a_device_without_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
