/* SPDX-License-Identifier: Apache-2.0 */
/* input.c - shapes of a model's inputs: find the batch dimension and assume sizes for other free dimensions. */
#include "import/onnx/onnx.h"
#include "base/text.h"

#include <string.h>

#define USUAL_SEQUENCE 512
#define USUAL_IMAGE 224
#define WARNINGS_MAX 8

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* Whether a name contains `word`; a word of one letter must be the whole name. */
static bool mentions(cm__span name, const char *word)
{
    size_t length = strlen(word);
    if (length == 1) return name.length == 1 && lower(name.text[0]) == *word;
    for (size_t at = 0; at + length <= name.length; at++) {
        size_t i = 0;
        while (i < length && lower(name.text[at + i]) == word[i]) i++;
        if (i == length) return true;
    }
    return false;
}

static bool mentions_any(cm__span name, const char *const *words)
{
    for (; *words; words++)
        if (mentions(name, *words)) return true;
    return false;
}

static const char *const batch_words[] = {"batch", "n", "b", "bs", NULL};
static const char *const sequence_words[] = {"seq", "len", "time", "tokens", "frames", "t", "l", "s", NULL};
static const char *const image_words[] = {"height", "width", "h", "w", NULL};

bool cm__onnx_is_data(const cm__onnx *im, cm__span name) { return cm__map_get(&im->weights, name) < 0; }

static const cm__onnx_shape *shape_of(const cm__onnx_value *value)
{
    return value->type.tensor ? value->type.tensor->shape : value->type.sparse ? value->type.sparse->shape : NULL;
}

/* ---- the batch -------------------------------------------------------------------------------------------------- */

/* The first dimension name in the data inputs that satisfies `fits`; first_axis: only at axis 0. */
static cm__span find_name(const cm__onnx *im, bool first_axis, bool (*fits)(cm__span))
{
    for (int32_t i = 0; i < im->model->graph->inputs.count; i++) {
        const cm__onnx_value *value = &im->model->graph->inputs.items[i];
        const cm__onnx_shape *shape = cm__onnx_is_data(im, value->name) ? shape_of(value) : NULL;
        for (int32_t axis = 0; shape && axis < shape->dims.count && !(first_axis && axis); axis++) {
            cm__span param = shape->dims.items[axis].param;
            if (param.length && fits(param)) return param;
        }
    }
    return (cm__span){NULL, 0};
}

static bool is_batch(cm__span name) { return mentions_any(name, batch_words) && !mentions_any(name, sequence_words); }
static bool may_be_batch(cm__span name)
{
    return !mentions_any(name, sequence_words) && !mentions_any(name, image_words);
}

void cm__onnx_find_batch(cm__onnx *im)
{
    im->batch_name = find_name(im, false, is_batch);
    if (!im->batch_name.length) im->batch_name = find_name(im, true, may_be_batch);
}

bool cm__onnx_common_batch(const cm__onnx *im, int64_t *batch)
{
    *batch = 0;
    for (int32_t i = 0; i < im->model->graph->inputs.count; i++) {
        const cm__onnx_value *value = &im->model->graph->inputs.items[i];
        const cm__onnx_shape *shape = shape_of(value);
        if (!cm__onnx_is_data(im, value->name)) continue;
        if (!shape || shape->dims.count < 1 || shape->dims.items[0].value < 1) return false;
        if (*batch && *batch != shape->dims.items[0].value) return false;
        *batch = shape->dims.items[0].value;
    }
    return *batch > 0;
}

/* ---- free dimensions -------------------------------------------------------------------------------------------- */

static cm__span trimmed(cm__span text)
{
    while (text.length && *text.text == ' ') text.text++, text.length--;
    while (text.length && text.text[text.length - 1] == ' ') text.length--;
    return text;
}

/* The value of `name` in "name=value,name=value"; 0: absent. */
static int64_t given(cm__onnx *im, cm__span name)
{
    const char *at = im->options && im->options->dims ? im->options->dims : "";
    while (*at) {
        size_t      length = strcspn(at, ",");
        const char *sign = memchr(at, '=', length);
        int64_t     value;
        cm__span    key = sign ? trimmed((cm__span){at, (size_t)(sign - at)}) : (cm__span){at, 0};
        if (!sign || !cm__parse_int(trimmed((cm__span){sign + 1, (size_t)(at + length - sign - 1)}), &value) ||
            value < 1)
            cm__fail(im->ctx, CM_ERR_ARGUMENT, "dimension '%.*s': expected name=value, such as height=320", (int)length,
                     at);
        if (key.length == name.length && memcmp(key.text, name.text, key.length) == 0) return value;
        at += length + (at[length] == ',');
    }
    return 0;
}

static int64_t usual(const cm__onnx_shape *shape, int32_t axis, cm__span name)
{
    if (mentions_any(name, sequence_words)) return USUAL_SEQUENCE;
    if (mentions_any(name, image_words)) return USUAL_IMAGE;
    if (shape->dims.count >= 4) return axis == 1 ? 3 : axis >= 2 ? USUAL_IMAGE : 0;
    return axis == 1 ? USUAL_SEQUENCE : 0;
}

static cm_dim free_dim(cm__onnx *im, const cm__onnx_shape *shape, int32_t axis, cm__span name)
{
    const char *text = cm__onnx_text(im->ctx, name);
    bool        sequence = mentions_any(name, sequence_words);
    int64_t     value = given(im, name);
    if (value) return cm__fixed(value);
    if (sequence && im->options && im->options->seq > 0) {
        im->seq_taken = true;
        return cm__fixed(im->options->seq);
    }
    value = usual(shape, axis, name);
    if (!value)
        cm__fail(im->ctx, CM_ERR_ARGUMENT, "dimension '%s' is not fixed: give it a value with --dim %s=N", text, text);
    if (im->free_dims++ < WARNINGS_MAX)
        cm__warn(im->g, "dimension '%s' is not fixed in the file: assumed %lld; %s--dim %s=N sets it", text,
                 (long long)value, sequence ? "--seq N or " : "", text);
    return cm__fixed(value);
}

static bool same_name(cm__span a, cm__span b)
{
    return a.length == b.length && a.length && memcmp(a.text, b.text, a.length) == 0;
}

static cm_dim dim_of(cm__onnx *im, const cm__onnx_value *value, const cm__onnx_shape *shape, int32_t axis)
{
    const cm__onnx_dim *d = &shape->dims.items[axis];
    cm_dim              batch = {1, 0};
    if (im->fixed_batch && axis == 0) return batch;
    if (d->param.length) {
        bool is = same_name(d->param, im->batch_name) && !given(im, d->param);
        return is ? batch : free_dim(im, shape, axis, d->param);
    }
    if (d->self.length && d->value < 0)
        cm__fail(im->ctx, CM_ERR_FORMAT, "dimension %d is %lld", axis, (long long)d->value);
    if (d->self.length) return cm__fixed(d->value);
    if (axis == 0) return batch;
    return free_dim(im, shape, axis,
                    cm__span_of(cm__format(im->ctx, "%s.%d", cm__onnx_text(im->ctx, value->name), axis)));
}

static const cm__onnx_tensor_type *need_tensor(cm__onnx *im, const cm__onnx_value *value)
{
    const cm__onnx_type *type = &value->type;
    const char          *kind = type->sequence.text   ? "sequence"
                                : type->map.text      ? "map"
                                : type->optional.text ? "optional"
                                                      : NULL;
    if (kind) cm__fail(im->ctx, CM_ERR_UNSUPPORTED, "its type is %s: only tensors are supported", kind);
    const cm__onnx_tensor_type *tensor = type->tensor ? type->tensor : type->sparse;
    if (!tensor) cm__fail(im->ctx, CM_ERR_FORMAT, "it has no type");
    if (!tensor->shape)
        cm__fail(im->ctx, CM_ERR_UNSUPPORTED,
                 "its shape is unknown: export with shapes (torch.onnx.export with example inputs and dynamic_shapes)");
    return tensor;
}

void cm__onnx_input(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_value *value)
{
    const char *name = cm__onnx_text(im->ctx, value->name);
    cm_dim      dims[CM__RANK_MAX];
    cm__place(im->ctx, "input '%s'", name);
    const cm__onnx_tensor_type *tensor = need_tensor(im, value);
    const cm__onnx_shape       *shape = tensor->shape;
    cm_dtype                    dtype = cm__onnx_need_dtype(im, tensor->data_type);
    if (shape->dims.count > CM__RANK_MAX)
        cm__fail(im->ctx, CM_ERR_LIMIT, "%d dimensions, at most %d are supported", shape->dims.count, CM__RANK_MAX);
    for (int32_t i = 0; i < shape->dims.count; i++) dims[i] = dim_of(im, value, shape, i);
    if (cm__map_get(&scope->names, value->name) >= 0) cm__fail(im->ctx, CM_ERR_FORMAT, "defined twice");
    cm__map_put(&scope->names, value->name, cm__leaf(im->g, name, CM_ROLE_INPUT, dtype, shape->dims.count, dims));
    cm__place(im->ctx, "%s", "");
}
