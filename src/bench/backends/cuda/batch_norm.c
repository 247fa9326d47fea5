/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm.c - batch normalisation in training with cuDNN, forward and backward. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/backends/cuda/planes.h"

#define EPSILON 1e-5

typedef struct planes {
    cm__cuda  *cu;
    bool       channels_last, backward;
    int64_t    n, c, h, w;
    int        mode;
    dnn_object x_desc, params;
    int        x, y, dy, dx, scale, bias, d_scale, d_bias, mean, deviation, running_mean, running_variance;
    cu_address workspace, reserve;
    size_t     workspace_bytes, reserve_bytes;
} planes;

static void release(void *object)
{
    planes *s = object;
    if (s->x_desc) s->cu->cudnn.cudnnDestroyTensorDescriptor(s->x_desc);
    if (s->params) s->cu->cudnn.cudnnDestroyTensorDescriptor(s->params);
    if (s->workspace) s->cu->driver.cuMemFree(s->workspace);
    if (s->reserve) s->cu->driver.cuMemFree(s->reserve);
}

static void *at(const cm__cuda_case *c, int operand, int64_t copy)
{
    return (void *)(uintptr_t)cm__cuda_address(c, operand, copy);
}

static int64_t place(const planes *s, int64_t n, int64_t channel, int64_t pixel, int64_t pixels)
{
    return s->channels_last ? (n * pixels + pixel) * s->c + channel : (n * s->c + channel) * pixels + pixel;
}

void cm__cuda_batch_norm_declare(cm__cuda_case *c)
{
    planes *s = c->data = cm__alloc(c->ctx, sizeof *s);
    s->cu = c->cu;
    s->channels_last = strstr(c->call.variant, "nhwc") != NULL;
    s->backward = strcmp(c->call.pass, "backward") == 0;
    s->n = c->call.dims[0];
    s->c = c->call.dims[1];
    cm__defer(c->ctx, release, s);
    s->h = c->call.dims[2];
    s->w = 1;
    s->mode = s->channels_last ? DNN_BN_PERSISTENT : DNN_BN_SPATIAL; /* as PyTorch chooses */
    int64_t all = s->n * s->c * s->h;
    s->x = cm__cuda_operand(c, c->type, all, FILL_RANDOM);
    s->y = cm__cuda_operand(c, c->type, all, FILL_ZERO);
    s->scale = cm__cuda_operand(c, TYPE_FP32, s->c, FILL_RANDOM);
    s->bias = cm__cuda_operand(c, TYPE_FP32, s->c, FILL_RANDOM);
    s->running_mean = cm__cuda_operand(c, TYPE_FP32, s->c, FILL_ZERO);
    s->running_variance = cm__cuda_operand(c, TYPE_FP32, s->c, FILL_ONE);
    s->mean = cm__cuda_operand(c, TYPE_FP32, s->c, FILL_NONE);
    s->deviation = cm__cuda_operand(c, TYPE_FP32, s->c, FILL_NONE);
    for (int i = s->scale; i <= s->deviation; i++) c->operands[i].shared = true;
    if (!s->backward) return;
    s->dy = cm__cuda_operand(c, c->type, all, FILL_RANDOM);
    s->dx = cm__cuda_operand(c, c->type, all, FILL_ZERO);
    s->d_scale = cm__cuda_operand(c, TYPE_FP32, s->c, FILL_ZERO);
    s->d_bias = cm__cuda_operand(c, TYPE_FP32, s->c, FILL_ZERO);
    c->operands[s->d_scale].shared = c->operands[s->d_bias].shared = true;
}

static int batch_norm_forward(cm__cuda_case *c, int64_t copy)
{
    const planes *s = c->data;
    float         one = 1, zero = 0;
    void         *workspace = (void *)(uintptr_t)s->workspace, *reserve = (void *)(uintptr_t)s->reserve;
    int           status = c->cu->cudnn.cudnnBatchNormalizationForwardTrainingEx(
        c->cu->dnn, s->mode, 0, &one, &zero, s->x_desc, at(c, s->x, copy), NULL, NULL, s->x_desc, at(c, s->y, copy),
        s->params, at(c, s->scale, 0), at(c, s->bias, 0), 0.1, at(c, s->running_mean, 0),
        at(c, s->running_variance, 0), EPSILON, at(c, s->mean, 0), at(c, s->deviation, 0), NULL, workspace,
        s->workspace_bytes, reserve, s->reserve_bytes);
    return status ? cm__cuda_failed(c, "cudnnBatchNormalizationForwardTrainingEx",
                                    c->cu->cudnn.cudnnGetErrorString(status))
                  : 0;
}

static int batch_norm_backward(cm__cuda_case *c, int64_t copy)
{
    const planes *s = c->data;
    float         one = 1, zero = 0;
    int           status = c->cu->cudnn.cudnnBatchNormalizationBackwardEx(
                  c->cu->dnn, s->mode, 0, &one, &zero, &one, &zero, s->x_desc, at(c, s->x, copy), NULL, NULL, s->x_desc,
                  at(c, s->dy, copy), NULL, NULL, s->x_desc, at(c, s->dx, copy), s->params, at(c, s->scale, 0), NULL,
                  at(c, s->d_scale, 0), at(c, s->d_bias, 0), EPSILON, at(c, s->mean, 0), at(c, s->deviation, 0), NULL,
                  (void *)(uintptr_t)s->workspace, s->workspace_bytes, (void *)(uintptr_t)s->reserve, s->reserve_bytes);
    return status ? cm__cuda_failed(c, "cudnnBatchNormalizationBackwardEx", c->cu->cudnn.cudnnGetErrorString(status))
                  : 0;
}

/* Backward reads the statistics that forward stores. They are the same for all copies. */
void cm__cuda_batch_norm_setup(cm__cuda_case *c)
{
    planes *s = c->data;
    size_t  bytes = 0;
    s->x_desc = cm__cudnn_image(c, cm__types[c->type].cudnn, s->channels_last, s->n, s->c, s->h, s->w);
    s->params = cm__cudnn_image(c, DNN_FP32, false, 1, s->c, 1, 1);
    DNN(c, cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize, c->cu->dnn, s->mode, 0, s->x_desc, NULL, s->x_desc,
        s->params, NULL, &s->workspace_bytes);
    DNN(c, cudnnGetBatchNormalizationBackwardExWorkspaceSize, c->cu->dnn, s->mode, 0, s->x_desc, NULL, s->x_desc, NULL,
        s->x_desc, s->params, NULL, &bytes);
    DNN(c, cudnnGetBatchNormalizationTrainingExReserveSpaceSize, c->cu->dnn, s->mode, 0, NULL, s->x_desc,
        &s->reserve_bytes);
    if (bytes > s->workspace_bytes) s->workspace_bytes = bytes;
    if (s->workspace_bytes)
        cm__cuda_need(c->ctx, c->cu, c->cu->driver.cuMemAlloc(&s->workspace, s->workspace_bytes),
                      "cuMemAlloc of the workspace");
    if (s->reserve_bytes)
        cm__cuda_need(c->ctx, c->cu, c->cu->driver.cuMemAlloc(&s->reserve, s->reserve_bytes),
                      "cuMemAlloc of the reserve");
    snprintf(c->algorithm, sizeof c->algorithm, "cuDNN: %s",
             s->mode == DNN_BN_PERSISTENT ? "spatial, persistent" : "spatial");
    if (s->backward && batch_norm_forward(c, 0)) cm__cuda_fail_case(c);
}

int cm__cuda_batch_norm_call(cm__cuda_case *c, int64_t copy)
{
    return ((planes *)c->data)->backward ? batch_norm_backward(c, copy) : batch_norm_forward(c, copy);
}

typedef struct channel {
    double mean, scale, sum, product; /* sum of dy; sum of dy times normalised x */
} channel;

static channel channel_of(cm__cuda_case *c, int64_t k)
{
    const planes *s = c->data;
    double        count = (double)(s->n * s->h), sum = 0, squares = 0;
    channel       r = {0, 0, 0, 0};
    for (int64_t i = 0; i < s->n * s->h; i++) {
        double x = cm__cuda_value(c, s->x, place(s, i / s->h, k, i % s->h, s->h));
        sum += x;
        squares += x * x;
    }
    r.mean = sum / count;
    r.scale = 1 / sqrt(squares / count - r.mean * r.mean + EPSILON);
    for (int64_t i = 0; s->backward && i < s->n * s->h; i++) {
        int64_t index = place(s, i / s->h, k, i % s->h, s->h);
        double  d = cm__cuda_value(c, s->dy, index);
        r.sum += d;
        r.product += d * (cm__cuda_value(c, s->x, index) - r.mean) * r.scale;
    }
    return r;
}

static int64_t check_channel(cm__cuda_case *c, int64_t k)
{
    const planes *s = c->data;
    channel       r = channel_of(c, k);
    double        count = (double)(s->n * s->h), scale = cm__cuda_value(c, s->scale, k);
    int64_t       wrong = 0;
    for (int64_t i = 0; i < 16; i++) {
        int64_t pixel = cm__cuda_sample(c, i, 16, s->n * s->h), index = place(s, pixel / s->h, k, pixel % s->h, s->h);
        double  normal = (cm__cuda_value(c, s->x, index) - r.mean) * r.scale,
               want = normal * scale + cm__cuda_value(c, s->bias, k);
        if (s->backward)
            want = scale * r.scale * (cm__cuda_value(c, s->dy, index) - r.sum / count - normal * r.product / count);
        wrong += cm__cuda_wrong(c->type, cm__cuda_result(c, s->backward ? s->dx : s->y, index), want,
                                1e-3 * (fabs(want) + 0.1));
    }
    if (!s->backward) return wrong;
    double slack = 1e-3 * sqrt(count) + 1e-3;
    return wrong + cm__cuda_wrong(TYPE_FP32, cm__cuda_result(c, s->d_scale, k), r.product, slack) +
           cm__cuda_wrong(TYPE_FP32, cm__cuda_result(c, s->d_bias, k), r.sum, slack);
}

int64_t cm__cuda_batch_norm_check(cm__cuda_case *c)
{
    const planes *s = c->data;
    int64_t       n = cm__cuda_samples(s->n * s->h * (s->backward ? 3 : 1), s->c < 8 ? s->c : 8), wrong = 0;
    for (int64_t i = 0; i < n; i++) wrong += check_channel(c, cm__cuda_sample(c, i, n, s->c));
    return wrong;
}
