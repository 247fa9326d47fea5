/* SPDX-License-Identifier: Apache-2.0 */
/* test_predictors.c - predictors of batch sizes and memory, compared with their definitions. */
#include "validate_case.h"

#define ROW "{'model': 'gpt:layers=2,hidden=64,heads=2,seq=32,vocab=100', 'device': 'nvidia-h200', 'batch': 16"

static double by(const char *name, cm__case *c)
{
    if (c->reason) fail_msg("%s", c->reason);
    return cm__own_predictor_named(name)(c);
}

TEST(names)
{
    static const char *const all[] = {"batch", "lifetimes", "memory", "polynomials", "published", "shares"};
    for (int i = 0; i < 6; i++) assert_non_null(cm__own_predictor_named(all[i]));
    assert_null(cm__own_predictor_named("time"));
    assert_null(cm__own_predictor_named(""));
    assert_ptr_equal(cm__own_predictor_named("shares"), cm__predict_by_shares);
}

TEST(memory_as_asked_for)
{
    cm__case     *c = case_of(ROW ", 'peak_bytes': 1}");
    cm_step      *step;
    cm_memory_use use, at;
    cm_totals     totals;
    assert_int_equal(cm__case_step(c, NULL, &step, &diag), CM_OK);
    assert_int_equal(cm_step_memory(step, 16, &use, &diag), CM_OK);
    cm_footprint_at(cm_step_footprint(step), 16, &at);
    cm_graph_totals(c->step, 16, &totals);
    near(by("memory", c), use.peak_bytes);
    near(by("polynomials", c), at.peak_bytes);
    near(by("lifetimes", c), totals.peak_bytes);
    assert_true(totals.peak_bytes > 0 && use.peak_bytes > 0);
    cm_step_free(step);
}

TEST(more_samples_need_more)
{
    static const char *const names[] = {"memory", "polynomials", "lifetimes"};
    cm__case *few = case_of(ROW ", 'peak_bytes': 1}");
    cm__case *many = cm__case_new(store, set, few->run, json_of("{'batch': 512}"));
    for (int i = 0; i < 3; i++) assert_true(by(names[i], many) > by(names[i], few));
}

TEST(published_numbers)
{
    near(by("published", case_of(ROW ", 'published': 123}")), 123);
    assert_true(isnan(by("published", case_of(ROW "}"))));
}

/* The batch that 'batch --objective memory' chooses fits; no batch of a model that is too large does. */
TEST(batches)
{
    json_object_set(set, "metric", json_of("'batch'"));
    cm__case *c = case_of("{'model': 'resnet18', 'device': 'nvidia-t4', 'measured': 1}");
    double    batch = by("batch", c);
    assert_true(batch >= 1 && batch == floor(batch));
    cm_step      *step;
    cm_memory_use use;
    assert_int_equal(cm__case_step(c, NULL, &step, &diag), CM_OK);
    assert_int_equal(cm_step_memory(step, (int64_t)batch, &use, &diag), CM_OK);
    assert_true(use.fits);
    cm_step_free(step);
    c = case_of("{'model': 'gpt:layers=48,hidden=8192,heads=64,seq=128,vocab=100', 'device': 'nvidia-t4', 'measured': 1}");
    assert_true(isnan(by("batch", c)));
    REASON_HAS(c, "not to fit at any batch size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),             cmocka_unit_test(memory_as_asked_for),
        cmocka_unit_test(more_samples_need_more), cmocka_unit_test(published_numbers),
        cmocka_unit_test(batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
