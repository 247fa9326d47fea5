/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - rules of aten.def for elementwise operators, reductions, copies, look-ups, generators. */
#include "import/trace/rules.h"

#include <string.h>

/* ---- elementwise ------------------------------------------------------------------------------------------------ */

/* An operand, or the number given instead of it. */
static int32_t operand(cm__trace *t, const cm__trace_op *o, int32_t index, const char *key)
{
    int32_t x = cm__trace_in(t, o, index);
    if (x >= 0) return x;
    double value = cm__trace_real(o, key, 0);
    return cm__constant_scalar(t->g, cm__format(t->ctx, "%.9g", value), CM_FP32, value);
}

/* An integer tensor combined with a real number gives reals: the kernel widens it as it reads. */
static int32_t as_recorded(cm__trace *t, const cm__trace_op *o, int32_t y)
{
    cm_dtype want = cm__trace_out(t, o, 0)->dtype;
    if (!cm__is_float(want) || cm__is_float(cm__t(t->g, y)->dtype)) return y;
    return cm__emit_cast(t->g, cm__trace_name(t, o), y, want);
}

void cm__aten_unary(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t x = cm__trace_need(t, o, 0);
    cm__trace_made(t, o, 0, as_recorded(t, o, cm__emit(t->g, op, cm__trace_name(t, o), &x, 1, NULL, 0)));
}

/* Bounds are numbers or tensors, and there may be one of them. */
void cm__aten_clamp(cm__trace *t, const cm__trace_op *o, int op)
{
    bool     tensors = o->n_in > 1, both = cm__trace_has(o, "min") && cm__trace_has(o, "max");
    bool     zeros = !tensors && (cm__trace_real(o, "min", 1) == 0 || cm__trace_real(o, "max", 1) == 0);
    cm__attr bound = CM__INTS(CM_ATTR_ZEROS, 1);
    int32_t  x = cm__trace_need(t, o, 0);
    int      clamp = tensors ? CM_OP_CLAMP_TENSOR : both ? op : CM_OP_CLAMP_ONE;
    cm__trace_made(t, o, 0, as_recorded(t, o, cm__emit(t->g, clamp, cm__trace_name(t, o), &x, 1, &bound, zeros)));
}

void cm__aten_binary(cm__trace *t, const cm__trace_op *o, int op)
{
    static const struct {
        const char *name, *number;
    } numbers[] = {{"pow", "exponent"}};
    const char *key = "other";
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(numbers[i].name, o->name) == 0) key = numbers[i].number;
    int32_t first = operand(t, o, 0, "self"), second = operand(t, o, 1, key);
    bool    reversed = strcmp(o->name, "rsub") == 0;
    int32_t inputs[] = {reversed ? second : first, reversed ? first : second};
    cm__trace_made(t, o, 0, as_recorded(t, o, cm__emit(t->g, op, cm__trace_name(t, o), inputs, 2, NULL, 0)));
}

/* PyTorch's has two tensors. In a JAX step the larger of a tensor and 0 is a ReLU, whose backward reads the result. */
void cm__aten_maximum(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t first = cm__trace_in(t, o, 0), second = cm__trace_in(t, o, 1), x = first >= 0 ? first : second;
    double  number = first < 0 ? cm__trace_real(o, "self", 0) : second < 0 ? cm__trace_real(o, "other", 0) : 1;
    if (number != 0 || x < 0) cm__aten_binary(t, o, op);
    else cm__trace_made(t, o, 0, as_recorded(t, o, cm__emit(t->g, CM_OP_RELU, cm__trace_name(t, o), &x, 1, NULL, 0)));
}

void cm__aten_where(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t inputs[] = {cm__trace_need(t, o, 0), operand(t, o, 1, "self"), operand(t, o, 2, "other")};
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, 3, NULL, 0));
}

void cm__aten_lerp(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t inputs[] = {cm__trace_need(t, o, 0), cm__trace_need(t, o, 1), operand(t, o, 2, "weight")};
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, 3, NULL, 0));
}

/* PyTorch copies the tensor and then changes the copy in place. */
void cm__aten_masked_fill(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  inputs[] = {cm__trace_in(t, o, 1), operand(t, o, 2, "value"), cm__trace_need(t, o, 0)};
    cm__attr copies = CM__INTS(CM_ATTR_COPIES, 1);
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, 3, &copies, !o->in_place));
}

void cm__aten_dropout(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  x = cm__trace_need(t, o, 0);
    cm__attr ratio = CM__REAL(CM_ATTR_RATIO, cm__trace_real(o, "p", 0.5));
    cm__emit(t->g, op, cm__trace_name(t, o), &x, 1, &ratio, 1);
    const int32_t *made = cm__last(t->g)->outputs;
    cm__trace_made(t, o, 0, made[0]);
    cm__trace_made(t, o, 1, made[1]);
}

/* ---- reductions ------------------------------------------------------------------------------------------------- */

static int32_t reduced(cm__trace *t, const cm__trace_op *o, int op)
{
    int64_t  axes[CM__RANK_MAX];
    int32_t  x = cm__trace_need(t, o, 0), n = cm__trace_ints(t, o, "dim", axes, CM__RANK_MAX);
    int64_t  keep = n > 0 && cm__trace_int(t, o, "keepdim", 0);
    bool     places = n > 0 && o->n_out > 1 && (op == CM_OP_REDUCE_MAX || op == CM_OP_REDUCE_MIN);
    cm__attr attrs[] = {CM__INTS(CM_ATTR_KEEPDIMS, keep), {.key = CM_ATTR_AXES, .count = n, .ints = axes},
                        CM__INTS(CM_ATTR_PLACES, 1)};
    return cm__emit(t->g, op, cm__trace_name(t, o), &x, 1, attrs, places ? 3 : n > 0 ? 2 : 1);
}

void cm__aten_reduce(cm__trace *t, const cm__trace_op *o, int op) { cm__trace_made(t, o, 0, reduced(t, o, op)); }

void cm__aten_argument(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  x = cm__trace_need(t, o, 0);
    cm__attr attrs[] = {CM__INTS(CM_ATTR_AXIS, cm__trace_int(t, o, "dim", 0)),
                        CM__INTS(CM_ATTR_KEEPDIMS, cm__trace_int(t, o, "keepdim", 0))};
    if (!cm__trace_has(o, "dim")) cm__fail(t->ctx, CM_ERR_UNSUPPORTED, "the place of the largest of all");
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), &x, 1, attrs, 2));
}

/* max and min: of two tensors, along a dimension (with indices), or of all elements. */
void cm__aten_extreme(cm__trace *t, const cm__trace_op *o, int op)
{
    bool largest = op == CM_OP_REDUCE_MAX;
    if (cm__trace_in(t, o, 1) >= 0) {
        cm__aten_binary(t, o, largest ? CM_OP_MAX : CM_OP_MIN);
        return;
    }
    cm__trace_made(t, o, 0, reduced(t, o, op));
    if (o->n_out < 2 || o->out[1] < 0 || !t->tensors[o->out[1]].readers) return;
    cm__trace_op places = *o;
    places.out++;
    places.n_out--;
    cm__aten_argument(t, &places, largest ? CM_OP_ARG_MAX : CM_OP_ARG_MIN);
}

void cm__aten_cumulative(cm__trace *t, const cm__trace_op *o, int op)
{
    int64_t axis = cm__trace_int(t, o, "dim", 0);
    int32_t inputs[] = {cm__trace_need(t, o, 0), cm__constant_ints(t->g, "axis", 1, &axis)};
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, 2, NULL, 0));
}

void cm__aten_top_k(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  x = cm__trace_need(t, o, 0);
    cm__attr attrs[] = {CM__INTS(CM_ATTR_K, cm__trace_int(t, o, "k", 1)),
                        CM__INTS(CM_ATTR_AXIS, cm__trace_int(t, o, "dim", -1))};
    cm__emit(t->g, op, cm__trace_name(t, o), &x, 1, attrs, 2);
    const int32_t *made = cm__last(t->g)->outputs;
    for (int32_t i = 0; i < 2; i++) cm__trace_made(t, o, i, made[i]);
}

/* ---- copies ----------------------------------------------------------------------------------------------------- */

static bool by_autocast(const cm__trace *t, cm_dtype from, cm_dtype to)
{
    return t->autocast != CM_FP32 && ((from == CM_FP32 && to == t->autocast) || (from == t->autocast && to == CM_FP32));
}

/* A cast that may be a no-op in some precision, where the precision pass omits it. */
void cm__aten_cast(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t                 x = cm__trace_need(t, o, 0);
    const cm__trace_tensor *from = &t->tensors[o->in[0]], *want = cm__trace_out(t, o, 0);
    cm__attr                attrs[] = {CM__INTS(CM_ATTR_TO, want->dtype), CM__INTS(CM_ATTR_UNDER_AUTOCAST, 1)};
    bool                    low = strcmp(o->full, "aten::to.autocast") == 0;
    bool                    same = !low && from->dtype == want->dtype && (!t->typed || from->low == want->low);
    cm__trace_made(t, o, 0, same ? x : cm__emit(t->g, op, cm__trace_name(t, o), &x, 1, attrs, low ? 2 : 1));
}

/* A copy that makes a tensor contiguous, unless the cast before it runs, whose result is contiguous. */
void cm__aten_contiguous(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  x = cm__trace_need(t, o, 0);
    cm__attr after_cast = CM__INTS(CM_ATTR_UNLESS_CAST, 1);
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), &x, 1, &after_cast, 1));
}

/* Casts by autocast are omitted: the precision pass adds them for the precision of the prediction. */
void cm__aten_to_copy(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  x = cm__trace_need(t, o, 0);
    cm_dtype from = t->tensors[o->in[0]].own, want = cm__trace_out(t, o, 0)->own;
    if (by_autocast(t, from, want)) cm__trace_made(t, o, 0, x);
    else if (from == want) cm__aten_unary(t, o, CM_OP_COPY);
    else cm__aten_cast(t, o, op);
}

/* copy_(into, from): `into` has the contents of `from` afterwards. */
void cm__aten_copy_into(cm__trace *t, const cm__trace_op *o, int op)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0);
    int32_t                 x = cm__trace_in(t, o, 1);
    if (x < 0 || cm__trace_need(t, o, 0) < 0) cm__fail(t->ctx, CM_ERR_FORMAT, "copy_ without two tensors");
    int32_t wide[] = {x, cm__trace_shape(t, y->rank, y->dims)};
    cm__attr to = CM__INTS(CM_ATTR_TO, y->dtype);
    bool     same_type = cm__t(t->g, x)->dtype == y->dtype;
    int32_t  spread = cm__emit(t->g, CM_OP_EXPAND, cm__trace_name(t, o), wide, 2, NULL, 0);
    cm__trace_made(t, o, 0,
                   cm__emit(t->g, same_type ? op : CM_OP_CAST, cm__trace_name(t, o), &spread, 1, &to, !same_type));
}

/* ---- joins and look-ups ----------------------------------------------------------------------------------------- */

static bool holds_nothing(const cm_tensor *x) { return x->rank == 1 && cm__dim_is(x->dims[0], 0); }

void cm__aten_cat(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t *inputs = cm__alloc_array(t->ctx, (size_t)o->n_in, sizeof *inputs), n = 0;
    cm__attr axis = CM__INTS(CM_ATTR_AXIS, cm__trace_int(t, o, "dim", 0));
    for (int32_t i = 0; i < o->n_in; i++) {
        int32_t x = cm__trace_in(t, o, i);
        if (x >= 0 && !holds_nothing(cm__t(t->g, x))) inputs[n++] = x;
    }
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, n, &axis, 1));
}

static int32_t viewed_as(cm__trace *t, const cm__trace_op *o, int32_t x, int32_t shape)
{
    return cm__emit(t->g, CM_OP_RESHAPE, cm__trace_name(t, o), (int32_t[]){x, shape}, 2, NULL, 0);
}

/* PyTorch joins along the axis and splits the result by a view, so that a stack of channels-last images is in their order
   (stack in ATen/native/TensorShape.cpp). Behind the last axis it joins tensors with one more dimension. */
void cm__aten_stack(cm__trace *t, const cm__trace_op *o, int op)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0);
    int32_t                *inputs = cm__alloc_array(t->ctx, (size_t)o->n_in, sizeof *inputs);
    int32_t                 axis = cm__axis(t->g, cm__trace_int(t, o, "dim", 0), y->rank);
    bool                    behind = axis == y->rank - 1;
    cm_dim                  one[CM__RANK_MAX];
    for (int32_t i = 0; i < y->rank; i++) one[i] = i == axis ? cm__fixed(1) : y->dims[i];
    int32_t shape = cm__trace_shape(t, y->rank, behind ? one : y->dims);
    for (int32_t i = 0; i < o->n_in; i++) {
        int32_t x = cm__trace_need(t, o, i);
        inputs[i] = behind ? viewed_as(t, o, x, shape) : x;
    }
    cm__attr along = CM__INTS(CM_ATTR_AXIS, axis);
    int32_t  made = cm__emit(t->g, op, cm__trace_name(t, o), inputs, o->n_in, &along, 1);
    cm__trace_made(t, o, 0, behind ? made : viewed_as(t, o, made, shape));
}

/* PyTorch lists pads from the last dimension to the first: (left, right, top, bottom, ...). */
void cm__aten_pad(cm__trace *t, const cm__trace_op *o, int op)
{
    int64_t given[2 * CM__RANK_MAX], pads[2 * CM__RANK_MAX] = {0};
    int32_t x = cm__trace_need(t, o, 0), n = cm__trace_ints(t, o, "pad", given, 2 * CM__RANK_MAX);
    int32_t rank = x < 0 ? 0 : cm__t(t->g, x)->rank;
    if (n < 0 || n > 2 * rank) cm__fail(t->ctx, CM_ERR_FORMAT, "%d pads", n);
    for (int32_t i = 0; i + 1 < n; i += 2) {
        pads[rank - 1 - i / 2] = given[i];
        pads[2 * rank - 1 - i / 2] = given[i + 1];
    }
    cm__attr attr = {.key = CM_ATTR_PADS, .count = 2 * rank, .ints = pads};
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), &x, 1, &attr, 1));
}

void cm__aten_repeat(cm__trace *t, const cm__trace_op *o, int op)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0);
    int32_t                 x = cm__trace_need(t, o, 0), rank = cm__t(t->g, x)->rank;
    cm_dim                  dims[CM__RANK_MAX], times[CM__RANK_MAX];
    for (int32_t i = 0; i < y->rank; i++) {
        dims[i] = i < y->rank - rank ? cm__fixed(1) : cm__t(t->g, x)->dims[i - (y->rank - rank)];
        if (!cm__dim_div(y->dims[i], dims[i], &times[i])) cm__fail(t->ctx, CM_ERR_FORMAT, "no whole repeats");
    }
    int32_t wide[] = {x, cm__trace_shape(t, y->rank, dims)};
    if (rank < y->rank) x = viewed_as(t, o, wide[0], wide[1]);
    int32_t inputs[] = {x, cm__trace_shape(t, y->rank, times)};
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, 2, NULL, 0));
}

static void look_up(cm__trace *t, const cm__trace_op *o, int op, int64_t dim)
{
    int32_t  inputs[] = {cm__trace_need(t, o, 0), cm__trace_need(t, o, 1)};
    cm__attr axis = CM__INTS(CM_ATTR_AXIS, dim);
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, 2, &axis, 1));
}

void cm__aten_embedding(cm__trace *t, const cm__trace_op *o, int op) { look_up(t, o, op, 0); }

/* (table, indices, offsets): the sum of the rows that the indices of a bag select. Bags of one size are known. */
void cm__aten_embedding_bag(cm__trace *t, const cm__trace_op *o, int op)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0);
    int32_t                 inputs[] = {cm__trace_need(t, o, 0), cm__trace_need(t, o, 1)};
    const cm_tensor        *indices = cm__t(t->g, inputs[1]);
    cm_dim                  dims[3] = {y->dims[0], cm__fixed(0), y->dims[y->rank - 1]};
    if (y->rank != 2 || indices->rank != 1 || !cm__dim_div(indices->dims[0], dims[0], &dims[1]))
        cm__fail(t->ctx, CM_ERR_UNSUPPORTED, "bags of several sizes");
    cm__attr first = CM__INTS(CM_ATTR_AXIS, 0);
    cm__attr sum[] = {CM__INTS(CM_ATTR_KEEPDIMS, 0), CM__INTS(CM_ATTR_AXES, 1), CM__INTS(CM_ATTR_INSIDE, 1)};
    int32_t  rows[] = {cm__emit(t->g, op, cm__trace_name(t, o), inputs, 2, &first, 1), cm__trace_shape(t, 3, dims)};
    int32_t  bags = cm__emit(t->g, CM_OP_RESHAPE, cm__trace_name(t, o), rows, 2, NULL, 0);
    cm__trace_made(t, o, 0, cm__emit(t->g, CM_OP_REDUCE_SUM, cm__trace_name(t, o), &bags, 1, sum, 3));
}

void cm__aten_gather(cm__trace *t, const cm__trace_op *o, int op) { look_up(t, o, op, cm__trace_int(t, o, "dim", 0)); }
void cm__aten_index_select(cm__trace *t, const cm__trace_op *o, int op) { cm__aten_gather(t, o, op); }

/* (into, indices ..., from): indices of several dimensions count as one. */
/* How scatter_reduce joins numbers for the same place. */
static int64_t reduction_of(const cm__trace_op *o)
{
    const char *kind = json_string_value(json_object_get(o->attrs, "reduce"));
    if (!kind) return 0;
    if (strcmp(kind, "amax") == 0 || strcmp(kind, "amin") == 0) return CM__EXTREME;
    return strcmp(kind, "sum") == 0 ? CM__ADDS : 0;
}

void cm__aten_scatter(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t places = 1;
    while (places + 1 < o->n_in && o->in[places] < 0) places++;
    int32_t inputs[] = {cm__trace_need(t, o, 0), cm__trace_need(t, o, places), cm__trace_need(t, o, o->n_in - 1)};
    if (places + 1 >= o->n_in) cm__fail(t->ctx, CM_ERR_UNSUPPORTED, "a number is scattered");
    bool     adds = strstr(o->name, "_add") || cm__trace_int(t, o, "accumulate", 0);
    cm__attr attrs[] = {CM__INTS(CM_ATTR_REDUCTION, adds ? CM__ADDS : reduction_of(o)),
                        CM__INTS(CM_ATTR_AXIS, cm__trace_int(t, o, "dim", 0))};
    cm__trace_made(t, o, 0,
                   cm__emit(t->g, op, cm__trace_name(t, o), inputs, 3, attrs, cm__trace_has(o, "dim") ? 2 : 1));
}

void cm__aten_recorded(cm__trace *t, const cm__trace_op *o, int op) { cm__trace_recorded(t, o, op, NULL, 0); }

void cm__aten_pixel_shuffle(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  x = cm__trace_need(t, o, 0);
    const char *factor = op == CM_OP_DEPTH_TO_SPACE ? "upscale_factor" : "downscale_factor";
    cm__attr block = CM__INTS(CM_ATTR_BLOCKSIZE, cm__trace_int(t, o, factor, 1));
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), &x, 1, &block, 1));
}

/* ---- made from nothing ------------------------------------------------------------------------------------------ */

/* Reports a tensor; without a type of its own it has that of the operator's first input. PyTorch 1.13 passes a type in
   any case, so one that changes with the model's is not its own. */
static void made_like(cm__trace *t, const cm__trace_op *o, int32_t tensor)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0);
    bool                    follows = t->typed && y->low != y->dtype;
    int32_t model = o->n_in && (follows || !cm__trace_has(o, "dtype")) ? cm__trace_in(t, o, 0) : -1;
    if (model >= 0) cm__t(t->g, tensor)->like = 1 + model;
    cm__trace_made(t, o, 0, tensor);
}

void cm__aten_fill(cm__trace *t, const cm__trace_op *o, int op)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0);
    int32_t                 shape = cm__trace_shape(t, y->rank, y->dims);
    cm__attr                dtype = CM__INTS(CM_ATTR_DTYPE, y->dtype);
    made_like(t, o, cm__emit(t->g, op, cm__trace_name(t, o), &shape, 1, &dtype, 1));
}

/* Uninitialised memory: no kernel writes it. */
void cm__aten_empty(cm__trace *t, const cm__trace_op *o, int op)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0);
    (void)op;
    made_like(t, o, cm__leaf(t->g, cm__trace_name(t, o), CM_ROLE_CONSTANT, y->dtype, y->rank, y->dims));
}

void cm__aten_random(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  x = cm__trace_need(t, o, 0);
    cm__attr dtype = CM__INTS(CM_ATTR_DTYPE, cm__trace_out(t, o, 0)->dtype);
    made_like(t, o, cm__emit(t->g, op, cm__trace_name(t, o), &x, 1, &dtype, 1));
}
