/* SPDX-License-Identifier: Apache-2.0 */
/* lstm.c - one LSTM layer with oneDNN, forward and backward. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/backends/cpu/dnn_ops.h"

#define GATES 4 /* input, forget, candidate, output, in the library's order */

enum { SRC, H0, C0, WL, WI, BIAS, DST, HN, CN, OPERANDS, D_SRC = OPERANDS }; /* gradients follow in the same order */

typedef struct layer {
    int64_t n, t, i, h;
} layer;

static layer layer_of(const cm_call *call)
{
    return (layer){call->dims[0], call->dims[1], call->dims[2], call->dims[3]};
}

static bool takes(const cm__cpu *cpu, const cm_call *call)
{
    if (!cpu->dnn || strcmp(call->variant, "lstm") || strcmp(call->dtype, "fp32")) return false;
    for (int i = 0; i < 6; i++)
        if (call->dims[i] < 1 || call->dims[i] > INT32_MAX) return false;
    return call->dims[4] == 1 && call->dims[5] == 1;
}

static bool is_forward(const cm_call *call) { return strcmp(call->pass, "forward") == 0; }

/* Inputs are random. Forward writes the results; backward writes the gradients of the inputs. The library adds to the
   weight gradients instead of overwriting them. */
static int operands(const cm_call *call, cm__operand *o)
{
    layer   l = layer_of(call);
    int64_t sizes[OPERANDS] = {l.t * l.n * l.i, l.n * l.h, l.n * l.h, l.i * GATES * l.h, l.h * GATES * l.h,
                               GATES * l.h, l.t * l.n * l.h, l.n * l.h, l.n * l.h};
    for (int k = 0; k < OPERANDS; k++) {
        o[k] = (cm__operand){sizes[k],
                             k < DST            ? CM__FILL_RANDOM
                             : is_forward(call) ? CM__FILL_RESULT
                                                : CM__FILL_UPDATED,
                             0};
        o[D_SRC + k] = (cm__operand){sizes[k],
                                     k >= DST ? CM__FILL_RANDOM
                                     : k < WL ? CM__FILL_RESULT
                                              : CM__FILL_UPDATED,
                                     0};
    }
    return is_forward(call) ? OPERANDS : 2 * OPERANDS;
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

typedef struct lstm {
    cm__dnn_op forward, backward;
} lstm;

static const int args[OPERANDS] = {DNN_SRC,  DNN_SRC_ITER, DNN_SRC_ITER_C, DNN_WEIGHTS,   DNN_WEIGHTS_ITER,
                                   DNN_BIAS, DNN_DST,      DNN_DST_ITER,   DNN_DST_ITER_C};

static void memories_of(const cm__dnn *d, const layer *l, cm__dnn_memory *m)
{
    int64_t src[] = {l->t, l->n, l->i}, state[] = {1, 1, l->n, l->h}, dst[] = {l->t, l->n, l->h};
    int64_t wl[] = {1, 1, l->i, GATES, l->h}, wi[] = {1, 1, l->h, GATES, l->h}, bias[] = {1, 1, GATES, l->h};
    m[SRC] = cm__dnn_plain(d, 3, src, NULL);
    m[H0] = m[C0] = m[HN] = m[CN] = cm__dnn_plain(d, 4, state, NULL);
    m[WL] = cm__dnn_plain(d, 5, wl, NULL);
    m[WI] = cm__dnn_plain(d, 5, wi, NULL);
    m[BIAS] = cm__dnn_plain(d, 4, bias, NULL);
    m[DST] = cm__dnn_plain(d, 3, dst, NULL);
}

/* Scale weights as in a trained network, so that the gates do not saturate. */
static void scale_weights(cm__cpu_case *c, const layer *l)
{
    float scale = 1 / sqrtf((float)(l->i + l->h));
    for (int32_t set = 0; set < c->n_sets; set++)
        for (int w = WL; w <= WI; w++)
            for (int64_t i = 0; i < c->operands[w].elements; i++) cm__operand_set(c, set)[w][i] *= scale;
}

static cm_status make_forward(cm__cpu_case *c, lstm *v, const cm__dnn_memory *m, cm_diag *diag)
{
    const cm__dnn *d = c->cpu->dnn;
    cm__dnn_desc  *desc = calloc(1, sizeof *desc);
    cm_status      status = desc ? CM_OK : cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    if (desc && d->lstm_forward(desc, DNN_FORWARD, 0, &m[SRC], &m[H0], &m[C0], &m[WL], &m[WI], &m[BIAS], &m[DST],
                                &m[HN], &m[CN], 0))
        status = cm__diag_set(diag, CM_ERR_UNSUPPORTED, "oneDNN %s does not support this layer", d->version);
    if (status == CM_OK) status = cm__dnn_make(&v->forward, desc, NULL, diag);
    free(desc);
    if (status != CM_OK) return status;
    for (int k = 0; k < OPERANDS; k++) cm__dnn_bind(&v->forward, args[k], k, &m[k], cm__operand_set(c, 0)[k]);
    cm__md work = d->pd_memory(v->forward.pd, DNN_QUERY_WORKSPACE, 0);
    void  *own = cm__dnn_own(&v->forward, work);
    if (!own) return cm__diag_set(diag, CM_ERR_LIMIT, "no memory for the workspace");
    cm__dnn_bind(&v->forward, DNN_WORKSPACE, -1, work, own);
    return CM_OK;
}

/* The backward pass needs the weights in another layout. */
static cm_status reorder_weights(cm__cpu_case *c, lstm *v, int operand, cm__md from, cm__md to, cm_diag *diag)
{
    cm__dnn_op reorder = {.dnn = c->cpu->dnn};
    float     *weights = cm__operand_set(c, 0)[operand];
    void      *reordered = cm__dnn_own(&v->backward, to);
    if (!reordered) return cm__diag_set(diag, CM_ERR_LIMIT, "no memory for weights in oneDNN's layout");
    cm_status status = cm__dnn_make_reorder(&reorder, from, to, diag);
    if (status == CM_OK) {
        cm__dnn_bind(&reorder, DNN_SRC, -1, from, weights);
        cm__dnn_bind(&reorder, DNN_DST, -1, to, reordered);
        cm__dnn_run(&reorder, NULL);
        cm__dnn_bind(&v->backward, args[operand], -1, to, reordered);
    }
    cm__dnn_free(&reorder);
    return status;
}

static cm_status bind_backward(cm__cpu_case *c, lstm *v, const cm__dnn_memory *m, const cm__dnn_memory *reordered,
                               cm_diag *diag)
{
    cm_status status = CM_OK;
    for (int k = 0; k < OPERANDS && status == CM_OK; k++) {
        cm__dnn_bind(&v->backward, args[k] + DNN_GRADIENT, D_SRC + k, &m[k], cm__operand_set(c, 0)[D_SRC + k]);
        if (k == WL || k == WI) status = reorder_weights(c, v, k, &m[k], &reordered[k - WL], diag);
        else cm__dnn_bind(&v->backward, args[k], k, &m[k], cm__operand_set(c, 0)[k]);
    }
    cm__dnn_bind(&v->backward, DNN_WORKSPACE, -1, c->cpu->dnn->pd_memory(v->forward.pd, DNN_QUERY_WORKSPACE, 0),
                 v->forward.owned[0]);
    return status;
}

static cm_status make_backward(cm__cpu_case *c, lstm *v, const cm__dnn_memory *m, cm_diag *diag)
{
    static const int turned_order[] = {0, 1, 3, 4, 2};
    layer            l = layer_of(&c->call);
    int64_t          wl[] = {1, 1, l.i, GATES, l.h}, wi[] = {1, 1, l.h, GATES, l.h};
    const cm__dnn   *d = c->cpu->dnn;
    cm__dnn_memory   w[2] = {cm__dnn_plain(d, 5, wl, turned_order), cm__dnn_plain(d, 5, wi, turned_order)};
    cm__dnn_desc    *desc = calloc(1, sizeof *desc);
    cm_status        status = desc ? CM_OK : cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    if (desc && d->lstm_backward(desc, DNN_BACKWARD, 0, &m[SRC], &m[H0], &m[C0], &w[0], &w[1], &m[BIAS], &m[DST],
                                 &m[HN], &m[CN], &m[SRC], &m[H0], &m[C0], &m[WL], &m[WI], &m[BIAS], &m[DST], &m[HN],
                                 &m[CN], 0))
        status = cm__diag_set(diag, CM_ERR_UNSUPPORTED, "oneDNN %s does not support this layer backward", d->version);
    if (status == CM_OK) status = cm__dnn_make(&v->backward, desc, v->forward.pd, diag);
    free(desc);
    return status == CM_OK ? bind_backward(c, v, m, w, diag) : status;
}

static cm_status setup(cm__cpu_case *c, cm_diag *diag)
{
    layer          l = layer_of(&c->call);
    cm__dnn_memory m[OPERANDS];
    lstm          *v = calloc(1, sizeof *v);
    c->extra = v;
    if (!v) return cm__diag_set(diag, CM_ERR_MEMORY, "out of memory");
    v->forward.dnn = v->backward.dnn = c->cpu->dnn;
    memories_of(c->cpu->dnn, &l, m);
    scale_weights(c, &l);
    cm_status status = make_forward(c, v, m, diag);
    if (status != CM_OK || is_forward(&c->call)) return status;
    cm__dnn_run(&v->forward, cm__operand_set(c, 0)); /* backward reads forward's workspace */
    return make_backward(c, v, m, diag);
}

static void teardown(cm__cpu_case *c)
{
    lstm *v = c->extra;
    if (!v) return;
    cm__dnn_free(&v->backward);
    cm__dnn_free(&v->forward);
    free(v);
}

static void run_forward(cm__cpu_case *c, float *const *o) { cm__dnn_run(&((lstm *)c->extra)->forward, o); }

static void run_backward(cm__cpu_case *c, float *const *o) { cm__dnn_run(&((lstm *)c->extra)->backward, o); }

/* ---- checking ---------------------------------------------------------------------------------------------------- */

/* One time step of one sample in double precision: h and c are its state, `pre` is scratch memory for the gates. */
static void step(const layer *l, float *const *o, const double *x, double *h, double *c, double *pre)
{
    int64_t wide = GATES * l->h;
    for (int64_t g = 0; g < wide; g++) pre[g] = o[BIAS][g];
    for (int64_t k = 0; k < l->i; k++)
        for (int64_t g = 0; g < wide; g++) pre[g] += x[k] * o[WL][k * wide + g];
    for (int64_t k = 0; k < l->h; k++)
        for (int64_t g = 0; g < wide; g++) pre[g] += h[k] * o[WI][k * wide + g];
    for (int64_t j = 0; j < l->h; j++) {
        double in = 1 / (1 + exp(-pre[j])), forget = 1 / (1 + exp(-pre[l->h + j]));
        double out = 1 / (1 + exp(-pre[3 * l->h + j]));
        c[j] = forget * c[j] + in * tanh(pre[2 * l->h + j]);
        h[j] = out * tanh(c[j]);
    }
}

static int sign_of(int64_t i) { return (i * 2654435761u >> 13 & 1) ? 1 : -1; }

typedef struct scratch {
    double *x, *h, *c, *pre;
} scratch;

/* Run sample n in double precision, with its inputs shifted by `by` along a fixed direction. If `compare`, returns how
   many results differ from the library's. If `loss` is not NULL, adds the results weighted by their gradients to it. */
static int64_t run_sample(const layer *l, float *const *o, int64_t n, double by, const scratch *r, bool compare,
                          double *loss)
{
    int64_t wrong = 0;
    for (int64_t j = 0; j < l->h; j++) {
        r->h[j] = o[H0][n * l->h + j];
        r->c[j] = o[C0][n * l->h + j];
    }
    for (int64_t t = 0; t < l->t; t++) {
        for (int64_t k = 0; k < l->i; k++) r->x[k] = o[SRC][(t * l->n + n) * l->i + k] + by * sign_of(t * l->i + k);
        step(l, o, r->x, r->h, r->c, r->pre);
        for (int64_t j = 0; j < l->h; j++) {
            int64_t at = (t * l->n + n) * l->h + j;
            if (compare) wrong += cm__differs(o[DST][at], r->h[j], 10);
            if (loss) *loss += r->h[j] * o[D_SRC + DST][at];
        }
    }
    for (int64_t j = 0; loss && j < l->h; j++)
        *loss += r->h[j] * o[D_SRC + HN][n * l->h + j] + r->c[j] * o[D_SRC + CN][n * l->h + j];
    return wrong;
}

static bool make_scratch(const layer *l, scratch *r)
{
    double *all = calloc((size_t)(l->i + 6 * l->h), sizeof *all);
    *r = (scratch){all, all + l->i, all + l->i + l->h, all + l->i + 2 * l->h};
    return all != NULL;
}

static int64_t check_forward(cm__cpu_case *c, float *const *o, float *const *before)
{
    layer l = layer_of(&c->call);
    scratch  r;
    (void)before;
    if (!make_scratch(&l, &r)) return 1;
    int64_t wrong = run_sample(&l, o, 0, 0, &r, true, NULL);
    if (l.n > 1) wrong += run_sample(&l, o, l.n - 1, 0, &r, true, NULL);
    free(r.x);
    return wrong;
}

#define DELTA 1e-4

/* Compare one sample's input gradient along a direction with the finite difference of two forward runs. */
static int64_t check_backward(cm__cpu_case *c, float *const *o, float *const *before)
{
    layer  l = layer_of(&c->call);
    scratch   r;
    double up = 0, down = 0, got = 0, size = 0;
    (void)before;
    if (!make_scratch(&l, &r)) return 1;
    run_sample(&l, o, l.n - 1, DELTA, &r, false, &up);
    run_sample(&l, o, l.n - 1, -DELTA, &r, false, &down);
    for (int64_t t = 0; t < l.t; t++)
        for (int64_t k = 0; k < l.i; k++) {
            double g = o[D_SRC + SRC][(t * l.n + l.n - 1) * l.i + k];
            got += g * sign_of(t * l.i + k);
            size += fabs(g);
        }
    free(r.x);
    return cm__differs(got, (up - down) / (2 * DELTA), 20 * size);
}

const cm__cpu_op cm__cpu_ops_lstm[] = {
    {"rnn", "forward", takes, operands, setup, teardown, run_forward, check_forward, 1},
    {"rnn", "backward", takes, operands, setup, teardown, run_backward, check_backward, 1},
    {0},
};
