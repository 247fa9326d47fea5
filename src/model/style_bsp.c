/* SPDX-License-Identifier: Apache-2.0 */
/*
 * style_bsp.c - everything on the chip: compute and exchange in turn, micro-batches through a pipeline of chips.
 *
 * A replica takes the fewest chips, a power of two, on which one sample's step fits; the micro-batch is the largest that
 * still fits. Every operator is a superstep: its own time, and what synchronisation and exchange cost whatever its size.
 */
#include <math.h>
#include "model/style.h"

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
    int32_t most = most_chips(j->device);
    r->micro_batch = 0;
    for (r->devices = 1; r->devices <= most; r->devices *= 2) {
        r->micro_batch = cm__job_largest(j, (int64_t)j->batch, r->devices);
        if (r->micro_batch) return;
    }
    cm__fail(j->ctx, CM_ERR_LIMIT,
             "one sample's step does not fit the on-chip memory of %d %s, the most that its links join; "
             "a shorter sequence, --recompute full or --precision fp16 would need less",
             most, j->device->info.name);
}

/* Optimizer states that live off the chip cross its edge twice a step. */
static double update_s(const cm__job *j, int32_t node)
{
    const cm_node *n = &j->g->nodes[node];
    int32_t        at = j->device->placement[CM_CATEGORY_ALGORITHM].memory;
    double         bytes = 0, on_chip_s = cm__job_node_s(j, node, 1);
    if (at < 0 || j->device->memories[at].place == CM_PLACE_ON_CHIP || !j->device->memories[at].bw_bytes_s.known) return on_chip_s;
    for (int32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] >= 0 && cm__t(j->g, n->inputs[i])->role == CM_ROLE_STATE)
            bytes += 2 * cm__tensor_bytes_at(j->g, n->inputs[i], 1);
    return fmax(on_chip_s, j->vector_scale * bytes / j->device->memories[at].bw_bytes_s.value);
}

void cm__style_bsp(const cm__job *j, cm__run *r)
{
    double micro_s = 0, updates_s = 0, supersteps = 0;
    find_replica(j, r);
    double micros = ceil(j->batch / (double)r->micro_batch), size = ceil(j->batch / micros), chips = r->devices;
    r->micro_batch = (int64_t)size;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        if (j->g->nodes[i].view) continue;
        bool   update = j->g->nodes[i].phase == CM_UPDATE;
        double node = update ? update_s(j, i) : cm__job_node_s(j, i, size) + j->superstep_s;
        if (update) updates_s += node;
        else micro_s += node;
        supersteps += update ? 1 : micros;
        r->node_s[i] = node * (update ? 1 : micros) / chips;
    }
    r->pieces = supersteps;
    r->device_s = (micros + chips - 1) * micro_s / chips + updates_s / chips;
}
