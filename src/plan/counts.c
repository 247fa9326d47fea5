/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts.c - the best plan in common use for each of several device counts, in one thread.
 *
 * The times of layers depend on the tensor-parallel size and the micro-batch, not on the number of devices. The model
 * keeps them, so that all counts share them. Only the best plan of each count is predicted in full.
 */
#include <math.h>
#include "base/text.h"
#include "plan/search.h"

#define TRIED 8 /* plans predicted in full on devices that run whole graphs, whose plans have no estimate */
#define TRIED_NATIVE 3 /* the same where execution rules decide the time, and kernel by kernel only estimates it */
#define TRIED_KERNELS 3 /* estimates are within a few percent of predictions */
#define SHARDING 0.01 /* a stage of ZeRO is used if it makes the step shorter by more than this, or if memory needs it */

typedef struct counting {
    cm__ctx   *ctx;
    cm__model *m;
    cm__best   best;
    uint64_t   index;
    int32_t    places;
    bool       native; /* the device runs operator by operator, by its own execution rules */
} counting;

/* True: not even one layer of one micro-batch fits. */
static bool too_large(cm__model *m, const cm_plan *p)
{
    int32_t one = cm__cost_at(m, p, 1, 1);
    bool    here = m->costs[one].kept_bytes * (double)p->micro_batch / p->cp > m->capacity_bytes;
    return here && p->recompute != CM_RECOMPUTE_FULL && (!m->sharded || too_large(m->sharded, p));
}

/* Predicted times that are so close do not decide which plan is faster. Plain replicas are preferred then: sharding has
   costs in scripts, checkpoints and hooks that are not predicted. */
static double preference(void *unused, const cm_plan *p, double step_s)
{
    (void)unused;
    return step_s * (1 + SHARDING * p->zero);
}

static void visit(void *user, const cm_plan *plan)
{
    counting *c = user;
    cm__spot  place = {*plan, -1, -1};
    c->places++;
    if (!c->m->whole && too_large(c->m, plan)) return;
    place.cost = cm__cost_at(c->m, plan, plan->micro_batch, plan->cp);
    if (c->m->sharded) place.sharded = cm__cost_at(c->m->sharded, plan, plan->micro_batch, plan->cp);
    cm__evaluate(c->m, &place, c->index, preference, NULL, &c->best);
    c->index += cm__plans_at(c->m, plan);
}

static const char *reason_of(const counting *c, int32_t devices, int64_t global_batch)
{
    char least[32];
    if (!c->places)
        return cm__format(c->ctx, "no plan divides the model and a global batch of %lld among %d devices",
                          (long long)global_batch, devices);
    if (!(c->best.least_bytes > 0)) return "no plan fits the memory";
    return cm__format(c->ctx, "no plan fits: the smallest needs %sB per device",
                      cm__binary(least, sizeof least, c->best.least_bytes));
}

/* A plan of the list whose time is predicted, and whose memory is not known yet. */
typedef struct timed_plan {
    int32_t            at; /* in the list of the best estimates */
    cm_prediction_info info;
} timed_plan;

/* True: a plan that needs no more memory has been found not to fit: one of the same kind with a smaller estimate. */
static bool hopeless(const counting *c, const bool *failed, int32_t at)
{
    const cm__scored *x = &c->best.list[at];
    for (int32_t i = 0; i < c->best.count; i++) {
        const cm__scored *f = &c->best.list[i];
        bool              same = f->plan.recompute == x->plan.recompute && f->plan.zero == x->plan.zero &&
                    f->plan.recompute_layers == x->plan.recompute_layers;
        if (failed[i] && same && f->peak_bytes <= x->peak_bytes) return true;
    }
    return false;
}

static bool better(const cm_plan *a, double a_s, const cm_plan *b, double b_s)
{
    return preference(NULL, a, a_s) < preference(NULL, b, b_s);
}

static int32_t best_of(const timed_plan *plans, int32_t count)
{
    int32_t best = 0;
    for (int32_t i = 1; i < count; i++) {
        const cm_prediction_info *x = &plans[i].info, *y = &plans[best].info;
        if (better(&x->plan, x->step_time_s, &y->plan, y->step_time_s)) best = i;
    }
    return best;
}

/* Removes plans that cannot fit, since another one did not. Returns the number of the others. */
static int32_t drop_hopeless(const counting *c, const bool *failed, timed_plan *plans, int32_t count)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < count; i++)
        if (!hopeless(c, failed, plans[i].at)) plans[kept++] = plans[i];
    return kept;
}

/* Times the plans of the best estimates, and computes the memory of the best one only, until one fits: memory takes
   twice as long as time. */
static void predict_best(counting *c, cm__finding *finding, cm__count *count)
{
    timed_plan plans[TRIED_KERNELS];
    bool       failed[CM__KEPT] = {false};
    for (int32_t next = 0, timed = 0; !count->fits;) {
        for (; timed < TRIED_KERNELS && next < c->best.count; next++) {
            if (hopeless(c, failed, next)) continue;
            plans[timed].at = next;
            cm__time_plan(finding, &c->best.list[next].plan, &plans[timed++].info);
        }
        if (!timed) return;
        const timed_plan *x = &plans[best_of(plans, timed)];
        count->fits = cm__find_plan(finding, &c->best.list[x->at].plan, &x->info, &count->best);
        failed[x->at] = !count->fits;
        timed = drop_hopeless(c, failed, plans, timed);
    }
}

/* Predicts several plans of devices that have no estimates, or only rough ones. */
static void predict_several(counting *c, cm__finding *finding, cm__count *count)
{
    int32_t enough = c->m->whole ? TRIED : TRIED_NATIVE;
    bool    failed[CM__KEPT] = {false};
    for (int32_t i = 0, fitting = 0; i < c->best.count && fitting < enough; i++) {
        cm__outcome out;
        if (!c->m->whole && hopeless(c, failed, i)) continue;
        failed[i] = !cm__find_plan(finding, &c->best.list[i].plan, NULL, &out);
        if (failed[i]) continue;
        fitting++;
        const cm_found *x = &out.found, *y = &count->best.found;
        if (!count->fits || better(&x->plan, x->step_time_s, &y->plan, y->step_time_s)) count->best = out;
        count->fits = true;
    }
}

void cm__search_counts(cm__ctx *ctx, const cm_graph *forward, const cm_device *device, const cm_search_options *options,
                       cm__plan_shared *shared, cm__count *counts, int32_t n_counts)
{
    cm__ctx          *scratch = cm__scratch_new(ctx);
    counting          c = {.ctx = ctx, .m = cm__model_for(scratch, forward, device, options, shared)};
    cm_search_options o = *options;
    cm__finding       finding = {.ctx = scratch, .o = &o, .forward = forward, .device = device, .m = c.m,
                                 .iterations = 1, .usd_s = NAN, .watts = NAN};
    c.native = cm__model_runs_operators(c.m);
    for (cm__model *m = c.m; m; m = m->sharded) m->usual = true;
    for (int32_t i = 0; i < n_counts; i++) {
        c.best = (cm__best){0};
        c.places = 0;
        c.index = 0;
        o.devices = counts[i].devices;
        cm__plan_needs(ctx, o.fabric, o.devices);
        cm__space(c.m, o.devices, o.global_batch, visit, &c);
        if (c.m->whole || c.native) predict_several(&c, &finding, &counts[i]);
        else predict_best(&c, &finding, &counts[i]);
        if (!counts[i].fits) counts[i].reason = reason_of(&c, o.devices, o.global_batch);
    }
    cm__scratch_free(scratch);
}
