/* SPDX-License-Identifier: Apache-2.0 */
/* norm.c - layer and RMS normalisation, forward and backward; our own kernels. */
#include <math.h>

#include "bench/backends/cuda/rows.h"

#define EPSILON 1e-5
#define THREADS 64 /* few, so that narrow rows use many blocks */
#define SHARES 64  /* groups of rows that are summed separately for the gradients of gain and bias */

void cm__cuda_norm_declare(cm__cuda_case *c)
{
    cm__cuda_rows *r = cm__cuda_rows_start(c);
    int64_t        all = r->rows * r->cols;
    r->x = cm__cuda_operand(c, c->type, all, FILL_RANDOM);
    r->gain = cm__cuda_shared(c, c->type, r->cols, FILL_RANDOM);
    r->bias = cm__cuda_shared(c, c->type, r->cols, FILL_RANDOM);
    r->mean = cm__cuda_operand(c, TYPE_FP32, r->rows, FILL_ZERO);
    r->scale = cm__cuda_operand(c, TYPE_FP32, r->rows, FILL_ZERO);
    r->y = cm__cuda_operand(c, c->type, all, FILL_ZERO);
    if (!r->backward) return;
    r->dy = cm__cuda_operand(c, c->type, all, FILL_RANDOM);
    r->parts = cm__cuda_shared(c, TYPE_FP32, SHARES * 2 * r->cols, FILL_ZERO);
    r->d_gain = cm__cuda_shared(c, c->type, r->cols, FILL_ZERO);
    r->d_bias = cm__cuda_shared(c, c->type, r->cols, FILL_ZERO);
}

static void plan_norm_forward(cm__cuda_case *c)
{
    cm__cuda_rows *r = c->data;
    cm__launch    *l = cm__cuda_rows_launch(c, "norm_forward");
    OPERANDS(l, r->x, r->gain, r->bias, r->y, r->mean, r->scale);
    cm__cuda_arg_int(l, r->cols);
}

static void plan_norm_backward(cm__cuda_case *c)
{
    cm__cuda_rows *r = c->data;
    int64_t        pack = r->cols % (16 / cm__types[c->type].bytes) ? 1 : 16 / cm__types[c->type].bytes;
    int64_t        blocks = (r->cols + 255) / 256, packed = (r->cols / pack + THREADS - 1) / THREADS,
            shares = r->rows < SHARES ? r->rows : SHARES;
    cm__launch *l = cm__cuda_rows_launch(c, "norm_backward");
    OPERANDS(l, r->dy, r->x, r->gain, r->mean, r->scale, r->y);
    cm__cuda_arg_int(l, r->cols);
    l = cm__cuda_add_launch(c, cm__cuda_rows_kernel(c, "norm_columns"), packed, shares, THREADS);
    OPERANDS(l, r->dy, r->x, r->mean, r->scale, r->parts);
    cm__cuda_arg_int(l, r->rows);
    cm__cuda_arg_int(l, r->cols);
    l = cm__cuda_add_launch(c, cm__cuda_rows_kernel(c, "norm_columns_end"), blocks, 1, 256);
    OPERANDS(l, r->parts, r->d_gain, r->d_bias);
    cm__cuda_arg_int(l, shares);
    cm__cuda_arg_int(l, r->cols);
}

/* Backward reads results of forward, which are computed here for each copy before timing starts. */
void cm__cuda_norm_setup(cm__cuda_case *c)
{
    cm__cuda_rows *r = c->data;
    plan_norm_forward(c);
    if (!r->backward) return;
    for (int64_t copy = 0; copy < c->copies; copy++)
        if (cm__cuda_launch_all(c, copy)) cm__cuda_fail_case(c);
    c->operands[r->mean].fill = c->operands[r->scale].fill = FILL_NONE;
    c->n_launches = 0;
    plan_norm_backward(c);
}

typedef struct moments {
    double mean, scale;
} moments;

static moments moments_of(cm__cuda_case *c, int64_t row)
{
    const cm__cuda_rows *r = c->data;
    double               sum = 0, squares = 0;
    for (int64_t i = 0; i < r->cols; i++) sum += cm__cuda_value(c, r->x, row * r->cols + i);
    double mean = r->rms ? 0 : sum / (double)r->cols;
    for (int64_t i = 0; i < r->cols; i++) squares += pow(cm__cuda_value(c, r->x, row * r->cols + i) - mean, 2);
    return (moments){mean, 1 / sqrt(squares / (double)r->cols + EPSILON)};
}

static double norm_forward_at(cm__cuda_case *c, int64_t at)
{
    const cm__cuda_rows *r = c->data;
    moments              m = moments_of(c, at / r->cols);
    int64_t              column = at % r->cols;
    return (cm__cuda_value(c, r->x, at) - m.mean) * m.scale * cm__cuda_value(c, r->gain, column) +
           (r->rms ? 0 : cm__cuda_value(c, r->bias, column));
}

static double norm_backward_at(cm__cuda_case *c, int64_t at)
{
    const cm__cuda_rows *r = c->data;
    int64_t              first = at / r->cols * r->cols;
    moments              m = moments_of(c, at / r->cols);
    double               sum = 0, product = 0;
    for (int64_t i = 0; i < r->cols; i++) {
        double a = cm__cuda_value(c, r->dy, first + i) * cm__cuda_value(c, r->gain, i);
        sum += a;
        product += a * (cm__cuda_value(c, r->x, first + i) - m.mean) * m.scale;
    }
    sum = r->rms ? 0 : sum / (double)r->cols;
    product /= (double)r->cols;
    double a = cm__cuda_value(c, r->dy, at) * cm__cuda_value(c, r->gain, at % r->cols);
    return m.scale * (a - sum - (cm__cuda_value(c, r->x, at) - m.mean) * m.scale * product);
}

/* Check the gradients of gain and bias in a few columns. */
static int64_t check_columns(cm__cuda_case *c)
{
    const cm__cuda_rows *r = c->data;
    int64_t              wrong = 0, n = cm__cuda_samples(r->rows * 2, r->cols);
    double              *mean = cm__alloc_array(c->ctx, (size_t)r->rows, sizeof *mean),
           *scale = cm__alloc_array(c->ctx, (size_t)r->rows, sizeof *scale);
    cm__cuda_read(c, r->mean, 0, r->rows, mean);
    cm__cuda_read(c, r->scale, 0, r->rows, scale);
    for (int64_t i = 0; i < n; i++) {
        int64_t column = cm__cuda_sample(c, i, n, r->cols);
        double  gain = 0, bias = 0, slack = 1e-4 * sqrt((double)r->rows) + 1e-4;
        for (int64_t row = 0; row < r->rows; row++) {
            double d = cm__cuda_value(c, r->dy, row * r->cols + column);
            bias += d;
            gain += d * (cm__cuda_value(c, r->x, row * r->cols + column) - (r->rms ? 0 : mean[row])) * scale[row];
        }
        wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, r->d_gain, column), gain, slack);
        if (!r->rms) wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, r->d_bias, column), bias, slack);
    }
    return wrong;
}

int64_t cm__cuda_norm_check(cm__cuda_case *c)
{
    const cm__cuda_rows *r = c->data;
    int64_t total = r->rows * r->cols, n = cm__cuda_samples(r->cols * (r->backward ? 5 : 2), total), wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = cm__cuda_sample(c, i, n, total);
        double  want = r->backward ? norm_backward_at(c, at) : norm_forward_at(c, at);
        wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, r->y, at), want, 2e-5 * (fabs(want) + 1));
    }
    return wrong + (r->backward ? check_columns(c) : 0);
}
