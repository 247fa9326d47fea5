/* SPDX-License-Identifier: Apache-2.0 */
/* test_workspace.c - memory that nodes allocate while they run, besides their outputs, by operator and runtime. */
#include "memory_case.h"
#include "graph/rule.h"
#include "import/import.h"
#include "model/memory/footprint.h"

/* The bytes of the first node of this type at a batch size. */
static double first(cm_graph *step, cm_memory_options o, const char *type, double batch)
{
    cm_footprint *f;
    double        bytes = NAN;
    assert_int_equal(cm_footprint_new(step, h200, &o, &f, NULL), CM_OK);
    for (int32_t i = 0; isnan(bytes) && i < step->n_nodes; i++) {
        if (strcmp(cm_node_type(&step->nodes[i]), type) != 0) continue;
        cm__temporary t = cm__workspace(f, &step->nodes[i]);
        bytes = cm__temporary_at(&t, batch);
    }
    if (isnan(bytes)) fail_msg("no node of type %s", type);
    cm_footprint_free(f);
    cm_graph_free(step);
    return bytes;
}

static double temporary(const char *model, cm_optimizer optimizer, cm_runtime runtime, const char *type, double batch)
{
    return first(step_of(model, CM_PRECISION_FP32, optimizer), (cm_memory_options){.runtime = runtime}, type, batch);
}

#define MLP "mlp:in=100,hidden=50,out=10"
#define WEIGHTS (100.0 * 50 + 50 + 50 * 10 + 10)

/* Multi-tensor Adam computes the square roots of all second moments at once: four bytes per weight. SGD does not, and
   neither does Megatron-LM's fused kernel. */
static void test_update(void **state)
{
    (void)state;
    near(temporary(MLP, CM_OPTIMIZER_ADAMW, CM_RUNTIME_TORCH_EAGER, "Update", 4), 4 * WEIGHTS, 1e-6);
    near(temporary(MLP, CM_OPTIMIZER_ADAM, CM_RUNTIME_TORCH_EAGER, "Update", 64), 4 * WEIGHTS, 1e-6);
    assert_true(temporary(MLP, CM_OPTIMIZER_SGD, CM_RUNTIME_TORCH_EAGER, "Update", 4) == 0);
    assert_true(temporary(MLP, CM_OPTIMIZER_ADAMW, CM_RUNTIME_MEGATRON, "Update", 4) == 0);
}

/* Products need none, and runtimes without PyTorch's allocator report none. */
static void test_none(void **state)
{
    (void)state;
    assert_true(temporary(MLP, CM_OPTIMIZER_ADAMW, CM_RUNTIME_TORCH_EAGER, "Gemm", 4) == 0);
    assert_true(temporary(MLP, CM_OPTIMIZER_ADAMW, CM_RUNTIME_NATIVE, "Update", 4) == 0);
}

static double loss_of(cm_runtime runtime, cm_plan plan)
{
    cm_graph *step = step_of("llama:layers=2,hidden=64,heads=4,ffn=128,vocab=1000,seq=16", CM_PRECISION_FP32,
                             CM_OPTIMIZER_SGD);
    return first(step, (cm_memory_options){.runtime = runtime, .plan = plan}, "SoftmaxGrad", 3);
}

/* PyTorch's loss of divided words has one tensor of logits more than a kernel would: 15 predicted tokens of 3
   samples. */
static void test_shared_loss(void **state)
{
    (void)state;
    near(loss_of(CM_RUNTIME_TORCH_EAGER, (cm_plan){.tp = 2, .dp = 2}), 3 * 15 * 1000 / 2.0 * 4, 1e-6);
    near(loss_of(CM_RUNTIME_TORCH_EAGER, (cm_plan){.dp = 4}), 0, 0);
    near(loss_of(CM_RUNTIME_TORCH_EAGER, (cm_plan){.tp = 2, .pp = 2}), 0, 0);
    near(loss_of(CM_RUNTIME_MEGATRON, (cm_plan){.tp = 2, .dp = 2}), 0, 0);
}

/* A temporary exists only from its least batch size on. */
static void test_least_batch(void **state)
{
    (void)state;
    cm__temporary t = {.bytes = {{10, 2}}, .least_batch = 8};
    assert_true(cm__temporary_at(&t, 7) == 0);
    assert_true(cm__temporary_at(&t, 8) == 26);
}

/* (x w)^2, elementwise, over B x 8. */
static cm_graph *squared(void)
{
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (!ctx || setjmp(ctx->trap)) fail_msg("no graph");
    cm_graph *g = cm__graph_new(ctx, "test", "test"), *step;
    cm_dim    dims[] = {{1, 0}, {0, 8}};
    int32_t   x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 2, dims), w = cm__parameter(g, "w", 1, (int64_t[]){8});
    int32_t   y = cm__emit(g, CM_OP_MUL, "mul", (int32_t[]){x, w}, 2, NULL, 0);
    int32_t   two = cm__constant_scalar(g, "two", CM_FP32, 2);
    cm__output(g, cm__emit(g, CM_OP_POW, "pow", (int32_t[]){y, two}, 2, NULL, 0));
    cm__finish(g, CM_FUSE_EAGER);
    assert_int_equal(cm_graph_train(g, &(cm_train_options){.precision = CM_PRECISION_FP32, .loss = CM_LOSS_MSE}, &step, NULL), CM_OK);
    cm__ctx_free(ctx);
    return step;
}

/* The gradient of a square is computed with two more tensors of its size. */
static void test_power(void **state)
{
    (void)state;
    near(first(squared(), (cm_memory_options){0}, "ElementwiseGrad", 4), 2 * 4.0 * 4 * 8, 1e-6);
}

/* Products of 5 numbers of relu(x w) or x w, over B x 5 x 3. */
static cm_graph *multiplied(bool zeros)
{
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (!ctx || setjmp(ctx->trap)) fail_msg("no graph");
    cm_graph *g = cm__graph_new(ctx, "test", "test"), *step;
    int32_t   x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 3, (cm_dim[]){{1, 0}, {0, 5}, {0, 3}});
    int32_t   w = cm__parameter(g, "w", 1, (int64_t[]){3});
    int32_t   y = cm__emit(g, CM_OP_MUL, "mul", (int32_t[]){x, w}, 2, NULL, 0);
    cm__attr  of[] = {CM__INTS(CM_ATTR_AXES, 1), CM__INTS(CM_ATTR_KEEPDIMS, 0)};
    if (zeros) y = cm__emit(g, CM_OP_RELU, "relu", &y, 1, NULL, 0);
    cm__output(g, cm__emit(g, CM_OP_REDUCE_PROD, "prod", &y, 1, of, 2));
    cm__finish(g, CM_FUSE_NONE);
    assert_int_equal(cm_graph_train(g, &(cm_train_options){.precision = CM_PRECISION_FP32, .loss = CM_LOSS_MSE}, &step, NULL), CM_OK);
    cm__ctx_free(ctx);
    return step;
}

/* For 4 samples, 60 numbers and 12 products: a truth value for each number, a count for each product, and one tensor of
   quotients, or six if there are zeros. */
static void test_product(void **state)
{
    (void)state;
    near(first(multiplied(false), (cm_memory_options){0}, "ElementwiseGrad", 4), 60 * (1 + 4) + 12 * 8, 1e-6);
    near(first(multiplied(true), (cm_memory_options){0}, "ElementwiseGrad", 4), 60 * (1 + 6 * 4) + 12 * 8, 1e-6);
}

/* Images x w of 6 channels and 5 x 4 pixels, and 8 filters of 3 x 3 that read at places of their own. */
static cm_graph *deformed(void)
{
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (!ctx || setjmp(ctx->trap)) fail_msg("no graph");
    cm_graph *g = cm__graph_new(ctx, "test", "test"), *step;
    cm_dim    dims[] = {{1, 0}, {0, 6}, {0, 5}, {0, 4}};
    int32_t   x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 4, dims), w = cm__parameter(g, "w", 1, (int64_t[]){4});
    int32_t   inputs[CM__DEFORMED_INPUTS] = {cm__emit(g, CM_OP_MUL, "mul", (int32_t[]){x, w}, 2, NULL, 0)};
    inputs[CM__DEFORMED_FILTERS] = cm__parameter(g, "f.weight", 4, (int64_t[]){8, 6, 3, 3});
    inputs[CM__DEFORMED_BIAS] = cm__parameter(g, "f.bias", 1, (int64_t[]){8});
    dims[1] = cm__fixed(18);
    inputs[CM__DEFORMED_OFFSETS] = cm__leaf(g, "places", CM_ROLE_INPUT, CM_FP32, 4, dims);
    dims[1] = cm__fixed(9);
    inputs[CM__DEFORMED_MASK] = cm__leaf(g, "mask", CM_ROLE_INPUT, CM_FP32, 4, dims);
    cm__attr shape = CM__INTS(CM_ATTR_OUTPUTS, CM_FP32, 4, 1, 0, 0, 8, 0, 5, 0, 4);
    cm__output(g, cm__emit_node(g, CM_OP_DEFORMED_CONV, "f", inputs, 5, &shape, 1, 1)->outputs[0]);
    cm__finish(g, CM_FUSE_NONE);
    assert_int_equal(cm_graph_train(g, &(cm_train_options){.precision = CM_PRECISION_FP32, .loss = CM_LOSS_MSE}, &step, NULL), CM_OK);
    cm__ctx_free(ctx);
    return step;
}

/* 3 images: 54 numbers for each of 60 places, and copies of 480 results. */
static void test_deformed(void **state)
{
    (void)state;
    near(first(deformed(), (cm_memory_options){0}, "DeformedConvolution", 3), 4.0 * (54 * 60 + 2 * 480), 1e-6);
    near(first(deformed(), (cm_memory_options){0}, "DeformedConvolutionGrad", 3), 4.0 * (54 * 60 + 480), 1e-6);
}

/* Distances of 7 points x w of 3 coordinates from each other. */
static cm_graph *apart(void)
{
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (!ctx || setjmp(ctx->trap)) fail_msg("no graph");
    cm_graph *g = cm__graph_new(ctx, "test", "test"), *step;
    int32_t   x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 3, (cm_dim[]){{1, 0}, {0, 7}, {0, 3}});
    int32_t   w = cm__parameter(g, "w", 1, (int64_t[]){3});
    int32_t   y = cm__emit(g, CM_OP_MUL, "mul", (int32_t[]){x, w}, 2, NULL, 0);
    cm__attr  shape = CM__INTS(CM_ATTR_OUTPUTS, CM_FP32, 3, 1, 0, 0, 7, 0, 7);
    cm__output(g, cm__emit_node(g, CM_OP_DISTANCES, "far", (int32_t[]){y, y}, 2, &shape, 1, 1)->outputs[0]);
    cm__finish(g, CM_FUSE_NONE);
    assert_int_equal(cm_graph_train(g, &(cm_train_options){.precision = CM_PRECISION_FP32, .loss = CM_LOSS_MSE}, &step, NULL), CM_OK);
    cm__ctx_free(ctx);
    return step;
}

/* For 4 samples: 196 pairs with 3 coordinates each. */
static void test_distances(void **state)
{
    (void)state;
    near(first(apart(), (cm_memory_options){0}, "DistancesGrad", 4), 196 * 3 * 4, 1e-6);
}

/* The CTC loss of 7 frames of B x 5 classes times w, with 3 labels. */
static cm_graph *aligned(void)
{
    cm__ctx *ctx = cm__ctx_new(NULL);
    if (!ctx || setjmp(ctx->trap)) fail_msg("no graph");
    cm_graph *g = cm__graph_new(ctx, "test", "test"), *step;
    int32_t   x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 3, (cm_dim[]){{0, 7}, {1, 0}, {0, 5}});
    int32_t   labels = cm__leaf(g, "labels", CM_ROLE_INPUT, CM_INT64, 2, (cm_dim[]){{1, 0}, {0, 3}});
    int32_t   w = cm__parameter(g, "w", 1, (int64_t[]){5});
    int32_t   y = cm__emit(g, CM_OP_MUL, "mul", (int32_t[]){x, w}, 2, NULL, 0);
    cm__attr  outputs = CM__INTS(CM_ATTR_OUTPUTS, CM_FP32, 1, 1, 0, CM_FP32, 3, 1, 0, 0, 7, 0, 7);
    cm__output(g, cm__emit_node(g, CM_OP_CTC_LOSS, "ctc", (int32_t[]){y, labels}, 2, &outputs, 1, 2)->outputs[0]);
    cm__finish(g, CM_FUSE_EAGER);
    assert_int_equal(cm_graph_train(g, &(cm_train_options){.precision = CM_PRECISION_FP32, .loss = CM_LOSS_MSE}, &step, NULL), CM_OK);
    cm__ctx_free(ctx);
    return step;
}

/* Log beta of 7 x 7 states; 7 x 4 blanks, and these less their maximum. */
static void test_ctc_loss(void **state)
{
    (void)state;
    near(first(aligned(), (cm_memory_options){0}, "CTCLossGrad", 2), 2 * 4.0 * (7 * 7 + 2 * 7 * 4), 1e-6);
}

/* The layout of images decides which copies a convolution in 16 bits makes: of three colours padded to eight if
   channels are last, of image, result and filter otherwise. */
static void test_layout(void **state)
{
    static const struct {
        const char *type;
        double      first[CM_LAYOUTS]; /* bytes for 4 images: by default, nchw, nhwc */
    } rows[] = {{"Conv", {8.0 * 224 * 224 * 2 * 4, 0, 8.0 * 224 * 224 * 2 * 4}},
                {"ConvGradWeight", {0, 2 * 2 * 512.0 * 14 * 14 * 4 + 2 * 512.0 * 512 * 9, 0}}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (cm_layout layout = CM_LAYOUT_AUTO; layout < CM_LAYOUTS; layout++) {
            cm_graph *step = step_of("vgg16", CM_PRECISION_AMP_BF16, CM_OPTIMIZER_SGD);
            double    got = first(step, (cm_memory_options){.layout = layout}, rows[i].type, 4);
            if (fabs(got - rows[i].first[layout]) > 0.5) fail_msg("%s, layout %d: %.0f bytes", rows[i].type, layout, got);
        }
}

/* Two sequences of 64 tokens, four heads of 16, in fp32: context parallelism gathers keys and values of all tokens for
   the heads of a device, and backward has five fp32 tensors of a device's own tokens. Megatron-LM does not. */
static void test_context_parallel(void **state)
{
    (void)state;
    static const char model[] = "llama:layers=1,hidden=64,heads=4,kv_heads=2,ffn=128,vocab=100,seq=64";
    const double      q = 2 * 64 * 64;
    cm_memory_options none = {.runtime = CM_RUNTIME_TORCH_EAGER}, split = none, megatron;
    split.plan = (cm_plan){.cp = 4, .tp = 2, .dp = 1, .pp = 1};
    megatron = split;
    megatron.runtime = CM_RUNTIME_MEGATRON;
    const struct {
        cm_memory_options o;
        const char       *type;
        double            bytes;
    } rows[] = {{none, "Attention", 0}, {none, "AttentionGrad", 0},
                {split, "Attention", 2 * 4 * q / 2}, {split, "AttentionGrad", 2 * 4 * q / 2 + 5 * 4 * q / 2 / 4},
                {megatron, "Attention", 0}, {megatron, "AttentionGrad", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm_graph *step = step_of(model, CM_PRECISION_FP32, CM_OPTIMIZER_SGD);
        near(first(step, rows[i].o, rows[i].type, 2), rows[i].bytes, 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_update), cmocka_unit_test(test_none),
                                       cmocka_unit_test(test_shared_loss), cmocka_unit_test(test_context_parallel),
                                       cmocka_unit_test(test_layout), cmocka_unit_test(test_power),
                                       cmocka_unit_test(test_ctc_loss), cmocka_unit_test(test_product), cmocka_unit_test(test_deformed),
                                       cmocka_unit_test(test_distances),
                                       cmocka_unit_test(test_least_batch)};
    return cmocka_run_group_tests(tests, begin, end);
}
