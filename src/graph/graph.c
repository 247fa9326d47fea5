/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - build and query a graph: leaves, nodes, pruning, lifetimes, totals. */
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>
#include "graph/function.h"
#include "graph/rule.h"

#define FIRST_TENSORS 512 /* room at first: enough for most networks' forward pass */
#define FIRST_NODES 256
#define EXTRA_OUTPUTS 8 /* outputs that a shape rule may add: statistics, masks, scores */

cm_graph *cm__graph_new(cm__ctx *ctx, const char *name, const char *source)
{
    cm_graph *g = cm__alloc(ctx, sizeof *g);
    g->ctx = ctx;
    g->name = cm__text_copy(ctx, name);
    g->source = source;
    g->block = g->segment = g->function = g->origin = -1;
    return g;
}

void cm_graph_free(cm_graph *graph)
{
    if (graph) cm__ctx_free(graph->ctx);
}

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

#define TENSOR_BATCH_DIMS_MAX 2 /* costs are cubic in the batch size at most: cm_poly */
#define TENSOR_ELEMENTS_MAX 9007199254740992.0 /* 2^53: exact in a double */

static void check_dims(cm_graph *g, const char *name, int32_t rank, const cm_dim *dims)
{
    if (rank < 0 || rank > CM__RANK_MAX)
        cm__fail(g->ctx, CM_ERR_LIMIT, "tensor '%s' has %d dimensions, at most %d are supported", name, rank,
                 CM__RANK_MAX);
    int    batch_dims = 0;
    double elements = 1;
    for (int32_t i = 0; i < rank; i++) {
        cm_dim d = dims[i];
        if (d.per_batch < 0 || (d.fixed < 0 && d.per_batch == 0) || d.fixed < -CM__DIM_MAX)
            cm__fail(g->ctx, CM_ERR_FORMAT, "tensor '%s': dimension %d is negative", name, i);
        if (d.per_batch > CM__DIM_MAX || d.fixed > CM__DIM_MAX)
            cm__fail(g->ctx, CM_ERR_LIMIT, "tensor '%s': dimension %d is above 2^40", name, i);
        batch_dims += d.per_batch != 0;
        elements *= (double)d.per_batch + (double)d.fixed;
    }
    if (batch_dims > TENSOR_BATCH_DIMS_MAX)
        cm__fail(g->ctx, CM_ERR_UNSUPPORTED, "tensor '%s' grows with the batch size in %d dimensions", name,
                 batch_dims);
    if (elements > TENSOR_ELEMENTS_MAX) cm__fail(g->ctx, CM_ERR_LIMIT, "tensor '%s' has more than 2^53 elements", name);
}

void cm__graph_reserve(cm_graph *g, const cm_graph *other, int32_t times)
{
    if (g->cap_nodes || g->cap_tensors || other->n_nodes > INT32_MAX / times || other->n_tensors > INT32_MAX / times)
        return;
    g->cap_nodes = other->n_nodes * times;
    g->cap_tensors = other->n_tensors * times;
    g->nodes = cm__alloc_unset(g->ctx, (size_t)g->cap_nodes, sizeof *g->nodes);
    g->tensors = cm__alloc_unset(g->ctx, (size_t)g->cap_tensors, sizeof *g->tensors);
}

static int32_t tensor_new(cm_graph *g, const char *name, cm_role role, cm_dtype dtype, int32_t rank, const cm_dim *dims)
{
    check_dims(g, name, rank, dims);
    g->tensors = cm__grow_unset(g->ctx, g->tensors, g->n_tensors, &g->cap_tensors, sizeof *g->tensors, FIRST_TENSORS);
    cm_dim *copy = cm__alloc_array(g->ctx, (size_t)rank, sizeof *copy);
    if (rank) memcpy(copy, dims, (size_t)rank * sizeof *copy);
    int32_t id = g->n_tensors++;
    g->tensors[id] = (cm_tensor){.name = name, .dims = copy, .rank = rank, .dtype = dtype, .role = role,
                                 .producer = -1, .storage = id, .born = -1, .dies = -1,
                                 .until = -1};
    return id;
}

int32_t cm__leaf(cm_graph *g, const char *name, cm_role role, cm_dtype dtype, int32_t rank, const cm_dim *dims)
{
    int32_t id = tensor_new(g, cm__text_copy(g->ctx, name), role, dtype, rank, dims);
    if (role == CM_ROLE_INPUT) {
        g->inputs = cm__grow(g->ctx, g->inputs, g->n_inputs, &g->cap_inputs, sizeof *g->inputs);
        g->inputs[g->n_inputs++] = id;
    }
    return id;
}

int32_t cm__parameter(cm_graph *g, const char *name, int32_t rank, const int64_t *dims)
{
    cm_dim d[CM__RANK_MAX];
    if (rank > CM__RANK_MAX) cm__fail(g->ctx, CM_ERR_LIMIT, "parameter '%s' has %d dimensions", name, rank);
    for (int32_t i = 0; i < rank; i++) d[i] = cm__fixed(dims[i]);
    return cm__leaf(g, name, CM_ROLE_PARAMETER, CM_FP32, rank, d);
}

void cm__copy_value(cm_graph *g, int32_t tensor, const cm_tensor *from)
{
    int64_t  count = cm__small_count(from);
    cm__num *copy = from->value && count > 0 ? cm__alloc_array(g->ctx, (size_t)count, sizeof *copy) : NULL;
    if (copy) memcpy(copy, from->value, (size_t)count * sizeof *copy);
    cm__t(g, tensor)->value = copy;
}

int32_t cm__constant_ints(cm_graph *g, const char *name, int32_t count, const int64_t *values)
{
    cm_dim   d = cm__fixed(count);
    int32_t  id = cm__leaf(g, name, CM_ROLE_CONSTANT, CM_INT64, 1, &d);
    cm__num *contents = cm__alloc_array(g->ctx, (size_t)count, sizeof *contents);
    for (int32_t i = 0; i < count; i++) contents[i].i = cm__fixed(values[i]);
    cm__t(g, id)->value = contents;
    return id;
}

int32_t cm__constant_scalar(cm_graph *g, const char *name, cm_dtype dtype, double value)
{
    int32_t  id = cm__leaf(g, name, CM_ROLE_CONSTANT, dtype, 0, NULL);
    cm__num *contents = cm__alloc(g->ctx, sizeof *contents);
    if (dtype <= CM_FP8) contents->f = value;
    else contents->i = cm__fixed((int64_t)value);
    cm__t(g, id)->value = contents;
    return id;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

static const cm__attr *copy_attrs(cm__ctx *ctx, const cm__attr *attrs, int32_t n)
{
    cm__attr *copy = cm__alloc_array(ctx, (size_t)n + 1, sizeof *copy);
    for (int32_t i = 0; i < n; i++) {
        copy[i] = attrs[i];
        if (attrs[i].count <= 0) continue;
        int64_t *ints = cm__alloc_array(ctx, (size_t)attrs[i].count, sizeof *ints);
        memcpy(ints, attrs[i].ints, (size_t)attrs[i].count * sizeof *ints);
        copy[i].ints = ints;
    }
    copy[n].key = CM_ATTRS; /* ends the list */
    return copy;
}

void cm__attr_add(cm__ctx *ctx, cm_node *node, cm__attr attr)
{
    int32_t count = 0;
    while (node->attrs[count].key < CM_ATTRS) count++;
    cm__attr *longer = cm__alloc_array(ctx, (size_t)count + 1, sizeof *longer);
    memcpy(longer, node->attrs, (size_t)count * sizeof *longer);
    longer[count] = attr;
    node->attrs = copy_attrs(ctx, longer, count + 1);
}

static void check_inputs(cm_graph *g, const cm__op *op, const int32_t *inputs, int32_t n)
{
    if (n < op->min_inputs || (op->max_inputs >= 0 && n > op->max_inputs))
        cm__fail(g->ctx, CM_ERR_FORMAT, "%s with %d inputs, expected %d%s", op->name, n, op->min_inputs,
                 op->max_inputs == op->min_inputs ? "" : op->max_inputs < 0 ? " or more" : " at least and fewer");
    for (int32_t i = 0; i < n; i++) {
        if (inputs[i] < -1 || inputs[i] >= g->n_tensors) cm__fail(g->ctx, CM_ERR_FORMAT, "input %d does not exist", i);
        if (inputs[i] < 0 && i < op->min_inputs)
            cm__fail(g->ctx, CM_ERR_FORMAT, "%s without its input %d", op->name, i);
    }
}

cm_node *cm__emit_node(cm_graph *g, int op, const char *name, const int32_t *inputs, int32_t n, const cm__attr *attrs,
                       int32_t n_attrs, int32_t n_outputs)
{
    const cm__op *row = &cm__ops[op];
    check_inputs(g, row, inputs, n);
    if (n_outputs > CM__VALUE_MAX) cm__fail(g->ctx, CM_ERR_LIMIT, "%s with %d outputs", row->name, n_outputs);
    g->nodes = cm__grow_unset(g->ctx, g->nodes, g->n_nodes, &g->cap_nodes, sizeof *g->nodes, FIRST_NODES);
    cm_node *node = &g->nodes[g->n_nodes];
    int32_t *ins = cm__alloc_array(g->ctx, (size_t)n, sizeof *ins);
    int32_t *outs = cm__alloc_array(g->ctx, (size_t)n_outputs + EXTRA_OUTPUTS, sizeof *outs);
    if (n) memcpy(ins, inputs, (size_t)n * sizeof *ins);
    for (int32_t i = 0; i < n_outputs + EXTRA_OUTPUTS; i++) outs[i] = -1;
    *node = (cm_node){.name = cm__text_copy(g->ctx, name ? name : row->name), .inputs = ins, .outputs = outs,
                      .n_inputs = n, .n_outputs = n_outputs, .op = (int16_t)op, .phase = (uint8_t)g->phase,
                      .view = row->view, .source = g->origin, .block = g->block, .segment = g->segment,
                      .function = g->function, .plain = g->plain, .outside = g->outside,
                      .attrs = copy_attrs(g->ctx, attrs, n_attrs)};
    g->n_nodes++;
    row->shape(g, node);
    if (row->fold) row->fold(g, node);
    return node;
}

int32_t cm__emit(cm_graph *g, int op, const char *name, const int32_t *inputs, int32_t n, const cm__attr *attrs,
                 int32_t n_attrs)
{
    return cm__emit_node(g, op, name, inputs, n, attrs, n_attrs, 0)->outputs[0];
}

int32_t cm__emit_cast(cm_graph *g, const char *name, int32_t tensor, cm_dtype to)
{
    const cm__attr type = CM__INTS(CM_ATTR_TO, to);
    return cm__emit(g, CM_OP_CAST, name, &tensor, 1, &type, 1);
}

cm_node *cm__last(cm_graph *g) { return &g->nodes[g->n_nodes - 1]; }

/* "name", "name:1", "name:2" ... */
static const char *output_name(cm_graph *g, const cm_node *node, int32_t index)
{
    const char digit[] = {':', (char)('0' + index % 10), 0};
    if (!index) return node->name;
    return index < 10 ? cm__text_join(g->ctx, node->name, digit) : cm__format(g->ctx, "%s:%d", node->name, index);
}

void cm__set_output(cm_graph *g, cm_node *node, int32_t index, cm_dtype dtype, int32_t rank, const cm_dim *dims)
{
    int32_t id = tensor_new(g, output_name(g, node, index), CM_ROLE_ACTIVATION, dtype, rank, dims);
    cm_tensor *t = cm__t(g, id);
    t->producer = (int32_t)(node - g->nodes);
    if (node->view) t->storage = cm__t(g, node->inputs[0])->storage;
    ((int32_t *)node->outputs)[index] = id;
    if (index >= node->n_outputs) node->n_outputs = index + 1;
}

void cm__output(cm_graph *g, int32_t tensor)
{
    g->outputs = cm__grow(g->ctx, g->outputs, g->n_outputs, &g->cap_outputs, sizeof *g->outputs);
    g->outputs[g->n_outputs++] = tensor;
}

static void remember(cm_graph *g, const char ***list, int32_t *count, int32_t *capacity, const char *text)
{
    for (int32_t i = 0; i < *count; i++)
        if (strcmp((*list)[i], text) == 0) return;
    *list = cm__grow(g->ctx, *list, *count, capacity, sizeof **list);
    (*list)[(*count)++] = cm__text_copy(g->ctx, text);
}

void cm__warn(cm_graph *g, const char *format, ...)
{
    char    text[2048]; /* a list of all keys of a configuration fits */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    remember(g, &g->warnings, &g->n_warnings, &g->cap_warnings, text);
}

void cm__not_supported(cm_graph *g, const char *what)
{
    remember(g, &g->unsupported, &g->n_unsupported, &g->cap_unsupported, what);
}

/* ---- pruning ---------------------------------------------------------------------------------------------------- */

static bool wanted(const cm_graph *g, const cm_node *n, const bool *needed)
{
    bool known = true, used = false;
    for (int32_t o = 0; o < n->n_outputs; o++) {
        if (n->outputs[o] < 0) continue;
        used |= needed[n->outputs[o]];
        known &= cm__t(g, n->outputs[o])->value != NULL || !needed[n->outputs[o]];
    }
    return n->phase == CM_UPDATE || (n->phase == CM_RECOMPUTE && g->asked.whole_layers) || (used && !known);
}

/* A tensor whose contents are known and whose node was removed becomes a constant. */
static void make_constants(cm_graph *g, const cm_node *n)
{
    for (int32_t o = 0; o < n->n_outputs; o++) {
        if (n->outputs[o] < 0) continue;
        cm_tensor *t = cm__t(g, n->outputs[o]);
        t->role = CM_ROLE_CONSTANT;
        t->producer = -1;
        t->storage = n->outputs[o];
    }
}

static void renumber(cm_graph *g, int32_t i, const int32_t *new_index)
{
    cm_node *n = &g->nodes[i];
    if (n->source >= 0) n->source = new_index[n->source];
    for (int32_t o = 0; o < n->n_outputs; o++)
        if (n->outputs[o] >= 0) cm__t(g, n->outputs[o])->producer = i;
}

/* The nodes that outputs depend on. */
static bool *nodes_to_keep(const cm_graph *g)
{
    bool *needed = cm__alloc_array(g->ctx, (size_t)g->n_tensors, sizeof *needed);
    bool *keep = cm__alloc_array(g->ctx, (size_t)g->n_nodes, sizeof *keep);
    for (int32_t i = 0; i < g->n_outputs; i++) needed[g->outputs[i]] = true;
    cm__functions_need(g, needed);
    for (int32_t i = g->n_nodes - 1; i >= 0; i--) {
        const cm_node *n = &g->nodes[i];
        keep[i] = wanted(g, n, needed);
        for (int32_t k = 0; keep[i] && k < n->n_inputs; k++)
            if (n->inputs[k] >= 0) needed[n->inputs[k]] = true;
    }
    return keep;
}

static bool multiplies(const cm_node *n)
{
    cm_class kind = cm__class(n);
    return kind == CM_CLASS_GEMM || kind == CM_CLASS_CONV || kind == CM_CLASS_ATTENTION;
}

/* Autograd stores what the other operators read. */
static bool stores_nothing(const cm_node *n)
{
    return n->op == CM_OP_ADD || n->op == CM_OP_SUB || cm__class(n) == CM_CLASS_MOVEMENT;
}

static int32_t later(const cm_graph *g, int32_t a, int32_t b)
{
    if (a < 0 || b < 0) return a < 0 ? b : a;
    return cm__t(g, a)->producer >= cm__t(g, b)->producer ? a : b;
}

/* Per node that leads to no output, the tensor that is made last before autograd releases what the node stored: when
   the program releases its result, and autograd all functions that read this (a gradient function references those of
   its inputs, torch/csrc/autograd/function.h). `last`: of results that the program does not release in forward. */
static const int32_t *releases(const cm_graph *g, const bool *keep, int32_t last)
{
    int32_t *of_node = cm__alloc_array(g->ctx, (size_t)g->n_nodes, sizeof *of_node);
    int32_t *of_readers = cm__alloc_unset(g->ctx, (size_t)g->n_tensors, sizeof *of_readers);
    for (int32_t t = 0; t < g->n_tensors; t++) of_readers[t] = -1;
    for (int32_t i = g->n_nodes - 1; i >= 0; i--) {
        const cm_node *n = &g->nodes[i];
        int32_t        end = -1;
        for (int32_t o = 0; !keep[i] && o < n->n_outputs; o++) {
            int32_t y = n->outputs[o];
            if (y >= 0) end = later(g, later(g, end, cm__t(g, y)->until), of_readers[y]);
        }
        of_node[i] = end < 0 ? last : end;
        for (int32_t k = 0; !keep[i] && k < n->n_inputs; k++)
            if (n->inputs[k] >= 0) of_readers[n->inputs[k]] = later(g, of_readers[n->inputs[k]], of_node[i]);
    }
    return of_node;
}

void cm__keep_unused(cm_graph *g)
{
    bool *keep = nodes_to_keep(g), *work = cm__alloc_array(g->ctx, (size_t)g->n_tensors, sizeof *work),
         *read = cm__alloc_array(g->ctx, (size_t)g->n_tensors, sizeof *read);
    const int32_t *release = releases(g, keep, g->outputs[0]);
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        bool           works = !keep[i] && multiplies(n);
        for (int32_t k = 0; k < n->n_inputs; k++) {
            if (n->inputs[k] < 0) continue;
            works |= !keep[i] && work[n->inputs[k]];
            read[n->inputs[k]] = true;
        }
        for (int32_t o = 0; works && o < n->n_outputs; o++)
            if (n->outputs[o] >= 0) work[n->outputs[o]] = true;
        for (int32_t k = 0; works && !stores_nothing(n) && k < n->n_inputs; k++)
            if (n->inputs[k] >= 0) cm__hold(g, n->inputs[k], release[i]);
    }
    for (int32_t i = 0; i < g->n_nodes; i++) {
        int32_t y = !keep[i] && g->nodes[i].n_outputs ? g->nodes[i].outputs[0] : -1;
        if (y >= 0 && work[y] && !read[y]) cm__output(g, y);
    }
}

void cm__prune(cm_graph *g)
{
    const bool *keep = nodes_to_keep(g);
    int32_t *new_index = cm__alloc_array(g->ctx, (size_t)g->n_nodes, sizeof *new_index), kept = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        new_index[i] = keep[i] ? kept : -1;
        if (!keep[i]) make_constants(g, &g->nodes[i]);
        else g->nodes[kept++] = g->nodes[i];
    }
    g->n_nodes = kept;
    for (int32_t i = 0; i < kept; i++) renumber(g, i, new_index);
}

/* ---- lifetimes -------------------------------------------------------------------------------------------------- */

/* A training loop keeps its batch in memory until the next one. */
static bool outlives_step(cm_role role)
{
    return role == CM_ROLE_INPUT || role == CM_ROLE_PARAMETER || role == CM_ROLE_BUFFER || role == CM_ROLE_STATE ||
           role == CM_ROLE_CONSTANT;
}

cm_poly *cm__alive_bytes(cm__ctx *ctx, const cm_graph *g)
{
    cm_poly *alive = cm__alloc_array(ctx, (size_t)g->n_nodes + 2, sizeof *alive);
    for (int32_t t = 0; t < g->n_tensors; t++) {
        const cm_tensor *x = &g->tensors[t];
        bool             unused = x->dies < 0 || (x->producer >= 0 && x->born < 0);
        if (x->storage != t || unused || x->role == CM_ROLE_CONSTANT) continue;
        int32_t begin = x->born < 0 ? 0 : x->born, end = x->dies < g->n_nodes ? x->dies + 1 : g->n_nodes;
        cm_poly bytes = cm_tensor_bytes(x);
        alive[begin] = cm__poly_add(alive[begin], bytes);
        alive[end] = cm__poly_add(alive[end], cm__poly_scale(bytes, -1));
    }
    for (int32_t i = 1; i < g->n_nodes; i++) alive[i] = cm__poly_add(alive[i], alive[i - 1]);
    return alive;
}

void cm__hold(cm_graph *g, int32_t tensor, int32_t until)
{
    cm_tensor *t = cm__t(g, tensor);
    if (t->until < 0 || cm__t(g, until)->producer > cm__t(g, t->until)->producer) t->until = until;
}

static void keep_variables(cm_graph *g)
{
    for (int32_t t = 0; t < g->n_tensors; t++) {
        cm_tensor *base = cm__t(g, g->tensors[t].storage);
        int32_t    last = g->tensors[t].until < 0 ? -1 : cm__t(g, g->tensors[t].until)->producer;
        if (base->born >= 0 && last > base->dies) base->dies = last;
    }
}

/* A storage lives from the node that first writes it to the last node that reads or writes it or a view of it, or
   until the program releases it. */
void cm__lifetimes(cm_graph *g)
{
    for (int32_t t = 0; t < g->n_tensors; t++) g->tensors[t].born = g->tensors[t].dies = -1;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        for (int32_t k = 0; k < n->n_inputs; k++)
            if (n->inputs[k] >= 0) cm__t(g, cm__t(g, n->inputs[k])->storage)->dies = i;
        for (int32_t o = 0; o < n->n_outputs; o++) {
            if (n->outputs[o] < 0) continue;
            cm_tensor *base = cm__t(g, cm__t(g, n->outputs[o])->storage);
            if (base->producer == i && base->born < 0) base->born = i;
            base->dies = i;
        }
    }
    keep_variables(g);
    if (g->asked.settled.keep_products) cm__hold_products(g);
    for (int32_t i = g->drops_logits ? g->n_outputs - 1 : 0; i < g->n_outputs; i++) /* the loss is the last output */
        cm__t(g, cm__t(g, g->outputs[i])->storage)->dies = g->n_nodes;
    for (int32_t t = 0; t < g->n_tensors; t++) {
        if (outlives_step(g->tensors[t].role)) g->tensors[t].dies = g->n_nodes;
        const cm_tensor *base = cm__t(g, g->tensors[t].storage);
        g->tensors[t].born = base->born;
        if (base != &g->tensors[t]) g->tensors[t].dies = base->dies;
    }
    g->facts.known = false;
    g->facts = cm__facts_of(g);
    g->part = NULL;
    g->part = cm__part_map(g->ctx, g);
}

void cm__finish(cm_graph *g, cm_fuse what)
{
    cm__check(g);
    if (what != CM_FUSE_NONE) cm__fuse(g, what);
    cm__prune(g);
    cm__layout(g);
    cm__cost_all(g);
    cm__lifetimes(g);
    cm__review(g);
}
