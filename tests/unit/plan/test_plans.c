/* SPDX-License-Identifier: Apache-2.0 */
/* test_plans.c - searches: their order, their objectives, and that threads do not change the result. */
#include "plan_case.h"
#include "plan/search.h"

static cm_search *searched(const cm_device *d, const cm_fabric *f, const cm_graph *forward, int32_t threads,
                           cm_objective objective)
{
    cm_search_options o = {.devices = 8, .global_batch = 32, .runtime = CM_RUNTIME_MEGATRON, .fabric = f,
                           .objective = objective,
                           .threads = threads, .train = {.precision = CM_PRECISION_FP16, .master = true}};
    cm_search        *s;
    if (cm_search_run(forward, d, &o, &s, &diag)) fail_msg("%s", diag.reason);
    return s;
}

/* Without attention, selective recomputation has nothing to recompute: such plans equal others and are not listed
   again. */
static void every_plan_gains_something(void **state)
{
    (void)state;
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    cm_graph  *forward = loaded("resnet18");
    cm_search *s = searched(d, f, forward, 1, CM_OBJECTIVE_THROUGHPUT);
    assert_true(cm_search_plans(s) > 1);
    for (int32_t i = 0; i < cm_search_plans(s); i++) {
        const cm_found *a = cm_search_plan(s, i);
        assert_true(a->plan.recompute != CM_RECOMPUTE_SELECTIVE);
        for (int32_t k = i + 1; k < cm_search_plans(s); k++) {
            const cm_found *b = cm_search_plan(s, k);
            assert_true(b->step_time_s > a->step_time_s || b->peak_bytes < a->peak_bytes);
        }
    }
    cm_search_free(s);
    cm_graph_free(forward);
    cm_fabric_free(f);
    cm_device_free(d);
}

/* The list of plans does not depend on the number of threads, and each plan is predicted as by cm_predict(). */
static void best_plan(void **state)
{
    (void)state;
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    cm_graph  *forward = loaded(GPT);
    cm_search *one = searched(d, f, forward, 1, CM_OBJECTIVE_THROUGHPUT);
    cm_search *four = searched(d, f, forward, 4, CM_OBJECTIVE_THROUGHPUT);
    assert_int_equal(cm_search_get_info(one)->evaluated, cm_search_get_info(four)->evaluated);
    assert_int_equal(cm_search_plans(one), cm_search_plans(four));
    assert_true(cm_search_plans(one) > 0);
    for (int32_t i = 0; i < cm_search_plans(one); i++) {
        const cm_found *a = cm_search_plan(one, i), *b = cm_search_plan(four, i);
        assert_true(a->step_time_s == b->step_time_s && a->plan.tp == b->plan.tp && a->plan.zero == b->plan.zero);
        assert_int_equal((int64_t)a->plan.tp * a->plan.cp * a->plan.pp * a->plan.dp, 8);
        assert_int_equal(a->plan.micro_batch * a->plan.accumulate * a->plan.dp, 32);
        if (i) assert_true(cm_search_plan(one, i - 1)->step_time_s <= a->step_time_s);
    }
    const cm_found    *best = cm_search_plan(one, 0);
    cm_graph          *step = step_of(GPT, best->plan.recompute);
    cm_prediction_info i = predicted(step, d, f, best->plan);
    is(best->step_time_s, i.step_time_s);
    assert_true(cm_search_plan(one, cm_search_plans(one)) == NULL);
    cm_graph_free(step);
    cm_search_free(one);
    cm_search_free(four);
    cm_graph_free(forward);
    cm_fabric_free(f);
    cm_device_free(d);
}

static void goals(void **state)
{
    (void)state;
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    cm_graph  *forward = loaded(GPT);
    cm_search *s = searched(d, f, forward, 1, CM_OBJECTIVE_DEVICES);
    assert_int_equal(cm_search_plan(s, 0)->plan.devices, 1);
    cm_search_free(s);
    s = searched(d, f, forward, 1, CM_OBJECTIVE_COST); /* a single device does not wait for others */
    assert_true(cm_search_plan(s, 0)->communication_s == 0);
    cm_search_free(s);
    volatile bool     stop = true;
    cm_search_options o = {.devices = 8, .global_batch = 32, .runtime = CM_RUNTIME_MEGATRON, .fabric = f, .stop = &stop,
                           .train = {.precision = CM_PRECISION_FP16}};
    assert_int_equal(cm_search_run(forward, d, &o, &s, &diag), CM_OK);
    assert_true(cm_search_get_info(s)->stopped && cm_search_plans(s) == 0);
    cm_search_free(s);
    o.global_batch = 0;
    assert_int_equal(cm_search_run(forward, d, &o, &s, &diag), CM_ERR_ARGUMENT);
    cm_graph_free(forward);
    cm_fabric_free(f);
    cm_device_free(d);
}

/* A copy of GPT-2 XL needs 32 Bow IPUs if the compiler chooses, and Emani et al. 2024 ran it on four; Llama 2 13B does
   not fit one Gaudi 2, whose best plan shards weights. Without pipelines the search found no plan for the IPUs. */
static void machines_with_an_execution_model_take_stages(void **state)
{
    (void)state;
    static const struct { const char *device, *model; } cases[] = {
        {"graphcore-bow", "gpt2-xl"}, {"habana-gaudi2", "llama2-13b"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_device *d;
        cm_fabric *f;
        cm_graph  *forward;
        cm_search *s;
        if (cm_device_load(cases[i].device, &d, &diag) || cm_fabric_new(d, NULL, &f, &diag) ||
            cm_graph_load(cases[i].model, NULL, &forward, &diag))
            fail_msg("%s", diag.reason);
        cm_search_options o = {.devices = 8, .global_batch = 128, .fabric = f, .threads = 1,
                               .train = {.precision = CM_PRECISION_AMP_FP16}};
        if (i) o.train.precision = CM_PRECISION_AMP_BF16;
        assert_int_equal(cm_search_run(forward, d, &o, &s, &diag), CM_OK);
        assert_true(cm_search_plans(s) > 0);
        const cm_plan *best = &cm_search_plan(s, 0)->plan;
        assert_true(best->devices == 8 && (best->pp * best->tp > 1 || best->zero == 3));
        cm_search_free(s);
        cm_graph_free(forward);
        cm_fabric_free(f);
        cm_device_free(d);
    }
}

/* Samples of several lengths: every plan is predicted as cm_step_predict() does. */
#define LONGER "gpt:layers=4,hidden=3072,heads=24,seq=2048,vocab=1024" /* bound by the device */
static void plans_of_varied_lengths(void **state)
{
    (void)state;
    cm_device        *d = a100();
    cm_fabric        *f = fabric_of(d);
    cm_graph         *forward = loaded(LONGER);
    cm_load_options   load = {.tokens = (double)cm_graph_seq(forward) / 4};
    cm_search_options o = {.devices = 8, .global_batch = 32, .fabric = f, .threads = 1, .model = LONGER, .load = load,
                           .runtime = CM_RUNTIME_TORCH_EAGER, .train = {.precision = CM_PRECISION_AMP_BF16}};
    cm_search        *s, *longest;
    if (cm_search_run(forward, d, &o, &s, &diag)) fail_msg("%s", diag.reason);
    o.load.tokens = 0;
    if (cm_search_run(forward, d, &o, &longest, &diag)) fail_msg("%s", diag.reason);
    assert_true(cm_search_plans(s) > 2);
    assert_true(cm_search_plan(s, 0)->step_time_s < cm_search_plan(longest, 0)->step_time_s);
    for (int32_t i = 0; i < cm_search_plans(s); i++) {
        const cm_found    *found = cm_search_plan(s, i);
        cm_step_options    alone = {.load = load, .train = o.train, .runtime = o.runtime, .plan = found->plan, .fabric = f};
        cm_prediction_info info;
        cm_step           *step;
        alone.train.recompute = found->plan.recompute;
        alone.train.recompute_layers = found->plan.recompute_layers;
        if (cm_step_new(LONGER, d, &alone, &step, &diag)) fail_msg("%s", diag.reason);
        assert_int_equal(cm_step_time(step, found->plan.micro_batch, &info, NULL), CM_OK);
        assert_true(fabs(info.step_time_s / found->step_time_s - 1) < 1e-9);
        if (i) assert_true(cm_search_plan(s, i - 1)->step_time_s <= found->step_time_s);
        cm_step_free(step);
    }
    o.load.tokens = load.tokens;
    o.model = NULL;
    cm_search_free(s);
    assert_int_equal(cm_search_run(forward, d, &o, &s, &diag), CM_ERR_ARGUMENT);
    cm_search_free(longest);
    cm_graph_free(forward);
    cm_fabric_free(f);
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_with_an_execution_model_take_stages),
        cmocka_unit_test(every_plan_gains_something),
        cmocka_unit_test(best_plan),
        cmocka_unit_test(goals),
        cmocka_unit_test(plans_of_varied_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
