/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - the table of probes. */
#include "bench/backends/cuda/probes/probe.h"

#define THREADS 1024
#define COLUMNS 6 /* as in kernels/probe.cu */

cu_function cm__cuda_probe_kernel(cm__cuda_case *c, const char *name)
{
    return cm__cuda_kernel(c->ctx, c->cu, "probe.cu", name, "");
}

void cm__cuda_probe_once(cm__cuda_case *c)
{
    if (cm__cuda_launch_all(c, 0)) cm__cuda_fail_case(c);
    CU(c, cuStreamSynchronize, c->cu->stream);
    c->n_launches = 0;
}

void cm__cuda_probe_pattern(cm__cuda_case *c, int operand, int64_t words)
{
    cm__launch *l = cm__cuda_add_launch(c, cm__cuda_probe_kernel(c, "pattern"), c->cu->processors * 4, 1, THREADS);
    cm__cuda_arg_operand(l, operand);
    cm__cuda_arg_int(l, words);
    cm__cuda_probe_once(c);
}

double cm__cuda_probe_word(int64_t index)
{
    return (double)((uint32_t)index * 2654435761u);
}

static const struct {
    const cm__cuda_op *op;
    void (*make)(cm__cuda_case *c, const cm_probe_request *r, double *work);
    int64_t least_bytes;
} probes[CM_PROBES] = {
    [CM_PROBE_READ] = {&cm__cuda_op_read, cm__cuda_make_read, 16},
    [CM_PROBE_COPY] = {&cm__cuda_op_copy, cm__cuda_make_copy, 32},
    [CM_PROBE_VECTOR] = {&cm__cuda_op_vector, cm__cuda_make_vector, 0},
    [CM_PROBE_LAUNCH] = {&cm__cuda_op_empty, cm__cuda_make_empty, 0},
    [CM_PROBE_SUBMIT] = {&cm__cuda_op_empty, cm__cuda_make_empty, 0},
    [CM_PROBE_ROUND_TRIP] = {&cm__cuda_op_empty, cm__cuda_make_empty, 0},
    [CM_PROBE_TO_PINNED] = {&cm__cuda_op_transfer, cm__cuda_make_transfer, 4},
    [CM_PROBE_TO_PAGEABLE] = {&cm__cuda_op_transfer, cm__cuda_make_transfer, 4},
    [CM_PROBE_FROM_PINNED] = {&cm__cuda_op_transfer, cm__cuda_make_transfer, 4},
    [CM_PROBE_FROM_PAGEABLE] = {&cm__cuda_op_transfer, cm__cuda_make_transfer, 4},
    [CM_PROBE_LOOKUP] = {&cm__cuda_op_lookup, cm__cuda_make_lookup, 2 * COLUMNS * 8},
};

void cm__cuda_make_probe(cm__cuda_case *c, const cm_probe_request *request, double *work)
{
    if (request->probe < 0 || request->probe >= CM_PROBES || !probes[request->probe].make)
        cm__fail(c->ctx, CM_ERR_UNSUPPORTED, "no such probe: %d", (int)request->probe);
    if (request->bytes < probes[request->probe].least_bytes)
        cm__fail(c->ctx, CM_ERR_ARGUMENT, "%lld bytes are too few", (long long)request->bytes);
    c->op = probes[request->probe].op;
    probes[request->probe].make(c, request, work);
    c->kernels = c->n_launches;
}
