/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memo.h - what tables say of calls, found once for many devices.
 *
 * Devices without tables are told from one relative's, and ask the same of them. Several threads may ask at once; what
 * a table says does not depend on who asked first.
 */
#ifndef CM_MODEL_MEMO_H
#define CM_MODEL_MEMO_H

#include "device/calls.h"

typedef struct cm__timed {
    double time_s, launches;
    double error; /* expected, as a fraction */
    cm_how how;
} cm__timed;

/* On the device of the table. */
typedef struct cm__told {
    cm__timed timed;
    double    unknown; /* 0: as good as measured, 1: nothing near */
} cm__told;

typedef struct cm__memo cm__memo;

cm__memo *cm__memo_new(cm__ctx *ctx); /* lives as long as the context */
bool      cm__memo_find(cm__memo *memo, const void *table, const cm__call *call, cm__told *told);
void      cm__memo_keep(cm__memo *memo, const void *table, const cm__call *call, const cm__told *told);

#endif
