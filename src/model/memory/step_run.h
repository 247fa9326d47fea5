/* SPDX-License-Identifier: Apache-2.0 */
/* step_run.h - steps that run one after another in the simulated allocator. */
#ifndef CM_MODEL_STEP_RUN_H
#define CM_MODEL_STEP_RUN_H

#include "base/ctx.h"
#include "model/memory/allocator.h"
#include "model/memory/footprint.h"

/* Bytes of every piece and of every node's temporary, rounded. */
typedef struct cm__sizes {
    int64_t *pieces, *temporary;
} cm__sizes;

cm__sizes cm__sizes_of(cm__ctx *ctx, const cm_footprint *f, double batch);

/* The order of a step's allocations, which does not depend on the batch size. */
typedef struct cm__step_order {
    /* lists of pieces by the node that makes them; n_nodes: before the step */
    const int32_t *first_born, *next_born;
    const int32_t *first_dead, *next_dead; /* lists by the last node that uses them */
    const bool    *first_of_kind;          /* by node: the first convolution of its sizes and types */
} cm__step_order;

cm__step_order cm__step_order_of(cm__ctx *ctx, const cm_footprint *f);

typedef struct cm__step_run {
    const cm_footprint *f;
    cm__ctx            *ctx;
    cm__allocator      *allocator;
    double              batch, library_bytes;
    int32_t            *block;     /* per piece; -1: none */
    cm__sizes           sizes;
    cm__step_order      order;     /* zeros: cm__step_run_begin() finds it */
    double              now[CM_CATEGORIES], lacking;
    bool                searched;  /* a step has run: the algorithms of all convolutions are chosen */
    cm_memory_use      *use;       /* use of the current step; NULL: the first step, which does not count */
} cm__step_run;

/* f, ctx, allocator, batch and library_bytes must be set. Allocates what exists before the first step. */
void cm__step_run_begin(cm__step_run *s);
/* One step with s->sizes, which may change between steps if pieces that outlive a step keep their size. */
void cm__step_run_once(cm__step_run *s);

#endif
