/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - row operators: softmax, cross entropy, and the table of these and of norms. */
#include "bench/backends/cpu/rows.h"

#include <string.h>
#include "bench/backends/cpu/kernels.h"
#include "bench/backends/cpu/math.h"

static bool takes_rows(const cm__cpu *cpu, const cm_call *call)
{
    (void)cpu;
    return !*call->variant && strcmp(call->dtype, "fp32") == 0 && call->dims[0] > 0 && call->dims[1] > 0;
}

int64_t cm__check_rows(const cm_call *call, cm__row_check *check, const void *arg)
{
    int64_t wrong = 0, rows = call->dims[0], count = rows < CM__CHECKED_ROWS ? rows : CM__CHECKED_ROWS;
    for (int64_t i = 0; i < count; i++) {
        int64_t row = count > 1 ? (int64_t)((double)i / (double)(count - 1) * (double)(rows - 1)) : 0;
        wrong += check(arg, row, call->dims[1]);
    }
    return wrong;
}

/* ---- softmax ----------------------------------------------------------------------------------------------------- */

static bool is_log(const cm_call *call) { return strcmp(call->variant, "log") == 0; }

static bool takes_softmax(const cm__cpu *cpu, const cm_call *call)
{
    cm_call plain = *call;
    if (is_log(call)) plain.variant = "";
    return takes_rows(cpu, &plain);
}

enum { X, Y };

static int operands_softmax(const cm_call *call, cm__operand *o)
{
    int64_t n = call->dims[0] * call->dims[1];
    o[X] = (cm__operand){n, CM__FILL_RANDOM, 0};
    o[Y] = (cm__operand){n, CM__FILL_RESULT, 0};
    return 2;
}

static void run_softmax(cm__cpu_case *c, float *const *o)
{
    cm__softmax_rows(c->cpu->pool, o[Y], o[X], c->call.dims[0], c->call.dims[1], false, is_log(&c->call));
}

typedef struct softmax_check {
    float *const *o;
    bool          log;
} softmax_check;

static double sum_of_exponentials(const float *x, int64_t columns)
{
    double sum = 0;
    for (int64_t j = 0; j < columns; j++) sum += exp((double)x[j]);
    return sum;
}

static int64_t check_softmax_row(const void *arg, int64_t row, int64_t columns)
{
    const softmax_check *s = arg;
    const float         *x = s->o[X] + row * columns, *y = s->o[Y] + row * columns;
    double               sum = sum_of_exponentials(x, columns);
    int64_t              wrong = 0;
    for (int64_t i = 0; i < cm__samples(columns); i++) {
        int64_t j = cm__sample(i, columns);
        double  want = s->log ? x[j] - log(sum) : exp((double)x[j]) / sum;
        wrong += cm__differs(y[j], want, s->log ? 1 : want);
    }
    return wrong;
}

static int64_t check_softmax(cm__cpu_case *c, float *const *o, float *const *before)
{
    softmax_check s = {o, is_log(&c->call)};
    (void)before;
    return cm__check_rows(&c->call, check_softmax_row, &s);
}

enum { SY, SDY, SDX };

static int operands_softmax_backward(const cm_call *call, cm__operand *o)
{
    int64_t n = call->dims[0] * call->dims[1];
    o[SY] = o[SDY] = (cm__operand){n, CM__FILL_RANDOM, 0};
    o[SDX] = (cm__operand){n, CM__FILL_RESULT, 0};
    return 3;
}

static void run_softmax_backward(cm__cpu_case *c, float *const *o)
{
    cm__softmax_rows_backward(c->cpu->pool, o[SDX], o[SY], o[SDY], c->call.dims[0], c->call.dims[1], is_log(&c->call));
}

static int64_t check_softmax_backward_row(const void *arg, int64_t row, int64_t columns)
{
    const softmax_check *s = arg;
    const float         *y = s->o[SY] + row * columns, *dy = s->o[SDY] + row * columns, *dx = s->o[SDX] + row * columns;
    double               sum = 0, size = 1;
    int64_t              wrong = 0;
    for (int64_t j = 0; j < columns; j++) {
        double term = s->log ? dy[j] : (double)y[j] * dy[j];
        sum += term;
        size += fabs(term);
    }
    for (int64_t i = 0; i < cm__samples(columns); i++) {
        int64_t j = cm__sample(i, columns);
        double  want = s->log ? dy[j] - exp((double)y[j]) * sum : (double)y[j] * (dy[j] - sum);
        wrong += cm__differs(dx[j], want, 3 * size);
    }
    return wrong;
}

static int64_t check_softmax_backward(cm__cpu_case *c, float *const *o, float *const *before)
{
    softmax_check s = {o, is_log(&c->call)};
    (void)before;
    return cm__check_rows(&c->call, check_softmax_backward_row, &s);
}

/* ---- cross entropy ----------------------------------------------------------------------------------------------- */

enum { LOGITS, LOGP, LABELS, LOSS };

static int operands_cross_entropy(const cm_call *call, cm__operand *o)
{
    int64_t rows = call->dims[0], n = rows * call->dims[1];
    bool    forward = strcmp(call->pass, "forward") == 0;
    o[LOGITS] = (cm__operand){n, forward ? CM__FILL_RANDOM : CM__FILL_RESULT, 0}; /* backward: gradient */
    o[LOGP] = (cm__operand){n, forward ? CM__FILL_RESULT : CM__FILL_RANDOM, 0};
    o[LABELS] = (cm__operand){rows, CM__FILL_INDEX, call->dims[1]};
    o[LOSS] = (cm__operand){rows, CM__FILL_RESULT, 0};
    return forward ? 4 : 3;
}

static void run_cross_entropy(cm__cpu_case *c, float *const *o)
{
    int64_t        rows = c->call.dims[0], columns = c->call.dims[1];
    const int32_t *labels = (const int32_t *)o[LABELS];
    cm__softmax_rows(c->cpu->pool, o[LOGP], o[LOGITS], rows, columns, false, true);
    for (int64_t i = 0; i < rows; i++) o[LOSS][i] = -o[LOGP][i * columns + labels[i]];
}

static int64_t check_cross_entropy_row(const void *arg, int64_t row, int64_t columns)
{
    float *const  *o = arg;
    const int32_t *labels = (const int32_t *)o[LABELS];
    double         sum = sum_of_exponentials(o[LOGITS] + row * columns, columns);
    return cm__differs(o[LOSS][row], log(sum) - o[LOGITS][row * columns + labels[row]], 1);
}

static int64_t check_cross_entropy(cm__cpu_case *c, float *const *o, float *const *before)
{
    (void)before;
    return cm__check_rows(&c->call, check_cross_entropy_row, o);
}

typedef struct loss_rows {
    float *const *o;
    int64_t       rows, columns;
} loss_rows;

CM__VECTORS static void cross_entropy_backward(void *arg, int64_t first, int64_t last)
{
    const loss_rows *l = arg;
    const int32_t   *labels = (const int32_t *)l->o[LABELS];
    float            scale = 1 / (float)l->rows;
    for (int64_t i = first; i < last; i++) {
        const float *p = l->o[LOGP] + i * l->columns;
        float       *d = l->o[LOGITS] + i * l->columns;
        for (int64_t j = 0; j < l->columns; j++) d[j] = fast_exp(p[j]) * scale;
        d[labels[i]] -= scale;
    }
}

static void run_cross_entropy_backward(cm__cpu_case *c, float *const *o)
{
    loss_rows l = {o, c->call.dims[0], c->call.dims[1]};
    cm__pool_run(c->cpu->pool, cross_entropy_backward, &l, l.rows, l.columns > 8192 ? 1 : 8192 / l.columns);
}

static int64_t check_cross_entropy_backward(cm__cpu_case *c, float *const *o, float *const *before)
{
    int64_t        rows = c->call.dims[0], columns = c->call.dims[1], wrong = 0, n = rows * columns;
    const int32_t *labels = (const int32_t *)o[LABELS];
    (void)before;
    for (int64_t s = 0; s < 2 * cm__samples(n); s++) { /* a sample of all elements, and their rows' labels */
        int64_t at = cm__sample(s / 2, n), row = at / columns;
        if (s & 1) at = row * columns + labels[row];
        double want = (exp((double)o[LOGP][at]) - (at % columns == labels[row])) / (double)rows;
        wrong += cm__differs(o[LOGITS][at] * (double)rows, want * (double)rows, 1);
    }
    return wrong;
}

const cm__cpu_op cm__cpu_ops_rows[] = {
    {"softmax", "forward", takes_softmax, operands_softmax, NULL, NULL, run_softmax, check_softmax, 1},
    {"softmax", "backward", takes_softmax, operands_softmax_backward, NULL, NULL, run_softmax_backward,
     check_softmax_backward, 1},
    {"cross_entropy", "forward", takes_rows, operands_cross_entropy, NULL, NULL, run_cross_entropy,
     check_cross_entropy, 2},
    {"cross_entropy", "backward", takes_rows, operands_cross_entropy, NULL, NULL, run_cross_entropy_backward,
     check_cross_entropy_backward, 1},
    {"layer_norm", "forward", takes_rows, cm__operands_norm, NULL, NULL, cm__run_norm, cm__check_norm, 1},
    {"layer_norm", "backward", takes_rows, cm__operands_norm, NULL, NULL, cm__run_norm_backward,
     cm__check_norm_backward, 2},
    {"rms_norm", "forward", takes_rows, cm__operands_norm, NULL, NULL, cm__run_norm, cm__check_norm, 1},
    {"rms_norm", "backward", takes_rows, cm__operands_norm, NULL, NULL, cm__run_norm_backward,
     cm__check_norm_backward, 2},
    {0},
};
