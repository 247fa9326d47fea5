/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm.c - batch norm with oneDNN. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/backends/cpu/dnn_ops.h"

#define EPSILON 1e-5f

enum { BX, BY, SCALE, MEAN, VARIANCE, BDY, BDX, DSCALE };

typedef struct norm {
    int64_t n, c, hw;
    bool    nhwc;
} norm;

static norm norm_of(const cm_call *call)
{
    return (norm){call->dims[0], call->dims[1], call->dims[2], strcmp(call->variant, "nhwc") == 0};
}

static bool takes_norm(const cm__cpu *cpu, const cm_call *call)
{
    bool layout = strcmp(call->variant, "nchw") == 0 || strcmp(call->variant, "nhwc") == 0;
    return cpu->dnn && layout && strcmp(call->dtype, "fp32") == 0 && cm__dnn_sizes(call, 3);
}

static int operands_norm(const cm_call *call, cm__operand *o)
{
    norm    b = norm_of(call);
    int64_t n = b.n * b.c * b.hw;
    bool    forward = cm__dnn_forward(call);
    o[BX] = (cm__operand){n, CM__FILL_RANDOM, 0};
    o[BY] = (cm__operand){forward ? n : 1, forward ? CM__FILL_RESULT : CM__FILL_RANDOM, 0};
    o[SCALE] = (cm__operand){2 * b.c, CM__FILL_RANDOM, 0};
    o[MEAN] = (cm__operand){b.c, forward ? CM__FILL_RESULT : CM__FILL_RANDOM, 0};
    o[VARIANCE] = (cm__operand){b.c, forward ? CM__FILL_RESULT : CM__FILL_POSITIVE, 0};
    o[BDY] = (cm__operand){n, CM__FILL_RANDOM, 0};
    o[BDX] = (cm__operand){n, CM__FILL_RESULT, 0};
    o[DSCALE] = (cm__operand){2 * b.c, CM__FILL_RESULT, 0};
    return forward ? BDY : DSCALE + 1;
}

static cm_status setup_norm(cm__cpu_case *c, cm_diag *diag)
{
    norm           b = norm_of(&c->call);
    const cm__dnn *d = c->cpu->dnn;
    int64_t        x[] = {b.n, b.c, b.hw, 1}, scale[] = {2, b.c}, each[] = {b.c};
    cm__dnn_memory m[3] = {cm__dnn_plain(d, 4, x, b.nhwc ? cm__nhwc_order : NULL), cm__dnn_plain(d, 2, scale, NULL),
                           cm__dnn_plain(d, 1, each, NULL)};
    cm__dnn_op    *ops = cm__dnn_pair(c);
    cm__dnn_desc  *desc = calloc(2, sizeof *desc);
    float        **o = cm__operand_set(c, 0);
    cm_status      status = ops && desc ? CM_OK : cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    if (status == CM_OK && (d->norm_forward(&desc[0], DNN_FORWARD, &m[0], EPSILON, DNN_USE_SCALE_SHIFT) ||
                            d->norm_backward(&desc[1], DNN_BACKWARD, &m[0], &m[0], EPSILON, DNN_USE_SCALE_SHIFT)))
        status = cm__diag_set(diag, CM_ERR_UNSUPPORTED, "oneDNN %s does not support this norm", d->version);
    if (status == CM_OK) status = cm__dnn_make(&ops[0], &desc[0], NULL, diag);
    if (status == CM_OK && !cm__dnn_forward(&c->call)) status = cm__dnn_make(&ops[1], &desc[1], ops[0].pd, diag);
    free(desc);
    if (status != CM_OK) return status;
    bool        forward = cm__dnn_forward(&c->call);
    cm__dnn_op *op = &ops[!forward];
    cm__dnn_bind(op, DNN_SRC, BX, &m[0], o[BX]);
    cm__dnn_bind(op, DNN_WEIGHTS, SCALE, &m[1], o[SCALE]);
    cm__dnn_bind(op, DNN_MEAN, MEAN, &m[2], o[MEAN]);
    cm__dnn_bind(op, DNN_VARIANCE, VARIANCE, &m[2], o[VARIANCE]);
    if (forward) cm__dnn_bind(op, DNN_DST, BY, &m[0], o[BY]);
    else {
        cm__dnn_bind(op, DNN_DST + DNN_GRADIENT, BDY, &m[0], o[BDY]);
        cm__dnn_bind(op, DNN_SRC + DNN_GRADIENT, BDX, &m[0], o[BDX]);
        cm__dnn_bind(op, DNN_WEIGHTS + DNN_GRADIENT, DSCALE, &m[1], o[DSCALE]);
    }
    c->algorithm = cm__dnn_implementation(op);
    return CM_OK;
}

static int64_t element(const norm *b, int64_t n, int64_t c, int64_t i)
{
    return b->nhwc ? (n * b->hw + i) * b->c + c : (n * b->c + c) * b->hw + i;
}

#define CHECKED 3 /* channels that are checked, and elements of each */

static int64_t check_channel(const norm *b, float *const *o, int64_t c)
{
    double  count = (double)(b->n * b->hw), sum = 0, squares = 0;
    int64_t wrong = 0;
    for (int64_t n = 0; n < b->n; n++)
        for (int64_t i = 0; i < b->hw; i++) sum += o[BX][element(b, n, c, i)];
    double mean = sum / count;
    for (int64_t n = 0; n < b->n; n++)
        for (int64_t i = 0; i < b->hw; i++) squares += pow(o[BX][element(b, n, c, i)] - mean, 2);
    double scale = 1 / sqrt(squares / count + EPSILON);
    for (int64_t s = 0; s < CHECKED; s++) {
        int64_t at = element(b, (b->n - 1) * s / (CHECKED - 1), c, (b->hw - 1) * s / (CHECKED - 1));
        wrong += cm__differs(o[BY][at], (o[BX][at] - mean) * scale * o[SCALE][c] + o[SCALE][b->c + c], 10);
    }
    return wrong + cm__differs(o[MEAN][c], mean, 1);
}

static int64_t check_channel_backward(const norm *b, float *const *o, int64_t c)
{
    double  count = (double)(b->n * b->hw), sum = 0, weighted = 0, scale = 1 / sqrt((double)o[VARIANCE][c] + EPSILON);
    int64_t wrong = 0;
    for (int64_t n = 0; n < b->n; n++)
        for (int64_t i = 0; i < b->hw; i++) {
            int64_t at = element(b, n, c, i);
            sum += o[BDY][at];
            weighted += (double)o[BDY][at] * (o[BX][at] - o[MEAN][c]) * scale;
        }
    for (int64_t s = 0; s < CHECKED; s++) {
        int64_t at = element(b, (b->n - 1) * s / (CHECKED - 1), c, (b->hw - 1) * s / (CHECKED - 1));
        double  want = o[SCALE][c] * scale *
                      (o[BDY][at] - sum / count - (o[BX][at] - o[MEAN][c]) * scale * weighted / count);
        wrong += cm__differs(o[BDX][at], want, 10 * scale);
    }
    return wrong + cm__differs(o[DSCALE][c], weighted, count) + cm__differs(o[DSCALE][b->c + c], sum, count);
}

static int64_t check_norm(cm__cpu_case *c, float *const *o, float *const *before)
{
    norm    b = norm_of(&c->call);
    int64_t wrong = 0;
    (void)before;
    for (int64_t s = 0; s < CHECKED && s < b.c; s++) {
        int64_t channel = (b.c - 1) * s / (CHECKED - 1);
        wrong += cm__dnn_forward(&c->call) ? check_channel(&b, o, channel) : check_channel_backward(&b, o, channel);
    }
    return wrong;
}

const cm__cpu_op cm__cpu_ops_batch_norm[] = {
    {"batch_norm", "forward", takes_norm, operands_norm, setup_norm, cm__dnn_pair_free, cm__dnn_pair_run, check_norm,
     1},
    {"batch_norm", "backward", takes_norm, operands_norm, setup_norm, cm__dnn_pair_free, cm__dnn_pair_run, check_norm,
     1},
    {0},
};
