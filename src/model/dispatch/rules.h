/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h - the dispatch rules of rules.c, and the functions they share. */
#ifndef CM_MODEL_RULES_H
#define CM_MODEL_RULES_H

#include "graph/rule.h"
#include "graph/runtimes.h"
#include "model/dispatch/dispatch.h"

#define CM__DISPATCH_RULES(X)                                                                                          \
    X(gemm) X(gemm_grad) X(matmul) X(matmul_grad) X(einsum) X(conv) X(conv_grad) X(attention) X(rnn) X(norm)           \
    X(softmax) X(cross_entropy) X(loss) X(nll_loss) X(loss_grad) X(reduce) X(global_pool) X(sum_to) X(pool) X(resize)  \
    X(gather) X(update) X(math) X(map) X(map_grad) X(slice_grad) X(copy) X(none) X(columns) X(unfold_grad) X(sort)     \
    X(pad) X(scatter) X(written) X(written_grad) X(fft) X(weight_norm) X(log_sum_exp) X(cumulative) X(roll)            \
    X(algebra) X(distances) X(fused_cross_entropy) X(unpack) X(state_space) X(cell) X(ctc_loss) X(deformed)

#define X(name) void cm__dispatch_##name(cm__dispatch *d, int32_t node);
CM__DISPATCH_RULES(X)
#undef X

/* True: torch.compile compiles the node. */
static inline bool cm__is_compiled(const cm__dispatch *d, const cm_node *n)
{
    return cm__compiles(d->runtime) && !cm__outside_of(d->g, n);
}

/* True: copies of the node's operands are among the recorded kernels. */
static inline bool cm__copies_recorded(const cm__dispatch *d, const cm_node *n) { return d->recorded && cm__is_compiled(d, n); }

/* The kernels that an operator's row names, up to NULL: those of its rule, and those of its gradient. */
const cm__variant *cm__forward_kernels(int op);
const cm__variant *cm__backward_kernels(int op);
cm__variant        cm__forward_kernel(int op, cm__variant otherwise); /* the first */

static inline const cm_node *cm__node(const cm__dispatch *d, int32_t node) { return &d->g->nodes[node]; }

/* The forward node that a backward node differentiates; for forward and recomputed nodes the node itself. */
const cm_node *cm__forward_of(const cm__dispatch *d, const cm_node *n);

/* The kernel that increments the batch counter of a batch norm in training. */
void cm__dispatch_count_batch(cm__dispatch *d, int32_t node);

/* Optimizers and their calls have the same names. */
static inline cm__variant cm__optimizer_variant(cm_optimizer o) { return cm__variant_find(cm_optimizer_name(o)); }

/* A call without sizes. `matrix`: fp32 operands may use TF32 units if the user allows it. */
cm__sized_call cm__call_begin(const cm__dispatch *d, int op, cm__pass pass, cm__variant variant, cm_dtype dtype,
                              bool matrix);

static inline cm__pass cm__pass_of(const cm_node *n, const cm_node *forward)
{
    return n == forward ? CM__PASS_FORWARD : CM__PASS_BACKWARD;
}

/* Adds the call with these sizes, in the order of calls.def. */
void cm__call_sized(cm__dispatch *d, int32_t node, cm__sized_call c, size_t count, const cm_poly *sizes);
#define CM__CALL_SIZED(d, node, call, ...)                                                                             \
    cm__call_sized(d, node, call, sizeof((cm_poly[]){__VA_ARGS__}) / sizeof(cm_poly), (cm_poly[]){__VA_ARGS__})
/* One elementwise kernel over so many numbers; one over rows of them. */
void cm__call_pass(cm__dispatch *d, int32_t node, cm__variant function, cm__types types, cm_poly elements);
void cm__call_typed(cm__dispatch *d, int32_t node, cm__variant function, cm__types types, cm_poly outer, cm_poly inner);
/* A reduction of the middle of three sizes. */
void cm__call_reduce(cm__dispatch *d, int32_t node, cm__variant function, cm_dtype dtype, cm_poly outer, cm_poly reduced,
                     cm_poly inner);
/* Gradient clipping: the norm of all gradients, and a pass that scales them. */
void cm__call_clip(cm__dispatch *d, int32_t node, cm_dtype dtype, cm_poly elements);

/* One kernel over `elements`, from the types of tensors a and b (-1: none) into the type of `out`. */
void cm__call_map(cm__dispatch *d, int32_t node, cm__variant function, int32_t a, int32_t b, int32_t out, cm_poly outer,
                  cm_poly inner);
/* A function of tensors a and b (-1: none). `beside` is also read, but does not show in the kernel's types. The
   result has the strides of `out` and the type of `type`. */
typedef struct cm__function {
    cm__variant function;
    int32_t     a, b, beside, out, type;
} cm__function;

/* fft.c: the copy of a complex tensor that torch.compile makes before it writes into a part of it. */
void cm__call_whole_copy(cm__dispatch *d, int32_t node, int32_t tensor);

/* matrix.c: a matrix product; the sizes are batch, rows, columns, inner. */
void cm__call_product(cm__dispatch *d, int32_t node, cm__variant variant, cm_dtype dtype,
                      const cm_poly sizes[CM__GEMM_SIZES]);

/* strided.c: an elementwise kernel over operands with any strides; and copies of operands that need other strides. */
void cm__call_strided(cm__dispatch *d, int32_t node, const cm__function *m);
void cm__call_copied(cm__dispatch *d, int32_t node, int32_t tensor, const int64_t *as);
void cm__call_in_rows(cm__dispatch *d, int32_t node, int32_t tensor);
/* Whether a tensor is dense in the order that an image kernel works in, and a copy of one that is not. */
bool cm__is_image(const cm__dispatch *d, int32_t tensor, bool channels_last);
void cm__call_as_image(cm__dispatch *d, int32_t node, int32_t tensor, bool channels_last);

/* reductions.c: the mean that the forward reduction of a gradient is about. */
void cm__call_mean(cm__dispatch *d, int32_t node);
void cm__call_product_grad(cm__dispatch *d, int32_t node); /* of a product along a dimension */
void cm__call_extreme_grad(cm__dispatch *d, int32_t node);

/* An elementwise kernel over all elements of `out`, contiguous. */
void cm__call_over(cm__dispatch *d, int32_t node, cm__variant function, int32_t a, int32_t b, int32_t out);

#endif
