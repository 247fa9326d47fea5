/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sections.c - sections: parts of the graph are laid out on the chip, one part after the other.
 *
 * A section is a run of operators whose weights and results for one sample fit the chip. The boundaries between
 * sections minimise the step time. Samples are pipelined through a section, which is filled and drained once. A
 * section takes at least the time of its off-chip traffic. If the weights and one sample's results of the whole graph,
 * forward and backward, fit the chip, the graph is one section: activations that backward reads go off the chip and
 * back. So do weights, gradients and optimizer states in the update, unless they fit the chip as well. Several chips
 * may run one copy: they have the units and memories of all, and exchange the activations at the cuts between them.
 * With several sections, section_traffic.c counts what leaves the chip; `memory` is the share of the bandwidth reached.
 */
#include <math.h>
#include "model/execution/execution.h"
#include "model/time/four.h"

typedef struct section {
    double compute_s;
    double far_bytes; /* at the share of the bandwidth that sections reach */
} section;

#define CM__SUM_BYTES 4 /* of an accumulator: 32 bits (Emani et al. 2024, section IV-B) */

/* Results of elementwise operators go directly to the next operator. Gradients of weights are summed over samples in 32
   bits. */
static double stored_bytes(const cm_graph *g, const cm_node *n)
{
    cm_class class = cm__class(n);
    double   bytes = 0;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        cm_role role = n->inputs[i] >= 0 ? cm__t(g, n->inputs[i])->role : CM_ROLE_CONSTANT;
        if (role == CM_ROLE_PARAMETER || role == CM_ROLE_CAST) bytes += cm__tensor_bytes_at(g, n->inputs[i], 1);
    }
    if (class == CM_CLASS_ELEMENTWISE || class == CM_CLASS_MOVEMENT) return bytes;
    for (int32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] >= 0)
            bytes += n->op == CM_OP_GEMM_GRAD_WEIGHT ? CM__SUM_BYTES * cm__tensor_elements_at(g, n->outputs[i], 1)
                                                     : cm__tensor_bytes_at(g, n->outputs[i], 1);
    return bytes;
}

const double *cm__section_bytes(cm__ctx *ctx, const cm_graph *g)
{
    double *bytes = cm__alloc_unset(ctx, (size_t)g->n_nodes + 1, sizeof *bytes);
    for (int32_t i = 0; i < g->n_nodes; i++) bytes[i] = stored_bytes(g, &g->nodes[i]);
    return bytes;
}

/* Weights and one sample's results of the whole graph, or of its first operators that do not fit the chip. */
static double whole_bytes(const cm__job *j)
{
    double stored = 0;
    for (int32_t i = 0; i < j->g->n_nodes && !j->single_operator && stored <= j->near_bytes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (!n->view && n->phase != CM_UPDATE && !cm__is_parameter_cast(j->g, n))
            stored += j->prepared.section_bytes[i];
    }
    return stored;
}

static bool is_one_section(const cm__job *j) { return whole_bytes(j) <= j->near_bytes; }

/* True: the update needs no traffic off the chip. */
static bool updates_on_chip(const cm__job *j)
{
    double bytes = whole_bytes(j);
    for (int32_t i = 0; i < j->g->n_tensors; i++) {
        cm_role role = j->g->tensors[i].role;
        if (role == CM_ROLE_STATE || role == CM_ROLE_PARAMETER_GRADIENT) bytes += cm__tensor_bytes_at(j->g, i, 1);
    }
    return bytes <= j->near_bytes;
}

/* ---- off-chip traffic ------------------------------------------------------------------------------------------- */

/* Activations that backward reads: each is written once and read once. */
static double saved_bytes(const cm__job *j)
{
    bool  *seen = cm__alloc_array(j->ctx, (size_t)j->g->n_tensors, sizeof *seen);
    double bytes = 0;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        for (int32_t k = 0; k < n->n_inputs && n->phase == CM_BACKWARD; k++) {
            int32_t storage = n->inputs[k] >= 0 ? cm__t(j->g, n->inputs[k])->storage : -1;
            if (storage < 0 || seen[storage]) continue;
            cm_role role = cm__t(j->g, storage)->role;
            seen[storage] = true;
            if (role == CM_ROLE_ACTIVATION || role == CM_ROLE_SAVED)
                bytes += 2 * cm__tensor_bytes_at(j->g, storage, j->batch);
        }
    }
    return bytes;
}

/* ---- time ------------------------------------------------------------------------------------------------------- */

static double section_s(const cm__job *j, const section *s)
{
    double filled_s = (j->batch + j->fill - 1) * s->compute_s / j->batch;
    return j->section_s + fmax(filled_s, j->vector_scale * s->far_bytes / j->far_bytes_s);
}

static void run_one(const cm__job *j, cm__run *r)
{
    section all = {.far_bytes = j->single_operator ? 0 : saved_bytes(j)};
    bool    inside = j->single_operator || updates_on_chip(j);
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (n->view) continue;
        r->node_s[i] = cm__job_node_s(j, i, j->batch);
        all.compute_s += r->node_s[i];
        if (n->phase == CM_UPDATE && !inside) all.far_bytes += cm__job_operand_bytes(j, n);
    }
    r->pieces = 1;
    cm__run_spread(r, 0, j->g->n_nodes, section_s(j, &all));
}

/* ---- several sections -------------------------------------------------------------------------------------------- */

/* Prefix sums over the nodes that take room on the chip. A node that takes none belongs to the previous node. */
typedef struct sums {
    double  compute_s, far_bytes, stored_bytes;
    double  read_bytes, written_bytes; /* of a section that begins, and of one that ends here */
    int32_t node;  /* the next node */
    uint8_t phase; /* phase of the next node */
} sums;

static int32_t sum_nodes(const cm__job *j, cm__run *r, sums *before)
{
    int32_t count = 0;
    cm__section_traffic p = cm__section_traffic_new(j);
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (n->view || cm__is_parameter_cast(j->g, n)) continue;
        double stored = j->prepared.section_bytes[i];
        bool   joins = stored == 0 && count && before[count - 1].phase == n->phase;
        r->node_s[i] = cm__job_node_s(j, i, j->batch);
        sums all = {.compute_s = before[count].compute_s + r->node_s[i],
                    .far_bytes = before[count].far_bytes + p.node[i],
                    .stored_bytes = before[count].stored_bytes + stored};
        if (!joins) {
            before[count].node = i;
            before[count].read_bytes = p.cut_read[i];
            before[count].written_bytes = p.cut_written[i];
            before[count++].phase = n->phase;
        }
        before[count] = all;
    }
    before[count].node = j->g->n_nodes;
    return count;
}

static double section_between(const cm__job *j, const sums *from, const sums *to)
{
    section s = {.compute_s = to->compute_s - from->compute_s,
                 .far_bytes = to->far_bytes - from->far_bytes + from->read_bytes + to->written_bytes};
    return section_s(j, &s);
}

/* True: the section fits the chip. A single operator larger than the chip passes through it in slices. */
static bool fits(const cm__job *j, const sums *from, const sums *to)
{
    return to->stored_bytes - from->stored_bytes <= j->near_bytes || to[-1].stored_bytes <= from->stored_bytes;
}

/* Prefix sums of times, by node: the difference of two gives section_s() without its divisions. */
typedef struct cut_times {
    double *compute_s, *edge_s, *read_s, *written_s;
    double *least_s; /* shortest time of the nodes before, over all section boundaries */
    double *time_s;  /* the same with the last section starting here */
} cut_times;

static void times_before(const cm__job *j, const sums *before, int32_t at, cut_times *t)
{
    t->compute_s[at] = (j->batch + j->fill - 1) * before->compute_s / j->batch;
    t->edge_s[at] = j->vector_scale * before->far_bytes / j->far_bytes_s;
    t->read_s[at] = j->vector_scale * before->read_bytes / j->far_bytes_s;
    t->written_s[at] = j->vector_scale * before->written_bytes / j->far_bytes_s;
}

/* The times of the nodes before `to` with each start of the last section from `low` on. The compiler makes vectors of
   the loop. */
CM__FAST static void times_from(const cut_times *t, double section_s, int32_t low, int32_t to)
{
    const double *restrict compute = t->compute_s, *restrict edge = t->edge_s, *restrict read = t->read_s,
                 *restrict least = t->least_s;
    double *restrict out = t->time_s;
    double end = compute[to], end_edge = edge[to], written = t->written_s[to];
    for (int32_t from = low; from < to; from++) {
        double compute_s = end - compute[from], edge_s = end_edge - edge[from] + read[from] + written;
        out[from] = least[from] + section_s + (compute_s > edge_s ? compute_s : edge_s);
    }
}

static cut_times cut_times_new(cm__ctx *ctx, int32_t count)
{
    double   *all = cm__alloc_array(ctx, 6 * ((size_t)count + 1), sizeof *all);
    cut_times t;
    double  **parts[] = {&t.compute_s, &t.edge_s, &t.read_s, &t.written_s, &t.least_s, &t.time_s};
    for (size_t i = 0; i < 6; i++) *parts[i] = all + i * ((size_t)count + 1);
    return t;
}

/* Finds the section boundaries that minimise the step time, by dynamic programming. A greedy choice could make a
   larger chip slower. first[i] is the start of the last section before node i. */
static void cut(const cm__job *j, const sums *before, int32_t count, int32_t *first)
{
    cut_times t = cut_times_new(j->ctx, count);
    int32_t   low = 0; /* the longest section before node `to` starts here; it never moves back */
    for (int32_t to = 1; to <= count; to++) {
        if (before[low].phase != before[to - 1].phase) low = to - 1;
        while (!fits(j, &before[low], &before[to])) low++;
        times_before(j, &before[to], to, &t);
        times_from(&t, j->section_s, low, to);
        t.least_s[to] = INFINITY;
        for (int32_t from = to - 1; from >= low; from--)
            if (t.time_s[from] < t.least_s[to]) t.least_s[to] = t.time_s[from], first[to] = from;
    }
}

static void run_sections(const cm__job *j, cm__run *r)
{
    if (is_one_section(j)) {
        run_one(j, r);
        return;
    }
    sums    *before = cm__alloc_array(j->ctx, (size_t)j->g->n_nodes + 1, sizeof *before);
    int32_t  count = sum_nodes(j, r, before);
    int32_t *first = cm__alloc_array(j->ctx, (size_t)count + 1, sizeof *first);
    cut(j, before, count, first);
    for (int32_t to = count; to > 0; to = first[to], r->pieces++)
        cm__run_spread(r, before[first[to]].node, before[to].node,
                       section_between(j, &before[first[to]], &before[to]));
}

/* ---- several chips ----------------------------------------------------------------------------------------------- */

/* The largest result that one of the chips sends to the next: those that exist where a chip's share of the forward time
   ends. */
static double boundary_bytes(const cm__job *j, const cm__run *r)
{
    double all_s = 0, before_s = 0, most = 0;
    for (int32_t i = 0; i < j->g->n_nodes; i++) all_s += j->g->nodes[i].phase == CM_FORWARD ? r->node_s[i] : 0;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (n->phase != CM_FORWARD || n->view || n->n_outputs < 1 || n->outputs[0] < 0) continue;
        double chip = floor(before_s / all_s * j->chips);
        before_s += r->node_s[i];
        if (floor(before_s / all_s * j->chips) > chip && before_s < all_s)
            most = fmax(most, cm__tensor_bytes_at(j->g, n->outputs[0], j->batch));
    }
    return most;
}

/* Samples stream from chip to chip while others are computed: the slower of both decides. */
static void exchange(const cm__job *j, cm__run *r)
{
    const cm_link *link = j->device->links.count ? &j->device->links.items[0] : NULL;
    double         passes = cm__job_trains(j) ? 2 : 1, compute_s = r->device_s;
    if (!link || !link->bw_bytes_s.known)
        cm__fail(j->ctx, CM_ERR_UNSUPPORTED, "the bandwidth between %s is unknown", j->device->info.id);
    double sent_s = passes * boundary_bytes(j, r) / link->bw_bytes_s.value;
    r->devices = j->chips;
    if (!(sent_s > compute_s)) return;
    r->device_s = 0;
    cm__run_spread(r, 0, j->g->n_nodes, sent_s);
}

/* One copy on several chips has the units and memories of all. */
static cm__job joined(const cm__job *j)
{
    cm__job all = *j;
    for (int i = 0; i < CM__EFFORTS; i++) all.peak_flop_s[i] *= j->chips;
    all.near_bytes *= j->chips;
    all.near_bytes_s *= j->chips;
    all.far_bytes_s *= j->chips;
    return all;
}

void cm__execution_sections(const cm__job *given, cm__run *r)
{
    cm__job j = *given;
    if (!j.prepared.section_bytes) j.prepared.section_bytes = cm__section_bytes(j.ctx, j.g);
    if (j.chips < 2) {
        run_sections(&j, r);
        return;
    }
    cm__job all = joined(&j);
    run_sections(&all, r);
    exchange(&j, r);
}
