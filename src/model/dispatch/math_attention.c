/* SPDX-License-Identifier: Apache-2.0 */
/*
 * math_attention.c - kernel calls of unfused attention.
 *
 * Two batched products with scale, mask and softmax between them (one kernel in Megatron-LM), and a dropout. The result
 * is copied back into the layout of tokens. Models of before PyTorch 2.0 call torch.matmul(), which copies queries, keys
 * and values as well, and in backward the gradient of the result and theirs. Under context parallelism a device has a share of the queries, and all
 * keys.
 */
#include "base/text.h"
#include "model/dispatch/attention.h"
#include "model/dispatch/compiler.h"

typedef struct scores {
    cm_poly  batch, queries, keys, width; /* batch: samples times heads */
    cm_dtype dtype;
    bool     masked, causal, dropout, fused; /* fused: scale, mask and softmax run as one kernel */
    bool     written; /* by the model: autocast casts the scores for the softmax, and its result for the product */
    bool     copied; /* by torch.matmul() of the model's code, which makes one batch of samples and heads */
    bool     safe; /* fp32 in eager PyTorch: queries and keys are scaled, and masked rows become zero */
} scores;


static scores scores_of(const cm__dispatch *d, const cm_node *forward)
{
    const cm_tensor *q = cm__in(d->g, forward, 0), *k = cm__in(d->g, forward, 1);
    int64_t          given = cm__attr_int(forward, CM_ATTR_Q_NUM_HEADS, 1);
    bool             has_heads = q->rank == 4;
    cm_poly          heads = has_heads ? cm__poly_dim(q->dims[1]) : cm__poly_const((double)given);
    cm_poly          samples = has_heads ? cm__poly_dim(q->dims[0]) : cm__poly_product(q->dims, q->rank - 2);
    double           devices = d->shards.cp > 1 ? d->shards.cp : 1; /* devices that share the queries */
    return (scores){.batch = cm__poly_mul(samples, heads),
                    .queries = cm__poly_scale(cm__poly_dim(q->dims[q->rank - 2]), 1 / devices),
                    .keys = cm__poly_dim(k->dims[k->rank - 2]),
                    .width = cm__poly_scale(cm__poly_dim(q->dims[q->rank - 1]), has_heads ? 1 : 1.0 / (double)given),
                    .dtype = q->dtype,
                    .masked = cm__attr_int(forward, CM_ATTR_CAUSAL, 0) != 0 || cm__has(forward, 3),
                    .causal = cm__attr_int(forward, CM_ATTR_CAUSAL, 0) != 0,
                    .fused = cm__is_megatron(d->runtime),
                    .written = cm__attention_written(d->g, d->runtime),
                    .copied = cm__is_eager(d->runtime) && !cm__provides(d->g->asked.software, CM__FEATURE_FUSED_ATTENTION),
                    .safe = cm__is_eager(d->runtime) && q->dtype == CM_FP32 &&
                            cm__provides(d->g->asked.software, CM__FEATURE_SAFE_SOFTMAX),
                    .dropout = cm__attr_real(forward, CM_ATTR_DROPOUT, 0) > 0 && d->trains};
}

static void product(cm__dispatch *d, int32_t node, const scores *s, cm__variant variant, cm_poly m, cm_poly n,
                    cm_poly k)
{
    cm__sized_call c = cm__call_begin(d, CM__CALL_GEMM, CM__PASS_FORWARD, variant, s->dtype, true);
    CM__CALL_SIZED(d, node, c, s->batch, m, n, k);
}

static void over(cm__dispatch *d, int32_t node, const scores *s, cm__variant function)
{
    cm__call_pass(d, node, function, CM__ALL(s->dtype), cm__poly_mul(cm__poly_mul(s->batch, s->queries), s->keys));
}

static void scale(cm__dispatch *d, int32_t node, const scores *s, cm_poly rows)
{
    cm__call_pass(d, node, CM__V_SCALE, CM__ALL(s->dtype), cm__poly_mul(cm__poly_mul(s->batch, rows), s->width));
}

/* Queries and keys are scaled by the root of the factor, or else scores by the factor. */
static void scale_operands(cm__dispatch *d, int32_t node, const scores *s)
{
    if (!s->safe) return;
    scale(d, node, s, s->queries);
    scale(d, node, s, s->keys);
}

static void scale_scores(cm__dispatch *d, int32_t node, const scores *s)
{
    if (!s->safe && !s->fused) over(d, node, s, CM__V_SCALE);
}

/* Rows that are masked completely are found, and their probabilities become zero. */
static void clear_masked(cm__dispatch *d, int32_t node, const scores *s)
{
    cm_poly rows = cm__poly_mul(s->batch, s->queries);
    cm__call_pass(d, node, CM__V_COPY, cm__types_cast(s->dtype, CM_BOOL), cm__poly_mul(rows, s->keys));
    cm__call_reduce(d, node, CM__V_SUM, s->dtype, rows, s->keys, cm__poly_const(1));
    cm__call_typed(d, node, CM__V(WHERE, COL), CM__ALL(s->dtype), rows, s->keys);
}

static void copy_layout(cm__dispatch *d, int32_t node, const scores *s, cm_poly rows)
{
    cm__call_typed(d, node, CM__V(COPY, PART), CM__ALL(s->dtype), rows, cm__poly_mul(s->batch, s->width));
}

/* Queries, keys and values into the layout of heads, or their gradients back. */
static void copy_operands(cm__dispatch *d, int32_t node, const scores *s)
{
    for (int i = 0; s->copied && i < 3; i++) copy_layout(d, node, s, i ? s->keys : s->queries);
}

static void softmax(cm__dispatch *d, int32_t node, const scores *s, cm__pass pass)
{
    cm__variant    variant = !s->fused ? CM__V_NONE : s->causal ? CM__V_CAUSAL : CM__V_MASK;
    cm__sized_call c = cm__call_begin(d, CM__CALL_SOFTMAX, pass, variant, s->dtype, false);
    CM__CALL_SIZED(d, node, c, cm__poly_mul(s->batch, s->queries), s->keys);
}

/* Softmax and dropout of the scores, or their gradients in the opposite order. */
static void probabilities(cm__dispatch *d, int32_t node, const scores *s, cm__pass pass)
{
    cm_poly elements = cm__poly_mul(cm__poly_mul(s->batch, s->queries), s->keys);
    scores  own = *s;
    if (s->written) own.dtype = CM_FP32;
    if (s->written) cm__call_pass(d, node, CM__V_COPY, cm__types_cast(s->dtype, CM_FP32), elements);
    if (pass == CM__PASS_BACKWARD && s->dropout) over(d, node, &own, CM__V_DROPOUT_GRAD);
    softmax(d, node, &own, pass);
    if (s->safe && pass == CM__PASS_FORWARD) clear_masked(d, node, s);
    if (pass == CM__PASS_FORWARD && s->dropout) over(d, node, &own, CM__V_DROPOUT);
    if (s->written) cm__call_pass(d, node, CM__V_COPY, cm__types_cast(CM_FP32, s->dtype), elements);
}

/* One kernel that torch.compile generates between the products: it reads and writes so many bytes for each score. */
static void generated(cm__dispatch *d, int32_t node, const scores *s, double bytes, bool random)
{
    cm_poly       pairs = cm__poly_mul(cm__poly_mul(s->batch, s->queries), s->keys);
    cm__generated kernel = {.bytes = cm__poly_scale(pairs, bytes), .work[CM__WORK_NUMBERS] = cm__poly_scale(pairs, bytes / 4)};
    if (random) kernel.work[CM__WORK_RANDOM] = cm__poly_scale(pairs, cm__lanes_of_row(cm__poly_at(&s->keys, 1)));
    cm__call_generated(d, node, CM__V_ROW_SUM, CM_FP32, &kernel);
}

/* PyTorch computes scores and result in fp32 (ATen/native/transformers/attention.cpp), their gradients in the type of
   the operands. The kernel between the products reads scores and writes probabilities. Dropout draws a random number
   for each of them, and writes them again, with a mask of one byte. */
static void attend_compiled(cm__dispatch *d, int32_t node, const scores *s)
{
    scores wide = *s;
    wide.dtype = CM_FP32;
    product(d, node, &wide, CM__V_NT, s->queries, s->keys, s->width);
    generated(d, node, s, 4 + 4 + (s->dropout ? 1 + 4 : 0), s->dropout);
    product(d, node, &wide, CM__V_NN, s->queries, s->width, s->keys);
    copy_layout(d, node, s, s->queries);
}

/* Reads probabilities and their gradient, writes the gradient of the scores, and the probabilities for a product. */
static void attend_compiled_backward(cm__dispatch *d, int32_t node, const scores *s)
{
    double size = (double)cm_dtype_size(s->dtype);
    product(d, node, s, CM__V_TN, s->keys, s->width, s->queries);
    product(d, node, s, CM__V_NT, s->queries, s->keys, s->width);
    generated(d, node, s, 4 + 2 * size + (s->dropout || size < 4 ? size : 0) + (s->dropout ? 1 : 0), false);
    product(d, node, s, CM__V_NN, s->queries, s->width, s->keys);
    product(d, node, s, CM__V_TN, s->keys, s->width, s->queries);
}

static void attend(cm__dispatch *d, int32_t node, const scores *s)
{
    copy_operands(d, node, s);
    scale_operands(d, node, s);
    product(d, node, s, CM__V_NT, s->queries, s->keys, s->width);
    scale_scores(d, node, s);
    if (!s->fused && s->masked) over(d, node, s, CM__V_ADD);
    probabilities(d, node, s, CM__PASS_FORWARD);
    product(d, node, s, CM__V_NN, s->queries, s->width, s->keys);
    copy_layout(d, node, s, s->queries);
}

static void attend_backward(cm__dispatch *d, int32_t node, const scores *s)
{
    if (s->copied) copy_layout(d, node, s, s->queries);
    product(d, node, s, CM__V_TN, s->keys, s->width, s->queries);    /* gradient of the values */
    product(d, node, s, CM__V_NT, s->queries, s->keys, s->width);    /* gradient of the probabilities */
    probabilities(d, node, s, CM__PASS_BACKWARD);
    scale_scores(d, node, s);
    product(d, node, s, CM__V_NN, s->queries, s->width, s->keys);    /* gradient of the queries */
    product(d, node, s, CM__V_TN, s->keys, s->width, s->queries);    /* gradient of the keys */
    copy_operands(d, node, s);
    scale_operands(d, node, s);
}

void cm__dispatch_math(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    scores         s = scores_of(d, cm__forward_of(d, n));
    bool           backward = n->phase == CM_BACKWARD;
    if (cm__compiles(d->runtime)) (backward ? attend_compiled_backward : attend_compiled)(d, node, &s);
    else (backward ? attend_backward : attend)(d, node, &s);
}
