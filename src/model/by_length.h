/* SPDX-License-Identifier: Apache-2.0 */
/* by_length.h - one step with samples of several lengths: time follows their mean, memory the longest. */
#ifndef CM_MODEL_BY_LENGTH_H
#define CM_MODEL_BY_LENGTH_H

#include "model/memory/varied.h"

/* The same step at other lengths, made when they are first needed. */
typedef struct cm__by_length {
    cm__ctx               *ctx;     /* frees the steps */
    const char            *model;   /* NULL: all samples have one length */
    const cm_device       *device;
    const cm_step_options *options; /* settled; load.tokens and load.samples describe the lengths */
    int64_t                longest;
    struct cm__of_length  *steps;
} cm__by_length;

/* Fails if samples cannot have so many tokens in the mean. longest 0: the model has no sequences. */
void cm__lengths_check(cm__ctx *ctx, double mean, int64_t longest);
/* Samples of `tokens` tokens that a full row consists of. */
int64_t cm__samples_per_row(const cm__by_length *b);
/* Tokens of a row that decides the time: at_once samples on each of so many replicas. */
int64_t cm__row_tokens(const cm__by_length *b, const cm_plan *plan, int64_t at_once);
/* The step whose time is that of samples of these lengths. Batch sizes of packed samples are those of rows times
   cm__samples_per_row(). */
cm_status cm__step_of_length(cm__by_length *b, int64_t tokens, cm_step **step, cm_diag *diag);
/* Sets use->reserved_bytes to what steps of random lengths reserve. */
cm_status cm__reserve_varied(cm__by_length *b, const cm_footprint *longest, int64_t at_once, cm_memory_use *use,
                             cm_diag *diag);

#endif
