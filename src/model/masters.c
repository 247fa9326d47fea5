/* SPDX-License-Identifier: Apache-2.0 */
/* masters.c - the step of a trainer that stores fp32 shards of 16-bit weights. */
#include "model/masters.h"

#include "graph/plan/counts.h"
#include "graph/runtimes.h"
#include "model/chance.h"

static const cm_precision with_autocast[CM_PRECISIONS] = {[CM_PRECISION_BF16] = CM_PRECISION_AMP_BF16,
                                                          [CM_PRECISION_FP16] = CM_PRECISION_AMP_FP16};

/* Adapters beside frozen weights are fp32 or not whatever the trainer is (dtype= of --lora). */
static bool may_have_masters(const cm_step_options *o, const cm_plan *plan)
{
    const cm_train_options *train = &o->train;
    bool adapted = train->tuning.rank > 0 || train->tuning.quantize != CM_QUANTIZE_NONE;
    bool shards = plan->zero >= 2 && cm__replicas(plan) > 1;
    return cm__is_pytorch(o->runtime) && shards && with_autocast[train->precision] && !train->master && !train->inference &&
           !adapted;
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
    if (cm_memory_chance(use).verdict == CM_FITS) return CM_OK;
    cm_status status = masters->footprint ? CM_OK : build(masters, forward, footprint, options, diag);
    if (!status) status = cm_footprint_simulate(masters->footprint, batch, &wide, diag);
    if (status) return status;
    cm__add_alternative(use, CM_OPEN_SHARDS, "16-bit shards", "fp32 shards", &wide);
    if (wide.fits) return CM_OK;
    use->fits = use->sure = false;
    use->shortfall_bytes = wide.shortfall_bytes;
    return CM_OK;
}

void cm__masters_free(cm__masters *masters)
{
    cm_footprint_free(masters->footprint);
    cm_graph_free(masters->graph);
}
