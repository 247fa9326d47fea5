/* SPDX-License-Identifier: Apache-2.0 */
/* test_rnn.c - recurrent layers: which of them run as one call; and cells. */
#include "dispatch_calls.h"

/* One direction of one layer over [B, 5, in], as captured: [B, 5, hidden]. */
static int32_t cell(cm_graph *g, int32_t x, const char *weight, int64_t hidden, int64_t direction)
{
    int64_t  in = cm__t(g, x)->dims[2].fixed;
    int32_t  w = cm__parameter(g, weight, 3, (int64_t[]){1, 4 * hidden, in}),
            r = cm__parameter(g, "weight_hh", 3, (int64_t[]){1, 4 * hidden, hidden});
    cm__attr attrs[] = {CM__INTS(CM_ATTR_HIDDEN_SIZE, hidden), CM__INTS(CM_ATTR_LAYOUT, 1),
                        CM__INTS(CM_ATTR_DIRECTION, direction)};
    int32_t  y = cm__emit(g, CM_OP_LSTM, NULL, (int32_t[]){x, w, r}, 3, attrs, 3);
    return two(g, CM_OP_RESHAPE, y, cm__constant_ints(g, "shape", 3, (int64_t[]){0, 0, hidden}));
}

static int32_t dropped(cm_graph *g, int32_t x)
{
    cm__attr ratio = CM__REAL(CM_ATTR_RATIO, 0.5);
    return cm__emit(g, CM_OP_DROPOUT, NULL, &x, 1, &ratio, 1);
}

static int32_t joined(cm_graph *g, int32_t a, int32_t b)
{
    cm__attr axis = CM__INTS(CM_ATTR_AXIS, 2);
    return cm__emit(g, CM_OP_CONCAT, NULL, (int32_t[]){a, b}, 2, &axis, 1);
}

static int32_t one_module(cm_graph *g, int32_t x)
{
    return cell(g, dropped(g, cell(g, x, "rnn.weight_ih_l0", 6, 0)), "rnn.weight_ih_l1", 6, 0);
}

static int32_t two_modules(cm_graph *g, int32_t x)
{
    return cell(g, dropped(g, cell(g, x, "first.weight_ih_l0", 6, 0)), "second.weight_ih_l0", 6, 0);
}

static int32_t two_widths(cm_graph *g, int32_t x) { return cell(g, cell(g, x, "a", 8, 0), "b", 6, 0); }

static int32_t read_in_between(cm_graph *g, int32_t x)
{
    int32_t y = cell(g, x, "a", 6, 0);
    return two(g, CM_OP_ADD, cell(g, y, "b", 6, 0), y);
}

static int32_t two_dropouts(cm_graph *g, int32_t x)
{
    return cell(g, dropped(g, dropped(g, cell(g, x, "a", 6, 0))), "b", 6, 0);
}

static int32_t a_function_between(cm_graph *g, int32_t x)
{
    int32_t y = cell(g, x, "a", 6, 0);
    return cell(g, cm__emit(g, CM_OP_RELU, NULL, &y, 1, NULL, 0), "b", 6, 0);
}

static int32_t both_directions(cm_graph *g, int32_t x)
{
    for (int i = 0; i < 3; i++) {
        int32_t in = i ? dropped(g, x) : x;
        int32_t forward = cell(g, in, "f", 6, 0), reverse = cell(g, in, "r", 6, 1);
        x = joined(g, forward, reverse);
    }
    return x;
}

static const struct {
    int32_t (*build)(cm_graph *, int32_t);
    int         calls; /* per direction of time */
    const char *first; /* sizes of the first call */
    int         dropouts;
} stacks[] = {
    {one_module, 1, "3,5,7,6,2,1", 0},         {two_modules, 2, "3,5,7,6,1,1", 1},
    {two_widths, 2, "3,5,7,8,1,1", 0},         {read_in_between, 2, "3,5,7,6,1,1", 0},
    {two_dropouts, 2, "3,5,7,6,1,1", 2},       {a_function_between, 2, "3,5,7,6,1,1", 0},
    {both_directions, 1, "3,5,7,6,3,2", 0},
};

/* cuDNN runs the layers of one module in one call, which includes the dropout between them. */
static void stacked_layers_are_one_call(void **state)
{
    (void)state;
    static listed got;
    cm_dim        dims[] = {{1, 0}, {0, 5}, {0, 7}};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        cm__ctx *ctx = cm__ctx_new(&diag);
        if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
        cm_graph *g = cm__graph_new(ctx, "test", "test");
        cm__output(g, stacks[i].build(g, cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 3, dims)));
        cm__finish(g, CM_FUSE_EAGER);
        cm_graph *step = step_of(g, CM_PRECISION_FP32, false);
        list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 3, &got);
        char forward[TEXT], backward[TEXT];
        snprintf(forward, sizeof forward, "rnn forward lstm fp32 %s", stacks[i].first);
        snprintf(backward, sizeof backward, "rnn backward lstm fp32 %s", stacks[i].first);
        assert_int_equal(times(&got, "rnn forward"), stacks[i].calls);
        assert_int_equal(times(&got, "rnn backward"), stacks[i].calls);
        assert_int_equal(times(&got, forward), 1);
        assert_int_equal(times(&got, backward), 1);
        assert_int_equal(times(&got, "forward dropout "), stacks[i].dropouts);
        assert_int_equal(times(&got, "forward dropout_grad "), stacks[i].dropouts);
        cm_graph_free(step);
        cm__ctx_free(ctx);
    }
}

/* Both directions are written into one tensor, step by step. A linear layer that follows reads [B, S, 2 H] as it lies in
   memory, [S, B, 2 H]: it copies 3 * 5 rows and adds its bias apart. Under autocast, layers run in fp16. */
static void directions_lie_side_by_side(void **state)
{
    static const struct {
        cm_precision precision;
        const char  *product, *bias;
    } cases[] = {
        {CM_PRECISION_FP32, "gemm forward nt fp32 1,15,9,12", "elementwise forward add:row fp32 15,9"},
        {CM_PRECISION_AMP_BF16, "gemm forward nt bf16 1,15,9,12", "elementwise forward add:row bf16 15,9"},
    };
    (void)state;
    static listed got;
    cm_dim        dims[] = {{1, 0}, {0, 5}, {0, 7}};
    cm__attr      turned = CM__INTS(CM_ATTR_TRANS_B, 1);
    for (int i = 0; i < 2; i++) {
        cm__ctx *ctx = cm__ctx_new(&diag);
        if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
        cm_graph *g = cm__graph_new(ctx, "test", "test");
        int32_t   x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 3, dims);
        int32_t   y = joined(g, cell(g, x, "f", 6, 0), cell(g, x, "r", 6, 1));
        int32_t   w = cm__parameter(g, "w", 2, (int64_t[]){9, 12}), bias = cm__parameter(g, "b", 1, (int64_t[]){9});
        cm__output(g, cm__emit(g, CM_OP_GEMM, NULL, (int32_t[]){y, w, bias}, 3, &turned, 1));
        cm__finish(g, CM_FUSE_EAGER);
        cm_graph *step = step_of(g, cases[i].precision, true);
        list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 3, &got);
        assert_int_equal(times(&got, "forward cat"), 0);
        assert_int_equal(times(&got, cases[i].product), 1);
        assert_int_equal(times(&got, cases[i].bias), 1);
        cm_graph_free(step);
        cm__ctx_free(ctx);
    }
}

/* Recomputed layers run one by one, in forward too. */
static void layers_computed_again_are_calls_of_their_own(void **state)
{
    (void)state;
    static listed    got;
    cm__ctx         *ctx = cm__ctx_new(&diag);
    cm_train_options o = {.precision = CM_PRECISION_FP32, .recompute = CM_RECOMPUTE_FULL};
    cm_graph        *step;
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *g = read(ctx, "input x 5 7\nlstm 6 layers=2\nlinear 6\n");
    if (cm_graph_train(g, &o, &step, &diag)) fail_msg("%s: %s", diag.place, diag.reason);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 3, &got);
    assert_int_equal(times(&got, "6,2,1"), 0);
    assert_int_equal(times(&got, "rnn backward"), 2);
    assert_int_equal(times(&got, "rnn forward"), 2 + 2);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

static void layers_of_the_layer_language(void **state)
{
    (void)state;
    INFER("input x 5 7\nlstm 6 layers=3\n", FP32, AUTO, 2, "rnn forward lstm fp32 2,5,7,6,3,1");
    INFER("input x 5 7\ngru 6 layers=2\n", TF32, AUTO, 2, "rnn forward gru tf32 2,5,7,6,2,1");
    INFER("input x 5 7\nlstm 6\nlstm 6\n", FP32, AUTO, 2, "rnn forward lstm fp32 2,5,7,6,1,1",
          "rnn forward lstm fp32 2,5,6,6,1,1");
}

/* Cells of 6 numbers for 3 samples are 18 elements. An LSTM's kernel reads 4 + 4 gates and the cell of each and
   writes state, cell and 4 gates: 15 numbers, as a copy of 7.5. Backward reads the state's gradient, both cells and 4
   gates and writes 4 gradients of gates and that of the cell: 12 numbers. A GRU's kernel: 3 + 3 gates, state -> state and 5
   saved; backward the gradient and 5 saved -> 3 + 3 gates, state: 13 each. torch.compile calls the same kernels. */
static void a_cell_is_one_kernel_each_way(void **state)
{
    (void)state;
    static const struct {
        int         op;
        int64_t     gates;
        const char *forward, *backward;
    } cases[] = {
        {CM_OP_LSTM_CELL, 24, "elementwise forward copy fp32 1,135", "elementwise forward copy fp32 1,108"},
        {CM_OP_GRU_CELL, 18, "elementwise forward copy fp32 1,117", "elementwise forward copy fp32 1,117"},
    };
    static const cm_runtime runtimes[] = {CM_RUNTIME_TORCH_EAGER, CM_RUNTIME_TORCH_COMPILE};
    static listed           got;
    cm_dim                  dims[] = {{1, 0}, {0, 6}};
    cm__attr                turned = CM__INTS(CM_ATTR_TRANS_B, 1);
    for (int i = 0; i < 4; i++) {
        cm__ctx *ctx = cm__ctx_new(&diag);
        if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
        cm_graph *g = cm__graph_new(ctx, "test", "test");
        int32_t   x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 2, dims), inputs[3] = {-1, -1, x};
        for (int k = 0; k < 2; k++) {
            int32_t w = cm__parameter(g, k ? "r" : "w", 2, (int64_t[]){cases[i / 2].gates, 6});
            inputs[k] = cm__emit(g, CM_OP_GEMM, NULL, (int32_t[]){x, w}, 2, &turned, 1);
        }
        cm__output(g, cm__emit(g, cases[i / 2].op, NULL, inputs, 3, NULL, 0));
        cm__finish(g, CM_FUSE_EAGER);
        cm_graph *step = step_of(g, CM_PRECISION_AMP_BF16, false);
        list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, runtimes[i % 2]), 3, &got);
        bool same = strcmp(cases[i / 2].forward, cases[i / 2].backward) == 0;
        assert_int_equal(times(&got, cases[i / 2].forward), 1 + same);
        assert_int_equal(times(&got, cases[i / 2].backward), 1 + same);
        assert_int_equal(times(&got, "gemm"), 2 + 2);
        cm_graph_free(step);
        cm__ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stacked_layers_are_one_call),
                                       cmocka_unit_test(directions_lie_side_by_side),
                                       cmocka_unit_test(layers_computed_again_are_calls_of_their_own),
                                       cmocka_unit_test(layers_of_the_layer_language),
                                       cmocka_unit_test(a_cell_is_one_kernel_each_way)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
