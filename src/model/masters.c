/* SPDX-License-Identifier: Apache-2.0 */
/* masters.c - the step of a trainer that stores fp32 shards of 16-bit weights. */
#include "model/masters.h"

#include "graph/plan_counts.h"
#include "graph/runtimes.h"

static const cm_precision with_autocast[CM_PRECISIONS] = {[CM_PRECISION_BF16] = CM_PRECISION_AMP_BF16,
                                                          [CM_PRECISION_FP16] = CM_PRECISION_AMP_FP16};

/* Adapters beside frozen weights are fp32 or not whatever the trainer is (dtype= of --lora). */
static bool may_have_masters(const cm_step_options *o, const cm_plan *plan)
{
    const cm_train_options *train = &o->train;
    bool adapted = train->tuning.rank > 0 || train->tuning.quantize != CM_QUANTIZE_NONE;
    bool shards = plan->zero >= 2 && cm__replicas(plan) > 1;
    return cm__is_pytorch(o->runtime) && shards && with_autocast[train->precision] && !train->inference && !adapted;
}

static cm_status build(cm__masters *m, const cm_graph *forward, const cm_footprint *f, const cm_step_options *o,
                       cm_diag *diag)
{
    cm_train_options train = o->train;
    train.precision = with_autocast[train.precision];
    train.master = true;
    cm_status status = m->graph ? CM_OK : cm_graph_train(forward, &train, &m->graph, diag);
    return status ? status : cm_footprint_new(m->graph, f->device, &f->options, &m->footprint, diag);
}

cm_status cm__masters_use(cm__masters *masters, const cm_graph *forward, const cm_footprint *footprint,
                          const cm_step_options *options, int64_t batch, cm_memory_use *use, cm_diag *diag)
{
    const cm_plan *plan = &footprint->options.plan;
    cm_memory_use  wide;
    if (!forward || !may_have_masters(options, plan)) return CM_OK;
    if (cm_memory_chance(use, plan->devices).probability >= CM_SURE) return CM_OK;
    cm_status status = masters->footprint ? CM_OK : build(masters, forward, footprint, options, diag);
    if (!status) status = cm_footprint_simulate(masters->footprint, batch, &wide, diag);
    if (status || wide.fits) return status;
    use->most_bytes = wide.peak_bytes;
    use->shortfall_bytes = wide.shortfall_bytes;
    use->sure = false;
    use->fits = cm_memory_chance(use, plan->devices).probability >= 0.5;
    if (use->fits) use->shortfall_bytes = 0;
    return CM_OK;
}

void cm__masters_free(cm__masters *masters)
{
    cm_footprint_free(masters->footprint);
    cm_graph_free(masters->graph);
}
