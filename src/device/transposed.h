/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transposed.h - which rows of the kernel tables time an elementwise call that reads an operand across its rows.
 *
 * A kernel writes a row of the result after the other. If neighbours of a row lie apart in an operand, each thread
 * reads another cache line. What decides the time is how much of these lines is used before they are evicted.
 */
#ifndef CM_DEVICE_TRANSPOSED_H
#define CM_DEVICE_TRANSPOSED_H

#include "device/calls.h"

/* Blocks of the operand, each of which is transposed. */
typedef struct cm__transposed {
    int64_t distance; /* elements from a neighbour in the result's row to the next; the rows of a block */
    int64_t row;      /* elements of a row of the result in a block */
    int64_t blocks;
    double  bytes;    /* per element of the operand */
    bool    copies, alone; /* the call is a copy; the operand is the only one of another function */
    int32_t operand;       /* its number in the loop nest */
} cm__transposed;

typedef enum cm__transposed_as {
    CM__TRANSPOSED_STRIDED, /* ":strided", the rows of all blocks times the elements of one */
    CM__TRANSPOSED_TURNED,  /* ":turned", the rows of a block times the elements of one row in all blocks */
    CM__TRANSPOSED_MATRIX   /* ":strided", one matrix of CM__TRANSPOSED_ROWS rows with as many elements */
} cm__transposed_as;

/* With 4 to 1,600 million elements its columns are long, and their lines fit into the cache. */
#define CM__TRANSPOSED_ROWS 8192

cm__transposed_as cm__transposed_form(const cm__transposed *t);

#endif
