/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - descriptions of small networks (mlp, lstm) and of single operators. */
#include <string.h>
#include "import/describe/describe.h"

#define WIDTH_MAX (1 << 24)
#define SIZE_MAX_GIVEN INT32_MAX

/* ---- networks --------------------------------------------------------------------------------------------------- */

/* Linear layers with an activation between them. */
static void mlp(cm__description *d, cm_graph *g)
{
    int64_t widths[CM__LIST_MAX + 1];
    int64_t in = cm__take_int(d, "in", CM__REQUIRED, 1, WIDTH_MAX);
    int32_t layers = cm__take_list(d, "hidden", widths, WIDTH_MAX);
    widths[layers] = cm__take_int(d, "out", CM__REQUIRED, 1, WIDTH_MAX);
    int32_t act = cm__take_choice(d, "activation", cm__activation_names, CM__ACT_RELU);
    int64_t bias = cm__take_int(d, "bias", 1, 0, 1);
    double  dropout = cm__take_ratio(d, "dropout", 0);
    cm__take_end(d);
    cm__builder b = {.g = g};
    int32_t     x = cm__leaf(g, "input", CM_ROLE_INPUT, CM_FP32, 2, (cm_dim[]){{1, 0}, cm__fixed(in)});
    for (int32_t i = 0; i <= layers; in = widths[i++]) {
        cm__b_scope(&b, "layers.%d", i);
        x = cm__b_linear(&b, "", x, in, widths[i], bias);
        if (i < layers) x = cm__b_dropout(&b, "dropout", cm__b_activation(&b, "act", x, act), dropout);
    }
    cm__output(g, x);
}

typedef struct recurrence {
    int     op;
    int64_t gates, input, hidden, directions;
} recurrence;

/* x[S, B, input] -> [S, B, directions * hidden]. ONNX has both bias vectors in one tensor, of the same total size. */
static int32_t recurrent(cm__builder *b, const char *part, int32_t x, recurrence r)
{
    int64_t  rows = r.gates * r.hidden, n = r.directions;
    int32_t  w = cm__b_parameter(b, part, "weight_ih", 3, (int64_t[]){n, rows, r.input});
    int32_t  u = cm__b_parameter(b, part, "weight_hh", 3, (int64_t[]){n, rows, r.hidden});
    int32_t  c = cm__b_parameter(b, part, "bias", 2, (int64_t[]){n, 2 * rows});
    cm__attr attrs[] = {CM__INTS(CM_ATTR_HIDDEN_SIZE, r.hidden), CM__INTS(CM_ATTR_DIRECTION, n == 2 ? 2 : 0)};
    int32_t  y = cm__emit(b->g, r.op, cm__b_name(b, part, NULL), (int32_t[]){x, w, u, c}, 4, attrs, 2);
    if (n == 1) return cm__b_attr(b, CM_OP_SQUEEZE, part, "squeeze", y, CM__INTS(CM_ATTR_AXES, 1));
    y = cm__b_transpose(b, part, "transpose", y, 4, (int64_t[]){0, 2, 1, 3});
    return cm__b_reshape(b, part, "reshape", y, 3, (int64_t[]){0, 0, n * r.hidden});
}

/* LSTM layers; with a vocabulary, a language model: embedding before, logits after. */
static void lstm(cm__description *d, cm_graph *g)
{
    recurrence r = {.op = CM_OP_LSTM, .gates = 4};
    r.input = cm__take_int(d, "input", CM__REQUIRED, 1, WIDTH_MAX);
    r.hidden = cm__take_int(d, "hidden", CM__REQUIRED, 1, WIDTH_MAX);
    int64_t layers = cm__take_int(d, "layers", 1, 1, 1000);
    int64_t seq = cm__take_seq(d, "seq", CM__REQUIRED);
    int64_t vocab = cm__take_int(d, "vocab", 0, 0, SIZE_MAX_GIVEN);
    r.directions = 1 + cm__take_int(d, "bidirectional", 0, 0, 1);
    double dropout = cm__take_ratio(d, "dropout", 0);
    cm__take_end(d);
    cm__builder b = {.g = g};
    cm_dim      dims[] = {cm__fixed(seq), {1, 0}, cm__fixed(r.input)};
    int32_t     x = cm__leaf(g, "input", CM_ROLE_INPUT, vocab ? CM_INT64 : CM_FP32, vocab ? 2 : 3, dims);
    if (vocab) {
        int32_t table = cm__parameter(g, "encoder.weight", 2, (int64_t[]){vocab, r.input});
        x = cm__b_binary(&b, CM_OP_GATHER, "encoder", NULL, table, x);
        x = cm__b_dropout(&b, "encoder.dropout", x, dropout);
    }
    for (int32_t i = 0; i < layers; i++, r.input = r.directions * r.hidden) {
        cm__b_scope(&b, "rnn.%d", i);
        g->block = i;
        x = recurrent(&b, "", x, r);
        if (vocab || i + 1 < layers) x = cm__b_dropout(&b, "dropout", x, dropout);
    }
    g->block = -1;
    cm__b_scope(&b, "%s", "");
    g->loss = vocab ? CM_LOSS_CROSS_ENTROPY : CM_LOSS_MSE;
    cm__output(g, vocab ? cm__b_linear(&b, "decoder", x, r.input, vocab, true) : x);
}

/* ---- single operators -------------------------------------------------------------------------------------------- */

/* An operand that the preceding layer would have computed: an activation, with a gradient. */
static int32_t activation(cm_graph *g, const char *name, int32_t rank, const cm_dim *dims)
{
    int32_t x = cm__leaf(g, name, CM_ROLE_INPUT, CM_FP32, rank, dims);
    cm__t(g, x)->role = CM_ROLE_ACTIVATION;
    return x;
}

static void gemm(cm__description *d, cm_graph *g)
{
    cm_dim  m = cm__take_batch(d, "m");
    int64_t n = cm__take_int(d, "n", CM__REQUIRED, 1, SIZE_MAX_GIVEN);
    int64_t k = cm__take_int(d, "k", CM__REQUIRED, 1, SIZE_MAX_GIVEN);
    int64_t batch = cm__take_int(d, "batch", 1, 1, SIZE_MAX_GIVEN);
    cm__take_end(d);
    bool        one = batch == 1;
    cm_dim      dims[] = {cm__fixed(batch), m, cm__fixed(k)};
    int64_t     weight[] = {batch, k, n};
    cm__builder b = {.g = g};
    int32_t     x = activation(g, "input", one ? 2 : 3, one ? dims + 1 : dims);
    int32_t     w = cm__parameter(g, "weight", one ? 2 : 3, one ? weight + 1 : weight);
    cm__output(g, cm__b_binary(&b, one ? CM_OP_GEMM : CM_OP_MATMUL, "gemm", NULL, x, w));
}

static void conv(cm__description *d, cm_graph *g)
{
    cm_dim  n = cm__take_batch(d, "n");
    int64_t c = cm__take_int(d, "c", CM__REQUIRED, 1, WIDTH_MAX), k = cm__take_int(d, "k", CM__REQUIRED, 1, WIDTH_MAX);
    int64_t h = cm__take_int(d, "h", CM__REQUIRED, 1, WIDTH_MAX), w = cm__take_int(d, "w", CM__REQUIRED, 1, WIDTH_MAX);
    int64_t r = cm__take_int(d, "r", CM__REQUIRED, 1, WIDTH_MAX), s = cm__take_int(d, "s", CM__REQUIRED, 1, WIDTH_MAX);
    int64_t stride = cm__take_int(d, "stride", 1, 1, WIDTH_MAX), pad = cm__take_int(d, "pad", 0, 0, WIDTH_MAX);
    int64_t groups = cm__take_int(d, "groups", 1, 1, WIDTH_MAX);
    cm__take_end(d);
    if (c % groups || k % groups)
        cm__fail(d->ctx, CM_ERR_ARGUMENT, "c=%lld and k=%lld must be divisible by groups=%lld", (long long)c,
                 (long long)k, (long long)groups);
    if (h + 2 * pad < r || w + 2 * pad < s)
        cm__fail(d->ctx, CM_ERR_ARGUMENT, "r=%lld, s=%lld: the filter is larger than the padded input", (long long)r,
                 (long long)s);
    int32_t  x = activation(g, "input", 4, (cm_dim[]){n, cm__fixed(c), cm__fixed(h), cm__fixed(w)});
    int32_t  f = cm__parameter(g, "weight", 4, (int64_t[]){k, c / groups, r, s});
    cm__attr attrs[] = {CM__INTS(CM_ATTR_STRIDES, stride, stride), CM__INTS(CM_ATTR_PADS, pad, pad, pad, pad),
                        CM__INTS(CM_ATTR_GROUP, groups), CM__INTS(CM_ATTR_KERNEL_SHAPE, r, s)};
    cm__output(g, cm__emit(g, CM_OP_CONV, "conv", (int32_t[]){x, f}, 2, attrs, 4));
}

static void attention(cm__description *d, cm_graph *g)
{
    cm_dim  batch = cm__take_batch(d, "batch");
    int64_t seq = cm__take_seq(d, "seq", CM__REQUIRED);
    int64_t heads = cm__take_int(d, "heads", CM__REQUIRED, 1, WIDTH_MAX);
    int64_t kv_heads = cm__take_int(d, "kv_heads", heads, 1, WIDTH_MAX);
    int64_t dim = cm__take_int(d, "dim", CM__REQUIRED, 1, WIDTH_MAX);
    int64_t causal = cm__take_int(d, "causal", 0, 0, 1);
    cm__take_end(d);
    if (heads % kv_heads)
        cm__fail(d->ctx, CM_ERR_ARGUMENT, "heads=%lld must be divisible by kv_heads=%lld", (long long)heads,
                 (long long)kv_heads);
    cm_dim   q[] = {batch, cm__fixed(heads), cm__fixed(seq), cm__fixed(dim)};
    cm_dim   kv[] = {batch, cm__fixed(kv_heads), cm__fixed(seq), cm__fixed(dim)};
    int32_t  in[] = {activation(g, "q", 4, q), activation(g, "k", 4, kv), activation(g, "v", 4, kv)};
    cm__attr mask = CM__INTS(CM_ATTR_CAUSAL, causal);
    cm__output(g, cm__emit(g, CM_OP_ATTENTION, "attention", in, 3, &mask, 1));
}

static int32_t table_of_rows(cm__description *d, cm_graph *g, int64_t *cols)
{
    cm_dim rows = cm__take_batch(d, "rows");
    *cols = cm__take_int(d, "cols", CM__REQUIRED, 1, SIZE_MAX_GIVEN);
    cm__take_end(d);
    return activation(g, "input", 2, (cm_dim[]){rows, cm__fixed(*cols)});
}

static void softmax(cm__description *d, cm_graph *g)
{
    int64_t     cols;
    cm__builder b = {.g = g};
    int32_t     x = table_of_rows(d, g, &cols);
    cm__output(g, cm__b_attr(&b, CM_OP_SOFTMAX, "softmax", NULL, x, CM__INTS(CM_ATTR_AXIS, -1)));
}

static void layernorm(cm__description *d, cm_graph *g)
{
    int64_t     cols;
    cm__builder b = {.g = g};
    int32_t     x = table_of_rows(d, g, &cols);
    cm__output(g, cm__b_layer_norm(&b, "layernorm", x, cols));
}

/* n x c images of h x w, which the preceding layer would have computed. */
static int32_t images(cm__description *d, cm_graph *g, int64_t *c, int64_t *h, int64_t *w)
{
    cm_dim n = cm__take_batch(d, "n");
    *c = cm__take_int(d, "c", CM__REQUIRED, 1, WIDTH_MAX);
    *h = cm__take_int(d, "h", CM__REQUIRED, 1, WIDTH_MAX);
    *w = cm__take_int(d, "w", CM__REQUIRED, 1, WIDTH_MAX);
    return activation(g, "input", 4, (cm_dim[]){n, cm__fixed(*c), cm__fixed(*h), cm__fixed(*w)});
}

static void batchnorm(cm__description *d, cm_graph *g)
{
    int64_t     c, h, w;
    cm__builder b = {.g = g};
    int32_t     x = images(d, g, &c, &h, &w);
    cm__take_end(d);
    int32_t in[] = {x, cm__b_parameter(&b, "batchnorm", "weight", 1, &c),
                    cm__b_parameter(&b, "batchnorm", "bias", 1, &c),
                    cm__leaf(g, "running_mean", CM_ROLE_BUFFER, CM_FP32, 1, (cm_dim[]){cm__fixed(c)}),
                    cm__leaf(g, "running_var", CM_ROLE_BUFFER, CM_FP32, 1, (cm_dim[]){cm__fixed(c)})};
    cm__output(g, cm__emit(g, CM_OP_BATCH_NORM, "batchnorm", in, 5, NULL, 0));
}

static void maxpool(cm__description *d, cm_graph *g)
{
    int64_t c, h, w;
    int32_t x = images(d, g, &c, &h, &w);
    int64_t r = cm__take_int(d, "r", 2, 1, WIDTH_MAX), s = cm__take_int(d, "s", r, 1, WIDTH_MAX);
    int64_t stride = cm__take_int(d, "stride", r, 1, WIDTH_MAX), pad = cm__take_int(d, "pad", 0, 0, WIDTH_MAX);
    cm__take_end(d);
    if (h + 2 * pad < r || w + 2 * pad < s || pad >= r || pad >= s)
        cm__fail(d->ctx, CM_ERR_ARGUMENT, "r=%lld, s=%lld: the window must fit the padded input and be larger than pad",
                 (long long)r, (long long)s);
    cm__attr attrs[] = {CM__INTS(CM_ATTR_KERNEL_SHAPE, r, s), CM__INTS(CM_ATTR_STRIDES, stride, stride),
                        CM__INTS(CM_ATTR_PADS, pad, pad, pad, pad)};
    cm__output(g, cm__emit(g, CM_OP_MAX_POOL, "maxpool", &x, 1, attrs, 3));
}

static void elementwise(cm__description *d, cm_graph *g)
{
    static const char *const names[] = {"relu", "gelu", "silu", "tanh", "sigmoid", "exp", "sqrt", "neg", "dropout",
                                        "add",  "sub",  "mul",  "div",  NULL};
    static const struct { int op, operands; } ops[] = {
        {CM_OP_RELU, 1}, {CM_OP_GELU, 1}, {CM_OP_SILU, 1},    {CM_OP_TANH, 1}, {CM_OP_SIGMOID, 1}, {CM_OP_EXP, 1},
        {CM_OP_SQRT, 1}, {CM_OP_NEG, 1},  {CM_OP_DROPOUT, 1}, {CM_OP_ADD, 2},  {CM_OP_SUB, 2},     {CM_OP_MUL, 2},
        {CM_OP_DIV, 2}};
    int64_t sizes[CM__LIST_MAX];
    cm_dim  dims[CM__LIST_MAX] = {{1, 0}};
    int32_t which = cm__take_choice(d, "op", names, -1);
    int32_t rank = cm__take_list(d, "n", sizes, CM__DIM_MAX);
    cm__take_end(d);
    for (int32_t i = 0; i < rank; i++) dims[i] = cm__fixed(sizes[i]);
    if (!rank) rank = 1;
    int32_t in[2] = {activation(g, "input", rank, dims), -1};
    if (ops[which].operands == 2) in[1] = activation(g, "other", rank, dims);
    cm__output(g, cm__emit(g, ops[which].op, names[which], in, ops[which].operands, NULL, 0));
}

static void rnn(cm__description *d, cm_graph *g)
{
    static const char *const cells[] = {"lstm", "gru", "rnn", NULL};
    static const recurrence  kinds[] = {{.op = CM_OP_LSTM, .gates = 4}, {.op = CM_OP_GRU, .gates = 3},
                                        {.op = CM_OP_RNN, .gates = 1}};
    int64_t steps = cm__take_seq(d, "steps", CM__REQUIRED);
    cm_dim  batch = cm__take_batch(d, "batch");
    int64_t input = cm__take_int(d, "input", CM__REQUIRED, 1, WIDTH_MAX);
    int64_t hidden = cm__take_int(d, "hidden", CM__REQUIRED, 1, WIDTH_MAX);
    recurrence r = kinds[cm__take_choice(d, "cell", cells, 0)];
    cm__take_end(d);
    r.input = input;
    r.hidden = hidden;
    r.directions = 1;
    cm__builder b = {.g = g};
    int32_t     x = activation(g, "input", 3, (cm_dim[]){cm__fixed(steps), batch, cm__fixed(input)});
    cm__output(g, recurrent(&b, "rnn", x, r));
}

const cm__plain_kind cm__plain_kinds[] = {
    {"mlp", mlp, false},
    {"lstm", lstm, false},
    {"gemm", gemm, true},
    {"conv", conv, true},
    {"attention", attention, true},
    {"softmax", softmax, true},
    {"layernorm", layernorm, true},
    {"batchnorm", batchnorm, true},
    {"maxpool", maxpool, true},
    {"elementwise", elementwise, true},
    {"rnn", rnn, true},
};
const int32_t cm__n_plain_kinds = sizeof cm__plain_kinds / sizeof *cm__plain_kinds;
