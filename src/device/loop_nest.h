/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_nest.h - how an elementwise kernel iterates over its operands, and thus which of PyTorch's kernels runs.
 *
 * Dimensions are sorted by the result's strides and joined where the strides of every operand allow it. The remaining
 * dimensions select the form of the kernel:
 *
 *     ""                one contiguous run: the fast kernel
 *     :row :col :plane  an operand is broadcast along rows, columns or planes
 *     :part             operands have contiguous rows with gaps between them
 *     :turned           an operand is transposed within blocks, and its cache lines are used before they are evicted
 *     :strided          an operand is not contiguous within rows in another way
 *
 * transposed.c decides between the last two.
 */
#ifndef CM_DEVICE_LOOP_NEST_H
#define CM_DEVICE_LOOP_NEST_H

#include "device/transposed.h"

#define CM__LOOP_DIMS 16
#define CM__LOOP_READS 3

typedef struct cm__loop_nest {
    int32_t dims, operands;        /* operands: those that the kernel reads */
    double  bytes[CM__LOOP_READS]; /* per element of an operand */
    int64_t size[CM__LOOP_DIMS], result[CM__LOOP_DIMS], read[CM__LOOP_READS][CM__LOOP_DIMS]; /* innermost first; strides */
} cm__loop_nest;

/* Lists the dimensions of more than one element by the result's strides, the smallest first. Returns how many there are. */
int32_t cm__loop_order(int32_t rank, const int64_t *sizes, const int64_t *strides, int32_t *order);

/* Adds the next dimension. False: it was joined with the one before. */
bool cm__loop_nest_add(cm__loop_nest *w, int64_t size, int64_t result, const int64_t *read);

/* Whether one operand consists of transposed blocks: the elements between neighbours in a row are other rows of the same
   block. Fills in *t. */
bool cm__loop_nest_transposed(const cm__loop_nest *w, bool copies, cm__transposed *t);

/* Whether a dimension of the transposed operand lies between neighbours in a row, or outside of the block. */
bool cm__loop_nest_between(const cm__loop_nest *w, const cm__transposed *t, int32_t dim);

/* t: NULL if no operand is transposed. */
cm__variant_form cm__loop_nest_form(const cm__loop_nest *w, const cm__transposed *t);

#endif
