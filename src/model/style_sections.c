/* SPDX-License-Identifier: Apache-2.0 */
/*
 * style_sections.c - parts of the graph laid out on the chip, one part after the other.
 *
 * A section takes operators in order until its weights and one sample's results fill the chip. Samples flow through it: it
 * is filled and drained once, and in between bounded by its arithmetic or by what comes from and goes to off-chip memory:
 * weights, and tensors that another section made or needs. What fits the chip as a whole is one section and stays there.
 */
#include <math.h>
#include "model/style.h"

typedef struct map {
    int32_t *section;  /* of each node */
    int32_t *read_by;  /* of each tensor's storage: the last section that read it, +1 */
    bool    *written;  /* ... whether it has left the chip */
    double  *compute_s, *far_bytes; /* of each section */
    int32_t  count;
    bool     resident;
} map;

static double held_bytes(const cm__job *j, const cm_node *n)
{
    double bytes = 0;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        cm_role role = n->inputs[i] >= 0 ? cm__t(j->g, n->inputs[i])->role : CM_ROLE_CONSTANT;
        if (role == CM_ROLE_PARAMETER || role == CM_ROLE_CAST) bytes += cm__tensor_bytes_at(j->g, n->inputs[i], 1);
    }
    for (int32_t i = 0; i < n->n_outputs; i++) bytes += cm__tensor_bytes_at(j->g, n->outputs[i], 1);
    return bytes;
}

static bool fits_whole(const cm__job *j)
{
    const cm_memory_options o = {.runtime = CM_RUNTIME_NATIVE};
    cm_footprint           *f;
    cm_memory_use           use;
    if (cm_footprint_new(j->g, j->device, &o, &f, NULL)) return false;
    cm_footprint_at(f, (int64_t)j->batch, &use);
    cm_footprint_free(f);
    return use.peak_bytes <= j->near_bytes;
}

static void cut(const cm__job *j, map *m)
{
    double used = 0;
    int    phase = CM_FORWARD;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        double         held = n->view ? 0 : held_bytes(j, n);
        bool           turn = n->phase != phase && !n->view;
        if (!m->resident && used > 0 && (turn || used + held > j->near_bytes)) {
            m->count++;
            used = 0;
        }
        if (turn) phase = n->phase;
        used += held;
        m->section[i] = m->count;
    }
    m->count++;
}

/* A tensor that another section made was written by that one, and is read by this one. */
static void cross(const cm__job *j, map *m, int32_t tensor, int32_t section)
{
    int32_t storage = cm__t(j->g, tensor)->storage, producer = cm__t(j->g, storage)->producer;
    int32_t from = producer >= 0 ? m->section[producer] : -1;
    bool    kept = m->resident && cm__t(j->g, storage)->role != CM_ROLE_INPUT;
    if (from == section || kept || m->read_by[storage] == section + 1) return;
    double bytes = cm__tensor_bytes_at(j->g, storage, j->batch);
    m->read_by[storage] = section + 1;
    m->far_bytes[section] += bytes;
    if (from >= 0 && !m->written[storage]) m->far_bytes[from] += bytes;
    m->written[storage] = true;
}

static void load(const cm__job *j, map *m, cm__run *r)
{
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (n->view) continue;
        r->node_s[i] = cm__job_node_s(j, i, j->batch);
        m->compute_s[m->section[i]] += r->node_s[i];
        for (int32_t k = 0; k < n->n_inputs; k++)
            if (n->inputs[k] >= 0) cross(j, m, n->inputs[k], m->section[i]);
        if (n->phase == CM_UPDATE && !m->resident) m->far_bytes[m->section[i]] += cm_poly_at(&n->write_bytes, j->batch);
    }
}

void cm__style_sections(const cm__job *j, cm__run *r)
{
    size_t nodes = (size_t)j->g->n_nodes, tensors = (size_t)j->g->n_tensors;
    map    m = {.section = cm__alloc_array(j->ctx, nodes, sizeof *m.section),
                .read_by = cm__alloc_array(j->ctx, tensors, sizeof *m.read_by),
                .written = cm__alloc_array(j->ctx, tensors, sizeof *m.written),
                .resident = fits_whole(j)};
    cut(j, &m);
    m.compute_s = cm__alloc_array(j->ctx, (size_t)m.count, sizeof *m.compute_s);
    m.far_bytes = cm__alloc_array(j->ctx, (size_t)m.count, sizeof *m.far_bytes);
    load(j, &m, r);
    double full = (j->batch + j->fill - 1) / j->batch;
    for (int32_t s = 0; s < m.count; s++)
        r->device_s += j->section_s + fmax(m.compute_s[s] * full, j->vector_scale * m.far_bytes[s] / j->far_bytes_s);
    r->pieces = m.count;
}
