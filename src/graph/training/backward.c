/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backward.c - the backward pass: which tensors need a gradient, the order in which gradient rules run, the summation
 * of gradients, and recomputation.
 *
 * Recomputation: the nodes of one group (recompute_groups.c) are emitted again, in order, the first time backward reads
 * one of their outputs. Recomputed tensors that no later node reads are pruned afterwards.
 */
#include "graph/rules/backward.h"
#include "graph/function.h"
#include "graph/training/train.h"

bool cm__wants(const cm__backward *b, const cm_node *n, int32_t input)
{
    return cm__has(n, input) && b->needs[n->inputs[input]];
}

int32_t cm__gradient_of_output(const cm__backward *b, const cm_node *n, int32_t output)
{
    return output < n->n_outputs && n->outputs[output] >= 0 ? b->gradient[n->outputs[output]] : -1;
}

/* ---- emitting --------------------------------------------------------------------------------------------------- */

static cm_dtype gradient_type(cm_dtype dtype) { return dtype == CM_FP8 ? CM_BF16 : dtype; }

int32_t cm__back(cm__backward *b, const cm_node *n, int op, int32_t like, const int32_t *inputs, int32_t count)
{
    cm_graph *g = b->g;
    cm_node  *node = cm__emit_node(g, op, n->name, inputs, count, NULL, 0, 0);
    const cm_tensor *t = cm__t(g, like);
    cm__set_output(g, node, 0, gradient_type(t->dtype), t->rank, t->dims);
    cm__t(g, node->outputs[0])->role = CM_ROLE_GRADIENT;
    return node->outputs[0];
}

static int32_t summed_to(cm__backward *b, const cm_node *n, int32_t tensor, int32_t gradient)
{
    const cm_tensor *t = cm__t(b->g, tensor), *d = cm__t(b->g, gradient);
    bool             same = t->rank == d->rank;
    for (int32_t i = 0; same && i < t->rank; i++) same = cm__dim_same(t->dims[i], d->dims[i]);
    if (same) return gradient;
    cm_poly have = cm_tensor_elements(d), want = cm_tensor_elements(t);
    bool    view = true;
    for (int i = 0; i < CM_POLY_TERMS; i++) view &= have.c[i] == want.c[i];
    int32_t result = cm__back(b, n, view ? CM_OP_VIEW : CM_OP_SUM_TO, tensor, &gradient, 1);
    cm__t(b->g, result)->dtype = d->dtype;
    return result;
}

static int32_t cast_to(cm__backward *b, const cm_node *n, cm_dtype dtype, int32_t gradient)
{
    if (cm__t(b->g, gradient)->dtype == dtype) return gradient;
    int32_t cast = cm__emit_cast(b->g, n->name, gradient, dtype);
    cm__t(b->g, cast)->role = CM_ROLE_GRADIENT;
    return cast;
}

void cm__give(cm__backward *b, const cm_node *n, int32_t tensor, int32_t gradient)
{
    gradient = summed_to(b, n, tensor, gradient);
    gradient = cast_to(b, n, gradient_type(cm__t(b->g, tensor)->dtype), gradient);
    int32_t *total = &b->gradient[tensor];
    if (*total >= 0) {
        gradient = cm__emit(b->g, CM_OP_ADD, cm__t(b->g, tensor)->name, (int32_t[]){*total, gradient}, 2, NULL, 0);
        cm__t(b->g, gradient)->role = CM_ROLE_GRADIENT;
    }
    *total = gradient;
}

/* ---- recomputation ---------------------------------------------------------------------------------------------- */

static int32_t copied(const cm__backward *b, int32_t tensor)
{
    return tensor >= 0 && tensor < b->forward_tensors && b->copy[tensor] >= 0 ? b->copy[tensor] : tensor;
}

static void replay_node(cm__backward *b, int32_t index)
{
    cm_graph      *g = b->g;
    const cm_node *n = &g->nodes[index];
    int32_t       *inputs = cm__alloc_array(g->ctx, (size_t)n->n_inputs, sizeof *inputs), n_attrs = 0;
    for (int32_t i = 0; i < n->n_inputs; i++) inputs[i] = copied(b, n->inputs[i]);
    while (n->attrs[n_attrs].key < CM_ATTRS) n_attrs++;
    g->origin = index;
    g->block = n->block;
    const cm_node *again = cm__emit_node(g, n->op, n->name, inputs, n->n_inputs, n->attrs, n_attrs, n->n_outputs);
    for (int32_t o = 0; o < n->n_outputs; o++) {
        if (n->outputs[o] < 0 || again->outputs[o] < 0) continue;
        cm__t(g, again->outputs[o])->role = cm__t(g, n->outputs[o])->role;
        cm__t(g, again->outputs[o])->dtype = cm__t(g, n->outputs[o])->dtype;
        if (b->copy[n->outputs[o]] < 0) b->copy[n->outputs[o]] = again->outputs[o]; /* group inputs stay */
    }
}

static void replay(cm__backward *b, int32_t group)
{
    int32_t origin = b->g->origin, block = b->g->block;
    b->g->phase = CM_RECOMPUTE;
    for (int32_t i = b->first_of_group[group]; i >= 0; i = b->next_in_group[i]) replay_node(b, i);
    b->g->phase = CM_BACKWARD;
    b->g->origin = origin;
    b->g->block = block;
}

/* A quantised weight is not kept in 16 bits: each product that reads it unpacks it again. */
static bool is_unpacked(const cm__backward *b, int32_t tensor)
{
    int32_t from = cm__t(b->g, tensor)->producer;
    while (from >= 0 && b->g->nodes[from].view) from = cm__t(b->g, b->g->nodes[from].inputs[0])->producer;
    return from >= 0 && b->g->nodes[from].op == CM_OP_UNPACK && !cm__unpacks_by_operators(b->g, &b->g->nodes[from]);
}

static int32_t unpack_again(cm__backward *b, int32_t tensor)
{
    cm_graph      *g = b->g;
    const cm_node *n = &g->nodes[cm__t(g, tensor)->producer];
    int32_t       *inputs = cm__alloc_array(g->ctx, (size_t)n->n_inputs, sizeof *inputs), n_attrs = 0;
    for (int32_t i = 0; i < n->n_inputs; i++) inputs[i] = n->inputs[i];
    if (n->op != CM_OP_UNPACK) inputs[0] = unpack_again(b, inputs[0]);
    n = &g->nodes[cm__t(g, tensor)->producer];
    while (n->attrs[n_attrs].key < CM_ATTRS) n_attrs++;
    int32_t again = cm__emit_node(g, n->op, n->name, inputs, n->n_inputs, n->attrs, n_attrs, n->n_outputs)->outputs[0];
    cm__t(g, again)->role = cm__t(g, tensor)->role;
    cm__t(g, again)->dtype = cm__t(g, tensor)->dtype;
    return again;
}

int32_t cm__kept(cm__backward *b, int32_t tensor)
{
    int32_t producer = cm__t(b->g, tensor)->producer;
    if (is_unpacked(b, tensor)) return unpack_again(b, tensor);
    if (tensor >= b->forward_tensors || producer < 0 || b->group[producer] < 0) return tensor;
    if (b->copy[tensor] < 0) replay(b, b->group[producer]);
    return b->copy[tensor];
}

/* ---- the pass --------------------------------------------------------------------------------------------------- */

static void find_needs(cm__backward *b)
{
    cm_graph *g = b->g;
    for (int32_t t = 0; t < b->forward_tensors; t++) {
        const cm_tensor *x = cm__t(g, t);
        bool differentiable_leaf = (x->role == CM_ROLE_PARAMETER && !x->frozen) ||
                                   (x->producer < 0 && x->role == CM_ROLE_ACTIVATION);
        b->needs[t] = differentiable_leaf && cm__has_gradient(x->dtype);
    }
    for (int32_t i = 0; i < b->forward_nodes; i++) {
        const cm_node *n = &g->nodes[i];
        bool           any = false;
        for (int32_t k = 0; k < n->n_inputs; k++) any |= cm__wants(b, n, k);
        for (int32_t o = 0; any && cm__ops[n->op].gradient && o < n->n_outputs; o++)
            if (n->outputs[o] >= 0) {
                const cm_tensor *y = cm__t(g, n->outputs[o]);
                b->needs[n->outputs[o]] = cm__has_gradient(y->dtype) && y->role != CM_ROLE_SAVED;
            }
        cm__function_needs(b, i);
    }
}

static bool reached(const cm__backward *b, const cm_node *n)
{
    bool any = cm__gradient_of_output(b, n, 0) >= 0,
         many = n->op == CM_OP_SPLIT || n->op == CM_OP_LSTM_CELL || n->op == CM_OP_DETERMINANT || cm__class(n) == CM_CLASS_RNN;
    for (int32_t o = 1; many && o < n->n_outputs; o++) any |= cm__gradient_of_output(b, n, o) >= 0;
    bool wanted = false;
    for (int32_t k = 0; any && k < n->n_inputs; k++) wanted |= cm__wants(b, n, k);
    return wanted;
}

static cm__backward begin(cm_graph *g)
{
    cm__backward b = {.g = g, .forward_nodes = g->n_nodes, .forward_tensors = g->n_tensors};
    b.needs = cm__alloc_array(g->ctx, (size_t)g->n_tensors, sizeof *b.needs);
    b.gradient = cm__alloc_array(g->ctx, (size_t)g->n_tensors, sizeof *b.gradient);
    b.copy = cm__alloc_array(g->ctx, (size_t)g->n_tensors, sizeof *b.copy);
    b.group = cm__alloc_array(g->ctx, (size_t)g->n_nodes, sizeof *b.group);
    for (int32_t t = 0; t < g->n_tensors; t++) b.gradient[t] = b.copy[t] = -1;
    for (int32_t i = 0; i < g->n_nodes; i++) b.group[i] = -1;
    return b;
}

/* The gradient of the loss is one. Without a loss, each output's gradient is an input of the step. */
static void seed(cm__backward *b, const int32_t *outputs, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const cm_tensor *y = cm__t(b->g, outputs[i]);
        if (!b->needs[outputs[i]] || b->gradient[outputs[i]] >= 0) continue;
        cm_role role = y->rank == 0 ? CM_ROLE_CONSTANT : CM_ROLE_GRADIENT;
        b->gradient[outputs[i]] =
            cm__leaf(b->g, cm__format(b->g->ctx, "%s.grad", y->name), role, gradient_type(y->dtype), y->rank, y->dims);
    }
}

int32_t *cm__backward_run(cm_graph *g, const int32_t *outputs, int32_t count, const cm_train_options *o)
{
    cm__backward b = begin(g);
    find_needs(&b);
    cm__group_nodes(&b, o);
    seed(&b, outputs, count);
    g->phase = CM_BACKWARD;
    for (int32_t i = b.forward_nodes - 1; i >= 0; i--) {
        const cm_node *n = &g->nodes[i];
        cm__function_backward(&b, i);
        if (cm__in_function(g, n) || !cm__ops[n->op].gradient || !reached(&b, n)) continue;
        g->origin = i;
        g->block = n->block;
        cm__place_names(g->ctx, "backward of node '%s' (%s)", n->name, cm_node_type(n));
        cm__ops[n->op].gradient(&b, n);
    }
    cm__place(g->ctx, "%s", "");
    g->origin = g->block = -1;
    return b.gradient;
}
