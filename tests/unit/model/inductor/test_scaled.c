/* SPDX-License-Identifier: Apache-2.0 */
/* test_scaled.c - casts to 8 bits and the products that read them. */
#include "dispatch_calls.h"

/* Two layers: the second makes the output and stays in bf16. Elements at batch 32: 32 x 16 of the input, 64 x 16 of
   the weight, 32 x 64 of the gradient. */
#define NET "input x 16\nlinear 64\nrelu\nlinear 10\n"

static void calls_of(cm__ctx *ctx, const char *net, cm_runtime runtime, bool trains, listed *got)
{
    cm_graph        *forward = read(ctx, net), *step;
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
    calls_of(ctx, NET, CM_RUNTIME_TORCH_COMPILE, true, &got);
    assert_int_equal(times(&got, "gemm forward nt fp8 1,32,64,16"), 1);
    assert_int_equal(times(&got, "gemm forward nt-exact fp8 1,64,16,32"), 1); /* the gradient of the weight */
    assert_int_equal(times(&got, "gemm forward nt fp8 1,32,10,64"), 0);       /* the output */
    cm__ctx_free(ctx);
}

/* 5 bytes for each of two uses under torch.compile, 4 for both in Transformer Engine; timed as fp32 copies of 8 bytes an
   element. Inference uses an operand once: 5 and 3 bytes. The gradient is that of ReLU: no pass is added to its 10
   bytes. */
static void casts_move_bytes_for_each_use(void **state)
{
    static const struct {
        cm_runtime  runtime;
        bool        trains;
        const char *input, *weight, *gradient;
    } cases[] = {
        {CM_RUNTIME_TORCH_COMPILE, true, "elementwise forward copy fp32 1,640", NULL, "elementwise forward copy fp32 1,2560"},
        {CM_RUNTIME_TORCH_EAGER, true, "elementwise forward copy fp32 1,256", "elementwise forward copy fp32 1,512",
         "elementwise forward copy fp32 1,1024"},
        {CM_RUNTIME_TORCH_COMPILE, false, "elementwise forward copy fp32 1,320", NULL, NULL},
        {CM_RUNTIME_TORCH_EAGER, false, "elementwise forward copy fp32 1,192", "elementwise forward copy fp32 1,384", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static listed got;
        cm__ctx      *ctx = cm__ctx_new(&diag);
        if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
        calls_of(ctx, NET, cases[i].runtime, cases[i].trains, &got);
        const char *wanted[] = {cases[i].input, cases[i].weight, cases[i].gradient};
        for (int k = 0; k < 3; k++)
            if (wanted[k] && times(&got, wanted[k]) < 1) fail_msg("case %zu: no %s", i, wanted[k]);
        cm__ctx_free(ctx);
    }
}

/* How often a compiled training step of a network makes a call. */
static int compiled(const char *net, bool trains, const char *call)
{
    static listed got;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    calls_of(ctx, net, CM_RUNTIME_TORCH_COMPILE, trains, &got);
    int count = times(&got, call);
    cm__ctx_free(ctx);
    return count;
}

/* 1,024 numbers: for each use 2 bytes that count as 2.4 for the largest value, 4 for each of 512 parts, 3 for the cast.
   Inference does not need the transposed one. */
static void casts_of_weights_stand_alone(void **state)
{
    (void)state;
    assert_int_equal(compiled(NET, true, "elementwise forward fused fp32 1,307"), 2);
    assert_int_equal(compiled(NET, true, "elementwise forward fused fp32 1,256"), 2);
    assert_int_equal(compiled(NET, true, "elementwise forward fused fp32 1,384"), 2);
    assert_int_equal(compiled(NET, false, "elementwise forward fused fp32 1,307"), 1);
    assert_int_equal(compiled(NET, false, "elementwise forward fused fp32 1,384"), 1);
}

/* Without ReLU a product makes the gradient, and its largest value is found in transposed order: each of the 32 x 64 numbers
   takes a sector of 32 bytes from the cache, of which the cast already counts 2. */
static void a_stored_gradient_is_read_apart(void **state)
{
    (void)state;
    static const char apart[] = "elementwise forward copy fp32 1,7680";
    assert_int_equal(compiled("input x 16\nlinear 64\nlinear 10\n", true, apart), 1);
    assert_int_equal(compiled("input x 16\nlinear 64\nlinear 10\n", false, apart), 0);
    assert_int_equal(compiled(NET, true, apart), 0);
}

/* Two products read the same input: 32 x 16 numbers of 10 bytes are cast once. */
static void an_input_of_two_products_is_cast_once(void **state)
{
    (void)state;
    static const char net[] = "input x 16\nlinear 64 from x as u\nlinear 64 from x\nsilu\nmul . u\nlinear 10\n";
    assert_int_equal(compiled(net, true, "elementwise forward copy fp32 1,640"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_have_one_form),
                                       cmocka_unit_test(casts_move_bytes_for_each_use),
                                       cmocka_unit_test(casts_of_weights_stand_alone),
                                       cmocka_unit_test(a_stored_gradient_is_read_apart),
                                       cmocka_unit_test(an_input_of_two_products_is_cast_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
