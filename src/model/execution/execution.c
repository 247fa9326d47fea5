/* SPDX-License-Identifier: Apache-2.0 */
/* execution.c - choose the rule for a device's execution model, and the parts that all rules share. */
#include "model/execution/execution.h"

#include <math.h>
#include "base/text.h"
#include "device/number.h"
#include "graph/runtimes.h"
#include "model/step/sparsity.h"
#include "model/time/factors.h"

/* log error for a device without fitted parameters: in one of three cases more than a factor of two */
#define ERROR_UNKNOWN 0.7

static const struct {
    cm__execution_rule *rule;
    bool                reaches_near; /* `memory` is a fraction of the bandwidth to activations, otherwise to weights */
    bool                divides;      /* it divides batches into micro-batches itself */
} execution_models[CM_STYLES] = {
    [CM_STYLE_KERNELS] = {cm__execution_kernels, true, false},
    [CM_STYLE_SECTIONS] = {cm__execution_sections, false, false},
    [CM_STYLE_BSP] = {cm__execution_bsp, true, true},
    [CM_STYLE_STREAMING] = {cm__execution_streaming, false, true},
};

static const cm__effort effort_of[CM_CLASSES] = {
    [CM_CLASS_GEMM] = CM__EFFORT_GEMM,
    [CM_CLASS_CONV] = CM__EFFORT_CONV,
    [CM_CLASS_ATTENTION] = CM__EFFORT_ATTENTION,
    [CM_CLASS_RNN] = CM__EFFORT_GEMM,
    [CM_CLASS_NORM] = CM__EFFORT_MEMORY,
    [CM_CLASS_ELEMENTWISE] = CM__EFFORT_MEMORY,
    [CM_CLASS_REDUCTION] = CM__EFFORT_MEMORY,
    [CM_CLASS_MOVEMENT] = CM__EFFORT_MEMORY,
    [CM_CLASS_EMBEDDING] = CM__EFFORT_MEMORY,
    [CM_CLASS_UPDATE] = CM__EFFORT_MEMORY,
};

bool cm__execution_applies(const cm_device *device, cm_runtime runtime)
{
    return device->info.style != CM_STYLE_KERNELS || (device->execution.known && cm__is_vendors(runtime));
}

/* ---- input of a rule -------------------------------------------------------------------------------------------- */

static const cm_memory *memory_of(const cm_device *d, cm_category category)
{
    int32_t at = d->placement[category].memory;
    return at >= 0 ? &d->memories[at] : cm_device_main_memory(d);
}

double cm__job_rate(const cm__job *j, double share)
{
    cm__limits limits = cm__limits_of(j->device);
    double     peak = cm__precision_peak(&limits, cm_graph_precision(j->g), true);
    double     peak16 = fmax(cm__precision_peak(&limits, CM_PRECISION_BF16, false),
                             cm__precision_peak(&limits, CM_PRECISION_FP16, false));
    bool       fed = j->device->info.style == CM_STYLE_KERNELS && peak > 0 && peak16 > 0 && share > 0 && share < 1;
    double     passes = cm_graph_precision(j->g) == CM_PRECISION_FP32 && peak >= peak16 ? fmax(1, j->g->product_passes) : 1;
    return (fed ? 1 / (1 / peak + (1 / share - 1) / peak16) : peak * share) / passes;
}

double cm__job_share(const cm__job *j, cm__effort effort)
{
    const cm__execution *e = &j->device->execution;
    return cm__value_or(e->efficiency[effort], cm__value_or(e->efficiency[CM__EFFORT_GEMM], 1));
}

/* Rates in a whole graph, by who laid it out. */
static void read_rates(cm__job *j)
{
    const cm__execution *e = &j->device->execution;
    double mapped = cm__value_or(e->compiler_mapped, 0) > 0 ? cm__value_or(e->compiler_share, 1) : 1;
    for (int i = 0; i < CM__EFFORTS; i++)
        j->peak_flop_s[i] = cm__job_rate(j, mapped * cm__job_share(j, (cm__effort)i));
}

static void read_memories(cm__job *j)
{
    const cm_memory *near = memory_of(j->device, CM_CATEGORY_EPHEMERAL);
    const cm_memory *far = memory_of(j->device, CM_CATEGORY_WEIGHTS_BIASES);
    double           share = cm__value_or(j->device->execution.efficiency[CM__EFFORT_MEMORY], 1);
    bool             reaches_near = execution_models[j->device->info.style].reaches_near;
    j->near_bytes = near ? cm__value_or(near->capacity_bytes, INFINITY) : INFINITY;
    j->near_bytes_s = near ? cm__value_or(near->bw_bytes_s, INFINITY) * (reaches_near ? share : 1) : INFINITY;
    j->far_bytes_s = far ? cm__value_or(far->bw_bytes_s, INFINITY) * (reaches_near ? 1 : share) : INFINITY;
}

/* Step time with the asked release over today's. Known releases differ for causal models alone. */
static double older_software(const cm_graph *g, const cm__execution *e)
{
    return !cm__provides(g->asked.software, CM__FEATURE_WAFER_GPT) && cm__is_causal(g) ? cm__value_or(e->older_software, 1) : 1;
}

static cm__job job_of(cm__ctx *ctx, const cm_graph *step, const cm_device *device, const cm_sparsity *sparsity,
                      int64_t batch)
{
    const cm__execution *e = &device->execution;
    double               clock = cm__value_or(device->numbers[CM_CLOCK_HZ], INFINITY);
    cm__job              j = {.ctx = ctx,
                              .g = step,
                              .device = device,
                              .batch = (double)batch,
                              .section_s = cm__value_or(e->section_s, 0),
                              .layer_s = cm__value_or(e->layer_s, 0),
                              .score_s = cm__value_or(e->score_s, 0) / cm__value_or(device->numbers[CM_CORES], 1),
                              .superstep_s = cm__value_or(e->superstep, 0) / clock,
                              .older = older_software(step, e),
                              .fill = fmax(1, cm__value_or(e->fill, 1)),
                              .matrix_scale = cm__value_or(device->calibration.matrix, 1),
                              .vector_scale = cm__value_or(device->calibration.vector, 1),
                              .joined_chips = 1,
                              .kept = cm__sparsity_kept(device, sparsity),
                              .has_blocks = cm__has_blocks(step)};
    read_rates(&j);
    read_memories(&j);
    cm__job_use_operator_rates(&j);
    if (!(j.peak_flop_s[CM__EFFORT_GEMM] > 0))
        cm__fail(ctx, CM_ERR_UNSUPPORTED, "%s: no peak in %s or a wider type is known", device->info.id,
                 cm_precision_name(cm_graph_precision(step)));
    return j;
}

/* ---- functions for the rules ------------------------------------------------------------------------------------ */

double cm__job_kept(const cm__job *j, const cm_node *n)
{
    return j->kept < 1 && cm__is_pruned(j->g, n, j->has_blocks) ? j->kept : 1;
}

/* The part of the matrix units' `lanes` that has inputs: those of a product, or of a convolution's group, end in it. The
   units of a product also wait for the weights that its rows then pass. */
static double used(const cm__job *j, const cm_node *n, double batch)
{
    double lanes = cm__value_or(j->device->execution.lanes, 1);
    bool   product = cm__class(n) == CM_CLASS_GEMM && n->phase == CM_FORWARD;
    if (lanes <= 1 || (!product && cm__class(n) != CM_CLASS_CONV)) return 1;
    const cm_node   *forward = n->phase == CM_FORWARD ? n : &j->g->nodes[n->source];
    if (forward->n_inputs < 2 || forward->inputs[0] < 0 || forward->inputs[1] < 0) return 1;
    const cm_tensor *x = cm__t(j->g, forward->inputs[0]), *w = cm__t(j->g, forward->inputs[1]);
    double           summed = product && x->rank ? (double)x->dims[x->rank - 1].fixed : 0;
    double           rows = summed > 0 ? cm__tensor_elements_at(j->g, forward->inputs[0], batch) / summed : 0;
    double           load = cm__value_or(j->device->execution.weight_load, 0);
    if (rows > 0) return summed / (lanes * ceil(summed / lanes)) * rows / (rows + load);
    bool             grouped = !product && x->rank >= 3 && w->rank >= 3 && w->dims[1].fixed < x->dims[1].fixed;
    return grouped ? fmin(1, (double)w->dims[1].fixed / lanes) : 1;
}

double cm__job_node_s(const cm__job *j, int32_t node, double batch)
{
    const cm_node *n = &j->g->nodes[node];
    double         measured_s = cm__job_measured(j, node, batch).time_s;
    if (n->view) return 0;
    if (measured_s >= 0) return measured_s;
    cm__effort effort = effort_of[cm__class(n)];
    double     bytes = cm__poly_at(&n->read_bytes, batch) + cm__poly_at(&n->write_bytes, batch);
    double     traffic = fmax(j->operator_s, j->vector_scale * bytes / j->near_bytes_s);
    if (effort == CM__EFFORT_MEMORY) return traffic;
    double flop = cm__poly_at(&n->flop, batch) * cm__job_kept(j, n) / used(j, n, batch);
    return fmax(j->matrix_scale * flop / j->peak_flop_s[effort], traffic);
}

double cm__job_time_steps(const cm__job *j, const cm_node *n, double batch)
{
    if (n->view || cm__class(n) != CM_CLASS_RNN) return 0;
    const cm_node *of = n->phase == CM_FORWARD || n->source < 0 ? n : &j->g->nodes[n->source];
    const cm_dim   steps = cm__in(j->g, of, 0)->dims[cm__attr_int(of, CM_ATTR_LAYOUT, 0) == 1];
    return (double)steps.per_batch * batch + (double)steps.fixed;
}

bool cm__job_is_traffic(const cm_node *n) { return effort_of[cm__class(n)] == CM__EFFORT_MEMORY; }

/* Scores of an attention node or its gradient: one for each query, key and head. */
double cm__job_scores(const cm__job *j, const cm_node *n, double batch)
{
    if (n->view || cm__class(n) != CM_CLASS_ATTENTION) return 0;
    const cm_node *of = n->op == CM_OP_ATTENTION ? n : &j->g->nodes[n->source];
    if (of->n_inputs < 2 || of->inputs[0] < 0 || of->inputs[1] < 0) return 0;
    const cm_tensor *q = cm__t(j->g, of->inputs[0]), *k = cm__t(j->g, of->inputs[1]);
    double           keys = (double)k->dims[k->rank - 2].fixed, width = (double)q->dims[q->rank - 1].fixed;
    return cm__tensor_elements_at(j->g, of->inputs[0], batch) / width * keys;
}

double cm__job_element(const cm__job *j) { return cm__element_bytes(j->g); }

double cm__element_bytes(const cm_graph *g)
{
    static const double bytes[CM_PRECISIONS] = {[CM_PRECISION_DEFAULT] = 2, [CM_PRECISION_FP32] = 4,
                                                [CM_PRECISION_TF32] = 4,    [CM_PRECISION_AMP_BF16] = 2,
                                                [CM_PRECISION_AMP_FP16] = 2, [CM_PRECISION_BF16] = 2,
                                                [CM_PRECISION_FP16] = 2,    [CM_PRECISION_FP8] = 1};
    return bytes[cm_graph_precision(g)];
}

double cm__tensor_elements_at(const cm_graph *g, int32_t tensor, double batch)
{
    const cm_tensor *t = cm__t(g, tensor);
    double           count = 1;
    for (int32_t i = 0; i < t->rank; i++) count *= (double)t->dims[i].per_batch * batch + (double)t->dims[i].fixed;
    return count;
}

double cm__tensor_bytes_at(const cm_graph *g, int32_t tensor, double batch)
{
    return (double)cm_dtype_size(cm__t(g, tensor)->dtype) * cm__tensor_elements_at(g, tensor, batch);
}

void cm__run_spread(cm__run *r, int32_t first, int32_t end, double piece_s)
{
    double sum = 0;
    for (int32_t i = first; i < end; i++) sum += r->node_s[i];
    for (int32_t i = first; i < end && sum > 0; i++) r->node_s[i] *= piece_s / sum;
    r->device_s += piece_s;
}

/* ---- runs ------------------------------------------------------------------------------------------------------- */

/* Where each node's time is from. Rules are fitted to results of whole models, or not at all. */
static void note_sources(const cm__job *j, cm__run *r)
{
    const cm_number *e = &j->device->execution.error;
    double           sum = 0;
    uint8_t          rule = e->known && cm__same_name(e->kind, "fitted") ? CM_HOW_TRANSFERRED : CM_HOW_ROOFLINE;
    r->how = cm__alloc_array(j->ctx, (size_t)j->g->n_nodes + 1, sizeof *r->how);
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        cm__timed measured = cm__job_measured(j, i, (double)r->micro_batch);
        r->how[i] = measured.time_s >= 0 ? (uint8_t)measured.how : rule;
        r->share[r->how[i]] += r->node_s[i];
        sum += r->node_s[i];
    }
    for (int h = 0; h < CM_HOWS && sum > 0; h++) r->share[h] /= sum;
}

/* The expected error weights the fitted errors of products and of convolutions by their shares of the time. Measured
   operators of a network have the error of what joins them. */
static double error_of(const cm__job *j, const cm__run *r)
{
    const cm_graph      *g = j->g;
    const cm__execution *e = &j->device->execution;
    double all = 0, conv = 0;
    double error = cm__value_or(e->error, ERROR_UNKNOWN), conv_error = cm__value_or(e->conv_error, ERROR_UNKNOWN);
    for (int32_t i = 0; i < g->n_nodes; i++) {
        cm__effort effort = effort_of[cm__class(&g->nodes[i])];
        all += effort != CM__EFFORT_MEMORY ? r->node_s[i] : 0;
        conv += effort == CM__EFFORT_CONV ? r->node_s[i] : 0;
    }
    double share = all > 0 ? conv / all : 0;
    double rule = (1 - share) * error * error + share * conv_error * conv_error;
    double measured = r->share[CM_HOW_MEASURED] + r->share[CM_HOW_INTERPOLATED];
    double joining = j->single_operator ? cm__time_factors.measured_error : cm__time_factors.stand_in_error;
    return sqrt((1 - measured) * rule + measured * fmin(rule, joining * joining));
}

cm__prepared cm__execution_prepare(cm__ctx *ctx, const cm_graph *step, const cm_device *device,
                                   const cm_footprint *footprint)
{
    bool again = device->info.style == CM_STYLE_BSP || device->info.style == CM_STYLE_STREAMING;
    bool sections = device->info.style == CM_STYLE_SECTIONS;
    return (cm__prepared){.footprint = footprint, .measured = cm__measured_new(ctx, step, device), .recomputed = again ? cm__recomputed_new(ctx, step) : NULL,
                          .section_bytes = sections ? cm__section_bytes(ctx, step) : NULL};
}

/* Execution models that do not divide batches themselves run all but the update once per micro-batch. */
static void run_in_turn(const cm__job *j, cm__run *r)
{
    cm__job one = *j;
    double  passes = ceil(j->batch / (double)j->micro_batch);
    one.batch = (double)(r->micro_batch = (int64_t)ceil(j->batch / passes));
    execution_models[j->device->info.style].rule(&one, r);
    r->pieces *= passes;
    r->device_s = 0;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        if (j->g->nodes[i].phase != CM_UPDATE) r->node_s[i] *= passes;
        r->device_s += r->node_s[i];
    }
}

cm__run cm__execution_run(cm__ctx *ctx, const cm_graph *step, const cm_device *device, const cm__run_request *request,
                          const cm__prepared *prepared)
{
    const cm__execution *e = &device->execution;
    cm__job              job = job_of(ctx, step, device, &request->sparsity, request->batch);
    cm__run              run = {.node_s = cm__alloc_array(ctx, (size_t)step->n_nodes, sizeof *run.node_s),
                                .devices = 1,
                                .micro_batch = request->batch,
                                .host_s = job.single_operator ? 0 : cm__value_or(e->step_s, 0) * cm__value_or(device->calibration.host, 1)};
    if (prepared) job.prepared = *prepared;
    if (!job.prepared.measured) job.prepared.measured = cm__measured_new(ctx, step, device);
    job.chips = request->chips;
    job.micro_batch = request->micro_batch;
    bool divides = execution_models[device->info.style].divides;
    bool in_turn = job.micro_batch > 0 && (double)job.micro_batch < job.batch && !divides;
    (in_turn ? run_in_turn : execution_models[device->info.style].rule)(&job, &run);
    note_sources(&job, &run);
    run.error = error_of(&job, &run);
    return run;
}
