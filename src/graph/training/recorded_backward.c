/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_backward.c - the recorded backward of custom autograd functions, as part of a step's backward pass. */
#include "graph/rules/backward.h"

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
    cm__copy_value(b->g, constant, t);
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
