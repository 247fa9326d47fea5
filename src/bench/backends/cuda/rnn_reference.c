/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_reference.c - host reference of a recurrent network for one batch element: forward, and backward through the
   last steps. */
#include <math.h>
#include <string.h>

#include "bench/backends/cuda/rnn.h"

#define LAST_STEPS 4
#define MOST_GATES 4

/* One layer and direction: transposed weights, so that loops run along the hidden state, and the data for backward. */
typedef struct layer {
    int64_t in, hidden, seq;
    float  *w[MOST_GATES], *u[MOST_GATES]; /* [in][hidden], [hidden][hidden] */
    float  *bw[MOST_GATES], *bu[MOST_GATES];
    float  *gates; /* [seq][gates][hidden], after the activation functions */
    float  *cells; /* LSTM: c; GRU: the new gate's part of the state, before the reset gate */
    float  *out;   /* [seq][hidden] */
} layer;

static float *floats(cm__cuda_case *c, int64_t count)
{
    return cm__alloc_array(c->ctx, (size_t)count, sizeof(float));
}

static float *turned(cm__cuda_case *c, int64_t first, int64_t rows, int64_t columns)
{
    const cm__cuda_rnn *r = c->data;
    float              *to = floats(c, rows * columns);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++)
            to[k * rows + i] = (float)cm__cuda_value(c, r->weights, first + i * columns + k);
    return to;
}

static void load(cm__cuda_case *c, layer *l, int64_t index, int direction)
{
    const cm__cuda_rnn *r = c->data;
    int64_t             matrix, bias;
    for (int g = 0; g < r->gates; g++) {
        cm__cuda_rnn_weight(c, index, direction, g, &matrix, &bias);
        l->w[g] = turned(c, matrix, l->hidden, l->in);
        l->bw[g] = turned(c, bias, l->hidden, 1);
        cm__cuda_rnn_weight(c, index, direction, g + r->gates, &matrix, &bias);
        l->u[g] = turned(c, matrix, l->hidden, l->hidden);
        l->bu[g] = turned(c, bias, l->hidden, 1);
    }
    l->gates = floats(c, l->seq * r->gates * l->hidden);
    l->cells = floats(c, l->seq * l->hidden);
    l->out = floats(c, l->seq * l->hidden);
}

static void multiply(float *restrict to, const float *restrict bias, const float *restrict weights,
                     const float *restrict x, int64_t in, int64_t hidden)
{
    memcpy(to, bias, (size_t)hidden * sizeof *to);
    for (int64_t k = 0; x && k < in; k++)
        for (int64_t i = 0; i < hidden; i++) to[i] += weights[k * hidden + i] * x[k];
}

/* The transposed product, added: to[k] += sum over i of weights[k][i] d[i]. */
static void multiply_back(float *restrict to, const float *restrict weights, const float *restrict d, int64_t in,
                          int64_t hidden)
{
    for (int64_t k = 0; k < in; k++) {
        float sum = 0;
        for (int64_t i = 0; i < hidden; i++) sum += weights[k * hidden + i] * d[i];
        to[k] += sum;
    }
}

static float sigma(float x)
{
    return 1 / (1 + expf(-x));
}

/* z: the gates' sums over the input and over the state, separately; [gates][hidden] each. */
static void cell_forward(cm__cuda_cell cell, const layer *l, const float *zx, const float *zh, const float *c_before,
                         const float *h_before, float *gates, float *c, float *h)
{
    int64_t n = l->hidden;
    for (int64_t i = 0; i < n; i++) {
        if (cell == CELL_RNN) {
            h[i] = gates[i] = tanhf(zx[i] + zh[i]);
        } else if (cell == CELL_LSTM) { /* in, forget, new, out */
            for (int g = 0; g < 4; g++)
                gates[g * n + i] = g == 2 ? tanhf(zx[g * n + i] + zh[g * n + i]) : sigma(zx[g * n + i] + zh[g * n + i]);
            c[i] = gates[n + i] * (c_before ? c_before[i] : 0) + gates[i] * gates[2 * n + i];
            h[i] = gates[3 * n + i] * tanhf(c[i]);
        } else { /* reset, update, new */
            for (int g = 0; g < 2; g++) gates[g * n + i] = sigma(zx[g * n + i] + zh[g * n + i]);
            c[i] = zh[2 * n + i];
            gates[2 * n + i] = tanhf(zx[2 * n + i] + gates[i] * c[i]);
            h[i] = (1 - gates[n + i]) * gates[2 * n + i] + gates[n + i] * (h_before ? h_before[i] : 0);
        }
    }
}

static void layer_forward(cm__cuda_case *c, layer *l, const float *x, bool reversed, int64_t steps)
{
    const cm__cuda_rnn *r = c->data;
    float              *zx = floats(c, r->gates * l->hidden), *zh = floats(c, r->gates * l->hidden);
    for (int64_t s = 0; s < steps; s++) {
        int64_t      t = reversed ? l->seq - 1 - s : s, before = reversed ? t + 1 : t - 1;
        const float *h_before = s ? l->out + before * l->hidden : NULL,
                    *c_before = s ? l->cells + before * l->hidden : NULL;
        for (int g = 0; g < r->gates; g++) {
            multiply(zx + g * l->hidden, l->bw[g], l->w[g], x + t * l->in, l->in, l->hidden);
            multiply(zh + g * l->hidden, l->bu[g], l->u[g], h_before, l->hidden, l->hidden);
        }
        cell_forward(r->cell, l, zx, zh, c_before, h_before, l->gates + t * r->gates * l->hidden,
                     l->cells + t * l->hidden, l->out + t * l->hidden);
    }
}

/* Gradients of the gates' sums: dx of those over the input, dh of those over the state. They differ for GRU. */
static void cell_backward(cm__cuda_cell cell, const layer *l, int64_t t, const float *dh, float *dc, float *zx,
                          float *zh, float *dh_before)
{
    int64_t      n = l->hidden;
    const float *g = l->gates + t * n * (cell == CELL_LSTM ? 4 : cell == CELL_GRU ? 3 : 1), *c = l->cells + t * n;
    for (int64_t i = 0; i < n; i++) {
        dh_before[i] = 0;
        if (cell == CELL_RNN) {
            zx[i] = zh[i] = dh[i] * (1 - g[i] * g[i]);
        } else if (cell == CELL_LSTM) {
            float tc = tanhf(c[i]), d = dc[i] + dh[i] * g[3 * n + i] * (1 - tc * tc),
                  before = t ? l->cells[(t - 1) * n + i] : 0;
            zx[i] = d * g[2 * n + i] * g[i] * (1 - g[i]);
            zx[n + i] = d * before * g[n + i] * (1 - g[n + i]);
            zx[2 * n + i] = d * g[i] * (1 - g[2 * n + i] * g[2 * n + i]);
            zx[3 * n + i] = dh[i] * tc * g[3 * n + i] * (1 - g[3 * n + i]);
            for (int k = 0; k < 4; k++) zh[k * n + i] = zx[k * n + i];
            dc[i] = d * g[n + i];
        } else {
            float before = t ? l->out[(t - 1) * n + i] : 0, fresh = g[2 * n + i], keep = g[n + i],
                  d = dh[i] * (1 - keep) * (1 - fresh * fresh);
            zx[i] = zh[i] = d * c[i] * g[i] * (1 - g[i]);
            zx[n + i] = zh[n + i] = dh[i] * (before - fresh) * keep * (1 - keep);
            zx[2 * n + i] = d;
            zh[2 * n + i] = d * g[i];
            dh_before[i] = dh[i] * keep;
        }
    }
}

/* dx of the last steps from dy of the same steps: [LAST_STEPS][...], last step first. */
static void layer_backward(cm__cuda_case *c, const layer *l, const float *dy, float *dx, int64_t steps)
{
    const cm__cuda_rnn *r = c->data;
    float              *dh = floats(c, l->hidden), *dc = floats(c, l->hidden), *next = floats(c, l->hidden);
    float              *zx = floats(c, r->gates * l->hidden), *zh = floats(c, r->gates * l->hidden);
    for (int64_t s = 0; s < steps; s++) {
        for (int64_t i = 0; i < l->hidden; i++) dh[i] = dy[s * l->hidden + i] + next[i];
        cell_backward(r->cell, l, l->seq - 1 - s, dh, dc, zx, zh, next);
        for (int g = 0; g < r->gates; g++) {
            multiply_back(dx + s * l->in, l->w[g], zx + g * l->hidden, l->in, l->hidden);
            multiply_back(next, l->u[g], zh + g * l->hidden, l->hidden, l->hidden);
        }
    }
}

/* Tolerance: rounding of the result, and of the state in each step, which adds up to a few roundings at a gate. */
static double slack_of(const cm__cuda_case *c)
{
    if (c->type == TYPE_FP32) return strcmp(c->call.dtype, "tf32") == 0 ? 0x1p-7 : 1e-4;
    return 8 * cm__types[c->type].round_off;
}

static int64_t check_forward(cm__cuda_case *c, int64_t element, const float *out, int64_t steps)
{
    const cm__cuda_rnn *r = c->data;
    int64_t             width = r->hidden * r->direction_count, n = cm__cuda_samples(1, steps * width), wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = cm__cuda_sample(c, i, n, steps * width), t = at / width;
        wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, r->y, (t * r->batch + element) * width + at % width),
                                (double)out[at], slack_of(c));
    }
    return wrong;
}

static int64_t check_backward(cm__cuda_case *c, int64_t element, layer *layers)
{
    const cm__cuda_rnn *r = c->data;
    int64_t steps = r->seq < LAST_STEPS ? r->seq : LAST_STEPS, n = cm__cuda_samples(1, steps * r->input), wrong = 0;
    float  *d = floats(c, steps * r->hidden);
    for (int64_t i = 0; i < steps * r->hidden; i++)
        d[i] = (float)cm__cuda_value(c, r->dy,
                                     ((r->seq - 1 - i / r->hidden) * r->batch + element) * r->hidden + i % r->hidden);
    for (int64_t k = r->layers - 1; k >= 0; k--) {
        float *dx = floats(c, steps * layers[k].in);
        layer_backward(c, &layers[k], d, dx, steps);
        d = dx;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t at = cm__cuda_sample(c, i, n, steps * r->input), t = r->seq - 1 - at / r->input;
        wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, r->dx, (t * r->batch + element) * r->input + at % r->input),
                                (double)d[at], slack_of(c));
    }
    return wrong;
}

/* Check only the first steps if all steps take too long; with one direction, they do not depend on later ones. */
static int64_t steps_of(const cm__cuda_rnn *r)
{
    double cost = cm__cuda_rnn_cost(r);
    if (r->direction_count == 2 || r->backward || cost <= RNN_MOST_COST) return r->seq;
    int64_t steps = (int64_t)((double)r->seq * RNN_MOST_COST / cost);
    return steps > 1 ? steps : 1;
}

int64_t cm__cuda_rnn_reference(cm__cuda_case *c)
{
    const cm__cuda_rnn *r = c->data;
    int64_t element = r->batch - 1, steps = steps_of(r), in = r->input, width = r->hidden * r->direction_count;
    layer  *layers = cm__alloc_array(c->ctx, (size_t)(r->layers * r->direction_count), sizeof *layers);
    float  *x = floats(c, r->seq * in);
    for (int64_t i = 0; i < r->seq * in; i++)
        x[i] = (float)cm__cuda_value(c, r->x, (i / in * r->batch + element) * in + i % in);
    for (int64_t k = 0; k < r->layers; k++) {
        float *out = floats(c, r->seq * width);
        for (int d = 0; d < r->direction_count; d++) {
            layer *l = &layers[k * r->direction_count + d];
            *l = (layer){.in = in, .hidden = r->hidden, .seq = r->seq};
            load(c, l, k, d);
            layer_forward(c, l, x, d == 1, steps);
            for (int64_t t = 0; t < r->seq; t++)
                memcpy(out + t * width + d * r->hidden, l->out + t * r->hidden, (size_t)r->hidden * sizeof *out);
        }
        x = out;
        in = width;
    }
    return r->backward ? check_backward(c, element, layers) : check_forward(c, element, x, steps);
}
