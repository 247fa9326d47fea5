/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - probes of bandwidth by working set and of arithmetic in registers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/backends/cuda/probes/probe.h"

#define THREADS 1024
#define FEW_THREADS 128 /* per block, for small copies */
#define ROUNDS 4096
#define CHAINS 8 /* as in kernels/probe.cu */
#define PASS_BYTES ((int64_t)1 << 28)
#define L1_PART 2 /* working sets up to the total of all first-level caches divided by this are read through them */
#define MEMCPY_LEAST ((int64_t)1 << 26)

typedef struct probe {
    int64_t bytes, vectors, passes;
    int     from, to, sum;
    bool    by_engine;
} probe;

static int64_t check_read(cm__cuda_case *c)
{
    const probe *p = c->data;
    uint32_t     got;
    uint64_t words = (uint64_t)p->vectors * 4, pairs = words % 2 ? words * ((words - 1) / 2) : words / 2 * (words - 1);
    double   read;
    cm__cuda_read(c, p->sum, 0, 1, &read);
    memcpy(&got, &(int32_t){(int32_t)read}, sizeof got);
    return got != (uint32_t)pairs * 2654435761u * (uint32_t)p->passes;
}

void cm__cuda_make_read(cm__cuda_case *c, const cm_probe_request *r, double *work)
{
    probe  *p = c->data = cm__alloc(c->ctx, sizeof *p);
    bool    near = r->bytes <= (int64_t)c->cu->l1_bytes * c->cu->processors / L1_PART;
    int64_t blocks = c->cu->processors * (near ? 1 : 2), slice;
    p->vectors = r->bytes / 16;
    p->passes = r->bytes < PASS_BYTES ? PASS_BYTES / r->bytes : 1;
    p->from = cm__cuda_operand(c, TYPE_INT32, p->vectors * 4, FILL_NONE);
    p->sum = cm__cuda_operand(c, TYPE_INT32, 1, FILL_ZERO);
    cm__cuda_place(c);
    cm__cuda_probe_pattern(c, p->from, p->vectors * 4);
    slice = near ? (p->vectors + blocks - 1) / blocks : 0;
    cm__launch *l = cm__cuda_add_launch(c, cm__cuda_probe_kernel(c, "read"), blocks, 1, THREADS);
    cm__cuda_arg_operand(l, p->from);
    cm__cuda_arg_int(l, slice);
    cm__cuda_arg_int(l, p->vectors);
    cm__cuda_arg_int(l, p->passes);
    cm__cuda_arg_operand(l, p->sum);
    *work = (double)p->vectors * 16 * (double)p->passes;
    snprintf(c->algorithm, sizeof c->algorithm,
             near ? "each block its own slice, through L1" : "all blocks together, past L1");
}

static int64_t check_copy(cm__cuda_case *c)
{
    const probe *p = c->data;
    int64_t      wrong = 0, words = p->vectors * 4;
    for (int64_t i = 0; i < CUDA_SAMPLES; i++) {
        int64_t  at = cm__cuda_sample(c, i, CUDA_SAMPLES, words);
        uint32_t got = (uint32_t)(int32_t)cm__cuda_result(c, p->to, at);
        wrong += (double)got != cm__cuda_probe_word(at);
    }
    return wrong;
}

static int launch_copy(cm__cuda_case *c, int64_t copy)
{
    const probe *p = c->data;
    const char  *text = NULL;
    if (!p->by_engine) return cm__cuda_launch_all(c, copy);
    int result = c->cu->driver.cuMemcpyDtoDAsync(cm__cuda_address(c, p->to, 0), cm__cuda_address(c, p->from, 0),
                                                 (size_t)p->vectors * 16, c->cu->stream);
    if (!result) return 0;
    c->cu->driver.cuGetErrorString(result, &text);
    return cm__cuda_failed(c, "cuMemcpyDtoDAsync", text);
}

/* For large copies, use the driver's copy function if it is faster than our kernel. */
static void choose_copy(cm__cuda_case *c)
{
    probe *p = c->data;
    double time_s[2] = {INFINITY, INFINITY};
    if (p->bytes < MEMCPY_LEAST) return;
    for (int i = 0; i < 6; i++) {
        p->by_engine = i % 2;
        time_s[i % 2] = fmin(time_s[i % 2], cm__cuda_time_calls(c, 3));
    }
    p->by_engine = time_s[1] < time_s[0];
}

void cm__cuda_make_copy(cm__cuda_case *c, const cm_probe_request *r, double *work)
{
    probe *p = c->data = cm__alloc(c->ctx, sizeof *p);
    p->bytes = r->bytes;
    p->vectors = r->bytes / 32;
    p->passes = r->bytes < MEMCPY_LEAST ? PASS_BYTES / r->bytes : 1; /* the driver's copy is one pass */
    if (p->vectors < 1) cm__fail(c->ctx, CM_ERR_ARGUMENT, "a working set of %lld bytes", (long long)r->bytes);
    p->from = cm__cuda_operand(c, TYPE_INT32, p->vectors * 4, FILL_NONE);
    p->to = cm__cuda_operand(c, TYPE_INT32, p->vectors * 4, FILL_ZERO);
    cm__cuda_place(c);
    cm__cuda_probe_pattern(c, p->from, p->vectors * 4);
    int         threads = p->vectors < c->cu->processors * 8 * THREADS ? FEW_THREADS : THREADS;
    int64_t     blocks = (p->vectors + 4 * threads - 1) / (4 * threads), most = c->cu->processors * (2048 / threads);
    cm__launch *l = cm__cuda_add_launch(c, cm__cuda_probe_kernel(c, "copy"),
                                        p->passes > 1 && blocks > most ? most : blocks, 1, threads);
    cm__cuda_arg_operand(l, p->from);
    cm__cuda_arg_operand(l, p->to);
    cm__cuda_arg_int(l, p->vectors);
    cm__cuda_arg_int(l, p->passes);
    choose_copy(c);
    *work = (double)p->vectors * 32 * (double)p->passes;
    snprintf(c->algorithm, sizeof c->algorithm, p->by_engine ? "cuMemcpyDtoDAsync" : "own kernel");
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

static int64_t check_vector(cm__cuda_case *c)
{
    int64_t wrong = 0, n = c->operands[0].count;
    for (int64_t i = 0; i < CUDA_SAMPLES; i++)
        wrong += !(fabs(cm__cuda_result(c, 0, cm__cuda_sample(c, i, CUDA_SAMPLES, n)) - 2) < 1e-5);
    return wrong;
}

void cm__cuda_make_vector(cm__cuda_case *c, const cm_probe_request *r, double *work)
{
    static const struct {
        const char *dtype, *kernel;
        int         width, capability;
    } types[] = {{"fp32", "fma_fp32", 1, 0},
                 {"fp64", "fma_fp64", 1, 0},
                 {"fp16", "fma_fp16", 2, 53},
                 {"bf16", "fma_bf16", 2, 80}};
    int64_t blocks = c->cu->processors * 2;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!r->dtype || strcmp(r->dtype, types[i].dtype) || c->cu->major * 10 + c->cu->minor < types[i].capability)
            continue;
        cm__cuda_operand(c, TYPE_FP32, blocks * THREADS, FILL_ZERO);
        cm__cuda_place(c);
        cm__launch *l = cm__cuda_add_launch(c, cm__cuda_probe_kernel(c, types[i].kernel), blocks, 1, THREADS);
        cm__cuda_arg_operand(l, 0);
        cm__cuda_arg_int(l, ROUNDS);
        *work = 2.0 * CHAINS * ROUNDS * THREADS * (double)blocks * types[i].width;
        return;
    }
    cm__fail(c->ctx, CM_ERR_UNSUPPORTED, "no multiply-add of %s outside the matrix units",
             r->dtype ? r->dtype : "no type");
}

const cm__cuda_op cm__cuda_op_read = {.check = check_read};
const cm__cuda_op cm__cuda_op_copy = {.launch = launch_copy, .check = check_copy};
const cm__cuda_op cm__cuda_op_vector = {.check = check_vector};
