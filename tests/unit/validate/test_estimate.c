/* SPDX-License-Identifier: Apache-2.0 */
/* test_estimate.c - the time of a row as cm_predict() gives it, and what the row adds: micro-batches, feeding, plans. */
#include "validate_case.h"

#define ROW                                                                                                            \
    "{'model': 'gpt:layers=2,hidden=256,heads=4,seq=128,vocab=1000', 'device': 'nvidia-h200', 'precision': 'bf16', "   \
    "'step_time_s': 1"

static cm__estimate estimate(const char *text)
{
    cm__case    *c = case_of(text);
    cm__estimate e;
    if (!cm__estimate_step(c, &e)) fail_msg("%s", c->reason);
    return e;
}

static cm_prediction_info predicted(const cm__case *c, int64_t batch)
{
    cm_prediction     *p;
    cm_predict_options o = {.batch = batch, .runtime = c->runtime};
    assert_int_equal(cm_predict(c->step, c->device, &o, &p, &diag), CM_OK);
    cm_prediction_info info = *cm_prediction_get_info(p);
    cm_prediction_free(p);
    return info;
}

TEST(as_predicted)
{
    cm__case          *c = case_of(ROW ", 'batch': 64}");
    cm_prediction_info i = predicted(c, 64);
    cm__estimate       e;
    assert_true(cm__estimate_step(c, &e));
    near(e.step_s, i.step_time_s);
    near(e.device_s, i.device_time_s);
    near(e.interval_s[0], i.interval_s[0]);
    near(e.interval_s[1], i.interval_s[1]);
    assert_true(e.samples == 64 && e.devices == 1);
}

/* Four micro-batches of 16 samples share one update. */
TEST(micro_batches)
{
    cm_prediction_info i = predicted(case_of(ROW ", 'batch': 64}"), 16);
    double             once = i.phase_s[CM_UPDATE];
    cm__estimate       e = estimate(ROW ", 'batch': 64, 'accumulate': 4}");
    near(e.step_s, 4 * (i.step_time_s - once) + once);
    near(e.interval_s[1] / e.step_s, i.interval_s[1] / i.step_time_s);
    assert_true(e.samples == 64);
    near(estimate(ROW ", 'batch': 64, 'micro_batch': 16}").step_s, e.step_s);
}

TEST(micro_batches_that_are_none)
{
    static const char *const wrong[] = {", 'batch': 4, 'accumulate': 8}", ", 'batch': 4, 'micro_batch': 8}",
                                        ", 'batch': 4, 'accumulate': 0}"};
    for (int i = 0; i < 3; i++) {
        cm__estimate e;
        cm__case    *c = case_of(cm__format(ctx, ROW "%s", wrong[i]));
        assert_false(cm__estimate_step(c, &e));
        REASON_HAS(c, "a batch of 4 is not");
    }
}

/* One pass only: its time is all that is known. */
TEST(one_pass)
{
    cm_prediction_info i = predicted(case_of(ROW ", 'batch': 64}"), 64);
    cm__estimate       e = estimate(ROW ", 'batch': 64, 'phase': 'backward'}");
    near(e.step_s, i.phase_s[CM_BACKWARD]);
    near(e.device_s, i.phase_s[CM_BACKWARD]);
    assert_true(isnan(e.interval_s[0]) && e.samples == 64);
}

/* A process that supplies 1000 samples per second and takes 1 ms for its turn. Its numbers are as uncertain as other
   hosts': 90 % of them within a factor of exp(1.645 * 0.3). */
TEST(feeding)
{
    cm__estimate plain = estimate(ROW ", 'batch': 64}");
    cm__estimate fed = estimate(ROW ", 'batch': 64, 'feeding': {'samples_s': 1000, 'turn_s': 0.001}}");
    assert_true(plain.step_s < 0.064);
    const double copied = 64 * (128 + 127) * 8 / 8.3e9; /* tokens and labels, from memory that is not pinned */
    near(fed.step_s, 0.064 + 0.001 + copied);
    near(fed.interval_s[1], fed.step_s * exp(1.645 * 0.3));
    near(estimate(ROW ", 'batch': 64, 'feeding': {'turn_s': 0.001}}").step_s, plain.step_s + 0.001 + copied);
}

/* ---- several devices --------------------------------------------------------------------------------------------- */

/* Eight replicas of 8 samples each, on a plan that a user would give. */
TEST(replicas)
{
    cm__case          *c = case_of(ROW ", 'batch': 64, 'devices': 8}");
    cm__estimate       e;
    cm_prediction     *p;
    cm_predict_options o = {.runtime = c->runtime, .plan = {.dp = 8, .tp = 1, .pp = 1, .accumulate = 1, .micro_batch = 8}};
    assert_true(cm__estimate_step(c, &e));
    o.fabric = cm__case_fabric(c);
    assert_int_equal(cm_predict(c->step, c->device, &o, &p, &diag), CM_OK);
    near(e.step_s, cm_prediction_get_info(p)->step_time_s);
    assert_true(e.samples == 64 && e.devices == 8);
    cm_prediction_free(p);
    cm__estimate split = estimate(ROW ", 'batch': 64, 'devices': 8, 'tp': 2}");
    assert_true(split.samples == 64 && split.devices == 8);
}

TEST(devices_that_a_plan_does_not_divide)
{
    cm__estimate e;
    cm__case    *c = case_of(ROW ", 'batch': 64, 'devices': 8, 'tp': 3}");
    assert_false(cm__estimate_step(c, &e));
    REASON_HAS(c, "tp x pp takes 3 devices, and the row has 8");
    c = case_of(ROW ", 'batch': 64, 'devices': 8, 'tp': 8, 'pp': 2}");
    assert_false(cm__estimate_step(c, &e));
    REASON_HAS(c, "tp x pp takes 16 devices");
}

/* A reason that is known before stays the reason. */
TEST(no_time_with_a_reason)
{
    cm__estimate e;
    cm__case    *c = case_of(ROW ", 'batch': 64, 'reason': 'drawn'}");
    assert_false(cm__estimate_step(c, &e));
    assert_string_equal(c->reason, "drawn");
}

/* ---- FLOP and peak ----------------------------------------------------------------------------------------------- */

/* A100: 312 TFLOP/s in 16 bits, 156 in tf32, 19.5 in fp32. A training step of a product has three of 2 m n k. */
TEST(flop_and_peak)
{
    static const struct {
        const char *precision;
        double      peak;
    } peaks[] = {{"bf16", 312e12}, {"fp16", 312e12}, {"tf32", 156e12}, {"fp32", 19.5e12}};
    for (int i = 0; i < 4; i++) {
        cm__case *c = case_of(cm__format(ctx, "{'model': 'gemm:m=64,n=128,k=256', 'device': 'nvidia-a100-40g', 'mode': "
                                              "'inference', 'precision': '%s', 'batch': 3, 'step_time_s': 1}",
                                         peaks[i].precision));
        near(cm__case_peak(c), peaks[i].peak);
        double one = cm__case_flop(case_of("{'model': 'gemm:m=64,n=128,k=256', 'device': 'nvidia-a100-40g', 'mode': "
                                           "'inference', 'batch': 1, 'step_time_s': 1}"));
        near(one, 2. * 64 * 128 * 256);
    }
}

/* 16 GB: a sample of a small model, and not a model of 48 * 12 * 8192^2 parameters. */
TEST(what_fits)
{
    assert_true(cm__case_fits(case_of("{'model': 'resnet18', 'device': 'nvidia-t4', 'batch': 1, 'fits': true}")));
    assert_false(cm__case_fits(case_of("{'model': 'gpt:layers=48,hidden=8192,heads=64,seq=128,vocab=100', 'device': "
                                       "'nvidia-t4', 'batch': 1, 'fits': true}")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_predicted), cmocka_unit_test(micro_batches),
        cmocka_unit_test(micro_batches_that_are_none), cmocka_unit_test(one_pass),
        cmocka_unit_test(feeding),      cmocka_unit_test(replicas),
        cmocka_unit_test(devices_that_a_plan_does_not_divide), cmocka_unit_test(no_time_with_a_reason),
        cmocka_unit_test(flop_and_peak), cmocka_unit_test(what_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
