/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_calls.h - the kernel calls of the step of a capture written by hand.
 *
 *     MAKES(ONE("aten::relu", "[[1,0],4]", "[4]", "[[1,0],4]", ""), FP32, 2, "elementwise forward relu fp32 1,8")
 *
 * The operator is between x * w and a sum, so that it has a gradient. The listed calls must be made exactly as often as
 * they are listed; others may be made too.
 */
#ifndef CM_TESTS_UNIT_TRACE_CALLS_H
#define CM_TESTS_UNIT_TRACE_CALLS_H

#include "dispatch_calls.h"

#define TENSOR(dims, dtype, role) "{\"dims\":" dims ",\"dtype\":\"" dtype "\",\"storage\":0,\"role\":\"" role "\"}"
#define X(dims) TENSOR(dims, "fp32", "activation")
#define C(dims) TENSOR(dims, "complex64", "activation")
#define STEP(name, in, out, attrs) "{\"op\":\"" name "\",\"in\":" in ",\"out\":" out ",\"attrs\":{" attrs "}}"
/* Tensors 0: w, 1: x, 2: x * w, 3: the sum; then those of the test, the last of which is summed. */
#define CAPTURE(x, w, last, tensors, steps)                                                                            \
    "{\"schema\":1,\"kind\":\"trace\",\"name\":\"small\",\"loss\":3,\"outputs\":[3],\"tensors\":["                     \
    TENSOR(w, "fp32", "parameter") "," TENSOR(x, "fp32", "input") "," X(x) "," X("[]") "," tensors "],\"ops\":["       \
    STEP("aten::mul.Tensor", "[1,0]", "[2]", "") "," steps "," STEP("aten::sum", "[" last "]", "[3]", "") "]}"
#define ONE(name, x, w, y, attrs) CAPTURE(x, w, "4", X(y), STEP(name, "[2]", "[4]", attrs))

static inline const listed *capture_calls(cm_runtime runtime, const char *trace, cm_precision precision, double batch)
{
    static listed   got;
    cm_load_options o = {0};
    cm__ctx        *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *g = cm__import_trace(ctx, "small", trace, strlen(trace), &o);
    cm__finish(g, CM_FUSE_NONE);
    assert_int_equal(g->n_unsupported, 0);
    cm_graph *step = step_of(g, precision, false);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_NCHW, runtime), batch, &got);
    cm_graph_free(step);
    cm__ctx_free(ctx);
    return &got;
}

static inline void makes(cm_runtime runtime, const char *trace, cm_precision precision, double batch,
                         const char *const *expected)
{
    const listed *got = capture_calls(runtime, trace, precision, batch);
    for (int i = 0; expected[i]; i++) {
        int want = 0, made = 0;
        for (int k = 0; expected[k]; k++) want += strcmp(expected[k], expected[i]) == 0;
        for (int k = 0; k < got->count; k++) made += strcmp(got->texts[k], expected[i]) == 0;
        for (int k = 0; want != made && k < got->count; k++) fprintf(stderr, "# called: %s\n", got->texts[k]);
        if (want != made) fail_msg("%d of %s, expected %d", made, expected[i], want);
    }
}

#define MAKES_BY(runtime, trace, precision, batch, ...)                                                                \
    makes(CM_RUNTIME_##runtime, trace, CM_PRECISION_##precision, batch, CALLS(__VA_ARGS__))
#define MAKES(...) MAKES_BY(TORCH_EAGER, __VA_ARGS__)

#endif
