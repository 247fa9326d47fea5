/* SPDX-License-Identifier: Apache-2.0 */
/* test_preferred_layout.c - when Inductor makes images channels-last. */
#include "model/inductor/fusing.h"
#include "trace_calls.h" /* after rules.h, which has another X */

#define COMPILED(net, batch, ...)                                                                                      \
    calls_by(CM_RUNTIME_TORCH_COMPILE, net, CM_PRECISION_FP32, true, CM_LAYOUT_AUTO, batch, CALLS(__VA_ARGS__))

static bool trains_in_nhwc(const char *net)
{
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_load_options load = {.fuse = CM_FUSE_ALL};
    cm_graph       *forward = cm__import_net(ctx, "test", net, strlen(net), &load);
    cm__finish(forward, CM_FUSE_ALL);
    cm_graph *step = step_of(forward, CM_PRECISION_FP32, false);
    bool      nhwc = cm__compiler_prefers_nhwc(step);
    cm_graph_free(step);
    cm__ctx_free(ctx);
    return nhwc;
}

/* One convolution among 300 operators: images keep their layout. The convolution, its weight and bias, the flattening
   and the linear layer with its two are 7. */
static void rare_convolutions_change_nothing(void **state)
{
    (void)state;
    char net[8192], *to = net;
    for (int more = 0; more < 2; more++) {
        to = net + sprintf(net, "input x 64 4 4\nconv 128 1\n");
        for (int i = 0; i < 290 + 10 * more; i++) to += sprintf(to, "relu\n");
        sprintf(to, "flatten\nlinear 4\n");
        assert_int_equal(trains_in_nhwc(net), !more);
    }
}

/* 128 channels: Inductor makes the images of a training step channels-last. With at most 64 it does not, nor with a filter
   that halves them or with groups of several channels; depthwise ones are no obstacle. */
static void training_becomes_channels_last(void **state)
{
    (void)state;
    assert_true(trains_in_nhwc("input x 64 4 4\nconv 128 1\nflatten\nlinear 4\n"));
    assert_false(trains_in_nhwc("input x 64 4 4\nconv 64 1\nflatten\nlinear 4\n"));
    assert_false(trains_in_nhwc("input x 128 4 4\nconv 128 1\nconv 64 3 pad=1\nflatten\nlinear 4\n"));
    assert_false(trains_in_nhwc("input x 64 4 4\nconv 128 1\nconv 32 1\nconv 16 3 pad=1\nflatten\nlinear 4\n"));
    assert_true(trains_in_nhwc("input x 128 4 4\nconv 128 1\nconv 128 3 pad=1 groups=128\nflatten\nlinear 4\n"));
    assert_false(trains_in_nhwc("input x 128 4 4\nconv 128 1\nconv 128 1 groups=2\nflatten\nlinear 4\n"));
}

/* Inference: only groups of several channels are faster in channels-first. */
static void convolutions_become_channels_last(void **state)
{
    (void)state;
    COMPILED("input x 64 4 4\nconv 64 1 bias=off\n", 2, "conv forward nhwc fp32 2,64,64,4,4,1,1,1,1,0,0,1,1,1");
    COMPILED("input x 128 4 4\nconv 64 3 pad=1 bias=off\n", 2, "conv forward nhwc fp32 2,128,64,4,4,3,3,1,1,1,1,1,1,1");
    COMPILED("input x 128 4 4\nconv 128 1 groups=2 bias=off\n", 2,
             "conv forward nchw fp32 2,128,128,4,4,1,1,1,1,0,0,1,1,2");
    COMPILED("input x 128 4 4\nconv 128 3 pad=1 groups=128 bias=off\n", 2, /* depthwise */
             "conv forward nhwc fp32 2,128,128,4,4,3,3,1,1,1,1,1,1,128");
}

/* A convolution of sequences, as in efficient channel attention, counts and keeps its layout: only images change. */
static void sequences_stay(void **state)
{
    (void)state;
    MAKES_BY(TORCH_COMPILE,
             CAPTURE("[[1,0],128,4,4]", "[4,4]", "8",
                     TENSOR("[128,128,1,1]", "fp32", "parameter") "," X("[[1,0],128,4,4]") "," X("[[1,0],128,16]") ","
                     TENSOR("[128,128,1]", "fp32", "parameter") "," X("[[1,0],128,16]"),
                     STEP("aten::convolution", "[2,4]", "[5]", "\"stride\":[1,1],\"padding\":[0,0],\"groups\":1") ","
                     STEP("aten::view", "[5]", "[6]", "") ","
                     STEP("aten::convolution", "[6,7]", "[8]", "\"stride\":[1],\"padding\":[0],\"groups\":1")),
             FP32, 2, "conv forward nhwc fp32 2,128,128,4,4,1,1,1,1,0,0,1,1,1",
             "conv forward nchw fp32 2,128,128,1,16,1,1,1,1,0,0,1,1,1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rare_convolutions_change_nothing),
                                       cmocka_unit_test(training_becomes_channels_last),
                                       cmocka_unit_test(convolutions_become_channels_last),
                                       cmocka_unit_test(sequences_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
