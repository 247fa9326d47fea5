/* SPDX-License-Identifier: Apache-2.0 */
/* predict_parts.h - parts of the text report of `predict` that `explain` uses too. */
#ifndef CM_REPORT_PREDICT_PARTS_H
#define CM_REPORT_PREDICT_PARTS_H

#include "report/render.h"

/* Kernel calls that differ only in sizes, summed. */
typedef struct cm__call_sum {
    char    name[96];
    int32_t phase, calls;
    double  time_s, flop, bytes, by_how[CM_HOWS];
} cm__call_sum;

typedef struct cm__call_sums {
    cm__call_sum *items; /* longest first */
    int32_t       count, capacity;
} cm__call_sums;

/* Sum the kernel calls of one device in a step by phase and name without sizes ("gemm forward nt-bias bf16"), or, with
   `short_names`, by phase and operator ("gemm"). */
cm__call_sums cm__sum_calls(cm__ctx *ctx, const cm__predict_report *report, bool short_names);

/* Draw the step as bars over time: loading, host, and the phases with their longest operators. */
void cm__predict_waterfall(cm__ctx *ctx, const cm__predict_report *report, FILE *out);
/* List the improvements of the device that would shorten the step most. */
void cm__predict_help(cm__ctx *ctx, const cm__predict_report *report, FILE *out);

/* "2.20 us" */
const char *cm__seconds(cm__ctx *ctx, double seconds);

#endif
