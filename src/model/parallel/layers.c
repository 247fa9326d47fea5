/* SPDX-License-Identifier: Apache-2.0 */
/* layers.c - time, parameters and boundaries of each part of a step on one device of a plan. */
#include "model/parallel/layers.h"

#include <math.h>
#include "graph/rule.h"
#include "graph/runtimes.h"
#include "model/dispatch/attention.h"
#include "model/parallel/buckets.h"
#include "model/step/host.h"
#include "model/parallel/layers_making.h"
#include "model/dispatch/tensor_parallel.h"
#include "model/time/factors.h"

/* ---- time ------------------------------------------------------------------------------------------------------- */

/* Gives each layer that another one represents (graph/plan/twins.h) its times. */
static void copy_times(cm__making *k)
{
    const cm__twins *twins = k->layering->twins;
    for (int32_t i = 0; twins && i < k->parts->count; i++) {
        cm__part *to = &k->parts->all[i], *from = &k->parts->all[twins->of[i]];
        to->forward_s = from->forward_s;
        to->backward_s = from->backward_s;
        to->launches = from->launches;
        to->forward_launches = from->forward_launches;
    }
}

static void add_time(cm__making *k, const cm__timed *timed)
{
    const cm__dispatch *d = k->m->calls;
    cm__parts          *p = k->parts;
    cm__errors          errors = {0};
    for (int32_t i = 0; i < d->n_of; i++) {
        const cm__timed *t = &timed[d->of[i]];
        int              phase = k->g->nodes[d->node[i]].phase;
        cm__part        *part = &p->all[k->part[d->node[i]]];
        double           time = t->time_s + t->launches * k->m->gap_s;
        int32_t          copies = cm__twin_count(k->layering->twins, k->g, k->part, d->node[i]);
        if (phase == CM_UPDATE) p->update_s += time;
        else {
            *(phase == CM_FORWARD ? &part->forward_s : &part->backward_s) += time;
            part->launches += t->launches;
            if (phase == CM_FORWARD) part->forward_launches += t->launches;
        }
        p->device_s += copies * time;
        p->share[t->how] += copies * time;
        cm__errors_add(&errors, copies * time, t);
    }
    copy_times(k);
    p->error = cm__step_error(k->m->runtime, p->device_s, &errors);
    for (int h = 0; h < CM_HOWS && p->device_s > 0; h++) p->share[h] /= p->device_s;
}

/* Adds the host's time, divided by launches. The update's is separate. */
static void add_host(cm__making *k, const cm__timed *timed)
{
    double launches = 0, host_s = cm__step_host(k->m, timed);
    k->parts->update_host_s = k->m->host_update_s;
    for (int32_t i = 0; i < k->parts->count; i++) launches += k->parts->all[i].launches;
    for (int32_t i = 0; i < k->parts->count && launches > 0; i++)
        k->parts->all[i].host_s +=
            fmax(0, host_s - k->parts->update_host_s) * k->parts->all[i].launches / launches;
}

/* Megatron-LM of 2023 and later asserts that the loss of each micro-batch is a number (check_for_nan_in_loss_and_grad),
   so that its host waits for the last part's forward pass before it launches backward. */
static void wait_for_loss(cm__making *k)
{
    cm__part *last = &k->parts->all[k->parts->count - 1];
    if (cm__is_megatron_core(k->m->runtime, k->g->asked.software)) last->host_s += last->forward_s + last->forward_comm_s;
}

/* ---- parameters, boundaries ------------------------------------------------------------------------------------- */

void cm__parts_add_parameters(cm__making *k)
{
    const cm__layering *l = k->layering;
    for (int32_t i = 0; i < l->count; i++) {
        k->parts->all[i].parameters = l->parameters[i].trained;
        k->parts->all[i].experts = l->parameters[i].experts;
        k->parts->all[i].frozen_bytes = l->parameters[i].frozen_bytes;
        k->parts->all[i].units = l->parameters[i].units;
    }
    k->parts->parameters = l->all_parameters;
    k->parts->tied_parameters = l->tied_parameters;
    k->parts->weight_bytes = l->weight_bytes;
}

void cm__parts_add_boundaries(cm__making *k)
{
    for (int32_t i = 0; i < k->layering->n_boundaries; i++) {
        const cm__layer_tensor *x = &k->layering->boundaries[i];
        k->parts->all[x->part].boundary_bytes += cm__poly_at(&x->bytes, k->batch);
    }
}

static double scores_bytes(const cm__making *k, const cm_node *n)
{
    const cm_tensor *q = cm__in(k->g, n, 0), *keys = cm__in(k->g, n, 1);
    int32_t          tp = k->m->calls->shards.tp > 1 ? k->m->calls->shards.tp : 1;
    double           heads = q->rank == 4 ? (double)q->dims[1].fixed : (double)cm__attr_int(n, CM_ATTR_Q_NUM_HEADS, 1);
    double           pairs = (double)q->dims[q->rank - 2].fixed * (double)keys->dims[keys->rank - 2].fixed;
    return cm__score_bytes(k->g, n, k->m->runtime) * k->batch * heads / tp * pairs;
}

/* Tensor parallelism divides the products of a layer that are no sums over its devices. Copies of pinned memory reach the link's
   bandwidth. */
double cm__policy_seconds(cm__ctx *ctx, const cm_graph *g, const cm_device *device, double batch, int32_t tp)
{
    const cm_link *host = cm_device_host_link(device);
    uint32_t       moved = g->asked.recompute_moved, whole = CM_KEPT_OUT | CM_KEPT_MLP_OUT | CM_KEPT_EXPERTS_OUT;
    if (!moved || !host || !host->bw_bytes_s.known) return 0;
    cm__ctx       *scratch = cm__scratch_new(ctx);
    const uint8_t *tensors = cm__policy_tensors(scratch, g, g->n_nodes);
    double         bytes = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (!(tensors[i] & moved) || g->nodes[i].phase != CM_FORWARD || g->nodes[i].outputs[0] < 0) continue;
        cm_poly all = cm_tensor_bytes(cm__t(g, g->nodes[i].outputs[0]));
        bytes += cm__poly_at(&all, batch) / (tensors[i] & whole || tp < 1 ? 1 : tp);
    }
    cm__scratch_free(scratch);
    return 2 * bytes / host->bw_bytes_s.value;
}

/* Activations that the middle layer's forward stores for backward. */
static void add_kept(cm__making *k)
{
    const cm_graph *g = k->g;
    const cm_link  *host = cm_device_host_link(k->m->device);
    int32_t         middle = k->parts->count / 2;
    k->parts->host_bytes_s = host && host->bw_bytes_s.known ? host->bw_bytes_s.value * cm__share_of("host-part") : 1;
    for (int32_t i = 0; i < k->layering->n_kept; i++) {
        const cm__layer_tensor *x = &k->layering->kept[i];
        k->parts->kept_bytes +=
            cm__poly_at(cm__is_megatron(k->m->runtime) ? &x->fused_bytes : &x->bytes, k->batch) / x->by;
    }
    for (int32_t i = 0; i < g->n_nodes && k->m->calls->math; i++) {
        const cm_node *n = &g->nodes[i];
        if (k->part[i] == middle && n->op == CM_OP_ATTENTION && n->phase == CM_FORWARD)
            k->parts->scores_bytes += scores_bytes(k, n);
    }
    k->parts->kept_bytes += k->parts->scores_bytes;
    k->parts->moved_s = cm__policy_seconds(k->m->calls->ctx, g, k->m->device, k->batch, k->m->calls->shards.tp);
}

/* ---- all parts -------------------------------------------------------------------------------------------------- */

/* One kernel per parameter adds its gradients. In Megatron Core the products add them: they read and write 4 bytes
   where they would write 2, half of what a sum in fp32 moves. */
static double accumulate_time(const cm__making *k)
{
    bool     joined = cm__is_megatron_core(k->m->runtime, k->g->asked.software);
    bool     narrow = k->parts->gradient_bytes < 4;
    cm__call c = {.op = CM__CALL_ELEMENTWISE, .pass = CM__PASS_FORWARD, .variant = CM__V_ADD,
                  .types = CM__ALL(narrow ? CM_BF16 : CM_FP32)};
    c.sizes[CM__ELEMENTWISE_OUTER] = 1;
    c.sizes[CM__ELEMENTWISE_INNER] = (int64_t)k->parts->parameters;
    if (c.sizes[CM__ELEMENTWISE_INNER] <= 0) return 0;
    if (joined) return cm__timer_time(k->m->timer, &c).time_s / 2;
    return cm__timer_time(k->m->timer, &c).time_s + k->layering->tensors * (k->m->limits.floor_s + k->m->gap_s);
}

static double communication(const cm__parts *parts)
{
    double sum = 0;
    for (int32_t i = 0; i < parts->count; i++) sum += parts->all[i].forward_comm_s + parts->all[i].backward_comm_s;
    return sum;
}

/* Numbers on which memory depends: parameters, stored activations, boundaries. */
static void add_sizes(cm__making *k)
{
    const cm__step_model *m = k->m;
    cm__parts            *parts = k->parts;
    cm__parts_add_parameters(k);
    parts->gradient_bytes = parts->weight_bytes * cm__gradient_copies(m->graph, m->runtime);
    parts->updated = parts->parameters * (m->calls->shards.split ? m->calls->shards.updated : 1);
    cm__parts_add_boundaries(k);
    add_kept(k);
    for (int32_t i = 0; i < parts->count - 1; i++) parts->all[i].units += 1; /* each layer, and what is around them */
    parts->buffered = cm__buffers_gradients(m->runtime);
}

static const cm__layering *layering_of(cm__ctx *ctx, const cm__step_model *m)
{
    return m->layering ? m->layering : cm__layering_new(ctx, m->graph, m->calls, NULL);
}

cm__parts cm__parts_sizes(cm__ctx *ctx, const cm__step_model *m, const cm_fabric *fabric, double micro_batch,
                          int32_t cp)
{
    const cm__layering *l = layering_of(ctx, m);
    cm__parts           parts = {.count = l->count};
    cm__making          k = {.m = m, .g = m->graph, .layering = l, .part = l->part, .fabric = fabric, .parts = &parts,
                             .batch = micro_batch / cp, .cp = cp, .least = true};
    parts.all = cm__alloc_array(ctx, (size_t)parts.count, sizeof *parts.all);
    if (fabric) cm__parts_communicate(&k, ctx);
    add_sizes(&k);
    return parts;
}

cm__parts cm__parts_new(cm__ctx *ctx, const cm__step_model *m, const cm_fabric *fabric, double micro_batch, int32_t cp,
                        cm__timed *timed)
{
    const cm__layering *l = layering_of(ctx, m);
    cm__parts           parts = {.count = l->count};
    cm__making          k = {.m = m, .g = m->graph, .layering = l, .part = l->part, .fabric = fabric, .parts = &parts,
                             .batch = micro_batch / cp, .cp = cp};
    parts.all = cm__alloc_array(ctx, (size_t)parts.count, sizeof *parts.all);
    cm__step_time(m, micro_batch, timed);
    k.timed = timed;
    cm__parts_communicate(&k, ctx);
    cm__exchanges waits = {communication(&parts), parts.exchanged_bytes};
    parts.throttled = cm__step_throttle(m, micro_batch, waits, timed);
    add_time(&k, timed);
    add_host(&k, timed);
    wait_for_loss(&k);
    add_sizes(&k);
    cm__gradients_find(ctx, m->calls, timed, l, &parts);
    parts.exchanges_behind = parts.renews_behind = cm__is_megatron_core(m->runtime, m->graph->asked.software);
    parts.exchange_host_s = m->host_exchange_s;
    parts.batch_host_s = m->host_batch_s;
    parts.unit_host_s = m->host_unit_s;
    parts.node_spread = cm__time_factors.node_spread;
    parts.gathers_again = m->graph->wraps_units && cm__is_pytorch(m->runtime);
    parts.compress_bytes_s = cm__limits_of(m->device).memory_bytes_s;
    parts.accumulate_s = accumulate_time(&k);
    return parts;
}
