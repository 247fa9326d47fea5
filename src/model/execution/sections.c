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
#include "device/number.h"
#include "model/execution/execution.h"

/* Results of elementwise operators go directly to the next operator. */
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
        if (n->outputs[i] >= 0) bytes += cm__handed_bytes(g, n->outputs[i], 1);
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
                bytes += 2 * cm__handed_bytes(j->g, storage, j->batch);
        }
    }
    return bytes;
}

/* ---- time ------------------------------------------------------------------------------------------------------- */

static double node_s(const cm__job *j, int32_t node)
{
    double steps = cm__job_time_steps(j, &j->g->nodes[node], j->batch);
    return cm__job_node_s(j, node, j->batch) + steps * cm__value_or(j->device->execution.time_step_s, 0);
}

static double section_s(const cm__job *j, double compute_s, double far_bytes)
{
    double filled_s = (j->batch + j->fill - 1) * compute_s / j->batch;
    return j->section_s + fmax(filled_s, j->vector_scale * far_bytes / j->far_bytes_s);
}

static void run_one(const cm__job *j, cm__run *r)
{
    double compute_s = 0, far_bytes = j->single_operator ? 0 : saved_bytes(j);
    bool   inside = j->single_operator || updates_on_chip(j);
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (n->view) continue;
        r->node_s[i] = node_s(j, i);
        compute_s += r->node_s[i];
        if (n->phase == CM_UPDATE && !inside) far_bytes += cm__job_operand_bytes(j, n);
    }
    r->pieces = 1;
    cm__run_spread(r, 0, j->g->n_nodes, section_s(j, compute_s, far_bytes));
}

/* ---- several sections -------------------------------------------------------------------------------------------- */

/* Prefix sums over the nodes that take room on the chip. A node that takes none belongs to the previous node. */
typedef struct sums {
    double  compute_s, far_bytes, stored_bytes;
    int32_t node;  /* the next node */
    uint8_t phase; /* phase of the next node */
} sums;

static int32_t sum_nodes(const cm__job *j, cm__run *r, const cm__section_traffic *p, sums *before)
{
    int32_t count = 0;
    for (int32_t i = 0; i < j->g->n_nodes; i++) {
        const cm_node *n = &j->g->nodes[i];
        if (n->view || cm__is_parameter_cast(j->g, n)) continue;
        double stored = j->prepared.section_bytes[i];
        bool   joins = stored == 0 && count && before[count - 1].phase == n->phase;
        r->node_s[i] = node_s(j, i);
        sums all = {.compute_s = before[count].compute_s + r->node_s[i],
                    .far_bytes = before[count].far_bytes + p->node[i],
                    .stored_bytes = before[count].stored_bytes + stored};
        if (!joins) {
            before[count].node = i;
            before[count++].phase = n->phase;
        }
        before[count] = all;
    }
    before[count].node = j->g->n_nodes;
    return count;
}

/* True: the section fits the chip. A single operator larger than the chip passes through it in slices. */
static bool fits(const cm__job *j, const sums *from, const sums *to)
{
    return to->stored_bytes - from->stored_bytes <= j->near_bytes || to[-1].stored_bytes <= from->stored_bytes;
}

/* The section that ends before a node, of the shortest time of all nodes before it. */
typedef struct ending {
    int32_t first;            /* where it starts */
    double  section_s, all_s; /* its time, and that of all before the node */
} ending;

/* The most operators of one section. It bounds the time of the search for hostile graphs; real sections are far smaller
   (DABench-LLM counts five sections for one layer of GPT-2 XL). */
#define MOST_OPERATORS 1000

/* The best start of the section that ends before `to`, of those from `low` on. What it reads and writes is counted
   while it grows to the front. */
static ending best_ending(const cm__job *j, const cm__section_traffic *p, const sums *before, const ending *endings,
                          int32_t low, int32_t to)
{
    ending  best = {to - 1, INFINITY, INFINITY};
    double  read = 0, written = 0;
    int32_t node = before[to].node, end = node;
    for (int32_t from = to - 1; from >= low; from--) {
        while (node > before[from].node) cm__section_extend(p, --node, end, &read, &written);
        double far = before[to].far_bytes - before[from].far_bytes + read + written;
        double piece_s = section_s(j, before[to].compute_s - before[from].compute_s, far);
        if (endings[from].all_s + piece_s < best.all_s)
            best = (ending){from, piece_s, endings[from].all_s + piece_s};
    }
    return best;
}

/* Finds the section boundaries that minimise the step time, by dynamic programming. A greedy choice could make a
   larger chip slower. */
static const ending *cut(const cm__job *j, const cm__section_traffic *p, const sums *before, int32_t count)
{
    ending *endings = cm__alloc_array(j->ctx, (size_t)count + 1, sizeof *endings);
    int32_t low = 0; /* the longest section before node `to` starts here; it never moves back */
    for (int32_t to = 1; to <= count; to++) {
        if (before[low].phase != before[to - 1].phase) low = to - 1;
        while (!fits(j, &before[low], &before[to]) || to - low > MOST_OPERATORS) low++;
        endings[to] = best_ending(j, p, before, endings, low, to);
    }
    return endings;
}

static void run_sections(const cm__job *j, cm__run *r)
{
    if (is_one_section(j)) {
        run_one(j, r);
        return;
    }
    sums               *before = cm__alloc_array(j->ctx, (size_t)j->g->n_nodes + 1, sizeof *before);
    cm__section_traffic p = cm__section_traffic_new(j);
    int32_t             count = sum_nodes(j, r, &p, before);
    const ending       *endings = cut(j, &p, before, count);
    for (int32_t to = count; to > 0; to = endings[to].first, r->pieces++)
        cm__run_spread(r, before[endings[to].first].node, before[to].node, endings[to].section_s);
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
            most = fmax(most, cm__handed_bytes(j->g, n->outputs[0], j->batch));
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
    all.joined_chips = j->chips;
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
