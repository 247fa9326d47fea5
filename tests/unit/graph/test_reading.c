/* SPDX-License-Identifier: Apache-2.0 */
/* test_reading.c - the public interface on a graph that was built by hand. */
#include "graph_builder.h"

/* y = relu(x w^T + b): x has B rows of 3, w is 5 x 3. */
TEST(tensors_and_nodes)
{
    int32_t x = input("B,3"), w = weight("w", "5,3"), b = weight("b", "5");
    int32_t h = as("product", OP(GEMM, IN(x, w, b), INTS(TRANS_B, 1))), y = as("result", op(CM_OP_RELU, IN(h)));
    train(y);
    const cm_node *n = cm_graph_node(step, 0);
    for (int32_t i = 0; strcmp(cm_node_name(n), "product"); n = cm_graph_node(step, ++i)) continue;
    assert_string_equal(cm_node_type(n), "Gemm");
    assert_int_equal(cm_node_class(n), CM_CLASS_GEMM);
    assert_int_equal(cm_node_phase(n), CM_FORWARD);
    assert_int_equal(cm_node_inputs(n), 3);
    assert_int_equal(cm_node_outputs(n), 1);
    assert_false(cm_node_is_view(n));
    assert_true(cm_node_source(n) == -1 && cm_node_block(n) == -1 && cm_node_segment(n) == -1);
    poly_is(cm_node_write_bytes(n), 0, 5 * 4, 0);
    poly_is(cm_node_read_bytes(n), (5 * 3 + 5) * 4, 3 * 4, 0);
    assert_true(cm_node_flop(n).c[1] >= 2 * 5 * 3); /* a multiply-add counts as two */
    const cm_tensor *weights = cm_graph_tensor(step, cm_node_input(n, 1));
    const cm_tensor *out = cm_graph_tensor(step, cm_node_output(n, 0));
    assert_string_equal(cm_tensor_name(weights), "w");
    assert_int_equal(cm_tensor_role(weights), CM_ROLE_PARAMETER);
    assert_int_equal(cm_tensor_dtype(weights), CM_FP32);
    assert_int_equal(cm_tensor_dims(weights), 2);
    assert_true(cm_tensor_dim(weights, 0).fixed == 5 && cm_tensor_dim(weights, 1).fixed == 3);
    assert_int_equal(cm_tensor_producer(weights), -1);
    assert_int_equal(cm_tensor_born(weights), -1);
    assert_int_equal(cm_tensor_dies(weights), cm_graph_nodes(step)); /* outlives the step */
    assert_int_equal(cm_tensor_storage(weights), cm_node_input(n, 1));
    assert_true(cm_tensor_dim(out, 0).per_batch == 1 && cm_tensor_dim(out, 0).fixed == 0);
    assert_true(cm_graph_node(step, cm_tensor_producer(out)) == n);
    assert_true(cm_tensor_dies(out) > cm_tensor_born(out) && cm_tensor_dies(out) < cm_graph_nodes(step));
}

/* Every backward node names its forward node, and the totals are the sums over the nodes. */
TEST(totals)
{
    cm_totals t;
    double    flop = 0, moved = 0, sum = 0, bytes = 0;
    train(op(CM_OP_RELU, IN(OP(GEMM, IN(input("B,3"), weight("w", "5,3")), INTS(TRANS_B, 1)))));
    cm_graph_totals(step, 7, &t);
    assert_int_equal(t.parameters, 5 * 3);
    for (int32_t i = 0; i < cm_graph_nodes(step); i++) {
        const cm_node *n = cm_graph_node(step, i);
        cm_poly        f = cm_node_flop(n), r = cm_node_read_bytes(n), w = cm_node_write_bytes(n);
        flop += cm_poly_at(&f, 7);
        moved += cm_poly_at(&r, 7) + cm_poly_at(&w, 7);
        if (cm_node_phase(n) == CM_BACKWARD)
            assert_int_equal(cm_node_phase(cm_graph_node(step, cm_node_source(n))), CM_FORWARD);
    }
    for (int p = 0; p < CM_PHASES; p++)
        for (int c = 0; c < CM_CLASSES; c++) sum += t.flop[p][c], bytes += t.read_bytes[p][c] + t.write_bytes[p][c];
    assert_true(sum == flop && bytes == moved);
    assert_true(cm_totals_matrix_flop(&t, CM_FORWARD) == 2 * 7 * 5 * 3);
    assert_true(t.peak_bytes > 0 && t.peak_node >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tensors_and_nodes), cmocka_unit_test(totals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
