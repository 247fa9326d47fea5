/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.c - what operators allocate while they run, besides their outputs. A row per operator that does. */
#include "graph/rule.h"
#include "model/footprint.h"

static cm_poly bytes_in(const cm_footprint *f, const cm_node *n, int32_t input)
{
    return cm__has(n, input) ? cm_tensor_bytes(cm__in(f->step, n, input)) : (cm_poly){{0}};
}

/* Softmax's backward multiplies gradient and output first; that of its logarithm, in cross-entropy, does not. */
static cm_poly softmax_grad(const cm_footprint *f, const cm_node *n)
{
    const cm_node *forward = n->source >= 0 ? &f->step->nodes[n->source] : NULL;
    return forward && forward->op == CM_OP_SOFTMAX ? bytes_in(f, n, 0) : (cm_poly){{0}};
}

/* Multi-tensor Adam takes the square roots of all second moments at once. */
static cm_poly update(const cm_footprint *f, const cm_node *n)
{
    cm_poly sum = {{0}};
    bool    roots = f->step->optimizer == CM_OPTIMIZER_ADAM || f->step->optimizer == CM_OPTIMIZER_ADAMW;
    if (!roots || f->options.runtime == CM_RUNTIME_MEGATRON) return sum; /* Megatron's is one fused kernel */
    (void)n;
    for (int32_t p = 0; p < f->n_pieces; p++)
        if (cm__t(f->step, f->pieces[p].tensor)->role == CM_ROLE_STATE) sum = cm__poly_add(sum, f->pieces[p].bytes);
    return cm__poly_scale(sum, 0.5);
}

static const struct {
    int16_t op;
    cm_poly (*bytes)(const cm_footprint *f, const cm_node *n);
} rows[] = {
    {CM_OP_SOFTMAX_GRAD, softmax_grad},
    {CM_OP_UPDATE, update},
};

cm_poly cm__workspace(const cm_footprint *f, const cm_node *n)
{
    if (!f->caching) return (cm_poly){{0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == n->op) return rows[i].bytes(f, n);
    return (cm_poly){{0}};
}
