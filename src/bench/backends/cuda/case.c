/* SPDX-License-Identifier: Apache-2.0 */
/* case.c - a benchmark case: its kernel launches, and the backend functions that prepare, run and verify it. */
#include <stdio.h>
#include <string.h>

#include "bench/backends/cuda/cuda.h"

cm__launch *cm__cuda_add_launch(cm__cuda_case *c, cu_function function, int64_t grid_x, int64_t grid_y, int block)
{
    if (c->n_launches == CUDA_LAUNCHES) cm__fail(c->ctx, CM_ERR_LIMIT, "more than %d kernels", CUDA_LAUNCHES);
    if (grid_x < 1 || grid_y < 1 || grid_x > INT32_MAX || grid_y > 65535)
        cm__fail(c->ctx, CM_ERR_UNSUPPORTED, "a grid of %lld x %lld blocks", (long long)grid_x, (long long)grid_y);
    cm__launch *launch = &c->launches[c->n_launches++];
    *launch = (cm__launch){
        .function = function, .grid_x = (unsigned)grid_x, .grid_y = (unsigned)grid_y, .block = (unsigned)block};
    return launch;
}

static void add_argument(cm__launch *launch, int operand, uint64_t bits)
{
    launch->arguments[launch->n_arguments].operand = operand;
    launch->arguments[launch->n_arguments++].bits = bits;
}

void cm__cuda_arg_operand(cm__launch *launch, int operand)
{
    add_argument(launch, operand, 0);
}

void cm__cuda_arg_operands(cm__launch *launch, int count, const int *operands)
{
    for (int i = 0; i < count; i++) cm__cuda_arg_operand(launch, operands[i]);
}

void cm__cuda_arg_int(cm__launch *launch, int64_t value)
{
    add_argument(launch, -1, (uint64_t)value);
}

void cm__cuda_arg_real(cm__launch *launch, double value)
{
    float    narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    add_argument(launch, -1, bits);
}

int cm__cuda_failed(cm__cuda_case *c, const char *call, const char *why)
{
    snprintf(c->failure, sizeof c->failure, "%s: %s", call, why ? why : "unknown error");
    return 1;
}

noreturn void cm__cuda_fail_case(cm__cuda_case *c)
{
    cm__fail(c->ctx, CM_ERR_IO, "%s", c->failure[0] ? c->failure : "unknown error");
}

void cm__cudnn_need(cm__cuda_case *c, int status, const char *call)
{
    if (status)
        cm__fail(c->ctx, status / 1000 == 3 ? CM_ERR_UNSUPPORTED : CM_ERR_IO, "%s: %s", call,
                 c->cu->cudnn.cudnnGetErrorString(status));
}

int cm__cuda_launch_all(cm__cuda_case *c, int64_t copy)
{
    for (int i = 0; i < c->n_launches; i++) {
        cm__launch *l = &c->launches[i];
        uint64_t    values[CUDA_ARGUMENTS];
        void       *pointers[CUDA_ARGUMENTS];
        for (int k = 0; k < l->n_arguments; k++) {
            values[k] = l->arguments[k].operand < 0 ? l->arguments[k].bits
                                                    : cm__cuda_address(c, l->arguments[k].operand, copy);
            pointers[k] = &values[k];
        }
        int result = c->cu->driver.cuLaunchKernel(l->function, l->grid_x, l->grid_y, 1, l->block, 1, 1, l->shared_bytes,
                                                  c->cu->stream, pointers, NULL);
        const char *text = NULL;
        if (result) c->cu->driver.cuGetErrorString(result, &text);
        if (result) return cm__cuda_failed(c, "cuLaunchKernel", text);
    }
    return 0;
}

/* ---- backend functions ------------------------------------------------------------------------------------------- */

static void need_library(cm__cuda_case *c)
{
    if (c->op->needs == NEEDS_BLASLT && !c->cu->has_blaslt)
        cm__fail(c->ctx, CM_ERR_UNSUPPORTED, "%s; name its folder in CENTIMANI_CUDA_PATH", c->cu->blaslt_missing);
    if (c->op->needs == NEEDS_CUDNN && !c->cu->has_cudnn)
        cm__fail(c->ctx, CM_ERR_UNSUPPORTED, "%s; name its folder in CENTIMANI_CUDA_PATH", c->cu->cudnn_missing);
}

static void copy_call(cm__cuda_case *c, const cm_call *call)
{
    c->call = *call;
    c->call.op = cm__text_copy(c->ctx, call->op);
    c->call.pass = cm__text_copy(c->ctx, call->pass);
    c->call.variant = cm__text_copy(c->ctx, call->variant ? call->variant : "");
    c->call.dtype = cm__text_copy(c->ctx, call->dtype);
    c->type = cm__type_named(call->dtype, (int)strcspn(call->dtype, "+>"));
}

static void make_case(cm__cuda_case *c, const cm_call *call, const cm_case_options *options)
{
    c->op = cm__cuda_find(call);
    if (!c->op)
        cm__fail(c->ctx, CM_ERR_UNSUPPORTED, "no such call: %s %s %s %s with %d sizes", call->op, call->pass,
                 call->variant, call->dtype, call->n_dims);
    copy_call(c, call);
    if (options) c->options = *options;
    need_library(c);
    c->op->declare(c);
    cm__cuda_place(c);
    if (c->op->setup) c->op->setup(c);
    c->kernels = c->n_launches;
}

static cm__cuda_case *new_case(cm__ctx *ctx, void *state)
{
    cm__cuda_case *c = cm__alloc(ctx, sizeof *c);
    c->ctx = ctx;
    c->cu = state;
    return c;
}

cm_status cm__cuda_prepare(void *state, const cm_call *call, const cm_case_options *options, void **a_case,
                           cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__cuda_case *c = new_case(ctx, state);
    make_case(c, call, options);
    ctx->diag = NULL;
    *a_case = c;
    return CM_OK;
}

cm_status cm__cuda_prepare_probe(void *state, const cm_probe_request *request, void **a_case, double *work,
                                 cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__cuda_case *c = new_case(ctx, state);
    cm__cuda_make_probe(c, request, work);
    ctx->diag = NULL;
    *a_case = c;
    return CM_OK;
}

cm_status cm__cuda_run(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag)
{
    cm__cuda_case *c = a_case;
    c->ctx->diag = diag;
    if (setjmp(c->ctx->trap)) return c->ctx->status;
    double time = c->time ? c->time(c, repetitions) : cm__cuda_time_case(c, repetitions);
    c->ctx->diag = NULL;
    *time_s = time;
    return CM_OK;
}

cm_status cm__cuda_verify(void *a_case, int64_t *wrong, cm_diag *diag)
{
    cm__cuda_case *c = a_case;
    c->ctx->diag = diag;
    if (setjmp(c->ctx->trap)) return c->ctx->status;
    cm__cuda_refill(c);
    if (c->renew) c->renew(c);
    if (c->op->launch ? c->op->launch(c, 0) : cm__cuda_launch_all(c, 0)) cm__cuda_fail_case(c);
    cm__cuda_need(c->ctx, c->cu, c->cu->driver.cuStreamSynchronize(c->cu->stream),
                  c->call.op ? c->call.op : "the probe");
    int64_t count = c->op->check ? c->op->check(c) : 0;
    cm__cuda_refill(c);
    c->ctx->diag = NULL;
    *wrong = count;
    return CM_OK;
}

int32_t cm__cuda_kernels(void *a_case)
{
    return ((cm__cuda_case *)a_case)->kernels;
}

const char *cm__cuda_algorithm(void *a_case)
{
    cm__cuda_case *c = a_case;
    return c->algorithm[0] ? c->algorithm : NULL;
}

void cm__cuda_release(void *a_case)
{
    if (a_case) cm__ctx_free(((cm__cuda_case *)a_case)->ctx);
}
