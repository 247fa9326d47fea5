/* SPDX-License-Identifier: Apache-2.0 */
/* test_aten.c - ATen operators with the shapes, types and strides that torch.profiler records, as kernel calls. */
#include "small_timeline.h"

#define ARGS(dims, types, strides, numbers)                                                                            \
    "{\"Input Dims\":[" dims "],\"Input type\":[" types "],\"Input Strides\":[" strides "],\"Concrete Inputs\":[" numbers "]}"
#define BF "\"c10::BFloat16\""
#define FP "\"float\""

/* The expected calls follow from docs/devices.md. Two calls are separated by " | ". */
static const struct {
    const char *op, *args, *calls;
} cases[] = {
    {"aten::mm", ARGS("[4,8],[8,2]", FP "," FP, "[8,1],[2,1]", ""), "gemm forward nn fp32 1,4,2,8"},
    {"aten::mm", ARGS("[4,8],[8,2]", BF "," BF, "[1,4],[2,1]", ""), "gemm forward tn bf16 1,4,2,8"},
    {"aten::addmm", ARGS("[2],[4,8],[8,2]", BF "," BF "," BF, "[1],[8,1],[1,8]", "\"\",\"\",\"\",\"1\",\"1\""),
     "gemm forward nt-bias bf16 1,4,2,8"},
    {"aten::bmm", ARGS("[3,4,8],[3,8,2]", BF "," BF, "[32,8,1],[16,1,8]", ""), "gemm forward nt bf16 3,4,2,8"},
    {"aten::cudnn_convolution",
     ARGS("[2,16,9,9],[32,8,3,3]", BF "," BF, "[1296,1,144,16],[72,1,24,8]",
          "\"\",\"\",\"[1, 1]\",\"[2, 2]\",\"[1, 1]\",\"2\""),
     "conv forward nhwc bf16 2,16,32,9,9,3,3,2,2,1,1,1,1,2"},
    {"aten::_conv_depthwise2d",
     ARGS("[2,16,9,9],[16,1,3,3],[],[],[],[],[]", FP "," FP ",\"\"", "[1296,81,9,1],[9,9,3,1],[]",
          "\"\",\"\",\"[3, 3]\",\"\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\""),
     "conv forward nchw fp32 2,16,16,9,9,3,3,1,1,1,1,1,1,16"},
    {"aten::convolution_backward",
     ARGS("[2,32,5,5],[2,16,9,9],[32,16,3,3]", BF "," BF "," BF, "[800,25,5,1],[1296,81,9,1],[144,9,3,1]",
          "\"\",\"\",\"\",\"[0]\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\",\"[True, True, False]\""),
     "conv bwd_input nchw bf16 2,16,32,9,9,3,3,2,2,1,1,1,1,1 | "
     "conv bwd_weight nchw bf16 2,16,32,9,9,3,3,2,2,1,1,1,1,1"},
    {"aten::convolution_backward",
     ARGS("[2,32,9,9],[2,3,9,9],[32,3,1,1]", FP "," FP "," FP, "[2592,81,9,1],[243,81,9,1],[3,1,1,1]",
          "\"\",\"\",\"\",\"[0]\",\"[1, 1]\",\"[0, 0]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\",\"[False, True, False]\""),
     "conv bwd_weight nchw fp32 2,3,32,9,9,1,1,1,1,0,0,1,1,1"},
    /* a transposed convolution is the gradient of a convolution whose image is its output: 2 * 5 = 10 */
    {"aten::cudnn_convolution_transpose",
     ARGS("[2,32,5,5],[32,16,2,2]", FP "," FP, "[800,25,5,1],[64,4,2,1]",
          "\"\",\"\",\"[0, 0]\",\"[0, 0]\",\"[2, 2]\",\"[1, 1]\",\"1\""),
     "conv bwd_input nchw fp32 2,16,32,10,10,2,2,2,2,0,0,1,1,1"},
    {"aten::_scaled_dot_product_flash_attention",
     ARGS("[2,8,64,32],[2,4,128,32],[2,4,128,32],[],[],[],[]", BF "," BF "," BF ",\"\"", "[1,1,1,1],[1,1,1,1]",
          "\"\",\"\",\"\",\"0.\",\"True\",\"False\",\"\""),
     "attention forward - bf16 2,64,128,8,4,32,1"},
    {"aten::native_layer_norm", ARGS("[2,5,96],[]", FP ",\"\"", "[480,96,1]", "\"\",\"[96]\""), "layer_norm forward - fp32 10,96"},
    {"aten::native_layer_norm_backward", ARGS("[2,5,96],[2,5,96]", BF "," BF, "[480,96,1],[480,96,1]", "\"\",\"\",\"[5, 96]\""),
     "layer_norm backward - bf16 2,480"},
    {"aten::native_batch_norm", ARGS("[2,16,9,9]", BF, "[1296,1,144,16]", ""), "batch_norm forward nhwc bf16 2,16,81"},
    {"aten::native_batch_norm", ARGS("[1,16,9,9]", FP, "[1296,81,9,1]", ""), "batch_norm forward plain fp32 1,16,81"},
    {"aten::native_batch_norm_backward", ARGS("[2,16,9,9],[2,16,9,9]", BF "," BF, "[1296,81,9,1],[1296,1,144,16]", ""),
     "batch_norm backward mixed bf16 2,16,81"},
    {"aten::_softmax", ARGS("[2,3,7]", FP, "[21,7,1]", "\"\",\"-1\",\"False\""), "softmax forward - fp32 6,7"},
    {"aten::_log_softmax", ARGS("[6,7]", FP, "[7,1]", "\"\",\"1\",\"False\""), "softmax forward log fp32 6,7"},
    {"aten::max_pool2d_with_indices",
     ARGS("[2,16,9,9]", BF, "[1296,1,144,16]", "\"\",\"[3, 3]\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"False\""),
     "pool forward max:nhwc bf16 2,16,9,9,3,2,1"},
    {"aten::max_pool2d_with_indices", ARGS("[2,16,8,8]", FP, "[1024,64,8,1]", "\"\",\"[2, 2]\",\"[]\",\"[0, 0]\""),
     "pool forward max:nchw fp32 2,16,8,8,2,2,0"},
    {"aten::embedding", ARGS("[100,16],[2,5]", FP ",\"long int\"", "[16,1],[5,1]", ""), "embedding forward - fp32 10,100,16"},
    {"aten::embedding_dense_backward", ARGS("[2,5,16],[2,5]", FP ",\"long int\"", "[80,16,1],[5,1]", "\"\",\"\",\"100\""),
     "embedding backward - fp32 10,100,16"},
    {"aten::sum", ARGS("[4,5,6]", BF, "[30,6,1]", "\"\",\"[0, 1]\",\"True\""), "reduce forward sum bf16 1,20,6"},
    {"aten::sum", ARGS("[2,16,9,9]", BF, "[1296,81,9,1]", "\"\",\"[0, 2, 3]\",\"False\""), "reduce forward sum:nchw bf16 2,16,81"},
    {"aten::mean", ARGS("[2,16,9,9]", FP, "[1296,1,144,16]", "\"\",\"[-1, -2]\",\"True\""), "reduce forward mean fp32 2,81,16"},
    {"aten::add", ARGS("[4,8],[4,8]", FP "," BF, "[8,1],[8,1]", "\"\",\"\",\"1\""), "elementwise forward add bf16+fp32>fp32 1,32"},
    {"aten::add_", ARGS("[4,8],[8]", BF "," BF, "[8,1],[1]", ""), "elementwise forward add:row bf16 4,8"},
    {"aten::mul", ARGS("[4,8],[4,1]", FP "," FP, "[8,1],[1,1]", ""), "elementwise forward mul:col fp32 4,8"},
    {"aten::mul", ARGS("[4,8],[]", FP "," FP, "[8,1],[]", ""), "elementwise forward scale fp32 1,32"},
    {"aten::relu_", ARGS("[2,16,9,9]", BF, "[1296,1,144,16]", ""), "elementwise forward relu bf16 1,2592"},
    {"aten::threshold_backward", ARGS("[4,8],[4,8]", BF "," BF, "[8,1],[8,1]", ""), "elementwise forward relu_grad bf16 1,32"},
    {"aten::gelu", ARGS("[4,8],[]", BF ",\"\"", "[8,1]", "\"\",\"tanh\""), "elementwise forward gelu_tanh bf16 1,32"},
    {"aten::copy_", ARGS("[4,8],[4,8]", FP "," BF, "[8,1],[8,1]", ""), "elementwise forward copy bf16>fp32 1,32"},
    {"aten::copy_", ARGS("[4,8],[4,8]", BF "," BF, "[8,1],[1,4]", ""), "elementwise forward copy:turned bf16 4,8"},
    {"aten::copy_", ARGS("[2,64,1024],[2,64,1024]", BF "," BF, "[65536,1024,1],[65536,1,64]", ""),
     "elementwise forward copy:strided bf16 8192,16"},
    {"aten::copy_", ARGS("[4,8],[4,8]", BF "," BF, "[8,1],[16,1]", ""), "elementwise forward copy:part bf16 4,8"},
    {"aten::zero_", ARGS("[4,8]", FP, "[8,1]", ""), "elementwise forward fill fp32 1,32"},
    {"aten::cat", ARGS("[[2,1,8],[2,3,8]],[]", "\"TensorList\",\"Scalar\"", "[[8,8,1],[24,8,1]],[]", "\"\",\"1\""),
     "elementwise forward cat unknown 2,32"},
    /* nothing is known: no shapes, unknown types, operators that are not listed */
    {"aten::mm", "{}", ""},
    {"aten::mm", ARGS("[4,8],[8,2]", "\"half3\"," FP, "[8,1],[2,1]", ""), ""},
    {"aten::mm", ARGS("[4,8],[8,0]", FP "," FP, "[8,1],[2,1]", ""), ""},
    {"aten::view", ARGS("[4,8]", FP, "[8,1]", ""), ""},
};

static void named_calls(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *args = json_loads(cases[i].args, JSON_DECODE_INT_AS_REAL, NULL);
        char    all[512] = "", text[256];
        if (!args) fail_msg("case %zu is no JSON: %s", i, cases[i].args);
        const cm__op_kind *k = cm__traced_read(ctx, cases[i].op, args);
        for (int32_t n = 0; n < k->n_calls; n++) {
            strcat(all, n ? " | " : "");
            strcat(all, cm__call_text(&k->calls[n], text, sizeof text));
        }
        json_decref(args);
        if (strcmp(all, cases[i].calls) != 0) fail_msg("%s: '%s', expected '%s'", cases[i].op, all, cases[i].calls);
    }
    cm__ctx_free(ctx);
}

/* An optimizer's list of tensors; the parameters of a model. */
static void lists(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(NULL);
    json_t  *args = json_loads(ARGS("[[3,4],[5]],[[3,4],[5]]", "\"TensorList\",\"TensorList\"", "", ""), 0, NULL);
    const cm__op_kind *k = cm__traced_read(ctx, "aten::_foreach_mul_", args);
    assert_true(k->tensors == 2 && k->elements == 17 && k->scales && !k->n_calls);
    json_decref(args);
    args = json_loads(ARGS("[3,4]", FP, "[4,1]", ""), 0, NULL);
    k = cm__traced_read(ctx, "torch::autograd::AccumulateGrad", args);
    assert_true(k->gradient && k->elements == 12);
    json_decref(args);
    cm__ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(named_calls), cmocka_unit_test(lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
