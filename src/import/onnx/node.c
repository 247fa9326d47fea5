/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - import one node: its operator, inputs, attributes and output names. */
#include "import/onnx/onnx.h"

#include <string.h>

#define INLINED_MAX 100000 /* nodes inlined from functions, branches and loops, plus values passed to them */
#define ATTRIBUTES_MAX 256

/* Operators that are not supported, and the reason. */
static const struct {
    const char *op, *why;
} refused[] = {
    {"SequenceMap", "sequence types"},         {"Optional", "optional types"},
    {"OptionalGetElement", "optional types"},  {"OptionalHasElement", "optional types"},
    {"NonZero", "the size of its output depends on data"},
    {"Unique", "the size of its output depends on data"},
    {"Compress", "the size of its output depends on data"},
    {"NonMaxSuppression", "the size of its output depends on data"},
    {"StringNormalizer", "strings"},           {"TfIdfVectorizer", "strings"},
    {"StringConcat", "strings"},               {"StringSplit", "strings"},
    {"RegexFullMatch", "strings"},
};

/* Operators of other domains with the same meaning as one of ours. */
static const struct {
    const char *domain, *op, *ours;
    int32_t     inputs; /* at most this many inputs */
} foreign[] = {
    {"com.microsoft", "Gelu", "Gelu", 1},
    {"com.microsoft", "FastGelu", "Gelu", 1},
    {"com.microsoft", "LayerNormalization", "LayerNormalization", 3},
    {"com.microsoft", "SimplifiedLayerNormalization", "SimplifiedLayerNormalization", 2},
};

/* ---- names ------------------------------------------------------------------------------------------------------ */

static const char *name_of(cm__onnx *im, const cm__onnx_scope *scope, const cm__onnx_node *node, int32_t index)
{
    const char *name = cm__onnx_text(im->ctx, node->name.length ? node->name : node->op);
    if (node->name.length && !*scope->prefix) return name;
    if (node->name.length) return cm__format(im->ctx, "%s%s", scope->prefix, name);
    return cm__format(im->ctx, "%s%s_%d", scope->prefix, name, index);
}

static char *put(char *at, char *end, cm__span text)
{
    for (size_t i = 0; i < text.length && at < end; i++)
        *at++ = text.text[i] >= ' ' && text.text[i] < 0x7f ? text.text[i] : '?';
    return at;
}

/* Same text as cm__place(), without printf, since it is written for every node. */
void cm__onnx_place(cm__onnx *im, const cm__onnx_node *node, int32_t index)
{
    char *at = im->ctx->place, *end = at + sizeof im->ctx->place - 1;
    im->ctx->place_format = NULL;
    if (node->name.length) {
        at = put(put(put(at, end, cm__span_of("node '")), end, node->name), end, cm__span_of("' ("));
    } else {
        cm__place(im->ctx, "node %d (", index);
        at += strlen(at);
    }
    *put(put(at, end, node->op), end, cm__span_of(")")) = 0;
}

int32_t cm__onnx_lookup(const cm__onnx_scope *scope, cm__span name)
{
    for (; scope; scope = scope->outer) {
        int32_t id = cm__map_get(&scope->names, name);
        if (id != -1) return id;
    }
    return -1;
}

int32_t cm__onnx_need(cm__onnx *im, const cm__onnx_scope *scope, cm__span name, const char *what)
{
    if (!name.length) return -1;
    int32_t id = cm__onnx_lookup(scope, name);
    if (id == -1)
        cm__fail(im->ctx, CM_ERR_FORMAT, "%s '%s' is written by no node, input or initializer", what,
                 cm__onnx_text(im->ctx, name));
    if (id <= CM__ONNX_SEQUENCE)
        cm__fail(im->ctx, CM_ERR_UNSUPPORTED, "%s '%s' is a sequence of tensors", what, cm__onnx_text(im->ctx, name));
    return id == CM__ONNX_ABSENT ? -1 : id;
}

void cm__onnx_bind(cm__onnx *im, cm__onnx_scope *scope, cm__span name, int32_t tensor)
{
    if (!name.length || tensor == -1) return;
    if (!cm__map_put(&scope->names, name, tensor))
        cm__fail(im->ctx, CM_ERR_FORMAT, "tensor '%s' is written twice", cm__onnx_text(im->ctx, name));
}

/* ---- the operator ----------------------------------------------------------------------------------------------- */

static int32_t foreign_op(cm__onnx *im, const cm__onnx_node *node)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (cm__span_is(node->domain, foreign[i].domain) && cm__span_is(node->op, foreign[i].op) &&
            node->inputs.count <= foreign[i].inputs)
            return cm__map_get(&im->ops, cm__span_of(foreign[i].ours));
    cm__fail(im->ctx, CM_ERR_UNSUPPORTED, "operator '%s' of domain '%s' is not supported",
             cm__onnx_text(im->ctx, node->op), cm__onnx_text(im->ctx, node->domain));
}

static int32_t op_of(cm__onnx *im, const cm__onnx_node *node)
{
    if (!cm__onnx_standard(node->domain)) return foreign_op(im, node);
    int32_t op = cm__map_get(&im->ops, node->op);
    if (op >= 0) return op;
    const char *name = cm__onnx_text(im->ctx, node->op);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (cm__span_is(node->op, refused[i].op))
            cm__fail(im->ctx, CM_ERR_UNSUPPORTED, "operator '%s' is not supported (%s)", name, refused[i].why);
    cm__fail(im->ctx, CM_ERR_UNSUPPORTED, "operator '%s' is not supported", name);
}

/* ---- inputs ----------------------------------------------------------------------------------------------------- */

#define EXTRA_INPUTS 1 /* a restored bias, scales that were an attribute */

static int32_t *inputs_of(cm__onnx *im, const cm__onnx_scope *scope, const cm__onnx_node *node, int32_t *n)
{
    int32_t *inputs = cm__alloc_array(im->ctx, (size_t)node->inputs.count + EXTRA_INPUTS, sizeof *inputs);
    *n = 0;
    for (int32_t i = 0; i < node->inputs.count; i++) {
        inputs[i] = cm__onnx_need(im, scope, node->inputs.items[i], "input");
        if (inputs[i] >= 0) *n = i + 1; /* trailing absent inputs do not count */
    }
    return inputs;
}

/* PyTorch's exporter drops biases that are zero during export: all biases of an untrained GPT-2. */
static void restore_bias(cm__onnx *im, const cm__onnx_scope *scope, const cm__onnx_node *node, int32_t *inputs,
                         int32_t *n)
{
    const cm__onnx_attribute *beta = cm__onnx_attribute_find(scope, node, "beta");
    if (!im->restore_bias || *n != 2 || !beta || beta->real != 1.0f) return;
    const cm_tensor *weight = cm__t(im->g, inputs[1]);
    if (weight->producer >= 0 || weight->role != CM_ROLE_BUFFER || weight->rank != 2) return;
    int32_t     columns = cm__onnx_attribute_int(scope, node, "transB", 0) ? 0 : 1;
    const char *end = strrchr(weight->name, '.');
    int         stem = end && strcmp(end, ".weight") == 0 ? (int)(end - weight->name) : (int)strlen(weight->name);
    const char *name = cm__format(im->ctx, "%.*s.bias", stem, weight->name);
    int32_t     bias = cm__map_get(&im->biases, cm__span_of(name)); /* a shared weight has a shared bias */
    if (bias < 0) bias = cm__leaf(im->g, name, CM_ROLE_BUFFER, weight->dtype, 1, &weight->dims[columns]);
    cm__map_put(&im->biases, cm__span_of(name), bias);
    inputs[(*n)++] = bias;
}

/* In opset 7, Upsample has its scales, a list of reals, as an attribute; later as input 1. */
static void scales_as_input(cm__onnx *im, const cm__onnx_scope *scope, const cm__onnx_node *node, int32_t *inputs,
                            int32_t *n)
{
    const cm__onnx_attribute *scales = cm__onnx_attribute_find(scope, node, "scales");
    if (*n == 1 && scales && scales->reals.count) inputs[(*n)++] = cm__onnx_reals(im, "scales", &scales->reals);
}

/* A file exported with a fixed batch N may contain N in the target shapes of its Reshapes. If the batch is symbolic,
   the first target dimension that N divides becomes B times the quotient. */
static void free_target(cm__onnx *im, int32_t *inputs, int32_t n)
{
    if (!im->fixed_batch || n != 2 || inputs[0] < 0) return;
    const cm_tensor *x = cm__t(im->g, inputs[0]), *target = cm__t(im->g, inputs[1]);
    if (!target->value || target->dtype <= CM_FP8 || target->rank != 1 || cm_tensor_elements(x).c[1] == 0) return;
    int32_t count = (int32_t)target->dims[0].fixed, first = -1;
    for (int32_t i = 0; i < count; i++) {
        cm_dim d = target->value[i].i;
        bool   copies_batch = cm__dim_is(d, 0) && i < x->rank && x->dims[i].per_batch;
        if (d.per_batch || copies_batch || (i == 0 && d.fixed < 0)) return; /* symbolic already */
        if (first < 0 && d.fixed > 0 && d.fixed % im->fixed_batch == 0) first = i;
    }
    if (first < 0) return;
    cm__num *value = cm__alloc_array(im->ctx, (size_t)count, sizeof *value);
    memcpy(value, target->value, (size_t)count * sizeof *value);
    value[first].i = (cm_dim){value[first].i.fixed / im->fixed_batch, 0};
    cm_dim length = target->dims[0];
    inputs[1] = cm__leaf(im->g, target->name, CM_ROLE_CONSTANT, target->dtype, 1, &length);
    cm__t(im->g, inputs[1])->value = value;
}

/* ---- the node --------------------------------------------------------------------------------------------------- */

static void bind_outputs(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_node *node, const cm_node *made)
{
    for (int32_t i = 0; i < node->outputs.count && i < made->n_outputs; i++) {
        if (!node->outputs.items[i].length || made->outputs[i] < 0) continue;
        cm__t(im->g, made->outputs[i])->name = cm__onnx_text(im->ctx, node->outputs.items[i]);
        cm__onnx_bind(im, scope, node->outputs.items[i], made->outputs[i]);
    }
}

static int32_t asked_outputs(const cm__onnx_node *node)
{
    int32_t n = node->outputs.count;
    while (n && !node->outputs.items[n - 1].length) n--;
    return n;
}

static void emit(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_node *node, const char *name)
{
    int32_t   n_inputs, n_attrs, op = op_of(im, node);
    int32_t  *inputs = inputs_of(im, scope, node, &n_inputs);
    cm__attr *attrs = cm__onnx_attributes_of(im, scope, node, &n_attrs);
    if (op == CM_OP_GEMM) restore_bias(im, scope, node, inputs, &n_inputs);
    if (op == CM_OP_UPSAMPLE) scales_as_input(im, scope, node, inputs, &n_inputs);
    if (op == CM_OP_RESHAPE) free_target(im, inputs, n_inputs);
    bind_outputs(im, scope, node,
                 cm__emit_node(im->g, op, name, inputs, n_inputs, attrs, n_attrs, asked_outputs(node)));
}

static void run_node(cm__onnx *im, cm__onnx_scope *scope, const cm__onnx_node *node, int32_t index)
{
    const char *name = name_of(im, scope, node, index);
    cm__onnx_place(im, node, index);
    if (node->attributes.count > ATTRIBUTES_MAX)
        cm__fail(im->ctx, CM_ERR_LIMIT, "more than %d attributes", ATTRIBUTES_MAX);
    if (cm__onnx_control(im, scope, node, name) || cm__onnx_sequence_run(im, scope, node, name)) return;
    if (cm__onnx_standard(node->domain) && cm__span_is(node->op, "Constant")) {
        if (!node->outputs.count) cm__fail(im->ctx, CM_ERR_FORMAT, "it has no output");
        name = cm__onnx_text(im->ctx, node->outputs.items[0]);
        cm__onnx_bind(im, scope, node->outputs.items[0], cm__onnx_constant(im, scope, node, name));
        return;
    }
    emit(im, scope, node, name);
}

void cm__onnx_spend(cm__onnx *im, int32_t count)
{
    if (count < INLINED_MAX && (im->inlined += count) < INLINED_MAX) return;
    cm__fail(im->ctx, CM_ERR_LIMIT, "functions, branches and loops come to more than %d nodes", INLINED_MAX);
}

void cm__onnx_run(cm__onnx *im, cm__onnx_scope *scope, cm__onnx_body *body)
{
    cm__onnx_sort(im, body);
    if (scope->caller) cm__onnx_spend(im, body->nodes.count + 1);
    for (int32_t i = 0; i < body->nodes.count; i++)
        run_node(im, scope, &body->nodes.items[body->order[i]], body->order[i]);
}
