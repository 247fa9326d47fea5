/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.c - NCCL fabric: collectives between the GPUs of one machine, all driven by one process. */
#include <stdio.h>

#include "bench/backends/cuda/backend.h"
#include "bench/backends/cuda/fabric.h"

#define OPEN(f, call, ...) cm__nccl_need((f)->ctx, f, (f)->driver.call(__VA_ARGS__), #call)

void cm__nccl_need(cm__ctx *ctx, const cm__nccl_fabric *f, int result, const char *call)
{
    const char *text = NULL;
    if (result == CU_SUCCESS) return;
    f->driver.cuGetErrorString(result, &text);
    cm__fail(ctx, result == CU_OUT_OF_MEMORY ? CM_ERR_LIMIT : CM_ERR_IO, "%s: %s", call, text ? text : "unknown error");
}

void cm__nccl_need_nccl(cm__ctx *ctx, const cm__nccl_fabric *f, int result, const char *call)
{
    if (result) cm__fail(ctx, CM_ERR_IO, "%s: %s", call, f->nccl.ncclGetErrorString(result));
}

void cm__nccl_enter(cm__ctx *ctx, const cm__nccl_fabric *f, int rank)
{
    cm__nccl_need(ctx, f, f->driver.cuCtxSetCurrent(f->gpus[rank].context), "cuCtxSetCurrent");
}

static void release(void *object)
{
    cm__nccl_fabric *f = object;
    for (int i = 0; i < f->n; i++) {
        cm__gpu *g = &f->gpus[i];
        if (!g->context) continue;
        f->driver.cuCtxSetCurrent(g->context);
        if (g->comm) f->nccl.ncclCommDestroy(g->comm);
        if (g->start) f->driver.cuEventDestroy(g->start);
        if (g->end) f->driver.cuEventDestroy(g->end);
        if (g->stream) f->driver.cuStreamDestroy(g->stream);
        f->driver.cuDevicePrimaryCtxRelease(g->device);
    }
}

static void open_gpu(cm__nccl_fabric *f, int rank)
{
    cm__gpu *g = &f->gpus[rank];
    OPEN(f, cuDeviceGet, &g->device, rank);
    OPEN(f, cuDevicePrimaryCtxRetain, &g->context, g->device);
    cm__nccl_enter(f->ctx, f, rank);
    OPEN(f, cuStreamCreate, &g->stream, CU_STREAM_NON_BLOCKING);
    OPEN(f, cuEventCreate, &g->start, 0);
    OPEN(f, cuEventCreate, &g->end, 0);
}

static void count_gpus(cm__nccl_fabric *f)
{
    int count = 0;
    OPEN(f, cuInit, 0);
    OPEN(f, cuDeviceGetCount, &count);
    if (count < 2) cm__fail(f->ctx, CM_ERR_UNSUPPORTED, "collectives need at least two GPUs, and there is %d", count);
    f->n = count < MOST_GPUS ? count : MOST_GPUS;
}

static void open_all(cm__nccl_fabric *f)
{
    char      missing[256];
    nccl_comm comms[MOST_GPUS] = {NULL};
    int       devices[MOST_GPUS];
    if (!cm__cuda_load_driver(f->ctx, &f->driver, missing, sizeof missing))
        cm__fail(f->ctx, CM_ERR_IO, "no NVIDIA driver: %s", missing);
    count_gpus(f);
    if (!cm__cuda_load_nccl(f->ctx, &f->nccl, missing, sizeof missing))
        cm__fail(f->ctx, CM_ERR_IO, "no NCCL: %s; name its folder in CENTIMANI_CUDA_PATH", missing);
    cm__defer(f->ctx, release, f);
    for (int i = 0; i < f->n; i++) open_gpu(f, devices[i] = i);
    cm__nccl_need_nccl(f->ctx, f, f->nccl.ncclGetVersion(&f->version), "ncclGetVersion");
    cm__nccl_need_nccl(f->ctx, f, f->nccl.ncclCommInitAll(comms, f->n, devices), "ncclCommInitAll");
    for (int i = 0; i < f->n; i++) f->gpus[i].comm = comms[i];
}

static cm_status open_fabric(const cm_backend_options *options, void **state, cm_diag *diag)
{
    (void)options;
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    cm__nccl_fabric *f = cm__alloc(ctx, sizeof *f);
    f->ctx = ctx;
    open_all(f);
    ctx->diag = NULL;
    *state = f;
    return CM_OK;
}

static void close_fabric(void *state)
{
    if (state) cm__ctx_free(((cm__nccl_fabric *)state)->ctx);
}

static int32_t rank_of(void *state)
{
    (void)state;
    return 0;
}

static int32_t ranks_of(void *state)
{
    return ((cm__nccl_fabric *)state)->n;
}

static void describe(void *state, char *software, size_t size)
{
    int v = ((cm__nccl_fabric *)state)->version;
    snprintf(software, size, "NCCL %d.%d.%d, GPUs of one machine", v / 10000, v % 10000 / 100, v % 100);
}

/* One process drives all ranks, so they always agree. */
static void agree(void *state, double *value_of_all)
{
    (void)state, (void)value_of_all;
}

const cm_fabric cm__fabric_nccl = {
    .version = CM_BACKEND_VERSION,
    .name = "nccl",
    .summary = "the NVIDIA GPUs of one machine, with NCCL",
    .open = open_fabric,
    .close = close_fabric,
    .rank = rank_of,
    .ranks = ranks_of,
    .describe = describe,
    .prepare = cm__nccl_prepare,
    .run = cm__nccl_run,
    .verify = cm__nccl_verify,
    .release = cm__nccl_release,
    .agree = agree,
};
