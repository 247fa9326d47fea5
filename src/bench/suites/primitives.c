/* SPDX-License-Identifier: Apache-2.0 */
/*
 * primitives.c - suite of the kernels that two papers measured, with the papers' sizes and FLOP formulas.
 *
 * GEMM, convolution, ReLU and LSTM: Emani et al., "A Comprehensive Evaluation of Novel AI Accelerators for Deep
 * Learning Workloads", PMBS 2022, Tables VI to IX and Section IV. The FLOP formulas are used as printed, with two
 * mistakes: a convolution's output is one too narrow, (w + 2 pad - f) / stride, and an LSTM's recurrent product lacks a
 * factor of h. The paper gives no stride; this suite uses 1. Half precision runs twice the batch.
 *
 * One GPT-2 XL layer: Emani et al., "A Comprehensive Performance Study of Large Language Models on Novel AI
 * Accelerators", 2023, Section IV-A.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bench/bench.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const struct {
    int m, n, k;
} gemms[] = {{64, 1760, 1760}, {2560, 64, 2560}, {1760, 128, 1760}, {2560, 2560, 2560}};

static const struct {
    int w, h, c, b, k, fw, fh, pad_w, pad_h;
} convs[] = {{7, 7, 32, 131072, 32, 3, 3, 0, 0},
             {14, 14, 128, 4096, 256, 3, 3, 1, 1},
             {54, 54, 16, 256, 1024, 3, 3, 1, 1},
             {128, 128, 32, 1024, 128, 5, 5, 0, 0}};

static const struct {
    int w, h, c, b;
} relus[] = {{7, 7, 32, 262144}, {14, 14, 128, 16384}, {54, 54, 1024, 128}, {128, 128, 128, 128}};

static const struct {
    int s, n, i, h;
} rnns[] = {{50, 64, 256, 256}, {25, 32, 512, 512}, {25, 16, 512, 512}, {50, 32, 512, 512}};

typedef struct precision {
    cm_bench   *b;
    const char *dtype;
    int64_t     scale;
} precision;

/* Half precision runs twice the batch. Small machines divide the batch by --scale. */
static long long batch_of(const precision *p, int64_t batch)
{
    int64_t scaled = batch * (cm__is_half(p->dtype) ? 2 : 1) / p->scale;
    return scaled > 0 ? scaled : 1;
}

static const char *label_of(const precision *p, char *text, size_t size, const char *kind, int number, const char *pass)
{
    snprintf(text, size, "%s_k%d%s %s", kind, number, pass, p->dtype);
    return text;
}

/* ---- GEMM, convolution, ReLU and LSTM ---------------------------------------------------------------------------- */

static void add_gemms(const precision *p)
{
    char label[64];
    for (int i = 0; i < COUNT(gemms); i++) {
        cm__call call = cm__call_of("gemm forward nn %s 1,%d,%d,%d", p->dtype, gemms[i].m, gemms[i].n, gemms[i].k);
        cm__add_requested_call(p->b, "primitives", label_of(p, label, sizeof label, "gemm", i + 1, ""), &call, 1,
                               2.0 * gemms[i].m * gemms[i].n * gemms[i].k);
    }
}

static void add_conv(const precision *p, int i, const char *pass, const char *suffix)
{
    char      label[64];
    long long batch = batch_of(p, convs[i].b);
    double wide = convs[i].w + 2 * convs[i].pad_w - convs[i].fw, high = convs[i].h + 2 * convs[i].pad_h - convs[i].fh;
    double    flop = 2 * wide * high * convs[i].k * convs[i].c * convs[i].fw * convs[i].fh * (double)batch;
    cm__call  call = cm__call_of("conv %s %s %s %lld,%d,%d,%d,%d,%d,%d,1,1,%d,%d,1,1,1", pass,
                                 cm__is_half(p->dtype) ? "nhwc" : "nchw", p->dtype, batch, convs[i].c, convs[i].k,
                                 convs[i].h, convs[i].w, convs[i].fh, convs[i].fw, convs[i].pad_h, convs[i].pad_w);
    cm__add_call(p->b, "primitives", label_of(p, label, sizeof label, "conv", i + 1, suffix), &call, 1, flop);
}

/* The backward pass is two convolutions with the same label, so their times and FLOP add up. */
static void add_convs(const precision *p)
{
    for (int i = 0; i < COUNT(convs); i++) {
        add_conv(p, i, "forward", "_fw");
        add_conv(p, i, "bwd_input", "_bw");
        add_conv(p, i, "bwd_weight", "_bw");
    }
}

static void add_relus(const precision *p)
{
    char label[64];
    for (int i = 0; i < COUNT(relus); i++) {
        long long batch = batch_of(p, relus[i].b), inner = (long long)relus[i].w * relus[i].h * relus[i].c;
        cm__call  fw = cm__call_of("elementwise forward relu %s %lld,%lld", p->dtype, batch, inner);
        cm__call  bw = cm__call_of("elementwise forward relu_grad %s %lld,%lld", p->dtype, batch, inner);
        double    flop = (double)batch * (double)inner;
        cm__add_call(p->b, "primitives", label_of(p, label, sizeof label, "relu", i + 1, "_fw"), &fw, 1, flop);
        cm__add_call(p->b, "primitives", label_of(p, label, sizeof label, "relu", i + 1, "_bw"), &bw, 1, flop);
    }
}

static void add_rnn(const precision *p, int i, const char *pass, const char *suffix)
{
    char      label[64];
    long long n = batch_of(p, rnns[i].n);
    double    steps = (double)rnns[i].s * (double)n, h = rnns[i].h;
    double    passes = strcmp(pass, "forward") ? 2 : 1; /* backward computes gradients of inputs and of weights */
    cm__call call = cm__call_of("rnn %s lstm %s %lld,%d,%d,%d,1,1", pass, p->dtype, n, rnns[i].s, rnns[i].i, rnns[i].h);
    cm__add_call(p->b, "primitives", label_of(p, label, sizeof label, "rnn", i + 1, suffix), &call, 1,
                  passes * (2 * 4 * steps * rnns[i].i * h + 2 * 4 * steps * h));
}

static void add_rnns(const precision *p)
{
    for (int i = 0; i < COUNT(rnns); i++) {
        add_rnn(p, i, "forward", "_fw");
        add_rnn(p, i, "backward", "_bw");
    }
}

/* ---- one layer of GPT-2 XL: hidden 1600, 25 heads, 1024 tokens --------------------------------------------------- */

#define SEQ    1024
#define HIDDEN 1600
#define HEADS  25

/* The calls of one layer: forward or backward, how often, and the call with a placeholder for its rows. */
static const struct {
    char        pass;
    int         times;
    const char *call;
} layer[] = {
    {'f', 2, "layer_norm forward - %s %lld,1600"},
    {'f', 1, "gemm forward nt-bias %s 1,%lld,4800,1600"},
    {'f', 1, "gemm forward nt-bias %s 1,%lld,1600,1600"},
    {'f', 1, "gemm forward nt-bias %s 1,%lld,6400,1600"},
    {'f', 1, "gemm forward nt-bias %s 1,%lld,1600,6400"},
    {'f', 1, "elementwise forward gelu_tanh %s %lld,6400"},
    {'f', 2, "elementwise forward add %s %lld,1600"},
    {'b', 2, "layer_norm backward - %s %lld,1600"},
    {'b', 1, "gemm forward nn %s 1,%lld,1600,4800"},
    {'b', 1, "gemm forward nn %s 1,%lld,1600,1600"},
    {'b', 1, "gemm forward nn %s 1,%lld,1600,6400"},
    {'b', 1, "gemm forward nn %s 1,%lld,6400,1600"},
    {'b', 1, "gemm forward tn %s 1,4800,1600,%lld"},
    {'b', 1, "gemm forward tn %s 1,1600,1600,%lld"},
    {'b', 1, "gemm forward tn %s 1,6400,1600,%lld"},
    {'b', 1, "gemm forward tn %s 1,1600,6400,%lld"},
    {'b', 2, "reduce forward sum %s 1,%lld,1600"},
    {'b', 1, "reduce forward sum %s 1,%lld,4800"},
    {'b', 1, "reduce forward sum %s 1,%lld,6400"},
    {'b', 1, "elementwise forward gelu_tanh_grad %s %lld,6400"},
    {'b', 2, "elementwise forward add %s %lld,1600"},
};

/* FLOP of all matrix products of a layer's forward pass. */
static double layer_flop(double batch)
{
    double tokens = batch * SEQ;
    return 2 * tokens * 12 * HIDDEN * HIDDEN + 4 * tokens * SEQ * HIDDEN;
}

static bool add_call_text(const precision *p, const char *label, const char *text, long long rows, int times)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    cm__call call = cm__call_of(text, p->dtype, rows);
#pragma GCC diagnostic pop
    return cm__add_call(p->b, "primitives", label, &call, times, 0);
}

static void add_layer(const precision *p, long long batch, char pass)
{
    char label[64];
    snprintf(label, sizeof label, "gpt2xl_b%lld_%s %s", batch, pass == 'f' ? "fw" : "bw", p->dtype);
    cm__call attention = cm__call_of("attention %s - %s %lld,%d,%d,%d,%d,%d,1", pass == 'f' ? "forward" : "backward",
                                     p->dtype, batch, SEQ, SEQ, HEADS, HEADS, HIDDEN / HEADS);
    /* The first call of the layer carries the FLOP of the whole layer. */
    if (!cm__add_call(p->b, "primitives", label, &attention, 1, (pass == 'f' ? 1 : 2) * layer_flop((double)batch)))
        return;
    for (int i = 0; i < COUNT(layer); i++)
        if (layer[i].pass == pass) add_call_text(p, label, layer[i].call, batch * SEQ, layer[i].times);
}

static void add_layers(const precision *p)
{
    long long last = 0;
    for (int64_t batch = 8; batch <= 64; batch *= 2) {
        long long scaled = batch / p->scale > 0 ? batch / p->scale : 1;
        if (scaled == last) continue;
        add_layer(p, scaled, 'f');
        add_layer(p, scaled, 'b');
        last = scaled;
    }
}

void cm__suite_primitives(cm_bench *b)
{
    int64_t scale = b->options.scale ? b->options.scale : 1;
    for (int i = 0; cm__bench_dtype(b, i); i++) {
        precision p = {b, cm__bench_dtype(b, i), scale};
        add_gemms(&p);
        add_convs(&p);
        add_relus(&p);
        add_rnns(&p);
        add_layers(&p);
    }
}
