/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - pooling with cuDNN, forward and backward. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/backends/cuda/planes.h"

typedef struct planes {
    cm__cuda  *cu;
    bool       channels_last, backward, average;
    int64_t    n, c, h, w, out_h, out_w;
    int        window, stride, pad;
    dnn_object x_desc, y_desc, pooling;
    int        x, y, dy, dx;
} planes;

static void release(void *object)
{
    planes *s = object;
    if (s->pooling) s->cu->cudnn.cudnnDestroyPoolingDescriptor(s->pooling);
    if (s->x_desc) s->cu->cudnn.cudnnDestroyTensorDescriptor(s->x_desc);
    if (s->y_desc) s->cu->cudnn.cudnnDestroyTensorDescriptor(s->y_desc);
}

static void *at(const cm__cuda_case *c, int operand, int64_t copy)
{
    return (void *)(uintptr_t)cm__cuda_address(c, operand, copy);
}

static int64_t place(const planes *s, int64_t n, int64_t channel, int64_t pixel, int64_t pixels)
{
    return s->channels_last ? (n * pixels + pixel) * s->c + channel : (n * s->c + channel) * pixels + pixel;
}

static bool pool_sizes(planes *s, const int64_t *d)
{
    if (d[0] < 1 || d[1] < 1 || d[2] < 1 || d[3] < 1 || d[4] < 1 || d[5] < 1 || d[4] > 4096 || d[5] > 4096 ||
        2 * d[6] > d[4])
        return false;
    s->h = d[2];
    s->w = d[3];
    s->window = (int)d[4];
    s->stride = (int)d[5];
    s->pad = (int)d[6];
    s->out_h = (s->h + 2 * s->pad - s->window) / s->stride + 1;
    s->out_w = (s->w + 2 * s->pad - s->window) / s->stride + 1;
    return s->h + 2 * s->pad >= s->window && s->w + 2 * s->pad >= s->window;
}

bool cm__cuda_pool_known(const cm_call *call)
{
    planes s;
    return pool_sizes(&s, call->dims);
}

void cm__cuda_pool_declare(cm__cuda_case *c)
{
    planes *s = c->data = cm__alloc(c->ctx, sizeof *s);
    s->cu = c->cu;
    s->channels_last = strstr(c->call.variant, "nhwc") != NULL;
    s->backward = strcmp(c->call.pass, "backward") == 0;
    s->n = c->call.dims[0];
    s->c = c->call.dims[1];
    cm__defer(c->ctx, release, s);
    if (!pool_sizes(s, c->call.dims)) cm__fail(c->ctx, CM_ERR_ARGUMENT, "the sizes make no pooling");
    s->average = strncmp(c->call.variant, "avg", 3) == 0;
    int64_t in = s->n * s->c * s->h * s->w, out = s->n * s->c * s->out_h * s->out_w;
    s->x = cm__cuda_operand(c, c->type, in, FILL_RANDOM);
    s->y = cm__cuda_operand(c, c->type, out, FILL_ZERO);
    if (!s->backward) return;
    s->dy = cm__cuda_operand(c, c->type, out, FILL_RANDOM);
    s->dx = cm__cuda_operand(c, c->type, in, FILL_ZERO);
}

static int pool_forward(cm__cuda_case *c, int64_t copy)
{
    const planes *s = c->data;
    float         one = 1, zero = 0;
    int status = c->cu->cudnn.cudnnPoolingForward(c->cu->dnn, s->pooling, &one, s->x_desc, at(c, s->x, copy), &zero,
                                                  s->y_desc, at(c, s->y, copy));
    return status ? cm__cuda_failed(c, "cudnnPoolingForward", c->cu->cudnn.cudnnGetErrorString(status)) : 0;
}

int cm__cuda_pool_call(cm__cuda_case *c, int64_t copy)
{
    const planes *s = c->data;
    float         one = 1, zero = 0;
    if (!s->backward) return pool_forward(c, copy);
    int status = c->cu->cudnn.cudnnPoolingBackward(c->cu->dnn, s->pooling, &one, s->y_desc, at(c, s->y, copy),
                                                   s->y_desc, at(c, s->dy, copy), s->x_desc, at(c, s->x, copy), &zero,
                                                   s->x_desc, at(c, s->dx, copy));
    return status ? cm__cuda_failed(c, "cudnnPoolingBackward", c->cu->cudnn.cudnnGetErrorString(status)) : 0;
}

void cm__cuda_pool_setup(cm__cuda_case *c)
{
    planes *s = c->data;
    s->x_desc = cm__cudnn_image(c, cm__types[c->type].cudnn, s->channels_last, s->n, s->c, s->h, s->w);
    s->y_desc = cm__cudnn_image(c, cm__types[c->type].cudnn, s->channels_last, s->n, s->c, s->out_h, s->out_w);
    DNN(c, cudnnCreatePoolingDescriptor, &s->pooling);
    DNN(c, cudnnSetPooling2dDescriptor, s->pooling, s->average ? DNN_POOL_AVERAGE : DNN_POOL_MAX, DNN_NAN_PROPAGATE,
        s->window, s->window, s->pad, s->pad, s->stride, s->stride);
    snprintf(c->algorithm, sizeof c->algorithm, "cuDNN");
    for (int64_t copy = 0; s->backward && copy < c->copies; copy++)
        if (pool_forward(c, copy)) cm__cuda_fail_case(c);
    if (s->backward) c->operands[s->y].fill = FILL_NONE;
}

/* The average or maximum of a window; `ties`: how often the maximum occurs in it. */
static double window_at(cm__cuda_case *c, int64_t n, int64_t k, int64_t oh, int64_t ow, int *ties)
{
    const planes *s = c->data;
    double        total = 0, most = -INFINITY;
    for (int64_t i = 0; i < (int64_t)s->window * s->window; i++) {
        int64_t h = oh * s->stride - s->pad + i / s->window, w = ow * s->stride - s->pad + i % s->window;
        if (h < 0 || w < 0 || h >= s->h || w >= s->w) continue;
        double x = cm__cuda_value(c, s->x, place(s, n, k, h * s->w + w, s->h * s->w));
        *ties = x > most ? 1 : *ties + (x == most);
        most = fmax(most, x);
        total += x;
    }
    return s->average ? total / ((double)s->window * s->window) : most;
}

/* The gradient of an input, summed over its windows. NAN: a window has equal maxima, and any of them may be used. */
static double gradient_at(cm__cuda_case *c, int64_t n, int64_t k, int64_t h, int64_t w)
{
    const planes *s = c->data;
    double        total = 0, x = cm__cuda_value(c, s->x, place(s, n, k, h * s->w + w, s->h * s->w));
    for (int64_t oh = 0; oh < s->out_h; oh++)
        for (int64_t ow = 0; ow < s->out_w; ow++) {
            int64_t top = oh * s->stride - s->pad, left = ow * s->stride - s->pad;
            if (h < top || w < left || h >= top + s->window || w >= left + s->window) continue;
            int    ties = 0;
            double d = cm__cuda_value(c, s->dy, place(s, n, k, oh * s->out_w + ow, s->out_h * s->out_w));
            double most = window_at(c, n, k, oh, ow, &ties);
            if (s->average)
                total += d / ((double)s->window * s->window);
            else if (x == most && ties > 1)
                return NAN;
            else if (x == most)
                total += d;
        }
    return total;
}

int64_t cm__cuda_pool_check(cm__cuda_case *c)
{
    const planes *s = c->data;
    int64_t       h = s->backward ? s->h : s->out_h, w = s->backward ? s->w : s->out_w, total = s->n * s->c * h * w;
    int64_t       n = cm__cuda_samples((s->backward ? s->out_h * s->out_w : 1) + (int64_t)s->window * s->window, total),
            wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t flat = cm__cuda_sample(c, i, n, total), pixel = flat % (h * w), k = flat / (h * w) % s->c,
                image = flat / (h * w) / s->c;
        int    ties = 0;
        double want = s->backward ? gradient_at(c, image, k, pixel / w, pixel % w)
                                  : window_at(c, image, k, pixel / w, pixel % w, &ties);
        if (isnan(want)) continue;
        wrong += cm__cuda_wrong(c->type,
                                cm__cuda_result(c, s->backward ? s->dx : s->y, place(s, image, k, pixel, h * w)), want,
                                cm__types[c->type].round_off * 4 * (s->backward ? 4 : 1));
    }
    return wrong;
}
