/* SPDX-License-Identifier: Apache-2.0 */
/* test_order.c - the order of a ranking, ties of intervals, the Pareto front, and limits on hours and dollars. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "rank/rank.h"

static cm_device *devices[3];

static int begin(void **state)
{
    static const char *const ids[] = {"amd-mi300x", "nvidia-a100-80g", "nvidia-h200"};
    (void)state;
    for (int i = 0; i < 3; i++)
        if (cm_device_load(ids[i], &devices[i], NULL)) return 1;
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) cm_device_free(devices[i]);
    return 0;
}

static cm__rank_device device_at(int i, double value, double low, double high, double samples_s, double per_usd)
{
    return (cm__rank_device){.device = devices[i],
                             .entry = {.device = devices[i], .fits = true, .value = value, .interval = {low, high},
                                       .samples_per_usd = per_usd,
                                       .prediction = {.throughput_samples_s = samples_s, .devices = 1}}};
}

static const char *place(const cm_ranking *r, int32_t i) { return cm_device_get_info(r->order[i]->device)->id; }

/* More samples per dollar first; fewer joules first. Overlapping neighbours are tied; devices without a value come
   last. Only the third device is both slower and dearer than another. */
static void test_sorted(void **state)
{
    (void)state;
    cm__ctx        *ctx = cm__ctx_new(NULL);
    cm__rank_device all[] = {device_at(0, 10, 8, 12, 100, 10), device_at(1, 20, 19, 25, 50, 20),
                             device_at(2, 9, 8, 9.5, 90, 9)};
    cm_ranking      r = {.ctx = ctx, .devices = all, .n_devices = 3, .options = {.objective = CM_OBJECTIVE_PRICE}};
    if (setjmp(ctx->trap)) fail();
    cm__rank_sort(&r);
    assert_int_equal(r.n_placed, 3);
    assert_string_equal(place(&r, 0), "nvidia-a100-80g");
    assert_string_equal(place(&r, 1), "amd-mi300x");
    assert_string_equal(place(&r, 2), "nvidia-h200");
    assert_false(r.order[0]->entry.tied_with_next);
    assert_true(r.order[1]->entry.tied_with_next);
    assert_false(r.order[2]->entry.tied_with_next);
    assert_true(all[0].entry.pareto && all[1].entry.pareto && !all[2].entry.pareto);
    r.options.objective = CM_OBJECTIVE_ENERGY;
    r.n_entries = r.n_placed = 0;
    all[1].entry.state = CM_RANK_NO_VALUE;
    cm__rank_sort(&r);
    assert_int_equal(r.n_placed, 2);
    assert_string_equal(place(&r, 0), "nvidia-h200");
    assert_string_equal(place(&r, 2), "nvidia-a100-80g");
    cm__ctx_free(ctx);
}

/* Two devices of one maker share a part of their errors, so that a ratio of 1.25 decides between intervals of the same factor;
   between makers it does not. */
static void test_too_close(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (setjmp(ctx->trap)) fail();
    for (int other = 0; other < 2; other++) {
        cm__rank_device all[] = {device_at(other ? 0 : 1, 100, 80, 125, 100, 10), device_at(2, 125, 100, 156.25, 125, 12)};
        cm_ranking      r = {.ctx = ctx, .devices = all, .n_devices = 2, .options = {.objective = CM_OBJECTIVE_PRICE}};
        cm__rank_sort(&r);
        assert_int_equal(r.order[0]->entry.tied_with_next, other);
        assert_int_equal(r.order[1]->entry.tied_with_best, other);
        assert_false(r.order[0]->entry.tied_with_best);
    }
    cm__ctx_free(ctx);
}

static cm_rank_state state_of(cm_rank_options o, cm__rank_device d, const char *reason)
{
    cm_ranking r = {.options = o};
    cm__rank_settle_state(&r, &d);
    if (reason && !strstr(d.reason, reason)) fail_msg("'%s' does not say '%s'", d.reason, reason);
    return d.entry.state;
}

static void test_limits(void **state)
{
    (void)state;
    cm__rank_device d = device_at(0, 10, 8, 12, 100, 10);
    d.entry.hours = 12;
    d.entry.usd = 100;
    d.entry.port_usd = 50;
    assert_int_equal(state_of((cm_rank_options){0}, d, ""), CM_RANK_PLACED);
    assert_int_equal(state_of((cm_rank_options){.max_hours = 12}, d, ""), CM_RANK_PLACED);
    assert_int_equal(state_of((cm_rank_options){.max_hours = 11}, d, "takes 12.0 h, more than 11"), CM_RANK_OVER);
    assert_int_equal(state_of((cm_rank_options){.max_usd = 150}, d, ""), CM_RANK_PLACED);
    assert_int_equal(state_of((cm_rank_options){.max_usd = 149}, d, "costs 150 USD, more than 149"), CM_RANK_OVER);
    d.entry.prediction = (cm_prediction_info){.batch = 8, .devices = 1, .step_time_s = 1, .interval_s = {0.5, 2}};
    assert_int_equal(state_of((cm_rank_options){0}, d, ""), CM_RANK_PLACED);
    d.entry.prediction.interval_s[1] = 2.001;
    assert_int_equal(state_of((cm_rank_options){0}, d, "4.00 to 16.0 samples/s"), CM_RANK_UNCERTAIN); /* 8 in half a second */
    d.entry.value = NAN;
    assert_int_equal(state_of((cm_rank_options){.objective = CM_OBJECTIVE_ENERGY}, d, "its power is unknown"),
                     CM_RANK_NO_VALUE);
    d.entry.prediction.throughput_samples_s = NAN;
    assert_int_equal(state_of((cm_rank_options){0}, d, "predicts no time"), CM_RANK_NO_VALUE);
    d.entry.fits = false;
    d.entry.state = CM_RANK_NO_FIT;
    assert_int_equal(state_of((cm_rank_options){0}, d, NULL), CM_RANK_NO_FIT); /* does not change */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sorted),
        cmocka_unit_test(test_too_close), cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, begin, end);
}
