/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - errors of timed calls, by operator, pass and type. */
#ifndef CM_MODEL_CHECK_H
#define CM_MODEL_CHECK_H

#include "device/calls.h"
#include "device/fit.h"

/* Rows of one operator, pass and type; variants together. */
typedef struct cm__checked {
    int16_t     op, pass;
    const char *dtype;
    double     *errors; /* predicted / measured - 1 */
    double      measured_s, off_s; /* sums */
    int32_t     count, capacity;
} cm__checked;

typedef struct cm__checks {
    cm__ctx   *ctx;
    cm__checked *items;
    int32_t    count, capacity;
} cm__checks;

/* Rows of a CSV file of calls and their times, docs/fitting.md; fails at the first that is none, and where there are no
   rows. */
void         cm__timed_calls_read(cm__ctx *ctx, const char *text, size_t size,
                                  void (*take)(void *user, const cm__call *call, double time_s), void *user);

void         cm__check_add(cm__checks *all, const cm__call *call, double measured_s, double predicted_s);
/* Sorts the errors. The texts must outlive the class. */
cm_fit_class cm__check_class(const cm__checked *check, const char *device, const char *runtime);

#endif
