/* SPDX-License-Identifier: Apache-2.0 */
/*
 * laws.h - times that follow from how a kernel works, where tables do not reach (data/kernel_laws.tsv).
 *
 * A law counts what a kernel does and says how many clock cycles each unit takes. It replaces the estimate from tables
 * and operator models, or the estimate stays above it (floor).
 */
#ifndef CM_MODEL_TIME_LAWS_H
#define CM_MODEL_TIME_LAWS_H

#include "model/time/roofline.h"

typedef enum cm__law_role { CM__LAW_REPLACE, CM__LAW_FLOOR } cm__law_role;

/* How work becomes cycles: shared by all cores, one after another, or in loops of threads. */
typedef struct cm__law_form cm__law_form;
extern const cm__law_form cm__law_blocks, cm__law_serial, cm__law_loops;

/* From the sizes of a call, the bytes of its first operand's elements, and those of the cache. */
typedef double cm__law_count(const double *sizes, double element, double cache);

/* A row of the table. */
typedef struct cm__law {
    const char         *name;
    int16_t             pass; /* -1: all */
    cm__law_role        role;
    int16_t             n_variants; /* 0: all */
    cm__variant         variants[2];
    const cm__law_form *form;
    cm__law_count      *work, *steps; /* work 0: the law does not apply; steps NULL: 1 */
    double              cycles;
} cm__law;

extern const cm__law cm__laws[]; /* in the order of calls.def; of a call in that of their roles */
extern const int16_t cm__first_laws[CM__CALLS + 1];

/* The time of a call whose estimate is known, after all laws. *replaced: a law took the estimate's place. */
double cm__by_laws(const cm__limits *limits, const cm__call *call, double estimate_s, bool *replaced);

#endif
