/* SPDX-License-Identifier: Apache-2.0 */
/* test_evaluate.c - the closed form of the search equals the full prediction, or is close to it. */
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

/* Under PyTorch: ZeRO 3 takes time of the host for each module, and the power limit applies to forward and backward, not
   to the update, which devices share. In host-bound plans, the host time of recomputation is not known before the step
   is made. */
typedef struct estimating {
    cm__finding finding;
    cm__model  *m;
    double      worst[CM_RECOMPUTES];
    int32_t     compared;
} estimating;

static void estimate(void *user, const cm_plan *plan)
{
    estimating *e = user;
    cm__spot    spot = {*plan, cm__cost_at(e->m, plan, plan->micro_batch, plan->cp), -1};
    cm__best    best = {0};
    if (plan->pp > 1 || plan->dp < 16) return;
    if (e->m->sharded) spot.sharded = cm__cost_at(e->m->sharded, plan, plan->micro_batch, plan->cp);
    cm__evaluate(e->m, &spot, 0, NULL, NULL, &best);
    for (int32_t i = 0; i < best.count; i++) {
        cm_prediction_info info;
        assert_true(cm__time_plan(&e->finding, &best.list[i].plan, &info));
        double *worst = &e->worst[plan->recompute];
        *worst = fmax(*worst, fabs(log(best.list[i].step_s / info.step_time_s)));
        e->compared++;
    }
}

static void compare_estimates(const char *model, const char *device, int64_t global_batch, const double *most)
{
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d;
    if (cm_device_load(device, &d, &diag)) fail_msg("%s", diag.reason);
    cm_fabric        *f = fabric_of(d);
    cm_graph         *forward = loaded(model);
    cm_step_options   step = {0};
    if (cm_step_settle(model, d, &step, &diag)) fail_msg("%s", diag.reason);
    cm_search_options o = {.devices = 16, .global_batch = global_batch, .fabric = f, .train = step.train,
                           .runtime = CM_RUNTIME_TORCH_EAGER};
    estimating        e = {.m = cm__model_for(ctx, forward, d, &o, cm__plan_shared_new(ctx))};
    e.finding = (cm__finding){.ctx = ctx, .o = &o, .forward = forward, .device = d, .m = e.m, .iterations = 1};
    for (cm__model *m = e.m; m; m = m->sharded) m->usual = true;
    cm__space(e.m, 16, global_batch, estimate, &e);
    assert_true(e.compared > 10);
    for (int r = 0; r < CM_RECOMPUTES; r++)
        if (e.worst[r] > most[r]) fail_msg("%s on %s: recomputation %d is %g off", model, device, r, e.worst[r]);
    cm_graph_free(forward);
    cm_fabric_free(f);
    cm__ctx_free(ctx);
    cm_device_free(d);
}

static void estimates(void **state)
{
    (void)state;
    compare_estimates("resnet50", "nvidia-h100", 256, (double[CM_RECOMPUTES]){0.15, 0.6, 0.6});
    compare_estimates("gpt:layers=8,hidden=4096,heads=32,seq=2048", "nvidia-b200", 16,
                      (double[CM_RECOMPUTES]){0.12, 0.15, 0.15});
}

static cm__best merged(bool tight, double slow_peak)
{
    cm_plan  first = {.tp = 8, .cp = 1, .ep = 1, .pp = 4, .micro_batch = 1, .interleave = 2}, second = first;
    cm__best best = {.distinct = true}, other = {0};
    second.interleave = 1;
    second.recompute = CM_RECOMPUTE_SELECTIVE;
    other.count = 2;
    other.list[0] = (cm__scored){.score = 2, .peak_bytes = slow_peak, .index = 1, .plan = second};
    other.list[1] = (cm__scored){.score = 1, .peak_bytes = 90, .tight = tight, .index = 0, .plan = first};
    cm__best_merge(&best, &other); /* the slower one comes first, and is removed if it is not needed */
    cm__best again = {.distinct = true};
    cm__best_merge(&again, &best);
    assert_int_equal(again.count, best.count);
    assert_int_equal(best.list[0].plan.interleave, 2);
    return best;
}

/* Among plans with the same sizes, a slower one stays in the list only if it needs less memory than a faster one that
   may not fit. Otherwise a plan that turns out not to fit would hide all of its sizes. */
static void same_sizes(void **state)
{
    (void)state;
    assert_int_equal(merged(false, 50).count, 1);
    assert_int_equal(merged(true, 90).count, 1);
    assert_int_equal(merged(true, 50).count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_form),
        cmocka_unit_test(estimates),
        cmocka_unit_test(same_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
