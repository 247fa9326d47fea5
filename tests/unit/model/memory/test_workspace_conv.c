/* SPDX-License-Identifier: Apache-2.0 */
/* test_workspace_conv.c - workspaces of VGG-16's convolutions against what cuDNN allocated on an H200 for 32 images. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "graph/strides.h"
#include "import/import.h"
#include "model/memory/footprint.h"

#define MIB (1024.0 * 1024)

static cm_graph *step_of(const char *model, cm_precision precision)
{
    cm_graph *forward, *step;
    assert_int_equal(cm_graph_load(model, NULL, &forward, NULL), CM_OK);
    assert_int_equal(cm_graph_train(forward, &(cm_train_options){.precision = precision}, &step, NULL), CM_OK);
    cm_graph_free(forward);
    return step;
}

static const cm_node *conv(const cm_graph *g, int64_t channels, int64_t filters, int64_t side)
{
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        if (n->op != CM_OP_CONV || n->phase != CM_FORWARD) continue;
        const cm_tensor *x = cm__in(g, n, 0), *y = cm__t(g, n->outputs[0]);
        if (x->dims[1].fixed == channels && y->dims[1].fixed == filters && x->dims[2].fixed == side) return n;
    }
    fail_msg("no such convolution");
    return NULL;
}

static double workspace(const cm_graph *g, const cm_node *n, cm__conv_pass pass, double batch)
{
    cm__temporary t = cm__workspace_conv(g, n, pass, cm__channels_last(g));
    return cm__temporary_at(&t, batch);
}

static void near(double got, double mib)
{
    if (fabs(got / MIB - mib) > 0.01 * mib + 0.01) fail_msg("%.2f MiB, measured %.2f MiB", got / MIB, mib);
}

/* Measured, in MiB: forward, backward to the input, backward to the filters. */
static void test_full_precision(void **state)
{
    static const struct {
        int64_t channels, filters, side;
        double  forward, input, weight;
    } rows[] = {
        {64, 64, 224, 0, 51, 1764.56},      {64, 128, 112, 0, 85, 662.62},     {128, 128, 112, 0, 136, 884.25},
        {128, 256, 56, 1190, 238, 335.25},  {256, 256, 56, 2378.25, 408, 450}, {256, 512, 28, 1160.5, 646, 183.38},
        {512, 512, 28, 2322, 1224, 256.5},  {512, 512, 14, 622, 0, 108},
    };
    (void)state;
    cm_graph *g = step_of("vgg16", CM_PRECISION_FP32);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const cm_node *n = conv(g, rows[i].channels, rows[i].filters, rows[i].side);
        near(workspace(g, n, CM__CONV_FORWARD, 32), rows[i].forward);
        near(workspace(g, n, CM__CONV_INPUT, 32), rows[i].input);
        near(workspace(g, n, CM__CONV_WEIGHT, 32), rows[i].weight);
    }
    const cm_node *first = conv(g, 3, 64, 224);
    for (cm__conv_pass p = CM__CONV_FORWARD; p <= CM__CONV_WEIGHT; p++) assert_true(workspace(g, first, p, 32) == 0);
    cm_graph_free(g);
}

/* With few images no FFT is used. */
static void test_small_batch(void **state)
{
    (void)state;
    cm_graph      *g = step_of("vgg16", CM_PRECISION_FP32);
    const cm_node *n = conv(g, 512, 512, 28);
    assert_true(workspace(g, n, CM__CONV_FORWARD, 1) == 0);
    assert_true(workspace(g, n, CM__CONV_FORWARD, 32) > 0);
    cm_graph_free(g);
}

/* Tensor cores with channels first need copies of input, output and filter. */
static void test_copies(void **state)
{
    (void)state;
    cm_graph *g = step_of("vgg16", CM_PRECISION_TF32);
    near(workspace(g, conv(g, 256, 256, 56), CM__CONV_FORWARD, 32), 198.25);
    near(workspace(g, conv(g, 64, 64, 224), CM__CONV_INPUT, 32), 784.14);
    cm_graph_free(g);
}

/* Colour images in 16 bits are channels last: three channels are padded to eight; there are no other copies. */
static void test_channels_last(void **state)
{
    (void)state;
    cm_graph *g = step_of("vgg16", CM_PRECISION_AMP_BF16);
    near(workspace(g, conv(g, 3, 64, 224), CM__CONV_FORWARD, 32), 24.5);
    assert_true(workspace(g, conv(g, 256, 256, 56), CM__CONV_FORWARD, 32) == 0);
    cm_graph_free(g);
}

static double of_net(const char *net, cm_precision precision, cm__conv_pass pass, double batch)
{
    cm_diag         diag = {0};
    cm_load_options load = {0};
    cm_graph       *step;
    cm__ctx        *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *g = cm__import_net(ctx, "test", net, strlen(net), &load);
    cm__finish(g, CM_FUSE_NONE);
    assert_int_equal(cm_graph_train(g, &(cm_train_options){.precision = precision}, &step, NULL), CM_OK);
    int32_t i = 0;
    while (step->nodes[i].op != CM_OP_CONV) i++;
    cm__temporary t = cm__workspace_conv(step, &step->nodes[i], pass, false);
    cm_graph_free(step);
    cm__ctx_free(ctx);
    return cm__temporary_at(&t, batch);
}

/* 1 x 1 filters multiply channels-first images without a copy: cuDNN allocated 272 bytes forward, and for the
   gradient of the filter 131,072: 4 images x 64 x 128 numbers in fp32. Few pixels of many channels are copied. */
static void test_products(void **state)
{
    (void)state;
    const char *net = "input x 64 118 118\nconv 128 1 bias=off\n"; /* about as many pixels as 24 x 24 x 24 */
    assert_true(of_net(net, CM_PRECISION_BF16, CM__CONV_FORWARD, 4) == 0);
    assert_true(of_net(net, CM_PRECISION_BF16, CM__CONV_WEIGHT, 4) == 131072);
    assert_true(of_net("input x 512 7 7\nconv 512 1 bias=off\n", CM_PRECISION_BF16, CM__CONV_FORWARD, 4) > 0);
}

/* 12 channels are padded to 16 in 16 bits, and not in tf32. For 2 volumes of 64 x 64 x 64, cuDNN allocated 33,568,272
   bytes and 50,347,216: images of 1,024 x 256 have as many numbers. */
static void test_padded_copies(void **state)
{
    (void)state;
    const char *net = "input x 12 1024 256\nconv 12 3 pad=1 bias=off\n";
    near(of_net(net, CM_PRECISION_BF16, CM__CONV_FORWARD, 2), 33568272 / MIB);
    near(of_net(net, CM_PRECISION_TF32, CM__CONV_FORWARD, 2), 50347216 / MIB);
}

/* A rule that data/workspaces.tsv does not have would be 0. */
static void test_rules_are_complete(void **state)
{
    const cm__cudnn_rules *r = &cm__cudnn_versions[0];
    const double           all[] = {r->winograd_channels, r->winograd_product, r->fft_channels,   r->fft_product,
                                    r->fft_side_most,     r->fft_filled,       r->fft_tiles_channels,
                                    r->fft_tiles_side,    r->fft_outputs,      r->padded_channels, r->product_pixels,
                                    r->product_channels,  r->volume_channels};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) assert_true(all[i] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_precision),
        cmocka_unit_test(test_small_batch),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_channels_last),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_padded_copies),
        cmocka_unit_test(test_rules_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
