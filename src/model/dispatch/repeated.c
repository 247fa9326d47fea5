/* SPDX-License-Identifier: Apache-2.0 */
/* repeated.c - sums of generated kernels over more elements than the kernel reads or writes. */
#include "model/dispatch/fusing.h"
#include "model/time/factors.h"

#include <math.h>

typedef struct {
    double  elements; /* of the largest tensor that the kernel reads or writes */
    int32_t operands; /* tensors that it reads, but for single numbers */
} moved;

static double elements_of(const cm_graph *g, int32_t tensor)
{
    cm_poly view = cm_tensor_elements(cm__t(g, tensor)), base = cm_tensor_elements(cm__t(g, cm__t(g, tensor)->storage));
    return fmin(cm__poly_at(&view, 1), cm__poly_at(&base, 1));
}

static void add_node(const cm__fusing *f, int32_t node, moved *m)
{
    const cm_graph *g = f->d->g;
    const cm_node  *n = cm__node(f->d, node);
    for (int32_t k = 0; k < n->n_inputs; k++) {
        int32_t from = n->inputs[k] < 0 ? -1 : cm__t(g, cm__fusing_base(f, n->inputs[k]))->producer;
        if (n->inputs[k] < 0 || (from >= 0 && f->kernel[from] == f->kernel[node])) continue;
        double elements = elements_of(g, n->inputs[k]);
        m->operands += elements > 1;
        m->elements = fmax(m->elements, elements);
    }
    for (int32_t k = 0; k < n->n_outputs; k++)
        if (n->outputs[k] >= 0 && f->outside[cm__fusing_base(f, n->outputs[k])])
            m->elements = fmax(m->elements, elements_of(g, n->outputs[k]));
}

cm_poly cm__fusing_repeated(const cm__fusing *f, int32_t kernel)
{
    moved  m = {0};
    double size = cm__poly_at(&f->size[kernel], 1);
    if (!f->by_row[kernel] && !f->columns[kernel]) return cm__poly_const(0);
    for (int32_t i = kernel; i >= 0; i = f->next[i]) add_node(f, i, &m);
    if (size <= m.elements) return cm__poly_const(0);
    double each = (1 - m.elements / size) * m.operands * cm__time_factors.cached_read;
    return cm__poly_scale(f->size[kernel], each);
}
