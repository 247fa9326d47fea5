/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bsp.c - bulk-synchronous execution: all data on the chip, compute and exchange phases alternate.
 *
 * A replica is one chip if a step of one sample fits it. Otherwise it is a pipeline of the fewest chips, a power of
 * two, that the step fits. Chips of a pipeline store each layer's input and recompute the rest in backward, as
 * Graphcore's do (stages.c: all but what lies behind the last checkpoint). If weights and gradients do not fit the
 * requested chips, or the most that links connect, the rest is spilled: copied from and to the streaming memory in every micro-batch. The micro-batch is the best of the largest
 * that fits and its halves: a smaller one shortens a pipeline's bubble, and may leave room for the optimizer states.
 * Every operator is a superstep: its own time, plus a fixed cost of synchronisation and exchange.
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
    if (!r->micro_batch) r->micro_batch = cm__job_largest_spilled(j, r->devices);
    if (!r->micro_batch)
        cm__fail(j->ctx, CM_ERR_FIT,
                 "one sample's step does not fit the on-chip memory of %d %s%s; a shorter sequence or a smaller "
                 "model would",
                 most, j->device->info.id, most > 1 && !j->chips ? ", the most that its links connect" : "");
    r->recomputes = r->devices > 1 && cm__job_trains(j);
}

/* Values that all micro-batch sizes share. */
typedef struct step_parts {
    double state_bytes, updates_s;
} step_parts;

/* ---- time ------------------------------------------------------------------------------------------------------- */

/* The streaming memory, where optimizer states are stored; NULL: they are on the chip. */
static const cm_memory *streaming_memory(const cm__job *j)
{
    int32_t          at = j->device->placement[CM_CATEGORY_ALGORITHM].memory;
    const cm_memory *m = at >= 0 ? &j->device->memories[at] : NULL;
    return m && m->place != CM_PLACE_ON_CHIP && m->bw_bytes_s.known ? m : NULL;
}

/* Time to move optimizer states to the chip and back, if they are stored off the chip; 0: they fit on the chip beside
   a micro-batch of `size` samples. */
static double states_s(const cm__job *j, const cm__run *r, const step_parts *p, double size)
{
    const cm_memory *m = streaming_memory(j);
    if (!m) return 0;
    bool beside = r->devices == 1 && cm__job_use(j, (int64_t)size).peak_bytes <= j->near_bytes;
    return beside ? 0 : j->vector_scale * 2 * p->state_bytes / m->bw_bytes_s.value / r->devices;
}

/* Time of a step in which chips read and write what is spilled. Weights are read in forward and in backward, sums of
   gradients are read and written: for every micro-batch, or once if all micro-batches pass a part of the layers before
   the next part is loaded (phased execution). Then the inputs of layers are written and read. */
static double spill_s(const cm__job *j, const cm__run *r, double micros, double size)
{
    const cm_memory *m = streaming_memory(j);
    double           spilled = m && r->devices > 1 ? cm__job_spilled_bytes(j, r->devices, (int64_t)size) : 0;
    if (!(spilled > 0)) return 0;
    double inputs = cm__job_layer_input_bytes(j, (int64_t)size) / r->devices;
    return j->vector_scale * 2 * fmin(micros * spilled, spilled + micros * inputs) / m->bw_bytes_s.value;
}

/* Supersteps of an operator. A normalisation exchanges partial sums and the statistics before it can scale, a reduction
   exchanges its partial results. A stable normalisation sums twice, and subtracts the mean in between
   (graphcore/poplibs, normStatisticsImpl()). An elementwise operator by itself needs no exchange, and TensorFlow's
   compiler joins it with others; PopART runs each as a program of its own. Each step of a recurrent layer is a product
   and its gates; backward has two of each, for the state and for the weights. */
static double supersteps(const cm__job *j, const cm_node *n, double size)
{
    static const double more[CM_CLASSES] = {[CM_CLASS_NORM] = 2, [CM_CLASS_REDUCTION] = 1};
    double              steps = cm__job_time_steps(j, n, size);
    if (steps > 0) return steps * (n->phase == CM_BACKWARD ? 4 : 2);
    if ((j->single_operator || j->g->asked.ipu.tensorflow) && cm__class(n) == CM_CLASS_ELEMENTWISE) return 0;
    bool stable = j->g->asked.ipu.stable_norms && cm__class(n) == CM_CLASS_NORM && n->phase == CM_FORWARD;
    return 1 + more[cm__class(n)] + (stable ? 3 : 0);
}

/* Runs of a node per micro-batch: forward runs twice if layers are recomputed. */
static double runs_of(const cm__run *r, const cm_node *n) { return r->recomputes && n->phase == CM_FORWARD ? 2 : 1; }

static double node_s(const cm__job *j, const cm__run *r, int32_t i, double size)
{
    const cm_node *n = &j->g->nodes[i];
    double         exchange_s = cm__job_measured(j, i, size).time_s >= 0 ? 0 : supersteps(j, n, size) * j->superstep_s;
    return runs_of(r, n) * (cm__job_node_s(j, i, size) + exchange_s);
}

/* Time of one micro-batch on all chips, without the update. */
static double micro_batch_s(const cm__job *j, const cm__run *r, double size)
{
    double sum = 0;
    for (int32_t i = 0; i < j->g->n_nodes; i++)
        if (!j->g->nodes[i].view && j->g->nodes[i].phase != CM_UPDATE) sum += node_s(j, r, i, size);
    return sum;
}

/* Time of the pipeline's longest stage for one micro-batch; with one chip, of the whole. */
static double stage_s(const cm__job *j, const cm__run *r, double size)
{
    if (r->devices == 1) return micro_batch_s(j, r, size);
    double *once = cm__alloc_array(j->ctx, (size_t)j->g->n_nodes + 1, sizeof *once);
    for (int32_t i = 0; i < j->g->n_nodes; i++)
        if (!j->g->nodes[i].view) once[i] = node_s(j, r, i, size) / runs_of(r, &j->g->nodes[i]);
    return cm__longest_stage_s(j, r->devices, once, r->recomputes);
}

static step_parts parts_of(const cm__job *j, const cm__run *r)
{
    step_parts p = {0};
    double     sum = 0;
    for (int32_t i = 0; i < j->g->n_tensors; i++)
        if (j->g->tensors[i].role == CM_ROLE_STATE) p.state_bytes += cm__tensor_bytes_at(j->g, i, 1);
    for (int32_t i = 0; i < j->g->n_nodes; i++)
        if (!j->g->nodes[i].view && j->g->nodes[i].phase == CM_UPDATE) sum += node_s(j, r, i, 1);
    p.updates_s = sum / r->devices;
    return p;
}

/* Time of all micro-batches: the pipeline fills, and each one takes the longest stage. */
static double turns_s(const cm__job *j, const cm__run *r, double micros)
{
    return (micros + r->devices - 1) * stage_s(j, r, ceil(j->batch / micros));
}

static double step_s(const cm__job *j, const cm__run *r, const step_parts *p, double micros)
{
    double size = ceil(j->batch / micros);
    return turns_s(j, r, micros) + spill_s(j, r, micros, size) + fmax(p->updates_s, states_s(j, r, p, size));
}

/* True: smaller micro-batches than the largest may be faster. Without a pipeline, only if the optimizer states then
   stay on the chip. */
static bool may_divide(const cm__job *j, const cm__run *r, const step_parts *p, double micros)
{
    return r->devices > 1 || states_s(j, r, p, ceil(j->batch / micros)) > 0;
}

static double micro_batches(const cm__job *j, const cm__run *r, const step_parts *p)
{
    double micros = ceil(j->batch / (double)r->micro_batch), least = INFINITY, best = micros;
    if (j->micro_batch > 0) return fmax(micros, ceil(j->batch / (double)j->micro_batch));
    if (j->single_operator || !may_divide(j, r, p, micros)) return micros;
    for (; micros <= j->batch; micros *= 2) {
        double size = ceil(j->batch / micros), s = step_s(j, r, p, micros);
        if (s >= least && (r->devices > 1 || states_s(j, r, p, size) <= 0)) break;
        if (s < least) best = micros;
        least = fmin(least, s);
    }
    return best;
}

/* Fills in the time of each node, and returns that of one micro-batch. */
static double time_nodes(const cm__job *j, cm__run *r, double size)
{
    double sum = 0;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (n->view) continue;
        r->node_s[i] = node_s(j, r, i, n->phase == CM_UPDATE ? 1 : size);
        if (n->phase != CM_UPDATE) sum += r->node_s[i];
    }
    return sum;
}

void cm__execution_bsp(const cm__job *j, cm__run *r)
{
    find_replica(j, r);
    step_parts p = parts_of(j, r);
    double micros = micro_batches(j, r, &p), size = ceil(j->batch / micros), micro_s = time_nodes(j, r, size);
    double update = p.updates_s, states = states_s(j, r, &p, size), spilled = spill_s(j, r, micros, size);
    double turns = turns_s(j, r, micros) / micro_s, slower = 1 + spilled / (turns * micro_s);
    double later = states > update && update > 0 ? states / update : 1;
    r->micro_batch = (int64_t)size;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (n->view) continue;
        bool updates = n->phase == CM_UPDATE;
        r->pieces += fmax(j->single_operator, supersteps(j, n, size)) * (updates ? 1 : runs_of(r, n) * micros);
        r->node_s[i] *= updates ? later / r->devices : slower * turns;
    }
    r->device_s = step_s(j, r, &p, micros);
}
