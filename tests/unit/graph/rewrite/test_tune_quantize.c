/* SPDX-License-Identifier: Apache-2.0 */
/* test_tune_quantize.c - bytes of quantised weights, and how often they are unpacked. */
#include "graph/releases.h"
#include "graph_builder.h"

enum { N = 256, K = 128 };

static void tune_in(int32_t year, cm_quantize quantize, cm_recompute recompute)
{
    start_over();
    int32_t x = as("hidden", op(CM_OP_GEMM, IN(input("B,256"), weight("layers.0.q_proj.weight", "256,128"))));
    g->nodes[g->n_nodes - 1].block = 0;
    x = op(CM_OP_RELU, IN(x));
    g->nodes[g->n_nodes - 1].block = 0;
    x = op(CM_OP_GEMM, IN(x, weight("layers.0.up.weight", "128,128")));
    g->nodes[g->n_nodes - 1].block = 0;
    x = op(CM_OP_GEMM, IN(x, weight("head.weight", "128,4")));
    train_with(x, (cm_train_options){.precision = CM_PRECISION_BF16, .recompute = recompute, .software = cm__software_of_year(year),
                                     .tuning = {.rank = 2, .quantize = quantize}});
}

static void tune(cm_quantize quantize, cm_recompute recompute) { tune_in(0, quantize, recompute); }

static double bytes_named(const char *prefix)
{
    double sum = 0;
    for (int32_t t = 0; t < step->n_tensors; t++)
        if (step->tensors[t].role == CM_ROLE_PARAMETER && !strncmp(step->tensors[t].name, prefix, strlen(prefix)) &&
            step->tensors[t].frozen)
            sum += cm_tensor_bytes(&step->tensors[t]).c[0];
    return sum;
}

/* 32,768 weights: codes, scales, and what the format has besides. */
TEST(bytes_of_the_formats)
{
    static const double expected[CM_QUANTIZES] = {
        [CM_QUANTIZE_NONE] = 2.0 * N * K,
        [CM_QUANTIZE_NF4] = N * K / 2 + 4 * (N * K / 64),
        [CM_QUANTIZE_NF4_DQ] = N * K / 2 + N * K / 64 + 4 * (N * K / 64 / 256),
        [CM_QUANTIZE_INT8] = N * K + 4 * N,
        [CM_QUANTIZE_FP8] = N * K,
        [CM_QUANTIZE_GPTQ4] = N * K / 2 + 2 * (N * K / 128) + N * K / 128 / 2 + 4 * K,
    };
    for (cm_quantize q = 0; q < CM_QUANTIZES; q++) {
        tune(q, CM_RECOMPUTE_NONE);
        assert_true(bytes_named("layers.0.q_proj.weight") == expected[q]);
        assert_true(bytes_named("head.weight") == 2 * 128 * 4); /* the head is not quantised */
    }
}

/* In forward each weight once; in backward only the second, whose input needs a gradient. */
TEST(unpacked_before_every_product)
{
    tune(CM_QUANTIZE_NF4, CM_RECOMPUTE_NONE);
    assert_int_equal(count_type(step, "Unpack"), 2 + 1);
    tune(CM_QUANTIZE_NONE, CM_RECOMPUTE_NONE);
    assert_int_equal(count_type(step, "Unpack"), 0);
}

/* Products read 8-bit weights without a cast: beside them there are no copies in 16 bits, and no casts of weights.
   Weights that are frozen in 16 bits are cast, with master weights as under autocast, where such products ran in 16
   bits. */
TEST(weights_in_fp8_have_no_copies)
{
    static const cm_quantize kinds[] = {CM_QUANTIZE_NONE, CM_QUANTIZE_FP8};
    for (int i = 0; i < 4; i++) {
        double casts = 0;
        int    k = i % 2;
        start_over();
        int32_t x = op(CM_OP_GEMM, IN(input("B,256"), weight("layers.0.q_proj.weight", "256,128")));
        g->nodes[g->n_nodes - 1].block = 0;
        x = op(CM_OP_GEMM, IN(x, weight("head.weight", "128,4")));
        train_with(x, (cm_train_options){.precision = CM_PRECISION_FP8, .master = i < 2,
                                         .tuning = {.rank = 2, .quantize = kinds[k]}});
        for (int32_t t = 0; t < step->n_tensors; t++)
            if (step->tensors[t].role == CM_ROLE_CAST && step->tensors[t].dtype == CM_FP8 &&
                !strncmp(step->tensors[t].name, "layers.0.q_proj.weight", strlen("layers.0.q_proj.weight")))
                casts += cm_tensor_bytes(&step->tensors[t]).c[0];
        assert_true(bytes_named("layers.0.q_proj.weight") == (k ? 1.0 : 2.0) * N * K);
        assert_true(casts == (k ? 0.0 : 1.0) * N * K);
    }
}

/* AutoGPTQ of 2023 unpacks by operators of PyTorch, whose result autograd keeps: backward does not unpack again. */
TEST(weights_that_operators_unpack_are_kept)
{
    static const struct {
        cm_quantize quantize;
        int32_t     year, unpacked;
    } cases[] = {{CM_QUANTIZE_GPTQ4, 2023, 2}, {CM_QUANTIZE_GPTQ4, 2024, 3}, {CM_QUANTIZE_NF4, 2023, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tune_in(cases[i].year, cases[i].quantize, CM_RECOMPUTE_NONE);
        assert_int_equal(count_type(step, "Unpack"), cases[i].unpacked);
    }
}

TEST(unpacked_weights_are_not_kept)
{
    tune(CM_QUANTIZE_NF4, CM_RECOMPUTE_NONE);
    for (int32_t i = 0; i < step->n_nodes; i++) {
        const cm_node *n = &step->nodes[i];
        if (n->op != CM_OP_UNPACK) continue;
        const cm_tensor *w = cm__t(step, n->outputs[0]);
        assert_int_equal(w->dtype, CM_BF16);
        assert_int_equal(w->dies, i + 1); /* the product that follows */
    }
}

/* A product with a 4-bit weight returns the type of its input, which a norm under autocast makes fp32; others return 16
   bits. */
TEST(results_have_the_type_of_the_input)
{
    for (int four = 0; four < 2; four++) {
        start_over();
        int32_t x = op(CM_OP_LAYER_NORM, IN(input("B,256"), weight("norm.weight", "256"), weight("norm.bias", "256")));
        x = as("hidden", op(CM_OP_GEMM, IN(x, weight("layers.0.q_proj.weight", "256,128"))));
        x = op(CM_OP_GEMM, IN(op(CM_OP_RELU, IN(x)), weight("head.weight", "128,4")));
        train_with(x, (cm_train_options){.precision = CM_PRECISION_AMP_BF16,
                                         .tuning = {.rank = 2, .quantize = four ? CM_QUANTIZE_NF4 : CM_QUANTIZE_NONE}});
        const cm_node *relu = find_node(step, "Relu");
        assert_int_equal(cm__t(step, relu->inputs[0])->dtype, four ? CM_FP32 : CM_BF16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_the_formats),
        cmocka_unit_test(unpacked_before_every_product),
        cmocka_unit_test(results_have_the_type_of_the_input),
        cmocka_unit_test(weights_in_fp8_have_no_copies),
        cmocka_unit_test(unpacked_weights_are_not_kept),
        cmocka_unit_test(weights_that_operators_unpack_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
