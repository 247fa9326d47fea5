/* SPDX-License-Identifier: Apache-2.0 */
/* test_measure.c - timing of a case, with fake clocks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "bench/measure.h"

typedef struct fake {
    double  each_s, first_s; /* time of a repetition; additional time of the first run */
    int64_t wrong, runs, repetitions;
    bool    broken, noisy;
} fake;

static cm_status run(void *object, int64_t repetitions, double *time_s, cm_diag *diag)
{
    fake *f = object;
    (void)diag;
    double each = f->noisy ? f->each_s * (f->runs % 2 ? 1.5 : 0.5) : f->each_s;
    *time_s = f->broken ? NAN : each * (double)repetitions + (f->runs ? 0 : f->first_s);
    f->runs++;
    f->repetitions += repetitions;
    return CM_OK;
}

static cm_status verify(void *object, int64_t *wrong, cm_diag *diag)
{
    (void)diag;
    *wrong = ((fake *)object)->wrong;
    return CM_OK;
}

static cm__measured measure(fake *f)
{
    cm__measured m;
    cm_diag      diag = {0};
    cm__repeated r = {f, run, verify};
    assert_int_equal(cm__measure(&r, &cm__usual_effort, &m, &diag), CM_OK);
    return m;
}

static void exact_times_come_out_exactly(void **state)
{
    static const double times[] = {1e-9, 3e-6, 2e-4, 0.01};
    (void)state;
    for (int i = 0; i < 4; i++) {
        fake         f = {.each_s = times[i]};
        cm__measured m = measure(&f);
        assert_true(fabs(m.time_s / times[i] - 1) < 1e-9);
        assert_true(m.spread < 1e-9);
        assert_true(m.samples >= cm__usual_effort.least_samples);
    }
}

static void a_sample_lasts_long_enough(void **state)
{
    fake f = {.each_s = 1e-6};
    (void)state;
    cm__measured m = measure(&f);
    assert_true((double)m.repetitions * 1e-6 >= cm__usual_effort.sample_s);
    assert_true((double)m.repetitions * 1e-6 <= 3 * cm__usual_effort.sample_s);
}

static void the_first_run_is_no_sample(void **state)
{
    fake f = {.each_s = 0.02, .first_s = 5}; /* the first run compiles, loads pages, wakes threads */
    (void)state;
    assert_true(fabs(measure(&f).time_s - 0.02) < 1e-9);
}

static void noise_makes_more_samples(void **state)
{
    fake quiet = {.each_s = 0.006}, noisy = {.each_s = 0.006, .noisy = true};
    (void)state;
    assert_true(measure(&noisy).samples > 4 * measure(&quiet).samples);
}

static void long_cases_end(void **state)
{
    fake f = {.each_s = 10};
    (void)state;
    cm__measured m = measure(&f);
    assert_int_equal(m.samples, 1);
    assert_int_equal(f.repetitions, 2);
}

static void a_wrong_result_has_no_time(void **state)
{
    fake f = {.each_s = 1e-3, .wrong = 7};
    (void)state;
    cm__measured m = measure(&f);
    assert_int_equal(m.wrong, 7);
    assert_true(isnan(m.time_s));
    assert_int_equal(f.runs, 0);
}

static void a_broken_clock_is_refused(void **state)
{
    fake         f = {.each_s = 1, .broken = true};
    cm__repeated r = {&f, run, NULL};
    cm__measured m;
    cm_diag      diag = {0};
    (void)state;
    assert_int_equal(cm__measure(&r, &cm__usual_effort, &m, &diag), CM_ERR_UNSUPPORTED);
    assert_true(diag.reason[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_times_come_out_exactly), cmocka_unit_test(a_sample_lasts_long_enough),
        cmocka_unit_test(the_first_run_is_no_sample),   cmocka_unit_test(noise_makes_more_samples),
        cmocka_unit_test(long_cases_end),               cmocka_unit_test(a_wrong_result_has_no_time),
        cmocka_unit_test(a_broken_clock_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
