/* SPDX-License-Identifier: Apache-2.0 */
/* test_timing.c - layers at all places of a search have the same times however many threads time them. */
#include "plan_case.h"
#include "plan/timing.h"

#define EXPERTS "mixtral:layers=4,hidden=256,heads=8,kv_heads=8,ffn=512,seq=128,vocab=1024,experts=8,top_k=2"
#define WIDE "llama:layers=8,hidden=8192,heads=64,ffn=28672,seq=8192,vocab=32000"
#define DEVICES 16
#define PLACES_MAX 4096

typedef struct listing {
    cm__spot all[PLACES_MAX];
    int32_t  count;
} listing;

static void add(void *user, const cm_plan *plan)
{
    listing *l = user;
    assert_true(l->count < PLACES_MAX);
    l->all[l->count++] = (cm__spot){*plan, -1, -1};
}

static cm__model *timed(cm__ctx *ctx, const cm_graph *forward, const cm_device *device, const cm_search_options *o,
                        listing *places, int32_t share, int32_t shares)
{
    cm__model *m = cm__model_for(ctx, forward, device, o, cm__plan_shared_new(ctx));
    places->count = 0;
    cm__space(m, DEVICES, 64, add, places);
    cm__time_spots(ctx, &(cm__timing){.m = m, .forward = forward, .device = device, .o = o, .spots = places->all,
                                       .n_spots = places->count, .share = share, .shares = shares});
    return m;
}

static void same_cost(const cm__model *a, int32_t at_a, const cm__model *b, int32_t at_b)
{
    assert_true((at_a < 0 && at_a == at_b) || (at_a >= 0 && at_b >= 0));
    if (at_a < 0) return;
    const cm__cost *x = &a->costs[at_a], *y = &b->costs[at_b];
    assert_true(x->tp == y->tp && x->ep == y->ep && x->cp == y->cp && x->sequence == y->sequence);
    assert_true(x->samples == y->samples && x->kept_bytes == y->kept_bytes);
    assert_true(x->layer.forward_s == y->layer.forward_s && x->layer.backward_s == y->layer.backward_s);
    assert_true(x->layer.forward_comm_s == y->layer.forward_comm_s && x->last.backward_s == y->last.backward_s);
}

static listing one, many;

static void any_number_of_threads(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device        *device = a100();
    cm_fabric        *fabric = fabric_of(device);
    cm_graph         *forward = loaded(EXPERTS);
    cm_search_options o = {.devices = DEVICES, .global_batch = 64, .fabric = fabric, .threads = 1,
                           .train = {.precision = CM_PRECISION_AMP_BF16}};
    const cm__model  *a = timed(ctx, forward, device, &o, &one, 0, 1);
    o.threads = 4;
    const cm__model *b = timed(ctx, forward, device, &o, &many, 0, 1);
    int32_t          seen = 0;
    assert_int_equal(one.count, many.count);
    for (int32_t i = 0; i < one.count; i++) {
        same_cost(a, one.all[i].cost, b, many.all[i].cost);
        if (a->sharded) same_cost(a->sharded, one.all[i].sharded, b->sharded, many.all[i].sharded);
        if (one.all[i].cost < 0) continue;
        assert_int_equal(a->costs[one.all[i].cost].tp, one.all[i].plan.tp);
        assert_int_equal(a->costs[one.all[i].cost].ep, one.all[i].plan.ep);
        seen++;
    }
    assert_true(seen > 0 && a->n_costs == b->n_costs);
    cm_graph_free(forward);
    cm__ctx_free(ctx);
    cm_fabric_free(fabric);
    cm_device_free(device);
}

/* Two ranks time each place once. */
static void ranks_share_places(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device        *device = a100();
    cm_fabric        *fabric = fabric_of(device);
    cm_graph         *forward = loaded(EXPERTS);
    cm_search_options o = {.devices = DEVICES, .global_batch = 64, .fabric = fabric, .threads = 2,
                           .train = {.precision = CM_PRECISION_AMP_BF16}};
    timed(ctx, forward, device, &o, &one, 0, 2);
    timed(ctx, forward, device, &o, &many, 1, 2);
    for (int32_t i = 0; i < one.count; i++) assert_true((one.all[i].cost == -1) != (many.all[i].cost == -1));
    cm_graph_free(forward);
    cm__ctx_free(ctx);
    cm_fabric_free(fabric);
    cm_device_free(device);
}

/* Layers are timed where a plan fits, and there only. */
static void only_what_fits_is_timed(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device        *device = a100();
    cm_fabric        *fabric = fabric_of(device);
    cm_graph         *forward = loaded(WIDE);
    cm_search_options o = {.devices = DEVICES, .global_batch = 64, .fabric = fabric, .threads = 1,
                           .train = {.precision = CM_PRECISION_AMP_BF16}};
    cm__model        *m = timed(ctx, forward, device, &o, &one, 0, 1);
    int32_t           without = 0, fitting = 0;
    assert_non_null(m->sharded);
    for (int32_t i = 0; i < one.count; i++) {
        cm__best best = {0};
        if (one.all[i].cost < 0) continue;
        cm__evaluate(m, &one.all[i], 0, NULL, NULL, &best);
        bool whole = m->costs[one.all[i].cost].timed, shards = m->sharded->costs[one.all[i].sharded].timed;
        assert_true(whole || shards || !best.feasible);
        for (int32_t k = 0; k < best.count; k++) assert_true(best.list[k].plan.zero >= 2 ? shards : whole);
        without += !whole;
        fitting += best.feasible > 0;
    }
    assert_true(without > 0 && fitting > 0);
    cm_graph_free(forward);
    cm__ctx_free(ctx);
    cm_fabric_free(fabric);
    cm_device_free(device);
}

static listing fast;

/* The CM__KEPT fastest plans of all places, found by evaluating every place. */
static cm__best fastest_of(const cm__model *m, const listing *places)
{
    cm__best best = {0};
    for (int32_t i = 0; i < places->count; i++)
        if (places->all[i].cost >= 0) cm__evaluate(m, &places->all[i], 10000 * (uint64_t)i, NULL, NULL, &best);
    return best;
}

/* The same list, and the same number of plans that fit, although places that cannot have one of them are not timed. */
static void same_fastest(cm__ctx *ctx, const cm_graph *forward, const cm_device *device, const cm_search_options *o)
{
    static uint64_t  first[PLACES_MAX];
    const cm__model *all = timed(ctx, forward, device, o, &one, 0, 1);
    cm__best         want = fastest_of(all, &one), found = {0};
    cm__model       *m = cm__model_for(ctx, forward, device, o, cm__plan_shared_new(ctx));
    int32_t          slow = 0;
    fast.count = 0;
    cm__space(m, DEVICES, 64, add, &fast);
    for (int32_t i = 0; i < fast.count; i++) first[i] = 10000 * (uint64_t)i;
    cm__time_spots(ctx, &(cm__timing){.m = m, .forward = forward, .device = device, .o = o, .spots = fast.all,
                                       .n_spots = fast.count, .shares = 1, .fastest = &found, .first = first});
    for (int32_t i = 0; i < fast.count; i++) {
        slow += fast.all[i].slow;
        assert_false(fast.all[i].slow && fast.all[i].done);
        if (fast.all[i].cost >= 0 && !fast.all[i].done)
            cm__evaluate(m, &fast.all[i], first[i], NULL, NULL, &found);
    }
    assert_true(slow > 0 && found.count == CM__KEPT);
    for (int32_t i = 0; i < fast.count; i++)
        assert_true(!fast.all[i].slow || cm__least_step(m, &fast.all[i]) > found.list[CM__KEPT - 1].score);
    assert_true(found.evaluated == want.evaluated && found.feasible == want.feasible);
    for (int32_t i = 0; i < CM__KEPT; i++)
        assert_true(found.list[i].index == want.list[i].index && found.list[i].step_s == want.list[i].step_s);
}

/* No layer waits less for other devices than its sizes say. */
static void least_is_least(cm__ctx *ctx, const cm_graph *forward, const cm_device *device, const cm_search_options *o)
{
    const cm__model *m = timed(ctx, forward, device, o, &one, 0, 1);
    cm__model       *sizes = cm__model_for(ctx, forward, device, o, cm__plan_shared_new(ctx));
    int32_t          above = 0;
    for (int32_t i = 0; i < one.count; i++) {
        const cm__spot *place = &one.all[i];
        if (place->cost < 0 || !m->costs[place->cost].timed) continue;
        int32_t         at = cm__cost_sizes_at(sizes, &place->plan, place->plan.micro_batch, place->plan.cp);
        const cm__part *least = &sizes->costs[at].layer, *layer = &m->costs[place->cost].layer;
        assert_true(least->forward_comm_s <= layer->forward_comm_s * (1 + 1e-12));
        assert_true(least->backward_comm_s <= layer->backward_comm_s * (1 + 1e-12));
        above += least->forward_comm_s > 0;
    }
    assert_true(above > 0);
}

static void only_the_fastest(void **state)
{
    static const cm_runtime runtimes[] = {CM_RUNTIME_TORCH_EAGER, CM_RUNTIME_TORCH_COMPILE, CM_RUNTIME_MEGATRON};
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_device *device = a100();
    cm_fabric *fabric = fabric_of(device);
    cm_graph  *forward = loaded(EXPERTS);
    for (int i = 0; i < 3; i++) {
        cm_search_options o = {.devices = DEVICES, .global_batch = 64, .fabric = fabric, .threads = 1,
                               .runtime = runtimes[i], .train = {.precision = CM_PRECISION_AMP_BF16}};
        same_fastest(ctx, forward, device, &o);
        least_is_least(ctx, forward, device, &o);
        o.threads = 3;
        same_fastest(ctx, forward, device, &o);
    }
    cm_graph_free(forward);
    cm__ctx_free(ctx);
    cm_fabric_free(fabric);
    cm_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_number_of_threads), cmocka_unit_test(ranks_share_places),
                                       cmocka_unit_test(only_what_fits_is_timed), cmocka_unit_test(only_the_fastest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
