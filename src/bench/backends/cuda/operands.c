/* SPDX-License-Identifier: Apache-2.0 */
/* operands.c - allocate and fill the operands of a case in device memory, with several copies for cold-cache runs. */
#include <stdio.h>

#include "base/text.h"
#include "bench/backends/cuda/cuda.h"

#define ALIGNMENT ((size_t)256)
#define MOST_COPIES 2048
#define SPARE_BYTES ((size_t)512 << 20) /* left free for the libraries */
#define FILL_THREADS 256

int cm__cuda_operand(cm__cuda_case *c, cm__type type, int64_t count, cm__fill fill)
{
    if (c->n_operands == CUDA_OPERANDS) cm__fail(c->ctx, CM_ERR_LIMIT, "more than %d operands", CUDA_OPERANDS);
    if (count < 1 || count > ((int64_t)1 << 40))
        cm__fail(c->ctx, CM_ERR_ARGUMENT, "an operand of %lld elements", (long long)count);
    cm__operand *o = &c->operands[c->n_operands];
    *o = (cm__operand){.type = type, .count = count, .fill = fill, .scale = 1, .limit = 1};
    o->key = cm__cuda_hash(c->cu->seed, (uint64_t)c->n_operands + 1);
    return c->n_operands++;
}

int cm__cuda_shared(cm__cuda_case *c, cm__type type, int64_t count, cm__fill fill)
{
    int operand = cm__cuda_operand(c, type, count, fill);
    c->operands[operand].shared = true;
    return operand;
}

cu_address cm__cuda_address(const cm__cuda_case *c, int operand, int64_t copy)
{
    const cm__operand *o = &c->operands[operand];
    return o->shared ? c->memory + o->offset : c->memory + c->shared_bytes + (size_t)copy * c->copy_bytes + o->offset;
}

int cm__cuda_vector(const cm__cuda_case *c, int64_t length)
{
    int pack = 16 / cm__types[c->type].bytes;
    return length % pack ? 1 : pack;
}

static size_t bytes_of(const cm__operand *o)
{
    size_t bytes = (size_t)o->count * (size_t)cm__types[o->type].bytes;
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void lay_out(cm__cuda_case *c)
{
    for (int i = 0; i < c->n_operands; i++) {
        cm__operand *o = &c->operands[i];
        size_t      *end = o->shared ? &c->shared_bytes : &c->copy_bytes;
        o->offset = *end;
        *end += bytes_of(o);
    }
    c->copies = 1;
    if (!c->options.cold || !c->copy_bytes) return;
    c->copies = (int64_t)(2 * (size_t)c->cu->l2_bytes / c->copy_bytes) + 2;
    if (c->copies > MOST_COPIES)
        cm__fail(c->ctx, CM_ERR_UNSUPPORTED,
                 "operands of %zu bytes are too small for cold runs: copies cannot exceed the cache of %d bytes",
                 c->copy_bytes, c->cu->l2_bytes);
}

static void free_memory(void *object)
{
    cm__cuda_case *c = object;
    if (c->graph) c->cu->driver.cuGraphExecDestroy(c->graph);
    if (c->memory) c->cu->driver.cuMemFree(c->memory);
}

static void allocate(cm__cuda_case *c)
{
    char   needed[32], there[32];
    size_t bytes = c->shared_bytes + c->copy_bytes * (size_t)c->copies, free_bytes = 0, total_bytes = 0;
    CU(c, cuMemGetInfo, &free_bytes, &total_bytes);
    if (bytes + SPARE_BYTES > free_bytes)
        cm__fail(c->ctx, CM_ERR_LIMIT, "it needs %sB of device memory; %sB are free",
                 cm__si(needed, sizeof needed, (double)(bytes + SPARE_BYTES)),
                 cm__si(there, sizeof there, (double)free_bytes));
    cm__defer(c->ctx, free_memory, c);
    if (bytes) CU(c, cuMemAlloc, &c->memory, bytes);
}

static void launch_fill(cm__cuda_case *c, const char *kernel, cm__type type, void **arguments, int64_t count)
{
    char    defines[64];
    int64_t blocks = (count + FILL_THREADS - 1) / FILL_THREADS;
    snprintf(defines, sizeof defines, "-DTYPE_T=%s", type < TYPE_INT64 ? cm__types[type].device : "float");
    cu_function function = cm__cuda_kernel(c->ctx, c->cu, "base.cu", kernel, defines);
    unsigned    grid = (unsigned)(blocks > 65535 ? 65535 : blocks);
    cm__cuda_need(
        c->ctx, c->cu,
        c->cu->driver.cuLaunchKernel(function, grid, 1, 1, FILL_THREADS, 1, 1, 0, c->cu->stream, arguments, NULL),
        kernel);
}

static void fill_copy(cm__cuda_case *c, cm__operand *o, cu_address at)
{
    int64_t positive = o->fill == FILL_POSITIVE;
    float   one = 1;
    switch (o->fill) {
    case FILL_NONE: break;
    case FILL_RANDOM:
    case FILL_POSITIVE:
        launch_fill(c, "fill", o->type, (void *[]){&at, &o->count, &o->key, &o->scale, &positive}, o->count);
        break;
    case FILL_ONE: launch_fill(c, "fill_one", o->type, (void *[]){&at, &o->count, &one}, o->count); break;
    case FILL_INDEX:
        launch_fill(c, "fill_index", o->type, (void *[]){&at, &o->count, &o->key, &o->limit}, o->count);
        break;
    case FILL_BYTE: launch_fill(c, "fill_byte", o->type, (void *[]){&at, &o->count, &o->key}, o->count); break;
    case FILL_ZERO: CU(c, cuMemsetD8Async, at, 0, bytes_of(o), c->cu->stream); break;
    }
}

static void refill_one(cm__cuda_case *c, int operand)
{
    int64_t copies = c->operands[operand].shared ? 1 : c->copies;
    for (int64_t copy = 0; copy < copies; copy++)
        fill_copy(c, &c->operands[operand], cm__cuda_address(c, operand, copy));
}

void cm__cuda_refill(cm__cuda_case *c)
{
    for (int i = 0; i < c->n_operands; i++) refill_one(c, i);
    cm__cuda_need(c->ctx, c->cu, c->cu->driver.cuStreamSynchronize(c->cu->stream), "filling the operands");
}

void cm__cuda_place(cm__cuda_case *c)
{
    lay_out(c);
    allocate(c);
    cm__cuda_refill(c);
}
