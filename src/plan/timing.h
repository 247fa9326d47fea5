/* SPDX-License-Identifier: Apache-2.0 */
/* timing.h - the times of the layers at all places of a search. */
#ifndef CM_PLAN_TIMING_H
#define CM_PLAN_TIMING_H

#include "plan/search.h"

typedef struct cm__timing {
    cm__model               *m; /* of cm__model_for(); receives the costs */
    const cm_graph          *forward;
    const cm_device         *device;
    const cm_search_options *o; /* threads 0: one for each core */
    cm__spot                *spots;
    int32_t                  n_spots;
    int32_t                  share, shares; /* this rank of so many */
    /* only the CM__KEPT fastest plans are wanted, which are added here: the places where they are are done, and places
       that cannot have one are slow; NULL: all places are timed */
    cm__best                *fastest;
    const uint64_t          *first; /* number of each place's first plan */
} cm__timing;

/* Fills in the costs of the places of this rank. If the search is stopped, those of later places stay -1. */
void cm__time_spots(cm__ctx *ctx, const cm__timing *timing);

#endif
