/* SPDX-License-Identifier: Apache-2.0 */
/* test_strided.c - which elementwise kernel runs, by the strides of its operands. */
#include "dispatch_calls.h"

/* The elementwise calls of a forward pass at batch 2; all inputs are contiguous. */
static void calls(const char *net, cm_layout layout, const char *expected)
{
    static listed got;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *step = step_of(read(ctx, net), CM_PRECISION_FP32, true);
    list(cm__dispatch_new(ctx, step, layout, CM_RUNTIME_TORCH_EAGER), 2, &got);
    if (times(&got, expected) != 1) {
        for (int i = 0; i < got.count; i++) fprintf(stderr, "# called: %s\n", got.texts[i]);
        fail_msg("not called once: %s", expected);
    }
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Operands with equal strides are one contiguous run, whatever their shape. */
static void one_run(void **state)
{
    (void)state;
    calls("input x 4 8 8\nas x\nrelu\nas y\nadd x y\n", CM_LAYOUT_NCHW, "elementwise forward add fp32 1,512");
    calls("input x 4 8 8\nas x\nrelu\nas y\nadd x y\n", CM_LAYOUT_NHWC, "elementwise forward add fp32 1,512");
    calls("input x 5\nrelu\n", CM_LAYOUT_AUTO, "elementwise forward relu fp32 1,10");
}

/* A value per plane: 2 x 4 planes of 64 pixels; with channels last it is a plane of 4 per pixel of each sample. */
static void broadcast(void **state)
{
    static const char net[] = "input x 4 8 8\nas x\ngap\nas s\nmul x s\n";
    (void)state;
    calls(net, CM_LAYOUT_NCHW, "elementwise forward mul:col fp32 8,64");
    calls(net, CM_LAYOUT_NHWC, "elementwise forward mul:plane fp32 128,4");
}

/* A bias over the last dimension is a row; a bias of channels is a column, or a row with channels last. */
static void biases(void **state)
{
    (void)state;
    calls("input x 3 8 8\nconv 4 1\n", CM_LAYOUT_NCHW, "elementwise forward add:col fp32 8,64");
    calls("input x 3 8 8\nconv 4 1\n", CM_LAYOUT_NHWC, "elementwise forward add:row fp32 128,4");
}

/* A layer norm copies transposed rows. Of 16 x 1,024 numbers, neighbours are 64 bytes apart and share cache lines: blocks of
   16 rows. Of 64 x 1,024 numbers, each one is in a line of its own: a matrix with as many elements, 2 x 65,536 / 8,192. */
static void transposed(void **state)
{
    (void)state;
    calls("input x 1024 16\ntranspose 0 2 1\nln\n", CM_LAYOUT_AUTO, "elementwise forward copy:turned fp32 16,2048");
    calls("input x 1024 64\ntranspose 0 2 1\nln\n", CM_LAYOUT_AUTO, "elementwise forward copy:strided fp32 8192,16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_run), cmocka_unit_test(broadcast), cmocka_unit_test(biases),
                                       cmocka_unit_test(transposed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
