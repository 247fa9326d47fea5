/* SPDX-License-Identifier: Apache-2.0 */
/* transposed.c - which rows of the kernel tables time an elementwise call that reads an operand across its rows. */
#include "device/transposed.h"

#include <math.h>

/* Measured on the H200 (evidence/pages.tar.xz: first-sight.md, Transposed operands): copies take 2.2 to 5.1 ps per number of 16
   bits if neighbours are 4 to 48 numbers apart, and 6.3 to 7 ps from 64 numbers on, however many these are. Rows of 64
   take 4.5 ps, because a thread block, which writes 512 numbers, uses eight of a line. If the lines that one row reads
   exceed the L2 cache (50 MB), they are read again: 33.5 MB take 8 to 10 ps, 67 MB 15 to 25 ps. */
#define LINE 128.0          /* bytes of a cache line */
#define CACHE 40e6          /* bytes of lines that are still there when the next row reads them */
#define LONG 512            /* elements that a thread block writes; rows of the tables ":turned" are not longer */
#define SHORT_ROW 128          /* elements of a row of which a thread block writes several */
#define SMALL (1 << 21)     /* elements of the blocks in the tables ":turned" */
#define LEAST (1 << 16)     /* elements of a block from which on the matrix has a column at every batch size */

cm__transposed_as cm__transposed_form(const cm__transposed *t)
{
    double  distance = (double)t->distance * t->bytes;
    int64_t block = t->distance * t->row;
    if (t->alone) return block <= SMALL ? CM__TRANSPOSED_TURNED : CM__TRANSPOSED_STRIDED; /* the tables have few rows */
    if ((double)t->row * fmin(LINE, distance) > CACHE) return CM__TRANSPOSED_STRIDED;
    if (distance < LINE || block < LEAST || (t->row < LONG && block <= SMALL)) return CM__TRANSPOSED_TURNED;
    if (t->row < SHORT_ROW) return t->copies ? CM__TRANSPOSED_STRIDED : CM__TRANSPOSED_TURNED;
    return t->blocks > 1 ? CM__TRANSPOSED_MATRIX : CM__TRANSPOSED_STRIDED;
}
