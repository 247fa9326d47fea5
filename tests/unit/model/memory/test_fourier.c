/* SPDX-License-Identifier: Apache-2.0 */
/* test_fourier.c - memory of Fourier transforms, beside cuFFT on an H200 (evidence/kernels.tar.xz: layers.jsonl) */
#include "import/import.h"
#include "model/memory/footprint.h"
#include "trace_calls.h"

#include <math.h>

#define THERE(whole, half, size)                                                                                       \
    CAPTURE(whole, "[" size "]", "5", C(half) "," X(whole),                                                            \
            STEP("aten::_fft_r2c", "[2]", "[4]", "\"dim\":[2,3],\"normalization\":0,\"onesided\":1") ","               \
            STEP("aten::_fft_c2r", "[4]", "[5]", "\"dim\":[2,3],\"normalization\":2,\"last_dim_size\":" size))

static cm_footprint *footprint_of(cm__ctx *ctx, const char *trace, cm_graph **step)
{
    static cm_device *h200;
    cm_load_options   o = {0};
    cm_memory_options options = {.runtime = CM_RUNTIME_TORCH_EAGER};
    cm_footprint     *f;
    if (!h200) assert_int_equal(cm_device_load("nvidia-h200", &h200, NULL), CM_OK);
    cm_graph *g = cm__import_trace(ctx, "small", trace, strlen(trace), &o);
    cm__finish(g, CM_FUSE_NONE);
    *step = step_of(g, CM_PRECISION_FP32, false);
    assert_int_equal(cm_footprint_new(*step, h200, &options, &f, NULL), CM_OK);
    return f;
}

/* Temporaries of the transform to (first) or from a spectrum, forward and backward, at 128 transforms. */
static void check(const char *trace, const double expected[4])
{
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph     *step;
    cm_footprint *f = footprint_of(ctx, trace, &step);
    int           found = 0;
    for (int32_t i = 0; i < step->n_nodes; i++) {
        const cm_node *n = &step->nodes[i];
        if (n->op != CM_OP_FFT && n->op != CM_OP_FFT_GRAD) continue;
        cm__temporary t = cm__workspace(f, n);
        double        got = cm__temporary_at(&t, 4), want = expected[found++];
        double        off = 512 + 0.004 * want;
        if (fabs(got - want) > off) fail_msg("transform %d: %.0f bytes, measured %.0f", found, got, want);
    }
    assert_int_equal(found, 4);
    cm_footprint_free(f);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* In the order of the step: to the spectrum, back, and the gradients of the second and the first. */
static void temporaries(void **state)
{
    (void)state;
    check(THERE("[[1,0],32,64,64]", "[[1,0],32,64,33]", "64"), (double[]){0, 2162688, 0, 4194304});
    check(THERE("[[1,0],32,85,85]", "[[1,0],32,85,43]", "85"),
          (double[]){7398912, 3742720 + 7441920, 7398912, 7398400 + 7398400.0}); /* 7441920: 0.6 % more than counted */
}

/* The gradient of real numbers is a view of complex ones; the real numbers themselves are saved until then. */
static void pieces(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph     *step;
    cm_footprint *f = footprint_of(ctx, THERE("[[1,0],32,64,64]", "[[1,0],32,64,33]", "64"), &step);
    int32_t       last = -1, found = 0;
    for (int32_t i = 0; i < step->n_nodes; i++)
        if (step->nodes[i].op == CM_OP_FFT_GRAD) last = i;
    const cm_node *first = &step->nodes[step->nodes[last].source];
    for (int32_t p = 0; p < f->n_pieces; p++) {
        const cm__piece *piece = &f->pieces[p];
        if (piece->tensor == cm__t(step, first->inputs[0])->storage) found += piece->dies >= last;
        if (piece->tensor == cm__t(step, step->nodes[last].outputs[0])->storage)
            found += cm__poly_at(&piece->bytes, 4) == 2.0 * 4 * 4 * 32 * 64 * 64; /* complex64 */
    }
    assert_int_equal(found, 2);
    cm_footprint_free(f);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(temporaries), cmocka_unit_test(pieces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
