/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memo.h - a cache of call times from kernel tables, shared by predictions for several devices.
 *
 * Several threads may use it at once. A value must be a function of its key alone, so that the order of requests does
 * not matter. It is the time on the device on which the table was measured, not on the device that is predicted. It
 * depends on the runtime, which decides which other tables are read besides the one in the key.
 */
#ifndef CM_MODEL_MEMO_H
#define CM_MODEL_MEMO_H

#include "device/calls.h"
#include "device/device.h"
#include "model/time/catalogue.h"
#include "model/time/rows.h"
#include "model/time/transfer.h"

typedef struct cm__timed {
    double time_s, launches;
    double error;  /* expected relative error that other calls do not share */
    double shared; /* expected relative error that all calls from another device's tables share */
    cm_how how;
} cm__timed;

/* The time on the table's device. */
typedef struct cm__memo_value {
    cm__timed timed;
    double    unknown; /* 0: as good as measured; 1: no row is near */
    /* for a search of all tables: */
    int            library;     /* index of the library that gave the time */
    double         flop, bytes; /* work of the call */
    cm__shortest   shortest;    /* of the call on the table's device */
    cm__correction kind;        /* which correction applies to it */
} cm__memo_value;

typedef struct cm__memo cm__memo;

typedef struct cm__memo_key {
    const void *table;     /* table of the call; for a search of all tables, the sizes of the first one */
    cm_runtime  runtime;   /* runtime of the library */
    bool        search;    /* all tables are searched */
    bool        reference; /* the device has no tables of its own */
} cm__memo_key;

cm__memo       *cm__memo_new(cm__ctx *ctx); /* lives as long as the context */
cm__shelf      *cm__memo_shelf(cm__memo *memo); /* the prepared rows of the same tables */
cm__catalogues *cm__memo_catalogues(cm__memo *memo); /* and the tables by family */
bool cm__memo_find(cm__memo *memo, cm__memo_key key, const cm__call *call, cm__memo_value *value);
void cm__memo_keep(cm__memo *memo, cm__memo_key key, const cm__call *call, const cm__memo_value *value);

#endif
