/* SPDX-License-Identifier: Apache-2.0 */
/* surface.h - an operator's times fitted over its sizes: the weights of a small network (docs/dev/fitting.md). */
#ifndef CM_DEVICE_SURFACE_H
#define CM_DEVICE_SURFACE_H

#include <jansson.h>
#include "base/ctx.h"

#define CM__SURFACE_LAYERS 3
#define CM__SURFACE_WIDTH 64 /* most features, and most units of a layer */

typedef struct cm__surface {
    const char   *op; /* of a kernel call: "conv" */
    double        cores; /* compute units of the fitted device */
    double        times; /* as many fitted devices share the work of this one */
    double        mape;  /* of rows left out of the fit */
    int32_t       widths[CM__SURFACE_LAYERS + 1];
    const double *low, *high; /* fitted range of each feature */
    const double *weights;    /* of each layer: for each input its weights to all units, then the units' constants; in a
                                 profile they are in the order of units */
} cm__surface;

typedef struct cm__surfaces {
    cm__surface *all;
    int32_t      count;
} cm__surfaces;

/* Number of weights. */
size_t cm__surface_weights(const cm__surface *surface);
/* The surfaces of a checked profile; the wrong number of weights is an error. */
cm__surfaces cm__surfaces_of(cm__ctx *ctx, const json_t *object);

#endif
