/* SPDX-License-Identifier: Apache-2.0 */
/*
 * law_calls.c - the kernel calls of a node do the node's work: FLOP and bytes are computed independently from shapes.
 *
 *     linear, matrix product   2 |Y| K
 *     convolution              2 |Y| (C / groups) R S ...      transposed: 2 |X| (K / groups) R S ...
 *     attention                2 B H Sq Sk (d + dv), backward 2.5 times that (5 products for 2)
 *     recurrent layer          2 T B (|W| + |R|), backward twice that
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../unit/onnx_writer.h"
#include "ask.h"

static double size_of(const cm_dim *d, double batch) { return (double)d->per_batch * batch + (double)d->fixed; }

static double product_of(const cm_dim *dims, int32_t count, double batch)
{
    double p = 1;
    for (int32_t i = 0; i < count; i++) p *= size_of(&dims[i], batch);
    return p;
}

static double elements(const cm_tensor *t, double batch) { return product_of(t->dims, t->rank, batch); }

static const cm_tensor *input(const cm_graph *g, const cm_node *n, int32_t k)
{
    return k < n->n_inputs && n->inputs[k] >= 0 ? cm_graph_tensor(g, n->inputs[k]) : NULL;
}

static const cm_tensor *output(const cm_graph *g, const cm_node *n) { return cm_graph_tensor(g, n->outputs[0]); }

/* FLOP of a forward matrix node; negative: this law does not cover the operator. */
static double forward_flop(const cm_graph *g, const cm_node *n, double batch)
{
    const cm_tensor *x = input(g, n, 0), *w = input(g, n, 1), *y = output(g, n);
    const char      *type = cm_node_type(n);
    if (strcmp(type, "Conv") == 0) return 2 * elements(y, batch) * product_of(w->dims + 1, w->rank - 1, batch);
    if (strcmp(type, "ConvTranspose") == 0)
        return 2 * elements(x, batch) * product_of(w->dims + 1, w->rank - 1, batch);
    if (strcmp(type, "MatMul") == 0) return 2 * elements(y, batch) * size_of(&x->dims[x->rank - 1], batch);
    if (strcmp(type, "Gemm") == 0) /* the inner size is the dimension that both operands share and the output lacks */
        return 2 * elements(y, batch) * elements(w, batch) / size_of(&y->dims[y->rank - 1], batch);
    if (strcmp(type, "Attention") == 0) {
        const cm_tensor *k = w;
        return 2 * (elements(x, batch) + elements(y, batch)) * size_of(&k->dims[k->rank - 2], batch);
    }
    if (cm_node_class(n) == CM_CLASS_RNN)
        return 2 * product_of(x->dims, 2, batch) * (elements(w, batch) + elements(input(g, n, 2), batch));
    return -1;
}

static double node_flop(const cm_graph *g, const cm_node *n, double batch)
{
    if (n->phase != CM_BACKWARD || n->source < 0) return forward_flop(g, n, batch);
    const cm_node *forward = cm_graph_node(g, n->source);
    double         flop = forward_flop(g, forward, batch);
    if (cm_node_class(forward) == CM_CLASS_ATTENTION) return flop * 2.5;
    return cm_node_class(forward) == CM_CLASS_RNN ? flop * 2 : flop;
}

static bool is_matrix_node(const cm_node *n)
{
    cm_class c = cm_node_class(n);
    return c == CM_CLASS_GEMM || c == CM_CLASS_CONV || c == CM_CLASS_ATTENTION || c == CM_CLASS_RNN;
}

/* Bytes that a product or convolution reads and writes once: its three operands, in the type of the call. */
static double operand_bytes(const cm_graph *g, const cm_node *n, double batch)
{
    const cm_node *forward = n->source >= 0 && n->phase == CM_BACKWARD ? cm_graph_node(g, n->source) : n;
    const cm_tensor *x = input(g, forward, 0), *w = input(g, forward, 1), *y = output(g, forward);
    return (elements(x, batch) + elements(w, batch) + elements(y, batch)) * (double)cm_dtype_size(x->dtype);
}

/* Layers of a recurrent stack run as one call, which belongs to one of its nodes: the law holds for their sum. */
static void check_recurrent(law_run *run, const law_question *q, const cm_graph *g, const double *flop, double batch)
{
    double calls = 0, nodes = 0;
    for (int32_t i = 0; i < cm_graph_nodes(g); i++) {
        const cm_node *n = cm_graph_node(g, i);
        if (cm_node_class(n) != CM_CLASS_RNN) continue;
        calls += flop[i];
        nodes += node_flop(g, n, batch);
    }
    if (nodes > 0)
        law_case(run, fabs(calls - nodes) <= 1e-6 * nodes, "%s: recurrent layers do %.4g FLOP, their calls %.4g",
                 law_text(q), nodes, calls);
}

static bool near(double a, double b, double part) { return fabs(a - b) <= part * fmax(fabs(a), fabs(b)); }

/* traffic: also checks bytes. Images have one more padded row if the paddings of both ends have an odd sum. */
static void check_step(law_run *run, const law_question *q, bool traffic)
{
    cm_prediction  *p = law_predict(q);
    const cm_graph *g = law_step(q);
    if (!p) {
        law_case(run, false, "%s: %s", law_text(q), law_reason());
        return;
    }
    double  batch = (double)(q->batch ? q->batch : 1);
    int32_t nodes = cm_graph_nodes(g);
    double *flop = calloc((size_t)nodes * 2 + 1, sizeof *flop), *moved = flop + nodes;
    const char **first = calloc((size_t)nodes + 1, sizeof *first);
    for (int32_t i = 0; i < cm_prediction_ops(p); i++) {
        const cm_op_time *op = cm_prediction_op(p, i);
        if (!law_is_matrix(op->call)) continue;
        flop[op->node] += law_whole_flop(op);
        moved[op->node] += op->bytes;
        if (!first[op->node]) first[op->node] = op->call;
    }
    for (int32_t i = 0; i < nodes; i++) {
        const cm_node *n = cm_graph_node(g, i);
        double         expected = is_matrix_node(n) && !n->view ? node_flop(g, n, batch) : -1;
        if (expected < 0 || !first[i] || cm_node_class(n) == CM_CLASS_RNN) continue;
        law_case(run, near(flop[i], expected, 1e-6), "%s: %s (%s) does %.4g FLOP, its calls %.4g: %s", law_text(q),
                 n->name, cm_node_type(n), expected, flop[i], first[i]);
        if (!traffic || (cm_node_class(n) != CM_CLASS_CONV && strcmp(cm_node_type(n), "Gemm"))) continue;
        law_case(run, near(moved[i], operand_bytes(g, n, batch), 1e-6), "%s: %s (%s) moves %.4g bytes, its calls %.4g: %s",
                 law_text(q), n->name, cm_node_type(n), operand_bytes(g, n, batch), moved[i], first[i]);
    }
    check_recurrent(run, q, g, flop, batch);
    free(flop);
    free(first);
    cm_prediction_free(p);
}

static void check_named(law_run *run)
{
    static const char *const models[] = {"resnet18", "resnet50", "unet", "uno", "braggnn", "efficientnet-b0",
        "densenet121", "regnet-y-3.2gf", "mobilenet-v3-small", "autoencoder", "bert-base", "gpt2", "lstm", "rnn_k2",
        "transformer-block", "llama2-7b", "conv_k3", "gemm_k2",
        "llama:layers=2,hidden=512,heads=8,kv_heads=2,ffn=1024,vocab=1000,seq=256",
        "mixtral:layers=2,hidden=256,heads=8,kv_heads=4,ffn=512,vocab=1000,seq=128"};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (int inference = 0; inference < 2; inference++) {
            law_question q = {.model = models[m], .device = "nvidia-h200", .precision = CM_PRECISION_AMP_BF16,
                              .runtime = CM_RUNTIME_TORCH_EAGER, .batch = 3, .inference = inference,
                              .recompute = inference ? CM_RECOMPUTE_NONE : LAW_PICK(run, ((cm_recompute[]){
                                  CM_RECOMPUTE_NONE, CM_RECOMPUTE_SELECTIVE, CM_RECOMPUTE_FULL}))};
            check_step(run, &q, true);
        }
}

/* Writes an ONNX file with a convolution of one to three dimensions. Kernel, strides, paddings (also of both ends)
   and dilations differ by axis. */
static bool write_convolution(law_run *run, const char *path, bool *even)
{
    bool    transposed = law_random(run, 4) == 0;
    int     dims = 1 + (int)law_random(run, 3), groups = 1 + (int)law_random(run, 2);
    int64_t x[5] = {-1, 8 * groups}, w[5], kernel[3], stride[3], pads[6], dilation[3];
    bytes   graph = {0}, attrs = {0};
    *even = true;
    w[0] = transposed ? 8 * groups : 16 * groups;
    w[1] = transposed ? 16 : 8;
    for (int i = 0; i < dims; i++) {
        x[2 + i] = 9 + law_random(run, 12);
        w[2 + i] = kernel[i] = 1 + law_random(run, 3);
        stride[i] = 1 + law_random(run, 3);
        dilation[i] = 1 + law_random(run, 2);
        pads[i] = law_random(run, 2);
        pads[dims + i] = law_random(run, 3) ? pads[i] : law_random(run, 2);
        if (pads[i] != pads[dims + i]) *even = false;
    }
    w_attr_ints(&attrs, "kernel_shape", dims, kernel);
    w_attr_ints(&attrs, "strides", dims, stride);
    w_attr_ints(&attrs, "pads", 2 * dims, pads);
    w_attr_ints(&attrs, "dilations", dims, dilation);
    w_attr_int(&attrs, "group", groups);
    w_node(&graph, transposed ? "ConvTranspose" : "Conv", "c", "x w", "y", &attrs);
    w_node(&graph, "Relu", "r", "y", "z", NULL);
    w_text(&graph, 2, "g");
    w_weight(&graph, "w", 2 + dims, w);
    w_value(&graph, 11, "x", 1, 2 + dims, x, "batch");
    w_name(&graph, 12, "z");
    bytes model = w_model(&graph, "laws", 17);
    FILE *f = fopen(path, "wb");
    bool  ok = f && fwrite(model.data, 1, model.size, f) == model.size;
    if (f) fclose(f);
    w_free(&model);
    return ok;
}

static void check_random_convolution(law_run *run, const char *path)
{
    law_question q = {.model = path, .device = LAW_PICK(run, ((const char *[]){"nvidia-h200", "nvidia-a100-80g"})),
                      .precision = LAW_PICK(run, ((cm_precision[]){CM_PRECISION_FP32, CM_PRECISION_AMP_BF16})),
                      .runtime = CM_RUNTIME_TORCH_EAGER, .batch = 1 + law_random(run, 8)};
    bool         even;
    if (write_convolution(run, path, &even)) check_step(run, &q, even);
}

void law_calls_do_the_nodes_work(law_run *run)
{
    char path[64];
    check_named(run);
    for (int i = 0; i < 150; i++) {
        snprintf(path, sizeof path, "law_%ld_%d.onnx", (long)getpid(), i); /* a unique name: steps are cached by name */
        check_random_convolution(run, path);
        remove(path);
    }
}

/* Cards run above the clock of their data sheet by up to 15 %. fp32 can beat it: fast algorithms save multiplications. */
#define ABOVE_SHEET 1.15

static void check_peak(law_run *run, const law_question *q)
{
    cm_device *device;
    if (cm_device_load(q->device, &device, NULL)) return;
    cm_prediction *p = cm_device_supports(device, q->precision) ? law_predict(q) : NULL;
    double         peak = ABOVE_SHEET * cm_device_peak_16bit(device).value;
    for (int32_t i = 0; p && i < cm_prediction_ops(p); i++) {
        const cm_op_time *op = cm_prediction_op(p, i);
        bool product = !strncmp(op->call, "gemm ", 5) || !strncmp(op->call, "conv ", 5), narrow = strstr(op->call, "16 ");
        if (product && narrow && op->time_s > 0)
            law_case(run, op->flop / op->time_s <= peak * (1 + 1e-6), "%s: %s at %.4g FLOP/s, at most %.4g",
                     law_text(q), op->call, op->flop / op->time_s, peak);
    }
    cm_prediction_free(p);
    cm_device_free(device);
}

void law_products_stay_below_the_peak(law_run *run)
{
    static const char *const models[] = {"resnet50", "bert-large", "unet", "gpt2"};
    static const char *const gpus[] = {"nvidia-", "amd-", "intel-"};
    for (int32_t d = 0; cm_device_id(d); d++)
        for (size_t g = 0; g < sizeof gpus / sizeof *gpus; g++) {
            law_question q = {.model = models[d % 4], .device = cm_device_id(d), .precision = CM_PRECISION_AMP_FP16,
                              .runtime = CM_RUNTIME_TORCH_EAGER, .batch = 8 << d % 5};
            if (!strncmp(q.device, gpus[g], strlen(gpus[g]))) check_peak(run, &q);
        }
}
