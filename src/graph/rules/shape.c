/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c - shapes of elementwise operators, normalisations, reductions, pools and losses. */
#include "graph/rule.h"
#include "graph/rules/rules.h"

#include <string.h>

static void like(cm_graph *g, cm_node *n, int32_t index, cm_dtype dtype, int32_t input)
{
    const cm_tensor *t = cm__in(g, n, input);
    cm__set_output(g, n, index, dtype, t->rank, t->dims);
}

/* Add an output that exists only because backward reads it. */
static void saved(cm_graph *g, cm_node *n, int32_t index, cm_dtype dtype, int32_t rank, const cm_dim *dims)
{
    cm__set_output(g, n, index, dtype, rank, dims);
    cm__t(g, n->outputs[index])->role = CM_ROLE_SAVED;
}

void cm__shape_given(cm_graph *g, cm_node *n) { (void)g, (void)n; } /* the emitting rule sets the outputs */

void cm__shape_same(cm_graph *g, cm_node *n) { like(g, n, 0, cm__in(g, n, 0)->dtype, 0); }

void cm__shape_truth(cm_graph *g, cm_node *n) { like(g, n, 0, CM_BOOL, 0); }

void cm__shape_cast_like(cm_graph *g, cm_node *n) { like(g, n, 0, cm__in(g, n, 1)->dtype, 0); }

static cm_dtype dtype_attr(cm_graph *g, const cm_node *n, cm__attr_key key, cm_dtype otherwise)
{
    int64_t to = cm__attr_int(n, key, otherwise);
    if (to < 0 || to >= CM_DTYPES)
        cm__fail(g->ctx, CM_ERR_UNSUPPORTED, "unknown data type in '%s'", cm__attr_names[key]);
    return (cm_dtype)to;
}

void cm__shape_cast(cm_graph *g, cm_node *n) { like(g, n, 0, dtype_attr(g, n, CM_ATTR_TO, CM_FP32), 0); }

void cm__shape_dtype_like(cm_graph *g, cm_node *n)
{
    like(g, n, 0, dtype_attr(g, n, CM_ATTR_DTYPE, cm__in(g, n, 0)->dtype), 0);
}

static int32_t broadcast_all(cm_graph *g, const cm_node *n, cm_dim *dims)
{
    int32_t rank = 0;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        if (!cm__has(n, i)) continue;
        const cm_tensor *t = cm__in(g, n, i);
        cm_dim           both[CM__RANK_MAX];
        rank = cm__broadcast(g, rank, dims, t->rank, t->dims, both);
        memcpy(dims, both, sizeof both);
    }
    return rank;
}

/* Before opset 7 a smaller second operand was aligned at `axis`, not at the last dimension. */
static bool legacy_broadcast(const cm_node *n) { return cm__attr_int(n, CM_ATTR_BROADCAST, 0) != 0; }

void cm__shape_broadcast(cm_graph *g, cm_node *n)
{
    cm_dim dims[CM__RANK_MAX] = {{0, 0}};
    if (legacy_broadcast(n)) {
        cm__shape_same(g, n);
        return;
    }
    int32_t rank = broadcast_all(g, n, dims);
    cm__set_output(g, n, 0, cm__widest(g, n, 0, n->n_inputs), rank, dims);
}

/* A power has the type of its base. */
void cm__shape_power(cm_graph *g, cm_node *n)
{
    cm__shape_broadcast(g, n);
    cm__t(g, n->outputs[0])->dtype = cm__in(g, n, 0)->dtype;
}

void cm__shape_compare(cm_graph *g, cm_node *n)
{
    cm_dim dims[CM__RANK_MAX] = {{0, 0}};
    if (legacy_broadcast(n)) {
        cm__shape_truth(g, n);
        return;
    }
    int32_t rank = broadcast_all(g, n, dims);
    cm__set_output(g, n, 0, CM_BOOL, rank, dims);
}

void cm__shape_where(cm_graph *g, cm_node *n)
{
    cm_dim  dims[CM__RANK_MAX] = {{0, 0}};
    int32_t rank = broadcast_all(g, n, dims);
    cm__set_output(g, n, 0, cm__widest(g, n, 1, 2), rank, dims);
}

void cm__shape_dropout(cm_graph *g, cm_node *n)
{
    cm__shape_same(g, n);
    const cm_tensor *x = cm__in(g, n, 0);
    saved(g, n, 1, CM_BOOL, x->rank, x->dims); /* the mask of kept elements */
}

void cm__shape_quantize(cm_graph *g, cm_node *n)
{
    like(g, n, 0, cm__has(n, 2) ? cm__in(g, n, 2)->dtype : CM_UINT8, 0);
}

void cm__shape_dequantize(cm_graph *g, cm_node *n) { like(g, n, 0, cm__in(g, n, 1)->dtype, 0); }

void cm__shape_dynamic_quantize(cm_graph *g, cm_node *n)
{
    like(g, n, 0, CM_UINT8, 0);
    cm__set_output(g, n, 1, CM_FP32, 0, NULL);
    cm__set_output(g, n, 2, CM_UINT8, 0, NULL);
}

/* ---- normalisation ---------------------------------------------------------------------------------------------- */

static void need_vector(cm_graph *g, const cm_node *n, int32_t input, cm_dim size)
{
    if (!cm__has(n, input)) return;
    const cm_tensor *t = cm__in(g, n, input);
    cm_poly          elements = cm_tensor_elements(t);
    if (elements.c[1] != 0 || elements.c[0] != (double)size.fixed)
        cm__fail(g->ctx, CM_ERR_FORMAT, "'%s' is %s, %lld elements expected", t->name, cm__dims_text(g, t),
                 (long long)size.fixed);
}

void cm__shape_batch_norm(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm__need_rank(g, x, 2);
    cm_dim channels = x->dims[1];
    for (int32_t i = 1; i < 5; i++) need_vector(g, n, i, channels);
    int32_t requested = n->n_outputs;
    cm__shape_same(g, n);
    saved(g, n, 1, CM_FP32, 1, &channels); /* mean and inverse standard deviation of this batch */
    saved(g, n, 2, CM_FP32, 1, &channels);
    for (int32_t i = 3; i < requested; i++) saved(g, n, i, CM_FP32, 1, &channels);
}

/* Layer normalisation saves a mean and an inverse standard deviation per row, RMS normalisation only the latter. */
void cm__shape_layer_norm(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm__need_rank(g, x, 1);
    int32_t  axis = cm__axis(g, cm__attr_int(n, CM_ATTR_AXIS, -1), x->rank);
    cm_dim   rows[CM__RANK_MAX];
    bool     centred = n->op == CM_OP_LAYER_NORM;
    cm_dtype dtype = x->dtype;
    for (int32_t i = 0; i < x->rank; i++) rows[i] = i < axis ? x->dims[i] : cm__fixed(1);
    int32_t rank = x->rank;
    like(g, n, 0, dtype, 0);
    saved(g, n, 1, CM_FP32, rank, rows);
    if (centred) saved(g, n, 2, CM_FP32, rank, rows);
}

void cm__shape_group_norm(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm__need_rank(g, x, 2);
    cm_dim stats[2] = {x->dims[0], x->dims[1]};
    int64_t groups = cm__attr_int(n, CM_ATTR_NUM_GROUPS, 0);
    if (groups > 0) stats[1] = cm__fixed(groups);
    cm__shape_same(g, n);
    saved(g, n, 1, CM_FP32, 2, stats);
    saved(g, n, 2, CM_FP32, 2, stats);
}

/* ---- reductions ------------------------------------------------------------------------------------------------- */

static void reduce_to(cm_graph *g, cm_node *n, const bool *gone, bool keep, cm_dtype dtype)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm_dim           dims[CM__RANK_MAX];
    int32_t          rank = 0;
    for (int32_t i = 0; i < x->rank; i++) {
        if (!gone[i]) dims[rank++] = x->dims[i];
        else if (keep) dims[rank++] = cm__fixed(1);
    }
    cm__set_output(g, n, 0, dtype, rank, dims);
}

void cm__shape_reduce(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    int64_t          axes[CM__RANK_MAX];
    bool             gone[CM__RANK_MAX] = {false};
    int32_t          count = cm__int_list(g, n, CM_ATTR_AXES, 1, axes, CM__RANK_MAX);
    bool             all = count <= 0 && !cm__attr_int(n, CM_ATTR_NOOP_WITH_EMPTY_AXES, 0);
    for (int32_t i = 0; i < x->rank; i++) gone[i] = all;
    for (int32_t i = 0; i < count; i++) gone[cm__axis(g, axes[i], x->rank)] = true;
    reduce_to(g, n, gone, cm__attr_int(n, CM_ATTR_KEEPDIMS, 1) != 0, x->dtype);
}

void cm__shape_arg(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    bool             gone[CM__RANK_MAX] = {false};
    gone[cm__axis(g, cm__attr_int(n, CM_ATTR_AXIS, 0), x->rank)] = true;
    reduce_to(g, n, gone, cm__attr_int(n, CM_ATTR_KEEPDIMS, 1) != 0, CM_INT64);
}

void cm__shape_top_k(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    int64_t          k;
    cm_dim           dims[CM__RANK_MAX];
    if (cm__int_list(g, n, CM_ATTR_K, 1, &k, 1) != 1) cm__fail(g->ctx, CM_ERR_FORMAT, "TopK without k");
    int32_t axis = cm__axis(g, cm__attr_int(n, CM_ATTR_AXIS, -1), x->rank);
    if (!x->dims[axis].per_batch && k > x->dims[axis].fixed)
        cm__fail(g->ctx, CM_ERR_FORMAT, "the %lld largest of %s", (long long)k, cm__dims_text(g, x));
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[axis] = cm__fixed(k);
    int32_t rank = x->rank;
    cm__set_output(g, n, 0, x->dtype, rank, dims);
    cm__set_output(g, n, 1, CM_INT64, rank, dims);
}

void cm__shape_pool(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm__window       w;
    cm_dim           dims[CM__RANK_MAX];
    cm__need_rank(g, x, 3);
    cm__window_read(g, n, x->rank - 2, NULL, &w);
    dims[0] = x->dims[0];
    dims[1] = x->dims[1];
    for (int32_t i = 0; i < w.dims; i++)
        dims[i + 2] = cm__window_output(g, &w, i, x->dims[i + 2], cm__attr_int(n, CM_ATTR_CEIL_MODE, 0) != 0);
    int32_t rank = x->rank;
    cm__set_output(g, n, 0, x->dtype, rank, dims);
    if (n->op == CM_OP_MAX_POOL) saved(g, n, 1, CM_INT64, rank, dims); /* where each maximum was */
}

void cm__shape_global_pool(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    bool             gone[CM__RANK_MAX] = {false};
    cm__need_rank(g, x, 2);
    for (int32_t i = 2; i < x->rank; i++) gone[i] = true;
    reduce_to(g, n, gone, true, x->dtype);
}

void cm__shape_roi_pool(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0), *rois = cm__in(g, n, 1);
    int64_t          size[2];
    cm__need_rank(g, x, 4);
    cm__need_rank(g, rois, 1);
    if (cm__int_list(g, n, CM_ATTR_POOLED_SHAPE, -1, size, 2) != 2) cm__fail(g->ctx, CM_ERR_FORMAT, "no pooled_shape");
    cm_dim dims[] = {rois->dims[0], x->dims[1], cm__fixed(size[0]), cm__fixed(size[1])};
    cm__set_output(g, n, 0, x->dtype, 4, dims);
}

void cm__shape_roi_align(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0), *rois = cm__in(g, n, 1);
    cm__need_rank(g, x, 4);
    cm__need_rank(g, rois, 1);
    cm_dim dims[] = {rois->dims[0], x->dims[1], cm__fixed(cm__attr_int(n, CM_ATTR_OUTPUT_HEIGHT, 1)),
                     cm__fixed(cm__attr_int(n, CM_ATTR_OUTPUT_WIDTH, 1))};
    cm__set_output(g, n, 0, x->dtype, 4, dims);
}

void cm__shape_multinomial(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm__need_rank(g, x, 1);
    cm_dim dims[] = {x->dims[0], cm__fixed(cm__attr_int(n, CM_ATTR_SAMPLE_SIZE, 1))};
    cm__set_output(g, n, 0, dtype_attr(g, n, CM_ATTR_DTYPE, CM_INT32), 2, dims);
}

void cm__shape_det(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm__need_rank(g, x, 2);
    cm__set_output(g, n, 0, x->dtype, x->rank - 2, x->dims);
}

/* ---- losses ----------------------------------------------------------------------------------------------------- */

void cm__shape_loss(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    if (cm__attr_int(n, CM_ATTR_REDUCTION, 0) == 2) cm__shape_same(g, n);
    else cm__set_output(g, n, 0, x->dtype, 0, NULL);
}

void cm__shape_nll_loss(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0), *target = cm__in(g, n, 1);
    if (cm__attr_int(n, CM_ATTR_REDUCTION, 0) == 2) cm__set_output(g, n, 0, x->dtype, target->rank, target->dims);
    else cm__set_output(g, n, 0, x->dtype, 0, NULL);
}

/* Backward reads the input again, and the logarithm of each row's sum of exponentials. */
void cm__shape_fused_cross_entropy(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0);
    cm__need_rank(g, x, 2);
    cm__set_output(g, n, 0, CM_FP32, 0, NULL);
    saved(g, n, 1, CM_FP32, 1, x->dims);
}

/* Backward reads the log-probabilities, which are as large as the input. */
void cm__shape_cross_entropy(cm_graph *g, cm_node *n)
{
    cm__shape_nll_loss(g, n);
    const cm_tensor *x = cm__in(g, n, 0);
    saved(g, n, 1, x->dtype, x->rank, x->dims);
}
