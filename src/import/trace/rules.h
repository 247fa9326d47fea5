/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h - the rules that rows of aten.def name. */
#ifndef CM_IMPORT_TRACE_RULES_H
#define CM_IMPORT_TRACE_RULES_H

#include "import/trace/trace.h"

#define CM__ATEN_RULES(X)                                                                                              \
    X(unary) X(clamp) X(binary) X(where) X(maximum) X(masked_fill) X(dropout) X(reduce) X(argument) X(extreme) X(cumulative) X(top_k)      \
    X(cast) X(contiguous) X(to_copy) X(copy_into) X(cat) X(stack) X(pad) X(repeat) X(embedding) X(gather)              \
    X(index_select) X(scatter) X(upsample) X(pixel_shuffle) X(fill) X(empty) X(random) X(recorded) X(reshape)          \
    X(expand) X(permute) X(transpose) X(select) X(slice) X(split) X(unbind) X(alias) X(addmm) X(baddbmm) X(product)    \
    X(linear) X(convolution) X(convolution_gradient) X(attention) X(recurrent) X(batch_norm) X(layer_norm)             \
    X(group_norm) X(softmax) X(nll_loss) X(loss) X(pool) X(adaptive_pool) X(border) X(columns) X(fft) X(roll)          \
    X(add_product) X(lerp) X(moments) X(sort) X(sample) X(embedding_bag) X(grouped_product) X(distance) X(cell)        \
    X(pairs)

#define X(name) void cm__aten_##name(cm__trace *t, const cm__trace_op *o, int op);
CM__ATEN_RULES(X)
#undef X

/* One number for all dimensions, or one for each. */
cm__attr cm__trace_per_dimension(cm__trace *t, const cm__trace_op *o, const char *key, cm__attr_key to, int32_t dims,
                                 int64_t otherwise, int copies);

#endif
