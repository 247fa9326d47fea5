/* SPDX-License-Identifier: Apache-2.0 */
/* pools.c - pooling with oneDNN. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/backends/cpu/dnn_ops.h"

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

enum { X, Y, DY, DX };

typedef struct pool {
    int64_t n, c, h, w, window, stride, pad, out_h, out_w;
    bool    max, nhwc;
} pool;

static pool pool_of(const cm_call *call)
{
    const int64_t *d = call->dims;
    pool p = {d[0], d[1], d[2], d[3], d[4], d[5], d[6], 0, 0, strncmp(call->variant, "max:", 4) == 0,
              ends_with(call->variant, ":nhwc")};
    p.out_h = p.h + 2 * p.pad >= p.window ? (p.h + 2 * p.pad - p.window) / p.stride + 1 : 0;
    p.out_w = p.w + 2 * p.pad >= p.window ? (p.w + 2 * p.pad - p.window) / p.stride + 1 : 0;
    return p;
}

static bool takes_pool(const cm__cpu *cpu, const cm_call *call)
{
    bool kind = !strncmp(call->variant, "max:", 4) || !strncmp(call->variant, "avg:", 4);
    bool layout = ends_with(call->variant, ":nchw") || ends_with(call->variant, ":nhwc");
    if (!cpu->dnn || !kind || !layout || strcmp(call->dtype, "fp32") || !cm__dnn_sizes(call, 6)) return false;
    pool p = pool_of(call);
    return p.out_h > 0 && p.out_w > 0 && p.pad >= 0 && 2 * p.pad <= p.window;
}

static int operands_pool(const cm_call *call, cm__operand *o)
{
    pool    p = pool_of(call);
    int64_t in = p.n * p.c * p.h * p.w, out = p.n * p.c * p.out_h * p.out_w;
    o[X] = (cm__operand){in, CM__FILL_RANDOM, 0};
    o[Y] = (cm__operand){out, cm__dnn_forward(call) ? CM__FILL_RESULT : CM__FILL_UPDATED, 0};
    o[DY] = (cm__operand){out, CM__FILL_RANDOM, 0};
    o[DX] = (cm__operand){in, CM__FILL_RESULT, 0};
    return cm__dnn_forward(call) ? 2 : 4;
}

static cm_status setup_pool(cm__cpu_case *c, cm_diag *diag)
{
    pool           p = pool_of(&c->call);
    const cm__dnn *d = c->cpu->dnn;
    int64_t        x[] = {p.n, p.c, p.h, p.w}, y[] = {p.n, p.c, p.out_h, p.out_w};
    int64_t        stride[12] = {p.stride, p.stride}, window[12] = {p.window, p.window}, pad[12] = {p.pad, p.pad};
    int64_t        far[12] = {(p.out_h - 1) * p.stride + p.window - p.h - p.pad,
                              (p.out_w - 1) * p.stride + p.window - p.w - p.pad};
    cm__dnn_memory mx = cm__dnn_plain(d, 4, x, p.nhwc ? cm__nhwc_order : NULL),
                   my = cm__dnn_plain(d, 4, y, p.nhwc ? cm__nhwc_order : NULL);
    int            kind = p.max ? DNN_POOL_MAX : DNN_POOL_AVG;
    cm__dnn_op    *ops = cm__dnn_pair(c);
    cm__dnn_desc  *desc = calloc(2, sizeof *desc);
    float        **o = cm__operand_set(c, 0);
    cm_status      status = ops && desc ? CM_OK : cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    void          *work = NULL;
    if (status == CM_OK && (d->pool_forward(&desc[0], DNN_FORWARD, kind, &mx, &my, stride, window, pad, far) ||
                            d->pool_backward(&desc[1], kind, &mx, &my, stride, window, pad, far)))
        status = cm__diag_set(diag, CM_ERR_UNSUPPORTED, "oneDNN %s does not support this pooling", d->version);
    if (status == CM_OK) status = cm__dnn_make(&ops[0], &desc[0], NULL, diag);
    if (status == CM_OK && !cm__dnn_forward(&c->call)) status = cm__dnn_make(&ops[1], &desc[1], ops[0].pd, diag);
    free(desc);
    if (status != CM_OK) return status;
    cm__dnn_bind(&ops[0], DNN_SRC, X, &mx, o[X]);
    cm__dnn_bind(&ops[0], DNN_DST, Y, &my, o[Y]);
    cm__md where = p.max ? d->pd_memory(ops[0].pd, DNN_QUERY_WORKSPACE, 0) : NULL;
    if (where && !(work = cm__dnn_own(&ops[0], where)))
        return cm__diag_set(diag, CM_ERR_LIMIT, "no memory for the workspace");
    if (where) cm__dnn_bind(&ops[0], DNN_WORKSPACE, -1, where, work);
    c->algorithm = cm__dnn_implementation(&ops[0]);
    if (cm__dnn_forward(&c->call)) return CM_OK;
    cm__dnn_run(&ops[0], o); /* backward reads the positions of the maxima */
    cm__dnn_bind(&ops[1], DNN_DST + DNN_GRADIENT, DY, &my, o[DY]);
    cm__dnn_bind(&ops[1], DNN_SRC + DNN_GRADIENT, DX, &mx, o[DX]);
    if (where) cm__dnn_bind(&ops[1], DNN_WORKSPACE, -1, where, work);
    return CM_OK;
}

static int64_t place(bool nhwc, int64_t channels, int64_t h, int64_t w, int64_t n, int64_t c, int64_t i, int64_t j)
{
    return nhwc ? ((n * h + i) * w + j) * channels + c : ((n * channels + c) * h + i) * w + j;
}

/* One output; `where`: the index of the window's largest input. */
static double exact_pool(const pool *p, const float *x, int64_t n, int64_t c, int64_t i, int64_t j, int64_t *where)
{
    double most = -INFINITY, sum = 0;
    for (int64_t r = i * p->stride - p->pad; r < i * p->stride - p->pad + p->window; r++)
        for (int64_t q = j * p->stride - p->pad; q < j * p->stride - p->pad + p->window; q++) {
            if (r < 0 || q < 0 || r >= p->h || q >= p->w) continue;
            int64_t at = place(p->nhwc, p->c, p->h, p->w, n, c, r, q);
            sum += x[at];
            if (x[at] > most) *where = at;
            most = fmax(most, x[at]);
        }
    return p->max ? most : sum / (double)(p->window * p->window);
}

static int64_t check_pool(cm__cpu_case *c, float *const *o, float *const *before)
{
    pool    p = pool_of(&c->call);
    int64_t wrong = 0, total = p.n * p.c * p.out_h * p.out_w, where;
    (void)before;
    for (int64_t s = 0; s < cm__samples(total); s++) {
        int64_t at = cm__sample(s, total), n = at / (p.c * p.out_h * p.out_w), k = at / (p.out_h * p.out_w) % p.c;
        int64_t i = at / p.out_w % p.out_h, j = at % p.out_w;
        wrong += cm__differs(o[Y][place(p.nhwc, p.c, p.out_h, p.out_w, n, k, i, j)],
                             exact_pool(&p, o[X], n, k, i, j, &where), 1);
    }
    return wrong;
}

/* The gradient of an input sums over the windows it is in: those whose maximum it is, or its share of each average. */
static int64_t check_pool_backward(cm__cpu_case *c, float *const *o, float *const *before)
{
    pool    p = pool_of(&c->call);
    int64_t wrong = 0, total = p.n * p.c * p.h * p.w, where = 0;
    (void)before;
    for (int64_t s = 0; s < cm__samples(total); s++) {
        int64_t at = cm__sample(s, total), n = at / (p.c * p.h * p.w), k = at / (p.h * p.w) % p.c;
        int64_t i = at / p.w % p.h, j = at % p.w, mine = place(p.nhwc, p.c, p.h, p.w, n, k, i, j);
        double  want = 0;
        for (int64_t y = 0; y < p.out_h; y++)
            for (int64_t x = 0; x < p.out_w; x++) {
                int64_t top = y * p.stride - p.pad, left = x * p.stride - p.pad;
                if (i < top || i >= top + p.window || j < left || j >= left + p.window) continue;
                exact_pool(&p, o[X], n, k, y, x, &where);
                double g = o[DY][place(p.nhwc, p.c, p.out_h, p.out_w, n, k, y, x)];
                want += p.max ? (where == mine ? g : 0) : g / (double)(p.window * p.window);
            }
        wrong += cm__differs(o[DX][mine], want, 1);
    }
    return wrong;
}

const cm__cpu_op cm__cpu_ops_pool[] = {
    {"pool", "forward", takes_pool, operands_pool, setup_pool, cm__dnn_pair_free, cm__dnn_pair_run, check_pool, 1},
    {"pool", "backward", takes_pool, operands_pool, setup_pool, cm__dnn_pair_free, cm__dnn_pair_run,
     check_pool_backward, 1},
    {0},
};
