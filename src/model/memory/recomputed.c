/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recomputed.c - activations that torch.compile computes again in backward instead of storing them.
 *
 * PyTorch's min-cut partitioner decides which are stored (partition.c). Probabilities of a loss inside the model are
 * not: backward computes them from the logits. What only the kernel that computes it reads is not made at all. On the
 * other hand, backward stores for a while what several of its kernels compute again.
 */
#include "graph/rule.h"
#include "graph/runtimes.h"
#include "model/inductor/fusing.h"
#include "model/memory/footprint.h"
#include "model/memory/partition.h"

static cm__piece *piece_at(cm_footprint *f, const int32_t *piece_of, int32_t tensor)
{
    int32_t at = tensor >= 0 ? piece_of[cm__t(f->step, tensor)->storage] : -1;
    return at >= 0 ? &f->pieces[at] : NULL;
}

static void never_made(cm__piece *x) { x->bytes = (cm_poly){{0}}, x->born = x->dies = -1; }

/* Per tensor (by storage): the last node that reads it and is not compiled backward: forward, and the script's loss. */
static const int32_t *readers_of(const cm_footprint *f, cm__ctx *ctx)
{
    const cm_graph *g = f->step;
    int32_t        *last = cm__alloc_array(ctx, (size_t)g->n_tensors + 1, sizeof *last);
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        for (int32_t k = 0; (n->phase == CM_FORWARD || cm__outside_of(g, n)) && k < n->n_inputs; k++)
            if (n->inputs[k] >= 0) last[cm__t(g, n->inputs[k])->storage] = i;
    }
    return last;
}

static void add_mask(cm_footprint *f, const cm__piece *of, int32_t last)
{
    cm_poly bytes = cm_tensor_elements(cm__t(f->step, of->tensor));
    f->pieces[f->n_pieces++] = (cm__piece){bytes, of->tensor, of->born, last, CM_CATEGORY_INPUT_OUTPUT};
}

static void add_centred(cm_footprint *f, int32_t norm, int32_t last)
{
    int32_t tensor = f->step->nodes[norm].inputs[0];
    cm_poly bytes = cm__poly_scale(cm_tensor_elements(cm__t(f->step, tensor)), (double)cm_dtype_size(CM_FP32));
    f->pieces[f->n_pieces++] = (cm__piece){bytes, tensor, norm, last, CM_CATEGORY_INPUT_OUTPUT};
}

/* An elementwise operator whose result is larger than all its operands together, like a product of rows and columns: if
   one kernel reads the result, it computes it. */
static bool is_spread(const cm_graph *g, const cm_node *n)
{
    cm_poly made = cm_tensor_bytes(cm__t(g, n->outputs[0]));
    double  read = 0;
    for (int32_t k = 0; k < n->n_inputs; k++) {
        if (n->inputs[k] < 0) continue;
        cm_poly bytes = cm_tensor_bytes(cm__t(g, cm__t(g, n->inputs[k])->storage));
        read += cm__poly_at(&bytes, 1);
    }
    return cm__class(n) == CM_CLASS_ELEMENTWISE && cm__poly_at(&made, 1) > read;
}

/* A concatenation that one elementwise operator alone reads, like a cast, is not written: each number of the operator's
   result is computed from the part that it belongs to, if these are few (pointwise_cat() in
   torch/_inductor/lowering.py). */
#define MOST_PARTS 8

static bool is_joined_inside(const cm__fusing *kernels, int32_t base, const cm_node *reader)
{
    const cm_node *concat = cm__node(kernels->d, cm__t(kernels->d->g, base)->producer);
    return concat->n_inputs <= MOST_PARTS && kernels->uses[base] == 1 && cm__class(reader) == CM_CLASS_ELEMENTWISE;
}

/* Whether the kernels that read a tensor compute it: the gradient of what was added to places of a tensor is a look-up of
   these places, which is generated where it is read. */
static bool is_computed_by_readers(const cm__fusing *kernels, int32_t base)
{
    static const bool scatter[CM_OPS] = {[CM_OP_SCATTER] = true, [CM_OP_SCATTER_ND] = true,
                                         [CM_OP_SCATTER_ELEMENTS] = true};
    int32_t        from = cm__t(kernels->d->g, base)->producer;
    const cm_node *n = from < 0 ? NULL : cm__node(kernels->d, from);
    return n && n->op == CM_OP_GATHER_GRAD && n->source >= 0 && scatter[cm__node(kernels->d, n->source)->op];
}

/* Whether a node reads a tensor from memory: not if it is in the kernel that makes it, if backward computes the tensor
   again, or if the operand of a product is written in the order that the product wants. Concatenations are written, and
   so are the gradients that sums for a norm's weights read. */
static bool reads_stored(const cm_footprint *f, const cm__fusing *kernels, int32_t node, int32_t base,
                         const cm__partition *kept)
{
    const cm_graph *g = f->step;
    int32_t         maker = cm__t(g, base)->producer;
    bool            again = g->nodes[maker].phase == CM_FORWARD && g->nodes[node].phase == CM_BACKWARD;
    if (again && !g->nodes[node].outside && kept->stored[base] < 0) return false;
    if (cm__copies_input(f, &g->nodes[node])) return false;
    if (kernels->kernel[node] >= 0 && is_computed_by_readers(kernels, base)) return false;
    bool inlined = kernels->uses[base] == 1 && kernels->kernel[maker] >= 0 && kernels->kernel[node] >= 0;
    if (inlined && is_spread(g, &g->nodes[maker])) return false;
    bool written = g->nodes[maker].op == CM_OP_CONCAT && !is_joined_inside(kernels, base, &g->nodes[node]);
    bool own_kernel = written || cm__fusing_has_weight_sums(kernels, node);
    return own_kernel || kernels->kernel[node] != kernels->kernel[maker];
}

/* A tensor that both the sums of a batch norm's gradient and the kernel after them need is computed again once, in
   fp32, and that kernel's result is not rounded either (model/inductor/traffic.c, add_recomputed()). */
static void store_recomputed(cm_footprint *f, const cm__fusing *kernels, int32_t node, const cm__partition *kept)
{
    const cm_graph *g = f->step;
    const cm_node  *n = &g->nodes[node];
    int32_t         kernel = n->phase == CM_BACKWARD ? kernels->kernel[node] : -1, last = node;
    if (kernel < 0 || kernels->norm[kernel] < 0 || !cm__fusing_reads_often(kernels, n)) return;
    if (cm__fusing_group_norm(kernels, &g->nodes[kernels->norm[kernel]])) return;
    while (kernels->next[last] >= 0) last = kernels->next[last];
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t          base = n->inputs[k] < 0 ? -1 : cm__t(g, n->inputs[k])->storage;
        const cm_tensor *t = base < 0 ? NULL : cm__t(g, base);
        if (!t || t->producer < 0 || g->nodes[t->producer].phase != CM_FORWARD || kept->stored[base] >= 0) continue;
        if (!cm__same_size(cm_tensor_elements(t), kernels->size[kernel])) continue;
        double each = cm_dtype_size(t->dtype) < 4 ? 2 * 4 : 4;
        f->pieces[f->n_pieces++] = (cm__piece){cm__poly_scale(cm_tensor_elements(t), each), base, node, last,
                                               CM_CATEGORY_INPUT_OUTPUT};
    }
}

/* The operands of a tensor that is not written live until the last reader of that tensor. */
static void keep_for_inlined(cm_footprint *f, const int32_t *piece_of, const cm__fusing *kernels, int32_t node)
{
    const cm_node *n = &f->step->nodes[node];
    for (int32_t o = 0; o < n->n_outputs; o++) {
        const cm__piece *made = piece_at(f, piece_of, n->outputs[o]);
        bool             there = made && made->born >= 0;
        bool             inlined = there && is_computed_by_readers(kernels, cm__t(f->step, n->outputs[o])->storage);
        for (int32_t k = 0; inlined && k < n->n_inputs; k++) {
            cm__piece *x = piece_at(f, piece_of, n->inputs[k]);
            if (x && x->born >= 0 && x->dies < made->dies) x->dies = made->dies;
        }
    }
}

/* Tensors that only the kernel that computes them reads are not made. */
static void forget_inner(cm_footprint *f, const int32_t *piece_of, cm__ctx *scratch, const cm__partition *kept)
{
    const cm_graph   *g = f->step;
    const cm__fusing *kernels = cm__fusing_kernels(scratch, g, f->options.layout);
    bool             *made = cm__alloc_array(scratch, (size_t)g->n_tensors + 1, sizeof *made);
    bool             *direct = cm__alloc_array(scratch, (size_t)g->n_tensors + 1, sizeof *direct); /* backward reads it */
    for (int32_t k = 0; k < g->n_outputs; k++) made[cm__t(g, g->outputs[k])->storage] = true;
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; !g->nodes[i].view && k < g->nodes[i].n_inputs; k++) {
            int32_t base = g->nodes[i].inputs[k] < 0 ? -1 : cm__t(g, g->nodes[i].inputs[k])->storage;
            if (base < 0 || cm__t(g, base)->producer < 0) continue;
            made[base] |= reads_stored(f, kernels, i, base, kept);
            direct[base] |= g->nodes[i].phase == CM_BACKWARD;
        }
    for (int32_t t = 0; t < g->n_tensors; t++) /* what backward computes other activations from */
        if (cm__t(g, t)->producer >= 0 && g->nodes[cm__t(g, t)->producer].phase == CM_FORWARD && kept->stored[t] >= 0)
            made[t] |= !direct[t];
    for (int32_t i = g->n_nodes - 1; i >= 0; i--) keep_for_inlined(f, piece_of, kernels, i);
    for (int32_t t = 0; t < g->n_tensors; t++) /* gradients that are added up in place */
        if (made[t] && piece_of[t] >= 0) made[f->pieces[piece_of[t]].tensor] = true;
    for (int32_t t = 0; t < g->n_tensors; t++) {
        cm__piece *x = piece_of[t] >= 0 ? &f->pieces[piece_of[t]] : NULL;
        if (!x || x->tensor != t || x->born < 0 || x->dies >= f->n_nodes || made[t]) continue;
        if (kernels->kernel[x->born] >= 0) never_made(x);
    }
    for (int32_t i = 0; i < g->n_nodes; i++) store_recomputed(f, kernels, i, kept);
}

/* Activations live until their last use, which is in backward for those that are stored. */
static void store(cm_footprint *f, const int32_t *piece_of, cm__ctx *scratch)
{
    const cm_graph *g = f->step;
    cm__partition   kept = cm__partition_of(scratch, f);
    const int32_t  *read = readers_of(f, scratch);
    for (int32_t t = 0; t < g->n_tensors; t++) {
        cm__piece *x = piece_of[t] >= 0 ? &f->pieces[piece_of[t]] : NULL;
        if (!x || x->tensor != t || x->born < 0 || x->dies >= f->n_nodes) continue;
        const cm_node *n = &g->nodes[x->born];
        bool           backward = g->nodes[x->dies].phase == CM_BACKWARD || kept.stored[t] >= 0;
        if (n->phase != CM_FORWARD || n->outside || !backward) continue;
        x->dies = kept.stored[t] > read[t] ? kept.stored[t] : read[t] > x->born ? read[t] : x->born;
        if (kept.mask[t] >= 0) add_mask(f, x, kept.mask[t]);
    }
    for (int32_t i = 0; i < f->n_nodes; i++)
        if (kept.centred[i] >= 0) add_centred(f, i, kept.centred[i]);
    forget_inner(f, piece_of, scratch, &kept);
}

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

/* Zeros beside the gradients of a model's outputs, from the start of backward until its first library call. */
static void add_zeros(cm_footprint *f, const int32_t *piece_of)
{
    const cm_graph *g = f->step;
    int32_t         first = 0, last;
    while (first < f->n_nodes && g->nodes[first].phase == CM_FORWARD) first++;
    for (last = first; last + 1 < f->n_nodes; last++)
        if (!g->nodes[last + 1].view && !cm__fusible(g, &g->nodes[last + 1])) break;
    for (int32_t k = 0; first < f->n_nodes && k < g->n_outputs; k++) {
        cm__piece *x = cm__zero_gradient(g, k) ? piece_at(f, piece_of, g->outputs[k]) : NULL;
        if (!x || x->born < 0) continue;
        f->pieces[f->n_pieces++] = (cm__piece){x->bytes, x->tensor, first, last, CM_CATEGORY_INPUT_OUTPUT};
    }
}

/* Generated pools store the place in the window, in one byte. */
static void shrink_indices(cm_footprint *f, const int32_t *piece_of, int32_t node)
{
    const cm_node *n = &f->step->nodes[node];
    cm__piece     *x = n->op == CM_OP_MAX_POOL && n->n_outputs > 1 ? piece_at(f, piece_of, n->outputs[1]) : NULL;
    if (x && x->born == node) x->bytes = cm__fusing_moved(f->step, n->outputs[1]).bytes;
}

void cm__recomputed_pieces(cm_footprint *f, const int32_t *piece_of)
{
    if (!cm__compiles(f->options.runtime) && !cm__is_vendors(f->options.runtime)) return;
    cm__ctx *scratch = cm__scratch_new(f->ctx);
    store(f, piece_of, scratch);
    for (int32_t i = 0; i < f->n_nodes; i++) {
        forget_probabilities(f, piece_of, i);
        forget_spread(f, piece_of, i);
        forget_wide_gradient(f, piece_of, i);
        shrink_indices(f, piece_of, i);
    }
    add_zeros(f, piece_of);
    cm__scratch_free(scratch);
}
