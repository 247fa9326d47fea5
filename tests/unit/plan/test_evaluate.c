/* SPDX-License-Identifier: Apache-2.0 */
/* test_evaluate.c - the closed form of the search equals the full prediction. */
#include "plan_case.h"
#include "plan/search.h"

/* The closed form equals the full prediction for every plan of a small space without recomputation. */
typedef struct comparing {
    cm__model       *m;
    const cm_graph  *step;
    int32_t          compared;
} comparing;

static void compare(void *user, const cm_plan *plan)
{
    comparing *c = user;
    if (plan->recompute || plan->cp > 1) return;
    cm__spot  spot = {*plan, cm__cost_at(c->m, plan, plan->micro_batch, plan->cp)};
    cm__best  best = {0};
    cm__evaluate(c->m, &spot, 0, NULL, NULL, &best);
    assert_int_equal(best.evaluated, cm__plans_at(c->m, plan));
    for (int32_t i = 0; i < best.count; i++) {
        cm_prediction_info info = predicted(c->step, c->m->device, c->m->fabric, best.list[i].plan);
        if (fabs(best.list[i].step_s / info.step_time_s - 1) > 0.01)
            fail_msg("tp %d pp %d dp %d zero %d: %g s, predicted %g s", plan->tp, plan->pp, plan->dp,
                     best.list[i].plan.zero, best.list[i].step_s, info.step_time_s);
        c->compared++;
    }
}

static void closed_form(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    comparing  c = {.step = step_of("gpt:layers=4,hidden=2048,heads=16,seq=512,vocab=1024", CM_RECOMPUTE_NONE)};
    c.m = cm__model_new(ctx, c.step, d, f, CM_RUNTIME_MEGATRON);
    cm__space(c.m, 8, 16, compare, &c);
    assert_true(c.compared > 200);
    cm_graph_free((cm_graph *)(uintptr_t)c.step);
    cm__ctx_free(ctx);
    cm_fabric_free(f);
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
