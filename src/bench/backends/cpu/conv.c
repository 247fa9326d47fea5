/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.c - convolutions with oneDNN.
 *
 * Images have the layout that the variant names. Weights have the library's preferred layout. The forward pass and the
 * input gradient reorder weights into it before timing; the weight gradient is reordered back within the timed run.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/backends/cpu/cpu.h"
#include "bench/backends/cpu/dnn_ops.h"

enum { X, W, Y };

typedef struct shape {
    int64_t n, c, k, h, w, r, s, stride[2], pad[2], dilation[2], groups, out_h, out_w;
    bool    nhwc;
} shape;

typedef struct conv {
    cm__dnn_op op, reorder;
} conv;

static int64_t windows(int64_t size, int64_t window, int64_t stride, int64_t pad, int64_t dilation)
{
    int64_t room = size + 2 * pad - dilation * (window - 1) - 1;
    return room < 0 || stride < 1 ? 0 : room / stride + 1;
}

static shape shape_of(const cm_call *call)
{
    const int64_t *d = call->dims;
    shape s = {d[0], d[1], d[2], d[3], d[4], d[5], d[6], {d[7], d[8]}, {d[9], d[10]}, {d[11], d[12]}, d[13], 0, 0,
               strcmp(call->variant, "nhwc") == 0};
    s.out_h = windows(s.h, s.r, s.stride[0], s.pad[0], s.dilation[0]);
    s.out_w = windows(s.w, s.s, s.stride[1], s.pad[1], s.dilation[1]);
    return s;
}

static bool takes(const cm__cpu *cpu, const cm_call *call)
{
    bool layout = strcmp(call->variant, "nchw") == 0 || strcmp(call->variant, "nhwc") == 0;
    if (!cpu->dnn || !layout || strcmp(call->dtype, "fp32")) return false;
    for (int i = 0; i < 14; i++)
        if (call->dims[i] < (i == 9 || i == 10 ? 0 : 1) || call->dims[i] > INT32_MAX) return false;
    shape s = shape_of(call);
    return s.out_h > 0 && s.out_w > 0 && s.c % s.groups == 0 && s.k % s.groups == 0;
}

static int operands(const cm_call *call, cm__operand *o)
{
    shape s = shape_of(call);
    o[X] = (cm__operand){s.n * s.c * s.h * s.w, CM__FILL_RANDOM, 0};
    o[W] = (cm__operand){s.k * s.c / s.groups * s.r * s.s, CM__FILL_RANDOM, 0};
    o[Y] = (cm__operand){s.n * s.k * s.out_h * s.out_w, CM__FILL_RANDOM, 0};
    o[strcmp(call->pass, "forward") == 0 ? Y : strcmp(call->pass, "bwd_input") == 0 ? X : W].fill = CM__FILL_RESULT;
    return 3;
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

typedef struct memories {
    cm__dnn_memory x, w, y, w_plain;
} memories;

static memories memories_of(const cm__dnn *d, const shape *s)
{
    static const int nhwc[] = {0, 2, 3, 1};
    int64_t x[] = {s->n, s->c, s->h, s->w}, y[] = {s->n, s->k, s->out_h, s->out_w};
    int64_t w[] = {s->groups, s->k / s->groups, s->c / s->groups, s->r, s->s};
    bool    grouped = s->groups > 1;
    return (memories){.x = cm__dnn_plain(d, 4, x, s->nhwc ? nhwc : NULL),
                      .w = cm__dnn_any(d, grouped ? 5 : 4, w + !grouped),
                      .w_plain = cm__dnn_plain(d, grouped ? 5 : 4, w + !grouped, NULL),
                      .y = cm__dnn_plain(d, 4, y, s->nhwc ? nhwc : NULL)};
}

static int describe(const cm__dnn *d, const char *pass, const shape *s, const memories *m, cm__dnn_desc *desc)
{
    int64_t stride[12] = {s->stride[0], s->stride[1]}, pad[12] = {s->pad[0], s->pad[1]};
    int64_t dilation[12] = {s->dilation[0] - 1, s->dilation[1] - 1};
    /* Padding at the bottom and right, so that the windows cover the padded image exactly. */
    int64_t far[12] = {(s->out_h - 1) * s->stride[0] + s->dilation[0] * (s->r - 1) + 1 - s->h - s->pad[0],
                       (s->out_w - 1) * s->stride[1] + s->dilation[1] * (s->s - 1) + 1 - s->w - s->pad[1]};
    if (strcmp(pass, "bwd_input") == 0)
        return d->conv_backward_data(desc, DNN_CONV_DIRECT, &m->x, &m->w, &m->y, stride, dilation, pad, far);
    if (strcmp(pass, "bwd_weight") == 0)
        return d->conv_backward_weights(desc, DNN_CONV_DIRECT, &m->x, &m->w, NULL, &m->y, stride, dilation, pad, far);
    return d->conv_forward(desc, DNN_FORWARD, DNN_CONV_DIRECT, &m->x, &m->w, NULL, &m->y, stride, dilation, pad, far);
}

/* The library requires a description of the forward operation to create a backward one. */
static cm_status make(cm__cpu_case *c, const shape *s, const memories *m, cm__dnn_op *op, cm_diag *diag)
{
    cm__dnn      *d = c->cpu->dnn;
    cm__dnn_desc *desc = calloc(2, sizeof *desc);
    void         *hint = NULL;
    cm_status     status = CM_ERR_UNSUPPORTED;
    if (!desc) return cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    int failed = describe(d, "forward", s, m, &desc[0]);
    if (!failed) failed = d->pd_create(&hint, &desc[0], NULL, d->engine, NULL);
    if (!failed) failed = describe(d, c->call.pass, s, m, &desc[1]);
    if (!failed) status = cm__dnn_make(op, &desc[1], hint, diag);
    else
        cm__diag_set(diag, CM_ERR_UNSUPPORTED, "oneDNN %s does not support this convolution (status %d)", d->version,
                     failed);
    if (hint) d->pd_destroy(hint);
    free(desc);
    return status;
}

static cm_status bind_weights(cm__cpu_case *c, conv *v, const memories *m, cm_diag *diag)
{
    bool   result = strcmp(c->call.pass, "bwd_weight") == 0;
    cm__md preferred = c->cpu->dnn->pd_memory(v->op.pd, result ? DNN_QUERY_DIFF_WEIGHTS : DNN_QUERY_WEIGHTS, 0);
    int    arg = DNN_WEIGHTS + (result ? DNN_GRADIENT : 0);
    if (c->cpu->dnn->memory_equal(preferred, &m->w_plain)) {
        cm__dnn_bind(&v->op, arg, W, preferred, cm__operand_set(c, 0)[W]);
        return CM_OK;
    }
    void *own = cm__dnn_own(&v->op, preferred);
    v->reorder.dnn = c->cpu->dnn;
    if (!own) return cm__diag_set(diag, CM_ERR_LIMIT, "no memory for weights in oneDNN's layout");
    cm_status status =
        cm__dnn_make_reorder(&v->reorder, result ? preferred : &m->w_plain, result ? &m->w_plain : preferred, diag);
    if (status != CM_OK) return status;
    cm__dnn_bind(&v->op, arg, -1, preferred, own);
    cm__dnn_bind(&v->reorder, DNN_SRC, result ? -1 : W, result ? preferred : &m->w_plain,
                 result ? own : cm__operand_set(c, 0)[W]);
    cm__dnn_bind(&v->reorder, DNN_DST, result ? W : -1, result ? &m->w_plain : preferred,
                 result ? cm__operand_set(c, 0)[W] : own);
    if (!result) cm__dnn_run(&v->reorder, cm__operand_set(c, 0));
    return CM_OK;
}

static cm_status setup(cm__cpu_case *c, cm_diag *diag)
{
    shape    s = shape_of(&c->call);
    memories m = memories_of(c->cpu->dnn, &s);
    conv    *v = calloc(1, sizeof *v);
    float  **o = cm__operand_set(c, 0);
    c->extra = v;
    if (!v) return cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    v->op.dnn = c->cpu->dnn;
    cm_status status = make(c, &s, &m, &v->op, diag);
    if (status == CM_OK) status = bind_weights(c, v, &m, diag);
    if (status != CM_OK) return status;
    bool forward = strcmp(c->call.pass, "forward") == 0, to_input = strcmp(c->call.pass, "bwd_input") == 0;
    cm__dnn_bind(&v->op, DNN_SRC + (to_input ? DNN_GRADIENT : 0), X, &m.x, o[X]);
    cm__dnn_bind(&v->op, DNN_DST + (forward ? 0 : DNN_GRADIENT), Y, &m.y, o[Y]);
    c->algorithm = cm__dnn_implementation(&v->op);
    return CM_OK;
}

static void teardown(cm__cpu_case *c)
{
    conv *v = c->extra;
    if (!v) return;
    cm__dnn_free(&v->op);
    cm__dnn_free(&v->reorder);
    free(v);
}

static void run(cm__cpu_case *c, float *const *o)
{
    conv *v = c->extra;
    cm__dnn_run(&v->op, o);
    if (v->reorder.dnn && strcmp(c->call.pass, "bwd_weight") == 0) cm__dnn_run(&v->reorder, o);
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

/* Offset of element (image, channel, row, column) of X or Y. */
static int64_t at(const shape *s, int64_t channels, int64_t h, int64_t w, int64_t n, int64_t c, int64_t i, int64_t j)
{
    return s->nhwc ? ((n * h + i) * w + j) * channels + c : ((n * channels + c) * h + i) * w + j;
}

static double x_at(const shape *s, const float *x, int64_t n, int64_t c, int64_t i, int64_t j)
{
    bool inside = i >= 0 && i < s->h && j >= 0 && j < s->w;
    return inside ? x[at(s, s->c, s->h, s->w, n, c, i, j)] : 0;
}

static double exact_forward(const shape *s, float *const *o, int64_t n, int64_t k, int64_t i, int64_t j, double *size)
{
    int64_t each = s->c / s->groups, first = k / (s->k / s->groups) * each;
    double  sum = 0;
    for (int64_t c = 0; c < each; c++)
        for (int64_t r = 0; r < s->r; r++)
            for (int64_t q = 0; q < s->s; q++) {
                double part = x_at(s, o[X], n, first + c, i * s->stride[0] - s->pad[0] + r * s->dilation[0],
                                   j * s->stride[1] - s->pad[1] + q * s->dilation[1]) *
                              o[W][((k * each + c) * s->r + r) * s->s + q];
                sum += part;
                *size += fabs(part);
            }
    return sum;
}

/* The output row whose window covers input row i with its row r, or -1. */
static int64_t output_of(int64_t i, int64_t r, int64_t stride, int64_t pad, int64_t dilation, int64_t count)
{
    int64_t from = i + pad - r * dilation;
    return from >= 0 && from % stride == 0 && from / stride < count ? from / stride : -1;
}

static double exact_input(const shape *s, float *const *o, int64_t n, int64_t c, int64_t i, int64_t j, double *size)
{
    int64_t each = s->c / s->groups, outputs = s->k / s->groups, group = c / each;
    double  sum = 0;
    for (int64_t r = 0; r < s->r; r++)
        for (int64_t q = 0; q < s->s; q++) {
            int64_t y = output_of(i, r, s->stride[0], s->pad[0], s->dilation[0], s->out_h);
            int64_t x = output_of(j, q, s->stride[1], s->pad[1], s->dilation[1], s->out_w);
            for (int64_t k = group * outputs; y >= 0 && x >= 0 && k < (group + 1) * outputs; k++) {
                double part = (double)o[Y][at(s, s->k, s->out_h, s->out_w, n, k, y, x)] *
                              o[W][((k * each + c % each) * s->r + r) * s->s + q];
                sum += part;
                *size += fabs(part);
            }
        }
    return sum;
}

static double exact_weight(const shape *s, float *const *o, int64_t k, int64_t c, int64_t r, int64_t q, double *size)
{
    int64_t channel = k / (s->k / s->groups) * (s->c / s->groups) + c;
    double  sum = 0;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t i = 0; i < s->out_h; i++)
            for (int64_t j = 0; j < s->out_w; j++) {
                double part = x_at(s, o[X], n, channel, i * s->stride[0] - s->pad[0] + r * s->dilation[0],
                                   j * s->stride[1] - s->pad[1] + q * s->dilation[1]) *
                              o[Y][at(s, s->k, s->out_h, s->out_w, n, k, i, j)];
                sum += part;
                *size += fabs(part);
            }
    return sum;
}

static int64_t check_images(cm__cpu_case *c, float *const *o, bool forward)
{
    shape   s = shape_of(&c->call);
    int64_t channels = forward ? s.k : s.c, h = forward ? s.out_h : s.h, w = forward ? s.out_w : s.w;
    int64_t wrong = 0, total = s.n * channels * h * w;
    for (int64_t i = 0; i < cm__samples(total); i++) {
        int64_t place = cm__sample(i, total), n = place / (channels * h * w), k = place / (h * w) % channels;
        int64_t row = place / w % h, column = place % w;
        double  size = 0;
        double  want =
            forward ? exact_forward(&s, o, n, k, row, column, &size) : exact_input(&s, o, n, k, row, column, &size);
        wrong += cm__differs(o[forward ? Y : X][at(&s, channels, h, w, n, k, row, column)], want, size);
    }
    return wrong;
}

static int64_t check_forward(cm__cpu_case *c, float *const *o, float *const *before)
{
    (void)before;
    return check_images(c, o, true);
}

static int64_t check_input(cm__cpu_case *c, float *const *o, float *const *before)
{
    (void)before;
    return check_images(c, o, false);
}

#define WORK_MOST 2e7 /* terms of all checked weight gradients; each sums over all images */

static int64_t check_weight(cm__cpu_case *c, float *const *o, float *const *before)
{
    shape   s = shape_of(&c->call);
    int64_t each = s.c / s.groups, total = s.k * each * s.r * s.s, wrong = 0;
    int64_t places = (int64_t)fmax(3, fmin(31, WORK_MOST / (double)(s.n * s.out_h * s.out_w)));
    (void)before;
    for (int64_t i = 0; i < places; i++) {
        int64_t place = (int64_t)((double)i / (double)(places - 1) * (double)(total - 1));
        double  size = 0, want = exact_weight(&s, o, place / (each * s.r * s.s), place / (s.r * s.s) % each,
                                              place / s.s % s.r, place % s.s, &size);
        wrong += cm__differs(o[W][place], want, size);
    }
    return wrong;
}

const cm__cpu_op cm__cpu_ops_conv[] = {
    {"conv", "forward", takes, operands, setup, teardown, run, check_forward, 1},
    {"conv", "bwd_input", takes, operands, setup, teardown, run, check_input, 1},
    {"conv", "bwd_weight", takes, operands, setup, teardown, run, check_weight, 1},
    {0},
};
