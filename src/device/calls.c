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

/* ---- types ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    double      bytes;
    cm_rate     rate;
} types[] = {
    {"fp32", 4, CM_RATE_FP32},  {"tf32", 4, CM_RATE_TF32},  {"bf16", 2, CM_RATE_BF16}, {"fp16", 2, CM_RATE_FP16},
    {"fp64", 8, CM_RATE_FP64},  {"fp8", 1, CM_RATE_FP8},    {"int8", 1, CM_RATE_INT8}, {"uint8", 1, CM_RATE_INT8},
    {"int64", 8, CM_RATE_FP32}, {"int32", 4, CM_RATE_FP32}, {"bool", 1, CM_RATE_FP32}, {"int16", 2, CM_RATE_FP32},
};

/* The type at the start of the text, up to the end, '+' or '>'. */
static int type_at(const char *text)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t k = 0;
        while (types[i].name[k] && types[i].name[k] == text[k]) k++;
        if (!types[i].name[k] && (!text[k] || text[k] == '+' || text[k] == '>')) return (int)i;
    }
    return 0;
}

/* Fast path for a single type, the usual case: names have at most four letters, and texts are zero-padded. */
static bool of_one_type(const cm__call *call) { return !call->dtype[4]; }

double cm__call_element(const cm__call *call, int index)
{
    if (of_one_type(call)) return types[type_at(call->dtype)].bytes;
    const char *at = call->dtype, *result = strchr(at, '>');
    if (index < 0) return types[type_at(result ? result + 1 : at)].bytes;
    for (const char *next = strchr(at, '+'); index > 0 && next && (!result || next < result); index--) {
        at = next + 1;
        next = strchr(at, '+');
    }
    return types[type_at(at)].bytes;
}

cm_rate cm__call_rate(const cm__call *call)
{
    const char *result = of_one_type(call) ? NULL : strchr(call->dtype, '>');
    return types[type_at(result ? result + 1 : call->dtype)].rate;
}

/* ---- work ------------------------------------------------------------------------------------------------------- */

static double product(const int64_t *sizes, int count)
{
    double p = 1;
    for (int i = 0; i < count; i++) p *= (double)sizes[i];
    return p;
}

static void work_gemm(const cm__call *c, double *flop, double *bytes)
{
    double b = (double)c->sizes[0], m = (double)c->sizes[1], n = (double)c->sizes[2], k = (double)c->sizes[3];
    *flop = 2 * b * m * n * k;
    *bytes = b * (m * k + k * n + m * n) * cm__call_element(c, 0);
}

static double windows(double size, double window, double stride, double pad, double dilation)
{
    double steps = (size + 2 * pad - dilation * (window - 1) - 1) / fmax(stride, 1);
    return steps < 0 ? 1 : floor(steps) + 1;
}

static void work_conv(const cm__call *c, double *flop, double *bytes)
{
    const int64_t *s = c->sizes;
    double         n = (double)s[0], in = (double)s[1], out = (double)s[2], groups = s[13] ? (double)s[13] : 1;
    double         pixels = windows((double)s[3], (double)s[5], (double)s[7], (double)s[9], (double)s[11]) *
                    windows((double)s[4], (double)s[6], (double)s[8], (double)s[10], (double)s[12]);
    double weights = out * in / groups * (double)s[5] * (double)s[6];
    *flop = 2 * n * pixels * weights;
    *bytes = (n * in * (double)s[3] * (double)s[4] + n * out * pixels + weights) * cm__call_element(c, 0);
}

static void work_conv3d(const cm__call *c, double *flop, double *bytes)
{
    const int64_t *s = c->sizes;
    double n = (double)s[0], in = (double)s[1], out = (double)s[2], groups = s[18] ? (double)s[18] : 1, pixels = 1;
    for (int i = 0; i < 3; i++)
        pixels *= windows((double)s[3 + i], (double)s[6 + i], (double)s[9 + i], (double)s[12 + i], (double)s[15 + i]);
    double weights = out * in / groups * product(s + 6, 3);
    *flop = 2 * n * pixels * weights;
    *bytes = (n * in * product(s + 3, 3) + n * out * pixels + weights) * cm__call_element(c, 0);
}

/* Backward has five products, forward two, and twice as many operands. A causal mask halves the work. */
static void work_attention(const cm__call *c, double *flop, double *bytes)
{
    const int64_t *s = c->sizes;
    double         scores = (double)s[0] * (double)s[3] * (double)s[1] * (double)s[2], width = (double)s[5];
    double         passes = c->pass == CM__PASS_FORWARD ? 1 : 2.5, streams = c->pass == CM__PASS_FORWARD ? 1 : 2;
    *flop = 4 * scores * width * passes / (s[6] ? 2 : 1);
    *bytes = 2 * streams * (double)s[0] * width * ((double)s[1] * (double)s[3] + (double)s[2] * (double)s[4]) *
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
    if (strcmp(c->variant, "causal") == 0) reads /= 2;
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

/* Functions that read another number of operands than their types indicate. */
static const struct {
    const char *name;
    int         reads;
    double      extra; /* further bytes per element: masks */
} functions[] = {
    {"fill", 0, 0},
    {"add", 2, 0},
    {"sub", 2, 0},
    {"mul", 2, 0},
    {"div", 2, 0},
    {"where", 2, 1},
    {"dropout", 1, 1},
    {"dropout_add", 2, 1},
    {"dropout_grad", 1, 1},
    {"relu_grad", 2, 0},
    {"gelu_grad", 2, 0},
    {"gelu_tanh_grad", 2, 0},
    {"silu_grad", 2, 0},
    {"sigmoid_grad", 2, 0},
    {"tanh_grad", 2, 0},
    {"hardswish_grad", 2, 0},
};

static void work_elementwise(const cm__call *c, double *flop, double *bytes)
{
    double                   elements = product(c->sizes, 2), extra = 0;
    size_t                   length = strcspn(c->variant, ":");
    int                      reads = 1;
    static const char *const spread[] = {":row", ":col", ":plane"};
    bool                     broadcast = false;
    for (int i = 0; i < 3; i++) broadcast |= strcmp(c->variant + length, spread[i]) == 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i].name[0] == c->variant[0] && strncmp(functions[i].name, c->variant, length) == 0 &&
            !functions[i].name[length]) {
            reads = functions[i].reads;
            extra = functions[i].extra;
            break;
        }
    if (broadcast && reads > 1) reads = 1;
    *flop = elements;
    *bytes = elements * (extra + cm__call_element(c, -1));
    for (int i = 0; i < reads; i++) *bytes += elements * cm__call_element(c, i);
}

static void work_reduce(const cm__call *c, double *flop, double *bytes)
{
    double elements = product(c->sizes, 3);
    bool   channels = strchr(c->variant, ':') != NULL;
    double kept = channels ? (double)c->sizes[1] : (double)c->sizes[0] * (double)c->sizes[2];
    *flop = elements;
    *bytes = elements * cm__call_element(c, 0) + kept * cm__call_element(c, -1);
}

static void work_pool(const cm__call *c, double *flop, double *bytes)
{
    const int64_t *s = c->sizes;
    double         planes = (double)s[0] * (double)s[1], in = planes * (double)s[2] * (double)s[3];
    double         out = planes * windows((double)s[2], (double)s[4], (double)s[5], (double)s[6], 1) *
                 windows((double)s[3], (double)s[4], (double)s[5], (double)s[6], 1);
    double mask = strncmp(c->variant, "max", 3) == 0 ? 8 : 0; /* PyTorch stores the index of each maximum as int64 */
    *flop = out * (double)s[4] * (double)s[4];
    *bytes = (in + out) * cm__call_element(c, 0) + out * mask;
}

static void work_resize(const cm__call *c, double *flop, double *bytes)
{
    double planes = product(c->sizes, 2), in = planes * product(c->sizes + 2, 2),
           out = planes * product(c->sizes + 4, 2);
    *flop = 8 * out;
    *bytes = (in + out) * cm__call_element(c, 0);
}

/* Forward reads the rows it needs; backward zeroes and writes the gradient of the whole table. */
static void work_embedding(const cm__call *c, double *flop, double *bytes)
{
    double tokens = (double)c->sizes[0], vocab = (double)c->sizes[1], width = (double)c->sizes[2];
    *flop = c->pass == CM__PASS_FORWARD ? 0 : tokens * width;
    *bytes =
        (2 * tokens * width + (c->pass == CM__PASS_FORWARD ? 0 : vocab * width)) * cm__call_element(c, 0) + 8 * tokens;
}

static void work_rnn(const cm__call *c, double *flop, double *bytes)
{
    const int64_t *s = c->sizes;
    double         gates = strcmp(c->variant, "lstm") == 0 ? 4 : strcmp(c->variant, "gru") == 0 ? 3 : 1;
    double         hidden = (double)s[3], layers = (double)s[4], ways = (double)s[5];
    double         weights = ways * gates * hidden * ((double)s[2] + (layers - 1) * ways * hidden + layers * hidden);
    double         passes = c->pass == CM__PASS_FORWARD ? 1 : 2;
    double         activations = (double)s[0] * (double)s[1] * ((double)s[2] + layers * ways * hidden * (gates + 2));
    *flop = 2 * passes * (double)s[0] * (double)s[1] * weights;
    *bytes = passes * (weights + activations) * cm__call_element(c, 0);
}

/* Reads parameters, gradients and states; writes parameters and states. */
static void work_optimizer(const cm__call *c, double *flop, double *bytes)
{
    double elements = (double)c->sizes[1];
    double states = strncmp(c->variant, "adam", 4) == 0 ? 2 : strcmp(c->variant, "momentum") == 0 ? 1 : 0;
    *flop = elements * (2 + 6 * states);
    *bytes = elements * (3 + 2 * states) * cm__call_element(c, 0);
}

const cm__call_kind cm__call_kinds[CM__CALLS] = {
#define COUNT_(...) (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *))
#define CALL(id, name, engine, work, ...)                                                                              \
    [CM__CALL_##id] = {name, CM_ENGINE_##engine, work_##work, {__VA_ARGS__}, COUNT_(__VA_ARGS__)},
#include "device/calls.def"
#undef CALL
};

void cm__call_work(const cm__call *call, double *flop, double *bytes)
{
    cm__call_kinds[call->op].work(call, flop, bytes);
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

char *cm__call_text(const cm__call *call, char *buf, size_t size)
{
    const cm__call_kind *kind = &cm__call_kinds[call->op];
    int                  length = snprintf(buf, size, "%s %s %s %s ", kind->name, cm__pass_names[call->pass],
                          call->variant[0] ? call->variant : "-", call->dtype);
    for (int i = 0; i < kind->n_sizes && length >= 0 && (size_t)length < size; i++)
        length += snprintf(buf + length, size - (size_t)length, i ? ",%lld" : "%lld", (long long)call->sizes[i]);
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
    char op[CM__CALL_TEXT], pass[CM__CALL_TEXT];
    int  at = 0;
    *call = (cm__call){0};
    if (sscanf(text, "%31s %31s %31s %31s %n", op, pass, call->variant, call->dtype, &at) != 4 || !at) return false;
    int op_row = cm__call_find(op), pass_row = cm__pass_find(pass);
    if (op_row < 0 || pass_row < 0) return false;
    if (strcmp(call->variant, "-") == 0) call->variant[0] = '\0';
    call->op = (int16_t)op_row;
    call->pass = (int16_t)pass_row;
    return parse_sizes(text + at, call);
}
