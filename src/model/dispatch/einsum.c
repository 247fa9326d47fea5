/* SPDX-License-Identifier: Apache-2.0 */
/* einsum.c - kernel calls of Einstein sums, as torch.einsum makes them. */
#include "graph/rules/einsum.h"
#include "model/dispatch/rules.h"

/* True: the dimensions that form one dimension of the product are adjacent in memory. */
static bool sides_join(const cm__dispatch *d, int32_t tensor, const cm__einsum_side *sides)
{
    const cm_tensor *t = cm__t(d->g, tensor);
    const int64_t   *strides = cm__strides_of(d->strides, tensor);
    int64_t          next[] = {-1, -1, -1}; /* stride required of the next outer dimension */
    for (int32_t i = t->rank - 1; i >= 0; i--) {
        int64_t size = cm__strides_size(t->dims[i]);
        if (size == 1) continue;
        if (next[sides[i]] >= 0 && strides[i] != next[sides[i]]) return false;
        next[sides[i]] = strides[i] * size;
    }
    return true;
}

/* Uses the operand as a stack of matrices with these dimensions innermost; copies it first if its strides do not
   allow that. */
static void as_operand(cm__dispatch *d, int32_t node, int32_t tensor, const cm__einsum_side *sides,
                       cm__einsum_side innermost)
{
    const cm_tensor      *t = cm__t(d->g, tensor);
    const cm__einsum_side order[] = {innermost, CM__EINSUM_OWN + CM__EINSUM_SUMMED - innermost, CM__EINSUM_STACK};
    int64_t               as[CM__RANK_MAX], stride = 1;
    if (sides_join(d, tensor, sides)) return;
    for (int k = 0; k < 3; k++)
        for (int32_t i = t->rank - 1; i >= 0; i--) {
            if (sides[i] != order[k]) continue;
            as[i] = stride;
            stride *= cm__strides_size(t->dims[i]);
        }
    cm__call_copied(d, node, tensor, as);
}

/* Falls back to one product with the same FLOP: summed labels form the inner dimension, all others rows and columns. */
static void one_product(cm__dispatch *d, int32_t node)
{
    const cm_node   *n = cm__node(d, node);
    const cm_tensor *y = cm__t(d->g, n->outputs[0]);
    cm_poly elements = cm_tensor_elements(y), columns = y->rank ? cm__poly_dim(y->dims[y->rank - 1]) : elements;
    double  at_one = 2 * cm__poly_at(&elements, 1), inner = at_one > 0 ? cm__poly_at(&n->flop, 1) / at_one : 1;
    cm_poly rows = y->rank ? cm__poly_product(y->dims, y->rank - 1) : cm__poly_const(1);
    cm__call_product(d, node, CM__V_NN, cm__in(d->g, n, 0)->dtype,
            (cm_poly[]){cm__poly_const(1), rows, columns, cm__poly_const(inner < 1 ? 1 : inner)});
}

/* Operands are viewed as stacks of matrices, or copied first. Backward reuses the copies that forward made. */
void cm__dispatch_einsum(cm__dispatch *d, int32_t node)
{
    static const cm__variant variants[] = {CM__V_NT, CM__V_TN, CM__V_NN};
    const cm_node           *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    int                      of = n == forward ? 2 : n->n_inputs > 1 && n->inputs[1] == forward->inputs[0] ? 1 : 0;
    cm__einsum_product       p;
    if (!cm__einsum_as_product((cm_graph *)(uintptr_t)d->g, forward, of, &p)) {
        one_product(d, node);
        return;
    }
    for (int i = 0; i < 2; i++) {
        bool gradient = n != forward && i == of;
        if (n == forward || gradient)
            as_operand(d, node, n->inputs[gradient ? 0 : i], p.sides[i], i ? CM__EINSUM_OWN : CM__EINSUM_SUMMED);
    }
    cm__call_product(d, node, variants[of], cm__in(d->g, n, 0)->dtype, (cm_poly[]){p.stack, p.m, p.n, p.k});
}
