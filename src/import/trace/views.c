/* SPDX-License-Identifier: Apache-2.0 */
/* views.c - rules of aten.def for operators that change shape and strides and move no data. */
#include "import/trace/rules.h"

/* The recorded shape is sufficient for all of these operators. */
void cm__aten_reshape(cm__trace *t, const cm__trace_op *o, int op)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0);
    int32_t                 inputs[] = {cm__trace_need(t, o, 0), cm__trace_shape(t, y->rank, y->dims)};
    cm__attr                exact = CM__INTS(CM_ATTR_ALLOWZERO, 1);
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, 2, &exact, 1));
}

void cm__aten_expand(cm__trace *t, const cm__trace_op *o, int op)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0);
    int32_t                 inputs[] = {cm__trace_need(t, o, 0), cm__trace_shape(t, y->rank, y->dims)};
    const cm_tensor        *x = cm__t(t->g, inputs[0]);
    bool                    same = x->rank == y->rank;
    for (int32_t i = 0; same && i < x->rank; i++) same = cm__dim_same(x->dims[i], y->dims[i]);
    cm__trace_made(t, o, 0,
                   same ? inputs[0] : cm__emit(t->g, op, cm__trace_name(t, o), inputs, 2, NULL, 0));
}

static void permuted(cm__trace *t, const cm__trace_op *o, int op, const int64_t *order, int32_t rank)
{
    int32_t  x = cm__trace_need(t, o, 0);
    cm__attr perm = {.key = CM_ATTR_PERM, .count = rank, .ints = order};
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), &x, 1, &perm, 1));
}

void cm__aten_permute(cm__trace *t, const cm__trace_op *o, int op)
{
    int64_t order[CM__RANK_MAX];
    int32_t n = cm__trace_ints(t, o, "dims", order, CM__RANK_MAX);
    if (n < 0) cm__fail(t->ctx, CM_ERR_FORMAT, "permute without 'dims'");
    permuted(t, o, op, order, n);
}

/* t and transpose: exchange two dimensions. */
void cm__aten_transpose(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t x = cm__trace_need(t, o, 0), rank = x < 0 ? 0 : cm__t(t->g, x)->rank;
    int64_t order[CM__RANK_MAX];
    for (int32_t i = 0; i < rank; i++) order[i] = i;
    if (rank < 2) {
        cm__trace_made(t, o, 0, x);
        return;
    }
    int32_t a = cm__axis(t->g, cm__trace_int(t, o, "dim0", 0), rank);
    int32_t b = cm__axis(t->g, cm__trace_int(t, o, "dim1", 1), rank);
    order[a] = b;
    order[b] = a;
    permuted(t, o, op, order, rank);
}

/* Select one index of a dimension and remove the dimension. */
void cm__aten_select(cm__trace *t, const cm__trace_op *o, int op)
{
    cm__attr axis = CM__INTS(CM_ATTR_AXIS, cm__trace_int(t, o, "dim", 0));
    cm_dim   at = cm__trace_dim(t, o, "index", 0);
    int32_t  inputs[] = {cm__trace_need(t, o, 0),
                         cm__constant_scalar(t->g, "index", CM_INT64, at.per_batch ? -1 : (double)at.fixed)};
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, 2, &axis, 1));
}

/* Whether an operator's output has the shape of its first input. */
static bool keeps_shape(const cm__trace *t, const cm__trace_op *o)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0), *x = &t->tensors[o->in[0]];
    bool                    same = x->rank == y->rank;
    for (int32_t i = 0; same && i < x->rank; i++) same = cm__dim_same(x->dims[i], y->dims[i]);
    return same;
}

/* x[:] is the tensor itself: PyTorch 2 records nothing for it, and it has no backward. A slice with an end that happens
   to contain everything, as C++ code makes when it pads an image circularly, has one. */
void cm__aten_slice(cm__trace *t, const cm__trace_op *o, int op)
{
    cm_dim start = cm__trace_dim(t, o, "start", 0), end = cm__trace_dim(t, o, "end", INT64_MAX);
    if (cm__trace_need(t, o, 0) >= 0 && keeps_shape(t, o) && !end.per_batch && end.fixed == INT64_MAX) {
        cm__trace_made(t, o, 0, cm__trace_need(t, o, 0));
        return;
    }
    cm_dim  axis = cm__fixed(cm__trace_int(t, o, "dim", 0)), step = cm__fixed(cm__trace_int(t, o, "step", 1));
    int32_t inputs[] = {cm__trace_need(t, o, 0), cm__trace_shape(t, 1, &start), cm__trace_shape(t, 1, &end),
                        cm__trace_shape(t, 1, &axis), cm__trace_shape(t, 1, &step)};
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, 5, NULL, 0));
}

static const int32_t *parts(cm__trace *t, const cm__trace_op *o, int op, const int64_t *sizes, int64_t dim)
{
    int32_t  x = cm__trace_need(t, o, 0);
    cm__attr attrs[] = {CM__INTS(CM_ATTR_AXIS, dim), {.key = CM_ATTR_SPLIT, .count = o->n_out, .ints = sizes}};
    return cm__emit_node(t->g, op, cm__trace_name(t, o), &x, 1, attrs, 2, o->n_out)->outputs;
}

/* The only part of a split is a view of the whole; its gradient is copied (cat of one tensor in split_backward,
   torch/csrc/autograd/FunctionsManual.cpp), as that of a slice that contains everything. */
static void only_part(cm__trace *t, const cm__trace_op *o)
{
    cm_dim  start = cm__fixed(0), end = cm__fixed(INT64_MAX), axis = cm__fixed(cm__trace_int(t, o, "dim", 0)),
            step = cm__fixed(1);
    int32_t inputs[] = {cm__trace_need(t, o, 0), cm__trace_shape(t, 1, &start), cm__trace_shape(t, 1, &end),
                        cm__trace_shape(t, 1, &axis), cm__trace_shape(t, 1, &step)};
    cm__trace_made(t, o, 0, cm__emit(t->g, CM_OP_SLICE, cm__trace_name(t, o), inputs, 5, NULL, 0));
}

void cm__aten_split(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  x = cm__trace_need(t, o, 0);
    if (x >= 0 && o->n_out == 1 && keeps_shape(t, o)) {
        only_part(t, o);
        return;
    }
    int64_t  dim = cm__trace_int(t, o, "dim", 0), *sizes = cm__alloc_array(t->ctx, (size_t)o->n_out, sizeof *sizes);
    int32_t  axis = cm__axis(t->g, dim, x < 0 ? 0 : cm__t(t->g, x)->rank);
    for (int32_t i = 0; i < o->n_out; i++) {
        const cm__trace_tensor *y = cm__trace_out(t, o, i);
        if (axis >= y->rank || y->dims[axis].per_batch) cm__fail(t->ctx, CM_ERR_UNSUPPORTED, "a split batch");
        sizes[i] = y->dims[axis].fixed;
    }
    const int32_t *made = parts(t, o, op, sizes, axis);
    for (int32_t i = 0; i < o->n_out; i++) cm__trace_made(t, o, i, made[i]);
}

/* unbind: one output per index of the dimension, without the dimension. */
void cm__aten_unbind(cm__trace *t, const cm__trace_op *o, int op)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0);
    int64_t                *sizes = cm__alloc_array(t->ctx, (size_t)o->n_out, sizeof *sizes);
    for (int32_t i = 0; i < o->n_out; i++) sizes[i] = 1;
    const int32_t *made = parts(t, o, op, sizes, cm__trace_int(t, o, "dim", 0));
    int32_t        shape = cm__trace_shape(t, y->rank, y->dims);
    for (int32_t i = 0; i < o->n_out; i++)
        cm__trace_made(t, o, i,
                       cm__emit(t->g, CM_OP_RESHAPE, cm__trace_name(t, o), (int32_t[]){made[i], shape}, 2, NULL, 0));
}

void cm__aten_alias(cm__trace *t, const cm__trace_op *o, int op)
{
    (void)op;
    int32_t x = cm__trace_need(t, o, 0);
    if (x < 0) cm__fail(t->ctx, CM_ERR_FORMAT, "%s of nothing", o->full);
    cm__trace_made(t, o, 0, x);
}
