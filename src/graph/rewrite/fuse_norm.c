/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse_norm.c - normalisations written out: layer and RMS normalisation as x (or x - mean) over the root of its mean
 * square, scaled; group normalisation as an instance normalisation of reshaped groups.
 */
#include "graph/rewrite/fuse.h"
#include "graph/rewrite/roles.h"

/* Whether a node is the mean over the last dimension only, as in layer normalisation. */
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
    bool           inverted = n->op == CM_OP_POW || n->op == CM_OP_RECIPROCAL || inverse >= 0;
    if (inverse >= 0) root = f->g->nodes[inverse].outputs[0];
    int32_t last = cm__only_reader_op(f, root, inverted ? CM_OP_MUL : CM_OP_DIV);
    if (last < 0 || cm__other_input(&f->g->nodes[last], root) != d) return -1;
    return !inverted && f->g->nodes[last].inputs[0] != d ? -1 : last;
}

/* Whether a tensor varies along an image's channels (its second dimension) and no other dimension. */
static bool is_per_channel(const cm_tensor *t, const cm_tensor *image)
{
    int32_t channels = t->rank - image->rank + 1;
    if (channels < 0 || !cm__dim_same(t->dims[channels], image->dims[1])) return false;
    for (int32_t i = 0; i < t->rank; i++)
        if (i != channels && !cm__dim_is(t->dims[i], 1)) return false;
    return true;
}

/* A one-dimensional parameter; for an image's channels also through views that add dimensions of size 1, or through
   the exporter's computation on scale and shift. -1 otherwise. */
static int32_t vector(const cm__fuser *f, int32_t tensor, const cm_tensor *image)
{
    if (tensor < 0 || (image && !is_per_channel(cm__t(f->g, tensor), image))) return -1;
    for (int32_t view; image; tensor = f->g->nodes[view].inputs[0]) {
        view = cm__made_by(f, tensor, CM_OP_UNSQUEEZE);
        if (view < 0) view = cm__made_by(f, tensor, CM_OP_RESHAPE);
        if (view < 0) break;
    }
    const cm_tensor *t = cm__t(f->g, tensor);
    bool             stored = t->producer < 0 && t->role != CM_ROLE_INPUT;
    bool             folded = image && stored && t->rank > 1 && cm__name_is_invented(t->name);
    return folded || (t->role == CM_ROLE_PARAMETER && t->rank == 1) ? tensor : -1;
}

/* A following Mul or Add by a vector parameter; advances `last` to it and returns the parameter. */
static int32_t affine(const cm__fuser *f, int32_t *last, int op, const cm_tensor *image)
{
    int32_t t = f->g->nodes[*last].outputs[0], next = cm__only_reader(f, t);
    if (next >= 0 && f->g->nodes[next].op == CM_OP_CAST) {
        t = f->g->nodes[next].outputs[0];
        next = cm__only_reader(f, t);
    }
    if (next < 0 || f->g->nodes[next].op != op) return -1;
    int32_t parameter = vector(f, cm__other_input(&f->g->nodes[next], t), image);
    if (parameter >= 0) *last = next;
    return parameter;
}

/* Written by hand, as in Llama and T5: libraries compute it in fp32 in any model and cast back to the model's type. */
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
    bool root = n->op == CM_OP_SQRT || n->op == CM_OP_RECIPROCAL /* PyTorch's rsqrt */ ||
                (n->op == CM_OP_POW && cm__is_number(f, n->inputs[1], &power) && power == -0.5);
    int32_t        d = root ? squared_under(f, n->inputs[0]) : -1, last = d < 0 ? -1 : quotient(f, node, d);
    if (last < 0) return;
    int32_t  x = centred(f, d), inputs[3] = {x >= 0 ? x : d}, count = 1;
    if (!f->norms && x < 0) {
        mark_wide(f, node, last);
        return;
    }
    if (f->marks_only) return;
    int32_t upcast = x < 0 ? cm__made_by(f, d, CM_OP_CAST) : -1; /* the kernel casts as it reads */
    if (upcast >= 0) inputs[0] = f->g->nodes[upcast].inputs[0];
    int32_t  scale = affine(f, &last, CM_OP_MUL, NULL),
             shift = scale >= 0 && x >= 0 ? affine(f, &last, CM_OP_ADD, NULL) : -1;
    cm__attr axis = CM__INTS(CM_ATTR_AXIS, -1);
    if (scale >= 0) inputs[count++] = scale;
    if (shift >= 0) inputs[count++] = shift;
    cm__rewrite(f, last, x >= 0 ? CM_OP_LAYER_NORM : CM_OP_RMS_NORM, inputs, count, &axis, 1);
}

/* Whether an operand is absent, or all of its known elements are this number. */
static bool may_be_all(const cm__fuser *f, const cm_node *n, int32_t input, double number)
{
    if (!cm__has(n, input)) return true;
    const cm_tensor *t = cm__in(f->g, n, input);
    for (int64_t i = 0; t->value && cm__is_float(t->dtype) && i < cm__small_count(t); i++)
        if (t->value[i].f != number) return false;
    return true;
}

/* Whether x is reshaped to groups of its channels and, after normalisation, back. */
static bool are_groups(const cm_tensor *x, const cm_tensor *groups, const cm_tensor *back)
{
    if (x->rank < 2 || groups->rank != 3 || !cm__same_shape(x, back)) return false;
    cm_dim channels = x->dims[1], count = groups->dims[1];
    return cm__dim_same(x->dims[0], groups->dims[0]) && !channels.per_batch && !count.per_batch && count.fixed > 0 &&
           channels.fixed > count.fixed && channels.fixed % count.fixed == 0;
}

/* The parameter itself, or a new one in place of what an exporter computed from it. */
static int32_t trained(cm__fuser *f, int32_t tensor, const char *norm, const char *name)
{
    const cm_tensor t = *cm__t(f->g, tensor);
    if (t.rank == 1) return tensor;
    cm__t(f->g, tensor)->role = CM_ROLE_CONSTANT;
    cm_dim size = cm__fixed((int64_t)cm_tensor_elements(&t).c[0]);
    return cm__leaf(f->g, cm__format(f->g->ctx, "%s.%s", norm, name), CM_ROLE_PARAMETER, t.dtype, 1, &size);
}

/* Constant ones and zeros that the exporter wrote are not parameters of the model. */
static void forget_factors(cm__fuser *f, const cm_node *n, int32_t node)
{
    for (int32_t i = 1; i < 3; i++)
        if (cm__has(n, i) && cm__only_reader(f, n->inputs[i]) == node)
            cm__t(f->g, n->inputs[i])->role = CM_ROLE_CONSTANT;
}

/* Group normalisation: a Reshape into groups, an instance normalisation by ones and zeros, a Reshape back. */
void cm__fuse_group_norm(cm__fuser *f, int32_t node)
{
    const cm_node n = f->g->nodes[node];
    const int32_t grouped = n.op == CM_OP_INSTANCE_NORM ? cm__made_by(f, n.inputs[0], CM_OP_RESHAPE) : -1;
    int32_t       last = grouped < 0 ? -1 : cm__only_reader_op(f, n.outputs[0], CM_OP_RESHAPE);
    if (last < 0 || !may_be_all(f, &n, 1, 1) || !may_be_all(f, &n, 2, 0)) return;
    int32_t          inputs[3] = {f->g->nodes[grouped].inputs[0]}, count = 1;
    const cm_tensor *x = cm__t(f->g, inputs[0]), *groups = cm__in(f->g, &n, 0);
    if (!are_groups(x, groups, cm__t(f->g, f->g->nodes[last].outputs[0]))) return;
    cm__attr    attr = CM__INTS(CM_ATTR_NUM_GROUPS, groups->dims[1].fixed);
    int32_t     scale = affine(f, &last, CM_OP_MUL, x), shift = scale >= 0 ? affine(f, &last, CM_OP_ADD, x) : -1;
    const char *name = f->g->nodes[last].name;
    if (scale >= 0) inputs[count++] = trained(f, scale, name, "weight");
    if (shift >= 0) inputs[count++] = trained(f, shift, name, "bias");
    if (cm__rewrite(f, last, CM_OP_GROUP_NORM, inputs, count, &attr, 1)) forget_factors(f, &n, node);
}
