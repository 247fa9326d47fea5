/* SPDX-License-Identifier: Apache-2.0 */
/* test_gates.c - a limit is held or missed by the predicted value; the interval says how sure that is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "report/report.h"

static cm_diag diag;

static cm__gate judged(cm__gate asked)
{
    cm__ctx  *ctx = cm__ctx_new(&diag);
    cm__gates gates = {0};
    cm__gates_add(ctx, &gates, asked);
    assert_int_equal(gates.count, 1);
    assert_int_equal(gates.missed, !gates.all[0].held);
    assert_non_null(strstr(gates.all[0].text, gates.all[0].held ? " held: " : " missed: "));
    assert_true(!strstr(gates.all[0].text, "not sure") == gates.all[0].sure);
    gates.all[0].text = NULL;
    cm__ctx_free(ctx);
    return gates.all[0];
}

static void value_decides(void **state)
{
    (void)state;
    cm__gate most = {"max-step", "s", 2, 1, {0.9, 1.1}, .least = false}, least = {"n", "", 2, 1, {0.5, 3}, .least = true};
    cm__gate g = judged(most);
    assert_true(g.held && g.sure);
    most.interval[1] = 2.5;
    g = judged(most);
    assert_true(g.held && !g.sure); /* the interval does not decide */
    most.limit = 0.5;
    g = judged(most);
    assert_true(!g.held && g.sure);
    g = judged(least);
    assert_true(!g.held && !g.sure);
    least.limit = 1;
    assert_true(judged(least).held); /* a limit that is just reached */
}

static void no_limit_adds_nothing(void **state)
{
    (void)state;
    cm__ctx  *ctx = cm__ctx_new(&diag);
    cm__gates gates = {0};
    cm__gates_add(ctx, &gates, (cm__gate){"max-step", "s", 0, 1, {1, 1}});
    assert_int_equal(gates.count, 0);
    cm__ctx_free(ctx);
}

/* A value that is not known meets no limit. */
static void unknown_values(void **state)
{
    (void)state;
    assert_false(judged((cm__gate){"max-step", "s", 1, NAN, {NAN, NAN}}).held);
    assert_false(judged((cm__gate){"min-throughput", "samples/s", 1, NAN, {NAN, NAN}, .least = true}).held);
}

/* Limits just around the values that were predicted: the smaller ones are missed, the larger ones are held. */
static void limits_of_a_prediction(void **state)
{
    (void)state;
    cm__predict_request asked = {.graph = {.model = "resnet18"}, .device = "nvidia-h200", .options = {.batch = 64}};
    cm__predict_report *r;
    assert_int_equal(cm__predict_report_new(&asked, &r, &diag), CM_OK);
    const cm_prediction_info *i = cm_prediction_get_info(r->prediction);
    double step = i->step_time_s, peak = r->peak_bytes, rate = i->throughput_samples_s;
    assert_int_equal(r->gates.count, 0);
    cm__predict_report_free(r);
    for (int side = 0; side < 2; side++) {
        double factor = side ? 1.001 : 0.999;
        asked.limits = (cm__limits){step * factor, peak * factor, rate * factor, 0};
        assert_int_equal(cm__predict_report_new(&asked, &r, &diag), CM_OK);
        assert_int_equal(r->gates.count, 3);
        for (int k = 0; k < 3; k++) {
            const cm__gate *g = &r->gates.all[k];
            assert_int_equal(g->held, (factor > 1) != g->least);
            assert_true(g->interval[0] <= g->value && g->value <= g->interval[1]);
        }
        i = cm_prediction_get_info(r->prediction);
        assert_true(fabs(r->gates.all[2].interval[0] * i->interval_s[1] / 64 - 1) < 1e-9);
        cm__predict_report_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(value_decides), cmocka_unit_test(no_limit_adds_nothing),
                                       cmocka_unit_test(unknown_values), cmocka_unit_test(limits_of_a_prediction)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
