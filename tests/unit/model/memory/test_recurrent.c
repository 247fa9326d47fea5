/* SPDX-License-Identifier: Apache-2.0 */
/* test_recurrent.c - memory of recurrent layers, beside cuDNN 9.19 on an H200 (evidence/kernels.tar.xz) */
#include "memory_case.h"
#include "import/import.h"
#include "model/memory/footprint.h"

/* The largest workspace of nodes of this type; the number of nodes that have one goes to *count. */
static double workspace(const char *net, cm_precision precision, const char *type, double batch, int *count)
{
    cm_diag           diag = {0};
    cm_load_options   load = {0};
    cm_memory_options options = {.runtime = CM_RUNTIME_TORCH_EAGER};
    cm_train_options  o = {.precision = precision, .optimizer = CM_OPTIMIZER_SGD};
    cm_graph         *step;
    cm_footprint     *f;
    double            most = 0;
    cm__ctx          *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *g = cm__import_net(ctx, "test", net, strlen(net), &load);
    cm__finish(g, CM_FUSE_NONE);
    assert_int_equal(cm_graph_train(g, &o, &step, NULL), CM_OK);
    assert_int_equal(cm_footprint_new(step, h200, &options, &f, NULL), CM_OK);
    *count = 0;
    for (int32_t i = 0; i < step->n_nodes; i++) {
        cm__temporary t = cm__workspace(f, &step->nodes[i]);
        double        bytes = strcmp(cm_node_type(&step->nodes[i]), type) ? 0 : cm__temporary_at(&t, batch);
        *count += bytes > 0;
        most = fmax(most, bytes);
    }
    cm_footprint_free(f);
    cm_graph_free(step);
    cm__ctx_free(ctx);
    return most;
}

/* Workspace, and the copy of an input whose first dimension is the batch: as many bytes as the states, if the sizes of
   inputs and states are equal. */
static void test_forward(void **state)
{
    (void)state;
    static const struct {
        const char *net, *type;
        double      batch, workspace, copy, off;
    } cases[] = {
        {"input x 35 256\nlstm 256\n", "LSTM", 64, 24969984, 2293760, 0.001},
        {"input x 64 256\nlstm 256\n", "LSTM", 1024, 424681728, 67108864, 0.001},
        {"input x 400 300\nlstm 384\n", "LSTM", 8, 40067392, 3840000, 0.001},
        {"input x 35 128\nlstm 128\n", "LSTM", 512, 212865280, 9175040, 0.005}, /* weights in registers */
        {"input x 64 256\nlstm 256 2 bidirectional=on\n", "LSTM", 256, 308283648, 16777216, 0.001},
        {"input x 100 650\ngru 650\n", "GRU", 256, 421218912, 66560000, 0.001},
        {"input x 64 256\ngru 256 3\n", "GRU", 256, 121374976, 16777216, 0.04},
        {"input x 64 256\ngru 256 1 bidirectional=on\n", "GRU", 256, 241699072, 16777216, 0.001},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int    count;
        double got = workspace(cases[i].net, CM_PRECISION_FP32, cases[i].type, cases[i].batch, &count);
        near(got, cases[i].workspace + cases[i].copy, cases[i].off * cases[i].workspace);
        assert_int_equal(count, 1); /* once for all layers */
    }
}

/* Backward of one layer allocates the gradient of its input as well. */
static void test_backward(void **state)
{
    (void)state;
    int    count;
    double got = workspace("input x 35 256\nlstm 256\n", CM_PRECISION_FP32, "RNNGrad", 64, &count);
    near(got, 24969984 + 2.0 * 2293760, 30000);
    assert_int_equal(count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward)};
    return cmocka_run_group_tests(tests, begin, end);
}
