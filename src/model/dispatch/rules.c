/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - the dispatch rule and the kernels of each operator, from its row of ops.def. */
#include "model/dispatch/rules.h"

void cm__dispatch_none(cm__dispatch *d, int32_t node) { (void)d, (void)node; }

cm__dispatch_rule *const cm__dispatch_rules[CM_OPS] = {
#define DISPATCH(rule) cm__dispatch_##rule,
#define ROW(id, ...) [CM_OP_##id] = CM__FIRST(__VA_ARGS__ cm__dispatch_map, 0),
#include "graph/ops.def"
};

/* The columns have the names of variants.def. */
enum {
#define VARIANT(id, text) id = CM__V_##id,
#include "device/variants.def"
};

static const struct {
    int16_t     op;
    cm__variant forward[5], backward[8];
} kernels[CM_OPS] = {
#define FORWARD(...) .forward = {__VA_ARGS__},
#define BACKWARD(...) .backward = {__VA_ARGS__},
#define ROW(id, ...) [CM_OP_##id] = {.op = CM_OP_##id, __VA_ARGS__},
#include "graph/ops.def"
};

const cm__variant *cm__forward_kernels(int op) { return kernels[op].forward; }

cm__variant cm__forward_kernel(int op, cm__variant otherwise)
{
    return kernels[op].forward[0] ? kernels[op].forward[0] : otherwise;
}

const cm__variant *cm__backward_kernels(int op)
{
    static const cm__variant product[] = {CM__V_MUL, CM__V_NONE};
    return kernels[op].backward[0] ? kernels[op].backward : product;
}
