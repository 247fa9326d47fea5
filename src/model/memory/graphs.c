/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graphs.c - memory of a step that a vendor's compiler runs as one graph, and of one whose layers are a loop (JAX).
 *
 * The compiler joins elementwise operators to the operators around them and computes them again in backward, as
 * recomputed.c says. Beyond that, as Google's compiler shows for steps of language models (tools/compiled_memory.py):
 * - Between operators, mixed precision stores 16-bit numbers, where PyTorch's autocast has fp32 ones.
 * - A loss has its logits in 16 bits and one copy in fp32. Every other tensor of its size is computed where it is read.
 * - Weights are cast once, before the loop over the layers, and stay until the end of backward.
 * - The loop of backward writes its gradients into tensors of all layers, which exist from its start. A gradient of a
 *   weight outside the layers is read at once by the update, which runs in the kernel that computes the gradient.
 * - What the loop of forward stores for that of backward is decided before the compiler sees it (saved.c).
 */
#include "device/device.h"
#include "device/number.h"
#include "graph/rule.h"
#include "graph/runtimes.h"
#include "model/memory/footprint.h"

/* Words of the loss's logits; 0: it has none. */
static int64_t words_of(const cm_graph *g)
{
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node   *n = &g->nodes[i];
        const cm_tensor *x = n->op == CM_OP_CROSS_ENTROPY && n->phase == CM_FORWARD ? cm__in(g, n, 0) : NULL;
        if (x && x->rank > 1) return x->dims[cm_graph_seq(g) > 0 ? x->rank - 1 : 1].fixed;
    }
    return 0;
}

static bool is_of_loss(const cm_footprint *f, const cm__piece *x, int64_t words)
{
    const cm_tensor *t = cm__t(f->step, x->tensor);
    return x->born >= 0 && x->category == CM_CATEGORY_INPUT_OUTPUT && x->bytes.c[1] > 0 && t->rank > 1 && words > 1 &&
           t->dims[t->rank - 1].fixed == words;
}

/* The result of the last product lives until the last of the tensors that are no longer stored, and so does the copy. */
static void merge_loss(cm_footprint *f, int64_t words)
{
    cm__piece *logits = NULL;
    int32_t    last = -1;
    for (int32_t i = 0; i < f->n_pieces; i++) {
        cm__piece *x = &f->pieces[i];
        if (!is_of_loss(f, x, words)) continue;
        bool product = cm__class(&f->step->nodes[x->born]) == CM_CLASS_GEMM;
        if (x->dies < f->n_nodes && x->dies > last) last = x->dies;
        if (product && f->step->nodes[x->born].phase == CM_FORWARD) logits = x;
        else *x = (cm__piece){.tensor = x->tensor, .born = -1, .dies = -1, .category = x->category};
    }
    if (!logits) return;
    logits->dies = last;
    cm_poly wide = cm__poly_scale(cm_tensor_elements(cm__t(f->step, logits->tensor)), sizeof(float));
    f->pieces[f->n_pieces++] = (cm__piece){wide, logits->tensor, logits->born, last, CM_CATEGORY_INPUT_OUTPUT};
}

static void narrow(cm_footprint *f)
{
    cm_precision p = cm_graph_precision(f->step);
    bool         mixed = p == CM_PRECISION_AMP_BF16 || p == CM_PRECISION_AMP_FP16 || p == CM_PRECISION_FP8;
    for (int32_t i = 0; mixed && i < f->n_pieces; i++) {
        cm__piece *x = &f->pieces[i];
        bool       made = x->born >= 0 && x->category == CM_CATEGORY_INPUT_OUTPUT && x->bytes.c[1] > 0;
        if (made && cm__t(f->step, x->tensor)->dtype == CM_FP32) x->bytes = cm__poly_scale(x->bytes, 0.5);
    }
}

/* ---- loops over layers ------------------------------------------------------------------------------------------- */

static bool in_layer(const cm_graph *g, const cm__piece *x) { return x->born >= 0 && g->nodes[x->born].block >= 0; }

/* first: per tensor, the piece of a weight's first cast, plus 1. */
static void cast_once(cm_footprint *f, int32_t piece, int32_t *first)
{
    const cm_graph *g = f->step;
    cm__piece      *x = &f->pieces[piece];
    if (cm__t(g, x->tensor)->role != CM_ROLE_CAST || !in_layer(g, x)) return;
    int32_t *at = &first[g->nodes[x->born].inputs[0]];
    if (!*at) *at = piece + 1;
    else {
        if (f->pieces[*at - 1].dies < x->dies) f->pieces[*at - 1].dies = x->dies;
        x->bytes = (cm_poly){{0}}, x->born = x->dies = -1;
    }
}

static void loop(cm_footprint *f, cm__ctx *scratch)
{
    const cm_graph *g = f->step;
    int32_t        *first = cm__alloc_array(scratch, (size_t)g->n_tensors + 1, sizeof *first), start = 0, end = 0;
    for (int32_t i = 0; i < f->n_pieces; i++) cast_once(f, i, first);
    for (int32_t i = g->n_nodes - 1; i >= 0; i--) {
        if (g->nodes[i].phase == CM_FORWARD || g->nodes[i].block < 0) continue;
        if (g->nodes[i].phase != CM_UPDATE && !end) end = i;
        start = i;
    }
    for (int32_t i = 0; i < f->n_pieces; i++) {
        cm__piece *x = &f->pieces[i];
        cm_role    role = cm__t(g, x->tensor)->role;
        if (role == CM_ROLE_CAST && in_layer(g, x)) x->born = 0, x->dies = end;
        if (role != CM_ROLE_PARAMETER_GRADIENT || x->born < 0) continue;
        if (in_layer(g, x)) x->born = start;
        else x->dies = x->born, x->bytes = cm__poly_scale(x->bytes, 0.5);
    }
    cm__saved_pieces(f, scratch, end);
}

/* A gradient in 16 bits is cast before the update. */
static bool is_of_weight(const cm_graph *g, const cm__piece *x)
{
    cm_role        role = cm__t(g, x->tensor)->role;
    const cm_node *next = x->dies >= 0 && x->dies < g->n_nodes ? &g->nodes[x->dies] : NULL;
    bool           cast = next && next->op == CM_OP_CAST && cm__t(g, next->outputs[0])->role == CM_ROLE_PARAMETER_GRADIENT;
    return x->born >= 0 && (role == CM_ROLE_CAST || role == CM_ROLE_PARAMETER_GRADIENT || cast);
}

/* In networks of convolutions, casts of weights and the update run in the kernels that read the weights and compute their
   gradients. */
static void join_weights(cm_footprint *f)
{
    for (int32_t i = 0; i < f->n_pieces; i++)
        if (is_of_weight(f->step, &f->pieces[i])) f->pieces[i].bytes = (cm_poly){{0}}, f->pieces[i].born = f->pieces[i].dies = -1;
}

/* Convolutions compute a concatenation that they alone read: its parts live as long as it would. */
static void join_parts(cm_footprint *f, cm__ctx *scratch)
{
    const cm_graph *g = f->step;
    bool           *other = cm__alloc_array(scratch, (size_t)g->n_tensors + 1, sizeof *other);
    int32_t        *piece = cm__alloc_array(scratch, (size_t)g->n_tensors + 1, sizeof *piece); /* plus 1; 0: none */
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; k < g->nodes[i].n_inputs; k++)
            if (g->nodes[i].inputs[k] >= 0 && cm__class(&g->nodes[i]) != CM_CLASS_CONV) other[cm__t(g, g->nodes[i].inputs[k])->storage] = true;
    for (int32_t i = 0; i < f->n_pieces; i++)
        if (f->pieces[i].born >= 0 && !piece[f->pieces[i].tensor]) piece[f->pieces[i].tensor] = i + 1;
    for (int32_t i = 0; i < f->n_pieces; i++) {
        cm__piece     *x = &f->pieces[i];
        const cm_node *n = x->born >= 0 ? &g->nodes[x->born] : NULL;
        if (!n || n->op != CM_OP_CONCAT || n->phase != CM_FORWARD || other[x->tensor]) continue;
        for (int32_t k = 0; k < n->n_inputs; k++) {
            int32_t at = n->inputs[k] < 0 ? 0 : piece[cm__t(g, n->inputs[k])->storage];
            if (at && f->pieces[at - 1].dies < x->dies) f->pieces[at - 1].dies = x->dies;
        }
        *x = (cm__piece){.tensor = x->tensor, .born = -1, .dies = -1, .category = x->category};
    }
}

bool cm__loops_layers(const cm_device *device) { return cm__value_or(device->execution.layer_loop, 0) > 0; }

/* More than half of the layers do the same work: those of a transformer do, a ResNet's blocks do not. */
static bool repeats(const cm_graph *g, cm__ctx *scratch)
{
    int32_t layers = cm__facts_of(g).blocks, most = 0;
    double *flop = cm__alloc_array(scratch, (size_t)layers + 1, sizeof *flop);
    for (int32_t i = 0; i < g->n_nodes && g->nodes[i].phase == CM_FORWARD; i++)
        if (g->nodes[i].block >= 0) flop[g->nodes[i].block] += cm__poly_at(&g->nodes[i].flop, 1);
    for (int32_t i = 0; i < layers; i++) {
        int32_t alike = 0;
        for (int32_t k = 0; k < layers; k++) alike += flop[k] == flop[i];
        if (alike > most) most = alike;
    }
    return most > 1 && 2 * most > layers;
}

bool cm__is_loop(const cm_footprint *f, cm__ctx *scratch)
{
    return cm__is_vendors(f->options.runtime) && cm__loops_layers(f->device) && repeats(f->step, scratch);
}

void cm__graph_pieces(cm_footprint *f, cm__ctx *scratch)
{
    if (!cm__is_vendors(f->options.runtime)) return;
    merge_loss(f, words_of(f->step));
    narrow(f);
    if (cm__is_loop(f, scratch)) loop(f, scratch);
    else if (cm__loops_layers(f->device) && cm__facts_of(f->step).convolves) {
        join_weights(f);
        join_parts(f, scratch);
    }
}
