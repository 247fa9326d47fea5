/* SPDX-License-Identifier: Apache-2.0 */
/* test_sharing.c - parameters that an exporter merged are separate again; parameters that layers share stay one. */
#include "graph/rewrite/roles.h"
#include "graph_builder.h"

static int32_t named(int code, const char *name, const int32_t *inputs, int32_t count)
{
    return cm__emit(g, code, name, inputs, count, NULL, 0);
}

static int64_t parameters(void)
{
    cm_totals totals;
    cm__lifetimes(g);
    cm_graph_totals(g, 1, &totals);
    return totals.parameters;
}

static bool warned(const char *about)
{
    for (int32_t i = 0; i < g->n_warnings; i++)
        if (strstr(g->warnings[i], about)) return true;
    return false;
}

/* Input `slot` of the node of this name. */
static int32_t read_by(const char *name, int32_t slot)
{
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (strcmp(g->nodes[i].name, name) == 0) return g->nodes[i].inputs[slot];
    fail_msg("no node '%s'", name);
    return -1;
}

/* LayerNorm and a linear layer, `layers` times, all with the same two vectors; one matrix for all, or one each. */
static void merged_layers(int layers, bool one_matrix)
{
    int32_t scale = weight("norm.weight", "4"), zero = weight("norm.bias", "4"), x = input("B,4"), w = -1;
    for (int i = 0; i < layers; i++) {
        if (w < 0 || !one_matrix) w = weight(cm__format(ctx, "val_%d", i), "4,4");
        x = named(CM_OP_LAYER_NORM, cm__format(ctx, "norm_%d", i), IN(x, scale, zero));
        x = named(CM_OP_MATMUL, cm__format(ctx, "product_%d", i), IN(x, w));
        x = named(CM_OP_ADD, cm__format(ctx, "node_%d", i), IN(x, zero));
    }
    cm__output(g, x);
    cm__split_merged(g);
}

TEST(merged_vectors_are_taken_apart)
{
    enum { LAYERS = 5 };
    merged_layers(LAYERS, false);
    assert_int_equal(parameters(), LAYERS * (4 * 4 + 4 + 4 + 4));
    assert_true(warned("separate again"));
    assert_string_equal(cm__t(g, read_by("node_4", 1))->name, "node_4.bias");
    assert_string_equal(cm__t(g, read_by("norm_4", 1))->name, "norm_4.weight");
    assert_string_equal(cm__t(g, read_by("norm_4", 2))->name, "norm_4.bias");
    /* two vectors became 3 per layer: 13 are new */
    assert_true(warned("13 parameters were merged with 2 others"));
}

TEST(shared_layers_stay_shared)
{
    merged_layers(5, true);
    assert_int_equal(parameters(), 4 * 4 + 4 + 4 + 4); /* one bias of all norms, one of all linears */
    assert_int_equal(read_by("node_0", 1), read_by("node_4", 1));
    assert_int_equal(read_by("norm_0", 2), read_by("norm_4", 2));
    assert_int_not_equal(read_by("node_0", 1), read_by("norm_0", 2));
}

/* The first place keeps the vector of the file; each other place gets its own. */
TEST(the_first_place_keeps_the_vector)
{
    int32_t zero = weight("zero", "4"), a = weight("a", "4,4"), b = weight("b", "4,4"), x = input("B,4");
    x = named(CM_OP_GEMM, "one", IN(x, a, zero));
    cm__output(g, named(CM_OP_GEMM, "two", IN(x, b, zero)));
    cm__split_merged(g);
    assert_int_equal(read_by("one", 2), zero);
    assert_int_not_equal(read_by("two", 2), zero);
    assert_string_equal(cm__t(g, read_by("two", 2))->name, "two.bias");
    assert_int_equal(cm__t(g, read_by("two", 2))->role, CM_ROLE_PARAMETER);
    SHAPE_IS(read_by("two", 2), "[4]");
}

/* One matrix applied twice, as in ALBERT, has one bias. */
TEST(one_matrix_has_one_bias)
{
    int32_t zero = weight("zero", "4"), a = weight("a", "4,4"), x = input("B,4");
    x = named(CM_OP_GEMM, "one", IN(x, a, zero));
    cm__output(g, named(CM_OP_GEMM, "two", IN(x, a, zero)));
    cm__split_merged(g);
    assert_int_equal(read_by("two", 2), zero);
    assert_int_equal(parameters(), 16 + 4);
    assert_int_equal(g->n_warnings, 0);
}

/* Two vectors after one use of a matrix are two parameters. */
TEST(two_places_of_one_product)
{
    int32_t zero = weight("zero", "4"), a = weight("a", "4,4"), x = input("B,4");
    x = named(CM_OP_MATMUL, "product", IN(x, a));
    x = named(CM_OP_ADD, "one", IN(x, zero));
    cm__output(g, named(CM_OP_ADD, "two", IN(named(CM_OP_RELU, "relu", IN(x)), zero)));
    cm__split_merged(g);
    assert_int_equal(read_by("one", 1), zero);
    assert_int_not_equal(read_by("two", 1), zero);
    assert_int_equal(parameters(), 16 + 4 + 4);
}

/* A matrix is recognised through a change of its shape. */
TEST(a_turned_matrix_is_the_same_matrix)
{
    int32_t zero = weight("zero", "4"), a = weight("a", "4,4"), x = input("B,4");
    x = named(CM_OP_GEMM, "one", IN(x, a, zero));
    int32_t turned = OP(TRANSPOSE, IN(a), INTS(PERM, 1, 0));
    cm__output(g, named(CM_OP_GEMM, "two", IN(x, turned, zero)));
    cm__split_merged(g);
    assert_int_equal(read_by("two", 2), zero);
}

/* In an untrained batch normalisation, ones are weight and variance, zeros are bias and mean. */
TEST(statistics_get_their_own_buffer)
{
    int32_t ones = weight("ones", "6"), zeros = weight("zeros", "6"), x = input("B,6,8,8");
    cm__output(g, named(CM_OP_BATCH_NORM, "bn", IN(x, ones, zeros, zeros, ones)));
    cm__split_merged(g);
    assert_int_equal(read_by("bn", 1), ones);
    assert_int_equal(read_by("bn", 2), zeros);
    for (int32_t slot = 3; slot < 5; slot++) {
        int32_t own = read_by("bn", slot);
        assert_int_equal(cm__t(g, own)->role, CM_ROLE_BUFFER);
        SHAPE_IS(own, "[6]");
    }
    assert_string_equal(cm__t(g, read_by("bn", 3))->name, "bn.statistics3");
    assert_int_equal(parameters(), 12);
}

/* A vector that is read once, a matrix, and tensors that are no parameters do not change. */
TEST(nothing_to_separate)
{
    int32_t bias = weight("bias", "4"), a = weight("a", "4,4"), x = input("B,4");
    int32_t table = leaf("table", CM_ROLE_BUFFER, CM_FP32, "4");
    x = named(CM_OP_GEMM, "one", IN(x, a, bias));
    x = named(CM_OP_MUL, "two", IN(x, table));
    x = named(CM_OP_MUL, "three", IN(x, table));
    cm__output(g, named(CM_OP_MATMUL, "four", IN(x, a)));
    int32_t before = g->n_tensors;
    cm__split_merged(g);
    assert_int_equal(g->n_tensors, before);
    assert_int_equal(read_by("three", 1), table);
    assert_int_equal(g->n_warnings, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_vectors_are_taken_apart), cmocka_unit_test(shared_layers_stay_shared),
        cmocka_unit_test(the_first_place_keeps_the_vector), cmocka_unit_test(one_matrix_has_one_bias),
        cmocka_unit_test(two_places_of_one_product),
        cmocka_unit_test(a_turned_matrix_is_the_same_matrix), cmocka_unit_test(statistics_get_their_own_buffer),
        cmocka_unit_test(nothing_to_separate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
