/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - add the kernel calls of one training step of a model, the same calls that `predict` sums up. */
#include <math.h>
#include "bench/bench.h"
#include "model/dispatch/dispatch.h"

static void free_graph(void *graph) { cm_graph_free(graph); }

/* Fail with the diagnosis of a library function that failed. */
static void require(cm__ctx *ctx, cm_status status, const cm_diag *diag)
{
    if (status == CM_OK) return;
    ctx->file = *diag->file ? cm__text_copy(ctx, diag->file) : NULL;
    cm__place(ctx, "%s", diag->place);
    cm__fail(ctx, status, "%s", diag->reason);
}

/* Devices without a 16-bit type default to fp32; others use the model's usual training precision. */
static cm_graph *step_of(cm_bench *b)
{
    cm_graph        *forward, *step;
    cm_diag          diag = {0};
    cm_train_options train = b->options.train;
    bool             half = false;
    for (int i = 0; cm__bench_dtype(b, i); i++) half = half || cm__is_half(cm__bench_dtype(b, i));
    if (train.precision == CM_PRECISION_DEFAULT && !half) train.precision = CM_PRECISION_FP32;
    require(b->ctx, cm_graph_load(b->options.model, &b->options.load, &forward, &diag), &diag);
    cm__defer(b->ctx, free_graph, forward);
    require(b->ctx, cm_graph_train(forward, &train, &step, &diag), &diag);
    cm__defer(b->ctx, free_graph, step);
    return step;
}

void cm__add_calls_of_model(cm_bench *b)
{
    const cm__dispatch *d = cm__dispatch_new(b->ctx, step_of(b), CM_LAYOUT_AUTO, CM_RUNTIME_NATIVE);
    double              batch = b->options.batch ? (double)b->options.batch : 1;
    for (int32_t i = 0; i < d->n_calls; i++) {
        cm__call call;
        cm__call_at(&d->calls[i], batch, &call);
        cm__add_requested_call(b, "model", cm__call_kinds[call.op].name, &call, d->runs[i], NAN);
    }
}
