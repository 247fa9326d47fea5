/* SPDX-License-Identifier: Apache-2.0 */
/* attribute.c - convert ONNX attributes to the numeric attributes of attrs.def. */
#include "graph/rule.h"
#include "import/onnx/onnx.h"

#include <string.h>

/* String values that operators distinguish, and their numbers. */
static const struct {
    cm__attr_key key;
    const char  *text;
    int64_t      number;
} words[] = {
    {CM_ATTR_AUTO_PAD, "NOTSET", 0},       {CM_ATTR_AUTO_PAD, "VALID", 1},
    {CM_ATTR_AUTO_PAD, "SAME_UPPER", 2},   {CM_ATTR_AUTO_PAD, "SAME_LOWER", 3},
    {CM_ATTR_DIRECTION, "forward", 0},     {CM_ATTR_DIRECTION, "reverse", 1},
    {CM_ATTR_DIRECTION, "bidirectional", 2},
    {CM_ATTR_MODE, "nearest", CM__MODE_NEAREST}, {CM_ATTR_MODE, "linear", CM__MODE_LINEAR}, /* of Resize, Upsample */
    {CM_ATTR_MODE, "bilinear", CM__MODE_LINEAR}, {CM_ATTR_MODE, "cubic", CM__MODE_CUBIC},
    {CM_ATTR_REDUCTION, "mean", 0},        {CM_ATTR_REDUCTION, "sum", 1},
    {CM_ATTR_REDUCTION, "none", 2},
    {CM_ATTR_TO, "FLOAT", CM_FP32},        {CM_ATTR_TO, "FLOAT16", CM_FP16}, /* Cast before opset 6 */
    {CM_ATTR_TO, "DOUBLE", CM_FP64},       {CM_ATTR_TO, "INT64", CM_INT64},
    {CM_ATTR_TO, "INT32", CM_INT32},       {CM_ATTR_TO, "BOOL", CM_BOOL},
};

static const cm__onnx_attribute *by_name(const cm__onnx_attributes *list, cm__span name)
{
    for (int32_t i = 0; i < list->count; i++) {
        cm__span n = list->items[i].name;
        if (n.length == name.length && n.length && memcmp(n.text, name.text, n.length) == 0) return &list->items[i];
    }
    return NULL;
}

/* The attribute itself, or the argument of the function call it refers to; NULL: neither exists. */
static const cm__onnx_attribute *resolved(const cm__onnx_scope *scope, const cm__onnx_attribute *a)
{
    if (!a || !a->reference.length) return a;
    const cm__onnx_attribute *given = by_name(&scope->arguments, a->reference);
    return given || !scope->function ? given : by_name(&scope->function->defaults, a->reference);
}

const cm__onnx_attribute *cm__onnx_attribute_find(const cm__onnx_scope *scope, const cm__onnx_node *node,
                                                  const char *name)
{
    return resolved(scope, by_name(&node->attributes, cm__span_of(name)));
}

int64_t cm__onnx_attribute_int(const cm__onnx_scope *scope, const cm__onnx_node *node, const char *name,
                               int64_t otherwise)
{
    const cm__onnx_attribute *a = cm__onnx_attribute_find(scope, node, name);
    return a ? a->integer : otherwise;
}

cm__onnx_attributes cm__onnx_resolve(cm__onnx *im, const cm__onnx_scope *scope, const cm__onnx_attributes *attributes)
{
    cm__onnx_attributes list = {cm__alloc_array(im->ctx, (size_t)attributes->count, sizeof *list.items), 0};
    for (int32_t i = 0; i < attributes->count; i++) {
        const cm__onnx_attribute *a = resolved(scope, &attributes->items[i]);
        if (!a) continue;
        list.items[list.count] = *a;
        list.items[list.count++].name = attributes->items[i].name;
    }
    return list;
}

/* In files older than the `type` field, the fields that are present determine the type. */
static int64_t type_of(const cm__onnx_attribute *a)
{
    if (a->type) return a->type;
    if (a->integers.count) return CM__ONNX_ATTR_INTS;
    if (a->reals.count) return CM__ONNX_ATTR_FLOATS;
    if (a->text.text) return CM__ONNX_ATTR_STRING;
    if (a->tensor) return CM__ONNX_ATTR_TENSOR;
    return a->real != 0 ? CM__ONNX_ATTR_FLOAT : CM__ONNX_ATTR_INT;
}

static bool is_dtype(cm__attr_key key)
{
    return key == CM_ATTR_TO || key == CM_ATTR_DTYPE || key == CM_ATTR_OUTPUT_DTYPE;
}

static cm__attr one_int(cm__onnx *im, cm__attr_key key, int64_t value)
{
    int64_t *copy = cm__alloc(im->ctx, sizeof *copy);
    *copy = value;
    return (cm__attr){.key = key, .count = 1, .ints = copy};
}

static cm__attr characters(cm__onnx *im, cm__attr_key key, cm__span text)
{
    if (text.length > CM__VALUE_MAX)
        cm__fail(im->ctx, CM_ERR_LIMIT, "'%s' of %zu characters", cm__attr_names[key], text.length);
    int64_t *codes = cm__alloc_array(im->ctx, text.length, sizeof *codes);
    for (size_t i = 0; i < text.length; i++) codes[i] = (unsigned char)text.text[i];
    return (cm__attr){.key = key, .count = (int32_t)text.length, .ints = codes};
}

static bool from_text(cm__onnx *im, cm__attr_key key, cm__span text, cm__attr *attr)
{
    if (key == CM_ATTR_EQUATION) return *attr = characters(im, key, text), true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].key == key && cm__span_is(text, words[i].text))
            return *attr = one_int(im, key, words[i].number), true;
    return false; /* a string that affects neither shapes nor costs */
}

static bool convert(cm__onnx *im, cm__attr_key key, const cm__onnx_attribute *a, cm__attr *attr)
{
    cm__num first;
    switch (type_of(a)) {
    case CM__ONNX_ATTR_INT:
        *attr = one_int(im, key, is_dtype(key) ? (int64_t)cm__onnx_need_dtype(im, a->integer) : a->integer);
        return true;
    case CM__ONNX_ATTR_FLOAT: return *attr = CM__REAL(key, (double)a->real), true;
    case CM__ONNX_ATTR_INTS:
        *attr = (cm__attr){.key = key, .count = a->integers.count, .ints = a->integers.items};
        return true;
    case CM__ONNX_ATTR_STRING: return from_text(im, key, a->text, attr);
    case CM__ONNX_ATTR_TENSOR:
        if (!a->tensor || !cm__onnx_first(im, a->tensor, &first)) return false;
        *attr = cm__onnx_need_dtype(im, a->tensor->data_type) <= CM_FP8 ? CM__REAL(key, first.f)
                                                                        : one_int(im, key, first.i.fixed);
        return true;
    default: return false;
    }
}

/* Pad's attribute had another name before opset 2. */
static int32_t key_of(const cm__onnx *im, cm__span name)
{
    return cm__span_is(name, "paddings") ? (int32_t)CM_ATTR_PADS : cm__map_get(&im->attributes, name);
}

cm__attr *cm__onnx_attributes_of(cm__onnx *im, const cm__onnx_scope *scope, const cm__onnx_node *node, int32_t *n)
{
    const cm__onnx_attributes *list = &node->attributes;
    cm__attr                  *attrs = cm__alloc_array(im->ctx, 2 * (size_t)list->count, sizeof *attrs);
    *n = 0;
    for (int32_t i = 0; i < list->count; i++) {
        int32_t                   key = key_of(im, list->items[i].name);
        const cm__onnx_attribute *a = resolved(scope, &list->items[i]);
        if (key < 0 || !a || !convert(im, (cm__attr_key)key, a, &attrs[*n])) continue;
        ++*n;
        if (key == CM_ATTR_VALUE && a->tensor) /* the fill value also defines the element type */
            attrs[(*n)++] = one_int(im, CM_ATTR_DTYPE, (int64_t)cm__onnx_need_dtype(im, a->tensor->data_type));
    }
    return attrs;
}
