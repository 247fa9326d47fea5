/* SPDX-License-Identifier: Apache-2.0 */
/* close.h - whether two predictions are too close to call. */
#ifndef CM_RANK_CLOSE_H
#define CM_RANK_CLOSE_H

#include "base/ctx.h"

/* order.c: true if 1 is inside the 90 % interval of the ratio of both values. An unknown error is too large. */
bool cm__rank_too_close(const cm_rank_entry *a, const cm_rank_entry *b);

/* order.c: the log error of an entry's value; the part of the errors of two entries that they share. */
double cm__rank_error(const cm_rank_entry *e);
double cm__rank_correlation(const cm_rank_entry *a, const cm_rank_entry *b);

/* order.c: true if the 90 % interval of the step time is too wide for a place in a ranking. */
bool cm__rank_too_uncertain(const cm_prediction_info *p);

#endif
