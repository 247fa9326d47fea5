/* SPDX-License-Identifier: Apache-2.0 */
/*
 * style_alone.c - one operator that runs over and over, as benchmarks of operators do.
 *
 * A model's share of peak has in it what lies between its operators: sections of unequal stages, exchanges, waiting. An
 * operator by itself has none of that. Where a profile knows rates of such benchmarks (`execution.operator`), a graph
 * of one operator is timed by them: no layout, no stream of weights, operands on the chip, in slices where they are
 * larger than it. Where that memory's bandwidth is not known, the style's own rule holds. Recurrent layers are not one
 * operator: every time step is a small product of its own.
 */
#include <math.h>
#include "device/number.h"
#include "model/time/roofline.h"
#include "model/execution/execution.h"

/* The node of a forward pass that has no other; NULL: it has. */
static const cm_node *only_node(const cm_graph *g)
{
    const cm_node *only = NULL;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        if (n->view || n->phase != CM_FORWARD || cm__is_parameter_cast(g, n)) continue;
        if (only || cm_node_class(n) == CM_CLASS_RNN) return NULL;
        only = n;
    }
    return only;
}

/* The fastest memory of the chip that holds the operands, or slices of them where the chip's memory is laid out by
   hand; otherwise what the style has taken. */
static void near_memory(cm__job *j, const cm_node *n)
{
    const cm_device *d = j->device;
    double           bytes = cm_poly_at(&n->read_bytes, j->batch) + cm_poly_at(&n->write_bytes, j->batch);
    double           share = cm__value_or(d->execution.operator_memory, 1);
    bool             sliced = d->info.style != CM_STYLE_KERNELS;
    for (int32_t i = 0; i < d->n_memories; i++) {
        const cm_memory *m = &d->memories[i];
        bool             holds = sliced || (m->capacity_bytes.known && m->capacity_bytes.value >= bytes);
        if (m->place == CM_PLACE_ON_CHIP && m->bw_bytes_s.known && holds) j->near_bytes_s = share * m->bw_bytes_s.value;
    }
}

void cm__job_find_alone(cm__job *j)
{
    const cm__execution *e = &j->device->execution;
    const cm_node       *only = e->operator_known ? only_node(j->g) : NULL;
    double               gemm = cm__value_or(e->operator_gemm, NAN);
    if (only) near_memory(j, only);
    if (!only || isinf(j->near_bytes_s)) return; /* nobody says how fast its operands are read */
    j->alone = true;
    j->operator_s = cm__value_or(e->operator_s, 0);
    j->section_s = j->layer_s = 0;
    cm__limits limits = cm__limits_of(j->device);
    double     peak = cm__precision_peak(&limits, cm_graph_precision(j->g), true);
    double     better = isnan(gemm) ? 1 : gemm / cm__value_or(e->efficiency[CM__EFFORT_GEMM], 1);
    for (int i = 0; i < CM__EFFORTS; i++) /* others run on the units of products: as much better as these do */
        j->peak_flop_s[i] = fmin(peak, j->peak_flop_s[i] * better);
}
