/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse_written.c - softmax, cross-entropy, layer, RMS and batch normalisation as JAX's libraries compute them: by sums,
 * differences and powers, with views between them. Compilers that get these operators generate the kernels that they
 * generate for the single operator.
 */
#include "graph/rewrite/fuse.h"

#define DEPTH 8 /* most operators from a tensor to the maximum or mean that is subtracted from it */
#define LONGEST 12 /* operators between a looked-up score and the loss */

static bool is_view(const cm_node *n)
{
    return n->op == CM_OP_RESHAPE || n->op == CM_OP_EXPAND || n->op == CM_OP_CAST || n->op == CM_OP_DETACH;
}

/* The tensor that a chain of views and casts begins with. */
static int32_t under(const cm__fuser *f, int32_t tensor)
{
    while (tensor >= 0 && cm__t(f->g, tensor)->producer >= 0 && is_view(&f->g->nodes[cm__t(f->g, tensor)->producer]))
        tensor = f->g->nodes[cm__t(f->g, tensor)->producer].inputs[0];
    return tensor;
}

/* The only node that reads a tensor through views; *read: what it reads. */
static int32_t reader_through_views(const cm__fuser *f, int32_t *read)
{
    int32_t node = cm__only_reader(f, *read);
    while (node >= 0 && is_view(&f->g->nodes[node])) {
        *read = f->g->nodes[node].outputs[0];
        node = cm__only_reader(f, *read);
    }
    return node;
}

static int32_t made_under(const cm__fuser *f, int32_t tensor, int op) { return cm__made_by(f, under(f, tensor), op); }

/* x where a tensor is the exponential of x less what is computed from x; -1 otherwise. */
static int32_t exponent(const cm__fuser *f, int32_t tensor)
{
    int32_t e = cm__made_by(f, tensor, CM_OP_EXP), sub = e < 0 ? -1 : made_under(f, f->g->nodes[e].inputs[0], CM_OP_SUB);
    if (sub < 0) return -1;
    const cm_node *n = &f->g->nodes[sub];
    return cm__comes_from(f, n->inputs[1], n->inputs[0], DEPTH) ? n->inputs[0] : -1;
}

void cm__fuse_softmax(cm__fuser *f, int32_t node)
{
    const cm_node *n = &f->g->nodes[node];
    int32_t        sum = n->op == CM_OP_DIV ? made_under(f, n->inputs[1], CM_OP_REDUCE_SUM) : -1;
    int64_t        axis[CM__RANK_MAX];
    if (f->eager || sum < 0 || f->g->nodes[sum].inputs[0] != n->inputs[0]) return;
    int32_t x = exponent(f, n->inputs[0]);
    if (x < 0 || cm__int_list(f->g, &f->g->nodes[sum], CM_ATTR_AXES, 1, axis, CM__RANK_MAX) != 1) return;
    cm__attr along = CM__INTS(CM_ATTR_AXIS, axis[0]);
    cm__rewrite(f, node, CM_OP_SOFTMAX, &x, 1, &along, 1);
}

/* ---- cross-entropy ---------------------------------------------------------------------------------------------- */

/* The logits whose logarithm of the sum of exponentials a tensor is, or contains as a term; -1: none. */
static int32_t logits_of(const cm__fuser *f, int32_t tensor, int depth)
{
    int32_t        from = tensor < 0 || depth == 0 ? -1 : cm__t(f->g, tensor)->producer, x = -1;
    const cm_node *n = from < 0 ? NULL : &f->g->nodes[from];
    if (!n) return -1;
    if (n->op == CM_OP_REDUCE_SUM) return exponent(f, n->inputs[0]);
    bool through = is_view(n) || n->op == CM_OP_LOG || n->op == CM_OP_ABS || n->op == CM_OP_ADD || n->op == CM_OP_SUB;
    for (int32_t i = n->n_inputs < 2 ? n->n_inputs - 1 : 1; through && i >= 0 && x < 0; i--)
        x = logits_of(f, n->inputs[i], is_view(n) ? depth : depth - 1);
    return x;
}

/* The last node of a mean over looked-up scores, of which the loss is made; nodes: those on the way. */
static int32_t loss_after(const cm__fuser *f, int32_t node, int32_t *logits, int32_t *nodes)
{
    int32_t at = node, count = 0;
    double  number;
    for (; at >= 0 && count < LONGEST; count++) {
        const cm_node *n = &f->g->nodes[at];
        int32_t        before = count ? f->g->nodes[nodes[count - 1]].outputs[0] : -1;
        bool           scaled = n->op == CM_OP_DIV || n->op == CM_OP_MUL, sum = n->op == CM_OP_REDUCE_SUM || n->op == CM_OP_REDUCE_MEAN;
        if (count && scaled && !cm__is_number(f, cm__other_input(n, before), &number)) return -1;
        if (count && n->op == CM_OP_SUB && *logits < 0) *logits = logits_of(f, cm__other_input(n, before), 4);
        else if (count && !scaled && !sum && !is_view(n) && n->op != CM_OP_NEG && n->op != CM_OP_INDEX && n->op != CM_OP_WHERE) return -1;
        nodes[count] = at;
        at = cm__only_reader(f, n->outputs[0]);
    }
    return count > 2 && *logits >= 0 && cm__t(f->g, f->g->nodes[nodes[count - 1]].outputs[0])->rank == 0 ? nodes[count - 1] : -1;
}

/* -mean(log_softmax(x)[label]), or mean(logsumexp(x) - x[label]) */
void cm__fuse_loss(cm__fuser *f, int32_t node)
{
    const cm_node *n = &f->g->nodes[node];
    int32_t        nodes[LONGEST], sub = n->op == CM_OP_GATHER_ELEMENTS ? cm__made_by(f, n->inputs[0], CM_OP_SUB) : -1;
    int32_t        logits = sub < 0 ? -1 : logits_of(f, f->g->nodes[sub].inputs[1], 4);
    int32_t        last = n->op != CM_OP_GATHER_ELEMENTS || f->eager ? -1 : loss_after(f, node, &logits, nodes);
    if (last < 0) return;
    const cm_tensor *x = cm__t(f->g, logits), *labels = cm__in(f->g, n, 1);
    if (x->rank < 2 || labels->rank != x->rank || !cm__same_shape(x, cm__in(f->g, n, 0))) return;
    int32_t label = n->inputs[1], rank = x->rank;
    cm__attr axis = CM__INTS(CM_ATTR_AXIS, rank - 1);
    int32_t rows = cm__put(f, node, CM_OP_FLATTEN, &logits, 1, &axis, 1), flat = cm__put(f, nodes[1], CM_OP_FLATTEN, &label, 1, &axis, 1);
    cm__rewrite(f, last, CM_OP_CROSS_ENTROPY, (int32_t[]){rows, flat}, 2, NULL, 0);
}

/* ---- norms ------------------------------------------------------------------------------------------------------ */

/* The sum over x of which a tensor is the mean. -1: it is none, or of another tensor. */
static int32_t mean_of(const cm__fuser *f, int32_t tensor, int32_t x)
{
    double  number;
    int32_t div = made_under(f, tensor, CM_OP_DIV);
    if (div < 0 || !cm__is_number(f, f->g->nodes[div].inputs[1], &number)) return -1;
    int32_t sum = made_under(f, f->g->nodes[div].inputs[0], CM_OP_REDUCE_SUM);
    return sum >= 0 && (x < 0 || under(f, f->g->nodes[sum].inputs[0]) == under(f, x)) ? sum : -1;
}

/* A one-dimensional parameter under views. */
static int32_t parameter(const cm__fuser *f, int32_t tensor)
{
    tensor = under(f, tensor);
    return tensor >= 0 && cm__t(f->g, tensor)->role == CM_ROLE_PARAMETER && cm__t(f->g, tensor)->rank == 1 ? tensor : -1;
}

/* A following product with, or sum of, a parameter: *last becomes it. */
static int32_t following(const cm__fuser *f, int32_t *last, int op)
{
    int32_t read = f->g->nodes[*last].outputs[0], next = reader_through_views(f, &read);
    int32_t p = next < 0 || f->g->nodes[next].op != op ? -1 : parameter(f, cm__other_input(&f->g->nodes[next], read));
    if (p >= 0) *last = next;
    return p;
}

/* The channels of an image are its last dimension; a batch norm wants them second. */
static void batch_norm(cm__fuser *f, int32_t difference, int32_t product, int32_t last, int32_t x, int32_t scale, int32_t shift)
{
    cm_graph        *g = f->g;
    const cm_tensor *t = cm__t(g, x);
    cm_dim           channels = t->dims[t->rank - 1];
    int32_t          rank = t->rank, inputs[5] = {-1, scale, shift, -1, -1};
    int64_t          to[CM__RANK_MAX] = {0}, from[CM__RANK_MAX] = {0};
    cm__attr         there = {.key = CM_ATTR_PERM, .count = rank, .ints = to}, back = {.key = CM_ATTR_PERM, .count = rank, .ints = from};
    if (cm__only_reader(f, g->nodes[difference].outputs[0]) != product) return;
    for (int32_t i = 1; i < rank; i++) to[i] = i == 1 ? rank - 1 : i - 1, from[i] = i == rank - 1 ? 1 : i + 1;
    inputs[0] = cm__put(f, difference, CM_OP_TRANSPOSE, &x, 1, &there, 1);
    for (int32_t i = 3; i < 5; i++) inputs[i] = cm__leaf(g, "absent", CM_ROLE_CONSTANT, CM_FP32, 1, &channels);
    int32_t y = cm__put(f, product, CM_OP_BATCH_NORM, inputs, 5, NULL, 0);
    cm__rewrite(f, last, CM_OP_TRANSPOSE, &y, 1, &back, 1);
}

/* (x - mean) * rsqrt(variance + epsilon), scaled and shifted; the root may be scaled first */
void cm__fuse_written_norm(cm__fuser *f, int32_t node)
{
    const cm_node *n = &f->g->nodes[node];
    int32_t        add = f->eager || n->op != CM_OP_RECIPROCAL ? -1 : cm__made_by(f, n->inputs[0], CM_OP_ADD), read = n->outputs[0];
    int32_t        last = add < 0 ? -1 : reader_through_views(f, &read);
    int64_t        axis[CM__RANK_MAX];
    if (last < 0 || f->g->nodes[last].op != CM_OP_MUL) return;
    int32_t d = cm__other_input(&f->g->nodes[last], read), scale = parameter(f, d);
    if (scale >= 0) {
        read = f->g->nodes[last].outputs[0];
        last = reader_through_views(f, &read);
        if (last < 0 || f->g->nodes[last].op != CM_OP_MUL) return;
        d = cm__other_input(&f->g->nodes[last], read);
    }
    int32_t difference = cm__made_by(f, d, CM_OP_SUB), x = difference < 0 ? d : f->g->nodes[difference].inputs[0];
    int32_t sum = difference < 0 ? mean_of(f, f->g->nodes[add].inputs[0], -1) : mean_of(f, f->g->nodes[difference].inputs[1], x);
    if (sum < 0 || !cm__comes_from(f, f->g->nodes[add].inputs[0], under(f, x), 2 * DEPTH)) return;
    if (scale < 0) scale = following(f, &last, CM_OP_MUL);
    int32_t product = last, shift = scale < 0 || difference < 0 ? -1 : following(f, &last, CM_OP_ADD), rank = cm__t(f->g, x)->rank;
    int32_t axes = cm__int_list(f->g, &f->g->nodes[sum], CM_ATTR_AXES, 1, axis, CM__RANK_MAX);
    if (axes == 1 && (axis[0] == -1 || axis[0] == rank - 1)) {
        cm__attr along = CM__INTS(CM_ATTR_AXIS, -1);
        cm__rewrite(f, last, difference < 0 ? CM_OP_RMS_NORM : CM_OP_LAYER_NORM, (int32_t[]){x, scale, shift}, 1 + (scale >= 0) + (shift >= 0),
                    &along, 1);
    } else if (axes == rank - 1 && axis[axes - 1] == rank - 2 && shift >= 0)
        batch_norm(f, difference, product, last, x, scale, shift);
}
