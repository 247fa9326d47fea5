/* SPDX-License-Identifier: Apache-2.0 */
/* shape_move.c - shapes of operators that move data: reshapes, slices, joins, gathers. */
#include "graph/rule.h"
#include "graph/rules/rules.h"

#include <string.h>

/* ---- reshapes --------------------------------------------------------------------------------------------------- */

/* Cancel common factors of both sides, so that products stay small and at most linear in the batch size. */
static void cancel(cm_dim *a, int32_t n_a, cm_dim *b, int32_t n_b)
{
    for (int32_t i = 0; i < n_a; i++)
        for (int32_t j = 0; j < n_b; j++)
            if (cm__dim_same(a[i], b[j]) && !cm__dim_is(a[i], 1) && !cm__dim_is(a[i], 0)) {
                a[i] = b[j] = cm__fixed(1);
                break;
            }
}

static void no_fit(cm_graph *g, const cm_tensor *x, const cm_dim *dims, int32_t rank)
{
    cm_tensor target = {.rank = rank, .dims = dims};
    cm__fail(g->ctx, CM_ERR_FORMAT, "%s cannot take the shape %s", cm__dims_text(g, x), cm__dims_text(g, &target));
}

/* Resolve 0 (copy the input's size) and -1 (the remaining size) in `dims`. */
static void resolve(cm_graph *g, const cm_tensor *x, cm_dim *dims, int32_t rank, bool zero_is_zero)
{
    cm_dim  from[CM__RANK_MAX], to[CM__RANK_MAX];
    int32_t open = -1, n_from = cm__copy_dims(x, from);
    for (int32_t i = 0; i < rank; i++) {
        if (cm__dim_is(dims[i], 0) && !zero_is_zero) {
            if (i >= x->rank) no_fit(g, x, dims, rank);
            dims[i] = x->dims[i];
        }
        if (cm__dim_is(dims[i], -1)) {
            if (open >= 0) cm__fail(g->ctx, CM_ERR_FORMAT, "two dimensions of the new shape are -1");
            open = i;
        }
        to[i] = cm__dim_is(dims[i], -1) ? cm__fixed(1) : dims[i];
    }
    cancel(from, n_from, to, rank);
    cm_dim all = cm__dims_product(g, from, n_from), rest = cm__dims_product(g, to, rank);
    if (open < 0 ? !cm__dim_same(all, rest) : !cm__dim_div(all, rest, &dims[open])) no_fit(g, x, dims, rank);
}

void cm__shape_reshape(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm_dim           dims[CM__RANK_MAX];
    int64_t          shape[CM__RANK_MAX];
    int32_t          rank = cm__int_list(g, n, CM_ATTR_SHAPE, -1, shape, CM__RANK_MAX);
    for (int32_t i = 0; i < rank; i++) dims[i] = cm__fixed(shape[i]);
    if (rank < 0) rank = cm__dim_list(g, n, 1, dims, CM__RANK_MAX);
    if (rank < 0) cm__fail(g->ctx, CM_ERR_FORMAT, "Reshape without a shape");
    resolve(g, x, dims, rank, cm__attr_int(n, CM_ATTR_ALLOWZERO, 0) != 0);
    cm__set_output(g, n, 0, x->dtype, rank, dims);
}

void cm__shape_flatten(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    int64_t          axis = cm__attr_int(n, CM_ATTR_AXIS, 1);
    if (axis < -x->rank || axis > x->rank) cm__fail(g->ctx, CM_ERR_FORMAT, "axis %lld", (long long)axis);
    int32_t cut = (int32_t)(axis < 0 ? axis + x->rank : axis);
    cm_dim  dims[] = {cm__dims_product(g, x->dims, cut), cm__dims_product(g, x->dims + cut, x->rank - cut)};
    cm__set_output(g, n, 0, x->dtype, 2, dims);
}

void cm__shape_squeeze(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    int64_t          axes[CM__RANK_MAX];
    bool             gone[CM__RANK_MAX] = {false};
    cm_dim           dims[CM__RANK_MAX];
    int32_t          rank = 0, count = cm__int_list(g, n, CM_ATTR_AXES, 1, axes, CM__RANK_MAX);
    for (int32_t i = 0; i < x->rank; i++) gone[i] = count < 0 && cm__dim_is(x->dims[i], 1);
    for (int32_t i = 0; i < count; i++) gone[cm__axis(g, axes[i], x->rank)] = true;
    for (int32_t i = 0; i < x->rank; i++) {
        if (!gone[i]) dims[rank++] = x->dims[i];
        else if (!cm__dim_is(x->dims[i], 1) && !x->dims[i].per_batch)
            cm__fail(g->ctx, CM_ERR_FORMAT, "axis %d of %s is not 1", i, cm__dims_text(g, x));
        else if (x->dims[i].per_batch) cm__fail(g->ctx, CM_ERR_UNSUPPORTED, "the batch dimension is squeezed away");
    }
    cm__set_output(g, n, 0, x->dtype, rank, dims);
}

void cm__shape_unsqueeze(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    int64_t          axes[CM__RANK_MAX];
    bool             added[CM__RANK_MAX] = {false};
    cm_dim           dims[CM__RANK_MAX];
    int32_t          count = cm__int_list(g, n, CM_ATTR_AXES, 1, axes, CM__RANK_MAX), from = 0;
    int32_t          rank = x->rank + (count > 0 ? count : 0);
    if (rank > CM__RANK_MAX) cm__fail(g->ctx, CM_ERR_LIMIT, "%d dimensions", rank);
    for (int32_t i = 0; i < count; i++) {
        int32_t axis = cm__axis(g, axes[i], rank);
        if (added[axis]) cm__fail(g->ctx, CM_ERR_FORMAT, "axis %d twice", axis);
        added[axis] = true;
    }
    for (int32_t i = 0; i < rank; i++) dims[i] = added[i] ? cm__fixed(1) : x->dims[from++];
    cm__set_output(g, n, 0, x->dtype, rank, dims);
}

void cm__shape_transpose(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    int64_t          perm[CM__RANK_MAX];
    bool             used[CM__RANK_MAX] = {false};
    cm_dim           dims[CM__RANK_MAX];
    int32_t          count = cm__int_list(g, n, CM_ATTR_PERM, -1, perm, CM__RANK_MAX);
    if (count >= 0 && count != x->rank)
        cm__fail(g->ctx, CM_ERR_FORMAT, "perm has %d entries for %s", count, cm__dims_text(g, x));
    for (int32_t i = 0; i < x->rank; i++) {
        int32_t from = count < 0 ? x->rank - 1 - i : cm__axis(g, perm[i], x->rank);
        if (used[from]) cm__fail(g->ctx, CM_ERR_FORMAT, "axis %d twice", from);
        used[from] = true;
        dims[i] = x->dims[from];
    }
    cm__set_output(g, n, 0, x->dtype, x->rank, dims);
}

void cm__shape_expand(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm_dim           shape[CM__RANK_MAX], dims[CM__RANK_MAX];
    int32_t          count = cm__dim_list(g, n, 1, shape, CM__RANK_MAX);
    for (int32_t i = 0; i < count; i++) /* -1: keep the size (PyTorch writes it) */
        if (cm__dim_is(shape[i], -1)) shape[i] = cm__fixed(1);
    int32_t rank = cm__broadcast(g, x->rank, x->dims, count, shape, dims);
    cm__set_output(g, n, 0, x->dtype, rank, dims);
}

void cm__shape_tile(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm_dim           repeats[CM__RANK_MAX], dims[CM__RANK_MAX];
    int32_t          count = cm__dim_list(g, n, 1, repeats, CM__RANK_MAX);
    if (count != x->rank) cm__fail(g->ctx, CM_ERR_FORMAT, "%d repeats for %s", count, cm__dims_text(g, x));
    for (int32_t i = 0; i < count; i++) dims[i] = cm__dim_mul(g, x->dims[i], repeats[i]);
    cm__set_output(g, n, 0, x->dtype, x->rank, dims);
}

/* ---- slices ----------------------------------------------------------------------------------------------------- */

/* An index into a dimension: negative counts from the end, past the end means the end. */
static cm_dim clamp_index(cm_graph *g, cm_dim index, cm_dim size)
{
    if (index.per_batch == 0 && index.fixed < 0)
        index = index.fixed < -CM__DIM_MAX ? cm__fixed(0) : cm__dim_add(g, size, index);
    if (index.per_batch == 0 && size.per_batch == 0) {
        if (index.fixed > size.fixed) return size;
        return index.fixed < 0 ? cm__fixed(0) : index;
    }
    return index.per_batch == 0 && index.fixed > CM__DIM_MAX ? size : index;
}

static cm_dim slice_size(cm_graph *g, cm_dim size, cm_dim start, cm_dim end, int64_t step)
{
    if (step == 0 || step == INT64_MIN) cm__fail(g->ctx, CM_ERR_FORMAT, "a step of %lld", (long long)step);
    bool to_front =
        step < 0 && end.per_batch == 0 && (end.fixed < -CM__DIM_MAX || (!size.per_batch && end.fixed < -size.fixed));
    cm_dim first = clamp_index(g, start, size), last = to_front ? cm__fixed(-1) : clamp_index(g, end, size);
    if (step < 0 && cm__dim_same(first, size)) first.fixed--;
    cm_dim  length = step > 0 ? cm__dim_sub(g, last, first) : cm__dim_sub(g, first, last);
    int64_t stride = step > 0 ? step : -step;
    if (length.per_batch == 0) return cm__fixed(length.fixed <= 0 ? 0 : (length.fixed - 1) / stride + 1);
    cm_dim exact;
    if (length.per_batch < 0 || !cm__dim_div(length, cm__fixed(stride), &exact))
        cm__fail(g->ctx, CM_ERR_UNSUPPORTED, "every %lld-th element of a dimension that grows with the batch size",
                 (long long)stride);
    return exact;
}

void cm__shape_slice(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm_dim           dims[CM__RANK_MAX];
    cm__slices       s;
    cm__slices_read(g, n, &s);
    cm__copy_dims(x, dims);
    for (int32_t i = 0; i < s.count; i++)
        dims[s.axis[i]] = slice_size(g, x->dims[s.axis[i]], s.start[i], s.end[i], s.step[i]);
    cm__set_output(g, n, 0, x->dtype, x->rank, dims);
}

void cm__shape_split(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    int32_t          axis = cm__axis(g, cm__attr_int(n, CM_ATTR_AXIS, 0), x->rank);
    int64_t          sizes[CM__VALUE_MAX];
    cm_dim           dims[CM__RANK_MAX], whole = x->dims[axis], left = whole;
    int32_t          given = cm__int_list(g, n, CM_ATTR_SPLIT, 1, sizes, CM__VALUE_MAX);
    int64_t          parts = given >= 0 ? given : cm__attr_int(n, CM_ATTR_NUM_OUTPUTS, n->n_outputs);
    if (parts < 1 || parts > CM__VALUE_MAX || parts > (n->n_outputs ? n->n_outputs : 1))
        cm__fail(g->ctx, CM_ERR_FORMAT, "split in %lld parts with %d outputs", (long long)parts, n->n_outputs);
    int32_t rank = cm__copy_dims(x, dims);
    for (int32_t i = 0; i < parts; i++) {
        cm_dim even;
        if (given >= 0) dims[axis] = cm__fixed(sizes[i]);
        else if (cm__dim_div(whole, cm__fixed(parts), &even)) dims[axis] = even;
        else if (i + 1 < parts && !whole.per_batch) dims[axis] = cm__fixed((whole.fixed + parts - 1) / parts);
        else dims[axis] = left;
        left = cm__dim_sub(g, left, dims[axis]);
        if (left.per_batch < 0 || (left.per_batch == 0 && left.fixed < 0))
            cm__fail(g->ctx, CM_ERR_FORMAT, "parts exceed axis %d of %s", axis, cm__dims_text(g, x));
        cm__set_output(g, n, i, x->dtype, rank, dims);
    }
    if (!cm__dim_is(left, 0))
        cm__fail(g->ctx, CM_ERR_FORMAT, "parts do not add up to axis %d of %s", axis, cm__dims_text(g, x));
}

void cm__shape_concat(cm_graph *g, cm_node *n)
{
    const cm_tensor *first = cm__in(g, n, 0);
    int32_t          axis = cm__axis(g, cm__attr_int(n, CM_ATTR_AXIS, 0), first->rank);
    cm_dim           dims[CM__RANK_MAX];
    cm__copy_dims(first, dims);
    for (int32_t k = 1; k < n->n_inputs; k++) {
        if (!cm__has(n, k)) cm__fail(g->ctx, CM_ERR_FORMAT, "Concat without its input %d", k);
        const cm_tensor *t = cm__in(g, n, k);
        bool             fits = t->rank == first->rank;
        for (int32_t i = 0; fits && i < t->rank; i++) fits = i == axis || cm__dim_same(t->dims[i], dims[i]);
        if (!fits)
            cm__fail(g->ctx, CM_ERR_FORMAT, "%s beside %s on axis %d", cm__dims_text(g, first), cm__dims_text(g, t),
                     axis);
        dims[axis] = cm__dim_add(g, dims[axis], t->dims[axis]);
    }
    cm__set_output(g, n, 0, cm__widest(g, n, 0, n->n_inputs), first->rank, dims);
}

void cm__shape_pad(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    int64_t          pads[2 * CM__RANK_MAX], axes[CM__RANK_MAX];
    cm_dim           dims[CM__RANK_MAX];
    int32_t          count = cm__int_list(g, n, CM_ATTR_PADS, 1, pads, 2 * CM__RANK_MAX);
    int32_t          n_axes = cm__int_list(g, n, CM_ATTRS, 3, axes, CM__RANK_MAX), half = count / 2;
    if (count < 0 || count % 2 || half != (n_axes < 0 ? x->rank : n_axes))
        cm__fail(g->ctx, CM_ERR_FORMAT, "%d pads for %s", count, cm__dims_text(g, x));
    cm__copy_dims(x, dims);
    for (int32_t i = 0; i < half; i++) {
        int32_t axis = cm__axis(g, n_axes < 0 ? i : axes[i], x->rank);
        dims[axis] = cm__dim_add(g, dims[axis], cm__dim_add(g, cm__fixed(pads[i]), cm__fixed(pads[half + i])));
    }
    cm__set_output(g, n, 0, x->dtype, x->rank, dims);
}

/* ---- gathers ---------------------------------------------------------------------------------------------------- */

void cm__shape_gather(cm_graph *g, cm_node *n)
{
    const cm_tensor *data = cm__in(g, n, 0), *index = cm__in(g, n, 1);
    cm__need_rank(g, data, 1);
    int32_t axis = cm__axis(g, cm__attr_int(n, CM_ATTR_AXIS, 0), data->rank), rank = 0;
    cm_dim  dims[2 * CM__RANK_MAX];
    for (int32_t i = 0; i < axis; i++) dims[rank++] = data->dims[i];
    for (int32_t i = 0; i < index->rank; i++) dims[rank++] = index->dims[i];
    for (int32_t i = axis + 1; i < data->rank; i++) dims[rank++] = data->dims[i];
    n->view = index->rank == 0 && index->value; /* one fixed slice: x[:, 0] */
    cm__set_output(g, n, 0, data->dtype, rank, dims);
}

void cm__shape_gather_elements(cm_graph *g, cm_node *n)
{
    const cm_tensor *index = cm__in(g, n, 1);
    cm__set_output(g, n, 0, cm__in(g, n, 0)->dtype, index->rank, index->dims);
}

void cm__shape_gather_nd(cm_graph *g, cm_node *n)
{
    const cm_tensor *data = cm__in(g, n, 0), *index = cm__in(g, n, 1);
    int64_t          batch_dims = cm__attr_int(n, CM_ATTR_BATCH_DIMS, 0);
    cm__need_rank(g, index, 1);
    cm_dim  last = index->dims[index->rank - 1], dims[2 * CM__RANK_MAX];
    int32_t rank = index->rank - 1;
    if (last.per_batch || batch_dims < 0 || last.fixed + batch_dims > data->rank)
        cm__fail(g->ctx, CM_ERR_FORMAT, "indices %s into %s", cm__dims_text(g, index), cm__dims_text(g, data));
    for (int32_t i = 0; i < rank; i++) dims[i] = index->dims[i];
    for (int32_t i = (int32_t)(batch_dims + last.fixed); i < data->rank; i++) dims[rank++] = data->dims[i];
    cm__set_output(g, n, 0, data->dtype, rank, dims);
}

void cm__shape_one_hot(cm_graph *g, cm_node *n)
{
    const cm_tensor *index = cm__in(g, n, 0);
    int64_t          depth;
    cm_dim           dims[CM__RANK_MAX + 1];
    double           real;
    if (cm__real_list(g, n, CM_ATTRS, 1, &real, 1) != 1) cm__fail(g->ctx, CM_ERR_FORMAT, "OneHot without a depth");
    depth = (int64_t)real;
    int32_t axis = cm__axis(g, cm__attr_int(n, CM_ATTR_AXIS, -1), index->rank + 1);
    for (int32_t i = 0; i <= index->rank; i++)
        dims[i] = i < axis ? index->dims[i] : i == axis ? cm__fixed(depth) : index->dims[i - 1];
    cm__set_output(g, n, 0, cm__in(g, n, 2)->dtype, index->rank + 1, dims);
}
