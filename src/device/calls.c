/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - names, FLOP and bytes of kernel calls. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "device/calls.h"

const char *const cm__pass_names[CM__PASSES] = {"forward", "backward", "bwd_input", "bwd_weight", "update"};

static int find(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

int cm__pass_find(const char *name) { return find(name, cm__pass_names, CM__PASSES); }

int cm__call_find(const char *name)
{
    for (int i = 0; i < CM__CALLS; i++)
        if (strcmp(cm__call_kinds[i].name, name) == 0) return i;
    return -1;
}

/* ---- work ------------------------------------------------------------------------------------------------------- */

static double product(const int64_t *sizes, int count)
{
    double p = 1;
    for (int i = 0; i < count; i++) p *= (double)sizes[i];
    return p;
}

/* A product of complex numbers is four products of real ones. */
static void work_gemm(const cm__call *c, double *flop, double *bytes)
{
    double b = cm__size(c, CM__GEMM_BATCH), m = cm__size(c, CM__GEMM_M), n = cm__size(c, CM__GEMM_N),
           k = cm__size(c, CM__GEMM_K);
    *flop = 2 * b * m * n * k * (c->types == CM__ALL(CM_COMPLEX64) ? 4 : 1);
    *bytes = b * (m * k + k * n + m * n) * cm__call_element(c, 0);
}

static double windows(double size, double window, double stride, double pad, double dilation)
{
    double steps = (size + 2 * pad - dilation * (window - 1) - 1) / fmax(stride, 1);
    return steps < 0 ? 1 : floor(steps) + 1;
}

/* Places of a convolution's window along axis i. The arguments are the sizes of the first axis; those of the other axes
   follow them. */
static double windows_along(const cm__call *c, int i, int size, int window, int stride, int pad, int dilation)
{
    return windows(cm__size(c, size + i), cm__size(c, window + i), cm__size(c, stride + i), cm__size(c, pad + i),
                   cm__size(c, dilation + i));
}

static void work_conv(const cm__call *c, double *flop, double *bytes)
{
    double n = cm__size(c, CM__CONV_N), in = cm__size(c, CM__CONV_C), out = cm__size(c, CM__CONV_K), pixels = 1;
    double groups = c->sizes[CM__CONV_GROUPS] ? cm__size(c, CM__CONV_GROUPS) : 1;
    for (int i = 0; i < 2; i++)
        pixels *= windows_along(c, i, CM__CONV_H, CM__CONV_R, CM__CONV_STRIDE_H, CM__CONV_PAD_H, CM__CONV_DIL_H);
    double weights = out * in / groups * cm__size(c, CM__CONV_R) * cm__size(c, CM__CONV_S);
    *flop = 2 * n * pixels * weights;
    *bytes = (n * in * cm__size(c, CM__CONV_H) * cm__size(c, CM__CONV_W) + n * out * pixels + weights) *
             cm__call_element(c, 0);
}

static void work_conv3d(const cm__call *c, double *flop, double *bytes)
{
    double n = cm__size(c, CM__CONV3D_N), in = cm__size(c, CM__CONV3D_C), out = cm__size(c, CM__CONV3D_K), pixels = 1;
    double groups = c->sizes[CM__CONV3D_GROUPS] ? cm__size(c, CM__CONV3D_GROUPS) : 1;
    for (int i = 0; i < 3; i++)
        pixels *= windows_along(c, i, CM__CONV3D_D, CM__CONV3D_T, CM__CONV3D_STRIDE_D, CM__CONV3D_PAD_D,
                                CM__CONV3D_DIL_D);
    double weights = out * in / groups * product(c->sizes + CM__CONV3D_T, 3);
    *flop = 2 * n * pixels * weights;
    *bytes = (n * in * product(c->sizes + CM__CONV3D_D, 3) + n * out * pixels + weights) * cm__call_element(c, 0);
}

double cm__attention_scores(const cm__call *c)
{
    double all = cm__size(c, CM__ATTENTION_BATCH) * cm__size(c, CM__ATTENTION_HEADS) * cm__size(c, CM__ATTENTION_Q) *
                 cm__size(c, CM__ATTENTION_KV);
    return c->sizes[CM__ATTENTION_CAUSAL] ? all / 2 : all;
}

/* Backward has five products, forward two, and twice as many operands. */
static void work_attention(const cm__call *c, double *flop, double *bytes)
{
    double batch = cm__size(c, CM__ATTENTION_BATCH), queries = cm__size(c, CM__ATTENTION_Q),
           keys = cm__size(c, CM__ATTENTION_KV), heads = cm__size(c, CM__ATTENTION_HEADS),
           width = cm__size(c, CM__ATTENTION_WIDTH);
    double passes = c->pass == CM__PASS_FORWARD ? 1 : 2.5, streams = c->pass == CM__PASS_FORWARD ? 1 : 2;
    *flop = 4 * cm__attention_scores(c) * width * passes;
    *bytes = 2 * streams * batch * width * (queries * heads + keys * cm__size(c, CM__ATTENTION_KV_HEADS)) *
             cm__call_element(c, 0);
}

/* The statistics need an extra pass over the input; so do their gradients. */
static void work_norm(const cm__call *c, double *flop, double *bytes)
{
    double elements = product(c->sizes, c->op == CM__CALL_LAYER_NORM || c->op == CM__CALL_RMS_NORM ? 2 : 3);
    bool   backward = c->pass != CM__PASS_FORWARD, twice = c->op == CM__CALL_BATCH_NORM;
    *flop = elements * (backward ? 12 : 8);
    *bytes = elements * ((backward ? 2 : 1) * (twice ? 2 : 1) * cm__call_element(c, 0) + cm__call_element(c, -1));
}

/* Under a causal mask only half is read; the other half is written as zeros. */
static void work_softmax(const cm__call *c, double *flop, double *bytes)
{
    double elements = product(c->sizes, 2), reads = c->pass == CM__PASS_FORWARD ? 1 : 2;
    if (c->variant == CM__V_CAUSAL) reads /= 2;
    *flop = 8 * elements;
    *bytes = elements * (reads * cm__call_element(c, 0) + cm__call_element(c, -1));
}

/* A softmax, then the loss of one column per row; backward writes a zeroed gradient in between. */
static void work_cross_entropy(const cm__call *c, double *flop, double *bytes)
{
    double elements = product(c->sizes, 2);
    *flop = 8 * elements;
    *bytes = elements * (c->pass == CM__PASS_FORWARD ? 2 : 4) * cm__call_element(c, 0);
}

/* Functions that read another number of operands than one: how many more, and further bytes per element: masks. */
static const struct {
    int8_t more, extra;
} functions[CM__VARIANT_NAMES + 1] = {
    [CM__NAME_FILL] = {-1, 0},      [CM__NAME_ADD] = {1, 0},          [CM__NAME_SUB] = {1, 0},
    [CM__NAME_MUL] = {1, 0},        [CM__NAME_DIV] = {1, 0},          [CM__NAME_WHERE] = {1, 1},
    [CM__NAME_AND] = {1, 0},        [CM__NAME_DROPOUT] = {0, 1},      [CM__NAME_DROPOUT_ADD] = {1, 1},
    [CM__NAME_DROPOUT_GRAD] = {0, 1}, [CM__NAME_RELU_GRAD] = {1, 0},  [CM__NAME_GELU_GRAD] = {1, 0},
    [CM__NAME_GELU_TANH_GRAD] = {1, 0}, [CM__NAME_SILU_GRAD] = {1, 0}, [CM__NAME_SIGMOID_GRAD] = {1, 0},
    [CM__NAME_TANH_GRAD] = {1, 0},  [CM__NAME_HARDSWISH_GRAD] = {1, 0}, [CM__NAME_MISH_GRAD] = {1, 0},
    [CM__NAME_ADDCMUL] = {2, 0},    [CM__NAME_GLU] = {1, 0},
    [CM__NAME_GLU_GRAD] = {3, 0}, /* three times as many elements as the result's halves are read, twice as many written */
};

static void work_elementwise(const cm__call *c, double *flop, double *bytes)
{
    double   elements = product(c->sizes, 2);
    int      name = cm__variant_name(c->variant), reads = 1 + functions[name].more;
    cm__variant_form form = cm__form_of(c->variant);
    bool     broadcast = form == CM__FORM_ROW || form == CM__FORM_COL || form == CM__FORM_PLANE;
    if (broadcast && reads > 1) reads = 1;
    *flop = elements;
    *bytes = elements * (functions[name].extra + cm__call_element(c, -1));
    for (int i = 0; i < reads; i++) *bytes += elements * cm__call_element(c, i);
}

/* Cumulative sums and products write as many elements as they read. */
static void work_reduce(const cm__call *c, double *flop, double *bytes)
{
    double elements = product(c->sizes, 3);
    double kept = cm__variant_cumulates(c->variant) ? elements
                  : cm__form_of(c->variant) ? cm__size(c, CM__REDUCE_REDUCE)
                             : cm__size(c, CM__REDUCE_OUTER) * cm__size(c, CM__REDUCE_INNER);
    *flop = elements;
    *bytes = elements * cm__call_element(c, 0) + kept * cm__call_element(c, -1);
}

/* Threads or blocks that loop over numbers, which they read, and write one result. */
static void work_loops(const cm__call *c, double *flop, double *bytes)
{
    double elements = product(c->sizes, cm__call_kinds[c->op].n_sizes);
    *flop = elements;
    *bytes = elements * cm__call_element(c, 0) + elements / fmax(1, cm__size(c, 1)) * cm__call_element(c, -1);
}

static void work_pool(const cm__call *c, double *flop, double *bytes)
{
    double window = cm__size(c, CM__POOL_WINDOW), stride = cm__size(c, CM__POOL_STRIDE),
           pad = cm__size(c, CM__POOL_PAD);
    double planes = cm__size(c, CM__POOL_N) * cm__size(c, CM__POOL_C), height = cm__size(c, CM__POOL_H),
           width = cm__size(c, CM__POOL_W), in = planes * height * width,
           out = planes * windows(height, window, stride, pad, 1) * windows(width, window, stride, pad, 1),
           area = height == 1 ? window : window * window; /* a signal has windows of one row */
    int    name = cm__variant_name(c->variant);
    double mask = name == CM__NAME_MAX ? 8 : 0; /* PyTorch stores the index of each maximum as int64 */
    if (name == CM__NAME_IM2COL) out *= area; /* every window becomes a column */
    *flop = mask || name == CM__NAME_AVG ? out * area : out;
    *bytes = (in + out) * cm__call_element(c, 0) + out * mask;
}

static void work_resize(const cm__call *c, double *flop, double *bytes)
{
    double planes = product(c->sizes + CM__RESIZE_N, 2), in = planes * product(c->sizes + CM__RESIZE_H, 2),
           out = planes * product(c->sizes + CM__RESIZE_OUT_H, 2);
    bool   samples = cm__variant_name(c->variant) == CM__NAME_SAMPLE;
    double sampled = samples ? 2 * out / fmax(1, cm__size(c, CM__RESIZE_C)) : 0; /* places */
    *flop = 8 * out;
    *bytes = (in + out + sampled) * cm__call_element(c, 0);
}

static void work_resize3d(const cm__call *c, double *flop, double *bytes)
{
    double planes = product(c->sizes + CM__RESIZE3D_N, 2), in = planes * product(c->sizes + CM__RESIZE3D_D, 3),
           out = planes * product(c->sizes + CM__RESIZE3D_OUT_D, 3);
    *flop = 8 * out;
    *bytes = (in + out) * cm__call_element(c, 0);
}

/* A value and its place, 8 bytes, are written for each that is chosen. */
static void work_sort(const cm__call *c, double *flop, double *bytes)
{
    double rows = cm__size(c, CM__SORT_ROWS), cols = cm__size(c, CM__SORT_COLS);
    *flop = rows * cols * fmax(1, ceil(log2(fmax(1, cols))));
    *bytes = rows * cols * cm__call_element(c, 0) + rows * cm__size(c, CM__SORT_K) * (cm__call_element(c, 0) + 8);
}

/* 5 N log2 N for N complex points, half of that for real ones. A kernel transforms along one dimension and reads and
   writes all points; it holds FFT_ROW points in a core's own memory. A transform to real numbers first copies its
   operand, which it overwrites. */
#define FFT_ROW 4096.0
static void work_fft(const cm__call *c, double *flop, double *bytes)
{
    bool   real = c->variant != CM__V_C2C, copies = c->variant == CM__V_C2R;
    double n1 = cm__size(c, CM__FFT_N1), others = cm__size(c, CM__FFT_BATCH) * product(c->sizes + CM__FFT_N2, 2),
           points = n1 * others, spectrum = real ? (floor(n1 / 2) + 1) * others : points, passes = 0;
    for (int i = CM__FFT_N1; i <= CM__FFT_N3; i++)
        if (c->sizes[i] > 1) passes += ceil(log(cm__size(c, i)) / log(FFT_ROW));
    double ends = real ? points / 2 + spectrum : 2 * points; /* the first pass, in complex points */
    *flop = (real ? 2.5 : 5) * points * log2(fmax(2, product(c->sizes + CM__FFT_N1, 3)));
    *bytes = (ends + 2 * spectrum * (fmax(passes, 1) - 1 + copies)) * 2 * cm__call_element(c, 0);
}

/* Forward reads the rows it needs; backward zeroes and writes the gradient of the whole table. */
static void work_embedding(const cm__call *c, double *flop, double *bytes)
{
    double tokens = cm__size(c, CM__EMBEDDING_TOKENS), vocab = cm__size(c, CM__EMBEDDING_VOCAB),
           width = cm__size(c, CM__EMBEDDING_WIDTH);
    double indices = c->variant == CM__V_GATHER ? tokens * width : tokens; /* one for each row, or each element */
    *flop = c->pass == CM__PASS_FORWARD ? 0 : tokens * width;
    *bytes =
        (2 * tokens * width + (c->pass == CM__PASS_FORWARD ? 0 : vocab * width)) * cm__call_element(c, 0) + 8 * indices;
}

static void work_rnn(const cm__call *c, double *flop, double *bytes)
{
    double gates = c->variant == CM__V_LSTM ? 4 : c->variant == CM__V_GRU ? 3 : 1;
    double batch = cm__size(c, CM__RNN_BATCH), steps = cm__size(c, CM__RNN_SEQ), input = cm__size(c, CM__RNN_INPUT);
    double hidden = cm__size(c, CM__RNN_HIDDEN), layers = cm__size(c, CM__RNN_LAYERS),
           ways = cm__size(c, CM__RNN_DIRECTIONS);
    double weights = ways * gates * hidden * (input + (layers - 1) * ways * hidden + layers * hidden);
    double passes = c->pass == CM__PASS_FORWARD ? 1 : 2;
    double activations = batch * steps * (input + layers * ways * hidden * (gates + 2));
    *flop = 2 * passes * batch * steps * weights;
    *bytes = passes * (weights + activations) * cm__call_element(c, 0);
}

/* Reads parameters, gradients and states; writes parameters and states. */
static void work_optimizer(const cm__call *c, double *flop, double *bytes)
{
    double elements = cm__size(c, CM__OPTIMIZER_ELEMENTS);
    bool   adam = c->variant == CM__V_ADAM || c->variant == CM__V_ADAMW || c->variant == CM__V_ADAMW_8BIT;
    double states = adam ? 2 : c->variant == CM__V_MOMENTUM;
    *flop = elements * (2 + 6 * states);
    *bytes = elements * (3 + 2 * states) * cm__call_element(c, 0);
}

const cm__call_kind cm__call_kinds[CM__CALLS] = {
#define CALL(id, name, engine, work, split, tokens) [CM__CALL_##id] = {name, CM_ENGINE_##engine, work_##work, {
#define SIZE(call, id, name) name,
#define END(call) }, CM__##call##_SIZES},
#include "device/calls.def"
};

void cm__call_work(const cm__call *call, double *flop, double *bytes)
{
    cm__call_kinds[call->op].work(call, flop, bytes);
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

/* A text that ends where its memory does. A prediction writes hundreds of calls: snprintf() would take a twentieth of
   it. */
typedef struct writing {
    char  *text;
    size_t length, most;
} writing;

static void put(writing *w, const char *text, size_t length)
{
    if (length > w->most - w->length) length = w->most - w->length;
    memcpy(w->text + w->length, text, length);
    w->length += length;
}

static void put_number(writing *w, int64_t number)
{
    char     digits[24], *first = digits + sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do *--first = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0) *--first = '-';
    put(w, first, (size_t)(digits + sizeof digits - first));
}

char *cm__call_text(const cm__call *call, char *buf, size_t size)
{
    const cm__call_kind *kind = &cm__call_kinds[call->op];
    char        variant[CM__CALL_TEXT], types[CM__CALL_TEXT];
    const char *named = call->variant == CM__V_NONE ? "-" : cm__variant_text(call->variant, variant);
    const char *words[] = {kind->name, cm__pass_names[call->pass], named, cm__types_text(call->types, types)};
    writing     w = {buf, 0, size - 1};
    for (int i = 0; i < 4; i++) {
        put(&w, words[i], strlen(words[i]));
        put(&w, " ", 1);
    }
    for (int i = 0; i < kind->n_sizes; i++) {
        if (i) put(&w, ",", 1);
        put_number(&w, call->sizes[i]);
    }
    buf[w.length] = 0;
    return buf;
}

static bool parse_sizes(const char *text, cm__call *call)
{
    int count = cm__call_kinds[call->op].n_sizes;
    for (int i = 0; i < count; i++) {
        cm__span size = {text, strcspn(text, ",")};
        if (!cm__parse_int(size, &call->sizes[i]) || call->sizes[i] < 0) return false;
        text += size.length;
        if (*text != (i + 1 < count ? ',' : '\0')) return false;
        text += *text == ',';
    }
    return true;
}

bool cm__call_parse(const char *text, cm__call *call)
{
    char op[CM__CALL_TEXT], pass[CM__CALL_TEXT], variant[CM__CALL_TEXT], types[CM__CALL_TEXT];
    int  at = 0;
    *call = (cm__call){0};
    if (sscanf(text, "%31s %31s %31s %31s %n", op, pass, variant, types, &at) != 4 || !at) return false;
    int op_row = cm__call_find(op), pass_row = cm__pass_find(pass);
    call->variant = cm__variant_find(strcmp(variant, "-") == 0 ? "" : variant);
    call->types = cm__types_find(types);
    if (op_row < 0 || pass_row < 0 || call->variant == CM__NO_VARIANT || call->types == CM__NO_TYPES) return false;
    call->op = (int16_t)op_row;
    call->pass = (int16_t)pass_row;
    return parse_sizes(text + at, call);
}
