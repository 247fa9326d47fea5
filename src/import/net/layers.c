/* SPDX-License-Identifier: Apache-2.0 */
/* layers.c - the layer language: one row per layer, and the operators it emits. These are the operators that
   PyTorch's eager mode runs for the module of that name. Parameters have PyTorch's names: LABEL.weight, LABEL.bias
   ... */
#include "import/net/net.h"

#include <string.h>

/* ---- what emitters share ----------------------------------------------------------------------------------------- */

static const cm_tensor *input(const cm__net_call *c) { return cm__t(c->g, c->tensors[0]); }

static int64_t one(const cm__net_call *c, int index) { return c->values[index].ints[0]; }

static int64_t size_at(const cm__net_call *c, int32_t axis)
{
    const cm_tensor *t = input(c);
    if (axis >= t->rank || t->dims[axis].per_batch || t->dims[axis].fixed < 1)
        cm__fail(c->net->ctx, CM_ERR_FORMAT, "%s does not fit %s", c->layer->name, cm__dims_text(c->g, t));
    return t->dims[axis].fixed;
}

static int32_t spatial_dims(const cm__net_call *c)
{
    int32_t dims = input(c)->rank - 2;
    if (dims < 1 || dims > CM__RANK_MAX - 2)
        cm__fail(c->net->ctx, CM_ERR_FORMAT, "%s needs [B, channels, size...], found %s", c->layer->name,
                 cm__dims_text(c->g, input(c)));
    return dims;
}

/* One number for all spatial dimensions, or one for each. */
static void spread(const cm__net_call *c, int index, int64_t out[CM__RANK_MAX])
{
    const cm__net_value *v = &c->values[index];
    int32_t              dims = spatial_dims(c);
    if (v->count != 1 && v->count != dims)
        cm__fail(c->net->ctx, CM_ERR_FORMAT, "%s: %d numbers for %d dimensions", c->layer->params[index].name, v->count,
                 dims);
    for (int32_t i = 0; i < dims; i++) out[i] = v->ints[v->count == 1 ? 0 : i];
}

/* Padding at the start of all dimensions, then at their ends, in ONNX's order. */
static void spread_pads(const cm__net_call *c, int index, int64_t out[2 * CM__RANK_MAX])
{
    int32_t dims = spatial_dims(c);
    spread(c, index, out);
    memcpy(out + dims, out, (size_t)dims * sizeof *out);
}

static cm__attr ints(cm__attr_key key, int32_t count, const int64_t *values)
{
    return (cm__attr){.key = key, .count = count, .ints = values};
}

static const char *part_name(const cm__net_call *c, const char *part)
{
    return cm__text_dotted(c->net->ctx, c->name, part);
}

static int32_t parameter(const cm__net_call *c, const char *name, int32_t rank, const int64_t *dims)
{
    return cm__parameter(c->g, part_name(c, name), rank, dims);
}

static int32_t emit(const cm__net_call *c, const int32_t *inputs, int32_t n, const cm__attr *attrs, int32_t n_attrs)
{
    return cm__emit(c->g, c->layer->op, c->name, inputs, n, attrs, n_attrs);
}

/* ---- layers without numbers, or with one ------------------------------------------------------------------------- */

static int32_t emit_plain(const cm__net_call *c) { return emit(c, c->tensors, c->n_tensors, NULL, 0); }

static int32_t emit_axis(const cm__net_call *c)
{
    return emit(c, c->tensors, c->n_tensors, (cm__attr[]){ints(CM_ATTR_AXIS, 1, c->values[0].ints)}, 1);
}

static int32_t emit_slope(const cm__net_call *c)
{
    return emit(c, c->tensors, 1, (cm__attr[]){CM__REAL(CM_ATTR_ALPHA, c->values[0].real)}, 1);
}

static int32_t emit_ratio(const cm__net_call *c)
{
    return emit(c, c->tensors, 1, (cm__attr[]){CM__REAL(CM_ATTR_RATIO, c->values[0].real)}, 1);
}

static int32_t emit_relu6(const cm__net_call *c)
{
    int32_t low = cm__constant_scalar(c->g, part_name(c, "min"), CM_FP32, 0);
    int32_t high = cm__constant_scalar(c->g, part_name(c, "max"), CM_FP32, 6);
    return emit(c, (int32_t[]){c->tensors[0], low, high}, 3, NULL, 0);
}

/* Stochastic depth: each sample is kept or dropped as a whole by one random number, scaled to keep the mean. */
static int32_t emit_stochastic_depth(const cm__net_call *c)
{
    cm_dim dims[CM__RANK_MAX];
    for (int32_t i = 0; i < input(c)->rank; i++) dims[i] = i ? cm__fixed(1) : input(c)->dims[0];
    int32_t chance = cm__leaf(c->g, part_name(c, "survival"), CM_ROLE_CONSTANT, CM_FP32, input(c)->rank, dims);
    int32_t kept = cm__emit(c->g, CM_OP_BERNOULLI, part_name(c, "bernoulli"), &chance, 1, NULL, 0);
    int32_t rate = cm__constant_scalar(c->g, part_name(c, "rate"), CM_FP32, 1 - c->values[0].real);
    int32_t noise = cm__emit(c->g, CM_OP_DIV, part_name(c, "div"), (int32_t[]){kept, rate}, 2, NULL, 0);
    return emit(c, (int32_t[]){c->tensors[0], noise}, 2, NULL, 0);
}

/* ---- convolution ------------------------------------------------------------------------------------------------- */

enum { CONV_OUT, CONV_KERNEL, CONV_STRIDE, CONV_PAD, CONV_GROUPS, CONV_DILATION, CONV_BIAS, CONV_OUTPUT_PAD };

static void check_groups(const cm__net_call *c, int64_t in, int64_t out, int64_t groups)
{
    if (in % groups || out % groups)
        cm__fail(c->net->ctx, CM_ERR_FORMAT, "%lld channels to %lld do not divide into %lld groups", (long long)in,
                 (long long)out, (long long)groups);
}

/* Weight [out, in / groups, kernel...]; transposed: [in, out / groups, kernel...]. */
static int32_t emit_conv(const cm__net_call *c)
{
    int64_t kernel[CM__RANK_MAX], strides[CM__RANK_MAX], dilations[CM__RANK_MAX], more[CM__RANK_MAX];
    int64_t pads[2 * CM__RANK_MAX], groups = one(c, CONV_GROUPS), out = one(c, CONV_OUT), in = size_at(c, 1);
    bool    transposed = c->layer->op == CM_OP_CONV_TRANSPOSE;
    int32_t dims = spatial_dims(c);
    check_groups(c, in, out, groups);
    spread(c, CONV_KERNEL, kernel);
    spread(c, CONV_STRIDE, strides);
    spread(c, CONV_DILATION, dilations);
    spread_pads(c, CONV_PAD, pads);
    int64_t weight[CM__RANK_MAX] = {transposed ? in : out, (transposed ? out : in) / groups};
    memcpy(weight + 2, kernel, (size_t)dims * sizeof *kernel);
    int32_t  inputs[3] = {c->tensors[0], parameter(c, "weight", dims + 2, weight), -1};
    cm__attr attrs[] = {ints(CM_ATTR_KERNEL_SHAPE, dims, kernel), ints(CM_ATTR_STRIDES, dims, strides),
                        ints(CM_ATTR_PADS, 2 * dims, pads), ints(CM_ATTR_DILATIONS, dims, dilations),
                        ints(CM_ATTR_GROUP, 1, &groups), ints(CM_ATTR_OUTPUT_PADDING, dims, more)};
    if (transposed) spread(c, CONV_OUTPUT_PAD, more);
    if (one(c, CONV_BIAS)) inputs[2] = parameter(c, "bias", 1, &out);
    return emit(c, inputs, inputs[2] < 0 ? 2 : 3, attrs, transposed ? 6 : 5);
}

static int32_t emit_linear(const cm__net_call *c)
{
    int64_t out = one(c, 0), in = size_at(c, input(c)->rank - 1), on = 1;
    int32_t inputs[3] = {c->tensors[0], parameter(c, "weight", 2, (int64_t[]){out, in}), -1};
    if (one(c, 1)) inputs[2] = parameter(c, "bias", 1, &out);
    return emit(c, inputs, inputs[2] < 0 ? 2 : 3, (cm__attr[]){ints(CM_ATTR_TRANS_B, 1, &on)}, 1);
}

/* ---- normalisation ----------------------------------------------------------------------------------------------- */

static int32_t emit_bn(const cm__net_call *c)
{
    int64_t channels = size_at(c, 1);
    cm_dim  dim = cm__fixed(channels);
    int32_t inputs[5] = {c->tensors[0], parameter(c, "weight", 1, &channels), parameter(c, "bias", 1, &channels)};
    inputs[3] = cm__leaf(c->g, part_name(c, "running_mean"), CM_ROLE_BUFFER, CM_FP32, 1, &dim);
    inputs[4] = cm__leaf(c->g, part_name(c, "running_var"), CM_ROLE_BUFFER, CM_FP32, 1, &dim);
    return emit(c, inputs, 5, (cm__attr[]){CM__REAL(CM_ATTR_EPSILON, c->values[0].real)}, 1);
}

/* Normalise over the last `dims` dimensions. */
static int32_t emit_ln(const cm__net_call *c)
{
    int64_t dims = one(c, 0), axis = input(c)->rank - dims, sizes[CM__RANK_MAX];
    if (axis < 1)
        cm__fail(c->net->ctx, CM_ERR_FORMAT, "ln over %lld dimensions of %s", (long long)dims,
                 cm__dims_text(c->g, input(c)));
    for (int64_t i = 0; i < dims; i++) sizes[i] = size_at(c, (int32_t)(axis + i));
    if (!one(c, 1)) return emit(c, c->tensors, 1, (cm__attr[]){ints(CM_ATTR_AXIS, 1, &axis)}, 1);
    int32_t weight = parameter(c, "weight", (int32_t)dims, sizes), bias = parameter(c, "bias", (int32_t)dims, sizes);
    return emit(c, (int32_t[]){c->tensors[0], weight, bias}, 3, (cm__attr[]){ints(CM_ATTR_AXIS, 1, &axis)}, 1);
}

static int32_t emit_gn(const cm__net_call *c)
{
    int64_t groups = one(c, 0), channels = size_at(c, 1);
    check_groups(c, channels, channels, groups);
    int32_t inputs[] = {c->tensors[0], parameter(c, "weight", 1, &channels), parameter(c, "bias", 1, &channels)};
    return emit(c, inputs, 3, (cm__attr[]){ints(CM_ATTR_NUM_GROUPS, 1, &groups)}, 1);
}

/* ---- pools and resizing ------------------------------------------------------------------------------------------ */

enum { POOL_KERNEL, POOL_STRIDE, POOL_PAD, POOL_CEIL };

static int32_t emit_pool(const cm__net_call *c)
{
    int64_t kernel[CM__RANK_MAX], strides[CM__RANK_MAX], pads[2 * CM__RANK_MAX], ceil_mode = one(c, POOL_CEIL), on = 1;
    int32_t dims = spatial_dims(c);
    spread(c, POOL_KERNEL, kernel);
    spread(c, c->values[POOL_STRIDE].given ? POOL_STRIDE : POOL_KERNEL, strides);
    spread_pads(c, POOL_PAD, pads);
    cm__attr attrs[] = {ints(CM_ATTR_KERNEL_SHAPE, dims, kernel), ints(CM_ATTR_STRIDES, dims, strides),
                        ints(CM_ATTR_PADS, 2 * dims, pads), ints(CM_ATTR_CEIL_MODE, 1, &ceil_mode),
                        ints(CM_ATTR_COUNT_INCLUDE_PAD, 1, &on)};
    return emit(c, c->tensors, 1, attrs, 5);
}

static int32_t emit_gap(const cm__net_call *c)
{
    int64_t axes[CM__RANK_MAX], keep = 1;
    int32_t dims = spatial_dims(c);
    for (int32_t i = 0; i < dims; i++) axes[i] = i + 2;
    return emit(c, c->tensors, 1, (cm__attr[]){ints(CM_ATTR_AXES, dims, axes), ints(CM_ATTR_KEEPDIMS, 1, &keep)}, 2);
}

/* Adaptive pooling: if the output size divides the input size, an ordinary pool with windows of equal size. */
static int32_t emit_adaptive(const cm__net_call *c)
{
    int64_t out[CM__RANK_MAX], kernel[CM__RANK_MAX];
    int32_t dims = spatial_dims(c);
    spread(c, 0, out);
    for (int32_t i = 0; i < dims; i++) {
        int64_t in = size_at(c, i + 2);
        if (in % out[i])
            cm__fail(c->net->ctx, CM_ERR_UNSUPPORTED, "adaptive pool of %lld to %lld: windows of unequal size",
                     (long long)in, (long long)out[i]);
        kernel[i] = in / out[i];
    }
    cm__attr attrs[] = {ints(CM_ATTR_KERNEL_SHAPE, dims, kernel), ints(CM_ATTR_STRIDES, dims, kernel)};
    return emit(c, c->tensors, 1, attrs, 2);
}

static int32_t emit_upsample(const cm__net_call *c)
{
    int64_t factor[CM__RANK_MAX], bits[CM__RANK_MAX];
    int32_t rank = spatial_dims(c) + 2;
    spread(c, 0, factor);
    for (int32_t i = 0; i < rank; i++) {
        double scale = i < 2 ? 1 : (double)factor[i - 2];
        memcpy(&bits[i], &scale, sizeof scale);
    }
    cm__attr attrs[] = {ints(CM_ATTR_SCALES, rank, bits), ints(CM_ATTR_MODE, 1, c->values[1].ints)};
    return emit(c, c->tensors, 1, attrs, 2);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* The batch dimension is unchanged: 0 copies it. */
static int32_t emit_reshape(const cm__net_call *c)
{
    int64_t              shape[CM__RANK_MAX + 1] = {0};
    const cm__net_value *v = &c->values[0];
    if (v->count >= CM__RANK_MAX) cm__fail(c->net->ctx, CM_ERR_LIMIT, "more than %d sizes", CM__RANK_MAX - 1);
    memcpy(shape + 1, v->ints, (size_t)v->count * sizeof *shape);
    int32_t sizes = cm__constant_ints(c->g, part_name(c, "shape"), v->count + 1, shape);
    return emit(c, (int32_t[]){c->tensors[0], sizes}, 2, NULL, 0);
}

static int32_t emit_transpose(const cm__net_call *c)
{
    return emit(c, c->tensors, 1, (cm__attr[]){ints(CM_ATTR_PERM, c->values[0].count, c->values[0].ints)}, 1);
}

/* ---- recurrent layers -------------------------------------------------------------------------------------------- */

static int64_t gates_of(int op) { return op == CM_OP_LSTM ? 4 : 3; }

enum { RNN_HIDDEN, RNN_LAYERS, RNN_BIDIRECTIONAL };

static const char *rnn_name(const cm__net_call *c, const char *part, int64_t layer)
{
    return cm__format(c->net->ctx, "%s.%s_l%lld", c->name, part, (long long)layer);
}

/* x[B, S, in] -> [B, S, directions * hidden]; PyTorch's two biases are one vector, as in ONNX. */
static int32_t emit_rnn_layer(const cm__net_call *c, int32_t x, int64_t layer)
{
    const cm_tensor *t = cm__t(c->g, x);
    if (t->rank != 3 || t->dims[2].per_batch)
        cm__fail(c->net->ctx, CM_ERR_FORMAT, "%s needs [B, steps, size], found %s", c->layer->name,
                 cm__dims_text(c->g, t));
    int64_t  hidden = one(c, RNN_HIDDEN), both = one(c, RNN_BIDIRECTIONAL) != 0, dirs = both + 1, direction = 2 * both;
    int64_t  rows = gates_of(c->layer->op) * hidden, in = t->dims[2].fixed, batch_first = 1;
    int32_t  w = cm__parameter(c->g, rnn_name(c, "weight_ih", layer), 3, (int64_t[]){dirs, rows, in});
    int32_t  r = cm__parameter(c->g, rnn_name(c, "weight_hh", layer), 3, (int64_t[]){dirs, rows, hidden});
    int32_t  b = cm__parameter(c->g, rnn_name(c, "bias", layer), 2, (int64_t[]){dirs, 2 * rows});
    cm__attr attrs[] = {ints(CM_ATTR_HIDDEN_SIZE, 1, &hidden), ints(CM_ATTR_DIRECTION, 1, &direction),
                        ints(CM_ATTR_LAYOUT, 1, &batch_first)};
    int32_t  y = cm__emit(c->g, c->layer->op, rnn_name(c, "cell", layer), (int32_t[]){x, w, r, b}, 4, attrs, 3);
    int32_t  shape = cm__constant_ints(c->g, rnn_name(c, "shape", layer), 3, (int64_t[]){0, 0, dirs * hidden});
    return cm__emit(c->g, CM_OP_RESHAPE, rnn_name(c, "join", layer), (int32_t[]){y, shape}, 2, NULL, 0);
}

static int32_t emit_rnn(const cm__net_call *c)
{
    int32_t x = c->tensors[0];
    int64_t layers = one(c, RNN_LAYERS);
    if (layers > CM__NET_NODES / 2) cm__fail(c->net->ctx, CM_ERR_LIMIT, "%lld layers", (long long)layers);
    for (int64_t i = 0; i < layers; i++) x = emit_rnn_layer(c, x, i);
    return x;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define INT(name, otherwise, least)  {name, CM__NET_INT, false, otherwise, least}
#define LIST(name, otherwise, least) {name, CM__NET_LIST, false, otherwise, least}
#define REAL(name, otherwise)        {name, CM__NET_REAL, false, otherwise, 0}
#define NEED(name, kind, least)      {name, CM__NET_##kind, true, 0, least}
#define SWITCH(name, otherwise)      {name, CM__NET_INT, false, otherwise, 0}
#define CONV_PARAMS                                                                                                    \
    NEED("out", INT, 1), NEED("kernel", LIST, 1), LIST("stride", 1, 1), LIST("pad", 0, 0), INT("groups", 1, 1),        \
        LIST("dilation", 1, 1), SWITCH("bias", 1)
#define POOL_PARAMS NEED("kernel", LIST, 1), LIST("stride", 1, 1), LIST("pad", 0, 0), SWITCH("ceil", 0)
#define RNN_PARAMS  NEED("hidden", INT, 1), INT("layers", 1, 1), SWITCH("bidirectional", 0)

/* name, emitter, operator, tensors to be named (0: the current one, -1: any number), parameters in order */
const cm__net_layer cm__net_layers[] = {
    {"conv", emit_conv, CM_OP_CONV, 0, {CONV_PARAMS}},
    {"deconv", emit_conv, CM_OP_CONV_TRANSPOSE, 0, {CONV_PARAMS, LIST("output_pad", 0, 0)}},
    {"linear", emit_linear, CM_OP_GEMM, 0, {NEED("out", INT, 1), SWITCH("bias", 1)}},
    {"bn", emit_bn, CM_OP_BATCH_NORM, 0, {REAL("eps", 1e-5)}},
    {"ln", emit_ln, CM_OP_LAYER_NORM, 0, {INT("dims", 1, 1), SWITCH("affine", 1)}},
    {"gn", emit_gn, CM_OP_GROUP_NORM, 0, {NEED("groups", INT, 1)}},
    {"relu", emit_plain, CM_OP_RELU, 0, {{0}}},
    {"relu6", emit_relu6, CM_OP_CLIP, 0, {{0}}},
    {"leaky_relu", emit_slope, CM_OP_LEAKY_RELU, 0, {REAL("slope", 0.01)}},
    {"silu", emit_plain, CM_OP_SILU, 0, {{0}}},
    {"gelu", emit_plain, CM_OP_GELU, 0, {{0}}},
    {"hardswish", emit_plain, CM_OP_HARD_SWISH, 0, {{0}}},
    {"hardsigmoid", emit_plain, CM_OP_HARD_SIGMOID, 0, {{0}}},
    {"sigmoid", emit_plain, CM_OP_SIGMOID, 0, {{0}}},
    {"tanh", emit_plain, CM_OP_TANH, 0, {{0}}},
    {"softmax", emit_axis, CM_OP_SOFTMAX, 0, {INT("axis", -1, -CM__RANK_MAX)}},
    {"dropout", emit_ratio, CM_OP_DROPOUT, 0, {NEED("p", REAL, 0)}},
    {"stochastic_depth", emit_stochastic_depth, CM_OP_MUL, 0, {NEED("p", REAL, 0)}},
    {"maxpool", emit_pool, CM_OP_MAX_POOL, 0, {POOL_PARAMS}},
    {"avgpool", emit_pool, CM_OP_AVERAGE_POOL, 0, {POOL_PARAMS}},
    {"adaptive_avgpool", emit_adaptive, CM_OP_AVERAGE_POOL, 0, {NEED("size", LIST, 1)}},
    {"gap", emit_gap, CM_OP_REDUCE_MEAN, 0, {{0}}},
    {"upsample", emit_upsample, CM_OP_RESIZE, 0, {NEED("factor", LIST, 1), INT("mode", 0, 0)}},
    {"flatten", emit_axis, CM_OP_FLATTEN, 0, {INT("axis", 1, -CM__RANK_MAX)}},
    {"reshape", emit_reshape, CM_OP_RESHAPE, 0, {NEED("size", REST, -1)}},
    {"transpose", emit_transpose, CM_OP_TRANSPOSE, 0, {NEED("order", REST, 0)}},
    {"add", emit_plain, CM_OP_ADD, 2, {{0}}},
    {"sub", emit_plain, CM_OP_SUB, 2, {{0}}},
    {"mul", emit_plain, CM_OP_MUL, 2, {{0}}},
    {"matmul", emit_plain, CM_OP_MATMUL, 2, {{0}}},
    {"concat", emit_axis, CM_OP_CONCAT, -1, {INT("axis", 1, -CM__RANK_MAX)}},
    {"attention", cm__net_emit_attention, CM_OP_ATTENTION, 3, {NEED("heads", INT, 1), SWITCH("causal", 0)}},
    {"slice", cm__net_emit_slice, CM_OP_SLICE, 0, {NEED("axis", INT, 1), NEED("start", INT, 0), NEED("end", INT, 1)}},
    {"shift", cm__net_emit_shift, CM_OP_ADD, 0, {{0}}},
    {"plus", cm__net_emit_plus, CM_OP_ADD, 0, {NEED("value", INT, 0)}},
    {"embed", cm__net_emit_embed, CM_OP_GATHER, 0, {NEED("rows", INT, 1), NEED("width", INT, 1)}},
    {"lstm", emit_rnn, CM_OP_LSTM, 0, {RNN_PARAMS}},
    {"gru", emit_rnn, CM_OP_GRU, 0, {RNN_PARAMS}},
};
const int32_t cm__net_n_layers = (int32_t)(sizeof cm__net_layers / sizeof *cm__net_layers);

const cm__net_layer *cm__net_layer_find(cm__span name)
{
    for (int32_t i = 0; i < cm__net_n_layers; i++)
        if (cm__span_is(name, cm__net_layers[i].name)) return &cm__net_layers[i];
    return NULL;
}
