/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recomputed.c - activations that torch.compile computes again in backward instead of storing them.
 *
 * PyTorch's min-cut partitioner stores as few bytes between forward and backward as it can, where recomputing is free:
 * in kernels that backward runs anyway. An activation is therefore not stored if it is the result of an elementwise
 * operator or a norm, if only generated kernels of backward read it (a library call would need it in memory), and if
 * what it is computed from is stored anyway; a number in 16 bits is stored instead of its copy in 32. Results of
 * softmax, reductions and dropout are stored, but not the probabilities of a loss inside the model: backward computes
 * them from the logits. What only the next generated kernels of the same pass read is not made at all.
 */
#include "graph/rule.h"
#include "model/dispatch/fusing.h"
#include "model/memory/footprint.h"

#define DEEPEST 6  /* operators that are computed again for one activation */
#define SMALL 0.05 /* statistics and weights beside an activation */

typedef struct readers {
    bool    *library; /* per tensor (by storage): a library call of backward reads it */
    int32_t *forward; /* per tensor (by storage): the last node of forward that reads it */
} readers;

static cm__piece *piece_at(cm_footprint *f, const int32_t *piece_of, int32_t tensor)
{
    int32_t at = tensor >= 0 ? piece_of[cm__t(f->step, tensor)->storage] : -1;
    return at >= 0 ? &f->pieces[at] : NULL;
}

static readers readers_of(const cm_footprint *f)
{
    const cm_graph *g = f->step;
    readers         r = {.library = cm__alloc_array(f->ctx, (size_t)g->n_tensors + 1, sizeof *r.library),
                         .forward = cm__alloc_array(f->ctx, (size_t)g->n_tensors + 1, sizeof *r.forward)};
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        for (int32_t k = 0; k < n->n_inputs; k++) {
            int32_t base = n->inputs[k] < 0 ? -1 : cm__t(g, n->inputs[k])->storage;
            if (base < 0) continue;
            if (n->phase == CM_FORWARD) r.forward[base] = i;
            else if (!n->view && !cm__fusible(g, n)) r.library[base] = true;
        }
    }
    return r;
}

static bool is_recomputable(const cm_graph *g, const cm_node *n)
{
    bool cheap = cm__class(n) == CM_CLASS_NORM || cm__class(n) == CM_CLASS_ELEMENTWISE;
    return n->phase == CM_FORWARD && cheap && n->op != CM_OP_DROPOUT && cm__fusible(g, n);
}

static bool is_stored(const cm__piece *x, int32_t until) { return !x || x->born < 0 || x->dies >= until; }

/* The node that can compute a tensor again; NULL: none. */
static const cm_node *source_of(const cm_footprint *f, int32_t tensor, int depth)
{
    int32_t        from = tensor < 0 ? -1 : cm__t(f->step, cm__t(f->step, tensor)->storage)->producer;
    const cm_node *n = from < 0 ? NULL : &f->step->nodes[from];
    return n && depth < DEEPEST && is_recomputable(f->step, n) ? n : NULL;
}

/* Bytes that would have to be stored longer to compute a node again, directly or from what its inputs come from. If
   `keep`, they are stored longer. */
static double missing_bytes(cm_footprint *f, const int32_t *piece_of, const cm_node *n, int32_t until, int depth,
                            bool keep)
{
    double sum = 0;
    for (int32_t k = 0; k < n->n_inputs; k++) {
        cm__piece *x = piece_at(f, piece_of, n->inputs[k]);
        if (is_stored(x, until)) continue;
        const cm_node *source = source_of(f, n->inputs[k], depth);
        double         own = cm__poly_at(&x->bytes, 1);
        double         behind = source ? missing_bytes(f, piece_of, source, until, depth + 1, false) : own;
        if (keep && behind < own) missing_bytes(f, piece_of, source, until, depth + 1, true);
        else if (keep) x->dies = until;
        sum += behind < own ? behind : own;
    }
    return sum;
}

static void forget(cm_footprint *f, const int32_t *piece_of, const readers *r, int32_t node)
{
    const cm_node *n = &f->step->nodes[node];
    cm__piece     *y = piece_at(f, piece_of, n->outputs[0]);
    int32_t        base = cm__t(f->step, n->outputs[0])->storage;
    int32_t        last = r->forward[base] > node ? r->forward[base] : node;
    if (!y || y->born != node || y->dies >= f->n_nodes || y->dies <= last || r->library[base]) return;
    if (f->step->nodes[y->dies].phase != CM_BACKWARD) return;
    double allowed = cm__poly_at(&y->bytes, 1) * (n->op == CM_OP_CAST ? 1 : SMALL);
    if (missing_bytes(f, piece_of, n, y->dies, 0, false) >= allowed) return;
    missing_bytes(f, piece_of, n, y->dies, 0, true);
    y->dies = last;
}

static void never_made(cm__piece *x) { x->bytes = (cm_poly){{0}}, x->born = x->dies = -1; }

/* Logits are stored until backward; probabilities are not made. */
static void forget_probabilities(cm_footprint *f, const int32_t *piece_of, int32_t node)
{
    const cm_node *n = &f->step->nodes[node];
    for (int32_t k = 0; k < n->n_outputs; k++) {
        int32_t    logits = n->outputs[k] < 0 ? -1 : cm__fusing_logits(f->step, n->outputs[k]);
        cm__piece *x = logits < 0 ? NULL : piece_at(f, piece_of, n->outputs[k]), *kept = piece_at(f, piece_of, logits);
        if (!x || !kept || x->born != node || x->dies >= f->n_nodes) continue;
        if (kept->dies < x->dies) kept->dies = x->dies;
        never_made(x);
    }
}

/* The results of a loss's gradient that the kernel of the logits' gradient computes on the way. */
static void forget_spread(cm_footprint *f, const int32_t *piece_of, int32_t node)
{
    const cm_node *n = &f->step->nodes[node];
    bool           spreads = n->op == CM_OP_LOSS_GRAD && cm__fusible(f->step, n);
    cm__piece     *x = spreads ? piece_at(f, piece_of, n->outputs[0]) : NULL;
    const cm_node *next = x && x->dies < f->n_nodes && x->born == node ? &f->step->nodes[x->dies] : NULL;
    if (!next || next->op != CM_OP_SOFTMAX_GRAD) return;
    int32_t    last = x->dies;
    cm__piece *wide = piece_at(f, piece_of, next->outputs[0]);
    never_made(x);
    const cm_node *cast = wide && wide->born == last && wide->dies < f->n_nodes ? &f->step->nodes[wide->dies] : NULL;
    if (cast && cast->op == CM_OP_CAST) never_made(wide); /* in 16 bits it is written */
}

/* The gradient of a loss that is narrowed next is written in 16 bits only. */
static void forget_wide_gradient(cm_footprint *f, const int32_t *piece_of, int32_t node)
{
    const cm_node *n = &f->step->nodes[node];
    bool           loss = n->phase == CM_BACKWARD && n->source >= 0 && cm__fusible(f->step, n) &&
                f->step->nodes[n->source].op == CM_OP_CROSS_ENTROPY;
    cm__piece     *x = loss ? piece_at(f, piece_of, n->outputs[0]) : NULL;
    const cm_node *next = x && x->dies < f->n_nodes && x->born == node ? &f->step->nodes[x->dies] : NULL;
    if (next && next->op == CM_OP_CAST) never_made(x);
}

/* Zeros beside the gradients of a model's outputs, from the start of backward until the outputs are read. */
static void add_zeros(cm_footprint *f, const int32_t *piece_of)
{
    const cm_graph *g = f->step;
    int32_t         first = 0;
    while (first < f->n_nodes && g->nodes[first].phase == CM_FORWARD) first++;
    for (int32_t k = 0; first < f->n_nodes && k < g->n_outputs; k++) {
        cm__piece *x = cm__zero_gradient(g, k) ? piece_at(f, piece_of, g->outputs[k]) : NULL;
        if (!x || x->born < 0) continue;
        f->pieces[f->n_pieces++] = (cm__piece){x->bytes, x->tensor, first, first + 1, CM_CATEGORY_INPUT_OUTPUT};
    }
}

/* Generated pools store the place in the window, in one byte. */
static void shrink_indices(cm_footprint *f, const int32_t *piece_of, int32_t node)
{
    const cm_node *n = &f->step->nodes[node];
    cm__piece     *x = n->op == CM_OP_MAX_POOL && n->n_outputs > 1 ? piece_at(f, piece_of, n->outputs[1]) : NULL;
    if (x && x->born == node) x->bytes = cm__fusing_bytes(f->step, n->outputs[1]);
}

/* From the last node to the first: what a recomputed activation is computed from may be recomputed itself. */
void cm__recomputed_pieces(cm_footprint *f, const int32_t *piece_of)
{
    if (cm_runtime_base(f->options.runtime) != CM_RUNTIME_TORCH_COMPILE) return;
    readers r = readers_of(f);
    for (int32_t i = 0; i < f->n_nodes; i++) {
        forget_probabilities(f, piece_of, i);
        forget_spread(f, piece_of, i);
        forget_wide_gradient(f, piece_of, i);
        shrink_indices(f, piece_of, i);
    }
    for (int32_t i = f->n_nodes - 1; i >= 0; i--)
        if (is_recomputable(f->step, &f->step->nodes[i])) forget(f, piece_of, &r, i);
    add_zeros(f, piece_of);
}
