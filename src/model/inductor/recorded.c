/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded.c - generated kernels as PyTorch's own compiler described them when the step was recorded.
 *
 * They take the place of those that fusing.c joins, and of copies that make operands of library calls, which the
 * compiler generates too. Pools and sums by index read elements several times, or wait for each other: the rules time them.
 */
#include "model/inductor/fusing.h"

bool cm__timed_by_rule(const cm__fusing *f, int32_t kernel)
{
    static const bool ops[CM_OPS] = {[CM_OP_MAX_POOL] = true,    [CM_OP_AVERAGE_POOL] = true, [CM_OP_POOL_GRAD] = true,
                                     [CM_OP_RESIZE_GRAD] = true, [CM_OP_GATHER_GRAD] = true,  [CM_OP_SCATTER_ELEMENTS] = true};
    for (int32_t i = kernel; i >= 0; i = f->next[i])
        if (ops[cm__node(f->d, i)->op]) return true;
    return false;
}

/* Functions hide behind sums, whose tables contain them. */
static void add(cm__dispatch *d, int32_t node, const cm__recorded_kernel *k)
{
    cm__variant   kind = cm__variant_find(k->kind);
    cm__generated kernel = {.work[CM__WORK_RANDOM] = k->random};
    for (int i = 0; i < CM__NUMBER_SIZES; i++)
        cm__fusing_add(&kernel, (cm__moved){k->moved[i], cm__poly_scale(k->moved[i], 1.0 / (1 << i))});
    if (kind == CM__V_FUSED) kernel.work[CM__WORK_FUNCTIONS] = k->functions;
    cm__call_generated(d, node, kind, CM_FP32, &kernel);
}

void cm__dispatch_recorded(cm__dispatch *d)
{
    const cm__recorded *r = d->g->recorded;
    int32_t             first[CM_PHASES];
    for (int p = 0; p < CM_PHASES; p++) first[p] = -1;
    for (int32_t i = d->g->n_nodes - 1; i >= 0; i--)
        if (cm__is_compiled(d, &d->g->nodes[i])) first[d->g->nodes[i].phase] = i;
    for (int32_t i = 0; i < r->n_kernels; i++)
        if (r->kernels[i].kind && first[r->kernels[i].phase] >= 0) add(d, first[r->kernels[i].phase], &r->kernels[i]);
}
