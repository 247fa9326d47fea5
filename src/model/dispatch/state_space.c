/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_space.c - kernel calls of state-space layers, as mamba-ssm and flash-linear-attention make them.
 *
 * The products of chunks are timed as batched products, which is an assumption: the packages have Triton kernels of
 * their own, and none was measured. The convolution, the states that are passed from chunk to chunk, and gate and norm
 * are kernels that read and write once. Mamba's recurrence takes the time of its functions.
 */
#include "graph/rule.h"
#include "graph/rules/state_space.h"
#include "model/dispatch/compiler.h"

static void stream(cm__dispatch *d, int32_t node, int32_t like, cm_poly elements, int times)
{
    for (int i = 0; i < times; i++) cm__call_map(d, node, CM__V_COPY, like, -1, like, cm__poly_const(1), elements);
}

static void products(cm__dispatch *d, int32_t node, const cm__scan *s, cm_dtype dtype, cm_poly tokens, bool backward)
{
    cm__scan_product p[CM__SCAN_PRODUCTS];
    int32_t          count = cm__scan_products(s, p);
    for (int32_t i = 0; i < count; i++) {
        cm_poly stack = cm__poly_scale(tokens, p[i].stack / (double)s->chunk);
        for (int k = 0; k < (backward ? p[i].backward : p[i].forward); k++)
            cm__call_product(d, node, CM__V_NN, dtype, (cm_poly[]){stack, cm__poly_const(p[i].m), cm__poly_const(p[i].n),
                                                               cm__poly_const(p[i].k)});
    }
}

/* The kernels that backward repeats are those of forward but the last. */
void cm__dispatch_state_space(cm__dispatch *d, int32_t node)
{
    const cm_node *n = cm__node(d, node), *forward = cm__forward_of(d, n);
    bool           backward = n != forward;
    cm__scan       s = cm__scan_of(forward);
    int32_t        x = forward->inputs[CM__SCAN_PROJECTED];
    cm_poly        tokens = cm__scan_tokens(d->g, forward);
    double         width = (double)cm__scan_width(&s), states = width * (double)s.state / (double)s.chunk;
    stream(d, node, x, cm__poly_scale(tokens, (double)cm__scan_channels(&s)), backward ? 3 : 1);
    products(d, node, &s, cm__t(d->g, x)->dtype, tokens, backward);
    if (s.kind == CM__SCAN_MAMBA) {
        cm_poly       numbers = cm__poly_scale(tokens, backward ? 3 : 1);
        cm__generated kernel = {.work[CM__WORK_FUNCTIONS] = cm__poly_scale(numbers, cm__scan_functions(&s))};
        cm__call_generated(d, node, CM__V_COPY, CM_FP32, &kernel);
    } else {
        stream(d, node, x, cm__poly_scale(tokens, 2 * states), backward ? 2 : 1); /* of fp32 */
    }
    stream(d, node, x, cm__poly_scale(tokens, 2 * width), backward ? 2 : 1);
}
