/* SPDX-License-Identifier: Apache-2.0 */
/* found.c - predict one plan in full, exactly as `predict` does when it is given that plan. */
#include <math.h>
#include "model/execution/execution.h"
#include "model/question.h"
#include "plan/search.h"

static void free_graph(void *graph) { cm_graph_free(graph); }

/* The options that `predict` uses for a plan: ZeRO 2 and 3 may have other weights than other plans. */
static cm_train_options train_for(cm__ctx *ctx, const cm_device *device, const cm_train_options *train,
                                  const cm_plan *plan, cm_runtime runtime)
{
    cm_step_options o = {.train = *train, .runtime = runtime, .plan = *plan};
    o.train.recompute = CM_RECOMPUTE_NONE;
    cm__pass_on(ctx, cm_step_settle(NULL, device, &o, ctx->diag));
    return o.train;
}

static const cm_graph *step_of(cm__ctx *ctx, const cm_graph *forward, const cm_train_options *train, cm__plan_shared *shared)
{
    const cm_graph *found = shared ? cm__shared_graph(shared, forward, train) : NULL;
    cm_graph       *step;
    if (found) return found;
    cm__pass_on(ctx, cm_graph_train(forward, train, &step, ctx->diag));
    cm__defer(ctx, free_graph, step);
    return step;
}

cm__model *cm__model_for(cm__ctx *ctx, const cm_graph *forward, const cm_device *device, const cm_search_options *o,
                         cm__plan_shared *shared)
{
    cm_runtime       runtime = cm__runtime_on(device, o->runtime);
    cm_train_options plain = train_for(ctx, device, &o->train, &(cm_plan){0}, runtime);
    cm_train_options sharded = train_for(ctx, device, &o->train, &(cm_plan){.zero = 3}, runtime);
    cm__model       *m = cm__model_new(ctx, step_of(ctx, forward, &plain, shared), device, o->fabric, runtime);
    m->shared = shared;
    if (sharded.master != plain.master) {
        m->sharded = cm__model_new(ctx, step_of(ctx, forward, &sharded, shared), device, o->fabric, runtime);
        m->sharded->shared = shared;
    }
    return m;
}

/* The step of a plan; plans with the same weights and recomputation share one. */
static const cm_graph *step_with(cm__finding *f, const cm_train_options *train)
{
    const cm_graph **step = &f->steps[train->master][train->recompute];
    if (!*step) *step = step_of(f->ctx, f->forward, train, f->m->shared);
    return *step;
}

static cm_found found_of(const cm__finding *f, const cm_prediction_info *i, const cm_memory_use *use)
{
    double busy_s = i->step_time_s * i->devices * f->iterations;
    return (cm_found){.step_time_s = i->step_time_s,
                      .interval_s = {i->interval_s[0], i->interval_s[1]},
                      .throughput_samples_s = i->throughput_samples_s,
                      .mfu = i->mfu,
                      .peak_bytes = use->peak_bytes,
                      .communication_s = i->tensor_s + i->pipeline_s + i->data_s - i->hidden_s,
                      .bubble_s = i->bubble_s,
                      .training_s = i->step_time_s * f->iterations,
                      .cost_usd = busy_s * f->usd_s,
                      .energy_j = isnan(i->power_w) ? busy_s * f->watts
                                                    : i->step_time_s * f->iterations * i->power_w};
}

/* What other devices use for the same plan, unless the device has execution rules of its own. */
static cm__shared_step shared_for(const cm__finding *f, const cm_graph *step, const cm_plan *plan)
{
    cm__plan_shared *all = f->m->shared;
    cm__shared_step  shared = {.forward = f->forward, .graph = step};
    if (!all || cm__execution_applies(f->device, f->m->runtime)) return shared;
    shared.common = cm__shared_common(all, step, f->device, f->m->runtime, plan);
    shared.lean = cm__shared_lean(all, step);
    shared.like = cm__shared_memory(all, step, f->device, f->m->runtime, plan);
    return shared;
}

bool cm__find_plan(cm__finding *f, const cm_plan *plan, cm__outcome *out)
{
    const cm_train_options train = train_for(f->ctx, f->device, &f->o->train, plan, f->m->runtime);
    const cm_graph        *step = step_with(f, &train);
    const cm_step_options options = {.train = train, .runtime = f->m->runtime, .plan = *plan, .fabric = f->o->fabric};
    const cm__shared_step shared = shared_for(f, step, plan);
    cm_step              *on_device;
    cm__pass_on(f->ctx, cm__step_new_in(&shared, f->device, &options, &on_device, f->ctx->diag));
    cm_status status = cm_step_memory(on_device, plan->micro_batch, &out->use, f->ctx->diag);
    if (!status) status = cm_step_time(on_device, plan->micro_batch, &out->info, f->ctx->diag);
    cm_step_free(on_device);
    cm__pass_on(f->ctx, status);
    out->found = found_of(f, &out->info, &out->use);
    out->found.plan = *plan;
    out->found.plan.devices = out->info.devices;
    bool by_count = f->m->whole && out->info.style != CM_STYLE_KERNELS;
    return by_count ? out->info.devices <= f->o->devices : out->use.fits && out->use.sure;
}
