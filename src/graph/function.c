/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function.c - custom autograd functions of a recorded model.
 *
 * Their forward operators are nodes like all others. Their backward is a graph of its own, whose leaves are gradients
 * of the function's outputs and tensors saved in forward. It is copied into the step where backward reaches the
 * function. PyTorch runs it without autocast, so types follow from the operands; torch.compile traces it under the
 * autocast of forward (traced.c).
 */
#include "graph/function.h"

static int32_t *mapped(cm__ctx *ctx, const int32_t *list, int32_t count, const int32_t *map)
{
    int32_t *copy = cm__alloc_array(ctx, (size_t)count + 1, sizeof *copy);
    for (int32_t i = 0; i < count; i++) copy[i] = list[i] >= 0 ? map[list[i]] : list[i];
    return copy;
}

const cm__function *cm__functions_mapped(cm__ctx *ctx, const cm_graph *from, const int32_t *map)
{
    cm__function *copy = cm__alloc_array(ctx, (size_t)from->n_functions + 1, sizeof *copy);
    for (int32_t i = 0; i < from->n_functions; i++) {
        const cm__function *f = &from->functions[i];
        copy[i] = *f;
        copy[i].inputs = mapped(ctx, f->inputs, f->n_inputs, map);
        copy[i].outputs = mapped(ctx, f->outputs, f->n_outputs, map);
        if (f->backward) copy[i].leaf = mapped(ctx, f->leaf, f->backward->n_tensors, map);
    }
    return copy;
}

void cm__functions_need(const cm_graph *g, bool *needed)
{
    for (int32_t i = 0; i < g->n_functions; i++)
        for (int32_t t = 0; g->functions[i].backward && t < g->functions[i].backward->n_tensors; t++)
            if (g->functions[i].leaf[t] >= 0) needed[g->functions[i].leaf[t]] = true;
}

static void follow(const int32_t *list, int32_t count, int32_t from, int32_t to)
{
    for (int32_t i = 0; i < count; i++)
        if (list[i] == from) ((int32_t *)(uintptr_t)list)[i] = to;
}

void cm__functions_follow(const cm_graph *g, int32_t from, int32_t to)
{
    for (int32_t i = 0; i < g->n_functions; i++) {
        const cm__function *f = &g->functions[i];
        if (!f->backward) continue;
        follow(f->inputs, f->n_inputs, from, to);
        follow(f->leaf, f->backward->n_tensors, from, to);
    }
}

bool cm__is_function_output(const cm_graph *g, const cm_node *n, int32_t tensor)
{
    const cm__function *f = cm__in_function(g, n) ? &g->functions[n->function] : NULL;
    for (int32_t o = 0; f && o < f->n_outputs; o++)
        if (f->outputs[o] == tensor) return true;
    return false;
}

bool cm__in_function(const cm_graph *g, const cm_node *n)
{
    return n->function >= 0 && n->function < g->n_functions && g->functions[n->function].backward;
}

/* The function whose last node this is; NULL: none. */
static const cm__function *ends_at(const cm__backward *b, int32_t node)
{
    const cm_node *n = &b->g->nodes[node];
    bool last = node + 1 >= b->forward_nodes || b->g->nodes[node + 1].function != n->function;
    return cm__in_function(b->g, n) && last ? &b->g->functions[n->function] : NULL;
}

void cm__function_needs(cm__backward *b, int32_t node)
{
    const cm__function *f = ends_at(b, node);
    bool                any = false;
    for (int32_t i = 0; f && i < f->n_inputs; i++)
        any |= f->inputs[i] >= 0 && f->gradients[i] >= 0 && b->needs[f->inputs[i]];
    for (int32_t o = 0; f && o < f->n_outputs; o++)
        if (f->outputs[o] >= 0) b->needs[f->outputs[o]] = any && cm__is_float(cm__t(b->g, f->outputs[o])->dtype);
}

/* ---- copying ---------------------------------------------------------------------------------------------------- */

static int32_t zeros_like(cm__backward *b, int32_t tensor)
{
    const cm_tensor *t = cm__t(b->g, tensor);
    return cm__leaf(b->g, t->name, CM_ROLE_CONSTANT, t->dtype, t->rank, t->dims);
}

/* The tensor of the step for a leaf of the function's backward: PyTorch gives zeros for a gradient that is missing. */
static int32_t leaf_of(cm__backward *b, const cm__function *f, int32_t tensor)
{
    const cm_tensor *t = cm__t(f->backward, tensor);
    int32_t          from = f->leaf[tensor], output = from <= CM__OF_OUTPUT(0) ? CM__OF_OUTPUT(from) : -1;
    if (from >= 0) return cm__kept(b, from);
    if (output >= 0 && output < f->n_outputs && f->outputs[output] >= 0) {
        int32_t gradient = b->gradient[f->outputs[output]];
        return gradient >= 0 ? gradient : zeros_like(b, f->outputs[output]);
    }
    int32_t constant = cm__leaf(b->g, t->name, CM_ROLE_CONSTANT, t->dtype, t->rank, t->dims);
    cm__t(b->g, constant)->value = t->value;
    return constant;
}

static void copy_node(cm__backward *b, const cm__function *f, const cm_node *n, int32_t *map)
{
    int32_t *inputs = cm__alloc_array(b->g->ctx, (size_t)n->n_inputs + 1, sizeof *inputs), n_attrs = 0;
    for (int32_t i = 0; i < n->n_inputs; i++) {
        int32_t t = n->inputs[i];
        if (t >= 0 && map[t] < 0) map[t] = leaf_of(b, f, t);
        inputs[i] = t < 0 ? -1 : cm__operand_under_autocast(b, n, map[t]);
    }
    while (n->attrs[n_attrs].key < CM_ATTRS) n_attrs++;
    const cm_node *copy = cm__emit_node(b->g, n->op, n->name, inputs, n->n_inputs, n->attrs, n_attrs, n->n_outputs);
    for (int32_t o = 0; o < n->n_outputs; o++) {
        if (n->outputs[o] < 0) continue;
        map[n->outputs[o]] = copy->outputs[o];
        cm__t(b->g, copy->outputs[o])->role = CM_ROLE_GRADIENT;
    }
}

static bool is_reached(const cm__backward *b, const cm__function *f)
{
    for (int32_t o = 0; o < f->n_outputs; o++)
        if (f->outputs[o] >= 0 && b->gradient[f->outputs[o]] >= 0) return true;
    return false;
}

void cm__function_backward(cm__backward *b, int32_t node)
{
    const cm__function *f = ends_at(b, node);
    if (!f || !is_reached(b, f)) return;
    int32_t *map = cm__alloc_array(b->g->ctx, (size_t)f->backward->n_tensors + 1, sizeof *map);
    for (int32_t t = 0; t < f->backward->n_tensors; t++) map[t] = -1;
    b->g->origin = -1; /* these nodes are no gradients of one forward node */
    b->g->block = b->g->nodes[node].block;
    for (int32_t i = 0; i < f->backward->n_nodes; i++) copy_node(b, f, &f->backward->nodes[i], map);
    for (int32_t i = 0; i < f->n_inputs; i++) {
        int32_t gradient = f->gradients[i];
        if (gradient < 0 || f->inputs[i] < 0 || !b->needs[f->inputs[i]]) continue;
        if (map[gradient] < 0) map[gradient] = leaf_of(b, f, gradient);
        cm__give(b, &b->g->nodes[node], f->inputs[i], map[gradient]);
    }
}
