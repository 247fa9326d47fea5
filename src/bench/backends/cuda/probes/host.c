/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - probes of kernel launches and of copies between host and device. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/backends/cuda/probes/probe.h"

#define QUEUED 500   /* kernels at a time; fewer than the device's queue can hold */
#define QUEUE_S 3e-3 /* longer than the host takes to queue them */

typedef struct probe {
    int64_t bytes;
    int     from;
    char   *host;
    bool    pinned, to_device;
} probe;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void queue_empty(cm__cuda_case *c, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (cm__cuda_launch_all(c, 0)) cm__cuda_fail_case(c);
}

static void finish(cm__cuda_case *c)
{
    cm__cuda_need(c->ctx, c->cu, c->cu->driver.cuStreamSynchronize(c->cu->stream), "empty kernels");
}

/* Time on the device: all kernels are queued before the first one starts. */
static double time_launch(cm__cuda_case *c, int64_t repetitions)
{
    double total = 0;
    for (int64_t left = repetitions; left > 0; left -= QUEUED) {
        float milliseconds = 0;
        cm__cuda_spin(c, QUEUE_S);
        CU(c, cuEventRecord, c->cu->start, c->cu->stream);
        queue_empty(c, left < QUEUED ? left : QUEUED);
        CU(c, cuEventRecord, c->cu->end, c->cu->stream);
        finish(c);
        CU(c, cuEventElapsedTime, &milliseconds, c->cu->start, c->cu->end);
        total += milliseconds * 1e-3;
    }
    return total;
}

static double time_submit(cm__cuda_case *c, int64_t repetitions)
{
    double total = 0;
    for (int64_t left = repetitions; left > 0; left -= QUEUED) {
        cm__cuda_spin(c, QUEUE_S);
        double start = now_s();
        queue_empty(c, left < QUEUED ? left : QUEUED);
        total += now_s() - start;
        finish(c);
    }
    return total;
}

static double time_round_trip(cm__cuda_case *c, int64_t repetitions)
{
    double start = now_s();
    for (int64_t i = 0; i < repetitions; i++) {
        queue_empty(c, 1);
        finish(c);
    }
    return now_s() - start;
}

void cm__cuda_make_empty(cm__cuda_case *c, const cm_probe_request *r, double *work)
{
    static double (*const times[CM_PROBES])(cm__cuda_case *, int64_t) = {
        [CM_PROBE_LAUNCH] = time_launch, [CM_PROBE_SUBMIT] = time_submit, [CM_PROBE_ROUND_TRIP] = time_round_trip};
    cm__cuda_add_launch(c, cm__cuda_kernel(c->ctx, c->cu, "base.cu", "empty", "-DTYPE_T=float"), 1, 1, 32);
    c->time = times[r->probe];
    *work = 1;
}

/* ---- host and device --------------------------------------------------------------------------------------------- */

static void free_host(void *object)
{
    cm__cuda_case *c = object;
    probe         *p = c->data;
    if (p->pinned)
        c->cu->driver.cuMemFreeHost(p->host);
    else
        free(p->host);
}

static int launch_transfer(cm__cuda_case *c, int64_t copy)
{
    const probe *p = c->data;
    cu_address   device = cm__cuda_address(c, p->from, copy);
    const char  *text = NULL;
    int result = p->to_device ? c->cu->driver.cuMemcpyHtoDAsync(device, p->host, (size_t)p->bytes, c->cu->stream)
                              : c->cu->driver.cuMemcpyDtoHAsync(p->host, device, (size_t)p->bytes, c->cu->stream);
    if (!result) return 0;
    c->cu->driver.cuGetErrorString(result, &text);
    return cm__cuda_failed(c, p->to_device ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync", text);
}

static int64_t check_transfer(cm__cuda_case *c)
{
    const probe *p = c->data;
    int64_t      wrong = 0, words = p->bytes / 4;
    for (int64_t i = 0; i < CUDA_SAMPLES; i++) {
        int64_t  at = cm__cuda_sample(c, i, CUDA_SAMPLES, words);
        uint32_t got;
        if (p->to_device)
            got = (uint32_t)(int32_t)cm__cuda_result(c, p->from, at);
        else
            memcpy(&got, p->host + at * 4, sizeof got);
        wrong += (double)got != cm__cuda_probe_word(at);
    }
    return wrong;
}

void cm__cuda_make_transfer(cm__cuda_case *c, const cm_probe_request *r, double *work)
{
    probe *p = c->data = cm__alloc(c->ctx, sizeof *p);
    p->bytes = r->bytes / 4 * 4;
    p->pinned = r->probe == CM_PROBE_TO_PINNED || r->probe == CM_PROBE_FROM_PINNED;
    p->to_device = r->probe == CM_PROBE_TO_PINNED || r->probe == CM_PROBE_TO_PAGEABLE;
    p->from = cm__cuda_operand(c, TYPE_INT32, p->bytes / 4, FILL_NONE);
    cm__cuda_place(c);
    if (p->pinned)
        CU(c, cuMemHostAlloc, (void **)&p->host, (size_t)p->bytes, 0);
    else
        p->host = malloc((size_t)p->bytes);
    if (!p->host) cm__fail(c->ctx, CM_ERR_MEMORY, "cannot allocate %lld bytes of host memory", (long long)p->bytes);
    cm__defer(c->ctx, free_host, c);
    for (int64_t i = 0; i < p->bytes / 4; i++)
        memcpy(p->host + i * 4, &(uint32_t){p->to_device ? (uint32_t)i * 2654435761u : 0}, 4);
    if (!p->to_device) cm__cuda_probe_pattern(c, p->from, p->bytes / 4);
    c->time = cm__cuda_time_calls; /* in a CUDA graph, copies of pageable memory work differently */
    *work = (double)p->bytes;
}

const cm__cuda_op cm__cuda_op_empty = {.check = NULL};
const cm__cuda_op cm__cuda_op_transfer = {.launch = launch_transfer, .check = check_transfer};
