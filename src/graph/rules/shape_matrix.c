/* SPDX-License-Identifier: Apache-2.0 */
/* shape_matrix.c - shapes of matrix products, convolutions, attention and recurrent layers. */
#include "graph/rule.h"
#include "graph/rules/rules.h"

#include <string.h>

static void saved(cm_graph *g, cm_node *n, int32_t index, cm_dtype dtype, int32_t rank, const cm_dim *dims)
{
    cm__set_output(g, n, index, dtype, rank, dims);
    cm__t(g, n->outputs[index])->role = CM_ROLE_SAVED;
}

/* The result of an 8-bit product has a wider type. */
static cm_dtype product_type(const cm_graph *g, const cm_node *n)
{
    cm_dtype widest = cm__widest(g, n, 0, 2);
    return widest == CM_FP8 ? CM_BF16 : widest;
}

static void need_inner(cm_graph *g, cm_dim a, cm_dim b, const cm_tensor *x, const cm_tensor *w)
{
    if (!cm__dim_same(a, b))
        cm__fail(g->ctx, CM_ERR_FORMAT, "%s by %s: inner dimensions differ", cm__dims_text(g, x), cm__dims_text(g, w));
}

/* x[..., K] by W[K, N]; transA only for matrices, as in ONNX. */
void cm__shape_gemm(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0), *w = cm__in(g, n, 1);
    bool trans_a = cm__attr_int(n, CM_ATTR_TRANS_A, 0) != 0, trans_b = cm__attr_int(n, CM_ATTR_TRANS_B, 0) != 0;
    cm_dim           dims[CM__RANK_MAX];
    cm__need_rank(g, x, trans_a ? 2 : 1);
    cm__need_rank(g, w, 2);
    if (w->rank != 2 || (trans_a && x->rank != 2))
        cm__fail(g->ctx, CM_ERR_FORMAT, "Gemm of %s by %s", cm__dims_text(g, x), cm__dims_text(g, w));
    need_inner(g, x->dims[trans_a ? 0 : x->rank - 1], w->dims[trans_b ? 1 : 0], x, w);
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    if (trans_a) dims[0] = x->dims[1];
    dims[x->rank - 1] = w->dims[trans_b ? 0 : 1];
    int32_t rank = x->rank;
    if (cm__has(n, 2)) {
        cm_dim           out[CM__RANK_MAX];
        const cm_tensor *c = cm__in(g, n, 2);
        bool fits = cm__broadcast(g, rank, dims, c->rank, c->dims, out) == rank;
        for (int32_t i = 0; fits && i < rank; i++) fits = cm__dim_same(out[i], dims[i]);
        if (!fits) cm__fail(g->ctx, CM_ERR_FORMAT, "bias %s is larger than the product", cm__dims_text(g, c));
    }
    cm__set_output(g, n, 0, product_type(g, n), rank, dims);
}

static void matmul_of(cm_graph *g, cm_node *n, int32_t first, int32_t second, cm_dtype dtype)
{
    const cm_tensor *a = cm__in(g, n, first), *b = cm__in(g, n, second);
    cm__need_rank(g, a, 1);
    cm__need_rank(g, b, 1);
    bool   vector_a = a->rank == 1, vector_b = b->rank == 1;
    cm_dim m = vector_a ? cm__fixed(1) : a->dims[a->rank - 2], cols = vector_b ? cm__fixed(1) : b->dims[b->rank - 1];
    need_inner(g, a->dims[a->rank - 1], b->dims[vector_b ? 0 : b->rank - 2], a, b);
    cm_dim  dims[CM__RANK_MAX + 2];
    int32_t rank = cm__broadcast(g, vector_a ? 0 : a->rank - 2, a->dims, vector_b ? 0 : b->rank - 2, b->dims, dims);
    if (!vector_a) dims[rank++] = m;
    if (!vector_b) dims[rank++] = cols;
    cm__set_output(g, n, 0, dtype, rank, dims);
}

void cm__shape_matmul(cm_graph *g, cm_node *n)
{
    matmul_of(g, n, 0, 1, n->op == CM_OP_MATMUL_INTEGER ? CM_INT32 : product_type(g, n));
}

void cm__shape_qlinear_matmul(cm_graph *g, cm_node *n) { matmul_of(g, n, 0, 3, cm__in(g, n, 7)->dtype); }

/* ---- convolution ------------------------------------------------------------------------------------------------ */

static void kernel_of(cm_graph *g, const cm_tensor *w, int64_t *kernel)
{
    for (int32_t i = 2; i < w->rank && i < CM__SPATIAL_MAX + 2; i++) {
        if (w->dims[i].per_batch) cm__fail(g->ctx, CM_ERR_UNSUPPORTED, "kernel size depends on the batch size");
        kernel[i - 2] = w->dims[i].fixed;
    }
}

static cm_dim group_of(cm_graph *g, const cm_node *n)
{
    cm_dim group = cm__conv_groups(n);
    if (group.fixed + group.per_batch < 1) cm__fail(g->ctx, CM_ERR_FORMAT, "group of %lld", (long long)group.fixed);
    return group;
}

static void conv_of(cm_graph *g, cm_node *n, int32_t first, int32_t second, cm_dtype dtype)
{
    const cm_tensor *x = cm__in(g, n, first), *w = cm__in(g, n, second);
    cm__need_rank(g, x, 3);
    if (w->rank != x->rank)
        cm__fail(g->ctx, CM_ERR_FORMAT, "weight %s for input %s", cm__dims_text(g, w), cm__dims_text(g, x));
    int64_t    kernel[CM__SPATIAL_MAX] = {0};
    cm_dim     group = group_of(g, n), filters;
    cm__window window;
    kernel_of(g, w, kernel);
    cm__window_read(g, n, x->rank - 2, kernel, &window);
    if (!cm__dim_same(cm__dim_mul(g, w->dims[1], group), x->dims[1]) || !cm__dim_div(w->dims[0], group, &filters))
        cm__fail(g->ctx, CM_ERR_FORMAT, "weight %s in %lld groups for input %s", cm__dims_text(g, w),
                 (long long)group.fixed, cm__dims_text(g, x));
    cm_dim dims[CM__RANK_MAX] = {x->dims[0], w->dims[0]};
    for (int32_t i = 0; i < window.dims; i++) dims[i + 2] = cm__window_output(g, &window, i, x->dims[i + 2], false);
    int32_t rank = x->rank;
    cm__set_output(g, n, 0, dtype, rank, dims);
}

void cm__shape_conv(cm_graph *g, cm_node *n)
{
    conv_of(g, n, 0, 1, n->op == CM_OP_CONV_INTEGER ? CM_INT32 : cm__widest(g, n, 0, 2));
}

void cm__shape_qlinear_conv(cm_graph *g, cm_node *n) { conv_of(g, n, 0, 3, cm__in(g, n, 7)->dtype); }

static cm_dim transpose_size(cm_graph *g, const cm__window *w, int32_t i, cm_dim size, int64_t extra)
{
    if (size.per_batch) cm__fail(g->ctx, CM_ERR_UNSUPPORTED, "a window slides over the batch dimension");
    if (w->auto_pad >= 2) return cm__dim_mul(g, size, cm__fixed(w->stride[i]));
    cm_dim spread = cm__dim_mul(g, cm__fixed(size.fixed - 1), cm__fixed(w->stride[i]));
    cm_dim span = cm__dim_mul(g, cm__fixed(w->kernel[i] - 1), cm__fixed(w->dilation[i]));
    return cm__fixed(spread.fixed + span.fixed + 1 + extra - w->pad_begin[i] - w->pad_end[i]);
}

void cm__shape_conv_transpose(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0), *w = cm__in(g, n, 1);
    cm__need_rank(g, x, 3);
    if (w->rank != x->rank || !cm__dim_same(x->dims[1], w->dims[0]))
        cm__fail(g->ctx, CM_ERR_FORMAT, "weight %s for input %s", cm__dims_text(g, w), cm__dims_text(g, x));
    int64_t    kernel[CM__SPATIAL_MAX] = {0}, extra[CM__SPATIAL_MAX] = {0}, shape[CM__RANK_MAX];
    cm__window window;
    kernel_of(g, w, kernel);
    cm__window_read(g, n, x->rank - 2, kernel, &window);
    cm__int_list(g, n, CM_ATTR_OUTPUT_PADDING, -1, extra, CM__SPATIAL_MAX);
    int32_t given = cm__int_list(g, n, CM_ATTR_OUTPUT_SHAPE, -1, shape, CM__RANK_MAX);
    cm_dim  dims[CM__RANK_MAX] = {x->dims[0], cm__dim_mul(g, w->dims[1], group_of(g, n))};
    for (int32_t i = 0; i < window.dims; i++)
        dims[i + 2] = given >= window.dims ? cm__fixed(shape[given - window.dims + i])
                                           : transpose_size(g, &window, i, x->dims[i + 2], extra[i]);
    int32_t rank = x->rank;
    cm__set_output(g, n, 0, cm__widest(g, n, 0, 2), rank, dims);
}

/* ---- attention -------------------------------------------------------------------------------------------------- */

/* ONNX 23 allows [B, S, heads*d] with the number of heads as attributes; everything else here is [B, heads, S, d]. */
static void heads_of(cm_graph *g, const cm_node *n, const cm_tensor *t, cm__attr_key key, cm_dim out[4])
{
    if (t->rank == 4) {
        memcpy(out, t->dims, 4 * sizeof *out);
        return;
    }
    int64_t heads = cm__attr_int(n, key, 0);
    if (t->rank != 3 || heads < 1 || !cm__dim_div(t->dims[2], cm__fixed(heads), &out[3]))
        cm__fail(g->ctx, CM_ERR_FORMAT, "attention over %s in %lld heads", cm__dims_text(g, t), (long long)heads);
    out[0] = t->dims[0];
    out[1] = cm__fixed(heads);
    out[2] = t->dims[1];
}

void cm__shape_attention(cm_graph *g, cm_node *n)
{
    const cm_tensor *q = cm__in(g, n, 0), *k = cm__in(g, n, 1), *v = cm__in(g, n, 2);
    cm_dim           dq[4], dk[4], dv[4];
    heads_of(g, n, q, CM_ATTR_Q_NUM_HEADS, dq);
    heads_of(g, n, k, CM_ATTR_KV_NUM_HEADS, dk);
    heads_of(g, n, v, CM_ATTR_KV_NUM_HEADS, dv);
    cm_dim ratio;
    if (!cm__dim_same(dq[3], dk[3]) || !cm__dim_same(dk[2], dv[2]) || !cm__dim_same(dk[1], dv[1]) ||
        !cm__dim_same(dq[0], dk[0]) || !cm__dim_same(dk[0], dv[0]) || !cm__dim_div(dq[1], dk[1], &ratio))
        cm__fail(g->ctx, CM_ERR_FORMAT, "attention of %s, %s, %s", cm__dims_text(g, q), cm__dims_text(g, k),
                 cm__dims_text(g, v));
    cm_dim   scores[3] = {dq[0], dq[1], dq[2]}, wide = cm__dim_mul(g, dq[1], dv[3]);
    cm_dtype dtype = cm__widest(g, n, 0, 3);
    if (q->rank == 4) cm__set_output(g, n, 0, dtype, 4, (cm_dim[]){dq[0], dq[1], dq[2], dv[3]});
    else cm__set_output(g, n, 0, dtype, 3, (cm_dim[]){dq[0], dq[2], wide});
    saved(g, n, 1, CM_FP32, 3, scores); /* log-sum-exp of each row of scores; the scores are not kept */
}

/* ---- recurrent layers ------------------------------------------------------------------------------------------- */

static const struct {
    int16_t op;
    int8_t  gates, states, kept; /* kept: values of each element of the state that cuDNN stores for backward */
} cells[] = {{CM_OP_RNN, 1, 1, 1}, {CM_OP_GRU, 3, 1, 6}, {CM_OP_LSTM, 4, 2, 5}};

/* x[S, B, I], W[D, gates*H, I], R[D, gates*H, H] -> Y[S, D, B, H], Y_h[D, B, H], Y_c; layout 1 puts B first. */
void cm__shape_rnn(cm_graph *g, cm_node *n)
{
    const cm_tensor *x = cm__in(g, n, 0), *w = cm__in(g, n, 1), *r = cm__in(g, n, 2);
    if (x->rank != 3 || w->rank != 3 || r->rank != 3)
        cm__fail(g->ctx, CM_ERR_FORMAT, "recurrent layer over %s with weights %s", cm__dims_text(g, x),
                 cm__dims_text(g, w));
    int    cell = n->op == CM_OP_LSTM ? 2 : n->op == CM_OP_GRU;
    bool   batch_first = cm__attr_int(n, CM_ATTR_LAYOUT, 0) != 0;
    cm_dim seq = x->dims[batch_first ? 1 : 0], batch = x->dims[batch_first ? 0 : 1], dirs = w->dims[0],
           hidden = r->dims[2];
    cm_dim gates = cm__dim_mul(g, hidden, cm__fixed(cells[cell].gates));
    if (!cm__dim_same(w->dims[2], x->dims[2]) || !cm__dim_same(w->dims[1], gates) || !cm__dim_same(r->dims[1], gates) ||
        !cm__dim_same(r->dims[0], dirs))
        cm__fail(g->ctx, CM_ERR_FORMAT, "weights %s and %s do not fit %s", cm__dims_text(g, w), cm__dims_text(g, r),
                 cm__dims_text(g, x));
    cm_dtype dtype = cm__widest(g, n, 0, 3);
    cm_dim   reserve[4] = {seq, batch, dirs, cm__dim_mul(g, hidden, cm__fixed(cells[cell].kept))};
    cm__set_output(g, n, 0, dtype, 4,
                   batch_first ? (cm_dim[]){batch, seq, dirs, hidden} : (cm_dim[]){seq, dirs, batch, hidden});
    for (int32_t s = 0; s < 2; s++)
        if (s < cells[cell].states || s + 1 < n->n_outputs)
            cm__set_output(g, n, s + 1, dtype, 3,
                           batch_first ? (cm_dim[]){batch, dirs, hidden} : (cm_dim[]){dirs, batch, hidden});
    saved(g, n, 3, dtype, 4, reserve); /* for backward */
}

/* gates of x [B, gates H], gates of the state, a state [B, H] -> states [B, H]. Backward reads the four gates of an
   LSTM; of a GRU three gates, the old state and its part in the new one (ATen/native/cuda/RNN.cu). */
void cm__shape_cell(cm_graph *g, cm_node *n)
{
    const cm_tensor *state = cm__in(g, n, 2);
    bool             lstm = n->op == CM_OP_LSTM_CELL;
    cm__need_rank(g, state, 2);
    cm_dim rows = state->dims[0], width = state->dims[1], all = cm__dim_mul(g, width, cm__fixed(lstm ? 4 : 3));
    for (int32_t i = 0; i < 2; i++) {
        const cm_tensor *gates = cm__in(g, n, i);
        if (gates->rank != 2 || !cm__dim_same(gates->dims[0], rows) || !cm__dim_same(gates->dims[1], all))
            cm__fail(g->ctx, CM_ERR_FORMAT, "gates %s do not fit the state %s", cm__dims_text(g, gates),
                     cm__dims_text(g, state));
    }
    cm_dtype dtype = cm__widest(g, n, 0, 3);
    for (int32_t i = 0; i <= lstm; i++) cm__set_output(g, n, i, dtype, 2, (cm_dim[]){rows, width});
    saved(g, n, 1 + lstm, dtype, 2, (cm_dim[]){rows, cm__dim_mul(g, width, cm__fixed(lstm ? 4 : 5))});
}
