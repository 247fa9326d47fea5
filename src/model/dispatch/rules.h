/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h - the rules of dispatch_rules.c, and what they share. */
#ifndef CM_MODEL_RULES_H
#define CM_MODEL_RULES_H

#include "graph/rule.h"
#include "model/dispatch/dispatch.h"

#define CM__DISPATCH_RULES(X)                                                                                          \
    X(gemm) X(gemm_grad) X(matmul) X(matmul_grad) X(einsum) X(conv) X(conv_grad) X(attention) X(rnn) X(norm)           \
    X(softmax) X(cross_entropy) X(loss) X(loss_grad) X(reduce) X(global_pool) X(sum_to) X(pool) X(resize) X(gather)    \
    X(update) X(math) X(map) X(map_grad) X(slice_grad) X(copy)

#define X(name) void cm__dispatch_##name(cm__dispatch *d, int32_t node);
CM__DISPATCH_RULES(X)
#undef X

static inline const cm_node *cm__node(const cm__dispatch *d, int32_t node) { return &d->g->nodes[node]; }

/* The forward node a backward node belongs to; a forward node itself, and one that is computed again. */
const cm_node *cm__forward_of(const cm__dispatch *d, const cm_node *n);

/* A batch norm that trains adds one to a number. */
void cm__dispatch_count_batch(cm__dispatch *d, int32_t node);

/* A call of no sizes yet. `matrix`: fp32 operands go to units of less precision where the user allows it. */
cm__sized_call cm__call_begin(const cm__dispatch *d, int op, cm__pass pass, const char *variant, cm_dtype dtype,
                              bool matrix);

static inline cm__pass cm__pass_of(const cm_node *n, const cm_node *forward)
{
    return n == forward ? CM__PASS_FORWARD : CM__PASS_BACKWARD;
}

/* A call of these first two sizes. */
void cm__call_two(cm__dispatch *d, int32_t node, cm__sized_call c, cm_poly first, cm_poly second);

/* One kernel over `elements`, from the types of the given tensors (-1: none) into that of `out`. */
void cm__call_map(cm__dispatch *d, int32_t node, const char *function, int32_t a, int32_t b, int32_t out, cm_poly outer,
                  cm_poly inner);
/* A function of a and b (-1: none), and of what is read beside them and does not show in the types; its result lies as
   `out` and has the type of `type`. */
typedef struct cm__function {
    const char *function;
    int32_t     a, b, beside, out, type;
} cm__function;

/* dispatch_matrix.c: a product of a batch, rows, columns and an inner size. */
void cm__call_product(cm__dispatch *d, int32_t node, const char *variant, cm_dtype dtype, const cm_poly sizes[4]);

/* dispatch_walk.c: a kernel over operands as they lie; copies of what does not lie as it is wanted. */
void cm__call_walk(cm__dispatch *d, int32_t node, const cm__function *m);
void cm__call_copied(cm__dispatch *d, int32_t node, int32_t tensor, const int64_t *as);
void cm__call_in_rows(cm__dispatch *d, int32_t node, int32_t tensor);
void cm__call_as_image(cm__dispatch *d, int32_t node, int32_t tensor, bool channels_last);

/* The same over all elements of `out`, contiguous. */
void cm__call_over(cm__dispatch *d, int32_t node, const char *function, int32_t a, int32_t b, int32_t out);

#endif
