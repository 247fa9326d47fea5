/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arranged.h - the rows of the built-in kernel tables, prepared when the program is built.
 *
 * tools/precompute_rows.c prepares them with the functions of rows.c, so the numbers are those that rows.c would compute
 * at run time. They are read-only data of the program: a page is loaded when a search first reads it.
 */
#ifndef CM_MODEL_ARRANGED_H
#define CM_MODEL_ARRANGED_H

#include "model/time/blocks.h"
#include "model/time/roofline.h"

typedef struct cm__arranged {
    const cm__limits *limits; /* for which the rows are prepared: those of the measured device */
    cm__rows          rows;   /* without the indices of variant and type */
} cm__arranged;

/* By cm__kernel_table.built_in, less 1. */
extern const cm__arranged cm__all_arranged[];
extern const int32_t      cm__n_arranged;

/* What these rows point to. */
extern const float   cm__arranged_floats[];
extern const int32_t cm__arranged_numbers[];

#endif
