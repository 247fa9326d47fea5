/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate.h - results of others, and what holds against them.
 *
 * A set is a JSON text under data/results: rows with what was measured, and the names of the predictors it is held
 * against. A predictor is a row of cm__predictors[]; a new metric brings its own.
 */
#ifndef CM_VALIDATE_VALIDATE_H
#define CM_VALIDATE_VALIDATE_H

#include <jansson.h>
#include "base/ctx.h"

typedef struct cm__embedded_set {
    const char *id, *text;
    size_t      text_size;
} cm__embedded_set;

extern const cm__embedded_set cm__embedded_sets[];
extern const int32_t          cm__n_embedded_sets;

/* One row of a set, with what several predictors need of it. */
typedef struct cm__case {
    cm__ctx         *ctx;
    const json_t    *set, *row;
    const cm_device *device;
    const cm_graph  *step;
    cm_runtime       runtime;
} cm__case;

typedef struct cm__predictor {
    const char *name;
    double (*predict)(const cm__case *c); /* NAN: has no answer */
} cm__predictor;

extern const cm__predictor cm__predictors[];
extern const int32_t       cm__n_predictors;

/* shares.c: the batch size whose working set, by shares per device and category, fits the chip. */
double cm__predict_by_shares(const cm__case *c);

#endif
