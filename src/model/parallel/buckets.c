/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buckets.c - gradient all-reduce in buckets while backward runs.
 *
 * A bucket takes gradients in the reverse order of the parameters until it is full. It is sent when its last gradient
 * is complete and the previous bucket has been sent:
 *
 *     sent_k = max(sent_{k-1}, complete_k) + t(bytes_k)
 *
 * Communication after the end of backward is not overlapped. An embedding table that the logits share is complete last.
 */
#include "model/parallel/buckets.h"

#include <math.h>
#include "graph/rule.h"

/* ---- when gradients are complete -------------------------------------------------------------------------------- */

static bool of_backward(const cm_node *n) { return n->phase == CM_BACKWARD || n->phase == CM_RECOMPUTE; }

/* Per node: the part's backward time up to the node's end, as a fraction of the part's whole backward time. */
static double *progress_of(cm__ctx *ctx, const cm_graph *g, const cm__dispatch *d, const cm__timed *timed,
                           const int32_t *part, int32_t parts)
{
    double *done = cm__alloc_array(ctx, (size_t)g->n_nodes + 1, sizeof *done);
    double *sum = cm__alloc_array(ctx, (size_t)parts, sizeof *sum);
    double *all = cm__alloc_array(ctx, (size_t)parts, sizeof *all);
    for (int32_t i = 0; i < d->n_of; i++)
        if (of_backward(&g->nodes[d->node[i]])) done[d->node[i]] += timed[d->of[i]].time_s;
    for (int32_t i = 0; i < g->n_nodes; i++) all[part[i]] += done[i];
    for (int32_t i = 0; i < g->n_nodes; i++) {
        sum[part[i]] += done[i];
        done[i] = all[part[i]] > 0 ? sum[part[i]] / all[part[i]] : 1;
    }
    return done;
}

static const cm_node *update_of(const cm_graph *g)
{
    for (int32_t i = g->n_nodes - 1; i >= 0; i--)
        if (g->nodes[i].op == CM_OP_UPDATE) return &g->nodes[i];
    return NULL;
}

void cm__gradients_find(cm__ctx *ctx, const cm_graph *g, const cm__dispatch *d, const cm__timed *timed,
                        const int32_t *part, const double *elements, cm__parts *parts)
{
    const cm_node *update = update_of(g);
    if (!update) return;
    double *done = progress_of(ctx, g, d, timed, part, parts->count);
    parts->gradients = cm__alloc_array(ctx, (size_t)update->n_inputs, sizeof *parts->gradients);
    for (int32_t i = update->n_inputs - 1; i > 0; i--) {
        const cm_tensor *gradient = cm__t(g, update->inputs[i]);
        if (gradient->role != CM_ROLE_PARAMETER_GRADIENT || gradient->producer < 0) continue;
        parts->gradients[parts->n_gradients++] = (cm__gradient){
            .elements = elements[update->inputs[i - 1]],
            .done = done[gradient->producer],
            .part = part[gradient->producer],
        };
    }
}

/* ---- sending buckets -------------------------------------------------------------------------------------------- */

static double backward_of(const cm__part *p) { return p->backward_s + p->backward_comm_s; }

cm__sent cm__buckets_send(const cm__parts *parts, int32_t stage_parts, double stretch, const cm__channel *channel)
{
    cm__sent sent = {0};
    double   end = 0, bytes = 0, complete = 0, last = 0;
    for (int32_t i = 0; i < stage_parts; i++) end += stretch * backward_of(&parts->all[i]);
    double before = end; /* backward time of the parts up to `part` that still have to run */
    for (int32_t i = 0, part = -1; i <= parts->n_gradients; i++) {
        const cm__gradient *g = i < parts->n_gradients ? &parts->gradients[i] : NULL;
        if (g && g->part >= stage_parts) continue;
        if (g && g->part != part) {
            before = 0;
            for (part = 0; part < g->part; part++) before += stretch * backward_of(&parts->all[part]);
        }
        if (g) {
            bytes += g->elements * parts->gradient_bytes;
            complete = fmax(complete, end - before - (1 - g->done) * stretch * backward_of(&parts->all[part]));
        }
        if (bytes < CM__BUCKET_BYTES && (g || bytes <= 0)) continue;
        double time = cm__comm_time(channel->fabric, channel->operation, channel->group, bytes * channel->part);
        last = fmax(last, complete) + time;
        sent.time_s += time;
        bytes = 0;
    }
    sent.after_s = fmin(fmax(0, last - end), sent.time_s);
    return sent;
}
