/* SPDX-License-Identifier: Apache-2.0 */
/* found.c - predict one plan in full, exactly as `predict` does when it is given that plan. */
#include <math.h>
#include "graph/plan/counts.h"
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
    o.train.recompute_layers = 0;
    cm__pass_on(ctx, cm_step_settle(NULL, device, &o, ctx->diag));
    return o.train;
}

static const cm_graph *step_of(cm__ctx *ctx, const cm_graph *forward, const cm_train_options *train,
                               cm__plan_shared *shared)
{
    const cm_graph *found = shared ? cm__shared_graph(shared, forward, train) : NULL;
    cm_graph       *step;
    if (found) return found;
    cm__pass_on(ctx, cm_graph_train(forward, train, &step, ctx->diag));
    cm__defer(ctx, free_graph, step);
    return step;
}

static cm__model *model_with(cm__ctx *ctx, const cm_graph *step, const cm_device *device, const cm_search_options *o,
                             cm_runtime runtime, cm__plan_shared *shared)
{
    const cm__model *known = shared ? cm__shared_model(shared, step, runtime) : NULL;
    cm__model       *m = known ? cm__model_on(ctx, known, device, o->fabric)
                               : cm__model_new(ctx, step, device, o->fabric, runtime);
    m->shared = shared;
    m->async_tensor = o->async_tensor;
    return m;
}

cm__model *cm__model_for(cm__ctx *ctx, const cm_graph *forward, const cm_device *device, const cm_search_options *o,
                         cm__plan_shared *shared)
{
    cm_runtime       runtime = cm__runtime_on(device, o->runtime);
    cm_train_options plain = train_for(ctx, device, &o->train, &(cm_plan){0}, runtime);
    cm_train_options sharded = train_for(ctx, device, &o->train, &(cm_plan){.zero = 3}, runtime);
    cm__model       *m = model_with(ctx, step_of(ctx, forward, &plain, shared), device, o, runtime, shared);
    if (sharded.master != plain.master)
        m->sharded = model_with(ctx, step_of(ctx, forward, &sharded, shared), device, o, runtime, shared);
    if (m->sharded) m->sharded->timer = m->timer;
    return m;
}

bool cm__model_runs_operators(cm__model *m)
{
    bool native = m->whole && cm_device_get_info(m->device)->style == CM_STYLE_KERNELS;
    for (; native && m; m = m->sharded) {
        m->usual = m->native = true;
        m->whole = false;
    }
    return native;
}

/* The step of a plan; plans with the same weights and recomputation share one. */
static const cm_graph *step_with(cm__finding *f, const cm_train_options *train)
{
    for (int32_t i = 0; i < f->n_steps; i++) {
        const cm__plan_step *s = &f->steps[i];
        if (s->master == train->master && s->recompute == train->recompute && s->layers == train->recompute_layers)
            return s->graph;
    }
    f->steps = cm__grow(f->ctx, f->steps, f->n_steps, &f->cap_steps, sizeof *f->steps);
    f->steps[f->n_steps] = (cm__plan_step){step_of(f->ctx, f->forward, train, f->m->shared), train->master,
                                           train->recompute, train->recompute_layers};
    return f->steps[f->n_steps++].graph;
}

static cm_found found_of(const cm__finding *f, const cm_graph *step, const cm_prediction_info *i,
                         const cm_memory_use *use)
{
    double busy_s = i->step_time_s * i->devices * f->iterations;
    return (cm_found){.step_time_s = i->step_time_s,
                      .interval_s = {i->interval_s[0], i->interval_s[1]},
                      .throughput_samples_s = i->throughput_samples_s,
                      .mfu = i->mfu,
                      .peak_bytes = use->peak_bytes,
                      .chance = cm_memory_chance(use),
                      .communication_s = i->tensor_s + i->pipeline_s + i->data_s - i->hidden_s,
                      .bubble_s = i->bubble_s,
                      .storage = cm_graph_storage(step),
                      .training_s = i->step_time_s * f->iterations,
                      .cost_usd = busy_s * f->usd_s,
                      .energy_j = isnan(i->power_w) ? busy_s * f->watts
                                                    : i->step_time_s * f->iterations * i->power_w};
}

typedef struct wanting {
    const cm__finding *f;
    const cm_graph    *step;
    const cm_plan     *plan;
} wanting;

static const cm__common *find_common(void *user)
{
    const wanting *w = user;
    return cm__shared_common(w->f->m->shared, w->step, w->f->device, w->f->m->runtime, w->plan);
}

/* The values that other devices use for the same plan. Devices with execution rules of their own have no kernel
   calls. Those that divide batches themselves have the memory of one chip, whatever the plan is. */
static cm__shared_step shared_for(wanting *w)
{
    const cm__finding *f = w->f;
    cm__plan_shared   *all = f->m->shared;
    cm__shared_step    shared = {.forward = f->forward, .graph = w->step, .model = f->o->model};
    cm_plan            one_chip = {0};
    if (!all) return shared;
    cm__plan_fill(f->ctx, &one_chip);
    bool divides = cm__divides_batches(f->device, f->m->runtime);
    shared.like = cm__shared_memory(all, w->step, f->device, f->m->runtime, divides ? &one_chip : w->plan);
    if (cm_device_get_info(f->device)->style != CM_STYLE_KERNELS) return shared;
    if (cm__execution_applies(f->device, f->m->runtime)) return shared;
    shared.find_common = find_common;
    shared.user = w;
    shared.open_script = cm__shared_script(all, w->step);
    return shared;
}

/* True: the tensors alone exceed the memory, so that the allocator need not be simulated. A workspace of a convolution
   may be refused instead. */
static bool surely_exceeds(const cm_step *step, const cm_plan *plan)
{
    cm_memory_use use;
    if (cm__facts_of(cm_step_graph(step)).convolves) return false;
    cm_footprint_at(cm_step_footprint(step), plan->micro_batch, &use);
    return !use.fits;
}

/* The time of a plan that does not fit is not needed. known: the time, if it has been predicted before; NULL: not. */
static cm_status predict(cm__finding *f, cm_step *step, const cm_plan *plan, bool by_count,
                         const cm_prediction_info *known, cm__outcome *out)
{
    out->use.fits = false;
    if (!by_count && surely_exceeds(step, plan)) return CM_OK;
    cm_status status = by_count ? cm_step_memory(step, plan->micro_batch, &out->use, f->ctx->diag)
                                : cm__step_sure_memory(step, plan->micro_batch, &out->use, f->ctx->diag);
    if (status || !(by_count || out->use.fits)) return status;
    if (known) out->info = *known;
    return known ? CM_OK : cm_step_time(step, plan->micro_batch, &out->info, f->ctx->diag);
}

bool cm__time_plan(cm__finding *f, const cm_plan *plan, cm_prediction_info *info)
{
    const cm_train_options   train = train_for(f->ctx, f->device, &f->o->train, plan, f->m->runtime);
    wanting                  wanted = {f, step_with(f, &train), plan};
    const cm_predict_options o = {.batch = plan->micro_batch, .runtime = f->m->runtime, .plan = *plan,
                                  .layout = f->device->layout, .fabric = f->o->fabric};
    cm_prediction           *prediction;
    if (cm__execution_applies(f->device, f->m->runtime)) return false;
    cm__pass_on(f->ctx, cm__predict_in(wanted.step, f->device, &o, &(cm__prepared){.no_operators = true},
                                       f->m->shared ? find_common(&wanted) : NULL, &prediction, f->ctx->diag));
    *info = *cm_prediction_get_info(prediction);
    info->loading.dataset = info->loading.host = NULL; /* owned by the prediction */
    cm_prediction_free(prediction);
    return true;
}

/* Memory takes longer to find than time. */
static bool is_too_slow(cm__finding *f, const cm_plan *plan)
{
    cm_prediction_info info;
    return f->slowest_s > 0 && cm__time_plan(f, plan, &info) && info.step_time_s >= f->slowest_s;
}

bool cm__find_plan(cm__finding *f, const cm_plan *plan, const cm_prediction_info *known, cm__outcome *out)
{
    if (!known && is_too_slow(f, plan)) return false;
    const cm_train_options train = train_for(f->ctx, f->device, &f->o->train, plan, f->m->runtime);
    const cm_graph        *step = step_with(f, &train);
    const cm_step_options options = {.load = f->o->load, .train = train, .runtime = f->m->runtime, .plan = *plan,
                                     .layout = f->device->layout, .fabric = f->o->fabric};
    wanting               wanted = {f, step, plan};
    const cm__shared_step shared = shared_for(&wanted);
    bool     by_count = f->m->whole && cm_device_get_info(f->device)->style != CM_STYLE_KERNELS;
    cm_step *on_device;
    cm__pass_on(f->ctx, cm__step_new_in(&shared, f->device, &options, &on_device, f->ctx->diag));
    cm_status status = predict(f, on_device, plan, by_count, known, out);
    cm_step_free(on_device);
    if (by_count && status == CM_ERR_FIT) return false; /* the chips of a copy do not hold one sample's step */
    cm__pass_on(f->ctx, status);
    if (!by_count && !out->use.fits) return false;
    out->found = found_of(f, step, &out->info, &out->use);
    out->found.plan = *plan;
    out->found.plan.devices = out->info.devices;
    return !by_count || out->info.devices <= f->o->devices;
}
