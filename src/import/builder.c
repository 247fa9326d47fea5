/* SPDX-License-Identifier: Apache-2.0 */
/* builder.c - linear layers, norms, activations and similar modules, emitted as the operators that PyTorch runs. */
#include "import/builder.h"

#include <stdio.h>
#include "base/text.h"

const char *const cm__activation_names[] = {
    [CM__ACT_GELU] = "gelu",           [CM__ACT_GELU_NEW] = "gelu_new",     [CM__ACT_GELU_FAST] = "gelu_fast",
    [CM__ACT_GELU_TANH] = "gelu_pytorch_tanh", [CM__ACT_QUICK_GELU] = "quick_gelu", [CM__ACT_RELU] = "relu",
    [CM__ACT_SILU] = "silu",           [CM__ACT_TANH] = "tanh",             [CM__ACT_RELU2] = "relu2",
    [CM__ACTS] = NULL,
};

/* ---- names and leaves ------------------------------------------------------------------------------------------- */

void cm__b_scope(cm__builder *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(b->scope, sizeof b->scope, format, args);
    va_end(args);
}

const char *cm__b_name(cm__builder *b, const char *part, const char *suffix)
{
    cm__join(b->name, sizeof b->name, b->scope, *b->scope && *part ? "." : "", part,
             suffix && (*b->scope || *part) ? "." : "", suffix ? suffix : "", NULL);
    return b->name;
}

int32_t cm__b_parameter(cm__builder *b, const char *part, const char *suffix, int32_t rank, const int64_t *dims)
{
    return cm__parameter(b->g, cm__b_name(b, part, suffix), rank, dims);
}

int32_t cm__b_scalar(cm__builder *b, double value)
{
    for (int32_t i = 0; i < b->n_scalars; i++)
        if (b->scalars[i].value == value) return b->scalars[i].tensor;
    char name[32];
    snprintf(name, sizeof name, "%.9g", value);
    int32_t tensor = cm__constant_scalar(b->g, name, CM_FP32, value);
    if (b->n_scalars < CM__SCALARS_MAX) {
        b->scalars[b->n_scalars].value = value;
        b->scalars[b->n_scalars++].tensor = tensor;
    }
    return tensor;
}

/* ---- single operators ------------------------------------------------------------------------------------------- */

int32_t cm__b_unary(cm__builder *b, int op, const char *part, const char *suffix, int32_t x)
{
    return cm__emit(b->g, op, cm__b_name(b, part, suffix), &x, 1, NULL, 0);
}

int32_t cm__b_binary(cm__builder *b, int op, const char *part, const char *suffix, int32_t x, int32_t y)
{
    return cm__emit(b->g, op, cm__b_name(b, part, suffix), (int32_t[]){x, y}, 2, NULL, 0);
}

int32_t cm__b_attr(cm__builder *b, int op, const char *part, const char *suffix, int32_t x, cm__attr attr)
{
    return cm__emit(b->g, op, cm__b_name(b, part, suffix), &x, 1, &attr, 1);
}

int32_t cm__b_reshape(cm__builder *b, const char *part, const char *suffix, int32_t x, int32_t rank,
                      const int64_t *shape)
{
    cm__attr to = {.key = CM_ATTR_SHAPE, .count = rank, .ints = shape};
    return cm__b_attr(b, CM_OP_RESHAPE, part, suffix, x, to);
}

int32_t cm__b_transpose(cm__builder *b, const char *part, const char *suffix, int32_t x, int32_t rank,
                        const int64_t *perm)
{
    cm__attr order = {.key = CM_ATTR_PERM, .count = rank, .ints = perm};
    return cm__b_attr(b, CM_OP_TRANSPOSE, part, suffix, x, order);
}

int32_t cm__b_slice(cm__builder *b, const char *part, const char *suffix, int32_t x, int64_t axis, int64_t start,
                    int64_t end)
{
    cm__attr attrs[] = {CM__INTS(CM_ATTR_AXES, axis), CM__INTS(CM_ATTR_STARTS, start), CM__INTS(CM_ATTR_ENDS, end)};
    return cm__emit(b->g, CM_OP_SLICE, cm__b_name(b, part, suffix), &x, 1, attrs, 3);
}

/* ---- layers ----------------------------------------------------------------------------------------------------- */

int32_t cm__b_project(cm__builder *b, const char *part, int32_t x, int32_t weight, int32_t bias)
{
    cm__attr transposed = CM__INTS(CM_ATTR_TRANS_B, 1);
    return cm__emit(b->g, CM_OP_GEMM, cm__b_name(b, part, NULL), (int32_t[]){x, weight, bias}, bias < 0 ? 2 : 3,
                    &transposed, 1);
}

int32_t cm__b_linear(cm__builder *b, const char *part, int32_t x, int64_t in, int64_t out, bool bias)
{
    int32_t w = cm__b_parameter(b, part, "weight", 2, (int64_t[]){out, in});
    int32_t c = bias ? cm__b_parameter(b, part, "bias", 1, &out) : -1;
    return cm__b_project(b, part, x, w, c);
}

int32_t cm__b_conv1d(cm__builder *b, const char *part, int32_t x, int64_t in, int64_t out, bool bias)
{
    int32_t w = cm__b_parameter(b, part, "weight", 2, (int64_t[]){in, out});
    int32_t c = bias ? cm__b_parameter(b, part, "bias", 1, &out) : -1;
    const cm_tensor *from = cm__t(b->g, x);
    int64_t          length = from->rank == 3 ? from->dims[1].fixed : 0;
    if (length) x = cm__b_reshape(b, part, "rows", x, 2, (int64_t[]){-1, in}); /* as in GPT-2's Conv1D */
    x = cm__emit(b->g, CM_OP_GEMM, cm__b_name(b, part, NULL), (int32_t[]){x, w, c}, bias ? 3 : 2, NULL, 0);
    return length ? cm__b_reshape(b, part, "positions", x, 3, (int64_t[]){-1, length, out}) : x;
}

int32_t cm__b_layer_norm(cm__builder *b, const char *part, int32_t x, int64_t width)
{
    int32_t  w = cm__b_parameter(b, part, "weight", 1, &width);
    int32_t  c = cm__b_parameter(b, part, "bias", 1, &width);
    cm__attr last = CM__INTS(CM_ATTR_AXIS, -1);
    return cm__emit(b->g, CM_OP_LAYER_NORM, cm__b_name(b, part, NULL), (int32_t[]){x, w, c}, 3, &last, 1);
}

/* weight * (x * rsqrt(mean(x^2) + eps)); Reciprocal represents rsqrt, which is one kernel, as in captures. */
int32_t cm__b_rms_norm(cm__builder *b, const char *part, int32_t x, int64_t width)
{
    int32_t  w = cm__b_parameter(b, part, "weight", 1, &width);
    cm__attr mean[] = {CM__INTS(CM_ATTR_AXES, -1), CM__INTS(CM_ATTR_KEEPDIMS, 1)};
    int32_t  y = cm__b_binary(b, CM_OP_POW, part, "pow", x, cm__b_scalar(b, 2));
    y = cm__emit(b->g, CM_OP_REDUCE_MEAN, cm__b_name(b, part, "mean"), &y, 1, mean, 2);
    y = cm__b_binary(b, CM_OP_ADD, part, "eps", y, cm__b_scalar(b, 1e-6));
    y = cm__b_unary(b, CM_OP_RECIPROCAL, part, "rsqrt", y);
    y = cm__b_binary(b, CM_OP_MUL, part, "normalise", x, y);
    return cm__b_binary(b, CM_OP_MUL, part, "scale", w, y);
}

int32_t cm__b_dropout(cm__builder *b, const char *part, int32_t x, double ratio)
{
    if (ratio <= 0) return x;
    return cm__b_attr(b, CM_OP_DROPOUT, part, NULL, x, CM__REAL(CM_ATTR_RATIO, ratio));
}

/* ---- activations ------------------------------------------------------------------------------------------------ */

/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
static int32_t gelu_new(cm__builder *b, const char *part, int32_t x)
{
    int32_t half = cm__b_binary(b, CM_OP_MUL, part, "half", x, cm__b_scalar(b, 0.5));
    int32_t y = cm__b_binary(b, CM_OP_POW, part, "pow", x, cm__b_scalar(b, 3));
    y = cm__b_binary(b, CM_OP_MUL, part, "cubic", y, cm__b_scalar(b, 0.044715));
    y = cm__b_binary(b, CM_OP_ADD, part, "sum", x, y);
    y = cm__b_binary(b, CM_OP_MUL, part, "inner", y, cm__b_scalar(b, 0.7978845608028654));
    y = cm__b_unary(b, CM_OP_TANH, part, "tanh", y);
    y = cm__b_binary(b, CM_OP_ADD, part, "shift", y, cm__b_scalar(b, 1));
    return cm__b_binary(b, CM_OP_MUL, part, "outer", half, y);
}

/* 0.5 x (1 + tanh(x sqrt(2/pi) (1 + 0.044715 x x))) */
static int32_t gelu_fast(cm__builder *b, const char *part, int32_t x)
{
    int32_t half = cm__b_binary(b, CM_OP_MUL, part, "half", x, cm__b_scalar(b, 0.5));
    int32_t scaled = cm__b_binary(b, CM_OP_MUL, part, "scaled", x, cm__b_scalar(b, 0.7978845608));
    int32_t y = cm__b_binary(b, CM_OP_MUL, part, "linear", x, cm__b_scalar(b, 0.044715));
    y = cm__b_binary(b, CM_OP_MUL, part, "square", y, x);
    y = cm__b_binary(b, CM_OP_ADD, part, "sum", y, cm__b_scalar(b, 1));
    y = cm__b_binary(b, CM_OP_MUL, part, "inner", scaled, y);
    y = cm__b_unary(b, CM_OP_TANH, part, "tanh", y);
    y = cm__b_binary(b, CM_OP_ADD, part, "shift", y, cm__b_scalar(b, 1));
    return cm__b_binary(b, CM_OP_MUL, part, "outer", half, y);
}

/* x sigmoid(1.702 x) */
static int32_t quick_gelu(cm__builder *b, const char *part, int32_t x)
{
    int32_t y = cm__b_binary(b, CM_OP_MUL, part, "scaled", x, cm__b_scalar(b, 1.702));
    y = cm__b_unary(b, CM_OP_SIGMOID, part, "sigmoid", y);
    return cm__b_binary(b, CM_OP_MUL, part, "gate", x, y);
}

static int32_t squared_relu(cm__builder *b, const char *part, int32_t x)
{
    x = cm__b_unary(b, CM_OP_RELU, part, NULL, x);
    return cm__b_binary(b, CM_OP_MUL, part, "square", x, x);
}

int32_t cm__b_activation(cm__builder *b, const char *part, int32_t x, int64_t kind)
{
    static const struct {
        int     op; /* a single kernel */
        int32_t (*written_out)(cm__builder *, const char *, int32_t);
    } rows[CM__ACTS] = {
        [CM__ACT_GELU] = {CM_OP_GELU, NULL},       [CM__ACT_GELU_NEW] = {0, gelu_new},
        [CM__ACT_GELU_FAST] = {0, gelu_fast},      [CM__ACT_GELU_TANH] = {CM_OP_GELU, NULL},
        [CM__ACT_QUICK_GELU] = {0, quick_gelu},    [CM__ACT_RELU] = {CM_OP_RELU, NULL},
        [CM__ACT_SILU] = {CM_OP_SILU, NULL},       [CM__ACT_TANH] = {CM_OP_TANH, NULL},
        [CM__ACT_RELU2] = {0, squared_relu},
    };
    return rows[kind].written_out ? rows[kind].written_out(b, part, x) : cm__b_unary(b, rows[kind].op, part, NULL, x);
}
