/* SPDX-License-Identifier: Apache-2.0 */
/* test_traffic.c - bytes that the kernels of a compiler move: a fused kernel of n elements moves 8 n bytes. */
#include "trace_calls.h"

#include <math.h>
#include "model/time/factors.h"

static void has(const char *net, int64_t batch, bool inference, const char *kind, double bytes)
{
    static listed got;
    char          call[128];
    volatile int  found = 0;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *step = step_of(read(ctx, net), CM_PRECISION_FP32, inference);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_NCHW, CM_RUNTIME_TORCH_COMPILE), batch, &got);
    for (int more = -1; more <= 1; more++) { /* bytes and numbers are rounded one by one */
        snprintf(call, sizeof call, "elementwise forward %s fp32 1,%lld", kind, (long long)(bytes / 8 + 0.5) + more);
        found += times(&got, call);
    }
    if (found != 1) fail_msg("%d calls like '%s' for %s", found, call, net);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* The cost of a number of so many bytes: its bytes and an access, in relation to a number of 4 bytes. */
static double counted(double bytes)
{
    double access = cm__time_factors.access_bytes;
    return (bytes + access) / (4 + access) * 4;
}

/* An access takes the time of one byte: (2 + 1) / (4 + 1) of four bytes for a number of 16 bits. */
static void accesses_count(void **state)
{
    (void)state;
    assert_true(fabs(cm__time_factors.access_bytes - 1) < 1e-9);
    assert_true(fabs(counted(2) - 2.4) < 1e-9);
    assert_true(fabs(counted(4) - 4) < 1e-9);
}

/* The gradient of a pool looks at every window that contains an element: four with stride 2. */
static void gradients_of_pools_look_at_windows(void **state)
{
    (void)state;
    double results = 2 * 16, elements = 2 * 64;
    has("input x 1 8 8\nconv 1 1 bias=off\nmaxpool 3 stride=2 pad=1\nflatten\nlinear 4\n", 2, false, "fused",
        (4 + counted(1)) * results + 4 * elements + 4 * elements * cm__time_factors.pool_gradient);
}

/* A look-up reads its 2 x 3 rows of 4 numbers, not the table of 100, and 6 indices. */
static void look_ups_read_their_rows(void **state)
{
    (void)state;
    has("tokens x 3\nembed 100 4\nrelu\nlinear 2\n", 2, true, "fused", 6 * counted(8) + 2 * 6 * 4 * 4);
}

/* Each of the 2 x 64 gradients of a grown image is added to one place (nearest) or to four (linear) of the 2 x 16 of the
   smaller one, by atomic additions. The kernel reads the former and writes the latter. */
static void gradients_of_resized_images_are_added(void **state)
{
    (void)state;
    double grown = 2 * 64, small = 2 * 16;
    has("input x 1 4 4\nconv 1 1 bias=off\nupsample 2\nconv 1 1 bias=off\nflatten\nlinear 4\n", 2, false, "fused",
        4 * (grown + small) + grown * cm__time_factors.atomic_add);
    has("input x 1 4 4\nconv 1 1 bias=off\nupsample 2 mode=1\nconv 1 1 bias=off\nflatten\nlinear 4\n", 2, false, "fused",
        4 * (grown + small) + 4 * grown * cm__time_factors.atomic_add);
}

/* In an image that grew by four, four neighbours of a row add to the same number and wait for each other. */
static void neighbours_that_add_to_one_number_wait(void **state)
{
    (void)state;
    double grown = 2 * 256, small = 2 * 16, wait = 4 / cm__time_factors.atomic_add_lanes;
    has("input x 1 4 4\nconv 1 1 bias=off\nupsample 4 mode=1\nconv 1 1 bias=off\nflatten\nlinear 4\n", 2, false, "fused",
        4 * (grown + small) + 4 * grown * cm__time_factors.atomic_add * wait);
}

/* Rows of 5 channels that become an image of 4 x 4 have channels last, and so has the gradient of the grown image. */
static void gradients_of_resized_rows_are_added_with_channels_last(void **state)
{
    (void)state;
    static const char net[] = "input x 16 5\nlinear 5 bias=off\ntranspose 0 2 1\nreshape 5 4 4\nupsample 2\n"
                              "conv 1 1 bias=off\nflatten\nlinear 4\n";
    double grown = 2 * 5 * 64, small = 2 * 5 * 16;
    has(net, 2, false, "fused", 4 * (grown + small) + grown * cm__time_factors.atomic_add_nhwc);
}

/* 3 rows of 4 numbers are added to a table of 100 rows: the gradients and 3 indices are read, the table is
   written. */
static void gradients_of_look_ups_are_added(void **state)
{
    (void)state;
    has("tokens x 3\nembed 100 4\nflatten\nlinear 2\n", 1, false, "fused",
        4 * 12 + counted(8) * 3 + 4 * 400);
}

/* scatter_add of 2 x 8 numbers times 8 weights into 2 x 8 others: all of them and 16 places are read, the sums written. */
static void scattered_numbers_are_added(void **state)
{
    (void)state;
    double bytes = 16 * (4 + 4 + 4 + counted(8)) + 8 * 4;
    char   call[128];
    snprintf(call, sizeof call, "elementwise forward fused fp32 1,%lld", (long long)(bytes / 8 + 0.5));
    MAKES_BY(TORCH_COMPILE,
             CAPTURE("[[1,0],8]", "[8]", "6", TENSOR("[[1,0],8]", "fp32", "input") "," TENSOR("[[1,0],8]", "int64", "input") ","
                     X("[[1,0],8]"), STEP("aten::scatter_add", "[4,5,2]", "[6]", "\"dim\":1")), FP32, 2, call);
}

/* A copy of so many bytes. */
static const char *copy_of(double bytes)
{
    static char call[128];
    snprintf(call, sizeof call, "elementwise forward fused fp32 1,%lld", (long long)(bytes / 8 + 0.5));
    return call;
}

#define TABLE(rows, places)                                                                                            \
    CAPTURE("[[1,0]," places "]", "[" places "]", "9",                                                                 \
            TENSOR("[" rows ",3]", "fp32", "parameter") "," TENSOR("[3,4]", "fp32", "parameter") "," X("[" rows ",4]") \
            "," TENSOR("[" places "]", "int64", "buffer") "," X("[" places ",4]") "," X("[[1,0],4]"),                  \
            STEP("aten::mm", "[4,5]", "[6]", "") "," STEP("aten::index.Tensor", "[6,7]", "[8]", "") ","                \
            STEP("aten::mm", "[2,8]", "[9]", ""))

/* A table of 8 x 4 numbers gets 800 additions in bf16, 25 to each: they wait for one another. One of 1,000 x 4 numbers
   gets 80,000, 20 to each: they are tried again as often as others come first. */
static void additions_in_bf16_are_tried_again(void **state)
{
    (void)state;
    double few = 800 * counted(2) + 200 * counted(8) + 32 * counted(2);
    double many = 80000 * counted(2) + 20000 * counted(8) + 4000 * counted(2);
    MAKES_BY(TORCH_COMPILE, TABLE("8", "200"), AMP_BF16, 2,
             copy_of(few + 800 * cm__time_factors.contended_bf16_each));
    MAKES_BY(TORCH_COMPILE, TABLE("1000", "20000"), AMP_BF16, 2,
             copy_of(many + 20 * 20 * cm__time_factors.contended_bf16));
}

/* Between two products in AMP a ReLU reads and writes 2 x 16 numbers of 2 bytes: the call has the bytes that are moved.
   What reads the 16-bit product and writes fp32 numbers moves more bytes in fp32: it is counted as before. */
static void calls_have_the_type_of_most_bytes(void **state)
{
    static listed got;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    (void)state;
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *step = step_of(read(ctx, "input x 8\nlinear 16\nrelu\nlinear 2\n"), CM_PRECISION_AMP_FP16, true);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_NCHW, CM_RUNTIME_TORCH_COMPILE), 2, &got);
    assert_int_equal(times(&got, "elementwise forward fused fp32 1,19"), 1);
    cm_graph_free(step);
    step = step_of(read(ctx, "input x 8\nlinear 16\nsoftmax\n"), CM_PRECISION_AMP_FP16, true);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_NCHW, CM_RUNTIME_TORCH_COMPILE), 2, &got);
    char call[128];
    snprintf(call, sizeof call, "elementwise forward row_sum fp32 1,%lld", (long long)(32 * (counted(2) + 4) / 8 + 0.5));
    assert_int_equal(times(&got, call), 1);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* A softmax of 4 x 96 numbers with dropout reads them, and writes the probabilities, those that dropout keeps, and a mask of one byte each.
   A row of 96 takes 128 lanes, each of which draws a random number. */
static void lanes_beyond_a_row_draw_numbers(void **state)
{
    (void)state;
    double moved = 4 + 4 + 4 + counted(1), drawn = cm__time_factors.random_number;
    has("input x 8\nlinear 96\nsoftmax\ndropout 0.5\nlinear 4\n", 4, false, "row_sum", 4 * (96 * moved + 128 * drawn));
    has("input x 8\nlinear 128\nsoftmax\ndropout 0.5\nlinear 4\n", 4, false, "row_sum", 4 * 128 * (moved + drawn));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(accesses_count),
                                       cmocka_unit_test(gradients_of_pools_look_at_windows),
                                       cmocka_unit_test(look_ups_read_their_rows),
                                       cmocka_unit_test(gradients_of_resized_images_are_added),
                                       cmocka_unit_test(neighbours_that_add_to_one_number_wait),
                                       cmocka_unit_test(scattered_numbers_are_added),
                                       cmocka_unit_test(gradients_of_resized_rows_are_added_with_channels_last),
                                       cmocka_unit_test(gradients_of_look_ups_are_added),
                                       cmocka_unit_test(additions_in_bf16_are_tried_again),
                                       cmocka_unit_test(lanes_beyond_a_row_draw_numbers),
                                       cmocka_unit_test(calls_have_the_type_of_most_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
