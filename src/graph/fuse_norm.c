/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse_norm.c - normalisations written out: layer and RMS normalisation as x (or x - mean) over the root of its mean
 * square, scaled; group normalisation as an instance normalisation of reshaped groups.
 */
#include "graph/fuse.h"

/* The mean over the last dimension alone: what a layer norm takes. */
static int32_t mean_over_last(const cm__fuser *f, int32_t tensor)
{
    int32_t mean = cm__made_by(f, tensor, CM_OP_REDUCE_MEAN);
    if (mean < 0) return -1;
    const cm_node *n = &f->g->nodes[mean];
    int32_t        rank = cm__in(f->g, n, 0)->rank;
    int64_t        axis[CM__RANK_MAX];
    bool last =
        cm__int_list(f->g, n, CM_ATTR_AXES, 1, axis, CM__RANK_MAX) == 1 && (axis[0] == -1 || axis[0] == rank - 1);
    return last && cm__attr_int(n, CM_ATTR_KEEPDIMS, 1) ? mean : -1;
}

/* d where `tensor` is the mean of d squared, plus a number; -1 otherwise. */
static int32_t squared_under(const cm__fuser *f, int32_t tensor)
{
    double  number;
    int32_t add = cm__made_by(f, tensor, CM_OP_ADD);
    if (add < 0) return -1;
    const cm_node *a = &f->g->nodes[add];
    int            at = cm__is_number(f, a->inputs[1], &number) ? 0 : 1;
    int32_t        mean = cm__is_number(f, a->inputs[1 - at], &number) ? mean_over_last(f, a->inputs[at]) : -1;
    if (mean < 0) return -1;
    int32_t square = f->g->nodes[mean].inputs[0], power = cm__made_by(f, square, CM_OP_POW),
            product = cm__made_by(f, square, CM_OP_MUL);
    if (power >= 0 && cm__is_number(f, f->g->nodes[power].inputs[1], &number) && number == 2)
        return f->g->nodes[power].inputs[0];
    if (product >= 0 && f->g->nodes[product].inputs[0] == f->g->nodes[product].inputs[1])
        return f->g->nodes[product].inputs[0];
    return -1;
}

/* x where `tensor` is x minus its mean; -1 otherwise. */
static int32_t centred(const cm__fuser *f, int32_t tensor)
{
    int32_t sub = cm__made_by(f, tensor, CM_OP_SUB);
    if (sub < 0) return -1;
    int32_t x = f->g->nodes[sub].inputs[0], mean = mean_over_last(f, f->g->nodes[sub].inputs[1]);
    return mean >= 0 && f->g->nodes[mean].inputs[0] == x ? x : -1;
}

/* The node that divides d by the root: Div(d, root), or Mul(d, 1/root). */
static int32_t quotient(const cm__fuser *f, int32_t node, int32_t d)
{
    const cm_node *n = &f->g->nodes[node];
    int32_t        root = n->outputs[0], inverse = cm__only_reader_op(f, root, CM_OP_RECIPROCAL);
    bool           inverted = n->op == CM_OP_POW || inverse >= 0;
    if (inverse >= 0) root = f->g->nodes[inverse].outputs[0];
    int32_t last = cm__only_reader_op(f, root, inverted ? CM_OP_MUL : CM_OP_DIV);
    if (last < 0 || cm__other_input(&f->g->nodes[last], root) != d) return -1;
    return !inverted && f->g->nodes[last].inputs[0] != d ? -1 : last;
}

/* A parameter of one dimension, seen through `views` that give it more of size 1; -1 otherwise. */
static int32_t vector(const cm__fuser *f, int32_t tensor, bool views)
{
    for (int32_t view; views && tensor >= 0; tensor = f->g->nodes[view].inputs[0]) {
        view = cm__made_by(f, tensor, CM_OP_UNSQUEEZE);
        if (view < 0) view = cm__made_by(f, tensor, CM_OP_RESHAPE);
        if (view < 0) break;
    }
    if (tensor < 0 || cm__t(f->g, tensor)->role != CM_ROLE_PARAMETER || cm__t(f->g, tensor)->rank != 1) return -1;
    return tensor;
}

/* A following Mul or Add by a vector parameter; moves `last` on and returns the parameter. */
static int32_t affine(const cm__fuser *f, int32_t *last, int op, bool views)
{
    int32_t t = f->g->nodes[*last].outputs[0], next = cm__only_reader(f, t);
    if (next >= 0 && f->g->nodes[next].op == CM_OP_CAST) {
        t = f->g->nodes[next].outputs[0];
        next = cm__only_reader(f, t);
    }
    if (next < 0 || f->g->nodes[next].op != op) return -1;
    int32_t parameter = vector(f, cm__other_input(&f->g->nodes[next], t), views);
    if (parameter >= 0) *last = next;
    return parameter;
}

/* Written by hand, as Llama's and T5's: libraries compute it in fp32 whatever the model's type, and go back to that. */
static void mark_wide(const cm__fuser *f, int32_t node, int32_t last)
{
    int32_t add = cm__t(f->g, f->g->nodes[node].inputs[0])->producer, mean = -1;
    for (int i = 0; i < 2 && mean < 0; i++) mean = mean_over_last(f, f->g->nodes[add].inputs[i]);
    int32_t root = f->g->nodes[node].outputs[0], inverse = cm__only_reader_op(f, root, CM_OP_RECIPROCAL),
            square = cm__t(f->g, f->g->nodes[mean].inputs[0])->producer;
    const int32_t inside[] = {square, mean, add, node, inverse};
    for (int i = 0; i < 5; i++)
        if (inside[i] >= 0) cm__attr_add(f->g->ctx, &f->g->nodes[inside[i]], CM__INTS(CM_ATTR_WIDE, 1));
    cm__attr_add(f->g->ctx, &f->g->nodes[last], CM__INTS(CM_ATTR_WIDE, 2));
}

void cm__fuse_norm(cm__fuser *f, int32_t node)
{
    const cm_node *n = &f->g->nodes[node];
    double         power;
    bool root = n->op == CM_OP_SQRT || (n->op == CM_OP_POW && cm__is_number(f, n->inputs[1], &power) && power == -0.5);
    int32_t        d = root ? squared_under(f, n->inputs[0]) : -1, last = d < 0 ? -1 : quotient(f, node, d);
    if (last < 0) return;
    int32_t  x = centred(f, d), inputs[3] = {x >= 0 ? x : d}, count = 1;
    if (f->eager && x < 0) {
        mark_wide(f, node, last);
        return;
    }
    int32_t  scale = affine(f, &last, CM_OP_MUL, false),
             shift = scale >= 0 && x >= 0 ? affine(f, &last, CM_OP_ADD, false) : -1;
    cm__attr axis = CM__INTS(CM_ATTR_AXIS, -1);
    if (scale >= 0) inputs[count++] = scale;
    if (shift >= 0) inputs[count++] = shift;
    cm__rewrite(f, last, x >= 0 ? CM_OP_LAYER_NORM : CM_OP_RMS_NORM, inputs, count, &axis, 1);
}

/* Channels are put into groups by a Reshape, normalised as an instance's, and put back. */
void cm__fuse_group_norm(cm__fuser *f, int32_t node)
{
    const cm_node *n = &f->g->nodes[node];
    int32_t        apart = n->op == CM_OP_INSTANCE_NORM ? cm__made_by(f, n->inputs[0], CM_OP_RESHAPE) : -1,
            last = apart < 0 ? -1 : cm__only_reader_op(f, n->outputs[0], CM_OP_RESHAPE);
    if (last < 0) return;
    int32_t          inputs[3] = {f->g->nodes[apart].inputs[0]}, count = 1;
    const cm_tensor *x = cm__t(f->g, inputs[0]), *groups = cm__in(f->g, n, 0);
    if (x->rank < 2 || groups->rank != 3 || !cm__same_shape(x, cm__t(f->g, f->g->nodes[last].outputs[0])) ||
        !cm__dim_same(x->dims[0], groups->dims[0]) || cm__dim_same(x->dims[1], groups->dims[1]) ||
        groups->dims[1].per_batch != 0)
        return;
    cm__attr attr = CM__INTS(CM_ATTR_NUM_GROUPS, groups->dims[1].fixed);
    int32_t  scale = affine(f, &last, CM_OP_MUL, true), shift = scale >= 0 ? affine(f, &last, CM_OP_ADD, true) : -1;
    if (scale >= 0) inputs[count++] = scale;
    if (shift >= 0) inputs[count++] = shift;
    cm__rewrite(f, last, CM_OP_GROUP_NORM, inputs, count, &attr, 1);
}
