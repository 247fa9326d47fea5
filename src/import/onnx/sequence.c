/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sequence.c - sequences of tensors, resolved during import if their length is known.
 *
 * PyTorch's exporter writes torch.split and torch.chunk as SplitToSequence and SequenceAt. A graph has no sequences, so
 * the importer keeps each as a list of tensor ids. Its name maps to a value of at most CM__ONNX_SEQUENCE, and operators
 * on it are evaluated immediately.
 */
#include "graph/rule.h"
#include "import/onnx/onnx.h"

#include <string.h>

typedef cm__onnx_sequence sequence;

typedef struct call {
    cm__onnx            *im;
    cm__onnx_scope      *scope;
    const cm__onnx_node *node;
    const char          *name;
} call;

/* ---- lists ------------------------------------------------------------------------------------------------------ */

static sequence *sequence_new(call *c, int32_t count)
{
    cm__onnx *im = c->im;
    if (count > CM__VALUE_MAX) cm__fail(im->ctx, CM_ERR_LIMIT, "a sequence of more than %d tensors", CM__VALUE_MAX);
    im->sequences = cm__grow(im->ctx, im->sequences, im->n_sequences, &im->cap_sequences, sizeof *im->sequences);
    sequence *s = &im->sequences[im->n_sequences++];
    *s = (sequence){.count = count, .items = cm__alloc_array(im->ctx, (size_t)count, sizeof *s->items)};
    if (!c->node->outputs.count) cm__fail(im->ctx, CM_ERR_FORMAT, "it has no output");
    cm__onnx_bind(im, c->scope, c->node->outputs.items[0], CM__ONNX_SEQUENCE - (im->n_sequences - 1));
    return s;
}

static sequence sequence_at(call *c, int32_t input)
{
    int32_t id = input < c->node->inputs.count ? cm__onnx_lookup(c->scope, c->node->inputs.items[input]) : -1;
    if (id > CM__ONNX_SEQUENCE)
        cm__fail(c->im->ctx, CM_ERR_UNSUPPORTED, "input %d is no sequence that is known here", input);
    return c->im->sequences[CM__ONNX_SEQUENCE - id];
}

static bool has_input(const call *c, int32_t input)
{
    return input < c->node->inputs.count && c->node->inputs.items[input].length;
}

static int32_t tensor_at(call *c, int32_t input)
{
    if (!has_input(c, input)) cm__fail(c->im->ctx, CM_ERR_FORMAT, "it has no input %d", input);
    return cm__onnx_need(c->im, c->scope, c->node->inputs.items[input], "input");
}

/* A position in a sequence of `count` (or one past it for insertion); a negative one counts from the end. */
static int32_t position_at(call *c, int32_t input, int32_t count, int32_t otherwise)
{
    if (!has_input(c, input)) return otherwise;
    const cm_tensor *t = cm__t(c->im->g, tensor_at(c, input));
    if (!t->value || cm__is_float(t->dtype) || cm__small_count(t) != 1 || t->value->i.per_batch)
        cm__fail(c->im->ctx, CM_ERR_UNSUPPORTED, "a position in a sequence depends on data");
    int64_t at = t->value->i.fixed < 0 ? t->value->i.fixed + count : t->value->i.fixed;
    if (at < 0 || at > count)
        cm__fail(c->im->ctx, CM_ERR_FORMAT, "position %lld of a sequence of %d", (long long)at, count);
    return (int32_t)at;
}

static int32_t emit_axis(call *c, int op, cm__attr_key key, int64_t axis, const int32_t *inputs, int32_t n)
{
    cm__attr attr = CM__INTS(key, axis);
    return cm__emit(c->im->g, op, c->name, inputs, n, &attr, 1);
}

/* ---- operators -------------------------------------------------------------------------------------------------- */

/* Sizes of the parts: all 1; a given size, with a smaller last part; or a list. */
static int32_t part_sizes(call *c, const cm_tensor *x, int32_t axis, int64_t *sizes)
{
    cm_dim           whole = x->dims[axis];
    const cm_tensor *split = has_input(c, 1) ? cm__t(c->im->g, tensor_at(c, 1)) : NULL;
    if (whole.per_batch) cm__fail(c->im->ctx, CM_ERR_UNSUPPORTED, "the batch dimension is split into a sequence");
    if (split && (!split->value || cm__is_float(split->dtype) || cm__small_count(split) < 1))
        cm__fail(c->im->ctx, CM_ERR_UNSUPPORTED, "the sizes of the parts depend on data");
    int32_t count = 0;
    for (int64_t left = whole.fixed; left > 0; left -= sizes[count++]) {
        if (count == CM__VALUE_MAX)
            cm__fail(c->im->ctx, CM_ERR_LIMIT, "a sequence of more than %d tensors", CM__VALUE_MAX);
        bool listed = split && split->rank == 1 && count < cm__small_count(split);
        if (split && split->rank == 1 && !listed)
            cm__fail(c->im->ctx, CM_ERR_FORMAT, "the parts do not add up to %lld", (long long)whole.fixed);
        sizes[count] = !split ? 1 : split->value[listed ? count : 0].i.fixed;
        if (sizes[count] < 1) cm__fail(c->im->ctx, CM_ERR_FORMAT, "a part of size %lld", (long long)sizes[count]);
        if (sizes[count] > left) sizes[count] = left;
    }
    return count;
}

static void split_to_sequence(call *c)
{
    int64_t          sizes[CM__VALUE_MAX];
    int32_t          input = tensor_at(c, 0);
    const cm_tensor *x = cm__t(c->im->g, input);
    int32_t axis = cm__axis(c->im->g, cm__onnx_attribute_int(c->scope, c->node, "axis", 0), x->rank),
            count = part_sizes(c, x, axis, sizes);
    bool     squeeze = !has_input(c, 1) && !cm__onnx_attribute_int(c->scope, c->node, "keepdims", 1);
    cm__attr attrs[2] = {CM__INTS(CM_ATTR_AXIS, axis), {.key = CM_ATTR_SPLIT, .count = count, .ints = sizes}};
    const int32_t *parts = cm__emit_node(c->im->g, CM_OP_SPLIT, c->name, &input, 1, attrs, 2, count)->outputs;
    sequence      *s = sequence_new(c, count);
    for (int32_t i = 0; i < count; i++)
        s->items[i] = squeeze ? emit_axis(c, CM_OP_SQUEEZE, CM_ATTR_AXES, axis, &parts[i], 1) : parts[i];
}

static void sequence_construct(call *c)
{
    sequence *s = sequence_new(c, c->node->inputs.count);
    for (int32_t i = 0; i < s->count; i++) s->items[i] = tensor_at(c, i);
}

static void sequence_empty(call *c) { sequence_new(c, 0); }

static void sequence_get(call *c)
{
    sequence s = sequence_at(c, 0);
    int32_t  at = position_at(c, 1, s.count, 0);
    if (at >= s.count) cm__fail(c->im->ctx, CM_ERR_FORMAT, "position %d of a sequence of %d", at, s.count);
    if (c->node->outputs.count) cm__onnx_bind(c->im, c->scope, c->node->outputs.items[0], s.items[at]);
}

static void sequence_length(call *c)
{
    sequence s = sequence_at(c, 0);
    if (c->node->outputs.count)
        cm__onnx_bind(c->im, c->scope, c->node->outputs.items[0],
                      cm__constant_scalar(c->im->g, c->name, CM_INT64, s.count));
}

static void sequence_insert(call *c)
{
    sequence  old = sequence_at(c, 0);
    int32_t   at = position_at(c, 2, old.count, old.count), tensor = tensor_at(c, 1);
    sequence *s = sequence_new(c, old.count + 1);
    for (int32_t i = 0; i < s->count; i++) s->items[i] = i == at ? tensor : old.items[i < at ? i : i - 1];
}

static void sequence_erase(call *c)
{
    sequence old = sequence_at(c, 0);
    int32_t  at = position_at(c, 1, old.count, old.count - 1);
    if (at < 0 || at >= old.count)
        cm__fail(c->im->ctx, CM_ERR_FORMAT, "position %d of a sequence of %d", at, old.count);
    sequence *s = sequence_new(c, old.count - 1);
    for (int32_t i = 0; i < s->count; i++) s->items[i] = old.items[i < at ? i : i + 1];
}

static void concat_from_sequence(call *c)
{
    sequence s = sequence_at(c, 0);
    int64_t  axis = cm__onnx_attribute_int(c->scope, c->node, "axis", 0);
    bool     stack = cm__onnx_attribute_int(c->scope, c->node, "new_axis", 0) != 0;
    int32_t *items = cm__alloc_array(c->im->ctx, (size_t)s.count, sizeof *items);
    for (int32_t i = 0; i < s.count; i++)
        items[i] = stack ? emit_axis(c, CM_OP_UNSQUEEZE, CM_ATTR_AXES, axis, &s.items[i], 1) : s.items[i];
    int32_t whole = emit_axis(c, CM_OP_CONCAT, CM_ATTR_AXIS, axis, items, s.count);
    if (c->node->outputs.count) cm__onnx_bind(c->im, c->scope, c->node->outputs.items[0], whole);
}

static const struct {
    const char *op;
    void (*run)(call *c);
} operators[] = {
    {"SplitToSequence", split_to_sequence}, {"SequenceConstruct", sequence_construct},
    {"SequenceEmpty", sequence_empty},      {"SequenceAt", sequence_get},
    {"SequenceLength", sequence_length},    {"SequenceInsert", sequence_insert},
    {"SequenceErase", sequence_erase},      {"ConcatFromSequence", concat_from_sequence},
};

bool cm__onnx_sequence_run(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_node *node, const char *name)
{
    if (!cm__onnx_standard(node->domain) || node->op.length < 8) return false;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (!cm__span_is(node->op, operators[i].op)) continue;
        operators[i].run(&(call){.im = im, .scope = scope, .node = node, .name = name});
        return true;
    }
    return false;
}
