/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kriging.h - what is known of a call from measured ones near it: ordinary kriging over the nearest rows of tables.
 *
 * What is interpolated is the logarithm of time over roofline time, which changes slowly (features.h). A call's own
 * table tells most; tables of the same operator in other variants, types and passes tell of it too, from further off.
 */
#ifndef CM_MODEL_KRIGING_H
#define CM_MODEL_KRIGING_H

#include <stdint.h>

/* The rows of a table made ready: features, and logarithms. */
typedef struct cm__rows {
    const float *features, *values;
    int32_t      count;
    int32_t      variant, dtype, pass; /* numbers that differ where those do */
} cm__rows;

typedef struct cm__kriged {
    double  value;   /* of the logarithm */
    double  unknown; /* its variance, less the noise of a measured one; 1: nothing near */
    double  nearest; /* distance to the nearest row of the call's own table, in scales */
    int32_t row;     /* that row */
} cm__kriged;

/* Of a call of these features (`count` of them) in the table `home`, whose row `without` is left out (-1: none).
   There must be one other row at least. */
cm__kriged cm__krige(int op, const cm__rows *tables, int32_t n_tables, int32_t home, const float *features, int count,
                     int32_t without);

#endif
