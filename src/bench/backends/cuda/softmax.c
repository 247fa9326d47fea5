/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - softmax and cross-entropy, forward and backward; our own kernels. */
#include <math.h>

#include "bench/backends/cuda/rows.h"

void cm__cuda_softmax_declare(cm__cuda_case *c)
{
    cm__cuda_rows *r = cm__cuda_rows_start(c);
    int64_t        all = r->rows * r->cols;
    r->x = cm__cuda_operand(c, c->type, all, FILL_RANDOM); /* backward: forward's result; need not sum to 1 */
    r->y = cm__cuda_operand(c, c->type, all, FILL_ZERO);
    if (r->backward) r->dy = cm__cuda_operand(c, c->type, all, FILL_RANDOM);
    if (r->backward && r->log) c->operands[r->x].scale = 0.5f;
}

void cm__cuda_softmax_setup(cm__cuda_case *c)
{
    cm__cuda_rows *r = c->data;
    cm__launch    *l = cm__cuda_rows_launch(c, r->backward ? "softmax_backward" : "softmax_forward");
    if (r->backward)
        OPERANDS(l, r->dy, r->x, r->y);
    else
        OPERANDS(l, r->x, r->y);
    cm__cuda_arg_int(l, r->cols);
    cm__cuda_arg_real(l, 1);
    if (!r->backward) cm__cuda_arg_int(l, 0);
}

static double softmax_at(cm__cuda_case *c, int64_t at, double *size)
{
    const cm__cuda_rows *r = c->data;
    int64_t              first = at / r->cols * r->cols;
    double               sum = 0, own = cm__cuda_value(c, r->x, at);
    *size = 0;
    for (int64_t i = 0; i < r->cols; i++) {
        double x = cm__cuda_value(c, r->x, first + i), term = exp(x);
        if (r->backward) term = r->log ? cm__cuda_value(c, r->dy, first + i) : cm__cuda_value(c, r->dy, first + i) * x;
        sum += term;
        *size += fabs(term);
    }
    if (!r->backward) return r->log ? own - log(sum) : exp(own) / sum;
    double d = cm__cuda_value(c, r->dy, at);
    *size *= fabs(r->log ? exp(own) : own);
    return r->log ? d - exp(own) * sum : own * (d - sum);
}

int64_t cm__cuda_softmax_check(cm__cuda_case *c)
{
    const cm__cuda_rows *r = c->data;
    int64_t              total = r->rows * r->cols, n = cm__cuda_samples(r->cols * 2, total), wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = cm__cuda_sample(c, i, n, total);
        double  size, want = softmax_at(c, at, &size);
        wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, r->y, at), want,
                                1e-5 * fabs(want) + (r->backward ? 1e-6 * size
                                                     : r->log    ? 1e-5
                                                                 : 0));
    }
    return wrong;
}

/* ---- cross-entropy ----------------------------------------------------------------------------------------------- */

void cm__cuda_loss_declare(cm__cuda_case *c)
{
    cm__cuda_rows *r = cm__cuda_rows_start(c);
    r->x = cm__cuda_operand(c, c->type, r->rows * r->cols, FILL_RANDOM);
    r->target = cm__cuda_operand(c, TYPE_INT64, r->rows, FILL_INDEX);
    c->operands[r->target].limit = r->cols;
    r->mean = cm__cuda_operand(c, TYPE_FP32, r->rows, FILL_ZERO);
    r->scale = cm__cuda_operand(c, TYPE_FP32, r->rows, FILL_ZERO);
    r->loss = cm__cuda_operand(c, TYPE_FP32, 1, FILL_ZERO);
    if (r->backward) r->dx = cm__cuda_operand(c, c->type, r->rows * r->cols, FILL_ZERO);
}

static void plan_loss(cm__cuda_case *c, const char *name, int result)
{
    cm__cuda_rows *r = c->data;
    cm__launch    *l = cm__cuda_rows_launch(c, name);
    OPERANDS(l, r->x, r->target, r->mean, r->scale, result);
    cm__cuda_arg_int(l, r->rows);
    cm__cuda_arg_int(l, r->cols);
}

void cm__cuda_loss_setup(cm__cuda_case *c)
{
    cm__cuda_rows *r = c->data;
    plan_loss(c, "loss_forward", r->loss);
    if (!r->backward) return;
    for (int64_t copy = 0; copy < c->copies; copy++)
        if (cm__cuda_launch_all(c, copy)) cm__cuda_fail_case(c);
    c->operands[r->mean].fill = c->operands[r->scale].fill = FILL_NONE;
    c->n_launches = 0;
    plan_loss(c, "loss_backward", r->dx);
}

static double sum_of_exponentials(cm__cuda_case *c, int64_t row)
{
    const cm__cuda_rows *r = c->data;
    double               sum = 0;
    for (int64_t i = 0; i < r->cols; i++) sum += exp(cm__cuda_value(c, r->x, row * r->cols + i));
    return sum;
}

/* Checks the log-sum-exp of a sample of rows, and the loss against the sample's mean: all rows may be too many. */
static int64_t check_loss_forward(cm__cuda_case *c)
{
    const cm__cuda_rows *r = c->data;
    int64_t              n = cm__cuda_samples(r->cols, r->rows), wrong = 0;
    double               loss = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = n == r->rows ? i : cm__cuda_sample(c, i, n, r->rows);
        double  sum = sum_of_exponentials(c, row),
               got = log(cm__cuda_result(c, r->scale, row)) + cm__cuda_result(c, r->mean, row);
        wrong += cm__cuda_wrong(TYPE_FP32, got, log(sum), 1e-5);
        loss += (log(sum) - cm__cuda_value(c, r->x, row * r->cols + cm__cuda_index(c, r->target, row))) / (double)n;
    }
    /* 6 / sqrt(n) is five standard errors of the sample's mean: rows have a standard deviation of about 1.2. */
    double slack = n == r->rows ? 1e-4 : 6 / sqrt((double)n);
    return wrong + cm__cuda_wrong(TYPE_FP32, cm__cuda_result(c, r->loss, 0), loss, slack);
}

int64_t cm__cuda_loss_check(cm__cuda_case *c)
{
    const cm__cuda_rows *r = c->data;
    int64_t              total = r->rows * r->cols, n = cm__cuda_samples(r->cols, total), wrong = 0;
    if (!r->backward) return check_loss_forward(c);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = cm__cuda_sample(c, i, n, total), row = at / r->cols;
        if (i % 4 == 3) at = row * r->cols + cm__cuda_index(c, r->target, row);
        double share = exp(cm__cuda_value(c, r->x, at)) / sum_of_exponentials(c, row);
        double want = (share - (at % r->cols == cm__cuda_index(c, r->target, row))) / (double)r->rows;
        wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, r->dx, at), want,
                                2e-5 * (fabs(want) + share / (double)r->rows));
    }
    return wrong;
}
