/* SPDX-License-Identifier: Apache-2.0 */
/* einsum.h - an Einstein sum of two tensors as a stack of matrix products. */
#ifndef CM_GRAPH_RULES_EINSUM_H
#define CM_GRAPH_RULES_EINSUM_H

#include "graph/graph.h"

/* The part that a dimension of an operand plays in the product. */
typedef enum cm__einsum_side { CM__EINSUM_STACK, CM__EINSUM_OWN, CM__EINSUM_SUMMED } cm__einsum_side;

typedef struct cm__einsum_product {
    cm_poly         stack, m, n, k;
    cm__einsum_side sides[2][CM__RANK_MAX]; /* of the dimensions of the two operands */
} cm__einsum_product;

/* Describe the matrix product that computes the sum's result (`of` is 2) or the gradient of input `of` (the result's
   gradient then replaces that input). Returns false where no single batched product does: the sum does not have two
   inputs, or a letter is in one operand only and not in the result. */
bool cm__einsum_as_product(cm_graph *g, const cm_node *n, int of, cm__einsum_product *product);

#endif
