/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timings.h - tables of measured operator times.
 *
 * A CSV file with a header line that names, in any order, op, pass, dtype, d0 ... d6 and latency_ms; device, source and
 * note are optional. The meaning of the dimensions depends on the operator (the table in timings.c; docs/dev/fitting.md).
 */
#ifndef CM_DEVICE_TIMINGS_H
#define CM_DEVICE_TIMINGS_H

#include "base/map.h"
#include "device/fits/forms.h"

#define CM__TIMING_DIMS 7

typedef struct cm__timing {
    int32_t         group;  /* index of its group */
    cm__work        work;
    double          time_s;
} cm__timing;

/* Rows of one device, library, operator, pass and type. */
typedef struct cm__timing_group {
    const char     *device, *library, *op, *pass, *dtype;
    const cm__form *form;
    int32_t         rows;
} cm__timing_group;

typedef struct cm__timings {
    cm__timing       *rows;
    cm__timing_group *groups;
    int32_t           n_rows, n_groups, cap_rows, cap_groups;
    int32_t           skipped; /* rows of operators or types without a form */
    const char       *first_skipped;
} cm__timings;

cm__timings *cm__timings_read(cm__ctx *ctx, const char *text, size_t size);

double cm__dtype_bytes(const char *dtype); /* 0: unknown */

#endif
