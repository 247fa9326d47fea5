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
