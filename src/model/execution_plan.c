/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execution_plan.c - tensor and pipeline parallelism on HPUs, TPUs and Trainium.
 *
 * The execution model gives the time of every operator on one device. A tensor-parallel device runs 1/tp of the
 * operators that Megatron-LM divides; the others it runs whole, or by tokens with sequence parallelism. Sums of partial
 * results, stages, bubbles and the exchange of gradients are those of GPUs (layers_comm.c, iteration.c). Where the
 * profile says so (sums_behind), sums of input gradients run behind products. Operators are taken to reach the same
 * share of peak at 1/tp of their size.
 */
#include "model/execution_plan.h"

#include "graph/rule.h"
#include "model/dispatch/tensor_parallel.h"
#include "model/parallel/layers_making.h"

static bool reads_or_writes_split(const cm__shards *s, const cm_node *n)
{
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] >= 0 && s->split[n->inputs[i]]) return true;
    for (int32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] >= 0 && s->split[n->outputs[i]]) return true;
    return false;
}

/* The part of a node that one device runs. */
static double fraction_of(const cm__making *k, const cm_node *n)
{
    const cm__shards *s = &k->m->calls->shards;
    if (s->tp < 2 || !s->split) return 1;
    const cm_node *forward = n->source >= 0 ? &k->g->nodes[n->source] : n;
    bool           divided = s->sequence || cm__division_of(k->g, forward, s->split) != CM__WHOLE ||
                   cm__is_table(forward) || reads_or_writes_split(s, n);
    return divided ? 1.0 / s->tp : 1;
}

/* The time of each node on one device; 0: none. */
static const double *divided_times(const cm__making *k, cm__ctx *ctx, const cm__run *run)
{
    double *time_s = cm__alloc_array(ctx, (size_t)k->g->n_nodes + 1, sizeof *time_s);
    for (int32_t i = 0; i < k->g->n_nodes; i++) {
        bool whole = k->g->nodes[i].phase == CM_UPDATE;
        if (run->node_s[i] > 0) time_s[i] = run->node_s[i] * (whole ? 1 : fraction_of(k, &k->g->nodes[i]));
    }
    return time_s;
}

static void add_times(cm__making *k)
{
    for (int32_t i = 0; i < k->g->n_nodes; i++) {
        const cm_node *n = &k->g->nodes[i];
        cm__part      *part = &k->parts->all[k->part[i]];
        if (n->phase == CM_UPDATE) k->parts->update_s += k->node_s[i];
        else *(n->phase == CM_FORWARD ? &part->forward_s : &part->backward_s) += k->node_s[i];
    }
}

static double all_parameters(const cm_graph *g)
{
    double sum = 0;
    for (int32_t t = 0; t < g->n_tensors; t++) {
        cm_poly elements = cm_tensor_elements(cm__t(g, t));
        if (cm__t(g, t)->role == CM_ROLE_PARAMETER) sum += elements.c[0];
    }
    return sum;
}

static double gradient_bytes_each(const cm_graph *g, double otherwise)
{
    for (int32_t t = 0; t < g->n_tensors; t++)
        if (cm__t(g, t)->role == CM_ROLE_PARAMETER_GRADIENT) return (double)cm_dtype_size(cm__t(g, t)->dtype);
    return otherwise;
}

cm__iteration cm__execution_iterate(cm__ctx *ctx, const cm_graph *step, const cm_device *device, const cm__run *run,
                                    const cm_plan *plan, const cm_fabric *fabric)
{
    cm__dispatch   calls = {.ctx = ctx, .g = step, .shards = cm__shards_new(ctx, step, plan, NULL)};
    cm__step_model m = {.graph = step, .device = device, .calls = &calls, .runtime = CM_RUNTIME_NATIVE};
    cm__layering  *layering = cm__layering_new(ctx, step, &calls, NULL);
    cm__parts      parts = {.count = layering->count};
    double         samples = (double)plan->micro_batch;
    cm__making     k = {.m = &m, .g = step, .layering = layering, .part = layering->part, .fabric = fabric,
                        .parts = &parts, .batch = samples, .cp = 1};
    parts.all = cm__alloc_array(ctx, (size_t)parts.count, sizeof *parts.all);
    k.node_s = divided_times(&k, ctx, run);
    cm__parts_communicate(&k, ctx);
    add_times(&k);
    cm__parts_add_parameters(&k);
    cm__parts_add_boundaries(&k);
    parts.updated = all_parameters(step); /* by run->node_s */
    parts.gradient_bytes = gradient_bytes_each(step, parts.weight_bytes);
    parts.compress_bytes_s = cm__limits_of(device).memory_bytes_s;
    parts.host_bytes_s = 1; /* nothing is offloaded */
    parts.moved_s = cm__policy_seconds(ctx, step, device, samples, plan->tp);
    cm__stages stages = cm__stages_new(ctx, &parts, plan, false);
    stages.first_parts = 0; /* gradients of all layers are sent alike */
    cm__waits waits = cm__waits_new(&parts, &stages, plan, fabric);
    return cm__iterate(&stages, &waits, plan, false);
}
