/* SPDX-License-Identifier: Apache-2.0 */
/* group_norm.c - group normalisation, forward and backward; our own kernels. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/backends/cuda/ops.h"

#define EPSILON 1e-5
#define THREADS 256
#define SHARES 64

typedef struct images {
    bool    last, backward;
    int64_t n, c, pixels, each, groups;
    int     x, y, dy, dx, gain, bias, d_gain, d_bias, mean, scale, parts, channel_parts;
} images;

static cu_function kernel(cm__cuda_case *c, const char *name)
{
    const images *s = c->data;
    char          defines[96];
    snprintf(defines, sizeof defines, "-DTYPE_T=%s -DLAST=%d -DNEAREST=0", cm__types[c->type].device, s->last);
    return cm__cuda_kernel(c->ctx, c->cu, "images.cu", name, defines);
}

static int64_t place(const images *s, int64_t n, int64_t channel, int64_t pixel, int64_t pixels)
{
    return s->last ? (n * pixels + pixel) * s->c + channel : (n * s->c + channel) * pixels + pixel;
}

bool cm__cuda_group_norm_known(const cm_call *call)
{
    return call->dims[1] % call->dims[3] == 0 && call->dims[0] * call->dims[3] <= 65535;
}

void cm__cuda_group_norm_declare(cm__cuda_case *c)
{
    images *s = c->data = cm__alloc(c->ctx, sizeof *s);
    s->last = strstr(c->call.variant, "nhwc") != NULL;
    s->backward = strcmp(c->call.pass, "backward") == 0;
    s->n = c->call.dims[0];
    s->c = c->call.dims[1];
    s->pixels = c->call.dims[2];
    s->groups = c->call.dims[3];
    s->each = s->c / s->groups;
    int64_t all = s->n * s->c * s->pixels;
    s->x = cm__cuda_operand(c, c->type, all, FILL_RANDOM);
    s->y = cm__cuda_operand(c, c->type, all, FILL_ZERO);
    s->gain = cm__cuda_shared(c, c->type, s->c, FILL_RANDOM);
    s->bias = cm__cuda_shared(c, c->type, s->c, FILL_RANDOM);
    s->mean = cm__cuda_operand(c, TYPE_FP32, s->n * s->groups, FILL_ZERO);
    s->scale = cm__cuda_operand(c, TYPE_FP32, s->n * s->groups, FILL_ZERO);
    s->parts = cm__cuda_shared(c, TYPE_FP32, s->n * s->groups * SHARES * 2, FILL_NONE);
    if (!s->backward) return;
    s->dy = cm__cuda_operand(c, c->type, all, FILL_RANDOM);
    s->dx = cm__cuda_operand(c, c->type, all, FILL_ZERO);
    s->d_gain = cm__cuda_shared(c, c->type, s->c, FILL_ZERO);
    s->d_bias = cm__cuda_shared(c, c->type, s->c, FILL_ZERO);
    s->channel_parts = cm__cuda_shared(c, TYPE_FP32, SHARES * 2 * s->c, FILL_NONE);
}

static cm__launch *by_group(cm__cuda_case *c, const char *name)
{
    const images *s = c->data;
    int64_t       work = s->each * s->pixels / (4 * THREADS) + 1, room = c->cu->processors * 8 / (s->n * s->groups) + 1;
    int64_t       shares = work < room ? work : room;
    return cm__cuda_add_launch(c, kernel(c, name), shares < SHARES ? shares : SHARES, s->n * s->groups, THREADS);
}

static void group_sizes(cm__cuda_case *c, cm__launch *l)
{
    const images *s = c->data;
    cm__cuda_arg_int(l, s->c);
    cm__cuda_arg_int(l, s->each);
    cm__cuda_arg_int(l, s->pixels);
}

static void plan_group_forward(cm__cuda_case *c)
{
    const images *s = c->data;
    cm__launch   *l = by_group(c, "group_sums");
    OPERANDS(l, s->x, s->parts);
    group_sizes(c, l);
    l = by_group(c, "group_forward");
    OPERANDS(l, s->x, s->gain, s->bias, s->parts, s->y, s->mean, s->scale);
    group_sizes(c, l);
}

static void plan_group_channels(cm__cuda_case *c)
{
    const images *s = c->data;
    int64_t       blocks = s->last ? (s->c + THREADS - 1) / THREADS : s->c, room = c->cu->processors * 8 / blocks + 1;
    int64_t       work = s->last ? s->n * s->pixels / 16 + 1 : s->n * s->pixels / (4 * THREADS) + 1,
            shares = work < room ? work : room;
    shares = shares < SHARES ? shares : SHARES;
    cm__launch *l = cm__cuda_add_launch(c, kernel(c, "group_channels"), blocks, shares, THREADS);
    OPERANDS(l, s->dy, s->x, s->mean, s->scale, s->channel_parts);
    cm__cuda_arg_int(l, s->n);
    group_sizes(c, l);
    l = cm__cuda_add_launch(c, kernel(c, "group_channels_end"), (s->c + THREADS - 1) / THREADS, 1, THREADS);
    OPERANDS(l, s->channel_parts, s->d_gain, s->d_bias);
    cm__cuda_arg_int(l, shares);
    cm__cuda_arg_int(l, s->c);
}

void cm__cuda_group_norm_setup(cm__cuda_case *c)
{
    images *s = c->data;
    plan_group_forward(c);
    if (!s->backward) return;
    for (int64_t copy = 0; copy < c->copies; copy++)
        if (cm__cuda_launch_all(c, copy)) cm__cuda_fail_case(c);
    c->operands[s->mean].fill = c->operands[s->scale].fill = FILL_NONE;
    c->n_launches = 0;
    cm__launch *l = by_group(c, "group_backward_sums");
    OPERANDS(l, s->dy, s->x, s->gain, s->mean, s->scale, s->parts);
    group_sizes(c, l);
    l = by_group(c, "group_backward");
    OPERANDS(l, s->dy, s->x, s->gain, s->mean, s->scale, s->parts, s->dx);
    group_sizes(c, l);
    plan_group_channels(c);
}

/* Iterates over the elements of a group. */
static int64_t member(const images *s, int64_t image, int64_t group, int64_t i)
{
    return place(s, image, group * s->each + i / s->pixels, i % s->pixels, s->pixels);
}

static double group_at(cm__cuda_case *c, int64_t image, int64_t channel, int64_t index)
{
    const images *s = c->data;
    int64_t       group = channel / s->each;
    double        count = (double)(s->each * s->pixels), sum = 0, squares = 0, d_sum = 0, product = 0,
           gain = cm__cuda_value(c, s->gain, channel);
    for (int64_t i = 0; i < s->each * s->pixels; i++) {
        double x = cm__cuda_value(c, s->x, member(s, image, group, i));
        sum += x;
        squares += x * x;
    }
    double mean = sum / count, scale = 1 / sqrt(squares / count - mean * mean + EPSILON),
           normal = (cm__cuda_value(c, s->x, index) - mean) * scale;
    if (!s->backward) return normal * gain + cm__cuda_value(c, s->bias, channel);
    for (int64_t i = 0; i < s->each * s->pixels; i++) {
        int64_t at = member(s, image, group, i);
        double  d = cm__cuda_value(c, s->dy, at) * cm__cuda_value(c, s->gain, group * s->each + i / s->pixels);
        d_sum += d;
        product += d * (cm__cuda_value(c, s->x, at) - mean) * scale;
    }
    return scale * (cm__cuda_value(c, s->dy, index) * gain - d_sum / count - normal * product / count);
}

static int64_t check_channels(cm__cuda_case *c)
{
    const images *s = c->data;
    int64_t       n = cm__cuda_samples(s->n * s->pixels * 2, s->c), wrong = 0;
    double       *mean = cm__alloc_array(c->ctx, (size_t)(s->n * s->groups), sizeof *mean),
           *scale = cm__alloc_array(c->ctx, (size_t)(s->n * s->groups), sizeof *scale);
    cm__cuda_read(c, s->mean, 0, s->n * s->groups, mean);
    cm__cuda_read(c, s->scale, 0, s->n * s->groups, scale);
    for (int64_t k = 0; k < n; k++) {
        int64_t channel = cm__cuda_sample(c, k, n, s->c);
        double  gain = 0, bias = 0, slack = 1e-4 * sqrt((double)(s->n * s->pixels)) + 1e-4;
        for (int64_t i = 0; i < s->n * s->pixels; i++) {
            int64_t at = place(s, i / s->pixels, channel, i % s->pixels, s->pixels),
                    g = i / s->pixels * s->groups + channel / s->each;
            double d = cm__cuda_value(c, s->dy, at);
            bias += d;
            gain += d * (cm__cuda_value(c, s->x, at) - mean[g]) * scale[g];
        }
        wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, s->d_gain, channel), gain, slack);
        wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, s->d_bias, channel), bias, slack);
    }
    return wrong;
}

int64_t cm__cuda_group_norm_check(cm__cuda_case *c)
{
    const images *s = c->data;
    int64_t total = s->n * s->c * s->pixels, n = cm__cuda_samples(s->each * s->pixels * (s->backward ? 4 : 1), total),
            wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t flat = cm__cuda_sample(c, i, n, total), pixel = flat % s->pixels, channel = flat / s->pixels % s->c,
                image = flat / s->pixels / s->c;
        int64_t index = place(s, image, channel, pixel, s->pixels);
        double  want = group_at(c, image, channel, index);
        wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, s->backward ? s->dx : s->y, index), want,
                                1e-4 * (fabs(want) + 0.1));
    }
    return wrong + (s->backward ? check_channels(c) : 0);
}
