/* SPDX-License-Identifier: Apache-2.0 */
/*
 * single_operator.c - one operator run repeatedly, as operator benchmarks do.
 *
 * A model's fraction of peak includes losses between its operators: unequal stages of a section, exchanges, waiting. A
 * single operator has none of these. If a profile has rates of operator benchmarks (`execution.operator`), they time a
 * graph of one operator: without layout and weight streaming, with operands on the chip, or in slices if they are
 * larger than it. If the bandwidth of that memory is unknown, the execution model's own rule applies. The time steps of
 * a recurrent layer are small products, which have the rates of a model. Repetition on the device needs no host, and no
 * new section.
 */
#include <math.h>
#include "device/number.h"
#include "model/execution/execution.h"

/* The only node of a forward graph except casts of its operands; NULL: it has several. */
static const cm_node *only_node(const cm_graph *g)
{
    const cm_node *only = NULL;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        if (n->view || n->phase != CM_FORWARD || n->op == CM_OP_CAST) continue;
        if (only) return NULL;
        only = n;
    }
    return only;
}

/* Uses the fastest memory of the chip that fits the operands, or slices of them if programs manage that memory.
   Otherwise the execution model's memory stays. */
static void near_memory(cm__job *j, const cm_node *n)
{
    const cm_device *d = j->device;
    double           bytes = cm__poly_at(&n->read_bytes, j->batch) + cm__poly_at(&n->write_bytes, j->batch);
    double           share = cm__value_or(d->execution.operator_memory, 1);
    bool             sliced = d->info.style != CM_STYLE_KERNELS;
    for (int32_t i = 0; i < d->n_memories; i++) {
        const cm_memory *m = &d->memories[i];
        bool             holds = sliced || (m->capacity_bytes.known && m->capacity_bytes.value >= bytes);
        if (m->place == CM_PLACE_ON_CHIP && m->bw_bytes_s.known && holds) j->near_bytes_s = share * m->bw_bytes_s.value;
    }
}

void cm__job_use_operator_rates(cm__job *j)
{
    const cm__execution *e = &j->device->execution;
    const cm_node       *only = e->operator_known ? only_node(j->g) : NULL;
    double               gemm = cm__value_or(e->operator_gemm, NAN);
    if (only && cm__class(only) == CM_CLASS_RNN) {
        j->section_s = 0;
        return;
    }
    if (only) near_memory(j, only);
    if (!only || isinf(j->near_bytes_s)) return; /* the bandwidth of its operands is unknown */
    j->single_operator = true;
    j->operator_s = cm__value_or(e->operator_s, 0);
    j->section_s = j->layer_s = j->score_s = 0;
    double better = isnan(gemm) ? 1 : gemm / cm__value_or(e->efficiency[CM__EFFORT_GEMM], 1);
    for (int i = 0; i < CM__EFFORTS; i++) /* other classes run on the same units and speed up by the same factor */
        j->peak_flop_s[i] = cm__job_rate(j, fmin(1, cm__job_share(j, (cm__effort)i) * better));
    if (e->operator_conv.known) j->peak_flop_s[CM__EFFORT_CONV] = cm__job_rate(j, e->operator_conv.value);
}
