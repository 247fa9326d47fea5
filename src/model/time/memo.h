/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memo.h - times of calls that were found in kernel tables, kept for other devices that need the same.
 *
 * Several threads may ask at once. A value must be a function of its key alone, so that it does not matter who asked
 * first. It is the time on the device that the table was measured on, never on the device that is asked about; and it
 * depends on the runtime, which decides what other tables are read beside the one in the key.
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
typedef struct cm__memo_value {
    cm__timed timed;
    double    unknown; /* 0: as good as measured, 1: nothing near */
    int       library; /* of a search in all tables: the library that gave the time */
} cm__memo_value;

typedef struct cm__memo cm__memo;

typedef struct cm__memo_key {
    const void *table;   /* of the call; of a search in all tables, the sizes of the first one */
    cm_runtime  runtime; /* of the library */
    bool        search;  /* in all tables */
    bool        reference; /* the device has no tables of its own */
} cm__memo_key;

cm__memo *cm__memo_new(cm__ctx *ctx); /* lives as long as the context */
bool      cm__memo_find(cm__memo *memo, cm__memo_key key, const cm__call *call, cm__memo_value *told);
void      cm__memo_keep(cm__memo *memo, cm__memo_key key, const cm__call *call, const cm__memo_value *told);

#endif
