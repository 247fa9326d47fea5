/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scaled.c - casts to 8 bits, with a scale for each tensor.
 *
 * 8-bit products read both operands with the summed size innermost. So a training step uses each operand twice: as it
 * is, and transposed for a gradient. The scale is found from the largest value, before the cast can begin.
 *
 * torch.compile generates kernels for each use: one that finds the largest value, and one that reads the tensor again
 * and writes it in 8 bits. Transformer Engine (other runtimes) writes both copies in one kernel, with the scale of an
 * earlier step.
 */
#include "model/dispatch/rules.h"
#include "model/time/factors.h"

#define KERNELS_PER_USE 3 /* two of them find the largest value */

bool cm__is_scaled_cast(const cm_graph *g, const cm_node *n)
{
    return n->op == CM_OP_CAST && n->outputs[0] >= 0 && cm__t(g, n->outputs[0])->dtype == CM_FP8;
}

/* Bytes read and written for each element. */
static double bytes_per_element(const cm__dispatch *d)
{
    double once = cm__time_factors.joined_cast_bytes - 1; /* without the transposed copy */
    if (d->runtime == CM_RUNTIME_TORCH_COMPILE) return cm__time_factors.scaled_cast_bytes * (d->trains ? 2 : 1);
    return d->trains ? cm__time_factors.joined_cast_bytes : once;
}

/* Timed as a copy of fp32 numbers with the same traffic: 4 bytes read and 4 written. */
void cm__dispatch_scaled_cast(cm__dispatch *d, int32_t node)
{
    cm__sized_call c = cm__call_begin(d, CM__CALL_ELEMENTWISE, CM__PASS_FORWARD, "copy", CM_FP32, false);
    cm_poly        elements = cm_tensor_elements(cm__t(d->g, cm__node(d, node)->outputs[0]));
    c.sizes[CM__ELEMENTWISE_OUTER] = cm__poly_const(1);
    c.sizes[CM__ELEMENTWISE_INNER] = cm__poly_scale(elements, bytes_per_element(d) / 8);
    cm__dispatch_add(d, node, &c);
    d->generated += KERNELS_PER_USE * (d->trains ? 2 : 1);
}
