/* SPDX-License-Identifier: Apache-2.0 */
/* expression.c - operators written out as several simpler ones. */
#include "graph/rules/expression.h"

#include "graph/rule.h"

/* The mean of a tensor over the dimensions from `axis` on, which it keeps. */
static int32_t mean_from(cm_graph *g, const char *name, int32_t x, int64_t axis)
{
    int64_t axes[CM__RANK_MAX];
    int32_t rank = cm__t(g, x)->rank, count = 0;
    for (int64_t i = axis < 0 ? axis + rank : axis; i < rank; i++) axes[count++] = i;
    cm__attr attrs[] = {{.key = CM_ATTR_AXES, .count = count, .ints = axes}, CM__INTS(CM_ATTR_KEEPDIMS, 1)};
    return cm__emit(g, CM_OP_REDUCE_MEAN, name, &x, 1, attrs, 2);
}

int32_t cm__rms_norm_written_out(cm_graph *g, const cm_node *norm, int32_t x, int32_t weight)
{
    int32_t two = cm__constant_scalar(g, "2", CM_FP32, 2), least = cm__constant_scalar(g, "eps", CM_FP32, 1e-6);
    int32_t square = cm__emit(g, CM_OP_POW, norm->name, (int32_t[]){x, two}, 2, NULL, 0);
    int32_t mean = mean_from(g, norm->name, square, cm__attr_int(norm, CM_ATTR_AXIS, -1));
    int32_t sum = cm__emit(g, CM_OP_ADD, norm->name, (int32_t[]){mean, least}, 2, NULL, 0);
    int32_t root = cm__emit(g, CM_OP_RECIPROCAL, norm->name, &sum, 1, NULL, 0);
    int32_t y = cm__emit(g, CM_OP_MUL, norm->name, (int32_t[]){x, root}, 2, NULL, 0);
    return cm__emit(g, CM_OP_MUL, norm->name, (int32_t[]){y, weight}, 2, NULL, 0);
}
