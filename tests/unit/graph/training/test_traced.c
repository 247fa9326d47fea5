/* SPDX-License-Identifier: Apache-2.0 */
/* test_traced.c - types of products' gradients where backward is traced under autocast. */
#include "graph_builder.h"

static cm_dtype input_type(const cm_node *n, int32_t slot) { return cm__t(step, n->inputs[slot])->dtype; }

/* Whether the operands and the result of every gradient of a product have a type. */
static void gradients_are(cm_dtype type)
{
    int32_t found = 0;
    for (int32_t i = 0; i < step->n_nodes; i++) {
        const cm_node *n = &step->nodes[i];
        if (n->op != CM_OP_MATMUL_GRAD) continue;
        found++;
        for (int32_t k = 0; k < 2; k++) assert_int_equal(input_type(n, k), type);
        assert_int_equal(cm__t(step, n->outputs[0])->dtype, type);
    }
    assert_true(found > 0);
}

/* The operands of a product that gradients read in 16 bits are cast in forward. */
static int32_t forward_casts(void)
{
    int32_t count = 0;
    for (int32_t i = 0; i < step->n_nodes; i++)
        count += step->nodes[i].op == CM_OP_CAST && step->nodes[i].phase == CM_FORWARD &&
                 cm__t(step, step->nodes[i].outputs[0])->dtype == CM_BF16;
    return count;
}

/* Scores and weighted values of attention that PyTorch runs operator by operator, in fp32. */
static void train_attention(bool traced)
{
    int32_t q = op(CM_OP_EXP, IN(leaf("w", CM_ROLE_PARAMETER, CM_FP32, "2,8,8"))), k = op(CM_OP_TANH, IN(q));
    int32_t p = OP(SOFTMAX, IN(as("scores", OP(MATMUL, IN(q, k), INTS(MATH, 1)))), INTS(MATH, 1));
    int32_t y = op(CM_OP_RELU, IN(OP(MATMUL, IN(p, k), INTS(MATH, 2))));
    train_with(OP(REDUCE_SUM, IN(y), INTS(KEEPDIMS, 0)),
               (cm_train_options){.precision = CM_PRECISION_AMP_BF16, .optimizer = CM_OPTIMIZER_ADAM,
                                  .settled.traced_backward = traced});
    const cm_node *product = find_node(step, "MatMul");
    assert_int_equal(input_type(product, 0), CM_FP32);
    assert_int_equal(input_type(product, 1), CM_FP32);
}

TEST(gradients_of_fp32_products_are_in_16_bits)
{
    train_attention(true);
    gradients_are(CM_BF16);
    int32_t traced = forward_casts();
    start_over();
    train_attention(false);
    gradients_are(CM_FP32);
    assert_int_equal(traced - forward_casts(), 4); /* two operands of each product */
}

/* _grouped_mm() is not in autocast's lists. */
TEST(gradients_of_experts_keep_their_type)
{
    int32_t rows = op(CM_OP_EXP, IN(leaf("x", CM_ROLE_PARAMETER, CM_FP32, "2,8,8")));
    g->plain = true;
    int32_t y = OP(MATMUL, IN(rows, weight("experts", "2,8,8")), INTS(GROUPED, 1));
    g->plain = false;
    train_with(OP(REDUCE_SUM, IN(y), INTS(KEEPDIMS, 0)),
               (cm_train_options){.precision = CM_PRECISION_AMP_BF16, .optimizer = CM_OPTIMIZER_ADAM,
                                  .settled.traced_backward = true});
    gradients_are(CM_FP32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_of_fp32_products_are_in_16_bits),
                                       cmocka_unit_test(gradients_of_experts_keep_their_type)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
