/* SPDX-License-Identifier: Apache-2.0 */
/* test_job.c - hours, dollars and energy of a job, each objective's value, and the break-even of porting. */
#include <math.h>
#include "time_device.h"
#include "rank/rank.h"

static void is(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected))) fail_msg("%.12g, expected %.12g", got, expected);
}

/* 360,000 samples at 100 samples/s on a device of 500 W that takes an hour to compile and costs 3 USD per hour. */
static cm_rank_entry drawing(double power_w, cm_objective objective, double price_hour)
{
    cm_device      *device = device_of(TIME_DEVICE(", \"power\": {\"tdp\": " NUMBER("500", "W") "}"));
    cm_ranking      r = {.options = {.objective = objective}, .info = {.job_samples = 360000, .objective = objective}};
    cm__rank_device d = {.device = device,
                         .entry = {.device = device, .fits = true, .price_hour = price_hour, .port_usd = 7,
                                   .prediction = {.batch = 50, .step_time_s = 0.5, .throughput_samples_s = 100,
                                                  .interval_s = {0.4, 0.6}, .devices = 1, .power_w = power_w,
                                                  .compile_s = 3600}}};
    cm__rank_value(&r, &d);
    cm_device_free(device);
    d.entry.device = NULL;
    return d.entry;
}

/* The step's average power is not known: the limit is used. */
static cm_rank_entry valued(cm_objective objective, double price_hour) { return drawing(NAN, objective, price_hour); }

static void test_values(void **state)
{
    (void)state;
    cm_rank_entry e = valued(CM_OBJECTIVE_THROUGHPUT, 3);
    is(e.hours, 1 + 1);
    is(e.usd, 2 * 3);
    is(e.kwh, 2 * 0.5);
    is(e.samples_per_usd, 360000 / 3.0);
    is(e.energy_j_per_sample, 5);
    is(e.value, 100);
    is(e.interval[0], 50 / 0.6);
    is(e.interval[1], 50 / 0.4);
    e = drawing(300, CM_OBJECTIVE_THROUGHPUT, 3); /* average power of the step */
    is(e.kwh, 2 * 0.3);
    is(e.energy_j_per_sample, 3);
    is(valued(CM_OBJECTIVE_PRICE, 3).value, 120000);
    is(valued(CM_OBJECTIVE_ENERGY, 3).value, 5);
    e = valued(CM_OBJECTIVE_TIME, 3);
    is(e.value, 2);
    is(e.interval[0], 1 + 0.8); /* a shorter step is the lower end */
    is(valued(CM_OBJECTIVE_COST, 3).value, 2 * 3 + 7);
    assert_true(isnan(valued(CM_OBJECTIVE_PRICE, NAN).value)); /* no price is known */
}

/* Twice the baseline's samples per dollar and its speed: porting for 100 USD pays after 100 / (cost difference). */
static void test_relate(void **state)
{
    (void)state;
    cm_ranking      r = {.options = {.objective = CM_OBJECTIVE_PRICE, .port_hours = 1}};
    cm_rank_entry   base = {.fits = true, .value = 1000, .samples_per_usd = 1000, .price_hour = 2,
                            .prediction = {.throughput_samples_s = 10}};
    cm__rank_device d = {.entry = {.fits = true, .value = 2000, .interval = {1500, 2500}, .samples_per_usd = 2000,
                                   .port_usd = 100, .prediction = {.throughput_samples_s = 30}}};
    cm__rank_relate(&r, &d, &base);
    is(d.entry.relative, 2);
    is(d.entry.relative_interval[0], 1.5);
    is(d.entry.relative_interval[1], 2.5);
    is(d.entry.break_even_samples, 100 / (1 / 1000.0 - 1 / 2000.0));
    is(d.entry.break_even_hours, 200000 / 10.0 / 3600);
    is(d.entry.break_even_price_hour, 6); /* three times as fast at three times the price */
    d.entry.samples_per_usd = 500; /* dearer than the baseline: porting never pays */
    cm__rank_relate(&r, &d, &base);
    assert_true(isinf(d.entry.break_even_samples));
    r.options.objective = CM_OBJECTIVE_ENERGY; /* less is better */
    d.entry.value = 500;
    d.entry.interval[0] = 400;
    d.entry.interval[1] = 625;
    cm__rank_relate(&r, &d, &base);
    is(d.entry.relative, 2);
    is(d.entry.relative_interval[0], 1.6);
    is(d.entry.relative_interval[1], 2.5);
}

static cm_ranking_info job_of(cm_rank_options o, const char *refused)
{
    cm_diag    diag = {0};
    cm__ctx   *ctx = cm__ctx_new(&diag);
    cm_ranking r = {.ctx = ctx, .options = o};
    if (setjmp(ctx->trap)) {
        cm__ctx_abandon(ctx);
        if (!refused || !strstr(diag.reason, refused)) fail_msg("%s", diag.reason);
        return r.info;
    }
    cm__rank_read_job(&r);
    assert_null(refused);
    r.info.job = NULL;
    cm__ctx_free(ctx);
    return r.info;
}

static void test_jobs(void **state)
{
    (void)state;
    is(job_of((cm_rank_options){.samples = 1000, .epochs = 3}, NULL).job_samples, 3000);
    assert_true(isnan(job_of((cm_rank_options){0}, NULL).job_samples));
    cm_ranking_info assumed = job_of((cm_rank_options){.objective = CM_OBJECTIVE_COST}, NULL);
    assert_true(assumed.job_assumed && assumed.job_samples > 0);
    assert_true(job_of((cm_rank_options){.max_hours = 1}, NULL).job_assumed);
    job_of((cm_rank_options){.tokens = 1e9}, "takes no tokens");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_relate),
                                       cmocka_unit_test(test_jobs)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
