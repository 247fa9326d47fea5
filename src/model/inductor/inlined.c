/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inlined.c - results that generated code does not write because every kernel that reads them computes them.
 *
 * Inductor writes the result of an elementwise operator only if something needs it in memory, or if it has several
 * readers and computing it reads more than a few tensors (StorageBox.should_realize_on_reuse() in torch/_inductor/ir.py,
 * realize_reads_threshold in torch/_inductor/config.py). Otherwise the operator is part of each kernel that reads it,
 * also of those that iterate over other elements: the cast of a gradient whose slices are gradients of resized images.
 */
#include "model/inductor/fusing.h"
#include "base/ablation.h"

#include <math.h>

#define MOST_READS 4 /* realize_reads_threshold */

/* Per kernel: who reads what it writes. */
typedef struct readers {
    bool *kernels; /* generated code of the same pass */
    bool *others;  /* anything else */
} readers;

static int32_t kernel_of(const cm__fusing *f, int32_t tensor)
{
    int32_t from = tensor < 0 ? -1 : cm__t(f->d->g, cm__fusing_base(f, tensor))->producer;
    return from < 0 ? -1 : f->kernel[from];
}

static readers readers_of(const cm__fusing *f)
{
    const cm_graph *g = f->d->g;
    readers         r = {.kernels = cm__alloc_array(f->d->ctx, (size_t)g->n_nodes + 1, sizeof *r.kernels),
                         .others = cm__alloc_array(f->d->ctx, (size_t)g->n_nodes + 1, sizeof *r.others)};
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; !g->nodes[i].view && k < g->nodes[i].n_inputs; k++) {
            int32_t kernel = kernel_of(f, g->nodes[i].inputs[k]);
            if (kernel < 0 || kernel == f->kernel[i]) continue;
            bool same = f->kernel[i] >= 0 && g->nodes[i].phase == g->nodes[kernel].phase;
            (same ? r.kernels : r.others)[kernel] = true;
        }
    for (int32_t k = 0; k < g->n_outputs; k++)
        if (kernel_of(f, g->outputs[k]) >= 0) r.others[kernel_of(f, g->outputs[k])] = true;
    return r;
}

/* Tensors that a kernel reads, with those that it would read for the results of others that are not written. */
static int32_t reads_of(const cm__fusing *f, int32_t kernel)
{
    int32_t reads = 0;
    for (int32_t i = kernel; i >= 0; i = f->next[i])
        for (int32_t k = 0; k < cm__node(f->d, i)->n_inputs; k++) {
            int32_t tensor = cm__node(f->d, i)->inputs[k], from = kernel_of(f, tensor);
            if (tensor < 0 || from == kernel) continue;
            reads += from >= 0 && f->inlined[from] ? reads_of(f, from) : 1;
        }
    return reads;
}

static bool is_elementwise(const cm__fusing *f, int32_t kernel)
{
    for (int32_t i = kernel; i >= 0; i = f->next[i]) {
        const cm_node *n = cm__node(f->d, i);
        if (cm__class(n) != CM_CLASS_ELEMENTWISE || n->op == CM_OP_DROPOUT || n->phase == CM_UPDATE) return false;
    }
    return !f->by_row[kernel] && !f->columns[kernel] && f->norm[kernel] < 0;
}

void cm__fusing_find_inlined(cm__fusing *f)
{
    if (!cm__compiles(f->d->runtime)) return;
    readers r = readers_of(f);
    for (int32_t i = 0; i < f->d->g->n_nodes; i++)
        f->inlined[i] = f->kernel[i] == i && r.kernels[i] && !r.others[i] && is_elementwise(f, i) &&
                        reads_of(f, i) <= MOST_READS && !cm__rule_off("inlined");
}

bool cm__fusing_is_inlined(const cm__fusing *f, int32_t tensor)
{
    int32_t kernel = kernel_of(f, tensor);
    return kernel >= 0 && f->inlined[kernel];
}

static cm_poly smaller(cm_poly a, cm_poly b) { return cm__poly_at(&a, 1) < cm__poly_at(&b, 1) ? a : b; }

cm_poly cm__fusing_newly_read(cm__fusing *f, int32_t tensor, cm_poly part, int32_t kernel)
{
    int32_t base = cm__fusing_base(f, tensor);
    cm_poly all = cm__fusing_bytes(f->d->g, base);
    cm_poly before = f->reader[base] == kernel + 1 ? f->taken[base] : cm__poly_const(0);
    if (f->seen[tensor] == kernel + 1) return cm__poly_const(0);
    f->seen[tensor] = f->reader[base] = kernel + 1;
    f->taken[base] = smaller(all, cm__poly_add(before, part));
    return cm__poly_add(f->taken[base], cm__poly_scale(before, -1));
}

/* Which part of its base a tensor views. */
static double share_of(const cm__fusing *f, int32_t tensor)
{
    cm_poly part = cm_tensor_elements(cm__t(f->d->g, tensor));
    cm_poly all = cm_tensor_elements(cm__t(f->d->g, cm__fusing_base(f, tensor)));
    return fmin(1, cm__poly_at(&part, 1) / cm__poly_at(&all, 1));
}

cm_poly cm__fusing_read_inlined(cm__fusing *f, int32_t tensor, int32_t kernel)
{
    int32_t first = kernel_of(f, tensor);
    cm_poly sum = cm__poly_const(0);
    for (int32_t i = first; i >= 0; i = f->next[i])
        for (int32_t k = 0; k < cm__node(f->d, i)->n_inputs; k++) {
            int32_t in = cm__node(f->d, i)->inputs[k];
            if (in < 0 || kernel_of(f, in) == first) continue;
            cm_poly part = cm__poly_scale(cm__fusing_read(f->d->g, in), share_of(f, tensor));
            sum = cm__poly_add(sum, cm__fusing_is_inlined(f, in) ? cm__fusing_read_inlined(f, in, kernel)
                                                                 : cm__fusing_newly_read(f, in, part, kernel));
        }
    return sum;
}
