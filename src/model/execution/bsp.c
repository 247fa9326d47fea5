/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bsp.c - bulk-synchronous execution: all data on the chip, compute and exchange phases alternate.
 *
 * A replica is one chip if a step of one sample fits it. Otherwise it is a pipeline of the fewest chips, a power of
 * two, that the step fits. Chips of a pipeline store each layer's input and recompute the rest in backward, as
 * Graphcore's do. The micro-batch is the largest that fits. Every operator is a superstep: its own time, plus a fixed
 * cost of synchronisation and exchange.
 */
#include <math.h>
#include "model/execution/execution.h"

/* ---- size of a replica ------------------------------------------------------------------------------------------ */

/* The number of chips in one link domain. */
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
    if (j->chips > 1) r->micro_batch = cm__job_largest_recomputed(j, j->chips);
    else r->micro_batch = j->single_operator ? (int64_t)j->batch : cm__job_largest(j);
    while (!r->micro_batch && r->devices * 2 <= most) {
        r->devices *= 2;
        r->micro_batch = cm__job_largest_recomputed(j, r->devices);
    }
    if (!r->micro_batch)
        cm__fail(j->ctx, CM_ERR_FIT,
                 "one sample's step does not fit the on-chip memory of %d %s%s; a shorter sequence or a smaller "
                 "model would",
                 most, j->device->info.id, most > 1 && !j->chips ? ", the most that its links connect" : "");
    r->recomputes = r->devices > 1 && cm__job_trains(j);
}

/* ---- time ------------------------------------------------------------------------------------------------------- */

/* Time to move optimizer states to the chip and back, if they are stored off the chip; 0: they fit on the chip. */
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

/* An elementwise operator by itself needs no exchange. */
static double supersteps(const cm__job *j, const cm_node *n)
{
    return j->single_operator && cm_node_class(n) == CM_CLASS_ELEMENTWISE ? 0 : 1;
}

/* Stage times per step of a pipeline, over its chips; with one chip, the number of micro-batches. */
static double passes(const cm__run *r, double micros) { return (micros + r->devices - 1) / r->devices; }

/* Runs of a node per micro-batch: forward runs twice if layers are recomputed. */
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

/* The largest micro-batch has the fewest supersteps, but the longest pipeline bubble: try its halves, too. */
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
