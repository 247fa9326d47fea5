/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler.h - what dispatch asks of src/model/inductor, which imitates PyTorch's compiler.
 *
 * Dispatch decides what eager PyTorch calls. Where a compiler fuses operators, these functions make the calls instead.
 */
#ifndef CM_MODEL_DISPATCH_COMPILER_H
#define CM_MODEL_DISPATCH_COMPILER_H

#include "model/dispatch/rules.h"

/* compiled.c: the calls of a whole step. */
void cm__dispatch_fused(cm__dispatch *d);

/* compiled.c: a kernel that a compiler generated. It moves this many bytes, counted as a copy of numbers of 4 bytes. */
void cm__call_generated(cm__dispatch *d, int32_t node, cm__variant variant, cm_poly bytes);

/* compiled.c: work of a kernel beside its traffic, as bytes of a copy that take as long: random numbers, one for each lane of a row,
   of so many elements; functions of so many FLOP. */
cm_poly cm__random_bytes(cm_poly elements, double row);
cm_poly cm__function_bytes(cm_poly flop);

/* compiled.c: the chains of elementwise operators that a runtime with fused kernels runs as one kernel each. */
struct cm__fusing *cm__chains_of(cm__dispatch *dispatch);
/* False: the node is in no chain. The first node of a chain makes its call. */
bool cm__dispatch_chain(const struct cm__fusing *chains, int32_t node);

/* preferred_layout.c: whether the compiler changes the images of a step to channels-last, whatever their layout was. */
bool cm__compiler_prefers_nhwc(const cm_graph *graph);

/* scaled.c: a cast to 8 bits. */
bool cm__is_scaled_cast(const cm_graph *g, const cm_node *n);
void cm__dispatch_scaled_cast(cm__dispatch *d, int32_t node);
/* The same of Transformer Engine: one kernel makes both copies of so many elements, plain and transposed. */
void cm__call_joined_cast(cm__dispatch *d, int32_t node, cm_poly elements, bool transposed);

#endif
