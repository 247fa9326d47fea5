/* SPDX-License-Identifier: Apache-2.0 */
/* test_blocks.c - repeated layers by the names of parameters, parts of a pipeline, the usual optimizer, warnings. */
#include "graph_builder.h"

static int32_t linear(int32_t x, const char *name) { return op(CM_OP_MATMUL, IN(x, weight(name, "4,4"))); }

static int32_t block_of(int32_t tensor) { return g->nodes[cm__t(g, tensor)->producer].block; }

/* A layer is the first number in a parameter's name. Nodes without parameters belong to the layer before them. */
TEST(layers_by_name)
{
    int32_t first = linear(input("B,4"), "embed.weight"), a = linear(first, "h.0.fc.weight");
    int32_t between = op(CM_OP_RELU, IN(a)), b = linear(between, "h.0.proj.weight"), c = linear(b, "h.1.fc.weight");
    int32_t last = linear(c, "head.weight"), loss = op(CM_OP_RELU, IN(last));
    cm__find_blocks(g);
    assert_int_equal(block_of(first), -1);
    assert_int_equal(block_of(a), 0);
    assert_int_equal(block_of(between), 0);
    assert_int_equal(block_of(b), 0);
    assert_int_equal(block_of(c), 1);
    assert_int_equal(block_of(last), -1);
    assert_int_equal(block_of(loss), -1);
}

/* Before the layers, each layer, after them: four parts for two layers. Backward nodes follow their forward node. */
TEST(parts_of_a_pipeline)
{
    int32_t x = linear(input("B,4"), "embed.weight");
    x = linear(linear(x, "h.0.w"), "h.1.w");
    cm__find_blocks(g);
    train(linear(x, "head.weight"));
    assert_int_equal(cm__part_count(step), 4);
    const int32_t *part = cm__part_map(ctx, step);
    int32_t  counts[4] = {0};
    for (int32_t i = 0; i < step->n_nodes; i++) {
        assert_in_range(part[i], 0, 3);
        counts[part[i]]++;
        if (step->nodes[i].phase == CM_BACKWARD) assert_int_equal(part[i], part[step->nodes[i].source]);
    }
    for (int i = 0; i < 4; i++) assert_true(counts[i] > 0);
}

/* Convolutional networks train with momentum, others with AdamW; a model's own choice stays. */
TEST(usual_optimizer)
{
    op(CM_OP_CONV, IN(input("B,3,8,8"), weight("w", "6,3,3,3")));
    cm__review(g);
    assert_int_equal(g->optimizer, CM_OPTIMIZER_MOMENTUM);
    start_over();
    int32_t x = op(CM_OP_CONV, IN(input("B,3,8,8"), weight("w", "6,3,3,3")));
    op(CM_OP_GELU, IN(x));
    cm__review(g);
    assert_int_equal(g->optimizer, CM_OPTIMIZER_ADAMW); /* a vision transformer's first layer is a convolution */
    start_over();
    linear(input("B,4"), "w");
    g->optimizer = CM_OPTIMIZER_SGD;
    cm__review(g);
    assert_int_equal(g->optimizer, CM_OPTIMIZER_SGD);
}

/* Three convolutions of a file without any normalisation: an exporter may have folded it away. */
TEST(folded_normalisations)
{
    g->source = "onnx";
    int32_t x = input("B,3,16,16");
    for (int i = 0; i < 3; i++) x = op(CM_OP_CONV, IN(x, weight("w", "3,3,3,3")));
    cm__review(g);
    assert_int_equal(g->n_warnings, 1);
    assert_non_null(strstr(g->warnings[0], "3 convolutions"));
    start_over();
    g->source = "onnx";
    op(CM_OP_RELU, IN(input("B,3")));
    cm__review(g);
    assert_non_null(strstr(g->warnings[0], "no trainable parameter"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_by_name), cmocka_unit_test(parts_of_a_pipeline),
                                       cmocka_unit_test(usual_optimizer), cmocka_unit_test(folded_normalisations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
