/* SPDX-License-Identifier: Apache-2.0 */
/* test_advise.c - the cheapest measurement that settles the order of the first places. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "model/time/factors.h"
#include "rank/close.h"
#include "rank/rank.h"

static cm_device *devices[3];

static int begin(void **state)
{
    static const char *const ids[] = {"amd-mi300x", "nvidia-a100-80g", "graphcore-bow"};
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

/* A ranking of two devices by throughput, with log errors. */
static cm_rank_advice advice(int a, double a_value, double a_error, int b, double b_value, double b_error)
{
    cm__ctx        *ctx = cm__ctx_new(NULL);
    cm__rank_step   step = {.options = {.runtime = CM_RUNTIME_TORCH_EAGER}};
    cm__rank_device all[2] = {{.device = devices[a], .step = &step}, {.device = devices[b], .step = &step}};
    const double    values[] = {a_value, b_value}, errors[] = {a_error, b_error};
    if (setjmp(ctx->trap)) fail();
    for (int i = 0; i < 2; i++) {
        double z = CM__SIGMAS_OF_90_PERCENT * errors[i];
        all[i].entry = (cm_rank_entry){.device = all[i].device, .fits = true, .value = values[i],
                                       .interval = {values[i] * exp(-z), values[i] * exp(z)},
                                       .prediction = {.devices = 1, .runtime = CM_RUNTIME_TORCH_EAGER}};
    }
    cm_ranking r = {.ctx = ctx, .devices = all, .n_devices = 2, .options = {.objective = CM_OBJECTIVE_THROUGHPUT}};
    cm__rank_sort(&r);
    cm_rank_advice found = cm_ranking_advise(&r);
    cm__ctx_free(ctx);
    return found;
}

/* The uncertain device is measured, not the certain one; the interval is as derived in advise.c. */
static void the_uncertain_device_is_measured(void **state)
{
    (void)state;
    const double   x = 0.03, y = 0.2, r = log(110.0 / 100), left = hypot(cm__time_factors.common_error, cm__time_factors.measured_error);
    cm_rank_advice a = advice(0, 110, x, 1, 100, y);
    double after = hypot(x, left), u = sqrt(x * x + y * y - after * after), z = CM__SIGMAS_OF_90_PERCENT * after;
    double p = 0.5 * erfc(-(r - z) / u / sqrt(2)) + 0.5 * erfc((r + z) / u / sqrt(2));
    assert_int_equal(a.tied, 2);
    assert_int_equal(a.count, 1);
    assert_string_equal(a.items[0].backend, "cuda");
    assert_true(fabs(a.items[0].interval[1] / a.items[0].interval[0] / exp(2 * CM__SIGMAS_OF_90_PERCENT * left) - 1) < 1e-9);
    assert_true(fabs(a.probability - p) < 1e-9 && p > 0.5);
}

static void nothing_is_measured_where_nothing_helps(void **state)
{
    (void)state;
    assert_int_equal(advice(0, 200, 0.03, 1, 100, 0.03).count, 0);
    assert_int_equal(advice(0, 200, 0.03, 1, 100, 0.03).tied, 1);
    cm_rank_advice none = advice(2, 101, 0.2, 1, 100, 0.03); /* no benchmark runs on the first, the other is known */
    assert_int_equal(none.count, 0);
    assert_int_equal(none.tied, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_uncertain_device_is_measured),
        cmocka_unit_test(nothing_is_measured_where_nothing_helps),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
