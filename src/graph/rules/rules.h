/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h - the rules that rows of ops.def name. */
#ifndef CM_GRAPH_RULES_RULES_H
#define CM_GRAPH_RULES_RULES_H

#include "graph/graph.h"

#define CM__SHAPE_RULES(X)                                                                                             \
    X(same) X(given) X(dtype_like) X(cast) X(cast_like) X(truth) X(broadcast) X(power) X(compare) X(where) X(dropout)  \
    X(quantize) X(dequantize) X(dynamic_quantize) X(gemm) X(matmul) X(qlinear_matmul) X(einsum) X(conv)                \
    X(qlinear_conv) X(conv_transpose) X(attention) X(rnn) X(batch_norm) X(layer_norm) X(group_norm) X(arg) X(reduce)   \
    X(top_k) X(pool) X(global_pool) X(roi_pool) X(roi_align) X(multinomial) X(det) X(reshape) X(flatten) X(squeeze)    \
    X(unsqueeze) X(transpose) X(expand) X(slice) X(split) X(concat) X(pad) X(tile) X(gather) X(gather_elements)        \
    X(gather_nd) X(one_hot) X(resize) X(grid_sample) X(depth_to_space) X(space_to_depth) X(center_crop_pad) X(col2im)  \
    X(max_unpool) X(constant_of_shape) X(range) X(shape_of) X(size_of) X(random) X(window) X(cross_entropy)            \
    X(fused_cross_entropy) X(nll_loss) X(loss) X(recorded) X(recorded_like) X(written) X(state_space) X(cell)          \
    X(ctc_loss) X(deformed)

#define CM__FOLD_RULES(X)                                                                                              \
    X(copy) X(cast) X(unary) X(binary) X(where) X(reduce) X(transpose) X(expand) X(slice) X(split) X(concat) X(gather) \
    X(constant_of_shape) X(range) X(shape_of) X(size_of)

#define CM__COST_RULES(X)                                                                                              \
    X(none) X(stream) X(gemm) X(qlinear) X(einsum) X(conv) X(attention) X(rnn) X(reduce) X(pool) X(gather)             \
    X(conv_grad) X(gemm_grad) X(attention_grad) X(rnn_grad) X(pool_grad) X(update) X(fft) X(written)             \
    X(state_space) X(ctc_loss) X(distances) X(deformed_grad)

#define CM__GRADIENT_RULES(X)                                                                                          \
    X(input) X(output) X(linear) X(cast) X(add) X(mul) X(div) X(pow) X(prelu) X(select) X(where) X(dropout) X(gemm)    \
    X(matmul) X(einsum) X(conv) X(attention) X(rnn) X(norm) X(softmax) X(reduce) X(reduce_linear) X(max_pool) X(pool)  \
    X(reshape) X(transpose) X(permute) X(expand) X(slice) X(split) X(concat) X(pad) X(gather) X(scatter) X(resize)     \
    X(cross_entropy) X(loss) X(unsupported) X(resample) X(unfold) X(fft) X(written) X(again) X(add_product) X(lerp)    \
    X(fused_cross_entropy) X(weight_norm) X(cumulative) X(algebra) X(grid_sample) X(state_space) X(cell) X(ctc_loss) \
    X(distances) X(deformed)

#define X(name) void cm__shape_##name(cm_graph *g, cm_node *n);
CM__SHAPE_RULES(X)
#undef X
#define X(name) void cm__fold_##name(cm_graph *g, cm_node *n);
CM__FOLD_RULES(X)
#undef X
#define X(name) void cm__cost_##name(const cm_graph *g, cm_node *n);
CM__COST_RULES(X)
#undef X
#define X(name) void cm__gradient_##name(struct cm__backward *b, const cm_node *n);
CM__GRADIENT_RULES(X)
#undef X
#define cm__gradient_none NULL

#endif
