/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune.c - a forward graph for fine-tuning: frozen parameters, quantised weights, and the adapters of LoRA.
 *
 * The pass copies a forward graph, so that every model that can be read can be fine-tuned, and everything after it
 * (precision, backward, memory, time, plans) needs no knowledge of fine-tuning beyond the mark of frozen parameters.
 *
 * LoRA (arXiv:2106.09685) as the PEFT library runs it: y = W x + (alpha / r) B A dropout(x), with A [r, in] and
 * B [out, r]. Frozen weights are stored in 16 bits, as the models are loaded; adapters follow the precision: fp32 under
 * autocast, 16 bits without. dtype=fp32 stores them in fp32 without autocast too, and casts around them;
 * dtype=weights stores them as the frozen weights are. rest=fp32 stores the other frozen weights (norms, embeddings,
 * head) in fp32.
 */
#include "graph/rewrite/tune.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "graph/function.h"
#include "graph/rule.h"

/* ---- copying ---------------------------------------------------------------------------------------------------- */

/* A module that is saved whole is trained as a copy in the type it was loaded in; the original stays in memory (PEFT's
   ModulesToSaveWrapper). */
static void keep_original(cm__tune *t, const cm_tensor *x, int32_t trained)
{
    cm__t(t->out, trained)->stored = t->o->wide_rest ? CM__STORED_WIDE : CM__STORED_NARROW;
    int32_t original = cm__leaf(t->out, cm__format(t->out->ctx, "%s.original", x->name), x->role, x->dtype, x->rank,
                                x->dims);
    cm__t(t->out, original)->frozen = true;
    cm__t(t->out, original)->stored = t->o->wide_rest ? CM__STORED_WIDE : CM__STORED_NARROW;
}

/* Weights in fp8 are not packed: products read them. */
static bool is_packed(const cm__tune *t, int32_t tensor)
{
    return t->quantised[tensor] && t->o->quantize != CM_QUANTIZE_FP8;
}

static int32_t copy_leaf(cm__tune *t, int32_t tensor)
{
    const cm_tensor *x = cm__t(t->in, tensor);
    int32_t          leaf = is_packed(t, tensor) ? cm__tune_pack(t, x)
                                                 : cm__leaf(t->out, x->name, x->role, x->dtype, x->rank, x->dims);
    cm_tensor       *y = cm__t(t->out, leaf);
    if (is_packed(t, tensor)) return leaf;
    y->value = x->value;
    y->converted = x->converted;
    y->like = x->like ? t->map[x->like - 1] + 1 : 0;
    y->frozen = t->frozen[tensor];
    if (y->frozen && (t->o->rank > 0 || t->o->quantize))
        y->stored = t->o->wide_rest && !t->inner[tensor] ? CM__STORED_WIDE : CM__STORED_NARROW;
    if (t->quantised[tensor]) y->stored = CM__STORED_FP8;
    if (x->role == CM_ROLE_PARAMETER && t->o->rank > 0 && !y->frozen) keep_original(t, x, leaf);
    return leaf;
}

static int32_t copied(cm__tune *t, int32_t tensor)
{
    if (tensor < 0) return -1;
    if (t->map[tensor] < 0) t->map[tensor] = copy_leaf(t, tensor);
    return is_packed(t, tensor) ? cm__tune_unpack(t, cm__t(t->in, tensor), t->map[tensor]) : t->map[tensor];
}

static void copy_outputs(cm__tune *t, const cm_node *from, const cm_node *to)
{
    for (int32_t o = 0; o < from->n_outputs; o++) {
        if (from->outputs[o] < 0) continue;
        const cm_tensor *x = cm__t(t->in, from->outputs[o]);
        cm_tensor       *y = cm__t(t->out, to->outputs[o]);
        t->map[from->outputs[o]] = to->outputs[o];
        y->name = cm__text_copy(t->out->ctx, x->name);
        y->dtype = x->dtype;
        y->role = x->role;
        y->converted = x->converted;
        y->like = x->like ? t->map[x->like - 1] + 1 : 0;
        if (!y->value) y->value = x->value;
    }
}

static const cm_node *copy_node(cm__tune *t, const cm_node *n)
{
    int32_t *inputs = cm__alloc_array(t->out->ctx, (size_t)n->n_inputs, sizeof *inputs), n_attrs = 0;
    t->out->block = n->block;
    t->out->segment = n->segment;
    t->out->function = n->function;
    t->out->plain = n->plain;
    t->out->outside = n->outside;
    for (int32_t i = 0; i < n->n_inputs; i++) inputs[i] = copied(t, n->inputs[i]);
    while (n->attrs[n_attrs].key < CM_ATTRS) n_attrs++;
    const cm_node *copy =
        cm__emit_node(t->out, n->op, n->name, inputs, n->n_inputs, n->attrs, n_attrs, n->n_outputs);
    copy_outputs(t, n, copy);
    return copy;
}

/* ---- adapters --------------------------------------------------------------------------------------------------- */

static int32_t adapter_weight(cm__tune *t, const char *name, const char *which, int64_t rows, int64_t columns)
{
    int32_t w = cm__parameter(t->out, cm__format(t->out->ctx, "%s.lora_%s.weight", name, which), 2,
                              (int64_t[]){rows, columns});
    if (t->o->wide || t->o->narrow) cm__t(t->out, w)->stored = t->o->wide ? CM__STORED_WIDE : CM__STORED_NARROW;
    return w;
}

static int32_t times(cm__tune *t, const char *name, int32_t x, int32_t weight)
{
    cm__attr transposed = CM__INTS(CM_ATTR_TRANS_B, 1);
    return cm__emit(t->out, CM_OP_GEMM, name, (int32_t[]){x, weight}, 2, &transposed, 1);
}

static int32_t cast(cm__tune *t, const char *name, int32_t x, cm_dtype dtype)
{
    return t->o->wide ? cm__emit_cast(t->out, name, x, dtype) : x;
}

static int64_t last_size(const cm_graph *g, int32_t tensor)
{
    const cm_tensor *x = cm__t(g, tensor);
    return x->rank ? x->dims[x->rank - 1].fixed : 0;
}

static void add_adapter(cm__tune *t, const cm_node *from, int32_t x, int32_t y)
{
    double      alpha = t->o->alpha > 0 ? t->o->alpha : 2.0 * t->o->rank;
    const char *name = cm__format(t->out->ctx, "%s.lora", from->name);
    int32_t     a = adapter_weight(t, from->name, "A", t->o->rank, last_size(t->out, x));
    int32_t     b = adapter_weight(t, from->name, "B", last_size(t->out, y), t->o->rank);
    int32_t     scale = cm__constant_scalar(t->out, "lora.scale", CM_FP32, alpha / t->o->rank);
    int32_t     z = cast(t, name, x, CM_FP32);
    cm__attr    ratio = CM__REAL(CM_ATTR_RATIO, t->o->dropout);
    if (t->o->dropout > 0) z = cm__emit(t->out, CM_OP_DROPOUT, name, &z, 1, &ratio, 1);
    z = times(t, name, times(t, name, z, a), b);
    z = cm__emit(t->out, CM_OP_MUL, name, (int32_t[]){z, scale}, 2, NULL, 0);
    z = cm__emit(t->out, CM_OP_ADD, name, (int32_t[]){y, z}, 2, NULL, 0);
    t->map[from->outputs[0]] = cast(t, name, z, CM_BF16);
}

/* ---- the whole graph -------------------------------------------------------------------------------------------- */

static cm_graph *like(cm__ctx *ctx, const cm_graph *in)
{
    cm_graph *g = cm__graph_new(ctx, in->name, in->source);
    g->description = in->description;
    g->citation = in->citation;
    g->nodes_read = in->nodes_read;
    g->own_loss = in->own_loss;
    g->layer_graphs = in->layer_graphs;
    g->expert_graphs = in->expert_graphs;
    g->channels_last = in->channels_last;
    g->omits_causal = in->omits_causal;
    g->omits_open = in->omits_open;
    g->typed = in->typed;
    g->as_exported = in->as_exported;
    g->bare_operator = in->bare_operator;
    g->optimizer = in->optimizer;
    g->precision = in->precision;
    g->loss = in->loss;
    g->refused = in->refused;
    g->refused_in = in->refused_in;
    for (int32_t i = 0; i < in->n_warnings; i++) cm__warn(g, "%s", in->warnings[i]);
    for (int32_t i = 0; i < in->n_unsupported; i++) cm__not_supported(g, in->unsupported[i]);
    return g;
}

static void copy_all(cm__tune *t)
{
    const cm_graph *in = t->in;
    for (int32_t i = 0; i < in->n_inputs; i++) copied(t, in->inputs[i]);
    for (int32_t i = 0; i < in->n_nodes; i++) {
        const cm_node *n = &in->nodes[i], *copy = copy_node(t, n);
        if (t->adapted[i]) add_adapter(t, n, copy->inputs[0], copy->outputs[0]);
    }
    t->out->block = t->out->segment = t->out->function = -1;
    t->out->plain = false;
    t->out->outside = CM__COMPILED;
    for (int32_t i = 0; i < in->n_tensors; i++) {
        int32_t until = cm__t(in, i)->until;
        if (until >= 0 && t->map[i] >= 0 && t->map[until] >= 0) cm__hold(t->out, t->map[i], t->map[until]);
    }
    for (int32_t i = 0; i < in->n_outputs; i++) cm__output(t->out, copied(t, in->outputs[i]));
    t->out->functions = cm__functions_mapped(t->out->ctx, in, t->map);
    t->out->n_functions = in->n_functions;
}

const cm_graph *cm__tuned(cm__ctx *ctx, const cm_graph *forward, const cm_tuning *tuning)
{
    if (tuning->rank <= 0 && !tuning->quantize && !tuning->freeze) return forward;
    cm__tune t = {.out = like(ctx, forward), .in = forward, .o = tuning};
    t.map = cm__alloc_array(ctx, (size_t)forward->n_tensors + 1, sizeof *t.map);
    t.adapted = cm__alloc_array(ctx, (size_t)forward->n_nodes + 1, sizeof *t.adapted);
    t.quantised = cm__alloc_array(ctx, (size_t)forward->n_tensors + 1, sizeof *t.quantised);
    t.inner = cm__alloc_array(ctx, (size_t)forward->n_tensors + 1, sizeof *t.inner);
    t.frozen = cm__alloc_array(ctx, (size_t)forward->n_tensors + 1, sizeof *t.frozen);
    for (int32_t i = 0; i < forward->n_tensors; i++) t.map[i] = -1;
    t.out->loaded_narrow = (tuning->rank > 0 || tuning->quantize) && !tuning->wide_rest;
    t.out->tuned = tuning->rank > 0;
    t.out->joined_adapters = tuning->joined || tuning->exempt;
    t.out->exempt_adapters = tuning->exempt;
    cm__graph_reserve(t.out, forward, 3);
    cm__tune_choose(&t);
    copy_all(&t);
    cm__lifetimes(t.out);
    return t.out;
}

/* ---- the option ------------------------------------------------------------------------------------------------- */

static bool set_lora(cm_tuning *t, cm__span key, cm__span value)
{
    int64_t n;
    if (cm__span_is(key, "r")) {
        if (!cm__parse_int(value, &n) || n < 1 || n > 1 << 16) return false;
        t->rank = (int32_t)n;
        return true;
    }
    if (cm__span_is(key, "alpha")) return cm__parse_real(value, &t->alpha) && t->alpha > 0;
    if (cm__span_is(key, "dropout")) return cm__parse_real(value, &t->dropout) && t->dropout >= 0 && t->dropout < 1;
    bool wide = cm__span_is(value, "fp32");
    if (cm__span_is(key, "fsdp")) {
        t->joined = cm__span_is(value, "layer");
        t->exempt = cm__span_is(value, "exempt");
        return t->joined || t->exempt || cm__span_is(value, "adapter");
    }
    if (cm__span_is(key, "dtype")) {
        t->wide = wide;
        t->narrow = cm__span_is(value, "weights");
        return wide || t->narrow || cm__span_is(value, "auto");
    }
    if (cm__span_is(key, "rest")) {
        t->wide_rest = wide;
        return wide || cm__span_is(value, "auto");
    }
    bool  saved = cm__span_is(key, "save");
    char *names = saved ? t->save : t->targets; /* of the same size */
    if ((!saved && !cm__span_is(key, "targets")) || !value.length || value.length >= sizeof t->targets) return false;
    memcpy(names, value.text, value.length);
    names[value.length] = '\0';
    return true;
}

cm_status cm_lora_parse(const char *text, cm_tuning *tuning, cm_diag *diag)
{
    cm_tuning t = {.quantize = tuning->quantize, .freeze = tuning->freeze};
    for (const char *p = text; *p;) {
        size_t   length = strcspn(p, ","), equals = strcspn(p, "=,");
        cm__span key = {p, equals}, value = {p + equals + 1, equals < length ? length - equals - 1 : 0};
        if (equals >= length || !set_lora(&t, key, value))
            return cm__diag_set(diag, CM_ERR_ARGUMENT, "'%.*s' is none of r=N, alpha=X, targets=NAMES, dropout=X, "
                                "dtype=auto|fp32|weights, rest=auto|fp32, fsdp=adapter|layer|exempt, save=NAMES",
                                (int)(length > 64 ? 64 : length), p);
        p += length + (p[length] == ',');
    }
    if (t.rank <= 0) return cm__diag_set(diag, CM_ERR_ARGUMENT, "no rank given: r=16");
    *tuning = t;
    return CM_OK;
}
