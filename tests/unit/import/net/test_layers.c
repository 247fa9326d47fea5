/* SPDX-License-Identifier: Apache-2.0 */
/* test_net_layers.c - the layers of the layer language: operators, sizes and parameters. */
#include "net_text.h"

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *text, *type, *output;
    int64_t     parameters;
} layers[] = {
    {X "conv 6 3", "Conv", "[B, 6, 6, 6]", 6 * 4 * 9 + 6},
    {X "conv 6 3 bias=off pad=1 stride=2", "Conv", "[B, 6, 4, 4]", 6 * 4 * 9},
    {X "conv 8 3,1 pad=1,0 groups=4", "Conv", "[B, 8, 8, 8]", 8 * 1 * 3 + 8},
    {X "conv out=6 kernel=3 dilation=2", "Conv", "[B, 6, 4, 4]", 6 * 4 * 9 + 6},
    {"input x 4 8\nconv 6 3", "Conv", "[B, 6, 6]", 6 * 4 * 3 + 6},
    {X "deconv 6 2 stride=2", "ConvTranspose", "[B, 6, 16, 16]", 4 * 6 * 4 + 6},
    {X "deconv 6 3 stride=2 pad=1 output_pad=1 groups=2", "ConvTranspose", "[B, 6, 16, 16]", 4 * 3 * 9 + 6},
    {X "linear 5", "Gemm", "[B, 4, 8, 5]", 5 * 8 + 5},
    {"input x 7\nlinear 5 bias=off", "Gemm", "[B, 5]", 5 * 7},
    {X "bn", "BatchNormalization", "[B, 4, 8, 8]", 4 + 4},
    {X "bn eps=0.001", "BatchNormalization", "[B, 4, 8, 8]", 4 + 4},
    {X "ln", "LayerNormalization", "[B, 4, 8, 8]", 8 + 8},
    {X "ln affine=off", "LayerNormalization", "[B, 4, 8, 8]", 0},
    {X "slice 1 1 3", "Slice", "[B, 2, 8, 8]", 0},
    {X "plus 1", "Add", "[B, 4, 8, 8]", 0},
    {X "shift", "Add", "[B, 4, 8, 8]", 4 * 8 * 8},
    {"tokens x 8\nembed 10 6", "Gather", "[B, 8, 6]", 60},
    {"tokens x\nembed 10 6", "Gather", "[B, 6]", 60},
    {X "ln dims=3", "LayerNormalization", "[B, 4, 8, 8]", 2 * 4 * 8 * 8},
    {X "gn 2", "GroupNormalization", "[B, 4, 8, 8]", 4 + 4},
    {X "relu", "Relu", "[B, 4, 8, 8]", 0},
    {X "relu6", "Clip", "[B, 4, 8, 8]", 0},
    {X "leaky_relu 0.2", "LeakyRelu", "[B, 4, 8, 8]", 0},
    {X "silu", "Silu", "[B, 4, 8, 8]", 0},
    {X "gelu", "Gelu", "[B, 4, 8, 8]", 0},
    {X "hardswish", "HardSwish", "[B, 4, 8, 8]", 0},
    {X "hardsigmoid", "HardSigmoid", "[B, 4, 8, 8]", 0},
    {X "sigmoid", "Sigmoid", "[B, 4, 8, 8]", 0},
    {X "tanh", "Tanh", "[B, 4, 8, 8]", 0},
    {X "softmax axis=1", "Softmax", "[B, 4, 8, 8]", 0},
    {X "dropout 0.5", "Dropout", "[B, 4, 8, 8]", 0},
    {X "stochastic_depth 0.2", "Mul", "[B, 4, 8, 8]", 0},
    {X "maxpool 2", "MaxPool", "[B, 4, 4, 4]", 0},
    {X "maxpool 3 stride=2 pad=1", "MaxPool", "[B, 4, 4, 4]", 0},
    {X "avgpool 3 stride=2 ceil=on", "AveragePool", "[B, 4, 4, 4]", 0},
    {X "avgpool 3 stride=2", "AveragePool", "[B, 4, 3, 3]", 0},
    {X "adaptive_avgpool 8", "AveragePool", "[B, 4, 8, 8]", 0},
    {X "adaptive_avgpool 4,2", "AveragePool", "[B, 4, 4, 2]", 0},
    {X "gap", "ReduceMean", "[B, 4, 1, 1]", 0},
    {X "upsample 2", "Resize", "[B, 4, 16, 16]", 0},
    {X "upsample 2,3 mode=linear", "Resize", "[B, 4, 16, 24]", 0},
    {X "flatten", "Flatten", "[B, 256]", 0},
    {X "reshape 16 -1", "Reshape", "[B, 16, 16]", 0},
    {X "transpose 0 2 3 1", "Transpose", "[B, 8, 8, 4]", 0},
    {X "add x .", "Add", "[B, 4, 8, 8]", 0},
    {X "sub x .", "Sub", "[B, 4, 8, 8]", 0},
    {X "mul x x", "Mul", "[B, 4, 8, 8]", 0},
    {X "matmul . .", "MatMul", "[B, 4, 8, 8]", 0},
    {X "concat x . x", "Concat", "[B, 12, 8, 8]", 0},
    {X "concat x . axis=-1", "Concat", "[B, 4, 8, 16]", 0},
    {"input x 10 6\nlstm 5", "LSTM", "[B, 10, 5]", 4 * 5 * (6 + 5 + 2)},
    {"input x 10 6\nlstm 5 layers=2", "LSTM", "[B, 10, 5]", 4 * 5 * (6 + 5 + 2) + 4 * 5 * (5 + 5 + 2)},
    {"input x 10 6\ngru 5 bidirectional=on", "GRU", "[B, 10, 10]", 2 * 3 * 5 * (6 + 5 + 2)},
};

static void layers_emit_their_operator(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(layers); i++) {
        cm_graph *g = must_import(layers[i].text, NULL);
        if (!count_ops(g, layers[i].type)) fail_msg("no %s from: %s", layers[i].type, layers[i].text);
        if (strcmp(output_text(g), layers[i].output)) fail_msg("%s from: %s", output_text(g), layers[i].text);
        assert_int_equal(parameters(g), layers[i].parameters);
        cm_graph_free(g);
    }
}

/* Pads are in ONNX's order: all beginnings, then all ends. */
static void pads_are_in_onnx_order(void **state)
{
    (void)state;
    cm_graph       *g = must_import(X "conv 6 3,5 pad=1,2", NULL);
    const cm__attr *pads = cm__attr_find(&g->nodes[0], CM_ATTR_PADS);
    const int64_t   expected[] = {1, 2, 1, 2};
    assert_int_equal(pads->count, 4);
    assert_memory_equal(pads->ints, expected, sizeof expected);
    cm_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_emit_their_operator),
        cmocka_unit_test(pads_are_in_onnx_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
