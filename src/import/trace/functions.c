/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.c - custom autograd functions of a recorded step.
 *
 * Operators inside a function's forward were translated with all others. Here the operators inside its backward are
 * translated into a graph of their own. Its leaves are the gradients that backward was given and the tensors that
 * forward saved.
 */
#include "import/trace/rules.h"

#include "graph/function.h"

#define FUNCTIONS_MAX 1000000

typedef struct functions {
    cm__trace     *t;
    const cm__map *rows;
    int32_t       *first, *next; /* operators of each function's backward, in order; -1 ends a list */
    int32_t       *outside;      /* per tensor that the current function uses: the model's; others: undefined */
    int32_t       *used, n_used; /* those tensors */
    int32_t       *visited;      /* per tensor: 1 + the last function that used it */
} functions;

/* ---- the tensors that a function uses ---------------------------------------------------------------------------- */

static void use(functions *f, int32_t function, int32_t tensor)
{
    if (tensor < 0 || f->visited[tensor] == 1 + function) return;
    f->visited[tensor] = 1 + function;
    f->used[f->n_used++] = tensor;
    f->outside[tensor] = f->t->tensors[tensor].here;
    f->t->tensors[tensor].here = -1;
}

static void use_all(functions *f, int32_t function, const int32_t *tensors, int32_t count)
{
    for (int32_t i = 0; i < count; i++) use(f, function, tensors[i]);
}

static void restore(functions *f)
{
    while (f->n_used) {
        int32_t tensor = f->used[--f->n_used];
        f->t->tensors[tensor].here = f->outside[tensor];
    }
}

/* ---- one function ------------------------------------------------------------------------------------------------ */

static cm_graph *translated(functions *f, int32_t function)
{
    cm__trace *t = f->t;
    cm_graph  *model = t->g, *backward = cm__graph_new(t->ctx, "backward", "trace");
    int32_t    opaque = t->n_opaque;
    t->g = backward;
    for (int32_t i = f->first[function]; i >= 0; i = f->next[i]) cm__trace_translate(t, f->rows, &t->ops[i]);
    t->g = model;
    for (; t->n_opaque > opaque; t->n_opaque--) cm__not_supported(model, t->ops[t->opaque[t->n_opaque - 1]].full);
    return backward;
}

static const int32_t *leaves(functions *f, const cm_graph *backward, const int32_t *given, int32_t n_given)
{
    const cm__trace_tensor *tensors = f->t->tensors;
    int32_t                *leaf = cm__alloc_array(f->t->ctx, (size_t)backward->n_tensors + 1, sizeof *leaf);
    for (int32_t i = 0; i < backward->n_tensors; i++) leaf[i] = -1;
    for (int32_t i = 0; i < f->n_used; i++) {
        int32_t here = tensors[f->used[i]].here;
        if (here >= 0 && backward->tensors[here].producer < 0) leaf[here] = f->outside[f->used[i]];
    }
    for (int32_t i = 0; i < n_given; i++) {
        int32_t here = given[i] >= 0 ? tensors[given[i]].here : -1;
        if (here >= 0 && backward->tensors[here].producer < 0) leaf[here] = CM__OF_OUTPUT(i);
    }
    return leaf;
}

/* The model's tensors of a list. */
static int32_t *outside(functions *f, const int32_t *tensors, int32_t count)
{
    int32_t *list = cm__alloc_array(f->t->ctx, (size_t)count + 1, sizeof *list);
    for (int32_t i = 0; i < count; i++) list[i] = tensors[i] >= 0 ? f->outside[tensors[i]] : -1;
    return list;
}

static cm__function read_function(functions *f, int32_t function, const json_t *row)
{
    cm__trace   *t = f->t;
    cm__function made = {.backward = NULL};
    int32_t      n_given, n_gradients;
    if (!json_is_object(row)) cm__fail(t->ctx, CM_ERR_FORMAT, "not an object");
    if (!json_object_get(row, "given") || !json_object_get(row, "gradients")) return made; /* backward did not run */
    const int32_t *in = cm__trace_indices(t, row, "in", &made.n_inputs);
    const int32_t *out = cm__trace_indices(t, row, "out", &made.n_outputs);
    const int32_t *given = cm__trace_indices(t, row, "given", &n_given);
    const int32_t *results = cm__trace_indices(t, row, "gradients", &n_gradients);
    for (int32_t i = f->first[function]; i >= 0; i = f->next[i]) {
        use_all(f, function, t->ops[i].in, t->ops[i].n_in);
        use_all(f, function, t->ops[i].out, t->ops[i].n_out);
    }
    use_all(f, function, in, made.n_inputs);
    use_all(f, function, out, made.n_outputs);
    use_all(f, function, given, n_given);
    use_all(f, function, results, n_gradients);
    cm_graph *model = t->g, *backward = translated(f, function);
    int32_t  *gradients = cm__alloc_array(t->ctx, (size_t)made.n_inputs + 1, sizeof *gradients);
    t->g = backward;
    for (int32_t i = 0; i < made.n_inputs; i++)
        gradients[i] = i < n_gradients && results[i] >= 0 ? cm__trace_here(t, results[i]) : -1;
    t->g = model;
    made.gradients = gradients;
    made.leaf = leaves(f, backward, given, n_given);
    made.inputs = outside(f, in, made.n_inputs);
    made.outputs = outside(f, out, made.n_outputs);
    made.backward = backward;
    return made;
}

/* ---- all functions ----------------------------------------------------------------------------------------------- */

static void link_operators(functions *f, int32_t count)
{
    cm__trace *t = f->t;
    f->first = cm__alloc_array(t->ctx, (size_t)count + 1, sizeof *f->first);
    f->next = cm__alloc_array(t->ctx, (size_t)t->n_ops + 1, sizeof *f->next);
    for (int32_t i = 0; i < count; i++) f->first[i] = -1;
    for (int32_t i = t->n_ops - 1; i >= 0; i--) {
        const cm__trace_op *o = &t->ops[i];
        if (o->function < 0 || o->function >= count || (o->phase != CM_BACKWARD && o->phase != CM_RECOMPUTE)) continue;
        f->next[i] = f->first[o->function];
        f->first[o->function] = i;
    }
}

void cm__trace_functions(cm__trace *t, const cm__map *rows)
{
    const json_t *list = json_object_get(t->root, "functions");
    size_t        count = json_array_size(list);
    functions     f = {.t = t, .rows = rows};
    if (!count) return;
    if (count > FUNCTIONS_MAX) cm__fail(t->ctx, CM_ERR_LIMIT, "%zu functions, at most %d", count, FUNCTIONS_MAX);
    cm__function *made = cm__alloc_array(t->ctx, count, sizeof *made);
    f.outside = cm__alloc_array(t->ctx, (size_t)t->n_tensors, sizeof *f.outside);
    f.used = cm__alloc_array(t->ctx, (size_t)t->n_tensors, sizeof *f.used);
    f.visited = cm__alloc_array(t->ctx, (size_t)t->n_tensors, sizeof *f.visited);
    link_operators(&f, (int32_t)count);
    for (int32_t i = 0; i < (int32_t)count; i++) {
        cm__place(t->ctx, "function %d", i);
        made[i] = read_function(&f, i, json_array_get(list, (size_t)i));
        restore(&f);
    }
    cm__place(t->ctx, "%s", "");
    t->g->functions = made;
    t->g->n_functions = (int32_t)count;
}
