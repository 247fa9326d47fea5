/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_fused.c - attention's forward pass as one fused cuDNN kernel.
 *
 * cuDNN recognizes attention by its pattern of operations: product, scale, mask by index, the steps of softmax,
 * product. Intermediate tensors are not stored, except for each row's log-sum-exp, which a backward pass would need.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/backends/cuda/attention.h"
#include "bench/backends/cuda/ops.h"

#define MOST_OPERATIONS 16
#define WIDTH_MULTIPLE 8 /* head width in 16-bit elements: 16 bytes */

typedef struct pattern {
    cm__cudnn_graph *g;
    dnn_object       operations[MOST_OPERATIONS];
    int              count;
    int64_t          scores[4], rows[4]; /* sizes of intermediate tensors: the scores, and one number per row */
} pattern;

static void add(pattern *p, dnn_object operation, const char *what)
{
    cm__cudnn_finish(p->g, operation, what);
    p->operations[p->count++] = operation;
}

static void set_object(pattern *p, dnn_object operation, int name, dnn_object value)
{
    cm__cudnn_set(p->g, operation, name, DNN_T_DESCRIPTOR, 1, &value);
}

static void product(pattern *p, dnn_object a, dnn_object b, dnn_object to)
{
    int        type = DNN_FP32;
    dnn_object kind = cm__cudnn_make(p->g, DNN_MATMUL), operation = cm__cudnn_make(p->g, DNN_DO_MATMUL);
    cm__cudnn_set(p->g, kind, DNN_A_MATMUL_TYPE, DNN_T_DATA_TYPE, 1, &type);
    cm__cudnn_finish(p->g, kind, "product");
    const dnn_object values[] = {a, b, to, kind};
    for (int i = 0; i < 4; i++) set_object(p, operation, DNN_A_DO_MATMUL + i, values[i]);
    add(p, operation, "product");
}

/* to = mode(x, b, t). Optional: axis (-1: none), b and t (NULL: none). */
static void pointwise(pattern *p, int mode, int type, int64_t axis, dnn_object x, dnn_object b, dnn_object t,
                      dnn_object to)
{
    dnn_object kind = cm__cudnn_make(p->g, DNN_POINTWISE), operation = cm__cudnn_make(p->g, DNN_DO_POINTWISE);
    cm__cudnn_set(p->g, kind, DNN_A_POINTWISE_MODE, DNN_T_POINTWISE_MODE, 1, &mode);
    cm__cudnn_set(p->g, kind, DNN_A_POINTWISE_TYPE, DNN_T_DATA_TYPE, 1, &type);
    if (axis >= 0) cm__cudnn_set(p->g, kind, DNN_A_POINTWISE_AXIS, DNN_T_INT64, 1, &axis);
    cm__cudnn_finish(p->g, kind, "pointwise");
    set_object(p, operation, DNN_A_DO_POINTWISE, kind);
    set_object(p, operation, DNN_A_DO_POINTWISE + 1, x);
    if (b) set_object(p, operation, DNN_A_DO_POINTWISE + 2, b);
    set_object(p, operation, DNN_A_DO_POINTWISE + 3, to);
    if (t) set_object(p, operation, DNN_A_DO_POINTWISE_T, t);
    add(p, operation, "pointwise");
}

static dnn_object reduction(pattern *p, int mode, dnn_object x)
{
    int        type = DNN_FP32;
    dnn_object kind = cm__cudnn_make(p->g, DNN_REDUCTION), operation = cm__cudnn_make(p->g, DNN_DO_REDUCTION);
    dnn_object to = cm__cudnn_between(p->g, DNN_FP32, p->rows);
    cm__cudnn_set(p->g, kind, DNN_A_REDUCTION_OPERATOR, DNN_T_REDUCTION, 1, &mode);
    cm__cudnn_set(p->g, kind, DNN_A_REDUCTION_TYPE, DNN_T_DATA_TYPE, 1, &type);
    cm__cudnn_finish(p->g, kind, "reduction");
    set_object(p, operation, DNN_A_DO_REDUCTION, x);
    set_object(p, operation, DNN_A_DO_REDUCTION + 1, to);
    set_object(p, operation, DNN_A_DO_REDUCTION + 2, kind);
    add(p, operation, "reduction");
    return to;
}

static dnn_object between(pattern *p, int mode, dnn_object x, dnn_object b)
{
    dnn_object to = cm__cudnn_between(p->g, DNN_FP32, p->scores);
    pointwise(p, mode, DNN_FP32, -1, x, b, NULL, to);
    return to;
}

/* Mask the scores right of the diagonal. */
static dnn_object masked(pattern *p, dnn_object scores)
{
    dnn_object row = cm__cudnn_between(p->g, DNN_INT32, p->scores),
               column = cm__cudnn_between(p->g, DNN_INT32, p->scores);
    dnn_object mask = cm__cudnn_between(p->g, DNN_BOOLEAN, p->scores),
               to = cm__cudnn_between(p->g, DNN_FP32, p->scores);
    pointwise(p, DNN_INDEX, DNN_INT32, 2, scores, NULL, NULL, row);
    pointwise(p, DNN_INDEX, DNN_INT32, 3, scores, NULL, NULL, column);
    pointwise(p, DNN_NOT_LESS, DNN_BOOLEAN, -1, row, column, NULL, mask);
    pointwise(p, DNN_SELECT, DNN_FP32, -1, scores, cm__cudnn_number(p->g, -INFINITY), mask, to);
    return to;
}

/* The attention weights in the operands' type. Each row's log-sum-exp is stored. */
static dnn_object softmax(pattern *p, int type, dnn_object scores, dnn_object sums)
{
    dnn_object most = reduction(p, DNN_REDUCE_MAX, scores);
    dnn_object part = between(p, DNN_EXP, between(p, DNN_SUB, scores, most), NULL);
    dnn_object sum = reduction(p, DNN_REDUCE_ADD, part), log_sum = cm__cudnn_between(p->g, DNN_FP32, p->rows);
    dnn_object weights = cm__cudnn_between(p->g, type, p->scores);
    pointwise(p, DNN_LOG, DNN_FP32, -1, sum, NULL, NULL, log_sum);
    pointwise(p, DNN_ADD, DNN_FP32, -1, most, log_sum, NULL, sums);
    pointwise(p, DNN_DIV, DNN_FP32, -1, part, sum, NULL, weights);
    return weights;
}

static dnn_object matrix(pattern *p, int operand, int64_t batch, int64_t heads, int64_t rows, int64_t columns,
                         bool turned)
{
    int64_t sizes[4] = {batch, heads, turned ? columns : rows, turned ? rows : columns};
    int64_t strides[4] = {heads * rows * columns, rows * columns, turned ? 1 : columns, turned ? columns : 1};
    return cm__cudnn_tensor(p->g, operand, 4, sizes, strides);
}

static void build(cm__cuda_case *c)
{
    cm__cuda_attention *s = c->data;
    pattern             p = {.scores = {s->batch, s->heads, s->q, s->kv}, .rows = {s->batch, s->heads, s->q, 1}};
    p.g = cm__cudnn_graph_new(c);
    dnn_object query = matrix(&p, s->query, s->batch, s->heads, s->q, s->width, false);
    dnn_object key = matrix(&p, s->key, s->batch, s->kv_heads, s->kv, s->width, true);
    dnn_object value = matrix(&p, s->value, s->batch, s->kv_heads, s->kv, s->width, false);
    dnn_object out = matrix(&p, s->out, s->batch, s->heads, s->q, s->width, false);
    dnn_object sums = matrix(&p, s->sums, s->batch, s->heads, s->q, 1, false);
    dnn_object scores = cm__cudnn_between(p.g, DNN_FP32, p.scores);
    p.g->mode = DNN_HEUR_A;
    product(&p, query, key, scores);
    scores = between(&p, DNN_MUL, scores, cm__cudnn_number(p.g, s->scale));
    if (s->causal) scores = masked(&p, scores);
    product(&p, softmax(&p, cm__types[c->type].cudnn, scores, sums), value, out);
    cm__cudnn_plan(p.g, p.count, p.operations);
    s->fused = p.g;
}

/* Use the fused kernel only if it builds, runs, and its results are right. */
static void try_it(cm__cuda_case *c)
{
    const cm__cuda_attention *s = c->data;
    build(c);
    if (cm__cudnn_execute(s->fused, 0)) cm__cuda_fail_case(c);
    CU(c, cuStreamSynchronize, c->cu->stream);
    if (cm__cuda_attention_check(c)) cm__fail(c->ctx, CM_ERR_UNSUPPORTED, "the fused kernel is wrong");
    snprintf(c->algorithm, sizeof c->algorithm, "cuDNN: one kernel for all");
}

/* If this fails, the case falls back to the composed implementation. */
void cm__cuda_attention_fuse(cm__cuda_case *c)
{
    cm__cuda_attention *s = c->data;
    cm_diag            *diag = c->ctx->diag, why = {{0}, {0}, {0}};
    jmp_buf             outer;
    bool                fits = c->type != TYPE_FP32 && s->width % WIDTH_MULTIPLE == 0 && (!s->causal || s->q == s->kv);
    if (!c->cu->has_cudnn || !fits) return;
    memcpy(&outer, &c->ctx->trap, sizeof outer);
    c->ctx->diag = &why;
    if (setjmp(c->ctx->trap))
        s->fused = NULL;
    else
        try_it(c);
    snprintf(s->why, sizeof s->why, "%.95s", why.reason);
    memcpy(&c->ctx->trap, &outer, sizeof outer);
    c->ctx->diag = diag;
}
