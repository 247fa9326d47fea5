/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_case.c - a case of one collective: allocate buffers, run it, and check the results. */
#include "bench/backends/cuda/fabric.h"

#define SAMPLES 256

typedef struct collective {
    cm__ctx         *ctx;
    cm__nccl_fabric *f;
    cm_collective_op op;
    int64_t          send_count, receive_count, count; /* floats per rank; `count` is NCCL's argument */
    cu_address       send[MOST_GPUS], receive[MOST_GPUS];
} collective;

#define CU(c, call, ...) cm__nccl_need((c)->ctx, (c)->f, (c)->f->driver.call(__VA_ARGS__), #call)
#define NCCL(c, call, ...) cm__nccl_need_nccl((c)->ctx, (c)->f, (c)->f->nccl.call(__VA_ARGS__), #call)

static void free_buffers(void *object)
{
    collective *c = object;
    for (int i = 0; i < c->f->n; i++) {
        c->f->driver.cuCtxSetCurrent(c->f->gpus[i].context);
        if (c->send[i]) c->f->driver.cuMemFree(c->send[i]);
        if (c->receive[i]) c->f->driver.cuMemFree(c->receive[i]);
    }
}

static void make(collective *c, int64_t bytes)
{
    int64_t floats = bytes / 4, part = floats / c->f->n;
    c->send_count = c->op == CM_ALL_GATHER ? part : floats;
    c->receive_count = c->op == CM_REDUCE_SCATTER ? part : floats;
    c->count = c->op == CM_ALL_GATHER || c->op == CM_REDUCE_SCATTER ? part : floats;
    if (c->op == CM_ALL_GATHER) c->receive_count = part * c->f->n;
    if (c->op == CM_REDUCE_SCATTER) c->send_count = part * c->f->n;
    if (c->count < 1)
        cm__fail(c->ctx, CM_ERR_ARGUMENT, "%lld bytes are less than one number for each of %d GPUs", (long long)bytes,
                 c->f->n);
    cm__defer(c->ctx, free_buffers, c);
    for (int i = 0; i < c->f->n; i++) {
        cm__nccl_enter(c->ctx, c->f, i);
        CU(c, cuMemAlloc, &c->send[i], (size_t)c->send_count * 4);
        CU(c, cuMemAlloc, &c->receive[i], (size_t)c->receive_count * 4);
    }
}

cm_status cm__nccl_prepare(void *state, cm_collective_op op, int64_t bytes, void **a_case, cm_diag *diag)
{
    cm__ctx *ctx = cm__ctx_new(diag);
    if (!ctx) return CM_ERR_MEMORY;
    if (setjmp(ctx->trap)) return cm__ctx_abandon(ctx);
    collective *c = cm__alloc(ctx, sizeof *c);
    c->ctx = ctx;
    c->f = state;
    c->op = op;
    make(c, bytes);
    ctx->diag = NULL;
    *a_case = c;
    return CM_OK;
}

static int queue_rank(collective *c, int rank)
{
    const cm__nccl *nccl = &c->f->nccl;
    const cm__gpu  *g = &c->f->gpus[rank];
    void           *send = (void *)(uintptr_t)c->send[rank], *receive = (void *)(uintptr_t)c->receive[rank];
    size_t          n = (size_t)c->count;
    switch (c->op) {
    case CM_ALL_REDUCE: return nccl->ncclAllReduce(send, receive, n, NCCL_FP32, NCCL_SUM, g->comm, g->stream);
    case CM_ALL_GATHER: return nccl->ncclAllGather(send, receive, n, NCCL_FP32, g->comm, g->stream);
    case CM_REDUCE_SCATTER: return nccl->ncclReduceScatter(send, receive, n, NCCL_FP32, NCCL_SUM, g->comm, g->stream);
    default: return nccl->ncclBroadcast(send, receive, n, NCCL_FP32, 0, g->comm, g->stream);
    }
}

static void queue_group(collective *c)
{
    cm__nccl_need_nccl(c->ctx, c->f, c->f->nccl.ncclGroupStart(), "ncclGroupStart");
    for (int i = 0; i < c->f->n; i++) cm__nccl_need_nccl(c->ctx, c->f, queue_rank(c, i), "a collective");
    cm__nccl_need_nccl(c->ctx, c->f, c->f->nccl.ncclGroupEnd(), "ncclGroupEnd");
}

static void queue_send(collective *c, int from, cu_address data, int to)
{
    const cm__gpu *gpus = c->f->gpus;
    cm__nccl_need_nccl(c->ctx, c->f, c->f->nccl.ncclGroupStart(), "ncclGroupStart");
    NCCL(c, ncclSend, (void *)(uintptr_t)data, (size_t)c->count, NCCL_FP32, to, gpus[from].comm, gpus[from].stream);
    NCCL(c, ncclRecv, (void *)(uintptr_t)c->receive[to], (size_t)c->count, NCCL_FP32, from, gpus[to].comm,
         gpus[to].stream);
    cm__nccl_need_nccl(c->ctx, c->f, c->f->nccl.ncclGroupEnd(), "ncclGroupEnd");
}

static void queue_once(collective *c)
{
    int last = c->f->n - 1;
    if (c->op != CM_SEND) {
        queue_group(c);
        return;
    }
    queue_send(c, 0, c->send[0], last);
    queue_send(c, last, c->receive[last], 0);
}

static void each_event(collective *c, bool start)
{
    for (int i = 0; i < c->f->n; i++) {
        cm__gpu *g = &c->f->gpus[i];
        cm__nccl_enter(c->ctx, c->f, i);
        CU(c, cuEventRecord, start ? g->start : g->end, g->stream);
    }
}

static double time_all(collective *c, int64_t repetitions)
{
    double most = 0;
    each_event(c, true);
    for (int64_t i = 0; i < repetitions; i++) queue_once(c);
    each_event(c, false);
    for (int i = 0; i < c->f->n; i++) {
        float milliseconds = 0;
        cm__nccl_enter(c->ctx, c->f, i);
        cm__nccl_need(c->ctx, c->f, c->f->driver.cuEventSynchronize(c->f->gpus[i].end), "a collective");
        CU(c, cuEventElapsedTime, &milliseconds, c->f->gpus[i].start, c->f->gpus[i].end);
        if (milliseconds * 1e-3 > most) most = milliseconds * 1e-3;
    }
    return c->op == CM_SEND ? most / 2 : most;
}

cm_status cm__nccl_run(void *a_case, int64_t repetitions, double *time_s, cm_diag *diag)
{
    collective *c = a_case;
    c->ctx->diag = diag;
    if (setjmp(c->ctx->trap)) return c->ctx->status;
    *time_s = time_all(c, repetitions);
    c->ctx->diag = NULL;
    return CM_OK;
}

/* Integers, so that sums are exact in any order. */
static float value(int rank, int64_t i)
{
    return (float)((i * 7 + rank * 3) % 13 + 1);
}

static float expected(const collective *c, int rank, int64_t i)
{
    float sum = 0;
    if (c->op == CM_ALL_GATHER) return value((int)(i / c->count), i % c->count);
    if (c->op == CM_BROADCAST || c->op == CM_SEND) return value(0, i);
    for (int r = 0; r < c->f->n; r++) sum += value(r, c->op == CM_REDUCE_SCATTER ? rank * c->count + i : i);
    return sum;
}

static void write_sends(collective *c)
{
    float *host = cm__alloc_array(c->ctx, (size_t)c->send_count, sizeof *host);
    for (int r = 0; r < c->f->n; r++) {
        cm__nccl_enter(c->ctx, c->f, r);
        for (int64_t i = 0; i < c->send_count; i++) host[i] = value(r, i);
        CU(c, cuMemcpyHtoDAsync, c->send[r], host, (size_t)c->send_count * 4, c->f->gpus[r].stream);
        cm__nccl_need(c->ctx, c->f, c->f->driver.cuStreamSynchronize(c->f->gpus[r].stream), "cuMemcpyHtoDAsync");
    }
}

static int64_t check_rank(collective *c, int rank)
{
    int64_t wrong = 0, n = c->receive_count < SAMPLES ? c->receive_count : SAMPLES;
    cm__nccl_enter(c->ctx, c->f, rank);
    for (int64_t s = 0; s < n; s++) {
        int64_t i = s == n - 1 ? c->receive_count - 1 : (int64_t)((double)c->receive_count / (double)n * (double)s);
        float   got = 0;
        CU(c, cuMemcpyDtoHAsync, &got, c->receive[rank] + (size_t)i * 4, 4, c->f->gpus[rank].stream);
        cm__nccl_need(c->ctx, c->f, c->f->driver.cuStreamSynchronize(c->f->gpus[rank].stream), "cuMemcpyDtoHAsync");
        wrong += got != expected(c, rank, i);
    }
    return wrong;
}

cm_status cm__nccl_verify(void *a_case, int64_t *wrong, cm_diag *diag)
{
    collective *c = a_case;
    c->ctx->diag = diag;
    if (setjmp(c->ctx->trap)) return c->ctx->status;
    *wrong = 0;
    write_sends(c);
    time_all(c, 1);
    for (int r = 0; r < c->f->n; r++)
        if (c->op != CM_SEND || r == 0 || r == c->f->n - 1) *wrong += check_rank(c, r);
    c->ctx->diag = NULL;
    return CM_OK;
}

void cm__nccl_release(void *a_case)
{
    if (a_case) cm__ctx_free(((collective *)a_case)->ctx);
}
