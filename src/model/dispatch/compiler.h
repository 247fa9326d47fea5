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

/* What a generated kernel does: the bytes that it moves, and its further work from CM__WORK_NUMBERS on. */
typedef struct cm__generated {
    cm_poly bytes, work[CM__WORK_END];
} cm__generated;

/* compiled.c: a kernel that a compiler generated, whose numbers mostly have this type; one that moves numbers of 4 bytes
   and does nothing else. */
void cm__call_generated(cm__dispatch *d, int32_t node, cm__variant variant, cm_dtype type, const cm__generated *kernel);
void cm__call_moved(cm__dispatch *d, int32_t node, cm__variant variant, cm_poly bytes);

/* fusing.c: numbers that a generated kernel computes for each one of a row: a row that it keeps in registers takes a
   power of two of them. Traffic does not grow with them. */
double cm__lanes_of_row(double row);

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
