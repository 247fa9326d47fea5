/* SPDX-License-Identifier: Apache-2.0 */
/* test_iteration.c - schedules of pipelines and replicas, by formula. */
#include "plan_case.h"

/* p equal stages and M micro-batches take (M + p - 1) t; v chunks per stage shorten the bubble v times. */
static void pipelines(void **state)
{
    (void)state;
    cm__stages st = {.sum_s = 4 * 3.0, .longest_s = 3.0, .backward_s = 2, .update_s = 0.5, .parts = 6};
    cm__waits  none = {0}, exchange = {.exchange_s = 0.01};
    cm_plan    plan = {.tp = 1, .pp = 4, .dp = 1, .interleave = 1, .accumulate = 8};
    is(cm__iterate(&st, &none, &plan, true).step_s, (8 + 4 - 1) * 3.0 + 0.5);
    is(cm__iterate(&st, &exchange, &plan, true).step_s, (8 + 4 - 1) * (3.0 + 2 * 0.01) + 0.5);
    plan.interleave = 3;
    is(cm__iterate(&st, &none, &plan, true).step_s, 8 * 3.0 + 3 * 3.0 / 3 + 0.5);
    is(cm__iterate(&st, &exchange, &plan, true).pipeline_s, 2 * (8 * 3 + 4 - 1) * 0.01);
    exchange.exchanges_behind = true; /* other chunks compute meanwhile, except while the pipeline fills and drains */
    is(cm__iterate(&st, &exchange, &plan, true).pipeline_s, 2 * (4 - 1) * 0.01);
    plan.interleave = 1;
    is(cm__iterate(&st, &exchange, &plan, true).pipeline_s, 2 * (8 + 4 - 1) * 0.01);
}

/* A late all-reduce runs after backward. An early one overlaps with it, except for the part sent after its end. */
static void replicas(void **state)
{
    (void)state;
    cm__stages st = {.sum_s = 3, .longest_s = 3, .backward_s = 2, .update_s = 1, .parts = 10};
    cm__waits  w = {.reduce_s = 1, .scatter_s = 0.5, .gather_s = 0.4, .renew_s = 0.4, .reduced = {1.2, 0.1}, .scattered = {0.6, 0.05}};
    cm_plan    plan = {.tp = 1, .pp = 1, .dp = 4, .interleave = 1, .accumulate = 2};
    is(cm__iterate(&st, &w, &plan, true).step_s, 2 * 3 + 1 + 1);
    is(cm__iterate(&st, &w, &plan, false).step_s, 2 * 3 + 0.1 + 1);
    is(cm__iterate(&st, &w, &plan, false).data_s, 1.2);
    plan.overlap = true;
    is(cm__iterate(&st, &w, &plan, true).step_s, 2 * 3 + 0.1 + 1);
    plan = (cm_plan){.tp = 1, .pp = 1, .dp = 4, .interleave = 1, .accumulate = 2, .zero = 1};
    is(cm__iterate(&st, &w, &plan, true).step_s, 2 * 3 + 0.9 + 1.0 / 4);         /* each device updates a quarter */
    is(cm__iterate(&st, &w, &plan, false).step_s, 2 * 3 + 0.05 + 0.4 + 1.0 / 4); /* and gathers the other quarters */
    w.renews_behind = true; /* Megatron Core gathers behind forward, all but one of ten parts; that lasts 1 s */
    is(cm__iterate(&st, &w, &plan, true).step_s, 2 * 3 + 0.9 + 1.0 / 4);
    plan.overlap = true;
    is(cm__iterate(&st, &w, &plan, true).step_s, 2 * 3 + 0.05 + 0.4 / 10 + 1.0 / 4);
    w.renew_s = 2;
    is(cm__iterate(&st, &w, &plan, true).step_s, 2 * 3 + 0.05 + (2 - 1) + 1.0 / 4);
    plan.overlap = false;
    plan.zero = 3;
    double sums = 2 * (0.5 + 2 * 0.4);
    is(cm__iterate(&st, &w, &plan, true).data_s, sums);
    double before = cm__iterate(&st, &w, &plan, true).step_s;
    w.again_s = 0.4; /* reentrant checkpoints gather once more in each micro-batch, and nothing overlaps with it */
    is(cm__iterate(&st, &w, &plan, true).step_s, before + 2 * 0.4);
}

/* ZeRO 1 gathers the weights that the update has changed; only ZeRO 3 shards frozen ones. */
static void frozen(void **state)
{
    (void)state;
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    cm__part   all[3] = {{0}};
    cm__parts  parts = {.all = all, .count = 3, .weight_bytes = 2, .gradient_bytes = 2};
    cm_plan    plan = {.tp = 1, .cp = 1, .pp = 1, .dp = 8, .interleave = 1, .accumulate = 1, .zero = 1};
    cm__stages tuned = {.parameters = 1e6, .frozen_bytes = 1e11}, whole = {.parameters = 1e6};
    is(cm__waits_new(&parts, &tuned, &plan, f).renew_s, cm__waits_new(&parts, &whole, &plan, f).gather_s);
    assert_true(cm__waits_new(&parts, &tuned, &plan, f).gather_s > 100 * cm__waits_new(&parts, &whole, &plan, f).gather_s);
    cm_fabric_free(f);
    cm_device_free(d);
}

/* Among 8 replicas with --ep 4 only two have the same experts: these exchange and update them. */
static void experts(void **state)
{
    (void)state;
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    cm__part   all[3] = {{0}};
    cm__parts  parts = {.all = all, .count = 3, .weight_bytes = 2, .gradient_bytes = 4};
    cm_plan    plan = {.tp = 1, .cp = 1, .pp = 1, .dp = 8, .ep = 4, .interleave = 1, .accumulate = 1, .zero = 1};
    cm__stages st = {.parameters = 4e9, .experts = 3e9, .update_s = 1};
    cm__group  eight = {8, 8}, two = {2, 2};
    cm__waits  w = cm__waits_new(&parts, &st, &plan, f);
    is(w.scatter_s, cm__comm_time(f, CM__REDUCE_SCATTER, eight, 4e9) + cm__comm_time(f, CM__REDUCE_SCATTER, two, 12e9));
    is(w.gather_s, cm__comm_time(f, CM__ALL_GATHER, eight, 2e9) + cm__comm_time(f, CM__ALL_GATHER, two, 6e9));
    is(cm__iterate(&st, &w, &plan, true).update_s, 0.25 / 8 + 0.75 / 2);
    plan.zero = 0;
    is(cm__iterate(&st, &w, &plan, true).update_s, 1);
    plan = (cm_plan){.tp = 4, .cp = 1, .pp = 1, .dp = 2, .ep = 8, .interleave = 1, .accumulate = 1, .zero = 1};
    w = cm__waits_new(&parts, &st, &plan, f); /* every device has whole experts of its own */
    is(w.scatter_s, cm__comm_time(f, CM__REDUCE_SCATTER, (cm__group){2, 2}, 4e9));
    is(cm__iterate(&st, &w, &plan, true).update_s, 0.25 / 2 + 0.75);
    cm_fabric_free(f);
    cm_device_free(d);
}

static void dealt(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    /* first part 1 s, six layers of 1 s, last part 2 s: nine seconds are three per stage */
    cm__part  all[8] = {{.forward_s = 1}, {.forward_s = 1}, {.forward_s = 1}, {.forward_s = 1},
                        {.forward_s = 1}, {.forward_s = 1}, {.forward_s = 1}, {.forward_s = 2}};
    cm__parts parts = {.all = all, .count = 8, .host_bytes_s = 1};
    cm_plan   plan = {.tp = 1, .pp = 3, .dp = 1, .interleave = 1, .accumulate = 1};
    is(cm__stages_new(ctx, &parts, &plan, true).longest_s, 4);  /* two layers and the loss */
    is(cm__stages_new(ctx, &parts, &plan, false).longest_s, 3);
    is(cm__stages_new(ctx, &parts, &plan, false).sum_s, 9);
    cm__ctx_free(ctx);
}

/* FSDP gathers each layer by itself: the host takes a time for each, and bounds a stage with little work. */
static void gathered(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm__part  all[3] = {{.forward_s = 1, .host_s = 0.5, .units = 1}, {.forward_s = 1, .host_s = 0.5, .units = 9},
                        {.host_s = 0.5}};
    cm__parts parts = {.all = all, .count = 3, .host_bytes_s = 1, .unit_host_s = 0.25};
    cm_plan   plan = {.tp = 1, .pp = 1, .cp = 1, .dp = 2, .interleave = 1, .accumulate = 1, .zero = 2};
    is(cm__stages_new(ctx, &parts, &plan, true).longest_s, 2);
    plan.zero = 3;
    is(cm__stages_new(ctx, &parts, &plan, true).longest_s, 3 * 0.5 + 10 * 0.25);
    plan.dp = 1;
    is(cm__stages_new(ctx, &parts, &plan, true).longest_s, 2); /* nothing is sharded */
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipelines),
        cmocka_unit_test(replicas),
        cmocka_unit_test(dealt),
        cmocka_unit_test(frozen),
        cmocka_unit_test(experts),
        cmocka_unit_test(gathered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
