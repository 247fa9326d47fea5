/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnn.c - kernel calls of recurrent layers and cells.
 *
 * A stack of layers runs as one call, in which layers overlap. Model files have one operator per layer; captured steps
 * have one per layer and direction. Layers form a stack if they have equal sizes and each reads the whole output of the
 * layer before, which has no other reader. Only views and at most one dropout may lie between them; these are part of
 * the call. If the weights have PyTorch's names (rnn.weight_ih_l0, rnn.weight_ih_l1), only layers of one module form a
 * stack.
 */
#include <string.h>
#include "graph/rewrite/roles.h"
#include "model/dispatch/rules.h"

#define HOPS 8 /* maximum number of operators between two layers */

/* Each array has one entry per node; -1: none. */
struct cm__stacks {
    int32_t *below, *above; /* the previous and the next layer of the stack */
    int32_t *twin;          /* the same layer in the other direction, if that is a separate operator */
    bool    *inside;        /* the node lies between two layers of a stack */
};

typedef struct finder {
    const cm_graph *g;
    cm__stacks     *s;
    int32_t        *readers; /* per tensor: number of forward nodes that read it, plus one if it is a graph output */
    int32_t         path[HOPS + 2], n_path;
} finder;

static bool is_layer(const cm_node *n) { return cm__class(n) == CM_CLASS_RNN && n->phase == CM_FORWARD; }
static cm_dim hidden_of(const cm_graph *g, const cm_node *n) { return cm__in(g, n, 2)->dims[2]; }
static cm_dim ways_of(const cm_graph *g, const cm_node *n) { return cm__in(g, n, 1)->dims[0]; }

/* ---- stacks of layers ------------------------------------------------------------------------------------------- */

static bool one_module(const cm_graph *g, const cm_node *a, const cm_node *b)
{
    static const char mark[] = "weight_ih_l";
    int32_t           wa = cm__origin_of(g, a->inputs[1]), wb = cm__origin_of(g, b->inputs[1]);
    if (wa < 0 || wb < 0) return true;
    const char *of_a = cm__t(g, wa)->name, *of_b = cm__t(g, wb)->name;
    const char *in_a = strstr(of_a, mark), *in_b = strstr(of_b, mark);
    if (!in_a || !in_b) return true; /* names in another format */
    return in_a - of_a == in_b - of_b && strncmp(of_a, of_b, (size_t)(in_a - of_a)) == 0;
}

static bool alike(const cm_graph *g, const cm_node *a, const cm_node *b)
{
    return a->op == b->op && cm__dim_same(hidden_of(g, a), hidden_of(g, b)) &&
           cm__dim_same(ways_of(g, a), ways_of(g, b)) && cm__in(g, a, 0)->dtype == cm__in(g, b, 0)->dtype &&
           cm__attr_int(a, CM_ATTR_LAYOUT, 0) == cm__attr_int(b, CM_ATTR_LAYOUT, 0) && one_module(g, a, b);
}

static int32_t past_cast(const cm_graph *g, int32_t tensor)
{
    int32_t from = cm__t(g, tensor)->producer;
    return from >= 0 && g->nodes[from].op == CM_OP_CAST ? g->nodes[from].inputs[0] : tensor;
}

static void find_twins(finder *f)
{
    for (int32_t i = 0, last = -1; i < f->g->n_nodes; i++) {
        const cm_node *n = &f->g->nodes[i], *before = last < 0 ? NULL : &f->g->nodes[last];
        if (!is_layer(n)) continue;
        bool twins = before && f->s->twin[last] < 0 && cm__attr_int(n, CM_ATTR_DIRECTION, 0) == 1 &&
                     cm__attr_int(before, CM_ATTR_DIRECTION, 0) == 0 && alike(f->g, before, n) &&
                     past_cast(f->g, before->inputs[0]) == past_cast(f->g, n->inputs[0]);
        if (twins) f->s->twin[last] = i, f->s->twin[i] = last;
        last = i;
    }
}

static bool only_reshapes(const cm_node *n)
{
    static const int16_t ops[] = {CM_OP_TRANSPOSE, CM_OP_RESHAPE, CM_OP_SQUEEZE, CM_OP_UNSQUEEZE,
                                  CM_OP_FLATTEN,   CM_OP_VIEW,    CM_OP_CAST,    CM_OP_IDENTITY};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (n->op == ops[i]) return true;
    return false;
}

/* The layer whose whole output reaches this tensor, if each tensor on the way has `readers` readers; -1: none. */
static int32_t layer_behind(finder *f, int32_t tensor, int32_t readers, int dropouts)
{
    for (int hops = 0; hops < HOPS && f->n_path < HOPS; hops++) {
        int32_t from = cm__t(f->g, tensor)->producer;
        if (from < 0 || f->readers[tensor] > readers) return -1;
        const cm_node *n = &f->g->nodes[from];
        if (is_layer(n)) return tensor == n->outputs[0] ? from : -1;
        f->path[f->n_path++] = from;
        if (n->op == CM_OP_CONCAT && n->n_inputs == 2) {
            int32_t a = layer_behind(f, n->inputs[0], 1, 0), b = layer_behind(f, n->inputs[1], 1, 0);
            return a >= 0 && b >= 0 && f->s->twin[a] == b ? a : -1;
        }
        if (!only_reshapes(n) && (n->op != CM_OP_DROPOUT || dropouts-- == 0)) return -1;
        tensor = n->inputs[0];
    }
    return -1;
}

static bool is_second(const cm__stacks *s, int32_t layer) { return s->twin[layer] >= 0 && s->twin[layer] < layer; }

static void find_below(finder *f, int32_t layer)
{
    const cm_node *n = &f->g->nodes[layer];
    bool           both = f->s->twin[layer] >= 0;
    f->n_path = 0;
    int32_t below = is_second(f->s, layer) ? -1 : layer_behind(f, n->inputs[0], 1 + both, 1);
    if (below < 0 || both != (f->s->twin[below] >= 0) || !alike(f->g, n, &f->g->nodes[below])) return;
    f->s->below[layer] = below;
    f->s->above[below] = layer;
    for (int32_t i = 0; i < f->n_path; i++) f->s->inside[f->path[i]] = true;
}

static void count_readers(finder *f)
{
    for (int32_t i = 0; i < f->g->n_nodes; i++)
        for (int32_t k = 0; f->g->nodes[i].phase == CM_FORWARD && k < f->g->nodes[i].n_inputs; k++)
            if (f->g->nodes[i].inputs[k] >= 0) f->readers[f->g->nodes[i].inputs[k]]++;
    for (int32_t i = 0; i < f->g->n_outputs; i++) f->readers[f->g->outputs[i]] += 2;
}

cm__stacks *cm__stacks_of(cm__ctx *ctx, const cm_graph *g)
{
    int32_t layers = 0, again = 0; /* layers that are recomputed run one by one, in forward too */
    for (int32_t i = 0; i < g->n_nodes; i++) {
        layers += is_layer(&g->nodes[i]);
        again += cm__class(&g->nodes[i]) == CM_CLASS_RNN && g->nodes[i].phase == CM_RECOMPUTE;
    }
    if (!layers) return NULL;
    cm__stacks *s = cm__alloc(ctx, sizeof *s);
    int32_t   **lists[] = {&s->below, &s->above, &s->twin};
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        *lists[l] = cm__alloc_array(ctx, (size_t)g->n_nodes, sizeof **lists[l]);
        for (int32_t i = 0; i < g->n_nodes; i++) (*lists[l])[i] = -1;
    }
    s->inside = cm__alloc_array(ctx, (size_t)g->n_nodes, sizeof *s->inside);
    finder f = {.g = g, .s = s, .readers = cm__alloc_array(ctx, (size_t)g->n_tensors, sizeof *f.readers)};
    count_readers(&f);
    find_twins(&f);
    for (int32_t i = 0; !again && i < g->n_nodes; i++)
        if (is_layer(&g->nodes[i])) find_below(&f, i);
    return s;
}

bool cm__inside_stack(const cm__dispatch *d, int32_t node)
{
    return d->stacks && d->stacks->inside[cm__forward_of(d, cm__node(d, node)) - d->g->nodes];
}

bool cm__between_layers(const cm__stacks *s, int32_t node) { return s->inside[node]; }

cm__stack cm__stack_of(const cm__stacks *s, const cm_graph *g, int32_t layer)
{
    cm__stack stack = {.layers = 1};
    int32_t   bottom = is_second(s, layer) ? s->twin[layer] : layer, top = bottom;
    for (; s->below[bottom] >= 0; bottom = s->below[bottom]) stack.layers++;
    for (; s->above[top] >= 0; top = s->above[top]) stack.layers++;
    bool both = s->twin[bottom] >= 0;
    stack.first = bottom;
    stack.last = both ? s->twin[top] : top;
    stack.directions = both ? 2 : (double)ways_of(g, &g->nodes[bottom]).fixed;
    for (int32_t i = bottom; i < top; i++) stack.drops |= s->inside[i] && g->nodes[i].op == CM_OP_DROPOUT;
    return stack;
}

/* ---- kernel calls ----------------------------------------------------------------------------------------------- */

/* One call runs the whole stack. In forward its first layer makes the call, in backward its last layer. In a
   bidirectional layer the first direction makes it. */
static bool makes_call(const cm__stacks *s, int32_t layer, bool backward)
{
    return !is_second(s, layer) && (backward ? s->above : s->below)[layer] < 0;
}

void cm__dispatch_rnn(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    bool           backward = n->op == CM_OP_RNN_GRAD;
    int32_t        layer = backward ? n->source : node, layers = 1;
    if (!makes_call(d->stacks, layer, backward)) return;
    for (int32_t over = layer; d->stacks->above[over] >= 0; over = d->stacks->above[over]) layers++;
    for (; d->stacks->below[layer] >= 0; layer = d->stacks->below[layer]) layers++;
    const cm_node   *first = cm__node(d, layer);
    const cm_tensor *x = cm__in(d->g, first, 0);
    cm__variant      variant = cm__forward_kernel(first->op, CM__V_RNN);
    bool             batch_first = cm__attr_int(first, CM_ATTR_LAYOUT, 0) != 0, both = d->stacks->twin[layer] >= 0;
    cm__sized_call   c =
        cm__call_begin(d, CM__CALL_RNN, backward ? CM__PASS_BACKWARD : CM__PASS_FORWARD, variant, x->dtype, true);
    CM__CALL_SIZED(d, node, c, cm__poly_dim(x->dims[batch_first ? 0 : 1]), cm__poly_dim(x->dims[batch_first ? 1 : 0]),
                   cm__poly_dim(x->dims[2]), cm__poly_dim(hidden_of(d->g, first)), cm__poly_const(layers),
                   both ? cm__poly_const(2) : cm__poly_dim(ways_of(d->g, first)));
}

/* Each thread of a cell's kernel reads and writes one number at a time, so that numbers of 16 bits take as long as
   those of 32. The kernel is timed as a copy of as many numbers of 4 bytes. All rows read the same biases. */
void cm__dispatch_cell(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node);
    cm_poly        numbers = cm__poly_const(0);
    int32_t        read = n->op == CM_OP_CELL_GRAD ? n->n_inputs : 3;
    for (int32_t i = 0; i < read; i++) numbers = cm__poly_add(numbers, cm_tensor_elements(cm__in(d->g, n, i)));
    for (int32_t i = 0; i < n->n_outputs; i++)
        numbers = cm__poly_add(numbers, cm_tensor_elements(cm__t(d->g, n->outputs[i])));
    cm__call_pass(d, node, CM__V_COPY, CM__ALL(CM_FP32), cm__poly_scale(numbers, 0.5));
}
