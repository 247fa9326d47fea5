/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.c - recurrent layers (LSTM, GRU, tanh) in training with cuDNN, forward and backward. */
#include "bench/backends/cuda/rnn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NO_LENGTHS_SINCE 8901 /* first version that needs no array of sequence lengths on the device */

static const struct {
    const char *name;
    int         mode, gates;
} cells[] = {
    [CELL_RNN] = {"rnn", DNN_RNN_TANH, 1}, [CELL_LSTM] = {"lstm", DNN_LSTM, 4}, [CELL_GRU] = {"gru", DNN_GRU, 3}};

static void release(void *object)
{
    cm__cuda_rnn    *r = object;
    const cm__cudnn *dnn = &r->cu->cudnn;
    if (r->rnn) dnn->cudnnDestroyRNNDescriptor(r->rnn);
    if (r->dropout) dnn->cudnnDestroyDropoutDescriptor(r->dropout);
    if (r->x_desc) dnn->cudnnDestroyRNNDataDescriptor(r->x_desc);
    if (r->y_desc) dnn->cudnnDestroyRNNDataDescriptor(r->y_desc);
    dnn_object tensors[] = {r->state, r->matrix, r->vector};
    for (int i = 0; i < 3; i++)
        if (tensors[i]) dnn->cudnnDestroyTensorDescriptor(tensors[i]);
    if (r->workspace) r->cu->driver.cuMemFree(r->workspace);
    if (r->reserve) r->cu->driver.cuMemFree(r->reserve);
}

bool cm__cuda_rnn_known(const cm_call *call)
{
    const int64_t *d = call->dims;
    for (int i = 0; i < 6; i++)
        if (d[i] < 1 || d[i] > 1 << 20) return false;
    return d[5] <= 2 && (d[5] == 1 || strcmp(call->pass, "forward") == 0);
}

double cm__cuda_rnn_cost(const cm__cuda_rnn *r)
{
    double widths = (double)(r->input + r->hidden) +
                    (double)(r->layers - 1) * (double)(r->hidden * r->direction_count + r->hidden);
    return (double)r->seq * r->direction_count * r->gates * (double)r->hidden * widths;
}

static void sizes(cm__cuda_case *c, cm__cuda_rnn *r)
{
    const int64_t *d = c->call.dims;
    *r = (cm__cuda_rnn){.cu = c->cu,
                        .backward = strcmp(c->call.pass, "backward") == 0,
                        .batch = d[0],
                        .seq = d[1],
                        .input = d[2],
                        .hidden = d[3],
                        .layers = d[4],
                        .direction_count = (int)d[5]};
    while (strcmp(cells[r->cell].name, c->call.variant)) r->cell++;
    r->gates = cells[r->cell].gates;
    bool whole = r->backward || r->direction_count == 2;
    if (whole && cm__cuda_rnn_cost(r) > RNN_MOST_COST)
        cm__fail(c->ctx, CM_ERR_UNSUPPORTED, "too large to verify on the host");
}

static dnn_object data(cm__cuda_case *c, const cm__cuda_rnn *r, dnn_object *to, int64_t width)
{
    int *lengths = cm__alloc_array(c->ctx, (size_t)r->batch, sizeof *lengths), zero = 0;
    for (int64_t i = 0; i < r->batch; i++) lengths[i] = (int)r->seq;
    DNN(c, cudnnCreateRNNDataDescriptor, to);
    DNN(c, cudnnSetRNNDataDescriptor, *to, cm__types[c->type].cudnn, DNN_RNN_PACKED, (int)r->seq, (int)r->batch,
        (int)width, lengths, &zero);
    return *to;
}

static void describe(cm__cuda_case *c, cm__cuda_rnn *r)
{
    const cm__cudnn *dnn = &c->cu->cudnn;
    int              math = c->type != TYPE_FP32                 ? DNN_MATH_TENSOR
                            : strcmp(c->call.dtype, "tf32") == 0 ? DNN_MATH_DEFAULT
                                                                 : DNN_MATH_FMA;
    int              shape[] = {(int)r->layers * r->direction_count, (int)r->batch, (int)r->hidden};
    int              strides[] = {(int)(r->batch * r->hidden), (int)r->hidden, 1};
    if (dnn->cudnnGetVersion() < NO_LENGTHS_SINCE)
        cm__fail(c->ctx, CM_ERR_UNSUPPORTED, "recurrent layers need cuDNN 8.9.1 or newer");
    DNN(c, cudnnCreateDropoutDescriptor, &r->dropout);
    DNN(c, cudnnSetDropoutDescriptor, r->dropout, c->cu->dnn, 0, NULL, 0, 0);
    DNN(c, cudnnCreateRNNDescriptor, &r->rnn);
    DNN(c, cudnnSetRNNDescriptor_v8, r->rnn, DNN_RNN_STANDARD, cells[r->cell].mode, DNN_RNN_DOUBLE_BIAS,
        r->direction_count - 1, 0, cm__types[c->type].cudnn, DNN_FP32, math, (int32_t)r->input, (int32_t)r->hidden,
        (int32_t)r->hidden, (int32_t)r->layers, r->dropout, 0);
    data(c, r, &r->x_desc, r->input);
    data(c, r, &r->y_desc, r->hidden * r->direction_count);
    DNN(c, cudnnCreateTensorDescriptor, &r->state);
    DNN(c, cudnnSetTensorNdDescriptor, r->state, cm__types[c->type].cudnn, 3, shape, strides);
    DNN(c, cudnnCreateTensorDescriptor, &r->matrix);
    DNN(c, cudnnCreateTensorDescriptor, &r->vector);
    DNN(c, cudnnGetRNNWeightSpaceSize, c->cu->dnn, r->rnn, &r->weight_bytes);
    DNN(c, cudnnGetRNNTempSpaceSizes, c->cu->dnn, r->rnn, DNN_TRAINING, r->x_desc, &r->workspace_bytes,
        &r->reserve_bytes);
}

void cm__cuda_rnn_declare(cm__cuda_case *c)
{
    cm__cuda_rnn *r = c->data = cm__alloc(c->ctx, sizeof *r);
    sizes(c, r);
    cm__defer(c->ctx, release, r);
    describe(c, r);
    int64_t steps = r->seq * r->batch, width = r->hidden * r->direction_count;
    r->x = cm__cuda_operand(c, c->type, steps * r->input, FILL_RANDOM);
    r->y = cm__cuda_operand(c, c->type, steps * width, r->backward ? FILL_NONE : FILL_ZERO);
    r->weights = cm__cuda_operand(c, c->type, (int64_t)(r->weight_bytes / (size_t)cm__types[c->type].bytes),
                                  FILL_RANDOM);
    c->operands[r->weights].scale =
        ldexpf(1, -(int)lround(log2((double)(r->hidden + r->input)) / 2)); /* keeps sums near 1 */
    if (!r->backward) return;
    r->dy = cm__cuda_operand(c, c->type, steps * width, FILL_RANDOM);
    r->dx = cm__cuda_operand(c, c->type, steps * r->input, FILL_ZERO);
    r->dw = cm__cuda_operand(c, c->type, c->operands[r->weights].count, FILL_ZERO);
}

static void *at(const cm__cuda_case *c, int operand, int64_t copy)
{
    return (void *)(uintptr_t)cm__cuda_address(c, operand, copy);
}

static int forward(cm__cuda_case *c, int64_t copy)
{
    const cm__cuda_rnn *r = c->data;
    int                 status = c->cu->cudnn.cudnnRNNForward(
        c->cu->dnn, r->rnn, DNN_TRAINING, NULL, r->x_desc, at(c, r->x, copy), r->y_desc, at(c, r->y, copy), r->state,
        NULL, NULL, r->state, NULL, NULL, r->weight_bytes, at(c, r->weights, copy), r->workspace_bytes,
        (void *)(uintptr_t)r->workspace, r->reserve_bytes, (void *)(uintptr_t)r->reserve);
    return status ? cm__cuda_failed(c, "cudnnRNNForward", c->cu->cudnn.cudnnGetErrorString(status)) : 0;
}

/* Backward overwrites data that forward stored, so forward runs again before each verification. */
static void renew(cm__cuda_case *c)
{
    if (forward(c, 0)) cm__cuda_fail_case(c);
}

static int backward(cm__cuda_case *c, int64_t copy)
{
    const cm__cuda_rnn *r = c->data;
    const cm__cudnn    *dnn = &c->cu->cudnn;
    void               *workspace = (void *)(uintptr_t)r->workspace, *reserve = (void *)(uintptr_t)r->reserve;
    int result = c->cu->driver.cuMemsetD8Async(cm__cuda_address(c, r->dw, copy), 0, r->weight_bytes, c->cu->stream);
    if (result) return cm__cuda_failed(c, "cuMemsetD8Async", NULL);
    int status = dnn->cudnnRNNBackwardData_v8(
        c->cu->dnn, r->rnn, NULL, r->y_desc, at(c, r->y, copy), at(c, r->dy, copy), r->x_desc, at(c, r->dx, copy),
        r->state, NULL, NULL, NULL, r->state, NULL, NULL, NULL, r->weight_bytes, at(c, r->weights, copy),
        r->workspace_bytes, workspace, r->reserve_bytes, reserve);
    if (status) return cm__cuda_failed(c, "cudnnRNNBackwardData_v8", dnn->cudnnGetErrorString(status));
    status = dnn->cudnnRNNBackwardWeights_v8(c->cu->dnn, r->rnn, DNN_WGRAD_ADD, NULL, r->x_desc, at(c, r->x, copy),
                                             r->state, NULL, r->y_desc, at(c, r->y, copy), r->weight_bytes,
                                             at(c, r->dw, copy), r->workspace_bytes, workspace, r->reserve_bytes,
                                             reserve);
    return status ? cm__cuda_failed(c, "cudnnRNNBackwardWeights_v8", dnn->cudnnGetErrorString(status)) : 0;
}

void cm__cuda_rnn_setup(cm__cuda_case *c)
{
    cm__cuda_rnn *r = c->data;
    if (r->workspace_bytes)
        cm__cuda_need(c->ctx, c->cu, c->cu->driver.cuMemAlloc(&r->workspace, r->workspace_bytes),
                      "cuMemAlloc of the workspace");
    if (r->reserve_bytes)
        cm__cuda_need(c->ctx, c->cu, c->cu->driver.cuMemAlloc(&r->reserve, r->reserve_bytes),
                      "cuMemAlloc of the reserve");
    snprintf(c->algorithm, sizeof c->algorithm, "cuDNN: standard");
    if (!r->backward) return;
    for (int64_t copy = c->copies - 1; copy >= 0; copy--)
        if (forward(c, copy)) cm__cuda_fail_case(c);
    c->renew = renew;
}

int cm__cuda_rnn_call(cm__cuda_case *c, int64_t copy)
{
    return ((cm__cuda_rnn *)c->data)->backward ? backward(c, copy) : forward(c, copy);
}

void cm__cuda_rnn_weight(cm__cuda_case *c, int64_t layer, int direction, int gate, int64_t *matrix, int64_t *bias)
{
    const cm__cuda_rnn *r = c->data;
    char               *base = at(c, r->weights, 0);
    void               *m = NULL, *b = NULL;
    size_t              width = (size_t)cm__types[c->type].bytes;
    DNN(c, cudnnGetRNNWeightParams, c->cu->dnn, r->rnn, (int32_t)(layer * r->direction_count + direction),
        r->weight_bytes, base, gate, r->matrix, &m, r->vector, &b);
    if (!m || !b) cm__fail(c->ctx, CM_ERR_IO, "cudnnGetRNNWeightParams: no weights of gate %d", gate);
    *matrix = (int64_t)((size_t)((char *)m - base) / width);
    *bias = (int64_t)((size_t)((char *)b - base) / width);
}

int64_t cm__cuda_rnn_check(cm__cuda_case *c)
{
    return cm__cuda_rnn_reference(c);
}
