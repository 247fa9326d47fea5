/* SPDX-License-Identifier: Apache-2.0 */
/* einsum.h - an Einstein sum of two tensors as a stack of matrix products. */
#ifndef CM_GRAPH_EINSUM_H
#define CM_GRAPH_EINSUM_H

#include "graph/graph.h"

/* What a dimension of an operand is to the product. */
typedef enum cm__einsum_side { CM__EINSUM_STACK, CM__EINSUM_OWN, CM__EINSUM_SUMMED } cm__einsum_side;

typedef struct cm__einsum_product {
    cm_poly         stack, m, n, k;
    cm__einsum_side sides[2][CM__RANK_MAX]; /* of the dimensions of the two operands */
} cm__einsum_product;

/*
 * What is multiplied for the sum's result (`of` is 2), or for the gradient of input `of` (the result's gradient takes
 * that input's place). False where it is no single stack of products: other than two inputs, or a letter that one
 * operand alone has and the result lacks.
 */
bool cm__einsum_as_product(cm_graph *g, const cm_node *n, int of, cm__einsum_product *product);

#endif
