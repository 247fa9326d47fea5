/* SPDX-License-Identifier: Apache-2.0 */
/* shape_make.c - shapes of operators that make new data: resized and rearranged images, ranges, constants, shapes. */
#include "graph/rule.h"
#include "graph/rules/rules.h"

#include <math.h>

/* ---- images ----------------------------------------------------------------------------------------------------- */

static cm_dim scaled(cm_graph *g, cm_dim size, double scale)
{
    if (scale == 1) return size;
    if (size.per_batch) cm__fail(g->ctx, CM_ERR_UNSUPPORTED, "the batch dimension is resized");
    double result = floor((double)size.fixed * scale + 1e-6); /* scales are single precision: 1.9999999 means 2 */
    if (!(result >= 0 && result <= (double)CM__DIM_MAX)) cm__fail(g->ctx, CM_ERR_FORMAT, "a scale of %g", scale);
    return cm__fixed((int64_t)result);
}

void cm__shape_resize(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm_dim           dims[CM__RANK_MAX], sizes[CM__RANK_MAX];
    double           scales[CM__RANK_MAX];
    int64_t          axes[CM__RANK_MAX];
    int32_t          n_axes = cm__int_list(g, n, CM_ATTR_AXES, -1, axes, CM__RANK_MAX);
    int32_t          n_sizes = cm__dim_list(g, n, 3, sizes, CM__RANK_MAX);
    int32_t n_scales =
        n_sizes > 0 ? -1 : cm__real_list(g, n, CM_ATTR_SCALES, n->n_inputs == 2 ? 1 : 2, scales, CM__RANK_MAX);
    int32_t          count = n_sizes > 0 ? n_sizes : n_scales;
    if (count != (n_axes < 0 ? x->rank : n_axes))
        cm__fail(g->ctx, CM_ERR_FORMAT, "%d sizes or scales for %s", count, cm__dims_text(g, x));
    cm__copy_dims(x, dims);
    for (int32_t i = 0; i < count; i++) {
        int32_t axis = cm__axis(g, n_axes < 0 ? i : axes[i], x->rank);
        dims[axis] = n_sizes > 0 ? sizes[i] : scaled(g, x->dims[axis], scales[i]);
    }
    cm__set_output(g, n, 0, x->dtype, x->rank, dims);
}

void cm__shape_grid_sample(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0), *grid = cm__in(g, n, 1);
    cm__need_rank(g, x, 3);
    if (grid->rank != x->rank)
        cm__fail(g->ctx, CM_ERR_FORMAT, "grid %s for %s", cm__dims_text(g, grid), cm__dims_text(g, x));
    cm_dim dims[CM__RANK_MAX] = {x->dims[0], x->dims[1]};
    for (int32_t i = 2; i < x->rank; i++) dims[i] = grid->dims[i - 1];
    cm__set_output(g, n, 0, x->dtype, x->rank, dims);
}

static void block_shape(cm_graph *g, cm_node *n, bool to_space)
{
    const cm_tensor *x = cm__in(g, n, 0);
    int64_t          block = cm__attr_int(n, CM_ATTR_BLOCKSIZE, 0);
    if (x->rank != 4 || block < 1 || block > 4096)
        cm__fail(g->ctx, CM_ERR_FORMAT, "blocks of %lld over %s", (long long)block, cm__dims_text(g, x));
    cm_dim small = cm__fixed(block), area = cm__fixed(block * block), dims[4] = {x->dims[0]};
    bool   fits = to_space ? cm__dim_div(x->dims[1], area, &dims[1])
                           : cm__dim_div(x->dims[2], small, &dims[2]) && cm__dim_div(x->dims[3], small, &dims[3]);
    if (!fits)
        cm__fail(g->ctx, CM_ERR_FORMAT, "blocks of %lld do not divide %s", (long long)block, cm__dims_text(g, x));
    if (!to_space) dims[1] = cm__dim_mul(g, x->dims[1], area);
    for (int32_t i = 2; to_space && i < 4; i++) dims[i] = cm__dim_mul(g, x->dims[i], small);
    cm__set_output(g, n, 0, x->dtype, 4, dims);
}

void cm__shape_depth_to_space(cm_graph *g, cm_node *n) { block_shape(g, n, true); }
void cm__shape_space_to_depth(cm_graph *g, cm_node *n) { block_shape(g, n, false); }

void cm__shape_center_crop_pad(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    int64_t          axes[CM__RANK_MAX];
    cm_dim           dims[CM__RANK_MAX], sizes[CM__RANK_MAX];
    int32_t          n_axes = cm__int_list(g, n, CM_ATTR_AXES, -1, axes, CM__RANK_MAX);
    int32_t          count = cm__dim_list(g, n, 1, sizes, CM__RANK_MAX);
    if (count != (n_axes < 0 ? x->rank : n_axes))
        cm__fail(g->ctx, CM_ERR_FORMAT, "%d sizes for %s", count, cm__dims_text(g, x));
    cm__copy_dims(x, dims);
    for (int32_t i = 0; i < count; i++) dims[cm__axis(g, n_axes < 0 ? i : axes[i], x->rank)] = sizes[i];
    cm__set_output(g, n, 0, x->dtype, x->rank, dims);
}

void cm__shape_col2im(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    int64_t          image[CM__RANK_MAX - 2], block[CM__RANK_MAX - 2];
    int32_t          spatial = cm__int_list(g, n, CM_ATTRS, 1, image, CM__RANK_MAX - 2);
    int32_t          count = cm__int_list(g, n, CM_ATTRS, 2, block, CM__RANK_MAX - 2);
    cm__need_rank(g, x, 2);
    cm_dim dims[CM__RANK_MAX] = {x->dims[0]}, area = cm__fixed(1);
    for (int32_t i = 0; i < count; i++) area = cm__dim_mul(g, area, cm__fixed(block[i]));
    if (spatial != count || !cm__dim_div(x->dims[1], area, &dims[1]))
        cm__fail(g->ctx, CM_ERR_FORMAT, "columns %s do not fit the image", cm__dims_text(g, x));
    for (int32_t i = 0; i < spatial; i++) dims[i + 2] = cm__fixed(image[i]);
    cm__set_output(g, n, 0, x->dtype, spatial + 2, dims);
}

void cm__shape_max_unpool(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm__window       w;
    cm_dim           dims[CM__RANK_MAX];
    cm__need_rank(g, x, 3);
    int32_t rank = cm__dim_list(g, n, 2, dims, CM__RANK_MAX);
    if (rank < 0) {
        rank = cm__copy_dims(x, dims);
        cm__window_read(g, n, x->rank - 2, NULL, &w);
        for (int32_t i = 0; i < w.dims; i++) {
            cm_dim spread =
                cm__dim_mul(g, (cm_dim){dims[i + 2].per_batch, dims[i + 2].fixed - 1}, cm__fixed(w.stride[i]));
            dims[i + 2] = cm__dim_add(g, spread, cm__fixed(w.kernel[i] - w.pad_begin[i] - w.pad_end[i]));
        }
    }
    cm__set_output(g, n, 0, x->dtype, rank, dims);
}

/* ---- made from nothing ------------------------------------------------------------------------------------------ */

void cm__shape_constant_of_shape(cm_graph *g, cm_node *n)
{
    cm_dim  dims[CM__RANK_MAX];
    int32_t rank = cm__dim_list(g, n, 0, dims, CM__RANK_MAX);
    int64_t dtype = cm__attr_int(n, CM_ATTR_DTYPE, CM_FP32);
    if (dtype < 0 || dtype >= CM_DTYPES) cm__fail(g->ctx, CM_ERR_FORMAT, "unknown data type");
    cm__set_output(g, n, 0, (cm_dtype)dtype, rank, dims);
}

void cm__shape_range(cm_graph *g, cm_node *n)
{
    const cm_tensor *start = cm__in(g, n, 0), *limit = cm__in(g, n, 1), *delta = cm__in(g, n, 2);
    cm_dim           count;
    if (!start->value || !limit->value || !delta->value)
        cm__fail(g->ctx, CM_ERR_UNSUPPORTED, "a range whose bounds depend on data");
    if (cm__is_float(start->dtype)) {
        double steps = ceil((limit->value->f - start->value->f) / delta->value->f);
        if (!(steps <= (double)CM__DIM_MAX)) cm__fail(g->ctx, CM_ERR_FORMAT, "a range without end");
        count = cm__fixed(steps < 0 ? 0 : (int64_t)steps);
    } else {
        int64_t step = delta->value->i.fixed;
        if (step == 0 || delta->value->i.per_batch || step < -CM__DIM_MAX)
            cm__fail(g->ctx, CM_ERR_FORMAT, "a range without end");
        cm_dim from = start->value->i, to = limit->value->i,
               span = step > 0 ? cm__dim_sub(g, to, from) : cm__dim_sub(g, from, to);
        int64_t stride = step < 0 ? -step : step;
        if (span.per_batch == 0) count = cm__fixed(span.fixed <= 0 ? 0 : (span.fixed - 1) / stride + 1);
        else if (!cm__dim_div(span, cm__fixed(stride), &count))
            cm__fail(g->ctx, CM_ERR_UNSUPPORTED, "a range of B in steps of %lld", (long long)stride);
    }
    cm__set_output(g, n, 0, start->dtype, 1, &count);
}

static void shape_bounds(cm_graph *g, const cm_node *n, int64_t *start, int64_t *end)
{
    int64_t rank = cm__in(g, n, 0)->rank;
    *start = cm__attr_int(n, CM_ATTR_START, 0);
    *end = cm__attr_int(n, CM_ATTR_END, rank);
    if (*start < 0) *start = *start < -rank ? 0 : *start + rank;
    if (*end < 0) *end = *end < -rank ? 0 : *end + rank;
    if (*end > rank) *end = rank;
    if (*start > *end) *start = *end;
}

void cm__shape_shape_of(cm_graph *g, cm_node *n)
{
    int64_t start, end;
    shape_bounds(g, n, &start, &end);
    cm__set_output(g, n, 0, CM_INT64, 1, (cm_dim[]){cm__fixed(end - start)});
}

void cm__fold_shape_of(cm_graph *g, cm_node *n)
{
    int64_t start, end;
    shape_bounds(g, n, &start, &end);
    cm__num *value = cm__alloc_array(g->ctx, (size_t)(end - start), sizeof *value);
    for (int64_t i = start; i < end; i++) value[i - start].i = cm__in(g, n, 0)->dims[i];
    cm__t(g, n->outputs[0])->value = value;
}

void cm__shape_size_of(cm_graph *g, cm_node *n) { cm__set_output(g, n, 0, CM_INT64, 0, NULL); }

void cm__fold_size_of(cm_graph *g, cm_node *n)
{
    if (cm_tensor_elements(cm__in(g, n, 0)).c[2] != 0) return; /* B^2 is not representable */
    cm__num *value = cm__alloc(g->ctx, sizeof *value);
    value->i = cm__dims_product(g, cm__in(g, n, 0)->dims, cm__in(g, n, 0)->rank);
    cm__t(g, n->outputs[0])->value = value;
}

void cm__shape_random(cm_graph *g, cm_node *n)
{
    int64_t shape[CM__RANK_MAX], dtype = cm__attr_int(n, CM_ATTR_DTYPE, CM_FP32);
    cm_dim  dims[CM__RANK_MAX];
    int32_t rank = cm__int_list(g, n, CM_ATTR_SHAPE, -1, shape, CM__RANK_MAX);
    if (dtype < 0 || dtype >= CM_DTYPES || rank < 0) cm__fail(g->ctx, CM_ERR_FORMAT, "no shape or data type");
    for (int32_t i = 0; i < rank; i++) dims[i] = cm__fixed(shape[i]);
    cm__set_output(g, n, 0, (cm_dtype)dtype, rank, dims);
}

void cm__shape_window(cm_graph *g, cm_node *n)
{
    cm_dim  size;
    int64_t dtype = cm__attr_int(n, CM_ATTR_OUTPUT_DTYPE, CM_FP32);
    if (dtype < 0 || dtype >= CM_DTYPES || cm__dim_list(g, n, 0, &size, 1) != 1)
        cm__fail(g->ctx, CM_ERR_FORMAT, "no size or data type");
    cm__set_output(g, n, 0, (cm_dtype)dtype, 1, &size);
}

/* ---- recorded --------------------------------------------------------------------------------------------------- */

/* Make the outputs that the attribute lists. */
void cm__shape_recorded(cm_graph *g, cm_node *n)
{
    const cm__attr *a = cm__attr_find(n, CM_ATTR_OUTPUTS);
    cm_dim          dims[CM__RANK_MAX];
    int32_t         at = 0, index = 0, room = n->n_outputs;
    while (a && at + 2 <= a->count && index < room) {
        int64_t dtype = a->ints[at], rank = a->ints[at + 1];
        at += 2;
        if (dtype < 0 || dtype >= CM_DTYPES || rank < 0 || rank > CM__RANK_MAX || at + 2 * rank > a->count)
            cm__fail(g->ctx, CM_ERR_FORMAT, "the outputs' shapes are not given");
        for (int32_t i = 0; i < rank; i++, at += 2) dims[i] = (cm_dim){a->ints[at], a->ints[at + 1]};
        cm__set_output(g, n, index++, (cm_dtype)dtype, (int32_t)rank, dims);
    }
    if (!index) cm__fail(g->ctx, CM_ERR_FORMAT, "an opaque operator without outputs");
}

/* Image, filters, places and result have two dimensions of pixels; filters for all channels, in groups or not. */
void cm__shape_deformed(cm_graph *g, cm_node *n)
{
    cm__shape_recorded(g, n);
    const cm_tensor *x = cm__in(g, n, CM__DEFORMED_IMAGE), *w = cm__in(g, n, CM__DEFORMED_FILTERS);
    const cm_tensor *places = cm__in(g, n, CM__DEFORMED_OFFSETS), *y = cm__t(g, n->outputs[0]);
    bool             planes = x->rank == 4 && w->rank == 4 && places->rank == 4 && y->rank == 4;
    if (!planes || w->dims[1].fixed < 1 || x->dims[1].fixed % w->dims[1].fixed)
        cm__fail(g->ctx, CM_ERR_FORMAT, "weight %s for input %s", cm__dims_text(g, w), cm__dims_text(g, x));
}

/* As recorded, in the type of the first input. */
void cm__shape_recorded_like(cm_graph *g, cm_node *n)
{
    cm_dtype dtype = cm__in(g, n, 0)->dtype;
    cm__shape_recorded(g, n);
    cm__t(g, n->outputs[0])->dtype = dtype;
}

/* The whole after a part of it was written, in the same memory. Uninitialised memory begins with the first write. */
void cm__shape_written(cm_graph *g, cm_node *n)
{
    const cm_tensor *whole = cm__in(g, n, 0);
    int32_t          storage = whole->producer < 0 ? -1 : whole->storage;
    cm__set_output(g, n, 0, whole->dtype, whole->rank, whole->dims);
    if (storage >= 0) cm__t(g, n->outputs[0])->storage = storage;
}

/* As recorded. Cost and kernels are counted by the second output. */
void cm__shape_ctc_loss(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm__shape_recorded(g, n);
    int32_t alpha = n->n_outputs > 1 ? n->outputs[1] : -1;
    if (x->rank != 3 || alpha < 0 || cm__t(g, alpha)->rank != 3)
        cm__fail(g->ctx, CM_ERR_FORMAT, "a CTC loss of %s; expected frames, samples and classes, and two results",
                 cm__dims_text(g, x));
}
