/* SPDX-License-Identifier: Apache-2.0 */
/* test_recorded.c - generated kernels as PyTorch's compiler described them replace those of the rules. */
#include "trace_calls.h"

#include "model/time/factors.h"

/* x * w, a function and a sum, with recorded kernels. The loss is the model's own, so that all is compiled. */
#define RECORDED(step, kernels)                                                                                        \
    "{\"schema\":1,\"kind\":\"trace\",\"name\":\"small\",\"loss\":3,\"outputs\":[3],\"compiled_precision\":\"fp32\","  \
    "\"compiled\":[{\"pass\":\"forward\",\"kernels\":[" kernels "]}],\"tensors\":["                                    \
    TENSOR("[4]", "fp32", "parameter") "," TENSOR("[[1,0],4]", "fp32", "input") "," X("[[1,0],4]") "," X("[]") ","     \
    X("[[1,0],4]") "],\"ops\":[" STEP("aten::mul.Tensor", "[1,0]", "[2]", "") "," step ","                             \
    STEP("aten::sum", "[4]", "[3]", "") "]}"
#define RELU STEP("aten::relu", "[2]", "[4]", "")
#define KERNEL(kind, terms) "{\"kernel\":\"k\",\"kind\":\"" kind "\",\"terms\":{" terms "}}"

/* Calls that begin so. */
static int made(const char *trace, cm_runtime runtime, cm_precision precision, double batch, const char *call)
{
    const listed *got = capture_calls(runtime, trace, precision, batch);
    int           count = 0;
    for (int i = 0; i < got->count; i++) count += strncmp(got->texts[i], call, strlen(call)) == 0;
    return count;
}

static int compiled(const char *trace, double batch, const char *call)
{
    return made(trace, CM_RUNTIME_TORCH_COMPILE, CM_PRECISION_FP32, batch, call);
}

/* 800 bytes per sample and 16 more are 202 numbers in and out at 4 samples. The rules would make other kernels. */
static void recorded_kernels_replace_the_rules(void **state)
{
    (void)state;
    static const char trace[] = RECORDED(RELU, KERNEL("fused", "\"moved4\":[800,16]") "," KERNEL("column_sum", "\"moved4\":[80,0]"));
    assert_int_equal(compiled(trace, 4, "elementwise forward fused fp32 1,402"), 1);
    assert_int_equal(compiled(trace, 4, "elementwise forward fused "), 1);
    assert_int_equal(compiled(trace, 4, "elementwise forward column_sum fp32 1,40"), 1);
    assert_int_equal(compiled(trace, 4, "elementwise forward column_sum "), 1);
    assert_int_equal(compiled(trace, 4, "elementwise forward long_row_sum"), 0);
}

/* Eager PyTorch, and steps in another precision than the recorded one, have their own kernels. */
static void they_are_those_of_one_runtime_and_precision(void **state)
{
    (void)state;
    static const char trace[] = RECORDED(RELU, KERNEL("fused", "\"moved4\":[800,16]"));
    static const char call[] = "elementwise forward fused fp32 1,402";
    assert_int_equal(made(trace, CM_RUNTIME_TORCH_COMPILE, CM_PRECISION_TF32, 4, call), 1);
    assert_int_equal(made(trace, CM_RUNTIME_TORCH_COMPILE, CM_PRECISION_AMP_BF16, 4, call), 0);
    assert_int_equal(made(trace, CM_RUNTIME_TORCH_EAGER, CM_PRECISION_FP32, 4, call), 0);
}

/* Random numbers come on top of a reduction's bytes, and overlap with those of a kernel that only moves. */
static void arithmetic_counts_as_bytes(void **state)
{
    (void)state;
    char   call[128];
    double random = cm__time_factors.random_number;
    snprintf(call, sizeof call, "elementwise forward row_sum fp32 1,%.0f", (8000 + 4 * 1000 * random) / 8);
    assert_int_equal(compiled(RECORDED(RELU, KERNEL("row_sum", "\"moved4\":[0,8000],\"random\":[1000,0]")), 4, call), 1);
    /* functions that take as long as the traffic: the cube root of 2 times the bytes */
    snprintf(call, sizeof call, KERNEL("fused", "\"moved4\":[0,80000],\"function_flop\":[0,%.0f]"),
             80000 / cm__time_factors.function_flop);
    char trace[4096];
    snprintf(trace, sizeof trace, RECORDED(RELU, "%s"), call);
    assert_int_equal(compiled(trace, 4, "elementwise forward fused fp32 1,12599"), 1);
    /* older captures: as bytes of a copy */
    snprintf(call, sizeof call, KERNEL("fused", "\"moved4\":[0,80000],\"functions\":[0,%.0f]"),
             80000 / (2.5 * cm__time_factors.function_flop));
    snprintf(trace, sizeof trace, RECORDED(RELU, "%s"), call);
    assert_int_equal(compiled(trace, 4, "elementwise forward fused fp32 1,12599"), 1);
}

/* A kernel without kind is not timed by its bytes: the rules know what its pool reads again. */
static void pools_are_timed_by_rules(void **state)
{
    (void)state;
    static const char trace[] =
        "{\"schema\":1,\"kind\":\"trace\",\"name\":\"small\",\"loss\":3,\"outputs\":[3],\"compiled_precision\":\"fp32\","
        "\"compiled\":[{\"pass\":\"forward\",\"kernels\":[{\"kernel\":\"max_pool\",\"kind\":null,\"terms\":{\"moved4\":[9,9]}}]}],"
        "\"tensors\":[" TENSOR("[8,1,1]", "fp32", "parameter") "," TENSOR("[[1,0],8,4,4]", "fp32", "input") ","
        X("[[1,0],8,4,4]") "," X("[]") "," X("[[1,0],8,2,2]") "],\"ops\":[" STEP("aten::mul.Tensor", "[1,0]", "[2]", "") ","
        STEP("aten::max_pool2d_with_indices", "[2]", "[4]", "\"kernel_size\":[2,2],\"stride\":[2,2]") ","
        STEP("aten::sum", "[4]", "[3]", "") "]}";
    assert_int_equal(compiled(trace, 4, "elementwise forward"), 2); /* the pool and its gradient, with what they read */
}

/* How often a step of a convolution, a batch norm and a pool makes calls that begin so. */
static int beside_a_pool(const cm__recorded *recorded, const char *call)
{
    static listed got;
    int           count = 0;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *g = read(ctx, "input x 8 8 8\nconv 8 1 bias=off\nbn\nrelu\nmaxpool 2\nflatten\nlinear 4\n");
    g->recorded = recorded;
    cm_graph *step = step_of(g, CM_PRECISION_FP32, false);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_NCHW, CM_RUNTIME_TORCH_COMPILE), 2, &got);
    for (int i = 0; i < got.count; i++) count += strncmp(got.texts[i], call, strlen(call)) == 0;
    cm_graph_free(step);
    cm__ctx_free(ctx);
    return count;
}

/* The sums of the norm are kernels of the record; of the rules' kernels only those with the pool are made. */
static void sums_before_a_pool_are_recorded(void **state)
{
    (void)state;
    static const cm__recorded_kernel pool = {.phase = CM_FORWARD};
    static const cm__recorded        record = {.kernels = &pool, .n_kernels = 1, .precision = CM_PRECISION_FP32};
    assert_true(beside_a_pool(NULL, "elementwise forward long_row_sum") > 0);
    assert_int_equal(beside_a_pool(&record, "elementwise forward long_row_sum"), 0);
    assert_true(beside_a_pool(&record, "elementwise forward fused") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_kernels_replace_the_rules), cmocka_unit_test(they_are_those_of_one_runtime_and_precision),
        cmocka_unit_test(arithmetic_counts_as_bytes),
        cmocka_unit_test(pools_are_timed_by_rules), cmocka_unit_test(sums_before_a_pool_are_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
