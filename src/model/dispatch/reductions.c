/* SPDX-License-Identifier: Apache-2.0 */
/* reductions.c - kernel calls of reductions, products along a dimension, running sums, distances and sums of gradients
   over broadcast dimensions. */
#include "model/dispatch/rules.h"

/* ---- reductions ------------------------------------------------------------------------------------------------- */

void cm__call_reduce(cm__dispatch *d, int32_t node, cm__variant function, cm_dtype dtype, cm_poly outer, cm_poly reduced,
                     cm_poly inner)
{
    cm__sized_call c = cm__call_begin(d, CM__CALL_REDUCE, CM__PASS_FORWARD, function, dtype, false);
    CM__CALL_SIZED(d, node, c, outer, reduced, inner);
}

static void reduction(cm__dispatch *d, int32_t node, cm__variant variant, cm_poly outer, cm_poly reduced, cm_poly inner)
{
    cm__call_reduce(d, node, variant, cm__in(d->g, cm__node(d, node), 0)->dtype, outer, reduced, inner);
}

static cm__variant reduction_name(int op) { return cm__forward_kernel(op, CM__V_SUM); }

/* The dimensions of a reduction in the order of memory, joined where neighbours are both kept or both reduced. */
typedef struct runs {
    cm_poly size[CM__RANK_MAX + 1];
    bool    kept[CM__RANK_MAX + 1];
    int32_t count;
} runs;

static void join(runs *r, cm_dim dim, bool kept)
{
    if (cm__dim_is(dim, 1)) return;
    if (r->count && r->kept[r->count - 1] == kept)
        r->size[r->count - 1] = cm__poly_mul(r->size[r->count - 1], cm__poly_dim(dim));
    else {
        r->size[r->count] = cm__poly_dim(dim);
        r->kept[r->count++] = kept;
    }
}

/* The tensor's dimensions from the outermost in memory to the innermost. Those along which numbers are repeated stay
   where they are. */
static void in_memory(const cm__dispatch *d, int32_t tensor, int32_t order[CM__RANK_MAX])
{
    const cm_tensor *x = cm__t(d->g, tensor);
    const int64_t   *strides = cm__strides_of(d->strides, tensor);
    for (int32_t i = 0; i < x->rank; i++) {
        int32_t at = i;
        for (; at > 0 && strides[i] > 0 && strides[order[at - 1]] < strides[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
}

static runs runs_of(const cm__dispatch *d, int32_t tensor, const bool kept[CM__RANK_MAX])
{
    const cm_tensor *x = cm__t(d->g, tensor);
    runs             r = {.count = 0};
    int32_t          order[CM__RANK_MAX];
    in_memory(d, tensor, order);
    for (int32_t i = 0; i < x->rank; i++) join(&r, x->dims[order[i]], kept[order[i]]);
    return r;
}

/* Outer, reduced and inner numbers: rows are reduced if the innermost run is, and columns otherwise. */
static void runs_sizes(const runs *r, cm_poly sizes[3])
{
    bool rows = r->count == 0 || !r->kept[r->count - 1];
    for (int32_t i = 0; i < 3; i++) sizes[i] = cm__poly_const(1);
    for (int32_t i = 0; i < r->count; i++) {
        cm_poly *into = &sizes[!r->kept[i] ? 1 : !rows && i == r->count - 1 ? 2 : 0];
        *into = cm__poly_mul(*into, r->size[i]);
    }
}

#define SECTOR_BYTES 32 /* that an access of a GPU moves at least */
#define FEW_SUMS 16     /* side by side: the rest of a sector is still in the cache when other threads read it */

/* Bytes that move per number, if its neighbours in memory belong to other sums than those that threads make side by
   side: PyTorch's kernel follows the order of the sums (reorder_dimensions of TensorIterator). 0: if they do not. */
static double crossed_bytes(cm__dispatch *d, int32_t tensor, const bool kept[CM__RANK_MAX])
{
    const cm_tensor *x = cm__t(d->g, tensor);
    const int64_t   *strides = cm__strides_of(d->strides, tensor);
    int32_t          nearest = -1, last = -1; /* dimensions: with the least stride; the last one that stays */
    int64_t          summed = INT64_MAX;      /* stride between numbers of a sum */
    for (int32_t i = 0; i < x->rank && strides; i++) {
        if (cm__strides_size(x->dims[i]) < 2 || strides[i] == 0) continue;
        if (nearest < 0 || strides[i] < strides[nearest]) nearest = i;
        if (kept[i]) last = i;
        else if (strides[i] < summed) summed = strides[i];
    }
    if (nearest < 0 || nearest == last || !kept[nearest]) return 0;
    int64_t sums = cm__strides_size(x->dims[last]);
    bool    along = summed < strides[last]; /* threads of a warp add numbers of one sum */
    if (along) return sums < FEW_SUMS ? SECTOR_BYTES / 2.0 : SECTOR_BYTES;
    return sums > FEW_SUMS ? SECTOR_BYTES : SECTOR_BYTES / 4.0;
}

static void kept_dims(const cm__dispatch *d, const cm_node *n, bool kept[CM__RANK_MAX])
{
    const cm_tensor *x = cm__in(d->g, n, 0);
    int64_t          axes[CM__RANK_MAX];
    int32_t          count =
        cm__int_list((cm_graph *)(uintptr_t)d->g, n, CM_ATTR_AXES, n->n_inputs > 1 ? 1 : -1, axes, CM__RANK_MAX);
    if (count < 0 && (n->op == CM_OP_ARG_MAX || n->op == CM_OP_ARG_MIN)) {
        axes[0] = cm__attr_int(n, CM_ATTR_AXIS, 0);
        count = 1;
    }
    for (int32_t i = 0; i < x->rank; i++) kept[i] = count > 0;
    for (int32_t i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + x->rank : axes[i];
        if (axis >= 0 && axis < x->rank) kept[axis] = false;
    }
}

static void reduced_sizes(const cm__dispatch *d, const cm_node *n, cm_poly sizes[3])
{
    bool kept[CM__RANK_MAX];
    kept_dims(d, n, kept);
    runs r = runs_of(d, n->inputs[0], kept);
    runs_sizes(&r, sizes);
}

/* Sums over images and pixels with channels in between have a kernel of their own. */
static void reduce_dims(cm__dispatch *d, int32_t node, cm__variant name, int32_t tensor, const bool kept[CM__RANK_MAX])
{
    const cm_tensor *x = cm__t(d->g, tensor);
    double           crossed = crossed_bytes(d, tensor, kept), copied = 2.0 * (double)cm_dtype_size(x->dtype);
    cm_poly          sizes[3];
    if (crossed > 0) { /* timed as a copy of as many bytes */
        cm__call_map(d, node, CM__V_COPY, tensor, -1, tensor, cm__poly_const(1),
                     cm__poly_scale(cm_tensor_elements(x), crossed / copied));
        return;
    }
    runs r = runs_of(d, tensor, kept);
    runs_sizes(&r, sizes);
    if (r.count == 3 && !r.kept[0] && name == CM__V_SUM)
        cm__call_reduce(d, node, CM__V(SUM, NCHW), x->dtype, r.size[0], r.size[1], r.size[2]);
    else cm__call_reduce(d, node, name, x->dtype, sizes[0], sizes[1], sizes[2]);
}

static void reduce_as(cm__dispatch *d, int32_t node, cm__variant name)
{
    const cm_node *forward = cm__forward_of(d, cm__node(d, node));
    bool           kept[CM__RANK_MAX];
    kept_dims(d, forward, kept);
    reduce_dims(d, node, name, forward->inputs[0], kept);
}

/* The gradient of a variance computes the mean again. */
void cm__call_mean(cm__dispatch *d, int32_t node) { reduce_as(d, node, CM__V_MEAN); }

void cm__dispatch_reduce(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    if (cm__attr_find(n, CM_ATTR_INSIDE)) return;
    bool with_index = n->op == CM_OP_ARG_MAX || n->op == CM_OP_ARG_MIN || cm__attr_find(n, CM_ATTR_PLACES);
    reduce_as(d, node, with_index ? CM__V_ARGMAX : reduction_name(n->op)); /* the kernel that also finds indices is slower */
}

/* The largest is subtracted first, so that no exponential overflows. */
void cm__dispatch_log_sum_exp(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    reduce_as(d, node, CM__V_MAX);
    cm__call_over(d, node, CM__V_SUB, n->inputs[0], -1, n->inputs[0]);
    cm__call_over(d, node, CM__V_EXP, n->inputs[0], -1, n->inputs[0]);
    reduce_as(d, node, CM__V_SUM);
}

/* ---- gradients of maxima and products ---------------------------------------------------------------------------- */

/* A function of a tensor and of one number for each reduction of it. */
static void over_reduced(cm__dispatch *d, int32_t node, cm__variant function, cm__types types, const cm_poly sizes[3])
{
    bool columns = cm__poly_at(&sizes[2], 2) == 1, row = cm__poly_at(&sizes[0], 2) == 1; /* at any batch size */
    cm__variant_form form = columns ? CM__FORM_COL : row ? CM__FORM_ROW : CM__FORM_PLANE;
    cm__call_typed(d, node, cm__variant_in(function, form), types, columns ? sizes[0] : cm__poly_mul(sizes[0], sizes[1]),
              columns ? sizes[1] : sizes[2]);
}

/* Truth values are counted as integers, for each reduction. */
static void count_true(cm__dispatch *d, int32_t node, cm_poly all, const cm_poly sizes[3])
{
    cm__call_pass(d, node, CM__V_COPY, cm__types_cast(CM_BOOL, CM_INT64), all);
    cm__call_reduce(d, node, CM__V_SUM, CM_INT64, sizes[0], sizes[1], sizes[2]);
}

/* The gradient of a maximum. With its place it is written there. Otherwise all equal ones share it (scale_grad_by_count
   in autograd's FunctionsManual.cpp): a comparison, its truth values as integers, their sum, and a product. */
void cm__call_extreme_grad(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    int32_t          y = n->outputs[0], dy = n->inputs[0];
    const cm_tensor *whole = cm__t(d->g, y);
    cm_poly          sizes[3], all = cm_tensor_elements(whole);
    if (cm__attr_find(forward, CM_ATTR_PLACES)) {
        cm__call_over(d, node, CM__V_FILL, y, -1, y);
        cm__call_over(d, node, CM__V(COPY, STRIDED), dy, -1, dy);
        return;
    }
    reduced_sizes(d, forward, sizes);
    over_reduced(d, node, CM__V_COMPARE, cm__types_cast(whole->dtype, CM_BOOL), sizes);
    count_true(d, node, all, sizes);
    over_reduced(d, node, CM__V_MUL, CM__TYPES(CM_BOOL, whole->dtype, whole->dtype), sizes);
}

/* A call over a part of as many numbers as a tensor has. */
static void part_call(cm__dispatch *d, int32_t node, cm__variant function, int32_t tensor, cm_poly elements)
{
    cm__call_map(d, node, function, tensor, -1, tensor, cm__poly_const(1), elements);
}

/* All numbers but one multiplied, for each one: products of those before it, times products of those after it, each
   with a one in front (prod_safe_zeros_backward in autograd's FunctionsManual.cpp). */
static void other_products(cm__dispatch *d, int32_t node, int32_t y, const cm_poly sizes[3])
{
    cm_poly all = cm_tensor_elements(cm__t(d->g, y)), sums = cm__poly_mul(sizes[0], sizes[2]);
    part_call(d, node, CM__V_FILL, y, sums);
    for (int32_t i = 0; i < 2; i++) {
        if (i) part_call(d, node, CM__V_FLIP, y, cm__poly_add(all, cm__poly_scale(sums, -1)));
        cm__call_map(d, node, CM__V(CAT, STRIDED), y, -1, y, cm__poly_mul(sizes[0], sizes[1]), sizes[2]);
        cm__call_reduce(d, node, CM__V_CUMPROD, cm__t(d->g, y)->dtype, sizes[0], sizes[1], sizes[2]);
    }
    part_call(d, node, CM__V_FLIP, y, all);
    part_call(d, node, CM__V_MUL, y, all);
}

/* The gradient of a product along a dimension counts the zeros (prod_backward, likewise): without any, the result is
   divided by each number. The host waits for the count. */
void cm__call_product_grad(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    int32_t          y = n->outputs[0];
    const cm_tensor *whole = cm__t(d->g, y);
    bool             kept[CM__RANK_MAX];
    cm_poly          sizes[3], one = cm__poly_const(1), all = cm_tensor_elements(whole);
    kept_dims(d, forward, kept);
    runs r = {.count = 0};
    for (int32_t i = 0; i < whole->rank; i++) join(&r, whole->dims[i], kept[i]);
    runs_sizes(&r, sizes);
    cm__call_pass(d, node, CM__V_COMPARE, cm__types_cast(whole->dtype, CM_BOOL), all);
    count_true(d, node, all, sizes);
    cm__call_reduce(d, node, CM__V_SUM, CM_INT64, one, cm__poly_mul(sizes[0], sizes[2]), one);
    if (cm__has_zeros(d->g, forward->inputs[0])) other_products(d, node, y, sizes);
    else over_reduced(d, node, CM__V_DIV, CM__ALL(whole->dtype), sizes);
    over_reduced(d, node, CM__V_MUL, CM__ALL(whole->dtype), sizes);
}

/* ---- running sums and products ----------------------------------------------------------------------------------- */

/* Functions of all elements up to each (cumprod_backward, logcumsumexp_backward in
   torch/csrc/autograd/FunctionsManual.cpp). */
typedef struct scan {
    cm__dispatch    *d;
    int32_t          node, at;
    const cm_tensor *x;
} scan;

static void over_all(const scan *s, const cm__variant *functions)
{
    const cm_node *n = cm__node(s->d, s->node);
    for (int i = 0; functions[i]; i++) cm__call_over(s->d, s->node, functions[i], n->inputs[0], -1, n->outputs[0]);
}

static void scanned(const scan *s, cm__variant kernel)
{
    reduction(s->d, s->node, kernel, cm__poly_product(s->x->dims, s->at), cm__poly_dim(s->x->dims[s->at]),
              cm__poly_product(s->x->dims + s->at + 1, s->x->rank - s->at - 1));
}

/* Backward sums from the other end. */
static void scanned_back(const scan *s)
{
    static const cm__variant flip[] = {CM__V_FLIP, CM__V_NONE};
    over_all(s, flip);
    scanned(s, CM__V_CUMSUM);
    over_all(s, flip);
}

/* PyTorch looks for a zero, without which gradients are divided by the input. */
static void products_back(const scan *s)
{
    over_all(s, (const cm__variant[]){CM__V_MUL, CM__V_COMPARE, CM__V_NONE});
    cm__call_reduce(s->d, s->node, CM__V_MAX, CM_BOOL, cm__poly_const(1), cm_tensor_elements(s->x), cm__poly_const(1));
    scanned_back(s);
    over_all(s, (const cm__variant[]){CM__V_DIV, CM__V_NONE});
}

/* Logarithms of positive and of negative gradients are summed apart. */
static void log_sums_back(const scan *s)
{
    over_all(s, (const cm__variant[]){CM__V_ABS, CM__V_LOG, CM__V_COMPARE, CM__V_WHERE, CM__V_COMPARE, CM__V_WHERE, CM__V_NONE});
    for (int sign = 0; sign < 2; sign++) {
        over_all(s, (const cm__variant[]){CM__V_SUB, CM__V_NONE});
        scanned_back(s);
        over_all(s, (const cm__variant[]){CM__V_ADD, CM__V_EXP, CM__V_NONE});
    }
    over_all(s, (const cm__variant[]){CM__V_SUB, CM__V_NONE});
}

void cm__dispatch_cumulative(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    scan           s = {.d = d, .node = node, .x = cm__in(d->g, n, 0)};
    int64_t        axis = 0;
    if (!s.x->rank) return;
    cm__int_list((cm_graph *)(uintptr_t)d->g, forward, CM_ATTR_AXIS, 1, &axis, 1);
    s.at = (int32_t)(axis < 0 ? axis + s.x->rank : axis) % s.x->rank;
    if (n == forward) scanned(&s, cm__forward_kernel(forward->op, CM__V_CUMSUM));
    else if (forward->op == CM_OP_CUM_PROD) products_back(&s);
    else if (forward->op == CM_OP_CUM_LOG_SUM_EXP) log_sums_back(&s);
    else scanned_back(&s);
}

/* ---- distances -------------------------------------------------------------------------------------------------- */

/* Distances without a matrix product (ATen/native/cuda/DistanceKernel.cu). A gradient of the points has a kernel that
   writes a number for each pair and coordinate, and their sum. That of the second points reads the incoming gradient
   and the distances turned (_cdist_forward in derivatives.yaml); its node has the distances twice. */
void cm__dispatch_distances(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    const cm_tensor *x = cm__in(d->g, forward, 0), *y = cm__t(d->g, forward->outputs[0]);
    cm_poly          pairs = cm_tensor_elements(y), width = cm__poly_dim(x->dims[x->rank - 1]), one = cm__poly_const(1);
    cm__sized_call   c = cm__call_begin(d, CM__CALL_DISTANCES, cm__pass_of(n, forward), CM__V_NONE, x->dtype, false);
    if (n == forward) {
        CM__CALL_SIZED(d, node, c, pairs, width);
        return;
    }
    bool    second = n->n_inputs == CM__SECOND_POINTS;
    cm_dim  rows = y->dims[y->rank - 2], columns = y->dims[y->rank - 1];
    cm_poly points = cm_tensor_elements(cm__t(d->g, n->outputs[0]));
    for (int32_t i = 0; second && i < 2; i++)
        cm__call_map(d, node, CM__V(COPY, TURNED), n->inputs[0], -1, n->inputs[0], cm__poly_dim(rows),
                     cm__poly_mul(cm__poly_product(y->dims, y->rank - 2), cm__poly_dim(columns)));
    CM__CALL_SIZED(d, node, c, pairs, width);
    cm__call_reduce(d, node, CM__V_SUM, x->dtype, one, cm__poly_dim(second ? rows : columns), points);
}

/* ---- pools and sums of gradients --------------------------------------------------------------------------------- */

void cm__dispatch_global_pool(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node);
    const cm_tensor *x = cm__in(d->g, n, 0);
    cm_poly          images = cm__poly_dim(x->dims[0]), channels = cm__poly_dim(x->dims[1]),
            pixels = cm__poly_product(x->dims + 2, x->rank - 2), one = cm__poly_const(1);
    if (cm__strides_channels_last(d->strides, n->inputs[0]))
        reduction(d, node, reduction_name(n->op), images, pixels, channels);
    else reduction(d, node, reduction_name(n->op), cm__poly_mul(images, channels), pixels, one);
}

static bool is_kept(const cm_tensor *x, const cm_tensor *y, int32_t dim)
{
    int32_t at = dim - (x->rank - y->rank);
    return at >= 0 && cm__dim_same(x->dims[dim], y->dims[at]);
}

/* Sums a gradient over broadcast dimensions. The bias of a convolution is broadcast over images and pixels. */
void cm__dispatch_sum_to(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    const cm_tensor *x = cm__in(d->g, n, 0), *y = cm__t(d->g, n->outputs[0]);
    bool             bias = cm__class(forward) == CM_CLASS_CONV && x->rank >= 3, kept[CM__RANK_MAX];
    for (int32_t i = 0; i < x->rank; i++) kept[i] = bias ? i == 1 : is_kept(x, y, i);
    reduce_dims(d, node, CM__V_SUM, n->inputs[0], kept);
}
