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
static double *progress_of(cm__ctx *ctx, const cm__dispatch *d, const cm__timed *timed, const cm__layering *l)
{
    const cm_graph *g = d->g;
    double         *done = cm__alloc_array(ctx, (size_t)g->n_nodes + 1, sizeof *done);
    double         *sum = cm__alloc_array(ctx, (size_t)l->count, sizeof *sum);
    double         *all = cm__alloc_array(ctx, (size_t)l->count, sizeof *all);
    for (int32_t i = 0; i < d->n_of; i++)
        if (of_backward(&g->nodes[d->node[i]])) done[d->node[i]] += timed[d->of[i]].time_s;
    for (int32_t i = 0; i < g->n_nodes; i++) all[l->part[i]] += done[i];
    for (int32_t i = 0; i < g->n_nodes; i++) {
        sum[l->part[i]] += done[i];
        done[i] = all[l->part[i]] > 0 ? sum[l->part[i]] / all[l->part[i]] : 1;
    }
    return done;
}

void cm__gradients_find(cm__ctx *ctx, const cm__dispatch *d, const cm__timed *timed, const cm__layering *l,
                        cm__parts *parts)
{
    if (!l->gradients) return;
    cm__ctx *scratch = cm__scratch_new(ctx);
    double  *done = progress_of(scratch, d, timed, l);
    parts->gradients = cm__alloc_array(ctx, (size_t)l->n_gradients + 1, sizeof *parts->gradients);
    parts->n_gradients = l->n_gradients;
    for (int32_t i = 0; i < l->n_gradients; i++) {
        const cm__layer_gradient *x = &l->gradients[i];
        parts->gradients[i] = (cm__gradient){.elements = x->elements, .done = done[x->producer], .part = x->part,
                                             .expert = x->expert};
    }
    cm__scratch_free(scratch);
}

/* ---- sending buckets -------------------------------------------------------------------------------------------- */

static double backward_of(const cm__part *p) { return p->backward_s + p->backward_comm_s; }

/* Times of the last sizes of buckets: equal layers fill equal buckets. */
#define SIZES_KEPT 8

typedef struct bucket_times {
    double bytes[SIZES_KEPT], time_s[SIZES_KEPT];
    int    next;
} bucket_times;

static double time_of(bucket_times *kept, const cm__channel *c, bool expert, double bytes)
{
    for (int i = 0; i < SIZES_KEPT; i++)
        if (kept->bytes[i] == bytes) return kept->time_s[i];
    int at = kept->next++ % SIZES_KEPT;
    kept->bytes[at] = bytes;
    return kept->time_s[at] = cm__comm_time(c->fabric, c->operation, expert ? c->experts : c->group,
                                             bytes * c->part);
}

cm__sent cm__buckets_send(const cm__parts *parts, int32_t stage_parts, double stretch, const cm__channel *channel)
{
    cm__sent     sent = {0};
    bucket_times kept[2] = {{.next = 0}}; /* no bucket has 0 bytes */
    double       end = 0, bytes[2] = {0}, complete = 0, last = 0; /* [1]: of experts */
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
            bytes[g->expert] += g->elements * parts->gradient_bytes;
            complete = fmax(complete, end - before - (1 - g->done) * stretch * backward_of(&parts->all[part]));
        }
        for (int of = 0; of < 2; of++) {
            if (bytes[of] < CM__BUCKET_BYTES && (g || bytes[of] <= 0)) continue;
            double time = time_of(&kept[of], channel, of, bytes[of]);
            last = fmax(last, complete) + time;
            sent.time_s += time;
            bytes[of] = 0;
        }
    }
    sent.after_s = fmin(fmax(0, last - end), sent.time_s);
    return sent;
}
