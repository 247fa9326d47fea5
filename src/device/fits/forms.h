/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forms.h - the time of one operator as a function of its shape, the device's ceilings and a few fitted parameters.
 *
 * No form predicts a time below the ceilings' bound, and more work never takes less time. Letters: S cores, P peak
 * FLOP/s, W off-chip bytes/s.
 */
#ifndef CM_DEVICE_FORMS_H
#define CM_DEVICE_FORMS_H

#include "base/ctx.h"

/* The hardware limits. */
typedef struct cm__ceilings {
    double cores, peak_flop_s, bandwidth_bytes_s, cache_bytes;
} cm__ceilings;

/* The work of one operator, as forms use it. */
typedef struct cm__work {
    double batch, m, n,
        k; /* matrix products: batch times m x k by k x n. Rows: m rows of n columns. Attention: below */
    double bytes;          /* to and from memory, each operand once */
    double flop;
    double heads, queries, keys, width; /* attention: batch x heads x queries by keys, each of this width */
    bool   causal;
} cm__work;

typedef enum cm__scale { CM__POSITIVE, CM__FRACTION, CM__ABOVE_ONE } cm__scale;

typedef struct cm__parameter_row {
    const char *name;
    cm__scale   scale;
    int         count;    /* 1, or the length of an array */
    double      first[16]; /* starting point of fitting */
} cm__parameter_row;

typedef struct cm__form {
    const char              *name;
    const cm__parameter_row *rows;
    int                      n_rows;
    double (*time)(const double *p, const cm__work *w, const cm__ceilings *c);
} cm__form;

const cm__form *cm__form_find(const char *name); /* NULL: none */
int             cm__form_size(const cm__form *form); /* number of values of its parameters */

/* Conversions between a form's parameters and the unbounded values that fitting varies. */
void cm__form_from_free(const cm__form *form, const double *x, double *p);
void cm__form_to_free(const cm__form *form, const double *p, double *x);
void cm__form_first(const cm__form *form, double *p);

#endif
