/* SPDX-License-Identifier: Apache-2.0 */
/*
 * style_bsp.c - everything on the chip: compute and exchange in turn, micro-batches through a pipeline of chips.
 *
 * A replica is one chip if a sample's step fits it; otherwise the fewest chips, a power of two, that hold it as a
 * pipeline. Chips of a pipeline keep what enters each layer and compute the rest again backward, as Graphcore's do. The
 * micro-batch is the largest that fits. Every operator is a superstep: its own time, and what synchronisation and
 * exchange cost whatever its size.
 */
#include <math.h>
#include "model/execution/execution.h"

/* ---- the replica ------------------------------------------------------------------------------------------------ */

/* The most chips that one domain of links joins. */
static int32_t most_chips(const cm_device *d)
{
    int32_t most = 1;
    for (int32_t i = 0; i < d->links.count; i++)
        if (d->links.items[i].devices > most) most = d->links.items[i].devices;
    return most;
}

static void find_replica(const cm__job *j, cm__run *r)
{
    int32_t most = j->chips ? j->chips : most_chips(j->device);
    r->devices = j->chips ? j->chips : 1;
    if (j->chips > 1) r->micro_batch = cm__job_largest_again(j, j->chips);
    else r->micro_batch = j->alone ? (int64_t)j->batch : cm__job_largest(j);
    while (!r->micro_batch && r->devices * 2 <= most) {
        r->devices *= 2;
        r->micro_batch = cm__job_largest_again(j, r->devices);
    }
    if (!r->micro_batch)
        cm__fail(j->ctx, CM_ERR_FIT,
                 "one sample's step does not fit the on-chip memory of %d %s%s; a shorter sequence or a smaller "
                 "model would",
                 most, j->device->info.id, most > 1 && !j->chips ? ", the most that its links join" : "");
    r->recomputes = r->devices > 1 && cm__job_trains(j);
}

/* ---- time ------------------------------------------------------------------------------------------------------- */

/* Optimizer states, where they live off the chip: they cross its edge twice a step. 0: they fit beside the rest. */
static double states_s(const cm__job *j, const cm__run *r)
{
    int32_t          at = j->device->placement[CM_CATEGORY_ALGORITHM].memory;
    const cm_memory *m = at >= 0 ? &j->device->memories[at] : NULL;
    double           bytes = 0;
    if (!m || m->place == CM_PLACE_ON_CHIP || !m->bw_bytes_s.known) return 0;
    for (int32_t i = 0; i < j->g->n_tensors; i++)
        if (j->g->tensors[i].role == CM_ROLE_STATE) bytes += cm__tensor_bytes_at(j->g, i, 1);
    bool beside = r->devices == 1 && cm__job_use(j, r->micro_batch).peak_bytes <= j->near_bytes;
    return beside ? 0 : j->vector_scale * 2 * bytes / m->bw_bytes_s.value / r->devices;
}

/* An elementwise operator alone exchanges nothing. */
static double supersteps(const cm__job *j, const cm_node *n)
{
    return j->alone && cm_node_class(n) == CM_CLASS_ELEMENTWISE ? 0 : 1;
}

/* Of a pipeline of chips; with one, of no pipeline. */
static double passes(const cm__run *r, double micros) { return (micros + r->devices - 1) / r->devices; }

/* A node's passes: where layers are computed again, forward runs twice. */
static double runs_of(const cm__run *r, const cm_node *n) { return r->recomputes && n->phase == CM_FORWARD ? 2 : 1; }

static double node_s(const cm__job *j, const cm__run *r, int32_t i, double size)
{
    const cm_node *n = &j->g->nodes[i];
    return runs_of(r, n) * (cm__job_node_s(j, i, size) + supersteps(j, n) * j->superstep_s);
}

static double micro_batches_s(const cm__job *j, const cm__run *r, double micros)
{
    double sum = 0, size = ceil(j->batch / micros);
    for (int32_t i = 0; i < j->g->n_nodes; i++)
        if (!j->g->nodes[i].view && j->g->nodes[i].phase != CM_UPDATE) sum += node_s(j, r, i, size);
    return passes(r, micros) * sum;
}

/* The largest micro-batch has the fewest supersteps, and in a pipeline the chips that wait longest: the best of its
   halves. */
static double micro_batches(const cm__job *j, const cm__run *r)
{
    double micros = ceil(j->batch / (double)r->micro_batch), least = INFINITY, best = micros;
    if (j->micro_batch > 0) return fmax(micros, ceil(j->batch / (double)j->micro_batch));
    if (r->devices == 1) return micros;
    for (; micros <= j->batch; micros *= 2) {
        double s = micro_batches_s(j, r, micros);
        if (s >= least) break;
        least = s;
        best = micros;
    }
    return best;
}

void cm__execution_bsp(const cm__job *j, cm__run *r)
{
    double updates_s = 0;
    find_replica(j, r);
    double states = states_s(j, r), micros = micro_batches(j, r), size = ceil(j->batch / micros), chips = r->devices;
    r->micro_batch = (int64_t)size;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (n->view) continue;
        bool   update = n->phase == CM_UPDATE;
        double node = node_s(j, r, i, size);
        if (update) updates_s += node;
        r->pieces += update ? 1 : runs_of(r, n) * micros;
        r->node_s[i] = node * (update ? 1 / chips : passes(r, micros));
    }
    for (int32_t i = 0; i < j->g->n_nodes && states > updates_s / chips; i++)
        if (j->g->nodes[i].phase == CM_UPDATE) r->node_s[i] *= states / (updates_s / chips);
    r->device_s = micro_batches_s(j, r, micros) + fmax(updates_s / chips, states);
}
