/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - prediction errors of timed calls, grouped by operator, pass and type. */
#ifndef CM_MODEL_CHECK_H
#define CM_MODEL_CHECK_H

#include "device/calls.h"
#include "device/fits/fit.h"

/* The timed calls of one operator, pass and type, over all variants. */
typedef struct cm__checked {
    int16_t     op, pass;
    cm__types   types;
    const char *dtype;  /* the text of the types */
    double     *errors; /* predicted / measured - 1 */
    double      measured_s, off_s; /* sums over the rows; off_s: absolute errors */
    int32_t     count, capacity;
} cm__checked;

typedef struct cm__checks {
    cm__ctx   *ctx;
    cm__checked *items;
    int32_t    count, capacity;
} cm__checks;

/* Reads a CSV file of calls and their times (docs/dev/fitting.md) and gives each row to `take`. Fails at the first
   malformed row, and if there are no rows. */
void         cm__timed_calls_read(cm__ctx *ctx, const char *text, size_t size,
                                  void (*take)(void *user, const cm__call *call, double time_s), void *user);

void         cm__check_add(cm__checks *all, const cm__call *call, double measured_s, double predicted_s);
/* Sorts the errors. The strings must outlive the returned class. */
cm_fit_class cm__check_class(const cm__checked *check, const char *device, const char *runtime);

#endif
