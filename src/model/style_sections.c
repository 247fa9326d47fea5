/* SPDX-License-Identifier: Apache-2.0 */
/*
 * style_sections.c - parts of the graph laid out on the chip, one part after the other.
 *
 * A section takes operators in order until its weights and one sample's results fill the chip. Samples flow through it,
 * one per interval of its slowest stage; it is filled and drained once. It takes no less than what comes from and goes
 * to off-chip memory.
 * What fits the chip as a whole, with everything that it keeps, is one section, and nothing leaves the chip. A larger
 * batch may be run as micro-batches that do, one after the other, where that is faster.
 */
#include <math.h>
#include "model/style.h"

typedef struct section {
    double  compute_s, far_bytes, held_bytes;
    uint8_t phase;
} section;

/* Weights, and one sample's results; those of elementwise operators pass on as they come. */
static double held_bytes(const cm__job *j, const cm_node *n)
{
    cm_class class = cm_node_class(n);
    double   bytes = 0;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        cm_role role = n->inputs[i] >= 0 ? cm__t(j->g, n->inputs[i])->role : CM_ROLE_CONSTANT;
        if (role == CM_ROLE_PARAMETER || role == CM_ROLE_CAST) bytes += cm__tensor_bytes_at(j->g, n->inputs[i], 1);
    }
    if (class == CM_CLASS_ELEMENTWISE || class == CM_CLASS_MOVEMENT) return bytes;
    for (int32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] >= 0) bytes += cm__tensor_bytes_at(j->g, n->outputs[i], 1);
    return bytes;
}

static double section_s(const cm__job *j, const section *s)
{
    double stage_s = fmax(s->compute_s / j->batch, j->interval_s);
    return j->section_s + fmax((j->batch + j->fill - 1) * stage_s, j->vector_scale * s->far_bytes / j->far_bytes_s);
}

static void run_once(const cm__job *j, bool resident, cm__run *r)
{
    int32_t first = 0;
    section now = {.phase = CM_FORWARD};
    r->pieces = 1;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (n->view) continue;
        double held = held_bytes(j, n);
        bool   full = now.held_bytes > 0 && now.held_bytes + held > j->near_bytes;
        if (!resident && (full || n->phase != now.phase)) {
            cm__run_spread(r, first, i, section_s(j, &now));
            r->pieces++;
            first = i;
            now = (section){.phase = n->phase};
        }
        r->node_s[i] = cm__job_node_s(j, i, j->batch);
        now.compute_s += r->node_s[i];
        now.held_bytes += held;
        if (!resident) now.far_bytes += cm_poly_at(&n->read_bytes, j->batch) + cm_poly_at(&n->write_bytes, j->batch);
    }
    cm__run_spread(r, first, j->g->n_nodes, section_s(j, &now));
}

/* Micro-batches of equal size, as many as stay on the chip each. */
static cm__run in_parts(const cm__job *whole, int64_t most)
{
    cm__job j = *whole;
    double  parts = ceil(whole->batch / (double)most);
    cm__run r = {.node_s = cm__alloc_array(j.ctx, (size_t)j.g->n_nodes, sizeof *r.node_s)};
    j.batch = ceil(whole->batch / parts);
    run_once(&j, true, &r);
    for (int32_t i = 0; i < j.g->n_nodes; i++) r.node_s[i] *= parts;
    r.device_s *= parts;
    r.pieces = parts;
    r.micro_batch = (int64_t)j.batch;
    return r;
}

void cm__style_sections(const cm__job *j, cm__run *r)
{
    int64_t batch = (int64_t)j->batch, most = j->alone ? batch : cm__job_most_within(j, j->near_bytes);
    run_once(j, most == batch, r);
    if (!most || most == batch) return;
    cm__run parts = in_parts(j, most);
    if (parts.device_s >= r->device_s) return;
    r->node_s = parts.node_s;
    r->device_s = parts.device_s;
    r->pieces = parts.pieces;
    r->micro_batch = parts.micro_batch;
}
