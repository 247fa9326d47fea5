/* SPDX-License-Identifier: Apache-2.0 */
/* test_dispatch.c - the kernel calls of eager PyTorch for a step: complete lists, as its profiler shows them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "import/import.h"
#include "model/dispatch/dispatch.h"

#define MOST 200
#define TEXT 192

static cm_diag diag;

typedef struct listed {
    char    texts[MOST][TEXT];
    int     count;
} listed;

static void list(cm__dispatch *d, double batch, listed *l)
{
    l->count = 0;
    assert_in_range(d->n_of, 0, MOST);
    for (int32_t i = 0; i < d->n_of; i++) {
        cm__call c;
        cm__call_at(&d->calls[d->of[i]], batch, &c);
        cm__call_text(&c, l->texts[l->count++], TEXT);
    }
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

static cm_graph *step_of(cm_graph *forward, cm_precision precision, bool inference)
{
    cm_graph        *step;
    cm_train_options o = {.precision = precision, .optimizer = CM_OPTIMIZER_SGD, .inference = inference};
    if (cm_graph_train(forward, &o, &step, &diag)) fail_msg("%s: %s", diag.place, diag.reason);
    return step;
}

/* Parses a model in the layer language, with eager PyTorch's fusion. */
static cm_graph *read(cm__ctx *ctx, const char *text)
{
    cm_load_options o = {.fuse = CM_FUSE_EAGER};
    cm_graph       *g = cm__import_net(ctx, "test", text, strlen(text), &o);
    cm__finish(g, CM_FUSE_EAGER);
    return g;
}

static void same(const listed *got, const char *const *expected)
{
    listed sorted = *got;
    char   want[MOST][TEXT];
    int    count = 0;
    for (; expected[count]; count++) snprintf(want[count], TEXT, "%s", expected[count]);
    qsort(sorted.texts, (size_t)sorted.count, TEXT, by_text);
    qsort(want, (size_t)count, TEXT, by_text);
    bool equal = sorted.count == count;
    for (int i = 0; equal && i < count; i++) equal = strcmp(sorted.texts[i], want[i]) == 0;
    if (equal) return;
    for (int i = 0; i < got->count; i++) fprintf(stderr, "# called: %s\n", got->texts[i]);
    for (int i = 0; i < count; i++)
        if (!bsearch(want[i], sorted.texts, (size_t)sorted.count, TEXT, by_text))
            fprintf(stderr, "# missed: %s\n", want[i]);
    fail_msg("%d calls, expected %d", got->count, count);
}

/* Compares the calls of a step in any order: the order of backward is up to the graph. */
static void calls_by(cm_runtime runtime, const char *net, cm_precision precision, bool inference, cm_layout layout,
                     double batch, const char *const *expected)
{
    static listed got;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *step = step_of(read(ctx, net), precision, inference);
    list(cm__dispatch_new(ctx, step, layout, runtime), batch, &got);
    same(&got, expected);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

#define CALLS(...) (const char *const[]){__VA_ARGS__, NULL}
#define TRAIN(net, precision, layout, batch, ...) \
    calls_by(CM_RUNTIME_TORCH_EAGER, net, CM_PRECISION_##precision, false, CM_LAYOUT_##layout, batch, \
             CALLS(__VA_ARGS__))
#define INFER(net, precision, layout, batch, ...)                                                                      \
    calls_by(CM_RUNTIME_TORCH_EAGER, net, CM_PRECISION_##precision, true, CM_LAYOUT_##layout, batch, CALLS(__VA_ARGS__))

static int times(const listed *l, const char *call)
{
    int count = 0;
    for (int i = 0; i < l->count; i++) count += strstr(l->texts[i], call) != NULL;
    return count;
}

/* ---- products --------------------------------------------------------------------------------------------------- */

#define LINEAR "input x 32\nlinear 10\n"

static void a_linear_layer(void **state)
{
    (void)state;
    TRAIN(LINEAR, FP32, AUTO, 4, "gemm forward nt-bias fp32 1,4,10,32", "cross_entropy forward - fp32 4,10",
          "cross_entropy backward - fp32 4,10", "gemm forward tn fp32 1,10,32,4", "reduce forward sum fp32 1,4,10",
          "optimizer update sgd fp32 2,330");
    TRAIN(LINEAR, TF32, AUTO, 4, "gemm forward nt-bias tf32 1,4,10,32", "cross_entropy forward - fp32 4,10",
          "cross_entropy backward - fp32 4,10", "gemm forward tn tf32 1,10,32,4", "reduce forward sum fp32 1,4,10",
          "optimizer update sgd fp32 2,330");
    INFER(LINEAR, FP32, AUTO, 4, "gemm forward nt-bias fp32 1,4,10,32");
}

/* The second layer's input has a gradient. */
static void two_linear_layers(void **state)
{
    (void)state;
    TRAIN("input x 32\nlinear 16 bias=off\nrelu\ndropout 0.5\nlinear 10\n", FP32, AUTO, 4,
          "gemm forward nt fp32 1,4,16,32", "elementwise forward relu fp32 1,64",
          "elementwise forward dropout fp32 1,64", "gemm forward nt-bias fp32 1,4,10,16",
          "cross_entropy forward - fp32 4,10", "cross_entropy backward - fp32 4,10", "gemm forward nn fp32 1,4,16,10",
          "gemm forward tn fp32 1,10,16,4", "reduce forward sum fp32 1,4,10",
          "elementwise forward dropout_grad fp32 1,64", "elementwise forward relu_grad fp32 1,64",
          "gemm forward tn fp32 1,16,32,4", "optimizer update sgd fp32 3,682");
}

/* Operands are cast, the loss is cast back, and so are the gradients of parameters. */
static void autocast(void **state)
{
    (void)state;
    TRAIN(LINEAR, AMP_BF16, AUTO, 4, "elementwise forward copy fp32>bf16 1,128",
          "elementwise forward copy fp32>bf16 1,320", "elementwise forward copy fp32>bf16 1,10",
          "gemm forward nt-bias bf16 1,4,10,32", "elementwise forward copy bf16>fp32 1,40",
          "cross_entropy forward - fp32 4,10", "cross_entropy backward - fp32 4,10",
          "elementwise forward copy fp32>bf16 1,40", "gemm forward tn bf16 1,10,32,4", "reduce forward sum bf16 1,4,10",
          "elementwise forward copy bf16>fp32 1,320", "elementwise forward copy bf16>fp32 1,10",
          "optimizer update sgd fp32 2,330");
}

/* Dropout runs in training only: in layers and in attention. */
static void dropout_is_for_training(void **state)
{
    (void)state;
    INFER("input x 32\nlinear 16\ndropout 0.5\n", FP32, AUTO, 4, "gemm forward nt-bias fp32 1,4,16,32");
}

/* ---- images ----------------------------------------------------------------------------------------------------- */

#define IMAGES "input x 3 8 8\nconv 4 3 pad=1\nrelu\ngap\nflatten\nlinear 10\n"

static void a_convolution_with_bias(void **state)
{
    (void)state;
    TRAIN(IMAGES, FP32, NCHW, 2, "conv forward nchw fp32 2,3,4,8,8,3,3,1,1,1,1,1,1,1",
          "elementwise forward add:col fp32 8,64", "elementwise forward relu fp32 1,512",
          "reduce forward mean fp32 8,64,1", "gemm forward nt-bias fp32 1,2,10,4", "cross_entropy forward - fp32 2,10",
          "cross_entropy backward - fp32 2,10", "gemm forward nn fp32 1,2,4,10", "gemm forward tn fp32 1,10,4,2",
          "reduce forward sum fp32 1,2,10", "elementwise forward scale:strided fp32 1,512",
          "elementwise forward relu_grad fp32 1,512", "conv bwd_weight nchw fp32 2,3,4,8,8,3,3,1,1,1,1,1,1,1",
          "reduce forward sum:nchw fp32 2,4,64", "optimizer update sgd fp32 4,162");
    INFER(IMAGES, FP32, NHWC, 2, "conv forward nhwc fp32 2,3,4,8,8,3,3,1,1,1,1,1,1,1",
          "elementwise forward add:row fp32 128,4", "elementwise forward relu fp32 1,512",
          "reduce forward mean fp32 2,64,4", "gemm forward nt-bias fp32 1,2,10,4");
}

/* A batch norm in training counts its batches. */
static void a_batch_norm(void **state)
{
    (void)state;
    TRAIN("input x 3 8 8\nconv 4 3 stride=2 pad=1 bias=off\nbn\ngap\nflatten\n", FP32, NHWC, 2,
          "conv forward nhwc fp32 2,3,4,8,8,3,3,2,2,1,1,1,1,1", "batch_norm forward nhwc fp32 2,4,16",
          "elementwise forward scale int64 1,1", "reduce forward mean fp32 2,16,4", "cross_entropy forward - fp32 2,4",
          "cross_entropy backward - fp32 2,4", "elementwise forward scale:strided fp32 1,128",
          "batch_norm backward nhwc fp32 2,4,16", "conv bwd_weight nhwc fp32 2,3,4,8,8,3,3,2,2,1,1,1,1,1",
          "optimizer update sgd fp32 3,116");
    INFER("input x 4 8 8\nbn\n", FP32, NCHW, 2, "batch_norm forward nchw fp32 2,4,64");
}

/* Concatenated channels are contiguous over a whole image (channels first), or over one pixel (channels last). */
static void joined_channels(void **state)
{
    static const char net[] =
        "input x 3 8 8\nas x\nconv 4 1 bias=off\nas a\nconv 6 1 bias=off from x\nas b\nconcat a b\n";
    (void)state;
    INFER(net, FP32, NCHW, 2, "conv forward nchw fp32 2,3,4,8,8,1,1,1,1,0,0,1,1,1",
          "conv forward nchw fp32 2,3,6,8,8,1,1,1,1,0,0,1,1,1", "elementwise forward cat fp32 2,640");
    INFER(net, FP32, NHWC, 2, "conv forward nhwc fp32 2,3,4,8,8,1,1,1,1,0,0,1,1,1",
          "conv forward nhwc fp32 2,3,6,8,8,1,1,1,1,0,0,1,1,1", "elementwise forward cat:nhwc fp32 128,10");
}

/* One value per plane: planes are contiguous, or interleaved by pixel. */
static void a_spread_product(void **state)
{
    static const char net[] = "input x 4 8 8\nas x\ngap\nas s\nmul x s\n";
    (void)state;
    INFER(net, FP32, NCHW, 2, "reduce forward mean fp32 8,64,1", "elementwise forward mul:col fp32 8,64");
    INFER(net, FP32, NHWC, 2, "reduce forward mean fp32 2,64,4", "elementwise forward mul:plane fp32 128,4");
}

static void pools(void **state)
{
    (void)state;
    INFER("input x 4 8 8\nmaxpool 3 stride=2 pad=1\navgpool 2\n", FP32, NHWC, 2,
          "pool forward max:nhwc fp32 2,4,8,8,3,2,1", "pool forward avg:nhwc fp32 2,4,4,4,2,2,0");
}

/* ---- compiled --------------------------------------------------------------------------------------------------- */

/* Three elementwise functions in a row become one kernel: 64 numbers in, 64 out. Products are unchanged. */
static void a_compiler_joins_functions(void **state)
{
    (void)state;
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 32\nlinear 16\nrelu\nsigmoid\ntanh\nlinear 10\n", CM_PRECISION_FP32,
             true, CM_LAYOUT_AUTO, 4,
             CALLS("gemm forward nt-bias fp32 1,4,16,32", "elementwise forward copy fp32 1,64",
                   "gemm forward nt-bias fp32 1,4,10,16"));
}

/* A batch norm in training sums its input, 2 x 8 x 16 numbers, before it reads it again. Its backward sums the
   operands of its gradient: it reads the activation's gradient and result besides its input. */
static void a_compiled_batch_norm_sums_first(void **state)
{
    (void)state;
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 8 4 4\nbn\nrelu\nflatten\nlinear 4\n", CM_PRECISION_FP32, true,
             CM_LAYOUT_AUTO, 2, CALLS("elementwise forward copy fp32 1,272", "gemm forward nt-bias fp32 1,2,4,128"));
    calls_by(CM_RUNTIME_TORCH_COMPILE, "input x 8 4 4\nconv 8 1 bias=off\nbn\nrelu\nflatten\nlinear 4\n",
             CM_PRECISION_FP32, false, CM_LAYOUT_AUTO, 2,
             CALLS("conv forward nchw fp32 2,8,8,4,4,1,1,1,1,0,0,1,1,1", "reduce forward sum:nchw fp32 2,8,16",
                   "elementwise forward scale int64 1,1",
                   "elementwise forward copy fp32 1,280", /* 256 in and out; 4 x 8 parameters and means, 2 x 8 saved */
                   "gemm forward nt-bias fp32 1,2,4,128", "elementwise forward copy fp32 1,11",
                   "elementwise forward copy fp32 1,7", "elementwise forward copy fp32 1,14",
                   "gemm forward nn fp32 1,2,128,4", "gemm forward tn fp32 1,4,128,2",
                   "reduce forward sum:nchw fp32 2,8,16",
                   "elementwise forward copy fp32 1,268", /* for the sums: 2 x 256, and 3 x 8 */
                   "elementwise forward copy fp32 1,532", /* 3 x 256 in, 256 out, 3 x 8 in, 2 x 8 out */
                   "conv bwd_weight nchw fp32 2,8,8,4,4,1,1,1,1,0,0,1,1,1", "optimizer update sgd fp32 5,596"));
}

/* ---- layouts ---------------------------------------------------------------------------------------------------- */

static void channels_last_for_colour_in_16_bits(void **state)
{
    static const struct {
        const char  *net;
        cm_precision precision;
        bool         last;
    } cases[] = {{"input x 3 8 8\nconv 4 1\n", CM_PRECISION_AMP_BF16, true},
                 {"input x 3 8 8\nconv 4 1\n", CM_PRECISION_FP32, false},
                 {"input x 3 8 8\nconv 4 1\n", CM_PRECISION_TF32, false},
                 {"input x 3 8 8\nconv 4 1\n", CM_PRECISION_FP16, true},
                 {"input x 1 8 8\nconv 4 1\n", CM_PRECISION_AMP_BF16, false},
                 {LINEAR, CM_PRECISION_AMP_BF16, false}};
    (void)state;
    for (volatile size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm__ctx *ctx = cm__ctx_new(&diag);
        if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
        cm_graph *step = step_of(read(ctx, cases[i].net), cases[i].precision, false);
        assert_int_equal(cm__channels_last(step), cases[i].last);
        assert_int_equal(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER)->nhwc, cases[i].last);
        assert_true(cm__dispatch_new(ctx, step, CM_LAYOUT_NHWC, CM_RUNTIME_TORCH_EAGER)->nhwc);
        assert_false(cm__dispatch_new(ctx, step, CM_LAYOUT_NCHW, CM_RUNTIME_TORCH_EAGER)->nhwc);
        cm_graph_free(step);
        cm__ctx_free(ctx);
    }
}

/* A generator's output is compared with colour images, but the generator has no image input. */
static void targets_do_not_choose_the_layout(void **state)
{
    (void)state;
    cm__ctx *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s", diag.reason);
    cm_graph        *step;
    cm_train_options o = {.precision = CM_PRECISION_AMP_BF16, .optimizer = CM_OPTIMIZER_SGD, .loss = CM_LOSS_MSE};
    assert_int_equal(cm_graph_train(read(ctx, "input x 4 8 8\nconv 3 1\n"), &o, &step, &diag), CM_OK);
    assert_false(cm__channels_last(step));
    cm_graph_free(step);
    assert_int_equal(cm_graph_train(read(ctx, "input x 3 8 8\nconv 3 1\n"), &o, &step, &diag), CM_OK);
    assert_true(cm__channels_last(step));
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* ---- whole models ----------------------------------------------------------------------------------------------- */

typedef struct model {
    cm_graph     *forward, *step;
    cm__ctx      *ctx;
    cm__dispatch *d;
} model;

static model load(const char *name, cm_precision precision, cm_optimizer optimizer)
{
    model            m;
    cm_load_options  load = {.fuse = CM_FUSE_EAGER};
    cm_train_options train = {.precision = precision, .optimizer = optimizer};
    assert_int_equal(cm_graph_load(name, &load, &m.forward, &diag), CM_OK);
    assert_int_equal(cm_graph_train(m.forward, &train, &m.step, &diag), CM_OK);
    m.ctx = cm__ctx_new(&diag);
    m.d = cm__dispatch_new(m.ctx, m.step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER);
    return m;
}

static void release(model *m)
{
    cm__ctx_free(m->ctx);
    cm_graph_free(m->step);
    cm_graph_free(m->forward);
}

/* How often calls whose text starts with `beginning` run in a step. */
static int runs_of(const model *m, double batch, const char *beginning)
{
    int runs = 0;
    for (int32_t i = 0; i < m->d->n_calls; i++) {
        cm__call c;
        char     text[TEXT];
        cm__call_at(&m->d->calls[i], batch, &c);
        if (strncmp(cm__call_text(&c, text, sizeof text), beginning, strlen(beginning)) == 0) runs += m->d->runs[i];
    }
    return runs;
}

/* 53 convolutions and as many batch norms; 161 tensors of 25,557,032 parameters; the image has no gradient. */
static void resnet50(void **state)
{
    (void)state;
    model m = load("resnet50", CM_PRECISION_AMP_BF16, CM_OPTIMIZER_MOMENTUM);
    assert_true(m.d->nhwc);
    assert_int_equal(runs_of(&m, 8, "conv forward nhwc bf16"), 53);
    assert_int_equal(runs_of(&m, 8, "conv bwd_weight nhwc bf16"), 53);
    assert_int_equal(runs_of(&m, 8, "conv bwd_input nhwc bf16"), 52);
    assert_int_equal(runs_of(&m, 8, "batch_norm forward nhwc bf16"), 53);
    assert_int_equal(runs_of(&m, 8, "batch_norm backward nhwc bf16"), 53);
    assert_int_equal(runs_of(&m, 8, "elementwise forward scale int64 1,1"), 53);
    assert_int_equal(runs_of(&m, 8, "elementwise forward relu bf16"), 49);
    assert_int_equal(runs_of(&m, 8, "elementwise forward relu_grad bf16"), 48);
    /* the mean's gradient is broadcast over rows, because the last block is channels last */
    assert_int_equal(runs_of(&m, 8, "elementwise forward relu_grad:strided bf16"), 1);
    assert_int_equal(runs_of(&m, 8, "pool forward max:nhwc bf16 8,64,112,112,3,2,1"), 1);
    assert_int_equal(runs_of(&m, 8, "cross_entropy forward - fp32 8,1000"), 1);
    assert_int_equal(runs_of(&m, 8, "cross_entropy backward - fp32 8,1000"), 1);
    assert_int_equal(runs_of(&m, 8, "optimizer update momentum fp32 161,25557032"), 1);
    assert_int_equal(runs_of(&m, 8, "optimizer"), 1);
    release(&m);
}

/* 12 layers of 4 linear layers, attention and 2 norms; 148 tensors of 124,439,808 parameters: the logits share one. */
static void gpt2(void **state)
{
    (void)state;
    model m = load("gpt2", CM_PRECISION_FP32, CM_OPTIMIZER_ADAMW);
    assert_int_equal(runs_of(&m, 2, "attention forward"), 12);
    assert_int_equal(runs_of(&m, 2, "attention backward"), 12);
    assert_int_equal(runs_of(&m, 2, "layer_norm forward - fp32 2048,768"), 25);
    assert_int_equal(runs_of(&m, 2, "layer_norm backward - fp32 2048,768"), 25);
    assert_int_equal(runs_of(&m, 2, "gemm"), 3 * (12 * 4 + 1));
    assert_int_equal(runs_of(&m, 2, "reduce forward sum fp32 1,2048,768"),
                     12 * 2); /* biases of 768: after attention, after the MLP */
    assert_int_equal(runs_of(&m, 2, "embedding forward - fp32 2048,50257,768"), 1);
    assert_int_equal(runs_of(&m, 2, "embedding backward - fp32 2048,50257,768"), 1);
    assert_int_equal(runs_of(&m, 2, "optimizer update adamw fp32 148,124439808"), 1);
    release(&m);
}

static void gpt2_inference(void **state)
{
    (void)state;
    model            m = load("gpt2", CM_PRECISION_FP32, CM_OPTIMIZER_ADAMW);
    cm_train_options o = {.precision = CM_PRECISION_FP32, .inference = true};
    assert_int_equal(runs_of(&m, 2, "attention forward dropout"), 12);
    release(&m);
    m = load("gpt2", CM_PRECISION_FP32, CM_OPTIMIZER_ADAMW);
    cm_graph_free(m.step);
    assert_int_equal(cm_graph_train(m.forward, &o, &m.step, &diag), CM_OK);
    m.d = cm__dispatch_new(m.ctx, m.step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER);
    assert_int_equal(runs_of(&m, 2, "attention forward - fp32 2,1024,1024,12,12,64,1"), 12);
    release(&m);
}

/* Every node that is not a view makes one call. A few make one more, and the softmax of a cross-entropy is part of
   its loss. */
static void a_call_for_each_node(void **state)
{
    (void)state;
    model m = load("resnet18", CM_PRECISION_FP32, CM_OPTIMIZER_SGD);
    int   nodes = 0, softmax = 0;
    for (int32_t i = 0; i < m.step->n_nodes; i++) {
        nodes += !m.step->nodes[i].view;
        softmax += m.step->nodes[i].op == CM_OP_SOFTMAX_GRAD;
    }
    assert_int_equal(m.d->n_of, nodes - softmax + 20); /* 20 batch norms count their batches */
    int sum = 0;
    for (int32_t i = 0; i < m.d->n_calls; i++) sum += m.d->runs[i];
    assert_int_equal(sum, m.d->n_of);
    for (int32_t i = 0; i < m.d->n_calls; i++)
        for (int32_t j = 0; j < i; j++) assert_memory_not_equal(&m.d->calls[i], &m.d->calls[j], sizeof *m.d->calls);
    release(&m);
}

/* Sizes are functions of the batch: one dispatch is valid for every batch size. */
static void any_batch(void **state)
{
    (void)state;
    model m = load("resnet18", CM_PRECISION_FP32, CM_OPTIMIZER_SGD);
    for (int batch = 1; batch <= 512; batch *= 8) {
        char text[TEXT];
        snprintf(text, sizeof text, "conv forward nchw fp32 %d,3,64,224,224,7,7,2,2,3,3,1,1,1", batch);
        assert_int_equal(runs_of(&m, batch, text), 1);
        snprintf(text, sizeof text, "gemm forward nt-bias fp32 1,%d,1000,512", batch);
        assert_int_equal(runs_of(&m, batch, text), 1);
    }
    release(&m);
}

/* ---- attention that PyTorch runs as separate operators ----------------------------------------------------------- */

static int32_t projected(cm_graph *g, int32_t x, const char *name)
{
    cm__attr turned = CM__INTS(CM_ATTR_TRANS_B, 1);
    int32_t  w = cm__parameter(g, name, 2, (int64_t[]){8, 8});
    return cm__emit(g, CM_OP_GEMM, name, (int32_t[]){x, w}, 2, &turned, 1);
}

static int32_t two(cm_graph *g, int op, int32_t a, int32_t b)
{
    return cm__emit(g, op, NULL, (int32_t[]){a, b}, 2, NULL, 0);
}

/* scaled_dot_product_attention over [B, 2, 4, 8] with a trained mask, in exported form. */
static cm_graph *attention_with_trained_mask(cm__ctx *ctx)
{
    cm_graph *g = cm__graph_new(ctx, "test", "test");
    cm_dim    dims[] = {{1, 0}, {0, 2}, {0, 4}, {0, 8}};
    cm__attr  perm = CM__INTS(CM_ATTR_PERM, 0, 1, 3, 2);
    int32_t   x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 4, dims), root = cm__constant_scalar(g, "r", CM_FP32, 0.6);
    int32_t   q = projected(g, x, "q"), k = projected(g, x, "k"), v = projected(g, x, "v"),
            mask = cm__parameter(g, "mask", 4, (int64_t[]){1, 2, 4, 4});
    k = cm__emit(g, CM_OP_TRANSPOSE, NULL, &k, 1, &perm, 1);
    int32_t s = two(g, CM_OP_MATMUL, two(g, CM_OP_MUL, q, root), two(g, CM_OP_MUL, k, root));
    s = two(g, CM_OP_ADD, s, mask);
    cm__output(g, two(g, CM_OP_MATMUL, cm__emit(g, CM_OP_SOFTMAX, NULL, &s, 1, NULL, 0), v));
    cm__finish(g, CM_FUSE_EAGER);
    return g;
}

static void attention_with_a_trained_mask(void **state)
{
    (void)state;
    static listed got;
    for (int low = 0; low < 2; low++) {
        cm__ctx *ctx = cm__ctx_new(&diag);
        if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
        cm_precision precision = low ? CM_PRECISION_AMP_BF16 : CM_PRECISION_TF32;
        cm_graph    *step = step_of(attention_with_trained_mask(ctx), precision, true);
        list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 3, &got);
        assert_int_equal(times(&got, "copy bf16>fp32 1,192"), low ? 3 : 0);     /* Q, K, V */
        assert_int_equal(times(&got, "copy fp32>bf16 1,192"), low ? 3 + 1 : 0); /* x for each of them; the result */
        assert_int_equal(times(&got, "copy fp32>bf16 1,32"), low);              /* the mask */
        assert_int_equal(times(&got, low ? "fp32 6,4,4,8" : "tf32 6,4,4,8"), 1);
        assert_int_equal(times(&got, low ? "fp32 6,4,8,4" : "tf32 6,4,8,4"), 1);
        assert_int_equal(times(&got, "softmax forward - fp32 24,4"), 1);
        /* which elements are masked, fully masked rows, zeros for these */
        assert_int_equal(times(&got, "copy fp32>bool 1,96"), 1);
        assert_int_equal(times(&got, "reduce forward sum fp32 24,4,1"), 1);
        assert_int_equal(times(&got, "where:col fp32 24,4"), 1);
        assert_int_equal(times(&got, "copy fp32>bf16 1,96"), low); /* probabilities are returned, too */
        cm_graph_free(step);
        cm__ctx_free(ctx);
    }
}

/* ---- Einstein sums ---------------------------------------------------------------------------------------------- */

static int32_t einsum(cm_graph *g, const char *equation, int32_t a, int32_t b)
{
    int64_t  text[32];
    int32_t  length = (int32_t)strlen(equation);
    cm__attr attr = {.key = CM_ATTR_EQUATION, .count = length, .ints = text};
    for (int32_t i = 0; i < length; i++) text[i] = equation[i];
    return cm__emit(g, CM_OP_EINSUM, NULL, (int32_t[]){a, b}, 2, &attr, 1);
}

/* torch.einsum runs batched products. Heads that are not adjacent to the batch are copied, in forward only. */
static void einstein_sums_are_stacks_of_products(void **state)
{
    static listed got;
    cm_dim        dims[] = {{1, 0}, {0, 4}, {0, 2}, {0, 8}};
    cm__ctx      *ctx = cm__ctx_new(&diag);
    (void)state;
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *g = cm__graph_new(ctx, "test", "test");
    int32_t   x = cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 4, dims);
    cm__output(g, einsum(g, "bqhd,bkhd->bhqk", projected(g, x, "q"), projected(g, x, "k")));
    cm__finish(g, CM_FUSE_EAGER);
    cm_graph *step = step_of(g, CM_PRECISION_FP32, false);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 3, &got);
    assert_int_equal(times(&got, "gemm forward nn fp32 6,4,4,8"), 1); /* 3 samples, 2 heads */
    assert_int_equal(times(&got, "gemm forward nt fp32 6,4,8,4"), 1); /* gradient of q */
    assert_int_equal(times(&got, "gemm forward tn fp32 6,8,4,4"), 1); /* gradient of k, transposed */
    assert_int_equal(times(&got, "elementwise forward copy:"), 2);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* ---- planes ----------------------------------------------------------------------------------------------------- */

static void scores_of_pixels_are_planes(void **state)
{
    (void)state;
    static listed got;
    cm__ctx      *ctx = cm__ctx_new(&diag);
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *step = step_of(read(ctx, "input x 3 8 8\nconv 5 1\n"), CM_PRECISION_FP32, false);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 2, &got);
    assert_int_equal(times(&got, "cross_entropy forward nchw fp32 128,5"), 1);
    assert_int_equal(times(&got, "cross_entropy backward nchw fp32 128,5"), 1);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* ---- recurrent layers ------------------------------------------------------------------------------------------- */

/* One direction of one layer over [B, 5, in], as captured: [B, 5, hidden]. */
static int32_t cell(cm_graph *g, int32_t x, const char *weight, int64_t hidden, int64_t direction)
{
    int64_t  in = cm__t(g, x)->dims[2].fixed;
    int32_t  w = cm__parameter(g, weight, 3, (int64_t[]){1, 4 * hidden, in}),
            r = cm__parameter(g, "weight_hh", 3, (int64_t[]){1, 4 * hidden, hidden});
    cm__attr attrs[] = {CM__INTS(CM_ATTR_HIDDEN_SIZE, hidden), CM__INTS(CM_ATTR_LAYOUT, 1),
                        CM__INTS(CM_ATTR_DIRECTION, direction)};
    int32_t  y = cm__emit(g, CM_OP_LSTM, NULL, (int32_t[]){x, w, r}, 3, attrs, 3);
    return two(g, CM_OP_RESHAPE, y, cm__constant_ints(g, "shape", 3, (int64_t[]){0, 0, hidden}));
}

static int32_t dropped(cm_graph *g, int32_t x)
{
    cm__attr ratio = CM__REAL(CM_ATTR_RATIO, 0.5);
    return cm__emit(g, CM_OP_DROPOUT, NULL, &x, 1, &ratio, 1);
}

static int32_t joined(cm_graph *g, int32_t a, int32_t b)
{
    cm__attr axis = CM__INTS(CM_ATTR_AXIS, 2);
    return cm__emit(g, CM_OP_CONCAT, NULL, (int32_t[]){a, b}, 2, &axis, 1);
}

static int32_t one_module(cm_graph *g, int32_t x)
{
    return cell(g, dropped(g, cell(g, x, "rnn.weight_ih_l0", 6, 0)), "rnn.weight_ih_l1", 6, 0);
}

static int32_t two_modules(cm_graph *g, int32_t x)
{
    return cell(g, dropped(g, cell(g, x, "first.weight_ih_l0", 6, 0)), "second.weight_ih_l0", 6, 0);
}

static int32_t two_widths(cm_graph *g, int32_t x) { return cell(g, cell(g, x, "a", 8, 0), "b", 6, 0); }

static int32_t read_in_between(cm_graph *g, int32_t x)
{
    int32_t y = cell(g, x, "a", 6, 0);
    return two(g, CM_OP_ADD, cell(g, y, "b", 6, 0), y);
}

static int32_t two_dropouts(cm_graph *g, int32_t x)
{
    return cell(g, dropped(g, dropped(g, cell(g, x, "a", 6, 0))), "b", 6, 0);
}

static int32_t a_function_between(cm_graph *g, int32_t x)
{
    int32_t y = cell(g, x, "a", 6, 0);
    return cell(g, cm__emit(g, CM_OP_RELU, NULL, &y, 1, NULL, 0), "b", 6, 0);
}

static int32_t both_directions(cm_graph *g, int32_t x)
{
    for (int i = 0; i < 3; i++) {
        int32_t in = i ? dropped(g, x) : x;
        int32_t forward = cell(g, in, "f", 6, 0), reverse = cell(g, in, "r", 6, 1);
        x = joined(g, forward, reverse);
    }
    return x;
}

static const struct {
    int32_t (*build)(cm_graph *, int32_t);
    int         calls; /* per direction of time */
    const char *first; /* sizes of the first call */
    int         dropouts;
} stacks[] = {
    {one_module, 1, "3,5,7,6,2,1", 0},         {two_modules, 2, "3,5,7,6,1,1", 1},
    {two_widths, 2, "3,5,7,8,1,1", 0},         {read_in_between, 2, "3,5,7,6,1,1", 0},
    {two_dropouts, 2, "3,5,7,6,1,1", 2},       {a_function_between, 2, "3,5,7,6,1,1", 0},
    {both_directions, 1, "3,5,7,6,3,2", 0},
};

/* cuDNN runs the layers of one module in one call, which includes the dropout between them. */
static void stacked_layers_are_one_call(void **state)
{
    (void)state;
    static listed got;
    cm_dim        dims[] = {{1, 0}, {0, 5}, {0, 7}};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        cm__ctx *ctx = cm__ctx_new(&diag);
        if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
        cm_graph *g = cm__graph_new(ctx, "test", "test");
        cm__output(g, stacks[i].build(g, cm__leaf(g, "x", CM_ROLE_INPUT, CM_FP32, 3, dims)));
        cm__finish(g, CM_FUSE_EAGER);
        cm_graph *step = step_of(g, CM_PRECISION_FP32, false);
        list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 3, &got);
        char forward[TEXT], backward[TEXT];
        snprintf(forward, sizeof forward, "rnn forward lstm fp32 %s", stacks[i].first);
        snprintf(backward, sizeof backward, "rnn backward lstm fp32 %s", stacks[i].first);
        assert_int_equal(times(&got, "rnn forward"), stacks[i].calls);
        assert_int_equal(times(&got, "rnn backward"), stacks[i].calls);
        assert_int_equal(times(&got, forward), 1);
        assert_int_equal(times(&got, backward), 1);
        assert_int_equal(times(&got, "forward dropout "), stacks[i].dropouts);
        assert_int_equal(times(&got, "forward dropout_grad "), stacks[i].dropouts);
        cm_graph_free(step);
        cm__ctx_free(ctx);
    }
}

/* Recomputed layers run one by one, in forward too. */
static void layers_computed_again_are_calls_of_their_own(void **state)
{
    (void)state;
    static listed    got;
    cm__ctx         *ctx = cm__ctx_new(&diag);
    cm_train_options o = {.precision = CM_PRECISION_FP32, .recompute = CM_RECOMPUTE_FULL};
    cm_graph        *step;
    if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
    cm_graph *g = read(ctx, "input x 5 7\nlstm 6 layers=2\nlinear 6\n");
    if (cm_graph_train(g, &o, &step, &diag)) fail_msg("%s: %s", diag.place, diag.reason);
    list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 3, &got);
    assert_int_equal(times(&got, "6,2,1"), 0);
    assert_int_equal(times(&got, "rnn backward"), 2);
    assert_int_equal(times(&got, "rnn forward"), 2 + 2);
    cm_graph_free(step);
    cm__ctx_free(ctx);
}

/* Recomputation makes the same calls as forward. */
static void recomputation_is_forward(void **state)
{
    (void)state;
    static listed got[2];
    static const cm_recompute modes[2] = {CM_RECOMPUTE_NONE, CM_RECOMPUTE_FULL};
    for (int i = 0; i < 2; i++) {
        cm__ctx         *ctx = cm__ctx_new(&diag);
        cm_train_options o = {.precision = CM_PRECISION_FP32, .recompute = modes[i]};
        cm_graph        *step;
        if (setjmp(ctx->trap)) fail_msg("%s: %s", diag.place, diag.reason);
        cm_graph *g = read(ctx, "input x 32\nln\nlinear 32\nln\nlinear 32\nln\nlinear 10\n");
        if (cm_graph_train(g, &o, &step, &diag)) fail_msg("%s: %s", diag.place, diag.reason);
        list(cm__dispatch_new(ctx, step, CM_LAYOUT_AUTO, CM_RUNTIME_TORCH_EAGER), 3, &got[i]);
        cm_graph_free(step);
        cm__ctx_free(ctx);
    }
    assert_int_equal(times(&got[0], "layer_norm forward"), 3);
    assert_in_range(times(&got[1], "layer_norm forward"), 4, 6);
    assert_int_equal(times(&got[0], "layer_norm backward"), 3);
    assert_int_equal(times(&got[1], "layer_norm backward"), 3);
}

static void layers_of_the_layer_language(void **state)
{
    (void)state;
    INFER("input x 5 7\nlstm 6 layers=3\n", FP32, AUTO, 2, "rnn forward lstm fp32 2,5,7,6,3,1");
    INFER("input x 5 7\ngru 6 layers=2\n", TF32, AUTO, 2, "rnn forward gru tf32 2,5,7,6,2,1");
    INFER("input x 5 7\nlstm 6\nlstm 6\n", FP32, AUTO, 2, "rnn forward lstm fp32 2,5,7,6,1,1",
          "rnn forward lstm fp32 2,5,6,6,1,1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_linear_layer),
        cmocka_unit_test(two_linear_layers),
        cmocka_unit_test(autocast),
        cmocka_unit_test(dropout_is_for_training),
        cmocka_unit_test(attention_with_a_trained_mask),
        cmocka_unit_test(stacked_layers_are_one_call),
        cmocka_unit_test(layers_computed_again_are_calls_of_their_own),
        cmocka_unit_test(recomputation_is_forward),
        cmocka_unit_test(layers_of_the_layer_language),
        cmocka_unit_test(a_convolution_with_bias),
        cmocka_unit_test(a_batch_norm),
        cmocka_unit_test(joined_channels),
        cmocka_unit_test(a_spread_product),
        cmocka_unit_test(pools),
        cmocka_unit_test(a_compiler_joins_functions), cmocka_unit_test(a_compiled_batch_norm_sums_first),
        cmocka_unit_test(channels_last_for_colour_in_16_bits),
        cmocka_unit_test(targets_do_not_choose_the_layout),
        cmocka_unit_test(resnet50),
        cmocka_unit_test(gpt2),
        cmocka_unit_test(gpt2_inference),
        cmocka_unit_test(a_call_for_each_node),
        cmocka_unit_test(any_batch),
        cmocka_unit_test(einstein_sums_are_stacks_of_products),
        cmocka_unit_test(scores_of_pixels_are_planes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
