/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joined.c - look-ups that a generated kernel concatenates, as networks of graphs do with the ends of an edge.
 *
 * Inductor computes every part of a concatenation for every element, under a mask (pointwise_cat in
 * torch/_inductor/lowering.py). The index of a part is then loaded for each element, under that mask, and not once for
 * a row: the compiler of the kernel does not know that neighbours have the same index, and loads what they name number
 * by number. Other look-ups and other concatenations load neighbours together.
 */
#include "model/dispatch/fusing.h"
#include "model/time/factors.h"

bool cm__looks_up(const cm_node *n)
{
    return n->op == CM_OP_GATHER || n->op == CM_OP_GATHER_ELEMENTS || n->op == CM_OP_INDEX;
}

bool cm__fusing_is_joined(const cm__fusing *f, int32_t node)
{
    for (int32_t i = f->next[node]; i >= 0; i = f->next[i])
        if (cm__node(f->d, i)->op == CM_OP_CONCAT) return true;
    return false;
}

/* What a kernel loads for one element of a part of a concatenation. */
typedef struct part {
    int32_t loads, number; /* number: of this part among those of the step; marks what it has visited */
    bool    looks_up;
} part;

/* A norm's weights and bias are applied where its result is read. */
static int32_t loads_of(const cm_graph *g, const cm_node *n, int32_t k)
{
    int32_t        from = cm__t(g, cm__t(g, n->inputs[k])->storage)->producer;
    const cm_node *made = from < 0 ? NULL : &g->nodes[from];
    bool           of_rows = made && (made->op == CM_OP_LAYER_NORM || made->op == CM_OP_RMS_NORM);
    return of_rows && made->phase == n->phase ? made->n_inputs : 1;
}

static void add_part(const cm__fusing *f, int32_t kernel, int32_t tensor, part *p)
{
    int32_t from = tensor < 0 ? -1 : cm__t(f->d->g, cm__fusing_base(f, tensor))->producer;
    if (from < 0 || f->kernel[from] != kernel || f->part[from] == p->number) return;
    f->part[from] = p->number; /* what several operators read is computed once */
    const cm_node *n = cm__node(f->d, from);
    p->looks_up |= cm__looks_up(n);
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t before = n->inputs[k] < 0 ? -1 : cm__t(f->d->g, cm__fusing_base(f, n->inputs[k]))->producer;
        if (before >= 0 && f->kernel[before] == kernel) add_part(f, kernel, n->inputs[k], p);
        else p->loads += n->inputs[k] < 0 ? 0 : loads_of(f->d->g, n, k);
    }
}

cm_poly cm__fusing_joined_lookups(const cm__fusing *f, int32_t kernel)
{
    cm_poly bytes = cm__poly_const(0);
    for (int32_t i = kernel; i >= 0; i = f->next[i]) {
        const cm_node *n = cm__node(f->d, i);
        for (int32_t k = 0; n->op == CM_OP_CONCAT && k < n->n_inputs; k++) {
            part p = {.number = ++f->part[f->d->g->n_nodes]};
            add_part(f, kernel, n->inputs[k], &p);
            double each = p.looks_up ? p.loads * cm__time_factors.single_load : 0;
            bytes = cm__poly_add(bytes, cm__poly_scale(cm_tensor_elements(cm__t(f->d->g, n->outputs[0])), each));
        }
    }
    return bytes;
}
