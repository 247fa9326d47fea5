/* SPDX-License-Identifier: Apache-2.0 */
/* test_space.c - the places of a plan search: all of them, each once, in a fixed order. */
#include "plan_case.h"
#include "plan/search.h"

typedef struct visited {
    cm_plan plans[2000];
    int32_t count;
} visited;

static void note(void *user, const cm_plan *plan)
{
    visited *v = user;
    assert_in_range(v->count, 0, 1999);
    v->plans[v->count++] = *plan;
}

static int32_t divisors(int64_t n)
{
    int32_t count = 0;
    for (int64_t d = 1; d <= n; d++) count += n % d == 0;
    return count;
}

/* Devices that run whole graphs: dp divides devices and batch, and the micro-batch divides a replica's samples. */
static void whole_graphs(void **state)
{
    (void)state;
    static visited v;
    cm__model      m = {.whole = true};
    v.count = 0;
    cm__space(&m, 8, 12, note, &v);
    assert_int_equal(v.count, divisors(12) + divisors(6) + divisors(3)); /* 1, 2 and 4 copies; 8 do not divide 12 */
    for (int32_t i = 0; i < v.count; i++) {
        const cm_plan *p = &v.plans[i];
        assert_int_equal(p->dp * p->micro_batch * p->accumulate, 12);
        assert_true(p->tp == 1 && p->pp == 1 && p->cp == 1);
    }
}

/* Every place multiplies out to all devices and to the global batch, its sizes divide heads, tokens and layers, and no
   place is listed twice. */
static void products(void **state)
{
    (void)state;
    static visited v, again;
    cm__ctx       *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    cm_graph  *step = step_of(GPT, CM_RECOMPUTE_NONE);
    cm__model *m = cm__model_new(ctx, step, d, f, CM_RUNTIME_MEGATRON);
    assert_int_equal(m->layers, 4);
    assert_int_equal(m->heads, 8);
    assert_int_equal(m->tokens, 128);
    v.count = again.count = 0;
    cm__space(m, 8, 16, note, &v);
    cm__space(m, 8, 16, note, &again);
    assert_true(v.count > 100 && v.count == again.count);
    assert_memory_equal(v.plans, again.plans, (size_t)v.count * sizeof *v.plans);
    bool three = false, some = false;
    for (int32_t i = 0; i < v.count; i++) {
        const cm_plan *p = &v.plans[i];
        assert_int_equal(p->tp * p->cp * p->pp * p->dp, 8);
        assert_int_equal(p->micro_batch * p->accumulate * p->dp, 16);
        assert_true(8 % p->tp == 0 && 128 % p->cp == 0 && 4 % p->pp == 0 && p->ep == 1);
        if (p->sequence_parallel) assert_true(p->tp > 1);
        for (int32_t k = 0; k < i; k++) assert_memory_not_equal(p, &v.plans[k], sizeof *p);
        /* quarters of the four layers, the same number in every stage; all of them is no number */
        assert_true(p->recompute_layers < 4 && p->recompute_layers % p->pp == 0);
        if (p->recompute_layers) assert_true(p->recompute == CM_RECOMPUTE_FULL);
        some |= p->pp == 2 && p->recompute_layers == 2;
        three |= p->tp == 2 && p->pp == 2 && p->dp == 2 && p->recompute == CM_RECOMPUTE_FULL;
    }
    assert_true(three && some);
    v.count = 0;
    cm__space(m, 7, 16, note, &v); /* 7 divides neither heads, tokens, layers nor the batch */
    assert_int_equal(v.count, 0);
    cm_graph_free(step);
    cm__ctx_free(ctx);
    cm_fabric_free(f);
    cm_device_free(d);
}

typedef struct most {
    int32_t tp, cp, pp;
    int64_t micro_batch;
} most;

static void note_most(void *user, const cm_plan *plan)
{
    most *seen = user;
    if (plan->tp > seen->tp) seen->tp = plan->tp;
    if (plan->cp > seen->cp) seen->cp = plan->cp;
    if (plan->pp > seen->pp) seen->pp = plan->pp;
    if (plan->micro_batch > seen->micro_batch) seen->micro_batch = plan->micro_batch;
}

static most most_of(cm__model *m, int64_t tokens, int64_t global_batch)
{
    most seen = {0};
    m->tokens = tokens;
    cm__space(m, 8, global_batch, note_most, &seen);
    return seen;
}

/* docs/plans.md: context parallelism halves sequences while a device has 32,768 tokens or more, and a micro-batch of
   several samples has at most 16,384 tokens, or 1,024 samples that are no sequences. */
static void usual_plans_have_limits(void **state)
{
    static const struct {
        int64_t tokens;
        int32_t cp;
    } lengths[] = {{128, 1}, {32766, 1}, {32768, 2}, {65532, 2}, {65536, 4}, {131068, 4}, {131072, 8}};
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    cm_graph  *step = step_of(GPT, CM_RECOMPUTE_NONE);
    cm__model *m = cm__model_new(ctx, step, d, f, CM_RUNTIME_MEGATRON);
    m->usual = true;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        assert_int_equal(most_of(m, lengths[i].tokens, 8).cp, lengths[i].cp);
    assert_int_equal(most_of(m, 4096, 4096).micro_batch, 4);
    assert_int_equal(most_of(m, 16384, 4096).micro_batch, 1);
    assert_int_equal(most_of(m, 32768, 4096).micro_batch, 1);
    assert_int_equal(most_of(m, 1, 1 << 14).micro_batch, 1024);
    m->usual = false;
    assert_int_equal(most_of(m, 2, 8).cp, 1); /* every device has two tokens at least */
    assert_int_equal(most_of(m, 4, 8).cp, 2);
    assert_int_equal(most_of(m, 16, 8).cp, 8);
    assert_int_equal(most_of(m, 16, 8).micro_batch, 8);
    cm_graph_free(step);
    cm__ctx_free(ctx);
    cm_fabric_free(f);
    cm_device_free(d);
}

/* A pipeline of whole graphs has as many micro-batches as stages or more, and as many stages as layers or fewer. */
static void pipelines_of_whole_graphs(void **state)
{
    (void)state;
    static visited v;
    bool           longest = false;
    cm__model      m = {.whole = true, .pipelines = true, .layers = 4};
    v.count = 0;
    cm__space(&m, 8, 4, note, &v);
    for (int32_t i = 0; i < v.count; i++) {
        const cm_plan *p = &v.plans[i];
        assert_true(p->pp <= 4 && (p->pp == 1 || p->accumulate >= p->pp));
        longest |= p->pp == 4 && p->accumulate == 4;
    }
    assert_true(longest);
}

/* Tensor parallelism stays within a node, or within the four chips of a TPU's host, which have no pipelines; GPUs have 16
   stages at most. */
static void usual_plans_know_nodes(void **state)
{
    static const struct {
        const char *cluster;
        bool        native;
        int32_t     tp, pp;
    } cases[] = {{"node=4,net=800Gb", false, 4, 16}, {"node=1,net=800Gb", true, 4, 1}, {"node=2,net=800Gb", true, 2, 1}};
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d = a100();
    cm_graph  *step = step_of(GPT, CM_RECOMPUTE_NONE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_fabric *f;
        if (cm_fabric_new(d, cases[i].cluster, &f, &diag)) fail_msg("%s", diag.reason);
        cm__model *m = cm__model_new(ctx, step, d, f, CM_RUNTIME_MEGATRON);
        most       seen = {0};
        m->usual = true;
        m->native = cases[i].native;
        m->layers = 32;
        cm__space(m, 32, 32, note_most, &seen);
        assert_int_equal(seen.tp, cases[i].tp);
        assert_int_equal(seen.pp, cases[i].pp);
        cm_fabric_free(f);
    }
    cm_graph_free(step);
    cm__ctx_free(ctx);
    cm_device_free(d);
}

/* Groups of experts divide replicas and experts: of six, not four. Full recomputation of five layers repeats 2, 3 or 4
   of them, or all. */
static void experts_and_layers_are_divided(void **state)
{
    (void)state;
    static visited v;
    uint32_t       groups = 0, layers = 0;
    cm__ctx       *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *d = a100();
    cm_fabric *f = fabric_of(d);
    cm_graph  *step = step_of(GPT, CM_RECOMPUTE_NONE);
    cm__model *m = cm__model_new(ctx, step, d, f, CM_RUNTIME_MEGATRON);
    m->usual = true;
    m->experts = 6;
    m->layers = 5;
    v.count = 0;
    cm__space(m, 12, 12, note, &v);
    for (int32_t i = 0; i < v.count; i++) {
        assert_int_equal(v.plans[i].dp % v.plans[i].ep, 0);
        groups |= 1u << v.plans[i].ep;
        if (v.plans[i].pp == 1) layers |= 1u << v.plans[i].recompute_layers;
    }
    assert_int_equal(groups, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 6);
    assert_int_equal(layers, 1 << 0 | 1 << 2 | 1 << 3 | 1 << 4);
    cm_graph_free(step);
    cm__ctx_free(ctx);
    cm_fabric_free(f);
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_graphs), cmocka_unit_test(products),
                                       cmocka_unit_test(usual_plans_have_limits),
                                       cmocka_unit_test(pipelines_of_whole_graphs),
                                       cmocka_unit_test(usual_plans_know_nodes),
                                       cmocka_unit_test(experts_and_layers_are_divided)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
