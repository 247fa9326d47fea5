/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - a log of real training steps.
 *
 * A CSV file with a header line that names, in any order, model, batch, precision and step_time_s. The columns seq,
 * runtime and optimizer are optional; other columns are ignored. See docs/measuring.md.
 */
#ifndef CM_MODEL_LOG_H
#define CM_MODEL_LOG_H

#include "base/ctx.h"

#define CM__STEPS_MAX 200

typedef struct cm__step_time {
    const char  *model;
    int64_t      batch, seq; /* seq 0: the model's default */
    cm_precision precision;
    cm_runtime   runtime;    /* default: the device's runtime */
    cm_optimizer optimizer;  /* default: the model's usual optimizer */
    double       measured_s;
    int32_t      line;
} cm__step_time;

typedef struct cm__steps {
    cm__step_time *rows;
    int32_t        n_rows, cap_rows;
} cm__steps;

cm__steps *cm__steps_read(cm__ctx *ctx, const char *text, size_t size);

#endif
