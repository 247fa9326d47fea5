/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention.c - scaled dot-product attention.
 *
 * The forward pass uses cuDNN's fused kernel if it supports the sizes. Otherwise, and for the backward pass, the call
 * is "composed": matrix products of cuBLASLt and our softmax kernel, with the scores stored in memory between them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/backends/cuda/attention.h"

enum { BATCH, Q, KV, HEADS, KV_HEADS, WIDTH, CAUSAL };

bool cm__cuda_attention_known(const cm_call *call)
{
    const int64_t *d = call->dims;
    for (int i = 0; i < CAUSAL; i++)
        if (d[i] < 1) return false;
    return d[HEADS] % d[KV_HEADS] == 0 && d[CAUSAL] <= 1 && (!d[CAUSAL] || d[KV] >= d[Q]);
}

void cm__cuda_attention_declare(cm__cuda_case *c)
{
    const int64_t      *d = c->call.dims;
    cm__cuda_attention *s = c->data = cm__alloc(c->ctx, sizeof *s);
    *s = (cm__cuda_attention){.batch = d[BATCH],
                              .heads = d[HEADS],
                              .kv_heads = d[KV_HEADS],
                              .pairs = d[BATCH] * d[KV_HEADS],
                              .rows = d[HEADS] / d[KV_HEADS] * d[Q],
                              .q = d[Q],
                              .kv = d[KV],
                              .width = d[WIDTH],
                              .causal = d[CAUSAL],
                              .backward = strcmp(c->call.pass, "backward") == 0,
                              .scale = 1 / sqrtf((float)d[WIDTH])};
    int64_t queries = s->pairs * s->rows * s->width, keys = s->pairs * s->kv * s->width,
            scores = s->pairs * s->rows * s->kv;
    s->query = cm__cuda_operand(c, c->type, queries, FILL_RANDOM);
    s->key = cm__cuda_operand(c, c->type, keys, FILL_RANDOM);
    s->value = cm__cuda_operand(c, c->type, keys, FILL_RANDOM);
    s->scores = cm__cuda_operand(c, c->type, scores, FILL_NONE);
    s->weights = cm__cuda_operand(c, c->type, scores, FILL_NONE);
    s->out = cm__cuda_operand(c, c->type, queries, FILL_ZERO);
    s->workspace = cm__cuda_operand(c, TYPE_BYTE, cm__cuda_gemm_workspace_bytes(c->cu), FILL_NONE);
    c->operands[s->workspace].shared = true;
    if (!s->backward) s->sums = cm__cuda_operand(c, TYPE_FP32, s->pairs * s->rows, FILL_NONE);
    if (!s->backward) return;
    s->d_out = cm__cuda_operand(c, c->type, queries, FILL_RANDOM);
    s->d_query = cm__cuda_operand(c, c->type, queries, FILL_ZERO);
    s->d_key = cm__cuda_operand(c, c->type, keys, FILL_ZERO);
    s->d_value = cm__cuda_operand(c, c->type, keys, FILL_ZERO);
    s->d_weights = cm__cuda_operand(c, c->type, scores, FILL_NONE);
}

static cm__cuda_gemm *product(cm__cuda_case *c, const char *layout, int64_t m, int64_t n, int64_t k, int a, int b,
                              int d, float alpha)
{
    const cm__cuda_attention *s = c->data;
    return cm__cuda_gemm_make(c, &(cm__cuda_gemm_shape){.batch = s->pairs,
                                                        .m = m,
                                                        .n = n,
                                                        .k = k,
                                                        .a_columns = strcmp(layout, "tn") == 0,
                                                        .b_columns = strcmp(layout, "nt") == 0,
                                                        .type = c->type,
                                                        .out = c->type,
                                                        .tf32 = strcmp(c->call.dtype, "tf32") == 0,
                                                        .a = a,
                                                        .b = b,
                                                        .d = d,
                                                        .bias = -1,
                                                        .scales = -1,
                                                        .workspace = s->workspace,
                                                        .alpha = alpha});
}

static void plan_softmax(cm__cuda_case *c, const char *name)
{
    const cm__cuda_attention *s = c->data;
    char                      defines[128];
    int                       pack = 16 / cm__types[c->type].bytes;
    cm__cuda_row_shape        shape = cm__cuda_rows_shape(c->type, s->kv);
    snprintf(defines, sizeof defines, "-DTYPE_T=%s -DVECTOR=%d -DITEMS=%d -DWHAT=1 -DRMS=0 -DLOG=0",
             cm__types[c->type].device, s->kv % pack ? 1 : pack, shape.items);
    cm__launch *l = cm__cuda_add_launch(c, cm__cuda_kernel(c->ctx, c->cu, "rows.cu", name, defines), s->pairs * s->rows,
                                        1, shape.block);
    if (strcmp(name, "softmax_forward") == 0) {
        cm__cuda_arg_operand(l, s->scores);
        cm__cuda_arg_operand(l, s->weights);
        cm__cuda_arg_int(l, s->kv);
        cm__cuda_arg_real(l, 1);
        cm__cuda_arg_int(l, s->causal ? s->q : 0);
        return;
    }
    cm__cuda_arg_operand(l, s->d_weights);
    cm__cuda_arg_operand(l, s->weights);
    cm__cuda_arg_operand(l, s->scores);
    cm__cuda_arg_int(l, s->kv);
    cm__cuda_arg_real(l, s->scale);
}

static int forward(cm__cuda_case *c, int64_t copy)
{
    const cm__cuda_attention *s = c->data;
    return cm__cuda_gemm_launch(c, s->gemms[0], copy) || cm__cuda_launch_all(c, copy) ||
           cm__cuda_gemm_launch(c, s->gemms[1], copy);
}

/* Backward starts from the attention weights that forward stored, and overwrites the scores with their gradient. */
static void plan_backward(cm__cuda_case *c)
{
    cm__cuda_attention *s = c->data;
    for (int64_t copy = 0; copy < c->copies; copy++)
        if (forward(c, copy)) cm__cuda_fail_case(c);
    cm__cuda_need(c->ctx, c->cu, c->cu->driver.cuStreamSynchronize(c->cu->stream), "attention");
    c->n_launches = 0;
    plan_softmax(c, "softmax_backward");
    s->gemms[0] = product(c, "tn", s->kv, s->width, s->rows, s->weights, s->d_out, s->d_value, 1);
    s->gemms[1] = product(c, "nt", s->rows, s->kv, s->width, s->d_out, s->value, s->d_weights, 1);
    s->gemms[2] = product(c, "nn", s->rows, s->width, s->kv, s->scores, s->key, s->d_query, 1);
    s->gemms[3] = product(c, "tn", s->kv, s->width, s->rows, s->scores, s->query, s->d_key, 1);
}

void cm__cuda_attention_setup(cm__cuda_case *c)
{
    cm__cuda_attention *s = c->data;
    if (!s->backward) cm__cuda_attention_fuse(c);
    if (s->fused) return;
    s->gemms[0] = product(c, "nt", s->rows, s->kv, s->width, s->query, s->key, s->scores, s->scale);
    s->gemms[1] = product(c, "nn", s->rows, s->width, s->kv, s->weights, s->value, s->out, 1);
    plan_softmax(c, "softmax_forward");
    if (s->backward) plan_backward(c);
    snprintf(c->algorithm, sizeof c->algorithm, "composed: products and softmax%s%s", s->why[0] ? "; not fused: " : "",
             s->why);
}

int cm__cuda_attention_call(cm__cuda_case *c, int64_t copy)
{
    const cm__cuda_attention *s = c->data;
    if (s->fused) return cm__cudnn_execute(s->fused, copy);
    if (!s->backward) return forward(c, copy);
    return cm__cuda_gemm_launch(c, s->gemms[0], copy) || cm__cuda_gemm_launch(c, s->gemms[1], copy) ||
           cm__cuda_launch_all(c, copy) || cm__cuda_gemm_launch(c, s->gemms[2], copy) ||
           cm__cuda_gemm_launch(c, s->gemms[3], copy);
}

/* ---- reference --------------------------------------------------------------------------------------------------- */

static double dot(cm__cuda_case *c, int a, int64_t a_row, int b, int64_t b_row)
{
    const cm__cuda_attention *s = c->data;
    double                    sum = 0;
    for (int64_t i = 0; i < s->width; i++)
        sum += cm__cuda_value(c, a, a_row * s->width + i) * cm__cuda_value(c, b, b_row * s->width + i);
    return sum;
}

/* The attention weights of one query. */
static void weights_of(cm__cuda_case *c, int64_t batch, int64_t row, double *weights)
{
    const cm__cuda_attention *s = c->data;
    int64_t                   seen = s->causal ? row % s->q + s->kv - s->q + 1 : s->kv;
    double                    most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < s->kv; i++) {
        weights[i] = i < seen ? (double)s->scale * dot(c, s->query, batch * s->rows + row, s->key, batch * s->kv + i)
                              : -INFINITY;
        most = fmax(most, weights[i]);
    }
    for (int64_t i = 0; i < s->kv; i++) sum += weights[i] = exp(weights[i] - most);
    for (int64_t i = 0; i < s->kv; i++) weights[i] /= sum;
}

typedef struct estimate {
    double value, size;
} estimate;

static estimate out_at(cm__cuda_case *c, int64_t batch, int64_t row, int64_t column, const double *weights)
{
    const cm__cuda_attention *s = c->data;
    estimate                  e = {0, 0};
    (void)row;
    for (int64_t i = 0; i < s->kv; i++) {
        double term = weights[i] * cm__cuda_value(c, s->value, (batch * s->kv + i) * s->width + column);
        e.value += term;
        e.size += term * term;
    }
    return e;
}

static estimate d_query_at(cm__cuda_case *c, int64_t batch, int64_t row, int64_t column, const double *weights)
{
    const cm__cuda_attention *s = c->data;
    double                   *grad = cm__alloc_array(c->ctx, (size_t)s->kv, sizeof *grad), sum = 0;
    estimate                  e = {0, 0};
    for (int64_t i = 0; i < s->kv; i++) {
        grad[i] = weights[i] > 0 ? dot(c, s->d_out, batch * s->rows + row, s->value, batch * s->kv + i) : 0;
        sum += weights[i] * grad[i];
    }
    for (int64_t i = 0; i < s->kv; i++) {
        double term = (double)s->scale * weights[i] * (grad[i] - sum) *
                      cm__cuda_value(c, s->key, (batch * s->kv + i) * s->width + column);
        e.value += term;
        e.size += term * term;
    }
    return e;
}

/* Scores, weights and their gradients are rounded to the operands' type when they are stored, so the tolerance allows
   a few roundings of each term. */
int64_t cm__cuda_attention_check(cm__cuda_case *c)
{
    const cm__cuda_attention *s = c->data;
    int64_t                   total = s->pairs * s->rows * s->width,
            n = cm__cuda_samples(s->kv * s->width * (s->backward ? 4 : 2), total < 32 ? total : 32), wrong = 0;
    double *weights = cm__alloc_array(c->ctx, (size_t)s->kv, sizeof *weights);
    double  loss = c->type == TYPE_FP32 ? (strcmp(c->call.dtype, "tf32") == 0 ? 0x1p-6 : 1e-4)
                                        : 24 * cm__types[c->type].round_off;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = cm__cuda_sample(c, i, n, total), column = at % s->width, row = at / s->width % s->rows,
                batch = at / s->width / s->rows;
        weights_of(c, batch, row, weights);
        estimate e = s->backward ? d_query_at(c, batch, row, column, weights) : out_at(c, batch, row, column, weights);
        wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, s->backward ? s->d_query : s->out, at), e.value,
                                loss * sqrt(e.size));
    }
    return wrong;
}
