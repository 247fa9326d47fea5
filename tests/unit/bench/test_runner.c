/* SPDX-License-Identifier: Apache-2.0 */
/* test_runner.c - cases are measured in order, within the budget, and released; a failure is a result's reason. */
#include "bench_case.h"

#define GEMM(n) "gemm forward nn fp32 1," #n "," #n "," #n

static void add(const char *text)
{
    cm__call c = call_of(text);
    cm__add_call(b, "test", "call", &c, 1, NAN);
}

TEST(all_kinds_of_cases)
{
    begin_ranks();
    add(GEMM(64));
    cm__add_probe(b, "test", "read", (cm_probe_request){CM_PROBE_READ, 1 << 20, NULL});
    cm__add_host_test(b, "test", &cm__host_simulated);
    cm__add_collective(b, "test", "all-reduce", CM_ALL_REDUCE, 1000);
    cm__bench_measure(b);
    near(b->results[0].time_s, 1e-6 + 2 * 64. * 64 * 64 / 1e12);
    assert_int_equal(b->results[0].kernels, 1);
    near(b->results[1].work / b->results[1].time_s, 1e12);
    near(b->results[2].time_s, 1);
    near(b->results[3].time_s, 5e-6 + 1500 / 1e10);
    for (int i = 0; i < 4; i++) assert_true(!b->results[i].skipped && b->results[i].repetitions >= 1);
    assert_int_equal(b->unmeasured, 0);
}

TEST(wrong_results_have_no_time)
{
    add(GEMM(13));
    add(GEMM(14));
    cm__bench_measure(b);
    assert_true(isnan(b->results[0].time_s) && b->results[0].wrong == 1);
    assert_string_equal(b->results[0].skipped, "its results are wrong, so it was not timed");
    assert_true(b->results[1].time_s > 0 && !b->results[1].skipped);
}

TEST(what_was_measured_before_stays)
{
    add(GEMM(64));
    b->results[0].resumed = true;
    b->results[0].time_s = 42;
    cm__bench_measure(b);
    assert_true(b->results[0].time_s == 42);
}

/* ---- budget ------------------------------------------------------------------------------------------------------ */

/* Ten seconds, less 3 % and 1.5 s: the first of two cases may take a half of 8.2 s. The first call of its kind is
   assumed to run at 0.5 % of 4e12 FLOP/s, four times: a product of 4096 is 1.374e11 FLOP and ten times 2.01e8 B. */
TEST(a_case_that_would_take_too_long)
{
    b->options.budget_s = 10;
    add(GEMM(4096));
    add("gemm bwd_weight nn fp32 1,64,64,64");
    cm__bench_measure(b);
    assert_string_equal(b->results[0].skipped, "no time left: it may take 27.9 s, if it runs at 0.5 % of the peak");
    assert_true(isnan(b->results[0].time_s) && b->results[1].time_s > 0);
    assert_int_equal(b->unmeasured, 1);
}

/* Once a smaller product has shown how fast the device is, the larger one is no risk. */
TEST(estimates_learn)
{
    b->options.budget_s = 10;
    add(GEMM(512));
    add(GEMM(2048));
    cm__bench_measure(b);
    assert_true(b->results[1].time_s > 0);
    assert_int_equal(b->unmeasured, 0);
}

/* Nothing smaller of the kind is there: the product may take most of 37.3 s. */
TEST(the_first_of_a_kind_may_take_what_is_left)
{
    b->options.budget_s = 40;
    add(GEMM(4096));
    add("gemm bwd_weight nn fp32 1,64,64,64");
    cm__bench_measure(b);
    assert_int_equal(b->unmeasured, 0);
}

/* The product alone would be refused: it may take 27.9 s of 8.2. Forward is at most ten times as fast as backward. */
TEST(another_pass_shows_the_speed)
{
    b->options.budget_s = 10;
    add(GEMM(1024));
    add("gemm bwd_weight nn fp32 1,4096,4096,4096");
    cm__bench_measure(b);
    assert_int_equal(b->unmeasured, 0);
}

/* The guess would refuse this product. The smaller one of its kind is measured first, although it comes later. */
TEST(a_small_call_shows_the_speed)
{
    b->options.budget_s = 10;
    add(GEMM(4096));
    add(GEMM(64));
    cm__bench_measure(b);
    for (int i = 0; i < 2; i++) assert_true(b->results[i].time_s > 0 && !b->results[i].skipped);
    near(b->results[0].time_s, 1e-6 + 2 * 4096. * 4096 * 4096 / 1e12);
    assert_int_equal(b->unmeasured, 0);
}

/* 3.5 s by the guess, more than a quarter of 8.2 s: nothing else needs the time. */
TEST(the_last_case_may_take_all_that_is_left)
{
    b->options.budget_s = 10;
    add(GEMM(2048));
    cm__bench_measure(b);
    assert_true(b->results[0].time_s > 0);
}

TEST(a_budget_that_is_spent)
{
    b->options.budget_s = 10;
    b->began_s = cm__now_s() - 9;
    add(GEMM(8));
    add(GEMM(16));
    cm__bench_measure(b);
    for (int i = 0; i < 2; i++) assert_string_equal(b->results[i].skipped, "no time left");
    assert_int_equal(b->unmeasured, 2);
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

static int32_t reports;

static void report(void *user, const cm_bench_progress *p)
{
    assert_ptr_equal(user, &reports);
    assert_int_equal(p->done, reports);
    assert_int_equal(p->total, 3);
    assert_string_equal(p->what, reports < 3 ? b->results[reports].name : "");
    reports++;
}

TEST(progress_before_each_case_and_at_the_end)
{
    reports = 0;
    b->options.progress = report;
    b->options.user = &reports;
    add(GEMM(8));
    add(GEMM(16));
    add(GEMM(32));
    cm__bench_measure(b);
    assert_int_equal(reports, 4);
}

/* ---- backends ---------------------------------------------------------------------------------------------------- */

static int32_t         prepared, released;
static cm_case_options asked;

static cm_status counted_prepare(void *state, const cm_call *call, const cm_case_options *options, void **a_case, cm_diag *d)
{
    asked = *options;
    if (call->dims[1] == 16) return cm__diag_set(d, CM_ERR_LIMIT, "too large");
    if (call->dims[1] == 32) return CM_ERR_UNSUPPORTED;
    prepared++;
    return cm__backend_null.prepare(state, call, options, a_case, d);
}

static cm_status failing_run(void *a_case, int64_t repetitions, double *time_s, cm_diag *d)
{
    (void)a_case, (void)repetitions, (void)time_s;
    return cm__diag_set(d, CM_ERR_IO, "the device is gone");
}

static void counted_release(void *a_case)
{
    released++;
    cm__backend_null.release(a_case);
}

static const char *algorithm(void *a_case)
{
    (void)a_case;
    return "the best";
}

static void with_backend(cm_backend *backend)
{
    prepared = released = 0;
    backend->prepare = counted_prepare;
    backend->release = counted_release;
    backend->algorithm = algorithm;
    b->backend = backend;
    add(GEMM(8));
    add(GEMM(16));
    add(GEMM(32));
    add(GEMM(64));
    cm__bench_measure(b);
    b->backend = &cm__backend_null;
}

/* A case that cannot be prepared has the backend's reason, or the status; the others go on. */
TEST(cases_that_fail)
{
    cm_backend backend = cm__backend_null;
    b->options.cold = true;
    with_backend(&backend);
    assert_true(prepared == 2 && released == 2);
    assert_string_equal(b->results[1].skipped, "too large");
    assert_string_equal(b->results[2].skipped, cm_status_text(CM_ERR_UNSUPPORTED));
    assert_true(b->results[0].time_s > 0 && b->results[3].time_s > 0);
    assert_string_equal(b->results[3].algorithm, "the best");
    assert_true(asked.cold && !asked.search);
}

TEST(runs_that_fail_are_released)
{
    cm_backend backend = cm__backend_null;
    backend.run = failing_run;
    with_backend(&backend);
    assert_true(prepared == 2 && released == 2);
    assert_string_equal(b->results[0].skipped, "the device is gone");
    assert_true(isnan(b->results[0].time_s));
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static int32_t agreements;

static void counted_agree(void *state, double *value)
{
    (void)state, (void)value;
    agreements++;
}

/* Only rank 0 reads the journal. All ranks must agree equally often on each case, whatever is in it. */
static int32_t agreements_if(bool resumed, const char *skipped)
{
    cm_fabric fabric = cm__fabric_null;
    fabric.agree = counted_agree;
    begin_ranks();
    b->fabric = &fabric;
    cm__add_collective(b, "test", "all-reduce", CM_ALL_REDUCE, 1000);
    b->results[0].resumed = resumed;
    b->results[0].skipped = skipped;
    agreements = 0;
    cm__bench_measure(b);
    b->fabric = &cm__fabric_null;
    return agreements;
}

TEST(ranks_agree_on_what_was_measured)
{
    assert_int_equal(agreements_if(true, NULL), 1);
}

TEST(ranks_agree_on_what_was_wrong)
{
    assert_int_equal(agreements_if(true, "its results are wrong, so it was not timed"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_of_cases),
        cmocka_unit_test(wrong_results_have_no_time),
        cmocka_unit_test(what_was_measured_before_stays),
        cmocka_unit_test(a_case_that_would_take_too_long),
        cmocka_unit_test(a_small_call_shows_the_speed),
        cmocka_unit_test(the_last_case_may_take_all_that_is_left),
        cmocka_unit_test(estimates_learn),
        cmocka_unit_test(the_first_of_a_kind_may_take_what_is_left), cmocka_unit_test(another_pass_shows_the_speed),
        cmocka_unit_test(a_budget_that_is_spent),
        cmocka_unit_test(progress_before_each_case_and_at_the_end),
        cmocka_unit_test(cases_that_fail),
        cmocka_unit_test(runs_that_fail_are_released),
        cmocka_unit_test(ranks_agree_on_what_was_measured),
        cmocka_unit_test(ranks_agree_on_what_was_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
