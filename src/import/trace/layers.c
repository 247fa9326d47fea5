/* SPDX-License-Identifier: Apache-2.0 */
/* layers.c - rules of aten.def for products, convolutions, attention, norms, pools and losses. */
#include "import/trace/rules.h"

#include <string.h>

/* ---- matrix products -------------------------------------------------------------------------------------------- */

static bool is_weight(const cm_tensor *x)
{
    return x->rank == 2 && x->producer < 0 && (x->role == CM_ROLE_PARAMETER || x->role == CM_ROLE_BUFFER);
}

/* The weight of a product's operand, and whether it is transposed on the way: autocast casts the weight, not its
   view. */
static int32_t weight_of(const cm__trace *t, int32_t operand, int64_t *transposed)
{
    const cm_tensor *x = cm__t(t->g, operand);
    *transposed = 0;
    if (is_weight(x)) return operand;
    if (x->producer < 0 || x->rank != 2) return -1;
    const cm_node *n = &t->g->nodes[x->producer];
    *transposed = 1;
    return n->op == CM_OP_TRANSPOSE && is_weight(cm__in(t->g, n, 0)) ? n->inputs[0] : -1;
}

static int32_t linear_by(cm__trace *t, const cm__trace_op *o, int32_t x, int32_t w, int64_t transposed, int32_t bias)
{
    cm__attr trans_b = CM__INTS(CM_ATTR_TRANS_B, transposed);
    return cm__emit(t->g, CM_OP_GEMM, cm__trace_name(t, o), (int32_t[]){x, w, bias}, bias < 0 ? 2 : 3, &trans_b, 1);
}

void cm__aten_product(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t a = cm__trace_need(t, o, 0), b = cm__trace_need(t, o, 1);
    int64_t transposed;
    int32_t w = weight_of(t, b, &transposed);
    cm__trace_made(t, o, 0, w >= 0 ? linear_by(t, o, a, w, transposed, -1)
                                   : cm__emit(t->g, op, cm__trace_name(t, o), (int32_t[]){a, b}, 2, NULL, 0));
}

/* addmm(bias, x, w) */
void cm__aten_addmm(cm__trace *t, const cm__trace_op *o, int op)
{
    (void)op;
    int32_t bias = cm__trace_need(t, o, 0), a = cm__trace_need(t, o, 1), b = cm__trace_need(t, o, 2);
    int64_t transposed;
    int32_t w = weight_of(t, b, &transposed);
    cm__trace_made(t, o, 0, linear_by(t, o, a, w >= 0 ? w : b, w >= 0 ? transposed : 0, bias));
}

void cm__aten_linear(cm__trace *t, const cm__trace_op *o, int op)
{
    (void)op;
    int32_t x = cm__trace_need(t, o, 0), w = cm__trace_need(t, o, 1);
    cm__trace_made(t, o, 0, linear_by(t, o, x, w, 1, cm__trace_in(t, o, 2)));
}

/* baddbmm(c, a, b): the product's kernel reads c unless its factor is zero. */
void cm__aten_baddbmm(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t inputs[] = {cm__trace_need(t, o, 1), cm__trace_need(t, o, 2)};
    int32_t y = cm__emit(t->g, op, cm__trace_name(t, o), inputs, 2, NULL, 0);
    if (cm__trace_real(o, "beta", 1) != 0)
        y = cm__emit(t->g, CM_OP_ADD, cm__trace_name(t, o), (int32_t[]){cm__trace_need(t, o, 0), y}, 2, NULL, 0);
    cm__trace_made(t, o, 0, y);
}

/* _grouped_mm(rows [T, K], matrices [E, K, N], ends): the rows of each expert times its matrix. How many rows an expert
   has is data; all count as equal. Autocast does not know the operator. */
void cm__aten_grouped_product(cm__trace *t, const cm__trace_op *o, int op)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0);
    int32_t                 rows = cm__trace_need(t, o, 0), matrices = cm__trace_need(t, o, 1);
    const cm_tensor        *x = cm__t(t->g, rows), *w = cm__t(t->g, matrices);
    cm_dim                  dims[3];
    bool                    plain = t->g->plain;
    if (x->rank != 2 || w->rank != 3 || y->rank != 2 || !cm__dim_div(x->dims[0], w->dims[0], &dims[1]))
        cm__fail(t->ctx, CM_ERR_UNSUPPORTED, "rows that the experts do not divide");
    dims[0] = w->dims[0], dims[2] = x->dims[1];
    t->g->plain = true;
    int32_t shaped[] = {rows, cm__trace_shape(t, 3, dims)};
    int32_t factors[] = {cm__emit(t->g, CM_OP_RESHAPE, cm__trace_name(t, o), shaped, 2, NULL, 0), matrices};
    const cm__attr grouped = CM__INTS(CM_ATTR_GROUPED, 1);
    int32_t joined[] = {cm__emit(t->g, op, cm__trace_name(t, o), factors, 2, &grouped, 1),
                        cm__trace_shape(t, 2, y->dims)};
    cm__trace_made(t, o, 0, cm__emit(t->g, CM_OP_RESHAPE, cm__trace_name(t, o), joined, 2, NULL, 0));
    t->g->plain = plain;
}

/* [x, |x|^2, 1], or of the second operand [-2 x, 1, |x|^2]: the order does not change what it takes. */
static int32_t with_squares(cm__trace *t, const cm__trace_op *o, int32_t x, bool second)
{
    int32_t  last = cm__t(t->g, x)->rank - 1, two = cm__constant_scalar(t->g, "two", CM_FP32, 2);
    cm_dtype dtype = cm__t(t->g, x)->dtype;
    cm_dim   dims[CM__RANK_MAX];
    memcpy(dims, cm__t(t->g, x)->dims, (size_t)(last + 1) * sizeof *dims);
    dims[last] = cm__fixed(1);
    cm__attr sum[] = {CM__INTS(CM_ATTR_KEEPDIMS, 1), CM__INTS(CM_ATTR_AXES, last)}, axis = CM__INTS(CM_ATTR_AXIS, last);
    int32_t  squares = cm__emit(t->g, CM_OP_POW, cm__trace_name(t, o), (int32_t[]){x, two}, 2, NULL, 0);
    int32_t  norms = cm__emit(t->g, CM_OP_REDUCE_SUM, cm__trace_name(t, o), &squares, 1, sum, 2);
    int32_t  ones = cm__leaf(t->g, "ones", CM_ROLE_CONSTANT, dtype, last + 1, dims);
    if (second) x = cm__emit(t->g, CM_OP_MUL, cm__trace_name(t, o), (int32_t[]){x, two}, 2, NULL, 0);
    return cm__emit(t->g, CM_OP_CONCAT, cm__trace_name(t, o), (int32_t[]){x, norms, ones}, 3, &axis, 1);
}

/* _euclidean_dist(a [..., M, D], b [..., N, D]): the root of a product of points with two columns more
   (ATen/native/Distance.cpp). */
void cm__aten_distance(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t a = cm__trace_need(t, o, 0), b = cm__trace_need(t, o, 1), rank = cm__t(t->g, b)->rank;
    int64_t perm[CM__RANK_MAX];
    if (rank < 2 || cm__t(t->g, a)->rank != rank)
        cm__fail(t->ctx, CM_ERR_UNSUPPORTED, "distances between points of %d dimensions", rank);
    a = with_squares(t, o, a, false);
    b = with_squares(t, o, b, true);
    for (int32_t i = 0; i < rank; i++) perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    cm__attr turned = {.key = CM_ATTR_PERM, .count = rank, .ints = perm};
    b = cm__emit(t->g, CM_OP_TRANSPOSE, cm__trace_name(t, o), &b, 1, &turned, 1);
    const cm__attr root = CM__INTS(CM_ATTR_DISTANCE, 1);
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), (int32_t[]){a, b}, 2, &root, 1));
}

#define NEVER_BY_PRODUCTS 2 /* compute_mode of cdist() */

/* A capture has few samples. Between more than 25 points, cdist() computes Euclidean distances by a product, unless it is
   told not to (cdist_impl in ATen/native/Distance.cpp). */
void cm__aten_pairs(cm__trace *t, const cm__trace_op *o, int op)
{
    const cm_tensor *a = cm__t(t->g, cm__trace_need(t, o, 0)), *b = cm__t(t->g, cm__trace_need(t, o, 1));
    bool many = a->rank > 1 && b->rank > 1 && (a->dims[a->rank - 2].per_batch || b->dims[b->rank - 2].per_batch);
    bool euclidean = cm__trace_real(o, "p", 2) == 2 && cm__trace_int(t, o, "compute_mode", 0) != NEVER_BY_PRODUCTS;
    if (many && euclidean) cm__aten_distance(t, o, CM_OP_MATMUL);
    else cm__trace_recorded(t, o, op, NULL, 0);
}

/* ---- windows ---------------------------------------------------------------------------------------------------- */

cm__attr cm__trace_per_dimension(cm__trace *t, const cm__trace_op *o, const char *key, cm__attr_key to, int32_t dims,
                                 int64_t otherwise, int copies)
{
    int64_t  given[CM__RANK_MAX], *all = cm__alloc_array(t->ctx, (size_t)(dims * copies), sizeof *all);
    int32_t  n = cm__trace_ints(t, o, key, given, CM__RANK_MAX);
    if (n > 1 && n != dims) cm__fail(t->ctx, CM_ERR_FORMAT, "%d entries in '%s'", n, key);
    for (int32_t i = 0; i < dims * copies; i++) all[i] = n > 1 ? given[i % dims] : n == 1 ? given[0] : otherwise;
    return (cm__attr){.key = to, .count = dims * copies, .ints = all};
}

/* A filter for each sample makes as many groups as there are samples. */
static cm__attr groups_of(cm__trace *t, const cm__trace_op *o)
{
    cm_dim   groups = cm__trace_dim(t, o, "groups", 1);
    int64_t *count = cm__alloc(t->ctx, sizeof *count);
    if (groups.per_batch && groups.fixed) cm__fail(t->ctx, CM_ERR_UNSUPPORTED, "groups besides those of the samples");
    *count = groups.per_batch ? groups.per_batch : groups.fixed;
    return (cm__attr){.key = groups.per_batch ? CM_ATTR_SAMPLE_GROUPS : CM_ATTR_GROUP, .count = 1, .ints = count};
}

/* like: the image whose size a transposed convolution has to give by its output padding; -1: as recorded. */
static void convolve(cm__trace *t, const cm__trace_op *o, int op, const int32_t inputs[3], bool transposed,
                     int32_t like)
{
    int32_t dims = cm__t(t->g, inputs[1])->rank - 2;
    if (dims < 1 || dims > CM__SPATIAL_MAX) cm__fail(t->ctx, CM_ERR_UNSUPPORTED, "%d spatial dimensions", dims);
    cm__attr attrs[] = {cm__trace_per_dimension(t, o, "stride", CM_ATTR_STRIDES, dims, 1, 1),
                        cm__trace_per_dimension(t, o, "padding", CM_ATTR_PADS, dims, 0, 2),
                        cm__trace_per_dimension(t, o, "dilation", CM_ATTR_DILATIONS, dims, 1, 1),
                        groups_of(t, o),
                        cm__trace_per_dimension(t, o, "output_padding", CM_ATTR_OUTPUT_PADDING, dims, 0, 1),
                        CM__INTS(CM_ATTR_DERIVED, like >= 0)};
    int64_t missing[CM__SPATIAL_MAX];
    for (int32_t i = 0; like >= 0 && i < dims; i++) {
        int64_t from = cm__t(t->g, inputs[0])->dims[2 + i].fixed, window = cm__t(t->g, inputs[1])->dims[2 + i].fixed;
        int64_t least = (from - 1) * attrs[0].ints[i] - 2 * attrs[1].ints[i] + attrs[2].ints[i] * (window - 1) + 1;
        missing[i] = cm__t(t->g, like)->dims[2 + i].fixed - least;
    }
    if (like >= 0) attrs[4].ints = missing;
    cm__trace_made(t, o, 0, cm__emit(t->g, transposed ? CM_OP_CONV_TRANSPOSE : op, cm__trace_name(t, o), inputs,
                                     inputs[2] < 0 ? 2 : 3, attrs, transposed ? 6 : 4));
}

void cm__aten_convolution(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t inputs[] = {cm__trace_need(t, o, 0), cm__trace_need(t, o, 1), cm__trace_in(t, o, 2)};
    t->convolutions++;
    t->channels_last += t->tensors[o->in[0]].channels_last;
    convolve(t, o, op, inputs, cm__trace_int(t, o, "transposed", 0) != 0, -1);
}

static bool is_used(const cm__trace *t, const cm__trace_op *o, int32_t output)
{
    return output < o->n_out && o->out[output] >= 0 && t->tensors[o->out[output]].readers;
}

/* (dy, x, w) -> (dx, dw, db) inside of forward: the gradient of the image is the transposed convolution of dy. */
void cm__aten_convolution_gradient(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t inputs[] = {cm__trace_need(t, o, 0), cm__trace_need(t, o, 2), -1};
    if (is_used(t, o, 1) || is_used(t, o, 2))
        cm__fail(t->ctx, CM_ERR_UNSUPPORTED, "the gradient of a filter in forward");
    bool transposes = cm__trace_int(t, o, "transposed", 0) == 0;
    convolve(t, o, op, inputs, transposes, transposes ? cm__trace_need(t, o, 1) : -1);
}

void cm__aten_pool(cm__trace *t, const cm__trace_op *o, int op)
{
    int64_t  probe[CM__RANK_MAX];
    int32_t  x = cm__trace_need(t, o, 0), dims = strstr(o->name, "3d") ? 3 : 2;
    bool     own_stride = cm__trace_ints(t, o, "stride", probe, CM__RANK_MAX) > 0;
    cm__attr attrs[] = {cm__trace_per_dimension(t, o, "kernel_size", CM_ATTR_KERNEL_SHAPE, dims, 1, 1),
                        cm__trace_per_dimension(t, o, own_stride ? "stride" : "kernel_size", CM_ATTR_STRIDES, dims, 1,
                                                1),
                        cm__trace_per_dimension(t, o, "padding", CM_ATTR_PADS, dims, 0, 2),
                        cm__trace_per_dimension(t, o, "dilation", CM_ATTR_DILATIONS, dims, 1, 1),
                        CM__INTS(CM_ATTR_CEIL_MODE, cm__trace_int(t, o, "ceil_mode", 0))};
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), &x, 1, attrs, 5));
}

/* PyTorch's adaptive pools are kernels of their own, even if all windows have the same size. */
void cm__aten_adaptive_pool(cm__trace *t, const cm__trace_op *o, int op)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0);
    int32_t                 x = cm__trace_need(t, o, 0), dims = y->rank - 2;
    if (dims < 1 || dims > CM__SPATIAL_MAX || cm__t(t->g, x)->rank != y->rank)
        cm__fail(t->ctx, CM_ERR_UNSUPPORTED, "%d spatial dimensions", dims);
    cm__attr mode = CM__INTS(CM_ATTR_MODE, op == CM_OP_MAX_POOL ? CM__MODE_MAX : CM__MODE_AVERAGE);
    cm__trace_recorded(t, o, CM_OP_RESAMPLE, &mode, 1);
}

/* ---- attention -------------------------------------------------------------------------------------------------- */

/* One head of keys serves several of queries. */
static bool shares_keys(const cm__trace_tensor *q, const cm__trace_tensor *k)
{
    return q->rank == 4 && k->rank == 4 && !cm__dim_same(q->dims[1], k->dims[1]);
}

bool cm__trace_unfused(cm__trace *t, const cm__trace_op *o, int32_t mask)
{
    int32_t q = o->in[mask - 3], k = o->in[mask - 2];
    bool    shared = q >= 0 && k >= 0 && shares_keys(&t->tensors[q], &t->tensors[k]);
    if (q >= 0 && t->tensors[q].rank != 4) return true;
    if (shared && !cm__trace_int(t, o, "enable_gqa", 1)) return true; /* older recordings do not have it */
    if (mask >= o->n_in || o->in[mask] < 0) return false;
    const cm__trace_tensor *m = &t->tensors[o->in[mask]];
    if (shared) return true; /* the flash kernel, which would, takes no mask */
    bool turned = m->channels_last && m->rank == 4; /* older recordings have the format, but not the stride */
    return m->rank > 0 && !cm__dim_is(m->dims[m->rank - 1], 1) &&
           cm__trace_int(t, o, "mask_stride", turned ? 0 : 1) != 1;
}

/* One of them; the first attribute is the mark. */
static int32_t inside(cm__trace *t, const cm__trace_op *o, int op, int32_t a, int32_t b, const cm__attr *attrs)
{
    const cm__attr only = CM__INTS(CM_ATTR_MATH, 1);
    return cm__emit(t->g, op, cm__trace_name(t, o), (int32_t[]){a, b}, b < 0 ? 1 : 2, attrs ? attrs : &only,
                    attrs ? 2 : 1);
}

/* The mask that is added to the scores; -1: none. */
static int32_t mask_of(cm__trace *t, const cm__trace_op *o, const int32_t *in)
{
    const cm_tensor *q = cm__t(t->g, in[0]), *k = cm__t(t->g, in[1]);
    cm_dim           dims[] = {q->dims[q->rank - 2], k->dims[k->rank - 2]};
    if (in[3] >= 0 || !cm__trace_int(t, o, "is_causal", 0)) return in[3];
    return cm__leaf(t->g, "causal", CM_ROLE_CONSTANT, q->dtype, 2, dims);
}

/* The operators that PyTorch runs where no fused kernel takes the mask or the three dimensions of the operands; they
   are marked, since they run in fp32. */
static int32_t composed(cm__trace *t, const cm__trace_op *o, const int32_t *in)
{
    double         dropout = cm__trace_real(o, "dropout_p", 0);
    const cm__attr mark = CM__INTS(CM_ATTR_MATH, 1), result = CM__INTS(CM_ATTR_MATH, 2),
                   perm = cm__t(t->g, in[1])->rank == 4 ? CM__INTS(CM_ATTR_PERM, 0, 1, 3, 2)
                                                        : CM__INTS(CM_ATTR_PERM, 0, 2, 1),
                   rows[] = {mark, CM__INTS(CM_ATTR_AXIS, -1)}, ratio[] = {mark, CM__REAL(CM_ATTR_RATIO, dropout)};
    int32_t        root = cm__constant_scalar(t->g, "scale", CM_FP32, 0.5);
    int32_t        keys = cm__emit(t->g, CM_OP_TRANSPOSE, cm__trace_name(t, o), &in[1], 1, &perm, 1);
    int32_t        q = inside(t, o, CM_OP_MUL, in[0], root, NULL), k = inside(t, o, CM_OP_MUL, keys, root, NULL);
    int32_t        p = inside(t, o, CM_OP_MATMUL, q, k, NULL), mask = mask_of(t, o, in);
    if (mask >= 0) p = inside(t, o, CM_OP_ADD, p, mask, NULL);
    p = inside(t, o, CM_OP_SOFTMAX, p, -1, rows);
    if (dropout > 0) p = inside(t, o, CM_OP_DROPOUT, p, -1, ratio);
    return cm__emit(t->g, CM_OP_MATMUL, cm__trace_name(t, o), (int32_t[]){p, in[2]}, 2, &result, 1);
}

void cm__aten_attention(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  inputs[] = {cm__trace_need(t, o, 0), cm__trace_need(t, o, 1), cm__trace_need(t, o, 2),
                         cm__trace_in(t, o, 3)};
    cm__attr attrs[] = {CM__INTS(CM_ATTR_CAUSAL, cm__trace_int(t, o, "is_causal", 0)),
                        CM__REAL(CM_ATTR_DROPOUT, cm__trace_real(o, "dropout_p", 0))};
    int32_t  rank = cm__t(t->g, inputs[0])->rank;
    bool     unfused = (rank == 3 || rank == 4) && cm__trace_unfused(t, o, 3);
    cm__trace_made(t, o, 0, unfused ? composed(t, o, inputs)
                                  : cm__emit(t->g, op, cm__trace_name(t, o), inputs, inputs[3] < 0 ? 3 : 4, attrs, 2));
}

/* ---- normalisation ---------------------------------------------------------------------------------------------- */

void cm__aten_layer_norm(cm__trace *t, const cm__trace_op *o, int op)
{
    int64_t  shape[CM__RANK_MAX];
    int32_t  inputs[] = {cm__trace_need(t, o, 0), cm__trace_in(t, o, 1), cm__trace_in(t, o, 2)};
    int32_t  n = cm__trace_ints(t, o, "normalized_shape", shape, CM__RANK_MAX);
    cm__attr axis = CM__INTS(CM_ATTR_AXIS, n > 0 ? -n : -1);
    int32_t  count = op == CM_OP_RMS_NORM ? 2 : 3;
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, count, &axis, 1));
}

/* If scale, shift or running statistics are absent, the kernel reads nothing in their place. PyTorch runs instance
   normalisation as batch normalisation, with one channel per channel of each sample. */
void cm__aten_batch_norm(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t inputs[5], x = cm__trace_need(t, o, 0);
    cm__need_rank(t->g, cm__t(t->g, x), 2);
    cm_dim channels = cm__t(t->g, x)->dims[1];
    for (int32_t i = 0; i < 5; i++) {
        inputs[i] = cm__trace_in(t, o, i);
        if (channels.per_batch) continue;
        if (inputs[i] < 0) inputs[i] = cm__leaf(t->g, "absent", CM_ROLE_CONSTANT, CM_FP32, 1, &channels);
    }
    bool by_sample = channels.per_batch != 0;
    cm__trace_made(t, o, 0, cm__emit(t->g, by_sample ? CM_OP_INSTANCE_NORM : op, cm__trace_name(t, o), inputs,
                                     by_sample ? 3 : 5, NULL, 0));
}

void cm__aten_group_norm(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  inputs[] = {cm__trace_need(t, o, 0), cm__trace_in(t, o, 1), cm__trace_in(t, o, 2)};
    cm__attr groups = CM__INTS(CM_ATTR_NUM_GROUPS, cm__trace_int(t, o, "group", 1));
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, 3, &groups, 1));
}

/* ---- softmax and losses ----------------------------------------------------------------------------------------- */

/* If only the loss reads a log-softmax, both become one operator (cross-entropy). */
static const cm__trace_op *loss_after(const cm__trace *t, const cm__trace_op *o)
{
    const cm__trace_tensor *y = cm__trace_out(t, o, 0);
    for (int32_t i = (int32_t)(o - t->ops) + 1; i < t->n_ops && y->readers > 0 && i <= y->reader; i++) {
        const cm__trace_op *next = &t->ops[i];
        if (next->phase == CM_FORWARD && next->n_in && next->in[0] == o->out[0] &&
            strncmp(next->name, "nll_loss", 8) == 0)
            return next;
    }
    return NULL;
}

void cm__aten_softmax(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  x = cm__trace_need(t, o, 0);
    cm__attr attrs[] = {CM__INTS(CM_ATTR_AXIS, cm__trace_int(t, o, "dim", -1)), CM__INTS(CM_ATTR_MATH, 1)};
    bool     safe = strcmp(o->name, "_safe_softmax") == 0;
    if (op == CM_OP_LOG_SOFTMAX && loss_after(t, o)) cm__trace_made(t, o, 0, x);
    else cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), &x, 1, attrs, safe ? 2 : 1));
}

/* PyTorch's values are none, mean, sum; ours are mean, sum, none. */
static int64_t reduction_of(cm__trace *t, const cm__trace_op *o)
{
    static const int8_t ours[] = {2, 0, 1};
    int64_t             kind = cm__trace_int(t, o, "reduction", 1);
    if (kind < 0 || kind > 2) cm__fail(t->ctx, CM_ERR_FORMAT, "reduction %lld", (long long)kind);
    return ours[kind];
}

static bool after_log_softmax(const cm__trace *t, const cm__trace_op *o)
{
    for (int32_t i = (int32_t)(o - t->ops) - 1; i >= 0; i--)
        if (t->ops[i].n_out && t->ops[i].out[0] == o->in[0]) return strcmp(t->ops[i].name, "_log_softmax") == 0;
    return false;
}

void cm__aten_nll_loss(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  inputs[] = {cm__trace_need(t, o, 0), cm__trace_need(t, o, 1), cm__trace_in(t, o, 2)};
    cm__attr reduction = CM__INTS(CM_ATTR_REDUCTION, reduction_of(t, o));
    bool     whole = after_log_softmax(t, o);
    cm__trace_made(t, o, 0, cm__emit(t->g, whole ? CM_OP_CROSS_ENTROPY : op, cm__trace_name(t, o), inputs,
                                     inputs[2] < 0 ? 2 : 3, &reduction, 1));
}

void cm__aten_loss(cm__trace *t, const cm__trace_op *o, int op)
{
    int32_t  inputs[] = {cm__trace_need(t, o, 0), cm__trace_need(t, o, 1)};
    cm__attr reduction = CM__INTS(CM_ATTR_REDUCTION, reduction_of(t, o));
    cm__trace_made(t, o, 0, cm__emit(t->g, op, cm__trace_name(t, o), inputs, 2, &reduction, 1));
}
