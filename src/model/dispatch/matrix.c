/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.c - kernel calls of matrix products and fused attention, as PyTorch makes them. */
#include <math.h>
#include <string.h>
#include "base/ablation.h"
#include "graph/runtimes.h"
#include "model/dispatch/attention.h"
#include "model/dispatch/compiler.h"

const cm_node *cm__forward_of(const cm__dispatch *d, const cm_node *n)
{
    return n->source >= 0 && n->phase != CM_RECOMPUTE ? &d->g->nodes[n->source] : n;
}

cm__sized_call cm__call_begin(const cm__dispatch *d, int op, cm__pass pass, cm__variant variant, cm_dtype dtype,
                              bool matrix)
{
    cm__sized_call c;
    memset(&c, 0, sizeof c); /* calls are compared byte by byte */
    c.op = (int16_t)op;
    c.pass = (int16_t)pass;
    c.variant = variant;
    c.types = CM__ALL(matrix && dtype == CM_FP32 && d->tf32 ? CM__TF32 : dtype);
    return c;
}

/* ---- products --------------------------------------------------------------------------------------------------- */

/* 8-bit products have one form; those of gradients do not keep sums in the short registers of Hopper's units. */
static cm__variant eight_bit(const cm__dispatch *d, int32_t node)
{
    return cm__node(d, node)->phase == CM_BACKWARD ? CM__V_NT_EXACT : CM__V_NT;
}

#define PADDED_LEAST 1024 /* rows and columns; smaller ones are padded less often than not */

/* Matrix units load 16 bytes at once. Inductor times large products with and without padding and pads unaligned dimensions
   (torch/_inductor/fx_passes/pad_mm.py), which copies the weights if these are the columns. */
static void pad_large(cm__dispatch *d, int32_t node, cm_dtype dtype, cm__sized_call *c)
{
    double  bytes = (double)cm_dtype_size(dtype), aligned = 16 / bytes;
    bool    units = bytes == 2 || (dtype == CM_FP32 && d->tf32), single = cm__poly_at(&c->sizes[CM__GEMM_BATCH], 2) == 1;
    cm_poly columns = c->sizes[CM__GEMM_N];
    if (!units || !single || !cm__is_compiled(d, cm__node(d, node))) return;
    for (int i = CM__GEMM_M; i < CM__GEMM_SIZES; i++) {
        double size = cm__poly_at(&c->sizes[i], 1), padded = ceil(size / aligned) * aligned;
        bool   fixed = cm__poly_at(&c->sizes[i], 2) == size;
        if (!fixed || size < PADDED_LEAST || padded == size || cm__rule_off("padding")) continue;
        c->sizes[i] = cm__poly_const(padded);
        if (i == CM__GEMM_N && c->variant != CM__V_TN && c->variant != CM__V_TT)
            cm__call_moved(d, node, CM__V_FUSED, cm__poly_scale(cm__poly_mul(c->sizes[CM__GEMM_K], columns), 2 * bytes));
    }
}

void cm__call_product(cm__dispatch *d, int32_t node, cm__variant variant, cm_dtype dtype,
                      const cm_poly sizes[CM__GEMM_SIZES])
{
    if (dtype == CM_FP8) variant = eight_bit(d, node);
    cm__sized_call c = cm__call_begin(d, CM__CALL_GEMM, CM__PASS_FORWARD, variant, dtype, true);
    memcpy(c.sizes, sizes, CM__GEMM_SIZES * sizeof *sizes);
    pad_large(d, node, dtype, &c);
    cm__dispatch_add(d, node, &c);
}

/* Rows, columns and inner size of a linear layer. */
typedef struct linear {
    cm_poly m, n, k;
    bool    stored_nk, bias;
} linear;

static linear linear_of(const cm__dispatch *d, const cm_node *n)
{
    const cm_tensor *x = cm__in(d->g, n, 0), *y = cm__t(d->g, n->outputs[0]);
    bool             by_column = cm__attr_int(n, CM_ATTR_TRANS_A, 0) != 0;
    return (linear){.m = cm__poly_product(y->dims, y->rank - 1),
                    .n = cm__poly_dim(y->dims[y->rank - 1]),
                    .k = cm__poly_dim(x->dims[by_column ? 0 : x->rank - 1]),
                    .stored_nk = cm__attr_int(n, CM_ATTR_TRANS_B, 0) || cm__attr_int(n, CM_ATTR_STORED_TURNED, 0),
                    .bias = cm__has(n, 2)};
}

/* A linear layer copies its input if the strides do not allow viewing it as one matrix. */
static void as_matrix(cm__dispatch *d, int32_t node, int32_t tensor)
{
    if (cm__t(d->g, tensor)->rank > 2 && !cm__strides_joined(d->strides, tensor, 1)) cm__call_in_rows(d, node, tensor);
}

/* Inductor adds the bias of a product in 32 bits where the result is read, if all that reads it is elementwise and
   backward does not need it (unfuse_bias_add_to_pointwise in torch/_inductor/fx_passes/post_grad.py). The product
   without a bias may be split along its inner dimension. In 16 bits it keeps its bias: recorded steps run the same
   kernels with a bias as eager ones. */
static bool adds_bias_later(const cm__dispatch *d, const cm_node *gemm)
{
    const cm_graph *g = d->g;
    int32_t         result = cm__t(g, gemm->outputs[0])->storage;
    if (cm__is_xla(d->runtime)) return true; /* an operator of its own, whatever program it comes from */
    if (!cm__is_compiled(d, gemm) || cm__in(g, gemm, 0)->dtype != CM_FP32) return false;
    for (int32_t i = 0; i < g->n_outputs; i++)
        if (cm__t(g, g->outputs[i])->storage == result) return false;
    for (const cm_node *n = gemm + 1; n < g->nodes + g->n_nodes; n++)
        for (int32_t k = 0; !n->view && k < n->n_inputs; k++) {
            if (n->inputs[k] < 0 || cm__t(g, n->inputs[k])->storage != result) continue;
            if (n->phase != CM_FORWARD) return false;
            if (cm__class(n) != CM_CLASS_ELEMENTWISE && !cm__ops[n->op].view) return false;
        }
    return true;
}

/* PyTorch adds the bias within the product only if the input is contiguous rows. A compiler adds it where the result is
   read. */
void cm__dispatch_gemm(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node);
    const cm_tensor *x = cm__in(d->g, n, 0);
    linear           l = linear_of(d, n);
    bool             apart = l.bias && x->rank > 2 && !cm__strides_in_rows(d->strides, n->inputs[0]);
    if (l.bias && adds_bias_later(d, n)) apart = true;
    bool        within = l.bias && !apart;
    cm__variant variant = l.stored_nk ? within ? CM__V_NT_BIAS : CM__V_NT : within ? CM__V_NN_BIAS : CM__V_NN;
    as_matrix(d, node, n->inputs[0]);
    cm__call_product(d, node, variant, x->dtype, (cm_poly[]){cm__poly_const(1), l.m, l.n, l.k});
    if (apart && !cm__is_compiled(d, n))
        cm__call_map(d, node, CM__V(ADD, ROW), n->outputs[0], -1, n->outputs[0], l.m, l.n);
}

void cm__dispatch_gemm_grad(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    linear         l = linear_of(d, cm__forward_of(d, n));
    cm_poly        one = cm__poly_const(1);
    cm_dtype       dtype = cm__in(d->g, n, 0)->dtype;
    as_matrix(d, node, n->inputs[0]);
    if (n->op == CM_OP_GEMM_GRAD_INPUT)
        cm__call_product(d, node, l.stored_nk ? CM__V_NN : CM__V_NT, dtype, (cm_poly[]){one, l.m, l.k, l.n});
    else if (l.stored_nk) cm__call_product(d, node, CM__V_TN, dtype, (cm_poly[]){one, l.n, l.k, l.m});
    else cm__call_product(d, node, CM__V_TN, dtype, (cm_poly[]){one, l.k, l.n, l.m});
}

/* A stack of matrices needs no copy if the matrices are evenly spaced and each has a contiguous dimension. */
static bool stacks(const cm__dispatch *d, int32_t tensor)
{
    const cm_tensor *t = cm__t(d->g, tensor);
    const int64_t   *strides = cm__strides_of(d->strides, tensor);
    if (t->rank < 3) return true;
    return cm__strides_joined(d->strides, tensor, 2) && (strides[t->rank - 1] == 1 || strides[t->rank - 2] == 1);
}

/* True: the matrix is read through a transposed view. */
static bool is_transposed(const cm__dispatch *d, int32_t tensor)
{
    const cm_tensor *t = cm__t(d->g, tensor);
    const int64_t   *strides = cm__strides_of(d->strides, tensor);
    return t->rank >= 2 && stacks(d, tensor) && strides[t->rank - 2] == 1 && strides[t->rank - 1] > 1;
}

static void as_stack(cm__dispatch *d, int32_t node, int32_t tensor)
{
    if (!stacks(d, tensor)) cm__call_in_rows(d, node, tensor);
}

/* a[..., m, k] by b[..., k, n]; if b is a single matrix, this is one product over all rows of a. */
typedef struct stacked {
    cm_poly batch, m, n, k;
} stacked;

static stacked stacked_of(const cm__dispatch *d, const cm_node *n)
{
    const cm_tensor *a = cm__in(d->g, n, 0), *b = cm__in(d->g, n, 1), *y = cm__t(d->g, n->outputs[0]);
    cm_poly          one = cm__poly_const(1);
    stacked          s = {one, one, one, cm__poly_dim(a->dims[a->rank - 1])};
    if (b->rank >= 2) s.n = cm__poly_dim(b->dims[b->rank - 1]);
    if (b->rank <= 2) s.m = cm__poly_product(a->dims, a->rank - 1);
    else {
        int32_t front = y->rank - (a->rank > 1 ? 2 : 1);
        s.batch = cm__poly_product(y->dims, front > 0 ? front : 0);
        if (a->rank > 1) s.m = cm__poly_dim(a->dims[a->rank - 2]);
    }
    return s;
}

#define EXPERTS_MOST 4096 /* that are listed one by one; no model has as many */

/* PyTorch's _grouped_mm has a kernel for all experts in bf16 only. In other types it multiplies the rows of one expert
   after another (_grouped_mm_fallback in ATen/native/GroupedMMUtils.h). */
static void products(cm__dispatch *d, int32_t node, const cm_node *forward, cm__variant variant, cm_dtype dtype,
                     const cm_poly sizes[CM__GEMM_SIZES])
{
    double  experts = cm__poly_at(&sizes[CM__GEMM_BATCH], 1);
    bool    loop = cm__attr_find(forward, CM_ATTR_GROUPED) && dtype != CM_BF16 && cm__is_pytorch(d->runtime) &&
                experts <= EXPERTS_MOST;
    cm_poly one[CM__GEMM_SIZES] = {cm__poly_const(1), sizes[1], sizes[2], sizes[3]};
    for (double i = 0; i < (loop ? experts : 1); i++) cm__call_product(d, node, variant, dtype, loop ? one : sizes);
}

/* Distances are the roots of a product, which is clamped to zero before. Their gradient is divided by them, except
   where they are zero. All of it runs in place. */
static void roots(cm__dispatch *d, int32_t node, bool backward)
{
    static const cm__variant kernels[2][4] = {{CM__V_CLIP, CM__V_SQRT}, {CM__V_DIV, CM__V_COMPARE, CM__V_WHERE}};
    const cm_node           *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    int32_t                  y = backward ? n->inputs[0] : n->outputs[0];
    if (!cm__attr_find(forward, CM_ATTR_DISTANCE)) return;
    for (const cm__variant *k = kernels[backward]; *k; k++) cm__call_over(d, node, *k, y, -1, y);
}

void cm__dispatch_matmul(cm__dispatch *d, int32_t node)
{
    static const cm__variant variants[2][2] = {{CM__V_NN, CM__V_NT}, {CM__V_TN, CM__V_TT}};
    const cm_node           *n = cm__node(d, node);
    stacked                  s = stacked_of(d, n);
    for (int i = 0; i < 2; i++) as_stack(d, node, n->inputs[i]);
    products(d, node, n, variants[is_transposed(d, n->inputs[0])][is_transposed(d, n->inputs[1])],
             cm__in(d->g, n, 0)->dtype, (cm_poly[]){s.batch, s.m, s.n, s.k});
    roots(d, node, false);
}

/* The gradient of a is a product with b^T, that of b one with a^T. */
void cm__dispatch_matmul_grad(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    stacked        s = stacked_of(d, forward);
    cm_dtype       dtype = cm__in(d->g, n, 0)->dtype;
    bool           of_first = n->inputs[1] == forward->inputs[1];
    as_stack(d, node, n->inputs[0]);
    if (of_first) roots(d, node, true);
    if (of_first)
        products(d, node, forward, is_transposed(d, forward->inputs[1]) ? CM__V_NN : CM__V_NT, dtype,
                 (cm_poly[]){s.batch, s.m, s.k, s.n});
    else
        products(d, node, forward, is_transposed(d, forward->inputs[0]) ? CM__V_NN : CM__V_TN, dtype,
                 (cm_poly[]){s.batch, s.k, s.n, s.m});
}

/* ---- attention -------------------------------------------------------------------------------------------------- */

static cm_poly heads_of(const cm_tensor *t, int64_t given)
{
    return t->rank == 4 ? cm__poly_dim(t->dims[1]) : cm__poly_const(given > 0 ? (double)given : 1);
}

/* The head width of queries and keys. If values have another width, the mean of both, which keeps FLOP and bytes
   correct. */
static cm_poly width_of(const cm__dispatch *d, const cm_node *forward, const cm_tensor *q)
{
    const cm_tensor *y = cm__t(d->g, forward->outputs[0]);
    cm_poly          both = cm__poly_add(cm__poly_dim(q->dims[q->rank - 1]), cm__poly_dim(y->dims[y->rank - 1]));
    return cm__poly_scale(both, 0.5);
}

/* 0: no mask; 1: a mask; 2: a mask that is trained, so that backward also writes the gradient of the scores. */
static int mask_of(const cm__dispatch *d, const cm_node *forward)
{
    if (!cm__has(forward, 3)) return cm__attention_masked(d->g, forward, d->runtime);
    for (int32_t i = 0; i < d->g->n_nodes; i++) {
        const cm_node *n = &d->g->nodes[i];
        if (n->op == CM_OP_ATTENTION_GRAD && n->source >= 0 && &d->g->nodes[n->source] == forward)
            return n->n_outputs > 3 ? 2 : 1;
    }
    return 1;
}

#define FLASH_WIDTH 256 /* of a head, at most, in PyTorch's flash kernels and cuDNN's (sdp_utils.cpp) */

static cm__variant attention_variant(const cm__dispatch *d, const cm_node *forward, double width)
{
    static const cm__variant variants[3][2] = {
        {CM__V_NONE, CM__V_DROPOUT}, {CM__V_MASK, CM__V_MASK_DROPOUT}, {CM__V_BIAS, CM__V_BIAS_DROPOUT}};
    bool     dropout = cm__attr_real(forward, CM_ATTR_DROPOUT, 0) > 0 && d->trains;
    int      mask = mask_of(d, forward);
    cm__variant_form kernel = cm__attention_kernel(d->g, d->runtime);
    bool     wide = width > FLASH_WIDTH && cm__is_pytorch(d->runtime) && cm__in(d->g, forward, 0)->dtype != CM_FP32;
    if (!kernel && !mask && wide) kernel = CM__FORM_EFFICIENT;
    return cm__variant_in(variants[mask][dropout], kernel);
}

/* A kernel that skips blocks outside a sliding window computes, for each block of queries, the blocks of keys that the
   window touches. The same work and operands as samples of that many tokens which attend to each other. */
static void look_back(cm__sized_call *c, int64_t tokens, int64_t window)
{
    const int64_t block = 128; /* queries and keys of FlashAttention's and cuDNN's blocks with heads up to 128 wide */
    int64_t       rows = (tokens + block - 1) / block, most = (window + block - 1) / block + 1;
    if (rows <= most) return;
    int64_t blocks = most * (most + 1) / 2 + (rows - most) * most, keys = block * blocks / rows;
    int64_t samples = tokens / keys;
    c->sizes[CM__ATTENTION_BATCH] = cm__poly_scale(c->sizes[CM__ATTENTION_BATCH], (double)samples);
    c->sizes[CM__ATTENTION_Q] = cm__poly_const((double)((tokens + samples - 1) / samples));
    c->sizes[CM__ATTENTION_KV] = cm__poly_const((double)keys);
    c->sizes[CM__ATTENTION_CAUSAL] = cm__poly_const(0);
}

static void attend(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    const cm_tensor *q = cm__in(d->g, forward, 0), *k = cm__in(d->g, forward, 1);
    int64_t          q_heads = cm__attr_int(forward, CM_ATTR_Q_NUM_HEADS, 1);
    double           split = q->rank == 4 ? 1 : (double)q_heads;
    cm__pass         pass = n->phase == CM_BACKWARD ? CM__PASS_BACKWARD : CM__PASS_FORWARD;
    bool             masked = cm__attention_masked(d->g, forward, d->runtime);
    cm_poly          width = cm__poly_scale(width_of(d, forward, q), 1 / split);
    cm__variant      variant = attention_variant(d, forward, width.c[0]);
    cm__sized_call   c = cm__call_begin(d, CM__CALL_ATTENTION, pass, variant, q->dtype, true);
    c.sizes[CM__ATTENTION_BATCH] = q->rank == 4 ? cm__poly_dim(q->dims[0]) : cm__poly_product(q->dims, q->rank - 2);
    c.sizes[CM__ATTENTION_Q] = cm__poly_dim(q->dims[q->rank - 2]);
    c.sizes[CM__ATTENTION_KV] = cm__poly_dim(k->dims[k->rank - 2]);
    c.sizes[CM__ATTENTION_HEADS] = heads_of(q, q_heads);
    c.sizes[CM__ATTENTION_KV_HEADS] = masked ? c.sizes[CM__ATTENTION_HEADS] :
                                               heads_of(k, cm__attr_int(forward, CM_ATTR_KV_NUM_HEADS, q_heads));
    c.sizes[CM__ATTENTION_WIDTH] = width;
    c.sizes[CM__ATTENTION_CAUSAL] =
        cm__poly_const(cm__attr_int(forward, CM_ATTR_CAUSAL, 0) && !masked);
    int64_t window = masked ? 0 : cm__attention_window(d->g, forward);
    if (window) look_back(&c, k->dims[k->rank - 2].fixed, window);
    cm__dispatch_add(d, node, &c);
}

void cm__dispatch_attention(cm__dispatch *d, int32_t node)
{
    const cm_node *forward = cm__forward_of(d, cm__node(d, node));
    bool           unfused = cm__attention_unfused(d->g, forward, d->runtime, d->math);
    (unfused ? cm__dispatch_math : attend)(d, node);
}
