/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics.c - quantities of rows, from times that the test states. */
#include "validate_case.h"

#define ROW "'model': 'gemm:m=1024,n=1024,k=1024', 'device': 'nvidia-a100-40g', 'mode': 'inference', 'precision': 'fp16'"
#define ONE "{" ROW ", 'batch': 1, "

/* 64 samples on 4 devices in 0.5 s, of which 0.4 s on the device; from host to host 2 s. */
static bool stated(cm__case *c, cm__estimate *e)
{
    *e = (cm__estimate){.step_s = 0.5, .device_s = 0.4, .samples = 64, .devices = 4, .interval_s = {0.4, 0.8},
                        .latency_s = 2};
    return !c->reason;
}

/* As many samples as the row's batch on as many devices as it names, in a second. */
static bool by_batch(cm__case *c, cm__estimate *e)
{
    *e = (cm__estimate){.step_s = 1, .device_s = 1, .samples = (double)c->batch, .devices = c->devices,
                        .interval_s = {1, 1}, .latency_s = NAN};
    return !c->reason;
}

static bool silent(cm__case *c, cm__estimate *e)
{
    (void)c, (void)e;
    return false;
}

static cm__answer answer(const char *text, cm__estimator *estimate)
{
    cm__case         *c = case_of(text);
    const cm__metric *m = cm__metric_of(set, c->run);
    if (c->reason) fail_msg("%s", c->reason);
    assert_non_null(m);
    return m->value(c, estimate);
}

static void is(const char *text, double value, double least, double most)
{
    cm__answer a = answer(text, stated);
    near(a.value, value);
    if (isnan(least)) assert_true(isnan(a.interval[0]) && isnan(a.interval[1]));
    else near(a.interval[0], least), near(a.interval[1], most);
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

/* The interval of a rate has the ends of the time's, in reverse. */
TEST(times_and_rates)
{
    is(ONE "'step_time_s': 1}", 0.5, 0.4, 0.8);
    is(ONE "'device_time_s': 1}", 0.4, NAN, NAN);
    is(ONE "'latency_s': 1}", 2, 1.6, 3.2);
    is(ONE "'throughput_samples_s': 1}", 128, 80, 160);
    is(ONE "'throughput_samples_s': 1, 'one_at_a_time': true}", 32, 20, 40);
    is(ONE "'throughput_samples_s': 1, 'per_device': true}", 32, 20, 40);
    is("{'model': 'gpt:layers=1,hidden=64,heads=2,vocab=100', 'device': 'nvidia-a100-40g', 'batch': 1, 'seq': 100, "
       "'throughput_tokens_s': 1}", 12800, 8000, 16000);
}

/* 2 * 1024^3 FLOP for each of 64 samples; an A100 has 312 TFLOP/s. */
TEST(work_over_time)
{
    double flop = 2 * 1024. * 1024 * 1024, ideal = 64 * flop / 312e12 / 4;
    is(ONE "'utilisation': 1}", ideal / 0.5, ideal / 0.8, ideal / 0.4);
    is(ONE "'mfu': 1}", ideal / 0.5, ideal / 0.8, ideal / 0.4);
    is(ONE "'kernel_flop_s': 1}", flop / 0.4, NAN, NAN);
    is(ONE "'kernel_utilisation': 1}", flop / 0.4 / 312e12, NAN, NAN);
}

/* Without products, all operators count: one FLOP per element. */
TEST(work_without_products)
{
    is("{'model': 'elementwise:op=relu,n=1000', 'device': 'nvidia-a100-40g', 'mode': 'inference', 'precision': 'fp16', "
       "'batch': 1, 'kernel_flop_s': 1}", 1000 / 0.4, NAN, NAN);
}

TEST(no_time_no_answer)
{
    static const char *const names[] = {"step_time_s", "device_time_s", "latency_s", "throughput_samples_s",
                                        "throughput_tokens_s", "utilisation", "kernel_flop_s", "link_share"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(isnan(answer(cm__format(ctx, ONE "'%s': 1}", names[i]), silent).value));
}

/* Look-ups in tables have a rate and no step; the baselines do not know it. */
TEST(lookups_have_no_step)
{
    static const char row[] = "{'model': 'XSBench', 'device': 'nvidia-a100-40g', 'lookups_s': 1, 'tables': {'visited': "
                              "250, 'nuclides': 250, 'points': 10000, 'bits': 32%s}}";
    double random = answer(cm__format(ctx, row, ""), cm__estimate_step).value;
    double sorted = answer(cm__format(ctx, row, ", 'sorted': true"), cm__estimate_step).value;
    double kept = answer(cm__format(ctx, row, ", 'sorted': true, 'sums': 'memory'"), cm__estimate_step).value;
    assert_true(random > 0 && random < kept && kept < sorted);
    assert_true(isnan(answer(cm__format(ctx, row, ""), by_batch).value));
    cm__case *c = case_of(cm__format(ctx, row, ", 'longest': 1"));
    assert_null(c->step);
    assert_true(isnan(cm__metric_of(set, c->run)->value(c, cm__estimate_step).value));
    REASON_HAS(c, "fewer than the average");
}

/* ---- two runs ---------------------------------------------------------------------------------------------------- */

TEST(ratios)
{
    near(answer("{" ROW ", 'batch': 64, 'ratio': 1, 'versus': {'batch': 16}}", by_batch).value, 4);
    near(answer("{" ROW ", 'batch': 64, 'kernel_ratio': 1, 'versus': {'batch': 16}}", by_batch).value, 4);
    /* the mean of 4 and of 8 */
    near(answer("{" ROW ", 'batch': 1, 'ratio': 1, 'versus': {'batch': 16}, 'over': [{'batch': 64}, {'batch': 128}]}",
                by_batch).value, 6);
    /* 8 devices instead of 2 give 3 times the samples: 3/4 of linear */
    near(answer("{" ROW ", 'batch': 48, 'devices': 8, 'efficiency': 1, 'versus': {'batch': 16, 'devices': 2}}",
                by_batch).value, 0.75);
}

TEST(the_other_run_must_exist)
{
    cm__case *c = case_of("{" ROW ", 'batch': 4, 'ratio': 1}");
    assert_true(isnan(cm__metric_of(set, c->run)->value(c, by_batch).value));
    REASON_HAS(c, "'versus' is missing");
    c = case_of("{" ROW ", 'batch': 4, 'ratio': 1, 'versus': 'no-such-device'}");
    assert_true(isnan(cm__metric_of(set, c->run)->value(c, by_batch).value));
    REASON_HAS(c, "no-such-device");
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

#define RUNS(metric, faster, slower, more)                                                                             \
    "{" ROW ", 'batch': 1, '" metric "': {'faster': [" faster "], 'slower': [" slower "]" more "}}"

/* Pairs in the stated order; a tie does not. */
TEST(orders)
{
    assert_true(answer(RUNS("order", "{'batch': 8}", "{'batch': 4}, {'batch': 16}", ""), by_batch).value == 1);
    assert_true(answer(RUNS("kernel_order", "{'batch': 8}, {'batch': 9}", "{'batch': 4}, {'batch': 8}", ""),
                       by_batch).value == 3);
    assert_true(answer(RUNS("order", "{'batch': 8}", "{'batch': 8}", ""), by_batch).value == 0);
    assert_true(isnan(answer(RUNS("order", "{'batch': 8}", "'no-such'", ""), by_batch).value));
}

/* Two devices with the same samples per second: the cheaper one is better. */
TEST(orders_by_price)
{
    const char *prices = ", 'usd_hour': {'nvidia-a100-40g': 2, 'nvidia-h100': 3}";
    const char *form = "{" ROW ", 'batch': 8, 'order': {'faster': ['%s'], 'slower': ['%s']%s}}";
    char        text[512];
    snprintf(text, sizeof text, form, "nvidia-a100-40g", "nvidia-h100", prices);
    assert_true(answer(text, by_batch).value == 1);
    snprintf(text, sizeof text, form, "nvidia-h100", "nvidia-a100-40g", prices);
    assert_true(answer(text, by_batch).value == 0);
}

/* ---- what is measured -------------------------------------------------------------------------------------------- */

static const char *metric_of(const char *of_set, const char *row)
{
    const cm__metric *m = cm__metric_of(json_of(of_set), json_of(row));
    return m ? m->name : "";
}

TEST(names_of_metrics)
{
    assert_string_equal(metric_of("{}", "{'ratio': 1}"), "ratio");
    assert_string_equal(metric_of("{'metric': 'step_time_s'}", "{'measured': 1}"), "step_time_s");
    assert_string_equal(metric_of("{'metric': 'step_time_s'}", "{'ratio': 1}"), "ratio");
    assert_string_equal(metric_of("{'metric': 'batch'}", "{'measured': 8}"), "batch");
    assert_string_equal(metric_of("{}", "{'batch': 8}"), ""); /* an option of the run */
    assert_string_equal(metric_of("{}", "{'measured': 8}"), "");
    assert_string_equal(metric_of("{'metric': 'speed'}", "{'measured': 8}"), "");
}

TEST(measured_values)
{
    const cm__metric *fits = cm__metric_of(set, json_of("{'fits': true}"));
    assert_true(cm__measured_of(fits, json_of("{'fits': true}")) == 1);
    assert_true(cm__measured_of(fits, json_of("{'fits': false}")) == 0);
    const cm__metric *order = cm__metric_of(set, json_of("{'order': {}}"));
    assert_true(cm__measured_of(order, json_of("{'order': {'faster': [1, 2], 'slower': [3, 4, 5]}}")) == 6);
    const cm__metric *time = cm__metric_of(set, json_of("{'step_time_s': 1}"));
    assert_true(cm__measured_of(time, json_of("{'step_time_s': 0.25}")) == 0.25);
    assert_true(cm__measured_of(time, json_of("{'measured': 3}")) == 3);
    assert_true(isnan(cm__measured_of(time, json_of("{'step_time_s': 'fast'}"))));
    assert_true(isnan(cm__measured_of(time, json_of("{}"))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_and_rates),  cmocka_unit_test(work_over_time),
        cmocka_unit_test(work_without_products), cmocka_unit_test(no_time_no_answer),
        cmocka_unit_test(lookups_have_no_step), cmocka_unit_test(ratios),
        cmocka_unit_test(the_other_run_must_exist),
        cmocka_unit_test(orders),           cmocka_unit_test(orders_by_price),
        cmocka_unit_test(names_of_metrics), cmocka_unit_test(measured_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
