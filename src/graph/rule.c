/* SPDX-License-Identifier: Apache-2.0 */
/* rule.c - reading inputs, lists and windows for the shape, fold and gradient rules. */
#include "graph/rule.h"

#include <string.h>
#include "graph/releases.h"

int64_t cm__small_count(const cm_tensor *t)
{
    int64_t count = 1;
    for (int32_t i = 0; i < t->rank; i++) {
        if (t->dims[i].per_batch || t->dims[i].fixed > CM__VALUE_MAX) return -1;
        count *= t->dims[i].fixed;
        if (count > CM__VALUE_MAX) return -1;
    }
    return count;
}

static const cm_tensor *known_input(cm_graph *g, const cm_node *n, int32_t input, int32_t max, int64_t *count)
{
    if (input < 0 || !cm__has(n, input)) return NULL;
    const cm_tensor *t = cm__in(g, n, input);
    *count = cm__small_count(t);
    if (*count == 0) return t;
    if (!t->value || *count < 0)
        cm__fail(g->ctx, CM_ERR_UNSUPPORTED, "input %d ('%s') decides a shape but depends on data", input, t->name);
    if (*count > max)
        cm__fail(g->ctx, CM_ERR_FORMAT, "input %d ('%s') has %lld entries, at most %d expected", input, t->name,
                 (long long)*count, max);
    return t;
}

int32_t cm__int_list(cm_graph *g, const cm_node *n, cm__attr_key key, int32_t input, int64_t *out, int32_t max)
{
    const cm__attr *a = cm__attr_find(n, key);
    if (a) {
        if (a->count > max)
            cm__fail(g->ctx, CM_ERR_FORMAT, "attribute '%s' has %d entries, at most %d expected", cm__attr_names[key],
                     a->count, max);
        for (int32_t i = 0; i < a->count; i++) out[i] = a->ints[i];
        return a->count;
    }
    int64_t          count;
    const cm_tensor *t = known_input(g, n, input, max, &count);
    if (!t) return -1;
    for (int64_t i = 0; i < count; i++) {
        if (cm__is_float(t->dtype) || t->value[i].i.per_batch)
            cm__fail(g->ctx, CM_ERR_UNSUPPORTED, "input %d ('%s') must hold fixed integers", input, t->name);
        out[i] = t->value[i].i.fixed;
    }
    return (int32_t)count;
}

int32_t cm__dim_list(cm_graph *g, const cm_node *n, int32_t input, cm_dim *out, int32_t max)
{
    int64_t          count;
    const cm_tensor *t = known_input(g, n, input, max, &count);
    if (!t) return -1;
    if (count && cm__is_float(t->dtype))
        cm__fail(g->ctx, CM_ERR_FORMAT, "input %d ('%s') must hold integers", input, t->name);
    for (int64_t i = 0; i < count; i++) out[i] = t->value[i].i;
    return (int32_t)count;
}

int32_t cm__real_list(cm_graph *g, const cm_node *n, cm__attr_key key, int32_t input, double *out, int32_t max)
{
    const cm__attr *a = cm__attr_find(n, key);
    if (a && a->count <= max) {
        for (int32_t i = 0; i < a->count; i++) memcpy(&out[i], &a->ints[i], sizeof out[i]);
        return a->count;
    }
    int64_t          count;
    const cm_tensor *t = known_input(g, n, input, max, &count);
    if (!t) return -1;
    for (int64_t i = 0; i < count; i++) out[i] = cm__is_float(t->dtype) ? t->value[i].f : (double)t->value[i].i.fixed;
    return (int32_t)count;
}

int32_t cm__copy_dims(const cm_tensor *t, cm_dim *dims)
{
    if (t->rank) memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
    return t->rank;
}

cm_dim cm__dims_product(cm_graph *g, const cm_dim *dims, int32_t count)
{
    cm_dim p = cm__fixed(1);
    for (int32_t i = 0; i < count; i++) p = cm__dim_mul(g, p, dims[i]);
    return p;
}

int32_t cm__axis(cm_graph *g, int64_t axis, int32_t rank)
{
    if (axis < -rank || axis >= rank)
        cm__fail(g->ctx, CM_ERR_FORMAT, "axis %lld of a tensor with %d dimensions", (long long)axis, rank);
    return (int32_t)(axis < 0 ? axis + rank : axis);
}

void cm__need_rank(cm_graph *g, const cm_tensor *t, int32_t least)
{
    if (t->rank < least)
        cm__fail(g->ctx, CM_ERR_FORMAT, "'%s' is %s, at least %d dimensions expected", t->name, cm__dims_text(g, t),
                 least);
}

int32_t cm__broadcast(cm_graph *g, int32_t rank_a, const cm_dim *a, int32_t rank_b, const cm_dim *b, cm_dim *out)
{
    int32_t rank = rank_a > rank_b ? rank_a : rank_b;
    for (int32_t i = 0; i < rank; i++) {
        int32_t ia = i - (rank - rank_a), ib = i - (rank - rank_b);
        cm_dim  x = ia < 0 ? cm__fixed(1) : a[ia], y = ib < 0 ? cm__fixed(1) : b[ib];
        if (!cm__dim_same(x, y) && !cm__dim_is(x, 1) && !cm__dim_is(y, 1)) {
            cm_tensor ta = {.rank = rank_a, .dims = a}, tb = {.rank = rank_b, .dims = b};
            cm__fail(g->ctx, CM_ERR_FORMAT, "shapes %s and %s do not fit together", cm__dims_text(g, &ta),
                     cm__dims_text(g, &tb));
        }
        out[i] = cm__dim_is(x, 1) ? y : x;
    }
    return rank;
}

static const uint8_t width[CM_DTYPES] = {
    [CM_BOOL] = 0, [CM_UINT8] = 1, [CM_INT8] = 1, [CM_INT16] = 2, [CM_INT32] = 3, [CM_INT64] = 4,
    [CM_FP8] = 5,  [CM_FP16] = 6,  [CM_BF16] = 6, [CM_FP32] = 7,  [CM_FP64] = 8,  [CM_COMPLEX64] = 9,
};

cm_dtype cm__widest(const cm_graph *g, const cm_node *n, int32_t first, int32_t count)
{
    int32_t best = -1;
    for (int32_t pass = 0; pass < 2 && best < 0; pass++) /* tensors first; scalars only if there are no tensors */
        for (int32_t i = first; i < first + count; i++) {
            if (!cm__has(n, i) || (pass == 0 && cm__in(g, n, i)->rank == 0)) continue;
            if (best < 0 || width[cm__in(g, n, i)->dtype] > width[cm__in(g, n, best)->dtype]) best = i;
        }
    return best < 0 ? CM_FP32 : cm__in(g, n, best)->dtype;
}

/* ---- slices ----------------------------------------------------------------------------------------------------- */

static int32_t slice_bounds(cm_graph *g, const cm_node *n, cm__attr_key key, int32_t input, cm_dim *out)
{
    int64_t list[CM__RANK_MAX];
    if (!cm__attr_find(n, key)) return cm__dim_list(g, n, input, out, CM__RANK_MAX);
    int32_t count = cm__int_list(g, n, key, -1, list, CM__RANK_MAX);
    for (int32_t i = 0; i < count; i++) out[i] = cm__fixed(list[i]);
    return count;
}

void cm__slices_read(cm_graph *g, const cm_node *n, cm__slices *s)
{
    int64_t axes[CM__RANK_MAX];
    int32_t n_ends = slice_bounds(g, n, CM_ATTR_ENDS, 2, s->end),
            n_axes = cm__int_list(g, n, CM_ATTR_AXES, 3, axes, CM__RANK_MAX);
    bool    by_attribute = cm__attr_find(n, CM_ATTR_STARTS) != NULL;
    int32_t n_steps = by_attribute ? -1 : cm__int_list(g, n, CM_ATTRS, 4, s->step, CM__RANK_MAX);
    s->count = slice_bounds(g, n, CM_ATTR_STARTS, 1, s->start);
    if (s->count < 0 || n_ends != s->count || (n_axes >= 0 && n_axes != s->count) ||
        (n_steps >= 0 && n_steps != s->count))
        cm__fail(g->ctx, CM_ERR_FORMAT, "%d starts, %d ends, %d axes, %d steps", s->count, n_ends, n_axes, n_steps);
    for (int32_t i = 0; i < s->count; i++) {
        s->axis[i] = cm__axis(g, n_axes < 0 ? i : axes[i], cm__in(g, n, 0)->rank);
        if (n_steps < 0) s->step[i] = 1;
    }
}

/* ---- windows ---------------------------------------------------------------------------------------------------- */

static void spatial(cm_graph *g, const cm_node *n, cm__attr_key key, int32_t dims, int64_t otherwise, int64_t *out)
{
    int64_t list[CM__SPATIAL_MAX];
    int32_t count = cm__int_list(g, n, key, -1, list, CM__SPATIAL_MAX);
    if (count >= 0 && count != dims)
        cm__fail(g->ctx, CM_ERR_FORMAT, "%d %s, expected %d", count, cm__attr_names[key], dims);
    for (int32_t i = 0; i < dims; i++) {
        out[i] = count < 0 ? otherwise : list[i];
        if (out[i] < 1 || out[i] > CM__DIM_MAX)
            cm__fail(g->ctx, CM_ERR_FORMAT, "%s of %lld", cm__attr_names[key], (long long)out[i]);
    }
}

cm_dim cm__conv_groups(const cm_node *n)
{
    int64_t of_sample = cm__attr_int(n, CM_ATTR_SAMPLE_GROUPS, 0);
    return of_sample ? (cm_dim){.per_batch = of_sample} : cm__fixed(cm__attr_int(n, CM_ATTR_GROUP, 1));
}

void cm__window_read(cm_graph *g, const cm_node *n, int32_t dims, const int64_t *kernel, cm__window *w)
{
    if (dims < 1 || dims > CM__SPATIAL_MAX) cm__fail(g->ctx, CM_ERR_UNSUPPORTED, "%d spatial dimensions", dims);
    *w = (cm__window){.dims = dims, .auto_pad = cm__attr_int(n, CM_ATTR_AUTO_PAD, 0)};
    spatial(g, n, CM_ATTR_KERNEL_SHAPE, dims, 1, w->kernel);
    for (int32_t i = 0; kernel && i < dims; i++) w->kernel[i] = kernel[i];
    spatial(g, n, CM_ATTR_STRIDES, dims, 1, w->stride);
    spatial(g, n, CM_ATTR_DILATIONS, dims, 1, w->dilation);
    int64_t pads[2 * CM__SPATIAL_MAX];
    int32_t count = cm__int_list(g, n, CM_ATTR_PADS, -1, pads, 2 * CM__SPATIAL_MAX);
    if (count > 0 && count != 2 * dims) cm__fail(g->ctx, CM_ERR_FORMAT, "%d pads, expected %d", count, 2 * dims);
    for (int32_t i = 0; count > 0 && i < dims; i++) {
        w->pad_begin[i] = pads[i];
        w->pad_end[i] = pads[dims + i];
        if (pads[i] < 0 || pads[i] > CM__DIM_MAX || pads[dims + i] < 0 || pads[dims + i] > CM__DIM_MAX)
            cm__fail(g->ctx, CM_ERR_FORMAT, "pads of %lld and %lld", (long long)pads[i], (long long)pads[dims + i]);
    }
}

cm_dim cm__window_output(cm_graph *g, const cm__window *w, int32_t axis, cm_dim size, bool ceil_mode)
{
    if (size.per_batch) cm__fail(g->ctx, CM_ERR_UNSUPPORTED, "a window slides over the batch dimension");
    int64_t stride = w->stride[axis], span;
    if (w->auto_pad >= 2) return cm__fixed((size.fixed + stride - 1) / stride); /* SAME: as many as strides */
    if (__builtin_mul_overflow(w->kernel[axis] - 1, w->dilation[axis], &span) || span > CM__DIM_MAX)
        cm__fail(g->ctx, CM_ERR_LIMIT, "a window of %lld x %lld", (long long)w->kernel[axis],
                 (long long)w->dilation[axis]);
    int64_t padded = size.fixed + (w->auto_pad ? 0 : w->pad_begin[axis] + w->pad_end[axis]);
    int64_t room = padded - span - 1;
    if (room < 0 && !(ceil_mode && room + stride > 0)) /* one window may reach beyond the end */
        cm__fail(g->ctx, CM_ERR_FORMAT, "a window of %lld over %lld elements", (long long)(span + 1),
                 (long long)padded);
    int64_t steps = ceil_mode ? (room + stride - 1) / stride : room / stride;
    if (ceil_mode && steps * stride >= size.fixed + w->pad_begin[axis]) steps--; /* the last window must begin inside */
    return cm__fixed(steps + 1);
}

static const cm_node *maker_of(const cm_graph *g, int32_t tensor)
{
    int32_t maker = tensor < 0 ? -1 : cm__t(g, tensor)->producer;
    return maker < 0 ? NULL : &g->nodes[maker];
}

/* True: numbers that the model has from the beginning and does not train, moved at most. */
static bool is_fixed(const cm_graph *g, int32_t tensor)
{
    const cm_node *n;
    while ((n = maker_of(g, tensor)) && cm__class(n) == CM_CLASS_MOVEMENT) tensor = n->inputs[0];
    return !n && (cm__t(g, tensor)->role == CM_ROLE_BUFFER || cm__t(g, tensor)->role == CM_ROLE_CONSTANT);
}

/* Movements keep zeros, and so do products with a fixed matrix, which choose among numbers. */
bool cm__has_zeros(const cm_graph *g, int32_t tensor)
{
    const cm_node *n;
    for (; (n = maker_of(g, tensor)); tensor = n->inputs[0]) {
        bool chosen = n->op == CM_OP_MATMUL && is_fixed(g, n->inputs[1]);
        if (n->op == CM_OP_RELU || n->op == CM_OP_HARD_SIGMOID || cm__attr_find(n, CM_ATTR_ZEROS)) return true;
        if (!n->n_inputs || (cm__class(n) != CM_CLASS_MOVEMENT && !chosen)) return false;
    }
    return false;
}

bool cm__same_shape(const cm_tensor *a, const cm_tensor *b)
{
    bool same = a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank; i++) same = cm__dim_same(a->dims[i], b->dims[i]);
    return same;
}

/* AutoGPTQ of 2023 trains without its fused kernels (Qwen's finetune.py: disable_exllama): QuantLinear.forward() unpacks
   by shifts, masks and products of PyTorch, and autograd keeps the result for backward. Only this format has zero
   points. */
bool cm__unpacks_by_operators(const cm_graph *g, const cm_node *n)
{
    return n->op == CM_OP_UNPACK && n->n_inputs > 3 && !cm__provides(g->asked.software, CM__FEATURE_UNPACK_KERNEL);
}

/* bitsandbytes' Linear4bit.forward() returns its result in the type of its input: fp32 after a layer norm under autocast,
   16 bits after an RMS norm that casts back. Of experts, whose tokens the model casts itself, the types are not known. */
bool cm__reads_unpacked(const cm_graph *g, const cm_node *n)
{
    int32_t from = n->n_inputs > 1 && n->inputs[1] >= 0 ? cm__t(g, n->inputs[1])->producer : -1;
    return from >= 0 && g->nodes[from].op == CM_OP_UNPACK && cm__t(g, n->inputs[1])->rank == 2;
}
