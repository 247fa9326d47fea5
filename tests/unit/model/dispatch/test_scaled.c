/* SPDX-License-Identifier: Apache-2.0 */
/* test_scaled.c - casts to 8 bits and the products that read them. */
#include "dispatch_calls.h"

/* Two layers: the second makes the output and stays in bf16. Elements at batch 32: 32 x 16 of the input, 64 x 16 of
   the weight, 32 x 64 of the gradient. */
static void calls_of(cm__ctx *ctx, cm_runtime runtime, bool trains, listed *got)
{
    cm_graph        *forward = read(ctx, "input x 16\nlinear 64\nrelu\nlinear 10\n"), *step;
    cm_train_options o = {.precision = CM_PRECISION_FP8, .inference = !trains};
    if (cm_graph_train(forward, &o, &step, &diag)) fail_msg("%s", diag.reason);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, runtime), 32, got);
    cm_graph_free(step);
}

static void products_have_one_form(void **state)
{
    (void)state;
    static listed got;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    calls_of(ctx, CM_RUNTIME_TORCH_COMPILE, true, &got);
    assert_int_equal(times(&got, "gemm forward nt fp8 1,32,64,16"), 1);
    assert_int_equal(times(&got, "gemm forward nt-exact fp8 1,64,16,32"), 1); /* the gradient of the weight */
    assert_int_equal(times(&got, "gemm forward nt fp8 1,32,10,64"), 0);       /* the output */
    cm__ctx_free(ctx);
}

/* 5 bytes for each of two uses under torch.compile, 4 for both in Transformer Engine; timed as fp32 copies of 8 bytes an
   element. Inference uses an operand once: 5 and 3 bytes. */
static void casts_move_bytes_for_each_use(void **state)
{
    static const struct {
        cm_runtime  runtime;
        bool        trains;
        const char *input, *weight, *gradient;
    } cases[] = {
        {CM_RUNTIME_TORCH_COMPILE, true, "elementwise forward copy fp32 1,640", "elementwise forward copy fp32 1,1280",
         "elementwise forward copy fp32 1,2560"},
        {CM_RUNTIME_TORCH_EAGER, true, "elementwise forward copy fp32 1,256", "elementwise forward copy fp32 1,512",
         "elementwise forward copy fp32 1,1024"},
        {CM_RUNTIME_TORCH_COMPILE, false, "elementwise forward copy fp32 1,320", "elementwise forward copy fp32 1,640", NULL},
        {CM_RUNTIME_TORCH_EAGER, false, "elementwise forward copy fp32 1,192", "elementwise forward copy fp32 1,384", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static listed got;
        cm__ctx      *ctx = cm__ctx_new(&diag);
        if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
        calls_of(ctx, cases[i].runtime, cases[i].trains, &got);
        const char *wanted[] = {cases[i].input, cases[i].weight, cases[i].gradient};
        for (int k = 0; k < 3; k++)
            if (wanted[k] && times(&got, wanted[k]) < 1) fail_msg("case %zu: no %s", i, wanted[k]);
        cm__ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_have_one_form),
                                       cmocka_unit_test(casts_move_bytes_for_each_use)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
