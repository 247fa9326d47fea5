/* SPDX-License-Identifier: Apache-2.0 */
/* leaf.c - element types, initializers and constants; only small contents are read. */
#include "import/onnx/onnx.h"

#include <math.h>
#include <string.h>

#define REALS_MAX 16 /* scales, exponents, ratios; longer lists of reals are weights, which are not read */

typedef enum coding { NO_CODING, REAL, HALF, BRAIN, SIGNED, UNSIGNED, TRUTH } coding;

/* By ONNX's type number: our type, encoding and size of an element, and its typed field in TensorProto. */
static const struct {
    int8_t   dtype;
    uint8_t  coding, width, field;
} types[] = {
    [0] = {-1},
    [CM__ONNX_FLOAT] = {CM_FP32, REAL, 4, 4},         [CM__ONNX_UINT8] = {CM_UINT8, UNSIGNED, 1, 5},
    [CM__ONNX_INT8] = {CM_INT8, SIGNED, 1, 5},        [CM__ONNX_UINT16] = {CM_INT16, UNSIGNED, 2, 5},
    [CM__ONNX_INT16] = {CM_INT16, SIGNED, 2, 5},      [CM__ONNX_INT32] = {CM_INT32, SIGNED, 4, 5},
    [CM__ONNX_INT64] = {CM_INT64, SIGNED, 8, 7},      [CM__ONNX_STRING] = {-1},
    [CM__ONNX_BOOL] = {CM_BOOL, TRUTH, 1, 5},         [CM__ONNX_FLOAT16] = {CM_FP16, HALF, 2, 5},
    [CM__ONNX_DOUBLE] = {CM_FP64, REAL, 8, 10},       [CM__ONNX_UINT32] = {CM_INT32, UNSIGNED, 4, 11},
    [CM__ONNX_UINT64] = {CM_INT64, UNSIGNED, 8, 11},  [CM__ONNX_COMPLEX64] = {CM_COMPLEX64},
    [CM__ONNX_COMPLEX128] = {-1},                     [CM__ONNX_BFLOAT16] = {CM_BF16, BRAIN, 2, 5},
    [CM__ONNX_FLOAT8_FIRST] = {CM_FP8}, {CM_FP8}, {CM_FP8}, {CM_FP8},
};

static bool dtype_of(int64_t data_type, cm_dtype *dtype)
{
    if (data_type < 1 || data_type >= (int64_t)(sizeof types / sizeof *types) || types[data_type].dtype < 0)
        return false;
    *dtype = (cm_dtype)types[data_type].dtype;
    return true;
}

cm_dtype cm__onnx_need_dtype(cm__onnx *im, int64_t data_type)
{
    cm_dtype dtype;
    if (data_type == CM__ONNX_STRING) cm__fail(im->ctx, CM_ERR_UNSUPPORTED, "strings are not supported");
    if (!dtype_of(data_type, &dtype))
        cm__fail(im->ctx, CM_ERR_UNSUPPORTED, "element type %lld of ONNX is not supported", (long long)data_type);
    return dtype;
}

/* ---- contents --------------------------------------------------------------------------------------------------- */

static double half(uint16_t bits)
{
    int    exponent = (bits >> 10) & 31, fraction = bits & 1023;
    double size = exponent == 31 ? (fraction ? NAN : INFINITY) : exponent ? ldexp(1024 + fraction, exponent - 25)
                                                                            : ldexp(fraction, -24);
    return bits & 0x8000 ? -size : size;
}

static double real(uint64_t bits, int width)
{
    double   d;
    float    f;
    uint32_t low = (uint32_t)bits;
    if (width == 8) return memcpy(&d, &bits, sizeof d), d;
    return memcpy(&f, &low, sizeof f), (double)f;
}

static int64_t sign_extended(uint64_t bits, int width)
{
    int unused = 64 - 8 * width;
    return (int64_t)(bits << unused) >> unused;
}

static cm__num number(uint64_t bits, int64_t data_type)
{
    int width = types[data_type].width;
    switch ((coding)types[data_type].coding) {
    case REAL: return (cm__num){.f = real(bits, width)};
    case HALF: return (cm__num){.f = half((uint16_t)bits)};
    case BRAIN: return (cm__num){.f = real((bits & 0xffff) << 16, 4)};
    case SIGNED: return (cm__num){.i = cm__fixed(sign_extended(bits, width))};
    case TRUTH: return (cm__num){.i = cm__fixed(bits != 0)};
    default: return (cm__num){.i = cm__fixed(bits > INT64_MAX ? INT64_MAX : (int64_t)bits)};
    }
}

static uint64_t raw_bits(cm__span raw, int32_t index, int width)
{
    uint64_t bits = 0; /* ONNX is little-endian */
    for (int i = 0; i < width; i++) bits |= (uint64_t)(uint8_t)raw.text[index * width + i] << (8 * i);
    return bits;
}

static const cm__num *contents(cm__onnx *im, const cm__onnx_tensor *t, int32_t count)
{
    int      width = types[t->data_type].width;
    uint64_t bits[CM__VALUE_MAX];
    bool     typed = !t->raw.length && t->location == 0;
    if (t->raw.length && t->raw.length < (size_t)count * (size_t)width) return NULL;
    if (typed && cm__onnx_numbers(im->ctx, t->self, types[t->data_type].field, bits, count) != count) return NULL;
    if (!typed && !t->raw.length && count) return NULL;
    cm__num *values = cm__alloc_array(im->ctx, (size_t)count + 1, sizeof *values);
    for (int32_t i = 0; i < count; i++) values[i] = number(typed ? bits[i] : raw_bits(t->raw, i, width), t->data_type);
    return values;
}

static const cm__num *few_contents(cm__onnx *im, const cm__onnx_tensor *t, const cm_tensor *leaf)
{
    double count = cm_tensor_elements(leaf).c[0];
    int    how = types[t->data_type].coding;
    if (how == NO_CODING || t->location != 0) return NULL;
    return count <= (how < SIGNED ? REALS_MAX : CM__VALUE_MAX) ? contents(im, t, (int32_t)count) : NULL;
}

bool cm__onnx_first(cm__onnx *im, const cm__onnx_tensor *t, cm__num *first)
{
    cm__onnx_need_dtype(im, t->data_type);
    if (types[t->data_type].coding == NO_CODING) return false;
    const cm__num *value = contents(im, t, 1);
    if (value) *first = *value;
    return value != NULL;
}

/* ---- leaves ----------------------------------------------------------------------------------------------------- */

static int32_t leaf_of(cm__onnx *im, const char *name, const cm__onnx_tensor *t, const cm__onnx_ints *dims)
{
    cm_dim   d[CM__RANK_MAX];
    cm_dtype dtype = cm__onnx_need_dtype(im, t->data_type);
    if (dims->count > CM__RANK_MAX)
        cm__fail(im->ctx, CM_ERR_LIMIT, "'%s' has %d dimensions, at most %d are supported", name, dims->count,
                 CM__RANK_MAX);
    for (int32_t i = 0; i < dims->count; i++) d[i] = cm__fixed(dims->items[i]);
    int32_t        id = cm__leaf(im->g, name, CM_ROLE_BUFFER, dtype, dims->count, d); /* until roles.c decides */
    const cm__num *value = dims == &t->dims ? few_contents(im, t, cm__t(im->g, id)) : NULL;
    cm__t(im->g, id)->value = value;
    return id;
}

int32_t cm__onnx_reals(cm__onnx *im, const char *name, const cm__onnx_floats *values)
{
    cm_dim   count = cm__fixed(values->count);
    int32_t  id = cm__leaf(im->g, name, CM_ROLE_CONSTANT, CM_FP32, 1, &count);
    cm__num *numbers = cm__alloc_array(im->ctx, (size_t)values->count + 1, sizeof *numbers);
    for (int32_t i = 0; i < values->count; i++) numbers[i].f = (double)values->items[i];
    if (values->count <= CM__VALUE_MAX) cm__t(im->g, id)->value = numbers;
    return id;
}

int32_t cm__onnx_constant(cm__onnx *im, const cm__onnx_scope *scope, const cm__onnx_node *node, const char *name)
{
    const cm__onnx_attribute *a;
    if ((a = cm__onnx_attribute_find(scope, node, "value")) && a->tensor)
        return leaf_of(im, name, a->tensor, &a->tensor->dims);
    if ((a = cm__onnx_attribute_find(scope, node, "value_ints"))) {
        int32_t id = cm__constant_ints(im->g, name, a->integers.count, a->integers.items);
        if (a->integers.count > CM__VALUE_MAX) cm__t(im->g, id)->value = NULL;
        return id;
    }
    if ((a = cm__onnx_attribute_find(scope, node, "value_int"))) {
        int32_t id = cm__constant_scalar(im->g, name, CM_INT64, 0);
        ((cm__num *)cm__t(im->g, id)->value)->i = cm__fixed(a->integer);
        return id;
    }
    if ((a = cm__onnx_attribute_find(scope, node, "value_float")))
        return cm__constant_scalar(im->g, name, CM_FP32, (double)a->real);
    if ((a = cm__onnx_attribute_find(scope, node, "value_floats"))) return cm__onnx_reals(im, name, &a->reals);
    cm__fail(im->ctx, CM_ERR_UNSUPPORTED, "a constant that is neither a tensor nor numbers is not supported");
}

static void add_initializer(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_tensor *t, const cm__onnx_ints *dims)
{
    const char *name = cm__onnx_text(im->ctx, t->name);
    cm__place(im->ctx, "initializer '%s'", name);
    if (cm__map_get(&scope->names, t->name) >= 0) cm__fail(im->ctx, CM_ERR_FORMAT, "defined twice");
    cm__map_put(&scope->names, t->name, leaf_of(im, name, t, dims));
}

void cm__onnx_initializers(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_body *body)
{
    for (int32_t i = 0; i < body->initializers.count; i++)
        add_initializer(im, scope, &body->initializers.items[i], &body->initializers.items[i].dims);
    for (int32_t i = 0; i < body->sparse_initializers.count; i++)
        add_initializer(im, scope, &body->sparse_initializers.items[i].values,
                        &body->sparse_initializers.items[i].dims);
    cm__place(im->ctx, "%s", "");
}
